#include "plot/plot_data.h"

#include "core/memory.h"
#include "ensemble/histogram.h"

#include <math.h>
#include <string.h>

bool saltus_has_distribution(const saltus_results *r)
{
    return r->n_counts > 0 && r->runs > 0 && (r->has_counts || r->has_histogram);
}

bool saltus_has_distribution_at(const saltus_results *r, int64_t point)
{
    return saltus_has_distribution(r) ||
           (r->n_counts > 0 && r->runs > 0 && r->has_final && point == r->n_points - 1);
}

void saltus_distributions_free(saltus_distribution *d, int n)
{
    for (int i = 0; d && i < n; ++i) {
        saltus_free(d[i].edges);
        saltus_free(d[i].counts);
        d[i] = (saltus_distribution){0};
    }
}

static saltus_status recorded(const saltus_results *r, int species, const int64_t *points,
                              int64_t n_points, saltus_distribution *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results_bins all = {0};
    SALTUS_TRY(saltus_results_histogram(r, species, &all, err));
    out->n_bins = all.n;
    out->edges = all.edges;
    all.edges = NULL;
    const size_t n_bins = (size_t)out->n_bins;
    out->n_points = n_points;
    out->counts = saltus_calloc((size_t)n_points, n_bins * sizeof *out->counts);
    SALTUS_NEED(out->counts);
    for (int64_t p = 0; p < n_points; ++p) {
        memcpy(out->counts + (size_t)p * n_bins, all.counts + (size_t)points[p] * n_bins,
               n_bins * sizeof *all.counts);
    }
done:
    saltus_results_free_bins(&all);
    return status;
}

/* Which columns of which points of samples [run][point][column] are wanted. */
struct choice {
    const int *columns;
    int n_columns, stride; /* stride: columns in the samples */
    const int64_t *points;
    int64_t n_points, all_points;
};

static void gather(int64_t *to, const int64_t *from, int64_t n_runs, const struct choice *c)
{
    for (int64_t i = 0; i < n_runs; ++i, from += c->all_points * c->stride) {
        for (int64_t p = 0; p < c->n_points; ++p) {
            for (int k = 0; k < c->n_columns; ++k) {
                *to++ = from[c->points[p] * c->stride + c->columns[k]];
            }
        }
    }
}

static saltus_status count_samples(const saltus_results *r, const struct choice *choice,
                                   saltus_histogram *h, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t run_values = choice->all_points * choice->stride;
    const int64_t fitting = (INT64_C(1) << 21) / run_values / r->chunk_runs * r->chunk_runs;
    const int64_t step = fitting > r->chunk_runs ? fitting : r->chunk_runs;
    int64_t *samples = saltus_calloc((size_t)step, (size_t)run_values * sizeof *samples);
    int64_t *chosen = saltus_calloc((size_t)(step * choice->n_points),
                                    (size_t)choice->n_columns * sizeof *chosen);
    SALTUS_NEED(samples);
    SALTUS_NEED(chosen);
    for (int64_t run = 0; run < r->runs; run += step) {
        const int64_t n = r->runs - run < step ? r->runs - run : step;
        const saltus_box box = {run, n, 0, r->n_points};
        SALTUS_TRY(r->has_counts ? saltus_results_counts(r, box, samples, err)
                                 : saltus_results_final(r, run, n, samples, err));
        gather(chosen, samples, n, choice);
        saltus_histogram_add(h, chosen, n);
    }
done:
    saltus_free(samples);
    saltus_free(chosen);
    return status;
}

/* Few runs would make a comb of many bins. */
static int64_t good_bins(int64_t runs)
{
    return runs < 300 ? 32 : runs < 3000 ? 64 : SALTUS_HISTOGRAM_BINS;
}

saltus_status saltus_distributions(const saltus_results *r, const int *species, int n,
                                   const int64_t *points, int64_t n_points,
                                   saltus_distribution *out, saltus_error *err)
{
    static const int64_t first[1] = {0};
    saltus_status status = SALTUS_OK;
    saltus_histogram h = {0};
    struct choice choice = {species, n, r->n_counts, points, n_points, r->n_points};

    if (r->has_histogram && !r->has_counts) {
        for (int k = 0; k < n; ++k) {
            SALTUS_TRY(recorded(r, species[k], points, n_points, &out[k], err));
        }
        goto done;
    }
    if (!r->has_counts) { /* /final has one point */
        choice.points = first;
        choice.n_points = choice.all_points = 1;
    }
    SALTUS_TRY(saltus_histogram_init(&h, choice.n_points, n, good_bins(r->runs), 0, 0, err));
    SALTUS_TRY(count_samples(r, &choice, &h, err));
    for (int k = 0; k < n; ++k) {
        out[k].edges = saltus_calloc((size_t)h.n_bins + 1, sizeof(double));
        out[k].counts = saltus_calloc((size_t)h.n_points, (size_t)h.n_bins * sizeof(uint64_t));
        SALTUS_NEED(out[k].edges);
        SALTUS_NEED(out[k].counts);
        out[k].n_points = h.n_points;
        out[k].n_bins = saltus_histogram_column(&h, k, out[k].edges, out[k].counts);
    }
done:
    saltus_histogram_free(&h);
    return status;
}

saltus_status saltus_sample_runs(const saltus_results *r, const int *columns, int n, int64_t n_runs,
                                 double **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t points = (size_t)r->n_points;
    const saltus_box box = {0, 1, 0, r->n_points};
    int64_t *x = saltus_calloc(points, (size_t)r->n_counts * sizeof *x);
    double *y = saltus_calloc(points, (size_t)r->n_observables * sizeof *y);
    double *to = *out = saltus_calloc((size_t)n_runs * points, (size_t)n * sizeof *to);

    SALTUS_NEED(x);
    SALTUS_NEED(y);
    SALTUS_NEED(to);
    for (saltus_box b = box; b.run < n_runs; ++b.run) {
        if (r->has_counts) {
            SALTUS_TRY(saltus_results_counts(r, b, x, err));
        }
        if (r->has_observables) {
            SALTUS_TRY(saltus_results_observables(r, b, y, err));
        }
        for (size_t p = 0; p < points; ++p) {
            for (int k = 0; k < n; ++k) {
                const int o = columns[k] - r->n_counts;
                *to++ = o < 0 ? (double)x[p * (size_t)r->n_counts + (size_t)columns[k]]
                              : y[p * (size_t)r->n_observables + (size_t)o];
            }
        }
    }
done:
    saltus_free(x);
    saltus_free(y);
    return status;
}

int64_t saltus_nearest_point(const saltus_results *r, double time)
{
    int64_t best = r->n_points - 1;
    for (int64_t p = 0; !isnan(time) && p < r->n_points; ++p) {
        if (fabs(r->times[p] - time) < fabs(r->times[best] - time)) {
            best = p;
        }
    }
    return best;
}
