/** Exact sums of counts, and bins of histograms. Neither depends on an order. */
#ifndef SALTUS_KERNEL_BASE_SUMS_H
#define SALTUS_KERNEL_BASE_SUMS_H

#include "kernel/base/target.h"

/** Of real numbers, ensemble/exact_sum.h; real_sums.h adds to them. */
enum {
    SALTUS_EXACT_SUM_WORDS = 34,
    SALTUS_EXACT_SQUARE_WORDS = 67,
    /** Of a column's stored form: what it met that is not finite, its sum, that of its squares. */
    SALTUS_EXACT_WORDS = 1 + SALTUS_EXACT_SUM_WORDS + SALTUS_EXACT_SQUARE_WORDS,
    /* Of what is not finite, bits. */
    SALTUS_HAD_NAN = 1,
    SALTUS_HAD_INF = 2,
    SALTUS_HAD_MINUS_INF = 4
};

/** Exact sums of counts; words from the lowest on. */
typedef struct saltus_sum {
    uint64_t sum[2];    /**< in two's complement */
    uint64_t square[3]; /**< of the squares */
    int64_t min, max;   /**< INT64_MAX and INT64_MIN while there are none */
} saltus_sum;

/* The upper half of the product. */
SALTUS_FN uint64_t saltus_multiply_high(uint64_t a, uint64_t b)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __umul64hi(a, b);
#else
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
#endif
}

/* Numbers of n words. */
SALTUS_FN void saltus_words_add(uint64_t *to, const uint64_t *from, int n)
{
    uint64_t carry = 0;
    SALTUS_UNROLL
    for (int i = 0; i < n; ++i) {
        const uint64_t part = to[i] + from[i];
        to[i] = part + carry;
        carry = (uint64_t)(part < from[i]) | (uint64_t)(to[i] < carry);
    }
}

SALTUS_FN saltus_sum saltus_sum_none(void)
{
    const saltus_sum none = {{0, 0}, {0, 0, 0}, 0x7fffffffffffffff, -0x7fffffffffffffff - 1};
    return none;
}

/** Add the sums of other counts. */
SALTUS_FN void saltus_sum_merge(saltus_sum *s, const saltus_sum *from)
{
    saltus_words_add(s->sum, from->sum, 2);
    saltus_words_add(s->square, from->square, 3);
    s->min = from->min < s->min ? from->min : s->min;
    s->max = from->max > s->max ? from->max : s->max;
}

/** Add one count. */
SALTUS_FN void saltus_sum_add(saltus_sum *s, int64_t x)
{
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const saltus_sum one = {{(uint64_t)x, x < 0 ? ~(uint64_t)0 : 0},
                            {size * size, saltus_multiply_high(size, size), 0},
                            x,
                            x};
    saltus_sum_merge(s, &one);
}

/** log2 of the width of bins from 0 on, at least `shift`, with which n_bins of them hold a value of
 * less than 2^63. */
SALTUS_FN int saltus_bins_shift(uint64_t value, int64_t n_bins, int shift)
{
    while (value >> shift >= (uint64_t)n_bins) {
        ++shift;
    }
    return shift;
}

/** The bin of x among edges[n_bins + 1] that are equally far apart; -1: it is below, n_bins: above.
 * The edges decide; the quotient only finds the neighbourhood, and may be one off by rounding. */
SALTUS_FN int64_t saltus_bin_find(const double *edges, int64_t n_bins, double x)
{
    const double low = edges[0], high = edges[n_bins];
    if (x < low) {
        return -1;
    }
    if (x >= high) {
        return n_bins;
    }
    int64_t b = (int64_t)((x - low) / (high - low) * (double)n_bins);
    b = b >= n_bins ? n_bins - 1 : b;
    while (b > 0 && x < edges[b]) {
        --b;
    }
    while (b + 1 < n_bins && x >= edges[b + 1]) {
        ++b;
    }
    return b;
}

#endif
