/* An ensemble that is timed once. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"

#include <string.h>

static void look(void *user, const saltus_progress *progress)
{
    bench_limit *limit = user;
    if (progress->seconds > limit->seconds) {
        __atomic_store_n(&limit->stop, 1, __ATOMIC_RELAXED);
    }
}

void bench_set_limit(bench_limit *limit, saltus_run_options *run)
{
    run->progress = look;
    run->progress_user = limit;
    run->stop = &limit->stop;
}

saltus_status bench_run(const bench_ensemble *e, const saltus_sink *sink, saltus_run_report *report,
                        saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_error failure = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options options = saltus_run_options_default();
    bench_limit limit = {.seconds = e->limit};
    double *times = saltus_calloc((size_t)e->n_times, sizeof *times);
    SALTUS_NEED(times);
    for (int i = 0; i < e->n_times; ++i) {
        times[i] = e->n_times > 1 ? e->until * i / (e->n_times - 1) : e->until;
    }
    wanted.method = e->method ? e->method : "direct";
    wanted.layout = e->layout ? e->layout : wanted.layout;
    wanted.rng = e->rng ? e->rng : wanted.rng;
    wanted.n_threads = e->n_threads;
    options.times = times;
    options.n_times = e->n_times;
    options.first_trajectory = e->first;
    options.n_trajectories = e->n;
    if (e->limit > 0.0) {
        bench_set_limit(&limit, &options);
    }
    SALTUS_TRY(saltus_plan_create(e->model, e->device, &wanted, &plan, err));
    if (strncmp(saltus_backend_name(e->device), "cuda", 4) == 0) {
        saltus_kernel_report kernel;
        SALTUS_TRY(saltus_plan_compile(plan, &kernel, err));
    }
    status = saltus_run(plan, &options, sink, report, &failure);
    if (limit.stop) {
        report->seconds = 0.0;
        status = SALTUS_OK;
    } else if (status != SALTUS_OK) {
        *err = failure;
    }
done:
    saltus_plan_destroy(plan);
    saltus_free(times);
    return status;
}

saltus_status bench_add_up(const bench_ensemble *e, saltus_totals *totals, double *seconds,
                           saltus_error *err)
{
    const saltus_sink sink = saltus_totals_sink(totals, false);
    saltus_run_report report = {0};
    const saltus_status status = bench_run(e, &sink, &report, err);
    *seconds = report.seconds;
    return status;
}
