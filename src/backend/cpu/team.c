#include "backend/cpu/team.h"

#include "core/memory.h"
#include "core/parallel.h"

#include <sched.h>

enum { SPINS = 2000, YIELDS = 200 };

struct saltus_team {
    int n;                  /* threads, the caller's among them */
    saltus_thread *members; /* all but the caller, who is number 0 */
    void (*step)(void *user, int member);
    void *user;
    unsigned round; /* steps begun; 0: the team is to end. Atomic, like n_busy */
    int n_busy;     /* members that are at work on the step */
    bool is_over;
    pthread_mutex_t lock; /* for members that have waited long */
    pthread_cond_t changed;
};

/* A step takes microseconds, so members poll for a while before they sleep. */
static bool is_there_soon(const unsigned *round, unsigned last)
{
    for (int i = 0; i < SPINS + YIELDS; ++i) {
        if (__atomic_load_n(round, __ATOMIC_ACQUIRE) != last) {
            return true;
        }
        if (i >= SPINS) {
            (void)sched_yield();
        } else {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
    return false;
}

static void work(void *user, int number)
{
    saltus_team *t = user;
    for (unsigned round = 0;; ++round) {
        if (!is_there_soon(&t->round, round)) {
            (void)pthread_mutex_lock(&t->lock);
            while (t->round == round) {
                (void)pthread_cond_wait(&t->changed, &t->lock);
            }
            (void)pthread_mutex_unlock(&t->lock);
        }
        if (t->is_over) {
            return;
        }
        t->step(t->user, number + 1);
        (void)__atomic_sub_fetch(&t->n_busy, 1, __ATOMIC_RELEASE);
    }
}

/* Begin a round. */
static void begin(saltus_team *t)
{
    (void)pthread_mutex_lock(&t->lock);
    (void)__atomic_add_fetch(&t->round, 1, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->lock);
}

saltus_status saltus_team_create(int n, saltus_team **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_team *t = saltus_calloc(1, sizeof *t);
    SALTUS_NEED(t);
    t->n = 1;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->changed, NULL);
    t->members = saltus_calloc((size_t)n, sizeof *t->members);
    SALTUS_NEED(t->members);
    t->n += saltus_threads_start(t->members, n - 1, 0, work, t); /* the members that exist do */
    *out = t;
    t = NULL;
done:
    saltus_team_destroy(t);
    return status;
}

void saltus_team_destroy(saltus_team *t)
{
    if (!t) {
        return;
    }
    t->is_over = true;
    begin(t);
    saltus_threads_join(t->members, t->n - 1);
    (void)pthread_cond_destroy(&t->changed);
    (void)pthread_mutex_destroy(&t->lock);
    saltus_free(t->members);
    saltus_free(t);
}

int saltus_team_size(const saltus_team *t)
{
    return t->n;
}

void saltus_team_step(saltus_team *t, void (*step)(void *user, int member), void *user)
{
    t->step = step;
    t->user = user;
    if (t->n > 1) {
        __atomic_store_n(&t->n_busy, t->n - 1, __ATOMIC_RELAXED);
        begin(t);
    }
    step(user, 0);
    for (int i = 0; __atomic_load_n(&t->n_busy, __ATOMIC_ACQUIRE) > 0; ++i) {
        if (i >= SPINS) {
            (void)sched_yield();
        }
    }
}
