/** Keeping a trajectory on a lattice that is under way, for rdme_course.c: what its sites hold is
 * put into the form of the method, and handed over, while the engine goes on. */
#ifndef SALTUS_ENGINE_RDME_KEEP_H
#define SALTUS_ENGINE_RDME_KEEP_H

#include "core/parallel.h"
#include "engine/keep.h"
#include "engine/rdme.h"

/** Where a trajectory is. */
typedef struct saltus_mpd_position {
    int64_t frame; /**< number of the next frame */
    int64_t step;  /**< at whose end it is */
    int64_t fired; /**< reactions so far */
    int64_t work;  /**< of a phase, roughly (saltus_mpd_batch_status) */
} saltus_mpd_position;

/** Zero-initialise; with the tables, the task and the job of the trajectory. */
typedef struct saltus_mpd_keeping {
    const saltus_mpd_tables *tables;
    const saltus_task *task;
    saltus_job *job;
    saltus_contents contents;       /**< what the sites held then */
    const saltus_mpd_engine *aside; /**< which has set that aside; NULL: it is in contents */
    saltus_mpd_position at;
    int64_t n_samples;
    saltus_thread thread;
    bool is_busy; /**< a thread is at work on these */
} saltus_mpd_keeping;

/** Hand over its contents, as those of a trajectory that has so many samples; large ones, and what
 * is collected from aside before, on a thread of its own, which has it until saltus_mpd_keep_wait.
 * What cannot be collected is not kept. */
void saltus_mpd_keep(saltus_mpd_keeping *keeping, const saltus_mpd_position *at, int64_t n_samples);
void saltus_mpd_keep_wait(saltus_mpd_keeping *keeping);
/** Wait, and free the contents. */
void saltus_mpd_keep_end(saltus_mpd_keeping *keeping);

/** Take what was kept of the job, if anything was: where it is, and what the sites hold, which is
 * added to contents. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_keep_take(const saltus_mpd_keeping *keeping,
                                                     bool *is_taken, saltus_mpd_position *at,
                                                     saltus_contents *contents, saltus_error *err);

#endif
