/**
 * Whether a trigger may turn within a step, over lanes: steps in which none does are told from
 * those in which turns.h looks closer. Whoever includes it has defined saltus_ode_context and
 * saltus_ode_roots_of(context, time, y, now), which gives the lanes where some trigger is another
 * than it was, in the state of components y, and sets now[j] to what root j of the tables is there.
 */
#ifndef SALTUS_KERNEL_ODE_ROOTS_H
#define SALTUS_KERNEL_ODE_ROOTS_H

/* In a step of size h from time t, up to share `end`: looks where saltus_ode_find_turn does, and
 * finds all that it would look at further. Overwrites y, a state, and roots[3][n_roots]. */
SALTUS_FN saltus_mask saltus_ode_may_turn(saltus_ode_context *c, const saltus_ode_memory *m,
                                          saltus_f64 t, saltus_f64 h, saltus_f64 end, int n_roots,
                                          saltus_f64 *roots, saltus_f64 *y)
{
    saltus_f64 *const before = roots, *const last = roots + n_roots, *const now = last + n_roots;
    saltus_mask may = SALTUS_AS_I64(t) & 0;
    SALTUS_ONE_BY_ONE
    for (int k = 0; k <= SALTUS_ODE_CHECKS && saltus_any(~may); ++k) {
        const saltus_f64 theta =
            k == SALTUS_ODE_CHECKS ? end : end * (double)k / (double)SALTUS_ODE_CHECKS;
        saltus_f64 behind;
        saltus_ode_interpolate(m, h, theta, y);
        const saltus_mask turned = saltus_ode_roots_of(c, t + theta * h, y, now);
        may |= k > 0 ? turned : may;
        for (int j = 0; j < n_roots; ++j) {
            may |= k > 0 ? saltus_ode_signs_differ(last[j], now[j]) : may;
            may |= k > 1 ? saltus_ode_has_vertex(before[j], last[j], now[j], &behind) : may;
            before[j] = last[j];
            last[j] = now[j];
        }
    }
    return may;
}

#endif
