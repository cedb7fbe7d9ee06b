/* A build without HDF5 keeps these functions, so that a program need not know. */
#include "core/status.h"

/* What is refused: name and parameters. */
#define REFUSED(X)                                                                               \
    X(saltus_hdf5_check, const saltus_plan *plan, const saltus_run_options *run,                 \
      const saltus_hdf5_options *options)                                                        \
    X(saltus_hdf5_sink_open, const char *path, const saltus_plan *plan,                          \
      const saltus_run_options *run, const saltus_hdf5_options *options, saltus_hdf5_sink **out) \
    X(saltus_hdf5_sink_close, saltus_hdf5_sink *sink, const saltus_run_report *report)           \
    X(saltus_sweep_shard, const saltus_sweep *sweep, int64_t shard, int64_t n_shards,            \
      bool by_runs, saltus_sweep_options *options, saltus_hdf5_options *results)                 \
    X(saltus_sweep_file_open, const char *path, const saltus_sweep *sweep,                       \
      const saltus_sweep_options *options, const saltus_plan *plan,                              \
      const saltus_hdf5_options *results, saltus_sweep_file **out)                               \
    X(saltus_sweep_file_close, saltus_sweep_file *file, const saltus_run_report *report)         \
    X(saltus_results_open, const char *path, saltus_results **out)                               \
    X(saltus_file_state_read, const char *path, saltus_file_state *out)                          \
    X(saltus_archive_open, const char *path, saltus_archive **out)                               \
    X(saltus_results_merge, const char *const *paths, int n, const char *out, bool overwrite,    \
      const volatile int *stop)                                                                  \
    X(saltus_results_print_stats, const saltus_results *results, FILE *out)                      \
    X(saltus_results_print_table, const saltus_results *results,                                 \
      const saltus_table_options *options, FILE *out)                                            \
    X(saltus_results_print_histograms, const saltus_results *results, FILE *out)                 \
    X(saltus_results_print_derived, const saltus_results *results, FILE *out)                    \
    X(saltus_results_print_derived_table, const saltus_results *results,                         \
      const saltus_table_options *options, FILE *out)                                            \
    X(saltus_results_print_summary, const saltus_results *results, FILE *out)                    \
    X(saltus_results_print_csv, const saltus_results *results, FILE *out)                        \
    X(saltus_results_print_split, const saltus_results *results, saltus_split split, FILE *out)  \
    X(saltus_results_print_frames, const saltus_results *results, FILE *out)                     \
    X(saltus_results_write_xdmf, const saltus_results *results)

static saltus_status absent(saltus_error *err)
{
    const saltus_status status = saltus_error_set(
        err, SALTUS_E_UNAVAILABLE, "result files are not in this build: HDF5 was not found");
    saltus_error_hint(err,
                      "install libhdf5-dev and zlib1g-dev, then build again with -Dhdf5=enabled");
    return status;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(name, ...)                              \
    saltus_status name(__VA_ARGS__, saltus_error *err) \
    {                                                  \
        return absent(err);                            \
    }
REFUSED(REFUSE)

const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink)
{
    return NULL;
}

saltus_checkpoint *saltus_hdf5_sink_checkpoint(saltus_hdf5_sink *sink)
{
    return NULL;
}

const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file)
{
    return NULL;
}

saltus_checkpoint *saltus_sweep_file_checkpoint(saltus_sweep_file *file)
{
    return NULL;
}

void saltus_hdf5_shard(const saltus_plan *plan, const saltus_run_options *run,
                       const saltus_hdf5_options *options, int64_t shard, int64_t n_shards,
                       int64_t *first, int64_t *n)
{
    if (run && first && n) {
        *first = run->first_trajectory;
        *n = run->n_trajectories;
    }
}

void saltus_results_close(saltus_results *results)
{
}

saltus_table_options saltus_table_options_default(void)
{
    return (saltus_table_options){0};
}
