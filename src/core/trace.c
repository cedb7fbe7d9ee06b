#include "core/trace.h"

#include "core/clock.h"

double saltus_tracer_now(const saltus_tracer *tracer)
{
    return tracer ? saltus_now() - tracer->start : 0.0;
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
