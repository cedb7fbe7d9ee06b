/** What methods of space do at a time at which something is recorded. */
#ifndef SALTUS_ENGINE_RECORD_H
#define SALTUS_ENGINE_RECORD_H

#include "engine/contents.h"
#include "engine/task.h"

/** A time at which a trajectory stops: for a sample, a frame, or both. */
typedef struct saltus_stop {
    bool is_one; /**< false: there are no more stops */
    double time;
    int64_t sample, frame; /**< numbers of the next ones, or of those that are due */
    bool is_sample, is_frame;
    bool needs_contents; /**< totals alone do not suffice */
} saltus_stop;

/** Stops of a task, by rising time, from those numbers of the next sample and the next frame on:
 *
 * for (saltus_stop at = saltus_stop_at(task, 0, 0); at.is_one; at = saltus_stop_next(task, &at))
 */
saltus_stop saltus_stop_at(const saltus_task *task, int64_t sample, int64_t frame);
saltus_stop saltus_stop_next(const saltus_task *task, const saltus_stop *at);

/** Count particles of the recorded species in each part of the lattice: out[part][count]. */
void saltus_space_split(const saltus_task *task, const saltus_contents *contents, saltus_split how,
                        int64_t *out);

/**
 * Record what is due at a stop.
 *
 * @param totals   [species] particles on the lattice
 * @param contents all of them; read if the stop needs contents. NULL for a stop without a
 *                 frame: the method has itself filled the job's splits for this sample
 * @retval SALTUS_E_… the sink's, for a frame that it could not take
 */
SALTUS_MUST_CHECK saltus_status saltus_space_record(const saltus_task *task, saltus_job *job,
                                                    const saltus_stop *at, const int64_t *totals,
                                                    const saltus_contents *contents,
                                                    saltus_error *err);

#endif
