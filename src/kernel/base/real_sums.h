/**
 * Exact sums of real numbers and of their squares, as ensemble/exact_sum.h defines them and files
 * store them: whole numbers in two's complement, here with all the words that there are. Nothing is
 * rounded, so no order matters.
 */
#ifndef SALTUS_KERNEL_BASE_REAL_SUMS_H
#define SALTUS_KERNEL_BASE_REAL_SUMS_H

#include "kernel/base/math.h"
#include "kernel/base/sums.h"

#if SALTUS_LANES != 1
#error "a sum of real numbers is one lane wide"
#endif

/* Add low + 2^64 middle + 2^128 high to the number of n words, w[0], w[stride] …, or take it off.
 * What leaves the last word is right to be lost in two's complement. */
SALTUS_FN void saltus_long_add(uint64_t *w, int64_t stride, int n, uint64_t low, uint64_t middle,
                               uint64_t high, int is_negative)
{
    const uint64_t add[3] = {low, middle, high};
    const uint64_t flip = is_negative ? ~(uint64_t)0 : 0; /* a - b is ~(~a + b) */
    uint64_t carry = 0;
    for (int i = 0; i < n && (i < 3 || carry); ++i) {
        const uint64_t from = i < 3 ? add[i] : 0, part = (w[i * stride] ^ flip) + from;
        w[i * stride] = (part + carry) ^ flip;
        carry = (uint64_t)(part < from) | (uint64_t)(part + carry < carry);
    }
}

/** Add x to a column's stored form, words[0], words[stride] … */
SALTUS_FN void saltus_real_sum_add(uint64_t *words, int64_t stride, double x)
{
    const uint64_t bits = SALTUS_AS_U64(x), fraction = bits & (~(uint64_t)0 >> 12);
    const int exponent = (int)(bits >> 52 & 0x7ff), is_negative = (int)(bits >> 63);
    if (exponent == 0x7ff) {
        words[0] |= fraction ? SALTUS_HAD_NAN : is_negative ? SALTUS_HAD_MINUS_INF : SALTUS_HAD_INF;
        return;
    }
    const uint64_t m = exponent > 0 ? fraction | (uint64_t)1 << 52 : fraction;
    if (m == 0) {
        return;
    }
    const int place = exponent - (exponent > 0), shift = place & 63;
    const int twice = 2 * place & 63;
    const uint64_t low = m * m, high = saltus_multiply_high(m, m);
    uint64_t *const sum = words + stride, *const square = sum + SALTUS_EXACT_SUM_WORDS * stride;
    saltus_long_add(sum + (place >> 6) * stride, stride, SALTUS_EXACT_SUM_WORDS - (place >> 6),
                    m << shift, m >> 1 >> (63 - shift), 0, is_negative);
    saltus_long_add(square + (place >> 5) * stride, stride,
                    SALTUS_EXACT_SQUARE_WORDS - (place >> 5), low << twice,
                    high << twice | low >> 1 >> (63 - twice), high >> 1 >> (63 - twice), 0);
}

/** The lesser of two, and the greater: a NaN is passed over, 0 has no sign. */
SALTUS_FN double saltus_real_min(double a, double b)
{
    const double low = b + 0.0;
    return a <= low || low != low ? a : low;
}
SALTUS_FN double saltus_real_max(double a, double b)
{
    const double high = b + 0.0;
    return a >= high || high != high ? a : high;
}

#endif
