/**
 * Comparisons that drift with time in triggers of events, such as `sin(time) > 0.5`: clocks whose
 * next change is searched for, when anything happens that may have moved it. What is true at
 * moments alone, as `rem(time, 24) == 0`, is where another value jumps, floor(time / 24).
 *
 * Time is gone through in cells that end at multiples of their length, a power of 2. In a cell in
 * which interval arithmetic decides the comparison it does not change, so that no change is passed
 * over; a cell that it does not decide is quartered, down to 2^-32 of the time. If the comparison
 * is another at the end of such a cell, the change is bisected to neighbouring times; one that
 * turns there and back within such a cell is not seen. The least cell is twice as long each time
 * that many were of no use, as where sin(time) comes near 1 and is compared with it. A search that
 * has taken too long, where intervals are of no use or a change is far away, ends with a time at
 * which to go on.
 *
 * It is the host's alone, as it contains all functions twice.
 */
#ifndef SALTUS_KERNEL_SSA_TURNING_H
#define SALTUS_KERNEL_SSA_TURNING_H

#include "kernel/ssa/values.h"

#if !SALTUS_DEVICE
#include "kernel/base/intervals.h"

/* Cells of one search; and after so many the next look is this share of the time, or of 1, away. */
enum { SALTUS_MOST_CELLS = 4000, SALTUS_MANY_UNDECIDED = 256 };
#define SALTUS_LOOK_SHARE 0x1p-10

/* Whether the comparison holds at a time, 1 or 0; or the value there that jumps. */
SALTUS_FN double saltus_turning_holds(saltus_trajectory *p, const saltus_clock *c, double time)
{
    p->v[SALTUS_AT(p->n->row_time)] = time;
    const double value = saltus_trajectory_value(p, c->holds);
    return c->kind == SALTUS_CLOCK_JUMPS ? value : (double)(value == 1.0);
}

/* Whether the value is another than at the number before this time. */
SALTUS_FN int saltus_turning_jumps(saltus_trajectory *p, const saltus_clock *c, double time)
{
    const double before = time > 0.0 ? time * (1.0 - 0x1p-53) : -1e-300;
    const double was = saltus_turning_holds(p, c, before), is = saltus_turning_holds(p, c, time);
    return is < was || is > was;
}

/* Set the flag to what it is now. Returns 1 if that is another. */
SALTUS_FN int saltus_turning_update(saltus_trajectory *p, const saltus_clock *c)
{
    const double was = p->v[SALTUS_AT(c->row)];
    const double is = c->kind == SALTUS_CLOCK_JUMPS ? (double)saltus_turning_jumps(p, c, p->t)
                                                    : saltus_turning_holds(p, c, p->t);
    p->v[SALTUS_AT(c->row)] = is;
    return is != was;
}

/* Whether it is sure to be `is` in a stretch of time. */
SALTUS_FN int saltus_turning_stays(saltus_trajectory *p, const saltus_clock *c, double is,
                                   double from, double to)
{
    double *slots = p->v + SALTUS_AT(p->n->row_slots);
    slots[SALTUS_AT(0)] = from;
    slots[SALTUS_AT(1)] = to;
    const saltus_interval s = saltus_interval_run(p->n->bound_code, c->interval, slots, p->v);
    return s.lo == is && s.hi == is;
}

/* It is `is` at `low` and not at `high`: the first time at which it is not. */
SALTUS_FN double saltus_turning_bisect(saltus_trajectory *p, const saltus_clock *c, double is,
                                       double low, double high)
{
    for (;;) {
        const double middle = low + 0.5 * (high - low);
        if (!(middle > low && middle < high)) {
            return high;
        }
        if (saltus_turning_holds(p, c, middle) == is) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/* The next time at which it changes, or at which to look again. */
SALTUS_OUTLINE double saltus_turning_next(saltus_trajectory *p, const saltus_clock *c)
{
    if (c->kind == SALTUS_CLOCK_JUMPS && saltus_turning_jumps(p, c, p->t)) { /* it is over then */
        return p->t > 0.0 ? SALTUS_AS_F64(SALTUS_AS_I64(p->t) + 1) : 1e-300;
    }
    const double is = saltus_turning_holds(p, c, p->t);
    double at = p->t, cell = 1.0, share = 0x1p-32;
    int n_undecided = 0;
    for (int k = 0; k < SALTUS_MOST_CELLS; ++k) {
        const double least = share * (at > 0x1p-20 ? at : 0x1p-20);
        const double end = (saltus_floor(at / cell) + 1.0) * cell;
        if (!(end < SALTUS_INFINITY)) {
            return SALTUS_INFINITY;
        }
        if (saltus_turning_stays(p, c, is, at, end)) {
            at = end;
            cell *= 16.0;
        } else if (cell > least) {
            cell *= 0.25;
        } else if (saltus_turning_holds(p, c, end) != is) {
            return saltus_turning_bisect(p, c, is, at, end);
        } else {
            at = end;
            const double more = ++n_undecided % SALTUS_MANY_UNDECIDED == 0 ? 2.0 : 1.0;
            share *= more;
            cell *= more;
        }
    }
    const double look = at + SALTUS_LOOK_SHARE * (at > 1.0 ? at : 1.0);
    return saltus_turning_holds(p, c, look) == is ? look
                                                  : saltus_turning_bisect(p, c, is, at, look);
}

/** Search for the next change of all such clocks, once nothing happens any more at this time. */
SALTUS_FN void saltus_turning_search(saltus_trajectory *p)
{
    if (p->n->n_turning == 0) {
        return;
    }
    for (int f = 0; f < p->n->n_flags; ++f) {
        const saltus_clock *c = &p->n->clocks[f];
        if (saltus_clock_is_searched(c)) {
            p->v[SALTUS_AT(c->when.result)] = saltus_turning_next(p, c);
        }
    }
    p->v[SALTUS_AT(p->n->row_time)] = p->t;
}
#endif

#endif
