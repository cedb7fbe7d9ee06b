/* The result file of a sweep: every data set has the point of the sweep as its first axis, and
 * grows along it. */
#include "write/hdf5/sweep.h"

#include "core/clock.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_SECONDS = 5 };

/* The next set's row: where it is to be put. */
static void *next_row(saltus_sweep_file *f)
{
    saltus_row_set *s = &f->sets[f->cursor++];
    return s->gathered + (size_t)s->n_gathered * s->row_bytes;
}

static void put_moments(saltus_sweep_file *f, const saltus_collector *c)
{
    const saltus_statistics *s = &c->statistics;
    const saltus_real_statistics *r = &c->reals;
    if (s->width > 0) {
        double *mean = next_row(f), *variance = next_row(f), *min = next_row(f), *max = next_row(f);
        for (size_t q = 0; q < s->width; ++q) {
            mean[q] = saltus_statistics_mean(s, q);
            variance[q] = saltus_statistics_variance(s, q);
            min[q] = (double)s->min[q];
            max[q] = (double)s->max[q];
        }
    }
    if (r->width > 0) {
        double *mean = next_row(f), *variance = next_row(f), *min = next_row(f), *max = next_row(f);
        for (size_t q = 0; q < r->width; ++q) {
            mean[q] = saltus_real_statistics_mean(r, q);
            variance[q] = saltus_real_statistics_variance(r, q);
            min[q] = r->min[q];
            max[q] = r->max[q];
        }
    }
}

/* All points of the sweep have as many bins: those that the data leave out are empty. */
static void put_histograms(saltus_sweep_file *f, const saltus_collector *c)
{
    const saltus_histogram *h = &c->histogram;
    for (int column = 0; column < h->n_columns && h->n_bins > 0; ++column) {
        double *edges = next_row(f);
        uint64_t *counts = next_row(f), *packed = f->scratch;
        const int64_t n = saltus_histogram_column(h, column, edges, packed);
        for (int64_t i = n; i < h->n_bins; ++i) {
            edges[i + 1] = edges[i] + (edges[1] - edges[0]);
        }
        memset(counts, 0, (size_t)(h->n_points * h->n_bins) * sizeof *counts);
        for (int64_t p = 0; p < h->n_points; ++p) {
            memcpy(counts + p * h->n_bins, packed + p * n, (size_t)n * sizeof *counts);
        }
        if (h->edges) {
            uint64_t *below = next_row(f), *above = next_row(f);
            for (int64_t p = 0; p < h->n_points; ++p) {
                below[p] = h->below[p * h->n_columns + column];
                above[p] = h->above[p * h->n_columns + column];
            }
        }
    }
}

/* Now and then the file is brought up to date, for readers and in case of a kill. */
static saltus_status flush_sometimes(saltus_sweep_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const double now = saltus_now();
    if (f->last_flush == 0.0) {
        f->last_flush = now;
    }
    if (now - f->last_flush < FLUSH_SECONDS) {
        return SALTUS_OK;
    }
    f->last_flush = now;
    for (size_t i = 0; i < f->n_sets; ++i) {
        SALTUS_TRY(saltus_rows_write(f, &f->sets[i], err));
    }
    if (saltus_h5_set_int64(f->file, "sweep_points", f->n_rows) < 0 ||
        saltus_h5_set_int64(f->file, "trajectories", f->n_rows * f->what.n_runs) < 0 ||
        H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_TRY(saltus_sweep_fail(f, NULL, 0, err));
    }
done:
    return status;
}

saltus_status saltus_sweep_file_deliver(void *user, int64_t point, saltus_sink *sink,
                                        saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_sweep_file *f = user;
    saltus_collector *c = sink->user;
    const saltus_collection *w = &f->what;
    saltus_h5_quiet quiet;
    (void)point;
    saltus_h5_quiet_begin(&quiet);
    f->cursor = 0;
    put_moments(f, c);
    if (c->counts) {
        saltus_row_set *s = &f->sets[f->cursor];
        memcpy(next_row(f), c->counts, s->row_bytes);
    }
    if (c->observables) {
        saltus_row_set *s = &f->sets[f->cursor];
        memcpy(next_row(f), c->observables, s->row_bytes);
    }
    put_histograms(f, c);
    for (int d = 0; d < w->derivation.n; ++d) {
        memcpy(next_row(f), c->derived + d * w->n_runs, (size_t)w->n_runs * sizeof(double));
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_row_set *s = &f->sets[i];
        if (++s->n_gathered == s->capacity) {
            SALTUS_TRY(saltus_rows_write(f, s, err));
        }
    }
    ++f->n_rows;
    status = flush_sometimes(f, err);
done:
    saltus_collector_destroy(c);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_sweep_file_begin_point(void *user, int64_t point, const saltus_plan *plan,
                                            saltus_sink **sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_sweep_file *f = user;
    saltus_collector *c = NULL;
    (void)point;
    if (saltus_plan_n_counts(plan) != f->what.n_counts ||
        saltus_plan_n_observables(plan) != f->what.n_observables) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the model records other species here than elsewhere");
    }
    SALTUS_TRY(saltus_collector_create(&f->what, &c, err));
    *sink = &c->sink;
done:
    return status;
}

void saltus_sweep_file_discard(void *user, saltus_sink *sink)
{
    (void)user;
    saltus_collector_destroy(sink->user);
}

void saltus_sweep_file_free(saltus_sweep_file *f)
{
    if (!f) {
        return;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_close_dataset(&f->sets[i].set);
        saltus_free(f->sets[i].gathered);
    }
    if (f->file >= 0) {
        hsize_t end = 0;
        if (H5Fget_filesize(f->file, &end) >= 0 && f->reserve.fd >= 0 &&
            lseek(f->reserve.fd, 0, SEEK_END) < (off_t)end) {
            (void)!ftruncate(f->reserve.fd, (off_t)end); /* or it would be taken for cut off */
        }
        (void)H5Fclose(f->file);
    }
    saltus_reserve_close(&f->reserve);
    saltus_derived_free(&f->derived);
    saltus_free(f->sets);
    saltus_free(f->edges);
    saltus_free(f->scratch);
    saltus_free(f->times);
    saltus_free(f->path);
    saltus_free(f);
}

const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file)
{
    return file ? &file->sink : NULL;
}

saltus_status saltus_sweep_file_close(saltus_sweep_file *f, const saltus_run_report *report,
                                      saltus_error *err)
{
    if (!f || !saltus_handle_take(&f->handle, SALTUS_HANDLE_SWEEP_FILE)) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    herr_t rc = 0;
    saltus_h5_quiet_begin(&quiet);
    for (size_t i = 0; i < f->n_sets && !f->broken; ++i) {
        status = saltus_rows_write(f, &f->sets[i], err);
    }
    const int complete = f->n_rows == saltus_sweep_n_points(f->sweep);
    rc |= saltus_h5_set_int64(f->file, "sweep_points", f->n_rows);
    rc |= saltus_h5_set_int64(f->file, "trajectories", f->n_rows * f->what.n_runs);
    if (report) {
        rc |= saltus_h5_set_int64(f->file, "events", report->events);
        rc |= saltus_h5_set_number(f->file, "seconds", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                   &report->seconds);
    }
    rc |= saltus_h5_set_number(f->file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &complete);
    saltus_reserve_release(&f->reserve);
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_close_dataset(&f->sets[i].set);
    }
    rc |= H5Fflush(f->file, H5F_SCOPE_GLOBAL);
    if (rc < 0 && status == SALTUS_OK) {
        status = saltus_sweep_fail(f, NULL, 0, err);
    }
    saltus_sweep_file_free(f);
    saltus_h5_quiet_end(&quiet);
    return status;
}
