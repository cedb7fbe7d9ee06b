/* Multiparticle diffusion: on a lattice particles move and sites react in steps; kernel/rdme. */
#include "method/method.h"

#include "model/network/network.h"

static double count_steps(const saltus_lattice *lattice, double t_end)
{
    return t_end / lattice->step;
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
    .check = saltus_method_check_lattice,
    .count_steps = count_steps,
    .core_ns = core_ns,
    .explain = explain,
};
