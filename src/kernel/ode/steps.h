/**
 * One step of an integrator, with its error and its dense output.
 *
 * Explicit: that of explicit.h, with Shampine's dense output of order 4 and the detection of
 * stiffness of Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, 1993,
 * sections II.6 and IV.2. For stiff systems: Rodas of orders 4 and 3, an L-stable Rosenbrock method
 * with six stages, and its dense output of order 3; Hairer and Wanner, Solving Ordinary
 * Differential Equations II, 1996, section IV.7 (doi:10.1007/978-3-642-05221-7). Its Jacobian comes
 * from differences.
 */
#ifndef SALTUS_KERNEL_ODE_STEPS_H
#define SALTUS_KERNEL_ODE_STEPS_H

#include "kernel/ode/slope.h"
/* Steps by a solver, which a device does not have. */
#if SALTUS_DEVICE
#define SALTUS_ODE_IS_SOLVED(p, o) 0
#define SALTUS_ODE_WAS_SOLVED(o) ((void)(o), 0)
#define SALTUS_ODE_SET_SOLVED(o, is) ((void)0)
#define SALTUS_ODE_SOLVED_END(o) 0.0
#define SALTUS_ODE_BREAK_OFF(o) ((void)0)
#else
#include "kernel/ode/solver.h"
#define SALTUS_ODE_IS_SOLVED(p, o) saltus_ode_is_solved(p, o)
#define SALTUS_ODE_WAS_SOLVED(o) ((o)->was_solved)
#define SALTUS_ODE_SET_SOLVED(o, is) ((void)((o)->was_solved = (is)))
#define SALTUS_ODE_SOLVED_END(o) ((o)->solver->end)
#define SALTUS_ODE_BREAK_OFF(o) saltus_ode_break_off(o)
#endif

#define SALTUS_K(j, i) o->k[SALTUS_ODE_AT((j)*SALTUS_ODE_N(o) + (i))]
#define SALTUS_DENSE(j, i) o->dense[SALTUS_ODE_AT((j)*SALTUS_ODE_N(o) + (i))]

/* The context of slopes of one trajectory. In a kernel of rate_thread.h, where `slopes` is not
 * NULL, all that they need stands there. */
typedef struct saltus_ode_context {
    saltus_trajectory *p;
    saltus_ode *o;
    struct saltus_rate_slopes *slopes;
} saltus_ode_context;
#if SALTUS_RATE_THREADS
SALTUS_FN void saltus_rates_slope(struct saltus_rate_slopes *x, double time, const double *y,
                                  double *slope);
#endif

SALTUS_FN void saltus_ode_slope_of(saltus_ode_context *c, double time, const double *y,
                                   double *slope)
{
#if SALTUS_RATE_THREADS
    if (c->slopes) {
        saltus_rates_slope(c->slopes, time, y, slope);
        return;
    }
#endif
    saltus_ode_slope(c->p, c->o, time, y, slope);
}

#include "kernel/ode/explicit.h"

/* Amounts may be given in moles, and none be a molecule: the absolute tolerance of all is then that
 * of the largest that there was. */
SALTUS_FN void saltus_ode_set_tolerance(saltus_trajectory *p, saltus_ode *o)
{
    double largest = p->carried.largest;
    o->n_amounts = SALTUS_ODE_IS_MEAN(o) ? p->n->n_species : 0;
    for (int i = 0; i < o->n_amounts; ++i) {
        const double y = saltus_abs(o->y[SALTUS_ODE_AT(i)]);
        largest = y > largest ? y : largest;
    }
    p->carried.largest = largest;
    o->of_amounts = o->wanted.atol;
    if (largest > 0.0 && largest < 1.0) {
        o->of_amounts *= largest > 1e-200 ? largest : 1e-200;
    }
}

/* The absolute tolerance of a component. */
SALTUS_FN double saltus_ode_atol(const saltus_ode *o, int component)
{
    return component < o->n_amounts ? o->of_amounts : o->wanted.atol;
}

/* A step's memory is the integrator's; errors are where the derivative is not in use. */
SALTUS_FN saltus_ode_memory saltus_ode_memory_of(saltus_ode *o)
{
    saltus_ode_memory m;
    m.n = SALTUS_ODE_N(o);
    m.n_states = SALTUS_ODE_IS_MEAN(o) ? m.n : m.n - 1;
    m.rtol = o->wanted.rtol;
    m.atol = o->wanted.atol;
    m.n_amounts = o->n_amounts;
    m.of_amounts = o->of_amounts;
    m.n_noisy = 0;
    m.of_hazard = m.rtol;
#if !SALTUS_DEVICE
    if (o->hybrid) {
        /* errors of a step over a jump may add up to little by chance, seldom to so little */
        m.n_noisy = o->hybrid->is_rough ? 0 : o->hybrid->n_real;
        m.of_hazard = m.rtol > SALTUS_NOISE_SHARE * SALTUS_NOISE_SHARE
                          ? m.rtol
                          : SALTUS_NOISE_SHARE * SALTUS_NOISE_SHARE;
    }
#endif
    m.y = o->y;
    m.z = o->z;
    m.w = o->w;
    m.k = o->k;
    m.e = o->derivative;
    return m;
}

/* Whether steps are watched for stiffness. */
SALTUS_FN int saltus_ode_may_turn_stiff(const saltus_ode *o)
{
    return o->wanted.stiff == SALTUS_STIFF_AUTO && o->may_be_stiff;
}

/* Whether the step that was taken is at the border of stability; o->w is its last stage still. */
SALTUS_FN int saltus_ode_looks_stiff(const saltus_trajectory *p, saltus_ode *o)
{
    if (p->carried.is_stiff || o->is_cut || !saltus_ode_may_turn_stiff(o)) {
        return 0; /* a step that is cut short is at no border */
    }
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    return saltus_ode_is_at_border(&m, o->size) != 0;
}

/* Count a step that was taken: 15 at the border of stability, with no 6 between them that are not,
 * and the trajectory is stiff from here on. */
SALTUS_FN void saltus_ode_count_stiff(saltus_trajectory *p, const saltus_ode *o, int looks_stiff)
{
    if (p->carried.is_stiff || o->is_cut || !saltus_ode_may_turn_stiff(o)) {
        return;
    }
    if (looks_stiff) {
        p->carried.n_smooth = 0;
        p->carried.is_stiff = ++p->carried.n_stiff >= 15;
    } else if (p->carried.n_stiff > 0 && ++p->carried.n_smooth >= 6) {
        p->carried.n_stiff = p->carried.n_smooth = 0;
    }
}

SALTUS_OUTLINE void saltus_ode_explicit_dense(saltus_ode *o, double h)
{
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        const saltus_ode_polynomial p = saltus_ode_polynomial_of(&m, i, h);
        for (int d = 0; d < 5; ++d) {
            SALTUS_DENSE(d, i) = p.c[d];
        }
    }
}

/* Derivatives of the slope by differences, into o->jacobian and o->derivative; o->w and k[6] are
 * used. Nothing follows the hazard. */
SALTUS_OUTLINE void saltus_ode_differences(saltus_trajectory *p, saltus_ode *o, double t, double h)
{
    const double root_of_epsilon = 0x1p-26;
    const int n = SALTUS_ODE_N(o);
    for (int i = 0; i < n; ++i) {
        o->w[SALTUS_ODE_AT(i)] = o->y[SALTUS_ODE_AT(i)];
    }
    for (int j = 0; j < n; ++j) {
        const double y = o->y[SALTUS_ODE_AT(j)], change = saltus_abs(h * SALTUS_K(0, j));
        double size = saltus_abs(y) > change ? saltus_abs(y) : change;
        const double floor = saltus_ode_atol(o, j) / o->wanted.rtol;
        size = size > floor ? size : floor;
        o->w[SALTUS_ODE_AT(j)] = y + root_of_epsilon * size;
        const double step = o->w[SALTUS_ODE_AT(j)] - y;
        const int is_hazard = !SALTUS_ODE_IS_MEAN(o) && j == n - 1;
        if (!is_hazard) {
            saltus_ode_slope(p, o, t, o->w, &SALTUS_K(6, 0));
        }
        for (int i = 0; i < n; ++i) {
            o->jacobian[SALTUS_AT(i * n + j)] =
                is_hazard ? 0.0 : (SALTUS_K(6, i) - SALTUS_K(0, i)) / step;
        }
        o->w[SALTUS_ODE_AT(j)] = y;
    }
    const double later = t + 1e-4 * h, step = later - t;
    saltus_ode_slope(p, o, later, o->y, &SALTUS_K(6, 0));
    for (int i = 0; i < n; ++i) {
        o->derivative[SALTUS_ODE_AT(i)] =
            step > 0.0 ? (SALTUS_K(6, i) - SALTUS_K(0, i)) / step : 0.0;
    }
}

/* Factor the matrix of the stages, 4 / h less the Jacobian, with row pivots. A pivot of 0 makes
 * what is not a number, and the step is tried again. */
SALTUS_OUTLINE void saltus_ode_factor(saltus_ode *o, double h)
{
    const int n = SALTUS_ODE_N(o);
    double *a = o->jacobian;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            a[SALTUS_AT(i * n + j)] = (i == j ? 4.0 / h : 0.0) - a[SALTUS_AT(i * n + j)];
        }
    }
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i) {
            if (saltus_abs(a[SALTUS_AT(i * n + k)]) > saltus_abs(a[SALTUS_AT(best * n + k)])) {
                best = i;
            }
        }
        o->pivot[SALTUS_AT(k)] = best;
        for (int j = 0; j < n && best != k; ++j) {
            const double swapped = a[SALTUS_AT(k * n + j)];
            a[SALTUS_AT(k * n + j)] = a[SALTUS_AT(best * n + j)];
            a[SALTUS_AT(best * n + j)] = swapped;
        }
        for (int i = k + 1; i < n; ++i) {
            const double factor = a[SALTUS_AT(i * n + k)] / a[SALTUS_AT(k * n + k)];
            a[SALTUS_AT(i * n + k)] = factor;
            for (int j = k + 1; j < n && factor != 0.0; ++j) {
                a[SALTUS_AT(i * n + j)] -= factor * a[SALTUS_AT(k * n + j)];
            }
        }
    }
}

/* Solve for x in place. */
SALTUS_OUTLINE void saltus_ode_solve(const saltus_ode *o, double *x)
{
    const int n = SALTUS_ODE_N(o);
    const double *a = o->jacobian;
    for (int k = 0; k < n; ++k) {
        const int best = o->pivot[SALTUS_AT(k)];
        const double swapped = x[SALTUS_ODE_AT(k)];
        x[SALTUS_ODE_AT(k)] = x[SALTUS_ODE_AT(best)];
        x[SALTUS_ODE_AT(best)] = swapped;
    }
    for (int i = 0; i < n; ++i) {
        double sum = x[SALTUS_ODE_AT(i)];
        for (int j = 0; j < i; ++j) {
            sum -= a[SALTUS_AT(i * n + j)] * x[SALTUS_ODE_AT(j)];
        }
        x[SALTUS_ODE_AT(i)] = sum;
    }
    for (int i = n - 1; i >= 0; --i) {
        double sum = x[SALTUS_ODE_AT(i)];
        for (int j = i + 1; j < n; ++j) {
            sum -= a[SALTUS_AT(i * n + j)] * x[SALTUS_ODE_AT(j)];
        }
        x[SALTUS_ODE_AT(i)] = sum / a[SALTUS_AT(i * n + i)];
    }
}

/* The stages of Rodas: stage s is at w = y + sum A[s][j] k_j, and solves for k_s with the slope
 * there + sum C[s][j] / h k_j + D[s] h df/dt on the right. */
SALTUS_CONSTANT double saltus_rodas_a[6][5] = {
    {0.0, 0.0, 0.0, 0.0, 0.0},
    {1.544, 0.0, 0.0, 0.0, 0.0},
    {0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0.0},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0}};
SALTUS_CONSTANT double saltus_rodas_c[6][5] = {
    {0.0, 0.0, 0.0, 0.0, 0.0},
    {-5.6688, 0.0, 0.0, 0.0, 0.0},
    {-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
     -6.058818238834054}};
SALTUS_CONSTANT double saltus_rodas_time[6] = {0.0, 0.386, 0.21, 0.63, 1.0, 1.0};
SALTUS_CONSTANT double saltus_rodas_d[6] = {0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0};
SALTUS_CONSTANT double saltus_rodas_dense[2][5] = {
    {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
     1.025137723295662},
    {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
     -6.594389125716872}};

/* Try a step of size h, as saltus_ode_explicit does, and keep its stages in k[1] to k[6]; the slope
 * at the end is not known. k[0] stays. */
SALTUS_OUTLINE double saltus_ode_rosenbrock(saltus_trajectory *p, saltus_ode *o, double t, double h)
{
    const int n = SALTUS_ODE_N(o);
    saltus_ode_differences(p, o, t, h);
    saltus_ode_factor(o, h);
    for (int s = 0; s < 6; ++s) {
        double *k = &SALTUS_K(s + 1, 0);
        for (int i = 0; i < n; ++i) {
            double w = o->y[SALTUS_ODE_AT(i)];
            for (int j = 0; j < s; ++j) {
                w += saltus_rodas_a[s][j] * SALTUS_K(j + 1, i);
            }
            o->w[SALTUS_ODE_AT(i)] = w;
        }
        if (s > 0) {
            saltus_ode_slope(p, o, t + saltus_rodas_time[s] * h, o->w, k);
        }
        for (int i = 0; i < n; ++i) {
            double x = s > 0 ? k[SALTUS_ODE_AT(i)] : SALTUS_K(0, i);
            for (int j = 0; j < s; ++j) {
                x += saltus_rodas_c[s][j] / h * SALTUS_K(j + 1, i);
            }
            k[SALTUS_ODE_AT(i)] = x + saltus_rodas_d[s] * h * o->derivative[SALTUS_ODE_AT(i)];
        }
        saltus_ode_solve(o, k);
    }
    for (int i = 0; i < n; ++i) {
        o->z[SALTUS_ODE_AT(i)] = o->w[SALTUS_ODE_AT(i)] + SALTUS_K(6, i);
    }
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    return saltus_ode_norm(&m, &SALTUS_K(6, 0));
}

SALTUS_OUTLINE void saltus_ode_rosenbrock_dense(saltus_ode *o)
{
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        SALTUS_DENSE(0, i) = o->y[SALTUS_ODE_AT(i)];
        SALTUS_DENSE(1, i) = o->z[SALTUS_ODE_AT(i)] - o->y[SALTUS_ODE_AT(i)];
        for (int d = 0; d < 2; ++d) {
            double sum = 0.0;
            for (int j = 0; j < 5; ++j) {
                sum += saltus_rodas_dense[d][j] * SALTUS_K(j + 1, i);
            }
            SALTUS_DENSE(2 + d, i) = sum;
        }
        SALTUS_DENSE(4, i) = 0.0;
    }
}

/* Component i of the step that was taken. */
SALTUS_FN saltus_ode_polynomial saltus_ode_component(saltus_ode *o, int i)
{
    saltus_ode_polynomial p;
#ifdef SALTUS_ODE_SIZE
    if (!o->was_stiff) { /* the thread's memory is dearer than to compute it again */
        const saltus_ode_memory m = saltus_ode_memory_of(o);
        return saltus_ode_polynomial_of(&m, i, o->size);
    }
#endif
    for (int d = 0; d < 5; ++d) {
        p.c[d] = SALTUS_DENSE(d, i);
    }
    return p;
}

/* Component i at share `theta` of the step, in [0, 1], and its derivative with respect to theta. */
SALTUS_FN double saltus_ode_at(saltus_ode *o, int i, double theta, double *derivative)
{
    const saltus_ode_polynomial p = saltus_ode_component(o, i);
    return saltus_ode_polynomial_at(&p, theta, derivative);
}

/* All components there, into o->w. */
SALTUS_OUTLINE void saltus_ode_dense_state(saltus_ode *o, double theta)
{
    double slope;
#if !SALTUS_DEVICE
    if (o->was_solved) {
        saltus_ode_solved_state(o, theta);
        return;
    }
#endif
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        o->w[SALTUS_ODE_AT(i)] = saltus_ode_at(o, i, theta, &slope);
    }
}

#endif
