#include "core/lock.h"

#include <pthread.h>

static pthread_mutex_t locks[SALTUS_N_LOCKS] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    for (int i = 0; i < SALTUS_N_LOCKS; ++i) {
        (void)pthread_mutex_lock(&locks[i]);
    }
}

/* In the parent and in the child, whose only thread is the one that took them. */
static void after_fork(void)
{
    for (int i = SALTUS_N_LOCKS - 1; i >= 0; --i) {
        (void)pthread_mutex_unlock(&locks[i]);
    }
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void saltus_lock(saltus_lock_name name)
{
    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&locks[name]);
}

void saltus_unlock(saltus_lock_name name)
{
    (void)pthread_mutex_unlock(&locks[name]);
}
