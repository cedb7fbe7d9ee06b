/**
 * The formulas of tau-leaping, over lanes or over one number: the steps that a leap may take and
 * how it follows the propensities in its middle. tau.h and tau_lanes.h call them, each with loops
 * of its own: one trajectory branches where lanes mask, and it keeps changes as integers.
 *
 * The step (Y. Cao, D. T. Gillespie, L. R. Petzold, J. Chem. Phys. 124 (2006) 044109,
 * doi:10.1063/1.2159468): with mu_s and sigma_s^2 the mean and the variance of the change of
 * species s per time by reactions that are not critical, and bound_s = max(epsilon x_s / g_s, 1),
 *
 *     1 / tau = max over s of max(|mu_s| / bound_s, sigma_s^2 / bound_s^2)            (eq. 33)
 *
 * and no less than the relaxation that SALTUS_RELAXED allows. Rates are compared, because times
 * would take a division each.
 */
#ifndef SALTUS_KERNEL_TAU_FORMULAS_H
#define SALTUS_KERNEL_TAU_FORMULAS_H

#include "kernel/base/poisson.h"
#include "kernel/ssa/state.h"

SALTUS_FN saltus_f64 saltus_tau_larger(saltus_f64 a, saltus_f64 b)
{
    return saltus_select(SALTUS_LT(a, b), b, a);
}

/** The function g of a species: how many times faster than its count a propensity may change. With
 * `own` of its molecules among the reactants: order / own sum of x / (x - m), m < own. */
SALTUS_FN saltus_f64 saltus_tau_order(double order, int own, saltus_f64 x)
{
    if (own <= 1) {
        return saltus_splat(order);
    }
    saltus_f64 sum = saltus_splat(own);
    for (int m = 1; m < own; ++m) {
        sum = sum + (double)m / saltus_tau_larger(x - (double)m, saltus_splat(1.0));
    }
    return order / own * sum;
}

/** Where one of the lanes `fires` has too few molecules for reaction r, of the counts v. */
SALTUS_FN saltus_mask saltus_tau_lacks(const saltus_tables *n, const saltus_f64 *v, int r,
                                       saltus_mask fires)
{
    saltus_mask lacks = fires & 0;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const double least = -(double)n->change_amount[c];
        lacks |= fires & SALTUS_LT(v[SALTUS_AT(n->change_species[c])], saltus_splat(least));
    }
    return lacks;
}

/** Where reaction r is critical among the lanes `fires`: fewer than n_critical firings may exhaust
 * a species that it takes from, or double one that a law or a trigger reads, of the counts v. The
 * former are the paper's. What the latter make would come at the ends of leaps, and live too long.
 */
SALTUS_FN saltus_mask saltus_tau_critical(const saltus_tables *n, int n_critical,
                                          const saltus_f64 *v, int r, saltus_mask fires)
{
    saltus_mask critical = fires & 0;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int64_t amount = n->change_amount[c];
        const int s = n->change_species[c];
        if (amount < 0 || n->order[s] > 0.0) {
            const double few = (double)n_critical * (double)(amount < 0 ? -amount : amount);
            critical |= fires & SALTUS_LT(v[SALTUS_AT(s)], saltus_splat(few));
        }
    }
    return critical;
}

/** Add what reaction r of propensity a makes of the mean (drift) and the variance (spread) of the
 * change of species, per time. */
SALTUS_FN void saltus_tau_add(const saltus_tables *n, int r, saltus_f64 a, saltus_f64 *drift,
                              saltus_f64 *spread)
{
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int64_t s = SALTUS_AT(n->change_species[c]);
        const double amount = (double)n->change_amount[c];
        const saltus_f64 mean = amount * a;
        drift[s] = drift[s] + mean;
        spread[s] = spread[s] + amount * mean;
    }
}

/** The larger of `fastest` and the rate that a species of x molecules asks for, of saltus_tau_order
 * g. *drift becomes its loss over its bound, per time: exact for single molecules, else more. */
SALTUS_FN saltus_f64 saltus_tau_bound(const saltus_tau *tau, saltus_f64 g, saltus_f64 x,
                                      saltus_f64 spread, saltus_f64 *drift, saltus_f64 fastest)
{
    const saltus_f64 one = saltus_splat(1.0), none = saltus_splat(0.0);
    const saltus_f64 share = g / (tau->epsilon * x);
    const saltus_f64 per_bound = saltus_select(SALTUS_LT(share, one), share, one);
    const saltus_f64 by_drift = saltus_abs(*drift) * per_bound;
    const saltus_f64 by_spread = spread * per_bound * per_bound;
    fastest = saltus_tau_larger(saltus_tau_larger(fastest, by_drift), by_spread);
    const saltus_f64 loss = 0.5 * (spread - *drift);
    *drift = saltus_select(SALTUS_LT(none, loss), loss * per_bound, none);
    return fastest;
}

/** The relaxation of reaction r per time: the losses of the species that it changes. */
SALTUS_FN saltus_f64 saltus_tau_relaxation(const saltus_tables *n, int r, const saltus_f64 *loss)
{
    saltus_f64 sum = saltus_splat(0.0);
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        sum = sum + loss[SALTUS_AT(n->change_species[c])];
    }
    return sum;
}

/** The step by the fastest rate of a species and the fastest relaxation; infinity if both are 0. */
SALTUS_FN saltus_f64 saltus_tau_step(saltus_f64 fastest, saltus_f64 relaxation)
{
    return 1.0 / saltus_tau_larger(fastest, relaxation * (1.0 / SALTUS_RELAXED));
}

/** How far a species is moved in a leap by some standard deviations of that signed variance per
 * time.
 */
SALTUS_FN saltus_f64 saltus_tau_reach(saltus_f64 sway, saltus_f64 step)
{
    const saltus_f64 reach = SALTUS_BEND_DEVIATIONS * saltus_sqrt(saltus_abs(sway) * step);
    return saltus_select(SALTUS_LT(sway, saltus_splat(0.0)), -reach, reach);
}

/** What reaction r's firings, of propensity a, add to that of a species of which they change so
 * many.
 */
SALTUS_FN saltus_f64 saltus_tau_sway(int way, double amount, saltus_f64 a)
{
    return (way * amount * (amount < 0.0 ? -amount : amount)) * a;
}

/** By how much a state may relax in a leap where laws bend. */
SALTUS_FN double saltus_tau_relaxes(const saltus_tau *tau)
{
    const double share = SALTUS_BEND_RELAXED * SALTUS_RELAXED * tau->epsilon;
    return share < SALTUS_BEND_MOST ? share : SALTUS_BEND_MOST;
}

/** How far species are moved when a leap looks at laws for the k-th time: 1, -1, 1/2 … of how far
 * they may come. */
SALTUS_FN double saltus_tau_side(int k)
{
    return (k % 2 == 0 ? 1.0 : -1.0) / (double)(1 << k / 2);
}

/** A count, of that mean change per time, `side` of how far it may come from x; whole, not below 0.
 */
SALTUS_FN saltus_f64 saltus_tau_leaning(saltus_f64 x, saltus_f64 trend, saltus_f64 sway,
                                        saltus_f64 step, double side)
{
    const saltus_f64 none = saltus_splat(0.0);
    const double size = side < 0.0 ? -side : side, share = size < 1.0 ? size : 1.0;
    const saltus_f64 drift = share * saltus_select(SALTUS_EQ(trend, none), none, trend * step);
    return saltus_tau_larger(saltus_floor(x + drift + side * saltus_tau_reach(sway, step) + 0.5),
                             none);
}

/** Where a law bends within a leap: from what it is before to the most and the least of what it was
 * seen to be. */
SALTUS_FN saltus_mask saltus_tau_bends(saltus_f64 step, saltus_f64 before, saltus_f64 peak,
                                       saltus_f64 trough)
{
    const saltus_f64 change = saltus_tau_larger(peak - before, before - trough);
    return SALTUS_LT(SALTUS_BEND_CHANGE * before, change) &
           SALTUS_LT(saltus_splat(SALTUS_BEND_FIRINGS), change * step);
}

/** What that of reaction r's law, over a species that reaches so far to both sides, adds to the
 * rate at which the state relaxes: `amount` molecules change it back. */
SALTUS_FN saltus_f64 saltus_tau_steepness(double amount, saltus_f64 peak, saltus_f64 trough,
                                          saltus_f64 reach)
{
    const saltus_f64 none = saltus_splat(0.0);
    const saltus_f64 far = saltus_abs(reach);
    const saltus_f64 steep = (0.5 * (amount < 0.0 ? -amount : amount)) * (peak - trough) / far;
    return saltus_select(SALTUS_LT(none, far), steep, none);
}

/* Candidates of critical reactions come so many times as often as before the leap they would fire;
 * more than their propensities grow by in it. */
#define SALTUS_CRITICAL_MARGIN 1.125

/** Where a candidate fires, of a critical reaction of that weight when it was drawn, its
 * propensity, which is `end` where it comes: thinning, by a word. */
SALTUS_FN saltus_mask saltus_tau_accepts(saltus_u64 word, saltus_f64 weight, saltus_f64 end)
{
    const saltus_f64 u = SALTUS_TO_F64(SALTUS_AS_I64(word)) * 0x1p-32;
    return SALTUS_LT(u * (SALTUS_CRITICAL_MARGIN * weight), end);
}

/** `exact` after a leap: exact steps to come, or, below 0, how many leaps in a row did not pay. One
 * of few firings did not if a critical reaction ended it, and if a stop did, it tells nothing. */
SALTUS_FN saltus_i64 saltus_tau_after_leap(saltus_i64 exact, saltus_mask few, saltus_mask one,
                                           saltus_mask stopped)
{
    return saltus_select_i64(few & stopped, exact, few & one & (exact - 1));
}

/** Where leaps have not paid for so long that exact steps follow. */
SALTUS_FN saltus_mask saltus_tau_gives_up(saltus_i64 exact)
{
    return SALTUS_LE(exact, saltus_splat_i64(-SALTUS_POOR_LEAPS));
}

/** `exact` after an exact step: after the last of them, one poor leap is enough for more. */
SALTUS_FN saltus_i64 saltus_tau_after_step(saltus_i64 exact)
{
    const saltus_i64 one = saltus_splat_i64(1);
    return saltus_select_i64(SALTUS_LT(one, exact), exact - one,
                             saltus_splat_i64(1 - SALTUS_POOR_LEAPS));
}

/** By how many firings those of a leap's second half, of which `second` were drawn, differ from
 * what the propensity in its middle asks for; fewer than 0: less. That is their mean; in part they
 * go with what was drawn, so that the half, rounded, has the variance of a Poisson variate of its
 * new mean: exactly while they are less than one firing and a tenth of the leap's. Where they are
 * more, half of them go with it. Where none was drawn, none is taken away. */
SALTUS_FN saltus_f64 saltus_tau_more(saltus_f64 length, saltus_f64 before, saltus_f64 middle,
                                     saltus_f64 second)
{
    const saltus_f64 more = length * (middle - before), mean = length * before,
                     least = saltus_splat(0x1p-100), one = saltus_splat(1.0),
                     half = 0.5 * saltus_select(SALTUS_LT(mean, least), least, mean);
#if SALTUS_LANES == 1
    const double per_half = saltus_divide(1.0, half);
#else
    const saltus_f64 per_half = one / half;
#endif
    const saltus_f64 share = second * per_half, size = saltus_abs(more), tenth = 0.2 * half;
    const saltus_f64 most = saltus_select(SALTUS_LT(tenth, one), tenth, one);
    const saltus_f64 part = 0.5 * saltus_select(SALTUS_LT(size, most), size, most);
    const saltus_f64 fewer = share + part * (share * (one + per_half - share)),
                     further = one + part * (share - one);
    return more * saltus_select(SALTUS_LT(more, saltus_splat(0.0)), fewer, further);
}

/** So many more of a law that may bend: where three quarters or more of it are left, as above; else
 * each firing stays with the same probability, first of the second half, then of the first. */
SALTUS_FN saltus_f64 saltus_tau_more_bent(saltus_f64 more, saltus_f64 before, saltus_f64 middle,
                                          saltus_f64 first, saltus_f64 second)
{
    const saltus_f64 twice = middle + middle, one = saltus_splat(1.0);
#if SALTUS_LANES == 1
    const double stays = saltus_divide(twice, before);
#else
    const saltus_f64 stays = twice / before;
#endif
    const saltus_f64 some = second * (stays - (one + one)), most = first * (stays - one) - second;
    const saltus_f64 less = saltus_select(SALTUS_LT(stays, one), most, some);
    return saltus_select(SALTUS_LT(twice + twice, 3.0 * before), less, more);
}

/** The second half's firings: those drawn and so many more, rounded randomly by a word, which takes
 * back no more than `most`. */
SALTUS_FN saltus_f64 saltus_tau_whole(saltus_f64 more, saltus_u64 word, saltus_f64 second,
                                      saltus_f64 most)
{
    return second + saltus_tau_larger(saltus_round_randomly(more, word), -most);
}

#endif
