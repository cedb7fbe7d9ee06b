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
SALTUS_FN saltus_samples saltus_samples_of(const saltus_launch *a, int64_t job, int64_t sample)
{
    const int64_t record = job * a->n_times + sample;
    saltus_samples to;
    to.counts = a->counts + record * SALTUS_N_COUNTS;
    to.observables = a->observables + record * SALTUS_N_OBSERVABLES;
    return to;
}

/* Further bits of event h of a block, out of the loop's way: all that these take is at hand. */
SALTUS_OUTLINE double saltus_registers_wait(const saltus_launch *a, uint64_t trajectory,
                                            uint64_t block, int h)
{
    return saltus_wait_refined(a->seed, trajectory, 2 * block + (uint64_t)h);
}

/** As saltus_global. Anything unusual ends the trajectory with a trouble, of whatever name: it is
 * rerun on the CPU, which tells. Until then it may compute nonsense, but writes no sample that is
 * not its own. */
SALTUS_KERNEL(saltus_registers, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    if (slot < 0) {
        return;
    }
    const uint32_t n_times = (uint32_t)a.n_times;
    saltus_path *p = a.paths + slot;
    saltus_small s;
    saltus_stream stream;
    int32_t job = (int32_t)a.jobs[slot];
    uint32_t sample = (uint32_t)p->sample;
    uint64_t trajectory = p->trajectory, block = p->event >> 1;
    double t = p->t, stop = job >= 0 ? a.times[sample] : 0.0;
    int bad = 0;
    saltus_samples to = saltus_samples_of(&a, job, sample);
    saltus_small_open(&s);
    saltus_small_load(&s, a.v + slot);
    saltus_stream_load(&stream, a.stream + slot);
    if (job >= 0) {
        bad = saltus_small_refresh(&s);
    }
    for (uint32_t left = (uint32_t)a.slice / 2; left > 0; --left, ++block) {
        uint32_t w[4];
        if (job < 0) {
            const uint64_t next = SALTUS_TAKE_NUMBER(a.next);
            if (next >= (uint64_t)a.n_jobs) {
                break;
            }
            job = (int32_t)next;
            trajectory = a.trajectories[job];
            block = 0;
            sample = 0;
            t = 0.0;
            stop = a.times[0];
            to = saltus_samples_of(&a, job, 0);
            saltus_small_start(&s);
            saltus_stream_start(&stream, a.stream + slot, a.seed, trajectory, a.jumps);
            bad = saltus_small_refresh(&s);
        }
        saltus_stream_next(&stream, a.keys, trajectory, block, w);
        SALTUS_UNROLL
        for (int h = 0; h < 2; ++h) {
            double wait = saltus_exponential32(w[2 * h]);
            if (SALTUS_RARE(w[2 * h] == 0)) {
                wait = saltus_registers_wait(&a, trajectory, block, h);
            }
            const double total = saltus_small_total(&s, &bad);
            double t_next = t + saltus_divide(wait, total);
            if (SALTUS_RARE(!saltus_divides(total))) {
                t_next = t + wait / (total + 0.0); /* -0 becomes 0 */
                bad |= !(total < SALTUS_INFINITY);
            }
            while (!(t_next < stop)) {
                saltus_small_record(&s, stop, &to);
                if (++sample == n_times) {
                    saltus_job_end(&a, job, 2 * block + (uint64_t)h, bad);
                    job = -1;
                    bad = 1; /* what else this event does is of no account */
                    break;
                }
                stop = a.times[sample];
            }
            bad |= saltus_small_fire(&s, total, saltus_from_word(w[2 * h + 1]), &a, trajectory,
                                     block, h);
            t = t_next;
            if (SALTUS_RARE(bad)) {
                if (job >= 0) {
                    saltus_job_end(&a, job, 0, bad);
                    job = -1;
                }
                break;
            }
        }
    }
    if (saltus_small_save(&s, a.v + slot) && job >= 0) { /* no longer exact in a double */
        saltus_job_end(&a, job, 0, 1);
        job = -1;
    }
    saltus_stream_save(&stream);
    a.jobs[slot] = job;
    p->sample = sample;
    p->trajectory = trajectory;
    p->event = 2 * block;
    p->t = t;
    saltus_slot_leave(&a, slot, job);
}
#endif

#endif
