/** What a sink was opened for: the run that begins has to be that one. */
#ifndef SALTUS_WRITE_EXPECTED_H
#define SALTUS_WRITE_EXPECTED_H

#include "ensemble/plan.h"

typedef struct saltus_expected {
    char name[200]; /**< of the sink, in sentences */
    bool is_sweep;  /**< points have plans and first numbers of their own */
    uint64_t plan;  /**< its handle's number: the plan itself may be gone */
    uint64_t seed;
    int64_t first, n, n_done; /**< trajectories, as in saltus_run_options */
    int64_t n_times, n_frames;
    double *times; /**< [n_times + n_frames] of samples, then of frames */
} saltus_expected;

/** Note it; the times are copied. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_expected_init(saltus_expected *out, const char *name,
                                                     const saltus_plan *plan,
                                                     const saltus_run_options *run, bool is_sweep,
                                                     saltus_error *err);
void saltus_expected_free(saltus_expected *expected);

/** Refuse another run, or one more: n_had trajectories were delivered. SALTUS_E_INVALID. */
SALTUS_MUST_CHECK saltus_status saltus_expected_check(const saltus_expected *expected,
                                                      const saltus_plan *plan,
                                                      const saltus_run_options *run, int64_t n_had,
                                                      saltus_error *err);

#endif
