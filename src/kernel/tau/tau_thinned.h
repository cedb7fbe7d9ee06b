/** Windows and means of laws that drift with time, for the leaps of tau.h. */
#ifndef SALTUS_KERNEL_TAU_TAU_THINNED_H
#define SALTUS_KERNEL_TAU_TAU_THINNED_H

#include "kernel/ssa/thinned.h"
#include "kernel/tau/formulas.h"

/* Or it makes no more reactions than this. */
#define SALTUS_STEADY_FIRINGS 1e-4

/* Whether the laws, bounded in the present window, change little in it. */
SALTUS_FN int saltus_leap_is_steady(const saltus_trajectory *p, const saltus_direct *d,
                                    const saltus_leap *l)
{
    const double length = p->window_end - p->window_start;
    for (int i = 0; i < p->n->n_thinned; ++i) {
        const double high = d->values[SALTUS_AT(p->n->thinned[i])];
        const double change = high - d->lower[SALTUS_AT(i)];
        if (!(change <= SALTUS_STEADY_SHARE * l->tau.epsilon * high) &&
            !(high * length <= SALTUS_STEADY_FIRINGS)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the window was used up when it ended. One that was not, because leaps or exact steps
 * began before its end, says nothing of a longer one. */
SALTUS_FN int saltus_leap_used_window(const saltus_trajectory *p)
{
    return p->window_end - p->window_start >= 0.5 * p->window;
}

/* Begin a window for leaps at the present time, at most twice as long as the last; exact steps, if
 * one in which laws are steady is too short for leaps that pay at propensities of this total. */
SALTUS_OUTLINE saltus_failure saltus_leap_window(saltus_trajectory *p, saltus_direct *d,
                                                 const saltus_leap *l, double total)
{
    double length = saltus_leap_used_window(p) ? 2.0 * p->window : p->window;
    p->window_start = p->t;
    for (;;) {
        const double end = p->t + length;
        p->window_end = end < p->special ? end : p->special;
        p->window = length;
        const double whole = p->window_end - p->t;
        if (!(whole * total >= SALTUS_SHORT_LEAP)) {
            p->exact = l->tau.n_exact;
            return SALTUS_FINE;
        }
        const saltus_failure failure = saltus_thinned_bounds(p, d);
        if (failure == SALTUS_FINE ? saltus_leap_is_steady(p, d, l) : failure != SALTUS_NO_BOUND) {
            return failure;
        }
        length = 0.5 * (whole < length ? whole : length);
    }
}

/* Thinned law i at a time, of the counts in p->v: 0 where its reaction would idle. */
SALTUS_FN double saltus_leap_law(saltus_trajectory *p, int i, double time)
{
    const double a = saltus_thinned_law(p, i, time);
    return SALTUS_RARE(p->n->idles && !(a >= 0.0)) &&
                   saltus_tau_lacks(p->n, p->v, p->n->thinned[i], -1)
               ? 0.0
               : a;
}

/* The mean of thinned law i over a leap of `length`, of the counts in p->v, by Simpson's rule from
 * its value where the leap begins. Below 0: it is no propensity. */
SALTUS_FN double saltus_leap_mean(saltus_trajectory *p, int i, double begin, double length)
{
    const double middle = saltus_leap_law(p, i, p->t + 0.5 * length),
                 end = saltus_leap_law(p, i, p->t + length);
    return begin >= 0.0 && middle >= 0.0 && end >= 0.0
               ? (1.0 / 6.0) * (begin + end) + (2.0 / 3.0) * middle
               : -1.0;
}

/* Intervals of laws are over a leap of `length` from now on, until a window is next. */
SALTUS_FN void saltus_leap_foresee(saltus_trajectory *p, saltus_direct *d, double length)
{
    const double start = p->window_start, end = p->window_end;
    p->window_start = p->t;
    p->window_end = p->t + length;
    saltus_thinned_drifts(p, d);
    p->window_start = start;
    p->window_end = end;
}

/* Keep the laws as they are at the begin of a leap. */
SALTUS_FN void saltus_leap_keep_laws(const saltus_trajectory *p, saltus_direct *d)
{
    for (int i = 0; i < p->n->n_thinned; ++i) {
        d->lower[SALTUS_AT(i)] = d->values[SALTUS_AT(p->n->thinned[i])];
    }
}

/* Propensities of a leap of `length`, at the counts before it. Returns 0 where one is none. */
SALTUS_OUTLINE int saltus_leap_average(saltus_trajectory *p, saltus_direct *d, double length)
{
    int is_good = 1;
    for (int i = 0; i < p->n->n_thinned; ++i) {
        const double a = saltus_leap_mean(p, i, d->lower[SALTUS_AT(i)], length);
        d->values[SALTUS_AT(p->n->thinned[i])] = a;
        is_good &= a >= 0.0;
    }
    return is_good;
}

#endif
