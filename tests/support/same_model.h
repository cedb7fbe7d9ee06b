/** Comparing models, for tests that write one and read it back. */
#ifndef SALTUS_TESTS_SAME_MODEL_H
#define SALTUS_TESTS_SAME_MODEL_H

#include "model/network/model.h"

/** True when expressions have the same shape, names and bits. */
bool same_expr(const saltus_model *ma, const saltus_expr *a, const saltus_model *mb,
               const saltus_expr *b);

/** NULL when two models are the same: per kind the same variables in the same order, the same
 * reactions and events. Else what differs, in words, until the next call. */
const char *model_difference(const saltus_model *a, const saltus_model *b);

/** The model as YAML; free() it. NULL when writing failed. */
char *model_to_yaml(const saltus_model *m);

#endif
