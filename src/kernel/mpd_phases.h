/**
 * kernel/mpd.h on a GPU: a thread per particle, or per stretch of sites. Who compiles it for a
 * model tells its sizes, SALTUS_MPD_SIZE and so on, so that they are constants.
 */
#ifndef SALTUS_KERNEL_MPD_PHASES_H
#define SALTUS_KERNEL_MPD_PHASES_H

#include "kernel/mpd.h"

/** What the kernels work on; addresses are the device's. */
typedef struct saltus_mpd_launch {
    saltus_mpd m;
    const saltus_tables *tables;
    const double *rows;            /**< what a scratch's v starts from */
    int64_t step;                  /**< of the first phase */
    int32_t n_phases;              /**< of this launch; more than 1: all blocks run at once */
    int32_t first_what, last_what; /**< of these phases; those between react and move */
    int32_t set;                   /**< of heads, for the first phase; or in which lists are */
    uint32_t *new_site;            /**< where particles are gathered */
    uint16_t *new_species;
    uint32_t n_sites, stretch; /**< sites that a thread gathers */
    uint64_t *made;            /**< particles gathered */
    uint64_t *fired;           /**< reactions, of all since */
    uint64_t *arrived;         /**< blocks at the end of a phase; 0 at the launch */
    uint64_t *totals;          /**< [species] */
} saltus_mpd_launch;

#if SALTUS_DEVICE

/* Room for the rows and propensities of a site, for any model that has not more. */
#ifndef SALTUS_MPD_ROWS
#define SALTUS_MPD_ROWS 64
#define SALTUS_MPD_REACTIONS 64
#endif

enum { SALTUS_MPD_ROUNDS = 4 };

/* Numbers of particles, those of this phase and maybe some new ones, which have no list yet. */
SALTUS_FN int64_t saltus_mpd_in_use(const saltus_mpd *m)
{
    const int64_t used = SALTUS_PEEK_NEW(m->used);
    return used < m->capacity ? used : m->capacity;
}

/* The part of a block's threads in a phase, for ROUNDS of its particles. Sites where more is to be
 * done than to move one particle are put on a list and looked after by full warps. */
SALTUS_FN void saltus_mpd_rounds(const saltus_mpd *m, const saltus_mpd_launch *a, int64_t step,
                                 int what, int set, int64_t first, int64_t n, saltus_mpd_scratch *s)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    __shared__ int32_t list[SALTUS_MPD_ROUNDS * SALTUS_LARGEST_BLOCK];
    __shared__ int32_t n_listed;
    if (threadIdx.x == 0) {
        n_listed = 0;
    }
    __syncthreads();
    for (int round = 0; round < SALTUS_MPD_ROUNDS; ++round) {
        const int64_t i = first + threadIdx.x + round * SALTUS_STRIDE;
        if (i < n && !saltus_mpd_is_easy(m, step, what, set, (int32_t)i)) {
            list[atomicAdd(&n_listed, 1)] = (int32_t)i;
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < n_listed; k += (int)blockDim.x) {
        saltus_mpd_look_after(m, a->tables, step, what, set, m->site[list[k]], list[k], s);
    }
    __syncthreads();
#else
    for (int round = 0; round < SALTUS_MPD_ROUNDS; ++round) {
        const int64_t i = first + SALTUS_THREAD_IN_BLOCK + round * SALTUS_STRIDE;
        if (i < n) {
            saltus_mpd_particle(m, a->tables, step, what, set, (int32_t)i, s);
        }
    }
#endif
}

SALTUS_FN void saltus_mpd_phase(const saltus_mpd *m, const saltus_mpd_launch *a, int64_t step,
                                int what, int set, saltus_mpd_scratch *s)
{
    const int64_t n = saltus_block_same(saltus_mpd_in_use(m));
    for (int64_t first = SALTUS_THREAD - SALTUS_THREAD_IN_BLOCK; first < n;
         first += SALTUS_MPD_ROUNDS * SALTUS_STRIDE) {
        saltus_mpd_rounds(m, a, step, what, set, first, n, s);
    }
    if (what & SALTUS_MPD_MOVES) {
        for (int64_t o = SALTUS_THREAD; o < m->n_origins; o += SALTUS_STRIDE) {
            saltus_mpd_come(m, a->tables, step, 1 - set, (int)o, s);
        }
    }
}

/** Some phases. */
SALTUS_KERNEL(saltus_mpd_run, saltus_mpd_launch, a)
{
    double v[SALTUS_MPD_ROWS], propensities[SALTUS_MPD_REACTIONS];
    saltus_mpd_scratch s = {v, propensities, 0, a.rows, SALTUS_MPD_ROWS};
    for (int p = 0; p < a.n_phases; ++p) {
        const int what = p == 0                ? a.first_what
                         : p + 1 == a.n_phases ? a.last_what
                                               : SALTUS_MPD_REACTS | SALTUS_MPD_MOVES;
        saltus_mpd_phase(&a.m, &a, a.step + p, what, (a.set + p) & 1, &s);
        if (p + 1 < a.n_phases) {
            saltus_all_blocks_wait(a.arrived, (uint64_t)(p + 1));
        }
    }
    if (s.fired > 0) {
        (void)SALTUS_TAKE_NUMBERS(a.fired, s.fired);
    }
}

/** Put particles that are in no list into one. */
SALTUS_KERNEL(saltus_mpd_enlist, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.m.capacity; i += SALTUS_STRIDE) {
        if (a.m.site[i] != SALTUS_NOWHERE) {
            saltus_mpd_insert(&a.m, a.set, (int32_t)i, a.m.site[i]);
        }
    }
}

SALTUS_KERNEL(saltus_mpd_gather_all, saltus_mpd_launch, a)
{
    for (int64_t first = SALTUS_THREAD * a.stretch; first < a.n_sites;
         first += SALTUS_STRIDE * a.stretch) {
        const int64_t end = first + a.stretch;
        saltus_mpd_gather(&a.m, a.set, (uint32_t)first, end < a.n_sites ? (uint32_t)end : a.n_sites,
                          a.new_site, a.new_species, a.made);
    }
}

/** After saltus_mpd_gather_all; m has the gathered particles. */
SALTUS_KERNEL(saltus_mpd_link_all, saltus_mpd_launch, a)
{
    const int64_t n = (int64_t)*a.made;
    for (int64_t i = SALTUS_THREAD; i < n; i += SALTUS_STRIDE) {
        saltus_mpd_link(&a.m, (int32_t)i);
    }
    if (SALTUS_THREAD == 0) {
        *a.m.used = n;
    }
}

SALTUS_KERNEL(saltus_mpd_count, saltus_mpd_launch, a)
{
    const int64_t n = saltus_mpd_in_use(&a.m);
    for (int64_t i = SALTUS_THREAD; i < n; i += SALTUS_STRIDE) {
        if (a.m.site[i] != SALTUS_NOWHERE) {
            saltus_count_one(a.totals, a.m.species[i]);
        }
    }
}

#endif
#endif
