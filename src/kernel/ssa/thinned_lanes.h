/**
 * Laws that drift with time in lanes: the method of thinned.h for the lanes of direct_lanes.h, a
 * window of its own in each, to the same bits.
 *
 * A window is bounded for all lanes together, so a lane whose window has ended waits until several
 * have. Lanes so come to be at different events: `odd` are those whose next event is the second of
 * their block. Whatever is rare - a choice that 32 bits do not decide, a law that has no bound - is
 * left to the scalar engine.
 */
#ifndef SALTUS_KERNEL_SSA_THINNED_LANES_H
#define SALTUS_KERNEL_SSA_THINNED_LANES_H

#include "kernel/base/interval_lanes.h"
#include "kernel/ssa/direct_lanes.h"
#include "kernel/ssa/state.h"

#if SALTUS_LANES == 1
#error "thinned.h is for one lane"
#endif

/** Where the law of thinned reaction i lies in the given lanes at their candidates' times, NaN
 * where nobody knows; returns 0 where that is not known of any. */
typedef int saltus_law_closer(void *user, int i, saltus_mask lanes, saltus_spans *law);

/** What drifting laws add to the state of lanes. */
typedef struct saltus_thinned_lanes {
    saltus_spans *slots;           /* [interval] as in saltus_direct */
    saltus_f64 length;             /* of the next window */
    saltus_f64 start, end, missed; /* of the present one; an end below 0: it is to be begun */
    saltus_f64 special;            /* time at which a window ends, however long */
    saltus_mask waits;             /* laws are to be bounded in its window */
    saltus_mask odd;               /* the next event is the second of its block */
    saltus_u64 voids;              /* event numbers at which nothing fired */
    int follows;                   /* bounds depend on counts */
    saltus_span_fallback *fallback;
    saltus_law_closer *closer; /* more closely than in the window; NULL: nobody knows */
    void *user;                /* of both */
} saltus_thinned_lanes;

/* What becomes of the lanes' candidates. */
typedef struct saltus_candidates {
    saltus_mask fired, missed;
    saltus_mask undecided; /* 32 bits do not tell; nothing is changed */
    saltus_mask bad;       /* a law is no propensity */
} saltus_candidates;

/* The law of thinned reaction i at the lanes' times, which stand in the row of the time. */
SALTUS_OUTLINE saltus_f64 saltus_thinned_lanes_law(const saltus_tables *n, saltus_f64 *v, int i)
{
    const saltus_program law = n->laws[n->law_program[n->thinned[i]]];
    for (int k = n->drift_row[i]; k < n->drift_row[i + 1]; ++k) {
        const int rule = n->drifts[n->drift_of[k]].rule;
        if (rule >= 0) {
            saltus_program_run(n->code, n->rules[rule], v);
            v[n->row_rules + rule] = v[n->rules[rule].result];
        }
    }
    saltus_program_run(n->code, law, v);
    return v[law.result];
}

SALTUS_FN void saltus_thinned_lanes_drift(const saltus_tables *n, const saltus_lanes *b,
                                          saltus_thinned_lanes *d, int k, uint64_t lanes)
{
    d->slots[1 + k] = saltus_spans_run(n->bound_code, n->drifts[k].interval, d->slots, b->v, lanes,
                                       d->fallback, d->user);
}

/* Bound all laws in the windows of the given lanes, whose counts have changed or, `is_new`, whose
 * windows. Lanes where a law has no finite bound are set in *unbounded; returns those where one is
 * below 0. */
SALTUS_OUTLINE saltus_mask saltus_thinned_lanes_bound(const saltus_tables *n, saltus_lanes *b,
                                                      saltus_thinned_lanes *d, saltus_mask lanes,
                                                      int is_new, saltus_mask *unbounded)
{
    const uint64_t bits = saltus_bits(lanes);
    saltus_mask below = lanes & 0;
    *unbounded = below;
    saltus_lanes_run_rules(n, b->v);
    d->slots[0] = (saltus_spans){d->start, d->end};
    for (int k = 0; k < n->n_drifts; ++k) {
        if (n->drifts[k].has_counts || is_new) {
            saltus_spans before = d->slots[1 + k];
            saltus_thinned_lanes_drift(n, b, d, k, bits);
            d->slots[1 + k] = saltus_spans_select(lanes, d->slots[1 + k], before);
        }
    }
    for (int i = 0; i < n->n_thinned; ++i) {
        saltus_spans s = saltus_spans_run(n->bound_code, n->bounds[i], d->slots, b->v, bits,
                                          d->fallback, d->user);
        const saltus_mask odd = lanes & ~(SALTUS_LE(saltus_splat(0.0), s.hi) &
                                          SALTUS_LT(s.hi, saltus_splat(SALTUS_INFINITY)));
        if (SALTUS_RARE(n->idles && saltus_any(odd))) { /* as saltus_lanes_checked has it */
            const saltus_mask lacks = odd & saltus_lanes_idle(n, b->v, n->thinned[i]);
            s.lo = saltus_select(lacks, saltus_splat(0.0), s.lo);
            s.hi = saltus_select(lacks, saltus_splat(0.0), s.hi);
        }
        *unbounded |= ~SALTUS_LT(s.hi, saltus_splat(SALTUS_INFINITY));
        below |= SALTUS_LT(s.hi, saltus_splat(0.0));
        b->given[i] = saltus_select(lanes, s.hi + 0.0, b->given[i]);
        b->lower[i] = saltus_select(lanes, s.lo, b->lower[i]);
    }
    *unbounded &= lanes;
    return below & lanes & ~*unbounded;
}

/* Whether the laws of the given lanes are propensities at a time where the window begins, or within
 * it the run ends; returns those in which one is not. */
SALTUS_OUTLINE saltus_mask saltus_thinned_lanes_check(const saltus_tables *n, saltus_lanes *b,
                                                      saltus_mask lanes, saltus_f64 time)
{
    const saltus_f64 zero = saltus_splat(0.0);
    saltus_mask bad = lanes & 0;
    b->v[n->row_time] = time;
    for (int i = 0; i < n->n_thinned; ++i) {
        const saltus_mask unsure = lanes & ~SALTUS_LE(zero, b->lower[i]);
        if (!saltus_any(unsure)) { /* nothing in the window is below 0 */
            continue;
        }
        const saltus_f64 a = saltus_thinned_lanes_law(n, b->v, i), bound = b->given[i];
        saltus_mask odd = SALTUS_LT(a, -1e-9 * bound) | (~SALTUS_EQ(a, a) & SALTUS_LT(zero, bound));
        odd &= unsure;
        if (SALTUS_RARE(n->idles && saltus_any(odd))) {
            odd &= ~saltus_lanes_idle(n, b->v, n->thinned[i]);
        }
        bad |= odd;
    }
    return bad;
}

/* Thinned reaction i was chosen in the lanes of `hit`, whose places in its interval are between low
 * and high. Returns the lanes in which it fires. */
SALTUS_FN saltus_mask saltus_thinned_lanes_take(const saltus_tables *n, const saltus_lanes *b,
                                                const saltus_thinned_lanes *d, int i,
                                                saltus_mask hit, saltus_f64 low, saltus_f64 high,
                                                saltus_candidates *c)
{
    saltus_mask open = hit & ~(SALTUS_LT(low, b->lower[i]) & SALTUS_LE(high, b->lower[i]));
    if (!saltus_any(open)) {
        return hit;
    }
    saltus_spans law;
    if (d->closer && d->closer(d->user, i, open, &law)) {
        /* a law that may be no propensity is left to be found */
        const saltus_mask misses = SALTUS_LE(saltus_splat(0.0), law.lo) & SALTUS_LE(law.hi, low);
        const saltus_mask fires = SALTUS_LT(low, law.lo) & SALTUS_LE(high, law.lo);
        hit &= ~(open & misses);
        open &= ~(misses | fires);
        if (!saltus_any(open)) {
            return hit;
        }
    }
    const saltus_f64 a = saltus_thinned_lanes_law(n, b->v, i);
    const saltus_mask bad = open & ~(SALTUS_LE(saltus_splat(0.0), a) & SALTUS_LE(a, b->given[i]));
    const saltus_mask below = SALTUS_LT(low, a), near = open & below & SALTUS_LT(a, high);
    c->bad |= bad;
    c->undecided |= near;
    return hit & (~open | below) & ~(bad | near);
}

/* Choose among the running sums of reactions first to end - 1 in the lanes of `among`, and fire.
 * Lanes in which no interval held `low` are undecided. */
SALTUS_FN void saltus_thinned_lanes_fire_group(const saltus_tables *n, saltus_lanes *b,
                                               const saltus_thinned_lanes *d, int first, int end,
                                               saltus_f64 low, saltus_f64 high, saltus_mask among,
                                               saltus_candidates *c)
{
    for (int r = first; r < end; ++r) {
        const saltus_mask here = among & SALTUS_LT(low, b->sums[r]);
        const saltus_mask near = here & SALTUS_LT(b->sums[r], high);
        const int i = n->thinned_of[r];
        saltus_mask hit = here & ~near;
        among &= ~here;
        c->undecided |= near;
        if (i >= 0) {
            const saltus_f64 base = r == first ? saltus_splat(0.0) : b->sums[r - 1];
            hit = saltus_thinned_lanes_take(n, b, d, i, hit, low - base, high - base, c);
        }
        c->fired |= hit;
        for (int k = n->change_row[r]; k < n->change_row[r + 1]; ++k) {
            const saltus_f64 x = b->v[n->change_species[k]];
            const saltus_i64 change = SALTUS_AS_I64(saltus_splat((double)n->change_amount[k]));
            b->v[n->change_species[k]] = x + SALTUS_AS_F64(change & hit);
        }
    }
    c->undecided |= among;
}

/** Choose the reactions of the candidates in the lanes of `lanes`, and let those fire that do. */
SALTUS_FN saltus_candidates saltus_thinned_lanes_fire(const saltus_tables *n, saltus_lanes *b,
                                                      const saltus_thinned_lanes *d,
                                                      saltus_mask lanes)
{
    saltus_mask among = lanes;
    saltus_candidates c = {lanes & 0, lanes & 0, lanes & 0, lanes & 0};
    b->v[n->row_time] = b->t_next;
    if (n->n_reactions <= SALTUS_FANOUT) {
        saltus_thinned_lanes_fire_group(n, b, d, 0, n->n_reactions, b->low, b->high, among, &c);
    } else {
        for (int g = 0, r = 0; r < n->n_reactions; ++g, r += SALTUS_FANOUT) {
            const int end = r + SALTUS_FANOUT < n->n_reactions ? r + SALTUS_FANOUT : n->n_reactions;
            const saltus_mask below = SALTUS_LT(b->low, b->groups[g]);
            const saltus_mask near = among & below & SALTUS_LT(b->groups[g], b->high);
            const saltus_f64 base = g == 0 ? saltus_splat(0.0) : b->groups[g - 1];
            c.undecided |= near;
            saltus_thinned_lanes_fire_group(n, b, d, r, end, b->low - base, b->high - base,
                                            among & below & ~near, &c);
            among &= ~below;
        }
        c.undecided |= among;
    }
    c.bad &= ~c.undecided;
    c.missed = lanes & ~(c.fired | c.undecided | c.bad);
    return c;
}

/** Go to the next event number in the lanes of `lanes`: `fired` and `missed` to their candidates,
 * the others to the ends of their windows. Windows that have ended wait for the next. */
SALTUS_FN void saltus_thinned_lanes_pass(saltus_lanes *b, saltus_thinned_lanes *d,
                                         saltus_mask lanes, const saltus_candidates *c,
                                         saltus_mask ends)
{
    const saltus_f64 zero = saltus_splat(0.0);
    const saltus_f64 missed = d->missed + 1.0;
    d->missed = saltus_select(c->missed, missed, d->missed);
    const saltus_mask is_full =
        c->missed & SALTUS_LE(saltus_splat((double)SALTUS_WINDOW_MISSES), d->missed);
    const saltus_mask longer = ends & SALTUS_EQ(d->missed, zero);
    d->length = saltus_select(longer, d->length * 2.0, d->length);
    d->length = saltus_select(is_full, d->length * 0.5, d->length);
    b->t = saltus_select(c->fired | c->missed, b->t_next, b->t);
    b->t = saltus_select(ends, d->end, b->t);
    d->waits |= ends | is_full;
    d->end = saltus_select(ends | is_full, saltus_splat(-1.0), d->end);
    d->voids -= SALTUS_AS_U64(lanes & ~c->fired);
    b->block -= SALTUS_AS_U64(lanes & d->odd);
    d->odd ^= lanes;
}

#endif
