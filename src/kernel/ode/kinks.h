/**
 * Kinks: times at which rates jump or bend, because a table of the time goes to its next entry, a
 * comparison of what drifts with the time turns, floor(time) rises. A step ends there, and its
 * stages are evaluated on this side alone: not before the first time that is far enough from the
 * start to be one of the next piece, where that begins behind a time and not at it.
 */
#ifndef SALTUS_KERNEL_ODE_KINKS_H
#define SALTUS_KERNEL_ODE_KINKS_H

#include "kernel/ode/steps.h"

/* Stages may be anywhere in a step that begins now. */
SALTUS_FN void saltus_ode_uncut(const saltus_trajectory *p, saltus_ode *o)
{
    o->from = p->n->n_kinks > 0 ? p->t + saltus_ode_least(p->t) : p->t;
    o->until = SALTUS_INFINITY;
}

/* The piece of kink number i, once the program of pieces was run. */
SALTUS_FN double saltus_ode_piece(const saltus_trajectory *p, int i)
{
    const saltus_kink *k = &p->n->kinks[i];
    const double x = p->v[SALTUS_AT(k->row)];
#if SALTUS_TABLES
    if (k->n_entries > 0) {
        const double *table = p->v + SALTUS_AT(k->table);
        return x >= table[0] ? (double)saltus_table_place(x, table, k->n_entries, 0) : -1.0;
    }
#endif
    return x;
}

/* Whether some kink is in another piece at a time than at the start of the step. */
SALTUS_FN int saltus_ode_is_other_piece(saltus_trajectory *p, const saltus_ode *o, double time)
{
    p->v[SALTUS_AT(p->n->row_time)] = time;
    saltus_program_run(p->n->code, p->n->pieces, p->v);
    for (int i = 0; i < p->n->n_kinks; ++i) {
        const double was = o->piece[SALTUS_AT(i)], is = saltus_ode_piece(p, i);
        if (is != was && (is == is || was == was)) {
            return 1;
        }
    }
    return 0;
}

/* End a step that is to be tried where the first kink is met, if one is: looked for in quarters of
 * the step, and then bisected to neighbouring times. */
SALTUS_OUTLINE void saltus_ode_cut(saltus_trajectory *p, saltus_ode *o)
{
    enum { LOOKS = 4, MOST_HALVES = 2200 };
    double low = o->from, high = o->from;
    int is_other = 0;
    o->until = SALTUS_INFINITY;
    if (!SALTUS_PROGRAMS || p->n->n_kinks == 0) {
        return;
    }
    p->v[SALTUS_AT(p->n->row_time)] = o->from;
    saltus_program_run(p->n->code, p->n->pieces, p->v);
    for (int i = 0; i < p->n->n_kinks; ++i) {
        o->piece[SALTUS_AT(i)] = saltus_ode_piece(p, i);
    }
    for (int k = 1; k <= LOOKS && !is_other; ++k) {
        low = high;
        high = p->t + o->size * ((double)k / LOOKS);
        high = high > low ? high : low;
        is_other = saltus_ode_is_other_piece(p, o, high);
    }
    for (int k = 0; k < MOST_HALVES && is_other; ++k) {
        const double middle = low + 0.5 * (high - low);
        if (!(middle > low && middle < high)) {
            break;
        }
        if (saltus_ode_is_other_piece(p, o, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    if (is_other) {
        o->until = high;
        o->before = low;
        o->size = high - p->t < o->size ? high - p->t : o->size;
        o->is_cut = 1;
    }
}

#endif
