/* The other ranks' side of a run: workers whose jobs come by messages. One thread more takes the
 * messages and sends, from time to time, what has gathered. */
#include "ranks/ranks.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/workers.h"
#include "engine/keep.h"
#include "ranks/keep.h"
#include "ranks/lots.h"

#include <string.h>

enum {
    TICK_MS = 5,
    FULL_BYTES = 256 << 10, /* of results that are sent together */
    MOST_WANTED = 1 << 20
};
static const double late = 0.05; /* s that results wait at most, and jobs are fetched ahead */

struct server;

/* A worker's place: what it hands to its source. */
typedef struct seat {
    struct server *server;
    int pause;     /* saltus_task.pause */
    bool is_empty; /* it waits for a job; with workers.lock */
} seat;

typedef struct server {
    saltus_ranks *ranks;
    const saltus_backend *backend;
    saltus_task *task;
    saltus_workers workers;
    saltus_sizes sizes;
    int n_workers;    /* that simulate */
    int n_busy;       /* of them that have not ended; atomic */
    saltus_sink sink; /* of frames */
    saltus_reduction reduction;
    saltus_derivation derivation;
    saltus_reached *reached; /* [worker] */
    seat *seats;             /* [worker] */
    bool has_slab;           /* of a lattice that is on all ranks */
    bool keeps;              /* rank 0 wants to have what is under way */
    saltus_saver saver;
    int64_t kernel_ns, ended;
    const double *failed;
    saltus_run_report report;
    /* with workers.lock: */
    saltus_lot *lots, *queue, *queue_end; /* all; those with jobs to be taken */
    int64_t n_queued, n_asked, n_wished;  /* jobs: here, asked for, waited for */
    bool is_dry, is_asked;   /* there are no more jobs; what is under way is to be kept */
    saltus_message *results; /* that are not sent */
    double results_since, start, told_at;
    int64_t n_done;
} server;

/* ------------------------------------------------------------------------------------------------
 * Jobs
 */

static void ask(server *s, int64_t n)
{
    saltus_error err = {0};
    n = n < MOST_WANTED ? n : MOST_WANTED;
    saltus_message *m = saltus_message_new(SALTUS_FROM_WANT);
    SALTUS_PUT(m, n);
    s->n_asked += n;
    if (saltus_ranks_send(s->ranks, 0, m, &err) != SALTUS_OK) {
        saltus_workers_fail(&s->workers, err.code, &err);
    }
}

/* Ask for what is waited for and, where jobs are taken one by one, for what will be taken until the
 * answer is there. Near the end that is little, so that no rank is left with much to do. */
static void ask_ahead(server *s)
{
    const double seconds = saltus_now() - s->start;
    int64_t ahead = 0;
    if (!s->backend->ops->reduces) {
        const int64_t soon = seconds > late ? (int64_t)((double)s->n_done / seconds * late) : 0;
        const int64_t share = s->task->share * s->n_workers / 16;
        ahead = soon < share ? soon : share;
        ahead = ahead > s->n_workers ? ahead : s->n_workers;
    }
    const int64_t level = s->n_wished + ahead, here = s->n_queued + s->n_asked;
    if (!s->is_dry && (here < s->n_wished || here < level - level / 2)) {
        ask(s, level - here);
    }
}

static int take(void *user, saltus_ticket *tickets, int max, bool wait)
{
    seat *own = user;
    server *s = own->server;
    int n = 0;
    (void)pthread_mutex_lock(&s->workers.lock);
    own->is_empty = wait;
    s->n_wished += max;
    while (s->workers.status == SALTUS_OK) {
        /* of what is reduced a call gives one block's, as rank 0's source does */
        const bool is_one = s->task->reduction && !s->task->varies;
        while (s->queue && n < max && !(is_one && n > 0 && s->queue->n_taken == 0)) {
            saltus_lot *b = s->queue;
            tickets[n++] = saltus_lot_take(b);
            --s->n_queued;
            if (b->n_taken == b->n) {
                s->queue = b->next_queued;
                s->queue_end = s->queue ? s->queue_end : NULL;
                if (is_one) {
                    break;
                }
            }
        }
        if (n > 0 || !wait || s->is_dry) {
            break;
        }
        ask_ahead(s);
        (void)pthread_cond_wait(&s->workers.changed, &s->workers.lock);
    }
    own->is_empty = wait && n == 0;
    s->n_wished -= max;
    if (s->workers.status == SALTUS_OK) {
        ask_ahead(s);
    }
    (void)pthread_mutex_unlock(&s->workers.lock);
    return n;
}

static saltus_job open_job(void *user, const saltus_ticket *ticket)
{
    const server *s = ((seat *)user)->server;
    return saltus_lot_job(s->task, &s->sizes, ticket);
}

/* Takes the message. With the lock held. */
static saltus_status add_lot(server *s, saltus_message *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_lot *b = NULL;
    SALTUS_TRY(saltus_lot_read(s->task, &s->sizes, m, &b, err));
    s->n_asked -= b->n_asked;
    s->n_queued += b->n;
    b->next = s->lots;
    s->lots = b;
    *(s->queue_end ? &s->queue_end->next_queued : &s->queue) = b;
    s->queue_end = b;
done:
    return status;
}

static void finish_jobs(server *s, saltus_lot *b, int64_t n)
{
    s->n_done += n;
    b->n_left -= n;
    if (b->n_left == 0) {
        saltus_lot **at = &s->lots;
        while (*at != b) {
            at = &(*at)->next;
        }
        *at = b->next;
        saltus_lot_free(b);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Results
 */

static saltus_status send_results(server *s, saltus_error *err)
{
    saltus_message *m = s->results;
    s->results = NULL;
    return m ? saltus_ranks_send(s->ranks, 0, m, err) : SALTUS_OK;
}

/* The lock is held. */
static saltus_status put_done(server *s, const saltus_job *job, saltus_error *err)
{
    const saltus_range *r = job->block;
    const bool has_rest = s->task->reduction && job->rest;
    const size_t record = r->lot->record;
    const int64_t head[] = {r->lot->name, job->place, has_rest};
    if (!s->results) {
        s->results = saltus_message_new(SALTUS_FROM_DONE);
        saltus_message_reserve(s->results, FULL_BYTES + 2 * (record + sizeof job->tally));
        s->results_since = saltus_now();
    }
    saltus_message_put(s->results, head, sizeof head);
    saltus_message_put(s->results, &job->tally, sizeof job->tally);
    saltus_message_put(s->results, saltus_lot_samples(r->lot, job->place), record);
    if (has_rest) {
        saltus_message_put(s->results, job->rest, 8 * s->sizes.width);
        saltus_message_put(s->results, job->rest_observables, 8 * s->sizes.real_width);
    }
    finish_jobs(s, r->lot, 1);
    if (!s->results || s->results->data.failed) {
        return saltus_error_set(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    return s->results->data.n >= FULL_BYTES ? send_results(s, err) : SALTUS_OK;
}

static saltus_status done_with(void *user, const saltus_job *jobs, int n, saltus_error *err)
{
    server *s = ((seat *)user)->server;
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_lock(&s->workers.lock);
    for (int i = 0; i < n && status == SALTUS_OK; ++i) {
        status = put_done(s, &jobs[i], err);
    }
    if (status == SALTUS_OK && s->workers.status != SALTUS_OK) {
        status = saltus_error_set(err, s->workers.status, "%s", s->workers.error.message);
    }
    (void)pthread_mutex_unlock(&s->workers.lock);
    return status;
}

static saltus_status reduced(void *user, const saltus_ticket *tickets, int n,
                             const saltus_partial *partial, saltus_error *err)
{
    server *s = ((seat *)user)->server;
    saltus_status status = SALTUS_OK;
    const saltus_range *r = tickets[0].block;
    const size_t width = s->sizes.width, n_bins = (size_t)s->reduction.n_bins;
    const size_t reals = s->sizes.real_width;
    int64_t head[] = {r->lot->name, 0};
    for (int i = 0; i < n; ++i) {
        head[1] += tickets[i].is_reduced;
    }
    if (head[1] == 0) {
        return SALTUS_OK;
    }
    saltus_message *m = saltus_message_new(SALTUS_FROM_REDUCED);
    saltus_message_put(m, head, sizeof head);
    SALTUS_PUT(m, partial->tally);
    for (int i = 0; i < n; ++i) {
        if (tickets[i].is_reduced) {
            const int64_t place = tickets[i].place;
            SALTUS_PUT(m, place);
            saltus_message_put(m, saltus_lot_samples(r->lot, place), r->lot->record);
        }
    }
    saltus_message_put(m, partial->sums, width * sizeof *partial->sums);
    saltus_message_put(m, partial->real_sums, 8 * reals * SALTUS_EXACT_WORDS);
    saltus_message_put(m, partial->least, 8 * reals);
    saltus_message_put(m, partial->most, 8 * reals);
    if (n_bins > 0) {
        saltus_message_put(m, partial->bins, 8 * width * n_bins);
        saltus_message_put(m, partial->below, 8 * width);
        saltus_message_put(m, partial->above, 8 * width);
        saltus_message_put(m, partial->shifts, width);
    }
    status = saltus_ranks_send(s->ranks, 0, m, err);
    (void)pthread_mutex_lock(&s->workers.lock);
    finish_jobs(s, r->lot, head[1]);
    (void)pthread_mutex_unlock(&s->workers.lock);
    return status;
}

static saltus_status send_frame(void *user, const saltus_frame *f, saltus_error *err)
{
    const server *s = user;
    const int64_t head[] = {f->trajectory, f->number, f->n};
    const size_t n = (size_t)f->n;
    saltus_message *m = saltus_message_new(SALTUS_FROM_FRAME);
    saltus_message_put(m, head, sizeof head);
    saltus_message_put(m, f->site, n * sizeof *f->site);
    saltus_message_put(m, f->count, n * sizeof *f->count);
    saltus_message_put(m, f->species, n * sizeof *f->species);
    return saltus_ranks_send(s->ranks, 0, m, err);
}

/* The saver. */
static void save(void *user, saltus_job *job, int64_t n_samples, const void *state, size_t size)
{
    static const saltus_kept ended = {.is_complete = true};
    const server *s = user;
    saltus_error ignored = {0}; /* then rank 0 has what was kept before */
    const saltus_range *r = job->block;
    const int64_t head[] = {r->lot->name, job->place};
    saltus_kept kept = {.trajectory = job->trajectory,
                        .n_samples = n_samples,
                        .counts = job->counts,
                        .observables = job->observables,
                        .state = (unsigned char *)(uintptr_t)state,
                        .size = size,
                        .is_complete = !state,
                        .tally = job->tally};
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        kept.splits[i] = job->splits[i];
    }
    saltus_message *m = saltus_message_new(SALTUS_FROM_KEPT);
    saltus_message_put(m, head, sizeof head);
    saltus_message_put_kept(m, s->task, &kept);
    if (saltus_ranks_send(s->ranks, 0, m, &ignored) == SALTUS_OK && !state) {
        job->kept = &ended;
    }
}

static saltus_status send_progress(server *s, saltus_error *err)
{
    const int64_t ended = __atomic_load_n(&s->ended, __ATOMIC_RELAXED);
    double t = 0.0;
    uint64_t fired = 0;
    for (int i = 0; i < s->n_workers; ++i) {
        double reached;
        __atomic_load(&s->reached[i].t, &reached, __ATOMIC_RELAXED);
        t += reached;
        fired += __atomic_load_n(&s->reached[i].fired, __ATOMIC_RELAXED);
    }
    saltus_message *m = saltus_message_new(SALTUS_FROM_PROGRESS);
    SALTUS_PUT(m, t);
    SALTUS_PUT(m, fired);
    SALTUS_PUT(m, ended);
    return saltus_ranks_send(s->ranks, 0, m, err);
}

static saltus_status send_end(server *s, saltus_error *err)
{
    saltus_message *m = saltus_message_new(SALTUS_FROM_END);
    int64_t row = 0;
    for (const saltus_lot *b = s->lots; b && s->failed; b = b->next) {
        for (int64_t i = 0; i < b->n_ranges; ++i) {
            row = b->ranges[i].row == s->failed ? b->ranges[i].point : row;
        }
    }
    s->workers.error.code = s->workers.status;
    saltus_message_put_error(m, &s->workers.error);
    SALTUS_PUT(m, s->kernel_ns);
    SALTUS_PUT(m, row);
    saltus_message_put(m, s->task->rounded, (size_t)s->task->tables->n_settings);
    return saltus_ranks_send(s->ranks, 0, m, err);
}

/* ------------------------------------------------------------------------------------------------
 * Workers
 */

static void ask_to_keep(server *s)
{
    for (int i = 0; i < s->n_workers && s->keeps; ++i) {
        saltus_keep_ask(&s->seats[i].pause);
    }
}

/* Who waits for a job has nothing to keep. With the lock held. */
static saltus_status tell_answered(server *s, saltus_error *err)
{
    bool is_answered = s->is_asked;
    for (int i = 0; i < s->n_workers && is_answered; ++i) {
        is_answered = s->seats[i].is_empty || saltus_keep_has_answered(&s->seats[i].pause);
    }
    if (!is_answered) {
        return SALTUS_OK;
    }
    s->is_asked = false;
    return saltus_ranks_send(s->ranks, 0, saltus_message_new(SALTUS_FROM_ANSWERED), err);
}

/* A message of rank 0, which is taken, and what is due. With the lock held. */
static saltus_status attend(server *s, saltus_message *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const double now = saltus_now();
    if (m && m->kind == SALTUS_TO_JOBS) {
        SALTUS_TRY(add_lot(s, m, err));
        m = NULL;
    }
    if (m && m->kind == SALTUS_TO_END) {
        s->is_dry = true;
    }
    if (m && m->kind == SALTUS_TO_KEEP) {
        s->is_asked = true;
        ask_to_keep(s);
    }
    if (m && (m->kind == SALTUS_TO_STOP || m->kind == SALTUS_TO_LEAVE)) {
        SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
    }
    if (s->results && now - s->results_since > late) {
        SALTUS_TRY(send_results(s, err));
    }
    if (now - s->told_at > 1e-3 * SALTUS_TELLING_MS) {
        s->told_at = now;
        SALTUS_TRY(send_progress(s, err));
    }
    SALTUS_TRY(tell_answered(s, err));
done:
    saltus_message_free(m);
    return status;
}

static saltus_status work(void *user, int number, saltus_error *err)
{
    server *s = user;
    saltus_status status = SALTUS_OK;
    if (number > 0) {
        saltus_task task = *s->task;
        seat *own = &s->seats[number - 1];
        const saltus_source source = {own, take, open_job, done_with, reduced};
        task.worker = number - 1;
        task.reached = &s->reached[number - 1];
        task.pause = s->keeps ? &own->pause : NULL;
        task.saver = s->keeps ? &s->saver : NULL;
        status = s->backend->ops->work(s->backend, &task, &source, err);
        saltus_keep_end(&own->pause);
        saltus_reached_store(task.reached, 0.0, 0);
        (void)__atomic_fetch_sub(&s->n_busy, 1, __ATOMIC_RELAXED);
        return status;
    }
    while (__atomic_load_n(&s->n_busy, __ATOMIC_RELAXED) > 0) {
        saltus_message *m = saltus_ranks_receive(s->ranks, 0, TICK_MS);
        saltus_error failed = {0};
        (void)pthread_mutex_lock(&s->workers.lock);
        status = attend(s, m, &failed);
        if (status != SALTUS_OK) {
            saltus_workers_fail(&s->workers, status, &failed);
        }
        if (s->workers.stop) { /* they keep before they give up */
            ask_to_keep(s);
        }
        (void)pthread_cond_broadcast(&s->workers.changed);
        (void)pthread_mutex_unlock(&s->workers.lock);
    }
    return SALTUS_OK;
}

enum {
    SEED,
    TRAJECTORIES,
    WORKERS,
    SHARE,
    SEGMENT,
    TIMES,
    FRAMES,
    REDUCES,
    FINALS,
    BINS,
    EDGES,
    DERIVED,
    FIRST,
    ROW,
    SLABS,
    KEEPS,
    N_HEAD
};

/* What saltus_ranks_begin has put together; the message has to stay. */
static saltus_status set_up(server *s, saltus_message *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_task *t = s->task;
    int64_t head[N_HEAD];
    SALTUS_GET(m, head);
    t->seed = (uint64_t)head[SEED];
    t->n_times = head[TIMES];
    t->times = saltus_message_view(m, 8 * (size_t)head[TIMES]);
    t->space.n_frames = head[FRAMES];
    t->space.frame_times = saltus_message_view(m, 8 * (size_t)head[FRAMES]);
    s->reduction = (saltus_reduction){.finals = head[FINALS] != 0, .n_bins = head[BINS]};
    if (head[EDGES]) {
        s->reduction.edges = saltus_message_view(m, 8 * (size_t)(head[BINS] + 1));
    }
    t->reduction = head[REDUCES] ? &s->reduction : NULL;
    if (head[DERIVED] >= 0) {
        s->derivation = (saltus_derivation){.n = (int32_t)head[DERIVED],
                                            .n_counts = t->columns->n_counts,
                                            .n_observables = t->columns->n_observables,
                                            .times = t->times,
                                            .first = head[FIRST],
                                            .n_times = t->n_times};
        s->derivation.wanted =
            saltus_message_view(m, (size_t)head[DERIVED] * sizeof *s->derivation.wanted);
        t->derivation = &s->derivation;
    }
    t->varies = head[ROW] > 0 ? saltus_message_view(m, (size_t)head[ROW]) : NULL;
    t->share = head[SHARE];
    t->segment = head[SEGMENT];
    s->sink = (saltus_sink){.user = s, .frame = send_frame};
    t->space.sink = &s->sink;
    s->has_slab = head[SLABS] > 0;
    t->n_slabs = s->has_slab ? (int)head[SLABS] : t->n_slabs;
    const int n =
        s->has_slab ? 1 : saltus_ranks_busy(head[TRAJECTORIES], s->n_workers, head[WORKERS]);
    t->n_threads = s->n_workers / n;
    s->n_workers = s->n_busy = n;
    s->sizes = saltus_sizes_of(t);
    s->keeps = head[KEEPS] != 0;
    s->saver = (saltus_saver){s, save};
    s->reached = saltus_calloc((size_t)n, sizeof *s->reached);
    s->seats = saltus_calloc((size_t)n, sizeof *s->seats);
    t->rounded = saltus_calloc((size_t)t->tables->n_settings, 1);
    SALTUS_NEED(s->reached && s->seats && t->rounded);
    for (int i = 0; i < n; ++i) {
        s->seats[i].server = s;
    }
    if (m->data.failed) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank 0 has sent makes no sense");
    }
done:
    return status;
}

/* Simulate for rank 0, in workers or a slab. */
static void simulate(server *s, const volatile int *stop)
{
    const saltus_work how = {
        .user = s, .work = work, .no_thread = "threads could not be started", .stop = stop};
    if (!s->has_slab) {
        saltus_workers_run(&s->workers, 1 + s->n_workers, &how);
        return;
    }
    saltus_task task = *s->task;
    task.stop = stop ? (const int *)stop : task.stop;
    s->workers.status = saltus_ranks_follow_lattice(s->ranks, &task, s->backend, &s->workers.error);
}

saltus_status saltus_ranks_serve(saltus_ranks *ranks, saltus_task *task,
                                 const saltus_backend *backend, int n_workers,
                                 const volatile int *stop, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_ready ready;
    saltus_error why = {0};
    server s = {.ranks = ranks,
                .backend = backend,
                .task = task,
                .n_workers = n_workers,
                .start = saltus_now(),
                .told_at = saltus_now()};
    saltus_workers_init(&s.workers);
    saltus_ready_make(task, backend, n_workers, &ready);
    saltus_message *m = saltus_message_new(SALTUS_FROM_READY), *begin = NULL;
    SALTUS_PUT(m, ready);
    SALTUS_TRY(saltus_ranks_send(ranks, 0, m, err));
    begin = saltus_ranks_await(ranks, 0, SALTUS_TO_BEGIN, SALTUS_TO_SWEEP, NULL, &why);
    if (!begin) {
        SALTUS_FAIL(why.code, "%s", why.message);
    }
    if (begin->kind == SALTUS_TO_SWEEP) {
        saltus_ranks_put_back(ranks, begin);
        begin = NULL;
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "points come one by one");
    }
    task->stop = &s.workers.stop;
    task->failed = &s.failed;
    task->kernel_ns = &s.kernel_ns;
    task->ended = &s.ended;
    task->report = &s.report;
    SALTUS_TRY(set_up(&s, begin, err));
    simulate(&s, stop);
    SALTUS_TRY(send_results(&s, err));
    SALTUS_TRY(send_end(&s, err));
done:
    while (s.lots) {
        saltus_lot *b = s.lots;
        s.lots = b->next;
        saltus_lot_free(b);
    }
    saltus_message_free(s.results);
    saltus_message_free(begin);
    saltus_free(s.reached);
    saltus_free(s.seats);
    saltus_free(task->rounded);
    task->rounded = NULL;
    saltus_workers_free(&s.workers);
    return status;
}
