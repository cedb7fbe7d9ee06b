#include "../support/hdf5_runs.h"

#include <hdf5.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static size_t stored_size(hid_t file, const char *name)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t type = H5Dget_type(set);
    const size_t size = H5Tget_size(type);
    (void)H5Tclose(type);
    (void)H5Dclose(set);
    return size;
}

static void samples_come_back(void **state)
{
    (void)state;
    for (int compress = SALTUS_COMPRESS_NONE; compress <= SALTUS_COMPRESS_SMALL; ++compress) {
        saltus_hdf5_layout l = layout_of(11, 3, 2, 1000);
        l.options.compress = (saltus_compress)compress;
        run_and_check(l, 0);
        run_and_check(l, 7); /* not what the sink wishes: slower, as right */
    }
    run_and_check(layout_of(1, 1, 0, 1), 0);
    run_and_check(layout_of(3, 0, 2, 300), 0);
    run_and_check(layout_of(3, 0, 0, 300), 0);
    run_and_check(layout_of(5, 8, 0, 5000), 0);
}

static void long_runs_are_cut_into_chunks(void **state)
{
    saltus_hdf5_layout l = layout_of(1001, 3, 1, 9);
    (void)state;
    l.chunk_bytes = 1000;
    run_and_check(l, 0);
    run_and_check(l, 4);
}

static void noise_is_stored_as_it_is(void **state)
{
    (void)state;
    noisy_samples = true;
    run_and_check(layout_of(50, 4, 1, 700), 0);
    noisy_samples = false;
}

static void counts_go_over_to_64_bits(void **state)
{
    (void)state;
    const int64_t from[4] = {5, 6, 333, 1004};
    for (int i = 0; i < 4; ++i) {
        for (int64_t size = 0; size <= 7; size += 7) {
            wide_from = from[i];
            run_and_check(layout_of(11, 3, 1, 1000), size);
            const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
            assert_int_equal(stored_size(file, "counts"), 8);
            (void)H5Fclose(file);
        }
    }
    wide_from = INT64_MAX;
    saltus_hdf5_layout l = layout_of(1001, 3, 0, 9);
    l.chunk_bytes = 1000;
    wide_from = 10;
    run_and_check(l, 0);
    wide_from = INT64_MAX;
    run_and_check(l, 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_int_equal(stored_size(file, "counts"), 4);
    (void)H5Fclose(file);
}

static void attributes_are_there(void **state)
{
    static const char *const texts[] = {"saltus_version", "model",  "model_sha256", "method",
                                        "device",         "layout", "rng",          "options",
                                        "started"};
    (void)state;
    run_and_check(layout_of(2, 1, 0, 3), 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assert_true(H5Aexists(file, texts[i]) > 0);
    }
    uint64_t seed = 0;
    const hid_t a = H5Aopen(file, "seed", H5P_DEFAULT);
    assert_true(H5Aread(a, H5T_NATIVE_UINT64, &seed) >= 0);
    (void)H5Aclose(a);
    assert_true(seed == UINT64_MAX);
    char *rng = NULL;
    const hid_t text = H5Aopen(file, "rng", H5P_DEFAULT), type = H5Aget_type(text);
    assert_true(H5Aread(text, type, &rng) >= 0);
    assert_string_equal(rng, "xorwow");
    (void)H5free_memory(rng);
    (void)H5Tclose(type);
    (void)H5Aclose(text);
    assert_int_equal(read_attribute(file, "first_trajectory"), 5);
    assert_int_equal(read_attribute(file, "events"), 3 * EVENTS_EACH);
    (void)H5Fclose(file);
}

/* A command line of any length; many or long names are packed. */
static void long_texts_are_kept(void **state)
{
    enum { LONG = 300000 };
    char *text = malloc(LONG + 1);
    char *found = NULL;
    const char *names[2] = {"A", text};
    hsize_t shape[1];
    (void)state;
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    saltus_hdf5_layout l = layout_of(3, 2, 0, 100);
    l.options.command = text;
    l.count_names = names;
    run_and_check(l, 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t a = H5Aopen(file, "options", H5P_DEFAULT), type = H5Aget_type(a);
    assert_true(H5Tis_variable_str(type) > 0);
    assert_true(H5Aread(a, type, &found) >= 0);
    assert_string_equal(found, text);
    (void)H5free_memory(found);
    (void)H5Aclose(a);
    const hid_t set = open_set(file, "species", 1, shape);
    assert_int_equal(shape[0], 2);
    assert_true(H5Dget_storage_size(set) < LONG / 10);
    (void)H5Dclose(set);
    (void)H5Tclose(type);
    (void)H5Fclose(file);
    saltus_results *r = NULL;
    char *csv = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&csv, &size);
    assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK);
    assert_int_equal(saltus_results_print_csv(r, out, NULL), SALTUS_OK);
    saltus_results_close(r);
    (void)fclose(out);
    assert_int_equal(strncmp(csv, "run,time,A,", 11), 0);
    assert_int_equal(strncmp(csv + 11, text, LONG), 0);
    assert_int_equal(csv[11 + LONG], '\n');
    free(csv);
    free(text);
}

/* Below version 3 readers cannot look on. */
static void the_superblock_is_of_version_3(void **state)
{
    H5F_info2_t info;
    (void)state;
    run_and_check(layout_of(2, 1, 0, 3), 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Fget_info2(file, &info) >= 0);
    assert_int_equal(info.super.version, 3);
    (void)H5Fclose(file);
}

static void final_keeps_the_last_sample(void **state)
{
    saltus_hdf5_layout l = layout_of(4, 3, 2, 1000);
    hsize_t shape[2];
    (void)state;
    l.options.record = SALTUS_RECORD_FINAL;
    run_and_check(l, 33);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Lexists(file, "counts", H5P_DEFAULT) == 0);
    int64_t *x = read_set(file, "final", H5T_NATIVE_INT64, 2, shape);
    double *y = read_set(file, "final_observables", H5T_NATIVE_DOUBLE, 2, shape);
    for (int64_t i = 0; i < 1000; ++i) {
        for (int c = 0; c < 3; ++c) {
            assert_int_equal(x[i * 3 + c], count_of(5 + i, 3, c));
        }
        assert_true(y[i * 2 + 1] == real_of(5 + i, 3, 1));
    }
    free(x);
    free(y);
    (void)H5Fclose(file);
}

static void stats_keep_no_samples(void **state)
{
    saltus_hdf5_layout l = layout_of(4, 3, 2, 1000);
    (void)state;
    l.options.record = SALTUS_RECORD_STATS;
    run_and_check(l, 33);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Lexists(file, "counts", H5P_DEFAULT) == 0);
    assert_true(H5Lexists(file, "observables", H5P_DEFAULT) == 0);
    assert_true(H5Lexists(file, "final", H5P_DEFAULT) == 0);
    (void)H5Fclose(file);
}

static void check_histogram(hid_t file, const char *group, int c, int64_t runs)
{
    char name[64];
    hsize_t edge_shape[1], shape[2];
    (void)snprintf(name, sizeof name, "histogram/%s/edges", group);
    double *edges = read_set(file, name, H5T_NATIVE_DOUBLE, 1, edge_shape);
    (void)snprintf(name, sizeof name, "histogram/%s/counts", group);
    uint64_t *counts = read_set(file, name, H5T_NATIVE_UINT64, 2, shape);
    assert_int_equal(edge_shape[0], shape[1] + 1);
    for (hsize_t p = 0; p < shape[0]; ++p) {
        for (hsize_t b = 0; b < shape[1]; ++b) {
            uint64_t expected = 0;
            for (int64_t i = 0; i < runs; ++i) {
                const double x = (double)count_of(5 + i, (int64_t)p, c);
                expected += x >= edges[b] && x < edges[b + 1];
            }
            assert_int_equal(counts[p * shape[1] + b], expected);
        }
    }
    free(edges);
    free(counts);
}

static void histograms_have_odd_names(void **state)
{
    static const char *const groups[HDF5_RUNS_NAMES] = {"A",       "a%2Fb",       "%2E",  "100%25",
                                                        "x,\"y\"", "\xc3\xa9tat", "%2E.", "G.1"};
    (void)state;
    for (int64_t size = 10; size <= 500; size += 490) { /* counted on delivery; beforehand */
        saltus_hdf5_layout l = layout_of(3, HDF5_RUNS_NAMES, 0, 1000);
        l.options.record = SALTUS_RECORD_HISTOGRAM;
        run_and_check(l, size);
        const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        for (int c = 0; c < HDF5_RUNS_NAMES; ++c) {
            check_histogram(file, groups[c], c, 1000);
        }
        (void)H5Fclose(file);
        l.options.n_bins = 7;
        l.options.range_low = 10;
        l.options.range_high = 60;
        run_and_check(l, size);
    }
}

/* Exact sums, of which mean and variance are made again. */
static void check_sums(const char *path, const saltus_hdf5_layout *l)
{
    hsize_t shape[3];
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    int64_t *n = read_set(file, "stats/n", H5T_NATIVE_INT64, 0, shape);
    uint64_t *sum = read_set(file, "stats/sum", H5T_NATIVE_UINT64, 3, shape);
    uint64_t *square = read_set(file, "stats/sum_sq", H5T_NATIVE_UINT64, 3, shape);
    assert_int_equal(*n, l->n_trajectories);
    assert_true((int64_t)shape[0] == l->n_points && (int)shape[1] == l->n_counts && shape[2] == 2);
    for (int64_t q = 0; q < l->n_points * l->n_counts; ++q) {
        unsigned __int128 s = 0, s2 = 0;
        for (int64_t i = 0; i < *n; ++i) {
            const int64_t x =
                count_of(l->first_trajectory + i, q / l->n_counts, (int)(q % l->n_counts));
            s += (unsigned __int128)x;
            s2 += (unsigned __int128)x * (unsigned __int128)x;
        }
        assert_true(sum[2 * q] == (uint64_t)s && sum[2 * q + 1] == (uint64_t)(s >> 64));
        assert_true(square[2 * q] == (uint64_t)s2 && square[2 * q + 1] == (uint64_t)(s2 >> 64));
    }
    free(n);
    free(sum);
    free(square);
    (void)H5Fclose(file);
}

static void sums_are_exact(void **state)
{
    (void)state;
    for (int record = SALTUS_RECORD_ALL; record <= SALTUS_RECORD_HISTOGRAM; ++record) {
        saltus_hdf5_layout l = layout_of(4, 3, 0, 1000);
        l.options.record = (saltus_record)record;
        wide_from = record == SALTUS_RECORD_STATS ? 500 : INT64_MAX; /* squares past 64 bits */
        run_and_check(l, 0);
        check_sums("t.h5", &l);
    }
    wide_from = INT64_MAX;
}

static void an_interrupted_run_is_kept(void **state)
{
    static const int64_t gaps[5] = {11, 12, 14, 20, 99};
    int64_t counts[5 * 3];
    hsize_t shape[1];
    saltus_hdf5_layout l = layout_of(3, 1, 0, 1000);
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    void *prepared = NULL;
    (void)state;
    assert_int_equal(feed_sink(sink, &l, 0, 6, 6, NULL), SALTUS_OK);
    for (int i = 0; i < 15; ++i) {
        counts[i] = count_of(gaps[i / 3], i % 3, 0);
    }
    const saltus_block last = {
        .trajectories = gaps, .n_trajectories = 5, .n_points = 3, .n_counts = 1, .counts = counts};
    const saltus_sink *s = saltus_hdf5_sink_get(sink);
    assert_int_equal(s->prepare(s->user, &last, &prepared, NULL), SALTUS_OK);
    assert_int_equal(s->deliver(s->user, &last, prepared, NULL), SALTUS_OK);
    finish_sink(sink);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    int64_t *numbers = read_set(file, "run", H5T_NATIVE_INT64, 1, shape);
    assert_int_equal(shape[0], 11);
    assert_memory_equal(numbers + 6, gaps, sizeof gaps);
    free(numbers);
    assert_int_equal(read_attribute(file, "complete"), 0);
    (void)H5Fclose(file);
    l.n_trajectories = 10;
    finish_sink(create_sink("t.h5", &l)); /* not one block came */
    check_file("t.h5", &l, 0, false);
}

static void expect_refusal(const char *path, const char *text)
{
    saltus_error err = {0};
    saltus_hdf5_sink *sink = NULL;
    const saltus_hdf5_layout l = layout_of(3, 1, 0, 10);
    assert_int_equal(saltus_hdf5_sink_create(path, &l, &sink, &err), SALTUS_E_IO);
    assert_null(sink);
    if (!strstr(err.message, text)) {
        fail_msg("%s", err.message);
    }
}

static void bad_paths_are_refused(void **state)
{
    (void)state;
    expect_refusal("no/such/dir/t.h5", "No such file or directory");
    expect_refusal("/", "directory");
    expect_refusal("/dev/null", "no regular file");
    FILE *f = fopen("text.h5", "w");
    (void)fputs("do not lose me\n", f);
    (void)fclose(f);
    expect_refusal("text.h5", "is no HDF5 file");
    struct stat st;
    assert_int_equal(stat("text.h5", &st), 0);
    assert_int_equal(st.st_size, 15);
    f = fopen("empty.h5", "w");
    (void)fclose(f);
    const saltus_hdf5_layout l = layout_of(3, 1, 0, 10);
    saltus_hdf5_sink *sink = create_sink("empty.h5", &l);
    expect_refusal("empty.h5", "another process is writing");
    finish_sink(sink);
}

/* A result is replaced when that is asked for, anything else never. */
static void what_is_there_is_kept(void **state)
{
    saltus_hdf5_layout l = layout_of(3, 1, 0, 10);
    saltus_hdf5_sink *sink = NULL;
    saltus_error err = {0};
    (void)state;
    (void)unlink("kept.h5");
    l.options.overwrite = false;
    finish_sink(create_sink("kept.h5", &l));
    assert_int_equal(saltus_hdf5_sink_create("kept.h5", &l, &sink, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "kept.h5: exists and is a result"));
    assert_non_null(strstr(err.hint, "`overwrite`"));
    l.options.overwrite = true;
    finish_sink(create_sink("kept.h5", &l));

    l.options.overwrite = false;
    assert_int_equal(truncate("kept.h5", 49), 0);
    expect_refusal("kept.h5", "kept.h5: exists and is no result that can be read");
    assert_int_equal(truncate("kept.h5", 48), 0); /* nothing was in it yet */
    finish_sink(create_sink("kept.h5", &l));
    assert_int_equal(saltus_hdf5_sink_create("kept.h5", &l, &sink, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "kept.h5: exists and is a result"));

    const hid_t file = H5Fcreate("foreign.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate2(file, "saltus", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0 && group >= 0);
    assert_true(H5Gclose(group) >= 0 && H5Fclose(file) >= 0);
    expect_refusal("foreign.h5", "foreign.h5: exists and is no result of Saltus");
    const hid_t again = H5Fopen("foreign.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(again >= 0 && H5Lexists(again, "saltus", H5P_DEFAULT) > 0);
    assert_true(H5Fclose(again) >= 0);
}

static void nothing_is_left_behind_the_end(void **state)
{
    struct stat st;
    (void)state;
    run_and_check(layout_of(11, 3, 0, 1000), 0);
    assert_int_equal(stat("t.h5", &st), 0);
    assert_true(st.st_blocks * 512 < st.st_size + 64 * 1024);
    assert_int_not_equal(access("t.h5.reserve", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_back),
        cmocka_unit_test(long_runs_are_cut_into_chunks),
        cmocka_unit_test(noise_is_stored_as_it_is),
        cmocka_unit_test(counts_go_over_to_64_bits),
        cmocka_unit_test(attributes_are_there),
        cmocka_unit_test(long_texts_are_kept),
        cmocka_unit_test(the_superblock_is_of_version_3),
        cmocka_unit_test(final_keeps_the_last_sample),
        cmocka_unit_test(stats_keep_no_samples),
        cmocka_unit_test(histograms_have_odd_names),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(an_interrupted_run_is_kept),
        cmocka_unit_test(bad_paths_are_refused),
        cmocka_unit_test(what_is_there_is_kept),
        cmocka_unit_test(nothing_is_left_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
