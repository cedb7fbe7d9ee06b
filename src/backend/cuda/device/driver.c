#include "backend/cuda/device/driver.h"

#include <dlfcn.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The driver and NVRTC that were found, or why none was; written once. */
static struct {
    saltus_driver driver;
    saltus_error error;
    pid_t process; /* that started it */
} driver;
static struct {
    saltus_nvrtc nvrtc;
    saltus_error error;
} compiler;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT, compiler_once = PTHREAD_ONCE_INIT;

/* Convert a data pointer to a function pointer, for which C has no cast. */
static bool find(void *library, const char *symbol, void *member)
{
    void *address = dlsym(library, symbol);
    memcpy(member, &address, sizeof address);
    return address != NULL;
}

static void open_driver(void)
{
    saltus_error *err = &driver.error;
    saltus_driver *cu = &driver.driver;
    int n = 0;
    driver.process = getpid();
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE, "no NVIDIA driver: %s", dlerror());
        saltus_error_hint(err, "libcuda.so.1 comes with the driver of an NVIDIA GPU");
        return;
    }
#define FIND(member, symbol, parameters)                                                    \
    if (!find(library, symbol, &cu->member)) {                                              \
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE,                                   \
                               "the NVIDIA driver is too old: it has no %s", symbol);       \
        saltus_error_hint(err, "a driver for CUDA 11.2 or newer is needed (460 or newer)"); \
        return;                                                                             \
    }
    SALTUS_CUDA_DRIVER(FIND)
#undef FIND
    if (saltus_cuda_check(cu, cu->init(0), "the NVIDIA driver does not start", err) != SALTUS_OK ||
        saltus_cuda_check(cu, cu->driver_version(&cu->version), "asking for the driver's version",
                          err) != SALTUS_OK ||
        saltus_cuda_check(cu, cu->device_count(&n), "counting the GPUs", err) != SALTUS_OK) {
        return;
    }
    if (n == 0) {
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE, "the NVIDIA driver finds no GPU");
    }
}

saltus_status saltus_cuda_driver(const saltus_driver **out, saltus_error *err)
{
    (void)pthread_once(&driver_once, open_driver);
    if (driver.error.code != SALTUS_OK) {
        saltus_error_set(err, driver.error.code, "%s", driver.error.message);
        saltus_error_hint(err, "%s", driver.error.hint);
        return driver.error.code;
    }
    if (driver.process != getpid()) { /* it answers such with errors, or never */
        saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                         "this process was forked when GPUs were in use, and cannot use any");
        saltus_error_hint(err, "one that is started anew can, in Python by multiprocessing's "
                               "'spawn'");
        return SALTUS_E_UNAVAILABLE;
    }
    *out = &driver.driver;
    return SALTUS_OK;
}

/* Open the newest NVRTC under the names that distributions and the toolkit give it: beside the
 * Python package, or where the loader looks, then in the folders of toolkits. */
static void *open_nvrtc_library(char path[SALTUS_PATH_ROOM])
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda", "/opt/cuda"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; ++i) {
        char wheels[64];
        (void)snprintf(wheels, sizeof wheels, "nvidia/*/lib/%s", names[i]);
        if (saltus_beside_package(wheels, path)) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
        if (!library) {
            (void)snprintf(path, SALTUS_PATH_ROOM, "%s", names[i]);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    for (size_t f = 0; !library && f < sizeof folders / sizeof *folders; ++f) {
        for (size_t i = 0; !library && i < sizeof names / sizeof *names; ++i) {
            (void)snprintf(path, SALTUS_PATH_ROOM, "%s/lib64/%s", folders[f], names[i]);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return library;
}

static void open_nvrtc(void)
{
    saltus_error *err = &compiler.error;
    saltus_nvrtc *rtc = &compiler.nvrtc;
    void *library = open_nvrtc_library(rtc->path);
    if (!library) {
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                               "NVRTC, CUDA's compiler, is not here: tried libnvrtc.so.13, .12, "
                               ".11.2 and libnvrtc.so, also in nvidia/*/lib of Python's packages, "
                               "CUDA_HOME/lib64, /usr/local/cuda/lib64 and /opt/cuda/lib64");
        saltus_error_hint(err, "Debian and Ubuntu have it in the package libnvrtc12 or "
                               "libnvrtc11.2, NVIDIA in cuda-nvrtc, PyPI in nvidia-cuda-nvrtc");
        return;
    }
#define FIND(member, symbol, parameters)                                                 \
    if (!find(library, symbol, &rtc->member)) {                                          \
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE, "%s is too old: it has no %s", \
                               rtc->path, symbol);                                       \
        return;                                                                          \
    }
    SALTUS_NVRTC(FIND)
#undef FIND
    if (rtc->version(&rtc->major, &rtc->minor) != 0) {
        (void)saltus_error_set(err, SALTUS_E_UNAVAILABLE, "%s does not tell its version",
                               rtc->path);
    }
}

saltus_status saltus_cuda_nvrtc(const saltus_nvrtc **out, saltus_error *err)
{
    (void)pthread_once(&compiler_once, open_nvrtc);
    if (compiler.error.code != SALTUS_OK) {
        saltus_error_set(err, compiler.error.code, "%s", compiler.error.message);
        saltus_error_hint(err, "%s", compiler.error.hint);
        return compiler.error.code;
    }
    *out = &compiler.nvrtc;
    return SALTUS_OK;
}

static saltus_status status_of(cu_result result)
{
    switch (result) {
    case CU_SUCCESS:
        return SALTUS_OK;
    case CU_ERROR_OUT_OF_MEMORY:
        return SALTUS_E_NO_MEMORY;
    case CU_ERROR_DEVICE_UNAVAILABLE:
    case CU_ERROR_ECC_UNCORRECTABLE:
    case CU_ERROR_NVLINK_UNCORRECTABLE:
    case CU_ERROR_CONTAINED:
    case CU_ERROR_ILLEGAL_ADDRESS:
    case CU_ERROR_LAUNCH_TIMEOUT:
    case CU_ERROR_CONTEXT_IS_DESTROYED:
    case CU_ERROR_HARDWARE_STACK:
    case CU_ERROR_ILLEGAL_INSTRUCTION:
    case CU_ERROR_MISALIGNED_ADDRESS:
    case CU_ERROR_INVALID_ADDRESS_SPACE:
    case CU_ERROR_INVALID_PC:
    case CU_ERROR_LAUNCH_FAILED:
    case CU_ERROR_SYSTEM_NOT_READY:
    case CU_ERROR_UNKNOWN:
        return SALTUS_E_DEVICE;
    default:
        return SALTUS_E_UNAVAILABLE;
    }
}

saltus_status saltus_cuda_check(const saltus_driver *cu, cu_result result, const char *what,
                                saltus_error *err)
{
    const char *text = NULL;
    if (result == CU_SUCCESS) {
        return SALTUS_OK;
    }
    if (cu->error_string(result, &text) != CU_SUCCESS || !text) {
        text = "an error without a name";
    }
    return saltus_error_set(err, status_of(result), "%s: %s (CUDA error %d)", what, text, result);
}

/* Whether this thread's memory comes from a node from now on. It does not where the system refuses
 * that, as in some containers, or where the environment of the program has set another policy. */
static bool prefer(int node)
{
    enum { MOST_NODES = 1024, BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[MOST_NODES / BITS] = {0};
    int policy = MPOL_DEFAULT;
    if (node < 0 || node >= MOST_NODES ||
        syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL) != 0 || policy != MPOL_DEFAULT) {
        return false;
    }
    nodes[node / BITS] = 1UL << node % BITS;
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, MOST_NODES + 1UL) == 0;
}

saltus_status saltus_cuda_host_alloc(const saltus_driver *cu, int node, void **out, size_t bytes,
                                     const char *what, saltus_error *err)
{
    const bool prefers = prefer(node);
    const cu_result result = cu->host_alloc(out, bytes, 0);
    if (prefers) {
        (void)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
    }
    return saltus_cuda_check(cu, result, what, err);
}
