/**
 * The direct method of a large mass-action network with a warp per trajectory (the hybrid of fine
 * and coarse grain of Sumiyoshi et al. 2015, doi:10.1155/2015/506263). The threads of the warp
 * share what an event changes: counts, propensities and sums. Each thread makes the choice itself,
 * so that all have it. The state is in a workspace of the warp, in shared or in global memory.
 *
 * The host defines what table.h needs, SALTUS_BLOCK as 1, because a workspace is not interleaved,
 * and SALTUS_WARPS, the warps of a block. A host simulates a warp of one thread.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_WARP_H
#define SALTUS_KERNEL_SSA_DIRECT_WARP_H

#include "kernel/ssa/table.h"
#include "kernel/ssa/warp_draws.h"

#if SALTUS_DEVICE
/* The propensity whose entries begin at `entry`. */
SALTUS_FN void saltus_warp_law(const saltus_table *s, const saltus_packed_dependent *entry)
{
    saltus_packed_dependent d = *entry;
    double a = saltus_table_law(s, &d, 0.0, 0);
    while (d.reaction & SALTUS_PACKED_MORE) {
        d = *++entry;
        a = saltus_table_law(s, &d, a, 1);
    }
    s->values[d.reaction] = a;
}

/* Recompute the propensities and nodes that a reaction changes. */
SALTUS_FN void saltus_warp_follow(const saltus_table *s, const saltus_packed_wide_row *row)
{
    const saltus_packed_dependent *dependents = s->dependents + row->dependent;
    for (int64_t i = SALTUS_LANE_NUMBER; i < row->n_dependents; i += SALTUS_WARP) {
        if (i == 0 || (dependents[i - 1].reaction & SALTUS_PACKED_MORE) == 0) {
            saltus_warp_law(s, dependents + i);
        }
    }
    SALTUS_WARP_WAIT();
    /* as many nodes at a time as belong to one level */
    const saltus_packed_node *nodes = s->nodes + row->node;
    for (int64_t i = 0; i < row->n_nodes;) {
        const int64_t mine = i + SALTUS_LANE_NUMBER;
        saltus_packed_node node = {SALTUS_PACKED_LEVEL, 0};
        if (mine < row->n_nodes) {
            node = nodes[mine];
        }
        const int n = saltus_warp_first(mine > i && (node.first & SALTUS_PACKED_LEVEL) != 0);
        if (SALTUS_LANE_NUMBER < n) {
            double sums[8];
            saltus_table_sums(s, node.first & ~SALTUS_PACKED_LEVEL, SALTUS_FANOUT, sums);
            s->values[node.value] = sums[SALTUS_FANOUT - 1];
        }
        SALTUS_WARP_WAIT();
        i += n;
    }
}

/* Change the counts. Returns 1 if a count became negative or needs more than 31 bits. */
SALTUS_FN int saltus_warp_fire(const saltus_table *s, const saltus_packed_wide_row *row)
{
    int bad = 0;
    for (uint32_t i = (uint32_t)SALTUS_LANE_NUMBER; i < row->n_changes; i += SALTUS_WARP) {
        const saltus_packed_change c = s->changes[row->change + i];
        const int32_t x = (int32_t)((uint32_t)s->x[c.species] + (uint32_t)c.amount);
        s->x[c.species] = x;
        bad |= x < 0;
    }
    bad = saltus_warp_any(bad);
    SALTUS_WARP_WAIT();
    return bad;
}

#if SALTUS_IDLES
/* Whether the reaction that has changed the counts lacked what it takes: they are as before then.
 */
SALTUS_FN int saltus_warp_idle(const saltus_table *s, const saltus_packed_wide_row *row)
{
    const saltus_packed_change *changes = s->changes + row->change;
    int lacks = 0;
    for (uint32_t i = (uint32_t)SALTUS_LANE_NUMBER; i < row->n_changes; i += SALTUS_WARP) {
        lacks |= changes[i].amount < 0 && s->x[changes[i].species] < 0;
    }
    lacks = saltus_warp_any(lacks);
    for (uint32_t i = (uint32_t)SALTUS_LANE_NUMBER; i < row->n_changes && lacks; i += SALTUS_WARP) {
        int32_t *x = s->x + changes[i].species;
        *x = (int32_t)((uint32_t)*x - (uint32_t)changes[i].amount);
    }
    SALTUS_WARP_WAIT();
    return lacks;
}
#endif

SALTUS_FN void saltus_state_open(saltus_worker_state *trajectory, const saltus_launch *a)
{
    const saltus_packed *t = &a->packed;
    const int64_t workspace_doubles = a->workspace_doubles / SALTUS_WARPS;
    saltus_table *s = &trajectory->table;
#if SALTUS_WORKSPACE_SHARED
    s->values = saltus_shared + SALTUS_WARP_IN_BLOCK * workspace_doubles;
#else
    s->values = a->workspaces + (SALTUS_WARP_NUMBER * workspace_doubles);
#endif
    s->x = (int32_t *)(s->values + t->n_values);
    s->rows = (const saltus_row *)(t->tables + t->rows);
    s->changes = (const saltus_packed_change *)(t->tables + t->changes);
    s->dependents = (const saltus_packed_dependent *)(t->tables + t->dependents);
    s->nodes = (const saltus_packed_node *)(t->tables + t->nodes);
}

SALTUS_FN void saltus_state_load(saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    const saltus_packed *t = &a->packed;
    for (int i = SALTUS_LANE_NUMBER; i < t->n_values; i += SALTUS_WARP) {
        s->table.values[i] = 0.0;
    }
    for (int i = SALTUS_LANE_NUMBER; i < t->n_species; i += SALTUS_WARP) {
        s->table.x[i] = a->saved[slot * t->n_species + i];
    }
    s->table.x[t->n_species] = 1;
}

SALTUS_FN int saltus_state_save(const saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    const int n = a->packed.n_species;
    SALTUS_WARP_WAIT();
    for (int i = SALTUS_LANE_NUMBER; i < n; i += SALTUS_WARP) {
        a->saved[slot * n + i] = s->table.x[i];
    }
    return 0;
}

SALTUS_FN void saltus_state_start(saltus_worker_state *s, const saltus_launch *a,
                                  const double *point)
{
    SALTUS_WARP_WAIT(); /* all threads have read what the trajectory overwrites */
    for (int i = SALTUS_LANE_NUMBER; i < a->packed.n_species; i += SALTUS_WARP) {
        s->table.x[i] = (int32_t)point[a->at.counts + i];
    }
}

/* What is to be computed is computed for the next total, so that its code stands once. */
SALTUS_FN int saltus_state_refresh(saltus_worker_state *s, const saltus_launch *a)
{
    (void)a;
    s->is_new = 1;
    return 0;
}

SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch *a, int *bad)
{
    (void)bad;
    if (s->is_new) {
        SALTUS_WARP_WAIT();
        saltus_warp_follow(&s->table, &a->packed.all);
        s->is_new = 0;
    }
    return saltus_table_total(s, a);
}

SALTUS_FN int saltus_state_fire(const saltus_worker_state *s, double total, double word,
                                const saltus_launch *a, uint64_t trajectory, uint64_t block, int h)
{
    if (SALTUS_RARE(!saltus_divides(total))) {
        return 1; /* nothing to choose from, or next to nothing: left to the CPU */
    }
    const int r = saltus_table_choose(&s->table, a, s->root, total, word, trajectory,
                                      2 * block + (uint64_t)h);
    const saltus_packed_wide_row row = saltus_table_row(&s->table, r);
    SALTUS_WARP_WAIT(); /* all threads have read what changes now */
    const int bad = saltus_warp_fire(&s->table, &row);
#if SALTUS_IDLES
    if (SALTUS_RARE(bad) && saltus_warp_idle(&s->table, &row)) {
        return 2;
    }
#endif
    saltus_warp_follow(&s->table, &row);
    return bad;
}

SALTUS_FN void saltus_state_record(const saltus_worker_state *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    for (int c = SALTUS_LANE_NUMBER; c < SALTUS_COLUMNS; c += SALTUS_WARP) {
        to->counts[c] = s->table.x[a->columns.count_species[c] * SALTUS_BLOCK];
    }
    saltus_table_observe(&s->table, a, time, SALTUS_LANE_NUMBER, SALTUS_WARP, to);
    saltus_samples_next(to);
}
#define SALTUS_EACH_EVENT SALTUS_ONE_BY_ONE
#define SALTUS_TOGETHER 0
#endif

#include "kernel/ssa/direct_driver.h"

#endif
