/** What a run tells while it is under way: its progress, and once if time stands still in it. */
#ifndef SALTUS_ENSEMBLE_PROGRESS_H
#define SALTUS_ENSEMBLE_PROGRESS_H

#include "kernel/ssa/state.h"
#include "saltus/saltus_run.h"

#include <pthread.h>

typedef struct saltus_monitor {
    const saltus_run_options *options;
    saltus_reached *reached; /**< [worker]; each writes its own */
    int n_workers;
    double start, told_at; /**< saltus_now */
    double fraction;       /**< the largest so far */
    double t;              /**< summed over what is under way, at the last look */
    uint64_t written;      /**< how often workers had told how far they are, likewise */
    int64_t n_finished;    /**< likewise */
    int n_stalled; /**< looks since any trajectory advanced in time, though workers worked */
} saltus_monitor;

/** Of a run that begins now; `reached` is freed by saltus_monitor_free. */
saltus_status saltus_monitor_begin(saltus_monitor *m, const saltus_run_options *options,
                                   int n_workers, double start, saltus_error *err);

/** A few times a second, with the lock held, which is free while somebody is told. `n_finished` and
 * `events` are of trajectories that are finished. */
void saltus_monitor_look(saltus_monitor *m, int64_t n_finished, int64_t events,
                         pthread_mutex_t *lock);

void saltus_monitor_free(saltus_monitor *m);

#endif
