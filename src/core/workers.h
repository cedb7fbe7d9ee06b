/** Workers: threads that share a piece of work until it is done, one of them fails, or the caller
 * wants no more. A run's workers simulate trajectories, a sweep's points. */
#ifndef SALTUS_CORE_WORKERS_H
#define SALTUS_CORE_WORKERS_H

#include "core/status.h"

#include <pthread.h>

typedef struct saltus_workers {
    pthread_mutex_t lock;   /**< of the members below, and of what the workers share */
    pthread_cond_t changed; /**< for workers that wait for each other; a failure wakes them, too */
    pthread_cond_t ended;   /**< a worker has */
    int n;                  /**< that have not */
    saltus_status status;   /**< the first failure, */
    saltus_error error;     /**< and its record */
    int stop;               /**< they are to give up; atomic */
} saltus_workers;

void saltus_workers_init(saltus_workers *w);
void saltus_workers_free(saltus_workers *w);

/** Keep the first failure, and tell all workers to give up. With the lock held. */
void saltus_workers_fail(saltus_workers *w, saltus_status status, const saltus_error *error);

/** The same, when the caller wants no more. */
void saltus_workers_cancel(saltus_workers *w);

/** What workers do. */
typedef struct saltus_work {
    void *user;
    /** One worker's part, without the lock, from the first job to the last. */
    saltus_status (*work)(void *user, int worker, saltus_error *err);
    /** NULL, or called a few times a second on the thread that waits, with the lock held. */
    void (*tell)(void *user);
    const char *no_thread; /**< the sentence when not even one can be started */
    bool is_here; /**< of a single worker: it works on the calling thread, and looks at `stop`
                     itself; `tell` is not called */
    const volatile int *stop; /**< NULL, or becomes non-zero when the caller wants no more */
} saltus_work;

/** Start n workers and wait for them. Fewer do where threads are scarce. Afterwards w->status is
 * the first failure; SALTUS_E_CANCELLED where they were stopped. */
void saltus_workers_run(saltus_workers *w, int n, const saltus_work *what);

/** Hand the first failure to a caller. */
saltus_status saltus_workers_status(const saltus_workers *w, saltus_error *err);

#endif
