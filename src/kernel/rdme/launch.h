/** What the kernels of a lattice work on, whether they hold particles as lists or as counts. */
#ifndef SALTUS_KERNEL_RDME_LAUNCH_H
#define SALTUS_KERNEL_RDME_LAUNCH_H

#include "kernel/rdme/react.h"

/* Room for the rows and propensities of a site, for any model that has not more. */
#ifndef SALTUS_MPD_ROWS
#define SALTUS_MPD_ROWS 64
#define SALTUS_MPD_REACTIONS 64
#define SALTUS_MPD_SOURCES 1
#endif

/** Counts: threads of a block, or, where all go over the sites at once, warps of one that has few
 * registers each or many. */
enum { SALTUS_MPD_SITES_BLOCK = 256, SALTUS_MPD_MOST_WARPS = 32, SALTUS_MPD_FEW_WARPS = 16 };
/** Sites of so many words that a warp looks at together, those with particles that are enough to be
 * worked off, and of these particles those that are not the first of their site; bytes of all that.
 * Of one word, 32 warps take just less than 196 of a multiprocessor's 256 KiB, the next step being
 * 228; the rest caches what has no register. */
enum { SALTUS_MPD_PENDING_MOVES = 268 };
#define SALTUS_MPD_TILE_OF(words) ((words) < 8 ? 256 / (words) / 32 * 32 : 32)
#define SALTUS_MPD_ENOUGH_OF(words) (112 / (words) / 2 * 2)
#define SALTUS_MPD_WARP_QUEUES_BYTES(words)                                           \
    ((SALTUS_MPD_TILE_OF(words) + SALTUS_MPD_ENOUGH_OF(words)) * (10 + 4 * (words)) + \
     4 * SALTUS_MPD_PENDING_MOVES + 8)

/** Places of counts are told off by as many as any warp looks at together; places of a slab's
 * margin for a plane of so many sites, wherever in such a row it begins. */
enum { SALTUS_MPD_WHOLE = 256 };
SALTUS_FN int64_t saltus_mpd_whole(int64_t n)
{
    return (n + SALTUS_MPD_WHOLE - 1) / SALTUS_MPD_WHOLE * SALTUS_MPD_WHOLE;
}
SALTUS_FN int64_t saltus_mpd_halo(int64_t plane)
{
    return saltus_mpd_whole(plane + SALTUS_MPD_WHOLE - 1);
}

/** Particles of a species that start in a site of a slab. */
typedef struct saltus_mpd_deposit {
    uint32_t site, n;
    int32_t species;
} saltus_mpd_deposit;

/** Addresses are the device's. */
typedef struct saltus_mpd_launch {
    saltus_mpd m;
    const saltus_tables *tables;
    const double *rows;            /**< what a scratch's v starts from */
    int64_t step;                  /**< of the first phase */
    int32_t n_phases;              /**< of this launch; more than 1: all blocks run at once */
    int32_t first_what, last_what; /**< of these phases; those between react and move */
    int32_t set;                   /**< of heads, for the first phase; or in which lists are */
    uint64_t *fired;               /**< reactions, of all since */
    uint64_t *arrived; /**< blocks at the end of a phase; or, of each block, its phases that have
                            ended, SALTUS_APART between two; 0 at the launch */
    int32_t reach;     /**< counts: blocks on either side that a block waits for; 0: for all */
    uint64_t *totals;  /**< [species] */
    uint64_t *parts;   /**< [part][count] particles by type of site, or by plane along */
    int32_t axis;      /**< this axis; -1: by type */
    const int32_t *column_of; /**< [species] which count, or -1 */
    int32_t n_counts;

    int64_t n_known;    /**< lists: numbers of particles in use at the launch; counts: particles, or
                             deposits, to be put into their sites */
    uint32_t *new_site; /**< where particles are gathered */
    uint16_t *new_species;
    int64_t n_bricks, segment; /**< bricks that a thread gathers, or sites that a warp has in its
                                    row; of no more than a look it has every so many-th */
    uint64_t *made;            /**< particles gathered */

    int64_t first_site, end_site; /**< counts: of the lattice, or a slab */
    const uint32_t *narrow;       /**< counts to be written anew with more bits, */
    int32_t bits;                 /**< of so many */

    /* counts, at time 0: */
    saltus_mpd_sites sites;             /**< to which particles come at random */
    int32_t scatter, species;           /**< as this number of the model, of this species */
    const saltus_mpd_deposit *deposits; /**< [n_known] */
} saltus_mpd_launch;

/** What phase i of a launch does. */
SALTUS_FN int saltus_mpd_what(const saltus_mpd_launch *a, int i)
{
    return i == 0                 ? a->first_what
           : i + 1 == a->n_phases ? a->last_what
                                  : SALTUS_MPD_REACTS | SALTUS_MPD_MOVES;
}

/** Which part of the lattice a site lies in. */
SALTUS_FN int saltus_mpd_part_of(const saltus_mpd_launch *a, uint32_t site)
{
    const saltus_mpd_site_pos p = saltus_mpd_site_pos_of(&a->m, site);
    return a->axis < 0    ? saltus_mpd_type(&a->m, site)
           : a->axis == 0 ? (int)p.at[0]
           : a->axis == 1 ? (int)p.at[1]
                          : (int)p.at[2];
}

#endif
