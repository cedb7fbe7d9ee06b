/* The points of a sweep as one run of a device, which is given every point's numbers: stretch after
 * stretch of points, so that memory is bounded. While one stretch runs the next is made ready. */
#include "core/limits.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "ensemble/blocks.h"
#include "sweep/sweep.h"
#include "model/freeze/point.h"

#include <string.h>

enum {
    ROWS_BYTES = 64 << 20, /* of a stretch */
    POINTS_EACH = 32,      /* of a thread that freezes, at least */
    CACHE_LINE = 64,       /* numbers of threads that are written together are as far apart */
};

/* Points first … first + n - 1. */
typedef struct segment {
    int64_t first, n;
    double *rows;         /* [n][size] */
    double *largest;      /* [1 + part][size, apart], the first over all points */
    uint8_t *varies;      /* likewise, the first also over the points of stretches before */
    int64_t failed;       /* the first point that could not be frozen; atomic */
    saltus_status status; /* of it */
    saltus_error error;
} segment;

typedef struct at_once {
    const saltus_sweep *sweep;
    const saltus_sweep_options *options;
    const saltus_sweep_sink *sink;
    saltus_model *model; /* at the first point */
    saltus_plan *plan;
    double *row;         /* of the first point */
    int64_t size, apart; /* numbers of a row; those of a thread and the next are so far apart */
    saltus_model *models[SALTUS_MOST_PARTS]; /* of the threads that make rows */
    saltus_rows *makers[SALTUS_MOST_PARTS];  /* NULL: by freezing */
    bool began[SALTUS_MOST_PARTS];           /* the model has a maker, or was found to have none */
    int n_models;
    int *variables;             /* [axis] in the model */
    segment segments[2], *next; /* the one to be made ready */
    pthread_mutex_t lock;       /* of its failure */
    saltus_run_report report;
    /* the sink of a run */
    saltus_sink *open; /* of point `point`, of which there are `n` trajectories; NULL: none yet */
    int64_t point, n;
    int64_t first;  /* point of the run */
    int64_t failed; /* the point that failed; -1: none */
    const volatile int *stop;
} at_once;

/* ---- the numbers of points ---- */

/* Freeze a thread's model at a point, and see if that is enough for all others. */
static void make_maker(at_once *o, int part, int64_t point)
{
    saltus_error err = {0}; /* freezing the point will tell the same */
    const bool leaps = saltus_plan_method_ops(o->plan)->leaps;
    const saltus_rows_use use = leaps                          ? SALTUS_ROWS_LEAPS
                                : saltus_plan_amounts(o->plan) ? SALTUS_ROWS_MEAN
                                                               : SALTUS_ROWS_EXACT;
    saltus_model *model = o->models[part];
    o->began[part] = true;
    if (saltus_sweep_set(o->sweep, point, model, &err) != SALTUS_OK ||
        saltus_rows_create(model, o->options->law, use, &o->makers[part], &err) != SALTUS_OK ||
        !saltus_point_is_like(&o->model->network->tables, &model->network->tables, leaps)) {
        saltus_rows_free(o->makers[part]);
        o->makers[part] = NULL;
    }
}

/* The row of a point from the numbers that change; false: the point has to be frozen. */
static bool make_row(const at_once *o, int part, int64_t point, double *row)
{
    saltus_rows *rows = o->makers[part];
    for (size_t a = 0; rows && a < o->sweep->n_axes; ++a) {
        saltus_rows_set(rows, o->variables[a], saltus_sweep_value(o->sweep, (int)a, point));
    }
    return rows && saltus_rows_make(rows, row) && saltus_plan_suits(o->plan, o->models[part]);
}

static saltus_status freeze_point(at_once *o, int part, int64_t point, double *row,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = o->models[part];
    if (!o->began[part]) {
        make_maker(o, part, point);
    }
    if (make_row(o, part, point, row)) {
        return SALTUS_OK;
    }
    saltus_rows_free(o->makers[part]);
    o->makers[part] = NULL;
    SALTUS_TRY(saltus_sweep_freeze(o->sweep, point, model, o->options->law, err));
    if (!saltus_point_is_like(&o->model->network->tables, &model->network->tables,
                              saltus_plan_method_ops(o->plan)->leaps) ||
        !saltus_plan_suits(o->plan, model)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the model is another one at some points");
    }
    saltus_point_read(&model->network->tables,
                      saltus_plan_amounts(o->plan) ? model->network->initial_amounts : NULL, row);
done:
    return status;
}

static void fail(at_once *o, int64_t point, const saltus_error *err)
{
    segment *s = o->next;
    (void)pthread_mutex_lock(&o->lock);
    if (point < s->failed) {
        s->status = err->code;
        s->error = *err;
        __atomic_store_n(&s->failed, point, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&o->lock);
}

/* Note what varies from the first point, and what is largest. */
static void look_at_row(const at_once *o, const double *row, double *largest, uint8_t *varies)
{
    for (int64_t k = 0; k < o->size; ++k) {
        varies[k] |= memcmp(&row[k], &o->row[k], sizeof *row) != 0;
        largest[k] = row[k] > largest[k] ? row[k] : largest[k];
    }
}

static void freeze(void *user, int part, int64_t first, int64_t end)
{
    at_once *o = user;
    const segment *s = o->next;
    double *const largest = s->largest + (part + 1) * o->apart;
    uint8_t *const varies = s->varies + (part + 1) * o->apart;
    memcpy(largest, o->row, (size_t)o->size * sizeof *largest);
    memset(varies, 0, (size_t)o->size);
    for (int64_t i = first; i < end && s->first + i < __atomic_load_n(&s->failed, __ATOMIC_RELAXED);
         ++i) {
        saltus_error err = {0};
        if (o->stop && __atomic_load_n(o->stop, __ATOMIC_RELAXED)) {
            (void)saltus_error_set(&err, SALTUS_E_CANCELLED, "stopped on request");
        } else {
            (void)freeze_point(o, part, s->first + i, s->rows + i * o->size, &err);
            look_at_row(o, s->rows + i * o->size, largest, varies);
        }
        if (err.code != SALTUS_OK) {
            fail(o, s->first + i, &err);
        }
    }
}

/* Freeze the points of a stretch, on this thread and others, and see what varies. */
static void make_ready(void *user, int number)
{
    at_once *o = user;
    segment *s = o->next;
    const int64_t share = (s->n + o->n_models - 1) / o->n_models;
    (void)number;
    saltus_parallel(s->n, share > POINTS_EACH ? share : POINTS_EACH, freeze, o);
    memcpy(s->largest, o->row, (size_t)o->size * sizeof *s->largest);
    for (int64_t part = 1; part <= o->n_models; ++part) {
        for (int64_t k = 0; k < o->size; ++k) {
            const double largest = s->largest[part * o->apart + k];
            s->varies[k] |= s->varies[part * o->apart + k];
            s->largest[k] = largest > s->largest[k] ? largest : s->largest[k];
        }
    }
}

/* The stretch behind another one, or the first. */
static void begin_segment(const at_once *o, segment *s, const segment *before)
{
    const int64_t most = ROWS_BYTES / ((int64_t)sizeof(double) * (o->size + 1)) + 1;
    s->first = before ? before->first + before->n : saltus_sweep_begin(o->options);
    s->n = saltus_sweep_end(o->sweep, o->options) - s->first;
    s->n = s->n < most ? s->n : most;
    s->failed = INT64_MAX;
    if (before) {
        memcpy(s->varies, before->varies, (size_t)o->size);
    }
}

/* ---- runs ---- */

static saltus_status open_point(at_once *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_options run = o->options->run;
    run.first_trajectory += o->point * saltus_sweep_apart(o->options);
    SALTUS_TRY(o->sink->open(o->sink->user, o->point, o->plan, &o->open, err));
    if (o->open->begin) {
        status = o->open->begin(o->open->user, o->plan, &run, err);
    }
done:
    return status;
}

/* Blocks come by rising numbers; of a run that ends early some may be missing or not whole. */
static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    at_once *o = user;
    const int64_t n_each = o->options->run.n_trajectories;
    (void)prepared;
    if (b->first != (o->point - o->first) * n_each + o->n) {
        return SALTUS_OK;
    }
    if (!o->open) {
        SALTUS_TRY(open_point(o, err));
    }
    if (o->open->prepare) {
        SALTUS_TRY(o->open->prepare(o->open->user, b, &prepared, err));
    }
    SALTUS_TRY(o->open->deliver(o->open->user, b, prepared, err));
    o->n += b->n_trajectories;
    if (o->n == n_each) {
        saltus_sink *sink = o->open;
        o->open = NULL;
        o->n = 0;
        SALTUS_TRY(o->sink->deliver(o->sink->user, o->point++, sink, err));
    }
done:
    return status;
}

/* Blocks of many points, for a sink that takes them so. */
static saltus_status deliver_together(void *user, const saltus_block *b, void *prepared,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    at_once *o = user;
    const int64_t n_each = o->options->run.n_trajectories, n_before = o->point * n_each + o->n;
    saltus_block block = *b;
    block.first += o->first * n_each;
    (void)prepared;
    if (block.first != n_before) {
        return SALTUS_OK;
    }
    SALTUS_TRY(o->sink->add(o->sink->user, &block, err));
    o->point = (n_before + b->n_trajectories) / n_each;
    o->n = (n_before + b->n_trajectories) % n_each;
done:
    return status;
}

static void tell_progress(void *user, const saltus_progress *p)
{
    const at_once *o = user;
    const saltus_run_options *run = &o->options->run;
    const int64_t n_points = saltus_sweep_end(o->sweep, o->options) - o->options->first_point;
    saltus_progress all = {.trajectories = o->report.trajectories + p->trajectories,
                           .total = n_points * run->n_trajectories,
                           .events = o->report.events + p->events,
                           .seconds = o->report.seconds + p->seconds,
                           .until = p->until};
    all.fraction =
        ((double)o->report.trajectories + p->fraction * (double)p->total) / (double)all.total;
    run->progress(run->progress_user, &all);
}

/* Whether the plan's layout fits the largest counts, too. */
static saltus_status check_layout(const at_once *o, const segment *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *like = &o->model->network->tables;
    saltus_setup setup = saltus_plan_setup(o->plan);
    saltus_layout layout;
    char why[200];
    int64_t *counts = saltus_calloc((size_t)like->n_species, sizeof *counts);
    SALTUS_NEED(counts);
    const saltus_tables tables = saltus_point_apply(like, s->largest, counts);
    setup.tables = &tables;
    if (o->plan->backend->ops->choose_layout(o->plan->backend, &setup, &layout, why, NULL) !=
        SALTUS_OK) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the layout does not fit all points");
    }
done:
    saltus_free(counts);
    return status;
}

static saltus_status run_segment(at_once *o, const segment *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_options run = o->options->run;
    saltus_run_report report = {0};
    saltus_run_points points = {.n_each = run.n_trajectories,
                                .apart = saltus_sweep_apart(o->options),
                                .size = o->size,
                                .rows = s->rows,
                                .varies = s->varies,
                                .largest = s->largest,
                                .together = o->sink->add != NULL,
                                .failed = -1};
    SALTUS_TRY(check_layout(o, s, err));
    if (!o->open) {
        SALTUS_TRY(open_point(o, err));
    }
    const saltus_sink sink = {.user = o,
                              .deliver = points.together ? deliver_together : deliver,
                              .reduction = o->open->reduction,
                              .derivation = o->open->derivation};
    o->first = s->first;
    run.first_trajectory += s->first * points.apart;
    run.n_trajectories *= s->n;
    run.progress = run.progress ? tell_progress : NULL;
    run.progress_user = o;
    run.trace = NULL;
    run.warn = s->first == o->options->first_point ? run.warn : NULL;
    status = saltus_run_at_points(o->plan, &run, &points, &sink, &report, err);
    saltus_report_add(&o->report, &report);
    o->report.seconds += report.seconds;
    if (status != SALTUS_OK && points.failed >= 0) {
        o->failed = s->first + points.failed;
        saltus_sweep_name_point(o->sweep, o->failed, err);
    }
done:
    return status;
}

static saltus_status run_all(at_once *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t end = saltus_sweep_end(o->sweep, o->options);
    saltus_thread thread;
    o->next = &o->segments[0];
    make_ready(o, 0);
    for (int i = 0; status == SALTUS_OK; i ^= 1) {
        segment *s = &o->segments[i];
        const bool is_last = s->first + s->n == end;
        int n_threads = 0;
        if (s->status != SALTUS_OK) {
            if (err) {
                *err = s->error;
            }
            if (s->status != SALTUS_E_UNSUPPORTED && s->status != SALTUS_E_CANCELLED) {
                o->failed = s->failed;
                saltus_sweep_name_point(o->sweep, s->failed, err);
            }
            return s->status;
        }
        if (!is_last) {
            o->next = &o->segments[i ^ 1];
            begin_segment(o, o->next, s);
            n_threads = saltus_threads_start(&thread, 1, 0, make_ready, o);
        }
        status = run_segment(o, s, err);
        saltus_threads_join(&thread, n_threads);
        if (is_last) {
            break;
        }
        if (status == SALTUS_OK && n_threads == 0) {
            make_ready(o, 0);
        }
    }
    return status;
}

static saltus_status set_up(at_once *o, const saltus_backend *backend, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_points =
        saltus_sweep_end(o->sweep, o->options) - saltus_sweep_begin(o->options);
    const int64_t n_parts = n_points / POINTS_EACH + 1;
    SALTUS_TRY(saltus_sweep_load(o->options, &o->model, err));
    SALTUS_TRY(saltus_sweep_freeze(o->sweep, 0, o->model, o->options->law, err));
    saltus_plan_options wanted = o->options->plan;
    wanted.n_expected = n_points * o->options->run.n_trajectories;
    SALTUS_TRY(saltus_plan_create(o->model, backend, &wanted, &o->plan, err));
    if (!(backend->ops->point_methods & SALTUS_METHOD_BIT(o->plan->method))) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "points are simulated one by one");
    }
    const saltus_tables *t = &o->model->network->tables;
    o->size = saltus_point_of(t).size;
    o->apart = (o->size + 2 * CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    o->row = saltus_calloc((size_t)o->size, sizeof *o->row);
    SALTUS_NEED(o->row);
    saltus_point_read(t, saltus_plan_amounts(o->plan), o->row);
    o->variables = saltus_calloc(o->sweep->n_axes, sizeof *o->variables);
    SALTUS_NEED(o->variables);
    for (size_t a = 0; a < o->sweep->n_axes; ++a) {
        o->variables[a] = saltus_model_find(o->model, o->sweep->axes[a].name);
    }
    const int64_t n_cores =
        backend->ops->kind == SALTUS_ON_CPU ? o->plan->n_workers : saltus_cores();
    const int64_t n_models = n_parts < n_cores ? n_parts : n_cores;
    for (; o->n_models < n_models && o->n_models < SALTUS_MOST_PARTS; ++o->n_models) {
        SALTUS_TRY(saltus_sweep_load(o->options, &o->models[o->n_models], err));
    }
    begin_segment(o, &o->segments[0], NULL); /* no other is longer */
    for (int i = 0; i < 2; ++i) {
        segment *s = &o->segments[i];
        s->rows = saltus_calloc((size_t)(o->segments[0].n * o->size), sizeof *s->rows);
        s->largest = saltus_calloc((size_t)o->n_models + 1, (size_t)o->apart * sizeof(double));
        s->varies = saltus_calloc((size_t)o->n_models + 1, (size_t)o->apart);
        SALTUS_NEED(s->rows && s->largest && s->varies);
    }
done:
    return status;
}

saltus_status saltus_sweep_run_at_once(const saltus_sweep *sweep,
                                       const saltus_sweep_options *options,
                                       const saltus_backend *backend, const saltus_sweep_sink *sink,
                                       int64_t *delivered, int64_t *failed,
                                       saltus_run_report *report, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    at_once o = {.sweep = sweep,
                 .options = options,
                 .sink = sink,
                 .point = saltus_sweep_begin(options),
                 .failed = -1,
                 .stop = options->run.stop};
    (void)pthread_mutex_init(&o.lock, NULL);
    SALTUS_TRY(set_up(&o, backend, err));
    SALTUS_TRY(run_all(&o, err));
done:
    if (o.open) {
        sink->discard(sink->user, o.open);
    }
    for (int i = 0; i < 2; ++i) {
        saltus_free(o.segments[i].rows);
        saltus_free(o.segments[i].largest);
        saltus_free(o.segments[i].varies);
    }
    (void)pthread_mutex_destroy(&o.lock);
    for (int i = 0; i < o.n_models; ++i) {
        saltus_rows_free(o.makers[i]);
        saltus_sweep_unload(options, o.models[i]);
    }
    saltus_plan_destroy(o.plan);
    saltus_sweep_unload(options, o.model);
    saltus_free(o.row);
    saltus_free(o.variables);
    *delivered = o.point;
    *failed = o.failed;
    *report = o.report;
    return status;
}
