/** Times of what a stream does, for a run that is traced. Without a tracer nothing is done. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_STOPWATCH_H
#define SALTUS_BACKEND_CUDA_DEVICE_STOPWATCH_H

#include "backend/backend.h"
#include "backend/cuda/device/driver.h"

enum { SALTUS_MARKS = 3 };

typedef struct saltus_stopwatch {
    const saltus_driver *cu;
    saltus_tracer *tracer;
    cu_stream stream;
    int worker;
    cu_event origin, marks[SALTUS_MARKS];
    double start; /**< host time at the first mark */
} saltus_stopwatch;

/** Start the clock of a stream; waits for the stream. */
SALTUS_MUST_CHECK saltus_status saltus_stopwatch_start(const saltus_driver *cu,
                                                       const saltus_task *task, cu_stream stream,
                                                       saltus_stopwatch *out, saltus_error *err);
void saltus_stopwatch_free(saltus_stopwatch *w);
/** Put mark number i behind what is in the stream. */
SALTUS_MUST_CHECK saltus_status saltus_stopwatch_mark(const saltus_stopwatch *w, int i,
                                                      saltus_error *err);
/** Add what was done between marks `from` and from + 1, which the stream has passed, to the trace.
 */
SALTUS_MUST_CHECK saltus_status saltus_stopwatch_record(const saltus_stopwatch *w, int from,
                                                        const char *name, saltus_error *err);

#endif
