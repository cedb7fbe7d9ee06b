/* Multiparticle diffusion: on a lattice particles move and sites react in steps; kernel/rdme. */
#include "method/inflow.h"
#include "method/method.h"

#include "model/network/network.h"

/* A step that makes more particles than a lattice may hold takes minutes before anybody is told. */
static saltus_status check_inflow(void *user, const saltus_inflow *inflow, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_network *net = user;
    char text[SALTUS_INFLOW_TEXT];
    if (inflow->mean > 0x1p30) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%s %.3g times in a step of %g s, and 2^30 are the most",
                    saltus_inflow_text(net, inflow, text), inflow->mean, net->lattice->step);
    }
done:
    return status;
}

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_method_check_lattice(model, o, err));
    SALTUS_TRY(saltus_inflow_each(model->network, check_inflow, model->network, err));
done:
    return status;
}

static double count_steps(const saltus_lattice *lattice, double t_end)
{
    return t_end / lattice->step;
}

/* Steps are numbered, and times are their numbers times a step, in doubles. */
static saltus_status check_until(const saltus_lattice *lattice, double t_end, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const double n = count_steps(lattice, t_end);
    if (n > 0x1p53) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%.4g steps of %g s until %g s: there can be 2^53 of them", n, lattice->step,
                    t_end);
    }
    if (t_end > 0.0 && !(saltus_lattice_steps_until(lattice->step, t_end) >= 1.0)) {
        status = saltus_error_set(err, SALTUS_E_INVALID,
                                  "the run ends at %.10g s, before its first step of %.10g s does: "
                                  "nothing would happen",
                                  t_end, lattice->step);
        saltus_error_hint(err,
                          "a shorter `step` of the lattice; or method nsm, which has no steps");
    }
done:
    return status;
}

/* bench/RESULTS.md, "Space on the CPU". */
static double core_ns(const saltus_tables *tables, const saltus_lattice *lattice, bool in_lanes)
{
    const double particle_ns = 60.0;
    (void)tables, (void)in_lanes;
    return particle_ns * (double)saltus_lattice_n_placed(lattice);
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    (void)steering, (void)cost;
    fprintf(out, "particles move and sites react in steps of %g s", model->network->lattice->step);
}

const saltus_method_ops saltus_method_mpd = {
    .name = "mpd",
    .stream_version = 2,
    .help = "steps",
    .in_space = true,
    .shares_trajectory = true,
    .steps = "steps",
    .check = check,
    .check_until = check_until,
    .count_steps = count_steps,
    .core_ns = core_ns,
    .explain = explain,
};
