/* The memory of a batch's slots is copied as it is: the same layout, at an address of the host. A
 * slot's trajectory goes through the scalar engine, whose form of a state is that of all engines.
 */
#include "backend/cuda/ssa/resting.h"

#include "core/memory.h"
#include "engine/keep.h"
#include "kernel/base/stream.h"
#include "kernel/ssa/hub_rules.h"

#include <stddef.h>
#include <string.h>

enum { SAMPLES = 8 << 20 }; /* bytes of samples that are copied at a time, unless a job has more */
/* Samples of a batch beyond this are not kept before they are handed over. */
static const int64_t most_ended = (int64_t)1 << 30;
/* Counts that the kernels in registers carry exactly (codegen/registers.c). */
static const int64_t largest_real = (int64_t)1 << 51;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(c->cu, c->cu->call, what, err))

/* Slots on the host, and the samples of some jobs, one behind the other. */
typedef struct resting {
    saltus_gpu_worker *c;
    unsigned char *memory; /* [bytes] */
    size_t bytes;
    saltus_launch at; /* addresses are the host's */
    int64_t stride;   /* from number to number of a slot */
    int64_t n_counts, n_observables;
    int64_t n_each; /* jobs whose samples are copied at a time */
    int64_t *counts;
    double *observables;
} resting;

static saltus_status make(resting *r, saltus_gpu_worker *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_launch scratch = c->launch;
    const saltus_columns *columns = c->task->columns;
    *r = (resting){.c = c,
                   .at = c->launch,
                   .stride = c->n_running * c->layout.threads_each,
                   .n_counts = c->task->n_times * columns->n_counts,
                   .n_observables = c->task->n_times * columns->n_observables};
    (void)saltus_gpu_worker_place_threads(&scratch, c, 0, c->n_running, &r->bytes);
    const int64_t most = SAMPLES / (8 * (r->n_counts + r->n_observables) + 1);
    r->n_each = most < 1 ? 1 : most < c->launch.n_jobs ? most : c->launch.n_jobs;
    r->memory = saltus_calloc(r->bytes, 1);
    r->counts = saltus_calloc((size_t)(r->n_each * r->n_counts), sizeof *r->counts);
    r->observables = saltus_calloc((size_t)(r->n_each * r->n_observables), sizeof *r->observables);
    SALTUS_NEED(r->memory && r->counts && r->observables);
    (void)saltus_gpu_worker_place_threads(&r->at, c, (uintptr_t)r->memory, c->n_running, &r->bytes);
done:
    return status;
}

static void destroy(resting *r)
{
    saltus_free(r->memory);
    saltus_free(r->counts);
    saltus_free(r->observables);
}

static saltus_status download(const resting *r, void *to, const void *from, size_t size,
                              saltus_error *err)
{
    const saltus_gpu_worker *c = r->c;
    saltus_status status = SALTUS_OK;
    if (size > 0) {
        CU(download(to, (uintptr_t)from, size, c->stream), "copying what is under way");
    }
done:
    return status;
}

static saltus_status upload(const resting *r, const void *to, const void *from, size_t size,
                            saltus_error *err)
{
    const saltus_gpu_worker *c = r->c;
    saltus_status status = SALTUS_OK;
    if (size > 0) {
        CU(upload((uintptr_t)to, from, size, c->stream), "copying what goes on");
        CU(stream_wait(c->stream), "copying what goes on"); /* `from` may change then */
    }
done:
    return status;
}

/* Bytes of n jobs' samples. */
static size_t counts_size(const resting *r, int64_t n)
{
    return (size_t)(n * r->n_counts) * sizeof *r->counts;
}

static size_t observables_size(const resting *r, int64_t n)
{
    return (size_t)(n * r->n_observables) * sizeof *r->observables;
}

/* A job as the saver and the scalar engine see it, with its samples among those that are copied. */
static saltus_job with_samples(const resting *r, const saltus_ticket *ticket, int64_t place)
{
    const saltus_source *source = r->c->source;
    saltus_job here = source->open(source->user, ticket);
    here.counts = r->counts + place * r->n_counts;
    here.observables = r->observables + place * r->n_observables;
    return here;
}

/* What a trajectory has beside arrays is the same on a device, up to the host's own member. */
static const size_t state_bytes = offsetof(saltus_trajectory, reached);

static unsigned char *state_of(const resting *r, int64_t slot)
{
    return (unsigned char *)r->at.states + (size_t)slot * state_bytes;
}

/* ------------------------------------------------------------------------------------------------
 * A slot's numbers and the scalar engine's
 */

typedef enum direction { TO_ENGINE, TO_SLOT } direction;

static void move(direction to, void *engine, void *slot, size_t size)
{
    if (to == TO_ENGINE) {
        memcpy(engine, slot, size);
    } else {
        memcpy(slot, engine, size);
    }
}

/* n elements of an engine's array and of the slots'. */
#define MOVE(engine, slots, n)                                                        \
    for (int64_t i = 0; i < (n); ++i) {                                               \
        move(to, &(engine)[i], &r->at.slots[slot + i * r->stride], sizeof *(engine)); \
    }

static void move_counts(const resting *r, direction to, int64_t slot)
{
    const saltus_trajectory *p = &r->c->scalar->trajectory;
    const int n = p->n->n_species;
    const saltus_state state = r->c->layout.state;
    const bool is_together = state == SALTUS_STATE_WARP || state == SALTUS_STATE_HUBS;
    const int64_t whole = p->n->n_hubs > 0 ? 3 * (int64_t)n : n;
    for (int s = 0; s < n; ++s) {
        const int64_t at = is_together ? slot * whole + s : slot + s * r->stride;
        switch (r->c->layout.has_arrays ? SALTUS_STATE_TREE : state) {
        case SALTUS_STATE_REGISTERS:
            p->x[s] = to == TO_ENGINE ? (int64_t)r->at.v[at] : p->x[s];
            r->at.v[at] = (double)p->x[s];
            break;
        case SALTUS_STATE_TABLE:
        case SALTUS_STATE_WARP:
        case SALTUS_STATE_HUBS:
            p->x[s] = to == TO_ENGINE ? r->at.saved[at] : p->x[s];
            r->at.saved[at] = (int32_t)p->x[s];
            for (int k = 1; k < whole / n; ++k) { /* hubs_worker.h */
                int64_t *const bound = k == 1 ? &p->most[s] : &p->least[s];
                *bound = to == TO_ENGINE ? r->at.saved[at + k * n] : *bound;
                r->at.saved[at + k * n] = (int32_t)*bound;
            }
            break;
        default:
            move(to, &p->x[s], &r->at.x[at], sizeof *p->x);
        }
    }
}

/* Arrays of a layout that takes every model. In shared memory it has none of them. */
static void move_arrays(const resting *r, direction to, int64_t slot)
{
    saltus_trajectory *p = &r->c->scalar->trajectory;
    const saltus_tables *n = p->n;
    const int64_t n_values = (int64_t)p->n_pending * n->largest_event;
    if (to == TO_SLOT) {
        MOVE(p->v, v, n->n_rows)
    } else {
        if (p->amounts) { /* else the rows of species are copies of the counts */
            MOVE(p->v, v, n->n_species)
        }
        for (int row = n->row_variables; row < n->row_flags + n->n_flags; ++row) {
            p->v[row] = r->at.v[slot + row * r->stride];
        }
    }
    MOVE(p->on, on, n->n_triggers)
    if (n->n_hubs > 0) {
        MOVE(p->least, least, n->n_species)
        MOVE(p->most, most, n->n_species)
    }
    for (int i = 0; i < n->n_settings; ++i) {
        uint8_t *rounded = &r->at.rounded[slot + i * r->stride];
        p->rounded[i] |= *rounded;
        *rounded = p->rounded[i];
    }
    MOVE(p->pending, pending, p->n_pending)
    MOVE(p->pending_values, pending_values, n_values)
}

static void move_all(const resting *r, direction to, int64_t slot)
{
    const saltus_gpu_worker *c = r->c;
    uint32_t *const words = c->scalar->direct.stream;
    move_counts(r, to, slot);
    if (c->layout.has_arrays) {
        move_arrays(r, to, slot);
    }
    MOVE(words, stream, saltus_stream_words(c->task->generator->rng))
}

/* ------------------------------------------------------------------------------------------------
 * To the saver
 */

/* Whether event numbers are not the numbers of reactions, in layouts of models without events. */
static bool has_voids(const saltus_gpu_worker *c)
{
    const saltus_tables *t = c->task->tables;
    return t->n_thinned > 0 || t->n_hubs > 0 || saltus_method_of(c->layout.needs.method)->leaps;
}

/* Let the scalar engine stand where a slot's trajectory stands. */
static bool take_slot(const resting *r, int64_t slot)
{
    saltus_trajectory *p = &r->c->scalar->trajectory, s = *p;
    const saltus_tables *n = p->n;
    memcpy(&s, state_of(r, slot), state_bytes);
    p->trajectory = s.trajectory;
    p->event = s.event;
    p->fired = s.fired;
    p->ties = s.ties;
    p->drawn = s.drawn;
    p->block = s.block;
    p->leaps = s.leaps;
    p->exact_steps = s.exact_steps;
    p->exact = s.exact;
    p->t = s.t;
    p->after = s.after;
    p->special_strict = s.special_strict;
    p->special = r->c->layout.has_arrays ? s.special : SALTUS_INFINITY;
    p->sample = s.sample;
    p->window = s.window;
    p->window_start = s.window_start;
    p->window_end = s.window_end;
    p->window_missed = s.window_missed;
    p->has_bounds = s.has_bounds;
    p->carried = s.carried;
    p->n_pending = 0;
    while (p->pending_capacity < s.n_pending) {
        if (!p->make_room(p)) {
            return false;
        }
    }
    p->n_pending = s.n_pending;
    for (int i = 0; i < n->n_variables; ++i) {
        p->v[n->row_variables + i] = n->initial_variables[i];
    }
    move_all(r, TO_ENGINE, slot);
    return true;
}

/* What a batch's jobs have come to. */
typedef struct outcomes {
    int64_t *slot_of; /* [job] -1: none */
    int32_t *failures;
    uint64_t *events, *leaps;
} outcomes;

static saltus_status fetch(resting *r, outcomes *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_worker *c = r->c;
    const saltus_launch *a = &c->launch;
    const size_t n = (size_t)a->n_jobs;
    o->slot_of = saltus_calloc(n, sizeof *o->slot_of);
    o->failures = saltus_calloc(n, sizeof *o->failures);
    o->events = saltus_calloc(n, sizeof *o->events);
    o->leaps = saltus_calloc(2 * n, sizeof *o->leaps);
    SALTUS_NEED(o->slot_of && o->failures && o->events && o->leaps);
    SALTUS_TRY(download(r, r->memory, a->states, r->bytes, err));
    SALTUS_TRY(download(r, o->failures, a->failures, n * sizeof *o->failures, err));
    SALTUS_TRY(download(r, o->events, a->events, n * sizeof *o->events, err));
    if (a->leaps) {
        SALTUS_TRY(download(r, o->leaps, a->leaps, 2 * n * sizeof *o->leaps, err));
    }
    CU(stream_wait(c->stream), "copying what is under way");
    memset(o->slot_of, 0xff, n * sizeof *o->slot_of);
    for (int64_t slot = 0; slot < c->n_running; ++slot) {
        if (r->at.jobs[slot] >= 0) {
            o->slot_of[r->at.jobs[slot]] = slot;
        }
    }
done:
    return status;
}

/* Whether the saver is to have an ended job. Nobody else has its samples while they are reduced, or
 * wait for the end of the batch. */
static bool keeps_ended(const resting *r, const outcomes *o, int64_t j)
{
    const saltus_kept *kept = r->c->jobs[j].kept;
    return o->failures[j] == SALTUS_FINE && !(kept && kept->is_complete) &&
           8 * r->c->launch.n_jobs * (r->n_counts + r->n_observables) <= most_ended;
}

static void keep_job(const resting *r, const outcomes *o, int64_t j, int64_t place)
{
    const saltus_task *task = r->c->task;
    saltus_ticket *ticket = &r->c->jobs[j];
    saltus_job here = with_samples(r, ticket, place);
    if (o->slot_of[j] < 0) {
        here.tally.events = (int64_t)o->events[j];
        here.tally.leaps = (int64_t)o->leaps[2 * j];
        here.tally.exact_steps = (int64_t)o->leaps[2 * j + 1];
        task->saver->save(task->saver->user, &here, task->n_times, NULL, 0);
    } else if (take_slot(r, o->slot_of[j])) {
        saltus_scalar_keep(r->c->scalar, task, &here);
    }
    ticket->kept = here.kept;
}

/* Jobs from `first` to `end`, if any of them is to be kept. */
static saltus_status keep_some(const resting *r, const outcomes *o, int64_t first, int64_t end,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_worker *c = r->c;
    bool is_there = false;
    for (int64_t j = first; j < end; ++j) {
        if (o->slot_of[j] < 0 && !keeps_ended(r, o, j)) {
            continue;
        }
        if (!is_there) {
            SALTUS_TRY(download(r, r->counts, c->launch.counts + first * r->n_counts,
                                counts_size(r, end - first), err));
            SALTUS_TRY(download(r, r->observables, c->launch.observables + first * r->n_observables,
                                observables_size(r, end - first), err));
            CU(stream_wait(c->stream), "copying what is under way");
            is_there = true;
        }
        keep_job(r, o, j, j - first);
    }
done:
    return status;
}

saltus_status saltus_resting_keep(saltus_gpu_worker *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    resting r = {0};
    outcomes o = {0};
    SALTUS_TRY(make(&r, c, err));
    SALTUS_TRY(fetch(&r, &o, err));
    for (int64_t j = 0; j < c->launch.n_jobs; j += r.n_each) {
        const int64_t end = j + r.n_each;
        SALTUS_TRY(keep_some(&r, &o, j, end < c->launch.n_jobs ? end : c->launch.n_jobs, err));
    }
done:
    saltus_free(o.slot_of);
    saltus_free(o.failures);
    saltus_free(o.events);
    saltus_free(o.leaps);
    destroy(&r);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * To the GPU
 */

int64_t saltus_resting_sort(const saltus_task *task, saltus_ticket *jobs, int64_t n)
{
    int64_t n_kept = 0;
    for (int64_t j = 0; j < n && !task->varies; ++j) {
        if (jobs[j].kept) {
            const saltus_ticket job = jobs[j];
            jobs[j] = jobs[n_kept];
            jobs[n_kept++] = job;
        }
    }
    return n_kept;
}

/* Whether a layout carries the state at which the scalar engine stands. */
static bool fits(const saltus_gpu_worker *c)
{
    const saltus_trajectory *p = &c->scalar->trajectory;
    const saltus_state state = c->layout.state;
    const int64_t most = state == SALTUS_STATE_TREE        ? INT64_MAX
                         : state == SALTUS_STATE_REGISTERS ? largest_real
                         : state == SALTUS_STATE_HUBS      ? SALTUS_HUB_LARGEST_16
                                                           : INT32_MAX;
    bool do_counts = true;
    for (int s = 0; s < p->n->n_species; ++s) {
        do_counts &= p->x[s] <= most;
    }
    return do_counts && p->n_pending <= c->launch.pending_capacity &&
           (state == SALTUS_STATE_TREE ||
            (p->event % 2 == 0 && (p->event == p->fired || has_voids(c) || c->layout.has_arrays)));
}

/* Let job j go on in slot j. Returns false for one that the layout cannot carry. */
static bool put_job(const resting *r, int64_t j, int64_t place)
{
    const saltus_gpu_worker *c = r->c;
    const saltus_job here = with_samples(r, &c->jobs[j], place);
    if (!saltus_scalar_take(c->scalar, c->task, &here) || !fits(c)) {
        return false;
    }
    const saltus_tables *n = c->scalar->trajectory.n;
    for (int i = 0; i < n->n_constants; ++i) {
        c->scalar->trajectory.v[n->row_constants + i] = n->constants[i];
    }
    memcpy(state_of(r, j), &c->scalar->trajectory, state_bytes);
    r->at.jobs[j] = j;
    move_all(r, TO_SLOT, j);
    return true;
}

saltus_status saltus_resting_put(saltus_gpu_worker *c, int64_t n_kept, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    resting r = {0};
    const saltus_launch *a = &c->launch;
    uint64_t next = (uint64_t)n_kept, n_ended = 0;
    const int32_t given_up = SALTUS_BAD_TOTAL;
    SALTUS_TRY(make(&r, c, err));
    memset(r.at.jobs, 0xff, (size_t)c->n_running * sizeof *r.at.jobs);
    for (int64_t first = 0; first < n_kept; first += r.n_each) {
        const int64_t end = first + r.n_each < n_kept ? first + r.n_each : n_kept;
        for (int64_t j = first; j < end; ++j) {
            if (!put_job(&r, j, j - first)) {
                ++n_ended;
                SALTUS_TRY(upload(&r, a->failures + j, &given_up, sizeof given_up, err));
            }
        }
        SALTUS_TRY(upload(&r, a->counts + first * r.n_counts, r.counts,
                          counts_size(&r, end - first), err));
        SALTUS_TRY(upload(&r, a->observables + first * r.n_observables, r.observables,
                          observables_size(&r, end - first), err));
    }
    SALTUS_TRY(upload(&r, a->states, r.memory, r.bytes, err));
    SALTUS_TRY(upload(&r, a->next, &next, sizeof next, err));
    SALTUS_TRY(upload(&r, a->progress, &n_ended, sizeof n_ended, err));
done:
    destroy(&r);
    return status;
}
