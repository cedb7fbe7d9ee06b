/* Hallock et al. 2014, figure 8: particles in the upper quarter of a box that spread through a
 * barrier, in slabs of fixed height and in slabs that are levelled, on GPUs that are alike and on
 * such of which the last has half as many multiprocessors. */
#include "backend/cuda/cuda.h"
#include "bench/bench.h"

#include "core/memory.h"
#include "model/lattice/lattice.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SLABS = 8,
    POINTS = 40,       /* of a course that are printed, at most */
    SETTLED = 4,       /* the last one of so many parts is looked at */
    LEAST_STEPS = 1024 /* a few batches at least */
};

typedef struct setting {
    const char *name;
    int size[3];
    int64_t particles;
    int64_t steps;
    int most_gpus;
} setting;

static saltus_status make_model(const setting *x, saltus_model **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char text[800];
    const int z = x->size[2];
    (void)snprintf(
        text, sizeof text,
        "model: barrier\nspecies: {A: %lld}\nlattice:\n  size: [%d, %d, %d]\n"
        "  spacing: 16 nm\n  step: largest\n  faces: reflecting\n  sites:\n"
        "    solution:\n    barrier:\n      box: {from: [0, 0, %d sites], to: [%d sites, %d sites, "
        "%d sites]}\n"
        "    start:\n      box: {from: [0, 0, %d sites], to: [%d sites, %d sites, %d sites]}\n"
        "  diffusion:\n    A: {solution: 1 um2/s, barrier: 0.1 um2/s, start: 1 um2/s}\n"
        "  place: {A: start}\n",
        (long long)x->particles, x->size[0], x->size[1], z, z / 32 * 15, x->size[0], x->size[1],
        z / 32 * 17, z / 4 * 3, x->size[0], x->size[1], z);
    SALTUS_TRY(saltus_model_parse_yaml(text, strlen(text), x->name, out, err));
    SALTUS_TRY(saltus_model_freeze(*out, SALTUS_LAW_LITERAL, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * A run that is watched
 */

typedef struct row {
    double step, now, planes[MOST_SLABS], us[MOST_SLABS];
} row;

typedef struct course {
    int n_slabs;
    int64_t n, room;
    row *rows;       /* [room]; n are whole */
    double *sorted;  /* [n] room for times */
    bool has_failed; /* memory ran out */
    int64_t *last;   /* [plane] counts at the end */
    int64_t n_planes, at_first, at_last;
    saltus_run_report report;
} course;

static void watch(void *user, const saltus_span *span)
{
    course *c = user;
    if (span->track != SALTUS_TRACK_SLAB || c->has_failed) {
        return;
    }
    if (c->n == c->room) {
        c->room = 2 * c->room + 64;
        row *more = realloc(c->rows, (size_t)c->room * sizeof *more);
        c->has_failed = !more;
        c->rows = more ? more : c->rows;
        if (!more) {
            return;
        }
    }
    row *r = &c->rows[c->n];
    if (strcmp(span->name, "step") == 0) {
        r->step = span->value;
        r->now = span->start;
    } else if (strcmp(span->name, "planes") == 0) {
        r->planes[span->worker] = span->value;
    } else {
        r->us[span->worker] = span->value;
        c->n += span->worker == c->n_slabs - 1;
    }
}

static saltus_status take_counts(void *user, const saltus_block *block, void *prepared,
                                 saltus_error *err)
{
    course *c = user;
    const int64_t n = block->n_parts[SALTUS_BY_PLANE], end = block->n_points - 1;
    (void)prepared;
    (void)err;
    c->n_planes = n;
    c->at_first = block->counts[0];
    c->at_last = 0;
    memcpy(c->last, block->splits[SALTUS_BY_PLANE] + end * n, (size_t)n * sizeof *c->last);
    for (int64_t i = 0; i < n; ++i) {
        c->at_last += c->last[i];
    }
    return SALTUS_OK;
}

static void free_course(course *c)
{
    free(c->rows);
    saltus_free(c->sorted);
    saltus_free(c->last);
}

static saltus_status follow(const saltus_model *m, const saltus_backend *device, int n_slabs,
                            bool moves, int64_t steps, course *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = m->network->lattice;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    char split[60] = "1";
    const double times[] = {0.0, (double)steps * l->step};
    const saltus_sink sink = {.user = c, .deliver = take_counts};
    for (int i = 1; i < n_slabs; ++i) {
        (void)snprintf(split + strlen(split), sizeof split - strlen(split), ":1");
    }
    (void)snprintf(split + strlen(split), sizeof split - strlen(split), moves ? "+" : "");
    *c = (course){.n_slabs = n_slabs};
    c->last = saltus_calloc((size_t)l->size[2], sizeof *c->last);
    SALTUS_NEED(c->last);
    o.method = "mpd";
    o.layout = "counts";
    o.split = split;
    o.profile = "z";
    run.times = times;
    run.n_times = 2;
    run.trace = watch;
    run.trace_user = c;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(saltus_run(plan, &run, &sink, &c->report, err));
    c->sorted = saltus_calloc((size_t)c->n + 1, sizeof *c->sorted);
    SALTUS_NEED(!c->has_failed && c->sorted);
done:
    saltus_plan_destroy(plan);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Lines
 */

typedef struct comparison {
    const setting *of;
    int n_gpus, n_slabs;
    bool is_halved;
    double step; /* s */
} comparison;

static void put_start(bench *b, const comparison *x, bool moves)
{
    const setting *of = x->of;
    char size[60];
    (void)snprintf(size, sizeof size, "%dx%dx%d", of->size[0], of->size[1], of->size[2]);
    bench_put(b, FIELD("figure", 8), FIELD("case", of->name), FIELD("size", size),
              FIELD("particles", of->particles), FIELD("gpus", x->n_gpus),
              FIELD("slabs", x->n_slabs), FIELD("last_gpu_halved", x->is_halved),
              FIELD("planes_move", moves));
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of rows [from, to) mean steps and planes, and medians of times, some of which have been
 * disturbed.
 */
static row mean_of(course *c, int64_t from, int64_t to)
{
    row mean = {0};
    const int64_t n = to - from;
    for (int i = 0; i < c->n_slabs; ++i) {
        for (int64_t r = 0; r < n; ++r) {
            c->sorted[r] = c->rows[from + r].us[i];
            mean.planes[i] += c->rows[from + r].planes[i] / (double)n;
        }
        qsort(c->sorted, (size_t)n, sizeof *c->sorted, compare_numbers);
        mean.us[i] = 0.5 * (c->sorted[(n - 1) / 2] + c->sorted[n / 2]);
    }
    for (int64_t r = from; r < to; ++r) {
        mean.step += c->rows[r].step / (double)n;
    }
    return mean;
}

static void print_course(bench *b, const comparison *x, bool moves, course *c)
{
    const int64_t n = c->n < POINTS ? c->n : POINTS;
    for (int64_t p = 0; p < n; ++p) {
        const row mean = mean_of(c, c->n * p / n, c->n * (p + 1) / n);
        for (int i = 0; i < c->n_slabs; ++i) {
            put_start(b, x, moves);
            bench_put(b, FIELD("time", mean.step * x->step), FIELD("slab", i),
                      FIELD("planes", mean.planes[i]), FIELD("us", mean.us[i]));
            bench_end(b);
        }
    }
}

/* From the end of the first batch to that of the last. */
static double seconds_of(const course *c)
{
    return c->n > 1 ? c->rows[c->n - 1].now - c->rows[0].now : 0.0;
}

/* The mean time of slabs, when all has settled, over that of the one that takes longest. */
static double share_of_ideal(course *c)
{
    double sum = 0.0, most = 0.0;
    if (c->n == 0) {
        return 0.0;
    }
    const row mean = mean_of(c, c->n - 1 - (c->n - 1) / SETTLED, c->n);
    for (int i = 0; i < c->n_slabs; ++i) {
        sum += mean.us[i];
        most = mean.us[i] > most ? mean.us[i] : most;
    }
    return most > 0.0 ? sum / c->n_slabs / most : 0.0;
}

static void print_end(bench *b, const comparison *x, bool moves, course *c, double fixed_seconds,
                      bool is_right)
{
    const double seconds = seconds_of(c);
    const double steps = c->n > 1 ? c->rows[c->n - 1].step - c->rows[0].step : 0.0;
    put_start(b, x, moves);
    bench_put(b, FIELD("steps", steps), FIELD("seconds", seconds),
              FIELD("seconds_run", c->report.seconds),
              FIELD("planes_moved", c->report.planes_moved), FIELD("of_ideal", share_of_ideal(c)),
              FIELD("us_per_step", bench_ratio(1e6 * seconds, steps)),
              FIELD_IF(moves, "over_fixed", bench_ratio(fixed_seconds, seconds)));
    bench_end_checked(b, is_right);
}

/* ------------------------------------------------------------------------------------------------
 * Cases
 */

static saltus_status compare(bench *b, const comparison *x, const saltus_model *m,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t part = (int64_t)((double)x->of->steps * b->part),
                  steps = b->quick || part > LEAST_STEPS ? part : LEAST_STEPS;
    course fixed = {0}, levelled = {0};
    saltus_backend *device = NULL;
    SALTUS_TRY(bench_open_gpus(x->n_gpus, &device, err));
    if (x->is_halved) {
        saltus_cuda_halve(device, x->n_gpus - 1);
    }
    SALTUS_TRY(follow(m, device, x->n_slabs, false, steps, &fixed, err));
    const bool keeps = fixed.at_first == x->of->particles && fixed.at_last == fixed.at_first;
    print_course(b, x, false, &fixed);
    print_end(b, x, false, &fixed, 0.0, keeps);
    SALTUS_TRY(follow(m, device, x->n_slabs, true, steps, &levelled, err));
    print_course(b, x, true, &levelled);
    print_end(b, x, true, &levelled, seconds_of(&fixed),
              levelled.at_last == levelled.at_first && levelled.n_planes == fixed.n_planes &&
                  memcmp(levelled.last, fixed.last, (size_t)fixed.n_planes * sizeof *fixed.last) ==
                      0);
done:
    saltus_backend_close(device);
    free_course(&fixed);
    free_course(&levelled);
    return status;
}

static saltus_status compare_all(bench *b, const setting *of, int n_gpus, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    comparison x = {.of = of};
    x.n_gpus = n_gpus < of->most_gpus ? n_gpus : of->most_gpus;
    x.n_slabs = x.n_gpus > 1 ? x.n_gpus : 2;
    SALTUS_TRY(make_model(of, &m, err));
    x.step = m->network->lattice->step;
    SALTUS_TRY(compare(b, &x, m, err));
    x.is_halved = true;
    if (n_gpus > 1) {
        SALTUS_TRY(compare(b, &x, m, err));
    } else {
        put_start(b, &x, true);
        bench_end_skipped(b, "one GPU alone");
    }
done:
    saltus_model_destroy(m);
    return status;
}

static saltus_status time_row(bench *b, const bench_table *t, saltus_error *err)
{
    const setting of = {
        bench_cell(t, "case"),
        {(int)bench_whole(t, "x"), (int)bench_whole(t, "y"), (int)bench_whole(t, "z")},
        bench_whole(t, "particles"),
        bench_whole(t, "steps"),
        (int)bench_whole(t, "gpus")};
    return b->quick == (bench_number(t, "quick") > 0.0) ? compare_all(b, &of, b->n_gpus, err)
                                                        : SALTUS_OK;
}

saltus_status bench_hallock_balance(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, time_row, err);
}
