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

static void print_map(saltus_bench *bench, const saltus_bench_ensemble *e, double seconds,
                      bool is_right)
{
    printf("{\"bench\": \"%s\", \"figure\": 9, \"model\": \"schlogl\", \"until\": %g, \"samples\": "
           "%d, \"trajectories\": %lld, \"paper_trajectories\": %d, \"engine\": \"%s\", "
           "\"method\": \"direct\"",
           bench->name, e->until, N_TIMES, (long long)e->n, RUNS,
           e->device == bench->gpu ? "gpu" : "cores");
    if (seconds > 0.0) {
        printf(", \"seconds\": %.4g, \"check\": \"%s\"}\n", seconds, is_right ? "ok" : "failed");
    } else {
        printf(", \"skipped\": \"not done within %g s\"}\n", too_long);
    }
    (void)fflush(stdout);
    bench->has_failed |= !is_right;
}

/* On the CPU against trajectories by another generator, one at a time; a GPU against the CPU, where
 * as many must have the same totals. */
static saltus_status time_map(saltus_bench *bench, const saltus_model *model, double t_end,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals cores = {0}, other = {0};
    double seconds, ignored;
    const int64_t n = bench->quick ? FEWEST : (int64_t)ceil(bench->part * RUNS);
    saltus_bench_ensemble e = {.model = model,
                               .device = bench->cpu,
                               .n_threads = bench->threads,
                               .until = t_end,
                               .n_times = N_TIMES,
                               .n = n,
                               .limit = too_long};
    saltus_bench_ensemble check = e;
    check.rng = "xorwow";
    check.n = n / OTHERS > FEWEST ? n / OTHERS : FEWEST;
    SALTUS_TRY(saltus_bench_run(&check, &other, &ignored, err));
    SALTUS_TRY(saltus_bench_run(&e, &cores, &seconds, err));
    print_map(bench, &e, seconds, seconds == 0.0 || saltus_totals_near(&other, &cores, 0.0, 0.0));
    if (bench->gpu) {
        saltus_totals *reference = seconds > 0.0 ? &cores : &other;
        saltus_totals gpu = {0};
        e.device = bench->gpu;
        SALTUS_TRY(saltus_bench_run(&e, &gpu, &seconds, err));
        print_map(bench, &e, seconds, seconds == 0.0 || saltus_totals_agree(&gpu, reference));
        saltus_totals_free(&gpu);
    }
done:
    saltus_totals_free(&cores);
    saltus_totals_free(&other);
    return status;
}

saltus_status saltus_bench_nobile_heat_map(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    SALTUS_TRY(saltus_example_load(bench->examples, "schlogl", &model, err));
    SALTUS_TRY(time_map(bench, model, 3.0, err));
    SALTUS_TRY(time_map(bench, model, 150.0, err));
done:
    saltus_model_destroy(model);
    return status;
}

/* ---- figure 8 ---- */

enum { MOST_RUNS = 1 << 16, QUICK_MOST = 16 };

static const struct {
    const char *file;
    double t_end, quick_end;
} models[] = {{"michaelis-menten", 5.0, 5.0},
              {"gene-network", 50.0, 50.0},
              {"schlogl", 10.0, 1.0},
              {"ras-camp-pka", 150.0, 0.2}};
enum { N_MODELS = sizeof models / sizeof *models };
/* The usual one in lanes, the paper's one trajectory at a time. */
static const char *const generators[] = {"philox", "xorwow", "mrg32k3a"};

/* Twice as many runs until the GPU is faster; both have the same totals. */
static saltus_status find_break_even(saltus_bench *bench, saltus_bench_ensemble *e, int64_t *n,
                                     double *core, double *gpu, bool *is_right, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals a = {0}, b = {0};
    const int64_t most = bench->quick ? QUICK_MOST : MOST_RUNS;
    e->n = 1;
    e->device = bench->gpu;
    SALTUS_TRY(saltus_bench_run(e, &b, gpu, err)); /* once in vain: the device starts */
    for (*core = 0.0, *gpu = 1.0; *core < *gpu && e->n <= most; e->n *= 2) {
        saltus_totals_free(&a);
        saltus_totals_free(&b);
        e->device = bench->gpu;
        SALTUS_TRY(saltus_bench_run(e, &b, gpu, err));
        e->device = bench->cpu;
        SALTUS_TRY(saltus_bench_run(e, &a, core, err));
        *is_right = *is_right && *core > 0.0 && *gpu > 0.0 && saltus_totals_agree(&b, &a);
        *n = e->n;
    }
done:
    saltus_totals_free(&a);
    saltus_totals_free(&b);
    return status;
}

static saltus_status time_break_even(saltus_bench *bench, const char *file, double t_end,
                                     const char *rng, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    double core = 0.0, gpu = 0.0;
    int64_t n = 0;
    bool is_right = true;
    SALTUS_TRY(saltus_example_load(bench->examples, file, &model, err));
    printf("{\"bench\": \"%s\", \"figure\": 8, \"model\": \"%s\", \"until\": %g, \"samples\": %d, "
           "\"rng\": \"%s\"",
           bench->name, file, t_end, N_TIMES, rng);
    if (!bench->gpu) {
        printf(", \"skipped\": ");
        saltus_cli_print_text(bench->no_gpu);
        printf("}\n");
        goto done;
    }
    saltus_bench_ensemble e = {.model = model,
                               .device = bench->cpu,
                               .rng = rng,
                               .n_threads = 1,
                               .until = t_end,
                               .n_times = N_TIMES,
                               .n = 1,
                               .limit = too_long};
    SALTUS_TRY(find_break_even(bench, &e, &n, &core, &gpu, &is_right, err));
    printf(", \"%s\": %lld, \"core_seconds\": %.4g, \"gpu_seconds\": %.4g, \"check\": \"%s\"}\n",
           gpu < core ? "break_even" : "core_is_faster_up_to", (long long)n, core, gpu,
           is_right ? "ok" : "failed");
    bench->has_failed |= !is_right;
done:
    (void)fflush(stdout);
    saltus_model_destroy(model);
    return status;
}

saltus_status saltus_bench_nobile_break_even(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int m = 0; m < N_MODELS; ++m) {
        for (size_t g = 0; g < sizeof generators / sizeof *generators; ++g) {
            SALTUS_TRY(time_break_even(bench, models[m].file,
                                       bench->quick ? models[m].quick_end : models[m].t_end,
                                       generators[g], err));
        }
    }
done:
    return status;
}
