#include "engine/task.h"

#include "kernel/base/derive.h"

#include <string.h>

int saltus_source_take(const saltus_source *source, saltus_job *jobs, int max, bool wait)
{
    enum { AT_ONCE = 64 };
    saltus_ticket tickets[AT_ONCE];
    int n = 0;
    for (int asked = AT_ONCE, got = AT_ONCE; got == asked && n < max; n += got) {
        asked = max - n < AT_ONCE ? max - n : AT_ONCE;
        got = source->take(source->user, tickets, asked, wait && n == 0);
        for (int i = 0; i < got; ++i) {
            jobs[n + i] = source->open(source->user, &tickets[i]);
        }
    }
    return n;
}

/* The last of n_times samples of n columns of 8 bytes. */
static void keep_last(void *to, const void *samples, int64_t n_times, int n)
{
    const size_t size = 8 * (size_t)n;
    if (n > 0) {
        memcpy(to, (const char *)samples + (size_t)(n_times - 1) * size, size);
    }
}

void saltus_job_reduce(const saltus_task *task, saltus_job *job, const int64_t *counts,
                       const double *observables)
{
    const saltus_derivation *d = task->derivation;
    for (int i = 0; d && i < d->n; ++i) {
        job->derived[i] = saltus_derive_one(d, i, counts, observables);
    }
    if (task->reduction) {
        job->rest = counts;
        job->rest_observables = observables;
    }
    if (task->reduction && task->reduction->finals) {
        keep_last(job->counts, counts, task->n_times, task->columns->n_counts);
        keep_last(job->observables, observables, task->n_times, task->columns->n_observables);
    }
}
