/* One trajectory at a time. Compiled once per instruction set: SALTUS_VARIANT is its
 * name. */
#include "engine/scalar.h"

#include "kernel/ode/hybrid.h"
#include "kernel/ssa/hubs.h"
#include "kernel/ssa/thinned.h"
#include "kernel/tau/tau.h"

saltus_failure SALTUS_SET_NAME(saltus_scalar_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job);

saltus_failure SALTUS_SET_NAME(saltus_scalar_run)(saltus_scalar_engine *scalar,
                                                  const saltus_task *task, saltus_job *job)
{
    const int *stop = task->pause ? task->pause : task->stop;
    if (scalar->ode.hybrid) {
        return saltus_hybrid_run(&scalar->trajectory, &scalar->direct, &scalar->ode, task->times,
                                 task->n_times, stop, job->counts, job->observables);
    }
    if (task->tolerance) {
        return saltus_ode_run(&scalar->trajectory, &scalar->direct, &scalar->ode, task->times,
                              task->n_times, stop, job->counts, job->observables);
    }
    if (task->tau) {
        return saltus_tau_run(&scalar->trajectory, &scalar->direct, &scalar->leap, task->times,
                              task->n_times, stop, job->counts, job->observables);
    }
    if (task->tables->n_thinned > 0) {
        return saltus_thinned_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times,
                                  stop, job->counts, job->observables);
    }
    if (task->tables->n_hubs > 0) {
        return saltus_hubs_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times,
                               stop, job->counts, job->observables);
    }
    return saltus_direct_run(&scalar->trajectory, &scalar->direct, task->times, task->n_times, stop,
                             job->counts, job->observables);
}

/* ---- several trajectories in turn, scalar_turns.c ---- */

int SALTUS_SET_NAME(saltus_scalar_run_in_turn)(saltus_scalar_engine *const *scalars,
                                               saltus_job *const *jobs, int n, int n_begun,
                                               const saltus_task *task);

int SALTUS_SET_NAME(saltus_scalar_run_in_turn)(saltus_scalar_engine *const *scalars,
                                               saltus_job *const *jobs, int n, int n_begun,
                                               const saltus_task *task)
{
    const int *stop = task->pause ? task->pause : task->stop;
    saltus_hubs_next next[SALTUS_SCALAR_TURNS];
    int go[SALTUS_SCALAR_TURNS];
    for (int i = n_begun; i < n; ++i) {
        if (saltus_hubs_begin(&scalars[i]->trajectory, &scalars[i]->direct) != SALTUS_FINE) {
            return i;
        }
    }
    for (int round = 0; round < SALTUS_SCALAR_ROUNDS; ++round) {
        for (int i = 0; i < n; ++i) {
            go[i] = saltus_hubs_aim(&scalars[i]->trajectory, &scalars[i]->direct, task->times,
                                    task->n_times, stop, jobs[i]->counts, jobs[i]->observables,
                                    &next[i]);
            if (SALTUS_RARE(go[i] < 0)) {
                return i;
            }
        }
        for (int i = 0; i < n; ++i) {
            if (!SALTUS_RARE(go[i] == 0)) {
                saltus_hubs_choose(&scalars[i]->trajectory, &scalars[i]->direct, &next[i]);
            }
        }
        for (int i = 0; i < n; ++i) {
            if (!SALTUS_RARE(go[i] == 0) &&
                saltus_hubs_happen(&scalars[i]->trajectory, &scalars[i]->direct, &next[i]) !=
                    SALTUS_FINE) {
                return i;
            }
        }
    }
    return n;
}

/* ---- windows of laws that drift with time, of a lane: backend/cpu/lanes.c ---- */

saltus_failure SALTUS_SET_NAME(saltus_scalar_open_window)(saltus_scalar_engine *scalar)
{
    saltus_trajectory_refresh(&scalar->trajectory);
    return saltus_thinned_rebuild(&scalar->trajectory, &scalar->direct, 1);
}

void SALTUS_SET_NAME(saltus_scalar_drifts)(saltus_scalar_engine *scalar, double start, double end,
                                           double *ends)
{
    saltus_trajectory *p = &scalar->trajectory;
    p->window_start = start;
    p->window_end = end;
    saltus_thinned_drifts(p, &scalar->direct);
    memcpy(ends, scalar->direct.intervals + 2, 2 * (size_t)p->n->n_drifts * sizeof *ends);
    p->window_end = -1.0;
}

void SALTUS_SET_NAME(saltus_scalar_interval)(const saltus_scalar_engine *scalar,
                                             const saltus_instruction *i, double ends[3][2],
                                             double y[2])
{
    const saltus_interval a = {ends[0][0], ends[0][1]}, b = {ends[1][0], ends[1][1]},
                          c = {ends[2][0], ends[2][1]};
    const saltus_interval s = saltus_interval_operation(i, a, b, c, scalar->trajectory.v);
    y[0] = s.lo;
    y[1] = s.hi;
}

/* ---- one step of a trajectory whose slopes somebody else computes: backend/cpu/rates.c ---- */

saltus_failure SALTUS_SET_NAME(saltus_scalar_open_ode)(saltus_scalar_engine *scalar)
{
    return saltus_ode_open(&scalar->trajectory, &scalar->direct, &scalar->ode);
}

bool SALTUS_SET_NAME(saltus_scalar_begin_step)(saltus_scalar_engine *scalar,
                                               const saltus_task *task, saltus_job *job)
{
    saltus_trajectory *p = &scalar->trajectory;
    if (saltus_ode_due(p, &scalar->direct, &scalar->ode, task->times, task->n_times, job->counts,
                       job->observables) < 0) {
        return false;
    }
    saltus_ode_begin(p, &scalar->direct, &scalar->ode);
    return true;
}

saltus_failure SALTUS_SET_NAME(saltus_scalar_aim_step)(saltus_scalar_engine *scalar)
{
    return saltus_ode_aim(&scalar->trajectory, &scalar->direct, &scalar->ode);
}

int SALTUS_SET_NAME(saltus_scalar_judge_step)(saltus_scalar_engine *scalar, double error)
{
    const saltus_ode_verdict v = saltus_ode_judge(&scalar->trajectory, &scalar->ode, error);
    return v == SALTUS_ODE_TAKEN ? 1 : v == SALTUS_ODE_AGAIN ? 0 : -1;
}

bool SALTUS_SET_NAME(saltus_scalar_wants_stages)(const saltus_scalar_engine *scalar,
                                                 const saltus_task *task)
{
    const saltus_ode *o = &scalar->ode;
    return !o->is_cut || saltus_ode_needs_dense(&scalar->trajectory, o, task->times);
}

bool SALTUS_SET_NAME(saltus_scalar_end_step)(saltus_scalar_engine *scalar, const saltus_task *task,
                                             saltus_job *job)
{
    saltus_trajectory *p = &scalar->trajectory;
    saltus_ode *o = &scalar->ode;
    saltus_ode_find(p, o, task->times);
    o->is_fresh = 0;
    ++p->block;
    return saltus_ode_land(p, &scalar->direct, o, task->times, task->n_times, job->counts,
                           job->observables) == 0;
}

bool SALTUS_SET_NAME(saltus_scalar_react)(saltus_scalar_engine *scalar, double end)
{
    ++scalar->trajectory.block;
    return saltus_ode_react(&scalar->trajectory, &scalar->direct, &scalar->ode, end) == SALTUS_FINE;
}

void SALTUS_SET_NAME(saltus_scalar_pass_event)(saltus_scalar_engine *scalar)
{
    ++scalar->trajectory.event;
    ++scalar->trajectory.fired;
    scalar->ode.target = saltus_ode_target(&scalar->trajectory, &scalar->direct, &scalar->ode.word);
}

void SALTUS_SET_NAME(saltus_scalar_follow_lane)(saltus_scalar_engine *scalar)
{
    saltus_trajectory_run_live_rules(&scalar->trajectory);
    (void)saltus_ode_rebuild(&scalar->trajectory, &scalar->direct, &scalar->ode);
}
