/* Quantiles over runs, of samples or of histograms.
 *
 * Of the nine definitions of Hyndman & Fan (Am. Stat. 50 (1996) 361,
 * doi:10.1080/00031305.1996.10473566) this is number 7, which NumPy and R take unless told
 * otherwise: of n sorted values x[0] … x[n - 1] the one at (n - 1) p, by interpolation. */
#include "core/memory.h"
#include "write/results.h"

#include <math.h>
#include <stdlib.h>

enum { READ_VALUES = 1 << 24 }; /* at once: 128 MiB */

/* Between two order statistics. */
static double between(double low, double high, double share)
{
    return share > 0.0 && high != low ? low + share * (high - low) : low;
}

double saltus_quantile_of(const double *sorted, int64_t n, double p)
{
    if (n < 1 || isnan(sorted[n - 1])) {
        return (double)NAN;
    }
    const double at = (double)(n - 1) * p;
    const int64_t k = (int64_t)floor(at);
    return between(sorted[k], sorted[k + 1 < n ? k + 1 : k], at - (double)k);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

void saltus_quantile_sort(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
}

/* Some points of all runs, and room for one column of them. */
struct samples {
    int64_t *counts;     /* [run][point][species] */
    double *observables; /* [run][point][observable] */
    double *column;      /* [run] */
};

static void fill_column(const saltus_results *r, const struct samples *s, int64_t n_points,
                        int64_t point, int c)
{
    const int64_t o = c - r->n_counts;
    for (int64_t i = 0; i < r->runs; ++i) {
        const int64_t row = i * n_points + point;
        s->column[i] = o < 0 ? (double)s->counts[row * r->n_counts + c]
                             : s->observables[row * r->n_observables + o];
    }
}

/* Of points first … first + n - 1, whose samples have been read. */
static void of_points(const saltus_results *r, const saltus_table_options *o,
                      const struct samples *s, int64_t first, int64_t n, double *out)
{
    const int columns = r->n_counts + r->n_observables;
    for (int64_t p = 0; p < n; ++p) {
        for (int c = 0; c < columns; ++c) {
            double *to = out + ((first + p) * columns + c) * o->n_quantiles;
            fill_column(r, s, n, p, c);
            saltus_quantile_sort(s->column, r->runs);
            for (int q = 0; q < o->n_quantiles; ++q) {
                to[q] = saltus_quantile_of(s->column, r->runs, o->quantiles[q]);
            }
        }
    }
}

static saltus_status read_samples(const saltus_results *r, saltus_box box, const struct samples *s,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool all = r->has_counts || r->has_observables;
    if (r->n_counts > 0) {
        SALTUS_TRY(all ? saltus_results_counts(r, box, s->counts, err)
                       : saltus_results_final(r, 0, r->runs, s->counts, err));
    }
    if (r->n_observables > 0) {
        SALTUS_TRY(all ? saltus_results_observables(r, box, s->observables, err)
                       : saltus_results_final_observables(r, 0, r->runs, s->observables, err));
    }
done:
    return status;
}

/* Every time with --record all, else the last. */
static saltus_status of_samples(const saltus_results *r, const saltus_table_options *o, double *out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool all = r->has_counts || r->has_observables;
    const int64_t columns = (int64_t)r->n_counts + r->n_observables;
    const int64_t fitting = READ_VALUES / (r->runs * columns + 1);
    const int64_t left = all ? r->n_points : 1, step = fitting < 1      ? 1
                                                       : fitting < left ? fitting
                                                                        : left;
    const size_t rows = (size_t)(r->runs * step);
    saltus_box box = {.n_runs = r->runs, .point = all ? 0 : r->n_points - 1};
    struct samples s = {.counts = saltus_calloc(rows, (size_t)r->n_counts * sizeof *s.counts),
                        .observables =
                            saltus_calloc(rows, (size_t)r->n_observables * sizeof *s.observables),
                        .column = saltus_calloc((size_t)r->runs, sizeof *s.column)};
    SALTUS_NEED(s.counts && s.observables && s.column);
    for (; box.point < r->n_points; box.point += box.n_points) {
        box.n_points = r->n_points - box.point < step ? r->n_points - box.point : step;
        SALTUS_TRY(read_samples(r, box, &s, err));
        of_points(r, o, &s, box.point, box.n_points, out);
    }
done:
    saltus_free(s.counts);
    saltus_free(s.observables);
    saltus_free(s.column);
    return status;
}

/* A species' bins at one time, and how many values there are, those outside them included. */
struct bins {
    const double *edges;
    const uint64_t *counts;
    int64_t n_bins;
    uint64_t below, n;
};

/* The k-th value, from 0: the least count that its bin may hold; NaN outside all bins. */
static double order_statistic(const struct bins *b, uint64_t k, double *too_small)
{
    uint64_t upto = b->below;
    if (k < upto) {
        return (double)NAN;
    }
    for (int64_t i = 0; i < b->n_bins; ++i) {
        upto += b->counts[i];
        if (k < upto) {
            const double least = ceil(b->edges[i]), slack = ceil(b->edges[i + 1]) - 1.0 - least;
            *too_small = slack > *too_small ? slack : *too_small;
            return least;
        }
    }
    return (double)NAN;
}

static double of_bins(const struct bins *b, double p, double *too_small)
{
    if (b->n == 0) {
        return (double)NAN;
    }
    const double at = (double)(b->n - 1) * p;
    const uint64_t k = (uint64_t)floor(at);
    const double share = at - (double)k, low = order_statistic(b, k, too_small);
    return share > 0.0 ? between(low, order_statistic(b, k + 1, too_small), share) : low;
}

static saltus_status of_histogram(const saltus_results *r, int c, const saltus_table_options *o,
                                  double *out, double *too_small, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int columns = r->n_counts + r->n_observables;
    struct bins b = {0};
    saltus_results_bins all = {0};
    SALTUS_TRY(saltus_results_histogram(r, c, &all, err));
    b.n_bins = all.n;
    b.edges = all.edges;
    for (int64_t p = 0; p < r->n_points; ++p) {
        b.counts = all.counts + p * b.n_bins;
        b.below = all.below ? all.below[p] : 0;
        b.n = b.below + (all.above ? all.above[p] : 0);
        for (int64_t i = 0; i < b.n_bins; ++i) {
            b.n += b.counts[i];
        }
        for (int q = 0; q < o->n_quantiles; ++q) {
            out[(p * columns + c) * o->n_quantiles + q] = of_bins(&b, o->quantiles[q], too_small);
        }
    }
done:
    saltus_results_free_bins(&all);
    return status;
}

saltus_status saltus_results_check_quantiles(const saltus_results *r, saltus_error *err)
{
    if (r->has_counts || r->has_observables || r->has_final || r->has_final_observables ||
        r->has_histogram) {
        return SALTUS_OK;
    }
    (void)saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no samples, and so no quantiles",
                           r->path);
    saltus_error_hint(err, "run with `record all`, final or histogram");
    return SALTUS_E_INVALID;
}

saltus_status saltus_results_quantiles(const saltus_results *r, const saltus_table_options *options,
                                       double *out, double *too_small, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = r->n_points * (r->n_counts + r->n_observables) * options->n_quantiles;
    for (int64_t i = 0; i < n; ++i) {
        out[i] = (double)NAN;
    }
    if (r->has_counts || r->has_observables || r->has_final || r->has_final_observables) {
        return of_samples(r, options, out, err);
    }
    for (int c = 0; c < r->n_counts && r->has_histogram; ++c) {
        SALTUS_TRY(of_histogram(r, c, options, out, too_small, err));
    }
done:
    return status;
}
