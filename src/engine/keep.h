/**
 * Keeping what is under way: a worker looks at its task's `pause` where it looks at `stop`, hands
 * the state of its trajectories to the saver, and goes on, or gives up if it is to stop. A job may
 * come with what was kept of it before. States are of methods, not of backends, so that any engine
 * of a method may go on from what another one kept.
 */
#ifndef SALTUS_ENGINE_KEEP_H
#define SALTUS_ENGINE_KEEP_H

#include "core/pack.h"
#include "engine/task.h"

/** ---- who asks; `pause` is a worker's saltus_task.pause ---- */

/** Ask a worker, unless it is asked, is answering or has ended. */
void saltus_keep_ask(int *pause);
/** Whether it has handed over all, was not asked or has ended. */
bool saltus_keep_has_answered(const int *pause);
/** It has ended, and cannot be asked. */
void saltus_keep_end(int *pause);

/** ---- a worker ---- */

/** Whether what is under way is to be kept now; asked once, it is no more. Then it is to be handed
 * over, and saltus_keep_stops to be called, which ends the answer. */
bool saltus_keep_is_due(const saltus_task *task);
/** Whether that has been asked and is not due yet; may be called often. */
bool saltus_keep_is_asked(const saltus_task *task);
/** Begin, before that, and end an answer that takes its time and may end on another thread: nothing
 * is written meanwhile. What is asked in between is not due before that. */
void saltus_keep_answer(const saltus_task *task, bool begins);
/** Whether to give up, where was_due is what saltus_keep_is_due has just said: not before all is
 * kept. */
bool saltus_keep_stops(const saltus_task *task, bool was_due);
/** Hand over a state, and the job's first n_samples samples. Where memory runs out nothing is kept.
 */
void saltus_keep(const saltus_task *task, saltus_job *job, int64_t n_samples,
                 const saltus_packer *state);
/** What is kept of a job, to be taken; false: nothing, or another form of it. */
bool saltus_keep_open(const saltus_job *job, saltus_packer *state);
/** Copy the samples that were kept to where the job's samples go. */
void saltus_keep_samples(const saltus_task *task, const saltus_job *job);

#endif
