/* Multiparticle diffusion: on a lattice particles move and sites react in steps; kernel/rdme. */
#include "method/method.h"

#include "model/network/network.h"

/* A step that makes more particles than a lattice may hold takes minutes before anybody is told. */
static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    const double most = 0x1p30;
    saltus_status status = SALTUS_OK;
    const saltus_network *net = model->network;
    const saltus_tables *t = &net->tables;
    SALTUS_TRY(saltus_method_check_lattice(model, o, err));
    for (int type = 0; type < net->lattice->n_types; ++type) {
        const double step_sites = net->lattice->step * (double)net->lattice->sites_of[type];
        const double *rates = net->lattice->rate + (ptrdiff_t)type * t->n_reactions;
        for (int r = 0; r < t->n_reactions; ++r) {
            const double mean = rates[r] * step_sites;
            if (saltus_network_is_source(t, r) && mean > most) {
                SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                            "reaction '%s' happens %.3g times in a step of %g s, and 2^30 are the "
                            "most",
                            saltus_network_reaction(net, r), mean, net->lattice->step);
            }
        }
    }
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
done:
    return status;
}

/* bench/RESULTS.md, "Space". */
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
    .stream_version = 1,
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
