/** Text of rules that are only recorded, for kernels whose state is a saltus_table. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_RECORDED_H
#define SALTUS_BACKEND_CUDA_CODEGEN_RECORDED_H

#include "core/status.h"
#include "kernel/base/tables.h"

#include <stdbool.h>
#include <stdio.h>

/** Whether some column is a rule, or over one, or triggers that are looked at after every reaction
 * read one. */
bool saltus_records_rules(const saltus_tables *tables, const saltus_columns *columns);

/** Write saltus_recorded_rule(const saltus_table *s, double time, int rule), the value of such a
 * rule, as kernel/ssa/table.h wants it where SALTUS_RECORDS_RULES is 1. */
SALTUS_MUST_CHECK saltus_status saltus_put_recorded_rules(const saltus_tables *tables,
                                                          const saltus_columns *columns, FILE *out,
                                                          saltus_error *err);

/** Of a model with events in a kernel that runs from packed tables: what comes first, and, behind
 * table.h and the rules, what kernel/ssa/event_driver.h asks for. */
void saltus_put_table_event_head(const saltus_tables *tables, FILE *out);
void saltus_put_table_turns(const saltus_tables *tables, FILE *out);

#endif
