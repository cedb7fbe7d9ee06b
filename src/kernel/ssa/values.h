/** Values of a trajectory's expressions, random numbers among them, and how it fails. */
#ifndef SALTUS_KERNEL_SSA_VALUES_H
#define SALTUS_KERNEL_SSA_VALUES_H

#include "kernel/base/program.h"
#include "kernel/base/rng.h"
#include "kernel/base/variates.h"
#include "kernel/ssa/state.h"

#if SALTUS_LANES != 1
#error "a trajectory is one lane wide"
#endif

/* 0: the model draws no values, and a kernel without their code has registers for more threads. */
#ifndef SALTUS_VARIATES
#define SALTUS_VARIATES 1
#endif

/* 0: the model has no instructions: its laws are products, and its rules are other values. A kernel
 * is then compiled in half the time. */
#ifndef SALTUS_PROGRAMS
#define SALTUS_PROGRAMS 1
#endif

/* 0: nothing happens by itself: there are no events, clocks and delays. */
#ifndef SALTUS_EVENTS
#define SALTUS_EVENTS 1
#endif

SALTUS_FN saltus_failure saltus_trajectory_fail(saltus_trajectory *p, saltus_failure failure,
                                                int culprit, double value)
{
    p->failure = failure;
    p->culprit = culprit;
    p->bad_value = value;
    return failure;
}

/* It contains the interpreter and all its functions, so it is compiled once. */
SALTUS_LARGE_FN double saltus_trajectory_value(saltus_trajectory *p, saltus_program program)
{
    if (SALTUS_PROGRAMS) {
        saltus_program_run(p->n->code, program, p->v);
    }
    return p->v[SALTUS_AT(program.result)];
}

SALTUS_FN void saltus_trajectory_run_rule(saltus_trajectory *p, int rule)
{
    p->v[SALTUS_AT(p->n->row_rules + rule)] = saltus_trajectory_value(p, p->n->rules[rule]);
}

/* Those on which the course of the trajectory hangs. */
SALTUS_FN void saltus_trajectory_run_live_rules(saltus_trajectory *p)
{
    for (int i = 0; i < p->n->n_live_rules; ++i) {
        saltus_trajectory_run_rule(p, p->n->live_rules[i]);
    }
}

/* All of them, for a sample. */
SALTUS_FN void saltus_trajectory_run_rules(saltus_trajectory *p)
{
    for (int r = 0; r < p->n->n_rules; ++r) {
        saltus_trajectory_run_rule(p, r);
    }
}

/* The arguments of a variate. */
SALTUS_FN void saltus_trajectory_arguments(saltus_trajectory *p, const saltus_variate *q,
                                           double a[SALTUS_VARIATE_ARGS])
{
    for (int i = 0; i < SALTUS_VARIATE_ARGS; ++i) {
        a[i] = i < q->n ? saltus_trajectory_value(p, q->args[i]) : 0.0;
    }
}

/* Draw n variates from number `first` on. One that cannot be drawn is NaN. */
SALTUS_OUTLINE void saltus_trajectory_draw(saltus_trajectory *p, int first, int n)
{
    for (int i = first; i < first + n; ++i) {
        const saltus_variate *q = &p->n->variates[i];
        double a[SALTUS_VARIATE_ARGS];
        saltus_trajectory_arguments(p, q, a);
        p->v[SALTUS_AT(q->row)] =
            saltus_variate_draw(p->seed, p->trajectory, p->drawn++, q->op, q->n, a);
    }
}

/* Whether one of n variates that were just drawn is why a value is no number. One that is not used,
 * in a piece that was not chosen, does no harm. */
SALTUS_FN saltus_failure saltus_trajectory_check_drawn(saltus_trajectory *p, int first, int n,
                                                       double value)
{
    for (int i = first; SALTUS_VARIATES && value != value && i < first + n; ++i) {
        const saltus_variate *q = &p->n->variates[i];
        if (p->v[SALTUS_AT(q->row)] != p->v[SALTUS_AT(q->row)]) {
            double a[SALTUS_VARIATE_ARGS];
            saltus_trajectory_arguments(p, q, a);
            const int wrong = saltus_variate_wrong(q->op, q->n, a);
            return wrong < 0
                       ? saltus_trajectory_fail(p, SALTUS_BAD_VARIATE,
                                                8 * i + SALTUS_VARIATE_NOTHING, 0.0)
                       : saltus_trajectory_fail(p, SALTUS_BAD_VARIATE, 8 * i + wrong, a[wrong]);
        }
    }
    return SALTUS_FINE;
}

#endif
