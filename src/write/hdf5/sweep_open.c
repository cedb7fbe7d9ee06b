/* How the result file of a sweep begins: what is collected, attributes, values, data sets. */
#include "write/hdf5/sweep.h"

#include "core/memory.h"
#include "model/network/volume.h"

#include <string.h>
#include <unistd.h>

static saltus_status add_moments(saltus_sweep_file *f, hid_t parent, int n_columns,
                                 saltus_error *err)
{
    static const char *const names[] = {"mean", "variance", "min", "max"};
    const hsize_t rest[2] = {(hsize_t)f->what.n_times, (hsize_t)n_columns};
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < 4; ++i) {
        SALTUS_TRY(
            saltus_rows_add(f, parent, names[i], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, rest, err));
    }
done:
    return status;
}

static saltus_status add_samples(saltus_sweep_file *f, const char *all, const char *last,
                                 int n_columns, hid_t file_type, hid_t memory_type,
                                 saltus_error *err)
{
    const hsize_t runs = (hsize_t)f->what.n_runs, points = (hsize_t)f->what.n_times;
    const hsize_t columns = (hsize_t)n_columns;
    if (f->what.record == SALTUS_RECORD_ALL && n_columns > 0) {
        const hsize_t rest[3] = {runs, points, columns};
        return saltus_rows_add(f, f->file, all, file_type, memory_type, 4, rest, err);
    }
    if (f->what.record == SALTUS_RECORD_FINAL && n_columns > 0) {
        const hsize_t rest[2] = {runs, columns};
        return saltus_rows_add(f, f->file, last, file_type, memory_type, 3, rest, err);
    }
    return SALTUS_OK;
}

static saltus_status add_histogram(saltus_sweep_file *f, hid_t parent, const char *name,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t bins = (hsize_t)f->what.n_bins, points = (hsize_t)f->what.n_times;
    const hsize_t edges[1] = {bins + 1}, counts[2] = {points, bins}, outside[1] = {points};
    char *escaped = saltus_h5_escape(name);
    hid_t group = -1;
    SALTUS_NEED(escaped);
    group = H5Gcreate2(parent, escaped, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0 || saltus_h5_set_text(group, "name", name) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
    SALTUS_TRY(
        saltus_rows_add(f, group, "edges", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, edges, err));
    SALTUS_TRY(
        saltus_rows_add(f, group, "counts", H5T_STD_U64LE, H5T_NATIVE_UINT64, 3, counts, err));
    if (f->what.high > f->what.low) {
        SALTUS_TRY(
            saltus_rows_add(f, group, "below", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, outside, err));
        SALTUS_TRY(
            saltus_rows_add(f, group, "above", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, outside, err));
    }
done:
    saltus_h5_close_group(&group);
    saltus_free(escaped);
    return status;
}

/* In the order in which deliver fills rows. */
static saltus_status add_sets(saltus_sweep_file *f, const saltus_plan *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_collection *w = &f->what;
    const hsize_t runs[1] = {(hsize_t)w->n_runs};
    hid_t stats = H5Gcreate2(f->file, "stats", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), inner = -1;
    if (w->n_counts > 0) {
        SALTUS_TRY(add_moments(f, stats, w->n_counts, err));
    }
    if (w->n_observables > 0) {
        inner = H5Gcreate2(stats, "observables", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        SALTUS_TRY(add_moments(f, inner, w->n_observables, err));
        saltus_h5_close_group(&inner);
    }
    SALTUS_TRY(
        add_samples(f, "counts", "final", w->n_counts, H5T_STD_I64LE, H5T_NATIVE_INT64, err));
    SALTUS_TRY(add_samples(f, "observables", "final_observables", w->n_observables, H5T_IEEE_F64LE,
                           H5T_NATIVE_DOUBLE, err));
    if (w->record == SALTUS_RECORD_HISTOGRAM) {
        inner = H5Gcreate2(f->file, "histogram", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        for (int c = 0; c < w->n_counts; ++c) {
            SALTUS_TRY(add_histogram(f, inner, saltus_plan_count_name(plan, c), err));
        }
        saltus_h5_close_group(&inner);
    }
    if (w->derivation.n > 0) {
        inner = H5Gcreate2(f->file, "derived", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        SALTUS_TRY(saltus_h5_write_names(f->file, "derived_names",
                                         (const char *const *)f->derived.names,
                                         (size_t)w->derivation.n, err));
    }
    for (int d = 0; d < w->derivation.n; ++d) {
        char *escaped = saltus_h5_escape(f->derived.names[d]);
        SALTUS_NEED(escaped);
        status =
            saltus_rows_add(f, inner, escaped, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, runs, err);
        saltus_free(escaped);
        SALTUS_TRY(status);
    }
done:
    saltus_h5_close_group(&inner);
    saltus_h5_close_group(&stats);
    return status;
}

/* /sweep/NAME, the values at every point, and their names in order. */
static saltus_status write_axes(const saltus_sweep_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n_axes = saltus_sweep_n_axes(f->sweep);
    const hsize_t n[1] = {(hsize_t)saltus_sweep_n_points(f->sweep)}, axes[1] = {(hsize_t)n_axes};
    const char **names = saltus_calloc((size_t)n_axes, sizeof *names);
    int64_t *lengths = saltus_calloc((size_t)n_axes, sizeof *lengths);
    double *values = saltus_calloc((size_t)n[0], sizeof *values);
    hid_t group = H5Gcreate2(f->file, "sweep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), set;
    SALTUS_NEED(names && lengths && values);
    for (int a = 0; a < n_axes; ++a) {
        char *escaped = saltus_h5_escape(saltus_sweep_name(f->sweep, a));
        SALTUS_NEED(escaped);
        names[a] = saltus_sweep_name(f->sweep, a);
        lengths[a] = saltus_sweep_axis_length(f->sweep, a);
        for (hsize_t i = 0; i < n[0]; ++i) {
            values[i] = saltus_sweep_value(f->sweep, a, (int64_t)i);
        }
        set =
            saltus_h5_write_array(group, escaped, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, n, values);
        saltus_free(escaped);
        if (set < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
        }
        saltus_h5_close_dataset(&set);
    }
    SALTUS_TRY(saltus_h5_write_names(f->file, "sweep_names", names, (size_t)n_axes, err));
    set = saltus_h5_write_array(f->file, "sweep_shape", H5T_STD_I64LE, H5T_NATIVE_INT64, 1, axes,
                                lengths);
    if (set < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
    saltus_h5_close_dataset(&set);
done:
    saltus_h5_close_group(&group);
    saltus_free(names);
    saltus_free(lengths);
    saltus_free(values);
    return status;
}

static saltus_status write_head(saltus_sweep_file *f, const saltus_plan *plan,
                                const saltus_sweep_options *options,
                                const saltus_hdf5_options *results, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *model = saltus_plan_model(plan);
    char volumes[SALTUS_VOLUMES_SIZE];
    const hsize_t times[1] = {(hsize_t)f->what.n_times};
    const int n_counts = f->what.n_counts, n_observables = f->what.n_observables;
    const int common = options->common_random_numbers;
    const char **names = saltus_calloc((size_t)n_counts + (size_t)n_observables + 1, sizeof *names);
    const saltus_hdf5_layout layout = {
        .model_name = saltus_model_name(model),
        .model_sha256 = saltus_model_sha256(model),
        .time_unit = model->time_label,
        .volumes = saltus_print_volumes(model, volumes),
        .molecules_per_mole = model->has_moles ? model->mole : 0.0,
        .method = saltus_plan_method(plan),
        .device = saltus_backend_name(saltus_plan_backend(plan)),
        .layout = saltus_plan_layout(plan),
        .rng = saltus_plan_rng(plan),
        .seed = options->run.seed,
        .first_trajectory = options->run.first_trajectory,
        .n_trajectories = options->run.n_trajectories * saltus_sweep_n_points(f->sweep),
        .options = *results,
    };
    SALTUS_NEED(names);
    for (int c = 0; c < n_counts; ++c) {
        names[c] = saltus_plan_count_name(plan, c);
    }
    for (int o = 0; o < n_observables; ++o) {
        names[n_counts + o] = saltus_plan_observable_name(plan, o);
    }
    herr_t rc = saltus_h5_describe(f->file, &layout, f->started);
    rc |= saltus_h5_set_int64(f->file, "runs_per_point", options->run.n_trajectories);
    rc |= saltus_h5_set_int64(f->file, "sweep_points", 0);
    rc |= saltus_h5_set_number(f->file, "common_random_numbers", H5T_STD_I32LE, H5T_NATIVE_INT,
                               &common);
    hid_t time = saltus_h5_write_array(f->file, "time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, times,
                                       f->times);
    if (rc < 0 || time < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
    saltus_h5_close_dataset(&time);
    const char *const about[SALTUS_H5_N_ABOUT] = {saltus_version(), layout.model_name,
                                                  layout.method, layout.device, f->started};
    SALTUS_TRY(saltus_h5_write_names(f->file, "about", about, SALTUS_H5_N_ABOUT, err));
    if (layout.time_unit) {
        SALTUS_TRY(saltus_h5_write_names(f->file, "time_unit", &layout.time_unit, 1, err));
    }
    SALTUS_TRY(saltus_h5_write_names(f->file, "species", names, (size_t)n_counts, err));
    if (n_observables > 0) {
        SALTUS_TRY(saltus_h5_write_names(f->file, "observable_names", names + n_counts,
                                         (size_t)n_observables, err));
    }
done:
    saltus_free(names);
    return status;
}

/* What to collect of a point. */
static saltus_status prepare(saltus_sweep_file *f, const saltus_plan *plan,
                             const saltus_sweep_options *options,
                             const saltus_hdf5_options *results, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_run_options *run = &options->run;
    saltus_histogram bins = {0};
    f->times = saltus_calloc((size_t)run->n_times, sizeof *f->times);
    SALTUS_NEED(f->times);
    memcpy(f->times, run->times, (size_t)run->n_times * sizeof *f->times);
    f->what = (saltus_collection){.n_runs = run->n_trajectories,
                                  .n_times = run->n_times,
                                  .times = f->times,
                                  .n_counts = saltus_plan_n_counts(plan),
                                  .n_observables = saltus_plan_n_observables(plan),
                                  .record = results->record,
                                  .low = results->range_low,
                                  .high = results->range_high};
    if (results->derive) {
        SALTUS_TRY(saltus_derived_parse(results->derive, plan, &f->derived, err));
    }
    SALTUS_TRY(saltus_derivation_make(&f->derived, f->what.n_counts, f->what.n_observables,
                                      f->times, f->what.n_times, results->burn_in,
                                      &f->what.derivation, err));
    if (results->record == SALTUS_RECORD_HISTOGRAM) {
        SALTUS_TRY(saltus_histogram_init(&bins, 1, 1, results->n_bins, results->range_low,
                                         results->range_high, err));
        f->what.n_bins = bins.n_bins;
        f->edges = bins.edges;
        bins.edges = NULL;
        f->scratch = saltus_calloc((size_t)(bins.n_bins * run->n_times), sizeof(uint64_t));
        SALTUS_NEED(f->scratch);
    }
    f->reduction = (saltus_reduction){.finals = results->record == SALTUS_RECORD_FINAL,
                                      .n_bins = f->what.n_bins,
                                      .edges = f->edges};
    if (results->record != SALTUS_RECORD_ALL) {
        f->what.reduction = &f->reduction;
    }
    f->level = results->compress == SALTUS_COMPRESS_NONE    ? 0
               : results->compress == SALTUS_COMPRESS_SMALL ? 9
                                                            : 1;
done:
    saltus_histogram_free(&bins);
    return status;
}

/* Bytes of the head: names, times, axes, and HDF5's headers of every data set. */
static int64_t head_bytes(const saltus_sweep_file *f)
{
    const int64_t sets = 16 + 4 * (int64_t)f->what.n_counts + f->derived.n;
    return 256 * 1024 + 16 * f->what.n_times + sets * 4096 +
           8 * saltus_sweep_n_points(f->sweep) * saltus_sweep_n_axes(f->sweep);
}

/* Of all points. Counts of samples are 64 bits wide here, of which packing loses a half at once. */
static saltus_disk_need disk_need(const saltus_sweep_file *f, saltus_compress compress)
{
    const saltus_collection *w = &f->what;
    const bool all = w->record == SALTUS_RECORD_ALL, final = w->record == SALTUS_RECORD_FINAL;
    const double count = compress == SALTUS_COMPRESS_NONE ? 8.0 : 4.0;
    const double points = (double)saltus_sweep_n_points(f->sweep), times = (double)w->n_times;
    const double runs = (double)w->n_runs, kept = all ? runs * times : final ? runs : 0.0;
    const double bins = w->record == SALTUS_RECORD_HISTOGRAM ? (double)w->n_bins : 0.0;
    const double stats = 4.0 * times * ((double)w->n_counts + w->n_observables);
    saltus_disk_need need = {.plain = 8.0 * points * saltus_sweep_n_axes(f->sweep)};
    need.packed = points * 8.0 * (stats + runs * w->derivation.n);
    need.packed += points * kept * (count * w->n_counts + 8.0 * w->n_observables);
    need.sparse = points * times * bins * 8.0 * w->n_counts;
    if (compress == SALTUS_COMPRESS_NONE) {
        need.packed += need.sparse;
        need.sparse = 0.0;
    }
    return need;
}

static saltus_status check_disk(const saltus_sweep_file *f, const saltus_run_options *run,
                                saltus_compress compress, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char text[SALTUS_DOUBT_SIZE];
    const saltus_disk_need need = disk_need(f, compress);
    const double free = saltus_disk_free(f->path);
    SALTUS_TRY(saltus_disk_check(f->path, &need, compress, free, err));
    if (run->warn && saltus_disk_doubt(f->path, &need, free, text)) {
        run->warn(run->warn_user, text);
    }
done:
    return status;
}

saltus_status saltus_sweep_file_open(const char *path, const saltus_sweep *sweep,
                                     const saltus_sweep_options *options, const saltus_plan *plan,
                                     const saltus_hdf5_options *results, saltus_sweep_file **out,
                                     saltus_error *err)
{
    if (!path || !sweep || !options || !plan || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    bool created = false;
    saltus_h5_quiet quiet;
    saltus_sweep_file *f = saltus_calloc(1, sizeof *f);
    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(f);
    f->file = f->reserve.fd = f->reserve.ballast = -1;
    f->sweep = sweep;
    f->sink = (saltus_sweep_sink){f, saltus_sweep_file_begin_point, saltus_sweep_file_deliver,
                                  saltus_sweep_file_discard};
    f->path = saltus_strdup(path);
    SALTUS_NEED(f->path);
    SALTUS_TRY(saltus_sweep_check_numbers(sweep, options->run.first_trajectory,
                                          options->run.n_trajectories, err));
    SALTUS_TRY(saltus_hdf5_check(plan, &options->run, results, err));
    SALTUS_TRY(prepare(f, plan, options, results, err));
    SALTUS_TRY(check_disk(f, &options->run, results->compress, err));
    SALTUS_TRY(saltus_h5_start(path, results && results->overwrite, head_bytes(f),
                               SALTUS_SWEEP_CLOSING_BYTES, SALTUS_RESERVE_AHEAD, &f->reserve,
                               &f->file, &created, err));
    SALTUS_TRY(write_head(f, plan, options, results, err));
    SALTUS_TRY(write_axes(f, err));
    SALTUS_TRY(add_sets(f, plan, err));
    if (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_TRY(saltus_sweep_fail(f, NULL, 0, err));
    }
    saltus_handle_add(&f->handle, SALTUS_HANDLE_SWEEP_FILE);
    *out = f;
    f = NULL;
done:
    saltus_sweep_file_free(f);
    if (status != SALTUS_OK && created) {
        (void)unlink(path);
    }
    saltus_h5_quiet_end(&quiet);
    return status;
}
