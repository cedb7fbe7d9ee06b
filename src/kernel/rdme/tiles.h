/**
 * How warps go over the sites of a lattice that holds counts (kernel/rdme/counts.h). A tile is as
 * many sites in a row as a warp loads at once, with the particles that have come to them from other
 * slabs. This file loads tiles, and says which warp has which tiles in a phase.
 */
#ifndef SALTUS_KERNEL_RDME_TILES_H
#define SALTUS_KERNEL_RDME_TILES_H

#include "kernel/rdme/counts.h"
#include "kernel/rdme/launch.h"
#include "kernel/rdme/halo_sync.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

#if SALTUS_DEVICE

/* WARPS: the most warps of a block. IS_LATE: whether answers of memory are waited for as late as
 * possible, which takes registers. */
#ifndef SALTUS_MPD_WARPS
#define SALTUS_MPD_WARPS SALTUS_MPD_MOST_WARPS
#endif
#define SALTUS_MPD_IS_LATE (SALTUS_MPD_WARPS < SALTUS_MPD_MOST_WARPS)

enum {
    SALTUS_MPD_ROW = SALTUS_MPD_TILE / SALTUS_WARP, /* sites of a tile that a thread has */
    SALTUS_MPD_TILES = SALTUS_MPD_ROW / SALTUS_MPD_SHARERS
};
#define SALTUS_MPD_ROW_BYTES                             \
    (SALTUS_MPD_TILES * SALTUS_MPD_WORDS % 4 == 0   ? 16 \
     : SALTUS_MPD_TILES * SALTUS_MPD_WORDS % 2 == 0 ? 8  \
                                                    : 4)

/* Words of the sites of a thread, in a row, which are loaded together. */
typedef struct SALTUS_ALIGNED(SALTUS_MPD_ROW_BYTES) saltus_mpd_row {
    uint32_t of[SALTUS_MPD_TILES][SALTUS_MPD_WORDS];
} saltus_mpd_row;

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

#ifdef SALTUS_MPD_SLABS
/* Add the particles of a halo, from a place on, to a row of sites, and clear them there. */
SALTUS_FN void saltus_mpd_take(const saltus_mpd *m, uint32_t *halo, uint32_t place,
                               saltus_mpd_row *v)
{
    const saltus_mpd_row none = {{{0}}};
    saltus_mpd_row *const from = (saltus_mpd_row *)(void *)saltus_mpd_words_of(halo, place);
    const saltus_mpd_row more = *from;
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_TILES; ++k) {
        SALTUS_UNROLL
        for (int j = 0; j < SALTUS_MPD_WORDS; ++j) {
            v->of[k][j] = saltus_mpd_join(m, v->of[k][j], more.of[k][j]);
            any |= more.of[k][j];
        }
    }
    if (any) {
        *from = none;
    }
}

/* Sites of a plane. */
SALTUS_FN uint32_t saltus_mpd_plane(const saltus_mpd *m)
{
    return saltus_mpd_size(m, 0) * saltus_mpd_size(m, 1);
}

/* Add the particles that have come from other slabs to a row of sites. */
SALTUS_FN void saltus_mpd_receive(const saltus_mpd *m, int set, uint32_t site, saltus_mpd_row *v)
{
    const uint32_t i = site - m->slab.first;
    if (i < saltus_mpd_plane(m)) {
        saltus_mpd_take(m, set ? m->slab.coming[1][0] : m->slab.coming[0][0], i, v);
    }
    if (i >= m->slab.from_above) {
        saltus_mpd_take(m, set ? m->slab.coming[1][1] : m->slab.coming[0][1],
                        i - m->slab.from_above, v);
    }
}
#endif

/* Where the words of a row of sites stand. */
SALTUS_FN saltus_mpd_row *saltus_mpd_row_at(const saltus_mpd *m, int set, uint32_t site)
{
    return (saltus_mpd_row *)(void *)saltus_mpd_words_at(m, set, site);
}

/* Load the words of a thread's sites, a row that begins with `site`, and add what has come from
 * other slabs. The row is empty from `end` on. */
SALTUS_FN saltus_mpd_row saltus_mpd_load_tile(const saltus_mpd *m, int set, uint32_t site,
                                              uint32_t end)
{
    saltus_mpd_row v = {{{0}}};
    if (site < end) {
        v = *saltus_mpd_row_at(m, set, site);
#ifdef SALTUS_MPD_SLABS
        saltus_mpd_receive(m, set, site, &v);
#endif
    }
    return v;
}

/* ------------------------------------------------------------------------------------------------
 * Tiles of a warp
 */

/* The parts of a phase, in this order. Each is a range of tiles that warps share. If other slabs
 * wait for the sites beside them, BELOW and ABOVE come first, in some blocks. The other blocks have
 * a few tiles more, INNER, because the warps of the first blocks wait for each other before their
 * block signals. REST has all other tiles. */
enum { SALTUS_MPD_BELOW, SALTUS_MPD_ABOVE, SALTUS_MPD_INNER, SALTUS_MPD_REST, SALTUS_MPD_PARTS };
typedef struct saltus_mpd_tiles {
    /* Of a thread: its first site, and the end of its sites. If `site` is not below `until`, it has
     * none. */
    uint32_t site, until;
    /* Sites from one tile to the next. */
    uint32_t jump;
} saltus_mpd_tiles;

/* The tiles of warp number `warp` of `warps` among the sites from `site` to `end`: its segment of
 * sites in a row, or every warps-th tile. */
SALTUS_FN saltus_mpd_tiles saltus_mpd_tiles_among(const saltus_mpd_launch *a, int64_t site,
                                                  int64_t end, int warp, int warps)
{
    const int lane = SALTUS_LANE_NUMBER * SALTUS_MPD_ROW, is_row = a->segment > SALTUS_MPD_TILE;
    const int64_t first = site + warp * a->segment,
                  last = is_row && first + a->segment < end ? first + a->segment : end;
    const saltus_mpd_tiles tiles = {(uint32_t)first + lane, (uint32_t)last + lane,
                                    (uint32_t)(is_row ? SALTUS_MPD_TILE : warps * SALTUS_MPD_TILE)};
    return tiles;
}

SALTUS_FN saltus_mpd_tiles saltus_mpd_tiles_of(const saltus_mpd_launch *a, int part)
{
    int64_t first = a->first_site, end = a->end_site;
    int warp = (int)SALTUS_WARP_NUMBER, warps = (int)(SALTUS_STRIDE / 32);
#ifdef SALTUS_MPD_SLABS
    const saltus_mpd_halo_flags *const with = &a->m.slab.halo_flags;
    const int64_t below = a->first_site + (int64_t)with->first_tiles[0] * SALTUS_MPD_TILE,
                  rest = below + (int64_t)with->inner_tiles * SALTUS_MPD_TILE,
                  above = with->first_tiles[1] > 0 ? first + a->m.slab.from_above : end;
    if (part == SALTUS_MPD_BELOW) {
        end = below;
    } else if (part == SALTUS_MPD_ABOVE) {
        first = above;
        warp += warps - with->first_tiles[0] % warps;
        warp -= warp < warps ? 0 : warps;
    } else if (part == SALTUS_MPD_INNER) {
        first = below;
        end = warp < with->first_warps ? below : rest;
        warp -= warp < with->first_warps ? 0 : with->first_warps;
        warps -= with->first_warps;
    } else {
        first = rest;
        end = above;
    }
#endif
    (void)part;
    return saltus_mpd_tiles_among(a, first, end, warp, warps);
}

/* The part with which a block begins; and whether queues are worked off at the end of a part. */
SALTUS_FN int saltus_mpd_first_part(const saltus_mpd *m)
{
#ifdef SALTUS_MPD_SLABS
    return saltus_mpd_halo_first(m)             ? SALTUS_MPD_BELOW
           : m->slab.halo_flags.inner_tiles > 0 ? SALTUS_MPD_INNER
                                                : SALTUS_MPD_REST;
#else
    (void)m;
    return SALTUS_MPD_REST;
#endif
}
SALTUS_FN int saltus_mpd_ends_list(int part)
{
    return part == SALTUS_MPD_ABOVE || part == SALTUS_MPD_REST;
}

#ifdef SALTUS_MPD_MARKED
/* The marks of a warp's sites: numbers `next` to `n` - 1 are still to be looked at. */
typedef struct saltus_mpd_marks {
    int64_t site; /* the first */
    int jump;     /* sites from one tile to the next */
    int next, n;
} saltus_mpd_marks;

SALTUS_FN saltus_mpd_marks saltus_mpd_marks_of(const saltus_mpd_launch *a)
{
    const saltus_mpd_tiles tiles = saltus_mpd_tiles_of(a, SALTUS_MPD_REST);
    const uint32_t lane = SALTUS_LANE_NUMBER * SALTUS_MPD_ROW;
    const int64_t site = tiles.site - lane, until = tiles.until - lane;
    const int64_t n_tiles = site < until ? (until - site - 1) / tiles.jump + 1 : 0;
    const saltus_mpd_marks t = {site, (int)tiles.jump, 0,
                                (int)n_tiles * (SALTUS_MPD_TILE / SALTUS_MPD_MARKS)};
    return t;
}

/* The site of the first of marks number i. */
SALTUS_FN uint32_t saltus_mpd_marked_site(const saltus_mpd_marks *t, int i)
{
    const int each = SALTUS_MPD_TILE / SALTUS_MPD_MARKS;
    return (uint32_t)(t->site + (int64_t)(i / each) * t->jump) +
           (uint32_t)(i % each * SALTUS_MPD_MARKS);
}
#endif

#endif
#endif
