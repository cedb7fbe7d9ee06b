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
    int n_amounts;     /* method ode: amounts, before other states, */
    double of_amounts; /* with an absolute error of their own */
    double of_hazard;  /* relative error of the hazard */
    const saltus_f64 *y;
    saltus_f64 *z, *w, *k, *e;
} saltus_ode_memory;

#define SALTUS_ODE_AMOUNTS(m) (SALTUS_DEVICE && !SALTUS_MEAN ? 0 : (m)->n_amounts)

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
    const double atol = i < SALTUS_ODE_AMOUNTS(m) ? m->of_amounts : m->atol;
    const saltus_f64 own =
        i < m->n_states ? atol + m->rtol * larger : m->of_hazard * (1.0 + larger);
    return i < m->n_noisy ? own + SALTUS_NOISE_SHARE * saltus_sqrt(larger) : own;
}

/* The error of a step to z, of which component i has error e[i]: the root of the mean square of
 * errors over their scales. Not a number when some value is not finite. */
SALTUS_FN saltus_f64 saltus_ode_norm(const saltus_ode_memory *m, const saltus_f64 *e)
{
    saltus_f64 sum = saltus_splat(0.0);
    for (int i = 0; i < SALTUS_ODE_N(m); ++i) {
        const saltus_f64 z = m->z[SALTUS_ODE_AT(i)];
        const saltus_f64 x =
            e[SALTUS_ODE_AT(i)] / saltus_ode_scale(m, i, m->y[SALTUS_ODE_AT(i)], z);
        sum += x * x + 0.0 * z; /* of infinity: not a number */
    }
    return saltus_sqrt(sum / (double)(SALTUS_ODE_N(m) > 0 ? SALTUS_ODE_N(m) : 1));
}

/* How fast errors would grow in a step of size h that was taken, whose last two stages are both at
 * its end: whether it is at the border of stability. */
SALTUS_FN saltus_mask saltus_ode_is_at_border(const saltus_ode_memory *m, saltus_f64 h)
{
    const saltus_f64 *const k5 = m->k + SALTUS_ODE_AT(5 * SALTUS_ODE_N(m)),
                            *const k6 = m->k + SALTUS_ODE_AT(6 * SALTUS_ODE_N(m));
    saltus_f64 slopes = saltus_splat(0.0), values = slopes;
    for (int i = 0; i < SALTUS_ODE_N(m); ++i) {
        const saltus_f64 z = m->z[SALTUS_ODE_AT(i)];
        const saltus_f64 part = 1.0 / saltus_ode_scale(m, i, m->y[SALTUS_ODE_AT(i)], z);
        const saltus_f64 a = (k6[SALTUS_ODE_AT(i)] - k5[SALTUS_ODE_AT(i)]) * part;
        const saltus_f64 b = (z - m->w[SALTUS_ODE_AT(i)]) * part;
        slopes += a * a;
        values += b * b;
    }
    return SALTUS_LT(saltus_splat(0.0), values) & SALTUS_LT(3.25 * 3.25 * values, h * h * slopes);
}

/* x to the power of -1/n, for x > 0, within 6 %: by n the exponent is divided, and the mantissa as
 * if it were part of it. What steers steps needs no more. */
SALTUS_FN saltus_f64 saltus_ode_inverse_root(saltus_f64 x, int n)
{
    const int64_t one = 0x3ff0000000000000;
    return SALTUS_AS_F64(saltus_splat_i64(one + one / n) - SALTUS_AS_I64(x) / n);
}

/* By how many times the next step is longer than one that was taken, of such an error. */
SALTUS_FN saltus_f64 saltus_ode_growth(saltus_f64 error, int order)
{
    const saltus_f64 most = saltus_splat(5.0), least = saltus_splat(0.2);
    saltus_f64 more = 0.9 * saltus_ode_inverse_root(error, order);
    more = saltus_select(SALTUS_LT(saltus_splat(1e-8), error), more, most);
    more = saltus_select(SALTUS_LT(most, more), most, more);
    return saltus_select(SALTUS_LT(more, least), least, more);
}

/* The largest step that is worth trying: up to a special time, and not far beyond the next
 * reaction, `wait` being the hazard that is missing to it. */
SALTUS_FN saltus_f64 saltus_ode_room(saltus_f64 until_special, saltus_f64 wait, saltus_f64 rate)
{
    const saltus_f64 room = 1.25 * wait / rate;
    return saltus_select(SALTUS_LT(saltus_splat(0.0), rate) & SALTUS_LT(room, until_special), room,
                         until_special);
}

/* A step below this does not move the time. */
SALTUS_FN saltus_f64 saltus_ode_least(saltus_f64 t)
{
    return 0x1p-50 * saltus_abs(t) + 1e-300;
}

/* The error of a step of size h from time t that was tried: as it is, but none is allowed where the
 * hazard at its end is far beyond the next reaction's. Its errors are a share of what it is there,
 * and a hazard that is 0 at first, as after a reaction that sets an age to 0, says nothing of how
 * far that is. */
SALTUS_FN saltus_f64 saltus_ode_error_of(saltus_f64 error, saltus_f64 t, saltus_f64 h,
                                         saltus_f64 hazard, saltus_f64 target)
{
    const saltus_mask is_far = SALTUS_LT(32.0 * (1.0 + target), hazard) &
                               SALTUS_LT(target, saltus_splat(SALTUS_INFINITY)) &
                               SALTUS_LT(20.0 * saltus_ode_least(t), h);
    return saltus_select(is_far, saltus_splat(SALTUS_INFINITY), error);
}

/* Try a step of size h from time t: fills z, w, which is the state of the stage before the last,
 * k[1] to k[6], which is the slope at z, and the errors e. Returns the error, 1 being allowed. */
SALTUS_ODE_FN saltus_f64 saltus_ode_explicit(saltus_ode_context *c, const saltus_ode_memory *m,
                                             saltus_f64 t, saltus_f64 h)
{
    const int n = SALTUS_ODE_N(m);
    const saltus_f64 *const y = m->y;
    saltus_f64 *const w = m->w, *const z = m->z, *const e = m->e;
    saltus_f64 *const k0 = m->k, *const k1 = m->k + SALTUS_ODE_AT(n),
                      *const k2 = m->k + SALTUS_ODE_AT(2 * n);
    saltus_f64 *const k3 = m->k + SALTUS_ODE_AT(3 * n), *const k4 = m->k + SALTUS_ODE_AT(4 * n);
    saltus_f64 *const k5 = m->k + SALTUS_ODE_AT(5 * n), *const k6 = m->k + SALTUS_ODE_AT(6 * n);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_ODE_AT(i)] = y[SALTUS_ODE_AT(i)] + h * (0.2 * k0[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.2 * h, w, k1);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_ODE_AT(i)] = y[SALTUS_ODE_AT(i)] + h * (3.0 / 40.0 * k0[SALTUS_ODE_AT(i)] +
                                                         9.0 / 40.0 * k1[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.3 * h, w, k2);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_ODE_AT(i)] = y[SALTUS_ODE_AT(i)] + h * (44.0 / 45.0 * k0[SALTUS_ODE_AT(i)] -
                                                         56.0 / 15.0 * k1[SALTUS_ODE_AT(i)] +
                                                         32.0 / 9.0 * k2[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 0.8 * h, w, k3);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_ODE_AT(i)] =
            y[SALTUS_ODE_AT(i)] +
            h * (19372.0 / 6561.0 * k0[SALTUS_ODE_AT(i)] - 25360.0 / 2187.0 * k1[SALTUS_ODE_AT(i)] +
                 64448.0 / 6561.0 * k2[SALTUS_ODE_AT(i)] - 212.0 / 729.0 * k3[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + 8.0 / 9.0 * h, w, k4);
    for (int i = 0; i < n; ++i) {
        w[SALTUS_ODE_AT(i)] =
            y[SALTUS_ODE_AT(i)] +
            h * (9017.0 / 3168.0 * k0[SALTUS_ODE_AT(i)] - 355.0 / 33.0 * k1[SALTUS_ODE_AT(i)] +
                 46732.0 / 5247.0 * k2[SALTUS_ODE_AT(i)] + 49.0 / 176.0 * k3[SALTUS_ODE_AT(i)] -
                 5103.0 / 18656.0 * k4[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + h, w, k5);
    for (int i = 0; i < n; ++i) {
        z[SALTUS_ODE_AT(i)] =
            y[SALTUS_ODE_AT(i)] +
            h * (35.0 / 384.0 * k0[SALTUS_ODE_AT(i)] + 500.0 / 1113.0 * k2[SALTUS_ODE_AT(i)] +
                 125.0 / 192.0 * k3[SALTUS_ODE_AT(i)] - 2187.0 / 6784.0 * k4[SALTUS_ODE_AT(i)] +
                 11.0 / 84.0 * k5[SALTUS_ODE_AT(i)]);
    }
    saltus_ode_slope_of(c, t + h, z, k6);
    for (int i = 0; i < n; ++i) {
        e[SALTUS_ODE_AT(i)] =
            h * (71.0 / 57600.0 * k0[SALTUS_ODE_AT(i)] - 71.0 / 16695.0 * k2[SALTUS_ODE_AT(i)] +
                 71.0 / 1920.0 * k3[SALTUS_ODE_AT(i)] - 17253.0 / 339200.0 * k4[SALTUS_ODE_AT(i)] +
                 22.0 / 525.0 * k5[SALTUS_ODE_AT(i)] - 1.0 / 40.0 * k6[SALTUS_ODE_AT(i)]);
    }
    return saltus_ode_norm(m, e);
}

/** A component of a step as a polynomial of the share of the step, by Shampine's dense output of
 * order 4, or by that of another method; Hairer, Nørsett, Wanner, II.6. */
typedef struct saltus_ode_polynomial {
    saltus_f64 c[5];
} saltus_ode_polynomial;

/* Of component i of a step of size h that was taken. */
SALTUS_FN saltus_ode_polynomial saltus_ode_polynomial_of(const saltus_ode_memory *m, int i,
                                                         saltus_f64 h)
{
    const saltus_f64 *const k = m->k + SALTUS_ODE_AT(i);
    const int n = SALTUS_ODE_N(m);
    const saltus_f64 k0 = k[0], k6 = k[SALTUS_ODE_AT(6 * n)];
    const saltus_f64 difference = m->z[SALTUS_ODE_AT(i)] - m->y[SALTUS_ODE_AT(i)];
    const saltus_f64 bend = h * k0 - difference;
    saltus_ode_polynomial p;
    p.c[0] = m->y[SALTUS_ODE_AT(i)];
    p.c[1] = difference;
    p.c[2] = bend;
    p.c[3] = difference - h * k6 - bend;
    p.c[4] =
        h * (-12715105075.0 / 11282082432.0 * k0 +
             87487479700.0 / 32700410799.0 * k[SALTUS_ODE_AT(2 * n)] -
             10690763975.0 / 1880347072.0 * k[SALTUS_ODE_AT(3 * n)] +
             701980252875.0 / 199316789632.0 * k[SALTUS_ODE_AT(4 * n)] -
             1453857185.0 / 822651844.0 * k[SALTUS_ODE_AT(5 * n)] + 69997945.0 / 29380423.0 * k6);
    return p;
}

/* Its value at share `theta` of the step, in [0, 1], and its derivative with respect to theta. */
SALTUS_FN saltus_f64 saltus_ode_polynomial_at(const saltus_ode_polynomial *p, saltus_f64 theta,
                                              saltus_f64 *derivative)
{
    const saltus_f64 rest = 1.0 - theta;
    const saltus_f64 b = p->c[3] + rest * p->c[4];
    const saltus_f64 a = p->c[2] + theta * b;
    const saltus_f64 g = p->c[1] + rest * a;
    const saltus_f64 slope_a = b - theta * p->c[4], slope_g = rest * slope_a - a;
    *derivative = g + theta * slope_g;
    return p->c[0] + theta * g;
}

/* All components of a step of size h that was taken, at that share of it. */
SALTUS_FN void saltus_ode_interpolate(const saltus_ode_memory *m, saltus_f64 h, saltus_f64 theta,
                                      saltus_f64 *y)
{
    saltus_f64 slope;
    for (int i = 0; i < SALTUS_ODE_N(m); ++i) {
        const saltus_ode_polynomial p = saltus_ode_polynomial_of(m, i, h);
        y[SALTUS_ODE_AT(i)] = saltus_ode_polynomial_at(&p, theta, &slope);
    }
}

/* Shares of a step, equally far from each other, at which triggers are looked at. */
enum { SALTUS_ODE_CHECKS = 8 };

/* Whether two numbers have other signs, that of 0 being its own. */
SALTUS_FN saltus_mask saltus_ode_signs_differ(saltus_f64 a, saltus_f64 b)
{
    const saltus_f64 zero = saltus_splat(0.0);
    return (SALTUS_LT(zero, a) ^ SALTUS_LT(zero, b)) | (SALTUS_LT(a, zero) ^ SALTUS_LT(b, zero));
}

/* Whether values at three equidistant points have one sign and bend towards 0, with the vertex of
 * the parabola through them between them, so many of their distances behind the second. */
SALTUS_FN saltus_mask saltus_ode_has_vertex(saltus_f64 a, saltus_f64 b, saltus_f64 c,
                                            saltus_f64 *behind)
{
    const saltus_f64 zero = saltus_splat(0.0), bend = a - 2.0 * b + c;
    const saltus_mask is_above =
        SALTUS_LE(zero, a) & SALTUS_LE(zero, b) & SALTUS_LE(zero, c) & SALTUS_LT(zero, bend);
    const saltus_mask is_below =
        SALTUS_LE(a, zero) & SALTUS_LE(b, zero) & SALTUS_LE(c, zero) & SALTUS_LT(bend, zero);
    *behind = 0.5 * (a - c) / bend;
    return (is_above | is_below) & SALTUS_LT(saltus_splat(-1.0), *behind) &
           SALTUS_LT(*behind, saltus_splat(1.0));
}

/* The share at which the hazard reaches `target`, in the given lanes, in which it does: by Newton's
 * method within a bracket, which is halved where that leaves it. */
SALTUS_FN saltus_f64 saltus_ode_reach(const saltus_ode_polynomial *p, saltus_f64 target,
                                      saltus_mask lanes)
{
    const saltus_f64 zero = saltus_splat(0.0), one = saltus_splat(1.0);
    saltus_f64 low = zero, high = one, theta = (target - p->c[0]) / p->c[1], slope;
    for (int k = 0; k < 60 && saltus_any(lanes); ++k) {
        const saltus_mask is_inside = SALTUS_LT(low, theta) & SALTUS_LT(theta, high);
        const saltus_f64 here = saltus_select(is_inside, theta, 0.5 * (low + high));
        const saltus_f64 off = saltus_ode_polynomial_at(p, here, &slope) - target;
        const saltus_f64 change = off / slope;
        const saltus_mask is_below = SALTUS_LT(off, zero);
        low = saltus_select(is_below, here, low);
        high = saltus_select(is_below, high, here);
        theta = saltus_select(lanes, here - change, theta);
        /* where it is so small the next one would be its square */
        lanes &= ~SALTUS_LT(saltus_abs(change), saltus_splat(1e-7));
    }
    theta = saltus_select(SALTUS_LT(theta, zero), zero, theta);
    return saltus_select(SALTUS_LT(theta, one), theta, one);
}

#endif
