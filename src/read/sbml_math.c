#include "read/sbml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds on one expression and on all together, functions inlined: a few nested functions that use
 * their argument twice would fill any memory. */
enum { MAX_DEPTH = 500, MAX_NODES = 200000, MAX_ALL_NODES = 20000000, FOLD_WIDTH = 32 };

/* Where names are looked up. Arguments of a function are converted where they are used, in the
 * scope of the call, so that sizes and depths are those of the tree that results. */
typedef struct scope {
    const struct scope *outer; /* scope of the call; NULL at the start of a formula */
    const void *origin;        /* function, law or stoichiometry that is being inlined */
    FunctionDefinition_t *function;
    const ASTNode_t *call;
    int reaction; /* whose local parameters are visible, or -1 */
} scope;

typedef struct converter {
    sbml_reader *r;
    const sbml_place *place;
    int n_nodes;
} converter;

static saltus_status convert(converter *c, const scope *in, const ASTNode_t *node, int depth,
                             const saltus_expr **out);

/* Ordinary functions with one argument, and those with two that take no more. */
static const struct {
    ASTNodeType_t type;
    saltus_op op;
} plain[] = {
    {AST_FUNCTION_ABS, SALTUS_OP_ABS},
    {AST_FUNCTION_ARCCOS, SALTUS_OP_ACOS},
    {AST_FUNCTION_ARCCOSH, SALTUS_OP_ACOSH},
    {AST_FUNCTION_ARCCOT, SALTUS_OP_ACOT},
    {AST_FUNCTION_ARCCOTH, SALTUS_OP_ACOTH},
    {AST_FUNCTION_ARCCSC, SALTUS_OP_ACSC},
    {AST_FUNCTION_ARCCSCH, SALTUS_OP_ACSCH},
    {AST_FUNCTION_ARCSEC, SALTUS_OP_ASEC},
    {AST_FUNCTION_ARCSECH, SALTUS_OP_ASECH},
    {AST_FUNCTION_ARCSIN, SALTUS_OP_ASIN},
    {AST_FUNCTION_ARCSINH, SALTUS_OP_ASINH},
    {AST_FUNCTION_ARCTAN, SALTUS_OP_ATAN},
    {AST_FUNCTION_ARCTANH, SALTUS_OP_ATANH},
    {AST_FUNCTION_CEILING, SALTUS_OP_CEIL},
    {AST_FUNCTION_COS, SALTUS_OP_COS},
    {AST_FUNCTION_COSH, SALTUS_OP_COSH},
    {AST_FUNCTION_COT, SALTUS_OP_COT},
    {AST_FUNCTION_COTH, SALTUS_OP_COTH},
    {AST_FUNCTION_CSC, SALTUS_OP_CSC},
    {AST_FUNCTION_CSCH, SALTUS_OP_CSCH},
    {AST_FUNCTION_EXP, SALTUS_OP_EXP},
    {AST_FUNCTION_FACTORIAL, SALTUS_OP_FACTORIAL},
    {AST_FUNCTION_FLOOR, SALTUS_OP_FLOOR},
    {AST_FUNCTION_LN, SALTUS_OP_LN},
    {AST_FUNCTION_SEC, SALTUS_OP_SEC},
    {AST_FUNCTION_SECH, SALTUS_OP_SECH},
    {AST_FUNCTION_SIN, SALTUS_OP_SIN},
    {AST_FUNCTION_SINH, SALTUS_OP_SINH},
    {AST_FUNCTION_TAN, SALTUS_OP_TAN},
    {AST_FUNCTION_TANH, SALTUS_OP_TANH},
    {AST_LOGICAL_NOT, SALTUS_OP_NOT},
    {AST_DIVIDE, SALTUS_OP_DIV},
    {AST_POWER, SALTUS_OP_POW},
    {AST_FUNCTION_POWER, SALTUS_OP_POW},
    {AST_FUNCTION_QUOTIENT, SALTUS_OP_QUOTIENT},
    {AST_FUNCTION_REM, SALTUS_OP_REM},
    {AST_LOGICAL_IMPLIES, SALTUS_OP_IMPLIES},
    {AST_RELATIONAL_NEQ, SALTUS_OP_NE},
};

/* Operations on any number of arguments; `empty` is the value on none, NAN where there is none. */
static const struct {
    ASTNodeType_t type;
    saltus_op op;
    double empty;
} folded[] = {
    {AST_PLUS, SALTUS_OP_ADD, 0.0},
    {AST_TIMES, SALTUS_OP_MUL, 1.0},
    {AST_LOGICAL_AND, SALTUS_OP_AND, 1.0},
    {AST_LOGICAL_OR, SALTUS_OP_OR, 0.0},
    {AST_LOGICAL_XOR, SALTUS_OP_XOR, 0.0},
    {AST_FUNCTION_MAX, SALTUS_OP_MAX, (double)NAN},
    {AST_FUNCTION_MIN, SALTUS_OP_MIN, (double)NAN},
};

/* Chains: a < b < c is a < b and b < c. */
static const struct {
    ASTNodeType_t type;
    saltus_op op;
} chained[] = {
    {AST_RELATIONAL_EQ, SALTUS_OP_EQ}, {AST_RELATIONAL_GEQ, SALTUS_OP_GE},
    {AST_RELATIONAL_GT, SALTUS_OP_GT}, {AST_RELATIONAL_LEQ, SALTUS_OP_LE},
    {AST_RELATIONAL_LT, SALTUS_OP_LT},
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static int n_children(const ASTNode_t *node)
{
    return (int)ASTNode_getNumChildren(node);
}

static const ASTNode_t *child(const ASTNode_t *node, int i)
{
    return ASTNode_getChild(node, (unsigned)i);
}

/* "reaction 'R7': rate law <what is wrong>" */
__attribute__((format(printf, 3, 4))) static saltus_status
refuse(const converter *c, saltus_status code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sbml_fail(c->r, code, c->place->line, "%s: %s %s", c->place->what, c->place->role, text);
}

static saltus_status wrong_arity(const converter *c, const ASTNode_t *node)
{
    const char *name = ASTNode_getName(node);
    const char symbol[2] = {ASTNode_isOperator(node) ? ASTNode_getCharacter(node) : '\0', '\0'};
    return refuse(c, SALTUS_E_MODEL, "gives '%s' %d arguments",
                  name        ? name
                  : symbol[0] ? symbol
                              : "a function",
                  n_children(node));
}

/* Check what a constructor gave. */
static saltus_status made(const converter *c, const saltus_expr *e)
{
    return e ? SALTUS_OK : saltus_error_set(c->r->err, SALTUS_E_NO_MEMORY, "memory ran out");
}

/* ------------------------------------------------------------------------------------------------
 * Numbers and names
 */

/* 6.022 times 10^23 by libsbml is not the double nearest 6.022e23: compose the text instead. */
static double e_notation(const ASTNode_t *node)
{
    char text[64];
    const double mantissa = ASTNode_getMantissa(node);
    if (!isfinite(mantissa)) {
        return mantissa;
    }
    for (int digits = 15; digits <= 17; ++digits) {
        (void)snprintf(text, sizeof text, "%.*g", digits, mantissa);
        if (strtod(text, NULL) == mantissa) {
            break;
        }
    }
    /* "1.5e-07" and the node's exponent: add the two */
    long exponent = ASTNode_getExponent(node);
    char *e = strchr(text, 'e');
    if (e) {
        exponent += strtol(e + 1, NULL, 10);
        *e = '\0';
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "e%ld", exponent);
    return strtod(text, NULL);
}

/* Numbers and constants; false for anything else. */
static bool number(const ASTNode_t *node, double *value)
{
    switch (ASTNode_getType(node)) {
    case AST_INTEGER:
        *value = (double)ASTNode_getInteger(node);
        return true;
    case AST_REAL:
        *value = ASTNode_getReal(node);
        return true;
    case AST_REAL_E:
        *value = e_notation(node);
        return true;
    case AST_RATIONAL:
        *value = (double)ASTNode_getNumerator(node) / (double)ASTNode_getDenominator(node);
        return true;
    case AST_NAME_AVOGADRO:
        *value = MOLECULES_PER_MOLE;
        return true;
    case AST_CONSTANT_E:
        *value = M_E;
        return true;
    case AST_CONSTANT_PI:
        *value = M_PI;
        return true;
    case AST_CONSTANT_TRUE:
    case AST_CONSTANT_FALSE:
        *value = ASTNode_getType(node) == AST_CONSTANT_TRUE;
        return true;
    default:
        return false;
    }
}

void sbml_use_size(sbml_reader *r, int compartment)
{
    sbml_info *info = &r->info[compartment];
    const saltus_variable *v = &r->model->variables[compartment];
    if (info->size_assumed) {
        sbml_warn(r, (unsigned)v->line, "compartment '%s' has no size; taken as 1", v->id);
        info->size_assumed = false;
    }
}

/* What a variable's name means in a formula. */
static const saltus_expr *variable_in_formula(sbml_reader *r, int v)
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

const saltus_expr *sbml_to_molecules(sbml_reader *r, int v, const saltus_expr *value,
                                     const saltus_expr *size)
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
        value = saltus_expr_2(arena, SALTUS_OP_MUL, value,
                              size ? size : saltus_expr_variable(arena, compartment));
    }
    return value;
}

/* Refuse what would contain itself. */
static saltus_status check_circle(const converter *c, const scope *in, const void *origin,
                                  const char *name)
{
    for (const scope *s = in; s; s = s->outer) {
        if (s->origin == origin) {
            return refuse(c, SALTUS_E_MODEL, "uses '%s', which is defined by itself", name);
        }
    }
    return SALTUS_OK;
}

static saltus_status convert_reference(converter *c, const scope *in, const char *name,
                                       const sbml_reference *reference, int depth,
                                       const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    StoichiometryMath_t *own = SpeciesReference_getStoichiometryMath(reference->of);
    const ASTNode_t *math = reference->assigned ? reference->assigned
                            : own               ? StoichiometryMath_getMath(own)
                                                : NULL;
    if (math) {
        const scope inner = {.outer = in, .origin = reference->of, .reaction = -1};
        SALTUS_TRY(check_circle(c, in, reference->of, name));
        SALTUS_TRY(convert(c, &inner, math, depth + 1, out));
    } else {
        const double n = SpeciesReference_getStoichiometry(reference->of);
        *out = saltus_expr_const(&c->r->model->arena, isnan(n) ? 1.0 : n);
        SALTUS_TRY(made(c, *out));
    }
done:
    return status;
}

/* A reaction's name in a formula is its rate, in units of extent per time: its law. */
static saltus_status convert_rate(converter *c, const scope *in, const char *name, int reaction,
                                  int depth, const saltus_expr **out)
{
    KineticLaw_t *law = Reaction_getKineticLaw(Model_getReaction(c->r->sbml, (unsigned)reaction));
    const ASTNode_t *math = law ? KineticLaw_getMath(law) : NULL;
    const scope inner = {.outer = in, .origin = law, .reaction = reaction};
    saltus_status status = SALTUS_OK;
    if (!math) {
        return refuse(c, SALTUS_E_UNSUPPORTED, "uses the rate of '%s', which has none", name);
    }
    SALTUS_TRY(check_circle(c, in, law, name));
    SALTUS_TRY(convert(c, &inner, math, depth + 1, out));
done:
    return status;
}

/* The variable of a local parameter, or -1. */
static int find_local(const sbml_reader *r, int reaction, const char *name)
{
    if (reaction < 0) {
        return -1;
    }
    const sbml_locals *locals = &r->locals[reaction];
    const char *id = Reaction_getId(Model_getReaction(r->sbml, (unsigned)reaction));
    const size_t behind = strlen(id) + 1; /* of "R." */
    for (int i = locals->first; i < locals->first + locals->n; ++i) {
        if (strcmp(r->model->variables[i].id + behind, name) == 0) {
            return i;
        }
    }
    return -1;
}

static saltus_status not_defined(const converter *c, const char *name)
{
    const saltus_status status = refuse(c, SALTUS_E_MODEL, "uses '%s', which is not defined", name);
    sbml_hint_nearest(c->r, name);
    return status;
}

/* A name inside a function: one of its arguments. */
static saltus_status convert_argument(converter *c, const scope *in, const char *name, int depth,
                                      const saltus_expr **out)
{
    const unsigned n = FunctionDefinition_getNumArguments(in->function);
    for (unsigned i = 0; i < n; ++i) {
        const ASTNode_t *argument = FunctionDefinition_getArgument(in->function, i);
        const char *argument_name = argument ? ASTNode_getName(argument) : NULL;
        if (argument_name && strcmp(argument_name, name) == 0) {
            return convert(c, in->outer, child(in->call, (int)i), depth, out);
        }
    }
    return refuse(c, SALTUS_E_MODEL, "uses function '%s', whose '%s' is none of its arguments",
                  FunctionDefinition_getId(in->function), name);
}

static saltus_status convert_name(converter *c, const scope *in, const ASTNode_t *node, int depth,
                                  const saltus_expr **out)
{
    const char *name = ASTNode_getName(node);
    if (!name || !*name) {
        return refuse(c, SALTUS_E_MODEL, "has a name that is empty");
    }
    if (in->function) {
        return convert_argument(c, in, name, depth, out);
    }
    const int local = find_local(c->r, in->reaction, name);
    const sbml_symbol *symbol = sbml_find(c->r, name);
    if (local >= 0) {
        *out = saltus_expr_variable(&c->r->model->arena, local);
        return made(c, *out);
    }
    if (symbol && symbol->kind == NAME_VARIABLE) {
        c->n_nodes += 4;
        *out = variable_in_formula(c->r, symbol->index);
        return made(c, *out);
    }
    if (symbol && symbol->kind == NAME_REFERENCE) {
        return convert_reference(c, in, name, &c->r->references[symbol->index], depth, out);
    }
    if (symbol && symbol->kind == NAME_REACTION) {
        return convert_rate(c, in, name, symbol->index, depth, out);
    }
    return not_defined(c, name);
}

/* ------------------------------------------------------------------------------------------------
 * Operations
 */

static saltus_status convert_function(converter *c, const scope *in, const ASTNode_t *node,
                                      int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const char *name = ASTNode_getName(node);
    const sbml_symbol *symbol = name ? sbml_find(c->r, name) : NULL;
    if (!symbol || symbol->kind != NAME_FUNCTION) {
        status = refuse(c, SALTUS_E_MODEL, "uses the function '%s', which is not defined",
                        name ? name : "");
        goto done;
    }
    FunctionDefinition_t *function =
        Model_getFunctionDefinition(c->r->sbml, (unsigned)symbol->index);
    const ASTNode_t *body = FunctionDefinition_getBody(function);
    const int n = (int)FunctionDefinition_getNumArguments(function);
    if (!body) {
        status = refuse(c, SALTUS_E_MODEL, "uses the function '%s', which has no body", name);
        goto done;
    }
    if (n != n_children(node)) {
        status = refuse(c, SALTUS_E_MODEL, "gives the function '%s' %d arguments instead of %d",
                        name, n_children(node), n);
        goto done;
    }
    SALTUS_TRY(check_circle(c, in, function, name));
    const scope inner = {
        .outer = in, .origin = function, .function = function, .call = node, .reaction = -1};
    SALTUS_TRY(convert(c, &inner, body, depth + 1, out));
done:
    return status;
}

static saltus_status convert_plain(converter *c, const scope *in, const ASTNode_t *node,
                                   saltus_op op, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr *args[2] = {NULL, NULL};
    const int n = saltus_op_arity(op);
    if (n_children(node) != n) {
        return wrong_arity(c, node);
    }
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(convert(c, in, child(node, i), depth + 1, &args[i]));
    }
    *out = saltus_expr_n(&c->r->model->arena, op, n, args);
    SALTUS_TRY(made(c, *out));
done:
    return status;
}

static saltus_status convert_minus(converter *c, const scope *in, const ASTNode_t *node, int depth,
                                   const saltus_expr **out)
{
    return convert_plain(c, in, node, n_children(node) == 1 ? SALTUS_OP_NEG : SALTUS_OP_SUB, depth,
                         out);
}

/* Long sums become trees of sums, so that the depth stays small; up to FOLD_WIDTH it is a chain
 * from the left. */
static const saltus_expr *fold(saltus_arena *arena, saltus_op op, int n,
                               const saltus_expr *const *args)
{
    if (n <= FOLD_WIDTH) {
        return saltus_expr_fold(arena, op, n, args);
    }
    return saltus_expr_2(arena, op, fold(arena, op, n / 2, args),
                         fold(arena, op, n - n / 2, args + n / 2));
}

/* Depth of argument i below the root of a fold of n; an upper bound for trees. */
static int fold_depth(int n, int i)
{
    if (n <= FOLD_WIDTH) {
        return i == 0 ? n - 1 : n - i;
    }
    return 1 + fold_depth(n - n / 2, 0);
}

/* libsbml makes plus(a, b, c) a chain of binary nodes from the left, so a chain is taken apart
 * first: walk down its left side, and collect the arguments from the right. */
static saltus_status convert_folded(converter *c, const scope *in, const ASTNode_t *node, int k,
                                    int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr **args = NULL;
    const ASTNode_t **terms = NULL;
    int n = 0, at;

    if (n_children(node) == 0) {
        if (isnan(folded[k].empty)) {
            return wrong_arity(c, node);
        }
        *out = saltus_expr_const(&c->r->model->arena, folded[k].empty);
        return made(c, *out);
    }
    const ASTNode_t *left = node;
    while (ASTNode_getType(left) == folded[k].type && n_children(left) > 0) {
        n += n_children(left) - 1;
        left = child(left, 0);
    }
    ++n;
    args = saltus_calloc((size_t)n, sizeof(saltus_expr *));
    terms = saltus_calloc((size_t)n, sizeof(ASTNode_t *));
    if (!args || !terms) {
        status = saltus_error_set(c->r->err, SALTUS_E_NO_MEMORY, "memory ran out");
        goto done;
    }
    at = n;
    for (const ASTNode_t *p = node; p != left; p = child(p, 0)) {
        for (int i = n_children(p) - 1; i > 0; --i) {
            terms[--at] = child(p, i);
        }
    }
    terms[0] = left;
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(convert(c, in, terms[i], depth + fold_depth(n, i), &args[i]));
    }
    *out = fold(&c->r->model->arena, folded[k].op, n, args);
    SALTUS_TRY(made(c, *out));
done:
    saltus_free(terms);
    saltus_free(args);
    return status;
}

static saltus_status convert_chained(converter *c, const scope *in, const ASTNode_t *node,
                                     saltus_op op, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const int n = n_children(node);
    const saltus_expr *all = NULL;
    if (n < 2) { /* nothing to compare: true */
        *out = saltus_expr_const(arena, 1.0);
        return made(c, *out);
    }
    for (int i = 0; i + 1 < n; ++i) {
        const saltus_expr *a = NULL, *b = NULL;
        SALTUS_TRY(convert(c, in, child(node, i), depth + n - i, &a));
        SALTUS_TRY(convert(c, in, child(node, i + 1), depth + n - i, &b));
        const saltus_expr *pair = saltus_expr_2(arena, op, a, b);
        all = all ? saltus_expr_2(arena, SALTUS_OP_AND, all, pair) : pair;
        SALTUS_TRY(made(c, all));
    }
    *out = all;
done:
    return status;
}

/* Base or degree come first; libsbml fills in 10 and 2 where they are not written. */
static saltus_status convert_log_or_root(converter *c, const scope *in, const ASTNode_t *node,
                                         int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const bool is_log = ASTNode_getType(node) == AST_FUNCTION_LOG;
    const double usual = is_log ? 10.0 : 2.0;
    const int n = n_children(node);
    const saltus_expr *parameter = NULL, *x = NULL;
    if (n < 1 || n > 2) {
        return wrong_arity(c, node);
    }
    SALTUS_TRY(convert(c, in, child(node, n - 1), depth + 2, &x));
    if (n == 2) {
        SALTUS_TRY(convert(c, in, child(node, 0), depth + 2, &parameter));
    }
    if (!parameter || (parameter->op == SALTUS_OP_CONST && parameter->value == usual)) {
        *out = saltus_expr_1(arena, is_log ? SALTUS_OP_LOG10 : SALTUS_OP_SQRT, x);
    } else if (is_log) {
        *out = saltus_expr_2(arena, SALTUS_OP_DIV, saltus_expr_1(arena, SALTUS_OP_LN, x),
                             saltus_expr_1(arena, SALTUS_OP_LN, parameter));
    } else {
        *out = saltus_expr_2(arena, SALTUS_OP_ROOT, parameter, x);
    }
    SALTUS_TRY(made(c, *out));
done:
    return status;
}

static saltus_status convert_piecewise(converter *c, const scope *in, const ASTNode_t *node,
                                       int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const int n = n_children(node);
    const saltus_expr **args = NULL;
    if (n == 0) {
        return refuse(c, SALTUS_E_MODEL, "has a piecewise without pieces");
    }
    if (n == 1) { /* only an otherwise */
        return convert(c, in, child(node, 0), depth + 1, out);
    }
    args = saltus_calloc((size_t)n, sizeof(saltus_expr *));
    SALTUS_TRY(made(c, (const void *)args));
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(convert(c, in, child(node, i), depth + 1, &args[i]));
    }
    *out = saltus_expr_n(&c->r->model->arena, SALTUS_OP_PIECEWISE, n, args);
    SALTUS_TRY(made(c, *out));
done:
    saltus_free(args);
    return status;
}

/* What has no meaning here. */
static saltus_status unsupported(const converter *c, const ASTNode_t *node)
{
    const char *name = ASTNode_getName(node);
    switch (ASTNode_getType(node)) {
    case AST_FUNCTION_DELAY:
        return refuse(c, SALTUS_E_UNSUPPORTED, "uses delay(), which is not supported");
    case AST_FUNCTION_RATE_OF:
        return refuse(c, SALTUS_E_UNSUPPORTED,
                      "uses rateOf(), which has no meaning where amounts jump");
    case AST_LAMBDA:
        return refuse(c, SALTUS_E_MODEL, "has a lambda outside of a function definition");
    default:
        return refuse(c, SALTUS_E_UNSUPPORTED, "uses %s%s%s, which is not supported",
                      name ? "'" : "", name ? name : "MathML", name ? "'" : "");
    }
}

static saltus_status convert_operation(converter *c, const scope *in, const ASTNode_t *node,
                                       int depth, const saltus_expr **out)
{
    const ASTNodeType_t type = ASTNode_getType(node);
    for (int k = 0; k < COUNT(folded); ++k) {
        if (folded[k].type == type) {
            return convert_folded(c, in, node, k, depth, out);
        }
    }
    for (int k = 0; k < COUNT(plain); ++k) {
        if (plain[k].type == type) {
            return convert_plain(c, in, node, plain[k].op, depth, out);
        }
    }
    for (int k = 0; k < COUNT(chained); ++k) {
        if (chained[k].type == type) {
            return convert_chained(c, in, node, chained[k].op, depth, out);
        }
    }
    switch (type) {
    case AST_MINUS:
        return convert_minus(c, in, node, depth, out);
    case AST_FUNCTION_LOG:
    case AST_FUNCTION_ROOT:
        return convert_log_or_root(c, in, node, depth, out);
    case AST_FUNCTION_PIECEWISE:
        return convert_piecewise(c, in, node, depth, out);
    case AST_FUNCTION:
        return convert_function(c, in, node, depth, out);
    default:
        return unsupported(c, node);
    }
}

static saltus_status convert(converter *c, const scope *in, const ASTNode_t *node, int depth,
                             const saltus_expr **out)
{
    double value = 0.0;
    if (!node) {
        return refuse(c, SALTUS_E_MODEL, "is not complete");
    }
    if (depth > MAX_DEPTH) {
        return refuse(c, SALTUS_E_UNSUPPORTED, "is nested more than %d deep", MAX_DEPTH);
    }
    if (++c->n_nodes > MAX_NODES || c->r->n_nodes + (size_t)c->n_nodes > MAX_ALL_NODES) {
        return refuse(c, SALTUS_E_UNSUPPORTED,
                      "is too large: more than %d operations, or all formulas more than %d",
                      MAX_NODES, MAX_ALL_NODES);
    }
    if (number(node, &value)) {
        *out = saltus_expr_const(&c->r->model->arena, value);
        return made(c, *out);
    }
    if (ASTNode_getType(node) == AST_NAME_TIME) {
        *out = saltus_expr_time(&c->r->model->arena);
        return made(c, *out);
    }
    if (ASTNode_getType(node) == AST_NAME) {
        return convert_name(c, in, node, depth, out);
    }
    return convert_operation(c, in, node, depth, out);
}

saltus_status sbml_convert(sbml_reader *r, const sbml_place *place, const ASTNode_t *math,
                           const saltus_expr **out)
{
    converter c = {.r = r, .place = place};
    /* the law of a reaction must not use the reaction's rate */
    KineticLaw_t *law =
        place->reaction < 0
            ? NULL
            : Reaction_getKineticLaw(Model_getReaction(r->sbml, (unsigned)place->reaction));
    const scope start = {.origin = law, .reaction = place->reaction};
    const saltus_status status = convert(&c, &start, math, 0, out);
    r->n_nodes += (size_t)c.n_nodes;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Constants
 */

static bool constant_value(const sbml_reader *r, const saltus_expr *e, int *steps, double *value)
{
    double a = 0.0, b = 0.0;
    if (--*steps < 0) { /* also ends circles of initial assignments */
        return false;
    }
    if (e->op == SALTUS_OP_CONST) {
        *value = e->value;
        return true;
    }
    if (e->op == SALTUS_OP_VARIABLE) {
        const saltus_variable *v = &r->model->variables[e->variable];
        return v->kind == SALTUS_KIND_PARAMETER && v->constant && !v->rule && v->initial &&
               constant_value(r, v->initial, steps, value);
    }
    if (e->n_args < 1 || e->n_args > 2 || !constant_value(r, e->args[0], steps, &a) ||
        (e->n_args == 2 && !constant_value(r, e->args[1], steps, &b))) {
        return false;
    }
    switch (e->op) {
    case SALTUS_OP_ADD:
        *value = a + b;
        return true;
    case SALTUS_OP_SUB:
        *value = a - b;
        return true;
    case SALTUS_OP_MUL:
        *value = a * b;
        return true;
    case SALTUS_OP_DIV:
        *value = a / b;
        return true;
    case SALTUS_OP_NEG:
        *value = -a;
        return true;
    default:
        return false;
    }
}

bool sbml_constant_value(const sbml_reader *r, const saltus_expr *e, double *value)
{
    int steps = 1000;
    return constant_value(r, e, &steps, value);
}
