#include "read/sbml/sbml.h"

#include <math.h>
#include <string.h>

sbml_place sbml_place_at(const char *kind, const char *id, const char *role, unsigned line)
{
    sbml_place place = {.role = role, .line = line, .reaction = -1};
    (void)snprintf(place.what, sizeof place.what, "%s '%.150s'", kind, id);
    return place;
}

saltus_status sbml_define(sbml_reader *r, sbml_kind kind, int index, const char *id,
                          const char *what, unsigned line)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    if (!id || !*id) {
        status = sbml_fail(r, SALTUS_E_MODEL, line, "a %s has no id", what);
        goto done;
    }
    if (sbml_find(r, id)) {
        status =
            sbml_fail(r, SALTUS_E_MODEL, line, "%s '%s': that name is defined twice", what, id);
        goto done;
    }
    sbml_symbol *grown =
        saltus_grow(r->symbols, r->n_symbols, &r->symbols_capacity, sizeof *r->symbols);
    SALTUS_NEED(grown);
    r->symbols = grown;
    if (saltus_map_put(&r->names, id, (int)r->n_symbols) != 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    r->symbols[r->n_symbols++] = (sbml_symbol){.kind = kind, .index = index};
done:
    return status;
}

saltus_status sbml_add_variable(sbml_reader *r, saltus_kind kind, const char *id,
                                const SBase_t *element, int *index)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_model *model = r->model;

    sbml_info *grown = saltus_grow(r->info, model->n_variables, &r->info_capacity, sizeof *r->info);
    SALTUS_NEED(grown);
    r->info = grown;
    r->info[model->n_variables] = (sbml_info){.molecules = 1.0, .factor = 1.0, .open_factor = -1};
    SALTUS_TRY(saltus_model_add_variable(model, kind, id, (int)sbml_line(element), index, err));
    if (r->level > 1 && SBase_isSetName(element)) { /* level 1 calls ids names */
        const char *name = SBase_getName(element);
        model->variables[*index].label = saltus_arena_strndup(&model->arena, name, strlen(name));
        SALTUS_NEED(model->variables[*index].label);
    }
done:
    return status;
}

/* Define a name of the document, and the variable behind it. */
static saltus_status define_variable(sbml_reader *r, saltus_kind kind, const char *id,
                                     const char *what, const SBase_t *element, int *index)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(
        sbml_define(r, NAME_VARIABLE, (int)r->model->n_variables, id, what, sbml_line(element)));
    SALTUS_TRY(sbml_add_variable(r, kind, id, element, index));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Compartments, species, parameters
 */

/* Level 1 has no word for what nothing may change: it is what no rule determines. */
static bool is_constant(const sbml_reader *r, const char *id, bool said)
{
    return r->level == 1 ? !Model_getRuleByVar(r->sbml, id) : said;
}

static saltus_status read_compartment(sbml_reader *r, Compartment_t *compartment)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *id = Compartment_getId(compartment);
    const bool is_size_set = r->level == 1 || Compartment_isSetSize(compartment); /* or 1 there */
    double dimensions = 3.0;
    int i = -1;

    SALTUS_TRY(define_variable(r, SALTUS_KIND_COMPARTMENT, id, "compartment",
                               (const SBase_t *)compartment, &i));
    if (r->level < 3 || Compartment_isSetSpatialDimensions(compartment)) {
        dimensions = Compartment_getSpatialDimensionsAsDouble(compartment);
    }
    /* others than these have a size without a unit */
    const bool is_known = dimensions == 1.0 || dimensions == 2.0 || dimensions == 3.0;
    r->info[i].no_size = dimensions == 0.0;
    r->info[i].size_assumed = !is_size_set;
    saltus_variable *v = &r->model->variables[i];
    v->is_point = dimensions == 0.0;
    v->constant = is_constant(r, id, Compartment_getConstant(compartment));
    v->dimensions = is_known ? (int)dimensions : 0;
    v->size_unit = sbml_size_unit(r, compartment, v->dimensions);
    v->initial =
        saltus_expr_const(&r->model->arena, is_size_set ? Compartment_getSize(compartment) : 1.0);
    SALTUS_NEED(v->initial);
done:
    return status;
}

static saltus_status read_species(sbml_reader *r, Species_t *species)
{
    saltus_status status = SALTUS_OK;
    const char *id = Species_getId(species);
    const unsigned line = sbml_line(species);
    const char *where = Species_getCompartment(species);
    int i = -1;

    SALTUS_TRY(
        define_variable(r, SALTUS_KIND_SPECIES, id, "species", (const SBase_t *)species, &i));
    saltus_variable *v = &r->model->variables[i];
    sbml_info *info = &r->info[i];
    const sbml_symbol *in = where ? sbml_find(r, where) : NULL;
    if (!in || in->kind != NAME_VARIABLE ||
        r->model->variables[in->index].kind != SALTUS_KIND_COMPARTMENT) {
        status =
            sbml_fail(r, SALTUS_E_MODEL, line, "species '%s': its compartment '%s' is not defined",
                      id, where ? where : "");
        goto done;
    }
    v->compartment = in->index;
    v->boundary = Species_getBoundaryCondition(species);
    v->constant = Species_getConstant(species);
    info->species = species;
    info->concentration = !Species_getHasOnlySubstanceUnits(species) && !r->info[in->index].no_size;
    SALTUS_TRY(sbml_check_size_unit(r, i, Model_getCompartmentById(r->sbml, where)));
    const bool has_moles = r->mole_seen;
    r->mole_seen = r->open_seen = false;
    SALTUS_TRY(sbml_species_unit(r, species, &info->molecules));
    v->in_moles = r->mole_seen;
    v->has_no_unit = r->open_seen && !r->mole_seen;
    r->mole_seen |= has_moles;
done:
    return status;
}

static saltus_status read_parameter(sbml_reader *r, Parameter_t *parameter)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *id = Parameter_getId(parameter);
    int i = -1;
    SALTUS_TRY(
        define_variable(r, SALTUS_KIND_PARAMETER, id, "parameter", (const SBase_t *)parameter, &i));
    r->model->variables[i].constant = is_constant(r, id, Parameter_getConstant(parameter));
    if (Parameter_isSetValue(parameter)) {
        r->model->variables[i].initial =
            saltus_expr_const(&r->model->arena, Parameter_getValue(parameter));
        SALTUS_NEED(r->model->variables[i].initial);
    }
done:
    return status;
}

static saltus_status read_variables(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < Model_getNumFunctionDefinitions(r->sbml); ++i) {
        FunctionDefinition_t *f = Model_getFunctionDefinition(r->sbml, i);
        SALTUS_TRY(sbml_define(r, NAME_FUNCTION, (int)i, FunctionDefinition_getId(f),
                               "function definition", sbml_line(f)));
    }
    for (unsigned i = 0; i < Model_getNumCompartments(r->sbml); ++i) {
        SALTUS_TRY(read_compartment(r, Model_getCompartment(r->sbml, i)));
    }
    for (unsigned i = 0; i < Model_getNumSpecies(r->sbml); ++i) {
        SALTUS_TRY(read_species(r, Model_getSpecies(r->sbml, i)));
    }
    for (unsigned i = 0; i < Model_getNumParameters(r->sbml); ++i) {
        SALTUS_TRY(read_parameter(r, Model_getParameter(r->sbml, i)));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Initial assignments and rules
 */

static saltus_status not_defined(sbml_reader *r, const sbml_place *place, const char *id)
{
    const saltus_status status = sbml_fail(r, SALTUS_E_MODEL, place->line,
                                           "%s: '%s' is not defined", place->what, id ? id : "");
    if (id) {
        sbml_hint_nearest(r, id);
    }
    return status;
}

saltus_status sbml_target(sbml_reader *r, const sbml_place *place, const char *id, int *variable)
{
    const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
    if (!symbol || symbol->kind != NAME_VARIABLE) {
        return not_defined(r, place, id);
    }
    if (r->model->variables[symbol->index].constant) {
        return sbml_fail(r, SALTUS_E_MODEL, place->line, "%s changes '%s', which is constant",
                         place->what, id);
    }
    if (r->info[symbol->index].has_rule) {
        return sbml_fail(r, SALTUS_E_MODEL, place->line,
                         "%s changes '%s', which an assignment rule determines", place->what, id);
    }
    *variable = symbol->index;
    return SALTUS_OK;
}

static saltus_status declare_initial(sbml_reader *r, InitialAssignment_t *assignment)
{
    saltus_status status = SALTUS_OK;
    const char *id = InitialAssignment_getSymbol(assignment);
    const sbml_place place =
        sbml_place_at("initial assignment to", id ? id : "", "formula", sbml_line(assignment));
    if (!InitialAssignment_getMath(assignment)) { /* allowed since L3V2, and without effect */
        goto done;
    }
    SALTUS_TRY(sbml_let_vary(r, id));
    const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
    if (!symbol || symbol->kind != NAME_VARIABLE) {
        status = not_defined(r, &place, id);
        goto done;
    }
    sbml_info *info = &r->info[symbol->index];
    if (info->initialized || info->has_rule) {
        status = sbml_fail(r, SALTUS_E_MODEL, place.line,
                           "%s: its initial value is determined twice", place.what);
        goto done;
    }
    info->initialized = true;
    info->size_assumed = false;
done:
    return status;
}

static sbml_place rule_place(const Rule_t *rule, const char *id)
{
    return sbml_place_at(Rule_isRate(rule) ? "rate rule for" : "assignment rule for", id, "formula",
                         sbml_line(rule));
}

static saltus_status declare_rule(sbml_reader *r, Rule_t *rule)
{
    saltus_status status = SALTUS_OK;
    const unsigned line = sbml_line(rule);
    const char *id = Rule_getVariable(rule);
    int v = -1;
    if (Rule_isAlgebraic(rule)) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, line, "algebraic rules are not supported");
    }
    const sbml_place place = rule_place(rule, id ? id : "");
    if (!Rule_getMath(rule)) { /* allowed since L3V2, and without effect */
        goto done;
    }
    SALTUS_TRY(sbml_let_vary(r, id));
    SALTUS_TRY(sbml_target(r, &place, id, &v));
    if (r->info[v].rate) {
        status = sbml_fail(r, SALTUS_E_MODEL, line, "%s changes '%s', which a rate rule determines",
                           place.what, id);
        goto done;
    }
    if (Rule_isRate(rule)) {
        r->info[v].rate = rule;
        r->model->variables[v].observable = true;
    } else {
        r->info[v].has_rule = true;
        r->info[v].size_assumed = false;
        r->model->variables[v].observable = true;
        r->model->variables[v].initial = NULL;
    }
done:
    return status;
}

static saltus_status read_initial(sbml_reader *r, InitialAssignment_t *assignment)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *id = InitialAssignment_getSymbol(assignment);
    const sbml_place place =
        sbml_place_at("initial assignment to", id, "formula", sbml_line(assignment));
    const int v = sbml_find(r, id)->index;
    const saltus_expr *value = NULL;
    SALTUS_TRY(sbml_convert(r, &place, InitialAssignment_getMath(assignment), &value));
    r->model->variables[v].initial = sbml_to_molecules(r, v, value, false);
    SALTUS_NEED(r->model->variables[v].initial);
done:
    return status;
}

static saltus_status read_rule(sbml_reader *r, Rule_t *rule)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *id = Rule_getVariable(rule);
    const sbml_place place = rule_place(rule, id);
    const int v = sbml_find(r, id)->index;
    const saltus_expr *value = NULL;
    if (Rule_isRate(rule)) {
        SALTUS_TRY(sbml_rate_of_molecules(r, &place, v, Rule_getMath(rule), &value));
        r->model->variables[v].rate = value;
        goto done;
    }
    SALTUS_TRY(sbml_convert(r, &place, Rule_getMath(rule), &value));
    r->model->variables[v].rule = sbml_to_molecules(r, v, value, false);
    SALTUS_NEED(r->model->variables[v].rule);
done:
    return status;
}

/* initialAmount or initialConcentration, where nothing else gives the value. */
static saltus_status read_initial_amount(sbml_reader *r, int i)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    saltus_variable *v = &r->model->variables[i];
    const sbml_info *info = &r->info[i];
    const bool amount = Species_isSetInitialAmount(info->species);
    const bool concentration = Species_isSetInitialConcentration(info->species);

    if (info->has_rule || info->initialized || !(amount || concentration)) {
        goto done;
    }
    if (amount && concentration) {
        status =
            sbml_fail(r, SALTUS_E_MODEL, (unsigned)v->line,
                      "species '%s' has an initial amount and an initial concentration", v->id);
        goto done;
    }
    if (concentration && r->info[v->compartment].no_size) {
        status = sbml_fail(r, SALTUS_E_MODEL, (unsigned)v->line,
                           "species '%s' has an initial concentration in a point", v->id);
        goto done;
    }
    if (amount) {
        v->initial =
            saltus_expr_const(arena, Species_getInitialAmount(info->species) * info->molecules);
    } else {
        const double value = Species_getInitialConcentration(info->species) * info->molecules;
        sbml_use_size(r, v->compartment);
        v->initial = saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_const(arena, value),
                                   saltus_expr_variable(arena, v->compartment));
    }
    SALTUS_NEED(v->initial);
done:
    return status;
}

static saltus_status read_values(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < Model_getNumInitialAssignments(r->sbml); ++i) {
        InitialAssignment_t *a = Model_getInitialAssignment(r->sbml, i);
        if (InitialAssignment_getMath(a)) {
            SALTUS_TRY(read_initial(r, a));
        }
    }
    for (unsigned i = 0; i < Model_getNumRules(r->sbml); ++i) {
        Rule_t *rule = Model_getRule(r->sbml, i);
        if (Rule_getMath(rule) && sbml_find(r, Rule_getVariable(rule))->kind == NAME_VARIABLE) {
            SALTUS_TRY(read_rule(r, rule));
        }
    }
    for (int i = 0; i < (int)r->model->n_variables; ++i) {
        if (r->info[i].species) {
            SALTUS_TRY(read_initial_amount(r, i));
        }
    }
done:
    return status;
}

/* What holds for the whole model, once. */
static void warn(sbml_reader *r)
{
    const unsigned n = Model_getNumConstraints(r->sbml);
    if (n > 0) {
        sbml_warn(r, sbml_line(Model_getConstraint(r->sbml, 0)),
                  n == 1 ? "a constraint is ignored" : "%u constraints are ignored", n);
    }
    if (r->mole_seen) {
        sbml_warn(r, 0, "amounts in mole were converted to molecules (%.9g per mole)",
                  r->model->mole);
    } else if (r->scaled_seen) {
        sbml_warn(r, 0, "amounts were converted to molecules by the units that are declared");
    }
}

saltus_status sbml_read_model(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    r->model->time_unit = sbml_time_unit(r);
    r->model->goes_back = r->model->idles = true; /* laws are net rates of amounts that are real */
    SALTUS_TRY(read_variables(r));
    SALTUS_TRY(sbml_declare_reactions(r));
    for (unsigned i = 0; i < Model_getNumRules(r->sbml); ++i) {
        SALTUS_TRY(declare_rule(r, Model_getRule(r->sbml, i)));
    }
    for (unsigned i = 0; i < Model_getNumInitialAssignments(r->sbml); ++i) {
        SALTUS_TRY(declare_initial(r, Model_getInitialAssignment(r->sbml, i)));
    }
    SALTUS_TRY(sbml_declare_events(r));
    SALTUS_TRY(read_values(r));
    SALTUS_TRY(sbml_read_events(r));
    SALTUS_TRY(sbml_read_reactions(r));
    warn(r);
    /* without amounts, of whatever unit, it is all the same */
    r->model->has_moles |= r->is_mole_given && Model_getNumSpecies(r->sbml) == 0;
done:
    return status;
}
