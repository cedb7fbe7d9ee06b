#include "read/sbml/sbml.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Names
 */

static saltus_status add_local(sbml_reader *r, const char *reaction, const char *id,
                               const SBase_t *element, bool is_set, double value)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char *full = NULL;
    int v = -1;
    if (!id || !*id) {
        status = sbml_fail(r, SALTUS_E_MODEL, sbml_line(element),
                           "reaction '%s': a local parameter has no id", reaction);
        goto done;
    }
    const size_t size = strlen(reaction) + strlen(id) + 2;
    full = saltus_arena_alloc(&r->model->arena, size);
    SALTUS_NEED(full);
    (void)snprintf(full, size, "%s.%s", reaction, id);
    if (saltus_model_find(r->model, full) >= 0) {
        status = sbml_fail(r, SALTUS_E_MODEL, sbml_line(element),
                           "reaction '%s': local parameter '%s' is defined twice", reaction, id);
        goto done;
    }
    SALTUS_TRY(sbml_add_variable(r, SALTUS_KIND_PARAMETER, full, element, &v));
    r->model->variables[v].constant = true;
    if (is_set) {
        r->model->variables[v].initial = saltus_expr_const(&r->model->arena, value);
        SALTUS_NEED(r->model->variables[v].initial);
    }
done:
    return status;
}

static saltus_status declare_locals(sbml_reader *r, const char *id, KineticLaw_t *law,
                                    sbml_locals *locals)
{
    saltus_status status = SALTUS_OK;
    const bool old = r->level < 3;
    const unsigned n =
        old ? KineticLaw_getNumParameters(law) : KineticLaw_getNumLocalParameters(law);
    locals->first = (int)r->model->n_variables;
    for (unsigned i = 0; i < n; ++i) {
        if (old) {
            Parameter_t *p = KineticLaw_getParameter(law, i);
            SALTUS_TRY(add_local(r, id, Parameter_getId(p), (const SBase_t *)p,
                                 Parameter_isSetValue(p), Parameter_getValue(p)));
        } else {
            LocalParameter_t *p = KineticLaw_getLocalParameter(law, i);
            const char *name = LocalParameter_getId(p);
            const size_t mark = name ? sbml_local_mark(r, name) : 0;
            locals->is_marked |= mark > 0;
            SALTUS_TRY(add_local(r, id, name ? name + mark : NULL, (const SBase_t *)p,
                                 LocalParameter_isSetValue(p), LocalParameter_getValue(p)));
        }
    }
    locals->n = (int)r->model->n_variables - locals->first;
done:
    return status;
}

static saltus_status declare_reference(sbml_reader *r, SpeciesReference_t *reference)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    if (!SpeciesReference_isSetId(reference)) {
        goto done;
    }
    SALTUS_TRY(sbml_define(r, NAME_REFERENCE, (int)r->n_references,
                           SpeciesReference_getId(reference), "stoichiometry",
                           sbml_line(reference)));
    sbml_reference *grown =
        saltus_grow(r->references, r->n_references, &r->references_capacity, sizeof *r->references);
    SALTUS_NEED(grown);
    r->references = grown;
    r->references[r->n_references++] = (sbml_reference){.of = reference};
done:
    return status;
}

saltus_status sbml_declare_reactions(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const unsigned n = Model_getNumReactions(r->sbml);

    r->locals = saltus_calloc(n, sizeof *r->locals);
    SALTUS_NEED(r->locals);
    for (unsigned i = 0; i < n; ++i) {
        Reaction_t *reaction = Model_getReaction(r->sbml, i);
        const char *id = Reaction_getId(reaction);
        KineticLaw_t *law = Reaction_getKineticLaw(reaction);
        SALTUS_TRY(sbml_define(r, NAME_REACTION, (int)i, id, "reaction", sbml_line(reaction)));
        if (law) {
            SALTUS_TRY(declare_locals(r, id, law, &r->locals[i]));
        }
        for (unsigned k = 0; k < Reaction_getNumReactants(reaction); ++k) {
            SALTUS_TRY(declare_reference(r, Reaction_getReactant(reaction, k)));
        }
        for (unsigned k = 0; k < Reaction_getNumProducts(reaction); ++k) {
            SALTUS_TRY(declare_reference(r, Reaction_getProduct(reaction, k)));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Conversion factors
 *
 * A law gives extent per time. One unit of extent changes species S by n_S c_S units of its amount,
 * with the stoichiometry n_S and the conversion factor c_S. With e firings to a unit of extent and
 * m_S molecules to a unit of amount, the propensity is law times e, and a firing changes S by
 * n_S c_S m_S / e molecules, which must be whole. Without factors, and with one unit for all, that
 * is n_S.
 */

saltus_status sbml_find_factor(sbml_reader *r, int v, int *factor)
{
    const Species_t *species = r->info[v].species;
    const char *id = NULL;
    *factor = -1;
    if (r->level < 3) {
        return SALTUS_OK;
    }
    if (Species_isSetConversionFactor(species)) {
        id = Species_getConversionFactor(species);
    } else if (Model_isSetConversionFactor(r->sbml)) {
        id = Model_getConversionFactor(r->sbml);
    }
    const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
    if (id && (!symbol || symbol->kind != NAME_VARIABLE)) {
        const saltus_status status =
            sbml_fail(r, SALTUS_E_MODEL, (unsigned)r->model->variables[v].line,
                      "species '%s': its conversion factor '%s' is not defined",
                      r->model->variables[v].id, id);
        sbml_hint_nearest(r, id);
        return status;
    }
    *factor = id ? symbol->index : -1;
    if (id && (r->info[*factor].has_rule || r->info[*factor].rate || r->info[*factor].assigned)) {
        return sbml_fail(r, SALTUS_E_MODEL, (unsigned)r->model->variables[v].line,
                         "species '%s': its conversion factor '%s' changes, which SBML does not "
                         "allow",
                         r->model->variables[v].id, id);
    }
    return SALTUS_OK;
}

static saltus_status read_factor(sbml_reader *r, int v)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    sbml_values values;
    int factor = -1;
    SALTUS_TRY(sbml_find_factor(r, v, &factor));
    if (factor < 0) {
        goto done;
    }
    const saltus_expr *e = saltus_expr_variable(&r->model->arena, factor);
    SALTUS_NEED(e);
    SALTUS_TRY(sbml_find_values(r, e, &values));
    if (values.n == 1) {
        r->info[v].factor = values.value[0];
    } else {
        r->info[v].open_factor = factor;
    }
done:
    return status;
}

double sbml_change(const sbml_reader *r, int v, double n, double firings)
{
    const sbml_info *info = &r->info[v];
    return r->model->variables[v].boundary ? n : n * info->factor * info->molecules / firings;
}

/* Molecules of a variable that change when its stoichiometry is n, parts of them included. Returns
 * whether that can be. */
static bool count_molecules(const sbml_reader *r, int v, double n, double firings,
                            double *molecules)
{
    const double change = sbml_change(r, v, n, firings);
    /* factors and numbers of Avogadro are written with some digits */
    const double tolerance = change == n ? 0.0 : fmin(1e-6 * fabs(change), 1e-3);
    const double whole = round(change);
    const bool is_whole = fabs(change - whole) <= tolerance && (whole > 0.0 || n == 0.0);
    *molecules = is_whole ? whole : change;
    return change >= 0.0 && whole <= 9e15 && (is_whole || change > 1e-6);
}

bool sbml_can_count(const sbml_reader *r, const sbml_stoichiometry *s, double n, double firings)
{
    double molecules = 0.0;
    return count_molecules(r, s->species, fabs(n), firings, &molecules);
}

/* The same; parts of molecules are left to freezing. */
static saltus_status molecules_per_firing(sbml_reader *r, const sbml_place *place, int v, double n,
                                          double firings, double *molecules)
{
    if (!count_molecules(r, v, n, firings, molecules)) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, place->line,
                         "%s: a firing would change %.9g molecules of '%s'", place->what,
                         *molecules, r->model->variables[v].id);
    }
    if (n > 0.0 && *molecules >= 2.0 * n) {
        sbml_warn(r, place->line,
                  "%s: a firing changes %.9g molecules of '%s', and not %.9g, by the units of both "
                  "or a conversion factor",
                  place->what, *molecules, r->model->variables[v].id, n);
    }
    return SALTUS_OK;
}

/* Firings per unit of extent. Where the document does not say, the unit is that of the species
 * which the reaction changes. If these have several, the law counts each in its own, and what a
 * firing is nothing tells: the mean field alone has a meaning. */
static saltus_status firings_per_extent(sbml_reader *r, const sbml_place *place,
                                        Reaction_t *reaction, const sbml_stoichiometry *list, int n,
                                        double *firings)
{
    saltus_status status = SALTUS_OK;
    double found = 0.0;
    bool differs = false;
    SALTUS_TRY(sbml_extent_unit(r, reaction, firings));
    if (*firings != 0.0) {
        goto done;
    }
    for (int i = 0; i < n; ++i) {
        const double molecules = r->info[list[i].species].molecules;
        if (!r->model->variables[list[i].species].boundary) {
            differs |= found != 0.0 && molecules != found;
            found = found == 0.0 ? molecules : found;
        }
    }
    if (differs) {
        SALTUS_TRY(sbml_note_mean_only(r, place->line,
                                       "%s: its species have different units and no unit of extent "
                                       "is declared",
                                       place->what));
    }
    *firings = found != 0.0 ? found : n > 0 ? r->info[list[0].species].molecules : 1.0;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

saltus_status sbml_read_stoichiometry(sbml_reader *r, const sbml_place *place,
                                      SpeciesReference_t *reference, const saltus_expr **n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    sbml_place at = *place;
    const char *id = SpeciesReference_isSetId(reference) ? SpeciesReference_getId(reference) : NULL;
    const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
    StoichiometryMath_t *own = SpeciesReference_getStoichiometryMath(reference);
    const ASTNode_t *math = own ? StoichiometryMath_getMath(own) : NULL;

    if (symbol && symbol->kind == NAME_VARIABLE) {
        *n = saltus_expr_variable(arena, symbol->index);
    } else if (math) {
        at.role = "stoichiometry";
        at.reaction = -1;
        SALTUS_TRY(sbml_convert(r, &at, math, n));
    } else {
        double value = SpeciesReference_getStoichiometry(reference);
        if (isnan(value)) { /* level 3 */
            sbml_warn(r, sbml_line(reference),
                      "%s gives no stoichiometry of '%s': it is taken as 1", place->what,
                      SpeciesReference_getSpecies(reference));
            value = 1.0;
        }
        *n = saltus_expr_const(arena, value / SpeciesReference_getDenominator(reference));
    }
    SALTUS_NEED(*n);
done:
    return status;
}

/* The species that a reaction names. */
static saltus_status find_species(sbml_reader *r, const sbml_place *place, const char *id,
                                  int *variable)
{
    const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
    if (!symbol || symbol->kind != NAME_VARIABLE || !r->info[symbol->index].species) {
        const saltus_status status =
            sbml_fail(r, SALTUS_E_MODEL, place->line, "%s: species '%s' is not defined",
                      place->what, id ? id : "");
        if (id) {
            sbml_hint_nearest(r, id);
        }
        return status;
    }
    *variable = symbol->index;
    return SALTUS_OK;
}

static saltus_status check_change(sbml_reader *r, const sbml_place *place, int v)
{
    const saltus_variable *species = &r->model->variables[v];
    if (species->boundary || !(species->constant || r->info[v].has_rule || r->info[v].rate)) {
        return SALTUS_OK;
    }
    return sbml_fail(r, SALTUS_E_MODEL, place->line, "%s changes '%s', which %s", place->what,
                     species->id,
                     species->constant     ? "is constant"
                     : r->info[v].has_rule ? "an assignment rule determines"
                                           : "a rate rule determines");
}

/* A conversion factor whose value is not known is a part of the stoichiometry. */
static saltus_status multiply_by_open_factor(sbml_reader *r, sbml_stoichiometry *s)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const int factor = r->info[s->species].open_factor;
    if (factor >= 0 && !r->model->variables[s->species].boundary) {
        s->n = saltus_expr_2(arena, SALTUS_OP_MUL, s->n, saltus_expr_variable(arena, factor));
        SALTUS_NEED(s->n);
    }
done:
    return status;
}

/* The species of one side and their stoichiometries, behind the *n that are listed already. */
static saltus_status read_side(sbml_reader *r, const sbml_place *place, ListOf_t *side,
                               bool is_product, sbml_stoichiometry *list, int *n)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < ListOf_size(side); ++i) {
        SpeciesReference_t *reference = (SpeciesReference_t *)ListOf_get(side, i);
        const char *id = SpeciesReference_getSpecies(reference);
        sbml_stoichiometry *s = &list[*n];
        SALTUS_TRY(find_species(r, place, id, &s->species));
        SALTUS_TRY(check_change(r, place, s->species));
        SALTUS_TRY(sbml_read_stoichiometry(r, place, reference, &s->n));
        SALTUS_TRY(multiply_by_open_factor(r, s));
        s->name = SpeciesReference_isSetId(reference) ? SpeciesReference_getId(reference) : id;
        s->is_product = is_product;
        SALTUS_TRY(sbml_find_values(r, s->n, &s->values));
        const bool matters = s->values.n == 1 || !r->model->variables[s->species].boundary;
        *n += matters;
    }
done:
    return status;
}

/* What is below 0 belongs on the other side. */
static int side_of(const sbml_stoichiometry *s, double n)
{
    return s->is_product != (n < 0.0);
}

saltus_status sbml_make_sides(sbml_reader *r, const sbml_stoichiometry *list, int n,
                              sbml_sides *sides)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    *sides = (sbml_sides){.most = {1, 1}};
    for (int i = 0; i < n; ++i) {
        bool may[2] = {!list[i].is_product, list[i].is_product};
        for (int k = 0; k < list[i].values.n; ++k) {
            may[side_of(&list[i], list[i].values.value[k])] = true;
        }
        sides->most[0] += may[0];
        sides->most[1] += may[1];
    }
    for (int k = 0; k < 2; ++k) {
        sides->list[k] = saltus_model_make_side(r->model, sides->most[k], false);
        SALTUS_NEED(sides->list[k]);
    }
done:
    return status;
}

void sbml_put_molecules(sbml_sides *sides, int side, int variable, double molecules)
{
    saltus_participant_add(sides->list[side], sides->most[side], &sides->n[side], variable,
                           molecules);
}

saltus_status sbml_put_participant(sbml_reader *r, const sbml_place *place,
                                   const sbml_stoichiometry *s, double n, double firings,
                                   sbml_sides *sides)
{
    saltus_status status = SALTUS_OK;
    const int side = side_of(s, n);
    double molecules = 0.0;
    SALTUS_TRY(molecules_per_firing(r, place, s->species, fabs(n), firings, &molecules));
    if (molecules > 0.0) { /* else it does not change */
        sbml_put_molecules(sides, side, s->species, molecules);
    }
done:
    return status;
}

saltus_status sbml_push_with_sides(sbml_reader *r, const saltus_reaction *reaction,
                                   const sbml_sides *sides)
{
    saltus_reaction out = *reaction;
    out.reactants = sides->list[0];
    out.n_reactants = sides->n[0];
    out.products = sides->list[1];
    out.n_products = sides->n[1];
    return saltus_model_push_reaction(r->model, &out, r->err);
}

/* Add a reaction with all that it says of species. */
static saltus_status push(sbml_reader *r, const sbml_place *place, const saltus_reaction *reaction,
                          const sbml_stoichiometry *list, int n, double firings)
{
    saltus_status status = SALTUS_OK;
    sbml_sides sides;
    bool varies = false;
    for (int i = 0; i < n; ++i) {
        varies |=
            list[i].values.n != 1 || !sbml_can_count(r, &list[i], list[i].values.value[0], firings);
    }
    if (varies) {
        return sbml_push_varying(r, place, reaction, list, n, firings);
    }
    SALTUS_TRY(sbml_make_sides(r, list, n, &sides));
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(
            sbml_put_participant(r, place, &list[i], list[i].values.value[0], firings, &sides));
    }
    SALTUS_TRY(sbml_push_with_sides(r, reaction, &sides));
done:
    return status;
}

/* Find what a reaction changes. The list is good until that of the next one. */
static saltus_status read_species_of(sbml_reader *r, const sbml_place *place, Reaction_t *reaction,
                                     int *n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const size_t most =
        (size_t)Reaction_getNumReactants(reaction) + Reaction_getNumProducts(reaction);
    *n = 0;
    if (most > r->n_stoichiometries) {
        sbml_stoichiometry *grown = saltus_realloc(r->stoichiometries, most, sizeof *grown);
        SALTUS_NEED(grown);
        r->stoichiometries = grown;
        r->n_stoichiometries = most;
    }
    SALTUS_TRY(
        read_side(r, place, Reaction_getListOfReactants(reaction), false, r->stoichiometries, n));
    SALTUS_TRY(
        read_side(r, place, Reaction_getListOfProducts(reaction), true, r->stoichiometries, n));
    for (unsigned i = 0; i < Reaction_getNumModifiers(reaction); ++i) {
        int v = -1;
        SALTUS_TRY(find_species(
            r, place, SpeciesReference_getSpecies(Reaction_getModifier(reaction, i)), &v));
    }
done:
    return status;
}

static saltus_status read_law(sbml_reader *r, const sbml_place *place, KineticLaw_t *law,
                              double firings, saltus_reaction *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const ASTNode_t *math = law ? KineticLaw_getMath(law) : NULL;
    double time = 1.0; /* the unit of the law, which is per time */
    if (!math) {
        sbml_warn(r, place->line, "%s has no %s, and never happens", place->what,
                  law ? "formula in its rate law" : "rate law");
        out->law = saltus_expr_const(&r->model->arena, 0.0);
        SALTUS_NEED(out->law);
        goto done;
    }
    SALTUS_TRY(sbml_convert(r, place, math, &out->law));
    SALTUS_TRY(sbml_law_unit(r, law, place, &firings));
    SALTUS_TRY(sbml_unit_of_time(r, KineticLaw_getTimeUnits(law), place->what, place->line, &time));
    if (firings / time != 1.0) {
        out->law = saltus_expr_2(&r->model->arena, SALTUS_OP_MUL, out->law,
                                 saltus_expr_const(&r->model->arena, firings / time));
    }
    SALTUS_NEED(out->law);
done:
    return status;
}

static saltus_status read_reaction(sbml_reader *r, int index)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    Reaction_t *reaction = Model_getReaction(r->sbml, (unsigned)index);
    const char *id = Reaction_getId(reaction);
    saltus_reaction out = {.line = (int)sbml_line(reaction),
                           .reversible = Reaction_getReversible(reaction)};
    sbml_place place = sbml_place_at("reaction", id, "rate law", sbml_line(reaction));
    double firings = 1.0;
    int n = 0;

    place.reaction = index;
    out.id = saltus_arena_strndup(&r->model->arena, id, strlen(id));
    SALTUS_NEED(out.id);
    if (Reaction_isSetFast(reaction) && Reaction_getFast(reaction)) {
        status = sbml_fail(r, SALTUS_E_UNSUPPORTED, place.line,
                           "%s is fast, which is not supported", place.what);
        goto done;
    }
    SALTUS_TRY(read_species_of(r, &place, reaction, &n));
    SALTUS_TRY(firings_per_extent(r, &place, reaction, r->stoichiometries, n, &firings));
    SALTUS_TRY(read_law(r, &place, Reaction_getKineticLaw(reaction), firings, &out));
    SALTUS_TRY(push(r, &place, &out, r->stoichiometries, n, firings));
done:
    return status;
}

saltus_status sbml_read_reactions(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    const int n = (int)Model_getNumReactions(r->sbml);
    for (int v = 0; v < (int)r->model->n_variables; ++v) {
        if (r->info[v].species) {
            SALTUS_TRY(read_factor(r, v));
        }
    }
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(read_reaction(r, i));
    }
done:
    return status;
}
