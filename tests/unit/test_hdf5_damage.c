/* Result files that are damaged, or that only look like one: every reader ends with a message. */
#include "../support/effort.h"
#include "../support/hdf5_checksums.h"
#include "../support/hdf5_runs.h"

#include <hdf5.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Bytes changed at random
 */

struct bytes {
    unsigned char *data;
    size_t size;
};

static struct bytes load(const char *path)
{
    struct bytes b = {0};
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    b.size = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.size);
    assert_int_equal(fread(b.data, 1, b.size, f), b.size);
    (void)fclose(f);
    return b;
}

static void store(const char *path, struct bytes b)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static saltus_status print_more(const saltus_results *r, FILE *out, saltus_error *err)
{
    static const double quantiles[] = {0, 0.5, 1};
    const saltus_table_options options = {
        .variance = true, .fano = true, .quantiles = quantiles, .n_quantiles = 3};
    (void)!saltus_results_print_derived_table(r, &options, out, NULL);
    return saltus_results_print_table(r, &options, out, err);
}

/* What the command does with a file, but drawing. A failure has a sentence. */
static bool read_all(const char *path)
{
    saltus_status (*const prints[])(const saltus_results *, FILE *, saltus_error *) = {
        saltus_results_print_stats,   saltus_results_print_summary,    saltus_results_print_csv,
        saltus_results_print_derived, saltus_results_print_histograms, print_more};
    saltus_results *r = NULL;
    saltus_error err = {0};
    FILE *out = fopen("/dev/null", "w");
    if (saltus_results_open(path, &r, &err) != SALTUS_OK) {
        return err.message[0] != '\0';
    }
    for (size_t i = 0; out && i < sizeof prints / sizeof *prints; ++i) {
        err = (saltus_error){0};
        if (prints[i](r, out, &err) != SALTUS_OK && err.message[0] == '\0') {
            return false;
        }
    }
    for (int i = 0; out && i < SALTUS_N_SPLITS; ++i) {
        (void)!saltus_results_print_split(r, (saltus_split)i, out, NULL);
    }
    if (out) {
        (void)!saltus_results_print_frames(r, out, NULL);
    }
    (void)!saltus_results_write_xdmf(r, NULL);
    saltus_results_close(r);
    return out && fclose(out) == 0;
}

/* In a process of its own: a crash there is seen, and HDF5's leaks after errors are not. */
static int read_in_child(const char *path)
{
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* not cmocka's handlers */
        (void)signal(SIGABRT, SIG_DFL);
        (void)alarm(30); /* half of what the library grants a slow disk */
        _exit(read_all(path) ? 0 : 3);
    }
    (void)waitpid(child, &status, 0);
    return status;
}

enum { MOST_BLOCKS = 1000 };

/* Bytes anywhere, or bytes of headers whose checksums fit again afterwards: HDF5 trusts those. */
static void damage(struct bytes bad, const checked_block *blocks, size_t n_blocks, int round,
                   uint64_t *state)
{
    const bool in_headers = round % 2 == 1;
    for (uint64_t n = 1 + draw(state, in_headers ? 3 : 16) * (uint64_t)(round / 2 % 2); n > 0;
         --n) {
        size_t at = draw(state, bad.size);
        if (in_headers) {
            const checked_block *b = &blocks[draw(state, n_blocks)];
            at = b->start + 4 + draw(state, b->length - 4);
        }
        bad.data[at] = (unsigned char)draw(state, 256);
    }
    if (in_headers) {
        repair_checksums(bad.data, blocks, n_blocks);
    }
}

/* In t.h5. */
static void damaged_bytes_crash_nothing(void)
{
    const int n_rounds = takes_part() ? 100 : takes_all() ? 5000 : 160;
    uint64_t state = 1;
    const struct bytes good = load("t.h5");
    checked_block *blocks = calloc(MOST_BLOCKS, sizeof *blocks);
    const size_t n_blocks = find_checked_blocks(good.data, good.size, blocks, MOST_BLOCKS);
    assert_true(n_blocks > 10 && n_blocks < MOST_BLOCKS);
    assert_int_equal(read_in_child("t.h5"), 0);
    struct bytes bad = {malloc(good.size), good.size};
    for (int round = 0; round < n_rounds; ++round) {
        const uint64_t seed = state;
        memcpy(bad.data, good.data, good.size);
        damage(bad, blocks, n_blocks, round, &state);
        store("bad.h5", bad);
        const int status = read_in_child("bad.h5");
        if (status != 0) {
            fail_msg("round %d, state %llu: status %x", round, (unsigned long long)seed,
                     (unsigned)status);
        }
    }
    free(bad.data);
    free(good.data);
    free(blocks);
}

static void damaged_samples(void **state)
{
    (void)state;
    run_and_check(layout_of(11, 3, 2, 40), 0);
    damaged_bytes_crash_nothing();
}

static void damaged_final_states(void **state)
{
    saltus_hdf5_layout l = layout_of(3, 3, 1, 40);
    (void)state;
    l.options.record = SALTUS_RECORD_FINAL;
    run_and_check(l, 0);
    damaged_bytes_crash_nothing();
}

static void damaged_plain_samples(void **state)
{
    saltus_hdf5_layout l = layout_of(5, 2, 1, 20);
    (void)state;
    l.options.compress = SALTUS_COMPRESS_NONE;
    run_and_check(l, 0);
    damaged_bytes_crash_nothing();
}

static void damaged_lattices(void **state)
{
    const saltus_hdf5_layout l = space_layout_of(5, 2, 6);
    (void)state;
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    for (int64_t row = 0; row < l.n_trajectories; ++row) {
        assert_int_equal(feed_frames(sink, &l, row, 0, NULL), SALTUS_OK);
    }
    assert_int_equal(feed_sink(sink, &l, 0, l.n_trajectories, 2, NULL), SALTUS_OK);
    finish_sink(sink);
    damaged_bytes_crash_nothing();
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    run_and_check(layout_of(5, 2, 1, 20), 0);
    struct bytes b = load("t.h5");
    const size_t whole = b.size;
    for (b.size = 0; b.size < whole; b.size += 97) {
        saltus_error err = {0};
        saltus_results *r = NULL;
        store("bad.h5", b);
        if (saltus_results_open("bad.h5", &r, &err) != SALTUS_E_IO) {
            fail_msg("%zu of %zu bytes: %s", b.size, whole, err.message);
        }
    }
    free(b.data);
}

/* ------------------------------------------------------------------------------------------------
 * Files that are whole but wrong
 */

static void expect_damage(const char *text)
{
    saltus_error err = {0};
    saltus_results *r = NULL;
    assert_int_equal(saltus_results_open("t.h5", &r, &err), SALTUS_E_IO);
    if (!strstr(err.message, text)) {
        fail_msg("'%s' instead of '%s'", err.message, text);
    }
    assert_non_null(strstr(err.hint, "damaged"));
}

static hid_t edit(void)
{
    run_and_check(layout_of(11, 3, 0, 20), 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/* Put an empty data set in place of another; chunked when chunk is given. */
static void replace(hid_t file, const char *name, hid_t type, int rank, const hsize_t *shape,
                    const hsize_t *chunk)
{
    const hid_t space = H5Screate_simple(rank, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk) {
        (void)H5Pset_chunk(how, rank, chunk);
    }
    assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(set >= 0);
    (void)H5Dclose(set);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    (void)H5Fclose(file);
}

static void sizes_are_compared(void **state)
{
    const hsize_t one[3] = {1, 1, 1}, huge[3] = {(hsize_t)1 << 40, 11, 3};
    const hsize_t wide[3] = {20, 11, 4}, many[2] = {(hsize_t)1 << 31, (hsize_t)1 << 31};
    const hsize_t flat[2] = {11, 3}, other[2] = {11, 2};
    (void)state;
    replace(edit(), "counts", H5T_STD_I32LE, 3, huge, one);
    expect_damage("counts cannot be read: part of it is missing");
    replace(edit(), "counts", H5T_STD_I32LE, 3, wide, NULL);
    expect_damage("counts cannot be read: part of it is missing");
    replace(edit(), "counts", H5T_STD_I32LE, 2, flat, NULL);
    expect_damage("counts cannot be read: it is of another kind");
    replace(edit(), "counts", H5T_IEEE_F64LE, 3, wide, NULL);
    expect_damage("counts cannot be read: it is of another kind");
    replace(edit(), "run", H5T_STD_I64LE, 1, huge, one);
    expect_damage("run cannot be read: part of it is missing");
    replace(edit(), "time", H5T_IEEE_F64LE, 1, huge, NULL);
    expect_damage("time cannot be read: part of it is missing");
    replace(edit(), "stats/mean", H5T_IEEE_F64LE, 2, many, one);
    expect_damage("stats/mean cannot be read: part of it is missing");
    replace(edit(), "stats/max", H5T_IEEE_F64LE, 2, other, NULL);
    expect_damage("stats/max cannot be read");
}

static void things_that_are_missing_are_named(void **state)
{
    static const char *const sets[] = {"time", "run", "stats/mean", "stats/variance"};
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        char text[64];
        const hid_t file = edit();
        assert_true(H5Ldelete(file, sets[i], H5P_DEFAULT) >= 0);
        (void)H5Fclose(file);
        (void)snprintf(text, sizeof text, "%s cannot be read: it is missing", sets[i]);
        expect_damage(text);
    }
    hid_t file = edit();
    assert_true(H5Adelete(file, "complete") >= 0);
    (void)H5Fclose(file);
    expect_damage("attribute 'complete' cannot be read: it is missing");
    file = edit();
    assert_true(H5Ldelete(file, "stats", H5P_DEFAULT) >= 0);
    (void)H5Fclose(file);
    expect_damage("stats cannot be read: it is missing");
}

static void times_have_to_rise(void **state)
{
    double t[11] = {0, 1, 2, 3, 3, 5, 6, 7, 8, 9, 10};
    (void)state;
    const hid_t file = edit(), set = H5Dopen2(file, "time", H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t) >= 0);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
    expect_damage("time cannot be read: times do not rise");
}

static void texts_of_variable_length_are_refused(void **state)
{
    const hsize_t three[1] = {3}, five[1] = {5};
    (void)state;
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    replace(edit(), "species", type, 1, three, NULL);
    expect_damage("species cannot be read: it is of another kind");
    replace(edit(), "about", type, 1, five, NULL);
    (void)H5Tclose(type);
    expect_damage("about cannot be read: it is of another kind");
}

/* One bit of packed samples: the checksum of the packing tells. */
static void a_damaged_chunk_is_told(void **state)
{
    hsize_t at[3], size;
    haddr_t where;
    unsigned mask;
    saltus_results *r = NULL;
    saltus_error err = {0};
    (void)state;
    run_and_check(layout_of(200, 3, 0, 20), 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "counts", H5P_DEFAULT), space = H5Dget_space(set);
    assert_true(H5Dget_chunk_info(set, space, 3, at, &mask, &where, &size) >= 0);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
    struct bytes b = load("t.h5");
    b.data[where + size / 2] ^= 4;
    store("t.h5", b);
    free(b.data);
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(saltus_results_open("t.h5", &r, &err), SALTUS_OK);
    assert_int_equal(saltus_results_print_csv(r, out, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "t.h5: counts cannot be read: inflate() failed"));
    saltus_results_close(r);
    (void)fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_samples),
        cmocka_unit_test(damaged_final_states),
        cmocka_unit_test(damaged_plain_samples),
        cmocka_unit_test(damaged_lattices),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(sizes_are_compared),
        cmocka_unit_test(things_that_are_missing_are_named),
        cmocka_unit_test(times_have_to_rise),
        cmocka_unit_test(texts_of_variable_length_are_refused),
        cmocka_unit_test(a_damaged_chunk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
