/* kernel/base/intervals.h: what a program computes at any time of an interval lies in its interval,
 * for every operation and for programs of several; and intervals of what laws have are tight. */
#include "kernel/base/intervals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const names[] = {
#define NAME(name, text, arity) #name,
    SALTUS_OP_LIST(NAME)
#undef NAME
        "SELECT",
};

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static int below(int n)
{
    return (int)(uniform() * n);
}

/* Numbers of all sizes that laws have, many of them whole or where a function has its corners. */
static double number(void)
{
    static const double corners[] = {0.0,  1.0,  -1.0, 2.0,  0.5,   -0.5,   3.0,    24.0,
                                     -2.0, 10.0, 0.1,  1e-3, 1e300, 1e-300, 0x1p53, 1000.0};
    const double sign = below(4) == 0 ? -1.0 : 1.0;
    switch (below(4)) {
    case 0:
        return corners[below(sizeof corners / sizeof *corners)];
    case 1:
        return sign * below(20);
    case 2:
        return sign * 10.0 * uniform();
    default:
        return sign * exp(20.0 * uniform() - 10.0);
    }
}

/* ---- programs ---- */

enum { MOST = 8, N_NUMBERS = 4 };

/* Slot 0 is the time, slot i the result of instruction i - 1; rows of numbers stand at
 * -1, -2, …. The same program on rows has the numbers behind the slots. */
typedef struct program {
    saltus_instruction intervals[MOST], plain[MOST];
    double numbers[N_NUMBERS];
    int n;
} program;

static int operand(int i, int *plain)
{
    const int k = below(i + 1 + N_NUMBERS);
    const int at = k <= i ? k : i - k;
    *plain = at >= 0 ? at : MOST + 1 - 1 - at;
    return at;
}

static program random_program(int n)
{
    program p = {.n = n};
    for (int k = 0; k < N_NUMBERS; ++k) {
        p.numbers[k] = number();
    }
    for (int i = 0; i < n; ++i) {
        int op = below(SALTUS_N_OPS + 1), plain[3], at[3];
        while (op < SALTUS_OP_ADD || op == SALTUS_OP_PIECEWISE) {
            op = below(SALTUS_N_OPS + 1);
        }
        for (int k = 0; k < 3; ++k) {
            at[k] = operand(i, &plain[k]);
        }
        if (i == 0) { /* else much would not depend on the time */
            at[below(2)] = 0;
            at[0] = at[0] < 0 && at[1] < 0 ? 0 : at[0];
            for (int k = 0; k < 2; ++k) {
                plain[k] = at[k] == 0 ? 0 : plain[k];
            }
        }
        p.intervals[i] = (saltus_instruction){op, i + 1, at[0], at[1], at[2]};
        p.plain[i] = (saltus_instruction){op, i + 1, plain[0], plain[1], plain[2]};
    }
    return p;
}

static double v_plain[MOST + 1 + N_NUMBERS], intervals[2 * (MOST + 1)];

static void run_intervals(const program *p, double lo, double hi)
{
    intervals[0] = lo;
    intervals[1] = hi;
    (void)saltus_interval_run(p->intervals, (saltus_program){0, p->n, p->n}, intervals, p->numbers);
}

static void run_plain(const program *p, double t)
{
    v_plain[0] = t;
    memcpy(v_plain + MOST + 1, p->numbers, sizeof p->numbers);
    saltus_program_run(p->plain, (saltus_program){0, p->n, p->n}, v_plain);
}

/* How often a value was compared with a finite end, by operation. */
static int64_t compared[SALTUS_N_OPS + 1], known;

static void print_program(const program *p, double lo, double hi, double t)
{
    fprintf(stderr, "time %a in [%a, %a]\n", t, lo, hi);
    for (int i = 0; i < p->n; ++i) {
        const saltus_instruction *c = &p->plain[i];
        fprintf(stderr, "  %s %a %a %a = %a in [%a, %a]\n", names[c->op], v_plain[c->a],
                v_plain[c->b], v_plain[c->c], v_plain[i + 1], intervals[2 * i + 2],
                intervals[2 * i + 3]);
    }
}

/* At a pole, which is a moment, a factor of 0 hides the pole; and what is no whole number has no
 * factorial. What follows is not compared. */
static bool is_excused(const saltus_instruction *c)
{
    const double a = v_plain[c->a], b = v_plain[c->b];
    const bool is_product = c->op == SALTUS_OP_MUL || c->op == SALTUS_OP_DIV;
    return (is_product && isnan(v_plain[c->dst]) &&
            (isinf(a) || isinf(b) || (a == 0.0 && b == 0.0))) ||
           (c->op == SALTUS_OP_FACTORIAL && isnan(v_plain[c->dst]) && a != floor(a));
}

static void compare_at(const program *p, double lo, double hi, double t)
{
    run_plain(p, t);
    for (int i = 0; i < p->n; ++i) {
        const saltus_interval s = {intervals[2 * i + 2], intervals[2 * i + 3]};
        const double y = v_plain[i + 1];
        if (saltus_interval_is_unknown(s)) {
            continue;
        }
        if (is_excused(&p->plain[i])) {
            return;
        }
        ++known;
        compared[p->plain[i].op] += isfinite(s.lo) || isfinite(s.hi);
        if (!(y >= s.lo && y <= s.hi)) {
            print_program(p, lo, hi, t);
            fail_msg("%s: %a is not in [%a, %a]", names[p->plain[i].op], y, s.lo, s.hi);
        }
    }
}

/* Where functions of the time have their extremes and steps. */
static double inside(double lo, double hi, int k)
{
    const double quarter = 0x1.921fb54442d18p+0;
    double t = lo + (hi - lo) * uniform();
    switch (k) {
    case 0:
        return lo;
    case 1:
        return hi;
    case 2:
        t = floor(t) + 0.0;
        break;
    case 3:
        t = nextafter(floor(t), -INFINITY);
        break;
    case 4:
        t = floor(t / quarter) * quarter;
        break;
    case 5:
        t = nextafter(hi, lo);
        break;
    default:
        break;
    }
    return t >= lo && t <= hi ? t : lo;
}

static void compare(const program *p, double lo, double hi)
{
    run_intervals(p, lo, hi);
    for (int k = 0; k < 24; ++k) {
        compare_at(p, lo, hi, inside(lo, hi, k));
    }
}

static void times(double *lo, double *hi)
{
    static const double widths[] = {0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1000.0};
    *lo = below(8) == 0 ? -fabs(number()) : fabs(number());
    *hi = *lo + widths[below(sizeof widths / sizeof *widths)] * uniform();
}

static void values_lie_in_intervals(void **unused)
{
    (void)unused;
    for (int i = 0; i < 400000; ++i) {
        const program p = random_program(1 + below(MOST));
        double lo, hi;
        times(&lo, &hi);
        compare(&p, lo, hi);
    }
    for (int op = SALTUS_OP_ADD; op <= SALTUS_N_OPS; ++op) {
        if (op != SALTUS_OP_PIECEWISE && compared[op] < 10000) {
            fail_msg("%s was compared %lld times", names[op], (long long)compared[op]);
        }
    }
}

/* ---- tables ---- */

static void tables_lie_in_intervals(void **unused)
{
    (void)unused;
    int64_t n_known = 0;
    for (int round = 0; round < 20000; ++round) {
        double table[20], x = 10.0 * uniform() - 5.0;
        const int n = 1 + below(10), op = SALTUS_OP_HELD + (int)below(3);
        for (int k = 0; k < n; ++k) {
            table[2 * k] = x;
            table[2 * k + 1] = number();
            x += exp(6.0 * uniform() - 3.0);
        }
        table[2 * n - 2] = below(4) == 0 ? INFINITY : table[2 * n - 2];
        const double lo = table[0] + (below(5) == 0 ? 0.0 : uniform()) * (x - table[0]) - 0.01,
                     hi = lo + uniform() * (x - table[0]);
        const saltus_interval s = saltus_interval_table(op, (saltus_interval){lo, hi}, table, n);
        for (int k = 0; k < 40; ++k) {
            const double at = k == 0   ? lo
                              : k == 1 ? hi
                              : k < 6  ? lo + (hi - lo) * 0x1p-48 * uniform()
                              : k < 8  ? hi - (hi - lo) * 0x1p-48 * uniform()
                              : k < 14 ? table[2 * below(n)]
                              : k < 22 ? nextafter(table[2 * below(n)], -INFINITY)
                                       : lo + (hi - lo) * uniform();
            const double y = saltus_table_value(op, at, table, n);
            if (at < lo || at > hi || saltus_interval_is_unknown(s)) {
                continue;
            }
            ++n_known;
            if (!(y >= s.lo && y <= s.hi)) {
                fail_msg("%a at %a is not in [%a, %a]", y, at, s.lo, s.hi);
            }
        }
    }
    assert_true(n_known > 50000);
}

static void tables_have_their_values(void **unused)
{
    static const double table[] = {0, 4, 1, 20, 3, 2, 6, 5, INFINITY, 0};
    static const struct {
        double x, held, linear;
    } cases[] = {{0, 4, 4}, {0.25, 4, 8}, {1, 20, 20}, {2, 20, 11},  {3, 2, 2},
                 {4, 2, 3}, {6, 5, 5},    {7, 5, 5},   {1e300, 5, 5}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_true(saltus_table_value(SALTUS_OP_HELD, cases[i].x, table, 5) == cases[i].held);
        assert_true(saltus_table_value(SALTUS_OP_LINEAR, cases[i].x, table, 5) == cases[i].linear);
    }
    assert_true(isnan(saltus_table_value(SALTUS_OP_HELD, -1e-300, table, 5)));
    assert_true(isnan(saltus_table_value(SALTUS_OP_LINEAR, 6.5, table, 4)));
    assert_true(isnan(saltus_table_value(SALTUS_OP_LINEAR, NAN, table, 5)));
    const saltus_interval s =
        saltus_interval_table(SALTUS_OP_LINEAR, (saltus_interval){0.25, 2}, table, 5);
    assert_true(s.lo == 8 && s.hi == 20);
    assert_true(saltus_interval_is_unknown(
        saltus_interval_table(SALTUS_OP_HELD, (saltus_interval){5, 7}, table, 4)));
}

/* Values of scipy's PchipInterpolator, which has the same slopes. The interval of a spline is no
 * wider than what it has. */
static void splines_have_their_values(void **unused)
{
    static const double table[] = {0, 1, 1, 2, 2.5, 10, 3, 10.5, 5, 0, 6, 0.1, 8, 4, INFINITY, 0};
    static const double ending[] = {0, 3, 1, 1, 9, 2}, two[] = {1, 5, 3, 6};
    static const struct {
        double x, y;
    } cases[] = {{0, 1},
                 {0.5, 1.2986577181208054},
                 {1, 2},
                 {2.5, 10},
                 {2, 7.768938837902532},
                 {2.75, 10.344488188976378},
                 {4, 5.25},
                 {5.5, 0.028386699507389163},
                 {7, 1.2973932676518882},
                 {8, 4},
                 {99, 4}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const double y = saltus_table_value(SALTUS_OP_SPLINE, cases[i].x, table, 8);
        if (!(fabs(y - cases[i].y) <= 1e-14 * (1.0 + cases[i].y))) {
            fail_msg("%.17g at %g, not %.17g", y, cases[i].x, cases[i].y);
        }
    }
    assert_true(saltus_table_value(SALTUS_OP_SPLINE, 0.25, ending, 3) == 2.373046875);
    assert_true(saltus_table_value(SALTUS_OP_SPLINE, 1.5, two, 2) == 5.25);
    assert_true(saltus_table_value(SALTUS_OP_SPLINE, 3, table, 8) == 10.5);
    assert_true(isnan(saltus_table_value(SALTUS_OP_SPLINE, 3.5, two, 2)));
    const saltus_interval s =
        saltus_interval_table(SALTUS_OP_SPLINE, (saltus_interval){1.5, 5.5}, table, 8);
    assert_true(s.lo == 0 && s.hi == 10.5);
}

/* Positive data give a spline that is positive: it rises and falls where they do. */
static void splines_stay_between_their_entries(void **unused)
{
    (void)unused;
    for (int round = 0; round < 20000; ++round) {
        double table[20], x = 0.0;
        const int n = 2 + (int)below(9);
        for (int k = 0; k < n; ++k) {
            table[2 * k] = x;
            table[2 * k + 1] = below(4) == 0 ? 0.0 : exp(20.0 * uniform() - 10.0);
            x += exp(12.0 * uniform() - 6.0);
        }
        for (int k = 0; k + 1 < n; ++k) {
            double before = table[2 * k + 1];
            const double y0 = before, y1 = table[2 * k + 3], sign = y1 < y0 ? -1.0 : 1.0;
            for (int i = 1; i <= 20; ++i) {
                const double x0 = table[2 * k], x1 = table[2 * k + 2];
                const double at = i == 20 ? x1 : fmin(x0 + (x1 - x0) * i / 20.0, x1);
                const double y = saltus_table_value(SALTUS_OP_SPLINE, at, table, n);
                assert_true(y >= 0.0 && sign * (y - before) >= -1e-14 * (y0 + y1));
                before = y;
            }
        }
    }
}

/* ---- tight intervals ---- */

static saltus_interval unary(int op, double lo, double hi)
{
    const saltus_interval a = {lo, hi};
    return saltus_interval_apply(op, a, a, a);
}

static saltus_interval binary(int op, double lo, double hi, double b)
{
    const saltus_interval a = {lo, hi}, number = {b, b};
    return saltus_interval_apply(op, a, number, a);
}

static void assert_interval(saltus_interval s, double lo, double hi)
{
    if (!(fabs(s.lo - lo) <= 1e-14 * (1.0 + fabs(lo)) &&
          fabs(s.hi - hi) <= 1e-14 * (1.0 + fabs(hi)))) {
        fail_msg("[%a, %a] is not about [%a, %a]", s.lo, s.hi, lo, hi);
    }
}

static void intervals_are_tight(void **unused)
{
    (void)unused;
    assert_interval(unary(SALTUS_OP_SIN, 0.1, 0.2), sin(0.1), sin(0.2));
    assert_interval(unary(SALTUS_OP_SIN, 1.0, 2.0), sin(1.0), 1.0);
    assert_interval(unary(SALTUS_OP_SIN, 4.0, 5.0), -1.0, sin(4.0));
    assert_interval(unary(SALTUS_OP_COS, 3.0, 3.5), -1.0, cos(3.5));
    assert_interval(unary(SALTUS_OP_COS, -0.5, 0.25), cos(0.5), 1.0);
    assert_interval(unary(SALTUS_OP_SIN, 0.0, 7.0), -1.0, 1.0);
    assert_interval(unary(SALTUS_OP_TAN, 1.6, 3.0), tan(1.6), tan(3.0));
    assert_interval(unary(SALTUS_OP_COT, 0.5, 3.0), 1 / tan(3.0), 1 / tan(0.5));
    assert_interval(unary(SALTUS_OP_SEC, -1.0, 0.5), 1.0, 1 / cos(1.0));
    assert_interval(unary(SALTUS_OP_CSC, 0.5, 2.0), 1.0, 1 / sin(0.5));
    assert_interval(unary(SALTUS_OP_COSH, -1.0, 2.0), 1.0, cosh(2.0));
    assert_interval(unary(SALTUS_OP_SECH, -1.0, 2.0), 1 / cosh(2.0), 1.0);
    assert_interval(unary(SALTUS_OP_ABS, -3.0, 2.0), 0.0, 3.0);
    assert_interval(unary(SALTUS_OP_ACOS, -0.5, 0.5), acos(0.5), acos(-0.5));
    assert_interval(binary(SALTUS_OP_POW, -3.0, 2.0, 2.0), 0.0, 9.0);
    assert_interval(binary(SALTUS_OP_POW, -3.0, 2.0, 3.0), -27.0, 8.0);
    assert_interval(binary(SALTUS_OP_POW, 2.0, 4.0, -0.5), 0.5, sqrt(0.5));
    assert_interval(binary(SALTUS_OP_MUL, -3.0, 2.0, -2.0), -4.0, 6.0);
    assert_interval(binary(SALTUS_OP_REM, 30.0, 35.0, 24.0), 6.0, 11.0);
    assert_interval(binary(SALTUS_OP_REM, 30.0, 50.0, 24.0), 0.0, 24.0);
    assert_interval(binary(SALTUS_OP_LT, 6.0, 11.0, 12.0), 1.0, 1.0);
    assert_interval(binary(SALTUS_OP_LT, 6.0, 12.0, 12.0), 0.0, 1.0);
    assert_interval(binary(SALTUS_OP_GE, 6.0, 11.0, 12.0), 0.0, 0.0);
    assert_interval(unary(SALTUS_OP_FLOOR, 2.5, 4.0), 2.0, 4.0);
}

/* Ends that law and numbers share stay as they are, so that what has no time in it is bounded by
 * itself. */
static void numbers_stay_numbers(void **unused)
{
    (void)unused;
    for (int op = SALTUS_OP_ADD; op <= SALTUS_N_OPS; ++op) {
        if (op == SALTUS_OP_PIECEWISE) {
            continue;
        }
        const saltus_interval a = {3.7, 3.7}, b = {2.1, 2.1}, c = {-5.5, -5.5},
                              y = saltus_interval_apply(op, a, b, c);
        const double value = saltus_apply(op, 3.7, 2.1, -5.5);
        assert_true(memcmp(&y.lo, &value, sizeof value) == 0 || isnan(value));
        assert_true(memcmp(&y.hi, &value, sizeof value) == 0 || isnan(y.lo));
    }
}

static void poles_are_infinite(void **unused)
{
    (void)unused;
    const saltus_interval t = {4.0, 6.0}, five = {5.0, 5.0}, one = {1.0, 1.0}, none = {0.0, 0.0},
                          minus = {-1.0, 1.0};
    const saltus_interval difference = saltus_interval_apply(SALTUS_OP_SUB, t, five, five);
    const saltus_interval pole = saltus_interval_apply(SALTUS_OP_DIV, one, difference, one);
    assert_true(pole.lo == -INFINITY && pole.hi == INFINITY);
    assert_true(saltus_interval_is_zero(saltus_interval_apply(SALTUS_OP_MUL, none, pole, one)));
    assert_true(
        saltus_interval_is_zero(saltus_interval_apply(SALTUS_OP_DIV, none, difference, one)));
    assert_true(
        saltus_interval_is_unknown(saltus_interval_apply(SALTUS_OP_SQRT, minus, minus, minus)));
    assert_true(
        saltus_interval_is_unknown(saltus_interval_apply(SALTUS_OP_LN, minus, minus, minus)));
    const saltus_interval unknown = saltus_interval_unknown();
    assert_true(
        saltus_interval_is_unknown(saltus_interval_apply(SALTUS_OP_MUL, none, unknown, one)));
    assert_true(
        saltus_interval_is_zero(saltus_interval_apply(SALTUS_OP_SELECT, one, none, unknown)));
    assert_true(
        saltus_interval_is_unknown(saltus_interval_apply(SALTUS_OP_SELECT, none, none, unknown)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_lie_in_intervals),
        cmocka_unit_test(tables_lie_in_intervals),
        cmocka_unit_test(tables_have_their_values),
        cmocka_unit_test(splines_have_their_values),
        cmocka_unit_test(splines_stay_between_their_entries),
        cmocka_unit_test(intervals_are_tight),
        cmocka_unit_test(numbers_stay_numbers),
        cmocka_unit_test(poles_are_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
