/** What the parser and the printer of expressions share. Only for parse.c and print.c. */
#ifndef SALTUS_MODEL_SYNTAX_H
#define SALTUS_MODEL_SYNTAX_H

#include "model/expr.h"

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

/** True for time, pi, inf …: what stands for a value unless the model defines the name. */
bool saltus_is_constant_name(const char *name);

#endif
