/**
 * A lattice as the next-subvolume method reads it (nsm.c): how often a particle leaves a site, what
 * it does when it is alone there, and what comes from nothing.
 */
#ifndef SALTUS_BACKEND_CPU_NSM_TABLES_H
#define SALTUS_BACKEND_CPU_NSM_TABLES_H

#include "engine/rdme.h"

enum {
    SALTUS_NSM_DIRECTIONS = 6, /* x-, x+, y-, y+, z-, z+: in the order of faces */
};

/** Marks of a site. */
enum {
    SALTUS_NSM_EDGE = 1, /* jumps in some direction are not those within the type; elsewhere a
                            particle jumps in all directions alike */
    SALTUS_NSM_OCCUPIED = 2,
};

/** A particle that is alone in its site. */
typedef struct saltus_nsm_lone {
    double mean; /**< s until something happens, on average */
    double span; /**< the sum of what can happen over the rate of a jump in one direction: what is
                      above SALTUS_NSM_DIRECTIONS are reactions. INFINITY: there are no jumps */
} saltus_nsm_lone;

/** What comes from nothing into each of some sites. */
typedef struct saltus_nsm_source {
    double rate;           /**< of all these sites together, 1/s */
    const uint32_t *sites; /**< NULL: all */
    int64_t n_sites;
    int32_t reaction; /**< that fires; -1: a particle comes through a face, of this */
    int32_t species;
    bool only_empty; /**< nothing happens in sites that hold particles: their own law is for them */
} saltus_nsm_source;

typedef struct saltus_nsm_tables {
    const saltus_lattice *lattice;
    /** Reactions, what comes from nothing, what is there at first: alike for both methods. Its rows
     * are also where counts are put for a moment, its keys those of the trajectory. */
    saltus_mpd_tables mpd;
    int64_t stride[SALTUS_NSM_DIRECTIONS]; /**< to the next site */
    uint8_t *marks; /**< [site / 4] of four sites, two bits each: a cache holds many. A site's kind
                         is 2 type + SALTUS_NSM_EDGE if it is marked so */
    double *jump;   /**< [from type][to type][species] 1/s, in one direction */
    double *leave; /**< [kind][species] the largest of those that may be met; at an edge a jump that
                        was drawn by it happens with probability jump / leave */
    saltus_nsm_lone *lone; /**< [kind][species] */
    saltus_nsm_source *sources;
    int32_t n_sources;
    size_t sources_capacity;
    double source_rate; /**< of all sources together, 1/s */
    uint32_t **sites;   /**< [type] all of it, if some law is not 0 in an empty one; else NULL */
    double *a;          /**< [reaction] scratch */
} saltus_nsm_tables;

/** On failure it is still to be freed. */
SALTUS_MUST_CHECK saltus_status saltus_nsm_tables_create(const saltus_task *task,
                                                         saltus_nsm_tables *out, saltus_error *err);
void saltus_nsm_tables_free(saltus_nsm_tables *t);

static inline int saltus_nsm_mark(const saltus_nsm_tables *t, int64_t site)
{
    return t->marks[site >> 2] >> (site & 3) * 2 & 3;
}

/** Set a mark that is not there, or take it away. */
static inline void saltus_nsm_flip(const saltus_nsm_tables *t, int64_t site, int mark)
{
    t->marks[site >> 2] = (uint8_t)(t->marks[site >> 2] ^ mark << (site & 3) * 2);
}

/** The site that a jump leads to; -1: out of the lattice; -2: nowhere, it does not happen. */
static inline int64_t saltus_nsm_neighbour(const saltus_nsm_tables *t, int64_t site, int direction)
{
    const int axis = direction / 2;
    const int64_t size = t->lattice->size[axis], stride = t->stride[2 * axis + 1];
    const int64_t at = site / stride % size, way = direction % 2 ? 1 : -1;
    if (at + way >= 0 && at + way < size) {
        return site + way * stride;
    }
    switch (t->lattice->faces[direction]) {
    case SALTUS_FACE_PERIODIC:
        return site - way * (size - 1) * stride;
    case SALTUS_FACE_REFLECTING:
        return -2;
    default:
        return -1;
    }
}

#endif
