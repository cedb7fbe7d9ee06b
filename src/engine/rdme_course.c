/* The course of a trajectory on a lattice. */
#include "engine/rdme.h"

#include "core/memory.h"
#include "engine/peers.h"
#include "engine/rdme_keep.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>

enum {
    BATCH = 256,          /* phases of a batch, at most */
    LEAST_BATCH = 16,     /* phases of a batch, at least */
    BATCH_WORK = 1 << 27, /* particles times phases of a batch, so that a run can be stopped */
};

saltus_status saltus_mpd_collect(const saltus_mpd *m, const uint32_t *site, const uint16_t *species,
                                 int64_t n, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int empty_site_token = m->n_species - 1;
    for (int64_t i = 0; i < n; ++i) {
        if (site[i] != SALTUS_NOWHERE && species[i] < empty_site_token) {
            SALTUS_TRY(saltus_contents_add(contents, m->slab.zero + site[i], species[i], 1, err));
        }
    }
done:
    return status;
}

/* A trajectory under way. */
typedef struct course {
    const saltus_mpd_tables *tables;
    const saltus_task *task;
    const saltus_mpd_engine *engine;
    saltus_job *job;
    int64_t work, fired, step; /* the step at whose end it is */
    saltus_stop at;            /* where it stops next */
    bool is_due;               /* it is to be kept at the end of a step */
    saltus_contents contents;
    saltus_mpd_keeping keeping;
} course;

saltus_mpd_failure saltus_mpd_failure_of(uint64_t note, int64_t zero)
{
    return note == UINT64_MAX
               ? (saltus_mpd_failure){0}
               : (saltus_mpd_failure){.is_any = true,
                                      .phase = (int32_t)(note >> 54),
                                      .site = zero + (int64_t)(note >> 22 & 0xffffffffu),
                                      .reaction = (int32_t)(note & 0x3fffff)};
}

saltus_mpd_failure saltus_mpd_first_failure(saltus_mpd_failure a, saltus_mpd_failure b)
{
    if (!a.is_any || !b.is_any) {
        return a.is_any ? a : b;
    }
    const int64_t x[] = {a.phase, a.site, a.reaction}, y[] = {b.phase, b.site, b.reaction};
    int i = 0;
    while (i < 2 && x[i] == y[i]) {
        ++i;
    }
    return x[i] <= y[i] ? a : b;
}

static saltus_status report(const course *c, saltus_mpd_failure failure, int64_t first_step,
                            saltus_error *err)
{
    const int32_t *size = c->tables->lattice->size;
    const int64_t site = failure.site, step = first_step + failure.phase;
    return saltus_error_set(
        err, SALTUS_E_NUMERIC,
        "trajectory %lld, time %g, site (%lld, %lld, %lld): reaction '%s' has a propensity that is "
        "negative, infinite or no number, or takes what is not there",
        (long long)c->job->trajectory, (double)(step - 1) * c->tables->m.step,
        (long long)(site % size[0]), (long long)(site / size[0] % size[1]),
        (long long)(site / size[0] / size[1]),
        saltus_network_reaction(c->task->model->network, failure.reaction));
}

int64_t saltus_mpd_first_capacity(int64_t n)
{
    const int64_t capacity = n + n / 4 + (1 << 12);
    return capacity < INT32_MAX ? capacity : INT32_MAX;
}

saltus_status saltus_mpd_more_capacity(int64_t wanted, int64_t *capacity, saltus_error *err)
{
    *capacity = 2 * wanted;
    return *capacity <= INT32_MAX
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_NO_MEMORY, "more than 2^30 particles on a lattice");
}

/* Run some phases, *n or as many as *n is set to; again and with more capacity if particles had no
 * room. */
static saltus_status run_batch(course *c, const saltus_mpd_phase *phases, int *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_engine *e = c->engine;
    saltus_mpd_batch_status batch_status = {.is_full = true};
    SALTUS_TRY(e->gather(e->user, err));
    while (batch_status.is_full) {
        SALTUS_TRY(e->run(e->user, phases, *n, err));
        SALTUS_TRY(e->poll(e->user, &batch_status, err));
        if (saltus_keep_stops(c->task, false)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
        }
        if (batch_status.is_full) {
            SALTUS_TRY(e->restore(e->user, err));
        }
    }
    if (batch_status.failure.is_any) {
        SALTUS_TRY(report(c, batch_status.failure, phases[0].step, err));
    }
    *n -= batch_status.n_left;
    c->work = batch_status.work;
    c->fired += batch_status.fired;
    saltus_reached_store(c->task->reached, (double)phases[*n - 1].step * c->tables->m.step,
                         (uint64_t)c->fired);
done:
    return status;
}

/* Run from the end of one step to the end of another, or of an earlier one where what is under way
 * is to be kept. */
static saltus_status advance(course *c, int64_t to, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_phase phases[BATCH];
    const int64_t from = c->step;
    for (int64_t first = from; first <= to && from < to;) {
        const int64_t work = BATCH_WORK / (c->work + 1);
        const int64_t most = work < LEAST_BATCH ? LEAST_BATCH : work < BATCH ? work : BATCH;
        int n = 0;
        for (int64_t at = first; n < most && at <= to; ++n, ++at) {
            phases[n] = (saltus_mpd_phase){at + 1, (at > from ? SALTUS_MPD_REACTS : 0) |
                                                       (at < to ? SALTUS_MPD_MOVES : 0)};
        }
        SALTUS_TRY(run_batch(c, phases, &n, err));
        first += n;
        if (saltus_keep_is_due(c->task)) {
            c->is_due = true;
            to = first < to ? first : to;
        }
    }
    c->step = to;
done:
    return status;
}

/* Count a sample's particles in the parts of the lattice. */
static saltus_status split_all(const saltus_mpd_engine *engine, const saltus_task *task,
                               saltus_job *job, int64_t sample, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        const int64_t size = (int64_t)task->space.n_parts[i] * task->columns->n_counts;
        if (size > 0) {
            SALTUS_TRY(
                engine->split(engine->user, (saltus_split)i, job->splits[i] + sample * size, err));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Keeping
 */

/* At the end of a step. The engine goes on as soon as what its sites hold has been set aside, or
 * collected. */
static saltus_status keep(course *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_keeping *keeping = &c->keeping;
    const saltus_mpd_engine *e = c->engine;
    const saltus_mpd_position at = {c->at.frame, c->step, c->fired, c->work};
    bool is_aside = false;
    saltus_mpd_keep_wait(keeping);
    saltus_contents_clear(&keeping->contents);
    if (e->set_aside) {
        SALTUS_TRY(e->set_aside(e->user, &is_aside, err));
    }
    if (!is_aside) {
        SALTUS_TRY(e->collect(e->user, &keeping->contents, err));
    }
    keeping->aside = is_aside ? e : NULL;
    saltus_mpd_keep(keeping, &at, c->at.sample);
    c->is_due = false;
    if (saltus_keep_stops(c->task, true)) {
        SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
    }
done:
    return status;
}

/* Begin at time 0, or where the job was when it was kept. */
static saltus_status begin(course *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_position at;
    bool is_taken;
    saltus_contents_clear(&c->contents);
    SALTUS_TRY(saltus_mpd_keep_take(&c->keeping, &is_taken, &at, &c->contents, err));
    if (is_taken) {
        saltus_keep_samples(c->task, c->job);
        c->at = saltus_stop_at(c->task, c->job->kept->n_samples, at.frame);
        c->step = at.step;
        c->fired = at.fired;
        c->work = at.work;
    } else {
        c->step = c->fired = 0;
        c->work = c->tables->n_start;
        c->at = saltus_stop_at(c->task, 0, 0);
    }
    SALTUS_TRY(
        c->engine->begin(c->engine->user, c->job->trajectory, is_taken ? &c->contents : NULL, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

static saltus_status record(course *c, int64_t *totals, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_engine *engine = c->engine;
    const saltus_stop *at = &c->at;
    const bool collects = at->is_frame || (at->needs_contents && !engine->split);
    SALTUS_TRY(engine->count(engine->user, totals, err));
    if (collects) {
        saltus_contents_clear(&c->contents);
        SALTUS_TRY(engine->collect(engine->user, &c->contents, err));
    } else if (at->needs_contents) {
        SALTUS_TRY(split_all(engine, c->task, c->job, at->sample, err));
    }
    SALTUS_TRY(
        saltus_space_record(c->task, c->job, at, totals, collects ? &c->contents : NULL, err));
done:
    return status;
}

static saltus_status simulate(const saltus_mpd_tables *tables, const saltus_task *task,
                              const saltus_mpd_engine *engine, saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    course c = {.tables = tables,
                .task = task,
                .engine = engine,
                .job = job,
                .keeping = {.tables = tables, .task = task, .job = job}};
    int64_t *totals = saltus_calloc((size_t)tables->m.n_species, sizeof *totals);
    SALTUS_NEED(totals);
    SALTUS_TRY(begin(&c, err));
    for (; c.at.is_one; c.at = saltus_stop_next(task, &c.at)) {
        const int64_t end = saltus_mpd_step_at(tables, c.at.time);
        while (c.step < end) {
            SALTUS_TRY(advance(&c, end, err));
            if (c.is_due) {
                SALTUS_TRY(keep(&c, err));
            }
        }
        SALTUS_TRY(record(&c, totals, err));
    }
    job->tally.events = c.fired;
done:
    saltus_mpd_keep_end(&c.keeping);
    saltus_contents_free(&c.contents);
    saltus_free(totals);
    return status;
}

saltus_status saltus_mpd_work(const saltus_mpd_tables *tables, const saltus_task *task,
                              const saltus_mpd_engine *engine, const saltus_source *source,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead lead = {0};
    saltus_mpd_engine all = *engine;
    saltus_job job;
    if (task->peers && task->peers->number > 0) {
        return saltus_mpd_follow(tables, task, engine, err);
    }
    if (task->peers) {
        SALTUS_TRY(saltus_mpd_lead_create(tables, task, engine, &lead, &all, err));
    }
    while (saltus_source_take(source, &job, 1, true) == 1) {
        SALTUS_TRY(simulate(tables, task, &all, &job, err));
        saltus_reached_store(task->reached, 0.0, 0);
        SALTUS_TRY(source->done(source->user, &job, 1, err));
    }
done:
    saltus_mpd_lead_free(&lead);
    return status;
}
