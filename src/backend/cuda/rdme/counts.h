/** Counts of a lattice on a GPU, or of a slab of its planes (counts.c), how warps share out its
 * sites (share.c), and what is there at time 0 (place.c). */
#ifndef SALTUS_BACKEND_CUDA_RDME_COUNTS_H
#define SALTUS_BACKEND_CUDA_RDME_COUNTS_H

#include "backend/cuda/rdme/rdme.h"

/** Of two ways for warps to share out sites, in rows or spread, the one that is not used is tried
 * now and then. */
typedef struct saltus_gpu_schedule {
    double us, usual_us; /**< of some batches so far, and of a phase when none was tried last */
    int phases;          /**< of those batches */
    int wait, left;      /**< as many times as many phases between two tries, and until the next */
    bool is_try;
} saltus_gpu_schedule;

typedef struct saltus_gpu_counts {
    saltus_gpu_lattice on;
    cu_function run, scatter, fill, watch, widen, arrive;
    int bits, words, sharers;     /**< of a field, of a site, and sites of a word */
    int block;                    /**< threads of one that goes over the sites, */
    size_t shared;                /**< its bytes of shared memory, */
    int64_t n_blocks;             /**< and how many there are, all at once */
    int64_t row;                  /**< sites that a warp has in a row, unless they are spread; */
    int32_t reach;                /**< the launch's, then */
    bool is_spread;               /**< if they can be */
    saltus_gpu_schedule schedule; /**< of a whole lattice */
    cu_pointer sets[2], kept;     /**< kept: what gather has found; 0 until then */
    size_t capacity;              /**< bytes of each of these, */
    bool stays;                   /**< which is enough for the sites that there will be */
    cu_pointer arrived;           /**< the launch's */
    cu_pointer types;             /**< of a slab's sites, and of the planes beside it */
    cu_pointer *held; /**< [n_held] memory of what follows, with addresses of the GPU's: */
    int n_held;
    saltus_mpd_sites *sites; /**< [set] of the tables' sets, and */
    uint64_t watched;        /**< [type] the types that are watched */
    int64_t halo; /**< places before the first site, and behind the last, for those who leave a
                         slab; 0: this is all of the lattice */
} saltus_gpu_counts;

/** The number in the lattice of the first site, and how many sites there are. */
static inline int64_t saltus_gpu_counts_first(const saltus_gpu_counts *s)
{
    return s->on.a.m.slab.zero + s->on.a.first_site;
}
static inline int64_t saltus_gpu_counts_sites(const saltus_gpu_counts *s)
{
    return s->on.a.end_site - s->on.a.first_site;
}

/** Empty memory and kernels for sites from `first` on, but before `end`; set up, not begun. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_set_up(saltus_gpu_counts *s, int64_t first,
                                                         int64_t end, saltus_error *err);
/** Other sites for a slab, as the first set, empty; its counts so far, whose site number `margin`
 * was its first, become *before. Then, when all who want some of these have them, the other set. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_resize(saltus_gpu_counts *s, int64_t first,
                                                         int64_t end, cu_pointer *before,
                                                         saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_resized(saltus_gpu_counts *s, cu_pointer *before,
                                                          saltus_error *err);
void saltus_gpu_counts_tear_down(saltus_gpu_counts *s);

/** Share out the sites among blocks and their warps, for kernels that are loaded. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_share_out(saltus_gpu_counts *s,
                                                            saltus_error *err);
/** Whether there are two ways: each warp has sites in a row, and blocks wait for those near them;
 * or it looks here and there, which is better where particles are crowded, and blocks wait for all.
 */
bool saltus_gpu_counts_can_spread(const saltus_gpu_counts *s);
void saltus_gpu_counts_spread(saltus_gpu_counts *s, bool is_spread);
/** A batch of so many phases has taken so long; whether the next one is to go the other way, if it
 * can. */
bool saltus_gpu_schedule_learn(saltus_gpu_schedule *schedule, bool can, double us, int phases);

/** What this slab has of the tables' sets of sites, and of origins (place.c); with other sites,
 * forget that first. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_find_sites(saltus_gpu_counts *s,
                                                             saltus_error *err);
void saltus_gpu_counts_forget(saltus_gpu_counts *s);
/** Put the particles of time 0 into an empty set, those of them that come here; does not wait for
 * the last. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_place(saltus_gpu_counts *s, saltus_error *err);

/** Begin a trajectory, and count particles, when other slabs have started that as well. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_start_begin(saltus_gpu_counts *s,
                                                              int64_t trajectory,
                                                              saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_end_begin(saltus_gpu_counts *s,
                                                            saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_end_count(saltus_gpu_counts *s, int64_t *totals,
                                                            saltus_error *err);

/** Those parts of an engine (engine/rdme.h) whose user is one of these. */
saltus_status saltus_gpu_counts_gather(void *user, saltus_error *err);
saltus_status saltus_gpu_counts_restore(void *user, saltus_error *err);
saltus_status saltus_gpu_counts_collect(void *user, saltus_contents *contents, saltus_error *err);
saltus_status saltus_gpu_counts_launch(void *user, const saltus_mpd_phase *phases, int n,
                                       int *launched, saltus_error *err);

#endif
