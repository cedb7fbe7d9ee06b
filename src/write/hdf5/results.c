#include "write/results.h"

#include "core/memory.h"
#include "write/hdf5/live.h"
#include "write/hdf5/probe.h"
#include "write/hdf5/read.h"

#include <sys/stat.h>

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* Open the file with a sentence for what people meet: no file, some other file, half a file. No
 * lock is taken, so that a run can be looked at while it goes on. */
static saltus_status open_file(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct stat st;
    if (access(r->path, R_OK) != 0 || stat(r->path, &st) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", r->path, strerror(errno));
    }
    r->size = (int64_t)st.st_size;
    if (H5Fis_hdf5(r->path) <= 0) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: is no HDF5 file", r->path);
        saltus_error_hint(err, "result files are written by 'saltus run MODEL -o FILE.h5'");
        goto done;
    }
    r->file = saltus_h5_open_for_reading(r->path);
    if (r->file < 0) {
        if (strstr(saltus_h5_cause(), "truncated")) {
            status = saltus_error_set(err, SALTUS_E_IO, "%s: the file is truncated", r->path);
            saltus_error_hint(err, "it is shorter than it was when written; copy it again");
            goto done;
        }
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", r->path, saltus_h5_cause());
    }
done:
    return status;
}

/* Attributes with texts are left alone: HDF5 crashes on damage to the heap that holds them. */
static saltus_status read_about(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char **const texts[SALTUS_H5_N_ABOUT] = {&r->version, &r->model, &r->method, &r->device,
                                             &r->started};
    char **about = NULL;
    int n = 0;
    SALTUS_TRY(saltus_h5_read_names(r, "about", &n, &about, err));
    if (n != SALTUS_H5_N_ABOUT) {
        SALTUS_TRY(saltus_h5_damaged(r, "about", "its shape is wrong", err));
    }
    for (int i = 0; i < n; ++i) {
        *texts[i] = about[i];
        about[i] = NULL;
    }
done:
    saltus_results_free_names(about, n);
    return status;
}

static saltus_status read_attributes(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int complete = 0;
    SALTUS_TRY(read_about(r, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "requested", H5T_NATIVE_INT64, &r->requested, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "events", H5T_NATIVE_INT64, &r->events, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "seconds", H5T_NATIVE_DOUBLE, &r->seconds, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "complete", H5T_NATIVE_INT, &complete, err));
    r->complete = complete != 0;
    r->is_written = !r->complete && saltus_h5_is_written(r->path);
    if (!saltus_h5_has(r, "stats")) {
        SALTUS_TRY(saltus_h5_damaged(r, "stats", "it is missing", err));
    }
    if (r->n_axes == 0) {
        SALTUS_TRY(saltus_h5_read_number(r, "stats", "trajectories", H5T_NATIVE_INT64,
                                         &r->stats_runs, err));
        SALTUS_TRY(saltus_h5_read_number(r, "/", "trajectories", H5T_NATIVE_INT64, &r->runs, err));
    }
done:
    return status;
}

static saltus_status read_times(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t start[1] = {0};
    hsize_t shape[1];
    SALTUS_TRY(saltus_h5_check(r, "time", H5T_FLOAT, 1, shape, NULL, err));
    if (shape[0] < 1) {
        SALTUS_TRY(saltus_h5_damaged(r, "time", "it is empty", err));
    }
    r->times = saltus_calloc(shape[0], sizeof *r->times);
    SALTUS_NEED(r->times);
    SALTUS_TRY(saltus_h5_read(r, "time", H5T_NATIVE_DOUBLE, 1, start, shape, r->times, err));
    r->n_points = (int64_t)shape[0];
    for (int64_t p = 0; p < r->n_points; ++p) {
        if (!isfinite(r->times[p]) || (p > 0 && !(r->times[p] > r->times[p - 1]))) {
            SALTUS_TRY(saltus_h5_damaged(r, "time", "times do not rise", err));
        }
    }
done:
    return status;
}

static const char *const moment_names[2][4] = {
    {"stats/mean", "stats/variance", "stats/min", "stats/max"},
    {"stats/observables/mean", "stats/observables/variance", "stats/observables/min",
     "stats/observables/max"}};

/* Statistics are in every file, so from here on [point][column] is known to be no larger than it.
 */
static saltus_status check_moments(const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int k = 0; k < 2; ++k) {
        const int n = k ? r->n_observables : r->n_counts;
        const hsize_t shape[2] = {(hsize_t)r->n_points, (hsize_t)n};
        for (int i = 0; n > 0 && i < 4; ++i) {
            SALTUS_TRY(saltus_h5_expect(r, moment_names[k][i], H5T_FLOAT, 2, shape, err));
        }
    }
done:
    return status;
}

/* Look for samples [run][…][column]. A file may have fewer runs there than it has numbers if its
 * writer was killed. The runs of a chunk are taken as advice only if they are of moderate size. */
static saltus_status find_samples(saltus_results *r, const char *name, H5T_class_t class, int rank,
                                  int n_columns, bool *found, saltus_error *err)
{
    enum { MOST_VALUES = 1 << 24 };
    saltus_status status = SALTUS_OK;
    const hsize_t points = rank == 3 ? (hsize_t)r->n_points : 1;
    hsize_t shape[3], chunk[3];
    *found = false;
    if (!saltus_h5_has(r, name)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_check(r, name, class, rank, shape, chunk, err));
    if ((rank == 3 && shape[1] != points) || shape[rank - 1] != (hsize_t)n_columns) {
        SALTUS_TRY(saltus_h5_damaged(r, name, "its shape does not fit times and names", err));
    }
    *found = true;
    r->runs = (int64_t)shape[0] < r->runs ? (int64_t)shape[0] : r->runs;
    if (rank == 3 && n_columns > 0) {
        const hsize_t most = MOST_VALUES / (points * (hsize_t)n_columns);
        r->chunk_runs = chunk[0] >= 1 && chunk[0] <= most ? (int64_t)chunk[0] : 1;
    }
done:
    return status;
}

/* Which part of a sweep it is, if it is one: then its points are no grid. */
static saltus_status find_part(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (H5Aexists((hid_t)r->file, "whole_runs") > 0) {
        SALTUS_TRY(
            saltus_h5_read_number(r, "/", "whole_runs", H5T_NATIVE_INT64, &r->runs_apart, err));
    }
    if (H5Aexists((hid_t)r->file, "first_point") > 0) {
        SALTUS_TRY(
            saltus_h5_read_number(r, "/", "first_point", H5T_NATIVE_INT64, &r->first_point, err));
        memset(r->axis_lengths, 0, (size_t)r->n_axes * sizeof *r->axis_lengths);
    }
    if (r->first_point < 0 || r->runs_apart < r->runs) {
        SALTUS_TRY(saltus_h5_damaged(r, "sweep_names", "it is no part of a sweep", err));
    }
done:
    return status;
}

/* The values of a sweep, if it is one, and how many points have come. */
static saltus_status read_axes(saltus_results *r, saltus_error *err)
{
    static const char *const held[] = {"stats/mean", "stats/variance", "stats/observables/mean",
                                       "stats/observables/variance"};
    saltus_status status = SALTUS_OK;
    hsize_t start[1] = {0};
    int common = 0;
    char *name = NULL;
    SALTUS_TRY(saltus_h5_read_names(r, "sweep_names", &r->n_axes, &r->axis_names, err));
    if (r->n_axes == 0) {
        return SALTUS_OK;
    }
    const hsize_t axes[1] = {(hsize_t)r->n_axes};
    r->axis_lengths = saltus_calloc((size_t)r->n_axes, sizeof *r->axis_lengths);
    r->axis_values = saltus_calloc((size_t)r->n_axes, sizeof *r->axis_values);
    SALTUS_NEED(r->axis_lengths && r->axis_values);
    SALTUS_TRY(saltus_h5_expect(r, "sweep_shape", H5T_INTEGER, 1, axes, err));
    SALTUS_TRY(
        saltus_h5_read(r, "sweep_shape", H5T_NATIVE_INT64, 1, start, axes, r->axis_lengths, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "sweep_points", H5T_NATIVE_INT64, &r->n_swept, err));
    SALTUS_TRY(
        saltus_h5_read_number(r, "/", "runs_per_point", H5T_NATIVE_INT64, &r->stats_runs, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64,
                                     &r->first_trajectory, err));
    SALTUS_TRY(
        saltus_h5_read_number(r, "/", "common_random_numbers", H5T_NATIVE_INT, &common, err));
    r->common_random_numbers = common != 0;
    r->runs = r->runs_apart = r->stats_runs;
    SALTUS_TRY(find_part(r, err));
    start[0] = (hsize_t)r->first_point;
    for (int i = 0; i < 4; ++i) {
        r->held[i] = saltus_h5_has(r, held[i]) ? H5Dopen2(r->file, held[i], H5P_DEFAULT) : 0;
    }
    for (int a = 0; a < r->n_axes; ++a) {
        hsize_t n[1];
        saltus_free(name);
        name = saltus_h5_named("sweep/%s", r->axis_names[a]);
        SALTUS_NEED(name);
        SALTUS_TRY(saltus_h5_check(r, name, H5T_FLOAT, 1, n, NULL, err));
        if (n[0] < start[0] || (int64_t)(n[0] - start[0]) < r->n_swept) {
            SALTUS_TRY(saltus_h5_damaged(r, name, "values are missing", err));
        }
        n[0] -= start[0];
        r->axis_values[a] = saltus_calloc(n[0], sizeof(double));
        SALTUS_NEED(r->axis_values[a]);
        SALTUS_TRY(saltus_h5_read(r, name, H5T_NATIVE_DOUBLE, 1, start, n, r->axis_values[a], err));
    }
    if (r->n_swept < 1) {
        status =
            saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no point of the sweep yet", r->path);
    }
done:
    saltus_free(name);
    return status;
}

/* They are written at the end: until then they have no bins. */
static saltus_status find_histograms(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t n_edges = 0;
    char *name = NULL;
    if (!saltus_h5_has(r, "histogram") || r->n_counts == 0) {
        return SALTUS_OK;
    }
    name = saltus_h5_named("histogram/%s/edges", r->count_names[0]);
    SALTUS_NEED(name);
    SALTUS_TRY(saltus_h5_check(r, name, H5T_FLOAT, 1, &n_edges, NULL, err));
    r->has_histogram = n_edges > 0;
done:
    saltus_free(name);
    return status;
}

static saltus_status read_layout(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[1] = {0};

    if (H5Aexists(r->file, "saltus_version") <= 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is an HDF5 file, but no result of Saltus", r->path);
    }
    SALTUS_TRY(read_axes(r, err));
    SALTUS_TRY(read_times(r, err));
    SALTUS_TRY(read_attributes(r, err));
    SALTUS_TRY(saltus_h5_read_names(r, "time_unit", &r->n_time_units, &r->time_unit, err));
    SALTUS_TRY(saltus_h5_read_names(r, "species", &r->n_counts, &r->count_names, err));
    SALTUS_TRY(saltus_h5_read_names(r, saltus_h5_either(r, "observable", "observable_names"),
                                    &r->n_observables, &r->observable_names, err));
    SALTUS_TRY(check_moments(r, err));
    if (r->n_axes == 0) {
        SALTUS_TRY(saltus_h5_check(r, saltus_h5_either(r, "run", "trajectories"), H5T_INTEGER, 1,
                                   shape, NULL, err));
        r->runs = (int64_t)shape[0];
    }
    r->chunk_runs = 1;
    SALTUS_TRY(
        find_samples(r, "observables", H5T_FLOAT, 3, r->n_observables, &r->has_observables, err));
    SALTUS_TRY(find_samples(r, "counts", H5T_INTEGER, 3, r->n_counts, &r->has_counts, err));
    SALTUS_TRY(find_samples(r, "final", H5T_INTEGER, 2, r->n_counts, &r->has_final, err));
    SALTUS_TRY(find_samples(r, "final_observables", H5T_FLOAT, 2, r->n_observables,
                            &r->has_final_observables, err));
    SALTUS_TRY(find_histograms(r, err));
    SALTUS_TRY(saltus_h5_read_names(r, "derived_names", &r->n_derived, &r->derived_names, err));
    if (r->n_axes == 0) {
        SALTUS_TRY(saltus_results_find_space(r, err));
    }
done:
    return status;
}

/* Of the head nothing is read yet. */
static saltus_status open_part(const char *path, bool is_head, saltus_results **out,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    saltus_results *r = saltus_calloc(1, sizeof *r);

    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(r);
    saltus_handle_add(&r->handle, SALTUS_HANDLE_RESULTS);
    r->file = H5I_INVALID_HID;
    r->path = saltus_strdup(path);
    SALTUS_NEED(r->path);
    SALTUS_TRY(open_file(r, err));
    if (!is_head) {
        SALTUS_TRY(read_layout(r, err));
    }
    *out = r;
    r = NULL;
done:
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_results_open_here(const char *path, saltus_results **out, saltus_error *err)
{
    return open_part(path, false, out, err);
}

saltus_status saltus_results_open_head(const char *path, const saltus_h5_kind *known,
                                       saltus_results **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind = known ? *known : SALTUS_H5_RESULT;
    if (!known) {
        SALTUS_TRY(saltus_h5_probe(path, &kind, err));
    }
    if (kind == SALTUS_H5_FOREIGN || kind == SALTUS_H5_DEADLY) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is no result of Saltus that can be read", path);
    }
    status = open_part(path, true, out, err);
done:
    return status;
}

void saltus_results_free_names(char **names, int n)
{
    for (int i = 0; names && i < n; ++i) {
        saltus_free(names[i]);
    }
    saltus_free(names);
}

void saltus_results_close(saltus_results *r)
{
    if (!r || !saltus_handle_take(&r->handle, SALTUS_HANDLE_RESULTS)) {
        return;
    }
    char *const texts[] = {r->model, r->method, r->device, r->started, r->version, r->path};
    saltus_results_free_names(r->count_names, r->n_counts);
    saltus_results_free_names(r->observable_names, r->n_observables);
    saltus_results_free_names(r->time_unit, r->n_time_units);
    saltus_results_free_names(r->derived_names, r->n_derived);
    saltus_results_free_names(r->axis_names, r->n_axes);
    for (int a = 0; r->axis_values && a < r->n_axes; ++a) {
        saltus_free(r->axis_values[a]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        saltus_free(texts[i]);
    }
    saltus_results_free_space(&r->space);
    saltus_free(r->axis_values);
    saltus_free(r->axis_lengths);
    saltus_free(r->times);
    for (int i = 0; i < 4; ++i) {
        if (r->held[i] > 0) {
            (void)H5Dclose(r->held[i]);
        }
    }
    if (r->file >= 0) {
        (void)H5Fclose(r->file);
    }
    saltus_free(r);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

saltus_status saltus_h5_read_quietly(const saltus_results *r, const char *name, hid_t type,
                                     int rank, const hsize_t *start, const hsize_t *count,
                                     void *out, saltus_error *err)
{
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    const saltus_status status = saltus_h5_read(r, name, type, rank, start, count, out, err);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_results_numbers(const saltus_results *r, int64_t run, int64_t n, int64_t *out,
                                     saltus_error *err)
{
    const hsize_t start[1] = {(hsize_t)run}, count[1] = {(hsize_t)n};
    if (r->n_axes > 0) {
        const int64_t of_point =
            r->common_random_numbers ? 0 : (r->first_point + r->at) * r->runs_apart;
        for (int64_t i = 0; i < n; ++i) {
            out[i] = r->first_trajectory + of_point + run + i;
        }
        return SALTUS_OK;
    }
    return saltus_h5_read_quietly(r, saltus_h5_either(r, "run", "trajectories"), H5T_NATIVE_INT64,
                                  1, start, count, out, err);
}

static saltus_status read_samples(const saltus_results *r, const char *name, hid_t type,
                                  saltus_box box, int n_columns, void *out, saltus_error *err)
{
    const hsize_t start[3] = {(hsize_t)box.run, (hsize_t)box.point, 0};
    const hsize_t count[3] = {(hsize_t)box.n_runs, (hsize_t)box.n_points, (hsize_t)n_columns};
    return saltus_h5_read_quietly(r, name, type, 3, start, count, out, err);
}

saltus_status saltus_results_counts(const saltus_results *r, saltus_box box, int64_t *out,
                                    saltus_error *err)
{
    return read_samples(r, "counts", H5T_NATIVE_INT64, box, r->n_counts, out, err);
}

saltus_status saltus_results_observables(const saltus_results *r, saltus_box box, double *out,
                                         saltus_error *err)
{
    return read_samples(r, "observables", H5T_NATIVE_DOUBLE, box, r->n_observables, out, err);
}

saltus_status saltus_results_final(const saltus_results *r, int64_t run, int64_t n, int64_t *out,
                                   saltus_error *err)
{
    const hsize_t start[2] = {(hsize_t)run, 0};
    const hsize_t count[2] = {(hsize_t)n, (hsize_t)r->n_counts};
    return saltus_h5_read_quietly(r, "final", H5T_NATIVE_INT64, 2, start, count, out, err);
}

saltus_status saltus_results_final_observables(const saltus_results *r, int64_t run, int64_t n,
                                               double *out, saltus_error *err)
{
    const hsize_t start[2] = {(hsize_t)run, 0};
    const hsize_t count[2] = {(hsize_t)n, (hsize_t)r->n_observables};
    return saltus_h5_read_quietly(r, "final_observables", H5T_NATIVE_DOUBLE, 2, start, count, out,
                                  err);
}

saltus_status saltus_results_moment(const saltus_results *r, bool observables, saltus_moment moment,
                                    double *out, saltus_error *err)
{
    const int n = observables ? r->n_observables : r->n_counts;
    const hsize_t start[2] = {0, 0}, count[2] = {(hsize_t)r->n_points, (hsize_t)n};
    if (n == 0) {
        return SALTUS_OK;
    }
    return saltus_h5_read_quietly(r, moment_names[observables][moment], H5T_NATIVE_DOUBLE, 2, start,
                                  count, out, err);
}

static saltus_status read_edges(const saltus_results *r, int species, saltus_results_bins *out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t start[1] = {0};
    hsize_t n = 0;
    char *name = saltus_h5_named("histogram/%s/edges", r->count_names[species]);
    SALTUS_NEED(name);
    SALTUS_TRY(saltus_h5_check(r, name, H5T_FLOAT, 1, &n, NULL, err));
    if (n < 2) {
        SALTUS_TRY(saltus_h5_damaged(r, name, "it has no bins", err));
    }
    out->n = (int64_t)n - 1;
    out->edges = saltus_calloc(n, sizeof *out->edges);
    SALTUS_NEED(out->edges);
    SALTUS_TRY(saltus_h5_read(r, name, H5T_NATIVE_DOUBLE, 1, start, &n, out->edges, err));
    for (hsize_t b = 1; b < n; ++b) {
        if (!isfinite(out->edges[b]) || !(out->edges[b] > out->edges[b - 1])) {
            SALTUS_TRY(saltus_h5_damaged(r, name, "edges do not rise", err));
        }
    }
done:
    saltus_free(name);
    return status;
}

/* [point][n_bins], or [point] where n_bins is 0: what a fixed range left out, if it is there. */
static saltus_status read_bins(const saltus_results *r, const char *pattern, int species,
                               int64_t n_bins, uint64_t **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t start[2] = {0}, shape[2] = {(hsize_t)r->n_points, (hsize_t)n_bins};
    const int rank = n_bins > 0 ? 2 : 1;
    char *name = saltus_h5_named(pattern, r->count_names[species]);
    SALTUS_NEED(name);
    if (rank == 1 && !saltus_h5_has(r, name)) {
        goto done;
    }
    SALTUS_TRY(saltus_h5_expect(r, name, H5T_INTEGER, rank, shape, err));
    *out = saltus_calloc(shape[0], (rank == 2 ? shape[1] : 1) * sizeof **out);
    SALTUS_NEED(*out);
    SALTUS_TRY(saltus_h5_read(r, name, H5T_NATIVE_UINT64, rank, start, shape, *out, err));
done:
    saltus_free(name);
    return status;
}

saltus_status saltus_results_histogram(const saltus_results *r, int species,
                                       saltus_results_bins *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    *out = (saltus_results_bins){0};
    SALTUS_TRY(read_edges(r, species, out, err));
    SALTUS_TRY(read_bins(r, "histogram/%s/counts", species, out->n, &out->counts, err));
    SALTUS_TRY(read_bins(r, "histogram/%s/below", species, 0, &out->below, err));
    SALTUS_TRY(read_bins(r, "histogram/%s/above", species, 0, &out->above, err));
done:
    if (status != SALTUS_OK) {
        saltus_results_free_bins(out);
    }
    saltus_h5_quiet_end(&quiet);
    return status;
}

void saltus_results_free_bins(saltus_results_bins *bins)
{
    saltus_free(bins->edges);
    saltus_free(bins->counts);
    saltus_free(bins->below);
    saltus_free(bins->above);
    *bins = (saltus_results_bins){0};
}

/* A file that was being written when its writer was killed may have fewer numbers of trajectories
 * than values. */
static saltus_status check_derived(const saltus_results *r, const char *path, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t shape[2] = {(hsize_t)r->n_swept, (hsize_t)r->runs};
    hsize_t found[1];
    if (r->n_axes > 0) {
        return saltus_h5_expect(r, path, H5T_FLOAT, 2, shape, err);
    }
    SALTUS_TRY(saltus_h5_check(r, path, H5T_FLOAT, 1, found, NULL, err));
    if (found[0] < (hsize_t)r->runs) {
        SALTUS_TRY(saltus_h5_damaged(r, path, "values are missing", err));
    }
done:
    return status;
}

saltus_status saltus_results_derived(const saltus_results *r, const char *name, double **out,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool is_swept = r->n_axes > 0;
    const hsize_t start[2] = {0, 0}, shape[2] = {(hsize_t)r->n_swept, (hsize_t)r->runs};
    char *path = saltus_h5_named("derived/%s", name);
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    *out = NULL;
    SALTUS_NEED(path);
    if (!saltus_h5_has(r, "derived") || !saltus_h5_has(r, path)) {
        goto done;
    }
    SALTUS_TRY(check_derived(r, path, err));
    *out = saltus_calloc(is_swept ? shape[0] : 1, shape[1] * sizeof **out);
    SALTUS_NEED(*out);
    SALTUS_TRY(saltus_h5_read(r, path, H5T_NATIVE_DOUBLE, is_swept ? 2 : 1, start,
                              is_swept ? shape : shape + 1, *out, err));
done:
    if (status != SALTUS_OK) {
        saltus_free(*out);
        *out = NULL;
    }
    saltus_free(path);
    saltus_h5_quiet_end(&quiet);
    return status;
}
