/**
 * What comes of a step that was tried, by the error that it has: it is taken, tried again shorter,
 * left to the method for stiff systems, or ends the trajectory. kernel/ode/run.h asks.
 */
#ifndef SALTUS_KERNEL_ODE_JUDGE_H
#define SALTUS_KERNEL_ODE_JUDGE_H

#include "kernel/ode/kinks.h"
#include "kernel/ode/steps.h"

/* What comes of a step that was tried. */
typedef enum saltus_ode_verdict {
    SALTUS_ODE_TAKEN,
    SALTUS_ODE_AGAIN, /* it is tried again, shorter: o->size */
    SALTUS_ODE_AIM,   /* by the method for stiff systems, whose first step is to be found */
    SALTUS_ODE_FAILED,
} saltus_ode_verdict;

/* Of the step that was tried, the component with the largest error, or the first that is not
 * finite. */
SALTUS_FN int saltus_ode_worst(saltus_ode *o, int is_stiff)
{
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    const double *e = is_stiff ? &SALTUS_K(6, 0) : m.e;
    double largest = -1.0;
    int worst = 0;
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        const double z = o->z[SALTUS_ODE_AT(i)];
        const double x = e[SALTUS_ODE_AT(i)] / saltus_ode_scale(&m, i, o->y[SALTUS_ODE_AT(i)], z);
        const double square = x * x + 0.0 * z;
        if (!(square <= largest)) {
            worst = i;
            largest = square;
        }
        if (square != square) {
            break;
        }
    }
    return worst;
}

/* Whether a step of this size moves components in their last places alone, which leaves them where
 * they are, however many follow. Components that all stand still tell nothing of that. */
SALTUS_FN int saltus_ode_moves_nothing(saltus_ode *o, double size)
{
    const saltus_ode_memory m = saltus_ode_memory_of(o);
    double fastest = 0.0;
    for (int i = 0; i < SALTUS_ODE_N(o); ++i) {
        const double y = o->y[SALTUS_ODE_AT(i)], by = size * saltus_abs(SALTUS_K(0, i));
        if (!(by <= 1e-9 * saltus_ode_scale(&m, i, y, y) || by <= 4e-16 * saltus_abs(y))) {
            return 0;
        }
        fastest = by > fastest ? by : fastest;
    }
    return fastest > 0.0;
}

/* The size of a step that is tried again after one with such an error. */
SALTUS_FN double saltus_ode_shorter(double size, double error, int order)
{
    const double less = error < SALTUS_INFINITY ? 0.9 * saltus_ode_inverse_root(error, order) : 0.1;
    return size * (less > 0.1 ? less : 0.1);
}

/* The size that errors allow after a step that was taken, where they allowed `allowed` before. */
SALTUS_FN double saltus_ode_next_size(double size, double allowed, double error, int order,
                                      int is_rejected)
{
    const double growth = saltus_ode_growth(error, order);
    const double next = size * (is_rejected && growth > 1.0 ? 1.0 : growth);
    /* a step that something else made short tells nothing against a longer one */
    const double size_of_next = size < allowed && next < allowed ? allowed : next;
    return size_of_next < 1e100 ? size_of_next : 1e100;
}

/* Judge a step of size o->size by its error, and find the size of the next one. */
SALTUS_FN saltus_ode_verdict saltus_ode_judge(saltus_trajectory *p, saltus_ode *o, double error)
{
    const int order = p->carried.is_stiff ? 4 : 5;
    if (SALTUS_RARE(!(error <= 1.0))) {
        o->size = saltus_ode_shorter(o->size, error, order);
        p->carried.step = o->size;
        o->is_rejected = 1;
        o->is_cut = 0;
        if (SALTUS_RARE(error != error) && saltus_ode_moves_nothing(o, o->size)) {
            (void)saltus_trajectory_fail(p, SALTUS_NOT_FINITE,
                                         saltus_ode_worst(o, p->carried.is_stiff), error);
            return SALTUS_ODE_FAILED;
        }
        if (!(o->size < saltus_ode_least(p->t))) {
            saltus_ode_cut(p, o);
            return SALTUS_ODE_AGAIN;
        }
        /* what is not finite spreads in the method for stiff systems */
        o->worst = o->worst < 0 ? saltus_ode_worst(o, p->carried.is_stiff) : o->worst;
        if (p->carried.is_stiff || !o->may_be_stiff || o->wanted.stiff == SALTUS_STIFF_NEVER) {
            (void)saltus_trajectory_fail(p, SALTUS_NO_STEP, o->worst,
                                         o->y[SALTUS_ODE_AT(o->worst)]);
            return SALTUS_ODE_FAILED;
        }
        p->carried.is_stiff = 1;
        p->carried.step = 0.0;
        return SALTUS_ODE_AIM;
    }
    p->carried.step = saltus_ode_next_size(o->size, p->carried.step, error, order, o->is_rejected);
    return SALTUS_ODE_TAKEN;
}

#endif
