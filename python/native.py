"""Write the C source of saltus._native: what the package calls of include/saltus/.

Usage: native.py OUTPUT.c. Of a struct only the members that the package uses are named; the C
compiler fills in the rest. In API mode cffi keeps to Python's stable interface, so that one module
serves CPython 3.9 and all later ones.
"""
import sys

import cffi

DECLARATIONS = """
typedef int... saltus_status;
typedef int... saltus_law;
typedef int... saltus_record;
typedef int... saltus_compress;
enum { SALTUS_MOST_BINS = ... };
typedef struct saltus_model saltus_model;
typedef struct saltus_backend saltus_backend;
typedef struct saltus_plan saltus_plan;
typedef struct saltus_sweep saltus_sweep;
typedef struct saltus_memory saltus_memory;
typedef struct saltus_hdf5_sink saltus_hdf5_sink;
typedef struct saltus_sweep_file saltus_sweep_file;
typedef struct saltus_sink saltus_sink;
typedef struct saltus_sweep_sink saltus_sweep_sink;
typedef struct saltus_checkpoint saltus_checkpoint;
typedef struct saltus_archive saltus_archive;

typedef struct { saltus_status code; char message[...]; char hint[...]; ...; } saltus_error;
const char *saltus_version(void);

/* models */
saltus_status saltus_archive_create(saltus_archive **out, saltus_error *err);
saltus_status saltus_archive_add(saltus_archive *archive, const char *name, const void *bytes,
    size_t size, saltus_error *err);
void saltus_archive_destroy(saltus_archive *archive);
typedef struct { double molecules_per_mole; saltus_archive *archive; ...; } saltus_read_options;
typedef struct { const char *name, *kind, *unit; double value; ...; } saltus_model_value;
saltus_read_options saltus_read_options_default(void);
saltus_status saltus_model_parse_with(const char *text, size_t size, const char *name,
    const saltus_read_options *options, saltus_model **out, saltus_error *err);
void saltus_model_destroy(saltus_model *model);
saltus_status saltus_model_set(saltus_model *model, const char *name, double value,
    saltus_error *err);
void saltus_model_reset(saltus_model *model);
saltus_status saltus_model_set_volume(saltus_model *model, const char *compartment,
    const char *volume, saltus_error *err);
saltus_status saltus_model_freeze(saltus_model *model, saltus_law law, saltus_error *err);
void saltus_model_thaw(saltus_model *model);
const char *saltus_model_name(const saltus_model *model);
const char *saltus_model_warning(const saltus_model *model, int i);
int saltus_model_n_warnings(const saltus_model *model);
saltus_model_value saltus_model_value_at(const saltus_model *model, int i);
const char *saltus_model_reaction(const saltus_model *model, int r);
const char *saltus_model_time_unit(const saltus_model *model);
double saltus_model_lattice(const saltus_model *model, int64_t *size);
const char *saltus_model_site_type(const saltus_model *model, int type, int64_t *n_sites);
saltus_status saltus_model_site_types(const saltus_model *model, const int64_t *first,
    const int64_t *size, uint8_t *types, saltus_error *err);

/* plans */
typedef struct {
    const char *method, *columns, *split, *profile, *layout, *rng;
    bool by_type, no_peer;
    int n_threads, block, n_streams, n_critical, n_exact;
    double epsilon, rtol, atol;
    int64_t continuous, n_expected;
    const char *stiff;
    ...;
} saltus_plan_options;
saltus_plan_options saltus_plan_options_default(void);
saltus_status saltus_backend_open(const char *specification, saltus_backend **out,
    saltus_error *err);
void saltus_backend_close(saltus_backend *backend);
const char *saltus_backend_name(const saltus_backend *backend);
saltus_status saltus_plan_create(const saltus_model *model, const saltus_backend *backend,
    const saltus_plan_options *options, saltus_plan **out, saltus_error *err);
void saltus_plan_destroy(saltus_plan *plan);
const char *saltus_plan_method(const saltus_plan *plan);
const char *saltus_plan_layout(const saltus_plan *plan);
int saltus_plan_n_counts(const saltus_plan *plan);
const char *saltus_plan_count_name(const saltus_plan *plan, int c);
int saltus_plan_n_observables(const saltus_plan *plan);
const char *saltus_plan_observable_name(const saltus_plan *plan, int o);

/* runs */
typedef struct { double fraction; int64_t events; ...; } saltus_progress;
typedef struct {
    uint64_t seed;
    int64_t first_trajectory, n_trajectories;
    const double *times;
    int64_t n_times;
    const double *frame_times;
    int64_t n_frames;
    const volatile int *stop;
    saltus_checkpoint *checkpoint;
    void (*progress)(void *user, const saltus_progress *progress);
    void *progress_user;
    void (*warn)(void *user, const char *sentence);
    void *warn_user;
    ...;
} saltus_run_options;
typedef struct { int64_t trajectories, events; double seconds; ...; } saltus_run_report;
typedef struct { double n, seconds; const char *of; char advice[...]; ...; } saltus_forecast;
saltus_forecast saltus_run_forecast(const saltus_plan *plan, const saltus_run_options *run);
saltus_run_options saltus_run_options_default(void);
saltus_status saltus_run(const saltus_plan *plan, const saltus_run_options *options,
    const saltus_sink *sink, saltus_run_report *report, saltus_error *err);
saltus_status saltus_backend_choose(const saltus_model *model, const saltus_plan_options *options,
    const saltus_run_options *run, saltus_backend **out, saltus_error *err);

/* sweeps */
typedef struct {
    saltus_model *(*load)(void *user, saltus_error *err);
    void (*unload)(void *user, saltus_model *model);
    void *load_user;
    saltus_law law;
    const char *device;
    saltus_plan_options plan;
    saltus_run_options run;
    bool common_random_numbers;
    ...;
} saltus_sweep_options;
saltus_status saltus_sweep_create(saltus_sweep **out, saltus_error *err);
void saltus_sweep_destroy(saltus_sweep *sweep);
saltus_status saltus_sweep_vary(saltus_sweep *sweep, const char *what, saltus_error *err);
saltus_status saltus_sweep_finish(saltus_sweep *sweep, const char *design, uint64_t seed,
    saltus_error *err);
saltus_status saltus_sweep_table(saltus_sweep *sweep, const char *const *names, int n_names,
    const double *values, int64_t n_points, saltus_error *err);
int64_t saltus_sweep_axis_length(const saltus_sweep *sweep, int axis);
int64_t saltus_sweep_n_points(const saltus_sweep *sweep);
double saltus_sweep_value(const saltus_sweep *sweep, int axis, int64_t point);
saltus_status saltus_sweep_freeze(const saltus_sweep *sweep, int64_t point, saltus_model *model,
    saltus_law law, saltus_error *err);
saltus_status saltus_sweep_check(const saltus_sweep *sweep, int64_t most, saltus_model *model,
    saltus_law law, const saltus_plan_options *plan, char *rounded, size_t size,
    saltus_error *err);
saltus_sweep_options saltus_sweep_options_default(void);
saltus_status saltus_sweep_run(const saltus_sweep *sweep, const saltus_sweep_options *options,
    const saltus_sweep_sink *sink, saltus_run_report *report, saltus_error *err);

/* results */
typedef struct {
    saltus_record record;
    int64_t n_bins;
    double range_low, range_high;
    const char *derive;
    double burn_in;
    bool without_statistics;
    ...;
} saltus_memory_options;
typedef struct {
    int64_t n_points, n_runs, n_times;
    int n_counts, n_observables, n_derived;
    int64_t n_bins, n_frames, size[3];
    int n_parts[2];
    const int64_t *trajectories, *counts;
    const double *observables;
    const int64_t *splits[2];
    const int32_t *frames;
    const double *mean, *variance, *min, *max, *derived, *edges;
    const uint64_t *histogram;
    const double *split_mean[2], *split_variance[2];
    ...;
} saltus_memory_view;
saltus_memory_options saltus_memory_options_default(void);
saltus_status saltus_memory_open(const saltus_plan *plan, const saltus_run_options *run,
    int64_t n_points, const saltus_memory_options *options, saltus_memory **out,
    saltus_error *err);
const saltus_sink *saltus_memory_sink(saltus_memory *memory);
const saltus_sweep_sink *saltus_memory_sweep_sink(saltus_memory *memory);
saltus_memory_view saltus_memory_get(saltus_memory *memory);
saltus_status saltus_memory_replay(const saltus_memory *memory, const saltus_sink *sink,
    saltus_error *err);
void saltus_memory_close(saltus_memory *memory);
typedef struct {
    saltus_record record;
    int64_t n_bins;
    double range_low, range_high;
    const char *command, *derive;
    double burn_in, checkpoint;
    const saltus_archive *archive;
    bool overwrite;
    saltus_compress compress;
    ...;
} saltus_hdf5_options;
saltus_hdf5_options saltus_hdf5_options_default(void);
saltus_status saltus_hdf5_sink_open(const char *path, const saltus_plan *plan,
    const saltus_run_options *run, const saltus_hdf5_options *options, saltus_hdf5_sink **out,
    saltus_error *err);
const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink);
saltus_checkpoint *saltus_hdf5_sink_checkpoint(saltus_hdf5_sink *sink);
saltus_status saltus_hdf5_sink_close(saltus_hdf5_sink *sink, const saltus_run_report *report,
    saltus_error *err);
saltus_status saltus_sweep_file_open(const char *path, const saltus_sweep *sweep,
    const saltus_sweep_options *options, const saltus_plan *plan,
    const saltus_hdf5_options *results, saltus_sweep_file **out, saltus_error *err);
const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file);
saltus_checkpoint *saltus_sweep_file_checkpoint(saltus_sweep_file *file);
saltus_status saltus_sweep_file_close(saltus_sweep_file *file, const saltus_run_report *report,
    saltus_error *err);
typedef struct { bool is_sweep, complete; ...; } saltus_file_state;
saltus_status saltus_file_state_read(const char *path, saltus_file_state *out, saltus_error *err);

/* below, and in _native's callers */
volatile int *watch_interrupt(void);
int end_watch(void);
int has_handlers(void);
char *model_text(const saltus_model *model, int what);
char *devices_text(void);
void free(void *text);
extern "Python" void on_progress(void *user, const saltus_progress *progress);
extern "Python" void on_warn(void *user, const char *sentence);
extern "Python" saltus_model *on_load(void *user, saltus_error *err);
extern "Python" void on_unload(void *user, saltus_model *model);
"""

SOURCE = r"""
#include <saltus/saltus.h>
#include <signal.h>
#include <stdlib.h>

/* Python acts on a signal when the interpreter runs again, which is after the call. So SIGINT sets
 * these flags while one lasts. Of the main thread alone, so there is one watch at a time, and within
 * it those of runs that progress functions start, each with a flag of its own, by which its progress
 * function stops it alone; of very many the last ones share one. */
enum { MOST_WATCHES = 64 };
static volatile int interrupted, stops[MOST_WATCHES];
static int n_watches;
static struct sigaction before;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    for (int i = 0; i < MOST_WATCHES; ++i) {
        stops[i] = 1;
    }
}

/* What is not 0 once the run is to stop. NULL: Python does not act on it either, and there is no
 * watch. */
static volatile int *watch_interrupt(void)
{
    struct sigaction now = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    if (n_watches == 0) {
        (void)sigemptyset(&now.sa_mask);
        interrupted = 0;
        (void)sigaction(SIGINT, &now, &before);
        if (before.sa_handler == SIG_IGN || before.sa_handler == SIG_DFL) {
            (void)sigaction(SIGINT, &before, NULL);
            return NULL;
        }
    }
    volatile int *stop = &stops[n_watches < MOST_WATCHES ? n_watches : MOST_WATCHES - 1];
    ++n_watches;
    *stop = 0;
    *stop |= interrupted; /* a signal may have come between the two */
    return stop;
}

static int end_watch(void)
{
    if (--n_watches == 0) {
        (void)sigaction(SIGINT, &before, NULL);
    }
    return interrupted;
}

/* Whether signals, of those that end programs or are free for them, have handlers: Python's, which
 * may raise, are called when the interpreter runs again. */
static int has_handlers(void)
{
    static const int numbers[] = {SIGALRM, SIGHUP,  SIGQUIT,   SIGTERM,
                                  SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU};
    int n = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        struct sigaction now;
        n += sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
             now.sa_handler != SIG_IGN;
    }
    return n > 0;
}

/* What is printed of a model, to be freed: reaction number `what`, or -1: all for people, -2: Saltus
 * YAML. NULL when that fails. */
static char *model_text(const saltus_model *model, int what)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    const saltus_status status = what == -1   ? saltus_model_print_info(model, out, NULL)
                                 : what == -2 ? saltus_model_write_yaml(model, out, NULL)
                                              : saltus_model_print_reaction(model, what, out, NULL);
    if (fclose(out) != 0 || status != SALTUS_OK) {
        free(text);
        return NULL;
    }
    return text;
}

/* What the command's `devices` prints, to be freed; NULL when that fails. */
static char *devices_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    saltus_backend_list(out);
    return fclose(out) == 0 ? text : NULL;
}
"""


def main():
    builder = cffi.FFI()
    builder.cdef(DECLARATIONS)
    builder.set_source("saltus._native", SOURCE)
    builder.emit_c_code(sys.argv[1])


if __name__ == "__main__":
    main()
