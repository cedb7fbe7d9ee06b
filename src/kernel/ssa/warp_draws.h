/** The worker of direct_driver.h that is a warp: its slot, and its waits and choice words. */
#ifndef SALTUS_KERNEL_SSA_WARP_DRAWS_H
#define SALTUS_KERNEL_SSA_WARP_DRAWS_H

#include "kernel/base/stream.h"
#include "kernel/ssa/launch.h"

#if SALTUS_DEVICE
/* Blocks that are drawn at a time: one in each thread, where any block can be had at any time. */
enum { SALTUS_WARP_BLOCKS = SALTUS_RNG == SALTUS_RNG_PHILOX ? SALTUS_WARP : 1 };

#define SALTUS_WORKER_SLOT(a) \
    (SALTUS_LANE_NUMBER < SALTUS_WARP ? saltus_slot(a, SALTUS_WARP_NUMBER) : -1)
#define SALTUS_WORKER_TAKE(p) saltus_warp_take(p)
#define SALTUS_WORKER_WRITES (SALTUS_LANE_NUMBER == 0)

/* Waits and choice words of the events of those blocks. */
typedef struct saltus_worker_draws {
    int at; /* which of the blocks is being used; SALTUS_WARP_BLOCKS: none is left */
    double wait[2];
    uint32_t word[2];
} saltus_worker_draws;

SALTUS_FN void saltus_worker_reset(saltus_worker_draws *d)
{
    d->at = SALTUS_WARP_BLOCKS;
}

SALTUS_FN void saltus_worker_draw(saltus_worker_draws *d, saltus_stream *stream,
                                  const saltus_launch *a, uint64_t trajectory, uint64_t block)
{
    uint32_t w[4];
    if (++d->at < SALTUS_WARP_BLOCKS) {
        return;
    }
    d->at = 0;
    block += SALTUS_WARP_BLOCKS > 1 ? (uint64_t)SALTUS_LANE_NUMBER : 0;
    saltus_stream_next(stream, a->keys, trajectory, block, w);
    for (int h = 0; h < 2; ++h) {
        d->wait[h] = w[2 * h] != 0
                         ? saltus_exponential32(w[2 * h])
                         : saltus_wait_refined(a->seed, trajectory, 2 * block + (uint64_t)h);
        d->word[h] = w[2 * h + 1];
    }
}

SALTUS_FN double saltus_worker_wait(const saltus_worker_draws *d, const saltus_launch *a,
                                    uint64_t trajectory, uint64_t block, int h)
{
    (void)a, (void)trajectory, (void)block;
    return saltus_warp_get(h ? d->wait[1] : d->wait[0], d->at);
}

SALTUS_FN double saltus_worker_choice(const saltus_worker_draws *d, int h)
{
    const uint32_t word = h ? d->word[1] : d->word[0];
    return saltus_from_word(saltus_warp_get_word(word, d->at));
}
#endif

#endif
