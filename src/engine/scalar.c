/* One trajectory at a time: the kernels, one lane wide, with memory and messages around them. */
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

/* "A = 3, B = 0, …": the counts, and what rate rules move, as many as fit. */
static void print_state(const saltus_scalar_engine *scalar, const saltus_network *network,
                        char *text, size_t size)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const saltus_tables *t = p->n;
    const bool is_real = p->amounts || scalar->ode.hybrid;
    const int n = t->n_species + network->n_rate_rules;
    size_t at = 0;
    (void)snprintf(text, size, "this time"); /* of a model without either */
    for (int i = 0; i < n; ++i) {
        char item[120];
        const int rate = i - t->n_species;
        const char *name = rate < 0 ? network->species_names[i] : network->rate_names[rate];
        const double v = p->v[rate < 0 ? i : t->rate_rows[rate]];
        const int length = rate >= 0 || is_real
                               ? snprintf(item, sizeof item, "%s%.80s = %.6g", i > 0 ? ", " : "",
                                          name, saltus_without_nan_sign(v))
                               : snprintf(item, sizeof item, "%s%.80s = %lld", i > 0 ? ", " : "",
                                          name, (long long)p->x[i]);
        if (at + (size_t)length + 6 > size) {
            (void)snprintf(text + at, size - at, ", …");
            return;
        }
        memcpy(text + at, item, (size_t)length + 1);
        at += (size_t)length;
    }
}

/* [distribution][parameter] */
static const char *const parameter_names[][2] = {
    {"least value", "largest value"},
    {"mean", "standard deviation"},
    {"rate", NULL},
    {"shape", "scale"},
    {"mean of the logarithm", "standard deviation of the logarithm"},
    {"mean", NULL},
    {"number of trials", "probability"},
    {"probability", NULL},
    {"location", "scale"},
    {"location", "scale"},
    {"number of degrees of freedom", NULL},
    {"scale", NULL},
};

/* "event 'E' sets 'X'": what variate number i is drawn for. */
static void print_purpose(const saltus_network *network, int i, char *text, size_t size)
{
    const saltus_tables *t = &network->tables;
    for (int k = 0; k < t->n_settings; ++k) {
        const int first = t->settings[k].first_variate;
        if (i >= first && i < first + t->settings[k].n_variates) {
            const bool is_event = network->setting_events[k];
            (void)snprintf(text, size,
                           is_event ? "event '%.80s' sets '%.80s'" : "%s'%.80s' at first",
                           is_event ? network->setting_events[k] : "", network->setting_names[k]);
        }
    }
    for (int k = 0; k < t->n_delayed; ++k) {
        const int first = t->delayed[k].first_variate;
        if (i >= first && i < first + t->delayed[k].n_variates) {
            (void)snprintf(text, size, "reaction '%.80s' takes a while",
                           saltus_network_reaction(network, t->delayed[k].reaction));
        }
    }
    for (int k = 0; k < t->n_triggers; ++k) {
        const int first = t->triggers[k].first_variate;
        if (i >= first && i < first + t->triggers[k].n_variates) {
            (void)snprintf(text, size, "event '%.80s' waits", network->event_names[k]);
        }
    }
}

/* A random number that cannot be drawn. */
static saltus_status report_variate(const saltus_trajectory *p, const saltus_network *network,
                                    const char *where, double bad, const char *state,
                                    saltus_error *err)
{
    const saltus_variate *q = &network->tables.variates[p->culprit / 8];
    const int wrong = p->culprit % 8, n = saltus_variate_parameters(q->op);
    const char *name = saltus_op_text((saltus_op)q->op);
    const bool is_trials = q->op == SALTUS_OP_BINOMIAL && wrong == 0;
    char purpose[200] = "", number[SALTUS_NUMBER_SIZE];
    print_purpose(network, p->culprit / 8, purpose, sizeof purpose);
    if (wrong == SALTUS_VARIATE_NOTHING) {
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: %s: hardly anything of %s lies between its bounds at %s",
                                where, purpose, name, state);
    }
    return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: %s: the %s of %s cannot be %s at %s%s",
                            where, purpose,
                            wrong >= n ? wrong == n ? "lower bound" : "upper bound"
                                       : parameter_names[q->op - SALTUS_OP_FIRST_VARIATE][wrong],
                            name, saltus_number_format(bad, number), state,
                            is_trials ? "; it is a whole number up to 2^50" : "");
}

/* The name of a component that is integrated. */
static const char *component_name(const saltus_scalar_engine *scalar, const saltus_network *network,
                                  int component)
{
    const saltus_tables *t = scalar->trajectory.n;
    const int rate = component - saltus_ode_first(&scalar->trajectory, &scalar->ode);
    return rate < 0            ? network->species_names[saltus_ode_species(&scalar->ode, component)]
           : rate < t->n_rates ? network->rate_names[rate]
                               : NULL;
}

/* An integration that cannot go on. */
static saltus_status report_component(const saltus_scalar_engine *scalar,
                                      const saltus_network *network, const char *where, double bad,
                                      saltus_error *err)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const char *name = component_name(scalar, network, p->culprit);
    char what[200] = "the sum of the propensities";
    if (name) {
        (void)snprintf(what, sizeof what, "'%.150s'", name);
    }
    if (p->failure == SALTUS_NOT_FINITE) {
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: %s or its rate of change is %g, which is not finite", where,
                                what, bad);
    }
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_NUMERIC,
                         "%s: %s cannot be integrated: no step is so short that its error is "
                         "within the tolerances, near the value %g",
                         where, what, bad);
    if (!scalar->ode.may_be_stiff && scalar->ode.wanted.stiff != SALTUS_STIFF_NEVER &&
        !saltus_cvode_name()) {
        saltus_error_hint(err,
                          "if the model is stiff, its %d variables need SUNDIALS, which this "
                          "version was built without",
                          scalar->ode.n);
    }
    return status;
}

/* Propensities that sum to infinity: often one does alone. */
static saltus_status report_total(const saltus_scalar_engine *scalar, const saltus_network *network,
                                  const char *where, const char *state, saltus_error *err)
{
    saltus_trajectory p = scalar->trajectory;
    for (int r = 0; r < p.n->n_reactions; ++r) {
        if (saltus_propensity(&p, r) == HUGE_VAL) {
            return saltus_error_set(err, SALTUS_E_NUMERIC,
                                    "%s: reaction '%s': propensity inf is not finite at %s", where,
                                    saltus_network_reaction(network, r), state);
        }
    }
    return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: the propensities sum to infinity at %s",
                            where, state);
}

saltus_status saltus_scalar_report(const saltus_scalar_engine *scalar, const saltus_task *task,
                                   saltus_error *err)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const saltus_network *network = task->model->network;
    char where[80], state[260];
    if (p->failure == SALTUS_STOPPED) {
        return saltus_error_set(err, SALTUS_E_CANCELLED, "stopped on request");
    }
    if (scalar->row) {
        __atomic_store_n(task->failed, scalar->row, __ATOMIC_RELAXED);
    }
    if (p->failure == SALTUS_OUT_OF_MEMORY) {
        return saltus_error_set(err, SALTUS_E_NO_MEMORY,
                                scalar->ode.solver
                                    ? "memory ran out for pending events and the integration"
                                    : "memory ran out for pending events and reactions");
    }
    const double bad = saltus_without_nan_sign(p->bad_value);
    (void)snprintf(where, sizeof where, "trajectory %llu, time %.10g",
                   (unsigned long long)p->trajectory, p->t);
    print_state(scalar, network, state, sizeof state);
    const bool is_reaction = p->failure <= SALTUS_ABOVE_BOUND ||
                             p->failure == SALTUS_BAD_DURATION || p->failure == SALTUS_BAD_END;
    const char *reaction = is_reaction ? saltus_network_reaction(network, p->culprit) : "";
    switch (p->failure) {
    case SALTUS_NEGATIVE_COUNT:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' fired with too few reactants: %s", where,
                                reaction, state);
    case SALTUS_COUNT_OVERFLOW:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' takes a count beyond 64 bits: %s", where,
                                reaction, state);
    case SALTUS_BAD_PROPENSITY:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s': propensity %g is %s at %s", where, reaction,
                                bad, isfinite(bad) ? "negative" : "not finite", state);
    case SALTUS_NO_BOUND:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s': its rate law has no finite bound just after "
                                "that time, at %s",
                                where, reaction, state);
    case SALTUS_ABOVE_BOUND:
        return saltus_error_set(err, SALTUS_E_INTERNAL,
                                "%s: reaction '%s': propensity %g is above the bound derived for "
                                "it, at %s",
                                where, reaction, bad, state);
    case SALTUS_BAD_TOTAL:
        return report_total(scalar, network, where, state, err);
    case SALTUS_ABOVE_CLASSES:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: species '%s' has more than 2^48 molecules, too many for "
                                "classes of reactions, at %s",
                                where, network->species_names[p->culprit], state);
    case SALTUS_BAD_DURATION:
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: reaction '%s' has delay %g at %s",
                                where, reaction, bad, state);
    case SALTUS_BAD_END:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' ends with too few reactants: %s", where,
                                reaction, state);
    case SALTUS_BAD_VARIATE:
        return report_variate(p, network, where, bad, state, err);
    case SALTUS_BAD_ASSIGNMENT:
        if (!network->setting_events[p->culprit]) {
            return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: '%s' starts with %g", where,
                                    network->setting_names[p->culprit], bad);
        }
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: event '%s' sets '%s' to %g at %s",
                                where, network->setting_events[p->culprit],
                                network->setting_names[p->culprit], bad, state);
    case SALTUS_BAD_DELAY:
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: event '%s' has delay %g at %s", where,
                                network->event_names[p->culprit], bad, state);
    case SALTUS_EVENT_STORM:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: events set each other off without end, '%s' among them, at %s",
                                where, network->event_names[p->culprit], state);
    case SALTUS_NO_STEP:
    case SALTUS_NOT_FINITE:
        return report_component(scalar, network, where, bad, err);
    default:
        return saltus_error_set(err, SALTUS_E_INTERNAL, "%s: unknown failure", where);
    }
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
