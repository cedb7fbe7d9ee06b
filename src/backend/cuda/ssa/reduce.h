/** What is made of the samples of a batch on the GPU: the kernels of kernel/ssa/reduce.h and
 * derive.h, from the host. */
#ifndef SALTUS_BACKEND_CUDA_SSA_REDUCE_H
#define SALTUS_BACKEND_CUDA_SSA_REDUCE_H

#include "backend/backend.h"
#include "backend/cuda/device/gpu.h"
#include "backend/cuda/device/kernels.h"
#include "backend/cuda/device/upload.h"
#include "kernel/base/derive.h"
#include "kernel/ssa/reduce.h"

/** The kernels and what they work on. */
typedef struct saltus_reducer {
    const saltus_reduce_kernels *kernels; /* the GPU's */
    saltus_reduce_launch counts;
    saltus_reals_launch reals;
    saltus_derive_launch derivation; /* n_jobs is 0 when there is none */
} saltus_reducer;

/** Compile the kernels, or fetch them from the cache, as saltus_kernel_compile does and with its
 * errors. They are the same for every model, but for whether it has observables (reals), without
 * which they are loaded sooner. */
SALTUS_MUST_CHECK saltus_status saltus_reducer_compile(const saltus_limits *limits, bool has_reals,
                                                       saltus_image *out, saltus_error *err);
/** The same, and load them into the GPU's context, which is the present one, where they stay: to
 * load them for each worker would take as long as a million short trajectories. One at a time. */
SALTUS_MUST_CHECK saltus_status saltus_reducer_load(const saltus_driver *cu, saltus_gpu *gpu,
                                                    bool has_reals, saltus_reducer *out,
                                                    saltus_error *err);

/**
 * Lay out memory from base + *at on for the results of n jobs and what they are made from, as far
 * as the task has a reduction or a derivation. What is laid out for so many jobs and segments has
 * room for fewer of either.
 *
 * @param model        where the device's copy of the reduction's edges is
 * @param n_segments  of them, each with results of its own
 * @param[in,out] at   offset behind what is there; behind it all
 * @param[out] results offset behind the results, which come first
 */
void saltus_reducer_place(saltus_reducer *reducer, const saltus_task *task,
                          const saltus_uploaded *model, int64_t n, int64_t n_segments,
                          uint64_t base, size_t *at, size_t *results);

/** Make what the task wants of what the launches name, after all that is in the stream; does not
 * wait. */
SALTUS_MUST_CHECK saltus_status saltus_reducer_run(const saltus_driver *cu,
                                                   const saltus_reducer *reducer,
                                                   const saltus_task *task, cu_stream stream,
                                                   saltus_error *err);

#endif
