/* Texts to expressions and equations: a scanner, and operator precedence after Pratt (1973). */
#include "model/syntax.h"

#include "core/number.h"
#include "model/model.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Everything that walks a tree recurses, so both are bounded: the nesting that a text asks the
 * parser to recurse into, and the depth of a tree, which a long sum a + b + c + … makes without
 * any nesting. */
enum { MAX_NESTING = 500, MAX_DEPTH = 5000 };

static const saltus_infix infixes[] = {
    {"||", SALTUS_OP_OR, SALTUS_LEVEL_OR, SALTUS_LEVEL_OR, SALTUS_LEVEL_AND},
    {"&&", SALTUS_OP_AND, SALTUS_LEVEL_AND, SALTUS_LEVEL_AND, SALTUS_LEVEL_NOT},
    {"<=", SALTUS_OP_LE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"<", SALTUS_OP_LT, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {">=", SALTUS_OP_GE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {">", SALTUS_OP_GT, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"==", SALTUS_OP_EQ, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"!=", SALTUS_OP_NE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"+", SALTUS_OP_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_MUL},
    {"-", SALTUS_OP_SUB, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_MUL},
    {"*", SALTUS_OP_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_UNARY},
    {"/", SALTUS_OP_DIV, SALTUS_LEVEL_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_UNARY},
    {"^", SALTUS_OP_POW, SALTUS_LEVEL_POW, SALTUS_LEVEL_PRIMARY, SALTUS_LEVEL_UNARY},
};
enum { N_INFIXES = sizeof infixes / sizeof *infixes };

/* Other spellings of operators. The first that fits is taken, so ** stands before * is tried. */
static const struct {
    const char *text;
    saltus_op op;
} other_infixes[] = {{"**", SALTUS_OP_POW}, {"and", SALTUS_OP_AND}, {"or", SALTUS_OP_OR}};
enum { N_OTHER_INFIXES = sizeof other_infixes / sizeof *other_infixes };

/* Functions that are not named as in SALTUS_OP_LIST. */
static const struct {
    const char *name;
    saltus_op op;
} synonyms[] = {
    {"log", SALTUS_OP_LN},        {"ceiling", SALTUS_OP_CEIL},  {"and", SALTUS_OP_AND},
    {"or", SALTUS_OP_OR},         {"pow", SALTUS_OP_POW},       {"power", SALTUS_OP_POW},
    {"arcsin", SALTUS_OP_ASIN},   {"arccos", SALTUS_OP_ACOS},   {"arctan", SALTUS_OP_ATAN},
    {"arcsec", SALTUS_OP_ASEC},   {"arccsc", SALTUS_OP_ACSC},   {"arccot", SALTUS_OP_ACOT},
    {"arcsinh", SALTUS_OP_ASINH}, {"arccosh", SALTUS_OP_ACOSH}, {"arctanh", SALTUS_OP_ATANH},
    {"arcsech", SALTUS_OP_ASECH}, {"arccsch", SALTUS_OP_ACSCH}, {"arccoth", SALTUS_OP_ACOTH},
};
enum { N_SYNONYMS = sizeof synonyms / sizeof *synonyms };

/* Functions that make more than one node. */
static const char *const composed[] = {"if", "sqr", "log2", "sum", "avg"};
enum { N_COMPOSED = sizeof composed / sizeof *composed };

static const struct {
    const char *name;
    double value;
    bool is_literal; /* a minus before it is folded, so that -inf is one constant */
} constants[] = {
    {"time", 0.0, false}, /* no constant, but a name like one */
    {"pi", 3.14159265358979323846, false},
    {"avogadro", 6.02214076e23, false},
    {"true", 1.0, false},
    {"false", 0.0, false},
    {"inf", (double)INFINITY, true},
    {"nan", (double)NAN, true},
};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };

const saltus_infix *saltus_infix_of(saltus_op op)
{
    for (int i = 0; i < N_INFIXES; ++i) {
        if (infixes[i].op == op) {
            return &infixes[i];
        }
    }
    return NULL;
}

static int find_constant(const char *name)
{
    for (int i = 0; i < N_CONSTANTS; ++i) {
        if (strcmp(constants[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool saltus_is_constant_name(const char *name)
{
    return find_constant(name) >= 0;
}

static bool is_composed(const char *name)
{
    for (int i = 0; i < N_COMPOSED; ++i) {
        if (strcmp(composed[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The function of one node that a name stands for, or -1. */
static int find_function(const char *name)
{
    for (int i = 0; i < N_SYNONYMS; ++i) {
        if (strcmp(synonyms[i].name, name) == 0) {
            return (int)synonyms[i].op;
        }
    }
    return saltus_op_find(name);
}

static bool is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '.';
}

bool saltus_name_is_plain(const char *name)
{
    const char *c = name;
    if (!is_name_start(*c)) {
        return false;
    }
    while (is_name_part(*c) && (unsigned char)*c < 0x80) {
        ++c;
    }
    return *c == '\0' && strcmp(name, "not") != 0 && !is_composed(name) &&
           !saltus_is_constant_name(name) && find_function(name) < 0;
}

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_QUOTED, /* a name that is never a word of the language */
    TOKEN_SIGN,
} token_kind;

/* Where parsing stands: the token that is looked at, and the text behind it. */
typedef struct scanner {
    const saltus_parse_context *context;
    saltus_error *err;
    const char *text;
    const char *start, *end; /* of the token */
    token_kind kind;
    double number;
    char *name; /* of a name; `small` unless it is longer */
    char small[64];
    char *large;
    size_t large_size;
    int nesting;
} scanner;

/* A tree with what cannot be seen from it. */
typedef struct tree {
    const saltus_expr *expr;
    int depth;
    bool is_literal; /* one number without sign or parentheses */
} tree;

/* Record a failure at a place in the text: with its line and column in the file if those follow
 * from where the text starts, else with the column in the text. */
__attribute__((format(printf, 4, 5))) static saltus_status
complain(scanner *s, saltus_status code, const char *at, const char *format, ...)
{
    const saltus_parse_context *context = s->context;
    const bool is_known = context->path && context->line > 0 && context->column > 0;
    const bool is_exact = is_known && !context->folded;
    int line = context->line, column = is_known ? context->column : 1, in_text = 1;
    char place[300] = "", rest[90] = "", body[300];
    va_list args;

    for (const char *c = s->text; c < at; ++c) {
        const bool is_first_byte = ((unsigned char)*c & 0xc0) != 0x80;
        in_text += is_first_byte;
        column += is_exact && is_first_byte;
        if (is_exact && *c == '\n') {
            ++line;
            column = 1;
        }
    }
    if (is_known) {
        (void)snprintf(place, sizeof place, "%.200s:%d:%d: ", context->path, line, column);
    } else if (context->path && line > 0) {
        (void)snprintf(place, sizeof place, "%.200s:%d: ", context->path, line);
    } else if (context->path) {
        (void)snprintf(place, sizeof place, "%.200s: ", context->path);
    }
    if (!is_exact) {
        const bool is_long = strlen(s->text) > 50;
        (void)snprintf(rest, sizeof rest, " (column %d of %s%.50s%s)", in_text,
                       is_long ? "the text" : "'", is_long ? "" : s->text, is_long ? "" : "'");
    }
    va_start(args, format);
    (void)vsnprintf(body, sizeof body, format, args);
    va_end(args);
    return saltus_error_set(s->err, code, "%s%.120s%s%s%s", place,
                            context->what ? context->what : "", context->what ? ": " : "", body,
                            rest);
}

static const char *skip_blanks(const char *c)
{
    while (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r') {
        ++c;
    }
    return c;
}

/* Keep a name of n characters at c, of which doubled backquotes count once. */
static saltus_status keep_name(scanner *s, const char *c, size_t n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    s->name = s->small;
    if (n >= sizeof s->small) {
        if (n >= s->large_size) {
            char *grown = saltus_realloc(s->large, 2 * n, 1);
            SALTUS_NEED(grown);
            s->large = grown;
            s->large_size = 2 * n;
        }
        s->name = s->large;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
        s->name[kept++] = c[i];
        i += c[i] == '`';
    }
    s->name[kept] = '\0';
done:
    return status;
}

static saltus_status scan_quoted(scanner *s)
{
    saltus_status status = SALTUS_OK;
    const char *c = s->start + 1;
    while (*c && (*c != '`' || c[1] == '`')) {
        c += *c == '`' ? 2 : 1;
    }
    if (!*c) {
        status = complain(s, SALTUS_E_SYNTAX, s->start, "a name in backquotes does not end");
        goto done;
    }
    s->kind = TOKEN_QUOTED;
    s->end = c + 1;
    SALTUS_TRY(keep_name(s, s->start + 1, (size_t)(c - s->start) - 1));
done:
    return status;
}

static saltus_status scan_number(scanner *s)
{
    size_t n;
    const saltus_number_result result = saltus_number_parse(s->start, &s->number, &n);
    s->kind = TOKEN_NUMBER;
    s->end = s->start + n;
    if (result == SALTUS_NUMBER_NONE) {
        return complain(s, SALTUS_E_SYNTAX, s->start, "'.' is no number");
    }
    if (result != SALTUS_NUMBER_OK) {
        return complain(s, SALTUS_E_SYNTAX, s->start, "%.*s is too %s for a number",
                        n < 40 ? (int)n : 40, s->start,
                        result == SALTUS_NUMBER_TOO_LARGE ? "large" : "small");
    }
    if (is_name_part(*s->end)) {
        int more = 0;
        while (is_name_part(s->end[more])) {
            ++more;
        }
        return complain(s, SALTUS_E_SYNTAX, s->start, "'%.*s' is neither a number nor a name",
                        (int)n + (more < 40 ? more : 40), s->start);
    }
    return SALTUS_OK;
}

static saltus_status scan_name(scanner *s)
{
    const char *c = s->start;
    while (is_name_part(*c)) {
        ++c;
    }
    s->kind = TOKEN_NAME;
    s->end = c;
    return keep_name(s, s->start, (size_t)(c - s->start));
}

/* Step to the next token of an expression. */
static saltus_status advance(scanner *s)
{
    static const char *const signs[] = {"**", "||", "&&", "<=", ">=", "==", "!="};
    const char *c = s->start = skip_blanks(s->end);
    s->end = c + 1;
    s->kind = TOKEN_SIGN;
    if (!*c) {
        s->kind = TOKEN_END;
        s->end = c;
        return SALTUS_OK;
    }
    if (*c == '`') {
        return scan_quoted(s);
    }
    if (is_name_start(*c)) {
        return scan_name(s);
    }
    if ((*c >= '0' && *c <= '9') || *c == '.') {
        return scan_number(s);
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
        if (strncmp(c, signs[i], 2) == 0) {
            s->end = c + 2;
        }
    }
    return SALTUS_OK;
}

/* Whether the token is this sign, or this word of the language. */
static bool is_token(const scanner *s, const char *text)
{
    const size_t n = strlen(text);
    return (s->kind == TOKEN_SIGN || s->kind == TOKEN_NAME) && (size_t)(s->end - s->start) == n &&
           memcmp(s->start, text, n) == 0;
}

static const saltus_infix *infix_at(const scanner *s)
{
    for (int i = 0; i < N_OTHER_INFIXES; ++i) {
        if (is_token(s, other_infixes[i].text)) {
            return saltus_infix_of(other_infixes[i].op);
        }
    }
    for (int i = 0; i < N_INFIXES; ++i) {
        if (is_token(s, infixes[i].text)) {
            return &infixes[i];
        }
    }
    return NULL;
}

/* The token stands where something else must. */
static saltus_status unexpected(scanner *s, const char *wanted)
{
    if (s->kind == TOKEN_END) {
        return complain(s, SALTUS_E_SYNTAX, s->start, "%s is missing at the end", wanted);
    }
    const int n = s->end - s->start > 40 ? 40 : (int)(s->end - s->start);
    const saltus_status status =
        complain(s, SALTUS_E_SYNTAX, s->start, "%s is missing before '%.*s'", wanted, n, s->start);
    if (is_token(s, "=")) {
        saltus_error_hint(s->err, "to compare, write '=='");
    } else if (is_token(s, "&") || is_token(s, "|")) {
        saltus_error_hint(s->err, "write '%.1s%.1s', or 'and' and 'or'", s->start, s->start);
    }
    return status;
}

/* Take a finished node as the tree, unless memory ran out or the tree grew too deep. */
static saltus_status finish(scanner *s, const saltus_expr *expr, int depth, const char *at,
                            tree *out)
{
    if (!expr) {
        return saltus_error_set(s->err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    if (depth > MAX_DEPTH) {
        const saltus_status status =
            complain(s, SALTUS_E_UNSUPPORTED, at, "the expression has more than %d steps in a row",
                     MAX_DEPTH);
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

static saltus_status parse(scanner *s, int least, tree *out);

/* The number of arguments that a function takes, in words. */
static saltus_status wrong_count(scanner *s, const char *at, const char *name, int wanted, int n)
{
    return complain(s, SALTUS_E_SYNTAX, at, "'%.60s' takes %d argument%s, not %d", name, wanted,
                    wanted == 1 ? "" : "s", n);
}

/* Functions that make more than one node. */
static saltus_status make_composed(scanner *s, const char *at, const char *name, int n,
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
static saltus_status make_call(scanner *s, const char *at, const char *name, int n,
                               const saltus_expr *const *args, int depth, tree *out)
{
    saltus_arena *arena = &s->context->model->arena;
    if (is_composed(name)) {
        return make_composed(s, at, name, n, args, depth, out);
    }
    const saltus_op op = (saltus_op)find_function(name);
    const bool folds = op == SALTUS_OP_MIN || op == SALTUS_OP_MAX || op == SALTUS_OP_AND ||
                       op == SALTUS_OP_OR || op == SALTUS_OP_XOR;
    const int wanted = saltus_op_arity(op);
    if (wanted >= 0 && n != wanted && !(folds && n > wanted)) {
        return wrong_count(s, at, name, wanted, n);
    }
    return folds ? finish(s, saltus_expr_fold(arena, op, n, args), depth + n - 1, at, out)
                 : finish(s, saltus_expr_n(arena, op, n, args), depth + 1, at, out);
}

/* Arguments up to the closing parenthesis. */
static saltus_status parse_call(scanner *s, const char *at, const char *name, tree *out)
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
        if (is_token(s, ")")) {
            break;
        }
        if (!is_token(s, ",")) {
            SALTUS_TRY(unexpected(s, "a comma or ')'"));
        }
        SALTUS_TRY(advance(s));
    }
    SALTUS_TRY(advance(s));
    SALTUS_TRY(make_call(s, at, name, (int)n, args, depth, out));
done:
    saltus_free(args);
    return status;
}

static saltus_status undefined(scanner *s, const char *at, const char *name, const char *thing)
{
    const saltus_status status =
        complain(s, SALTUS_E_MODEL, at, "%s'%.100s' is not defined", thing, name);
    const char *nearest = saltus_model_nearest(s->context->model, name);
    if (is_composed(name) || find_function(name) >= 0) {
        saltus_error_hint(s->err, "as a function it is written %s(…)", name);
    } else if (nearest) {
        saltus_error_hint(s->err, "did you mean '%.100s'?", nearest);
    }
    return status;
}

/* What the model or the caller knows by this name, or NULL. */
static const saltus_expr *look_up(const scanner *s, const char *name)
{
    const saltus_parse_context *context = s->context;
    const int v = saltus_model_find(context->model, name);
    if (v >= 0) {
        return saltus_expr_variable(&context->model->arena, v);
    }
    return context->resolve ? context->resolve(context->user, name) : NULL;
}

static const saltus_expr *make_constant(const scanner *s, int constant)
{
    saltus_arena *arena = &s->context->model->arena;
    return strcmp(constants[constant].name, "time") == 0
               ? saltus_expr_time(arena)
               : saltus_expr_const(arena, constants[constant].value);
}

/* The value of a name by itself, or of a call without arguments: those are builtin constants, and
 * functions of .net files, which are variables here. */
static saltus_status make_name(scanner *s, const char *at, const char *name, bool is_quoted,
                               bool is_call, tree *out)
{
    const int constant = is_quoted ? -1 : find_constant(name);
    const int v = saltus_model_find(s->context->model, name);
    const saltus_expr *e = is_call && constant >= 0 ? NULL : look_up(s, name);
    bool is_literal = false;
    if (!e && constant >= 0 && (v < 0 || is_call)) {
        e = make_constant(s, constant);
        is_literal = constants[constant].is_literal;
    } else if (!e && v < 0) {
        return undefined(s, at, name, "");
    }
    const saltus_status status = finish(s, e, 1, at, out);
    out->is_literal = is_literal;
    return status;
}

/* A name, or a call. */
static saltus_status parse_name(scanner *s, tree *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    const char *at = s->start;
    const bool is_quoted = s->kind == TOKEN_QUOTED;
    char *name = saltus_strdup(s->name);
    SALTUS_NEED(name);
    SALTUS_TRY(advance(s));
    if (!is_token(s, "(")) {
        SALTUS_TRY(make_name(s, at, name, is_quoted, false, out));
        goto done;
    }
    SALTUS_TRY(advance(s));
    if (is_token(s, ")")) {
        SALTUS_TRY(advance(s));
        SALTUS_TRY(make_name(s, at, name, is_quoted, true, out));
        goto done;
    }
    if (is_quoted || (!is_composed(name) && find_function(name) < 0)) {
        status = complain(s, SALTUS_E_MODEL, at, "'%.100s' is not a function", name);
        if (saltus_model_find(s->context->model, name) >= 0) {
            saltus_error_hint(err, "to multiply, write %.100s*(…)", name);
        }
        goto done;
    }
    SALTUS_TRY(parse_call(s, at, name, out));
done:
    saltus_free(name);
    return status;
}

/* A sign before its operand. */
static saltus_status parse_prefix(scanner *s, saltus_op op, int level, tree *out)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &s->context->model->arena;
    const char *at = s->start;
    tree operand;
    SALTUS_TRY(advance(s));
    SALTUS_TRY(parse(s, level, &operand));
    if (op == SALTUS_OP_NEG && operand.is_literal) {
        SALTUS_TRY(finish(s, saltus_expr_const(arena, -operand.expr->value), 1, at, out));
    } else {
        SALTUS_TRY(finish(s, saltus_expr_1(arena, op, operand.expr), operand.depth + 1, at, out));
    }
done:
    return status;
}

static saltus_status parse_parentheses(scanner *s, tree *out)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(advance(s));
    SALTUS_TRY(parse(s, SALTUS_LEVEL_ANY, out));
    if (!is_token(s, ")")) {
        SALTUS_TRY(unexpected(s, "')'"));
    }
    SALTUS_TRY(advance(s));
    out->is_literal = false;
done:
    return status;
}

static saltus_status parse_operand(scanner *s, int least, tree *out)
{
    saltus_status status = SALTUS_OK;
    if (s->kind == TOKEN_NUMBER) {
        const saltus_expr *e = saltus_expr_const(&s->context->model->arena, s->number);
        SALTUS_TRY(finish(s, e, 1, s->start, out));
        out->is_literal = true;
        SALTUS_TRY(advance(s));
    } else if (is_token(s, "not")) {
        const bool is_loose = least <= SALTUS_LEVEL_NOT;
        SALTUS_TRY(
            parse_prefix(s, SALTUS_OP_NOT, is_loose ? SALTUS_LEVEL_NOT : SALTUS_LEVEL_UNARY, out));
    } else if (s->kind == TOKEN_QUOTED ||
               (s->kind == TOKEN_NAME &&
                (!infix_at(s) || *skip_blanks(s->end) == '('))) { /* and(a, b) */
        SALTUS_TRY(parse_name(s, out));
    } else if (is_token(s, "(")) {
        SALTUS_TRY(parse_parentheses(s, out));
    } else if (is_token(s, "-")) {
        SALTUS_TRY(parse_prefix(s, SALTUS_OP_NEG, SALTUS_LEVEL_UNARY, out));
    } else if (is_token(s, "!")) {
        SALTUS_TRY(parse_prefix(s, SALTUS_OP_NOT, SALTUS_LEVEL_UNARY, out));
    } else if (is_token(s, "+")) {
        SALTUS_TRY(advance(s));
        SALTUS_TRY(parse(s, SALTUS_LEVEL_UNARY, out));
        out->is_literal = false;
    } else {
        SALTUS_TRY(unexpected(s, "a number or a name"));
    }
done:
    return status;
}

/* An operand and all operators behind it that bind at least as tightly as `least`. */
static saltus_status parse(scanner *s, int least, tree *out)
{
    saltus_status status = SALTUS_OK;
    if (++s->nesting > MAX_NESTING) {
        status = complain(s, SALTUS_E_UNSUPPORTED, s->start,
                          "the expression is nested more than %d deep", MAX_NESTING);
        goto done;
    }
    SALTUS_TRY(parse_operand(s, least, out));
    for (;;) {
        const saltus_infix *infix = infix_at(s);
        const char *at = s->start;
        tree right;
        if (!infix || infix->level < least) {
            break;
        }
        SALTUS_TRY(advance(s));
        SALTUS_TRY(parse(s, infix->right, &right));
        SALTUS_TRY(
            finish(s, saltus_expr_2(&s->context->model->arena, infix->op, out->expr, right.expr),
                   deeper(out->depth, right.depth), at, out));
        const saltus_infix *next = infix_at(s);
        if (infix->level == SALTUS_LEVEL_COMPARE && next && next->level == SALTUS_LEVEL_COMPARE) {
            status = complain(s, SALTUS_E_SYNTAX, s->start, "comparisons in a row are ambiguous");
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
    scanner s = {.context = context, .err = err, .text = text, .start = text, .end = text};
    tree result;
    SALTUS_TRY(advance(&s));
    if (s.kind == TOKEN_END) {
        status = complain(&s, SALTUS_E_SYNTAX, text, "an expression is missing");
        goto done;
    }
    SALTUS_TRY(parse(&s, SALTUS_LEVEL_ANY, &result));
    if (s.kind != TOKEN_END) {
        SALTUS_TRY(is_token(&s, ")") ? unexpected(&s, "'('") : unexpected(&s, "an operator"));
    }
    *out = result.expr;
done:
    saltus_free(s.large);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Equations
 */

typedef struct participants {
    saltus_participant *items;
    size_t n, capacity;
} participants;

/* The arrow at c: its length, and whether it points both ways. 0: there is none. */
static size_t arrow_at(const char *c, bool *reversible)
{
    *reversible = *c != '-';
    return strncmp(c, "<->", 3) == 0 ? 3 : strncmp(c, "->", 2) == 0 ? 2 : *c == '=' && c[1] != '>';
}

static bool is_side_end(const char *c)
{
    bool reversible;
    return *c == '\0' || arrow_at(c, &reversible) > 0;
}

/* The species that a name means. */
static saltus_status find_species(scanner *s, int *variable)
{
    const saltus_model *model = s->context->model;
    *variable = saltus_model_find(model, s->name);
    if (*variable < 0 && s->context->resolve) {
        const saltus_expr *e = s->context->resolve(s->context->user, s->name);
        *variable = e && e->op == SALTUS_OP_VARIABLE ? e->variable : -1;
    }
    if (*variable < 0) {
        return undefined(s, s->start, s->name, "species ");
    }
    if (model->variables[*variable].kind != SALTUS_KIND_SPECIES) {
        return complain(s, SALTUS_E_MODEL, s->start, "'%.100s' is not a species", s->name);
    }
    return SALTUS_OK;
}

/* "2 A", "2*A", "2A" or "A"; the scanner stands at its start and is left behind it. */
static saltus_status parse_participant(scanner *s, participants *list)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    saltus_participant p = {.n = 1};
    const char *c = s->start = s->end;
    if (*c >= '0' && *c <= '9') {
        for (p.n = 0; *c >= '0' && *c <= '9' && p.n <= INT_MAX; ++c) {
            p.n = 10 * p.n + (*c - '0');
        }
        if (*c == '.' || p.n < 1 || p.n > INT_MAX) {
            status = complain(s, SALTUS_E_SYNTAX, s->start,
                              "the number of molecules must be a whole number, at least 1");
            goto done;
        }
        c = skip_blanks(c);
        c = *c == '*' ? skip_blanks(c + 1) : c;
    }
    s->start = s->end = c;
    if (*c == '`') {
        SALTUS_TRY(scan_quoted(s));
    } else if (is_name_start(*c)) {
        SALTUS_TRY(scan_name(s));
    } else {
        status = complain(s, SALTUS_E_SYNTAX, c, "the name of a species is missing");
        if (strncmp(c, "=>", 2) == 0 || strncmp(c, "<=>", 3) == 0) {
            saltus_error_hint(err, "arrows are '->' and '<->'");
        }
        goto done;
    }
    SALTUS_TRY(find_species(s, &p.variable));
    saltus_participant *grown = saltus_grow(list->items, list->n, &list->capacity, sizeof p);
    SALTUS_NEED(grown);
    list->items = grown;
    list->items[list->n++] = p;
done:
    return status;
}

/* One side, up to an arrow or the end. */
static saltus_status parse_side(scanner *s, participants *list)
{
    static const char empty_set[] = "\xe2\x88\x85";
    saltus_status status = SALTUS_OK;
    const char *c = s->end = skip_blanks(s->end);
    if (*c == '0' || strncmp(c, empty_set, strlen(empty_set)) == 0) {
        c = skip_blanks(c + (*c == '0' ? 1 : strlen(empty_set)));
        if (is_side_end(c)) {
            s->end = c;
            goto done;
        }
    }
    if (is_side_end(s->end)) {
        goto done;
    }
    for (;;) {
        SALTUS_TRY(parse_participant(s, list));
        c = s->start = s->end = skip_blanks(s->end);
        if (is_side_end(c)) {
            goto done;
        }
        if (*c != '+') {
            status =
                complain(s, SALTUS_E_SYNTAX, c, "'+' or an arrow is missing before '%.20s'", c);
            saltus_error_hint(s->err, "arrows are '->' and '<->'; names with other characters than "
                                      "letters, digits, '_' and '.' stand in `backquotes`");
            goto done;
        }
        s->end = skip_blanks(c + 1);
    }
done:
    return status;
}

/* Move a list to the model's arena. */
static saltus_status keep_list(const scanner *s, const participants *list,
                               const saltus_participant **items, int *n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    *items = NULL;
    *n = (int)list->n;
    if (list->n > 0) {
        const size_t size = list->n * sizeof *list->items;
        saltus_participant *kept = saltus_arena_alloc(&s->context->model->arena, size);
        SALTUS_NEED(kept);
        memcpy(kept, list->items, size);
        *items = kept;
    }
done:
    return status;
}

saltus_status saltus_equation_parse(const saltus_parse_context *context, const char *text,
                                    saltus_reaction *reaction, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    scanner s = {.context = context, .err = err, .text = text, .start = text, .end = text};
    participants left = {0}, right = {0};
    bool again;
    SALTUS_TRY(parse_side(&s, &left));
    const size_t arrow = arrow_at(s.end, &reaction->reversible);
    if (arrow == 0) {
        status = complain(&s, SALTUS_E_SYNTAX, s.end, "the arrow '->' is missing");
        goto done;
    }
    s.end += arrow;
    SALTUS_TRY(parse_side(&s, &right));
    if (arrow_at(s.end, &again) > 0) {
        status = complain(&s, SALTUS_E_SYNTAX, s.end, "there is a second arrow");
        goto done;
    }
    SALTUS_TRY(keep_list(&s, &left, &reaction->reactants, &reaction->n_reactants));
    SALTUS_TRY(keep_list(&s, &right, &reaction->products, &reaction->n_products));
done:
    saltus_free(left.items);
    saltus_free(right.items);
    saltus_free(s.large);
    return status;
}
