/**
 * hubs.h on a GPU with a warp per trajectory, in a workspace of shared or of global memory: the
 * threads share what an event changes, and look through the partners of a class together; each
 * makes the other choices itself, so that all have them.
 *
 * The host defines what hubs_worker.h needs, SALTUS_BLOCK as 1, and SALTUS_WARPS, the warps of a
 * block. A host simulates a warp of one thread.
 */
#ifndef SALTUS_KERNEL_SSA_HUBS_WARP_H
#define SALTUS_KERNEL_SSA_HUBS_WARP_H

#define SALTUS_HUBS_SIDE_BY_SIDE 1
#include "kernel/ssa/warp_draws.h"

#if SALTUS_DEVICE
typedef saltus_hub saltus_worker_hub;
#define SALTUS_TEAM SALTUS_WARP
#define SALTUS_LEAVES_KEPT 1
#define SALTUS_MINE (SALTUS_WARP > 1 ? SALTUS_LANE_NUMBER : 0)
#define SALTUS_TEAM_WAIT() SALTUS_WARP_WAIT()
#define saltus_team_any(x) saltus_warp_any(x)
#endif

#include "kernel/ssa/hubs_worker.h"

#if SALTUS_DEVICE
SALTUS_FN void saltus_state_open(saltus_worker_state *s, const saltus_launch *a)
{
    const int64_t doubles = a->workspace_doubles / SALTUS_WARPS;
#if SALTUS_WORKSPACE_SHARED
    s->table.values = saltus_shared + SALTUS_WARP_IN_BLOCK * doubles;
#else
    s->table.values = a->workspaces + SALTUS_WARP_NUMBER * doubles;
#endif
    s->hubs = a->hubs.hubs;
    s->table.x = (saltus_count *)(s->table.values + SALTUS_HUB_LEAVES + SALTUS_HUB_NODES);
    s->weights = (int32_t *)(s->table.x + SALTUS_HUB_SPECIES);
}

SALTUS_FN saltus_eight saltus_worker_sums(const saltus_worker_state *s, const saltus_launch *a,
                                          int level, int i)
{
    (void)a;
    return saltus_worker_kept_sums(s, level, i);
}

/* Compute a leaf. */
SALTUS_FN void saltus_warp_keep(const saltus_worker_state *s, const saltus_launch *a, int leaf)
{
    if (SALTUS_N_OWN > 0 && leaf >= SALTUS_N_HUBS) {
        s->table.values[leaf] = saltus_worker_own(s, a, leaf);
    } else {
        const saltus_hub h = s->hubs[leaf];
        s->table.values[leaf] =
            saltus_from_int(saltus_worker_most(s, h.species)) * saltus_worker_each(s, &a->hubs, h);
    }
}

SALTUS_FN void saltus_worker_leaves(const saltus_worker_state *s, const saltus_launch *a)
{
    SALTUS_ONE_BY_ONE
    for (int i = SALTUS_MINE; i < SALTUS_N_HUBS + SALTUS_N_OWN; i += SALTUS_WARP) {
        saltus_warp_keep(s, a, i);
    }
}

/* Item i of some lists one behind the other. The threads in `lists` have one each, n long and at
 * `first` of an array; its place in the array, *list becoming the thread; -1: beyond them. */
SALTUS_FN int saltus_warp_item(uint32_t lists, int first, int n, int i, int *list)
{
    int at = -1;
    for (; lists != 0; lists &= lists - 1) {
        const int from = SALTUS_LOWEST(lists);
        const int size = (int)saltus_warp_get_word((uint32_t)n, from);
        const int start = (int)saltus_warp_get_word((uint32_t)first, from);
        if (i >= 0 && i < size) {
            at = start + i;
            *list = from;
        }
        i -= size;
    }
    return at;
}

SALTUS_FN int saltus_warp_total(uint32_t lists, int n)
{
    int sum = 0;
    for (; lists != 0; lists &= lists - 1) {
        sum += (int)saltus_warp_get_word((uint32_t)n, SALTUS_LOWEST(lists));
    }
    return sum;
}

/* The counts of `moved` threads' species become x. They have left their bounds. */
SALTUS_FN void saltus_warp_move(const saltus_worker_state *s, const saltus_launch *a,
                                uint32_t moved, int species, int32_t x, int *bad)
{
    const saltus_hub_arrays *n = &a->hubs;
    saltus_reach r = {0, 0, 0, 0};
    int more = 0;
    if ((moved >> SALTUS_MINE) & 1) {
        r = n->reaches[species];
        more = saltus_worker_bound(s, n, species, x, bad);
    }
    const int n_members = r.member_end - r.member_first, n_leaves = r.leaf_end - r.leaf_first;
    int total = saltus_warp_total(moved, n_members), list = 0;
    SALTUS_ONE_BY_ONE
    for (int i = 0; i < total; i += SALTUS_WARP) {
        const int at = saltus_warp_item(moved, r.member_first, n_members, i + SALTUS_MINE, &list);
        const int by = (int)saltus_warp_get_word((uint32_t)more, list);
        if (at >= 0) {
            const saltus_member m = n->members[at];
            const int64_t add = (int64_t)m.ways * by;
            const int32_t before = (int32_t)SALTUS_FETCH_ADD(s->weights + m.weight, (int32_t)add);
            *bad |= before + add > 0x7fffffff;
        }
    }
    total = saltus_warp_total(moved, n_leaves);
    SALTUS_WARP_WAIT();
    int leaf = -1;
    SALTUS_UNROLL
    for (int level = -1; level < SALTUS_HUB_LEVELS; ++level) {
        SALTUS_ONE_BY_ONE
        for (int i = 0; i < total; i += SALTUS_WARP) {
            if (level < 0 || total > SALTUS_WARP) { /* else the thread's leaf is the same */
                const int at =
                    saltus_warp_item(moved, r.leaf_first, n_leaves, i + SALTUS_MINE, &list);
                const int of = (int)saltus_warp_get_word((uint32_t)species, list);
                const saltus_follower f = n->reach[at < 0 ? 0 : at];
                leaf = at >= 0 && saltus_worker_is_live(s, f, of) ? f.leaf : -1;
            }
            if (leaf >= 0 && level < 0) {
                saltus_warp_keep(s, a, leaf);
            } else if (leaf >= 0) { /* others may sum the same node, to the same value */
                saltus_worker_node(s, a, level > 0 ? level : 0, leaf >> (3 * (level + 1)));
            }
        }
        SALTUS_WARP_WAIT();
    }
}

/* Change counts, as many as there are threads. */
SALTUS_FN void saltus_warp_count(const saltus_worker_state *s, const saltus_launch *a, int is_mine,
                                 int species, int amount, int *bad)
{
    int32_t x = 0;
    const int leaves = is_mine && saltus_worker_add(s, species, amount, &x, bad);
    const uint32_t moved = saltus_warp_bits(leaves);
    SALTUS_WARP_WAIT();
    if (moved != 0) {
        saltus_warp_move(s, a, moved, species, x, bad);
    }
}

SALTUS_FN int saltus_worker_change(const saltus_worker_state *s, const saltus_launch *a, int r)
{
    const saltus_firing *f = &a->hubs.firings[r];
    const int n = f->n, own_first = f->own_first, n_own = f->own_end - own_first;
    const int is_short = n <= SALTUS_FIRING_CHANGES;
    int bad = 0;
    SALTUS_ONE_BY_ONE
    for (int c = 0; c < n; c += SALTUS_WARP) {
        const int i = c + SALTUS_MINE;
        int species = 0, amount = 0;
        if (i < n) {
            const int at = is_short ? 0 : a->tables->change_row[r] + i;
            species = is_short ? f->species[i] : a->tables->change_species[at];
            amount = is_short ? f->amount[i] : (int)a->tables->change_amount[at];
        }
        saltus_warp_count(s, a, i < n, species, amount, &bad);
    }
    if (SALTUS_N_OWN > 0 && n_own > 0) {
        SALTUS_UNROLL
        for (int level = -1; level < SALTUS_HUB_LEVELS; ++level) {
            SALTUS_ONE_BY_ONE
            for (int i = SALTUS_MINE; i < n_own; i += SALTUS_WARP) {
                const int leaf = a->hubs.own_of[own_first + i];
                if (level < 0) {
                    saltus_warp_keep(s, a, leaf);
                } else {
                    saltus_worker_node(s, a, level > 0 ? level : 0, leaf >> (3 * (level + 1)));
                }
            }
            SALTUS_WARP_WAIT();
        }
    }
    return saltus_warp_any(bad);
}

/* Of whole numbers >= 0, the thread's being `mine` and n threads having one, that in whose interval
 * `low` lies, behind *below, or the last; *below and *up become its ends. */
SALTUS_FN int saltus_warp_pick(int mine, int n, double low, int *below, int *up)
{
    const int end = *below + saltus_warp_sum_to(mine, n), first = end - mine;
    const int k = saltus_warp_first(SALTUS_MINE < n && low < saltus_from_int(end));
    const int chosen = k < n ? k : n - 1;
    *below = (int)saltus_warp_get_word((uint32_t)first, chosen);
    *up = (int)saltus_warp_get_word((uint32_t)end, chosen);
    return chosen;
}

/* Without blocks there is an entry for each thread. */
SALTUS_FN int saltus_worker_entry(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                  const saltus_class *k, saltus_spot *spot, int *near)
{
    int e = k->entry_first, end = k->entry_end, below = 0, up = 0, start = 0;
    if (k->block >= 0) { /* at most as many blocks as threads */
        const int blocks = (end - e + SALTUS_HUB_BLOCK - 1) / SALTUS_HUB_BLOCK;
        SALTUS_ONE_BY_ONE
        for (int b = 0; b < blocks; b += SALTUS_WARP) {
            const int left = blocks - b, now = left < SALTUS_WARP ? left : SALTUS_WARP;
            const int mine = SALTUS_MINE < now ? s->weights[k->block + b + SALTUS_MINE] : 0;
            start = below;
            const int chosen = saltus_warp_pick(mine, now, spot->low, &start, &up);
            below = up;
            if (spot->low < saltus_from_int(up) || left <= SALTUS_WARP) {
                e += (b + chosen) * SALTUS_HUB_BLOCK;
                break;
            }
        }
        end = e + SALTUS_HUB_BLOCK < end ? e + SALTUS_HUB_BLOCK : end;
        below = start;
    }
    SALTUS_ONE_BY_ONE
    for (;; e += SALTUS_WARP) {
        const int left = end - e, now = left < SALTUS_WARP ? left : SALTUS_WARP;
        int mine = 0;
        if (SALTUS_MINE < now) {
            const saltus_entry q = n->entries[e + SALTUS_MINE];
            mine = q.ways * (saltus_worker_most(s, q.species) - q.offset);
        }
        start = below;
        const int chosen = saltus_warp_pick(mine, now, spot->low, &start, &up);
        if (spot->low < saltus_from_int(up) || left <= SALTUS_WARP) {
            *near |= saltus_from_int(up) < spot->high;
            saltus_spot_leave(spot, saltus_from_int(start));
            return e + chosen;
        }
        below = up;
    }
}

SALTUS_FN void saltus_state_record(const saltus_worker_state *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    for (int c = SALTUS_MINE; c < SALTUS_COLUMNS; c += SALTUS_WARP) {
        to->counts[c] = saltus_worker_count(s, a->columns.count_species[c]);
    }
    saltus_table_observe(&s->table, a, time, SALTUS_MINE, SALTUS_WARP, to);
    saltus_samples_next(to);
}
#define SALTUS_TOGETHER 0
#endif

#include "kernel/ssa/direct_driver.h"

#endif
