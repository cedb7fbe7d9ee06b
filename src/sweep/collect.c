#include "sweep/collect.h"

#include "core/memory.h"
#include "core/number.h"
#include "core/tally.h"

#include <string.h>

/* Copy samples[trajectory][point][column], or of each trajectory the last, behind those so far. */
static void keep(const saltus_collector *c, void *to, const void *samples, int64_t n_points,
                 int n_columns, int64_t n)
{
    const size_t columns = (size_t)n_columns, points = (size_t)n_points;
    char *at = to;
    const char *from = samples;
    if (c->what->record == SALTUS_RECORD_ALL) {
        at += (size_t)c->n * points * columns * 8;
        memcpy(at, from, (size_t)n * points * columns * 8);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        memcpy(at + (size_t)(c->n + i) * columns * 8,
               from + ((size_t)(i + 1) * points - 1) * columns * 8, columns * 8);
    }
}

static void derive_all(saltus_collector *c, const saltus_block *b)
{
    const saltus_collection *w = c->what;
    const saltus_derivation *d = &w->derivation;
    for (int64_t i = 0; i < b->n_trajectories; ++i) {
        for (int q = 0; q < d->n; ++q) {
            c->derived[q * w->n_runs + c->n + i] = saltus_derived_of(d, b, i, q);
        }
    }
}

saltus_reduced saltus_collector_reduced(const saltus_collector *c)
{
    return (saltus_reduced){.statistics = c->statistics,
                            .reals = c->reals,
                            .histogram = c->histogram,
                            .splits = c->splits};
}

saltus_status saltus_collector_check_reduced(const saltus_collector *c, const saltus_reduced *from,
                                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_statistics_check(&c->statistics, &from->statistics, err));
    for (int i = 0; i < SALTUS_N_SPLITS && from->splits; ++i) {
        SALTUS_TRY(saltus_statistics_check(&c->splits[i], &from->splits[i], err));
    }
done:
    return status;
}

saltus_status saltus_collector_add_reduced(saltus_collector *c, const saltus_reduced *from,
                                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_collector_check_reduced(c, from, err));
    SALTUS_TRY(saltus_real_statistics_merge(&c->reals, &from->reals, err));
    saltus_statistics_merge(&c->statistics, &from->statistics);
    for (int i = 0; i < SALTUS_N_SPLITS && from->splits; ++i) {
        saltus_statistics_merge(&c->splits[i], &from->splits[i]);
    }
    if (c->histogram.n_bins > 0) {
        saltus_histogram_merge(&c->histogram, &from->histogram);
    }
done:
    return status;
}

/* Of another run than it was made for nothing is taken. */
static saltus_status check_room(const saltus_collector *c, const saltus_block *b, saltus_error *err)
{
    const saltus_collection *w = c->what;
    saltus_status status = SALTUS_OK;
    if (b->n_trajectories > w->n_runs - c->n) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there is room for %lld %s only", (long long)w->n_runs,
                    saltus_plural(w->n_runs, "trajectory", "trajectories"));
    }
    if (b->reduced ? b->reduced->statistics.width != c->statistics.width
                   : b->n_points != w->n_times) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there is room for %lld sample %s only",
                    (long long)w->n_times, saltus_plural(w->n_times, "time", "times"));
    }
    if (b->n_counts != w->n_counts || b->n_observables != w->n_observables) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the model records other species here than elsewhere");
    }
done:
    return status;
}

static saltus_status add(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_collector *c = user;
    (void)prepared;
    SALTUS_TRY(check_room(c, b, err));
    if (b->reduced) {
        SALTUS_TRY(saltus_collector_add_reduced(c, b->reduced, err));
    } else {
        SALTUS_TRY(saltus_statistics_add(&c->statistics, b->counts, b->n_trajectories, err));
        if (c->histogram.n_bins > 0) {
            saltus_histogram_add(&c->histogram, b->counts, b->n_trajectories);
        }
        for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
            if (c->splits[i].width > 0 && b->splits[i]) {
                SALTUS_TRY(
                    saltus_statistics_add(&c->splits[i], b->splits[i], b->n_trajectories, err));
            }
        }
    }
    derive_all(c, b);
    if (b->n_observables > 0 && !b->reduced) {
        SALTUS_TRY(saltus_real_statistics_fit(&c->reals, b->observables, b->n_trajectories, err));
        saltus_real_statistics_add(&c->reals, b->observables, b->n_trajectories);
    }
    if (c->counts) {
        keep(c, c->counts, b->counts, b->n_points, b->n_counts, b->n_trajectories);
    }
    if (c->observables) {
        keep(c, c->observables, b->observables, b->n_points, b->n_observables, b->n_trajectories);
    }
    c->n += b->n_trajectories;
    c->events = saltus_count_sum(c->events, b->events);
done:
    return status;
}

static saltus_status store(void *user, void **bytes, size_t *size, saltus_error *err)
{
    return saltus_collector_store(user, bytes, size, err);
}

saltus_status saltus_collector_create(const saltus_collection *what, saltus_collector **out,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool is_all = what->record == SALTUS_RECORD_ALL;
    const bool keeps = is_all || what->record == SALTUS_RECORD_FINAL;
    const size_t points = (size_t)what->n_times, runs = (size_t)what->n_runs;
    const size_t kept = runs * (is_all ? points : 1);
    saltus_collector *c = saltus_calloc(1, sizeof *c);
    SALTUS_NEED(c);
    c->what = what;
    c->sink =
        (saltus_sink){.user = c, .deliver = add, .store = store, .reduction = what->reduction};
    if (what->derivation.n > 0) {
        c->sink.derivation = &what->derivation;
    }
    SALTUS_TRY(saltus_statistics_init(&c->statistics, points * (size_t)what->n_counts, err));
    SALTUS_TRY(saltus_real_statistics_init(&c->reals, points * (size_t)what->n_observables, err));
    for (int i = 0; i < SALTUS_N_SPLITS && !is_all; ++i) {
        const size_t width = (size_t)what->n_parts[i] * (size_t)what->n_counts;
        SALTUS_TRY(saltus_statistics_init(&c->splits[i], points * width, err));
    }
    if (what->record == SALTUS_RECORD_HISTOGRAM) {
        SALTUS_TRY(saltus_histogram_init(&c->histogram, what->n_times, what->n_counts, what->n_bins,
                                         what->low, what->high, err));
    }
    if (keeps && what->n_counts > 0) {
        c->counts = saltus_calloc(kept, (size_t)what->n_counts * 8);
        SALTUS_NEED(c->counts);
    }
    if (keeps && what->n_observables > 0) {
        c->observables = saltus_calloc(kept, (size_t)what->n_observables * 8);
        SALTUS_NEED(c->observables);
    }
    c->derived = saltus_calloc(runs, (size_t)what->derivation.n * sizeof *c->derived);
    SALTUS_NEED(c->derived);
    *out = c;
    c = NULL;
done:
    saltus_collector_destroy(c);
    return status;
}

saltus_collector *saltus_collector_of(const saltus_sink *sink)
{
    return sink->deliver == add ? sink->user : NULL;
}

saltus_status saltus_collector_merge(saltus_collector *c, const saltus_collector *from,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_reduced reduced = saltus_collector_reduced(from);
    SALTUS_TRY(saltus_collector_add_reduced(c, &reduced, err));
    c->n += from->n;
    c->events = saltus_count_sum(c->events, from->events);
done:
    return status;
}

void saltus_collector_destroy(saltus_collector *c)
{
    if (c) {
        saltus_statistics_free(&c->statistics);
        saltus_real_statistics_free(&c->reals);
        for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
            saltus_statistics_free(&c->splits[i]);
        }
        saltus_histogram_free(&c->histogram);
        saltus_free(c->counts);
        saltus_free(c->observables);
        saltus_free(c->derived);
        saltus_free(c);
    }
}
