/**
 * Rate rules with a thread per trajectory whose counts, variables and stages stand in registers: of
 * models whose kernel is written by the host (codegen/motion.c, codegen/registers_rates.c). Steps
 * at whose end nothing happens but a reaction or a special time, and samples within them, are taken
 * here as run.h takes them, to the same bits. What comes otherwise (a step in which a trigger
 * turns, one that looks stiff, a propensity below 0) is left to run.h, which does it from memory,
 * one step at a time. Beyond what ode_global.h asks for there are
 *
 *     saltus_worker_state            counts, propensities and their sums, as in direct_driver.h,
 *                                    whose saltus_state_use, saltus_state_total and
 *                                    saltus_state_fire there are
 *     saltus_state_load(s, a, slot, y), saltus_state_save(s, a, slot, y)
 *                                    counts and variables from and to memory; load returns 1 if the
 *                                    counts are not exact here
 *     saltus_state_at(s, time, y)    let the state be at that time, and its variables y
 *     saltus_state_slope(s, slope, laws)
 *                                    what moves there: rates, and propensities
 *     saltus_state_give(s, laws)     let propensities that move have these values
 *     SALTUS_HAPPENINGS              1: there are events, clocks or values that are drawn, and the
 *                                    hooks of event_driver.h
 *     SALTUS_N_ROOTS                 of triggers that move; -1: none does. Else there is
 *     saltus_state_roots(s, roots)   so many differences that they compare
 */
#ifndef SALTUS_KERNEL_ODE_RATE_THREAD_H
#define SALTUS_KERNEL_ODE_RATE_THREAD_H

#include "kernel/ode/ode_global.h"
#include "kernel/ssa/event_driver.h"
#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
enum { SALTUS_HAZARD = SALTUS_ODE_SIZE - 1 }; /* the last component */

/* What a thread does next. */
typedef enum saltus_rate_next {
    SALTUS_RATES_STEP,    /* in registers; all else by memory: */
    SALTUS_RATES_BEGIN,   /* the next job, if there is one */
    SALTUS_RATES_BY_RUN,  /* what run.h does; all is in memory */
    SALTUS_RATES_SPECIAL, /* what is due at the special time */
    SALTUS_RATES_TURN,    /* what follows from the last reaction's turning a trigger */
    SALTUS_RATES_END,     /* nothing */
} saltus_rate_next;

/* Memory is slow, so that threads of a warp go there together: one waits until all do, or until
 * those that wait have waited for so many steps, taken together. */
enum { SALTUS_RATES_PATIENCE = 1024 };

/* A trajectory between two steps. */
typedef struct saltus_rate_course {
    int64_t job; /* -1: there is none */
    saltus_rate_next next;
    int64_t sample;
    double stop; /* time of that sample */
    uint64_t trajectory, event, fired, n_steps;
    uint32_t words[4]; /* of the event's block */
    double target, word;
    double t, special, step, still;
    int after;     /* as in saltus_trajectory */
    int n_stalled; /* as in saltus_ode_carried */
    double again;  /* size of a step that is tried again, shorter; 0: a new one begins */
    double y[SALTUS_ODE_SIZE];
} saltus_rate_course;

/* What slopes are computed from. */
struct saltus_rate_slopes {
    saltus_worker_state state; /* at a stage */
    double still, laws[SALTUS_N_MOVING + 1];
    int is_odd; /* some propensity was none */
};

SALTUS_FN void saltus_rates_slope(struct saltus_rate_slopes *x, double time, const double *y,
                                  double *slope)
{
    double sum = x->still;
    saltus_state_at(&x->state, time, y);
    saltus_state_slope(&x->state, slope, x->laws);
    for (int i = 0; i < SALTUS_N_MOVING; ++i) {
        x->is_odd |= !(x->laws[i] >= 0.0);
        sum += x->laws[i];
    }
    slope[SALTUS_HAZARD] = sum;
}

/* ------------------------------------------------------------------------------------------------
 * By memory
 */

/* Record a sample. */
SALTUS_OUTLINE void saltus_rates_record(const saltus_launch *a, int64_t slot, int64_t job,
                                        int64_t sample, double time)
{
    saltus_trajectory *p = a->states + slot;
    saltus_launch_open(a, p, slot, job);
    p->sample = sample;
    saltus_trajectory_record(p, time, a->counts + job * a->n_times * a->columns.n_counts,
                             a->observables + job * a->n_times * a->columns.n_observables);
}

/* Take the next step, and those behind it up to `left` while they are stiff. Returns their number.
 */
SALTUS_OUTLINE uint64_t saltus_rates_by_run(const saltus_launch *a, int64_t slot, int64_t job,
                                            uint64_t left)
{
    saltus_tree_thread w;
    saltus_ode o;
    saltus_trajectory *p = &w.trajectory;
    int64_t *counts = a->counts + job * a->n_times * a->columns.n_counts;
    double *observables = a->observables + job * a->n_times * a->columns.n_observables;
    uint64_t n = 0;
    int goes_on;
    *p = a->states[slot];
    saltus_launch_open(a, p, slot, job);
    p->failure = SALTUS_FINE;
    saltus_tree_place(&w, a, slot);
    saltus_ode_place_thread(a, slot, &o);
    goes_on = saltus_ode_open(p, &w.direct, &o) == SALTUS_FINE;
    while (goes_on && (n == 0 || (p->carried.is_stiff && n < left))) {
        goes_on =
            saltus_ode_due(p, &w.direct, &o, a->times, a->n_times, counts, observables) >= 0 &&
            saltus_ode_advance(p, &w.direct, &o, a->times, a->n_times, counts, observables) >= 0;
        ++p->block;
        ++n;
    }
    if (!goes_on) {
        saltus_job_end(a, job, p->fired, p->failure != SALTUS_FINE);
        a->jobs[slot] = -1;
    }
    a->states[slot] = *p;
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * In registers
 */

/* The next event's wait and choice; `is_new`: its block is not drawn. */
SALTUS_FN void saltus_rates_draw(const saltus_launch *a, saltus_rate_course *c, int is_new)
{
    const int h = (int)(c->event & 1);
    saltus_stream stream;
    if (is_new || h == 0) {
        saltus_stream_next(&stream, a->keys, c->trajectory, c->event >> 1, c->words);
    }
    const uint32_t word = h ? c->words[2] : c->words[0];
    c->target = saltus_exponential32(word);
    if (SALTUS_RARE(word == 0)) {
        c->target = saltus_wait_refined(a->seed, c->trajectory, c->event);
    }
    c->word = saltus_from_word(h ? c->words[3] : c->words[1]);
}

/* The sum of the propensities that do not move. */
SALTUS_FN double saltus_rates_still(saltus_worker_state *s, const saltus_launch *a, int *bad)
{
    const double zeros[SALTUS_N_MOVING + 1] = {0};
    saltus_state_give(s, zeros);
    return saltus_state_total(s, a, bad) + 0.0;
}

/* Take a slot's trajectory from memory. */
SALTUS_FN void saltus_rates_load(saltus_rate_course *c, saltus_worker_state *s,
                                 const saltus_launch *a, int64_t slot)
{
    const saltus_trajectory *p = a->states + slot;
    c->job = a->jobs[slot];
    c->next = SALTUS_RATES_BEGIN;
    if (c->job < 0) {
        return;
    }
    c->trajectory = p->trajectory;
    c->event = p->event;
    c->fired = p->fired;
    c->n_steps = p->block;
    c->sample = p->sample;
    c->stop = a->times[p->sample];
    c->t = p->t;
    c->after = p->after;
    c->special = p->special;
    c->step = p->carried.step;
    c->n_stalled = p->carried.n_stalled;
    c->again = 0.0;
    c->y[SALTUS_HAZARD] = p->carried.hazard;
    saltus_state_use(s, a, saltus_numbers_of(a, c->job));
    int bad = saltus_state_load(s, a, slot, c->y);
    c->still = saltus_rates_still(s, a, &bad);
    /* run.h says which propensity is none */
    c->next = bad || p->carried.is_stiff || p->carried.n_stiff > 0 ||
                      a->tolerance.stiff == SALTUS_STIFF_ALWAYS
                  ? SALTUS_RATES_BY_RUN
                  : SALTUS_RATES_STEP;
    saltus_rates_draw(a, c, 1);
}

SALTUS_FN void saltus_rates_save(const saltus_rate_course *c, const saltus_worker_state *s,
                                 const saltus_launch *a, int64_t slot)
{
    saltus_trajectory *p = a->states + slot;
    saltus_state_save(s, a, slot, c->y);
    p->event = c->event;
    p->fired = c->fired;
    p->block = c->n_steps;
    p->sample = c->sample;
    p->t = c->t;
    p->after = c->after;
    p->carried.step = c->step;
    p->carried.hazard = c->y[SALTUS_HAZARD];
    p->carried.n_stalled = c->n_stalled;
}

SALTUS_FN void saltus_rates_end(saltus_rate_course *c, const saltus_launch *a, int64_t slot,
                                int bad)
{
    saltus_job_end(a, c->job, c->fired, bad);
    a->jobs[slot] = c->job = -1;
    c->next = SALTUS_RATES_BEGIN;
}

/* Begin the next job, if there is one. */
SALTUS_FN void saltus_rates_begin(saltus_rate_course *c, saltus_worker_state *s,
                                  const saltus_launch *a, int64_t slot)
{
    const int64_t next = (int64_t)SALTUS_NEXT_NUMBER(a->next);
    c->next = SALTUS_RATES_END;
    if (next < a->n_jobs) {
        a->jobs[slot] = next;
        const int fails = saltus_events_happen(a, slot, next, SALTUS_HAPPENING_START, 0.0);
        saltus_rates_load(c, s, a, slot);
        if (fails) {
            saltus_rates_end(c, a, slot, 1);
        }
    }
}

/* Record the state y as the next sample. Returns 0 if that was the last. */
SALTUS_FN int saltus_rates_sample(saltus_rate_course *c, const saltus_worker_state *s,
                                  const saltus_launch *a, int64_t slot, const double *y)
{
    saltus_state_save(s, a, slot, y);
    saltus_rates_record(a, slot, c->job, c->sample, c->stop);
    if (++c->sample == a->n_times) {
        saltus_rates_end(c, a, slot, 0);
        return 0;
    }
    c->stop = a->times[c->sample];
    return 1;
}

#if SALTUS_HAPPENINGS
/* Let happen what the special time, or a turn, brings. */
SALTUS_FN void saltus_rates_happen(saltus_rate_course *c, saltus_worker_state *s,
                                   const saltus_launch *a, int64_t slot)
{
    const int is_special = c->next == SALTUS_RATES_SPECIAL;
    if (is_special) { /* the wait is void */
        ++c->event;
        c->y[SALTUS_HAZARD] = 0.0;
    }
    saltus_rates_save(c, s, a, slot);
    const int bad = saltus_events_happen(
        a, slot, c->job, is_special ? SALTUS_HAPPENING_SPECIAL : SALTUS_HAPPENING_TURN, c->t);
    saltus_rates_load(c, s, a, slot);
    if (bad) {
        saltus_rates_end(c, a, slot, 1);
    }
}
#endif

/* Do what comes next by memory; `left` loses the steps that are taken. */
SALTUS_FN void saltus_rates_by_memory(saltus_rate_course *c, saltus_worker_state *s,
                                      const saltus_launch *a, int64_t slot, uint64_t *left)
{
    if (c->next == SALTUS_RATES_BEGIN) {
        saltus_rates_begin(c, s, a, slot);
    } else if (c->next == SALTUS_RATES_BY_RUN) {
        const uint64_t done = saltus_rates_by_run(a, slot, c->job, *left);
        *left -= done < *left ? done : *left;
        saltus_rates_load(c, s, a, slot);
    } else {
#if SALTUS_HAPPENINGS
        saltus_rates_happen(c, s, a, slot);
#endif
    }
}

/* Leave what comes next to run.h. */
SALTUS_FN void saltus_rates_leave(saltus_rate_course *c, const saltus_worker_state *s,
                                  const saltus_launch *a, int64_t slot)
{
    saltus_rates_save(c, s, a, slot);
    c->next = SALTUS_RATES_BY_RUN;
}

/* Do what is due at the present time. Returns 0 if no step comes next. */
SALTUS_FN int saltus_rates_due(saltus_rate_course *c, const saltus_worker_state *s,
                               const saltus_launch *a, int64_t slot)
{
    for (;;) {
        const int is_sample = c->stop <= c->t;
#if SALTUS_HAPPENINGS
        if (c->special <= c->t && (!s->strict || !is_sample)) {
            c->next = SALTUS_RATES_SPECIAL;
            return 0;
        }
#endif
        if (!is_sample) {
            return 1;
        }
        if (!saltus_rates_sample(c, s, a, slot, c->y)) {
            return 0;
        }
    }
}

#if SALTUS_N_ROOTS >= 0
SALTUS_FN saltus_mask saltus_ode_roots_of(saltus_ode_context *c, double time, const double *y,
                                          double *now)
{
    saltus_worker_state *s = &c->slopes->state;
    saltus_state_at(s, time, y);
    saltus_state_roots(s, now);
    return -(saltus_mask)saltus_state_turns(s, 0);
}

#include "kernel/ode/roots.h"
#endif

/* Choose a reaction and fire it at the state c, where those propensities that move are `laws`; the
 * time may have stood still. */
SALTUS_FN void saltus_rates_fire(saltus_rate_course *c, saltus_worker_state *s, double *laws,
                                 int stood, const saltus_launch *a, int64_t slot)
{
    int bad = 0;
    for (int i = 0; i < SALTUS_N_MOVING; ++i) {
        laws[i] = laws[i] >= 0.0 ? laws[i] : 0.0;
    }
    saltus_state_give(s, laws);
    const double total = saltus_state_total(s, a, &bad) + 0.0;
    bad |= !(total < SALTUS_INFINITY);
    if (total > 0.0) { /* else the hazard has just become 0, and the event is void */
        const int how = saltus_state_fire(s, total, c->word, a, c->trajectory, c->event >> 1,
                                          (int)(c->event & 1));
        bad |= how & 1;
        c->fired += !(how & 2);
    }
    c->still = saltus_rates_still(s, a, &bad);
    ++c->event;
    saltus_rates_draw(a, c, 0);
    if (SALTUS_RARE(bad)) {
        saltus_rates_end(c, a, slot, 1);
        return;
    }
    (void)stood;
#if SALTUS_WATCHES
    saltus_state_at(s, c->t, c->y);
    c->next = saltus_state_turns(s, stood) ? SALTUS_RATES_TURN : c->next;
#endif
}

/* Take a step, or try it. What is left to run.h finds all that it needs in memory: samples are all
 * that has happened. */
SALTUS_FN void saltus_rates_step(saltus_rate_course *c, saltus_worker_state *s,
                                 const saltus_launch *a, int64_t slot)
{
    double z[SALTUS_ODE_SIZE], w[SALTUS_ODE_SIZE], e[SALTUS_ODE_SIZE], k[7 * SALTUS_ODE_SIZE];
    struct saltus_rate_slopes slopes;
    saltus_ode_context context;
    saltus_ode_memory m;
    if (!saltus_rates_due(c, s, a, slot)) {
        return;
    }
    slopes.state = *s;
    slopes.still = c->still;
    slopes.is_odd = 0;
    context.slopes = &slopes;
    m.n = SALTUS_ODE_SIZE;
    m.n_states = SALTUS_ODE_SIZE - 1;
    m.n_amounts = m.n_noisy = 0;
    m.of_amounts = 0.0;
    m.rtol = m.of_hazard = a->tolerance.rtol;
    m.atol = a->tolerance.atol;
    m.y = c->y;
    m.z = z;
    m.w = w;
    m.e = e;
    m.k = k;
    saltus_rates_slope(&slopes, c->t, c->y, k);
    for (int i = 0; i < SALTUS_ODE_SIZE; ++i) {
        slopes.is_odd |= !(0.0 * c->y[i] == 0.0) | !(0.0 * k[i] == 0.0);
    }
    if (!(c->step > 0.0)) {
        c->step = saltus_ode_first_step(&m);
    }
    const double least = saltus_ode_least(c->t);
    const double room =
        saltus_ode_room(c->special - c->t, c->target - c->y[SALTUS_HAZARD], k[SALTUS_HAZARD]);
    const int is_again = c->again > 0.0;
    double size = c->step < room ? c->step : room > least ? room : least;
    size = is_again ? c->again : size;
    const int is_cut = !is_again && size < c->step;
    const double own = saltus_ode_explicit(&context, &m, c->t, size);
    const double error = saltus_ode_error_of(own, c->t, size, z[SALTUS_HAZARD], c->target);
    c->again = 0.0;
    if (SALTUS_RARE(slopes.is_odd)) {
        saltus_rates_leave(c, s, a, slot);
        return;
    }
    if (!(error <= 1.0)) {
        c->again = saltus_ode_shorter(size, error, 5);
        if (SALTUS_RARE(c->again < least || error != error)) {
            saltus_rates_leave(c, s, a, slot);
        }
        return;
    }
    if (!is_cut && a->tolerance.stiff == SALTUS_STIFF_AUTO && saltus_ode_is_at_border(&m, size)) {
        saltus_rates_leave(c, s, a, slot);
        return;
    }
    const double tried = is_again ? size : c->step;
    const double next = saltus_ode_next_size(size, tried, error, 5, is_again);
    const int fires = c->target <= z[SALTUS_HAZARD];
    double theta = 1.0;
    if (fires) {
        const saltus_ode_polynomial p = saltus_ode_polynomial_of(&m, SALTUS_HAZARD, size);
        theta = saltus_ode_reach(&p, c->target, -1);
    }
    double end = c->t + theta * size;
    if (!(end < c->special) || (!fires && !(size < c->special - c->t))) {
        end = c->special;
    }
    if (SALTUS_RARE(fires && end == c->special)) { /* what is due then may go with the reaction */
        saltus_rates_leave(c, s, a, slot);
        return;
    }
#if SALTUS_N_ROOTS >= 0
    double roots[3 * SALTUS_N_ROOTS + 1];
    if (saltus_ode_may_turn(&context, &m, c->t, size, theta, SALTUS_N_ROOTS, roots, e)) {
        saltus_rates_leave(c, s, a, slot);
        return;
    }
#endif
    while (c->stop < end) {
        const double share = (c->stop - c->t) / size;
        saltus_ode_interpolate(&m, size, share < 1.0 ? share : 1.0, w);
        if (!saltus_rates_sample(c, s, a, slot, w)) {
            return;
        }
    }
    if (fires) {
        saltus_ode_interpolate(&m, size, theta, w);
        saltus_state_at(&slopes.state, end, w);
        saltus_state_slope(&slopes.state, e, slopes.laws);
        for (int i = 0; i < SALTUS_N_MOVING; ++i) {
            slopes.is_odd |= slopes.laws[i] != slopes.laws[i];
        }
        if (SALTUS_RARE(slopes.is_odd)) {
            saltus_rates_leave(c, s, a, slot);
            return;
        }
    }
    for (int i = 0; i < SALTUS_ODE_SIZE; ++i) {
        c->y[i] = fires ? w[i] : z[i];
    }
    c->y[SALTUS_HAZARD] = fires ? 0.0 : z[SALTUS_HAZARD];
    const int stood = end == c->t;
    c->t = end;
    c->after = c->n_stalled = 0;
    c->step = next;
    ++c->n_steps;
    if (fires) {
        saltus_rates_fire(c, s, slopes.laws, stood, a, slot);
    }
}

SALTUS_KERNEL(saltus_global, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    saltus_worker_state s;
    saltus_rate_course c;
    uint64_t left = a.slice;
    int waited = 0;
    c.next = SALTUS_RATES_END;
    if (slot >= 0) {
        saltus_rates_load(&c, &s, &a, slot);
    }
    for (;;) { /* all threads of a warp meet here */
        const int steps = c.next == SALTUS_RATES_STEP;
        const int waits = !steps && c.next != SALTUS_RATES_END;
        const uint32_t going = saltus_warp_bits(steps), waiting = saltus_warp_bits(waits);
        waited += SALTUS_POPCOUNT(waiting);
        if (!(going | waiting)) {
            break;
        }
        if (waiting && (!going || waited >= SALTUS_RATES_PATIENCE)) {
            waited = 0;
            if (waits) {
                saltus_rates_by_memory(&c, &s, &a, slot, &left);
            }
        } else if (steps) {
            saltus_rates_step(&c, &s, &a, slot);
            --left;
        }
        if (left == 0 && c.next <= SALTUS_RATES_BY_RUN) {
            if (c.next == SALTUS_RATES_STEP) {
                saltus_rates_save(&c, &s, &a, slot);
            }
            c.next = SALTUS_RATES_END;
        }
    }
    if (slot >= 0) {
        saltus_slot_leave(&a, slot, c.job);
    }
}
#endif

#endif
