/** The right-hand side: how fast each component changes at a state. */
#ifndef SALTUS_KERNEL_ODE_SLOPE_H
#define SALTUS_KERNEL_ODE_SLOPE_H

#include "kernel/ssa/direct_tree.h"
#if SALTUS_DEVICE
#define SALTUS_ODE_SPLITS(o) 0
#else
#include "kernel/ode/split.h"
#define SALTUS_ODE_SPLITS(o) ((o)->hybrid != 0)
#endif

/* The component of the first variable with a rate rule: species that are real come before it. */
SALTUS_FN int saltus_ode_first(const saltus_trajectory *p, const saltus_ode *o)
{
#if !SALTUS_DEVICE
    if (o->hybrid) {
        return o->hybrid->n_real;
    }
#endif
    return SALTUS_ODE_IS_MEAN(o) ? p->n->n_species : 0;
}

/* The species of a component before that. */
SALTUS_FN int saltus_ode_species(const saltus_ode *o, int component)
{
#if !SALTUS_DEVICE
    if (o->hybrid) {
        return o->hybrid->real[component];
    }
#endif
    (void)o;
    return component;
}

/* How many variables have a rate rule. */
#ifdef SALTUS_ODE_SIZE
#define SALTUS_ODE_RATES(p) (SALTUS_ODE_SIZE - 1)
#else
#define SALTUS_ODE_RATES(p) ((p)->n->n_rates)
#endif

/* An amount below 0 by no more than its absolute tolerance is none: a law such as A^2.5 has no
 * value there, however short a step is. */
SALTUS_FN double saltus_ode_amount(const saltus_ode *o, double y)
{
    return y < 0.0 && y >= -o->of_amounts ? 0.0 : y;
}

/* Set the trajectory's rows to a state, but no rules. */
SALTUS_FN void saltus_ode_put(saltus_trajectory *p, const saltus_ode *o, double time,
                              const double *y)
{
    const saltus_tables *n = p->n;
    const int first = saltus_ode_first(p, o);
    for (int i = 0; i < first; ++i) {
        p->v[SALTUS_AT(saltus_ode_species(o, i))] = saltus_ode_amount(o, y[SALTUS_ODE_AT(i)]);
    }
    for (int i = 0; i < SALTUS_ODE_RATES(p); ++i) {
        p->v[SALTUS_AT(n->rate_rows[i])] = y[SALTUS_ODE_AT(first + i)];
    }
    p->v[SALTUS_AT(n->row_time)] = time;
}

/* The same with rules. */
SALTUS_OUTLINE void saltus_ode_place(saltus_trajectory *p, const saltus_ode *o, double time,
                                     const double *y)
{
    const saltus_tables *n = p->n;
    saltus_ode_put(p, o, time, y);
    if (SALTUS_ODE_IS_MEAN(o) || SALTUS_ODE_SPLITS(o)) {
        saltus_trajectory_run_live_rules(p);
        return;
    }
    for (int i = 0; i < n->n_moving_rules; ++i) {
        saltus_trajectory_run_rule(p, n->moving_rules[i]);
    }
}

/* Read the components from the trajectory's rows. */
SALTUS_FN void saltus_ode_take(const saltus_trajectory *p, saltus_ode *o)
{
    const int first = saltus_ode_first(p, o);
    for (int i = 0; i < first; ++i) {
        o->y[SALTUS_ODE_AT(i)] = p->v[SALTUS_AT(saltus_ode_species(o, i))];
    }
    for (int i = 0; i < SALTUS_ODE_RATES(p); ++i) {
        o->y[SALTUS_ODE_AT(first + i)] = p->v[SALTUS_AT(p->n->rate_rows[i])];
    }
    if (!SALTUS_ODE_IS_MEAN(o)) {
        o->y[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)] = p->carried.hazard;
    }
}

/* Counts change by the sum of propensities times what each reaction changes. */
SALTUS_FN void saltus_ode_flow(saltus_trajectory *p, double *slope)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species; ++s) {
        slope[SALTUS_ODE_AT(s)] = 0.0;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        const double a = saltus_propensity(p, r);
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            slope[SALTUS_ODE_AT(n->change_species[c])] += a * (double)n->change_amount[c];
        }
    }
}

/* Run the tables' program `motion` at a time and components y: slopes of rates, and propensities. A
 * kernel that is made for the model has it as text, and no rules; what it reads besides is held
 * from the start of each step. */
#ifdef SALTUS_ODE_SIZE
#define SALTUS_ODE_LAWS(p) SALTUS_N_MOVING
SALTUS_FN void saltus_ode_hold(const saltus_trajectory *p, saltus_ode *o);
SALTUS_FN void saltus_motion(const saltus_trajectory *p, saltus_ode *o, double time,
                             const double *y, double *slope);
#else
#define SALTUS_ODE_LAWS(p) ((p)->n->n_moving_laws)
#define saltus_ode_hold(p, o) ((void)0)
SALTUS_FN void saltus_motion(saltus_trajectory *p, const saltus_ode *o, double time,
                             const double *y, double *slope)
{
    const saltus_tables *n = p->n;
    saltus_ode_put(p, o, time, y);
    saltus_program_run(n->code, n->motion, p->v);
    for (int i = 0; i < n->n_rates; ++i) {
        slope[SALTUS_ODE_AT(i)] = p->v[SALTUS_AT(n->motion_rows[i])];
    }
}
#endif

/* Propensity number i of those that move, which was computed. */
SALTUS_FN double saltus_ode_law(const saltus_trajectory *p, const saltus_ode *o, int i)
{
#ifdef SALTUS_ODE_SIZE
    (void)p;
    return o->laws[i];
#else
    (void)o;
    return p->v[SALTUS_AT(p->n->motion_rows[p->n->n_rates + i])];
#endif
}

/* The hazard grows by the sum of propensities: of those that do not move, which is known, and then
 * of those that move, in their order. One below 0 counts 0 here, and is noted: an integrated value
 * may fall below a bound by its error. */
SALTUS_FN double saltus_ode_hazard(saltus_trajectory *p, saltus_ode *o)
{
    double sum = o->still;
    o->negative = 0.0;
    for (int i = 0; i < SALTUS_ODE_LAWS(p); ++i) {
        const double a = saltus_ode_law(p, o, i);
        if (SALTUS_RARE(!(a >= 0.0)) && saltus_direct_idles(p, p->n->moving_laws[i])) {
            continue;
        }
        if (SALTUS_RARE(a < 0.0)) {
            o->negative -= a;
            o->lowest = p->n->moving_laws[i];
        } else {
            sum += a;
        }
    }
    return sum;
}

/* The slope of the mean field: all rules, rates and propensities, each on its own. */
SALTUS_FN void saltus_ode_mean_slope(saltus_trajectory *p, const saltus_ode *o, double time,
                                     const double *y, double *slope)
{
    const saltus_tables *n = p->n;
    saltus_ode_place(p, o, time, y);
    for (int i = 0; i < n->n_rates; ++i) {
        slope[SALTUS_ODE_AT(n->n_species + i)] = saltus_trajectory_value(p, n->rates[i]);
    }
    saltus_ode_flow(p, slope);
}

#if !SALTUS_DEVICE
/* The slope of a split: real species by what flows, rates, and the hazard by the propensities of
 * events, of which those that move are computed. One below 0 counts 0, and is noted. */
SALTUS_OUTLINE void saltus_ode_split_slope(saltus_trajectory *p, saltus_ode *o, double time,
                                           const double *y, double *slope)
{
    const saltus_tables *n = p->n;
    const saltus_hybrid *h = o->hybrid;
    double sum = o->still;
    saltus_ode_place(p, o, time, y);
    o->negative = 0.0;
    for (int i = 0; i < h->n_real; ++i) {
        slope[i] = 0.0;
    }
    for (int i = 0; i < h->n_flowing + h->n_moving; ++i) {
        const int flows = i < h->n_flowing;
        const int r = flows ? h->flowing[i] : h->moving[i - h->n_flowing];
        const double a = h->lacks[r] ? 0.0 : saltus_propensity(p, r);
        if (SALTUS_RARE(!(a >= 0.0)) && saltus_direct_idles(p, r)) {
            continue;
        }
        if (SALTUS_RARE(a < 0.0)) {
            o->negative -= a;
            o->lowest = r;
            continue;
        }
        sum += flows ? 0.0 : a;
        for (int c = n->change_row[r]; c < n->change_row[r + 1] && flows; ++c) {
            slope[h->component[n->change_species[c]]] += a * (double)n->change_amount[c];
        }
    }
    for (int i = 0; i < n->n_rates; ++i) {
        slope[h->n_real + i] = saltus_trajectory_value(p, n->rates[i]);
    }
    slope[h->n_real + n->n_rates] = sum;
}
#endif

/* A time of the present step, on this side of the kinks that it begins and ends at (kinks.h). */
SALTUS_FN double saltus_ode_inside(const saltus_ode *o, double at)
{
    const double late = at > o->from ? at : o->from;
    return late < o->until ? late : o->before;
}

/* How fast each component changes at a state. */
SALTUS_ODE_FN void saltus_ode_slope(saltus_trajectory *p, saltus_ode *o, double at, const double *y,
                                    double *slope)
{
    const double time = saltus_ode_inside(o, at);
    if (SALTUS_ODE_IS_MEAN(o)) {
        saltus_ode_mean_slope(p, o, time, y, slope);
        return;
    }
#if !SALTUS_DEVICE
    if (o->hybrid) {
        saltus_ode_split_slope(p, o, time, y, slope);
        return;
    }
#endif
    saltus_motion(p, o, time, y, slope);
    slope[SALTUS_ODE_AT(SALTUS_ODE_N(o) - 1)] = saltus_ode_hazard(p, o);
}

#endif
