/**
 * Hyperbolic functions and their inverses over lanes; see math.h for the terms. Arguments so
 * small that the sums of two doubles no longer resolve them are their own result.
 */
#ifndef SALTUS_KERNEL_BASE_MATH_HYPERBOLIC_H
#define SALTUS_KERNEL_BASE_MATH_HYPERBOLIC_H

#include "kernel/base/math.h"

/* sinh|x| = s 2^(k - 1) and cosh x = c 2^(k - 1), s and c as sums of two doubles: s from exp(|x|)
 * and its inverse, or below 1, where they cancel, from the series in x^2. */
SALTUS_FN saltus_dd saltus_sinh_cosh(saltus_f64 x, saltus_dd *c, saltus_i64 *k)
{
    saltus_f64 zero = saltus_splat(0.0);
    saltus_f64 a = saltus_min(saltus_abs(x), saltus_splat(800.0));
    saltus_dd e = saltus_exp_dd(saltus_dd_of(a, zero), k);
    saltus_dd inverse = saltus_dd_ratio(saltus_dd_of(saltus_splat(1.0), zero), e);
    saltus_mask near = SALTUS_LT(a, saltus_splat(1.0));
    saltus_i64 cut = saltus_select_i64(SALTUS_LT(*k, saltus_splat_i64(64)), *k, //
                                       saltus_splat_i64(64));
    saltus_f64 f = SALTUS_AS_F64((1023u - 2u * SALTUS_AS_U64(cut)) << 52); /* 2^(-2k) */
    saltus_f64 unit = SALTUS_AS_F64((1024u - SALTUS_AS_U64(cut)) << 52);   /* 2^(1 - k) */
    saltus_f64 z = a * a;
    saltus_f64 w = z * z;
    saltus_f64 even = (0x1.b4cf791593e25p-41 * w + 0x1.ae6467668edebp-26) * w;
    saltus_f64 odd = (0x1.611a3a1ec5922p-33 * w + 0x1.71de3a45f71c6p-19) * w;
    saltus_dd s, series;

    even = (even + 0x1.a01a01a0291fcp-13) * w + z * (odd + 0x1.11111111110a1p-7);
    series = saltus_fast_sum(a, a * (z * (even + 0x1.5555555555556p-3)));
    inverse = saltus_dd_of(inverse.hi * f, inverse.lo * f);
    *c = saltus_dd_sum(e, inverse);
    s = saltus_dd_sum(e, saltus_dd_of(-inverse.hi, -inverse.lo));
    s.hi = saltus_select(near, series.hi * unit, s.hi);
    s.lo = saltus_select(near, series.lo * unit, s.lo);
    return s;
}

/** Hyperbolic sine; error below 0.9 ulp. */
SALTUS_FN saltus_f64 saltus_sinh(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c, s = saltus_sinh_cosh(x, &c, &k);
    return saltus_with_sign(saltus_scale(s.hi, k - 1), x);
}

/** Hyperbolic cosine; error below 0.65 ulp. */
SALTUS_FN saltus_f64 saltus_cosh(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c;
    (void)saltus_sinh_cosh(x, &c, &k);
    return saltus_scale(c.hi, k - 1);
}

/** Hyperbolic tangent; error below 0.9 ulp. */
SALTUS_FN saltus_f64 saltus_tanh(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c, s = saltus_sinh_cosh(x, &c, &k);
    return saltus_with_sign(saltus_dd_quotient(s, c), x);
}

/** Hyperbolic cotangent, inf with its sign at 0; error below 0.9 ulp. */
SALTUS_FN saltus_f64 saltus_coth(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c, s = saltus_sinh_cosh(x, &c, &k);
    return saltus_with_sign(saltus_dd_quotient(c, s), x);
}

/** Hyperbolic secant, 1 / cosh; error below 0.65 ulp. */
SALTUS_FN saltus_f64 saltus_sech(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c, one = saltus_dd_of(saltus_splat(1.0), saltus_splat(0.0));
    (void)saltus_sinh_cosh(x, &c, &k);
    return saltus_scale(saltus_dd_quotient(one, c), 1 - k);
}

/** Hyperbolic cosecant, 1 / sinh, inf with its sign at 0; error below 0.95 ulp. */
SALTUS_FN saltus_f64 saltus_csch(saltus_f64 x)
{
    saltus_i64 k;
    saltus_dd c, one = saltus_dd_of(saltus_splat(1.0), saltus_splat(0.0));
    saltus_dd s = saltus_sinh_cosh(x, &c, &k);
    return saltus_with_sign(saltus_scale(saltus_dd_quotient(one, s), 1 - k), x);
}

/* log((hi + lo) 2^shift) */
SALTUS_FN saltus_f64 saltus_log_of(saltus_dd a, saltus_f64 shift)
{
    saltus_dd l = saltus_log_dd(a.hi, shift);
    saltus_dd s = saltus_two_sum(l.hi, a.lo / a.hi);
    return s.hi + (s.lo + l.lo);
}

/* log(a + root), or log(2 a) beyond 2^40, where they are the same, for asinh and acosh. */
SALTUS_FN saltus_f64 saltus_log_of_sum(saltus_f64 a, saltus_dd root)
{
    saltus_f64 zero = saltus_splat(0.0);
    saltus_mask far = SALTUS_LT(saltus_splat(0x1p40), a);
    saltus_dd sum = saltus_dd_sum(root, saltus_dd_of(a, zero));

    sum.hi = saltus_select(far, a, sum.hi);
    sum.lo = saltus_select(far, zero, sum.lo);
    return saltus_log_of(sum, saltus_select(far, saltus_splat(1.0), zero));
}

/** Inverse hyperbolic sine; error below 0.51 ulp. */
SALTUS_FN saltus_f64 saltus_asinh(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 cut = saltus_min(a, saltus_splat(0x1p40));
    saltus_f64 y = saltus_log_of_sum(a, saltus_dd_sqrt(saltus_dd_square_plus(1.0, 1.0, cut)));
    saltus_mask same = SALTUS_LT(a, saltus_splat(0x1p-28)) | SALTUS_EQ(a, SALTUS_INF);

    return saltus_select(same | SALTUS_NE(x, x), x, saltus_with_sign(y, x));
}

/** Inverse hyperbolic cosine, NaN below 1; error below 0.51 ulp. */
SALTUS_FN saltus_f64 saltus_acosh(saltus_f64 x)
{
    saltus_f64 cut = saltus_min(x, saltus_splat(0x1p40));
    saltus_f64 y = saltus_log_of_sum(x, saltus_dd_sqrt(saltus_dd_square_plus(-1.0, 1.0, cut)));

    y = saltus_select(SALTUS_LT(x, SALTUS_INF), y, x);
    return saltus_select(SALTUS_LT(x, saltus_splat(1.0)), SALTUS_NAN, y);
}

/* log((1 + a)/|1 - a|)/2 for a >= 0; inf at 1. */
SALTUS_FN saltus_f64 saltus_half_log_ratio(saltus_f64 a)
{
    saltus_f64 one = saltus_splat(1.0);
    saltus_dd below = saltus_two_sum(one, -a);
    saltus_mask outside = SALTUS_LT(below.hi, saltus_splat(0.0));
    saltus_f64 y;

    below.hi = saltus_select(outside, -below.hi, below.hi);
    below.lo = saltus_select(outside, -below.lo, below.lo);
    y = saltus_log_of(saltus_dd_ratio(saltus_two_sum(one, a), below), saltus_splat(0.0));
    return saltus_select(SALTUS_EQ(a, one), SALTUS_INF, 0.5 * y);
}

/** Inverse hyperbolic tangent, inf with its sign at 1 and -1, NaN outside [-1, 1]; error below
 * 0.51 ulp. */
SALTUS_FN saltus_f64 saltus_atanh(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 y = saltus_with_sign(saltus_half_log_ratio(a), x);

    y = saltus_select(SALTUS_LE(a, saltus_splat(1.0)), y, SALTUS_NAN);
    return saltus_select(SALTUS_LT(a, saltus_splat(0x1p-28)), x, y);
}

/** Inverse hyperbolic cotangent, atanh(1 / x), inf with its sign at 1 and -1, NaN inside (-1, 1);
 * error below 0.54 ulp. */
SALTUS_FN saltus_f64 saltus_acoth(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 y = saltus_with_sign(saltus_half_log_ratio(a), x);

    y = saltus_select(SALTUS_LE(saltus_splat(1.0), a), y, SALTUS_NAN);
    return saltus_select(SALTUS_LT(saltus_splat(0x1p28), a), 1.0 / x, y);
}

/* -log(a / (1 + root)), a scaled so that the quotient keeps its bits, for asech and acsch. */
SALTUS_FN saltus_f64 saltus_minus_log_ratio(saltus_f64 a, saltus_dd root)
{
    saltus_f64 zero = saltus_splat(0.0);
    saltus_dd bottom = saltus_dd_sum(saltus_dd_of(saltus_splat(1.0), zero), root);
    saltus_mask tiny = SALTUS_LT(a, saltus_splat(0x1p-500));
    saltus_dd top = saltus_dd_of(saltus_select(tiny, a * 0x1p600, a), zero);
    saltus_f64 shift = saltus_select(tiny, saltus_splat(-600.0), zero);

    return 0.0 - saltus_log_of(saltus_dd_ratio(top, bottom), shift); /* never -0 */
}

/** Inverse hyperbolic secant, acosh(1 / x), inf at 0, NaN outside [0, 1]; error below 0.51 ulp. */
SALTUS_FN saltus_f64 saltus_asech(saltus_f64 x)
{
    saltus_dd root = saltus_dd_sqrt(saltus_dd_square_plus(1.0, -1.0, x));
    saltus_f64 y = saltus_minus_log_ratio(x, root);
    saltus_f64 zero = saltus_splat(0.0);

    y = saltus_select(SALTUS_LE(zero, x) & SALTUS_LE(x, saltus_splat(1.0)), y, SALTUS_NAN);
    return saltus_select(SALTUS_EQ(x, zero), SALTUS_INF, y);
}

/** Inverse hyperbolic cosecant, asinh(1 / x), inf with its sign at 0; error below 0.52 ulp. */
SALTUS_FN saltus_f64 saltus_acsch(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 cut = saltus_min(a, saltus_splat(0x1p30));
    saltus_dd root = saltus_dd_sqrt(saltus_dd_square_plus(1.0, 1.0, cut));
    saltus_f64 y = saltus_with_sign(saltus_minus_log_ratio(cut, root), x);
    saltus_mask end = SALTUS_EQ(a, saltus_splat(0.0)) | SALTUS_LT(saltus_splat(0x1p28), a);

    return saltus_select(end, 1.0 / x, y);
}

#endif
