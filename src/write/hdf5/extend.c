/* A result file that is there already goes on: it is locked, its writer's death is forgotten, what
 * it says of itself is compared, and all that was not whole is cut. */
#include "write/hdf5/chunk.h"
#include "write/hdf5/file.h"
#include "write/hdf5/live.h"
#include "write/hdf5/probe.h"
#include "write/hdf5/read.h"
#include "write/hdf5/samples.h"
#include "write/hdf5/state.h"
#include "write/identity.h"

#include "core/memory.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static saltus_status open_existing(saltus_h5_file *f, int64_t closing, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind;
    int fd = open(f->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be opened: %s", f->path, strerror(errno));
    }
    if (saltus_h5_lock(fd) == EAGAIN || !saltus_h5_is_at(f->path, fd)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: another process is writing this file", f->path);
    }
    saltus_h5_lengthen(fd);
    SALTUS_TRY(saltus_h5_probe(f->path, &kind, err));
    if (kind != SALTUS_H5_RESULT) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is no result of Saltus that can be read", f->path);
    }
    const int problem = saltus_reserve_open(&f->reserve, fd, f->path, closing, f->layout.reserve);
    fd = -1; /* the reserve has it */
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be extended: %s", f->path, strerror(problem));
    }
    f->file = saltus_h5_open_to_write(f->path);
    if (f->file < 0 || H5Fincrement_filesize(f->file, 0) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be extended: %s", f->path, saltus_h5_cause());
    }
done:
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static saltus_status compare(const saltus_h5_file *f, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char **there = NULL;
    int n = 0;
    SALTUS_TRY(saltus_h5_read_names(r, "restart/identity", &n, &there, err));
    if (n == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "%s: does not say what its trajectories are functions of: an older version "
                    "wrote it",
                    f->path);
    }
    if (f->layout.identity) {
        SALTUS_TRY(saltus_identity_compare(f->path, f->layout.identity, n, there, err));
    }
done:
    saltus_results_free_names(there, n);
    return status;
}

int saltus_h5_level_of(hid_t set)
{
    const hid_t how = H5Dget_create_plist(set);
    unsigned flags, level = 0;
    size_t n = 1;
    const herr_t rc =
        H5Pget_filter_by_id2(how, H5Z_FILTER_DEFLATE, &flags, &n, &level, 0, NULL, NULL);
    (void)H5Pclose(how);
    return rc >= 0 ? (int)level : 0;
}

/* A data set as it is in the file: its length, width and chunks. */
static saltus_status find_set(const saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[H5S_MAX_RANK] = {0}, chunk[H5S_MAX_RANK] = {0};
    s->set = saltus_h5_open_set(f->file, s);
    if (s->set < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s is missing", f->path, s->path);
    }
    const hid_t space = H5Dget_space(s->set), how = H5Dget_create_plist(s->set);
    const hid_t type = H5Dget_type(s->set);
    const int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    const bool is_text =
        s->kind->type == SALTUS_TYPE_TEXT; /* many are packed; none are rewritten */
    const bool is_chunked = !is_text && H5Pget_layout(how) == H5D_CHUNKED;
    if (rank == s->rank && is_chunked) {
        (void)H5Pget_chunk(how, rank, chunk);
        s->level = saltus_h5_level_of(s->set);
    }
    if (s->kind->type == SALTUS_TYPE_COUNT || s->kind->type == SALTUS_TYPE_BYTE) {
        s->value_size = (int)H5Tget_size(type);
    }
    (void)H5Tclose(type);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    bool is_as_wanted = rank == s->rank && is_chunked == (s->chunk[0] > 0);
    for (int i = s->grows; i < s->rank && is_as_wanted; ++i) {
        const bool is_trimmed = s->axes[i] == 'b' || s->axes[i] == 'e';
        is_as_wanted = is_trimmed || s->axes[i] == 'B' || s->axes[i] == 'T' ||
                       shape[i] == s->shape[i] || is_text;
    }
    if (!is_as_wanted) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s has another shape than this run", f->path, s->path);
    }
    for (int i = 0; i < s->rank && is_chunked; ++i) {
        s->chunk[i] = chunk[i];
    }
    for (int i = 0; i < s->rank; ++i) {
        s->shape[i] = s->axes[i] == 'b' || s->axes[i] == 'e' ? s->shape[i] : shape[i];
    }
    s->capacity = s->capacity > 0 ? (int64_t)s->chunk[0] : 0;
done:
    return status;
}

/* The rows that all data sets have. */
static hsize_t common_rows(const saltus_h5_file *f)
{
    hsize_t least = INT64_MAX;
    for (size_t i = 0; i < f->n_sets; ++i) {
        const saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->kind->role != SALTUS_ROLE_SITES && s->shape[0] < least) {
            least = s->shape[0];
        }
    }
    return least;
}

/* Take back the rows of the last chunk, to which more will come, and cut what is behind them. In
 * this order: HDF5 1.10.8 may fail to read a chunk that was just put in place. */
static saltus_status take_rows(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t rows = (hsize_t)f->rows;
    herr_t rc = 0;
    if (s->capacity == 0 && s->chunk[0] > 0 && s->kind->type != SALTUS_TYPE_NONE) {
        SALTUS_TRY(saltus_h5_read_tail(s, f->path, s->set, rows, err));
    }
    if (s->capacity > 0) {
        s->first = rows / (hsize_t)s->capacity * (hsize_t)s->capacity;
        s->n_gathered = (int64_t)(rows - s->first);
        s->is_seen = s->n_gathered > 0;
        rc = s->n_gathered > 0
                 ? saltus_h5_get_rows(s, s->set, s->first, (hsize_t)s->n_gathered, s->gathered)
                 : 0;
        if (s->is_seen && s->level > 0 && rc >= 0) {
            const hsize_t at[SALTUS_H5_MOST_AXES] = {s->first};
            unsigned skipped = 0;
            rc = H5Dget_chunk_info_by_coord(s->set, at, &skipped, NULL, NULL);
            s->is_shuffled = skipped == SALTUS_CHUNK_SHUFFLED;
        }
    }
    rc = rc >= 0 && s->shape[0] > rows ? saltus_h5_resize(s, rows) : rc;
    if (rc < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s cannot be read: %s", f->path, s->path, saltus_h5_cause());
    }
done:
    return status;
}

static saltus_status find_rows(saltus_h5_file *f, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *rows = f->layout.sweep ? "sweep_points" : "trajectories";
    const int64_t common = (int64_t)common_rows(f);
    SALTUS_TRY(saltus_h5_read_number(r, "/", rows, H5T_NATIVE_INT64, &f->rows, err));
    f->rows = f->rows < common ? f->rows : common;
    if (!f->layout.sweep) { /* the newest of no more: saltus_file_state_read has told so */
        const saltus_h5_set *state = saltus_h5_find(f, SALTUS_SET_STATE);
        const hsize_t most = f->rows > 0 ? (hsize_t)f->rows : 0;
        SALTUS_TRY(saltus_h5_read_state(state, most, f->ensemble, &f->state, err));
        f->rows = f->state.rows;
    }
    if (f->layout.n_done >= 0 && f->rows != f->layout.n_done) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: holds %lld, not %lld of what is to be there", f->path,
                    (long long)f->rows, (long long)f->layout.n_done);
    }
done:
    return status;
}

saltus_status saltus_h5_extend(saltus_h5_file *f, int64_t closing, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct stat about;
    int64_t first = 0;
    SALTUS_TRY(open_existing(f, closing, err));
    saltus_results r = {.path = f->path, .file = f->file};
    if (stat(f->path, &about) == 0) {
        r.size = (int64_t)about.st_size;
    }
    SALTUS_TRY(compare(f, &r, err));
    SALTUS_TRY(saltus_h5_read_number(&r, "/", "first_trajectory", H5T_NATIVE_INT64, &first, err));
    if (first != f->layout.first_trajectory) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: starts with trajectory %lld, not %lld", f->path,
                    (long long)first, (long long)f->layout.first_trajectory);
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        SALTUS_TRY(find_set(f, &f->sets[i], err));
    }
    SALTUS_TRY(saltus_h5_make_room(f, err));
    SALTUS_TRY(find_rows(f, &r, err));
    for (size_t i = 0; i < f->n_sets; ++i) {
        if (f->sets[i].grows && f->sets[i].kind->role != SALTUS_ROLE_SITES) {
            SALTUS_TRY(take_rows(f, &f->sets[i], err));
        }
    }
    const int incomplete = 0;
    if (H5Aexists(f->file, SALTUS_H5_TORN) > 0) { /* all of it is written anew */
        (void)H5Adelete(f->file, SALTUS_H5_TORN);
    }
    if (saltus_h5_set_int64(f->file, "requested",
                            f->layout.n_trajectories * (int64_t)saltus_h5_length(&f->layout, 'g')) <
            0 ||
        saltus_h5_set_number(f->file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &incomplete) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be extended: %s", f->path, saltus_h5_cause());
    }
    if (f->layout.sweep) {
        SALTUS_TRY(saltus_h5_read_number(&r, "/", "events", H5T_NATIVE_INT64, &f->events, err));
        f->events_of[f->rows % f->n_events_of] = f->events;
    }
    SALTUS_TRY(
        saltus_h5_read_number(&r, "/", "seconds", H5T_NATIVE_DOUBLE, &f->seconds_before, err));
done:
    return status;
}
