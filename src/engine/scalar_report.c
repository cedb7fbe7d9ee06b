/* What a trajectory's failure is, in words. */
#include "engine/scalar.h"

#include "core/number.h"
#include "kernel/ode/run.h"
#include "model/network/network.h"
#include "ode/cvode.h"

#include <math.h>
#include <string.h>

/* "A = 3, B = 0, …": the counts, and what rate rules move, as many as fit. */
static void print_state(const saltus_scalar_engine *scalar, const saltus_network *network,
                        char *text, size_t size)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const saltus_tables *t = p->n;
    const bool is_real = p->amounts || scalar->ode.hybrid;
    const int n = t->n_species + network->n_rate_rules;
    size_t at = 0;
    (void)snprintf(text, size, "this time"); /* of a model without either */
    for (int i = 0; i < n; ++i) {
        char item[120];
        const int rate = i - t->n_species;
        const char *name = rate < 0 ? network->species_names[i] : network->rate_names[rate];
        const double v = p->v[rate < 0 ? i : t->rate_rows[rate]];
        const int length = rate >= 0 || is_real
                               ? snprintf(item, sizeof item, "%s%.80s = %.6g", i > 0 ? ", " : "",
                                          name, saltus_without_nan_sign(v))
                               : snprintf(item, sizeof item, "%s%.80s = %lld", i > 0 ? ", " : "",
                                          name, (long long)p->x[i]);
        if (at + (size_t)length + 6 > size) {
            (void)snprintf(text + at, size - at, ", …");
            return;
        }
        memcpy(text + at, item, (size_t)length + 1);
        at += (size_t)length;
    }
}

/* [distribution][parameter] */
static const char *const parameter_names[][2] = {
    {"least value", "largest value"},
    {"mean", "standard deviation"},
    {"rate", NULL},
    {"shape", "scale"},
    {"mean of the logarithm", "standard deviation of the logarithm"},
    {"mean", NULL},
    {"number of trials", "probability"},
    {"probability", NULL},
    {"location", "scale"},
    {"location", "scale"},
    {"number of degrees of freedom", NULL},
    {"scale", NULL},
};

/* "event 'E' sets 'X'": what variate number i is drawn for. */
static void print_purpose(const saltus_network *network, int i, char *text, size_t size)
{
    const saltus_tables *t = &network->tables;
    for (int k = 0; k < t->n_settings; ++k) {
        const int first = t->settings[k].first_variate;
        if (i >= first && i < first + t->settings[k].n_variates) {
            const bool is_event = network->setting_events[k];
            (void)snprintf(text, size,
                           is_event ? "event '%.80s' sets '%.80s'" : "%s'%.80s' at first",
                           is_event ? network->setting_events[k] : "", network->setting_names[k]);
        }
    }
    for (int k = 0; k < t->n_delayed; ++k) {
        const int first = t->delayed[k].first_variate;
        if (i >= first && i < first + t->delayed[k].n_variates) {
            (void)snprintf(text, size, "reaction '%.80s' takes a while",
                           saltus_network_reaction(network, t->delayed[k].reaction));
        }
    }
    for (int k = 0; k < t->n_triggers; ++k) {
        const int first = t->triggers[k].first_variate;
        if (i >= first && i < first + t->triggers[k].n_variates) {
            (void)snprintf(text, size, "event '%.80s' waits", network->event_names[k]);
        }
    }
}

/* A random number that cannot be drawn. */
static saltus_status report_variate(const saltus_trajectory *p, const saltus_network *network,
                                    const char *where, double bad, const char *state,
                                    saltus_error *err)
{
    const saltus_variate *q = &network->tables.variates[p->culprit / 8];
    const int wrong = p->culprit % 8, n = saltus_variate_parameters(q->op);
    const char *name = saltus_op_text((saltus_op)q->op);
    const bool is_trials = q->op == SALTUS_OP_BINOMIAL && wrong == 0;
    char purpose[200] = "", number[SALTUS_NUMBER_SIZE];
    print_purpose(network, p->culprit / 8, purpose, sizeof purpose);
    if (wrong == SALTUS_VARIATE_NOTHING) {
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: %s: hardly anything of %s lies between its bounds at %s",
                                where, purpose, name, state);
    }
    return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: %s: the %s of %s cannot be %s at %s%s",
                            where, purpose,
                            wrong >= n ? wrong == n ? "lower bound" : "upper bound"
                                       : parameter_names[q->op - SALTUS_OP_FIRST_VARIATE][wrong],
                            name, saltus_number_format(bad, number), state,
                            is_trials ? "; it is a whole number up to 2^50" : "");
}

/* A propensity that is none. */
static saltus_status report_propensity(const saltus_network *network, const char *where, int r,
                                       double a, const char *state, saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: reaction '%s': propensity %g is %s at %s",
                            where, saltus_network_reaction(network, r), saltus_without_nan_sign(a),
                            isfinite(a) ? "negative" : "not finite", state);
}

/* The name of a component that is integrated. */
static const char *component_name(const saltus_scalar_engine *scalar, const saltus_network *network,
                                  int component)
{
    const saltus_tables *t = scalar->trajectory.n;
    const int rate = component - saltus_ode_first(&scalar->trajectory, &scalar->ode);
    return rate < 0            ? network->species_names[saltus_ode_species(&scalar->ode, component)]
           : rate < t->n_rates ? network->rate_names[rate]
                               : NULL;
}

/* What keeps an integration from going on: a propensity or a rate that is no number. */
typedef struct fault {
    int reaction;  /* or -1 */
    int component; /* or -1 */
    double value;
} fault;

/* Whether the integration reads the propensity of a reaction, which was placed last. */
static bool is_integrated(const saltus_trajectory *p, const saltus_ode *o, int r)
{
    const saltus_tables *n = p->n;
    const bool changes = n->change_row[r + 1] > n->change_row[r];
    bool is = p->amounts && changes;
    if (o->hybrid) {
        for (int i = 0; i < o->hybrid->n_flowing; ++i) {
            is |= o->hybrid->flowing[i] == r && changes;
        }
        for (int i = 0; i < o->hybrid->n_moving; ++i) {
            is |= o->hybrid->moving[i] == r;
        }
        return is && !o->hybrid->lacks[r];
    }
    for (int i = 0; i < n->n_moving_laws && !p->amounts; ++i) {
        is |= n->moving_laws[i] == r;
    }
    return is;
}

/* Whether something is no number at a state, whose slope is put there. */
static fault fault_at(saltus_trajectory *p, saltus_ode *o, double time, const double *y,
                      double *slope)
{
    fault found = {.reaction = -1, .component = -1};
    const int first = saltus_ode_first(p, o);
    saltus_ode_slope(p, o, time, y, slope);
    for (int i = first; i < first + p->n->n_rates && found.component < 0; ++i) {
        if (!isfinite(slope[i])) {
            found = (fault){.reaction = -1, .component = i, .value = slope[i]};
        }
    }
    saltus_ode_place(p, o, saltus_ode_inside(o, time), y);
    for (int r = 0; r < p->n->n_reactions; ++r) {
        const double a = is_integrated(p, o, r) ? saltus_propensity(p, r) : 0.0;
        if (!isfinite(a) && !saltus_direct_idles(p, r)) {
            return (fault){.reaction = r, .component = -1, .value = a};
        }
    }
    return found;
}

/* The first one at or beyond the state from which no step can be taken. The step that was tried has
 * become about as short as time or state can tell, so it is near; the method for stiff systems,
 * which differences its slopes, comes no nearer than 2^-26 of a value. Only what a failure leaves
 * behind is overwritten. */
static fault find_fault(const saltus_scalar_engine *scalar)
{
    enum { PROBES = 17 };
    saltus_trajectory p = scalar->trajectory;
    saltus_ode o = scalar->ode;
    const double least = saltus_ode_least(p.t);
    double h = o.size > least ? o.size : least;
    fault found = {.reaction = -1, .component = -1};
    bool is_finite = true;
    for (int i = 0; i < o.n; ++i) {
        is_finite &= isfinite(o.y[i]) != 0;
    }
    if (!is_finite) { /* whatever follows from it is no number either */
        return found;
    }
    found = fault_at(&p, &o, p.t, o.y, o.k);
    for (int i = 0; i < o.n; ++i) {
        is_finite &= isfinite(o.k[i]) != 0;
    }
    for (int k = 0; k < PROBES && is_finite && found.reaction < 0 && found.component < 0; ++k) {
        for (int i = 0; i < o.n; ++i) {
            o.w[i] = o.y[i] + h * o.k[i];
        }
        found = fault_at(&p, &o, p.t + h, o.w, o.derivative);
        h *= 4.0;
    }
    return found;
}

/* The rows are those of some stage of the step that has failed: let them be those of its start. */
static void put_back(const saltus_scalar_engine *scalar)
{
    saltus_trajectory p = scalar->trajectory;
    saltus_ode_put(&p, &scalar->ode, p.t, scalar->ode.y);
}

/* An integration that cannot go on. */
static saltus_status report_component(const saltus_scalar_engine *scalar,
                                      const saltus_network *network, const char *where,
                                      const char *state, double bad, saltus_error *err)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const fault found = find_fault(scalar);
    if (found.reaction >= 0) {
        return report_propensity(network, where, found.reaction, found.value, state, err);
    }
    const char *name =
        component_name(scalar, network, found.component >= 0 ? found.component : p->culprit);
    char what[200] = "the sum of the propensities";
    if (name) {
        (void)snprintf(what, sizeof what, "'%.150s'", name);
    }
    if (p->failure == SALTUS_NOT_FINITE || found.component >= 0) {
        return saltus_error_set(
            err, SALTUS_E_NUMERIC, "%s: %s or its rate of change is %g, which is not finite", where,
            what, found.component >= 0 ? saltus_without_nan_sign(found.value) : bad);
    }
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_NUMERIC,
                         "%s: %s cannot be integrated: no step is so short that its error is "
                         "within the tolerances, near the value %g",
                         where, what, bad);
    if (!scalar->ode.may_be_stiff && scalar->ode.wanted.stiff != SALTUS_STIFF_NEVER &&
        !saltus_cvode_name()) {
        saltus_error_hint(err,
                          "if the model is stiff, its %d variables need SUNDIALS, which this "
                          "version was built without",
                          scalar->ode.n);
    }
    return status;
}

/* Propensities that sum to infinity: often one does alone. */
static saltus_status report_total(const saltus_scalar_engine *scalar, const saltus_network *network,
                                  const char *where, const char *state, saltus_error *err)
{
    saltus_trajectory p = scalar->trajectory;
    for (int r = 0; r < p.n->n_reactions; ++r) {
        if (saltus_propensity(&p, r) == HUGE_VAL) {
            return report_propensity(network, where, r, HUGE_VAL, state, err);
        }
    }
    return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: the propensities sum to infinity at %s",
                            where, state);
}

saltus_status saltus_scalar_report(const saltus_scalar_engine *scalar, const saltus_task *task,
                                   saltus_error *err)
{
    const saltus_trajectory *p = &scalar->trajectory;
    const saltus_network *network = task->model->network;
    char where[80], state[260];
    if (p->failure == SALTUS_STOPPED) {
        return saltus_error_set(err, SALTUS_E_CANCELLED, "stopped on request");
    }
    if (scalar->row) {
        __atomic_store_n(task->failed, scalar->row, __ATOMIC_RELAXED);
    }
    if (p->failure == SALTUS_OUT_OF_MEMORY) {
        return saltus_error_set(err, SALTUS_E_NO_MEMORY,
                                scalar->ode.solver
                                    ? "memory ran out for pending events and the integration"
                                    : "memory ran out for pending events and reactions");
    }
    const double bad = saltus_without_nan_sign(p->bad_value);
    (void)snprintf(where, sizeof where, "trajectory %llu, time %.10g",
                   (unsigned long long)p->trajectory, p->t);
    if (p->failure == SALTUS_NO_STEP || p->failure == SALTUS_NOT_FINITE) {
        put_back(scalar);
    }
    print_state(scalar, network, state, sizeof state);
    const bool is_reaction = p->failure <= SALTUS_ABOVE_BOUND ||
                             p->failure == SALTUS_BAD_DURATION || p->failure == SALTUS_BAD_END;
    const char *reaction = is_reaction ? saltus_network_reaction(network, p->culprit) : "";
    switch (p->failure) {
    case SALTUS_NEGATIVE_COUNT:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' fired with too few reactants: %s", where,
                                reaction, state);
    case SALTUS_COUNT_OVERFLOW:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' takes a count beyond 64 bits: %s", where,
                                reaction, state);
    case SALTUS_BAD_PROPENSITY:
        return report_propensity(network, where, p->culprit, bad, state, err);
    case SALTUS_NO_BOUND:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s': its rate law has no finite bound just after "
                                "that time, at %s",
                                where, reaction, state);
    case SALTUS_ABOVE_BOUND:
        return saltus_error_set(err, SALTUS_E_INTERNAL,
                                "%s: reaction '%s': propensity %g is above the bound derived for "
                                "it, at %s",
                                where, reaction, bad, state);
    case SALTUS_BAD_TOTAL:
        return report_total(scalar, network, where, state, err);
    case SALTUS_ABOVE_CLASSES:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: species '%s' has more than 2^48 molecules, too many for "
                                "classes of reactions, at %s",
                                where, network->species_names[p->culprit], state);
    case SALTUS_BAD_DURATION:
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: reaction '%s' has delay %g at %s",
                                where, reaction, bad, state);
    case SALTUS_BAD_END:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: reaction '%s' ends with too few reactants: %s", where,
                                reaction, state);
    case SALTUS_BAD_VARIATE:
        return report_variate(p, network, where, bad, state, err);
    case SALTUS_BAD_ASSIGNMENT:
        if (!network->setting_events[p->culprit]) {
            return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: '%s' starts with %g", where,
                                    network->setting_names[p->culprit], bad);
        }
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: event '%s' sets '%s' to %g at %s",
                                where, network->setting_events[p->culprit],
                                network->setting_names[p->culprit], bad, state);
    case SALTUS_BAD_DELAY:
        return saltus_error_set(err, SALTUS_E_NUMERIC, "%s: event '%s' has delay %g at %s", where,
                                network->event_names[p->culprit], bad, state);
    case SALTUS_EVENT_STORM:
        return saltus_error_set(err, SALTUS_E_NUMERIC,
                                "%s: events set each other off without end, '%s' among them, at %s",
                                where, network->event_names[p->culprit], state);
    case SALTUS_NO_STEP:
    case SALTUS_NOT_FINITE:
        return report_component(scalar, network, where, state, bad, err);
    default:
        return saltus_error_set(err, SALTUS_E_INTERNAL, "%s: unknown failure", where);
    }
}
