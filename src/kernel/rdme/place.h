/**
 * Which sites particles are put into at random. A random word is a number k among a subset of the
 * lattice's sites, in their order; a slab holds the sites of the subset from number `below` on.
 *
 * Example: sites of type 1 are 0, 3, 4, 300 and 600 of a lattice. A segment has 256 sites, so ranks
 * = {0, 3, 4}. For k = 3 the last segment whose rank is no higher than 3 is segment 1, from site
 * 256 on. Of its sites of type 1, number 3 - 3 = 0 is wanted, which is site 300.
 */
#ifndef SALTUS_KERNEL_RDME_PLACE_H
#define SALTUS_KERNEL_RDME_PLACE_H

#include "kernel/rdme/react.h"
#include "kernel/base/poisson.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

/** Site number k of the subset, as it is numbered in this slab; SALTUS_NOWHERE: another slab has
 * it. */
SALTUS_FN uint32_t saltus_mpd_site_of(const saltus_mpd *m, const saltus_mpd_sites *s, int64_t k)
{
    const int64_t rank = k - s->below;
    if (rank < 0 || rank >= s->here) {
        return SALTUS_NOWHERE;
    }
    if (s->list) {
        return s->list[rank];
    }
    if (!s->ranks) {
        return s->first + (uint32_t)rank;
    }
    int64_t low = 0,
            high = s->n_ranks - 1; /* to find the last segment that begins with no higher rank */
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if ((int64_t)s->ranks[middle] <= rank) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    uint32_t site = s->first + (uint32_t)(low * SALTUS_MPD_SEGMENT);
    for (int64_t left = rank - s->ranks[low];; ++site) {
        if (s->in[saltus_mpd_type(m, site)] && left-- == 0) {
            return site;
        }
    }
}

/** The site of particle i of the scattering number `scatter` of the model. */
SALTUS_FN uint32_t saltus_mpd_scattered(const saltus_mpd *m, const saltus_mpd_sites *s, int scatter,
                                        int species, int64_t i)
{
    uint32_t w[4];
    saltus_mpd_words(m, SALTUS_PURPOSE_PLACE, i, scatter, species, 0, w);
    return saltus_mpd_site_of(m, s, (int64_t)(saltus_unit53(w[0], w[1]) * (double)s->n));
}

#endif
