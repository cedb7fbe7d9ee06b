/* The state of a well-mixed trajectory between events, or between leaps: all that is not a function
 * of the rest. Propensities, sums and rules are computed again, to the same bits. */
#include "engine/keep.h"
#include "engine/scalar.h"

#include "kernel/base/stream.h"
#include "kernel/ode/solver.h"
#include "kernel/ode/split.h"
#include "kernel/ssa/delayed.h"

enum { FORM = 4 }; /* raised whenever the form of a state changes */

static void pack_pending(saltus_packer *k, saltus_trajectory *p)
{
    int32_t n = p->n_pending;
    SALTUS_PACK(k, n);
    if (n < 0) {
        k->failed = true;
    }
    if (k->is_taking && !k->failed) {
        k->failed = (size_t)n > saltus_pack_left(k);
        while (p->pending_capacity < n && !k->failed) {
            k->failed = !p->make_room(p);
        }
        p->n_pending = n;
    }
    for (int32_t i = 0; i < n && !k->failed; ++i) {
        saltus_pending *e = &p->pending[i];
        SALTUS_PACK(k, e->time);
        SALTUS_PACK(k, e->trigger);
        k->failed |= e->trigger < 0 || e->trigger >= p->n->n_triggers;
        for (int j = 0; j < p->n->largest_event; ++j) {
            double *value = &p->pending_values[(int64_t)i * p->n->largest_event + j];
            SALTUS_PACK(k, *value);
        }
    }
}

/* The queue as it lies: it is a heap when it is taken, or the state is of no use. */
static void pack_unfinished(saltus_packer *k, saltus_trajectory *p)
{
    int64_t n = p->n_unfinished;
    SALTUS_PACK(k, n);
    SALTUS_PACK(k, p->n_begun);
    if (k->is_taking && !k->failed) {
        k->failed = n < 0 || (uint64_t)n > saltus_pack_left(k) / sizeof *p->unfinished;
        while (p->unfinished_capacity < n && !k->failed) {
            k->failed = !p->make_queue_room(p);
        }
    }
    for (int64_t i = 0; i < n && !k->failed; ++i) {
        saltus_unfinished *e = &p->unfinished[i];
        SALTUS_PACK(k, e->time);
        SALTUS_PACK(k, e->number);
        SALTUS_PACK(k, e->which);
        k->failed |= e->which < 0 || e->which >= p->n->n_delayed || !(e->time >= p->t) ||
                     (i > 0 && saltus_ends_before(e, &p->unfinished[(i - 1) / 2]));
    }
    p->n_unfinished = k->failed ? 0 : n;
}

/* Whether rows of species are no copies of whole counts. */
static bool counts_are_real(const saltus_scalar_engine *w)
{
    return w->trajectory.amounts || w->ode.hybrid;
}

/* Of continuous variables: what is carried from step to step. */
static void pack_ode(saltus_packer *k, saltus_scalar_engine *w)
{
    saltus_trajectory *p = &w->trajectory;
    SALTUS_PACK(k, p->carried.step);
    SALTUS_PACK(k, p->carried.hazard);
    SALTUS_PACK(k, p->carried.below);
    SALTUS_PACK(k, p->carried.largest);
    SALTUS_PACK(k, p->carried.is_stiff);
    SALTUS_PACK(k, p->carried.n_stiff);
    SALTUS_PACK(k, p->carried.n_smooth);
    SALTUS_PACK(k, p->carried.n_stalled);
    if (w->ode.hybrid) {
        saltus_pack_bytes(k, w->ode.hybrid->flows, (size_t)p->n->n_reactions);
        SALTUS_PACK(k, w->ode.hybrid->kicks);
        saltus_pack_bytes(k, w->ode.hybrid->deviation,
                          sizeof *p->v * (size_t)(p->n->n_species + p->n->n_rates));
    }
    if (counts_are_real(w)) {
        saltus_pack_bytes(k, p->v, sizeof *p->v * (size_t)p->n->n_species);
    }
}

static void pack(saltus_packer *k, saltus_scalar_engine *w, const saltus_task *task)
{
    saltus_trajectory *p = &w->trajectory;
    const saltus_tables *n = p->n;
    const int64_t dimensions[] = {
        FORM,           task->method,  task->generator->rng, n->n_species,     n->n_flags,
        n->n_variables, n->n_triggers, n->n_settings,        n->largest_event, n->n_delayed};
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; ++i) {
        saltus_pack_same(k, dimensions[i]);
    }
    SALTUS_PACK(k, p->event);
    SALTUS_PACK(k, p->fired);
    SALTUS_PACK(k, p->ties);
    SALTUS_PACK(k, p->drawn);
    SALTUS_PACK(k, p->block);
    SALTUS_PACK(k, p->leaps);
    SALTUS_PACK(k, p->exact_steps);
    SALTUS_PACK(k, p->exact);
    SALTUS_PACK(k, p->t);
    SALTUS_PACK(k, p->after);
    SALTUS_PACK(k, p->special_strict);
    SALTUS_PACK(k, p->special);
    SALTUS_PACK(k, p->sample);
    saltus_pack_bytes(k, p->x, sizeof *p->x * (size_t)n->n_species);
    saltus_pack_bytes(k, p->v + n->row_variables, sizeof *p->v * (size_t)n->n_variables);
    saltus_pack_bytes(k, p->v + n->row_flags, sizeof *p->v * (size_t)n->n_flags);
    saltus_pack_bytes(k, p->on, (size_t)n->n_triggers);
    for (int i = 0; i < n->n_settings; ++i) {
        uint8_t rounded = p->rounded[i];
        SALTUS_PACK(k, rounded);
        p->rounded[i] |= rounded;
    }
    pack_pending(k, p);
    if (n->n_delayed > 0) {
        pack_unfinished(k, p);
    }
    if (n->n_thinned > 0) {
        saltus_pack_same(k, n->n_thinned);
        SALTUS_PACK(k, p->window);
        SALTUS_PACK(k, p->window_start);
        SALTUS_PACK(k, p->window_end);
        SALTUS_PACK(k, p->window_missed);
    }
    if (n->n_hubs > 0) {
        saltus_pack_same(k, n->n_hubs);
        SALTUS_PACK(k, p->has_bounds);
        saltus_pack_bytes(k, p->least, sizeof *p->least * (size_t)n->n_species);
        saltus_pack_bytes(k, p->most, sizeof *p->most * (size_t)n->n_species);
    }
    if (task->tolerance) {
        pack_ode(k, w);
    }
    if (w->stream) { /* it stands at the block of the next event, or the next leap */
        saltus_pack_bytes(k, w->direct.stream,
                          sizeof *w->direct.stream *
                              (size_t)saltus_stream_words(task->generator->rng));
    }
}

/* What a solver remembers of its steps is its own: within a stretch it is gone on with from its
 * beginning, and takes the same steps. */
void saltus_scalar_note_beginning(void *user)
{
    saltus_scalar_engine *scalar = user;
    if (scalar->task->saver) {
        saltus_pack_free(&scalar->beginning);
        scalar->beginning = (saltus_packer){0};
        pack(&scalar->beginning, scalar, scalar->task);
        scalar->beginning_samples = scalar->trajectory.sample;
    }
}

void saltus_scalar_keep(saltus_scalar_engine *scalar, const saltus_task *task, saltus_job *job)
{
    saltus_packer state = {0};
    if (scalar->ode.solver && scalar->ode.solver->goes_on) {
        saltus_keep(task, job, scalar->beginning_samples, &scalar->beginning);
        return;
    }
    pack(&state, scalar, task);
    saltus_keep(task, job, scalar->trajectory.sample, &state);
    saltus_pack_free(&state);
}

bool saltus_scalar_take(saltus_scalar_engine *scalar, const saltus_task *task,
                        const saltus_job *job)
{
    saltus_trajectory *p = &scalar->trajectory;
    const saltus_tables *n = p->n;
    saltus_packer state;
    if (!saltus_keep_open(job, &state)) {
        return false;
    }
    p->trajectory = (uint64_t)job->trajectory;
    p->failure = SALTUS_FINE;
    saltus_ode_break_off(&scalar->ode);
    p->n_pending = 0;
    p->n_unfinished = 0;
    pack(&state, scalar, task);
    if (state.failed || p->sample != job->kept->n_samples || p->sample >= task->n_times) {
        return false;
    }
    for (int s = 0; s < n->n_species && !counts_are_real(scalar); ++s) {
        p->v[s] = (double)p->x[s];
    }
    saltus_keep_samples(task, job);
    return true;
}
