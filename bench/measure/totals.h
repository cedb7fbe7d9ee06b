/** A sink that keeps exact totals of an ensemble, so that two runs can be compared. */
#ifndef SALTUS_BENCH_TOTALS_H
#define SALTUS_BENCH_TOTALS_H

#include "ensemble/statistics.h"

/** Statistics of every recorded count at every sample time. Zero-initialise. */
typedef struct saltus_totals {
    int64_t n_points; /**< 0 before the first block */
    int n_counts;
    saltus_statistics statistics; /**< [point][count] */
} saltus_totals;

/** The sink; `totals` must outlive the run. A device that can add up samples hands over their sums
 * alone, unless it is to hand over all of them. */
saltus_sink saltus_totals_sink(saltus_totals *totals, bool wants_samples);
void saltus_totals_free(saltus_totals *totals);

/**
 * Whether two ensembles of one model agree. With equally many trajectories of the same numbers all
 * sums, minima and maxima must be the same; else the means at the last time, within five standard
 * errors and two molecules. The variance is that of `reference`, and one that it may have missed.
 */
bool saltus_totals_agree(const saltus_totals *totals, const saltus_totals *reference);
/** The means at the last time alone, whatever the numbers of trajectories: of leaps, also within a
 * share of themselves or so many molecules. A leap may change a count by one, whatever it is. */
bool saltus_totals_near(const saltus_totals *totals, const saltus_totals *reference, double share,
                        double molecules);
/** The same for the means of another program at the last time, [count] sums of n trajectories. */
bool saltus_totals_agree_with(const saltus_totals *reference, const double *sums, int64_t n);

#endif
