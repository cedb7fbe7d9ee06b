/* How the sites of counts on a GPU are shared among blocks and their warps. Where one round covers
 * all sites there are two ways:
 *
 *     tile        0  1  2  3  4  5  6  7
 *     segments    w0 w0 w1 w1 w2 w2 w3 w3
 *     spread      w0 w1 w2 w3 w0 w1 w2 w3
 *
 * In segments, a warp has sites in a row, and a block waits for near blocks alone
 * (saltus_mpd_launch.reach), so that one that is late does not stop all; best where particles are
 * everywhere. Spread, all warps have as many crowded tiles, but all blocks wait for all; best where
 * particles are crowded in places. Which is better changes while a run goes on, so the other way is
 * tried now and then. Results do not depend on it. */
#include "backend/cuda/rdme/counts.h"

enum {
    MOST_TILES = 16, /* tiles of a warp, one after the other, where one round covers all sites; one
                        less for a warp that does not load ahead */
    TRY_PHASES = 64, /* phases that are timed together */
    LONGEST_WAIT =
        64 /* rounds of so many phases between two tries: each time twice as many, up to so many */
};
static const double sooner = 0.97; /* how much shorter a phase must be for the way to change */

typedef saltus_gpu_counts counts;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->on.cu, s->on.cu->call, what, err))

static int64_t sites_of_block(const counts *s)
{
    return s->block / 32 * s->row;
}

/* Choose large blocks, because fewer blocks wait less for each other; but let most multiprocessors
 * have one. */
static void size_blocks(counts *s)
{
    const int poll = SALTUS_MPD_TILE_OF(s->words), n = s->on.gpu->n_multiprocessors,
              most_warps = saltus_cuda_most_warps(&s->on.tables, saltus_gpu_lattice_slabs(&s->on));
    const int64_t queues = SALTUS_MPD_WARP_QUEUES_BYTES(s->words),
                  n_tiles = (saltus_gpu_counts_sites(s) + poll - 1) / poll,
                  wanted = (n_tiles + n - 1) / n, capacity = s->on.gpu->limits.block_bytes / queues,
                  most = capacity < most_warps ? capacity : most_warps,
                  n_warps = wanted < most ? wanted : most, each = (wanted + n_warps - 1) / n_warps;
    const int most_tiles = most_warps == SALTUS_MPD_FEW_WARPS ? MOST_TILES : MOST_TILES - 1;
    s->row = poll * (each <= most_tiles ? each : 1);
    s->block = (int)n_warps * 32;
    s->shared = (size_t)(n_warps * queues);
    s->n_blocks = (saltus_gpu_counts_sites(s) + sites_of_block(s) - 1) / sites_of_block(s);
}

/* The farthest that a particle can get in a phase, in numbers of sites: one step along each axis,
 * or to the other end of x or y where that is periodic. Along z the last site is next to the first.
 */
static int64_t farthest(const saltus_mpd *m)
{
    const int64_t row = m->size[0], plane = row * m->size[1];
    return plane + (m->faces[2] == SALTUS_MPD_PERIODIC ? plane - row : row) +
           (m->faces[0] == SALTUS_MPD_PERIODIC ? row - 1 : 1);
}

/* If most blocks are farther away than that, and one round covers all sites, a block waits for near
 * blocks alone. Blocks beside another slab are near each other, so none of them is more than a
 * phase ahead when the others are counted. */
static int32_t find_reach(const counts *s)
{
    const saltus_mpd *m = &s->on.a.m;
    const int64_t each = sites_of_block(s), far = farthest(m) + s->halo,
                  reach = (far + each - 1) / each + (saltus_gpu_counts_sites(s) % each != 0);
    const bool is_near = m->n_sources == 0 && s->n_blocks * each >= saltus_gpu_counts_sites(s) &&
                         2 * reach < s->n_blocks - 1 && 2 * reach <= s->block;
    return is_near ? (int32_t)reach : 0;
}

/* Allocate the numbers by which blocks wait for each other. */
static saltus_status take_arrived(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch *a = &s->on.a;
    saltus_gpu_lattice_free(&s->on, &s->arrived);
    s->on.arrived_bytes = (size_t)(s->n_blocks + 2) * SALTUS_APART * sizeof(uint64_t);
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->arrived, s->on.arrived_bytes, err));
    a->arrived = (void *)(uintptr_t)s->arrived;
    for (int side = 0; side < 2; ++side) {
        a->m.slab.halo_flags.done[side] = a->arrived + (s->n_blocks + side) * SALTUS_APART;
    }
done:
    return status;
}

saltus_status saltus_gpu_counts_share_out(saltus_gpu_counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t at_once = 0;
    size_blocks(s);
    CU(function_set(s->run, CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES, (int)s->shared),
       "asking for shared memory");
    SALTUS_TRY(saltus_gpu_lattice_blocks(&s->on, s->run, s->block, s->shared, &at_once, err));
    if (at_once < s->n_blocks) {
        s->n_blocks = at_once;
        s->row = SALTUS_MPD_TILE_OF(s->words); /* a warp has one tile at a time */
    }
    s->reach = find_reach(s);
    SALTUS_TRY(take_arrived(s, err));
    saltus_gpu_counts_spread(s, s->is_spread);
done:
    return status;
}

bool saltus_gpu_counts_can_spread(const saltus_gpu_counts *s)
{
    return s->row > SALTUS_MPD_TILE_OF(s->words);
}

void saltus_gpu_counts_spread(saltus_gpu_counts *s, bool is_spread)
{
    const bool can = saltus_gpu_counts_can_spread(s);
    s->is_spread = is_spread;
    s->on.a.segment = is_spread && can ? SALTUS_MPD_TILE_OF(s->words) : s->row;
    s->on.a.reach = is_spread && can ? 0 : s->reach;
}

bool saltus_gpu_schedule_learn(saltus_gpu_schedule *schedule, bool can, double us, int phases)
{
    if (!can) {
        *schedule = (saltus_gpu_schedule){0};
        return false;
    }
    schedule->us += us;
    schedule->phases += phases;
    if (schedule->phases < TRY_PHASES) {
        return false;
    }
    const double of_phase = schedule->us / schedule->phases;
    const bool was_try = schedule->is_try, is_better = of_phase < sooner * schedule->usual_us;
    schedule->us = 0.0;
    schedule->phases = 0;
    if (was_try) {
        const int wait = is_better ? 1 : 2 * schedule->wait + (schedule->wait < 1);
        schedule->left = schedule->wait = wait < LONGEST_WAIT ? wait : LONGEST_WAIT;
        schedule->is_try = false;
        return !is_better;
    }
    schedule->usual_us = of_phase;
    schedule->is_try = --schedule->left <= 0;
    return schedule->is_try;
}
