/** The parts of saltus-bench: the program and its list (main.c), tables that are data (table.c),
 * lines of JSON (line.c), ensembles and models that are timed (ensemble.c, case.c), lattices that
 * are timed (lattices.c), and a file for each kind of benchmark. It measures the library from
 * inside, so it includes more of ours than the public header. */
#ifndef SALTUS_BENCH_H
#define SALTUS_BENCH_H

#include "bench/measure/totals.h"

/** One benchmark while it runs. */
typedef struct bench {
    const char *name;
    bool quick;  /**< a hundredth of the trajectories, each time once */
    double part; /**< of the size of what lasts longest, above 0, up to 1 */
    int threads; /**< of "all cores"; 0: one per core */
    const char *examples;
    const char *model;         /**< of several models this alone; NULL: all */
    double until;              /**< of such a model, its time; 0: what the benchmark takes */
    saltus_backend *cpu, *gpu; /**< gpu may be NULL … */
    char no_gpu[300];          /**< … and why */
    int n_gpus;                /**< that are here, 8 at most; 0: nobody asks */
    bool is_in_line;           /**< a line has begun and not ended */
    bool has_failed;           /**< a check */
} bench;

/* ------------------------------------------------------------------------------------------------
 * Lines: every result is a JSON object on a line of its own
 */

typedef enum bench_kind {
    BENCH_END, /**< behind the last field */
    BENCH_NONE,
    BENCH_TEXT,
    BENCH_INTEGER,
    BENCH_REAL,
    BENCH_TRUTH
} bench_kind;

typedef struct bench_field {
    const char *name;
    bench_kind kind;
    const char *text;
    int64_t integer;
    double real; /**< printed as null when it is not finite */
} bench_field;

bench_field bench_text(const char *name, const char *x);
bench_field bench_integer(const char *name, int64_t x);
bench_field bench_real(const char *name, double x);
bench_field bench_truth(const char *name, bool x);

/** A field of a line; its kind follows from the type of x. */
#define FIELD(name, x) \
    _Generic((x),                                                                                  \
        char *: bench_text,                                                                        \
        const char *: bench_text,                                                                  \
        bool: bench_truth,                                                                         \
        float: bench_real,                                                                         \
        double: bench_real,                                                                        \
        default: bench_integer)(name, x)
/** A field that is left out unless the condition holds. */
#define FIELD_IF(condition, name, x) \
    ((condition) ? FIELD(name, x) : (bench_field){.kind = BENCH_NONE})

/** Add fields to the line; the first call begins it, with the benchmark's name. */
#define bench_put(b, ...) \
    bench_put_fields(b, (const bench_field[]){__VA_ARGS__, {.kind = BENCH_END}})
void bench_put_fields(bench *b, const bench_field *fields);
/** End the line with the verdict on what was computed, or with why it was not, or as it is. */
void bench_end_checked(bench *b, bool is_right);
void bench_end_skipped(bench *b, const char *why);
void bench_end(bench *b);

/** a over b; not a number, which is printed as null, unless both are above 0. A time that is the
 * difference of two may be none on a busy machine; the field is there in any case. */
double bench_ratio(double a, double b);
/** "gpu" or "cores". */
const char *bench_engine(const bench *b, const saltus_backend *device);

/* ------------------------------------------------------------------------------------------------
 * Tables: papers/NAME.csv, which are parts of this program
 */

/** A table, and the row that is looked at. Lines that begin with # are comments; the first other
 * line names the columns. */
typedef struct bench_table {
    char *text;         /**< its own copy, cut into cells */
    const char **cells; /**< [row][column]; the names of columns are row 0 */
    int n_rows, n_columns, row;
} bench_table;

/** Open papers/NAME.csv before its first row. Close it whatever happens. */
SALTUS_MUST_CHECK saltus_status bench_table_open(const char *name, bench_table *t,
                                                 saltus_error *err);
void bench_table_close(bench_table *t);
/** Go to the next row; false: there is none. */
bool bench_next(bench_table *t);
/** A cell of this row, "" or 0 when it is empty or there is no such column. */
const char *bench_cell(const bench_table *t, const char *column);
double bench_number(const bench_table *t, const char *column);
int64_t bench_whole(const bench_table *t, const char *column);
/** The number of column `name`, or of quick_NAME in a quick benchmark. */
double bench_sized(const bench *b, const bench_table *t, const char *name);

/** Do the same with each row of papers/NAME.csv, up to the first failure. */
SALTUS_MUST_CHECK saltus_status bench_each_row(bench *b, const char *name,
                                               saltus_status (*act)(bench *b, const bench_table *t,
                                                                    saltus_error *err),
                                               saltus_error *err);

enum { BENCH_WORD = 40 };
/** Take the next of some words with spaces between them; *at is NULL after the last. Of no words
 * the first is "". */
bool bench_word(const char **at, char word[BENCH_WORD]);

/** The text of another file of this program; NULL: there is none. */
const char *bench_file(const char *name);

/* ------------------------------------------------------------------------------------------------
 * Ensembles
 */

/** What lasts longer is stopped: a few times a second progress is looked at. */
typedef struct bench_limit {
    double seconds;
    volatile int stop;
} bench_limit;
void bench_set_limit(bench_limit *limit, saltus_run_options *run);

/** An ensemble that is timed once. Its sample times begin at 0 and are evenly spaced; one alone is
 * the end. */
typedef struct bench_ensemble {
    const saltus_model *model;
    const saltus_backend *device;
    const char *method, *layout, *rng; /**< NULL: direct, else as a plan has it */
    int n_threads;
    double until;
    int n_times;
    int64_t first, n; /**< trajectories */
    double limit;     /**< s; 0: none */
} bench_ensemble;
/** Simulate it. The report's seconds are from the first trajectory's start to the last delivery; 0
 * when it lasted longer than the limit and was stopped. */
SALTUS_MUST_CHECK saltus_status bench_run(const bench_ensemble *e, const saltus_sink *sink,
                                          saltus_run_report *report, saltus_error *err);
/** The same for sums of its samples and those seconds. */
SALTUS_MUST_CHECK saltus_status bench_add_up(const bench_ensemble *e, saltus_totals *totals,
                                             double *seconds, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * A model that is timed in all ways
 */

enum { BENCH_POINTS = 51 };

/** One model while it is measured. The caller gives what stands first. */
typedef struct bench_case {
    bench *bench;
    const char *name;    /**< of the example or the model */
    saltus_model *model; /**< frozen; goes with the case */
    const char *rng;     /**< random generator; NULL: the usual one */
    const char *layout;  /**< on the CPU; NULL: what the plan chooses */
    bool wants_samples;  /**< all come back from a GPU, else their sums, made there */
    double times[BENCH_POINTS];
    int64_t n;                             /**< trajectories on a GPU and on all cores */
    double us_baseline, us_core, us_cores; /**< µs per trajectory */
    double rate_cores, rate_gpu;           /**< events/s, as last timed; 0: not at all */
    saltus_totals reference;               /**< of all cores; what others are checked against */
} bench_case;

/** How a GPU is to compute; NULL and 0 are what the plan chooses. */
typedef struct bench_gpu {
    const char *layout;
    int block, streams;
} bench_gpu;

/** Time a case to t_end by the baseline, one core and all cores, a line each; n trajectories are a
 * GPU's. */
SALTUS_MUST_CHECK saltus_status bench_case_start(bench_case *c, double t_end, int64_t n,
                                                 saltus_error *err);
/** Take n trajectories from now on, and time all cores again. */
SALTUS_MUST_CHECK saltus_status bench_case_take(bench_case *c, int64_t n, saltus_error *err);
/** Time a GPU and print a line, or one that says why not. *us is the kernel's time per trajectory;
 * 0 when there was none. */
SALTUS_MUST_CHECK saltus_status bench_case_time_gpu(bench_case *c, bench_gpu how, double *us,
                                                    saltus_error *err);
void bench_case_end(bench_case *c);

/** Time the models of papers/NAME.csv: columns model, until, trajectories, and for a GPU lists of
 * layouts, blocks and streams; realisations: numbers of trajectories, samples of which are all
 * fetched; copies: layouts are compared with `global`. */
SALTUS_MUST_CHECK saltus_status bench_time_rows(bench *b, const char *name, const char *rng,
                                                const char *cpu_layout, saltus_error *err);

/** The first n GPUs. */
SALTUS_MUST_CHECK saltus_status bench_open_gpus(int n, saltus_backend **out, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * The benchmarks: name, where there is something to measure, what it is
 */

#define BENCHMARKS(X)                                                                             \
    X(klingbeil_oregonator, ANYWHERE,                                                             \
      "time per trajectory against the block size, fat and thin threads, Oregonator")             \
    X(klingbeil_models, ANYWHERE,                                                                 \
      "speed-up of every layout over one core: the paper's five models and a larger one")         \
    X(klingbeil_copies, ANYWHERE, "fat over thin for 1 to 12 copies of decay-dimerisation")       \
    X(sumiyoshi_realisations, ANYWHERE,                                                           \
      "10 to 1,000,000 realisations, thread and warp per trajectory")                             \
    X(sumiyoshi_overlap, ANYWHERE,                                                                \
      "1-, 2- and 4-way overlap of kernels and transfers, whole time courses")                    \
    X(sumiyoshi_genes, ANYWHERE, "single-gene models of 8 to 256 reactions")                      \
    X(sumiyoshi_tables, ANYWHERE,                                                                 \
      "dense against compressed tables: bytes, and reactions that fit in 64 KiB")                 \
    X(nobile_table1, ANYWHERE,                                                                    \
      "2^6 to 2^18 simulations of four models, by the method that auto chooses")                  \
    X(nobile_table2, ANYWHERE,                                                                    \
      "100 random networks a row, of eight kinds, by the method that auto chooses")               \
    X(nobile_sweeps, ANYWHERE,                                                                    \
      "sweeps of Schlögl's network and of Ras, distributions over time, break-even of a GPU")     \
    X(hallock_cells, ANYWHERE,                                                                    \
      "time of a step of a lattice: the paper's four cells, at two spacings, two kinds of "       \
      "reactions")                                                                                \
    X(hallock_scaling, ON_GPUS, "the same on 1, 2, 4 and 8 GPUs, a slab on each")                 \
    X(hallock_particles, ON_GPUS,                                                                 \
      "the same against the number of particles: A <-> B in two lattices")                        \
    X(hallock_reactions, ON_GPUS,                                                                 \
      "the same against the number of reactions of first order, 0 to 10")                         \
    X(hallock_phases, ON_GPUS,                                                                    \
      "what of a step is looking for particles, moving them, reactions and slabs that meet")      \
    X(hallock_balance, ON_GPUS,                                                                   \
      "slabs as high as each other, and levelled: not alike in particles, nor in GPUs")           \
    X(hallock_copy, ON_GPUS,                                                                      \
      "from one GPU to another: by copies, by loads and by way of the host, 1 kB to 64 MB")       \
    X(lm_lattices, ANYWHERE,                                                                      \
      "the same for the lattices on which Lattice Microbes was timed, and denser ones")           \
    X(rng, ANYWHERE, "the random generators: words, events of every layout, distributions")       \
    X(tau_accuracy, ANYWHERE,                                                                     \
      "distributions by tau-leaping beside exact ones, for four values of epsilon")               \
    X(unequal, ANYWHERE,                                                                          \
      "one trajectory in a hundred runs a hundred times longer, beside equal ones")               \
    X(lm_nsm, ANYWHERE,                                                                           \
      "space on one core: the next-subvolume method beside multiparticle diffusion")              \
    X(core_dimer_decay, ANYWHERE, "one core beside a program written for decay-dimerisation")     \
    X(core_schlogl, ANYWHERE, "Schlögl's network on one thread and on two")                       \
    X(core_tau, ANYWHERE, "tau-leaping beside exact steps on one core")                           \
    X(core_reactions, ANYWHERE, "one core: the cost of an event against the number of reactions") \
    X(core_networks, ANYWHERE,                                                                    \
      "one trajectory of the large networks in the folder BIONETGEN_NETWORKS")                    \
    X(large_networks, ANYWHERE,                                                                   \
      "what events of large networks are like, and what they cost on one core")                   \
    X(scheme, ON_GPUS, "kernels beside the scheme of simulators that generate one for a model")

#define BENCH_DECLARE(name, where, what) \
    SALTUS_MUST_CHECK saltus_status bench_##name(bench *b, saltus_error *err);
BENCHMARKS(BENCH_DECLARE)
#undef BENCH_DECLARE
/** Parts of nobile-sweeps: Schlögl's X over time (figure 9), and from how many runs on a GPU is
 * faster than one core (figure 8). */
SALTUS_MUST_CHECK saltus_status bench_nobile_heat_map(bench *b, saltus_error *err);
SALTUS_MUST_CHECK saltus_status bench_nobile_break_even(bench *b, saltus_error *err);

#endif
