/* saltus bench: one model, timed by the baseline, one core, all cores and GPUs, and checked. */
#include "bench/bench.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"
#include "bench/measure/example.h"

#include <stdlib.h>
#include <string.h>

enum {
    N_TURNS = 3,
    N_POINTS = 51,
    CORE_SHARE = 64,      /* one core has this part of a GPU's trajectories, */
    BASELINE_SHARE = 128, /* the baseline this, */
    NO_GPU_SHARE = 16,    /* all cores this when there is no GPU to be compared with */
    QUICK_SHARE = 100,
    FEWEST = 64,
};

/* One way to compute, its best time and its check. */
typedef struct timing {
    const char *engine, *device, *layout;
    saltus_bench_gpu gpu;
    int64_t n, events;
    double seconds;     /* of kernels on a GPU */
    double seconds_run; /* to the last delivery */
    int registers;
    bool is_right;
} timing;

static void look(void *user, const saltus_progress *progress)
{
    saltus_bench_limit *limit = user;
    if (progress->seconds > limit->seconds) {
        __atomic_store_n(&limit->stop, 1, __ATOMIC_RELAXED);
    }
}

void saltus_bench_print_ratio(const char *name, double a, double b)
{
    if (a > 0.0 && b > 0.0) {
        printf(", \"%s\": %.4g", name, a / b);
    } else {
        printf(", \"%s\": null", name);
    }
}

void saltus_bench_set_limit(saltus_bench_limit *limit, saltus_run_options *run)
{
    run->progress = look;
    run->progress_user = limit;
    run->stop = &limit->stop;
}

saltus_status saltus_bench_run(const saltus_bench_ensemble *e, saltus_totals *totals,
                               double *seconds, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_error failure = {0};
    saltus_run_report report = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options options = saltus_run_options_default();
    saltus_bench_limit limit = {.seconds = e->limit};
    const saltus_sink sink = saltus_totals_sink(totals, false);
    double *times = saltus_calloc((size_t)e->n_times, sizeof *times);
    SALTUS_NEED(times);
    for (int i = 0; i < e->n_times; ++i) {
        times[i] = e->until * i / (e->n_times - 1);
    }
    wanted.method = e->method ? e->method : "direct";
    wanted.rng = e->rng ? e->rng : wanted.rng;
    wanted.n_threads = e->n_threads;
    options.times = times;
    options.n_times = e->n_times;
    options.first_trajectory = e->first;
    options.n_trajectories = e->n;
    if (e->limit > 0.0) {
        saltus_bench_set_limit(&limit, &options);
    }
    SALTUS_TRY(saltus_plan_create(e->model, e->device, &wanted, &plan, err));
    if (strncmp(saltus_backend_name(e->device), "cuda", 4) == 0) {
        saltus_kernel_report kernel;
        SALTUS_TRY(saltus_plan_compile(plan, &kernel, err));
    }
    status = saltus_run(plan, &options, &sink, &report, &failure);
    *seconds = limit.stop ? 0.0 : report.seconds;
    if (status != SALTUS_OK && !limit.stop) {
        *err = failure;
    } else {
        status = SALTUS_OK;
    }
done:
    saltus_plan_destroy(plan);
    saltus_free(times);
    return status;
}

static int n_turns(const saltus_bench_case *c)
{
    return c->bench->quick ? 1 : N_TURNS;
}

static int64_t share_of(int64_t n, int share)
{
    return n / share > FEWEST ? n / share : n < FEWEST ? n : FEWEST;
}

static double us_of(const timing *t)
{
    return 1e6 * t->seconds / (double)t->n;
}

/* Events/s; where kernels of several streams overlap, by the clock on the wall. */
static double rate_of(const timing *t)
{
    return (double)t->events / (t->gpu.streams > 1 ? t->seconds_run : t->seconds);
}

static void print_start(const saltus_bench_case *c, const char *engine)
{
    printf("{\"bench\": \"%s\", \"model\": \"%s\", \"species\": %d, \"reactions\": %d, \"until\": "
           "%g, \"points\": %d, \"engine\": \"%s\"",
           c->bench->name, c->file, saltus_model_n_species(c->model),
           saltus_model_n_reactions(c->model), c->times[c->n_points - 1], c->n_points, engine);
    if (c->bench->rng) {
        printf(", \"rng\": \"%s\"", c->bench->rng);
    }
}

static void print_how(saltus_bench_gpu how)
{
    if (how.block > 0) {
        printf(", \"block\": %d", how.block);
    }
    if (how.streams > 0) {
        printf(", \"streams\": %d", how.streams);
    }
}

static void print_timing(saltus_bench_case *c, const timing *t)
{
    const double us = us_of(t);
    print_start(c, t->engine);
    printf(", \"device\": \"%s\", \"layout\": \"%s\"", t->device, t->layout);
    print_how(t->gpu);
    if (t->registers > 0) {
        printf(", \"registers\": %d", t->registers);
    }
    printf(", \"trajectories\": %lld, \"events\": %lld, \"seconds\": %.6g, \"seconds_run\": %.6g, "
           "\"us_per_trajectory\": %.5g, \"ns_per_event\": %.4g",
           (long long)t->n, (long long)t->events, t->seconds, t->seconds_run, us,
           1e9 * t->seconds / (double)t->events);
    printf(", \"over_baseline\": %.4g, \"over_core\": %.4g, \"over_cores\": %.4g, \"check\": "
           "\"%s\"}\n",
           c->us_baseline / us, c->us_core / us, c->us_cores / us, t->is_right ? "ok" : "failed");
    (void)fflush(stdout);
    c->bench->has_failed |= !t->is_right;
}

static void print_skipped(const saltus_bench_case *c, saltus_bench_gpu how, const char *why)
{
    print_start(c, "gpu");
    printf(", \"layout\": \"%s\"", how.layout);
    print_how(how);
    printf(", \"skipped\": ");
    saltus_cli_print_text(why);
    printf("}\n");
    (void)fflush(stdout);
}

/* Run a plan once; keep the time if it is the best, and check the totals against the reference. The
 * first totals of all cores become that. */
static saltus_status run_once(saltus_bench_case *c, const saltus_plan *plan, timing *t,
                              saltus_error *err)
{
    saltus_totals totals = {0};
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report = {0};
    run.times = c->times;
    run.n_times = c->n_points;
    run.n_trajectories = t->n;
    const saltus_sink sink = saltus_totals_sink(&totals, c->bench->wants_samples);
    const saltus_status status = saltus_run(plan, &run, &sink, &report, err);
    const double kernels = report.kernel_seconds;
    const double seconds = kernels > 0.0 ? kernels : report.seconds;
    if (status == SALTUS_OK && (t->seconds == 0.0 || seconds < t->seconds)) {
        t->seconds = seconds;
    }
    if (status == SALTUS_OK && (t->seconds_run == 0.0 || report.seconds < t->seconds_run)) {
        t->seconds_run = report.seconds;
    }
    t->events = report.events;
    t->layout = saltus_plan_layout(plan);
    if (status == SALTUS_OK && c->reference.n_points == 0) {
        c->reference = totals;
        return SALTUS_OK;
    }
    t->is_right = t->is_right && status == SALTUS_OK && saltus_totals_agree(&totals, &c->reference);
    saltus_totals_free(&totals);
    return status;
}

static saltus_status plan_cpu(const saltus_bench_case *c, int threads, saltus_plan **plan,
                              saltus_error *err)
{
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.method = "direct";
    wanted.n_threads = threads;
    wanted.rng = c->bench->rng ? c->bench->rng : wanted.rng;
    wanted.layout = c->bench->cpu_layout ? c->bench->cpu_layout : wanted.layout;
    return saltus_plan_create(c->model, c->bench->cpu, &wanted, plan, err);
}

static void run_baseline(const saltus_bench_case *c, const baseline_network *network, timing *t,
                         double *sums)
{
    memset(sums, 0, (size_t)network->n_species * sizeof *sums);
    const double start = saltus_now();
    t->events =
        baseline_tables(network, (int)t->n, c->times[c->n_points - 1], c->n_points, 1, sums);
    const double seconds = saltus_now() - start;
    if (t->seconds == 0.0 || seconds < t->seconds) {
        t->seconds = t->seconds_run = seconds;
    }
    t->is_right = t->is_right && saltus_totals_agree_with(&c->reference, sums, t->n);
}

/* The three of them take turns. n: trajectories of a GPU. */
static saltus_status time_cpu(saltus_bench_case *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench *b = c->bench;
    const char *device = saltus_backend_name(b->cpu);
    timing baseline = {.engine = "baseline", .device = "cpu", .layout = "tables", .is_right = true};
    timing core = {.engine = "core", .device = device, .is_right = true};
    timing cores = {.engine = "cores", .device = device, .is_right = true};
    saltus_plan *one = NULL, *all = NULL;
    double *sums = NULL;
    baseline_network *network = saltus_calloc(1, sizeof *network);
    SALTUS_NEED(network);
    baseline.n = share_of(n, BASELINE_SHARE);
    core.n = share_of(n, CORE_SHARE);
    cores.n = c->n;
    SALTUS_TRY(baseline_from_model(c->model, network, err));
    sums = saltus_calloc((size_t)network->n_species, sizeof *sums);
    SALTUS_NEED(sums);
    SALTUS_TRY(plan_cpu(c, 1, &one, err));
    SALTUS_TRY(plan_cpu(c, b->threads, &all, err));
    for (int turn = 0; turn < n_turns(c); ++turn) {
        SALTUS_TRY(run_once(c, all, &cores, err));
        SALTUS_TRY(run_once(c, one, &core, err));
        run_baseline(c, network, &baseline, sums);
    }
    c->us_baseline = us_of(&baseline);
    c->us_core = us_of(&core);
    c->us_cores = us_of(&cores);
    c->rate_cores = rate_of(&cores);
    cores.is_right = cores.is_right && core.is_right && baseline.is_right;
    print_timing(c, &baseline);
    print_timing(c, &core);
    print_timing(c, &cores);
done:
    saltus_plan_destroy(one);
    saltus_plan_destroy(all);
    saltus_free(sums);
    saltus_free(network);
    return status;
}

/* A case whose model is still to come. Returns the number of trajectories that a GPU is to have. */
static int64_t begin(saltus_bench *bench, const char *name, double t_end, int64_t n,
                     saltus_bench_case *c)
{
    n = bench->quick ? share_of(n, QUICK_SHARE) : n;
    *c = (saltus_bench_case){.bench = bench, .file = name, .n_points = N_POINTS};
    c->n = bench->gpu || bench->quick ? n : share_of(n, NO_GPU_SHARE);
    for (int i = 0; i < c->n_points; ++i) {
        c->times[i] = t_end * i / (c->n_points - 1);
    }
    return n;
}

saltus_status saltus_bench_open(saltus_bench *bench, const char *file, double t_end, int64_t n,
                                saltus_bench_case *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    n = begin(bench, file, t_end, n, c);
    SALTUS_TRY(saltus_example_load(bench->examples, file, &c->model, err));
    SALTUS_TRY(time_cpu(c, n, err));
done:
    return status;
}

saltus_status saltus_bench_open_text(saltus_bench *bench, const char *name, const char *text,
                                     double t_end, int64_t n, saltus_bench_case *c,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    n = begin(bench, name, t_end, n, c);
    SALTUS_TRY(saltus_model_parse_yaml(text, strlen(text), name, &c->model, err));
    SALTUS_TRY(saltus_model_freeze(c->model, SALTUS_LAW_LITERAL, err));
    SALTUS_TRY(time_cpu(c, n, err));
done:
    return status;
}

void saltus_bench_close(saltus_bench_case *c)
{
    saltus_totals_free(&c->reference);
    saltus_model_destroy(c->model);
}

saltus_status saltus_bench_take(saltus_bench_case *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    timing cores = {.engine = "cores", .n = n, .is_right = true};
    saltus_totals former = c->reference;
    saltus_plan *all = NULL;
    cores.device = saltus_backend_name(c->bench->cpu);
    c->reference = (saltus_totals){0};
    SALTUS_TRY(plan_cpu(c, c->bench->threads, &all, err));
    for (int turn = 0; turn < n_turns(c); ++turn) {
        SALTUS_TRY(run_once(c, all, &cores, err));
    }
    cores.is_right = cores.is_right && saltus_totals_agree(&c->reference, &former);
    c->n = n;
    c->us_cores = us_of(&cores);
    c->rate_cores = rate_of(&cores);
    print_timing(c, &cores);
done:
    saltus_totals_free(&former);
    saltus_plan_destroy(all);
    return status;
}

/* A layout that does not fit, or a machine without NVRTC, is no failure: the line says so. */
saltus_status saltus_bench_time_gpu(saltus_bench_case *c, saltus_bench_gpu how, double *us,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error refusal = {0};
    saltus_plan *plan = NULL;
    saltus_kernel_report kernel = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    timing t = {.engine = "gpu", .gpu = how, .n = c->n, .is_right = true};
    *us = 0.0;
    if (!c->bench->gpu) {
        print_skipped(c, how, c->bench->no_gpu);
        return SALTUS_OK;
    }
    wanted.method = "direct";
    wanted.layout = how.layout;
    wanted.rng = c->bench->rng ? c->bench->rng : wanted.rng;
    wanted.block = how.block;
    wanted.n_streams = how.streams > 0 ? how.streams : 1;
    if (saltus_plan_create(c->model, c->bench->gpu, &wanted, &plan, &refusal) != SALTUS_OK ||
        saltus_plan_compile(plan, &kernel, &refusal) != SALTUS_OK) {
        print_skipped(c, how, refusal.message);
        goto done;
    }
    t.device = saltus_backend_name(c->bench->gpu);
    t.registers = kernel.registers;
    for (int turn = 0; turn < n_turns(c); ++turn) {
        SALTUS_TRY(run_once(c, plan, &t, err));
    }
    *us = us_of(&t);
    c->rate_gpu = rate_of(&t);
    print_timing(c, &t);
done:
    saltus_plan_destroy(plan);
    return status;
}
