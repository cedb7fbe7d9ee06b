/**
 * Kernels beside the phases of a lattice that holds counts (kernel/rdme/sites.h). They put
 * particles of time 0 into their sites, add the particles that crossed to a slab in the last phase,
 * widen counts, and add counts up.
 */
#ifndef SALTUS_KERNEL_RDME_FILL_H
#define SALTUS_KERNEL_RDME_FILL_H

#include "kernel/rdme/tiles.h"
#include "kernel/rdme/place.h"

#if SALTUS_DEVICE

/** Scatter particles number 0 to n_known - 1 of a species over some sites. */
SALTUS_KERNEL(saltus_mpd_scatter, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n_known; i += SALTUS_STRIDE) {
        const uint32_t site = saltus_mpd_scattered(&a.m, &a.sites, a.scatter, a.species, i);
        if (site != SALTUS_NOWHERE) {
            saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, site, a.species, 1));
        }
    }
}

/** Put deposits[n_known] into their sites. */
SALTUS_KERNEL(saltus_mpd_fill, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n_known; i += SALTUS_STRIDE) {
        const saltus_mpd_deposit d = a.deposits[i];
        saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, d.site, d.species, d.n));
    }
}

/** Put an empty-site token into each site of some types. */
SALTUS_KERNEL(saltus_mpd_watch, saltus_mpd_launch, a)
{
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        if (a.sites.in[saltus_mpd_type(&a.m, (uint32_t)site)]) {
            saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, (uint32_t)site, a.species, 1));
        }
    }
}

#ifdef SALTUS_MPD_SLABS
/** Add the particles that have come from other slabs to their sites: to the first plane, and to the
 * sites from `from_above` on. */
SALTUS_KERNEL(saltus_mpd_arrive, saltus_mpd_launch, a)
{
    const int64_t n = a.end_site - a.first_site, whole = saltus_mpd_whole(saltus_mpd_plane(&a.m)),
                  low = whole < n ? whole : n, from = a.m.slab.from_above,
                  high = from > low ? from : low;
    for (int64_t k = SALTUS_THREAD * SALTUS_MPD_ROW; k < low + n - high;
         k += SALTUS_STRIDE * SALTUS_MPD_ROW) {
        const int64_t site = a.first_site + (k < low ? k : k - low + high);
        *saltus_mpd_row_at(&a.m, a.set, (uint32_t)site) =
            saltus_mpd_load_tile(&a.m, a.set, (uint32_t)site, (uint32_t)a.end_site);
    }
}
#endif

/** Copy counts of a.bits bits into an empty set whose fields have more. */
SALTUS_KERNEL(saltus_mpd_widen, saltus_mpd_launch, a)
{
    const int words = SALTUS_MPD_WORDS_OF(SALTUS_MPD_FIELDS, a.bits),
              sharers = SALTUS_MPD_SHARERS_OF(SALTUS_MPD_FIELDS, a.bits), per_word = 32 / a.bits;
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
            const int shift = (int)(site % sharers) * (32 / sharers) + x % per_word * a.bits;
            const uint32_t n = a.narrow[site / sharers * words + x / per_word] >> shift &
                               0xffffffffu >> (32 - a.bits);
            if (n > 0) {
                (void)saltus_mpd_put(&a.m, a.set, (uint32_t)site, x, n);
            }
        }
    }
}

/* Read the words of a site of the set that holds particles; returns the first species. */
SALTUS_FN int saltus_mpd_read_site(const saltus_mpd_launch *a, int64_t site,
                                   uint32_t v[SALTUS_MPD_WORDS])
{
    saltus_mpd_read(v, saltus_mpd_words_at(&a->m, a->set, (uint32_t)site));
    v[SALTUS_MPD_WORDS - 1] =
        v[SALTUS_MPD_WORDS - 1] >> saltus_mpd_shift_of((uint32_t)site) & SALTUS_MPD_LAST_WORD;
    return saltus_mpd_first(v);
}

SALTUS_KERNEL(saltus_mpd_count, saltus_mpd_launch, a)
{
    uint64_t sums[SALTUS_MPD_FIELDS] = {0};
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        uint32_t v[SALTUS_MPD_WORDS];
        (void)saltus_mpd_read_site(&a, site, v);
        SALTUS_UNROLL
        for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
            sums[x] += saltus_mpd_number(v, x);
        }
    }
    SALTUS_UNROLL
    for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
        saltus_warp_add(&a.totals[x], sums[x]);
    }
}

/** Count particles in each part of the lattice. */
SALTUS_KERNEL(saltus_mpd_split, saltus_mpd_launch, a)
{
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        uint32_t v[SALTUS_MPD_WORDS];
        for (int x = saltus_mpd_read_site(&a, site, v); x >= 0; x = saltus_mpd_first(v)) {
            const uint32_t n = saltus_mpd_number(v, x);
            const int column = x < SALTUS_MPD_N_SPECIES(&a.m) - 1 ? a.column_of[x] : -1;
            saltus_mpd_change(v, x, 0u - n);
            if (column >= 0) {
                const int64_t part = saltus_mpd_part_of(&a, (uint32_t)site);
                (void)SALTUS_NEXT_NUMBERS(&a.parts[part * a.n_counts + column], n);
            }
        }
    }
}

#endif
#endif
