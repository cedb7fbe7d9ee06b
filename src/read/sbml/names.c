#include "read/sbml/math.h"

#include <math.h>
#include <string.h>

void sbml_use_size(sbml_reader *r, int compartment)
{
    sbml_info *info = &r->info[compartment];
    const saltus_variable *v = &r->model->variables[compartment];
    if (info->size_assumed) {
        sbml_warn(r, (unsigned)v->line, "compartment '%s' has no size; taken as 1", v->id);
        info->size_assumed = false;
    }
}

const saltus_expr *sbml_variable_in_formula(sbml_reader *r, int v)
{
    saltus_arena *arena = &r->model->arena;
    const saltus_variable *variable = &r->model->variables[v];
    const sbml_info *info = &r->info[v];
    const saltus_expr *e = saltus_expr_variable(arena, v);
    if (variable->kind == SALTUS_KIND_COMPARTMENT) {
        sbml_use_size(r, v);
    }
    if (variable->kind == SALTUS_KIND_SPECIES && info->molecules != 1.0) {
        e = saltus_expr_2(arena, SALTUS_OP_DIV, e, saltus_expr_const(arena, info->molecules));
    }
    if (variable->kind == SALTUS_KIND_SPECIES && info->concentration) {
        sbml_use_size(r, variable->compartment);
        e = saltus_expr_2(arena, SALTUS_OP_DIV, e,
                          saltus_expr_variable(arena, variable->compartment));
    }
    return e;
}

const saltus_expr *sbml_to_molecules(sbml_reader *r, int v, const saltus_expr *value, bool per_size)
{
    saltus_arena *arena = &r->model->arena;
    const int compartment = r->model->variables[v].compartment;
    const sbml_info *info = &r->info[v];
    if (r->model->variables[v].kind != SALTUS_KIND_SPECIES || !value) {
        return value;
    }
    if (info->molecules != 1.0) {
        value = value->op == SALTUS_OP_CONST
                    ? saltus_expr_const(arena, value->value * info->molecules)
                    : saltus_expr_2(arena, SALTUS_OP_MUL, value,
                                    saltus_expr_const(arena, info->molecules));
    }
    if (info->concentration) {
        sbml_use_size(r, compartment);
        value = per_size ? value
                         : saltus_expr_2(arena, SALTUS_OP_MUL, value,
                                         saltus_expr_variable(arena, compartment));
    }
    return value;
}

saltus_status sbml_rate_of_molecules(sbml_reader *r, const sbml_place *place, int v,
                                     const ASTNode_t *math, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const sbml_info *info = &r->info[v];
    const int c = r->model->variables[v].compartment;
    const saltus_expr *value = NULL, *growth = NULL;
    SALTUS_TRY(sbml_convert(r, place, math, &value));
    value = sbml_to_molecules(r, v, value, false);
    SALTUS_NEED(value);
    if (r->model->variables[v].kind == SALTUS_KIND_SPECIES && info->concentration) {
        if (r->info[c].has_rule) {
            status = sbml_fail(r, SALTUS_E_UNSUPPORTED, place->line,
                               "%s is one of a concentration, while an assignment rule determines "
                               "the size of '%s'",
                               place->what, r->model->variables[c].id);
            goto done;
        }
        if (r->info[c].rate) { /* (c V)' = c' V + (c V) V' / V */
            const saltus_expr *size = saltus_expr_variable(arena, c);
            SALTUS_TRY(sbml_convert(r, place, Rule_getMath(r->info[c].rate), &growth));
            growth = saltus_expr_2(arena, SALTUS_OP_DIV, growth, size);
            growth = saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_variable(arena, v), growth);
            value = saltus_expr_2(arena, SALTUS_OP_ADD, value, growth);
            SALTUS_NEED(value);
        }
    }
    *out = value;
done:
    return status;
}

saltus_status sbml_check_circle(const sbml_converter *c, const sbml_scope *in, const void *origin,
                                const char *name)
{
    for (const sbml_scope *s = in; s; s = s->outer) {
        if (s->origin == origin) {
            return sbml_refuse(c, SALTUS_E_MODEL, "uses '%s', which is defined by itself", name);
        }
    }
    return SALTUS_OK;
}

saltus_status sbml_convert_reference(sbml_converter *c, const sbml_scope *in, const char *name,
                                     const sbml_reference *reference, int depth,
                                     const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    StoichiometryMath_t *own = SpeciesReference_getStoichiometryMath(reference->of);
    const ASTNode_t *math = own ? StoichiometryMath_getMath(own) : NULL;
    if (math) {
        const sbml_scope inner = {.outer = in, .origin = reference->of, .reaction = -1};
        SALTUS_TRY(sbml_check_circle(c, in, reference->of, name));
        SALTUS_TRY(sbml_convert_node(c, &inner, math, depth + 1, out));
    } else {
        const double n = SpeciesReference_getStoichiometry(reference->of);
        *out = saltus_expr_const(&c->r->model->arena, isnan(n) ? 1.0 : n);
        SALTUS_TRY(sbml_made(c, *out));
    }
done:
    return status;
}

saltus_status sbml_convert_rate(sbml_converter *c, const sbml_scope *in, const char *name,
                                int reaction, int depth, const saltus_expr **out)
{
    KineticLaw_t *law = Reaction_getKineticLaw(Model_getReaction(c->r->sbml, (unsigned)reaction));
    const ASTNode_t *math = law ? KineticLaw_getMath(law) : NULL;
    const sbml_scope inner = {.outer = in, .origin = law, .reaction = reaction};
    saltus_status status = SALTUS_OK;
    double time = 1.0;
    if (!math) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED, "uses the rate of '%s', which has none", name);
    }
    SALTUS_TRY(sbml_check_circle(c, in, law, name));
    SALTUS_TRY(sbml_convert_node(c, &inner, math, depth + 2, out));
    SALTUS_TRY(sbml_unit_of_time(c->r, KineticLaw_getTimeUnits(law), c->place->what, c->place->line,
                                 &time));
    if (time != 1.0) {
        *out = saltus_expr_2(&c->r->model->arena, SALTUS_OP_DIV, *out,
                             saltus_expr_const(&c->r->model->arena, time));
        SALTUS_TRY(sbml_made(c, *out));
    }
done:
    return status;
}

int sbml_find_local(const sbml_reader *r, int reaction, const char *name)
{
    if (reaction < 0) {
        return -1;
    }
    const sbml_locals *locals = &r->locals[reaction];
    if (locals->is_marked && !sbml_local_mark(r, name)) {
        return -1;
    }
    name += locals->is_marked ? sbml_local_mark(r, name) : 0;
    const char *id = Reaction_getId(Model_getReaction(r->sbml, (unsigned)reaction));
    const size_t behind = strlen(id) + 1; /* of "R." */
    for (int i = locals->first; i < locals->first + locals->n; ++i) {
        if (strcmp(r->model->variables[i].id + behind, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool sbml_is_defined(const sbml_reader *r, int reaction, const char *name)
{
    return sbml_find_local(r, reaction, name) >= 0 || sbml_find(r, name);
}

static saltus_status not_defined(const sbml_converter *c, const char *name)
{
    const saltus_status status =
        sbml_refuse(c, SALTUS_E_MODEL, "uses '%s', which is not defined", name);
    sbml_hint_nearest(c->r, name);
    return status;
}

/* A name inside a function: one of its arguments. */
static saltus_status convert_argument(sbml_converter *c, const sbml_scope *in, const char *name,
                                      int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const unsigned n = FunctionDefinition_getNumArguments(in->function);
    for (unsigned i = 0; i < n; ++i) {
        const ASTNode_t *argument = FunctionDefinition_getArgument(in->function, i);
        const char *argument_name = argument ? ASTNode_getName(argument) : NULL;
        if (!argument_name || strcmp(argument_name, name) != 0) {
            continue;
        }
        SALTUS_TRY(sbml_convert_node(c, in->outer, ASTNode_getChild(in->call, i), depth, out));
        if (saltus_expr_draws(*out)) { /* converted each time, so that its size and depth count */
            in->drawn[i] = in->drawn[i] ? in->drawn[i] : *out;
            *out = in->drawn[i];
        }
        goto done;
    }
    status =
        sbml_refuse(c, SALTUS_E_MODEL, "uses function '%s', whose '%s' is none of its arguments",
                    FunctionDefinition_getId(in->function), name);
done:
    return status;
}

saltus_status sbml_convert_name(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                int depth, const saltus_expr **out)
{
    const char *name = ASTNode_getName(node);
    if (!name || !*name) {
        return sbml_refuse(c, SALTUS_E_MODEL, "has a name that is empty");
    }
    if (in->function) {
        return convert_argument(c, in, name, depth, out);
    }
    const int local = sbml_find_local(c->r, in->reaction, name);
    const sbml_symbol *symbol = sbml_find(c->r, name);
    if (local >= 0 && symbol && c->r->locals[in->reaction].is_marked) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses '%s', a name that local parameters of submodels need", name);
    }
    if (local >= 0) {
        *out = saltus_expr_variable(&c->r->model->arena, local);
        return sbml_made(c, *out);
    }
    if (symbol && symbol->kind == NAME_VARIABLE) {
        c->n_nodes += 4;
        *out = sbml_variable_in_formula(c->r, symbol->index);
        return sbml_made(c, *out);
    }
    if (symbol && symbol->kind == NAME_REFERENCE) {
        return sbml_convert_reference(c, in, name, &c->r->references[symbol->index], depth, out);
    }
    if (symbol && symbol->kind == NAME_REACTION) {
        return sbml_convert_rate(c, in, name, symbol->index, depth, out);
    }
    return not_defined(c, name);
}

/* Those that the model defines, as far as there is room, and those of the level. */
static void hint_functions(const sbml_converter *c)
{
    static const char level_1[] = "Level 1 has abs, acos, asin, atan, ceil, cos, exp, floor, log, "
                                  "log10, pow, sin, sqr, sqrt, tan",
                      later[] = "MathML has abs, ceiling, exp, factorial, floor, ln, log, max, "
                                "min, piecewise, power, quotient, rem, root, sin, cos, tan …";
    char defined[160] = "";
    const unsigned n = Model_getNumFunctionDefinitions(c->r->sbml);
    for (unsigned i = 0; i < n; ++i) {
        const size_t at = strlen(defined);
        const char *id = FunctionDefinition_getId(Model_getFunctionDefinition(c->r->sbml, i));
        if (at + strlen(id) + sizeof "the model defines  …; " > sizeof defined) {
            (void)strcat(defined, defined[0] ? " …" : "the model defines some");
            break;
        }
        (void)sprintf(defined + at, "%s%s", i > 0 ? ", " : "the model defines ", id);
    }
    saltus_error_hint(c->r->err, "%s%s%s", defined, defined[0] ? "; " : "",
                      c->r->level == 1 ? level_1 : later);
}

/* Rate laws that the appendix of Level 1 names, such as uui(S, Vm, Km). */
static bool is_rate_law(const char *name)
{
    static const char *const laws[] = {
        "hilli",  "hillmmr", "hillmr", "hillr", "isouur", "mass",  "massi", "massr", "ordbbr",
        "ordbur", "ordubr",  "ppbr",   "uai",   "uaii",   "ualii", "uar",   "ucii",  "ucir",
        "ucti",   "uctr",    "uhmi",   "uhmr",  "umai",   "umar",  "umi",   "umr",   "unii",
        "unir",   "usii",    "usir",   "uuci",  "uucr",   "uuhr",  "uui",   "uur"};
    bool is = false;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        is |= strcmp(laws[i], name) == 0;
    }
    return is;
}

/* A call of what is no function of the model. */
static saltus_status no_function(const sbml_converter *c, const char *name)
{
    saltus_status status = SALTUS_OK;
    if (c->r->level == 1 && is_rate_law(name)) {
        status = sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                             "uses '%s', a predefined rate law of Level 1, which is not supported",
                             name);
        saltus_error_hint(c->r->err, "write its formula out");
    } else {
        status =
            sbml_refuse(c, SALTUS_E_MODEL, "uses the function '%s', which is not defined", name);
        hint_functions(c);
    }
    return status;
}

saltus_status sbml_convert_call(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const char *name = ASTNode_getName(node);
    const sbml_symbol *symbol = name ? sbml_find_callee(c->r, in->function, name) : NULL;
    if (!symbol && name && in->function && c->r->how && *FunctionDefinition_getName(in->function)) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses function '%s', which calls '%s': of a submodel's functions that "
                           "call each other none can be missing or replaced",
                           FunctionDefinition_getId(in->function), name);
    }
    if (!symbol || symbol->kind != NAME_FUNCTION) {
        return no_function(c, name ? name : "");
    }
    FunctionDefinition_t *function =
        Model_getFunctionDefinition(c->r->sbml, (unsigned)symbol->index);
    const ASTNode_t *body = FunctionDefinition_getBody(function);
    const int n = (int)FunctionDefinition_getNumArguments(function);
    if (!body) {
        status = sbml_refuse(c, SALTUS_E_MODEL, "uses the function '%s', which has no body", name);
        goto done;
    }
    if (n != sbml_n_arguments(node)) {
        status =
            sbml_refuse(c, SALTUS_E_MODEL, "gives the function '%s' %d arguments instead of %d",
                        name, sbml_n_arguments(node), n);
        goto done;
    }
    SALTUS_TRY(sbml_check_circle(c, in, function, name));
    const saltus_expr **drawn =
        saltus_arena_alloc(&c->r->model->arena, (size_t)(n + 1) * sizeof *drawn);
    SALTUS_TRY(sbml_made(c, drawn));
    const sbml_scope inner = {.outer = in,
                              .origin = function,
                              .function = function,
                              .call = node,
                              .drawn = drawn,
                              .reaction = -1};
    SALTUS_TRY(sbml_convert_node(c, &inner, body, depth + 1, out));
done:
    return status;
}
