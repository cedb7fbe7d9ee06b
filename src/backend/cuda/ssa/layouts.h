/** Layouts: where the state of a trajectory stands on a GPU, which kernel works on it, and what
 * that takes. */
#ifndef SALTUS_BACKEND_CUDA_SSA_LAYOUTS_H
#define SALTUS_BACKEND_CUDA_SSA_LAYOUTS_H

#include "backend/cuda/device/gpu.h"
#include "backend/cuda/device/kernels.h"
#include "engine/layout.h"
#include "kernel/ssa/packed.h"

/** The limits of a compute capability, where no GPU is there to ask. */
saltus_limits saltus_limits_of(int major, int minor);

/** Whose kernel a layout runs; each has its own state. */
typedef enum saltus_state {
    SALTUS_STATE_TREE,      /**< tree_thread.h: all that any model may have, in global memory */
    SALTUS_STATE_REGISTERS, /**< direct_thread.h, its state written by registers.c */
    SALTUS_STATE_TABLE,     /**< direct_thread.h, its state by direct_table.h */
    SALTUS_STATE_WARP,      /**< direct_warp.h */
    SALTUS_STATE_HUBS,      /**< hubs_worker.h, of a warp or of a thread */
} saltus_state;

/** Threads of a block where nothing asks for another size. */
enum { SALTUS_USUAL_BLOCK = 256 };

/** What a kernel must do. */
typedef struct saltus_needs {
    int rng; /**< SALTUS_RNG_…, kernel/base/stream.h */
    saltus_method method;
    const uint8_t *varies; /**< [number of a point's row] whether it is not the same for all jobs;
                                NULL: there is one point */
    const uint8_t *given;  /**< likewise what may not be the same in the next run; NULL: all is */
    int64_t share;         /**< trajectories for each multiprocessor; 0: very many */
} saltus_needs;

/** A layout made for a model. */
typedef struct saltus_ssa_layout {
    saltus_state state;
    saltus_needs needs;
    int block;                 /**< threads per block */
    int threads_each;          /**< of a trajectory: 1, or a warp's 32 */
    int least_blocks;          /**< of a multiprocessor at once, for which registers must suffice;
                                    0: the compiler chooses */
    int64_t workspace_doubles; /**< of a block's workspace; 0: it has none */
    bool workspace_is_shared;  /**< it is in shared memory */
    bool tables_are_shared;
    bool has_arrays;      /**< trajectories have all that trajectory.h needs in global memory: those
                               of the tree, and all with events */
    size_t shared_bytes;  /**< that a launch gives each block */
    saltus_packed packed; /**< bytes > 0: its tables are the host's */
} saltus_ssa_layout;

/**
 * The largest block, a multiple of 32, whose threads take `thread_bytes` each beside `fixed_bytes`
 * for all; 0 when not even 32 threads fit. (Klingbeil et al. 2012, section 3.2: with 16 kB, 4 bytes
 * for each species and reaction and at most 512 threads.)
 */
int saltus_largest_block(int64_t bytes, int64_t fixed_bytes, int64_t thread_bytes, int limit);

/** Why a layout (not SALTUS_LAYOUT_AUTO) does not fit a model and these needs on such a GPU in
 * blocks of any size, or NULL. */
const char *saltus_layout_against(saltus_layout layout, const saltus_tables *tables,
                                  saltus_needs needs, const saltus_limits *limits);

/** The fastest layout that fits. *before: the next faster one, which does not, or is not faster for
 * so many trajectories; SALTUS_LAYOUT_AUTO: there is none. *why_not: the reason. */
saltus_layout saltus_layout_choose(const saltus_tables *tables, saltus_needs needs,
                                   const saltus_limits *limits, saltus_layout *before,
                                   const char **why_not);

/** What an event costs by the direct method: nanoseconds of a whole GPU, and of one thread from one
 * event to the next. */
typedef struct saltus_layout_cost {
    double gpu_ns, thread_ns;
} saltus_layout_cost;
saltus_layout_cost saltus_layout_cost_of(saltus_layout layout, const saltus_tables *tables);

/**
 * Make a layout for a model.
 *
 * @param block  threads per block: 0 to choose, else a multiple of 32 up to 1024
 * @retval SALTUS_E_INVALID blocks of that size do not fit; the message tells the largest that do
 */
SALTUS_MUST_CHECK saltus_status saltus_layout_make(saltus_layout layout,
                                                   const saltus_tables *tables, saltus_needs needs,
                                                   const saltus_limits *limits, int block,
                                                   saltus_ssa_layout *out, saltus_error *err);
void saltus_layout_free(saltus_ssa_layout *layout);

/**
 * Compile the kernel of a layout for a model and its columns, or fetch it from the cache, as
 * saltus_kernel_compile does and with its errors.
 *
 * @param[out] entry name of the kernel in the image; constant
 */
SALTUS_MUST_CHECK saltus_status saltus_layout_compile(
    const saltus_ssa_layout *layout, const saltus_tables *tables, const saltus_columns *columns,
    const saltus_limits *limits, saltus_image *out, const char **entry, saltus_error *err);

#endif
