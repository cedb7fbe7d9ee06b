/**
 * The direct method, SALTUS_LANES trajectories at once, for networks of up to
 * SALTUS_LANES_MAX_REACTIONS reactions (Gillespie 1977, doi:10.1021/j100540a008).
 *
 * Every lane recomputes all propensities at every event: lanes choose different reactions, so this
 * costs less than gathering what each has changed. Sums are those of direct_tree.h, whose two
 * lowest levels are spelled out here, and so are the bits.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_LANES_H
#define SALTUS_KERNEL_SSA_DIRECT_LANES_H

#include "kernel/base/program.h"
#include "kernel/base/rng.h"

enum { SALTUS_LANES_MAX_REACTIONS = SALTUS_FANOUT * SALTUS_FANOUT };

/* Counts are exact up to here, and stay so where changes are smaller than these and counts are
 * checked every 2^17 events. */
static const double saltus_lanes_largest = 0x1p52, saltus_lanes_most_change = 0x1p35;

/** State of the lanes. Rows are v[row][lane] as in tables.h. */
typedef struct saltus_lanes {
    saltus_f64 *v;
    /* Present time. */
    saltus_f64 t;
    /* Time of the lane's next sample or special time; -inf: the lane is idle. */
    saltus_f64 stop;
    saltus_u64 trajectory, block;
    /* Rates of the products, which points of a sweep have of their own. */
    saltus_f64 rate[SALTUS_LANES_MAX_REACTIONS];
    /* In place of propensities what is computed elsewhere: upper bounds of laws that drift with
     * time (thinned_lanes.h), and propensities that move (backend/cpu/rates.c). */
    const int32_t *given_of;   /* [reaction] which, or -1; NULL: there are none */
    saltus_f64 *given, *lower; /* lower bounds, of those that have one */
    saltus_f64 *counts;        /* [species] of before an event that may be undone; NULL: none may */
    /* Unit waits of the two events of the block. */
    saltus_f64 wait[2];
    /* Words of the choices of the two events. */
    saltus_f64 word[2];
    saltus_f64 total, t_next, low, high;
    /* Running sums inside each group. */
    saltus_f64 sums[SALTUS_LANES_MAX_REACTIONS];
    /* Running sums over the groups. */
    saltus_f64 groups[SALTUS_FANOUT];
} saltus_lanes;

/** Draw random numbers for the two events of every lane's block. Returns the lanes where the word
 * of a wait is 0, whose wait is not valid. */
SALTUS_FN saltus_mask saltus_lanes_draw(saltus_lanes *b, uint64_t seed)
{
    saltus_u64 w[4];
    saltus_philox(seed, SALTUS_PURPOSE_EVENT, b->trajectory, b->block, w);
    b->wait[0] = saltus_exponential32(w[0]);
    b->wait[1] = saltus_exponential32(w[2]);
    b->word[0] = SALTUS_TO_F64(SALTUS_AS_I64(w[1]));
    b->word[1] = SALTUS_TO_F64(SALTUS_AS_I64(w[3]));
    return SALTUS_EQ(w[0] * w[2], w[0] & 0);
}

/* ((rate * f1) * f2) … */
SALTUS_FN saltus_f64 saltus_lanes_product(const saltus_tables *n, saltus_f64 rate,
                                          const saltus_f64 *v, int r)
{
    const int first = n->factor_row[r], end = n->factor_row[r + 1];
    saltus_f64 a = rate;
    for (int f = first; f < end; ++f) {
        const saltus_f64 x = v[n->factor_species[f]];
        const double offset = n->factor_offset[f];
        a = a * (offset == 0.0 ? x : x - offset);
    }
    return a;
}

SALTUS_FN void saltus_lanes_run_rule(const saltus_tables *n, int rule, saltus_f64 *v)
{
    saltus_program_run(n->code, n->rules[rule], v);
    v[n->row_rules + rule] = v[n->rules[rule].result];
}

/* Compute live rules from the counts, row by row. */
SALTUS_FN void saltus_lanes_run_rules(const saltus_tables *n, saltus_f64 *v)
{
    for (int i = 0; i < n->n_live_rules; ++i) {
        saltus_lanes_run_rule(n, n->live_rules[i], v);
    }
}

/* Lanes in which reaction r would do nothing now, because it lacks reactants. */
SALTUS_OUTLINE saltus_mask saltus_lanes_idle(const saltus_tables *n, const saltus_f64 *v, int r)
{
    saltus_mask lacks = SALTUS_LT(saltus_splat(0.0), saltus_splat(0.0));
    for (int c = n->change_row[r]; c < n->change_row[r + 1] && n->idles; ++c) {
        const double least = -(double)n->change_amount[c];
        lacks |= SALTUS_LT(v[n->change_species[c]], saltus_splat(least));
    }
    return lacks;
}

/* What law r gives, but 0 where that is no propensity and the reaction lacks reactants, in a model
 * where it does nothing then: as saltus_direct_set does it. Sets lanes of *bad where it is negative
 * or NaN all the same. */
SALTUS_FN saltus_f64 saltus_lanes_checked(const saltus_tables *n, const saltus_f64 *v, int r,
                                          saltus_f64 a, saltus_mask *bad)
{
    const saltus_mask odd = ~SALTUS_LE(saltus_splat(0.0), a);
    saltus_mask lacks = odd & 0;
    if (SALTUS_RARE(n->idles && saltus_any(odd))) {
        lacks = odd & saltus_lanes_idle(n, v, r);
        a = saltus_select(lacks, saltus_splat(0.0), a);
    }
    *bad |= odd & ~lacks;
    return a;
}

/* Propensity r, whose product has this rate. Sets lanes of *bad where it is negative or NaN. */
SALTUS_FN saltus_f64 saltus_lanes_propensity(const saltus_tables *n, saltus_f64 rate, saltus_f64 *v,
                                             int r, saltus_mask *bad)
{
    if (n->law_program[r] < 0) {
        return saltus_lanes_product(n, rate, v, r);
    }
    const saltus_program law = n->laws[n->law_program[r]];
    saltus_program_run(n->code, law, v);
    return saltus_lanes_checked(n, v, r, v[law.result], bad);
}

/* Propensities and their running sums, from the counts and what is given; returns the total. Sets
 * lanes of *bad where one is negative or NaN. */
SALTUS_FN saltus_f64 saltus_lanes_sum(const saltus_tables *n, saltus_lanes *b, saltus_mask *bad)
{
    saltus_f64 total = saltus_splat(0.0);
    for (int r = 0, g = 0; r < n->n_reactions; ++g) {
        const int end = r + SALTUS_FANOUT < n->n_reactions ? r + SALTUS_FANOUT : n->n_reactions;
        saltus_f64 sum = saltus_splat(0.0);
        for (int k = r; k < end; ++k) {
            const int given = b->given_of ? b->given_of[k] : -1;
            const saltus_f64 a =
                given >= 0 ? b->given[given] : saltus_lanes_propensity(n, b->rate[k], b->v, k, bad);
            sum = k == r ? a : sum + a;
            b->sums[k] = sum;
        }
        total = g == 0 ? sum : total + sum;
        b->groups[g] = total;
        r = end;
    }
    return total + 0.0; /* -0 becomes 0 */
}

/** The lanes in which a trigger is not what it was, on[trigger], from the rows, rules included. */
SALTUS_FN saltus_mask saltus_lanes_turned(const saltus_tables *n, saltus_f64 *v,
                                          const saltus_mask *on)
{
    saltus_mask turned = SALTUS_AS_I64(v[n->row_time]) & 0;
    for (int i = 0; i < n->n_triggers; ++i) {
        saltus_program_run(n->code, n->triggers[i].trigger, v);
        const saltus_f64 value = v[n->triggers[i].trigger.result];
        turned |= (SALTUS_NE(value, saltus_splat(0.0)) & SALTUS_EQ(value, value)) ^ on[i];
    }
    return turned;
}

/* The interval of the choice of event h (0 or 1) of the block, whose total is known. */
SALTUS_FN void saltus_lanes_place(saltus_lanes *b, int h, saltus_f64 total)
{
    const saltus_f64 unit = total * SALTUS_TWO_M32;
    b->total = total;
    b->low = b->word[h] * unit;
    b->high = b->low + unit;
}

/** Propensities, their sums, the time of the next event and the interval of its choice, for event h
 * (0 or 1) of the block. Returns the lanes whose propensities are negative, NaN or infinite. */
SALTUS_FN saltus_mask saltus_lanes_propose(const saltus_tables *n, saltus_lanes *b, int h)
{
    saltus_mask bad = SALTUS_AS_I64(b->t) & 0;
    saltus_lanes_run_rules(n, b->v);
    const saltus_f64 total = saltus_lanes_sum(n, b, &bad);
    saltus_lanes_place(b, h, total);
    b->t_next = b->t + b->wait[h] / total;
    return bad | ~SALTUS_LT(total, saltus_splat(SALTUS_INFINITY));
}

/* Note the counts before an event. */
SALTUS_FN void saltus_lanes_note(const saltus_tables *n, saltus_lanes *b)
{
    for (int s = 0; s < n->n_species && b->counts; ++s) {
        b->counts[s] = b->v[s];
    }
}

/* The lanes in which an event took more than there was. */
SALTUS_FN saltus_mask saltus_lanes_lack(const saltus_tables *n, const saltus_lanes *b)
{
    saltus_mask lack = SALTUS_AS_I64(b->t) & 0;
    for (int i = 0; i < n->n_unsafe; ++i) {
        lack |= SALTUS_LT(b->v[n->unsafe[i]], saltus_splat(0.0));
    }
    return lack;
}

/* Undo the event in some lanes. */
SALTUS_FN void saltus_lanes_undo(const saltus_tables *n, saltus_lanes *b, saltus_mask lanes)
{
    for (int s = 0; s < n->n_species && saltus_any(lanes); ++s) {
        b->v[s] = saltus_select(lanes, b->counts[s], b->v[s]);
    }
}

/* Choose among the running sums of reactions first to end - 1 in the lanes of `among`, and fire.
 * Lanes in which no interval held `low` stay in *among; *upper is the end of the interval that did.
 */
SALTUS_FN void saltus_lanes_fire_group(const saltus_tables *n, saltus_lanes *b, int first, int end,
                                       saltus_f64 low, saltus_mask *among, saltus_f64 *upper)
{
    for (int r = first; r < end; ++r) {
        const saltus_mask below = SALTUS_LT(low, b->sums[r]);
        const saltus_mask hit = *among & below;
        *among &= ~below;
        *upper = saltus_select(hit, b->sums[r], *upper);
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            const saltus_f64 x = b->v[n->change_species[c]];
            const saltus_i64 change = SALTUS_AS_I64(saltus_splat((double)n->change_amount[c]));
            b->v[n->change_species[c]] = x + SALTUS_AS_F64(change & hit);
        }
    }
}

/**
 * Fire the chosen reaction in the lanes of `fire` and move their clocks to t_next. Returns the
 * lanes whose choice was not decided; *missed are those of them in which nothing was fired.
 */
SALTUS_FN saltus_mask saltus_lanes_fire(const saltus_tables *n, saltus_lanes *b, saltus_mask fire,
                                        saltus_mask *missed)
{
    saltus_mask among = fire, near;
    saltus_f64 upper = b->high;
    b->t = saltus_select(fire, b->t_next, b->t);
    if (n->n_reactions <= SALTUS_FANOUT) {
        saltus_lanes_fire_group(n, b, 0, n->n_reactions, b->low, &among, &upper);
        near = SALTUS_LT(upper, b->high);
        *missed = among;
    } else {
        near = *missed = among & 0;
        for (int g = 0, r = 0; r < n->n_reactions; ++g, r += SALTUS_FANOUT) {
            const int end = r + SALTUS_FANOUT < n->n_reactions ? r + SALTUS_FANOUT : n->n_reactions;
            const saltus_mask below = SALTUS_LT(b->low, b->groups[g]);
            const saltus_mask in = among & below;
            const saltus_f64 base = g == 0 ? saltus_splat(0.0) : b->groups[g - 1];
            const saltus_f64 high = b->high - base;
            saltus_mask inside = in;
            upper = high;
            saltus_lanes_fire_group(n, b, r, end, b->low - base, &inside, &upper);
            near |= in & (SALTUS_LT(b->groups[g], b->high) | SALTUS_LT(upper, high));
            *missed |= inside;
            among &= ~below;
        }
    }
    return (near & fire) | *missed;
}

#endif
