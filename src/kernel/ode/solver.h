/**
 * Steps of an integrator that chooses their size itself and remembers the steps before, on the host
 * alone: of stiff systems that are too large for a dense Jacobian. A stretch is what it integrates
 * in one go. It begins where a trajectory turns stiff, and anew at each trigger's turn, special
 * time and kink, and when it is long. Within a stretch the steps follow from its beginning alone:
 * neither samples nor interruptions change them.
 */
#ifndef SALTUS_KERNEL_ODE_SOLVER_H
#define SALTUS_KERNEL_ODE_SOLVER_H

#include "kernel/ssa/state.h"

/* A stretch ends after so many steps at the latest, so that what is kept of a trajectory is never
 * far behind; the next one begins with short steps, some dozens. */
enum { SALTUS_MOST_STRETCH = 2000 };

/** What the host brings: ode/cvode.h. It knows the trajectory and the integrator's memory. */
typedef struct saltus_ode_solver {
    int32_t goes_on; /* the next step belongs to the stretch of the last one */
    int32_t n_steps; /* of the stretch, taken so far */
    double start;    /* of the last step, */
    double end;      /* and where it ended */
    double next;     /* the next step is not longer */
    /* Begin a stretch at the state o->y of time p->t, where its slope is k[0], with a first step
     * of a size or less. */
    saltus_failure (*begin)(struct saltus_ode_solver *solver, double size);
    /* Take a step to o->z that ends at `stop`, above p->t, at the latest. */
    saltus_failure (*step)(struct saltus_ode_solver *solver, double stop);
    /* The state at a time within the last step. */
    void (*at)(struct saltus_ode_solver *solver, double time, double *y);
} saltus_ode_solver;

/* Whether the next step is the solver's. */
SALTUS_FN int saltus_ode_is_solved(const saltus_trajectory *p, const saltus_ode *o)
{
    return o->solver && p->carried.is_stiff;
}

/* What comes next does not follow from the steps before. */
SALTUS_FN void saltus_ode_break_off(saltus_ode *o)
{
    if (o->solver) {
        o->solver->goes_on = 0;
    }
}

/* All components at share `theta` of the last step, into o->w: at its ends exactly. */
SALTUS_OUTLINE void saltus_ode_solved_state(saltus_ode *o, double theta)
{
    saltus_ode_solver *s = o->solver;
    if (theta > 0.0 && theta < 1.0) {
        s->at(s, s->start + theta * (s->end - s->start), o->w);
        return;
    }
    const double *from = theta > 0.0 ? o->z : o->y;
    for (int i = 0; i < o->n; ++i) {
        o->w[i] = from[i];
    }
}

#endif
