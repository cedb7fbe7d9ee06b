/* Tau-leaping of many trajectories in lanes. Compiled once per instruction set, as lanes.c is. */
#include "backend/cpu/cpu.h"

#include "core/memory.h"
#include "engine/keep.h"
#include "kernel/tau/tau_lanes.h"

#include <stdlib.h>

extern const saltus_instruction_set SALTUS_SET_NAME(saltus_set);

/* Rounds of exact steps for one round of leaps. */
enum { EXACT_ROUNDS = 4 };
/* Rounds between two reports of progress. */
enum { REPORT_EVERY = 64 };
/* With so few trajectories, one at a time is faster. */
enum { FEW = SALTUS_LANES / 4 };

/* The trajectory of a slot. */
typedef struct slot_job {
    saltus_scalar_engine *scalar;
    saltus_job job;
} slot_job;

typedef struct lane_group {
    const saltus_task *task;
    const saltus_source *source;
    saltus_leaps leaps;
    saltus_lanes lanes; /* what an exact step computes */
    slot_job slot_jobs[SALTUS_LEAP_SLOTS];
    int n_slots; /* slots that are used at all */
    int n_leap,
        n_exact; /* slots with leaps, from the first on; with exact steps, from the last on */
    bool dry;    /* there will be no more jobs */
    saltus_scalar_engine *single; /* runs trajectories that lanes cannot carry */
} lane_group;

static double *column(lane_group *c, int slot)
{
    const size_t chunk = (size_t)(slot / SALTUS_LANES);
    return (double *)(c->leaps.v + chunk * (size_t)c->task->tables->n_rows) + slot % SALTUS_LANES;
}

static double *number(saltus_f64 *x, int slot)
{
    return (double *)x + slot;
}

static int64_t *integer(saltus_i64 *x, int slot)
{
    return (int64_t *)x + slot;
}

static void swap(void *a, void *b, size_t size)
{
    char other[sizeof(slot_job)];
    memcpy(other, a, size);
    memcpy(a, b, size);
    memcpy(b, other, size);
}

static void swap_slots(lane_group *c, int i, int j)
{
    saltus_leaps *b = &c->leaps;
    void *const arrays[] = {b->t,           b->stop,  b->exact,      b->leaps,
                            b->exact_steps, b->fired, b->trajectory, b->block};
    if (i == j) {
        return;
    }
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
        swap((char *)arrays[k] + 8 * i, (char *)arrays[k] + 8 * j, 8);
    }
    double *x = column(c, i), *y = column(c, j);
    for (int row = 0; row < c->task->tables->row_rules; ++row) {
        swap(x + row * SALTUS_LANES, y + row * SALTUS_LANES, 8);
    }
    swap(&c->slot_jobs[i], &c->slot_jobs[j], sizeof(slot_job));
}

static int first_exact(const lane_group *c)
{
    return SALTUS_LEAP_SLOTS - c->n_exact;
}

static void remove_slot(lane_group *c, int slot)
{
    if (slot < c->n_leap) {
        swap_slots(c, slot, --c->n_leap);
    } else {
        swap_slots(c, slot, first_exact(c));
        --c->n_exact;
    }
}

static void to_exact(lane_group *c, int slot)
{
    swap_slots(c, slot, --c->n_leap);
    ++c->n_exact;
    swap_slots(c, c->n_leap, first_exact(c));
}

static void to_leaps(lane_group *c, int slot)
{
    swap_slots(c, slot, first_exact(c));
    swap_slots(c, first_exact(c), c->n_leap);
    --c->n_exact;
    ++c->n_leap;
}

static void trajectory_to_slot(lane_group *c, int slot)
{
    const saltus_scalar_engine *w = c->slot_jobs[slot].scalar;
    saltus_scalar_to_lane(w, column(c, slot), SALTUS_LANES);
    *number(c->leaps.t, slot) = w->trajectory.t;
}

static void slot_to_trajectory(lane_group *c, int slot)
{
    saltus_scalar_engine *w = c->slot_jobs[slot].scalar;
    saltus_scalar_from_lane(w, column(c, slot), SALTUS_LANES);
    w->trajectory.t = *number(c->leaps.t, slot);
}

/* Start a trajectory that lanes cannot carry again, in the scalar engine. */
static saltus_status rerun_slot(lane_group *c, int slot, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_job *job = &c->slot_jobs[slot].job;
    SALTUS_TRY(saltus_scalar_run_job(c->single, c->task, job, err));
    status = c->source->done(c->source->user, job, 1, err);
    remove_slot(c, slot);
done:
    return status;
}

static saltus_status finish_slot(lane_group *c, int slot, saltus_error *err)
{
    saltus_job *job = &c->slot_jobs[slot].job;
    job->tally.events = *integer(c->leaps.fired, slot);
    job->tally.leaps = *integer(c->leaps.leaps, slot);
    job->tally.exact_steps = *integer(c->leaps.exact_steps, slot);
    const saltus_status status = c->source->done(c->source->user, job, 1, err);
    remove_slot(c, slot);
    return status;
}

/* Record samples and pass special times that the slot has reached. */
static saltus_status stop_slot(lane_group *c, int slot, saltus_error *err)
{
    slot_job *r = &c->slot_jobs[slot];
    saltus_trajectory *p = &r->scalar->trajectory;
    slot_to_trajectory(c, slot);
    for (;;) {
        const double sample = c->task->times[p->sample];
        const bool special = p->special < sample || (p->special == sample && !p->special_strict);
        const double stop = special ? p->special : sample;
        if (p->t < stop) {
            *number(c->leaps.stop, slot) = stop;
            trajectory_to_slot(c, slot);
            return saltus_scalar_fits_lane(r->scalar) ? SALTUS_OK : rerun_slot(c, slot, err);
        }
        if (special) {
            if (saltus_scalar_pass_special(r->scalar) != SALTUS_FINE) {
                return saltus_scalar_report(r->scalar, c->task, err);
            }
            continue;
        }
        saltus_scalar_record(r->scalar, sample, &r->job);
        if (p->sample == c->task->n_times) {
            return finish_slot(c, slot, err);
        }
    }
}

static saltus_status start_slot(lane_group *c, const saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int slot = c->n_leap++;
    slot_job *r = &c->slot_jobs[slot];
    const saltus_trajectory *p = &r->scalar->trajectory;
    r->job = *job;
    if (!saltus_scalar_take(r->scalar, c->task, job) &&
        saltus_scalar_start(r->scalar, c->task, job) != SALTUS_FINE) {
        return saltus_scalar_report(r->scalar, c->task, err);
    }
    ((uint64_t *)c->leaps.trajectory)[slot] = (uint64_t)job->trajectory;
    ((uint64_t *)c->leaps.block)[slot] = p->block;
    *integer(c->leaps.exact, slot) = p->exact;
    *integer(c->leaps.leaps, slot) = (int64_t)p->leaps;
    *integer(c->leaps.exact_steps, slot) = (int64_t)p->exact_steps;
    *integer(c->leaps.fired, slot) = (int64_t)p->fired;
    trajectory_to_slot(c, slot);
    if (!saltus_scalar_fits_lane(r->scalar)) {
        return rerun_slot(c, slot, err);
    }
    SALTUS_TRY(stop_slot(c, slot, err));
    if (c->n_leap > slot && *integer(c->leaps.exact, slot) > 0) { /* it was kept among these */
        to_exact(c, slot);
    }
done:
    return status;
}

/* Give free slots the next jobs. */
static saltus_status fill_slots(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_job jobs[SALTUS_LEAP_SLOTS];
    const int n_busy = c->n_leap + c->n_exact;
    const int n = saltus_source_take(c->source, jobs, c->n_slots - n_busy, n_busy == 0);
    c->dry = n == 0 && n_busy == 0;
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(start_slot(c, &jobs[i], err));
    }
done:
    return status;
}

/* Handle the slots after a leap, from the last on, so that a slot that is moved into a gap has been
 * handled. */
static saltus_status finish_leaps(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_leaps *b = &c->leaps;
    const int n_chunks = (c->n_leap + SALTUS_LANES - 1) / SALTUS_LANES;
    for (int chunk = n_chunks - 1; chunk >= 0; --chunk) {
        const saltus_mask here = saltus_leaps_within(chunk, 0, c->n_leap);
        const uint64_t bad = saltus_bits(b->bad[chunk]), brief = saltus_bits(b->brief[chunk]);
        uint64_t bits = bad | brief | saltus_bits(here & ~SALTUS_LT(b->t[chunk], b->stop[chunk]));
        while (bits) {
            const int l = 63 - __builtin_clzll(bits), slot = chunk * SALTUS_LANES + l;
            bits ^= (uint64_t)1 << l;
            if (bad >> l & 1) {
                SALTUS_TRY(rerun_slot(c, slot, err));
            } else if (brief >> l & 1) {
                *integer(c->leaps.exact, slot) = c->task->tau->n_exact;
                to_exact(c, slot);
            } else {
                SALTUS_TRY(stop_slot(c, slot, err));
            }
        }
    }
done:
    return status;
}

/* Handle the slots of a chunk after exact steps, which grow downwards. */
static saltus_status finish_exact(lane_group *c, int chunk, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_leaps *b = &c->leaps;
    const saltus_mask here = saltus_leaps_within(chunk, first_exact(c), SALTUS_LEAP_SLOTS);
    const uint64_t bad = saltus_bits(b->bad[chunk]);
    const uint64_t last = saltus_bits(here & SALTUS_LE(b->exact[chunk], b->exact[chunk] & 0));
    uint64_t bits = bad | last | saltus_bits(here & ~SALTUS_LT(b->t[chunk], b->stop[chunk]));
    while (bits) {
        const int l = __builtin_ctzll(bits), slot = chunk * SALTUS_LANES + l;
        bits &= bits - 1;
        if (bad >> l & 1) {
            SALTUS_TRY(rerun_slot(c, slot, err));
        } else if (last >> l & 1) {
            to_leaps(c, slot);
        } else {
            SALTUS_TRY(stop_slot(c, slot, err));
        }
    }
done:
    return status;
}

static saltus_status exact_round(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int first = first_exact(c);
    for (int chunk = first / SALTUS_LANES; chunk < SALTUS_LEAP_CHUNKS; ++chunk) {
        saltus_leaps_exact(c->task->tables, c->task->seed, &c->leaps, &c->lanes, chunk,
                           first_exact(c));
        SALTUS_TRY(finish_exact(c, chunk, err));
    }
done:
    return status;
}

/* Between rounds: the whole state of a slot, in its scalar engine. */
static void settle_slot(lane_group *c, int slot)
{
    saltus_trajectory *p = &c->slot_jobs[slot].scalar->trajectory;
    slot_to_trajectory(c, slot);
    p->block = ((const uint64_t *)c->leaps.block)[slot];
    p->fired = (uint64_t)*integer(c->leaps.fired, slot);
    p->leaps = (uint64_t)*integer(c->leaps.leaps, slot);
    p->exact_steps = (uint64_t)*integer(c->leaps.exact_steps, slot);
    p->exact = (int32_t)*integer(c->leaps.exact, slot);
}

static void keep_slots(lane_group *c)
{
    for (int slot = 0; slot < SALTUS_LEAP_SLOTS; ++slot) {
        if (slot < c->n_leap || slot >= first_exact(c)) {
            settle_slot(c, slot);
            saltus_scalar_keep(c->slot_jobs[slot].scalar, c->task, &c->slot_jobs[slot].job);
        }
    }
}

/* Run the last few trajectories one at a time. */
static saltus_status finish_singly(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    while (c->n_leap + c->n_exact > 0) {
        const int slot = c->n_leap > 0 ? 0 : first_exact(c);
        slot_job *r = &c->slot_jobs[slot];
        settle_slot(c, slot);
        if (saltus_scalar_run(r->scalar, c->task, &r->job) != SALTUS_FINE) {
            return saltus_scalar_report(r->scalar, c->task, err);
        }
        SALTUS_TRY(c->source->done(c->source->user, &r->job, 1, err));
        remove_slot(c, slot);
    }
done:
    return status;
}

/* Report how far the trajectories under way have come. */
static void report_times(lane_group *c)
{
    double t = 0.0;
    uint64_t fired = 0;
    for (int slot = 0; slot < SALTUS_LEAP_SLOTS; ++slot) {
        if (slot < c->n_leap || slot >= first_exact(c)) {
            t += *number(c->leaps.t, slot);
            fired += (uint64_t)*integer(c->leaps.fired, slot);
        }
    }
    saltus_reached_store(c->task->reached, t, fired);
}

static saltus_status run_lane_group(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = c->task;
    for (uint64_t round = 1; !c->dry; ++round) {
        const int n_before = c->n_leap + c->n_exact;
        if (n_before < c->n_slots) {
            SALTUS_TRY(fill_slots(c, err));
        }
        if (c->n_leap + c->n_exact == n_before && n_before <= FEW) {
            SALTUS_TRY(finish_singly(c, err));
            continue;
        }
        saltus_leaps_leap(task->tables, task->tau, task->seed, &c->leaps, c->n_leap);
        SALTUS_TRY(finish_leaps(c, err));
        for (int i = 0; i < EXACT_ROUNDS && c->n_exact > 0; ++i) {
            SALTUS_TRY(exact_round(c, err));
        }
        if (round % REPORT_EVERY == 0) {
            report_times(c);
        }
        const bool is_due = saltus_keep_is_due(task);
        if (is_due) {
            keep_slots(c);
        }
        if (saltus_keep_stops(task, is_due)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
        }
    }
done:
    return status;
}

/* Rows of n for each chunk, zero; NULL when there is no memory. */
static saltus_f64 *rows(int n)
{
    const size_t size = sizeof(saltus_f64) * SALTUS_LEAP_CHUNKS * (size_t)n;
    saltus_f64 *x = aligned_alloc(_Alignof(saltus_f64), size);
    return x ? memset(x, 0, size) : NULL;
}

static saltus_status prepare(lane_group *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = c->task->tables;
    saltus_leaps *b = &c->leaps;
    b->v = rows(n->n_rows);
    b->a = rows(n->n_reactions);
    b->change = rows(n->n_species);
    b->second = rows(n->n_reactions);
    b->middle = rows(n->n_rows);
    b->drift = rows(n->n_species);
    b->spread = rows(n->n_species);
    b->trend = rows(n->n_bending > 0 ? n->n_species : 1);
    b->peak = rows(n->n_bending + 1);
    b->trough = rows(n->n_bending + 1);
    b->first = rows(n->n_bending + 1);
    b->sway = rows(n->n_bends * n->n_species + 1);
    SALTUS_NEED(b->trend && b->peak && b->trough && b->first && b->sway);
    SALTUS_NEED(b->v && b->a && b->change && b->second && b->middle && b->drift && b->spread);
    for (int r = 0; r < n->n_reactions; ++r) {
        c->lanes.rate[r] = saltus_splat(n->rate[r]);
    }
    for (int chunk = 0; chunk < SALTUS_LEAP_CHUNKS; ++chunk) {
        saltus_f64 *v = b->v + chunk * n->n_rows;
        v[n->row_one] = saltus_splat(1.0);
        for (int i = 0; i < n->n_constants; ++i) {
            v[n->row_constants + i] = saltus_splat(n->constants[i]);
        }
    }
    *number(b->mean, SALTUS_IDLE_LARGE_SLOT) = 0x1p40;
    for (int i = 0; i < SALTUS_LEAP_SLOTS; ++i) {
        SALTUS_TRY(saltus_scalar_create(c->task, &SALTUS_SET_NAME(saltus_set),
                                        &c->slot_jobs[i].scalar, err));
    }
    SALTUS_TRY(saltus_scalar_create(c->task, &SALTUS_SET_NAME(saltus_set), &c->single, err));
    c->n_slots = c->task->share < SALTUS_LEAP_SLOTS ? (int)c->task->share : SALTUS_LEAP_SLOTS;
done:
    return status;
}

saltus_status SALTUS_SET_NAME(saltus_leaps_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err);

saltus_status SALTUS_SET_NAME(saltus_leaps_work)(const saltus_task *task,
                                                 const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lane_group *c = aligned_alloc(_Alignof(lane_group), sizeof(lane_group));
    SALTUS_NEED(c);
    memset(c, 0, sizeof *c);
    c->task = task;
    c->source = source;
    SALTUS_TRY(prepare(c, err));
    SALTUS_TRY(run_lane_group(c, err));

done:
    if (c) {
        for (int i = 0; i < SALTUS_LEAP_SLOTS; ++i) {
            saltus_scalar_destroy(c->slot_jobs[i].scalar, task);
        }
        saltus_scalar_destroy(c->single, task);
        free(c->leaps.v);
        free(c->leaps.a);
        free(c->leaps.change);
        free(c->leaps.second);
        free(c->leaps.middle);
        free(c->leaps.drift);
        free(c->leaps.spread);
        free(c->leaps.trend);
        free(c->leaps.peak);
        free(c->leaps.trough);
        free(c->leaps.first);
        free(c->leaps.sway);
        free(c);
    }
    return status;
}
