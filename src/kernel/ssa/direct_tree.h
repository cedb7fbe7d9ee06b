/**
 * The direct method, one trajectory at a time, at a cost of O(dependents + log reactions) per event
 * (Gillespie 1977, doi:10.1021/j100540a008).
 *
 * Propensities are the leaves of a tree of fan-out SALTUS_FANOUT. A node keeps the running sums of
 * its children in index order; its value is the last of them. Every node is a pure function of its
 * children, so recomputing those above changed leaves gives the bits of recomputing all, and
 * nothing drifts.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_TREE_H
#define SALTUS_KERNEL_SSA_DIRECT_TREE_H

#include "kernel/ssa/trajectory.h"
#include "kernel/base/stream.h"

/* 1: laws may drift with time. The host defines it for kernels of such models, which are larger. */
#ifndef SALTUS_THINNED
#define SALTUS_THINNED (!SALTUS_DEVICE)
#endif

#define SALTUS_LN_2_32 22.180709777918249 /* 32 ln 2 */

/* Running sums of nodes, sums[node][child]; children that do not exist count 0. */
typedef struct saltus_tree {
    int n_levels;
    const int32_t *level_first;
    const double *sums;
} saltus_tree;

/* The largest double below x > 0. */
SALTUS_FN double saltus_below(double x)
{
    return SALTUS_AS_F64(SALTUS_AS_I64(x) - 1);
}

/* The child of a node in whose interval *low lies, of the running sums s. *near becomes 1 when a
 * boundary lies between *low and *high, so that *low alone does not decide. Both become relative to
 * the child's interval. */
SALTUS_FN int saltus_tree_child(const double *s, double *low, double *high, int *near)
{
    const double last = s[SALTUS_AT(SALTUS_FANOUT - 1)];
    if (!(*low < last)) { /* rounding on the way down; never at the root */
        *low = saltus_below(last);
    }
    const int j = saltus_count_le(s, *low);
    *near |= s[SALTUS_AT(j)] < *high;
    const double left = s[SALTUS_AT(j > 0 ? j - 1 : 0)];
    int64_t mask = -(int64_t)(j > 0);
    SALTUS_HIDE(mask); /* lest it become a branch, which cannot be foreseen */
    const double base = SALTUS_AS_F64(SALTUS_AS_I64(left) & mask);
    *low -= base;
    *high -= base;
    return j;
}

/* Descend from the root to the reaction whose interval holds *from; the rest as above, *to being
 * the upper end. */
SALTUS_FN int saltus_tree_descend(const saltus_tree *tree, double *from, double *to, int *near)
{
    double low = *from, high = *to;
    int node = 0;
    for (int level = tree->n_levels - 1; level >= 0; --level) {
        const double *s = tree->sums + SALTUS_AT((tree->level_first[level] + node) * SALTUS_FANOUT);
        node = node * SALTUS_FANOUT + saltus_tree_child(s, &low, &high, near);
    }
    *from = low;
    *to = high;
    return node;
}

/* The reaction alone. */
SALTUS_FN int saltus_tree_find(const saltus_tree *tree, double low, double high, int *near)
{
    return saltus_tree_descend(tree, &low, &high, near);
}

/* Where in the total a choice falls, with 53 bits more. */
SALTUS_OUTLINE double saltus_choice_refined(double total, double word, uint64_t seed,
                                            uint64_t trajectory, uint64_t event)
{
    saltus_u64 w[4];
    saltus_philox(seed, SALTUS_PURPOSE_CHOICE, trajectory, event, w);
    const uint64_t bits = (w[0] << 32 | w[1]) >> 11;
    const double unit = total * SALTUS_TWO_M32;
    const double goal = (word + (double)(int64_t)bits * 0x1p-53) * unit;
    return goal < total ? goal : saltus_below(total);
}

/**
 * The reaction that event number `event` chooses, given the 32-bit word of its block. When the
 * interval [word, word + 1) 2^-32 of the total holds a boundary, 53 more bits are drawn.
 */
SALTUS_FN int saltus_tree_choose(const saltus_tree *tree, double total, double word, uint64_t seed,
                                 uint64_t trajectory, uint64_t event)
{
    const double unit = total * SALTUS_TWO_M32;
    const double low = word * unit;
    int near = 0;
    int r = saltus_tree_find(tree, low, low + unit, &near);
    if (SALTUS_RARE(near)) {
        const double goal = saltus_choice_refined(total, word, seed, trajectory, event);
        r = saltus_tree_find(tree, goal, 0.0, &near);
    }
    return r;
}

/** The unit wait of an event whose 32-bit word is 0: the next words of its own purpose. */
SALTUS_OUTLINE double saltus_wait_refined(uint64_t seed, uint64_t trajectory, uint64_t event)
{
    saltus_u64 w[4];
    double e = SALTUS_LN_2_32;
    saltus_philox(seed, SALTUS_PURPOSE_WAIT, trajectory, event, w);
    for (int i = 0; i < 4; ++i) {
        if (w[i] != 0) {
            return e + SALTUS_LANE(saltus_exponential32(w[i]), 0);
        }
        e += SALTUS_LN_2_32;
    }
    return e; /* one in 2^160 */
}

/* The rate of a reaction whose law is a product; on a device in the row of the point. */
SALTUS_FN double saltus_product_rate(const saltus_trajectory *p, int r)
{
    return SALTUS_DEVICE ? p->point[r] : p->n->rate[r];
}

SALTUS_FN double saltus_propensity(saltus_trajectory *p, int r)
{
    const saltus_tables *n = p->n;
    const saltus_pair *pair = &n->pairs[r];
    if (pair->first >= 0) {
        return saltus_product_rate(p, r) * p->v[SALTUS_AT(pair->first)] *
               (p->v[SALTUS_AT(pair->second)] - pair->offset);
    }
    if (n->law_program[r] >= 0) {
        return saltus_trajectory_value(p, n->laws[n->law_program[r]]);
    }
    double a = saltus_product_rate(p, r);
    for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
        a *= p->v[SALTUS_AT(n->factor_species[f])] - n->factor_offset[f];
    }
    return a;
}

/* Running sums of a node's children, and its value. Children that are not there count 0. */
SALTUS_FN void saltus_tree_sum(const saltus_tables *n, saltus_direct *d, int node)
{
    const double *c = d->values + SALTUS_AT(n->children[node]);
    const double s0 = c[0], s1 = s0 + c[SALTUS_AT(1)], s2 = s1 + c[SALTUS_AT(2)],
                 s3 = s2 + c[SALTUS_AT(3)];
    double s4 = s3, s5 = s3, s6 = s3, s7 = s3;
    if (n->n_children[node] > 4) {
        s4 = s3 + c[SALTUS_AT(4)], s5 = s4 + c[SALTUS_AT(5)], s6 = s5 + c[SALTUS_AT(6)],
        s7 = s6 + c[SALTUS_AT(7)];
    }
    saltus_store_eight(d->sums + SALTUS_AT((int64_t)node * SALTUS_FANOUT), s0, s1, s2, s3, s4, s5,
                       s6, s7);
    d->values[SALTUS_AT(n->n_leaves + node)] = s7;
}

/* Whether reaction r lacks reactants. This and what takes it back are given no trajectory: a GPU
 * keeps one in memory whose address some call needs. */
SALTUS_OUTLINE int saltus_direct_lacks(const saltus_tables *n, const int64_t *x, int r)
{
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        if (n->change_amount[c] < 0 && x[SALTUS_AT(n->change_species[c])] < -n->change_amount[c]) {
            return 1;
        }
    }
    return 0;
}

/* Whether reaction r would do nothing now, because it lacks reactants: then its propensity is 0,
 * whatever its law says. */
SALTUS_FN int saltus_direct_idles(const saltus_trajectory *p, int r)
{
    return p->n->idles && saltus_direct_lacks(p->n, p->x, r);
}

/* Compute propensity r to where it stands. It is a failure if it is negative or not a number. */
SALTUS_FN saltus_failure saltus_direct_set(saltus_trajectory *p, int r, double *to)
{
    const double a = saltus_propensity(p, r);
    *to = a;
    if (SALTUS_RARE(!(a >= 0.0))) {
        if (saltus_direct_idles(p, r)) { /* as 0 / 0 is where all that it reads has run out */
            *to = 0.0;
            return SALTUS_FINE;
        }
        return saltus_trajectory_fail(p, SALTUS_BAD_PROPENSITY, r, a);
    }
    return SALTUS_FINE;
}

SALTUS_FN saltus_failure saltus_direct_update(saltus_trajectory *p, saltus_direct *d, int r)
{
    return saltus_direct_set(p, r, d->values + SALTUS_AT(r));
}

/** Compute every propensity and every sum. */
SALTUS_LARGE_FN saltus_failure saltus_direct_rebuild(saltus_trajectory *p, saltus_direct *d)
{
    const saltus_tables *n = p->n;
    for (int r = 0; r < n->n_reactions; ++r) {
        if (saltus_direct_update(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
    }
    for (int level = 0; level < n->n_levels; ++level) {
        for (int i = 0; i < n->level_nodes[level]; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + i);
        }
    }
    return SALTUS_FINE;
}

/* What reaction r has done before its change number c is taken back. */
SALTUS_OUTLINE void saltus_direct_take_back(const saltus_tables *n, int64_t *x, double *v, int r,
                                            int c)
{
    while (--c >= n->change_row[r]) {
        const int s = n->change_species[c];
        x[SALTUS_AT(s)] -= n->change_amount[c];
        v[SALTUS_AT(s)] = (double)x[SALTUS_AT(s)];
    }
}

/* Reaction r lacks what its change number c takes: it does nothing. It is no reaction that has
 * happened, so the caller's count of them loses the one that it gains. */
SALTUS_FN saltus_failure saltus_direct_idle(saltus_trajectory *p, int r, int c)
{
    saltus_direct_take_back(p->n, p->x, p->v, r, c);
    --p->fired;
    return SALTUS_FINE;
}

/* Change the counts by reaction r. */
SALTUS_FN saltus_failure saltus_direct_fire(saltus_trajectory *p, int r)
{
    const saltus_tables *n = p->n;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int s = n->change_species[c];
        int64_t x;
        const int overflow = saltus_add_overflows(p->x[SALTUS_AT(s)], n->change_amount[c], &x);
        if (SALTUS_RARE(overflow || x < 0)) {
            if (!overflow && n->idles) {
                return saltus_direct_idle(p, r, c);
            }
            return saltus_trajectory_fail(
                p, overflow ? SALTUS_COUNT_OVERFLOW : SALTUS_NEGATIVE_COUNT, r, 0.0);
        }
        p->x[SALTUS_AT(s)] = x;
        p->v[SALTUS_AT(s)] = (double)x;
    }
    return SALTUS_FINE;
}

/* 0: lists are by reaction. */
#ifndef SALTUS_BY_SPECIES
#define SALTUS_BY_SPECIES 1
#endif

/* The lists of what reaction r changes: saltus_list_at(n, l) for l from the first to before the
 * end.
 */
SALTUS_FN int saltus_first_list(const saltus_tables *n, int r)
{
    return n->by_species ? n->change_row[r] : r;
}

SALTUS_FN int saltus_end_of_lists(const saltus_tables *n, int r)
{
    return n->by_species ? n->change_row[r + 1] : r + 1;
}

SALTUS_FN int saltus_list_at(const saltus_tables *n, int l)
{
    return n->by_species ? n->change_species[l] : l;
}

/* Recompute the rules of a list. */
SALTUS_FN void saltus_direct_run_rules(saltus_trajectory *p, int list)
{
    const saltus_tables *n = p->n;
    for (int i = n->rule_row[list]; i < n->rule_row[list + 1]; ++i) {
        saltus_trajectory_run_rule(p, n->rule_of[i]);
    }
}

/* Recompute the rules that reaction r has changed. One in several lists is right after the last,
 * where all that it reads stands before it or is as it is to be. */
SALTUS_FN void saltus_direct_follow_rules(saltus_trajectory *p, int r)
{
    const saltus_tables *n = p->n;
    for (int l = saltus_first_list(n, r); l < saltus_end_of_lists(n, r); ++l) {
        saltus_direct_run_rules(p, saltus_list_at(n, l));
    }
}

/* Recompute the propensities of a list that are pairs. A pair is never negative; if it overflows,
 * the total shows it. */
SALTUS_FN void saltus_direct_follow_pairs(saltus_trajectory *p, saltus_direct *d, int list)
{
    const saltus_tables *n = p->n;
    const int32_t *dependent = n->dependent;
    const saltus_pair *pairs = n->pairs;
    const double *v = p->v, *rate = SALTUS_DEVICE ? p->point : n->rate;
    double *values = d->values;
    const int other = n->dependent_other[list];
    for (int i = n->dependent_row[list]; i < other; i += 4) {
        for (int k = i; k < i + 4; ++k) {
            const saltus_pair *q = &pairs[dependent[k]];
            values[SALTUS_AT(dependent[k])] =
                rate[dependent[k]] * v[SALTUS_AT(q->first)] * (v[SALTUS_AT(q->second)] - q->offset);
        }
    }
}

/* Recompute the other propensities of a list. */
SALTUS_FN saltus_failure saltus_direct_follow_others(saltus_trajectory *p, saltus_direct *d,
                                                     int list)
{
    const saltus_tables *n = p->n;
    const int32_t *dependent = n->dependent;
    for (int i = n->dependent_other[list]; i < n->dependent_row[list + 1]; ++i) {
        if (SALTUS_RARE(saltus_direct_update(p, d, dependent[i]) != SALTUS_FINE)) {
            return p->failure;
        }
    }
    return SALTUS_FINE;
}

/* Recompute the sums above what reaction r has changed, where they are listed. */
SALTUS_FN void saltus_direct_follow_nodes(const saltus_tables *n, saltus_direct *d, int r)
{
    for (int i = n->node_row[r]; i < n->node_row[r + 1]; ++i) {
        saltus_tree_sum(n, d, n->node[i]);
    }
}

/* Recompute the sums above so many dependents, level by level up to before level `top`. Dependents
 * rise, so those below one node are neighbours. */
enum { SALTUS_CLIMB = 32 };
SALTUS_FN void saltus_direct_climb(const saltus_tables *n, saltus_direct *d,
                                   const int32_t *dependent, int n_dependents, int top)
{
    int32_t nodes[SALTUS_CLIMB];
    for (int i = 0; i < n_dependents; ++i) {
        nodes[i] = dependent[i];
    }
    for (int level = 0; level < top; ++level) {
        int end = 0, before = -1;
        for (int i = 0; i < n_dependents; ++i) { /* without branches, which nobody could foresee */
            const int node = nodes[i] / SALTUS_FANOUT;
            end += node != before;
            nodes[end - 1] = node;
            before = node;
        }
        n_dependents = end;
        for (int i = 0; i < n_dependents; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + nodes[i]);
        }
    }
}

/* Recompute the sums above what reaction r has changed, where lists are by species. A sum above
 * dependents that do not climb together is made several times; the last time finds all below it as
 * it is to be. From the first level on that has no more nodes than a word has bits, once. */
SALTUS_OUTLINE void saltus_direct_climb_all(const saltus_tables *n, saltus_direct *d, int r)
{
    uint32_t above = 0;
    int top = 0;
    while (n->level_nodes[top] > 32) {
        ++top;
    }
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const int s = n->change_species[c], end = n->dependent_row[s + 1];
        for (int i = n->dependent_row[s]; i < end; i += SALTUS_CLIMB) {
            const int left = end - i;
            saltus_direct_climb(n, d, n->dependent + i, left < SALTUS_CLIMB ? left : SALTUS_CLIMB,
                                top);
        }
        for (int i = n->dependent_row[s]; i < end; ++i) {
            above |= 1u << ((int64_t)n->dependent[i] >> (3 * (top + 1)));
        }
    }
    for (; above != 0; above &= above - 1) {
        saltus_tree_sum(n, d, n->level_first[top] + SALTUS_LOWEST(above));
    }
    for (int level = top + 1; level < n->n_levels; ++level) {
        for (int i = 0; i < n->level_nodes[level]; ++i) {
            saltus_tree_sum(n, d, n->level_first[level] + i);
        }
    }
}

/* Recompute the sums above what reaction r has changed. */
SALTUS_FN void saltus_direct_follow_sums(const saltus_tables *n, saltus_direct *d, int r)
{
    if (SALTUS_BY_SPECIES && n->by_species) {
        saltus_direct_climb_all(n, d, r);
    } else {
        saltus_direct_follow_nodes(n, d, r);
    }
}

/* Ask for what lists by species will read, which is far apart: first where they begin, then the
 * lists, then what their dependents read. Each list would wait for these one after the other. */
SALTUS_FN void saltus_direct_fetch_lists(const saltus_tables *n, const saltus_direct *d, int r)
{
    const int first = n->change_row[r], end = n->change_row[r + 1];
    for (int c = first; c < end; ++c) {
        const int s = n->change_species[c];
        SALTUS_PREFETCH(&n->dependent_row[s]);
        SALTUS_PREFETCH(&n->dependent_other[s]);
    }
    for (int c = first; c < end; ++c) {
        SALTUS_PREFETCH(&n->dependent[n->dependent_row[n->change_species[c]]]);
    }
    for (int c = first; c < end; ++c) {
        const int s = n->change_species[c];
        for (int i = n->dependent_row[s]; i < n->dependent_row[s + 1]; ++i) {
            SALTUS_PREFETCH(&n->pairs[n->dependent[i]]);
            SALTUS_PREFETCH(&d->values[SALTUS_AT(n->dependent[i])]);
        }
    }
}

/* Recompute what reaction r has changed, where lists are by species. */
SALTUS_OUTLINE saltus_failure saltus_direct_follow_species(saltus_trajectory *p, saltus_direct *d,
                                                           int r)
{
    const saltus_tables *n = p->n;
    saltus_direct_fetch_lists(n, d, r);
    saltus_direct_follow_rules(p, r);
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        saltus_direct_follow_pairs(p, d, n->change_species[c]);
        if (SALTUS_RARE(saltus_direct_follow_others(p, d, n->change_species[c]) != SALTUS_FINE)) {
            return p->failure;
        }
    }
    saltus_direct_follow_sums(n, d, r);
    return SALTUS_FINE;
}

/* Recompute what reaction r has changed. */
SALTUS_FN saltus_failure saltus_direct_follow(saltus_trajectory *p, saltus_direct *d, int r)
{
    const saltus_tables *n = p->n;
    if (SALTUS_RARE(SALTUS_BY_SPECIES && n->by_species)) {
        return saltus_direct_follow_species(p, d, r);
    }
    saltus_direct_run_rules(p, r);
    saltus_direct_follow_pairs(p, d, r);
    if (SALTUS_RARE(saltus_direct_follow_others(p, d, r) != SALTUS_FINE)) {
        return p->failure;
    }
    saltus_direct_follow_nodes(n, d, r);
    return SALTUS_FINE;
}

/* Pass samples and special times up to t_next. Returns 1 if the event at t_next may fire, 0 if its
 * wait is void and all propensities are to be computed anew, -1 if the trajectory is finished or
 * has failed. */
SALTUS_FN int saltus_direct_pass(saltus_trajectory *p, double t_next, const double *times,
                                 int64_t n_times, int64_t *counts, double *observables)
{
    for (;;) {
        const double next = times[p->sample];
        const double first = next < t_next ? next : t_next;
        if (saltus_trajectory_special_first(p, first)) {
            return saltus_trajectory_pass_special(p) == SALTUS_FINE ? 0 : -1;
        }
        if (next > t_next) {
            return 1;
        }
        saltus_trajectory_record(p, next, counts, observables);
        if (p->sample == n_times) {
            return -1;
        }
    }
}

/* Draw waits and choices from those of block `block` on. */
SALTUS_FN void saltus_direct_draw(const saltus_trajectory *p, saltus_direct *d, uint64_t block)
{
    d->draws.first_block = block;
    d->draws.valid = 1;
#if SALTUS_DEVICE
    uint32_t w[4], keys[SALTUS_PHILOX_KEYS];
    saltus_stream s;
    saltus_philox_keys(p->seed, keys);
    saltus_stream_load(&s, d->stream);
    saltus_stream_next(&s, keys, p->trajectory, block, w);
    saltus_stream_save(&s);
    for (int h = 0; h < 2; ++h) {
        d->draws.wait[h][0] = w[2 * h] == 0 ? -1.0 : saltus_exponential32(w[2 * h]);
        d->draws.word[h][0] = (double)w[2 * h + 1];
    }
#else
    d->draw(p->seed, p->trajectory, d->stream, &d->draws);
#endif
}

/* Whether the batch of draws holds those of an event. */
SALTUS_FN int saltus_direct_holds(const saltus_direct *d, uint64_t event)
{
    return d->draws.valid && (event >> 1) - d->draws.first_block < SALTUS_BATCH_BLOCKS;
}

/* The unit wait of an event that it holds, and the word of its choice. */
SALTUS_FN double saltus_direct_wait(const saltus_trajectory *p, const saltus_direct *d,
                                    uint64_t event, double *word)
{
    const int at = (int)((event >> 1) - d->draws.first_block), half = (int)(event & 1);
    double wait = d->draws.wait[half][at];
    if (SALTUS_RARE(wait < 0.0)) {
        wait = saltus_wait_refined(p->seed, p->trajectory, event);
    }
    *word = d->draws.word[half][at];
    return wait;
}

/** What may happen next: when, of which total, and the word of its choice. */
typedef struct saltus_proposal {
    double time, total, word;
} saltus_proposal;

/* Propose an event. `done` is the number of reactions, or of events, that p->limit limits. */
SALTUS_FN saltus_failure saltus_direct_propose(saltus_trajectory *p, saltus_direct *d, double root,
                                               uint64_t done, const int *stop, saltus_proposal *to)
{
    const uint64_t event = p->event;
    if (!saltus_direct_holds(d, event)) {
        if (done >= p->limit || SALTUS_FLAG(stop)) {
            return saltus_trajectory_fail(p, SALTUS_STOPPED, 0, 0.0);
        }
        SALTUS_TRAJECTORY_PROGRESS(p);
        saltus_direct_draw(p, d, event >> 1);
    }
    const double wait = saltus_direct_wait(p, d, event, &to->word);
    to->total = root + 0.0; /* -0 becomes 0 */
    if (SALTUS_RARE(!(to->total < SALTUS_INFINITY))) {
        return saltus_trajectory_fail(p, SALTUS_BAD_TOTAL, 0, to->total);
    }
    to->time = p->t + wait / to->total;
    return SALTUS_FINE;
}

/* Propose one and pass samples and special times before it. Returns what saltus_direct_pass does;
 * it is -1 also at the limit, or where *stop is set. */
SALTUS_FN int saltus_direct_next(saltus_trajectory *p, saltus_direct *d, double root, uint64_t done,
                                 const double *times, int64_t n_times, const int *stop,
                                 int64_t *counts, double *observables, saltus_proposal *to)
{
    if (saltus_direct_propose(p, d, root, done, stop, to) != SALTUS_FINE) {
        return -1;
    }
    return to->time < times[p->sample] && to->time < p->special
               ? 1
               : saltus_direct_pass(p, to->time, times, n_times, counts, observables);
}

/**
 * Take a trajectory from where it is to its end, or to p->limit. It starts with new draws, so a
 * stream that gives its blocks in order must stand at the block of the next event; it does after
 * p->limit on a device, where draws are a block and end there.
 *
 * @param times  [n_times] sample times, rising; p->sample is the next of them
 * @param stop   becomes non-zero to give up with SALTUS_STOPPED
 * @param counts, observables  of this trajectory, [point][column]
 */
SALTUS_OUTLINE saltus_failure saltus_direct_run(saltus_trajectory *p, saltus_direct *d,
                                                const double *times, int64_t n_times,
                                                const int *stop, int64_t *counts,
                                                double *observables)
{
    const saltus_tables *n = p->n;
    const saltus_tree tree = {n->n_levels, n->level_first, d->sums};
    const double *root = d->values + SALTUS_AT(n->n_leaves + n->level_first[n->n_levels - 1]);
    d->draws.valid = 0;
    saltus_trajectory_refresh(p);
    if (saltus_direct_rebuild(p, d) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        saltus_proposal next;
        const int go = saltus_direct_next(p, d, *root, p->fired, times, n_times, stop, counts,
                                          observables, &next);
        if (go < 0 || (go == 0 && saltus_direct_rebuild(p, d) != SALTUS_FINE)) {
            return p->failure;
        }
        if (go == 0) {
            continue;
        }
        const int r =
            saltus_tree_choose(&tree, next.total, next.word, p->seed, p->trajectory, p->event);
#if !SALTUS_DEVICE
        if (SALTUS_RARE(n->n_delayed > 0) && saltus_delayed_begin(p, r, next.time) != SALTUS_FINE) {
            p->t = next.time;
            return p->failure;
        }
#endif
        if (saltus_direct_fire(p, r) != SALTUS_FINE) {
            p->t = next.time;
            return p->failure;
        }
        p->t = next.time;
        p->after = 0;
        ++p->event;
        ++p->fired;
        if (saltus_direct_follow(p, d, r) != SALTUS_FINE) {
            return p->failure;
        }
        if (SALTUS_EVENTS && n->watches_state && saltus_trajectory_triggers(p)) {
            if (saltus_trajectory_settle(p) != SALTUS_FINE ||
                saltus_direct_rebuild(p, d) != SALTUS_FINE) {
                return p->failure;
            }
        }
    }
}

#endif
