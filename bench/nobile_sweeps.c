/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963: sweeps, figures 10 to 13.
 * By the exact method; the paper's times are of a GTX 590, COPASI's of one core of an i7, in
 * seconds. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"
#include "sweep/collect.h"
#include "ensemble/reduction.h"

#include <math.h>
#include <string.h>

enum { MOST_AXES = 3, QUICK_POINTS = 3, QUICK_RUNS = 20 };
static const double too_long = 600.0; /* seconds: what is not done by then is left out */

static const struct sweep_case {
    int figure;
    const char *name, *file;
    const char *vary[MOST_AXES]; /* without the number of values, which is */
    int length[MOST_AXES];
    int64_t runs; /* at every point */
    double t_end, quick_end;
    int n_times;
    const char *columns, *derive; /* derive: NULL for the means at the end */
    double burn_in;
    double paper, copasi; /* 0: not published */
} cases[] = {
    {10,
     "c3",
     "schlogl",
     {"c3=lin:6.9e-4:1.4e-3"},
     {10},
     26214,
     10.0,
     10.0,
     2,
     "X",
     NULL,
     0.0,
     34.92,
     1013.0},
    {11,
     "c1 x c2 x c3",
     "schlogl",
     {"c1=lin:2.9e-7:3.1e-7", "c2=lin:8e-5:1.1e-4", "c3=lin:6e-4:1.2e-3"},
     {16, 16, 16},
     256,
     10.0,
     10.0,
     2,
     "X",
     NULL,
     0.0,
     0.0,
     0.0},
    {12,
     "GTP x Cdc25",
     "ras-camp-pka",
     {"GTP=lin:1.9e4:5e6", "Cdc25=lin:0:600"},
     {256, 256},
     1,
     1500.0,
     0.3,
     1500,
     "cAMP",
     "amplitude:cAMP",
     500.0,
     0.0,
     0.0},
    {13,
     "c3",
     "ras-camp-pka",
     {"c3=log:1.5e-3:150"},
     {1024},
     1,
     1500.0,
     0.3,
     1500,
     "cAMP",
     "amplitude:cAMP",
     500.0,
     0.0,
     0.0},
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef struct session {
    saltus_bench *bench;
    const struct sweep_case *c;
    char path[1200];
    saltus_sweep *sweep;
    saltus_sweep_options options;
    double *times;
    saltus_collection what;
    saltus_derived derived;
    saltus_collector *first, *last; /* of the points that were delivered */
    int64_t n_delivered;
} session;

static saltus_model *load(void *user, saltus_error *err)
{
    const session *s = user;
    saltus_model *model = NULL;
    return saltus_model_read(s->path, &model, err) == SALTUS_OK ? model : NULL;
}

/* ---- points ---- */

static saltus_collector *collector_of(saltus_sink *sink)
{
    return (saltus_collector *)((char *)sink - offsetof(saltus_collector, sink));
}

static saltus_status open_point(void *user, int64_t point, const saltus_plan *plan,
                                saltus_sink **sink, saltus_error *err)
{
    const session *s = user;
    saltus_collector *collector = NULL;
    const saltus_status status = saltus_collector_create(&s->what, &collector, err);
    (void)point, (void)plan;
    *sink = collector ? &collector->sink : NULL;
    return status;
}

static void discard(void *user, saltus_sink *sink)
{
    (void)user;
    saltus_collector_destroy(collector_of(sink));
}

static saltus_status deliver(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
{
    session *s = user;
    (void)point, (void)err;
    if (!s->first) {
        s->first = collector_of(sink);
    } else {
        saltus_collector_destroy(s->last);
        s->last = collector_of(sink);
    }
    ++s->n_delivered;
    return SALTUS_OK;
}

/* ---- before ---- */

/* The sweep at its size: with a run at every point --part takes points, else it takes runs. */
static saltus_status make_points(session *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const struct sweep_case *c = s->c;
    const double part = s->bench->part;
    int n_axes = 0;
    while (n_axes < MOST_AXES && c->vary[n_axes]) {
        ++n_axes;
    }
    SALTUS_TRY(saltus_sweep_create(&s->sweep, err));
    for (int a = 0; a < n_axes; ++a) {
        char text[100];
        const double share = c->runs == 1 ? pow(part, 1.0 / n_axes) : 1.0;
        const int length = (int)fmax(2.0, round(share * c->length[a]));
        (void)snprintf(text, sizeof text, "%s:%d", c->vary[a],
                       s->bench->quick && length > QUICK_POINTS ? QUICK_POINTS : length);
        SALTUS_TRY(saltus_sweep_vary(s->sweep, text, err));
    }
    SALTUS_TRY(saltus_sweep_finish(s->sweep, NULL, 1, err));
    const int64_t runs = c->runs == 1 ? 1 : (int64_t)ceil(part * (double)c->runs);
    s->options.run.n_trajectories = s->bench->quick && runs > QUICK_RUNS ? QUICK_RUNS : runs;
done:
    return status;
}

/* What is kept of a point, known from a plan of the first. */
static saltus_status choose_what(session *s, saltus_error *err)
{
    static const saltus_reduction sums = {0};
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_model *model = load(s, err);
    if (!model) {
        return err->code;
    }
    SALTUS_TRY(saltus_sweep_freeze(s->sweep, 0, model, SALTUS_LAW_LITERAL, err));
    SALTUS_TRY(saltus_plan_create(model, s->bench->cpu, &s->options.plan, &plan, err));
    s->what = (saltus_collection){.n_runs = s->options.run.n_trajectories,
                                  .n_times = s->options.run.n_times,
                                  .times = s->times,
                                  .n_counts = saltus_plan_n_counts(plan),
                                  .record = SALTUS_RECORD_STATS,
                                  .reduction = &sums};
    if (s->c->derive) {
        SALTUS_TRY(saltus_derived_parse(s->c->derive, plan, &s->derived, err));
    }
    s->what.derivation = (saltus_derivation){.wanted = s->derived.wanted,
                                             .n = s->derived.n,
                                             .n_counts = s->what.n_counts,
                                             .times = s->times,
                                             .n_times = s->what.n_times};
    int64_t *first = &s->what.derivation.first;
    while (s->times[*first] < s->c->burn_in / s->c->t_end * s->times[s->what.n_times - 1]) {
        ++*first;
    }
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(model);
    return status;
}

static saltus_status prepare(session *s, const char *device, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const struct sweep_case *c = s->c;
    saltus_sweep_options *o = &s->options;
    const double end = s->bench->quick ? c->quick_end : c->t_end;
    (void)snprintf(s->path, sizeof s->path, "%s/%s.yaml", s->bench->examples, c->file);
    *o = saltus_sweep_options_default();
    o->load = load;
    o->load_user = s;
    o->device = device;
    o->plan.columns = c->columns;
    o->plan.n_threads = s->bench->threads;
    SALTUS_TRY(make_points(s, err));
    s->times = saltus_calloc((size_t)c->n_times, sizeof *s->times);
    SALTUS_NEED(s->times);
    for (int i = 0; i < c->n_times; ++i) {
        s->times[i] = end * (i + 1) / c->n_times;
    }
    o->run.times = s->times;
    o->run.n_times = c->n_times;
    SALTUS_TRY(choose_what(s, err));
done:
    return status;
}

/* ---- after ---- */

static bool are_equal(const saltus_collector *a, const saltus_collector *b)
{
    const saltus_statistics *s = &a->statistics, *t = &b->statistics;
    const size_t n_derived = (size_t)(a->what->derivation.n * a->what->n_runs);
    return s->n == t->n && s->n == a->what->n_runs &&
           memcmp(s->sum, t->sum, s->width * sizeof *s->sum) == 0 &&
           memcmp(s->square, t->square, s->width * sizeof *s->square) == 0 &&
           memcmp(a->derived, b->derived, n_derived * sizeof *a->derived) == 0;
}

/* A point's trajectories are those of a single run on the CPU, to the bit. */
static saltus_status check_point(session *s, int64_t point, const saltus_collector *swept,
                                 bool *is_right, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_collector *single = NULL;
    saltus_run_options run = s->options.run;
    saltus_model *model = load(s, err);
    if (!model) {
        return err->code;
    }
    run.first_trajectory += point * run.n_trajectories;
    run.progress = NULL;
    run.stop = NULL;
    SALTUS_TRY(saltus_sweep_freeze(s->sweep, point, model, SALTUS_LAW_LITERAL, err));
    SALTUS_TRY(saltus_plan_create(model, s->bench->cpu, &s->options.plan, &plan, err));
    SALTUS_TRY(saltus_collector_create(&s->what, &single, err));
    SALTUS_TRY(saltus_run(plan, &run, &single->sink, NULL, err));
    *is_right = *is_right && are_equal(single, swept);
done:
    saltus_collector_destroy(single);
    saltus_plan_destroy(plan);
    saltus_model_destroy(model);
    return status;
}

static void print_row(const session *s, const saltus_run_report *report, bool is_right)
{
    const struct sweep_case *c = s->c;
    const int64_t n_points = saltus_sweep_n_points(s->sweep);
    const bool is_gpu = strncmp(s->options.device, "cuda", 4) == 0;
    int64_t paper_points = 1;
    for (int a = 0; a < MOST_AXES && c->vary[a]; ++a) {
        paper_points *= c->length[a];
    }
    printf("{\"bench\": \"%s\", \"figure\": %d, \"model\": \"%s\", \"sweep\": \"%s\", \"until\": "
           "%g, \"points\": %lld, \"runs\": %lld, \"paper_points\": %lld, \"paper_runs\": %lld, "
           "\"engine\": \"%s\", \"method\": \"direct\", \"points_done\": %lld, \"events\": %lld, "
           "\"seconds\": %.4g",
           s->bench->name, c->figure, c->file, c->name, s->times[c->n_times - 1],
           (long long)n_points, (long long)s->what.n_runs, (long long)paper_points,
           (long long)c->runs, is_gpu ? "gpu" : "cores", (long long)s->n_delivered,
           (long long)report->events, report->seconds);
    if (is_gpu) {
        printf(", \"kernel_seconds\": %.4g", report->kernel_seconds);
    }
    if (s->n_delivered < n_points) {
        printf(", \"left_out\": %lld, \"left_out_after\": %g",
               (long long)(n_points - s->n_delivered), too_long);
    } else if (c->paper > 0.0 && n_points == paper_points && s->what.n_runs == c->runs) {
        printf(", \"paper_seconds\": %g, \"copasi_seconds\": %g, \"over_paper\": %.4g", c->paper,
               c->copasi, c->paper / report->seconds);
    }
    printf(", \"check\": \"%s\"}\n", is_right ? "ok" : "failed");
    (void)fflush(stdout);
    s->bench->has_failed |= !is_right;
}

static saltus_status time_sweep(saltus_bench *bench, const struct sweep_case *c, const char *device,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error failure = {0};
    saltus_run_report report = {0};
    session s = {.bench = bench, .c = c};
    saltus_bench_limit limit = {.seconds = too_long};
    const saltus_sweep_sink sink = {&s, open_point, deliver, discard};
    bool is_right = true;
    SALTUS_TRY(prepare(&s, device, err));
    saltus_bench_set_limit(&limit, &s.options.run);
    status = saltus_sweep_run(s.sweep, &s.options, &sink, &report, &failure);
    if (status != SALTUS_OK && status != SALTUS_E_CANCELLED) {
        *err = failure;
        goto done;
    }
    status = SALTUS_OK;
    if (s.first) {
        SALTUS_TRY(check_point(&s, 0, s.first, &is_right, err));
    }
    if (s.last) {
        SALTUS_TRY(check_point(&s, s.n_delivered - 1, s.last, &is_right, err));
    }
    print_row(&s, &report, is_right);
done:
    saltus_collector_destroy(s.first);
    saltus_collector_destroy(s.last);
    saltus_derived_free(&s.derived);
    saltus_sweep_destroy(s.sweep);
    saltus_free(s.times);
    return status;
}

saltus_status saltus_bench_nobile_sweeps(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_bench_nobile_heat_map(bench, err));
    for (int i = 0; i < N_CASES; ++i) {
        SALTUS_TRY(time_sweep(bench, &cases[i], "cpu", err));
        if (bench->gpu) {
            SALTUS_TRY(time_sweep(bench, &cases[i], saltus_backend_name(bench->gpu), err));
        }
    }
    SALTUS_TRY(saltus_bench_nobile_break_even(bench, err));
done:
    return status;
}
