/**
 * The kernels that reduce the samples of a batch of trajectories where they are, so that only
 * results leave the GPU.
 */
#ifndef SALTUS_KERNEL_SSA_REDUCE_H
#define SALTUS_KERNEL_SSA_REDUCE_H

#include "kernel/base/sums.h"
#include "kernel/ssa/state.h"

/** What a launch works on; addresses are the device's. Jobs stand in segments, each of which has
 * results of its own. A thread takes one number q of every job of a strip of a segment, jobs strip,
 * strip + n_strips …, so that neighbouring threads read neighbouring numbers. */
typedef struct saltus_reduce_launch {
    int64_t width;           /**< numbers of a job: points times counts */
    int64_t n_counts;        /**< of a point */
    const int64_t *counts;   /**< [job][width] */
    const int32_t *failures; /**< [job] a saltus_failure: those that are fine count */
    int64_t *finals;         /**< out: [job][count], the last point's; NULL: not wanted */
    int64_t n_segments;
    const int64_t *first; /**< [segment + 1] its first job */
    int64_t n_strips;     /**< of each segment */
    int64_t n_left;       /**< strips, after saltus_reduce_strips */
    saltus_sum *sums;     /**< out: [strip][segment][width] */

    int64_t n_bins;
    const double *edges;     /**< [n_bins + 1]; NULL: of width 2^shift, from 0 on */
    uint8_t *shifts;         /**< out: [segment][width] as the largest count wants it */
    uint64_t *bins;          /**< in zeros, out: [segment][width][bin] */
    uint64_t *below, *above; /**< in zeros, out: [segment][width] counts outside the edges */
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
    const int64_t strip = SALTUS_THREAD / all, q = SALTUS_THREAD % all; /* of all segments */
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
