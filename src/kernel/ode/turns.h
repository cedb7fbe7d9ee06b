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
        if (saltus_trajectory_turns(p, i)) {
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

/* Shares of a step between which something comes about: it has not at `low`, and has at `high`. */
typedef struct saltus_ode_bracket {
    double low, high;
    int root; /* of the triggers, whose chord leads there; -1: none */
    double at_low, at_high;
    int by_sign; /* it is this root that has its sign at `high`; 0: that a trigger turns */
} saltus_ode_bracket;

/* Move the end of a bracket that a share between its ends replaces there. */
SALTUS_FN void saltus_ode_look(saltus_trajectory *p, saltus_ode *o, double size, double theta,
                               saltus_ode_bracket *b)
{
    const int turned = saltus_ode_turns(p, o, size, theta);
    const double at = b->root >= 0 ? saltus_ode_root(p, b->root) : 0.0;
    if (b->by_sign ? !saltus_ode_signs_differ(at, b->at_high) : turned) {
        b->high = theta;
        b->at_high = at;
    } else {
        b->low = theta;
        b->at_low = at;
    }
}

/* Bring the ends of a bracket as near to each other as doubles allow. Where the root is smooth some
 * steps do most: in turn to where its chord is 0, and as far again from the end that is nearer.
 * Then the bracket is bisected. Returns its upper end. */
SALTUS_FN double saltus_ode_close(saltus_trajectory *p, saltus_ode *o, double size,
                                  saltus_ode_bracket *b)
{
    const double apart =
        1e-15 * (b->high + (p->t < 0.0 ? -p->t : p->t) / size);  /* some roundings */
    int chords = b->root >= 0 && !SALTUS_ODE_SPLITS(o) ? 12 : 0; /* a split rounds to molecules */
    for (int k = 0; k < 72; ++k) {
        const double width = b->high - b->low,
                     zero = width * (b->at_low / (b->at_low - b->at_high));
        const double step = zero < 0.5 * width ? zero : width - zero; /* from the nearer end */
        const double far = k % 2 == 0 ? step : 2.0 * step, go = far > apart ? far : apart;
        double theta = zero < 0.5 * width ? b->low + go : b->high - go;
        if (k >= chords || !(width > 8.0 * apart && theta > b->low && theta < b->high)) {
            chords = 0;
            theta = b->low + 0.5 * width;
        }
        if (!(theta > b->low && theta < b->high)) {
            break;
        }
        saltus_ode_look(p, o, size, theta, b);
        if (!saltus_ode_signs_differ(b->at_low, b->at_high)) {
            chords = 0; /* it is another root that turns it */
        }
    }
    return b->high;
}

/* Of a trigger that is as it was at `low`, and another at `high`: where it has just turned. Follows
 * the first root that has another sign at one end than at the other. Overwrites root[0]. */
SALTUS_FN double saltus_ode_close_turn(saltus_trajectory *p, saltus_ode *o, double size, double low,
                                       double high)
{
    const int n = SALTUS_ODE_SPLITS(o) ? 0 : p->n->n_roots;
    saltus_ode_bracket b = {low, high, -1, 0.0, 0.0, 0};
    if (n > 0) {
        (void)saltus_ode_turns(p, o, size, low);
        for (int j = 0; j < n; ++j) {
            o->root[SALTUS_AT(j)] = saltus_ode_root(p, j);
        }
        (void)saltus_ode_turns(p, o, size, high);
    }
    for (int j = 0; j < n && b.root < 0; ++j) {
        b.at_low = o->root[SALTUS_AT(j)];
        b.at_high = saltus_ode_root(p, j);
        b.root = saltus_ode_signs_differ(b.at_low, b.at_high) ? j : -1;
    }
    return saltus_ode_close(p, o, size, &b);
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
        saltus_ode_bracket b = {
            before, theta, j, o->root[SALTUS_AT(n + j)], o->root[SALTUS_AT(2 * n + j)], 1};
        if (saltus_ode_signs_differ(b.at_low, b.at_high)) {
            const double high = saltus_ode_close(p, o, size, &b);
            if ((first < 0.0 || high < first) && saltus_ode_turns(p, o, size, high)) {
                first = high;
            }
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
            return saltus_ode_close_turn(p, o, size, low, high);
        }
        before = theta;
    }
    return 2.0;
}

#endif
