/* Parts of one run, in files of their own, become the file of that run: the first is copied and
 * extended with the others, whose packed chunks are taken as they are where they fit. */
#include "write/hdf5/file.h"
#include "write/hdf5/merge_rows.h"
#include "write/hdf5/probe.h"
#include "write/hdf5/read.h"
#include "write/hdf5/samples.h"
#include "write/hdf5/state.h"
#include "write/identity.h"

#include "core/memory.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, MOST_NAMED = 5 };

typedef struct part {
    const char *path;
    saltus_h5_kind kind;
    int64_t first, n; /* trajectories */
    int64_t whole_first, whole_runs, shard, n_shards;
    double seconds;
} part;

typedef struct merging {
    part *parts; /* [n], by their first trajectory once they are sorted */
    int n;
    int64_t first, runs; /* of the whole */
    char **lines;        /* [n_lines] the identity of the first */
    int n_lines;
    saltus_identity identity;
    char *temporary; /* NULL: there is none (any more) */
    saltus_h5_file file;
    bool is_open, replaces;
    saltus_h5_copying copying;
} merging;

/* ------------------------------------------------------------------------------------------------
 * What there is
 */

static int64_t optional(const saltus_results *r, const char *name)
{
    int64_t value = 0;
    return H5Aexists((hid_t)r->file, name) > 0 &&
                   saltus_h5_read_number(r, "/", name, H5T_NATIVE_INT64, &value, NULL) == SALTUS_OK
               ? value
               : 0;
}

static saltus_status take_identity(merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char **lines = NULL;
    int n = 0;
    SALTUS_TRY(saltus_h5_read_names(r, "restart/identity", &n, &lines, err));
    if (m->lines) {
        SALTUS_TRY(saltus_identity_compare(r->path, &m->identity, n, lines, err));
        goto done;
    }
    SALTUS_TRY(saltus_identity_take(r->path, lines, n, &m->identity, err));
    m->lines = lines;
    m->n_lines = n;
    lines = NULL;
    n = 0;
done:
    saltus_results_free_names(lines, n);
    return status;
}

static saltus_status look_at(merging *m, part *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    int complete = 0;
    SALTUS_TRY(saltus_results_open_head(p->path, &p->kind, &r, err));
    SALTUS_TRY(take_identity(m, r, err));
    if (saltus_h5_has(r, "sweep_names")) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%s: is of a sweep, whose parts cannot be merged yet",
                    p->path);
    }
    if (saltus_h5_has(r, "space/frames")) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%s: holds frames, which cannot be merged yet", p->path);
    }
    SALTUS_TRY(saltus_h5_read_number(r, "/", "complete", H5T_NATIVE_INT, &complete, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64, &p->first, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "requested", H5T_NATIVE_INT64, &p->n, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "seconds", H5T_NATIVE_DOUBLE, &p->seconds, err));
    if (!complete) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: is not complete", p->path);
        saltus_error_hint(err, "saltus resume %.200s goes on with it", p->path);
        goto done;
    }
    if (p->n < 1 || p->first < 0 || p->first > INT64_MAX - p->n) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is damaged: %lld trajectories from %lld on", p->path,
                    (long long)p->n, (long long)p->first);
    }
    p->shard = optional(r, "shard");
    p->n_shards = optional(r, "n_shards");
    p->whole_first = optional(r, "whole_first");
    p->whole_runs = optional(r, "whole_runs");
done:
    saltus_results_close(r);
    return status;
}

static int by_first(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* "shards 3, 7 of 1000", or which trajectories. */
static saltus_status say_missing(const merging *m, int64_t first, int64_t end, saltus_error *err)
{
    char names[200] = "";
    const int64_t n_shards = m->parts[0].n_shards;
    size_t at = 0;
    int n = 0;
    for (int64_t s = 0; s < n_shards && n <= MOST_NAMED; ++s) {
        int i = 0;
        while (i < m->n && m->parts[i].shard % n_shards != s) {
            ++i;
        }
        if (i == m->n && n++ < MOST_NAMED) {
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%lld", n > 1 ? ", " : "",
                                   (long long)s);
        } else if (i == m->n) {
            (void)snprintf(names + at, sizeof names - at, " …");
        }
    }
    return n > 0 ? saltus_error_set(err, SALTUS_E_INVALID,
                                    "shard%s %s of %lld %s missing: trajectories %lld to %lld%s",
                                    n > 1 ? "s" : "", names, (long long)n_shards,
                                    n > 1 ? "are" : "is", (long long)first, (long long)end - 1,
                                    n > 1 ? " and others" : "")
                 : saltus_error_set(err, SALTUS_E_INVALID,
                                    "trajectories %lld to %lld are missing: no file has them",
                                    (long long)first, (long long)end - 1);
}

/* The parts have each trajectory once. */
static saltus_status check_parts(merging *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const part *first = &m->parts[0], *last = &m->parts[m->n - 1];
    const bool is_of_shards = first->n_shards > 0;
    m->first = is_of_shards ? first->whole_first : first->first;
    int64_t next = m->first;
    for (int i = 0; i < m->n; ++i) {
        const part *p = &m->parts[i];
        if (p->n_shards != first->n_shards || p->whole_first != first->whole_first ||
            p->whole_runs != first->whole_runs) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s and %s: are parts of different runs", first->path,
                        p->path);
        }
        if (p->first > next) {
            SALTUS_TRY(say_missing(m, next, p->first, err));
        }
        if (p->first < next) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s and %s: both have trajectory %lld",
                        m->parts[i > 0 ? i - 1 : 0].path, p->path, (long long)p->first);
        }
        next = p->first + p->n;
    }
    m->runs = is_of_shards ? first->whole_runs : last->first + last->n - m->first;
    if (next < m->first + m->runs) {
        SALTUS_TRY(say_missing(m, next, m->first + m->runs, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The first of them
 */

/* Whether something may be put under this name; m->replaces is whether something is there. */
static saltus_status check_output(merging *m, const char *out, bool overwrite, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct stat there, input;
    int fd = -1;
    if (stat(out, &there) != 0) {
        return SALTUS_OK;
    }
    for (int i = 0; i < m->n; ++i) {
        if (stat(m->parts[i].path, &input) == 0 && input.st_dev == there.st_dev &&
            input.st_ino == there.st_ino) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s: is one of the files to merge", out);
        }
    }
    fd = open(out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", out, strerror(errno));
    }
    SALTUS_TRY(saltus_h5_check_existing(fd, out, overwrite, err));
    m->replaces = true;
done:
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* A file that has come under the name meanwhile stays, where the file system can do that. */
static int publish(const merging *m, const char *out)
{
    if (!m->replaces) {
        if (renameat2(AT_FDCWD, m->temporary, AT_FDCWD, out, RENAME_NOREPLACE) == 0) {
            return 0;
        }
        if (errno != EINVAL && errno != ENOSYS) {
            return errno;
        }
    }
    return rename(m->temporary, out) == 0 ? 0 : errno;
}

static saltus_status copy_first(merging *m, const char *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const char behind[] = ".XXXXXX";
    const size_t size = strlen(out) + sizeof behind;
    int from = -1, to = -1;
    char *name = saltus_calloc(size, 1);
    SALTUS_NEED(name);
    (void)snprintf(name, size, "%s%s", out, behind);
    to = mkstemp(name);
    if (to < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(errno));
    }
    m->temporary = name;
    name = NULL;
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(to, 0666 & ~mask);
    from = open(m->parts[0].path, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", m->parts[0].path, strerror(errno));
    }
    for (ssize_t n = 1; n > 0;) {
        n = read(from, m->copying.box, m->copying.box_bytes);
        for (ssize_t at = 0, written; at < n; at += written) {
            written = write(to, m->copying.box + at, (size_t)(n - at));
            if (written < 0) {
                SALTUS_FAIL(SALTUS_E_IO, "%s: writing failed: %s", out, strerror(errno));
            }
        }
        if (n < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", m->parts[0].path, strerror(errno));
        }
    }
done:
    saltus_free(name);
    if (from >= 0) {
        (void)close(from);
    }
    if (to >= 0) {
        (void)close(to);
    }
    return status;
}

/* It is no part any more. */
static saltus_status forget_shard(const merging *m, saltus_error *err)
{
    static const char *const names[] = {"shard", "n_shards", "whole_first", "whole_runs"};
    saltus_status status = SALTUS_OK;
    const hid_t file = saltus_h5_open_to_write(m->temporary);
    herr_t rc = file < 0 ? -1 : 0;
    for (int i = 0; i < 4 && rc >= 0; ++i) {
        rc = H5Aexists(file, names[i]) > 0 ? H5Adelete(file, names[i]) : 0;
    }
    if (file < 0 || H5Fclose(file) < 0 || rc < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: writing failed: %s", m->temporary, saltus_h5_cause());
    }
done:
    return status;
}

static saltus_status open_first(merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_h5_range all = {.first = m->first, .runs = m->runs, .n_done = m->parts[0].n};
    m->is_open = true; /* to be freed in any case */
    return saltus_h5_open_again(&m->file, m->temporary, r, &m->identity, all, err);
}

/* ------------------------------------------------------------------------------------------------
 * The others
 */

static saltus_status append_set(merging *m, const part *p, const saltus_results *r,
                                saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[H5S_MAX_RANK] = {0};
    const hid_t from = H5Dopen2((hid_t)r->file, s->path, H5P_DEFAULT);
    const hid_t space = from < 0 ? -1 : H5Dget_space(from);
    const hid_t type = from < 0 ? -1 : H5Dget_type(from);
    const int rank = from < 0 ? -1 : H5Sget_simple_extent_dims(space, shape, NULL);
    bool is_alike = rank == s->rank && shape[0] == (hsize_t)p->n;
    for (int i = 1; i < rank && is_alike; ++i) {
        is_alike = shape[i] == s->shape[i];
    }
    if (!is_alike) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s is missing, or has another shape than in %s", p->path,
                    s->path, m->parts[0].path);
    }
    if (s->kind->type == SALTUS_TYPE_COUNT && s->value_size == 4 && H5Tget_size(type) == 8) {
        SALTUS_TRY(saltus_h5_widen(&m->file, err));
    }
    m->copying.path = p->path;
    m->copying.from = from;
    m->copying.n = p->n;
    SALTUS_TRY(saltus_h5_copy_rows(&m->file, &m->copying, s, err));
done:
    if (from >= 0) {
        (void)H5Tclose(type);
        (void)H5Sclose(space);
        (void)H5Dclose(from);
    }
    return status;
}

static saltus_status append_part(merging *m, const part *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    saltus_results *r = NULL;
    saltus_collector *of = NULL;
    int64_t rows = 0;
    SALTUS_TRY(saltus_results_open_head(p->path, &p->kind, &r, err));
    SALTUS_TRY(saltus_collector_create(&f->what, &of, err));
    SALTUS_TRY(saltus_h5_load_state(r, p->n, of, &rows, err));
    if (rows != p->n) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: the state of its statistics is missing or damaged", p->path);
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        if (f->sets[i].grows) {
            SALTUS_TRY(append_set(m, p, r, &f->sets[i], err));
        }
    }
    SALTUS_TRY(saltus_collector_merge(f->ensemble, of, err));
    f->filling.column = -1;
    f->rows += p->n;
    status = saltus_h5_flush_sometimes(f, err);
done:
    saltus_collector_destroy(of);
    saltus_results_close(r);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static saltus_status look_at_all(merging *m, const char *const *paths, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_kind *kinds = saltus_calloc((size_t)n, sizeof *kinds);
    m->parts = saltus_calloc((size_t)n, sizeof *m->parts);
    m->copying.box = saltus_calloc(COPY_BYTES, 1);
    SALTUS_NEED(kinds && m->parts && m->copying.box);
    m->copying.box_bytes = COPY_BYTES;
    SALTUS_TRY(saltus_h5_probe_all(paths, n, kinds, err));
    for (m->n = 0; m->n < n; ++m->n) {
        m->parts[m->n].path = paths[m->n];
        m->parts[m->n].kind = kinds[m->n];
        SALTUS_TRY(look_at(m, &m->parts[m->n], err));
    }
    qsort(m->parts, (size_t)n, sizeof *m->parts, by_first);
    SALTUS_TRY(check_parts(m, err));
done:
    saltus_free(kinds);
    return status;
}

static saltus_status make_whole(merging *m, const char *out, bool overwrite, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    saltus_run_report report = {0};
    SALTUS_TRY(check_output(m, out, overwrite, err));
    SALTUS_TRY(copy_first(m, out, err));
    SALTUS_TRY(forget_shard(m, err));
    SALTUS_TRY(saltus_results_open_here(m->parts[0].path, &r, err));
    SALTUS_TRY(open_first(m, r, err));
    for (int i = 1; i < m->n; ++i) {
        SALTUS_TRY(append_part(m, &m->parts[i], err));
        report.seconds += m->parts[i].seconds;
    }
    report.events = m->file.ensemble->events - m->file.events_before;
    m->is_open = false;
    SALTUS_TRY(saltus_h5_close_file(&m->file, &report, err));
    const int problem = publish(m, out);
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(problem));
    }
    saltus_free(m->temporary);
    m->temporary = NULL;
done:
    saltus_results_close(r);
    return status;
}

saltus_status saltus_results_merge(const char *const *paths, int n, const char *out, bool overwrite,
                                   saltus_error *err)
{
    if (!paths || n < 1 || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    merging m = {0};
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(look_at_all(&m, paths, n, err));
    SALTUS_TRY(make_whole(&m, out, overwrite, err));
done:
    if (m.is_open) {
        saltus_h5_free_file(&m.file);
    }
    if (m.temporary) {
        (void)unlink(m.temporary);
    }
    saltus_results_free_names(m.lines, m.n_lines);
    saltus_free(m.temporary);
    saltus_free(m.parts);
    saltus_free(m.copying.box);
    saltus_h5_quiet_end(&quiet);
    return status;
}
