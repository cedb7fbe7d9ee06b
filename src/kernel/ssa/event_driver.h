/**
 * Events, clocks and values that are drawn at time 0, in the driver of a GPU's layouts
 * (direct_driver.h). Reactions go on where the layout has counts. When something else happens, the
 * counts go to memory, where a function of its own does what trajectory.h says, and come back with
 * variables and flags, which nothing else changes. Beyond the driver's hooks there are
 *
 *     saltus_worker_state            with `special` and `strict` as in saltus_trajectory, and `on`,
 * a bit for each trigger that is true; saltus_state_load sets them, variables and flags from memory
 *     saltus_state_turns(s, stood)   1: a trigger is not what it was, or may not be; after every
 *                                    reaction; the time may have stood still
 *     SALTUS_WATCHES                 1: triggers depend on counts
 */
#ifndef SALTUS_KERNEL_SSA_EVENT_DRIVER_H
#define SALTUS_KERNEL_SSA_EVENT_DRIVER_H

#include "kernel/ssa/launch.h"
#include "kernel/ssa/trajectory.h"

#if SALTUS_DEVICE
#ifndef SALTUS_MOST_COUNT
#define SALTUS_MOST_COUNT ((int64_t)1 << 51) /* exact as a real number */
#endif

/* What happens beside reactions. */
typedef enum saltus_happening {
    SALTUS_HAPPENING_START,   /* of a trajectory */
    SALTUS_HAPPENING_SPECIAL, /* the special time */
    SALTUS_HAPPENING_TURN,    /* a trigger has turned */
} saltus_happening;

/* Let it happen to a slot's trajectory at time t, whose counts are in memory; 1: it fails. */
SALTUS_OUTLINE int saltus_events_happen(const saltus_launch *a, int64_t slot, int64_t job,
                                        saltus_happening what, double t)
{
    saltus_trajectory *p = a->states + slot;
    const uint64_t event = p->event;
    saltus_launch_open(a, p, slot, job);
    p->failure = SALTUS_FINE;
    if (what == SALTUS_HAPPENING_START) {
        saltus_launch_constants(a, p);
        (void)saltus_trajectory_start(p, a->trajectories[job]);
    } else if (what == SALTUS_HAPPENING_SPECIAL) {
        (void)saltus_trajectory_pass_special(p);
        p->event = event; /* the driver counts */
    } else {
        p->t = t;
        p->after = 0;
        (void)saltus_trajectory_settle(p);
    }
    int bad = p->failure != SALTUS_FINE;
    for (int i = 0; i < p->n->n_species; ++i) {
        bad |= p->x[SALTUS_AT(i)] > SALTUS_MOST_COUNT;
    }
    return bad;
}
#endif

#endif
