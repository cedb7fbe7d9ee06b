/**
 * The split of method hybrid: which reactions flow, which species are real numbers because of that,
 * and how these become whole again.
 *
 * A reaction flows when there are so many molecules of every species that it changes that one
 * firing hardly tells: it then changes them continuously, and all others stay events, whose hazard
 * is integrated with what flows (Haseltine and Rawlings, J. Chem. Phys. 117 (2002) 6959,
 * doi:10.1063/1.1505860; Salis and Kaznessis, J. Chem. Phys. 122 (2005) 054103,
 * doi:10.1063/1.1835951). Whether it reads species of few molecules does not matter: these stand
 * still between events.
 *
 * Real counts differ from the trajectory's whole ones, p->x, by what has flowed since these were
 * whole, which is a sum of changes of reactions. Rounding rounds the extents of these reactions,
 * up or down by chance so that the mean stays, so no sum that reactions keep is ever off by a
 * molecule.
 */
#ifndef SALTUS_KERNEL_ODE_SPLIT_H
#define SALTUS_KERNEL_ODE_SPLIT_H

#include "kernel/ssa/direct_tree.h"

/* A reaction that flows goes on until some count is below this share of what it needs to begin. */
#define SALTUS_HYBRID_STAYS 0.5

/* What a reaction does between two checks of the split. One that is held has the molecules to flow,
 * and is an event while a trigger is near that its firings may turn. */
typedef enum saltus_flow_state { SALTUS_FIRES, SALTUS_FLOWS, SALTUS_IS_HELD } saltus_flow_state;

/* More molecules than this are not counted. */
#define SALTUS_HYBRID_MOST 0x1p61

/* What a law is between two events. */
typedef enum saltus_law_kind {
    SALTUS_LAW_STILL, /* an event's, and it stands still */
    SALTUS_LAW_MOVES, /* an event's, and it reads what changes */
    SALTUS_LAW_FLOWS, /* it is no event */
} saltus_law_kind;

/** The split, its memory, and the noise of what flows (noise.h). Components are species that are
 * real, then variables with a rate rule; behind them comes the hazard, which has no noise. */
typedef struct saltus_hybrid {
    double least; /* molecules from which on a species may be real, for each that a firing takes */
    /* Of the model: engine/hybrid.c. */
    const int32_t *read_row,
        *read;               /* [reaction + 1], [..] species that a law reads, by rules too */
    const uint8_t *drifts;   /* [reaction] its law reads the time, or a rate rule's variable */
    const uint8_t *is_event; /* [reaction] it never flows */
    uint8_t *is_watched;     /* [reaction] it changes what triggers read */
    const int32_t *by_size;  /* [reaction] those that change fewer molecules first */
    const int32_t *may_lack; /* [n_may_lack] reactions that may lack reactants, and then idle */
    int32_t n_may_lack;
    int32_t has_factors; /* all laws are products, and there are no rate rules */
    /* Carried from step to step, beside real counts in the trajectory's rows. */
    uint8_t *flows;    /* [reaction] saltus_flow_state */
    uint64_t kicks;    /* numbers of random words that were used */
    double *deviation; /* [component] of real counts from those in the rows: noise.h */
    /* What follows from that. */
    uint8_t *kind;  /* [reaction] saltus_law_kind */
    uint8_t *lacks; /* [reaction] it lacks whole reactants, and so has no hazard */
    int32_t n_flowing, n_moving, n_real;
    int32_t is_rough;          /* something flows by a law that may jump or turn anywhere */
    int32_t *flowing, *moving; /* [..] reactions, rising */
    int32_t *real;             /* [component] species, rising */
    int32_t *component;        /* [species] or -1 */
    double *floor;             /* [component] below this some reaction stops to flow */
    double *flow;              /* [..] propensities of those that flow, at the last slope */
    /* Independent changes among those that flow, eliminated: extents from real counts. */
    int32_t n_basis;
    int32_t *basis;  /* [..] reactions */
    int32_t *pivot;  /* [..] component whose change gives the extent */
    double *reduced; /* [..][component] columns, each less multiples of those before it */
    double *factor;  /* [..][..] these multiples */
    double *extent;  /* [..] of the basis, then what rounding has taken of it */
    double *change;  /* [component] */
    int64_t *kept;   /* [species] */
    /* Of noise.h: matrices and vectors of components. */
    double *matrix;
    double *vector;
    double *bend;   /* [reaction][2] a law on the mean path, and its mean over deviations */
    uint8_t *holds; /* [wavering] whether it holds on the mean path, or as counts are */
    uint8_t *near;  /* [reaction] its firings may soon turn a trigger */
    double *reach;  /* [species] the most molecules that a firing of any reaction changes */
    double *counts; /* [species] rows, while others stand in their place */
} saltus_hybrid;

/* The reaction of law i of those that change between events: those that flow, then those that move.
 */
SALTUS_FN int saltus_split_law(const saltus_hybrid *h, int i)
{
    return i < h->n_flowing ? h->flowing[i] : h->moving[i - h->n_flowing];
}

/* Which laws move, and the components of what flows. */
SALTUS_FN void saltus_split_laws(const saltus_trajectory *p, saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species; ++s) {
        h->component[s] = -1;
    }
    h->n_flowing = h->n_moving = h->n_real = h->is_rough = 0;
    for (int r = 0; r < n->n_reactions; ++r) {
        if (h->flows[r] != SALTUS_FLOWS) {
            continue;
        }
        h->flowing[h->n_flowing++] = r;
        const int bending = n->n_bending > 0 ? n->bending_of[r] : -1;
        h->is_rough |= bending >= 0 && n->bend_of[bending] >= 0;
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            h->component[n->change_species[c]] = 0;
        }
    }
    for (int s = 0; s < n->n_species; ++s) {
        if (h->component[s] == 0) {
            h->component[s] = h->n_real;
            h->floor[h->n_real] = 0.0;
            h->real[h->n_real++] = s;
        }
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        int moves = h->drifts[r];
        for (int i = h->read_row[r]; i < h->read_row[r + 1] && !moves; ++i) {
            moves = h->component[h->read[i]] >= 0;
        }
        h->kind[r] = (uint8_t)(h->flows[r] == SALTUS_FLOWS ? SALTUS_LAW_FLOWS
                               : moves                     ? SALTUS_LAW_MOVES
                                                           : SALTUS_LAW_STILL);
        if (h->kind[r] == SALTUS_LAW_MOVES) {
            h->moving[h->n_moving++] = r;
        }
    }
}

/* How many molecules of a species a reaction needs, that changes it by so many, to go on. */
SALTUS_FN double saltus_split_floor(const saltus_hybrid *h, int64_t change)
{
    return SALTUS_HYBRID_STAYS * h->least * saltus_abs((double)change);
}

/* Choose independent changes, those of fewest molecules first, by elimination. */
SALTUS_OUTLINE void saltus_split_basis(const saltus_trajectory *p, saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    const int m = h->n_real;
    h->n_basis = 0;
    for (int i = 0; i < n->n_reactions && h->n_basis < m; ++i) {
        const int r = h->by_size[i];
        double *column = h->reduced + (int64_t)h->n_basis * m;
        double *factor = h->factor + (int64_t)h->n_basis * m;
        if (h->flows[r] != SALTUS_FLOWS || n->change_row[r] == n->change_row[r + 1]) {
            continue;
        }
        for (int j = 0; j < m; ++j) {
            column[j] = 0.0;
        }
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            column[h->component[n->change_species[c]]] = (double)n->change_amount[c];
        }
        for (int b = 0; b < h->n_basis; ++b) {
            const double *before = h->reduced + (int64_t)b * m;
            factor[b] = column[h->pivot[b]] / before[h->pivot[b]];
            for (int j = 0; j < m && factor[b] != 0.0; ++j) {
                column[j] -= factor[b] * before[j];
            }
        }
        int best = 0;
        for (int j = 1; j < m; ++j) {
            best = saltus_abs(column[j]) > saltus_abs(column[best]) ? j : best;
        }
        if (saltus_abs(column[best]) > 1e-6) {
            h->pivot[h->n_basis] = best;
            h->basis[h->n_basis++] = r;
        }
    }
}

/** Find what follows from h->flows. */
SALTUS_OUTLINE void saltus_split_make(const saltus_trajectory *p, saltus_hybrid *h)
{
    const saltus_tables *n = p->n;
    saltus_split_laws(p, h);
    for (int i = 0; i < h->n_flowing; ++i) {
        const int r = h->flowing[i];
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            double *floor = &h->floor[h->component[n->change_species[c]]];
            const double own = saltus_split_floor(h, n->change_amount[c]);
            *floor = own > *floor ? own : *floor;
        }
    }
    saltus_split_basis(p, h);
}

/* Whether there are the molecules for a reaction to flow, or to go on. */
SALTUS_FN int saltus_split_may_flow(const saltus_trajectory *p, const saltus_hybrid *h, int r)
{
    const saltus_tables *n = p->n;
    int may = !h->is_event[r];
    for (int c = n->change_row[r]; c < n->change_row[r + 1] && may; ++c) {
        const double floor = saltus_split_floor(h, n->change_amount[c]);
        may = p->v[n->change_species[c]] >=
              (h->flows[r] != SALTUS_FIRES ? floor : floor / SALTUS_HYBRID_STAYS);
    }
    return may;
}

/** Choose anew which reactions flow, from the counts in the trajectory's rows and from h->near.
 * Returns 1 if some begin, 2 if some stop, 3 if both, 0 if all stays as it was. */
SALTUS_OUTLINE int saltus_split_check(const saltus_trajectory *p, saltus_hybrid *h)
{
    int changed = 0;
    for (int r = 0; r < p->n->n_reactions; ++r) {
        const int did = h->flows[r] == SALTUS_FLOWS;
        const saltus_flow_state now = !saltus_split_may_flow(p, h, r) ? SALTUS_FIRES
                                      : h->near[r]                    ? SALTUS_IS_HELD
                                                                      : SALTUS_FLOWS;
        changed |= did == (now == SALTUS_FLOWS) ? 0 : did ? 2 : 1;
        h->flows[r] = (uint8_t)now;
    }
    return changed;
}

/* The extents of the reactions of the basis that make the real counts of the whole ones. */
SALTUS_FN void saltus_split_extents(const saltus_trajectory *p, saltus_hybrid *h)
{
    const int m = h->n_real;
    for (int j = 0; j < m; ++j) {
        h->change[j] = p->v[h->real[j]] - (double)p->x[h->real[j]];
    }
    for (int b = 0; b < h->n_basis; ++b) {
        const double *column = h->reduced + (int64_t)b * m;
        h->extent[b] = h->change[h->pivot[b]] / column[h->pivot[b]];
        for (int j = 0; j < m && h->extent[b] != 0.0; ++j) {
            h->change[j] -= h->extent[b] * column[j];
        }
    }
    for (int b = h->n_basis - 1; b >= 0; --b) {
        for (int a = 0; a < b; ++a) {
            h->extent[a] -= (h->factor + (int64_t)b * m)[a] * h->extent[b];
        }
    }
}

/* Words of method hybrid, two uniform numbers a block, above 0 and below 1. Each kick and each
 * rounding has a number, and blocks of its own. */
enum { SALTUS_KICK_BITS = 24 };
SALTUS_FN void saltus_kick_words(const saltus_trajectory *p, uint64_t kick, uint64_t block,
                                 double u[2])
{
    saltus_u64 w[4];
    saltus_philox(p->seed, SALTUS_PURPOSE_KICK, p->trajectory, (kick << SALTUS_KICK_BITS) + block,
                  w);
    for (int i = 0; i < 2; ++i) {
        u[i] = saltus_uniform52(w[2 * i], w[2 * i + 1]);
    }
}

/* Move the counts h->change by so much of a reaction, less or more than one firing. Returns 0, and
 * moves none, where one would end below 0. */
SALTUS_FN int saltus_split_move(const saltus_trajectory *p, const saltus_hybrid *h, int r,
                                double extent)
{
    const saltus_tables *n = p->n;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        const double change = extent * (double)n->change_amount[c];
        if (change < 0.0 && h->change[h->component[n->change_species[c]]] + change < -0.5) {
            return 0;
        }
    }
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        h->change[h->component[n->change_species[c]]] += extent * (double)n->change_amount[c];
    }
    return 1;
}

/* Make counts whole: the trajectory's whole ones take the extents, rounded: by chance, or, for what
 * is only recorded, to the nearest. Where that would take more than there is, as when many
 * reactions have a species of few, an extent is rounded the other way. What rounding has taken of
 * the extents is left in them. */
SALTUS_OUTLINE saltus_failure saltus_split_round(saltus_trajectory *p, saltus_hybrid *h,
                                                 int nearest)
{
    const saltus_tables *n = p->n;
    double u[2] = {0.5, 0.5};
    saltus_split_extents(p, h);
    for (int j = 0; j < h->n_real; ++j) {
        h->change[j] = p->v[h->real[j]];
    }
    for (int b = 0; b < h->n_basis; ++b) {
        const int r = h->basis[b];
        if (!nearest && b % 2 == 0) {
            saltus_kick_words(p, h->kicks, (uint64_t)(b / 2), u);
        }
        const double extent = h->extent[b];
        double whole = saltus_floor(extent + u[b % 2]);
        if (SALTUS_RARE(!saltus_split_move(p, h, r, whole - extent))) {
            whole += whole > extent ? -1.0 : 1.0;
            (void)saltus_split_move(p, h, r, whole - extent);
        }
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            int64_t *x = &p->x[n->change_species[c]];
            const double sum = (double)*x + whole * (double)n->change_amount[c];
            if (SALTUS_RARE(!(saltus_abs(sum) < SALTUS_HYBRID_MOST) ||
                            !(saltus_abs(whole) < SALTUS_HYBRID_MOST))) {
                return saltus_trajectory_fail(p, SALTUS_COUNT_OVERFLOW, r, 0.0);
            }
            *x += (int64_t)whole * n->change_amount[c];
        }
        h->extent[b] -= whole;
    }
    h->kicks += !nearest && h->n_basis > 0;
    return SALTUS_FINE;
}

/* How near to half a firing an extent is where a trigger may have turned just there. */
#define SALTUS_HYBRID_TURNS 0.499

/* After events have seen whole counts, h->kept, and perhaps set some: give real counts back what
 * rounding has taken of an extent of a reaction that still flows, also to what was set, which else
 * would lose again and again what flows between two events. It is half a firing at most, and what
 * is recorded there is what was set. What has stopped is whole: counts that were not set take the
 * extent, rounded by chance. Where a trigger turns they stay as events saw them, so that it does
 * not turn back at once. Returns whether random words were used. */
SALTUS_OUTLINE int saltus_split_give_back(saltus_trajectory *p, const saltus_hybrid *h, int b)
{
    const saltus_tables *n = p->n;
    const int r = h->basis[b], first = n->change_row[r], end = n->change_row[r + 1];
    double extent = h->extent[b], u[2];
    if (extent == 0.0 || (n->watches_state && saltus_abs(extent) > SALTUS_HYBRID_TURNS)) {
        return 0;
    }
    const int flows = h->flows[r] == SALTUS_FLOWS;
    if (!flows) {
        saltus_kick_words(p, h->kicks, (uint64_t)(b / 2), u);
        extent = saltus_floor(extent + u[b % 2]);
    }
    for (int c = first; c < end; ++c) {
        const int s = n->change_species[c];
        if (p->v[s] + extent * (double)n->change_amount[c] < 0.0) {
            return !flows;
        }
    }
    for (int c = first; c < end; ++c) {
        const int s = n->change_species[c];
        const double change = extent * (double)n->change_amount[c];
        if (flows) {
            p->v[s] += change;
        } else if (p->x[s] == h->kept[h->component[s]]) {
            p->x[s] += (int64_t)change;
            p->v[s] += change;
            h->kept[h->component[s]] = p->x[s];
        }
    }
    return !flows;
}

/* Rows of components take their deviations. */
SALTUS_FN void saltus_split_merge(saltus_trajectory *p, saltus_hybrid *h)
{
    for (int j = 0; j < h->n_real + p->n->n_rates; ++j) {
        const int row = j < h->n_real ? h->real[j] : p->n->rate_rows[j - h->n_real];
        p->v[row] += h->deviation[j];
        h->deviation[j] = 0.0;
    }
}

/* Rows of real counts become whole. */
SALTUS_FN void saltus_split_put_whole(saltus_trajectory *p, const saltus_hybrid *h)
{
    for (int j = 0; j < h->n_real; ++j) {
        p->v[h->real[j]] = (double)p->x[h->real[j]];
    }
}

/* The rows alone become the nearest whole counts, for what is recorded, and for triggers: one that
 * asks for more than 12 turns at 12.5. */
SALTUS_OUTLINE saltus_failure saltus_split_put_nearest(saltus_trajectory *p, saltus_hybrid *h)
{
    for (int j = 0; j < h->n_real; ++j) {
        h->kept[j] = p->x[h->real[j]];
    }
    if (saltus_split_round(p, h, 1) != SALTUS_FINE) {
        return p->failure;
    }
    saltus_split_put_whole(p, h);
    for (int j = 0; j < h->n_real; ++j) {
        p->x[h->real[j]] = h->kept[j];
    }
    return SALTUS_FINE;
}

#endif
