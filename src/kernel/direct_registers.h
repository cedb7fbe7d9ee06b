/**
 * The direct method with a thread per trajectory and its state in registers. What depends on the
 * model is generated before this header is included (backend/cuda/registers.c): a struct
 * saltus_small with the counts and sums, and functions saltus_small_… on it.
 *
 * Networks of up to 64 reactions have one or two levels of sums. With one, every propensity is
 * recomputed at every event; with two, the groups that an event may have changed.
 */
#ifndef SALTUS_KERNEL_DIRECT_REGISTERS_H
#define SALTUS_KERNEL_DIRECT_REGISTERS_H

#include "kernel/direct_tree.h"
#include "kernel/launch.h"

#if SALTUS_DEVICE
/** As saltus_global. Anything unusual ends the trajectory with a trouble, of whatever name: it is
 * rerun on the CPU, which tells. */
SALTUS_KERNEL(saltus_registers, saltus_launch, a)
{
    const int64_t thread = SALTUS_THREAD;
    saltus_path *p = a.paths + thread;
    saltus_small s;
    saltus_stream stream;
    int64_t job = a.jobs[thread], sample = p->sample;
    uint64_t trajectory = p->trajectory, event = p->event;
    double t = p->t, stop = job >= 0 ? a.times[sample] : 0.0;
    int bad = 0;
    saltus_small_load(&s, a.v + thread);
    saltus_stream_load(&stream, a.stream + thread);
    if (job >= 0) {
        bad = saltus_small_refresh(&s);
    }
    for (uint64_t left = a.slice / 2; left > 0; --left) {
        saltus_u64 w[4];
        if (job < 0) {
            const int64_t next = (int64_t)SALTUS_TAKE_NUMBER(a.next);
            if (next >= a.n_jobs) {
                break;
            }
            job = next;
            trajectory = a.trajectories[job];
            event = 0;
            sample = 0;
            t = 0.0;
            stop = a.times[0];
            saltus_small_start(&s);
            saltus_stream_start(&stream, a.stream + thread, a.seed, trajectory, a.jumps);
            bad = saltus_small_refresh(&s);
        }
        saltus_stream_next(&stream, a.seed, trajectory, event >> 1, w);
        for (int h = 0; h < 2 && job >= 0; ++h) {
            const saltus_u64 wait_word = h == 0 ? w[0] : w[2], choice = h == 0 ? w[1] : w[3];
            double wait = saltus_exponential32(wait_word);
            if (SALTUS_RARE(wait_word == 0)) {
                wait = saltus_wait_refined(a.seed, trajectory, event);
            }
            const double total = saltus_small_total(&s, &bad) + 0.0; /* -0 becomes 0 */
            const double t_next = t + wait / total;
            bad |= !(total < SALTUS_INFINITY);
            int ended = bad;
            while (!ended && !(t_next < stop)) {
                saltus_small_record(&s, &a, stop, sample, job);
                ++sample;
                ended = sample == a.n_times;
                stop = ended ? stop : a.times[sample];
            }
            if (!ended) {
                bad |= saltus_small_fire(&s, total, saltus_from_word(choice), a.seed, trajectory,
                                         event);
                t = t_next;
                ++event;
                ended = bad;
            }
            if (ended) {
                a.events[job] = event;
                a.troubles[job] = bad ? SALTUS_BAD_TOTAL : SALTUS_FINE;
                (void)SALTUS_TAKE_NUMBER(a.n_done);
                job = -1;
            }
        }
    }
    if (saltus_small_save(&s, a.v + thread) && job >= 0) { /* no longer exact in a double */
        a.events[job] = event;
        a.troubles[job] = SALTUS_COUNT_OVERFLOW;
        (void)SALTUS_TAKE_NUMBER(a.n_done);
        job = -1;
    }
    saltus_stream_save(&stream);
    a.jobs[thread] = job;
    p->sample = sample;
    p->trajectory = trajectory;
    p->event = event;
    p->t = t;
}
#endif

#endif
