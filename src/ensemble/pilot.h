/** Trajectories that look ahead, of which nothing is kept. */
#ifndef SALTUS_ENSEMBLE_PILOT_H
#define SALTUS_ENSEMBLE_PILOT_H

#include "ensemble/plan.h"

/** Simulate up to the time `until` as `run` has it, or NULL: as usual, n trajectories on the CPU,
 * for no longer than about `most` seconds; 0: than a worker takes to see that it is to stop, 0.2 s.
 * SALTUS_E_CANCELLED: it takes longer; *report has then what was done. */
SALTUS_MUST_CHECK saltus_status saltus_pilot(const saltus_plan *plan, const saltus_run_options *run,
                                             int n, double until, double most,
                                             saltus_run_report *report);

#endif
