/* One trajectory at a time: the kernels, one lane wide, with memory around them. */
#include "engine/scalar.h"

#include "core/memory.h"
#include "core/number.h"
#include "engine/hybrid.h"
#include "engine/keep.h"
#include "kernel/ssa/direct_lanes.h"
#include "kernel/ode/run.h"
#include "kernel/ssa/direct_tree.h"
#include "kernel/base/stream.h"
#include "model/freeze/point.h"
#include "model/network/network.h"
#include "ode/cvode.h"

#include <assert.h>
#include <math.h>

static int make_room(saltus_trajectory *p)
{
    const int32_t capacity = p->pending_capacity > 0 ? 2 * p->pending_capacity : 16;
    const size_t width = (size_t)(p->n->largest_event > 0 ? p->n->largest_event : 1);
    saltus_pending *pending = saltus_realloc(p->pending, (size_t)capacity, sizeof *pending);
    if (!pending) {
        return 0;
    }
    p->pending = pending;
    double *values = saltus_realloc(p->pending_values, (size_t)capacity * width, sizeof *values);
    if (!values) {
        return 0;
    }
    p->pending_values = values;
    p->pending_capacity = capacity;
    return 1;
}

static int make_queue_room(saltus_trajectory *p)
{
    const int64_t capacity = p->unfinished_capacity > 0 ? 2 * p->unfinished_capacity : 16;
    saltus_unfinished *grown = saltus_realloc(p->unfinished, (size_t)capacity, sizeof *grown);
    if (!grown) {
        return 0;
    }
    p->unfinished = grown;
    p->unfinished_capacity = capacity;
    return 1;
}

extern const saltus_scalar_stream saltus_scalar_stream_xorwow, saltus_scalar_stream_mrg32k3a,
    saltus_scalar_stream_mt19937;
/* [SALTUS_RNG_…] */
static const saltus_scalar_stream *const streams[] = {NULL, &saltus_scalar_stream_xorwow,
                                                      &saltus_scalar_stream_mrg32k3a,
                                                      &saltus_scalar_stream_mt19937};

#define ALLOC(type, part, name, n)                           \
    w->part.name = saltus_calloc((size_t)(n), sizeof(type)); \
    SALTUS_NEED(w->part.name);
#define FREE(type, part, name, n) saltus_free(scalar->part.name);

static saltus_status prepare_leaps(saltus_scalar_engine *w, const saltus_task *task,
                                   const saltus_instruction_set *set, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = task->tables;
    w->leap.tau = *task->tau;
    SALTUS_LEAP_ARRAYS(ALLOC)
    w->leap.fill = w->stream ? w->stream->fill : set->fill;
done:
    return status;
}

static void fill_constants(saltus_trajectory *p)
{
    for (int i = 0; i < p->n->n_constants; ++i) {
        p->v[p->n->row_constants + i] = p->n->constants[i];
    }
}

static saltus_status prepare_ode(saltus_scalar_engine *w, const saltus_task *task,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = task->tables;
    saltus_ode *o = &w->ode;
    o->wanted = *task->tolerance;
    o->is_mean = task->method == SALTUS_METHOD_ODE;
    w->trajectory.amounts = task->amounts;
    if (task->method == SALTUS_METHOD_HYBRID) { /* it has components for all that may be real */
        SALTUS_TRY(saltus_hybrid_create(t, task->tolerance->continuous, &o->hybrid, err));
    }
    o->n = saltus_ode_components(t, o->is_mean) + (o->hybrid ? t->n_species : 0);
    if (!o->hybrid && o->wanted.stiff != SALTUS_STIFF_NEVER &&
        saltus_cvode_takes(t, o->is_mean, o->n)) {
        const saltus_stretch stretch = {saltus_scalar_note_beginning, w};
        SALTUS_TRY(saltus_cvode_create(&w->trajectory, o, stretch, &o->solver, err));
        w->task = task;
    }
    o->may_be_stiff = o->n <= SALTUS_MOST_STIFF || o->solver;
    const int64_t n = o->n;
    SALTUS_ODE_ARRAYS(ALLOC)
done:
    return status;
}

saltus_status saltus_scalar_create(const saltus_task *task, const saltus_instruction_set *set,
                                   saltus_scalar_engine **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = task->tables;
    saltus_scalar_engine *w = saltus_calloc(1, sizeof *w);
    SALTUS_NEED(w);
    saltus_trajectory *p = &w->trajectory;
    p->n = t;
    p->reached = task->reached;
    p->columns = task->columns;
    p->seed = task->seed;
    p->make_room = make_room;
    p->make_queue_room = make_queue_room;
    p->limit = UINT64_MAX;
    p->x = saltus_calloc((size_t)t->n_species, sizeof *p->x);
    SALTUS_NEED(p->x);
    SALTUS_TRAJECTORY_ARRAYS(ALLOC)
    w->stream = streams[task->generator->rng];
    w->jumps = task->generator->jumps;
    w->direct.draw = w->stream ? w->stream->draw : set->draw;
    if (w->stream) {
        const int n_words = saltus_stream_words(task->generator->rng);
        w->direct.stream = saltus_calloc(2 * (size_t)n_words, sizeof *w->direct.stream);
        SALTUS_NEED(w->direct.stream);
    }
    if (task->tau) {
        SALTUS_TRY(prepare_leaps(w, task, set, err));
    }
    if (task->tolerance) {
        SALTUS_TRY(prepare_ode(w, task, err));
    }
    w->set = set;
    if (task->varies) {
        w->counts = saltus_calloc((size_t)t->n_species, sizeof *w->counts);
        SALTUS_NEED(w->counts);
    }
    p->v[t->row_one] = 1.0;
    fill_constants(p);
    *out = w;
    w = NULL;
done:
    saltus_scalar_destroy(w, task);
    return status;
}

void saltus_scalar_destroy(saltus_scalar_engine *scalar, const saltus_task *task)
{
    if (!scalar) {
        return;
    }
    saltus_trajectory *p = &scalar->trajectory;
    for (int i = 0; p->rounded && i < task->tables->n_settings; ++i) {
        if (p->rounded[i]) {
            __atomic_store_n(&task->rounded[i], 1, __ATOMIC_RELAXED);
        }
    }
    saltus_free(p->x);
    saltus_free(p->pending);
    saltus_free(p->pending_values);
    saltus_free(p->unfinished);
    saltus_free(scalar->direct.stream);
    saltus_free(scalar->counts);
    SALTUS_TRAJECTORY_ARRAYS(FREE)
    SALTUS_LEAP_ARRAYS(FREE)
    saltus_cvode_destroy(scalar->ode.solver);
    saltus_pack_free(&scalar->beginning);
    SALTUS_ODE_ARRAYS(FREE)
    saltus_hybrid_destroy(scalar->ode.hybrid);
    saltus_free(scalar);
}

static void go_to_point(saltus_scalar_engine *scalar, const saltus_task *task, const double *row)
{
    if (row && row != scalar->row) {
        scalar->row = row;
        scalar->tables = saltus_point_apply(task->tables, row, scalar->counts);
        scalar->trajectory.n = &scalar->tables;
        if (task->amounts) {
            scalar->trajectory.amounts = row + saltus_point_of(task->tables).counts;
        }
        fill_constants(&scalar->trajectory);
    }
}

saltus_failure saltus_scalar_start(saltus_scalar_engine *scalar, const saltus_task *task,
                                   const saltus_job *job)
{
    const uint64_t trajectory = (uint64_t)job->trajectory;
    go_to_point(scalar, task, job->point);
    saltus_ode_break_off(&scalar->ode);
    if (scalar->ode.hybrid) {
        saltus_hybrid_start(scalar->ode.hybrid, task->tables);
    }
    if (scalar->stream) {
        scalar->stream->start(scalar->direct.stream, scalar->trajectory.seed, trajectory,
                              scalar->jumps);
    }
    return saltus_trajectory_start(&scalar->trajectory, trajectory);
}

/* Words of leaps that were drawn ahead are drawn again. */
static void rewind_leaps(saltus_scalar_engine *w)
{
    saltus_words *words = &w->leap.words;
    if (w->stream && words->valid) {
        w->stream->go_back(w->direct.stream, words->first_block,
                           w->trajectory.block - words->first_block);
    }
    words->valid = 0;
}

saltus_failure saltus_scalar_run(saltus_scalar_engine *scalar, const saltus_task *task,
                                 saltus_job *job)
{
    saltus_trajectory *p = &scalar->trajectory;
    saltus_failure failure;
    while ((failure = scalar->set->run(scalar, task, job)) == SALTUS_STOPPED) {
        const bool is_due = saltus_keep_is_due(task);
        if (is_due) {
            rewind_leaps(scalar);
            saltus_scalar_keep(scalar, task, job);
        }
        if (saltus_keep_stops(task, is_due)) {
            break;
        }
        p->failure = SALTUS_FINE;
    }
    saltus_scalar_count(scalar, job);
    return failure;
}

void saltus_scalar_count(const saltus_scalar_engine *scalar, saltus_job *job)
{
    const uint64_t fired = scalar->trajectory.fired, most = INT64_MAX;
    job->tally.events = (int64_t)(fired < most ? fired : most);
    job->tally.leaps = (int64_t)scalar->trajectory.leaps;
    job->tally.exact_steps = (int64_t)scalar->trajectory.exact_steps;
}

saltus_status saltus_scalar_run_job(saltus_scalar_engine *scalar, const saltus_task *task,
                                    saltus_job *job, saltus_error *err)
{
    if ((!saltus_scalar_take(scalar, task, job) &&
         saltus_scalar_start(scalar, task, job) != SALTUS_FINE) ||
        saltus_scalar_run(scalar, task, job) != SALTUS_FINE) {
        return saltus_scalar_report(scalar, task, err);
    }
    return SALTUS_OK;
}

saltus_failure saltus_scalar_pass_special(saltus_scalar_engine *scalar)
{
    return saltus_trajectory_pass_special(&scalar->trajectory);
}

saltus_failure saltus_scalar_settle(saltus_scalar_engine *scalar)
{
    return saltus_trajectory_settle(&scalar->trajectory);
}

void saltus_scalar_record(saltus_scalar_engine *scalar, double time, saltus_job *job)
{
    saltus_trajectory_record(&scalar->trajectory, time, job->counts, job->observables);
}

void saltus_scalar_to_lane(const saltus_scalar_engine *scalar, double *v, int stride)
{
    const saltus_trajectory *p = &scalar->trajectory;
    for (int row = 0; row < p->n->row_rules; ++row) {
        v[stride * row] = p->v[row];
    }
}

void saltus_scalar_from_lane(saltus_scalar_engine *scalar, const double *v, int stride)
{
    saltus_trajectory *p = &scalar->trajectory;
    for (int s = 0; s < p->n->n_species; ++s) {
        p->v[s] = v[stride * s];
        p->x[s] = (int64_t)p->v[s];
    }
}

bool saltus_scalar_fits_lane(const saltus_scalar_engine *scalar)
{
    const saltus_trajectory *p = &scalar->trajectory;
    int64_t most = 0;
    for (int s = 0; s < p->n->n_species; ++s) {
        most = p->x[s] > most ? p->x[s] : most;
    }
    return (double)most <= saltus_lanes_largest;
}

double saltus_scalar_wait(const saltus_scalar_engine *scalar, uint64_t event)
{
    return saltus_wait_refined(scalar->trajectory.seed, scalar->trajectory.trajectory, event);
}

int saltus_scalar_choose(const saltus_scalar_engine *scalar,
                         double sums[SALTUS_FANOUT + 1][SALTUS_FANOUT], int n_levels, double total,
                         double word, uint64_t event, bool refined)
{
    const int32_t level_first[2] = {0, SALTUS_FANOUT};
    assert(n_levels == 1 || n_levels == 2);
    const saltus_tree tree = {n_levels, level_first, &sums[0][0]};
    if (refined) {
        return saltus_tree_choose(&tree, total, word, scalar->trajectory.seed,
                                  scalar->trajectory.trajectory, event);
    }
    const double unit = total * SALTUS_TWO_M32;
    int near = 0;
    return saltus_tree_find(&tree, word * unit, word * unit + unit, &near);
}

saltus_status saltus_scalar_work(const saltus_instruction_set *set, const saltus_task *task,
                                 const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_scalar_engine *w = NULL;
    saltus_job job;
    SALTUS_TRY(saltus_scalar_create(task, set, &w, err));
    while (saltus_source_take(source, &job, 1, true) == 1) {
        SALTUS_TRY(saltus_scalar_run_job(w, task, &job, err));
        saltus_reached_store(task->reached, 0.0, 0);
        SALTUS_TRY(source->done(source->user, &job, 1, err));
    }
done:
    saltus_scalar_destroy(w, task);
    return status;
}
