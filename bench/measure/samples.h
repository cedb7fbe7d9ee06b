/** Counts at the end of trajectories, by which the moments of two programs are compared. */
#ifndef SALTUS_BENCH_SAMPLES_H
#define SALTUS_BENCH_SAMPLES_H

#include "saltus/saltus.h"

/** Of n trajectories. Zero-initialise, and set n_columns and most. */
typedef struct saltus_samples {
    int n_columns; /**< column c is the sum of counts c, c + n_columns, c + 2 n_columns … */
    int64_t n, most;
    int64_t *x; /**< [trajectory][column] */
} saltus_samples;

/** Add a trajectory, up to `most`. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_samples_add(saltus_samples *s, const int64_t *counts,
                                                   int n_counts, saltus_error *err);
/** A sink of the last counts of every trajectory. */
saltus_sink saltus_samples_sink(saltus_samples *s);
void saltus_samples_free(saltus_samples *s);

/** How far means and variances of two exact programs, of as many columns, are apart: worst[0] is
 * the largest difference of a mean, worst[1] that of a variance, in standard errors, which follow
 * from both. */
void saltus_samples_compare(const saltus_samples *a, const saltus_samples *b, double worst[2]);

#endif
