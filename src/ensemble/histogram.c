#include "ensemble/histogram.h"

#include "core/memory.h"
#include "kernel/base/sums.h"

#include <math.h>
#include <string.h>

saltus_status saltus_histogram_init(saltus_histogram *h, int64_t n_points, int n_columns,
                                    int64_t n_bins, double low, double high, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t bins = n_bins ? n_bins : SALTUS_HISTOGRAM_BINS;
    size_t cells, total;

    *h = (saltus_histogram){.n_points = n_points, .n_columns = n_columns, .n_bins = bins};
    if (bins < 1 || bins > SALTUS_MOST_BINS) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld bins: must be from 1 to %d", (long long)bins,
                    (int)SALTUS_MOST_BINS);
    }
    if (!isfinite(low) || !isfinite(high) || low > high) {
        SALTUS_FAIL(SALTUS_E_INVALID, "histogram range %g to %g is not a range", low, high);
    }
    if (__builtin_mul_overflow((size_t)n_points, (size_t)n_columns, &cells) ||
        __builtin_mul_overflow(cells, (size_t)bins, &total)) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "histograms are too large for memory");
    }
    h->shift = saltus_calloc(cells, sizeof *h->shift);
    h->below = saltus_calloc(cells, sizeof *h->below);
    h->above = saltus_calloc(cells, sizeof *h->above);
    h->counts = saltus_calloc(total, sizeof *h->counts);
    if (!h->shift || !h->below || !h->above || !h->counts) {
        status = saltus_error_set(err, SALTUS_E_NO_MEMORY, "no memory for histograms: %g MiB",
                                  (double)total * 8 / (1 << 20));
        saltus_error_hint(err, "record fewer points, species or bins");
        goto done;
    }
    if (high > low) {
        h->edges = saltus_calloc((size_t)bins + 1, sizeof *h->edges);
        SALTUS_NEED(h->edges);
        for (int64_t b = 0; b <= bins; ++b) {
            h->edges[b] = low + (high - low) * (double)b / (double)bins;
        }
        h->edges[bins] = high;
    }
done:
    if (status != SALTUS_OK) {
        saltus_histogram_free(h);
    }
    return status;
}

saltus_status saltus_histogram_like(saltus_histogram *out, const saltus_histogram *h,
                                    saltus_error *err)
{
    return saltus_histogram_init(out, h->n_points, h->n_columns, h->n_bins,
                                 h->edges ? h->edges[0] : 0.0, h->edges ? h->edges[h->n_bins] : 0.0,
                                 err);
}

void saltus_histogram_free(saltus_histogram *h)
{
    saltus_free(h->edges);
    saltus_free(h->shift);
    saltus_free(h->counts);
    saltus_free(h->below);
    saltus_free(h->above);
    *h = (saltus_histogram){0};
}

/* Merge neighbours, 2^by of them, in place. */
static void coarsen(uint64_t *counts, int64_t n_bins, int by)
{
    for (int64_t b = 0; b < n_bins; ++b) {
        const uint64_t n = counts[b];
        counts[b] = 0;
        counts[b >> by] += n;
    }
}

static void widen_to(saltus_histogram *h, size_t cell, int shift)
{
    const int by = shift - h->shift[cell];
    if (by > 0) {
        coarsen(h->counts + cell * (size_t)h->n_bins, h->n_bins, by);
        h->shift[cell] = (uint8_t)shift;
    }
}

static void count_in_range(saltus_histogram *h, size_t cell, int64_t x)
{
    const int64_t b = saltus_bin_find(h->edges, h->n_bins, (double)x);
    if (b < 0) {
        ++h->below[cell];
    } else if (b >= h->n_bins) {
        ++h->above[cell];
    } else {
        ++h->counts[cell * (size_t)h->n_bins + (size_t)b];
    }
}

void saltus_histogram_add(saltus_histogram *h, const int64_t *x, int64_t n_samples)
{
    const size_t cells = (size_t)h->n_points * (size_t)h->n_columns;
    const size_t n_bins = (size_t)h->n_bins;
    for (int64_t t = 0; t < n_samples; ++t, x += cells) {
        for (size_t cell = 0; cell < cells; ++cell) {
            if (h->edges) {
                count_in_range(h, cell, x[cell]);
                continue;
            }
            const uint64_t value = (uint64_t)x[cell];
            uint64_t b = value >> h->shift[cell];
            if (b >= n_bins) {
                widen_to(h, cell, saltus_bins_shift(value, h->n_bins, h->shift[cell]));
                b = value >> h->shift[cell];
            }
            ++h->counts[cell * n_bins + b];
        }
    }
}

void saltus_histogram_merge(saltus_histogram *h, const saltus_histogram *from)
{
    const size_t cells = (size_t)h->n_points * (size_t)h->n_columns;
    const size_t n_bins = (size_t)h->n_bins;
    for (size_t cell = 0; cell < cells; ++cell) {
        widen_to(h, cell, from->shift[cell]);
        const int by = h->shift[cell] - from->shift[cell];
        uint64_t *to = h->counts + cell * n_bins;
        const uint64_t *add = from->counts + cell * n_bins;
        for (size_t b = 0; b < n_bins; ++b) {
            to[b >> by] += add[b];
        }
        h->below[cell] += from->below[cell];
        h->above[cell] += from->above[cell];
    }
}

int64_t saltus_histogram_column(const saltus_histogram *h, int column, double *edges,
                                uint64_t *counts)
{
    const size_t n_bins = (size_t)h->n_bins, stride = (size_t)h->n_columns;
    const uint8_t *shifts = h->shift + column;
    int shift = 0;
    size_t used = h->edges ? n_bins : 1;

    for (int64_t p = 0; p < h->n_points; ++p) {
        shift = shifts[(size_t)p * stride] > shift ? shifts[(size_t)p * stride] : shift;
    }
    memset(counts, 0, (size_t)h->n_points * n_bins * sizeof *counts);
    for (size_t p = 0; p < (size_t)h->n_points; ++p) {
        const uint64_t *from = h->counts + (p * stride + (size_t)column) * n_bins;
        const int by = shift - shifts[p * stride];
        for (size_t b = 0; b < n_bins; ++b) {
            counts[p * n_bins + (b >> by)] += from[b];
            used = from[b] && (b >> by) >= used ? (b >> by) + 1 : used;
        }
    }
    for (size_t p = 1; p < (size_t)h->n_points && used < n_bins; ++p) {
        memmove(counts + p * used, counts + p * n_bins, used * sizeof *counts);
    }
    for (size_t b = 0; b <= used; ++b) {
        edges[b] = h->edges ? h->edges[b] : ldexp((double)b, shift);
    }
    return (int64_t)used;
}
