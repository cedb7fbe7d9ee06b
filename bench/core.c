/* The direct method on one core, and tau-leaping beside it: our figure and the baseline's from the
 * same run, checked. Every timing is the best of several that take turns. */
#include "bench/bench.h"

#include "bench/measure/baseline.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

enum { N_TURNS = 5 };

/* Decay-dimerisation from so many molecules, n independent copies. */
static saltus_status make_copies(int n, double start, saltus_model **out, saltus_error *err)
{
    static const char *const equations[] = {"A%d -> 0", "2 A%d -> B%d", "B%d -> 2 A%d",
                                            "B%d -> C%d"};
    static const char *const rates[] = {"1", "0.002", "0.5", "0.04"};
    saltus_status status = SALTUS_OK;
    char text[80], id[20];
    SALTUS_TRY(saltus_model_create("dimer-decay", out, err));
    for (int i = 0; i < n; ++i) {
        for (int s = 0; s < 3; ++s) {
            (void)snprintf(id, sizeof id, "%c%d", "ABC"[s], i);
            SALTUS_TRY(saltus_model_add_species(*out, id, s == 0 ? start : 0, err));
        }
        for (int r = 0; r < 4; ++r) {
            (void)snprintf(id, sizeof id, "r%d_%d", r, i);
            (void)snprintf(text, sizeof text, equations[r], i, i);
            SALTUS_TRY(saltus_model_add_reaction(*out, id, text, rates[r], err));
        }
    }
    SALTUS_TRY(saltus_model_freeze(*out, SALTUS_LAW_LITERAL, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * One way to compute
 */

/* Its best time, and the mean of a species at the end. */
typedef struct timing {
    double seconds, mean;
    int64_t events;
} timing;

static void keep_best(timing *best, timing t)
{
    *best = best->seconds == 0.0 || t.seconds < best->seconds ? t : *best;
}

static double ns_per_event(const timing *t)
{
    return 1e9 * t->seconds / (double)t->events;
}

/* The sum of one count at the last time. */
typedef struct sum {
    int column;
    double value;
} sum;

static saltus_status add_last(void *user, const saltus_block *block, void *prepared,
                              saltus_error *err)
{
    sum *s = user;
    (void)prepared, (void)err;
    for (int64_t i = 0; i < block->n_trajectories; ++i) {
        const int64_t row = (i + 1) * block->n_points - 1;
        s->value += (double)block->counts[row * block->n_counts + s->column];
    }
    return SALTUS_OK;
}

/* Time an ensemble once more. */
static saltus_status time_ours(const bench_ensemble *e, int column, timing *best, saltus_error *err)
{
    sum s = {column, 0.0};
    const saltus_sink sink = {.user = &s, .deliver = add_last};
    saltus_run_report report = {0};
    const saltus_status status = bench_run(e, &sink, &report, err);
    keep_best(best, (timing){report.seconds, s.value / (double)e->n, report.events});
    return status;
}

/* Time the baseline once more: with tables, or without the program that is written out. */
static void time_baseline(const baseline_network *tables, const bench_ensemble *e, int column,
                          timing *best)
{
    double final[512] = {0};
    timing t;
    const int n = (int)e->n;
    const double start = saltus_now();
    t.events = tables ? baseline_tables(tables, n, e->until, e->n_times, 2, final)
                      : baseline_dimer_decay(n, e->until, e->n_times, 1, final);
    t.seconds = saltus_now() - start;
    t.mean = final[column] / n;
    keep_best(best, t);
}

static bool is_near(const timing *t, double mean, double tolerance)
{
    return fabs(t->mean - mean) <= tolerance;
}

/* ------------------------------------------------------------------------------------------------
 * The benchmarks
 */

/* One core against the hand-written program and the table-driven one. */
saltus_status bench_core_dimer_decay(bench *b, saltus_error *err)
{
    enum { C = 2, SHARE = 10 };
    saltus_status status = SALTUS_OK;
    timing lanes = {0}, scalar = {0}, by_hand = {0}, by_table = {0};
    saltus_model *model = NULL;
    baseline_network *tables = saltus_calloc(1, sizeof *tables);
    SALTUS_NEED(tables);
    SALTUS_TRY(make_copies(1, 1000, &model, err));
    SALTUS_TRY(baseline_from_model(model, tables, err));
    const bench_ensemble many = {.model = model,
                                 .device = b->cpu,
                                 .layout = "lanes",
                                 .n_threads = 1,
                                 .until = 30.0,
                                 .n_times = 51,
                                 .n = b->quick ? 1000 : 10000};
    bench_ensemble few = many;
    few.layout = "scalar";
    few.n /= SHARE;
    for (int turn = 0; turn < (b->quick ? 1 : N_TURNS); ++turn) {
        time_baseline(NULL, &few, C, &by_hand);
        time_baseline(tables, &few, C, &by_table);
        SALTUS_TRY(time_ours(&many, C, &lanes, err));
        SALTUS_TRY(time_ours(&few, C, &scalar, err));
    }
    bench_put(b, FIELD("events", lanes.events), FIELD("ns_per_event", ns_per_event(&lanes)),
              FIELD("by_hand", ns_per_event(&by_hand)), FIELD("by_table", ns_per_event(&by_table)),
              FIELD("one_at_a_time", ns_per_event(&scalar)),
              FIELD("ratio_by_hand", ns_per_event(&by_hand) / ns_per_event(&lanes)),
              FIELD("ratio_by_table", ns_per_event(&by_table) / ns_per_event(&lanes)));
    const double error = 24.0 / sqrt((double)few.n); /* five standard errors */
    bench_end_checked(b, is_near(&by_hand, 21.43, error) && is_near(&by_table, 21.43, error) &&
                             is_near(&lanes, 21.43, error / sqrt(SHARE)));
done:
    saltus_model_destroy(model);
    saltus_free(tables);
    return status;
}

/* What is buffered stands in the constants. */
static const char schlogl[] = "species: {X: 250}\nreactions:\n"
                              "  up: 2 X -> 3 X @ 3e-7*1e5\n  down: 3 X -> 2 X @ 1e-4\n"
                              "  in: 0 -> X @ 1e-3*2e5\n  out: X -> 0 @ 3.5\n";

saltus_status bench_core_schlogl(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    timing one = {0}, two = {0};
    saltus_model *model = NULL;
    SALTUS_TRY(saltus_model_parse_yaml(schlogl, sizeof schlogl - 1, "schlogl", &model, err));
    SALTUS_TRY(saltus_model_freeze(model, SALTUS_LAW_LITERAL, err));
    bench_ensemble e = {.model = model,
                        .device = b->cpu,
                        .layout = "lanes",
                        .until = 10.0,
                        .n_times = 101,
                        .n = b->quick ? 100 : 10000};
    for (int turn = 0; turn < (b->quick ? 1 : 3); ++turn) {
        e.n_threads = 1;
        SALTUS_TRY(time_ours(&e, 0, &one, err));
        e.n_threads = 2;
        SALTUS_TRY(time_ours(&e, 0, &two, err));
    }
    bench_put(b, FIELD("runs", e.n), FIELD("seconds", one.seconds),
              FIELD("ns_per_event", ns_per_event(&one)), FIELD("seconds_two_threads", two.seconds),
              FIELD("speedup_two_threads", one.seconds / two.seconds));
    bench_end_checked(b, is_near(&one, 318.5, 1200.0 / sqrt((double)e.n)));
done:
    saltus_model_destroy(model);
    return status;
}

/* Decay-dimerisation from 10^5 molecules: leaps against every single reaction. Their means may
 * differ by epsilon, of which they are one third apart. */
saltus_status bench_core_tau(bench *b, saltus_error *err)
{
    enum { B = 1, SHARE = 10 };
    saltus_status status = SALTUS_OK;
    timing lanes = {0}, scalar = {0}, exact = {0};
    saltus_model *model = NULL;
    SALTUS_TRY(make_copies(1, 1e5, &model, err));
    const bench_ensemble leaps = {.model = model,
                                  .device = b->cpu,
                                  .method = "tau",
                                  .layout = "lanes",
                                  .n_threads = 1,
                                  .until = 30.0,
                                  .n_times = 1,
                                  .n = b->quick ? 200 : 2000};
    bench_ensemble single = leaps, direct = leaps;
    single.n = direct.n = leaps.n / SHARE;
    single.layout = "scalar";
    direct.method = "direct";
    for (int turn = 0; turn < (b->quick ? 1 : N_TURNS); ++turn) {
        SALTUS_TRY(time_ours(&leaps, B, &lanes, err));
        SALTUS_TRY(time_ours(&single, B, &scalar, err));
        SALTUS_TRY(time_ours(&direct, B, &exact, err));
    }
    const double ms = 1e3 * lanes.seconds / (double)leaps.n, slow = 1e3 / (double)direct.n;
    bench_put(b, FIELD("ms_per_run", ms), FIELD("one_at_a_time", slow * scalar.seconds),
              FIELD("exact", slow * exact.seconds),
              FIELD("ratio_one_at_a_time", slow * scalar.seconds / ms),
              FIELD("ratio_exact", slow * exact.seconds / ms), FIELD("mean", lanes.mean),
              FIELD("exact_mean", exact.mean));
    bench_end_checked(b, is_near(&exact, 431.3, 5.0 * 24.0 / sqrt((double)direct.n)) &&
                             is_near(&lanes, exact.mean, 0.03 * exact.mean));
done:
    saltus_model_destroy(model);
    return status;
}

/* Of n copies. Lanes are timed where they are what the plan takes. */
static saltus_status time_copies(bench *b, int n, baseline_network *tables, saltus_error *err)
{
    enum { C = 2, MOST_IN_LANES = 64 };
    saltus_status status = SALTUS_OK;
    timing lanes = {0}, scalar = {0}, by_table = {0};
    saltus_model *model = NULL;
    SALTUS_TRY(make_copies(n, 1000, &model, err));
    SALTUS_TRY(baseline_from_model(model, tables, err));
    const bench_ensemble single = {.model = model,
                                   .device = b->cpu,
                                   .layout = "scalar",
                                   .n_threads = 1,
                                   .until = 30.0,
                                   .n_times = 51,
                                   .n = 2000 / n};
    bench_ensemble many = single, few = single;
    many.layout = "lanes";
    many.n = 4000 / n + 256;
    few.n = 400 / n + 1;
    for (int turn = 0; turn < (b->quick ? 1 : 3); ++turn) {
        time_baseline(tables, &few, C, &by_table);
        SALTUS_TRY(time_ours(&single, C, &scalar, err));
        if (4 * n <= MOST_IN_LANES) {
            SALTUS_TRY(time_ours(&many, C, &lanes, err));
        }
    }
    bench_put(b, FIELD("reactions", 4 * n), FIELD("one_at_a_time", ns_per_event(&scalar)),
              FIELD("by_table", ns_per_event(&by_table)),
              FIELD_IF(lanes.events > 0, "lanes", ns_per_event(&lanes)));
    bench_end_checked(b, is_near(&scalar, 21.43, 5.0 * 4.6 / sqrt((double)single.n)));
done:
    saltus_model_destroy(model);
    return status;
}

/* Cost per event against the number of reactions. */
saltus_status bench_core_reactions(bench *b, saltus_error *err)
{
    static const int n[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
    saltus_status status = SALTUS_OK;
    baseline_network *tables = saltus_calloc(1, sizeof *tables);
    SALTUS_NEED(tables);
    for (size_t i = 0; i < (b->quick ? 2 : sizeof n / sizeof *n); ++i) {
        SALTUS_TRY(time_copies(b, n[i], tables, err));
    }
done:
    saltus_free(tables);
    return status;
}

static saltus_status time_network(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *folder = getenv("BIONETGEN_NETWORKS"), *name = bench_cell(t, "model");
    saltus_model *model = NULL;
    timing best = {0};
    char path[1000];
    bench_put(b, FIELD("model", name));
    if (!folder) {
        bench_end_skipped(b, "BIONETGEN_NETWORKS names no folder");
        return SALTUS_OK;
    }
    (void)snprintf(path, sizeof path, "%s/%s.net", folder, name);
    const double start = saltus_now();
    SALTUS_TRY(saltus_model_read_net(path, &model, err));
    SALTUS_TRY(saltus_model_freeze(model, SALTUS_LAW_LITERAL, err));
    const double reading = saltus_now() - start;
    const bench_ensemble e = {.model = model,
                              .device = b->cpu,
                              .layout = "scalar",
                              .n_threads = 1,
                              .until = bench_number(t, "until"),
                              .n_times = 2,
                              .n = 1};
    for (int turn = 0; turn < (b->quick ? 1 : N_TURNS); ++turn) {
        SALTUS_TRY(time_ours(&e, 0, &best, err));
    }
    bench_put(b, FIELD("species", saltus_model_n_species(model)),
              FIELD("reactions", saltus_model_n_reactions(model)), FIELD("events", best.events),
              FIELD("ns_per_event", ns_per_event(&best)),
              FIELD("best_published", bench_number(t, "published")),
              FIELD("seconds_reading", reading));
    bench_end(b);
done:
    saltus_model_destroy(model);
    return status;
}

/* One trajectory of each. */
saltus_status bench_core_networks(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, time_network, err);
}
