/* Ranks and their messages. One thread of each rank moves messages; it sleeps when nothing moves,
 * up to four milliseconds, so that it takes no core from those who simulate. Slabs of a lattice
 * exchange particles on the thread that simulates (lattice.c), which is sooner. A message is a
 * header, then its bytes in parts. */
#include "ranks/ranks.h"

#include "core/archive.h"
#include "core/clock.h"
#include "core/memory.h"
#include "ranks/plugin.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_HEAD = 1, TAG_BYTES };
enum {
    LARGEST_PART = 1 << 30,
    MOST_OUT = 64 << 20, /* bytes that wait to be sent, until who sends more has to wait */
    MOST_IN = 512 << 20, /* bytes that wait to be looked at, until no more are received */
    SHORTEST_US = 50,
    LONGEST_US = 4000
};

typedef struct header {
    uint64_t kind, size;
} header;

/* A message on its way. */
typedef struct sending {
    struct sending *next;
    saltus_message *message;
    header head;
    void **requests; /* of the header and the parts; NULL: it is done */
    size_t n;
} sending;

static void append(saltus_queue *q, saltus_message *m)
{
    m->next = NULL;
    if (q->last) {
        q->last->next = m;
    } else {
        q->first = m;
    }
    q->last = m;
}

static saltus_message *take_first(saltus_queue *q)
{
    saltus_message *m = q->first;
    if (m) {
        q->first = m->next;
        q->last = m->next ? q->last : NULL;
    }
    return m;
}

static void drop_all(saltus_queue *q)
{
    for (saltus_message *m; (m = take_first(q));) {
        saltus_message_free(m);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The thread
 */

saltus_status saltus_ranks_check(const saltus_transport *t, int e, saltus_error *err)
{
    char text[300] = "";
    if (e == 0) {
        return SALTUS_OK;
    }
    t->text(e, text, (int)sizeof text);
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE, "MPI failed: %s", text);
}

/* A part of a message: its place, and how long it is. */
static int part_of(const saltus_message *m, size_t i, char **at)
{
    const size_t first = i * (size_t)LARGEST_PART, left = m->data.n - first;
    *at = (char *)m->data.data + first;
    return (int)(left < LARGEST_PART ? left : LARGEST_PART);
}

static size_t n_parts(size_t size)
{
    return (size + LARGEST_PART - 1) / LARGEST_PART;
}

static saltus_status begin_to_send(saltus_ranks *r, saltus_message *m, sending **all,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_transport *t = r->transport;
    sending *s = saltus_calloc(1, sizeof *s);
    SALTUS_NEED(s);
    s->message = m;
    s->head = (header){m->kind, m->data.n};
    s->n = 1 + n_parts(m->data.n);
    s->next = *all;
    *all = s;
    s->requests = saltus_calloc(s->n, sizeof *s->requests);
    SALTUS_NEED(s->requests);
    SALTUS_TRY(saltus_ranks_check(
        t, t->send(&s->head, (int)sizeof s->head, m->peer, TAG_HEAD, &s->requests[0]), err));
    for (size_t i = 0; i + 1 < s->n; ++i) {
        char *at;
        const int size = part_of(m, i, &at);
        SALTUS_TRY(
            saltus_ranks_check(t, t->send(at, size, m->peer, TAG_BYTES, &s->requests[1 + i]), err));
    }
done:
    return status;
}

/* Free what is sent. */
static saltus_status go_on_sending(saltus_ranks *r, sending **all, size_t *n_bytes,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (sending **at = all; *at;) {
        sending *s = *at;
        int left = 0;
        for (size_t i = 0; i < s->n; ++i) {
            int is_done = 1;
            if (s->requests[i]) {
                SALTUS_TRY(saltus_ranks_check(r->transport,
                                              r->transport->test(&s->requests[i], &is_done), err));
            }
            left += !is_done;
        }
        if (left > 0) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        *n_bytes += s->message->data.n;
        saltus_message_free(s->message);
        saltus_free(s->requests);
        saltus_free(s);
    }
done:
    return status;
}

/* Receive a message, if there is one. */
static saltus_status receive_one(saltus_ranks *r, saltus_message **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_transport *t = r->transport;
    saltus_message *m = NULL;
    void *request = NULL;
    header head;
    int is_there = 0, from = -1;
    *out = NULL;
    SALTUS_TRY(saltus_ranks_check(t, t->probe(TAG_HEAD, &is_there, &from), err));
    if (!is_there) {
        goto done;
    }
    SALTUS_TRY(
        saltus_ranks_check(t, t->receive(&head, (int)sizeof head, from, TAG_HEAD, &request), err));
    SALTUS_TRY(saltus_ranks_check(t, t->wait(&request), err));
    m = saltus_message_new((saltus_message_kind)head.kind);
    SALTUS_NEED(m);
    m->peer = from;
    m->data.is_taking = true;
    m->data.n = head.size;
    m->data.data = m->data.n > 0 ? malloc(m->data.n) : NULL; /* all of it is filled */
    SALTUS_NEED(m->data.n == 0 || m->data.data);
    for (size_t i = 0; i < n_parts(m->data.n); ++i) {
        char *at;
        const int size = part_of(m, i, &at);
        SALTUS_TRY(saltus_ranks_check(t, t->receive(at, size, from, TAG_BYTES, &request), err));
        SALTUS_TRY(saltus_ranks_check(t, t->wait(&request), err));
    }
    *out = m;
    m = NULL;
done:
    saltus_message_free(m);
    return status;
}

/* Begin to send what is new, go on with what is under way, and receive a message if there is one
 * and there is room. Takes what is new in any case. */
static saltus_status call_transport(saltus_ranks *r, saltus_queue *out, sending **all,
                                    size_t *n_sent, saltus_message **in, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_message *m;
    (void)pthread_mutex_lock(&r->calling);
    while (status == SALTUS_OK && (m = take_first(out))) {
        status = begin_to_send(r, m, all, err);
    }
    drop_all(out);
    SALTUS_TRY(status);
    SALTUS_TRY(go_on_sending(r, all, n_sent, err));
    if (in) {
        SALTUS_TRY(receive_one(r, in, err));
    }
done:
    (void)pthread_mutex_unlock(&r->calling);
    return status;
}

/* Move messages until all is sent and the ranks are to be closed. */
static saltus_status move_messages(saltus_ranks *r, sending **all, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int pause_us = SHORTEST_US;
    for (;;) {
        saltus_message *m = NULL;
        size_t sent = 0;
        (void)pthread_mutex_lock(&r->lock);
        saltus_queue out = r->out;
        r->out = (saltus_queue){0};
        const bool is_closing = r->is_closing, has_room = r->in_bytes < MOST_IN;
        (void)pthread_mutex_unlock(&r->lock);
        const bool moves = out.first != NULL;
        SALTUS_TRY(call_transport(r, &out, all, &sent, has_room ? &m : NULL, err));
        (void)pthread_mutex_lock(&r->lock);
        r->out_bytes -= sent;
        if (m) {
            r->in_bytes += m->data.n;
            append(&r->in[m->peer], m);
        }
        if (m || sent > 0) {
            (void)pthread_cond_broadcast(&r->arrived);
        }
        if (m || moves || sent > 0 || r->out.first) {
            pause_us = SHORTEST_US;
        } else if (is_closing && !*all) {
            (void)pthread_mutex_unlock(&r->lock);
            break;
        } else {
            struct timespec until;
            (void)clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += pause_us * 1000L;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            (void)pthread_cond_timedwait(&r->wake, &r->lock, &until);
            const int longest = *all ? 4 * SHORTEST_US : LONGEST_US;
            pause_us = 2 * pause_us < longest ? 2 * pause_us : longest;
        }
        (void)pthread_mutex_unlock(&r->lock);
    }
done:
    return status;
}

static saltus_status start(saltus_ranks *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_transport *t = r->transport;
    saltus_card mine = {.version = ""};
    cpu_set_t set;
    SALTUS_TRY(saltus_ranks_check(t, t->start(&r->rank, &r->n), err));
    (void)snprintf(mine.version, sizeof mine.version, "%s", saltus_version());
    (void)gethostname(mine.host, sizeof mine.host - 1);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < 64 * 32 && i < CPU_SETSIZE; ++i) {
            mine.cores[i / 64] |= (uint64_t)(CPU_ISSET(i, &set) != 0) << i % 64;
        }
    }
    r->cards = saltus_calloc((size_t)r->n, sizeof *r->cards);
    r->in = saltus_calloc((size_t)r->n, sizeof *r->in);
    SALTUS_NEED(r->cards && r->in);
    SALTUS_TRY(saltus_ranks_check(t, t->gather(&mine, r->cards, (int)sizeof mine), err));
    for (int i = 0; i < r->n; ++i) { /* all come to the same end */
        if (strcmp(r->cards[i].version, r->cards[0].version) != 0) {
            SALTUS_FAIL(
                SALTUS_E_UNAVAILABLE, "rank %d on %s is Saltus %s, rank 0 on %s is Saltus %s", i,
                r->cards[i].host, r->cards[i].version, r->cards[0].host, r->cards[0].version);
        }
    }
done:
    return status;
}

static void run_thread(void *user, int number)
{
    saltus_ranks *r = user;
    saltus_error err = {0};
    sending *all = NULL;
    (void)number;
    const saltus_status status = start(r, &err);
    (void)pthread_mutex_lock(&r->lock);
    r->is_open = status == SALTUS_OK;
    r->error = err;
    (void)pthread_cond_broadcast(&r->arrived);
    (void)pthread_mutex_unlock(&r->lock);
    if (status == SALTUS_OK && move_messages(r, &all, &err) != SALTUS_OK) {
        (void)pthread_mutex_lock(&r->lock);
        r->error = err;
        (void)pthread_cond_broadcast(&r->arrived);
        (void)pthread_mutex_unlock(&r->lock);
    }
    (void)r->transport->finish();
    while (all) { /* of a transport that has failed */
        sending *s = all;
        all = s->next;
        saltus_message_free(s->message);
        saltus_free(s->requests);
        saltus_free(s);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 */

saltus_status saltus_ranks_send(saltus_ranks *r, int to, saltus_message *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!m || m->data.failed) {
        saltus_message_free(m);
        return saltus_error_set(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    (void)pthread_mutex_lock(&r->lock);
    while (r->out_bytes > MOST_OUT && r->error.code == SALTUS_OK) {
        (void)pthread_cond_wait(&r->arrived, &r->lock);
    }
    if (r->error.code != SALTUS_OK) {
        status = saltus_error_set(err, r->error.code, "%s", r->error.message);
        saltus_message_free(m);
    } else {
        m->peer = to;
        r->out_bytes += m->data.n;
        append(&r->out, m);
        (void)pthread_cond_signal(&r->wake);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return status;
}

saltus_message *saltus_ranks_receive(saltus_ranks *r, int from, int ms)
{
    const struct timespec until = saltus_in_milliseconds(ms);
    (void)pthread_mutex_lock(&r->lock);
    while (!r->in[from].first && r->error.code == SALTUS_OK &&
           pthread_cond_timedwait(&r->arrived, &r->lock, &until) == 0) {
    }
    saltus_message *m = take_first(&r->in[from]);
    if (m) {
        r->in_bytes -= m->data.n;
    }
    if (m && m->kind == SALTUS_TO_LEAVE) { /* whoever takes it */
        SALTUS_GET(m, r->end);
        r->is_over = true;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return m;
}

void saltus_ranks_put_back(saltus_ranks *r, saltus_message *m)
{
    saltus_queue *q = &r->in[m->peer];
    (void)pthread_mutex_lock(&r->lock);
    m->next = q->first;
    q->first = m;
    q->last = q->last ? q->last : m;
    r->in_bytes += m->data.n;
    (void)pthread_mutex_unlock(&r->lock);
}

saltus_message *saltus_ranks_await(saltus_ranks *r, int from, saltus_message_kind kind,
                                   saltus_message_kind other, const volatile int *stop,
                                   saltus_error *err)
{
    enum { PAUSE_MS = 50 };
    for (;;) {
        saltus_message *m = saltus_ranks_receive(r, from, PAUSE_MS);
        if (m && (m->kind == kind || m->kind == other)) {
            return m;
        }
        if (m && m->kind == SALTUS_FROM_FAILED) {
            saltus_error failed;
            saltus_message_get_error(m, &failed);
            (void)saltus_error_set(err, failed.code, "rank %d on %s: %.380s", from,
                                   r->cards[from].host, failed.message);
            saltus_error_hint(err, "%s", failed.hint);
            saltus_message_free(m);
            return NULL;
        }
        saltus_message_free(m);
        (void)pthread_mutex_lock(&r->lock);
        const saltus_error broken = r->error;
        const bool is_over = r->is_over;
        (void)pthread_mutex_unlock(&r->lock);
        if (is_over) {
            (void)saltus_error_set(err, SALTUS_E_CANCELLED, "rank 0 has ended");
            return NULL;
        }
        if (broken.code != SALTUS_OK) {
            (void)saltus_error_set(err, broken.code, "%s", broken.message);
            return NULL;
        }
        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED)) {
            (void)saltus_error_set(err, SALTUS_E_CANCELLED, "stopped on request");
            return NULL;
        }
    }
}

void saltus_message_put_error(saltus_message *m, const saltus_error *err)
{
    const int32_t code = (int32_t)err->code;
    SALTUS_PUT(m, code);
    SALTUS_PUT(m, err->message);
    SALTUS_PUT(m, err->hint);
}

void saltus_message_get_error(saltus_message *m, saltus_error *err)
{
    int32_t code;
    SALTUS_GET(m, code);
    SALTUS_GET(m, err->message);
    SALTUS_GET(m, err->hint);
    err->code = (saltus_status)code;
}

/* ------------------------------------------------------------------------------------------------
 * Joining and leaving
 */

static void free_ranks(saltus_ranks *r)
{
    for (int i = 0; r->in && i < r->n; ++i) {
        drop_all(&r->in[i]);
    }
    drop_all(&r->out);
    (void)pthread_cond_destroy(&r->arrived);
    (void)pthread_cond_destroy(&r->wake);
    (void)pthread_mutex_destroy(&r->lock);
    (void)pthread_mutex_destroy(&r->calling);
    saltus_free(r->in);
    saltus_free(r->cards);
    saltus_free(r);
}

saltus_status saltus_ranks_open(saltus_ranks **out, saltus_error *err)
{
    if (!out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_ranks *r = saltus_calloc(1, sizeof *r);
    int n_started = 0;
    SALTUS_NEED(r);
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_mutex_init(&r->calling, NULL);
    (void)pthread_cond_init(&r->arrived, NULL);
    (void)pthread_cond_init(&r->wake, NULL);
    SALTUS_TRY(saltus_plugin_open(&r->transport, err));
    n_started = saltus_threads_start(&r->thread, 1, 0, run_thread, r);
    if (n_started == 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "a thread could not be started");
    }
    (void)pthread_mutex_lock(&r->lock);
    while (!r->is_open && r->error.code == SALTUS_OK) {
        (void)pthread_cond_wait(&r->arrived, &r->lock);
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (!r->is_open) {
        SALTUS_FAIL(r->error.code, "%s", r->error.message);
    }
    saltus_handle_add(&r->handle, SALTUS_HANDLE_RANKS);
    *out = r;
    r = NULL;
done:
    if (r) {
        saltus_threads_join(&r->thread, n_started);
        free_ranks(r);
    }
    return status;
}

void saltus_ranks_close(saltus_ranks *r, int *code)
{
    if (!r || !saltus_handle_take(&r->handle, SALTUS_HANDLE_RANKS)) {
        return;
    }
    int32_t end = code ? *code : 0;
    for (int i = 1; r->rank == 0 && i < r->n; ++i) {
        saltus_message *m = saltus_message_new(SALTUS_TO_LEAVE);
        SALTUS_PUT(m, end);
        (void)!saltus_ranks_send(r, i, m, NULL);
    }
    if (r->rank != 0) {
        saltus_message_free(saltus_ranks_await(r, 0, SALTUS_TO_LEAVE, SALTUS_TO_LEAVE, NULL, NULL));
        end = r->is_over ? r->end : end;
    }
    if (code) {
        *code = end;
    }
    (void)pthread_mutex_lock(&r->lock);
    r->is_closing = true;
    (void)pthread_cond_signal(&r->wake);
    (void)pthread_mutex_unlock(&r->lock);
    saltus_threads_join(&r->thread, 1);
    free_ranks(r);
}

void saltus_ranks_fail(saltus_ranks *r, const saltus_error *failure)
{
    if (r && r->rank != 0 && failure) {
        saltus_message *m = saltus_message_new(SALTUS_FROM_FAILED);
        saltus_message_put_error(m, failure);
        (void)!saltus_ranks_send(r, 0, m, NULL);
    }
}

saltus_status saltus_ranks_share(saltus_ranks *r, saltus_archive **archive, saltus_error *err)
{
    if (!r || !archive || (r->rank == 0 && !*archive)) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_message *m = NULL;
    char *bytes = NULL;
    size_t size = 0;
    if (r->rank != 0) {
        saltus_error why = {0};
        m = saltus_ranks_await(r, 0, SALTUS_TO_FILES, SALTUS_TO_FILES, NULL, &why);
        if (!m) {
            SALTUS_FAIL(why.code, "%s", why.message);
        }
        SALTUS_TRY(saltus_archive_unpack((const char *)m->data.data, m->data.n, archive, err));
        goto done;
    }
    SALTUS_TRY(saltus_archive_pack(*archive, &bytes, &size, err));
    for (int i = 1; i < r->n; ++i) {
        saltus_message *files = saltus_message_new(SALTUS_TO_FILES);
        saltus_message_put(files, bytes, size);
        SALTUS_TRY(saltus_ranks_send(r, i, files, err));
    }
done:
    saltus_message_free(m);
    saltus_free(bytes);
    return status;
}

int saltus_ranks_count(const saltus_ranks *r)
{
    return r ? r->n : 1;
}

int saltus_ranks_number(const saltus_ranks *r)
{
    return r ? r->rank : 0;
}
