/* Rows that are appended to data sets, and what is written whole. */
#include "write/hdf5/chunk.h"
#include "write/hdf5/edge.h"
#include "write/hdf5/file.h"

#include "core/memory.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are written as they lie");

enum {
    SLACK_BYTES = 512 * 1024, /* for what HDF5 writes beside a data set's rows */
    ALL_FILTERS = 3           /* HDF5's mask of those that a chunk has not passed: both */
};

herr_t saltus_h5_resize(saltus_h5_set *s, hsize_t n_rows)
{
    s->shape[0] = n_rows;
    return saltus_h5_set_length(s->set, n_rows);
}

herr_t saltus_h5_put_rows(const saltus_h5_set *s, hsize_t row, hsize_t n, hsize_t values,
                          hsize_t skip, const void *memory)
{
    const hsize_t in_shape[2] = {n, values}, in_start[2] = {0, skip};
    const hsize_t in_count[2] = {n, values - skip}, start[SALTUS_H5_MOST_AXES] = {row};
    hsize_t count[SALTUS_H5_MOST_AXES];
    memcpy(count, s->shape, sizeof count);
    count[0] = n;
    const bool is_whole = skip == 0; /* HDF5 is several times faster between equal shapes */
    const hid_t in =
        is_whole ? H5Screate_simple(s->rank, count, NULL) : H5Screate_simple(2, in_shape, NULL);
    const hid_t out = H5Dget_space(s->set);
    herr_t rc =
        is_whole ? 0 : H5Sselect_hyperslab(in, H5S_SELECT_SET, in_start, NULL, in_count, NULL);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dwrite(s->set, saltus_h5_memory_type(s), in, out, H5P_DEFAULT, memory);
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    return rc;
}

herr_t saltus_h5_get_rows(const saltus_h5_set *s, hid_t from, hsize_t row, hsize_t n, void *out)
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

/* ------------------------------------------------------------------------------------------------
 * Rows that are gathered until they fill a chunk
 */

void *saltus_h5_next_row(const saltus_h5_set *s)
{
    return s->gathered + (size_t)s->n_gathered * s->row_bytes;
}

static bool has_whole_rows(const saltus_h5_set *s)
{
    bool is = true;
    for (int i = 1; i < s->rank; ++i) {
        is &= s->chunk[i] == s->shape[i];
    }
    return is;
}

/* Write the first n gathered rows as a chunk; a packed one takes memory. */
static saltus_status write_chunk(saltus_h5_set *s, hsize_t n, bool is_packed, herr_t *rc,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t values = s->row_bytes / 8;
    const hsize_t at[SALTUS_H5_MOST_AXES] = {s->first};
    saltus_chunk chunk = {.data = s->gathered,
                          .size = (size_t)s->capacity * s->row_bytes,
                          .skipped = s->level > 0 ? ALL_FILTERS : 0};
    if (is_packed) {
        SALTUS_TRY(saltus_chunk_encode(s->gathered, n * values, s->chunk[0] * values, 8, s->level,
                                       &chunk, err));
    } else if (s->is_shuffled) {
        SALTUS_TRY(
            saltus_chunk_shuffle(s->gathered, n * values, s->chunk[0] * values, &chunk, err));
    } else {
        memset(s->gathered + n * s->row_bytes, 0, chunk.size - n * s->row_bytes);
    }
    *rc = saltus_h5_resize(s, s->first + n);
    *rc = *rc < 0 ? *rc
                  : H5Dwrite_chunk(s->set, H5P_DEFAULT, chunk.skipped, at, chunk.size, chunk.data);
done:
    if (chunk.data != s->gathered) { /* or NULL */
        saltus_free(chunk.data);
    }
    return status;
}

/* See that the first n gathered rows are in the file, packed if `is_last` says that none will be
 * added to them. SALTUS_E_IO says nothing more. */
static saltus_status put_gathered(saltus_h5_set *s, hsize_t n, bool is_last, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t before = s->shape[0];
    herr_t rc = -1;
    if (has_whole_rows(s)) {
        SALTUS_TRY(write_chunk(s, n, is_last && !s->is_seen && s->level > 0, &rc, err));
    } else {
        rc = saltus_h5_resize(s, s->first + n);
        rc = rc < 0 ? rc : saltus_h5_put_rows(s, s->first, n, s->row_bytes / 8, 0, s->gathered);
        rc = rc < 0 ? rc : H5Dflush(s->set); /* while its space is there */
    }
    s->is_seen |= rc >= 0;
    status = rc < 0 ? SALTUS_E_IO : SALTUS_OK;
done:
    s->shape[0] = status == SALTUS_OK ? s->shape[0] : before;
    return status;
}

saltus_status saltus_h5_write_gathered(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t n = (hsize_t)s->n_gathered;
    const bool is_whole = s->n_gathered == s->capacity;
    if (s->shape[0] < s->first + n) {
        const size_t bytes = (size_t)s->capacity * s->row_bytes;
        f->failing = s;
        SALTUS_TRY(saltus_h5_reserve(f, (int64_t)(bytes + s->row_bytes / 8 + SLACK_BYTES), err));
        status = put_gathered(s, n, is_whole || f->closing, err);
        SALTUS_TRY(status == SALTUS_E_IO ? saltus_h5_fail(f, 0, err) : status);
        f->failing = NULL;
    }
    if (is_whole) {
        s->first += n;
        s->n_gathered = 0;
        s->is_seen = s->is_shuffled = false;
    }
done:
    f->broken |= status != SALTUS_OK; /* what is gathered may be more than all have */
    return status;
}

saltus_status saltus_h5_add_rows(saltus_h5_file *f, saltus_h5_set *s, hsize_t n, hsize_t values,
                                 hsize_t skip, const void *memory, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *from = (const char *)memory + 8 * skip;
    const bool is_dense = 8 * values == s->row_bytes; /* then some rows are copied at once */
    for (hsize_t i = 0; i < n;) {
        const hsize_t room = (hsize_t)(s->capacity - s->n_gathered);
        const hsize_t m = !is_dense ? 1 : n - i < room ? n - i : room;
        memcpy(saltus_h5_next_row(s), from + 8 * values * i, m * s->row_bytes);
        i += m;
        s->n_gathered += (int64_t)m;
        if (s->n_gathered == s->capacity) {
            SALTUS_TRY(saltus_h5_write_gathered(f, s, err));
        }
    }
done:
    return status;
}

/* The points that are in some data sets and gathered of the others go to these, in the space that
 * was held for closing, and that many there are. */
void saltus_h5_rescue(saltus_h5_file *f)
{
    hsize_t most = 0, least;
    size_t bytes = 0;
    for (size_t i = 0; i < f->n_sets; ++i) {
        const hsize_t rows = f->sets[i].grows ? f->sets[i].shape[0] : 0;
        most = rows > most ? rows : most;
    }
    most = f->failing ? f->failing->shape[0] : most;
    least = most;
    for (size_t i = 0; i < f->n_sets; ++i) {
        const saltus_h5_set *s = &f->sets[i];
        bytes += s->grows && s->shape[0] < most ? (size_t)s->capacity * s->row_bytes : 0;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->shape[0] < most && bytes <= SALTUS_RESCUED_BYTES) {
            (void)!put_gathered(s, most - s->first, false, NULL);
        }
        least = s->grows && s->shape[0] < least ? s->shape[0] : least;
    }
    f->rows = (int64_t)least;
    f->events = f->events_of[f->rows % f->n_events_of];
}

/* HDF5 1.10 remembers the chunk whose writing failed as if it were there, and shrinking the data
 * set would then take its neighbour out of the index; a file opened anew knows nothing of it. */
void saltus_h5_cut(saltus_h5_file *f)
{
    const bool is_plain = saltus_h5_go_plain(f) >= 0;
    for (size_t i = 0; i < f->n_sets && is_plain; ++i) {
        saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->kind->role != SALTUS_ROLE_SITES && s->shape[0] > (hsize_t)f->rows) {
            (void)saltus_h5_resize(s, (hsize_t)f->rows);
        } else if (s->gathered && s->shape[0] < (hsize_t)f->rows) {
            const hsize_t n = (hsize_t)f->rows - s->first;
            if (put_gathered(s, n, true, NULL) == SALTUS_E_NO_MEMORY) {
                (void)!put_gathered(s, n, false, NULL);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * What is written whole
 */

/* Only as many bins as the data need. */
static herr_t write_whole(saltus_h5_file *f, const saltus_h5_set *s)
{
    const int last = s->rank - 1;
    const char axis = s->rank > 0 ? s->axes[last] : 0;
    const hsize_t start[SALTUS_H5_MOST_AXES] = {0};
    hsize_t count[SALTUS_H5_MOST_AXES];
    herr_t rc = 0;
    memcpy(count, s->shape, sizeof count);
    if (axis == 'b' || axis == 'e') {
        count[last] = (hsize_t)saltus_fill_bins_of(&f->filling, s->index) + (axis == 'e');
        rc = H5Dset_extent(s->set, count);
    }
    if (!s->kind->fill || rc < 0) {
        return rc;
    }
    s->kind->fill(&f->filling, s, f->scratch);
    const hid_t in = last < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(s->rank, s->shape, NULL);
    if (last >= 0) {
        rc = H5Sselect_hyperslab(in, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    rc = rc < 0 ? rc
                : H5Dwrite(s->set, saltus_h5_memory_type(s), in, H5S_ALL, H5P_DEFAULT, f->scratch);
    (void)H5Sclose(in);
    return rc;
}

herr_t saltus_h5_write_made(saltus_h5_file *f, saltus_h5_role role)
{
    herr_t rc = 0;
    for (size_t i = 0; i < f->n_sets && rc >= 0; ++i) {
        const saltus_h5_set *s = &f->sets[i];
        if (!s->grows && s->kind->role == role) {
            rc = write_whole(f, s);
        }
    }
    return rc;
}
