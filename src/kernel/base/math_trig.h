/**
 * Trigonometric functions and their inverses over lanes, in radians; see math.h for the terms.
 *
 * The argument is reduced by multiples of pi/2 to a sum of two doubles, for every finite double, so
 * the errors hold over the whole range; inf gives NaN. Sine and cosine, too, are made as sums of
 * two doubles, so that the quotients of them lose nothing.
 */
#ifndef SALTUS_KERNEL_BASE_MATH_TRIG_H
#define SALTUS_KERNEL_BASE_MATH_TRIG_H

#include "kernel/base/math.h"

/* pi/2 = hi + lo */
#define SALTUS_HALF_PI_HI 0x1.921fb54442d18p+0
#define SALTUS_HALF_PI_LO 0x1.1a62633145c07p-54

/* The bits of 2/pi after the binary point, 32 to a word, behind two words of zeros. */
SALTUS_TABLE uint32_t saltus_two_over_pi[39] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046};

/* One number, x > 2^20 given by its bits: the quadrant and *hi + *lo in [-1/2, 1/2] with
 * x = (quadrant + *hi + *lo) pi/2, quadrants modulo 4. Payne and Hanek: of the product of x with
 * 2/pi only the 128 bits below weight 4 are formed, from 224 bits of 2/pi. */
SALTUS_FN uint64_t saltus_reduce_large(uint64_t bits, double *hi, double *lo)
{
    const uint64_t low = 0xffffffffu;
    uint64_t m0 = bits & low;
    uint64_t m1 = ((bits >> 32) & 0xfffffu) | 0x100000u;
    int shift = (int)((bits >> 52) & 0x7ffu) - 1075 + 62; /* x = (m1:m0) 2^(shift - 62) */
    int first = shift >> 5;
    uint64_t p[7], carry = 0, top, next;
    double sum, part;

    for (int i = 0; i < 7; ++i) {
        uint64_t t = saltus_two_over_pi[first + 6 - i] * m0 + carry;
        p[i] = t & low;
        carry = t >> 32;
    }
    carry = 0;
    for (int i = 1; i < 7; ++i) {
        uint64_t t = saltus_two_over_pi[first + 7 - i] * m1 + p[i] + carry;
        p[i] = t & low;
        carry = t >> 32;
    }
    shift &= 31;
    top = ((p[6] << 32 | p[5]) << shift) | ((p[4] << shift) >> 32);
    next = ((p[4] << 32 | p[3]) << shift) | ((p[2] << shift) >> 32);
    bits = (top >> 62) + ((top >> 61) & 1u);
    top = top << 2 | next >> 62;
    next = next << 2;

    sum = (double)(int32_t)(uint32_t)(top >> 32) * 0x1p-32;
    part = (double)(top & low) * 0x1p-64;
    *hi = sum + part;
    *lo = part - (*hi - sum);
    sum = *hi;
    part = (double)(next >> 32) * 0x1p-96;
    *hi = sum + part;
    *lo = *lo + (part - (*hi - sum)) + (double)(next & low) * 0x1p-128;
    return bits;
}

/* y with x = quadrant pi/2 + y, |y| a little over pi/4 at most, quadrants modulo 4. Good to 2^-60
 * of itself even for the doubles closest to multiples of pi/2. Cody and Waite with four parts of
 * pi/2 up to 2^20, where products with 33 bits are exact; Payne and Hanek beyond. */
SALTUS_FN saltus_dd saltus_reduce(saltus_f64 x, saltus_u64 *quadrant)
{
    saltus_f64 shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    saltus_f64 n = shifted - 0x1.8p52;
    saltus_dd a = saltus_two_sum(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
    saltus_dd b = saltus_two_sum(a.hi, -(n * 0x1.3198a2ep-69));
    saltus_dd y = saltus_fast_sum(b.hi, (a.lo + b.lo) - n * 0x1.b839a252049c1p-104);
    saltus_mask large = SALTUS_LT(saltus_splat(0x1p20), saltus_abs(x));

    *quadrant = SALTUS_AS_U64(shifted);
    large = large & SALTUS_LT(saltus_abs(x), SALTUS_INF);
    if (saltus_any(large)) {
        saltus_u64 bits = SALTUS_AS_U64(saltus_select(large, saltus_abs(x), saltus_splat(0x1p21)));
        saltus_u64 turns = bits;
        saltus_dd f = y, half_pi;
        saltus_mask negative = SALTUS_LT(x, saltus_splat(0.0));
        for (int l = 0; l < SALTUS_LANES; ++l) {
            double hi, lo;
            SALTUS_LANE(turns, l) = saltus_reduce_large(SALTUS_LANE(bits, l), &hi, &lo);
            SALTUS_LANE(f.hi, l) = hi;
            SALTUS_LANE(f.lo, l) = lo;
        }
        half_pi = saltus_dd_of(saltus_splat(SALTUS_HALF_PI_HI), saltus_splat(SALTUS_HALF_PI_LO));
        f = saltus_dd_product(f, half_pi);
        y.hi = saltus_select(large, saltus_select(negative, -f.hi, f.hi), y.hi);
        y.lo = saltus_select(large, saltus_select(negative, -f.lo, f.lo), y.lo);
        turns = (turns ^ SALTUS_AS_U64(negative)) - SALTUS_AS_U64(negative);
        *quadrant = SALTUS_AS_U64(saltus_select_i64(large, SALTUS_AS_I64(turns), //
                                                    SALTUS_AS_I64(*quadrant)));
    }
    return y;
}

/* sin(x) and cos(x), each as a sum of two doubles. */
SALTUS_FN saltus_dd saltus_sin_cos(saltus_f64 x, saltus_dd *cosine)
{
    saltus_u64 quadrant;
    saltus_dd y = saltus_reduce(x, &quadrant);
    saltus_dd square = saltus_two_product(y.hi, y.hi);
    saltus_f64 z = square.hi;
    saltus_f64 w = z * z;
    saltus_f64 sp = z * 0x1.111111110f87dp-7;
    saltus_f64 sq = -0x1.a01a019c12027p-13 + z * 0x1.71de357815b1fp-19;
    saltus_f64 sr = -0x1.ae5e6687e058fp-26 + z * 0x1.5d93182cf47b5p-33;
    saltus_f64 cp = 0x1.555555555554cp-5 + z * -0x1.6c16c16c15181p-10;
    saltus_f64 cq = 0x1.a01a019cb2181p-16 + z * -0x1.27e4f80a34ab4p-22;
    saltus_f64 cr = 0x1.1ee9ec192f323p-29 + z * -0x1.8faeb62f29f97p-37;
    saltus_dd one = saltus_fast_sum(saltus_splat(1.0), -0.5 * z);
    saltus_mask odd = SALTUS_AS_I64(-(quadrant & 1u));
    saltus_u64 minus_sine = (quadrant & 2u) << 62, minus_cosine = ((quadrant + 1u) & 2u) << 62;
    saltus_dd s, c, sine;

    sp = -0x1.5555555555549p-3 + (sp + w * (sq + w * sr)); /* the large term last */
    cp = cp + w * (cq + w * cr);
    s = saltus_fast_sum(y.hi, y.hi * (z * sp) + y.lo * (1.0 - 0.5 * z));
    c = saltus_fast_sum(one.hi, one.lo + (w * cp - (y.hi * y.lo + 0.5 * square.lo)));
    s.hi = saltus_select(SALTUS_EQ(x, saltus_splat(0.0)), x, s.hi);

    sine.hi = saltus_select(odd, c.hi, s.hi);
    sine.lo = saltus_select(odd, c.lo, s.lo);
    cosine->hi = saltus_select(odd, s.hi, c.hi);
    cosine->lo = saltus_select(odd, s.lo, c.lo);

    sine.hi = SALTUS_AS_F64(SALTUS_AS_U64(sine.hi) ^ minus_sine);
    sine.lo = SALTUS_AS_F64(SALTUS_AS_U64(sine.lo) ^ minus_sine);
    cosine->hi = SALTUS_AS_F64(SALTUS_AS_U64(cosine->hi) ^ minus_cosine);
    cosine->lo = SALTUS_AS_F64(SALTUS_AS_U64(cosine->lo) ^ minus_cosine);
    return sine;
}

/* The number 1 as a sum of two doubles. */
SALTUS_FN saltus_dd saltus_dd_one(void)
{
    return saltus_dd_of(saltus_splat(1.0), saltus_splat(0.0));
}

/** Sine; error below 0.85 ulp. */
SALTUS_FN saltus_f64 saltus_sin(saltus_f64 x)
{
    saltus_dd c;
    return saltus_sin_cos(x, &c).hi;
}

/** Cosine; error below 0.85 ulp. */
SALTUS_FN saltus_f64 saltus_cos(saltus_f64 x)
{
    saltus_dd c;
    (void)saltus_sin_cos(x, &c);
    return c.hi;
}

/** Tangent; error below 1 ulp. */
SALTUS_FN saltus_f64 saltus_tan(saltus_f64 x)
{
    saltus_dd c, s = saltus_sin_cos(x, &c);
    return saltus_dd_quotient(s, c);
}

/** Cotangent; error below 1 ulp; inf with its sign at 0. */
SALTUS_FN saltus_f64 saltus_cot(saltus_f64 x)
{
    saltus_dd c, s = saltus_sin_cos(x, &c);
    return saltus_dd_quotient(c, s);
}

/** Secant, 1 / cos; error below 0.85 ulp. */
SALTUS_FN saltus_f64 saltus_sec(saltus_f64 x)
{
    saltus_dd c;
    (void)saltus_sin_cos(x, &c);
    return saltus_dd_quotient(saltus_dd_one(), c);
}

/** Cosecant, 1 / sin; error below 0.85 ulp; inf with its sign at 0. */
SALTUS_FN saltus_f64 saltus_csc(saltus_f64 x)
{
    saltus_dd c, s = saltus_sin_cos(x, &c);
    return saltus_dd_quotient(saltus_dd_one(), s);
}

/* The angle in [0, pi] of the point (x, y), y >= 0, not both 0: atan of y/|x|, of its inverse, or
 * of (y - |x|)/(y + |x|), whichever is below tan(pi/8). */
SALTUS_FN saltus_f64 saltus_angle(saltus_dd y, saltus_dd x)
{
    saltus_f64 zero = saltus_splat(0.0);
    saltus_mask left = SALTUS_LT(x.hi, zero);
    saltus_dd d = saltus_dd_of(saltus_abs(x.hi), saltus_select(left, -x.lo, x.lo));
    saltus_dd minus_d = saltus_dd_of(-d.hi, -d.lo);
    saltus_mask low = SALTUS_LE(y.hi, 0x1.a827999fcef32p-2 * d.hi);
    saltus_mask high = SALTUS_LE(0x1.3504f333f9de6p+1 * d.hi, y.hi);
    saltus_dd top = saltus_dd_sum(y, minus_d), bottom = saltus_dd_sum(y, d);
    saltus_f64 base = saltus_select(low, zero, saltus_splat(0.5 * SALTUS_HALF_PI_HI));
    saltus_f64 base_lo = saltus_select(low, zero, saltus_splat(0.5 * SALTUS_HALF_PI_LO));
    saltus_f64 z, w, even, odd, two_pi_hi;
    saltus_dd t, sum;

    top.hi = saltus_select(low, y.hi, saltus_select(high, minus_d.hi, top.hi));
    top.lo = saltus_select(low, y.lo, saltus_select(high, minus_d.lo, top.lo));
    bottom.hi = saltus_select(low, d.hi, saltus_select(high, y.hi, bottom.hi));
    bottom.lo = saltus_select(low, d.lo, saltus_select(high, y.lo, bottom.lo));
    base = saltus_select(high, base + base, base);
    base_lo = saltus_select(high, base_lo + base_lo, base_lo);

    t = saltus_dd_ratio(top, bottom);
    z = t.hi * t.hi;
    w = z * z;
    even = ((-0x1.1256234ee471fp-5 * w - 0x1.ab80effa9c630p-5) * w - 0x1.110c7a661aadcp-4) * w;
    odd = ((0x1.f260a7fd3e19cp-7 * w + 0x1.70fac2fc370e1p-5) * w + 0x1.e1728e3cebf24p-5) * w;
    even = ((even - 0x1.745d14c03645cp-4) * w - 0x1.2492492475daep-3) * w;
    odd = ((odd + 0x1.3b136eb832004p-4) * w + 0x1.c71c71b77b8f8p-4) * w + 0x1.999999999965bp-3;
    even = even + z * odd;
    sum = saltus_fast_sum(base, t.hi);
    sum.lo = sum.lo + (base_lo + (t.hi * (z * (even - 0x1.5555555555554p-2)) + t.lo * (1.0 - z)));
    sum = saltus_fast_sum(sum.hi, sum.lo);

    two_pi_hi = saltus_splat(2.0 * SALTUS_HALF_PI_HI);
    t = saltus_fast_sum(two_pi_hi, -sum.hi);
    return saltus_select(left, t.hi + (t.lo + (2.0 * SALTUS_HALF_PI_LO - sum.lo)), sum.hi);
}

/* |x| cut at 2^70, whose inverse no longer bends any of the functions below. */
SALTUS_FN saltus_f64 saltus_cut_far(saltus_f64 x)
{
    return saltus_min(saltus_abs(x), saltus_splat(0x1p70));
}

/* 1 / x beyond 2^69, where it is the answer, and y elsewhere. */
SALTUS_FN saltus_f64 saltus_far_inverse(saltus_f64 x, saltus_f64 y)
{
    return saltus_select(SALTUS_LT(saltus_splat(0x1p69), saltus_abs(x)), 1.0 / x, y);
}

/** Arc tangent in [-pi/2, pi/2]; error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_atan(saltus_f64 x)
{
    saltus_dd a = saltus_dd_of(saltus_cut_far(x), saltus_splat(0.0));
    return saltus_with_sign(saltus_angle(a, saltus_dd_one()), x);
}

/** Arc cotangent, atan(1 / x): pi/2 at 0, -pi/2 at -0; error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_acot(saltus_f64 x)
{
    saltus_dd a = saltus_dd_of(saltus_cut_far(x), saltus_splat(0.0));
    return saltus_far_inverse(x, saltus_with_sign(saltus_angle(saltus_dd_one(), a), x));
}

/** Arc sine in [-pi/2, pi/2], NaN outside [-1, 1]; error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_asin(saltus_f64 x)
{
    saltus_dd a = saltus_dd_of(saltus_abs(x), saltus_splat(0.0));
    saltus_dd b = saltus_dd_sqrt(saltus_dd_square_plus(1.0, -1.0, x));
    return saltus_with_sign(saltus_angle(a, b), x);
}

/** Arc cosine in [0, pi], NaN outside [-1, 1]; error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_acos(saltus_f64 x)
{
    saltus_dd a = saltus_dd_sqrt(saltus_dd_square_plus(1.0, -1.0, x));
    return saltus_angle(a, saltus_dd_of(x, saltus_splat(0.0)));
}

/** Arc secant, acos(1 / x), in [0, pi], NaN inside (-1, 1); error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_asec(saltus_f64 x)
{
    saltus_dd a = saltus_dd_sqrt(saltus_dd_square_plus(-1.0, 1.0, saltus_cut_far(x)));
    saltus_f64 one = saltus_with_sign(saltus_splat(1.0), x);
    return saltus_angle(a, saltus_dd_of(one, saltus_splat(0.0)));
}

/** Arc cosecant, asin(1 / x), in [-pi/2, pi/2], NaN inside (-1, 1); error below 0.7 ulp. */
SALTUS_FN saltus_f64 saltus_acsc(saltus_f64 x)
{
    saltus_dd a = saltus_dd_sqrt(saltus_dd_square_plus(-1.0, 1.0, saltus_cut_far(x)));
    return saltus_far_inverse(x, saltus_with_sign(saltus_angle(saltus_dd_one(), a), x));
}

#endif
