/** What is told of a run as a whole, by `options->warn`, where that is not NULL. */
#ifndef SALTUS_ENSEMBLE_WARN_H
#define SALTUS_ENSEMBLE_WARN_H

#include "ensemble/plan.h"
#include "saltus/saltus_run.h"

/** Before it begins: what is not recorded, what options steer in vain, what leaps pass over. */
void saltus_warn_before(const saltus_plan *plan, const saltus_run_options *options);

/** When it has ended: `rounded` is [setting], not 0 where a value was rounded. */
void saltus_warn_after(const saltus_plan *plan, const saltus_run_options *options,
                       const uint8_t *rounded);

#endif
