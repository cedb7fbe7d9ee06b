/* The course of a trajectory on a lattice. */
#include "engine/rdme.h"

#include "core/memory.h"
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
            SALTUS_TRY(saltus_contents_add(contents, site[i], species[i], 1, err));
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
    int64_t trajectory, work, fired;
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
        "negative or no number, or takes what is not there",
        (long long)c->trajectory, (double)(step - 1) * c->tables->m.step,
        (long long)(site % size[0]), (long long)(site / size[0] % size[1]),
        (long long)(site / size[0] / size[1]),
        c->task->model->network->reaction_names[failure.reaction]);
}

int64_t saltus_mpd_first_capacity(const saltus_mpd_tables *tables)
{
    return tables->n_start + tables->n_start / 4 + (1 << 12);
}

saltus_status saltus_mpd_more_capacity(int64_t wanted, int64_t *capacity, saltus_error *err)
{
    *capacity = 2 * wanted;
    return *capacity <= INT32_MAX
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_NO_MEMORY, "more than 2^30 particles on a lattice");
}

/* Run some phases; again and with more capacity if particles had no room. */
static saltus_status run_batch(course *c, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_engine *e = c->engine;
    saltus_mpd_batch_status batch_status = {.is_full = true};
    SALTUS_TRY(e->gather(e->user, err));
    while (batch_status.is_full) {
        SALTUS_TRY(e->run(e->user, phases, n, err));
        SALTUS_TRY(e->poll(e->user, &batch_status, err));
        if (SALTUS_FLAG(c->task->stop)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
        }
        if (batch_status.is_full) {
            SALTUS_TRY(e->restore(e->user, err));
        }
    }
    if (batch_status.failure.is_any) {
        SALTUS_TRY(report(c, batch_status.failure, phases[0].step, err));
    }
    c->work = batch_status.work;
    c->fired += batch_status.fired;
    saltus_reached_store(c->task->reached, (double)phases[n - 1].step * c->tables->m.step,
                         (uint64_t)c->fired);
done:
    return status;
}

/* Run from the end of one step to the end of another. */
static saltus_status advance(course *c, int64_t from, int64_t to, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_phase phases[BATCH];
    for (int64_t first = from; first <= to && from < to;) {
        const int64_t work = BATCH_WORK / (c->work + 1);
        const int64_t most = work < LEAST_BATCH ? LEAST_BATCH : work < BATCH ? work : BATCH;
        int n = 0;
        for (; n < most && first <= to; ++n, ++first) {
            phases[n] = (saltus_mpd_phase){first + 1, (first > from ? SALTUS_MPD_REACTS : 0) |
                                                          (first < to ? SALTUS_MPD_MOVES : 0)};
        }
        SALTUS_TRY(run_batch(c, phases, n, err));
    }
done:
    return status;
}

/* The first step that has not ended at a time; one that ends at that time has. */
static int64_t step_at(const saltus_mpd_tables *s, double time)
{
    return (int64_t)floor(time / s->m.step * (1.0 + 1e-12) + 1e-9);
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

static saltus_status simulate(const saltus_mpd_tables *tables, const saltus_task *task,
                              const saltus_mpd_engine *engine, saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_contents contents = {0};
    course c = {.tables = tables, .task = task, .engine = engine, .trajectory = job->trajectory};
    int64_t step = 0;
    int64_t *totals = saltus_calloc((size_t)tables->m.n_species, sizeof *totals);
    SALTUS_NEED(totals);
    c.work = tables->n_start;
    SALTUS_TRY(engine->begin(engine->user, job->trajectory, err));
    for (saltus_stop at = saltus_stop_first(task); at.is_one; at = saltus_stop_next(task, &at)) {
        const int64_t end = step_at(tables, at.time);
        SALTUS_TRY(advance(&c, step, end, err));
        step = end;
        SALTUS_TRY(engine->count(engine->user, totals, err));
        const bool collects = at.is_frame || (at.needs_contents && !engine->split);
        if (collects) {
            saltus_contents_clear(&contents);
            SALTUS_TRY(engine->collect(engine->user, &contents, err));
        } else if (at.needs_contents) {
            SALTUS_TRY(split_all(engine, task, job, at.sample, err));
        }
        SALTUS_TRY(saltus_space_record(task, job, &at, totals, collects ? &contents : NULL, err));
    }
    job->tally.events = c.fired;
done:
    saltus_contents_free(&contents);
    saltus_free(totals);
    return status;
}

saltus_status saltus_mpd_work(const saltus_mpd_tables *tables, const saltus_task *task,
                              const saltus_mpd_engine *engine, const saltus_source *source,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_job job;
    while (source->take(source->user, &job, 1, true) == 1) {
        SALTUS_TRY(simulate(tables, task, engine, &job, err));
        saltus_reached_store(task->reached, 0.0, 0);
        SALTUS_TRY(source->done(source->user, &job, err));
    }
done:
    return status;
}
