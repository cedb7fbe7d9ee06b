/** Text of what moves between reactions, for kernels that integrate (kernel/ode/ode_global.h). */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_MOTION_H
#define SALTUS_BACKEND_CUDA_CODEGEN_MOTION_H

#include "core/status.h"
#include "kernel/base/tables.h"

#include <stdbool.h>

/** Whether what moves by a model's rate rules is written into its kernel: where they are few, and
 * nothing but their program is needed for a step. A step's numbers then stand in the thread; where
 * reactions are few, too, all of a trajectory stands in registers. */
bool saltus_motion_is_written(const saltus_tables *tables);

/** The text of such a kernel of layout `global`. `varies` is that of saltus_needs. The caller frees
 * *text with free(). */
SALTUS_MUST_CHECK saltus_status saltus_motion_text(const saltus_tables *tables,
                                                   const uint8_t *varies, char **text,
                                                   saltus_error *err);

#endif
