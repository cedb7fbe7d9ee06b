/** Arguments of every kernel with a thread or a warp per trajectory. */
#ifndef SALTUS_KERNEL_SSA_LAUNCH_H
#define SALTUS_KERNEL_SSA_LAUNCH_H

#include "kernel/ssa/packed.h"
#include "kernel/base/rng.h"
#include "kernel/ssa/state.h"

/* Counts and observables of a sample; a kernel that is compiled for a model has them as constants.
 */
#ifndef SALTUS_COLUMNS
#define SALTUS_COLUMNS 0
#define SALTUS_OBSERVABLES 0
#endif

/* 1: reactions are in hubs and classes (hubs.h). The host defines it for kernels of such networks.
 */
#ifndef SALTUS_HUBS
#define SALTUS_HUBS 0
#endif

/** Where a trajectory's next sample goes. */
typedef struct saltus_samples {
    int64_t *counts;
    double *observables;
} saltus_samples;

/** Arguments of a launch. Addresses are the device's. */
typedef struct saltus_launch {
    const saltus_tables *tables;
    saltus_columns columns;
    const double *points;    /**< [point][at.size] rows of numbers, model/freeze/point.h */
    const int32_t *point_of; /**< [job]; NULL: there is one point */
    saltus_point at;
    const double *times; /**< [n_times] */
    int64_t n_times;
    uint64_t seed;
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< round keys made of the seed */
    uint64_t slice;                    /**< reactions of a trajectory in one launch, at most */
    const uint32_t *jumps;             /**< tables of the random generator */

    int64_t n_jobs;
    const uint64_t *trajectories; /**< [job] */
    int64_t *counts;              /**< [job][point][count]: a record is contiguous */
    double *observables;          /**< [job][point][observable] */
    uint64_t *events;             /**< [job] reactions that fired */
    int32_t *failures;            /**< [job] a saltus_failure */
    uint64_t *next;               /**< number of the next job to hand out */
    /** Out: [0] jobs that have ended, [1] slots that go on. */
    uint64_t *progress;

    /* Threads whose trajectories go on are packed anew for every launch, so that warps are full
     * while there is work for them. Example: of 5 slots 3, 0 and 4 go on: n_slots = 3, slots = {3,
     * 0, 4}. Thread 0 has slot 3, thread 1 slot 0, thread 2 slot 4, the others leave at once. */
    int64_t n_slots;      /**< threads at work */
    const int32_t *slots; /**< [thread at work] the slot of its state; NULL: thread i has slot i */
    int32_t *busy;        /**< out: slots that go on */

    /* Memory of the threads, interleaved: [number][slot]. */
    saltus_trajectory *states; /**< [slot] the rest of a trajectory's state, between launches */
    int64_t *jobs;             /**< [slot] the slot's job, or -1 */
    int64_t *x;
#define SALTUS_MEMBER(type, part, name, n) type *name;
    SALTUS_TRAJECTORY_ARRAYS(SALTUS_MEMBER)
    uint32_t *stream; /**< state of the main streams */
    double *pending_values;
    saltus_pending *pending;
    int32_t pending_capacity;
    saltus_tau tau; /**< tau-leaping's, like the arrays behind it */
    SALTUS_LEAP_ARRAYS(SALTUS_MEMBER)
    saltus_tolerance tolerance; /**< of continuous variables, like the arrays behind it */
    SALTUS_ODE_ARRAYS(SALTUS_MEMBER)
#undef SALTUS_MEMBER

    /* Members for layouts that run from packed tables. */
    saltus_packed packed;
    saltus_hub_arrays hubs;    /**< of a network with hubs */
    int64_t workspace_doubles; /**< size of a block's propensities and counts */
    double *workspaces;        /**< [block][workspace_doubles], unless they are in shared memory */
    int32_t *saved;            /**< [species][slot] counts between launches; of a warp
                                    [slot][species], behind which bounds may stand */

    uint64_t *leaps; /**< [job][2] tau-leaping: leaps and exact steps */
} saltus_launch;

#if SALTUS_DEVICE
/* The row of numbers of a job's point. */
SALTUS_FN const double *saltus_numbers_of(const saltus_launch *a, int64_t job)
{
    return a->points + (a->point_of ? (int64_t)a->point_of[job] * a->at.size : 0);
}

/* Where sample number `sample` of a job goes. */
SALTUS_FN saltus_samples saltus_samples_of(const saltus_launch *a, int64_t job, int64_t sample)
{
    const int64_t record = job * a->n_times + sample;
    saltus_samples to;
    to.counts = a->counts + record * a->columns.n_counts;
    to.observables = a->observables + record * a->columns.n_observables;
    return to;
}

/* Go on to the next sample of the same job. */
SALTUS_FN void saltus_samples_next(saltus_samples *to)
{
    to->counts += SALTUS_COLUMNS;
    to->observables += SALTUS_OBSERVABLES;
}

/* There is no memory to add: the trajectory is rerun on the CPU, where there is. */
SALTUS_OUTLINE int saltus_launch_make_room(saltus_trajectory *p)
{
    (void)p;
    return 0;
}

/* Set what a slot's trajectory has of the launch: its point, and addresses in global memory. */
SALTUS_FN void saltus_launch_open(const saltus_launch *a, saltus_trajectory *p, int64_t slot,
                                  int64_t job)
{
    p->n = a->tables;
    p->columns = &a->columns;
    p->point = job >= 0 ? saltus_numbers_of(a, job) : a->points;
    p->at = a->at;
    p->seed = a->seed;
    p->x = a->x + slot;
    p->v = a->v + slot;
    p->on = a->on + slot;
    p->rounded = a->rounded + slot;
    p->pending = a->pending + slot;
    p->pending_values = a->pending_values + slot;
    p->pending_capacity = a->pending_capacity;
    p->make_room = saltus_launch_make_room;
}

/* Set the rows that belong to the trajectory's point. */
SALTUS_FN void saltus_launch_constants(const saltus_launch *a, saltus_trajectory *p)
{
    p->v[SALTUS_AT(a->tables->row_one)] = 1.0;
    for (int i = 0; i < a->tables->n_constants; ++i) {
        p->v[SALTUS_AT(a->tables->row_constants + i)] = p->point[a->at.constants + i];
    }
}

/* The slot of a thread's state, or -1 if the thread has nothing to do. */
SALTUS_FN int64_t saltus_slot(const saltus_launch *a, int64_t thread)
{
    return thread >= a->n_slots ? -1 : a->slots ? a->slots[thread] : thread;
}

/* A thread ends: its slot goes on if it has a job or may get one. */
SALTUS_FN void saltus_slot_leave(const saltus_launch *a, int64_t slot, int64_t job)
{
    if (job >= 0 || *a->next < (uint64_t)a->n_jobs) {
        a->busy[SALTUS_NEXT_NUMBER(a->progress + 1)] = (int32_t)slot;
    }
}

/* End a job, which has failed if `bad`. */
SALTUS_FN void saltus_job_end(const saltus_launch *a, int64_t job, uint64_t events, int bad)
{
    a->events[job] = events;
    a->failures[job] = bad ? SALTUS_BAD_TOTAL : SALTUS_FINE;
    (void)SALTUS_NEXT_NUMBER(a->progress);
}
#endif

#endif
