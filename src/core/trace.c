#include "core/trace.h"

double saltus_tracer_now(const saltus_tracer *tracer)
{
    struct timespec now;
    if (!tracer) {
        return 0.0;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - tracer->start.tv_sec) +
           1e-9 * (double)(now.tv_nsec - tracer->start.tv_nsec);
}

void saltus_tracer_tell(saltus_tracer *tracer, const char *name, saltus_track track, int worker,
                        double start, double end)
{
    if (tracer) {
        const saltus_span span = {name, track, worker, start, end > start ? end - start : 0.0};
        (void)pthread_mutex_lock(&tracer->lock);
        tracer->tell(tracer->user, &span);
        (void)pthread_mutex_unlock(&tracer->lock);
    }
}
