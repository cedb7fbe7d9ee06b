#include "write/hdf5/probe.h"

#include "core/file.h"
#include "core/limits.h"
#include "core/memory.h"
#include "write/hdf5/live.h"
#include "write/hdf5/read.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_CPU = 3,   /* seconds: headers take some ms */
    MOST_WALL = 60, /* seconds, of a slow disk */
    MOST_NUMBERS = 1000000,
    MOST_OF_A_SET = 100000,
    MOST_LOOKERS = 8, /* children that look into many files, */
    FILES_EACH = 16   /* each into so many at least */
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
        saltus_results_bins bins;
        if (saltus_results_histogram(r, s, &bins, NULL) == SALTUS_OK) {
            saltus_results_free_bins(&bins);
        }
    }
    saltus_free(counts);
    saltus_free(numbers);
}

/* What is left to look at. Large files have thousands of data sets, and little time is spent. */
typedef struct walk {
    int depth; /* groups below this one */
    hsize_t n_objects, n_numbers;
} walk;

/* Some of a data set's values: all if they are few. */
static void look_at_values(walk *w, hid_t set)
{
    hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK], n = 1;
    const hsize_t most = w->n_numbers < MOST_OF_A_SET ? w->n_numbers : MOST_OF_A_SET;
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    const bool is_text = class == H5T_STRING && H5Tis_variable_str(type) == 0;
    const hid_t as = class == H5T_INTEGER ? H5T_NATIVE_INT64
                     : class == H5T_FLOAT ? H5T_NATIVE_DOUBLE
                                          : type;
    const size_t size = is_text || as != type ? H5Tget_size(as) : 0;
    const int rank = space >= 0 ? H5Sget_simple_extent_dims(space, count, NULL) : -1;
    for (int d = rank - 1; d >= 0; --d) { /* few chunks: whole rows of the first runs */
        count[d] = count[d] < most / n ? count[d] : most / n;
        n *= count[d] > 0 ? count[d] : 1;
    }
    w->n_numbers -= n < w->n_numbers ? n : w->n_numbers;
    const hid_t memory = rank > 0 ? H5Screate_simple(rank, count, NULL) : -1;
    void *values = size > 0 && size <= MOST_OF_A_SET ? saltus_calloc((size_t)n, size) : NULL;
    if (values && memory >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
        (void)!H5Dread(set, as, memory, space, H5P_DEFAULT, values);
    }
    saltus_free(values);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

/* What a link of a group leads to; 1 ends the walk. */
static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    walk *w = user;
    (void)info;
    if (w->n_objects == 0) {
        return 1;
    }
    --w->n_objects;
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    const H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    if (kind == H5I_GROUP && w->depth > 0) {
        --w->depth;
        (void)H5Literate(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_link, w);
        ++w->depth;
    } else if (kind == H5I_DATASET) {
        look_at_values(w, object);
    }
    (void)H5Oclose(object);
    return 0;
}

/* The value of an attribute of the file: a merge copies some. */
static herr_t look_at_attribute(hid_t file, const char *name, const H5A_info_t *info, void *user)
{
    const hid_t a = H5Aopen(file, name, H5P_DEFAULT);
    const hid_t type = H5Aget_type(a), space = H5Aget_space(a);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    const bool has_few = n > 0 && n <= MOST_OF_A_SET && size <= MOST_OF_A_SET;
    void *value = has_few ? saltus_calloc((size_t)n, size) : NULL;
    (void)info;
    (void)user;
    if (value && H5Aread(a, type, value) >= 0) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
    }
    saltus_free(value);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(a);
    return 0;
}

/* Objects by their names, as readers find those whose names they are told. */
static void look_at_all(hid_t file)
{
    walk w = {.depth = 6, .n_objects = 3000, .n_numbers = MOST_NUMBERS};
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    (void)H5Lexists(file, "derived", H5P_DEFAULT);
    (void)H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_attribute, NULL);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_link, &w);
    saltus_h5_quiet_end(&quiet);
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
    return n > 0 && memmem(head, (size_t)n, SALTUS_H5_MARK, strlen(SALTUS_H5_MARK));
}

/* All objects of a file, whatever they are for. */
static saltus_h5_kind look_at_objects(const char *path)
{
    saltus_h5_kind kind = has_our_mark(path) ? SALTUS_H5_RESULT : SALTUS_H5_NO_RESULT;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    const hid_t file = saltus_h5_open_for_reading(path);
    if (file >= 0) {
        kind = H5Aexists(file, SALTUS_H5_MARK) > 0 ? SALTUS_H5_RESULT : SALTUS_H5_FOREIGN;
        look_at_all(file);
        (void)H5Fclose(file);
    }
    saltus_h5_quiet_end(&quiet);
    return kind;
}

/* And what readers of results do beside. */
static saltus_h5_kind look_into(const char *path)
{
    saltus_results *r = NULL;
    if (saltus_results_open_here(path, &r, NULL) == SALTUS_OK) {
        read_some(r);
        saltus_results_close(r);
    }
    return look_at_objects(path);
}

/* The child leaves no core file and prints nothing. */
static void be_quiet(void)
{
    const struct rlimit none = {0, 0};
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int fd = 0; fd < 3 && nowhere >= 0; ++fd) {
        (void)dup2(nowhere, fd);
    }
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; ++i) {
        (void)signal(deadly[i], SIG_DFL);
    }
}

/* It comes to an end with each file. */
static void limit_time(void)
{
    struct rusage used;
    struct rlimit cpu;
    if (getrusage(RUSAGE_SELF, &used) == 0 && getrlimit(RLIMIT_CPU, &cpu) == 0) {
        const rlim_t end =
            (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + 1 + MOST_CPU;
        cpu.rlim_cur = end < cpu.rlim_max ? end : cpu.rlim_max;
        (void)setrlimit(RLIMIT_CPU, &cpu);
    }
    (void)alarm(MOST_WALL);
}

/* A child that says what each file is, a byte for each, as long as it lives. */
typedef struct looker {
    pid_t process;
    int from, at, end; /* the files that are left of its share */
} looker;

typedef saltus_h5_kind look(const char *path);

static saltus_status start_looker(looker *l, const char *const *paths, look *how, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "%s: no process to look into it: %s", paths[l->at],
                    strerror(errno));
    }
    l->process = fork();
    if (l->process == 0) {
        be_quiet();
        for (int i = l->at; i < l->end; ++i) {
            limit_time();
            const char kind = (char)how(paths[i]);
            if (write(ends[1], &kind, 1) != 1) {
                break;
            }
        }
        _exit(0);
    }
    const int problem = errno;
    (void)close(ends[1]);
    l->from = ends[0];
    if (l->process < 0) {
        (void)close(ends[0]);
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "%s: no process to look into it: %s", paths[l->at],
                    strerror(problem));
    }
done:
    return status;
}

/* Take what it has said; a file that has ended it is behind that. */
static void finish_looker(looker *l, saltus_h5_kind *kinds)
{
    char kind = 0;
    ssize_t n = 1;
    while (l->at < l->end && n == 1) {
        n = read(l->from, &kind, 1);
        if (n == 1) {
            kinds[l->at++] = (saltus_h5_kind)kind;
        } else if (n < 0 && errno == EINTR) {
            n = 1;
        }
    }
    if (l->at < l->end) {
        kinds[l->at++] = SALTUS_H5_DEADLY;
    }
    (void)close(l->from);
    while (waitpid(l->process, NULL, 0) < 0 && errno == EINTR) {
    }
    l->process = 0;
}

/* Each child has a share of the files; another goes on behind a file that has ended it. What is no
 * file, which HDF5 may wait for, is refused. */
static saltus_status look_with(look *how, int n_lookers, const char *const *paths, int n,
                               saltus_h5_kind *kinds, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    looker all[MOST_LOOKERS] = {0};
    for (int i = 0; i < n; ++i) {
        struct stat about;
        int fd = -1;
        SALTUS_TRY(saltus_open_regular(paths[i], 0, &fd, &about, err));
        (void)close(fd);
    }
    for (int i = 0; i < n_lookers; ++i) {
        all[i].at = (int)((int64_t)n * i / n_lookers);
        all[i].end = (int)((int64_t)n * (i + 1) / n_lookers);
        SALTUS_TRY(start_looker(&all[i], paths, how, err));
    }
    for (int i = 0; i < n_lookers; ++i) {
        finish_looker(&all[i], kinds);
        while (all[i].at < all[i].end) {
            SALTUS_TRY(start_looker(&all[i], paths, how, err));
            finish_looker(&all[i], kinds);
        }
    }
done:
    for (int i = 0; i < n_lookers; ++i) {
        if (all[i].process > 0) {
            finish_looker(&all[i], kinds);
        }
    }
    return status;
}

saltus_status saltus_h5_probe(const char *path, saltus_h5_kind *kind, saltus_error *err)
{
    return look_with(look_into, 1, &path, 1, kind, err);
}

saltus_status saltus_h5_probe_all(const char *const *paths, int n, saltus_h5_kind *kinds,
                                  saltus_error *err)
{
    const int n_cores = saltus_cores(), most = n_cores < MOST_LOOKERS ? n_cores : MOST_LOOKERS;
    const int wanted = 1 + n / FILES_EACH;
    return look_with(look_at_objects, wanted < most ? wanted : most, paths, n, kinds, err);
}

saltus_status saltus_results_open(const char *path, saltus_results **out, saltus_error *err)
{
    if (!path || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind;
    SALTUS_TRY(saltus_h5_probe(path, &kind, err));
    if (kind == SALTUS_H5_DEADLY) {
        status = saltus_error_set(err, SALTUS_E_IO,
                                  "%s: cannot be read: HDF5 crashes or hangs on it", path);
        saltus_error_hint(err, "the file is damaged, or was made to do harm");
        goto done;
    }
    SALTUS_TRY(saltus_results_open_here(path, out, err));
    if (saltus_h5_is_torn(*out)) {
        saltus_h5_mend(*out);
        saltus_results_close(*out);
        status = saltus_results_open_here(path, out, err);
    }
done:
    return status;
}
