/** What took how long in a run, for who asked for it (saltus_run_options.trace). */
#ifndef SALTUS_CORE_TRACE_H
#define SALTUS_CORE_TRACE_H

#include "core/status.h"

#include <pthread.h>

typedef struct saltus_tracer {
    double start; /* saltus_now */
    pthread_mutex_t lock;
    void (*tell)(void *user, const saltus_span *span);
    void *user;
} saltus_tracer;

/** Seconds since the run's start; 0 without a tracer. */
double saltus_tracer_now(const saltus_tracer *tracer);
/** Tell of a span, from any thread; nothing without a tracer. */
void saltus_tracer_record(saltus_tracer *tracer, const char *name, saltus_track track, int worker,
                          double start, double end);
/** The same of what ends now. */
void saltus_tracer_end(saltus_tracer *tracer, const char *name, saltus_track track, int worker,
                       double start);
/** Tell of a slab's value from now on. */
void saltus_tracer_count(saltus_tracer *tracer, const char *name, int slab, double value);

#endif
