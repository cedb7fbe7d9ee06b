/* A run: workers take trajectories and fill blocks; full blocks are prepared by the worker that
 * finished them and delivered in order. A ring of blocks bounds the memory: when the oldest one is
 * not done, at most the length of the ring is simulated ahead of it. Where a device reduces samples
 * itself, what a worker takes at a time is a block of its own. */
#include "core/memory.h"
#include "ensemble/plan.h"
#include "ensemble/reduction.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    BLOCK_BYTES = 256 << 10,  /* of a block; a sink may wish for up to LARGE_BLOCK */
    LARGE_BLOCK = 1024 << 10, /* unless one trajectory takes more */
    MAX_BLOCK = 1024,
    RING_BYTES = 96 << 20,
    MAX_RING = 4096,
    /* Every worker fills a block of its own while another is delivered, as long as that takes no
     * more than this, or, on large machines, this much per worker. */
    BUSY_BYTES = 192 << 20,
    BUSY_WORKER_BYTES = 16 << 20,
    /* Blocks that a device reduces: what each holds of its trajectories, and of their sums, at
     * most.
     */
    REDUCED_BLOCK = 16 << 20,
    REDUCED_BYTES = 16 << 20
};

/* Memory for one block. The one that was freed last is used next, while the caches still hold it.
 */
typedef struct buffer {
    int64_t *trajectories, *counts;
    double *observables;
    bool *is_finished; /* [trajectory] */
    struct buffer *next_free;
} buffer;

typedef struct block {
    int64_t first, n; /* trajectories, counted from the first of the run */
    int64_t n_left;   /* not finished yet */
    int64_t events;   /* of the finished ones */
    bool is_open;     /* handed out, not delivered */
    bool is_ready;    /* prepared */
    void *prepared;
    buffer *memory;
    saltus_reduced *reduced; /* NULL when the samples themselves are wanted */
} block;

typedef struct run {
    const saltus_plan *plan;
    const saltus_run_options *options;
    const saltus_sink *sink;
    saltus_task task;
    saltus_source source;
    const saltus_reduction *reduction; /* NULL: samples are wanted, or there are observables */
    int64_t block_size, n_ring;
    int64_t counts_points;                 /* of counts in a block */
    int64_t counts_size, observables_size; /* numbers per trajectory */
    block *ring;
    buffer *free_buffers;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next;                /* trajectory to hand out next */
    int64_t n_opened, delivered; /* blocks */
    bool is_delivering;
    int n_working;
    saltus_run_report report;
    int64_t kernel_ns;    /* atomic */
    saltus_status status; /* the first failure, and its record */
    saltus_error error;
    bool sink_failed;
    int stop; /* workers are to give up; atomic */
    struct timespec start;
} run;

saltus_run_options saltus_run_options_default(void)
{
    return (saltus_run_options){.seed = 1, .n_trajectories = 1};
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* With the lock held. */
static void fail(run *r, saltus_status status, const saltus_error *error)
{
    if (r->status == SALTUS_OK) {
        r->status = status;
        r->error = *error;
    }
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
    (void)pthread_cond_broadcast(&r->changed);
}

static void free_buffer(buffer *m)
{
    if (m) {
        saltus_free(m->trajectories);
        saltus_free(m->is_finished);
        saltus_free(m->counts);
        saltus_free(m->observables);
        saltus_free(m);
    }
}

/* Memory for n trajectories; n is the same for all blocks that are not reduced. */
static saltus_status take_buffer(run *r, int64_t n, buffer **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t size = (size_t)n;
    buffer *m = r->free_buffers;
    if (m) {
        r->free_buffers = m->next_free;
        *out = m;
        return SALTUS_OK;
    }
    m = saltus_calloc(1, sizeof *m);
    SALTUS_NEED(m);
    m->trajectories = saltus_calloc(size, sizeof *m->trajectories);
    SALTUS_NEED(m->trajectories);
    m->is_finished = saltus_calloc(size, sizeof *m->is_finished);
    SALTUS_NEED(m->is_finished);
    m->observables = saltus_calloc(size * (size_t)r->observables_size, sizeof(double));
    SALTUS_NEED(m->observables);
    m->counts = saltus_calloc(size * (size_t)r->counts_size, sizeof *m->counts);
    SALTUS_NEED(m->counts);
    *out = m;
    m = NULL;
done:
    free_buffer(m);
    return status;
}

static void close_block(run *r, block *b)
{
    if (b->reduced) {
        free_buffer(b->memory);
        saltus_reduced_free(b->reduced);
        b->reduced = NULL;
    } else {
        b->memory->next_free = r->free_buffers;
        r->free_buffers = b->memory;
    }
    b->memory = NULL;
    b->is_open = b->is_ready = false;
}

/* Open the next block, of at most `size` trajectories. */
static saltus_status open_block(run *r, int64_t size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    block *b = &r->ring[r->n_opened % r->n_ring];
    const int64_t n_left = r->options->n_trajectories - r->next;
    if (r->reduction) {
        size = n_left < size ? n_left : size;
        SALTUS_TRY(saltus_reduced_create(r->reduction, r->options->n_times,
                                         r->plan->columns.n_counts, &b->reduced, err));
    }
    SALTUS_TRY(take_buffer(r, size, &b->memory, err));
    b->first = r->next;
    b->n = n_left < size ? n_left : size;
    b->n_left = b->n;
    b->events = 0;
    b->is_open = true;
    b->is_ready = false;
    b->prepared = NULL;
    for (int64_t i = 0; i < b->n; ++i) {
        b->memory->trajectories[i] = r->options->first_trajectory + b->first + i;
        b->memory->is_finished[i] = false;
    }
    ++r->n_opened;
done:
    return status;
}

/* The block of the next trajectory, if it is open. */
static block *present_block(const run *r)
{
    block *b = r->n_opened > 0 ? &r->ring[(r->n_opened - 1) % r->n_ring] : NULL;
    return b && r->next < b->first + b->n ? b : NULL;
}

static int take(void *user, saltus_job *jobs, int max, bool wait)
{
    run *r = user;
    int n = 0;
    (void)pthread_mutex_lock(&r->lock);
    while (n < max && r->status == SALTUS_OK && r->next < r->options->n_trajectories) {
        saltus_error err = {0};
        block *b = present_block(r);
        if (!b && r->reduction && n > 0) {
            break;
        }
        if (!b && r->n_opened - r->delivered >= r->n_ring) {
            if (!wait || n > 0) {
                break;
            }
            (void)pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        if (!b) {
            const int64_t size = r->reduction && max < r->block_size ? max : r->block_size;
            if (open_block(r, size, &err) != SALTUS_OK) {
                fail(r, err.code, &err);
                break;
            }
            b = present_block(r);
        }
        while (n < max && r->next < b->first + b->n) {
            const int64_t i = r->next++ - b->first;
            jobs[n++] =
                (saltus_job){.trajectory = b->memory->trajectories[i],
                             .counts = b->memory->counts + i * r->counts_size,
                             .observables = b->memory->observables + i * r->observables_size,
                             .block = b};
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    return n;
}

static saltus_block view_of(const run *r, const block *b)
{
    return (saltus_block){.trajectories = b->memory->trajectories,
                          .n_trajectories = b->n,
                          .n_points = r->counts_points,
                          .n_counts = r->plan->columns.n_counts,
                          .n_observables = r->plan->columns.n_observables,
                          .counts = b->memory->counts,
                          .observables = b->memory->observables,
                          .reduced = b->reduced};
}

static saltus_status prepare(run *r, block *b, saltus_error *err)
{
    const saltus_block view = view_of(r, b);
    return r->sink->prepare ? r->sink->prepare(r->sink->user, &view, &b->prepared, err) : SALTUS_OK;
}

static saltus_status deliver(run *r, block *b, saltus_error *err)
{
    const saltus_block view = view_of(r, b);
    void *prepared = b->prepared;
    b->prepared = NULL;
    return r->sink->deliver(r->sink->user, &view, prepared, err);
}

/* Deliver what is ready and next in order. With the lock held; gives it up meanwhile. */
static void deliver_ready(run *r)
{
    while (!r->is_delivering && !r->sink_failed) {
        block *b = &r->ring[r->delivered % r->n_ring];
        if (!b->is_ready) {
            break;
        }
        saltus_error err = {0};
        r->is_delivering = true;
        (void)pthread_mutex_unlock(&r->lock);
        const saltus_status status = deliver(r, b, &err);
        (void)pthread_mutex_lock(&r->lock);
        r->is_delivering = false;
        if (status != SALTUS_OK) {
            r->sink_failed = true;
            fail(r, status, &err);
            break;
        }
        r->report.trajectories += b->n;
        r->report.events += b->events;
        close_block(r, b);
        ++r->delivered;
        (void)pthread_cond_broadcast(&r->changed);
    }
}

/* With the lock held; returns whether that was the block's last. */
static bool mark_finished(const saltus_job *job)
{
    block *b = job->block;
    b->memory->is_finished[job->trajectory - b->memory->trajectories[0]] = true;
    b->events += job->events;
    return --b->n_left == 0;
}

/* A block is full. */
static saltus_status finish_block(run *r, block *b, saltus_error *err)
{
    saltus_status status = prepare(r, b, err);
    (void)pthread_mutex_lock(&r->lock);
    if (status == SALTUS_OK) {
        b->is_ready = true;
        deliver_ready(r);
        status = r->status;
    } else {
        r->sink_failed = true;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return status;
}

/* A block whose sums have failed is good for nothing. */
static saltus_status check_sums(run *r, saltus_status status)
{
    if (status != SALTUS_OK) {
        (void)pthread_mutex_lock(&r->lock);
        r->sink_failed = true;
        (void)pthread_mutex_unlock(&r->lock);
    }
    return status;
}

static saltus_status finish_job(void *user, const saltus_job *job, saltus_error *err)
{
    run *r = user;
    block *b = job->block;
    saltus_status status = SALTUS_OK;
    if (b->reduced) { /* only the worker that took the block touches its sums */
        SALTUS_TRY(check_sums(r, saltus_reduced_add(b->reduced, job->rest, err)));
    }
    (void)pthread_mutex_lock(&r->lock);
    const bool is_full = mark_finished(job);
    status = r->status;
    (void)pthread_mutex_unlock(&r->lock);
    if (is_full) {
        status = finish_block(r, b, err);
    }
done:
    return status;
}

static saltus_status finish_reduced(void *user, const saltus_job *jobs, int n,
                                    const saltus_partial *partial, saltus_error *err)
{
    run *r = user;
    block *b = jobs[0].block;
    saltus_status status = SALTUS_OK;
    int64_t n_reduced = 0;
    bool is_full = false;
    for (int j = 0; j < n; ++j) {
        n_reduced += jobs[j].is_reduced;
    }
    SALTUS_TRY(check_sums(r, saltus_reduced_merge(b->reduced, partial, n_reduced, err)));
    (void)pthread_mutex_lock(&r->lock);
    for (int j = 0; j < n; ++j) {
        if (jobs[j].is_reduced) {
            is_full = mark_finished(&jobs[j]);
        }
    }
    status = r->status;
    (void)pthread_mutex_unlock(&r->lock);
    if (is_full) {
        status = finish_block(r, b, err);
    }
done:
    return status;
}

static void *worker(void *user)
{
    run *r = user;
    saltus_error err = {0};
    const saltus_status status =
        r->plan->backend->ops->work(r->plan->backend, &r->task, &r->source, &err);
    (void)pthread_mutex_lock(&r->lock);
    if (status != SALTUS_OK) {
        fail(r, status, &err);
    }
    --r->n_working;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void tell_progress(run *r)
{
    saltus_progress p = {.trajectories = r->report.trajectories,
                         .total = r->options->n_trajectories,
                         .events = r->report.events,
                         .seconds = seconds_since(&r->start)};
    for (int64_t i = 0; i < r->n_ring; ++i) { /* finished but not delivered yet */
        const block *b = &r->ring[i];
        if (b->is_open) {
            p.trajectories += b->n - b->n_left;
            p.events += b->events;
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    r->options->progress(r->options->progress_user, &p);
    (void)pthread_mutex_lock(&r->lock);
}

/* Wait for the workers, looking at the stop flag and telling progress a few times a second. */
static void watch(run *r)
{
    (void)pthread_mutex_lock(&r->lock);
    while (r->n_working > 0) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        const double seconds = seconds_since(&r->start);
        while (r->n_working > 0 && pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0) {
        }
        if (r->options->stop && __atomic_load_n(r->options->stop, __ATOMIC_RELAXED)) {
            const saltus_error stopped = {.code = SALTUS_E_CANCELLED,
                                          .message = "stopped on request"};
            fail(r, SALTUS_E_CANCELLED, &stopped);
        }
        if (r->options->progress && seconds_since(&r->start) - seconds > 0.15) {
            tell_progress(r);
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
}

/* Move the finished trajectories of a block together; returns their number. */
static int64_t keep_finished(const run *r, block *b)
{
    buffer *m = b->memory;
    int64_t n = 0;
    for (int64_t i = 0; b->is_open && i < b->n; ++i) {
        if (m->is_finished[i]) {
            m->trajectories[n] = m->trajectories[i];
            memmove(m->counts + n * r->counts_size, m->counts + i * r->counts_size,
                    (size_t)r->counts_size * sizeof *m->counts);
            memmove(m->observables + n * r->observables_size,
                    m->observables + i * r->observables_size,
                    (size_t)r->observables_size * sizeof *m->observables);
            ++n;
        }
    }
    b->n = n;
    return n;
}

/* After a run that ended early: the finished trajectories of blocks that are not full move
 * together and are delivered too. The workers are gone. */
static void deliver_rest(run *r)
{
    for (; r->delivered < r->n_opened; ++r->delivered) {
        block *b = &r->ring[r->delivered % r->n_ring];
        saltus_error err = {0};
        if (r->sink_failed) {
            if (b->prepared && r->sink->discard) {
                r->sink->discard(r->sink->user, b->prepared);
                b->prepared = NULL;
            }
            continue;
        }
        const int64_t n = keep_finished(r, b);
        if (n == 0) {
            continue;
        }
        if ((!b->is_ready && prepare(r, b, &err) != SALTUS_OK) ||
            deliver(r, b, &err) != SALTUS_OK) {
            r->sink_failed = true;
            fail(r, err.code, &err);
            continue;
        }
        r->report.trajectories += n;
        r->report.events += b->events;
    }
}

static void warn_of_rounding(const run *r)
{
    const saltus_network *net = r->plan->model->network;
    for (int i = 0; r->options->warn && i < net->tables.n_settings; ++i) {
        if (r->task.rounded[i]) {
            char text[300];
            (void)snprintf(text, sizeof text,
                           "event '%.100s' set '%.100s' to values that are not whole; they were "
                           "rounded",
                           net->setting_events[i], net->setting_names[i]);
            r->options->warn(r->options->warn_user, text);
        }
    }
}

saltus_status saltus_run_options_check(const saltus_plan *plan, const saltus_run_options *o,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (plan->n_workers == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "device '%s' is no GPU: plans for it are compiled, not run",
                    plan->backend->name);
    }
    SALTUS_TRY(saltus_generator_check_seed(&plan->generator, o->seed, err));
    if (o->n_trajectories < 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld trajectories: at least 1 is needed",
                    (long long)o->n_trajectories);
    }
    if (o->first_trajectory < 0 || o->first_trajectory > INT64_MAX - o->n_trajectories) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the first trajectory is %lld: it must be 0 or more",
                    (long long)o->first_trajectory);
    }
    if (o->n_times < 1 || !o->times) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there are no sample times");
    }
    for (int64_t i = 0; i < o->n_times; ++i) {
        if (!(o->times[i] >= 0.0 && isfinite(o->times[i])) ||
            (i > 0 && !(o->times[i] > o->times[i - 1]))) {
            SALTUS_FAIL(SALTUS_E_INVALID, "sample time %lld is %g: they must rise from 0",
                        (long long)i, o->times[i]);
        }
    }
done:
    return status;
}

/* Blocks in the ring. Two of them at least: one is filled while the other is delivered. */
static int64_t ring_length(const saltus_plan *plan, int64_t block_bytes)
{
    const int64_t n_workers = plan->n_workers, wish = plan->backend->ops->ahead_bytes;
    const int64_t ahead = wish > 0 ? wish : RING_BYTES;
    const int64_t for_workers = n_workers * (int64_t)BUSY_WORKER_BYTES;
    const int64_t busy = (for_workers > BUSY_BYTES ? for_workers : BUSY_BYTES) / block_bytes;
    int64_t ring = ahead / block_bytes;
    ring = ring < MAX_RING ? ring : MAX_RING;
    const int64_t wanted = busy < n_workers + 1 ? busy : n_workers + 1;
    ring = ring > wanted ? ring : wanted;
    return ring > 2 ? ring : 2;
}

double saltus_run_memory(const saltus_plan *plan, int64_t n_times, int64_t n_trajectories)
{
    const double columns = (double)plan->columns.n_counts + plan->columns.n_observables;
    const double bytes = 8.0 * (double)n_times * columns + 16.0;
    const double all = bytes * (double)n_trajectories;
    const double largest = bytes > LARGE_BLOCK ? bytes : LARGE_BLOCK;
    if (largest > 1e18) { /* more than any machine has */
        return largest;
    }
    const double most = largest * (double)ring_length(plan, (int64_t)largest);
    return all < most ? all : most;
}

/* What the sink makes of counts, if the backend can do that where they are. */
static const saltus_reduction *choose_reduction(const run *r)
{
    const saltus_columns *columns = &r->plan->columns;
    const saltus_reduction *wanted = r->sink->reduction;
    const bool can =
        wanted && r->plan->backend->ops->reduces && columns->n_counts > 0 &&
        columns->n_observables == 0 &&
        saltus_reduced_bytes(wanted, r->options->n_times, columns->n_counts) <= REDUCED_BYTES;
    return can ? wanted : NULL;
}

/* Blocks of what a worker takes at a time: two for each in the ring, so that nobody waits. */
static void choose_reduced_blocks(run *r)
{
    const int64_t bytes = 8 * r->counts_size + 32, share = r->task.share;
    const int64_t n_workers = r->plan->n_workers;
    r->block_size = REDUCED_BLOCK / bytes > 1 ? REDUCED_BLOCK / bytes : 1;
    const int64_t n = share < r->block_size ? share : r->block_size;
    const int64_t block_bytes =
        bytes * n +
        (int64_t)saltus_reduced_bytes(r->reduction, r->options->n_times, r->plan->columns.n_counts);
    r->n_ring = ring_length(r->plan, block_bytes);
    r->n_ring = r->n_ring > 2 * n_workers ? r->n_ring : 2 * n_workers;
}

static void choose_blocks(run *r)
{
    const int64_t n = r->options->n_trajectories;
    const int64_t bytes = 8 * (r->counts_size + r->observables_size) + 16;
    const int64_t fair = (n + 4 * r->plan->n_workers - 1) / (4 * (int64_t)r->plan->n_workers);
    int64_t size = BLOCK_BYTES / bytes;
    size = size < MAX_BLOCK ? size : MAX_BLOCK;
    size = size < fair ? size : fair;
    size = size > 1 ? size : 1;
    r->block_size = r->sink->block_trajectories > 0 ? r->sink->block_trajectories : size;
    const int64_t ring = ring_length(r->plan, bytes * r->block_size);
    const int64_t n_blocks = (n + r->block_size - 1) / r->block_size;
    r->n_ring = ring < n_blocks ? ring : n_blocks;
}

static saltus_status set_up(run *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_plan *plan = r->plan;
    const saltus_tables *tables = &plan->model->network->tables;
    r->reduction = choose_reduction(r);
    r->counts_points = !r->reduction ? r->options->n_times : r->reduction->finals ? 1 : 0;
    r->counts_size = r->counts_points * plan->columns.n_counts;
    r->observables_size = r->options->n_times * plan->columns.n_observables;
    r->source = (saltus_source){r, take, finish_job, finish_reduced};
    r->task =
        (saltus_task){.model = plan->model,
                      .tables = tables,
                      .columns = &plan->columns,
                      .generator = &plan->generator,
                      .seed = r->options->seed,
                      .times = r->options->times,
                      .n_times = r->options->n_times,
                      .share = (r->options->n_trajectories + plan->n_workers - 1) / plan->n_workers,
                      .reduction = r->reduction,
                      .stop = &r->stop,
                      .layout = plan->layout,
                      .block = plan->block};
    if (r->reduction) {
        choose_reduced_blocks(r);
    } else {
        choose_blocks(r);
    }
    r->ring = saltus_calloc((size_t)r->n_ring, sizeof *r->ring);
    SALTUS_NEED(r->ring);
    r->task.kernel_ns = &r->kernel_ns;
    r->task.rounded = saltus_calloc((size_t)tables->n_settings, 1);
    SALTUS_NEED(r->task.rounded);
done:
    return status;
}

static saltus_status run_workers(run *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int n_started = 0;
    int n = r->plan->n_workers;
    n = r->options->n_trajectories < n ? (int)r->options->n_trajectories : n;
    pthread_t *threads = saltus_calloc((size_t)n, sizeof *threads);
    SALTUS_NEED(threads);
    r->n_working = n;
    for (; n_started < n; ++n_started) {
        if (pthread_create(&threads[n_started], NULL, worker, r) != 0) {
            saltus_error no_thread = {0};
            (void)saltus_error_set(&no_thread, SALTUS_E_NO_MEMORY,
                                   "only %d threads could be "
                                   "started",
                                   n_started);
            (void)pthread_mutex_lock(&r->lock);
            r->n_working -= n - n_started;
            if (n_started == 0) {
                fail(r, no_thread.code, &no_thread);
            }
            (void)pthread_mutex_unlock(&r->lock);
            break;
        }
    }
    watch(r);
    for (int i = 0; i < n_started; ++i) {
        (void)pthread_join(threads[i], NULL);
    }
done:
    saltus_free(threads);
    return status;
}

saltus_status saltus_run(const saltus_plan *plan, const saltus_run_options *options,
                         const saltus_sink *sink, saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    run r = {.plan = plan, .options = options, .sink = sink};
    (void)clock_gettime(CLOCK_MONOTONIC, &r.start);
    (void)pthread_mutex_init(&r.lock, NULL);
    (void)pthread_cond_init(&r.changed, NULL);
    SALTUS_TRY(saltus_run_options_check(plan, options, err));
    SALTUS_TRY(set_up(&r, err));
    SALTUS_TRY(run_workers(&r, err));
    if (r.status != SALTUS_OK) {
        deliver_rest(&r);
        SALTUS_FAIL(r.status, "%s", r.error.message);
    }
    warn_of_rounding(&r);
done:
    if (err && r.error.hint[0]) {
        saltus_error_hint(err, "%s", r.error.hint);
    }
    r.report.seconds = seconds_since(&r.start);
    r.report.kernel_seconds = 1e-9 * (double)r.kernel_ns;
    if (report) {
        *report = r.report;
    }
    for (int64_t i = 0; r.ring && i < r.n_ring; ++i) {
        free_buffer(r.ring[i].memory);
        saltus_reduced_free(r.ring[i].reduced);
    }
    while (r.free_buffers) {
        buffer *m = r.free_buffers;
        r.free_buffers = m->next_free;
        free_buffer(m);
    }
    saltus_free(r.ring);
    saltus_free(r.task.rounded);
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    return status;
}
