/** Where within a step, on its dense output, a trigger turns. */
#ifndef SALTUS_KERNEL_ODE_TURNS_H
#define SALTUS_KERNEL_ODE_TURNS_H

#include "kernel/ode/steps.h"

/* Whether some trigger is another than it was, at a share of the step. */
SALTUS_OUTLINE int saltus_ode_turns(saltus_trajectory *p, saltus_ode *o, double size, double theta)
{
    saltus_ode_dense_state(o, theta);
    saltus_ode_place(p, o, p->t + theta * size, o->w);
#if !SALTUS_DEVICE
    if (o->hybrid) {
        (void)saltus_split_put_nearest(p, o->hybrid);
        saltus_trajectory_run_live_rules(p);
    }
#endif
    for (int i = 0; i < p->n->n_triggers; ++i) {
        const double value = saltus_trajectory_value(p, p->n->triggers[i].trigger);
        if ((value != 0.0 && value == value) != p->on[SALTUS_AT(i)]) {
            return 1;
        }
    }
    return 0;
}

/* What trigger comparison j is 0 at, where the state was placed last. */
SALTUS_FN double saltus_ode_root(saltus_trajectory *p, int j)
{
    return saltus_trajectory_value(p, p->n->roots[j]);
}

/* The first comparison that has another sign at `high` than at `low`, with its values there; -1:
 * none has. Overwrites root[0]. */
SALTUS_FN int saltus_ode_root_that_changes(saltus_trajectory *p, saltus_ode *o, double size,
                                           double low, double high, double *at_low, double *at_high)
{
    const int n = p->n->n_roots;
    (void)saltus_ode_turns(p, o, size, low);
    for (int j = 0; j < n; ++j) {
        o->root[SALTUS_AT(j)] = saltus_ode_root(p, j);
    }
    (void)saltus_ode_turns(p, o, size, high);
    for (int j = 0; j < n; ++j) {
        *at_low = o->root[SALTUS_AT(j)];
        *at_high = saltus_ode_root(p, j);
        if (saltus_ode_signs_differ(*at_low, *at_high)) {
            return j;
        }
    }
    return -1;
}

/* Bring the ends near to each other, where a comparison is smooth, in some steps: in turn to where
 * its chord is 0, and as far again from the end that is nearer. The triggers decide which end
 * moves, so the turn stays between them. */
SALTUS_FN void saltus_ode_narrow(saltus_trajectory *p, saltus_ode *o, double size, double *low,
                                 double *high)
{
    double at_low, at_high;
    const int j = saltus_ode_root_that_changes(p, o, size, *low, *high, &at_low, &at_high);
    const double apart = 1e-15 * (*high + (p->t < 0.0 ? -p->t : p->t) / size); /* some roundings */
    for (int k = 0; j >= 0 && k < 12 && *high - *low > 8.0 * apart; ++k) {
        const double width = *high - *low, zero = width * (at_low / (at_low - at_high));
        const double step = zero < 0.5 * width ? zero : width - zero; /* from the nearer end */
        const double far = k % 2 == 0 ? step : 2.0 * step, go = far > apart ? far : apart;
        const double theta = zero < 0.5 * width ? *low + go : *high - go;
        if (!(theta > *low && theta < *high)) {
            break;
        }
        if (saltus_ode_turns(p, o, size, theta)) {
            *high = theta;
            at_high = saltus_ode_root(p, j);
        } else {
            *low = theta;
            at_low = saltus_ode_root(p, j);
        }
        if (!saltus_ode_signs_differ(at_low, at_high)) {
            break; /* it is another one that turns it */
        }
    }
}

/* Of a trigger that is as it was at `low`, and another at `high`: where it has just turned. */
SALTUS_FN double saltus_ode_bisect(saltus_trajectory *p, saltus_ode *o, double size, double low,
                                   double high)
{
    if (!SALTUS_ODE_SPLITS(o)) { /* that rounds to molecules */
        saltus_ode_narrow(p, o, size, &low, &high);
    }
    for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        if (!(middle > low && middle < high)) {
            break;
        }
        if (saltus_ode_turns(p, o, size, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* What triggers compare has its values at three equidistant points in root[0] to root[2]. Look at
 * the vertex of the parabola through them where there is one: the trigger may have turned there and
 * back. Returns the share where one has, or -1. */
SALTUS_FN double saltus_ode_root_between(saltus_trajectory *p, saltus_ode *o, double size,
                                         double middle, double apart)
{
    const int n = p->n->n_roots;
    for (int j = 0; j < n; ++j) {
        double behind;
        if (saltus_ode_has_vertex(o->root[SALTUS_AT(j)], o->root[SALTUS_AT(n + j)],
                                  o->root[SALTUS_AT(2 * n + j)], &behind)) {
            const double vertex = middle + apart * behind;
            if (saltus_ode_turns(p, o, size, vertex)) {
                return vertex;
            }
        }
    }
    return -1.0;
}

/* Where what a trigger compares changed its sign between two looks, while no trigger is another at
 * the second of them: one may have turned there and back, as `y > 1 and y < 1.01` does. Returns the
 * first share just behind such a change, where it is not 0, at which a trigger has turned, or -1.
 */
SALTUS_FN double saltus_ode_root_across(saltus_trajectory *p, saltus_ode *o, double size,
                                        double before, double theta)
{
    const int n = p->n->n_roots;
    double first = -1.0;
    for (int j = 0; j < n; ++j) {
        const double is = o->root[SALTUS_AT(2 * n + j)];
        const int changes = saltus_ode_signs_differ(o->root[SALTUS_AT(n + j)], is) != 0;
        double low = before, high = theta;
        for (int k = 0; k < 60 && changes; ++k) {
            const double middle = 0.5 * (low + high);
            if (!(middle > low && middle < high)) {
                break;
            }
            saltus_ode_dense_state(o, middle);
            saltus_ode_place(p, o, p->t + middle * size, o->w);
            if (!saltus_ode_signs_differ(saltus_ode_root(p, j), is)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        if (changes && (first < 0.0 || high < first) && saltus_ode_turns(p, o, size, high)) {
            first = high;
        }
    }
    return first;
}

/* The share of the step, up to `end`, at which a trigger first turns; 2: none does. */
SALTUS_OUTLINE double saltus_ode_find_turn(saltus_trajectory *p, saltus_ode *o, double size,
                                           double end)
{
    const int n = p->n->n_roots;
    const double apart = end / SALTUS_ODE_CHECKS;
    double before = 0.0;
    for (int k = 0; k <= SALTUS_ODE_CHECKS; ++k) {
        const double theta = k == SALTUS_ODE_CHECKS ? end : end * (double)k / SALTUS_ODE_CHECKS;
        double low = before, high = 2.0;
        if (saltus_ode_turns(p, o, size, theta) && k > 0) {
            high = theta;
        }
        for (int j = 0; j < n; ++j) {
            o->root[SALTUS_AT(j)] = o->root[SALTUS_AT(n + j)];
            o->root[SALTUS_AT(n + j)] = o->root[SALTUS_AT(2 * n + j)];
            o->root[SALTUS_AT(2 * n + j)] = saltus_ode_root(p, j);
        }
        if (k > 0 && high > 1.0) {
            const double across = saltus_ode_root_across(p, o, size, before, theta);
            high = across < 0.0 ? high : across;
        }
        if (k > 1) {
            const double vertex = saltus_ode_root_between(p, o, size, before, apart);
            if (vertex >= 0.0 && vertex < high) {
                low = before - apart;
                high = vertex;
            }
        }
        if (high <= 1.0) {
            return saltus_ode_bisect(p, o, size, low, high);
        }
        before = theta;
    }
    return 2.0;
}

#endif
