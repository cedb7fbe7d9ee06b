/**
 * The thread of a GPU that simulates a trajectory with its state in global memory, interleaved so
 * that neighbouring threads touch neighbouring numbers (the "thin" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214), or in shared memory. It is direct_tree.h or tau.h, one copy per
 * thread, so it takes every model; in shared memory, those without events.
 *
 * A launch ends after so many reactions of a thread; the next continues from the state in memory. A
 * thread whose trajectory has ended takes the next one.
 */
#ifndef SALTUS_KERNEL_SSA_TREE_THREAD_H
#define SALTUS_KERNEL_SSA_TREE_THREAD_H

#ifndef SALTUS_LEAPS
#define SALTUS_LEAPS 0 /* 1: by tau-leaping */
#endif
#ifndef SALTUS_WORKSPACE_SHARED
#define SALTUS_WORKSPACE_SHARED \
    0 /* 1: state is in shared memory, [number][thread of SALTUS_BLOCK] */
#endif
#if SALTUS_WORKSPACE_SHARED
#define SALTUS_AT_STRIDE SALTUS_BLOCK
#endif

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

/** Doubles of shared memory that a thread takes, for a model without events and clocks. */
SALTUS_FN int64_t saltus_tree_workspace(const saltus_tables *n, int rng)
{
    const int64_t n_nodes = n->level_first[n->n_levels];
    return n->n_rows + n->n_leaves + n_nodes * (1 + SALTUS_FANOUT) + 4 * (int64_t)n->n_species +
           n->n_reactions + (saltus_stream_words(rng) + 1) / 2 + (n->n_reactions + 7) / 8;
}

#if SALTUS_DEVICE
/* A thread's trajectory. */
typedef struct saltus_tree_thread {
    saltus_trajectory trajectory;
    saltus_direct direct;
    saltus_leap leap;
} saltus_tree_thread;

#if SALTUS_WORKSPACE_SHARED
/* Cut the next n doubles off a thread's workspace. */
SALTUS_FN double *saltus_workspace_cut(double **workspace, int64_t n)
{
    double *const here = *workspace;
    *workspace += n * SALTUS_BLOCK;
    return here;
}

/* Set the addresses of this thread's numbers. The counts and the stream stay in global memory
 * between launches; all else follows from them. */
SALTUS_FN void saltus_tree_place(saltus_tree_thread *w, const saltus_launch *a, int64_t slot)
{
    const saltus_tables *n = a->tables;
    const int n_nodes = n->level_first[n->n_levels];
    double *workspace = saltus_shared + SALTUS_THREAD_IN_BLOCK;
    w->trajectory.v = saltus_workspace_cut(&workspace, n->n_rows);
    w->direct.values = saltus_workspace_cut(&workspace, n->n_leaves + n_nodes);
    w->direct.sums = saltus_workspace_cut(&workspace, (int64_t)n_nodes * SALTUS_FANOUT);
    w->leap.drift = saltus_workspace_cut(&workspace, n->n_species);
    w->leap.spread = saltus_workspace_cut(&workspace, n->n_species);
    w->leap.change = (int64_t *)saltus_workspace_cut(&workspace, n->n_species);
    w->leap.number = saltus_workspace_cut(&workspace, n->n_reactions);
    w->trajectory.x = (int64_t *)saltus_workspace_cut(&workspace, n->n_species);
    w->direct.stream = (uint32_t *)(workspace - SALTUS_THREAD_IN_BLOCK) + SALTUS_THREAD_IN_BLOCK;
    workspace += (saltus_stream_words(SALTUS_RNG) + 1) / 2 * SALTUS_BLOCK;
    w->leap.critical = (uint8_t *)(workspace - SALTUS_THREAD_IN_BLOCK) + SALTUS_THREAD_IN_BLOCK;
    for (int i = 0; i < n->n_leaves + n_nodes; ++i) {
        w->direct.values[SALTUS_AT(i)] = 0.0; /* those that pad the tree stay 0 */
    }
    for (int s = 0; s < n->n_species; ++s) {
        w->trajectory.x[SALTUS_AT(s)] = a->x[slot + s * SALTUS_STRIDE];
    }
    for (int i = 0; i < saltus_stream_words(SALTUS_RNG); ++i) {
        w->direct.stream[SALTUS_AT(i)] = a->stream[slot + i * SALTUS_STRIDE];
    }
    saltus_launch_constants(a, &w->trajectory);
}

SALTUS_FN void saltus_tree_keep(const saltus_tree_thread *w, const saltus_launch *a, int64_t slot)
{
    for (int s = 0; s < a->tables->n_species; ++s) {
        a->x[slot + s * SALTUS_STRIDE] = w->trajectory.x[SALTUS_AT(s)];
    }
    for (int i = 0; i < saltus_stream_words(SALTUS_RNG); ++i) {
        a->stream[slot + i * SALTUS_STRIDE] = w->direct.stream[SALTUS_AT(i)];
    }
}
#else
SALTUS_FN void saltus_tree_place(saltus_tree_thread *w, const saltus_launch *a, int64_t slot)
{
    w->direct.stream = a->stream + slot;
#define SALTUS_PLACE(type, part, name, n) w->part.name = a->name + slot;
    SALTUS_TRAJECTORY_ARRAYS(SALTUS_PLACE)
    SALTUS_LEAP_ARRAYS(SALTUS_PLACE)
#undef SALTUS_PLACE
}

SALTUS_FN void saltus_tree_keep(const saltus_tree_thread *w, const saltus_launch *a, int64_t slot)
{
    (void)w, (void)a, (void)slot;
}
#endif

/* Continue a trajectory, by about `left` reactions, or blocks of words; returns how many it took.
 * Each method defines it: direct_global.h, tau/tau_global.h. */
SALTUS_FN uint64_t saltus_tree_go(const saltus_launch *a, saltus_tree_thread *w, saltus_phase phase,
                                  int64_t job, uint64_t left);

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
SALTUS_FN void saltus_global_thread(const saltus_launch *a, saltus_phase phase)
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
            if (phase == SALTUS_PHASE_EXACT) {
                break; /* a trajectory begins with a leap */
            }
            const int64_t next = (int64_t)SALTUS_NEXT_NUMBER(a->next);
            if (next >= a->n_jobs) {
                break;
            }
            job = next;
            saltus_tree_begin(a, &w, job);
        }
        if (p->failure == SALTUS_FINE) {
            const uint64_t done = saltus_tree_go(a, &w, phase, job, left);
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
    saltus_tree_keep(&w, a, slot);
    a->states[slot] = w.trajectory;
    a->jobs[slot] = job;
    if (SALTUS_LEAPS && job >= 0 && p->exact > 0) {
        saltus_slot_leave_exact(a, slot);
    } else {
        saltus_slot_leave(a, slot, job);
    }
}
#endif

#endif
