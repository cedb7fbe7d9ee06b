/** Which operations a model's programs need in a kernel, and which distributions: NVRTC takes
 * seconds for all functions. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_OPERATIONS_H
#define SALTUS_BACKEND_CUDA_CODEGEN_OPERATIONS_H

#include "kernel/base/tables.h"

#include <stdbool.h>
#include <stdio.h>

/** Whether an operation on intervals that are numbers gives what it would give anyway. */
bool saltus_is_arithmetic(int op);

/** SALTUS_RUN_LIST (kernel/base/program.h): those of programs that are run. */
void saltus_put_run_list(const saltus_tables *tables, FILE *out);

/** SALTUS_APPLY_LIST: those of programs on intervals that are written as text, without those that
 * intervals do themselves. */
void saltus_put_apply_list(const saltus_tables *tables, FILE *out);

/** Both lists of a kernel that runs programs of either kind, for all models with the same
 * functions: whatever is no function is in them. */
void saltus_put_shared_lists(const saltus_tables *tables, FILE *out);

/** SALTUS_DISTRIBUTIONS (kernel/base/variates.h), or that nothing is drawn. */
void saltus_put_distributions(const saltus_tables *tables, FILE *out);

#endif
