/** Between the files of the CUDA backend. */
#ifndef SALTUS_BACKEND_CUDA_CUDA_H
#define SALTUS_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/layouts.h"

#include <pthread.h>

enum { SALTUS_MAX_GPUS = 16 };

/** One GPU that was opened. */
typedef struct saltus_gpu {
    int ordinal;
    cu_device device;
    cu_context context;
    int n_multiprocessors;
    saltus_limits limits;
    char name[100];
} saltus_gpu;

/** The GPUs of a specification such as "cuda:0,1". */
typedef struct saltus_gpus {
    const saltus_driver *cu;
    saltus_gpu gpu[SALTUS_MAX_GPUS];
    int n;
    int next_worker; /**< atomic: workers go round the GPUs */
    pthread_mutex_t compiling;
} saltus_gpus;

/** Work off jobs on one GPU with a thread per trajectory; one host thread, one stream. */
saltus_status saltus_cuda_work_threads(saltus_gpus *gpus, const saltus_gpu *gpu,
                                       const saltus_task *task, const saltus_source *source,
                                       saltus_error *err);

#endif
