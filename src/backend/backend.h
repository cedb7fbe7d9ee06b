/**
 * What a backend fills in. The ensemble sees nothing else of it.
 */
#ifndef SALTUS_BACKEND_BACKEND_H
#define SALTUS_BACKEND_BACKEND_H

#include "backend/layout.h"
#include "engine/generator.h"
#include "core/handle.h"
#include "core/status.h"
#include "core/trace.h"
#include "kernel/base/reduce.h"
#include "kernel/ssa/state.h"
#include "kernel/base/tables.h"
#include "method/method.h"

/** A trajectory to simulate and where its samples go. */
typedef struct saltus_job {
    int64_t trajectory;
    const double
        *point; /**< its row of numbers, model/freeze/point.h; NULL: those of the task's tables */
    int64_t *counts;     /**< [point][count]; reduced: [count] at the last point, or nothing */
    double *observables; /**< [point][observable]; reduced: there are none */
    int64_t *splits[SALTUS_N_SPLITS]; /**< [point][part][count], if the task's space wants them */
    double *derived;                  /**< [quantity] of the task's derivation, or NULL */
    int64_t events;                   /**< out: reactions that fired */
    int64_t leaps;                    /**< out, of a method that leaps: leaps, */
    int64_t exact_steps;              /**< and exact steps between them */
    int64_t moves;                    /**< out, of the next-subvolume method: jumps of particles */
    bool is_reduced;     /**< out: its counts are in the partial result it is handed over with */
    const int64_t *rest; /**< out: [point][count] of a trajectory that done() is to reduce */
    void *block;         /**< the source's own */
} saltus_job;

/** What a sink makes of counts, when it needs no samples: their sums, and maybe more. */
typedef struct saltus_reduction {
    bool finals;         /**< the counts of every trajectory at the last point */
    int64_t n_bins;      /**< of histograms; 0: none */
    const double *edges; /**< [n_bins + 1]; NULL: bins that the data define, ensemble/histogram.h */
} saltus_reduction;

/** What a backend made of the counts of some trajectories; valid until it is handed over. */
typedef struct saltus_partial {
    const saltus_sum *sums; /**< [point][count] */
    uint8_t *shifts;        /**< [point][count] and what follows: a saltus_histogram's */
    uint64_t *bins, *below, *above;
} saltus_partial;

/** Where a worker's jobs come from and go to; its functions may be called from any thread. */
typedef struct saltus_source {
    void *user;
    /** The next jobs, at most `max`. Returns their number. 0: none at present, or, with `wait`,
     * none ever again. With `wait` it blocks while there may be more. */
    int (*take)(void *user, saltus_job *jobs, int max, bool wait);
    /** A job's samples are complete. Not SALTUS_OK: stop working and return it. */
    saltus_status (*done)(void *user, const saltus_job *job, saltus_error *err);
    /** Of jobs[n], which are those of one block that one call of `take` gave, the marked ones have
     * ended, and `partial` is made of their counts; done() is not called for them. */
    saltus_status (*reduced)(void *user, const saltus_job *jobs, int n,
                             const saltus_partial *partial, saltus_error *err);
} saltus_source;

/** What a run on a lattice records beside totals; engine/record.h serves it. */
typedef struct saltus_recording {
    const int32_t *column_of;     /**< [species] its column of counts, or -1 */
    int n_parts[SALTUS_N_SPLITS]; /**< 0: not wanted */
    int axis;                     /**< of the planes */
    const double *frame_times;    /**< [n_frames] */
    int64_t n_frames;             /**< 0: none are wanted */
    const saltus_sink *sink;      /**< of frames */
} saltus_recording;

/** Of a lattice. */
enum { SALTUS_MOST_SLABS = 64 };

/** One run, the same for all its workers. */
typedef struct saltus_task {
    const struct saltus_model *model; /**< for names in messages */
    const saltus_tables *tables;
    const saltus_columns *columns;
    const uint8_t *varies; /**< [number of a row] whether it is not the same at all points; NULL:
                                jobs have no rows */
    const saltus_generator *generator;
    saltus_method method;
    const saltus_tau *tau; /**< how the method leaps; NULL: it does not */
    const double *slabs; /**< [n_slabs] planes along z of each device's part, relative to others */
    int n_slabs;         /**< 0 or 1: a device has all */
    bool avoids_peers;   /**< slabs exchange particles by way of the host */
    bool balances_slabs; /**< planes go to slabs that are soon done */
    saltus_run_report *report; /**< of slabs: how particles cross */
    int64_t *planes_moved;  /**< shared by the workers: how far slabs' ends have moved (atomic +) */
    saltus_recording space; /**< what is recorded of a lattice beside totals */
    uint64_t seed;
    const double *times; /**< [n_times] */
    int64_t n_times;
    int n_threads;   /**< of the host that each worker may use */
    int64_t share;   /**< trajectories that a worker can expect; with a reduction, at a time */
    int64_t segment; /**< of them in a block, at most */
    const saltus_reduction *reduction;          /**< NULL: every sample is wanted */
    const struct saltus_derivation *derivation; /**< NULL: no quantities are wanted */
    const int *stop; /**< becomes non-zero when workers are to give up; read atomically */
    saltus_layout layout;
    int block;               /**< threads of a block on a device; 0: as the layout chooses */
    int64_t *kernel_ns;      /**< shared by the workers: time of kernels on devices (atomic +) */
    int64_t *ended;          /**< shared by the workers: trajectories that have ended on devices and
                                  are not handed over yet, for progress (atomic) */
    saltus_reached *reached; /**< this worker's, or NULL; for progress */
    saltus_tracer *tracer;   /**< NULL: the run is not traced */
    int worker;              /**< which of the run's workers this task is for */
    const double **failed;   /**< out, shared: the row of a trajectory that failed (atomic) */
    uint8_t *rounded; /**< [setting], shared by the workers: a value was rounded (atomic or) */
} saltus_task;

/** What is to be simulated and how: what a backend goes by when it chooses a layout, compiles, and
 * reckons how long it will take. */
typedef struct saltus_setup {
    saltus_method method;
    const saltus_model *model;   /**< frozen */
    const saltus_tables *tables; /**< the model's, or such with other numbers */
    const saltus_generator *generator;
    const saltus_columns *columns;
    saltus_layout layout; /**< for choose_layout what is wanted */
    int block, n_streams; /**< on a GPU; 0: as is usual */
    bool in_slabs;        /**< a lattice is to be cut */
    int n_slabs;          /**< in so many, once they are chosen */
} saltus_setup;

/** Slabs of a lattice as a plan has them. */
typedef struct saltus_slab_plan {
    const double *heights; /**< [n] relative */
    int n;
    bool move;    /**< planes do, to slabs that are soon done */
    bool by_host; /**< particles go, also where devices reach each other's memory */
} saltus_slab_plan;

typedef struct saltus_backend_ops {
    const char *name;
    unsigned kind;    /**< SALTUS_ON_…: whose layouts it has, backend/layout.h */
    unsigned methods; /**< SALTUS_METHOD_BIT of each that it simulates by */
    /** Whether `specification` names this backend; if it cannot run here, `why` says so. */
    bool (*claims)(const char *specification);
    saltus_status (*open)(const char *specification, struct saltus_backend *backend,
                          saltus_error *err);
    void (*close)(struct saltus_backend *backend);
    /** Print what is here, a line each. */
    void (*list)(FILE *out);
    /** Check the layout that is wanted, or choose one, and say why. */
    saltus_status (*choose_layout)(const struct saltus_backend *backend, const saltus_setup *setup,
                                   saltus_layout *layout, char why[200], saltus_error *err);
    /** How many slabs of a lattice are soonest done on all devices; NULL: it takes none. */
    int (*choose_slabs)(const struct saltus_backend *backend, const struct saltus_lattice *lattice);
    /** Print which device has which slab, and how they reach each other. */
    void (*explain_slabs)(const struct saltus_backend *backend,
                          const struct saltus_lattice *lattice, const saltus_slab_plan *slabs,
                          FILE *out);
    /** Bytes of samples that may be simulated ahead of their delivery; 0: what is usual. */
    int64_t ahead_bytes;
    /** It takes tasks with a derivation, with a reduction if there are no observables, and jobs of
     * many points. */
    bool reduces;
    /** 0: nothing here can run. */
    int (*n_workers)(const struct saltus_backend *backend, const saltus_plan_options *wanted);
    /** Seconds that a run takes, roughly, from constants that were measured: of n_trajectories with
     * so many of the method's steps each. Serves to choose between backends and to forecast. */
    double (*estimate)(const struct saltus_backend *backend, const saltus_setup *setup,
                       int n_workers, double n_trajectories, double steps_each);
    /** Compile the kernel and tell what it takes; NULL: there are none. */
    saltus_status (*compile)(const struct saltus_backend *backend, const saltus_setup *setup,
                             saltus_kernel_report *out, saltus_error *err);
    /** Work off jobs on this thread until there are no more. */
    saltus_status (*work)(const struct saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err);
} saltus_backend_ops;

struct saltus_backend {
    saltus_handle handle;
    const saltus_backend_ops *ops;
    const void *device; /**< the backend's own */
    char name[40];
    char why[160]; /**< why it was chosen, or "" */
};

extern const saltus_backend_ops saltus_backend_cpu, saltus_backend_cuda;

#endif
