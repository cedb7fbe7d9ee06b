#include "core/workers.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/parallel.h"

enum { PAUSE_MS = 200 };

typedef struct session {
    saltus_workers *workers;
    const saltus_work *what;
} session;

void saltus_workers_init(saltus_workers *w)
{
    *w = (saltus_workers){.status = SALTUS_OK};
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    (void)pthread_cond_init(&w->ended, NULL);
}

void saltus_workers_free(saltus_workers *w)
{
    (void)pthread_cond_destroy(&w->ended);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
}

void saltus_workers_fail(saltus_workers *w, saltus_status status, const saltus_error *error)
{
    if (w->status == SALTUS_OK) {
        w->status = status;
        w->error = *error;
    }
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED); /* they look at it without the lock */
    (void)pthread_cond_broadcast(&w->changed);
}

void saltus_workers_cancel(saltus_workers *w)
{
    const saltus_error stopped = {.code = SALTUS_E_CANCELLED, .message = "stopped on request"};
    saltus_workers_fail(w, stopped.code, &stopped);
}

static void work(void *user, int worker)
{
    const session *s = user;
    saltus_workers *w = s->workers;
    saltus_error err = {0};
    const saltus_status status = s->what->work(s->what->user, worker, &err);
    (void)pthread_mutex_lock(&w->lock);
    if (status != SALTUS_OK) {
        saltus_workers_fail(w, status, &err);
    }
    --w->n;
    (void)pthread_cond_broadcast(&w->ended);
    (void)pthread_mutex_unlock(&w->lock);
}

/* With the lock held. */
static void watch(saltus_workers *w, const saltus_work *what)
{
    while (w->n > 0) {
        const struct timespec until = saltus_in_milliseconds(PAUSE_MS);
        while (w->n > 0 && pthread_cond_timedwait(&w->ended, &w->lock, &until) == 0) {
        }
        if (w->n > 0 && what->stop && __atomic_load_n(what->stop, __ATOMIC_RELAXED)) {
            saltus_workers_cancel(w);
        }
        if (what->tell) {
            what->tell(what->user);
        }
    }
}

void saltus_workers_run(saltus_workers *w, int n, const saltus_work *what)
{
    session s = {w, what};
    if (n == 1 && what->is_here) {
        w->n = n;
        work(&s, 0);
        return;
    }
    saltus_error err = {0};
    saltus_thread *threads = saltus_calloc((size_t)n, sizeof *threads);
    w->n = n;
    const int n_started = threads ? saltus_threads_start(threads, n, 0, work, &s) : 0;
    (void)pthread_mutex_lock(&w->lock);
    w->n -= n - n_started;
    if (n_started == 0) {
        (void)saltus_error_set(&err, SALTUS_E_NO_MEMORY, "%s",
                               threads ? what->no_thread : "memory ran out");
        saltus_workers_fail(w, err.code, &err);
    }
    watch(w, what);
    (void)pthread_mutex_unlock(&w->lock);
    if (threads) {
        saltus_threads_join(threads, n_started);
    }
    saltus_free(threads);
}

saltus_status saltus_workers_status(const saltus_workers *w, saltus_error *err)
{
    saltus_error first = w->error;
    first.code = w->status;
    return saltus_error_pass(err, &first);
}
