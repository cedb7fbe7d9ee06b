/** The parts of `saltus run`: options (run_options.c), signals (run_signals.c), the file of a
 * run without -o (run_scratch.c), ranks (run_ranks.c), what is told (run_report.c, run_trace.c),
 * the run itself (run.c), and its end (run_end.c; when a GPU is lost: run_lost.c), which is also
 * that of `saltus sweep`. */
#ifndef SALTUS_CLI_RUN_H
#define SALTUS_CLI_RUN_H

#include "cli/cli.h"

/** What the command line says. */
typedef struct saltus_cli_run_arguments {
    const char *model, *output, *trace, *method, *device, *layout, *rng, *species, *stiff;
    saltus_cli_format format; /**< of the output */
    const char *profile, *split;
    double until, every, frames;
    int64_t points, runs, first, threads, block, streams, bins, n_critical, n_exact, continuous;
    uint64_t seed;
    saltus_law law;
    saltus_record record;
    saltus_compress compress;
    double low, high, epsilon, rtol, atol, checkpoint;
    saltus_cli_changes changes;
    saltus_cli_settings vary; /**< of a sweep, like these */
    const char *design, *derive;
    const char *of_leaps; /**< the last option given that steers leaps */
    const char *of_files; /**< and that is of result files */
    double burn_in;
    bool common_random_numbers;
    bool no_peer, overwrite, append;
    bool may_split; /**< `split` is that of the command that began the file: none is needed now */
    bool extends;   /**< the result file is there, with n_done of the trajectories or points */
    int64_t n_done;
    const char *shard_text;  /**< of --shard; NULL: all */
    int64_t shard, n_shards; /**< the latter 0: all, or the text was not looked at yet */
    const char *shard_by;    /**< of a sweep: "points", the same as NULL, or "runs" */
    saltus_archive *archive; /**< files that were read, and the arguments; to be freed */
    bool json, progress, explain, quiet, has_until, has_record, has_first, has_continuous;
    char *command; /**< the whole line; to be freed, as settings are */
    char *words;   /**< the same as words, each ended by a zero; to be freed */
    size_t words_size;
} saltus_cli_run_arguments;

/** The options of saltus run, and those of them that saltus sweep has too. */
extern const struct argp saltus_cli_run_argp, saltus_cli_shared_argp;

/** The options of saltus sweep, and those with which a result is gone on with: where, and talk. */
extern const struct argp saltus_cli_sweep_argp, saltus_cli_resume_argp;

/** Simulate what the arguments ask for; returns the exit code. */
int saltus_cli_simulate(saltus_cli_run_arguments *a);
int saltus_cli_simulate_sweep(saltus_cli_run_arguments *a);

/** Take number and count of --shard, if it is there, from its text or the batch system
 * (run_shard.c). Returns -1 to go on, else the exit code. */
int saltus_cli_take_shard(saltus_cli_run_arguments *a);

/** ---- processes that mpirun or srun has started (run_ranks.c) ---- */

/** Run a verb in all of them: rank 0 runs it, the others do what it tells them. Alone, or with
 * --shard, just run it. */
int saltus_cli_on_ranks(int (*verb)(int argc, char **argv), int argc, char **argv);
/** Whether this process is the first of them, or alone. */
bool saltus_cli_is_first(void);
/** The ranks; NULL when this process is alone. */
saltus_ranks *saltus_cli_ranks(void);
/** Rank 0, when all it needs is there: tell the others the command, by what device and method, and
 * give them the files. */
saltus_status saltus_cli_tell_ranks(const saltus_cli_run_arguments *a, const char *device,
                                    const char *method, saltus_error *err);

/** After an interruption: how to go on. */
void saltus_cli_tell_resume(const saltus_cli_run_arguments *a);
/** After a GPU was lost (run_lost.c): how to go on; that is, if no other one can. */
void saltus_cli_tell_lost(const saltus_cli_run_arguments *a);

/** Name of the command's arguments in an archive: words, each ended by a zero. */
#define SALTUS_CLI_ARGUMENTS "saltus:arguments"

/** Parse by `argp` and check. Returns -1 to go on, else the exit code; free the arguments in any
 * case. */
int saltus_cli_run_parse(const struct argp *argp, int argc, char **argv,
                         saltus_cli_run_arguments *a);
void saltus_cli_run_free(saltus_cli_run_arguments *a);

/** Threads for a plan: a rank has its share of the host's cores, unless --threads says more. */
int saltus_cli_threads(const saltus_cli_run_arguments *a, const char *device);
/** What the arguments ask for, but for times and what is told on the way. */
saltus_plan_options saltus_cli_plan_options(const saltus_cli_run_arguments *a);
saltus_run_options saltus_cli_run_options(saltus_cli_run_arguments *a);
saltus_hdf5_options saltus_cli_result_options(const saltus_cli_run_arguments *a);
/** Choose where the method is auto, and tell on stderr what and why, always: it decides on the
 * samples. Where it was named, warn of options that it does not have. `choice` must outlive what is
 * made of the plan's options. */
void saltus_cli_choose_method(const saltus_cli_run_arguments *a, const saltus_model *model,
                              saltus_plan_options *plan, saltus_method_choice *choice);
/** Number of sample times; they themselves, to be freed. */
saltus_status saltus_cli_count_times(const saltus_cli_run_arguments *a, int64_t *n,
                                     saltus_error *err);
saltus_status saltus_cli_make_times(const saltus_cli_run_arguments *a, int64_t n, double **times,
                                    saltus_error *err);
/** The same of frames; there are none without --frames. */
saltus_status saltus_cli_make_frames(const saltus_cli_run_arguments *a, double **times, int64_t *n,
                                     saltus_error *err);

/** Handle SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1. What is returned is for
 * saltus_run_options.stop; it becomes non-zero at a signal after saltus_cli_keep_results, before
 * which one ends the process. */
const volatile int *saltus_cli_catch_signals(void);
void saltus_cli_keep_results(void);
/** A file to be removed when a signal ends the process at once, of four at most; or no more. */
void saltus_cli_remove_at_end(const char *path);
void saltus_cli_forget(const char *path);

/** Make an empty file beside another, or for NULL in TMPDIR; free the path with
 * saltus_cli_remove_scratch, which takes NULL. */
saltus_status saltus_cli_make_scratch(const char *beside, char **path, saltus_error *err);
void saltus_cli_remove_scratch(char *path);
/** Without -o FILE.h5, make a scratch file, and of -o FILE.csv the table. Close both in any case.
 */
saltus_status saltus_cli_open_output(const saltus_cli_run_arguments *a, saltus_cli_table *table,
                                     char **scratch, saltus_error *err);
/** Make of a result file the table of what was recorded: trajectories, statistics or histograms.
 * The table is closed in any case. */
saltus_status saltus_cli_convert(const char *file, saltus_record record, saltus_cli_table *table,
                                 saltus_error *err);

/** For saltus_run_options: a line on stderr that is written over and over, and one per warning,
 * whose `user` is the arguments. */
void saltus_cli_show_progress(void *user, const saltus_progress *p);
void saltus_cli_show_warning(void *user, const char *sentence);
/** One line on stderr about what is expected to take above an hour, unless quiet. */
void saltus_cli_tell_forecast(const saltus_cli_run_arguments *a, const saltus_forecast *f);
/** After a run, with --explain, how much of the time slabs waited for each other: on stderr. */
void saltus_cli_explain_waiting(const saltus_plan *plan, const saltus_run_report *report);
/** By what a run or a sweep was simulated, as JSON tells it. */
typedef struct saltus_cli_simulated {
    const char *model, *device, *layout, *method, *rng;
    int n_slabs;      /**< 0 or 1: it is not a lattice that is cut */
    int64_t n_points; /**< of a sweep; 0: it is a run */
} saltus_cli_simulated;

/** Of a run; as long as the plan is there. */
saltus_cli_simulated saltus_cli_simulated_by(const saltus_plan *plan);
/** One JSON object about a run or a sweep on stdout. */
void saltus_cli_print_json(const saltus_cli_run_arguments *a, const saltus_cli_simulated *what,
                           const saltus_run_report *report, double total, bool complete);

/** A file of spans of time (--trace), at most 100,000. */
typedef struct saltus_cli_trace saltus_cli_trace;
/** That the trace would not go into a file of the results, of those that are there: so before it is
 * opened, and then, when each name and link of it leads there, once more. SALTUS_E_INVALID. */
saltus_status saltus_cli_check_trace(const saltus_cli_run_arguments *a, saltus_error *err);
/** The path must stay. SALTUS_E_IO. */
saltus_status saltus_cli_open_trace(const char *path, saltus_cli_trace **out, saltus_error *err);
/** For saltus_run_options, whose `user` is the trace. */
void saltus_cli_write_span(void *user, const saltus_span *span);
/** Close and free; removes the file unless it is to be kept. NULL is allowed. SALTUS_E_IO. */
saltus_status saltus_cli_close_trace(saltus_cli_trace *trace, bool keep, saltus_error *err);

/** What a run and a sweep have in common. */
typedef struct saltus_cli_session {
    saltus_cli_run_arguments *a;
    double *times;
    char *scratch;          /**< NULL with -o FILE.h5 */
    saltus_cli_table table; /**< of -o FILE.csv */
    saltus_cli_trace *trace;
    saltus_run_report report;
    double start, seconds; /**< saltus_cli_now at first; what all has taken, by saltus_cli_finish */
} saltus_cli_session;

/** After simulating, which gave err, and closing the result file: if one of several GPUs was lost,
 * go on in that file on the others, in a new process, which takes the place of this one. Returns
 * where that is not so. */
void saltus_cli_go_on_without_gpu(saltus_cli_session *s, const saltus_error *err,
                                  const saltus_error *closing);

/** End before the first trajectory. That is the input's fault, unless it is the machine's. Returns
 * the exit code. */
int saltus_cli_give_up(saltus_cli_session *s, const saltus_error *err);
/** Write FILE.xdmf beside a result file with frames, for ParaView, whatever has come; else
 * SALTUS_E_INVALID. */
saltus_status saltus_cli_write_xdmf(const char *file, saltus_error *err);
/** After simulating, which gave status and err, and closing the result file, which gave `closing`:
 * make what is made of that file. Prints the first failure and returns its status. */
saltus_status saltus_cli_finish(saltus_cli_session *s, saltus_status status, saltus_error *err,
                                const saltus_error *closing);
/** After all is printed: err is what went wrong there, if something did. Returns the exit code. */
int saltus_cli_end(saltus_cli_session *s, saltus_status status, saltus_error *err);

#endif
