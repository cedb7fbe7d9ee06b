/** The ranks of a run: messages between them, and a run's work on all of them. */
#ifndef SALTUS_RANKS_RANKS_H
#define SALTUS_RANKS_RANKS_H

#include "backend/backend.h"
#include "core/handle.h"
#include "kernel/base/derive.h"
#include "core/parallel.h"
#include "ranks/message.h"
#include "ranks/transport.h"

#include <pthread.h>

/** What ranks know of each other from the start. */
typedef struct saltus_card {
    char version[32], host[128];
    uint64_t cores[32]; /**< bit by bit those that it may run on */
} saltus_card;

typedef struct saltus_queue {
    saltus_message *first, *last;
} saltus_queue;

struct saltus_ranks {
    saltus_handle handle;
    const saltus_transport *transport;
    int rank, n;
    saltus_card *cards;           /**< [rank] */
    pthread_mutex_t calling;      /**< held by the thread that calls the transport */
    saltus_thread thread;         /**< which moves messages */
    pthread_mutex_t lock;         /**< of what follows */
    pthread_cond_t arrived, wake; /**< a message is there; the thread has something to do */
    saltus_queue *in;             /**< [rank] received */
    saltus_queue out;
    size_t in_bytes, out_bytes; /**< of messages that are not taken; that are not sent */
    bool is_open, is_closing;
    bool is_over;       /**< rank 0 has told this one to leave, */
    int32_t end;        /**< with that exit code */
    saltus_error error; /**< why it could not start, or has broken down */
};

/** ---- messages (ranks.c) ---- */

/** Send a message, which is taken in any case. Waits while very much is not sent yet.
 * SALTUS_E_NO_MEMORY when it is NULL or bad; SALTUS_E_UNAVAILABLE: the transport has failed. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_send(saltus_ranks *ranks, int to, saltus_message *m,
                                                  saltus_error *err);
/** The next message from a rank, to be freed; NULL: none has come for so many ms, below 1000. */
saltus_message *saltus_ranks_receive(saltus_ranks *ranks, int from, int ms);
/** Let a message be the next one from its rank again. */
void saltus_ranks_put_back(saltus_ranks *ranks, saltus_message *m);
/** Wait for one of two kinds, and drop others on the way. On failure NULL: SALTUS_E_CANCELLED when
 * *stop (or NULL) has become non-zero, or rank 0 is leaving; what a rank told that has failed. */
saltus_message *saltus_ranks_await(saltus_ranks *ranks, int from, saltus_message_kind kind,
                                   saltus_message_kind other, const volatile int *stop,
                                   saltus_error *err);

/** Whether a rank that was told to stop is dead: it says something every SALTUS_TELLING_MS while it
 * lives, and has said nothing since `heard` (saltus_now). MPI ends the job then, soon, and until
 * that what has come is to be kept. */
bool saltus_ranks_is_silent(double heard);
enum { SALTUS_TELLING_MS = 200, SALTUS_SILENT_MS = 600 };

/** A result of the transport's as a status. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_check(const saltus_transport *transport, int result,
                                                   saltus_error *err);

void saltus_message_put_error(saltus_message *m, const saltus_error *err);
void saltus_message_get_error(saltus_message *m, saltus_error *err);

/** ---- a run (lend.c, serve.c) ---- */

/** What a rank tells of itself before a run: it must be the same on all, but for the workers. */
typedef struct saltus_ready {
    int32_t n_workers, kind, method, rng;
    int32_t n_counts, n_observables, n_parts[SALTUS_N_SPLITS];
    uint64_t numbers; /**< of the model, hashed */
} saltus_ready;

/** What a run's ranks have in common beside their plans. */
typedef struct saltus_loan {
    saltus_ranks *ranks;
    const saltus_task *task;
    int64_t n_trajectories, n_workers; /**< of all ranks together */
    int n_slabs;                       /**< of a lattice, one for each rank; 0: it is whole */
} saltus_loan;

/** Of n workers those that simulate on a rank with so many of all workers: as many trajectories as
 * it can expect, if these are fewer. */
int saltus_ranks_busy(int64_t n_trajectories, int n_workers, int64_t n_all);

void saltus_ready_make(const saltus_task *task, const saltus_backend *backend, int n_workers,
                       saltus_ready *out);
/** Rank 0: wait until all others are ready, and count the workers of all, with its own. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_await_ready(saltus_ranks *ranks,
                                                         const saltus_ready *own,
                                                         int64_t *n_workers,
                                                         const volatile int *stop,
                                                         saltus_error *err);
/** Rank 0: tell a rank what the run is like; with slabs, whether it is to have one. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_begin(const saltus_loan *loan, int rank,
                                                   const saltus_task *task, saltus_error *err);
/** Rank 0: how a rank has ended, from its SALTUS_FROM_END. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_take_end(const saltus_task *task, saltus_message *m,
                                                      saltus_error *err);
/** Rank 0: let a rank simulate what the source hands out, as one of the run's workers. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_lend(const saltus_loan *loan, int rank,
                                                  const saltus_task *task,
                                                  const saltus_source *source, saltus_error *err);
/** Another rank: be ready, and simulate for rank 0. What the run is like comes from there; of
 * `task` only what the plan says is looked at. SALTUS_E_CANCELLED when there is no run,
 * SALTUS_E_UNSUPPORTED when rank 0 wants points of a sweep simulated one by one. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_serve(saltus_ranks *ranks, saltus_task *task,
                                                   const saltus_backend *backend, int n_workers,
                                                   const volatile int *stop, saltus_error *err);

/** ---- a lattice on all ranks (lattice.c); the task has slabs ---- */

/** Rank 0: work off the source's jobs, one at a time, together with the others. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_lead_lattice(const saltus_loan *loan,
                                                          const saltus_task *task,
                                                          const saltus_backend *backend,
                                                          const saltus_source *source,
                                                          saltus_error *err);
/** Another rank: have a slab, if there is one for it, until rank 0 ends. */
SALTUS_MUST_CHECK saltus_status saltus_ranks_follow_lattice(saltus_ranks *ranks,
                                                            const saltus_task *task,
                                                            const saltus_backend *backend,
                                                            saltus_error *err);

/** Numbers of a trajectory that are sent, in the order of a job's arrays. */
typedef struct saltus_sizes {
    size_t counts, observables, derived, splits[SALTUS_N_SPLITS];
    size_t width, real_width; /**< of all samples' counts and observables */
    size_t row;               /**< of a point; 0: there are none */
} saltus_sizes;
saltus_sizes saltus_sizes_of(const saltus_task *task);

#endif
