#include "bench/measure/samples.h"

#include "core/memory.h"
#include "core/status.h"

#include <math.h>

saltus_status saltus_samples_add(saltus_samples *s, const int64_t *counts, int n_counts,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!s->x) {
        s->x = saltus_calloc((size_t)s->most * (size_t)s->n_columns, sizeof *s->x);
        SALTUS_NEED(s->x);
    }
    if (s->n == s->most) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there is room for %lld trajectories", (long long)s->most);
    }
    for (int c = 0; c < n_counts; ++c) {
        s->x[s->n * s->n_columns + c % s->n_columns] += counts[c];
    }
    ++s->n;
done:
    return status;
}

static saltus_status add_last(void *user, const saltus_block *block, void *prepared,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    (void)prepared;
    for (int64_t i = 0; i < block->n_trajectories; ++i) {
        const int64_t row = (i + 1) * block->n_points - 1;
        SALTUS_TRY(
            saltus_samples_add(user, block->counts + row * block->n_counts, block->n_counts, err));
    }
done:
    return status;
}

saltus_sink saltus_samples_sink(saltus_samples *s)
{
    return (saltus_sink){.user = s, .deliver = add_last};
}

void saltus_samples_free(saltus_samples *s)
{
    saltus_free(s->x);
    s->x = NULL;
    s->n = 0;
}

/* Of a column; the fourth about the mean. */
typedef struct moments {
    double mean, variance, fourth;
} moments;

static moments moments_of(const saltus_samples *s, int column)
{
    moments m = {0};
    const double n = (double)s->n;
    for (int64_t i = 0; i < s->n; ++i) {
        m.mean += (double)s->x[i * s->n_columns + column] / n;
    }
    for (int64_t i = 0; i < s->n; ++i) {
        const double off = (double)s->x[i * s->n_columns + column] - m.mean;
        m.variance += off * off / (n - 1.0);
        m.fourth += off * off * off * off / n;
    }
    return m;
}

void saltus_samples_compare(const saltus_samples *a, const saltus_samples *b, double worst[2])
{
    const double n_a = (double)a->n, n_b = (double)b->n, share = 1.0 / n_a + 1.0 / n_b;
    worst[0] = worst[1] = 0.0;
    for (int c = 0; c < a->n_columns; ++c) {
        const moments p = moments_of(a, c), q = moments_of(b, c);
        /* and what a state that both have missed may add */
        const double variance = (p.variance * n_a + q.variance * n_b + 1.0) / (n_a + n_b);
        /* of few trajectories the fourth moment is too small as often as not: no less than
         * Poisson's */
        const double fourth = (p.fourth * n_a + q.fourth * n_b) / (n_a + n_b);
        const double spread =
            fmax(fourth - variance * variance, 2.0 * variance * variance + variance);
        worst[0] = fmax(worst[0], fabs(p.mean - q.mean) / sqrt(variance * share));
        worst[1] = fmax(worst[1], fabs(p.variance - q.variance) / sqrt(spread * share));
    }
}
