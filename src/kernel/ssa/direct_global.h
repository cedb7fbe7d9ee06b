/** The direct method with a thread per trajectory, which takes every model: tree_thread.h. */
#ifndef SALTUS_KERNEL_SSA_DIRECT_GLOBAL_H
#define SALTUS_KERNEL_SSA_DIRECT_GLOBAL_H

#include "kernel/ssa/tree_thread.h"

#if SALTUS_THINNED
#include "kernel/ssa/thinned.h"
#endif

#if SALTUS_DEVICE
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, saltus_phase phase,
                                  int64_t job, uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    saltus_trajectory *p = &w->trajectory;
    (void)phase;
#if SALTUS_THINNED
    const uint64_t before = p->event;
    p->limit = before + left;
    (void)saltus_thinned_run(p, &w->direct, a->times, a->n_times, 0, counts, observables);
    return p->event - before;
#else
    const uint64_t before = p->fired;
    p->limit = before + left;
    (void)saltus_direct_run(p, &w->direct, a->times, a->n_times, 0, counts, observables);
    return p->fired - before;
#endif
}

SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a, SALTUS_PHASE_ANY);
}
#endif

#endif
