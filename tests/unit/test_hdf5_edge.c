/* Chunks that are not full: what deflate does not make smaller stands shuffled alone, and stays
 * what it is when rows come behind it or go. */
#include "../support/hdf5_runs.h"

#include "core/memory.h"
#include "write/hdf5/chunk.h"
#include "write/hdf5/edge.h"

#include <hdf5.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ROWS = 4, MOST_COLUMNS = 6 };

/* So that between a few bytes and all of them are not zero. */
static int64_t value_of(int k, int row, int column)
{
    return count_of(k, row, column) >> 3 * (k % 10);
}

/* t.h5 with one chunk of whole rows, packed as result files are. */
static void write_chunk(int k, int n_columns)
{
    const hsize_t shape[2] = {ROWS, (hsize_t)n_columns}, most[2] = {H5S_UNLIMITED, shape[1]};
    const hsize_t at[2] = {0, 0};
    int64_t values[ROWS * MOST_COLUMNS];
    saltus_chunk chunk = {0};
    for (int i = 0; i < ROWS * n_columns; ++i) {
        values[i] = value_of(k, i / n_columns, i % n_columns);
    }
    const size_t n = (size_t)(ROWS * n_columns);
    assert_int_equal(saltus_chunk_encode(values, n, n, 4, 1, &chunk, NULL), SALTUS_OK);
    const hid_t file = H5Fcreate("t.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, most);
    assert_true(H5Pset_chunk(how, 2, shape) >= 0 && H5Pset_shuffle(how) >= 0 &&
                H5Pset_deflate(how, 1) >= 0);
    const hid_t set = H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, chunk.skipped, at, chunk.size, chunk.data) >= 0);
    saltus_free(chunk.data);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    (void)H5Pclose(how);
    assert_true(H5Fclose(file) >= 0);
}

static void what_is_left_of_a_chunk_is_right(void **state)
{
    (void)state;
    noisy_samples = true;
    for (int k = 0; k < 2000; ++k) {
        const int n_columns = 1 + k % MOST_COLUMNS, rows = 1 + k / MOST_COLUMNS % (ROWS - 1);
        hsize_t shape[2];
        write_chunk(k, n_columns);
        hid_t file = H5Fopen("t.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        const hid_t set = H5Dopen2(file, "x", H5P_DEFAULT);
        assert_true(saltus_h5_set_length(set, (hsize_t)rows) >= 0);
        (void)H5Dclose(set);
        assert_true(H5Fclose(file) >= 0);
        file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        int64_t *values = read_set(file, "x", H5T_NATIVE_INT64, 2, shape);
        assert_int_equal(shape[0], rows);
        for (int i = 0; i < rows * n_columns; ++i) {
            if (values[i] != value_of(k, i / n_columns, i % n_columns)) {
                fail_msg("%d rows of %d, value %d of chunk %d", rows, n_columns, i, k);
            }
        }
        free(values);
        (void)H5Fclose(file);
    }
    (void)unlink("t.h5");
    noisy_samples = false;
}

/* Blocks that are no whole chunks, as at the end of a run that was stopped. */
static void runs_come_behind_chunks_that_are_not_full(void **state)
{
    (void)state;
    for (int k = 0; k < 24; ++k) {
        saltus_hdf5_layout l = layout_of(1 + k % 3, 1 + k / 3 % 2, k / 6 % 2, 520);
        noisy_samples = k >= 12; /* chunks of 4 runs: see saltus_h5_runs_per_chunk */
        run_and_check(l, 3);
        wide_from = 400;
        run_and_check(l, 1);
        wide_from = INT64_MAX;
    }
    noisy_samples = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_of_a_chunk_is_right),
        cmocka_unit_test(runs_come_behind_chunks_that_are_not_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
