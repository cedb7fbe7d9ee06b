/**
 * The course of a trajectory by method hybrid: what flows and the hazard of all events are
 * integrated together, as run.h does it with rate rules; each step ends with a kick, the noise of
 * what has flowed (noise.h), and with a look at the split (split.h). Where nothing moves, events
 * follow one another as by the direct method, bit for bit.
 */
#ifndef SALTUS_KERNEL_ODE_HYBRID_H
#define SALTUS_KERNEL_ODE_HYBRID_H

#include "kernel/ode/noise.h"
#include "kernel/ode/run.h"

/* All sums. */
SALTUS_FN void saltus_hybrid_sums(const saltus_tables *n, saltus_direct *d)
{
    for (int level = 0; level < n->n_levels; ++level) {
        for (int i = 0; i < n->level_nodes[level]; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + i);
        }
    }
}

/* The leaves of laws that move count 0 between events. */
SALTUS_FN void saltus_hybrid_hide(const saltus_hybrid *h, const saltus_tables *n, saltus_direct *d)
{
    for (int i = 0; i < h->n_moving; ++i) {
        d->values[h->moving[i]] = 0.0;
    }
    saltus_hybrid_sums(n, d);
}

/* Whether a reaction lacks reactants that are whole, so that it would do nothing. Its hazard is 0
 * then: what many molecules make is soon used up, and their number of events that do nothing would
 * follow. A trajectory in which nothing has flowed has such events, as by the direct method. */
SALTUS_FN int saltus_hybrid_lacks(const saltus_trajectory *p, const saltus_hybrid *h, int r)
{
    const saltus_tables *n = p->n;
    for (int c = n->change_row[r]; c < n->change_row[r + 1] && h->kicks > 0; ++c) {
        const int s = n->change_species[c];
        if (h->component[s] < 0 && p->x[s] < -n->change_amount[c]) {
            return 1;
        }
    }
    return 0;
}

/* After counts have changed: find what lacks reactants now, and what does no more, whose leaves
 * follow. Returns whether there are any, or -1 when the trajectory has failed. */
SALTUS_OUTLINE int saltus_hybrid_follow_lacks(saltus_trajectory *p, saltus_direct *d,
                                              saltus_hybrid *h)
{
    int changed = 0;
    for (int i = 0; i < h->n_may_lack; ++i) {
        const int r = h->may_lack[i], lacks = saltus_hybrid_lacks(p, h, r);
        if (lacks == h->lacks[r]) {
            continue;
        }
        changed = 1;
        h->lacks[r] = (uint8_t)lacks;
        d->values[r] = 0.0;
        if (!lacks && h->kind[r] == SALTUS_LAW_STILL &&
            saltus_direct_update(p, d, r) != SALTUS_FINE) {
            return -1;
        }
    }
    return changed;
}

/* Compute the leaves of laws that stand still, and all sums. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_rebuild(saltus_trajectory *p, saltus_direct *d,
                                                    saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    if (saltus_hybrid_follow_lacks(p, d, h) < 0) {
        return p->failure;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        d->values[r] = 0.0;
        if (h->kind[r] == SALTUS_LAW_STILL && !h->lacks[r] &&
            saltus_direct_update(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
    }
    saltus_hybrid_sums(n, d);
    return SALTUS_FINE;
}

/* Go on with another split. */
SALTUS_FN saltus_failure saltus_hybrid_begin(saltus_trajectory *p, saltus_direct *d, saltus_ode *o)
{
    saltus_split_make(p, o->hybrid);
    o->n = o->hybrid->n_real + p->n->n_rates + 1;
    return saltus_hybrid_rebuild(p, d, o->hybrid);
}

/* What has stopped to flow is whole from then on. What flows on is given what rounding has taken of
 * it, which else would be noise, as often as something stops. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_stop(saltus_trajectory *p, saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    if (saltus_split_round(p, h, 0) != SALTUS_FINE) {
        return p->failure;
    }
    saltus_split_put_whole(p, h);
    for (int b = 0; b < h->n_basis; ++b) {
        const int r = h->basis[b], flows = h->flows[r] == SALTUS_FLOWS;
        for (int c = n->change_row[r]; c < n->change_row[r + 1] && flows; ++c) {
            p->v[n->change_species[c]] += h->extent[b] * (double)n->change_amount[c];
        }
    }
    saltus_trajectory_run_live_rules(p);
    return SALTUS_FINE;
}

/* Choose the split by the rows: saltus_split_check, after a look at what triggers are near. */
SALTUS_FN int saltus_hybrid_check(saltus_trajectory *p, saltus_hybrid *h)
{
    if (p->n->n_wavering > 0) {
        saltus_near_find(p, h);
    }
    return saltus_split_check(p, h);
}

/* Look whether the split is still right. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_look(saltus_trajectory *p, saltus_direct *d,
                                                 saltus_ode *o)
{
    saltus_hybrid *h = o->hybrid;
    const int changed = saltus_hybrid_check(p, h);
    if (changed) {
        saltus_split_merge(p, h);
        saltus_trajectory_run_live_rules(p);
    }
    if ((changed & 2) && saltus_hybrid_stop(p, h) != SALTUS_FINE) {
        return p->failure;
    }
    return changed ? saltus_hybrid_begin(p, d, o) : SALTUS_FINE;
}

/* Do what is due by itself, or what a trigger asks for. Events read and set whole counts: those for
 * which the trigger has turned. What was rounded then flows on: else each event, and each end of a
 * reaction that takes a while, would add the noise of a rounding, and many of them to the nearest
 * would stop what flows slowly. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_settle(saltus_trajectory *p, saltus_direct *d,
                                                   saltus_ode *o, int is_special)
{
    saltus_hybrid *h = o->hybrid;
    int draws = 0;
    saltus_split_merge(p, h);
    if (saltus_split_round(p, h, 1) != SALTUS_FINE) {
        return p->failure;
    }
    p->t = is_special ? p->special : p->t;
    if (saltus_delayed_end(p) != SALTUS_FINE) { /* before events, which may set what these make */
        return p->failure;
    }
    for (int j = 0; j < h->n_real; ++j) {
        h->kept[j] = p->x[h->real[j]];
    }
    if ((is_special ? saltus_trajectory_pass_special(p) : saltus_trajectory_settle(p)) !=
        SALTUS_FINE) {
        return p->failure;
    }
    (void)saltus_hybrid_check(p, h);
    for (int b = 0; b < h->n_basis; ++b) {
        draws |= saltus_split_give_back(p, h, b);
    }
    h->kicks += (uint64_t)draws;
    if (h->n_basis > 0) {
        saltus_trajectory_run_live_rules(p);
    }
    return saltus_hybrid_begin(p, d, o);
}

/* Record a sample of the state in the trajectory's rows, with counts to the nearest whole ones. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_record(saltus_trajectory *p, saltus_hybrid *h,
                                                   double time, int64_t *counts,
                                                   double *observables)
{
    const saltus_columns *columns = p->columns;
    const int64_t sample = p->sample;
    if (saltus_split_put_nearest(p, h) != SALTUS_FINE) {
        return p->failure;
    }
    saltus_trajectory_record(p, time, counts, observables);
    for (int c = 0; c < columns->n_counts; ++c) {
        counts[sample * columns->n_counts + c] = (int64_t)p->v[columns->count_species[c]];
    }
    return SALTUS_FINE;
}

/* Do what is due at the present time: samples, clocks, pending events. Returns -1 when the
 * trajectory has ended or failed. */
SALTUS_OUTLINE int saltus_hybrid_due(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                     const double *times, int64_t n_times, int64_t *counts,
                                     double *observables)
{
    for (;;) {
        const int is_sample = times[p->sample] <= p->t;
        if (p->special <= p->t && (!p->special_strict || !is_sample)) {
            if (saltus_hybrid_settle(p, d, o, 1) != SALTUS_FINE) {
                return -1;
            }
            p->carried.hazard = 0.0; /* the next variate is a new one */
        } else if (is_sample) {
            saltus_ode_take(p, o);
            for (int i = 0; i < o->n; ++i) {
                o->w[i] = o->y[i] + (i < o->n - 1 ? o->hybrid->deviation[i] : 0.0);
            }
            saltus_ode_place(p, o, p->t, o->w);
            if (saltus_hybrid_record(p, o->hybrid, times[p->sample], counts, observables) !=
                    SALTUS_FINE ||
                p->sample == n_times) {
                return -1;
            }
            saltus_ode_place(p, o, p->t, o->y);
        } else {
            return 0;
        }
    }
}

/* Take the first changes of an event, up to number c, back. */
SALTUS_OUTLINE void saltus_hybrid_undo(saltus_trajectory *p, const saltus_hybrid *h, int r, int c)
{
    const saltus_tables *n = p->n;
    while (--c >= n->change_row[r]) {
        const int s = n->change_species[c];
        p->x[s] -= n->change_amount[c];
        p->v[s] = h->component[s] >= 0 ? p->v[s] - (double)n->change_amount[c] : (double)p->x[s];
    }
}

/* Whether there is less of a real count than a firing takes of it. Whole counts have no such state,
 * so the law may say anything there. */
SALTUS_FN int saltus_hybrid_is_short(const saltus_trajectory *p, const saltus_hybrid *h, int r)
{
    const saltus_tables *n = p->n;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int s = n->change_species[c];
        if (h->component[s] >= 0 && p->v[s] < -(double)n->change_amount[c]) {
            return 1;
        }
    }
    return 0;
}

/* Whether a reaction that takes more than there is of a species does nothing: in a model that says
 * so, and where the count is real and the law is 0 at the whole one below, which is too few.
 * Between these it is not: that of 6 A -> B at 5.6 of A. */
SALTUS_OUTLINE int saltus_hybrid_idles(saltus_trajectory *p, const saltus_hybrid *h, int r, int s)
{
    const saltus_tables *n = p->n;
    if (n->idles || h->component[s] < 0 || (n->n_delayed > 0 && n->delayed_of[r] >= 0)) {
        return n->idles;
    }
    const double value = p->v[s];
    p->v[s] = saltus_floor(value);
    saltus_trajectory_run_live_rules(p);
    const double a = saltus_propensity(p, r);
    p->v[s] = value;
    saltus_trajectory_run_live_rules(p);
    return !(a > 0.0);
}

/* Change the counts by an event. */
SALTUS_FN saltus_failure saltus_hybrid_change(saltus_trajectory *p, const saltus_hybrid *h, int r)
{
    const saltus_tables *n = p->n;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int s = n->change_species[c], is_real = h->component[s] >= 0;
        int64_t x;
        const int overflow = saltus_add_overflows(p->x[s], n->change_amount[c], &x);
        const double value = is_real ? p->v[s] + (double)n->change_amount[c] : (double)x;
        if (SALTUS_RARE(overflow || value < 0.0)) {
            saltus_hybrid_undo(p, h, r, c);
            if (!overflow && saltus_hybrid_idles(p, h, r, s)) {
                --p->fired; /* the caller counts */
                return SALTUS_FINE;
            }
            return saltus_trajectory_fail(
                p, overflow ? SALTUS_COUNT_OVERFLOW : SALTUS_NEGATIVE_COUNT, r, 0.0);
        }
        p->x[s] = x;
        p->v[s] = value;
    }
    return SALTUS_FINE;
}

/* Choose an event by the propensities of the present time, and let it happen. Returns its reaction,
 * -1 when the hazard has just become 0, or -2 when the trajectory has failed. */
SALTUS_OUTLINE int saltus_hybrid_fire(saltus_trajectory *p, saltus_direct *d, saltus_hybrid *h,
                                      double word)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    const uint64_t event = p->event++;
    for (int i = 0; i < h->n_moving; ++i) {
        const double a = h->lacks[h->moving[i]] ? 0.0 : saltus_propensity(p, h->moving[i]);
        d->values[h->moving[i]] = a >= 0.0 ? a : 0.0;
        if (SALTUS_RARE(a != a) && !saltus_direct_idles(p, h->moving[i])) {
            (void)saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, h->moving[i], a);
            return -2;
        }
    }
    if (h->n_moving > 0) {
        saltus_hybrid_sums(n, d);
    }
    const double total = saltus_ode_total(p, d);
    if (SALTUS_RARE(!(total < SALTUS_INFINITY))) {
        (void)saltus_trajectory_fail(p, SALTUS_BAD_TOTAL, 0, total);
        return -2;
    }
    const int r =
        total > 0.0 ? saltus_tree_choose(&tree, total, word, p->seed, p->trajectory, event) : -1;
    int lacks = 0;
    if (r >= 0) {
        if ((n->n_delayed > 0 && saltus_delayed_begin(p, r, p->t) != SALTUS_FINE) ||
            saltus_hybrid_change(p, h, r) != SALTUS_FINE) {
            return -2;
        }
        ++p->fired;
        saltus_direct_follow_rules(p, r);
        lacks = saltus_hybrid_follow_lacks(p, d, h);
        if (lacks < 0) {
            return -2;
        }
        for (int l = saltus_first_list(n, r); l < saltus_end_of_lists(n, r); ++l) {
            const int list = saltus_list_at(n, l);
            for (int i = n->dependent_row[list]; i < n->dependent_row[list + 1]; ++i) {
                if (h->kind[n->dependent[i]] == SALTUS_LAW_STILL && !h->lacks[n->dependent[i]] &&
                    saltus_direct_update(p, d, n->dependent[i]) != SALTUS_FINE) {
                    return -2;
                }
            }
        }
    }
    if (h->n_moving > 0) {
        saltus_hybrid_hide(h, n, d);
    } else if (lacks) {
        saltus_hybrid_sums(n, d);
    } else if (r >= 0) {
        saltus_direct_follow_sums(n, d, r);
    }
    return r;
}

/* Whether some trigger turns at the present time; 2 when the trajectory has failed. */
SALTUS_OUTLINE int saltus_hybrid_triggers(saltus_trajectory *p, saltus_ode *o)
{
    if (o->hybrid->n_real == 0) {
        return saltus_trajectory_triggers(p);
    }
    saltus_ode_take(p, o);
    if (saltus_split_put_nearest(p, o->hybrid) != SALTUS_FINE) {
        return 2;
    }
    saltus_trajectory_run_live_rules(p);
    const int turns = saltus_trajectory_triggers(p);
    saltus_ode_place(p, o, p->t, o->y);
    return turns;
}

/* After something changed at the present time: triggers, then the split. */
SALTUS_FN saltus_failure saltus_hybrid_follow(saltus_trajectory *p, saltus_direct *d, saltus_ode *o)
{
    const uint64_t kicks = o->hybrid->kicks;
    int turns = p->n->watches_state ? saltus_hybrid_triggers(p, o) : 0;
    if (!turns) {
        if (saltus_hybrid_look(p, d, o) != SALTUS_FINE) {
            return p->failure;
        }
        /* what stops to flow is rounded, maybe across a threshold */
        turns = p->n->watches_state && o->hybrid->kicks != kicks ? saltus_hybrid_triggers(p, o) : 0;
    }
    return turns == 2 ? p->failure : turns ? saltus_hybrid_settle(p, d, o, 0) : SALTUS_FINE;
}

/* Go to the next event where nothing moves: as saltus_direct_run does. Returns -1 when the
 * trajectory has ended or failed. */
SALTUS_OUTLINE int saltus_hybrid_jump(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                      const double *times, int64_t n_times, int64_t *counts,
                                      double *observables)
{
    const saltus_tables *n = p->n;
    saltus_hybrid *h = o->hybrid;
    double word;
    const double wait = saltus_ode_target(p, d, &word), total = saltus_ode_total(p, d);
    const double t_next = p->t + wait / total;
    p->carried.hazard = 0.0;
    while (!(t_next < times[p->sample]) || !(t_next < p->special)) {
        const double next = times[p->sample];
        if (saltus_trajectory_special_first(p, next < t_next ? next : t_next)) {
            return saltus_hybrid_settle(p, d, o, 1) == SALTUS_FINE ? 0 : -1;
        }
        if (next > t_next) {
            break;
        }
        saltus_trajectory_record(p, next, counts, observables);
        if (p->sample == n_times) {
            return -1;
        }
    }
    p->t = t_next;
    p->after = 0;
    const int r = saltus_hybrid_fire(p, d, h, word);
    if (r < 0) {
        return r == -1 ? 0 : -1;
    }
    int may_flow = 0;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        may_flow |= p->v[n->change_species[c]] >= h->least;
    }
    if (may_flow || n->watches_state) {
        return saltus_hybrid_follow(p, d, o) == SALTUS_FINE ? 0 : -1;
    }
    return 0;
}

/* Where on the step's mean path a count falls below what reactions need to flow, the step ends. */
SALTUS_OUTLINE void saltus_hybrid_cut(saltus_ode *o)
{
    const saltus_hybrid *h = o->hybrid;
    double slope;
    for (int j = 0; j < h->n_real; ++j) {
        double low = 0.0, high = o->theta;
        if (!(saltus_ode_at(o, j, high, &slope) < h->floor[j])) {
            continue;
        }
        for (int k = 0; k < 30; ++k) {
            const double middle = 0.5 * (low + high);
            if (saltus_ode_at(o, j, middle, &slope) < h->floor[j]) {
                high = middle;
            } else {
                low = middle;
            }
        }
        o->fires = o->turns = 0;
        o->theta = high;
    }
}

/* Go to `time`, where the step ends, or the run, and look for propensities that are below 0 there;
 * those of stages may be anywhere. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_reach(saltus_trajectory *p, saltus_ode *o, double time)
{
    const saltus_hybrid *h = o->hybrid;
    for (int i = 0; i < h->n_flowing + h->n_moving && !h->has_factors; ++i) {
        const int r = saltus_split_law(h, i);
        const double a = p->n->law_program[r] < 0 ? 0.0 : saltus_propensity(p, r);
        if (SALTUS_RARE(a < 0.0) && !saltus_hybrid_is_short(p, h, r)) {
            p->carried.below -= a * (time - p->t);
            o->lowest = r;
        }
    }
    p->t = time;
    return saltus_ode_limit_below(p, o);
}

/* Record the samples before the step's end. Returns 1 when they are the last, or one fails. */
SALTUS_OUTLINE int saltus_hybrid_samples(saltus_trajectory *p, saltus_ode *o, const double *kick,
                                         double *deviation, double end, const double *times,
                                         int64_t n_times, int64_t *counts, double *observables)
{
    saltus_hybrid *h = o->hybrid;
    const int m = saltus_noise_size(p, o);
    saltus_noise_path path;
    path.depth = -1;
    while (times[p->sample] < end) {
        const double time = times[p->sample], share = (time - p->t) / o->size;
        const double theta = share < o->theta ? share : o->theta;
        if (h->n_real > 0) {
            saltus_noise_within(p, o, o->theta, kick, theta, &path, deviation);
        }
        saltus_ode_dense_state(o, theta);
        for (int i = 0; i < m && h->n_real > 0; ++i) {
            o->w[i] += deviation[i];
        }
        saltus_ode_place(p, o, time, o->w);
        const int is_last = p->sample + 1 == n_times;
        if (is_last && saltus_hybrid_reach(p, o, time) != SALTUS_FINE) {
            return 1;
        }
        if (saltus_hybrid_record(p, h, time, counts, observables) != SALTUS_FINE || is_last) {
            return 1;
        }
    }
    return 0;
}

/* Go to the end of the step that was taken, and do what ends it. Returns -1 when the trajectory has
 * ended or failed. */
SALTUS_OUTLINE int saltus_hybrid_land(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                      const double *times, int64_t n_times, int64_t *counts,
                                      double *observables)
{
    saltus_hybrid *h = o->hybrid;
    const int m = saltus_noise_size(p, o);
    double *kick = h->vector + (int64_t)4 * m, *deviation = kick + m;
    saltus_hybrid_cut(o);
    const int is_kicked = saltus_noise_kick(p, o, kick);
    const int has_samples = is_kicked && times[p->sample] < p->t + o->theta * o->size;
    double end = p->t + o->theta * o->size;
    if (!(end < p->special) ||
        (o->theta == 1.0 && !o->fires && !o->turns && !(o->size < p->special - p->t))) {
        end = p->special;
    }
    if (saltus_hybrid_samples(p, o, kick, deviation, end, times, n_times, counts, observables)) {
        return -1;
    }
    const int is_first = is_kicked && h->kicks == 0;
    h->kicks += (uint64_t)is_kicked;
    saltus_ode_carry_turn(p, o, end);
    if (has_samples) {
        saltus_noise_jacobian(p, o, 0.5 * o->theta);
    }
    saltus_ode_dense_state(o, o->theta);
    if (is_kicked) {
        saltus_noise_settle(p, o, o->theta * o->size, kick);
    }
    for (int i = 0; i < m; ++i) {
        h->deviation[i] = kick[i];
        if (SALTUS_RARE(i < h->n_real && !(o->w[i] >= 0.0))) {
            (void)saltus_trajectory_fail(p, SALTUS_NO_STEP, i, o->w[i]);
            return -1;
        }
    }
    p->carried.hazard = o->fires ? 0.0 : o->w[o->n - 1];
    p->after = 0;
    saltus_ode_place(p, o, end, o->w);
    if (saltus_hybrid_reach(p, o, end) != SALTUS_FINE) {
        return -1;
    }
    if (p->carried.n_stalled > SALTUS_MAX_CASCADE) {
        (void)saltus_trajectory_fail(p, SALTUS_EVENT_STORM, 0, 0.0);
        return -1;
    }
    if (o->turns) {
        return saltus_hybrid_settle(p, d, o, 0) == SALTUS_FINE ? 0 : -1;
    }
    if (o->fires && saltus_hybrid_fire(p, d, h, o->word) == -2) {
        return -1;
    }
    if (is_first && saltus_hybrid_rebuild(p, d, h) != SALTUS_FINE) { /* what lacks reactants */
        return -1;
    }
    return saltus_hybrid_follow(p, d, o) == SALTUS_FINE ? 0 : -1;
}

/** Take a trajectory from where it is to its end, or to about p->limit steps; the arguments are
 * those of saltus_ode_run. Real counts are in the trajectory's rows. */
SALTUS_OUTLINE saltus_failure saltus_hybrid_run(saltus_trajectory *p, saltus_direct *d,
                                                saltus_ode *o, const double *times, int64_t n_times,
                                                const int *stop, int64_t *counts,
                                                double *observables)
{
    const saltus_hybrid *h = o->hybrid;
    saltus_ode_forget(p, d, o);
    o->is_fresh = 0;
    if (p->block == 0) {
        (void)saltus_hybrid_check(p, o->hybrid);
    }
    p->v[p->n->row_time] = p->t;
    saltus_trajectory_run_live_rules(p);
    if (saltus_hybrid_begin(p, d, o) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        int went;
        if (h->n_real == 0 && h->n_moving == 0 && p->n->n_rates == 0) {
            went = saltus_hybrid_jump(p, d, o, times, n_times, counts, observables);
        } else {
            went = saltus_hybrid_due(p, d, o, times, n_times, counts, observables);
            went = went < 0 ? went : saltus_ode_step(p, d, o, times);
            went =
                went < 0 ? went : saltus_hybrid_land(p, d, o, times, n_times, counts, observables);
        }
        if (went < 0 || saltus_ode_count_step(p, o, stop) != SALTUS_FINE) {
            return p->failure;
        }
    }
}

#endif
