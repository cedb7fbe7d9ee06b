/* rateOf(): how fast a variable changes between events. */
#include "read/sbml/math.h"

#include <string.h>

/* The terms of a sum. */
typedef struct terms {
    const saltus_expr **list;
    int n;
} terms;

/* What a reaction does to a species for each unit of extent, in units of its amount: the
 * stoichiometry, and the conversion factor if there is one. */
static saltus_status convert_change(sbml_converter *c, const sbml_scope *in,
                                    SpeciesReference_t *reference, int species, int depth,
                                    const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const char *id = SpeciesReference_isSetId(reference) ? SpeciesReference_getId(reference) : NULL;
    const sbml_symbol *symbol = id ? sbml_find(c->r, id) : NULL;
    const sbml_reference own = {.of = reference};
    int factor = -1;
    if (symbol && symbol->kind == NAME_VARIABLE) {
        *out = saltus_expr_variable(arena, symbol->index);
    } else {
        SALTUS_TRY(sbml_convert_reference(c, in, id ? id : SpeciesReference_getSpecies(reference),
                                          &own, depth, out));
    }
    SALTUS_TRY(sbml_find_factor(c->r, species, &factor));
    if (factor >= 0) {
        *out = saltus_expr_2(arena, SALTUS_OP_MUL, *out, saltus_expr_variable(arena, factor));
    }
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

/* What the reactants or products of a reaction add to the rate of a species. */
static saltus_status add_side(sbml_converter *c, const sbml_scope *in, int reaction, ListOf_t *side,
                              bool is_product, int species, int depth, terms *sum)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    Reaction_t *of = Model_getReaction(c->r->sbml, (unsigned)reaction);
    for (unsigned i = 0; i < ListOf_size(side); ++i) {
        SpeciesReference_t *reference = (SpeciesReference_t *)ListOf_get(side, i);
        const char *id = SpeciesReference_getSpecies(reference);
        const saltus_expr *n = NULL, *rate = NULL;
        if (!id || strcmp(id, c->r->model->variables[species].id) != 0 ||
            !Reaction_getKineticLaw(of) || !KineticLaw_getMath(Reaction_getKineticLaw(of))) {
            continue; /* without a law it never happens */
        }
        SALTUS_TRY(convert_change(c, in, reference, species, depth + 3, &n));
        SALTUS_TRY(sbml_convert_rate(c, in, Reaction_getId(of), reaction, depth + 3, &rate));
        rate = saltus_expr_2(arena, SALTUS_OP_MUL, n, rate);
        rate = is_product ? rate : saltus_expr_1(arena, SALTUS_OP_NEG, rate);
        SALTUS_TRY(sbml_made(c, rate));
        sum->list[sum->n++] = rate;
    }
done:
    return status;
}

/* The rate of a species' amount by reactions; NULL: none changes it. */
static saltus_status convert_reactions(sbml_converter *c, const sbml_scope *in, int species,
                                       int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const int n = (int)Model_getNumReactions(c->r->sbml);
    terms sum = {.n = 0};
    size_t most = 1;
    *out = NULL;
    if (c->r->model->variables[species].boundary) {
        goto done;
    }
    for (int i = 0; i < n; ++i) {
        Reaction_t *reaction = Model_getReaction(c->r->sbml, (unsigned)i);
        most += Reaction_getNumReactants(reaction) + Reaction_getNumProducts(reaction);
    }
    sum.list = saltus_arena_alloc(arena, most * sizeof *sum.list);
    SALTUS_TRY(sbml_made(c, sum.list));
    for (int i = 0; i < n; ++i) {
        Reaction_t *reaction = Model_getReaction(c->r->sbml, (unsigned)i);
        SALTUS_TRY(
            add_side(c, in, i, Reaction_getListOfReactants(reaction), false, species, depth, &sum));
        SALTUS_TRY(
            add_side(c, in, i, Reaction_getListOfProducts(reaction), true, species, depth, &sum));
    }
    if (sum.n > 0) {
        *out = sbml_fold(arena, SALTUS_OP_ADD, sum.n, sum.list);
        SALTUS_TRY(sbml_made(c, *out));
    }
done:
    return status;
}

/* The rate of what the name of a species without a rule means: of a concentration x / V that is
 * x' / V - (x / V) V' / V. */
static saltus_status convert_species(sbml_converter *c, const sbml_scope *in, int v, int depth,
                                     const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const saltus_variable *species = &c->r->model->variables[v];
    const saltus_expr *rate = NULL, *growth = NULL;
    SALTUS_TRY(convert_reactions(c, in, v, depth + 2, &rate));
    if (rate) {
        SALTUS_TRY(sbml_note_mean_only(c->r, c->place->line,
                                       "%s: %s uses rateOf() of '%s', which reactions change",
                                       c->place->what, c->place->role, species->id));
    }
    if (c->r->info[v].concentration) {
        const sbml_info *in_size = &c->r->info[species->compartment];
        const char *name = c->r->model->variables[species->compartment].id;
        const saltus_expr *size = saltus_expr_variable(arena, species->compartment);
        if (in_size->has_rule) {
            return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                               "uses rateOf() of '%s', a concentration, while an assignment rule "
                               "determines the size of '%s'",
                               species->id, name);
        }
        sbml_use_size(c->r, species->compartment);
        rate = rate ? saltus_expr_2(arena, SALTUS_OP_DIV, rate, size) : NULL;
        if (in_size->rate) {
            const sbml_scope inner = {.outer = in, .origin = in_size->rate, .reaction = -1};
            SALTUS_TRY(sbml_check_circle(c, in, in_size->rate, name));
            SALTUS_TRY(
                sbml_convert_node(c, &inner, Rule_getMath(in_size->rate), depth + 3, &growth));
            growth = saltus_expr_2(arena, SALTUS_OP_MUL, sbml_variable_in_formula(c->r, v),
                                   saltus_expr_2(arena, SALTUS_OP_DIV, growth, size));
            rate = rate ? saltus_expr_2(arena, SALTUS_OP_SUB, rate, growth)
                        : saltus_expr_1(arena, SALTUS_OP_NEG, growth);
            SALTUS_TRY(sbml_made(c, rate));
        }
    }
    *out = rate ? rate : saltus_expr_const(arena, 0.0);
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

/* The name of what rateOf() is of, through arguments of calls; NULL if it is no name. */
static const char *name_of_argument(const sbml_scope **scope, const ASTNode_t *node)
{
    const sbml_scope *in = *scope;
    const ASTNode_t *of = sbml_n_arguments(node) == 1 ? ASTNode_getChild(node, 0) : NULL;
    while (of && in->function && ASTNode_getType(of) == AST_NAME) {
        const ASTNode_t *given = NULL;
        for (unsigned i = 0; i < FunctionDefinition_getNumArguments(in->function); ++i) {
            const char *name = ASTNode_getName(FunctionDefinition_getArgument(in->function, i));
            if (name && strcmp(name, ASTNode_getName(of)) == 0) {
                given = ASTNode_getChild(in->call, i);
            }
        }
        of = given;
        in = in->outer;
    }
    *scope = in;
    return of && ASTNode_getType(of) == AST_NAME ? ASTNode_getName(of) : NULL;
}

saltus_status sbml_convert_rate_of(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                   int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const sbml_scope *here = in;
    const char *name = name_of_argument(&in, node);
    const sbml_symbol *symbol = name ? sbml_find(c->r, name) : NULL;
    if (!symbol || symbol->kind != NAME_VARIABLE ||
        sbml_find_local(c->r, in->reaction, name) >= 0) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses rateOf() of something that is no variable of the model");
    }
    const int v = symbol->index;
    Rule_t *rule = c->r->info[v].rate;
    if (c->r->info[v].has_rule) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses rateOf() of '%s', which an assignment rule determines", name);
    }
    if (rule) {
        const sbml_scope inner = {.outer = in, .origin = rule, .reaction = -1};
        SALTUS_TRY(sbml_check_circle(c, in, rule, name));
        SALTUS_TRY(sbml_convert_node(c, &inner, Rule_getMath(rule), depth + 1, out));
    } else if (c->r->info[v].species) {
        SALTUS_TRY(convert_species(c, in, v, depth, out));
    } else { /* nothing changes it but events */
        *out = saltus_expr_const(&c->r->model->arena, 0.0);
        SALTUS_TRY(sbml_made(c, *out));
    }
    SALTUS_TRY(sbml_per_own_time(c, here, node, depth, out));
done:
    return status;
}
