/* The next-subvolume method: on a lattice every reaction and every jump is an event, exactly;
 * kernel/rdme/nsm.h. */
#include "method/inflow.h"
#include "method/method.h"

#include "model/network/network.h"

#include <math.h>

/* Jumps of the particles that are there at first. */
static double count_steps(const saltus_lattice *l, double t_end)
{
    double jumps = 0.0;
    for (int i = 0; i < l->n_scatters; ++i) {
        jumps += 6.0 * (double)l->scatters[i].count * l->largest_jump[l->scatters[i].species];
    }
    for (int64_t i = 0; i < l->n_deposits; ++i) {
        jumps += 6.0 * (double)l->deposits[i].n * l->largest_jump[l->deposits[i].species];
    }
    return jumps * (t_end / l->step);
}

static double core_ns(const saltus_tables *tables, const saltus_lattice *lattice, bool in_lanes)
{
    (void)tables, (void)lattice, (void)in_lanes;
    return 200.0; /* bench/RESULTS.md */
}

typedef struct total {
    const saltus_network *net;
    double rate;
} total;

/* One of all inflows is drawn by its share of their rate. */
static saltus_status check_inflow(void *user, const saltus_inflow *inflow, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    total *all = user;
    char text[SALTUS_INFLOW_TEXT];
    all->rate += inflow->rate;
    if (!isfinite(all->rate)) {
        SALTUS_FAIL(
            SALTUS_E_UNSUPPORTED,
            "%s %.3g times a second, and the rates of all that comes from nothing add up to "
            "no finite number",
            saltus_inflow_text(all->net, inflow, text), inflow->rate);
    }
done:
    return status;
}

static saltus_status check(const saltus_model *model, const saltus_plan_options *o,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = model->network->lattice;
    total all = {.net = model->network};
    SALTUS_TRY(saltus_method_check_lattice(model, o, err));
    SALTUS_TRY(saltus_inflow_each(model->network, check_inflow, &all, err));
    for (int r = 0; r < l->n_reactions; ++r) {
        if (l->drifts[r] != SALTUS_STANDS) {
            SALTUS_FAIL(
                SALTUS_E_UNSUPPORTED,
                "method 'nsm': the law of reaction '%s' drifts with time, and waits are "
                "drawn as if it stood still; method 'mpd' has it at the middle of each step",
                saltus_network_reaction(model->network, r));
        }
    }
done:
    return status;
}

static void explain(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out)
{
    (void)model, (void)steering, (void)cost;
    fprintf(out, "exact, every jump of a particle is an event");
}

const saltus_method_ops saltus_method_nsm = {
    .name = "nsm",
    .stream_version = 1,
    .help = "exact",
    .in_space = true,
    .is_exact = true,
    .steps = "jumps",
    .check = check,
    .count_steps = count_steps,
    .core_ns = core_ns,
    .explain = explain,
};
