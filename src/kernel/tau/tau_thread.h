/**
 * Tau-leaping on a GPU with a thread per trajectory and a kernel that is written for the model: the
 * steps of tau.h, with the same bits. Exact steps are the direct method's, by the hooks that
 * ssa/direct_driver.h lists; before this header is included there are, for leaps,
 *
 *     SALTUS_N_REACTIONS, SALTUS_LARGEST_CHANGE
 *     SALTUS_MAY_LACK                1: a reaction may lack what it takes; then its law is anything
 *     saltus_leaper_laws(s, a)         the propensities, a[reaction]
 *     saltus_leaper_bound(s, tau, a, critical)
 *                                    how long a leap may be; *critical is the sum of the critical
 *                                    reactions' propensities, and their a[reaction] are negative
 *     saltus_leaper_move(s, sign, k)   let every reaction fire sign * k[reaction] times; returns
 *                                    saltus_moved
 *
 * Counts are doubles. Whatever might make one inexact ends the trajectory with a failure, as does
 * anything else that is unusual: it is rerun on the CPU, which takes whole numbers.
 */
#ifndef SALTUS_KERNEL_TAU_TAU_THREAD_H
#define SALTUS_KERNEL_TAU_TAU_THREAD_H

#include "kernel/ssa/launch.h"
#include "kernel/tau/tau.h"

/* 1: a reaction may lack what it takes, and does nothing then. */
#ifndef SALTUS_IDLES
#define SALTUS_IDLES 0
#endif

#if SALTUS_DEVICE
/* What some count has become. */
typedef enum saltus_moved {
    SALTUS_MOVED_BELOW = 1,  /* negative */
    SALTUS_MOVED_BEYOND = 2, /* more than 2^51 */
} saltus_moved;

/* Firings of a leap times the largest change, at most: sums over 64 reactions, twice, are exact. */
#define SALTUS_MOST_FIRINGS 0x1p44
/* Where several are rounded up: numbers of four reactions, which share a block of words. */
enum { SALTUS_N_NUMBERS = (SALTUS_N_REACTIONS + 3) / 4 * 4 };

/* A thread's trajectory, of which the course is used, and where its next sample goes. */
typedef struct saltus_leaper {
    saltus_trajectory trajectory;
    saltus_direct direct; /* its stream */
    saltus_leap leap;     /* its tau */
    int64_t job;          /* -1: it has none */
    double stop;          /* time of the next sample */
    saltus_samples to;
    int bad;
} saltus_leaper;

/* Numbers of a leap, by reaction. They stand beside the leaper, because what has an array whose
 * places are computed is in memory. */
typedef struct saltus_firings {
    double a[SALTUS_N_NUMBERS]; /* propensities; negative: it is critical */
    double first[SALTUS_N_NUMBERS], second[SALTUS_N_NUMBERS]; /* firings drawn for the halves */
    double more[SALTUS_N_NUMBERS]; /* propensities in the middle; then firings after it */
} saltus_firings;

/* Firings in a time `length` by the propensities before the leap. */
SALTUS_FN void saltus_leaper_predict(saltus_leaper *w, saltus_firings *f, double length)
{
    SALTUS_ONE_BY_ONE
    for (int r = 0; r < SALTUS_N_REACTIONS; ++r) {
        const double mean = f->a[r] * length;
        saltus_halves halves = {0.0, 0.0};
        if (mean > 0.0) {
            w->bad |= !(mean * SALTUS_LARGEST_CHANGE < SALTUS_MOST_FIRINGS);
            if (!w->bad) {
                halves = saltus_leap_poisson(&w->trajectory, &w->direct, &w->leap, mean);
            }
        }
        f->first[r] = halves.first;
        f->second[r] = halves.second;
    }
}

/* Firings after the middle, by the propensities there, which are in f->more, and critical reaction
 * `one` if it fires. Returns 0 where there is no such number. */
SALTUS_FN int saltus_leaper_correct(saltus_leaper *w, saltus_firings *f, double length, int one,
                                    uint32_t word)
{
    int is_good = 1;
    SALTUS_ONE_BY_ONE
    for (int first = 0; is_good && first < SALTUS_N_REACTIONS; first += 4) {
        uint32_t words[4];
        saltus_leap_draw(&w->trajectory, &w->direct, &w->leap, words);
        SALTUS_UNROLL
        for (int i = 0; i < 4; ++i) {
            const int r = first + i;
            const double a = f->a[r], middle = f->more[r], second = f->second[r],
                         more = saltus_tau_more(length, a, middle, second),
                         k = saltus_tau_whole(more, words[i], second, second);
            if (r < SALTUS_N_REACTIONS) {
                const int leaps = a > 0.0, ends = r == one;
                is_good &= !(leaps || ends) || middle >= 0.0;
                is_good &= !leaps || more * SALTUS_LARGEST_CHANGE < 0x1p50;
                w->bad |= leaps && !(more * SALTUS_LARGEST_CHANGE < SALTUS_MOST_FIRINGS);
                w->bad |= SALTUS_MAY_LACK && (leaps || ends) && middle < 0.0;
                const int fires = ends && saltus_tau_accepts(word, -a, middle + (middle + a));
                f->more[r] = leaps ? k : fires ? 1.0 : 0.0;
            }
        }
    }
    return is_good;
}

/* All that happens in a leap of `length`, with critical reaction `one` at its end unless that is
 * -1 or a word says no. The counts are as they were where it is too long. */
SALTUS_FN saltus_attempt saltus_leaper_try(saltus_leaper *w, saltus_worker_state *s,
                                           saltus_firings *f, double length, int one, uint32_t word)
{
    saltus_leaper_predict(w, f, length);
    int moved = saltus_leaper_move(s, 1.0, f->first);
    int is_good = !(moved & SALTUS_MOVED_BELOW);
    if (is_good) {
        saltus_leaper_laws(s, f->more);
        is_good = saltus_leaper_correct(w, f, length, one, word);
        if (is_good) {
            int last = saltus_leaper_move(s, 1.0, f->more);
            if (SALTUS_IDLES && last & SALTUS_MOVED_BELOW && one >= 0) { /* it lacks reactants? */
                (void)saltus_leaper_move(s, -1.0, f->more);
                for (int r = 0; r < SALTUS_N_REACTIONS; ++r) {
                    f->more[r] = r == one ? 0.0 : f->more[r];
                }
                last = saltus_leaper_move(s, 1.0, f->more);
            }
            moved |= last;
            if (last & SALTUS_MOVED_BELOW) {
                (void)saltus_leaper_move(s, -1.0, f->more);
                is_good = 0;
            }
        }
    }
    if (!is_good) {
        (void)saltus_leaper_move(s, -1.0, f->first);
    }
    w->bad |= moved & SALTUS_MOVED_BEYOND;
    return is_good ? SALTUS_LEAPT : SALTUS_TOO_LONG;
}

/* The critical reaction at `goal` of the sum of their propensities. */
SALTUS_FN int saltus_leaper_choose(const saltus_firings *f, double goal)
{
    int chosen = -1;
    double sum = 0.0;
    SALTUS_ONE_BY_ONE
    for (int r = 0; r < SALTUS_N_REACTIONS && !(chosen >= 0 && sum > goal); ++r) {
        if (f->a[r] < 0.0) {
            chosen = r;
            sum -= f->a[r];
        }
    }
    return chosen;
}

/* A leap, of `step` at most, and not beyond the next sample; see saltus_leap_apply. */
SALTUS_FN void saltus_leaper_leap(saltus_leaper *w, saltus_worker_state *s, saltus_firings *f,
                                  double total, const saltus_launch *a)
{
    saltus_trajectory *const p = &w->trajectory;
    double critical, step = saltus_leaper_bound(s, &w->leap.tau, f->a, &critical);
    const double left = w->stop - p->t;
    for (;; step = 0.5 * (step < left ? step : left)) {
        double length = step, t_next;
        int one = -1;
        uint32_t word = 0;
        if (step * total < SALTUS_SHORT_LEAP) {
            p->exact = w->leap.tau.n_exact;
            return;
        }
        if (critical > 0.0) {
            uint32_t words[4];
            saltus_leap_draw(p, &w->direct, &w->leap, words);
            const double wait = saltus_leap_wait(p, words[0]) / (SALTUS_CRITICAL_MARGIN * critical);
            word = words[1];
            if (wait <= step) {
                length = wait;
                one = saltus_leaper_choose(f, saltus_unit53(words[2], words[3]) * critical);
            }
        }
        t_next = p->t + length;
        if (!(t_next < w->stop)) {
            t_next = w->stop;
            length = left;
            one = -1;
        }
        const saltus_attempt attempt = saltus_leaper_try(w, s, f, length, one, word);
        if (w->bad) {
            return;
        }
        if (attempt == SALTUS_LEAPT) {
            double fired = 0.0;
            for (int r = 0; r < SALTUS_N_REACTIONS; ++r) {
                fired += f->first[r] + f->more[r];
            }
            p->t = t_next;
            p->fired += (uint64_t)(int64_t)fired;
            ++p->leaps;
            p->exact = (int32_t)saltus_tau_after_leap(p->exact, -(fired < SALTUS_SHORT_LEAP),
                                                      -(one >= 0), -!(t_next < w->stop));
            p->exact = saltus_tau_gives_up(p->exact) ? w->leap.tau.n_exact : p->exact;
            w->bad |= saltus_state_refresh(s, a);
            return;
        }
    }
}

/* One reaction, as the direct method has it, or on to the next sample if that comes first. */
SALTUS_FN void saltus_leaper_exact(saltus_leaper *w, saltus_worker_state *s, double total,
                                   const saltus_launch *a)
{
    saltus_trajectory *const p = &w->trajectory;
    uint32_t words[4];
    saltus_leap_draw(p, &w->direct, &w->leap, words);
    const double wait = saltus_leap_wait(p, words[0]);
    const double t_next =
        p->t + (saltus_divides(total) ? saltus_divide(wait, total) : wait / total);
    if (!(t_next < w->stop)) {
        p->t = w->stop;
        return;
    }
    const uint64_t event = ((uint64_t)1 << SALTUS_LEAP_WORDS) + p->block;
    const int how = saltus_state_fire(s, total, saltus_from_word(words[1]), a, p->trajectory,
                                      event >> 1, (int)(event & 1));
    p->t = t_next;
    p->exact = (int32_t)saltus_tau_after_step(p->exact);
    ++p->exact_steps;
    p->fired += SALTUS_IDLES && how & 2 ? 0 : 1;
    w->bad |= how & 1;
}

/* Write a sample and go on to the next. Returns 0 after the last. */
SALTUS_FN int saltus_leaper_record(saltus_leaper *w, saltus_worker_state *s, const saltus_launch *a)
{
#if defined(SALTUS_COUNT)
    SALTUS_LOOP
    for (int i = 0; i < SALTUS_COLUMNS; ++i) {
        w->to.counts[i] = SALTUS_COUNT(s, a, i, 0);
    }
#endif
    saltus_state_record(s, a, w->stop, &w->to);
    if (++w->trajectory.sample == a->n_times) {
        return 0;
    }
    w->stop = a->times[w->trajectory.sample];
    return 1;
}

/* What the thread does next. */
typedef enum saltus_turn {
    SALTUS_TURN_EXACT,
    SALTUS_TURN_LEAP,
    SALTUS_TURN_REST, /* the trajectory has ended, has failed, or waits for the next launch */
} saltus_turn;

/* Samples that are due, and what comes then; *total is the sum of all propensities. */
SALTUS_FN saltus_turn saltus_leaper_turn(saltus_leaper *w, saltus_worker_state *s,
                                         const saltus_launch *a, double *total)
{
    saltus_trajectory *const p = &w->trajectory;
    *total = saltus_state_total(s, a, &w->bad) + 0.0; /* no -0 */
    w->bad |= !(*total < SALTUS_INFINITY);
    const int reacts = *total > 0.0;
    while (!w->bad) {
        if (reacts && p->t < w->stop) {
            return p->block >= p->limit ? SALTUS_TURN_REST
                   : p->exact > 0       ? SALTUS_TURN_EXACT
                                        : SALTUS_TURN_LEAP;
        }
        p->t = w->stop;
        if (!saltus_leaper_record(w, s, a)) {
            break;
        }
    }
    return SALTUS_TURN_REST;
}

/* Take a trajectory to its end, or to p->limit blocks of random words. The threads of a warp do
 * what most of them have before them: one leap, or some exact steps, and the others wait. */
SALTUS_FN void saltus_leaper_run(saltus_leaper *w, saltus_worker_state *s, const saltus_launch *a)
{
    saltus_firings f;
    const uint32_t all = saltus_warp_here();
    uint32_t here = all;
    double total;
    saltus_turn turn = saltus_leaper_turn(w, s, a, &total);
    for (;;) {
        here = saltus_warp_ballot(here, turn != SALTUS_TURN_REST);
        if (turn == SALTUS_TURN_REST) {
            break;
        }
        const saltus_turn now = saltus_warp_mostly(here, turn == SALTUS_TURN_LEAP)
                                    ? SALTUS_TURN_LEAP
                                    : SALTUS_TURN_EXACT;
        if (turn != now) {
            continue;
        }
        if (now == SALTUS_TURN_LEAP) {
            saltus_leaper_leap(w, s, &f, total, a);
            turn = saltus_leaper_turn(w, s, a, &total);
            continue;
        }
        SALTUS_ONE_BY_ONE
        for (int i = 0; i < SALTUS_EXACT_STEPS && turn == SALTUS_TURN_EXACT; ++i) {
            saltus_leaper_exact(w, s, total, a);
            turn = saltus_leaper_turn(w, s, a, &total);
        }
    }
    saltus_warp_wait_for(all); /* they take new trajectories together */
}

/* What a trajectory has beside its counts. */
SALTUS_FN void saltus_leaper_copy(saltus_trajectory *to, const saltus_trajectory *from)
{
    to->trajectory = from->trajectory;
    to->t = from->t;
    to->sample = from->sample;
    to->block = from->block;
    to->fired = from->fired;
    to->exact = from->exact;
    to->leaps = from->leaps;
    to->exact_steps = from->exact_steps;
}

/* Go on where the last launch ended. */
SALTUS_FN void saltus_leaper_load(saltus_leaper *w, saltus_worker_state *s, const saltus_launch *a,
                                  int64_t slot)
{
    saltus_trajectory *const p = &w->trajectory;
    p->seed = a->seed;
    saltus_leaper_copy(p, a->states + slot);
    w->leap.tau = a->tau;
    w->direct.stream = a->stream + slot;
    w->job = a->jobs[slot];
    w->bad = 0;
    w->stop = w->job >= 0 ? a->times[p->sample] : 0.0;
    w->to = saltus_samples_of(a, w->job, p->sample);
    saltus_state_load(s, a, slot);
    saltus_state_use(s, a, w->job >= 0 ? saltus_numbers_of(a, w->job) : a->points);
    if (w->job >= 0) {
        w->bad = saltus_state_refresh(s, a);
    }
}

/* Take the next job and start its trajectory. Returns 0 if there is none. */
SALTUS_FN int saltus_leaper_start(saltus_leaper *w, saltus_worker_state *s, const saltus_launch *a)
{
    saltus_trajectory *const p = &w->trajectory;
    const int64_t next = (int64_t)SALTUS_NEXT_NUMBER(a->next);
    saltus_stream stream;
    if (next >= a->n_jobs) {
        return 0;
    }
    w->job = next;
    p->trajectory = a->trajectories[next];
    p->t = 0.0;
    p->sample = 0;
    p->block = p->fired = p->leaps = p->exact_steps = 0;
    p->exact = 0;
    w->stop = a->times[0];
    w->to = saltus_samples_of(a, next, 0);
    const double *point = saltus_numbers_of(a, next);
    saltus_state_use(s, a, point);
    saltus_state_start(s, a, point);
    saltus_stream_start(&stream, w->direct.stream, p->seed, p->trajectory, a->jumps);
    saltus_stream_save(&stream);
    w->bad = saltus_state_refresh(s, a);
    return 1;
}

/* Tell what has become of the job. */
SALTUS_FN void saltus_leaper_end(saltus_leaper *w, const saltus_launch *a)
{
    a->leaps[2 * w->job] = w->trajectory.leaps;
    a->leaps[2 * w->job + 1] = w->trajectory.exact_steps;
    saltus_job_end(a, w->job, w->trajectory.fired, w->bad);
    w->job = -1;
}

/* Leave everything for the next launch. */
SALTUS_FN void saltus_leaper_save(saltus_leaper *w, saltus_worker_state *s, const saltus_launch *a,
                                  int64_t slot)
{
    const int beyond = saltus_state_save(s, a, slot);
    if (beyond && w->job >= 0) {
        w->bad = 1;
        saltus_leaper_end(w, a);
    }
    saltus_leaper_copy(a->states + slot, &w->trajectory);
    a->jobs[slot] = w->job;
    saltus_slot_leave(a, slot, w->job);
}

SALTUS_KERNEL(saltus_by_worker, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    saltus_worker_state s;
    saltus_leaper w;
    saltus_state_open(&s, &a); /* called by all threads of a block, because they may share tables */
    if (slot < 0) {
        return;
    }
    saltus_trajectory *const p = &w.trajectory;
    uint64_t left = a.slice;
    saltus_leaper_load(&w, &s, &a, slot);
    while (left > 0 && (w.job >= 0 || saltus_leaper_start(&w, &s, &a))) {
        const uint64_t before = p->block;
        p->limit = before + left;
        saltus_leaper_run(&w, &s, &a);
        const uint64_t done = p->block - before;
        left -= done < left ? done : left;
        if (!w.bad && p->sample < a.n_times) {
            break;
        }
        saltus_leaper_end(&w, &a);
    }
    saltus_leaper_save(&w, &s, &a, slot);
}
#endif

#endif
