/** The right-hand side: how fast each component changes at a state. */
#ifndef SALTUS_KERNEL_ODE_SLOPE_H
#define SALTUS_KERNEL_ODE_SLOPE_H

#include "kernel/ssa/direct_tree.h"

/* The component of the first variable with a rate rule. */
SALTUS_FN int saltus_ode_first(const saltus_trajectory *p, const saltus_ode *o)
{
    return o->is_mean ? p->n->n_species : 0;
}

/* Set the trajectory's rows to a state, but no rules. */
SALTUS_FN void saltus_ode_put(saltus_trajectory *p, const saltus_ode *o, double time,
                              const double *y)
{
    const saltus_tables *n = p->n;
    const int first = saltus_ode_first(p, o);
    for (int s = 0; s < first; ++s) {
        p->v[SALTUS_AT(s)] = y[SALTUS_AT(s)];
    }
    for (int i = 0; i < n->n_rates; ++i) {
        p->v[SALTUS_AT(n->rate_rows[i])] = y[SALTUS_AT(first + i)];
    }
    p->v[SALTUS_AT(n->row_time)] = time;
}

/* The same with rules. */
SALTUS_OUTLINE void saltus_ode_place(saltus_trajectory *p, const saltus_ode *o, double time,
                                     const double *y)
{
    const saltus_tables *n = p->n;
    saltus_ode_put(p, o, time, y);
    if (o->is_mean) {
        saltus_trajectory_run_rules(p);
        return;
    }
    for (int i = 0; i < n->n_moving_rules; ++i) {
        const int rule = n->moving_rules[i];
        p->v[SALTUS_AT(n->row_rules + rule)] = saltus_trajectory_value(p, n->rules[rule]);
    }
}

/* Read the components from the trajectory's rows. */
SALTUS_FN void saltus_ode_take(const saltus_trajectory *p, saltus_ode *o)
{
    const int first = saltus_ode_first(p, o);
    for (int s = 0; s < first; ++s) {
        o->y[SALTUS_AT(s)] = p->v[SALTUS_AT(s)];
    }
    for (int i = 0; i < p->n->n_rates; ++i) {
        o->y[SALTUS_AT(first + i)] = p->v[SALTUS_AT(p->n->rate_rows[i])];
    }
    if (!o->is_mean) {
        o->y[SALTUS_AT(o->n - 1)] = p->carried.hazard;
    }
}

/* Counts change by the sum of propensities times what each reaction changes. */
SALTUS_FN void saltus_ode_flow(saltus_trajectory *p, double *slope)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species; ++s) {
        slope[SALTUS_AT(s)] = 0.0;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        const double a = saltus_propensity(p, r);
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            slope[SALTUS_AT(n->change_species[c])] += a * (double)n->change_amount[c];
        }
    }
}

/* The hazard grows by the sum of propensities: of those that do not move, which is known, and then
 * of those that move, in their order. One below 0 counts 0 here, and is noted: an integrated value
 * may fall below a bound by its error. */
SALTUS_FN double saltus_ode_hazard(saltus_trajectory *p, saltus_ode *o)
{
    double sum = o->still;
    o->negative = 0.0;
    for (int i = 0; i < p->n->n_moving_laws; ++i) {
        const double a = p->v[SALTUS_AT(p->n->motion_rows[p->n->n_rates + i])];
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
        slope[SALTUS_AT(n->n_species + i)] = saltus_trajectory_value(p, n->rates[i]);
    }
    saltus_ode_flow(p, slope);
}

/* How fast each component changes at a state. */
SALTUS_OUTLINE void saltus_ode_slope(saltus_trajectory *p, saltus_ode *o, double time,
                                     const double *y, double *slope)
{
    const saltus_tables *n = p->n;
    if (o->is_mean) {
        saltus_ode_mean_slope(p, o, time, y, slope);
        return;
    }
    saltus_ode_put(p, o, time, y);
    saltus_program_run(n->code, n->motion, p->v);
    for (int i = 0; i < n->n_rates; ++i) {
        slope[SALTUS_AT(i)] = p->v[SALTUS_AT(n->motion_rows[i])];
    }
    slope[SALTUS_AT(n->n_rates)] = saltus_ode_hazard(p, o);
}

#endif
