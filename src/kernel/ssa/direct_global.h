/** The direct method with a thread per trajectory, which takes every model: tree_thread.h. */
#ifndef SALTUS_KERNEL_SSA_DIRECT_GLOBAL_H
#define SALTUS_KERNEL_SSA_DIRECT_GLOBAL_H

#include "kernel/ssa/tree_thread.h"

/* The loop over events, and in what its limit and its progress are counted. */
#if SALTUS_THINNED
#include "kernel/ssa/thinned.h"
#define SALTUS_GO saltus_thinned_run
#define SALTUS_COUNTED(p) (p)->event
#elif SALTUS_HUBS
#include "kernel/ssa/hubs.h"
#define SALTUS_GO saltus_hubs_run
#define SALTUS_COUNTED(p) (p)->event
#else
#define SALTUS_GO saltus_direct_run
#define SALTUS_COUNTED(p) (p)->fired
#endif

#if SALTUS_DEVICE
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, int64_t job,
                                  uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    saltus_trajectory *p = &w->trajectory;
    const uint64_t before = SALTUS_COUNTED(p);
    p->limit = before + left;
    (void)SALTUS_GO(p, &w->direct, a->times, a->n_times, 0, counts, observables);
    return SALTUS_COUNTED(p) - before;
}

SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a);
}
#endif

#endif
