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
    QUICK_RUNS = 64,
    N_CHECKED = 10,    /* first networks of a row that are simulated by the other method as well, */
    CHECK_RUNS = 256,  /* with so many runs, */
    CHECK_FIRST = 4096 /* from this trajectory on */
};
static const double t_end = 150.0;
/* What takes longer is left out, s. */
static const double budget = 120.0, quick_budget = 0.4;

/* The networks of a row on one device. */
typedef struct score {
    int n_done, n_slow, n_failed, n_leaping, n_checked, n_conserved, n_wrong;
    double sum, squares; /* of seconds */
} score;

/* Simulate within the budget; *seconds is 0 when that was too short, and negative when a trajectory
 * left the range of its numbers. */
static saltus_status run(const bench *b, const saltus_model *model, const saltus_backend *device,
                         const char *method, int64_t first, int64_t n, saltus_totals *totals,
                         double *seconds, saltus_error *err)
{
    const bench_ensemble e = {.model = model,
                              .device = device,
                              .method = method,
                              .n_threads = b->threads,
                              .until = t_end,
                              .n_times = N_TIMES,
                              .first = first,
                              .n = n,
                              .limit = b->quick ? quick_budget : budget};
    const saltus_status status = bench_add_up(&e, totals, seconds, err);
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
static saltus_status check(const bench *b, const saltus_model *model, const saltus_totals *totals,
                           bool leaps, score *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals other = {0};
    double seconds;
    const int64_t n = b->quick ? QUICK_RUNS : CHECK_RUNS;
    SALTUS_TRY(
        run(b, model, b->cpu, leaps ? "direct" : "tau", CHECK_FIRST, n, &other, &seconds, err));
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
static saltus_status time_network(const bench *b, const saltus_random_kind *kind, int number,
                                  score *cores, score *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    saltus_totals totals = {0}, others = {0};
    double seconds, gpu_seconds;
    const int64_t n = b->quick ? QUICK_RUNS : RUNS;
    SALTUS_TRY(saltus_random_network(kind, (uint64_t)number, &model, err));
    const saltus_method_choice choice = saltus_method_choose(model, NULL);
    const bool leaps = choice.method[0] == 't';
    SALTUS_TRY(run(b, model, b->cpu, choice.method, 0, n, &totals, &seconds, err));
    count(cores, seconds, leaps);
    if (seconds > 0.0) {
        int n_sums;
        bool is_kept;
        SALTUS_TRY(saltus_conserved_check(model, &totals, &n_sums, &is_kept, err));
        cores->n_conserved += n_sums;
        cores->n_wrong += !is_kept;
    }
    if (seconds > 0.0 && number < N_CHECKED) {
        SALTUS_TRY(check(b, model, &totals, leaps, cores, err));
    }
    if (b->gpu) {
        SALTUS_TRY(run(b, model, b->gpu, choice.method, 0, n, &others, &gpu_seconds, err));
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

static void print_row(bench *b, const bench_table *t, const char *engine, int n, const score *s)
{
    const double mean = s->sum / s->n_done, paper = bench_number(t, "mean");
    const double variance = (s->squares - s->sum * mean) / (s->n_done - 1);
    bench_put(
        b, FIELD("species", bench_whole(t, "species")),
        FIELD("reactions", bench_whole(t, "reactions")), FIELD("amount", bench_number(t, "amount")),
        FIELD("constants", bench_cell(t, "constants")), FIELD("low", bench_number(t, "low")),
        FIELD("high", bench_number(t, "high")), FIELD("until", t_end), FIELD("points", N_TIMES),
        FIELD("engine", engine), FIELD("trajectories", b->quick ? QUICK_RUNS : RUNS),
        FIELD("networks", n), FIELD("done", s->n_done), FIELD("by_leaps", s->n_leaping),
        FIELD("left_out", s->n_slow), FIELD("left_out_after", b->quick ? quick_budget : budget),
        FIELD("out_of_range", s->n_failed), FIELD_IF(s->n_done > 1, "mean_seconds", mean),
        FIELD_IF(s->n_done > 1, "sd_seconds", sqrt(fmax(variance, 0.0))),
        FIELD_IF(!b->quick, "paper_mean", paper),
        FIELD_IF(!b->quick, "paper_sd", bench_number(t, "sd")),
        FIELD_IF(!b->quick && s->n_done > 1, "over_paper", paper / mean),
        FIELD("checked", s->n_checked), FIELD("conserved_sums", s->n_conserved));
    bench_end_checked(b, s->n_wrong == 0);
}

static saltus_status time_row(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = b->quick ? QUICK_NETWORKS : (int)ceil(b->part * N_NETWORKS);
    score cores = {0}, gpu = {0};
    const saltus_random_kind kind = {.n_species = (int)bench_whole(t, "species"),
                                     .n_reactions = (int)bench_whole(t, "reactions"),
                                     .amount = bench_number(t, "amount"),
                                     .is_log = bench_cell(t, "constants")[0] == 'l',
                                     .low = bench_number(t, "low"),
                                     .high = bench_number(t, "high")};
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(time_network(b, &kind, i, &cores, &gpu, err));
    }
    print_row(b, t, "cores", n, &cores);
    if (b->gpu) {
        print_row(b, t, "gpu", n, &gpu);
    }
done:
    return status;
}

saltus_status bench_nobile_table2(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, time_row, err);
}
