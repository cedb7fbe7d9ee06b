/** A GPU worker: what a host thread owns on its GPU, and the memory for it. */
#ifndef SALTUS_BACKEND_CUDA_SSA_WORKER_H
#define SALTUS_BACKEND_CUDA_SSA_WORKER_H

#include "backend/cuda/ssa/layouts.h"
#include "backend/cuda/ssa/reduce.h"
#include "backend/cuda/device/stopwatch.h"
#include "backend/cuda/device/upload.h"
#include "engine/scalar.h"
#include "kernel/ssa/launch.h"

/** Everything that one host thread owns on its GPU. */
typedef struct saltus_gpu_worker {
    const saltus_driver *cu;
    const saltus_task *task;
    saltus_ssa_layout layout;
    cu_stream stream;
    /* Events around the launches of a batch. */
    cu_event start, end;
    cu_module module;
    cu_function kernel;
    saltus_uploaded model;
    saltus_launch launch;
    /* Threads that there is memory for. */
    int64_t n_threads;
    /* Threads at work in the present batch. */
    int64_t n_running;
    /* Jobs of the batch that have ended and were added to the task's count. */
    int64_t n_reported;
    /* Jobs of a batch, at most. */
    int64_t batch;
    /* [n_segments + 1] bounds of the batch's segments: jobs of one block each. */
    int64_t n_segments, *segments;
    cu_pointer threads_memory, jobs_memory;
    size_t threads_bytes;
    /* Pinned memory: first what goes to the GPU, then a batch's results. */
    char *samples;
    const saltus_source *source;
    /* Of the present batch, among those that were taken with them. */
    saltus_ticket *jobs, *taken;
    saltus_stopwatch watch;
    /* Results on the GPU, for a task with a reduction. */
    saltus_reducer reducer;
    /* Runs trajectories that the GPU gives up. */
    saltus_scalar_engine *scalar;
    /* Samples of such a trajectory, for a task with a reduction. */
    int64_t *rest;            /* [point][count] */
    double *rest_observables; /* [point][observable] */
} saltus_gpu_worker;

/** Trajectories that a block simulates at the same time. */
int saltus_gpu_worker_per_block(const saltus_gpu_worker *c);

/** Lay out the memory of n threads from `base` on, an address of the device; returns its size. With
 * a base of 0 it is only measured. First come, from a->states on, *state_bytes that trajectories
 * have between launches; what is behind them is computed from these. */
size_t saltus_gpu_worker_place_threads(saltus_launch *a, const saltus_gpu_worker *c, uint64_t base,
                                       int64_t n, size_t *state_bytes);

/** Lay out the memory of n jobs in so many segments. Results come first, because they are copied in
 * one piece of *result_bytes. */
size_t saltus_gpu_worker_place_jobs(saltus_launch *a, saltus_reducer *reducer,
                                    const saltus_gpu_worker *c, uint64_t base, int64_t n,
                                    int64_t n_segments, size_t *result_bytes);

/** The most segments that n jobs can fall into. */
int64_t saltus_gpu_worker_most_segments(const saltus_gpu_worker *c, int64_t n);

/** Bytes that go to the GPU for n jobs. */
size_t saltus_gpu_worker_input_bytes(const saltus_gpu_worker *c, int64_t n);

/**
 * Allocate memory for as many threads as the GPU runs at the same time and for a batch of jobs, as
 * far as there is any; it is shared with other workers. If memory that was free has been taken
 * meanwhile, less is allocated.
 *
 * @retval SALTUS_E_NO_MEMORY not even one block fits
 */
SALTUS_MUST_CHECK saltus_status saltus_gpu_worker_alloc(saltus_gpu_worker *c, const saltus_gpu *gpu,
                                                        saltus_error *err);
void saltus_gpu_worker_free(saltus_gpu_worker *c);

/** Work off jobs on one GPU with a thread per trajectory; one host thread, one stream
 * (batches.c). */
saltus_status saltus_cuda_work_threads(saltus_gpus *gpus, saltus_gpu *gpu, const saltus_task *task,
                                       const saltus_source *source, saltus_error *err);

#endif
