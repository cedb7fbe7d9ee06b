/* Where a slab's halos and flags are, and which of its blocks use them: addresses in the memory of
 * the slabs beside it. */
#include "backend/cuda/slabs/slabs.h"

typedef saltus_gpu_slab slab;
typedef saltus_gpu_slabs slabs;

enum {
    FEWER_TILES = 4,   /* a warp with tiles beside another slab has so many other tiles less than a
                          warp without, because it waits for its block before it goes on */
    FEWER_TILES_OF = 4 /* but at most one in so many of its tiles less */
};

slab *saltus_gpu_slabs_next(const slabs *s, int i, int side)
{
    const int next = i + (side ? 1 : -1);
    return next >= 0 && next < s->n ? &s->slab[next]
           : s->is_ring             ? &s->slab[(next + s->n) % s->n]
                                    : NULL;
}

uint64_t saltus_gpu_slab_halo(const slab *s, int side)
{
    const int64_t place = side ? s->c.halo + saltus_mpd_whole(saltus_gpu_counts_sites(&s->c)) : 0;
    return (uint64_t)(place / s->c.sharers * s->c.words) * sizeof(uint32_t);
}

size_t saltus_gpu_slab_halo_bytes(const slab *s)
{
    return (size_t)(s->c.halo / s->c.sharers * s->c.words) * sizeof(uint32_t);
}

/* Warps have segments of sites, `block` sites in a block: which blocks of a slab have sites beside
 * another slab. All, if one round does not cover all sites. */
static void sync_in_rows(const slabs *s, slab *this, int64_t block, bool at_once)
{
    saltus_mpd_slab *of = &this->c.on.a.m.slab;
    of->halo_flags.end[0] = at_once ? (s->plane + block - 1) / block : this->c.n_blocks;
    of->halo_flags.begin[1] = at_once ? of->from_above / block : 0;
    of->halo_flags.end[1] = this->c.n_blocks;
}

/* Tiles are spread: those beside other slabs come first, in the first blocks, whose warps have a
 * few fewer of the other tiles. */
static void halo_first(const slabs *s, slab *this, bool is_below, bool is_above)
{
    const saltus_gpu_counts *c = &this->c;
    const int64_t poll = SALTUS_MPD_TILE_OF(c->words), warps = c->block / 32,
                  all = c->n_blocks * warps, to_above = c->on.a.m.slab.from_above / poll,
                  n = (saltus_gpu_counts_sites(c) + poll - 1) / poll,
                  below = is_below ? saltus_mpd_whole(s->plane) / poll : 0,
                  both = below + (is_above ? n - to_above : 0), rounds = (both + all - 1) / all;
    saltus_mpd_halo_flags *with = &this->c.on.a.m.slab.halo_flags;
    with->first_tiles[0] = (int32_t)below;
    with->first_tiles[1] = (int32_t)(both - below);
    with->end[0] = rounds == 1 ? (below + warps - 1) / warps : c->n_blocks;
    with->begin[1] = rounds == 1 ? below / warps : 0;
    with->end[1] = rounds == 1 ? (both + warps - 1) / warps : c->n_blocks;
    const int64_t busy = with->end[1] * warps, each = (n - both) / all / FEWER_TILES_OF;
    with->first_warps = (int32_t)busy;
    with->inner_tiles = (int32_t)((all - busy) * (each < FEWER_TILES ? each : FEWER_TILES));
}

/* Which blocks take part in the halo exchange, when they signal, and where their flags are. */
void saltus_gpu_slabs_sync(const slabs *s, int i)
{
    slab *this = &s->slab[i];
    saltus_mpd_halo_flags *with = &this->c.on.a.m.slab.halo_flags;
    const saltus_mpd_launch *a = &this->c.on.a;
    const int64_t block = this->c.block / 32 * a->segment; /* sites of a block */
    const bool at_once = this->c.n_blocks * block >= saltus_gpu_counts_sites(&this->c),
               is_spread = a->segment == SALTUS_MPD_TILE_OF(this->c.words) && !at_once,
               is_high = saltus_mpd_whole(s->plane) <= a->m.slab.from_above;
    with->begin[0] = with->first_tiles[0] = with->first_tiles[1] = with->inner_tiles = 0;
    if (s->is_joint && a->reach == 0 && is_spread && is_high) {
        halo_first(s, this, saltus_gpu_slabs_next(s, i, 0), saltus_gpu_slabs_next(s, i, 1));
    } else {
        sync_in_rows(s, this, block, at_once);
    }
    for (int side = 0; side < 2; ++side) {
        const slab *next = saltus_gpu_slabs_next(s, i, side);
        uint64_t *const mine = (void *)(uintptr_t)this->ended;
        uint64_t *const others = next ? (void *)(uintptr_t)next->ended : NULL;
        const bool is_synced = s->is_joint && next;
        with->ended[side] = is_synced ? mine + side * SALTUS_APART : NULL;
        with->ends[side] = is_synced ? others + (1 - side) * SALTUS_APART : NULL;
    }
}

/* Set where each slab adds particles that leave it, and where it finds arrivals. Both are in the
 * order in which the receiver's sites stand, so that it can add whole rows. Staged, they are added
 * to memory of the slab's own GPU. Where there is no neighbour, a halo stays empty. */
void saltus_gpu_slabs_connect(slabs *s)
{
    const int64_t plane = s->plane;
    for (int i = s->first; i < s->end; ++i) {
        slab *this = &s->slab[i];
        const slab *below = saltus_gpu_slabs_next(s, i, 0);
        const int64_t last = saltus_gpu_counts_sites(&this->c) -
                             plane, /* first site of the last plane */
            last_below = below ? saltus_gpu_counts_sites(&below->c) - plane : 0;
        saltus_mpd_slab *of = &this->c.on.a.m.slab;
        of->from_above = (uint32_t)(last / SALTUS_MPD_WHOLE * SALTUS_MPD_WHOLE);
        of->to_below = (uint32_t)(last_below % SALTUS_MPD_WHOLE - (this->c.halo - plane));
        of->to_above = 0U - of->end;
        for (int set = 0; set < 2; ++set) {
            for (int side = 0; side < 2; ++side) {
                const slab *next = saltus_gpu_slabs_next(s, i, side);
                const cu_pointer mine = this->c.sets[set] + saltus_gpu_slab_halo(this, side),
                                 neighbour =
                                     !next ? 0
                                     : s->is_staged
                                         ? this->leaving[side]
                                         : next->c.sets[set] + saltus_gpu_slab_halo(next, 1 - side);
                of->coming[set][side] = (void *)(uintptr_t)mine;
                of->going[set][side] = (void *)(uintptr_t)neighbour;
            }
        }
        saltus_gpu_slabs_sync(s, i);
    }
}
