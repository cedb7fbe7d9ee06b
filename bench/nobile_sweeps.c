/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963: sweeps, figures 10 to 13.
 * By the exact method; the paper's times are of a GTX 590, COPASI's of one core of an i7, in
 * seconds. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"
#include "sweep/collect.h"
#include "ensemble/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_POINTS = 3, QUICK_RUNS = 20 };
static const double too_long = 600.0; /* seconds: what is not done by then is left out */

typedef struct session {
    bench *bench;
    const bench_table *c; /* its row */
    char path[1200];
    int64_t runs, paper_points;
    int n_times;
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

/* The sweep at its size: with a run at every point --part takes points, else it takes runs. An axis
 * is NAME=…:N. */
static saltus_status make_points(session *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bench *b = s->bench;
    const char *axes = bench_cell(s->c, "vary"), *at = axes;
    char axis[BENCH_WORD], text[100];
    int n_axes = 0;
    while (bench_word(&at, axis)) {
        ++n_axes;
    }
    SALTUS_TRY(saltus_sweep_create(&s->sweep, err));
    s->paper_points = 1;
    while (bench_word(&axes, axis)) {
        char *const length = strrchr(axis, ':');
        const double share = s->runs == 1 ? pow(b->part, 1.0 / n_axes) : 1.0;
        const int whole = atoi(length + 1), n = (int)fmax(2.0, round(share * whole));
        *length = '\0';
        (void)snprintf(text, sizeof text, "%s:%d", axis,
                       b->quick && n > QUICK_POINTS ? QUICK_POINTS : n);
        SALTUS_TRY(saltus_sweep_vary(s->sweep, text, err));
        s->paper_points *= whole;
    }
    SALTUS_TRY(saltus_sweep_finish(s->sweep, NULL, 1, err));
    const int64_t runs = s->runs == 1 ? 1 : (int64_t)ceil(b->part * (double)s->runs);
    s->options.run.n_trajectories = b->quick && runs > QUICK_RUNS ? QUICK_RUNS : runs;
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
    if (bench_cell(s->c, "derive")[0]) {
        SALTUS_TRY(saltus_derived_parse(bench_cell(s->c, "derive"), plan, &s->derived, err));
    }
    s->what.derivation = (saltus_derivation){.wanted = s->derived.wanted,
                                             .n = s->derived.n,
                                             .n_counts = s->what.n_counts,
                                             .times = s->times,
                                             .n_times = s->what.n_times};
    int64_t *first = &s->what.derivation.first;
    const double burnt = bench_number(s->c, "burn_in") / bench_number(s->c, "until");
    while (s->times[*first] < burnt * s->times[s->what.n_times - 1]) {
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
    saltus_sweep_options *o = &s->options;
    const double end = bench_sized(s->bench, s->c, "until");
    (void)snprintf(s->path, sizeof s->path, "%s/%s.yaml", s->bench->examples,
                   bench_cell(s->c, "model"));
    s->runs = bench_whole(s->c, "runs");
    s->n_times = (int)bench_whole(s->c, "times");
    *o = saltus_sweep_options_default();
    o->load = load;
    o->load_user = s;
    o->device = device;
    o->plan.columns = bench_cell(s->c, "species");
    o->plan.n_threads = s->bench->threads;
    SALTUS_TRY(make_points(s, err));
    s->times = saltus_calloc((size_t)s->n_times, sizeof *s->times);
    SALTUS_NEED(s->times);
    for (int i = 0; i < s->n_times; ++i) {
        s->times[i] = end * (i + 1) / s->n_times;
    }
    o->run.times = s->times;
    o->run.n_times = s->n_times;
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
    bench *b = s->bench;
    const int64_t n_points = saltus_sweep_n_points(s->sweep);
    const bool is_gpu = strncmp(s->options.device, "cuda", 4) == 0;
    const bool is_whole = s->n_delivered == n_points;
    const double paper = bench_number(s->c, "paper");
    const bool compares =
        is_whole && paper > 0.0 && n_points == s->paper_points && s->what.n_runs == s->runs;
    bench_put(b, FIELD("figure", bench_whole(s->c, "figure")),
              FIELD("model", bench_cell(s->c, "model")), FIELD("sweep", bench_cell(s->c, "sweep")),
              FIELD("until", s->times[s->n_times - 1]), FIELD("points", n_points),
              FIELD("runs", s->what.n_runs), FIELD("paper_points", s->paper_points),
              FIELD("paper_runs", s->runs), FIELD("engine", is_gpu ? "gpu" : "cores"),
              FIELD("method", "direct"), FIELD("points_done", s->n_delivered),
              FIELD("events", report->events), FIELD("seconds", report->seconds),
              FIELD_IF(is_gpu, "kernel_seconds", report->kernel_seconds),
              FIELD_IF(!is_whole, "left_out", n_points - s->n_delivered),
              FIELD_IF(!is_whole, "left_out_after", too_long),
              FIELD_IF(compares, "paper_seconds", paper),
              FIELD_IF(compares, "copasi_seconds", bench_number(s->c, "copasi")),
              FIELD_IF(compares, "over_paper", paper / report->seconds));
    bench_end_checked(b, is_right);
}

static saltus_status time_sweep(bench *b, const bench_table *c, const char *device,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error failure = {0};
    saltus_run_report report = {0};
    session s = {.bench = b, .c = c};
    bench_limit limit = {.seconds = too_long};
    const saltus_sweep_sink sink = {
        .user = &s, .open = open_point, .deliver = deliver, .discard = discard};
    bool is_right = true;
    SALTUS_TRY(prepare(&s, device, err));
    bench_set_limit(&limit, &s.options.run);
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

static saltus_status time_row(bench *b, const bench_table *t, saltus_error *err)
{
    const saltus_status status = time_sweep(b, t, "cpu", err);
    return status == SALTUS_OK && b->gpu ? time_sweep(b, t, saltus_backend_name(b->gpu), err)
                                         : status;
}

saltus_status bench_nobile_sweeps(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(bench_nobile_heat_map(b, err));
    SALTUS_TRY(bench_each_row(b, b->name, time_row, err));
    SALTUS_TRY(bench_nobile_break_even(b, err));
done:
    return status;
}
