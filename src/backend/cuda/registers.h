/** Layout `registers`: a kernel written for one model. */
#ifndef SALTUS_BACKEND_CUDA_REGISTERS_H
#define SALTUS_BACKEND_CUDA_REGISTERS_H

#include "core/status.h"
#include "kernel/tables.h"

/** Why the layout does not fit a model, or NULL. */
const char *saltus_registers_against(const saltus_tables *tables);

/** The text of kernel `saltus_registers` for a model and what is recorded of it; the caller frees
 * it with free(). */
SALTUS_MUST_CHECK saltus_status saltus_registers_text(const saltus_tables *tables,
                                                      const saltus_columns *columns, char **text,
                                                      saltus_error *err);

#endif
