/* Result files whose writer is killed at any moment, and two writers on one name. */
#include "../support/effort.h"
#include "../support/hdf5_runs.h"

#include <hdf5.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Rows that a child has delivered, each of which was flushed. */
static volatile int64_t *delivered;

static int n_kills(void)
{
    return takes_all() ? 500 : takes_part() ? 4 : 40;
}

static int make_shared(void **state)
{
    (void)state;
    delivered =
        mmap(NULL, sizeof *delivered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return delivered == MAP_FAILED ? -1 : 0;
}

static void write_for_ever(const saltus_hdf5_layout *l, int64_t size)
{
    saltus_hdf5_sink *sink = NULL;
    if (saltus_hdf5_sink_create("t.h5", l, &sink, NULL) != SALTUS_OK) {
        _exit(1);
    }
    const int64_t wish = saltus_hdf5_sink_get(sink)->block_trajectories;
    size = size ? size : wish;
    for (int64_t row = 0; row + size <= l->n_trajectories; row += size) {
        if (feed_sink(sink, l, row, row + size, size, NULL) != SALTUS_OK) {
            _exit(1);
        }
        *delivered = row + size;
    }
    _exit(2);
}

/* Start a writer, and kill it some time after its first rows. */
static void kill_a_writer(const saltus_hdf5_layout *l, int64_t size, int k)
{
    int status = 0;
    const struct timespec tick = {0, 100000};
    const int ticks = (int)((unsigned)k * 2654435761U >> 8) % 200;
    (void)unlink("t.h5");
    *delivered = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        write_for_ever(l, size);
    }
    while (*delivered == 0 && waitpid(child, &status, WNOHANG) == 0) {
        (void)nanosleep(&tick, NULL);
    }
    for (int i = 0; i < ticks; ++i) {
        (void)nanosleep(&tick, NULL);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
}

/* By HDF5's mode for readers, which tries again, after pauses that double, where a checksum is
 * wrong: 100 times unless it is told otherwise. */
static hid_t open_as_it_lies(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    assert_true(H5Pset_metadata_read_attempts(access, 16) >= 0);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
    (void)H5Pclose(access);
    assert_true(file >= 0);
    return file;
}

/* Whether the kill came between two pages of one write to an index of chunks, where the kernel may
 * stop: the index has neither its old checksum then nor its new one. With a flush after each block
 * that is one kill in thousands. */
static bool is_torn(const saltus_hdf5_layout *l)
{
    static const char *const names[] = {"run", "final"};
    const hid_t file = open_as_it_lies();
    bool is = false;
    for (int i = 0; i < (l->options.record == SALTUS_RECORD_FINAL ? 2 : 1); ++i) {
        const hid_t set = H5Dopen2(file, names[i], H5P_DEFAULT), space = H5Dget_space(set);
        int64_t *values = calloc((size_t)H5Sget_simple_extent_npoints(space) + 1, sizeof *values);
        assert_non_null(values);
        H5E_BEGIN_TRY
        {
            is |= H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
        }
        H5E_END_TRY
        free(values);
        (void)H5Sclose(space);
        (void)H5Dclose(set);
    }
    (void)H5Fclose(file);
    return is;
}

/* As a program sees it that knows nothing of Saltus. */
static int64_t check_as_it_lies(const saltus_hdf5_layout *l)
{
    const hid_t file = open_as_it_lies();
    const int64_t rows = read_attribute(file, "trajectories");
    hsize_t shape[3];
    int64_t *runs = read_set(file, "run", H5T_NATIVE_INT64, 1, shape);
    assert_true((int64_t)shape[0] >= rows);
    for (int64_t i = 0; i < rows; ++i) {
        assert_int_equal(runs[i], l->first_trajectory + i);
    }
    free(runs);
    if (l->options.record == SALTUS_RECORD_FINAL) {
        int64_t *last = read_set(file, "final", H5T_NATIVE_INT64, 2, shape);
        assert_true((int64_t)shape[0] >= rows);
        for (int64_t i = 0; i < rows * l->n_counts; ++i) {
            assert_int_equal(last[i], count_of(l->first_trajectory + i / l->n_counts,
                                               l->n_points - 1, (int)(i % l->n_counts)));
        }
        free(last);
    }
    (void)H5Fclose(file);
    return rows;
}

/* What was delivered is there, to any program as it lies, and to all when Saltus has touched it. */
static void check_after_kill(const saltus_hdf5_layout *l)
{
    saltus_results *r = NULL;
    const int64_t rows = check_as_it_lies(l);
    assert_true(rows >= *delivered);
    assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK);
    saltus_results_close(r);
    assert_int_equal(rows_in("t.h5"), rows);
    const hid_t file = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    if (l->options.record == SALTUS_RECORD_ALL) {
        check_samples(file, l, rows);
    }
    (void)H5Fclose(file);
}

static void kill_many(saltus_hdf5_layout l, int64_t size)
{
    int n_torn = 0;
    l.flush_seconds = 1e-9;
    for (int k = 0; k < n_kills(); ++k) {
        kill_a_writer(&l, size, k);
        if (is_torn(&l)) {
            ++n_torn;
        } else {
            check_after_kill(&l);
        }
    }
    assert_true(n_torn <= (n_kills() + 200) / 250);
}

static void samples_survive(void **state)
{
    (void)state;
    kill_many(layout_of(11, 3, 1, 1000000), 0);
    saltus_hdf5_layout plain = layout_of(11, 3, 1, 1000000);
    plain.options.compress = SALTUS_COMPRESS_NONE;
    kill_many(plain, 0);
}

static void last_samples_survive(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(5, 3, 1, 10000000);
    l.options.record = SALTUS_RECORD_FINAL;
    kill_many(l, 700);
}

static void statistics_survive(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(101, 8, 2, 10000000);
    l.options.record = SALTUS_RECORD_STATS;
    kill_many(l, 64);
}

/* ------------------------------------------------------------------------------------------------
 * A kill at each write
 */

static int64_t writes_left = -1; /* then the process is killed; negative: never */

static ssize_t pwrite_or_die(int fd, const void *data, size_t size, off_t at)
{
    if (writes_left == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    writes_left -= writes_left > 0;
    return syscall(SYS_pwrite64, fd, data, size, at);
}

/* These stand in for the C library's, also within HDF5; which one it uses depends on its build. */
ssize_t own_pwrite(int fd, const void *data, size_t size, off_t at) __asm__("pwrite");
ssize_t own_pwrite64(int fd, const void *data, size_t size, off_t at) __asm__("pwrite64");

ssize_t own_pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite_or_die(fd, data, size, at);
}

ssize_t own_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    return pwrite_or_die(fd, data, size, at);
}

/* All that happens to a file: some blocks, each flushed, and its end. Builds that take a part of
 * the tests take every fifth write. Returns at how many writes it was killed, or a little more. */
static int kill_at_each_write(saltus_hdf5_layout l, int64_t size)
{
    l.flush_seconds = 1e-9;
    for (int64_t n = 0;; n += takes_part() ? 5 : 1) {
        int code = 0;
        (void)unlink("t.h5");
        *delivered = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            saltus_hdf5_sink *sink = NULL;
            bool good = saltus_hdf5_sink_create("t.h5", &l, &sink, NULL) == SALTUS_OK;
            writes_left = n;
            for (int64_t row = 0; good && row < l.n_trajectories; row += size) {
                good = feed_sink(sink, &l, row, row + size, size, NULL) == SALTUS_OK;
                *delivered = row + size;
            }
            _exit(good && saltus_hdf5_sink_close(sink, NULL, NULL) == SALTUS_OK ? 0 : 1);
        }
        (void)waitpid(child, &code, 0);
        if (WIFEXITED(code)) {
            assert_int_equal(WEXITSTATUS(code), 0);
            check_file("t.h5", &l, l.n_trajectories, true);
            return (int)n;
        }
        check_after_kill(&l);
    }
}

static void each_write_may_be_the_last(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_ALL, SALTUS_RECORD_FINAL,
                                            SALTUS_RECORD_STATS, SALTUS_RECORD_HISTOGRAM};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        saltus_hdf5_layout l = layout_of(7, 3, 1, 60);
        l.options.record = records[i];
        l.chunk_bytes = 2000;
        assert_true(kill_at_each_write(l, 20) > 30);
    }
}

/* What has the name can be read, and where nothing has it, or nothing is in it, one begins anew. */
static int kill_at_each_write_of_the_beginning(bool overwrite)
{
    saltus_hdf5_layout l = layout_of(7, 3, 1, 60);
    l.options.overwrite = true;
    for (int64_t n = 0;; ++n) {
        int code = 0;
        (void)unlink("t.h5");
        if (overwrite) {
            run_and_check(l, 20);
        }
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            saltus_hdf5_sink *sink = NULL;
            writes_left = n;
            const bool good = saltus_hdf5_sink_create("t.h5", &l, &sink, NULL) == SALTUS_OK;
            _exit(good ? 0 : 1);
        }
        (void)waitpid(child, &code, 0);
        if (!overwrite && access("t.h5", F_OK) == 0) {
            saltus_results *r = NULL;
            assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK);
            saltus_results_close(r);
        }
        run_and_check(l, 20);
        assert_int_not_equal(access("t.h5.new", F_OK), 0);
        if (WIFEXITED(code)) {
            assert_int_equal(WEXITSTATUS(code), 0);
            return (int)n;
        }
    }
}

static void a_file_that_never_began_is_in_nobodys_way(void **state)
{
    (void)state;
    assert_true(kill_at_each_write_of_the_beginning(false) > 10);
    assert_true(kill_at_each_write_of_the_beginning(true) > 10);
}

/* ------------------------------------------------------------------------------------------------
 * Two writers
 */

/* Whoever comes second is refused while the first is at work, as when it has ended, and never takes
 * its file away. */
static void two_writers_do_not_meet(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(4, 2, 0, 50);
    l.options.overwrite = false;
    for (int k = 0; k < n_kills(); ++k) {
        pid_t child[2];
        int n_done = 0, codes[2];
        (void)unlink("t.h5");
        for (int i = 0; i < 2; ++i) {
            child[i] = fork();
            if (child[i] == 0) {
                saltus_hdf5_sink *sink = NULL;
                saltus_error err = {0};
                const saltus_status status = saltus_hdf5_sink_create("t.h5", &l, &sink, &err);
                if (status != SALTUS_OK) {
                    _exit(status == SALTUS_E_IO && strstr(err.message, "t.h5: ") ? 3 : 4);
                }
                const bool good = feed_sink(sink, &l, 0, 50, 10, NULL) == SALTUS_OK;
                _exit(good && saltus_hdf5_sink_close(sink, NULL, NULL) == SALTUS_OK ? 0 : 5);
            }
        }
        for (int i = 0; i < 2; ++i) {
            (void)waitpid(child[i], &codes[i], 0);
            n_done += codes[i] == 0;
            assert_true(codes[i] == 0 || (WIFEXITED(codes[i]) && WEXITSTATUS(codes[i]) == 3));
        }
        assert_int_equal(n_done, 1);
        check_file("t.h5", &l, 50, true);
    }
}

/* Also within a process, whose files of HDF5 would be one. */
static void a_file_is_written_once(void **state)
{
    (void)state;
    const saltus_hdf5_layout l = layout_of(4, 2, 0, 50);
    saltus_hdf5_layout again = l;
    saltus_error err = {0};
    saltus_hdf5_sink *sink = create_sink("t.h5", &l), *second = NULL;
    again.options.overwrite = true;
    assert_int_equal(saltus_hdf5_sink_create("t.h5", &again, &second, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "another process is writing this file"));
    assert_int_equal(feed_sink(sink, &l, 0, 50, 10, NULL), SALTUS_OK);
    finish_sink(sink);
    check_file("t.h5", &l, 50, true);
}

/* Another process reads what has been flushed, while the writer goes on. */
static void readers_look_on(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(11, 3, 1, 1000);
    l.flush_seconds = 1e-9;
    saltus_results *r = NULL;
    (void)unlink("t.h5");
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    const int64_t size = saltus_hdf5_sink_get(sink)->block_trajectories;
    assert_int_equal(feed_sink(sink, &l, 0, size, size, NULL), SALTUS_OK);
    const pid_t child = fork(); /* HDF5 would give the file that is open here */
    if (child == 0) {
        execl("/proc/self/exe", "reader", "look", NULL);
        _exit(9);
    }
    int code = -1;
    (void)waitpid(child, &code, 0);
    assert_int_equal(code, 0);
    assert_int_equal(feed_sink(sink, &l, size, 1000, size, NULL), SALTUS_OK);
    finish_sink(sink);
    check_file("t.h5", &l, 1000, true);
    assert_int_equal(saltus_results_open("t.h5", &r, NULL), SALTUS_OK);
    saltus_results_close(r);
}

/* What another process sees of a file that is being written. */
static int look(void)
{
    saltus_results *r = NULL;
    const bool is_read = saltus_results_open("t.h5", &r, NULL) == SALTUS_OK;
    saltus_results_close(r);
    const hid_t plain = H5Fopen("t.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t live = H5Fopen("t.h5", H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
    return is_read && plain < 0 && live >= 0 && read_attribute(live, "trajectories") > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_survive),
        cmocka_unit_test(last_samples_survive),
        cmocka_unit_test(statistics_survive),
        cmocka_unit_test(each_write_may_be_the_last),
        cmocka_unit_test(a_file_that_never_began_is_in_nobodys_way),
        cmocka_unit_test(two_writers_do_not_meet),
        cmocka_unit_test(a_file_is_written_once),
        cmocka_unit_test(readers_look_on),
    };
    if (argc > 1 && strcmp(argv[1], "look") == 0) {
        return look();
    }
    return cmocka_run_group_tests(tests, make_shared, NULL);
}
