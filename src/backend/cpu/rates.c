/* Trajectories with rate rules in lanes: slopes and stages are computed for all lanes together,
 * each at its own time and with its own step. A step in which nothing happens but that time passes,
 * or that a reaction ends, is also taken for all lanes together; what follows from another is done
 * by the scalar engine of the lane, which catches up before. Compiled once per instruction set:
 * SALTUS_VARIANT is its name, SALTUS_LANES its width. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/one_lane.h"

#include "core/memory.h"
#include "engine/keep.h"
#include "kernel/ssa/direct_lanes.h"

#include <stdlib.h>

extern const saltus_instruction_set SALTUS_SET_NAME(saltus_set);

/* With fewer busy lanes than these, one trajectory at a time is faster. */
enum { FEW = SALTUS_LANES / 5 };

#include "backend/cpu/motion.h"
#include "kernel/ode/explicit.h"
#include "kernel/ode/roots.h"

typedef struct lane_group {
    saltus_ode_context slopes;
    saltus_ode_memory memory;
    saltus_f64 t, size;
    /* What the engines carry: the size that errors allow, the hazard of the next event, the next
     * special time, the next sample. */
    saltus_f64 step, target, special, sample;
    saltus_u64 n_plain;   /* steps that the engine has not counted */
    saltus_mask is_cut;   /* something else than its error makes the step short */
    saltus_mask is_eased; /* no step was lately at the border of stability */
    const saltus_task *task;
    const saltus_source *source;
    saltus_f64 *numbers;                           /* of rows and memory */
    saltus_lanes lanes;                            /* what firing reactions computes */
    int32_t moving_of[SALTUS_LANES_MAX_REACTIONS]; /* [reaction] number of its moving law, or -1 */
    bool fires;                                    /* reactions can fire in lanes */
    saltus_f64 *y;
    saltus_job jobs[SALTUS_LANES];
    saltus_scalar_engine *scalars[SALTUS_LANES];
    uint64_t busy, vacant;        /* bit l: lane l has a job; lane l waits for one */
    uint64_t again;               /* it tries a step again, shorter */
    uint64_t ahead;               /* its engine has to catch up */
    uint64_t stale;               /* reactions have fired that changed no counts of its engine */
    bool bends;                   /* rates may, in a step */
    bool has_roots;               /* triggers may turn in a step */
    bool may_turn_stiff;          /* steps are watched */
    saltus_f64 *roots;            /* [3][root] */
    bool dry;                     /* there will be no more jobs */
    saltus_scalar_engine *single; /* runs trajectories that fail again, to report them */
} lane_group;

/* Rows that the scalar engine has changed. */
static void rows_to_lane(lane_group *c, int l)
{
    const saltus_trajectory *p = &c->scalars[l]->trajectory;
    for (int row = 0; row < p->n->row_time; ++row) {
        set_lane(&c->slopes.v[row], l, p->v[row]);
    }
}

/* The lane's engine is to know of the steps that it has not seen. */
static void count_plain(lane_group *c, int l)
{
    c->ahead &= ~((uint64_t)1 << l);
    c->scalars[l]->trajectory.block += (uint64_t)whole_of(&c->n_plain, l);
    set_whole(&c->n_plain, l, 0);
}

/* Let the lane's engine stand where the lane stands, between two steps. */
static void catch_up(lane_group *c, int l)
{
    saltus_trajectory *p = &c->scalars[l]->trajectory;
    const int n = c->slopes.n->n_rates;
    if (!(c->ahead >> l & 1)) {
        return;
    }
    count_plain(c, l);
    for (int i = 0; i < n; ++i) {
        p->v[p->n->rate_rows[i]] = lane_of(&c->y[i], l);
    }
    p->t = lane_of(&c->t, l);
    p->v[p->n->row_time] = p->t;
    p->after = 0;
    p->carried.step = lane_of(&c->step, l);
    p->carried.hazard = lane_of(&c->y[n], l);
    p->carried.n_stalled = 0;
    if (c->stale >> l & 1) {
        c->stale &= ~((uint64_t)1 << l);
        saltus_scalar_from_lane(c->scalars[l], (const double *)c->slopes.v + l, SALTUS_LANES);
        SALTUS_SET_NAME(saltus_scalar_follow_lane)(c->scalars[l]);
    }
}

static saltus_status finish_lane(lane_group *c, int l, saltus_error *err)
{
    const uint64_t bit = (uint64_t)1 << l;
    c->busy &= ~bit;
    c->again &= ~bit;
    c->ahead &= ~bit;
    c->stale &= ~bit;
    c->vacant |= bit;
    return c->source->done(c->source->user, &c->jobs[l], 1, err);
}

/* The trajectory has ended, or has failed: then the failure is found again, and reported. */
static saltus_status end_lane(lane_group *c, int l, saltus_error *err)
{
    if (c->scalars[l]->trajectory.failure == SALTUS_FINE) {
        saltus_scalar_count(c->scalars[l], &c->jobs[l]);
        return finish_lane(c, l, err);
    }
    const saltus_status status = saltus_scalar_run_job(c->single, c->task, &c->jobs[l], err);
    return status == SALTUS_OK ? finish_lane(c, l, err) : status;
}

/* Let the lane's engine go on alone. */
static saltus_status leave_lane(lane_group *c, int l, saltus_error *err)
{
    saltus_scalar_engine *w = c->scalars[l];
    catch_up(c, l);
    if (saltus_scalar_run(w, c->task, &c->jobs[l]) != SALTUS_FINE) {
        return saltus_scalar_report(w, c->task, err);
    }
    return finish_lane(c, l, err);
}

static saltus_status start_lane(lane_group *c, int l, saltus_error *err)
{
    saltus_scalar_engine *w = c->scalars[l];
    const saltus_tables *n = c->slopes.n;
    if ((!saltus_scalar_take(w, c->task, &c->jobs[l]) &&
         saltus_scalar_start(w, c->task, &c->jobs[l]) != SALTUS_FINE) ||
        SALTUS_SET_NAME(saltus_scalar_open_ode)(w) != SALTUS_FINE) {
        return saltus_scalar_report(w, c->task, err);
    }
    c->busy |= (uint64_t)1 << l;
    rows_to_lane(c, l);
    for (int i = 0; i < n->n_constants; ++i) {
        const int row = n->row_constants + i;
        set_lane(&c->slopes.v[row], l, w->trajectory.v[row]);
    }
    for (int r = 0; r < n->n_reactions && c->fires; ++r) {
        set_lane(&c->lanes.rate[r], l, w->trajectory.n->rate[r]);
    }
    return w->trajectory.carried.is_stiff ? leave_lane(c, l, err) : SALTUS_OK;
}

/* Give vacant lanes the next jobs. */
static saltus_status fill_lanes(lane_group *c, saltus_error *err)
{
    saltus_job jobs[SALTUS_LANES];
    const bool wait = c->busy == 0;
    const int n = saltus_source_take(c->source, jobs, __builtin_popcountll(c->vacant), wait);
    saltus_status status = SALTUS_OK;
    c->dry |= n == 0 && wait;
    for (int i = 0; i < n && status == SALTUS_OK; ++i) {
        const int l = next_lane(&c->vacant);
        c->jobs[l] = jobs[i];
        status = start_lane(c, l, err);
    }
    return status;
}

/* Begin a step in lanes that are between steps, and whose engine is there too. */
static saltus_status begin_steps(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool has_triggers = c->has_roots || c->slopes.n->watches_state; /* in lanes */
    uint64_t bits = c->busy & ~(c->again | c->ahead);
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        const uint64_t event = w->trajectory.event;
        if (!SALTUS_SET_NAME(saltus_scalar_begin_step)(w, c->task, &c->jobs[l])) {
            status = end_lane(c, l, err);
            continue;
        }
        if (w->trajectory.event != event) {
            rows_to_lane(c, l);
        }
        for (int i = 0; i < c->memory.n; ++i) {
            set_lane(&c->y[i], l, w->ode.y[i]);
        }
        for (int i = 0; i < c->slopes.n->n_triggers && has_triggers; ++i) {
            set_whole(&c->slopes.on[i], l, -(int64_t)w->trajectory.on[i]);
        }
        set_lane(&c->t, l, w->trajectory.t);
        set_lane(&c->slopes.still, l, w->ode.still);
        set_lane(&c->slopes.from, l, w->ode.from);
        set_lane(&c->slopes.until, l, w->ode.until);
    }
    return status;
}

/* The size of the step that is tried, and where it has to end. */
static void size_to_lane(lane_group *c, int l)
{
    const saltus_ode *o = &c->scalars[l]->ode;
    set_lane(&c->size, l, o->size);
    set_lane(&c->slopes.until, l, o->until);
    set_lane(&c->slopes.before, l, o->before);
}

/* Let a lane's engine, which stands where the step begins, know of the step. */
static void step_of_engine(lane_group *c, int l)
{
    saltus_ode *o = &c->scalars[l]->ode;
    catch_up(c, l);
    for (int i = 0; i < c->memory.n; ++i) {
        o->y[i] = lane_of(&c->y[i], l);
        o->k[i] = lane_of(&c->memory.k[i], l);
    }
    o->still = lane_of(&c->slopes.still, l);
    o->from = lane_of(&c->t, l);
    o->size = lane_of(&c->size, l);
    o->is_cut = whole_of(&c->is_cut, l) != 0;
    o->is_rejected = 0;
    o->worst = -1;
}

/* Aim in lanes whose engine is not there: as saltus_ode_aim does it. Lanes in which something is
 * not finite are left to their engine. */
static void aim_ahead(lane_group *c)
{
    const int n = c->memory.n;
    const saltus_mask lanes = mask_of(c->ahead & ~c->again);
    const saltus_f64 zero = saltus_splat(0.0), least = saltus_ode_least(c->t);
    const saltus_f64 room =
        saltus_ode_room(c->special - c->t, c->target - c->y[n - 1], c->memory.k[n - 1]);
    const saltus_f64 at_least = saltus_select(SALTUS_LT(least, room), room, least);
    const saltus_mask is_whole = SALTUS_LT(c->step, room);
    const saltus_f64 size = saltus_select(is_whole, c->step, at_least);
    saltus_mask bad = lanes & 0;
    for (int i = 0; i < n; ++i) {
        bad |= ~(SALTUS_EQ(zero, 0.0 * c->y[i]) & SALTUS_EQ(zero, 0.0 * c->memory.k[i]));
    }
    c->size = saltus_select(lanes, size, c->size);
    c->is_cut = saltus_select_i64(lanes, SALTUS_LT(size, c->step), c->is_cut);
    for (uint64_t bits = saltus_bits(bad & lanes); SALTUS_RARE(bits);) {
        step_of_engine(c, next_lane(&bits));
    }
}

static saltus_status aim_steps(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (c->ahead & ~c->again) {
        aim_ahead(c);
    }
    uint64_t bits = c->busy & ~(c->again | c->ahead);
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        const saltus_trajectory *p = &w->trajectory;
        for (int i = 0; i < c->memory.n; ++i) {
            w->ode.k[i] = lane_of(&c->memory.k[i], l);
        }
        if (SALTUS_SET_NAME(saltus_scalar_aim_step)(w) != SALTUS_FINE) {
            status = end_lane(c, l, err);
            continue;
        }
        size_to_lane(c, l);
        set_lane(&c->step, l, p->carried.step);
        set_lane(&c->target, l, w->ode.target);
        set_lane(&c->lanes.word[0], l, w->ode.word);
        set_lane(&c->special, l, p->special);
        set_lane(&c->sample, l, c->task->times[p->sample]);
        set_whole(&c->is_cut, l, -(int64_t)w->ode.is_cut);
        set_whole(&c->is_eased, l, -(int64_t)(p->carried.n_stiff == 0));
    }
    return status;
}

/* The lanes whose steps were taken, and are none that engines watch: as saltus_ode_judge and
 * saltus_ode_find say it. The step that errors allow next becomes *step. */
static saltus_mask taken_steps(const lane_group *c, saltus_f64 error, saltus_f64 *step)
{
    const saltus_mask border = c->may_turn_stiff
                                   ? saltus_ode_is_at_border(&c->memory, c->size) | ~c->is_eased
                                   : c->is_eased & 0;
    const saltus_f64 longer = c->size * saltus_ode_growth(error, 5);
    const saltus_f64 most = saltus_splat(1e100);
    const saltus_mask stays = SALTUS_LT(c->size, c->step) & SALTUS_LT(longer, c->step);
    const saltus_f64 next = saltus_select(stays, c->step, longer);
    *step = saltus_select(SALTUS_LT(next, most), next, most);
    return SALTUS_LE(error, saltus_splat(1.0)) & SALTUS_EQ(c->slopes.negative, saltus_splat(0.0)) &
           (c->is_cut | ~border) & mask_of(c->busy & ~c->again);
}

/* The share of each step after which a reaction ends it, or 1. Returns the lanes of `taken` in
 * which no trigger turns before. */
static saltus_mask find_ends(lane_group *c, saltus_mask taken, saltus_f64 *theta)
{
    const saltus_ode_memory *m = &c->memory;
    const saltus_mask fires = taken & SALTUS_LE(c->target, m->z[m->n - 1]);
    *theta = saltus_splat(1.0);
    if (saltus_any(fires)) {
        const saltus_ode_polynomial p = saltus_ode_polynomial_of(m, m->n - 1, c->size);
        *theta = saltus_select(fires, saltus_ode_reach(&p, c->target, fires), *theta);
    }
    /* errors are known, and their place is free */
    return c->has_roots && saltus_any(taken)
               ? taken & ~saltus_ode_may_turn(&c->slopes, m, c->t, c->size, *theta,
                                              c->slopes.n->n_roots, c->roots, m->e)
               : taken;
}

/* Take the steps in which nothing happens, and return their lanes. */
static uint64_t pass_steps(lane_group *c, saltus_mask taken, saltus_f64 step)
{
    const saltus_ode_memory *m = &c->memory;
    const int n = m->n;
    const saltus_f64 end = c->t + c->size;
    const saltus_mask lanes = taken & SALTUS_LT(m->z[n - 1], c->target) &
                              SALTUS_LT(end, c->sample) & SALTUS_LT(end, c->special) &
                              SALTUS_LT(c->size, c->special - c->t);
    const uint64_t bits = saltus_bits(lanes);
    if (bits) {
        c->step = saltus_select(lanes, step, c->step);
        c->t = saltus_select(lanes, end, c->t);
        for (int i = 0; i < n; ++i) {
            c->y[i] = saltus_select(lanes, m->z[i], c->y[i]);
        }
        c->n_plain -= SALTUS_AS_U64(lanes);
        c->ahead |= bits;
    }
    return bits;
}

#include "backend/cpu/firing.h"

/* What was computed of a step goes to the lane's engine: all of it only if that looks into it. */
static void step_to_engine(const lane_group *c, int l)
{
    const saltus_ode_memory *m = &c->memory;
    saltus_ode *o = &c->scalars[l]->ode;
    for (int i = 0; i < m->n; ++i) {
        o->z[i] = lane_of(&m->z[i], l);
    }
    o->negative = lane_of(&c->slopes.negative, l);
    if (SALTUS_SET_NAME(saltus_scalar_wants_stages)(c->scalars[l], c->task)) {
        for (int i = 0; i < m->n; ++i) {
            o->w[i] = lane_of(&m->w[i], l);
        }
        for (int i = m->n; i < 7 * m->n; ++i) {
            o->k[i] = lane_of(&m->k[i], l);
        }
    }
}

static saltus_status end_step(lane_group *c, int l, saltus_error *err)
{
    saltus_scalar_engine *w = c->scalars[l];
    c->again &= ~((uint64_t)1 << l);
    step_to_engine(c, l);
    if (!SALTUS_SET_NAME(saltus_scalar_end_step)(w, c->task, &c->jobs[l])) {
        return end_lane(c, l, err);
    }
    if (w->trajectory.carried.is_stiff) {
        return leave_lane(c, l, err);
    }
    if (w->ode.fires || w->ode.turns) {
        rows_to_lane(c, l);
    }
    return SALTUS_OK;
}

static saltus_status judge_steps(lane_group *c, saltus_f64 own, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint64_t bits = c->busy;
    const saltus_f64 error =
        saltus_ode_error_of(own, c->t, c->size, c->memory.z[c->memory.n - 1], c->target);
    if (!c->bends) {
        saltus_f64 step, theta;
        const saltus_mask taken = taken_steps(c, error, &step);
        const saltus_mask lanes = find_ends(c, taken, &theta);
        bits &= ~pass_steps(c, lanes, step);
        bits &= ~react_steps(c, lanes, step, theta, &status, err);
    }
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        if (c->ahead >> l & 1) {
            step_of_engine(c, l);
        }
        const int verdict = SALTUS_SET_NAME(saltus_scalar_judge_step)(w, lane_of(&error, l));
        if (verdict > 0) {
            status = end_step(c, l, err);
        } else if (verdict == 0) {
            c->again |= (uint64_t)1 << l;
            size_to_lane(c, l);
        } else { /* stiff, or it has failed, which its engine finds again */
            c->again &= ~((uint64_t)1 << l);
            w->trajectory.failure = SALTUS_FINE;
            status = leave_lane(c, l, err);
        }
    }
    return status;
}

/* One step, or a try of one, in every busy lane. */
static saltus_status step_lanes(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(begin_steps(c, err));
    if (c->busy) {
        saltus_ode_slope_of(&c->slopes, c->t, c->y, c->memory.k);
        SALTUS_TRY(aim_steps(c, err));
        SALTUS_TRY(judge_steps(c, saltus_ode_explicit(&c->slopes, &c->memory, c->t, c->size), err));
    }
done:
    return status;
}

/* Try again, shorter, where a step was too long. */
static saltus_status repeat_steps(lane_group *c, saltus_error *err)
{
    const uint64_t busy = c->busy;
    c->busy = c->again;
    saltus_status status = SALTUS_OK;
    while (c->again && status == SALTUS_OK) {
        c->busy = c->again;
        status = judge_steps(c, saltus_ode_explicit(&c->slopes, &c->memory, c->t, c->size), err);
    }
    c->busy = busy & ~c->vacant;
    return status;
}

static saltus_status run_all_singly(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (uint64_t bits = c->busy; bits && status == SALTUS_OK;) {
        status = leave_lane(c, next_lane(&bits), err);
    }
    return status;
}

static void keep_lanes(lane_group *c)
{
    for (uint64_t bits = c->busy; bits;) {
        const int l = next_lane(&bits);
        catch_up(c, l);
        saltus_scalar_keep(c->scalars[l], c->task, &c->jobs[l]);
    }
}

static void report_times(const lane_group *c)
{
    double t = 0.0;
    uint64_t fired = 0;
    for (uint64_t bits = c->busy; bits;) {
        const int l = next_lane(&bits);
        t += lane_of(&c->t, l);
        fired += c->scalars[l]->trajectory.fired;
    }
    saltus_reached_store(c->task->reached, t, fired);
}

static saltus_status run_lane_group(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (uint64_t step = 1;; ++step) {
        if (c->vacant && !c->dry) {
            SALTUS_TRY(fill_lanes(c, err));
        }
        if (c->busy == 0 && c->dry) {
            break;
        }
        const bool are_few = c->vacant && __builtin_popcountll(c->busy) <= FEW;
        if (are_few || step % 256 == 0) { /* all are to be between two steps */
            SALTUS_TRY(repeat_steps(c, err));
        }
        if (are_few) {
            SALTUS_TRY(run_all_singly(c, err));
            continue;
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
        SALTUS_TRY(step_lanes(c, err));
    }
done:
    return status;
}

/* Cut n vectors off. */
static saltus_f64 *cut(saltus_f64 **from, int n)
{
    saltus_f64 *const here = *from;
    *from += n;
    return here;
}

saltus_status SALTUS_SET_NAME(saltus_rates_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err);

saltus_status SALTUS_SET_NAME(saltus_rates_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = task->tables;
    const int n = t->n_rates + 1;
    const bool fires = fires_in_lanes(t);
    const int n_of_firing = fires ? t->n_moving_laws + t->n_species : 0;
    const int n_of_roots = t->n_triggers + 3 * t->n_roots;
    const size_t size =
        sizeof(saltus_f64) * (size_t)(t->n_rows + 11 * n + n_of_firing + n_of_roots);
    lane_group *c = aligned_alloc(_Alignof(lane_group), sizeof(lane_group));
    SALTUS_NEED(c);
    memset(c, 0, sizeof *c);
    c->task = task;
    c->source = source;
    c->slopes.n = t;
    c->numbers = aligned_alloc(_Alignof(saltus_f64), size);
    SALTUS_NEED(c->numbers);
    memset(c->numbers, 0, size);
    saltus_f64 *at = c->numbers;
    c->slopes.v = cut(&at, t->n_rows);
    c->slopes.v[t->row_one] = saltus_splat(1.0);
    c->y = cut(&at, n);
    c->memory = (saltus_ode_memory){.n = n,
                                    .n_states = n - 1,
                                    .rtol = task->tolerance->rtol,
                                    .of_hazard = task->tolerance->rtol,
                                    .atol = task->tolerance->atol,
                                    .y = c->y,
                                    .z = cut(&at, n),
                                    .w = cut(&at, n),
                                    .k = cut(&at, 7 * n),
                                    .e = cut(&at, n)};
    if (fires) {
        c->fires = true;
        c->lanes.v = c->slopes.v;
        saltus_f64 *given = cut(&at, t->n_moving_laws);
        prepare_firing(c, given, cut(&at, t->n_species));
    }
    c->roots = cut(&at, 3 * t->n_roots);
    c->slopes.on = (saltus_mask *)cut(&at, t->n_triggers);
    for (int l = 0; l < SALTUS_LANES; ++l) {
        SALTUS_TRY(saltus_scalar_create(task, &SALTUS_SET_NAME(saltus_set), &c->scalars[l], err));
    }
    SALTUS_TRY(saltus_scalar_create(task, &SALTUS_SET_NAME(saltus_set), &c->single, err));
    c->bends = t->n_kinks > 0;
    c->has_roots = t->n_moving_triggers > 0;
    c->may_turn_stiff =
        task->tolerance->stiff == SALTUS_STIFF_AUTO && c->scalars[0]->ode.may_be_stiff;
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
        free(c->numbers);
        free(c);
    }
    return status;
}
