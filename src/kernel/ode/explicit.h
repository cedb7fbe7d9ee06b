/**
 * The explicit step, over lanes: the pair of Dormand and Prince of orders 5 and 4 (Hairer, Nørsett,
 * Wanner, Solving Ordinary Differential Equations I, 1993, section II.5,
 * doi:10.1007/978-3-540-78862-1). Whoever includes it has defined saltus_ode_context, what slopes
 * are computed from, and saltus_ode_slope_of(context, time, y, slope).
 */
#ifndef SALTUS_KERNEL_ODE_EXPLICIT_H
#define SALTUS_KERNEL_ODE_EXPLICIT_H

/** Memory of a step, [component]; k has 7 of them, of which k[0] is the slope at y. */
typedef struct saltus_ode_memory {
    int n;        /* components */
    int n_states; /* those behind them are hazards */
    int n_noisy;  /* counts with noise, whose errors need not be smaller: the first of them */
    double rtol, atol;
    double of_hazard; /* relative error of the hazard */
    const saltus_f64 *y;
    saltus_f64 *z, *w, *k, *e;
} saltus_ode_memory;

/* The larger of the sizes of two numbers. */
SALTUS_FN saltus_f64 saltus_ode_larger(saltus_f64 a, saltus_f64 b)
{
    const saltus_f64 x = saltus_abs(a), y = saltus_abs(b);
    return saltus_select(SALTUS_LT(y, x), x, y);
}

/* Errors are small beside the noise of a count when they are below this share of its root. */
#define SALTUS_NOISE_SHARE 0.01

/* What an error in component i is held against. The hazard is that of one event, whose error tells
 * relative to 1. */
SALTUS_FN saltus_f64 saltus_ode_scale(const saltus_ode_memory *m, int i, saltus_f64 a, saltus_f64 b)
{
    const saltus_f64 larger = saltus_ode_larger(a, b);
    const saltus_f64 own =
        i < m->n_states ? m->atol + m->rtol * larger : m->of_hazard * (1.0 + larger);
    return i < m->n_noisy ? own + SALTUS_NOISE_SHARE * saltus_sqrt(larger) : own;
}

/* The error of a step to z, of which component i has error e[i]: the root of the mean square of
 * errors over their scales. Not a number when some value is not finite. */
SALTUS_FN saltus_f64 saltus_ode_norm(const saltus_ode_memory *m, const saltus_f64 *e)
{
    saltus_f64 sum = saltus_splat(0.0);
    for (int i = 0; i < m->n; ++i) {
        const saltus_f64 z = m->z[SALTUS_AT(i)];
        const saltus_f64 x = e[SALTUS_AT(i)] / saltus_ode_scale(m, i, m->y[SALTUS_AT(i)], z);
        sum += x * x + 0.0 * z; /* of infinity: not a number */
    }
    return saltus_sqrt(sum / (double)(m->n > 0 ? m->n : 1));
}

/* Try a step of size h from time t: fills z, w, which is the state of the stage before the last,
 * k[1] to k[6], which is the slope at z, and the errors e. Returns the error, 1 being allowed. */
SALTUS_OUTLINE saltus_f64 saltus_ode_explicit(saltus_ode_context *c, const saltus_ode_memory *m,
                                              saltus_f64 t, saltus_f64 h)
{
    const int n = m->n;
    const saltus_f64 *const y = m->y;
    saltus_f64 *const w = m->w, *const z = m->z, *const e = m->e;
    saltus_f64 *const k0 = m->k, *const k1 = m->k + SALTUS_AT(n),
                      *const k2 = m->k + SALTUS_AT(2 * n);
    saltus_f64 *const k3 = m->k + SALTUS_AT(3 * n), *const k4 = m->k + SALTUS_AT(4 * n);
    saltus_f64 *const k5 = m->k + SALTUS_AT(5 * n), *const k6 = m->k + SALTUS_AT(6 * n);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_AT(i)] = y[SALTUS_AT(i)] + h * (0.2 * k0[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.2 * h, w, k1);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_AT(i)] =
            y[SALTUS_AT(i)] + h * (3.0 / 40.0 * k0[SALTUS_AT(i)] + 9.0 / 40.0 * k1[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.3 * h, w, k2);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_AT(i)] =
            y[SALTUS_AT(i)] + h * (44.0 / 45.0 * k0[SALTUS_AT(i)] - 56.0 / 15.0 * k1[SALTUS_AT(i)] +
                                   32.0 / 9.0 * k2[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.8 * h, w, k3);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_AT(i)] =
            y[SALTUS_AT(i)] +
            h * (19372.0 / 6561.0 * k0[SALTUS_AT(i)] - 25360.0 / 2187.0 * k1[SALTUS_AT(i)] +
                 64448.0 / 6561.0 * k2[SALTUS_AT(i)] - 212.0 / 729.0 * k3[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 8.0 / 9.0 * h, w, k4);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_AT(i)] =
            y[SALTUS_AT(i)] +
            h * (9017.0 / 3168.0 * k0[SALTUS_AT(i)] - 355.0 / 33.0 * k1[SALTUS_AT(i)] +
                 46732.0 / 5247.0 * k2[SALTUS_AT(i)] + 49.0 / 176.0 * k3[SALTUS_AT(i)] -
                 5103.0 / 18656.0 * k4[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + h, w, k5);
    for (int i = 0; i < n; ++i) {
        z[SALTUS_AT(i)] = y[SALTUS_AT(i)] +
                          h * (35.0 / 384.0 * k0[SALTUS_AT(i)] + 500.0 / 1113.0 * k2[SALTUS_AT(i)] +
                               125.0 / 192.0 * k3[SALTUS_AT(i)] -
                               2187.0 / 6784.0 * k4[SALTUS_AT(i)] + 11.0 / 84.0 * k5[SALTUS_AT(i)]);
    }
    saltus_ode_slope_of(c, t + h, z, k6);
    for (int i = 0; i < n; ++i) {
        e[SALTUS_AT(i)] =
            h * (71.0 / 57600.0 * k0[SALTUS_AT(i)] - 71.0 / 16695.0 * k2[SALTUS_AT(i)] +
                 71.0 / 1920.0 * k3[SALTUS_AT(i)] - 17253.0 / 339200.0 * k4[SALTUS_AT(i)] +
                 22.0 / 525.0 * k5[SALTUS_AT(i)] - 1.0 / 40.0 * k6[SALTUS_AT(i)]);
    }
    return saltus_ode_norm(m, e);
}

#endif
