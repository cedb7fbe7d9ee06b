/**
 * The thread of a GPU that simulates a trajectory with its state in global memory, interleaved so
 * that neighbouring threads touch neighbouring numbers (the "thin" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214). It is direct_tree.h or tau.h, one copy per thread, so it takes every
 * model.
 *
 * A launch ends after so many reactions of a thread; the next continues from the state in memory. A
 * thread whose trajectory has ended takes the next one.
 */
#ifndef SALTUS_KERNEL_SSA_TREE_THREAD_H
#define SALTUS_KERNEL_SSA_TREE_THREAD_H

#ifndef SALTUS_LEAPS
#define SALTUS_LEAPS 0 /* 1: by tau-leaping */
#endif

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
/* A thread's trajectory. */
typedef struct saltus_tree_thread {
    saltus_trajectory trajectory;
    saltus_direct direct;
    saltus_leap leap;
} saltus_tree_thread;

SALTUS_FN void saltus_tree_place(saltus_tree_thread *w, const saltus_launch *a, int64_t slot)
{
    w->direct.stream = a->stream + slot;
#define SALTUS_PLACE(type, part, name, n) w->part.name = a->name + slot;
    SALTUS_TRAJECTORY_ARRAYS(SALTUS_PLACE)
    SALTUS_LEAP_ARRAYS(SALTUS_PLACE)
#undef SALTUS_PLACE
}

/* Continue a trajectory, by about `left` reactions, or blocks of words; returns how many it took.
 * Each method defines it: direct_global.h, tau/tau_global.h. */
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, int64_t job,
                                  uint64_t left);

/* Begin a job. */
SALTUS_FN void saltus_tree_begin(const saltus_launch *a, saltus_tree_thread *w, int64_t job)
{
    saltus_trajectory *p = &w->trajectory;
    saltus_stream s;
    p->point = saltus_numbers_of(a, job);
    saltus_launch_constants(a, p);
    (void)saltus_trajectory_start(p, a->trajectories[job]);
    saltus_stream_start(&s, w->direct.stream, p->seed, p->trajectory, a->jumps);
}

/** The work of one thread in a launch. */
SALTUS_FN void saltus_global_thread(const saltus_launch *a)
{
    const int64_t slot = saltus_slot(a, SALTUS_THREAD);
    if (slot < 0) {
        return;
    }
    saltus_tree_thread w;
    saltus_trajectory *p = &w.trajectory;
    int64_t job = a->jobs[slot];
    uint64_t left = a->slice;
    int stopped = 0;
    w.trajectory = a->states[slot];
    saltus_launch_open(a, p, slot, job);
    w.leap.tau = a->tau;
    saltus_tree_place(&w, a, slot);
    while (left > 0 && !stopped) {
        if (job < 0) {
            const int64_t next = (int64_t)SALTUS_NEXT_NUMBER(a->next);
            if (next >= a->n_jobs) {
                break;
            }
            job = next;
            saltus_tree_begin(a, &w, job);
        }
        if (p->failure == SALTUS_FINE) {
            const uint64_t done = saltus_tree_go(a, &w, job, left);
            left -= done < left ? done : left;
        }
        stopped = p->failure == SALTUS_STOPPED;
        if (stopped) {
            p->failure = SALTUS_FINE;
        } else {
            a->events[job] = p->fired;
#if SALTUS_LEAPS
            a->leaps[2 * job] = p->leaps;
            a->leaps[2 * job + 1] = p->exact_steps;
#endif
            a->failures[job] = p->failure;
            (void)SALTUS_NEXT_NUMBER(a->progress);
            job = -1;
        }
    }
    a->states[slot] = w.trajectory;
    a->jobs[slot] = job;
    saltus_slot_leave(a, slot, job);
}
#endif

#endif
