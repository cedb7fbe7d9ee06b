/**
 * A lattice as the next-subvolume method reads it (kernel/rdme/nsm.h): how often a particle leaves
 * a site, what it does when it is alone there, what comes from nothing, and two bits for each site.
 */
#ifndef SALTUS_KERNEL_RDME_NSM_LATTICE_H
#define SALTUS_KERNEL_RDME_NSM_LATTICE_H

#include "kernel/rdme/react.h"

#if SALTUS_LANES != 1
#error "a trajectory is one lane wide"
#endif

/** Directions of a jump: x-, x+, y-, y+, z-, z+, in the order of faces. */
enum { SALTUS_NSM_DIRECTIONS = 6 };

/** What saltus_nsm_neighbour says where there is no neighbour: a particle is lost, or stays. */
enum { SALTUS_NSM_LOST = -1, SALTUS_NSM_STAYS = -2 };

/** The mark of a site is two bits, four marks are a byte, so that a cache holds many. EDGE: jumps
 * in some direction are not those within the type; elsewhere a particle jumps in all directions
 * alike. OCCUPIED: the site holds particles.
 *
 *     bits           7         6       5         4       3         2       1         0
 *     marks[k]       occupied  edge    occupied  edge    occupied  edge    occupied  edge
 *     of the site    4 k + 3           4 k + 2           4 k + 1           4 k
 *
 * Example: site 5 holds particles, site 6 is empty and at an edge; so marks[1] is 2 << 2 | 1 << 4 =
 * 0x18. A site's kind, its row in the tables below, is twice its type, plus 1 at an edge. */
enum { SALTUS_NSM_EDGE = 1, SALTUS_NSM_OCCUPIED = 2 };

/** What a particle does that is alone in its site. */
typedef struct saltus_nsm_lone {
    /** Mean wait in s for its next event. */
    double mean_wait;
    /** The sum of its rates over the rate of a jump in one direction: what is above
     * SALTUS_NSM_DIRECTIONS are reactions. Infinity: there are no jumps. */
    double span;
} saltus_nsm_lone;

/** What comes from nothing into each of some sites. */
typedef struct saltus_nsm_source {
    /** Rate of all these sites together, in 1/s. */
    double rate;
    /** [n_sites] the sites; NULL: all. */
    const uint32_t *sites;
    int64_t n_sites;
    /** The reaction that fires; -1: a particle of `species` comes through a face. */
    int32_t reaction, species;
    /** Nothing happens in sites that hold particles: their own law is for them. */
    int32_t only_empty;
} saltus_nsm_source;

typedef struct saltus_nsm_lattice {
    /** Sizes, types and faces, reactions, and the keys of the trajectory; no particles. */
    saltus_mpd m;
    /** The well-mixed part. */
    const saltus_tables *of;
    /** Species of the model, without the empty-site token of `m`. */
    int32_t n_species;
    /** [direction] from a site's number to its neighbour's */
    int64_t stride[SALTUS_NSM_DIRECTIONS];
    /** [site / 4] marks of four sites */
    uint8_t *marks;
    /** [from type][to type][species] rate of a jump in one direction, in 1/s */
    double *jump;
    /** [kind][species] the largest rate at which a site of the kind can be left in one direction.
     * At an edge a jump that was drawn by it happens with probability jump / leave. */
    double *leave;
    /** [kind][species] */
    saltus_nsm_lone *lone;
    saltus_nsm_source *sources;
    int32_t n_sources;
    /** Rate of all sources together, in 1/s. */
    double source_rate;
    /** Rows as in kernel/base/tables.h; v[species] is 0 but while a site's rates are summed. */
    double *v;
    /** [reaction] propensities of the site whose rates were summed last */
    double *a;
} saltus_nsm_lattice;

SALTUS_FN int saltus_nsm_mark(const saltus_nsm_lattice *l, int64_t site)
{
    return l->marks[site >> 2] >> (site & 3) * 2 & 3;
}

/** Set a mark that is not there, or take it away. */
SALTUS_FN void saltus_nsm_flip(const saltus_nsm_lattice *l, int64_t site, int mark)
{
    l->marks[site >> 2] = (uint8_t)(l->marks[site >> 2] ^ mark << (site & 3) * 2);
}

SALTUS_FN uint16_t saltus_nsm_kind(const saltus_nsm_lattice *l, int64_t site)
{
    return (uint16_t)(2 * saltus_mpd_type(&l->m, (uint32_t)site) +
                      (saltus_nsm_mark(l, site) & SALTUS_NSM_EDGE));
}

/** [species] the row of a kind. */
SALTUS_FN double *saltus_nsm_leave(const saltus_nsm_lattice *l, int kind)
{
    return l->leave + (int64_t)kind * l->n_species;
}

/** [species] the row of a pair of types. */
SALTUS_FN double *saltus_nsm_jump_rates(const saltus_nsm_lattice *l, int from, int to)
{
    return l->jump + ((int64_t)from * l->m.n_types + to) * l->n_species;
}

/** The site to which a jump leads, or SALTUS_NSM_LOST, or SALTUS_NSM_STAYS. */
SALTUS_FN int64_t saltus_nsm_neighbour(const saltus_nsm_lattice *l, int64_t site, int direction)
{
    const int axis = direction / 2, is_up = direction % 2;
    const int64_t last = (int64_t)l->m.size[axis] - 1, stride = l->stride[direction];
    const int64_t at = site / l->stride[2 * axis + 1] % (last + 1);
    if (at != (is_up ? last : 0)) {
        return site + stride;
    }
    switch (l->m.faces[direction]) {
    case SALTUS_MPD_PERIODIC:
        return site - stride * last;
    case SALTUS_MPD_REFLECTING:
        return SALTUS_NSM_STAYS;
    default:
        return SALTUS_NSM_LOST;
    }
}

#endif
