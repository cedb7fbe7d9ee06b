/**
 * The solver of large stiff systems (kernel/ode/solver.h) by SUNDIALS' CVODE: backward
 * differentiation of orders 1 to 5 with Newton's method (Hindmarsh et al., ACM Trans. Math. Softw.
 * 31 (2005) 363, doi:10.1145/1089014.1089020), whose matrices are sparse and factored by KLU
 * (Davis and Palamadai Natarajan, ACM Trans. Math. Softw. 37 (2010) 36,
 * doi:10.1145/1824801.1824814).
 *
 * A stretch begins with nothing of those before: memory, pivots and Jacobians are new. So it is a
 * function of the state at its beginning and of the stops that it is given.
 */
#ifndef SALTUS_ODE_CVODE_H
#define SALTUS_ODE_CVODE_H

#include "core/status.h"
#include "kernel/ode/solver.h"

/** "SUNDIALS 6.4.1", or NULL: the library was built without. */
const char *saltus_cvode_name(void);

/** Whether CVODE goes on with a stiff system of n components: it is here, they are too many for a
 * dense Jacobian, and none of them is a hazard that grows. */
bool saltus_cvode_takes(const saltus_tables *t, bool is_mean, int n);

/** What a stretch is to do before it begins. */
typedef struct saltus_stretch {
    void (*begins)(void *user);
    void *user;
} saltus_stretch;

/** Make a solver for a trajectory and its integrator, which outlive it. It takes memory when the
 * first stretch begins; where that is not to be had, the trajectory fails. */
saltus_status saltus_cvode_create(saltus_trajectory *p, saltus_ode *o, saltus_stretch stretch,
                                  saltus_ode_solver **out, saltus_error *err);
/** NULL is allowed. */
void saltus_cvode_destroy(saltus_ode_solver *solver);

#endif
