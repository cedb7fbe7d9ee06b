/**
 * Expressions: rate laws, rules, triggers. Immutable trees in a model's arena.
 *
 * One list names every operation: its enumerator, how it is written in text, its number of
 * arguments (-1: any number). Readers build trees, freezing turns them into programs.
 */
#ifndef SALTUS_MODEL_NETWORK_EXPR_H
#define SALTUS_MODEL_NETWORK_EXPR_H

#include "core/memory.h"
#include "core/status.h"
#include "kernel/base/ops.h"

#include <stdbool.h>
#include <stdio.h>

/** A node. `variable` is an index into the model's variables (SALTUS_OP_VARIABLE only). PIECEWISE
 * has value, condition, value, condition, …, and may end with a value for "otherwise"; ROOT has
 * degree, argument; a distribution has its parameters, then two bounds or none. */
typedef struct saltus_expr {
    saltus_op op;
    int variable;
    double value;
    int n_args;
    const struct saltus_expr *args[];
} saltus_expr;

/** Constructors: NULL when memory ran out or any argument is NULL, so that calls can be nested and
 * checked once. */
const saltus_expr *saltus_expr_const(saltus_arena *arena, double value);
const saltus_expr *saltus_expr_variable(saltus_arena *arena, int variable);
const saltus_expr *saltus_expr_time(saltus_arena *arena);
const saltus_expr *saltus_expr_1(saltus_arena *arena, saltus_op op, const saltus_expr *a);
const saltus_expr *saltus_expr_2(saltus_arena *arena, saltus_op op, const saltus_expr *a,
                                 const saltus_expr *b);
const saltus_expr *saltus_expr_n(saltus_arena *arena, saltus_op op, int n,
                                 const saltus_expr *const *args);
/** Fold a binary operation from the left over n >= 1 arguments: ((a op b) op c) …; and(a, b, c) and
 * comparisons a < b < c are for the caller to spell. */
const saltus_expr *saltus_expr_fold(saltus_arena *arena, saltus_op op, int n,
                                    const saltus_expr *const *args);

/** The operation whose function name is `name` ("exp", "piecewise" …; also "log" for LN, "pow",
 * "ceiling", "sqr" and the "arc…" spellings are up to the caller); -1 if none. */
int saltus_op_find(const char *name);
const char *saltus_op_text(saltus_op op);
int saltus_op_arity(saltus_op op);

/** Whether an operation is a comparison or logic, which give 1 or 0. */
bool saltus_op_is_logic(saltus_op op);

/** Whether it is one of < <= > >=. */
bool saltus_op_is_order(saltus_op op);

/** Whether it is sin, cos, tan, sec, csc or cot. */
bool saltus_op_is_circular(saltus_op op);
/** Whether an operation draws a random number: a distribution, one of SALTUS_VARIATE_LIST. */
bool saltus_op_draws(saltus_op op);
/** HELD or LINEAR, whose arguments are the argument and then a table, as numbers in pairs. */
bool saltus_op_is_table(saltus_op op);
/** What is wrong with the n arguments of a table, as in "'held' …", or NULL. */
const char *saltus_table_problem(int n, const saltus_expr *const *args);
/** Whether a distribution can be called with n arguments, and with how many it can: "2 or 4
 * arguments". */
bool saltus_variate_is_called(saltus_op op, int n);
const char *saltus_variate_usage(saltus_op op);
/** A call of a distribution; with one argument where it has two parameters, that is its scale, and
 * its location is 0. */
const saltus_expr *saltus_expr_variate(saltus_arena *arena, saltus_op op, int n,
                                       const saltus_expr *const *args);
/** Whether an expression draws random numbers. */
bool saltus_expr_draws(const saltus_expr *e);
/** Whether a node that draws stands at several places of it, which all have the one number. */
bool saltus_expr_repeats_draw(const saltus_expr *e);

/** Resolves a name in a text: the expression that it stands for (in saltus_parse_context's arena),
 * or NULL with the error recorded. */
struct saltus_model;
typedef struct saltus_parse_context {
    struct saltus_model *model; /* whose arena and names are used */
    const char *what;           /* for messages: "reaction 'R7'" */
    const char *path;           /* file, or NULL */
    int line, column;           /* where the text starts in the file; 0: unknown */
    bool folded;                /* the text is not as in the file (escapes, several lines), so that
                                   only its start is known */
    /* NULL, or called for names that the model does not have; may return NULL without an error */
    const saltus_expr *(*resolve)(void *user, const char *name);
    void *user;
} saltus_parse_context;

/**
 * Parse infix text: numbers, names, `quoted names` (a backquote in them is doubled), + - * / ^
 * (right-associative; also **), comparisons, && || ! (and or not), functions of SALTUS_OP_LIST with
 * common synonyms (log = ln, pow(a, b), ceiling, if(c, a, b), sqr(x)), constants time, pi,
 * avogadro, true, false, inf, nan unless the model defines those names (time() always is the time,
 * and so on). A minus before a number makes a negative constant, unless a power follows: -2^2 is
 * -(2^2). At most 500 levels of nesting. SALTUS_E_SYNTAX or SALTUS_E_MODEL with the column.
 */
SALTUS_MUST_CHECK saltus_status saltus_expr_parse(const saltus_parse_context *context,
                                                  const char *text, const saltus_expr **out,
                                                  saltus_error *err);

/** True for a name that needs no backquotes in texts: [A-Za-z_][A-Za-z0-9_.]*, no function, no
 * constant, no word of an operator. */
bool saltus_name_is_plain(const char *name);
/** Print a name as expressions and equations need it, `in backquotes` unless it is plain. */
void saltus_name_print(const char *name, FILE *out);

/** Print infix text from which saltus_expr_parse makes the same tree, with the same bits in every
 * constant (one NaN is like another). */
void saltus_expr_print(const struct saltus_model *model, const saltus_expr *e, FILE *out);

/** Value of an expression; variables are looked up in values[variable]. On the CPU, by the
 * functions of kernel/base/math.h, so that a constant folded here has the bits it has there. */
double saltus_expr_value(const saltus_expr *e, const double *values, double time);

/** True when `visit` is true for some node (depth first). */
bool saltus_expr_any(const saltus_expr *e, bool (*visit)(const saltus_expr *node, void *user),
                     void *user);

#endif
