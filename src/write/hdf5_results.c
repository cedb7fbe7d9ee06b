#include "write/results.h"

#include "core/memory.h"
#include "write/hdf5_common.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static saltus_status damaged(const saltus_results *r, const char *what, saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_IO, "%s: %s cannot be read: %s", r->path, what,
                            saltus_h5_cause());
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* Open the file with a sentence for what people meet: no file, some other file, half a file. No
 * lock is taken, so that a run can be looked at while it goes on. */
static saltus_status open_file(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hid_t properties = H5Pcreate(H5P_FILE_ACCESS);

    (void)H5Pset_fclose_degree(properties, H5F_CLOSE_STRONG);
    (void)H5Pset_file_locking(properties, false, true);
    if (access(r->path, R_OK) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", r->path, strerror(errno));
    }
    if (H5Fis_hdf5(r->path) <= 0) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: is no HDF5 file", r->path);
        saltus_error_hint(err, "result files are written by 'saltus run MODEL -o FILE.h5'");
        goto done;
    }
    r->file = H5Fopen(r->path, H5F_ACC_RDONLY, properties);
    if (r->file < 0) {
        if (strstr(saltus_h5_cause(), "truncated")) {
            status = saltus_error_set(err, SALTUS_E_IO, "%s: the file is truncated", r->path);
            saltus_error_hint(err, "it is shorter than it was when written; copy it again");
            goto done;
        }
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", r->path, saltus_h5_cause());
    }
done:
    (void)H5Pclose(properties);
    return status;
}

/* The lengths of a data set's axes; false when it is not there or has another number of axes. */
static bool shape_of(hid_t file, const char *name, int rank, hsize_t *shape)
{
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0) {
        return false;
    }
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t space = set < 0 ? -1 : H5Dget_space(set);
    const bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == rank &&
                      H5Sget_simple_extent_dims(space, shape, NULL) == rank;
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    saltus_h5_close_dataset(&set);
    return good;
}

static saltus_status read_names(const saltus_results *r, const char *set_name, int *n,
                                char ***names, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[1] = {0};
    char **text = NULL;
    hid_t set = -1, space = -1, type = -1;

    if (!shape_of(r->file, set_name, 1, shape) || shape[0] == 0) {
        *n = 0;
        return SALTUS_OK;
    }
    *names = saltus_calloc(shape[0], sizeof **names);
    text = saltus_calloc(shape[0], sizeof *text);
    SALTUS_NEED(*names);
    SALTUS_NEED(text);
    *n = (int)shape[0];
    set = H5Dopen2(r->file, set_name, H5P_DEFAULT);
    space = H5Dget_space(set);
    type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
        SALTUS_TRY(damaged(r, set_name, err));
    }
    for (int i = 0; i < *n; ++i) {
        (*names)[i] = saltus_strdup(text[i] ? text[i] : "");
        SALTUS_NEED((*names)[i]);
    }
done:
    if (space >= 0) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, text);
        (void)H5Sclose(space);
        (void)H5Tclose(type);
    }
    saltus_h5_close_dataset(&set);
    saltus_free(text);
    return status;
}

static saltus_status read_attributes(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int complete = 0;
    r->version = saltus_h5_get_text(r->file, "saltus_version");
    r->model = saltus_h5_get_text(r->file, "model");
    r->method = saltus_h5_get_text(r->file, "method");
    r->device = saltus_h5_get_text(r->file, "device");
    r->started = saltus_h5_get_text(r->file, "started");
    SALTUS_NEED(r->version);
    SALTUS_NEED(r->model);
    SALTUS_NEED(r->method);
    SALTUS_NEED(r->device);
    SALTUS_NEED(r->started);
    saltus_h5_get_number(r->file, "requested", H5T_NATIVE_INT64, &r->requested);
    saltus_h5_get_number(r->file, "events", H5T_NATIVE_INT64, &r->events);
    saltus_h5_get_number(r->file, "seconds", H5T_NATIVE_DOUBLE, &r->seconds);
    saltus_h5_get_number(r->file, "complete", H5T_NATIVE_INT, &complete);
    r->complete = complete != 0;
    hid_t stats = H5Gopen2(r->file, "stats", H5P_DEFAULT);
    if (stats >= 0) {
        saltus_h5_get_number(stats, "trajectories", H5T_NATIVE_INT64, &r->stats_runs);
    }
    saltus_h5_close_group(&stats);
done:
    return status;
}

/* Whether there are samples [run][point][column]; a file may have fewer runs there than it has
 * numbers if its writer was killed. */
static bool find_samples(saltus_results *r, const char *name, int n_columns)
{
    hsize_t shape[3], chunk[3];
    if (!shape_of(r->file, name, 3, shape) || shape[1] != (hsize_t)r->n_points ||
        shape[2] != (hsize_t)n_columns) {
        return false;
    }
    r->runs = (int64_t)shape[0] < r->runs ? (int64_t)shape[0] : r->runs;
    hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
    const hid_t how = H5Dget_create_plist(set);
    if (H5Pget_chunk(how, 3, chunk) == 3) {
        r->chunk_runs = (int64_t)chunk[0];
    }
    (void)H5Pclose(how);
    saltus_h5_close_dataset(&set);
    return true;
}

static saltus_status read_layout(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[2] = {0};

    if (H5Aexists(r->file, "saltus_version") <= 0 || !shape_of(r->file, "time", 1, shape) ||
        shape[0] < 1) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is an HDF5 file, but no result of Saltus", r->path);
    }
    r->n_points = (int64_t)shape[0];
    r->times = saltus_calloc(shape[0], sizeof *r->times);
    SALTUS_NEED(r->times);
    hid_t set = H5Dopen2(r->file, "time", H5P_DEFAULT);
    const herr_t rc = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, r->times);
    saltus_h5_close_dataset(&set);
    if (rc < 0) {
        SALTUS_TRY(damaged(r, "/time", err));
    }
    SALTUS_TRY(read_attributes(r, err));
    SALTUS_TRY(read_names(r, "species", &r->n_counts, &r->count_names, err));
    SALTUS_TRY(read_names(r, "observable_names", &r->n_observables, &r->observable_names, err));
    r->runs = shape_of(r->file, "trajectories", 1, shape) ? (int64_t)shape[0] : 0;
    r->chunk_runs = 1;
    r->has_observables = find_samples(r, "observables", r->n_observables);
    r->has_counts = find_samples(r, "counts", r->n_counts);
    r->has_final = shape_of(r->file, "final", 2, shape) && shape[1] == (hsize_t)r->n_counts;
    r->has_histogram = H5Lexists(r->file, "histogram", H5P_DEFAULT) > 0;
done:
    return status;
}

saltus_status saltus_results_open(const char *path, saltus_results **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    saltus_results *r = saltus_calloc(1, sizeof *r);

    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(r);
    r->file = H5I_INVALID_HID;
    r->path = saltus_strdup(path);
    SALTUS_NEED(r->path);
    SALTUS_TRY(open_file(r, err));
    SALTUS_TRY(read_layout(r, err));
    *out = r;
    r = NULL;
done:
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}

void saltus_results_close(saltus_results *r)
{
    if (!r) {
        return;
    }
    for (int i = 0; r->count_names && i < r->n_counts; ++i) {
        saltus_free(r->count_names[i]);
    }
    for (int i = 0; r->observable_names && i < r->n_observables; ++i) {
        saltus_free(r->observable_names[i]);
    }
    saltus_free(r->count_names);
    saltus_free(r->observable_names);
    saltus_free(r->times);
    saltus_free(r->model);
    saltus_free(r->method);
    saltus_free(r->device);
    saltus_free(r->started);
    saltus_free(r->version);
    saltus_free(r->path);
    if (r->file >= 0) {
        (void)H5Fclose(r->file);
    }
    saltus_free(r);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

static saltus_status read_slab(const saltus_results *r, const char *name, hid_t type, int rank,
                               const hsize_t *start, const hsize_t *count, void *out,
                               saltus_error *err)
{
    saltus_h5_quiet quiet;
    herr_t rc = -1;
    saltus_status status = SALTUS_OK;

    saltus_h5_quiet_begin(&quiet);
    hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
    if (set >= 0) {
        const hid_t from = H5Dget_space(set), to = H5Screate_simple(rank, count, NULL);
        if (H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
            rc = H5Dread(set, type, to, from, H5P_DEFAULT, out);
        }
        (void)H5Sclose(from);
        (void)H5Sclose(to);
    }
    if (rc < 0) {
        status = damaged(r, name, err);
    }
    saltus_h5_close_dataset(&set);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_results_numbers(const saltus_results *r, int64_t run, int64_t n, int64_t *out,
                                     saltus_error *err)
{
    const hsize_t start[1] = {(hsize_t)run}, count[1] = {(hsize_t)n};
    return read_slab(r, "trajectories", H5T_NATIVE_INT64, 1, start, count, out, err);
}

static saltus_status read_samples(const saltus_results *r, const char *name, hid_t type,
                                  saltus_box box, int n_columns, void *out, saltus_error *err)
{
    const hsize_t start[3] = {(hsize_t)box.run, (hsize_t)box.point, 0};
    const hsize_t count[3] = {(hsize_t)box.n_runs, (hsize_t)box.n_points, (hsize_t)n_columns};
    return read_slab(r, name, type, 3, start, count, out, err);
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
    return read_slab(r, "final", H5T_NATIVE_INT64, 2, start, count, out, err);
}

saltus_status saltus_results_moment(const saltus_results *r, bool observables, saltus_moment moment,
                                    double *out, saltus_error *err)
{
    static const char *const names[2][4] = {
        {"stats/mean", "stats/variance", "stats/min", "stats/max"},
        {"stats/observables/mean", "stats/observables/variance", "stats/observables/min",
         "stats/observables/max"}};
    const int n = observables ? r->n_observables : r->n_counts;
    const hsize_t start[2] = {0, 0}, count[2] = {(hsize_t)r->n_points, (hsize_t)n};
    if (n == 0) {
        return SALTUS_OK;
    }
    return read_slab(r, names[observables][moment], H5T_NATIVE_DOUBLE, 2, start, count, out, err);
}

saltus_status saltus_results_histogram(const saltus_results *r, int species, int64_t *n_bins,
                                       double **edges, uint64_t **counts, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t start[2] = {0, 0};
    hsize_t shape[2] = {0, 0};
    double *e = NULL;
    uint64_t *n = NULL;
    char *escaped = saltus_h5_escape(r->count_names[species]), *name = NULL;
    const size_t size = escaped ? strlen(escaped) + 32 : 0;
    saltus_h5_quiet quiet;

    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(escaped);
    name = saltus_calloc(size, 1);
    SALTUS_NEED(name);
    (void)snprintf(name, size, "histogram/%s/counts", escaped);
    if (!shape_of(r->file, name, 2, shape) || shape[0] != (hsize_t)r->n_points || shape[1] < 1) {
        SALTUS_TRY(damaged(r, name, err));
    }
    e = saltus_calloc(shape[1] + 1, sizeof *e);
    n = saltus_calloc(shape[0], shape[1] * sizeof *n);
    SALTUS_NEED(e);
    SALTUS_NEED(n);
    SALTUS_TRY(read_slab(r, name, H5T_NATIVE_UINT64, 2, start, shape, n, err));
    (void)snprintf(name, size, "histogram/%s/edges", escaped);
    *n_bins = (int64_t)shape[1];
    shape[0] = shape[1] + 1;
    SALTUS_TRY(read_slab(r, name, H5T_NATIVE_DOUBLE, 1, start, shape, e, err));
    *edges = e;
    *counts = n;
    e = NULL;
    n = NULL;
done:
    saltus_free(e);
    saltus_free(n);
    saltus_free(name);
    saltus_free(escaped);
    saltus_h5_quiet_end(&quiet);
    return status;
}
