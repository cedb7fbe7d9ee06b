/** Time as it passes. */
#ifndef SALTUS_CORE_CLOCK_H
#define SALTUS_CORE_CLOCK_H

#include <time.h>

/** Seconds since a moment that stays the same while the program runs. */
static inline double saltus_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** When so many ms, below 1000, will have passed, as pthread_cond_timedwait wants it. */
static inline struct timespec saltus_in_milliseconds(int ms)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

#endif
