#include "ensemble/plan.h"

#include "core/memory.h"
#include "core/number.h"
#include "model/lattice/lattice.h"
#include "ode/cvode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

saltus_plan_options saltus_plan_options_default(void)
{
    return (saltus_plan_options){.layout = "auto",
                                 .rng = "philox",
                                 .epsilon = 0.03,
                                 .n_critical = 10,
                                 .n_exact = 100,
                                 .continuous = 1000,
                                 .rtol = 1e-6,
                                 .atol = 1e-12,
                                 .stiff = "auto"};
}

saltus_plan_options saltus_plan_options_given(const saltus_plan_options *options)
{
    const saltus_plan_options defaults = saltus_plan_options_default();
    saltus_plan_options o = options ? *options : defaults;
    o.layout = o.layout ? o.layout : defaults.layout;
    o.rng = o.rng ? o.rng : defaults.rng;
    o.stiff = o.stiff ? o.stiff : defaults.stiff;
    return o;
}

const saltus_method_ops *saltus_plan_method_ops(const saltus_plan *plan)
{
    return saltus_method_of(plan->method);
}

bool saltus_plan_integrates(const saltus_plan *plan)
{
    return plan->method == SALTUS_METHOD_ODE || plan->method == SALTUS_METHOD_HYBRID ||
           plan->model->network->tables.n_rates > 0;
}

const double *saltus_plan_amounts(const saltus_plan *plan)
{
    return plan->method == SALTUS_METHOD_ODE ? plan->model->network->initial_amounts : NULL;
}

saltus_task saltus_plan_task(const saltus_plan *plan)
{
    return (saltus_task){.model = plan->model,
                         .tables = &plan->model->network->tables,
                         .columns = &plan->columns,
                         .generator = &plan->generator,
                         .method = plan->method,
                         .amounts = saltus_plan_amounts(plan),
                         .tau = saltus_plan_method_ops(plan)->leaps ? &plan->tau : NULL,
                         .tolerance = saltus_plan_integrates(plan) ? &plan->tolerance : NULL,
                         .slabs = plan->slabs,
                         .n_slabs = plan->n_slabs,
                         .avoids_peers = plan->avoids_peers,
                         .balances_slabs = plan->balances_slabs,
                         .space = {.column_of = plan->column_of,
                                   .n_parts = {plan->n_parts[0], plan->n_parts[1]},
                                   .axis = plan->axis},
                         .layout = plan->layout,
                         .block = plan->block,
                         .n_expected = plan->n_expected};
}

saltus_setup saltus_plan_setup(const saltus_plan *plan)
{
    return (saltus_setup){.method = plan->method,
                          .model = plan->model,
                          .tables = &plan->model->network->tables,
                          .generator = &plan->generator,
                          .columns = &plan->columns,
                          .layout = plan->layout,
                          .block = plan->block,
                          .n_streams = plan->n_streams,
                          .n_expected = plan->n_expected,
                          .in_slabs = plan->in_slabs,
                          .n_slabs = plan->n_slabs};
}

/* The border: names of methods and layouts become numbers here. */
static saltus_status choose_method(saltus_plan *plan, const saltus_plan_options *o,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_backend_ops *backend = plan->backend->ops;
    const bool in_space = plan->model->network->lattice != NULL;
    SALTUS_TRY(saltus_method_parse(o->method, in_space, &plan->method, err));
    if (!(backend->methods & SALTUS_METHOD_BIT(plan->method))) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "method '%s' is for the CPU, not for device '%s'",
                    saltus_plan_method(plan), plan->backend->name);
    }
    SALTUS_TRY(saltus_plan_method_ops(plan)->check(plan->model, o, err));
    SALTUS_TRY(saltus_layout_parse(o->layout, backend->kind, plan->method, &plan->wanted, err));
    (void)snprintf(plan->method_why, sizeof plan->method_why, "%s",
                   o->method_why ? o->method_why : "");
    plan->tau = (saltus_tau){o->epsilon, o->n_critical, o->n_exact};
    plan->tolerance = (saltus_tolerance){o->rtol, o->atol,
                                         strcmp(o->stiff, "always") == 0  ? SALTUS_STIFF_ALWAYS
                                         : strcmp(o->stiff, "never") == 0 ? SALTUS_STIFF_NEVER
                                                                          : SALTUS_STIFF_AUTO,
                                         (double)o->continuous};
done:
    return status;
}

static saltus_status choose_layout(saltus_plan *plan, saltus_error *err)
{
    saltus_setup setup = saltus_plan_setup(plan);
    setup.layout = plan->wanted;
    return plan->backend->ops->choose_layout(plan->backend, &setup, &plan->layout, plan->why, err);
}

/* How host and device are to work. */
static saltus_status check_numbers(const saltus_plan_options *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (o->n_threads < 0 || o->n_threads > 4096) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%d threads: choose 1 to 4096, or 0 for one per core",
                    o->n_threads);
    }
    if (o->n_expected < 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld trajectories are expected, at least 0 are needed",
                    (long long)o->n_expected);
    }
    if (o->n_streams < 0 || o->n_streams > 64) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%d streams: choose 1 to 64", o->n_streams);
    }
    if (o->block < 0 || o->block > 1024 || o->block % 32 != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "blocks of %d threads: choose a multiple of 32 up to 1024",
                    o->block);
    }
done:
    return status;
}

/* Relative heights A:B:…, numbers above 0. */
static saltus_status parse_split(saltus_plan *plan, const char *split, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *at = split;
    for (bool more = true; more;) {
        double height;
        size_t length;
        const saltus_number_result result = saltus_number_parse(at, &height, &length);
        const char *end = at + length;
        plan->balances_slabs = *end == '+' && end[1] == '\0';
        if (result != SALTUS_NUMBER_OK || !(height > 0.0) ||
            (*end != ':' && *end != '\0' && !plan->balances_slabs)) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "split '%s': auto, or relative heights such as 1:1 or 3:1:2, with a + "
                        "behind them if planes may move",
                        split);
        }
        if (plan->n_slabs == SALTUS_MOST_SLABS) {
            SALTUS_FAIL(SALTUS_E_INVALID, "split '%s': more slabs than %d", split,
                        SALTUS_MOST_SLABS);
        }
        plan->slabs[plan->n_slabs++] = height;
        more = *end == ':';
        at = end + 1;
    }
done:
    return status;
}

/* A slab for each rank, as long as there are planes. */
static saltus_status choose_slabs_of_ranks(saltus_plan *plan, const char *split, int n_ranks,
                                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n_planes = plan->model->network->lattice->size[2],
              most = n_planes < SALTUS_MOST_SLABS ? n_planes : SALTUS_MOST_SLABS,
              n_equal = n_ranks < most ? n_ranks : most;
    if (split && strcmp(split, "auto") != 0) {
        SALTUS_TRY(parse_split(plan, split, err));
        if (plan->n_slabs != n_ranks || n_ranks > most) {
            SALTUS_FAIL(SALTUS_E_INVALID, "split '%s': %d slabs, %d ranks, %d planes", split,
                        plan->n_slabs, n_ranks, n_planes);
        }
        plan->balances_slabs = false;
    }
    for (int i = 0; i < n_equal && plan->n_slabs == 0; ++i) {
        plan->slabs[i] = 1.0;
    }
    plan->n_rank_slabs = n_equal > 1 ? n_equal : 0;
    plan->n_slabs = split ? plan->n_rank_slabs : 0;
    plan->is_over_ranks = plan->n_slabs > 0;
done:
    return status;
}

/* Slabs of a lattice. */
static saltus_status choose_slabs(saltus_plan *plan, const char *split, int n_ranks,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = plan->model->network->lattice;
    const saltus_backend *b = plan->backend;
    if (n_ranks > 1 && plan->method == SALTUS_METHOD_MPD &&
        (split || b->ops->kind == SALTUS_ON_CPU)) {
        SALTUS_TRY(choose_slabs_of_ranks(plan, split, n_ranks, err));
        goto done;
    }
    if (!split) {
        goto done;
    }
    if (!b->ops->choose_slabs || plan->layout != SALTUS_LAYOUT_COUNTS) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "split '%s': it is for method mpd, on a GPU in the layout counts, or on ranks",
                    split);
    }
    if (strcmp(split, "auto") == 0) {
        plan->n_slabs = b->ops->choose_slabs(b, l);
        plan->balances_slabs = true;
        for (int i = 0; i < plan->n_slabs; ++i) {
            plan->slabs[i] = 1.0;
        }
    } else {
        SALTUS_TRY(parse_split(plan, split, err));
    }
    if (plan->n_slabs > l->size[2]) {
        SALTUS_FAIL(SALTUS_E_INVALID, "split '%s': more slabs than the %d planes", split,
                    l->size[2]);
    }
done:
    return status;
}

/* How a lattice's species are counted beside their totals, once columns are known. */
static saltus_status choose_splits(saltus_plan *plan, const saltus_plan_options *o,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = plan->model->network->lattice;
    const char *axis = o->profile;
    if (axis && (axis[0] < 'x' || axis[0] > 'z' || axis[1] != '\0')) {
        SALTUS_FAIL(SALTUS_E_INVALID, "profile '%s': along x, y or z", axis);
    }
    if (axis && !l) {
        SALTUS_FAIL(SALTUS_E_INVALID, "model '%s' has no lattice, and so no profiles",
                    plan->model->name);
    }
    if (!l) {
        goto done;
    }
    plan->axis = axis ? axis[0] - 'x' : 0;
    plan->n_parts[SALTUS_BY_PLANE] = axis ? l->size[plan->axis] : 0;
    plan->n_parts[SALTUS_BY_TYPE] = o->by_type && l->n_types > 1 ? l->n_types : 0;
    plan->column_of = saltus_calloc((size_t)l->n_species, sizeof *plan->column_of);
    SALTUS_NEED(plan->column_of);
    memset(plan->column_of, 0xff, (size_t)l->n_species * sizeof *plan->column_of);
    for (int c = 0; c < plan->columns.n_counts; ++c) {
        plan->column_of[plan->count_species[c]] = c;
    }
done:
    return status;
}

saltus_status saltus_plan_create(const saltus_model *model, const saltus_backend *backend,
                                 const saltus_plan_options *options, saltus_plan **out,
                                 saltus_error *err)
{
    if (!model || !backend || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_plan_options o = saltus_plan_options_given(options);
    saltus_method_choice choice;
    saltus_plan *plan = saltus_calloc(1, sizeof *plan);
    SALTUS_NEED(plan);
    saltus_handle_add(&plan->handle, SALTUS_HANDLE_PLAN);
    if (!model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "model '%s' is not frozen", model->name);
    }
    if (!o.method) {
        o.method = saltus_method_of(saltus_method_usual(model))->name;
    } else if (saltus_method_is_auto(o.method)) {
        choice = saltus_method_choose(model, &o);
        o.method = choice.method;
        o.method_why = choice.why;
    }
    plan->model = model;
    plan->backend = backend;
    plan->block = o.block;
    plan->n_streams = o.n_streams;
    plan->n_expected =
        (o.n_expected + saltus_ranks_count(o.ranks) - 1) / saltus_ranks_count(o.ranks);
    plan->in_slabs = o.split != NULL;
    SALTUS_TRY(choose_method(plan, &o, err));
    SALTUS_TRY(check_numbers(&o, err));
    plan->n_workers = backend->ops->n_workers(backend, &o);
    SALTUS_TRY(saltus_generator_create(o.rng, &plan->generator, err));
    SALTUS_TRY(choose_layout(plan, err));
    SALTUS_TRY(saltus_plan_choose_columns(plan, o.columns, err));
    if (model->network->lattice && plan->columns.n_observables > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "on a lattice numbers of particles are recorded alone");
    }
    SALTUS_TRY(choose_splits(plan, &o, err));
    SALTUS_TRY(choose_slabs(plan, o.split, saltus_ranks_count(o.ranks), err));
    plan->avoids_peers = o.no_peer;
    *out = plan;
    plan = NULL;
done:
    saltus_plan_destroy(plan);
    return status;
}

saltus_status saltus_plan_compile(const saltus_plan *plan, saltus_kernel_report *out,
                                  saltus_error *err)
{
    if (!plan || !out) {
        return saltus_no_argument(err, __func__);
    }
    const saltus_backend *b = plan->backend;
    if (!b->ops->compile) {
        return saltus_error_set(err, SALTUS_E_INVALID, "device '%s' has no kernels to compile",
                                b->name);
    }
    const saltus_setup setup = saltus_plan_setup(plan);
    return b->ops->compile(b, &setup, out, err);
}

void saltus_plan_destroy(saltus_plan *plan)
{
    if (plan && saltus_handle_take(&plan->handle, SALTUS_HANDLE_PLAN)) {
        for (int o = 0; o < plan->columns.n_observables; ++o) {
            saltus_free(plan->observable_names[o]);
        }
        saltus_free(plan->observable_names);
        saltus_free(plan->observable_variables);
        saltus_free(plan->observables);
        saltus_free(plan->count_species);
        saltus_free(plan->column_of);
        saltus_generator_free(&plan->generator);
        saltus_free(plan);
    }
}

bool saltus_plan_may_solve(const saltus_plan *plan)
{
    const saltus_tables *t = &plan->model->network->tables;
    const bool is_mean = plan->method == SALTUS_METHOD_ODE;
    return (is_mean || plan->method == SALTUS_METHOD_DIRECT) && saltus_plan_integrates(plan) &&
           plan->tolerance.stiff != SALTUS_STIFF_NEVER &&
           saltus_cvode_takes(t, is_mean, saltus_ode_components(t, is_mean));
}

/* What goes on with a trajectory that is stiff. */
static void explain_stiff(const saltus_plan *plan, FILE *out)
{
    const saltus_tables *t = &plan->model->network->tables;
    const bool is_mean = plan->method == SALTUS_METHOD_ODE;
    const bool has_all = plan->method == SALTUS_METHOD_HYBRID;
    const int n = saltus_ode_components(t, is_mean) + (has_all ? t->n_species : 0);
    if (plan->tolerance.stiff == SALTUS_STIFF_NEVER) {
        fprintf(out, "never");
        return;
    }
    fprintf(out, plan->tolerance.stiff == SALTUS_STIFF_ALWAYS
                     ? "always"
                     : "once a trajectory is found to be stiff");
    if (saltus_plan_may_solve(plan)) {
        fprintf(out, ", by CVODE (%s) with a sparse Jacobian", saltus_cvode_name());
    } else if (n <= SALTUS_MOST_STIFF) {
        fprintf(out, ", by Rodas with a dense Jacobian");
    } else {
        fprintf(out, ", which %d variables are never taken for%s", n,
                is_mean && !saltus_cvode_name() ? " without SUNDIALS" : "");
    }
}

/* What is integrated, how, and to what errors. */
static void explain_integration(const saltus_plan *plan, FILE *out)
{
    const saltus_tables *t = &plan->model->network->tables;
    const saltus_tolerance *e = &plan->tolerance;
    if (plan->model->network->follows_triggers) {
        fputs("integral  triggers that drift with time", out);
    } else {
        const int n = plan->model->network->n_rate_rules;
        fprintf(out, "integral  %d rate rule%s%s", n, n == 1 ? "" : "s",
                n < t->n_rates ? ", triggers that drift" : "");
    }
    if (plan->method == SALTUS_METHOD_HYBRID) {
        fprintf(out, ", what flows and the hazard");
    } else if (plan->method == SALTUS_METHOD_ODE) {
        fprintf(out, " and %d species", t->n_species);
    } else if (plan->model->network->lattice) {
        fprintf(out, ", before anything moves; laws read it at the middle of each step");
    } else {
        fprintf(out, " and the hazard, with %d of the laws", t->n_moving_laws);
    }
    fprintf(out, ": errors of a step within %g of a value + %g; stiff: ", e->rtol, e->atol);
    explain_stiff(plan, out);
    fputc('\n', out);
}

void saltus_plan_explain(const saltus_plan *plan, FILE *out)
{
    if (!plan || !out) {
        return;
    }
    const saltus_tables *t = &plan->model->network->tables;
    fprintf(out, "model     %s: %d species, %d reaction%s\n", plan->model->name, t->n_species,
            t->n_reactions, t->n_reactions == 1 ? "" : "s");
    fprintf(out, "method    %s: ", saltus_plan_method(plan));
    const saltus_steering steering = {&plan->tau, &plan->tolerance};
    saltus_plan_method_ops(plan)->explain(plan->model, &steering,
                                          plan->layout == SALTUS_LAYOUT_LANES
                                              ? "grows with the reactions"
                                              : "grows with what an event changes",
                                          out);
    fprintf(out, "%s%s\n", plan->method_why[0] ? "; " : "", plan->method_why);
    if (saltus_plan_integrates(plan)) {
        explain_integration(plan, out);
    }
    fprintf(out, "rng       %s\n", plan->generator.name);
    fprintf(out, "device    %s, %d thread%s%s%s\n", plan->backend->name, plan->n_workers,
            plan->n_workers == 1 ? "" : "s", plan->backend->why[0] ? ": " : "", plan->backend->why);
    fprintf(out, "layout    %s: %s\n", saltus_plan_layout(plan), plan->why);
    if (plan->n_slabs > 0) {
        fprintf(out, "slabs     %d%s\n", plan->n_slabs,
                plan->is_over_ranks    ? ", one of each rank"
                : plan->n_slabs == 1   ? ": more would take longer"
                : plan->balances_slabs ? ", GPU after GPU; planes go to those that are soon done"
                                       : ", GPU after GPU");
        if (plan->n_slabs > 1 && !plan->is_over_ranks) {
            const saltus_slab_plan slabs = {plan->slabs, plan->n_slabs, plan->balances_slabs,
                                            plan->avoids_peers};
            plan->backend->ops->explain_slabs(plan->backend, plan->model->network->lattice, &slabs,
                                              out);
        }
    }
}

const char *saltus_plan_method(const saltus_plan *plan)
{
    return plan ? saltus_plan_method_ops(plan)->name : "";
}

int saltus_plan_slabs(const saltus_plan *plan)
{
    return plan ? plan->n_slabs : 0;
}

const char *saltus_plan_layout(const saltus_plan *plan)
{
    return plan ? saltus_layout_of(plan->layout)->name : "";
}

int saltus_plan_stream_version(const saltus_plan *plan)
{
    return plan ? saltus_plan_method_ops(plan)->stream_version : 0;
}

const char *saltus_plan_rng(const saltus_plan *plan)
{
    return plan ? plan->generator.name : "";
}

const saltus_model *saltus_plan_model(const saltus_plan *plan)
{
    return plan ? plan->model : NULL;
}

const saltus_backend *saltus_plan_backend(const saltus_plan *plan)
{
    return plan ? plan->backend : NULL;
}

int saltus_plan_n_counts(const saltus_plan *plan)
{
    return plan ? plan->columns.n_counts : 0;
}

const char *saltus_plan_count_name(const saltus_plan *plan, int c)
{
    return c >= 0 && c < saltus_plan_n_counts(plan)
               ? plan->model->network->species_names[plan->count_species[c]]
               : "";
}

int saltus_plan_n_observables(const saltus_plan *plan)
{
    return plan ? plan->columns.n_observables : 0;
}

const char *saltus_plan_observable_name(const saltus_plan *plan, int o)
{
    return o >= 0 && o < saltus_plan_n_observables(plan) ? plan->observable_names[o] : "";
}
