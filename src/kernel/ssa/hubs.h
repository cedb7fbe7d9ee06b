/**
 * The direct method of large networks, exactly, over hubs and classes with bounds: the ideas of
 * partial propensities (Ramaswamy, González-Segredo, Sbalzarini 2009, doi:10.1063/1.3154624), of
 * equal constants taken together (Indurkhya, Beal 2010, doi:10.1371/journal.pone.0008125) and of
 * rejection (Thanh, Priami, Zunino 2014, doi:10.1063/1.4896985).
 *
 * Of two reactants the one with more partners is the hub. A hub's reactions of one constant k are a
 * class, whose propensities sum to k x_h W with the whole number W = Σ ways (x_partner - offset),
 * its weight, which classes with the same partners share; its reactions of order 1 sum to x_h K.
 * Every leaf of the tree of sums is a hub, or a reaction that is neither, with its own propensity:
 *
 *     leaf of hub h     X_h (K + k_1 W_1 + k_2 W_2 + …)
 *
 * In it and in the weights stand upper bounds X instead of the counts x. Counts move between bounds
 * without changing a leaf; one that leaves them gets new ones around itself, as wide as chance
 * moves it in a while. Counts below SALTUS_HUB_FEW are their own bounds, so what has run out is
 * never tried. The wait is drawn with the sum of the leaves, and the place that an event chooses
 * lies
 *
 *     in a hub      |- order 1: K -|--- class 1: k_1 W_1 ---|--- class 2 ---|
 *     in a class    |--- partner A: X_A ---|--- partner B: X_B ---|---|- …
 *     in a way      |---- fires: x_h x_B ----|-- nothing --|      of X_h X_B
 *
 * so that, as in thinned.h, it takes no words but those of an event, and as many more bits where
 * the first do not decide; where nothing fires the time has passed all the same. Bounds follow from
 * the trajectory's own history alone, never from sample times, and are part of its state; all
 * sums are functions of them.
 */
#ifndef SALTUS_KERNEL_SSA_HUBS_H
#define SALTUS_KERNEL_SSA_HUBS_H

#include "kernel/ssa/direct_tree.h"
#include "kernel/ssa/hub_rules.h"

/* New bounds around the count of species s. Returns by how much the upper one has grown. */
SALTUS_FN int64_t saltus_hubs_bound(const saltus_trajectory *p, int s)
{
    const int64_t x = p->x[SALTUS_AT(s)], before = p->most[SALTUS_AT(s)];
    const int64_t width = p->n->reaches[s].member_first < 0 ? 0 : saltus_hub_width(x);
    p->least[SALTUS_AT(s)] = x - width;
    p->most[SALTUS_AT(s)] = x + width;
    return x + width - before;
}

/* Node i of the level whose nodes begin at `first` is to be summed: it is the next in the queue of
 * n_marked, unless it is there. Returns how many there are now. */
SALTUS_FN int saltus_hubs_mark(saltus_direct *d, int first, int i, int n_marked)
{
    if (!d->marks[SALTUS_AT(first + i)]) {
        d->marks[SALTUS_AT(first + i)] = 1;
        d->queue[SALTUS_AT(n_marked)] = i;
        ++n_marked;
    }
    return n_marked;
}

SALTUS_FN void saltus_hubs_sum_leaf(const saltus_trajectory *p, saltus_direct *d, int leaf)
{
    const saltus_hub h = p->n->hubs[leaf];
    const saltus_class *k = p->n->classes + h.class_first, *const end = k + h.n_classes;
    double each = h.alone;
    for (; k < end; ++k) {
        each += k->rate * (double)d->weights[SALTUS_AT(k->weight)];
    }
    d->values[SALTUS_AT(leaf)] = (double)p->most[SALTUS_AT(h.species)] * each;
}

SALTUS_FN saltus_failure saltus_hubs_sum_own(saltus_trajectory *p, saltus_direct *d, int leaf)
{
    return saltus_direct_set(p, p->n->own[leaf - p->n->n_hubs], d->values + SALTUS_AT(leaf));
}

/* Running sums of the children of node i of a level, and its value. */
SALTUS_FN void saltus_hubs_sum_node(const saltus_tables *n, saltus_direct *d, int level, int i)
{
    const int child =
        (level > 0 ? n->n_hub_leaves + n->hub_first[level - 1] : 0) + i * SALTUS_FANOUT;
    const int node = n->hub_first[level] + i;
    const saltus_eight e = saltus_hub_sums(d->values + SALTUS_AT(child), SALTUS_AT(1));
    saltus_store_eight(d->sums + SALTUS_AT((int64_t)node * SALTUS_FANOUT), e.a, e.b, e.c, e.d, e.e,
                       e.f, e.g, e.h);
    d->values[SALTUS_AT(n->n_hub_leaves + node)] = e.h;
}

/* Sum the marked nodes, and those above them: level by level, in the queue behind each other. */
SALTUS_FN void saltus_hubs_sum_marked(const saltus_tables *n, saltus_direct *d, int n_marked)
{
    const int top = n->n_hub_levels - 1;
    int k = 0;
    for (int level = 0; level < top; ++level) {
        const int first = n->hub_first[level], above = n->hub_first[level + 1];
        for (const int end = n_marked; k < end; ++k) {
            const int i = d->queue[SALTUS_AT(k)];
            d->marks[SALTUS_AT(first + i)] = 0;
            saltus_hubs_sum_node(n, d, level, i);
            n_marked = saltus_hubs_mark(d, above, i / SALTUS_FANOUT, n_marked);
        }
    }
    if (n_marked > 0) {
        d->marks[SALTUS_AT(n->hub_first[top])] = 0;
        saltus_hubs_sum_node(n, d, top, 0);
    }
}

/* Go to the leaf in whose interval of the total the spot lies; it becomes relative to it. */
SALTUS_FN int saltus_hubs_descend(const saltus_tables *n, const saltus_direct *d, saltus_spot *spot,
                                  int *near)
{
    const saltus_tree tree = {n->n_hub_levels, n->hub_first, d->sums};
    return saltus_tree_descend(&tree, &spot->low, &spot->high, near);
}

/* Weights from the bounds of their partners. */
SALTUS_FN void saltus_hubs_weigh(const saltus_trajectory *p, saltus_direct *d)
{
    const saltus_tables *n = p->n;
    for (int w = 0; w < n->n_weights; ++w) {
        d->weights[SALTUS_AT(w)] = 0;
    }
    for (int w = 0; w < n->n_weighed; ++w) {
        const saltus_class *k = &n->classes[n->weighed[w]];
        for (int e = k->entry_first; e < k->entry_end; ++e) {
            const saltus_entry *q = &n->entries[e];
            const int64_t weight = q->ways * (p->most[SALTUS_AT(q->species)] - q->offset);
            d->weights[SALTUS_AT(w)] += weight;
            if (k->block >= 0) {
                d->weights[SALTUS_AT(k->block + (e - k->entry_first) / SALTUS_HUB_BLOCK)] += weight;
            }
        }
    }
}

/** Compute every leaf and every sum, from new bounds unless the trajectory has some. */
SALTUS_LARGE_FN saltus_failure saltus_hubs_rebuild(saltus_trajectory *p, saltus_direct *d)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species && !p->has_bounds; ++s) {
        if (SALTUS_RARE(p->x[SALTUS_AT(s)] > SALTUS_HUB_LARGEST)) {
            return saltus_trajectory_fail(p, SALTUS_ABOVE_CLASSES, s, 0.0);
        }
        (void)saltus_hubs_bound(p, s);
    }
    p->has_bounds = 1;
    saltus_hubs_weigh(p, d);
    for (int i = 0; i < n->n_hubs; ++i) {
        saltus_hubs_sum_leaf(p, d, i);
    }
    for (int i = n->n_hubs; i < n->n_hubs + n->n_own; ++i) {
        if (saltus_hubs_sum_own(p, d, i) != SALTUS_FINE) {
            return p->failure;
        }
    }
    int below = n->n_hub_leaves;
    for (int level = 0; level < n->n_hub_levels; ++level) {
        for (int i = 0; i < below / SALTUS_FANOUT; ++i) {
            /* of a trajectory that failed */
            d->marks[SALTUS_AT(n->hub_first[level] + i)] = 0;
            saltus_hubs_sum_node(n, d, level, i);
        }
        below = n->hub_first[level + 1] - n->hub_first[level];
    }
    return SALTUS_FINE;
}

/* The count of species s has left its bounds: its leaves follow, and nodes above them are marked,
 * behind n_marked others. Returns how many there are now, -1: the trajectory failed. */
SALTUS_FN int saltus_hubs_move(saltus_trajectory *p, saltus_direct *d, int s, int n_marked)
{
    const saltus_tables *n = p->n;
    if (SALTUS_RARE(p->x[SALTUS_AT(s)] > SALTUS_HUB_LARGEST)) {
        (void)saltus_trajectory_fail(p, SALTUS_ABOVE_CLASSES, s, 0.0);
        return -1;
    }
    const int64_t more = saltus_hubs_bound(p, s);
    const saltus_reach r = n->reaches[s];
    for (int i = r.member_first; i < r.member_end; ++i) {
        d->weights[SALTUS_AT(n->members[i].weight)] += n->members[i].ways * more;
    }
    /* Leaves of hubs that have run out, of most in networks with few molecules, stay what they are:
     * 0, and so do the nodes above them. */
    for (int i = r.leaf_first; i < r.leaf_end; ++i) {
        const saltus_follower f = n->reach[i];
        if (p->most[SALTUS_AT(f.hub)] != 0 || f.hub == s) {
            saltus_hubs_sum_leaf(p, d, f.leaf);
            n_marked = saltus_hubs_mark(d, 0, f.leaf / SALTUS_FANOUT, n_marked);
        }
    }
    return n_marked;
}

/* Whether the count of species s, x, is not between its bounds. */
SALTUS_FN int saltus_hubs_is_out(const saltus_trajectory *p, int s, int64_t x)
{
    return (x < p->least[SALTUS_AT(s)]) | (x > p->most[SALTUS_AT(s)]);
}

/* Change the counts by reaction r, whose changes are few, and what follows from them. Returns what
 * saltus_hubs_move does. */
SALTUS_FN int saltus_hubs_fire(saltus_trajectory *p, saltus_direct *d, const saltus_firing *f,
                               int r)
{
    unsigned out = 0; /* bits of those that leave their bounds */
    int n_marked = 0;
    for (int i = 0; i < f->n; ++i) {
        const int s = f->species[i];
        const int64_t x = p->x[SALTUS_AT(s)] + f->amount[i]; /* far below 2^63: bounds are */
        if (SALTUS_RARE(x < 0)) {
            const saltus_failure failure =
                p->n->idles ? saltus_direct_idle(p, r, p->n->change_row[r] + i)
                            : saltus_trajectory_fail(p, SALTUS_NEGATIVE_COUNT, r, 0.0);
            return failure == SALTUS_FINE ? 0 : -1;
        }
        p->x[SALTUS_AT(s)] = x;
        p->v[SALTUS_AT(s)] = (double)x;
        out |= (unsigned)saltus_hubs_is_out(p, s, x) << i;
    }
    for (; out != 0 && n_marked >= 0; out &= out - 1) {
        n_marked = saltus_hubs_move(p, d, f->species[SALTUS_LOWEST(out)], n_marked);
    }
    return n_marked;
}

/* The same of a reaction with many changes. */
SALTUS_OUTLINE int saltus_hubs_fire_many(saltus_trajectory *p, saltus_direct *d, int r)
{
    const saltus_tables *n = p->n;
    int n_marked = saltus_direct_fire(p, r) == SALTUS_FINE ? 0 : -1;
    for (int c = n->change_row[r]; c < n->change_row[r + 1] && n_marked >= 0; ++c) {
        const int s = n->change_species[c];
        if (saltus_hubs_is_out(p, s, p->x[SALTUS_AT(s)])) {
            n_marked = saltus_hubs_move(p, d, s, n_marked);
        }
    }
    return n_marked;
}

/* Let reaction r fire, and all that depends on it follow. */
SALTUS_FN saltus_failure saltus_hubs_react(saltus_trajectory *p, saltus_direct *d, int r)
{
    const saltus_tables *n = p->n;
    const saltus_firing *f = &n->firings[r];
    ++p->fired;
    int n_marked = SALTUS_RARE(f->n > SALTUS_FIRING_CHANGES) ? saltus_hubs_fire_many(p, d, r)
                                                             : saltus_hubs_fire(p, d, f, r);
    if (n_marked < 0) {
        return p->failure;
    }
    if (SALTUS_RARE(f->has_rules)) {
        saltus_direct_follow_rules(p, r);
    }
    for (int i = f->own_first; i < f->own_end; ++i) {
        if (saltus_hubs_sum_own(p, d, n->own_of[i]) != SALTUS_FINE) {
            return p->failure;
        }
        n_marked = saltus_hubs_mark(d, 0, n->own_of[i] / SALTUS_FANOUT, n_marked);
    }
    saltus_hubs_sum_marked(n, d, n_marked);
    return SALTUS_FINE;
}

/* Go to the entry of a class that the spot chooses; the spot becomes relative to it. Sums of
 * weights are exact. */
SALTUS_FN const saltus_entry *saltus_hubs_entry(const saltus_trajectory *p, const saltus_direct *d,
                                                const saltus_class *k, saltus_spot *spot, int *near)
{
    int e = k->entry_first, end = k->entry_end;
    int64_t below = 0;
    const int64_t low = (int64_t)spot->low; /* which lies below a whole number where this does */
    if (k->block >= 0) {
        for (int block = k->block; e + SALTUS_HUB_BLOCK < end; e += SALTUS_HUB_BLOCK, ++block) {
            const int64_t up = below + d->weights[SALTUS_AT(block)];
            if (low < up) {
                end = e + SALTUS_HUB_BLOCK;
                break;
            }
            below = up;
        }
    }
    for (;; ++e) {
        const saltus_entry *q = &p->n->entries[e];
        const int64_t up = below + q->ways * (p->most[SALTUS_AT(q->species)] - q->offset);
        if (low < up || e + 1 == end) {
            *near |= (double)up < spot->high;
            saltus_spot_leave(spot, (double)below);
            return q;
        }
        below = up;
    }
}

/* The reaction in whose interval of a leaf the spot lies; -1: nothing fires. *near becomes 1 when
 * the lower end of the spot does not decide. Where rounding has led it to the end of something or
 * to an entry that counts 0, nothing fires: that happens once in 2^50 events. */
SALTUS_FN int saltus_hubs_within(const saltus_trajectory *p, const saltus_direct *d, int leaf,
                                 saltus_spot spot, int *near)
{
    const saltus_tables *n = p->n;
    if (leaf >= n->n_hubs) {
        return n->own[leaf - n->n_hubs];
    }
    const saltus_hub h = n->hubs[leaf];
    const double most = (double)p->most[SALTUS_AT(h.species)], x = p->v[SALTUS_AT(h.species)];
    saltus_spot_scale(&spot, 1.0 / most);
    if (spot.low < h.alone) {
        *near |= h.alone < spot.high;
        const int first = n->alone_row[leaf], end = n->alone_row[leaf + 1];
        return saltus_hub_alone(n->alone + first, end - first, most, x, spot, near);
    }
    double below = h.alone;
    for (int c = (int)h.class_first; c < (int)(h.class_first + h.n_classes); ++c) {
        const saltus_class *k = &n->classes[c];
        const double up = below + k->rate * (double)d->weights[SALTUS_AT(k->weight)];
        if (spot.low < up) {
            *near |= up < spot.high;
            saltus_spot_leave(&spot, below);
            saltus_spot_scale(&spot, k->inverse);
            const saltus_entry q = *saltus_hubs_entry(p, d, k, &spot, near);
            return saltus_hub_way(&q, n->entry_reaction,
                                  (double)(p->most[SALTUS_AT(q.species)] - q.offset), most,
                                  x * (p->v[SALTUS_AT(q.species)] - (double)q.offset), spot, near);
        }
        below = up;
    }
    *near = 1;
    return -1;
}

/* The same of the total. */
SALTUS_FN int saltus_hubs_find(const saltus_trajectory *p, const saltus_direct *d, saltus_spot spot,
                               int *near)
{
    const int leaf = saltus_hubs_descend(p->n, d, &spot, near);
    return saltus_hubs_within(p, d, leaf, spot, near);
}

/* ---- an event, in three steps, between which others may be worked on ---- */

/** What is to happen next to a trajectory. */
typedef struct saltus_hubs_next {
    saltus_proposal proposal;
    saltus_spot spot; /* in the leaf */
    int leaf, near, reaction;
} saltus_hubs_next;

/* Begin to run a trajectory from where it is. */
SALTUS_FN saltus_failure saltus_hubs_begin(saltus_trajectory *p, saltus_direct *d)
{
    d->draws.valid = 0;
    saltus_trajectory_refresh(p);
    return saltus_hubs_rebuild(p, d);
}

/* Find when something happens next, and the leaf that it chooses. Returns 1 if there is one, 0 if
 * the wait is void, -1 if the trajectory has ended or failed. To aim again changes nothing. */
SALTUS_FN int saltus_hubs_aim(saltus_trajectory *p, saltus_direct *d, const double *times,
                              int64_t n_times, const int *stop, int64_t *counts,
                              double *observables, saltus_hubs_next *next)
{
    const int go = saltus_direct_next(
        p, d, d->values[SALTUS_AT(p->n->n_hub_leaves + p->n->hub_first[p->n->n_hub_levels - 1])],
        p->event, times, n_times, stop, counts, observables, &next->proposal);
    if (go > 0) {
        const double unit = next->proposal.total * SALTUS_TWO_M32;
        next->spot.low = next->proposal.word * unit;
        next->spot.high = next->spot.low + unit;
        next->near = 0;
        next->leaf = saltus_hubs_descend(p->n, d, &next->spot, &next->near);
        return go;
    }
    if (go == 0) { /* counts may have been set */
        p->has_bounds = 0;
        return saltus_hubs_rebuild(p, d) == SALTUS_FINE ? 0 : -1;
    }
    return go;
}

/* The reaction that more bits choose. */
SALTUS_OUTLINE int saltus_hubs_refine(const saltus_trajectory *p, const saltus_direct *d,
                                      double total, double word)
{
    const saltus_spot spot = {saltus_choice_refined(total, word, p->seed, p->trajectory, p->event),
                              0.0};
    int ignored = 0;
    return saltus_hubs_find(p, d, spot, &ignored);
}

/* Choose the reaction. */
SALTUS_FN void saltus_hubs_choose(const saltus_trajectory *p, const saltus_direct *d,
                                  saltus_hubs_next *next)
{
    next->reaction = saltus_hubs_within(p, d, next->leaf, next->spot, &next->near);
    if (SALTUS_RARE(next->near)) {
        next->reaction = saltus_hubs_refine(p, d, next->proposal.total, next->proposal.word);
    }
}

/* Let it happen. */
SALTUS_FN saltus_failure saltus_hubs_happen(saltus_trajectory *p, saltus_direct *d,
                                            const saltus_hubs_next *next)
{
    const saltus_tables *n = p->n;
    const int r = next->reaction;
    p->t = next->proposal.time;
    if (r < 0) {
        p->after = 0;
        ++p->event;
        return SALTUS_FINE;
    }
#if !SALTUS_DEVICE
    if (SALTUS_RARE(n->n_delayed > 0) &&
        saltus_delayed_begin(p, r, next->proposal.time) != SALTUS_FINE) {
        return p->failure;
    }
#endif
    p->after = 0;
    ++p->event;
    if (saltus_hubs_react(p, d, r) != SALTUS_FINE) {
        return p->failure;
    }
    if (SALTUS_EVENTS && n->watches_state && saltus_trajectory_triggers(p)) {
        p->has_bounds = 0;
        if (saltus_trajectory_settle(p) != SALTUS_FINE ||
            saltus_hubs_rebuild(p, d) != SALTUS_FINE) {
            return p->failure;
        }
    }
    return SALTUS_FINE;
}

/** saltus_direct_run for a network with hubs. p->limit is in event numbers, those at which nothing
 * fired included. */
SALTUS_OUTLINE saltus_failure saltus_hubs_run(saltus_trajectory *p, saltus_direct *d,
                                              const double *times, int64_t n_times, const int *stop,
                                              int64_t *counts, double *observables)
{
    if (saltus_hubs_begin(p, d) != SALTUS_FINE) {
        return p->failure;
    }
    for (;;) {
        saltus_hubs_next next;
        const int go = saltus_hubs_aim(p, d, times, n_times, stop, counts, observables, &next);
        if (go < 0) {
            return p->failure;
        }
        if (go > 0) {
            saltus_hubs_choose(p, d, &next);
            if (saltus_hubs_happen(p, d, &next) != SALTUS_FINE) {
                return p->failure;
            }
        }
    }
}

#endif
