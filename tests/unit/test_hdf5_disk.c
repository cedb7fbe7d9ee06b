/* Result files on disks that are full or fail, and of writers that are killed. */
#include "../support/hdf5_runs.h"
#include "write/hdf5/file.h"
#include "write/hdf5/live.h"
#include "write/hdf5/sync.h"

#include <hdf5.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SMALL_DISK = 2 << 20 };

/* A small file system in ./small, or false. */
static bool mount_small(void)
{
    (void)mkdir("small", 0700);
    return mount("tmpfs", "small", "tmpfs", 0, "size=2m") == 0;
}

/* Fill the disk with samples that do not compress; everything delivered must be there. */
static void overfill(const char *path, saltus_hdf5_layout l, const char *text)
{
    saltus_error err = {0}, close_err = {0};
    const saltus_run_report report = {.events = 1, .seconds = 1};
    saltus_hdf5_sink *sink = create_sink(path, &l);
    const int64_t size = saltus_hdf5_sink_get(sink)->block_trajectories;
    noisy_samples = true;
    assert_int_equal(feed_sink(sink, &l, 0, l.n_trajectories, size ? size : 64, &err), SALTUS_E_IO);
    if (!strstr(err.message, text) || !strstr(err.message, "writing failed")) {
        fail_msg("%s", err.message);
    }
    assert_non_null(strstr(err.hint, "is in the file"));
    if (saltus_hdf5_sink_close(sink, &report, &close_err) != SALTUS_OK) {
        fail_msg("%d %d: %s, rows %s", (int)l.reserve,
                 (int)l.options.record * 10 + (int)l.options.compress, close_err.message, err.hint);
    }
    const int64_t rows = rows_in(path);
    char runs[64];
    (void)snprintf(runs, sizeof runs, "(%lld runs)", (long long)rows);
    assert_non_null(strstr(err.hint, runs));
    assert_true(rows > 0);
    check_file(path, &l, rows, false);
    noisy_samples = false;
    (void)unlink(path);
}

static void a_full_disk_keeps_what_was_delivered(void **state)
{
    (void)state;
    if (!mount_small()) {
        print_message("no file system can be mounted here: %s\n", strerror(errno));
        skip();
    }
    for (int mode = SALTUS_RESERVE_AHEAD; mode <= SALTUS_RESERVE_BLIND; ++mode) {
        saltus_hdf5_layout l = layout_of(20, 4, 1, 20000);
        l.reserve = (saltus_reserve_mode)mode;
        l.disk_free = 1e300; /* it is to be found full on the way */
        overfill("small/t.h5", l, "No space left on device");
        l.options.compress = SALTUS_COMPRESS_NONE;
        overfill("small/t.h5", l, "No space left on device");
        l = layout_of(2, 8, 0, 200000);
        l.reserve = (saltus_reserve_mode)mode;
        l.disk_free = 1e300; /* it is to be found full on the way */
        l.options.record = SALTUS_RECORD_FINAL;
        overfill("small/t.h5", l, "No space left on device");
    }
    (void)umount("small");
}

static void widening_on_a_full_disk_loses_nothing(void **state)
{
    (void)state;
    if (!mount_small()) {
        skip();
    }
    for (int mode = SALTUS_RESERVE_AHEAD; mode <= SALTUS_RESERVE_BLIND; ++mode) {
        saltus_hdf5_layout l = layout_of(20, 4, 1, 20000);
        l.reserve = (saltus_reserve_mode)mode;
        l.disk_free = 1e300; /* it is to be found full on the way */
        wide_from = 1200;
        overfill("small/t.h5", l, "No space left on device");
        wide_from = INT64_MAX;
    }
    (void)umount("small");
}

static void too_small_a_disk_is_told_at_once(void **state)
{
    (void)state;
    if (!mount_small()) {
        skip();
    }
    saltus_hdf5_layout l = layout_of(2000, 8, 0, 10);
    l.options.record = SALTUS_RECORD_HISTOGRAM;
    saltus_error err = {0};
    saltus_hdf5_sink *sink = NULL;
    assert_int_equal(saltus_hdf5_sink_create("small/t.h5", &l, &sink, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "No space left on device"));
    assert_int_not_equal(access("small/t.h5", F_OK), 0);
    (void)umount("small");
}

static void a_file_size_limit_keeps_what_was_delivered(void **state)
{
    struct rlimit old, low;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = SMALL_DISK;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    overfill("t.h5", layout_of(20, 4, 1, 20000), "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* A killed process leaves what was flushed last: here the state right after widening. */
static void a_killed_run_leaves_the_last_flush(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(11, 3, 0, 1000);
    wide_from = 305;
    (void)unlink("t.h5");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        saltus_hdf5_sink *sink = NULL;
        if (saltus_hdf5_sink_create("t.h5", &l, &sink, NULL) == SALTUS_OK) {
            (void)feed_sink(sink, &l, 0, 700, saltus_hdf5_sink_get(sink)->block_trajectories, NULL);
        }
        (void)kill(getpid(), SIGKILL);
    }
    (void)waitpid(child, NULL, 0);
    assert_true(H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0); /* a writer is in it, it seems */
    saltus_results *results = NULL;
    assert_int_equal(saltus_results_open("t.h5", &results, NULL), SALTUS_OK);
    saltus_results_close(results);
    assert_int_equal(rows_in("t.h5"), 300);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    check_samples(file, &l, 300);
    (void)H5Fclose(file);
    wide_from = INT64_MAX;
}

/* Somebody has the file, and readers may not look on yet: they wait a little. */
static void a_writer_that_begins_is_waited_for(void **state)
{
    const saltus_hdf5_layout l = layout_of(11, 3, 1, 100);
    saltus_results *r = NULL;
    saltus_error err = {0};
    int status = -1, ends[2];
    char ready = 0;
    (void)state;
    run_and_check(l, 20);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int fd = open("t.h5", O_RDWR | O_CLOEXEC);
        const bool has = fd >= 0 && saltus_h5_lock(fd) == 0;
        const hid_t file = has ? saltus_h5_open_to_write("t.h5") : -1;
        const bool told = write(ends[1], "!", 1) == 1;
        (void)usleep(200000);
        _exit(file >= 0 && told && H5Fclose(file) >= 0 ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    if (saltus_results_open("t.h5", &r, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    saltus_results_close(r);
    (void)waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ------------------------------------------------------------------------------------------------
 * Disks that fail
 */

static int writes_left = -1; /* then files with a name cannot be written; negative: never */
static bool fails_once;      /* and can be written again */

static ssize_t pwrite_or_fail(int fd, const void *data, size_t size, off_t at)
{
    struct stat st;
    if (writes_left == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
        writes_left = fails_once ? -1 : 0;
        errno = EIO;
        return -1;
    }
    writes_left -= writes_left > 0;
    return syscall(SYS_pwrite64, fd, data, size, at);
}

/* These stand in for the C library's, also within HDF5; which one it uses depends on its build. */
ssize_t own_pwrite(int fd, const void *data, size_t size, off_t at) __asm__("pwrite");
ssize_t own_pwrite64(int fd, const void *data, size_t size, off_t at) __asm__("pwrite64");

ssize_t own_pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite_or_fail(fd, data, size, at);
}

ssize_t own_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    return pwrite_or_fail(fd, data, size, at);
}

/* What forces a file to the disk waits for `sync_may_end`, or fails. */
static pthread_mutex_t sync_may_end = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int n_syncs, sync_problem;

int own_fdatasync(int fd) __asm__("fdatasync");

int own_fdatasync(int fd)
{
    (void)fd;
    ++n_syncs;
    (void)pthread_mutex_lock(&sync_may_end);
    (void)pthread_mutex_unlock(&sync_may_end);
    errno = sync_problem;
    return errno == 0 ? 0 : -1;
}

/* A disk that takes long keeps neither the run nor the next flushes waiting, so that a process that
 * is killed meanwhile leaves all that it has delivered. */
static void a_slow_disk_holds_nobody_up(void **state)
{
    saltus_hdf5_layout l = layout_of(11, 3, 1, 1000);
    int64_t *rows =
        mmap(NULL, sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    (void)state;
    assert_true(rows != MAP_FAILED);
    l.flush_seconds = 1e-9;
    n_syncs = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        saltus_hdf5_sink *sink = NULL;
        (void)pthread_mutex_lock(&sync_may_end);
        bool good = saltus_hdf5_sink_create("t.h5", &l, &sink, NULL) == SALTUS_OK;
        const int64_t size = good ? saltus_hdf5_sink_get(sink)->block_trajectories : 1;
        good = good && feed_sink(sink, &l, 0, 5 * size, size, NULL) == SALTUS_OK;
        while (good && n_syncs == 0) {
        } /* its thread may begin late */
        *rows = good && n_syncs == 1 ? 5 * size : -1;
        (void)kill(getpid(), SIGKILL);
    }
    (void)waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    saltus_results *r = NULL;
    assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK); /* takes a mark away */
    saltus_results_close(r);
    assert_int_equal(rows_in("t.h5"), *rows);
    (void)munmap(rows, sizeof *rows);
}

static void wait_for(saltus_sync *s)
{
    while (!__atomic_load_n(&s->is_done, __ATOMIC_ACQUIRE)) {
    }
}

/* One at a time; when it is done, the next. */
static void a_disk_is_forced_again_when_it_is_done(void **state)
{
    saltus_sync s = {0};
    (void)state;
    n_syncs = 0;
    for (int i = 1; i < 4; ++i) {
        assert_int_equal(pthread_mutex_lock(&sync_may_end), 0);
        assert_int_equal(saltus_sync_begin(&s, 1), 0);
        assert_int_equal(saltus_sync_begin(&s, 1), 0);
        assert_int_equal(pthread_mutex_unlock(&sync_may_end), 0);
        wait_for(&s);
        assert_int_equal(n_syncs, i);
    }
    sync_problem = EIO;
    assert_int_equal(saltus_sync_begin(&s, 1), 0);
    wait_for(&s);
    sync_problem = 0;
    assert_int_equal(saltus_sync_begin(&s, 1), EIO);
    assert_int_equal(saltus_sync_end(&s), 0);
    assert_int_equal(saltus_sync_end(&s), 0);
    assert_int_equal(n_syncs, 5);
}

/* Told at the next flush, or at the end. */
static void what_did_not_reach_the_disk_is_told(void **state)
{
    saltus_hdf5_layout l = layout_of(11, 3, 1, 1000);
    (void)state;
    for (int at_end = 0; at_end < 2; ++at_end) {
        saltus_error err = {0};
        l.flush_seconds = at_end ? 0.3 : 1e-9;
        saltus_hdf5_sink *sink = create_sink("t.h5", &l);
        const int64_t size = saltus_hdf5_sink_get(sink)->block_trajectories;
        saltus_status status = SALTUS_OK;
        int64_t row = 0;
        n_syncs = 0;
        sync_problem = EIO;
        for (; row < 1000 && status == SALTUS_OK && !(at_end && n_syncs > 0); row += size) {
            (void)usleep(50000);
            status = feed_sink(sink, &l, row, row + size, size, &err);
        }
        sync_problem = at_end ? EIO : 0;
        const saltus_status last = saltus_hdf5_sink_close(sink, NULL, at_end ? &err : NULL);
        sync_problem = 0;
        assert_int_equal(at_end ? last : status, SALTUS_E_IO);
        assert_non_null(strstr(err.message, "t.h5: writing failed: Input/output error"));
        check_file("t.h5", &l, rows_in("t.h5"), false);
    }
}

static void a_failing_disk_is_told(void **state)
{
    const saltus_hdf5_layout l = layout_of(11, 3, 1, 1000);
    saltus_error err = {0}, next = {0}, flushed = {0};
    (void)state;
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    const int64_t size = saltus_hdf5_sink_get(sink)->block_trajectories;
    assert_int_equal(feed_sink(sink, &l, 0, 10 * size, size, NULL), SALTUS_OK);
    writes_left = 3;
    assert_int_equal(feed_sink(sink, &l, 10 * size, 20 * size, size, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "t.h5: writing failed: Input/output error"));
    writes_left = -1;
    /* as another worker, which may be the first one that is heard */
    assert_int_equal(feed_sink(sink, &l, 20 * size, 21 * size, size, &next), SALTUS_E_IO);
    assert_string_equal(next.message, err.message);
    assert_string_equal(next.hint, err.hint);
    const saltus_sink *s = saltus_hdf5_sink_get(sink);
    assert_int_equal(s->flush(s->user, &flushed), SALTUS_E_IO);
    assert_string_equal(flushed.message, err.message);
    finish_sink(sink);
    check_file("t.h5", &l, rows_in("t.h5"), false);
    assert_true(rows_in("t.h5") >= 10 * size);
}

/* HDF5 crashes at the end of a program that could not close a file, so a child looks at it. */
static void a_file_that_cannot_be_closed_is_let_go(void **state)
{
    const saltus_hdf5_layout l = layout_of(11, 3, 1, 1000);
    (void)state;
    for (int left = 0; left < 20; ++left) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            saltus_error err = {0};
            saltus_hdf5_sink *sink = NULL;
            (void)signal(SIGSEGV, SIG_DFL); /* not cmocka's handler */
            (void)signal(SIGABRT, SIG_DFL);
            bool good = saltus_hdf5_sink_create("t.h5", &l, &sink, NULL) == SALTUS_OK;
            const int64_t size = good ? saltus_hdf5_sink_get(sink)->block_trajectories : 1;
            good = good && feed_sink(sink, &l, 0, 10 * size, size, NULL) == SALTUS_OK;
            writes_left = left;
            good =
                good && (saltus_hdf5_sink_close(sink, NULL, &err) == SALTUS_OK || writes_left == 0);
            good = good && (err.code == SALTUS_OK || strstr(err.message, "Input/output error"));
            good = good && saltus_hdf5_sink_create("u.h5", &l, &sink, NULL) != SALTUS_OK;
            writes_left = -1;
            good = good && saltus_hdf5_sink_create("u.h5", &l, &sink, NULL) == SALTUS_OK;
            good = good && saltus_hdf5_sink_close(sink, NULL, NULL) == SALTUS_OK;
            if (good) {
                (void)rename("u.h5", "good.h5");
            }
            exit(0); /* with another code under ASan: HDF5 loses memory with the file */
        }
        (void)waitpid(child, &status, 0);
        if (!WIFEXITED(status) || unlink("good.h5") != 0) {
            fail_msg("after %d writes: status %x", left, (unsigned)status);
        }
    }
}

enum { WAS_WHOLE = 10, HAS_FAILED };

/* Feed all, and let one write of the end fail. */
static int fail_at_the_end(const saltus_hdf5_layout *l, int left)
{
    saltus_error err = {0};
    saltus_hdf5_sink *sink = NULL;
    if (saltus_hdf5_sink_create("t.h5", l, &sink, NULL) != SALTUS_OK ||
        feed_sink(sink, l, 0, l->n_trajectories, 20, NULL) != SALTUS_OK) {
        return 0;
    }
    writes_left = left;
    fails_once = true;
    const saltus_status status = saltus_hdf5_sink_close(sink, NULL, &err);
    return status != SALTUS_OK ? HAS_FAILED : writes_left < 0 ? 0 : WAS_WHOLE;
}

/* The disk is full for a moment, as when space that was held for the end is given back. In a child,
 * because HDF5 may not close the file. */
static void a_file_whose_end_failed_is_not_complete(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_ALL, SALTUS_RECORD_FINAL,
                                            SALTUS_RECORD_STATS, SALTUS_RECORD_HISTOGRAM};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        saltus_hdf5_layout l = layout_of(7, 3, 1, 60);
        int n = 0, n_looked_at = 0, code = 0;
        l.options.record = records[i];
        do {
            const pid_t child = fork();
            if (child == 0) {
                _exit(fail_at_the_end(&l, n));
            }
            (void)waitpid(child, &code, 0);
            assert_true(WIFEXITED(code));
            const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
            const bool is_open = file >= 0, has_failed = WEXITSTATUS(code) == HAS_FAILED;
            const bool is_complete = is_open && read_attribute(file, "complete") != 0;
            n_looked_at += is_open && has_failed && !is_complete;
            (void)H5Fclose(file);
            if (is_complete) { /* it was the last writes that failed, of marks */
                check_file("t.h5", &l, l.n_trajectories, true);
            }
            ++n;
        } while (WEXITSTATUS(code) == HAS_FAILED);
        assert_int_equal(WEXITSTATUS(code), WAS_WHOLE);
        check_file("t.h5", &l, l.n_trajectories, true);
        assert_true(n_looked_at > 5);
    }
}

/* 1000 runs of 11 times and 2 counts, 1 observable; on disks with a byte too little, and enough. */
static void what_cannot_fit_is_refused(void **state)
{
    static const struct {
        saltus_record record;
        saltus_compress compress;
        double least; /* bytes */
    } cases[] = {
        {SALTUS_RECORD_ALL, SALTUS_COMPRESS_NONE, 1856 + 1000 * (8 + 11 * 16)},
        {SALTUS_RECORD_ALL, SALTUS_COMPRESS_FAST, 1856 + 1000 * (8 + 11 * 16) / 20.0},
        {SALTUS_RECORD_ALL, SALTUS_COMPRESS_SMALL, 1856 + 1000 * (8 + 11 * 16) / 1032.0},
        {SALTUS_RECORD_FINAL, SALTUS_COMPRESS_NONE, 1856 + 1000 * (8 + 24)},
        {SALTUS_RECORD_STATS, SALTUS_COMPRESS_NONE, 1856 + 1000 * 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_hdf5_layout l = layout_of(11, 2, 1, 1000);
        saltus_error err = {0};
        saltus_hdf5_sink *sink = NULL;
        l.options.record = cases[i].record;
        l.options.compress = cases[i].compress;
        l.disk_free = cases[i].least - 1;
        (void)unlink("v.h5");
        assert_int_equal(saltus_hdf5_sink_create("v.h5", &l, &sink, &err), SALTUS_E_INVALID);
        assert_non_null(strstr(err.message, "v.h5: the results take "));
        assert_non_null(strstr(err.message, "are free on this disk"));
        assert_non_null(strstr(err.hint, "`record stats`"));
        assert_int_equal(access("v.h5", F_OK), -1);
        l.disk_free = cases[i].least + 1;
        sink = create_sink("v.h5", &l);
        finish_sink(sink);
    }
    /* Frames are mostly empty: a thousandth of them counts. */
    saltus_hdf5_layout l = space_layout_of(2, 2, 50);
    const double frames = 50.0 * 3 * 9 * 5 * 4 * 2;
    const saltus_disk_need need = saltus_hdf5_need(&l);
    assert_true(need.sparse == frames);
    /* Of packed samples more may be wanted than there is. */
    char text[SALTUS_DOUBT_SIZE];
    assert_true(saltus_disk_doubt("v.h5", &need, need.plain + need.packed - 1, text));
    assert_non_null(strstr(text, "they may not fit"));
    assert_false(saltus_disk_doubt("v.h5", &need, need.plain + need.packed + 1, text));
    assert_true(saltus_disk_free("v.h5") > 0 && saltus_disk_free("/v.h5") > 0);
    assert_true(saltus_disk_free("nowhere/v.h5") > 1e300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_keeps_what_was_delivered),
        cmocka_unit_test(widening_on_a_full_disk_loses_nothing),
        cmocka_unit_test(too_small_a_disk_is_told_at_once),
        cmocka_unit_test(a_file_size_limit_keeps_what_was_delivered),
        cmocka_unit_test(a_killed_run_leaves_the_last_flush),
        cmocka_unit_test(a_writer_that_begins_is_waited_for),
        cmocka_unit_test(a_failing_disk_is_told),
        cmocka_unit_test(a_slow_disk_holds_nobody_up),
        cmocka_unit_test(a_disk_is_forced_again_when_it_is_done),
        cmocka_unit_test(what_did_not_reach_the_disk_is_told),
        cmocka_unit_test(a_file_whose_end_failed_is_not_complete),
        cmocka_unit_test(what_cannot_fit_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_closed_is_let_go),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)umount("small");
    return failed;
}
