#include "method/method.h"

#include "core/list.h"
#include "model/network/network.h"
#include "ode/cvode.h"

#include <math.h>
#include <string.h>

#define ENTRY(name, variable) [SALTUS_METHOD_##name] = &saltus_method_##variable,
static const saltus_method_ops *const methods[SALTUS_N_METHODS] = {SALTUS_METHODS(ENTRY)};

const saltus_method_ops *saltus_method_of(saltus_method method)
{
    return methods[method];
}

saltus_method saltus_method_usual(const saltus_model *model)
{
    return model->network->lattice ? SALTUS_METHOD_MPD : SALTUS_METHOD_DIRECT;
}

bool saltus_method_is_auto(const char *name)
{
    return name && strcmp(name, "auto") == 0;
}

bool saltus_method_find(const char *name, saltus_method *out)
{
    for (int i = 0; i < SALTUS_N_METHODS; ++i) {
        if (strcmp(name, methods[i]->name) == 0) {
            *out = (saltus_method)i;
            return true;
        }
    }
    return false;
}

saltus_status saltus_method_parse(const char *name, bool in_space, saltus_method *out,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *names[SALTUS_N_METHODS + 1] = {"auto"};
    char list[100];
    int n = 1;
    const bool is_known = saltus_method_find(name, out);
    if (is_known && methods[*out]->in_space == in_space) {
        goto done;
    }
    if (is_known && !in_space) {
        SALTUS_FAIL(SALTUS_E_INVALID, "method '%s' is for models with a lattice; this one has none",
                    name);
    }
    for (int i = 0; i < SALTUS_N_METHODS; ++i) {
        if (methods[i]->in_space == in_space) {
            names[n++] = methods[i]->name;
        }
    }
    SALTUS_FAIL(SALTUS_E_INVALID, "method '%s': %s has %s", name,
                in_space ? "a model with a lattice" : "this version",
                saltus_list_and(names, n, list, sizeof list));
done:
    return status;
}

saltus_status saltus_method_check_tolerance(const saltus_plan_options *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!(o->rtol >= 1e-12 && o->rtol <= 0.1)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "rtol %g: choose 1e-12 to 0.1", o->rtol);
    }
    if (!(o->atol > 0.0 && isfinite(o->atol))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "atol %g: it must be above 0", o->atol);
    }
    if (strcmp(o->stiff, "auto") != 0 && strcmp(o->stiff, "never") != 0 &&
        strcmp(o->stiff, "always") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "stiff '%s': auto, never or always", o->stiff);
    }
done:
    return status;
}

saltus_status saltus_method_check_stiff(const saltus_model *model, const saltus_plan_options *o,
                                        bool is_mean, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    const int n = saltus_ode_components(t, is_mean);
    if (strcmp(o->stiff, "always") == 0 && n > SALTUS_MOST_STIFF &&
        !saltus_cvode_takes(t, is_mean, n)) {
        const bool is_beside = t->n_reactions > 0 && !is_mean;
        status = saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                                  "stiff 'always': model '%s' has %d variables that are "
                                  "integrated%s, and the method for stiff systems takes up to %d",
                                  model->name, n, is_beside ? " beside reactions" : "",
                                  (int)SALTUS_MOST_STIFF);
        saltus_error_hint(err, "%s",
                          is_beside
                              ? "auto and never integrate more of them explicitly"
                              : "more of them need SUNDIALS, which this version was built without");
    }
    return status;
}

saltus_status saltus_method_check_mixed(const saltus_model *model, const saltus_plan_options *o,
                                        saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    SALTUS_TRY(saltus_method_check_tolerance(o, err));
    if (t->n_rates > 0 && strcmp(o->rng, "philox") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "a model with %s has the generator philox alone",
                    model->network->follows_triggers ? "triggers that drift with time"
                                                     : "rate rules");
    }
    if (!(o->epsilon > 0.0 && o->epsilon < 1.0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "epsilon %g: it must be above 0 and below 1", o->epsilon);
    }
    if (o->n_critical < 0 || o->n_critical > 1000000) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`n_critical` %d: choose 0 to 1000000", o->n_critical);
    }
    if (o->n_exact < 1 || o->n_exact > 1000000) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%d exact steps: choose 1 to 1000000", o->n_exact);
    }
done:
    return status;
}

saltus_status saltus_method_check_counts(const saltus_model *model, saltus_error *err)
{
    const saltus_network *net = model->network;
    if (!net->mean_only) {
        return SALTUS_OK;
    }
    saltus_error_set(err, SALTUS_E_UNSUPPORTED, "%s", net->mean_only);
    saltus_error_hint(err, "%s", net->mean_only_hint);
    return SALTUS_E_UNSUPPORTED;
}

saltus_status saltus_method_check_moving(const saltus_model *model, const saltus_plan_options *o,
                                         const char *name, const char *between, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_method_check_tolerance(o, err));
    if (model->network->has_moving_clocks) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "method '%s': in model '%s' a time at which something switches follows "
                    "counts, which move between %s here",
                    name, model->name, between);
    }
    if (strcmp(o->rng, "philox") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "method '%s' has the generator philox alone", name);
    }
done:
    return status;
}

saltus_status saltus_method_check_lattice(const saltus_model *model, const saltus_plan_options *o,
                                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    SALTUS_TRY(saltus_method_check_tolerance(o, err));
    if (strcmp(o->rng, "philox") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "a model with a lattice has the generator philox alone");
    }
    if (t->n_triggers > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "model '%s' has a lattice, and events", model->name);
    }
done:
    return status;
}
