#include "ensemble/keeping.h"

#include "core/clock.h"
#include "core/memory.h"
#include "engine/keep.h"

/* Trajectories that take less than this share of the interval are simulated again. */
static const double least_share = 1.0 / 60.0;
/* A worker that has not answered after so many seconds has nothing to keep, or is at work that
 * cannot be kept. */
static const double patience = 5.0;

saltus_status saltus_keeping_begin(saltus_keeping *k, const saltus_plan *plan,
                                   const saltus_run_options *options, const saltus_sink *sink,
                                   int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_columns *columns = &plan->columns;
    saltus_row_sizes sizes = {.counts = columns->n_counts, .observables = columns->n_observables};
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        sizes.splits[i] = (int64_t)plan->n_parts[i] * columns->n_counts;
    }
    *k = (saltus_keeping){.n = n, .start = saltus_now(), .stores = sink->store != NULL};
    k->last = k->start;
    k->pause = saltus_calloc((size_t)n, sizeof *k->pause);
    SALTUS_NEED(k->pause);
    k->checkpoint = options->checkpoint;
    saltus_checkpoint_begin(k->checkpoint, &sizes, options->n_times);
    saltus_checkpoint_drop(k->checkpoint, options->first_trajectory, options->n_done);
    const char *trouble = saltus_checkpoint_trouble(k->checkpoint);
    if (trouble && options->warn) {
        options->warn(options->warn_user, trouble);
    }
done:
    return status;
}

void saltus_keeping_free(saltus_keeping *k)
{
    saltus_free(k->pause);
    *k = (saltus_keeping){0};
}

/* By Little's law: so many are under way on average as end in a second, times the seconds that
 * each takes. */
void saltus_keeping_look(saltus_keeping *k, int64_t n_under_way, int64_t n_finished)
{
    const double spent = (saltus_now() - k->start) * (double)n_under_way,
                 least = least_share * saltus_checkpoint_seconds(k->checkpoint);
    const bool pays = spent > least * (double)(n_finished > 0 ? n_finished : 1);
    __atomic_store_n(&k->pays, pays, __ATOMIC_RELAXED);
}

bool saltus_keeping_pays(const saltus_keeping *k)
{
    return __atomic_load_n(&k->pays, __ATOMIC_RELAXED);
}

void saltus_keeping_ask(saltus_keeping *k)
{
    k->asked = k->asked > 0.0 ? k->asked : saltus_now();
    for (int i = 0; i < k->n; ++i) {
        saltus_keep_ask(&k->pause[i]);
    }
}

void saltus_keeping_end(saltus_keeping *k, int worker)
{
    if (k->checkpoint) {
        saltus_keep_end(&k->pause[worker]);
    }
}

static bool all_have_answered(const saltus_keeping *k)
{
    for (int i = 0; i < k->n; ++i) {
        if (!saltus_keep_has_answered(&k->pause[i])) {
            return false;
        }
    }
    return true;
}

bool saltus_keeping_is_ready(saltus_keeping *k)
{
    const double now = saltus_now();
    if (!k->checkpoint) {
        return false;
    }
    if (k->asked > 0.0) {
        return all_have_answered(k) || now - k->asked > patience;
    }
    if (now - k->last >= saltus_checkpoint_seconds(k->checkpoint) &&
        (k->stores || saltus_keeping_pays(k))) {
        saltus_keeping_ask(k);
    }
    return false;
}

void saltus_keeping_store(const saltus_keeping *k, const saltus_sink *sink, int64_t n)
{
    void *bytes = NULL;
    size_t size = 0;
    saltus_error err = {0}; /* what was kept before is good, too */
    if (sink->store && sink->store(sink->user, &bytes, &size, &err) == SALTUS_OK) {
        saltus_checkpoint_set_had(k->checkpoint, n, bytes, size);
    }
}

void saltus_keeping_write(saltus_keeping *k, const saltus_run_options *options,
                          const saltus_sink *sink)
{
    saltus_error err = {0};
    if (k->stores &&
        saltus_now() - k->start < least_share * saltus_checkpoint_seconds(k->checkpoint)) {
        return;
    }
    if (saltus_checkpoint_write(k->checkpoint, sink, &err) != SALTUS_OK && !k->has_warned &&
        options->warn) {
        char text[sizeof err.message + 60];
        k->has_warned = true;
        (void)snprintf(text, sizeof text, "no checkpoint was written: %s", err.message);
        options->warn(options->warn_user, text);
    }
    k->last = saltus_now();
    k->asked = 0.0;
}
