/**
 * Trajectories that are kept while they are under way: a table of them, which is the saver of a
 * run's workers (engine/keep.h), and the file that it is written to and read from.
 */
#ifndef SALTUS_ENSEMBLE_CHECKPOINT_H
#define SALTUS_ENSEMBLE_CHECKPOINT_H

#include "engine/task.h"

/** Numbers of a trajectory at a sample time: what a checkpoint's rows are made of. */
typedef struct saltus_row_sizes {
    int64_t counts, observables;     /**< species; observables */
    int64_t splits[SALTUS_N_SPLITS]; /**< parts times species */
} saltus_row_sizes;

/** Begin a run with rows of these sizes and so many of them; what was kept of other ones is
 * forgotten. Afterwards any thread may call all of these functions. */
void saltus_checkpoint_begin(saltus_checkpoint *c, const saltus_row_sizes *sizes, int64_t n_times);
/** Seconds between two checkpoints. */
double saltus_checkpoint_seconds(const saltus_checkpoint *c);
/** What is wrong with the file that was there, once; or NULL. */
const char *saltus_checkpoint_trouble(saltus_checkpoint *c);
/** To hand to workers; valid as long as the checkpoint. */
const saltus_saver *saltus_checkpoint_saver(saltus_checkpoint *c);
/** What is kept of a trajectory, or NULL. Valid until it is kept anew, or dropped. */
const saltus_kept *saltus_checkpoint_find(saltus_checkpoint *c, int64_t trajectory);
/** Keep the samples of a trajectory that has ended, unless they are kept. */
void saltus_checkpoint_keep_ended(saltus_checkpoint *c, const saltus_job *job);
/** Keep no more of n trajectories. */
void saltus_checkpoint_drop(saltus_checkpoint *c, int64_t first, int64_t n);
/** The sink that runs deliver to has had n trajectories, and has made these bytes of them, which
 * are taken. */
void saltus_checkpoint_set_had(saltus_checkpoint *c, int64_t n, void *bytes, size_t size);
/** What was in the file of that; NULL: nothing. */
const void *saltus_checkpoint_had(const saltus_checkpoint *c, int64_t *n, size_t *size);
/** Whether there is a file. */
bool saltus_checkpoint_is_written(const saltus_checkpoint *c);
/** That of a point of a sweep, in a file beside. As saltus_checkpoint_open. */
SALTUS_MUST_CHECK saltus_status saltus_checkpoint_open_point(const saltus_checkpoint *c,
                                                             int64_t point, saltus_checkpoint **out,
                                                             saltus_error *err);
/** Write the file, unless there is nothing to keep. The sink is flushed first.
 * SALTUS_E_IO, SALTUS_E_NO_MEMORY: the file that was there before still is. */
SALTUS_MUST_CHECK saltus_status saltus_checkpoint_write(saltus_checkpoint *c,
                                                        const saltus_sink *sink, saltus_error *err);

#endif
