/* Points of a sweep: on a device that takes points, as one run (at_once.c). Else each is a
 * run of its own: many at once on the threads when there are many, else one after the other with
 * all threads. Results are delivered in the order of the points. */
#include "sweep/sweep.h"

#include "core/clock.h"
#include "core/memory.h"
#include "ensemble/plan.h"

#include <pthread.h>
#include <string.h>

enum {
    POINTS_EACH = 2, /* of a thread, at least, for threads to have points of their own */
    AHEAD = 4,       /* points of a thread that may be simulated and not delivered yet */
};

typedef struct sweep_run {
    const saltus_sweep *sweep;
    const saltus_sweep_options *options;
    const saltus_sweep_sink *sink;
    saltus_backend *backend;
    int n_workers, n_threads; /* that take points; of each run */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next, delivered; /* points */
    int n_working;
    volatile int stop; /* for the runs under way */
    saltus_status status;
    saltus_error error;
    saltus_run_report report;
} sweep_run;

saltus_sweep_options saltus_sweep_options_default(void)
{
    return (saltus_sweep_options){.device = "cpu",
                                  .plan = saltus_plan_options_default(),
                                  .run = saltus_run_options_default()};
}

static void fail(sweep_run *r, saltus_status status, const saltus_error *error)
{
    if (r->status == SALTUS_OK) {
        r->status = status;
        r->error = *error;
    }
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED); /* runs look at it without the lock */
    (void)pthread_cond_broadcast(&r->changed);
}

void saltus_sweep_name_point(const saltus_sweep *sweep, int64_t point, saltus_error *err)
{
    char where[200] = "at ", message[sizeof err->message];
    size_t at = 3;
    for (int a = 0; err && a < saltus_sweep_n_axes(sweep) && at + 40 < sizeof where; ++a) {
        at += (size_t)snprintf(where + at, sizeof where - at, "%s%.20s = %.6g", a > 0 ? ", " : "",
                               saltus_sweep_name(sweep, a), saltus_sweep_value(sweep, a, point));
    }
    if (err) {
        (void)snprintf(message, sizeof message, "%s: %.380s", where, err->message);
        memcpy(err->message, message, sizeof message);
    }
}

static saltus_status run_point(sweep_run *r, saltus_model *model, int64_t point, saltus_sink **sink,
                               saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_sweep_options *o = r->options;
    saltus_plan_options wanted = o->plan;
    saltus_run_options run = o->run;
    saltus_plan *plan = NULL;
    wanted.n_threads = r->n_threads;
    if (!o->common_random_numbers) {
        run.first_trajectory += point * run.n_trajectories;
    }
    run.stop = &r->stop;
    run.progress = NULL;
    run.trace = NULL;
    run.warn = point == 0 ? run.warn : NULL;
    SALTUS_TRY(saltus_sweep_freeze(r->sweep, point, model, o->law, err));
    SALTUS_TRY(saltus_plan_create(model, r->backend, &wanted, &plan, err));
    SALTUS_TRY(r->sink->open(r->sink->user, point, plan, sink, err));
    SALTUS_TRY(saltus_run(plan, &run, *sink, report, err));
done:
    saltus_plan_destroy(plan);
    return status;
}

/* Wait for the point's turn and deliver it. The lock is held. */
static void deliver(sweep_run *r, int64_t point, saltus_sink *sink, const saltus_run_report *report)
{
    saltus_error err = {0};
    while (r->delivered < point && r->status == SALTUS_OK) {
        (void)pthread_cond_wait(&r->changed, &r->lock);
    }
    if (r->delivered < point) { /* one before it failed */
        r->sink->discard(r->sink->user, sink);
        return;
    }
    if (r->sink->deliver(r->sink->user, point, sink, &err) != SALTUS_OK) {
        fail(r, err.code, &err);
        return;
    }
    ++r->delivered;
    saltus_report_add(&r->report, report);
    (void)pthread_cond_broadcast(&r->changed);
}

static void *work(void *user)
{
    sweep_run *r = user;
    saltus_error err = {0};
    saltus_model *model = r->options->load(r->options->load_user, &err);
    (void)pthread_mutex_lock(&r->lock);
    if (!model) {
        fail(r, err.code, &err);
    }
    while (r->status == SALTUS_OK && r->next < saltus_sweep_n_points(r->sweep)) {
        const int64_t point = r->next++;
        saltus_run_report report = {0};
        saltus_sink *sink = NULL;
        while (point - r->delivered >= AHEAD * r->n_workers && r->status == SALTUS_OK) {
            (void)pthread_cond_wait(&r->changed, &r->lock);
        }
        (void)pthread_mutex_unlock(&r->lock);
        const saltus_status status = run_point(r, model, point, &sink, &report, &err);
        (void)pthread_mutex_lock(&r->lock);
        if (status == SALTUS_OK) {
            deliver(r, point, sink, &report);
            continue;
        }
        if (sink) {
            r->sink->discard(r->sink->user, sink);
        }
        if (status != SALTUS_E_CANCELLED) {
            saltus_sweep_name_point(r->sweep, point, &err);
        }
        fail(r, status, &err);
    }
    --r->n_working;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    saltus_model_destroy(model);
    return NULL;
}

/* Until the workers are done: pass the request to stop on, and tell how far it is. */
static void watch(sweep_run *r, double start)
{
    const saltus_run_options *run = &r->options->run;
    (void)pthread_mutex_lock(&r->lock);
    while (r->n_working > 0) {
        const struct timespec until = saltus_in_milliseconds(100);
        while (r->n_working > 0 && pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0) {
        }
        if (run->stop && __atomic_load_n(run->stop, __ATOMIC_RELAXED) && r->status == SALTUS_OK) {
            const saltus_error stopped = {.code = SALTUS_E_CANCELLED,
                                          .message = "stopped on request"};
            fail(r, SALTUS_E_CANCELLED, &stopped);
        }
        if (run->progress) {
            saltus_progress p = {.trajectories = r->report.trajectories,
                                 .total = saltus_sweep_n_points(r->sweep) * run->n_trajectories,
                                 .events = r->report.events,
                                 .seconds = saltus_now() - start,
                                 .until = run->times[run->n_times - 1]};
            p.fraction = (double)p.trajectories / (double)p.total;
            run->progress(run->progress_user, &p);
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
}

/* Threads take points of their own when there are enough for all. */
static saltus_status share_threads(sweep_run *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = r->backend->ops->n_workers(r->backend, &r->options->plan);
    const int64_t n_points = saltus_sweep_n_points(r->sweep);
    const bool is_cpu = r->backend->ops->kind == SALTUS_ON_CPU;
    if (n == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "device '%s' can simulate nothing", r->options->device);
    }
    const bool many = is_cpu && n_points >= (int64_t)POINTS_EACH * n;
    r->n_workers = many ? n : 1;
    r->n_threads = many || !is_cpu ? (is_cpu ? 1 : r->options->plan.n_threads) : n;
done:
    return status;
}

static saltus_status start_workers(sweep_run *r, double start, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int n_started = 0;
    pthread_t *threads = saltus_calloc((size_t)r->n_workers, sizeof *threads);
    SALTUS_NEED(threads);
    r->n_working = r->n_workers;
    for (; n_started < r->n_workers; ++n_started) {
        if (pthread_create(&threads[n_started], NULL, work, r) != 0) {
            const saltus_error no_thread = {.code = SALTUS_E_NO_MEMORY,
                                            .message = "threads could not be started"};
            (void)pthread_mutex_lock(&r->lock);
            r->n_working -= r->n_workers - n_started;
            if (n_started == 0) {
                fail(r, no_thread.code, &no_thread);
            }
            (void)pthread_mutex_unlock(&r->lock);
            break;
        }
    }
    watch(r, start);
    for (int i = 0; i < n_started; ++i) {
        (void)pthread_join(threads[i], NULL);
    }
done:
    saltus_free(threads);
    return status;
}

/* Method "auto" is chosen at the first point, for all. */
static saltus_status choose_method(const saltus_sweep *sweep, saltus_sweep_options *o,
                                   saltus_method_choice *choice, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error refused = {0};
    if (!saltus_method_is_auto(o->plan.method)) {
        return SALTUS_OK;
    }
    saltus_model *model = o->load(o->load_user, &refused);
    if (!model) {
        if (err) {
            *err = refused;
        }
        return refused.code;
    }
    SALTUS_TRY(saltus_sweep_freeze(sweep, 0, model, o->law, err));
    *choice = saltus_method_choose(model, &o->plan);
    o->plan.method = choice->method;
    o->plan.method_why = choice->why;
done:
    saltus_model_destroy(model);
    return status;
}

saltus_status saltus_sweep_run(const saltus_sweep *sweep, const saltus_sweep_options *options,
                               const saltus_sweep_sink *sink, saltus_run_report *report,
                               saltus_error *err)
{
    if (!sweep || !options || !options->load || !options->device || !sink || !sink->open ||
        !sink->deliver) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    if (!sweep->is_finished) {
        return saltus_error_set(err, SALTUS_E_INVALID, "the sweep has no points yet");
    }
    const double start = saltus_now();
    saltus_sweep_options chosen = *options;
    saltus_method_choice choice;
    sweep_run r = {.sweep = sweep, .options = &chosen, .sink = sink};
    (void)pthread_mutex_init(&r.lock, NULL);
    (void)pthread_cond_init(&r.changed, NULL);
    SALTUS_TRY(saltus_sweep_check_numbers(sweep, options->run.first_trajectory,
                                          options->run.n_trajectories, err));
    SALTUS_TRY(saltus_backend_open(options->device, &r.backend, err));
    SALTUS_TRY(share_threads(&r, err));
    SALTUS_TRY(choose_method(sweep, &chosen, &choice, err));
    if (r.backend->ops->reduces) {
        saltus_error at_once = {0};
        status = saltus_sweep_run_at_once(sweep, &chosen, r.backend, sink, &r.delivered, &r.report,
                                          &at_once);
        if (status != SALTUS_E_UNSUPPORTED) {
            if (status != SALTUS_OK && err) {
                *err = at_once;
            }
            goto done;
        }
        r.next = r.delivered;
    }
    SALTUS_TRY(start_workers(&r, start, err));
    if (r.status != SALTUS_OK) {
        status = r.status;
        if (err) {
            *err = r.error;
        }
    }
done:
    r.report.seconds = saltus_now() - start;
    if (report) {
        *report = r.report;
    }
    saltus_backend_close(r.backend);
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    return status;
}
