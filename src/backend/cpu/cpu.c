#include "backend/backend.h"

#include "backend/cpu/cpu.h"
#include "core/limits.h"
#include "kernel/base/stream.h"
#include "kernel/base/tables.h"
#include "model/lattice/lattice.h"

#include <string.h>

/* Lanes hold counts exactly below 2^52, looked at every 2^16 blocks; see lanes.c. */
static const int64_t largest_lane_count = (int64_t)1 << 52;
static const int64_t largest_lane_change = (int64_t)1 << 35;
enum { MAX_LANE_REACTIONS = SALTUS_FANOUT * SALTUS_FANOUT };

const saltus_cpu_variant *saltus_cpu_variant_find(const char *name)
{
    for (int i = 0; saltus_cpu_variants[i]; ++i) {
        const saltus_cpu_variant *v = saltus_cpu_variants[i];
        if (name ? strcmp(v->name, name) == 0 : v->runs_here()) {
            return v;
        }
    }
    return NULL;
}

static bool claims(const char *specification)
{
    return strcmp(specification, "cpu") == 0 || strncmp(specification, "cpu:", 4) == 0;
}

static saltus_status open_cpu(const char *specification, saltus_backend *backend, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *set = specification[3] == ':' ? specification + 4 : NULL;
    const saltus_cpu_variant *v = saltus_cpu_variant_find(set);
    if (!v) {
        const bool is_known =
            strcmp(specification, "cpu:avx2") == 0 || strcmp(specification, "cpu:avx512") == 0;
        status = saltus_error_set(err, is_known ? SALTUS_E_UNAVAILABLE : SALTUS_E_INVALID,
                                  "device '%s': no such instruction set was built", specification);
        saltus_error_hint(err, "saltus devices lists what there is");
        goto done;
    }
    if (!v->runs_here()) {
        SALTUS_FAIL(SALTUS_E_UNAVAILABLE, "device '%s': this processor has no %s", specification,
                    v->name);
    }
    backend->device = v;
    (void)snprintf(backend->name, sizeof backend->name, "cpu:%s", v->name);
done:
    return status;
}

static void close_cpu(saltus_backend *backend)
{
    (void)backend;
}

static void list(FILE *out)
{
    const saltus_cpu_variant *chosen = saltus_cpu_variant_find(NULL);
    fprintf(out, "cpu: %d core%s\n", saltus_cores(), saltus_cores() == 1 ? "" : "s");
    for (int i = 0; saltus_cpu_variants[i]; ++i) {
        const saltus_cpu_variant *v = saltus_cpu_variants[i];
        fprintf(out, "  cpu:%-8s %d lanes%s\n", v->name, v->lanes,
                !v->runs_here() ? ", not on this processor"
                : v == chosen   ? ", used"
                                : "");
    }
}

/* Why lanes cannot carry the model, or draw from the generator, or NULL. */
static const char *against_lanes(const saltus_tables *n, const saltus_generator *generator)
{
    if (generator->rng != SALTUS_RNG_PHILOX) {
        return "lanes draw from philox alone";
    }
    if (n->n_reactions == 0) {
        return "nothing reacts";
    }
    if (n->n_reactions > MAX_LANE_REACTIONS) {
        return "it has more than 64 reactions";
    }
    if (n->watches_state) {
        return "its events watch the state";
    }
    if (n->largest_change >= largest_lane_change) {
        return "a reaction changes a count by 2^35 or more";
    }
    for (int s = 0; s < n->n_species; ++s) {
        if (n->initial_counts[s] > largest_lane_count) {
            return "it starts with more than 2^52 molecules";
        }
    }
    return NULL;
}

static saltus_status choose_layout(const saltus_backend *backend, const saltus_tables *tables,
                                   const saltus_generator *generator,
                                   const saltus_plan_options *options, const char **layout,
                                   char why[200], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *wanted = options->layout;
    const saltus_cpu_variant *v = backend->device;
    const char *against = against_lanes(tables, generator);
    const bool is_auto = strcmp(wanted, "auto") == 0;
    if (options->block > 0 || options->n_streams > 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "blocks and streams are a GPU's; this device is the CPU");
    }
    if (!is_auto && strcmp(wanted, "lanes") != 0 && strcmp(wanted, "scalar") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout '%s': the CPU has auto, lanes and scalar", wanted);
    }
    if (strcmp(wanted, "lanes") == 0 && against) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout 'lanes' does not fit: %s", against);
    }
    *layout = strcmp(wanted, "scalar") == 0 || against ? "scalar" : "lanes";
    if (!is_auto) {
        (void)snprintf(why, 200, "as asked");
    } else if (against) {
        (void)snprintf(why, 200, "one trajectory at a time: %s", against);
    } else {
        (void)snprintf(why, 200, "%d trajectories at a time, %d reactions; single ones at the end",
                       strcmp(options->method, "tau") == 0 ? v->slots : v->lanes,
                       tables->n_reactions);
    }
done:
    return status;
}

static int n_workers(const saltus_backend *backend, const saltus_plan_options *wanted)
{
    (void)backend;
    return wanted->n_threads > 0 ? wanted->n_threads : saltus_cores();
}

/* Nanoseconds of a core per event; bench/RESULTS.md, "Cost per event against the number of
 * reactions" and "One trajectory of a large network". */
static double estimate(const saltus_backend *backend, const saltus_tables *tables,
                       const char *layout, bool leaps, int n_workers, double n_trajectories,
                       double steps_each)
{
    const double reactions = tables->n_reactions;
    const bool lanes = strcmp(layout, "lanes") == 0;
    const double ns = leaps               ? (lanes ? 20.0 + 15.0 * reactions : 60.0 * reactions)
                      : lanes             ? 2.5 + 0.3 * reactions
                      : reactions < 500.0 ? 35.0 + 0.1 * reactions
                                          : 170.0;
    const double busy = n_trajectories < n_workers ? n_trajectories : n_workers;
    (void)backend;
    return 1e-9 * ns * steps_each * n_trajectories / (busy > 0.0 ? busy : 1.0);
}

/* bench/RESULTS.md, "Space". */
static double estimate_space(const saltus_backend *backend, const saltus_lattice *lattice,
                             const char *layout, int n_workers, double n_trajectories,
                             double n_steps)
{
    const double ns = 60.0; /* of a particle in a step */
    (void)backend, (void)layout;
    return 1e-9 * ns * n_trajectories * n_steps * (double)saltus_lattice_n_placed(lattice) /
           n_workers;
}

static saltus_status choose_space_layout(const saltus_backend *backend,
                                         const saltus_lattice *lattice,
                                         const saltus_plan_options *wanted, const char **layout,
                                         char why[200], saltus_error *err)
{
    (void)backend, (void)lattice;
    *layout = "particles";
    (void)snprintf(why, 200, "particle by particle, in bricks of sites");
    return strcmp(wanted->layout, "auto") == 0 || strcmp(wanted->layout, *layout) == 0
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_INVALID,
                                  "layout '%s': on a lattice the CPU has auto and particles",
                                  wanted->layout);
}

static saltus_status work(const saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err)
{
    const saltus_cpu_variant *v = backend->device;
    const bool many = task->share >= v->lanes / 4;
    if (task->in_space) {
        return task->next_subvolume ? v->next_subvolume(task, source, err)
                                    : saltus_work_mpd(task, source, err);
    }
    if (strcmp(task->layout, "lanes") == 0 && many) {
        return task->tau ? v->leap(task, source, err) : v->work(task, source, err);
    }
    return saltus_work_scalar(v, task, source, err);
}

const saltus_backend_ops saltus_backend_cpu = {
    .name = "cpu",
    .claims = claims,
    .open = open_cpu,
    .close = close_cpu,
    .list = list,
    .choose_layout = choose_layout,
    .choose_space_layout = choose_space_layout,
    .n_workers = n_workers,
    .has_next_subvolume = true,
    .estimate = estimate,
    .estimate_space = estimate_space,
    .work = work,
};
