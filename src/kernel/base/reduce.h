/**
 * Reductions of counts: exact sums and bins of histograms. The CPU counts with the same functions.
 * The kernels reduce the samples of a batch of trajectories where they are, so that only results
 * leave the GPU. Sums of integers and counts of values depend on no order.
 */
#ifndef SALTUS_KERNEL_BASE_REDUCE_H
#define SALTUS_KERNEL_BASE_REDUCE_H

#include "kernel/base/target.h"

#if SALTUS_DEVICE
#include "kernel/ssa/state.h"
#endif

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

/** What a launch works on; addresses are the device's. Jobs stand in stretches, each of which has
 * results of its own. A thread takes one number q of every job of a strip of a stretch, jobs strip,
 * strip + n_strips …, so that neighbours read neighbours. */
typedef struct saltus_reduce_launch {
    int64_t width;           /**< numbers of a job: points times counts */
    int64_t n_counts;        /**< of a point */
    const int64_t *counts;   /**< [job][width] */
    const int32_t *failures; /**< [job] a saltus_failure: those that are fine count */
    int64_t *finals;         /**< out: [job][count], the last point's; NULL: not wanted */
    int64_t n_segments;
    const int64_t *first; /**< [stretch + 1] its first job */
    int64_t n_strips;     /**< of each stretch */
    int64_t n_left;       /**< strips, after saltus_reduce_strips */
    saltus_sum *sums;     /**< out: [strip][stretch][width] */

    int64_t n_bins;
    const double *edges;     /**< [n_bins + 1]; NULL: of width 2^shift, from 0 on */
    uint8_t *shifts;         /**< out: [stretch][width] as the largest count wants it */
    uint64_t *bins;          /**< in zeros, out: [stretch][width][bin] */
    uint64_t *below, *above; /**< in zeros, out: [stretch][width] counts outside the edges */
} saltus_reduce_launch;

#if SALTUS_DEVICE

/* The sums of every strip, and the last samples. */
SALTUS_KERNEL(saltus_reduce_jobs, saltus_reduce_launch, a)
{
    const int64_t strip = SALTUS_THREAD / (a.n_segments * a.width);
    const int64_t segment = SALTUS_THREAD / a.width % a.n_segments, q = SALTUS_THREAD % a.width;
    const int64_t c = q - (a.width - a.n_counts);
    if (strip >= a.n_strips) {
        return;
    }
    const int64_t end = a.first[segment + 1];
    saltus_sum s = saltus_sum_none();
    for (int64_t job = a.first[segment] + strip; job < end; job += a.n_strips) {
        const int64_t x = a.counts[job * a.width + q]; /* read at once, for nothing if it is bad */
        if (a.failures[job] != SALTUS_FINE) {
            continue;
        }
        saltus_sum_add(&s, x);
        if (a.finals && c >= 0) {
            a.finals[job * a.n_counts + c] = x;
        }
    }
    a.sums[SALTUS_THREAD] = s;
}

/* Fold the sums of n_strips strips into the first n_left. No thread touches another's. */
SALTUS_KERNEL(saltus_reduce_strips, saltus_reduce_launch, a)
{
    const int64_t all = a.n_segments * a.width, strip = SALTUS_THREAD / all;
    if (strip >= a.n_left) {
        return;
    }
    saltus_sum s = a.sums[SALTUS_THREAD];
    for (int64_t from = strip + a.n_left; from < a.n_strips; from += a.n_left) {
        saltus_sum_merge(&s, &a.sums[SALTUS_THREAD + (from - strip) * all]);
    }
    a.sums[SALTUS_THREAD] = s;
}

/* Count the values of every strip, when the sums of the first are those of all. */
SALTUS_KERNEL(saltus_reduce_bins, saltus_reduce_launch, a)
{
    const int64_t all = a.n_segments * a.width;
    const int64_t strip = SALTUS_THREAD / all, q = SALTUS_THREAD % all; /* of all stretches */
    if (strip >= a.n_strips) {
        return;
    }
    const int64_t segment = q / a.width, end = a.first[segment + 1];
    const int64_t largest = a.sums[q].max;
    const int shift =
        a.edges || largest < 0 ? 0 : saltus_bins_shift((uint64_t)largest, a.n_bins, 0);
    if (strip == 0) {
        a.shifts[q] = (uint8_t)shift;
    }
    for (int64_t job = a.first[segment] + strip; job < end; job += a.n_strips) {
        const int64_t x = a.counts[job * a.width + q % a.width];
        if (a.failures[job] != SALTUS_FINE) {
            continue;
        }
        const int64_t b = a.edges ? saltus_bin_find(a.edges, a.n_bins, (double)x) : x >> shift;
        uint64_t *const count = b < 0           ? &a.below[q]
                                : b >= a.n_bins ? &a.above[q]
                                                : &a.bins[q * a.n_bins + b];
        (void)SALTUS_NEXT_NUMBER(count);
    }
}

#endif

#endif
