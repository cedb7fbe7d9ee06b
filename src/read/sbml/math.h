/** What the parts of the MathML conversion share: math.c for operations, names.c for what names
 * stand for, rates.c for what rateOf() of them is. */
#ifndef SALTUS_READ_SBML_MATH_H
#define SALTUS_READ_SBML_MATH_H

#include "read/sbml/sbml.h"

/* Where names are looked up. Arguments of a function are converted where they are used, in the
 * scope of the call, so that sizes and depths are those of the tree that results. One that draws
 * is one value, wherever it is used. */
typedef struct sbml_scope {
    const struct sbml_scope *outer; /* scope of the call; NULL at the start of a formula */
    const void *origin;             /* function, law or stoichiometry that is being inlined */
    FunctionDefinition_t *function;
    const ASTNode_t *call;
    const saltus_expr **drawn; /* [argument of the function] one that draws, converted; or NULL */
    int reaction;              /* whose local parameters are visible, or -1 */
} sbml_scope;

typedef struct sbml_converter {
    sbml_reader *r;
    const sbml_place *place;
    int n_nodes;
} sbml_converter;

/** Convert a node that stands `depth` below the root of the result. */
SALTUS_MUST_CHECK saltus_status sbml_convert_node(sbml_converter *c, const sbml_scope *in,
                                                  const ASTNode_t *node, int depth,
                                                  const saltus_expr **out);
/** The same for a <ci>. */
SALTUS_MUST_CHECK saltus_status sbml_convert_name(sbml_converter *c, const sbml_scope *in,
                                                  const ASTNode_t *node, int depth,
                                                  const saltus_expr **out);
/** Whether a name stands for something, in the law of a reaction also for a local parameter. */
bool sbml_is_defined(const sbml_reader *r, int reaction, const char *name);
/** The same for a call of a function definition. */
SALTUS_MUST_CHECK saltus_status sbml_convert_call(sbml_converter *c, const sbml_scope *in,
                                                  const ASTNode_t *node, int depth,
                                                  const saltus_expr **out);

/** The same for a reaction's name, which is its rate, in units of extent per time: its law. */
SALTUS_MUST_CHECK saltus_status sbml_convert_rate(sbml_converter *c, const sbml_scope *in,
                                                  const char *name, int reaction, int depth,
                                                  const saltus_expr **out);
/** The same for a stoichiometry that is a constant. */
SALTUS_MUST_CHECK saltus_status sbml_convert_reference(sbml_converter *c, const sbml_scope *in,
                                                       const char *name,
                                                       const sbml_reference *reference, int depth,
                                                       const saltus_expr **out);
/** What a variable's name means in a formula; NULL when memory ran out. */
const saltus_expr *sbml_variable_in_formula(sbml_reader *r, int v);
/** The variable of a reaction's local parameter, or -1. */
int sbml_find_local(const sbml_reader *r, int reaction, const char *name);
/** Refuse what would contain itself. */
SALTUS_MUST_CHECK saltus_status sbml_check_circle(const sbml_converter *c, const sbml_scope *in,
                                                  const void *origin, const char *name);
/** An operation on n arguments, so that the result is not deep; NULL when memory ran out. */
const saltus_expr *sbml_fold(saltus_arena *arena, saltus_op op, int n,
                             const saltus_expr *const *args);

/** The same for the time, which in a function is that of the call. */
SALTUS_MUST_CHECK saltus_status sbml_convert_time(sbml_converter *c, const sbml_scope *in,
                                                  int depth, const saltus_expr **out);
/** Make of a rate per time one per time of the submodel in which rateOf() stands. */
SALTUS_MUST_CHECK saltus_status sbml_per_own_time(sbml_converter *c, const sbml_scope *in,
                                                  const ASTNode_t *call, int depth,
                                                  const saltus_expr **rate);
/** What the time of a submodel is in a call; NULL: that of the model. */
const ASTNode_t *sbml_own_time(const ASTNode_t *call);
/** How many arguments a call has beside that. */
int sbml_n_arguments(const ASTNode_t *call);
bool sbml_is_rate_of(const ASTNode_t *node);
/** The same for rateOf(). */
SALTUS_MUST_CHECK saltus_status sbml_convert_rate_of(sbml_converter *c, const sbml_scope *in,
                                                     const ASTNode_t *node, int depth,
                                                     const saltus_expr **out);

/** Record "reaction 'R7': rate law <what is wrong>". Returns code. */
__attribute__((format(printf, 3, 4))) saltus_status
sbml_refuse(const sbml_converter *c, saltus_status code, const char *format, ...);
/** Check what a constructor gave. */
SALTUS_MUST_CHECK saltus_status sbml_made(const sbml_converter *c, const void *e);

#endif
