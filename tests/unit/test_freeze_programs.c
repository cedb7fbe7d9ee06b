/* Programs of laws: powers are multiplied out, what stands twice is computed once, and neither
 * changes a bit of what the operations say. */
#include "frozen.h"

#include "kernel/base/program.h"

#include <stdio.h>
#include <stdlib.h>

/* The first law's value where there are x X and y Y, by its program. */
static double value_at(const saltus_model *m, double x, double y)
{
    const saltus_tables *t = &m->network->tables;
    double *v = calloc((size_t)t->n_rows + 1, sizeof *v);
    assert_non_null(v);
    assert_int_equal(t->law_program[0], 0);
    v[0] = x;
    v[1] = y;
    memcpy(v + t->row_constants, t->constants, (size_t)t->n_constants * sizeof *v);
    v[t->row_one] = 1.0;
    saltus_program_run(t->code, t->laws[0], v);
    const double a = v[t->laws[0].result];
    free(v);
    return a;
}

/* How many operations of this kind the first law has; op < 0: of any. */
static int count(const saltus_model *m, int op)
{
    const saltus_tables *t = &m->network->tables;
    int n = 0;
    for (int i = t->laws[0].first; i < t->laws[0].first + t->laws[0].n; ++i) {
        n += op < 0 || t->code[i].op == op;
    }
    return n;
}

/* A model whose first law this is; h is set to 2 where `sets`, which it is anyway. */
static saltus_model *of_law(const char *law, bool sets)
{
    saltus_error err = {0};
    char text[400];
    (void)snprintf(text, sizeof text,
                   "species: {X: 5, Y: 7}\nparameters: {K: 3.7, h: 2}\n"
                   "reactions:\n  r: X + Y -> X + Y + Y @ %s\n",
                   law);
    saltus_model *m = parse_text(text);
    if (sets) {
        assert_int_equal(saltus_model_set(m, "h", 2.0, &err), SALTUS_OK);
    }
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    return m;
}

static void short_powers_are_multiplied_out(void **state)
{
    (void)state;
    for (int twice = -18; twice <= 18; ++twice) {
        const double y = 0.5 * twice;
        const bool is_short = twice >= -16 && twice <= 16;
        char law[100];
        (void)snprintf(law, sizeof law, "Y/7 + (X/K)^(%.1f)", y);
        saltus_model *m = of_law(law, false);
        assert_int_equal(count(m, SALTUS_OP_POW), is_short ? 0 : 1);
        assert_int_equal(count(m, SALTUS_OP_SQRT), is_short && twice % 2 != 0 ? 1 : 0);
        for (double x = 0.0; x < 300.0; x += 1.0) {
            const double expected = 11.0 / 7.0 + saltus_power(x / 3.7, y),
                         got = value_at(m, x, 11.0);
            if (memcmp(&expected, &got, sizeof got) != 0) {
                fail_msg("%g to the %g: %a, not %a", x, y, got, expected);
            }
        }
        saltus_model_destroy(m);
    }
}

/* A power with an exponent that was set stays one, so that a sweep over it has one program, and has
 * the same value. */
static void powers_that_are_set_stay(void **state)
{
    (void)state;
    saltus_model *written = of_law("1 + X^h", false), *set = of_law("1 + X^h", true);
    assert_int_equal(count(written, SALTUS_OP_POW), 0);
    assert_int_equal(count(set, SALTUS_OP_POW), 1);
    for (double x = 0.0; x < 300.0; x += 1.0) {
        assert_true(value_at(written, x, 1.0) == value_at(set, x, 1.0));
    }
    saltus_model_destroy(written);
    saltus_model_destroy(set);
}

static void what_stands_twice_is_computed_once(void **state)
{
    static const struct {
        const char *law;
        int n; /* operations */
    } cases[] = {
        {"X/K/(1 + X/K)", 3},
        {"(X/K)^2/(1 + (X/K)^2)", 4},   /* /, *, +, / */
        {"(X/K)^2*Y/(1 + (X/K)^3)", 6}, /* they share the square */
        {"exp(X*Y) + exp(Y*X)", 3},     /* a product commutes, */
        {"exp(X - Y) + exp(Y - X)", 5}, /* a difference does not */
        {"(X + K)*(Y + K)/((X + K) + (Y + K)*(X + K))", 5},
        {"piecewise(X^3, X > 3, X^3 + Y)", 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_model *m = of_law(cases[i].law, false);
        if (count(m, -1) != cases[i].n) {
            fail_msg("%s: %d operations, not %d", cases[i].law, count(m, -1), cases[i].n);
        }
        for (double x = 1.0; x < 60.0; x += 1.0) {
            double values[16] = {0};
            values[saltus_model_find(m, "X")] = x;
            values[saltus_model_find(m, "Y")] = 60.0 - x;
            values[saltus_model_find(m, "K")] = 3.7;
            const double expected = saltus_expr_value(m->reactions[0].law, values, 0.0),
                         got = value_at(m, x, 60.0 - x);
            if (memcmp(&expected, &got, sizeof got) != 0) {
                fail_msg("%s at %g: %a, not %a", cases[i].law, x, got, expected);
            }
        }
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_powers_are_multiplied_out),
        cmocka_unit_test(powers_that_are_set_stay),
        cmocka_unit_test(what_stands_twice_is_computed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
