/** Cases on a lattice that every method of space has to pass, "mpd" and "nsm" alike. */
#ifndef SALTUS_TESTS_RDME_H
#define SALTUS_TESTS_RDME_H

#include "check.h"

/** Trajectories 0 … n - 1 of seed 5 by a method; what the run returned. */
saltus_status rdme_try(const char *device, const saltus_model *m, const char *method, int threads,
                       const double *times, int n_times, int64_t n, moments *sums,
                       saltus_error *err);
/** The same on the CPU, which must succeed; column c at point p is sums.sum[p * n_counts + c]. */
moments rdme_run(const saltus_model *m, const char *method, int threads, const double *times,
                 int n_times, int64_t n);

/** A line of 9 sites along an axis (0 to 2) with `particles` A in site 3: of its faces none, the
 * low one or both absorb (`kind` 0 to 2). Steps are 1 s. */
saltus_model *rdme_line(int axis, int kind, const char *spacing, double m2_per_s, int particles);

/** On a single site space is well mixed: as the direct method, within 5 standard errors. */
void rdme_one_site_is_well_mixed(const char *method, const char *more_reactions, const char *step);
/** A <-> B, of which B stays in one half: each particle is where detailed balance says. A + B <->
 * C: sums are kept, to the last particle. From nothing: Poisson numbers, in the types that are
 * said. */
void rdme_equilibria_and_sums(const char *method);
/** A law that is a constant takes what its equation takes: Poisson numbers, and an error where
 * there is nothing to take. */
void rdme_constant_laws_take(const char *method);
/** Propensities that are infinite, alone or in sum, in sites of few particles and of many. */
void rdme_infinite_propensities_are_refused(const char *method);
/** Equal bits for any number of threads, instruction set and sample times. */
void rdme_threads_and_samples_change_nothing(const char *method);

#endif
