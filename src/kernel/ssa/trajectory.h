/**
 * One trajectory: its whole state, its samples, its clocks and its events (SBML Level 3 Version 2,
 * section 4.12). One lane wide. Between two reactions nothing changes but the clocks, so a
 * trajectory stands still until the earlier of its next reaction, sample and special time.
 */
#ifndef SALTUS_KERNEL_SSA_TRAJECTORY_H
#define SALTUS_KERNEL_SSA_TRAJECTORY_H

#include "kernel/ssa/delayed.h"
#include "kernel/ssa/turning.h"
#include "kernel/ssa/values.h"

/* Set flags to their present values. Returns 1 if any changed. */
SALTUS_FN int saltus_trajectory_run_clocks(saltus_trajectory *p)
{
    int changed = 0;
    for (int f = 0; f < p->n->n_flags; ++f) {
        const saltus_clock *c = &p->n->clocks[f];
#if !SALTUS_DEVICE
        if (c->kind != SALTUS_CLOCK_STEPS) {
            changed |= saltus_clock_is_searched(c) && saltus_turning_update(p, c);
            continue;
        }
#endif
        const double when = saltus_trajectory_value(p, c->when);
        const int passed = when < p->t || (when == p->t && (!c->strict || p->after));
        const double value = passed == c->after ? 1.0 : 0.0;
        changed |= p->v[SALTUS_AT(c->row)] != value;
        p->v[SALTUS_AT(c->row)] = value;
    }
    return changed;
}

/* Compute rows from the counts: rules first, because a clock may read them, and again while a flag
 * changes, because the rule of another clock may read it. */
SALTUS_LARGE_FN void saltus_trajectory_refresh(saltus_trajectory *p)
{
    const saltus_tables *n = p->n;
    for (int s = 0; s < n->n_species && !SALTUS_COUNTS_ARE_REAL(p); ++s) {
        p->v[SALTUS_AT(s)] = (double)p->x[SALTUS_AT(s)];
    }
    p->v[SALTUS_AT(n->row_time)] = p->t;
    saltus_trajectory_run_live_rules(p);
    for (int f = 0; SALTUS_EVENTS && f < n->n_flags && saltus_trajectory_run_clocks(p); ++f) {
        saltus_trajectory_run_live_rules(p);
    }
}

/* Find the earliest time at which something happens by itself. */
SALTUS_FN void saltus_trajectory_find_special(saltus_trajectory *p)
{
#if SALTUS_DEVICE
    p->special = SALTUS_INFINITY;
#else
    p->special = saltus_next_end(p);
#endif
    p->special_strict = 0;
    for (int i = 0; SALTUS_EVENTS && i < p->n_pending; ++i) {
        if (p->pending[SALTUS_AT(i)].time < p->special) {
            p->special = p->pending[SALTUS_AT(i)].time;
        }
    }
    for (int f = 0; SALTUS_EVENTS && f < p->n->n_flags; ++f) {
        const saltus_clock *c = &p->n->clocks[f];
#if !SALTUS_DEVICE
        if (c->kind == SALTUS_CLOCK_NEXT) {
            continue;
        }
#endif
        const double when = saltus_trajectory_value(p, c->when);
        const int to_come = when > p->t || (when == p->t && c->strict && !p->after);
        if (to_come && (when < p->special || (when == p->special && !c->strict))) {
            p->special = when;
            p->special_strict = c->strict;
        }
    }
}

SALTUS_FN void saltus_trajectory_forget(saltus_trajectory *p, int i)
{
    const int last = --p->n_pending;
    for (int j = i; j < last; ++j) {
        p->pending[SALTUS_AT(j)] = p->pending[SALTUS_AT(j + 1)];
        for (int k = 0; k < p->n->largest_event; ++k) {
            p->pending_values[SALTUS_AT(j * p->n->largest_event + k)] =
                p->pending_values[SALTUS_AT((j + 1) * p->n->largest_event + k)];
        }
    }
}

/* The value of an assignment, or of what is drawn at time 0. */
SALTUS_FN saltus_failure saltus_trajectory_setting(saltus_trajectory *p, int setting, double *value)
{
    const saltus_setting *s = &p->n->settings[setting];
    if (SALTUS_VARIATES && s->n_variates > 0) {
        saltus_trajectory_draw(p, s->first_variate, s->n_variates);
    }
    *value = saltus_trajectory_value(p, s->value);
    return saltus_trajectory_check_drawn(p, s->first_variate, s->n_variates, *value);
}

SALTUS_FN saltus_failure saltus_trajectory_evaluate(saltus_trajectory *p, const saltus_trigger *e,
                                                    double *values)
{
    for (int k = 0; k < e->n_assignments; ++k) {
        if (saltus_trajectory_setting(p, e->first_assignment + k, &values[SALTUS_AT(k)]) !=
            SALTUS_FINE) {
            return p->failure;
        }
    }
    return SALTUS_FINE;
}

/* An event's delay, from now on. */
SALTUS_FN saltus_failure saltus_trajectory_delay(saltus_trajectory *p, int trigger, double *delay)
{
    const saltus_trigger *e = &p->n->triggers[trigger];
    if (SALTUS_VARIATES && e->n_variates > 0) {
        saltus_trajectory_draw(p, e->first_variate, e->n_variates);
    }
    *delay = e->has_delay ? saltus_trajectory_value(p, e->delay) : 0.0;
    if (saltus_trajectory_check_drawn(p, e->first_variate, e->n_variates, *delay) != SALTUS_FINE) {
        return p->failure;
    }
    return *delay >= 0.0 ? SALTUS_FINE
                         : saltus_trajectory_fail(p, SALTUS_BAD_DELAY, trigger, *delay);
}

/* Give the variable or the species of a setting its value; a count is rounded half to even. */
SALTUS_FN saltus_failure saltus_trajectory_set(saltus_trajectory *p, int setting, double value)
{
    const int row = p->n->settings[setting].row;
    if (row >= p->n->n_species || SALTUS_COUNTS_ARE_REAL(p)) {
        p->v[SALTUS_AT(row)] = value;
        return SALTUS_FINE;
    }
    const double whole = saltus_round_even(value);
    if (!(whole >= 0.0 && whole < 9223372036854775808.0)) {
        return saltus_trajectory_fail(p, SALTUS_BAD_ASSIGNMENT, setting, value);
    }
    p->rounded[SALTUS_AT(setting)] |= whole != value;
    p->x[SALTUS_AT(row)] = (int64_t)whole;
    p->v[SALTUS_AT(row)] = whole; /* rules that give sizes may read it */
    return SALTUS_FINE;
}

/* Whether a program is true of the rows as they are now. */
SALTUS_FN int saltus_trajectory_is_true(saltus_trajectory *p, saltus_program program)
{
    const double value = saltus_trajectory_value(p, program);
    return value != 0.0 && value == value;
}

/** Whether trigger number i is. */
SALTUS_FN int saltus_trajectory_is_on(saltus_trajectory *p, int i)
{
    return saltus_trajectory_is_true(p, p->n->triggers[i].trigger);
}

/** Whether condition number i of those that may waver is. */
SALTUS_FN int saltus_trajectory_holds(saltus_trajectory *p, int i)
{
    return saltus_trajectory_is_true(p, p->n->wavering[i]);
}

/** Whether they turn trigger number i. */
SALTUS_FN int saltus_trajectory_turns(saltus_trajectory *p, int i)
{
    return saltus_trajectory_is_on(p, i) != p->on[SALTUS_AT(i)];
}

/* Trigger the events whose triggers have become true, cancel those that may be cancelled. */
SALTUS_FN saltus_failure saltus_trajectory_check(saltus_trajectory *p)
{
    for (int i = 0; i < p->n->n_triggers; ++i) {
        const saltus_trigger *e = &p->n->triggers[i];
        const uint8_t now = (uint8_t)saltus_trajectory_is_on(p, i);
        if (now && !p->on[SALTUS_AT(i)]) {
            double delay = 0.0;
            if (saltus_trajectory_delay(p, i, &delay) != SALTUS_FINE) {
                return p->failure;
            }
            if (p->n_pending == p->pending_capacity && !p->make_room(p)) {
                return saltus_trajectory_fail(p, SALTUS_OUT_OF_MEMORY, i, 0.0);
            }
            p->pending[SALTUS_AT(p->n_pending)].time = p->t + delay;
            p->pending[SALTUS_AT(p->n_pending)].trigger = i;
            if (e->use_trigger_values &&
                saltus_trajectory_evaluate(
                    p, e, p->pending_values + SALTUS_AT(p->n_pending * p->n->largest_event)) !=
                    SALTUS_FINE) {
                return p->failure;
            }
            ++p->n_pending;
        } else if (!now && p->on[SALTUS_AT(i)] && !e->persistent) {
            for (int j = p->n_pending - 1; j >= 0; --j) {
                if (p->pending[SALTUS_AT(j)].trigger == i) {
                    saltus_trajectory_forget(p, j);
                }
            }
        }
        p->on[SALTUS_AT(i)] = now;
    }
    return SALTUS_FINE;
}

/* Of the events that are due, the one of highest priority, by a draw among equals. Those without a
 * priority come last, in the order in which they were triggered. -1: none is due. */
SALTUS_FN int saltus_trajectory_next_due(saltus_trajectory *p)
{
    int best = -1, n_best = 0, best_has = 0;
    double best_priority = 0.0;
    for (int i = 0; i < p->n_pending; ++i) {
        if (p->pending[SALTUS_AT(i)].time > p->t) {
            continue;
        }
        const saltus_trigger *e = &p->n->triggers[p->pending[SALTUS_AT(i)].trigger];
        const double priority = e->has_priority ? saltus_trajectory_value(p, e->priority) : 0.0;
        if (best < 0 || (e->has_priority && (!best_has || priority > best_priority))) {
            best = i;
            n_best = 1;
            best_has = e->has_priority;
            best_priority = priority;
        } else if (best_has && e->has_priority && priority == best_priority) {
            ++n_best;
        }
    }
    if (n_best > 1) {
        saltus_u64 w[4];
        saltus_philox(p->seed, SALTUS_PURPOSE_TIE, p->trajectory, p->ties++, w);
        int skip = (int)((w[0] * (uint64_t)n_best) >> 32);
        for (int i = best; i < p->n_pending; ++i) {
            const saltus_trigger *e = &p->n->triggers[p->pending[SALTUS_AT(i)].trigger];
            if (p->pending[SALTUS_AT(i)].time <= p->t && e->has_priority &&
                saltus_trajectory_value(p, e->priority) == best_priority && skip-- == 0) {
                return i;
            }
        }
    }
    return best;
}

/* Make the assignments of an event that, or do not, depend on a size that it may set. Returns
 * whether there are others. */
SALTUS_FN int saltus_trajectory_assign(saltus_trajectory *p, const saltus_trigger *e,
                                       const double *values, int are_sized)
{
    int others = 0;
    for (int k = 0; k < e->n_assignments && p->failure == SALTUS_FINE; ++k) {
        const int setting = e->first_assignment + k, size = p->n->settings[setting].size;
        if ((size >= 0) != are_sized) {
            others = 1;
        } else {
            const double value = values[SALTUS_AT(k)];
            (void)saltus_trajectory_set(p, setting,
                                        are_sized ? value * p->v[SALTUS_AT(size)] : value);
        }
    }
    return others;
}

/* Execute pending event i: all its assignments at once. */
SALTUS_FN saltus_failure saltus_trajectory_execute(saltus_trajectory *p, int i)
{
    const saltus_trigger *e = &p->n->triggers[p->pending[SALTUS_AT(i)].trigger];
    double *values = p->pending_values + SALTUS_AT(i * p->n->largest_event);
    if (!e->use_trigger_values && saltus_trajectory_evaluate(p, e, values) != SALTUS_FINE) {
        return p->failure;
    }
    if (saltus_trajectory_assign(p, e, values, 0) && p->failure == SALTUS_FINE) {
        saltus_trajectory_run_live_rules(p); /* sizes may be rules */
        (void)saltus_trajectory_assign(p, e, values, 1);
    }
    if (p->failure == SALTUS_FINE) {
        saltus_trajectory_forget(p, i);
    }
    return p->failure;
}

/** Bring rows, flags and events in line with the counts and the time. It is called after either
 * changed other than by the reaction tables, ends reactions that are due, and executes every event
 * that is. */
SALTUS_LARGE_FN saltus_failure saltus_trajectory_settle(saltus_trajectory *p)
{
#if !SALTUS_DEVICE
    if (saltus_delayed_end(p) != SALTUS_FINE) {
        return p->failure;
    }
#endif
    saltus_trajectory_refresh(p);
    for (int n_executed = 0; SALTUS_EVENTS && p->n->n_triggers > 0; ++n_executed) {
        if (saltus_trajectory_check(p) != SALTUS_FINE) {
            return p->failure;
        }
        const int due = saltus_trajectory_next_due(p);
        if (due < 0) {
            break;
        }
        if (n_executed >= SALTUS_MAX_CASCADE) {
            return saltus_trajectory_fail(p, SALTUS_EVENT_STORM, p->pending[SALTUS_AT(due)].trigger,
                                          0.0);
        }
        if (saltus_trajectory_execute(p, due) != SALTUS_FINE) {
            return p->failure;
        }
        saltus_trajectory_refresh(p);
    }
#if !SALTUS_DEVICE
    saltus_turning_search(p);
#endif
    saltus_trajectory_find_special(p);
    return SALTUS_FINE;
}

/** How many laws that may bend have a row of directions. */
SALTUS_FN int saltus_row_laws(const saltus_tables *n, int row)
{
    int laws = 0;
    for (int i = 0; i < n->n_bending; ++i) {
        laws += n->bend_of[i] == row;
    }
    return laws;
}

/** How many conditions that may waver have it. */
SALTUS_FN int saltus_row_conditions(const saltus_tables *n, int row)
{
    int conditions = 0;
    for (int i = 0; i < n->n_wavering; ++i) {
        conditions += n->waver_of[i] == row;
    }
    return conditions;
}

/** Whether the counts, rules and time as they are now turn a flag or a trigger, so that
 * saltus_trajectory_settle has something to do. Finds the next special time if it does not. */
SALTUS_FN int saltus_trajectory_triggers(saltus_trajectory *p)
{
    p->v[SALTUS_AT(p->n->row_time)] = p->t;
    if (saltus_trajectory_run_clocks(p)) {
        return 1;
    }
    for (int i = 0; i < p->n->n_triggers; ++i) {
        if (saltus_trajectory_turns(p, i)) {
            return 1;
        }
    }
    if (p->n->n_flags > 0) {
        saltus_trajectory_find_special(p);
    }
    return 0;
}

/* The initial count of species s, on a device of method ode what is whole of it. */
SALTUS_FN int64_t saltus_trajectory_initial_count(const saltus_trajectory *p, int s)
{
    return SALTUS_DEVICE ? (int64_t)p->point[p->at.counts + s] : p->n->initial_counts[s];
}

/* The same where counts are real: a device has it in the place of the count. */
SALTUS_FN double saltus_trajectory_initial_amount(const saltus_trajectory *p, int s)
{
#if SALTUS_DEVICE
    return p->point[p->at.counts + s];
#else
    return p->amounts[s];
#endif
}

SALTUS_FN double saltus_trajectory_initial_variable(const saltus_trajectory *p, int i)
{
    return SALTUS_DEVICE ? p->point[p->at.variables + i] : p->n->initial_variables[i];
}

/* Draw the values at time 0 that differ from trajectory to trajectory, and compute those that
 * follow from them, in their order. */
SALTUS_OUTLINE saltus_failure saltus_trajectory_draw_starts(saltus_trajectory *p)
{
    const saltus_tables *n = p->n;
    for (int i = n->n_settings - n->n_starts; i < n->n_settings; ++i) {
        double value = 0.0;
        if (i == n->n_settings - n->n_starts || n->settings[i].reads_rules) {
            saltus_trajectory_refresh(p);
        }
        if (saltus_trajectory_setting(p, i, &value) != SALTUS_FINE ||
            saltus_trajectory_set(p, i, value) != SALTUS_FINE) {
            return p->failure;
        }
        const int row = n->settings[i].row;
        if (row < n->n_species && !SALTUS_COUNTS_ARE_REAL(p)) {
            p->v[SALTUS_AT(row)] = (double)p->x[SALTUS_AT(row)];
        }
    }
    return SALTUS_FINE;
}

/** Start trajectory number `trajectory` at time 0, with events at time 0 executed. */
SALTUS_FN saltus_failure saltus_trajectory_start(saltus_trajectory *p, uint64_t trajectory)
{
    const saltus_tables *n = p->n;
    p->trajectory = trajectory;
    p->event = p->fired = p->ties = p->drawn = p->block = p->leaps = p->exact_steps = 0;
    p->exact = 0;
    p->t = 0.0;
    p->after = 0;
    p->sample = 0;
    p->n_pending = 0;
#if !SALTUS_DEVICE
    p->n_unfinished = 0;
    p->n_begun = 0;
#endif
    p->failure = SALTUS_FINE;
    p->window = SALTUS_FIRST_WINDOW;
    p->window_start = p->window_end = -1.0;
    p->window_missed = 0;
    p->has_bounds = 0;
    p->carried.step = p->carried.hazard = p->carried.below = p->carried.largest = 0.0;
    p->carried.is_stiff = p->carried.n_stiff = p->carried.n_smooth = p->carried.n_stalled = 0;
    for (int s = 0; s < n->n_species; ++s) {
        p->x[SALTUS_AT(s)] = saltus_trajectory_initial_count(p, s);
        if (SALTUS_COUNTS_ARE_REAL(p)) {
            p->v[SALTUS_AT(s)] = saltus_trajectory_initial_amount(p, s);
        }
    }
    for (int i = 0; i < n->n_variables; ++i) {
        p->v[SALTUS_AT(n->row_variables + i)] = saltus_trajectory_initial_variable(p, i);
    }
    for (int f = 0; f < n->n_flags; ++f) {
        p->v[SALTUS_AT(n->row_flags + f)] = n->clocks[f].after ? 0.0 : 1.0;
    }
    for (int i = 0; i < n->n_triggers; ++i) {
        p->on[SALTUS_AT(i)] = (uint8_t)n->triggers[i].initial_value;
    }
    if (SALTUS_VARIATES && n->n_starts > 0 && saltus_trajectory_draw_starts(p) != SALTUS_FINE) {
        return p->failure;
    }
    return saltus_trajectory_settle(p);
}

/** Write sample number p->sample, taken at `time`, into the trajectory's counts[point][count] and
 * observables[point][observable]. */
SALTUS_FN void saltus_trajectory_record(saltus_trajectory *p, double time, int64_t *counts,
                                        double *observables)
{
    const saltus_columns *columns = p->columns;
    for (int c = 0; c < columns->n_counts; ++c) {
        counts[p->sample * columns->n_counts + c] = p->x[SALTUS_AT(columns->count_species[c])];
    }
    if (columns->n_observables > 0) {
        p->v[SALTUS_AT(p->n->row_time)] = time;
        saltus_trajectory_run_rules(p);
    }
    for (int o = 0; o < columns->n_observables; ++o) {
        const saltus_observable *q = &columns->observables[o];
        const double value = q->row < 0 ? q->value : p->v[SALTUS_AT(q->row)];
        const double divisor = q->divisor_row < 0 ? q->divisor : p->v[SALTUS_AT(q->divisor_row)];
        observables[p->sample * columns->n_observables + o] = value / divisor;
    }
    ++p->sample;
}

/** A special time comes before a sample at `time` and before a reaction at that time. */
SALTUS_FN int saltus_trajectory_special_first(const saltus_trajectory *p, double time)
{
    return SALTUS_EVENTS && (p->special < time || (p->special == time && !p->special_strict));
}

/** Go to the special time and do what is due there. The wait that was pending is void, and so is
 * its event number. */
SALTUS_FN saltus_failure saltus_trajectory_pass_special(saltus_trajectory *p)
{
    p->t = p->special;
    p->after = p->special_strict;
    ++p->event;
    return saltus_trajectory_settle(p);
}

#endif
