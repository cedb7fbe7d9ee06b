/**
 * Elementary functions over lanes, without libm: the waiting-time logarithm, exp, log, powers,
 * roots and rounding. Trigonometric and hyperbolic functions are in math_trig.h and
 * math_hyperbolic.h.
 *
 * Every function gives the same bits on every target, except that the sign and payload of a NaN are
 * the processor's. Errors are in units in the last place (ulp), the largest seen over millions of
 * arguments against a reference of 113 significant bits; results below 2^-1022 are rounded
 * twice and may be half a last place worse. Polynomials were fitted with Remez's algorithm.
 */
#ifndef SALTUS_KERNEL_BASE_MATH_H
#define SALTUS_KERNEL_BASE_MATH_H

#include "kernel/base/target.h"

#define SALTUS_INF SALTUS_AS_F64(saltus_splat_i64(0x7ff0000000000000))
#define SALTUS_NAN SALTUS_AS_F64(saltus_splat_i64(0x7ff8000000000000))

/* ln 2 = hi + lo; hi has 42 bits, so its products with exponents are exact. */
#define SALTUS_LN2_HI 0x1.62e42fefa3800p-1
#define SALTUS_LN2_LO 0x1.ef35793c76730p-45

SALTUS_OPERAND double saltus_ln_2 = 0x1.62e42fefa39efp-1;

/* ln(1 + t) for 1 + t in [sqrt(1/2), sqrt(2)). */
SALTUS_FN saltus_f32 saltus_log1p_float(saltus_f32 t)
{
    saltus_f32 t2 = t * t;
    saltus_f32 even = ((-0x1.2504a0p-3f * t2 - 0x1.535d30p-3f) * t2 - 0x1.00049ap-2f) * t2;
    saltus_f32 odd = ((0x1.65c77ep-4f * t2 + 0x1.318524p-3f) * t2 + 0x1.98d2c0p-3f) * t2;

    return t + t2 * ((even - 0x1.fffffap-2f) + t * (odd + 0x1.5556f4p-2f));
}

/**
 * A waiting time of unit rate from a 32-bit random word: -ln(w 2^-32) for w in [1, 2^32 - 1] in the
 * low half of each lane (the high half is ignored; a word of 0 is the caller's case).
 *
 * Computed in float. Over all words: relative error at most 1.68e-7 (2^-22.5), also where the
 * result tends to 0, because w - 2^32 is formed in integers; mean relative error 1.4e-9; the mean
 * over all words differs from the exact sum by 1.8e-12 and from 1 by 2.6e-9 (that the words are a
 * grid costs 11 2^-32). Always positive.
 *
 * Method: w 2^n = 2^32 (1 + t) with 1 + t in [sqrt(1/2), sqrt(2)), so that the shifted word, read
 * as a signed number, is t 2^32. For w = 1 the shift is 32, which a 32-bit shift cannot do: shifted
 * by 0 it gives t = 2^-32 instead of 0, far below rounding.
 */
SALTUS_FN saltus_f64 saltus_exponential32(saltus_u64 w)
{
    saltus_u32 word = SALTUS_TO_U32(w);
    saltus_u32 bits = SALTUS_TO_U32(SALTUS_AS_I32(SALTUS_TO_F32(word)));
    saltus_u32 n = (0x4fb504f2u - bits) >> 23; /* 32 - floor(log2(w sqrt(2))) */
    saltus_f32 t = SALTUS_TO_F32(SALTUS_TO_I32(word << (n & 31u))) * 0x1p-32f;
    saltus_f32 log_m = saltus_log1p_float(t);

    return SALTUS_SMALL_TO_F64(n) * saltus_ln_2 - SALTUS_TO_F64(log_m);
}

/* The magnitude; a NaN keeps its payload. */
SALTUS_FN saltus_f64 saltus_abs(saltus_f64 x)
{
    return SALTUS_AS_F64(SALTUS_AS_U64(x) & 0x7fffffffffffffffu);
}

/* The magnitude of x (whose sign must be +) with the sign of y, zeros included. */
SALTUS_FN saltus_f64 saltus_with_sign(saltus_f64 x, saltus_f64 y)
{
    return SALTUS_AS_F64(SALTUS_AS_U64(x) | (SALTUS_AS_U64(y) & 0x8000000000000000u));
}

/* NaN if either is NaN; of two zeros the second. */
SALTUS_FN saltus_f64 saltus_min(saltus_f64 a, saltus_f64 b)
{
    return saltus_select(SALTUS_LT(a, b) | SALTUS_NE(a, a), a, b);
}

/* NaN if either is NaN; of two zeros the second. */
SALTUS_FN saltus_f64 saltus_max(saltus_f64 a, saltus_f64 b)
{
    return saltus_select(SALTUS_LT(b, a) | SALTUS_NE(a, a), a, b);
}

/* To the nearest integer, half to even; exact. Adding 2^52 leaves no bits for a fraction. */
SALTUS_FN saltus_f64 saltus_round_even(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 r = (a + 0x1p52) - 0x1p52;

    return saltus_select(SALTUS_LT(a, saltus_splat(0x1p52)), saltus_with_sign(r, x), x);
}

/* To an integer toward zero; exact. */
SALTUS_FN saltus_f64 saltus_trunc(saltus_f64 x)
{
    saltus_f64 a = saltus_abs(x);
    saltus_f64 r = saltus_round_even(a);

    return saltus_with_sign(saltus_select(SALTUS_LT(a, r), r - 1.0, r), x);
}

/* To an integer toward minus infinity; exact. */
SALTUS_FN saltus_f64 saltus_floor(saltus_f64 x)
{
    saltus_f64 r = saltus_round_even(x);

    return saltus_select(SALTUS_LT(x, r), r - 1.0, r);
}

/* To an integer toward plus infinity; exact; keeps the sign of a zero result. */
SALTUS_FN saltus_f64 saltus_ceil(saltus_f64 x)
{
    saltus_f64 r = saltus_round_even(x);

    return saltus_select(SALTUS_LT(r, x), saltus_with_sign(saltus_abs(r + 1.0), x), r);
}

/** An unevaluated sum of two doubles, |lo| at most an ulp of hi: about 106 significant bits. */
typedef struct saltus_dd {
    saltus_f64 hi, lo;
} saltus_dd;

SALTUS_FN saltus_dd saltus_dd_of(saltus_f64 hi, saltus_f64 lo)
{
    saltus_dd r = {hi, lo};
    return r;
}

/* a + b exactly, where |a| >= |b| or a is 0 (Dekker 1971). */
SALTUS_FN saltus_dd saltus_fast_sum(saltus_f64 a, saltus_f64 b)
{
    saltus_f64 s = a + b;
    return saltus_dd_of(s, b - (s - a));
}

/* a + b exactly, whichever is larger (Knuth). */
SALTUS_FN saltus_dd saltus_two_sum(saltus_f64 a, saltus_f64 b)
{
    saltus_f64 s = a + b;
    saltus_f64 c = s - a;
    return saltus_dd_of(s, (a - (s - c)) + (b - c));
}

/* a b to 2^-106, without fma: the factors are cut by masks into 26 and 27 bits (after Dekker). */
SALTUS_FN saltus_dd saltus_two_product(saltus_f64 a, saltus_f64 b)
{
    saltus_f64 ah = SALTUS_AS_F64(SALTUS_AS_U64(a) & 0xfffffffff8000000u);
    saltus_f64 bh = SALTUS_AS_F64(SALTUS_AS_U64(b) & 0xfffffffff8000000u);
    saltus_f64 al = a - ah;
    saltus_f64 bl = b - bh;
    saltus_f64 p = a * b;

    return saltus_dd_of(p, (((ah * bh - p) + ah * bl) + al * bh) + al * bl);
}

/* a b to about 2^-102. */
SALTUS_FN saltus_dd saltus_dd_product(saltus_dd a, saltus_dd b)
{
    saltus_dd p = saltus_two_product(a.hi, b.hi);
    return saltus_dd_of(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* a / b to about 2^-102. */
SALTUS_FN saltus_dd saltus_dd_ratio(saltus_dd a, saltus_dd b)
{
    saltus_f64 q = a.hi / b.hi;
    saltus_dd p = saltus_two_product(q, b.hi);
    return saltus_fast_sum(q, (((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)) / b.hi);
}

/* The double a / b, rightly also where it is 0, inf or NaN. */
SALTUS_FN saltus_f64 saltus_dd_quotient(saltus_dd a, saltus_dd b)
{
    saltus_f64 q = a.hi / b.hi;
    saltus_mask plain =
        SALTUS_LT(saltus_splat(0.0), saltus_abs(q)) & SALTUS_LT(saltus_abs(q), SALTUS_INF);

    return saltus_select(plain, saltus_dd_ratio(a, b).hi, q);
}

/* a + b to about 2^-102 of the larger. */
SALTUS_FN saltus_dd saltus_dd_sum(saltus_dd a, saltus_dd b)
{
    saltus_dd s = saltus_two_sum(a.hi, b.hi);
    return saltus_fast_sum(s.hi, s.lo + (a.lo + b.lo));
}

/* Square root to about 2^-102; NaN below zero. */
SALTUS_FN saltus_dd saltus_dd_sqrt(saltus_dd a)
{
    saltus_f64 r = saltus_sqrt(a.hi);
    saltus_dd p = saltus_two_product(r, r);
    saltus_f64 lo = (((a.hi - p.hi) - p.lo) + a.lo) / (r + r);

    return saltus_dd_of(r, saltus_select(SALTUS_EQ(r, saltus_splat(0.0)), r, lo));
}

/* c + sign x^2 for a sign of 1 or -1, to about 2^-102 of c, exactly 0 where it vanishes. */
SALTUS_FN saltus_dd saltus_dd_square_plus(double c, double sign, saltus_f64 x)
{
    saltus_dd p = saltus_two_product(x, sign * x);
    return saltus_dd_sum(saltus_dd_of(saltus_splat(c), saltus_splat(0.0)), p);
}

/* y 2^k for |k| < 2000 and y of moderate size, with one rounding. */
SALTUS_FN saltus_f64 saltus_scale(saltus_f64 y, saltus_i64 k)
{
    saltus_u64 half =
        (SALTUS_AS_U64(k) + 4096u) >> 1; /* k / 2 + 2048, logical shifts being cheap */
    saltus_u64 rest = SALTUS_AS_U64(k) + 2048u - half;

    return (y * SALTUS_AS_F64((half - 1025u) << 52)) * SALTUS_AS_F64((rest + 1023u) << 52);
}

/* k and m with x = m 2^k, m in [sqrt(1/2), sqrt(2)), for x > 0 and finite. */
SALTUS_FN saltus_f64 saltus_split_exponent(saltus_f64 x, saltus_f64 *m)
{
    saltus_mask tiny = SALTUS_LT(x, saltus_splat(0x1p-1022));
    saltus_f64 scaled = saltus_select(tiny, x * 0x1p54, x);
    saltus_u64 u = SALTUS_AS_U64(scaled) - 0x3fe6a09e667f3bcdu; /* the bits of sqrt(1/2) */
    saltus_u64 biased = (u + 0x4000000000000000u) >> 52;        /* k + 1024 */
    saltus_f64 k = SALTUS_AS_F64(biased | 0x4330000000000000u) - (0x1p52 + 1024.0);

    *m = SALTUS_AS_F64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    return saltus_select(tiny, k - 54.0, k);
}

/**
 * Natural logarithm; error below 0.9 ulp. log(0) = -inf, NaN below zero.
 *
 * Method of fdlibm: with s = f / (2 + f), log(1 + f) = 2 atanh(s), a polynomial in s^2.
 */
SALTUS_FN saltus_f64 saltus_log(saltus_f64 x)
{
    saltus_f64 m;
    saltus_f64 k = saltus_split_exponent(x, &m);
    saltus_f64 f = m - 1.0;
    saltus_f64 s = f / (f + 2.0);
    saltus_f64 z = s * s;
    saltus_f64 w = z * z;
    saltus_f64 even = ((0x1.2f0565b84df04p-3 * w + 0x1.74663eea4b88bp-3) * w) * w;
    saltus_f64 odd = (0x1.39a1ba8310fbap-3 * w + 0x1.c71c520954eb3p-3) * w;
    saltus_f64 half = 0.5 * f * f;
    saltus_f64 r, y;

    even = even + (0x1.24924941f12dap-2 * w + 0x1.5555555555592p-1);
    odd = odd + 0x1.999999997fdb7p-2;
    r = z * (even + z * odd);
    y = k * SALTUS_LN2_HI - ((half - (s * (half + r) + k * SALTUS_LN2_LO)) - f);
    y = saltus_select(SALTUS_LT(x, SALTUS_INF), y, x);
    y = saltus_select(SALTUS_EQ(x, saltus_splat(0.0)), -SALTUS_INF, y);
    return saltus_select(SALTUS_LT(x, saltus_splat(0.0)), SALTUS_NAN, y);
}

/* log(x 2^shift) for finite x > 0 to about 2^-64 of itself, also near 1: the series of 2 atanh(s)
 * with its first two terms in double-double. */
SALTUS_FN saltus_dd saltus_log_dd(saltus_f64 x, saltus_f64 shift)
{
    saltus_f64 m;
    saltus_f64 k = saltus_split_exponent(x, &m) + shift;
    saltus_f64 f = m - 1.0;
    saltus_dd s =
        saltus_dd_ratio(saltus_dd_of(f, saltus_splat(0.0)), saltus_two_sum(m, saltus_splat(1.0)));
    saltus_dd z = saltus_dd_product(s, s);
    saltus_f64 w = z.hi * z.hi;
    saltus_f64 even = (0x1.de338a9daf5bbp-5 * w + 0x1.3b1362ba2dfd4p-4) * w;
    saltus_f64 odd = (0x1.eb1046a7ce505p-5 * w + 0x1.1120b50025ca0p-4) * w;
    saltus_dd third =
        saltus_dd_of(saltus_splat(0x1.5555555555555p-2), saltus_splat(0x1.5555555555555p-56));
    saltus_dd t = saltus_dd_product(z, third);
    saltus_dd p, r, sum;

    even = (even + 0x1.c71c71c580881p-4) * w + 0x1.9999999999996p-3;
    odd = (odd + 0x1.745d1832436a2p-4) * w + 0x1.2492492493034p-3;
    sum = saltus_fast_sum(t.hi, w * (even + z.hi * odd));
    t = saltus_dd_of(sum.hi, sum.lo + t.lo); /* atanh(s) = s (1 + t) */
    p = saltus_dd_product(s, t);
    r = saltus_fast_sum(2.0 * s.hi, 2.0 * p.hi);
    sum = saltus_fast_sum(k * SALTUS_LN2_HI, r.hi);
    return saltus_fast_sum(sum.hi, sum.lo + (r.lo + (2.0 * (p.lo + s.lo) + k * SALTUS_LN2_LO)));
}

/* log(x) times the constant hi + lo: a logarithm to another base, correctly rounded but for rare
 * near-ties. */
SALTUS_FN saltus_f64 saltus_log_times(saltus_f64 x, double hi, double lo)
{
    saltus_dd c = saltus_dd_of(saltus_splat(hi), saltus_splat(lo));
    saltus_dd p = saltus_dd_product(saltus_log_dd(x, saltus_splat(0.0)), c);
    saltus_f64 y = saltus_select(SALTUS_LT(x, SALTUS_INF), p.hi + p.lo, x);

    y = saltus_select(SALTUS_EQ(x, saltus_splat(0.0)), -SALTUS_INF, y);
    return saltus_select(SALTUS_LT(x, saltus_splat(0.0)), SALTUS_NAN, y);
}

/** Decimal logarithm; error below 0.51 ulp, so exact for powers of ten. Ends as saltus_log. */
SALTUS_FN saltus_f64 saltus_log10(saltus_f64 x)
{
    return saltus_log_times(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}

/** Binary logarithm; error below 0.51 ulp, so exact for powers of two. Ends as saltus_log. */
SALTUS_FN saltus_f64 saltus_log2(saltus_f64 x)
{
    return saltus_log_times(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}

/* m and k with exp(a) = m 2^k, m in about [sqrt(1/2), sqrt(2)], to about 2^-57, for |a| < 2000.
 * Cody and Waite: a - k ln 2, then a polynomial. A NaN stays one. */
SALTUS_FN saltus_dd saltus_exp_dd(saltus_dd a, saltus_i64 *k)
{
    saltus_f64 shifted =
        a.hi * 0x1.71547652b82fep+0 + 0x1.8p52; /* the integer is in the low bits */
    saltus_f64 n = shifted - 0x1.8p52;
    saltus_dd r = saltus_fast_sum(a.hi - n * SALTUS_LN2_HI, a.lo - n * SALTUS_LN2_LO);
    saltus_f64 x = r.hi;
    saltus_f64 x2 = x * x;
    saltus_f64 x4 = x2 * x2;
    saltus_f64 p0 = (0x1.5555555555503p-5 + x * 0x1.111111110ec5dp-7) * x2;
    saltus_f64 p1 = (0x1.6c16c16c3048dp-10 + x * 0x1.a01a01b37e3c6p-13);
    saltus_f64 p2 = (0x1.a01a01368f731p-16 + x * 0x1.71ddf020c3558p-19) * x2;
    saltus_f64 p3 = (0x1.27e5b4464a25dp-22 + x * 0x1.af6be7f61ff63p-26);
    saltus_f64 q;
    saltus_dd one;

    p3 = p3 + x2 * 0x1.1e3d2d1a123e1p-29;
    q = (0.5 + x * 0x1.555555555555bp-3) + (p0 + x4 * ((p1 + p2) + x4 * p3));
    *k = SALTUS_AS_I64(SALTUS_AS_U64(shifted) - 0x4338000000000000u);
    one = saltus_fast_sum(saltus_splat(1.0), x);
    return saltus_fast_sum(one.hi, one.lo + (x2 * q + (r.lo + r.lo * x)));
}

/* exp(a) for any a; beyond the range of doubles 0 or inf. */
SALTUS_FN saltus_f64 saltus_exp_of(saltus_dd a)
{
    saltus_mask low = SALTUS_LT(a.hi, saltus_splat(-746.0));
    saltus_mask high = SALTUS_LT(saltus_splat(710.0), a.hi);
    saltus_i64 k;
    saltus_dd m;

    a.hi = saltus_select(low, saltus_splat(-746.0), a.hi);
    a.hi = saltus_select(high, saltus_splat(710.0), a.hi);
    a.lo = saltus_select(low | high, saltus_splat(0.0), a.lo);
    m = saltus_exp_dd(a, &k);
    return saltus_scale(m.hi, k);
}

/** Exponential; error below 0.65 ulp. */
SALTUS_FN saltus_f64 saltus_exp(saltus_f64 x)
{
    return saltus_exp_of(saltus_dd_of(x, saltus_splat(0.0)));
}

/* exp(l y). A y so large that the result can only be 0, 1 or inf is cut before it overflows. */
SALTUS_FN saltus_f64 saltus_power_dd(saltus_dd l, saltus_dd y)
{
    saltus_mask huge = SALTUS_LT(saltus_splat(0x1p65), saltus_abs(y.hi));

    y.hi = saltus_select(huge, saltus_with_sign(saltus_splat(0x1p65), y.hi), y.hi);
    y.lo = saltus_select(huge, saltus_splat(0.0), y.lo);
    return saltus_exp_of(saltus_dd_product(l, y));
}

/* -1 where x is an odd integer; beyond 2^53 all doubles are even. */
SALTUS_FN saltus_mask saltus_is_odd(saltus_f64 x)
{
    saltus_f64 half = 0.5 * x;
    return SALTUS_EQ(saltus_trunc(x), x) & SALTUS_NE(saltus_trunc(half), half);
}

/**
 * x to the power y, as C's pow with all its special cases; error below 0.8 ulp, so a result that is
 * a double comes out exactly. The logarithm is carried in double-double.
 */
SALTUS_FN saltus_f64 saltus_pow(saltus_f64 x, saltus_f64 y)
{
    saltus_f64 zero = saltus_splat(0.0), one = saltus_splat(1.0);
    saltus_f64 a = saltus_abs(x);
    saltus_dd exponent = saltus_dd_of(y, zero);
    saltus_f64 r = saltus_power_dd(saltus_log_dd(a, zero), exponent);
    saltus_mask grows = SALTUS_EQ(SALTUS_LT(one, a), SALTUS_LT(zero, y));
    saltus_mask y_inf = SALTUS_EQ(saltus_abs(y), SALTUS_INF);
    saltus_mask end = SALTUS_EQ(a, zero) | SALTUS_EQ(a, SALTUS_INF) | y_inf;
    saltus_mask no_root = SALTUS_LT(x, zero) & SALTUS_NE(saltus_trunc(y), y);

    r = saltus_select(end, saltus_select(grows, SALTUS_INF, zero), r);
    r = saltus_select(y_inf & SALTUS_EQ(a, one), one, r);
    r = saltus_select(no_root & SALTUS_NE(a, SALTUS_INF), SALTUS_NAN, r);
    r = saltus_select(saltus_is_odd(y), saltus_with_sign(r, x), r);
    r = saltus_select(SALTUS_NE(x, x) | SALTUS_NE(y, y), x + y, r);
    return saltus_select(SALTUS_EQ(x, one) | SALTUS_EQ(y, zero), one, r);
}

/* Exponents of powers that are products of the base and its square root, up to this many. */
#define SALTUS_LARGEST_PRODUCT 8.0

/* -1 where x to the power y is a product: y is 0, 1/2, 1 … 8, or less 0. */
SALTUS_FN saltus_mask saltus_is_short_power(saltus_f64 y)
{
    const saltus_f64 twice = y + y;
    return SALTUS_LE(saltus_abs(y), saltus_splat(SALTUS_LARGEST_PRODUCT)) &
           SALTUS_EQ(saltus_trunc(twice), twice);
}

/* x to such a power y: (((x x^2) x^4) x^8) sqrt(x), of these what y needs, and 1 over it where y is
 * below 0. model/freeze/program.c writes the same where y is known. */
SALTUS_FN saltus_f64 saltus_short_power(saltus_f64 x, saltus_f64 y)
{
    const saltus_f64 one = saltus_splat(1.0), n = saltus_trunc(saltus_abs(y));
    const saltus_f64 x2 = x * x, x4 = x2 * x2;
    const saltus_mask has8 = SALTUS_LE(saltus_splat(8.0), n);
    const saltus_f64 below8 = saltus_select(has8, n - 8.0, n);
    const saltus_mask has4 = SALTUS_LE(saltus_splat(4.0), below8);
    const saltus_f64 below4 = saltus_select(has4, below8 - 4.0, below8);
    const saltus_mask has2 = SALTUS_LE(saltus_splat(2.0), below4);
    const saltus_f64 below2 = saltus_select(has2, below4 - 2.0, below4);
    saltus_f64 r = saltus_select(SALTUS_EQ(below2, one), x, one);
    r = saltus_select(has2, r * x2, r);
    r = saltus_select(has4, r * x4, r);
    r = saltus_select(has8, r * (x4 * x4), r);
    r = saltus_select(SALTUS_NE(saltus_abs(y), n), r * saltus_sqrt(x) + 0.0, r);
    return saltus_select(SALTUS_LT(y, saltus_splat(0.0)), one / r, r);
}

/**
 * x to the power y as expressions have it: by products where y is a whole number or a half from -8
 * to 8, else saltus_pow, whose special cases it has, but for half powers of -inf, which are NaN.
 * A product has a relative error below 9 * 2^-53 (5.7 were seen), and 1 over one that overflows is
 * 0. It rises or falls with x, as it is rounded, where powers do.
 */
SALTUS_FN saltus_f64 saltus_power(saltus_f64 x, saltus_f64 y)
{
    const saltus_mask is_short = saltus_is_short_power(y);
    const int some = saltus_any(is_short);
    saltus_f64 r = x;
    if (!some || saltus_any(~is_short)) {
        r = saltus_pow(x, y);
    }
    if (SALTUS_RARE(some)) {
        r = saltus_select(is_short, saltus_short_power(x, y), r);
    }
    return r;
}

/**
 * The root of degree n of x, x^(1/n); error below 0.7 ulp, correctly rounded for n = 2. Odd degrees
 * have negative roots of negative numbers; other degrees give NaN there, and so does degree 0.
 */
SALTUS_FN saltus_f64 saltus_root(saltus_f64 n, saltus_f64 x)
{
    saltus_f64 zero = saltus_splat(0.0);
    saltus_f64 a = saltus_abs(x);
    saltus_f64 degree =
        saltus_min(saltus_max(saltus_abs(n), saltus_splat(0x1p-70)), saltus_splat(0x1p70));
    saltus_dd one = saltus_dd_of(saltus_splat(1.0), zero);
    saltus_dd y = saltus_dd_ratio(one, saltus_dd_of(saltus_with_sign(degree, n), zero));
    saltus_f64 r = saltus_power_dd(saltus_log_dd(a, zero), y);
    saltus_mask grows = SALTUS_EQ(SALTUS_EQ(a, zero), SALTUS_LT(n, zero));
    saltus_mask end = SALTUS_EQ(a, zero) | SALTUS_EQ(a, SALTUS_INF);
    saltus_mask odd = saltus_is_odd(n);

    r = saltus_select(end, saltus_select(grows, SALTUS_INF, zero), r);
    r = saltus_select(odd, saltus_with_sign(r, x), r);
    r = saltus_select(SALTUS_LT(x, zero) & ~odd, SALTUS_NAN, r);
    r = saltus_select(SALTUS_EQ(n, saltus_splat(2.0)), saltus_sqrt(x), r);
    r = saltus_select(SALTUS_EQ(n, zero), SALTUS_NAN, r);
    return saltus_select(SALTUS_NE(x, x) | SALTUS_NE(n, n), x + n, r);
}

/* trunc(|a / b|), corrected where the division rounded up to an integer, and |a| less its product
 * with |b|: exact below 2^53, since every part is a multiple of an ulp of b. */
SALTUS_FN saltus_f64 saltus_divide_whole(saltus_f64 a, saltus_f64 b, saltus_f64 *rest)
{
    saltus_f64 d = saltus_abs(b);
    saltus_f64 q = saltus_trunc(saltus_abs(a) / d);
    saltus_dd p = saltus_two_product(q, d);
    saltus_f64 r = (saltus_abs(a) - p.hi) - p.lo;
    saltus_mask above = SALTUS_LT(r, saltus_splat(0.0)) & SALTUS_LT(q, saltus_splat(0x1p53));

    *rest = saltus_select(above, r + d, r);
    return saltus_select(above, q - 1.0, q);
}

/** The quotient a / b without its fraction; exact below 2^53. Ends as the division. */
SALTUS_FN saltus_f64 saltus_quotient(saltus_f64 a, saltus_f64 b)
{
    saltus_f64 rest;
    return saltus_with_sign(saltus_divide_whole(a, b, &rest), a / b);
}

/** The remainder a - b trunc(a / b), exact, with the sign of a. NaN where |a / b| is 2^53 or more.
 */
SALTUS_FN saltus_f64 saltus_rem(saltus_f64 a, saltus_f64 b)
{
    saltus_f64 r;
    saltus_f64 q = saltus_divide_whole(a, b, &r);

    r = saltus_select(SALTUS_LT(q, saltus_splat(0x1p53)), r, SALTUS_NAN);
    r = saltus_select(SALTUS_LT(saltus_abs(a), saltus_abs(b)), saltus_abs(a), r);
    return saltus_with_sign(r, a);
}

/** n! for integers, correctly rounded; inf above 170, NaN for negative numbers and fractions. The
 * product is carried in double-double, so time is proportional to the largest n of the lanes. */
SALTUS_FN saltus_f64 saltus_factorial(saltus_f64 n)
{
    saltus_f64 zero = saltus_splat(0.0), i = saltus_splat(1.0);
    saltus_mask whole = SALTUS_EQ(saltus_trunc(n), n) & SALTUS_LE(zero, n);
    saltus_mask more = SALTUS_LT(i, n) & SALTUS_LE(n, saltus_splat(170.0));
    saltus_dd product = saltus_dd_of(i, zero);
    saltus_f64 r;

    while (saltus_any(more)) {
        saltus_dd next;
        i = i + 1.0;
        next = saltus_dd_product(product, saltus_dd_of(i, zero));
        next = saltus_fast_sum(next.hi, next.lo);
        product.hi = saltus_select(more, next.hi, product.hi);
        product.lo = saltus_select(more, next.lo, product.lo);
        more = more & SALTUS_LT(i, n);
    }
    r = saltus_select(SALTUS_LT(saltus_splat(170.0), n), SALTUS_INF, product.hi);
    return saltus_select(whole, r, SALTUS_NAN);
}

#endif
