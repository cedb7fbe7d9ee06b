/* The random generators against each other, one JSON line per case: cost of a word, of the start of
 * a trajectory and of an event, checked; and, as Nobile et al. (2014) did it, Kolmogorov and
 * Smirnov's test on Schlögl's network between each two.
 * Usage: bench_generators [DEVICE [RUNS]], by default cpu and 2000. On the CPU one core works. */
#include "../tests/support/moments.h"
#include "backend/generator.h"
#include "kernel/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_GENERATORS = 4, N_TURNS = 3 };
static const char *const names[N_GENERATORS] = {"philox", "xorwow", "mrg32k3a", "mt19937"};

static const char dimer_decay[] = "species: {A: 1000, B: 0, C: 0}\n"
                                  "reactions:\n  a: A -> 0 @ 1\n  b: 2 A -> B @ 0.002\n"
                                  "  c: B -> 2 A @ 0.5\n  d: B -> C @ 0.04\n";
static const char schlogl[] = "species: {X: 250}\n"
                              "reactions:\n  a: 2 X -> 3 X @ 0.03\n  b: 3 X -> 2 X @ 1e-4\n"
                              "  c: 0 -> X @ 200\n  d: X -> 0 @ 3.5\n";

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(saltus_status status, const saltus_error *err)
{
    if (status != SALTUS_OK) {
        fprintf(stderr, "bench: %s\n", err->message);
        exit(1);
    }
}

static void check(const char *what, double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance)) {
        fprintf(stderr, "bench: %s: %g, expected %g\n", what, found, expected);
        exit(1);
    }
}

static double least(double best, double seconds)
{
    return best == 0.0 || seconds < best ? seconds : best;
}

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

static void words(void)
{
    enum { N = 1 << 24, STARTS = 1 << 12 };
    for (int g = 0; g < N_GENERATORS; ++g) {
        static uint32_t state[SALTUS_MT19937_WORDS];
        saltus_error err = {0};
        saltus_generator generator;
        double per_word = 0.0, per_start = 0.0;
        must(saltus_generator_create(names[g], &generator, &err), &err);
        for (int turn = 0; turn < N_TURNS; ++turn) {
            double begin = now();
            for (uint64_t i = 0; i < STARTS; ++i) {
                start(&generator, state, 1000000 + i);
            }
            per_start = least(per_start, (now() - begin) / STARTS);
            begin = now();
            const double mean = sum_of_words(generator.rng, state, N) / N;
            per_word = least(per_word, (now() - begin) / N);
            check(names[g], mean * 0x1p-32, 0.5, 5.0 / sqrt(12.0 * N));
        }
        printf("{\"case\": \"words\", \"rng\": \"%s\", \"ns_per_word\": %.2f, "
               "\"ns_per_start\": %.0f}\n",
               names[g], 1e9 * per_word, 1e9 * per_start);
        saltus_generator_free(&generator);
    }
}

/* ---- events ---- */

typedef struct measurement {
    double seconds, mean;
    int64_t events;
} measurement;

/* A model's ensemble at time t; *last: the counts there, the caller's to free, unless it is NULL.
 */
static measurement run(const char *text, const char *device, const char *rng, const char *layout,
                       int64_t n, double t, int64_t **last)
{
    saltus_error err = {0};
    saltus_model *model = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options options = saltus_run_options_default();
    saltus_run_report report;
    moments m = {.keep_last = last != NULL};
    const saltus_sink sink = moments_sink(&m);
    wanted.rng = rng;
    wanted.layout = layout;
    wanted.n_threads = strncmp(device, "cuda", 4) == 0 ? 0 : 1;
    options.n_trajectories = n;
    options.times = &t;
    options.n_times = 1;
    must(saltus_model_parse_yaml(text, strlen(text), "bench", &model, &err), &err);
    must(saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err), &err);
    must(saltus_backend_open(device, &backend, &err), &err);
    must(saltus_plan_create(model, backend, &wanted, &plan, &err), &err);
    must(saltus_run(plan, &options, &sink, &report, &err), &err);
    const bool on_gpu = report.kernel_seconds > 0.0;
    const measurement result = {on_gpu ? report.kernel_seconds : report.seconds,
                                m.sum[m.n_counts - 1] / (double)n, report.events};
    if (last) {
        *last = m.last;
        m.last = NULL;
    }
    moments_free(&m);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    return result;
}

static void events(const char *device, int64_t n, const char *layout)
{
    for (int g = 0; g < N_GENERATORS; ++g) {
        double dimer = 0.0, bistable = 0.0;
        if (strcmp(layout, "lanes") == 0 && g > 0) {
            break;
        }
        for (int turn = 0; turn < N_TURNS; ++turn) {
            measurement m = run(dimer_decay, device, names[g], layout, n, 30.0, NULL);
            check("dimer-decay", m.mean, 21.43, 5.0 * 4.5 / sqrt((double)n));
            dimer = least(dimer, m.seconds / (double)m.events);
            m = run(schlogl, device, names[g], layout, n / 4, 10.0, NULL);
            check("schlogl", m.mean, 318.0, 5.0 * 238.0 / sqrt((double)n / 4.0));
            bistable = least(bistable, m.seconds / (double)m.events);
        }
        printf("{\"case\": \"events\", \"rng\": \"%s\", \"device\": \"%s\", \"layout\": \"%s\", "
               "\"ns_dimer_decay\": %.3f, \"ns_schlogl\": %.3f}\n",
               names[g], device, layout, 1e9 * dimer, 1e9 * bistable);
        (void)fflush(stdout);
    }
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

static void compare(const char *device, int64_t n)
{
    int64_t *x[N_GENERATORS];
    for (int g = 0; g < N_GENERATORS; ++g) {
        (void)run(schlogl, device, names[g], "auto", n, 10.0, &x[g]);
        qsort(x[g], (size_t)n, sizeof *x[g], by_size);
        for (int other = 0; other < g; ++other) {
            const double distance = distance_of(x[other], x[g], n), p = chance_of(distance, n);
            printf("{\"case\": \"kolmogorov-smirnov\", \"first\": \"%s\", \"second\": \"%s\", "
                   "\"runs\": %lld, \"distance\": %.4f, \"p\": %.3f}\n",
                   names[other], names[g], (long long)n, distance, p);
            check("probability", p < 1e-5, 0.0, 0.0);
        }
    }
    for (int g = 0; g < N_GENERATORS; ++g) {
        free(x[g]);
    }
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cpu";
    const int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 2000;
    const bool on_gpu = strncmp(device, "cuda", 4) == 0;
    if (!on_gpu) {
        words();
        events(device, n, "lanes");
    }
    events(device, n, on_gpu ? "auto" : "scalar");
    if (on_gpu) {
        events(device, n, "global");
    }
    compare(device, n);
    return 0;
}
