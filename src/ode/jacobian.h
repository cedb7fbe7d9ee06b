/**
 * The Jacobian of what is integrated, in columns: a product's derivatives by a count are products,
 * and those of other laws, rates and rules follow from their operations by the chain rule, an
 * operation's own by its formula or, of rare ones, by a difference. So nothing is lost where a law
 * reads a large sum of which a small count is part.
 */
#ifndef SALTUS_ODE_JACOBIAN_H
#define SALTUS_ODE_JACOBIAN_H

#include "kernel/ssa/state.h"
#include "ode/pattern.h"

typedef struct saltus_jacobian {
    const saltus_pattern *pattern;
    double *partial; /**< [instruction][operand] of an operation's value */
    double *tangent; /**< [row] its derivative by the component at hand; 0 in between */
    double *column;  /**< [component] 0 in between */
} saltus_jacobian;

/** Memory for the networks that a pattern fits; the pattern stays the caller's. */
saltus_status saltus_jacobian_init(saltus_jacobian *j, const saltus_tables *t,
                                   const saltus_pattern *pattern, saltus_error *err);
void saltus_jacobian_free(saltus_jacobian *j);

/** Fill values, which stand as the pattern's rows do, at the state that the trajectory's rows hold,
 * rules included. Returns whether all are finite. */
bool saltus_jacobian_fill(saltus_jacobian *j, saltus_trajectory *p, double *values);

#endif
