/* One lattice on all ranks, a slab each (engine/peers.h): how their engines reach each other. What
 * they exchange goes past the thread that moves messages, straight through the transport, because
 * a phase may take but some microseconds. Who waits tests again at once for a while, then lets
 * others run, then sleeps ever longer. */
#include "ranks/ranks.h"

#include "core/memory.h"
#include "engine/peers.h"

#include <sched.h>
#include <time.h>

enum {
    TAG_FIRST = 16, /* of a lattice's messages */
    LARGEST_PART = 1 << 30,
    FEW = 8,      /* parts that need no memory */
    SPINS = 300,  /* tests without a pause */
    YIELDS = 3000 /* tests after which others may run */
};
static const long longest_sleep_ns = 500000, first_sleep_ns = 10000;

/* What is under way in an exchange. */
typedef struct exchange {
    saltus_ranks *ranks;
    void *few[FEW];
    void **requests; /* [n] */
    size_t n, n_open;
} exchange;

static saltus_status begin(exchange *x, const saltus_transfer *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_transport *of = x->ranks->transport;
    for (size_t at = 0; at < t->size; at += LARGEST_PART) {
        const size_t left = t->size - at;
        const int size = (int)(left < LARGEST_PART ? left : LARGEST_PART),
                  tag = TAG_FIRST + (int)t->kind;
        char *bytes = (char *)t->bytes + at;
        void **request = &x->requests[x->n];
        SALTUS_TRY(saltus_ranks_check(of,
                                      t->is_sent ? of->send(bytes, size, t->peer, tag, request)
                                                 : of->receive(bytes, size, t->peer, tag, request),
                                      err));
        ++x->n;
        ++x->n_open;
    }
done:
    return status;
}

static saltus_status begin_all(exchange *x, const saltus_transfer *all, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t n_parts = 0;
    for (int i = 0; i < n; ++i) {
        n_parts += (all[i].size + LARGEST_PART - 1) / LARGEST_PART;
    }
    x->requests = n_parts <= FEW ? x->few : saltus_calloc(n_parts, sizeof *x->requests);
    SALTUS_NEED(x->requests);
    (void)pthread_mutex_lock(&x->ranks->calling);
    for (int receives = 1; receives >= 0 && status == SALTUS_OK; --receives) {
        for (int i = 0; i < n && status == SALTUS_OK; ++i) { /* room first, then what fills it */
            if (all[i].is_sent == !receives) {
                status = begin(x, &all[i], err);
            }
        }
    }
    (void)pthread_mutex_unlock(&x->ranks->calling);
done:
    return status;
}

static saltus_status test_all(exchange *x, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_transport *of = x->ranks->transport;
    (void)pthread_mutex_lock(&x->ranks->calling);
    for (size_t i = 0; i < x->n && status == SALTUS_OK; ++i) {
        int is_done = 0;
        if (x->requests[i]) {
            status = saltus_ranks_check(of, of->test(&x->requests[i], &is_done), err);
            x->n_open -= (size_t)(is_done != 0);
        }
    }
    (void)pthread_mutex_unlock(&x->ranks->calling);
    return status;
}

static bool has_message(const saltus_queue *q, saltus_message_kind kind, saltus_message_kind other)
{
    const saltus_message *m = q->first;
    while (m && m->kind != kind && m->kind != other) {
        m = m->next;
    }
    return m != NULL;
}

/* Whether somebody has left without a word, or is to. */
static saltus_status check_others(saltus_ranks *r, const saltus_peers *peers, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_lock(&r->lock);
    status = saltus_error_pass(err, &r->error);
    if (r->is_over || (r->rank > 0 && has_message(&r->in[0], SALTUS_TO_LEAVE, SALTUS_TO_STOP))) {
        status = saltus_error_set(err, SALTUS_E_CANCELLED, "rank 0 has ended");
    }
    for (int i = 1; r->rank == 0 && i < peers->n; ++i) {
        if (has_message(&r->in[i], SALTUS_FROM_END, SALTUS_FROM_FAILED)) {
            status = saltus_error_set(err, SALTUS_E_UNAVAILABLE, "rank %d on %s has ended early", i,
                                      r->cards[i].host);
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    return status;
}

/* Let others run, the longer the later it is. */
static void rest(int n)
{
    struct timespec sleep = {0, first_sleep_ns};
    if (n < YIELDS) {
        (void)sched_yield();
        return;
    }
    for (int i = YIELDS; i < n && sleep.tv_nsec < longest_sleep_ns; ++i) {
        sleep.tv_nsec += sleep.tv_nsec / 8;
    }
    (void)nanosleep(&sleep, NULL);
}

/* A peer's own. */
typedef struct line {
    saltus_peers peers;
    saltus_ranks *ranks;
} line;

static saltus_status exchange_all(void *user, const saltus_transfer *all, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const line *l = user;
    exchange x = {.ranks = l->ranks};
    SALTUS_TRY(begin_all(&x, all, n, err));
    for (int i = 0;; ++i) {
        SALTUS_TRY(test_all(&x, err));
        if (x.n_open == 0) {
            break;
        }
        if (i >= SPINS) {
            rest(i);
        }
        if (i >= YIELDS && i % 64 == 0) {
            SALTUS_TRY(check_others(l->ranks, &l->peers, err));
        }
    }
done:
    if (x.requests != x.few) {
        saltus_free(x.requests);
    }
    return status;
}

static line line_of(saltus_ranks *ranks, int n_slabs)
{
    return (line){.peers = {.number = ranks->rank, .n = n_slabs, .exchange = exchange_all},
                  .ranks = ranks};
}

saltus_status saltus_ranks_lead_lattice(const saltus_loan *loan, const saltus_task *task,
                                        const saltus_backend *backend, const saltus_source *source,
                                        saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_ranks *r = loan->ranks;
    saltus_error ignored = {0};
    saltus_task own = *task;
    line l = line_of(r, task->n_slabs);
    l.peers.user = &l;
    own.peers = &l.peers;
    for (int i = 1; i < r->n; ++i) {
        SALTUS_TRY(saltus_ranks_begin(loan, i, task, err));
    }
    status = backend->ops->work(backend, &own, source, err);
    saltus_peers_end(&l.peers);
    for (int i = 1; i < r->n; ++i) {
        ignored = (saltus_error){0};
        if (status != SALTUS_OK && /* maybe it waits for what does not come */
            saltus_ranks_send(r, i, saltus_message_new(SALTUS_TO_STOP), &ignored) != SALTUS_OK) {
            continue;
        }
        saltus_message *m = saltus_ranks_await(r, i, SALTUS_FROM_END, SALTUS_FROM_END,
                                               status == SALTUS_OK ? NULL : task->stop, &ignored);
        if (!m) {
            status = status == SALTUS_OK ? saltus_error_pass(err, &ignored) : status;
            continue;
        }
        const saltus_status theirs = saltus_ranks_take_end(task, m, &ignored);
        status =
            status == SALTUS_OK && theirs != SALTUS_OK ? saltus_error_pass(err, &ignored) : status;
        saltus_message_free(m);
    }
done:
    return status;
}

saltus_status saltus_ranks_follow_lattice(saltus_ranks *ranks, const saltus_task *task,
                                          const saltus_backend *backend, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_task own = *task;
    line l = line_of(ranks, task->n_slabs);
    l.peers.user = &l;
    own.peers = &l.peers;
    if (ranks->rank >= task->n_slabs) {
        return SALTUS_OK; /* there are fewer planes than ranks */
    }
    status = backend->ops->work(backend, &own, NULL, err);
    if (status != SALTUS_OK && !l.peers.has_ended) {
        saltus_peers_refuse(&l.peers, err);
    }
    return status;
}
