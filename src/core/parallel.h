/** Threads: all that the library starts come from here, and end before the call that wanted them,
 * or before the file is closed that one serves. */
#ifndef SALTUS_CORE_PARALLEL_H
#define SALTUS_CORE_PARALLEL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/** One that was started. */
typedef struct saltus_thread {
    pthread_t id;
    void (*work)(void *user, int number);
    void *user;
    int number;
} saltus_thread;

/**
 * Call work(user, 0) … work(user, n - 1), each on a thread of its own, and return meanwhile.
 *
 * @param[out] threads [n], for saltus_threads_join; to stay in place until then
 * @param stack bytes of each one's stack; 0: as many as is usual
 * @return how many could be started, which are the first ones
 */
int saltus_threads_start(saltus_thread *threads, int n, size_t stack,
                         void (*work)(void *user, int number), void *user);
/** Wait until all have ended. */
void saltus_threads_join(const saltus_thread *threads, int n);

enum { SALTUS_MOST_PARTS = 64 };

/**
 * Cut 0 … n - 1 into parts and call work(user, part, first, end) for each, on as many threads as
 * there are cores, this one among them, and at most SALTUS_MOST_PARTS; return when all are done.
 * Where threads cannot be had this one does their parts, too. Parts are numbered from 0 on, in
 * order.
 *
 * @param least length of a part: fewer are not worth a thread of their own
 */
void saltus_parallel(int64_t n, int64_t least,
                     void (*work)(void *user, int part, int64_t first, int64_t end), void *user);

#endif
