/**
 * The direct method with a thread per trajectory, from whatever state: its hooks are defined before
 * this header is included (direct_driver.h has their list). A thread draws one block at a time.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_THREAD_H
#define SALTUS_KERNEL_SSA_DIRECT_THREAD_H

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
#define SALTUS_WORKER_SLOT(a) saltus_slot(a, SALTUS_THREAD)
#define SALTUS_WORKER_TAKE(p) SALTUS_NEXT_NUMBER(p)
#define SALTUS_WORKER_WRITES 1

typedef struct saltus_worker_draws {
    uint32_t w[4];
} saltus_worker_draws;

SALTUS_FN void saltus_worker_reset(saltus_worker_draws *d)
{
    (void)d;
}

SALTUS_FN void saltus_worker_draw(saltus_worker_draws *d, saltus_stream *stream,
                                  const saltus_launch *a, uint64_t trajectory, uint64_t block)
{
    saltus_stream_next(stream, a->keys, trajectory, block, d->w);
}

/* Further bits for event h of a block, in a function of its own so that the loop stays short; all
 * that it takes is in registers. The seed is volatile: it would be loaded at every event. */
SALTUS_OUTLINE double saltus_wait_late(const saltus_launch *a, uint64_t trajectory, uint64_t block,
                                       int h)
{
    return saltus_wait_refined(*(const volatile uint64_t *)&a->seed, trajectory,
                               2 * block + (uint64_t)h);
}

SALTUS_FN double saltus_worker_wait(const saltus_worker_draws *d, const saltus_launch *a,
                                    uint64_t trajectory, uint64_t block, int h)
{
    const uint32_t word = h == 0 ? d->w[0] : d->w[2];
    const double wait = saltus_exponential32(word);
    return SALTUS_RARE(word == 0) ? saltus_wait_late(a, trajectory, block, h) : wait;
}

#define SALTUS_EARLY 1
/* The wait of event h, unless its word is 0. */
SALTUS_FN double saltus_worker_early_wait(const saltus_worker_draws *d, int h)
{
    return saltus_exponential32(h == 0 ? d->w[0] : d->w[2]);
}

SALTUS_FN int saltus_worker_is_late(const saltus_worker_draws *d, int h)
{
    return (h == 0 ? d->w[0] : d->w[2]) == 0;
}

SALTUS_FN double saltus_worker_choice(const saltus_worker_draws *d, int h)
{
    return saltus_from_word(h == 0 ? d->w[1] : d->w[3]);
}

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
SALTUS_FN int saltus_write_counts(const saltus_worker_state *s, const saltus_launch *a, int stands,
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
#endif

#include "kernel/ssa/direct_driver.h"

#endif
