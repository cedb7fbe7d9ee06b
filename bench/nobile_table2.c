/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963, table 2: random networks.
 * The method is what auto chooses. The paper's times are of a GTX 590, in seconds. */
#include "bench/bench.h"

#include "core/status.h"
#include "bench/measure/conserved.h"
#include "bench/measure/random_network.h"

#include <math.h>

enum {
    N_NETWORKS = 100,
    RUNS = 1024,
    N_TIMES = 100,
    QUICK_NETWORKS = 2,
    QUICK_RUNS = 16,
    N_CHECKED = 10,    /* first networks of a row that are simulated by the other method as well, */
    CHECK_RUNS = 256,  /* with so many runs, */
    CHECK_FIRST = 4096 /* from this trajectory on */
};
static const double t_end = 150.0;
/* What takes longer is left out, s. */
static const double budget = 120.0, quick_budget = 0.4;

static const struct row {
    saltus_random_kind kind;
    double mean, sd; /* of the paper */
} rows[] = {
    {{33, 35, 1e3, false, 0.0, 1.0}, 1.906, 1.396},
    {{33, 35, 1e4, false, 0.0, 1.0}, 8.149, 7.866},
    {{33, 35, 1e3, true, 1e-6, 10.0}, 1.436, 0.7},
    {{33, 35, 1e4, true, 1e-6, 10.0}, 8.263, 6.053},
    {{33, 35, 1e3, true, 1e-9, 1e4}, 1.247, 0.543},
    {{33, 35, 1e4, true, 1e-9, 1e4}, 18.509, 91.976},
    {{80, 80, 1e3, true, 1e-6, 10.0}, 13.242, 10.623},
    {{80, 80, 1e4, true, 1e-9, 1e4}, 96.133, 302.05},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* The networks of a row on one device. */
typedef struct score {
    int n_done, n_slow, n_failed, n_leaping, n_checked, n_conserved, n_wrong;
    double sum, squares; /* of seconds */
} score;

/* Simulate within the budget; *seconds is 0 when that was too short, and negative when a trajectory
 * left the range of its numbers. */
static saltus_status run(const saltus_bench *bench, const saltus_model *model,
                         const saltus_backend *device, const char *method, int64_t first, int64_t n,
                         saltus_totals *totals, double *seconds, saltus_error *err)
{
    const saltus_bench_ensemble e = {.model = model,
                                     .device = device,
                                     .method = method,
                                     .n_threads = bench->threads,
                                     .until = t_end,
                                     .n_times = N_TIMES,
                                     .first = first,
                                     .n = n,
                                     .limit = bench->quick ? quick_budget : budget};
    const saltus_status status = saltus_bench_run(&e, totals, seconds, err);
    *seconds = status == SALTUS_E_NUMERIC ? -1.0 : *seconds;
    return status == SALTUS_E_NUMERIC ? SALTUS_OK : status;
}

static void count(score *s, double seconds, bool leaps)
{
    s->n_slow += seconds == 0.0;
    s->n_failed += seconds < 0.0;
    if (seconds > 0.0) {
        ++s->n_done;
        s->n_leaping += leaps;
        s->sum += seconds;
        s->squares += seconds * seconds;
    }
}

/* Means of leaps beside those of the exact method, when the other method is done in time too. */
static saltus_status check(const saltus_bench *bench, const saltus_model *model,
                           const saltus_totals *totals, bool leaps, score *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals other = {0};
    double seconds;
    const int64_t n = bench->quick ? QUICK_RUNS : CHECK_RUNS;
    SALTUS_TRY(run(bench, model, bench->cpu, leaps ? "direct" : "tau", CHECK_FIRST, n, &other,
                   &seconds, err));
    if (seconds > 0.0) {
        ++s->n_checked;
        s->n_wrong +=
            !saltus_totals_near(leaps ? totals : &other, leaps ? &other : totals, 0.03, 1.0);
    }
done:
    saltus_totals_free(&other);
    return status;
}

/* By all cores, then by the GPU, whose totals are to be the same to the last bit. */
static saltus_status time_network(const saltus_bench *bench, const struct row *row, int number,
                                  score *cores, score *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    saltus_totals totals = {0}, others = {0};
    double seconds, gpu_seconds;
    const int64_t n = bench->quick ? QUICK_RUNS : RUNS;
    SALTUS_TRY(saltus_random_network(&row->kind, (uint64_t)number, &model, err));
    const saltus_method_choice choice = saltus_method_choose(model, NULL);
    const bool leaps = choice.method[0] == 't';
    SALTUS_TRY(run(bench, model, bench->cpu, choice.method, 0, n, &totals, &seconds, err));
    count(cores, seconds, leaps);
    if (seconds > 0.0) {
        int n_sums;
        bool is_kept;
        SALTUS_TRY(saltus_conserved_check(model, &totals, &n_sums, &is_kept, err));
        cores->n_conserved += n_sums;
        cores->n_wrong += !is_kept;
    }
    if (seconds > 0.0 && number < N_CHECKED) {
        SALTUS_TRY(check(bench, model, &totals, leaps, cores, err));
    }
    if (bench->gpu) {
        SALTUS_TRY(run(bench, model, bench->gpu, choice.method, 0, n, &others, &gpu_seconds, err));
        count(gpu, gpu_seconds, leaps);
        if (seconds > 0.0 && gpu_seconds > 0.0) {
            ++gpu->n_checked;
            gpu->n_wrong += !saltus_totals_agree(&others, &totals);
        }
    }
done:
    saltus_totals_free(&totals);
    saltus_totals_free(&others);
    saltus_model_destroy(model);
    return status;
}

static void print_row(saltus_bench *bench, const struct row *row, const char *engine, int n,
                      const score *s)
{
    const saltus_random_kind *k = &row->kind;
    const double mean = s->sum / s->n_done;
    const double variance = (s->squares - s->sum * mean) / (s->n_done - 1);
    printf("{\"bench\": \"%s\", \"species\": %d, \"reactions\": %d, \"amount\": %g, \"constants\": "
           "\"%s\", \"low\": %g, \"high\": %g, \"until\": %g, \"points\": %d, \"engine\": \"%s\", "
           "\"trajectories\": %d, \"networks\": %d, \"done\": %d, \"by_leaps\": %d, "
           "\"left_out\": %d, \"left_out_after\": %g, \"out_of_range\": %d",
           bench->name, k->n_species, k->n_reactions, k->amount, k->is_log ? "log" : "uniform",
           k->low, k->high, t_end, N_TIMES, engine, bench->quick ? QUICK_RUNS : RUNS, n, s->n_done,
           s->n_leaping, s->n_slow, bench->quick ? quick_budget : budget, s->n_failed);
    if (s->n_done > 1) {
        printf(", \"mean_seconds\": %.4g, \"sd_seconds\": %.4g", mean, sqrt(fmax(variance, 0.0)));
    }
    if (!bench->quick) {
        printf(", \"paper_mean\": %g, \"paper_sd\": %g", row->mean, row->sd);
    }
    if (!bench->quick && s->n_done > 1) {
        printf(", \"over_paper\": %.4g", row->mean / mean);
    }
    printf(", \"checked\": %d, \"conserved_sums\": %d, \"check\": \"%s\"}\n", s->n_checked,
           s->n_conserved, s->n_wrong == 0 ? "ok" : "failed");
    (void)fflush(stdout);
    bench->has_failed |= s->n_wrong > 0;
}

saltus_status saltus_bench_nobile_table2(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = bench->quick ? QUICK_NETWORKS : (int)ceil(bench->part * N_NETWORKS);
    for (int r = 0; r < N_ROWS; ++r) {
        score cores = {0}, gpu = {0};
        for (int i = 0; i < n; ++i) {
            SALTUS_TRY(time_network(bench, &rows[r], i, &cores, &gpu, err));
        }
        print_row(bench, &rows[r], "cores", n, &cores);
        if (bench->gpu) {
            print_row(bench, &rows[r], "gpu", n, &gpu);
        }
    }
done:
    return status;
}
