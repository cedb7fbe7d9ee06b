/** What a device has made of the samples of a block, where a sink needs none. */
#ifndef SALTUS_ENSEMBLE_REDUCTION_H
#define SALTUS_ENSEMBLE_REDUCTION_H

#include "backend/backend.h"
#include "ensemble/histogram.h"
#include "ensemble/statistics.h"

typedef struct saltus_reduced {
    saltus_statistics statistics;    /**< of [point][count] */
    saltus_real_statistics reals;    /**< of [point][observable] */
    saltus_histogram histogram;      /**< of counts; n_bins is 0 when it is not wanted */
    const saltus_statistics *splits; /**< [SALTUS_N_SPLITS] of a lattice's [point][part][count], not
                                          owned; NULL: there are none, as of any device */
} saltus_reduced;

/** Bytes that one takes, on the way from a device, for so many points of these columns. */
double saltus_reduced_bytes(const saltus_reduction *reduction, const saltus_columns *columns,
                            int64_t n_points);

/** Start with no trajectories. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_reduced_create(const saltus_reduction *reduction,
                                                      const saltus_columns *columns,
                                                      int64_t n_points, saltus_reduced **out,
                                                      saltus_error *err);
void saltus_reduced_free(saltus_reduced *reduced);

/** Add the counts[point][count] and observables[point][observable] of one trajectory.
 * SALTUS_E_NUMERIC: a sum of squares passed 128 bits; SALTUS_E_NO_MEMORY. It is then only good for
 * freeing. */
SALTUS_MUST_CHECK saltus_status saltus_reduced_add(saltus_reduced *reduced, const int64_t *counts,
                                                   const double *observables, saltus_error *err);
/** Add what a backend made of n trajectories; likewise. SALTUS_E_INVALID: no numbers have such
 * sums. */
SALTUS_MUST_CHECK saltus_status saltus_reduced_merge(saltus_reduced *reduced,
                                                     const saltus_partial *partial, int64_t n,
                                                     saltus_error *err);

#endif
