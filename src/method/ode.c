/* The mean-field answer: counts are real and follow all propensities; kernel/ode. */
#include "method/method.h"

#include "model/network/network.h"

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_method_check_mixed(model, o, err));
    SALTUS_TRY(saltus_method_check_moving(model, o, "ode", "steps", err));
    SALTUS_TRY(saltus_method_check_stiff(model, o, true, err));
    if (model->network->tables.n_delayed > 0) {
        SALTUS_FAIL(
            SALTUS_E_UNSUPPORTED,
            "method 'ode': reaction '%s' takes a while, which rate equations do not know",
            saltus_network_reaction(model->network, model->network->tables.delayed[0].reaction));
    }
    if (model->network->tables.n_variates > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "method 'ode': model '%s' draws values, and the mean field is without chance",
                    model->name);
    }
done:
    return status;
}

/* A step has some seven evaluations of all laws. */
static double core_ns(const saltus_tables *tables, const struct saltus_lattice *lattice,
                      bool in_lanes)
{
    const double laws = (double)tables->n_reactions + tables->n_rates + tables->n_rules;
    (void)lattice, (void)in_lanes;
    return 100.0 + 100.0 * laws;
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    (void)model, (void)steering, (void)cost;
    fprintf(out, "the mean field, without chance: counts are real");
}

const saltus_method_ops saltus_method_ode = {
    .name = "ode",
    .stream_version = 1,
    .help = "mean field",
    .is_timed = true,
    .steps = "steps",
    .check = check,
    .core_ns = core_ns,
    .explain = explain,
};
