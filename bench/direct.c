/* The direct method on the CPU, and tau-leaping beside it: our figure and the baseline's from the
 * same run, checked, one JSON line per case. Usage: bench_direct [CASE …]; without a case all of
 * them. Every timing is the best of several that take turns. */

#include "../tests/support/moments.h"
#include "core/clock.h"
#include "bench/measure/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_TURNS = 5 };

static void must(saltus_status status, const saltus_error *err)
{
    if (status != SALTUS_OK) {
        fprintf(stderr, "bench: %s\n", err->message);
        exit(1);
    }
}

/* Decay-dimerisation from so many molecules, n independent copies. */
static saltus_model *copies(int n, double start)
{
    static const char *const equations[] = {"A%d -> 0", "2 A%d -> B%d", "B%d -> 2 A%d",
                                            "B%d -> C%d"};
    static const char *const rates[] = {"1", "0.002", "0.5", "0.04"};
    saltus_error err = {0};
    saltus_model *m = NULL;
    must(saltus_model_create("dimer-decay", &m, &err), &err);
    for (int i = 0; i < n; ++i) {
        char text[80], id[20];
        for (int s = 0; s < 3; ++s) {
            (void)snprintf(id, sizeof id, "%c%d", "ABC"[s], i);
            must(saltus_model_add_species(m, id, s == 0 ? start : 0, &err), &err);
        }
        for (int r = 0; r < 4; ++r) {
            (void)snprintf(id, sizeof id, "r%d_%d", r, i);
            (void)snprintf(text, sizeof text, equations[r], i, i);
            must(saltus_model_add_reaction(m, id, text, rates[r], &err), &err);
        }
    }
    must(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), &err);
    return m;
}

static saltus_model *schlogl(void)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    must(saltus_model_create("schlogl", &m, &err), &err);
    must(saltus_model_add_species(m, "X", 250, &err), &err);
    must(saltus_model_add_reaction(m, "r1", "2 X -> 3 X", "3e-7*1e5", &err), &err);
    must(saltus_model_add_reaction(m, "r2", "3 X -> 2 X", "1e-4", &err), &err);
    must(saltus_model_add_reaction(m, "r3", "0 -> X", "1e-3*2e5", &err), &err);
    must(saltus_model_add_reaction(m, "r4", "X -> 0", "3.5", &err), &err);
    must(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), &err);
    return m;
}

typedef struct measurement {
    double seconds;
    int64_t events;
    double mean; /* of column `column` at the end */
} measurement;

static measurement ours_by(const char *method, saltus_model *model, const char *layout, int threads,
                           int n, double t_end, int n_points, int column)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report;
    moments m = {0};
    double times[512];
    wanted.n_threads = threads;
    wanted.layout = layout;
    wanted.method = method;
    for (int i = 0; i < n_points; ++i) {
        times[i] = n_points > 1 ? t_end * i / (n_points - 1) : t_end;
    }
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_points;
    const saltus_sink sink = moments_sink(&m);
    must(saltus_backend_open("auto", &backend, &err), &err);
    must(saltus_plan_create(model, backend, &wanted, &plan, &err), &err);
    must(saltus_run(plan, &run, &sink, &report, &err), &err);
    const measurement result = {report.seconds, report.events,
                                m.sum[(n_points - 1) * m.n_counts + column] / n};
    moments_free(&m);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return result;
}

static measurement ours(saltus_model *model, const char *layout, int threads, int n, double t_end,
                        int n_points, int column)
{
    return ours_by("direct", model, layout, threads, n, t_end, n_points, column);
}

static void keep_best(measurement *best, measurement m)
{
    if (best->seconds == 0.0 || m.seconds < best->seconds) {
        *best = m;
    }
}

static void check(const char *what, double mean, double expected, double tolerance)
{
    if (fabs(mean - expected) > tolerance) {
        fprintf(stderr, "bench: %s: mean %g, expected %g\n", what, mean, expected);
        exit(1);
    }
}

static double ns_per_event(measurement m)
{
    return 1e9 * m.seconds / (double)m.events;
}

/* One core against the hand-written program and the table-driven one. */
static void dimer_decay(void)
{
    enum { RUNS = 10000, SLOW_RUNS = 1000, POINTS = 51 };
    static baseline_network tables;
    saltus_error err = {0};
    measurement lanes = {0}, scalar = {0}, by_hand = {0}, by_table = {0};
    saltus_model *model = copies(1, 1000);
    must(baseline_from_model(model, &tables, &err), &err);
    for (int turn = 0; turn < N_TURNS; ++turn) {
        double hand[3] = {0}, table[3] = {0};
        double start = saltus_now();
        measurement m = {.events = baseline_dimer_decay(SLOW_RUNS, 30.0, POINTS, 1, hand)};
        m.seconds = saltus_now() - start;
        keep_best(&by_hand, m);
        start = saltus_now();
        m.events = baseline_tables(&tables, SLOW_RUNS, 30.0, POINTS, 2, table);
        m.seconds = saltus_now() - start;
        keep_best(&by_table, m);
        keep_best(&lanes, ours(model, "lanes", 1, RUNS, 30.0, POINTS, 2));
        keep_best(&scalar, ours(model, "scalar", 1, SLOW_RUNS, 30.0, POINTS, 2));
        check("by hand", hand[2] / SLOW_RUNS, 21.43, 0.75);
        check("by table", table[2] / SLOW_RUNS, 21.43, 0.75);
        check("lanes", lanes.mean, 21.43, 0.25);
    }
    printf("{\"case\": \"dimer-decay\", \"events\": %lld, \"ns_per_event\": %.3f, "
           "\"by_hand\": %.3f, \"by_table\": %.3f, \"one_at_a_time\": %.3f, "
           "\"ratio_by_hand\": %.2f, \"ratio_by_table\": %.2f}\n",
           (long long)lanes.events, ns_per_event(lanes), ns_per_event(by_hand),
           ns_per_event(by_table), ns_per_event(scalar),
           ns_per_event(by_hand) / ns_per_event(lanes),
           ns_per_event(by_table) / ns_per_event(lanes));
    saltus_model_destroy(model);
}

static void schlogl_case(void)
{
    measurement one = {0}, two = {0};
    saltus_model *model = schlogl();
    for (int turn = 0; turn < 3; ++turn) {
        keep_best(&one, ours(model, "lanes", 1, 10000, 10.0, 101, 0));
        keep_best(&two, ours(model, "lanes", 2, 10000, 10.0, 101, 0));
    }
    check("schlogl", one.mean, 318.5, 12.0);
    printf("{\"case\": \"schlogl\", \"runs\": 10000, \"seconds\": %.3f, \"ns_per_event\": %.3f, "
           "\"seconds_two_threads\": %.3f, \"speedup_two_threads\": %.2f}\n",
           one.seconds, ns_per_event(one), two.seconds, one.seconds / two.seconds);
    saltus_model_destroy(model);
}

/* Decay-dimerisation from 10^5 molecules: leaps against every single reaction. Their means may
 * differ by epsilon, of which they are one third apart. */
static void tau(void)
{
    enum { RUNS = 2000, SLOW_RUNS = 200 };
    measurement lanes = {0}, scalar = {0}, exact = {0};
    saltus_model *model = copies(1, 1e5);
    for (int turn = 0; turn < N_TURNS; ++turn) {
        keep_best(&lanes, ours_by("tau", model, "lanes", 1, RUNS, 30.0, 1, 1));
        keep_best(&scalar, ours_by("tau", model, "scalar", 1, SLOW_RUNS, 30.0, 1, 1));
        keep_best(&exact, ours_by("direct", model, "lanes", 1, SLOW_RUNS, 30.0, 1, 1));
    }
    check("exact", exact.mean, 431.3, 5.0 * 24.0 / sqrt(SLOW_RUNS));
    check("tau", lanes.mean, exact.mean, 0.03 * exact.mean);
    const double ms = 1e3 * lanes.seconds / RUNS, slow = 1e3 / SLOW_RUNS;
    printf("{\"case\": \"tau\", \"ms_per_run\": %.3f, \"one_at_a_time\": %.3f, \"exact\": %.3f, "
           "\"ratio_one_at_a_time\": %.2f, \"ratio_exact\": %.1f, \"mean\": %.1f, "
           "\"exact_mean\": %.1f}\n",
           ms, slow * scalar.seconds, slow * exact.seconds, slow * scalar.seconds / ms,
           slow * exact.seconds / ms, lanes.mean, exact.mean);
    saltus_model_destroy(model);
}

/* Cost per event against the number of reactions. */
static void reactions(void)
{
    static const int n[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    static baseline_network tables;
    saltus_error err = {0};
    for (size_t i = 0; i < sizeof n / sizeof *n; ++i) {
        measurement lanes = {0}, scalar = {0}, by_table = {0};
        saltus_model *model = copies(n[i], 1000);
        must(baseline_from_model(model, &tables, &err), &err);
        for (int turn = 0; turn < 3; ++turn) {
            double table[512] = {0};
            const int runs = 400 / n[i] + 1;
            const double start = saltus_now();
            measurement m = {.events = baseline_tables(&tables, runs, 30.0, 51, 2, table)};
            m.seconds = saltus_now() - start;
            keep_best(&by_table, m);
            keep_best(&scalar, ours(model, "scalar", 1, 2000 / n[i], 30.0, 51, 2));
            if (4 * n[i] <= 64) {
                keep_best(&lanes, ours(model, "lanes", 1, 4000 / n[i] + 256, 30.0, 51, 2));
            }
        }
        check("copies", scalar.mean, 21.43, 5.0 * 4.6 / sqrt(2000 / n[i]));
        printf("{\"case\": \"reactions\", \"reactions\": %d, \"one_at_a_time\": %.2f, "
               "\"by_table\": %.2f",
               4 * n[i], ns_per_event(scalar), ns_per_event(by_table));
        if (lanes.events > 0) {
            printf(", \"lanes\": %.2f", ns_per_event(lanes));
        }
        printf("}\n");
        saltus_model_destroy(model);
    }
}

/* One trajectory of a large network, from the folder in BIONETGEN_NETWORKS. */
static void networks(void)
{
    static const struct {
        const char *name;
        double t_end, best_published;
    } cases[] = {{"multistate", 2000, 69}, {"multisite2", 40, 319}, {"egfr_net", 4, 98}};
    const char *folder = getenv("BIONETGEN_NETWORKS");
    for (int i = 0; folder && i < 3; ++i) {
        char path[1000];
        saltus_error err = {0};
        saltus_model *model = NULL;
        measurement best = {0};
        (void)snprintf(path, sizeof path, "%s/%s.net", folder, cases[i].name);
        double start = saltus_now();
        must(saltus_model_read_net(path, &model, &err), &err);
        must(saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err), &err);
        const double reading = saltus_now() - start;
        for (int turn = 0; turn < N_TURNS; ++turn) {
            keep_best(&best, ours(model, "scalar", 1, 1, cases[i].t_end, 2, 0));
        }
        printf("{\"case\": \"%s\", \"species\": %d, \"reactions\": %d, \"events\": %lld, "
               "\"ns_per_event\": %.1f, \"best_published\": %.0f, \"seconds_reading\": %.3f}\n",
               cases[i].name, saltus_model_n_species(model), saltus_model_n_reactions(model),
               (long long)best.events, ns_per_event(best), cases[i].best_published, reading);
        saltus_model_destroy(model);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"dimer-decay", dimer_decay},
                 {"schlogl", schlogl_case},
                 {"tau", tau},
                 {"reactions", reactions},
                 {"networks", networks}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; ++k) {
            wanted |= strcmp(argv[k], cases[i].name) == 0;
        }
        if (wanted) {
            cases[i].run();
            (void)fflush(stdout);
        }
    }
    return 0;
}
