/* Rank 0's side of a sweep: a worker that sends points to another rank and delivers, in their turn,
 * what that has kept of them. */
#include "sweep/points.h"

#include "core/clock.h"
#include "core/memory.h"
#include "ensemble/plan.h"

#include <string.h>

enum { BUSY_MS = 2, IDLE_MS = 50, EACH = 2 /* points of a worker there that are sent ahead */ };

/* A point that was sent. */
typedef struct sent {
    struct sent *next;
    int64_t point;
    saltus_message *result; /* NULL: not there yet */
} sent;

typedef struct lender {
    saltus_sweep_run_state *r;
    int rank;
    sent *first, *last; /* by rising points */
    int64_t n, most;
    bool is_told, is_stopped;
    double heard; /* saltus_now when the last message came, or that to stop went */
} lender;

saltus_status saltus_points_plan(const saltus_sweep *sweep, const saltus_sweep_options *options,
                                 const saltus_backend *backend, saltus_model **model,
                                 saltus_plan **plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_sweep_load(options, model, err));
    SALTUS_TRY(saltus_sweep_freeze(sweep, 0, *model, options->law, err));
    SALTUS_TRY(saltus_plan_create(*model, backend, &options->plan, plan, err));
done:
    return status;
}

/* Whether the sink keeps what another rank can send: what it keeps is copied. */
static saltus_status look_at_sink(const saltus_sweep_run_state *r, bool *is_fit, saltus_error *err)
{
    saltus_sink *sink = NULL;
    const saltus_status status = r->sink->open(r->sink->user, r->next, r->plan, &sink, err);
    if (status == SALTUS_OK) {
        *is_fit = saltus_collector_of(sink) != NULL;
        r->sink->discard(r->sink->user, sink);
    }
    return status;
}

saltus_status saltus_points_await(const saltus_sweep_run_state *r, int64_t *n_all,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task task = saltus_plan_task(r->plan);
    saltus_ready own;
    bool is_fit = false;
    *n_all = 0;
    SALTUS_TRY(look_at_sink(r, &is_fit, err));
    if (is_fit) {
        saltus_ready_make(&task, r->backend, r->plan->n_workers, &own);
        SALTUS_TRY(saltus_ranks_await_ready(r->options->run.ranks, &own, n_all,
                                            r->options->run.stop, err));
    }
done:
    return status;
}

static saltus_status send_sweep(const lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_sweep_run_state *r = l->r;
    saltus_sink *sink = NULL;
    saltus_message *m = saltus_message_new(SALTUS_TO_SWEEP);
    SALTUS_TRY(r->sink->open(r->sink->user, saltus_sweep_begin(r->options), r->plan, &sink, err));
    const saltus_collection *what = saltus_collector_of(sink)->what;
    const saltus_derivation *d = &what->derivation;
    const int64_t head[] = {r->n_total, (int64_t)what->record, what->n_bins, d->n, d->first};
    const double range[] = {what->low, what->high};
    saltus_message_put(m, head, sizeof head);
    saltus_message_put(m, range, sizeof range);
    saltus_message_put(m, d->wanted, (size_t)d->n * sizeof *d->wanted);
    status = saltus_ranks_send(r->options->run.ranks, l->rank, m, err);
    m = NULL;
    r->sink->discard(r->sink->user, sink);
done:
    saltus_message_free(m);
    return status;
}

static saltus_status send_word(const lender *l, saltus_message_kind kind, saltus_error *err)
{
    return saltus_ranks_send(l->r->options->run.ranks, l->rank, saltus_message_new(kind), err);
}

/* Send points until the rank has enough, or others have to be delivered first. The first point is
 * simulated here, for what it warns of. */
static saltus_status send_points(lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_sweep_run_state *r = l->r;
    while (!l->is_told && l->n < l->most) {
        (void)pthread_mutex_lock(&r->workers.lock);
        const bool is_early =
            r->next == saltus_sweep_begin(r->options) && r->workers.status == SALTUS_OK;
        const bool has_room = r->next - r->delivered < SALTUS_POINTS_AHEAD * r->n_all || l->n == 0;
        const int64_t point = !is_early && has_room ? saltus_points_take(r) : -2;
        (void)pthread_mutex_unlock(&r->workers.lock);
        if (point == -2 || (point == -1 && l->n > 0)) {
            break;
        }
        if (point == -1) {
            l->is_told = true;
            SALTUS_TRY(send_word(l, SALTUS_TO_END, err));
            break;
        }
        sent *s = saltus_calloc(1, sizeof *s);
        SALTUS_NEED(s);
        s->point = point;
        *(l->last ? &l->last->next : &l->first) = s;
        l->last = s;
        ++l->n;
        saltus_message *m = saltus_message_new(SALTUS_TO_POINT);
        SALTUS_PUT(m, point);
        SALTUS_TRY(saltus_ranks_send(r->options->run.ranks, l->rank, m, err));
    }
done:
    return status;
}

/* Keep a result. Takes the message; false when it makes no sense. */
static bool keep_result(const lender *l, saltus_message *m)
{
    int64_t point;
    SALTUS_GET(m, point);
    sent *s = l->first;
    while (s && s->point != point) {
        s = s->next;
    }
    if (!s || s->result || m->data.failed || m->kind != SALTUS_FROM_POINT) {
        saltus_message_free(m);
        return false;
    }
    s->result = m;
    return true;
}

static void drop_first(lender *l)
{
    sent *s = l->first;
    l->first = s->next;
    l->last = s->next ? l->last : NULL;
    --l->n;
    saltus_message_free(s->result);
    saltus_free(s);
}

/* Deliver points, the lowest first: while one waits for its turn, no other of this rank is due. */
static saltus_status deliver_points(lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_sweep_run_state *r = l->r;
    while (l->first && l->first->result) {
        saltus_message *m = l->first->result;
        saltus_run_report report;
        saltus_sink *sink = NULL;
        SALTUS_GET(m, report);
        report.halo_path = NULL;
        SALTUS_TRY(r->sink->open(r->sink->user, l->first->point, r->plan, &sink, err));
        const size_t size = saltus_pack_left(&m->data);
        status = saltus_collector_load(saltus_collector_of(sink), saltus_message_view(m, size),
                                       size, err);
        if (status != SALTUS_OK) {
            r->sink->discard(r->sink->user, sink);
            break;
        }
        (void)pthread_mutex_lock(&r->workers.lock);
        saltus_points_deliver(r, l->first->point, sink, &report);
        (void)pthread_mutex_unlock(&r->workers.lock);
        drop_first(l);
    }
done:
    return status;
}

static saltus_status take_end(saltus_message *m, saltus_error *err)
{
    saltus_error failed;
    saltus_message_get_error(m, &failed);
    return saltus_error_pass(err, &failed);
}

static saltus_status lend(lender *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_sweep_run_state *r = l->r;
    saltus_ranks *ranks = r->options->run.ranks;
    SALTUS_TRY(send_sweep(l, err));
    for (;;) {
        const bool waits = l->n < l->most && !l->is_told;
        saltus_message *m = saltus_ranks_receive(ranks, l->rank, waits ? BUSY_MS : IDLE_MS);
        if (m && m->kind == SALTUS_FROM_END) {
            status = take_end(m, err);
            saltus_message_free(m);
            break;
        }
        l->heard = m ? saltus_now() : l->heard;
        if (m && m->kind == SALTUS_FROM_PROGRESS) {
            saltus_message_free(m);
            m = NULL;
        }
        if (m && !keep_result(l, m)) {
            SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank %d on %s has sent makes no sense", l->rank,
                        ranks->cards[l->rank].host);
        }
        if (ranks->error.code != SALTUS_OK) {
            SALTUS_FAIL(ranks->error.code, "%s", ranks->error.message);
        }
        if (SALTUS_FLAG(&r->workers.stop) && !l->is_stopped) {
            l->is_told = l->is_stopped = true;
            l->heard = saltus_now();
            SALTUS_TRY(send_word(l, SALTUS_TO_STOP, err));
        }
        if (l->is_stopped && saltus_ranks_is_silent(l->heard)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "rank %d on %s does not answer", l->rank,
                        ranks->cards[l->rank].host);
        }
        SALTUS_TRY(deliver_points(l, err));
        SALTUS_TRY(send_points(l, err));
    }
done:
    return status;
}

saltus_status saltus_points_lend(saltus_sweep_run_state *r, int rank, saltus_error *err)
{
    const int64_t n = saltus_ranks_count(r->options->run.ranks);
    lender l = {.r = r, .rank = rank, .most = EACH * ((r->n_all + n - 1) / n)};
    const saltus_status status = lend(&l, err);
    while (l.first) {
        drop_first(&l);
    }
    return status;
}
