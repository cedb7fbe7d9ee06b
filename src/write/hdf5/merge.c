/* Parts of one run or sweep, in files of their own, become the file of that: the first is copied
 * and extended with the others, whose packed chunks are taken as they are where they fit. Only
 * parts of a sweep's runs make a new file (merge_runs.c). */
#include "write/hdf5/merge.h"
#include "write/hdf5/live.h"
#include "write/hdf5/read.h"
#include "write/hdf5/samples.h"
#include "write/hdf5/space.h"
#include "write/hdf5/state.h"

#include "core/memory.h"
#include "core/tally.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20 };

/* ------------------------------------------------------------------------------------------------
 * The first of them
 */

/* Whether something may be put under this name. What is there is ours until it is replaced: no run
 * begins in it meanwhile. */
static saltus_status claim_output(saltus_h5_merging *m, const char *out, bool overwrite,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
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
    SALTUS_TRY(saltus_h5_claim(out, overwrite, &m->replaced, err));
done:
    return status;
}

/* Where the file is to be: of a link, where that leads, so that it stays one. */
static saltus_status find_place(saltus_h5_merging *m, const char *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct stat there;
    if (lstat(out, &there) != 0 || !S_ISLNK(there.st_mode)) {
        m->place = saltus_strdup(out);
        SALTUS_NEED(m->place);
    } else if (!(m->place = realpath(out, NULL))) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(errno));
    }
done:
    return status;
}

/* An empty file beside its place. */
static saltus_status make_temporary(saltus_h5_merging *m, const char *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const char behind[] = ".new";
    const size_t size = strlen(m->place) + sizeof behind;
    char *name = saltus_calloc(size, 1);
    SALTUS_NEED(name);
    (void)snprintf(name, size, "%s%s", m->place, behind);
    SALTUS_TRY(saltus_h5_claim_beside(name, out, &m->claimed, err));
    m->temporary = name;
    name = NULL;
    if (ftruncate(m->claimed, 0) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(errno));
    }
done:
    saltus_free(name);
    return status;
}

/* Unless another process has taken it in a moment in which it was not locked. */
static void remove_temporary(saltus_h5_merging *m)
{
    if (m->claimed >= 0 ||
        saltus_h5_claim_beside(m->temporary, m->temporary, &m->claimed, NULL) == SALTUS_OK) {
        saltus_h5_remove(m->temporary, m->claimed);
    }
}

saltus_status saltus_h5_open_merged(saltus_h5_merging *m, const saltus_results *r,
                                    saltus_h5_again how, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    (void)close(m->claimed);
    m->claimed = -1;
    m->is_open = true; /* to be freed in any case */
    SALTUS_TRY(saltus_h5_open_again(&m->file, m->temporary, r, &m->identity, how, err));
    m->claimed = fcntl(m->file.reserve.fd, F_DUPFD_CLOEXEC, 0); /* with its lock */
    if (m->claimed < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be opened: %s", m->temporary, strerror(errno));
    }
done:
    return status;
}

static saltus_status copy_first(saltus_h5_merging *m, const char *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int from = open(m->parts[0].path, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", m->parts[0].path, strerror(errno));
    }
    for (ssize_t n = 1; n > 0;) {
        SALTUS_TRY(saltus_h5_copying_stops(&m->copying, err));
        n = read(from, m->copying.box, m->copying.box_bytes);
        for (ssize_t at = 0, written; at < n; at += written) {
            written = write(m->claimed, m->copying.box + at, (size_t)(n - at));
            if (written < 0) {
                SALTUS_FAIL(SALTUS_E_IO, "%s: writing failed: %s", out, strerror(errno));
            }
        }
        if (n < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", m->parts[0].path, strerror(errno));
        }
    }
done:
    if (from >= 0) {
        (void)close(from);
    }
    return status;
}

/* It is no part any more. */
static saltus_status forget_shard(const saltus_h5_merging *m, saltus_error *err)
{
    static const char *const names[] = {"shard", "n_shards", "whole_first", "whole_runs",
                                        "first_point"};
    saltus_status status = SALTUS_OK;
    const hid_t file = saltus_h5_open_to_write(m->temporary);
    herr_t rc = file < 0 ? -1 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && rc >= 0; ++i) {
        rc = H5Aexists(file, names[i]) > 0 ? H5Adelete(file, names[i]) : 0;
    }
    if (file < 0 || H5Fclose(file) < 0 || rc < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: writing failed: %s", m->temporary, saltus_h5_cause());
    }
done:
    return status;
}

/* Extend the copy: of a sweep by points, of a run by trajectories. */
static saltus_status open_first(saltus_h5_merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int32_t size[3] = {(int32_t)r->space.size[0], (int32_t)r->space.size[1],
                             (int32_t)r->space.size[2]};
    saltus_h5_again all = {.first = m->first, .runs = m->runs, .n_done = m->parts[0].n};
    if (r->n_axes > 0) {
        SALTUS_TRY(saltus_h5_sweep_of(r, m->parts[0].n_points, &m->sweep, err));
        all.sweep = &m->sweep;
    }
    SALTUS_TRY(saltus_h5_open_merged(m, r, all, err));
    if (r->space.n_frames > 0) {
        SALTUS_TRY(saltus_h5_open_frames(&m->file, size, &m->frames, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The others
 */

static saltus_status append_set(saltus_h5_merging *m, const saltus_h5_part *p,
                                const saltus_results *r, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[SALTUS_H5_MOST_AXES];
    hid_t from, type = H5I_INVALID_HID;
    memcpy(shape, s->shape, sizeof shape);
    shape[0] = (hsize_t)p->n;
    SALTUS_TRY(saltus_h5_open_part_set(m, p, r, s->path, s->rank, shape, &from, err));
    type = H5Dget_type(from);
    if (s->kind->type == SALTUS_TYPE_COUNT && s->value_size == 4 && H5Tget_size(type) == 8) {
        SALTUS_TRY(saltus_h5_widen(&m->file, err));
    }
    m->copying.path = p->path;
    m->copying.from = from;
    m->copying.n = p->n;
    if (s->kind->each == SALTUS_EACH_FRAMED) {
        SALTUS_TRY(saltus_h5_add_frames(&m->file, m->frames, &m->copying, s->index, err));
    } else if (s->kind->type == SALTUS_TYPE_NONE) {
        if (saltus_h5_resize(s, s->shape[0] + shape[0]) < 0) {
            SALTUS_TRY(saltus_h5_fail(&m->file, 0, err));
        }
    } else {
        SALTUS_TRY(saltus_h5_copy_rows(&m->file, &m->copying, s, err));
    }
done:
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    saltus_h5_close_dataset(&from);
    return status;
}

/* What statistics of a run stand on; the points of a sweep have their own. */
static saltus_status append_state(saltus_h5_merging *m, const saltus_h5_part *p,
                                  const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    saltus_collector *of = NULL;
    int64_t rows = 0;
    SALTUS_TRY(saltus_collector_create(&f->what, &of, err));
    SALTUS_TRY(saltus_h5_load_state(r, p->n, of, &rows, err));
    if (rows != p->n) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: the state of its statistics is missing or damaged", p->path);
    }
    SALTUS_TRY(saltus_collector_merge(f->ensemble, of, err));
    f->filling.column = -1;
done:
    saltus_collector_destroy(of);
    return status;
}

static saltus_status append_part(saltus_h5_merging *m, const saltus_h5_part *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    saltus_results *r = NULL;
    SALTUS_TRY(saltus_results_open_head(p->path, &p->kind, &r, err));
    if (f->ensemble) {
        SALTUS_TRY(append_state(m, p, r, err));
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        if (f->sets[i].grows) {
            SALTUS_TRY(append_set(m, p, r, &f->sets[i], err));
        }
    }
    f->rows += p->n;
    f->events = saltus_count_sum(f->events, p->events);
    status = saltus_h5_flush_sometimes(f, err);
done:
    saltus_results_close(r);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static saltus_status fill_file(saltus_h5_merging *m, const char *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    SALTUS_TRY(saltus_results_open(m->parts[0].path, &r, err));
    if (r->space.n_frames > 0) {
        SALTUS_TRY(saltus_xdmf_check(out, err));
    }
    SALTUS_TRY(find_place(m, out, err));
    SALTUS_TRY(make_temporary(m, out, err));
    if (m->parts[0].cut == SALTUS_CUT_RUNS) {
        SALTUS_TRY(saltus_h5_merge_runs(m, r, err));
        goto done;
    }
    SALTUS_TRY(copy_first(m, out, err));
    SALTUS_TRY(forget_shard(m, err));
    SALTUS_TRY(open_first(m, r, err));
    for (int i = 1; i < m->n; ++i) {
        SALTUS_TRY(append_part(m, &m->parts[i], err));
    }
done:
    saltus_results_close(r);
    return status;
}

/* For ParaView, as a run does. */
static saltus_status write_xdmf(const char *out, saltus_error *err)
{
    saltus_results *r = NULL;
    saltus_status status = saltus_results_open_here(out, &r, err);
    if (status == SALTUS_OK) {
        status = saltus_results_write_xdmf(r, err);
    }
    saltus_results_close(r);
    return status;
}

static saltus_status make_whole(saltus_h5_merging *m, const char *out, bool overwrite,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_report report = {0};
    const int n_before = m->parts[0].cut == SALTUS_CUT_RUNS ? 0 : 1; /* is in the file already */
    SALTUS_TRY(claim_output(m, out, overwrite, err));
    SALTUS_TRY(fill_file(m, out, err));
    for (int i = n_before; i < m->n; ++i) {
        report.seconds += m->parts[i].seconds;
        report.events = saltus_count_sum(report.events, m->parts[i].events);
    }
    m->is_open = false;
    SALTUS_TRY(saltus_h5_close_file(&m->file, &report, err));
    const int problem = saltus_h5_publish(m->temporary, m->place, m->replaced >= 0);
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", out, strerror(problem));
    }
    saltus_free(m->temporary);
    m->temporary = NULL;
    if (m->frames) {
        SALTUS_TRY(write_xdmf(out, err));
    }
done:
    return status;
}

saltus_status saltus_results_merge(const char *const *paths, int n, const char *out, bool overwrite,
                                   const volatile int *stop, saltus_error *err)
{
    if (!paths || n < 1 || !out) {
        return saltus_no_argument(err, __func__);
    }
    for (int i = 0; i < n; ++i) {
        if (!paths[i]) {
            return saltus_no_argument(err, __func__);
        }
    }
    saltus_status status = SALTUS_OK;
    saltus_h5_merging m = {
        .replaced = -1, .claimed = -1, .copying = {.box_bytes = COPY_BYTES, .stop = stop}};
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    m.copying.box = saltus_calloc(COPY_BYTES, 1);
    SALTUS_NEED(m.copying.box);
    SALTUS_TRY(saltus_h5_find_parts(&m, paths, n, err));
    SALTUS_TRY(make_whole(&m, out, overwrite, err));
done:
    if (m.is_open) {
        saltus_h5_free_file(&m.file);
    }
    if (m.temporary) {
        remove_temporary(&m);
        saltus_error_hint(err, "nothing was made; the files to merge are as they were");
    }
    if (m.claimed >= 0) {
        (void)close(m.claimed);
    }
    if (m.replaced >= 0) {
        (void)close(m.replaced);
    }
    saltus_h5_free_frames(m.frames);
    saltus_h5_free_sweep(&m.sweep);
    saltus_results_free_names(m.lines, m.n_lines);
    saltus_free(m.temporary);
    saltus_free(m.place);
    saltus_free(m.parts);
    saltus_free(m.copying.box);
    saltus_h5_quiet_end(&quiet);
    return status;
}
