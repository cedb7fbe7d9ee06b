/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963: figure 9, the distribution
 * of Schlögl's X over time, and figure 8, from how many runs on a GPU is faster than a CPU. By the
 * exact method. */
#include "bench/bench.h"

#include "core/status.h"
#include "bench/measure/example.h"

#include <math.h>
#include <string.h>

enum { N_TIMES = 100, FEWEST = 20 };
static const double too_long = 600.0; /* seconds */

/* ---- figure 9 ---- */

enum { RUNS = 1 << 17, OTHERS = 128 }; /* XORWOW, to check with, has this part of the runs */

static void print_map(bench *b, const bench_ensemble *e, double seconds, bool is_right)
{
    char why[60];
    bench_put(b, FIELD("figure", 9), FIELD("model", "schlogl"), FIELD("until", e->until),
              FIELD("samples", N_TIMES), FIELD("trajectories", e->n),
              FIELD("paper_trajectories", RUNS), FIELD("engine", bench_engine(b, e->device)),
              FIELD("method", "direct"));
    if (seconds > 0.0) {
        bench_put(b, FIELD("seconds", seconds));
        bench_end_checked(b, is_right);
    } else {
        (void)snprintf(why, sizeof why, "not done within %g s", too_long);
        bench_end_skipped(b, why);
    }
}

/* On the CPU against trajectories by another generator, one at a time; a GPU against the CPU, where
 * as many must have the same totals. */
static saltus_status time_map(bench *b, const saltus_model *model, double t_end, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals cores = {0}, other = {0};
    double seconds, ignored;
    const int64_t n = b->quick ? FEWEST : (int64_t)ceil(b->part * RUNS);
    bench_ensemble e = {.model = model,
                        .device = b->cpu,
                        .n_threads = b->threads,
                        .until = t_end,
                        .n_times = N_TIMES,
                        .n = n,
                        .limit = too_long};
    bench_ensemble check = e;
    check.rng = "xorwow";
    check.n = n / OTHERS > FEWEST ? n / OTHERS : FEWEST;
    SALTUS_TRY(bench_add_up(&check, &other, &ignored, err));
    SALTUS_TRY(bench_add_up(&e, &cores, &seconds, err));
    print_map(b, &e, seconds, seconds == 0.0 || saltus_totals_near(&other, &cores, 0.0, 0.0));
    if (b->gpu) {
        saltus_totals *reference = seconds > 0.0 ? &cores : &other;
        saltus_totals gpu = {0};
        e.device = b->gpu;
        SALTUS_TRY(bench_add_up(&e, &gpu, &seconds, err));
        print_map(b, &e, seconds, seconds == 0.0 || saltus_totals_agree(&gpu, reference));
        saltus_totals_free(&gpu);
    }
done:
    saltus_totals_free(&cores);
    saltus_totals_free(&other);
    return status;
}

saltus_status bench_nobile_heat_map(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    SALTUS_TRY(saltus_example_load(b->examples, "schlogl", &model, err));
    SALTUS_TRY(time_map(b, model, 3.0, err));
    SALTUS_TRY(time_map(b, model, 150.0, err));
done:
    saltus_model_destroy(model);
    return status;
}

/* ---- figure 8 ---- */

enum { MOST_RUNS = 1 << 16, QUICK_MOST = 16 };

/* The usual one in lanes, the paper's one trajectory at a time. */
static const char *const generators[] = {"philox", "xorwow", "mrg32k3a"};

/* Twice as many runs until the GPU is faster; both have the same totals. */
static saltus_status find_break_even(bench *b, bench_ensemble *e, int64_t *n, double *core,
                                     double *gpu, bool *is_right, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals of_core = {0}, of_gpu = {0};
    const int64_t most = b->quick ? QUICK_MOST : MOST_RUNS;
    e->n = 1;
    e->device = b->gpu;
    SALTUS_TRY(bench_add_up(e, &of_gpu, gpu, err)); /* once in vain: the device starts */
    for (*core = 0.0, *gpu = 1.0; *core < *gpu && e->n <= most; e->n *= 2) {
        saltus_totals_free(&of_core);
        saltus_totals_free(&of_gpu);
        e->device = b->gpu;
        SALTUS_TRY(bench_add_up(e, &of_gpu, gpu, err));
        e->device = b->cpu;
        SALTUS_TRY(bench_add_up(e, &of_core, core, err));
        *is_right =
            *is_right && *core > 0.0 && *gpu > 0.0 && saltus_totals_agree(&of_gpu, &of_core);
        *n = e->n;
    }
done:
    saltus_totals_free(&of_core);
    saltus_totals_free(&of_gpu);
    return status;
}

static saltus_status time_break_even(bench *b, const bench_table *t, const char *rng,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    double core = 0.0, gpu = 0.0;
    int64_t n = 0;
    bool is_right = true;
    bench_ensemble e = {.device = b->cpu,
                        .rng = rng,
                        .n_threads = 1,
                        .until = bench_sized(b, t, "until"),
                        .n_times = N_TIMES,
                        .n = 1,
                        .limit = too_long};
    SALTUS_TRY(saltus_example_load(b->examples, bench_cell(t, "model"), &model, err));
    e.model = model;
    bench_put(b, FIELD("figure", 8), FIELD("model", bench_cell(t, "model")),
              FIELD("until", e.until), FIELD("samples", N_TIMES), FIELD("rng", rng));
    if (!b->gpu) {
        bench_end_skipped(b, b->no_gpu);
        goto done;
    }
    SALTUS_TRY(find_break_even(b, &e, &n, &core, &gpu, &is_right, err));
    bench_put(b, FIELD(gpu < core ? "break_even" : "core_is_faster_up_to", n),
              FIELD("core_seconds", core), FIELD("gpu_seconds", gpu));
    bench_end_checked(b, is_right);
done:
    saltus_model_destroy(model);
    return status;
}

static saltus_status time_generators(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t g = 0; g < sizeof generators / sizeof *generators; ++g) {
        SALTUS_TRY(time_break_even(b, t, generators[g], err));
    }
done:
    return status;
}

saltus_status bench_nobile_break_even(bench *b, saltus_error *err)
{
    return bench_each_row(b, "nobile-table1", time_generators, err);
}
