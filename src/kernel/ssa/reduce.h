/**
 * The kernels that reduce the samples of a batch of trajectories where they are, so that only
 * results leave the GPU.
 */
#ifndef SALTUS_KERNEL_SSA_REDUCE_H
#define SALTUS_KERNEL_SSA_REDUCE_H

#include "kernel/base/real_sums.h"
#include "kernel/base/sums.h"
#include "kernel/ssa/state.h"

/* 0: without the kernels of observables. */
#ifndef SALTUS_REDUCES_REALS
#define SALTUS_REDUCES_REALS 1
#endif

/** How jobs are divided; addresses are the device's. They stand in segments, each of which has
 * results of its own. A thread takes one number q of every job of a strip of a segment, jobs strip,
 * strip + n_strips …, so that neighbouring threads read neighbouring numbers. */
typedef struct saltus_strips {
    int64_t width;           /**< numbers of a job: points times columns */
    int64_t n_columns;       /**< of a point */
    const int32_t *failures; /**< [job] a saltus_failure: those that are fine count */
    int64_t n_segments;
    const int64_t *first; /**< [segment + 1] its first job */
    int64_t n;            /**< of each segment */
    int64_t n_left;       /**< after a kernel that folds them */
} saltus_strips;

/** What kernels of counts work on. */
typedef struct saltus_reduce_launch {
    saltus_strips of;
    const int64_t *counts; /**< [job][width] */
    int64_t *finals;       /**< out: [job][count], the last point's; NULL: not wanted */
    saltus_sum *sums;      /**< out: [strip][segment][width] */

    int64_t n_bins;
    const double *edges;     /**< [n_bins + 1]; NULL: of width 2^shift, from 0 on */
    uint8_t *shifts;         /**< out: [segment][width] as the largest count wants it */
    uint64_t *bins;          /**< in zeros, out: [segment][width][bin] */
    uint64_t *below, *above; /**< in zeros, out: [segment][width] counts outside the edges */
} saltus_reduce_launch;

/** What kernels of observables work on. */
typedef struct saltus_reals_launch {
    saltus_strips of;
    const double *observables; /**< [job][width] */
    double *finals;            /**< out: [job][observable], the last point's; NULL: not wanted */
    uint64_t *words;           /**< in zeros: [SALTUS_EXACT_WORDS][strip][segment][width] */
    uint64_t *carries;         /**< [SALTUS_EXACT_WORDS][segment][width] */
    double *lows, *highs;      /**< [strip][segment][width] least and most, NaN: no number */
    uint64_t *sums;            /**< out: [segment][width][SALTUS_EXACT_WORDS] */
    double *least, *most;      /**< out: [segment][width] */
} saltus_reals_launch;

#if SALTUS_DEVICE

/* What a thread of kernels that read jobs does: with jobs first, first + n_strips … below end, of
 * which it takes number q, the last point's `column` if that is not below 0. */
typedef struct saltus_strip {
    int64_t q, column, segment, first, end;
} saltus_strip;

/* Whether it has a strip. */
SALTUS_FN int saltus_strip_of(const saltus_strips *of, int64_t thread, saltus_strip *out)
{
    const int64_t strip = thread / (of->n_segments * of->width);
    out->segment = thread / of->width % of->n_segments;
    out->q = thread % of->width;
    out->column = out->q - (of->width - of->n_columns);
    out->first = of->first[out->segment] + strip;
    out->end = of->first[out->segment + 1];
    return strip < of->n;
}

/* The sums of every strip, and the last samples. */
SALTUS_KERNEL(saltus_reduce_jobs, saltus_reduce_launch, a)
{
    saltus_strip own;
    saltus_sum s = saltus_sum_none();
    if (!saltus_strip_of(&a.of, SALTUS_THREAD, &own)) {
        return;
    }
    for (int64_t job = own.first; job < own.end; job += a.of.n) {
        const int64_t x =
            a.counts[job * a.of.width + own.q]; /* at once, for nothing if it is bad */
        if (a.of.failures[job] != SALTUS_FINE) {
            continue;
        }
        saltus_sum_add(&s, x);
        if (a.finals && own.column >= 0) {
            a.finals[job * a.of.n_columns + own.column] = x;
        }
    }
    a.sums[SALTUS_THREAD] = s;
}

/* Fold the sums of n strips into the first n_left. No thread touches another's. */
SALTUS_KERNEL(saltus_reduce_strips, saltus_reduce_launch, a)
{
    const int64_t all = a.of.n_segments * a.of.width, strip = SALTUS_THREAD / all;
    if (strip >= a.of.n_left) {
        return;
    }
    saltus_sum s = a.sums[SALTUS_THREAD];
    for (int64_t from = strip + a.of.n_left; from < a.of.n; from += a.of.n_left) {
        saltus_sum_merge(&s, &a.sums[SALTUS_THREAD + (from - strip) * all]);
    }
    a.sums[SALTUS_THREAD] = s;
}

/* Count the values of every strip, when the sums of the first are those of all. */
SALTUS_KERNEL(saltus_reduce_bins, saltus_reduce_launch, a)
{
    saltus_strip own;
    if (!saltus_strip_of(&a.of, SALTUS_THREAD, &own)) {
        return;
    }
    const int64_t q = SALTUS_THREAD % (a.of.n_segments * a.of.width); /* of all segments */
    const int64_t largest = a.sums[q].max;
    const int shift =
        a.edges || largest < 0 ? 0 : saltus_bins_shift((uint64_t)largest, a.n_bins, 0);
    if (q == SALTUS_THREAD) {
        a.shifts[q] = (uint8_t)shift;
    }
    for (int64_t job = own.first; job < own.end; job += a.of.n) {
        const int64_t x = a.counts[job * a.of.width + own.q];
        if (a.of.failures[job] != SALTUS_FINE) {
            continue;
        }
        const int64_t b = a.edges ? saltus_bin_find(a.edges, a.n_bins, (double)x) : x >> shift;
        uint64_t *const count = b < 0           ? &a.below[q]
                                : b >= a.n_bins ? &a.above[q]
                                                : &a.bins[q * a.n_bins + b];
        (void)SALTUS_NEXT_NUMBER(count);
    }
}

#if SALTUS_REDUCES_REALS
/* Of observables the same as saltus_reduce_jobs; SALTUS_THREAD is (strip, segment, q). */
SALTUS_KERNEL(saltus_reduce_reals, saltus_reals_launch, a)
{
    const int64_t stride = a.of.n * a.of.n_segments * a.of.width;
    double least = SALTUS_NAN, most = SALTUS_NAN;
    saltus_strip own;
    if (!saltus_strip_of(&a.of, SALTUS_THREAD, &own)) {
        return;
    }
    for (int64_t job = own.first; job < own.end; job += a.of.n) {
        const double x = a.observables[job * a.of.width + own.q];
        if (a.of.failures[job] != SALTUS_FINE) {
            continue;
        }
        saltus_real_sum_add(a.words + SALTUS_THREAD, stride, x);
        least = saltus_real_min(least, x);
        most = saltus_real_max(most, x);
        if (a.finals && own.column >= 0) {
            a.finals[job * a.of.n_columns + own.column] = x;
        }
    }
    a.lows[SALTUS_THREAD] = least;
    a.highs[SALTUS_THREAD] = most;
}

/* Fold the strips into the first, each word by a thread of its own, (word, segment, q). What it
 * hands on to the next word waits in `carries`. */
SALTUS_KERNEL(saltus_fold_reals, saltus_reals_launch, a)
{
    const int64_t all = a.of.n_segments * a.of.width, word = SALTUS_THREAD / all;
    const int64_t at = SALTUS_THREAD % all, first = word * a.of.n * all + at;
    if (word >= SALTUS_EXACT_WORDS) {
        return;
    }
    uint64_t sum = a.words[first], carry = 0;
    for (int64_t from = first + all; from < first + a.of.n * all; from += all) {
        const uint64_t x = a.words[from];
        sum = word > 0 ? sum + x : sum | x;
        carry += (uint64_t)(word > 0 && sum < x);
    }
    a.words[first] = sum;
    a.carries[SALTUS_THREAD] = carry;
    if (word > 0) {
        return;
    }
    double least = SALTUS_NAN, most = SALTUS_NAN;
    for (int64_t from = at; from < a.of.n * all; from += all) {
        least = saltus_real_min(least, a.lows[from]);
        most = saltus_real_max(most, a.highs[from]);
    }
    a.least[at] = least;
    a.most[at] = most;
}

/* Put the words of each sum together, SALTUS_THREAD is (segment, q). */
SALTUS_KERNEL(saltus_store_reals, saltus_reals_launch, a)
{
    const int64_t all = a.of.n_segments * a.of.width;
    uint64_t *const to = a.sums + SALTUS_THREAD * SALTUS_EXACT_WORDS;
    uint64_t high = 0;
    if (SALTUS_THREAD >= all) {
        return;
    }
    for (int word = 0; word < SALTUS_EXACT_WORDS; ++word) {
        const uint64_t own = a.words[word * a.of.n * all + SALTUS_THREAD];
        const int begins = word == 0 || word == 1 || word == 1 + SALTUS_EXACT_SUM_WORDS;
        high = begins ? 0 : high; /* of a word that another sum's follows, lost as it is to be */
        to[word] = own + high;
        high = a.carries[word * all + SALTUS_THREAD] + (uint64_t)(to[word] < high);
    }
}
#endif

#endif

#endif
