/**
 * How blocks wait for each other at the end of a phase, where a launch has many phases: the blocks
 * of a GPU by the barriers of kernel/base/threads.h, and, where a lattice lies in slabs, the blocks
 * with sites beside another slab also for the blocks beside them on the neighbour's GPU
 * (saltus_mpd_halo_flags in kernel/rdme/lattice.h).
 *
 * The halo exchange of a phase, from set s to set 1 - s, as slab 0 sees it (slab 1, above it, does
 * the same at the same time):
 *
 *     GPU 0, slab 0                                      GPU 1, slab 1
 *     each warp loads tiles of set s and adds
 *     the halo of set s, which it clears
 *     particles hop: atomic additions to set 1 - s
 *       within the slab, to its own sites
 *       across its upper face, through NVLink ---------> halo below of set 1 - s
 *     barrier of the block
 *     one thread of each block beside slab 1:
 *       atom.acq_rel.gpu  done[parity of phase] += 1
 *       the last block:  st.release.sys ---------------> ended[below] = number of the phase
 *       ld.acquire.sys  ended[above]  <----------------- st.release.sys of slab 1
 *     barrier between blocks of the GPU
 *     next phase: loads set 1 - s with its halo          loads set 1 - s with its halo
 *
 * The additions of a block come before its arrival (barrier of the block, then acq_rel), all
 * arrivals before the store of the last block (acq_rel on one number), and that store before
 * whatever the neighbour does after its acquire. So the neighbour's next phase sees every particle
 * that crossed. A halo is loaded in the phase after it was filled, while the next particles go to
 * the halo of the other set; so no slab needs to know when its neighbour has emptied a halo.
 *
 * Example: 100 phases had ended before the launch, and blocks 5 to 7 have sites beside slab 1 (n =
 * 3). When they end phase 3 of the launch, `done` of odd phases goes from 3 to 6, because phase 1
 * has counted as well. The block that makes it (3 + 1) / 2 * 3 = 6 writes 103 into slab 1's memory.
 * They go on when slab 1 has written 103 or more into theirs.
 */
#ifndef SALTUS_KERNEL_RDME_HALO_SYNC_H
#define SALTUS_KERNEL_RDME_HALO_SYNC_H

#include "kernel/rdme/launch.h"

#if SALTUS_DEVICE

#ifdef SALTUS_MPD_SLABS
/* Whether this thread signals and waits for its block on a side where the block has sites beside
 * another slab. Each side has the first thread of another warp. */
SALTUS_FN int saltus_mpd_speaks(const saltus_mpd_halo_flags *with, int side)
{
    const int first_of_warp = 32 * (1 + side) % SALTUS_THREADS_OF_BLOCK;
    return with->ended[side] && SALTUS_THREAD_IN_BLOCK == first_of_warp &&
           SALTUS_BLOCK_NUMBER >= with->begin[side] && SALTUS_BLOCK_NUMBER < with->end[side];
}

/* Signal to the slabs beside this one that this block is done with its sites there, in so many
 * phases of the launch. */
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

/* Whether this block takes the tiles beside other slabs first. */
SALTUS_FN int saltus_mpd_halo_first(const saltus_mpd *m)
{
    const saltus_mpd_halo_flags *const with = &m->slab.halo_flags;
    return with->first_tiles[0] + with->first_tiles[1] > 0 &&
           (SALTUS_BLOCK_NUMBER < with->end[0] || SALTUS_BLOCK_NUMBER < with->end[1]);
}

/* Second part of the end of a phase: wait until the blocks beside other slabs have ended it there
 * too. */
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

/* Add up the clock cycles of a launch. n is 0 minus the clock at its begin, the clock at its end.
 */
SALTUS_FN void saltus_mpd_pass(const saltus_mpd *m, uint64_t n)
{
    for (int side = 0; side < 2; ++side) {
        if (saltus_mpd_speaks(&m->slab.halo_flags, side)) {
            (void)SALTUS_NEXT_NUMBERS(&m->slab.halo_flags.passed[side], n);
        }
    }
}
#endif

/* The end of a phase, after `ended` phases of the launch: the barrier between blocks and, with
 * slabs, the halo exchange. Signals come first, then waits. */
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
