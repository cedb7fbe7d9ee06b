/* Rows of a sweep's data sets, gathered and written many at a time. */
#include "write/hdf5/sweep.h"

#include "core/memory.h"

#include <string.h>

enum {
    /* Gathered of a data set; raw size of a chunk, unless a row is larger. */
    ROWS_BYTES = 256 * 1024,
    SLACK_BYTES = 512 * 1024, /* for what HDF5 writes beside a data set's rows */
};

/* Chunks of whole rows, or of as many items of a row's first axis as make a good size. */
static void choose_chunk(const saltus_row_set *s, hsize_t chunk[4])
{
    size_t item = s->row_bytes;
    chunk[0] = (hsize_t)s->capacity;
    for (int i = 1; i < s->rank; ++i) {
        chunk[i] = s->shape[i];
    }
    for (int i = 1; i < s->rank && item > ROWS_BYTES; ++i) {
        item /= (size_t)s->shape[i];
        const size_t n = item > 0 ? ROWS_BYTES / item : 1;
        chunk[i] = n < 1 ? 1 : n < s->shape[i] ? n : s->shape[i];
        if (item <= ROWS_BYTES) {
            break;
        }
    }
}

saltus_status saltus_rows_add(saltus_sweep_file *f, hid_t parent, const char *name, hid_t file_type,
                              hid_t memory_type, int rank, const hsize_t *rest, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t chunk[4], most[4] = {H5S_UNLIMITED};
    saltus_row_set *grown = saltus_grow(f->sets, f->n_sets, &f->capacity, sizeof *f->sets);
    SALTUS_NEED(grown);
    f->sets = grown;
    saltus_row_set *s = &grown[f->n_sets++];
    *s = (saltus_row_set){.set = -1, .memory_type = memory_type, .rank = rank, .row_bytes = 8};
    for (int i = 1; i < rank; ++i) {
        s->shape[i] = most[i] = rest[i - 1];
        s->row_bytes *= (size_t)rest[i - 1];
    }
    const int64_t fit = s->row_bytes > 0 ? (int64_t)(ROWS_BYTES / s->row_bytes) : 1;
    const int64_t n_points = saltus_sweep_n_points(f->sweep);
    s->capacity = fit < 1 ? 1 : fit < n_points ? fit : n_points;
    s->gathered = saltus_calloc((size_t)s->capacity, s->row_bytes);
    SALTUS_NEED(s->gathered);
    choose_chunk(s, chunk);
    const hid_t space = H5Screate_simple(rank, s->shape, most);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    (void)H5Pset_chunk_cache(access, 7, 2 * (size_t)ROWS_BYTES, 1.0);
    (void)H5Pset_chunk(how, rank, chunk);
    (void)H5Pset_fill_time(how, H5D_FILL_TIME_IFSET);
    if (f->level > 0) {
        (void)H5Pset_shuffle(how);
        (void)H5Pset_deflate(how, (unsigned)f->level);
    }
    s->set = H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, how, access);
    (void)H5Pclose(access);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    if (s->set < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    return status;
}

/* Append the first n gathered rows, for which there is room. */
static bool append(saltus_row_set *s, int64_t n)
{
    hsize_t start[4] = {s->shape[0]}, count[4];
    memcpy(count, s->shape, sizeof count);
    count[0] = (hsize_t)n;
    s->shape[0] += count[0];
    herr_t rc = H5Dset_extent(s->set, s->shape);
    const hid_t in = H5Screate_simple(s->rank, count, NULL), out = H5Dget_space(s->set);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dwrite(s->set, s->memory_type, in, out, H5P_DEFAULT, s->gathered);
    rc = rc < 0 ? rc : H5Dflush(s->set); /* while its space is there */
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    s->shape[0] -= rc < 0 ? count[0] : 0;
    return rc >= 0;
}

/* After a failure: the points that are in some data sets and gathered of the others go to these,
 * in the space that was held for closing, and no data set has more points than all have. */
static void rescue(saltus_sweep_file *f, const saltus_row_set *failed)
{
    hsize_t most = 0, least;
    size_t bytes = 0;
    for (size_t i = 0; i < f->n_sets; ++i) {
        most = f->sets[i].shape[0] > most ? f->sets[i].shape[0] : most;
    }
    most = failed ? failed->shape[0] : most;
    least = most;
    for (size_t i = 0; i < f->n_sets; ++i) {
        const saltus_row_set *s = &f->sets[i];
        bytes += s->shape[0] < most ? (size_t)s->capacity * s->row_bytes : 0;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_row_set *s = &f->sets[i];
        if (s->shape[0] < most && bytes <= SALTUS_RESCUED_BYTES) {
            (void)append(s, (int64_t)(most - s->shape[0]));
        }
        least = s->shape[0] < least ? s->shape[0] : least;
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        f->sets[i].shape[0] = least;
        (void)H5Dset_extent(f->sets[i].set, f->sets[i].shape);
    }
    f->n_rows = (int64_t)least;
}

saltus_status saltus_sweep_fail(saltus_sweep_file *f, const saltus_row_set *failed, int problem,
                                saltus_error *err)
{
    (void)saltus_error_set(err, SALTUS_E_IO, "%s: writing failed: %s", f->path,
                           problem ? strerror(problem) : saltus_h5_cause());
    f->broken = true;
    saltus_reserve_release(&f->reserve);
    rescue(f, failed);
    saltus_error_hint(err, "%lld points are in the file", (long long)f->n_rows);
    return SALTUS_E_IO;
}

saltus_status saltus_rows_write(saltus_sweep_file *f, saltus_row_set *s, saltus_error *err)
{
    const size_t n = (size_t)s->n_gathered;
    hsize_t end = 0;
    if (n == 0) {
        return SALTUS_OK;
    }
    if (H5Fget_filesize(f->file, &end) < 0) {
        return saltus_sweep_fail(f, s, 0, err);
    }
    const int problem = saltus_reserve_grow(
        &f->reserve, (int64_t)end, (int64_t)(n * s->row_bytes + s->row_bytes / 8 + SLACK_BYTES));
    if (problem || !append(s, s->n_gathered)) {
        return saltus_sweep_fail(f, s, problem, err);
    }
    s->n_gathered = 0;
    return SALTUS_OK;
}
