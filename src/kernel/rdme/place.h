/**
 * Which sites of a lattice particles are put into, by number: of some of its sites, in their order,
 * a slab holds those from a number on.
 */
#ifndef SALTUS_KERNEL_RDME_PLACE_H
#define SALTUS_KERNEL_RDME_PLACE_H

#include "kernel/rdme/react.h"
#include "kernel/base/poisson.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

/** Number k of such sites, as it is numbered here; SALTUS_NOWHERE: another slab has it. */
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
    int64_t low = 0, high = s->n_ranks - 1; /* the last stretch that begins with no higher rank */
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

/** The site of particle i of those that are scattered as number `scatter` of the model. */
SALTUS_FN uint32_t saltus_mpd_scattered(const saltus_mpd *m, const saltus_mpd_sites *s, int scatter,
                                        int species, int64_t i)
{
    uint32_t w[4];
    saltus_mpd_words(m, SALTUS_PURPOSE_PLACE, i, scatter, species, 0, w);
    return saltus_mpd_site_of(m, s, (int64_t)(saltus_unit53(w[0], w[1]) * (double)s->n));
}

#endif
