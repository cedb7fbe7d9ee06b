/** The words of expressions, for those who parse and print them. */
#ifndef SALTUS_MODEL_NETWORK_SYNTAX_H
#define SALTUS_MODEL_NETWORK_SYNTAX_H

#include "model/network/expr.h"

/* How tightly things bind, the loosest first. */
enum saltus_level {
    SALTUS_LEVEL_ANY,
    SALTUS_LEVEL_OR,
    SALTUS_LEVEL_AND,
    SALTUS_LEVEL_NOT, /* the word; the sign ! is as tight as a minus */
    SALTUS_LEVEL_COMPARE,
    SALTUS_LEVEL_ADD,
    SALTUS_LEVEL_MUL,
    SALTUS_LEVEL_UNARY,
    SALTUS_LEVEL_POW,
    SALTUS_LEVEL_PRIMARY,
};

/** An operator between two operands: the levels that it needs of them, and its own. */
typedef struct saltus_infix {
    const char *text;
    saltus_op op;
    int level, left, right;
} saltus_infix;

/** The operator that `op` is, or NULL: it is no infix operator. */
const saltus_infix *saltus_infix_of(saltus_op op);

/** The operator that n characters spell, "**" and "and" too, or NULL. */
const saltus_infix *saltus_infix_named(const char *text, size_t n);

/** What stands for a value unless the model defines the name. */
typedef struct saltus_constant {
    const char *name;
    double value;
    bool is_literal; /**< a minus before it is folded, so that -inf is one constant */
} saltus_constant;

/** The constant of a name (among them "time", whose value means nothing), or NULL. */
const saltus_constant *saltus_constant_named(const char *name);

/** The function of one node that a name stands for, or -1. */
int saltus_function_named(const char *name);

/** Whether users try this function, and there is none: what it is (NULL: nothing to say) and a hint
 * (or NULL). */
bool saltus_function_absent(const char *name, const char **what, const char **hint);
/** Hint at what to write in place of a function that there is not, and at those that there are. */
void saltus_functions_hint(saltus_error *err, const char *name);

/** True for functions that make more than one node: if, sqr … */
bool saltus_is_composed(const char *name);

/** What a name without quotes starts with and goes on with. */
bool saltus_is_name_start(char c);
bool saltus_is_name_part(char c);

#endif
