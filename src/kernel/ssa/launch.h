/** What every kernel with a thread or a warp per trajectory works on. */
#ifndef SALTUS_KERNEL_SSA_LAUNCH_H
#define SALTUS_KERNEL_SSA_LAUNCH_H

#include "kernel/ssa/packed.h"
#include "kernel/base/rng.h"
#include "kernel/ssa/state.h"

/* Counts and observables of a sample; who compiles a kernel for a model tells them. */
#ifndef SALTUS_COLUMNS
#define SALTUS_COLUMNS 0
#define SALTUS_OBSERVABLES 0
#endif

/** Where a trajectory's next sample goes. */
typedef struct saltus_samples {
    int64_t *counts;
    double *observables;
} saltus_samples;

/** What a launch works on; addresses are the device's. */
typedef struct saltus_launch {
    const saltus_tables *tables;
    saltus_columns columns;
    const double *points;    /**< [point][at.size] rows of numbers, model/freeze/point.h */
    const int32_t *point_of; /**< [job]; NULL: there is one point */
    saltus_point at;
    const double *times; /**< [n_times] */
    int64_t n_times;
    uint64_t seed;
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< made of the seed */
    uint64_t slice;                    /**< reactions of a trajectory in one launch */
    const uint32_t *jumps;             /**< the random generator's tables */

    int64_t n_jobs;
    const uint64_t *trajectories; /**< [job] */
    int64_t *counts;              /**< [job][point][count]: a record is one stretch of memory */
    double *observables;          /**< [job][point][observable] */
    uint64_t *events;             /**< [job] reactions that fired */
    int32_t *failures;            /**< [job] a saltus_failure */
    uint64_t *next;               /**< the job to hand out next */
    uint64_t *progress;           /**< out: jobs that have ended; slots that go on; of them those
                                       that are at exact steps between leaps */

    /* The threads that work, those with a trajectory that goes on, are packed anew for every
     * launch, so that warps are full while there is work for them. */
    int64_t n_slots;      /**< threads at work: the others leave at once */
    const int32_t *slots; /**< [thread at work] where its state is; NULL: thread i's is slot i */
    int32_t *busy;        /**< [n_room] out: slots that go on */
    /* Trajectories that are at exact steps between leaps stand behind the others, from the end of
     * the lists backwards, so that the threads of a warp are in one phase. */
    int64_t n_exact, n_workspace;

    /* Memory of the threads, interleaved: [number][slot]. */
    saltus_trajectory *states; /**< [slot] what is left of a path between launches */
    int64_t *jobs;             /**< [slot] its job, or -1 */
    int64_t *x;
    double *v, *values, *sums, *pending_values;
    uint32_t *stream; /**< state of the main streams */
    uint8_t *on, *rounded;
    saltus_pending *pending;
    int32_t pending_capacity;
    saltus_tau tau; /**< for tau-leaping alone, like these */
    double *drift, *spread;
    int64_t *change;
    double *number;
    uint8_t *critical;

    /* Layouts that run from packed tables. */
    saltus_packed packed;
    int64_t workspace_doubles; /**< of a block's propensities and counts */
    double *workspaces;        /**< [block][workspace_doubles], unless they are in shared memory */
    int32_t *saved;            /**< [species][slot] counts between launches */

    uint64_t *leaps; /**< [job][2] leaps and exact steps, of tau-leaping alone */
} saltus_launch;

#if SALTUS_DEVICE
/* The numbers of a job's point. */
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

/* On to the next sample of the same job. */
SALTUS_FN void saltus_samples_next(saltus_samples *to)
{
    to->counts += SALTUS_COLUMNS;
    to->observables += SALTUS_OBSERVABLES;
}

/* The slot of a thread's state, or -1 when it has nothing to do. */
SALTUS_FN int64_t saltus_slot(const saltus_launch *a, int64_t thread)
{
    if (thread < a->n_slots) {
        return a->slots ? a->slots[thread] : thread;
    }
    thread -= a->n_slots;
    return thread < a->n_exact ? a->slots[a->n_workspace - 1 - thread] : -1;
}

/* A thread leaves: its slot goes on if it has a job or may get one. */
SALTUS_FN void saltus_slot_leave(const saltus_launch *a, int64_t slot, int64_t job)
{
    if (job >= 0 || *a->next < (uint64_t)a->n_jobs) {
        a->busy[SALTUS_NEXT_NUMBER(a->progress + 1)] = (int32_t)slot;
    }
}

/* Likewise, with a trajectory that is at exact steps between leaps. */
SALTUS_FN void saltus_slot_leave_exact(const saltus_launch *a, int64_t slot)
{
    a->busy[a->n_workspace - 1 - (int64_t)SALTUS_NEXT_NUMBER(a->progress + 2)] = (int32_t)slot;
}

/* A job has ended, well or badly. */
SALTUS_FN void saltus_job_end(const saltus_launch *a, int64_t job, uint64_t events, int bad)
{
    a->events[job] = events;
    a->failures[job] = bad ? SALTUS_BAD_TOTAL : SALTUS_FINE;
    (void)SALTUS_NEXT_NUMBER(a->progress);
}
#endif

#endif
