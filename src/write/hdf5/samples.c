/* Samples [run][time][...] in chunks that are made without HDF5, and going over to 64 bits. */
#include "write/hdf5/samples.h"

#include "core/memory.h"

#include <string.h>

enum { CHUNK_SLACK = 8192 }; /* bytes of metadata beside a chunk */

hsize_t saltus_h5_chunks(const saltus_h5_set *s, hsize_t n_runs)
{
    const hsize_t parts = (s->shape[1] + s->chunk[1] - 1) / s->chunk[1];
    return (n_runs + s->chunk[0] - 1) / s->chunk[0] * parts;
}

saltus_status saltus_h5_encode(const saltus_h5_set *s, const void *values, hsize_t n_runs,
                               hsize_t c, int value_size, saltus_chunk *out, saltus_error *err)
{
    const hsize_t parts = (s->shape[1] + s->chunk[1] - 1) / s->chunk[1];
    const hsize_t run = c / parts * s->chunk[0], point = c % parts * s->chunk[1];
    const hsize_t runs_left = n_runs - run, points_left = s->shape[1] - point;
    const hsize_t runs = runs_left < s->chunk[0] ? runs_left : s->chunk[0];
    const hsize_t points = points_left < s->chunk[1] ? points_left : s->chunk[1];
    const hsize_t columns = s->row_bytes / 8 / s->shape[1];
    const uint64_t *from = values;
    /* One run, or all points: either way the samples of a chunk lie side by side. */
    return saltus_chunk_encode(from + (run * s->shape[1] + point) * columns,
                               runs * points * columns, s->chunk[0] * s->chunk[1] * columns,
                               value_size, s->level, out, err);
}

herr_t saltus_h5_put_chunk(const saltus_h5_set *s, hsize_t row, hsize_t c,
                           const saltus_chunk *chunk)
{
    const hsize_t parts = (s->shape[1] + s->chunk[1] - 1) / s->chunk[1];
    const hsize_t at[4] = {row + c / parts * s->chunk[0], c % parts * s->chunk[1], 0, 0};
    return H5Dwrite_chunk(s->set, H5P_DEFAULT, chunk->skipped, at, chunk->size, chunk->data);
}

/* ------------------------------------------------------------------------------------------------
 * Chunks that are not full
 */

static saltus_status need_tail(saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!s->tail) {
        s->tail = saltus_calloc(s->chunk[0], s->row_bytes);
        SALTUS_NEED(s->tail);
    }
done:
    return status;
}

saltus_status saltus_h5_remember_tail(saltus_h5_set *s, const void *values, hsize_t n,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t in_tail = n % s->chunk[0];
    if (in_tail > 0) {
        SALTUS_TRY(need_tail(s, err));
        memcpy(s->tail, (const char *)values + (n - in_tail) * s->row_bytes,
               in_tail * s->row_bytes);
    }
done:
    return status;
}

saltus_status saltus_h5_read_tail(saltus_h5_set *s, const char *path, hid_t from, hsize_t n,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t in_tail = n % s->chunk[0];
    if (in_tail > 0) {
        SALTUS_TRY(need_tail(s, err));
        if (saltus_h5_get_rows(s, from, n - in_tail, in_tail, s->tail) < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: %s cannot be read: %s", path, s->path, saltus_h5_cause());
        }
    }
done:
    return status;
}

/* Put the chunks of n runs, from a row on where one begins. */
static saltus_status put_chunks(saltus_h5_file *f, const saltus_h5_set *s, hsize_t row, hsize_t n,
                                const void *values, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_chunk chunk = {0};
    for (hsize_t c = 0; c < saltus_h5_chunks(s, n); ++c) {
        SALTUS_TRY(saltus_h5_encode(s, values, n, c, s->value_size, &chunk, err));
        SALTUS_TRY(saltus_h5_reserve(f, (int64_t)chunk.size + CHUNK_SLACK, err));
        if (saltus_h5_put_chunk(s, row, c, &chunk) < 0) {
            SALTUS_TRY(saltus_h5_fail(f, 0, err));
        }
        saltus_free(chunk.data);
        chunk = (saltus_chunk){0};
    }
done:
    saltus_free(chunk.data);
    return status;
}

saltus_status saltus_h5_append_samples(saltus_h5_file *f, saltus_h5_set *s, const void *values,
                                       hsize_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (hsize_t i = 0, m; i < n; i += m) {
        const hsize_t row = s->shape[0], before = row % s->chunk[0], room = s->chunk[0] - before;
        const void *from = (const char *)values + i * s->row_bytes;
        m = n - i < room ? n - i : room;
        if (m < s->chunk[0]) {
            SALTUS_TRY(need_tail(s, err));
            memcpy((char *)s->tail + before * s->row_bytes, from, m * s->row_bytes);
            from = s->tail;
        }
        if (saltus_h5_resize(s, row + m) < 0) {
            SALTUS_TRY(saltus_h5_fail(f, 0, err));
        }
        SALTUS_TRY(put_chunks(f, s, row - before, before + m, from, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * 64 bits
 */

static saltus_status copy_runs(saltus_h5_file *f, const saltus_h5_set *from,
                               const saltus_h5_set *to, hsize_t run, hsize_t n, int64_t *values,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (saltus_h5_get_rows(from, from->set, run, n, values) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    status = put_chunks(f, to, run, n, values, err);
done:
    return status;
}

static saltus_status widen(saltus_h5_file *f, saltus_h5_set *counts, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t rows = (hsize_t)f->rows, step = counts->chunk[0];
    saltus_h5_set wide = *counts;
    int64_t *values = saltus_calloc(step, counts->row_bytes);

    wide.value_size = 8;
    wide.shape[0] = 0;
    wide.set = saltus_h5_create_set(f->file, &wide, NULL);
    SALTUS_NEED(values);
    if (wide.set < 0 || saltus_h5_resize(&wide, rows) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    for (hsize_t run = 0; run < rows; run += step) {
        const hsize_t n = rows - run < step ? rows - run : step;
        SALTUS_TRY(copy_runs(f, counts, &wide, run, n, values, err));
    }
    SALTUS_TRY(saltus_h5_replace(f, counts, wide.set, wide.value_size, err));
done:
    if (wide.set != counts->set) {
        saltus_h5_close_dataset(&wide.set);
    }
    saltus_free(values);
    return status;
}

saltus_status saltus_h5_widen(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t i = f->n_sets; i-- > 0;) { /* the counts last, by whose width it is told */
        saltus_h5_set *s = &f->sets[i];
        if (s->grows && s->kind->type == SALTUS_TYPE_COUNT && s->value_size == 4) {
            SALTUS_TRY(widen(f, s, err));
        }
    }
done:
    return status;
}
