/**
 * The direct method with a thread per trajectory: time, samples and draws. Where the state is, and
 * how a reaction is chosen and fires, is defined before this header is included:
 *
 *     saltus_thread_state            the state of one trajectory
 *     saltus_thread_open(s, a)       set its addresses; every thread calls it
 *     saltus_thread_load(s, a, slot), saltus_thread_save(s, a, slot)
 *                                    between launches; save returns 1 if it is not exact
 *     saltus_thread_use(s, a, point) the row of numbers of its point
 *     saltus_thread_start(s, a, point)   its initial counts
 *     saltus_thread_refresh(s, a)    sums from the counts; 1: a propensity is bad
 *     saltus_thread_total(s, a, bad) the sum of all propensities
 *     saltus_thread_fire(s, total, word, a, trajectory, block, h)
 *                                    choose and fire; 1: bad. It is also called when a
 *                                    trajectory has ended
 *     saltus_thread_record(s, a, time, to)
 *                                    write a sample, without its counts if there is SALTUS_COUNT
 *     SALTUS_COUNT(s, a, column, away)
 *                                    a count of the thread that is `away` further in the warp
 *     SALTUS_EACH_EVENT              before the loop over a block's two events
 *
 * A launch ends after so many reactions of a thread; the next goes on. A thread whose trajectory
 * has ended takes the next one.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_THREAD_H
#define SALTUS_KERNEL_SSA_DIRECT_THREAD_H

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
/* Further bits for event h of a block, in a function of its own so that the loop stays short; all
 * that it takes is in registers. */
SALTUS_OUTLINE double saltus_wait_late(const saltus_launch *a, uint64_t trajectory, uint64_t block,
                                       int h)
{
    return saltus_wait_refined(a->seed, trajectory, 2 * block + (uint64_t)h);
}

/* How far a thread's trajectory is along its samples. */
typedef struct saltus_course {
    int32_t job; /* -1: it has no job */
    uint32_t sample;
    double stop; /* time of the next sample */
    saltus_samples to;
    int bad;
} saltus_course;

/* Threads of a warp write the counts of a sample together where there are enough of them, because a
 * thread alone writes column by column while the others wait. */
#if defined(SALTUS_COUNT) && SALTUS_COLUMNS > 3
#define SALTUS_TOGETHER 1
#else
#define SALTUS_TOGETHER 0
#endif

#if SALTUS_TOGETHER
/* All threads that are here write the counts of those that are at a sample, one sample after the
 * other. Returns whether there was any. */
SALTUS_FN int saltus_write_counts(const saltus_thread_state *s, const saltus_launch *a, int stands,
                                  int64_t *to)
{
    const uint32_t here = saltus_warp_here(), all = saltus_warp_ballot(here, stands);
    if (all) {
        const int first = saltus_warp_rank(here), step = saltus_warp_size(here);
        saltus_warp_wait_for(here);
        for (uint32_t left = all; left; left &= left - 1) {
            const int from = saltus_warp_lowest(left);
            int64_t *counts = (int64_t *)saltus_warp_pointer(here, to, from);
            SALTUS_ONE_BY_ONE
            for (int i = first; i < SALTUS_COLUMNS; i += step) {
                counts[i] = SALTUS_COUNT(s, a, i, from - SALTUS_LANE_NUMBER);
            }
        }
        saltus_warp_wait_for(here);
    }
    return all != 0;
}
#endif

/* Write what is left of a sample, and go on to the next. Returns 0 after the last. */
SALTUS_FN int saltus_pass_sample(saltus_thread_state *s, const saltus_launch *a, uint64_t event,
                                 saltus_course *c)
{
#if defined(SALTUS_COUNT) && !SALTUS_TOGETHER
    SALTUS_LOOP
    for (int i = 0; i < SALTUS_COLUMNS; ++i) {
        c->to.counts[i] = SALTUS_COUNT(s, a, i, 0);
    }
#endif
    saltus_thread_record(s, a, c->stop, &c->to);
    if (++c->sample == (uint32_t)a->n_times) {
        saltus_job_end(a, c->job, event, c->bad);
        c->job = -1;
        c->bad = 1; /* nothing else of this event counts */
        return 0;
    }
    c->stop = a->times[c->sample];
    return 1;
}

/** Anything unusual ends the trajectory with a failure, whatever its name: it is rerun on the CPU,
 * which reports what happened. Until then it may compute nonsense, but writes no sample that is not
 * its own. */
SALTUS_KERNEL(saltus_by_thread, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    saltus_thread_state s;
    saltus_thread_open(&s,
                       &a); /* called by all threads of a block, because they may share tables */
    if (slot < 0) {
        return;
    }
    saltus_trajectory *p = a.states + slot;
    saltus_stream stream;
    saltus_course c;
    uint64_t trajectory = p->trajectory, block = p->event >> 1;
    double t = p->t;
    c.job = a.jobs[slot];
    c.sample = (uint32_t)p->sample;
    c.bad = 0;
    c.stop = c.job >= 0 ? a.times[c.sample] : 0.0;
    c.to = saltus_samples_of(&a, c.job, c.sample);
    saltus_thread_load(&s, &a, slot);
    saltus_stream_load(&stream, a.stream + slot);
    saltus_thread_use(&s, &a, c.job >= 0 ? saltus_numbers_of(&a, c.job) : a.points);
    if (c.job >= 0) {
        c.bad = saltus_thread_refresh(&s, &a);
    }
    for (uint32_t left = (uint32_t)a.slice / 2; left > 0; --left, ++block) {
        uint32_t w[4];
        if (c.job < 0) {
            const uint64_t next = SALTUS_NEXT_NUMBER(a.next);
            if (next >= (uint64_t)a.n_jobs) {
                break;
            }
            c.job = (int32_t)next;
            trajectory = a.trajectories[c.job];
            block = 0;
            c.sample = 0;
            t = 0.0;
            c.stop = a.times[0];
            c.to = saltus_samples_of(&a, c.job, 0);
            const double *point = saltus_numbers_of(&a, c.job);
            saltus_thread_use(&s, &a, point);
            saltus_thread_start(&s, &a, point);
            saltus_stream_start(&stream, a.stream + slot, a.seed, trajectory, a.jumps);
            c.bad = saltus_thread_refresh(&s, &a);
        }
        saltus_stream_next(&stream, a.keys, trajectory, block, w);
        SALTUS_EACH_EVENT
        for (int h = 0; h < 2; ++h) {
            const uint32_t wait_word = h == 0 ? w[0] : w[2], choice = h == 0 ? w[1] : w[3];
            double wait = saltus_exponential32(wait_word);
            if (SALTUS_RARE(wait_word == 0)) {
                wait = saltus_wait_late(&a, trajectory, block, h);
            }
            const double total = saltus_thread_total(&s, &a, &c.bad);
            double t_next = t + saltus_divide(wait, total);
            if (SALTUS_RARE(!saltus_divides(total))) {
                t_next = t + wait / (total + 0.0); /* -0 becomes 0 */
                c.bad |= !(total < SALTUS_INFINITY);
            }
            const uint64_t event = 2 * block + (uint64_t)h;
#if SALTUS_TOGETHER
            int stands = !(t_next < c.stop);
            while (saltus_write_counts(&s, &a, stands, c.to.counts)) {
                if (stands) { /* the other draws stay for the next events */
                    stands = saltus_pass_sample(&s, &a, event, &c) && !(t_next < c.stop);
                }
            }
#else
            while (!(t_next < c.stop) && saltus_pass_sample(&s, &a, event, &c)) {
            }
#endif
            c.bad |=
                saltus_thread_fire(&s, total, saltus_from_word(choice), &a, trajectory, block, h);
            t = t_next;
            if (SALTUS_RARE(c.bad)) {
                if (c.job >= 0) {
                    saltus_job_end(&a, c.job, 0, c.bad);
                    c.job = -1;
                }
                break;
            }
        }
    }
    if (saltus_thread_save(&s, &a, slot) && c.job >= 0) { /* no longer exact */
        saltus_job_end(&a, c.job, 0, 1);
        c.job = -1;
    }
    saltus_stream_save(&stream);
    a.jobs[slot] = c.job;
    p->sample = c.sample;
    p->trajectory = trajectory;
    p->event = 2 * block;
    p->t = t;
    saltus_slot_leave(&a, slot, c.job);
}
#endif

#endif
