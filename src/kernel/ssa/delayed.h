/**
 * Reactions that take a while (X. Cai, J. Chem. Phys. 126 (2007) 124108, doi:10.1063/1.2710253):
 * what they consume is gone when they begin, or when they end; what they make comes when they end.
 * A trajectory has a queue of those that have begun: a heap whose first is the next to end, the
 * earlier begun where two end at once. When one ends, the wait for the next reaction is void and is
 * drawn anew, which an exponential wait does not notice.
 *
 * The queue grows as it must, so it is the host's alone.
 */
#ifndef SALTUS_KERNEL_SSA_DELAYED_H
#define SALTUS_KERNEL_SSA_DELAYED_H

#include "kernel/ssa/values.h"

#if !SALTUS_DEVICE
SALTUS_FN int saltus_ends_before(const saltus_unfinished *a, const saltus_unfinished *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

SALTUS_FN void saltus_queue_push(saltus_trajectory *p, saltus_unfinished e)
{
    saltus_unfinished *q = p->unfinished;
    int64_t i = p->n_unfinished++;
    for (; i > 0 && saltus_ends_before(&e, &q[(i - 1) / 2]); i = (i - 1) / 2) {
        q[i] = q[(i - 1) / 2];
    }
    q[i] = e;
}

SALTUS_FN saltus_unfinished saltus_queue_pop(saltus_trajectory *p)
{
    saltus_unfinished *q = p->unfinished;
    const saltus_unfinished first = q[0], e = q[--p->n_unfinished];
    int64_t i = 0;
    for (int64_t k = 1; k < p->n_unfinished; k = 2 * i + 1) {
        k += k + 1 < p->n_unfinished && saltus_ends_before(&q[k + 1], &q[k]);
        if (!saltus_ends_before(&q[k], &e)) {
            break;
        }
        q[i] = q[k];
        i = k;
    }
    q[i] = e;
    return first;
}

/** Reaction r is about to happen at time t: note when it ends, if it takes a while. The delay is
 * computed from what is there before it. */
SALTUS_OUTLINE saltus_failure saltus_delayed_begin(saltus_trajectory *p, int r, double t)
{
    const saltus_tables *n = p->n;
    if (n->delayed_of[r] < 0) {
        return SALTUS_FINE;
    }
    const saltus_delayed *d = &n->delayed[n->delayed_of[r]];
    p->v[SALTUS_AT(n->row_time)] = t;
    if (d->reads_rules) { /* those of the time are as they were */
        saltus_trajectory_run_live_rules(p);
    }
    if (d->n_variates > 0) {
        saltus_trajectory_draw(p, d->first_variate, d->n_variates);
    }
    const double delay = saltus_trajectory_value(p, d->delay);
    if (saltus_trajectory_check_drawn(p, d->first_variate, d->n_variates, delay) != SALTUS_FINE) {
        return p->failure;
    }
    if (!(delay >= 0.0)) {
        return saltus_trajectory_fail(p, SALTUS_BAD_DURATION, r, delay);
    }
    if (!(t + delay < SALTUS_INFINITY)) {
        return SALTUS_FINE;
    }
    if (p->n_unfinished == p->unfinished_capacity && !p->make_queue_room(p)) {
        return saltus_trajectory_fail(p, SALTUS_OUT_OF_MEMORY, r, 0.0);
    }
    const saltus_unfinished e = {t + delay, p->n_begun++, n->delayed_of[r]};
    saltus_queue_push(p, e);
    if (e.time < p->special || (e.time == p->special && p->special_strict)) {
        p->special = e.time;
        p->special_strict = 0;
    }
    return SALTUS_FINE;
}

/** What has come to its end by now changes the counts. */
SALTUS_FN saltus_failure saltus_delayed_end(saltus_trajectory *p)
{
    const saltus_tables *n = p->n;
    while (p->n_unfinished > 0 && p->unfinished[0].time <= p->t) {
        const saltus_delayed *d = &n->delayed[saltus_queue_pop(p).which];
        for (int c = d->first_change; c < d->first_change + d->n_changes; ++c) {
            const int s = n->late_species[c];
            int64_t x;
            const int overflow = saltus_add_overflows(p->x[s], n->late_amount[c], &x);
            if (overflow || x < 0) {
                return saltus_trajectory_fail(p, overflow ? SALTUS_COUNT_OVERFLOW : SALTUS_BAD_END,
                                              d->reaction, 0.0);
            }
            p->x[s] = x;
        }
    }
    return SALTUS_FINE;
}

SALTUS_FN double saltus_next_end(const saltus_trajectory *p)
{
    return p->n_unfinished > 0 ? p->unfinished[0].time : SALTUS_INFINITY;
}
#endif

#endif
