/* Rows that are appended to data sets, and what is written whole. */
#include "write/hdf5/file.h"

#include <string.h>

enum { SLACK_BYTES = 512 * 1024 }; /* for what HDF5 writes beside a data set's rows */

herr_t saltus_h5_resize(saltus_h5_set *s, hsize_t n_rows)
{
    s->shape[0] = n_rows;
    return H5Dset_extent(s->set, s->shape);
}

herr_t saltus_h5_put_rows(const saltus_h5_set *s, hsize_t row, hsize_t n, hsize_t values,
                          hsize_t skip, const void *memory)
{
    const hsize_t in_shape[2] = {n, values}, in_start[2] = {0, skip};
    const hsize_t in_count[2] = {n, values - skip}, start[SALTUS_H5_MOST_AXES] = {row};
    hsize_t count[SALTUS_H5_MOST_AXES];
    memcpy(count, s->shape, sizeof count);
    count[0] = n;
    const hid_t in = H5Screate_simple(2, in_shape, NULL), out = H5Dget_space(s->set);
    herr_t rc = H5Sselect_hyperslab(in, H5S_SELECT_SET, in_start, NULL, in_count, NULL);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dwrite(s->set, saltus_h5_memory_type(s), in, out, H5P_DEFAULT, memory);
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    return rc;
}

/* ------------------------------------------------------------------------------------------------
 * Rows of a sweep's points, gathered and written many at a time
 */

void *saltus_h5_next_row(const saltus_h5_set *s)
{
    return s->gathered + (size_t)s->n_gathered * s->row_bytes;
}

/* Append the first n gathered rows, for which there is room. */
static bool append(saltus_h5_set *s, hsize_t n)
{
    const hsize_t row = s->shape[0];
    herr_t rc = saltus_h5_resize(s, row + n);
    rc = rc < 0 ? rc : saltus_h5_put_rows(s, row, n, s->row_bytes / 8, 0, s->gathered);
    rc = rc < 0 ? rc : H5Dflush(s->set); /* while its space is there */
    s->shape[0] = rc < 0 ? row : s->shape[0];
    return rc >= 0;
}

saltus_status saltus_h5_write_gathered(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)s->n_gathered;
    if (n == 0) {
        return SALTUS_OK;
    }
    f->failing = s;
    SALTUS_TRY(
        saltus_h5_reserve(f, (int64_t)(n * s->row_bytes + s->row_bytes / 8 + SLACK_BYTES), err));
    if (!append(s, n)) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    s->n_gathered = 0;
    f->failing = NULL;
done:
    return status;
}

/* The points that are in some data sets and gathered of the others go to these, in the space that
 * was held for closing, and no data set has more points than all have. */
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
            (void)append(s, most - s->shape[0]);
        }
        least = s->grows && s->shape[0] < least ? s->shape[0] : least;
    }
    f->rows = (int64_t)least;
    saltus_h5_cut(f);
}

/* HDF5 1.10 remembers the chunk whose writing failed as if it were there, and shrinking the data
 * set would then take its neighbour out of the index; a data set opened anew knows nothing of it.
 */
void saltus_h5_cut(saltus_h5_file *f)
{
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->kind->role != SALTUS_ROLE_SITES) {
            saltus_h5_close_dataset(&s->set);
            s->set = H5Dopen2(f->file, s->path, H5P_DEFAULT);
            (void)saltus_h5_resize(s, (hsize_t)f->rows);
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
