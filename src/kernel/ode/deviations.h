/**
 * Where steps of method hybrid have to be shorter than their mean path asks for: laws that bend,
 * and triggers that waver, within the deviations of noise.h; and where a trigger is so near that
 * what flows has to fire. Directions are those of saltus_find_bending.
 */
#ifndef SALTUS_KERNEL_ODE_DEVIATIONS_H
#define SALTUS_KERNEL_ODE_DEVIATIONS_H

#include "kernel/ode/steps.h"

/* How many components have deviations. */
SALTUS_FN int saltus_noise_size(const saltus_trajectory *p, const saltus_ode *o)
{
    return o->hybrid->n_real + p->n->n_rates;
}

/* A law may bend within the deviations of a step by this share of its mean over them, or by so many
 * firings in the step, of an event and of what flows. */
#define SALTUS_BEND_SHARE 0.02
#define SALTUS_BEND_EVENTS 3e-4
#define SALTUS_BEND_FLOWS 0.25
/* A trigger is near within half of so many firings, or so many. What is held flows again where it
 * is not within twice as many, either. */
#define SALTUS_NEAR_FIRINGS 8.0
/* A trigger may waver within so many standard deviations of a step in which less than one reaction
 * flows. */
#define SALTUS_WAVER_DEVIATIONS 3.5

/* The trajectory's rows as they are `far` deviations from the mean path at a share of the step. */
SALTUS_OUTLINE void saltus_noise_place(saltus_trajectory *p, saltus_ode *o, double share,
                                       double far, const double *deviation)
{
    const int m = saltus_noise_size(p, o);
    saltus_ode_dense_state(o, share);
    for (int j = 0; j < m; ++j) {
        const double x = o->w[j] + far * deviation[j];
        o->w[j] = j < o->hybrid->n_real && x < 0.0 ? 0.0 : x;
    }
    saltus_ode_place(p, o, p->t + o->theta * o->size, o->w);
}

/* Standard deviations of all components, of covariance var: in the directions of a row, or all
 * upward if that is below 0. */
SALTUS_FN void saltus_noise_along(const saltus_trajectory *p, const saltus_hybrid *h, int m,
                                  const double *var, int row, double *deviation)
{
    const saltus_tables *n = p->n;
    for (int j = 0; j < m; ++j) {
        const double sign =
            row < 0 || j >= h->n_real ? 1.0 : n->bend[(int64_t)row * n->n_species + h->real[j]];
        deviation[j] = sign * saltus_sqrt(var[j * m + j] > 0.0 ? var[j * m + j] : 0.0);
    }
}

/* Whether some law of a row of directions bends by more than that; of none, with row -1: laws may
 * bend, but do nothing unforeseen (saltus_find_bending). The means over deviations are by the
 * trapezoidal rule, along the directions that raise the laws, in steps of a quarter of a standard
 * deviation, or of a whole one where that is enough. */
SALTUS_OUTLINE int saltus_noise_row_bends(saltus_trajectory *p, saltus_ode *o, int m,
                                          const double *var, int row)
{
    const saltus_tables *n = p->n;
    saltus_hybrid *h = o->hybrid;
    const int n_laws = h->n_flowing + h->n_moving;
    const double length = o->theta * o->size, apart = row < 0 ? 1.0 : 0.25;
    double *deviation = h->vector, all = 0.0;
    int bends = 0, is_empty = 1;
    for (int i = 0; i < n_laws; ++i) {
        const int r = saltus_split_law(h, i), at = n->n_bending > 0 ? n->bending_of[r] : -1;
        const int is_here = n->law_program[r] >= 0 && (at < 0 ? -1 : n->bend_of[at]) == row;
        h->bend[2 * i] = is_here ? 0.0 : -1.0;
        is_empty &= !is_here;
    }
    if (is_empty) {
        return 0;
    }
    saltus_noise_along(p, h, m, var, row, deviation);
    for (int k = 0; k <= 8.0 / apart; ++k) { /* 0, then to both sides */
        const int nth = (k + 1) / 2;
        const double far = apart * nth, weight = saltus_exp(-0.5 * far * far);
        saltus_noise_place(p, o, o->theta, k % 2 == 0 ? far : -far, deviation);
        all += weight;
        for (int i = 0; i < n_laws; ++i) {
            double *bend = h->bend + (int64_t)2 * i;
            if (bend[0] >= 0.0) {
                const double x = saltus_propensity(p, saltus_split_law(h, i)),
                             a = x > 0.0 ? x : 0.0;
                bend[0] = k == 0 ? a : bend[0];
                bend[1] = (k == 0 ? 0.0 : bend[1]) + weight * a;
            }
        }
    }
    for (int i = 0; i < n_laws; ++i) {
        const double mean = h->bend[2 * i + 1] / all, bend = saltus_abs(mean - h->bend[2 * i]);
        bends |= h->bend[2 * i] >= 0.0 && bend > SALTUS_BEND_SHARE * mean &&
                 bend * length > (i < h->n_flowing ? SALTUS_BEND_FLOWS : SALTUS_BEND_EVENTS);
    }
    return bends;
}

/* Whether some law bends: laws follow the mean path, and what their means over deviations from it
 * differ from it by would be lost. Products bend little within a tenth of a count. */
SALTUS_OUTLINE int saltus_noise_bends(saltus_trajectory *p, saltus_ode *o, int m, const double *var)
{
    int bends = 0;
    for (int row = -1; row < p->n->n_bends && !bends; ++row) {
        bends = saltus_noise_row_bends(p, o, m, var, row);
    }
    return bends;
}

/* Remember which conditions hold in the rows as they are now. */
SALTUS_FN void saltus_noise_remember(saltus_trajectory *p, const saltus_hybrid *h)
{
    for (int i = 0; i < p->n->n_wavering; ++i) {
        h->holds[i] = (uint8_t)saltus_trajectory_holds(p, i);
    }
}

/* Whether some condition is otherwise in the rows than remembered: of a row of directions, or of
 * all if that is below 0. */
SALTUS_FN int saltus_noise_turned(saltus_trajectory *p, const saltus_hybrid *h, int row)
{
    const saltus_tables *n = p->n;
    for (int i = 0; i < n->n_wavering; ++i) {
        if ((row < 0 || n->waver_of[i] == row) && h->holds[i] != saltus_trajectory_holds(p, i)) {
            return 1;
        }
    }
    return 0;
}

/* Whether conditions of a row are otherwise than at the step's end so many deviations of these
 * directions away from where it begins and ends; `deviation` is one of these. */
SALTUS_OUTLINE int saltus_noise_row_wavers(saltus_trajectory *p, saltus_ode *o, int row,
                                           const double *deviation)
{
    for (int k = 0; k < 16; ++k) {
        const int quarters = k / 4 + 1;
        const double far = SALTUS_WAVER_DEVIATIONS * 0.25 * quarters;
        saltus_noise_place(p, o, k % 2 == 0 ? o->theta : 0.0, k / 2 % 2 == 0 ? far : -far,
                           deviation);
        if (saltus_noise_turned(p, o->hybrid, row)) {
            return 1;
        }
    }
    return 0;
}

/* Deviations along which the sum of what a row raises moves by one standard one; of one component
 * alone, if that is not below 0. All 0 where that has no variance. */
SALTUS_OUTLINE void saltus_noise_sum(const saltus_trajectory *p, const saltus_hybrid *h, int m,
                                     const double *var, int row, int only, double *deviation)
{
    const double *bend = p->n->bend + (int64_t)row * p->n->n_species;
    double variance = 0.0;
    for (int j = 0; j < m; ++j) {
        deviation[j] = 0.0;
        for (int i = 0; i < h->n_real; ++i) {
            const double sign = only < 0 ? bend[h->real[i]] : i == only ? 1.0 : 0.0;
            deviation[j] += var[j * m + i] * sign;
        }
    }
    for (int i = 0; i < h->n_real; ++i) {
        const double sign = only < 0 ? bend[h->real[i]] : i == only ? 1.0 : 0.0;
        variance += sign * deviation[i];
    }
    const double per = variance > 0.0 ? 1.0 / saltus_sqrt(variance) : 0.0;
    for (int j = 0; j < m; ++j) {
        deviation[j] *= per;
    }
}

/* Whether less than one reaction of those flows in the step that change what triggers read. */
SALTUS_OUTLINE int saltus_noise_is_short(saltus_trajectory *p, const saltus_ode *o)
{
    const saltus_hybrid *h = o->hybrid;
    double total = 0.0;
    for (int i = 0; i < h->n_flowing; ++i) {
        const int r = h->flowing[i];
        const double a = h->is_watched[r] ? saltus_propensity(p, r) : 0.0;
        total += a > 0.0 ? a : 0.0;
    }
    return total * o->theta * o->size < 1.0;
}

/* Whether some trigger wavers: events are looked for along the mean path and at the ends of steps,
 * so that what turns within deviations would be missed, or come late. The sum of what raises the
 * triggers of a row is looked along, and where several share it each count, from where the step
 * begins, too, since the mean path may lead away. */
SALTUS_OUTLINE int saltus_noise_wavers(saltus_trajectory *p, saltus_ode *o, int m,
                                       const double *var)
{
    const saltus_tables *n = p->n;
    saltus_hybrid *h = o->hybrid;
    double *deviation = h->vector;
    int wavers = 0;
    if (n->n_wavering == 0) {
        return 0;
    }
    saltus_noise_place(p, o, o->theta, 0.0, h->deviation);
    if (saltus_noise_is_short(p, o)) {
        return 0;
    }
    saltus_noise_remember(p, h);
    for (int row = 0; row < n->n_bends && !wavers; ++row) {
        const int conditions = saltus_row_conditions(n, row);
        const int is_shared = conditions + saltus_row_laws(n, row) > 1;
        for (int only = -1; only < h->n_real && conditions > 0 && !wavers; ++only) {
            if (only < 0 ||
                (is_shared && n->bend[(int64_t)row * n->n_species + h->real[only]] != 0.0)) {
                saltus_noise_sum(p, h, m, var, row, only, deviation);
                wavers = saltus_noise_row_wavers(p, o, row, deviation);
            }
        }
    }
    return wavers;
}

/* Whether a trigger is near to a reaction: whether a condition turns where it has fired so often,
 * or has not. */
SALTUS_OUTLINE int saltus_near_of(saltus_trajectory *p, const saltus_hybrid *h, int r)
{
    const saltus_tables *n = p->n;
    const int first = n->change_row[r], end = n->change_row[r + 1];
    const double most = (h->flows[r] == SALTUS_IS_HELD ? 2.0 : 1.0) * SALTUS_NEAR_FIRINGS;
    int is_near = 0;
    for (double far = 0.5 * SALTUS_NEAR_FIRINGS; far <= most && !is_near;
         far = far > 0.0 ? -far : -2.0 * far) {
        for (int c = first; c < end; ++c) {
            double *count = &p->v[n->change_species[c]];
            const double x = *count + far * (double)n->change_amount[c];
            h->counts[c - first] = *count;
            *count = x > 0.0 ? x : 0.0;
        }
        saltus_trajectory_run_live_rules(p);
        is_near = saltus_noise_turned(p, h, -1);
        for (int c = first; c < end; ++c) {
            p->v[n->change_species[c]] = h->counts[c - first];
        }
    }
    return is_near;
}

/* Whether a condition of a row of directions turns where all that it reads is moved as far as so
 * many firings of any reactions move it. */
SALTUS_OUTLINE int saltus_near_row(saltus_trajectory *p, const saltus_hybrid *h, int row,
                                   double firings)
{
    const saltus_tables *n = p->n;
    int is_near = 0;
    for (int side = 1; side >= -1 && !is_near; side -= 2) {
        for (int s = 0; s < n->n_species; ++s) {
            const double bend = n->bend[(int64_t)row * n->n_species + s];
            const double x = p->v[s] + side * firings * bend * h->reach[s];
            h->counts[s] = p->v[s];
            p->v[s] = x > 0.0 ? x : 0.0;
        }
        saltus_trajectory_run_live_rules(p);
        is_near = saltus_noise_turned(p, h, row);
        for (int s = 0; s < n->n_species; ++s) {
            p->v[s] = h->counts[s];
        }
    }
    return is_near;
}

/** Find the reactions that triggers are near to, into h->near, for saltus_split_check: where single
 * firings decide whether a threshold is crossed, and how often, they fire. The rows hold the state.
 */
SALTUS_OUTLINE void saltus_near_find(saltus_trajectory *p, saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    int is_near = n->n_bends == SALTUS_MOST_BENDS; /* of others' directions a row tells nothing */
    p->v[n->row_time] = p->t;
    saltus_trajectory_run_live_rules(p);
    saltus_noise_remember(p, h);
    for (int row = 0; row < n->n_bends && !is_near; ++row) {
        is_near = saltus_row_conditions(n, row) > 0 &&
                  saltus_near_row(p, h, row, 2.0 * SALTUS_NEAR_FIRINGS);
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        const int may_turn = is_near && h->is_watched[r] && saltus_split_may_flow(p, h, r);
        h->near[r] = (uint8_t)(may_turn ? saltus_near_of(p, h, r) : 0);
    }
    saltus_trajectory_run_live_rules(p);
}

#endif
