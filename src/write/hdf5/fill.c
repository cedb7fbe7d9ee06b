/* What an ensemble says, in the shapes of data sets: rows of grid points, or the whole of a run. */
#include "write/hdf5/sets.h"

#include <math.h>
#include <string.h>

static const saltus_statistics *counts_of(const saltus_h5_filling *f, const saltus_h5_set *s)
{
    return s->kind->part < 0 ? &f->from->statistics : &f->from->splits[s->kind->part];
}

void saltus_fill_n(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    (void)s;
    *(int64_t *)row = f->from->n;
}

void saltus_fill_mean(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_statistics *x = counts_of(f, s);
    for (size_t q = 0; q < x->width; ++q) {
        ((double *)row)[q] = saltus_statistics_mean(x, q);
    }
}

void saltus_fill_variance(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_statistics *x = counts_of(f, s);
    for (size_t q = 0; q < x->width; ++q) {
        ((double *)row)[q] = saltus_statistics_variance(x, q);
    }
}

static void put_extremes(const saltus_statistics *x, const int64_t *values, double *row)
{
    for (size_t q = 0; q < x->width; ++q) {
        row[q] = x->n ? (double)values[q] : (double)NAN;
    }
}

void saltus_fill_min(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    put_extremes(counts_of(f, s), counts_of(f, s)->min, row);
}

void saltus_fill_max(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    put_extremes(counts_of(f, s), counts_of(f, s)->max, row);
}

/* The lower word first. In two steps, because clang 14's analyzer takes a shift by 64 for one
 * beyond the type. */
static void put_words(unsigned __int128 sum, uint64_t words[2])
{
    words[0] = (uint64_t)sum;
    words[1] = (uint64_t)(sum >> 32 >> 32);
}

void saltus_fill_sum(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_statistics *x = counts_of(f, s);
    for (size_t q = 0; q < x->width; ++q) {
        put_words((unsigned __int128)x->sum[q], (uint64_t *)row + 2 * q);
    }
}

void saltus_fill_sum_sq(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_statistics *x = counts_of(f, s);
    for (size_t q = 0; q < x->width; ++q) {
        put_words(x->square[q], (uint64_t *)row + 2 * q);
    }
}

void saltus_fill_real_mean(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_real_statistics *x = &f->from->reals;
    (void)s;
    for (size_t q = 0; q < x->width; ++q) {
        ((double *)row)[q] = saltus_real_statistics_mean(x, q);
    }
}

void saltus_fill_real_variance(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_real_statistics *x = &f->from->reals;
    (void)s;
    for (size_t q = 0; q < x->width; ++q) {
        ((double *)row)[q] = saltus_real_statistics_variance(x, q);
    }
}

void saltus_fill_real_min(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    memcpy(row, f->from->reals.min, s->row_bytes);
}

void saltus_fill_real_max(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    memcpy(row, f->from->reals.max, s->row_bytes);
}

void saltus_fill_counts(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    memcpy(row, f->from->counts, s->row_bytes);
}

void saltus_fill_observables(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    memcpy(row, f->from->observables, s->row_bytes);
}

void saltus_fill_derived(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    memcpy(row, f->from->derived + s->index * f->from->what->n_runs, s->row_bytes);
}

/* How many bytes it takes, and the state. */
void saltus_fill_state(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    uint64_t *words = row;
    memset(row, 0, s->row_bytes);
    words[0] = saltus_collector_put_state(f->from, words + 1);
}

/* ------------------------------------------------------------------------------------------------
 * Histograms
 */

int64_t saltus_fill_bins_of(saltus_h5_filling *f, int column)
{
    const saltus_histogram *h = &f->from->histogram;
    if (f->column != column) {
        f->column = column;
        f->n_bins = saltus_histogram_column(h, column, f->edges, f->packed);
    }
    return f->n_bins;
}

/* All points of a sweep have as many bins: those that the data leave out are empty. */
void saltus_fill_edges(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    double *edges = row;
    const int64_t n = saltus_fill_bins_of(f, s->index);
    memcpy(edges, f->edges, (size_t)(n + 1) * sizeof *edges);
    for (int64_t i = n; i < f->from->histogram.n_bins; ++i) {
        edges[i + 1] = edges[i] + (edges[1] - edges[0]);
    }
}

void saltus_fill_bins(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    const saltus_histogram *h = &f->from->histogram;
    const int64_t n = saltus_fill_bins_of(f, s->index);
    uint64_t *counts = row;
    memset(counts, 0, s->row_bytes);
    for (int64_t p = 0; p < h->n_points; ++p) {
        memcpy(counts + p * h->n_bins, f->packed + p * n, (size_t)n * sizeof *counts);
    }
}

static void put_outside(const saltus_histogram *h, const uint64_t *outside, int column,
                        uint64_t *row)
{
    for (int64_t p = 0; p < h->n_points; ++p) {
        row[p] = outside[p * h->n_columns + column];
    }
}

void saltus_fill_below(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    put_outside(&f->from->histogram, f->from->histogram.below, s->index, row);
}

void saltus_fill_above(saltus_h5_filling *f, const saltus_h5_set *s, void *row)
{
    put_outside(&f->from->histogram, f->from->histogram.above, s->index, row);
}
