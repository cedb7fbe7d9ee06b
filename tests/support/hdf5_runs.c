#include "hdf5_runs.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MAX_POINTS = 4096 };

static const char *const odd_names[HDF5_RUNS_NAMES] = {"A",       "a/b",         ".",  "100%",
                                                       "x,\"y\"", "\xc3\xa9tat", "..", "G.1"};
static const char *const real_names[HDF5_RUNS_NAMES] = {"ratio", "[A]"};
static double times[MAX_POINTS];
int64_t wide_from = INT64_MAX;
bool noisy_samples;

int64_t count_of(int64_t i, int64_t p, int c)
{
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)p * 0xbf58476d1ce4e5b9u +
                 (uint64_t)c * 0x94d049bb133111ebu;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    return (int64_t)(x % (noisy_samples ? 2000000000u : 100u)) +
           (i >= wide_from ? INT64_C(1) << 40 : 0);
}

double real_of(int64_t i, int64_t p, int o)
{
    return (double)count_of(i, p, 100 + o) / 7.0;
}

saltus_hdf5_layout layout_of(int64_t n_points, int n_counts, int n_observables, int64_t n)
{
    for (int64_t p = 0; p < n_points; ++p) {
        times[p] = 0.1 * (double)p;
    }
    saltus_hdf5_layout l = {.model_name = "test model",
                            .model_sha256 = "",
                            .method = "direct",
                            .device = "cpu:test",
                            .layout = "lanes",
                            .rng = "xorwow",
                            .seed = UINT64_MAX,
                            .first_trajectory = 5,
                            .n_trajectories = n,
                            .times = times,
                            .n_points = n_points,
                            .n_counts = n_counts,
                            .n_observables = n_observables,
                            .count_names = odd_names,
                            .observable_names = real_names,
                            .options = saltus_hdf5_options_default()};
    l.options.overwrite = true;
    l.options.command = "saltus run model.xml";
    return l;
}

/* ---- a lattice ---- */

enum { SIZE_X = 9, SIZE_Y = 5, SIZE_Z = 4, SITES = SIZE_X * SIZE_Y * SIZE_Z };

saltus_hdf5_layout space_layout_of(int64_t n_points, int n_counts, int64_t n)
{
    static const double frame_times[] = {0.0, 0.1, 0.25};
    static const char *type_names[] = {"outside", "in/side", "membrane"};
    static uint8_t types[SITES];
    static const saltus_lattice lattice = {.size = {SIZE_X, SIZE_Y, SIZE_Z},
                                           .n_sites = SITES,
                                           .spacing = 1e-8,
                                           .n_types = 3,
                                           .type_names = type_names,
                                           .types = types};
    saltus_hdf5_layout l = layout_of(n_points, n_counts, 0, n);
    for (int i = 0; i < SITES; ++i) {
        types[i] = (uint8_t)(i * i % 3);
    }
    l.lattice = &lattice;
    l.n_parts[SALTUS_BY_TYPE] = 3;
    l.n_parts[SALTUS_BY_PLANE] = SIZE_Y;
    l.axis = 1;
    l.frame_times = frame_times;
    l.n_frames = 3;
    return l;
}

int part_of(const saltus_hdf5_layout *l, int split, int64_t i, int64_t p, int c)
{
    return (int)((i + p + c) % l->n_parts[split]);
}

uint32_t particles_of(int64_t i, int64_t frame, int c, int64_t site)
{
    const int64_t x = count_of(i, 7 * frame + site, c);
    return (uint32_t)(x < (noisy_samples ? 1500000000 : 90) ? 0 : x);
}

saltus_status feed_frames(saltus_hdf5_sink *s, const saltus_hdf5_layout *l, int64_t row,
                          int64_t first, saltus_error *err)
{
    const saltus_sink *sink = saltus_hdf5_sink_get(s);
    int64_t site[SITES * HDF5_RUNS_NAMES];
    uint16_t species[SITES * HDF5_RUNS_NAMES];
    int32_t count[SITES * HDF5_RUNS_NAMES], column_of[HDF5_RUNS_NAMES + 1];
    saltus_frame f = {.trajectory = l->first_trajectory + row,
                      .site = site,
                      .species = species,
                      .count = count,
                      .column_of = column_of};
    saltus_status status = SALTUS_OK;
    for (int c = 0; c <= l->n_counts; ++c) { /* species 0 is not recorded, others from behind */
        column_of[c] = c == 0 ? -1 : l->n_counts - c;
    }
    for (f.number = first; f.number < l->n_frames && status == SALTUS_OK; ++f.number) {
        f.n = 0;
        for (int i = 0; i < SITES * l->n_counts; ++i) {
            const int c = i % l->n_counts;
            site[f.n] = SITES - 1 - i / l->n_counts;
            species[f.n] = (uint16_t)(l->n_counts - c);
            count[f.n] = (int32_t)particles_of(f.trajectory, f.number, c, site[f.n]);
            f.n += count[f.n] > 0;
        }
        if (f.n > 1) { /* one entry in two parts, and one of no account */
            site[f.n] = site[0];
            species[f.n] = species[0];
            count[f.n++] = 1;
            --count[0];
            site[f.n] = 0;
            species[f.n] = 0;
            count[f.n++] = 12345;
        }
        status = sink->frame(sink->user, &f, err);
    }
    return status;
}

static void check_frame(hid_t file, const saltus_hdf5_layout *l, hsize_t row, hsize_t frame, int c)
{
    char name[64];
    hsize_t shape[5], start[5] = {row, frame}, count[5] = {1, 1, SIZE_Z, SIZE_Y, SIZE_X};
    uint32_t found[SITES];
    static const char *const escaped[HDF5_RUNS_NAMES] = {"A",       "a%2Fb",       "%2E",  "100%25",
                                                         "x,\"y\"", "\xc3\xa9tat", "%2E.", "G.1"};
    (void)snprintf(name, sizeof name, "space/frames/%s", escaped[c]);
    const hid_t set = open_set(file, name, 5, shape);
    const hid_t from = H5Dget_space(set), to = H5Screate_simple(5, count, NULL);
    (void)H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL);
    assert_true(H5Dread(set, H5T_NATIVE_UINT32, to, from, H5P_DEFAULT, found) >= 0);
    for (int i = 0; i < SITES; ++i) {
        const int64_t number = l->first_trajectory + (int64_t)row;
        if (found[i] != particles_of(number, (int64_t)frame, c, i)) {
            fail_msg("row %d, frame %d, species %d, site %d: %u", (int)row, (int)frame, c, i,
                     found[i]);
        }
    }
    (void)H5Sclose(from);
    (void)H5Sclose(to);
    (void)H5Dclose(set);
}

int64_t check_frames(hid_t file, const saltus_hdf5_layout *l)
{
    hsize_t shape[2];
    int64_t n = 0;
    uint8_t *there = read_set(file, "space/frames/there", H5T_NATIVE_UINT8, 2, shape);
    assert_int_equal(shape[1], l->n_frames);
    for (hsize_t i = 0; i < shape[0] * shape[1]; ++i) {
        for (int c = 0; there[i] && c < l->n_counts; ++c) {
            check_frame(file, l, i / shape[1], i % shape[1], c);
        }
        n += there[i];
    }
    free(there);
    return n;
}

struct work {
    saltus_block block;
    int64_t *numbers, *counts, *splits[SALTUS_N_SPLITS];
    double *observables;
    void *prepared;
    const saltus_sink *sink;
    saltus_status status;
    saltus_error err;
};

static void make_block(struct work *w, const saltus_hdf5_layout *l, int64_t row, int64_t n)
{
    w->numbers = calloc((size_t)n, sizeof *w->numbers);
    w->counts = calloc((size_t)(n * l->n_points * l->n_counts) + 1, sizeof *w->counts);
    w->observables =
        calloc((size_t)(n * l->n_points * l->n_observables) + 1, sizeof *w->observables);
    int64_t *x = w->counts;
    double *y = w->observables;
    for (int64_t i = 0; i < n; ++i) {
        w->numbers[i] = l->first_trajectory + row + i;
        for (int64_t p = 0; p < l->n_points; ++p) {
            for (int c = 0; c < l->n_counts; ++c) {
                *x++ = count_of(w->numbers[i], p, c);
            }
            for (int o = 0; o < l->n_observables; ++o) {
                *y++ = real_of(w->numbers[i], p, o);
            }
        }
    }
    w->block = (saltus_block){.trajectories = w->numbers,
                              .n_trajectories = n,
                              .events = n * EVENTS_EACH,
                              .n_points = l->n_points,
                              .n_counts = l->n_counts,
                              .n_observables = l->n_observables,
                              .counts = w->counts,
                              .observables = l->n_observables ? w->observables : NULL};
    for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
        const int64_t parts = l->n_parts[k];
        const int64_t *from = w->counts;
        w->splits[k] = calloc((size_t)(n * l->n_points * parts * l->n_counts) + 1, sizeof *from);
        w->block.splits[k] = w->splits[k];
        w->block.n_parts[k] = (int)parts;
        for (int64_t i = 0; parts > 0 && i < n * l->n_points * l->n_counts; ++i) {
            const int64_t q = i / l->n_counts;
            const int c = (int)(i % l->n_counts);
            const int part = part_of(l, k, w->numbers[q / l->n_points], q % l->n_points, c);
            w->splits[k][(q * parts + part) * l->n_counts + c] = from[i];
        }
    }
}

static void free_block(struct work *w)
{
    free(w->numbers);
    free(w->counts);
    free(w->observables);
    for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
        free(w->splits[k]);
    }
}

static void *prepare_one(void *user)
{
    struct work *w = user;
    w->status = w->sink->prepare(w->sink->user, &w->block, &w->prepared, &w->err);
    return NULL;
}

/* Deliver rows from .. to in blocks of the given size, prepared four at a time on threads of their
 * own, as a runner would; stops at the first failure and discards the rest. */
saltus_status feed_sink(saltus_hdf5_sink *s, const saltus_hdf5_layout *l, int64_t from, int64_t to,
                        int64_t size, saltus_error *err)
{
    const saltus_sink *sink = saltus_hdf5_sink_get(s);
    saltus_status status = SALTUS_OK;
    while (from < to && status == SALTUS_OK) {
        struct work w[4] = {0};
        pthread_t threads[4];
        int n = 0;
        for (; n < 4 && from < to; ++n) {
            const int64_t m = to - from < size ? to - from : size;
            make_block(&w[n], l, from, m);
            w[n].sink = sink;
            assert_int_equal(pthread_create(&threads[n], NULL, prepare_one, &w[n]), 0);
            from += m;
        }
        for (int i = 0; i < n; ++i) { /* others are still preparing */
            (void)pthread_join(threads[i], NULL);
            status = status == SALTUS_OK ? w[i].status : status;
            if (status == SALTUS_OK) {
                status = sink->deliver(sink->user, &w[i].block, w[i].prepared, err);
            } else {
                sink->discard(sink->user, w[i].prepared);
            }
            free_block(&w[i]);
        }
    }
    return status;
}

saltus_hdf5_sink *create_sink(const char *path, const saltus_hdf5_layout *l)
{
    saltus_error err = {0};
    saltus_hdf5_sink *sink = NULL;
    if (saltus_hdf5_sink_create(path, l, &sink, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return sink;
}

void finish_sink(saltus_hdf5_sink *sink)
{
    saltus_error err = {0};
    const saltus_run_report report = {.events = 1, .seconds = 2.5}; /* those of the blocks count */
    if (saltus_hdf5_sink_close(sink, &report, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
}

hid_t open_set(hid_t file, const char *name, int rank, hsize_t *shape)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(set >= 0);
    const hid_t space = H5Dget_space(set);
    assert_int_equal(H5Sget_simple_extent_ndims(space), rank);
    (void)H5Sget_simple_extent_dims(space, shape, NULL);
    (void)H5Sclose(space);
    return set;
}

void *read_set(hid_t file, const char *name, hid_t type, int rank, hsize_t *shape)
{
    const hid_t set = open_set(file, name, rank, shape);
    size_t n = 1;
    for (int i = 0; i < rank; ++i) {
        n *= shape[i];
    }
    void *data = calloc(n + 1, 8);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    (void)H5Dclose(set);
    return data;
}

int64_t read_attribute(hid_t file, const char *name)
{
    int64_t value = -1;
    const hid_t a = H5Aopen(file, name, H5P_DEFAULT);
    assert_true(a >= 0);
    assert_true(H5Aread(a, H5T_NATIVE_INT64, &value) >= 0);
    (void)H5Aclose(a);
    return value;
}

void check_samples(hid_t file, const saltus_hdf5_layout *l, int64_t rows)
{
    hsize_t shape[3];
    if (l->n_counts > 0) {
        int64_t *x = read_set(file, "counts", H5T_NATIVE_INT64, 3, shape);
        assert_int_equal(shape[0], rows);
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t p = 0; p < l->n_points; ++p) {
                for (int c = 0; c < l->n_counts; ++c) {
                    if (x[(i * l->n_points + p) * l->n_counts + c] !=
                        count_of(l->first_trajectory + i, p, c)) {
                        fail_msg("run %d point %d count %d: %lld", (int)i, (int)p, c,
                                 (long long)x[(i * l->n_points + p) * l->n_counts + c]);
                    }
                }
            }
        }
        free(x);
    }
    if (l->n_observables > 0) {
        double *y = read_set(file, "observables", H5T_NATIVE_DOUBLE, 3, shape);
        assert_int_equal(shape[0], rows);
        for (int64_t i = 0; i < rows * l->n_points; ++i) {
            for (int o = 0; o < l->n_observables; ++o) {
                assert_true(y[i * l->n_observables + o] ==
                            real_of(l->first_trajectory + i / l->n_points, i % l->n_points, o));
            }
        }
        free(y);
    }
}

static void check_means(hid_t file, const saltus_hdf5_layout *l, int64_t rows)
{
    hsize_t shape[2];
    if (l->n_counts == 0 || rows == 0) {
        return;
    }
    double *mean = read_set(file, "stats/mean", H5T_NATIVE_DOUBLE, 2, shape);
    double *variance = read_set(file, "stats/variance", H5T_NATIVE_DOUBLE, 2, shape);
    for (int64_t p = 0; p < l->n_points; ++p) {
        for (int c = 0; c < l->n_counts; ++c) {
            long double sum = 0, m2 = 0;
            for (int64_t i = 0; i < rows; ++i) {
                sum += count_of(l->first_trajectory + i, p, c);
            }
            for (int64_t i = 0; i < rows; ++i) {
                const long double d = count_of(l->first_trajectory + i, p, c) - sum / rows;
                m2 += d * d;
            }
            const long double v = rows > 1 ? m2 / (rows - 1) : 0;
            assert_true(fabsl(mean[p * l->n_counts + c] - sum / rows) <= 1e-12L * sum / rows);
            assert_true(fabsl(variance[p * l->n_counts + c] - v) <= 1e-9L * v);
        }
    }
    free(mean);
    free(variance);
}

void check_file(const char *path, const saltus_hdf5_layout *l, int64_t rows, bool complete)
{
    hsize_t shape[1];
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    int64_t *numbers = read_set(file, "run", H5T_NATIVE_INT64, 1, shape);
    assert_int_equal(shape[0], rows);
    for (int64_t i = 0; i < rows; ++i) {
        assert_int_equal(numbers[i], l->first_trajectory + i);
    }
    free(numbers);
    if (l->options.record == SALTUS_RECORD_ALL) {
        check_samples(file, l, rows);
    }
    check_means(file, l, rows);
    assert_int_equal(read_attribute(file, "complete"), complete);
    assert_int_equal(read_attribute(file, "trajectories"), rows);
    (void)H5Fclose(file);
}

void run_and_check(saltus_hdf5_layout l, int64_t size)
{
    saltus_error err = {0};
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    const int64_t wish = saltus_hdf5_sink_get(sink)->block_trajectories;
    size = size ? size : wish ? wish : 16;
    if (feed_sink(sink, &l, 0, l.n_trajectories, size, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    finish_sink(sink);
    check_file("t.h5", &l, l.n_trajectories, true);
}

int64_t rows_in(const char *path)
{
    hsize_t shape[1] = {0};
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    (void)H5Dclose(open_set(file, "run", 1, shape));
    (void)H5Fclose(file);
    return (int64_t)shape[0];
}
