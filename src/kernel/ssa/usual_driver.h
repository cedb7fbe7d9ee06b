/**
 * An event of a trajectory in the driver of a GPU's layouts (direct_driver.h), for models in which
 * nothing happens at a given time and no law drifts with it: the event is simulated as if nothing
 * unusual happened, and one branch tells whether something does: samples to be written, a wait or a
 * choice that a word of 32 bits does not decide, a total that cannot be divided by as usual, a
 * state that is bad. So instructions of all parts of an event stand between two branches, and one
 * part hides what the other waits for. Beyond the driver's hooks there are
 *
 *     saltus_worker_early_wait(d, h) the wait of event h, unless
 *     saltus_worker_is_late(d, h)    its word does not decide it
 *
 * and, with SALTUS_CHOOSES, in place of saltus_state_fire
 *
 *     saltus_chosen                  a reaction, and what it changes
 *     saltus_state_choose(s, total, word, k)
 *                                    choose; 1: the word does not decide
 *     saltus_state_decide(s, total, word, a, trajectory, block, h, k)
 *                                    choose with further bits
 *     saltus_state_apply(s, k)       fire; returns what saltus_state_fire does
 */
#ifndef SALTUS_KERNEL_SSA_USUAL_DRIVER_H
#define SALTUS_KERNEL_SSA_USUAL_DRIVER_H

#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
/* The next event, as it is where nothing is unusual. */
typedef struct saltus_usual {
    double total, t_next;
    int is_odd; /* nothing of it but the total need hold */
#if SALTUS_CHOOSES
    saltus_chosen chosen;
#endif
} saltus_usual;

/* Whether a thread takes the branch: where threads write counts together, all do if one does. */
SALTUS_FN int saltus_usual_is_not(int is_unusual)
{
#if SALTUS_TOGETHER
    return saltus_warp_ballot(saltus_warp_here(), is_unusual) != 0;
#else
    return SALTUS_RARE(is_unusual);
#endif
}

/* End the job, which has failed where the course is bad, before event h of the block; 0. */
SALTUS_FN int saltus_usual_end(const saltus_launch *a, saltus_course *c, int h)
{
    const uint64_t event = 2 * c->block + (uint64_t)h;
    saltus_course_end(a, c, c->bad ? 0 : event - (SALTUS_VOIDS ? c->voids : 0));
    c->bad = 0;
    return 0;
}

/* Do what is unusual before event h. Returns 0 if the trajectory has ended. */
SALTUS_FN int saltus_usual_look(saltus_course *c, saltus_worker_state *s,
                                const saltus_worker_draws *draws, const saltus_launch *a, int h,
                                saltus_usual *u)
{
    if (SALTUS_RARE(u->is_odd)) {
        const double wait = saltus_worker_wait(draws, a, c->trajectory, c->block, h);
        u->t_next = c->t + wait / (u->total + 0.0); /* -0 becomes 0 */
        c->bad |= !(u->total < SALTUS_INFINITY);
#if SALTUS_CHOOSES
        saltus_state_decide(s, u->total, saltus_worker_choice(draws, h), a, c->trajectory, c->block,
                            h, &u->chosen);
#endif
        if (!SALTUS_TOGETHER && (c->bad || u->t_next < c->stop)) {
            return !c->bad || saltus_usual_end(a, c, h);
        }
    }
    const int stands = !SALTUS_TOGETHER || (!c->bad && !(u->t_next < c->stop));
    if (SALTUS_RARE(!saltus_pass_samples(s, a, c, u->t_next, 0, stands) ||
                    (SALTUS_TOGETHER && c->bad))) {
        return saltus_usual_end(a, c, h);
    }
    return 1;
}

/** Event h of the block. Returns 0 if the trajectory has ended before it. */
SALTUS_FN int saltus_course_react(saltus_course *c, saltus_worker_state *s,
                                  const saltus_worker_draws *draws, const saltus_launch *a, int h)
{
    const double word = saltus_worker_choice(draws, h);
    saltus_usual u;
    u.total = saltus_state_total(s, a, &c->bad);
    u.t_next = c->t + saltus_divide(saltus_worker_early_wait(draws, h), u.total);
    u.is_odd = c->bad | saltus_worker_is_late(draws, h) | !saltus_divides(u.total);
#if SALTUS_CHOOSES
    u.is_odd |= saltus_state_choose(s, u.total, word, &u.chosen);
#endif
    if (saltus_usual_is_not(u.is_odd | !(u.t_next < c->stop)) &&
        !saltus_usual_look(c, s, draws, a, h, &u)) {
        return 0;
    }
#if SALTUS_CHOOSES
    const int how = saltus_state_apply(s, &u.chosen);
#else
    const int how = saltus_state_fire(s, u.total, word, a, c->trajectory, c->block, h);
#endif
    c->bad = how & 1;
    c->voids += SALTUS_HUBS || SALTUS_IDLES ? (uint64_t)how >> 1 : 0;
    c->t = u.t_next;
    return 1;
}
#endif

#endif
