/**
 * Tau-leaping with a thread per trajectory, for every model: tau.h in ssa/tree_thread.h.
 */
#ifndef SALTUS_KERNEL_TAU_TAU_GLOBAL_H
#define SALTUS_KERNEL_TAU_TAU_GLOBAL_H

#define SALTUS_LEAPS 1

#include "kernel/ssa/tree_thread.h"
#include "kernel/tau/tau.h"

#if SALTUS_DEVICE
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, int64_t job,
                                  uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    saltus_trajectory *p = &w->trajectory;
    const uint64_t before = p->block;
    p->limit = before + left;
    (void)saltus_tau_run(p, &w->direct, &w->leap, a->times, a->n_times, 0, counts, observables);
    return p->block - before;
}

SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a);
}
#endif

#endif
