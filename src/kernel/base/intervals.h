/**
 * Interval arithmetic over the operations of programs: what a law can be while the time goes
 * through an interval, which bounds it there (kernel/ssa/thinned.h). One lane wide.
 *
 * An interval holds every value that its program can compute, in the doubles that it is computed
 * in. An operation that rounds correctly rises and falls with its operands, rounded as exactly, so
 * its ends need no widening. Elementary functions, whose errors are below 1 ulp (math.h), are
 * widened by two steps outwards. An interval whose ends are NaN says nothing: values may be NaN
 * too.
 *
 * Poles: a quotient whose divisor passes 0 is anything from -inf to inf. 0 times such an interval
 * is 0, because the product is 0 at all times but that of the pole.
 */
#ifndef SALTUS_KERNEL_BASE_INTERVALS_H
#define SALTUS_KERNEL_BASE_INTERVALS_H

#include "kernel/base/program.h"

#if SALTUS_LANES != 1
#error "a value's interval is one lane wide"
#endif

typedef struct saltus_interval {
    double lo, hi;
} saltus_interval;

/* From lo to hi; nothing is known if either is NaN. */
SALTUS_FN saltus_interval saltus_interval_of(double lo, double hi)
{
    saltus_interval s;
    const int known = lo == lo && hi == hi;
    s.lo = known ? lo : lo + hi;
    s.hi = known ? hi : lo + hi;
    return s;
}

SALTUS_FN int saltus_interval_is_unknown(saltus_interval s)
{
    return s.lo != s.lo;
}

SALTUS_FN saltus_interval saltus_interval_unknown(void)
{
    return saltus_interval_of(SALTUS_NAN, SALTUS_NAN);
}

SALTUS_FN saltus_interval saltus_interval_whole(void)
{
    return saltus_interval_of(-SALTUS_INFINITY, SALTUS_INFINITY);
}

SALTUS_FN int saltus_interval_is_point(saltus_interval s)
{
    return s.lo == s.hi;
}

SALTUS_FN int saltus_interval_has_zero(saltus_interval s)
{
    return s.lo <= 0.0 && s.hi >= 0.0;
}

SALTUS_FN int saltus_interval_is_zero(saltus_interval s)
{
    return s.lo == 0.0 && s.hi == 0.0;
}

/* The two doubles after x, away from 0 or towards it; not across it. Infinities stay. */
SALTUS_FN double saltus_interval_step(double x, int outwards)
{
    const int64_t bits = SALTUS_AS_I64(x), magnitude = bits & 0x7fffffffffffffff;
    if (magnitude == 0 || magnitude >= 0x7ff0000000000000) {
        return x; /* a computed 0 is exact, and a NaN stays one */
    }
    const int64_t moved = outwards ? magnitude + 2 : magnitude > 2 ? magnitude - 2 : 0;
    const int64_t most = 0x7ff0000000000000;
    return SALTUS_AS_F64((bits ^ magnitude) | (moved < most ? moved : most));
}

/* Two steps wider than from lo to hi. An end that overflowed may have been finite elsewhere. */
SALTUS_FN saltus_interval saltus_interval_wider(double lo, double hi)
{
    const double largest = 0x1.fffffffffffffp+1023;
    lo = lo == SALTUS_INFINITY ? largest : lo;
    hi = hi == -SALTUS_INFINITY ? -largest : hi;
    return saltus_interval_of(saltus_interval_step(lo, lo < 0.0),
                              saltus_interval_step(hi, hi > 0.0));
}

SALTUS_FN saltus_interval saltus_interval_within(saltus_interval s, double lo, double hi)
{
    s.lo = s.lo < lo ? lo : s.lo;
    s.hi = s.hi > hi ? hi : s.hi;
    return s;
}

/* All that is in a or b. */
SALTUS_FN saltus_interval saltus_interval_hull(saltus_interval a, saltus_interval b)
{
    if (saltus_interval_is_unknown(a) || saltus_interval_is_unknown(b)) {
        return saltus_interval_unknown();
    }
    return saltus_interval_of(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

/* ---- functions of one operand ---- */

/* A function that rises. Where it is not defined, an end is NaN, and nothing is known. */
SALTUS_FN saltus_interval saltus_interval_rising(int op, saltus_interval a)
{
    return saltus_interval_wider(saltus_apply(op, a.lo, 0.0, 0.0),
                                 saltus_apply(op, a.hi, 0.0, 0.0));
}

SALTUS_FN saltus_interval saltus_interval_falling(int op, saltus_interval a)
{
    return saltus_interval_wider(saltus_apply(op, a.hi, 0.0, 0.0),
                                 saltus_apply(op, a.lo, 0.0, 0.0));
}

/* The same of one that rounds correctly. */
SALTUS_FN saltus_interval saltus_interval_exact(int op, saltus_interval a)
{
    return saltus_interval_of(saltus_apply(op, a.lo, 0.0, 0.0), saltus_apply(op, a.hi, 0.0, 0.0));
}

/* A function that falls on both sides of a pole at 0. */
SALTUS_FN saltus_interval saltus_interval_inverse(int op, saltus_interval a)
{
    return saltus_interval_has_zero(a) ? saltus_interval_whole() : saltus_interval_falling(op, a);
}

/* A function that is defined from 1 on and up to -1; on each side it rises or falls. */
SALTUS_FN saltus_interval saltus_interval_outside(int op, saltus_interval a, int rises)
{
    if (!(a.lo >= 1.0 || a.hi <= -1.0)) {
        return saltus_interval_unknown();
    }
    return rises ? saltus_interval_rising(op, a) : saltus_interval_falling(op, a);
}

SALTUS_FN saltus_interval saltus_interval_neg(saltus_interval a)
{
    return saltus_interval_of(-a.hi, -a.lo);
}

SALTUS_FN saltus_interval saltus_interval_abs(saltus_interval a)
{
    if (saltus_interval_is_unknown(a) || a.lo >= 0.0) {
        return a;
    }
    return a.hi <= 0.0 ? saltus_interval_neg(a)
                       : saltus_interval_of(0.0, -a.lo > a.hi ? -a.lo : a.hi);
}

SALTUS_FN saltus_interval saltus_interval_sqrt(saltus_interval a)
{
    return a.lo < 0.0 ? saltus_interval_unknown() : saltus_interval_exact(SALTUS_OP_SQRT, a);
}

/* Of whole numbers, which is all that a factorial takes; others become NaN when they are computed.
 */
SALTUS_FN saltus_interval saltus_interval_factorial(saltus_interval a)
{
    if (!(a.lo >= 0.0)) {
        return saltus_interval_unknown();
    }
    return saltus_interval_of(1.0, saltus_apply(SALTUS_OP_FACTORIAL, saltus_floor(a.hi), 0.0, 0.0));
}

/* Up to here quarter turns are counted; beyond, periodic functions have their whole range. */
#define SALTUS_INTERVAL_TURNS 0x1p30

/* Whether a number that is `first` and whole multiples of `step` away from it lies in an interval
 * of quarter turns, or within 2^-20 of it. */
SALTUS_FN int saltus_interval_turns(saltus_interval a, double first, double step)
{
    const double per_turn = 0x1.45f306dc9c883p-1; /* 2 / pi */
    const double lo = a.lo * per_turn - 0x1p-20, hi = a.hi * per_turn + 0x1p-20;
    return !(first + step * saltus_ceil((lo - first) / step) > hi);
}

SALTUS_FN int saltus_interval_is_far(saltus_interval a)
{
    return !(a.lo > -SALTUS_INTERVAL_TURNS && a.hi < SALTUS_INTERVAL_TURNS);
}

/* Sine or cosine, whose largest value is at so many quarter turns. */
SALTUS_FN saltus_interval saltus_interval_wave(int op, saltus_interval a, double top)
{
    if (saltus_interval_is_far(a)) { /* sine and cosine of infinity are NaN */
        return a.lo > -SALTUS_INFINITY && a.hi < SALTUS_INFINITY ? saltus_interval_of(-1.0, 1.0)
                                                                 : saltus_interval_unknown();
    }
    const double left = saltus_apply(op, a.lo, 0.0, 0.0), right = saltus_apply(op, a.hi, 0.0, 0.0);
    saltus_interval s =
        left < right ? saltus_interval_wider(left, right) : saltus_interval_wider(right, left);
    s.hi = saltus_interval_turns(a, top, 4.0) ? 1.0 : s.hi;
    s.lo = saltus_interval_turns(a, top - 2.0, 4.0) ? -1.0 : s.lo;
    return saltus_interval_within(s, -1.0, 1.0);
}

/* Tangent or cotangent, whose poles are at odd or even quarter turns. */
SALTUS_FN saltus_interval saltus_interval_tangent(int op, saltus_interval a, double pole, int rises)
{
    if (saltus_interval_is_unknown(a) || saltus_interval_is_far(a) ||
        saltus_interval_turns(a, pole, 2.0)) {
        return a.lo > -SALTUS_INFINITY && a.hi < SALTUS_INFINITY ? saltus_interval_whole()
                                                                 : saltus_interval_unknown();
    }
    return rises ? saltus_interval_rising(op, a) : saltus_interval_falling(op, a);
}

SALTUS_FN saltus_interval saltus_interval_divide(saltus_interval a, saltus_interval b);

/* Secant or cosecant. */
SALTUS_FN saltus_interval saltus_interval_one_over(saltus_interval wave)
{
    const saltus_interval s = saltus_interval_divide(saltus_interval_of(1.0, 1.0), wave);
    return saltus_interval_wider(s.lo, s.hi);
}

SALTUS_FN saltus_interval saltus_interval_acot(saltus_interval a)
{
    const double half_pi = 0x1.921fb54442d1ap+0; /* a step above it */
    return saltus_interval_has_zero(a) ? saltus_interval_of(-half_pi, half_pi)
                                       : saltus_interval_falling(SALTUS_OP_ACOT, a);
}

/* ---- of two ---- */

/* From the least to the largest of four; unknown if one of them is NaN. */
SALTUS_FN saltus_interval saltus_interval_among(double p, double q, double r, double s)
{
    const saltus_interval a = p < q ? saltus_interval_of(p, q) : saltus_interval_of(q, p),
                          b = r < s ? saltus_interval_of(r, s) : saltus_interval_of(s, r);
    return saltus_interval_hull(a, b);
}

/* Of an operation that rises or falls with each operand, whatever the other: from its values at the
 * corners. */
SALTUS_FN saltus_interval saltus_interval_corners(int op, saltus_interval a, saltus_interval b)
{
    const double p = saltus_apply(op, a.lo, b.lo, 0.0), q = saltus_apply(op, a.hi, b.lo, 0.0);
    if (saltus_interval_is_point(b)) {
        return saltus_interval_among(p, q, p, q);
    }
    return saltus_interval_among(p, q, saltus_apply(op, a.lo, b.hi, 0.0),
                                 saltus_apply(op, a.hi, b.hi, 0.0));
}

SALTUS_FN saltus_interval saltus_interval_wider_corners(int op, saltus_interval a,
                                                        saltus_interval b)
{
    const saltus_interval s = saltus_interval_corners(op, a, b);
    return saltus_interval_wider(s.lo, s.hi);
}

/* inf - inf is NaN. */
SALTUS_FN saltus_interval saltus_interval_add(saltus_interval a, saltus_interval b)
{
    const double inf = SALTUS_INFINITY;
    return (a.lo == -inf && b.hi == inf) || (a.hi == inf && b.lo == -inf)
               ? saltus_interval_unknown()
               : saltus_interval_of(a.lo + b.lo, a.hi + b.hi);
}

/* 0, unless the other factor is infinite throughout or unknown. */
SALTUS_FN saltus_interval saltus_interval_no_product(saltus_interval other)
{
    const int is_number = saltus_interval_is_unknown(other) || saltus_interval_is_point(other);
    const double y = is_number ? other.lo * 0.0 : 0.0;
    return saltus_interval_of(y, y);
}

SALTUS_FN saltus_interval saltus_interval_multiply(saltus_interval a, saltus_interval b)
{
    if (saltus_interval_is_zero(a)) {
        return saltus_interval_no_product(b);
    }
    if (saltus_interval_is_zero(b)) {
        return saltus_interval_no_product(a);
    }
    return saltus_interval_among(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}

SALTUS_FN saltus_interval saltus_interval_divide(saltus_interval a, saltus_interval b)
{
    if (saltus_interval_has_zero(b)) {
        return saltus_interval_is_unknown(a) || saltus_interval_is_zero(b)
                   ? saltus_interval_unknown()
               : saltus_interval_is_zero(a) ? saltus_interval_of(0.0, 0.0)
                                            : saltus_interval_whole();
    }
    return saltus_interval_among(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}

/* a^b for a number b. */
SALTUS_FN saltus_interval saltus_interval_power(saltus_interval a, double b)
{
    const saltus_interval exponent = saltus_interval_of(b, b);
    const int whole = saltus_trunc(b) == b, odd = saltus_is_odd(b) != 0;
    if (b == 0.0) {
        return saltus_interval_of(1.0, 1.0);
    }
    if (a.lo < 0.0 && !whole) {
        return saltus_interval_unknown();
    }
    const saltus_interval base = whole && !odd ? saltus_interval_abs(a) : a;
    if (b < 0.0 && saltus_interval_has_zero(base)) {
        return saltus_interval_whole();
    }
    return saltus_interval_wider_corners(SALTUS_OP_POW, base, exponent);
}

SALTUS_FN saltus_interval saltus_interval_pow(saltus_interval a, saltus_interval b)
{
    if (saltus_interval_is_unknown(a) || saltus_interval_is_unknown(b)) {
        return saltus_interval_unknown();
    }
    if (saltus_interval_is_point(b)) {
        return saltus_interval_power(a, b.lo);
    }
    if (a.lo < 0.0) {
        return saltus_interval_unknown();
    }
    if (a.lo == 0.0 && b.lo <= 0.0) {
        return saltus_interval_of(0.0, SALTUS_INFINITY);
    }
    /* Some exponents between are short powers, which round more often. */
    const saltus_interval s = saltus_interval_corners(SALTUS_OP_POW, a, b);
    return saltus_interval_wider(s.lo < 0x1p-1000 ? 0.0 : s.lo * (1.0 - 0x1p-47),
                                 s.hi * (1.0 + 0x1p-47));
}

/* The root of degree n. */
SALTUS_FN saltus_interval saltus_interval_root(saltus_interval n, saltus_interval x)
{
    const int odd = saltus_interval_is_point(n) && saltus_is_odd(n.lo) != 0;
    if (saltus_interval_is_unknown(n) || saltus_interval_is_unknown(x) ||
        saltus_interval_has_zero(n) || (x.lo < 0.0 && !odd)) {
        return saltus_interval_unknown();
    }
    return saltus_interval_has_zero(x) && n.lo < 0.0
               ? saltus_interval_whole()
               : saltus_interval_wider_corners(SALTUS_OP_ROOT, n, x);
}

SALTUS_FN saltus_interval saltus_interval_quotient(saltus_interval a, saltus_interval b)
{
    return saltus_interval_has_zero(b) ? saltus_interval_unknown()
                                       : saltus_interval_corners(SALTUS_OP_QUOTIENT, a, b);
}

/* The remainder has the sign of a and is less than b and at most a; between two multiples of b it
 * rises with a. */
SALTUS_FN saltus_interval saltus_interval_rem(saltus_interval a, saltus_interval b)
{
    if (saltus_interval_is_unknown(a) || saltus_interval_is_unknown(b) ||
        saltus_interval_has_zero(b) || !(a.lo > -SALTUS_INFINITY && a.hi < SALTUS_INFINITY)) {
        return saltus_interval_unknown();
    }
    const saltus_interval q = saltus_interval_quotient(a, b);
    if (!(q.lo > -0x1p53 && q.hi < 0x1p53)) {
        return saltus_interval_unknown();
    }
    if (saltus_interval_is_point(b) && saltus_interval_is_point(q) &&
        (a.lo >= 0.0 || a.hi <= 0.0)) {
        return saltus_interval_corners(SALTUS_OP_REM, a, b);
    }
    const saltus_interval size = saltus_interval_abs(b);
    return saltus_interval_of(a.lo >= 0.0       ? 0.0
                              : a.lo > -size.hi ? a.lo
                                                : -size.hi,
                              a.hi <= 0.0      ? 0.0
                              : a.hi < size.hi ? a.hi
                                               : size.hi);
}

/* ---- comparisons and logic ---- */

/* 1 or 0, or both. */
SALTUS_FN saltus_interval saltus_interval_truth(int surely, int surely_not)
{
    return saltus_interval_of(surely ? 1.0 : 0.0, surely_not ? 0.0 : 1.0);
}

/* NaN is true. */
SALTUS_FN int saltus_interval_is_true(saltus_interval a)
{
    return !saltus_interval_is_unknown(a) && !saltus_interval_has_zero(a);
}

SALTUS_FN saltus_interval saltus_interval_equal(saltus_interval a, saltus_interval b)
{
    return saltus_interval_truth(saltus_interval_is_point(a) && saltus_interval_is_point(b) &&
                                     a.lo == b.lo,
                                 a.hi < b.lo || b.hi < a.lo);
}

SALTUS_FN saltus_interval saltus_interval_not(saltus_interval a)
{
    return saltus_interval_truth(saltus_interval_is_zero(a), saltus_interval_is_true(a));
}

SALTUS_FN saltus_interval saltus_interval_and(saltus_interval a, saltus_interval b)
{
    return saltus_interval_truth(saltus_interval_is_true(a) && saltus_interval_is_true(b),
                                 saltus_interval_is_zero(a) || saltus_interval_is_zero(b));
}

SALTUS_FN saltus_interval saltus_interval_or(saltus_interval a, saltus_interval b)
{
    return saltus_interval_truth(saltus_interval_is_true(a) || saltus_interval_is_true(b),
                                 saltus_interval_is_zero(a) && saltus_interval_is_zero(b));
}

SALTUS_FN saltus_interval saltus_interval_xor(saltus_interval a, saltus_interval b)
{
    const int a1 = saltus_interval_is_true(a), a0 = saltus_interval_is_zero(a),
              b1 = saltus_interval_is_true(b), b0 = saltus_interval_is_zero(b);
    return saltus_interval_truth((a1 && b0) || (a0 && b1), (a1 && b1) || (a0 && b0));
}

SALTUS_FN saltus_interval saltus_interval_select(saltus_interval a, saltus_interval b,
                                                 saltus_interval c)
{
    return saltus_interval_is_true(a)   ? b
           : saltus_interval_is_zero(a) ? c
                                        : saltus_interval_hull(b, c);
}

SALTUS_FN saltus_interval saltus_interval_min(saltus_interval a, saltus_interval b)
{
    return saltus_interval_of(saltus_min(a.lo, b.lo), saltus_min(a.hi, b.hi));
}

SALTUS_FN saltus_interval saltus_interval_max(saltus_interval a, saltus_interval b)
{
    return saltus_interval_of(saltus_max(a.lo, b.lo), saltus_max(a.hi, b.hi));
}

/* What each operation makes of intervals, as SALTUS_DO_… makes it of numbers. */
/* clang-format off */
#define SALTUS_INTERVAL_CONST(a, b, c) (a)
#define SALTUS_INTERVAL_VARIABLE(a, b, c) (a)
#define SALTUS_INTERVAL_TIME(a, b, c) (a)
#define SALTUS_INTERVAL_PIECEWISE(a, b, c) (a)
#define SALTUS_INTERVAL_ADD(a, b, c) saltus_interval_add(a, b)
#define SALTUS_INTERVAL_SUB(a, b, c) saltus_interval_add(a, saltus_interval_neg(b))
#define SALTUS_INTERVAL_MUL(a, b, c) saltus_interval_multiply(a, b)
#define SALTUS_INTERVAL_DIV(a, b, c) saltus_interval_divide(a, b)
#define SALTUS_INTERVAL_POW(a, b, c) saltus_interval_pow(a, b)
#define SALTUS_INTERVAL_NEG(a, b, c) saltus_interval_neg(a)
#define SALTUS_INTERVAL_LT(a, b, c) saltus_interval_truth((a).hi < (b).lo, (a).lo >= (b).hi)
#define SALTUS_INTERVAL_LE(a, b, c) saltus_interval_truth((a).hi <= (b).lo, (a).lo > (b).hi)
#define SALTUS_INTERVAL_GT(a, b, c) saltus_interval_truth((a).lo > (b).hi, (a).hi <= (b).lo)
#define SALTUS_INTERVAL_GE(a, b, c) saltus_interval_truth((a).lo >= (b).hi, (a).hi < (b).lo)
#define SALTUS_INTERVAL_EQ(a, b, c) saltus_interval_equal(a, b)
#define SALTUS_INTERVAL_NE(a, b, c) saltus_interval_not(saltus_interval_equal(a, b))
#define SALTUS_INTERVAL_AND(a, b, c) saltus_interval_and(a, b)
#define SALTUS_INTERVAL_OR(a, b, c) saltus_interval_or(a, b)
#define SALTUS_INTERVAL_NOT(a, b, c) saltus_interval_not(a)
#define SALTUS_INTERVAL_XOR(a, b, c) saltus_interval_xor(a, b)
#define SALTUS_INTERVAL_IMPLIES(a, b, c) saltus_interval_or(saltus_interval_not(a), b)
#define SALTUS_INTERVAL_SELECT(a, b, c) saltus_interval_select(a, b, c)
#define SALTUS_INTERVAL_MIN(a, b, c) saltus_interval_min(a, b)
#define SALTUS_INTERVAL_MAX(a, b, c) saltus_interval_max(a, b)
#define SALTUS_INTERVAL_ABS(a, b, c) saltus_interval_abs(a)
#define SALTUS_INTERVAL_EXP(a, b, c) saltus_interval_rising(SALTUS_OP_EXP, a)
#define SALTUS_INTERVAL_LN(a, b, c) saltus_interval_rising(SALTUS_OP_LN, a)
#define SALTUS_INTERVAL_LOG10(a, b, c) saltus_interval_rising(SALTUS_OP_LOG10, a)
#define SALTUS_INTERVAL_SQRT(a, b, c) saltus_interval_sqrt(a)
#define SALTUS_INTERVAL_ROOT(a, b, c) saltus_interval_root(a, b)
#define SALTUS_INTERVAL_FLOOR(a, b, c) saltus_interval_exact(SALTUS_OP_FLOOR, a)
#define SALTUS_INTERVAL_CEIL(a, b, c) saltus_interval_exact(SALTUS_OP_CEIL, a)
#define SALTUS_INTERVAL_ROUND(a, b, c) saltus_interval_exact(SALTUS_OP_ROUND, a)
#define SALTUS_INTERVAL_FACTORIAL(a, b, c) saltus_interval_factorial(a)
#define SALTUS_INTERVAL_QUOTIENT(a, b, c) saltus_interval_quotient(a, b)
#define SALTUS_INTERVAL_REM(a, b, c) saltus_interval_rem(a, b)
#define SALTUS_INTERVAL_SIN(a, b, c) saltus_interval_wave(SALTUS_OP_SIN, a, 1.0)
#define SALTUS_INTERVAL_COS(a, b, c) saltus_interval_wave(SALTUS_OP_COS, a, 0.0)
#define SALTUS_INTERVAL_TAN(a, b, c) saltus_interval_tangent(SALTUS_OP_TAN, a, 1.0, 1)
#define SALTUS_INTERVAL_SEC(a, b, c) saltus_interval_one_over(saltus_interval_wave(SALTUS_OP_COS, a, 0.0))
#define SALTUS_INTERVAL_CSC(a, b, c) saltus_interval_one_over(saltus_interval_wave(SALTUS_OP_SIN, a, 1.0))
#define SALTUS_INTERVAL_COT(a, b, c) saltus_interval_tangent(SALTUS_OP_COT, a, 0.0, 0)
#define SALTUS_INTERVAL_SINH(a, b, c) saltus_interval_rising(SALTUS_OP_SINH, a)
#define SALTUS_INTERVAL_COSH(a, b, c) saltus_interval_rising(SALTUS_OP_COSH, saltus_interval_abs(a))
#define SALTUS_INTERVAL_TANH(a, b, c) saltus_interval_within(saltus_interval_rising(SALTUS_OP_TANH, a), -1.0, 1.0)
#define SALTUS_INTERVAL_SECH(a, b, c) saltus_interval_falling(SALTUS_OP_SECH, saltus_interval_abs(a))
#define SALTUS_INTERVAL_CSCH(a, b, c) saltus_interval_inverse(SALTUS_OP_CSCH, a)
#define SALTUS_INTERVAL_COTH(a, b, c) saltus_interval_inverse(SALTUS_OP_COTH, a)
#define SALTUS_INTERVAL_ASIN(a, b, c) saltus_interval_rising(SALTUS_OP_ASIN, a)
#define SALTUS_INTERVAL_ACOS(a, b, c) saltus_interval_falling(SALTUS_OP_ACOS, a)
#define SALTUS_INTERVAL_ATAN(a, b, c) saltus_interval_rising(SALTUS_OP_ATAN, a)
#define SALTUS_INTERVAL_ASEC(a, b, c) saltus_interval_outside(SALTUS_OP_ASEC, a, 1)
#define SALTUS_INTERVAL_ACSC(a, b, c) saltus_interval_outside(SALTUS_OP_ACSC, a, 0)
#define SALTUS_INTERVAL_ACOT(a, b, c) saltus_interval_acot(a)
#define SALTUS_INTERVAL_ASINH(a, b, c) saltus_interval_rising(SALTUS_OP_ASINH, a)
#define SALTUS_INTERVAL_ACOSH(a, b, c) saltus_interval_rising(SALTUS_OP_ACOSH, a)
#define SALTUS_INTERVAL_ATANH(a, b, c) saltus_interval_rising(SALTUS_OP_ATANH, a)
#define SALTUS_INTERVAL_ASECH(a, b, c) saltus_interval_falling(SALTUS_OP_ASECH, a)
#define SALTUS_INTERVAL_ACSCH(a, b, c) saltus_interval_inverse(SALTUS_OP_ACSCH, a)
#define SALTUS_INTERVAL_ACOTH(a, b, c) saltus_interval_outside(SALTUS_OP_ACOTH, a, 0)
/* clang-format on */

/* Whether operands are numbers other than 0. */
SALTUS_FN int saltus_interval_are_numbers(saltus_interval a, saltus_interval b, saltus_interval c)
{
    return saltus_interval_is_point(a) && saltus_interval_is_point(b) &&
           saltus_interval_is_point(c) && a.lo != 0.0 && b.lo != 0.0 && c.lo != 0.0;
}

SALTUS_FN saltus_interval saltus_interval_number(double x)
{
    saltus_interval s;
    s.lo = s.hi = x;
    return s;
}

/** One operation on intervals. Numbers give the very number, except that a 0 may have either sign.
 */
SALTUS_OUTLINE saltus_interval saltus_interval_apply(int op, saltus_interval a, saltus_interval b,
                                                     saltus_interval c)
{
    if (saltus_interval_are_numbers(a, b, c)) {
        const double y = saltus_apply(op, a.lo, b.lo, c.lo);
        return saltus_interval_of(y, y);
    }
    switch (op) {
#define SALTUS_CASE(name, text, arity) \
    case SALTUS_OP_##name:             \
        return SALTUS_INTERVAL_##name(a, b, c);
        /* some operations only copy: NOLINTNEXTLINE(bugprone-branch-clone) */
        SALTUS_APPLY_LIST(SALTUS_CASE)
#undef SALTUS_CASE
    default:
        return saltus_interval_select(a, b, c);
    }
}

#if SALTUS_TABLES
/* A value behind entry k, and of a spline all that rounding makes of it: cubics are computed with
 * an error below 100 roundings of the larger value. */
SALTUS_FN saltus_interval saltus_interval_behind(int op, double x, const double *table, int n,
                                                 int k)
{
    const int l = 0;
    const double y = saltus_table_behind(op, x, table, n, k, l);
    (void)l;
    if (op != SALTUS_OP_SPLINE || k == n - 1 ||
        !(SALTUS_TABLE_NUMBER(2 * k + 2) < SALTUS_INFINITY)) {
        return saltus_interval_of(y, y);
    }
    const double y0 = SALTUS_TABLE_NUMBER(2 * k + 1), y1 = SALTUS_TABLE_NUMBER(2 * k + 3);
    const double larger = saltus_abs(y0) > saltus_abs(y1) ? saltus_abs(y0) : saltus_abs(y1);
    const double least = y0 < y1 ? y0 : y1, most = y0 < y1 ? y1 : y0, error = 0x1p-44 * larger;
    return saltus_interval_of(y - error > least ? y - error : least,
                              y + error < most ? y + error : most);
}

/* All that a table of n entries has in an interval: its ends, and both sides of every entry. */
SALTUS_OUTLINE saltus_interval saltus_interval_table(int op, saltus_interval x, const double *table,
                                                     int n)
{
    const int l = 0;
    (void)l;
    if (!(x.lo >= SALTUS_TABLE_NUMBER(0) && x.hi <= SALTUS_TABLE_NUMBER(2 * n - 2))) {
        return saltus_interval_unknown();
    }
    int k = saltus_table_place(x.lo, table, n, 0);
    const int last = saltus_table_place(x.hi, table, n, 0);
    saltus_interval all = saltus_interval_behind(op, x.lo, table, n, k);
    for (; k < last; ++k) {
        const double next = SALTUS_TABLE_NUMBER(2 * k + 2);
        all = saltus_interval_hull(all, saltus_interval_behind(op, next, table, n, k));
        const double y = SALTUS_TABLE_NUMBER(2 * k + 3);
        all = saltus_interval_hull(all, saltus_interval_of(y, y));
    }
    return saltus_interval_hull(all, saltus_interval_behind(op, x.hi, table, n, last));
}
#endif

/* Operand of a program on intervals: a slot of `intervals`, where slot i has its ends at 2 i and 2
 * i + 1, or, less than 0, a row of numbers that do not change meanwhile. */
SALTUS_FN saltus_interval saltus_interval_operand(int32_t at, const double *intervals,
                                                  const double *v)
{
    saltus_interval s;
    if (at < 0) {
        s.lo = s.hi = v[SALTUS_AT(-1 - at)];
    } else {
        s.lo = intervals[SALTUS_AT(2 * at)];
        s.hi = intervals[SALTUS_AT(2 * at + 1)];
    }
    return s;
}

/* What an instruction makes of its operands; a table stands in rows. */
SALTUS_FN saltus_interval saltus_interval_operation(const saltus_instruction *i, saltus_interval a,
                                                    saltus_interval b, saltus_interval c,
                                                    const double *v)
{
#if SALTUS_TABLES
    if (i->op > SALTUS_OP_SELECT) {
        return saltus_interval_table(i->op, a, v + SALTUS_AT(-1 - i->b), (int)c.lo);
    }
#endif
    (void)v;
    return saltus_interval_apply(i->op, a, b, c);
}

/** Run one program on intervals. An operand that an operation does not have is its first. */
SALTUS_OUTLINE saltus_interval saltus_interval_run(const saltus_instruction *code, saltus_program p,
                                                   double *intervals, const double *v)
{
    const saltus_instruction *end = code + p.first + p.n;
    for (const saltus_instruction *i = code + p.first; i < end; ++i) {
        const saltus_interval a = saltus_interval_operand(i->a, intervals, v),
                              b = saltus_interval_operand(i->b, intervals, v),
                              c = saltus_interval_operand(i->c, intervals, v);
        const saltus_interval y = saltus_interval_operation(i, a, b, c, v);
        intervals[SALTUS_AT(2 * i->dst)] = y.lo;
        intervals[SALTUS_AT(2 * i->dst + 1)] = y.hi;
    }
    return saltus_interval_operand(p.result, intervals, v);
}

#endif
