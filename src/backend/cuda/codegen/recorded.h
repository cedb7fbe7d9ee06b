/** Text of rules that are only recorded, for kernels whose state is a saltus_table. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_RECORDED_H
#define SALTUS_BACKEND_CUDA_CODEGEN_RECORDED_H

#include "core/status.h"
#include "kernel/base/tables.h"

#include <stdbool.h>
#include <stdio.h>

/** Whether some column is a rule, or over one. */
bool saltus_records_rules(const saltus_tables *tables, const saltus_columns *columns);

/** Write saltus_recorded_rule(const saltus_table *s, double time, int rule), the value of a rule
 * that is recorded, as kernel/ssa/table.h wants it where SALTUS_RECORDS_RULES is 1. */
SALTUS_MUST_CHECK saltus_status saltus_put_recorded_rules(const saltus_tables *tables,
                                                          const saltus_columns *columns, FILE *out,
                                                          saltus_error *err);

#endif
