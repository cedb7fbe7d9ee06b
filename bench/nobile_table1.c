/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963 (cuTauLeaping): ensembles of
 * 2^6 to 2^18 simulations. The method is what auto chooses: leaps only where they are
 * faster. The paper's times are of a GTX 590, COPASI's of one core of an i7, in seconds. */
#include "bench/bench.h"

#include "core/status.h"
#include "bench/measure/example.h"

#include <math.h>
#include <string.h>

enum { N_SIZES = 7, N_TIMES = 100, LARGEST = 18, REFERENCE = 4096, QUICK_LARGEST = 8 };
static const double too_long = 60.0; /* seconds: larger ensembles are left out */

static const struct model {
    const char *file;
    double t_end, quick_end;
    int64_t reference; /* trajectories of the exact method to check against */
    double paper[N_SIZES], copasi;
} models[] = {
    {"michaelis-menten",
     5.0,
     5.0,
     REFERENCE,
     {0.038, 0.046, 0.047, 0.051, 0.073, 0.172, 0.530},
     309.0},
    {"gene-network",
     50.0,
     50.0,
     REFERENCE,
     {0.120, 0.121, 0.124, 0.128, 0.175, 0.591, 2.18},
     2095.0},
    {"schlogl", 10.0, 1.0, REFERENCE, {0.723, 0.875, 0.979, 1.156, 1.578, 3.534, 10.163}, 906.0},
    {"ras-camp-pka", 150.0, 0.2, 64, {320, 322, 372, 551, 1530, 5482, 21470}, 534932.0},
};
enum { N_MODELS = sizeof models / sizeof *models };

typedef struct ensemble {
    saltus_bench *bench;
    const struct model *m;
    saltus_model *model;
    saltus_method_choice choice;
    saltus_totals reference;
    double until;
} ensemble;

/* Run n trajectories; what is added up is compared with the exact method's. */
static saltus_status run(const ensemble *e, const saltus_backend *device, const char *method,
                         int64_t n, saltus_totals *totals, double *seconds, saltus_error *err)
{
    const saltus_bench_ensemble what = {.model = e->model,
                                        .device = device,
                                        .method = method,
                                        .n_threads = e->bench->threads,
                                        .until = e->until,
                                        .n_times = N_TIMES,
                                        .n = n};
    return saltus_bench_run(&what, totals, seconds, err);
}

static void print_row(const ensemble *e, const saltus_backend *device, int size, double seconds,
                      bool is_right)
{
    const double paper = e->m->paper[size];
    printf("{\"bench\": \"%s\", \"model\": \"%s\", \"until\": %g, \"points\": %d, \"engine\": "
           "\"%s\", \"method\": \"%s\", \"trajectories\": %lld",
           e->bench->name, e->m->file, e->until, N_TIMES, device == e->bench->gpu ? "gpu" : "cores",
           e->choice.method, 1LL << (LARGEST - 2 * (N_SIZES - 1 - size)));
    if (seconds > 0.0) {
        printf(", \"seconds\": %.4g, \"check\": \"%s\"", seconds, is_right ? "ok" : "failed");
    } else {
        printf(", \"skipped\": \"it would take about %.3g s\"", -seconds);
    }
    if (e->bench->quick) {
        printf("}\n");
    } else {
        printf(", \"paper_seconds\": %g", paper);
        if (size == N_SIZES - 1) {
            printf(", \"copasi_seconds\": %g", e->m->copasi);
        }
        printf(seconds > 0.0 ? ", \"over_paper\": %.4g}\n" : "}\n", paper / seconds);
    }
    (void)fflush(stdout);
    e->bench->has_failed |= !is_right;
}

static saltus_status time_device(ensemble *e, const saltus_backend *device, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double last = 0.0;
    for (int size = 0; size < N_SIZES; ++size) {
        const int log2 = LARGEST - 2 * (N_SIZES - 1 - size);
        saltus_totals totals = {0};
        double seconds = 0.0;
        if (e->bench->quick && log2 > QUICK_LARGEST) {
            break;
        }
        if (4.0 * last > too_long) {
            last *= 4.0;
            print_row(e, device, size, -last, true);
            continue;
        }
        SALTUS_TRY(run(e, device, e->choice.method, INT64_C(1) << log2, &totals, &seconds, err));
        const bool is_right = saltus_totals_near(&totals, &e->reference, 0.01, 0.0);
        saltus_totals_free(&totals);
        print_row(e, device, size, seconds, is_right);
        last = seconds;
    }
done:
    return status;
}

static saltus_status time_model(saltus_bench *bench, const struct model *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    ensemble e = {.bench = bench, .m = m, .until = bench->quick ? m->quick_end : m->t_end};
    double seconds;
    SALTUS_TRY(saltus_example_load(bench->examples, m->file, &e.model, err));
    e.choice = saltus_method_choose(e.model, NULL);
    SALTUS_TRY(run(&e, bench->cpu, "direct", bench->quick ? 256 : m->reference, &e.reference,
                   &seconds, err));
    SALTUS_TRY(time_device(&e, bench->cpu, err));
    if (bench->gpu) {
        SALTUS_TRY(time_device(&e, bench->gpu, err));
    }
done:
    saltus_totals_free(&e.reference);
    saltus_model_destroy(e.model);
    return status;
}

saltus_status saltus_bench_nobile_table1(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int m = 0; m < N_MODELS; ++m) {
        SALTUS_TRY(time_model(bench, &models[m], err));
    }
done:
    return status;
}
