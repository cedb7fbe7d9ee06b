/* The points of a sweep as one run of a device, which is given every point's numbers: stretch after
 * stretch of points, so that memory is bounded. While one stretch runs the next is made ready. */
#include "core/limits.h"
#include "core/memory.h"
#include "ensemble/blocks.h"
#include "sweep/sweep.h"
#include "model/freeze/point.h"

#include <pthread.h>
#include <string.h>

enum {
    ROWS_BYTES = 64 << 20, /* of a stretch */
    MOST_THREADS = 64,
    POINTS_EACH = 32, /* of a thread that freezes, at least */
};

/* Points first … first + n - 1. */
typedef struct segment {
    int64_t first, n;
    double *rows, *largest; /* [n][size], [size] over the points */
    uint8_t *varies;        /* [size] over the points of this stretch and those before */
    int64_t next;           /* to freeze; atomic */
    pthread_mutex_t lock;
    saltus_status status;
    int64_t failed; /* the point */
    saltus_error error;
} segment;

typedef struct at_once {
    const saltus_sweep *sweep;
    const saltus_sweep_options *options;
    const saltus_sweep_sink *sink;
    saltus_model *model; /* at the first point */
    saltus_plan *plan;
    double *row; /* of the first point */
    int64_t size;
    saltus_model *models[MOST_THREADS]; /* of the threads that freeze */
    int n_threads;
    segment segments[2];
    saltus_run_report report;
    /* the sink of a run */
    saltus_sink *open; /* of point `point`, of which there are `n` trajectories; NULL: none yet */
    int64_t point, n;
    int64_t first; /* point of the run */
    const volatile int *stop;
} at_once;

/* ---- the numbers of points ---- */

static saltus_status freeze_point(const at_once *o, saltus_model *model, int64_t point, double *row,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_sweep_freeze(o->sweep, point, model, o->options->law, err));
    if (!saltus_point_is_like(&o->model->network->tables, &model->network->tables,
                              saltus_plan_method_ops(o->plan)->leaps) ||
        !saltus_plan_suits(o->plan, model)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the model is another one at some points");
    }
    saltus_point_read(&model->network->tables, row);
done:
    return status;
}

typedef struct freezer {
    const at_once *o;
    segment *s;
    saltus_model *model;
    pthread_t thread;
} freezer;

static void *freeze(void *user)
{
    const freezer *f = user;
    const at_once *o = f->o;
    segment *s = f->s;
    for (;;) {
        const int64_t i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
        saltus_error err = {0};
        if (i >= s->n) {
            return NULL;
        }
        if (o->stop && __atomic_load_n(o->stop, __ATOMIC_RELAXED)) {
            (void)saltus_error_set(&err, SALTUS_E_CANCELLED, "stopped on request");
        } else {
            (void)freeze_point(o, f->model, s->first + i, s->rows + i * o->size, &err);
        }
        if (err.code != SALTUS_OK) {
            (void)pthread_mutex_lock(&s->lock);
            if (s->status == SALTUS_OK || s->first + i < s->failed) {
                s->status = err.code;
                s->error = err;
                s->failed = s->first + i;
            }
            (void)pthread_mutex_unlock(&s->lock);
            __atomic_store_n(&s->next, s->n, __ATOMIC_RELAXED);
        }
    }
}

/* Freeze the points of a stretch, on this thread and others, and see what varies. */
static void *make_ready(void *user)
{
    freezer *first = user;
    const at_once *o = first->o;
    segment *s = first->s;
    freezer freezers[MOST_THREADS];
    int n = 1;
    for (; n < o->n_threads; ++n) {
        freezers[n] = (freezer){.o = o, .s = s, .model = o->models[n]};
        if (pthread_create(&freezers[n].thread, NULL, freeze, &freezers[n]) != 0) {
            break;
        }
    }
    freezers[0] = (freezer){.o = o, .s = s, .model = o->models[0]};
    (void)freeze(&freezers[0]);
    for (int i = 1; i < n; ++i) {
        (void)pthread_join(freezers[i].thread, NULL);
    }
    memcpy(s->largest, o->row, (size_t)o->size * sizeof *s->largest);
    for (int64_t i = 0; s->status == SALTUS_OK && i < s->n; ++i) {
        const double *row = s->rows + i * o->size;
        for (int64_t k = 0; k < o->size; ++k) {
            s->varies[k] |= memcmp(&row[k], &o->row[k], sizeof *row) != 0;
            s->largest[k] = row[k] > s->largest[k] ? row[k] : s->largest[k];
        }
    }
    return NULL;
}

/* The stretch behind another one, or the first. */
static void begin_segment(const at_once *o, segment *s, const segment *before)
{
    const int64_t most = ROWS_BYTES / ((int64_t)sizeof(double) * (o->size + 1)) + 1;
    s->first = before ? before->first + before->n : 0;
    s->n = saltus_sweep_n_points(o->sweep) - s->first;
    s->n = s->n < most ? s->n : most;
    s->next = 0;
    if (before) {
        memcpy(s->varies, before->varies, (size_t)o->size);
    }
}

/* ---- runs ---- */

static saltus_status open_point(at_once *o, saltus_error *err)
{
    return o->sink->open(o->sink->user, o->point, o->plan, &o->open, err);
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

static void tell_progress(void *user, const saltus_progress *p)
{
    const at_once *o = user;
    const saltus_run_options *run = &o->options->run;
    saltus_progress all = {.trajectories = o->report.trajectories + p->trajectories,
                           .total = saltus_sweep_n_points(o->sweep) * run->n_trajectories,
                           .events = o->report.events + p->events,
                           .seconds = o->report.seconds + p->seconds,
                           .until = p->until};
    all.fraction =
        ((double)o->report.trajectories + p->fraction * (double)p->total) / (double)all.total;
    run->progress(run->progress_user, &all);
}

/* Whether the plan's layout is right for the largest counts, too. */
static saltus_status check_layout(const at_once *o, const segment *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *like = &o->model->network->tables;
    saltus_setup setup = saltus_plan_setup(o->plan);
    saltus_layout layout;
    char why[200];
    saltus_pair *pairs = saltus_calloc((size_t)like->n_reactions, sizeof *pairs);
    int64_t *counts = saltus_calloc((size_t)like->n_species, sizeof *counts);
    SALTUS_NEED(pairs && counts);
    const saltus_tables tables = saltus_point_apply(like, s->largest, pairs, counts);
    setup.tables = &tables;
    setup.layout = o->plan->wanted;
    SALTUS_TRY(o->plan->backend->ops->choose_layout(o->plan->backend, &setup, &layout, why, err));
    if (layout != o->plan->layout) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "layouts differ");
    }
done:
    saltus_free(pairs);
    saltus_free(counts);
    return status;
}

static saltus_status run_segment(at_once *o, const segment *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_options run = o->options->run;
    saltus_run_report report = {0};
    saltus_run_points points = {.n_each = run.n_trajectories,
                                .common = o->options->common_random_numbers,
                                .size = o->size,
                                .rows = s->rows,
                                .varies = s->varies,
                                .failed = -1};
    SALTUS_TRY(check_layout(o, s, err));
    if (!o->open) {
        SALTUS_TRY(open_point(o, err));
    }
    const saltus_sink sink = {.user = o,
                              .deliver = deliver,
                              .reduction = o->open->reduction,
                              .derivation = o->open->derivation};
    o->first = s->first;
    run.first_trajectory += points.common ? 0 : s->first * run.n_trajectories;
    run.n_trajectories *= s->n;
    run.progress = run.progress ? tell_progress : NULL;
    run.progress_user = o;
    run.trace = NULL;
    run.warn = s->first == 0 ? run.warn : NULL;
    status = saltus_run_at_points(o->plan, &run, &points, &sink, &report, err);
    saltus_report_add(&o->report, &report);
    o->report.seconds += report.seconds;
    if (status != SALTUS_OK && points.failed >= 0) {
        saltus_sweep_name_point(o->sweep, s->first + points.failed, err);
    }
done:
    return status;
}

static saltus_status run_all(at_once *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_points = saltus_sweep_n_points(o->sweep);
    begin_segment(o, &o->segments[0], NULL);
    freezer ready = {.o = o, .s = &o->segments[0]};
    (void)make_ready(&ready);
    for (int i = 0;; i ^= 1) {
        segment *s = &o->segments[i], *next = &o->segments[i ^ 1];
        bool has_thread = false;
        if (s->status != SALTUS_OK) {
            if (err) {
                *err = s->error;
            }
            if (s->status != SALTUS_E_UNSUPPORTED && s->status != SALTUS_E_CANCELLED) {
                saltus_sweep_name_point(o->sweep, s->failed, err);
            }
            return s->status;
        }
        if (s->first + s->n < n_points) {
            begin_segment(o, next, s);
            ready.s = next;
            has_thread = pthread_create(&ready.thread, NULL, make_ready, &ready) == 0;
        }
        status = run_segment(o, s, err);
        if (has_thread) {
            (void)pthread_join(ready.thread, NULL);
        }
        if (status != SALTUS_OK || s->first + s->n == n_points) {
            return status;
        }
        if (!has_thread) {
            (void)make_ready(&ready);
        }
    }
}

static saltus_status set_up(at_once *o, const saltus_backend *backend, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_points = saltus_sweep_n_points(o->sweep);
    const int n_cores = saltus_cores();
    int64_t n_threads = n_points / POINTS_EACH + 1;
    n_threads = n_threads < n_cores ? n_threads : n_cores;
    o->model = o->options->load(o->options->load_user, err);
    if (!o->model) {
        return err ? err->code : SALTUS_E_NO_MEMORY;
    }
    SALTUS_TRY(saltus_sweep_freeze(o->sweep, 0, o->model, o->options->law, err));
    SALTUS_TRY(saltus_plan_create(o->model, backend, &o->options->plan, &o->plan, err));
    if (o->model->network->lattice) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "a lattice has numbers of its own at every point");
    }
    const saltus_tables *t = &o->model->network->tables;
    o->size = saltus_point_of(t).size;
    o->row = saltus_calloc((size_t)o->size, sizeof *o->row);
    SALTUS_NEED(o->row);
    saltus_point_read(t, o->row);
    for (; o->n_threads < n_threads && o->n_threads < MOST_THREADS; ++o->n_threads) {
        o->models[o->n_threads] = o->options->load(o->options->load_user, err);
        if (!o->models[o->n_threads]) {
            return err ? err->code : SALTUS_E_NO_MEMORY;
        }
    }
    begin_segment(o, &o->segments[0], NULL); /* no other is longer */
    for (int i = 0; i < 2; ++i) {
        segment *s = &o->segments[i];
        s->rows = saltus_calloc((size_t)(o->segments[0].n * o->size), sizeof *s->rows);
        s->largest = saltus_calloc((size_t)o->size, sizeof *s->largest);
        s->varies = saltus_calloc((size_t)o->size, 1);
        SALTUS_NEED(s->rows && s->largest && s->varies);
    }
done:
    return status;
}

saltus_status saltus_sweep_run_at_once(const saltus_sweep *sweep,
                                       const saltus_sweep_options *options,
                                       const saltus_backend *backend, const saltus_sweep_sink *sink,
                                       int64_t *delivered, saltus_run_report *report,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    at_once o = {.sweep = sweep, .options = options, .sink = sink, .stop = options->run.stop};
    for (int i = 0; i < 2; ++i) {
        (void)pthread_mutex_init(&o.segments[i].lock, NULL);
    }
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
        (void)pthread_mutex_destroy(&o.segments[i].lock);
    }
    for (int i = 0; i < o.n_threads; ++i) {
        saltus_model_destroy(o.models[i]);
    }
    saltus_plan_destroy(o.plan);
    saltus_model_destroy(o.model);
    saltus_free(o.row);
    *delivered = o.point;
    *report = o.report;
    return status;
}
