#include "read/sbml/math.h"

#include "core/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bounds on one expression and on all together, functions inlined: a few nested functions that use
 * their argument twice would fill any memory. */
enum { MAX_DEPTH = 500, MAX_NODES = 200000, MAX_ALL_NODES = 20000000, FOLD_WIDTH = 32 };

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

saltus_status sbml_refuse(const sbml_converter *c, saltus_status code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sbml_fail(c->r, code, c->place->line, "%s: %s %s", c->place->what, c->place->role, text);
}

static saltus_status wrong_arity(const sbml_converter *c, const ASTNode_t *node)
{
    const char *name = ASTNode_getName(node);
    const char symbol[2] = {ASTNode_isOperator(node) ? ASTNode_getCharacter(node) : '\0', '\0'};
    return sbml_refuse(c, SALTUS_E_MODEL, "gives '%s' %d arguments",
                       name        ? name
                       : symbol[0] ? symbol
                                   : "a function",
                       n_children(node));
}

saltus_status sbml_made(const sbml_converter *c, const void *e)
{
    return e ? SALTUS_OK : saltus_error_set(c->r->err, SALTUS_E_NO_MEMORY, "memory ran out");
}

/* 6.022 times 10^23 by libsbml is not the double nearest 6.022e23: compose the text instead. */
static double e_notation(const ASTNode_t *node)
{
    char text[SALTUS_NUMBER_SIZE + 24];
    const double mantissa = ASTNode_getMantissa(node);
    long exponent = ASTNode_getExponent(node);
    double value = 0.0;
    if (!isfinite(mantissa)) {
        return mantissa;
    }
    exponent = exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : exponent;
    (void)saltus_number_format(fabs(mantissa), text);
    char *e = strchr(text, 'e'); /* of a very large or small mantissa */
    if (e) {
        exponent += strtol(e + 1, NULL, 10);
        *e = '\0';
    }
    (void)snprintf(text + strlen(text), 24, "e%ld", exponent);
    if (saltus_number_parse(text, &value, NULL) == SALTUS_NUMBER_TOO_LARGE) {
        value = (double)INFINITY;
    }
    return mantissa < 0.0 ? -value : value;
}

/* Numbers and constants; false for anything else. */
static bool number(saltus_model *model, const ASTNode_t *node, double *value)
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
        model->has_moles = true;
        *value = model->mole;
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

static saltus_status convert_plain(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                   saltus_op op, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr *args[2] = {NULL, NULL};
    const int n = saltus_op_arity(op);
    if (n_children(node) != n) {
        return wrong_arity(c, node);
    }
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(sbml_convert_node(c, in, child(node, i), depth + 1, &args[i]));
    }
    *out = saltus_expr_n(&c->r->model->arena, op, n, args);
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

static saltus_status convert_minus(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                   int depth, const saltus_expr **out)
{
    return convert_plain(c, in, node, n_children(node) == 1 ? SALTUS_OP_NEG : SALTUS_OP_SUB, depth,
                         out);
}

/* Long sums become trees of sums, so that the depth stays small; up to FOLD_WIDTH it is a chain
 * from the left. */
const saltus_expr *sbml_fold(saltus_arena *arena, saltus_op op, int n,
                             const saltus_expr *const *args)
{
    if (n <= FOLD_WIDTH) {
        return saltus_expr_fold(arena, op, n, args);
    }
    return saltus_expr_2(arena, op, sbml_fold(arena, op, n / 2, args),
                         sbml_fold(arena, op, n - n / 2, args + n / 2));
}

/* Depth of argument i below the root of a fold of n; an upper bound for trees. */
static int fold_depth(int n, int i)
{
    if (n <= FOLD_WIDTH) {
        return i == 0 ? n - 1 : n - i;
    }
    return 1 + fold_depth(n - n / 2, 0);
}

/* A concentration times the size of its compartment is its amount, which the quotient's rounding
 * would miss by a last place: sizes leave the n factors for it. Returns how many there are then. */
static int cancel_sizes(const saltus_model *model, const saltus_expr **factors, int n)
{
    for (int i = 0; i < n; ++i) {
        const saltus_expr *size = factors[i];
        bool cancels = false;
        for (int k = 0; k < n && size->op == SALTUS_OP_VARIABLE && !cancels &&
                        model->variables[size->variable].kind == SALTUS_KIND_COMPARTMENT;
             ++k) {
            const saltus_expr *of = factors[k];
            cancels = of->op == SALTUS_OP_DIV && of->args[1]->op == SALTUS_OP_VARIABLE &&
                      of->args[1]->variable == size->variable;
            factors[k] = cancels ? of->args[0] : of;
        }
        if (cancels) {
            memmove(factors + i, factors + i + 1,
                    (size_t)(n - i - 1) * sizeof(const saltus_expr *));
            --n;
            i = -1;
        }
    }
    return n;
}

/* libsbml makes plus(a, b, c) a chain of binary nodes from the left, so a chain is taken apart
 * first: walk down its left side, and collect the arguments from the right. */
static saltus_status convert_folded(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                    int k, int depth, const saltus_expr **out)
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
        return sbml_made(c, *out);
    }
    const ASTNode_t *left = node;
    while (ASTNode_getType(left) == folded[k].type && n_children(left) > 0) {
        n += n_children(left) - 1;
        left = child(left, 0);
    }
    ++n;
    args = saltus_arena_alloc(&c->r->model->arena, (size_t)n * sizeof *args);
    SALTUS_TRY(sbml_made(c, args));
    terms = saltus_arena_alloc(&c->r->model->arena, (size_t)n * sizeof *terms);
    SALTUS_TRY(sbml_made(c, terms));
    at = n;
    for (const ASTNode_t *p = node; p != left; p = child(p, 0)) {
        for (int i = n_children(p) - 1; i > 0; --i) {
            terms[--at] = child(p, i);
        }
    }
    terms[0] = left;
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(sbml_convert_node(c, in, terms[i], depth + fold_depth(n, i), &args[i]));
    }
    n = folded[k].op == SALTUS_OP_MUL ? cancel_sizes(c->r->model, args, n) : n;
    *out = sbml_fold(&c->r->model->arena, folded[k].op, n, args);
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

static saltus_status convert_chained(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                     saltus_op op, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &c->r->model->arena;
    const int n = n_children(node);
    const saltus_expr *all = NULL, *b = NULL;
    if (n < 2) { /* nothing to compare: true */
        *out = saltus_expr_const(arena, 1.0);
        return sbml_made(c, *out);
    }
    for (int i = 0; i + 1 < n; ++i) {
        const saltus_expr *a = NULL, *before = b;
        SALTUS_TRY(sbml_convert_node(c, in, child(node, i), depth + n - i, &a));
        SALTUS_TRY(sbml_convert_node(c, in, child(node, i + 1), depth + n - i, &b));
        a = before && saltus_expr_draws(a) ? before : a; /* what is drawn is one number */
        const saltus_expr *pair = saltus_expr_2(arena, op, a, b);
        all = all ? saltus_expr_2(arena, SALTUS_OP_AND, all, pair) : pair;
        SALTUS_TRY(sbml_made(c, all));
    }
    *out = all;
done:
    return status;
}

/* Base or degree come first; libsbml fills in 10 and 2 where they are not written. */
static saltus_status convert_log_or_root(sbml_converter *c, const sbml_scope *in,
                                         const ASTNode_t *node, int depth, const saltus_expr **out)
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
    SALTUS_TRY(sbml_convert_node(c, in, child(node, n - 1), depth + 2, &x));
    if (n == 2) {
        SALTUS_TRY(sbml_convert_node(c, in, child(node, 0), depth + 2, &parameter));
    }
    if (!parameter || (parameter->op == SALTUS_OP_CONST && parameter->value == usual)) {
        *out = saltus_expr_1(arena, is_log ? SALTUS_OP_LOG10 : SALTUS_OP_SQRT, x);
    } else if (is_log) {
        *out = saltus_expr_2(arena, SALTUS_OP_DIV, saltus_expr_1(arena, SALTUS_OP_LN, x),
                             saltus_expr_1(arena, SALTUS_OP_LN, parameter));
    } else {
        *out = saltus_expr_2(arena, SALTUS_OP_ROOT, parameter, x);
    }
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

static saltus_status convert_piecewise(sbml_converter *c, const sbml_scope *in,
                                       const ASTNode_t *node, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const int n = n_children(node);
    const saltus_expr **args = NULL;
    if (n == 0) {
        return sbml_refuse(c, SALTUS_E_MODEL, "has a piecewise without pieces");
    }
    if (n == 1) { /* only an otherwise */
        return sbml_convert_node(c, in, child(node, 0), depth + 1, out);
    }
    args = saltus_arena_alloc(&c->r->model->arena, (size_t)n * sizeof *args);
    SALTUS_TRY(sbml_made(c, args));
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(sbml_convert_node(c, in, child(node, i), depth + 1, &args[i]));
    }
    *out = saltus_expr_n(&c->r->model->arena, SALTUS_OP_PIECEWISE, n, args);
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

/* What has no meaning here. */
static saltus_status unsupported(const sbml_converter *c, const ASTNode_t *node)
{
    const char *name = ASTNode_getName(node);
    switch (ASTNode_getType(node)) {
    case AST_FUNCTION_DELAY:
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED, "uses delay(), which is not supported");
    case AST_LAMBDA:
        return sbml_refuse(c, SALTUS_E_MODEL, "has a lambda outside of a function definition");
    default:
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED, "uses %s%s%s, which is not supported",
                           name ? "'" : "", name ? name : "MathML", name ? "'" : "");
    }
}

/* A distribution: a name that was made of its symbol. */
static saltus_status convert_variate(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                     const char *name, int depth, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr *args[4] = {NULL};
    const int op = saltus_op_find(name), n = sbml_n_arguments(node);
    if (op < 0 || !saltus_op_draws((saltus_op)op)) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses the distribution '%s', which is not supported", name);
    }
    if (!saltus_variate_is_called((saltus_op)op, n)) {
        return sbml_refuse(c, SALTUS_E_MODEL, "gives '%s' %d arguments, which takes %s", name, n,
                           saltus_variate_usage((saltus_op)op));
    }
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(sbml_convert_node(c, in, child(node, i), depth + 1, &args[i]));
    }
    *out = saltus_expr_variate(&c->r->model->arena, (saltus_op)op, n, args);
    SALTUS_TRY(sbml_made(c, *out));
done:
    return status;
}

/* A function that says nothing but its name, its body being no number: what programs write for
 * rateOf and distributions in levels that have none. */
static const char *bare_name(const sbml_converter *c, const sbml_scope *in, const char *name)
{
    const sbml_symbol *symbol = sbml_find_callee(c->r, in->function, name);
    const FunctionDefinition_t *f =
        symbol && symbol->kind == NAME_FUNCTION
            ? Model_getFunctionDefinition(c->r->sbml, (unsigned)symbol->index)
            : NULL;
    const ASTNode_t *body = f ? FunctionDefinition_getBody(f) : NULL;
    double value = 0.0;
    const bool is_bare = body && number(c->r->model, body, &value) && isnan(value);
    return is_bare ? sbml_function_name(c->r, f) : NULL;
}

/* A call of a distribution, or of a function that the model defines. */
static saltus_status convert_call(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                  int depth, const saltus_expr **out)
{
    const char *name = ASTNode_getName(node);
    const size_t n = strlen(SBML_DISTRIBUTION);
    if (name && strncmp(name, SBML_DISTRIBUTION, n) == 0) {
        return convert_variate(c, in, node, name + n, depth, out);
    }
    const char *bare = name ? bare_name(c, in, name) : NULL;
    if (bare) {
        const int op = saltus_op_find(bare);
        if (strcmp(bare, "rateOf") == 0) {
            return sbml_convert_rate_of(c, in, node, depth, out);
        }
        if (op >= 0 && saltus_op_draws((saltus_op)op)) {
            return convert_variate(c, in, node, bare, depth, out);
        }
    }
    return sbml_convert_call(c, in, node, depth, out);
}

/* Level 1 has no constants: where a name such as Pi is defined, libsbml takes it for one. */
static bool is_name(const sbml_converter *c, const sbml_scope *in, const ASTNode_t *node)
{
    const char *name = ASTNode_getName(node);
    return ASTNode_getType(node) == AST_NAME || (c->r->level == 1 && ASTNode_isConstant(node) &&
                                                 name && sbml_is_defined(c->r, in->reaction, name));
}

static saltus_status convert_operation(sbml_converter *c, const sbml_scope *in,
                                       const ASTNode_t *node, int depth, const saltus_expr **out)
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
        return sbml_is_rate_of(node) ? sbml_convert_rate_of(c, in, node, depth, out)
                                     : convert_call(c, in, node, depth, out);
    case AST_FUNCTION_RATE_OF:
        return sbml_convert_rate_of(c, in, node, depth, out);
    default:
        return unsupported(c, node);
    }
}

saltus_status sbml_convert_node(sbml_converter *c, const sbml_scope *in, const ASTNode_t *node,
                                int depth, const saltus_expr **out)
{
    double value = 0.0;
    if (!node) {
        return sbml_refuse(c, SALTUS_E_MODEL, "is not complete");
    }
    if (depth > MAX_DEPTH) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED, "is nested more than %d deep", MAX_DEPTH);
    }
    if (++c->n_nodes > MAX_NODES || c->r->n_nodes + (size_t)c->n_nodes > MAX_ALL_NODES) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "is too large: more than %d operations, or all formulas more than %d",
                           MAX_NODES, MAX_ALL_NODES);
    }
    if (is_name(c, in, node)) {
        return sbml_convert_name(c, in, node, depth, out);
    }
    if (number(c->r->model, node, &value)) {
        if (c->r->level == 1 && !isfinite(value)) { /* perhaps it is a name: "inf" */
            return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                               "has a number that is not finite, which Level 1 does not know");
        }
        *out = saltus_expr_const(&c->r->model->arena, value);
        return sbml_made(c, *out);
    }
    if (ASTNode_getType(node) == AST_NAME_TIME) {
        return sbml_convert_time(c, in, depth, out);
    }
    return convert_operation(c, in, node, depth, out);
}

saltus_status sbml_convert(sbml_reader *r, const sbml_place *place, const ASTNode_t *math,
                           const saltus_expr **out)
{
    sbml_converter c = {.r = r, .place = place};
    /* the law of a reaction must not use the reaction's rate */
    KineticLaw_t *law =
        place->reaction < 0
            ? NULL
            : Reaction_getKineticLaw(Model_getReaction(r->sbml, (unsigned)place->reaction));
    const sbml_scope start = {.origin = law, .reaction = place->reaction};
    const saltus_status status = sbml_convert_node(&c, &start, math, 0, out);
    r->n_nodes += (size_t)c.n_nodes;
    return status;
}
