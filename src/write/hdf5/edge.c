#include "write/hdf5/edge.h"

#include "core/memory.h"

#include <string.h>

/* A chunk as it stands in the file. */
typedef struct edge_chunk {
    struct edge_chunk *next;
    hsize_t at[H5S_MAX_RANK], size;
    uint32_t skipped;
    char bytes[];
} edge_chunk;

static herr_t take_chunk(hid_t set, const hsize_t *at, int rank, edge_chunk **all)
{
    unsigned skipped;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    if (H5Dget_chunk_info_by_coord(set, at, &skipped, &address, &size) < 0) {
        return -1;
    }
    if (address == HADDR_UNDEF || size == 0) { /* zeros that were never written */
        return 0;
    }
    edge_chunk *c = saltus_calloc(1, sizeof *c + (size_t)size);
    if (!c) {
        return -1;
    }
    memcpy(c->at, at, (size_t)rank * sizeof *at);
    c->size = size;
    c->next = *all;
    *all = c;
    return H5Dread_chunk(set, H5P_DEFAULT, at, &c->skipped, c->bytes);
}

bool saltus_h5_next_chunk(hsize_t *at, const hsize_t *chunk, const hsize_t *end, int first,
                          int rank)
{
    for (int axis = rank - 1; axis >= first; --axis) {
        at[axis] += chunk[axis];
        if (at[axis] < end[axis]) {
            return true;
        }
        at[axis] = 0;
    }
    return false;
}

/* All chunks that have a row. */
static herr_t take_chunks(hid_t set, int rank, const hsize_t *shape, const hsize_t *chunk,
                          hsize_t row, edge_chunk **all)
{
    hsize_t at[H5S_MAX_RANK] = {row / chunk[0] * chunk[0]};
    herr_t rc = 0;
    do {
        rc = take_chunk(set, at, rank, all);
    } while (rc >= 0 && saltus_h5_next_chunk(at, chunk, shape, 1, rank));
    return rc;
}

/* Whether the end lies within chunks that pass filters. */
static bool has_edge(hid_t set, int rank, const hsize_t *shape, hsize_t n_rows, hsize_t *chunk)
{
    const hid_t how = H5Dget_create_plist(set);
    const bool has = rank > 0 && n_rows < shape[0] && H5Pget_layout(how) == H5D_CHUNKED &&
                     H5Pget_nfilters(how) > 0 && H5Pget_chunk(how, rank, chunk) == rank &&
                     n_rows % chunk[0] != 0 && H5Dget_storage_size(set) > 0;
    (void)H5Pclose(how);
    return has;
}

herr_t saltus_h5_set_length(hid_t set, hsize_t n_rows)
{
    hsize_t shape[H5S_MAX_RANK] = {0}, chunk[H5S_MAX_RANK];
    const hid_t space = H5Dget_space(set);
    const int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    edge_chunk *all = NULL;
    herr_t rc = rank > 0 ? 0 : -1;
    (void)H5Sclose(space);
    if (rc >= 0 && has_edge(set, rank, shape, n_rows, chunk)) {
        rc = take_chunks(set, rank, shape, chunk, n_rows, &all);
    }
    if (rc >= 0) {
        shape[0] = n_rows;
        rc = H5Dset_extent(set, shape);
    }
    while (all) {
        edge_chunk *c = all;
        if (rc >= 0) {
            rc = H5Dwrite_chunk(set, H5P_DEFAULT, c->skipped, c->at, (size_t)c->size, c->bytes);
        }
        all = c->next;
        saltus_free(c);
    }
    return rc;
}
