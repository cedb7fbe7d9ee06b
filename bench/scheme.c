/* Saltus on a GPU beside the scheme of simulators that generate a kernel for a model (scheme.h):
 * the kernels' times of the same trajectories at the same sample times, all species recorded, means
 * checked against each other, one JSON line per model.
 * Usage: bench_scheme [--quick] [--examples FOLDER] [MODEL …]; without a model all of them.
 * --quick: 1,024 trajectories, each time once, which shows that all is well and no more. */
#include "scheme.h"

#include "backend/cuda/device/driver.h"
#include "backend/cuda/device/kernels.h"
#include "engine/generator.h"
#include "core/memory.h"
#include "core/status.h"
#include "bench/measure/example.h"
#include "bench/measure/totals.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

enum { N_TURNS = 3, N_POINTS = 51, RUNS = 131072, QUICK_RUNS = 1024, BLOCK = 32 };

extern const char scheme_text[]; /* scheme.h */

typedef struct bench {
    const saltus_driver *cu;
    cu_device device;
    cu_context context;
    saltus_generator generator;
    saltus_backend *gpu;
    char gpu_name[100];
    const char *examples;
    char **models; /* names that are wanted, up to a NULL; none: all */
    int64_t n;
    int turns;
    bool has_failed; /* a check */
} bench;

/* One side. */
typedef struct timing {
    double ms; /* best */
    int64_t events;
    int registers;
} timing;

static saltus_status check(const bench *b, cu_result result, saltus_error *err)
{
    return saltus_cuda_check(b->cu, result, "the scheme", err);
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
                        model->network->reaction_names[r]);
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
    (void)fputs(scheme_text, out);
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

static saltus_status load(const bench *b, const saltus_model *model, cu_module *module,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL, *image = NULL;
    int major, minor;
    SALTUS_TRY(check(b, b->cu->device_attribute(&major, CU_ATTRIBUTE_MAJOR, b->device), err));
    SALTUS_TRY(check(b, b->cu->device_attribute(&minor, CU_ATTRIBUTE_MINOR, b->device), err));
    SALTUS_TRY(write_text(model, &text, err));
    SALTUS_TRY(compile(text, 10 * major + minor, &image, err));
    SALTUS_TRY(check(b, b->cu->module_load(module, image), err));
done:
    saltus_free(image);
    free(text);
    return status;
}

/* ---- its run ---- */

/* Take memory on the device; with `from`, fill it. The address is kept in *address as a pointer of
 * the device's. */
static saltus_status take(const bench *b, size_t bytes, const void *from, void *address,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cu_pointer taken = 0;
    SALTUS_TRY(check(b, b->cu->memory_alloc(&taken, bytes), err));
    memcpy(address, &taken, sizeof taken);
    if (from) {
        SALTUS_TRY(check(b, b->cu->upload(taken, from, bytes, NULL), err));
    }
done:
    return status;
}

static void give(const bench *b, const void *address)
{
    if (address) {
        (void)b->cu->memory_free((cu_pointer)(uintptr_t)address);
    }
}

static saltus_status launch(const bench *b, cu_function kernel, scheme_launch *a, timing *best,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = b->cu;
    const unsigned blocks = (unsigned)((b->n + BLOCK - 1) / BLOCK);
    void *arguments[] = {a};
    cu_event start = NULL, end = NULL;
    float ms = 0.0F;
    SALTUS_TRY(check(b, cu->event_create(&start, 0), err));
    SALTUS_TRY(check(b, cu->event_create(&end, 0), err));
    SALTUS_TRY(check(b, cu->event_record(start, NULL), err));
    SALTUS_TRY(
        check(b, cu->launch(kernel, blocks, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL), err));
    SALTUS_TRY(check(b, cu->event_record(end, NULL), err));
    SALTUS_TRY(check(b, cu->event_wait(end), err));
    SALTUS_TRY(check(b, cu->event_elapsed(&ms, start, end), err));
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
static saltus_status fetch(const bench *b, const scheme_launch *a, int n_species, double *sums,
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
        check(b, b->cu->download(counts, (cu_pointer)(uintptr_t)last, width * sizeof *counts, NULL),
              err));
    SALTUS_TRY(check(
        b, b->cu->download(events, (cu_pointer)(uintptr_t)a->events, n * sizeof *events, NULL),
        err));
    SALTUS_TRY(check(b, b->cu->stream_wait(NULL), err));
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

static saltus_status run_scheme(const bench *b, const saltus_model *model, const double *times,
                                double *sums, timing *best, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = b->cu;
    const size_t n = (size_t)b->n, n_species = (size_t)model->network->tables.n_species;
    const size_t threads = (n + BLOCK - 1) / BLOCK * BLOCK;
    scheme_launch a = {.n = b->n, .seed = 1, .n_times = N_POINTS};
    cu_module module = NULL;
    cu_function kernel;
    SALTUS_TRY(check(b, cu->context_use(b->context), err));
    SALTUS_TRY(load(b, model, &module, err));
    SALTUS_TRY(check(b, cu->module_function(&kernel, module, "scheme"), err));
    SALTUS_TRY(
        check(b, cu->function_attribute(&best->registers, CU_FUNCTION_REGISTERS, kernel), err));
    SALTUS_TRY(take(b, b->generator.n_jumps * sizeof *a.jumps, b->generator.jumps, &a.jumps, err));
    SALTUS_TRY(take(b, N_POINTS * sizeof *times, times, &a.times, err));
    SALTUS_TRY(take(b, threads * SALTUS_MRG32K3A_WORDS * sizeof *a.states, NULL, &a.states, err));
    SALTUS_TRY(take(b, N_POINTS * n_species * n * sizeof *a.samples, NULL, &a.samples, err));
    SALTUS_TRY(take(b, n * sizeof *a.events, NULL, &a.events, err));
    SALTUS_TRY(check(b, cu->stream_wait(NULL), err));
    for (int turn = 0; turn < b->turns; ++turn) {
        SALTUS_TRY(launch(b, kernel, &a, best, err));
    }
    SALTUS_TRY(fetch(b, &a, (int)n_species, sums, best, err));
done:
    give(b, a.jumps);
    give(b, a.times);
    give(b, a.states);
    give(b, a.samples);
    give(b, a.events);
    if (module) {
        (void)cu->module_unload(module);
    }
    return status;
}

/* ---- ours ---- */

static saltus_status run_ours(const bench *b, const saltus_plan *plan, const double *times,
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
    run.n_trajectories = b->n;
    for (int turn = 0; turn < b->turns; ++turn) {
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

static saltus_status compare(bench *b, const char *file, double t_end, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    saltus_plan *plan = NULL;
    saltus_totals totals = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    timing scheme = {0}, ours = {0};
    double times[N_POINTS], *sums = NULL;
    for (int i = 0; i < N_POINTS; ++i) {
        times[i] = t_end * i / (N_POINTS - 1);
    }
    wanted.method = "direct";
    wanted.n_streams = 1;
    SALTUS_TRY(saltus_example_load(b->examples, file, &model, err));
    sums = saltus_calloc((size_t)model->network->tables.n_species, sizeof *sums);
    SALTUS_NEED(sums);
    SALTUS_TRY(saltus_plan_create(model, b->gpu, &wanted, &plan, err));
    SALTUS_TRY(run_scheme(b, model, times, sums, &scheme, err));
    SALTUS_TRY(run_ours(b, plan, times, &totals, &ours, err));
    const bool is_right = saltus_totals_agree_with(&totals, sums, b->n);
    printf("{\"case\": \"scheme\", \"gpu\": \"%s\", \"model\": \"%s\", \"until\": %g, \"points\": "
           "%d, \"trajectories\": %lld, \"events\": %lld, \"layout\": \"%s\", \"registers\": %d, "
           "\"ms\": %.5g, \"scheme_registers\": %d, \"scheme_ms\": %.5g, \"over_scheme\": %.4g, "
           "\"check\": \"%s\"}\n",
           b->gpu_name, file, t_end, N_POINTS, (long long)b->n, (long long)ours.events,
           saltus_plan_layout(plan), ours.registers, ours.ms, scheme.registers, scheme.ms,
           scheme.ms / ours.ms, is_right ? "ok" : "failed");
    (void)fflush(stdout);
    b->has_failed |= !is_right;
done:
    saltus_totals_free(&totals);
    saltus_plan_destroy(plan);
    saltus_free(sums);
    saltus_model_destroy(model);
    return status;
}

static bool is_wanted(const bench *b, const char *model)
{
    char **name = b->models;
    while (*name && strcmp(*name, model) != 0) {
        ++name;
    }
    return !b->models[0] || *name;
}

static saltus_status compare_all(bench *b, saltus_error *err)
{
    static const struct {
        const char *file;
        double t_end;
    } models[] = {{"dimer-decay", 30.0}, {"dimer-decay-x4", 30.0}, {"dimer-decay-x12", 30.0},
                  {"schlogl", 10.0},     {"oregonator", 0.1},      {"vilar", 10.0},
                  {"lac-operon", 100.0}, {"ras-camp-pka", 2.0}};
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check(b, b->cu->device_get(&b->device, 0), err));
    SALTUS_TRY(check(b, b->cu->device_name(b->gpu_name, sizeof b->gpu_name, b->device), err));
    SALTUS_TRY(check(b, b->cu->context_retain(&b->context, b->device), err));
    SALTUS_TRY(saltus_generator_create("mrg32k3a", &b->generator, err));
    SALTUS_TRY(saltus_backend_open("cuda:0", &b->gpu, err));
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        if (is_wanted(b, models[i].file)) {
            SALTUS_TRY(compare(b, models[i].file, models[i].t_end, err));
        }
    }
done:
    saltus_backend_close(b->gpu);
    saltus_generator_free(&b->generator);
    if (b->context) {
        (void)b->cu->context_release(b->device);
    }
    return status;
}

int main(int argc, char **argv)
{
    saltus_error err = {0};
    (void)argc;
    bench b = {.examples = "examples", .n = RUNS, .turns = N_TURNS};
    for (b.models = argv + 1; *b.models && strncmp(*b.models, "--", 2) == 0; ++b.models) {
        if (strcmp(*b.models, "--quick") == 0) {
            b.n = QUICK_RUNS;
            b.turns = 1;
        } else if (strcmp(*b.models, "--examples") == 0 && b.models[1]) {
            b.examples = *++b.models;
        } else {
            fprintf(stderr, "usage: bench_scheme [--quick] [--examples FOLDER] [MODEL …]\n");
            return 2;
        }
    }
    if (saltus_cuda_driver(&b.cu, &err) != SALTUS_OK) {
        printf("{\"case\": \"scheme\", \"skipped\": \"%s\"}\n", err.message);
        return 0;
    }
    if (compare_all(&b, &err) != SALTUS_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
        return 1;
    }
    return b.has_failed;
}
