#include "model/network/syntax.h"

#include "core/number.h"
#include "model/network/model.h"

#include <math.h>
#include <string.h>

/* A name within backquotes; a backquote in it is doubled. */
static void print_quoted(const char *name, FILE *out)
{
    (void)fputc('`', out);
    for (const char *c = name; *c; ++c) {
        (void)fputc(*c, out);
        if (*c == '`') {
            (void)fputc('`', out);
        }
    }
    (void)fputc('`', out);
}

void saltus_name_print(const char *name, FILE *out)
{
    if (saltus_name_is_plain(name)) {
        (void)fputs(name, out);
    } else {
        print_quoted(name, out);
    }
}

/* A builtin constant. Where the model has a variable of that name, the call is still the constant.
 */
static void print_constant(const saltus_model *model, const char *name, FILE *out)
{
    (void)fprintf(out, "%s%s", name, saltus_model_find(model, name) >= 0 ? "()" : "");
}

static void print_number(const saltus_model *model, double value, FILE *out)
{
    char text[SALTUS_NUMBER_SIZE];
    if (isnan(value)) {
        print_constant(model, "nan", out);
    } else if (isinf(value)) {
        (void)fputs(value < 0 ? "-" : "", out);
        print_constant(model, "inf", out);
    } else {
        (void)fputs(saltus_number_format(value, text), out);
    }
}

/* How tightly the text of a node binds. A negative constant is written with a minus, and the parser
 * folds that minus into it, so it binds like one. */
static int level_of(const saltus_expr *e)
{
    const saltus_infix *infix = saltus_infix_of(e->op);
    if (infix) {
        return infix->level;
    }
    const bool is_negative = e->op == SALTUS_OP_CONST && !isnan(e->value) && signbit(e->value);
    return e->op == SALTUS_OP_NEG || e->op == SALTUS_OP_NOT || is_negative ? SALTUS_LEVEL_UNARY
                                                                           : SALTUS_LEVEL_PRIMARY;
}

static void print(const saltus_model *model, const saltus_expr *e, int least, FILE *out);

/* The operand of a sign. The one of a minus must not be a bare number: that would be folded. */
static void print_prefix(const saltus_model *model, const saltus_expr *e, FILE *out)
{
    const bool is_number = e->op == SALTUS_OP_NEG && e->args[0]->op == SALTUS_OP_CONST;
    (void)fputc(e->op == SALTUS_OP_NEG ? '-' : '!', out);
    (void)fputs(is_number ? "(" : "", out);
    print(model, e->args[0], is_number ? SALTUS_LEVEL_ANY : SALTUS_LEVEL_POW, out);
    (void)fputs(is_number ? ")" : "", out);
}

static void print_call(const saltus_model *model, const saltus_expr *e, FILE *out)
{
    (void)fprintf(out, "%s(", saltus_op_text(e->op));
    for (int i = 0; i < e->n_args; ++i) {
        (void)fputs(i > 0 ? ", " : "", out);
        print(model, e->args[i], SALTUS_LEVEL_ANY, out);
    }
    (void)fputc(')', out);
}

/* Print in a place that needs at least level `least`: within parentheses if it binds less. */
static void print(const saltus_model *model, const saltus_expr *e, int least, FILE *out)
{
    const saltus_infix *infix = saltus_infix_of(e->op);
    const bool parentheses = level_of(e) < least;
    (void)fputs(parentheses ? "(" : "", out);
    if (e->op == SALTUS_OP_CONST) {
        print_number(model, e->value, out);
    } else if (e->op == SALTUS_OP_VARIABLE) {
        saltus_name_print(model->variables[e->variable].id, out);
    } else if (e->op == SALTUS_OP_TIME) {
        print_constant(model, "time", out);
    } else if (infix) {
        const bool tight = infix->level >= SALTUS_LEVEL_MUL;
        print(model, e->args[0], infix->left, out);
        (void)fprintf(out, tight ? "%s" : " %s ", infix->text);
        print(model, e->args[1], infix->right, out);
    } else if (e->op == SALTUS_OP_NEG || e->op == SALTUS_OP_NOT) {
        print_prefix(model, e, out);
    } else {
        print_call(model, e, out);
    }
    (void)fputs(parentheses ? ")" : "", out);
}

void saltus_expr_print(const saltus_model *model, const saltus_expr *e, FILE *out)
{
    print(model, e, SALTUS_LEVEL_ANY, out);
}
