/** Slabs of a lattice on GPUs (slabs.c), how they share it out (split.c) and are levelled
 * (balance.c), how particles come from one to the next by way of the host (staging.c), and
 * what is told of all that (explain.c). */
#ifndef SALTUS_BACKEND_CUDA_SLABS_SLABS_H
#define SALTUS_BACKEND_CUDA_SLABS_SLABS_H

#include "backend/cuda/rdme/counts.h"

typedef struct saltus_gpu_slab {
    saltus_gpu_counts c;
    cu_event done[2];  /**< with an even launch, and with an odd one */
    cu_event timed[2]; /**< before and after the launch of the last phase of a batch */
    double us;         /**< of a phase, without waiting, of batches since moves were thought of */
    double passed, waited; /**< cycles of all batches, of both sides (kernel/rdme/lattice.h) */
    cu_pointer ended; /**< phases that [below, above] neighbours have ended, SALTUS_APART apart */
    void *sent[2][2]; /**< staged: [even or odd launch] who leaves it to [below, above], on
                           the host */
    cu_pointer leaving[2]; /**< and, before, on its GPU */
    cu_pointer before;     /**< while planes are moved: saltus_gpu_counts_resize's */
    int64_t was, was_n;    /**< its first site in the lattice then, and how many */
} saltus_gpu_slab;

typedef struct saltus_gpu_slabs {
    saltus_gpu_slab *slab;
    int n;
    bool is_ring;           /**< the last one is next to the first */
    bool is_staged;         /**< some neighbours do not reach each other's memory */
    bool is_joint;          /**< a launch has many phases, in which slabs wait for each other */
    int64_t *sums;          /**< of a slab, room for counts of all parts */
    int64_t n_launches;     /**< so far, those of gather and of arriving too; */
    int64_t n_ended, began; /**< phases, and those before this batch */
    int64_t plane;          /**< sites of one */
    bool takes_times;       /**< of phases */
    bool balances;          /**< planes may move, */
    int unit;               /**< so many together, so that words do */
    int n_timed, wait;      /**< batches since moves were thought of, and until then */
    int64_t n_since;        /**< phases since then */
    double move_us;         /**< that moving planes takes */
    int n_vain;             /**< moves in a row that have not helped */
    double phase_us;        /**< of a phase, of the batches so far, the last ones above all; */
    double unmoved_us;      /**< and before planes moved last; 0: that has been looked at */
    saltus_gpu_schedule schedule; /**< that all slabs go */
    bool has_turn;                /**< its launches wait for each other, and nobody else's do */
} saltus_gpu_slabs;

/** What follows is for the GPU of a slab. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slab_use(const saltus_gpu_slab *s, saltus_error *err);
/** Where in a set the margin below (0) or above (1) begins, and its bytes. */
uint64_t saltus_gpu_slab_halo(const saltus_gpu_slab *s, int side);
size_t saltus_gpu_slab_halo_bytes(const saltus_gpu_slab *s);
/** The slab below (0) or above (1) number i; NULL: there is none. */
saltus_gpu_slab *saltus_gpu_slabs_next(const saltus_gpu_slabs *s, int i, int side);
/** Tell all slabs where their neighbours are, again. */
void saltus_gpu_slabs_connect(saltus_gpu_slabs *s);

/** Which GPUs have n slabs: slab i is on gpus->gpu[order[i % gpus->n]]. If slabs are of equal
 * height by wish (or heights are NULL), neighbours are where links are best, else in the order
 * given. */
void saltus_gpu_slabs_order(const saltus_gpus *gpus, const saltus_lattice *l, const double *heights,
                            int n, int order[SALTUS_MAX_GPUS]);
/** Whether slabs have numbers for their sites, and GPUs in that order room for them; planes come in
 * units. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_check(const saltus_gpu_lattice *start,
                                                       const int *order, int unit,
                                                       saltus_error *err);

/** Staging: room for those who leave; then, in each phase of slab i, before its kernel, fetch into
 * its margins who came in the phase before, and after it send who leaves. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_stage(saltus_gpu_slabs *s, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_fetch(const saltus_gpu_slabs *s, int i,
                                                       saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_send(const saltus_gpu_slabs *s, int i,
                                                      saltus_error *err);
void saltus_gpu_slab_unstage(saltus_gpu_slab *s);

/** The plane at which slab i of n begins, a multiple of `unit`; each has so many at least; and how
 * many planes hold a whole number of words, also where fields have the fewest bits. */
int64_t saltus_slabs_begin(const double *heights, int n, int i, int64_t n_planes, int unit);
int saltus_slabs_unit(int64_t plane, int n_fields);
/** Tell the task's report how particles cross. */
void saltus_gpu_slabs_report(const saltus_gpu_slabs *s);

/** At the begin of a trajectory; and where times so far tell nothing of those to come. */
void saltus_gpu_slabs_start_balance(saltus_gpu_slabs *s);
void saltus_gpu_slabs_forget_times(saltus_gpu_slabs *s);
/** How long a phase of a batch that has ended has taken each slab; who traces the run is told. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_take_times(saltus_gpu_slabs *s, saltus_error *err);
/** Between two batches: move planes to those that are soon done, if that pays, or back, if it did
 * not. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_balance(saltus_gpu_slabs *s, saltus_error *err);

#endif
