/** Between the files of the CUDA backend. */
#ifndef SALTUS_BACKEND_CUDA_CUDA_H
#define SALTUS_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/device/driver.h"
#include "backend/cuda/ssa/layouts.h"
#include "engine/rdme.h"

#include <pthread.h>

enum { SALTUS_MAX_GPUS = 16 };

/** One GPU that was opened. */
typedef struct saltus_gpu {
    int ordinal;
    cu_device device;
    cu_context context;
    int n_multiprocessors;
    int cache_bytes; /**< of the second level */
    int host_node;   /**< of the host's memory, the closest NUMA node; -1: not known */
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
    pthread_mutex_t joint; /**< launches that wait for each other are under way */
} saltus_gpus;

/** Whether two of them are one: a GPU that is named twice plays two. */
static inline bool saltus_gpu_is_same(const saltus_gpu *a, const saltus_gpu *b)
{
    return a->device == b->device;
}

/** Cut n things of a size off a range of addresses from base on, which is only measured while base
 * is 0; *at is the offset behind what is there. */
static inline uint64_t saltus_cut(uint64_t base, size_t *at, size_t n, size_t size)
{
    const size_t start = (*at + 255) & ~(size_t)255;
    *at = start + n * size;
    return base + start;
}

/** Work off jobs on one GPU with a thread per trajectory; one host thread, one stream. */
saltus_status saltus_cuda_work_threads(saltus_gpus *gpus, const saltus_gpu *gpu,
                                       const saltus_task *task, const saltus_source *source,
                                       saltus_error *err);

/** From now on use half of the multiprocessors of GPU number i, as if it were a smaller one. */
void saltus_cuda_halve(saltus_backend *backend, int i);

/** Bytes per second, read and written together, that a backend's first GPU copies within its
 * memory: what kernels that wait for memory are measured against. */
saltus_status saltus_cuda_copy_rate(const saltus_backend *backend, double *out, saltus_error *err);

/** Compile the kernels of a lattice (rdme/text.c), or fetch them from the cache: for counts of so
 * many bits, of one of some slabs or (1) of all, or (0) for lists. */
saltus_status saltus_cuda_compile_mpd(const saltus_mpd_tables *tables, int bits, int n_slabs,
                                      const saltus_limits *limits, saltus_image *out,
                                      saltus_error *err);
/** The layout of a lattice, saltus_backend_ops, on a GPU with so many bytes of memory; and the time
 * of a step in microseconds. */
saltus_status saltus_cuda_choose_lattice(const saltus_lattice *lattice, double memory,
                                         saltus_layout wanted, saltus_layout *layout, char why[200],
                                         saltus_error *err);
/** Slabs of planes (slabs/split.c): how many of equal height are soonest done on GPUs that have
 * room for them; whether the sites of one have numbers in 32 bits; how many it takes so that they
 * have, 0: a plane is too large; and its bytes, of so many counts in a site and sets of sites. */
int saltus_cuda_choose_slabs(const saltus_gpus *gpus, const saltus_lattice *lattice);
bool saltus_cuda_slab_has_numbers(int64_t plane, int64_t n_planes);
int64_t saltus_cuda_least_slabs(const saltus_lattice *lattice);
double saltus_cuda_slab_bytes(const saltus_lattice *lattice, int n_fields, int n_sets,
                              int64_t n_planes);
double saltus_cuda_step_us(const saltus_lattice *lattice, saltus_layout layout);
/** Counts of a site: species, and one more if there is anybody who watches; and the bytes of so
 * many in a set, of the fewest bits each. */
int saltus_cuda_n_fields(const saltus_mpd_tables *tables);
double saltus_cuda_site_bytes(int n_fields);
enum { SALTUS_CUDA_MOST_FIELDS = 32, SALTUS_CUDA_LEAST_BITS = 4 };
/** Sites of a lattice where warps wait for memory, and there is little to do for more of them. */
enum { SALTUS_CUDA_SMALL_LATTICE = 1 << 23 };
/** Warps of a block that goes over a lattice's counts, of one of so many slabs. */
int saltus_cuda_most_warps(const saltus_mpd_tables *tables, int n_slabs);

/** What saltus_backend_ops.explain_slabs prints (slabs/explain.c). */
void saltus_slabs_explain(const saltus_gpus *gpus, const saltus_lattice *lattice,
                          const saltus_slab_plan *slabs, FILE *out);

/** Work off jobs of a model with a lattice on one GPU (rdme/rdme.c), as worker number `worker`
 * there. */
saltus_status saltus_cuda_work_mpd(saltus_gpus *gpus, const saltus_gpu *gpu, int worker,
                                   const saltus_task *task, const saltus_source *source,
                                   saltus_error *err);

#endif
