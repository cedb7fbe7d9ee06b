/** Slabs of a lattice on GPUs (mpd_slabs.c), and how they are levelled (mpd_balance.c). */
#ifndef SALTUS_BACKEND_CUDA_MPD_SLABS_H
#define SALTUS_BACKEND_CUDA_MPD_SLABS_H

#include "backend/cuda/mpd_counts.h"

typedef struct saltus_gpu_slab {
    saltus_gpu_counts c;
    cu_event done[2];   /**< with an even phase, and with an odd one */
    cu_event timed[2];  /**< before and after the last phase of a batch, */
    double us;          /**< what lies between them, of the batches since planes were moved */
    cu_pointer before;  /**< while planes are moved: saltus_gpu_counts_resize's */
    int64_t was, was_n; /**< its first site in the lattice then, and how many */
} saltus_gpu_slab;

typedef struct saltus_gpu_slabs {
    saltus_gpu_slab *slab;
    int n;
    bool is_ring;      /**< the last one is next to the first */
    int64_t *sums;     /**< of a slab, room for counts of all parts */
    int64_t n_phases;  /**< so far */
    int64_t plane;     /**< sites of one */
    bool balances;     /**< planes may move, */
    int unit;          /**< so many together, so that words do */
    int batch;         /**< phases of the last one */
    int n_timed, wait; /**< batches since planes were moved, and before they may be again */
} saltus_gpu_slabs;

/** What follows is for the GPU of a slab. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slab_use(const saltus_gpu_slab *s, saltus_error *err);
/** Its sites. */
int64_t saltus_gpu_slab_height(const saltus_gpu_slab *s);
/** Tell all slabs where their neighbours are, again. */
void saltus_gpu_slabs_connect(saltus_gpu_slabs *s);

/** Between two batches: move planes to those that are soon done, if that pays. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_balance(saltus_gpu_slabs *s, saltus_error *err);

#endif
