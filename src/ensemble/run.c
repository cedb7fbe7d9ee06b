/* A run: workers take trajectories and fill blocks; full blocks are prepared by the worker that
 * finished them and delivered in order. A ring of blocks bounds the memory: when the oldest one is
 * not done, at most the length of the ring is simulated ahead of it. Where a device reduces samples
 * itself, what a worker takes at a time is a block of its own. */
#include "core/clock.h"
#include "core/memory.h"
#include "core/workers.h"
#include "core/tally.h"
#include "engine/keep.h"
#include "ensemble/blocks.h"
#include "ensemble/keeping.h"
#include "ensemble/progress.h"
#include "ensemble/warn.h"
#include "ranks/ranks.h"

#include <string.h>

/* Trajectories of many points that a device takes at a time: they fill it, and the memory of one
 * batch serves the next. */
enum { POINTS_BATCH = 1 << 16 };

typedef struct run {
    const saltus_plan *plan;
    const saltus_run_options *options;
    saltus_run_points *points; /* NULL: there is one */
    const saltus_sink *sink;
    saltus_task task;
    saltus_source source;
    saltus_blocks blocks;
    saltus_loan loan; /* to the other ranks */

    saltus_workers workers;
    int n_waiting; /* workers that wait for a block */
    bool is_delivering;
    bool is_here;             /* the only worker is the calling thread: starting one costs 30 us */
    saltus_run_report report; /* workers may add to it, atomically */
    saltus_tally tally;       /* of what was delivered; joins the report at the end */
    int64_t kernel_ns;        /* atomic */
    int64_t ended;            /* on devices, and not handed over; atomic */
    bool sink_failed;
    const double *failed; /* a point's row; atomic */
    saltus_tracer tracer;
    double start; /* saltus_now */
    saltus_monitor monitor;
    saltus_keeping keeping;
} run;

/* The next trajectories of one block, max at most, or none; the block's jobs are written later,
 * which for a GPU takes long. With the lock held. */
static saltus_piece reserve(run *r, int max, bool wait)
{
    saltus_blocks *b = &r->blocks;
    if (r->is_here && SALTUS_FLAG(r->task.stop)) {
        saltus_workers_cancel(&r->workers);
    }
    while (r->workers.status == SALTUS_OK && b->next < r->options->n_trajectories) {
        saltus_error err = {0};
        if (saltus_blocks_need_one(b) && saltus_blocks_are_full(b)) {
            if (!wait) {
                break;
            }
            ++r->n_waiting;
            (void)pthread_cond_wait(&r->workers.changed, &r->workers.lock);
            --r->n_waiting;
            continue;
        }
        if (saltus_blocks_need_one(b) && saltus_blocks_open(b, max, &err) != SALTUS_OK) {
            saltus_workers_fail(&r->workers, err.code, &err);
            break;
        }
        return saltus_blocks_reserve(b, max);
    }
    return (saltus_piece){0};
}

/* Of one block, where what is reduced is a block's, and else of as many as it takes. */
static int hand_out(run *r, saltus_ticket *tickets, int max, bool wait)
{
    const bool is_one = r->blocks.reduction && !r->points;
    saltus_piece piece = {.n = 1};
    int n = 0;
    while (n < max && piece.n > 0 && !(is_one && n > 0)) {
        (void)pthread_mutex_lock(&r->workers.lock);
        piece = reserve(r, max - n, wait && n == 0);
        (void)pthread_mutex_unlock(&r->workers.lock);
        saltus_blocks_write_tickets(&r->blocks, &piece, tickets + n);
        n += piece.n;
    }
    return n;
}

static saltus_status prepare(run *r, saltus_filling *b, saltus_error *err)
{
    const saltus_block view = saltus_blocks_view(&r->blocks, b);
    return r->sink->prepare ? r->sink->prepare(r->sink->user, &view, &b->prepared, err) : SALTUS_OK;
}

static saltus_status deliver(run *r, saltus_filling *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_block view = saltus_blocks_view(&r->blocks, b);
    void *prepared = b->prepared;
    b->prepared = NULL;
    if (!r->points || r->blocks.reduction || r->points->together) {
        return r->sink->deliver(r->sink->user, &view, prepared, err);
    }
    for (int64_t i = 0; status == SALTUS_OK && i < b->n; i += view.n_trajectories) {
        view = saltus_blocks_view_point(&r->blocks, b, i);
        status = r->sink->deliver(r->sink->user, &view, NULL, err);
    }
    return status;
}

/* Deliver what is ready and next in order. With the lock held; gives it up meanwhile. */
static void deliver_ready(run *r)
{
    while (!r->is_delivering && !r->sink_failed) {
        saltus_filling *b = saltus_blocks_oldest(&r->blocks);
        if (!b->is_ready) {
            break;
        }
        saltus_error err = {0};
        r->is_delivering = true;
        (void)pthread_mutex_unlock(&r->workers.lock);
        const double start = saltus_tracer_now(r->task.tracer);
        const saltus_status status = deliver(r, b, &err);
        saltus_tracer_end(r->task.tracer, "deliver", SALTUS_TRACK_WRITER, 0, start);
        (void)pthread_mutex_lock(&r->workers.lock);
        r->is_delivering = false;
        if (status != SALTUS_OK) {
            r->sink_failed = true;
            saltus_workers_fail(&r->workers, status, &err);
            break;
        }
        r->report.trajectories += b->n;
        saltus_tally_add(&r->tally, &b->tally);
        if (r->keeping.checkpoint) {
            saltus_checkpoint_drop(r->keeping.checkpoint, b->memory->trajectories[0], b->n);
        }
        saltus_blocks_close_oldest(&r->blocks);
        if (r->n_waiting > 0) {
            (void)pthread_cond_broadcast(&r->workers.changed);
        }
    }
}

/* A block is full. */
static saltus_status finish_block(run *r, saltus_filling *b, saltus_error *err)
{
    saltus_status status = prepare(r, b, err);
    (void)pthread_mutex_lock(&r->workers.lock);
    if (status == SALTUS_OK) {
        b->is_ready = true;
        deliver_ready(r);
        status = r->workers.status;
    } else {
        r->sink_failed = true;
    }
    (void)pthread_mutex_unlock(&r->workers.lock);
    return status;
}

/* A block whose sums have failed is good for nothing. */
static saltus_status check_sums(run *r, saltus_status status)
{
    if (status != SALTUS_OK) {
        (void)pthread_mutex_lock(&r->workers.lock);
        r->sink_failed = true;
        (void)pthread_mutex_unlock(&r->workers.lock);
    }
    return status;
}

static saltus_status finish_jobs(void *user, const saltus_job *jobs, int n, saltus_error *err)
{
    run *r = user;
    saltus_filling *b = jobs[0].block;
    saltus_status status = SALTUS_OK;
    saltus_tally tally = {0};
    bool is_full = false;
    if (b->reduced) { /* only the worker that took the block touches its sums */
        SALTUS_TRY(check_sums(
            r, saltus_reduced_add(b->reduced, jobs[0].rest, jobs[0].rest_observables, err)));
    }
    (void)pthread_mutex_lock(&r->workers.lock);
    for (int j = 0; j < n; ++j) {
        saltus_filling_note(&jobs[j], &tally);
    }
    is_full = saltus_filling_count(b, n, &tally);
    status = r->workers.status;
    (void)pthread_mutex_unlock(&r->workers.lock);
    if (is_full) {
        status = finish_block(r, b, err);
    }
done:
    return status;
}

static saltus_status finish_reduced(void *user, const saltus_ticket *tickets, int n,
                                    const saltus_partial *partial, saltus_error *err)
{
    run *r = user;
    saltus_filling *b = tickets[0].block;
    saltus_status status = SALTUS_OK;
    bool is_full = false;
    const int64_t n_reduced = saltus_filling_note_reduced(tickets, n);
    SALTUS_TRY(check_sums(r, saltus_reduced_merge(b->reduced, partial, n_reduced, err)));
    (void)pthread_mutex_lock(&r->workers.lock);
    is_full = saltus_filling_count(b, n_reduced, &partial->tally);
    status = r->workers.status;
    (void)pthread_mutex_unlock(&r->workers.lock);
    if (is_full) {
        status = finish_block(r, b, err);
    }
done:
    return status;
}

/* A trajectory that had ended before the run began. */
static saltus_status finish_kept(run *r, const saltus_ticket *ticket, saltus_error *err)
{
    saltus_job job = saltus_blocks_job(&r->blocks, ticket);
    if (r->blocks.reduction) {
        saltus_job_reduce(&r->task, &job, job.kept->counts, job.kept->observables);
    } else {
        saltus_keep_samples(&r->task, &job);
        saltus_job_reduce(&r->task, &job, job.counts, job.observables);
    }
    job.tally = job.kept->tally;
    return finish_jobs(r, &job, 1, err);
}

static saltus_job open_job(void *user, const saltus_ticket *ticket)
{
    const run *r = user;
    return saltus_blocks_job(&r->blocks, ticket);
}

/* Tickets come with what was kept of them; those that had ended do not come at all. */
static int take(void *user, saltus_ticket *tickets, int max, bool wait)
{
    run *r = user;
    int n_left = 0;
    for (int n = 1; n > 0 && n_left == 0;) {
        n = hand_out(r, tickets, max, wait);
        for (int i = 0; i < n && r->keeping.checkpoint; ++i) {
            saltus_error err = {0};
            saltus_ticket ticket = tickets[i];
            ticket.kept = saltus_checkpoint_find(r->keeping.checkpoint, ticket.trajectory);
            if (!ticket.kept || !ticket.kept->is_complete) {
                tickets[n_left++] = ticket;
            } else if (finish_kept(r, &ticket, &err) != SALTUS_OK) {
                (void)pthread_mutex_lock(&r->workers.lock);
                saltus_workers_fail(&r->workers, err.code, &err);
                (void)pthread_mutex_unlock(&r->workers.lock);
            }
        }
        n_left = r->keeping.checkpoint ? n_left : n;
    }
    return n_left;
}

/* Those that simulate here. */
static int n_workers(const run *r)
{
    return r->loan.n_slabs > 0 ? 1
                               : saltus_ranks_busy(r->options->n_trajectories, r->plan->n_workers,
                                                   r->loan.n_workers);
}

/* And one for each other rank. */
static int n_all(const run *r)
{
    return n_workers(r) + (r->loan.n_slabs > 0 ? 0 : saltus_ranks_count(r->loan.ranks) - 1);
}

static saltus_status work(void *user, int number, saltus_error *err)
{
    run *r = user;
    saltus_task task = r->task;
    const double start = saltus_tracer_now(task.tracer);
    task.worker = number;
    task.reached = &r->monitor.reached[number];
    const int beyond = number - n_workers(r);
    if (r->keeping.checkpoint) {
        task.pause = &r->keeping.pause[number];
        task.saver = saltus_checkpoint_saver(r->keeping.checkpoint);
    }
    const saltus_backend *backend = r->plan->backend;
    const saltus_status status =
        r->loan.n_slabs > 0 ? saltus_ranks_lead_lattice(&r->loan, &task, backend, &r->source, err)
        : beyond < 0        ? backend->ops->work(backend, &task, &r->source, err)
                            : saltus_ranks_lend(&r->loan, 1 + beyond, &task, &r->source, err);
    saltus_keeping_end(&r->keeping, number);
    saltus_reached_store(task.reached, 0.0, 0);
    saltus_tracer_end(task.tracer, "work", SALTUS_TRACK_WORKER, number, start);
    return status;
}

/* What is finished, delivered or not. */
static int64_t count_finished(const run *r, int64_t *events)
{
    int64_t n = r->report.trajectories + __atomic_load_n(&r->ended, __ATOMIC_RELAXED);
    *events = r->tally.events;
    for (int64_t i = 0; i < r->blocks.n_ring; ++i) {
        const saltus_filling *b = &r->blocks.ring[i];
        if (b->is_open) {
            n += b->n - b->n_left;
            *events = saltus_count_sum(*events, b->tally.events);
        }
    }
    return n;
}

/* Trajectories that have ended are kept where they are long. With the lock held, and nothing is
 * being delivered. */
static void keep_ended(run *r)
{
    if (!r->sink_failed) {
        saltus_keeping_store(&r->keeping, r->sink, r->options->n_done + r->report.trajectories);
    }
    if (saltus_keeping_pays(&r->keeping)) {
        saltus_blocks_keep_ended(&r->blocks, r->keeping.checkpoint);
    }
}

/* A few times a second, with the lock held. */
static void tell(void *user)
{
    run *r = user;
    int64_t events;
    const int64_t n_finished = count_finished(r, &events);
    saltus_monitor_look(&r->monitor, r->options->n_done + n_finished, events, &r->workers.lock);
    if (r->keeping.checkpoint) {
        saltus_keeping_look(&r->keeping, r->blocks.next - r->options->n_done - n_finished,
                            n_finished);
    }
    if (r->keeping.checkpoint && r->workers.stop) {
        saltus_keeping_ask(&r->keeping);
    } else if (saltus_keeping_is_ready(&r->keeping) && !r->is_delivering) {
        keep_ended(r);
        (void)pthread_mutex_unlock(&r->workers.lock);
        saltus_keeping_write(&r->keeping, r->options, r->sink);
        (void)pthread_mutex_lock(&r->workers.lock);
    }
}

/* After a run that ended early: the finished trajectories of blocks that are not full move
 * together and are delivered too. The workers are gone. */
static void deliver_rest(run *r)
{
    for (; r->blocks.delivered < r->blocks.n_opened; ++r->blocks.delivered) {
        saltus_filling *b = saltus_blocks_oldest(&r->blocks);
        saltus_error err = {0};
        if (r->sink_failed) {
            if (b->prepared && r->sink->discard) {
                r->sink->discard(r->sink->user, b->prepared);
                b->prepared = NULL;
            }
            continue;
        }
        const int64_t n = saltus_blocks_keep_finished(&r->blocks, b);
        if (n == 0) {
            continue;
        }
        if ((!b->is_ready && prepare(r, b, &err) != SALTUS_OK) ||
            deliver(r, b, &err) != SALTUS_OK) {
            r->sink_failed = true;
            saltus_workers_fail(&r->workers, err.code, &err);
            continue;
        }
        r->report.trajectories += n;
        saltus_tally_add(&r->tally, &b->tally);
    }
}

/* A GPU that was lost when nobody needed it any more is none of the run's failures. */
static void forgive_loss(run *r)
{
    char text[sizeof r->workers.error.message + 60];
    if (r->workers.status != SALTUS_E_DEVICE || r->sink_failed || r->report.lost_gpu == 0 ||
        r->options->n_done + r->report.trajectories < r->options->n_trajectories) {
        return;
    }
    if (r->options->warn) {
        (void)snprintf(text, sizeof text, "lost GPU %d, the first to fail: %s; all was done",
                       r->report.lost_gpu - 1, r->workers.error.message);
        r->options->warn(r->options->warn_user, text);
    }
    r->workers.status = SALTUS_OK;
    r->workers.error = (saltus_error){0};
}

/* Trajectories that a worker may take at a time while every other one has as many, twice. */
static int64_t share_of_ring(const run *r)
{
    const int64_t n_blocks = r->blocks.n_ring / (2 * r->loan.n_workers);
    return (n_blocks > 1 ? n_blocks : 1) * r->blocks.largest;
}

static saltus_status set_up(run *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_plan *plan = r->plan;
    const saltus_tables *tables = &plan->model->network->tables;
    const int64_t n_runs = r->options->n_trajectories;
    SALTUS_TRY(saltus_blocks_init(&r->blocks, plan, r->loan.n_workers, r->options, r->points,
                                  r->sink, err));
    r->source = (saltus_source){r, take, open_job, finish_jobs, finish_reduced};
    r->task = saltus_plan_task(plan);
    r->task.varies = r->points ? r->points->varies : NULL;
    r->task.largest = r->points ? r->points->largest : NULL;
    r->task.space.frame_times = r->options->frame_times;
    r->task.space.n_frames = r->sink->frame ? r->options->n_frames : 0;
    r->task.space.sink = r->sink;
    r->task.seed = r->options->seed;
    r->task.times = r->options->times;
    r->task.n_times = r->options->n_times;
    r->task.n_threads = plan->n_workers / n_workers(r);
    r->task.n_slabs = r->loan.n_slabs > 0 ? r->loan.n_slabs : r->task.n_slabs;
    r->task.share = (n_runs + r->loan.n_workers - 1) / r->loan.n_workers;
    r->task.reduction = r->blocks.reduction;
    r->task.derivation = r->blocks.derivation;
    r->task.stop =
        r->is_here && r->options->stop ? (const int *)r->options->stop : &r->workers.stop;
    r->task.segment = r->blocks.largest;
    if (r->points && r->points->n_each < r->task.segment) {
        r->task.segment = r->points->n_each;
    }
    const int64_t at_once = r->points ? share_of_ring(r) : r->blocks.largest;
    if (r->blocks.reduction && at_once < r->task.share) {
        r->task.share = at_once;
    }
    if (r->points && !r->blocks.reduction && r->task.share > POINTS_BATCH) {
        r->task.share = POINTS_BATCH;
    }
    r->task.failed = &r->failed;
    r->task.kernel_ns = &r->kernel_ns;
    r->task.report = &r->report;
    r->task.ended = &r->ended;
    r->tracer.tell = r->options->trace;
    r->tracer.user = r->options->trace_user;
    r->task.tracer = r->options->trace ? &r->tracer : NULL;
    r->task.rounded = saltus_calloc((size_t)tables->n_settings, 1);
    SALTUS_NEED(r->task.rounded);
    SALTUS_TRY(saltus_monitor_begin(&r->monitor, r->options, n_all(r), r->start, err));
    if (r->options->checkpoint && !r->points) {
        SALTUS_TRY(saltus_keeping_begin(&r->keeping, plan, r->options, r->sink, n_all(r), err));
    }
done:
    return status;
}

/* Count the workers of all ranks, when all are ready. */
static saltus_status join_ranks(run *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task task = saltus_plan_task(r->plan);
    saltus_ranks *ranks = r->options->ranks;
    saltus_ready own;
    r->loan = (saltus_loan){.ranks = ranks,
                            .task = &r->task,
                            .n_trajectories = r->options->n_trajectories,
                            .n_workers = r->plan->n_workers};
    if (saltus_ranks_count(ranks) == 1) {
        r->loan.ranks = NULL;
        goto done;
    }
    if (r->plan->is_over_ranks || r->options->n_trajectories < saltus_ranks_count(ranks)) {
        r->loan.n_slabs = r->points ? 0 : r->plan->n_rank_slabs;
    }
    saltus_ready_make(&task, r->plan->backend, r->plan->n_workers, &own);
    SALTUS_TRY(saltus_ranks_await_ready(ranks, &own, &r->loan.n_workers, r->options->stop, err));
    if (r->options->warn && r->options->n_trajectories < saltus_ranks_count(ranks) && !r->points &&
        r->loan.n_slabs == 0) {
        r->options->warn(r->options->warn_user,
                         "there are fewer trajectories than ranks, and one trajectory stays on one "
                         "rank: the others have nothing to do");
    }
done:
    return status;
}

static saltus_status serve(const saltus_plan *plan, const saltus_run_options *options,
                           saltus_run_report *report, saltus_error *err)
{
    saltus_task task = saltus_plan_task(plan);
    if (report) {
        *report = (saltus_run_report){0};
    }
    return saltus_ranks_serve(options->ranks, &task, plan->backend, plan->n_workers, options->stop,
                              err);
}

saltus_status saltus_run(const saltus_plan *plan, const saltus_run_options *options,
                         const saltus_sink *sink, saltus_run_report *report, saltus_error *err)
{
    if (plan && options && saltus_ranks_number(options->ranks) > 0) {
        return serve(plan, options, report, err);
    }
    if (!plan || !options || !sink || !sink->deliver) {
        return saltus_no_argument(err, __func__);
    }
    if (sink->block_trajectories < 0) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "the sink wishes for blocks of %lld trajectories: it must be 0 or "
                                "more",
                                (long long)sink->block_trajectories);
    }
    return saltus_run_at_points(plan, options, NULL, sink, report, err);
}

saltus_status saltus_run_at_points(const saltus_plan *plan, const saltus_run_options *options,
                                   saltus_run_points *points, const saltus_sink *sink,
                                   saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    run r = {
        .plan = plan, .options = options, .points = points, .sink = sink, .start = saltus_now()};
    r.tracer = (saltus_tracer){.start = r.start};
    (void)pthread_mutex_init(&r.tracer.lock, NULL);
    saltus_workers_init(&r.workers);
    SALTUS_TRY(saltus_run_options_check(plan, options, err));
    if (sink->begin) {
        SALTUS_TRY(sink->begin(sink->user, plan, options, err));
    }
    SALTUS_TRY(join_ranks(&r, err));
    r.is_here = n_all(&r) == 1 && plan->backend->ops->kind == SALTUS_ON_CPU && !options->progress &&
                !options->checkpoint;
    SALTUS_TRY(set_up(&r, err));
    saltus_warn_before(plan, options);
    const saltus_work how = {.user = &r,
                             .work = work,
                             .tell = tell,
                             .no_thread = "only 0 threads could be started",
                             .is_here = r.is_here,
                             .stop = options->stop};
    saltus_workers_run(&r.workers, n_all(&r), &how);
    if (r.workers.status != SALTUS_OK) {
        if (r.workers.status != SALTUS_E_NUMERIC && r.keeping.checkpoint) {
            saltus_keeping_write(&r.keeping, options, sink);
        }
        deliver_rest(&r);
        forgive_loss(&r);
    }
    SALTUS_TRY(saltus_workers_status(&r.workers, err));
    saltus_warn_after(plan, options, r.task.rounded);
done:
    saltus_report_count(&r.report, &r.tally);
    r.report.seconds = saltus_now() - r.start;
    r.report.kernel_seconds = 1e-9 * (double)r.kernel_ns;
    if (report) {
        *report = r.report;
    }
    if (points) {
        points->failed = r.failed ? (r.failed - points->rows) / points->size : -1;
    }
    saltus_blocks_free(&r.blocks);
    saltus_keeping_free(&r.keeping);
    saltus_monitor_free(&r.monitor);
    saltus_free(r.task.rounded);
    saltus_workers_free(&r.workers);
    (void)pthread_mutex_destroy(&r.tracer.lock);
    return status;
}
