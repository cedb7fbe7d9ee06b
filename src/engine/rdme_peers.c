/* One lattice on several processes, a slab each. Process 0 runs the course of a trajectory
 * (rdme_course.c); what it asks of its engine is an order to all:
 *
 *     process 0                         process i
 *     order ------------------------->  receives it, with what goes along
 *     does it with its own engine       does it with its own engine; slabs exchange
 *     <-- halos of phases -->           <-- particles among themselves
 *     takes replies <-----------------  reply, with what was counted or collected
 *
 * Each order has one reply from each process, also where something has failed, so that nobody waits
 * for what does not come. `run` and `poll` are one order: its reply is taken by poll. */
#include "engine/keep.h"
#include "engine/peers.h"
#include "engine/rdme.h"

#include "core/memory.h"
#include "kernel/base/target.h"

#include <string.h>

typedef enum order_kind {
    ORDER_BEGIN,
    ORDER_GATHER,
    ORDER_RUN,
    ORDER_RESTORE,
    ORDER_COUNT,
    ORDER_SPLIT,
    ORDER_COLLECT,
    ORDER_END
} order_kind;

/* Behind an order to begin go the contents, behind one to run the phases. */
typedef struct order {
    int64_t kind;
    int64_t what; /* the trajectory; or how to split */
    int64_t n;    /* phases; or entries of contents, -1: it begins at time 0 */
} order;

/* Behind it go counts, or contents. */
typedef struct saltus_mpd_reply {
    saltus_error error; /* code SALTUS_OK: it is done */
    saltus_mpd_batch_status batch;
    int64_t n; /* entries of contents, or counts; else 0 */
    bool ends; /* a signal has come */
} reply;

/* ------------------------------------------------------------------------------------------------
 * Messages
 */

static saltus_status move(const saltus_peers *peers, int peer, bool is_sent, void *bytes,
                          size_t size, saltus_error *err)
{
    const saltus_transfer t = {
        peer, is_sent == (peers->number == 0) ? SALTUS_PEER_ORDER : SALTUS_PEER_REPLY, is_sent,
        bytes, size};
    return size > 0 ? peers->exchange(peers->user, &t, 1, err) : SALTUS_OK;
}

/* Contents, whose entries the other side has told the number of. */
static saltus_status move_contents(const saltus_peers *peers, int peer, bool is_sent,
                                   saltus_contents *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t first = is_sent ? 0 : c->n;
    const size_t size = (size_t)(n > 0 ? n : 0);
    for (int64_t i = 0; i < n && !is_sent; ++i) {
        SALTUS_TRY(saltus_contents_add(c, 0, 0, 0, err));
    }
    if (n > 0) {
        SALTUS_TRY(move(peers, peer, is_sent, c->site + first, size * sizeof *c->site, err));
        SALTUS_TRY(move(peers, peer, is_sent, c->species + first, size * sizeof *c->species, err));
        SALTUS_TRY(move(peers, peer, is_sent, c->count + first, size * sizeof *c->count, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Process 0
 */

/* Send the same to all, to some of them at a time. */
static saltus_status send_all(const saltus_peers *peers, void *bytes, size_t size,
                              saltus_error *err)
{
    enum { SOME = 16 };
    saltus_status status = SALTUS_OK;
    saltus_transfer some[SOME];
    int n = 0;
    for (int i = 1; i < peers->n; ++i) {
        some[n++] = (saltus_transfer){i, SALTUS_PEER_ORDER, true, bytes, size};
        if ((n == SOME || i + 1 == peers->n) && size > 0) {
            const saltus_status now = peers->exchange(peers->user, some, n, err);
            status = status == SALTUS_OK ? now : status;
            n = 0;
        }
    }
    return status;
}

static saltus_status send_order(const saltus_peers *peers, order what, saltus_error *err)
{
    return send_all(peers, &what, sizeof what, err);
}

/* Take the replies of all; the first failure among them. */
static saltus_status take_replies(saltus_mpd_lead *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_peers *peers = l->task->peers;
    for (int i = 1; i < peers->n; ++i) {
        SALTUS_TRY(move(peers, i, false, &l->replies[i - 1], sizeof *l->replies, err));
        l->ends |= l->replies[i - 1].ends;
    }
    for (int i = 1; i < peers->n; ++i) {
        SALTUS_TRY(saltus_error_pass(err, &l->replies[i - 1].error));
    }
done:
    return status;
}

/* What comes behind the reply of process i: counts to l->sums, or contents. */
static saltus_status take_behind(saltus_mpd_lead *l, int i, saltus_contents *contents,
                                 saltus_error *err)
{
    const reply *r = &l->replies[i - 1];
    if (r->error.code != SALTUS_OK) {
        return SALTUS_OK; /* nothing comes */
    }
    return contents ? move_contents(l->task->peers, i, false, contents, r->n, err)
                    : move(l->task->peers, i, false, l->sums, (size_t)r->n * sizeof *l->sums, err);
}

/* The end of an order: what its own engine has come to, and the others. If that is a failure, what
 * comes behind the replies is taken all the same. */
static saltus_status join(saltus_mpd_lead *l, order_kind what, saltus_status own, saltus_error *err)
{
    saltus_error theirs = {0};
    saltus_contents dropped = {0};
    saltus_status status = take_replies(l, own == SALTUS_OK ? err : &theirs);
    status = own == SALTUS_OK ? status : own;
    for (int i = 1; status != SALTUS_OK && i < l->task->peers->n; ++i) {
        saltus_contents_clear(&dropped);
        if (take_behind(l, i, what == ORDER_COLLECT ? &dropped : NULL, &theirs) != SALTUS_OK) {
            break;
        }
    }
    saltus_contents_free(&dropped);
    return status;
}

static saltus_status begin(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    const saltus_peers *peers = l->task->peers;
    const int64_t n = from ? from->n : -1;
    SALTUS_TRY(send_order(peers, (order){ORDER_BEGIN, trajectory, n}, err));
    for (int i = 1; i < peers->n; ++i) {
        saltus_contents sent = from ? *from : (saltus_contents){0};
        SALTUS_TRY(move_contents(peers, i, true, &sent, n, err));
    }
    SALTUS_TRY(join(l, ORDER_BEGIN, l->own.begin(l->own.user, trajectory, from, err), err));
done:
    return status;
}

/* The signal of another process is taken here: what is under way is kept, if that is wanted, before
 * all end. */
static saltus_status heed_ends(const saltus_mpd_lead *l, saltus_error *err)
{
    return l->ends ? saltus_error_set(err, SALTUS_E_CANCELLED, "stopped on request") : SALTUS_OK;
}

static saltus_status gather(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    SALTUS_TRY(heed_ends(l, err));
    SALTUS_TRY(send_order(l->task->peers, (order){.kind = ORDER_GATHER}, err));
    SALTUS_TRY(join(l, ORDER_GATHER, l->own.gather(l->own.user, err), err));
done:
    return status;
}

static saltus_status run(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    const saltus_peers *peers = l->task->peers;
    saltus_mpd_phase *sent = (saltus_mpd_phase *)(uintptr_t)phases;
    SALTUS_TRY(send_order(peers, (order){.kind = ORDER_RUN, .n = n}, err));
    SALTUS_TRY(send_all(peers, sent, (size_t)n * sizeof *sent, err));
    SALTUS_TRY(l->own.run(l->own.user, phases, n, err));
done:
    return status;
}

/* Slabs run at the same time, so the work of a batch is that of the one that has most. */
static saltus_status poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    SALTUS_TRY(join(l, ORDER_RUN, l->own.poll(l->own.user, out, err), err));
    for (int i = 1; i < l->task->peers->n; ++i) {
        const saltus_mpd_batch_status *one = &l->replies[i - 1].batch;
        out->work = one->work > out->work ? one->work : out->work;
        out->fired += one->fired;
        out->failure = saltus_mpd_first_failure(out->failure, one->failure);
        out->is_full |= one->is_full;
    }
    if (l->ends && l->task->pause) {
        saltus_keep_ask(l->task->pause);
    }
done:
    return status;
}

static saltus_status restore(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    SALTUS_TRY(send_order(l->task->peers, (order){.kind = ORDER_RESTORE}, err));
    SALTUS_TRY(join(l, ORDER_RESTORE, l->own.restore(l->own.user, err), err));
done:
    return status;
}

/* Add the counts behind the replies to those of its own. */
static saltus_status add_counts(saltus_mpd_lead *l, int64_t n, int64_t *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 1; i < l->task->peers->n; ++i) {
        SALTUS_TRY(take_behind(l, i, NULL, err));
        for (int64_t k = 0; k < n; ++k) {
            out[k] += l->sums[k];
        }
    }
done:
    return status;
}

static saltus_status count(void *user, int64_t *totals, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    SALTUS_TRY(send_order(l->task->peers, (order){.kind = ORDER_COUNT}, err));
    SALTUS_TRY(join(l, ORDER_COUNT, l->own.count(l->own.user, totals, err), err));
    SALTUS_TRY(add_counts(l, l->n_species, totals, err));
done:
    return status;
}

/* Numbers of a split. */
static int64_t size_of(const saltus_task *task, saltus_split how)
{
    return (int64_t)task->space.n_parts[how] * task->columns->n_counts;
}

/* Count in parts, also where the engine cannot. */
static saltus_status split_own(const saltus_mpd_engine *own, const saltus_task *task,
                               saltus_split how, int64_t *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_contents contents = {0};
    if (own->split) {
        return own->split(own->user, how, out, err);
    }
    SALTUS_TRY(own->collect(own->user, &contents, err));
    saltus_space_split(task, &contents, how, out);
done:
    saltus_contents_free(&contents);
    return status;
}

static saltus_status split(void *user, saltus_split how, int64_t *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    SALTUS_TRY(send_order(l->task->peers, (order){.kind = ORDER_SPLIT, .what = how}, err));
    SALTUS_TRY(join(l, ORDER_SPLIT, split_own(&l->own, l->task, how, out, err), err));
    SALTUS_TRY(add_counts(l, size_of(l->task, how), out, err));
done:
    return status;
}

static saltus_status collect(void *user, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_lead *l = user;
    const saltus_peers *peers = l->task->peers;
    SALTUS_TRY(send_order(peers, (order){.kind = ORDER_COLLECT}, err));
    SALTUS_TRY(join(l, ORDER_COLLECT, l->own.collect(l->own.user, contents, err), err));
    for (int i = 1; i < peers->n; ++i) {
        SALTUS_TRY(take_behind(l, i, contents, err));
    }
done:
    return status;
}

/* The most numbers that are counted. */
static int64_t most_counts(const saltus_mpd_tables *tables, const saltus_task *task)
{
    int64_t most = tables->m.n_species;
    for (int how = 0; how < SALTUS_N_SPLITS; ++how) {
        const int64_t n = size_of(task, (saltus_split)how);
        most = n > most ? n : most;
    }
    return most;
}

saltus_status saltus_mpd_lead_create(const saltus_mpd_tables *tables, const saltus_task *task,
                                     const saltus_mpd_engine *own, saltus_mpd_lead *out,
                                     saltus_mpd_engine *engine, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *out = (saltus_mpd_lead){.own = *own, .task = task, .n_species = tables->m.n_species};
    out->replies = saltus_calloc((size_t)task->peers->n, sizeof *out->replies);
    out->sums = saltus_calloc((size_t)most_counts(tables, task), sizeof *out->sums);
    SALTUS_NEED(out->replies && out->sums);
    *engine = (saltus_mpd_engine){out,   begin, gather,  run,  poll, restore,
                                  count, split, collect, NULL, NULL};
done:
    return status;
}

void saltus_mpd_lead_free(saltus_mpd_lead *l)
{
    saltus_free(l->replies);
    saltus_free(l->sums);
}

void saltus_peers_end(const saltus_peers *peers)
{
    saltus_error ignored = {0};
    const saltus_status status = send_order(peers, (order){.kind = ORDER_END}, &ignored);
    (void)status;
}

/* ------------------------------------------------------------------------------------------------
 * The others
 */

typedef struct follower {
    const saltus_mpd_tables *tables;
    const saltus_task *task;
    const saltus_mpd_engine *own;
    saltus_contents contents;
    saltus_mpd_phase *phases;
    int64_t n_phases; /* room for so many */
    int64_t *counts;
} follower;

/* What goes along with an order is taken before anything can fail, but for memory. */
static saltus_status take_along(follower *f, const saltus_peers *peers, const order *what,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (what->kind == ORDER_BEGIN) {
        saltus_contents_clear(&f->contents);
        SALTUS_TRY(move_contents(peers, 0, false, &f->contents, what->n, err));
    } else if (what->kind == ORDER_RUN) {
        if (what->n > f->n_phases) {
            saltus_mpd_phase *grown = saltus_realloc(f->phases, (size_t)what->n, sizeof *f->phases);
            SALTUS_NEED(grown);
            f->phases = grown;
            f->n_phases = what->n;
        }
        SALTUS_TRY(move(peers, 0, false, f->phases, (size_t)what->n * sizeof *f->phases, err));
    }
done:
    return status;
}

/* Do what is ordered. What is counted or collected goes behind the reply. */
static saltus_status obey(follower *f, const order *what, reply *out, saltus_error *err)
{
    const saltus_mpd_engine *own = f->own;
    switch ((order_kind)what->kind) {
    case ORDER_BEGIN:
        return own->begin(own->user, what->what, what->n < 0 ? NULL : &f->contents, err);
    case ORDER_GATHER:
        return own->gather(own->user, err);
    case ORDER_RUN: {
        const saltus_status status = own->run(own->user, f->phases, (int)what->n, err);
        return status == SALTUS_OK ? own->poll(own->user, &out->batch, err) : status;
    }
    case ORDER_RESTORE:
        return own->restore(own->user, err);
    case ORDER_COUNT:
        out->n = f->tables->m.n_species;
        return own->count(own->user, f->counts, err);
    case ORDER_SPLIT:
        out->n = size_of(f->task, (saltus_split)what->what);
        return split_own(own, f->task, (saltus_split)what->what, f->counts, err);
    case ORDER_COLLECT: {
        saltus_contents_clear(&f->contents);
        const saltus_status status = own->collect(own->user, &f->contents, err);
        out->n = f->contents.n;
        return status;
    }
    case ORDER_END:
        break;
    }
    return SALTUS_OK;
}

/* Send a reply and what goes along with it. */
static saltus_status answer(follower *f, const saltus_peers *peers, const order *what, reply *r,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(move(peers, 0, true, r, sizeof *r, err));
    if (r->error.code != SALTUS_OK) {
        goto done;
    }
    if (what->kind == ORDER_COLLECT) {
        SALTUS_TRY(move_contents(peers, 0, true, &f->contents, r->n, err));
    } else {
        SALTUS_TRY(move(peers, 0, true, f->counts, (size_t)r->n * sizeof *f->counts, err));
    }
done:
    return status;
}

/* Follow until the end. After a failure, `why`, nothing is done any more, but each order has its
 * reply. */
static saltus_status follow(follower *f, saltus_peers *peers, const saltus_error *why,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    reply r = {0};
    if (why) {
        r.error = *why;
    }
    for (;;) {
        order what;
        SALTUS_TRY(move(peers, 0, false, &what, sizeof what, err));
        if (what.kind == ORDER_END) {
            peers->has_ended = true;
            break;
        }
        saltus_error failed = {0};
        r.n = 0;
        SALTUS_TRY(take_along(f, peers, &what, err));
        if (f->own && r.error.code == SALTUS_OK && obey(f, &what, &r, &failed) != SALTUS_OK) {
            r.error = failed;
        }
        r.ends = f->task && SALTUS_FLAG(f->task->stop);
        SALTUS_TRY(answer(f, peers, &what, &r, err));
    }
    SALTUS_TRY(saltus_error_pass(err, &r.error));
done:
    return status;
}

saltus_status saltus_mpd_follow(const saltus_mpd_tables *tables, const saltus_task *task,
                                const saltus_mpd_engine *own, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    follower f = {.tables = tables, .task = task, .own = own};
    f.counts = saltus_calloc((size_t)most_counts(tables, task), sizeof *f.counts);
    SALTUS_NEED(f.counts);
    SALTUS_TRY(follow(&f, task->peers, NULL, err));
done:
    saltus_contents_free(&f.contents);
    saltus_free(f.phases);
    saltus_free(f.counts);
    return status;
}

void saltus_peers_refuse(saltus_peers *peers, const saltus_error *why)
{
    follower f = {0};
    saltus_error ignored = {0};
    const saltus_status status = follow(&f, peers, why, &ignored);
    (void)status;
    saltus_contents_free(&f.contents);
    saltus_free(f.phases);
}
