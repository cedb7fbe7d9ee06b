/* The random generators against each other: cost of a word, of a trajectory's start and of events;
 * and, as Nobile et al., PLoS ONE 9 (2014) e91963 did it, Kolmogorov and Smirnov's test on
 * Schlögl's network between each two. */
#include "bench/bench.h"

#include "engine/generator.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"
#include "kernel/base/stream.h"
#include "bench/measure/example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_GENERATORS = 4, N_TURNS = 3 };
static const char *const names[N_GENERATORS] = {"philox", "xorwow", "mrg32k3a", "mt19937"};

/* ---- words, on the CPU ---- */

static double sum_of_words(int rng, uint32_t *state, int n)
{
    uint64_t sum = 0;
    saltus_u64 w[4];
    switch (rng) {
    case SALTUS_RNG_XORWOW:
        for (int i = 0; i < n; ++i) {
            sum += saltus_xorwow_next(state);
        }
        break;
    case SALTUS_RNG_MRG32K3A:
        for (int i = 0; i < n; ++i) {
            sum += saltus_mrg32k3a_next(state);
        }
        break;
    case SALTUS_RNG_MT19937:
        for (int i = 0, at = 0; i < n; ++i, at = at + 1 < SALTUS_MT19937_WORDS ? at + 1 : 0) {
            sum += saltus_mt19937_next(state, at);
        }
        break;
    default:
        for (int i = 0; i < n / 4; ++i) {
            saltus_philox(1, SALTUS_PURPOSE_EVENT, 0, (uint64_t)i, w);
            sum += w[0] + w[1] + w[2] + w[3];
        }
    }
    return (double)sum;
}

static void start(const saltus_generator *g, uint32_t *state, uint64_t trajectory)
{
    switch (g->rng) {
    case SALTUS_RNG_XORWOW:
        saltus_xorwow_start(state, 1, trajectory, g->jumps);
        break;
    case SALTUS_RNG_MRG32K3A:
        saltus_mrg32k3a_start(state, 1, trajectory, g->jumps);
        break;
    case SALTUS_RNG_MT19937:
        saltus_mt19937_start(state, 1, trajectory);
        break;
    default:
        break;
    }
}

static saltus_status time_words(bench *b, const char *name, saltus_error *err)
{
    enum { STARTS = 1 << 12 };
    saltus_status status = SALTUS_OK;
    uint32_t state[SALTUS_MT19937_WORDS] = {0};
    saltus_generator generator = {0};
    double words = INFINITY, starts = INFINITY, mean = 0.0;
    const int n = b->quick ? 1 << 18 : 1 << 24;
    SALTUS_TRY(saltus_generator_create(name, &generator, err));
    for (int turn = 0; turn < N_TURNS; ++turn) {
        const double begin = saltus_now();
        for (uint64_t i = 0; i < STARTS; ++i) {
            start(&generator, state, 1000000 + i);
        }
        const double started = saltus_now();
        mean = sum_of_words(generator.rng, state, n) / n;
        words = fmin(words, saltus_now() - started);
        starts = fmin(starts, started - begin);
    }
    bench_put(b, FIELD("rng", name), FIELD("ns_per_word", 1e9 * words / n),
              FIELD("ns_per_start", 1e9 * starts / STARTS));
    bench_end_checked(b, fabs(mean * 0x1p-32 - 0.5) <= 5.0 / sqrt(12.0 * n));
done:
    saltus_generator_free(&generator);
    return status;
}

/* ---- Kolmogorov and Smirnov ---- */

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The greatest distance of two distribution functions of n ordered counts each. */
static double distance_of(const int64_t *x, const int64_t *y, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0, k = 0; i < n && k < n;) {
        const int64_t value = x[i] < y[k] ? x[i] : y[k];
        while (i < n && x[i] == value) {
            ++i;
        }
        while (k < n && y[k] == value) {
            ++k;
        }
        most = llabs(i - k) > most ? llabs(i - k) : most;
    }
    return (double)most / (double)n;
}

/* Probability of a greater distance (Stephens, 1970); for counts, which have ties, less than that.
 */
static double chance_of(double distance, int64_t n)
{
    const double root = sqrt((double)n / 2.0), x = (root + 0.12 + 0.11 / root) * distance;
    double sum = 0.0;
    for (int k = 1; k < 100; ++k) {
        sum += (k % 2 ? 2.0 : -2.0) * exp(-2.0 * k * k * x * x);
    }
    return x < 0.3 ? 1.0 : sum;
}

/* A sink of one count at one time: user is int64_t[trajectory]. */
static saltus_status keep(void *user, const saltus_block *block, void *prepared, saltus_error *err)
{
    (void)prepared, (void)err;
    memcpy((int64_t *)user + block->trajectories[0], block->counts,
           (size_t)block->n_trajectories * sizeof *block->counts);
    return SALTUS_OK;
}

/* X at t = 10 in rising order. */
static saltus_status sample(const bench *b, const saltus_model *model, const char *rng, int64_t n,
                            int64_t *x, saltus_error *err)
{
    static const double t_end = 10.0;
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    const saltus_sink sink = {.user = x, .deliver = keep};
    wanted.method = "direct";
    wanted.rng = rng;
    wanted.columns = "X";
    wanted.n_threads = b->gpu ? 0 : b->threads;
    run.n_trajectories = n;
    run.times = &t_end;
    run.n_times = 1;
    SALTUS_TRY(saltus_plan_create(model, b->gpu ? b->gpu : b->cpu, &wanted, &plan, err));
    SALTUS_TRY(saltus_run(plan, &run, &sink, NULL, err));
    qsort(x, (size_t)n, sizeof *x, by_size);
done:
    saltus_plan_destroy(plan);
    return status;
}

static void compare(bench *b, int first, int second, const int64_t *x, int64_t n)
{
    const double distance = distance_of(x + first * n, x + second * n, n);
    const double p = chance_of(distance, n);
    bench_put(b, FIELD("test", "kolmogorov-smirnov"), FIELD("first", names[first]),
              FIELD("second", names[second]), FIELD("trajectories", n), FIELD("distance", distance),
              FIELD("p", p));
    bench_end_checked(b, p >= 1e-5);
}

static saltus_status compare_all(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    const int64_t n = b->quick ? 100 : 2000;
    int64_t *x = saltus_calloc((size_t)(N_GENERATORS * n), sizeof *x);
    SALTUS_NEED(x);
    SALTUS_TRY(saltus_example_load(b->examples, "schlogl", &model, err));
    for (int g = 0; g < N_GENERATORS; ++g) {
        SALTUS_TRY(sample(b, model, names[g], n, x + g * n, err));
        for (int other = 0; other < g; ++other) {
            compare(b, other, g, x, n);
        }
    }
done:
    saltus_model_destroy(model);
    saltus_free(x);
    return status;
}

/* Philox alone is drawn in lanes: on the CPU it is timed one trajectory at a time as well. */
saltus_status bench_rng(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int g = 0; g < N_GENERATORS; ++g) {
        SALTUS_TRY(time_words(b, names[g], err));
    }
    SALTUS_TRY(bench_time_rows(b, b->name, names[0], "scalar", err));
    for (int g = 0; g < N_GENERATORS; ++g) {
        SALTUS_TRY(bench_time_rows(b, b->name, names[g], NULL, err));
    }
    SALTUS_TRY(compare_all(b, err));
done:
    return status;
}
