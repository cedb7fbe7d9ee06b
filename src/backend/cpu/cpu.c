#include "backend/backend.h"

#include "backend/cpu/cpu.h"
#include "core/limits.h"
#include "kernel/base/stream.h"
#include "kernel/ssa/direct_lanes.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

enum { MAX_LANE_RATES = 64 };

/* The variant of a name, or, for NULL, the widest that runs here; NULL when there is none. */
static const saltus_cpu_variant *find_variant(const char *name)
{
    for (int i = 0; saltus_cpu_variants[i]; ++i) {
        const saltus_cpu_variant *v = saltus_cpu_variants[i];
        if (name ? strcmp(v->set->name, name) == 0 : v->set->runs_here()) {
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
    const saltus_cpu_variant *v = find_variant(set);
    if (!v) {
        const bool is_known =
            strcmp(specification, "cpu:avx2") == 0 || strcmp(specification, "cpu:avx512") == 0;
        status = saltus_error_set(err, is_known ? SALTUS_E_UNAVAILABLE : SALTUS_E_INVALID,
                                  "device '%s': no such instruction set was built", specification);
        saltus_error_hint(err, "saltus devices lists what there is");
        goto done;
    }
    if (!v->set->runs_here()) {
        SALTUS_FAIL(SALTUS_E_UNAVAILABLE, "device '%s': this processor has no %s", specification,
                    v->set->name);
    }
    backend->device = v;
    backend->n_cores = saltus_cores(); /* which takes longer than a small run */
    (void)snprintf(backend->name, sizeof backend->name, "cpu:%s", v->set->name);
done:
    return status;
}

static void close_cpu(saltus_backend *backend)
{
    (void)backend;
}

static void list(FILE *out)
{
    const saltus_cpu_variant *chosen = find_variant(NULL);
    fprintf(out, "cpu: %d core%s\n", saltus_cores(), saltus_cores() == 1 ? "" : "s");
    for (int i = 0; saltus_cpu_variants[i]; ++i) {
        const saltus_cpu_variant *v = saltus_cpu_variants[i];
        fprintf(out, "  cpu:%-8s %d lanes%s\n", v->set->name, v->lanes,
                !v->set->runs_here() ? ", not on this processor"
                : v == chosen        ? ", used"
                                     : "");
    }
}

/* Why lanes cannot carry the model, or draw from the generator, or NULL. */
static const char *against_lanes(saltus_method method, const saltus_tables *n,
                                 const saltus_generator *generator)
{
    if (generator->rng != SALTUS_RNG_PHILOX) {
        return "lanes draw from philox alone";
    }
    if (method == SALTUS_METHOD_ODE) {
        return "steps of the mean field are its own";
    }
    if (method == SALTUS_METHOD_HYBRID) {
        return "its split is each trajectory's own";
    }
    if (n->n_rates > MAX_LANE_RATES) {
        return "it has more than 64 rate rules";
    }
    if (n->n_rates > 0) {
        return NULL;
    }
    if (n->n_reactions == 0) {
        return "nothing reacts";
    }
    if (n->n_reactions > SALTUS_LANES_MAX_REACTIONS) {
        return "it has more than 64 reactions";
    }
    if (n->n_delayed > 0) {
        return "reactions take a while";
    }
    if (n->watches_state && method != SALTUS_METHOD_DIRECT) {
        return "its events watch the state";
    }
    if (saltus_cpu_follows_times(n)) {
        return "times at which something happens follow from the state";
    }
    if (n->n_thinned > 0 && method != SALTUS_METHOD_DIRECT) {
        return "its rates drift with time";
    }
    if ((double)n->largest_change >= saltus_lanes_most_change) {
        return "a reaction changes a count by 2^35 or more";
    }
    for (int s = 0; s < n->n_species; ++s) {
        if ((double)n->initial_counts[s] > saltus_lanes_largest) {
            return "it starts with more than 2^52 molecules";
        }
    }
    return NULL;
}

/* Of a lattice every method has one layout. */
static saltus_status choose_layout(const saltus_backend *backend, const saltus_setup *setup,
                                   saltus_layout *layout, char why[200], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_cpu_variant *v = backend->device;
    const saltus_method_ops *method = saltus_method_of(setup->method);
    if (setup->block > 0 || setup->n_streams > 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "blocks and streams are a GPU's; this device is the CPU");
    }
    if (method->in_space) {
        *layout = saltus_layout_first(SALTUS_ON_CPU, setup->method);
        (void)snprintf(why, 200, "%s", saltus_layout_of(*layout)->about);
        goto done;
    }
    const char *against = against_lanes(setup->method, setup->tables, setup->generator);
    if (setup->layout == SALTUS_LAYOUT_LANES && against) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout 'lanes' does not fit: %s", against);
    }
    *layout = setup->layout == SALTUS_LAYOUT_SCALAR || against ? SALTUS_LAYOUT_SCALAR
                                                               : SALTUS_LAYOUT_LANES;
    if (setup->layout != SALTUS_LAYOUT_AUTO) {
        (void)snprintf(why, 200, "as asked");
    } else if (against) {
        (void)snprintf(why, 200, "%s: %s", saltus_layout_of(*layout)->about, against);
    } else {
        const int n = method->leaps                ? v->slots
                      : setup->tables->n_rates > 0 ? v->rate_lanes
                                                   : v->lanes;
        (void)snprintf(why, 200, "%d trajectories at a time, %d reactions; single ones at the end",
                       n, setup->tables->n_reactions);
    }
done:
    return status;
}

static int n_workers(const saltus_backend *backend, const saltus_plan_options *wanted)
{
    return wanted->n_threads > 0 ? wanted->n_threads : backend->n_cores;
}

/* As backend/cpu/rdme.c has it: two sets of lists, a list for each site, in bricks of 4 x 4 x 2. */
static double lattice_bytes(const saltus_lattice *l)
{
    const double bricks = ceil(l->size[0] / 4.0) * ceil(l->size[1] / 4.0) * ceil(l->size[2] / 2.0);
    return bricks * (2 * (32 + 2) + 1) * sizeof(int32_t);
}

static double estimate(const saltus_backend *backend, const saltus_setup *setup, int n_workers,
                       double n_trajectories, double steps_each)
{
    const saltus_method_ops *method = saltus_method_of(setup->method);
    const double ns = method->core_ns(setup->tables, setup->model->network->lattice,
                                      setup->layout == SALTUS_LAYOUT_LANES);
    const double busy =
        method->shares_trajectory || n_workers < n_trajectories ? n_workers : n_trajectories;
    (void)backend;
    return 1e-9 * ns * steps_each * n_trajectories / (busy > 0.0 ? busy : 1.0);
}

static saltus_status work(const saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err)
{
    const saltus_cpu_variant *v = backend->device;
    const bool few = task->share < v->lanes / 4; /* too few to fill lanes */
    if (task->layout == SALTUS_LAYOUT_SCALAR || (task->layout == SALTUS_LAYOUT_LANES && few)) {
        return saltus_scalar_takes_turns(task)
                   ? saltus_scalar_work_in_turn(v->set, task, source, err)
                   : saltus_scalar_work(v->set, task, source, err);
    }
    if (task->tables->n_rates > 0 && task->layout == SALTUS_LAYOUT_LANES) {
        return v->work_rates(task, source, err);
    }
    return task->peers ? saltus_work_mpd_slab(task, source, err)
                       : v->work[task->method](task, source, err);
}

const saltus_backend_ops saltus_backend_cpu = {
    .name = "cpu",
    .kind = SALTUS_ON_CPU,
    .methods = ~0U, /* it has each, and shows what is right */
    .point_methods = SALTUS_METHOD_BIT(SALTUS_METHOD_DIRECT) | SALTUS_METHOD_BIT(SALTUS_METHOD_ODE),
    .claims = claims,
    .open = open_cpu,
    .close = close_cpu,
    .list = list,
    .choose_layout = choose_layout,
    .lattice_bytes = lattice_bytes,
    .n_workers = n_workers,
    .estimate = estimate,
    .work = work,
};
