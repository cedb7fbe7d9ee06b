/* One trajectory at a time. Compiled once per instruction set, as lanes.c is. */
#include "backend/cpu/cpu.h"
#include "kernel/tau/tau.h"

saltus_failure SALTUS_CPU_NAME(saltus_single_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job);

saltus_failure SALTUS_CPU_NAME(saltus_single_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job)
{
    if (task->tau) {
        return saltus_tau_run(&scalar->trajectory, &scalar->direct, &scalar->leap, SALTUS_PHASE_ANY,
                              task->times, task->n_times, task->stop, job->counts,
                              job->observables);
    }
    return saltus_direct_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times,
                             task->stop, job->counts, job->observables);
}
