/**
 * Laws that drift with time, exactly, by thinning (P. A. W. Lewis, G. S. Shedler, Naval Research
 * Logistics Quarterly 26 (1979) 403, doi:10.1002/nav.3800260304): the direct method of
 * direct_tree.h, in which such a law has a bound in the tree instead of a propensity.
 *
 * The bound holds for a window of time, with the counts as they are: it is the upper end of the
 * law's interval (kernel/base/intervals.h). The wait is drawn with the sum B of bounds and
 * propensities. When it leads beyond the window, the trajectory goes on from the window's end,
 * since waits have no memory. Else there is a candidate: the place u B that it chooses lies in the
 * interval of some reaction r, and r fires if it lies in the first a_r(t) of that interval, as if
 * the rest belonged to a reaction that changes nothing. So a candidate takes no words but those of
 * an event, and as many more bits where the first do not decide. Where nothing fires the time has
 * passed all the same.
 *
 *     u B         0 |--- reaction 0 ---|-- fires --|-- nothing --|--- reaction 2 ---| B
 *                                      <--- bound of reaction 1 --->
 *
 * Bounds are functions of the counts and the window, and the window is part of the trajectory's
 * state: its length follows from the candidates that did not fire, and it ends at the time at which
 * a clock changes or an event is due. Nothing depends on sample times.
 */
#ifndef SALTUS_KERNEL_SSA_THINNED_H
#define SALTUS_KERNEL_SSA_THINNED_H

#include "kernel/base/intervals.h"
#include "kernel/ssa/direct_tree.h"

/* The interval of drift number k, into its slot. */
SALTUS_FN void saltus_thinned_drift(saltus_trajectory *p, saltus_direct *d, int k)
{
    const saltus_interval s =
        saltus_interval_run(p->n->bound_code, p->n->drifts[k].interval, d->intervals, p->v);
    d->intervals[SALTUS_AT(2 * (1 + k))] = s.lo;
    d->intervals[SALTUS_AT(2 * (1 + k) + 1)] = s.hi;
}

/* The window, and what drifts in it whatever the counts. */
SALTUS_FN void saltus_thinned_drifts(saltus_trajectory *p, saltus_direct *d)
{
    d->intervals[0] = p->window_start;
    d->intervals[SALTUS_AT(1)] = p->window_end;
    for (int k = 0; k < p->n->n_drifts; ++k) {
        if (!p->n->drifts[k].has_counts) {
            saltus_thinned_drift(p, d, k);
        }
    }
}

/* The law of thinned reaction i at a time. */
SALTUS_OUTLINE double saltus_thinned_law(saltus_trajectory *p, int i, double time)
{
    const saltus_tables *n = p->n;
    p->v[SALTUS_AT(n->row_time)] = time;
    for (int k = n->drift_row[i]; k < n->drift_row[i + 1]; ++k) {
        const int rule = n->drifts[n->drift_of[k]].rule;
        if (rule >= 0) {
            p->v[SALTUS_AT(n->row_rules + rule)] = saltus_trajectory_value(p, n->rules[rule]);
        }
    }
    return saltus_trajectory_value(p, n->laws[n->law_program[n->thinned[i]]]);
}

/* Where the law of thinned reaction i lies in the window, of the counts in p->v. */
SALTUS_FN saltus_interval saltus_thinned_interval(saltus_trajectory *p, saltus_direct *d, int i)
{
    const saltus_tables *n = p->n;
    for (int k = n->drift_row[i]; k < n->drift_row[i + 1]; ++k) {
        if (n->drifts[n->drift_of[k]].has_counts) {
            saltus_thinned_drift(p, d, n->drift_of[k]);
        }
    }
    return saltus_interval_run(n->bound_code, n->bounds[i], d->intervals, p->v);
}

/* Bound the law of thinned reaction i in the window. Returns SALTUS_NO_BOUND where it has no finite
 * bound, which is no failure yet. A law that is negative throughout is one. */
SALTUS_FN saltus_failure saltus_thinned_bound(saltus_trajectory *p, saltus_direct *d, int i)
{
    const saltus_tables *n = p->n;
    saltus_interval s = saltus_thinned_interval(p, d, i);
    if (SALTUS_RARE(!(s.hi >= 0.0 && s.hi < SALTUS_INFINITY)) &&
        saltus_direct_idles(p, n->thinned[i])) {
        s = saltus_interval_of(0.0, 0.0); /* as saltus_direct_set has it */
    }
    if (SALTUS_RARE(!(s.hi < SALTUS_INFINITY))) {
        p->culprit = n->thinned[i];
        return SALTUS_NO_BOUND;
    }
    if (SALTUS_RARE(s.hi < 0.0)) {
        return saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, n->thinned[i],
                                      saltus_thinned_law(p, i, p->t));
    }
    d->values[SALTUS_AT(n->thinned[i])] = s.hi + 0.0; /* -0 becomes 0 */
    d->lower[SALTUS_AT(i)] = s.lo;
    return SALTUS_FINE;
}

SALTUS_OUTLINE saltus_failure saltus_thinned_bounds(saltus_trajectory *p, saltus_direct *d)
{
    saltus_thinned_drifts(p, d);
    for (int i = 0; i < p->n->n_thinned; ++i) {
        const saltus_failure failure = saltus_thinned_bound(p, d, i);
        if (failure != SALTUS_FINE) {
            return failure;
        }
    }
    return SALTUS_FINE;
}

/* Laws where the window begins, or within it the run ends: one that is no propensity there need not
 * be met by a candidate, nor be found by its bound. One whose interval has nothing below 0 is a
 * propensity throughout. */
SALTUS_OUTLINE saltus_failure saltus_thinned_check(saltus_trajectory *p, const saltus_direct *d,
                                                   double time)
{
    for (int i = 0; i < p->n->n_thinned; ++i) {
        const int r = p->n->thinned[i];
        if (d->lower[SALTUS_AT(i)] >= 0.0) {
            continue;
        }
        const double a = saltus_thinned_law(p, i, time);
        if (SALTUS_RARE(saltus_is_no_propensity(a, d->values[SALTUS_AT(r)])) &&
            !saltus_direct_idles(p, r)) {
            p->t = time;
            return saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, r, a);
        }
    }
    return SALTUS_FINE;
}

/* A law has no bound, however short the window: it may be no propensity already. */
SALTUS_FN saltus_failure saltus_thinned_give_up(saltus_trajectory *p)
{
    const int r = p->culprit;
    const double a = saltus_thinned_law(p, p->n->thinned_of[r], p->t);
    return saltus_trajectory_fail(
        p, a >= 0.0 && a < SALTUS_INFINITY ? SALTUS_NO_BOUND : SALTUS_BAD_PROPENSITY, r, a);
}

/* Begin a window at the present time, the longest in which all laws are bounded, without the sums
 * above them. */
SALTUS_OUTLINE saltus_failure saltus_thinned_open(saltus_trajectory *p, saltus_direct *d)
{
    double length = p->window;
    p->window_start = p->t;
    p->window_missed = 0;
    for (int halvings = 0;; ++halvings) {
        const double end = p->t + length;
        p->window_end = end < p->special ? end : p->special;
        const saltus_failure failure = saltus_thinned_bounds(p, d);
        if (failure != SALTUS_NO_BOUND) {
            return failure == SALTUS_FINE ? saltus_thinned_check(p, d, p->t) : failure;
        }
        const double whole = p->window_end - p->t;
        length = 0.5 * (whole < length ? whole : length);
        if (halvings >= SALTUS_WINDOW_HALVINGS || !(p->t + length > p->t)) {
            return saltus_thinned_give_up(p);
        }
        p->window = length;
    }
}

/* Begin a window, and compute the sums above its bounds. */
SALTUS_OUTLINE saltus_failure saltus_thinned_renew(saltus_trajectory *p, saltus_direct *d)
{
    if (saltus_thinned_open(p, d) != SALTUS_FINE) {
        return p->failure;
    }
    for (int i = 0; i < p->n->n_thinned_nodes; ++i) {
        saltus_tree_sum(p->n, d, p->n->thinned_node[i]);
    }
    return SALTUS_FINE;
}

/** Compute every propensity, every bound and every sum, for a window that begins now, or for the
 * present one. */
SALTUS_OUTLINE saltus_failure saltus_thinned_rebuild(saltus_trajectory *p, saltus_direct *d,
                                                     int is_new)
{
    const saltus_tables *n = p->n;
    for (int r = 0; r < n->n_reactions; ++r) {
        if (n->thinned_of[r] < 0 && saltus_direct_update(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
    }
    const saltus_failure failure = is_new ? saltus_thinned_open(p, d) : saltus_thinned_bounds(p, d);
    if (failure != SALTUS_FINE) {
        return failure == SALTUS_NO_BOUND
                   ? saltus_trajectory_fail(p, SALTUS_NO_BOUND, p->culprit, 0.0)
                   : failure;
    }
    for (int level = 0; level < n->n_levels; ++level) {
        for (int i = 0; i < n->level_nodes[level]; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + i);
        }
    }
    return SALTUS_FINE;
}

/* Recompute what reaction r has changed. Where a law is no longer bounded in the window, a shorter
 * one begins. */
SALTUS_FN saltus_failure saltus_thinned_follow(saltus_trajectory *p, saltus_direct *d, int r)
{
    const saltus_tables *n = p->n;
    saltus_failure bounded = SALTUS_FINE;
    saltus_direct_run_rules(p, r); /* where laws drift, lists are by reaction */
    saltus_direct_follow_pairs(p, d, r);
    for (int i = n->dependent_other[r]; i < n->dependent_row[r + 1]; ++i) {
        const int thinned = n->thinned_of[n->dependent[i]];
        const saltus_failure failure = thinned >= 0 ? saltus_thinned_bound(p, d, thinned)
                                                    : saltus_direct_update(p, d, n->dependent[i]);
        bounded = failure == SALTUS_NO_BOUND ? failure : bounded;
        if (SALTUS_RARE(failure != SALTUS_FINE && failure != SALTUS_NO_BOUND)) {
            return p->failure;
        }
    }
    if (SALTUS_RARE(bounded != SALTUS_FINE) && saltus_thinned_open(p, d) != SALTUS_FINE) {
        return p->failure;
    }
    saltus_direct_follow_nodes(n, d, r);
    if (SALTUS_RARE(bounded != SALTUS_FINE)) {
        for (int i = 0; i < n->n_thinned_nodes; ++i) {
            saltus_tree_sum(n, d, n->thinned_node[i]);
        }
    }
    return SALTUS_FINE;
}

/* The place of a candidate in the interval of the reaction that it has chosen. */
typedef struct saltus_candidate {
    int r;
    double low, high; /* it is between these */
    double a;         /* up to here the reaction fires */
} saltus_candidate;

/* Find the reaction of a candidate at time `t`, and its law there. */
SALTUS_FN saltus_failure saltus_thinned_find(saltus_trajectory *p, const saltus_direct *d,
                                             const saltus_tree *tree, double t, saltus_candidate *c,
                                             int *near)
{
    c->r = saltus_tree_descend(tree, &c->low, &c->high, near);
    const int i = p->n->thinned_of[c->r];
    c->a = SALTUS_INFINITY;
    if (i >= 0) {
        const double bound = d->values[SALTUS_AT(c->r)], lower = d->lower[SALTUS_AT(i)];
        if (c->low < lower && c->high <= lower) { /* the law need not be known more closely */
            return SALTUS_FINE;
        }
        c->a = saltus_thinned_law(p, i, t);
        if (SALTUS_RARE(!(c->a >= 0.0 && c->a <= bound))) {
            if (!(c->a >= 0.0) && saltus_direct_idles(p, c->r)) {
                c->a = 0.0;
                return SALTUS_FINE;
            }
            p->t = t;
            return saltus_trajectory_fail(
                p,
                c->a >= 0.0 && c->a < SALTUS_INFINITY ? SALTUS_ABOVE_BOUND : SALTUS_BAD_PROPENSITY,
                c->r, c->a);
        }
        *near |= c->low < c->a && c->a < c->high;
    }
    return SALTUS_FINE;
}

/** The reaction that the candidate of event number `event` at time `t` lets fire, -1: none does. */
SALTUS_FN saltus_failure saltus_thinned_choose(saltus_trajectory *p, const saltus_direct *d,
                                               const saltus_tree *tree, double total, double word,
                                               uint64_t event, double t, int *chosen)
{
    const double unit = total * SALTUS_TWO_M32;
    saltus_candidate c = {0, word * unit, word * unit + unit, 0.0};
    int near = 0;
    if (saltus_thinned_find(p, d, tree, t, &c, &near) != SALTUS_FINE) {
        return p->failure;
    }
    if (SALTUS_RARE(near)) {
        c.low = saltus_choice_refined(total, word, p->seed, p->trajectory, event);
        c.high = 0.0;
        if (saltus_thinned_find(p, d, tree, t, &c, &near) != SALTUS_FINE) {
            return p->failure;
        }
    }
    *chosen = c.low < c.a ? c.r : -1;
    return SALTUS_FINE;
}

/* Pass samples and special times up to `stop`, where a candidate is or the window ends. Returns 1
 * at `stop`, 0 if a new window has begun, -1 if the trajectory is finished or has failed. */
SALTUS_FN int saltus_thinned_pass(saltus_trajectory *p, saltus_direct *d, double stop,
                                  int is_candidate, const double *times, int64_t n_times,
                                  int64_t *counts, double *observables)
{
    for (;;) {
        const double next = times[p->sample];
        const double first = next < stop ? next : stop;
        /* What changes just after the window's end comes before the next window. */
        const int ends = !is_candidate && next > stop && p->special <= stop;
        if (saltus_trajectory_special_first(p, first) || ends) {
            if (saltus_trajectory_pass_special(p) != SALTUS_FINE ||
                saltus_thinned_rebuild(p, d, 1) != SALTUS_FINE) {
                return -1;
            }
            return 0;
        }
        if (next > stop) {
            return 1;
        }
        if (SALTUS_RARE(p->sample + 1 == n_times) &&
            saltus_thinned_check(p, d, next) != SALTUS_FINE) {
            return -1;
        }
        saltus_trajectory_record(p, next, counts, observables);
        if (p->sample == n_times) {
            return -1;
        }
    }
}

/* Go to the window's end and begin the next, twice as long where no candidate was missed. The wait
 * was void, and so is its event number. */
SALTUS_FN saltus_failure saltus_thinned_end(saltus_trajectory *p, saltus_direct *d)
{
    p->window *= p->window_missed == 0 ? 2.0 : 1.0;
    p->t = p->window_end;
    p->after = 0;
    ++p->event;
    return saltus_thinned_renew(p, d);
}

/* A candidate at time t has not fired. */
SALTUS_FN saltus_failure saltus_thinned_miss(saltus_trajectory *p, saltus_direct *d, double t)
{
    p->t = t;
    p->after = 0;
    ++p->event;
    if (++p->window_missed < SALTUS_WINDOW_MISSES) {
        return SALTUS_FINE;
    }
    p->window *= 0.5;
    return saltus_thinned_renew(p, d);
}

/* Let reaction r fire at time t. */
SALTUS_FN saltus_failure saltus_thinned_take(saltus_trajectory *p, saltus_direct *d, int r,
                                             double t)
{
    p->t = t;
#if !SALTUS_DEVICE
    if (SALTUS_RARE(p->n->n_delayed > 0) && saltus_delayed_begin(p, r, t) != SALTUS_FINE) {
        return p->failure;
    }
#endif
    if (saltus_direct_fire(p, r) != SALTUS_FINE) {
        return p->failure;
    }
    p->after = 0;
    ++p->event;
    ++p->fired;
    if (saltus_thinned_follow(p, d, r) != SALTUS_FINE) {
        return p->failure;
    }
    if (p->n->watches_state && saltus_trajectory_triggers(p)) {
        if (saltus_trajectory_settle(p) != SALTUS_FINE ||
            saltus_thinned_rebuild(p, d, 1) != SALTUS_FINE) {
            return p->failure;
        }
    }
    return SALTUS_FINE;
}

/**
 * saltus_direct_run for a model with laws that drift with time. p->limit is in event numbers, those
 * of candidates that did not fire included.
 */
SALTUS_OUTLINE saltus_failure saltus_thinned_run(saltus_trajectory *p, saltus_direct *d,
                                                 const double *times, int64_t n_times,
                                                 const int *stop, int64_t *counts,
                                                 double *observables)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    const double *root = d->values + SALTUS_AT(n->n_leaves + n->level_first[n->n_levels - 1]);
    d->draws.valid = 0;
    saltus_trajectory_refresh(p);
    if (saltus_thinned_rebuild(p, d, p->window_end < 0.0) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        saltus_proposal next;
        if (saltus_direct_propose(p, d, *root, p->event, stop, &next) != SALTUS_FINE) {
            return p->failure;
        }
        const int is_candidate = next.time < p->window_end;
        const double until = is_candidate ? next.time : p->window_end;
        if (!(until < times[p->sample]) || !(until < p->special)) {
            const int go =
                saltus_thinned_pass(p, d, until, is_candidate, times, n_times, counts, observables);
            if (go < 0) {
                return p->failure;
            }
            if (go == 0) {
                continue;
            }
        }
        int r = -1;
        if (!is_candidate) {
            if (saltus_thinned_end(p, d) != SALTUS_FINE) {
                return p->failure;
            }
            continue;
        }
        if (saltus_thinned_choose(p, d, &tree, next.total, next.word, p->event, next.time, &r) !=
            SALTUS_FINE) {
            return p->failure;
        }
        const saltus_failure failure =
            r < 0 ? saltus_thinned_miss(p, d, next.time) : saltus_thinned_take(p, d, r, next.time);
        if (failure != SALTUS_FINE) {
            return p->failure;
        }
    }
}

#endif
