/* The direct method: reactions one by one, exactly; kernel/ssa. */
#include "method/method.h"

#include "model/network/network.h"

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_method_check_counts(model, err));
    SALTUS_TRY(saltus_method_check_mixed(model, o, err));
    if (model->network->tables.n_rates > 0) {
        SALTUS_TRY(saltus_method_check_stiff(model, o, false, err));
    }
done:
    return status;
}

/* bench/RESULTS.md, "Cost per event against the number of reactions" and "Large networks". */
static double core_ns(const saltus_tables *tables, const struct saltus_lattice *lattice,
                      bool in_lanes)
{
    const double reactions = tables->n_reactions;
    (void)lattice;
    if (tables->n_rates > 0) { /* some steps for each event */
        const double moving = (double)tables->n_rates + tables->n_moving_laws;
        return in_lanes ? 70.0 + 15.0 * moving : 200.0 + 80.0 * moving;
    }
    if (tables->n_thinned > 0) { /* candidates that do not fire, and windows */
        const double drifting = tables->n_thinned;
        return in_lanes ? 4.0 + 0.4 * reactions + 4.0 * drifting : 45.0 + 10.0 * drifting;
    }
    if (tables->n_hubs > 0) {
        return 65.0;
    }
    return in_lanes ? 2.5 + 0.3 * reactions : reactions < 500.0 ? 35.0 + 0.1 * reactions : 170.0;
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    const saltus_tables *t = &model->network->tables;
    (void)steering;
    fprintf(out, "exact%s, cost per event %s",
            t->n_rates > 0 ? " but for errors of integration" : "", cost);
    if (t->n_hubs > 0) {
        fprintf(out, "; %d sums for %d reactions, with bounds around counts", t->n_hubs + t->n_own,
                t->n_reactions);
    }
    if (t->n_thinned > 0) {
        fprintf(out,
                "; %d of %d rates drift with time, each bounded over windows that have about two "
                "candidates that do not fire",
                t->n_thinned, t->n_reactions);
    }
}

const saltus_method_ops saltus_method_direct = {
    .name = "direct",
    .stream_version = 1,
    .help = "exact",
    .is_exact = true,
    .steps = "reactions",
    .check = check,
    .core_ns = core_ns,
    .explain = explain,
};
