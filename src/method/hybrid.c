/* Events where there are few molecules, flow and noise where there are many; kernel/ode/hybrid.h.
 */
#include "method/method.h"

#include "kernel/ode/split.h"
#include "model/network/network.h"

#include <math.h>

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    SALTUS_TRY(saltus_method_check_counts(model, err));
    SALTUS_TRY(saltus_method_check_mixed(model, o, err));
    if (o->continuous < 10 || o->continuous > 1000000000) {
        SALTUS_FAIL(SALTUS_E_INVALID, "continuous from %lld molecules on: choose 10 to 1000000000",
                    (long long)o->continuous);
    }
    if (t->n_species + t->n_rates > SALTUS_MOST_NOISY) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "method 'hybrid': model '%s' has %d species and variables with a rate rule; it "
                    "takes up to %d. Method '%s' has no such limit",
                    model->name, t->n_species + t->n_rates, SALTUS_MOST_NOISY,
                    t->n_rates + t->n_delayed > 0 ? "direct" : "tau");
    }
    SALTUS_TRY(saltus_method_check_moving(model, o, "hybrid", "events", err));
done:
    return status;
}

/* A step has some seven evaluations of all laws, and matrices for its noise. */
static double core_ns(const saltus_tables *tables, const struct saltus_lattice *lattice,
                      bool in_lanes)
{
    const double laws = (double)tables->n_reactions + tables->n_rates + tables->n_rules;
    (void)lattice, (void)in_lanes;
    return 1000.0 + 200.0 * laws;
}

/* Whether a reaction flows at first. */
static bool flows(const saltus_tables *t, int reaction, double least)
{
    bool is_fine = t->n_delayed == 0 || t->delayed_of[reaction] < 0;
    for (int c = t->change_row[reaction]; c < t->change_row[reaction + 1]; ++c) {
        const double change = fabs((double)t->change_amount[c]);
        is_fine &= (double)t->initial_counts[t->change_species[c]] >= least * change;
    }
    return is_fine;
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    const saltus_tables *t = &model->network->tables;
    const double least = steering->tolerance->continuous;
    int n = 0;
    (void)cost;
    for (int r = 0; r < t->n_reactions; ++r) {
        n += flows(t, r, least);
    }
    fprintf(
        out,
        "%d of %d reactions flow at first, with the noise of the chemical Langevin equation: "
        "each that changes species of %g molecules and more alone, until one has fewer than %g; "
        "means and deviations are off by some thousandths, other reactions are events, as by "
        "the direct method",
        n, t->n_reactions, least, SALTUS_HYBRID_STAYS * least);
}

const saltus_method_ops saltus_method_hybrid = {
    .name = "hybrid",
    .stream_version = 3,
    .help = "flow and events",
    .is_timed = true,
    .steps = "steps",
    .check = check,
    .core_ns = core_ns,
    .explain = explain,
};
