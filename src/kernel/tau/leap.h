/**
 * One leap of tau.h, for one trajectory: how long it may be, how often reactions fire in it, and
 * where that leads.
 */
#ifndef SALTUS_KERNEL_TAU_LEAP_H
#define SALTUS_KERNEL_TAU_LEAP_H

#include "kernel/base/stream.h"
#include "kernel/tau/bends.h"

enum {
    SALTUS_LEAP_WORDS = 55, /* blocks from 2^this on: more bits of the wait and the choice */
};

/* Whether there are laws that drift, so that windows bound leaps. */
SALTUS_FN int saltus_leap_drifts(const saltus_trajectory *p)
{
    return SALTUS_THINNED && p->n->n_thinned > 0;
}

/* The next block of words. */
SALTUS_FN void saltus_leap_draw(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                uint32_t w[4])
{
#if SALTUS_DEVICE
    uint32_t keys[SALTUS_PHILOX_KEYS];
    saltus_stream s;
    (void)l;
    if (SALTUS_RNG == SALTUS_RNG_PHILOX) {
        saltus_philox_keys(p->seed, keys);
        saltus_philox_keyed(keys, SALTUS_PURPOSE_LEAP, p->trajectory, p->block++, w);
        return;
    }
    saltus_stream_load(&s, d->stream);
    saltus_stream_next(&s, keys, p->trajectory, p->block++, w);
    saltus_stream_save(&s);
#else
    uint64_t at = p->block - l->words.first_block;
    if (!l->words.valid || at >= SALTUS_WORD_BLOCKS) {
        l->words.first_block = p->block;
        l->words.valid = 1;
        l->fill(p->seed, p->trajectory, d->stream, &l->words);
        at = 0;
    }
    for (int i = 0; i < 4; ++i) {
        w[i] = l->words.w[i][at];
    }
    ++p->block;
#endif
}

/* The unit wait of a block's first word. */
SALTUS_FN double saltus_leap_wait(const saltus_trajectory *p, uint32_t word)
{
    return SALTUS_RARE(word == 0)
               ? saltus_wait_refined(p->seed, p->trajectory,
                                     ((uint64_t)1 << SALTUS_LEAP_WORDS) + p->block)
               : saltus_exponential32(word);
}

/* Firings in the halves of a leap. */
typedef struct saltus_halves {
    double first, second;
} saltus_halves;

/* A Poisson variate, in halves. */
SALTUS_LARGE_FN saltus_halves saltus_leap_poisson(saltus_trajectory *p, saltus_direct *d,
                                                  saltus_leap *l, double mean)
{
    uint32_t w[4];
    double k, first;
    if (mean < saltus_poisson_inversion) {
        saltus_leap_draw(p, d, l, w);
        k = saltus_poisson_invert(mean, saltus_unit53(w[0], w[1]));
        first = saltus_poisson_half_of_few(k, w[2], w[3]);
    } else {
        const saltus_poisson law = saltus_poisson_of(mean);
        do {
            saltus_leap_draw(p, d, l, w);
        } while (!saltus_poisson_attempt(&law, saltus_unit53(w[0], w[1]), saltus_unit53(w[2], w[3]),
                                         &k));
        first = saltus_poisson_half(k, law.root);
    }
    const saltus_halves halves = {first, k - first};
    return halves;
}

/* The fastest relaxation among reactions that may fire in a leap, from the losses in l->drift. */
SALTUS_FN double saltus_leap_relaxation(const saltus_tables *n, const saltus_direct *d,
                                        const saltus_leap *l)
{
    double fastest = 0.0;
    for (int r = 0; r < n->n_reactions; ++r) {
        if (d->values[SALTUS_AT(r)] > 0.0 && !l->critical[SALTUS_AT(r)]) {
            fastest = saltus_tau_larger(fastest, saltus_tau_relaxation(n, r, l->drift));
        }
    }
    return fastest;
}

/** Mark critical reactions and bound the step by the others: infinity when there are none that
 * fire. *critical_total becomes the sum of the critical ones' propensities. */
SALTUS_FN double saltus_leap_bound(const saltus_trajectory *p, const saltus_direct *d,
                                   saltus_leap *l, double *critical_total)
{
    const saltus_tables *n = p->n;
    double fastest = 0.0, total = 0.0;
    for (int s = 0; s < n->n_species; ++s) {
        l->drift[SALTUS_AT(s)] = l->spread[SALTUS_AT(s)] = 0.0;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        const double a = d->values[SALTUS_AT(r)];
        if (!(a > 0.0) && !(saltus_leap_drifts(p) && n->thinned_of[r] >= 0) &&
            !saltus_leap_may_bend(n, r)) {
            continue;
        }
        const int critical = saltus_tau_critical(n, l->tau.n_critical, p->v, r, -1) != 0;
        l->critical[SALTUS_AT(r)] = (uint8_t)critical;
        if (critical) {
            total += a;
        } else {
            saltus_tau_add(n, r, a, l->drift, l->spread);
        }
    }
    for (int s = 0; s < n->n_species; ++s) {
        const double spread = l->spread[SALTUS_AT(s)];
        double drift = l->drift[SALTUS_AT(s)];
        l->drift[SALTUS_AT(s)] = 0.0;
        if (SALTUS_BENDS && n->n_bends > 0) {
            l->trend[SALTUS_AT(s)] = drift;
        }
        if (spread > 0.0 && n->order[s] > 0.0) {
            const double x = p->v[SALTUS_AT(s)];
            fastest = saltus_tau_bound(&l->tau, saltus_tau_order(n->order[s], n->order_own[s], x),
                                       x, spread, &drift, fastest);
            l->drift[SALTUS_AT(s)] = drift;
        }
    }
    *critical_total = total;
    return saltus_tau_step(fastest, saltus_leap_relaxation(n, d, l));
}

/* What candidates of critical reaction r come by: its propensity, or as much as that may become. */
SALTUS_FN double saltus_leap_weight(const saltus_tables *n, const saltus_direct *d,
                                    const saltus_leap *l, int r)
{
    const double a = d->values[SALTUS_AT(r)];
    return saltus_leap_may_bend(n, r) ? saltus_tau_larger(a, l->peak[SALTUS_AT(n->bending_of[r])])
                                      : a;
}

/* The sum of the weights of critical reactions. */
SALTUS_FN double saltus_leap_critical(const saltus_trajectory *p, const saltus_direct *d,
                                      const saltus_leap *l)
{
    double sum = 0.0;
    for (int r = 0; r < p->n->n_reactions; ++r) {
        const double a = saltus_leap_weight(p->n, d, l, r);
        sum += a > 0.0 && l->critical[SALTUS_AT(r)] ? a : 0.0;
    }
    return sum;
}

/* The critical reaction at `goal` of that sum. */
SALTUS_FN int saltus_leap_choose(const saltus_trajectory *p, const saltus_direct *d,
                                 const saltus_leap *l, double goal)
{
    int chosen = -1;
    double sum = 0.0;
    for (int r = 0; r < p->n->n_reactions; ++r) {
        const double a = saltus_leap_weight(p->n, d, l, r);
        if (a > 0.0 && l->critical[SALTUS_AT(r)]) {
            chosen = r;
            sum += a;
            if (sum > goal) {
                break;
            }
        }
    }
    return chosen;
}

/* Let reaction r fire k times in the leap; fewer than 0: take back so many. */
SALTUS_FN void saltus_leap_fire(const saltus_tables *n, saltus_leap *l, int r, double k)
{
    l->fired += k;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        l->change[SALTUS_AT(n->change_species[c])] += n->change_amount[c] * (int64_t)k;
    }
}

/** What has become of an attempt at a leap. */
typedef enum saltus_attempt {
    SALTUS_LEAPT,
    SALTUS_TOO_LONG, /* it leaves a count negative or too large, or a law without a value */
} saltus_attempt;

/* The counts as the leap's changes have them, into p->v. */
SALTUS_FN saltus_attempt saltus_leap_attempt(saltus_trajectory *p, const saltus_leap *l)
{
    saltus_attempt attempt = SALTUS_LEAPT;
    for (int s = 0; s < p->n->n_species; ++s) {
        int64_t x;
        if (saltus_add_overflows(p->x[SALTUS_AT(s)], l->change[SALTUS_AT(s)], &x)) {
            return SALTUS_TOO_LONG;
        }
        attempt = x < 0 ? SALTUS_TOO_LONG : attempt;
        p->v[SALTUS_AT(s)] = (double)x;
    }
    return attempt;
}

/* Firings in a time `length` by the propensities before the leap, and the counts in its middle. */
SALTUS_FN saltus_attempt saltus_leap_predict(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                             double length)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species; ++s) {
        l->change[SALTUS_AT(s)] = 0;
    }
    l->fired = 0.0;
    for (int r = 0; r < n->n_reactions; ++r) {
        const double mean = d->values[SALTUS_AT(r)] * length;
        l->second[SALTUS_AT(r)] = 0.0;
        if (saltus_leap_may_bend(n, r)) {
            l->first[SALTUS_AT(n->bending_of[r])] = 0.0;
        }
        if (!(mean > 0.0) || l->critical[SALTUS_AT(r)]) {
            continue;
        }
        if (!(mean * (double)n->largest_change < 0x1p50)) { /* variates are whole far beyond */
            return SALTUS_TOO_LONG;
        }
        const saltus_halves halves = saltus_leap_poisson(p, d, l, mean);
        l->second[SALTUS_AT(r)] = halves.second;
        if (saltus_leap_may_bend(n, r)) {
            l->first[SALTUS_AT(n->bending_of[r])] = halves.first;
        }
        saltus_leap_fire(n, l, r, halves.first);
    }
    return saltus_leap_attempt(p, l);
}

/* A critical reaction that may end a leap. */
typedef struct saltus_ending {
    int r;         /* -1: there is none */
    uint32_t word; /* decides whether it fires */
    double weight; /* its share of the sum when it was drawn */
    int fires;
} saltus_ending;

/* What its propensity of the rows is at the end of a leap of `length`: `now`, unless that drifts.
 */
SALTUS_FN double saltus_leap_end(saltus_trajectory *p, int r, double length, double now)
{
    (void)p, (void)r, (void)length;
#if SALTUS_THINNED
    if (p->n->n_thinned > 0 && p->n->thinned_of[r] >= 0) {
        return saltus_leap_law(p, p->n->thinned_of[r], p->t + length);
    }
#endif
    return now;
}

/* Let the critical reaction fire at the end of the leap, if its propensity there, of all that has
 * changed, says so: of a law that may bend. */
SALTUS_FN saltus_attempt saltus_leap_finish(saltus_trajectory *p, saltus_leap *l, double length,
                                            saltus_ending *one)
{
    if (saltus_leap_attempt(p, l) != SALTUS_LEAPT) {
        return SALTUS_TOO_LONG;
    }
    saltus_trajectory_run_live_rules(p);
    const double end = saltus_leap_end(p, one->r, length, saltus_leap_middle(p, one->r, 0.0));
    if (!(end >= 0.0)) {
        return SALTUS_TOO_LONG;
    }
    one->fires = saltus_tau_accepts(one->word, one->weight, end) != 0;
    saltus_leap_fire(p->n, l, one->r, one->fires);
    return SALTUS_LEAPT;
}

/* Firings of the second half, so many more, or fewer, that those of the leap are by the
 * propensities in its middle; and the critical reaction at its end, if it fires. */
SALTUS_FN saltus_attempt saltus_leap_correct(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                             double length, saltus_ending *one)
{
    const saltus_tables *n = p->n;
    uint32_t w[4];
    saltus_trajectory_run_live_rules(p);
    for (int r = 0; r < n->n_reactions; ++r) {
        const double a = d->values[SALTUS_AT(r)], second = l->second[SALTUS_AT(r)];
        if (r % 4 == 0) {
            saltus_leap_draw(p, d, l, w);
        }
        const int may_bend = saltus_leap_may_bend(n, r);
        if ((!(a > 0.0) && !may_bend) || (l->critical[SALTUS_AT(r)] && (r != one->r || may_bend))) {
            continue;
        }
        const double middle = saltus_leap_middle(p, r, length);
        if (!(middle >= 0.0)) {
            return SALTUS_TOO_LONG;
        }
        if (r == one->r) {
            const double end = saltus_leap_end(p, r, length, middle) + (middle - a);
            one->fires = saltus_tau_accepts(one->word, one->weight, end) != 0;
            saltus_leap_fire(n, l, r, one->fires);
            continue;
        }
        double more = saltus_tau_more(length, a, middle, second), most = second;
        if (may_bend) {
            const double first = l->first[SALTUS_AT(n->bending_of[r])];
            more = saltus_tau_more_bent(more, a, middle, first, second);
            most += first;
        }
        if (!(more * (double)n->largest_change < 0x1p50)) {
            return SALTUS_TOO_LONG;
        }
        saltus_leap_fire(n, l, r, saltus_tau_whole(more, w[r % 4], second, most));
    }
    return one->r >= 0 && saltus_leap_may_bend(n, one->r) ? saltus_leap_finish(p, l, length, one)
                                                          : SALTUS_LEAPT;
}

/* All that happens in a leap of `length`, with a candidate at its end, into the leap's changes. */
SALTUS_FN saltus_attempt saltus_leap_try(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                         double length, saltus_ending *one)
{
    saltus_attempt attempt = saltus_leap_predict(p, d, l, length);
    if (attempt == SALTUS_LEAPT) {
        attempt = saltus_leap_correct(p, d, l, length, one);
    }
    if (attempt != SALTUS_LEAPT) {
        return attempt;
    }
    attempt = saltus_leap_attempt(p, l);
    if (attempt != SALTUS_LEAPT && p->n->idles && one->fires) { /* it lacks reactants */
        saltus_leap_fire(p->n, l, one->r, -1.0);
        attempt = saltus_leap_attempt(p, l);
    }
    return attempt;
}

#endif
