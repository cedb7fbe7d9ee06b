/** A frozen model's tables in a device's memory. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_UPLOAD_H
#define SALTUS_BACKEND_CUDA_DEVICE_UPLOAD_H

#include "backend/backend.h"
#include "backend/cuda/device/driver.h"
#include "engine/rdme.h"
#include "kernel/ssa/packed.h"

/** The data of a task as one block of bytes whose pointers are those of the device. */
typedef struct saltus_uploaded {
    cu_pointer memory;
    cu_pointer tables, times, packed, jumps;
    saltus_hub_arrays hubs; /**< in device memory */
    saltus_columns columns; /**< columns, whose arrays are in device memory */
    saltus_mpd space;       /**< tables of the lattice in device memory; no particles */
    cu_pointer rows;        /**< rows of the lattice's laws (engine/rdme.h) */
    cu_pointer column_of;   /**< saltus_mpd_launch.column_of, for the task's recording */
    cu_pointer edges;       /**< edges of the task's reduction; 0: it has none */
    cu_pointer wanted;      /**< what the task's derivation wants; 0: it has none */
} saltus_uploaded;

/** Copy a task's tables, those of its lattice if it has one (else NULL), columns, times, edges and
 * its generator's tables, and packed tables, of which there may be none (0 bytes), to the device of
 * the current context. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_upload(const saltus_driver *cu, const saltus_task *task,
                                              const saltus_packed *packed,
                                              const saltus_mpd_tables *space, saltus_uploaded *out,
                                              saltus_error *err);
void saltus_upload_free(const saltus_driver *cu, saltus_uploaded *uploaded);

#endif
