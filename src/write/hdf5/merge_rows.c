/* Rows of one file behind those of another. */
#include "write/hdf5/merge_rows.h"
#include "write/hdf5/edge.h"
#include "write/hdf5/samples.h"

#include "core/memory.h"

#include <string.h>

enum { BOX_BYTES = 8 << 20, CHUNK_SLACK = 64 << 10 };

saltus_status saltus_h5_copying_stops(const saltus_h5_copying *c, saltus_error *err)
{
    return c->stop && __atomic_load_n(c->stop, __ATOMIC_RELAXED)
               ? saltus_error_set(err, SALTUS_E_CANCELLED, "stopped on request")
               : SALTUS_OK;
}

static saltus_status need_box(saltus_h5_copying *c, size_t bytes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (bytes > c->box_bytes) {
        char *box = saltus_realloc(c->box, bytes, 1);
        SALTUS_NEED(box);
        c->box = box;
        c->box_bytes = bytes;
    }
done:
    return status;
}

static saltus_status cannot_read(const saltus_h5_copying *c, const saltus_h5_set *s,
                                 saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_IO, "%s: %s cannot be read: %s", c->path, s->path,
                            saltus_h5_cause());
}

/* By values, from a row on: what is gathered, and samples whose chunks do not fit. */
static saltus_status copy_rows(saltus_h5_file *f, saltus_h5_copying *c, saltus_h5_set *s,
                               hsize_t first, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t values = s->row_bytes / 8, n = (hsize_t)c->n;
    const hsize_t fit = s->row_bytes > 0 ? BOX_BYTES / s->row_bytes : n;
    const hsize_t most = fit > 0 ? fit : 1;
    SALTUS_TRY(need_box(c, s->row_bytes * (most < n ? most : n), err));
    for (hsize_t at = first, k; at < n; at += k) {
        k = n - at < most ? n - at : most;
        SALTUS_TRY(saltus_h5_copying_stops(c, err));
        if (saltus_h5_get_rows(s, c->from, at, k, c->box) < 0) {
            SALTUS_TRY(cannot_read(c, s, err));
        }
        if (s->capacity > 0) {
            SALTUS_TRY(saltus_h5_add_rows(f, s, k, values, 0, c->box, err));
            continue;
        }
        SALTUS_TRY(saltus_h5_append_samples(f, s, c->box, k, err));
    }
done:
    return status;
}

bool saltus_h5_takes_chunks(const saltus_h5_set *s, hid_t from)
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

herr_t saltus_h5_chunk_bytes(hid_t set, const hsize_t *at, hsize_t *bytes)
{
    unsigned skipped;
    haddr_t address = HADDR_UNDEF;
    *bytes = 0;
    if (H5Dget_storage_size(set) == 0) {
        return 0;
    }
    const herr_t rc = H5Dget_chunk_info_by_coord(set, at, &skipped, &address, bytes);
    *bytes = address == HADDR_UNDEF ? 0 : *bytes;
    return rc;
}

static saltus_status copy_chunk(saltus_h5_file *f, saltus_h5_copying *c, saltus_h5_set *s,
                                const hsize_t *at, hsize_t row, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t bytes = 0, to[SALTUS_H5_MOST_AXES];
    uint32_t skipped = 0;
    memcpy(to, at, sizeof to);
    to[0] += row;
    if (saltus_h5_chunk_bytes(c->from, at, &bytes) < 0) {
        SALTUS_TRY(cannot_read(c, s, err));
    }
    if (bytes == 0) { /* zeros that were never written */
        goto done;
    }
    SALTUS_TRY(need_box(c, bytes, err));
    if (H5Dread_chunk(c->from, H5P_DEFAULT, at, &skipped, c->box) < 0) {
        SALTUS_TRY(cannot_read(c, s, err));
    }
    SALTUS_TRY(saltus_h5_reserve(f, (int64_t)bytes + CHUNK_SLACK, err));
    if (H5Dwrite_chunk(s->set, H5P_DEFAULT, skipped, to, bytes, c->box) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
done:
    return status;
}

static saltus_status copy_chunks(saltus_h5_file *f, saltus_h5_copying *c, saltus_h5_set *s,
                                 hsize_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t at[SALTUS_H5_MOST_AXES] = {0}, end[SALTUS_H5_MOST_AXES];
    const hsize_t row = s->shape[0];
    memcpy(end, s->shape, sizeof end);
    end[0] = n;
    if (saltus_h5_resize(s, row + n) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    do {
        SALTUS_TRY(saltus_h5_copying_stops(c, err));
        SALTUS_TRY(copy_chunk(f, c, s, at, row, err));
    } while (saltus_h5_next_chunk(at, s->chunk, end, 0, s->rank));
    if (s->capacity == 0) {
        status = saltus_h5_read_tail(s, c->path, c->from, n, err);
    }
done:
    return status;
}

saltus_status saltus_h5_copy_rows(saltus_h5_file *f, saltus_h5_copying *c, saltus_h5_set *s,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t n = 0; /* rows in chunks that are taken as they are: all, or those of whole chunks */
    if (s->n_gathered == 0 && saltus_h5_takes_chunks(s, c->from)) {
        n = (hsize_t)(s->capacity > 0 ? c->n / s->capacity * s->capacity : c->n);
    }
    if (n > 0) {
        SALTUS_TRY(copy_chunks(f, c, s, n, err));
        s->first += s->capacity > 0 ? n : 0;
    }
    if (n < (hsize_t)c->n) {
        SALTUS_TRY(copy_rows(f, c, s, n, err));
    }
done:
    return status;
}
