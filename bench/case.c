/* One model, timed by the baseline, one core, all cores and GPUs, and checked. */
#include "bench/bench.h"

#include "bench/measure/baseline.h"
#include "bench/measure/example.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TURNS = 3,
    CORE_SHARE = 64,      /* one core has this part of a GPU's trajectories, */
    BASELINE_SHARE = 128, /* the baseline this, */
    NO_GPU_SHARE = 16,    /* all cores this when there is no GPU to be compared with */
    QUICK_SHARE = 100,
    FEWEST = 64,
    MOST_LAYOUTS = 8
};

/* One way to compute, its best time and its check. */
typedef struct timing {
    const char *engine, *device, *layout;
    bench_gpu gpu;
    int64_t n, events;
    double seconds;     /* of kernels on a GPU */
    double seconds_run; /* to the last delivery */
    int registers;
    bool is_right;
} timing;

static int n_turns(const bench_case *c)
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

/* What is timed, and how. */
static void put_start(const bench_case *c, const timing *t)
{
    bench_put(c->bench, FIELD("model", c->name), FIELD("species", saltus_model_n_species(c->model)),
              FIELD("reactions", saltus_model_n_reactions(c->model)),
              FIELD("until", c->times[BENCH_POINTS - 1]), FIELD("points", BENCH_POINTS),
              FIELD("engine", t->engine), FIELD_IF(c->rng, "rng", c->rng),
              FIELD_IF(t->device, "device", t->device), FIELD("layout", t->layout),
              FIELD_IF(t->gpu.block > 0, "block", t->gpu.block),
              FIELD_IF(t->gpu.streams > 0, "streams", t->gpu.streams));
}

static void print_timing(const bench_case *c, const timing *t)
{
    const double us = us_of(t);
    put_start(c, t);
    bench_put(c->bench, FIELD_IF(t->registers > 0, "registers", t->registers),
              FIELD("trajectories", t->n), FIELD("events", t->events), FIELD("seconds", t->seconds),
              FIELD("seconds_run", t->seconds_run), FIELD("us_per_trajectory", us),
              FIELD("ns_per_event", 1e9 * t->seconds / (double)t->events),
              FIELD("over_baseline", c->us_baseline / us), FIELD("over_core", c->us_core / us),
              FIELD("over_cores", c->us_cores / us));
    bench_end_checked(c->bench, t->is_right);
}

static void keep_least(double *least, double seconds)
{
    *least = *least == 0.0 || seconds < *least ? seconds : *least;
}

/* Run a plan once; keep the time if it is the best, and check the totals against the reference. The
 * first totals of all cores become that. */
static saltus_status run_once(bench_case *c, const saltus_plan *plan, timing *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals totals = {0};
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report = {0};
    run.times = c->times;
    run.n_times = BENCH_POINTS;
    run.n_trajectories = t->n;
    const saltus_sink sink = saltus_totals_sink(&totals, c->wants_samples);
    SALTUS_TRY(saltus_run(plan, &run, &sink, &report, err));
    keep_least(&t->seconds, report.kernel_seconds > 0.0 ? report.kernel_seconds : report.seconds);
    keep_least(&t->seconds_run, report.seconds);
    t->events = report.events;
    t->layout = saltus_plan_layout(plan);
    if (c->reference.n_points == 0) {
        c->reference = totals;
        return SALTUS_OK;
    }
    t->is_right = t->is_right && saltus_totals_agree(&totals, &c->reference);
done:
    saltus_totals_free(&totals);
    return status;
}

static saltus_status make_plan(const bench_case *c, const saltus_backend *device,
                               const char *layout, int threads, bench_gpu how, saltus_plan **plan,
                               saltus_error *err)
{
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.method = "direct";
    wanted.n_threads = threads;
    wanted.rng = c->rng ? c->rng : wanted.rng;
    wanted.layout = layout ? layout : wanted.layout;
    wanted.block = how.block;
    wanted.n_streams = how.streams > 0           ? how.streams
                       : device == c->bench->gpu ? 1
                                                 : wanted.n_streams;
    return saltus_plan_create(c->model, device, &wanted, plan, err);
}

static saltus_status plan_cpu(const bench_case *c, int threads, saltus_plan **plan,
                              saltus_error *err)
{
    return make_plan(c, c->bench->cpu, c->layout, threads, (bench_gpu){0}, plan, err);
}

static void run_baseline(const bench_case *c, const baseline_network *network, timing *t,
                         double *sums)
{
    memset(sums, 0, (size_t)network->n_species * sizeof *sums);
    const double start = saltus_now();
    t->events =
        baseline_tables(network, (int)t->n, c->times[BENCH_POINTS - 1], BENCH_POINTS, 1, sums);
    keep_least(&t->seconds, saltus_now() - start);
    t->seconds_run = t->seconds;
    t->is_right = t->is_right && saltus_totals_agree_with(&c->reference, sums, t->n);
}

/* The three of them take turns. n: trajectories of a GPU. */
static saltus_status time_cpu(bench_case *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *device = saltus_backend_name(c->bench->cpu);
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
    SALTUS_TRY(plan_cpu(c, c->bench->threads, &all, err));
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

saltus_status bench_case_start(bench_case *c, double t_end, int64_t n, saltus_error *err)
{
    n = c->bench->quick ? share_of(n, QUICK_SHARE) : n;
    c->n = c->bench->gpu || c->bench->quick ? n : share_of(n, NO_GPU_SHARE);
    for (int i = 0; i < BENCH_POINTS; ++i) {
        c->times[i] = t_end * i / (BENCH_POINTS - 1);
    }
    return time_cpu(c, n, err);
}

void bench_case_end(bench_case *c)
{
    saltus_totals_free(&c->reference);
    saltus_model_destroy(c->model);
}

saltus_status bench_case_take(bench_case *c, int64_t n, saltus_error *err)
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
saltus_status bench_case_time_gpu(bench_case *c, bench_gpu how, double *us, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error refusal = {0};
    saltus_plan *plan = NULL;
    saltus_kernel_report kernel = {0};
    timing t = {.engine = "gpu", .layout = how.layout, .gpu = how, .n = c->n, .is_right = true};
    *us = 0.0;
    if (!c->bench->gpu ||
        make_plan(c, c->bench->gpu, how.layout, 0, how, &plan, &refusal) != SALTUS_OK ||
        saltus_plan_compile(plan, &kernel, &refusal) != SALTUS_OK) {
        put_start(c, &t);
        bench_end_skipped(c->bench, c->bench->gpu ? refusal.message : c->bench->no_gpu);
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

/* ------------------------------------------------------------------------------------------------
 * Tables of models
 */

/* Time a GPU in all layouts, block sizes and numbers of streams of a row; us[layout] as last timed.
 */
static saltus_status time_layouts(bench_case *c, const bench_table *t, double us[MOST_LAYOUTS],
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char layout[BENCH_WORD], block[BENCH_WORD], streams[BENCH_WORD];
    const char *layouts = bench_cell(t, "layouts");
    for (int l = 0; l < MOST_LAYOUTS && bench_word(&layouts, layout); ++l) {
        for (const char *blocks = bench_cell(t, "blocks"); bench_word(&blocks, block);) {
            for (const char *list = bench_cell(t, "streams"); bench_word(&list, streams);) {
                const bench_gpu how = {layout, atoi(block), atoi(streams)};
                SALTUS_TRY(bench_case_time_gpu(c, how, &us[l], err));
            }
        }
    }
done:
    return status;
}

/* What other layouts take, over what `global` does. */
static void print_copies(bench_case *c, const bench_table *t, const double us[MOST_LAYOUTS])
{
    char name[BENCH_WORD], field[2 * BENCH_WORD];
    const char *layouts = bench_cell(t, "layouts");
    double global = 0.0;
    bool has_begun = false;
    for (int l = 0; l < MOST_LAYOUTS && bench_word(&layouts, name); ++l) {
        global = strcmp(name, "global") == 0 ? us[l] : global;
    }
    layouts = bench_cell(t, "layouts");
    for (int l = 0; global > 0.0 && l < MOST_LAYOUTS && bench_word(&layouts, name); ++l) {
        if (us[l] > 0.0 && strcmp(name, "global") != 0) {
            (void)snprintf(field, sizeof field, "%s_over_global", name);
            bench_put(c->bench, FIELD_IF(!has_begun, "model", c->name),
                      FIELD_IF(!has_begun, "copies", bench_whole(t, "copies")),
                      FIELD(field, us[l] / global));
            has_begun = true;
        }
    }
    if (has_begun) {
        bench_end(c->bench);
    }
}

static saltus_status time_row(bench_case *c, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char n[BENCH_WORD];
    double us[MOST_LAYOUTS] = {0};
    const char *realisations = bench_cell(t, "realisations");
    const double most = c->bench->quick ? bench_number(t, "quick_most") : INFINITY;
    c->wants_samples = realisations[0] != '\0';
    SALTUS_TRY(saltus_example_load(c->bench->examples, c->name, &c->model, err));
    SALTUS_TRY(bench_case_start(c, bench_number(t, "until"), bench_whole(t, "trajectories"), err));
    while (bench_word(&realisations, n) && (!n[0] || strtod(n, NULL) <= most)) {
        if (n[0]) {
            SALTUS_TRY(bench_case_take(c, strtoll(n, NULL, 10), err));
        }
        if (!c->layout) { /* else it is about the CPU */
            SALTUS_TRY(time_layouts(c, t, us, err));
        }
    }
    if (bench_number(t, "copies") > 0.0) {
        print_copies(c, t, us);
    }
done:
    return status;
}

saltus_status bench_time_rows(bench *b, const char *name, const char *rng, const char *cpu_layout,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_table t;
    SALTUS_TRY(bench_table_open(name, &t, err));
    while (bench_next(&t)) {
        bench_case c = {
            .bench = b, .name = bench_cell(&t, "model"), .rng = rng, .layout = cpu_layout};
        status = time_row(&c, &t, err);
        bench_case_end(&c);
        SALTUS_TRY(status);
    }
done:
    bench_table_close(&t);
    return status;
}

#define TIME_ROWS(which)                                     \
    saltus_status bench_##which(bench *b, saltus_error *err) \
    {                                                        \
        return bench_time_rows(b, b->name, NULL, NULL, err); \
    }
TIME_ROWS(klingbeil_oregonator)
TIME_ROWS(klingbeil_models)
TIME_ROWS(klingbeil_copies)
TIME_ROWS(sumiyoshi_realisations)
TIME_ROWS(sumiyoshi_overlap)
TIME_ROWS(sumiyoshi_genes)
