/**
 * Rate rules, or method ode, with a thread per trajectory: run.h in ssa/tree_thread.h.
 *
 * Where components are few and nothing happens but reactions, a kernel is made for the model: the
 * host defines SALTUS_ODE_SIZE, their number, SALTUS_N_MOVING, that of propensities that move,
 * SALTUS_N_HELD, that of rows that these and rates read, SALTUS_EVENTS as 0 and, behind this file,
 * saltus_motion and saltus_ode_hold (slope.h). A step's numbers then stand in the thread. With
 * SALTUS_RATE_THREADS the kernel itself is that of rate_thread.h.
 */
#ifndef SALTUS_KERNEL_ODE_ODE_GLOBAL_H
#define SALTUS_KERNEL_ODE_ODE_GLOBAL_H

#include "kernel/ssa/tree_thread.h"
#include "kernel/ode/run.h"

#if SALTUS_DEVICE
/* Set where a thread's integrator has its numbers. */
SALTUS_FN void saltus_ode_place_thread(const saltus_launch *a, int64_t slot, saltus_ode *o)
{
    o->wanted = a->tolerance;
    o->n = saltus_ode_components(a->tables, SALTUS_MEAN);
    o->is_mean = SALTUS_MEAN;
    o->may_be_stiff = o->n <= SALTUS_MOST_STIFF;
    o->worst = o->lowest = o->n_amounts = 0;
    o->of_amounts = 0.0;
#define SALTUS_PLACE(type, part, name, count) o->name = a->name + slot;
#ifndef SALTUS_ODE_SIZE
    SALTUS_ODE_STEP_ARRAYS(SALTUS_PLACE)
#endif
    SALTUS_ODE_OTHER_ARRAYS(SALTUS_PLACE)
#undef SALTUS_PLACE
}

/* By about `left` steps. */
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, int64_t job,
                                  uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    const int64_t slot = saltus_slot(a, SALTUS_THREAD);
    saltus_trajectory *p = &w->trajectory;
    saltus_ode o;
    const uint64_t before = p->block;
    saltus_ode_place_thread(a, slot, &o);
    p->limit = before + left;
    (void)saltus_ode_run(p, &w->direct, &o, a->times, a->n_times, 0, counts, observables);
    return p->block - before;
}

#if !SALTUS_RATE_THREADS
SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a);
}
#endif
#endif

#endif
