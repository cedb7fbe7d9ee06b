/**
 * Poisson variates of any mean over lanes, the same bits on every target.
 *
 * Below a mean of 10 by inversion: the distribution's terms are subtracted from one uniform number.
 * From there on by transformed rejection, algorithm PTRS of W. Hörmann, Insurance: Mathematics
 * and Economics 12 (1993) 39, doi:10.1016/0167-6687(93)90997-4. The logarithm of the probability is
 * written with k log(mean / k) and Stirling's series, so that large terms do not cancel: its error
 * is below 6e-11 + 3e-16 k. It is seldom computed: a squeeze ends most attempts, and a rough
 * logarithm in float nearly all others.
 */
#ifndef SALTUS_KERNEL_BASE_POISSON_H
#define SALTUS_KERNEL_BASE_POISSON_H

#include "kernel/base/math.h"

static const double saltus_poisson_inversion = 10.0; /* below this mean */

/* ln k! */
SALTUS_TABLE double saltus_log_factorial[10] = {0.0,
                                                0.0,
                                                0x1.62e42fefa39efp-1,
                                                0x1.cab0bfa2a2002p+0,
                                                0x1.96ca77c922cf9p+1,
                                                0x1.326643c4479c9p+2,
                                                0x1.a51273acf01cap+2,
                                                0x1.10ce1f32dcc30p+3,
                                                0x1.5358e82fcb70dp+3,
                                                0x1.99a8921a7f7cfp+3};

/** A uniform number in [0, 1) from 53 bits of two words, upper halves zero. */
SALTUS_FN saltus_f64 saltus_unit53(saltus_u64 high, saltus_u64 low)
{
#if SALTUS_LANES > 1 /* words alone are quickly converted */
    return SALTUS_TO_F64(SALTUS_AS_I64(high)) * 0x1p-32 +
           SALTUS_TO_F64(SALTUS_AS_I64(low >> 11)) * 0x1p-53;
#else
    return (double)(int64_t)((high << 32 | low) >> 11) * 0x1p-53;
#endif
}

/** One of the two whole numbers next to x, of mean x, by a word; x itself when it is whole. */
SALTUS_FN saltus_f64 saltus_round_randomly(saltus_f64 x, saltus_u64 word)
{
    return saltus_floor(x + (SALTUS_TO_F64(SALTUS_AS_I64(word)) + 0.5) * 0x1p-32);
}

/** The variates of means in (0, 10) from uniform numbers. */
SALTUS_FN saltus_f64 saltus_poisson_invert(saltus_f64 mean, saltus_f64 u)
{
    saltus_f64 p = saltus_exp(-mean), k = saltus_splat(0.0);
    saltus_mask more = SALTUS_LE(p, u);
    for (double i = 1.0; saltus_any(more); i += 1.0) {
        u = u - p;
        p = p * (mean * (1.0 / i)); /* no division in the lanes */
        k = saltus_select(more, saltus_splat(i), k);
        /* where rounding has left some of u, far out, there is no more probability */
        more = more & SALTUS_LE(p, u) &
               (SALTUS_LT(saltus_splat(i), mean) | SALTUS_LT(saltus_splat(0x1p-60), p));
    }
    return k;
}

/* How many of 64 bits are set. */
SALTUS_FN saltus_u64 saltus_popcount(saltus_u64 x)
{
#if SALTUS_LANES == 1
    return (saltus_u64)(SALTUS_POPCOUNT((uint32_t)x) + SALTUS_POPCOUNT((uint32_t)(x >> 32)));
#else
    x = x - (x >> 1 & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    x = x + (x >> 8);
    x = x + (x >> 16);
    return (x + (x >> 32)) & 127;
#endif
}

/** How many of k < 64 firings fall into the first half of their time: a bit of two words, upper
 * halves zero, decides each. Of a Poisson variate both halves are independent ones then. */
SALTUS_FN saltus_f64 saltus_poisson_half_of_few(saltus_f64 k, saltus_u64 high, saltus_u64 low)
{
    const saltus_u64 n = SALTUS_AS_U64(k + 0x1p52) & 63, one = (n & 0) + 1;
    const saltus_u64 bits = (high << 32 | low) & ((one << n) - 1);
    return SALTUS_TO_F64(SALTUS_AS_I64(saltus_popcount(bits)));
}

/** What of a Poisson variate k falls into the first half of its time, root being the square root of
 * its mean, from 10 on: k / 2 + root / 2 when k is even, else k / 2 - root / 2, rounded by the next
 * two bits of k. Its mean and its covariance with k are those of a variate of half the mean, and
 * its variance is but for some per cent: the lowest bits of k are as good as random, and tell
 * nothing of how large it is. */
SALTUS_FN saltus_f64 saltus_poisson_half(saltus_f64 k, saltus_f64 root)
{
    const saltus_f64 half = 0.5 * k, whole = saltus_floor(half), odd = half - whole;
    const saltus_f64 bits = whole - 4.0 * saltus_floor(0.25 * whole);
    const saltus_f64 first = saltus_floor(half + root * (0.5 - 2.0 * odd) + (0.25 * bits + 0.125));
    const saltus_f64 none = saltus_splat(0.0);
    const saltus_f64 some = saltus_select(SALTUS_LT(first, none), none, first);
    return saltus_select(SALTUS_LT(k, some), k, some);
}

/* ln k! for whole k in [0, 10); 0 for others. */
SALTUS_FN saltus_f64 saltus_log_factorial_of(saltus_f64 k)
{
#if SALTUS_LANES > 1
    saltus_f64 y = saltus_splat(0.0);
    for (int l = 0; l < SALTUS_LANES; ++l) {
        y[l] = k[l] >= 0.0 && k[l] < 10.0 ? saltus_log_factorial[(int)k[l]] : 0.0;
    }
    return y;
#else
    return saltus_log_factorial[(int)k];
#endif
}

/* ln of the probability of k, for whole k >= 0 and means from 10 on. */
SALTUS_FN saltus_f64 saltus_poisson_log(saltus_f64 mean, saltus_f64 k)
{
    const saltus_mask few = SALTUS_LT(k, saltus_splat(10.0));
    saltus_f64 y = saltus_splat(0.0);
    if (saltus_any(~few)) {
        const saltus_f64 i = 1.0 / k, i2 = i * i;
        const saltus_f64 stirling =
            i * (0x1.5555555555555p-4 + i2 * (-0x1.6c16c16c16c17p-9 + i2 * 0x1.a01a01a01a01ap-11));
        y = k * saltus_log(mean * i) + (k - mean) - 0.5 * saltus_log(0x1.921fb54442d18p+2 * k) -
            stirling;
    }
    if (saltus_any(few)) {
        const saltus_f64 direct = k * saltus_log(mean) - mean - saltus_log_factorial_of(k);
        y = saltus_select(few, direct, y);
    }
    return y;
}

/** What attempts at one mean have in common. */
typedef struct saltus_poisson {
    saltus_f64 mean, root, a, b, squeeze;
} saltus_poisson;

SALTUS_FN saltus_poisson saltus_poisson_of(saltus_f64 mean)
{
    saltus_poisson p;
    p.mean = mean;
    p.root = saltus_sqrt(mean);
    p.b = 0.931 + 2.53 * p.root;
    p.a = -0.059 + 0.02483 * p.b;
    p.squeeze = 0.9277 - 3.6224 / (p.b - 2.0);
    return p;
}

/**
 * Whether an attempt is good, from rough logarithms in float: *good and *bad are the lanes where
 * that is certain. It is good when the sum
 *
 *     ln(height sqrt(2 pi k)) + k h(d) + 1 / (12 k) - 1 / (360 k^3),
 *     h(d) = d - ln(1 + d),  d = (mean - k) / k
 *
 * is at most 0. With s = d / (2 + d), h(d) = s (d - 2 s^2 (1 / 3 + s^2 / 5 + …)).
 *
 * Errors: of k h(d) below 2^-19 of itself where |s| < 1/2, of the logarithm below 2^-18, of what is
 * left of Stirling's series below 2^-15 from k = 2 on. Eight times as much is granted. Beyond 2^30
 * rounding of saltus_poisson_log might decide.
 */
SALTUS_FN void saltus_poisson_rough(const saltus_poisson *p, saltus_f64 us, saltus_f64 v,
                                    saltus_f64 k, saltus_mask *good, saltus_mask *bad)
{
    const saltus_f32 us32 = SALTUS_TO_F32(us), k32 = SALTUS_TO_F32(k), b32 = SALTUS_TO_F32(p->b);
    const saltus_f32 height = SALTUS_TO_F32(v) * (1.1239f + 1.1328f / (b32 - 3.4f)) /
                              (SALTUS_TO_F32(p->a) / (us32 * us32) + b32);
    const saltus_f32 y = height * height * (6.2831853f * k32);
    const saltus_u32 bits = (saltus_u32)SALTUS_AS_I32(y) - 0x3f3504f3u; /* those of sqrt(1/2) */
    const saltus_f32 t = SALTUS_AS_F32((saltus_i32)((bits & 0x7fffffu) + 0x3f3504f3u)) - 1.0f;
    const saltus_f32 log_y =
        SALTUS_TO_F32((saltus_i32)bits >> 23) * 0.69314718f + saltus_log1p_float(t);

    const saltus_f32 i = 1.0f / k32, d = SALTUS_TO_F32(p->mean - k) * i;
    const saltus_f32 s = d / (2.0f + d), z = s * s;
    saltus_f32 series = 0.11764706f + z * 0.10526316f; /* 2 / 17 + z 2 / 19 */
    series = 0.18181818f + z * (0.15384615f + z * (0.13333333f + z * series));
    series = 0.66666667f + z * (0.4f + z * (0.28571429f + z * (0.22222222f + z * series)));
    const saltus_f32 deviance = k32 * (s * (d - z * series));
    const saltus_f32 sum = 0.5f * log_y + deviance + i * (0.083333333f - 0.0027777778f * (i * i));
    const saltus_f32 error = 0x1p-12f + 0x1p-16f * deviance, none = z * 0.0f;

    const saltus_i32 valid = SALTUS_LT32(z, none + 0.25f) & SALTUS_LT32(none + 1.5f, k32) &
                             SALTUS_LT32(k32, none + 0x1p30f) &
                             SALTUS_LT32(none + 0x1p-30f, height);
    *good = SALTUS_TO_I64(valid & SALTUS_LT32(sum, -error));
    *bad = SALTUS_TO_I64(valid & SALTUS_LT32(error, sum));
}

/* How far a uniform number is from 0 or 1. */
SALTUS_FN saltus_f64 saltus_poisson_edge(saltus_f64 u)
{
    return 0.5 - saltus_abs(u - 0.5);
}

/** Attempts at variates of means from 10 on, from two uniform numbers in [0, 1): *k of each.
 * Returns the lanes where it is one, by the squeeze; it may be one in those that are *open. */
SALTUS_FN saltus_mask saltus_poisson_propose(const saltus_poisson *p, saltus_f64 u, saltus_f64 v,
                                             saltus_f64 *k, saltus_mask *open)
{
    const saltus_f64 x = u - 0.5, us = saltus_poisson_edge(u);
    *k = saltus_floor((2.0 * p->a / us + p->b) * x + p->mean + 0.43);
    const saltus_mask good = SALTUS_LE(saltus_splat(0.07), us) & SALTUS_LE(v, p->squeeze);
    *open = ~good & SALTUS_LE(saltus_splat(0.0), *k) & SALTUS_LT(*k, saltus_splat(0x1p52)) &
            ~(SALTUS_LT(us, saltus_splat(0.013)) & SALTUS_LT(us, v));
    return good;
}

/** Which of the lanes that are open it is one in; us: saltus_poisson_edge of u. */
SALTUS_FN saltus_mask saltus_poisson_settle(const saltus_poisson *p, saltus_f64 us, saltus_f64 v,
                                            saltus_f64 k, saltus_mask open)
{
    saltus_mask good = open & 0;
    if (saltus_any(open)) {
        saltus_mask surely, never;
        saltus_poisson_rough(p, us, v, k, &surely, &never);
        good = open & surely;
        open = open & ~surely & ~never;
    }
    if (SALTUS_RARE(saltus_any(open))) {
        const saltus_f64 inverse_alpha = 1.1239 + 1.1328 / (p->b - 3.4);
        const saltus_f64 height = v * inverse_alpha / (p->a / (us * us) + p->b);
        good = good | (open & SALTUS_LE(saltus_log(height), saltus_poisson_log(p->mean, k)));
    }
    return good;
}

/** Both. Returns the lanes where *k is a variate; the others need another attempt. */
SALTUS_FN saltus_mask saltus_poisson_attempt(const saltus_poisson *p, saltus_f64 u, saltus_f64 v,
                                             saltus_f64 *k)
{
    const saltus_f64 us = saltus_poisson_edge(u);
    saltus_mask open;
    const saltus_mask good = saltus_poisson_propose(p, u, v, k, &open);
    return good | saltus_poisson_settle(p, us, v, *k, open);
}

#endif
