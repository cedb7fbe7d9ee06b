/* A CUDA driver that computes on this processor, for tests: device memory is the host's, a module
 * is a shared object that the other fake, nvrtc.c, has compiled from the kernel's text, and a
 * launch runs its threads in turn. FAKE_CUDA_FAIL=N:CODE makes the N-th call that can fail return
 * CODE, and all later ones too if CODE is not "out of memory"; FAKE_CUDA_LOSE=DEVICE:N:CODE loses a
 * GPU at the N-th such call on it, as the true driver does: later calls fail on the others as well,
 * a moment later; FAKE_CUDA_BYTES is the size of the memory; with FAKE_CUDA_TOGETHER blocks may
 * wait for each other, if kernels include together.h, on so many multiprocessors; with
 * FAKE_CUDA_SLOWER=TEXT all takes longer each time that somebody asks how long, from when the text
 * was first this one; with FAKE_CUDA_SHARES other processes can open memory, if they are allowed to
 * look at this one; FAKE_CUDA_LINKS has a row for each GPU, such as "x0n/0x1/n1x", of its links to
 * all: the rank, n if there are no atomics, or - if it does not reach the other. FAKE_CUDA_NODE is
 * the host's NUMA node that is closest. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { OUT_OF_MEMORY = 2, HEADER = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long n_calls;
static char counted[100]; /* what FAKE_CUDA_FAIL was then */
static size_t in_use;

static size_t memory_size(void)
{
    const char *text = getenv("FAKE_CUDA_BYTES");
    return text ? strtoull(text, NULL, 10) : (size_t)1 << 30;
}

static _Thread_local int device_in_use = -1;

/* 0, or why nothing goes any more. */
static int loss(void)
{
    enum { MOMENT_US = 50000 };
    static long n_on_device;
    static int is_lost;
    const char *text = getenv("FAKE_CUDA_LOSE");
    int device = 0, code = 0;
    long at = 0;
    if (!text || sscanf(text, "%d:%ld:%d", &device, &at, &code) != 3) {
        return 0;
    }
    (void)pthread_mutex_lock(&lock);
    n_on_device += device == device_in_use;
    is_lost = is_lost || n_on_device >= at;
    const int result = is_lost ? code : 0;
    (void)pthread_mutex_unlock(&lock);
    if (result != 0 && device != device_in_use) {
        (void)usleep(MOMENT_US);
    }
    return result;
}

/* What this call is to return. */
static int fate(void)
{
    const int lost = loss();
    if (lost != 0) {
        return lost;
    }
    const char *text = getenv("FAKE_CUDA_FAIL"), *code = text ? strchr(text, ':') : NULL;
    if (!code) {
        return 0;
    }
    const long at = strtol(text, NULL, 10);
    const int result = atoi(code + 1);
    (void)pthread_mutex_lock(&lock);
    if (strcmp(text, counted) != 0) { /* a new count */
        (void)snprintf(counted, sizeof counted, "%s", text);
        n_calls = 0;
    }
    const long call = ++n_calls;
    (void)pthread_mutex_unlock(&lock);
    return call == at || (call > at && result != OUT_OF_MEMORY) ? result : 0;
}

#define EXPORT __attribute__((visibility("default")))
#define DIE_OR               \
    const int doom = fate(); \
    if (doom != 0) {         \
        return doom;         \
    }

/* Launches whose blocks wait for each other's, of these streams (together.h): they go on when
 * anything else is asked of one of them, or of all. */
static void (*under_way)(void);
static void *streams[64];
static int n_streams;

static int together(void)
{
    const char *text = getenv("FAKE_CUDA_TOGETHER");
    return text ? atoi(text) : 0;
}

static void finish(void)
{
    if (under_way) {
        under_way();
    }
    under_way = NULL;
    n_streams = 0;
}

static void finish_all(void)
{
    (void)pthread_mutex_lock(&lock);
    finish();
    (void)pthread_mutex_unlock(&lock);
}

static void finish_stream(void *stream)
{
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < n_streams; ++i) {
        if (streams[i] == stream) {
            finish();
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}
EXPORT int cuGetErrorString(int result, const char **text)
{
    *text = result == OUT_OF_MEMORY ? "out of memory"
            : result == 702         ? "the launch timed out"
                                    : "made up";
    return 0;
}
EXPORT int cuDeviceGetCount(int *n)
{
    const char *links = getenv("FAKE_CUDA_LINKS");
    *n = links ? (int)strcspn(links, "/") : 2;
    return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    (void)snprintf(name, (size_t)size, "Fake %d", device);
    return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = memory_size();
    return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    const char *node = getenv("FAKE_CUDA_NODE");
    *value = attribute == 75    ? 9
             : attribute == 76  ? 0
             : attribute == 16  ? together() > 0 ? together() : 3
             : attribute == 38  ? 4 << 20
             : attribute == 81  ? 228 << 10
             : attribute == 95  ? getenv("FAKE_CUDA_TOGETHER") != NULL
             : attribute == 97  ? 227 << 10
             : attribute == 134 ? node ? atoi(node) : 0
                                : 1024;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    DIE_OR
    *context = (void *)(intptr_t)(device + 1);
    return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}
EXPORT int cuCtxSetCurrent(void *context)
{
    device_in_use = (int)(intptr_t)context - 1;
    DIE_OR
    return 0;
}
EXPORT int cuModuleLoadData(void **module, const void *image)
{
    DIE_OR
    *module = dlopen(image, RTLD_NOW | RTLD_LOCAL); /* the image is the name of a file */
    return *module ? 0 : 200;
}
EXPORT int cuModuleUnload(void *module)
{
    (void)module; /* the object may be loaded once more */
    return 0;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    DIE_OR
    *function = dlsym(module, name);
    return *function ? 0 : 500;
}
EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    *address = (uintptr_t)dlsym(module, name);
    *bytes = 0;
    return *address ? 0 : 500;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function;
    *value = attribute == 0 ? 1024 : 0;
    return 0;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block_size,
                                                       size_t shared_bytes)
{
    (void)function, (void)block_size, (void)shared_bytes;
    *blocks = 1;
    return 0;
}
EXPORT int cuDeviceGetUuid(char *uuid, int device)
{
    memset(uuid, 0, 16);
    uuid[0] = (char)(1 + device);
    return 0;
}

/* Memory that can be shared is of a file without a name, whose number stands in front of it. */
typedef struct shared {
    int pid, file;
    size_t bytes;
    char rest[48];
} shared;

static int shares(void)
{
    return getenv("FAKE_CUDA_SHARES") != NULL;
}

static char *take_memory(size_t bytes)
{
    const int file = shares() ? memfd_create("fake", 0) : -1;
    char *p = NULL;
    if (file < 0) {
        p = aligned_alloc(HEADER, (bytes + HEADER - 1) / HEADER * HEADER);
    } else if (ftruncate(file, (off_t)bytes) == 0) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        p = p == MAP_FAILED ? NULL : p;
    }
    if (p) {
        memset(p, 0xa5, bytes); /* nobody may count on zeros */
        memcpy(p + sizeof bytes, &file, sizeof file);
    }
    return p;
}

static void free_memory(char *p, size_t bytes)
{
    int file;
    memcpy(&file, p + sizeof bytes, sizeof file);
    if (file < 0) {
        free(p);
    } else {
        (void)munmap(p, bytes);
        (void)close(file);
    }
}
EXPORT int cuIpcGetMemHandle(shared *out, uint64_t address)
{
    const char *p = (const char *)(uintptr_t)address - HEADER;
    memcpy(&out->bytes, p, sizeof out->bytes);
    memcpy(&out->file, p + sizeof out->bytes, sizeof out->file);
    out->pid = (int)getpid();
    return shares() ? 0 : 801;
}
EXPORT int cuIpcOpenMemHandle_v2(uint64_t *address, shared of, unsigned flags)
{
    char name[60];
    (void)flags;
    DIE_OR(void) snprintf(name, sizeof name, "/proc/%d/fd/%d", of.pid, of.file);
    const int file = open(name, O_RDWR);
    char *p = file < 0 ? MAP_FAILED
                       : mmap(NULL, of.bytes + HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    *address = p == MAP_FAILED ? 0 : (uintptr_t)p + HEADER;
    return p == MAP_FAILED ? 201 : 0;
}
EXPORT int cuIpcCloseMemHandle(uint64_t address)
{
    char *p = (char *)(uintptr_t)address - HEADER;
    size_t bytes;
    finish_all();
    memcpy(&bytes, p, sizeof bytes);
    return munmap(p, bytes + HEADER);
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *total = memory_size();
    (void)pthread_mutex_lock(&lock);
    *available = *total - in_use;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    DIE_OR(void) pthread_mutex_lock(&lock);
    const int fits = in_use + bytes <= memory_size();
    in_use += fits ? bytes : 0;
    (void)pthread_mutex_unlock(&lock);
    char *p = fits ? take_memory(bytes + HEADER) : NULL;
    if (!p) {
        return OUT_OF_MEMORY;
    }
    memcpy(p, &bytes, sizeof bytes);
    *address = (uintptr_t)(p + HEADER);
    return 0;
}
EXPORT int cuMemFree_v2(uint64_t address)
{
    finish_all();
    char *p = (char *)(uintptr_t)address - HEADER;
    size_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    (void)pthread_mutex_lock(&lock);
    in_use -= bytes;
    (void)pthread_mutex_unlock(&lock);
    free_memory(p, bytes + HEADER);
    return 0;
}
EXPORT int cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    (void)flags;
    DIE_OR
    *address = malloc(bytes);
    return *address ? 0 : OUT_OF_MEMORY;
}
EXPORT int cuMemFreeHost(void *address)
{
    free(address);
    return 0;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    DIE_OR
    finish_stream(stream);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    DIE_OR
    finish_stream(stream);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    DIE_OR
    finish_stream(stream);
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    DIE_OR
    finish_stream(stream);
    memset((void *)(uintptr_t)to, value, bytes);
    return 0;
}
EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    DIE_OR
    *stream = malloc(1);
    return 0;
}
EXPORT int cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return 0;
}
EXPORT int cuStreamSynchronize(void *stream)
{
    DIE_OR
    finish_stream(stream);
    return 0;
}
EXPORT int cuStreamQuery(void *stream)
{
    (void)stream;
    return 0;
}
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **parameters, void **extra)
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared_bytes, (void)extra;
    DIE_OR
    finish_stream(stream);
    void (*run)(void **, int64_t);
    memcpy(&run, &function, sizeof run);
    (void)pthread_mutex_lock(&lock); /* kernels have statics: thread and stride */
    run(parameters, (int64_t)grid_x * block_x);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared_bytes, void *stream,
                                     void **parameters)
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared_bytes;
    DIE_OR
    finish_stream(stream);
    Dl_info info;
    void (*run)(void **, int64_t);
    void *module = dladdr(function, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    int64_t *block = module ? dlsym(module, "played_block") : NULL;
    if (!block) {
        return 801; /* not supported */
    }
    void *rest = dlsym(module, "played_finish");
    memcpy(&run, &function, sizeof run);
    (void)pthread_mutex_lock(&lock);
    if (memcmp(&under_way, &rest, sizeof under_way) != 0) {
        finish(); /* those of another module, which has threads of its own */
    }
    memcpy(&under_way, &rest, sizeof under_way);
    streams[n_streams++ % 64] = stream;
    *block = block_x;
    run(parameters, (int64_t)grid_x * block_x);
    *block = 0;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    DIE_OR
    return 0; /* all is done in the order in which it is asked for */
}
static char link_of(int device, int peer)
{
    const char *links = getenv("FAKE_CUDA_LINKS");
    return links ? links[(size_t)device * (strcspn(links, "/") + 1) + (size_t)peer] : '0';
}
EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && link_of(device, peer) != '-';
    return 0;
}
EXPORT int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    const char link = link_of(device, peer);
    *value = attribute == 3 ? link != 'n' : link == 'n' ? 9 : link - '0';
    return 0;
}
EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                             size_t bytes, void *stream)
{
    (void)to_context, (void)from_context, (void)stream;
    DIE_OR
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}
EXPORT int cuCtxEnablePeerAccess(void *peer, unsigned flags)
{
    (void)peer, (void)flags;
    DIE_OR
    return 0;
}
EXPORT int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct timespec));
    return 0;
}
EXPORT int cuEventDestroy_v2(void *event)
{
    free(event);
    return 0;
}
EXPORT int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    (void)clock_gettime(CLOCK_MONOTONIC, event);
    return 0;
}
EXPORT int cuEventSynchronize(void *event)
{
    finish_all();
    (void)event;
    return 0;
}
EXPORT int cuEventElapsedTime(float *ms, void *start, void *end)
{
    static int asked;
    static char since[20];
    const struct timespec *a = start, *b = end;
    const char *slower = getenv("FAKE_CUDA_SLOWER");
    if (slower) {
        asked = strcmp(since, slower) == 0 ? asked + 1 : 1;
        (void)snprintf(since, sizeof since, "%s", slower);
        *ms = (float)asked;
        return 0;
    }
    *ms = (float)(1e3 * (double)(b->tv_sec - a->tv_sec) + 1e-6 * (double)(b->tv_nsec - a->tv_nsec));
    return 0;
}
