/* Points of a sweep: on a device that takes points, as one run (at_once.c). Else each is a
 * run of its own: many at once on the threads when there are many, else one after the other with
 * all threads. Results are delivered in the order of the points. */
#include "sweep/points.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/tally.h"
#include "ensemble/checkpoint.h"
#include "ensemble/plan.h"
#include "model/freeze/freeze.h"

#include <string.h>

enum {
    POINTS_EACH = 2, /* of a thread, at least, for threads to have points of their own */
    /* On the CPU: points, at least, and trajectories of each, at most, that are simulated at once:
     * of fewer points each is sooner done alone, and more trajectories fill lanes by themselves. */
    AT_ONCE_POINTS = 64,
    AT_ONCE_RUNS = 256
};

saltus_sweep_options saltus_sweep_options_default(void)
{
    return (saltus_sweep_options){.device = "cpu",
                                  .plan = saltus_plan_options_default(),
                                  .run = saltus_run_options_default()};
}

int64_t saltus_sweep_begin(const saltus_sweep_options *o)
{
    return o->first_point + o->n_done;
}

int64_t saltus_sweep_end(const saltus_sweep *sweep, const saltus_sweep_options *o)
{
    return o->n_points > 0 ? o->first_point + o->n_points : saltus_sweep_n_points(sweep);
}

int64_t saltus_sweep_apart(const saltus_sweep_options *o)
{
    return o->common_random_numbers ? 0 : o->runs_apart > 0 ? o->runs_apart : o->run.n_trajectories;
}

static saltus_status check_finished(const saltus_sweep *sweep, saltus_error *err)
{
    return sweep->is_finished
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_INVALID, "the sweep has no points yet");
}

saltus_status saltus_sweep_check_options(const saltus_sweep *sweep, const saltus_sweep_options *o,
                                         saltus_error *err)
{
    const int64_t n_each = o->run.n_trajectories;
    const int64_t n_all = sweep->n_points, first = o->first_point;
    const bool is_of_it =
        first >= 0 && first < n_all && o->n_points >= 0 && o->n_points <= n_all - first;
    saltus_status status = saltus_law_check(o->law, err);
    if (status == SALTUS_OK) {
        status = check_finished(sweep, err);
    }
    if (status != SALTUS_OK) {
        return status;
    }
    if (o->runs_apart < 0) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "the first trajectories of points are %lld numbers apart: it must "
                                "be 0 or more",
                                (long long)o->runs_apart);
    }
    if (!is_of_it) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "%lld points from %lld on are no part of %lld points",
                                (long long)o->n_points, (long long)first, (long long)n_all);
    }
    const int64_t n = saltus_sweep_end(sweep, o) - first;
    if (o->n_done < 0 || o->n_done > n) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "%lld points are said to be done: there are %lld",
                                (long long)o->n_done, (long long)n);
    }
    return saltus_sweep_check_numbers(sweep, o->run.first_trajectory,
                                      n_each > o->runs_apart ? n_each : o->runs_apart, err);
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

/* What was kept of a point goes back into its sink, which is new; *n and *events: of so many
 * trajectories. */
static saltus_status go_on(const saltus_sweep_run_state *r, int64_t point, const saltus_plan *plan,
                           const saltus_checkpoint *checkpoint, saltus_sink **sink, int64_t *n,
                           int64_t *events, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t size;
    const void *had = saltus_checkpoint_had(checkpoint, n, &size);
    saltus_collector *c = saltus_collector_of(*sink);
    saltus_error damage = {0};
    if (had && c && saltus_collector_load(c, had, size, &damage) == SALTUS_OK && c->n == *n) {
        *events = c->events;
        return SALTUS_OK;
    }
    *n = 0;
    if (had) { /* it begins again */
        r->sink->discard(r->sink->user, *sink);
        *sink = NULL;
        SALTUS_TRY(r->sink->open(r->sink->user, point, plan, sink, err));
    }
done:
    return status;
}

saltus_status saltus_point_run(saltus_sweep_run_state *r, saltus_model *model, int64_t point,
                               saltus_sink **sink, saltus_checkpoint **checkpoint,
                               saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_sweep_options *o = r->options;
    saltus_plan_options wanted = o->plan;
    saltus_run_options run = o->run;
    saltus_plan *plan = NULL;
    int64_t events = 0;
    wanted.n_threads = r->n_threads;
    wanted.n_expected = run.n_trajectories;
    run.first_trajectory += point * saltus_sweep_apart(o);
    run.stop = r->is_here && o->run.stop ? o->run.stop : &r->workers.stop;
    run.progress = NULL;
    run.trace = NULL;
    run.ranks = NULL;
    run.warn = point == o->first_point ? run.warn : NULL;
    SALTUS_TRY(saltus_sweep_freeze(r->sweep, point, model, o->law, err));
    SALTUS_TRY(saltus_plan_create(model, r->backend, &wanted, &plan, err));
    SALTUS_TRY(r->sink->open(r->sink->user, point, plan, sink, err));
    if (o->run.checkpoint) {
        SALTUS_TRY(saltus_checkpoint_open_point(o->run.checkpoint, point, checkpoint, err));
        run.checkpoint = *checkpoint;
        SALTUS_TRY(go_on(r, point, plan, *checkpoint, sink, &run.n_done, &events, err));
    }
    SALTUS_TRY(saltus_run(plan, &run, *sink, report, err));
    report->trajectories += run.n_done;
    report->events = saltus_count_sum(report->events, events);
done:
    saltus_plan_destroy(plan);
    return status;
}

/* Another point is due: if that is the one that failed, so do the workers. The lock is held. */
static void turn(saltus_sweep_run_state *r)
{
    if (r->delivered == r->failed) {
        saltus_workers_fail(&r->workers, r->failure.code, &r->failure);
    }
    (void)pthread_cond_broadcast(&r->workers.changed);
}

void saltus_points_fail(saltus_sweep_run_state *r, int64_t point, const saltus_error *error)
{
    if (point < r->failed) {
        r->failed = point;
        r->failure = *error;
    }
    turn(r);
}

/* Wait for the point's turn and deliver it. The lock is held. */
void saltus_points_deliver(saltus_sweep_run_state *r, int64_t point, saltus_sink *sink,
                           const saltus_run_report *report)
{
    saltus_error err = {0};
    while (r->delivered < point && r->workers.status == SALTUS_OK) {
        (void)pthread_cond_wait(&r->workers.changed, &r->workers.lock);
    }
    if (r->delivered < point) { /* one before it failed */
        r->sink->discard(r->sink->user, sink);
        return;
    }
    if (r->sink->deliver(r->sink->user, point, sink, &err) != SALTUS_OK) {
        saltus_workers_fail(&r->workers, err.code, &err);
        return;
    }
    ++r->delivered;
    saltus_report_add(&r->report, report);
    turn(r);
}

/* Take the next point when it is not too far ahead; -1: there is none. The lock is held. */
int64_t saltus_points_take(saltus_sweep_run_state *r)
{
    if (r->next >= saltus_sweep_end(r->sweep, r->options)) {
        return -1;
    }
    const int64_t point = r->next++;
    while (point - r->delivered >= SALTUS_POINTS_AHEAD * r->n_all &&
           r->workers.status == SALTUS_OK && point < r->failed) {
        (void)pthread_cond_wait(&r->workers.changed, &r->workers.lock);
    }
    return r->workers.status == SALTUS_OK && point < r->failed ? point : -1;
}

/* A point that took long and has to wait for its turn is kept as a whole. The lock is held. */
static void keep_whole(saltus_sweep_run_state *r, int64_t point, const saltus_sink *sink,
                       saltus_checkpoint *checkpoint, const saltus_run_report *report)
{
    saltus_error err = {0};
    void *bytes;
    size_t size;
    if (r->delivered < point && checkpoint && sink->store &&
        report->seconds > saltus_checkpoint_seconds(checkpoint) / 60.0 &&
        sink->store(sink->user, &bytes, &size, &err) == SALTUS_OK) {
        (void)pthread_mutex_unlock(&r->workers.lock);
        saltus_checkpoint_set_had(checkpoint, r->options->run.n_trajectories, bytes, size);
        if (saltus_checkpoint_write(checkpoint, sink, &err) != SALTUS_OK && r->options->run.warn) {
            r->options->run.warn(r->options->run.warn_user, err.message);
        }
        (void)pthread_mutex_lock(&r->workers.lock);
    }
}

/* Nothing is kept any more of a point that is in the file. The lock is held. */
static void drop_kept(saltus_sweep_run_state *r, int64_t point, saltus_checkpoint *checkpoint)
{
    saltus_error err = {0};
    const bool is_delivered = r->delivered > point;
    if (is_delivered && checkpoint && saltus_checkpoint_is_written(checkpoint) && r->sink->flush &&
        r->sink->flush(r->sink->user, &err) != SALTUS_OK) {
        saltus_workers_fail(&r->workers, err.code, &err);
        saltus_checkpoint_close(checkpoint, true);
        return;
    }
    saltus_checkpoint_close(checkpoint, !is_delivered);
}

static saltus_status work(void *user, int number, saltus_error *err)
{
    saltus_sweep_run_state *r = user;
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    int64_t point;
    if (number >= r->n_workers) {
        return saltus_points_lend(r, 1 + number - r->n_workers, err);
    }
    SALTUS_TRY(saltus_sweep_load(r->options, &model, err));
    (void)pthread_mutex_lock(&r->workers.lock);
    while (status == SALTUS_OK && (point = saltus_points_take(r)) >= 0) {
        saltus_run_report report = {0};
        saltus_sink *sink = NULL;
        saltus_checkpoint *checkpoint = NULL;
        (void)pthread_mutex_unlock(&r->workers.lock);
        status = saltus_point_run(r, model, point, &sink, &checkpoint, &report, err);
        (void)pthread_mutex_lock(&r->workers.lock);
        if (status == SALTUS_OK) {
            keep_whole(r, point, sink, checkpoint, &report);
            saltus_points_deliver(r, point, sink, &report);
            drop_kept(r, point, checkpoint);
            continue;
        }
        r->report.lost_gpu = report.lost_gpu;
        saltus_checkpoint_close(checkpoint, true);
        if (sink) {
            r->sink->discard(r->sink->user, sink);
        }
        if (status != SALTUS_E_CANCELLED) {
            saltus_sweep_name_point(r->sweep, point, err);
            saltus_points_fail(r, point, err);
            status = SALTUS_OK; /* of this worker: others have points before this one */
        }
    }
    (void)pthread_mutex_unlock(&r->workers.lock);
done:
    saltus_sweep_unload(r->options, model);
    return status;
}

static void tell_progress(void *user)
{
    const saltus_sweep_run_state *r = user;
    const saltus_run_options *run = &r->options->run;
    const int64_t n_points = saltus_sweep_end(r->sweep, r->options) - r->options->first_point;
    saltus_progress p = {.trajectories = r->report.trajectories,
                         .total = n_points * run->n_trajectories,
                         .events = r->report.events,
                         .seconds = saltus_now() - r->start,
                         .until = run->times[run->n_times - 1]};
    p.fraction = (double)p.trajectories / (double)p.total;
    run->progress(run->progress_user, &p);
}

/* Whether threads, so many of all ranks, have points of their own. */
static bool has_many(const saltus_sweep *sweep, const saltus_sweep_options *o,
                     const saltus_backend *backend, int64_t n_threads)
{
    return backend->ops->kind == SALTUS_ON_CPU &&
           saltus_sweep_end(sweep, o) - o->first_point >= POINTS_EACH * n_threads;
}

int saltus_sweep_at_a_time(const saltus_sweep *sweep, const saltus_sweep_options *options,
                           const saltus_plan *plan)
{
    const int n = plan->n_workers;
    return has_many(sweep, options, plan->backend,
                    (int64_t)n * saltus_ranks_count(options->run.ranks))
               ? n
               : 1;
}

saltus_status saltus_points_share(saltus_sweep_run_state *r, int64_t n_all, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = r->backend->ops->n_workers(r->backend, &r->options->plan);
    const bool is_cpu = r->backend->ops->kind == SALTUS_ON_CPU;
    if (n == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "device '%s' can simulate nothing", r->options->device);
    }
    const bool many = has_many(r->sweep, r->options, r->backend, n_all > n ? n_all : n);
    r->n_workers = many ? n : 1;
    r->n_total = n_all > n ? n_all : n;
    r->n_all = many ? r->n_total : saltus_ranks_count(r->options->run.ranks);
    r->n_threads = many || !is_cpu ? (is_cpu ? 1 : r->options->plan.n_threads) : n;
done:
    return status;
}

/* Method "auto" is chosen at the first point, for all. */
static saltus_status choose_method(const saltus_sweep *sweep, saltus_sweep_options *o,
                                   saltus_method_choice *choice, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    if (!saltus_method_is_auto(o->plan.method)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_sweep_load(o, &model, err));
    SALTUS_TRY(saltus_sweep_freeze(sweep, 0, model, o->law, err));
    *choice = saltus_method_choose(model, &o->plan);
    o->plan.method = choice->method;
    o->plan.method_why = choice->why;
done:
    saltus_sweep_unload(o, model);
    return status;
}

/* Let the other ranks take points too, if there are such ranks and the sink can take what they
 * send.
 */
static saltus_status join_ranks(saltus_sweep_run_state *r, saltus_model **model, saltus_plan **plan,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t n_all = 0;
    if (saltus_ranks_count(r->options->run.ranks) == 1 ||
        r->next == saltus_sweep_end(r->sweep, r->options)) {
        goto done;
    }
    SALTUS_TRY(saltus_points_plan(r->sweep, r->options, r->backend, model, plan, err));
    r->plan = *plan;
    SALTUS_TRY(saltus_points_await(r, &n_all, err));
    if (n_all == 0) {
        r->plan = NULL;
        goto done;
    }
    SALTUS_TRY(saltus_points_share(r, n_all, err));
done:
    return status;
}

/* Whether the points are worth being simulated as one run of the device. A GPU has room for all; on
 * the CPU that is so while their trajectories are few, but what is kept is kept of single points.
 */
static bool goes_at_once(const saltus_sweep_run_state *r)
{
    const saltus_sweep_options *o = r->options;
    const int64_t n_points = saltus_sweep_end(r->sweep, o) - r->next;
    if (r->backend->ops->kind != SALTUS_ON_CPU) {
        return n_points > 0 && r->backend->ops->point_methods != 0;
    }
    return n_points >= AT_ONCE_POINTS && o->run.n_trajectories <= AT_ONCE_RUNS &&
           !o->run.checkpoint && saltus_ranks_count(o->run.ranks) == 1;
}

/* All points as one run. Where one fails, those before it that are not delivered are run again
 * without it. SALTUS_E_UNSUPPORTED: the points are left to the workers. */
static saltus_status run_at_once(saltus_sweep_run_state *r, saltus_sweep_options *o,
                                 saltus_error *err)
{
    saltus_status status;
    for (;;) {
        saltus_run_report report;
        int64_t failed;
        status = saltus_sweep_run_at_once(r->sweep, o, r->backend, r->sink, &r->delivered, &failed,
                                          &report, err);
        saltus_report_add(&r->report, &report);
        r->next = r->delivered;
        if (failed >= 0) {
            saltus_points_fail(r, failed, err);
        }
        if (failed <= r->delivered || r->sink->add) {
            return status;
        }
        o->n_points = failed - o->first_point;
        o->n_done = r->delivered - o->first_point;
        o->run.warn = NULL; /* it has been told */
    }
}

saltus_status saltus_sweep_run(const saltus_sweep *sweep, const saltus_sweep_options *options,
                               const saltus_sweep_sink *sink, saltus_run_report *report,
                               saltus_error *err)
{
    const bool serves = options && saltus_ranks_number(options->run.ranks) > 0;
    if (!sweep || !options || !options->load || !options->device ||
        (!serves && (!sink || !sink->open || !sink->deliver))) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = check_finished(sweep, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (serves) {
        if (report) {
            *report = (saltus_run_report){0};
        }
        return saltus_points_serve(sweep, options, err);
    }
    saltus_sweep_options chosen = *options;
    saltus_method_choice choice;
    saltus_ranks *ranks = options->run.ranks;
    saltus_model *model = NULL;
    saltus_plan *plan = NULL;
    saltus_sweep_run_state r = {.sweep = sweep,
                                .options = &chosen,
                                .sink = sink,
                                .failed = INT64_MAX,
                                .start = saltus_now()};
    saltus_workers_init(&r.workers);
    SALTUS_TRY(saltus_sweep_check_options(sweep, options, err));
    chosen.run.n_done = 0; /* of a point */
    r.next = r.delivered = saltus_sweep_begin(options);
    SALTUS_TRY(saltus_backend_open(options->device, &r.backend, err));
    SALTUS_TRY(choose_method(sweep, &chosen, &choice, err));
    SALTUS_TRY(saltus_points_share(&r, 0, err));
    if (goes_at_once(&r)) {
        saltus_error at_once = {0};
        status = run_at_once(&r, &chosen, &at_once);
        if (r.failed == r.delivered) {
            at_once = r.failure;
        }
        if (status != SALTUS_E_UNSUPPORTED) {
            status = saltus_error_pass(err, &at_once);
            goto done;
        }
    }
    SALTUS_TRY(join_ranks(&r, &model, &plan, err));
    r.is_here = r.n_workers == 1 && !r.plan && r.backend->ops->kind == SALTUS_ON_CPU &&
                !options->run.progress && !options->run.checkpoint;
    const saltus_work how = {.user = &r,
                             .work = work,
                             .tell = options->run.progress ? tell_progress : NULL,
                             .no_thread = "threads could not be started",
                             .is_here = r.is_here,
                             .stop = options->run.stop};
    saltus_workers_run(&r.workers, r.n_workers + (r.plan ? saltus_ranks_count(ranks) - 1 : 0),
                       &how);
    status = saltus_workers_status(&r.workers, err);
done:
    r.report.seconds = saltus_now() - r.start;
    if (report) {
        *report = r.report;
    }
    saltus_plan_destroy(plan);
    saltus_sweep_unload(options, model);
    saltus_backend_close(r.backend);
    saltus_workers_free(&r.workers);
    return status;
}
