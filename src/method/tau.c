/* Tau-leaping: leaps of many reactions, and exact steps where leaps are too short; kernel/tau. */
#include "method/method.h"
#include "model/network/network.h"

static double core_ns(const saltus_tables *tables, const struct saltus_lattice *lattice,
                      bool in_lanes)
{
    const double reactions = tables->n_reactions;
    (void)lattice;
    return in_lanes ? 20.0 + 15.0 * reactions : 60.0 * reactions;
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    const saltus_tables *t = &model->network->tables;
    const saltus_tau *tau = steering->tau;
    (void)cost;
    fprintf(out, "leaps, epsilon %g, n_c %d, %d exact steps", tau->epsilon, tau->n_critical,
            tau->n_exact);
    if (t->n_thinned > 0) {
        fprintf(
            out,
            "; %d of %d rates drift with time, by %g of themselves in a leap at most, else exact "
            "steps",
            t->n_thinned, t->n_reactions, SALTUS_STEADY_SHARE * tau->epsilon);
    }
    if (t->n_bending > 0) {
        fprintf(out, "; %d of %d laws may bend within a leap, which is shorter then", t->n_bending,
                t->n_reactions);
    }
}

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_network *net = model->network;
    if (net->tables.n_delayed > 0) {
        SALTUS_FAIL(
            SALTUS_E_UNSUPPORTED,
            "reaction '%s' takes a while, and leaps do not know when it begins; the methods "
            "'direct' and 'hybrid' do",
            saltus_network_reaction(net, net->tables.delayed[0].reaction));
    }
    SALTUS_TRY(saltus_method_check_counts(model, err));
    SALTUS_TRY(saltus_method_check_mixed(model, o, err));
    if (model->network->tables.n_rates > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "method 'tau': model '%s' has %s, which leaps do not follow; method 'direct' "
                    "integrates them",
                    model->name,
                    net->follows_triggers ? "triggers that drift with time" : "rate rules");
    }
done:
    return status;
}

const saltus_method_ops saltus_method_tau = {
    .name = "tau",
    .stream_version = 4,
    .help = "leaps",
    .leaps = true,
    .steps = "leaps",
    .check = check,
    .core_ns = core_ns,
    .explain = explain,
};
