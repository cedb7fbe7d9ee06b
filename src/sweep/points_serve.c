/* The other ranks' side of a sweep: points come by messages, and what is kept of each goes back. On
 * a device that takes many points at once rank 0 runs these as runs, which are served as such. */
#include "sweep/points.h"

#include "core/clock.h"
#include "core/memory.h"
#include "ensemble/plan.h"

#include <string.h>

enum { TICK_MS = 10 };

typedef struct server {
    saltus_sweep_run_state r; /* whose `next` and `delivered` are not used */
    saltus_sweep_sink sink;
    saltus_collection what;
    saltus_ranks *ranks;
    int64_t *points; /* [n_points] to be simulated */
    size_t n_points, capacity;
    bool is_dry;
    double told_at; /* saltus_now when it last said that it lives */
    int n_busy;     /* workers that have not ended; atomic */
} server;

/* ---- what is kept of a point ---- */

static saltus_status open_collector(void *user, int64_t point, const saltus_plan *plan,
                                    saltus_sink **sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const server *s = user;
    saltus_collector *c = NULL;
    (void)point;
    if (plan->columns.n_counts != s->what.n_counts ||
        plan->columns.n_observables != s->what.n_observables) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the model records other species here than elsewhere");
    }
    SALTUS_TRY(saltus_collector_create(&s->what, &c, err));
    *sink = &c->sink;
done:
    return status;
}

static saltus_status send_point(const server *s, int64_t point, const saltus_sink *sink,
                                const saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    void *bytes = NULL;
    size_t size = 0;
    SALTUS_TRY(saltus_collector_store(saltus_collector_of(sink), &bytes, &size, err));
    saltus_message *m = saltus_message_new(SALTUS_FROM_POINT);
    SALTUS_PUT(m, point);
    saltus_message_put(m, report, sizeof *report);
    saltus_message_put(m, bytes, size);
    status = saltus_ranks_send(s->ranks, 0, m, err);
done:
    saltus_free(bytes);
    return status;
}

/* ---- workers ---- */

/* The next point; -1: there will be none. */
static int64_t take(server *s)
{
    int64_t point = -1;
    saltus_workers *w = &s->r.workers;
    (void)pthread_mutex_lock(&w->lock);
    while (s->n_points == 0 && !s->is_dry && w->status == SALTUS_OK) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    if (s->n_points > 0 && w->status == SALTUS_OK) {
        point = s->points[0];
        memmove(s->points, s->points + 1, --s->n_points * sizeof *s->points);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return point;
}

static saltus_status simulate(server *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_sweep_options *o = s->r.options;
    saltus_model *model = NULL;
    int64_t point;
    SALTUS_TRY(saltus_sweep_load(o, &model, err));
    while (status == SALTUS_OK && (point = take(s)) >= 0) {
        saltus_run_report report = {0};
        saltus_sink *sink = NULL;
        saltus_checkpoint *checkpoint = NULL; /* rank 0 alone has one */
        status = saltus_point_run(&s->r, model, point, &sink, &checkpoint, &report, err);
        if (status == SALTUS_OK) {
            status = send_point(s, point, sink, &report, err);
        } else if (status != SALTUS_E_CANCELLED) {
            saltus_sweep_name_point(s->r.sweep, point, err);
        }
        saltus_collector_destroy(sink ? saltus_collector_of(sink) : NULL);
    }
done:
    saltus_sweep_unload(o, model);
    return status;
}

/* A message of rank 0, which is taken. With the lock held. */
static saltus_status attend(server *s, saltus_message *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (m && m->kind == SALTUS_TO_POINT) {
        int64_t *grown = saltus_grow(s->points, s->n_points, &s->capacity, sizeof *s->points);
        SALTUS_NEED(grown);
        s->points = grown;
        SALTUS_GET(m, grown[s->n_points]);
        ++s->n_points;
    }
    if (saltus_now() - s->told_at > 1e-3 * SALTUS_TELLING_MS) {
        s->told_at = saltus_now();
        SALTUS_TRY(saltus_ranks_send(s->ranks, 0, saltus_message_new(SALTUS_FROM_PROGRESS), err));
    }
    s->is_dry |= m && m->kind == SALTUS_TO_END;
    if (m && (m->kind == SALTUS_TO_STOP || m->kind == SALTUS_TO_LEAVE)) {
        SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
    }
done:
    saltus_message_free(m);
    return status;
}

static saltus_status work(void *user, int number, saltus_error *err)
{
    server *s = user;
    if (number > 0) {
        const saltus_status status = simulate(s, err);
        (void)__atomic_fetch_sub(&s->n_busy, 1, __ATOMIC_RELAXED);
        return status;
    }
    while (__atomic_load_n(&s->n_busy, __ATOMIC_RELAXED) > 0) {
        saltus_message *m = saltus_ranks_receive(s->ranks, 0, TICK_MS);
        saltus_error failed = {0};
        (void)pthread_mutex_lock(&s->r.workers.lock);
        const saltus_status status = attend(s, m, &failed);
        if (status != SALTUS_OK) {
            saltus_workers_fail(&s->r.workers, status, &failed);
        }
        (void)pthread_cond_broadcast(&s->r.workers.changed);
        (void)pthread_mutex_unlock(&s->r.workers.lock);
    }
    return SALTUS_OK;
}

/* ---- a sweep ---- */

/* What points_lend.c's send_sweep has put together; the message has to stay. */
static saltus_status set_up(server *s, const saltus_plan *plan, saltus_message *m,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_run_options *run = &s->r.options->run;
    int64_t head[5];
    double range[2];
    SALTUS_GET(m, head);
    SALTUS_GET(m, range);
    s->what = (saltus_collection){.n_runs = run->n_trajectories,
                                  .n_times = run->n_times,
                                  .times = run->times,
                                  .n_counts = plan->columns.n_counts,
                                  .n_observables = plan->columns.n_observables,
                                  .record = (saltus_record)head[1],
                                  .n_bins = head[2],
                                  .low = range[0],
                                  .high = range[1]};
    s->what.derivation = (saltus_derivation){.n = (int32_t)head[3],
                                             .n_counts = plan->columns.n_counts,
                                             .n_observables = plan->columns.n_observables,
                                             .times = run->times,
                                             .first = head[4],
                                             .n_times = run->n_times};
    s->what.derivation.wanted =
        saltus_message_view(m, (size_t)head[3] * sizeof *s->what.derivation.wanted);
    if (m->data.failed) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank 0 has sent makes no sense");
    }
    SALTUS_TRY(saltus_points_share(&s->r, head[0], err));
    s->n_busy = s->r.n_workers;
done:
    return status;
}

static saltus_status send_end(server *s, saltus_error *err)
{
    saltus_message *m = saltus_message_new(SALTUS_FROM_END);
    s->r.workers.error.code = s->r.workers.status;
    saltus_message_put_error(m, &s->r.workers.error);
    return saltus_ranks_send(s->ranks, 0, m, err);
}

static saltus_status serve_points(server *s, const saltus_plan *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error why = {0};
    saltus_message *m =
        saltus_ranks_await(s->ranks, 0, SALTUS_TO_SWEEP, SALTUS_TO_SWEEP, NULL, &why);
    if (!m) {
        return saltus_error_set(err, why.code, "%s", why.message);
    }
    SALTUS_TRY(set_up(s, plan, m, err));
    const saltus_work how = {.user = s,
                             .work = work,
                             .no_thread = "threads could not be started",
                             .stop = s->r.options->run.stop};
    saltus_workers_run(&s->r.workers, 1 + s->r.n_workers, &how);
    SALTUS_TRY(send_end(s, err));
done:
    saltus_message_free(m);
    return status;
}

saltus_status saltus_points_serve(const saltus_sweep *sweep, const saltus_sweep_options *options,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_backend *backend = NULL;
    saltus_model *model = NULL;
    saltus_plan *plan = NULL;
    server s = {.ranks = options->run.ranks};
    s.sink = (saltus_sweep_sink){.user = &s, .open = open_collector};
    s.r = (saltus_sweep_run_state){.sweep = sweep, .options = options, .sink = &s.sink};
    saltus_workers_init(&s.r.workers);
    SALTUS_TRY(saltus_backend_open(options->device, &backend, err));
    SALTUS_TRY(saltus_points_plan(sweep, options, backend, &model, &plan, err));
    s.r.backend = backend;
    do { /* runs of many points, if there are such */
        saltus_task task = saltus_plan_task(plan);
        status =
            saltus_ranks_serve(s.ranks, &task, backend, plan->n_workers, options->run.stop, err);
    } while (status == SALTUS_OK);
    if (status == SALTUS_E_UNSUPPORTED) {
        if (err) {
            *err = (saltus_error){0};
        }
        SALTUS_TRY(serve_points(&s, plan, err));
    }
done:
    saltus_free(s.points);
    saltus_plan_destroy(plan);
    saltus_sweep_unload(options, model);
    saltus_backend_close(backend);
    saltus_workers_free(&s.r.workers);
    return status;
}
