/* A sweep as one run of a device gives, point by point, the bits of the CPU where every point is a
 * run of its own: samples, statistics, histograms and derived quantities. Runs on the CPU, and on a
 * GPU or a driver that plays one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/gpu.h"
#include "sweep/collect.h"
#include "ensemble/reduction.h"

#include <math.h>

/* Reactions of all kinds: 2 A, three factors, a source; and what can be varied. */
static const char mixed[] = "species: {A: 40, B: 30, C: 0}\nparameters: {k: 2, m: 0.02, n: 1e-4}\n"
                            "reactions:\n  in: 0 -> A @ 10*k\n  pair: 2 A -> B @ m\n"
                            "  triple: 2 A + B -> C + A @ n\n  out: A -> 0 @ 0.3\n"
                            "  split: C -> 2 B @ k\n  gone: B -> 0 @ 0.1*k\n";
static const char drifting[] =
    "species: {X: 5, Y: 0}\nparameters: {k: 20, w: 1}\nreactions:\n"
    "  make: 0 -> X @ k*(1 + sin(w*time))\n  turn: X -> Y @ X*(1 + cos(time))/(1 + k)\n"
    "  fall: Y -> 0 @ 0.5\n";
static const char hill[] =
    "species: {X: 50, Y: 20}\nparameters: {k: 5, K: 30, h: 2, d: 0.1}\nreactions:\n"
    "  make: 0 -> X @ k * K^h / (K^h + Y^h) + 1\n  lose: X -> 0 @ d\n  decay: Y -> 0 @ d\n"
    "  other: 0 -> Y @ k * K^h / (K^h + X^h) + 1\n";
static const char events[] = "species: {A: 100, B: 0}\nparameters: {k: 1, when: 1.2}\n"
                             "reactions:\n  go: A -> B @ k\n"
                             "events:\n  again: {at: when, set: {A: A + 10*k}}\n";
/* A trajectory with more than 32 pending events is run on the CPU. */
static const char pending[] =
    "species: {A: 0, B: 0}\nparameters: {k: 30}\n"
    "reactions: {r: 0 -> A @ k}\n"
    "events:\n  e: {when: sin(3.14159*A/2) > 0.5, delay: 2, set: {B: B + 1}}\n";
static const char power[] = "species: {A: 50}\nparameters: {p: 1}\nreactions:\n"
                            "  out: A -> 0 @ 0.01*A^p\n  in: 0 -> A @ 1\n";
/* Of B there may be more than a layout holds. */
static const char many[] = "species: {A: 50, B: 0}\nparameters: {k: 1}\n"
                           "reactions: {r: A -> 0 @ k, s: B -> 0 @ 1e-18}\n";
static const char observed[] = "species: {A: {initial: 50, compartment: c}}\n"
                               "compartments: {c: 2}\nparameters: {k: 1}\n"
                               "reactions: {r: A -> 0 @ k}\n";
/* Amounts that are no whole numbers, by method ode. */
static const char flows[] =
    "species: {A: 40.25, B: 30, C: 0}\nparameters: {k: 2, m: 0.02, half: A/2}\nreactions:\n"
    "  in: 0 -> A @ 10*k\n  pair: 2 A -> B @ m\n  turn: B -> C @ B/(half + B)\n"
    "  out: C -> 0 @ 0.3\nevents: {more: {when: C > 0.5, set: {B: B + 0.5}}}\n";
static const char dies[] = "species: {A: 100, B: 0}\nparameters: {limit: 1000}\nreactions:\n"
                           "  up: 0 -> B @ 5\n  down: A -> 0 @ 0.001*A*(limit - B)\n";

static saltus_model *load(void *user, saltus_error *err)
{
    saltus_model *m = NULL;
    const char *yaml = user;
    const bool is_path = strchr(yaml, '\n') == NULL;
    char path[1000];
    const char *examples = getenv("SALTUS_EXAMPLES");
    (void)snprintf(path, sizeof path, "%s/%s", examples ? examples : "examples", yaml);
    const saltus_status status = is_path
                                     ? saltus_model_read(path, &m, err)
                                     : saltus_model_parse_yaml(yaml, strlen(yaml), "m", &m, err);
    return status == SALTUS_OK ? m : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * A sink that keeps the points
 */

enum { MOST_POINTS = 300 };

/* Of a sweep; zeros: all of it. */
typedef struct part {
    int64_t first_point, n_points, runs_apart;
} part;

typedef struct kept {
    saltus_sweep_sink sink;
    saltus_collection what;
    saltus_collector *points[MOST_POINTS];
    part part;
    int64_t n, n_open;
    int64_t stop_after; /* points; 0: never */
    int stop;
} kept;

static saltus_status open_point(void *user, int64_t point, const saltus_plan *plan,
                                saltus_sink **sink, saltus_error *err)
{
    kept *k = user;
    saltus_collector *c = NULL;
    (void)point;
    assert_int_equal(saltus_plan_n_counts(plan), k->what.n_counts);
    assert_int_equal(saltus_plan_n_observables(plan), k->what.n_observables);
    const saltus_status status = saltus_collector_create(&k->what, &c, err);
    *sink = c ? &c->sink : NULL;
    (void)__atomic_fetch_add(&k->n_open, 1, __ATOMIC_RELAXED);
    return status;
}

static saltus_status deliver(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
{
    kept *k = user;
    (void)err;
    assert_int_equal(point, k->part.first_point + k->n);
    k->points[k->n++] = sink->user;
    if (k->n == k->stop_after) {
        __atomic_store_n(&k->stop, 1, __ATOMIC_RELAXED);
    }
    return SALTUS_OK;
}

static void discard(void *user, saltus_sink *sink)
{
    (void)user;
    saltus_collector_destroy(sink->user);
}

static void free_kept(kept *k)
{
    for (int64_t p = 0; p < k->n; ++p) {
        saltus_collector_destroy(k->points[p]);
    }
}

static void compare(const kept *a, const kept *b)
{
    const saltus_collection *w = &a->what;
    for (int64_t p = 0; p < b->n; ++p) {
        const saltus_collector *x = a->points[p], *y = b->points[p];
        const size_t width = x->statistics.width, runs = (size_t)w->n_runs;
        const size_t kept_points = w->record == SALTUS_RECORD_ALL ? (size_t)w->n_times : 1;
        assert_true(x->n == w->n_runs && y->n == w->n_runs);
        assert_memory_equal(x->statistics.sum, y->statistics.sum, width * 16);
        assert_memory_equal(x->statistics.square, y->statistics.square, width * 16);
        assert_memory_equal(x->statistics.min, y->statistics.min, width * 8);
        assert_memory_equal(x->statistics.max, y->statistics.max, width * 8);
        for (size_t q = 0; q < x->reals.width; ++q) {
            uint64_t sums[2][SALTUS_EXACT_WORDS];
            saltus_exact_sums_store(&x->reals.sums, q, sums[0]);
            saltus_exact_sums_store(&y->reals.sums, q, sums[1]);
            assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
        }
        if (x->counts) {
            assert_memory_equal(x->counts, y->counts, runs * kept_points * (size_t)w->n_counts * 8);
        }
        if (x->histogram.n_bins > 0) {
            assert_memory_equal(x->histogram.shift, y->histogram.shift, width);
            assert_memory_equal(x->histogram.counts, y->histogram.counts,
                                width * (size_t)x->histogram.n_bins * 8);
        }
        for (size_t i = 0; i < (size_t)w->derivation.n * runs; ++i) {
            assert_true((isnan(x->derived[i]) && isnan(y->derived[i])) ||
                        memcmp(&x->derived[i], &y->derived[i], 8) == 0);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Sweeps
 */

typedef struct sweep_case {
    const char *model, *vary[3], *layout, *method;
    int64_t n_runs;
    saltus_record record;
    bool common;
    const char *columns;
} sweep_case;

static const saltus_derive wanted[] = {
    {SALTUS_DERIVE_MEAN, 0, 0.0},      {SALTUS_DERIVE_MAX, 0, 0.0},
    {SALTUS_DERIVE_TMIN, 0, 0.0},      {SALTUS_DERIVE_PERIOD, 0, 0.0},
    {SALTUS_DERIVE_AMPLITUDE, 0, 0.0}, {SALTUS_DERIVE_PASSAGE, 0, 45.0}};
enum { N_WANTED = sizeof wanted / sizeof *wanted };
/* Of a column that is real, where all are. */
static const saltus_derive of_reals[N_WANTED] = {
    {SALTUS_DERIVE_MEAN, -1, 0.0},      {SALTUS_DERIVE_MAX, -1, 0.0},
    {SALTUS_DERIVE_TMIN, -1, 0.0},      {SALTUS_DERIVE_PERIOD, -1, 0.0},
    {SALTUS_DERIVE_AMPLITUDE, -1, 0.0}, {SALTUS_DERIVE_PASSAGE, -1, 20.0}};

/* Columns that every point has. */
static void count_columns(const saltus_plan_options *options, const char *model,
                          saltus_collection *what, saltus_error *err)
{
    saltus_model *m = load((void *)(uintptr_t)model, err);
    saltus_backend *cpu = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options of_cpu = *options;
    of_cpu.layout = "auto";
    assert_non_null(m);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err), SALTUS_OK);
    assert_int_equal(saltus_backend_open("cpu", &cpu, err), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, cpu, &of_cpu, &plan, err), SALTUS_OK);
    what->n_counts = what->derivation.n_counts = saltus_plan_n_counts(plan);
    what->n_observables = what->derivation.n_observables = saltus_plan_n_observables(plan);
    what->derivation.wanted = what->n_counts > 0 ? wanted : of_reals;
    saltus_plan_destroy(plan);
    saltus_backend_close(cpu);
    saltus_model_destroy(m);
}

static saltus_status run(const sweep_case *c, const char *device, kept *out,
                         saltus_run_report *report, saltus_error *err)
{
    static const saltus_reduction sums, finals = {.finals = true}, bins = {.n_bins = 128};
    saltus_sweep *sweep = NULL;
    saltus_sweep_options o = saltus_sweep_options_default();
    const saltus_collection what = {.n_runs = c->n_runs,
                                    .n_times = N_GRID,
                                    .times = grid,
                                    .record = c->record,
                                    .derivation = {.wanted = wanted,
                                                   .n = N_WANTED,
                                                   .times = grid,
                                                   .first = 1,
                                                   .n_times = N_GRID},
                                    .reduction = c->record == SALTUS_RECORD_STATS       ? &sums
                                                 : c->record == SALTUS_RECORD_FINAL     ? &finals
                                                 : c->record == SALTUS_RECORD_HISTOGRAM ? &bins
                                                                                        : NULL};
    out->what = what;
    out->sink = (saltus_sweep_sink){
        .user = out, .open = open_point, .deliver = deliver, .discard = discard};
    o.load = load;
    o.load_user = (void *)(uintptr_t)c->model;
    o.device = device;
    o.common_random_numbers = c->common;
    o.first_point = out->part.first_point;
    o.n_points = out->part.n_points;
    o.runs_apart = out->part.runs_apart;
    const bool is_scalar = c->layout && strcmp(c->layout, "scalar") == 0;
    o.plan.layout = strcmp(device, "cpu") == 0 && !is_scalar ? "auto" : c->layout;
    o.plan.method = c->method ? c->method : "direct";
    o.plan.columns = c->columns;
    count_columns(&o.plan, c->model, &out->what, err);
    o.run.seed = 7;
    o.run.first_trajectory = 3;
    o.run.n_trajectories = c->n_runs;
    o.run.times = grid;
    o.run.n_times = N_GRID;
    o.run.stop = &out->stop;
    assert_int_equal(saltus_sweep_create(&sweep, err), SALTUS_OK);
    for (int i = 0; i < 3 && c->vary[i]; ++i) {
        assert_int_equal(saltus_sweep_vary(sweep, c->vary[i], err), SALTUS_OK);
    }
    assert_int_equal(saltus_sweep_finish(sweep, NULL, 1, err), SALTUS_OK);
    assert_true(saltus_sweep_n_points(sweep) <= MOST_POINTS);
    const saltus_status status = saltus_sweep_run(sweep, &o, &out->sink, report, err);
    saltus_sweep_destroy(sweep);
    return status;
}

static void check_part(const sweep_case *c, part of)
{
    kept cpu = {.part = of}, gpu = {.part = of};
    saltus_run_report of_cpu = {0}, of_gpu = {0};
    saltus_error err = {0};
    if (run(c, "cpu", &cpu, &of_cpu, &err) != SALTUS_OK ||
        run(c, "cuda", &gpu, &of_gpu, &err) != SALTUS_OK) {
        fail_msg("%.60s, %s: %s", c->model, c->layout, err.message);
    }
    assert_true(cpu.n == gpu.n && cpu.n > 1);
    assert_true(of_cpu.events == of_gpu.events && of_cpu.trajectories == of_gpu.trajectories);
    compare(&cpu, &gpu);
    free_kept(&cpu);
    free_kept(&gpu);
}

static void check(const sweep_case *c)
{
    check_part(c, (part){0});
}

/* Some points, and some runs of each. */
static void a_part_is_like_that_of_the_cpu(void **state)
{
    static const sweep_case cases[] = {
        {mixed,
         {"k=lin:0.5:2:8", "A=list:10,40"},
         "shared",
         NULL,
         9,
         SALTUS_RECORD_FINAL,
         false,
         NULL},
        {mixed, {"k=lin:0.5:2:8"}, "registers", NULL, 5, SALTUS_RECORD_STATS, true, NULL}};
    (void)state;
    need_gpu("cuda");
    check_part(&cases[0], (part){5, 7, 20});
    check_part(&cases[1], (part){2, 0, 11});
}

static void every_layout_takes_points(void **state)
{
    static const char *const layouts[] = {"registers", "shared", "warp", "global"};
    static const sweep_case cases[] = {
        {mixed, {"k=lin:0.5:2:4", "A=list:10,40"}, NULL, NULL, 9, SALTUS_RECORD_STATS, false, NULL},
        {"dimer-decay-x4.yaml", {"c1=list:0.5,2"}, NULL, NULL, 3, SALTUS_RECORD_ALL, false, NULL},
        {"dimer-decay-x12.yaml",
         {"S1_3=list:20,30", "c4=list:0.1,0.2"},
         NULL,
         NULL,
         20,
         SALTUS_RECORD_FINAL,
         true,
         "S2_1,S1_3"},
        {"ras-camp-pka.yaml",
         {"GTP=list:1.9e4,5e6", "Cdc25=list:50,300", "c31=list:0,1e-4"},
         NULL,
         NULL,
         7,
         SALTUS_RECORD_STATS,
         false,
         "cAMP,PKA"},
        {"gene-network.yaml",
         {"c1=lin:0.1:0.2:3"},
         NULL,
         NULL,
         40,
         SALTUS_RECORD_HISTOGRAM,
         false,
         NULL},
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        /* each layout has its turn, if not in every case */
        for (size_t l = i % stride_of_kernels(); l < sizeof layouts / sizeof *layouts;
             l += stride_of_kernels()) {
            sweep_case c = cases[i];
            c.layout = layouts[l];
            check(&c);
        }
    }
}

static void every_kind_of_result(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_ALL, SALTUS_RECORD_STATS,
                                            SALTUS_RECORD_FINAL, SALTUS_RECORD_HISTOGRAM};
    static const int64_t runs[] = {1, 8, 33};
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        for (size_t r = 0; r < sizeof runs / sizeof *runs; ++r) {
            const sweep_case c = {mixed,       {"m=lin:0.01:0.03:5", "B=list:0,30"},
                                  "registers", NULL,
                                  runs[r],     records[i],
                                  r == 1,      NULL};
            check(&c);
        }
    }
}

static void laws_events_and_leaps(void **state)
{
    static const sweep_case cases[] = {
        {hill,
         {"K=lin:10:50:3", "h=list:1,2,4"},
         "registers",
         NULL,
         12,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {hill,
         {"K=lin:10:50:3", "k=list:1,2"},
         "global",
         NULL,
         12,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {hill,
         {"K=lin:10:50:3", "h=list:1,2"},
         "global",
         "tau",
         4,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {drifting,
         {"k=lin:1:30:3", "w=list:1,3", "X=list:5,50"},
         "registers",
         NULL,
         12,
         SALTUS_RECORD_ALL,
         false,
         NULL},
        {mixed, {"k=lin:1:30:3"}, "global", "tau", 12, SALTUS_RECORD_ALL, false, NULL},
        {mixed,
         {"k=lin:1:30:3", "A=list:10,4000"},
         "registers",
         "tau",
         12,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {hill,
         {"K=lin:10:50:3", "h=list:1,2"},
         "registers",
         "tau",
         4,
         SALTUS_RECORD_FINAL,
         true,
         NULL},
        {events,
         {"k=list:0.5,1", "when=list:0.25,0.5,2"},
         "global",
         NULL,
         12,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {events,
         {"k=list:0.5,1", "when=list:0.25,0.5,2"},
         "registers",
         NULL,
         12,
         SALTUS_RECORD_STATS,
         false,
         NULL},
        {pending, {"k=list:10,30,60"}, "registers", NULL, 12, SALTUS_RECORD_FINAL, false, NULL},
        {pending, {"k=list:10,30,60"}, "global", NULL, 2, SALTUS_RECORD_ALL, false, NULL},
        {flows,
         {"k=list:1,3", "m=list:0.01,0.02", "A=list:0.4,7.5,12"},
         "global",
         "ode",
         2,
         SALTUS_RECORD_STATS,
         false,
         NULL},
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check(&cases[i]);
    }
}

/* Points that need another kernel, or record another way, are run one by one. */
static void points_may_be_unlike(void **state)
{
    static const sweep_case cases[] = {
        {power, {"p=list:1,1.5,2"}, "registers", NULL, 12, SALTUS_RECORD_STATS, false, NULL},
        {power, {"p=list:1,2"}, "auto", NULL, 12, SALTUS_RECORD_STATS, false, NULL},
        {observed, {"c=list:1,2,4"}, "global", NULL, 5, SALTUS_RECORD_STATS, false, "A,[A]"},
        {many, {"B=list:0,5e9"}, "auto", NULL, 2, SALTUS_RECORD_STATS, false, NULL},
        {many, {"B=list:0,4e15"}, "auto", NULL, 2, SALTUS_RECORD_STATS, false, NULL},
        {many, {"B=list:0,5e9"}, "global", NULL, 2, SALTUS_RECORD_STATS, false, NULL},
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check(&cases[i]);
    }
}

static void failures_name_their_point(void **state)
{
    static const sweep_case c = {dies, {"limit=list:1000,9,900"}, "registers", NULL,
                                 40,   SALTUS_RECORD_STATS,       false,       NULL};
    kept gpu = {0};
    saltus_run_report report = {0};
    saltus_error err = {0};
    (void)state;
    need_gpu("cuda");
    assert_int_equal(run(&c, "cuda", &gpu, &report, &err), SALTUS_E_NUMERIC);
    assert_non_null(strstr(err.message, "at limit = 9: "));
    assert_non_null(strstr(err.message, "'down'"));
    assert_true(gpu.n <= 1);
    free_kept(&gpu);
}

/* Whole points alone, from the first on. */
static void a_sweep_can_be_stopped(void **state)
{
    static const sweep_case c = {mixed, {"k=lin:1:2:300"}, "registers", NULL,
                                 7,     SALTUS_RECORD_ALL, false,       NULL};
    kept gpu = {.stop_after = 5}, cpu = {0}, none = {.stop = 1};
    saltus_run_report report = {0};
    saltus_error err = {0};
    (void)state;
    need_gpu("cuda");
    const saltus_status status = run(&c, "cuda", &gpu, &report, &err);
    assert_true(status == SALTUS_E_CANCELLED || (status == SALTUS_OK && gpu.n == 300));
    assert_true(gpu.n >= 5);
    assert_int_equal(run(&c, "cpu", &cpu, &report, &err), SALTUS_OK);
    compare(&cpu, &gpu);
    err = (saltus_error){0};
    assert_int_equal(run(&c, "cuda", &none, &report, &err), SALTUS_E_CANCELLED);
    assert_int_equal(none.n, 0);
    free_kept(&cpu);
    free_kept(&gpu);
}

/* Of so few points the CPU makes runs of their own. */
enum { FEW_POINTS = 50 };

/* A sweep of many points on the CPU is like its parts. */
static void check_on_cpu(const sweep_case *c, int64_t n_points)
{
    kept all = {0};
    saltus_run_report of_all = {0}, of_parts = {0};
    saltus_error err = {0};
    if (run(c, "cpu", &all, &of_all, &err) != SALTUS_OK) {
        fail_msg("%.60s: %s", c->model, err.message);
    }
    assert_true(all.n == n_points && n_points > FEW_POINTS);
    assert_true(all.n_open >= n_points);
    for (int64_t first = 0; first < n_points; first += FEW_POINTS) {
        const int64_t n = n_points - first < FEW_POINTS ? n_points - first : FEW_POINTS;
        kept some = {.part = {first, n, 0}}, view = all;
        saltus_run_report report = {0};
        assert_int_equal(run(c, "cpu", &some, &report, &err), SALTUS_OK);
        assert_int_equal(some.n, n);
        memmove(view.points, view.points + first, (size_t)n * sizeof *view.points);
        compare(&view, &some);
        free_kept(&some);
        of_parts.events += report.events;
        of_parts.trajectories += report.trajectories;
    }
    const bool flows_alone = c->method && strcmp(c->method, "ode") == 0;
    assert_true(of_all.events == of_parts.events && (flows_alone || of_all.events > 0));
    assert_true(of_all.trajectories == of_parts.trajectories);
    free_kept(&all);
}

static void the_cpu_takes_many_points_at_once(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_ALL, SALTUS_RECORD_STATS,
                                            SALTUS_RECORD_FINAL, SALTUS_RECORD_HISTOGRAM};
    static const int64_t runs[] = {1, 3, 40};
    static const sweep_case cases[] = {
        {.model = hill,
         .vary = {"K=lin:10:50:9", "h=list:1,2,4", "X=list:5,50,80"},
         .record = SALTUS_RECORD_ALL},
        {.model = events,
         .vary = {"k=lin:0.5:1:30", "when=list:0.25,0.5,2"},
         .record = SALTUS_RECORD_ALL},
        {.model = pending, .vary = {"k=lin:1:20:81"}, .record = SALTUS_RECORD_FINAL},
        {.model = power,
         .vary = {"p=list:1,1.5,2", "A=lin:10:36:27"},
         .record = SALTUS_RECORD_STATS},
        {.model = power, .vary = {"p=list:1,2", "A=lin:10:90:81"}, .record = SALTUS_RECORD_STATS},
        {.model = drifting, .vary = {"k=lin:1:30:27", "w=list:1,3,7"}, .record = SALTUS_RECORD_ALL},
        {.model = observed, .vary = {"c=list:1,2,4", "k=lin:0.1:1:27"}, .columns = "A,[A]"},
        {.model = observed,
         .vary = {"A=lin:0:80:81"},
         .columns = "A,[A]",
         .record = SALTUS_RECORD_ALL},
        {.model = many, .vary = {"B=list:0,4e15", "k=lin:1:2:81"}, .record = SALTUS_RECORD_STATS},
        {.model = "dimer-decay-x12.yaml", .vary = {"S1_3=lin:1:9:9", "c4=lin:0.1:0.9:9"}},
        {.model = mixed, .vary = {"k=lin:0.5:2:81"}, .method = "tau"},
        {.model = flows, .vary = {"A=lin:0.3:40:27", "k=list:1,2,3"}, .method = "ode"}};
    static const int64_t n_points[] = {81, 90, 81, 81, 162, 81, 81, 81, 162, 81, 81, 81};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        for (size_t r = 0; r < sizeof runs / sizeof *runs; ++r) {
            const sweep_case c = {mixed,
                                  {"m=lin:0.01:0.03:9", "B=list:0,30,31", "k=list:0,1,2"},
                                  i == 1 ? "scalar" : NULL,
                                  NULL,
                                  runs[r],
                                  records[i],
                                  r == 1,
                                  NULL};
            check_on_cpu(&c, 81);
        }
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sweep_case c = cases[i];
        c.n_runs = 2;
        check_on_cpu(&c, n_points[i]);
    }
}

static void failures_on_the_cpu_name_their_point(void **state)
{
    static const sweep_case c = {.model = dies, .vary = {"limit=lin:9:1000:100"}, .n_runs = 1};
    kept cpu = {0};
    saltus_run_report report = {0};
    saltus_error err = {0};
    (void)state;
    assert_int_equal(run(&c, "cpu", &cpu, &report, &err), SALTUS_E_NUMERIC);
    assert_non_null(strstr(err.message, "at limit = "));
    assert_non_null(strstr(err.message, "'down'"));
    free_kept(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_takes_points),
        cmocka_unit_test(every_kind_of_result),
        cmocka_unit_test(laws_events_and_leaps),
        cmocka_unit_test(points_may_be_unlike),
        cmocka_unit_test(failures_name_their_point),
        cmocka_unit_test(a_sweep_can_be_stopped),
        cmocka_unit_test(a_part_is_like_that_of_the_cpu),
        cmocka_unit_test(the_cpu_takes_many_points_at_once),
        cmocka_unit_test(failures_on_the_cpu_name_their_point),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
