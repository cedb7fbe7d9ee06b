/* Lattices in result files: counts by type and plane, frames, from any thread and on full disks. */
#include "../support/hdf5_runs.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static hid_t open_file(const char *path)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void check_geometry(hid_t file, const saltus_hdf5_layout *l)
{
    hsize_t shape[3];
    uint8_t *types = read_set(file, "space/types", H5T_NATIVE_UINT8, 3, shape);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(shape[i], l->lattice->size[2 - i]);
    }
    assert_memory_equal(types, l->lattice->types, (size_t)l->lattice->n_sites);
    free(types);
}

/* Counts by part of the first rows: each where part_of says, all else zero. */
static void check_split(hid_t file, const saltus_hdf5_layout *l, int split, int64_t rows)
{
    hsize_t shape[4];
    int64_t *found = read_set(file, split == SALTUS_BY_TYPE ? "space/type_counts" : "space/profile",
                              H5T_NATIVE_INT64, 4, shape);
    assert_int_equal(shape[0], rows);
    assert_int_equal(shape[2], l->n_parts[split]);
    int64_t *x = found;
    for (int64_t i = l->first_trajectory; i < l->first_trajectory + rows; ++i) {
        for (int64_t p = 0; p < l->n_points; ++p) {
            for (int part = 0; part < l->n_parts[split]; ++part) {
                for (int c = 0; c < l->n_counts; ++c) {
                    const bool is_here = part_of(l, split, i, p, c) == part;
                    assert_int_equal(*x++, is_here ? count_of(i, p, c) : 0);
                }
            }
        }
    }
    free(found);
}

/* Frames of each trajectory come before its block, those of several trajectories mixed. */
static void write_and_check(const saltus_hdf5_layout *l, int64_t size)
{
    saltus_hdf5_sink *sink = create_sink("t.h5", l);
    for (int64_t row = 0; row < l->n_trajectories; ++row) {
        const int64_t other = row ^ 1;
        assert_int_equal(feed_frames(sink, l, other < l->n_trajectories ? other : row, 0, NULL),
                         SALTUS_OK);
    }
    assert_int_equal(feed_sink(sink, l, 0, l->n_trajectories, size, NULL), SALTUS_OK);
    finish_sink(sink);
    const hid_t file = open_file("t.h5");
    check_geometry(file, l);
    check_samples(file, l, l->n_trajectories);
    check_split(file, l, SALTUS_BY_TYPE, l->n_trajectories);
    check_split(file, l, SALTUS_BY_PLANE, l->n_trajectories);
    assert_int_equal(check_frames(file, l), l->n_trajectories * l->n_frames);
    (void)H5Fclose(file);
}

static void lattices_are_written(void **state)
{
    (void)state;
    for (int compress = SALTUS_COMPRESS_NONE; compress <= SALTUS_COMPRESS_SMALL; ++compress) {
        saltus_hdf5_layout l = space_layout_of(7, HDF5_RUNS_NAMES, 13);
        l.options.compress = (saltus_compress)compress;
        write_and_check(&l, 3);
        l.chunk_bytes = 64; /* runs in several chunks */
        write_and_check(&l, 1);
    }
}

static void values_become_wider(void **state)
{
    const saltus_hdf5_layout l = space_layout_of(7, 3, 500);
    (void)state;
    wide_from = 305;
    write_and_check(&l, 5);
    wide_from = INT64_MAX;
    noisy_samples = true;
    write_and_check(&l, 5);
    noisy_samples = false;
}

struct feeder {
    pthread_t thread;
    saltus_hdf5_sink *sink;
    const saltus_hdf5_layout *l;
    int64_t first, step;
    saltus_status status;
};

static void *feed(void *user)
{
    struct feeder *f = user;
    for (int64_t row = f->first; row < f->l->n_trajectories; row += f->step) {
        f->status |= feed_frames(f->sink, f->l, row, 0, NULL);
    }
    return NULL;
}

/* Also while blocks are delivered, and some of them widen what others have cut. */
static void frames_come_from_many_threads(void **state)
{
    enum { THREADS = 4 };
    const saltus_hdf5_layout l = space_layout_of(3, 2, 80);
    struct feeder feeders[THREADS];
    (void)state;
    for (int noisy = 0; noisy < 2; ++noisy) {
        noisy_samples = noisy;
        saltus_hdf5_sink *sink = create_sink("t.h5", &l);
        for (int i = 0; i < THREADS; ++i) {
            feeders[i] = (struct feeder){.sink = sink, .l = &l, .first = i, .step = THREADS};
            assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]), 0);
        }
        assert_int_equal(feed_sink(sink, &l, 0, 80, 2, NULL), SALTUS_OK);
        for (int i = 0; i < THREADS; ++i) {
            (void)pthread_join(feeders[i].thread, NULL);
            assert_int_equal(feeders[i].status, SALTUS_OK);
        }
        finish_sink(sink);
        const hid_t file = open_file("t.h5");
        assert_int_equal(check_frames(file, &l), 80 * 3);
        (void)H5Fclose(file);
    }
    noisy_samples = false;
}

/* An interrupted run: frames of a trajectory that was never finished. */
static void frames_of_unfinished_trajectories_stay(void **state)
{
    const saltus_hdf5_layout l = space_layout_of(3, 2, 10);
    saltus_results *r = NULL;
    (void)state;
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    assert_int_equal(feed_frames(sink, &l, 0, 0, NULL), SALTUS_OK);
    assert_int_equal(feed_frames(sink, &l, 4, 2, NULL), SALTUS_OK);
    assert_int_equal(feed_sink(sink, &l, 0, 1, 1, NULL), SALTUS_OK);
    finish_sink(sink);
    const hid_t file = open_file("t.h5");
    assert_int_equal(read_attribute(file, "complete"), 0);
    assert_int_equal(check_frames(file, &l), 3 + 1);
    check_split(file, &l, SALTUS_BY_PLANE, 1);
    (void)H5Fclose(file);
    assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK);
    assert_int_equal(saltus_results_write_xdmf(r, NULL), SALTUS_OK);
    saltus_results_close(r);
    FILE *f = popen("grep -c '<Time' t.xdmf", "r");
    int n = 0;
    assert_int_equal(fscanf(f, "%d", &n), 1);
    assert_int_equal(n, 4);
    (void)pclose(f);
}

/* Mean and variance of parts, when runs are not kept. */
static void statistics_of_parts(void **state)
{
    (void)state;
    saltus_hdf5_layout l = space_layout_of(4, 2, 60);
    l.options.record = SALTUS_RECORD_STATS;
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    assert_int_equal(feed_sink(sink, &l, 0, 60, 7, NULL), SALTUS_OK);
    finish_sink(sink);
    hsize_t shape[3];
    const hid_t file = open_file("t.h5");
    double *mean = read_set(file, "space/profile_stats/mean", H5T_NATIVE_DOUBLE, 3, shape);
    double *variance = read_set(file, "space/profile_stats/variance", H5T_NATIVE_DOUBLE, 3, shape);
    assert_int_equal(shape[1], l.n_parts[SALTUS_BY_PLANE]);
    for (int64_t q = 0; q < 4 * l.n_parts[SALTUS_BY_PLANE] * 2; ++q) {
        const int c = (int)(q % 2), part = (int)(q / 2 % l.n_parts[SALTUS_BY_PLANE]);
        const int64_t p = q / 2 / l.n_parts[SALTUS_BY_PLANE];
        double sum = 0, square = 0;
        for (int64_t i = l.first_trajectory; i < l.first_trajectory + 60; ++i) {
            const bool is_here = part_of(&l, SALTUS_BY_PLANE, i, p, c) == part;
            const double x = is_here ? (double)count_of(i, p, c) : 0;
            sum += x;
            square += x * x;
        }
        assert_true(fabs(mean[q] - sum / 60) < 1e-9);
        assert_true(fabs(variance[q] - (square - sum * sum / 60) / 59) < 1e-6);
    }
    free(mean);
    free(variance);
    (void)H5Fclose(file);
}

/* Not without a look at the disk: a flush, which comes by the clock, might then be what fails. */
static void a_full_disk_keeps_frames(void **state)
{
    (void)state;
    (void)mkdir("small", 0700);
    for (int mode = SALTUS_RESERVE_AHEAD; mode <= SALTUS_RESERVE_BALLAST; ++mode) {
        if (mount("tmpfs", "small", "tmpfs", 0, "size=6m") != 0) {
            print_message("no file system can be mounted here: %s\n", strerror(errno));
            skip();
        }
        saltus_hdf5_layout l = space_layout_of(3, 8, 100000);
        l.reserve = (saltus_reserve_mode)mode;
        noisy_samples = true;
        saltus_error err = {0}, close_err = {0};
        saltus_status status = SALTUS_OK;
        saltus_hdf5_sink *sink = create_sink("small/t.h5", &l);
        for (int64_t row = 0; status == SALTUS_OK; ++row) {
            status = feed_frames(sink, &l, row, 0, &err);
        }
        assert_int_equal(status, SALTUS_E_IO);
        assert_non_null(strstr(err.message, "No space left on device"));
        if (saltus_hdf5_sink_close(sink, NULL, &close_err) != SALTUS_OK) {
            fail_msg("mode %d: %s", mode, close_err.message);
        }
        const hid_t file = open_file("small/t.h5");
        assert_true(check_frames(file, &l) > 100);
        (void)H5Fclose(file);
        (void)umount("small");
    }
    noisy_samples = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lattices_are_written),
        cmocka_unit_test(values_become_wider),
        cmocka_unit_test(frames_come_from_many_threads),
        cmocka_unit_test(frames_of_unfinished_trajectories_stay),
        cmocka_unit_test(statistics_of_parts),
        cmocka_unit_test(a_full_disk_keeps_frames),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)umount("small");
    return failed;
}
