/* One trajectory at a time. Compiled once per instruction set: SALTUS_VARIANT is its
 * name. */
#include "engine/scalar.h"

#include "kernel/ssa/thinned.h"
#include "kernel/tau/tau.h"

saltus_failure SALTUS_SET_NAME(saltus_scalar_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job);

saltus_failure SALTUS_SET_NAME(saltus_scalar_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job)
{
    const int *stop = task->pause ? task->pause : task->stop;
    if (task->tau) {
        return saltus_tau_run(&scalar->trajectory, &scalar->direct, &scalar->leap, SALTUS_PHASE_ANY,
                              task->times, task->n_times, stop, job->counts, job->observables);
    }
    if (task->tables->n_thinned > 0) {
        return saltus_thinned_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times,
                                  stop, job->counts, job->observables);
    }
    return saltus_direct_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times, stop,
                             job->counts, job->observables);
}
