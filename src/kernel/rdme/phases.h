/**
 * The kernels of a lattice whose particles are lists (kernel/rdme/mpd.h): a thread for each
 * particle, or for some bricks. A kernel that is compiled for a model has its sizes,
 * SALTUS_MPD_SIZE and so on, as constants.
 */
#ifndef SALTUS_KERNEL_RDME_PHASES_H
#define SALTUS_KERNEL_RDME_PHASES_H

#include "kernel/rdme/mpd.h"
#include "kernel/rdme/launch.h"

/** EACH: particles that a thread works on together, where there are many. MANY_BLOCK: threads of a
 * block then. FEW_BLOCK: threads of a block where there is a thread for each particle; larger
 * blocks wait less for each other. */
enum {
    SALTUS_MPD_EACH = 4,
    SALTUS_MPD_MANY_BLOCK = 128,
    SALTUS_MPD_FEW_BLOCK = 256,
    SALTUS_MPD_FEW_BLOCKS = 3 /* blocks of a multiprocessor, for as many particles as can be */
};

#if SALTUS_DEVICE

/* Numbers of particles in use: those of this phase, and maybe some new ones, which have no list
 * yet. */
SALTUS_FN int64_t saltus_mpd_in_use(const saltus_mpd *m)
{
    const int64_t used = SALTUS_PEEK_NEW(m->used);
    return used < m->capacity ? used : m->capacity;
}

/* The work of a block in a phase: particles first to n - 1, but at most `each` (SALTUS_MPD_EACH or
 * 1) for a thread. A thread works on its particles together, step by step, because it waits for
 * memory most of the time. Sites where more is to be done than to move one particle are put on a
 * list, which the warps share. */
SALTUS_FN void saltus_mpd_block(const saltus_mpd *m, const saltus_mpd_launch *a, int64_t step,
                                int what, int set, int64_t first, int64_t n, const int each,
                                saltus_mpd_scratch *s)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    enum {
        LONGEST = SALTUS_MPD_EACH * SALTUS_MPD_MANY_BLOCK
    }; /* the longer of both kinds of block */
    __shared__ int32_t list[LONGEST];
    __shared__ uint32_t sites[LONGEST];
    __shared__ int32_t n_listed;
    const int32_t mine = (int32_t)(first + threadIdx.x), size = (int32_t)blockDim.x,
                  n_warps = size / 32;
    saltus_mpd_seen p[SALTUS_MPD_EACH];
    if (threadIdx.x == 0) {
        n_listed = 0;
    }
    __syncthreads();
    SALTUS_UNROLL
    for (int k = 0; k < each; ++k) {
        p[k].next = SALTUS_MPD_END;
        if (first + threadIdx.x + k * size < n) {
            saltus_mpd_see(m, mine + k * size, &p[k]);
        }
    }
    SALTUS_UNROLL
    for (int k = 0; k < each; ++k) {
        saltus_mpd_see_site(m, set, &p[k]);
    }
    SALTUS_UNROLL
    for (int k = 0; k < each; ++k) {
        saltus_mpd_decide(m, step, what, set, mine + k * size, &p[k]);
    }
    SALTUS_UNROLL
    for (int k = 0; k < each; ++k) {
        if (p[k].fate == SALTUS_MPD_GOES) {
            p[k].is_first = saltus_mpd_arrive(m, 1 - set, &p[k].to);
        } else if (p[k].fate == SALTUS_MPD_CARES) {
            const int32_t at = atomicAdd(&n_listed, 1);
            list[at] = mine + k * size;
            sites[at] = p[k].site;
        }
    }
    SALTUS_UNROLL
    for (int k = 0; k < each; ++k) {
        if (p[k].fate == SALTUS_MPD_GOES) {
            saltus_mpd_settle(m, 1 - set, mine + k * size, &p[k].to, p[k].is_first);
        }
    }
    __syncthreads();
    for (int k = (int)(threadIdx.x % 32 * n_warps + threadIdx.x / 32); k < n_listed; k += size) {
        saltus_mpd_update_site(m, a->tables, step, what, set, sites[k], list[k], s);
    }
    __syncthreads();
#else
    for (int k = 0; k < each; ++k) {
        const int64_t i = first + SALTUS_THREAD_IN_BLOCK + k * SALTUS_BLOCK;
        if (i < n) {
            saltus_mpd_particle(m, a->tables, step, what, set, (int32_t)i, s);
        }
    }
#endif
}

/* A phase. New particles of this phase may or may not be among those in use; in either case nothing
 * is done with them. */
SALTUS_FN void saltus_mpd_phase(const saltus_mpd *m, const saltus_mpd_launch *a, int64_t step,
                                int what, int set, const int each, saltus_mpd_scratch *s)
{
    const int64_t used =
        saltus_mpd_in_use(m); /* the answer comes while the known particles are worked on */
    int64_t first = 0, n = a->n_known;
    SALTUS_ONE_BY_ONE
    for (int part = 0; part < 2; ++part) {
        for (int64_t i = first + each * (SALTUS_THREAD - SALTUS_THREAD_IN_BLOCK); i < n;
             i += each * SALTUS_STRIDE) {
            saltus_mpd_block(m, a, step, what, set, i, n, each, s);
        }
        first = n;
        n = saltus_block_same(used);
    }
    if (what & SALTUS_MPD_MOVES) {
        for (int64_t o = SALTUS_THREAD; o < SALTUS_MPD_SOURCES; o += SALTUS_STRIDE) {
            saltus_mpd_add_new(m, a->tables, step, 1 - set, (int)o, 0, 1, s);
        }
    }
}

/** A phase of many particles. */
SALTUS_KERNEL(saltus_mpd_run_many, saltus_mpd_launch, a)
{
    double v[SALTUS_MPD_ROWS], propensities[SALTUS_MPD_REACTIONS + 1];
    saltus_mpd_scratch s = {v, propensities, 0, a.rows, SALTUS_MPD_ROWS};
    saltus_mpd_phase(&a.m, &a, a.step, a.first_what, a.set, SALTUS_MPD_EACH, &s);
    if (s.fired > 0) {
        (void)SALTUS_NEXT_NUMBERS(a.fired, s.fired);
    }
}

/** Some phases in one launch, where there is a thread for each particle. */
SALTUS_KERNEL_OF(SALTUS_MPD_FEW_BLOCK, SALTUS_MPD_FEW_BLOCKS, saltus_mpd_run_few, saltus_mpd_launch,
                 a)
{
    double v[SALTUS_MPD_ROWS], propensities[SALTUS_MPD_REACTIONS + 1];
    saltus_mpd_scratch s = {v, propensities, 0, a.rows, SALTUS_MPD_ROWS};
    for (int p = 0; p < a.n_phases; ++p) {
        const int what = saltus_mpd_what(&a, p);
        saltus_mpd_phase(&a.m, &a, a.step + p, what, (a.set + p) & 1, 1, &s);
        if (p + 1 < a.n_phases) {
            saltus_all_blocks_signal(a.arrived);
            saltus_all_blocks_wait(a.arrived, (uint64_t)(p + 1));
        }
    }
    if (s.fired > 0) {
        (void)SALTUS_NEXT_NUMBERS(a.fired, s.fired);
    }
}

/** Put all particles into their sites. */
SALTUS_KERNEL(saltus_mpd_enlist, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.m.capacity; i += SALTUS_STRIDE) {
        const saltus_mpd_site_pos to = saltus_mpd_site_pos_of(&a.m, a.m.site[i]);
        saltus_mpd_send(&a.m, a.set, (int32_t)i, &to);
    }
}

/** The first pass of gathering: a thread for each segment of bricks. */
SALTUS_KERNEL(saltus_mpd_gather_all, saltus_mpd_launch, a)
{
    for (int64_t first = SALTUS_THREAD * a.segment; first < a.n_bricks;
         first += SALTUS_STRIDE * a.segment) {
        const int64_t end = first + a.segment;
        saltus_mpd_gather(&a.m, a.set, (uint32_t)first,
                          (uint32_t)(end < a.n_bricks ? end : a.n_bricks), a.new_site,
                          a.new_species, a.made);
    }
}

/** The second pass of gathering: a thread for each particle. */
SALTUS_KERNEL(saltus_mpd_gather_site_heads, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n_known; i += SALTUS_STRIDE) {
        saltus_mpd_gather_site_head(&a.m, a.set, (int32_t)i, a.new_site, a.new_species);
    }
}

/** The third pass of gathering; m has the gathered particles. */
SALTUS_KERNEL(saltus_mpd_link_all, saltus_mpd_launch, a)
{
    const int64_t n = (int64_t)*a.made;
    for (int64_t i = SALTUS_THREAD; i < a.m.capacity; i += SALTUS_STRIDE) {
        saltus_mpd_link(&a.m, a.set, (int32_t)i, n);
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

/** Count particles in each part of the lattice. */
SALTUS_KERNEL(saltus_mpd_split, saltus_mpd_launch, a)
{
    const int64_t n = saltus_mpd_in_use(&a.m);
    for (int64_t i = SALTUS_THREAD; i < n; i += SALTUS_STRIDE) {
        const uint32_t site = a.m.site[i];
        const int species = a.m.species[i];
        const int column =
            site != SALTUS_NOWHERE && species < a.m.n_species - 1 ? a.column_of[species] : -1;
        if (column >= 0) {
            saltus_count_one(a.parts, (int64_t)saltus_mpd_part_of(&a, site) * a.n_counts + column);
        }
    }
}

#endif
#endif
