#include "core/trace.h"

#include "core/clock.h"

double saltus_tracer_now(const saltus_tracer *tracer)
{
    return tracer ? saltus_now() - tracer->start : 0.0;
}

static void tell(saltus_tracer *tracer, const saltus_span *span)
{
    (void)pthread_mutex_lock(&tracer->lock);
    tracer->tell(tracer->user, span);
    (void)pthread_mutex_unlock(&tracer->lock);
}

void saltus_tracer_record(saltus_tracer *tracer, const char *name, saltus_track track, int worker,
                          double start, double end)
{
    if (tracer) {
        const saltus_span span = {name, track, worker, start, end > start ? end - start : 0.0, 0.0};
        tell(tracer, &span);
    }
}

void saltus_tracer_end(saltus_tracer *tracer, const char *name, saltus_track track, int worker,
                       double start)
{
    saltus_tracer_record(tracer, name, track, worker, start, saltus_tracer_now(tracer));
}

void saltus_tracer_count(saltus_tracer *tracer, const char *name, int slab, double value)
{
    if (tracer) {
        const saltus_span span = {name, SALTUS_TRACK_SLAB, slab, saltus_tracer_now(tracer), 0.0,
                                  value};
        tell(tracer, &span);
    }
}
