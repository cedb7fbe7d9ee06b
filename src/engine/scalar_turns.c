/* Several trajectories of a network with hubs, an event of each in turn, by one thread. Which ones
 * go together changes no bit of any. */
#include "engine/keep.h"
#include "engine/scalar.h"

/* Those at work stand in front, then those that were stopped to be kept, then idle ones. */
typedef struct turns {
    const saltus_task *task;
    saltus_scalar_engine *scalars[SALTUS_SCALAR_TURNS];
    saltus_job jobs[SALTUS_SCALAR_TURNS];
    saltus_job *job_of[SALTUS_SCALAR_TURNS]; /* as scalars: they move together */
    int n, n_running, n_stopped;
    int n_begun; /* of those that run: the others are new, or were stopped */
} turns;

static void swap(turns *c, int i, int j)
{
    saltus_scalar_engine *scalar = c->scalars[i];
    saltus_job *job = c->job_of[i];
    c->scalars[i] = c->scalars[j];
    c->job_of[i] = c->job_of[j];
    c->scalars[j] = scalar;
    c->job_of[j] = job;
}

/* Take jobs for idle engines; it waits for one where none runs. */
static saltus_status fill(turns *c, const saltus_source *source, saltus_error *err)
{
    while (c->n_running < c->n &&
           saltus_source_take(source, c->job_of[c->n_running], 1, c->n_running == 0) == 1) {
        saltus_scalar_engine *w = c->scalars[c->n_running];
        const saltus_job *job = c->job_of[c->n_running];
        ++c->n_running;
        if (!saltus_scalar_take(w, c->task, job) &&
            saltus_scalar_start(w, c->task, job) != SALTUS_FINE) {
            return saltus_scalar_report(w, c->task, err);
        }
    }
    return SALTUS_OK;
}

/* How far those under way have come. */
static void report_times(const turns *c)
{
    double t = 0.0;
    uint64_t fired = 0;
    for (int i = 0; i < c->n_running; ++i) {
        t += c->scalars[i]->trajectory.t;
        fired += c->scalars[i]->trajectory.fired;
    }
    saltus_reached_store(c->task->reached, t, fired);
}

/* Keep all that is under way, if it is time to, and go on, or give up. */
static saltus_status keep(turns *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool is_due = saltus_keep_is_due(c->task);
    for (int i = 0; i < c->n_stopped; ++i) {
        c->scalars[i]->trajectory.failure = SALTUS_FINE;
        if (is_due) {
            saltus_scalar_keep(c->scalars[i], c->task, c->job_of[i]);
        }
    }
    if (saltus_keep_stops(c->task, is_due)) {
        SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
    }
    c->n_running = c->n_stopped;
    c->n_stopped = c->n_begun = 0;
done:
    return status;
}

/* Number i has ended, is stopped, or has failed. */
static saltus_status end(turns *c, int i, const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_scalar_engine *w = c->scalars[i];
    const saltus_failure failure = w->trajectory.failure;
    if (failure != SALTUS_FINE && failure != SALTUS_STOPPED) {
        status = saltus_scalar_report(w, c->task, err);
        goto done;
    }
    swap(c, i, c->n_running - 1);
    --c->n_running;
    if (failure == SALTUS_STOPPED) {
        ++c->n_stopped;
    } else {
        saltus_scalar_count(w, c->job_of[c->n_running]);
        SALTUS_TRY(source->done(source->user, c->job_of[c->n_running], 1, err));
        swap(c, c->n_running, c->n_running + c->n_stopped);
    }
    c->n_begun = c->n_running;
    if (c->n_stopped == 0) {
        SALTUS_TRY(fill(c, source, err));
    } else if (c->n_running == 0) {
        SALTUS_TRY(keep(c, err));
    }
done:
    return status;
}

bool saltus_scalar_takes_turns(const saltus_task *task)
{
    return task->method == SALTUS_METHOD_DIRECT && task->tables->n_hubs > 0 &&
           task->tables->n_thinned == 0 && !task->tolerance;
}

saltus_status saltus_scalar_work_in_turn(const saltus_instruction_set *set, const saltus_task *task,
                                         const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    turns c = {.task = task};
    /* with few trajectories each, threads would wait for the last at the end */
    c.n = task->share < 4 * SALTUS_SCALAR_TURNS ? 1 : SALTUS_SCALAR_TURNS;
    for (int i = 0; i < c.n; ++i) {
        SALTUS_TRY(saltus_scalar_create(task, set, &c.scalars[i], err));
        c.scalars[i]->trajectory.reached = NULL;
        c.job_of[i] = &c.jobs[i];
    }
    SALTUS_TRY(fill(&c, source, err));
    while (c.n_running > 0) {
        const int i = set->run_in_turn(c.scalars, c.job_of, c.n_running, c.n_begun, task);
        report_times(&c);
        if (i < c.n_running) {
            SALTUS_TRY(end(&c, i, source, err));
        } else {
            c.n_begun = c.n_running;
        }
    }
done:
    for (int i = 0; i < c.n; ++i) {
        saltus_scalar_destroy(c.scalars[i], task);
    }
    return status;
}
