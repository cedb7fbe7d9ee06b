/**
 * Laws that drift with time in the driver of a GPU's layouts (direct_driver.h), by the method of
 * thinned.h, for models in which nothing happens at a given time. Beyond the driver's hooks there
 * are
 *
 *     saltus_worker_state            with window, start, end and missed, as in saltus_trajectory,
 *                                    and `waits`, a saltus_window_wait
 *     saltus_state_drifts(s)         bound what drifts whatever the counts, in the window
 *     saltus_state_bounds(s)         bound the laws; saltus_bounded of all, or-ed
 *     saltus_state_check(s)          1: a law is no propensity at s->time
 *     saltus_state_take(s, total, word, a, trajectory, block, h, is_candidate, bad)
 *                                    choose, and fire if the candidate at s->time does; 1: it does,
 *                                    3: it would, but lacks reactants and does nothing
 *     SALTUS_FOLLOWS                 1: bounds depend on counts
 */
#ifndef SALTUS_KERNEL_SSA_DRIFT_DRIVER_H
#define SALTUS_KERNEL_SSA_DRIFT_DRIVER_H

#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
/* What the window needs before the next event. */
typedef enum saltus_window_wait {
    SALTUS_WINDOW_READY,
    SALTUS_WINDOW_ENDED, /* a new one begins */
    SALTUS_WINDOW_KEPT,  /* its laws are to be bounded */
} saltus_window_wait;

/* Begin a window at time t, the longest in which all laws are bounded; 1: a law is bad. */
SALTUS_FN int saltus_drifts_open(saltus_worker_state *s, double t)
{
    const int is_new = s->waits == SALTUS_WINDOW_ENDED;
    double length = s->window;
    int bounded = SALTUS_UNBOUNDED;
    s->start = is_new ? t : s->start;
    s->missed = is_new ? 0 : s->missed;
    s->waits = SALTUS_WINDOW_READY;
    SALTUS_ONE_BY_ONE
    for (int halvings = 0; halvings <= SALTUS_WINDOW_HALVINGS; ++halvings) {
        s->end = is_new ? t + length : s->end;
        saltus_state_drifts(s);
        bounded = saltus_state_bounds(s);
        if (!(bounded & SALTUS_UNBOUNDED) || !is_new) {
            break;
        }
        const double whole = s->end - t;
        length = 0.5 * (whole < length ? whole : length);
        if (!(t + length > t)) {
            break;
        }
        s->window = length;
    }
    s->time = t;
    return bounded != SALTUS_BOUNDED || (is_new && saltus_state_check(s));
}

/* Take the window from a trajectory's state. */
SALTUS_FN void saltus_drifts_load(saltus_worker_state *s, const saltus_trajectory *p)
{
    s->window = p->window;
    s->start = p->window_start;
    s->end = p->window_end;
    s->missed = p->window_missed;
    s->waits = s->end < 0.0 ? SALTUS_WINDOW_ENDED : SALTUS_WINDOW_KEPT;
}

SALTUS_FN void saltus_drifts_save(const saltus_worker_state *s, saltus_trajectory *p)
{
    p->window = s->window;
    p->window_start = s->start;
    p->window_end = s->waits == SALTUS_WINDOW_ENDED ? -1.0 : s->end;
    p->window_missed = s->missed;
}

SALTUS_FN void saltus_drifts_start(saltus_worker_state *s)
{
    s->window = SALTUS_FIRST_WINDOW;
    s->waits = SALTUS_WINDOW_ENDED;
}

/** Go to `time`, where a candidate is or the window ends. *voids counts event numbers at which
 * nothing fires; 1: something is bad. */
SALTUS_FN int saltus_drifts_pass(saltus_worker_state *s, double total, double word,
                                 const saltus_launch *a, uint64_t trajectory, uint64_t block, int h,
                                 double time, int is_candidate, uint64_t *voids)
{
    int bad = 0, ends = !is_candidate;
    s->time = time;
    const int how = saltus_state_take(s, total, word, a, trajectory, block, h, is_candidate, &bad);
    if (how) {
        *voids += (uint64_t)how >> 1;
        if (SALTUS_FOLLOWS) {
            const int bounded = saltus_state_bounds(s);
            ends = (bounded & SALTUS_UNBOUNDED) != 0;
            bad |= (bounded & SALTUS_BOUNDED_BELOW_0) != 0;
        }
    } else {
        ++*voids;
        if (is_candidate) {
            ends = ++s->missed >= SALTUS_WINDOW_MISSES;
            s->window *= ends ? 0.5 : 1.0;
        } else {
            s->window *= s->missed == 0 ? 2.0 : 1.0;
        }
    }
    s->waits = ends ? SALTUS_WINDOW_ENDED : SALTUS_WINDOW_READY;
    return bad;
}
#endif

#endif
