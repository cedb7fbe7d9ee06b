/**
 * How blocks that go through many phases in one launch wait for each other at the end of a phase:
 * those of a GPU, and, where a lattice lies in slabs, those with sites beside another slab for the
 * blocks beside them on its GPU (saltus_mpd_halo_flags).
 */
#ifndef SALTUS_KERNEL_RDME_HALO_SYNC_H
#define SALTUS_KERNEL_RDME_HALO_SYNC_H

#include "kernel/rdme/launch.h"

#if SALTUS_DEVICE

#ifdef SALTUS_MPD_SLABS
/* Whether this thread speaks for its block on a side where that has sites beside another slab. */
SALTUS_FN int saltus_mpd_speaks(const saltus_mpd_halo_flags *with, int side)
{
    const int first_of_warp = 32 * (1 + side) % SALTUS_THREADS_OF_BLOCK;
    return with->ended[side] && SALTUS_THREAD_IN_BLOCK == first_of_warp &&
           SALTUS_BLOCK_NUMBER >= with->begin[side] && SALTUS_BLOCK_NUMBER < with->end[side];
}

/* Blocks tell the slabs beside them that they are done, in so many phases of the launch, with sites
 * there. */
SALTUS_FN void saltus_mpd_halo_signal(const saltus_mpd_halo_flags *with, uint64_t ended)
{
    for (int side = 0; side < 2; ++side) {
        const uint64_t n = (uint64_t)(with->end[side] - with->begin[side]);
        if (saltus_mpd_speaks(with, side)) {
            saltus_gpu_signal(with->done[side] + ended % 2, (ended + 1) / 2 * n, with->ends[side],
                              with->phases + ended);
        }
    }
}

/* Whether this block looks first at sites beside another slab. */
SALTUS_FN int saltus_mpd_halo_first(const saltus_mpd *m)
{
    const saltus_mpd_halo_flags *const with = &m->slab.halo_flags;
    return with->first_tiles[0] + with->first_tiles[1] > 0 &&
           (SALTUS_BLOCK_NUMBER < with->end[0] || SALTUS_BLOCK_NUMBER < with->end[1]);
}

/* At the end of a phase blocks wait for those beside other slabs to be done with it there. */
SALTUS_FN void saltus_mpd_halo_sync(const saltus_mpd *m, uint64_t ended)
{
    const saltus_mpd_halo_flags *const with = &m->slab.halo_flags;
    if (!saltus_mpd_halo_first(m)) {
        saltus_mpd_halo_signal(with, ended);
    }
    for (int side = 0; side < 2; ++side) {
        if (saltus_mpd_speaks(with, side)) {
            const uint64_t since = SALTUS_CYCLES();
            saltus_gpu_wait(with->ended[side], with->phases + ended, with->lost);
            (void)SALTUS_NEXT_NUMBERS(&with->waited[side], SALTUS_CYCLES() - since);
        }
    }
}

/* At the begin of a launch n is 0 - the time, at its end the time. */
SALTUS_FN void saltus_mpd_pass(const saltus_mpd *m, uint64_t n)
{
    for (int side = 0; side < 2; ++side) {
        if (saltus_mpd_speaks(&m->slab.halo_flags, side)) {
            (void)SALTUS_NEXT_NUMBERS(&m->slab.halo_flags.passed[side], n);
        }
    }
}
#endif

/* After so many phases of the launch. */
SALTUS_FN void saltus_mpd_end_phase(const saltus_mpd_launch *a, uint64_t ended)
{
    if (a->reach > 0) {
        saltus_near_blocks_signal(a->arrived, ended);
    } else {
        saltus_all_blocks_signal(a->arrived);
    }
#ifdef SALTUS_MPD_SLABS
    saltus_mpd_halo_sync(&a->m, ended);
#endif
    if (a->reach > 0) {
        saltus_near_blocks_wait(a->arrived, a->reach, ended);
    } else {
        saltus_all_blocks_wait(a->arrived, ended);
    }
}

#endif
#endif
