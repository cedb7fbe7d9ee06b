/**
 * The direct method on a GPU: time, samples and draws of a trajectory, and which comes next. Who
 * simulates it (a worker: direct_thread.h or direct_warp.h), where its state is, and how a reaction
 * is chosen and fires, is defined before this header is included:
 *
 *     saltus_worker_state            the state of one trajectory
 *     saltus_state_open(s, a)        set its addresses; every thread calls it
 *     saltus_state_load(s, a, slot), saltus_state_save(s, a, slot)
 *                                    between launches; save returns 1 if it is not exact
 *     saltus_state_use(s, a, point)  the row of numbers of its point
 *     saltus_state_start(s, a, point)
 *                                    its initial counts
 *     saltus_state_refresh(s, a)     sums from the counts; 1: a propensity is bad
 *     saltus_state_total(s, a, bad)  the sum of all propensities
 *     saltus_state_fire(s, total, word, a, trajectory, block, h)
 *                                    choose and fire; 1: bad, or, with SALTUS_HUBS or
 *                                    SALTUS_IDLES, 2: nothing fired. It is also called when a
 *                                    trajectory has ended
 *     saltus_state_record(s, a, time, to)
 *                                    write a sample, without its counts if there is SALTUS_COUNT
 *     SALTUS_COUNT(s, a, column, away)
 *                                    a count of the thread that is `away` further in the warp
 *     SALTUS_EACH_EVENT              before the loop over a block's two events
 *
 *     SALTUS_WORKER_SLOT(a)          the slot of the worker's trajectory, -1: it has nothing to do
 *     SALTUS_WORKER_TAKE(p)          the next number of *p, for the worker
 *     SALTUS_WORKER_WRITES           whether this thread writes what a trajectory has once
 *     saltus_worker_draws            the waits and the choice words of some blocks
 *     saltus_worker_reset(d)         at the begin of a launch and of a trajectory: there are none
 *     saltus_worker_draw(d, stream, a, trajectory, block)
 *                                    go on to the next block; after a reset, to any
 *     saltus_worker_wait(d, a, trajectory, block, h), saltus_worker_choice(d, h)
 *                                    of event h of the block
 *     SALTUS_TOGETHER                1: saltus_write_counts writes the counts of samples
 *
 * A launch ends after so many reactions of a worker; the next goes on. A worker whose trajectory
 * has ended takes the next one.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_DRIVER_H
#define SALTUS_KERNEL_SSA_DIRECT_DRIVER_H

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

/* 1: laws drift with time, and there are the hooks of drift_driver.h. */
#ifndef SALTUS_DRIFTS
#define SALTUS_DRIFTS 0
#endif
#if SALTUS_DRIFTS
#include "kernel/ssa/drift_driver.h"
#endif
/* 1: there are events, clocks or values that are drawn, and the hooks of event_driver.h. */
#ifndef SALTUS_HAPPENINGS
#define SALTUS_HAPPENINGS 0
#endif
#if SALTUS_HAPPENINGS
#include "kernel/ssa/event_driver.h"
#endif
/* 1: the worker has the hooks of usual_driver.h. */
#ifndef SALTUS_EARLY
#define SALTUS_EARLY 0
#endif
/* 1: the state has hooks to choose a reaction and to let it fire, in usual_driver.h. */
#ifndef SALTUS_CHOOSES
#define SALTUS_CHOOSES 0
#endif
/* 1: a reaction may lack what it takes, and does nothing then. */
#ifndef SALTUS_IDLES
#define SALTUS_IDLES 0
#endif
/* 1: there may be event numbers at which nothing fires. */
#define SALTUS_VOIDS (SALTUS_DRIFTS || SALTUS_HAPPENINGS || SALTUS_HUBS || SALTUS_IDLES)
/* 1: events are those of usual_driver.h. */
#define SALTUS_AT_ONCE (SALTUS_EARLY && !SALTUS_DRIFTS && !SALTUS_HAPPENINGS)

#if SALTUS_DEVICE
/* How far a worker's trajectory is. */
typedef struct saltus_course {
    int32_t job; /* -1: it has no job */
    uint32_t sample;
    double stop; /* time of the next sample */
    saltus_samples to;
    int bad;
    uint64_t trajectory, block;
    uint64_t voids; /* event numbers at which nothing fired */
    double t;
} saltus_course;

/* End the job after so many events. */
SALTUS_FN void saltus_course_end(const saltus_launch *a, saltus_course *c, uint64_t events)
{
    if (SALTUS_WORKER_WRITES) {
        saltus_job_end(a, c->job, events, c->bad);
    }
    c->job = -1;
}

/* Whether the next sample is of the present state, up to time `end`, or before it. */
SALTUS_FN int saltus_course_stands(const saltus_course *c, double end, int before)
{
    return !(end < c->stop) && !(before && end == c->stop);
}

/* Write what is left of a sample, and go on to the next. Returns 0 after the last. */
SALTUS_FN int saltus_pass_sample(saltus_worker_state *s, const saltus_launch *a, saltus_course *c)
{
#if defined(SALTUS_COUNT) && !SALTUS_TOGETHER
    SALTUS_LOOP
    for (int i = 0; i < SALTUS_COLUMNS; ++i) {
        c->to.counts[i] = SALTUS_COUNT(s, a, i, 0);
    }
#endif
#if SALTUS_DRIFTS
    if (c->sample + 1 == (uint32_t)a->n_times) {
        s->time = c->stop;
        c->bad |= saltus_state_check(s);
    }
#endif
    saltus_state_record(s, a, c->stop, &c->to);
    const int is_last = ++c->sample == (uint32_t)a->n_times;
    c->stop = a->times[c->sample - (uint32_t)is_last];
    return !is_last;
}

/* Write the samples of the present state, as saltus_course_stands has it, if the next is one.
 * Returns 0 after the last of all. */
SALTUS_FN int saltus_pass_samples(saltus_worker_state *s, const saltus_launch *a, saltus_course *c,
                                  double end, int before, int stands)
{
    int goes_on = 1;
#if SALTUS_TOGETHER
    while (saltus_write_counts(s, a, stands, c->to.counts)) {
        if (stands) { /* the other draws stay for the next events */
            goes_on = saltus_pass_sample(s, a, c);
            stands = goes_on && saltus_course_stands(c, end, before);
        }
    }
#else
    while (stands) {
        goes_on = saltus_pass_sample(s, a, c);
        stands = goes_on && saltus_course_stands(c, end, before);
    }
#endif
    return goes_on;
}

/* Go on where the last launch ended. */
SALTUS_FN void saltus_course_load(saltus_course *c, saltus_worker_state *s, saltus_stream *stream,
                                  const saltus_launch *a, int64_t slot)
{
    const saltus_trajectory *p = a->states + slot;
    c->trajectory = p->trajectory;
    c->block = p->event >> 1;
    c->t = p->t;
    c->job = (int32_t)a->jobs[slot];
    c->sample = (uint32_t)p->sample;
    c->bad = 0;
    c->stop = c->job >= 0 ? a->times[c->sample] : 0.0;
    c->to = saltus_samples_of(a, c->job, c->sample);
    saltus_state_load(s, a, slot);
    saltus_stream_load(stream, a->stream + slot);
    saltus_state_use(s, a, c->job >= 0 ? saltus_numbers_of(a, c->job) : a->points);
#if SALTUS_VOIDS
    c->voids = p->event - p->fired;
#endif
#if SALTUS_DRIFTS
    saltus_drifts_load(s, p);
#else
    if (c->job >= 0) {
        c->bad = saltus_state_refresh(s, a);
    }
#endif
}

/* Take the next job and start its trajectory. Returns 0 if there is none. */
SALTUS_FN int saltus_course_start(saltus_course *c, saltus_worker_state *s, saltus_stream *stream,
                                  const saltus_launch *a, int64_t slot)
{
    const uint64_t next = SALTUS_WORKER_TAKE(a->next);
    if (next >= (uint64_t)a->n_jobs) {
        return 0;
    }
#if SALTUS_HAPPENINGS
    c->bad = saltus_events_happen(a, slot, (int64_t)next, SALTUS_HAPPENING_START, 0.0);
#else
    c->bad = 0;
#endif
    c->job = (int32_t)next;
    c->trajectory = a->trajectories[c->job];
    c->block = 0;
    c->sample = 0;
    c->t = 0.0;
    c->stop = a->times[0];
    c->to = saltus_samples_of(a, c->job, 0);
    const double *point = saltus_numbers_of(a, c->job);
    c->voids = 0;
    saltus_state_use(s, a, point);
#if SALTUS_HAPPENINGS
    saltus_state_load(s, a, slot);
#else
    saltus_state_start(s, a, point);
#endif
    saltus_stream_start(stream, a->stream + slot, a->seed, c->trajectory, a->jumps);
#if SALTUS_DRIFTS
    saltus_drifts_start(s);
#else
    c->bad |= saltus_state_refresh(s, a);
#endif
    return 1;
}

/* Write everything to memory; 1: counts are no longer exact. */
SALTUS_FN int saltus_course_put(const saltus_course *c, saltus_worker_state *s,
                                const saltus_stream *stream, const saltus_launch *a, int64_t slot)
{
    const int beyond = saltus_state_save(s, a, slot);
    saltus_stream_save(stream);
    if (SALTUS_WORKER_WRITES) {
        saltus_trajectory *p = a->states + slot;
        a->jobs[slot] = c->job;
        p->sample = c->sample;
        p->trajectory = c->trajectory;
        p->event = 2 * c->block;
        p->fired = p->event - (SALTUS_VOIDS ? c->voids : 0);
#if SALTUS_HAPPENINGS
        p->after = p->after && p->t == c->t; /* unless a reaction has fired since */
#endif
        p->t = c->t;
#if SALTUS_DRIFTS
        saltus_drifts_save(s, p);
#endif
    }
    return beyond;
}

/* Leave everything for the next launch. */
SALTUS_FN void saltus_course_save(saltus_course *c, saltus_worker_state *s,
                                  const saltus_stream *stream, const saltus_launch *a, int64_t slot)
{
    if (saltus_course_put(c, s, stream, a, slot) && c->job >= 0) {
        c->bad = 1;
        saltus_course_end(a, c, 0);
        if (SALTUS_WORKER_WRITES) {
            a->jobs[slot] = c->job;
        }
    }
    if (SALTUS_WORKER_WRITES) {
        saltus_slot_leave(a, slot, c->job);
    }
}

#if SALTUS_HAPPENINGS
/* Whether the special time comes before a reaction at t_next. */
SALTUS_FN int saltus_events_come_first(const saltus_worker_state *s, double t_next)
{
    return s->special < t_next || (s->special == t_next && !s->strict);
}

/* Let something happen at time t. All that the trajectory has goes to memory and comes back, so
 * that the function that is called there costs the others no registers. */
SALTUS_FN void saltus_course_happens(saltus_course *c, saltus_worker_state *s,
                                     saltus_stream *stream, const saltus_launch *a, int64_t slot,
                                     saltus_happening what, double t)
{
    int bad = saltus_course_put(c, s, stream, a, slot);
    bad |= saltus_events_happen(a, slot, c->job, what, t);
    saltus_course_load(c, s, stream, a, slot);
    c->bad |= bad;
}
#endif

#if SALTUS_AT_ONCE
#include "kernel/ssa/usual_driver.h"
#endif

/** Anything unusual ends the trajectory with a failure, whatever its name: it is rerun on the CPU,
 * which reports what happened. Until then it may compute nonsense, but writes no sample that is not
 * its own. */
SALTUS_KERNEL(saltus_by_worker, saltus_launch, a)
{
    const int64_t slot = SALTUS_WORKER_SLOT(&a);
    saltus_worker_state s;
    saltus_course c;
    saltus_stream stream;
    saltus_worker_draws draws;
    saltus_state_open(&s, &a); /* called by all threads of a block, because they may share tables */
    if (slot < 0) {
        return;
    }
    saltus_course_load(&c, &s, &stream, &a, slot);
    saltus_worker_reset(&draws);
    for (uint32_t left = (uint32_t)a.slice / 2; left > 0; --left, ++c.block) {
        if (c.job < 0) {
            if (!saltus_course_start(&c, &s, &stream, &a, slot)) {
                break;
            }
            saltus_worker_reset(&draws);
        }
        saltus_worker_draw(&draws, &stream, &a, c.trajectory, c.block);
        SALTUS_EACH_EVENT
        for (int h = 0; h < 2; ++h) {
#if SALTUS_DRIFTS
            if (s.waits != SALTUS_WINDOW_READY) {
                c.bad |= saltus_drifts_open(&s, c.t);
            }
#endif
#if SALTUS_AT_ONCE
            if (!saltus_course_react(&c, &s, &draws, &a, h)) {
                break;
            }
#else
            const double wait = saltus_worker_wait(&draws, &a, c.trajectory, c.block, h);
            const double total = saltus_state_total(&s, &a, &c.bad);
            double t_next = c.t + saltus_divide(wait, total);
            if (SALTUS_RARE(!saltus_divides(total))) {
                t_next = c.t + wait / (total + 0.0); /* -0 becomes 0 */
                c.bad |= !(total < SALTUS_INFINITY);
            }
            const uint64_t event = 2 * c.block + (uint64_t)h;
#if SALTUS_DRIFTS
            const int is_candidate = t_next < s.end;
            t_next = is_candidate ? t_next : s.end;
#endif
#if SALTUS_HAPPENINGS
            const int is_special = saltus_events_come_first(&s, t_next);
            const int ends_before = is_special && !s.strict;
            t_next = is_special ? s.special : t_next;
#else
            const int ends_before = 0;
#endif
            if (!saltus_pass_samples(&s, &a, &c, t_next, ends_before,
                                     saltus_course_stands(&c, t_next, ends_before))) {
                saltus_course_end(&a, &c, event - (SALTUS_VOIDS ? c.voids : 0));
                c.bad = 1; /* nothing else of this event counts */
            }
#if SALTUS_HAPPENINGS
            int happens = is_special;
            if (!is_special) {
                const int how = saltus_state_fire(&s, total, saltus_worker_choice(&draws, h), &a,
                                                  c.trajectory, c.block, h);
                c.bad |= how & 1;
                c.voids += SALTUS_IDLES ? (uint64_t)how >> 1 : 0;
                happens = SALTUS_WATCHES && saltus_state_turns(&s, c.t == t_next);
            }
            c.voids += (uint64_t)is_special;
            if (SALTUS_RARE(happens) && !c.bad) {
                saltus_course_happens(&c, &s, &stream, &a, slot,
                                      is_special ? SALTUS_HAPPENING_SPECIAL : SALTUS_HAPPENING_TURN,
                                      t_next);
            }
#elif SALTUS_DRIFTS
            c.bad |= saltus_drifts_pass(&s, total, saltus_worker_choice(&draws, h), &a,
                                        c.trajectory, c.block, h, t_next, is_candidate, &c.voids);
#else
            const int how = saltus_state_fire(&s, total, saltus_worker_choice(&draws, h), &a,
                                              c.trajectory, c.block, h);
            c.bad |= how & 1;
            c.voids += SALTUS_HUBS || SALTUS_IDLES ? (uint64_t)how >> 1 : 0;
#endif
            c.t = t_next;
            if (SALTUS_RARE(c.bad)) {
                if (c.job >= 0) {
                    saltus_course_end(&a, &c, 0);
                }
                break;
            }
#endif
        }
    }
#if SALTUS_AT_ONCE
    if (c.bad && c.job >= 0) {
        saltus_course_end(&a, &c, 0);
    }
#endif
    saltus_course_save(&c, &s, &stream, &a, slot);
}
#endif

#endif
