/** When a run keeps what is under way: it asks its workers at intervals, and when they are to stop,
 * and writes what they have handed over. */
#ifndef SALTUS_ENSEMBLE_KEEPING_H
#define SALTUS_ENSEMBLE_KEEPING_H

#include "ensemble/blocks.h"
#include "ensemble/checkpoint.h"

/** Zero-initialise for a run that keeps nothing. All functions take such a one, and do nothing. */
typedef struct saltus_keeping {
    saltus_checkpoint *checkpoint;
    int n;                     /**< workers */
    int *pause;                /**< [worker] saltus_task.pause */
    double start, last, asked; /**< saltus_now at the beginning, after the last checkpoint, and when
                                    workers were asked for the next; the latter 0: they were not */
    bool pays;   /**< trajectories take so long that they are worth keeping, as they were when
                      saltus_keeping_look looked; atomic */
    bool stores; /**< the sink keeps nothing itself: what it has had is kept in any case */
    bool has_warned;
} saltus_keeping;

/** SALTUS_E_NO_MEMORY */
SALTUS_MUST_CHECK saltus_status saltus_keeping_begin(saltus_keeping *k, const saltus_plan *plan,
                                                     const saltus_run_options *options,
                                                     const saltus_sink *sink, int n,
                                                     saltus_error *err);
void saltus_keeping_free(saltus_keeping *k);
/** Find out whether trajectories are worth keeping, of which so many are with the workers, and so
 * many have ended; and tell it. */
void saltus_keeping_look(saltus_keeping *k, int64_t n_under_way, int64_t n_finished);
bool saltus_keeping_pays(const saltus_keeping *k);
/** A worker has ended, and cannot be asked. */
void saltus_keeping_end(saltus_keeping *k, int worker);
/** Ask all workers, again if they were asked before. */
void saltus_keeping_ask(saltus_keeping *k);
/** Ask workers when it is time, and tell when they have answered: then saltus_keeping_write is to
 * be called, without a lock. */
bool saltus_keeping_is_ready(saltus_keeping *k);
/** The sink has had so many trajectories, and is between two deliveries: keep what it has made of
 * them, if it keeps nothing itself. */
void saltus_keeping_store(const saltus_keeping *k, const saltus_sink *sink, int64_t n);
/** Unless all has only just begun. A failure is told as a warning, once. */
void saltus_keeping_write(saltus_keeping *k, const saltus_run_options *options,
                          const saltus_sink *sink);

#endif
