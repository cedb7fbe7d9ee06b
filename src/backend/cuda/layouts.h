/** The kernel of each layout. */
#ifndef SALTUS_BACKEND_CUDA_LAYOUTS_H
#define SALTUS_BACKEND_CUDA_LAYOUTS_H

#include "backend/cuda/kernels.h"
#include "kernel/tables.h"

/**
 * Compile the kernel of a layout for a model and its columns, or fetch it from the cache, as
 * saltus_kernel_compile does and with its errors.
 *
 * @param[out] entry name of the kernel in the image; constant
 */
SALTUS_MUST_CHECK saltus_status saltus_layout_compile(const char *layout,
                                                      const saltus_tables *tables,
                                                      const saltus_columns *columns, int major,
                                                      int minor, saltus_image *out,
                                                      const char **entry, saltus_error *err);

#endif
