/**
 * How particles move on a lattice, and where new ones come from; for kernel/rdme/mpd.h and, where
 * particles are held as counts (SALTUS_MPD_BITS), kernel/rdme/sites.h.
 */
#ifndef SALTUS_KERNEL_RDME_MOVE_H
#define SALTUS_KERNEL_RDME_MOVE_H

#ifdef SALTUS_MPD_BITS
#include "kernel/rdme/counts.h"
#else
#include "kernel/rdme/particles.h"
#endif
#include "kernel/rdme/place.h"
#include "kernel/base/poisson.h"

#if SALTUS_LANES != 1
#error "a particle is one lane wide"
#endif

/* A jump along an axis, or none. The first bit of the word is the direction, the other 31 bits
 * decide whether the particle jumps:
 *
 *     bit 31        30 ... 0
 *     up or down    jumps if these bits, times 2, are below jump[type][type there][species]
 *
 * Example: a particle jumps along x with probability 0.1 in each direction, 0.2 in all. The table
 * has 0.2 * 2^32 = 858993459. Word 0x8c000000 has bit 31 set: the way is up. Shifted left by one it
 * is 0x18000000 = 402653184, which is below, so the particle jumps.
 *
 * No branch could be predicted here, so there is none but at the faces. */
SALTUS_FN void saltus_mpd_jump(const saltus_mpd *m, saltus_mpd_site_pos *p, int species, int axis,
                               uint32_t stride, uint32_t word)
{
    const uint32_t last = saltus_mpd_size(m, axis) - 1, at = p->at[axis], is_up = word >> 31;
    const int type = saltus_mpd_type(m, p->site);
    uint32_t next = at + 2 * is_up - 1;
    int there = type, is_lost = 0;
    if (at == (is_up ? last : 0)) {
        const int face = is_up ? saltus_mpd_face(m, 2 * axis + 1) : saltus_mpd_face(m, 2 * axis);
        next = face == SALTUS_MPD_PERIODIC ? last - at : at;
        is_lost = face == SALTUS_MPD_ABSORBING;
    }
#ifdef SALTUS_MPD_SLABS /* beyond a slab is a halo, also where the lattice is periodic */
    const uint32_t by = axis < 2 ? next - at : next == at ? 0 : 2 * is_up - 1;
#else
    const uint32_t by = next - at;
#endif
    const uint32_t to = p->site + by * stride;
    if (SALTUS_MPD_N_TYPES(m) > 1) {
        there = m->types[to];
    }
    const uint32_t twice = SALTUS_MPD_OF(
        m,
        jump)[((int64_t)type * SALTUS_MPD_N_TYPES(m) + there) * SALTUS_MPD_N_SPECIES(m) + species];
    const int goes = word << 1 < twice;
    p->at[axis] = goes ? next : at;
    p->site = goes ? (is_lost ? SALTUS_NOWHERE : to) : p->site;
}

/* The site to which words move a particle, w[axis] along each axis from the first on. */
SALTUS_FN saltus_mpd_site_pos saltus_mpd_move_from(const saltus_mpd *m,
                                                   const saltus_mpd_site_pos *from, int species,
                                                   int first, const uint32_t *w)
{
    saltus_mpd_site_pos p = *from;
    uint32_t stride = 1;
    SALTUS_UNROLL
    for (int axis = 0; axis < 3 && p.site != SALTUS_NOWHERE; ++axis) {
        if (axis >= first) {
            saltus_mpd_jump(m, &p, species, axis, stride, w[axis]);
        }
        stride *= saltus_mpd_size(m, axis);
    }
    saltus_mpd_find_brick(m, &p);
    return p;
}

/** The site to which the words of a step move a particle, w[0] along x, w[1] along y, w[2] along z;
 * SALTUS_NOWHERE: the particle is lost. */
SALTUS_FN saltus_mpd_site_pos saltus_mpd_move(const saltus_mpd *m, const saltus_mpd_site_pos *from,
                                              int species, const uint32_t w[4])
{
    return saltus_mpd_move_from(m, from, species, 0, w);
}

/* ------------------------------------------------------------------------------------------------
 * Sources
 */

/* Where a particle that has come in over a face goes along the later axes in the same step, as
 * those do that were there: as many would come as go along a face of one type, but not where some
 * jump more often than others, nor at an edge, where it may be lost over the other face. */
SALTUS_FN saltus_mpd_site_pos saltus_mpd_go_on(const saltus_mpd *m, const saltus_mpd_source *source,
                                               const saltus_mpd_site_pos *at, const uint32_t w[4])
{
    return saltus_mpd_move_from(m, at, source->species, source->axis + 1, w + 1);
}

/** Put the particles that source number o makes before the reactions of a step into a set: arrivals
 * number begin, begin + stride and so on. Every slab draws all arrivals and keeps its own. */
SALTUS_RARE_FN void saltus_mpd_add_new(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                       int set, int o, int begin, int stride, saltus_mpd_scratch *s)
{
    const saltus_mpd_source source = m->sources[o];
    const saltus_poisson law = saltus_poisson_of(source.mean < 10.0 ? 10.0 : source.mean);
    uint32_t w[4];
    double k = 0.0;
    int good = 0;
    for (int64_t drawn = 0; !good; ++drawn) {
        saltus_mpd_words(m, SALTUS_PURPOSE_SOURCE, step, o, 0, drawn, w);
        good = source.mean < saltus_poisson_inversion;
        if (good) {
            k = saltus_poisson_invert(source.mean, saltus_unit53(w[0], w[1]));
        } else {
            good = saltus_poisson_attempt(&law, saltus_unit53(w[0], w[1]),
                                          saltus_unit53(w[2], w[3]), &k) != 0;
        }
    }
    for (int64_t i = begin; i < (int64_t)k; i += stride) {
        saltus_mpd_words(m, SALTUS_PURPOSE_SOURCE, step, o, 1, i, w);
        const int64_t which = (int64_t)(saltus_unit53(w[0], w[1]) * (double)source.sites.n);
        const uint32_t site = saltus_mpd_site_of(m, &source.sites, which);
        if (site == SALTUS_NOWHERE) {
            continue; /* the arrival belongs to another slab, which draws it too */
        }
        const saltus_mpd_site_pos at = saltus_mpd_site_pos_of(m, site),
                                  to = saltus_mpd_go_on(m, &source, &at, w);
        const int r = source.reaction;
        if (to.site == SALTUS_NOWHERE) {
            continue;
        }
        const int first = r >= 0 ? SALTUS_MPD_OF(n, change_row)[r] : 0,
                  end = r >= 0 ? SALTUS_MPD_OF(n, change_row)[r + 1] : 1;
        for (int c = first; c < end; ++c) {
            const int species = r >= 0 ? SALTUS_MPD_OF(n, change_species)[c] : source.species;
            for (int64_t p = r >= 0 ? SALTUS_MPD_OF(n, change_amount)[c] : 1; p > 0; --p) {
                saltus_mpd_add(m, set, species, &to);
            }
        }
        s->fired += r >= 0;
    }
}

#endif
