/* The result file of a sweep: every data set has the point of the sweep as its first axis, and
 * grows along it. Rows are gathered and written many at a time. */
#include "write/hdf5_file.h"

#include "core/memory.h"
#include "ensemble/collect.h"
#include "ensemble/sweep.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    ROWS_BYTES =
        256 * 1024, /* gathered of a data set; raw size of a chunk, unless a row is larger */
    RESCUED_BYTES = 3 * 1024 * 1024,             /* of rows that are gathered when writing fails */
    CLOSING_BYTES = RESCUED_BYTES + 1024 * 1024, /* these, attributes, indices at the end */
    SLACK_BYTES = 512 * 1024,                    /* for what HDF5 writes beside a data set's rows */
};

/* One data set [point of the sweep][…]. */
typedef struct row_set {
    hid_t set, memory_type;
    int rank;
    hsize_t shape[4]; /* [0]: rows in the file */
    size_t row_bytes;
    int64_t n_gathered, capacity;
    char *gathered;
} row_set;

struct saltus_sweep_file {
    saltus_sweep_sink sink;
    saltus_collection what;
    saltus_reduction reduction;
    double *edges; /* of fixed bins, for the reduction */
    const saltus_sweep *sweep;
    char *path, started[32];
    saltus_reserve reserve;
    hid_t file;
    row_set *sets; /* in the order in which a point's rows come */
    size_t n_sets, capacity;
    size_t cursor; /* the set whose row is next */
    int64_t n_rows;
    void *scratch;
    saltus_derived *derived;
    double *times;
    int level;
    bool broken;
};

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* Chunks of whole rows, or of as many items of a row's first axis as make a good size. */
static void choose_chunk(const row_set *s, hsize_t chunk[4])
{
    size_t item = s->row_bytes;
    chunk[0] = (hsize_t)s->capacity;
    for (int i = 1; i < s->rank; ++i) {
        chunk[i] = s->shape[i];
    }
    for (int i = 1; i < s->rank && item > ROWS_BYTES; ++i) {
        item /= (size_t)s->shape[i];
        const size_t n = item > 0 ? ROWS_BYTES / item : 1;
        chunk[i] = n < 1 ? 1 : n < s->shape[i] ? n : s->shape[i];
        if (item <= ROWS_BYTES) {
            break;
        }
    }
}

static saltus_status add_set(saltus_sweep_file *f, hid_t parent, const char *name, hid_t file_type,
                             hid_t memory_type, int rank, const hsize_t *rest, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t chunk[4], most[4] = {H5S_UNLIMITED};
    row_set *grown = saltus_grow(f->sets, f->n_sets, &f->capacity, sizeof *f->sets);
    SALTUS_NEED(grown);
    f->sets = grown;
    row_set *s = &grown[f->n_sets++];
    *s = (row_set){.set = -1, .memory_type = memory_type, .rank = rank, .row_bytes = 8};
    for (int i = 1; i < rank; ++i) {
        s->shape[i] = most[i] = rest[i - 1];
        s->row_bytes *= (size_t)rest[i - 1];
    }
    const int64_t fit = s->row_bytes > 0 ? (int64_t)(ROWS_BYTES / s->row_bytes) : 1;
    const int64_t n_points = saltus_sweep_n_points(f->sweep);
    s->capacity = fit < 1 ? 1 : fit < n_points ? fit : n_points;
    s->gathered = saltus_calloc((size_t)s->capacity, s->row_bytes);
    SALTUS_NEED(s->gathered);
    choose_chunk(s, chunk);
    const hid_t space = H5Screate_simple(rank, s->shape, most);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    (void)H5Pset_chunk_cache(access, 7, 2 * (size_t)ROWS_BYTES, 1.0);
    (void)H5Pset_chunk(how, rank, chunk);
    (void)H5Pset_fill_time(how, H5D_FILL_TIME_IFSET);
    if (f->level > 0) {
        (void)H5Pset_shuffle(how);
        (void)H5Pset_deflate(how, (unsigned)f->level);
    }
    s->set = H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, how, access);
    (void)H5Pclose(access);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    if (s->set < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    return status;
}

/* Append the first n gathered rows, for which there is room. */
static bool append(row_set *s, int64_t n)
{
    hsize_t start[4] = {s->shape[0]}, count[4];
    memcpy(count, s->shape, sizeof count);
    count[0] = (hsize_t)n;
    s->shape[0] += count[0];
    herr_t rc = H5Dset_extent(s->set, s->shape);
    const hid_t in = H5Screate_simple(s->rank, count, NULL), out = H5Dget_space(s->set);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dwrite(s->set, s->memory_type, in, out, H5P_DEFAULT, s->gathered);
    rc = rc < 0 ? rc : H5Dflush(s->set); /* while its space is there */
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    s->shape[0] -= rc < 0 ? count[0] : 0;
    return rc >= 0;
}

/* After a failure: the points that are in some data sets and gathered of the others go to these,
 * in the space that was held for closing, and no data set has more points than all have. */
static void rescue(saltus_sweep_file *f, const row_set *failed)
{
    hsize_t most = 0, least;
    size_t bytes = 0;
    for (size_t i = 0; i < f->n_sets; ++i) {
        most = f->sets[i].shape[0] > most ? f->sets[i].shape[0] : most;
    }
    most = failed ? failed->shape[0] : most;
    least = most;
    for (size_t i = 0; i < f->n_sets; ++i) {
        const row_set *s = &f->sets[i];
        bytes += s->shape[0] < most ? (size_t)s->capacity * s->row_bytes : 0;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        row_set *s = &f->sets[i];
        if (s->shape[0] < most && bytes <= RESCUED_BYTES) {
            (void)append(s, (int64_t)(most - s->shape[0]));
        }
        least = s->shape[0] < least ? s->shape[0] : least;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        f->sets[i].shape[0] = least;
        (void)H5Dset_extent(f->sets[i].set, f->sets[i].shape);
    }
    f->n_rows = (int64_t)least;
}

static saltus_status fail(saltus_sweep_file *f, const row_set *failed, int problem,
                          saltus_error *err)
{
    (void)saltus_error_set(err, SALTUS_E_IO, "%s: writing failed: %s", f->path,
                           problem ? strerror(problem) : saltus_h5_cause());
    f->broken = true;
    saltus_reserve_release(&f->reserve);
    rescue(f, failed);
    saltus_error_hint(err, "%lld points are in the file", (long long)f->n_rows);
    return SALTUS_E_IO;
}

static saltus_status write_gathered(saltus_sweep_file *f, row_set *s, saltus_error *err)
{
    const size_t n = (size_t)s->n_gathered;
    hsize_t end = 0;
    if (n == 0) {
        return SALTUS_OK;
    }
    if (H5Fget_filesize(f->file, &end) < 0) {
        return fail(f, s, 0, err);
    }
    const int problem = saltus_reserve_grow(
        &f->reserve, (int64_t)end, (int64_t)(n * s->row_bytes + s->row_bytes / 8 + SLACK_BYTES));
    if (problem || !append(s, s->n_gathered)) {
        return fail(f, s, problem, err);
    }
    s->n_gathered = 0;
    return SALTUS_OK;
}

/* The next set's row: where it is to be put. */
static void *next_row(saltus_sweep_file *f)
{
    row_set *s = &f->sets[f->cursor++];
    return s->gathered + (size_t)s->n_gathered * s->row_bytes;
}

/* ------------------------------------------------------------------------------------------------
 * A point
 */

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
            mean[q] = r->mean[q];
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

static saltus_status deliver(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
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
        row_set *s = &f->sets[f->cursor];
        memcpy(next_row(f), c->counts, s->row_bytes);
    }
    if (c->observables) {
        row_set *s = &f->sets[f->cursor];
        memcpy(next_row(f), c->observables, s->row_bytes);
    }
    put_histograms(f, c);
    for (int d = 0; d < w->n_derived; ++d) {
        memcpy(next_row(f), c->derived + d * w->n_runs, (size_t)w->n_runs * sizeof(double));
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        row_set *s = &f->sets[i];
        if (++s->n_gathered == s->capacity) {
            SALTUS_TRY(write_gathered(f, s, err));
        }
    }
    ++f->n_rows;
done:
    saltus_collector_destroy(c);
    saltus_h5_quiet_end(&quiet);
    return status;
}

static saltus_status open_point(void *user, int64_t point, const saltus_plan *plan,
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

static void discard(void *user, saltus_sink *sink)
{
    (void)user;
    saltus_collector_destroy(sink->user);
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static saltus_status add_moments(saltus_sweep_file *f, hid_t parent, int n_columns,
                                 saltus_error *err)
{
    static const char *const names[] = {"mean", "variance", "min", "max"};
    const hsize_t rest[2] = {(hsize_t)f->what.n_times, (hsize_t)n_columns};
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < 4; ++i) {
        SALTUS_TRY(add_set(f, parent, names[i], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, rest, err));
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
        return add_set(f, f->file, all, file_type, memory_type, 4, rest, err);
    }
    if (f->what.record == SALTUS_RECORD_FINAL && n_columns > 0) {
        const hsize_t rest[2] = {runs, columns};
        return add_set(f, f->file, last, file_type, memory_type, 3, rest, err);
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
    SALTUS_TRY(add_set(f, group, "edges", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, edges, err));
    SALTUS_TRY(add_set(f, group, "counts", H5T_STD_U64LE, H5T_NATIVE_UINT64, 3, counts, err));
    if (f->what.high > f->what.low) {
        SALTUS_TRY(add_set(f, group, "below", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, outside, err));
        SALTUS_TRY(add_set(f, group, "above", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, outside, err));
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
    if (w->n_derived > 0) {
        inner = H5Gcreate2(f->file, "derived", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    }
    for (int d = 0; d < w->n_derived; ++d) {
        char *escaped = saltus_h5_escape(f->derived[d].name);
        SALTUS_NEED(escaped);
        status = add_set(f, inner, escaped, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, runs, err);
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
    const hsize_t times[1] = {(hsize_t)f->what.n_times};
    const int n_counts = f->what.n_counts, n_observables = f->what.n_observables;
    const int common = options->common_random_numbers;
    const char **names = saltus_calloc((size_t)n_counts + (size_t)n_observables + 1, sizeof *names);
    const saltus_hdf5_layout layout = {
        .model_name = saltus_model_name(model),
        .model_sha256 = saltus_model_sha256(model),
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
        SALTUS_TRY(
            saltus_derived_parse(results->derive, plan, &f->derived, &f->what.n_derived, err));
        f->what.derived = f->derived;
    }
    if (results->burn_in > f->times[run->n_times - 1]) {
        SALTUS_FAIL(SALTUS_E_INVALID, "--burn-in %g: the last sample is at time %g",
                    results->burn_in, f->times[run->n_times - 1]);
    }
    while (f->what.first + 1 < f->what.n_times && f->times[f->what.first] < results->burn_in) {
        ++f->what.first;
    }
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
    if (results->record != SALTUS_RECORD_ALL && f->what.n_derived == 0) {
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
    const int64_t sets = 16 + 4 * (int64_t)f->what.n_counts + f->what.n_derived;
    return 256 * 1024 + 16 * f->what.n_times + sets * 4096 +
           8 * saltus_sweep_n_points(f->sweep) * saltus_sweep_n_axes(f->sweep);
}

static void free_file(saltus_sweep_file *f)
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
    saltus_derived_free(f->derived, f->what.n_derived);
    saltus_free(f->sets);
    saltus_free(f->edges);
    saltus_free(f->scratch);
    saltus_free(f->times);
    saltus_free(f->path);
    saltus_free(f);
}

saltus_status saltus_sweep_file_open(const char *path, const saltus_sweep *sweep,
                                     const saltus_sweep_options *options, const saltus_plan *plan,
                                     const saltus_hdf5_options *results, saltus_sweep_file **out,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bool created = false;
    saltus_h5_quiet quiet;
    saltus_sweep_file *f = saltus_calloc(1, sizeof *f);
    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(f);
    f->file = f->reserve.fd = f->reserve.ballast = -1;
    f->sweep = sweep;
    f->sink = (saltus_sweep_sink){f, open_point, deliver, discard};
    f->path = saltus_strdup(path);
    SALTUS_NEED(f->path);
    SALTUS_TRY(saltus_sweep_check_numbers(sweep, options->run.first_trajectory,
                                          options->run.n_trajectories, err));
    SALTUS_TRY(saltus_hdf5_check(plan, &options->run, results, err));
    SALTUS_TRY(prepare(f, plan, options, results, err));
    SALTUS_TRY(saltus_h5_start(path, head_bytes(f), CLOSING_BYTES, SALTUS_RESERVE_AHEAD,
                               &f->reserve, &f->file, &created, err));
    SALTUS_TRY(write_head(f, plan, options, results, err));
    SALTUS_TRY(write_axes(f, err));
    SALTUS_TRY(add_sets(f, plan, err));
    if (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_TRY(fail(f, NULL, 0, err));
    }
    *out = f;
    f = NULL;
done:
    free_file(f);
    if (status != SALTUS_OK && created) {
        (void)unlink(path);
    }
    saltus_h5_quiet_end(&quiet);
    return status;
}

const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file)
{
    return &file->sink;
}

saltus_status saltus_sweep_file_close(saltus_sweep_file *f, const saltus_run_report *report,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    herr_t rc = 0;
    saltus_h5_quiet_begin(&quiet);
    for (size_t i = 0; i < f->n_sets && !f->broken; ++i) {
        status = write_gathered(f, &f->sets[i], err);
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
        status = fail(f, NULL, 0, err);
    }
    free_file(f);
    saltus_h5_quiet_end(&quiet);
    return status;
}
