/** What a host thread has on its GPU, and the memory for it. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_WORKER_H
#define SALTUS_BACKEND_CUDA_DEVICE_WORKER_H

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/cuda/ssa/layouts.h"
#include "backend/cuda/ssa/reduce.h"
#include "backend/cuda/device/stopwatch.h"
#include "backend/cuda/device/upload.h"
#include "kernel/ssa/launch.h"

/** Everything that one host thread owns on its GPU. */
typedef struct saltus_gpu_worker {
    const saltus_driver *cu;
    const saltus_task *task;
    saltus_ssa_layout layout;
    cu_stream stream;
    cu_event start, end; /* around the launches of a batch */
    cu_module module;
    cu_function kernel, exact; /* exact: where there is a kernel for each phase */
    saltus_uploaded model;
    saltus_launch launch;
    int64_t n_threads;             /* room for so many */
    int64_t n_running;             /* of the present batch */
    int64_t n_told;                /* of its jobs that have ended, in the task's count */
    int64_t batch;                 /* jobs at most */
    int64_t n_segments, *segments; /* [n + 1] of the batch's jobs, each of one block */
    cu_pointer threads_memory, jobs_memory;
    size_t threads_bytes;
    char *samples; /* pinned: a batch's results as they come back; before, what goes there */
    saltus_job *jobs;
    saltus_stopwatch watch;
    saltus_reducer reducer;       /* for a task with a reduction */
    saltus_scalar_engine *scalar; /* for trajectories that the GPU gives up */
    int64_t *rest;                /* [point][count] of such a one, with a reduction */
} saltus_gpu_worker;

/** Trajectories under way in a block. */
int saltus_gpu_worker_per_block(const saltus_gpu_worker *c);

/** Lay out the memory of n threads from `base` on, an address of the device; returns its size. With
 * a base of 0 it is measured alone. */
size_t saltus_gpu_worker_place_threads(saltus_launch *a, const saltus_gpu_worker *c, uint64_t base,
                                       int64_t n);

/** The same of n jobs in so many stretches. Results come first: they are copied in one piece of
 * *result_bytes. */
size_t saltus_gpu_worker_place_jobs(saltus_launch *a, saltus_reducer *reducer,
                                    const saltus_gpu_worker *c, uint64_t base, int64_t n,
                                    int64_t n_segments, size_t *result_bytes);

/** The most stretches that n jobs can fall into. */
int64_t saltus_gpu_worker_most_stretches(const saltus_gpu_worker *c, int64_t n);

/** Bytes of what goes to the GPU for n jobs. */
size_t saltus_gpu_worker_orders_bytes(const saltus_gpu_worker *c, int64_t n);

/**
 * Take memory for as many threads as the GPU runs at once and a batch of jobs, as far as there is,
 * shared with other workers. What was free may have gone to somebody else meanwhile: less will do.
 *
 * @retval SALTUS_E_NO_MEMORY not even one block fits
 */
SALTUS_MUST_CHECK saltus_status saltus_gpu_worker_alloc(saltus_gpu_worker *c, const saltus_gpu *gpu,
                                                        saltus_error *err);
void saltus_gpu_worker_free(saltus_gpu_worker *c);

#endif
