/**
 * The choice of a reaction from a tree of sums.
 *
 * Propensities are the leaves of a tree of fan-out SALTUS_FANOUT. A node keeps the running sums of
 * its children in index order; its value is the last of them. Every node is a pure function of its
 * children, so recomputing those above changed leaves gives the bits of recomputing all, and
 * nothing drifts.
 *
 * A word of 32 bits chooses, and another gives the wait, unless they do not suffice: then further
 * bits are drawn.
 */
#ifndef SALTUS_KERNEL_SSA_TREE_H
#define SALTUS_KERNEL_SSA_TREE_H

#include "kernel/base/math.h"
#include "kernel/base/rng.h"
#include "kernel/ssa/state.h"

#if SALTUS_LANES != 1
#error "a tree is one lane wide"
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

#endif
