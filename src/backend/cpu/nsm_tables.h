/**
 * The tables of the next-subvolume method (kernel/rdme/nsm_lattice.h), made of a model's.
 */
#ifndef SALTUS_BACKEND_CPU_NSM_TABLES_H
#define SALTUS_BACKEND_CPU_NSM_TABLES_H

#include "engine/rdme.h"
#include "kernel/rdme/nsm_lattice.h"

typedef struct saltus_nsm_tables {
    /** Reactions, what comes from nothing, what is there at first: alike for both methods. */
    saltus_mpd_tables mpd;
    /** What the kernel reads. The arrays are owned here, but for those of `mpd`. */
    saltus_nsm_lattice l;
    size_t sources_capacity;
    /** [type] all sites of the type, if some law is not 0 in an empty one; else NULL */
    uint32_t **sites;
} saltus_nsm_tables;

/** On failure they are still to be freed. */
SALTUS_MUST_CHECK saltus_status saltus_nsm_tables_create(const saltus_task *task,
                                                         saltus_nsm_tables *out, saltus_error *err);
void saltus_nsm_tables_free(saltus_nsm_tables *t);

#endif
