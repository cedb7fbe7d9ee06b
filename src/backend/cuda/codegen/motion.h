/** Text of what moves between reactions, for kernels that integrate (kernel/ode/ode_global.h). */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_MOTION_H
#define SALTUS_BACKEND_CUDA_CODEGEN_MOTION_H

#include "core/status.h"
#include "kernel/base/tables.h"

/** The text of a kernel of layout `global` for a model with rate rules. Where these are few and
 * nothing else of the model is a program, they are written out, and a step's numbers stand in the
 * thread; and where reactions are few, too, all of a trajectory stands in registers. Else the
 * kernel is the same for all models, since it takes seconds to compile. `varies` is that of
 * saltus_needs. The caller frees *text with free(). */
SALTUS_MUST_CHECK saltus_status saltus_motion_text(const saltus_tables *tables,
                                                   const uint8_t *varies, char **text,
                                                   saltus_error *err);

#endif
