/**
 * A slab of a lattice: planes along z, with a plane of each neighbour, and what it has of the sites
 * over which particles are scattered or to which sources add. kernel/rdme/lattice.h
 * (saltus_mpd_slab) says how its sites are numbered.
 */
#ifndef SALTUS_ENGINE_SLAB_H
#define SALTUS_ENGINE_SLAB_H

#include "engine/rdme.h"

/** The plane at which slab i of n begins, a multiple of `unit`; each slab has at least so many. */
int64_t saltus_slabs_begin(const double *heights, int n, int i, int64_t n_planes, int unit);

/** What the sites first to first + n - 1 of the lattice have of a set of sites; the first of them
 * has the number `here` in the slab. `ranks` are to be freed; `in` is the set's. */
SALTUS_MUST_CHECK saltus_status saltus_slab_find_set(const saltus_lattice *l,
                                                     const saltus_mpd_set *set, int64_t first,
                                                     int64_t n, uint32_t here,
                                                     saltus_mpd_sites *out, saltus_error *err);
/** What they have of a source's sites at a face; sites->n stays as it is. `list` is to be freed. */
SALTUS_MUST_CHECK saltus_status saltus_slab_find_face(const saltus_lattice *l,
                                                      const saltus_mpd_gate *gate, int64_t first,
                                                      int64_t n, uint32_t here,
                                                      saltus_mpd_sites *sites, saltus_error *err);

/** A slab in the host's memory. Zero-initialise. */
typedef struct saltus_slab {
    int64_t first, n;           /**< its first site in the lattice, and how many it has */
    uint8_t *types;             /**< [n + 2 planes] of its sites and a plane on both sides; NULL:
                                     there is one type */
    saltus_mpd_sites *sets;     /**< [tables->n_sets] what it has of each */
    saltus_mpd_source *sources; /**< [m.n_sources] */
    int n_sets, n_sources;
} saltus_slab;

/** Make the slab of planes begin to end - 1, and let m be of it. The tables have sets
 * (saltus_mpd_find_sets). */
SALTUS_MUST_CHECK saltus_status saltus_slab_create(const saltus_mpd_tables *tables, int64_t begin,
                                                   int64_t end, saltus_mpd *m, saltus_slab *out,
                                                   saltus_error *err);
void saltus_slab_free(saltus_slab *slab);

/** Derive the keys of a trajectory, in m->keys, and hand over the slab's particles of time 0, or
 * those of `from` unless that is NULL, empty-site tokens among them: `put` gets n of a species in a
 * site of the slab. */
SALTUS_MUST_CHECK saltus_status saltus_slab_place(
    const saltus_slab *slab, const saltus_mpd_tables *tables, uint64_t seed, int64_t trajectory,
    const saltus_contents *from, saltus_mpd *m,
    saltus_status (*put)(void *user, uint32_t site, int species, int64_t n, saltus_error *err),
    void *user, saltus_error *err);

#endif
