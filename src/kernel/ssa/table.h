/**
 * What the kernels that run from packed tables share: laws, sums, choices and samples of one
 * trajectory, whose numbers stand SALTUS_BLOCK apart. Before this header is included, the host
 * defines
 *
 *     SALTUS_BLOCK             threads per block whose numbers are interleaved
 *     SALTUS_LEVELS            levels of the tree, 1 or more
 *     SALTUS_ROOT_CHILDREN     children of its root, 1 to 8
 *     SALTUS_WORKSPACE_SHARED  1: a block's workspace is in shared memory
 *     SALTUS_TABLES_SHARED     1: a copy of the tables is there too
 *     SALTUS_WIDE_ROWS         1: saltus_packed_wide_row
 *     SALTUS_POINTS            1: rates are those of a job's point, and not in the tables
 *     SALTUS_IDLES             1: a reaction may lack what it takes (direct_table.h, direct_warp.h)
 *     SALTUS_RECORDS_RULES     1: saltus_recorded_rule(table, time, rule) follows this header
 *     SALTUS_CHANGES, SALTUS_DEPENDENTS, SALTUS_NODES
 *                              entries of every row where they are equally long;
 *                              SALTUS_DEPENDENTS is 0 where they are not
 *
 * Tables, sums and choices are those of direct_tree.h, and so are the bits; running sums are
 * computed when they are needed instead of stored.
 */
#ifndef SALTUS_KERNEL_SSA_TABLE_H
#define SALTUS_KERNEL_SSA_TABLE_H

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/launch.h"

/* 1: there are events, clocks or values that are drawn: event_driver.h. */
#ifndef SALTUS_HAPPENINGS
#define SALTUS_HAPPENINGS 0
#endif

#if SALTUS_DEVICE
/* The largest count that a layout holds. */
#define SALTUS_MOST_COUNT 0x7fffffff

#if SALTUS_WIDE_ROWS
typedef saltus_packed_wide_row saltus_row;
#else
typedef saltus_packed_row saltus_row;
#endif

/** A count; with SALTUS_HUBS it has its bounds beside: the count is most - down, and least
 * is most - 2 width. */
#if SALTUS_HUBS
typedef struct SALTUS_ALIGNED(8) saltus_count {
    int32_t most;
    uint16_t down, width;
} saltus_count;
#define SALTUS_COUNT_OF(c) ((c).most - (int32_t)(c).down)
#else
typedef int32_t saltus_count;
#define SALTUS_COUNT_OF(c) (c)
#endif

/** The numbers of one trajectory, number i at i * SALTUS_BLOCK, and the tables. */
typedef struct saltus_table {
    double *values;  /**< propensities, then nodes but the root, as in tables.h */
    saltus_count *x; /**< counts, then, without hubs, a 1 for a missing factor */
    const saltus_row *rows;
    const saltus_packed_change *changes;
    const saltus_packed_dependent *dependents;
    const saltus_packed_node *nodes;
    const double *point; /**< the trajectory's row of numbers */
#if SALTUS_HAPPENINGS
    const double *v; /**< its rows in memory, in which variables and flags are up to date */
#endif
} saltus_table;

#if !SALTUS_HUBS
typedef struct saltus_worker_state {
    saltus_table table;
    double root[8]; /* running sums of the root's children */
    int is_new;     /* a warp's propensities and nodes are still to be computed from the counts */
#if SALTUS_HAPPENINGS
    double special; /* as event_driver.h wants them */
    int strict;
    uint32_t on;
#endif
} saltus_worker_state;

SALTUS_FN void saltus_state_use(saltus_worker_state *s, const saltus_launch *a, const double *point)
{
    (void)a;
    s->table.point = point;
}

/* What reaction r changes. */
SALTUS_FN saltus_packed_wide_row saltus_table_row(const saltus_table *s, int r)
{
    saltus_packed_wide_row row;
#if SALTUS_DEPENDENTS > 0
    row.change = (uint32_t)r * SALTUS_CHANGES;
    row.n_changes = SALTUS_CHANGES;
    row.dependent = (uint32_t)r * SALTUS_DEPENDENTS;
    row.n_dependents = SALTUS_DEPENDENTS;
    row.node = (uint32_t)r * SALTUS_NODES;
    row.n_nodes = SALTUS_NODES;
#else
    const saltus_row from = s->rows[r];
    row.change = from.change;
    row.n_changes = from.n_changes;
    row.dependent = from.dependent;
    row.n_dependents = from.n_dependents;
    row.node = from.node;
    row.n_nodes = from.n_nodes;
#endif
    return row;
}

/* Running sums of n values from number `first` on. */
SALTUS_FN void saltus_table_sums(const saltus_table *s, int first, int n, double sums[8])
{
    const double *c = s->values + first * SALTUS_BLOCK;
    sums[0] = c[0];
    SALTUS_UNROLL
    for (int k = 1; k < n; ++k) {
        sums[k] = sums[k - 1] + c[k * SALTUS_BLOCK];
    }
}

SALTUS_FN double saltus_table_total(saltus_worker_state *s, const saltus_launch *a)
{
    saltus_table_sums(&s->table, a->packed.level_values[SALTUS_LEVELS - 1], SALTUS_ROOT_CHILDREN,
                      s->root);
    return s->root[SALTUS_ROOT_CHILDREN - 1];
}

/* The child in whose interval *low lies; *low and *high become relative to it. *near: a boundary
 * lies between them, or may do so as far as the upper halves of their bits show; `exact` compares
 * all bits. */
SALTUS_FN int saltus_table_pick(const double sums[8], int n, double *low, double *high, int exact,
                                int *near)
{
    const double last = sums[n - 1];
    *low = *low < last ? *low : saltus_below(last);
    double up = last, base = n > 1 ? sums[n > 1 ? n - 2 : 0] : 0.0;
    int child = n - 1;
    SALTUS_UNROLL
    for (int k = n - 2; k >= 0; --k) {
        const int above = sums[k] > *low;
        up = above ? sums[k] : up;
        base = above ? (k > 0 ? sums[k > 0 ? k - 1 : 0] : 0.0) : base;
        child -= above;
    }
    *near |= exact ? up < *high : saltus_high_word(up) <= saltus_high_word(*high);
    *low -= base;
    *high -= base;
    return child;
}

/* The reaction whose interval holds low; `root` are the root's running sums. */
SALTUS_FN int saltus_table_find(const saltus_table *s, const saltus_packed *t, const double root[8],
                                double low, double high, int exact, int *near)
{
    int node = saltus_table_pick(root, SALTUS_ROOT_CHILDREN, &low, &high, exact, near);
    SALTUS_UNROLL
    for (int level = SALTUS_LEVELS - 2; level >= 0; --level) {
        double sums[8];
        node *= SALTUS_FANOUT;
        saltus_table_sums(s, t->level_values[level] + node, SALTUS_FANOUT, sums);
        node += saltus_table_pick(sums, SALTUS_FANOUT, &low, &high, exact, near);
    }
    return node;
}

SALTUS_FN int saltus_table_choose(const saltus_table *s, const saltus_launch *a,
                                  const double root[8], double total, double word,
                                  uint64_t trajectory, uint64_t event)
{
    const double unit = total * SALTUS_TWO_M32, low = word * unit;
    int near = 0;
    int r = saltus_table_find(s, &a->packed, root, low, low + unit, 0, &near);
    if (SALTUS_RARE(near)) {
        near = 0;
        r = saltus_table_find(s, &a->packed, root, low, low + unit, 1, &near);
        if (near) {
            const double goal = saltus_choice_refined(total, word, a->seed, trajectory, event);
            r = saltus_table_find(s, &a->packed, root, goal, 0.0, 1, &near);
        }
    }
    return r;
}

/* One dependent: the propensity, or, while more factors follow, a part of it. */
SALTUS_FN double saltus_table_law(const saltus_table *s, const saltus_packed_dependent *d,
                                  double before, int more)
{
    const double rate = SALTUS_POINTS ? s->point[d->reaction & ~SALTUS_PACKED_MORE] : d->rate;
    const double first = saltus_from_int(s->x[d->first * SALTUS_BLOCK]),
                 second = saltus_from_int(s->x[d->second * SALTUS_BLOCK] - d->offset);
    return (more ? before : rate) * first * second;
}

#endif

#if SALTUS_RECORDS_RULES
SALTUS_OUTLINE double saltus_recorded_rule(const saltus_table *s, double time, int rule);
#else
SALTUS_FN double saltus_recorded_rule(const saltus_table *s, double time, int rule)
{
    (void)s, (void)time, (void)rule;
    return 0.0;
}
#endif

/* Write a sample's observables: every step-th from `first` on. */
SALTUS_FN void saltus_table_observe(const saltus_table *s, const saltus_launch *a, double time,
                                    int first, int step, const saltus_samples *to)
{
    const saltus_columns *columns = &a->columns;
    const saltus_tables *t = a->tables;
    SALTUS_ONE_BY_ONE /* else it takes registers that the events need */
        for (int o = first; o < columns->n_observables; o += step)
    {
        const saltus_observable *q = &columns->observables[o];
        double v[2] = {q->value, q->divisor};
        for (int k = 0; k < 2; ++k) {
            const int row = k == 0 ? q->row : q->divisor_row;
            if (row >= 0) {
                v[k] = row < t->n_species ? (double)SALTUS_COUNT_OF(s->x[row * SALTUS_BLOCK])
#if SALTUS_HAPPENINGS
                       : row < t->row_rules ? s->v[SALTUS_AT(row)]
#endif
                       : row < t->row_flags ? s->point[a->at.variables + row - t->row_variables]
                       : row < t->row_time  ? saltus_recorded_rule(s, time, row - t->row_rules)
                       : row == t->row_time ? time
                       : row == t->row_one  ? 1.0
                                            : s->point[a->at.constants + row - t->row_constants];
            }
        }
        to->observables[o] = v[0] / v[1];
    }
}
#endif

#endif
