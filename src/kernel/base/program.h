/** Programs: what expressions become when a model is frozen, run over lanes. */
#ifndef SALTUS_KERNEL_BASE_PROGRAM_H
#define SALTUS_KERNEL_BASE_PROGRAM_H

#include "kernel/base/math.h"
#include "kernel/base/math_hyperbolic.h"
#include "kernel/base/math_trig.h"
#include "kernel/base/ops.h"
#include "kernel/base/tables.h"

/* 1 where the mask is set, else 0. */
SALTUS_FN saltus_f64 saltus_truth(saltus_mask m)
{
    return saltus_select(m, saltus_splat(1.0), saltus_splat(0.0));
}

SALTUS_FN saltus_mask saltus_is_true(saltus_f64 x)
{
    return SALTUS_NE(x, saltus_splat(0.0));
}

/* What each operation does with its operands, for programs and for code that is generated. */
/* clang-format off */
#define SALTUS_DO_CONST(a, b, c) (a)
#define SALTUS_DO_VARIABLE(a, b, c) (a)
#define SALTUS_DO_TIME(a, b, c) (a)
#define SALTUS_DO_PIECEWISE(a, b, c) (a)
#define SALTUS_DO_ADD(a, b, c) ((a) + (b))
#define SALTUS_DO_SUB(a, b, c) ((a) - (b))
#define SALTUS_DO_MUL(a, b, c) ((a) * (b))
#define SALTUS_DO_DIV(a, b, c) ((a) / (b))
#define SALTUS_DO_POW(a, b, c) saltus_power(a, b)
#define SALTUS_DO_NEG(a, b, c) (-(a))
#define SALTUS_DO_LT(a, b, c) saltus_truth(SALTUS_LT(a, b))
#define SALTUS_DO_LE(a, b, c) saltus_truth(SALTUS_LE(a, b))
#define SALTUS_DO_GT(a, b, c) saltus_truth(SALTUS_LT((b), (a)))
#define SALTUS_DO_GE(a, b, c) saltus_truth(SALTUS_LE((b), (a)))
#define SALTUS_DO_EQ(a, b, c) saltus_truth(SALTUS_EQ(a, b))
#define SALTUS_DO_NE(a, b, c) saltus_truth(SALTUS_NE(a, b))
#define SALTUS_DO_AND(a, b, c) saltus_truth(saltus_is_true(a) & saltus_is_true(b))
#define SALTUS_DO_OR(a, b, c) saltus_truth(saltus_is_true(a) | saltus_is_true(b))
#define SALTUS_DO_NOT(a, b, c) saltus_truth(~saltus_is_true(a))
#define SALTUS_DO_XOR(a, b, c) saltus_truth(saltus_is_true(a) ^ saltus_is_true(b))
#define SALTUS_DO_IMPLIES(a, b, c) saltus_truth(~saltus_is_true(a) | saltus_is_true(b))
#define SALTUS_DO_SELECT(a, b, c) saltus_select(saltus_is_true(a), (b), (c))
#define SALTUS_DO_MIN(a, b, c) saltus_min(a, b)
#define SALTUS_DO_MAX(a, b, c) saltus_max(a, b)
#define SALTUS_DO_ABS(a, b, c) saltus_abs(a)
#define SALTUS_DO_EXP(a, b, c) saltus_exp(a)
#define SALTUS_DO_LN(a, b, c) saltus_log(a)
#define SALTUS_DO_LOG10(a, b, c) saltus_log10(a)
#define SALTUS_DO_SQRT(a, b, c) saltus_sqrt(a)
#define SALTUS_DO_ROOT(a, b, c) saltus_root(a, b)
#define SALTUS_DO_FLOOR(a, b, c) saltus_floor(a)
#define SALTUS_DO_CEIL(a, b, c) saltus_ceil(a)
#define SALTUS_DO_ROUND(a, b, c) saltus_round_even(a)
#define SALTUS_DO_FACTORIAL(a, b, c) saltus_factorial(a)
#define SALTUS_DO_QUOTIENT(a, b, c) saltus_quotient(a, b)
#define SALTUS_DO_REM(a, b, c) saltus_rem(a, b)
#define SALTUS_DO_SIN(a, b, c) saltus_sin(a)
#define SALTUS_DO_COS(a, b, c) saltus_cos(a)
#define SALTUS_DO_TAN(a, b, c) saltus_tan(a)
#define SALTUS_DO_SEC(a, b, c) saltus_sec(a)
#define SALTUS_DO_CSC(a, b, c) saltus_csc(a)
#define SALTUS_DO_COT(a, b, c) saltus_cot(a)
#define SALTUS_DO_SINH(a, b, c) saltus_sinh(a)
#define SALTUS_DO_COSH(a, b, c) saltus_cosh(a)
#define SALTUS_DO_TANH(a, b, c) saltus_tanh(a)
#define SALTUS_DO_SECH(a, b, c) saltus_sech(a)
#define SALTUS_DO_CSCH(a, b, c) saltus_csch(a)
#define SALTUS_DO_COTH(a, b, c) saltus_coth(a)
#define SALTUS_DO_ASIN(a, b, c) saltus_asin(a)
#define SALTUS_DO_ACOS(a, b, c) saltus_acos(a)
#define SALTUS_DO_ATAN(a, b, c) saltus_atan(a)
#define SALTUS_DO_ASEC(a, b, c) saltus_asec(a)
#define SALTUS_DO_ACSC(a, b, c) saltus_acsc(a)
#define SALTUS_DO_ACOT(a, b, c) saltus_acot(a)
#define SALTUS_DO_ASINH(a, b, c) saltus_asinh(a)
#define SALTUS_DO_ACOSH(a, b, c) saltus_acosh(a)
#define SALTUS_DO_ATANH(a, b, c) saltus_atanh(a)
#define SALTUS_DO_ASECH(a, b, c) saltus_asech(a)
#define SALTUS_DO_ACSCH(a, b, c) saltus_acsch(a)
#define SALTUS_DO_ACOTH(a, b, c) saltus_acoth(a)
/* clang-format on */

/* 1: programs may have tables. The host defines it for kernels of such models. */
#ifndef SALTUS_TABLES
#define SALTUS_TABLES (!SALTUS_DEVICE)
#endif

#if SALTUS_TABLES
/* Number `k` of a table of arguments and values in pairs, of lane l. */
#define SALTUS_TABLE_NUMBER(k) SALTUS_LANE(table[SALTUS_AT(k)], l)

/** The last of n arguments in a table that is not larger than x, which must not be less than the
 * first. */
SALTUS_FN int saltus_table_place(double x, const saltus_f64 *table, int n, int l)
{
    int low = 0, high = n;
    (void)l;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        const int is_above = SALTUS_TABLE_NUMBER(2 * middle) > x;
        high = is_above ? middle : high;
        low = is_above ? low : middle;
    }
    return low;
}

/* A spline's slope at the entry from which one neighbour is h0 away, with the slope s0 of the line
 * to it, and the other h1 with s1: of an inner entry (Fritsch and Butland, SIAM J. Sci. Stat.
 * Comput. 5 (1984) 300, doi:10.1137/0905021), and of the first or last, whose second neighbour is
 * beyond the first one. Whichever values a table has, the spline rises and falls where they do
 * (Fritsch and Carlson, SIAM J. Numer. Anal. 17 (1980) 238, doi:10.1137/0717021). */
SALTUS_FN double saltus_spline_inner(double h0, double s0, double h1, double s1)
{
    const double w0 = 2.0 * h1 + h0, w1 = h1 + 2.0 * h0;
    return s0 * s1 > 0.0 ? (w0 + w1) / (w0 / s0 + w1 / s1) : 0.0;
}

SALTUS_FN double saltus_spline_end(double h0, double s0, double h1, double s1)
{
    const double slope = ((2.0 * h0 + h1) * s0 - h0 * s1) / (h0 + h1);
    const int is_steep = s0 * s1 < 0.0 && !(slope * slope <= 9.0 * (s0 * s0));
    return !(slope * s0 > 0.0) ? 0.0 : is_steep ? 3.0 * s0 : slope;
}

/* The spline's slope at entry k of n, n > 1, all of them at numbers. */
SALTUS_FN double saltus_spline_slope(const saltus_f64 *table, int n, int k, int l)
{
    const int first = k == 0 ? 0 : k - 1, back = k == n - 1 && n > 2 ? n - 3 : first;
    double h[2], s[2];
    (void)l;
    for (int i = 0; i < 2; ++i) {
        const int at = n == 2 ? 0 : back + i;
        h[i] = SALTUS_TABLE_NUMBER(2 * at + 2) - SALTUS_TABLE_NUMBER(2 * at);
        s[i] = (SALTUS_TABLE_NUMBER(2 * at + 3) - SALTUS_TABLE_NUMBER(2 * at + 1)) / h[i];
    }
    return n == 2       ? s[0]
           : k == 0     ? saltus_spline_end(h[0], s[0], h[1], s[1])
           : k == n - 1 ? saltus_spline_end(h[1], s[1], h[0], s[0])
                        : saltus_spline_inner(h[0], s[0], h[1], s[1]);
}

/* The spline at x between entries k and k + 1, never beyond the two values. */
SALTUS_FN double saltus_spline_between(double x, const saltus_f64 *table, int n, int k, int l)
{
    const int last = SALTUS_TABLE_NUMBER(2 * n - 2) < SALTUS_INFINITY ? n : n - 1;
    const double x0 = SALTUS_TABLE_NUMBER(2 * k), y0 = SALTUS_TABLE_NUMBER(2 * k + 1);
    const double h = SALTUS_TABLE_NUMBER(2 * k + 2) - x0, y1 = SALTUS_TABLE_NUMBER(2 * k + 3);
    const double a = h * saltus_spline_slope(table, last, k, l);
    const double b = h * saltus_spline_slope(table, last, k + 1, l);
    const double t = (x - x0) / h, d = y1 - y0;
    const double y = y0 + t * (a + t * ((3.0 * d - 2.0 * a - b) + t * (a + b - 2.0 * d)));
    const double least = y0 < y1 ? y0 : y1, most = y0 < y1 ? y1 : y0;
    (void)l;
    return y < least ? least : y > most ? most : y;
}

/** The value at x behind entry k: between two entries it rises or falls with x, as it is rounded,
 * or of a spline but for rounding. Up to an entry at infinity the value is held. */
SALTUS_FN double saltus_table_behind(int op, double x, const saltus_f64 *table, int n, int k, int l)
{
    const double x0 = SALTUS_TABLE_NUMBER(2 * k), y0 = SALTUS_TABLE_NUMBER(2 * k + 1);
    (void)l;
    if (op == SALTUS_OP_HELD || k == n - 1 || !(SALTUS_TABLE_NUMBER(2 * k + 2) < SALTUS_INFINITY)) {
        return y0;
    }
    if (op == SALTUS_OP_SPLINE) {
        return saltus_spline_between(x, table, n, k, l);
    }
    const double x1 = SALTUS_TABLE_NUMBER(2 * k + 2), y1 = SALTUS_TABLE_NUMBER(2 * k + 3);
    return y0 + (y1 - y0) * ((x - x0) / (x1 - x0));
}

/** The value of a table at x: NaN before its first argument and behind its last. */
SALTUS_OUTLINE saltus_f64 saltus_table_value(int op, saltus_f64 x, const saltus_f64 *table,
                                             saltus_f64 length)
{
    saltus_f64 y = x;
    for (int l = 0; l < SALTUS_LANES; ++l) {
        const double at = SALTUS_LANE(x, l);
        const int n = (int)SALTUS_LANE(length, l);
        if (at >= SALTUS_TABLE_NUMBER(0) && at <= SALTUS_TABLE_NUMBER(2 * n - 2)) {
            SALTUS_LANE(y, l) =
                saltus_table_behind(op, at, table, n, saltus_table_place(at, table, n, l), l);
        } else {
            SALTUS_LANE(y, l) = SALTUS_INFINITY * 0.0;
        }
    }
    return y;
}
#endif

#if SALTUS_LANES == 1
/** One operation on numbers, not of a table. Kernels in which it is called from several places have
 * all functions once, since their compilation takes its time; those that are written for a model
 * say which operations they need, as SALTUS_OP_LIST does. */
#ifndef SALTUS_APPLY_LIST
#define SALTUS_APPLY_LIST SALTUS_OP_LIST
#endif
SALTUS_OUTLINE double saltus_apply(int op, double a, double b, double c)
{
    switch (op) {
#define SALTUS_CASE(name, text, arity) \
    case SALTUS_OP_##name:             \
        return SALTUS_DO_##name(a, b, c);
        /* some operations only copy: NOLINTNEXTLINE(bugprone-branch-clone) */
        SALTUS_APPLY_LIST(SALTUS_CASE)
#undef SALTUS_CASE
    default:
        return SALTUS_DO_SELECT(a, b, c);
    }
}
#endif

/* Operations of programs that are run, as SALTUS_OP_LIST has them. Kernels that are written for a
 * model have no others, because their compilation takes its time. */
#ifndef SALTUS_RUN_LIST
#define SALTUS_RUN_LIST SALTUS_OP_LIST
#endif

/**
 * Run one program on the rows v[row][lane]. Both branches of a piecewise are computed and one is
 * chosen, so an invalid operation in the other does no harm.
 */
SALTUS_OUTLINE void saltus_program_run(const saltus_instruction *code, saltus_program p,
                                       saltus_f64 *v)
{
    const saltus_instruction *end = code + p.first + p.n;
    for (const saltus_instruction *i = code + p.first; i < end; ++i) {
        const saltus_f64 a = v[SALTUS_AT(i->a)], b = v[SALTUS_AT(i->b)], c = v[SALTUS_AT(i->c)];
        saltus_f64 y;
#if SALTUS_DEVICE && SALTUS_THINNED
#if SALTUS_TABLES
        if (i->op > SALTUS_OP_SELECT) {
            y = saltus_table_value(i->op, a, v + SALTUS_AT(i->b), c);
        } else
#endif
        {
            y = saltus_apply(i->op, a, b, c);
        }
#else
        switch (i->op) {
#define SALTUS_CASE(name, text, arity) \
    case SALTUS_OP_##name:             \
        y = SALTUS_DO_##name(a, b, c); \
        break;
            /* some operations only copy: NOLINTNEXTLINE(bugprone-branch-clone) */
            SALTUS_RUN_LIST(SALTUS_CASE)
#undef SALTUS_CASE
        case SALTUS_OP_SELECT:
            y = SALTUS_DO_SELECT(a, b, c);
            break;
#if SALTUS_TABLES
        case SALTUS_OP_HELD:
        case SALTUS_OP_LINEAR:
        case SALTUS_OP_SPLINE:
            y = saltus_table_value(i->op, a, v + SALTUS_AT(i->b), c);
            break;
#endif
        default:
            y = a;
            break;
        }
#endif
        v[SALTUS_AT(i->dst)] = y;
    }
}

#endif
