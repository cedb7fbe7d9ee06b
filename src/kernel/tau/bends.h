/** Laws within a leap of tau.h, for one trajectory: what they are in its middle, and how short it
 * has to be where they may bend, which a look at where it may lead to tells. */
#ifndef SALTUS_KERNEL_TAU_BENDS_H
#define SALTUS_KERNEL_TAU_BENDS_H

#include "kernel/ssa/propensities.h"
#include "kernel/tau/formulas.h"
#if SALTUS_THINNED
#include "kernel/tau/tau_thinned.h"
#endif

/* Whether laws may bend within a leap: 0 leaves out what that takes. */
#ifndef SALTUS_BENDS
#define SALTUS_BENDS SALTUS_PROGRAMS
#endif

/* Whether the law of reaction r may bend within a leap. */
SALTUS_FN int saltus_leap_may_bend(const saltus_tables *n, int r)
{
    return SALTUS_BENDS && n->n_bending > 0 && n->bending_of[r] >= 0;
}

/* Propensity r in the middle of a leap of `length`, of the counts in p->v: 0 where it is none, and
 * the reaction would idle. */
SALTUS_FN double saltus_leap_middle(saltus_trajectory *p, int r, double length)
{
    (void)length;
#if SALTUS_THINNED
    if (p->n->n_thinned > 0 && p->n->thinned_of[r] >= 0) {
        const int i = p->n->thinned_of[r];
        return saltus_leap_mean(p, i, saltus_leap_law(p, i, p->t), length);
    }
#endif
    const double a = saltus_propensity(p, r);
    return SALTUS_RARE(p->n->idles && !(a >= 0.0)) && saltus_tau_lacks(p->n, p->v, r, -1) ? 0.0 : a;
}

/* Rows from the counts again. */
SALTUS_FN void saltus_leap_undo(saltus_trajectory *p)
{
    for (int s = 0; s < p->n->n_species; ++s) {
        p->v[SALTUS_AT(s)] = (double)p->x[SALTUS_AT(s)];
    }
    saltus_trajectory_run_live_rules(p);
}

/* What moves laws that may bend, by reactions that leap. */
SALTUS_FN void saltus_leap_sway(const saltus_tables *n, const saltus_direct *d, saltus_leap *l)
{
    for (int row = 0; row < n->n_bends; ++row) {
        const int64_t first = (int64_t)row * n->n_species;
        const int8_t *ways = n->bend_way + (int64_t)row * n->n_reactions;
        for (int s = 0; s < n->n_species; ++s) {
            l->sway[SALTUS_AT(first + s)] = 0.0;
        }
        for (int r = 0; r < n->n_reactions; ++r) {
            const double a = d->values[SALTUS_AT(r)];
            if (ways[r] == 0 || !(a > 0.0) || l->critical[SALTUS_AT(r)]) {
                continue;
            }
            for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
                const int64_t at = SALTUS_AT(first + n->change_species[c]);
                l->sway[at] += saltus_tau_sway(ways[r], (double)n->change_amount[c], a);
            }
        }
    }
}

/* Rows in which what laws and triggers of a row read is moved to a side; species `only` alone by
 * its own variance, if that is not below 0; with the drift or without it. */
SALTUS_FN void saltus_leap_lean(saltus_trajectory *p, const saltus_leap *l, double step, int row,
                                int only, int drifts, double side)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species; ++s) {
        const int64_t at = SALTUS_AT(s);
        const double sway = only < 0    ? l->sway[SALTUS_AT((int64_t)row * n->n_species + s)]
                            : only == s ? l->spread[at]
                                        : 0.0;
        p->v[at] =
            saltus_tau_leaning((double)p->x[at], drifts ? l->trend[at] : 0.0, sway, step, side);
    }
    saltus_trajectory_run_live_rules(p);
}

/* Take what propensity r of the rows is in the leap into the most and the least that were seen of
 * that law; 0 where it is none. */
SALTUS_FN void saltus_leap_see(saltus_trajectory *p, saltus_direct *d, int r, double *peak,
                               double *trough)
{
    double low, high;
#if SALTUS_THINNED
    if (p->n->n_thinned > 0 && p->n->thinned_of[r] >= 0) {
        const saltus_interval s = saltus_thinned_interval(p, d, p->n->thinned_of[r]);
        low = s.lo;
        high = s.hi;
    } else
#endif
    {
        low = high = saltus_leap_middle(p, r, 0.0);
    }
    (void)d;
    *peak = saltus_tau_larger(*peak, high >= 0.0 ? high : 0.0);
    *trough = -saltus_tau_larger(-*trough, low >= 0.0 ? -low : 0.0);
}

/* The most and the least of laws that may bend, where a leap may lead to. */
SALTUS_FN void saltus_leap_look(saltus_trajectory *p, saltus_direct *d, saltus_leap *l, double step)
{
    const saltus_tables *n = p->n;
    for (int i = 0; i < n->n_bending; ++i) {
        l->peak[SALTUS_AT(i)] = l->trough[SALTUS_AT(i)] = d->values[SALTUS_AT(n->bending[i])];
    }
#if SALTUS_THINNED
    if (n->n_thinned > 0) {
        saltus_leap_foresee(p, d, step);
    }
#endif
    for (int row = 0; row < n->n_bends; ++row) {
        for (int k = 0; k < SALTUS_BEND_LOOKS && saltus_row_laws(n, row) > 0; ++k) {
            saltus_leap_lean(p, l, step, row, -1, 1, saltus_tau_side(k));
            for (int i = 0; i < n->n_bending; ++i) {
                if (n->bend_of[i] == row) {
                    saltus_leap_see(p, d, n->bending[i], &l->peak[SALTUS_AT(i)],
                                    &l->trough[SALTUS_AT(i)]);
                }
            }
        }
    }
}

/* Whether some law bends in a leap of so long. */
SALTUS_FN int saltus_leap_bends(saltus_trajectory *p, saltus_direct *d, saltus_leap *l, double step)
{
    const saltus_tables *n = p->n;
    double steepness = 0.0;
    int bends = 0;
    if (n->n_bending == 0) {
        return 0;
    }
    saltus_leap_look(p, d, l, step);
    for (int i = 0; i < n->n_bending && !bends; ++i) {
        const int r = n->bending[i];
        const int64_t first = (int64_t)n->bend_of[i] * n->n_species;
        const double peak = l->peak[SALTUS_AT(i)], trough = l->trough[SALTUS_AT(i)];
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            const int s = n->change_species[c];
            if (n->bend[first + s] != 0.0) {
                const double reach = saltus_tau_reach(l->sway[SALTUS_AT(first + s)], step);
                steepness += saltus_tau_steepness((double)n->change_amount[c], peak, trough, reach);
            }
        }
        bends = saltus_tau_bends(step, d->values[SALTUS_AT(r)], peak, trough) != 0;
    }
    return bends || saltus_tau_relaxes(&l->tau) < steepness * step;
}

/* Whether a condition of a row of directions turns where what it reads is moved to some side, as
 * saltus_leap_lean has it; without the drift, too, which may lead back. */
SALTUS_FN int saltus_leap_turns(saltus_trajectory *p, const saltus_leap *l, double step, int row,
                                int only)
{
    const saltus_tables *n = p->n;
    for (int k = 0; k < 2 * SALTUS_WAVER_LOOKS; ++k) {
        const int look = k / 2;
        const double side =
            look < 2 ? SALTUS_WAVER_SIDE * saltus_tau_side(look) : saltus_tau_side(look - 2);
        saltus_leap_lean(p, l, step, row, only, k % 2, side);
        for (int i = 0; i < n->n_wavering; ++i) {
            if (n->waver_of[i] == row && saltus_trajectory_holds(p, i) != l->holds[SALTUS_AT(i)]) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether a trigger wavers in a leap of so long: one of whose conditions turns, and maybe back,
 * where the leap may lead to, would be missed, or come late. What it reads is moved in the
 * directions of its row, and where others share that, each species by itself, too. */
SALTUS_FN int saltus_leap_wavers(saltus_trajectory *p, const saltus_leap *l, double step)
{
    const saltus_tables *n = p->n;
    for (int row = 0; SALTUS_EVENTS && n->n_wavering > 0 && row < n->n_bends; ++row) {
        const int conditions = saltus_row_conditions(n, row);
        const int is_shared = conditions + saltus_row_laws(n, row) > 1;
        if (conditions > 0 && saltus_leap_turns(p, l, step, row, -1)) {
            return 1;
        }
        for (int s = 0; s < n->n_species && conditions > 0 && is_shared; ++s) {
            if (n->bend[(int64_t)row * n->n_species + s] != 0.0 &&
                saltus_leap_turns(p, l, step, row, s)) {
                return 1;
            }
        }
    }
    return 0;
}

/** The step within which no law bends and no trigger wavers, or a shorter leap than pays; `left` is
 * left to the target.
 */
SALTUS_OUTLINE double saltus_leap_unbent(saltus_trajectory *p, saltus_direct *d, saltus_leap *l,
                                         double step, double total, double left)
{
    double within = step < left ? step : left;
    for (int i = 0; SALTUS_EVENTS && i < p->n->n_wavering; ++i) {
        l->holds[SALTUS_AT(i)] = (uint8_t)saltus_trajectory_holds(p, i);
    }
    saltus_leap_sway(p->n, d, l);
    while (saltus_leap_bends(p, d, l, within) || saltus_leap_wavers(p, l, within)) {
        step = within = 0.5 * within;
        if (within * total < SALTUS_SHORT_LEAP) {
            break;
        }
    }
    saltus_leap_undo(p);
    return step;
}

#endif
