/* Rank 0's side of a run: a worker that simulates nothing, but hands its jobs to another rank.
 *
 * A rank asks for jobs (SALTUS_FROM_WANT); each wish is met by one call of the source's `take`, and
 * what that gives is a lot. What comes back names the lot and the job's place in it. */
#include "ranks/ranks.h"

#include "core/clock.h"
#include "core/memory.h"
#include "engine/keep.h"
#include "model/freeze/point.h"
#include "ranks/keep.h"

#include <string.h>

enum { BUSY_MS = 2, IDLE_MS = 50, MOST_JOBS = 1 << 20 };

typedef struct lot {
    struct lot *next;
    int64_t n, n_left;
    saltus_ticket tickets[];
} lot;

typedef struct lender {
    const saltus_loan *loan;
    int rank;
    const saltus_task *task;
    const saltus_source *source;
    saltus_sizes sizes;
    lot *lots;
    int64_t *wants; /* [n_wants] wishes that are not met, the oldest first */
    size_t n_wants, capacity;
    int64_t ended; /* told by the rank, and not handed over */
    bool is_told;  /* that there are no more jobs, or to stop */
    bool is_stopped;
    double heard;         /* saltus_now when the last message came, or that to stop went */
    saltus_status status; /* the first failure of the source */
    saltus_error error;
} lender;

saltus_sizes saltus_sizes_of(const saltus_task *task)
{
    const size_t n_counts = (size_t)task->columns->n_counts, n_times = (size_t)task->n_times;
    const size_t n_observables = (size_t)task->columns->n_observables;
    const size_t points = !task->reduction ? n_times : task->reduction->finals ? 1 : 0;
    saltus_sizes s = {.counts = points * n_counts,
                      .observables = points * n_observables,
                      .derived = task->derivation ? (size_t)task->derivation->n : 0,
                      .width = n_times * n_counts,
                      .real_width = n_times * n_observables,
                      .row = task->varies ? (size_t)saltus_point_of(task->tables).size : 0};
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        s.splits[i] = s.counts * (size_t)task->space.n_parts[i];
    }
    return s;
}

int saltus_ranks_busy(int64_t n_trajectories, int n_workers, int64_t n_all)
{
    if (n_trajectories >= n_all) {
        return n_workers;
    }
    return (int)((n_trajectories * n_workers + n_all - 1) / n_all);
}

bool saltus_ranks_is_silent(double heard)
{
    return saltus_now() - heard > 1e-3 * SALTUS_SILENT_MS;
}

void saltus_ready_make(const saltus_task *task, const saltus_backend *backend, int n_workers,
                       saltus_ready *out)
{
    const saltus_point at = saltus_point_of(task->tables);
    double *row = saltus_calloc((size_t)at.size, sizeof *row);
    memset(out, 0, sizeof *out);
    out->n_workers = n_workers;
    out->kind = (int32_t)backend->ops->kind;
    out->method = (int32_t)task->method;
    out->rng = task->generator->rng;
    out->n_counts = task->columns->n_counts;
    out->n_observables = task->columns->n_observables;
    out->numbers = 0xcbf29ce484222325U; /* FNV-1a */
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        out->n_parts[i] = task->space.n_parts[i];
    }
    if (row) {
        saltus_point_read(task->tables, task->amounts, row);
        for (size_t i = 0; i < (size_t)at.size * sizeof *row; ++i) {
            out->numbers = (out->numbers ^ ((const uint8_t *)row)[i]) * 0x100000001b3U;
        }
    }
    saltus_free(row);
}

saltus_status saltus_ranks_await_ready(saltus_ranks *ranks, const saltus_ready *own,
                                       int64_t *n_workers, const volatile int *stop,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *n_workers = own->n_workers;
    for (int i = 1; i < ranks->n; ++i) {
        saltus_ready other;
        saltus_error why = {0};
        saltus_message *m =
            saltus_ranks_await(ranks, i, SALTUS_FROM_READY, SALTUS_FROM_READY, stop, &why);
        if (!m) {
            SALTUS_FAIL(why.code, "%s", why.message);
        }
        SALTUS_GET(m, other);
        saltus_message_free(m);
        *n_workers += other.n_workers;
        if (other.kind != own->kind) {
            SALTUS_FAIL(SALTUS_E_UNAVAILABLE, "rank %d on %s has a device of another kind", i,
                        ranks->cards[i].host);
        }
        other.n_workers = own->n_workers;
        if (memcmp(&other, own, sizeof other) != 0) {
            SALTUS_FAIL(SALTUS_E_INTERNAL, "rank %d on %s has made another plan", i,
                        ranks->cards[i].host);
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What goes there
 */

saltus_status saltus_ranks_begin(const saltus_loan *loan, int rank, const saltus_task *t,
                                 saltus_error *err)
{
    const saltus_reduction *r = t->reduction;
    const saltus_derivation *d = t->derivation;
    const size_t row = saltus_sizes_of(t).row;
    const int64_t head[] = {
        (int64_t)t->seed,  loan->n_trajectories, loan->n_workers,   t->share,
        t->segment,        t->n_times,           t->space.n_frames, r != NULL,
        r ? r->finals : 0, r ? r->n_bins : 0,    r && r->edges,     d ? d->n : -1,
        d ? d->first : 0,  (int64_t)row,         loan->n_slabs,     t->saver != NULL};
    saltus_message *m = saltus_message_new(SALTUS_TO_BEGIN);
    saltus_message_put(m, head, sizeof head);
    saltus_message_put(m, t->times, (size_t)t->n_times * sizeof *t->times);
    saltus_message_put(m, t->space.frame_times,
                       (size_t)t->space.n_frames * sizeof *t->space.frame_times);
    if (r && r->edges) {
        saltus_message_put(m, r->edges, (size_t)(r->n_bins + 1) * sizeof *r->edges);
    }
    if (d) {
        saltus_message_put(m, d->wanted, (size_t)d->n * sizeof *d->wanted);
    }
    if (t->varies) {
        saltus_message_put(m, t->varies, row);
    }
    return saltus_ranks_send(loan->ranks, rank, m, err);
}

static saltus_status send_word(const lender *l, saltus_message_kind kind, saltus_error *err)
{
    return saltus_ranks_send(l->loan->ranks, l->rank, saltus_message_new(kind), err);
}

/* Jobs in ranges, of one block and point each, whose trajectories have consecutive numbers. */
static saltus_status send_lot(const lender *l, const lot *b, int64_t asked, saltus_error *err)
{
    saltus_message *m = saltus_message_new(SALTUS_TO_JOBS);
    int64_t n_kept = 0;
    for (int64_t i = 0; i < b->n; ++i) {
        n_kept += b->tickets[i].kept != NULL;
    }
    const int64_t head[] = {(int64_t)(uintptr_t)b, b->n, asked, n_kept};
    const double *row = NULL;
    saltus_message_put(m, head, sizeof head);
    for (int64_t i = 0, end; i < b->n; i = end) {
        const saltus_ticket *j = &b->tickets[i];
        for (end = i + 1;
             end < b->n && b->tickets[end].block == j->block && b->tickets[end].point == j->point &&
             b->tickets[end].trajectory == j->trajectory + (end - i);
             ++end) {
        }
        const bool has_row = j->point && j->point != row;
        const int64_t range[] = {j->trajectory, end - i, (int64_t)(uintptr_t)j->block,
                                 (int64_t)(uintptr_t)j->point, has_row};
        saltus_message_put(m, range, sizeof range);
        if (has_row) {
            row = j->point;
            saltus_message_put(m, row, l->sizes.row * sizeof *row);
        }
    }
    for (int64_t i = 0; i < b->n; ++i) {
        if (b->tickets[i].kept) {
            saltus_message_put_kept(m, l->task, b->tickets[i].kept);
        }
    }
    return saltus_ranks_send(l->loan->ranks, l->rank, m, err);
}

/* Meet the oldest wish, if the source has something. It is waited for only while the rank has no
 * jobs: the source may be waiting for these. */
static saltus_status meet_want(lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t asked = l->wants[0], most = asked < MOST_JOBS ? asked : MOST_JOBS;
    const bool wait = !l->lots;
    lot *b = saltus_calloc(1, sizeof *b + (size_t)most * sizeof *b->tickets);
    SALTUS_NEED(b);
    b->n = b->n_left = l->source->take(l->source->user, b->tickets, (int)most, wait);
    if (b->n > 0) {
        --l->n_wants;
        memmove(l->wants, l->wants + 1, l->n_wants * sizeof *l->wants);
        SALTUS_TRY(send_lot(l, b, asked, err));
        b->next = l->lots;
        l->lots = b;
        b = NULL;
    } else if (wait) {
        l->is_told = true;
        SALTUS_TRY(send_word(l, SALTUS_TO_END, err));
    }
done:
    saltus_free(b);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What comes back
 */

/* What has failed on this side ends the run; what has come is handed over all the same. */
static void note(lender *l, saltus_status status, const saltus_error *err)
{
    if (status != SALTUS_OK && l->status == SALTUS_OK) {
        l->status = status;
        l->error = *err;
    }
}

static lot *find_lot(const lender *l, int64_t name)
{
    lot *b = l->lots;
    while (b && (int64_t)(uintptr_t)b != name) {
        b = b->next;
    }
    return b;
}

static void finish_jobs(lender *l, lot *b, int64_t n)
{
    b->n_left -= n;
    if (b->n_left == 0) {
        lot **at = &l->lots;
        while (*at != b) {
            at = &(*at)->next;
        }
        *at = b->next;
        saltus_free(b);
    }
}

static void get_samples(const lender *l, saltus_message *m, const saltus_job *j)
{
    saltus_message_get(m, j->counts, 8 * l->sizes.counts);
    saltus_message_get(m, j->observables, 8 * l->sizes.observables);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        saltus_message_get(m, j->splits[i], 8 * l->sizes.splits[i]);
    }
    saltus_message_get(m, j->derived, 8 * l->sizes.derived);
}

static bool take_done(lender *l, saltus_message *m)
{
    while (m->data.at < m->data.n && !m->data.failed) {
        saltus_error err = {0};
        int64_t head[3]; /* lot, place, whether all samples are there to be reduced */
        SALTUS_GET(m, head);
        lot *b = find_lot(l, head[0]);
        if (!b || head[1] < 0 || head[1] >= b->n) {
            return false;
        }
        saltus_job j = l->source->open(l->source->user, &b->tickets[head[1]]);
        SALTUS_GET(m, j.tally);
        get_samples(l, m, &j);
        j.rest = head[2] ? saltus_message_view(m, 8 * l->sizes.width) : NULL;
        j.rest_observables = head[2] ? saltus_message_view(m, 8 * l->sizes.real_width) : NULL;
        if (m->data.failed) {
            return false;
        }
        note(l, l->source->done(l->source->user, &j, 1, &err), &err);
        finish_jobs(l, b, 1);
    }
    return !m->data.failed;
}

static saltus_partial get_partial(const lender *l, saltus_message *m)
{
    const size_t width = l->sizes.width, n_bins = (size_t)l->task->reduction->n_bins;
    const size_t reals = l->sizes.real_width;
    saltus_partial p = {.sums = saltus_message_view(m, width * sizeof *p.sums)};
    p.real_sums = saltus_message_view(m, 8 * reals * SALTUS_EXACT_WORDS);
    p.least = saltus_message_view(m, 8 * reals);
    p.most = saltus_message_view(m, 8 * reals);
    if (n_bins > 0) {
        p.bins = (uint64_t *)saltus_message_view(m, 8 * width * n_bins);
        p.below = (uint64_t *)saltus_message_view(m, 8 * width);
        p.above = (uint64_t *)saltus_message_view(m, 8 * width);
        p.shifts = (uint8_t *)saltus_message_view(m, width);
    }
    return p;
}

/* One block's jobs that a device has reduced; what was counted in them is told in one sum. */
static bool take_reduced(lender *l, saltus_message *m)
{
    saltus_error err = {0};
    int64_t head[2]; /* lot, jobs */
    bool is_good = false;
    SALTUS_GET(m, head);
    lot *b = l->task->reduction ? find_lot(l, head[0]) : NULL;
    if (!b || head[1] < 1 || head[1] > b->n_left) {
        return false;
    }
    saltus_ticket *tickets = saltus_calloc((size_t)head[1], sizeof *tickets);
    saltus_tally tally;
    SALTUS_GET(m, tally);
    for (int64_t i = 0; tickets && i < head[1]; ++i) {
        int64_t place;
        SALTUS_GET(m, place);
        is_good = !m->data.failed && place >= 0 && place < b->n;
        if (!is_good) {
            break;
        }
        tickets[i] = b->tickets[place];
        tickets[i].is_reduced = true;
        const saltus_job job = l->source->open(l->source->user, &tickets[i]);
        get_samples(l, m, &job);
    }
    saltus_partial partial = get_partial(l, m);
    partial.tally = tally;
    is_good = is_good && !m->data.failed;
    if (is_good) {
        note(l, l->source->reduced(l->source->user, tickets, (int)head[1], &partial, &err), &err);
        finish_jobs(l, b, head[1]);
    }
    saltus_free(tickets);
    return is_good;
}

/* Of a job that is under way there, or has ended and is not handed over. */
static bool take_kept(lender *l, saltus_message *m)
{
    const saltus_saver *saver = l->task->saver;
    int64_t head[2]; /* lot, place */
    saltus_kept kept;
    SALTUS_GET(m, head);
    lot *b = saver ? find_lot(l, head[0]) : NULL;
    if (!b || head[1] < 0 || head[1] >= b->n || !saltus_message_get_kept(m, l->task, &kept) ||
        kept.trajectory != b->tickets[head[1]].trajectory) {
        return false;
    }
    saltus_ticket *ticket = &b->tickets[head[1]];
    saltus_job here = l->source->open(l->source->user, ticket); /* the saver only reads */
    here.counts = (int64_t *)(uintptr_t)kept.counts;
    here.observables = (double *)(uintptr_t)kept.observables;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        here.splits[i] = (int64_t *)(uintptr_t)kept.splits[i];
    }
    here.tally = kept.tally;
    saver->save(saver->user, &here, kept.n_samples, kept.is_complete ? NULL : kept.state,
                kept.size);
    ticket->kept = here.kept;
    return true;
}

static bool take_frame(lender *l, saltus_message *m)
{
    saltus_error err = {0};
    int64_t head[3]; /* trajectory, number, entries */
    SALTUS_GET(m, head);
    const size_t n = (size_t)head[2];
    saltus_frame f = {.trajectory = head[0],
                      .number = head[1],
                      .n = head[2],
                      .column_of = l->task->space.column_of};
    f.site = saltus_message_view(m, n * sizeof *f.site);
    f.count = saltus_message_view(m, n * sizeof *f.count);
    f.species = saltus_message_view(m, n * sizeof *f.species);
    const saltus_sink *sink = l->task->space.sink;
    if (m->data.failed || !sink || !sink->frame) {
        return false;
    }
    note(l, sink->frame(sink->user, &f, &err), &err);
    return true;
}

static bool take_progress(lender *l, saltus_message *m)
{
    double t;
    uint64_t fired;
    int64_t ended;
    SALTUS_GET(m, t);
    SALTUS_GET(m, fired);
    SALTUS_GET(m, ended);
    saltus_reached_store(l->task->reached, t, fired);
    (void)__atomic_fetch_add(l->task->ended, ended - l->ended, __ATOMIC_RELAXED);
    l->ended = ended;
    return !m->data.failed;
}

static bool take_want(lender *l, saltus_message *m)
{
    int64_t n;
    SALTUS_GET(m, n);
    int64_t *grown = saltus_grow(l->wants, l->n_wants, &l->capacity, sizeof *l->wants);
    if (!grown || m->data.failed || n < 1) {
        return false;
    }
    l->wants = grown;
    l->wants[l->n_wants++] = n;
    return true;
}

static bool take_message(lender *l, saltus_message *m)
{
    switch (m->kind) {
    case SALTUS_FROM_WANT:
        return take_want(l, m);
    case SALTUS_FROM_DONE:
        return take_done(l, m);
    case SALTUS_FROM_REDUCED:
        return take_reduced(l, m);
    case SALTUS_FROM_KEPT:
        return take_kept(l, m);
    case SALTUS_FROM_ANSWERED:
        saltus_keep_answer(l->task, false);
        return true;
    case SALTUS_FROM_FRAME:
        return take_frame(l, m);
    case SALTUS_FROM_PROGRESS:
        return take_progress(l, m);
    default:
        return false;
    }
}

saltus_status saltus_ranks_take_end(const saltus_task *t, saltus_message *m, saltus_error *err)
{
    saltus_error failed;
    int64_t kernel_ns, row;
    saltus_message_get_error(m, &failed);
    SALTUS_GET(m, kernel_ns);
    SALTUS_GET(m, row);
    for (int i = 0; i < t->tables->n_settings; ++i) {
        uint8_t rounded;
        SALTUS_GET(m, rounded);
        if (rounded) {
            __atomic_store_n(&t->rounded[i], 1, __ATOMIC_RELAXED);
        }
    }
    (void)__atomic_fetch_add(t->kernel_ns, kernel_ns, __ATOMIC_RELAXED);
    if (row) {
        __atomic_store_n(t->failed, (const double *)(uintptr_t)row, __ATOMIC_RELAXED);
    }
    return saltus_error_pass(err, &failed);
}

static saltus_status lend(lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_ranks *ranks = l->loan->ranks;
    SALTUS_TRY(saltus_ranks_begin(l->loan, l->rank, l->task, err));
    for (;;) {
        const bool wants = l->n_wants > 0 && !l->is_told;
        saltus_message *m = saltus_ranks_receive(ranks, l->rank, wants ? BUSY_MS : IDLE_MS);
        if (m && m->kind == SALTUS_FROM_END) {
            status = saltus_ranks_take_end(l->task, m, err);
            (void)__atomic_fetch_sub(l->task->ended, l->ended, __ATOMIC_RELAXED);
            saltus_message_free(m);
            break;
        }
        if (m) {
            l->heard = saltus_now();
            const bool is_good = take_message(l, m);
            saltus_message_free(m);
            if (!is_good) {
                SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank %d on %s has sent makes no sense",
                            l->rank, ranks->cards[l->rank].host);
            }
        }
        if ((l->status != SALTUS_OK || SALTUS_FLAG(l->task->stop)) && !l->is_stopped) {
            l->is_told = l->is_stopped = true;
            l->heard = saltus_now();
            SALTUS_TRY(send_word(l, SALTUS_TO_STOP, err));
        }
        if (!l->is_stopped && saltus_keep_is_due(l->task)) { /* who is stopped keeps anyway */
            saltus_keep_answer(l->task, true);
            SALTUS_TRY(send_word(l, SALTUS_TO_KEEP, err));
        }
        if (l->is_stopped && saltus_ranks_is_silent(l->heard)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "rank %d on %s does not answer", l->rank,
                        ranks->cards[l->rank].host);
        }
        if (ranks->error.code != SALTUS_OK) {
            SALTUS_FAIL(ranks->error.code, "%s", ranks->error.message);
        }
        if (l->n_wants > 0 && !l->is_told) {
            SALTUS_TRY(meet_want(l, err));
        }
    }
done:
    if (l->status != SALTUS_OK) {
        (void)saltus_error_set(err, l->status, "%s", l->error.message);
        status = l->status;
    }
    return status;
}

saltus_status saltus_ranks_lend(const saltus_loan *loan, int rank, const saltus_task *task,
                                const saltus_source *source, saltus_error *err)
{
    lender l = {
        .loan = loan, .rank = rank, .task = task, .source = source, .sizes = saltus_sizes_of(task)};
    const saltus_status status = lend(&l, err);
    while (l.lots) {
        lot *b = l.lots;
        l.lots = b->next;
        saltus_free(b);
    }
    saltus_free(l.wants);
    return status;
}
