/** What every kernel with a thread per trajectory works on. */
#ifndef SALTUS_KERNEL_LAUNCH_H
#define SALTUS_KERNEL_LAUNCH_H

#include "kernel/packed.h"
#include "kernel/rng.h"
#include "kernel/state.h"

/** Where a trajectory's next sample goes. */
typedef struct saltus_samples {
    int64_t *counts;
    double *observables;
} saltus_samples;

/** What a launch works on; addresses are the device's. */
typedef struct saltus_launch {
    const saltus_tables *tables;
    const saltus_columns *columns;
    const double *times; /**< [n_times] */
    int64_t n_times;
    uint64_t seed;
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< made of the seed */
    uint64_t slice;                    /**< reactions of a thread in one launch */

    int64_t n_jobs;
    const uint64_t *trajectories; /**< [job] */
    int64_t *counts;              /**< [job][point][count]: a record is one stretch of memory */
    double *observables;          /**< [job][point][observable] */
    uint64_t *events;             /**< [job] reactions that fired */
    int32_t *troubles;            /**< [job] a saltus_trouble */
    uint64_t *next;               /**< the job to hand out next */
    uint64_t *n_done;             /**< jobs that have ended */

    /* Memory of the threads, interleaved: [number][thread]. */
    saltus_path *paths; /**< [thread] what is left of a path between launches */
    int64_t *jobs;      /**< [thread] its job, or -1 */
    int64_t *x;
    double *v, *values, *sums, *pending_values;
    uint8_t *on, *rounded;
    saltus_pending *pending;
    int32_t pending_capacity;

    /* Layouts that run from packed tables. */
    saltus_packed packed;
    int64_t room_doubles; /**< of a block's propensities and counts */
    double *rooms;        /**< [block][room_doubles], unless they are in shared memory */
    int32_t *saved;       /**< [species][thread] counts between launches */
} saltus_launch;

#if SALTUS_DEVICE
/* A job has ended, well or badly. */
SALTUS_FN void saltus_job_end(const saltus_launch *a, int64_t job, uint64_t events, int bad)
{
    a->events[job] = events;
    a->troubles[job] = bad ? SALTUS_BAD_TOTAL : SALTUS_FINE;
    (void)SALTUS_TAKE_NUMBER(a->n_done);
}
#endif

#endif
