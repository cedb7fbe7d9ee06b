/* A build without HDF5 keeps these functions, so that a program need not know. */
#include "core/status.h"

static saltus_status absent(saltus_error *err)
{
    const saltus_status status = saltus_error_set(
        err, SALTUS_E_UNAVAILABLE, "result files are not in this build: HDF5 was not found");
    saltus_error_hint(err,
                      "install libhdf5-dev and zlib1g-dev, then build again with -Dhdf5=enabled");
    return status;
}

saltus_status saltus_hdf5_check(const saltus_plan *plan, const saltus_run_options *run,
                                const saltus_hdf5_options *options, saltus_error *err)
{
    (void)plan;
    (void)run;
    (void)options;
    return absent(err);
}

saltus_status saltus_hdf5_sink_open(const char *path, const saltus_plan *plan,
                                    const saltus_run_options *run,
                                    const saltus_hdf5_options *options, saltus_hdf5_sink **out,
                                    saltus_error *err)
{
    (void)path;
    (void)plan;
    (void)run;
    (void)options;
    (void)out;
    return absent(err);
}

const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink)
{
    (void)sink;
    return NULL;
}

saltus_status saltus_hdf5_sink_close(saltus_hdf5_sink *sink, const saltus_run_report *report,
                                     saltus_error *err)
{
    (void)sink;
    (void)report;
    return absent(err);
}

saltus_status saltus_results_open(const char *path, saltus_results **out, saltus_error *err)
{
    (void)path;
    (void)out;
    return absent(err);
}

void saltus_results_close(saltus_results *results)
{
    (void)results;
}

saltus_status saltus_results_print_stats(const saltus_results *results, FILE *out,
                                         saltus_error *err)
{
    (void)results;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_table(const saltus_results *results,
                                         const saltus_table_options *options, FILE *out,
                                         saltus_error *err)
{
    (void)results;
    (void)options;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_histograms(const saltus_results *results, FILE *out,
                                              saltus_error *err)
{
    (void)results;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_derived(const saltus_results *results, FILE *out,
                                           saltus_error *err)
{
    (void)results;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_derived_table(const saltus_results *results,
                                                 const saltus_table_options *options, FILE *out,
                                                 saltus_error *err)
{
    (void)results;
    (void)options;
    (void)out;
    return absent(err);
}

saltus_table_options saltus_table_options_default(void)
{
    return (saltus_table_options){0};
}

saltus_status saltus_results_print_summary(const saltus_results *results, FILE *out,
                                           saltus_error *err)
{
    (void)results;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_csv(const saltus_results *results, FILE *out, saltus_error *err)
{
    (void)results;
    (void)out;
    return absent(err);
}

saltus_status saltus_results_print_split(const saltus_results *results, saltus_split split,
                                         FILE *out, saltus_error *err)
{
    (void)results, (void)split, (void)out;
    return absent(err);
}

saltus_status saltus_results_print_frames(const saltus_results *results, FILE *out,
                                          saltus_error *err)
{
    (void)results, (void)out;
    return absent(err);
}

saltus_status saltus_results_write_xdmf(const saltus_results *results, saltus_error *err)
{
    (void)results;
    return absent(err);
}

saltus_status saltus_results_plot(const saltus_results *results, const char *figure,
                                  const saltus_plot_options *options, saltus_error *err)
{
    (void)results;
    (void)figure;
    (void)options;
    return absent(err);
}

saltus_status saltus_sweep_file_open(const char *path, const saltus_sweep *sweep,
                                     const saltus_sweep_options *options, const saltus_plan *plan,
                                     const saltus_hdf5_options *results, saltus_sweep_file **out,
                                     saltus_error *err)
{
    (void)path, (void)sweep, (void)options, (void)plan, (void)results, (void)out;
    return absent(err);
}

const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file)
{
    (void)file;
    return NULL;
}

saltus_status saltus_sweep_file_close(saltus_sweep_file *file, const saltus_run_report *report,
                                      saltus_error *err)
{
    (void)file, (void)report;
    return absent(err);
}

saltus_status saltus_model_plot(const saltus_model *model, const char *figure, const char *title,
                                saltus_error *err)
{
    (void)model, (void)figure, (void)title;
    return absent(err);
}
