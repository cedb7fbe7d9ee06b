/**
 * hubs.h on a GPU: what a warp and a thread that simulate a trajectory (hubs_warp.h, hubs_thread.h)
 * do alike. Networks whose leaves are hubs and products.
 *
 * The host defines what table.h needs, the numbers SALTUS_HUB_SPECIES, SALTUS_N_HUBS,
 * SALTUS_N_WEIGHED and SALTUS_N_OWN of the network, and of its tree (tables.h) SALTUS_HUB_LEAVES,
 * SALTUS_HUB_LEVELS and SALTUS_HUB_FIRST, a list of first nodes. The worker's header defines before
 *
 *     SALTUS_TEAM            threads that share a trajectory
 *     SALTUS_MINE            which of them this is: a loop over a list begins there, in steps of
 *                            SALTUS_TEAM
 *     SALTUS_TEAM_WAIT()     what the others have written is there
 *     saltus_team_any(x)     whether x holds for one of them
 *     saltus_worker_hub      the type of a hub in its tables: saltus_hub or saltus_packed_hub
 *     SALTUS_LEAVES_KEPT     1: leaves are kept; 0: they are computed where they are summed
 *
 * and behind it what is declared here.
 */
#ifndef SALTUS_KERNEL_SSA_HUBS_WORKER_H
#define SALTUS_KERNEL_SSA_HUBS_WORKER_H

#include "kernel/ssa/hub_rules.h"
#include "kernel/ssa/table.h"

#if SALTUS_DEVICE
#define SALTUS_NUMBER(i) ((i)*SALTUS_BLOCK) /* where number i of a trajectory stands */
#define SALTUS_HUB_NODES (saltus_hub_first(SALTUS_HUB_LEVELS))

SALTUS_FN int saltus_hub_first(int level)
{
    const int first[] = SALTUS_HUB_FIRST;
    return first[level];
}

typedef struct saltus_worker_state {
    saltus_table table; /* of it the values, the counts and the point */
    const saltus_worker_hub *hubs;
    int32_t *weights;
    int is_new; /* sums are still to be computed, from bounds or, if there are none, counts */
    int has_bounds;
} saltus_worker_state;

/* Leaves before the nodes in table.values. */
#define SALTUS_HUB_KEPT (SALTUS_LEAVES_KEPT ? SALTUS_HUB_LEAVES : 0)

/* The count of species i and its bounds. */
SALTUS_FN int32_t saltus_worker_count(const saltus_worker_state *s, int i)
{
    const saltus_count c = s->table.x[SALTUS_NUMBER(i)];
    return SALTUS_COUNT_OF(c);
}

SALTUS_FN int32_t saltus_worker_most(const saltus_worker_state *s, int i)
{
    return s->table.x[SALTUS_NUMBER(i)].most;
}

SALTUS_FN int32_t saltus_worker_least(const saltus_worker_state *s, int i)
{
    const saltus_count c = s->table.x[SALTUS_NUMBER(i)];
    return c.most - 2 * (int32_t)c.width;
}

SALTUS_FN void saltus_worker_put(const saltus_worker_state *s, int i, int32_t x, int32_t most,
                                 int32_t least)
{
    const saltus_count c = {most, (uint16_t)(most - x), (uint16_t)((most - least) / 2)};
    s->table.x[SALTUS_NUMBER(i)] = c;
}

/* Add an amount to a count, *x becoming the sum. Returns 1, and leaves the count as it is, if the
 * sum is not between the bounds; 1 in *bad: it is negative. */
SALTUS_FN int saltus_worker_add(const saltus_worker_state *s, int species, int amount, int32_t *x,
                                int *bad)
{
    saltus_count *const word = &s->table.x[SALTUS_NUMBER(species)];
    const saltus_count c = *word;
    const uint32_t down = (uint32_t)c.down - (uint32_t)amount; /* an amount may be 2^31 - 1 */
    const int leaves = down > 2 * (uint32_t)c.width;
    *x = (int32_t)((uint32_t)c.most - down);
    *bad |= *x < 0;
    if (!leaves) {
        word->down = (uint16_t)down;
    }
    return leaves;
}

/* Running sums of the children of node i of a level. */
SALTUS_FN saltus_eight saltus_worker_sums(const saltus_worker_state *s, const saltus_launch *a,
                                          int level, int i);

/* Compute all that is kept of leaves. */
SALTUS_FN void saltus_worker_leaves(const saltus_worker_state *s, const saltus_launch *a);

/* The entry of a class that the spot chooses; the spot becomes relative to it. */
SALTUS_FN int saltus_worker_entry(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                  const saltus_class *k, saltus_spot *spot, int *near);

/* Change the counts by reaction r, and what follows. Returns 1 if a count became negative or
 * something is too large for its bits. */
SALTUS_FN int saltus_worker_change(const saltus_worker_state *s, const saltus_launch *a, int r);

SALTUS_FN void saltus_state_use(saltus_worker_state *s, const saltus_launch *a, const double *point)
{
    (void)a;
    s->table.point = point;
}

/* Between launches the counts of a trajectory stand in `saved`, and behind them its bounds. */
SALTUS_FN void saltus_state_load(saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    const int32_t *from = a->saved + slot * 3 * SALTUS_HUB_SPECIES;
    for (int i = SALTUS_MINE; i < SALTUS_HUB_KEPT + SALTUS_HUB_NODES; i += SALTUS_TEAM) {
        s->table.values[SALTUS_NUMBER(i)] = 0.0; /* those that pad the tree stay 0 */
    }
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_TEAM) {
        saltus_worker_put(s, i, from[i], from[SALTUS_HUB_SPECIES + i],
                          from[2 * SALTUS_HUB_SPECIES + i]);
    }
    s->has_bounds = a->states[slot].has_bounds;
}

SALTUS_FN int saltus_state_save(const saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    int32_t *to = a->saved + slot * 3 * SALTUS_HUB_SPECIES;
    SALTUS_TEAM_WAIT();
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_TEAM) {
        to[i] = saltus_worker_count(s, i);
        to[SALTUS_HUB_SPECIES + i] = saltus_worker_most(s, i);
        to[2 * SALTUS_HUB_SPECIES + i] = saltus_worker_least(s, i);
    }
    if (SALTUS_WORKER_WRITES) {
        a->states[slot].has_bounds = s->has_bounds;
    }
    return 0;
}

SALTUS_FN void saltus_state_start(saltus_worker_state *s, const saltus_launch *a,
                                  const double *point)
{
    SALTUS_TEAM_WAIT(); /* all threads have read what the trajectory overwrites */
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES; i += SALTUS_TEAM) {
        const int32_t x = (int32_t)point[a->at.counts + i];
        saltus_worker_put(s, i, x, x, x);
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

/* The count of a species is x, with new bounds around it; returns by how much the upper one has
 * grown. 1 in *bad: it does not fit, and 0 stands for it, so that no sum leaves its bits. */
SALTUS_FN int32_t saltus_worker_bound(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                      int species, int32_t x, int *bad)
{
    const int32_t before = saltus_worker_most(s, species);
    const int fits = x >= 0 && x <= SALTUS_HUB_LARGEST_16;
    *bad |= !fits;
    x = fits ? x : 0;
    const int32_t width = n->reaches[species].member_first < 0 ? 0 : (int32_t)saltus_hub_width(x);
    saltus_worker_put(s, species, x, x + width, x - width);
    return x + width - before;
}

/* What the upper bound of a hub is multiplied by. */
SALTUS_FN double saltus_worker_each(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                    saltus_worker_hub h)
{
    double each = h.alone;
    SALTUS_ONE_BY_ONE
    for (int c = (int)h.class_first; c < (int)(h.class_first + h.n_classes); ++c) {
        const saltus_class k = n->classes[c];
        each += k.rate * saltus_from_int(s->weights[SALTUS_NUMBER(k.weight)]);
    }
    return each;
}

/* Whether the leaf of a hub may change with the bounds of a species: without molecules of the hub,
 * unless it is that species, it is 0 and stays so. */
SALTUS_FN int saltus_worker_is_live(const saltus_worker_state *s, saltus_follower f, int species)
{
    return f.hub == species || saltus_worker_most(s, f.hub) != 0;
}

/* A row of counts, or the factor that is not there. */
SALTUS_FN double saltus_worker_value(const saltus_worker_state *s, int row)
{
    return row < SALTUS_HUB_SPECIES ? saltus_from_int(saltus_worker_count(s, row)) : 1.0;
}

/* The propensity of a reaction that is a leaf. */
SALTUS_FN double saltus_worker_own(const saltus_worker_state *s, const saltus_launch *a, int leaf)
{
    const saltus_tables *n = a->tables;
    const int r = a->hubs.own[leaf - SALTUS_N_HUBS];
    const saltus_pair *q = &n->pairs[r];
    double value = s->table.point[r];
    if (q->first >= 0) {
        return value * saltus_worker_value(s, q->first) *
               (saltus_worker_value(s, q->second) - q->offset);
    }
    for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
        value *= saltus_worker_value(s, n->factor_species[f]) - n->factor_offset[f];
    }
    return value;
}

SALTUS_FN void saltus_worker_node(const saltus_worker_state *s, const saltus_launch *a, int level,
                                  int i)
{
    s->table.values[SALTUS_NUMBER(SALTUS_HUB_KEPT + saltus_hub_first(level) + i)] =
        saltus_worker_sums(s, a, level, i).h;
}

/* The same of nodes whose children are nodes, or leaves that are kept. */
SALTUS_FN saltus_eight saltus_worker_kept_sums(const saltus_worker_state *s, int level, int i)
{
    const int child = level > 0 ? SALTUS_HUB_KEPT + saltus_hub_first(level > 0 ? level - 1 : 0) : 0;
    return saltus_hub_sums(s->table.values + SALTUS_NUMBER(child + i * SALTUS_FANOUT),
                           SALTUS_BLOCK);
}

/* Every weight, leaf and node. */
SALTUS_FN int saltus_worker_rebuild(saltus_worker_state *s, const saltus_launch *a)
{
    const saltus_hub_arrays *n = &a->hubs;
    int bad = 0;
    SALTUS_TEAM_WAIT();
    for (int i = SALTUS_MINE; i < SALTUS_HUB_SPECIES && !s->has_bounds; i += SALTUS_TEAM) {
        (void)saltus_worker_bound(s, n, i, saltus_worker_count(s, i), &bad);
    }
    s->has_bounds = 1;
    SALTUS_TEAM_WAIT();
    SALTUS_ONE_BY_ONE
    for (int w = SALTUS_MINE; w < SALTUS_N_WEIGHED; w += SALTUS_TEAM) {
        const saltus_class k = n->classes[n->weighed[w]];
        int64_t sum = 0, part = 0;
        SALTUS_ONE_BY_ONE
        for (int e = k.entry_first; e < k.entry_end; ++e) {
            const saltus_entry q = n->entries[e];
            const int64_t weight = (int64_t)q.ways * (saltus_worker_most(s, q.species) - q.offset);
            const int at = e - k.entry_first;
            sum += weight;
            part = (at % SALTUS_HUB_BLOCK == 0 ? 0 : part) + weight;
            if (k.block >= 0) {
                s->weights[SALTUS_NUMBER(k.block + at / SALTUS_HUB_BLOCK)] = (int32_t)part;
            }
        }
        bad |= sum > 0x7fffffff;
        s->weights[SALTUS_NUMBER(w)] = (int32_t)sum;
    }
    SALTUS_TEAM_WAIT();
    saltus_worker_leaves(s, a);
    SALTUS_UNROLL
    for (int level = 0; level < SALTUS_HUB_LEVELS; ++level) {
        const int nodes =
            (level > 0 ? saltus_hub_first(level) - saltus_hub_first(level > 0 ? level - 1 : 0)
                       : SALTUS_HUB_LEAVES) /
            SALTUS_FANOUT;
        SALTUS_TEAM_WAIT();
        SALTUS_ONE_BY_ONE
        for (int i = SALTUS_MINE; i < nodes; i += SALTUS_TEAM) {
            saltus_worker_node(s, a, level, i);
        }
    }
    SALTUS_TEAM_WAIT();
    s->is_new = 0;
    return saltus_team_any(bad);
}

SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch *a, int *bad)
{
    if (s->is_new) {
        *bad |= saltus_worker_rebuild(s, a);
    }
    const int root = SALTUS_HUB_KEPT + saltus_hub_first(SALTUS_HUB_LEVELS - 1);
    return s->table.values[SALTUS_NUMBER(root)];
}

/* ---- choices ---- */

SALTUS_FN int saltus_worker_find(const saltus_worker_state *s, const saltus_launch *a,
                                 saltus_spot spot, int *near)
{
    const saltus_hub_arrays *n = &a->hubs;
    int leaf = 0;
    SALTUS_UNROLL
    for (int level = SALTUS_HUB_LEVELS - 1; level >= 0; --level) {
        leaf = leaf * SALTUS_FANOUT +
               saltus_hub_child(saltus_worker_sums(s, a, level, leaf), &spot, near);
    }
    if (SALTUS_N_OWN > 0 && leaf >= SALTUS_N_HUBS) {
        return n->own[leaf - SALTUS_N_HUBS];
    }
    const saltus_worker_hub h = s->hubs[leaf];
    const double most = saltus_from_int(saltus_worker_most(s, h.species)),
                 x = saltus_from_int(saltus_worker_count(s, h.species));
    saltus_spot_scale(&spot, saltus_divide(1.0, most));
    if (spot.low < h.alone) {
        *near |= h.alone < spot.high;
        const int first = n->alone_row[leaf], end = n->alone_row[leaf + 1];
        return saltus_hub_alone(n->alone + first, end - first, most, x, spot, near);
    }
    double below = h.alone;
    SALTUS_ONE_BY_ONE
    for (int c = (int)h.class_first; c < (int)(h.class_first + h.n_classes); ++c) {
        const saltus_class k = n->classes[c];
        const double up = below + k.rate * saltus_from_int(s->weights[SALTUS_NUMBER(k.weight)]);
        if (spot.low < up) {
            *near |= up < spot.high;
            saltus_spot_leave(&spot, below);
            saltus_spot_scale(&spot, k.inverse);
            const saltus_entry q = n->entries[saltus_worker_entry(s, n, &k, &spot, near)];
            return saltus_hub_way(&q, n->entry_reaction,
                                  saltus_from_int(saltus_worker_most(s, q.species) - q.offset),
                                  most,
                                  x * (saltus_from_int(saltus_worker_count(s, q.species)) -
                                       saltus_from_int(q.offset)),
                                  spot, near);
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
        r = saltus_worker_find(s, a, spot, &near);
        if (!SALTUS_RARE(near)) {
            break;
        }
        spot.low = saltus_choice_refined(total, word, a->seed, trajectory, 2 * block + (uint64_t)h);
        spot.high = 0.0;
    }
    SALTUS_TEAM_WAIT(); /* all threads have read what changes now */
    return r < 0 ? 2 : saltus_worker_change(s, a, r);
}

#define SALTUS_EACH_EVENT SALTUS_ONE_BY_ONE
#endif

#endif
