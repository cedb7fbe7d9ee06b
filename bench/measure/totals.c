#include "bench/measure/totals.h"

#include "core/memory.h"
#include "ensemble/reduction.h"

#include <math.h>
#include <string.h>

/* A state that n trajectories have missed is hardly as frequent as this over n. */
static const double RARE = 12.0;

static saltus_status add_block(void *user, const saltus_block *block, void **prepared,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t width = (size_t)block->n_points * (size_t)block->n_counts;
    saltus_statistics *s = NULL;
    (void)user;
    if (block->reduced) {
        return SALTUS_OK;
    }
    s = saltus_calloc(1, sizeof *s);
    SALTUS_NEED(s);
    SALTUS_TRY(saltus_statistics_init(s, width, err));
    SALTUS_TRY(saltus_statistics_add(s, block->counts, block->n_trajectories, err));
    *prepared = s;
    s = NULL;
done:
    if (s) {
        saltus_statistics_free(s);
    }
    saltus_free(s);
    return status;
}

static void discard(void *user, void *prepared)
{
    (void)user;
    if (prepared) {
        saltus_statistics_free(prepared);
    }
    saltus_free(prepared);
}

static saltus_status merge_block(void *user, const saltus_block *block, void *prepared,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals *t = user;
    const saltus_statistics *part = block->reduced ? &block->reduced->statistics : prepared;
    if (t->n_points == 0) {
        t->n_counts = block->n_counts;
        t->n_points = (int64_t)part->width / block->n_counts;
        SALTUS_TRY(saltus_statistics_init(&t->statistics, part->width, err));
    }
    SALTUS_TRY(saltus_statistics_check(&t->statistics, part, err));
    saltus_statistics_merge(&t->statistics, part);
done:
    discard(user, prepared);
    return status;
}

saltus_sink saltus_totals_sink(saltus_totals *totals, bool wants_samples)
{
    static const saltus_reduction sums = {0};
    return (saltus_sink){.user = totals,
                         .reduction = wants_samples ? NULL : &sums,
                         .prepare = add_block,
                         .deliver = merge_block,
                         .discard = discard};
}

void saltus_totals_free(saltus_totals *totals)
{
    saltus_statistics_free(&totals->statistics);
    *totals = (saltus_totals){0};
}

static bool is_near(const saltus_totals *reference, int c, double mean, int64_t n)
{
    const saltus_statistics *s = &reference->statistics;
    const size_t q = (size_t)(reference->n_points - 1) * (size_t)reference->n_counts + (size_t)c;
    const double share = 1.0 / (double)n + 1.0 / (double)s->n;
    const double unseen = RARE / (double)s->n; /* variance by states that the reference missed */
    const double error = sqrt((saltus_statistics_variance(s, q) + unseen) * share);
    return fabs(mean - saltus_statistics_mean(s, q)) <= 5.0 * error + 2.0 / (double)n;
}

bool saltus_totals_agree(const saltus_totals *totals, const saltus_totals *reference)
{
    const saltus_statistics *a = &totals->statistics, *b = &reference->statistics;
    const size_t last = (size_t)(totals->n_points - 1) * (size_t)totals->n_counts;
    if (a->n == b->n) {
        return a->width == b->width && memcmp(a->sum, b->sum, a->width * sizeof *a->sum) == 0 &&
               memcmp(a->square, b->square, a->width * sizeof *a->square) == 0 &&
               memcmp(a->min, b->min, a->width * sizeof *a->min) == 0 &&
               memcmp(a->max, b->max, a->width * sizeof *a->max) == 0;
    }
    bool agree = true;
    for (int c = 0; c < totals->n_counts; ++c) {
        const double mean = saltus_statistics_mean(a, last + (size_t)c);
        agree = agree && is_near(reference, c, mean, a->n);
    }
    return agree;
}

bool saltus_totals_near(const saltus_totals *totals, const saltus_totals *reference, double share,
                        double molecules)
{
    const saltus_statistics *a = &totals->statistics, *b = &reference->statistics;
    const size_t last = (size_t)(totals->n_points - 1) * (size_t)totals->n_counts;
    bool near = a->width == b->width;
    for (int c = 0; near && c < totals->n_counts; ++c) {
        const double mean = saltus_statistics_mean(a, last + (size_t)c);
        const double exact = saltus_statistics_mean(b, last + (size_t)c);
        near = fabs(mean - exact) <= fmax(share * fabs(exact), molecules) ||
               is_near(reference, c, mean, a->n);
    }
    return near;
}

bool saltus_totals_agree_with(const saltus_totals *reference, const double *sums, int64_t n)
{
    bool agree = true;
    for (int c = 0; c < reference->n_counts; ++c) {
        agree = agree && is_near(reference, c, sums[c] / (double)n, n);
    }
    return agree;
}
