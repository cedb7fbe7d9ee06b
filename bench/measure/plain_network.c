#include "bench/measure/plain_network.h"

#include "bench/measure/xoshiro.h"
#include "core/memory.h"
#include "core/status.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums stand in a binary tree: sum[k] = sum[2 k] + sum[2 k + 1], sum[n_leaves + r] is the
 * propensity of reaction r. */
struct plain_network {
    const saltus_tables *t;
    int32_t *reader_row, *readers; /* by species */
    size_t n_leaves;
    double *sum;
    int64_t *x;
    int64_t *seen;  /* [reaction] the event that has looked at it last */
    int64_t *fired; /* [reaction] */
    int64_t events, species, dependents, changes;
};

static saltus_status find_readers(plain_network *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = p->t;
    const int n_factors = t->factor_row[t->n_reactions];
    p->reader_row = saltus_calloc((size_t)t->n_species + 2, sizeof *p->reader_row);
    p->readers = saltus_calloc((size_t)n_factors, sizeof *p->readers);
    SALTUS_NEED(p->reader_row && p->readers);
    int32_t *row = p->reader_row + 1; /* counting sort; in the end row[s] is where s + 1 begins */
    for (int k = 0; k < n_factors; ++k) {
        ++row[t->factor_species[k]];
    }
    for (int s = 0, first = 0; s < t->n_species; ++s) {
        const int n = row[s];
        row[s] = first;
        first += n;
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        for (int k = t->factor_row[r]; k < t->factor_row[r + 1]; ++k) {
            p->readers[row[t->factor_species[k]]++] = r;
        }
    }
done:
    return status;
}

saltus_status plain_network_create(const saltus_model *model, plain_network **out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    plain_network *p = saltus_calloc(1, sizeof *p);
    SALTUS_NEED(p);
    p->t = t;
    if (saltus_has_events(t) || t->n_laws > 0 || t->n_rates > 0 || t->n_delayed > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "model '%s' has more than reactions of mass action, which is all that the "
                    "plain program knows",
                    model->name);
    }
    p->n_leaves = 1;
    while (p->n_leaves < (size_t)t->n_reactions) {
        p->n_leaves *= 2;
    }
    p->sum = saltus_calloc(2 * p->n_leaves, sizeof *p->sum);
    p->x = saltus_calloc((size_t)t->n_species, sizeof *p->x);
    p->seen = saltus_calloc((size_t)t->n_reactions, sizeof *p->seen);
    p->fired = saltus_calloc((size_t)t->n_reactions, sizeof *p->fired);
    SALTUS_NEED(p->sum && p->x && p->seen && p->fired);
    SALTUS_TRY(find_readers(p, err));
    *out = p;
    p = NULL;
done:
    plain_network_free(p);
    return status;
}

void plain_network_free(plain_network *p)
{
    if (p) {
        saltus_free(p->reader_row);
        saltus_free(p->readers);
        saltus_free(p->sum);
        saltus_free(p->x);
        saltus_free(p->seen);
        saltus_free(p->fired);
        saltus_free(p);
    }
}

static double propensity(const plain_network *p, int r)
{
    const saltus_tables *t = p->t;
    double a = t->rate[r];
    for (int k = t->factor_row[r]; k < t->factor_row[r + 1]; ++k) {
        a *= (double)p->x[t->factor_species[k]] - t->factor_offset[k];
    }
    return a;
}

static void start(plain_network *p)
{
    memcpy(p->x, p->t->initial_counts, (size_t)p->t->n_species * sizeof *p->x);
    for (int r = 0; r < p->t->n_reactions; ++r) {
        p->sum[p->n_leaves + (size_t)r] = propensity(p, r);
    }
    for (size_t k = p->n_leaves - 1; k > 0; --k) {
        p->sum[k] = p->sum[2 * k] + p->sum[2 * k + 1];
    }
}

static int choose(const plain_network *p, double goal)
{
    size_t k = 1;
    while (k < p->n_leaves) {
        k *= 2;
        if (!(goal < p->sum[k]) && p->sum[k + 1] > 0.0) {
            goal -= p->sum[k++];
        }
    }
    return (int)(k - p->n_leaves);
}

/* Compute a propensity anew, and the sums above it. */
static void update(plain_network *p, int r)
{
    size_t k = p->n_leaves + (size_t)r;
    const double a = propensity(p, r);
    ++p->dependents;
    if (a == p->sum[k]) {
        return;
    }
    ++p->changes;
    p->sum[k] = a;
    while (k > 1) {
        k /= 2;
        p->sum[k] = p->sum[2 * k] + p->sum[2 * k + 1];
    }
}

static void fire(plain_network *p, int r)
{
    const saltus_tables *t = p->t;
    ++p->events;
    ++p->fired[r];
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        p->x[t->change_species[c]] += t->change_amount[c];
        ++p->species;
    }
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        const int s = t->change_species[c];
        for (int i = p->reader_row[s]; i < p->reader_row[s + 1]; ++i) {
            const int reader = p->readers[i];
            if (p->seen[reader] != p->events) {
                p->seen[reader] = p->events;
                update(p, reader);
            }
        }
    }
}

int64_t plain_network_run(plain_network *p, uint64_t seed, double t_end, int64_t most_events,
                          double *time)
{
    xoshiro g;
    int64_t n = 0;
    double now = 0.0;
    xoshiro_seed(&g, seed);
    start(p);
    for (; n < most_events && p->sum[1] > 0.0; ++n) {
        const double next = now - log(xoshiro_uniform(&g)) / p->sum[1];
        if (!(next < t_end)) {
            break;
        }
        now = next;
        fire(p, choose(p, xoshiro_uniform(&g) * p->sum[1]));
    }
    *time = n == most_events ? now : t_end;
    return n;
}

const int64_t *plain_network_counts(const plain_network *p)
{
    return p->x;
}

static int falling(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

saltus_status plain_network_rows(const plain_network *p, plain_rows *rows, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)p->t->n_reactions;
    const double events = (double)p->events;
    int64_t *fired = saltus_calloc(n, sizeof *fired);
    double *rates = saltus_calloc(n, sizeof *rates);
    SALTUS_NEED(fired && rates);
    *rows = (plain_rows){.events = p->events,
                         .species = (double)p->species / events,
                         .dependents = (double)p->dependents / events,
                         .changes = (double)p->changes / events};
    memcpy(fired, p->fired, n * sizeof *fired);
    qsort(fired, n, sizeof *fired, falling);
    int64_t covered = 0;
    for (size_t i = 0; i < n && fired[i] > 0; ++i) {
        const double share = (double)fired[i] / events;
        rows->entropy -= share * log2(share);
        rows->n_frequent += 100 * covered < 99 * p->events;
        covered += fired[i];
    }
    memcpy(rates, p->t->rate, n * sizeof *rates);
    qsort(rates, n, sizeof *rates, rising);
    for (size_t i = 0; i < n; ++i) {
        rows->n_constants += rates[i] > 0.0 && (i == 0 || rates[i] != rates[i - 1]);
    }
done:
    saltus_free(fired);
    saltus_free(rates);
    return status;
}
