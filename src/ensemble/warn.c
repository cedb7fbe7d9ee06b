#include "ensemble/warn.h"

#include <stdio.h>

static void say(const saltus_run_options *options, const char *text)
{
    options->warn(options->warn_user, text);
}

/* What steers something that is not there. */
static void warn_of_idle(const saltus_plan *plan, const saltus_run_options *options)
{
    const saltus_plan_options usual = saltus_plan_options_default();
    const saltus_tolerance *e = &plan->tolerance;
    if (!saltus_plan_integrates(plan) &&
        (e->rtol != usual.rtol || e->atol != usual.atol || e->stiff != SALTUS_STIFF_AUTO)) {
        say(options, "`rtol`, `atol` and `stiff` are of rate rules, and of methods ode and hybrid: "
                     "nothing is integrated here");
    }
    if (plan->avoids_peers && plan->n_slabs == 0) {
        say(options, "`no_peer` is of lattices in slabs, `split`, alone");
    }
}

void saltus_warn_before(const saltus_plan *plan, const saltus_run_options *options)
{
    if (!options->warn) {
        return;
    }
    if (plan->columns.n_counts == 0 && plan->columns.n_observables == 0) {
        say(options, "nothing is recorded: no species, and nothing else that changes; columns that "
                     "are named may be parameters and compartments");
    }
    warn_of_idle(plan, options);
    if (plan->model->network->tables.watches_state && saltus_plan_method_ops(plan)->leaps) {
        say(options, "events watch the state, which a leap passes over: leaps are short where one "
                     "may turn, and it may come late by the rest of one");
    }
}

void saltus_warn_after(const saltus_plan *plan, const saltus_run_options *options,
                       const uint8_t *rounded)
{
    const saltus_network *net = plan->model->network;
    for (int i = 0; options->warn && i < net->tables.n_settings; ++i) {
        if (rounded[i]) {
            char text[300];
            const bool is_event = net->setting_events[i];
            (void)snprintf(text, sizeof text,
                           "%s%.100s%s '%.100s' to values that are not whole; they were rounded",
                           is_event ? "event '" : "", is_event ? net->setting_events[i] : "",
                           is_event ? "' set" : "initial amounts were drawn that set",
                           net->setting_names[i]);
            say(options, text);
        }
    }
}
