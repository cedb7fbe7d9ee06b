#include "write/hdf5/file.h"

#include "core/clock.h"
#include "core/memory.h"
#include "ensemble/reduction.h"

#include <string.h>

enum {
    FLUSH_SECONDS = 5,        /* a killed run loses at most about this much */
    FLUSH_SHARE = 50,         /* but flushing takes at most 1 / 50 of the time */
    INDEX_BYTES = 512,        /* per chunk, for HDF5's index, generously */
    BLOCK_BYTES = 128 * 1024, /* per block, for the rest of the metadata */
    FEW_RUNS = 8              /* whose statistics of their own would be larger than themselves */
};

/* What is made of a block on the thread that finished it. */
struct prepared {
    saltus_statistics statistics; /* sum is NULL when deliver does it */
    uint64_t bits;                /* of all counts, in that case */
    saltus_histogram histogram;   /* n_bins is 0 when deliver does it */
    int value_size;               /* of the chunks of counts */
    hsize_t n_counts, n_observables, n_splits[SALTUS_N_SPLITS];
    saltus_chunk *counts, *observables, *splits[SALTUS_N_SPLITS];
    double *derived; /* [quantity][trajectory] */
};

/* ------------------------------------------------------------------------------------------------
 * Preparing a block: no HDF5 here, many threads at once
 */

static void free_chunks(saltus_chunk *chunks, hsize_t n)
{
    for (hsize_t c = 0; chunks && c < n; ++c) {
        saltus_free(chunks[c].data);
    }
    saltus_free(chunks);
}

static void free_counts(struct prepared *p)
{
    free_chunks(p->counts, p->n_counts);
    p->counts = NULL;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        free_chunks(p->splits[i], p->n_splits[i]);
        p->splits[i] = NULL;
    }
}

static void discard(void *user, void *prepared)
{
    struct prepared *p = prepared;
    (void)user;
    if (p) {
        saltus_statistics_free(&p->statistics);
        saltus_histogram_free(&p->histogram);
        free_counts(p);
        free_chunks(p->observables, p->n_observables);
        saltus_free(p->derived);
        saltus_free(p);
    }
}

hsize_t saltus_h5_chunks(const saltus_h5_samples *s, hsize_t n_runs)
{
    const hsize_t parts = (s->n_points + s->chunk_points - 1) / s->chunk_points;
    return (n_runs + s->chunk_runs - 1) / s->chunk_runs * parts;
}

saltus_status saltus_h5_encode(const saltus_h5_samples *s, const void *values, hsize_t n_runs,
                               hsize_t c, int value_size, saltus_chunk *out, saltus_error *err)
{
    const hsize_t parts = (s->n_points + s->chunk_points - 1) / s->chunk_points;
    const hsize_t run = c / parts * s->chunk_runs, point = c % parts * s->chunk_points;
    const hsize_t runs_left = n_runs - run, points_left = s->n_points - point;
    const hsize_t runs = runs_left < s->chunk_runs ? runs_left : s->chunk_runs;
    const hsize_t points = points_left < s->chunk_points ? points_left : s->chunk_points;
    const hsize_t columns = (hsize_t)s->n_columns;
    const uint64_t *from = values;
    /* One run, or all points: either way the samples of a chunk lie side by side. */
    return saltus_chunk_encode(from + (run * s->n_points + point) * columns,
                               runs * points * columns, s->chunk_runs * s->chunk_points * columns,
                               value_size, s->level, out, err);
}

static saltus_status encode_all(const saltus_h5_samples *s, const void *values, hsize_t n_runs,
                                int value_size, saltus_chunk **out, hsize_t *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *n = saltus_h5_chunks(s, n_runs);
    *out = saltus_calloc(*n, sizeof **out);
    SALTUS_NEED(*out);
    for (hsize_t c = 0; c < *n; ++c) {
        SALTUS_TRY(saltus_h5_encode(s, values, n_runs, c, value_size, &(*out)[c], err));
    }
done:
    return status;
}

/* Encode counts, and those of parts, with p->value_size: none of these is above a total. */
static saltus_status encode_counts(const saltus_hdf5_sink *sink, const saltus_block *b,
                                   struct prepared *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t n = (hsize_t)b->n_trajectories;
    SALTUS_TRY(
        encode_all(&sink->counts, b->counts, n, p->value_size, &p->counts, &p->n_counts, err));
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (sink->splits[i].n_columns > 0) {
            SALTUS_TRY(encode_all(&sink->splits[i], b->splits[i], n, p->value_size, &p->splits[i],
                                  &p->n_splits[i], err));
        }
    }
done:
    return status;
}

static bool fits_32_bits(const struct prepared *p)
{
    const saltus_statistics *s = &p->statistics;
    int64_t min = 0, max = 0;
    if (!s->sum) {
        return p->bits <= INT32_MAX;
    }
    for (size_t q = 0; q < s->width; ++q) {
        min = s->min[q] < min ? s->min[q] : min;
        max = s->max[q] > max ? s->max[q] : max;
    }
    return min >= INT32_MIN && max <= INT32_MAX;
}

static saltus_status prepare(void *user, const saltus_block *block, void **prepared,
                             saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    saltus_status status = SALTUS_OK;
    const size_t width = (size_t)block->n_points * (size_t)block->n_counts;
    const hsize_t n = (hsize_t)block->n_trajectories;
    struct prepared *p = saltus_calloc(1, sizeof *p);

    SALTUS_NEED(p);
    SALTUS_TRY(saltus_h5_derived_make(sink, block, &p->derived, err));
    if (block->reduced) { /* a device has done it */
        *prepared = p;
        return SALTUS_OK;
    }
    if (block->n_trajectories < FEW_RUNS) {
        p->bits = saltus_statistics_bits(block->counts, n * width);
    } else {
        SALTUS_TRY(saltus_statistics_init(&p->statistics, width, err));
        SALTUS_TRY(
            saltus_statistics_add(&p->statistics, block->counts, block->n_trajectories, err));
    }
    /* An own histogram pays when merging it costs less than counting into the common one. */
    if (sink->histogram.n_bins > 0 && block->n_trajectories >= 2 * sink->histogram.n_bins) {
        SALTUS_TRY(saltus_histogram_like(&p->histogram, &sink->histogram, err));
        saltus_histogram_add(&p->histogram, block->counts, block->n_trajectories);
    }
    if (sink->counts.n_columns > 0) { /* set and value_size change while others prepare */
        const bool wide = atomic_load_explicit(&sink->wide, memory_order_relaxed);
        p->value_size = wide || !fits_32_bits(p) ? 8 : 4;
        SALTUS_TRY(encode_counts(sink, block, p, err));
    }
    if (sink->observables.n_columns > 0) {
        SALTUS_TRY(encode_all(&sink->observables, block->observables, n, 8, &p->observables,
                              &p->n_observables, err));
    }
    *prepared = p;
    p = NULL;
done:
    discard(user, p);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Delivering
 */

saltus_status saltus_h5_fail(saltus_hdf5_sink *sink, int problem, saltus_error *err)
{
    const char *cause = problem ? strerror(problem) : saltus_h5_cause();
    (void)saltus_error_set(err, SALTUS_E_IO, "%s: writing failed: %s", sink->path, cause);
    if (sink->closing) {
        saltus_error_hint(err, "the file may lack its end; what it holds up to there is valid");
    } else {
        saltus_error_hint(err, "everything delivered so far (%lld runs) is in the file",
                          (long long)sink->rows);
    }
    sink->broken = true;
    saltus_reserve_release(&sink->reserve);
    return SALTUS_E_IO;
}

saltus_status saltus_h5_reserve(saltus_hdf5_sink *sink, int64_t bytes, saltus_error *err)
{
    hsize_t end = 0;
    int problem = 0;
    if (H5Fget_filesize(sink->file, &end) < 0) {
        return saltus_h5_fail(sink, 0, err);
    }
    problem = saltus_reserve_grow(&sink->reserve, (int64_t)end, bytes);
    return problem ? saltus_h5_fail(sink, problem, err) : SALTUS_OK;
}

herr_t saltus_h5_put(const saltus_h5_samples *s, hsize_t row, hsize_t c, const saltus_chunk *chunk)
{
    const hsize_t parts = (s->n_points + s->chunk_points - 1) / s->chunk_points;
    const hsize_t at[4] = {row + c / parts * s->chunk_runs, c % parts * s->chunk_points, 0, 0};
    return H5Dwrite_chunk(s->set, H5P_DEFAULT, chunk->skipped, at, chunk->size, chunk->data);
}

herr_t saltus_h5_resize(const saltus_h5_samples *s, hsize_t n_runs)
{
    hsize_t shape[4];
    (void)saltus_h5_shape(s, n_runs, shape);
    return H5Dset_extent(s->set, shape);
}

/* Write memory[n][run_values], less the first `skip` values of every run, as the runs from row on
 * of a set that has been resized; count are the lengths of its axes, the first being n. */
static herr_t write_rows(hid_t set, hid_t memory_type, const hsize_t *count, hsize_t row,
                         hsize_t run_values, hsize_t skip, const void *memory)
{
    const hsize_t start[4] = {row, 0, 0, 0}, n = count[0];
    const hsize_t in_shape[2] = {n, run_values}, in_start[2] = {0, skip};
    const hsize_t in_count[2] = {n, run_values - skip};
    const hid_t in = H5Screate_simple(2, in_shape, NULL);
    const hid_t out = H5Dget_space(set);
    herr_t rc = H5Sselect_hyperslab(in, H5S_SELECT_SET, in_start, NULL, in_count, NULL);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    rc = rc < 0 ? rc : H5Dwrite(set, memory_type, in, out, H5P_DEFAULT, memory);
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    return rc;
}

/* Append a block's samples. Prepared chunks fit when the runs so far fill whole chunks; else, with
 * a caller that cuts blocks as it likes, HDF5 does the work, more slowly. */
static herr_t append_samples(const saltus_hdf5_sink *sink, const saltus_h5_samples *s,
                             const void *values, hsize_t n, const saltus_chunk *chunks,
                             hsize_t n_chunks)
{
    const hsize_t row = (hsize_t)sink->rows;
    if (saltus_h5_resize(s, row + n) < 0) {
        return -1;
    }
    if (row % s->chunk_runs != 0) {
        hsize_t count[4];
        (void)saltus_h5_shape(s, n, count);
        const herr_t rc = write_rows(s->set, s->memory_type, count, row,
                                     s->n_points * (hsize_t)s->n_columns, 0, values);
        return rc < 0 ? rc : H5Dflush(s->set); /* what it keeps in memory has no disk space yet */
    }
    for (hsize_t c = 0; c < n_chunks; ++c) {
        if (saltus_h5_put(s, row, c, &chunks[c]) < 0) {
            return -1;
        }
    }
    return 0;
}

static herr_t append_final(const saltus_hdf5_sink *sink, hid_t set, hid_t type, int n_columns,
                           hsize_t points, const void *values, hsize_t n)
{
    const hsize_t columns = (hsize_t)n_columns, count[2] = {n, columns};
    const hsize_t shape[2] = {(hsize_t)sink->rows + n, columns};
    if (H5Dset_extent(set, shape) < 0) {
        return -1;
    }
    return write_rows(set, type, count, (hsize_t)sink->rows, points * columns,
                      (points - 1) * columns, values);
}

static herr_t append(const saltus_hdf5_sink *sink, const saltus_block *b, const struct prepared *p)
{
    const hsize_t n = (hsize_t)b->n_trajectories, shape[1] = {(hsize_t)sink->rows + n};
    const hsize_t points = (hsize_t)b->n_points;
    if (sink->counts.set >= 0 &&
        append_samples(sink, &sink->counts, b->counts, n, p->counts, p->n_counts) < 0) {
        return -1;
    }
    if (sink->observables.set >= 0 && append_samples(sink, &sink->observables, b->observables, n,
                                                     p->observables, p->n_observables) < 0) {
        return -1;
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (sink->splits[i].set >= 0 && append_samples(sink, &sink->splits[i], b->splits[i], n,
                                                       p->splits[i], p->n_splits[i]) < 0) {
            return -1;
        }
    }
    if (sink->final >= 0 &&
        append_final(sink, sink->final, H5T_NATIVE_INT64, b->n_counts, points, b->counts, n) < 0) {
        return -1;
    }
    if (sink->final_observables >= 0 &&
        append_final(sink, sink->final_observables, H5T_NATIVE_DOUBLE, b->n_observables, points,
                     b->observables, n) < 0) {
        return -1;
    }
    if (saltus_h5_derived_append(sink, p->derived, b->n_trajectories) < 0 ||
        H5Dset_extent(sink->trajectories, shape) < 0) {
        return -1;
    }
    return write_rows(sink->trajectories, H5T_NATIVE_INT64, &n, (hsize_t)sink->rows, 1, 0,
                      b->trajectories);
}

static int64_t bytes_of_chunks(const saltus_chunk *chunks, hsize_t n)
{
    int64_t bytes = 0;
    for (hsize_t c = 0; c < n; ++c) {
        bytes += (int64_t)chunks[c].size + INDEX_BYTES;
    }
    return bytes;
}

/* The most that appending the block can take. */
static int64_t bytes_of(const saltus_hdf5_sink *sink, const saltus_block *b,
                        const struct prepared *p)
{
    int64_t columns = (int64_t)b->n_counts + b->n_observables;
    int64_t bytes = BLOCK_BYTES + b->n_trajectories * 8;
    bytes += saltus_h5_derived_bytes(sink, b->n_trajectories);
    bytes += bytes_of_chunks(p->counts, p->n_counts);
    bytes += bytes_of_chunks(p->observables, p->n_observables);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        bytes += bytes_of_chunks(p->splits[i], p->n_splits[i]);
        columns += (int64_t)b->n_parts[i] * b->n_counts;
    }
    if (sink->final >= 0 || sink->final_observables >= 0) {
        bytes += b->n_trajectories * columns * 8 + 2 * 64 * 1024;
    }
    if ((sink->counts.set >= 0 && (hsize_t)sink->rows % sink->counts.chunk_runs != 0) ||
        (sink->observables.set >= 0 && (hsize_t)sink->rows % sink->observables.chunk_runs != 0)) {
        bytes += (b->n_trajectories * b->n_points * columns + 65536) * 8 + (2 << 20);
    }
    return bytes;
}

/* See that the chunks of counts are as wide as the file's. */
static saltus_status match_width(saltus_hdf5_sink *sink, const saltus_block *b, struct prepared *p,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (sink->counts.set < 0 || p->value_size == sink->counts.value_size) {
        return SALTUS_OK;
    }
    if (p->value_size == 8) {
        for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
            if (sink->splits[i].set >= 0) {
                SALTUS_TRY(saltus_h5_widen(sink, &sink->splits[i], err));
            }
        }
        SALTUS_TRY(saltus_h5_widen(sink, &sink->counts, err));
        atomic_store_explicit(&sink->wide, true, memory_order_relaxed);
        goto done;
    }
    free_counts(p);
    p->value_size = 8;
    SALTUS_TRY(encode_counts(sink, b, p, err));
done:
    return status;
}

/* See that the block's counts can be added: that fails before anything is written, or not at all.
 */
static saltus_status check_statistics(saltus_hdf5_sink *sink, const saltus_block *b,
                                      struct prepared *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (b->n_observables > 0) {
        SALTUS_TRY(saltus_real_statistics_fit(&sink->real_statistics, b->observables,
                                              b->n_trajectories, err));
    }
    if (b->reduced) {
        return saltus_statistics_check(&sink->statistics, &b->reduced->statistics, err);
    }
    if (!p->statistics.sum) {
        if (saltus_statistics_have_room(&sink->statistics, p->bits, b->n_trajectories)) {
            return SALTUS_OK;
        }
        SALTUS_TRY(saltus_statistics_init(&p->statistics, sink->statistics.width, err));
        SALTUS_TRY(saltus_statistics_add(&p->statistics, b->counts, b->n_trajectories, err));
    }
    status = saltus_statistics_check(&sink->statistics, &p->statistics, err);
done:
    return status;
}

/* Add the block to the sums of all, which check_statistics has allowed. */
static saltus_status add_statistics(saltus_hdf5_sink *sink, const saltus_block *b,
                                    const struct prepared *p, saltus_error *err)
{
    const int64_t n = b->n_trajectories;
    saltus_status status = SALTUS_OK;
    if (b->reduced) {
        saltus_statistics_merge(&sink->statistics, &b->reduced->statistics);
    } else if (p->statistics.sum) {
        saltus_statistics_merge(&sink->statistics, &p->statistics);
    } else {
        SALTUS_TRY(saltus_statistics_add(&sink->statistics, b->counts, n, err));
    }
    if (b->n_observables > 0) {
        saltus_real_statistics_add(&sink->real_statistics, b->observables, n);
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (sink->split_statistics[i].width > 0) {
            SALTUS_TRY(saltus_statistics_add(&sink->split_statistics[i], b->splits[i], n, err));
        }
    }
    if (sink->histogram.n_bins == 0) {
        goto done;
    }
    if (b->reduced) {
        saltus_histogram_merge(&sink->histogram, &b->reduced->histogram);
    } else if (p->histogram.n_bins > 0) {
        saltus_histogram_merge(&sink->histogram, &p->histogram);
    } else {
        saltus_histogram_add(&sink->histogram, b->counts, n);
    }
done:
    return status;
}

saltus_status saltus_h5_flush_sometimes(saltus_hdf5_sink *sink, saltus_error *err)
{
    const double start = saltus_now();
    const double pause = FLUSH_SHARE * sink->flush_cost;
    if (start - sink->last_flush < (pause > FLUSH_SECONDS ? pause : FLUSH_SECONDS)) {
        return SALTUS_OK;
    }
    if (saltus_h5_write_stats(sink) < 0 || H5Fflush(sink->file, H5F_SCOPE_GLOBAL) < 0) {
        return saltus_h5_fail(sink, 0, err);
    }
    sink->last_flush = saltus_now();
    sink->flush_cost = sink->last_flush - start;
    return SALTUS_OK;
}

static saltus_status deliver(void *user, const saltus_block *block, void *prepared,
                             saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;

    (void)pthread_mutex_lock(&sink->lock);
    saltus_h5_quiet_begin(&quiet);
    if (sink->broken) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: writing failed before", sink->path);
    }
    if (!prepared) {
        SALTUS_TRY(prepare(user, block, &prepared, err));
    }
    struct prepared *p = prepared;
    SALTUS_TRY(check_statistics(sink, block, p, err));
    SALTUS_TRY(match_width(sink, block, p, err));
    SALTUS_TRY(saltus_h5_reserve(sink, bytes_of(sink, block, p), err));
    if (append(sink, block, p) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    sink->rows += block->n_trajectories;
    SALTUS_TRY(add_statistics(sink, block, p, err));
    status = saltus_h5_flush_sometimes(sink, err);
done:
    discard(user, prepared);
    saltus_h5_quiet_end(&quiet);
    (void)pthread_mutex_unlock(&sink->lock);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static char **copy_names(const char *const *names, int n)
{
    char **copy = saltus_calloc((size_t)n + 1, sizeof *copy);
    for (int i = 0; copy && i < n; ++i) {
        copy[i] = saltus_strdup(names[i]);
        if (!copy[i]) {
            while (i > 0) {
                saltus_free(copy[--i]);
            }
            saltus_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* Names and times; the other strings are only used while the file is created. */
static saltus_status copy_layout(saltus_hdf5_sink *sink, const saltus_hdf5_layout *l,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double *times;
    sink->layout = *l;
    sink->layout.times = times = saltus_calloc((size_t)l->n_points, sizeof *times);
    sink->layout.count_names = (const char *const *)copy_names(l->count_names, l->n_counts);
    sink->layout.observable_names =
        (const char *const *)copy_names(l->observable_names, l->n_observables);
    SALTUS_NEED(times);
    SALTUS_NEED(sink->layout.count_names);
    SALTUS_NEED(sink->layout.observable_names);
    memcpy(times, l->times, (size_t)l->n_points * sizeof *times);
done:
    return status;
}

static saltus_status check_layout(const saltus_hdf5_layout *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (l->n_points < 1 || l->n_trajectories < 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "a result file needs at least one time and one trajectory");
    }
    if (l->n_counts > 1 << 26 || l->n_observables > 1 << 26 || l->n_points > INT64_C(1) << 40) {
        SALTUS_FAIL(SALTUS_E_INVALID, "too many species, observables or times for a result file");
    }
done:
    return status;
}

static saltus_status prepare_memory(saltus_hdf5_sink *sink, const saltus_hdf5_layout *l,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t points = (size_t)l->n_points;
    size_t columns = (size_t)(l->n_counts > l->n_observables ? l->n_counts : l->n_observables);
    SALTUS_TRY(copy_layout(sink, l, err));
    SALTUS_TRY(saltus_statistics_init(&sink->statistics, points * (size_t)l->n_counts, err));
    SALTUS_TRY(saltus_real_statistics_init(&sink->real_statistics,
                                           points * (size_t)l->n_observables, err));
    for (int i = 0; i < SALTUS_N_SPLITS && l->options.record != SALTUS_RECORD_ALL; ++i) {
        const size_t width = (size_t)l->n_parts[i] * (size_t)l->n_counts;
        SALTUS_TRY(saltus_statistics_init(&sink->split_statistics[i], points * width, err));
        columns = columns > width ? columns : width;
    }
    sink->scratch = saltus_calloc(points, columns * sizeof *sink->scratch);
    SALTUS_NEED(sink->scratch);
    if (l->options.record == SALTUS_RECORD_HISTOGRAM) {
        SALTUS_TRY(saltus_histogram_init(&sink->histogram, l->n_points, l->n_counts,
                                         l->options.n_bins, l->options.range_low,
                                         l->options.range_high, err));
    }
done:
    return status;
}

saltus_status saltus_hdf5_sink_create(const char *path, const saltus_hdf5_layout *layout,
                                      saltus_hdf5_sink **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    const saltus_h5_moments no_sets = {-1, -1, -1, -1};
    saltus_hdf5_sink *sink = saltus_calloc(1, sizeof *sink);

    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(sink);
    sink->sink =
        (saltus_sink){.user = sink, .prepare = prepare, .deliver = deliver, .discard = discard};
    sink->file = sink->stats = sink->final = sink->final_observables = sink->trajectories = -1;
    sink->counts.set = sink->observables.set = -1;
    (void)pthread_mutex_init(&sink->lock, NULL);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        sink->splits[i].set = -1;
        sink->split_moments[i] = no_sets;
    }
    sink->count_moments = sink->observable_moments = no_sets;
    sink->reserve.fd = sink->reserve.ballast = -1;
    SALTUS_TRY(check_layout(layout, err));
    sink->path = saltus_strdup(path);
    SALTUS_NEED(sink->path);
    SALTUS_TRY(prepare_memory(sink, layout, err));
    SALTUS_TRY(saltus_h5_derived_init(sink, layout->derived, err));
    sink->reduction = (saltus_reduction){.finals = layout->options.record == SALTUS_RECORD_FINAL,
                                         .n_bins = sink->histogram.n_bins,
                                         .edges = sink->histogram.edges};
    if (layout->options.record != SALTUS_RECORD_ALL) {
        sink->sink.reduction = &sink->reduction;
    }
    if (layout->n_frames > 0) {
        sink->sink.frame = saltus_h5_write_frame;
    }
    SALTUS_TRY(saltus_h5_create(sink, err));
    sink->last_flush = saltus_now();
    saltus_handle_add(&sink->handle, SALTUS_HANDLE_SINK);
    *out = sink;
    sink = NULL;
done:
    saltus_h5_free(sink);
    saltus_h5_quiet_end(&quiet);
    return status;
}

const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink)
{
    return sink ? &sink->sink : NULL;
}
