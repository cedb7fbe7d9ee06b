/* Texts to expressions, by operator precedence after Pratt (1973). */
#include "model/network/scan.h"

#include "model/network/model.h"
#include "model/network/syntax.h"

#include <string.h>

/* Everything that walks a tree recurses, so both are bounded: the nesting that a text asks the
 * parser to recurse into, and the depth of a tree, which a long sum a + b + c + … makes without
 * any nesting. */
enum { MAX_NESTING = 500, MAX_DEPTH = 5000 };

/* A tree with what cannot be seen from it. */
typedef struct tree {
    const saltus_expr *expr;
    int depth;
    bool is_literal; /* one number without sign or parentheses */
} tree;

static const saltus_infix *infix_at(const saltus_scanner *s)
{
    const bool may_be = s->kind == SALTUS_TOKEN_SIGN || s->kind == SALTUS_TOKEN_NAME;
    return may_be ? saltus_infix_named(s->start, (size_t)(s->end - s->start)) : NULL;
}

/* The token stands where something else must. */
static saltus_status unexpected(saltus_scanner *s, const char *wanted)
{
    if (s->kind == SALTUS_TOKEN_END) {
        return saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start, "%s is missing at the end", wanted);
    }
    const int n = s->end - s->start > 40 ? 40 : (int)(s->end - s->start);
    const saltus_status status = saltus_scan_fail(
        s, SALTUS_E_SYNTAX, s->start, "%s is missing before '%.*s'", wanted, n, s->start);
    if (saltus_scan_is(s, "=")) {
        saltus_error_hint(s->err, "to compare, write '=='");
    } else if (saltus_scan_is(s, "&") || saltus_scan_is(s, "|")) {
        saltus_error_hint(s->err, "write '%.1s%.1s', or 'and' and 'or'", s->start, s->start);
    }
    return status;
}

/* Take a finished node as the tree, unless memory ran out or the tree grew too deep. */
static saltus_status finish(saltus_scanner *s, const saltus_expr *expr, int depth, const char *at,
                            tree *out)
{
    if (!expr) {
        return saltus_error_set(s->err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    if (depth > MAX_DEPTH) {
        const saltus_status status =
            saltus_scan_fail(s, SALTUS_E_UNSUPPORTED, at,
                             "the expression has more than %d steps in a row", MAX_DEPTH);
        saltus_error_hint(s->err, "divide a long sum by parentheses");
        return status;
    }
    *out = (tree){.expr = expr, .depth = depth};
    return SALTUS_OK;
}

static int deeper(int a, int b)
{
    return 1 + (a > b ? a : b);
}

static saltus_status parse(saltus_scanner *s, int least, tree *out);

/* The number of arguments that a function takes, in words. */
static saltus_status wrong_count(saltus_scanner *s, const char *at, const char *name, int wanted,
                                 int n)
{
    return saltus_scan_fail(s, SALTUS_E_SYNTAX, at, "'%.60s' takes %d argument%s, not %d", name,
                            wanted, wanted == 1 ? "" : "s", n);
}

/* Functions that make more than one node. */
static saltus_status make_composed(saltus_scanner *s, const char *at, const char *name, int n,
                                   const saltus_expr *const *args, int depth, tree *out)
{
    saltus_arena *arena = &s->context->model->arena;
    const bool is_if = strcmp(name, "if") == 0;
    const bool is_list = strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0;
    const int wanted = is_if ? 3 : 1;
    const saltus_expr *e;
    if (!is_list && n != wanted) {
        return wrong_count(s, at, name, wanted, n);
    }
    if (is_if) {
        const saltus_expr *const pieces[] = {args[1], args[0], args[2]};
        e = saltus_expr_n(arena, SALTUS_OP_PIECEWISE, 3, pieces);
    } else if (strcmp(name, "sqr") == 0) {
        e = saltus_expr_2(arena, SALTUS_OP_POW, args[0], saltus_expr_const(arena, 2.0));
    } else if (strcmp(name, "rint") == 0) {
        e = saltus_expr_1(
            arena, SALTUS_OP_FLOOR,
            saltus_expr_2(arena, SALTUS_OP_ADD, args[0], saltus_expr_const(arena, 0.5)));
    } else if (strcmp(name, "log2") == 0) {
        e = saltus_expr_2(arena, SALTUS_OP_DIV, saltus_expr_1(arena, SALTUS_OP_LN, args[0]),
                          saltus_expr_1(arena, SALTUS_OP_LN, saltus_expr_const(arena, 2.0)));
    } else {
        e = saltus_expr_fold(arena, SALTUS_OP_ADD, n, args);
        if (strcmp(name, "avg") == 0) {
            e = saltus_expr_2(arena, SALTUS_OP_DIV, e, saltus_expr_const(arena, n));
        }
    }
    return finish(s, e, depth + 2 + (is_list ? n : 0), at, out);
}

/* The value of a call whose arguments are known, all of them at most `depth` deep. */
static saltus_status make_call(saltus_scanner *s, const char *at, const char *name, int n,
                               const saltus_expr *const *args, int depth, tree *out)
{
    saltus_arena *arena = &s->context->model->arena;
    if (saltus_is_composed(name)) {
        return make_composed(s, at, name, n, args, depth, out);
    }
    const saltus_op op = (saltus_op)saltus_function_named(name);
    const bool folds = op == SALTUS_OP_MIN || op == SALTUS_OP_MAX || op == SALTUS_OP_AND ||
                       op == SALTUS_OP_OR || op == SALTUS_OP_XOR;
    const int wanted = saltus_op_arity(op);
    if (saltus_op_draws(op)) {
        if (!saltus_variate_is_called(op, n)) {
            return saltus_scan_fail(s, SALTUS_E_SYNTAX, at, "'%.60s' takes %s, not %d", name,
                                    saltus_variate_usage(op), n);
        }
        return finish(s, saltus_expr_variate(arena, op, n, args), depth + 1, at, out);
    }
    if (saltus_op_is_table(op) && saltus_table_problem(n, args)) {
        return saltus_scan_fail(s, SALTUS_E_SYNTAX, at, "'%.60s' %s", name,
                                saltus_table_problem(n, args));
    }
    if (wanted >= 0 && n != wanted && !(folds && n > wanted)) {
        return wrong_count(s, at, name, wanted, n);
    }
    return folds ? finish(s, saltus_expr_fold(arena, op, n, args), depth + n - 1, at, out)
                 : finish(s, saltus_expr_n(arena, op, n, args), depth + 1, at, out);
}

/* Arguments up to the closing parenthesis. */
static saltus_status parse_call(saltus_scanner *s, const char *at, const char *name, tree *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    const saltus_expr **args = NULL;
    size_t n = 0, capacity = 0;
    int depth = 0;
    for (;;) {
        tree argument;
        SALTUS_TRY(parse(s, SALTUS_LEVEL_ANY, &argument));
        const saltus_expr **grown = saltus_grow(args, n, &capacity, sizeof *args);
        SALTUS_NEED(grown);
        args = grown;
        args[n++] = argument.expr;
        depth = argument.depth > depth ? argument.depth : depth;
        if (saltus_scan_is(s, ")")) {
            break;
        }
        if (!saltus_scan_is(s, ",")) {
            SALTUS_TRY(unexpected(s, "a comma or ')'"));
        }
        SALTUS_TRY(saltus_scan_next(s));
    }
    SALTUS_TRY(saltus_scan_next(s));
    SALTUS_TRY(make_call(s, at, name, (int)n, args, depth, out));
done:
    saltus_free(args);
    return status;
}

/* What the model or the caller knows by this name, or NULL. */
static const saltus_expr *look_up(const saltus_scanner *s, const char *name)
{
    const saltus_parse_context *context = s->context;
    const int v = saltus_model_find(context->model, name);
    if (v >= 0) {
        return saltus_expr_variable(&context->model->arena, v);
    }
    return context->resolve ? context->resolve(context->user, name) : NULL;
}

static const saltus_expr *make_constant(const saltus_scanner *s, const saltus_constant *constant)
{
    saltus_arena *arena = &s->context->model->arena;
    if (strcmp(constant->name, "time") == 0) {
        return saltus_expr_time(arena);
    }
    if (strcmp(constant->name, "avogadro") == 0) {
        s->context->model->has_moles = true;
        return saltus_expr_const(arena, s->context->model->mole);
    }
    return saltus_expr_const(arena, constant->value);
}

/* The value of a name by itself, or of a call without arguments: those are builtin constants, and
 * functions of .net files, which are variables here. */
static saltus_status make_name(saltus_scanner *s, const char *at, const char *name, bool is_quoted,
                               bool is_call, tree *out)
{
    const saltus_constant *constant = is_quoted ? NULL : saltus_constant_named(name);
    const int v = saltus_model_find(s->context->model, name);
    const saltus_expr *e = is_call && constant ? NULL : look_up(s, name);
    bool is_literal = false;
    if (!e && constant && (v < 0 || is_call)) {
        e = make_constant(s, constant);
        is_literal = constant->is_literal;
    } else if (!e && v < 0) {
        return saltus_scan_undefined(s, at, name, "");
    }
    const saltus_status status = finish(s, e, 1, at, out);
    out->is_literal = is_literal;
    return status;
}

static saltus_status unknown_function(saltus_scanner *s, const char *at, const char *name)
{
    const char *what = NULL, *hint = NULL;
    (void)saltus_function_absent(name, &what, &hint);
    const saltus_status status =
        what ? saltus_scan_fail(s, SALTUS_E_UNSUPPORTED, at, "'%.60s', %s, is not supported", name,
                                what)
             : saltus_scan_fail(s, SALTUS_E_MODEL, at, "'%.100s' is not a function", name);
    if (saltus_model_find(s->context->model, name) >= 0) {
        saltus_error_hint(s->err, "to multiply, write %.100s*(…)", name);
    } else {
        saltus_functions_hint(s->err, name);
    }
    return status;
}

/* A name, or a call. */
static saltus_status parse_name(saltus_scanner *s, tree *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    const char *at = s->start;
    const bool is_quoted = s->kind == SALTUS_TOKEN_QUOTED;
    char *name = saltus_strdup(s->name);
    SALTUS_NEED(name);
    SALTUS_TRY(saltus_scan_next(s));
    if (!saltus_scan_is(s, "(")) {
        SALTUS_TRY(make_name(s, at, name, is_quoted, false, out));
        goto done;
    }
    SALTUS_TRY(saltus_scan_next(s));
    if (saltus_scan_is(s, ")")) {
        SALTUS_TRY(saltus_scan_next(s));
        SALTUS_TRY(make_name(s, at, name, is_quoted, true, out));
        goto done;
    }
    if (is_quoted || (!saltus_is_composed(name) && saltus_function_named(name) < 0)) {
        status = unknown_function(s, at, name);
        goto done;
    }
    SALTUS_TRY(parse_call(s, at, name, out));
done:
    saltus_free(name);
    return status;
}

/* A sign before its operand. */
static saltus_status parse_prefix(saltus_scanner *s, saltus_op op, int level, tree *out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &s->context->model->arena;
    const char *at = s->start;
    tree operand = {0};
    SALTUS_TRY(saltus_scan_next(s));
    SALTUS_TRY(parse(s, level, &operand));
    if (op == SALTUS_OP_NEG && operand.is_literal) {
        SALTUS_TRY(finish(s, saltus_expr_const(arena, -operand.expr->value), 1, at, out));
    } else {
        SALTUS_TRY(finish(s, saltus_expr_1(arena, op, operand.expr), operand.depth + 1, at, out));
    }
done:
    return status;
}

static saltus_status parse_parentheses(saltus_scanner *s, tree *out)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_scan_next(s));
    SALTUS_TRY(parse(s, SALTUS_LEVEL_ANY, out));
    if (!saltus_scan_is(s, ")")) {
        SALTUS_TRY(unexpected(s, "')'"));
    }
    SALTUS_TRY(saltus_scan_next(s));
    out->is_literal = false;
done:
    return status;
}

static saltus_status parse_operand(saltus_scanner *s, int least, tree *out)
{
    saltus_status status = SALTUS_OK;
    if (s->kind == SALTUS_TOKEN_NUMBER) {
        const saltus_expr *e = saltus_expr_const(&s->context->model->arena, s->number);
        SALTUS_TRY(finish(s, e, 1, s->start, out));
        out->is_literal = true;
        SALTUS_TRY(saltus_scan_next(s));
    } else if (saltus_scan_is(s, "not")) {
        const bool is_loose = least <= SALTUS_LEVEL_NOT;
        SALTUS_TRY(
            parse_prefix(s, SALTUS_OP_NOT, is_loose ? SALTUS_LEVEL_NOT : SALTUS_LEVEL_UNARY, out));
    } else if (s->kind == SALTUS_TOKEN_QUOTED ||
               (s->kind == SALTUS_TOKEN_NAME &&
                (!infix_at(s) || *saltus_skip_blanks(s->end) == '('))) { /* and(a, b) */
        SALTUS_TRY(parse_name(s, out));
    } else if (saltus_scan_is(s, "(")) {
        SALTUS_TRY(parse_parentheses(s, out));
    } else if (saltus_scan_is(s, "-")) {
        SALTUS_TRY(parse_prefix(s, SALTUS_OP_NEG, SALTUS_LEVEL_UNARY, out));
    } else if (saltus_scan_is(s, "!")) {
        SALTUS_TRY(parse_prefix(s, SALTUS_OP_NOT, SALTUS_LEVEL_UNARY, out));
    } else if (saltus_scan_is(s, "+")) {
        SALTUS_TRY(saltus_scan_next(s));
        SALTUS_TRY(parse(s, SALTUS_LEVEL_UNARY, out));
        out->is_literal = false;
    } else {
        SALTUS_TRY(unexpected(s, "a number or a name"));
    }
done:
    return status;
}

/* An operand and all operators behind it that bind at least as tightly as `least`. */
static saltus_status parse(saltus_scanner *s, int least, tree *out)
{
    saltus_status status = SALTUS_OK;
    if (++s->nesting > MAX_NESTING) {
        status = saltus_scan_fail(s, SALTUS_E_UNSUPPORTED, s->start,
                                  "the expression is nested more than %d deep", MAX_NESTING);
        goto done;
    }
    SALTUS_TRY(parse_operand(s, least, out));
    for (;;) {
        const saltus_infix *infix = infix_at(s);
        const char *at = s->start;
        tree right = {0};
        if (!infix || infix->level < least) {
            break;
        }
        SALTUS_TRY(saltus_scan_next(s));
        SALTUS_TRY(parse(s, infix->right, &right));
        SALTUS_TRY(
            finish(s, saltus_expr_2(&s->context->model->arena, infix->op, out->expr, right.expr),
                   deeper(out->depth, right.depth), at, out));
        const saltus_infix *next = infix_at(s);
        if (infix->level == SALTUS_LEVEL_COMPARE && next && next->level == SALTUS_LEVEL_COMPARE) {
            status = saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start,
                                      "comparisons in a row are ambiguous");
            saltus_error_hint(s->err, "write a < b && b < c, or use parentheses");
            goto done;
        }
    }
done:
    --s->nesting;
    return status;
}

saltus_status saltus_expr_parse(const saltus_parse_context *context, const char *text,
                                const saltus_expr **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_scanner s = {.context = context, .err = err, .text = text, .start = text, .end = text};
    tree result = {0};
    SALTUS_TRY(saltus_scan_next(&s));
    if (s.kind == SALTUS_TOKEN_END) {
        status = saltus_scan_fail(&s, SALTUS_E_SYNTAX, text, "an expression is missing");
        goto done;
    }
    SALTUS_TRY(parse(&s, SALTUS_LEVEL_ANY, &result));
    if (s.kind != SALTUS_TOKEN_END) {
        SALTUS_TRY(saltus_scan_is(&s, ")") ? unexpected(&s, "'('") : unexpected(&s, "an operator"));
    }
    *out = result.expr;
done:
    saltus_free(s.large);
    return status;
}
