/* Jacobians against differences, their patterns, and factors in part. */
#include "core/memory.h"
#include "kernel/ode/run.h"
#include "model/network/model.h"
#include "model/network/network.h"
#include "ode/incomplete.h"
#include "ode/jacobian.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frozen.h"

#include <math.h>

/* What slopes are computed from, as the scalar engine has it. */
typedef struct system_of {
    saltus_model *m;
    saltus_trajectory p;
    saltus_ode o;
    double *amounts, *y;
} system_of;

static system_of open_system(const char *text, bool is_mean)
{
    system_of s = {.m = freeze_text(text, SALTUS_LAW_COMBINATORIAL)};
    const saltus_tables *t = &s.m->network->tables;
    s.amounts = calloc((size_t)t->n_species + 1, sizeof *s.amounts);
    s.p.n = t;
    s.p.amounts = is_mean ? s.amounts : NULL;
    s.p.v = calloc((size_t)t->n_rows, sizeof *s.p.v);
    s.p.v[t->row_one] = 1.0;
    for (int i = 0; i < t->n_constants; ++i) {
        s.p.v[t->row_constants + i] = t->constants[i];
    }
    for (int i = 0; i < t->n_variables; ++i) {
        s.p.v[t->row_variables + i] = t->initial_variables[i];
    }
    s.o.is_mean = is_mean;
    s.o.n = saltus_ode_components(t, is_mean);
    s.o.from = -1.0;
    s.o.until = INFINITY;
    s.y = calloc((size_t)s.o.n, sizeof *s.y);
    for (int i = 0; i < s.o.n; ++i) {
        s.y[i] = 1.3 + 0.37 * i;
    }
    return s;
}

static void close_system(system_of *s)
{
    saltus_model_destroy(s->m);
    free(s->amounts);
    free(s->p.v);
    free(s->y);
}

/* All entries are the differences', and what is in no column is 0 there. Returns how many entries
 * the pattern has. */
static int64_t check_jacobian(const char *text, bool is_mean, double time)
{
    system_of s = open_system(text, is_mean);
    const int n = s.o.n;
    saltus_pattern *q = NULL;
    saltus_jacobian j = {0};
    saltus_error err = {0};
    double *low = calloc((size_t)n, sizeof *low), *high = calloc((size_t)n, sizeof *high);
    double *column = calloc((size_t)n, sizeof *column);
    assert_int_equal(saltus_pattern_create(s.p.n, n, is_mean, &q, &err), SALTUS_OK);
    assert_int_equal(saltus_jacobian_init(&j, s.p.n, q, &err), SALTUS_OK);
    const int64_t n_entries = q->rows.first[n];
    double *values = calloc((size_t)n_entries, sizeof *values);
    for (int again = 0; again < 2; ++again) { /* it leaves nothing behind */
        saltus_ode_slope(&s.p, &s.o, time, s.y, low);
        assert_true(saltus_jacobian_fill(&j, &s.p, values));
    }
    for (int c = 0; c < n; ++c) {
        const double y = s.y[c], h = 1e-5;
        memset(column, 0, (size_t)n * sizeof *column);
        for (int64_t i = q->rows.first[c]; i < q->rows.first[c + 1]; ++i) {
            assert_true(i == q->rows.first[c] || q->rows.item[i] > q->rows.item[i - 1]);
            column[q->rows.item[i]] = values[i];
        }
        s.y[c] = y - h;
        saltus_ode_slope(&s.p, &s.o, time, s.y, low);
        s.y[c] = y + h;
        saltus_ode_slope(&s.p, &s.o, time, s.y, high);
        s.y[c] = y;
        for (int i = 0; i < n; ++i) {
            const double expected = (high[i] - low[i]) / (2.0 * h);
            if (!(fabs(column[i] - expected) <= 1e-6 * (1.0 + fabs(expected)))) {
                fail_msg("entry %d, %d: %g, not %g", i, c, column[i], expected);
            }
        }
    }
    saltus_jacobian_free(&j);
    saltus_pattern_destroy(q);
    close_system(&s);
    free(low);
    free(high);
    free(column);
    free(values);
    return n_entries;
}

static void products_have_products(void **state)
{
    static const char text[] = "species: {A: 1, B: 1, C: 1, D: 1}\n"
                               "reactions:\n"
                               "  a: A + B -> C @ 2\n"
                               "  b: 3 A -> B @ 0.7\n"
                               "  c: 2 A + 2 B + C -> 2 D @ 0.1\n"
                               "  d: 0 -> A @ 3\n"
                               "  e: D -> 0 @ 4\n"
                               "  f: B -> B + D @ 4\n";
    (void)state;
    assert_int_equal(check_jacobian(text, true, 0.0), 4 + 4 + 4 + 1);
}

/* Operations of all kinds, through rules of rules. What is not read is in no column. */
static void programs_are_followed_through_rules(void **state)
{
    static const char text[] =
        "parameters: {u: 1, v: 2, w: 3, unread: 5}\n"
        "species: {A: 1, B: 1, C: 1}\n"
        "rules:\n"
        "  sum: A + 1e9*B + 3*C\n"
        "  share: A/sum\n"
        "  alone: unread*A\n"
        "  bent: linear(u, 0, 2, 1, 8, 3, 1, 9, 0) + spline(v, 0, 1, 1, 2, 4, 10, 9, 3)\n"
        "rate rules:\n"
        "  u: share*u - bent + min(A, u)*max(B, v) - abs(-C)\n"
        "  v: sqrt(w)*u^2.5 - u^v + exp(-v)/(1 + ln(w)) + piecewise(A, w > 2, B)\n"
        "  w: sin(A)*cos(v) + tanh(w) - arctan(B) + root(3, C) + rem(u, 1)*2 + floor(v) + 2^w\n"
        "reactions:\n"
        "  a: {equation: A -> B, law: A*u/(1 + share) + time*0}\n"
        "  b: {equation: B -> C, law: B^3/(10 + B^3)*sum*1e-9}\n"
        "  c: {equation: C -> A, law: C*sin(time)}\n";
    (void)state;
    (void)check_jacobian(text, true, 0.4);
    (void)check_jacobian(text, true, 7.0);
}

/* Without reactions there is a hazard behind the variables, which nothing changes. */
static void rate_rules_stand_alone(void **state)
{
    static const char text[] = "parameters: {a: 1, b: 2, c: 3}\n"
                               "rules: {d: a*b}\n"
                               "rate rules: {a: -a*b, b: d - c, c: a}\n";
    (void)state;
    /* a: a, b, c; b: a, b; c: b, c; the hazard: itself */
    assert_int_equal(check_jacobian(text, false, 0.0), 3 + 2 + 2 + 1);
}

/* Where a law has no derivative a difference stands in, and nothing is infinite. */
static void roots_at_zero_are_finite(void **state)
{
    static const char text[] = "parameters: {a: 0, b: 0}\n"
                               "rate rules: {a: 'sqrt(a) + b^0.5', b: 'ln(a + 1)'}\n";
    system_of s = open_system(text, true);
    saltus_pattern *q = NULL;
    saltus_jacobian j = {0};
    double slope[2], values[4] = {0.0};
    (void)state;
    s.y[0] = s.y[1] = 0.0;
    assert_int_equal(saltus_pattern_create(s.p.n, 2, true, &q, NULL), SALTUS_OK);
    assert_int_equal(saltus_jacobian_init(&j, s.p.n, q, NULL), SALTUS_OK);
    saltus_ode_slope(&s.p, &s.o, 0.0, s.y, slope);
    assert_true(saltus_jacobian_fill(&j, &s.p, values));
    assert_true(values[0] > 100.0 && values[0] < 1e9); /* a by a */
    saltus_jacobian_free(&j);
    saltus_pattern_destroy(q);
    close_system(&s);
}

/* Of a matrix whose factors have no further entries, those in part are whole. */
static void factors_in_part_solve(void **state)
{
    enum { N = 40 };
    int64_t first[N + 1];
    int32_t row[3 * N];
    double jacobian[3 * N], x[N], product[N];
    int n = 0;
    (void)state;
    for (int j = 0; j < N; ++j) { /* an arrow: the last row and column, and the diagonal */
        first[j] = n;
        for (int i = 0; i < N; ++i) {
            if (i == j || i == N - 1 || j == N - 1) {
                jacobian[n] = sin(3.0 * n + 1.0) - (i == j ? 2.0 : 0.0);
                row[n++] = i;
            }
        }
    }
    first[N] = n;
    assert_true(n <= 3 * N);
    const saltus_columns_of rows = {first, row};
    saltus_incomplete f = {0};
    assert_int_equal(saltus_incomplete_init(&f, &rows, N, NULL), SALTUS_OK);
    for (double gamma = 0.01; gamma < 20.0; gamma *= 10.0) {
        assert_true(saltus_incomplete_factor(&f, jacobian, gamma));
        for (int i = 0; i < N; ++i) {
            x[i] = cos(i);
            product[i] = cos(i);
        }
        for (int j = 0; j < N; ++j) {
            for (int64_t i = first[j]; i < first[j + 1]; ++i) {
                product[row[i]] -= gamma * jacobian[i] * x[j];
            }
        }
        saltus_incomplete_solve(&f, product);
        for (int i = 0; i < N; ++i) {
            assert_true(fabs(product[i] - x[i]) < 1e-9);
        }
    }
    memset(jacobian, 0, sizeof jacobian);
    jacobian[0] = 1.0; /* 1 - 1 is no pivot */
    assert_false(saltus_incomplete_factor(&f, jacobian, 1.0));
    saltus_incomplete_free(&f);
}

/* Whichever allocation fails, it is said, and nothing is left. */
static void no_memory_is_told(void **state)
{
    static const char text[] = "species: {A: 1, B: 1}\nrules: {s: A + B}\nreactions:\n"
                               "  a: {equation: A -> B, law: s*A}\n";
    system_of s = open_system(text, true);
    saltus_status status = SALTUS_E_NO_MEMORY;
    int n = 0;
    (void)state;
    for (; status != SALTUS_OK; ++n) {
        saltus_pattern *q = NULL;
        saltus_jacobian j = {0};
        saltus_incomplete f = {0};
        saltus_fail_allocation(n);
        status = saltus_pattern_create(s.p.n, 2, true, &q, NULL);
        status = status == SALTUS_OK ? saltus_jacobian_init(&j, s.p.n, q, NULL) : status;
        status = status == SALTUS_OK ? saltus_incomplete_init(&f, &q->rows, 2, NULL) : status;
        saltus_fail_allocation(-1);
        assert_true(status == SALTUS_OK || status == SALTUS_E_NO_MEMORY);
        saltus_incomplete_free(&f);
        saltus_jacobian_free(&j);
        saltus_pattern_destroy(q);
    }
    assert_true(n > 15);
    close_system(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_products),
        cmocka_unit_test(programs_are_followed_through_rules),
        cmocka_unit_test(rate_rules_stand_alone),
        cmocka_unit_test(roots_at_zero_are_finite),
        cmocka_unit_test(factors_in_part_solve),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
