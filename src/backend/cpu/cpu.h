/** What the files of the CPU backend share. */
#ifndef SALTUS_BACKEND_CPU_CPU_H
#define SALTUS_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "engine/scalar.h"

/** A way to compute: lanes.c, rates.c, leaps.c and nsm.c, compiled for an instruction set. */
typedef struct saltus_cpu_variant {
    const saltus_instruction_set *set;
    int lanes, slots; /**< trajectories at a time, by the direct method; by tau-leaping */
    int rate_lanes;   /**< and of a model with rate rules */
    /** Run jobs of a model with rate rules, many at a time in lanes. */
    saltus_status (*work_rates)(const saltus_task *task, const saltus_source *source,
                                saltus_error *err);
    /** Run jobs by each method: many at a time in lanes without a lattice, one at a time with one.
     */
    saltus_status (*work[SALTUS_N_METHODS])(const saltus_task *task, const saltus_source *source,
                                            saltus_error *err);
} saltus_cpu_variant;

/** The variants that were built, the widest first; ended by NULL. */
extern const saltus_cpu_variant *const saltus_cpu_variants[];

/** Whether times at which something happens follow from counts, so that engines alone find them. */
static inline bool saltus_cpu_follows_times(const saltus_tables *n)
{
    return n->watches_state && (n->watched_clocks > 0 || n->n_turning > 0);
}

/** Run jobs of a model with a lattice, one at a time; or have a slab of one, with the task's peers
 * (rdme.c). */
saltus_status saltus_work_mpd(const saltus_task *task, const saltus_source *source,
                              saltus_error *err);
saltus_status saltus_work_mpd_slab(const saltus_task *task, const saltus_source *source,
                                   saltus_error *err);

#endif
