#include "write/hdf5/file.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static herr_t put_doubles(hid_t set, const double *values)
{
    return H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

static herr_t write_mean_and_variance(const saltus_statistics *s, const saltus_h5_moments *sets,
                                      double *v)
{
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = saltus_statistics_mean(s, q);
    }
    const herr_t rc = put_doubles(sets->mean, v);
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = saltus_statistics_variance(s, q);
    }
    return rc | put_doubles(sets->variance, v);
}

static herr_t write_count_moments(const saltus_hdf5_sink *sink)
{
    const saltus_statistics *s = &sink->statistics;
    const saltus_h5_moments *sets = &sink->count_moments;
    double *v = sink->scratch;
    herr_t rc = write_mean_and_variance(s, sets, v);
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = s->n ? (double)s->min[q] : (double)NAN;
    }
    rc |= put_doubles(sets->min, v);
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = s->n ? (double)s->max[q] : (double)NAN;
    }
    return rc | put_doubles(sets->max, v);
}

static herr_t write_real_moments(const saltus_hdf5_sink *sink)
{
    const saltus_real_statistics *s = &sink->real_statistics;
    const saltus_h5_moments *sets = &sink->observable_moments;
    double *v = sink->scratch;
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = saltus_real_statistics_mean(s, q);
    }
    herr_t rc = put_doubles(sets->mean, v);
    for (size_t q = 0; q < s->width; ++q) {
        v[q] = saltus_real_statistics_variance(s, q);
    }
    rc |= put_doubles(sets->variance, v);
    rc |= put_doubles(sets->min, s->min);
    return rc | put_doubles(sets->max, s->max);
}

herr_t saltus_h5_write_stats(saltus_hdf5_sink *sink)
{
    herr_t rc = saltus_h5_set_int64(sink->stats, "trajectories", sink->rows);
    rc |= saltus_h5_set_int64(sink->file, "trajectories", sink->rows);
    if (sink->layout.n_counts > 0) {
        rc |= write_count_moments(sink);
    }
    if (sink->layout.n_observables > 0) {
        rc |= write_real_moments(sink);
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (sink->split_moments[i].mean >= 0) {
            rc |= write_mean_and_variance(&sink->split_statistics[i], &sink->split_moments[i],
                                          sink->scratch);
        }
    }
    return rc;
}

/* [point][bin] with deflate, because most bins are empty. */
static herr_t write_table(hid_t group, const char *name, hsize_t n_points, hsize_t n_bins,
                          const uint64_t *values)
{
    const hsize_t shape[2] = {n_points, n_bins};
    const hsize_t rows = 128 * 1024 / n_bins;
    const hsize_t chunk[2] = {rows < 1 ? 1 : rows < n_points ? rows : n_points, n_bins};
    const hid_t space = H5Screate_simple(2, shape, NULL);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    herr_t rc = -1;

    (void)H5Pset_chunk(how, 2, chunk);
    (void)H5Pset_shuffle(how);
    (void)H5Pset_deflate(how, 1);
    hid_t set = H5Dcreate2(group, name, H5T_STD_U64LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (set >= 0) {
        rc = H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    saltus_h5_close_dataset(&set);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    return rc;
}

/* How many values lay outside a fixed range, [point]; counts is only room to gather them. */
static herr_t write_outside(hid_t group, const char *name, const saltus_histogram *h,
                            const uint64_t *outside, int column, uint64_t *counts)
{
    const hsize_t shape[1] = {(hsize_t)h->n_points};
    for (int64_t p = 0; p < h->n_points; ++p) {
        counts[p] = outside[p * h->n_columns + column];
    }
    hid_t set =
        saltus_h5_write_array(group, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, shape, counts);
    const herr_t rc = set < 0 ? -1 : 0;
    saltus_h5_close_dataset(&set);
    return rc;
}

static herr_t write_histogram(hid_t parent, const char *name, const char *escaped,
                              const saltus_histogram *h, int column, double *edges,
                              uint64_t *counts)
{
    hid_t group = H5Gcreate2(parent, escaped, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t rc = group < 0 ? -1 : saltus_h5_set_text(group, "name", name);
    if (rc >= 0) {
        const int64_t bins = saltus_histogram_column(h, column, edges, counts);
        const hsize_t shape[1] = {(hsize_t)bins + 1};
        hid_t set = saltus_h5_write_array(group, "edges", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1,
                                          shape, edges);
        rc = set < 0 ? -1 : 0;
        saltus_h5_close_dataset(&set);
        rc |= write_table(group, "counts", (hsize_t)h->n_points, (hsize_t)bins, counts);
    }
    if (rc >= 0 && h->edges) {
        rc |= write_outside(group, "below", h, h->below, column, counts);
        rc |= write_outside(group, "above", h, h->above, column, counts);
    }
    saltus_h5_close_group(&group);
    return rc;
}

static saltus_status write_histograms(saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_histogram *h = &sink->histogram;
    double *edges = saltus_calloc((size_t)h->n_bins + 1, sizeof *edges);
    uint64_t *counts = saltus_calloc((size_t)h->n_points, (size_t)h->n_bins * sizeof *counts);
    char *escaped = NULL;
    hid_t parent = H5Gcreate2(sink->file, "histogram", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    SALTUS_NEED(edges);
    SALTUS_NEED(counts);
    for (int c = 0; c < h->n_columns; ++c) {
        const char *name = sink->layout.count_names[c];
        saltus_free(escaped);
        escaped = saltus_h5_escape(name);
        SALTUS_NEED(escaped);
        if (parent < 0 || write_histogram(parent, name, escaped, h, c, edges, counts) < 0) {
            SALTUS_TRY(saltus_h5_fail(sink, 0, err));
        }
    }
done:
    saltus_h5_close_group(&parent);
    saltus_free(escaped);
    saltus_free(edges);
    saltus_free(counts);
    return status;
}

/* HDF5 1.10 remembers the chunk whose writing failed as if it were there, and shrinking the data
 * set would then take its neighbour out of the index; a data set opened anew knows nothing of it.
 */
static void cut_set(saltus_hdf5_sink *sink, hid_t *set, const char *name, hsize_t a)
{
    const hsize_t shape[2] = {(hsize_t)sink->rows, a};
    if (*set >= 0) {
        saltus_h5_close_dataset(set);
        *set = H5Dopen2(sink->file, name, H5P_DEFAULT);
        (void)H5Dset_extent(*set, shape);
    }
}

static void cut_samples(saltus_hdf5_sink *sink, saltus_h5_samples *s)
{
    if (s->set >= 0) {
        saltus_h5_close_dataset(&s->set);
        s->set = H5Dopen2(sink->file, s->name, H5P_DEFAULT);
        (void)saltus_h5_resize(s, (hsize_t)sink->rows);
    }
}

/* After a failed write: every axis of runs ends behind the last block that came whole. */
static void cut(saltus_hdf5_sink *sink)
{
    cut_samples(sink, &sink->counts);
    cut_samples(sink, &sink->observables);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        cut_samples(sink, &sink->splits[i]);
    }
    cut_set(sink, &sink->final, "final", (hsize_t)sink->layout.n_counts);
    cut_set(sink, &sink->final_observables, "final_observables",
            (hsize_t)sink->layout.n_observables);
    cut_set(sink, &sink->trajectories, "trajectories", 0);
    saltus_h5_derived_cut(sink);
}

static herr_t write_report(saltus_hdf5_sink *sink, const saltus_run_report *report)
{
    herr_t rc = saltus_h5_write_stats(sink);
    if (report) {
        rc |= saltus_h5_set_int64(sink->file, "events", report->events);
        rc |= saltus_h5_set_number(sink->file, "seconds", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                   &report->seconds);
    }
    return rc;
}

static void close_sets(saltus_hdf5_sink *sink)
{
    saltus_h5_moments *moments[2 + SALTUS_N_SPLITS] = {&sink->count_moments,
                                                       &sink->observable_moments};
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        moments[2 + i] = &sink->split_moments[i];
        saltus_h5_close_dataset(&sink->splits[i].set);
    }
    saltus_h5_close_frames(sink->frames);
    saltus_h5_derived_close(sink);
    for (int i = 0; i < 2 + SALTUS_N_SPLITS; ++i) {
        saltus_h5_close_dataset(&moments[i]->mean);
        saltus_h5_close_dataset(&moments[i]->variance);
        saltus_h5_close_dataset(&moments[i]->min);
        saltus_h5_close_dataset(&moments[i]->max);
    }
    saltus_h5_close_dataset(&sink->counts.set);
    saltus_h5_close_dataset(&sink->observables.set);
    saltus_h5_close_dataset(&sink->final);
    saltus_h5_close_dataset(&sink->final_observables);
    saltus_h5_close_dataset(&sink->trajectories);
    saltus_h5_close_group(&sink->stats);
}

/* Close after a failure. The file is made as long as HDF5 has told it to be, or it would be taken
 * for truncated. */
static void close_anyhow(saltus_hdf5_sink *sink)
{
    hsize_t end = 0;
    close_sets(sink);
    if (H5Fget_filesize(sink->file, &end) >= 0 && sink->reserve.fd >= 0 &&
        lseek(sink->reserve.fd, 0, SEEK_END) < (off_t)end &&
        ftruncate(sink->reserve.fd, (off_t)end) != 0) {
        sink->broken = true;
    }
    (void)H5Fclose(sink->file);
    sink->file = H5I_INVALID_HID;
}

static void free_names(const char *const *names, int n)
{
    for (int i = 0; names && i < n; ++i) {
        saltus_free((void *)names[i]);
    }
    saltus_free((void *)names);
}

void saltus_h5_free(saltus_hdf5_sink *sink)
{
    if (!sink) {
        return;
    }
    if (sink->file >= 0) {
        close_anyhow(sink);
    }
    saltus_reserve_close(&sink->reserve);
    saltus_statistics_free(&sink->statistics);
    saltus_real_statistics_free(&sink->real_statistics);
    saltus_histogram_free(&sink->histogram);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        saltus_statistics_free(&sink->split_statistics[i]);
    }
    saltus_h5_free_frames(sink->frames);
    saltus_h5_derived_free(sink);
    (void)pthread_mutex_destroy(&sink->lock);
    free_names(sink->layout.count_names, sink->layout.n_counts);
    free_names(sink->layout.observable_names, sink->layout.n_observables);
    saltus_free((void *)sink->layout.times);
    saltus_free(sink->scratch);
    saltus_free(sink->path);
    saltus_free(sink);
}

saltus_status saltus_hdf5_sink_close(saltus_hdf5_sink *sink, const saltus_run_report *report,
                                     saltus_error *err)
{
    if (!sink || !saltus_handle_take(&sink->handle, SALTUS_HANDLE_SINK)) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const int complete = sink->rows == sink->layout.n_trajectories;
    saltus_h5_quiet quiet;

    saltus_h5_quiet_begin(&quiet);
    if (sink->broken) {
        cut(sink);
    }
    sink->closing = true;
    if (write_report(sink, report) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    if (sink->histogram.n_bins > 0) {
        SALTUS_TRY(write_histograms(sink, err));
    }
    if (saltus_h5_set_number(sink->file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &complete) <
        0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    saltus_reserve_release(&sink->reserve);
    close_sets(sink);
    const hid_t file = sink->file;
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    sink->file = H5I_INVALID_HID;
    if (H5Fclose(file) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
done:
    saltus_h5_free(sink);
    saltus_h5_quiet_end(&quiet);
    return status;
}
