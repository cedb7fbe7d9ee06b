#include "engine/task.h"

#include "kernel/base/derive.h"

#include <string.h>

void saltus_job_reduce(const saltus_task *task, saltus_job *job, const int64_t *counts)
{
    const saltus_derivation *d = task->derivation;
    const size_t n_counts = (size_t)task->columns->n_counts;
    for (int i = 0; d && i < d->n; ++i) {
        job->derived[i] = saltus_derive_one(d, i, counts, job->observables);
    }
    if (task->reduction) {
        job->rest = counts;
        if (task->reduction->finals) {
            memcpy(job->counts, counts + (size_t)(task->n_times - 1) * n_counts,
                   n_counts * sizeof *counts);
        }
    }
}
