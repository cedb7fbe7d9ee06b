#include "engine/keep.h"

#include "kernel/base/target.h"

#include <string.h>

enum pause { /* values of a worker's flag */
             HAS_ENDED = -1,
             HAS_ANSWERED,
             IS_ASKED,
             IS_DUE,      /* it is handing over */
             IS_ANSWERING /* for longer */
};

/* Whether it was the one and is the other now. */
static bool change(int *pause, enum pause from, enum pause to)
{
    int now = from;
    return __atomic_compare_exchange_n(pause, &now, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void saltus_keep_ask(int *pause)
{
    (void)change(pause, HAS_ANSWERED, IS_ASKED);
}

bool saltus_keep_has_answered(const int *pause)
{
    return __atomic_load_n(pause, __ATOMIC_ACQUIRE) <= HAS_ANSWERED;
}

void saltus_keep_end(int *pause)
{
    __atomic_store_n(pause, HAS_ENDED, __ATOMIC_RELEASE);
}

bool saltus_keep_is_asked(const saltus_task *task)
{
    return task->pause && SALTUS_FLAG(task->pause) == IS_ASKED;
}

bool saltus_keep_is_due(const saltus_task *task)
{
    return task->pause && SALTUS_FLAG(task->pause) && change(task->pause, IS_ASKED, IS_DUE);
}

void saltus_keep_answer(const saltus_task *task, bool begins)
{
    if (task->pause && begins) {
        __atomic_store_n(task->pause, IS_ANSWERING, __ATOMIC_RELAXED);
    } else if (task->pause) { /* unless the worker has ended meanwhile */
        (void)change(task->pause, IS_ANSWERING, HAS_ANSWERED);
    }
}

bool saltus_keep_stops(const saltus_task *task, bool was_due)
{
    if (was_due && task->pause) {
        (void)change(task->pause, IS_DUE, HAS_ANSWERED);
    }
    return (was_due || !task->pause) && SALTUS_FLAG(task->stop);
}

void saltus_keep(const saltus_task *task, saltus_job *job, int64_t n_samples,
                 const saltus_packer *state)
{
    if (!state->failed) {
        task->saver->save(task->saver->user, job, n_samples, state->data, state->n);
    }
}

bool saltus_keep_open(const saltus_job *job, saltus_packer *state)
{
    const saltus_kept *kept = job->kept;
    *state = (saltus_packer){.is_taking = true};
    if (kept) {
        state->data = kept->state;
        state->n = kept->size;
    }
    return kept && kept->size > 0;
}

static void copy(void *to, const void *from, int64_t n, int64_t size)
{
    if (n > 0 && size > 0) {
        memcpy(to, from, 8 * (size_t)n * (size_t)size);
    }
}

void saltus_keep_samples(const saltus_task *task, const saltus_job *job)
{
    const saltus_kept *kept = job->kept;
    const int64_t n_counts = task->columns->n_counts;
    copy(job->counts, kept->counts, kept->n_samples, n_counts);
    copy(job->observables, kept->observables, kept->n_samples, task->columns->n_observables);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        copy(job->splits[i], kept->splits[i], kept->n_samples, task->space.n_parts[i] * n_counts);
    }
}
