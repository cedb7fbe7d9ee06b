/** What the ways to simulate a network with hubs (hubs.h) must do alike: bounds, sums and choices.
 */
#ifndef SALTUS_KERNEL_SSA_HUB_RULES_H
#define SALTUS_KERNEL_SSA_HUB_RULES_H

#include "kernel/ssa/direct_tree.h"

enum {
    SALTUS_HUB_FEW = 25,   /* a smaller count is its own bound */
    SALTUS_HUB_BLOCK = 16, /* entries of a class whose weights are summed */
    SALTUS_HUB_WAYS = 8,   /* more ways of an entry are not passed one by one */
};
/* 1: the values of a tree stand side by side at multiples of 16 bytes. */
#ifndef SALTUS_HUBS_SIDE_BY_SIDE
#define SALTUS_HUBS_SIDE_BY_SIDE 0
#endif
/* A larger count has no bounds: weights, which sum counts, might leave 64 bits. */
#define SALTUS_HUB_LARGEST ((int64_t)1 << 48)
/* The same where bounds are 16 bits from each other, as on a GPU: 6 sqrt(10^8) are less. */
#define SALTUS_HUB_LARGEST_16 100000000

/** An interval of propensity that words have chosen; its lower end decides, unless a boundary lies
 * below the upper end. */
typedef struct saltus_spot {
    double low, high;
} saltus_spot;

SALTUS_FN void saltus_spot_leave(saltus_spot *spot, double left)
{
    spot->low -= left;
    spot->high -= left;
}

SALTUS_FN void saltus_spot_scale(saltus_spot *spot, double factor)
{
    spot->low *= factor;
    spot->high *= factor;
}

/* How far bounds are from a count: 10 % of it, or three standard deviations of a Poisson variate if
 * these are less. */
SALTUS_FN int64_t saltus_hub_width(int64_t x)
{
    if (x < SALTUS_HUB_FEW) {
        return 0;
    }
    const double share = 0.1 * (double)x, spread = 3.0 * saltus_sqrt((double)x);
    return (int64_t)(share < spread ? share : spread);
}

/* Running sums of eight values. They are no smaller than those before
 * them, and equal where a value is 0. */
typedef struct saltus_eight {
    double a, b, c, d, e, f, g, h;
} saltus_eight;

/* The same eight side by side, as a device reads them. */
typedef struct SALTUS_ALIGNED(16) saltus_two {
    double a, b;
} saltus_two;

SALTUS_FN saltus_eight saltus_hub_add(const double v[8])
{
    const double ef = v[4] + v[5];
    saltus_eight s;
    s.a = v[0];
    s.b = s.a + v[1];
    s.c = s.b + v[2];
    s.d = s.b + (v[2] + v[3]);
    s.e = s.d + v[4];
    s.f = s.d + ef;
    s.g = s.d + (ef + v[6]);
    s.h = s.d + (ef + (v[6] + v[7]));
    return s;
}

/* The same of values that are `stride` apart. */
SALTUS_FN saltus_eight saltus_hub_sums(const double *v, int64_t stride)
{
#if SALTUS_DEVICE && SALTUS_HUBS_SIDE_BY_SIDE
    const saltus_two *two = (const saltus_two *)v;
    const saltus_two ab = two[0], cd = two[1], ef = two[2], gh = two[3];
    const double of[8] = {ab.a, ab.b, cd.a, cd.b, ef.a, ef.b, gh.a, gh.b};
    (void)stride;
#else
    const double of[8] = {v[0],          v[stride],     v[2 * stride], v[3 * stride],
                          v[4 * stride], v[5 * stride], v[6 * stride], v[7 * stride]};
#endif
    return saltus_hub_add(of);
}

/* The child of a node in whose interval the spot lies, from the running sums of its children; it
 * becomes relative to it. These are the steps of saltus_tree_descend, where sums are not stored. */
SALTUS_FN int saltus_hub_child(saltus_eight s, saltus_spot *spot, int *near)
{
    if (!(spot->low < s.h)) { /* rounding on the way down; never at the root */
        spot->low = saltus_below(s.h);
    }
    const double low = spot->low;
    const int half = s.d <= low;
    const double a = half ? s.d : 0.0, b = half ? s.e : s.a, c = half ? s.f : s.b,
                 d = half ? s.g : s.c, e = half ? s.h : s.d;
    const int pair = c <= low;
    const double f = pair ? c : a, g = pair ? d : b, h = pair ? e : c;
    const int last = g <= low;
    const double left = last ? g : f, right = last ? h : g;
    *near |= right < spot->high;
    saltus_spot_leave(spot, left);
    return 4 * half + 2 * pair + last;
}

/* Whether a reaction fires whose share of its way is ways / most, where the way begins at 0 and a
 * spot is in it. */
SALTUS_FN int saltus_hub_fires(saltus_spot spot, double most, double ways, int *near)
{
    const int fires = spot.low * most < ways;
    *near |= fires && ways < spot.high * most;
    return fires;
}

/* Of n reactions of order 1 of a hub, that which the spot chooses; -1: nothing fires. */
SALTUS_FN int saltus_hub_alone(const saltus_alone *alone, int n, double most, double x,
                               saltus_spot spot, int *near)
{
    int i = 0;
    for (int left = n; left > 1;) { /* the first sum above the spot */
        const int half = left / 2, above = alone[i + half - 1].sum > spot.low;
        i = above ? i : i + half;
        left = above ? half : left - half;
    }
    const double below = i > 0 ? alone[i - 1].sum : 0.0, each = alone[i].sum - below;
    saltus_spot_leave(&spot, below);
    *near |= each < spot.high;
    return saltus_hub_fires(spot, most, each * x, near) ? alone[i].reaction : -1;
}

/* In which of n ways a spot lies, each of them `each` wide, a whole number; the spot becomes
 * relative to it. Below 2^53 all of this is exact, and the quotient of a spot below a boundary is
 * never rounded up to it, so that both ways of counting give the same bits. */
SALTUS_FN int saltus_hub_find_way(saltus_spot *spot, int n, double each)
{
    int way = 0;
    if (SALTUS_RARE(n > SALTUS_HUB_WAYS)) {
        const double quotient = saltus_divide(spot->low, each);
        way = quotient < (double)(n - 1) ? (int)quotient : n - 1;
        saltus_spot_leave(spot, (double)way * each);
        return way;
    }
#if !SALTUS_DEVICE /* the first two without branches, which a processor cannot foresee */
    way = (n > 1 && spot->low >= each) + (n > 2 && spot->low >= 2.0 * each);
    saltus_spot_leave(spot, (double)way * each);
#endif
    for (; way + 1 < n && !(spot->low < each); ++way) {
        saltus_spot_leave(spot, each);
    }
    return way;
}

/* The same of the ways of an entry, each of them `each` wide, of which `ways / most` fire. */
SALTUS_FN int saltus_hub_way(const saltus_entry *q, const int32_t *reactions, double each,
                             double most, double ways, saltus_spot spot, int *near)
{
    const int way = saltus_hub_find_way(&spot, q->ways, each);
    *near |= each < spot.high;
    return !saltus_hub_fires(spot, most, ways, near) ? -1
           : q->ways == 1                            ? q->reaction
                                                     : reactions[q->reaction + way];
}

#endif
