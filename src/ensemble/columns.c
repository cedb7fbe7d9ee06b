/* What a plan records of its model: columns of counts and of numbers. */
#include "ensemble/plan.h"

#include "core/list.h"
#include "core/memory.h"

#include <stdio.h>
#include <string.h>

/* A variable's value, or its concentration, in a frozen model. */
static saltus_observable observable_of(const saltus_model *model, int variable, bool concentration)
{
    const saltus_binding *bindings = model->network->bindings;
    const int compartment = concentration ? model->variables[variable].compartment : -1;
    saltus_observable o = {bindings[variable].row, -1, bindings[variable].value, 1.0};
    if (compartment >= 0) {
        o.divisor_row = bindings[compartment].row;
        o.divisor = bindings[compartment].value;
    }
    return o;
}

static saltus_status add_observable(saltus_plan *plan, int variable, bool concentration,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_variable *v = &plan->model->variables[variable];
    const size_t size = strlen(v->id) + 3;
    char *name = saltus_calloc(size, 1);
    SALTUS_NEED(name);
    (void)snprintf(name, size, concentration ? "[%s]" : "%s", v->id);
    plan->observable_names[plan->columns.n_observables] = name;
    plan->observable_variables[plan->columns.n_observables] = variable;
    plan->observables[plan->columns.n_observables++] =
        observable_of(plan->model, variable, concentration);
done:
    return status;
}

/* Where a row is there, the number beside it is of no account. */
static bool same_value(int32_t row, double value, int32_t other_row, double other)
{
    return row == other_row && (row >= 0 || memcmp(&value, &other, sizeof value) == 0);
}

bool saltus_plan_suits(const saltus_plan *plan, const saltus_model *model)
{
    bool suits = true;
    for (int i = 0; i < plan->columns.n_observables; ++i) {
        const saltus_observable *a = &plan->observables[i];
        const saltus_observable b = observable_of(model, plan->observable_variables[i],
                                                  plan->observable_names[i][0] == '[');
        suits &= same_value(a->row, a->value, b.row, b.value) &&
                 same_value(a->divisor_row, a->divisor, b.divisor_row, b.divisor);
    }
    return suits;
}

/* By method ode counts are real, and recorded as such. */
static bool is_count(const saltus_plan *plan, int variable)
{
    const int row = plan->model->network->bindings[variable].row;
    return plan->method != SALTUS_METHOD_ODE && row >= 0 &&
           row < plan->model->network->tables.n_species;
}

static saltus_status add_column(saltus_plan *plan, int variable, bool concentration,
                                saltus_error *err)
{
    if (is_count(plan, variable) && !concentration) {
        plan->count_species[plan->columns.n_counts++] =
            plan->model->network->bindings[variable].row;
        return SALTUS_OK;
    }
    return add_observable(plan, variable, concentration, err);
}

static saltus_status add_named(saltus_plan *plan, char *name, saltus_error *err)
{
    const size_t n = strlen(name);
    const bool concentration = n > 2 && name[0] == '[' && name[n - 1] == ']';
    if (concentration) {
        name[n - 1] = '\0';
        ++name;
    }
    const int variable = saltus_model_find(plan->model, name);
    if (variable < 0) {
        const char *nearest = saltus_model_nearest(plan->model, name);
        const saltus_status status = saltus_error_set(
            err, SALTUS_E_INVALID, "`columns`: model '%s' has no species named '%s'",
            plan->model->name, name);
        if (nearest) {
            saltus_error_hint(err, "did you mean '%s'?", nearest);
        }
        return status;
    }
    if (concentration && plan->model->variables[variable].kind != SALTUS_KIND_SPECIES) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "`columns`: '%s' is no species, so it has "
                                "no concentration",
                                name);
    }
    const int32_t row = plan->model->network->bindings[variable].row;
    bool twice = false;
    for (int c = 0; c < plan->columns.n_counts && !concentration; ++c) {
        twice |= plan->count_species[c] == row;
    }
    const int n_observables = plan->columns.n_observables;
    saltus_status status = add_column(plan, variable, concentration, err);
    for (int o = 0; o < n_observables && plan->columns.n_observables > n_observables; ++o) {
        twice |= strcmp(plan->observable_names[o], plan->observable_names[n_observables]) == 0;
    }
    if (status == SALTUS_OK && twice) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "`columns`: '%s' is named twice", name);
    }
    return status;
}

static saltus_status add_named_list(saltus_plan *plan, const char *names, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *name;
    size_t length;
    char *copy = saltus_calloc(strlen(names) + 1, 1);
    SALTUS_NEED(copy);
    while (saltus_list_next(&names, &name, &length)) {
        memcpy(copy, name, length);
        copy[length] = '\0';
        SALTUS_TRY(add_named(plan, copy, err));
    }
done:
    saltus_free(copy);
    return status;
}

static size_t count_commas(const char *s)
{
    size_t n = 0;
    for (; s && *s; ++s) {
        n += *s == ',';
    }
    return n;
}

saltus_status saltus_plan_choose_columns(saltus_plan *plan, const char *names, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = plan->model;
    const size_t most = m->n_variables + count_commas(names) + 1;
    plan->count_species = saltus_calloc(most, sizeof *plan->count_species);
    plan->observables = saltus_calloc(most, sizeof *plan->observables);
    plan->observable_names = saltus_calloc(most, sizeof *plan->observable_names);
    plan->observable_variables = saltus_calloc(most, sizeof *plan->observable_variables);
    SALTUS_NEED(plan->count_species && plan->observables && plan->observable_names &&
                plan->observable_variables);
    if (names) {
        SALTUS_TRY(add_named_list(plan, names, err));
    }
    for (size_t i = 0; i < m->n_variables && !names; ++i) {
        const int row = m->network->bindings[i].row;
        const bool is_species = row >= 0 && row < m->network->tables.n_species;
        /* the value of one that is no count is recorded where the counts of others are, but on a
         * lattice nothing else than counts is */
        if (is_species || (!m->network->lattice &&
                           (saltus_species_is_real(m, (int)i) || m->variables[i].observable))) {
            SALTUS_TRY(add_column(plan, (int)i, false, err));
        }
    }
    plan->columns.count_species = plan->count_species;
    plan->columns.observables = plan->observables;
done:
    return status;
}
