/**
 * The propensities of one trajectory, and what a reaction changes: counts, then the rules,
 * propensities and sums that depend on them, at a cost of O(dependents + log reactions).
 */
#ifndef SALTUS_KERNEL_SSA_PROPENSITIES_H
#define SALTUS_KERNEL_SSA_PROPENSITIES_H

#include "kernel/ssa/trajectory.h"
#include "kernel/ssa/tree.h"

/* 1: laws may drift with time. The host defines it for kernels of such models, which are larger. */
#ifndef SALTUS_THINNED
#define SALTUS_THINNED (!SALTUS_DEVICE)
#endif

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

#endif
