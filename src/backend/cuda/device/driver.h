/**
 * The CUDA driver and NVRTC, opened when they are first needed. Their interfaces are declared here
 * as far as they are used, so that building needs no toolkit and running needs no GPU.
 *
 * Names and signatures: CUDA Driver API and NVRTC reference manuals, stable since CUDA 11.2.
 */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_DRIVER_H
#define SALTUS_BACKEND_CUDA_DEVICE_DRIVER_H

#include "core/beside.h"
#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

typedef int cu_result; /* CUresult; 0 is success */
typedef int cu_device;
typedef uint64_t cu_pointer; /* CUdeviceptr */
typedef struct cu_context *cu_context;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;
/* CUuuid and CUipcMemHandle */
typedef struct cu_uuid {
    unsigned char bytes[16];
} cu_uuid;
typedef struct cu_shared {
    unsigned char bytes[64];
} cu_shared;
typedef int nvrtc_result;
typedef struct nvrtc_program *nvrtc_program;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_DEVICE_UNAVAILABLE = 46,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_ECC_UNCORRECTABLE = 214,
    CU_ERROR_NVLINK_UNCORRECTABLE = 220,
    CU_ERROR_CONTAINED = 226, /* a failure of hardware */
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_ILLEGAL_ADDRESS = 700,
    CU_ERROR_LAUNCH_TIMEOUT = 702,
    CU_ERROR_CONTEXT_IS_DESTROYED = 709,
    CU_ERROR_HARDWARE_STACK = 714,
    CU_ERROR_ILLEGAL_INSTRUCTION = 715,
    CU_ERROR_MISALIGNED_ADDRESS = 716,
    CU_ERROR_INVALID_ADDRESS_SPACE = 717,
    CU_ERROR_INVALID_PC = 718,
    CU_ERROR_LAUNCH_FAILED = 719,
    CU_ERROR_SYSTEM_NOT_READY = 802,
    CU_ERROR_UNKNOWN = 999,

    CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK = 8,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_CACHE = 38,         /* bytes of the second level */
    CU_ATTRIBUTE_SHARED_MEMORY = 81, /* of a multiprocessor */
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_COOPERATIVE_LAUNCH = 95, /* of blocks that run all at once */
    CU_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_ATTRIBUTE_HOST_NODE = 134, /* of the host's memory, the NUMA node closest to the GPU */

    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES = 8,
    CU_FUNCTION_MAX_THREADS = 0,

    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_NO_TIMING = 2,
    CU_PEERS_ALREADY = 704,
    CU_PEERS_RANK = 1, /* of performance */
    CU_PEERS_ATOMICS = 3,
    CU_SHARED_LAZY_PEERS = 1,
};

/* X(member, symbol, parameters) */
#define SALTUS_CUDA_DRIVER(X)                                                                      \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(error_string, "cuGetErrorString", (cu_result result, const char **text))                     \
    X(device_count, "cuDeviceGetCount", (int *n))                                                  \
    X(device_get, "cuDeviceGet", (cu_device * device, int ordinal))                                \
    X(device_name, "cuDeviceGetName", (char *name, int size, cu_device device))                    \
    X(device_uuid, "cuDeviceGetUuid", (cu_uuid * uuid, cu_device device))                          \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, cu_device device))                    \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device))     \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cu_context * context, cu_device device))        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                         \
    X(context_use, "cuCtxSetCurrent", (cu_context context))                                        \
    X(module_load, "cuModuleLoadData", (cu_module * module, const void *image))                    \
    X(module_unload, "cuModuleUnload", (cu_module module))                                         \
    X(module_function, "cuModuleGetFunction",                                                      \
      (cu_function * function, cu_module module, const char *name))                                \
    X(module_global, "cuModuleGetGlobal_v2",                                                       \
      (cu_pointer * address, size_t * bytes, cu_module module, const char *name))                  \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, cu_function function)) \
    X(function_set, "cuFuncSetAttribute", (cu_function function, int attribute, int value))        \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                    \
      (int *blocks, cu_function function, int block_size, size_t shared_bytes))                    \
    X(memory_info, "cuMemGetInfo_v2", (size_t * available, size_t * total))                        \
    X(memory_alloc, "cuMemAlloc_v2", (cu_pointer * address, size_t bytes))                         \
    X(memory_free, "cuMemFree_v2", (cu_pointer address))                                           \
    X(memory_share, "cuIpcGetMemHandle", (cu_shared * out, cu_pointer address))                    \
    X(memory_open, "cuIpcOpenMemHandle_v2",                                                        \
      (cu_pointer * address, cu_shared shared, unsigned flags))                                    \
    X(memory_close, "cuIpcCloseMemHandle", (cu_pointer address))                                   \
    X(host_alloc, "cuMemHostAlloc", (void **address, size_t bytes, unsigned flags))                \
    X(host_free, "cuMemFreeHost", (void *address))                                                 \
    X(upload, "cuMemcpyHtoDAsync_v2",                                                              \
      (cu_pointer to, const void *from, size_t bytes, cu_stream stream))                           \
    X(download, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, cu_pointer from, size_t bytes, cu_stream stream))                                 \
    X(copy, "cuMemcpyDtoDAsync_v2",                                                                \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))                            \
    X(fill, "cuMemsetD8Async",                                                                     \
      (cu_pointer to, unsigned char value, size_t bytes, cu_stream stream))                        \
    X(stream_create, "cuStreamCreate", (cu_stream * stream, unsigned flags))                       \
    X(stream_destroy, "cuStreamDestroy_v2", (cu_stream stream))                                    \
    X(stream_wait, "cuStreamSynchronize", (cu_stream stream))                                      \
    X(stream_wait_event, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))  \
    X(peers_can, "cuDeviceCanAccessPeer", (int *can, cu_device device, cu_device peer))            \
    X(peers_tell, "cuDeviceGetP2PAttribute",                                                       \
      (int *value, int attribute, cu_device device, cu_device peer))                               \
    X(peer_use, "cuCtxEnablePeerAccess", (cu_context peer, unsigned flags))                        \
    X(peer_copy, "cuMemcpyPeerAsync",                                                              \
      (cu_pointer to, cu_context to_context, cu_pointer from, cu_context from_context,             \
       size_t bytes, cu_stream stream))                                                            \
    X(stream_query, "cuStreamQuery", (cu_stream stream))                                           \
    X(launch, "cuLaunchKernel",                                                                    \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                \
       void **parameters, void **extra))                                                           \
    X(launch_together, "cuLaunchCooperativeKernel",                                                \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                \
       void **parameters))                                                                         \
    X(event_create, "cuEventCreate", (cu_event * event, unsigned flags))                           \
    X(event_destroy, "cuEventDestroy_v2", (cu_event event))                                        \
    X(event_record, "cuEventRecord", (cu_event event, cu_stream stream))                           \
    X(event_wait, "cuEventSynchronize", (cu_event event))                                          \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, cu_event start, cu_event end))

#define SALTUS_NVRTC(X)                                                              \
    X(version, "nvrtcVersion", (int *major, int *minor))                             \
    X(create, "nvrtcCreateProgram",                                                  \
      (nvrtc_program * program, const char *source, const char *name, int n_headers, \
       const char *const *headers, const char *const *header_names))                 \
    X(destroy, "nvrtcDestroyProgram", (nvrtc_program * program))                     \
    X(compile, "nvrtcCompileProgram",                                                \
      (nvrtc_program program, int n_options, const char *const *options))            \
    X(image_size, "nvrtcGetCUBINSize", (nvrtc_program program, size_t * bytes))      \
    X(image, "nvrtcGetCUBIN", (nvrtc_program program, char *image))                  \
    X(log_size, "nvrtcGetProgramLogSize", (nvrtc_program program, size_t * bytes))   \
    X(log, "nvrtcGetProgramLog", (nvrtc_program program, char *log))

#define SALTUS_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters;
typedef struct saltus_driver {
    SALTUS_CUDA_DRIVER(SALTUS_CUDA_MEMBER)
    int version; /**< 1000 * major + 10 * minor of the CUDA that it serves */
} saltus_driver;

typedef struct saltus_nvrtc {
    SALTUS_NVRTC(SALTUS_CUDA_MEMBER)
    int major, minor;
    char path[SALTUS_PATH_ROOM]; /**< the library that was opened */
} saltus_nvrtc;
#undef SALTUS_CUDA_MEMBER

/**
 * The driver, opened and initialised once. Any thread may call; a process that was forked behind
 * that is refused.
 *
 * @retval SALTUS_E_UNAVAILABLE there is none, or it finds no device; the sentence says what was
 * tried, the hint how to get it
 */
SALTUS_MUST_CHECK saltus_status saltus_cuda_driver(const saltus_driver **out, saltus_error *err);
/** NVRTC, opened once per process. It needs no GPU. */
SALTUS_MUST_CHECK saltus_status saltus_cuda_nvrtc(const saltus_nvrtc **out, saltus_error *err);

/**
 * Check a driver's result: SALTUS_OK, or an error of `what` and the driver's own words.
 *
 * @retval SALTUS_E_NO_MEMORY   memory of the GPU, or pinned memory, ran out
 * @retval SALTUS_E_DEVICE      a GPU is lost: it, or a kernel there, has failed in a way after
 * which this process can use none any more. The driver answers later calls with the same error, of
 * other GPUs, too
 * @retval SALTUS_E_UNAVAILABLE any other error
 */
SALTUS_MUST_CHECK saltus_status saltus_cuda_check(const saltus_driver *cu, cu_result result,
                                                  const char *what, saltus_error *err);

/** Allocate pinned memory, on this NUMA node of the host if possible: the one that is closest to a
 * GPU that reads or writes it; -1: anywhere. A thread that has a policy for its memory keeps to it.
 */
SALTUS_MUST_CHECK saltus_status saltus_cuda_host_alloc(const saltus_driver *cu, int node,
                                                       void **out, size_t bytes, const char *what,
                                                       saltus_error *err);

#endif
