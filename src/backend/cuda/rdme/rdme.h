/** Between the files that run lattices on a GPU, a trajectory per stream: what is common to lists
 * (particles.c) and counts (counts.c). */
#ifndef SALTUS_BACKEND_CUDA_RDME_RDME_H
#define SALTUS_BACKEND_CUDA_RDME_RDME_H

#include "backend/cuda/cuda.h"
#include "backend/cuda/device/stopwatch.h"
#include "backend/cuda/device/upload.h"
#include "engine/rdme.h"
#include "kernel/rdme/launch.h"

/** Who simulates lattices on one GPU; an engine of either kind begins with it. */
typedef struct saltus_gpu_lattice {
    saltus_gpus *gpus;
    const saltus_driver *cu;
    const saltus_gpu *gpu;
    const saltus_task *task;
    saltus_mpd_tables tables;
    saltus_uploaded model;
    saltus_mpd_launch a;
    int64_t work;                /**< saltus_mpd_batch_status; threads that count, */
    int block;                   /**< in blocks of so many */
    int64_t used;                /**< kernel/rdme/lattice.h, when it was asked for last; */
    bool is_lost;                /**< and whether another GPU was waited for in vain; */
    double passed[2], waited[2]; /**< cycles of that batch, of kernel/rdme/lattice.h */
    cu_stream stream;
    cu_event start, end; /**< of a batch, */
    int batch;           /**< of so many phases, */
    double batch_us;     /**< which took so long by the GPU's clock */
    cu_module module;
    cu_function count, split;
    saltus_stopwatch watch;
    cu_pointer answers, totals, parts;
    bool is_cooperative;  /**< blocks may wait for each other */
    size_t arrived_bytes; /**< of a.arrived */
    /** As many phases as one launch takes, at least one. */
    saltus_status (*launch_phases)(void *user, const saltus_mpd_phase *phases, int n, int *launched,
                                   saltus_error *err);
} saltus_gpu_lattice;

/** A stream with the model's tables, but no kernels and no particles; s->tables are made. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_set_up(saltus_gpu_lattice *s, saltus_error *err);
void saltus_gpu_lattice_tear_down(saltus_gpu_lattice *s);

/** Slabs that hold the lattice, 1: it is whole. */
int saltus_gpu_lattice_slabs(const saltus_gpu_lattice *s);
/** Load the kernels for counts of so many bits (0: for lists), and what is common to all. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_load(saltus_gpu_lattice *s, int bits,
                                                        saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_function(const saltus_gpu_lattice *s,
                                                            const char *name, cu_function *out,
                                                            saltus_error *err);
/** Blocks of a kernel with so many bytes of shared memory each that run at once on the GPU. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_blocks(const saltus_gpu_lattice *s,
                                                          cu_function kernel, int block,
                                                          size_t shared, int64_t *out,
                                                          saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_alloc(const saltus_gpu_lattice *s,
                                                         cu_pointer *out, size_t bytes,
                                                         saltus_error *err);
/** *memory becomes 0. */
void saltus_gpu_lattice_free(const saltus_gpu_lattice *s, cu_pointer *memory);
/** Blocks with a thread for each of n, at least one. */
int64_t saltus_gpu_lattice_n_blocks(int64_t n, int block);
/** Start a kernel in blocks of a size, one thread for each of n. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_launch(const saltus_gpu_lattice *s,
                                                          cu_function kernel, int block, int64_t n,
                                                          saltus_error *err);
/** Start a kernel for phases, which wait for each other if the blocks may: then all run at once. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_launch_phases(const saltus_gpu_lattice *s,
                                                                 cu_function kernel, int block,
                                                                 size_t shared, int64_t n_blocks,
                                                                 saltus_error *err);
/** Nothing has fired yet, and there has been no trouble. Time is taken from here on. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_begin_batch(const saltus_gpu_lattice *s,
                                                               int64_t used, saltus_error *err);
/** Time is taken until here. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_batch(const saltus_gpu_lattice *s,
                                                             saltus_error *err);
/** Wait, and ask what s->used is. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_query(saltus_gpu_lattice *s, saltus_error *err);
/** Put the particles of time 0 into a.m.site and .species, where there is room for them; waits. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_place(saltus_gpu_lattice *s, int64_t trajectory,
                                                         saltus_error *err);
/** Set what a launch of the phases is told of them. */
void saltus_gpu_lattice_trace_phases(saltus_gpu_lattice *s, const saltus_mpd_phase *phases, int n);

/** Parts of an engine (engine/rdme.h) that are common. */
saltus_status saltus_gpu_lattice_run(void *user, const saltus_mpd_phase *phases, int n,
                                     saltus_error *err);
saltus_status saltus_gpu_lattice_poll(void *user, saltus_mpd_batch_status *out, saltus_error *err);
saltus_status saltus_gpu_lattice_count(void *user, int64_t *totals, saltus_error *err);
saltus_status saltus_gpu_lattice_split(void *user, saltus_split how, int64_t *out,
                                       saltus_error *err);

/** The last two in two parts, between which the GPUs of other slabs start as well. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_start_count(const saltus_gpu_lattice *s,
                                                               saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_count(const saltus_gpu_lattice *s,
                                                             int64_t *totals, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_start_split(saltus_gpu_lattice *s,
                                                               saltus_split how, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_lattice_end_split(const saltus_gpu_lattice *s,
                                                             saltus_split how, int64_t *out,
                                                             saltus_error *err);

/** Bytes of a GPU's memory that a trajectory takes, roughly. */
int64_t saltus_cuda_bytes_of_lists(const saltus_mpd_tables *tables);
int64_t saltus_cuda_bytes_of_counts(const saltus_mpd_tables *tables);

/** Work off jobs: `start` has gpus, cu, gpu, task and tables, which stay the caller's. */
saltus_status saltus_cuda_work_lists(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err);
saltus_status saltus_cuda_work_counts(const saltus_gpu_lattice *start, const saltus_source *source,
                                      saltus_error *err);
/** The same in slabs, one after the other on all GPUs. */
saltus_status saltus_cuda_work_slabs(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err);

#endif
