#include "ensemble/reduction.h"

#include "core/memory.h"

double saltus_reduced_bytes(const saltus_reduction *reduction, const saltus_columns *columns,
                            int64_t n_points)
{
    const double count = SALTUS_STATISTICS_BYTES + 8.0 * (double)reduction->n_bins;
    const double observable = 8.0 * (SALTUS_EXACT_WORDS + 2);
    return (double)n_points * (columns->n_counts * count + columns->n_observables * observable);
}

saltus_status saltus_reduced_create(const saltus_reduction *reduction,
                                    const saltus_columns *columns, int64_t n_points,
                                    saltus_reduced **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_bins = reduction->n_bins;
    const size_t points = (size_t)n_points;
    const double *edges = reduction->edges;
    saltus_reduced *r = saltus_calloc(1, sizeof *r);
    SALTUS_NEED(r);
    SALTUS_TRY(saltus_statistics_init(&r->statistics, points * (size_t)columns->n_counts, err));
    SALTUS_TRY(
        saltus_real_statistics_init(&r->reals, points * (size_t)columns->n_observables, err));
    if (n_bins > 0) {
        SALTUS_TRY(saltus_histogram_init(&r->histogram, n_points, columns->n_counts, n_bins,
                                         edges ? edges[0] : 0.0, edges ? edges[n_bins] : 0.0, err));
    }
    *out = r;
    r = NULL;
done:
    saltus_reduced_free(r);
    return status;
}

void saltus_reduced_free(saltus_reduced *reduced)
{
    if (reduced) {
        saltus_statistics_free(&reduced->statistics);
        saltus_real_statistics_free(&reduced->reals);
        saltus_histogram_free(&reduced->histogram);
        saltus_free(reduced);
    }
}

saltus_status saltus_reduced_add(saltus_reduced *reduced, const int64_t *counts,
                                 const double *observables, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (reduced->reals.width > 0) {
        SALTUS_TRY(saltus_real_statistics_fit(&reduced->reals, observables, 1, err));
        saltus_real_statistics_add(&reduced->reals, observables, 1);
    }
    if (reduced->histogram.n_bins > 0) {
        saltus_histogram_add(&reduced->histogram, counts, 1);
    }
    status = saltus_statistics_add(&reduced->statistics, counts, 1, err);
done:
    return status;
}

saltus_status saltus_reduced_merge(saltus_reduced *reduced, const saltus_partial *partial,
                                   int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_histogram *h = &reduced->histogram;
    if (reduced->reals.width > 0) {
        SALTUS_TRY(saltus_real_statistics_add_sums(&reduced->reals, partial->real_sums,
                                                   partial->least, partial->most, n, err));
    }
    if (h->n_bins > 0) {
        saltus_histogram from = *h;
        from.shift = partial->shifts;
        from.counts = partial->bins;
        from.below = partial->below;
        from.above = partial->above;
        saltus_histogram_merge(h, &from);
    }
    status = saltus_statistics_add_sums(&reduced->statistics, partial->sums, n, err);
done:
    return status;
}
