#include "write/hdf5/file.h"

#include "core/memory.h"

/* Read some runs into values[run][point][column]. */
static herr_t read_back(const saltus_h5_samples *s, hsize_t run, hsize_t n_runs, int64_t *values)
{
    const hsize_t start[4] = {run, 0, 0, 0};
    hsize_t count[4];
    const int rank = saltus_h5_shape(s, n_runs, count);
    const hid_t in = H5Screate_simple(rank, count, NULL), from = H5Dget_space(s->set);
    herr_t rc = H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dread(s->set, H5T_NATIVE_INT64, in, from, H5P_DEFAULT, values);
    (void)H5Sclose(in);
    (void)H5Sclose(from);
    return rc;
}

static saltus_status copy_runs(saltus_hdf5_sink *sink, const saltus_h5_samples *from,
                               const saltus_h5_samples *to, hsize_t run, hsize_t n, int64_t *values,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_chunk chunk = {0};
    if (read_back(from, run, n, values) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    for (hsize_t c = 0; c < saltus_h5_chunks(to, n); ++c) {
        SALTUS_TRY(saltus_h5_encode(to, values, n, c, 8, &chunk, err));
        SALTUS_TRY(saltus_h5_reserve(sink, (int64_t)chunk.size + 8192, err));
        if (saltus_h5_put(to, run, c, &chunk) < 0) {
            SALTUS_TRY(saltus_h5_fail(sink, 0, err));
        }
        saltus_free(chunk.data);
        chunk = (saltus_chunk){0};
    }
done:
    saltus_free(chunk.data);
    return status;
}

/* The wide copy has no name until it is whole, so that a reader never finds half of it and nothing
 * has to be taken back when it fails. The flush comes at once, because the space of the narrow one
 * is used again. */
herr_t saltus_h5_replace(const saltus_hdf5_sink *sink, const char *name, hid_t set)
{
    const herr_t rc = H5Ldelete(sink->file, name, H5P_DEFAULT);
    return rc < 0 ? rc : H5Olink(set, sink->file, name, H5P_DEFAULT, H5P_DEFAULT);
}

saltus_status saltus_h5_widen(saltus_hdf5_sink *sink, saltus_h5_samples *counts, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t rows = (hsize_t)sink->rows, step = counts->chunk_runs;
    saltus_h5_samples wide = *counts;
    int64_t *values = saltus_calloc(step * wide.n_points, (size_t)wide.n_columns * sizeof *values);

    wide.value_size = 8;
    wide.set = H5I_INVALID_HID;
    SALTUS_NEED(values);
    if (saltus_h5_create_samples(sink->file, &wide, true) < 0 ||
        saltus_h5_resize(&wide, rows) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    for (hsize_t run = 0; run < rows; run += step) {
        const hsize_t n = rows - run < step ? rows - run : step;
        SALTUS_TRY(copy_runs(sink, counts, &wide, run, n, values, err));
    }
    if (saltus_h5_replace(sink, counts->name, wide.set) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    const hid_t narrow = counts->set;
    counts->set = wide.set;
    counts->value_size = wide.value_size;
    wide.set = narrow;
    if (H5Fflush(sink->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
done:
    saltus_h5_close_dataset(&wide.set);
    saltus_free(values);
    return status;
}
