#include "write/hdf5_probe.h"

#include "core/file.h"
#include "core/memory.h"
#include "write/hdf5_read.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION_MARK "saltus_version"

enum {
    MOST_CPU = 5,   /* seconds: headers take some ms */
    MOST_WALL = 60, /* seconds, of a slow disk */
    MOST_NUMBERS = 1000000,
    FIRST_CODE = 40 /* of the child: this and a kind */
};

/* Read the first run, and statistics: what follows uses no other functions of HDF5. */
static void read_some(const saltus_results *r)
{
    const saltus_box box = {.n_runs = 1, .n_points = r->n_points < 1000 ? r->n_points : 1000};
    const size_t width = (size_t)r->n_counts + (size_t)r->n_observables + 1;
    const bool has_few = ((size_t)r->n_points + 1) * width <= MOST_NUMBERS;
    const size_t rows = (size_t)(has_few ? r->n_points : box.n_points) + 1;
    int64_t *counts = saltus_calloc(rows, width * sizeof *counts);
    double *numbers = saltus_calloc(rows, width * sizeof *numbers);
    if (counts && numbers) {
        for (int m = SALTUS_MOMENT_MEAN; has_few && m <= SALTUS_MOMENT_MAX; ++m) {
            (void)!saltus_results_moment(r, false, (saltus_moment)m, numbers, NULL);
            (void)!saltus_results_moment(r, true, (saltus_moment)m, numbers, NULL);
        }
        if (r->runs > 0) {
            (void)!saltus_results_numbers(r, 0, 1, counts, NULL);
        }
        if (r->has_counts && r->runs > 0) {
            (void)!saltus_results_counts(r, box, counts, NULL);
        }
        if (r->has_observables && r->runs > 0) {
            (void)!saltus_results_observables(r, box, numbers, NULL);
        }
        if (r->has_final && r->runs > 0) {
            (void)!saltus_results_final(r, 0, 1, counts, NULL);
        }
    }
    for (int s = 0; r->has_histogram && s < r->n_counts && s < 100; ++s) {
        double *edges = NULL;
        uint64_t *bins = NULL;
        int64_t n_bins;
        if (saltus_results_histogram(r, s, &n_bins, &edges, &bins, NULL) == SALTUS_OK) {
            saltus_free(edges);
            saltus_free(bins);
        }
    }
    saltus_free(counts);
    saltus_free(numbers);
}

/* What a kill leaves of a result may be more than HDF5 can open; its first attribute is there. */
static bool has_our_mark(const char *path)
{
    static char head[1 << 16];
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    return n > 0 && memmem(head, (size_t)n, VERSION_MARK, strlen(VERSION_MARK));
}

static saltus_h5_kind look_into(const char *path)
{
    saltus_results *r = NULL;
    if (saltus_results_open_here(path, &r, NULL) == SALTUS_OK) {
        read_some(r);
        saltus_results_close(r);
        return SALTUS_H5_RESULT;
    }
    saltus_h5_kind kind = has_our_mark(path) ? SALTUS_H5_RESULT : SALTUS_H5_NO_RESULT;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file >= 0) {
        kind = H5Aexists(file, VERSION_MARK) > 0 ? SALTUS_H5_RESULT : SALTUS_H5_FOREIGN;
        (void)H5Fclose(file);
    }
    saltus_h5_quiet_end(&quiet);
    return kind;
}

/* The child leaves no core file, prints nothing, and comes to an end. */
static void be_quiet(void)
{
    const struct rlimit none = {0, 0}, cpu = {MOST_CPU, MOST_CPU};
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int fd = 0; fd < 3 && nowhere >= 0; ++fd) {
        (void)dup2(nowhere, fd);
    }
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; ++i) {
        (void)signal(deadly[i], SIG_DFL);
    }
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)alarm(MOST_WALL);
}

saltus_status saltus_h5_probe(const char *path, saltus_h5_kind *kind, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int code = 0;
    const pid_t child = fork();
    if (child < 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "%s: no process to look into it: %s", path,
                    strerror(errno));
    }
    if (child == 0) {
        be_quiet();
        _exit(FIRST_CODE + (int)look_into(path));
    }
    while (waitpid(child, &code, 0) < 0) {
        if (errno != EINTR) { /* somebody else waits for all children: nothing is known */
            code = FIRST_CODE << 8;
            break;
        }
    }
    const int found = WIFEXITED(code) ? WEXITSTATUS(code) - FIRST_CODE : -1;
    *kind = found >= SALTUS_H5_RESULT && found <= SALTUS_H5_NO_RESULT ? (saltus_h5_kind)found
                                                                      : SALTUS_H5_DEADLY;
done:
    return status;
}

saltus_status saltus_results_open(const char *path, saltus_results **out, saltus_error *err)
{
    if (!path || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind;
    struct stat about;
    int fd = -1;
    SALTUS_TRY(saltus_open_regular(path, 0, &fd, &about, err));
    (void)close(fd);
    SALTUS_TRY(saltus_h5_probe(path, &kind, err));
    if (kind == SALTUS_H5_DEADLY) {
        status = saltus_error_set(err, SALTUS_E_IO,
                                  "%s: cannot be read: HDF5 crashes or hangs on it", path);
        saltus_error_hint(err, "the file is damaged, or was made to do harm");
        goto done;
    }
    status = saltus_results_open_here(path, out, err);
done:
    return status;
}
