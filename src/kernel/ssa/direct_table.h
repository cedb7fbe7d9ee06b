/**
 * The direct method of a mass-action network with a thread per trajectory, driven by tables: counts
 * in 32 bits, propensities, and the values of the tree's nodes. They are in a workspace of the
 * block, interleaved by thread: in shared memory (the "fat" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214) or in global memory (the "thin" one).
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_TABLE_H
#define SALTUS_KERNEL_SSA_DIRECT_TABLE_H

#include "kernel/ssa/table.h"

#if SALTUS_DEVICE
/* Recompute the propensities and nodes that a reaction changes; two at a time, to wait for memory
 * once. */
SALTUS_FN void saltus_table_follow(const saltus_table *s, const saltus_packed_wide_row *row)
{
    double a = 0.0;
    int more = 0;
    const saltus_packed_dependent *dependents = s->dependents + row->dependent;
    for (uint32_t i = 0; i < row->n_dependents; i += 2) {
        const saltus_packed_dependent d = dependents[i], e = dependents[i + 1];
        const double b = saltus_table_law(s, &d, a, more);
        more = d.reaction & SALTUS_PACKED_MORE;
        a = saltus_table_law(s, &e, b, more);
        if (!more) {
            s->values[d.reaction * SALTUS_BLOCK] = b;
        }
        more = e.reaction & SALTUS_PACKED_MORE;
        if (!more) {
            s->values[e.reaction * SALTUS_BLOCK] = a;
        }
    }
    const saltus_packed_node *nodes = s->nodes + row->node;
    for (uint32_t i = 0; i < row->n_nodes; ++i) {
        double sums[8];
        const saltus_packed_node node = nodes[i];
        saltus_table_sums(s, node.first, SALTUS_FANOUT, sums);
        s->values[node.value * SALTUS_BLOCK] = sums[SALTUS_FANOUT - 1];
    }
}

/* Change the counts. Returns 1 if a count became negative or needs more than 31 bits. */
SALTUS_FN int saltus_table_fire(const saltus_table *s, const saltus_packed_wide_row *row)
{
    int bad = 0;
    const saltus_packed_change *changes = s->changes + row->change;
    for (uint32_t i = 0; i < row->n_changes; i += 2) {
        const saltus_packed_change c = changes[i], d = changes[i + 1];
        const int32_t x = (int32_t)((uint32_t)s->x[c.species * SALTUS_BLOCK] + (uint32_t)c.amount),
                      y = (int32_t)((uint32_t)s->x[d.species * SALTUS_BLOCK] + (uint32_t)d.amount);
        s->x[c.species * SALTUS_BLOCK] = x;
        s->x[d.species * SALTUS_BLOCK] = y;
        bad |= (x | y) < 0;
    }
    return bad;
}

#if SALTUS_IDLES
/* Whether the reaction that has changed the counts lacked what it takes: they are as before then.
 */
SALTUS_FN int saltus_table_idle(const saltus_table *s, const saltus_packed_wide_row *row)
{
    int lacks = 0;
    const saltus_packed_change *changes = s->changes + row->change;
    for (uint32_t i = 0; i < row->n_changes; ++i) {
        lacks |= changes[i].amount < 0 && s->x[changes[i].species * SALTUS_BLOCK] < 0;
    }
    for (uint32_t i = 0; i < row->n_changes && lacks; ++i) {
        int32_t *x = s->x + changes[i].species * SALTUS_BLOCK;
        *x = (int32_t)((uint32_t)*x - (uint32_t)changes[i].amount);
    }
    return lacks;
}
#endif

/* Set the addresses of this thread's numbers and of the tables; copy the tables if they are to be
 * in shared memory. */
SALTUS_FN void saltus_state_open(saltus_worker_state *trajectory, const saltus_launch *a)
{
    const saltus_packed *t = &a->packed;
    const int in_block = SALTUS_THREAD_IN_BLOCK;
    saltus_table *s = &trajectory->table;
#if SALTUS_WORKSPACE_SHARED
    double *workspace = saltus_shared;
    char *copy = (char *)(saltus_shared + a->workspace_doubles);
#else
    double *workspace = a->workspaces + SALTUS_BLOCK_NUMBER * a->workspace_doubles;
    char *copy = (char *)saltus_shared;
#endif
#if SALTUS_TABLES_SHARED
    const char *tables = copy;
    saltus_block_copy((double *)copy, (const double *)t->tables, (int)(t->bytes / 8));
#else
    const char *tables = t->tables;
    (void)copy;
#endif
    s->values = workspace + in_block;
    s->x = (int32_t *)(workspace + (int64_t)t->n_values * SALTUS_BLOCK) + in_block;
    s->rows = (const saltus_row *)(tables + t->rows);
    s->changes = (const saltus_packed_change *)(tables + t->changes);
    s->dependents = (const saltus_packed_dependent *)(tables + t->dependents);
    s->nodes = (const saltus_packed_node *)(tables + t->nodes);
}

/* Counts between launches, and where something happens. */
#if SALTUS_HAPPENINGS
SALTUS_FN int64_t *saltus_table_kept(const saltus_launch *a)
{
    return a->x;
}
#else
SALTUS_FN int32_t *saltus_table_kept(const saltus_launch *a)
{
    return a->saved;
}
#endif

SALTUS_FN void saltus_state_load(saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    const saltus_table *t = &s->table;
    for (int i = 0; i < a->packed.n_values; ++i) {
        t->values[i * SALTUS_BLOCK] = 0.0;
    }
    for (int i = 0; i < a->packed.n_species; ++i) {
        t->x[i * SALTUS_BLOCK] = (int32_t)saltus_table_kept(a)[slot + SALTUS_AT(i)];
    }
    t->x[a->packed.n_species * SALTUS_BLOCK] = 1;
#if SALTUS_HAPPENINGS
    s->table.v = a->v + slot;
    s->special = a->states[slot].special;
    s->strict = a->states[slot].special_strict;
    s->on = 0;
    for (int i = 0; i < SALTUS_WATCHES * a->tables->n_triggers; ++i) {
        s->on |= (uint32_t)(a->on[slot + SALTUS_AT(i)] != 0) << i;
    }
#endif
}

SALTUS_FN int saltus_state_save(const saltus_worker_state *s, const saltus_launch *a, int64_t slot)
{
    for (int i = 0; i < a->packed.n_species; ++i) {
        saltus_table_kept(a)[slot + SALTUS_AT(i)] = s->table.x[i * SALTUS_BLOCK];
    }
    return 0;
}

SALTUS_FN void saltus_state_start(saltus_worker_state *s, const saltus_launch *a,
                                  const double *point)
{
    for (int i = 0; i < a->packed.n_species; ++i) {
        s->table.x[i * SALTUS_BLOCK] = (int32_t)point[a->at.counts + i];
    }
}

SALTUS_FN int saltus_state_refresh(const saltus_worker_state *s, const saltus_launch *a)
{
    saltus_table_follow(&s->table, &a->packed.all);
    return 0;
}

SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch *a, int *bad)
{
    (void)bad;
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
    const int bad = saltus_table_fire(&s->table, &row);
#if SALTUS_IDLES
    if (SALTUS_RARE(bad) && saltus_table_idle(&s->table, &row)) {
        return 2;
    }
#endif
    saltus_table_follow(&s->table, &row);
    return bad;
}

SALTUS_FN void saltus_state_record(const saltus_worker_state *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    saltus_table_observe(&s->table, a, time, 0, 1, to);
    saltus_samples_next(to);
}
#define SALTUS_COUNT(s, a, column, away) \
    (s)->table.x[(a)->columns.count_species[column] * SALTUS_BLOCK + (away)]
#define SALTUS_EACH_EVENT SALTUS_ONE_BY_ONE
#endif

#include "kernel/ssa/direct_thread.h"

#endif
