/**
 * Tau-leaping with a thread per trajectory: tau.h in ssa/tree_thread.h.
 *
 * Leaps and the exact steps between them differ much in length. Either one kernel does both, and
 * trajectories are sorted by phase between launches, or each phase has a kernel (SALTUS_PHASES), as
 * Nobile et al. 2014, doi:10.1371/journal.pone.0091963, do it.
 */
#ifndef SALTUS_KERNEL_TAU_TAU_GLOBAL_H
#define SALTUS_KERNEL_TAU_TAU_GLOBAL_H

#define SALTUS_LEAPS 1
#ifndef SALTUS_PHASES
#define SALTUS_PHASES 0 /* 1: a kernel for leaps, and one for exact steps */
#endif

#include "kernel/ssa/tree_thread.h"
#include "kernel/tau/tau.h"

#if SALTUS_DEVICE
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, saltus_phase phase,
                                  int64_t job, uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    saltus_trajectory *p = &w->trajectory;
    const uint64_t before = p->block;
    p->limit = before + left;
    (void)saltus_tau_run(p, &w->direct, &w->leap, phase, a->times, a->n_times, 0, counts,
                         observables);
    return p->block - before;
}

#if SALTUS_PHASES
SALTUS_KERNEL(saltus_leaps, saltus_launch, a)
{
    saltus_global_thread(&a, SALTUS_PHASE_LEAPS);
}

SALTUS_KERNEL(saltus_exact_steps, saltus_launch, a)
{
    saltus_global_thread(&a, SALTUS_PHASE_EXACT);
}
#else
SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a, SALTUS_PHASE_ANY);
}
#endif
#endif

#endif
