/**
 * Poisson variates of any mean, the same bits on every target.
 *
 * Below a mean of 10 by inversion: the distribution's terms are subtracted from one uniform number.
 * From there on by transformed rejection, algorithm PTRS of W. Hörmann, Insurance: Mathematics
 * and Economics 12 (1993) 39, doi:10.1016/0167-6687(93)90997-4; nine of ten attempts end at a
 * squeeze without a logarithm. The logarithm of the probability is written with k log(mean / k) and
 * Stirling's series, so that large terms do not cancel: its error is below 6e-11 + 3e-16 k.
 */
#ifndef SALTUS_KERNEL_POISSON_H
#define SALTUS_KERNEL_POISSON_H

#include "kernel/math.h"

#if SALTUS_LANES != 1
#error "a Poisson variate is one lane wide"
#endif

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

/** A uniform number in [0, 1) from 53 of 64 bits. */
SALTUS_FN double saltus_unit53(uint32_t high, uint32_t low)
{
    return (double)(int64_t)((((uint64_t)high << 32) | low) >> 11) * 0x1p-53;
}

/** The variate of a mean in (0, 10) from a uniform number. */
SALTUS_FN double saltus_poisson_invert(double mean, double u)
{
    double p = saltus_exp(-mean), k = 0.0;
    /* where rounding has left some of u, far out, there is no more probability */
    while (u >= p && (k < mean || p > 0x1p-60)) {
        u -= p;
        k += 1.0;
        p *= mean / k;
    }
    return k;
}

/* ln of the probability of k, for whole k >= 0 and means from 10 on. */
SALTUS_FN double saltus_poisson_log(double mean, double k)
{
    if (k < 10.0) {
        return k * saltus_log(mean) - mean - saltus_log_factorial[(int)k];
    }
    const double i = 1.0 / k, i2 = i * i;
    const double stirling =
        i * (0x1.5555555555555p-4 + i2 * (-0x1.6c16c16c16c17p-9 + i2 * 0x1.a01a01a01a01ap-11));
    return k * saltus_log(mean * i) + (k - mean) - 0.5 * saltus_log(0x1.921fb54442d18p+2 * k) -
           stirling;
}

/** What attempts at one mean have in common. */
typedef struct saltus_poisson {
    double mean, a, b, inverse_alpha, squeeze;
} saltus_poisson;

SALTUS_FN saltus_poisson saltus_poisson_of(double mean)
{
    saltus_poisson p;
    p.mean = mean;
    p.b = 0.931 + 2.53 * saltus_sqrt(mean);
    p.a = -0.059 + 0.02483 * p.b;
    p.inverse_alpha = 1.1239 + 1.1328 / (p.b - 3.4);
    p.squeeze = 0.9277 - 3.6224 / (p.b - 2.0);
    return p;
}

/** An attempt at a variate of a mean from 10 on, from two uniform numbers in [0, 1). Returns it, or
 * -1 when another attempt is needed. */
SALTUS_FN double saltus_poisson_attempt(const saltus_poisson *p, double u, double v)
{
    const double x = u - 0.5, us = 0.5 - (x < 0.0 ? -x : x);
    const double k = saltus_floor((2.0 * p->a / us + p->b) * x + p->mean + 0.43);
    if (us >= 0.07 && v <= p->squeeze) {
        return k;
    }
    if (!(k >= 0.0) || !(k < 0x1p52) || (us < 0.013 && v > us)) {
        return -1.0;
    }
    const double height = v * p->inverse_alpha / (p->a / (us * us) + p->b);
    return saltus_log(height) <= saltus_poisson_log(p->mean, k) ? k : -1.0;
}

#endif
