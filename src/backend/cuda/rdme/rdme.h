/** What lists (particles.c) and counts (counts.c) of a lattice on a GPU have in common. A
 * trajectory has a stream. */
#ifndef SALTUS_BACKEND_CUDA_RDME_RDME_H
#define SALTUS_BACKEND_CUDA_RDME_RDME_H

#include "backend/cuda/device/gpu.h"
#include "backend/cuda/device/kernels.h"
#include "backend/cuda/device/stopwatch.h"
#include "backend/cuda/device/upload.h"
#include "engine/rdme.h"
#include "kernel/rdme/launch.h"

/** A lattice on one GPU. An engine of either kind begins with it. */
typedef struct saltus_gpu_lattice {
    saltus_gpus *gpus;
    const saltus_driver *cu;
    const saltus_gpu *gpu;
    const saltus_task *task;
    saltus_mpd_tables tables;
    saltus_uploaded model;
    saltus_mpd_launch a;
    /** Amount of work for saltus_mpd_batch_status: threads that count. */
    int64_t work;
    /** Threads of their blocks. */
    int block;
    /** saltus_mpd.used, when it was last read. */
    int64_t used;
    /** Whether another GPU was waited for in vain, when that was last read. */
    bool is_lost;
    /** [below, above] clock cycles of the last batch (kernel/rdme/lattice.h). */
    double passed[2], waited[2];
    cu_stream stream;
    /** Events around a batch. */
    cu_event start, end;
    /** Phases of the batch. */
    int batch;
    /** Time of the batch by the GPU's clock, in us. */
    double batch_us;
    cu_module module;
    cu_function count, split;
    saltus_stopwatch watch;
    cu_pointer answers, totals, parts;
    /** Blocks of a launch can wait for each other. */
    bool is_cooperative;
    /** Bytes of a.arrived. */
    size_t arrived_bytes;
    /** Launch as many of n phases as one launch takes, at least one; *launched is how many. */
    saltus_status (*launch_phases)(void *user, const saltus_mpd_phase *phases, int n, int *launched,
                                   saltus_error *err);
} saltus_gpu_lattice;

/** Make a stream and upload the model's tables, which have been made; no kernels and no particles
 * yet. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_set_up(saltus_gpu_lattice *s, saltus_error *err);
void saltus_gpu_lattice_tear_down(saltus_gpu_lattice *s);

/** Number of slabs that hold the lattice; 1: it is whole. */
int saltus_gpu_lattice_slabs(const saltus_gpu_lattice *s);
/** Load the kernels for counts of so many bits (0: for lists), and the kernels that both have. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_load(saltus_gpu_lattice *s, int bits,
                                                        saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_function(const saltus_gpu_lattice *s,
                                                            const char *name, cu_function *out,
                                                            saltus_error *err);
/** How many blocks of a kernel, each with so many bytes of shared memory, can run at the same time
 * on the GPU. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_blocks(const saltus_gpu_lattice *s,
                                                          cu_function kernel, int block,
                                                          size_t shared, int64_t *out,
                                                          saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_alloc(const saltus_gpu_lattice *s,
                                                         cu_pointer *out, size_t bytes,
                                                         saltus_error *err);
/** Free memory; *memory becomes 0. */
void saltus_gpu_lattice_free(const saltus_gpu_lattice *s, cu_pointer *memory);
/** Number of blocks that have a thread for each of n items, at least one. */
int64_t saltus_gpu_lattice_n_blocks(int64_t n, int block);
/** Start a kernel with one thread for each of n items. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_launch(const saltus_gpu_lattice *s,
                                                          cu_function kernel, int block, int64_t n,
                                                          saltus_error *err);
/** Start a kernel for phases. If blocks can wait for each other, all of them run at the same time.
 */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_launch_phases(const saltus_gpu_lattice *s,
                                                                 cu_function kernel, int block,
                                                                 size_t shared, int64_t n_blocks,
                                                                 saltus_error *err);
/** Reset the counters and the failure of a batch, and start its clock. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_begin_batch(const saltus_gpu_lattice *s,
                                                               int64_t used, saltus_error *err);
/** Stop the clock of a batch. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_batch(const saltus_gpu_lattice *s,
                                                             saltus_error *err);
/** Wait for the stream, and read s->used. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_query(saltus_gpu_lattice *s, saltus_error *err);
/** Put the particles of time 0, or those of `from` unless that is NULL, into a.m.site and
 * a.m.species, where there is capacity for them; waits. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_place(saltus_gpu_lattice *s, int64_t trajectory,
                                                         const saltus_contents *from,
                                                         saltus_error *err);
/** Set the arguments of a launch that describe its phases. */
void saltus_gpu_lattice_trace_phases(saltus_gpu_lattice *s, const saltus_mpd_phase *phases, int n);

/** Members of an engine (engine/rdme.h) that both kinds have. */
saltus_status saltus_gpu_lattice_run(void *user, const saltus_mpd_phase *phases, int n,
                                     saltus_error *err);
saltus_status saltus_gpu_lattice_poll(void *user, saltus_mpd_batch_status *out, saltus_error *err);
saltus_status saltus_gpu_lattice_count(void *user, int64_t *totals, saltus_error *err);
saltus_status saltus_gpu_lattice_split(void *user, saltus_split how, int64_t *out,
                                       saltus_error *err);

/** count and split in two parts each, between which the GPUs of other slabs start as well. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_start_count(const saltus_gpu_lattice *s,
                                                               saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_count(const saltus_gpu_lattice *s,
                                                             int64_t *totals, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_start_split(saltus_gpu_lattice *s,
                                                               saltus_split how, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_split(const saltus_gpu_lattice *s,
                                                             saltus_split how, int64_t *out,
                                                             saltus_error *err);

/** GPU memory that a trajectory takes, in bytes, roughly. */
int64_t saltus_cuda_bytes_of_lists(const saltus_mpd_tables *tables);
int64_t saltus_cuda_bytes_of_counts(const saltus_mpd_tables *tables);

/** Run jobs until there are none. `start` has gpus, cu, gpu, task and tables, which stay the
 * caller's. */
saltus_status saltus_cuda_work_lists(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err);
saltus_status saltus_cuda_work_counts(const saltus_gpu_lattice *start, const saltus_source *source,
                                      saltus_error *err);

/** Compile the kernels of a lattice (text.c), or fetch them from the cache: for counts of so
 * many bits, of one of some slabs or (1) of all, or (0) for lists. */
saltus_status saltus_cuda_compile_mpd(const saltus_mpd_tables *tables, int bits, int n_slabs,
                                      const saltus_limits *limits, saltus_image *out,
                                      saltus_error *err);
/** The layout of a lattice, saltus_backend_ops, on a GPU with so many bytes of memory; and the time
 * of a step in microseconds, of the whole lattice or, `in_slabs`, as if slabs held it. */
saltus_status saltus_cuda_choose_lattice(const saltus_lattice *lattice, double memory,
                                         saltus_layout wanted, saltus_layout *layout, char why[200],
                                         saltus_error *err);
double saltus_cuda_step_us(const saltus_lattice *lattice, saltus_layout layout, bool in_slabs);
/** Counts of a site: species, and one more if there is anybody who watches; and the bytes of so
 * many in a set, of the fewest bits each. */
int saltus_cuda_n_fields(const saltus_mpd_tables *tables);
double saltus_cuda_site_bytes(int n_fields);
enum { SALTUS_CUDA_MOST_FIELDS = 32, SALTUS_CUDA_LEAST_BITS = 4 };
/** Sites of a lattice where warps wait for memory, and there is little to do for more of them. */
enum { SALTUS_CUDA_SMALL_LATTICE = 1 << 23 };
/** Whether particles of time 0 are so few for the sites that counts of a whole lattice are sooner
 * searched by marks (kernel/rdme/sites.h); and whether the kernels for fields of so many bits do
 * that. */
bool saltus_cuda_is_sparse(const saltus_lattice *lattice);
bool saltus_cuda_is_marked(const saltus_mpd_tables *tables, int bits, int n_slabs);
/** Warps of a block that goes over a lattice's counts, of one of so many slabs. */
int saltus_cuda_most_warps(const saltus_mpd_tables *tables, int n_slabs);

#endif
