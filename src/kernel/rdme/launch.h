/** Arguments of the kernels of a lattice, whether they hold particles as lists or as counts. */
#ifndef SALTUS_KERNEL_RDME_LAUNCH_H
#define SALTUS_KERNEL_RDME_LAUNCH_H

#include "kernel/rdme/react.h"

/* Capacity for the rows and propensities of a site; enough for any model that has no more. */
#ifndef SALTUS_MPD_ROWS
#define SALTUS_MPD_ROWS 64
#define SALTUS_MPD_REACTIONS 64
#define SALTUS_MPD_SOURCES 1
#endif

/** Counts. Threads of a block; and, where one round of tiles covers all sites, warps of a block
 * that has few registers for each, or many. */
enum { SALTUS_MPD_SITES_BLOCK = 256, SALTUS_MPD_MOST_WARPS = 32, SALTUS_MPD_FEW_WARPS = 16 };
/** Queues of a warp, for sites of so many words. ENOUGH_OF: occupied sites from which on the queue
 * is worked off. PENDING_MOVES: particles that are not the first of their site. WARP_QUEUES_BYTES:
 * bytes of all that. With one word, 32 warps take just less than 196 of a multiprocessor's 256 KiB
 * (the next step would be 228); what is left caches what has no register. */

enum { SALTUS_MPD_PENDING_MOVES = 268 };
#define SALTUS_MPD_ENOUGH_OF(words) (112 / (words) / 2 * 2)
#define SALTUS_MPD_WARP_QUEUES_BYTES(words)                                           \
    ((SALTUS_MPD_TILE_OF(words) + SALTUS_MPD_ENOUGH_OF(words)) * (10 + 4 * (words)) + \
     4 * SALTUS_MPD_PENDING_MOVES + 8)

/** Sets of counts are allocated in multiples of SALTUS_MPD_WHOLE places, which is a multiple of
 * every tile. saltus_mpd_halo: places of a halo for a plane of so many sites, wherever in a
 * multiple the plane begins. */
enum { SALTUS_MPD_WHOLE = 256 };
SALTUS_FN int64_t saltus_mpd_whole(int64_t n)
{
    return (n + SALTUS_MPD_WHOLE - 1) / SALTUS_MPD_WHOLE * SALTUS_MPD_WHOLE;
}
SALTUS_FN int64_t saltus_mpd_halo(int64_t plane)
{
    return saltus_mpd_whole(plane + SALTUS_MPD_WHOLE - 1);
}

/** Particles of a species that are put into a site of a slab at time 0. */
typedef struct saltus_mpd_deposit {
    uint32_t site, n;
    int32_t species;
} saltus_mpd_deposit;

/** Arguments of every kernel of a lattice. Addresses are the device's. */
typedef struct saltus_mpd_launch {
    saltus_mpd m;
    const saltus_tables *tables;
    /** [n_rows] what a scratch's v is filled with first. */
    const double *rows;
    /** The step of the first phase. */
    int64_t step;
    /** Phases of this launch. If there is more than one, all blocks run at the same time. */
    int32_t n_phases;
    /** What the first phase does, and what the last; those between react and move. */
    int32_t first_what, last_what;
    /** Lists: the set that has the heads at the first phase, or the set to gather from. Counts: the
     * set that has the particles. */
    int32_t set;
    /** Reactions that have fired, summed over launches. */
    uint64_t *fired;
    /** Barrier between blocks (kernel/base/threads.h): the number of arrivals of all blocks; or, of
     * each block, its phases that have ended, SALTUS_APART numbers apart. 0 at the launch. */
    uint64_t *arrived;
    /** Counts: how many blocks on either side a block waits for; 0: for all. */
    int32_t reach;
    /** [species] particles in the lattice. */
    uint64_t *totals;
    /** [part][count] particles by type of site, or by plane along `axis`. */
    uint64_t *parts;
    /** The axis of the planes; -1: parts are types of sites. */
    int32_t axis;
    /** [species] the count that the species adds to; -1: none. */
    const int32_t *column_of;
    int32_t n_counts;

    /** Lists: particle numbers in use at the launch. Counts: particles or deposits that are to be
     * put into their sites. */
    int64_t n_known;
    /** [capacity] sites and species of particles in gathered order. */
    uint32_t *new_site;
    uint16_t *new_species;
    /** Lists: bricks, and how many of them a thread gathers. Counts: `segment` is the number of
     * sites in a row that a warp has; if it is no more than a tile, the warp takes every so many-th
     * tile. */
    int64_t n_bricks, segment;
    /** Particles gathered so far. */
    uint64_t *made;

    /** Counts: the sites of the lattice, or of the slab. */
    int64_t first_site, end_site;
    /** Counts that are to be widened. */
    const uint32_t *narrow;
    /** Bits of a field in `narrow`. */
    int32_t bits;

    /** Counts at time 0: sites over which particles are scattered. */
    saltus_mpd_sites sites;
    /** Number of the scattering in the model, and its species. */
    int32_t scatter, species;
    /** [n_known] particles with a given site. */
    const saltus_mpd_deposit *deposits;
} saltus_mpd_launch;

/** What phase i of a launch does. */
SALTUS_FN int saltus_mpd_what(const saltus_mpd_launch *a, int i)
{
    return i == 0                 ? a->first_what
           : i + 1 == a->n_phases ? a->last_what
                                  : SALTUS_MPD_REACTS | SALTUS_MPD_MOVES;
}

/** The part of the lattice in which a site lies: its type, or its plane along `axis`. */
SALTUS_FN int saltus_mpd_part_of(const saltus_mpd_launch *a, uint32_t site)
{
    const saltus_mpd_site_pos p = saltus_mpd_site_pos_of(&a->m, site);
    return a->axis < 0    ? saltus_mpd_type(&a->m, site)
           : a->axis == 0 ? (int)p.at[0]
           : a->axis == 1 ? (int)p.at[1]
                          : (int)p.at[2];
}

#endif
