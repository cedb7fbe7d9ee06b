#include "engine/keep.h"

#include "kernel/base/target.h"

#include <string.h>

bool saltus_keep_is_due(const saltus_task *task)
{
    return task->pause && __atomic_exchange_n(task->pause, 0, __ATOMIC_RELAXED) != 0;
}

enum { ANSWERING = 2 }; /* a value of `pause`, which is 1 where it is asked */

void saltus_keep_answer(const saltus_task *task, bool begins)
{
    if (task->pause) {
        int now = ANSWERING;
        if (begins) {
            __atomic_store_n(task->pause, ANSWERING, __ATOMIC_RELAXED);
        } else { /* unless the worker has ended meanwhile */
            (void)__atomic_compare_exchange_n(task->pause, &now, 0, false, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED);
        }
    }
}

bool saltus_keep_is_answering(const saltus_task *task)
{
    return task->pause && __atomic_load_n(task->pause, __ATOMIC_RELAXED) == ANSWERING;
}

bool saltus_keep_stops(const saltus_task *task, bool was_due)
{
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
