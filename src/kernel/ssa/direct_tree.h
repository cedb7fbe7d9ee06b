/**
 * The direct method, one trajectory at a time (Gillespie 1977, doi:10.1021/j100540a008): a wait, a
 * reaction from the tree of tree.h, and what it changes (propensities.h).
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_TREE_H
#define SALTUS_KERNEL_SSA_DIRECT_TREE_H

#include "kernel/base/stream.h"
#include "kernel/ssa/propensities.h"

/* Pass samples and special times up to t_next. Returns 1 if the event at t_next may fire, 0 if its
 * wait is void and all propensities are to be computed anew, -1 if the trajectory is finished or
 * has failed. */
SALTUS_FN int saltus_direct_pass(saltus_trajectory *p, double t_next, const double *times,
                                 int64_t n_times, int64_t *counts, double *observables)
{
    for (;;) {
        const double next = times[p->sample];
        const double first = next < t_next ? next : t_next;
        if (saltus_trajectory_special_first(p, first)) {
            return saltus_trajectory_pass_special(p) == SALTUS_FINE ? 0 : -1;
        }
        if (next > t_next) {
            return 1;
        }
        saltus_trajectory_record(p, next, counts, observables);
        if (p->sample == n_times) {
            return -1;
        }
    }
}

/* Draw waits and choices from those of block `block` on. */
SALTUS_FN void saltus_direct_draw(const saltus_trajectory *p, saltus_direct *d, uint64_t block)
{
    d->draws.first_block = block;
    d->draws.valid = 1;
#if SALTUS_DEVICE
    uint32_t w[4], keys[SALTUS_PHILOX_KEYS];
    saltus_stream s;
    saltus_philox_keys(p->seed, keys);
    saltus_stream_load(&s, d->stream);
    saltus_stream_next(&s, keys, p->trajectory, block, w);
    saltus_stream_save(&s);
    for (int h = 0; h < 2; ++h) {
        d->draws.wait[h][0] = w[2 * h] == 0 ? -1.0 : saltus_exponential32(w[2 * h]);
        d->draws.word[h][0] = (double)w[2 * h + 1];
    }
#else
    d->draw(p->seed, p->trajectory, d->stream, &d->draws);
#endif
}

/* Whether the batch of draws holds those of an event. */
SALTUS_FN int saltus_direct_holds(const saltus_direct *d, uint64_t event)
{
    return d->draws.valid && (event >> 1) - d->draws.first_block < SALTUS_BATCH_BLOCKS;
}

/* The unit wait of an event that it holds, and the word of its choice. */
SALTUS_FN double saltus_direct_wait(const saltus_trajectory *p, const saltus_direct *d,
                                    uint64_t event, double *word)
{
    const int at = (int)((event >> 1) - d->draws.first_block), half = (int)(event & 1);
    double wait = d->draws.wait[half][at];
    if (SALTUS_RARE(wait < 0.0)) {
        wait = saltus_wait_refined(p->seed, p->trajectory, event);
    }
    *word = d->draws.word[half][at];
    return wait;
}

/** What may happen next: when, of which total, and the word of its choice. */
typedef struct saltus_proposal {
    double time, total, word;
} saltus_proposal;

/* Propose an event. `done` is the number of reactions, or of events, that p->limit limits. */
SALTUS_FN saltus_failure saltus_direct_propose(saltus_trajectory *p, saltus_direct *d, double root,
                                               uint64_t done, const int *stop, saltus_proposal *to)
{
    const uint64_t event = p->event;
    if (!saltus_direct_holds(d, event)) {
        if (done >= p->limit || SALTUS_FLAG(stop)) {
            return saltus_trajectory_fail(p, SALTUS_STOPPED, 0, 0.0);
        }
        SALTUS_TRAJECTORY_PROGRESS(p);
        saltus_direct_draw(p, d, event >> 1);
    }
    const double wait = saltus_direct_wait(p, d, event, &to->word);
    to->total = root + 0.0; /* -0 becomes 0 */
    if (SALTUS_RARE(!(to->total < SALTUS_INFINITY))) {
        return saltus_trajectory_fail(p, SALTUS_BAD_TOTAL, 0, to->total);
    }
    to->time = p->t + wait / to->total;
    return SALTUS_FINE;
}

/* Propose one and pass samples and special times before it. Returns what saltus_direct_pass does;
 * it is -1 also at the limit, or where *stop is set. */
SALTUS_FN int saltus_direct_next(saltus_trajectory *p, saltus_direct *d, double root, uint64_t done,
                                 const double *times, int64_t n_times, const int *stop,
                                 int64_t *counts, double *observables, saltus_proposal *to)
{
    if (saltus_direct_propose(p, d, root, done, stop, to) != SALTUS_FINE) {
        return -1;
    }
    return to->time < times[p->sample] && to->time < p->special
               ? 1
               : saltus_direct_pass(p, to->time, times, n_times, counts, observables);
}

/**
 * Take a trajectory from where it is to its end, or to p->limit. It starts with new draws, so a
 * stream that gives its blocks in order must stand at the block of the next event; it does after
 * p->limit on a device, where draws are a block and end there.
 *
 * @param times  [n_times] sample times, rising; p->sample is the next of them
 * @param stop   becomes non-zero to give up with SALTUS_STOPPED
 * @param counts, observables  of this trajectory, [point][column]
 */
SALTUS_OUTLINE saltus_failure saltus_direct_run(saltus_trajectory *p, saltus_direct *d,
                                                const double *times, int64_t n_times,
                                                const int *stop, int64_t *counts,
                                                double *observables)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    const double *root = d->values + SALTUS_AT(n->n_leaves + n->level_first[n->n_levels - 1]);
    d->draws.valid = 0;
    saltus_trajectory_refresh(p);
    if (saltus_direct_rebuild(p, d) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        saltus_proposal next;
        const int go = saltus_direct_next(p, d, *root, p->fired, times, n_times, stop, counts,
                                          observables, &next);
        if (go < 0 || (go == 0 && saltus_direct_rebuild(p, d) != SALTUS_FINE)) {
            return p->failure;
        }
        if (go == 0) {
            continue;
        }
        const int r =
            saltus_tree_choose(&tree, next.total, next.word, p->seed, p->trajectory, p->event);
#if !SALTUS_DEVICE
        if (SALTUS_RARE(n->n_delayed > 0) && saltus_delayed_begin(p, r, next.time) != SALTUS_FINE) {
            p->t = next.time;
            return p->failure;
        }
#endif
        if (saltus_direct_fire(p, r) != SALTUS_FINE) {
            p->t = next.time;
            return p->failure;
        }
        p->t = next.time;
        p->after = 0;
        ++p->event;
        ++p->fired;
        if (saltus_direct_follow(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
        if (SALTUS_EVENTS && n->watches_state && saltus_trajectory_triggers(p)) {
            if (saltus_trajectory_settle(p) != SALTUS_FINE ||
                saltus_direct_rebuild(p, d) != SALTUS_FINE) {
                return p->failure;
            }
        }
    }
}

#endif
