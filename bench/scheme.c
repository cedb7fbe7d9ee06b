/* Saltus on a GPU beside the scheme of simulators that generate a kernel for a model (scheme.h):
 * the kernels' times of the same trajectories at the same sample times, all species recorded, means
 * checked against each other. --quick: 1,024 trajectories, each time once, which shows that all is
 * well and no more. */
#include "bench/scheme.h"

#include "backend/cuda/device/driver.h"
#include "backend/cuda/device/kernels.h"
#include "engine/generator.h"
#include "core/memory.h"
#include "core/status.h"
#include "bench/bench.h"
#include "bench/measure/example.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

enum { N_TURNS = 3, N_POINTS = 51, RUNS = 131072, QUICK_RUNS = 1024, BLOCK = 32 };

/* The GPU, as both sides use it. */
typedef struct session {
    const saltus_driver *cu;
    cu_device device;
    cu_context context;
    saltus_generator generator;
    saltus_backend *gpu;
    int64_t n;
    int turns;
} session;

/* One side. */
typedef struct timing {
    double ms; /* best */
    int64_t events;
    int registers;
} timing;

static saltus_status check(const session *g, cu_result result, saltus_error *err)
{
    return saltus_cuda_check(g->cu, result, "the scheme", err);
}

/* ---- the scheme's kernel ---- */

static saltus_status put_propensities(const saltus_model *model, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    fprintf(out, "#define SCHEME_PROPENSITIES(y, h)");
    for (int r = 0; r < t->n_reactions; ++r) {
        if (t->law_program[r] >= 0) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "reaction '%s': the scheme has mass action alone",
                        saltus_network_reaction(model->network, r));
        }
        fprintf(out, " h[%d] = %a", r, t->rate[r]);
        for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
            fprintf(out, " * (y[%d] - %d)", t->factor_species[f], (int)t->factor_offset[f]);
        }
        fprintf(out, ";");
    }
    fprintf(out, "\n");
done:
    return status;
}

static void put_tables(const saltus_tables *t, FILE *out)
{
    fprintf(out,
            "#define SALTUS_LARGEST_BLOCK %d\n#define SCHEME_SPECIES %d\n"
            "#define SCHEME_REACTIONS %d\n#define SCHEME_START {",
            BLOCK, t->n_species, t->n_reactions);
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(out, "%lld,", (long long)t->initial_counts[s]);
    }
    fprintf(out, "}\n#define SCHEME_CHANGES {");
    for (int r = 0; r < t->n_reactions; ++r) {
        for (int s = 0; s < t->n_species; ++s) {
            int change = 0;
            for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
                change += t->change_species[c] == s ? (int)t->change_amount[c] : 0;
            }
            fprintf(out, "%d,", change);
        }
    }
    fprintf(out, "}\n");
}

/* The model's part and scheme.h behind it; to be freed. */
static saltus_status write_text(const saltus_model *model, char **text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    SALTUS_NEED(out);
    put_tables(&model->network->tables, out);
    SALTUS_TRY(put_propensities(model, out, err));
    (void)fputs(bench_file("scheme.h"), out);
done:
    if (out && fclose(out) != 0 && status == SALTUS_OK) {
        status = saltus_error_set(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    return status;
}

/* Products may be contracted, unlike in kernels of ours. The image is to be freed. */
static saltus_status compile(const char *text, int architecture, char **image, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nvrtc *rtc = NULL;
    nvrtc_program program = NULL;
    char option[40], log[300] = "";
    size_t size = 0;
    (void)snprintf(option, sizeof option, "--gpu-architecture=sm_%d", architecture);
    const char *const options[] = {option, "--std=c++17"};
    SALTUS_TRY(saltus_cuda_nvrtc(&rtc, err));
    if (rtc->create(&program, text, "scheme.cu", saltus_n_kernel_texts, saltus_kernel_texts,
                    saltus_kernel_names) != 0) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "NVRTC takes no program");
    }
    if (rtc->compile(program, 2, options) != 0 || rtc->image_size(program, &size) != 0) {
        if (rtc->log_size(program, &size) == 0 && size <= sizeof log) {
            (void)rtc->log(program, log);
        }
        SALTUS_FAIL(SALTUS_E_INTERNAL, "the scheme does not compile (%s) %s", option, log);
    }
    *image = saltus_calloc(size, 1);
    SALTUS_NEED(*image);
    if (rtc->image(program, *image) != 0) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "NVRTC gives no machine code");
    }
done:
    if (program) {
        (void)rtc->destroy(&program);
    }
    return status;
}

static saltus_status load(const session *g, const saltus_model *model, cu_module *module,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL, *image = NULL;
    int major, minor;
    SALTUS_TRY(check(g, g->cu->device_attribute(&major, CU_ATTRIBUTE_MAJOR, g->device), err));
    SALTUS_TRY(check(g, g->cu->device_attribute(&minor, CU_ATTRIBUTE_MINOR, g->device), err));
    SALTUS_TRY(write_text(model, &text, err));
    SALTUS_TRY(compile(text, 10 * major + minor, &image, err));
    SALTUS_TRY(check(g, g->cu->module_load(module, image), err));
done:
    saltus_free(image);
    free(text);
    return status;
}

/* ---- its run ---- */

/* Take memory on the device; with `from`, fill it. The address is kept in *address as a pointer of
 * the device's. */
static saltus_status take(const session *g, size_t bytes, const void *from, void *address,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cu_pointer taken = 0;
    SALTUS_TRY(check(g, g->cu->memory_alloc(&taken, bytes), err));
    memcpy(address, &taken, sizeof taken);
    if (from) {
        SALTUS_TRY(check(g, g->cu->upload(taken, from, bytes, NULL), err));
    }
done:
    return status;
}

static void give(const session *g, const void *address)
{
    if (address) {
        (void)g->cu->memory_free((cu_pointer)(uintptr_t)address);
    }
}

static saltus_status launch(const session *g, cu_function kernel, scheme_launch *a, timing *best,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = g->cu;
    const unsigned blocks = (unsigned)((g->n + BLOCK - 1) / BLOCK);
    void *arguments[] = {a};
    cu_event start = NULL, end = NULL;
    float ms = 0.0F;
    SALTUS_TRY(check(g, cu->event_create(&start, 0), err));
    SALTUS_TRY(check(g, cu->event_create(&end, 0), err));
    SALTUS_TRY(check(g, cu->event_record(start, NULL), err));
    SALTUS_TRY(
        check(g, cu->launch(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL), err));
    SALTUS_TRY(check(g, cu->event_record(end, NULL), err));
    SALTUS_TRY(check(g, cu->event_wait(end), err));
    SALTUS_TRY(check(g, cu->event_elapsed(&ms, start, end), err));
    best->ms = best->ms == 0.0 || ms < best->ms ? ms : best->ms;
done:
    if (start) {
        (void)cu->event_destroy(start);
    }
    if (end) {
        (void)cu->event_destroy(end);
    }
    return status;
}

/* Counts at the last time, summed over trajectories, and events. */
static saltus_status fetch(const session *g, const scheme_launch *a, int n_species, double *sums,
                           timing *best, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)a->n, width = n * (size_t)n_species;
    const int32_t *last = a->samples + width * (size_t)(a->n_times - 1);
    int32_t *counts = saltus_calloc(width, sizeof *counts);
    uint64_t *events = saltus_calloc(n, sizeof *events);
    SALTUS_NEED(counts);
    SALTUS_NEED(events);
    SALTUS_TRY(
        check(g, g->cu->download(counts, (cu_pointer)(uintptr_t)last, width * sizeof *counts, NULL),
              err));
    SALTUS_TRY(check(
        g, g->cu->download(events, (cu_pointer)(uintptr_t)a->events, n * sizeof *events, NULL),
        err));
    SALTUS_TRY(check(g, g->cu->stream_wait(NULL), err));
    best->events = 0;
    for (size_t i = 0; i < n; ++i) {
        best->events += (int64_t)events[i];
    }
    for (int s = 0; s < n_species; ++s) {
        sums[s] = 0.0;
        for (size_t i = 0; i < n; ++i) {
            sums[s] += counts[(size_t)s * n + i];
        }
    }
done:
    saltus_free(counts);
    saltus_free(events);
    return status;
}

static saltus_status run_scheme(const session *g, const saltus_model *model, const double *times,
                                double *sums, timing *best, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = g->cu;
    const size_t n = (size_t)g->n, n_species = (size_t)model->network->tables.n_species;
    const size_t threads = (n + BLOCK - 1) / BLOCK * BLOCK;
    scheme_launch a = {.n = g->n, .seed = 1, .n_times = N_POINTS};
    cu_module module = NULL;
    cu_function kernel;
    SALTUS_TRY(check(g, cu->context_use(g->context), err));
    SALTUS_TRY(load(g, model, &module, err));
    SALTUS_TRY(check(g, cu->module_function(&kernel, module, "scheme"), err));
    SALTUS_TRY(
        check(g, cu->function_attribute(&best->registers, CU_FUNCTION_REGISTERS, kernel), err));
    SALTUS_TRY(take(g, g->generator.n_jumps * sizeof *a.jumps, g->generator.jumps, &a.jumps, err));
    SALTUS_TRY(take(g, N_POINTS * sizeof *times, times, &a.times, err));
    SALTUS_TRY(take(g, threads * SALTUS_MRG32K3A_WORDS * sizeof *a.states, NULL, &a.states, err));
    SALTUS_TRY(take(g, N_POINTS * n_species * n * sizeof *a.samples, NULL, &a.samples, err));
    SALTUS_TRY(take(g, n * sizeof *a.events, NULL, &a.events, err));
    SALTUS_TRY(check(g, cu->stream_wait(NULL), err));
    for (int turn = 0; turn < g->turns; ++turn) {
        SALTUS_TRY(launch(g, kernel, &a, best, err));
    }
    SALTUS_TRY(fetch(g, &a, (int)n_species, sums, best, err));
done:
    give(g, a.jumps);
    give(g, a.times);
    give(g, a.states);
    give(g, a.samples);
    give(g, a.events);
    if (module) {
        (void)cu->module_unload(module);
    }
    return status;
}

/* ---- ours ---- */

static saltus_status run_ours(const session *g, const saltus_plan *plan, const double *times,
                              saltus_totals *totals, timing *best, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report = {0};
    saltus_kernel_report kernel = {0};
    SALTUS_TRY(saltus_plan_compile(plan, &kernel, err));
    best->registers = kernel.registers;
    run.times = times;
    run.n_times = N_POINTS;
    run.n_trajectories = g->n;
    for (int turn = 0; turn < g->turns; ++turn) {
        saltus_totals_free(totals);
        const saltus_sink sink = saltus_totals_sink(totals, false);
        SALTUS_TRY(saltus_run(plan, &run, &sink, &report, err));
        const double ms = 1e3 * report.kernel_seconds;
        best->ms = best->ms == 0.0 || ms < best->ms ? ms : best->ms;
    }
    best->events = report.events;
done:
    return status;
}

static saltus_status compare(bench *b, const session *g, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    saltus_plan *plan = NULL;
    saltus_totals totals = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    timing scheme = {0}, ours = {0};
    const char *file = bench_cell(t, "model");
    const double t_end = bench_number(t, "until");
    double times[N_POINTS], *sums = NULL;
    for (int i = 0; i < N_POINTS; ++i) {
        times[i] = t_end * i / (N_POINTS - 1);
    }
    wanted.method = "direct";
    wanted.n_streams = 1;
    SALTUS_TRY(saltus_example_load(b->examples, file, &model, err));
    sums = saltus_calloc((size_t)model->network->tables.n_species, sizeof *sums);
    SALTUS_NEED(sums);
    SALTUS_TRY(saltus_plan_create(model, g->gpu, &wanted, &plan, err));
    SALTUS_TRY(run_scheme(g, model, times, sums, &scheme, err));
    SALTUS_TRY(run_ours(g, plan, times, &totals, &ours, err));
    bench_put(b, FIELD("model", file), FIELD("until", t_end), FIELD("points", N_POINTS),
              FIELD("trajectories", g->n), FIELD("events", ours.events),
              FIELD("layout", saltus_plan_layout(plan)), FIELD("registers", ours.registers),
              FIELD("ms", ours.ms), FIELD("scheme_registers", scheme.registers),
              FIELD("scheme_ms", scheme.ms), FIELD("over_scheme", scheme.ms / ours.ms));
    bench_end_checked(b, saltus_totals_agree_with(&totals, sums, g->n));
done:
    saltus_totals_free(&totals);
    saltus_plan_destroy(plan);
    saltus_free(sums);
    saltus_model_destroy(model);
    return status;
}

saltus_status bench_scheme(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    session g = {.n = b->quick ? QUICK_RUNS : RUNS, .turns = b->quick ? 1 : N_TURNS};
    bench_table t = {0};
    SALTUS_TRY(saltus_cuda_driver(&g.cu, err));
    SALTUS_TRY(check(&g, g.cu->device_get(&g.device, 0), err));
    SALTUS_TRY(check(&g, g.cu->context_retain(&g.context, g.device), err));
    SALTUS_TRY(saltus_generator_create("mrg32k3a", &g.generator, err));
    SALTUS_TRY(bench_open_gpus(1, &g.gpu, err));
    SALTUS_TRY(bench_table_open(b->name, &t, err));
    while (bench_next(&t)) {
        if (!b->model || strcmp(b->model, bench_cell(&t, "model")) == 0) {
            SALTUS_TRY(compare(b, &g, &t, err));
        }
    }
done:
    bench_table_close(&t);
    saltus_backend_close(g.gpu);
    saltus_generator_free(&g.generator);
    if (g.context) {
        (void)g.cu->context_release(g.device);
    }
    return status;
}
