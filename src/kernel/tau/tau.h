/**
 * Tau-leaping: all reactions of a short while at once, as many of each as a Poisson variate says
 * (Y. Cao, D. T. Gillespie, L. R. Petzold, J. Chem. Phys. 124 (2006) 044109,
 * doi:10.1063/1.2159468), one trajectory at a time, for every model that the direct method takes.
 * Half of that leads to the middle of the leap, whose propensities then correct how often each
 * fires in it, so that errors of means and variances are of second order in the length of a leap.
 *
 * Of a law that drifts with time a leap takes the mean over its own time, by Simpson's rule. Leaps
 * end where windows do, in which such laws change by a small share of themselves, as their
 * intervals tell (ssa/thinned.h). Between leaps such laws are thinned, as the direct method does
 * it.
 *
 * A leap ends at sample times and at times at which something happens by itself, so that counts are
 * those of a state the trajectory was in. Species that a reaction leaves as many as it takes
 * bound the step like other reactants: bounds are found from reactants, not from changes.
 *
 * Random words come in blocks of four, one after the other: a block for an exact step (wait,
 * choice), for when and which critical reaction fires, for every attempt at a variate or both
 * halves of a small one, and for the corrections of every four reactions. So any generator of
 * stream.h will do; Philox counts under a purpose of its own.
 */
#ifndef SALTUS_KERNEL_TAU_TAU_H
#define SALTUS_KERNEL_TAU_TAU_H

#include "kernel/tau/leap.h"

/* Compute every propensity and every sum; of laws that drift, where exact steps follow, the bounds
 * of a window that begins now, or of the present one. */
SALTUS_FN saltus_failure saltus_leap_rebuild(saltus_trajectory *p, saltus_direct *d, int is_new)
{
    (void)is_new;
#if SALTUS_THINNED
    if (p->n->n_thinned > 0) {
        if (p->exact > 0) {
            return saltus_thinned_rebuild(p, d, is_new);
        }
        p->v[SALTUS_AT(p->n->row_time)] = p->t;
        saltus_trajectory_run_live_rules(p);
    }
#endif
    return saltus_direct_rebuild(p, d);
}

/* The same in a new window, after the total of propensities was so much. */
SALTUS_FN saltus_failure saltus_leap_renew(saltus_trajectory *p, saltus_direct *d,
                                           const saltus_leap *l, double total)
{
    (void)l, (void)total;
#if SALTUS_THINNED
    if (p->n->n_thinned > 0 && p->exact <= 0 && saltus_leap_window(p, d, l, total) != SALTUS_FINE) {
        return p->failure;
    }
#endif
    return saltus_leap_rebuild(p, d, 1);
}

/* Take so many exact steps from now on; 0 or less: leaps. */
SALTUS_FN void saltus_leap_turn(saltus_trajectory *p, int32_t exact)
{
    p->exact = exact;
    if (saltus_leap_drifts(p)) {
        p->window_end = p->t; /* a new window begins */
    }
}

/* Let reaction r fire at time t, an exact step. */
SALTUS_FN saltus_failure saltus_leap_step(saltus_trajectory *p, int r, double t)
{
    p->t = t;
    p->after = 0;
    p->exact = (int32_t)saltus_tau_after_step(p->exact);
    ++p->exact_steps;
    ++p->fired;
    return saltus_direct_fire(p, r);
}

#if SALTUS_THINNED
/* What a candidate at time t lets happen: a reaction, or nothing. */
SALTUS_OUTLINE saltus_failure saltus_leap_candidate(saltus_trajectory *p, saltus_direct *d,
                                                    const saltus_tree *tree, double total,
                                                    double word, uint64_t event, double t)
{
    int r = -1;
    if (saltus_thinned_choose(p, d, tree, total, word, event, t, &r) != SALTUS_FINE) {
        return p->failure;
    }
    if (r < 0) {
        p->t = t;
        p->after = 0;
        if (++p->window_missed >= SALTUS_WINDOW_MISSES) {
            p->window *= 0.5;
            p->window_end = t;
        }
        return SALTUS_FINE;
    }
    if (saltus_leap_step(p, r, t) != SALTUS_FINE || saltus_thinned_follow(p, d, r) != SALTUS_FINE) {
        return p->failure;
    }
    if (p->exact <= 0) {
        saltus_leap_turn(p, p->exact);
    }
    return SALTUS_FINE;
}
#endif

/* One reaction, as the direct method has it, or on to `target` if that comes first. */
SALTUS_FN saltus_failure saltus_leap_exact(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                           double total, double target)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    uint32_t w[4];
    saltus_leap_draw(p, d, l, w);
    const double t_next = p->t + saltus_leap_wait(p, w[0]) / total;
    if (!(t_next < target)) { /* exponential waits have no memory: the next is drawn anew */
        p->t = target;
        p->after = 0;
        return SALTUS_FINE;
    }
    const uint64_t event = ((uint64_t)1 << SALTUS_LEAP_WORDS) + p->block;
#if SALTUS_THINNED
    if (n->n_thinned > 0) {
        return saltus_leap_candidate(p, d, &tree, total, (double)w[1], event, t_next);
    }
#endif
    const int r = saltus_tree_choose(&tree, total, (double)w[1], p->seed, p->trajectory, event);
    return saltus_leap_step(p, r, t_next) == SALTUS_FINE ? saltus_direct_follow(p, d, r)
                                                         : p->failure;
}

/* A leap, of `step` at most and to `target` at most. Halved while it is too long, at last to exact
 * steps. */
SALTUS_FN saltus_failure saltus_leap_apply(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                           double step, double total, double critical_total,
                                           double target)
{
    const saltus_tables *n = p->n;
    const double left = target - p->t;
#if SALTUS_THINNED
    saltus_leap_keep_laws(p, d);
#endif
    for (;; step = 0.5 * (step < left ? step : left)) { /* step may be infinite */
        uint32_t w[4];
        double length = step;
        saltus_ending one = {-1, 0, 0.0, 0};
        if (step * total < SALTUS_SHORT_LEAP) {
            saltus_leap_turn(p, l->tau.n_exact);
            return SALTUS_FINE;
        }
#if SALTUS_THINNED
        if (n->n_thinned > 0) {
            if (!saltus_leap_average(p, d, step < left ? step : left)) {
                continue;
            }
            critical_total = saltus_leap_critical(p, d, l);
        }
#endif
        if (critical_total > 0.0) {
            saltus_leap_draw(p, d, l, w);
            const double wait =
                saltus_leap_wait(p, w[0]) / (SALTUS_CRITICAL_MARGIN * critical_total);
            if (wait <= step) {
                length = wait;
                one.r = saltus_leap_choose(p, d, l, saltus_unit53(w[2], w[3]) * critical_total);
                one.word = w[1];
                one.weight = one.r >= 0 ? saltus_leap_weight(n, d, l, one.r) : 0.0;
            }
        }
        double t_next = p->t + length;
        if (!(t_next < target)) {
            t_next = target;
            length = left;
            one.r = -1;
        }
#if SALTUS_THINNED
        if (one.r >= 0 && n->n_thinned > 0 && !saltus_leap_average(p, d, length)) {
            continue;
        }
#endif
        const saltus_attempt attempt = saltus_leap_try(p, d, l, length, &one);
        if (attempt == SALTUS_TOO_LONG) {
            saltus_leap_undo(p);
            continue;
        }
        for (int s = 0; s < n->n_species; ++s) {
            p->x[SALTUS_AT(s)] += l->change[SALTUS_AT(s)];
        }
        p->t = t_next;
        p->after = 0;
        p->fired += (uint64_t)l->fired;
        ++p->leaps;
        saltus_trajectory_refresh(p);
        if (saltus_leap_rebuild(p, d, 0) != SALTUS_FINE) {
            return p->failure;
        }
        p->exact = (int32_t)saltus_tau_after_leap(p->exact, -(l->fired < SALTUS_SHORT_LEAP),
                                                  -(one.r >= 0), -!(t_next < target));
        if (saltus_tau_gives_up(p->exact)) {
            saltus_leap_turn(p, l->tau.n_exact);
        }
        return SALTUS_FINE;
    }
}

/* The sum of all propensities. */
SALTUS_FN double saltus_leap_total(const saltus_trajectory *p, const saltus_direct *d)
{
    const saltus_tables *n = p->n;
    return d->values[SALTUS_AT(n->n_leaves + n->level_first[n->n_levels - 1])] + 0.0; /* no -0 */
}

/* The earlier of the next sample and the next special time. */
SALTUS_FN double saltus_leap_target(const saltus_trajectory *p, const double *times)
{
    return saltus_trajectory_special_first(p, times[p->sample]) ? p->special : times[p->sample];
}

/* One leap, or one exact step, to `target` at most; *renews becomes 1 where an event has followed.
 */
SALTUS_FN saltus_failure saltus_tau_move(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                         double total, double target, int *renews)
{
    const uint64_t before = p->fired;
    if (!(total > 0.0)) {
        p->t = target;
        p->after = 0;
    } else if (p->exact > 0) {
        if (saltus_leap_exact(p, d, l, total, target) != SALTUS_FINE) {
            return p->failure;
        }
    } else {
        double critical_total;
        double step = saltus_leap_bound(p, d, l, &critical_total);
        if (SALTUS_BENDS && p->n->n_bends > 0) {
            step = saltus_leap_unbent(p, d, l, step, total, target - p->t);
            critical_total = saltus_leap_critical(p, d, l);
        }
        if (saltus_leap_apply(p, d, l, step, total, critical_total, target) != SALTUS_FINE) {
            return p->failure;
        }
    }
    *renews =
        SALTUS_EVENTS && p->n->watches_state && p->fired > before && saltus_trajectory_triggers(p);
    return *renews ? saltus_trajectory_settle(p) : SALTUS_FINE;
}

/* Do what is due at the present time, or one leap, or one exact step. Returns -1 when the
 * trajectory has ended, has failed or stops. */
SALTUS_FN int saltus_tau_go(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                            const double *times, int64_t n_times, const int *stop, int64_t *counts,
                            double *observables)
{
    const double total = saltus_leap_total(p, d), sample = times[p->sample];
    double target = saltus_leap_target(p, times);
    const int in_window = saltus_leap_drifts(p) && p->window_end < target;
    int renews = 1;
    target = in_window ? p->window_end : target;
    if (p->t < target) {
        if (p->block >= p->limit || SALTUS_FLAG(stop)) {
            (void)saltus_trajectory_fail(p, SALTUS_STOPPED, 0, 0.0);
            return -1;
        }
        SALTUS_TRAJECTORY_PROGRESS(p);
        if (!(total < SALTUS_INFINITY)) {
            (void)saltus_trajectory_fail(p, SALTUS_BAD_TOTAL, 0, total);
            return -1;
        }
        if (saltus_tau_move(p, d, l, total, target, &renews) != SALTUS_FINE) {
            return -1;
        }
    } else if (in_window) {
#if SALTUS_THINNED
        /* A window that is lost in the rounding of the time must not begin again and again. */
        const int is_lost = !(p->t + p->window > p->t);
        const int is_longer =
            p->exact > 0 && p->window_missed == 0 && (is_lost || saltus_leap_used_window(p));
        p->window *= is_longer ? 2.0 : 1.0;
#endif
    } else if (saltus_trajectory_special_first(p, sample)) {
        if (saltus_trajectory_pass_special(p) != SALTUS_FINE) {
            return -1;
        }
    } else {
#if SALTUS_THINNED
        if (p->n->n_thinned > 0 && p->sample + 1 == n_times &&
            saltus_thinned_check(p, d, target) != SALTUS_FINE) {
            return -1;
        }
#endif
        saltus_trajectory_record(p, target, counts, observables);
        return p->sample == n_times ? -1 : 0;
    }
    return renews && saltus_leap_renew(p, d, l, total) != SALTUS_FINE ? -1 : 0;
}

/* Exact steps that a thread takes from one vote of its warp to the next. */
enum { SALTUS_EXACT_STEPS = SALTUS_DEVICE ? 8 : 1 };

/**
 * Take a trajectory to its end, from wherever it is, or to p->limit blocks of random words; see
 * saltus_direct_run. The threads of a warp do what most of them have before them, one leap or some
 * exact steps, and the others wait: a leap takes as long as dozens of steps. Without that, those
 * that record a sample would go on alone, for ever.
 */
SALTUS_LARGE_FN saltus_failure saltus_tau_run(saltus_trajectory *p, saltus_direct *d,
                                              saltus_leap *l, const double *times, int64_t n_times,
                                              const int *stop, int64_t *counts, double *observables)
{
#if !SALTUS_DEVICE
    l->words.valid = 0;
#endif
    saltus_trajectory_refresh(p);
    if (saltus_leap_rebuild(p, d, 0) != SALTUS_FINE) {
        return p->failure;
    }
    int goes = 1;
#if SALTUS_DEVICE
    uint32_t here = saltus_warp_here();
#endif
    for (;;) {
        int leap = p->exact <= 0;
#if SALTUS_DEVICE
        here = saltus_warp_ballot(here, goes);
#endif
        if (!goes) {
            return p->failure;
        }
#if SALTUS_DEVICE
        leap = saltus_warp_mostly(here, leap);
#endif
        if (leap == (p->exact > 0)) {
            continue;
        }
        int n_steps = leap ? 1 : SALTUS_EXACT_STEPS;
        do {
            goes = saltus_tau_go(p, d, l, times, n_times, stop, counts, observables) == 0;
        } while (goes && p->exact > 0 && --n_steps > 0);
    }
}

#endif
