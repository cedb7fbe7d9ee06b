/* Result files of lattices that were simulated: counts by type and plane and frames agree with the
 * totals, are where a model puts its particles, and depend on no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_runs.h"
#include "../support/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three types of sites; what is made in one reacts in another and is lost at a face. */
static const char model_text[] =
    "species: {A: 300, B: 0, C: }\n"
    "reactions:\n"
    "  change: A -> B @ 2\n"
    "  pair: 2 B -> C @ 5\n"
    "  come: 0 -> A @ 0.01\n"
    "lattice:\n"
    "  size: [7, 6, 11]\n"
    "  spacing: 1 um\n"
    "  step: 0.01\n"
    "  faces: {z: absorbing}\n"
    "  sites:\n"
    "    outside:\n"
    "    inside: {box: {from: [1 sites, 1 sites, 2 sites], to: [6 sites, 5 sites, 9 sites]}}\n"
    "    skin: {shell: {of: inside}}\n"
    "  diffusion: {A: 20 um2/s, B: 10 um2/s, C: {skin: 5 um2/s}}\n"
    "  place: {A: inside, C: {skin: 12}}\n";

static const double times[] = {0.0, 0.1, 0.25, 0.4};
static const double frame_times[] = {0.0, 0.25, 0.33};
static int n_frames = 3;
static const char *device = "cpu", *layout = "auto";

/* Where lattices are simulated: here, and on the device that SPACE_DEVICE names, in any way. */
static int n_places(void)
{
    return getenv("SPACE_DEVICE") ? 3 : 1;
}

static void go_to(int place)
{
    static const char *const layouts[] = {"auto", "particles", "counts"};
    device = place > 0 ? getenv("SPACE_DEVICE") : "cpu";
    layout = layouts[place];
}

static void run_file(const char *text, const char *path, const char *axis, int threads,
                     int64_t runs, const char *species, saltus_record record)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_hdf5_sink *sink = NULL;
    saltus_plan_options p = saltus_plan_options_default();
    saltus_run_options o = saltus_run_options_default();
    saltus_hdf5_options results = saltus_hdf5_options_default();
    results.overwrite = true;
    OK(saltus_model_parse_yaml(text, strlen(text), "m", &m, &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    OK(saltus_backend_open(device, &backend, &err));
    p.n_threads = threads;
    p.layout = layout;
    p.by_type = true;
    p.profile = axis;
    p.columns = species;
    OK(saltus_plan_create(m, backend, &p, &plan, &err));
    o.seed = 9;
    o.first_trajectory = 3;
    o.n_trajectories = runs;
    o.times = times;
    o.n_times = 4;
    o.frame_times = frame_times;
    o.n_frames = n_frames;
    results.record = record;
    OK(saltus_hdf5_sink_open(path, plan, &o, &results, &sink, &err));
    if (n_frames > 0) {
        saltus_run_options wrong = o;
        wrong.frame_times = NULL;
        assert_int_equal(saltus_run(plan, &wrong, saltus_hdf5_sink_get(sink), NULL, NULL),
                         SALTUS_E_INVALID);
        wrong.n_frames = 0; /* of another run than the file's */
        assert_int_equal(saltus_run(plan, &wrong, saltus_hdf5_sink_get(sink), NULL, NULL),
                         SALTUS_E_INVALID);
    }
    OK(saltus_run(plan, &o, saltus_hdf5_sink_get(sink), NULL, &err));
    OK(saltus_hdf5_sink_close(sink, NULL, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
}

static void *load(const char *path, const char *name, hid_t type, int rank, hsize_t *shape)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    void *values = read_set(file, name, type, rank, shape);
    (void)H5Fclose(file);
    return values;
}

/* [q][part][column] summed over parts is [q][column]. */
static void check_sums(const int64_t *parts, const int64_t *totals, hsize_t n, hsize_t n_parts,
                       hsize_t columns)
{
    for (hsize_t q = 0; q < n; ++q) {
        for (hsize_t c = 0; c < columns; ++c) {
            int64_t sum = 0;
            for (hsize_t part = 0; part < n_parts; ++part) {
                sum += parts[(q * n_parts + part) * columns + c];
            }
            assert_int_equal(sum, totals[q * columns + c]);
        }
    }
}

static void parts_add_up_to_totals(void **state)
{
    static const char *const axes[] = {"x", "y", "z"};
    static const hsize_t sizes[] = {7, 6, 11};
    (void)state;
    for (int axis = 0; axis < 3; ++axis) {
        hsize_t shape[3], by_type[4], by_plane[4];
        run_file(model_text, "t.h5", axes[axis], 2, 9, NULL, SALTUS_RECORD_ALL);
        int64_t *counts = load("t.h5", "counts", H5T_NATIVE_INT64, 3, shape);
        int64_t *types = load("t.h5", "space/type_counts", H5T_NATIVE_INT64, 4, by_type);
        int64_t *planes = load("t.h5", "space/profile", H5T_NATIVE_INT64, 4, by_plane);
        assert_int_equal(shape[0], 9);
        assert_int_equal(by_type[2], 3);
        assert_int_equal(by_plane[2], sizes[axis]);
        check_sums(types, counts, shape[0] * shape[1], 3, shape[2]);
        check_sums(planes, counts, shape[0] * shape[1], sizes[axis], shape[2]);
        assert_true(counts[shape[0] * shape[1] * shape[2] - 1] > 12); /* something happens */
        free(counts);
        free(types);
        free(planes);
    }
}

/* Frames against totals, types and planes at the times that both have. */
static void frames_add_up_to_parts(void **state)
{
    hsize_t shape[5], counts_shape[3], unused[4];
    static const char *const names[] = {"space/frames/A", "space/frames/B", "space/frames/C"};
    (void)state;
    run_file(model_text, "t.h5", "y", 2, 4, NULL, SALTUS_RECORD_ALL);
    int64_t *counts = load("t.h5", "counts", H5T_NATIVE_INT64, 3, counts_shape);
    int64_t *by_type = load("t.h5", "space/type_counts", H5T_NATIVE_INT64, 4, unused);
    int64_t *by_plane = load("t.h5", "space/profile", H5T_NATIVE_INT64, 4, unused);
    uint8_t *types = load("t.h5", "space/types", H5T_NATIVE_UINT8, 3, unused);
    for (int c = 0; c < 3; ++c) {
        uint32_t *frames = load("t.h5", names[c], H5T_NATIVE_UINT32, 5, shape);
        for (int64_t run = 0; run < 4; ++run) {
            for (int f = 0; f < 2; ++f) { /* the third is between samples */
                const int64_t point = run * 4 + 2 * f, n = 7 * 6 * 11;
                int64_t sum = 0, of_type[3] = {0}, of_plane[6] = {0};
                for (int64_t site = 0; site < n; ++site) {
                    const uint32_t x = frames[(run * 3 + f) * n + site];
                    sum += x;
                    of_type[types[site]] += x;
                    of_plane[site / 7 % 6] += x;
                }
                assert_int_equal(sum, counts[point * 3 + c]);
                for (int i = 0; i < 3; ++i) {
                    assert_int_equal(of_type[i], by_type[(point * 3 + i) * 3 + c]);
                }
                for (int i = 0; i < 6; ++i) {
                    assert_int_equal(of_plane[i], by_plane[(point * 6 + i) * 3 + c]);
                }
            }
        }
        free(frames);
    }
    free(counts);
    free(by_type);
    free(by_plane);
    free(types);
}

/* What does not move stays where the model puts it; --species leaves some out. */
static void check_places(void)
{
    static const char text[] =
        "species: {A: , B: , there: }\n"
        "lattice:\n"
        "  size: [3, 4, 5]\n"
        "  spacing: 1 um\n"
        "  step: 0.01\n"
        "  sites: {low: , high: {box: {from: [0, 0, 4 sites], to: [3 sites, 4 sites, 5 sites]}}}\n"
        "  diffusion: {A: 0, B: 0, there: 0}\n"
        "  place:\n"
        "    A: {sites: [[2, 1, 3, 70000], [0, 0, 0, 3]]}\n"
        "    B: {sites: [[1, 1, 1, 9]]}\n"
        "    there: {sites: [[0, 3, 4, 260]]}\n";
    hsize_t shape[5];
    run_file(text, "t.h5", "z", 1, 2, "there,A", SALTUS_RECORD_ALL);
    uint32_t *a = load("t.h5", "space/frames/A", H5T_NATIVE_UINT32, 5, shape);
    uint32_t *there = load("t.h5", "space/frames/%74here", H5T_NATIVE_UINT32, 5, shape);
    assert_int_equal(shape[2], 5);
    assert_int_equal(shape[3], 4);
    assert_int_equal(shape[4], 3);
    for (int i = 0; i < 2 * 3 * 60; ++i) {
        const int site = i % 60, x = site % 3, y = site / 3 % 4, z = site / 12;
        assert_int_equal(a[i], x == 2 && y == 1 && z == 3 ? 70000 : site == 0 ? 3 : 0);
        assert_int_equal(there[i], x == 0 && y == 3 && z == 4 ? 260 : 0);
    }
    int64_t *types = load("t.h5", "space/type_counts", H5T_NATIVE_INT64, 4, shape);
    assert_int_equal(types[0], 0); /* there, low */
    assert_int_equal(types[1], 70003);
    assert_int_equal(types[2], 260);
    assert_int_equal(types[3], 0);
    int64_t *planes = load("t.h5", "space/profile", H5T_NATIVE_INT64, 4, shape);
    assert_int_equal(planes[3 * 2 + 1], 70000);
    assert_int_equal(planes[0 * 2 + 1], 3);
    assert_int_equal(planes[4 * 2 + 0], 260);
    free(a);
    free(there);
    free(types);
    free(planes);
}

static void particles_are_where_they_were_put(void **state)
{
    (void)state;
    for (int place = 0; place < n_places(); ++place) {
        go_to(place);
        check_places();
    }
    go_to(0);
}

static void bits_depend_on_no_thread_and_no_frame(void **state)
{
    static const struct {
        const char *name;
        int rank;
    } sets[] = {{"counts", 3},         {"space/type_counts", 4}, {"space/profile", 4},
                {"space/frames/A", 5}, {"space/frames/B", 5},    {"space/frames/C", 5}};
    (void)state;
    hsize_t with[3], without[3];
    run_file(model_text, "one.h5", "z", 1, 7, NULL, SALTUS_RECORD_ALL);
    n_frames = 0;
    run_file(model_text, "many.h5", NULL, 1, 7, NULL, SALTUS_RECORD_ALL);
    n_frames = 3;
    int64_t *counts = load("one.h5", "counts", H5T_NATIVE_INT64, 3, with);
    int64_t *alone = load("many.h5", "counts", H5T_NATIVE_INT64, 3, without);
    assert_memory_equal(counts, alone, with[0] * with[1] * with[2] * sizeof *counts);
    free(counts);
    free(alone);
    for (int threads = 2; threads <= 8; threads += 3) {
        go_to(threads / 3 % n_places());
        run_file(model_text, "many.h5", "z", threads, 7, NULL, SALTUS_RECORD_ALL);
        for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
            hsize_t a[5] = {1, 1, 1, 1, 1}, b[5] = {1, 1, 1, 1, 1};
            int64_t *x = load("one.h5", sets[i].name, H5T_NATIVE_INT64, sets[i].rank, a);
            int64_t *y = load("many.h5", sets[i].name, H5T_NATIVE_INT64, sets[i].rank, b);
            assert_memory_equal(a, b, sizeof a);
            assert_memory_equal(x, y, a[0] * a[1] * a[2] * a[3] * a[4] * sizeof *x);
            free(x);
            free(y);
        }
    }
    go_to(0);
}

/* Mean and variance of parts are those of the runs. */
static void statistics_are_those_of_the_runs(void **state)
{
    hsize_t shape[4], stats_shape[3];
    (void)state;
    run_file(model_text, "all.h5", "z", 2, 20, NULL, SALTUS_RECORD_ALL);
    run_file(model_text, "stats.h5", "z", 2, 20, NULL, SALTUS_RECORD_STATS);
    int64_t *x = load("all.h5", "space/type_counts", H5T_NATIVE_INT64, 4, shape);
    double *mean = load("stats.h5", "space/type_stats/mean", H5T_NATIVE_DOUBLE, 3, stats_shape);
    double *variance =
        load("stats.h5", "space/type_stats/variance", H5T_NATIVE_DOUBLE, 3, stats_shape);
    const hsize_t n = shape[1] * shape[2] * shape[3];
    for (hsize_t q = 0; q < n; ++q) {
        double sum = 0.0, square = 0.0;
        for (hsize_t run = 0; run < 20; ++run) {
            sum += (double)x[run * n + q];
            square += (double)x[run * n + q] * (double)x[run * n + q];
        }
        assert_true(fabs(mean[q] - sum / 20.0) < 1e-9);
        assert_true(fabs(variance[q] - (square - sum * sum / 20.0) / 19.0) < 1e-6);
    }
    free(x);
    free(mean);
    free(variance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_totals),
        cmocka_unit_test(frames_add_up_to_parts),
        cmocka_unit_test(particles_are_where_they_were_put),
        cmocka_unit_test(bits_depend_on_no_thread_and_no_frame),
        cmocka_unit_test(statistics_are_those_of_the_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
