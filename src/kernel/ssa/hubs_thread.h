/**
 * hubs.h on a GPU with a thread per trajectory, for ensembles that keep all threads busy: a thread
 * takes a tenth of a warp's instructions, and waits for memory. What it keeps is therefore
 * little, and leaves of the tree, which follow from it, are computed where they are summed: of a
 * hub with classes, what its upper bound is multiplied by is kept; in global memory of one without
 * molecules it is that of before, until they come. Workspaces are in shared memory,
 * interleaved by thread, or one behind the other in global memory.
 *
 * The host defines what hubs_worker.h needs; SALTUS_BLOCK, the threads of a block, or 1 in global
 * memory, and then SALTUS_DOUBLES_EACH of a workspace.
 */
#ifndef SALTUS_KERNEL_SSA_HUBS_THREAD_H
#define SALTUS_KERNEL_SSA_HUBS_THREAD_H

#include "kernel/ssa/packed.h"

#if SALTUS_DEVICE
#if SALTUS_WORKSPACE_SHARED
#define SALTUS_FIRST_NUMBER SALTUS_THREAD_IN_BLOCK
#else
#define SALTUS_FIRST_NUMBER 0
#define SALTUS_HUBS_SIDE_BY_SIDE 1
#endif
typedef saltus_packed_hub saltus_worker_hub;
#define SALTUS_TEAM 1
#define SALTUS_LEAVES_KEPT 0
#define SALTUS_MINE 0
#define SALTUS_TEAM_WAIT() ((void)0)
#define saltus_team_any(x) (x)
#define SALTUS_WORKER_WRITES 1
#endif

#include "kernel/ssa/hubs_worker.h"

#if SALTUS_DEVICE
SALTUS_FN void saltus_state_open(saltus_worker_state *s, const saltus_launch *a)
{
#if SALTUS_WORKSPACE_SHARED
    double *const workspace = saltus_shared, *const hubs = saltus_shared + a->workspace_doubles;
#else
    double *const workspace = a->workspaces + SALTUS_THREAD * SALTUS_DOUBLES_EACH;
    double *const hubs = saltus_shared;
#endif
    saltus_count *const x =
        (saltus_count *)(workspace + SALTUS_NUMBER(SALTUS_HUB_NODES + SALTUS_N_KEPT));
    s->table.values = workspace + SALTUS_FIRST_NUMBER;
    s->table.x = x + SALTUS_FIRST_NUMBER;
    s->weights = (int32_t *)(x + SALTUS_NUMBER(SALTUS_HUB_SPECIES)) + SALTUS_FIRST_NUMBER;
#if SALTUS_TABLES_SHARED
    saltus_block_copy(hubs, (const double *)a->packed.tables, (int)(a->packed.bytes / 8));
    s->hubs = (const saltus_packed_hub *)hubs;
#else
    (void)hubs;
    s->hubs = (const saltus_packed_hub *)a->packed.tables;
#endif
}

/* What the upper bound of a hub with classes is multiplied by. */
SALTUS_FN double *saltus_thread_kept(const saltus_worker_state *s, int i)
{
    return &s->table.values[SALTUS_NUMBER(SALTUS_HUB_NODES + i)];
}

SALTUS_FN void saltus_thread_keep(const saltus_worker_state *s, const saltus_launch *a, int leaf)
{
    if (SALTUS_N_KEPT > 0 && leaf < SALTUS_N_HUBS) {
        const saltus_packed_hub h = s->hubs[leaf];
        if (h.kept != SALTUS_PACKED_ALONE) {
            *saltus_thread_kept(s, h.kept) = saltus_worker_each(s, &a->hubs, h);
        }
    }
}

SALTUS_FN saltus_eight saltus_worker_sums(const saltus_worker_state *s, const saltus_launch *a,
                                          int level, int i)
{
    if (level > 0) {
        return saltus_worker_kept_sums(s, level, i);
    }
    double v[SALTUS_FANOUT];
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_FANOUT; ++k) {
        const int leaf = i * SALTUS_FANOUT + k;
        v[k] = 0.0;
        if (leaf < SALTUS_N_HUBS) {
            const saltus_packed_hub h = s->hubs[leaf];
            v[k] = saltus_from_int(saltus_worker_most(s, h.species)) *
                   (h.kept == SALTUS_PACKED_ALONE ? h.alone : *saltus_thread_kept(s, h.kept));
        } else if (leaf < SALTUS_N_HUBS + SALTUS_N_OWN) {
            v[k] = saltus_worker_own(s, a, leaf);
        }
    }
    return saltus_hub_add(v);
}

SALTUS_FN void saltus_worker_leaves(const saltus_worker_state *s, const saltus_launch *a)
{
    SALTUS_ONE_BY_ONE
    for (int i = 0; i < SALTUS_N_HUBS; ++i) {
        saltus_thread_keep(s, a, i);
    }
}

/* The count of a species becomes x. It has left its bounds: weights follow. */
SALTUS_FN void saltus_thread_move(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                  int species, int32_t x, int *bad)
{
    const int more = saltus_worker_bound(s, n, species, x, bad);
    const saltus_reach r = n->reaches[species];
    SALTUS_ONE_BY_ONE
    for (int i = r.member_first; i < r.member_end; ++i) {
        const saltus_member m = n->members[i];
        int32_t *const weight = &s->weights[SALTUS_NUMBER(m.weight)];
        const int64_t sum = *weight + (int64_t)m.ways * more;
        *weight = (int32_t)sum;
        *bad |= sum > 0x7fffffff;
    }
}

/* The lowest level whose nodes are the bits of a word, for up to 2^21 leaves; those of the levels
 * below are summed each time that a leaf changes. */
#define SALTUS_MARKED_LEVEL             \
    (SALTUS_HUB_LEAVES <= 1 << 9    ? 0 \
     : SALTUS_HUB_LEAVES <= 1 << 12 ? 1 \
     : SALTUS_HUB_LEAVES <= 1 << 15 ? 2 \
     : SALTUS_HUB_LEAVES <= 1 << 18 ? 3 \
                                    : 4)

/* Sum what is above a leaf, up to the marked level. Returns the bit of the node there. */
SALTUS_FN uint64_t saltus_thread_sum(const saltus_worker_state *s, const saltus_launch *a, int leaf)
{
    SALTUS_UNROLL
    for (int level = 0; level < SALTUS_MARKED_LEVEL; ++level) {
        saltus_worker_node(s, a, level, leaf >> (3 * (level + 1)));
    }
    return 1ull << (leaf >> (3 * (SALTUS_MARKED_LEVEL + 1)));
}

/* Sum the marked nodes and those above them. */
SALTUS_FN void saltus_thread_sum_marked(const saltus_worker_state *s, const saltus_launch *a,
                                        uint64_t marked)
{
    SALTUS_UNROLL
    for (int level = SALTUS_MARKED_LEVEL; level < SALTUS_HUB_LEVELS; ++level) {
        uint64_t above = 0;
        SALTUS_ONE_BY_ONE
        for (; marked != 0; marked &= marked - 1) {
            const int i = SALTUS_LOWEST_64(marked);
            saltus_worker_node(s, a, level, i);
            above |= 1ull << (i / SALTUS_FANOUT);
        }
        marked = above;
    }
}

/* A count changes. Returns the nodes that are to be summed. */
SALTUS_FN uint64_t saltus_thread_change(const saltus_worker_state *s, const saltus_launch *a,
                                        int species, int amount, int *bad)
{
    int32_t x;
    uint64_t marked = 0;
    if (saltus_worker_add(s, species, amount, &x, bad)) {
        saltus_thread_move(s, &a->hubs, species, x, bad);
        const saltus_reach r = a->hubs.reaches[species];
        SALTUS_ONE_BY_ONE
        for (int i = r.leaf_first; i < r.leaf_end; ++i) {
            const saltus_follower f = a->hubs.reach[i];
            /* Networks with room in shared memory are small, and their hubs mostly live. */
            if (SALTUS_WORKSPACE_SHARED || saltus_worker_is_live(s, f, species)) {
                saltus_thread_keep(s, a, f.leaf);
                marked |= saltus_thread_sum(s, a, f.leaf);
            }
        }
    }
    return marked;
}

SALTUS_FN int saltus_worker_change(const saltus_worker_state *s, const saltus_launch *a, int r)
{
    const saltus_firing *f = &a->hubs.firings[r];
    const saltus_tables *t = a->tables;
    const int n = f->n, is_short = n <= SALTUS_FIRING_CHANGES;
    const int first = is_short ? 0 : t->change_row[r];
    uint64_t marked = 0;
    int bad = 0;
    SALTUS_ONE_BY_ONE
    for (int i = 0; i < n; ++i) {
        const int species = is_short ? f->species[i] : t->change_species[first + i];
        const int amount = is_short ? f->amount[i] : (int)t->change_amount[first + i];
        marked |= saltus_thread_change(s, a, species, amount, &bad);
    }
    SALTUS_ONE_BY_ONE
    for (int i = f->own_first; SALTUS_N_OWN > 0 && i < f->own_end; ++i) {
        marked |= saltus_thread_sum(s, a, a->hubs.own_of[i]);
    }
    saltus_thread_sum_marked(s, a, marked);
    return bad;
}

SALTUS_FN int saltus_worker_entry(const saltus_worker_state *s, const saltus_hub_arrays *n,
                                  const saltus_class *k, saltus_spot *spot, int *near)
{
    const int low = (int)spot->low; /* as far as whole numbers go */
    int e = k->entry_first, end = k->entry_end, below = 0, up;
    if (k->block >= 0) {
        int block = k->block;
        SALTUS_ONE_BY_ONE
        for (;; e += SALTUS_HUB_BLOCK, below = up) {
            up = below + s->weights[SALTUS_NUMBER(block++)];
            if (low < up || e + SALTUS_HUB_BLOCK >= end) {
                break;
            }
        }
        end = e + SALTUS_HUB_BLOCK < end ? e + SALTUS_HUB_BLOCK : end;
    }
    SALTUS_ONE_BY_ONE
    for (;; ++e, below = up) {
        const saltus_entry q = n->entries[e];
        up = below + q.ways * (saltus_worker_most(s, q.species) - q.offset);
        if (low < up || e + 1 == end) {
            break;
        }
    }
    *near |= saltus_from_int(up) < spot->high;
    saltus_spot_leave(spot, saltus_from_int(below));
    return e;
}

/* Counts are written beside; see SALTUS_COUNT. */
SALTUS_FN void saltus_state_record(const saltus_worker_state *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    saltus_table_observe(&s->table, a, time, 0, 1, to);
    saltus_samples_next(to);
}
#define SALTUS_COUNT(s, a, column, away)                                             \
    SALTUS_COUNT_OF((s)->table.x[SALTUS_NUMBER((a)->columns.count_species[column]) + \
                                 (away) * (SALTUS_WORKSPACE_SHARED ? 1 : SALTUS_DOUBLES_EACH)])
#endif

#include "kernel/ssa/direct_thread.h"

#endif
