/**
 * A lattice for kernel/rdme/mpd.h: its shape, its tables, and the memory of its particles, which is
 * either lists (kernel/rdme/particles.h) or counts (kernel/rdme/counts.h).
 */
#ifndef SALTUS_KERNEL_RDME_LATTICE_H
#define SALTUS_KERNEL_RDME_LATTICE_H

#include "kernel/base/rng.h"

/** Length of a segment of sites in a row. `ranks` has one number for each segment. */
enum { SALTUS_MPD_SEGMENT = 256 };

/** A subset of the sites of the lattice, in the order of their numbers. A slab, or the whole
 * lattice where there are none, has those of the subset from number `below` on
 * (kernel/rdme/place.h). */
typedef struct saltus_mpd_sites {
    /** Sites of the subset: in the lattice, in slabs below this one, and in this slab. */
    int64_t n, below, here;
    /** [here] sites as they are numbered in this slab; NULL: `ranks` is used. */
    const uint32_t *list;
    /** [n_ranks] for each segment of the slab, how many sites of the subset come before it; NULL:
     * all sites belong to the subset. */
    const uint32_t *ranks;
    int64_t n_ranks;
    /** [type] with `ranks`: whether sites of the type belong to the subset. */
    const uint8_t *in;
    /** The first site of the slab. */
    uint32_t first;
} saltus_mpd_sites;

/** A source of particles: a reaction without reactants in the sites of a type, or a face beyond
 * which there is a constant concentration. */
typedef struct saltus_mpd_source {
    double mean;            /**< mean of the Poisson number of arrivals in a step */
    saltus_mpd_sites sites; /**< sites to which arrivals go */
    int32_t reaction;       /**< number of the reaction; -1: arrivals are of `species` */
    int32_t species;        /**< with reaction -1: each arrival is one particle of it */
    int32_t axis;           /**< of the face; with a reaction 2 */
} saltus_mpd_source;

/** Sites with fewer particles than these have entries in `no_reaction_many`. */
enum { SALTUS_MPD_MANY = 16 };

/** What a phase does with the sites; one or both. */
enum { SALTUS_MPD_REACTS = 1, SALTUS_MPD_MOVES = 2 };

/** The site of a particle that has been removed. */
#define SALTUS_NOWHERE 0xffffffffu

/** The largest number of sites that are numbered together. A loop that goes over them in strides of
 * up to 2^24 may step beyond the last, but does not wrap round to the first. */
#define SALTUS_MPD_MOST_SITES (0u - (1u << 24))

/** Flags by which slabs wait for each other where each has a GPU of its own and a launch has many
 * phases. Blocks with sites beside another slab signal when they are done with those, and at the
 * end of the phase they wait until the neighbour's blocks there are done as well. Arrays are of
 * [below, above]. Where tiles are spread over all warps, those beside other slabs come first, so
 * that the rest of the phase hides the wait. kernel/rdme/halo_sync.h draws the exchange. */
typedef struct saltus_mpd_halo_flags {
    /** Number of the last phase that the neighbour on this side has ended; the neighbour writes it.
     * NULL: there is no neighbour, or a launch is a phase. */
    const uint64_t *ended[2];
    /** Where this slab writes the same for the neighbour, in the neighbour's memory. */
    uint64_t *ends[2];
    /** [even, odd] blocks that are done, summed over all even phases of the launch and over all odd
     * ones. The two are apart because some blocks may already be a phase ahead of others. */
    uint64_t *done[2];
    /** The blocks from begin to end - 1 have sites beside the neighbour. */
    int64_t begin[2], end[2];
    /** Tiles beside the slab below, and beside the one above, which all warps of these blocks take
     * first. 0: tiles come in the order of their sites, and blocks signal at the end of a phase. */
    int32_t first_tiles[2];
    /** The first so many warps have these tiles. */
    int32_t first_warps;
    /** The other warps alone share so many tiles that are beside neither neighbour. */
    int32_t inner_tiles;
    /** Phases that had ended when the launch began. */
    uint64_t phases;
    /** Becomes 1 when a neighbour does not come in time. */
    uint64_t *lost;
    /** [below, above] clock cycles of the threads that signal for blocks on that side: in all
     * launches of a batch, and waiting in them. */
    uint64_t *passed, *waited;
} saltus_mpd_halo_flags;

/** A slab of planes along z, held as counts. Its sites are numbered in a row from `first` on; the
 * numbers before and behind them stand for a plane of each neighbour. A particle that leaves the
 * slab is added to the halo in the neighbour's memory, and joins the neighbour's sites when the
 * neighbour loads these in its next phase.
 *
 * A set of counts in the memory of a slab of n sites, by place (`h` is saltus_mpd_halo(plane), `w`
 * is saltus_mpd_whole(n), so that each part begins at a multiple of 256 places):
 *
 *     place 0              h = first                    h + n = end   h + w            2 h + w
 *     | halo below         | the slab's own sites ...        | (gap) | halo above       |
 *     | from slab i - 1    | site number = place                     | from slab i + 1  |
 *       coming[set][0]                                                 coming[set][1]
 *
 * Example: planes of 100 sites, two slabs of 5 planes. Then h = 512, w = 512, first = 512 and end =
 * 1012 in both. A particle in site 1000 of slab 0 (its last plane, number 88 there) moves up along
 * z: site 1100 is not below `end`, so its place is 1100 + to_above = 1100 - 1012 = 88 in
 * going[set][1], which is the halo below of slab 1. Slab 1 adds place 88 when it loads its site 512
 * + 88. In the other direction, a particle in site 530 of slab 1 (number 18 of its first plane)
 * moves down to site 430 < first. Slab 0 has its last plane from site number 400 behind `first` on,
 * and adds its halo above in whole rows of tiles, from from_above = 400 / 256 * 256 = 256 on. So
 * to_below = 400 % 256 - (512 - 100) = -268, the place is 430 - 268 = 162, and slab 0 adds it to
 * the site 256 + 162 = 418 = 400 + 18 behind `first`. */
typedef struct saltus_mpd_slab {
    /** The number in the lattice of the site that is number 0 here; below 0 where the halo reaches
     * beyond the lattice. */
    int64_t zero;
    /** The slab's own sites are first to end - 1. */
    uint32_t first, end;
    /** The number in the lattice of the slab's first plane. */
    uint32_t plane;
    /** What is added, modulo 2^32, to the number of a neighbour's site to get its place in that
     * neighbour's halo. */
    uint32_t to_below, to_above;
    /** The first site, counted from `first` on, to which the slab above may add: where the last
     * plane begins, rounded down to a multiple of SALTUS_MPD_WHOLE. */
    uint32_t from_above;
    /** [set][below, above] the halos of this slab. The halo below has the first plane, from place 0
     * on; the halo above has the sites from `from_above` on. */
    uint32_t *coming[2][2];
    /** [set][below, above] the halos in the neighbours' memory to which this slab adds. */
    uint32_t *going[2][2];
    saltus_mpd_halo_flags halo_flags;
    /** [below, above] lists of particles that leave the slab (kernel/rdme/particles.h), which has
     * no halos then. */
    struct saltus_mpd_departures *departures;
} saltus_mpd_slab;

/* The tables of a lattice's model: X(type of an element, name, how many elements), where `types`,
 * `species` and `reactions` are numbers of these. The struct, the memory, the copy on a GPU and the
 * text of a kernel are made from this list, so that a new table is a line here, what fills it
 * (engine/rdme_tables.c) and what reads it. A table of fewer than 0 elements is NULL: `pairs` is -1
 * where there are too many pairs of species. */
/* clang-format off */
#define SALTUS_LATTICE_ARRAYS(X)                                                                   \
    /* [from type][to type][species] twice the probability of a jump, in units of 2^-32 */         \
    X(uint32_t, jump, types * types * species)                                                     \
    /* [species] whether particles of the species ever jump */                                     \
    X(uint8_t, moves, species)                                                                     \
    /* [type][reaction] rates, as in model/lattice/lattice.h */                                    \
    X(double, rate, types * reactions)                                                             \
    /* Reactions that happen in sites of a type: first those whose law is not a product, then      \
     * the others by their first reactant. */                                                      \
    X(int32_t, active, types * reactions)                                                          \
    /* [type][species + 2] where the reactions of a first reactant begin in `active`; entry 0      \
     * is for those whose law is not a product. */                                                 \
    X(int32_t, segment, types * (species + 2))                                                     \
    /* [type][species] No reaction fires where one particle is alone if the word is below. */      \
    X(uint32_t, no_reaction, types * species)                                                      \
    /* [type][species][species] the same where two particles are, the lower species first */       \
    X(uint32_t, no_reaction_two, pairs)                                                            \
    /* [type][number] the same where so many particles are, of whatever species, or fewer */       \
    X(uint32_t, no_reaction_many, types * SALTUS_MPD_MANY)
/* clang-format on */

/** What lies beyond a face of the lattice; in the order of model/lattice/lattice.h. What leaves
 * over a face of constant concentration is lost as well. */
enum { SALTUS_MPD_PERIODIC, SALTUS_MPD_REFLECTING, SALTUS_MPD_ABSORBING };

/** The lattice and its particles. The last species, number n_species - 1, is not one of the
 * model's. It is the empty-site token: one particle of it stands still in every site whose
 * reactions may fire when the site is empty, so that phases do not pass over that site. */
typedef struct saltus_mpd {
    uint32_t size[3];
    int32_t n_types, n_species;
    /** What lies beyond the faces x-, x+, y-, y+, z-, z+. */
    int32_t faces[6];
    /** [site] the type of the site. */
    const uint8_t *types;
#define SALTUS_MEMBER(type, name, n) const type *name;
    SALTUS_LATTICE_ARRAYS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
    /** Length of a step in s. */
    double step;
    /** [step][rate] values of the parameters with a rate rule at the middle of each step, from that
     * on that begins at time 0. */
    const double *inputs;
    /** Random keys of the trajectory. */
    uint32_t keys[SALTUS_PHILOX_KEYS];

    /** At most one reaction fires in a site and step. */
    int32_t only_one;
    const saltus_mpd_source *sources;
    int32_t n_sources;

    /** [capacity] the particle's site; SALTUS_NOWHERE for numbers that are free. */
    uint32_t *site;
    /** [capacity] the particle's species. */
    uint16_t *species;
    /** [capacity] the next particle in the site's list; or SALTUS_MPD_END, or SALTUS_MPD_SITE_HEAD.
     */
    int32_t *next;
    /** [brick] a bit for each site: at least one particle is there. */
    uint32_t *held[2];
    /** [brick] a bit for each site: more than one particle is there. */
    uint32_t *crowded[2];
    /** [brick][bit] first particle of the list of those in the site that are not its site head. */
    int32_t *head[2];
    /** [brick] the number of its first particle, after gathering. */
    uint32_t *gathered;
    /** [site][word] or [word][site] the counts (kernel/rdme/counts.h), which replace all lists. */
    uint32_t *counts[2];
    /** With SALTUS_MPD_MARKED: a bit for each site, whether it may hold particles, SALTUS_MPD_MARKS
     * in a number (kernel/rdme/sites.h). */
    uint64_t *marks[2];
    /** Where this slab lies, if several hold the lattice (SALTUS_MPD_SLABS). */
    saltus_mpd_slab slab;
    /** Lists: particle numbers in use, those of removed particles among them. Counts: the largest
     * count that did not fit, if one did not. Threads share it. Beyond `capacity` some particles
     * had no room, and the batch is done again with more. */
    int64_t *used;
    /** Particles that there is room for; or the largest count that a field holds. */
    int64_t capacity;
    /** Whether several threads work on the lattice. */
    int32_t is_shared;
    /** The step from which failures are counted. */
    int64_t first_step;
    /** The first failure that saltus_mpd_note saw, shared by threads; ~0: none. */
    uint64_t *failure;
} saltus_mpd;

/** Words of a site that has so many fields of so many bits, and how many sites share a word
 * (kernel/rdme/counts.h draws both); sites that a warp loads together, of so many words each; and
 * sites whose marks a thread loads together. */
#define SALTUS_MPD_WORDS_OF(fields, bits) (((fields) + 32 / (bits)-1) / (32 / (bits)))
#define SALTUS_MPD_SHARERS_OF(fields, bits) \
    ((fields) * (bits) <= 8 ? 4 : (fields) * (bits) <= 16 ? 2 : 1)
#define SALTUS_MPD_TILE_OF(words) ((words) < 8 ? 256 / (words) / 32 * 32 : 32)
enum { SALTUS_MPD_MARKS = 64 };

/* Sizes and faces. A kernel that is compiled for a model has them as constants (SALTUS_MPD_SIZE and
 * so on). */
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
#define SALTUS_MPD_N_RATES(n) SALTUS_MPD_RATES
#else
#define SALTUS_MPD_N_TYPES(m) ((m)->n_types)
#define SALTUS_MPD_N_SPECIES(m) ((m)->n_species)
#define SALTUS_MPD_IS_SHARED(m) ((m)->is_shared)
#define SALTUS_MPD_IS_ONLY_ONE(m) ((m)->only_one)
#define SALTUS_MPD_N_REACTIONS(n) ((n)->n_reactions)
#define SALTUS_MPD_N_RULES(n) ((n)->n_rules)
#define SALTUS_MPD_HAS_LAWS(n) 1
#define SALTUS_MPD_N_RATES(n) ((n)->n_rates)
#endif

/* A table of the model. It is a member of the struct, or, where a kernel is compiled for the model,
 * an array in its text. */
#ifdef SALTUS_MPD_TABLES
#define SALTUS_MPD_OF(m, table) saltus_table_##table
#else
#define SALTUS_MPD_OF(m, table) ((m)->table)
#endif

/** Bricks along an axis, and in the whole lattice. */
SALTUS_FN uint32_t saltus_mpd_bricks(const saltus_mpd *m, int axis)
{
    return (saltus_mpd_size(m, axis) + (axis < 2 ? 3 : 1)) / (axis < 2 ? 4 : 2);
}
SALTUS_FN int64_t saltus_mpd_n_bricks(const saltus_mpd *m)
{
    return (int64_t)saltus_mpd_bricks(m, 0) * saltus_mpd_bricks(m, 1) * saltus_mpd_bricks(m, 2);
}

/** A site: its number, its position along x, y and z, its brick and its bit in there
 * (kernel/rdme/particles.h). */
typedef struct saltus_mpd_site_pos {
    uint32_t site, at[3], brick, bit;
} saltus_mpd_site_pos;

/* Fill in the brick and the bit. A slab has bricks from its first plane on. */
SALTUS_FN void saltus_mpd_find_brick(const saltus_mpd *m, saltus_mpd_site_pos *p)
{
#ifdef SALTUS_MPD_SLABS
    const uint32_t z = p->at[2] - m->slab.plane;
#else
    const uint32_t z = p->at[2];
#endif
    p->brick = ((z >> 1) * saltus_mpd_bricks(m, 1) + (p->at[1] >> 2)) * saltus_mpd_bricks(m, 0) +
               (p->at[0] >> 2);
    p->bit = (p->at[0] & 3) | (p->at[1] & 3) << 2 | (z & 1) << 4;
}

/** The first site here: a slab's own sites have a neighbour's before them. */
SALTUS_FN uint32_t saltus_mpd_first_site(const saltus_mpd *m)
{
#ifdef SALTUS_MPD_SLABS
    return m->slab.first;
#else
    (void)m;
    return 0;
#endif
}

/** The number in the lattice of a site of this slab. */
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
    const uint32_t first = saltus_mpd_first_site(m);
#ifdef SALTUS_MPD_SLABS
    const uint32_t plane = m->slab.plane;
#else
    const uint32_t plane = 0;
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
