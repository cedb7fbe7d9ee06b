/** The parts of `saltus bench`: the verb (bench.c), one model timed in all ways (bench_case.c), the
 * papers' tables (bench_klingbeil.c, bench_sumiyoshi.c, bench_tables.c, bench_nobile.c,
 * bench_random.c, bench_space.c, bench_scaling.c, bench_balance.c, bench_links.c) and comparisons
 * of our own (bench_accuracy.c, bench_nsm.c, bench_rng.c, bench_unequal.c). It measures the library
 * from inside, so unlike other verbs it includes more of ours than the public header. */
#ifndef SALTUS_BENCH_H
#define SALTUS_BENCH_H

#include "cli/cli.h"
#include "bench/measure/baseline.h"
#include "bench/measure/totals.h"

/** One call of the verb. */
typedef struct saltus_bench {
    const char *name; /**< of the table */
    bool quick;       /**< a hundredth of the trajectories, each time once */
    double part;      /**< of the size of what lasts longest, above 0, up to 1 */
    int threads;      /**< of "all cores"; 0: one per core */
    const char *examples;
    const char *rng;           /**< random generator; NULL: the usual one */
    const char *cpu_layout;    /**< NULL: what the plan chooses */
    saltus_backend *cpu, *gpu; /**< gpu may be NULL … */
    char no_gpu[300];          /**< … and why */
    int n_gpus;                /**< that are here, 8 at most; 0: nobody asks */
    bool wants_samples;        /**< all come back from a GPU, else their sums, made there */
    bool has_failed;           /**< a check */
} saltus_bench;

/** One model while it is measured. */
typedef struct saltus_bench_case {
    saltus_bench *bench;
    const char *file; /**< name of the example or the model */
    saltus_model *model;
    double times[101]; /**< sample times */
    int n_points;
    int64_t n;                             /**< trajectories on a GPU and on all cores */
    double us_baseline, us_core, us_cores; /**< µs per trajectory */
    double rate_cores, rate_gpu;           /**< events/s, as last timed; 0: not at all */
    saltus_totals reference;               /**< of all cores; what others are checked against */
} saltus_bench_case;

/** How a GPU is to compute; 0 is what the plan chooses. */
typedef struct saltus_bench_gpu {
    const char *layout;
    int block, streams;
} saltus_bench_gpu;

/** What lasts longer is stopped: a few times a second progress is looked at. */
typedef struct saltus_bench_limit {
    double seconds;
    volatile int stop;
} saltus_bench_limit;
void saltus_bench_set_limit(saltus_bench_limit *limit, saltus_run_options *run);

/** An ensemble that is timed once. Its sample times begin at 0 and are evenly spaced. */
typedef struct saltus_bench_ensemble {
    const saltus_model *model;
    const saltus_backend *device;
    const char *method, *rng; /**< NULL: as a plan has it */
    int n_threads;
    double until;
    int n_times;
    int64_t first, n; /**< trajectories */
    double limit;     /**< s; 0: none */
} saltus_bench_ensemble;
/** Sums of its samples, and the time from the first trajectory's start to the last delivery, s; 0
 * when it lasted longer than the limit and was stopped. */
SALTUS_MUST_CHECK saltus_status saltus_bench_run(const saltus_bench_ensemble *e,
                                                 saltus_totals *totals, double *seconds,
                                                 saltus_error *err);

/** Read examples/FILE.yaml and time it to t_end by the baseline, one core and all cores, a line
 * each. Close the case whatever happens. */
SALTUS_MUST_CHECK saltus_status saltus_bench_open(saltus_bench *bench, const char *file,
                                                  double t_end, int64_t n, saltus_bench_case *c,
                                                  saltus_error *err);
/** The same with a model in YAML. */
SALTUS_MUST_CHECK saltus_status saltus_bench_open_text(saltus_bench *bench, const char *name,
                                                       const char *text, double t_end, int64_t n,
                                                       saltus_bench_case *c, saltus_error *err);
/** Take n trajectories from now on, and time all cores again. */
SALTUS_MUST_CHECK saltus_status saltus_bench_take(saltus_bench_case *c, int64_t n,
                                                  saltus_error *err);
/** Time a GPU and print a line, or one that says why not. *us is the kernel's time per trajectory;
 * 0 when there was none. */
SALTUS_MUST_CHECK saltus_status saltus_bench_time_gpu(saltus_bench_case *c, saltus_bench_gpu how,
                                                      double *us, saltus_error *err);
void saltus_bench_close(saltus_bench_case *c);

/** The first n GPUs. */
SALTUS_MUST_CHECK saltus_status saltus_bench_open_gpus(int n, saltus_backend **out,
                                                       saltus_error *err);

/** Of a JSON object, with a comma before it: a over b, null unless both are above 0. A time that is
 * the difference of two may be none on a busy machine; the member is there in any case. */
void saltus_bench_print_ratio(const char *name, double a, double b);

/** The tables. */
SALTUS_MUST_CHECK saltus_status saltus_bench_klingbeil_oregonator(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_klingbeil_models(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_klingbeil_copies(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_sumiyoshi_realisations(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_sumiyoshi_overlap(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_sumiyoshi_genes(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_sumiyoshi_tables(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_nobile_table1(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_nobile_table2(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_nobile_sweeps(saltus_bench *, saltus_error *);
/** Parts of the sweeps: Schlögl's X over time (figure 9), and from how many runs on a GPU is faster
 * than one core (figure 8). */
SALTUS_MUST_CHECK saltus_status saltus_bench_nobile_heat_map(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_nobile_break_even(saltus_bench *, saltus_error *);

SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_cells(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_scaling(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_particles(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_reactions(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_phases(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_balance(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_hallock_copy(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_lm_lattices(saltus_bench *, saltus_error *);

/** Comparisons of our own. */
SALTUS_MUST_CHECK saltus_status saltus_bench_rng(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_tau_accuracy(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_unequal(saltus_bench *, saltus_error *);
SALTUS_MUST_CHECK saltus_status saltus_bench_lm_nsm(saltus_bench *, saltus_error *);

#endif
