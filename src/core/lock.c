#include "core/lock.h"

#include <pthread.h>

static pthread_mutex_t locks[SALTUS_N_FOREIGN] = {PTHREAD_MUTEX_INITIALIZER,
                                                  PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    for (int i = 0; i < SALTUS_N_FOREIGN; ++i) {
        (void)pthread_mutex_lock(&locks[i]);
    }
}

/* In the parent and in the child, whose only thread is the one that took them. */
static void after_fork(void)
{
    for (int i = SALTUS_N_FOREIGN - 1; i >= 0; --i) {
        (void)pthread_mutex_unlock(&locks[i]);
    }
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void saltus_lock(saltus_foreign library)
{
    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&locks[library]);
}

void saltus_unlock(saltus_foreign library)
{
    (void)pthread_mutex_unlock(&locks[library]);
}
