#include "ensemble/reduction.h"

#include "core/memory.h"

double saltus_reduced_bytes(const saltus_reduction *reduction, int64_t n_points, int n_counts)
{
    return (double)n_points * n_counts *
           (SALTUS_STATISTICS_BYTES + 8.0 * (double)reduction->n_bins);
}

saltus_status saltus_reduced_create(const saltus_reduction *reduction, int64_t n_points,
                                    int n_counts, saltus_reduced **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_bins = reduction->n_bins;
    const double *edges = reduction->edges;
    saltus_reduced *r = saltus_calloc(1, sizeof *r);
    SALTUS_NEED(r);
    SALTUS_TRY(saltus_statistics_init(&r->statistics, (size_t)n_points * (size_t)n_counts, err));
    if (n_bins > 0) {
        SALTUS_TRY(saltus_histogram_init(&r->histogram, n_points, n_counts, n_bins,
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
        saltus_histogram_free(&reduced->histogram);
        saltus_free(reduced);
    }
}

saltus_status saltus_reduced_add(saltus_reduced *reduced, const int64_t *counts, saltus_error *err)
{
    if (reduced->histogram.n_bins > 0) {
        saltus_histogram_add(&reduced->histogram, counts, 1);
    }
    return saltus_statistics_add(&reduced->statistics, counts, 1, err);
}

saltus_status saltus_reduced_merge(saltus_reduced *reduced, const saltus_partial *partial,
                                   int64_t n, saltus_error *err)
{
    saltus_histogram *h = &reduced->histogram;
    if (h->n_bins > 0) {
        saltus_histogram from = *h;
        from.shift = partial->shifts;
        from.counts = partial->bins;
        from.below = partial->below;
        from.above = partial->above;
        saltus_histogram_merge(h, &from);
    }
    return saltus_statistics_add_sums(&reduced->statistics, partial->sums, n, err);
}
