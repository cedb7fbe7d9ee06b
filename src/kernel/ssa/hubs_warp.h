/**
 * hubs.h on a GPU with a warp per trajectory, in a workspace of shared or of global memory: the
 * threads share what an event changes, and look through the partners of a class together; each
 * makes the other choices itself, so that all have them. Networks whose leaves are hubs and
 * products.
 *
 * The host defines what table.h needs, SALTUS_BLOCK as 1, SALTUS_WARPS, the warps of a block, the
 * numbers SALTUS_HUB_SPECIES, SALTUS_N_HUBS, SALTUS_N_CLASSES and SALTUS_N_OWN of the network, and
 * of its tree (tables.h) SALTUS_HUB_LEAVES, SALTUS_HUB_LEVELS and SALTUS_HUB_FIRST, a list of first
 * nodes. A host simulates a warp of one thread.
 */
#ifndef SALTUS_KERNEL_SSA_HUBS_WARP_H
#define SALTUS_KERNEL_SSA_HUBS_WARP_H

#define SALTUS_HUBS_SIDE_BY_SIDE 1
#include "kernel/ssa/hub_rules.h"
#include "kernel/ssa/table.h"
#include "kernel/ssa/warp_draws.h"

#if SALTUS_DEVICE
#define SALTUS_HUB_NODES (saltus_hub_first(SALTUS_HUB_LEVELS))

SALTUS_FN int saltus_hub_first(int level)
{
    const int first[] = SALTUS_HUB_FIRST;
    return first[level];
}

typedef struct saltus_worker_state {
    saltus_table table; /* of it the values, the counts and the point */
    int32_t *most, *least, *weights;
    int is_new; /* sums are still to be computed, from bounds or, if there are none, counts */
    int has_bounds;
} saltus_worker_state;

/* Which item of a list the thread has in a loop over all, SALTUS_WARP at a time. */
#define SALTUS_MINE (SALTUS_WARP > 1 ? SALTUS_LANE_NUMBER : 0)

SALTUS_FN void saltus_state_use(saltus_worker_state *s, const saltus_launch *a, const double *point)
{
    (void)a;
    s->table.point = point;
}

SALTUS_FN void saltus_state_open(saltus_worker_state *s, const saltus_launch *a)
{
    const int64_t workspace_doubles = a->workspace_doubles / SALTUS_WARPS;
#if SALTUS_WORKSPACE_SHARED
    s->table.values = saltus_shared + SALTUS_WARP_IN_BLOCK * workspace_doubles;
#else
    s->table.values = a->workspaces + (SALTUS_WARP_NUMBER * workspace_doubles);
#endif
    s->table.x = (int32_t *)(s->table.values + SALTUS_HUB_LEAVES + SALTUS_HUB_NODES);
    s->most = s->table.x + SALTUS_HUB_SPECIES + 1;
    s->least = s->most + SALTUS_HUB_SPECIES;
    s->weights = s->least + SALTUS_HUB_SPECIES;
}

/* Between launches a warp's counts stand in `saved`, and behind them its bounds. */
SALTUS_FN void saltus_state_load(saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    const int32_t *from = a->saved + slot * 3 * SALTUS_HUB_SPECIES;
    for (int i = SALTUS_MINE; i < SALTUS_HUB_LEAVES + SALTUS_HUB_NODES; i += SALTUS_WARP) {
        s->table.values[i] = 0.0;
    }
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_WARP) {
        s->table.x[i] = from[i];
        s->most[i] = from[SALTUS_HUB_SPECIES + i];
        s->least[i] = from[2 * SALTUS_HUB_SPECIES + i];
    }
    s->table.x[SALTUS_HUB_SPECIES] = 1;
    s->has_bounds = a->states[slot].has_bounds;
}

SALTUS_FN int saltus_state_save(const saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    int32_t *to = a->saved + slot * 3 * SALTUS_HUB_SPECIES;
    SALTUS_WARP_WAIT();
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_WARP) {
        to[i] = s->table.x[i];
        to[SALTUS_HUB_SPECIES + i] = s->most[i];
        to[2 * SALTUS_HUB_SPECIES + i] = s->least[i];
    }
    if (SALTUS_WORKER_WRITES) {
        a->states[slot].has_bounds = s->has_bounds;
    }
    return 0;
}

SALTUS_FN void saltus_state_start(saltus_worker_state *s, const saltus_launch *a,
                                  const double *point)
{
    SALTUS_WARP_WAIT(); /* all threads have read what the trajectory overwrites */
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_WARP) {
        s->table.x[i] = (int32_t)point[a->at.counts + i];
    }
    s->has_bounds = 0;
}

SALTUS_FN int saltus_state_refresh(saltus_worker_state *s, const saltus_launch *a)
{
    (void)a;
    s->is_new = 1;
    return 0;
}

/* ---- bounds and sums ---- */

/* New bounds around a count; returns by how much the upper one has grown. 1 in *bad: it does not
 * fit. */
SALTUS_FN int32_t saltus_warp_bound(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                    int species, int *bad)
{
    const int32_t x = s->table.x[species], before = s->most[species];
    const int32_t width = n->reaches[species].member_first < 0 ? 0 : (int32_t)saltus_hub_width(x);
    *bad |= x > SALTUS_HUB_LARGEST_32;
    s->least[species] = x - width;
    s->most[species] = x + width;
    return x + width - before;
}

SALTUS_FN void saltus_warp_leaf(const saltus_worker_state *s, const saltus_hub_arrays *n, int leaf)
{
    const saltus_hub h = n->hubs[leaf];
    double each = h.alone;
    SALTUS_ONE_BY_ONE
    for (int c = h.class_first; c < h.class_end; ++c) {
        each += n->classes[c].rate * saltus_from_int(s->weights[c]);
    }
    s->table.values[leaf] = saltus_from_int(s->most[h.species]) * each;
}

/* A row of counts, or the factor that is not there. */
SALTUS_FN double saltus_warp_value(const saltus_worker_state *s, int row)
{
    return row < SALTUS_HUB_SPECIES ? saltus_from_int(s->table.x[row]) : 1.0;
}

/* The propensity of a reaction that is a leaf. */
SALTUS_FN void saltus_warp_own(const saltus_worker_state *s, const saltus_launch *a, int leaf)
{
    const saltus_tables *n = a->tables;
    const int r = a->hubs.own[leaf - SALTUS_N_HUBS];
    const saltus_pair *q = &n->pairs[r];
    double value = s->table.point[r];
    if (q->first >= 0) {
        value =
            value * saltus_warp_value(s, q->first) * (saltus_warp_value(s, q->second) - q->offset);
    } else {
        for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
            value *= saltus_warp_value(s, n->factor_species[f]) - n->factor_offset[f];
        }
    }
    s->table.values[leaf] = value;
}

SALTUS_FN void saltus_warp_node(const saltus_worker_state *s, int level, int i)
{
    const int child =
        (level > 0 ? SALTUS_HUB_LEAVES + saltus_hub_first(level > 0 ? level - 1 : 0) : 0) +
        i * SALTUS_FANOUT;
    s->table.values[SALTUS_HUB_LEAVES + saltus_hub_first(level) + i] =
        saltus_hub_sums(s->table.values + child, 1).h;
}

/* Every weight, leaf and node. */
SALTUS_FN int saltus_warp_rebuild(saltus_worker_state *s, const saltus_launch *a)
{
    const saltus_hub_arrays *n = &a->hubs;
    int bad = 0;
    SALTUS_WARP_WAIT();
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES && !s->has_bounds; i += SALTUS_WARP) {
        (void)saltus_warp_bound(s, n, i, &bad);
    }
    s->has_bounds = 1;
    SALTUS_WARP_WAIT();
    SALTUS_ONE_BY_ONE
    for (int c = SALTUS_MINE; c < SALTUS_N_CLASSES; c += SALTUS_WARP) {
        const saltus_class k = n->classes[c];
        int64_t sum = 0, part = 0;
        SALTUS_ONE_BY_ONE
        for (int e = k.entry_first; e < k.entry_end; ++e) {
            const saltus_entry q = n->entries[e];
            const int64_t weight = (int64_t)q.ways * (s->most[q.species] - q.offset);
            const int at = e - k.entry_first;
            sum += weight;
            part = (at % SALTUS_HUB_BLOCK == 0 ? 0 : part) + weight;
            if (k.block >= 0) {
                s->weights[k.block + at / SALTUS_HUB_BLOCK] = (int32_t)part;
            }
        }
        bad |= sum > 0x7fffffff;
        s->weights[c] = (int32_t)sum;
    }
    SALTUS_WARP_WAIT();
    SALTUS_ONE_BY_ONE
    for (int i = SALTUS_MINE; i < SALTUS_N_HUBS; i += SALTUS_WARP) {
        saltus_warp_leaf(s, n, i);
    }
    SALTUS_ONE_BY_ONE
    for (int i = SALTUS_MINE; i < SALTUS_N_OWN; i += SALTUS_WARP) {
        saltus_warp_own(s, a, SALTUS_N_HUBS + i);
    }
    SALTUS_UNROLL
    for (int level = 0; level < SALTUS_HUB_LEVELS; ++level) {
        const int nodes =
            (level > 0 ? saltus_hub_first(level) - saltus_hub_first(level > 0 ? level - 1 : 0)
                       : SALTUS_HUB_LEAVES) /
            SALTUS_FANOUT;
        SALTUS_WARP_WAIT();
        SALTUS_ONE_BY_ONE
        for (int i = SALTUS_MINE; i < nodes; i += SALTUS_WARP) {
            saltus_warp_node(s, level, i);
        }
    }
    SALTUS_WARP_WAIT();
    s->is_new = 0;
    return saltus_warp_any(bad);
}

SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch *a, int *bad)
{
    if (s->is_new) {
        *bad |= saltus_warp_rebuild(s, a);
    }
    return s->table.values[SALTUS_HUB_LEAVES + saltus_hub_first(SALTUS_HUB_LEVELS - 1)];
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

/* The counts of `moved` threads' species have left their bounds. */
SALTUS_FN void saltus_warp_move(const saltus_worker_state *s, const saltus_launch *a,
                                uint32_t moved, int species, int *bad)
{
    const saltus_hub_arrays *n = &a->hubs;
    saltus_reach r = {0, 0, 0, 0};
    int more = 0;
    if ((moved >> SALTUS_MINE) & 1) {
        r = n->reaches[species];
        more = saltus_warp_bound(s, n, species, bad);
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
                leaf = at < 0 ? -1 : n->reach[at];
            }
            if (leaf >= 0 && level < 0) {
                saltus_warp_leaf(s, n, leaf);
            } else if (leaf >= 0) { /* others may sum the same node, to the same value */
                saltus_warp_node(s, level > 0 ? level : 0, leaf >> (3 * (level + 1)));
            }
        }
        SALTUS_WARP_WAIT();
    }
}

/* Change counts, as many as there are threads. */
SALTUS_FN void saltus_warp_change(const saltus_worker_state *s, const saltus_launch *a, int is_mine,
                                  int species, int amount, int *bad)
{
    int leaves = 0;
    if (is_mine) {
        const int32_t x = (int32_t)((uint32_t)s->table.x[species] + (uint32_t)amount);
        s->table.x[species] = x;
        *bad |= x < 0;
        leaves = x < s->least[species] || x > s->most[species];
    }
    const uint32_t moved = saltus_warp_bits(leaves);
    SALTUS_WARP_WAIT();
    if (moved != 0) {
        saltus_warp_move(s, a, moved, species, bad);
    }
}

/* Change the counts, and what follows. Returns 1 if a count became negative or something needs more
 * than 31 bits. */
SALTUS_FN int saltus_warp_fire(const saltus_worker_state *s, const saltus_launch *a, int r)
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
        saltus_warp_change(s, a, i < n, species, amount, &bad);
    }
    if (SALTUS_N_OWN > 0 && n_own > 0) {
        SALTUS_UNROLL
        for (int level = -1; level < SALTUS_HUB_LEVELS; ++level) {
            SALTUS_ONE_BY_ONE
            for (int i = SALTUS_MINE; i < n_own; i += SALTUS_WARP) {
                const int leaf = a->hubs.own_of[own_first + i];
                if (level < 0) {
                    saltus_warp_own(s, a, leaf);
                } else {
                    saltus_warp_node(s, level > 0 ? level : 0, leaf >> (3 * (level + 1)));
                }
            }
            SALTUS_WARP_WAIT();
        }
    }
    return saltus_warp_any(bad);
}

/* ---- choices ---- */

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

/* The entry of a class that the spot chooses. Without blocks there is one for each thread. */
SALTUS_FN int saltus_warp_entry(const saltus_worker_state *s, const saltus_hub_arrays *n,
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
            mine = q.ways * (s->most[q.species] - q.offset);
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

SALTUS_FN int saltus_warp_find(const saltus_worker_state *s, const saltus_hub_arrays *n,
                               saltus_spot spot, int *near)
{
    int leaf = 0;
    SALTUS_UNROLL
    for (int level = SALTUS_HUB_LEVELS - 1; level >= 0; --level) {
        const int child =
            level > 0 ? SALTUS_HUB_LEAVES + saltus_hub_first(level > 0 ? level - 1 : 0) : 0;
        leaf *= SALTUS_FANOUT;
        leaf += saltus_hub_child(s->table.values + child + leaf, &spot, near);
    }
    if (SALTUS_N_OWN > 0 && leaf >= SALTUS_N_HUBS) {
        return n->own[leaf - SALTUS_N_HUBS];
    }
    const saltus_hub h = n->hubs[leaf];
    const double most = saltus_from_int(s->most[h.species]),
                 x = saltus_from_int(s->table.x[h.species]);
    saltus_spot_scale(&spot, saltus_divide(1.0, most));
    if (spot.low < h.alone) {
        *near |= h.alone < spot.high;
        return saltus_hub_alone(n->alone + h.alone_first, h.alone_end - h.alone_first, most, x,
                                spot, near);
    }
    double below = h.alone;
    SALTUS_ONE_BY_ONE
    for (int c = h.class_first; c < h.class_end; ++c) {
        const saltus_class k = n->classes[c];
        const double up = below + k.rate * saltus_from_int(s->weights[c]);
        if (spot.low < up) {
            *near |= up < spot.high;
            saltus_spot_leave(&spot, below);
            saltus_spot_scale(&spot, k.inverse);
            const saltus_entry q = n->entries[saltus_warp_entry(s, n, &k, &spot, near)];
            return saltus_hub_way(
                &q, n->entry_reaction, saltus_from_int(s->most[q.species] - q.offset), most,
                x * (saltus_from_int(s->table.x[q.species]) - saltus_from_int(q.offset)), spot,
                near);
        }
        below = up;
    }
    *near = 1;
    return -1;
}

SALTUS_FN int saltus_state_fire(const saltus_worker_state *s, double total, double word,
                                const saltus_launch *a, uint64_t trajectory, uint64_t block, int h)
{
    if (SALTUS_RARE(!saltus_divides(total))) {
        return 1; /* nothing to choose from, or next to nothing: left to the CPU */
    }
    const double unit = total * SALTUS_TWO_M32;
    saltus_spot spot = {word * unit, word * unit + unit};
    int r = -1, near = 0;
    SALTUS_ONE_BY_ONE /* one copy of the code */
        for (int refined = 0; refined < 2; ++refined)
    {
        near = 0;
        r = saltus_warp_find(s, &a->hubs, spot, &near);
        if (!SALTUS_RARE(near)) {
            break;
        }
        spot.low = saltus_choice_refined(total, word, a->seed, trajectory, 2 * block + (uint64_t)h);
        spot.high = 0.0;
    }
    SALTUS_WARP_WAIT(); /* all threads have read what changes now */
    return r < 0 ? 2 : saltus_warp_fire(s, a, r);
}

SALTUS_FN void saltus_state_record(const saltus_worker_state *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    for (int c = SALTUS_MINE; c < SALTUS_COLUMNS; c += SALTUS_WARP) {
        to->counts[c] = s->table.x[a->columns.count_species[c]];
    }
    saltus_table_observe(&s->table, a, time, SALTUS_MINE, SALTUS_WARP, to);
    saltus_samples_next(to);
}
#define SALTUS_EACH_EVENT SALTUS_ONE_BY_ONE
#define SALTUS_TOGETHER 0
#endif

#include "kernel/ssa/direct_driver.h"

#endif
