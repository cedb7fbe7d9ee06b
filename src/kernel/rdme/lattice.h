/**
 * A lattice for kernel/rdme/mpd.h: its shape, its tables, and what holds its particles, which is
 * either lists (kernel/rdme/particles.h) or counts (kernel/rdme/counts.h).
 */
#ifndef SALTUS_KERNEL_RDME_LATTICE_H
#define SALTUS_KERNEL_RDME_LATTICE_H

#include "kernel/base/rng.h"

/** Sites in a row for which it is known how many of some sites come before. */
enum { SALTUS_MPD_SEGMENT = 256 };

/** Some sites of the lattice, in the order of their numbers, of which this slab, or all there is,
 * has those from number `below` on (kernel/rdme/place.h). */
typedef struct saltus_mpd_sites {
    int64_t n, below, here; /**< of the lattice, of slabs below, of this slab */
    const uint32_t *list;   /**< [here] as they are numbered here; or NULL: */
    const uint32_t *ranks;  /**< [n_ranks] of the slab's stretches, those of them that come before;
                                 NULL: they are all sites */
    int64_t n_ranks;
    const uint8_t *in; /**< [type] with ranks: whether they are its sites */
    uint32_t first;    /**< site of the slab */
} saltus_mpd_sites;

/** Particles that come from nothing: by a reaction without reactants in the sites of a type, or
 * over a face beyond which there is a constant concentration. */
typedef struct saltus_mpd_source {
    double mean;            /**< of the Poisson number that comes in a step */
    saltus_mpd_sites sites; /**< to one of which each comes */
    int32_t reaction;       /**< or -1: */
    int32_t species;        /**< one particle of it */
} saltus_mpd_source;

/** Particles of a site for which something is known beforehand: fewer than these. */
enum { SALTUS_MPD_MANY = 16 };

/** What a phase does with the sites. */
enum { SALTUS_MPD_REACTS = 1, SALTUS_MPD_MOVES = 2 };

/** Nowhere: the site of a particle that is no more. */
#define SALTUS_NOWHERE 0xffffffffu

/** Sites that are numbered together, at most: who goes over them by leaps of up to 2^24 may leap
 * beyond the last, and is not back at the first. */
#define SALTUS_MPD_MOST_SITES (0u - (1u << 24))

/** Where slabs run at once, each on a GPU of its own, and go through many phases in one launch:
 * blocks that have sites beside another slab tell when they are done with those, and wait, at the
 * end of the phase, for the blocks beside them there to have come as far; of [below, above]. Where
 * warps look here and there, they look at sites beside other slabs first, so that who meets has
 * passed the time with the others. */
typedef struct saltus_mpd_halo_flags {
    const uint64_t *ended[2]; /**< phases that have ended there, which the neighbour writes; NULL:
                                   there is none, or a launch is a phase */
    uint64_t *ends[2];        /**< where those of this slab are to be written, in his memory */
    uint64_t *done[2];        /**< blocks that are done, in all even phases of the launch and in all
                                   odd ones: some may already be a phase ahead of others */
    int64_t begin[2], end[2]; /**< which blocks these are */
    int32_t first_tiles[2];   /**< of all warps, at what lies beside the slab below, then above; 0:
                                   sites come in their order, and blocks tell when a phase ends; */
    int32_t first_warps;      /**< which have them, and of what is neither beside one slab nor the
                                   other */
    int32_t inner_tiles;      /**< so many looks are the other warps' alone */
    uint64_t phases;          /**< that had ended at the launch */
    uint64_t *lost;           /**< becomes 1 when a neighbour is waited for in vain */
    uint64_t *passed, *waited; /**< [2] cycles of the threads which speak for blocks on that side:
                                    of all launches of a batch, and of waiting in them */
} saltus_mpd_halo_flags;

/** A slab of planes along z that holds counts: its sites stand in a row, numbered from `first` on;
 * before and behind them are numbers for a plane of each neighbour. Who goes there is put into a
 * margin of the neighbour's memory, and joins the neighbour's sites when these are looked at. */
typedef struct saltus_mpd_slab {
    int64_t zero;                /**< the number in the lattice of what is number 0 here */
    uint32_t first, end;         /**< sites of this slab, and */
    uint32_t plane;              /**< the first of its planes */
    uint32_t to_below, to_above; /**< modulo 2^32, from the number of a neighbour's site to its
                                    place in his margin */
    uint32_t
        from_above; /**< the first, of those from `first` on, to whom the slab above may send */
    uint32_t *coming[2][2]; /**< [set][below, above] this slab's margins: who comes to the first
                                 plane, as it stands; and to sites from `from_above` on */
    uint32_t *going[2][2];  /**< [set][below, above] the neighbours' */
    saltus_mpd_halo_flags halo_flags;
} saltus_mpd_slab;

/** The lattice and its particles. The last of the species, number n_species - 1, is none of the
 * model's: one particle of it stands still in every site whose reactions may fire when the site is
 * empty, so that there is somebody to look after it. */
typedef struct saltus_mpd {
    uint32_t size[3];
    int32_t n_types, n_species;
    int32_t faces[6];     /**< x-, x+, y-, y+, z-, z+ */
    const uint8_t *types; /**< [site] */
    const uint32_t *jump; /**< [from type][to type][species] twice the probability, of 2^32 */
    const uint8_t *moves; /**< [species] whether it ever jumps */
    double step;          /**< s */
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< of a trajectory */

    const double *rate;     /**< [type][reaction] model/lattice/lattice.h */
    const int32_t *active;  /**< reactions that happen in sites of a type: those with a law that is
                                 no product, then by first reactant */
    const int32_t *segment; /**< [type][species + 2] where those of a first reactant begin in
                                 `active`; number 0: those with another law */
    const uint32_t *no_reaction; /**< [type][species] a word below it lets nothing happen where one
                                particle is alone */
    const uint32_t *no_reaction_two;  /**< [type][species][species] the same of two, the lower
                                     species  first; NULL: too many to tell */
    const uint32_t *no_reaction_many; /**< [type][SALTUS_MPD_MANY] the same of so many, whichever
                                     they are; or less */
    int32_t only_one;                 /**< at most one reaction in a site and step */
    const saltus_mpd_source *sources;
    int32_t n_sources;

    uint32_t *site;    /**< [capacity], SALTUS_NOWHERE behind those in use */
    uint16_t *species; /**< [capacity] */
    int32_t *next;     /**< [capacity] in its site's list; SALTUS_MPD_END, SALTUS_MPD_SITE_HEAD */
    uint32_t *held[2]; /**< [brick] a bit for each site: somebody is there */
    uint32_t *crowded[2]; /**< [brick] more than one is */
    int32_t *head[2];     /**< [brick][bit] of the list of those that do not keep the site */
    uint32_t *gathered;   /**< [brick] number of the first of its particles, when gathered */
    uint32_t *counts[2];  /**< [site][word] or [word][site] mpd_counts.h, instead of all these */
    saltus_mpd_slab slab; /**< if several hold the lattice (SALTUS_MPD_SLABS) */
    int64_t *used;        /**< numbers in use, of those no more too; or the largest that a count
                               should have been, if it should. Shared. Beyond the capacity: some
                               particles have found no room, and all is to be done again */
    int64_t capacity;     /**< of particles, or of a count */
    int32_t is_shared;    /**< several threads work on it */
    int64_t first_step;   /**< that was noted from */
    uint64_t *failure;    /**< shared: saltus_mpd_note's first; else ~0 */
} saltus_mpd;

/** Counts, mpd_counts.h: words of a site that has so many fields of so many bits, or sites that
 * share a word. */
#define SALTUS_MPD_WORDS_OF(fields, bits) (((fields) + 32 / (bits)-1) / (32 / (bits)))
#define SALTUS_MPD_SHARERS_OF(fields, bits) \
    ((fields) * (bits) <= 8 ? 4 : (fields) * (bits) <= 16 ? 2 : 1)

/* What a kernel that is compiled for a model knows of it: SALTUS_MPD_SIZE and so on. */
SALTUS_FN uint32_t saltus_mpd_size(const saltus_mpd *m, int axis)
{
#ifdef SALTUS_MPD_SIZE
    const uint32_t size[3] = {SALTUS_MPD_SIZE};
    (void)m;
    return size[axis];
#else
    return m->size[axis];
#endif
}
SALTUS_FN int saltus_mpd_face(const saltus_mpd *m, int face)
{
#ifdef SALTUS_MPD_FACES
    const int32_t faces[6] = {SALTUS_MPD_FACES};
    (void)m;
    return faces[face];
#else
    return m->faces[face];
#endif
}
#ifdef SALTUS_MPD_TYPES
#define SALTUS_MPD_N_TYPES(m) SALTUS_MPD_TYPES
#define SALTUS_MPD_N_SPECIES(m) SALTUS_MPD_SPECIES
#define SALTUS_MPD_IS_SHARED(m) 1
#define SALTUS_MPD_IS_ONLY_ONE(m) SALTUS_MPD_ONLY_ONE
#define SALTUS_MPD_N_REACTIONS(n) SALTUS_MPD_REACTIONS
#define SALTUS_MPD_N_RULES(n) SALTUS_MPD_RULES
#define SALTUS_MPD_HAS_LAWS(n) SALTUS_MPD_LAWS
#else
#define SALTUS_MPD_N_TYPES(m) ((m)->n_types)
#define SALTUS_MPD_N_SPECIES(m) ((m)->n_species)
#define SALTUS_MPD_IS_SHARED(m) ((m)->is_shared)
#define SALTUS_MPD_IS_ONLY_ONE(m) ((m)->only_one)
#define SALTUS_MPD_N_REACTIONS(n) ((n)->n_reactions)
#define SALTUS_MPD_N_RULES(n) ((n)->n_rules)
#define SALTUS_MPD_HAS_LAWS(n) 1
#endif

/* A table of the model: of the struct, or where a kernel is compiled for the model, in its text. */
#ifdef SALTUS_MPD_TABLES
#define SALTUS_MPD_OF(m, table) saltus_table_##table
#else
#define SALTUS_MPD_OF(m, table) ((m)->table)
#endif

/** Bricks along an axis, and all of them. */
SALTUS_FN uint32_t saltus_mpd_bricks(const saltus_mpd *m, int axis)
{
    return (saltus_mpd_size(m, axis) + (axis < 2 ? 3 : 1)) / (axis < 2 ? 4 : 2);
}
SALTUS_FN int64_t saltus_mpd_n_bricks(const saltus_mpd *m)
{
    return (int64_t)saltus_mpd_bricks(m, 0) * saltus_mpd_bricks(m, 1) * saltus_mpd_bricks(m, 2);
}

/** A site: its number, where it lies, and which bit it is of which brick. */
typedef struct saltus_mpd_site_pos {
    uint32_t site, at[3], brick, bit;
} saltus_mpd_site_pos;

/* Fill in brick and bit. */
SALTUS_FN void saltus_mpd_find_brick(const saltus_mpd *m, saltus_mpd_site_pos *p)
{
    p->brick =
        ((p->at[2] >> 1) * saltus_mpd_bricks(m, 1) + (p->at[1] >> 2)) * saltus_mpd_bricks(m, 0) +
        (p->at[0] >> 2);
    p->bit = (p->at[0] & 3) | (p->at[1] & 3) << 2 | (p->at[2] & 1) << 4;
}

/** The number in the lattice of a site, of this slab if there are several. */
SALTUS_FN int64_t saltus_mpd_global_of(const saltus_mpd *m, uint32_t site)
{
#ifdef SALTUS_MPD_SLABS
    return m->slab.zero + site;
#else
    (void)m;
    return site;
#endif
}

SALTUS_FN saltus_mpd_site_pos saltus_mpd_site_pos_of(const saltus_mpd *m, uint32_t site)
{
    saltus_mpd_site_pos p;
#ifdef SALTUS_MPD_SLABS
    const uint32_t first = m->slab.first, plane = m->slab.plane;
#else
    const uint32_t first = 0, plane = 0;
#endif
    const uint32_t row = (site - first) / saltus_mpd_size(m, 0);
    p.site = site;
    p.at[0] = site - first - row * saltus_mpd_size(m, 0);
    p.at[2] = row / saltus_mpd_size(m, 1);
    p.at[1] = row - p.at[2] * saltus_mpd_size(m, 1);
    p.at[2] += plane;
    saltus_mpd_find_brick(m, &p);
    return p;
}

#endif
