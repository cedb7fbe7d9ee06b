/** Layout `registers`: a kernel written for one model. Up to 16 reactions counts and sums stand in
 * registers. Above, only sums and clock do; the counts are in shared memory, where their numbers
 * may be computed, so that groups of reactions that differ in their species alone have one code, or
 * read from tables, so that all reactions have one. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_H
#define SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_H

#include "core/status.h"
#include "kernel/base/tables.h"

/** Why the layout does not fit a model, or NULL. */
const char *saltus_registers_against(const saltus_tables *tables);

/** What varies: see saltus_needs. Bytes of shared memory that a thread takes, and those that a
 * block takes beside them. */
int saltus_registers_thread_bytes(const saltus_tables *tables, const uint8_t *varies);
int saltus_registers_table_bytes(const saltus_tables *tables);

/** Whether all that varies would stand in registers. Elsewhere an event may take 7 times as long as
 * by a kernel with numbers in its text. */
bool saltus_registers_have_room_for(const saltus_tables *tables, const uint8_t *varies);

/** The text of kernel `saltus_by_worker` for a model and what is recorded of it, in blocks of
 * `block` threads, by the direct method or, if it `leaps`, by tau-leaping; the caller frees it with
 * free(). Numbers that vary are read when a trajectory begins, the others stand in the text. */
SALTUS_MUST_CHECK saltus_status saltus_registers_text(const saltus_tables *tables,
                                                      const saltus_columns *columns,
                                                      const uint8_t *varies, int block, bool leaps,
                                                      char **text, saltus_error *err);

/** Why the kernels of a layout that is not `global` cannot have a model's events, clocks and values
 * that are drawn (kernel/ssa/event_driver.h), or NULL. */
const char *saltus_events_against(const saltus_tables *tables);

#endif
