/** What benchmarks ask of the CUDA backend. */
#ifndef SALTUS_BACKEND_CUDA_CUDA_H
#define SALTUS_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"

/** From now on use half of the multiprocessors of GPU number i, as if it were a smaller one. */
void saltus_cuda_halve(saltus_backend *backend, int i);

/** Bytes per second, read and written together, that a backend's first GPU copies within its
 * memory: what kernels that wait for memory are measured against. */
saltus_status saltus_cuda_copy_rate(const saltus_backend *backend, double *out, saltus_error *err);

#endif
