/**
 * A trajectory whose variables move between reactions: a piecewise-deterministic Markov process
 * (Davis, J. R. Stat. Soc. B 46 (1984) 353, doi:10.1111/j.2517-6161.1984.tb01308.x). Variables and
 * the hazard H, the integral of the sum of propensities since the last event, are integrated
 * together; the next reaction happens when H reaches an exponential variate, and is chosen by the
 * propensities of that time (Alfonsi et al., ESAIM Proc. 14 (2005) 1, doi:10.1051/proc:2005001).
 * Triggers that change within a step end it. Method ode is the same without hazard: counts are real
 * and follow all propensities.
 *
 * A step begins where the last one ended, at a reaction, a trigger's turn or a special time, and
 * its size follows from errors and from these alone. Samples are read from the dense output.
 */
#ifndef SALTUS_KERNEL_ODE_RUN_H
#define SALTUS_KERNEL_ODE_RUN_H

#include "kernel/ode/judge.h"
#include "kernel/ode/turns.h"

/* A propensity may be below 0 for so long that its integral reaches this times rtol. */
#define SALTUS_MOST_BELOW 1000.0

/* Compute all sums; propensities that move count 0 in them, but when a reaction is chosen. */
SALTUS_OUTLINE saltus_failure saltus_ode_rebuild(saltus_trajectory *p, saltus_direct *d,
                                                 saltus_ode *o)
{
    const saltus_tables *n = p->n;
    int moving = 0;
    o->is_fresh = 0;
    if (SALTUS_ODE_IS_MEAN(o)) {
        return SALTUS_FINE;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        if (moving < n->n_moving_laws && n->moving_laws[moving] == r) {
            d->values[SALTUS_AT(r)] = 0.0;
            ++moving;
        } else if (saltus_direct_update(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
    }
    for (int level = 0; level < n->n_levels; ++level) {
        for (int i = 0; i < n->level_nodes[level]; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + i);
        }
    }
    return SALTUS_FINE;
}

SALTUS_FN double saltus_ode_total(const saltus_trajectory *p, const saltus_direct *d)
{
    const saltus_tables *n = p->n;
    return d->values[SALTUS_AT(n->n_leaves + n->level_first[n->n_levels - 1])] + 0.0;
}

/* Do what is due at the present time: samples, clocks, pending events. Returns -1 when the
 * trajectory has ended or failed. */
SALTUS_OUTLINE int saltus_ode_due(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                  const double *times, int64_t n_times, int64_t *counts,
                                  double *observables)
{
    for (;;) {
        const int is_sample = times[p->sample] <= p->t;
        if (p->special <= p->t && (!p->special_strict || !is_sample)) {
            SALTUS_ODE_BREAK_OFF(o);
            if (saltus_trajectory_pass_special(p) != SALTUS_FINE ||
                saltus_ode_rebuild(p, d, o) != SALTUS_FINE) {
                return -1;
            }
            p->carried.hazard = 0.0; /* the next variate is a new one */
        } else if (is_sample) {
            saltus_trajectory_record(p, times[p->sample], counts, observables);
            if (p->sample == n_times) {
                return -1;
            }
        } else {
            return 0;
        }
    }
}

/* The first step: such that the solution changes by a hundredth of its scale, or less. */
SALTUS_FN double saltus_ode_first_step(const saltus_ode_memory *m)
{
    double values = 0.0, slopes = 0.0;
    for (int i = 0; i < SALTUS_ODE_N(m); ++i) {
        const double y = m->y[SALTUS_ODE_AT(i)], scale = saltus_ode_scale(m, i, y, y);
        const double a = y / scale, b = m->k[SALTUS_ODE_AT(i)] / scale;
        values += a * a;
        slopes += b * b;
    }
    const double n = (double)(SALTUS_ODE_N(m) > 0 ? SALTUS_ODE_N(m) : 1);
    values = saltus_sqrt(values / n);
    slopes = saltus_sqrt(slopes / n);
    return values < 1e-5 || !(slopes > 1e-5) ? 1e-6 : 0.01 * values / slopes;
}

/* Try a step of that size; returns its error. */
SALTUS_FN double saltus_ode_try(saltus_trajectory *p, saltus_ode *o, double size)
{
    saltus_ode_context c;
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    c.p = p;
    c.o = o;
    c.slopes = 0;
    return p->carried.is_stiff ? saltus_ode_rosenbrock(p, o, p->t, size)
                               : saltus_ode_explicit(&c, &m, p->t, size);
}

/* The same, where few steps are. */
SALTUS_OUTLINE double saltus_ode_try_again(saltus_trajectory *p, saltus_ode *o, double size)
{
    return saltus_ode_try(p, o, size);
}

SALTUS_FN void saltus_ode_dense(saltus_ode *o, double size, int is_stiff)
{
    if (SALTUS_ODE_WAS_SOLVED(o)) {
        return; /* its dense output is its own */
    }
    if (is_stiff) {
        saltus_ode_rosenbrock_dense(o);
        return;
    }
#ifdef SALTUS_ODE_SIZE
    (void)size; /* saltus_ode_component computes it */
#else
    saltus_ode_explicit_dense(o, size);
#endif
}

/* The share of the step at which the hazard reaches `target`, which it does. */
SALTUS_OUTLINE double saltus_ode_find_event(saltus_ode *o, double target)
{
    const saltus_ode_polynomial p = saltus_ode_component(o, SALTUS_ODE_N(o) - 1);
    return saltus_ode_reach(&p, target, -1);
}

/* Choose a reaction by the propensities of the present time, where components are in o->w, and fire
 * it. */
SALTUS_OUTLINE saltus_failure saltus_ode_fire(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                              double word)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    const uint64_t event = p->event++;
    saltus_motion(p, o, p->t, o->w, &SALTUS_K(6, 0));
    for (int i = 0; i < SALTUS_ODE_LAWS(p); ++i) {
        const int r = n->moving_laws[i];
        const double a = saltus_ode_law(p, o, i);
        d->values[SALTUS_AT(r)] = a >= 0.0 ? a : 0.0;
        if (SALTUS_RARE(a != a) && !saltus_direct_idles(p, r)) {
            return saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, r, a);
        }
    }
    for (int i = 0; i < n->n_moving_nodes; ++i) {
        saltus_tree_sum(n, d, n->moving_nodes[i]);
    }
    const double total = saltus_ode_total(p, d);
    if (SALTUS_RARE(!(total < SALTUS_INFINITY))) {
        return saltus_trajectory_fail(p, SALTUS_BAD_TOTAL, 0, total);
    }
    if (total > 0.0) { /* else the hazard has just become 0, and the event is void */
        const int r = saltus_tree_choose(&tree, total, word, p->seed, p->trajectory, event);
#if !SALTUS_DEVICE
        if (SALTUS_RARE(n->n_delayed > 0) && saltus_delayed_begin(p, r, p->t) != SALTUS_FINE) {
            return p->failure;
        }
#endif
        if (saltus_direct_fire(p, r) != SALTUS_FINE) {
            return p->failure;
        }
        ++p->fired;
        if (saltus_direct_follow(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
    }
    for (int i = 0; i < SALTUS_ODE_LAWS(p); ++i) {
        d->values[SALTUS_AT(n->moving_laws[i])] = 0.0;
    }
    for (int i = 0; i < n->n_moving_nodes; ++i) {
        saltus_tree_sum(n, d, n->moving_nodes[i]);
    }
    if (SALTUS_EVENTS && n->watches_state && saltus_trajectory_triggers(p)) {
        if (saltus_trajectory_settle(p) != SALTUS_FINE ||
            saltus_ode_rebuild(p, d, o) != SALTUS_FINE) {
            return p->failure;
        }
    }
    return SALTUS_FINE;
}

/* Let the trajectory fail where a propensity was below 0 for too long. */
SALTUS_FN saltus_failure saltus_ode_limit_below(saltus_trajectory *p, const saltus_ode *o)
{
    return SALTUS_RARE(p->carried.below > SALTUS_MOST_BELOW * o->wanted.rtol)
               ? saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, o->lowest,
                                        saltus_propensity(p, o->lowest))
               : SALTUS_FINE;
}

/* The run ends at `time` within a step at whose end a propensity is below 0: it may be so already,
 * where the state is o->w. */
SALTUS_OUTLINE void saltus_ode_end_below(saltus_trajectory *p, saltus_ode *o, double time)
{
    saltus_motion(p, o, time, o->w, &SALTUS_K(6, 0));
    (void)saltus_ode_hazard(p, o);
    p->carried.below += o->negative * (time - p->t);
    p->t = time;
    (void)saltus_ode_limit_below(p, o);
}

/* Record the samples that come before share `theta` of a step of some size, which ends at `end`.
 * Returns 1 when they are the last. */
SALTUS_OUTLINE int saltus_ode_samples(saltus_trajectory *p, saltus_ode *o, double size, double end,
                                      const double *times, int64_t n_times, int64_t *counts,
                                      double *observables)
{
    while (times[p->sample] < end) {
        const double time = times[p->sample];
        const double theta = (time - p->t) / size;
        saltus_ode_dense_state(o, theta < 1.0 ? theta : 1.0);
        saltus_ode_place(p, o, time, o->w);
        saltus_trajectory_record(p, time, counts, observables);
        if (p->sample == n_times) {
            if (SALTUS_RARE(o->negative > 0.0)) {
                saltus_ode_end_below(p, o, time);
            }
            return 1;
        }
    }
    return 0;
}

/* What is not finite at the start of a step, or a propensity that has been below 0 for too long. */
SALTUS_FN saltus_failure saltus_ode_examine(saltus_trajectory *p, saltus_ode *o)
{
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        const double y = o->y[SALTUS_ODE_AT(i)], k = SALTUS_K(0, i);
        if (SALTUS_RARE(!(0.0 * y == 0.0) || !(0.0 * k == 0.0))) {
            return saltus_trajectory_fail(p, SALTUS_NOT_FINITE, i, 0.0 * y == 0.0 ? k : y);
        }
    }
    return SALTUS_FINE;
}

/* The unit wait and the choice word of the next event. */
SALTUS_FN double saltus_ode_target(saltus_trajectory *p, saltus_direct *d, double *word)
{
    if (!saltus_direct_holds(d, p->event)) {
        SALTUS_TRAJECTORY_PROGRESS(p);
        saltus_direct_draw(p, d, p->event >> 1);
    }
    return saltus_direct_wait(p, d, p->event, word);
}

/* Begin a step: take the state. */
SALTUS_FN void saltus_ode_begin(saltus_trajectory *p, const saltus_direct *d, saltus_ode *o)
{
    o->still = SALTUS_ODE_IS_MEAN(o) ? 0.0 : saltus_ode_total(p, d);
    o->worst = -1;
    SALTUS_ODE_SET_SOLVED(o, 0);
    saltus_ode_uncut(p, o);
    saltus_ode_take(p, o);
    saltus_ode_set_tolerance(p, o);
    saltus_ode_hold(p, o);
}

/* Make ready for a step: the state is in o->y and its slope in k[0]. */
SALTUS_FN saltus_failure saltus_ode_aim(saltus_trajectory *p, saltus_direct *d, saltus_ode *o)
{
    const double least = saltus_ode_least(p->t);
    if (saltus_ode_examine(p, o) != SALTUS_FINE) {
        return p->failure;
    }
    if (!(p->carried.step > 0.0)) {
        const saltus_ode_memory m = saltus_ode_memory_of(o);
        p->carried.step = saltus_ode_first_step(&m);
    }
    o->target = SALTUS_INFINITY;
    if (!SALTUS_ODE_IS_MEAN(o) && p->n->n_reactions > 0) {
        o->target = saltus_ode_target(p, d, &o->word);
    }
    const double until_special = p->special - p->t;
    const double room = SALTUS_ODE_IS_MEAN(o)
                            ? until_special
                            : saltus_ode_room(until_special, o->target - p->carried.hazard,
                                              SALTUS_K(0, SALTUS_ODE_N(o) - 1));
    o->size = p->carried.step < room ? p->carried.step : room > least ? room : least;
    o->is_cut = o->size < p->carried.step;
    o->is_rejected = 0;
    saltus_ode_cut(p, o);
    return SALTUS_FINE;
}

/* Whether triggers may turn between reactions. */
SALTUS_FN int saltus_ode_watches(const saltus_trajectory *p, const saltus_ode *o)
{
    return SALTUS_EVENTS &&
           (p->n->n_moving_triggers > 0 ||
            ((SALTUS_ODE_IS_MEAN(o) || SALTUS_ODE_SPLITS(o)) && p->n->watches_state));
}

/* Whether what happens in the step that was taken has to be looked for in its dense output. */
SALTUS_FN int saltus_ode_needs_dense(const saltus_trajectory *p, const saltus_ode *o,
                                     const double *times)
{
    return (!SALTUS_ODE_IS_MEAN(o) && o->target <= o->z[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)]) ||
           saltus_ode_watches(p, o) || times[p->sample] < p->t + o->size || SALTUS_ODE_SPLITS(o);
}

/* Find what ends the step that was taken, o->theta of the way. Where a trigger turns early in a
 * long step, errors are those of the whole, which may go where values are large: it is taken again,
 * shorter. */
SALTUS_FN void saltus_ode_find(saltus_trajectory *p, saltus_ode *o, const double *times)
{
    const int was_stiff = p->carried.is_stiff, looks_stiff = saltus_ode_looks_stiff(p, o);
    o->was_stiff = was_stiff;
    for (int tries = 0;; ++tries) {
        o->theta = 1.0;
        o->turns = 0;
        o->fires = !SALTUS_ODE_IS_MEAN(o) && o->target <= o->z[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)];
        if (saltus_ode_needs_dense(p, o, times)) {
            saltus_ode_dense(o, o->size, was_stiff);
        }
        if (SALTUS_ODE_FIRES(o)) {
            o->theta = saltus_ode_find_event(o, o->target);
        }
        if (saltus_ode_watches(p, o)) {
            const double turn = saltus_ode_find_turn(p, o, o->size, o->theta);
            o->turns = turn <= o->theta;
            o->fires = o->fires && !o->turns;
            o->theta = o->turns ? turn : o->theta;
        }
        if (!(o->turns && o->theta > 1e-8 && o->theta < 0.25) || tries > 1 ||
            SALTUS_ODE_WAS_SOLVED(o)) {
            break;
        }
        const double shorter = 2.0 * o->theta * o->size;
        if (!(saltus_ode_try_again(p, o, shorter) <= 1.0)) { /* it must do as it is */
            (void)saltus_ode_try_again(p, o, o->size);
            saltus_ode_dense(o, o->size, was_stiff);
            break;
        }
        o->size = shorter;
        o->is_cut = 1;
    }
    saltus_ode_count_stiff(p, o, looks_stiff);
}

/* Of a step that goes to `end`: whether a trigger turns again where time has hardly moved, as one
 * does whose event sets a variable back to the very threshold; and, where nothing bends and errors
 * let steps grow for ever, the next step after a turn at the scale at which turns come. */
SALTUS_FN void saltus_ode_carry_turn(saltus_trajectory *p, const saltus_ode *o, double end)
{
    const double most = SALTUS_ODE_CHECKS * o->theta * o->size;
    const int stalls = o->turns && end - p->t <= 0x1p-48 * end;
    p->carried.n_stalled = stalls ? p->carried.n_stalled + 1 : 0;
    p->carried.step = o->turns && most < p->carried.step ? most : p->carried.step;
}

/* Go to the end of the step, and do what ends it. Returns -1 when the trajectory has ended or
 * failed. */
SALTUS_FN int saltus_ode_land(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                              const double *times, int64_t n_times, int64_t *counts,
                              double *observables)
{
    const int ends_early = o->fires || o->turns;
    const double stop = p->special < o->until ? p->special : o->until;
    double end = p->t + o->theta * o->size;
    end = !ends_early && SALTUS_ODE_WAS_SOLVED(o) ? SALTUS_ODE_SOLVED_END(o) : end;
    if (!(end < stop) || (!ends_early && !(o->size < stop - p->t))) {
        end = stop;
    }
    if (saltus_ode_samples(p, o, o->size, end, times, n_times, counts, observables)) {
        return -1;
    }
    saltus_ode_carry_turn(p, o, end);
    p->carried.below += o->negative * o->theta * o->size;
    if (ends_early) {
        saltus_ode_dense_state(o, o->theta);
        saltus_ode_place(p, o, end, o->w);
    } else {
        saltus_ode_put(p, o, end, o->z); /* rules follow with the next slope */
    }
    p->carried.hazard = 0.0;
    if (!SALTUS_ODE_IS_MEAN(o) && !o->fires) {
        p->carried.hazard = (ends_early ? o->w : o->z)[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)];
    }
    p->t = end;
    p->after = 0;
    if (saltus_ode_limit_below(p, o) != SALTUS_FINE) {
        return -1;
    }
    if (!o->turns) {
        if (!(end < o->until)) { /* at a kink */
            SALTUS_ODE_BREAK_OFF(o);
        }
        return SALTUS_ODE_FIRES(o) && saltus_ode_fire(p, d, o, o->word) != SALTUS_FINE ? -1 : 0;
    }
    if (p->carried.n_stalled > SALTUS_MAX_CASCADE) {
        (void)saltus_trajectory_fail(p, SALTUS_EVENT_STORM, 0, 0.0);
        return -1;
    }
    SALTUS_ODE_BREAK_OFF(o);
    const int fine =
        saltus_trajectory_settle(p) == SALTUS_FINE && saltus_ode_rebuild(p, d, o) == SALTUS_FINE;
    return fine ? 0 : -1;
}

/* Let the next reaction happen at time `end`, where the state is o->w. */
SALTUS_FN saltus_failure saltus_ode_react(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                          double end)
{
    saltus_ode_place(p, o, end, o->w);
    p->carried.n_stalled = 0;
    p->carried.hazard = 0.0;
    p->t = end;
    p->after = 0;
    return saltus_ode_fire(p, d, o, o->word);
}

#if !SALTUS_DEVICE
/* Take one step by the solver, and find what ends it. Returns -1 when the trajectory has failed. */
SALTUS_OUTLINE int saltus_ode_solved_step(saltus_trajectory *p, saltus_ode *o, const double *times)
{
    saltus_ode_solver *s = o->solver;
    s->goes_on &= s->n_steps < SALTUS_MOST_STRETCH;
    if (!s->goes_on) {
        saltus_ode_slope(p, o, p->t, o->y, o->k); /* rows, too, are those of the state */
        if (saltus_ode_examine(p, o) != SALTUS_FINE) {
            return -1;
        }
        const saltus_ode_memory m = saltus_ode_memory_of(o);
        const double first = saltus_ode_first_step(&m), last = p->carried.step;
        if (s->begin(s, last > 0.0 && last < first ? last : first) != SALTUS_FINE) {
            return -1;
        }
        s->goes_on = 1;
        p->carried.step = 1e100; /* the solver has the next one */
    }
    o->size = s->next;
    o->target = SALTUS_INFINITY;
    o->is_cut = 1;
    saltus_ode_cut(p, o);
    SALTUS_ODE_SET_SOLVED(o, 1);
    if (s->step(s, p->special < o->until ? p->special : o->until) != SALTUS_FINE) {
        return -1;
    }
    o->size = s->end - p->t;
    saltus_ode_find(p, o, times);
    return 0;
}
#define SALTUS_ODE_SOLVED_STEP(p, o, times) saltus_ode_solved_step(p, o, times)
#else
#define SALTUS_ODE_SOLVED_STEP(p, o, times) (-1)
#endif

/* Take one step, and find what ends it. Returns -1 when the trajectory has failed. */
SALTUS_FN int saltus_ode_step(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                              const double *times)
{
    saltus_ode_verdict verdict = SALTUS_ODE_AIM;
    saltus_ode_begin(p, d, o);
    if (!o->is_fresh && !SALTUS_ODE_IS_SOLVED(p, o)) {
        saltus_ode_slope(p, o, p->t, o->y, o->k);
    }
    while (verdict != SALTUS_ODE_TAKEN) {
        if (SALTUS_ODE_IS_SOLVED(p, o)) {
            return SALTUS_ODE_SOLVED_STEP(p, o, times);
        }
        if (verdict == SALTUS_ODE_AIM && saltus_ode_aim(p, d, o) != SALTUS_FINE) {
            return -1;
        }
        const double error = saltus_ode_try(p, o, o->size);
        const double hazard =
            SALTUS_ODE_IS_MEAN(o) ? 0.0 : o->z[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)];
        verdict =
            saltus_ode_judge(p, o, saltus_ode_error_of(error, p->t, o->size, hazard, o->target));
        if (verdict == SALTUS_ODE_FAILED) {
            return -1;
        }
    }
    saltus_ode_find(p, o, times);
    return 0;
}

/* Take one step and do what ends it. Returns -1 when the trajectory has ended or failed. */
SALTUS_FN int saltus_ode_advance(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                 const double *times, int64_t n_times, int64_t *counts,
                                 double *observables)
{
    if (saltus_ode_step(p, d, o, times) < 0) {
        return -1;
    }
    o->is_fresh = !o->fires && !o->turns && !o->was_stiff && p->n->n_kinks == 0;
    const int go = saltus_ode_land(p, d, o, times, n_times, counts, observables);
    for (int i = 0; i < SALTUS_ODE_N(o) && o->is_fresh; ++i) {
        SALTUS_K(0, i) = SALTUS_K(6, i);
    }
    return go;
}

/* Forget what does not belong to the trajectory. */
SALTUS_FN void saltus_ode_forget(saltus_trajectory *p, saltus_direct *d, saltus_ode *o)
{
    d->draws.valid = 0;
    o->negative = 0.0;
    if (o->wanted.stiff == SALTUS_STIFF_ALWAYS && o->may_be_stiff) {
        p->carried.is_stiff = 1;
    }
}

/* Begin, or go on with, a trajectory whose state is known. */
SALTUS_FN saltus_failure saltus_ode_open(saltus_trajectory *p, saltus_direct *d, saltus_ode *o)
{
    saltus_ode_forget(p, d, o);
    saltus_trajectory_refresh(p);
    return saltus_ode_rebuild(p, d, o);
}

/* Count a step, and look now and then whether the trajectory is to stop here: after each that may
 * have taken long. */
SALTUS_FN saltus_failure saltus_ode_count_step(saltus_trajectory *p, const saltus_ode *o,
                                               const int *stop)
{
    enum { STEPS_PER_LOOK = 64 };
    if (++p->block % STEPS_PER_LOOK == 0 || SALTUS_ODE_WAS_SOLVED(o)) {
        SALTUS_TRAJECTORY_PROGRESS(p);
        if (p->block >= p->limit || SALTUS_FLAG(stop)) {
            return saltus_trajectory_fail(p, SALTUS_STOPPED, 0, 0.0);
        }
    }
    return SALTUS_FINE;
}

/** Take a trajectory from where it is to its end, or to about p->limit steps; the arguments are
 * those of saltus_direct_run. Words come from Philox, whose streams have no place to keep. */
SALTUS_OUTLINE saltus_failure saltus_ode_run(saltus_trajectory *p, saltus_direct *d, saltus_ode *o,
                                             const double *times, int64_t n_times, const int *stop,
                                             int64_t *counts, double *observables)
{
    if (saltus_ode_open(p, d, o) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        if (saltus_ode_due(p, d, o, times, n_times, counts, observables) < 0 ||
            saltus_ode_advance(p, d, o, times, n_times, counts, observables) < 0 ||
            saltus_ode_count_step(p, o, stop) != SALTUS_FINE) {
            return p->failure;
        }
    }
}

#endif
