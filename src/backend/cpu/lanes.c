/* Trajectories in lanes. Compiled once per instruction set: SALTUS_VARIANT is its name,
 * SALTUS_LANES its width. */
#include "backend/cpu/cells.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/one_lane.h"

#include "core/memory.h"
#include "engine/keep.h"
#include "kernel/ssa/direct_lanes.h"
#include "kernel/ssa/thinned_lanes.h"

#include <stdlib.h>

extern const saltus_instruction_set SALTUS_SET_NAME(saltus_set);

/* With fewer busy lanes than these, one trajectory at a time is faster. */
enum { FEW = SALTUS_LANES / 5 };
/* Counts stay exact in double if they are checked this often and change by less than 2^35. */
enum { CHECK_EVERY = 1 << 16 };

typedef struct lane_group {
    const saltus_task *task;
    const saltus_source *source;
    saltus_lanes lanes;
    saltus_job jobs[SALTUS_LANES];
    saltus_scalar_engine *scalars[SALTUS_LANES];
    uint64_t void_events[SALTUS_LANES]; /* event numbers whose wait was void */
    saltus_mask *on;                    /* [trigger] its last value; NULL: none reads counts */
    saltus_thinned_lanes thinned;       /* of laws that drift with time; else empty */
    int steps_lost;                     /* by lanes that wait for windows */
    int64_t steps_of_windows;           /* all of them */
    saltus_cells *cells;                /* of time, for these laws; NULL: not used */
    saltus_spans *cell_slots;           /* [interval] */
    uint64_t busy, vacant;              /* bit l: lane l has a job; lane l waits for one */
    saltus_mask alive;                  /* the same as busy */
    bool dry;                           /* there will be no more jobs */
    saltus_scalar_engine *single;       /* runs trajectories that lanes cannot carry */
} lane_group;

/* The number of a lane's next event, between two steps. */
static uint64_t event_of(const lane_group *c, int l)
{
    return 2 * c->lanes.block[l] + (c->thinned.odd[l] != 0);
}

/* How many of those before it were void. */
static uint64_t void_events(const lane_group *c, int l)
{
    return c->void_events[l] + c->thinned.voids[l];
}

/* Time of the next sample or special time. */
static double next_stop(const lane_group *c, const saltus_trajectory *p)
{
    const double sample = c->task->times[p->sample];
    return p->special < sample ? p->special : sample;
}

/* The numbers of the lane's point. */
static void point_to_lane(lane_group *c, int l)
{
    const saltus_tables *n = c->scalars[l]->trajectory.n;
    for (int r = 0; r < n->n_reactions; ++r) {
        c->lanes.rate[r][l] = n->rate[r];
    }
    for (int i = 0; i < n->n_constants; ++i) {
        c->lanes.v[n->row_constants + i][l] = n->constants[i];
    }
}

static void trajectory_to_lane(lane_group *c, int l)
{
    const saltus_scalar_engine *w = c->scalars[l];
    saltus_scalar_to_lane(w, (double *)c->lanes.v + l, SALTUS_LANES);
    c->lanes.t[l] = w->trajectory.t;
    c->lanes.stop[l] = next_stop(c, &w->trajectory);
    c->thinned.special[l] = w->trajectory.special;
    for (int i = 0; c->on && i < w->trajectory.n->n_triggers; ++i) {
        c->on[i][l] = -(int64_t)(w->trajectory.on[i] != 0);
    }
}

static void lane_to_trajectory(lane_group *c, int l)
{
    saltus_scalar_from_lane(c->scalars[l], (const double *)c->lanes.v + l, SALTUS_LANES);
    c->scalars[l]->trajectory.t = c->lanes.t[l];
}

static void make_idle(lane_group *c, int l)
{
    c->busy &= ~((uint64_t)1 << l);
    c->alive[l] = 0;
    c->lanes.stop[l] = -__builtin_inf();
}

static saltus_status finish_lane(lane_group *c, int l, saltus_error *err)
{
    make_idle(c, l);
    c->vacant |= (uint64_t)1 << l;
    return c->source->done(c->source->user, &c->jobs[l], 1, err);
}

/* Start a trajectory that lanes cannot carry again, in the scalar engine: a count beyond 2^52, or a
 * failure, which is found again and reported there. */
static saltus_status rerun_lane(lane_group *c, int l, saltus_error *err)
{
    saltus_status status = saltus_scalar_run_job(c->single, c->task, &c->jobs[l], err);
    return status == SALTUS_OK ? finish_lane(c, l, err) : status;
}

/* Let the lane go on with what its engine has; too many molecules are the engine's alone. */
static saltus_status return_to_lane(lane_group *c, int l, saltus_error *err)
{
    trajectory_to_lane(c, l);
    return saltus_scalar_fits_lane(c->scalars[l]) ? SALTUS_OK : rerun_lane(c, l, err);
}

static saltus_status start_lane(lane_group *c, int l, saltus_error *err)
{
    saltus_scalar_engine *w = c->scalars[l];
    const saltus_trajectory *p = &w->trajectory;
    const bool is_under_way =
        saltus_scalar_take(w, c->task, &c->jobs[l]) && (p->event % 2 == 0 || p->n->n_thinned > 0);
    if (!is_under_way && saltus_scalar_start(w, c->task, &c->jobs[l]) != SALTUS_FINE) {
        return saltus_scalar_report(w, c->task, err);
    }
    c->lanes.trajectory[l] = (uint64_t)c->jobs[l].trajectory;
    c->lanes.block[l] = p->event / 2;
    c->void_events[l] = p->event - p->fired;
    c->thinned.odd[l] = -(int64_t)(p->event % 2);
    c->thinned.waits[l] = -(int64_t)(p->n->n_thinned > 0);
    c->thinned.voids[l] = 0;
    c->thinned.length[l] = p->window;
    c->thinned.start[l] = p->window_start;
    c->thinned.end[l] = p->window_end;
    c->thinned.missed[l] = p->window_missed;
    c->busy |= (uint64_t)1 << l;
    c->alive[l] = -1;
    if (c->task->varies) {
        point_to_lane(c, l);
    }
    return return_to_lane(c, l, err);
}

/* Give vacant lanes the next jobs. */
static saltus_status fill_lanes(lane_group *c, saltus_error *err)
{
    saltus_job jobs[SALTUS_LANES];
    const bool wait = c->busy == 0;
    const int wanted = __builtin_popcountll(c->vacant);
    const int n = saltus_source_take(c->source, jobs, wanted, wait);
    if (n == 0 && wait) {
        c->dry = true;
    }
    for (int i = 0; i < n; ++i) {
        const int l = next_lane(&c->vacant);
        c->jobs[l] = jobs[i];
        const saltus_status status = start_lane(c, l, err);
        if (status != SALTUS_OK) {
            return status;
        }
    }
    return SALTUS_OK;
}

/* Between two steps: the whole state of a lane, in its scalar engine. */
static void settle_lane(lane_group *c, int l)
{
    saltus_trajectory *p = &c->scalars[l]->trajectory;
    lane_to_trajectory(c, l);
    p->event = event_of(c, l);
    p->fired = p->event - void_events(c, l);
    p->window = c->thinned.length[l];
    p->window_start = c->thinned.start[l];
    p->window_end = c->thinned.end[l];
    p->window_missed = (uint32_t)c->thinned.missed[l];
}

/* Let the lane's engine take the trajectory to its end. */
static saltus_status leave_lane(lane_group *c, int l, saltus_error *err)
{
    saltus_scalar_engine *w = c->scalars[l];
    settle_lane(c, l);
    if (saltus_scalar_run(w, c->task, &c->jobs[l]) != SALTUS_FINE) {
        return saltus_scalar_report(w, c->task, err);
    }
    return finish_lane(c, l, err);
}

static void record_lane(lane_group *c, int l, double time)
{
    const saltus_columns *columns = c->task->columns;
    saltus_trajectory *p = &c->scalars[l]->trajectory;
    if (columns->n_observables > 0) {
        lane_to_trajectory(c, l);
        saltus_scalar_record(c->scalars[l], time, &c->jobs[l]);
        return;
    }
    int64_t *counts = c->jobs[l].counts + p->sample * columns->n_counts;
    for (int k = 0; k < columns->n_counts; ++k) {
        counts[k] = (int64_t)c->lanes.v[columns->count_species[k]][l];
    }
    ++p->sample;
}

/* Lane l has reached a sample or special time before its event number `event` at t_next. */
static saltus_status stop_lane(lane_group *c, int l, uint64_t event, saltus_error *err)
{
    saltus_trajectory *p = &c->scalars[l]->trajectory;
    const double t_next = c->lanes.t_next[l];
    for (;;) {
        const double sample = c->task->times[p->sample];
        const double first = sample < t_next ? sample : t_next;
        if (p->special < first || (p->special == first && !p->special_strict)) {
            lane_to_trajectory(c, l);
            if (saltus_scalar_pass_special(c->scalars[l]) != SALTUS_FINE) {
                return saltus_scalar_report(c->scalars[l], c->task, err);
            }
            ++c->void_events[l];
            c->lanes.t_next[l] = __builtin_inf();
            return return_to_lane(c, l, err);
        }
        if (sample > t_next) {
            c->lanes.stop[l] = next_stop(c, p);
            return SALTUS_OK;
        }
        record_lane(c, l, sample);
        if (p->sample == c->task->n_times) {
            c->jobs[l].tally.events = (int64_t)(event - c->void_events[l]);
            return finish_lane(c, l, err);
        }
    }
}

static saltus_status stop_lanes(lane_group *c, uint64_t bits, saltus_mask bad, int h,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        status = bad[l] ? rerun_lane(c, l, err)
                        : stop_lane(c, l, 2 * c->lanes.block[l] + (uint64_t)h, err);
    }
    return status;
}

/* Decide lanes whose choice 32 bits did not decide: undo what was fired and choose with more bits.
 */
static void decide_lanes(lane_group *c, uint64_t bits, saltus_mask missed, int h)
{
    const saltus_tables *n = c->task->tables;
    saltus_lanes *b = &c->lanes;
    const int n_groups = (n->n_reactions + SALTUS_FANOUT - 1) / SALTUS_FANOUT;
    while (bits) {
        const int l = next_lane(&bits);
        const saltus_scalar_engine *w = c->scalars[l];
        const uint64_t event = 2 * b->block[l] + (uint64_t)h;
        double sums[SALTUS_FANOUT + 1][SALTUS_FANOUT];
        for (int k = 0; k < SALTUS_FANOUT * SALTUS_FANOUT; ++k) {
            const int g = k / SALTUS_FANOUT;
            const int end =
                (g + 1) * SALTUS_FANOUT < n->n_reactions ? (g + 1) * SALTUS_FANOUT : n->n_reactions;
            sums[g][k % SALTUS_FANOUT] = g < n_groups ? b->sums[k < end ? k : end - 1][l] : 0.0;
            sums[SALTUS_FANOUT][g] = b->groups[g < n_groups ? g : n_groups - 1][l];
        }
        const int n_levels = n_groups > 1 ? 2 : 1;
        for (int refined = 0; refined < 2; ++refined) {
            if (!refined && missed[l]) {
                continue;
            }
            const int r =
                saltus_scalar_choose(w, sums, n_levels, b->total[l], b->word[h][l], event, refined);
            for (int k = n->change_row[r]; k < n->change_row[r + 1]; ++k) {
                const double change = (double)n->change_amount[k];
                b->v[n->change_species[k]][l] += refined ? change : -change;
            }
        }
    }
}

static void refine_waits(lane_group *c, uint64_t bits)
{
    saltus_lanes *b = &c->lanes;
    while (bits) {
        const int l = next_lane(&bits);
        saltus_u64 w[4];
        saltus_philox(c->task->seed, SALTUS_PURPOSE_EVENT, b->trajectory, b->block, w);
        for (int h = 0; h < 2; ++h) {
            if (w[2 * h][l] == 0) {
                b->wait[h][l] = saltus_scalar_wait(c->scalars[l], 2 * b->block[l] + (uint64_t)h);
            }
        }
    }
}

static saltus_status check_counts(lane_group *c, const int32_t *species, int n, double low,
                                  double high, saltus_error *err)
{
    saltus_mask bad = c->alive & 0;
    for (int i = 0; i < n; ++i) {
        const saltus_f64 x = c->lanes.v[species ? species[i] : i];
        bad |= SALTUS_LT(x, saltus_splat(low)) | SALTUS_LT(saltus_splat(high), x);
    }
    uint64_t bits = saltus_bits(bad & c->alive);
    saltus_status status = SALTUS_OK;
    while (SALTUS_RARE(bits) && status == SALTUS_OK) {
        status = rerun_lane(c, next_lane(&bits), err);
    }
    return status;
}

/* Where reactions that lack what they take do nothing: undo those in some lanes that did, and
 * return these. */
static saltus_mask undo_idle(lane_group *c, saltus_mask lanes)
{
    const saltus_tables *n = c->task->tables;
    if (!c->lanes.counts) {
        return lanes & 0;
    }
    const saltus_mask lack = lanes & saltus_lanes_lack(n, &c->lanes);
    saltus_lanes_undo(n, &c->lanes, lack);
    return lack;
}

/* Let happen what reactions have set off, or switched. */
static saltus_status let_happen(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = c->task->tables;
    c->lanes.v[n->row_time] = c->lanes.t;
    saltus_lanes_run_rules(n, c->lanes.v);
    uint64_t bits = saltus_bits(saltus_lanes_turned(n, c->lanes.v, c->on) & c->alive);
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        lane_to_trajectory(c, l);
        w->trajectory.after = 0;
        if (saltus_scalar_settle(w) != SALTUS_FINE) {
            return saltus_scalar_report(w, c->task, err);
        }
        c->thinned.waits[l] = -(int64_t)(n->n_thinned > 0); /* for the next window */
        c->thinned.end[l] = -1.0;
        status = return_to_lane(c, l, err);
    }
    return status;
}

/* One event in every busy lane. */
static saltus_status step_lanes(lane_group *c, int h, saltus_error *err)
{
    const saltus_tables *n = c->task->tables;
    saltus_lanes *b = &c->lanes;
    saltus_status status = SALTUS_OK;
    saltus_mask missed;

    const saltus_mask bad = saltus_lanes_propose(n, b, h) & c->alive;
    const uint64_t stopped = saltus_bits((~SALTUS_LT(b->t_next, b->stop) & c->alive) | bad);
    if (stopped) {
        SALTUS_TRY(stop_lanes(c, stopped, bad, h, err));
    }
    saltus_lanes_note(n, b);
    const saltus_mask undecided = saltus_lanes_fire(n, b, SALTUS_LT(b->t_next, b->stop), &missed);
    const uint64_t bits = saltus_bits(undecided);
    if (SALTUS_RARE(bits)) {
        decide_lanes(c, bits, missed, h);
    }
    for (uint64_t idle = saltus_bits(undo_idle(c, c->alive)); idle;) {
        ++c->void_events[next_lane(&idle)];
    }
    if (n->n_unsafe > 0) {
        SALTUS_TRY(check_counts(c, n->unsafe, n->n_unsafe, 0.0, saltus_lanes_largest, err));
    }
    if (c->on) {
        SALTUS_TRY(let_happen(c, err));
    }
done:
    return status;
}

#include "backend/cpu/windows.h"

static void keep_lanes(lane_group *c)
{
    for (uint64_t bits = c->busy; bits;) {
        const int l = next_lane(&bits);
        settle_lane(c, l);
        saltus_scalar_keep(c->scalars[l], c->task, &c->jobs[l]);
    }
}

/* Run the last few trajectories one at a time. */
static saltus_status finish_singly(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint64_t bits = c->busy;
    while (bits && status == SALTUS_OK) {
        status = leave_lane(c, next_lane(&bits), err);
    }
    return status;
}

/* Report how far the trajectories under way have come. */
static void report_times(const lane_group *c)
{
    double t = 0.0;
    uint64_t fired = 0, bits = c->busy;
    while (bits) {
        const int l = next_lane(&bits);
        t += c->lanes.t[l];
        fired += event_of(c, l) - void_events(c, l);
    }
    saltus_reached_store(c->task->reached, t, fired);
}

static saltus_status run_lane_group(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = c->task->tables;
    for (uint64_t step = 1;; ++step) {
        if (c->vacant && !c->dry) {
            SALTUS_TRY(fill_lanes(c, err));
        }
        if (c->busy == 0) {
            if (c->dry) {
                break;
            }
            continue;
        }
        if (c->vacant && __builtin_popcountll(c->busy) <= FEW) {
            SALTUS_TRY(finish_singly(c, err));
            continue;
        }
        const saltus_mask zero = saltus_lanes_draw(&c->lanes, c->task->seed);
        const uint64_t bits = saltus_bits(zero);
        if (SALTUS_RARE(bits)) {
            refine_waits(c, bits);
        }
        if (n->n_thinned > 0) {
            SALTUS_TRY(step_windows(c, 0, err));
            SALTUS_TRY(step_windows(c, 1, err));
        } else {
            SALTUS_TRY(step_lanes(c, 0, err));
            SALTUS_TRY(step_lanes(c, 1, err));
            c->lanes.block += 1;
        }
        if (step % CHECK_EVERY == 0) {
            SALTUS_TRY(check_counts(c, NULL, n->n_species, 0.0, saltus_lanes_largest, err));
        }
        if (step % 256 == 0) {
            report_times(c);
            const bool is_due = saltus_keep_is_due(c->task);
            if (is_due) {
                keep_lanes(c);
            }
            if (saltus_keep_stops(c->task, is_due)) {
                SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
            }
        }
    }
done:
    return status;
}

saltus_status SALTUS_SET_NAME(saltus_lanes_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err);

saltus_status SALTUS_SET_NAME(saltus_lanes_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = task->tables;
    const bool may_idle = n->idles && n->n_unsafe > 0;
    const size_t n_numbers =
        (size_t)n->n_rows + 4 * (size_t)n->n_intervals + 2 * (size_t)n->n_thinned;
    const size_t n_triggers = n->watches_state ? (size_t)n->n_triggers : 0;
    const size_t n_vectors = n_numbers + (may_idle ? (size_t)n->n_species : 0);
    const size_t size = (n_vectors + n_triggers) * sizeof(saltus_f64);
    lane_group *c = aligned_alloc(_Alignof(lane_group), sizeof(lane_group));
    SALTUS_NEED(c);
    memset(c, 0, sizeof *c);
    c->task = task;
    c->source = source;
    c->lanes.v = aligned_alloc(_Alignof(saltus_f64), size);
    SALTUS_NEED(c->lanes.v);
    memset(c->lanes.v, 0, size);
    c->lanes.counts = may_idle ? c->lanes.v + n_numbers : NULL;
    c->on = n_triggers > 0 ? (saltus_mask *)(c->lanes.v + n_vectors) : NULL;
    prepare_windows(c);
    c->lanes.v[n->row_one] = saltus_splat(1.0);
    for (int i = 0; i < n->n_constants; ++i) {
        c->lanes.v[n->row_constants + i] = saltus_splat(n->constants[i]);
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        c->lanes.rate[r] = saltus_splat(n->rate[r]);
    }
    for (int l = 0; l < SALTUS_LANES; ++l) {
        SALTUS_TRY(saltus_scalar_create(task, &SALTUS_SET_NAME(saltus_set), &c->scalars[l], err));
        make_idle(c, l);
    }
    SALTUS_TRY(saltus_scalar_create(task, &SALTUS_SET_NAME(saltus_set), &c->single, err));
    for (int l = 0; l < SALTUS_LANES && l < task->share; ++l) { /* leave some to other workers */
        c->vacant |= (uint64_t)1 << l;
    }
    SALTUS_TRY(run_lane_group(c, err));

done:
    if (c) {
        for (int l = 0; l < SALTUS_LANES; ++l) {
            saltus_scalar_destroy(c->scalars[l], task);
        }
        saltus_scalar_destroy(c->single, task);
        saltus_cells_destroy(c->cells);
        free(c->lanes.v);
        free(c);
    }
    return status;
}
