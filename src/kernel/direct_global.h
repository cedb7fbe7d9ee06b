/**
 * The direct method with a thread per trajectory and its state in global memory, interleaved so
 * that neighbouring threads touch neighbouring numbers (the "thin" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214). It is direct_tree.h, one copy per thread, so it takes every model.
 *
 * A launch ends after so many reactions of a thread; the next goes on from the state in memory. A
 * thread whose trajectory has ended takes the next one.
 */
#ifndef SALTUS_KERNEL_DIRECT_GLOBAL_H
#define SALTUS_KERNEL_DIRECT_GLOBAL_H

#include "kernel/launch.h"
#include "kernel/tau.h"

#ifndef SALTUS_LEAPS
#define SALTUS_LEAPS 0 /* 1: tau-leaping instead */
#endif

/* There is no room to make: the trajectory is rerun where there is. */
SALTUS_OUTLINE int saltus_global_make_room(saltus_path *p)
{
    (void)p;
    return 0;
}

#if SALTUS_DEVICE
/* Go on with a trajectory, by about `left` reactions, or blocks of words; returns how many. */
SALTUS_FN uint64_t saltus_global_go(const saltus_launch *a, saltus_path *p, saltus_direct *d,
                                    int64_t slot, int64_t job, uint64_t left)
{
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
#if SALTUS_LEAPS
    const uint64_t before = p->block;
    saltus_leap l;
    l.tau = a->tau;
    l.drift = a->drift + slot;
    l.spread = a->spread + slot;
    l.change = a->change + slot;
    l.critical = a->critical + slot;
    p->limit = before + left;
    (void)saltus_tau_run(p, d, &l, a->times, a->n_times, 0, counts, observables);
    return p->block - before;
#else
    const uint64_t before = p->fired;
    (void)slot;
    p->limit = before + left;
    (void)saltus_direct_run(p, d, a->times, a->n_times, 0, counts, observables);
    return p->fired - before;
#endif
}

/** One thread's part of a launch. */
SALTUS_FN void saltus_global_thread(const saltus_launch *a, int64_t thread)
{
    const int64_t slot = saltus_slot(a, thread);
    if (slot < 0) {
        return;
    }
    saltus_path p = a->paths[slot];
    saltus_direct d;
    int64_t job = a->jobs[slot];
    uint64_t left = a->slice;
    p.n = a->tables;
    p.columns = &a->columns;
    p.point = job >= 0 ? saltus_numbers_of(a, job) : a->points;
    p.at = a->at;
    p.seed = a->seed;
    p.x = a->x + slot;
    p.v = a->v + slot;
    p.on = a->on + slot;
    p.rounded = a->rounded + slot;
    p.pending = a->pending + slot;
    p.pending_values = a->pending_values + slot;
    p.pending_capacity = a->pending_capacity;
    p.make_room = saltus_global_make_room;
    d.values = a->values + slot;
    d.sums = a->sums + slot;
    d.stream = a->stream + slot;
    while (left > 0) {
        if (job < 0) {
            const int64_t next = (int64_t)SALTUS_TAKE_NUMBER(a->next);
            if (next >= a->n_jobs) {
                break;
            }
            job = next;
            p.point = saltus_numbers_of(a, job);
            p.v[SALTUS_AT(p.n->row_one)] = 1.0;
            for (int i = 0; i < p.n->n_constants; ++i) {
                p.v[SALTUS_AT(p.n->row_constants + i)] = p.point[p.at.constants + i];
            }
            (void)saltus_path_start(&p, a->trajectories[job]);
            saltus_stream s;
            saltus_stream_start(&s, d.stream, p.seed, p.trajectory, a->jumps);
        }
        if (p.trouble == SALTUS_FINE) {
            const uint64_t done = saltus_global_go(a, &p, &d, slot, job, left);
            left -= done < left ? done : left;
        }
        if (p.trouble == SALTUS_STOPPED) {
            p.trouble = SALTUS_FINE;
            break;
        }
        a->events[job] = p.fired;
        a->troubles[job] = p.trouble;
        (void)SALTUS_TAKE_NUMBER(a->progress);
        job = -1;
    }
    a->paths[slot] = p;
    a->jobs[slot] = job;
    saltus_slot_leave(a, slot, job);
}

SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    saltus_global_thread(&a, SALTUS_THREAD);
}
#endif

#endif
