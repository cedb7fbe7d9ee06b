/**
 * The work of a run as its workers see it: the task that is the same for all of them, the jobs that
 * they take, the source that hands jobs out, and what comes back.
 */
#ifndef SALTUS_ENGINE_TASK_H
#define SALTUS_ENGINE_TASK_H

#include "core/status.h"
#include "core/tally.h"
#include "core/trace.h"
#include "engine/generator.h"
#include "engine/layout.h"
#include "kernel/base/sums.h"
#include "kernel/base/tables.h"
#include "kernel/ssa/state.h"
#include "method/method.h"

/** What was kept of a trajectory that was under way (engine/keep.h), or of one that had ended. */
typedef struct saltus_kept {
    int64_t trajectory;    /**< its number */
    int64_t n_samples;     /**< recorded so far */
    const int64_t *counts; /**< [n_samples][count], as in a job; likewise */
    const double *observables;
    const int64_t *splits[SALTUS_N_SPLITS];
    unsigned char *state; /**< [size] the method's */
    size_t size;
    bool is_complete;   /**< it had ended: it has all samples, its tally, and no state */
    saltus_tally tally; /**< of one that had ended */
} saltus_kept;

/** A trajectory to simulate. A device takes a million of them at a time, and to write what is not
 * needed of each takes longer than to simulate some models: so memory for samples is told when a
 * job is made of one. */
typedef struct saltus_ticket {
    int64_t trajectory;
    const double
        *point; /**< its row of numbers, model/freeze/point.h; NULL: those of the task's tables */
    const saltus_kept *kept; /**< NULL, or what an engine may start from instead of time 0 */
    void *block;             /**< the source's own */
    int32_t place;           /**< in the block, likewise */
    bool is_reduced; /**< out: its samples are in the partial result it is handed over with */
} saltus_ticket;

/** A ticket's trajectory and where its samples go. */
typedef struct saltus_job {
    int64_t trajectory;
    const double *point;
    const saltus_kept *kept;
    void *block;
    int64_t place;
    int64_t *counts;     /**< [point][count]; reduced: [count] at the last point, or nothing */
    double *observables; /**< [point][observable]; reduced: likewise */
    int64_t *splits[SALTUS_N_SPLITS]; /**< [point][part][count], if the task's space wants them */
    double *derived;                  /**< [quantity] of the task's derivation, or NULL */
    saltus_tally tally;               /**< out: what was counted; 0 at first */
    const int64_t *rest; /**< out: [point][count] of a trajectory that done() is to reduce */
    const double *rest_observables; /**< out: its [point][observable] */
} saltus_job;

/** Saves trajectories that are under way. */
typedef struct saltus_saver {
    void *user;
    /** Copy a job's first n_samples samples, and the state there; job->kept is then this copy.
     * Without a state the job has ended: it has all samples, and its tally. Any thread may call. */
    void (*save)(void *user, saltus_job *job, int64_t n_samples, const void *state, size_t size);
} saltus_saver;

/** What a sink makes of samples, when it does not need them: their sums, and maybe more. */
typedef struct saltus_reduction {
    bool finals;         /**< every trajectory's sample at the last point */
    int64_t n_bins;      /**< of histograms of counts; 0: none */
    const double *edges; /**< [n_bins + 1]; NULL: bins that the data define, ensemble/histogram.h */
} saltus_reduction;

/** What a backend made of the samples of some trajectories; valid until it is handed over. */
typedef struct saltus_partial {
    saltus_tally tally;         /**< what was counted in them */
    const saltus_sum *sums;     /**< [point][count] */
    const uint64_t *real_sums;  /**< [point][observable][SALTUS_EXACT_WORDS] */
    const double *least, *most; /**< [point][observable] */
    uint8_t *shifts;            /**< [point][count] and what follows: a saltus_histogram's */
    uint64_t *bins, *below, *above;
} saltus_partial;

/** Where a worker's jobs come from and go to; its functions may be called from any thread. */
typedef struct saltus_source {
    void *user;
    /** The next tickets, at most `max`. Returns their number. 0: none at present, or, with `wait`,
     * none ever again. With `wait` it blocks while there may be more. */
    int (*take)(void *user, saltus_ticket *tickets, int max, bool wait);
    /** The job of a ticket that is neither done nor reduced. */
    saltus_job (*open)(void *user, const saltus_ticket *ticket);
    /** The samples of jobs[n] of one block are complete. Not SALTUS_OK: stop working and return it.
     * A job that done() is to reduce comes alone. */
    saltus_status (*done)(void *user, const saltus_job *jobs, int n, saltus_error *err);
    /** Of tickets[n], which are those of one block that one call of `take` gave, the marked ones
     * have ended, and `partial` is made of their samples; done() is not called for them. */
    saltus_status (*reduced)(void *user, const saltus_ticket *tickets, int n,
                             const saltus_partial *partial, saltus_error *err);
} saltus_source;

/** A ticket's job, without memory for samples. */
static inline saltus_job saltus_ticket_job(const saltus_ticket *ticket)
{
    return (saltus_job){.trajectory = ticket->trajectory,
                        .point = ticket->point,
                        .kept = ticket->kept,
                        .block = ticket->block,
                        .place = ticket->place};
}

/** source->take with jobs. */
int saltus_source_take(const saltus_source *source, saltus_job *jobs, int max, bool wait);

/** What a run on a lattice records beside totals; engine/record.h serves it. */
typedef struct saltus_recording {
    const int32_t *column_of;     /**< [species] its column of counts, or -1 */
    int n_parts[SALTUS_N_SPLITS]; /**< 0: not wanted */
    int axis;                     /**< of the planes */
    const double *frame_times;    /**< [n_frames] */
    int64_t n_frames;             /**< 0: none are wanted */
    const saltus_sink *sink;      /**< of frames */
} saltus_recording;

/** One run, the same for all its workers. */
typedef struct saltus_task {
    const struct saltus_model *model; /**< for names in messages */
    const saltus_tables *tables;
    const saltus_columns *columns;
    const uint8_t *varies; /**< [number of a row] whether it is not the same at all points; NULL:
                                jobs have no rows */
    const double *largest; /**< [number of a row] of all points; NULL likewise */
    const saltus_generator *generator;
    saltus_method method;
    const double *amounts; /**< [species] at time 0, of method ode, whose counts are real and
                                stand in rows as such; NULL: counts are whole */
    const saltus_tau *tau; /**< how the method leaps; NULL: it does not */
    const saltus_tolerance *tolerance; /**< how continuous variables are integrated; NULL:
                                                   there are none */
    const double *slabs; /**< [n_slabs] planes along z of each device's part, relative to others */
    int n_slabs;         /**< 0 or 1: a device has all */
    struct saltus_peers *peers; /**< NULL, or the processes that have a slab each, engine/peers.h */
    bool avoids_peers;          /**< slabs exchange particles by way of the host */
    bool balances_slabs;        /**< planes go to slabs that are soon done */
    saltus_run_report *report;  /**< of slabs: how particles cross; shared by the workers: how far
                                     slabs' ends have moved (atomic +) */
    saltus_recording space;     /**< what is recorded of a lattice beside totals */
    uint64_t seed;
    const double *times; /**< [n_times] */
    int64_t n_times;
    int n_threads;   /**< of the host that each worker may use */
    int64_t share;   /**< trajectories that a worker can expect; with a reduction, at a time */
    int64_t segment; /**< of them of one block and one point, at most */
    const saltus_reduction *reduction;          /**< NULL: every sample is wanted */
    const struct saltus_derivation *derivation; /**< NULL: no quantities are wanted */
    const int *stop; /**< becomes non-zero when workers are to give up; read atomically */
    int *pause;      /**< this worker's: 1 when it is to hand over to the saver what it has under
                          way, also before it gives up; other values are those of engine/keep.h
                          and of who asks; atomic. NULL: there is no saver */
    const saltus_saver *saver;
    saltus_layout layout;
    int block;               /**< threads of a block on a device; 0: as the layout chooses */
    int64_t n_expected;      /**< trajectories of a run, by which a layout is made; 0: very many */
    int64_t *kernel_ns;      /**< shared by the workers: time of kernels on devices (atomic +) */
    int64_t *ended;          /**< shared by the workers: trajectories that have ended on devices and
                                  are not handed over yet, for progress (atomic) */
    saltus_reached *reached; /**< this worker's, or NULL; for progress */
    saltus_tracer *tracer;   /**< NULL: the run is not traced */
    int worker;              /**< which of the run's workers this task is for */
    const double **failed;   /**< out, shared: the row of a trajectory that failed (atomic) */
    uint8_t *rounded; /**< [setting], shared by the workers: a value was rounded (atomic or) */
} saltus_task;

/** Of a job that no device has reduced: set the task's derived quantities and, with a reduction,
 * its last sample and `rest`, from counts[point][count] and observables[point][observable], which
 * are to stay. */
void saltus_job_reduce(const saltus_task *task, saltus_job *job, const int64_t *counts,
                       const double *observables);

#endif
