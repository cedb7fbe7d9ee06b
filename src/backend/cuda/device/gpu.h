/** GPUs that were opened, and what a block may take there. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_GPU_H
#define SALTUS_BACKEND_CUDA_DEVICE_GPU_H

#include "backend/cuda/device/driver.h"
#include "engine/task.h"

#include <pthread.h>
#include <stdint.h>

/** What a block may take on a GPU. */
typedef struct saltus_limits {
    int major, minor;    /**< compute capability */
    int64_t block_bytes; /**< of shared memory for one block */
    int64_t bytes;       /**< of shared memory for all blocks of a multiprocessor */
} saltus_limits;

enum { SALTUS_MAX_GPUS = 16 };

/** Kernels that reduce samples (ssa/reduce.h), the same for every model. */
typedef struct saltus_reduce_kernels {
    cu_module module; /**< NULL: they were not needed so far */
    cu_function jobs, strips, bins, derive, reduce_reals, fold_reals, store_reals;
} saltus_reduce_kernels;

/** One GPU that was opened. */
typedef struct saltus_gpu {
    int ordinal;
    cu_device device;
    cu_context context;
    int n_multiprocessors;
    int cache_bytes; /**< of the second level */
    int host_node;   /**< of the host's memory, the closest NUMA node; -1: not known */
    saltus_limits limits;
    saltus_reduce_kernels reduce[2]; /**< without observables, and with them */
    char name[100];
} saltus_gpu;

/** The GPUs of a specification such as "cuda:0,1". */
typedef struct saltus_gpus {
    const saltus_driver *cu;
    saltus_gpu gpu[SALTUS_MAX_GPUS];
    int n;
    int next_worker; /**< atomic: workers go round the GPUs */
    pthread_mutex_t compiling;
    pthread_mutex_t joint; /**< launches that wait for each other are under way */
    pthread_mutex_t setting_up;
    pthread_cond_t are_set_up;
    int n_setting_up; /**< workers */
} saltus_gpus;

/** Trajectories of a run for each multiprocessor; 0: very many, or nobody knows how many there are.
 */
static inline int64_t saltus_gpus_share(const saltus_gpus *gpus, int64_t n_trajectories)
{
    const int64_t n = (int64_t)gpus->n * gpus->gpu[0].n_multiprocessors;
    return n > 0 ? (n_trajectories + n - 1) / n : 0;
}

/** Whether two of them are one: a GPU that is named twice plays two. */
static inline bool saltus_gpu_is_same(const saltus_gpu *a, const saltus_gpu *b)
{
    return a->device == b->device;
}

/** A worker of a GPU ends with a status: put down in the report which one was lost first. To be
 * called at once: some 20 us later the driver fails on the others as well, so that the first is
 * mostly, but not always, the one at fault. */
static inline void saltus_gpu_note_loss(const saltus_gpu *gpu, const saltus_task *task,
                                        saltus_status status)
{
    int none = 0;
    if (status == SALTUS_E_DEVICE && task->report) {
        (void)__atomic_compare_exchange_n(&task->report->lost_gpu, &none, 1 + gpu->ordinal, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/** Around what a worker sets up, which ends with a status: where it is fine, when all have set up
 * that had begun. Taking memory and loading a kernel wait until the GPU is idle, which for seconds
 * it never is when kernels of others follow one upon the other. */
static inline void saltus_gpus_begin_set_up(saltus_gpus *gpus)
{
    (void)pthread_mutex_lock(&gpus->setting_up);
    gpus->n_setting_up += 1;
    (void)pthread_mutex_unlock(&gpus->setting_up);
}

static inline void saltus_gpus_end_set_up(saltus_gpus *gpus, saltus_status status)
{
    (void)pthread_mutex_lock(&gpus->setting_up);
    gpus->n_setting_up -= 1;
    while (gpus->n_setting_up > 0 && status == SALTUS_OK) {
        (void)pthread_cond_wait(&gpus->are_set_up, &gpus->setting_up);
    }
    (void)pthread_cond_broadcast(&gpus->are_set_up);
    (void)pthread_mutex_unlock(&gpus->setting_up);
}

/** Cut n things of a size off a range of addresses from base on, which is only measured while base
 * is 0; *at is the offset behind what is there. */
static inline uint64_t saltus_cut(uint64_t base, size_t *at, size_t n, size_t size)
{
    const size_t start = (*at + 255) & ~(size_t)255;
    *at = start + n * size;
    return base + start;
}

#endif
