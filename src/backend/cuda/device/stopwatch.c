#include "backend/cuda/device/stopwatch.h"

#define CU(call) SALTUS_TRY(saltus_cuda_check(w->cu, w->cu->call, "taking the time", err))

saltus_status saltus_stopwatch_start(const saltus_driver *cu, const saltus_task *task,
                                     cu_stream stream, saltus_stopwatch *w, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *w = (saltus_stopwatch){
        .cu = cu, .tracer = task->tracer, .stream = stream, .worker = task->worker};
    if (!w->tracer) {
        return SALTUS_OK;
    }
    CU(event_create(&w->origin, 0));
    for (int i = 0; i < SALTUS_MARKS; ++i) {
        CU(event_create(&w->marks[i], 0));
    }
    CU(event_record(w->origin, stream));
    CU(stream_wait(stream));
    w->start = saltus_tracer_now(w->tracer);
done:
    return status;
}

void saltus_stopwatch_free(saltus_stopwatch *w)
{
    for (int i = 0; i < SALTUS_MARKS; ++i) {
        if (w->marks[i]) {
            (void)w->cu->event_destroy(w->marks[i]);
        }
    }
    if (w->origin) {
        (void)w->cu->event_destroy(w->origin);
    }
}

saltus_status saltus_stopwatch_mark(const saltus_stopwatch *w, int i, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (w->tracer) {
        CU(event_record(w->marks[i], w->stream));
    }
done:
    return status;
}

saltus_status saltus_stopwatch_record(const saltus_stopwatch *w, int from, const char *name,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    float ms[2] = {0};
    if (!w->tracer) {
        return SALTUS_OK;
    }
    CU(event_elapsed(&ms[0], w->origin, w->marks[from]));
    CU(event_elapsed(&ms[1], w->origin, w->marks[from + 1]));
    saltus_tracer_record(w->tracer, name, SALTUS_TRACK_GPU, w->worker,
                         w->start + 1e-3 * (double)ms[0], w->start + 1e-3 * (double)ms[1]);
done:
    return status;
}
