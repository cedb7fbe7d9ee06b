/* Parts of one run, in files of their own, become the file of that run: the first is copied and
 * extended with the others, whose packed chunks are taken as they are where they fit. */
#include "write/hdf5/file.h"
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

enum { BOX_BYTES = 8 << 20, CHUNK_SLACK = 64 << 10, MOST_NAMED = 5 };

typedef struct part {
    const char *path;
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
    bool is_open;
    char *box; /* BOX_BYTES, or a row or chunk that is larger */
    size_t box_bytes;
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
    if (n < 1 || n > SALTUS_MOST_IDENTITY) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: does not say what its trajectories are functions of",
                    r->path);
    }
    if (m->lines) {
        SALTUS_TRY(saltus_identity_compare(r->path, &m->identity, n, lines, err));
        goto done;
    }
    m->lines = lines;
    m->n_lines = m->identity.n = n;
    for (int i = 0; i < n; ++i) {
        m->identity.of[i] = lines[i];
    }
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
    SALTUS_TRY(saltus_results_open_head(p->path, false, &r, err));
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

static saltus_status check_output(const merging *m, const char *out, bool overwrite,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind;
    struct stat there, input;
    if (stat(out, &there) != 0) {
        return SALTUS_OK;
    }
    for (int i = 0; i < m->n; ++i) {
        if (stat(m->parts[i].path, &input) == 0 && input.st_dev == there.st_dev &&
            input.st_ino == there.st_ino) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s: is one of the files to merge", out);
        }
    }
    SALTUS_TRY(saltus_h5_probe(out, &kind, err));
    if (!overwrite || kind != SALTUS_H5_RESULT) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: exists%s", out,
                                  overwrite ? " and is no result of Saltus" : "");
        saltus_error_hint(err, overwrite ? "choose another name, or remove it first"
                                         : "choose another name, or replace it: `overwrite`");
    }
done:
    return status;
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
        n = read(from, m->box, m->box_bytes);
        for (ssize_t at = 0, written; at < n; at += written) {
            written = write(to, m->box + at, (size_t)(n - at));
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

/* What an identity says of histograms. */
static void read_bins(const merging *m, saltus_hdf5_options *o)
{
    long long bins = 0;
    for (int i = 0; i < m->n_lines; ++i) {
        (void)!sscanf(m->lines[i], "range: %lg to %lg", &o->range_low, &o->range_high);
        if (sscanf(m->lines[i], "bins: %lld", &bins) == 1) {
            o->n_bins = bins;
        }
    }
}

/* A file's layout, as far as its data sets depend on it; it refers to r. */
static saltus_status open_first(merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results_space *space = &r->space;
    saltus_lattice lattice = {.n_types = space->n_types, .spacing = space->spacing};
    saltus_derived derived = {.n = r->n_derived, .names = r->derived_names};
    derived.wanted = saltus_calloc((size_t)r->n_derived, sizeof *derived.wanted);
    SALTUS_NEED(derived.wanted);
    saltus_hdf5_layout l = {.time_unit = r->n_time_units > 0 ? r->time_unit[0] : NULL,
                            .first_trajectory = m->first,
                            .n_trajectories = m->runs,
                            .times = r->times,
                            .n_points = r->n_points,
                            .n_counts = r->n_counts,
                            .n_observables = r->n_observables,
                            .count_names = (const char *const *)r->count_names,
                            .observable_names = (const char *const *)r->observable_names,
                            .lattice = space->n_types > 0 ? &lattice : NULL,
                            .axis = space->axis,
                            .derived = &derived,
                            .options = saltus_hdf5_options_default(),
                            .identity = &m->identity,
                            .n_done = m->parts[0].n,
                            .has_no_readers = true};
    for (int i = 0; i < 3; ++i) {
        lattice.size[i] = (int32_t)space->size[i];
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        l.n_parts[i] = (int)space->n_parts[i];
    }
    l.options.extend = true;
    l.options.record = r->has_counts || r->has_observables        ? SALTUS_RECORD_ALL
                       : r->has_final || r->has_final_observables ? SALTUS_RECORD_FINAL
                       : r->has_histogram                         ? SALTUS_RECORD_HISTOGRAM
                                                                  : SALTUS_RECORD_STATS;
    read_bins(m, &l.options);
    m->is_open = true; /* to be freed in any case */
    status = saltus_h5_open_file(&m->file, m->temporary, &l, err);
done:
    saltus_free(derived.wanted);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The others
 */

static saltus_status need_box(merging *m, size_t bytes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (bytes > m->box_bytes) {
        char *box = saltus_realloc(m->box, bytes, 1);
        SALTUS_NEED(box);
        m->box = box;
        m->box_bytes = bytes;
    }
done:
    return status;
}

static saltus_status cannot_read(const part *p, const saltus_h5_set *s, saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_IO, "%s: %s cannot be read: %s", p->path, s->path,
                            saltus_h5_cause());
}

/* Read n rows from `row` on as 8 bytes a value. */
static herr_t read_rows(hid_t from, const saltus_h5_set *s, hsize_t row, hsize_t n, void *out)
{
    const hsize_t start[SALTUS_H5_MOST_AXES] = {row};
    hsize_t count[SALTUS_H5_MOST_AXES];
    memcpy(count, s->shape, sizeof count);
    count[0] = n;
    const hid_t in = H5Screate_simple(s->rank, count, NULL), all = H5Dget_space(from);
    herr_t rc = H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dread(from, saltus_h5_memory_type(s), in, all, H5P_DEFAULT, out);
    (void)H5Sclose(in);
    (void)H5Sclose(all);
    return rc;
}

/* By values: rows that are gathered, and samples whose chunks do not fit. */
static saltus_status copy_rows(merging *m, const part *p, saltus_h5_set *s, hid_t from,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    const hsize_t values = s->row_bytes / 8, n = (hsize_t)p->n;
    const hsize_t fit = s->row_bytes > 0 ? BOX_BYTES / s->row_bytes : n;
    const hsize_t most = fit > 0 ? fit : 1;
    SALTUS_TRY(need_box(m, s->row_bytes * (most < n ? most : n), err));
    for (hsize_t at = 0, k; at < n; at += k) {
        k = n - at < most ? n - at : most;
        if (read_rows(from, s, at, k, m->box) < 0) {
            SALTUS_TRY(cannot_read(p, s, err));
        }
        if (s->capacity > 0) {
            SALTUS_TRY(saltus_h5_add_rows(f, s, k, values, 0, m->box, err));
            continue;
        }
        SALTUS_TRY(saltus_h5_reserve(f, (int64_t)(k * s->row_bytes) + BOX_BYTES, err));
        const hsize_t row = s->shape[0];
        if (saltus_h5_resize(s, row + k) < 0 ||
            saltus_h5_put_rows(s, row, k, values, 0, m->box) < 0) {
            SALTUS_TRY(saltus_h5_fail(f, 0, err));
        }
    }
done:
    return status;
}

/* Whether chunks of another file can be taken as they are. */
static bool fits(const saltus_h5_set *s, hid_t from)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    const hid_t how = H5Dget_create_plist(from), mine = H5Dget_create_plist(s->set);
    const hid_t type = H5Dget_type(from), own = H5Dget_type(s->set);
    bool does = H5Pget_layout(how) == H5D_CHUNKED && H5Pget_chunk(how, s->rank, chunk) == s->rank &&
                H5Tequal(type, own) > 0 && H5Pget_nfilters(how) == H5Pget_nfilters(mine) &&
                s->shape[0] % s->chunk[0] == 0;
    for (int i = 0; i < s->rank && does; ++i) {
        does = chunk[i] == s->chunk[i];
    }
    (void)H5Tclose(type);
    (void)H5Tclose(own);
    (void)H5Pclose(how);
    (void)H5Pclose(mine);
    return does;
}

static saltus_status copy_chunk(merging *m, const part *p, saltus_h5_set *s, hid_t from,
                                const hsize_t *at, hsize_t row, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t bytes = 0, to[SALTUS_H5_MOST_AXES];
    uint32_t skipped = 0;
    memcpy(to, at, sizeof to);
    to[0] += row;
    if (H5Dget_chunk_storage_size(from, at, &bytes) < 0) {
        SALTUS_TRY(cannot_read(p, s, err));
    }
    if (bytes == 0) { /* zeros that were never written */
        goto done;
    }
    SALTUS_TRY(need_box(m, bytes, err));
    if (H5Dread_chunk(from, H5P_DEFAULT, at, &skipped, m->box) < 0) {
        SALTUS_TRY(cannot_read(p, s, err));
    }
    SALTUS_TRY(saltus_h5_reserve(&m->file, (int64_t)bytes + CHUNK_SLACK, err));
    if (H5Dwrite_chunk(s->set, H5P_DEFAULT, skipped, to, bytes, m->box) < 0) {
        SALTUS_TRY(saltus_h5_fail(&m->file, 0, err));
    }
done:
    return status;
}

static saltus_status copy_chunks(merging *m, const part *p, saltus_h5_set *s, hid_t from,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t at[SALTUS_H5_MOST_AXES] = {0}, end[SALTUS_H5_MOST_AXES];
    const hsize_t row = s->shape[0];
    memcpy(end, s->shape, sizeof end);
    end[0] = (hsize_t)p->n;
    if (saltus_h5_resize(s, row + end[0]) < 0) {
        SALTUS_TRY(saltus_h5_fail(&m->file, 0, err));
    }
    for (int axis = 0; axis >= 0;) {
        SALTUS_TRY(copy_chunk(m, p, s, from, at, row, err));
        for (axis = s->rank - 1; axis >= 0; --axis) { /* the next, the last axis fastest */
            at[axis] += s->chunk[axis];
            if (at[axis] < end[axis]) {
                break;
            }
            at[axis] = 0;
        }
    }
done:
    return status;
}

static saltus_status widen_counts(merging *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    for (size_t i = f->n_sets; i-- > 0;) {
        saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->kind->type == SALTUS_TYPE_COUNT && s->value_size == 4) {
            SALTUS_TRY(saltus_h5_widen(f, s, err));
        }
    }
done:
    return status;
}

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
        SALTUS_TRY(widen_counts(m, err));
    }
    SALTUS_TRY(s->capacity == 0 && fits(s, from) ? copy_chunks(m, p, s, from, err)
                                                 : copy_rows(m, p, s, from, err));
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
    SALTUS_TRY(saltus_results_open_head(p->path, true, &r, err));
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
    m->parts = saltus_calloc((size_t)n, sizeof *m->parts);
    m->box = saltus_calloc(BOX_BYTES, 1);
    SALTUS_NEED(m->parts && m->box);
    m->box_bytes = BOX_BYTES;
    for (m->n = 0; m->n < n; ++m->n) {
        m->parts[m->n].path = paths[m->n];
        SALTUS_TRY(look_at(m, &m->parts[m->n], err));
    }
    qsort(m->parts, (size_t)n, sizeof *m->parts, by_first);
    SALTUS_TRY(check_parts(m, err));
done:
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
    SALTUS_TRY(saltus_results_open(m->parts[0].path, &r, err));
    SALTUS_TRY(open_first(m, r, err));
    for (int i = 1; i < m->n; ++i) {
        SALTUS_TRY(append_part(m, &m->parts[i], err));
        report.seconds += m->parts[i].seconds;
    }
    report.events = m->file.ensemble->events - m->file.events_before;
    m->is_open = false;
    SALTUS_TRY(saltus_h5_close_file(&m->file, &report, err));
    if ((overwrite ? rename(m->temporary, out)
                   : renameat2(AT_FDCWD, m->temporary, AT_FDCWD, out, RENAME_NOREPLACE)) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(errno));
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
    saltus_free(m.box);
    saltus_h5_quiet_end(&quiet);
    return status;
}
