/**
 * @file
 * Runs: independent trajectories of a plan, whose samples go to a sink. What a run will take, and
 * what is best done with it, is told beforehand. saltus.h includes this header.
 */
#ifndef SALTUS_SALTUS_RUN_H
#define SALTUS_SALTUS_RUN_H

#include <saltus/saltus_plan.h>
#include <saltus/saltus_ranks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Samples and where they go
 */

/** How the recorded species of a lattice are counted beside their totals. */
typedef enum saltus_split {
    SALTUS_BY_TYPE,  /**< in each type of sites */
    SALTUS_BY_PLANE, /**< in each plane of the profile's axis */
    SALTUS_N_SPLITS
} saltus_split;

/** What the sites of a lattice hold at one time of one trajectory: entries in any order; a pair of
 * site and species may stand in several, whose counts add up. Valid until the sink returns. */
typedef struct saltus_frame {
    int64_t trajectory;       /**< its number */
    int64_t number;           /**< of saltus_run_options.frame_times */
    int64_t n;                /**< entries */
    const int64_t *site;      /**< [n] x + size_x (y + size_y z) */
    const uint16_t *species;  /**< [n] */
    const int32_t *count;     /**< [n] */
    const int32_t *column_of; /**< [species] its column of counts; -1: it is not recorded */
} saltus_frame;

struct saltus_run_options;

/** A read-only view of the samples of some trajectories, valid until the sink returns. */
typedef struct saltus_block {
    const int64_t *trajectories; /**< [n_trajectories] their numbers, rising; consecutive except
                                      in the last block of an interrupted run */
    int64_t n_trajectories;      /**< at least 1 */
    int64_t n_points;            /**< samples per trajectory */
    int n_counts;                /**< recorded species */
    int n_observables;           /**< recorded real values */
    const int64_t *counts;       /**< [trajectory][point][count] molecules, C order */
    const double *observables;   /**< [trajectory][point][observable]; NULL when there are none */
    const struct saltus_reduced *reduced; /**< NULL, but for sinks with a reduction: then counts
                                               are the last point's, n_points 1, or none, 0 */
    const double *derived;                /**< NULL, or for sinks with a derivation, what a device
                                               has made: [trajectory][quantity] */
    int64_t events;                       /**< reactions that fired in them */
    int64_t first;                        /**< how many trajectories of the run come before */
    /** On a lattice, as the plan's options ask: [trajectory][point][part][count] */
    const int64_t *splits[SALTUS_N_SPLITS];
    int n_parts[SALTUS_N_SPLITS]; /**< types, planes; 0: not recorded, and the pointer is NULL */
    bool is_behind_gap; /**< trajectories are missing before it, or its events are not known: a file
                             of it is gone on with from before it */
} saltus_block;

/**
 * Where samples go. prepare may be NULL; it is called for every block on the thread that finished
 * it, many at once and in any order, and may leave a result in *prepared (compressed chunks,
 * partial sums). deliver is called for every block by rising trajectory number, one call at a
 * time, with what prepare left; it owns that and must free it, also when it fails. If a run ends
 * early, discard (may be NULL when prepare is) frees what was prepared and never delivered.
 * A status other than SALTUS_OK from either stops the run, which returns it.
 *
 * frame may be NULL: then no frames of a lattice are made. It is called on the thread that
 * simulates for every frame as soon as it is there, many at once, also beside prepare and deliver;
 * frames of a trajectory rise, and come before its block. A status other than SALTUS_OK stops the
 * run.
 *
 * A sink may wish for blocks of a certain size: then every block but the last has exactly
 * block_trajectories of them, so that block b starts at first_trajectory + b * block_trajectories.
 */
typedef struct saltus_sink {
    void *user;                                 /**< handed to every function */
    int64_t block_trajectories;                 /**< 0: blocks of any size */
    const struct saltus_reduction *reduction;   /**< NULL: the sink needs every sample; only the
                                                     library's own know how to do without */
    const struct saltus_derivation *derivation; /**< quantities of every trajectory; likewise */
    /** NULL, or called for a block on the thread that finished it; it may set *prepared. */
    saltus_status (*prepare)(void *user, const saltus_block *block, void **prepared,
                             saltus_error *err);
    /** Called for a block in its turn; it owns what was prepared. */
    saltus_status (*deliver)(void *user, const saltus_block *block, void *prepared,
                             saltus_error *err);
    /** Free what was prepared and is not delivered; may be NULL when prepare is. */
    void (*discard)(void *user, void *prepared);
    /** NULL, or called for a frame of a lattice as soon as it is there. */
    saltus_status (*frame)(void *user, const saltus_frame *frame, saltus_error *err);
    /** NULL, or called before a checkpoint is put in place, on a thread of its own: what came
     * before is to survive the process. */
    saltus_status (*flush)(void *user, saltus_error *err);
    /** NULL, or called between two deliveries: what it has had so far, as bytes that are to be kept
     * with what is under way; only the library's own know how to go on from them. */
    saltus_status (*store)(void *user, void **bytes, size_t *size, saltus_error *err);
    /** NULL, or called before a run simulates anything, on the thread that called saltus_run: what
     * is going to come. A status other than SALTUS_OK is the run's. */
    saltus_status (*begin)(void *user, const saltus_plan *plan,
                           const struct saltus_run_options *options, saltus_error *err);
} saltus_sink;

/* ------------------------------------------------------------------------------------------------
 * Runs
 */

/** How far a run is; passed to the progress callback. */
typedef struct saltus_progress {
    int64_t trajectories; /**< finished */
    int64_t total;        /**< of the run */
    int64_t events;  /**< also of trajectories under way, where these are told; on GPUs when a batch
                          has ended */
    double seconds;  /**< since the run started */
    double fraction; /**< 0 to 1: the simulated time behind all trajectories, under way or finished,
                          over the whole of it; on a GPU, without a lattice, of finished ones alone.
                          Never falls */
    double until;    /**< the last sample's time; a single trajectory is at fraction * until */
} saltus_progress;

/** Where a span of time belongs: a GPU's stream, a worker on the host, or the sink's deliveries; or
 * whose value it is that is told: a slab's of a lattice. */
typedef enum saltus_track {
    SALTUS_TRACK_GPU = 0,
    SALTUS_TRACK_WORKER,
    SALTUS_TRACK_WRITER,
    SALTUS_TRACK_SLAB
} saltus_track;

/** Something that took its time in a run: "kernel", "reduce" and "copy" on a GPU, "work" and "hand
 * over" of a worker, and within the latter "run again", a trajectory that the GPU gave up;
 * "deliver" of the sink. Of a slab, each time that times are taken: "planes", "us per step" (of
 * these) and "step", the number of the one that was timed. */
typedef struct saltus_span {
    const char *name;   /**< constant */
    saltus_track track; /**< where it belongs */
    int worker;         /**< whose, from 0; a GPU's worker has a stream; 0 for deliveries */
    double start;       /**< seconds since the run started */
    double seconds;     /**< how long it took */
    double value;       /**< of a slab, from `start` on */
} saltus_span;

/** A file that holds trajectories that are under way, so that a run that ends early goes on with
 * them. */
typedef struct saltus_checkpoint saltus_checkpoint;

/**
 * Take a file for checkpoints, and what another run has left in it. While a run lasts, the file is
 * replaced at intervals by a newer one, at once; each is whole or not there. Where trajectories
 * take less than a sixtieth of the interval nothing is written at intervals, as they are soon
 * simulated again. A
 * file that is damaged, or of another identity, is not used, and the run warns of it.
 *
 * @param path     of the file, which need not be there
 * @param identity text of what trajectories are functions of: model, method, seed, times, columns
 * @param seconds  between two checkpoints, above 0; 60 is usual
 * @param fresh    forget what the file has: the run begins anew
 * @param[out] out to be closed with saltus_checkpoint_close
 * @param err      see saltus_error
 * @retval SALTUS_OK            it is taken
 * @retval SALTUS_E_INVALID     the interval is out of its range, or an argument is NULL
 * @retval SALTUS_E_IO          the file is there and cannot be read, or is not a checkpoint's
 * @retval SALTUS_E_UNAVAILABLE the library was built without zlib
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_checkpoint_open(const char *path,
                                                                  const char *identity,
                                                                  double seconds, bool fresh,
                                                                  saltus_checkpoint **out,
                                                                  saltus_error *err);
/**
 * Free it.
 *
 * @param checkpoint may be NULL
 * @param keep       leave the file for a run that goes on; else it is removed
 */
SALTUS_API void saltus_checkpoint_close(saltus_checkpoint *checkpoint, bool keep);

/** What to simulate. Start from saltus_run_options_default(), so new fields keep their defaults. */
typedef struct saltus_run_options {
    uint64_t seed; /**< any value (mrg32k3a refuses seven); equal seeds give equal samples */
    int64_t
        first_trajectory;   /**< number of the first trajectory, >= 0; > 0 extends an earlier run */
    int64_t n_trajectories; /**< at least 1 */
    int64_t n_done;         /**< of these, how many of the lowest numbers a sink has had before:
                                 they are not simulated again, and the report is of the others */
    saltus_checkpoint *checkpoint; /**< NULL, or where trajectories that are under way are kept, and
                                        come from; of this run alone */
    const double *times;       /**< [n_times] sample times, rising, >= 0; every run starts at 0 */
    int64_t n_times;           /**< at least 1; the run ends at the last */
    const double *frame_times; /**< [n_frames] of a lattice: when to hand frames to the sink,
                                  rising, between 0 and the last sample's time */
    int64_t n_frames;          /**< of frame_times; 0: no frames */
    saltus_ranks *ranks;       /**< NULL, or what other processes simulate with this one: each of
                                    them calls saltus_run with the same plan, rank 0 alone with a
                                    sink */
    const volatile int *stop;  /**< NULL, or set to non-zero (from a signal handler, say) to stop */
    void (*progress)(void *user, const saltus_progress *progress); /**< NULL, or called a few times
                                                                        a second, from one thread */
    void *progress_user;                                           /**< handed to progress */
    void (*warn)(void *user, const char *sentence);     /**< NULL, or called for what a user should
                                                             know of this run, one call at a time: a GPU
                                                             that was lost, rounded amounts, time that
                                                             stands still */
    void *warn_user;                                    /**< handed to warn */
    void (*trace)(void *user, const saltus_span *span); /**< NULL, or called when a span has passed,
                                                             from any thread, one call at a time */
    void *trace_user;                                   /**< handed to trace */
} saltus_run_options;
/**
 * Give the usual options.
 *
 * @return one trajectory of seed 1; times are still to be given
 */
SALTUS_API saltus_run_options saltus_run_options_default(void);

/** What a run did. */
typedef struct saltus_run_report {
    int64_t trajectories;  /**< delivered to the sink */
    int64_t events;        /**< reactions that fired in them */
    double seconds;        /**< from the first trajectory's start to the last delivery */
    double kernel_seconds; /**< of kernels on GPUs, summed over streams; 0 on the CPU */
    int64_t leaps;         /**< of tau-leaping in them, */
    int64_t exact_steps;   /**< and exact steps between leaps */
    int64_t planes_moved;  /**< of a lattice in slabs: how far their ends have moved, so that they
                                take as long as each other */
    int64_t halo_bytes;    /**< and what crosses between GPUs in a step, of all slabs, */
    double halo_wait; /**< the part of their time that blocks of threads beside another GPU's slab
                           waited for it, 0 to 1; negative: slabs do not run at once */
    const char
        *halo_path; /**< by "peer" memory or the "host", or on the "same GPU"; NULL: no slabs */
    int64_t moves;  /**< of the next-subvolume method in them: jumps of particles between
                         sites, into and out of the lattice */
    int lost_gpu;   /**< 1 + N of the GPU cuda:N that was the first to fail with SALTUS_E_DEVICE,
                         mostly the one at fault; 0: none, or one of those that have a slab each */
} saltus_run_report;

/** Which runs have a counter to report. */
typedef enum saltus_counted {
    SALTUS_IN_ALL,   /**< all have */
    SALTUS_IN_LEAPS, /**< those of a method that leaps */
    SALTUS_IN_SLABS, /**< those of a lattice that is cut into slabs */
    SALTUS_IN_SOME   /**< those in which it is above 0 */
} saltus_counted;

/** The counters among the members of saltus_run_report, as X(name, which runs have it). What adds
 * them up and what prints them goes by this list. */
#define SALTUS_COUNTERS(X)           \
    X(events, SALTUS_IN_ALL)         \
    X(leaps, SALTUS_IN_LEAPS)        \
    X(exact_steps, SALTUS_IN_LEAPS)  \
    X(planes_moved, SALTUS_IN_SLABS) \
    X(moves, SALTUS_IN_SOME)

/**
 * Simulate independent trajectories and hand their samples to a sink. Returns when all are
 * delivered, or the first failure or the wish to stop has been heeded.
 *
 * @param plan        compiled model, not changed: several threads may run it at once
 * @param options     seed, numbers of trajectories, sample times in the model's unit
 * @param sink        stays the caller's
 * @param[out] report filled also when the run ends early; may be NULL
 * @param err         see saltus_error
 * @retval SALTUS_OK          every sample was delivered
 * @retval SALTUS_E_INVALID   an option is out of its range; nothing was delivered
 * @retval SALTUS_E_CANCELLED *stop became non-zero; every finished trajectory was delivered
 * @retval SALTUS_E_NUMERIC   overflow, a negative count, a NaN or negative propensity: the message
 *                            names trajectory, time, reaction and state; all finished
 *                            trajectories were delivered
 * @retval SALTUS_E_DEVICE    a GPU or its driver failed; every finished trajectory was delivered.
 *                            After that the driver serves this process on no GPU, the others
 *                            neither: what is left is for a CPU, or for another process
 * @retval SALTUS_E_NO_MEMORY memory ran out
 * @return else what the sink returned
 *
 * Direct method: Gillespie, J. Phys. Chem. 81 (1977) 2340, doi:10.1021/j100540a008. On a lattice,
 * by the next-subvolume method: Elf & Ehrenberg, Syst. Biol. 1 (2004) 230, doi:10.1049/sb:20045021.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_run(const saltus_plan *plan,
                                                      const saltus_run_options *options,
                                                      const saltus_sink *sink,
                                                      saltus_run_report *report, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Before a run
 */

/** What a choice of method goes by. */
typedef struct saltus_method_choice {
    const char *method; /**< "direct" or "tau"; of a model with a lattice "mpd" */
    char why[200];      /**< one sentence */
} saltus_method_choice;

/**
 * Choose between the exact method and tau-leaping: leaps where they are several times faster, and
 * no event watches the state. This is what method "auto" means, in a plan and in the command; it is
 * never taken unless it is named. A pilot of two trajectories of fixed numbers and seed leaps from
 * time 0 until it has seen enough; its reactions, leaps and exact steps are compared with
 * constants. No time is measured, and no end, sample times or number of trajectories are looked at,
 * so the choice is the same on every machine and for every run of a model.
 *
 * @param model   frozen
 * @param options the plan's; epsilon and the like are the pilot's too; NULL: the usual ones
 * @return the method and the reason
 */
SALTUS_API saltus_method_choice saltus_method_choose(const saltus_model *model,
                                                     const saltus_plan_options *options);

/** What a run is expected to take. */
typedef struct saltus_forecast {
    double n;         /**< reactions of all trajectories; by nsm jumps, by mpd steps; by ode and
                           hybrid trajectories */
    const char *of;   /**< "reactions", "jumps", "steps", "trajectories"; of 1 "trajectory" */
    double seconds;   /**< 0: nothing is known */
    char advice[300]; /**< what would help: options, as in saltus_error, separated by commas */
} saltus_forecast;

/**
 * Reckon what a run will take, roughly: from a pilot of at most about half a second, which looks
 * ahead by leaps, or from the steps of a lattice, and constants that were measured. Changes nothing
 * about the run.
 *
 * @param plan what is to run
 * @param run  its options
 * @return roughly what to expect; of a run whose options are wrong nothing is known
 */
SALTUS_API saltus_forecast saltus_run_forecast(const saltus_plan *plan,
                                               const saltus_run_options *run);

/**
 * Open the backend that will be done first with a run: the CPU, or all of "cuda" if that is here
 * and the run is long enough. How much there is to simulate is found out by simulating a part of
 * the first trajectory; what that takes on either, from constants that were measured. Nothing but
 * the time that a run takes depends on the choice. saltus_plan_explain tells the reason.
 *
 * @param model    frozen
 * @param options  of the plan to be made; NULL: the usual ones. A layout, block or number of
 * streams that one backend alone has decides
 * @param run      of its times the last is looked at
 * @param[out] out to be closed with saltus_backend_close
 * @param err      see saltus_error
 * @retval SALTUS_OK          it is open
 * @retval SALTUS_E_INVALID   the model is not frozen, or an argument is NULL
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_backend_choose(const saltus_model *model,
                                                                 const saltus_plan_options *options,
                                                                 const saltus_run_options *run,
                                                                 saltus_backend **out,
                                                                 saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
