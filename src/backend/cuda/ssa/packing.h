/** A frozen mass-action network's tables in the packed form of kernel/ssa/packed.h. */
#ifndef SALTUS_BACKEND_CUDA_SSA_PACKING_H
#define SALTUS_BACKEND_CUDA_SSA_PACKING_H

#include "core/status.h"
#include "kernel/ssa/packed.h"

/** Why a model cannot be packed, with wide rows or without, or NULL. */
const char *saltus_packing_against(const saltus_tables *tables, bool is_wide);

/** Why neither warps nor threads can simulate a network with hubs, or, with bounds near each other,
 * threads cannot (kernel/ssa/hubs_warp.h, hubs_thread.h); or NULL. */
const char *saltus_hubs_against(const saltus_tables *tables, bool are_near);

/** Hubs that have classes: a thread keeps a number of each. */
int saltus_packed_kept(const saltus_tables *tables);

/** Pack the hubs of at most 65,535 species: out->tables becomes [hub] saltus_packed_hub, a block of
 * out->bytes on the host, the caller's to free with saltus_free. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_pack_hubs(const saltus_tables *tables, saltus_packed *out,
                                                 saltus_error *err);

/** Pack: out->tables becomes a block of out->bytes on the host, the caller's to free with
 * saltus_free. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_pack(const saltus_tables *tables, bool is_wide,
                                            saltus_packed *out, saltus_error *err);

#endif
