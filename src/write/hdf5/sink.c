/* A run on its way to a file: blocks of runs, prepared by many threads and delivered in order. */
#include "write/hdf5/chunk.h"
#include "write/hdf5/samples.h"
#include "write/hdf5/space.h"
#include "write/expected.h"

#include "core/handle.h"
#include "core/memory.h"
#include "core/tally.h"
#include "ensemble/reduction.h"

#include <stdatomic.h>
#include <string.h>

enum {
    COLUMN_BYTES = 68 * 1024, /* the last chunk of derived quantities, and its neighbour */
    FINAL_BYTES = 64 * 1024,  /* of last samples, likewise */
    INDEX_BYTES = 512,        /* per chunk, for HDF5's index, generously */
    BLOCK_BYTES = 128 * 1024, /* per block, for the rest of the metadata */
    FEW_RUNS = 8              /* whose statistics of their own would be larger than themselves */
};

/* Samples of a block, each with a data set of its own. */
enum { OF_OBSERVABLES, OF_COUNTS, OF_SPLITS, N_SAMPLES = OF_SPLITS + SALTUS_N_SPLITS };

/* What is made of a block on the thread that finished it. */
struct prepared {
    saltus_statistics statistics; /* sum is NULL when deliver does it */
    uint64_t bits;                /* of all counts, in that case */
    saltus_histogram histogram;   /* n_bins is 0 when deliver does it */
    int value_size;               /* of the chunks of counts */
    hsize_t n_chunks[N_SAMPLES];
    saltus_chunk *chunks[N_SAMPLES];
    double *derived; /* [quantity][trajectory] */
};

struct saltus_hdf5_sink {
    saltus_handle handle;
    saltus_sink sink;
    saltus_h5_file file;
    saltus_h5_set *samples[N_SAMPLES]; /* NULL where it is not recorded */
    saltus_h5_set *runs, *final, *final_observables;
    saltus_h5_set *derived;          /* the first quantity; they lie side by side */
    struct saltus_h5_frames *frames; /* NULL: there are none */
    _Atomic bool wide;               /* counts are 64 bits in the file */
    saltus_checkpoint *checkpoint;   /* NULL: there is none */
    saltus_expected expected;
    int64_t n_had; /* trajectories that were delivered */
};

/* A block's samples for a data set. */
static const void *values_of(const saltus_block *b, int sample)
{
    return sample == OF_OBSERVABLES ? (const void *)b->observables
           : sample == OF_COUNTS    ? b->counts
                                    : b->splits[sample - OF_SPLITS];
}

/* ------------------------------------------------------------------------------------------------
 * Preparing a block: no HDF5 here, many threads at once
 */

static void free_chunks(struct prepared *p, int sample)
{
    for (hsize_t c = 0; p->chunks[sample] && c < p->n_chunks[sample]; ++c) {
        saltus_free(p->chunks[sample][c].data);
    }
    saltus_free(p->chunks[sample]);
    p->chunks[sample] = NULL;
}

static void discard(void *user, void *prepared)
{
    struct prepared *p = prepared;
    (void)user;
    if (p) {
        saltus_statistics_free(&p->statistics);
        saltus_histogram_free(&p->histogram);
        for (int i = 0; i < N_SAMPLES; ++i) {
            free_chunks(p, i);
        }
        saltus_free(p->derived);
        saltus_free(p);
    }
}

static saltus_status encode(const saltus_hdf5_sink *sink, const saltus_block *b, int sample,
                            int value_size, struct prepared *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_set *s = sink->samples[sample];
    const hsize_t n = (hsize_t)b->n_trajectories;
    if (!s) {
        return SALTUS_OK;
    }
    p->n_chunks[sample] = saltus_h5_chunks(s, n);
    p->chunks[sample] = saltus_calloc(p->n_chunks[sample], sizeof *p->chunks[sample]);
    SALTUS_NEED(p->chunks[sample]);
    for (hsize_t c = 0; c < p->n_chunks[sample]; ++c) {
        SALTUS_TRY(saltus_h5_encode(s, values_of(b, sample), n, c, value_size,
                                    &p->chunks[sample][c], err));
    }
done:
    return status;
}

/* Encode counts, and those of parts, with p->value_size: none of these is above a total. */
static saltus_status encode_counts(const saltus_hdf5_sink *sink, const saltus_block *b,
                                   struct prepared *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = OF_COUNTS; i < N_SAMPLES; ++i) {
        free_chunks(p, i);
        SALTUS_TRY(encode(sink, b, i, p->value_size, p, err));
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

/* Make quantities of a block, or take what a device has made, as (*out)[quantity][trajectory]. */
static saltus_status derive(const saltus_derivation *d, const saltus_block *b, double **out,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = b->n_trajectories;
    if (d->n == 0) {
        return SALTUS_OK;
    }
    *out = saltus_calloc((size_t)n, (size_t)d->n * sizeof **out);
    SALTUS_NEED(*out);
    for (int64_t i = 0; i < n; ++i) {
        for (int q = 0; q < d->n; ++q) {
            (*out)[q * n + i] = saltus_derived_of(d, b, i, q);
        }
    }
done:
    return status;
}

static saltus_status prepare(void *user, const saltus_block *block, void **prepared,
                             saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    saltus_status status = SALTUS_OK;
    const size_t width = (size_t)block->n_points * (size_t)block->n_counts;
    const hsize_t n = (hsize_t)block->n_trajectories;
    const saltus_histogram *h = &sink->file.ensemble->histogram;
    struct prepared *p = saltus_calloc(1, sizeof *p);

    SALTUS_NEED(p);
    SALTUS_TRY(derive(&sink->file.what.derivation, block, &p->derived, err));
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
    if (h->n_bins > 0 && block->n_trajectories >= 2 * h->n_bins) {
        SALTUS_TRY(saltus_histogram_like(&p->histogram, h, err));
        saltus_histogram_add(&p->histogram, block->counts, block->n_trajectories);
    }
    if (sink->samples[OF_COUNTS]) { /* its width changes while others prepare */
        const bool wide = atomic_load_explicit(&sink->wide, memory_order_relaxed);
        p->value_size = wide || !fits_32_bits(p) ? 8 : 4;
        SALTUS_TRY(encode_counts(sink, block, p, err));
    }
    SALTUS_TRY(encode(sink, block, OF_OBSERVABLES, 8, p, err));
    *prepared = p;
    p = NULL;
done:
    discard(user, p);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Delivering
 */

/* Append a block's samples. Prepared chunks fit when the runs so far fill whole chunks; else, at
 * the end of a run that was stopped or with a caller that cuts blocks as it likes, they are made
 * once more. */
static saltus_status append_samples(saltus_h5_file *f, saltus_h5_set *s, const void *values,
                                    hsize_t n, const saltus_chunk *chunks, hsize_t n_chunks,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t row = s->shape[0];
    if (row % s->chunk[0] != 0) {
        return saltus_h5_append_samples(f, s, values, n, err);
    }
    herr_t rc = saltus_h5_resize(s, row + n);
    for (hsize_t c = 0; c < n_chunks && rc >= 0; ++c) {
        rc = saltus_h5_put_chunk(s, row, c, &chunks[c]);
    }
    if (rc < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    status = saltus_h5_remember_tail(s, values, n, err);
done:
    return status;
}

static saltus_status append(saltus_hdf5_sink *sink, const saltus_block *b, const struct prepared *p,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &sink->file;
    const hsize_t n = (hsize_t)b->n_trajectories;
    const hsize_t points = (hsize_t)b->n_points;
    saltus_h5_set *const last[2] = {sink->final, sink->final_observables};
    const void *const values[2] = {b->counts, b->observables};
    for (int i = 0; i < N_SAMPLES; ++i) {
        if (sink->samples[i]) {
            SALTUS_TRY(append_samples(f, sink->samples[i], values_of(b, i), n, p->chunks[i],
                                      p->n_chunks[i], err));
        }
    }
    for (int i = 0; i < 2; ++i) {
        if (last[i]) {
            const hsize_t columns = last[i]->shape[1];
            SALTUS_TRY(saltus_h5_add_rows(f, last[i], n, points * columns, (points - 1) * columns,
                                          values[i], err));
        }
    }
    for (int q = 0; q < f->derived.n; ++q) {
        SALTUS_TRY(
            saltus_h5_add_rows(f, &sink->derived[q], n, 1, 0, p->derived + (hsize_t)q * n, err));
    }
    SALTUS_TRY(saltus_h5_add_rows(f, sink->runs, n, 1, 0, b->trajectories, err));
done:
    f->broken |= status != SALTUS_OK; /* some data sets may have rows that others lack */
    return status;
}

/* The most that appending the block can take. */
static int64_t bytes_of(const saltus_hdf5_sink *sink, const saltus_block *b,
                        const struct prepared *p)
{
    const int64_t n = b->n_trajectories;
    int64_t columns = (int64_t)b->n_counts + b->n_observables;
    int64_t bytes = BLOCK_BYTES + n * 8 + sink->file.derived.n * (8 * n + COLUMN_BYTES);
    bool is_aligned = true;
    for (int i = 0; i < N_SAMPLES; ++i) {
        for (hsize_t c = 0; c < p->n_chunks[i]; ++c) {
            bytes += (int64_t)p->chunks[i][c].size + INDEX_BYTES;
        }
        columns += i >= OF_SPLITS ? (int64_t)b->n_parts[i - OF_SPLITS] * b->n_counts : 0;
        is_aligned &=
            !sink->samples[i] || (hsize_t)sink->file.rows % sink->samples[i]->chunk[0] == 0;
    }
    if (sink->final || sink->final_observables) {
        bytes += n * columns * 8 + 2 * FINAL_BYTES;
    }
    return is_aligned ? bytes : bytes + (n * b->n_points * columns + 65536) * 8 + (2 << 20);
}

/* See that the chunks of counts are as wide as the file's. */
static saltus_status match_width(saltus_hdf5_sink *sink, const saltus_block *b, struct prepared *p,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!sink->samples[OF_COUNTS] || p->value_size == sink->samples[OF_COUNTS]->value_size) {
        return SALTUS_OK;
    }
    if (p->value_size == 8) {
        SALTUS_TRY(saltus_h5_update(&sink->file, err));
        if (saltus_h5_go_plain(&sink->file) < 0) {
            SALTUS_TRY(saltus_h5_fail(&sink->file, 0, err));
        }
        SALTUS_TRY(saltus_h5_widen(&sink->file, err));
        atomic_store_explicit(&sink->wide, true, memory_order_relaxed);
        if (saltus_h5_go_live(&sink->file) < 0) {
            SALTUS_TRY(saltus_h5_fail(&sink->file, 0, err));
        }
        goto done;
    }
    p->value_size = 8;
    SALTUS_TRY(encode_counts(sink, b, p, err));
done:
    return status;
}

/* See that the block's samples can be added: that fails before anything is written, or not at all.
 */
static saltus_status check_statistics(saltus_collector *e, const saltus_block *b,
                                      struct prepared *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (b->reduced) {
        SALTUS_TRY(saltus_exact_sums_fit_sums(&e->reals.sums, &b->reduced->reals.sums, err));
        return saltus_collector_check_reduced(e, b->reduced, err);
    }
    if (b->n_observables > 0) {
        SALTUS_TRY(saltus_real_statistics_fit(&e->reals, b->observables, b->n_trajectories, err));
    }
    if (!p->statistics.sum) {
        if (saltus_statistics_have_room(&e->statistics, p->bits, b->n_trajectories)) {
            return SALTUS_OK;
        }
        SALTUS_TRY(saltus_statistics_init(&p->statistics, e->statistics.width, err));
        SALTUS_TRY(saltus_statistics_add(&p->statistics, b->counts, b->n_trajectories, err));
    }
    status = saltus_statistics_check(&e->statistics, &p->statistics, err);
done:
    return status;
}

/* Add the block to the sums of all, which check_statistics has allowed. */
static saltus_status add_statistics(saltus_collector *e, const saltus_block *b,
                                    const struct prepared *p, saltus_error *err)
{
    const int64_t n = b->n_trajectories;
    saltus_status status = SALTUS_OK;
    e->n += n;
    e->events = saltus_count_sum(e->events, b->events);
    if (b->reduced) {
        return saltus_collector_add_reduced(e, b->reduced, err);
    }
    if (p->statistics.sum) {
        saltus_statistics_merge(&e->statistics, &p->statistics);
    } else {
        SALTUS_TRY(saltus_statistics_add(&e->statistics, b->counts, n, err));
    }
    if (b->n_observables > 0) {
        saltus_real_statistics_add(&e->reals, b->observables, n);
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (e->splits[i].width > 0) {
            SALTUS_TRY(saltus_statistics_add(&e->splits[i], b->splits[i], n, err));
        }
    }
    if (e->histogram.n_bins == 0) {
        goto done;
    }
    if (p->histogram.n_bins > 0) {
        saltus_histogram_merge(&e->histogram, &p->histogram);
    } else {
        saltus_histogram_add(&e->histogram, b->counts, n);
    }
done:
    return status;
}

/* When trajectories are missing before a block, because the run ends early, what can be gone on
 * from is the state before it. */
static saltus_status keep_state(saltus_h5_file *f, const saltus_block *block, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = block->n_trajectories, first = f->layout.first_trajectory + f->rows;
    const bool follows = !block->is_behind_gap && block->trajectories[0] == first &&
                         block->trajectories[n - 1] == first + n - 1;
    if (!follows && !f->keeps_state) {
        SALTUS_TRY(saltus_h5_update(f, err));
        f->keeps_state = true;
    }
done:
    return status;
}

static saltus_status deliver(void *user, const saltus_block *block, void *prepared,
                             saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;

    (void)pthread_mutex_lock(&sink->file.lock);
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_h5_check_broken(&sink->file, err));
    if (!prepared) {
        SALTUS_TRY(prepare(user, block, &prepared, err));
    }
    struct prepared *p = prepared;
    SALTUS_TRY(keep_state(&sink->file, block, err));
    SALTUS_TRY(check_statistics(sink->file.ensemble, block, p, err));
    SALTUS_TRY(match_width(sink, block, p, err));
    SALTUS_TRY(saltus_h5_reserve(&sink->file, bytes_of(sink, block, p), err));
    SALTUS_TRY(append(sink, block, p, err));
    sink->file.rows += block->n_trajectories;
    sink->n_had += block->n_trajectories;
    SALTUS_TRY(add_statistics(sink->file.ensemble, block, p, err));
    status = saltus_h5_flush_sometimes(&sink->file, err);
done:
    discard(user, prepared);
    saltus_h5_quiet_end(&quiet);
    (void)pthread_mutex_unlock(&sink->file.lock);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static void free_sink(saltus_hdf5_sink *sink)
{
    if (sink) {
        saltus_expected_free(&sink->expected);
        saltus_h5_free_frames(sink->frames);
        saltus_h5_free_file(&sink->file);
        saltus_free(sink);
    }
}

static saltus_status begin(void *user, const saltus_plan *plan, const saltus_run_options *options,
                           saltus_error *err)
{
    const saltus_hdf5_sink *sink = user;
    return saltus_expected_check(&sink->expected, plan, options, sink->n_had, err);
}

static saltus_status write_frame(void *user, const saltus_frame *frame, saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    return saltus_h5_put_frame(&sink->file, sink->frames, frame, err);
}

static saltus_status flush(void *user, saltus_error *err)
{
    saltus_hdf5_sink *sink = user;
    saltus_h5_quiet quiet;
    (void)pthread_mutex_lock(&sink->file.lock);
    saltus_h5_quiet_begin(&quiet);
    saltus_status status = saltus_h5_check_broken(&sink->file, err);
    status = status == SALTUS_OK ? saltus_h5_update(&sink->file, err) : status;
    saltus_h5_quiet_end(&quiet);
    (void)pthread_mutex_unlock(&sink->file.lock);
    return status;
}

static void find_sets(saltus_hdf5_sink *sink)
{
    static const saltus_h5_id ids[N_SAMPLES] = {SALTUS_SET_OBSERVABLES, SALTUS_SET_COUNTS,
                                                SALTUS_SET_TYPE_COUNTS, SALTUS_SET_PROFILE};
    saltus_h5_file *f = &sink->file;
    for (int i = 0; i < N_SAMPLES; ++i) {
        sink->samples[i] = saltus_h5_find(f, ids[i]);
    }
    sink->runs = saltus_h5_find(f, SALTUS_SET_RUN);
    sink->derived = saltus_h5_find(f, SALTUS_SET_DERIVED);
    sink->final = saltus_h5_find(f, SALTUS_SET_FINAL);
    sink->final_observables = saltus_h5_find(f, SALTUS_SET_FINAL_OBSERVABLES);
}

saltus_status saltus_hdf5_sink_create(const char *path, const saltus_hdf5_layout *layout,
                                      saltus_hdf5_sink **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    saltus_hdf5_sink *sink = NULL;
    saltus_checkpoint *checkpoint = NULL;

    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(
        saltus_h5_open_checkpoint(path, layout, &checkpoint, err)); /* before a file is made */
    sink = saltus_calloc(1, sizeof *sink);
    SALTUS_NEED(sink);
    SALTUS_TRY(saltus_h5_open_file(&sink->file, path, layout, err));
    find_sets(sink);
    sink->sink = (saltus_sink){.user = sink,
                               .prepare = prepare,
                               .deliver = deliver,
                               .discard = discard,
                               .flush = flush,
                               .reduction = sink->file.what.reduction};
    for (int i = 0; i < N_SAMPLES; ++i) {
        if (sink->samples[i]) {
            sink->sink.block_trajectories = (int64_t)sink->samples[i]->chunk[0];
        }
    }
    sink->wide = sink->samples[OF_COUNTS] && sink->samples[OF_COUNTS]->value_size == 8;
    if (sink->file.derived.n > 0) {
        sink->sink.derivation = &sink->file.what.derivation;
    }
    if (layout->n_frames > 0) {
        SALTUS_TRY(saltus_h5_open_frames(&sink->file, layout->lattice->size, &sink->frames, err));
        sink->sink.frame = write_frame;
    }
    if (layout->plan) {
        SALTUS_TRY(
            saltus_expected_init(&sink->expected, path, layout->plan, layout->run, false, err));
        sink->sink.begin = begin;
    }
    saltus_handle_add(&sink->handle, SALTUS_HANDLE_SINK);
    sink->checkpoint = checkpoint;
    checkpoint = NULL;
    *out = sink;
    sink = NULL;
done:
    saltus_checkpoint_close(checkpoint, true);
    free_sink(sink);
    saltus_h5_quiet_end(&quiet);
    return status;
}

const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink)
{
    return sink ? &sink->sink : NULL;
}

saltus_checkpoint *saltus_hdf5_sink_checkpoint(saltus_hdf5_sink *sink)
{
    return sink ? sink->checkpoint : NULL;
}

saltus_status saltus_hdf5_sink_close(saltus_hdf5_sink *sink, const saltus_run_report *report,
                                     saltus_error *err)
{
    if (!sink || !saltus_handle_take(&sink->handle, SALTUS_HANDLE_SINK)) {
        return saltus_no_argument(err, __func__);
    }
    const saltus_status status =
        saltus_h5_close_with_checkpoint(&sink->file, sink->checkpoint, report, err);
    saltus_h5_free_frames(sink->frames);
    saltus_expected_free(&sink->expected);
    saltus_free(sink);
    return status;
}
