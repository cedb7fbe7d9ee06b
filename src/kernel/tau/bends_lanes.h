/** Laws that may bend within a leap, in the slots of tau_lanes.h: bends.h over lanes. */
#ifndef SALTUS_KERNEL_TAU_BENDS_LANES_H
#define SALTUS_KERNEL_TAU_BENDS_LANES_H

#include "kernel/ssa/direct_lanes.h"
#include "kernel/tau/formulas.h"
#include "kernel/tau/slots.h"

/* saltus_leap_sway */
SALTUS_FN void saltus_leaps_sway(const saltus_tables *n, saltus_leaps *b, const saltus_f64 *a)
{
    const saltus_f64 none = saltus_splat(0.0);
    for (int row = 0; row < n->n_bends; ++row) {
        const int8_t *ways = n->bend_way + (int64_t)row * n->n_reactions;
        saltus_f64 *sway = b->sway + (int64_t)row * n->n_species;
        for (int s = 0; s < n->n_species; ++s) {
            sway[s] = none;
        }
        for (int r = 0; r < n->n_reactions; ++r) {
            const saltus_f64 leaps = saltus_select(SALTUS_LT(none, a[r]), a[r], none);
            for (int c = n->change_row[r]; c < n->change_row[r + 1] && ways[r] != 0; ++c) {
                const int s = n->change_species[c];
                sway[s] = sway[s] + saltus_tau_sway(ways[r], (double)n->change_amount[c], leaps);
            }
        }
    }
}

/* saltus_leap_lean, into the rows of the middle. */
SALTUS_FN void saltus_leaps_lean(const saltus_tables *n, saltus_leaps *b, const saltus_f64 *v,
                                 saltus_f64 step, int row, double side)
{
    const saltus_f64 *sway = b->sway + (int64_t)row * n->n_species;
    for (int s = 0; s < n->n_species; ++s) {
        b->middle[s] = saltus_tau_leaning(v[s], b->trend[s], sway[s], step, side);
    }
    for (int i = n->n_species; i < n->n_rows; ++i) {
        b->middle[i] = v[i];
    }
    saltus_lanes_run_rules(n, b->middle);
}

/* saltus_leap_leaning */
SALTUS_FN saltus_f64 saltus_leaps_leaning(const saltus_tables *n, saltus_leaps *b, int r)
{
    const saltus_f64 none = saltus_splat(0.0);
    saltus_mask wrong = SALTUS_LT(none, none);
    const saltus_f64 a = saltus_lanes_propensity(n, saltus_splat(n->rate[r]), b->middle, r, &wrong);
    return saltus_select(SALTUS_LE(none, a), a, none);
}

/* saltus_leap_look */
SALTUS_FN void saltus_leaps_look(const saltus_tables *n, saltus_leaps *b, int chunk,
                                 saltus_f64 step)
{
    const saltus_f64 *v = b->v + chunk * n->n_rows, *a = b->a + chunk * n->n_reactions;
    saltus_f64 *peak = b->peak + chunk * n->n_bending;
    for (int i = 0; i < n->n_bending; ++i) {
        peak[i] = b->trough[i] = saltus_abs(a[n->bending[i]]);
    }
    for (int row = 0; row < n->n_bends; ++row) {
        for (int k = 0; k < SALTUS_BEND_LOOKS; ++k) {
            saltus_leaps_lean(n, b, v, step, row, saltus_tau_side(k));
            for (int i = 0; i < n->n_bending; ++i) {
                if (n->bend_of[i] == row) {
                    const saltus_f64 x = saltus_leaps_leaning(n, b, n->bending[i]);
                    peak[i] = saltus_tau_larger(peak[i], x);
                    b->trough[i] = -saltus_tau_larger(-b->trough[i], -x);
                }
            }
        }
    }
}

/* saltus_leap_bends */
SALTUS_FN saltus_mask saltus_leaps_bends(const saltus_tables *n, const saltus_tau *tau,
                                         saltus_leaps *b, int chunk, saltus_f64 step)
{
    const saltus_f64 *a = b->a + chunk * n->n_reactions, *peak = b->peak + chunk * n->n_bending;
    const saltus_f64 most = saltus_splat(saltus_tau_relaxes(tau));
    saltus_f64 steepness = saltus_splat(0.0);
    saltus_mask bends = SALTUS_LT(most, most);
    saltus_leaps_look(n, b, chunk, step);
    for (int i = 0; i < n->n_bending; ++i) {
        const int r = n->bending[i];
        const int64_t first = (int64_t)n->bend_of[i] * n->n_species;
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            const int s = n->change_species[c];
            if (n->bend[first + s] != 0.0) {
                const saltus_f64 reach = saltus_tau_reach(b->sway[first + s], step);
                steepness = steepness + saltus_tau_steepness((double)n->change_amount[c], peak[i],
                                                             b->trough[i], reach);
            }
        }
        bends |= saltus_tau_bends(step, saltus_abs(a[r]), peak[i], b->trough[i]);
    }
    return bends | SALTUS_LT(most, steepness * step);
}

/* The weights of critical reactions, and their sum: of a law that may bend, as much as it may
 * become in the leap. */
SALTUS_FN saltus_f64 saltus_leaps_weigh(const saltus_tables *n, const saltus_tau *tau,
                                        saltus_leaps *b, int chunk, saltus_mask here)
{
    const saltus_f64 *v = b->v + chunk * n->n_rows, *a = b->a + chunk * n->n_reactions;
    const saltus_f64 none = saltus_splat(0.0);
    saltus_f64 *peak = b->peak + chunk * n->n_bending, sum = none;
    for (int r = 0; r < n->n_reactions; ++r) {
        const int i = n->bending_of[r];
        if (i >= 0) {
            const saltus_mask critical = saltus_tau_critical(n, tau->n_critical, v, r, here);
            peak[i] = saltus_select(critical, saltus_tau_larger(saltus_abs(a[r]), peak[i]),
                                    saltus_splat(-1.0));
        }
        const saltus_f64 weight = i >= 0 ? peak[i] : -a[r];
        sum = sum + saltus_select(SALTUS_LT(none, weight), weight, none);
    }
    return sum;
}

/* saltus_leap_unbent */
SALTUS_OUTLINE void saltus_leaps_unbend(const saltus_tables *n, const saltus_tau *tau,
                                        saltus_leaps *b, int chunk)
{
    const saltus_mask here = b->left[chunk];
    const saltus_f64 left = b->stop[chunk] - b->t[chunk];
    saltus_f64 step = b->step[chunk], within = saltus_select(SALTUS_LT(step, left), step, left);
    saltus_leaps_sway(n, b, b->a + chunk * n->n_reactions);
    for (saltus_mask open = here; saltus_any(open);) {
        open &= saltus_leaps_bends(n, tau, b, chunk, within);
        within = saltus_select(open, 0.5 * within, within);
        step = saltus_select(open, within, step);
        open &= ~SALTUS_LT(within * b->total[chunk], saltus_splat(SALTUS_SHORT_LEAP));
    }
    b->step[chunk] = step;
    b->critical_total[chunk] = saltus_leaps_weigh(n, tau, b, chunk, here);
}

#endif
