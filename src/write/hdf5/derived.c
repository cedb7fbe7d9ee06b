/* Quantities of every trajectory in a run's file: /derived/NAME, f64[run]. */
#include "write/hdf5/file.h"

#include "core/memory.h"

#include <string.h>

enum { CHUNK_ROWS = 4096, HEADER_BYTES = 4096 };

saltus_status saltus_h5_derived_init(saltus_hdf5_sink *sink, const saltus_derived *wanted,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_derived *d = &sink->derived;
    const saltus_hdf5_layout *l = &sink->layout;
    if (!wanted || wanted->n == 0) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_derived_copy(wanted, &d->what, err));
    SALTUS_TRY(saltus_derivation_make(&d->what, l->n_counts, l->n_observables, l->times,
                                      l->n_points, l->options.burn_in, &d->derivation, err));
    d->sets = saltus_calloc((size_t)d->what.n, sizeof *d->sets);
    d->paths = saltus_calloc((size_t)d->what.n, sizeof *d->paths);
    SALTUS_NEED(d->sets && d->paths);
    for (int q = 0; q < d->what.n; ++q) {
        char *escaped = saltus_h5_escape(d->what.names[q]);
        const size_t size = escaped ? strlen(escaped) + sizeof "derived/" : 0;
        d->sets[q] = H5I_INVALID_HID;
        d->paths[q] = saltus_calloc(size, 1);
        if (escaped && d->paths[q]) {
            (void)snprintf(d->paths[q], size, "derived/%s", escaped);
        }
        saltus_free(escaped);
        SALTUS_NEED(escaped && d->paths[q]);
    }
    sink->sink.derivation = &d->derivation;
done:
    return status;
}

saltus_status saltus_h5_derived_create(saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_derived *d = &sink->derived;
    const hsize_t none[1] = {0}, chunk[1] = {CHUNK_ROWS};
    if (d->what.n == 0) {
        return SALTUS_OK;
    }
    hid_t group = H5Gcreate2(sink->file, "derived", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool failed = group < 0;
    for (int q = 0; q < d->what.n && !failed; ++q) {
        d->sets[q] = saltus_h5_create_growing(sink->file, d->paths[q], H5T_IEEE_F64LE, 1, none,
                                              chunk, saltus_h5_level(&sink->layout));
        failed = d->sets[q] < 0;
    }
    saltus_h5_close_group(&group);
    if (failed) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path, saltus_h5_cause());
    }
    SALTUS_TRY(saltus_h5_write_names(sink->file, "derived_names",
                                     (const char *const *)d->what.names, (size_t)d->what.n, err));
done:
    return status;
}

int64_t saltus_h5_derived_bytes(const saltus_hdf5_sink *sink, int64_t n_runs)
{
    return sink->derived.what.n * (8 * (n_runs + 2 * (int64_t)CHUNK_ROWS) + HEADER_BYTES);
}

saltus_status saltus_h5_derived_make(const saltus_hdf5_sink *sink, const saltus_block *b,
                                     double **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_derivation *d = &sink->derived.derivation;
    const int64_t n = b->n_trajectories;
    if (d->n == 0) {
        return SALTUS_OK;
    }
    *out = saltus_calloc((size_t)n, (size_t)d->n * sizeof **out);
    SALTUS_NEED(*out);
    for (int64_t i = 0; i < n; ++i) {
        for (int q = 0; q < d->n; ++q) {
            (*out)[q * n + i] =
                b->derived ? b->derived[i * d->n + q]
                           : saltus_derive_one(d, q, b->counts + i * d->n_times * d->n_counts,
                                               b->observables + i * d->n_times * d->n_observables);
        }
    }
done:
    return status;
}

herr_t saltus_h5_derived_append(const saltus_hdf5_sink *sink, const double *values, int64_t n)
{
    const hsize_t count[1] = {(hsize_t)n}, shape[1] = {(hsize_t)(sink->rows + n)};
    const hsize_t start[1] = {(hsize_t)sink->rows};
    herr_t rc = 0;
    for (int q = 0; q < sink->derived.what.n && rc >= 0; ++q) {
        const hid_t set = sink->derived.sets[q];
        rc = H5Dset_extent(set, shape);
        const hid_t in = H5Screate_simple(1, count, NULL), out = H5Dget_space(set);
        rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
        rc = rc < 0 ? rc : H5Dwrite(set, H5T_NATIVE_DOUBLE, in, out, H5P_DEFAULT, values + q * n);
        (void)H5Sclose(in);
        (void)H5Sclose(out);
    }
    return rc;
}

void saltus_h5_derived_cut(saltus_hdf5_sink *sink)
{
    const hsize_t shape[1] = {(hsize_t)sink->rows};
    for (int q = 0; q < sink->derived.what.n; ++q) {
        hid_t *set = &sink->derived.sets[q];
        saltus_h5_close_dataset(set);
        *set = H5Dopen2(sink->file, sink->derived.paths[q], H5P_DEFAULT);
        (void)H5Dset_extent(*set, shape);
    }
}

void saltus_h5_derived_close(saltus_hdf5_sink *sink)
{
    for (int q = 0; sink->derived.sets && q < sink->derived.what.n; ++q) {
        saltus_h5_close_dataset(&sink->derived.sets[q]);
    }
}

void saltus_h5_derived_free(saltus_hdf5_sink *sink)
{
    saltus_h5_derived *d = &sink->derived;
    for (int q = 0; d->paths && q < d->what.n; ++q) {
        saltus_free(d->paths[q]);
    }
    saltus_free(d->paths);
    saltus_free(d->sets);
    saltus_derived_free(&d->what);
}
