/** One lattice in slabs on several GPUs: the slabs (slabs.c), how they reach each other
 * (connect.c), which GPU has which and what they can launch (split.c), how planes move between them
 * (balance.c), halos by way of the host (staging.c), slabs of other processes (remote.c), and
 * reports (explain.c). */
#ifndef SALTUS_BACKEND_CUDA_SLABS_SLABS_H
#define SALTUS_BACKEND_CUDA_SLABS_SLABS_H

#include "backend/cuda/rdme/counts.h"
#include "engine/slab.h"

typedef struct saltus_gpu_slab {
    saltus_gpu_counts c;
    /** [even, odd launch] recorded behind the launch. */
    cu_event done[2];
    /** Recorded before and after the launch of the last phase of a batch. */
    cu_event timed[2];
    /** Time of a phase in us, without waiting, averaged over the batches since a move was last
     * considered. */
    double us;
    /** Clock cycles of all batches, both sides together (kernel/rdme/lattice.h). */
    double passed, waited;
    /** Phases that the neighbours [below, above] have ended, which they write here, SALTUS_APART
     * numbers apart. */
    cu_pointer ended;
    /** [even, odd launch][below, above] staged: the halo for the neighbour, in pinned memory of the
     * host. */
    void *sent[2][2];
    /** [below, above] staged: the same on this slab's GPU, to which kernels add. */
    cu_pointer leaving[2];
    /** The old counts, while planes are moved (saltus_gpu_counts_resize). */
    cu_pointer before;
    /** The first site in the lattice, and the number of sites, before planes were moved. */
    int64_t was, was_n;
    /** It is another process's, which reaches it: here it has the numbers of its sites, `ended` and
     * its sets if this GPU reaches them, and in `sent` what has come from it. */
    bool is_remote;
} saltus_gpu_slab;

typedef struct saltus_gpu_slabs {
    saltus_gpu_slab *slab;
    int n;
    /** Those of this process are first to end - 1: all, or one (task->peers). */
    int first, end;
    /** Slabs of other processes are reached, since memory last changed. */
    bool is_connected;
    /** The last slab is next to the first. */
    bool is_ring;
    /** Halos go by way of the host, because some neighbours cannot add to each other's memory. */
    bool is_staged;
    /** A launch has many phases, in which slabs wait for each other. */
    bool is_joint;
    /** Counts of all parts of a slab; scratch. */
    int64_t *sums;
    /** Launches so far, those of gathering and of arrivals too. */
    int64_t n_launches;
    /** Phases that have ended; and those that had before this batch. */
    int64_t n_ended, began;
    /** Sites of a plane. */
    int64_t plane;
    /** Phases are timed. */
    bool takes_times;
    /** Planes may move. */
    bool balances;
    /** Planes that move together, so that words need not be shifted. */
    int unit;
    /** Batches since a move was last considered; and at which number it is considered again. */
    int n_timed, wait;
    /** Phases since a move was last considered. */
    int64_t n_since;
    /** Time that moving planes takes, in us. */
    double move_us;
    /** Moves in a row that have not helped. */
    int n_vain;
    /** Time of a phase in us, averaged over batches; the last ones count most. */
    double phase_us;
    /** phase_us before planes last moved; 0: the move has been judged. */
    double unmoved_us;
    /** The schedule of all slabs, in rows or spread. */
    saltus_gpu_schedule schedule;
    /** This run holds the lock for launches that wait for each other. */
    bool has_turn;
} saltus_gpu_slabs;

/** Make the GPU of a slab the current one. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slab_use(const saltus_gpu_slab *s, saltus_error *err);
/** Where the halo below (0) or above (1) begins in a set, in bytes; and its bytes. */
uint64_t saltus_gpu_slab_halo(const saltus_gpu_slab *s, int side);
size_t saltus_gpu_slab_halo_bytes(const saltus_gpu_slab *s);
/** The slab below (0) or above (1) number i; NULL: there is none. */
saltus_gpu_slab *saltus_gpu_slabs_next(const saltus_gpu_slabs *s, int i, int side);
/** Set the addresses of all halos and flags, after memory or sites have changed; and of slab i,
 * when its warps share sites in another way, which blocks take part in the halo exchange. */
void saltus_gpu_slabs_connect(saltus_gpu_slabs *s);
void saltus_gpu_slabs_sync(const saltus_gpu_slabs *s, int i);

/** Widen the fields of this process's slabs until they have so many bits. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_widen(saltus_gpu_slabs *s, int bits,
                                                       saltus_error *err);

/** Which GPUs have n slabs: slab i is on gpus->gpu[order[i % gpus->n]]. If heights are equal (or
 * `heights` is NULL), neighbours are placed where links are best, else in the order given. */
void saltus_gpu_slabs_order(const saltus_gpus *gpus, const saltus_lattice *l, const double *heights,
                            int n, int order[SALTUS_MAX_GPUS]);
/** Check that slabs of this process have numbers for their sites, and GPUs in that order memory for
 * them. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_check(const saltus_gpu_slabs *s,
                                                       const saltus_gpu_lattice *start,
                                                       const int *order, saltus_error *err);

/** Let GPUs add to their neighbours' memory; where one cannot, halos are staged. Choose whether a
 * launch is many phases, in which slabs wait for each other: all must run at the same time. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_choose_launches(saltus_gpu_slabs *s,
                                                                 saltus_error *err);

/** Staging. `stage` allocates. In each phase of slab i, `fetch` copies arrivals of the phase before
 * into its halos, before its kernel; `send` copies departures to the host, behind its kernel. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_stage(saltus_gpu_slabs *s, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_fetch(const saltus_gpu_slabs *s, int i,
                                                       saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_send(const saltus_gpu_slabs *s, int i,
                                                      saltus_error *err);
void saltus_gpu_slab_unstage(const saltus_driver *cu, saltus_gpu_slab *s);

/** Slabs of other processes (remote.c); all processes call these together. `reach_out` gives slabs
 * as many bits as the one that has most, reaches the neighbours' memory or stages halos, and
 * chooses launches. `let_go` gives their memory back, before its owners free it. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_reach_out(saltus_gpu_slabs *s, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_let_go(saltus_gpu_slabs *s, saltus_error *err);
/** Between two launches of a batch: wait for the neighbours' last one, and take what they have sent
 * where halos are staged. `status` is what this process has come to: it takes part all the same,
 * and what is new is added. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_pass(saltus_gpu_slabs *s, saltus_status *status,
                                                      saltus_error *err);

/** How many planes hold a whole number of words, also where fields have the fewest bits. */
int saltus_slabs_unit(int64_t plane, int n_fields);
/** Add the traffic of halos, and waiting, to the task's report. */
void saltus_gpu_slabs_report(const saltus_gpu_slabs *s);

/** Forget how planes have moved, at the begin of a trajectory; forget times that say nothing about
 * those to come. */
void saltus_gpu_slabs_start_balance(saltus_gpu_slabs *s);
void saltus_gpu_slabs_forget_times(saltus_gpu_slabs *s);
/** Take the time of a phase of each slab, in a batch that has ended; add it to the trace. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_take_times(saltus_gpu_slabs *s, saltus_error *err);
/** Between two batches: move planes to slabs that are done early, if that pays; or move them back,
 * if it did not. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_slabs_balance(saltus_gpu_slabs *s, saltus_error *err);

/** Slabs of planes (split.c): how many of equal height are soonest done on GPUs that have
 * room for them; whether the sites of one have numbers in 32 bits; how many it takes so that they
 * have, 0: a plane is too large; and its bytes, of so many counts in a site and sets of sites. */
int saltus_cuda_choose_slabs(const saltus_gpus *gpus, const saltus_lattice *lattice);
bool saltus_cuda_slab_has_numbers(int64_t plane, int64_t n_planes);
int64_t saltus_cuda_least_slabs(const saltus_lattice *lattice);
double saltus_cuda_slab_bytes(const saltus_lattice *lattice, int n_fields, int n_sets,
                              int64_t n_planes);
/** What saltus_backend_ops.explain_slabs prints (explain.c). */
void saltus_slabs_explain(const saltus_gpus *gpus, const saltus_lattice *lattice,
                          const saltus_slab_plan *slabs, FILE *out);

/** Run jobs in slabs on all GPUs, one trajectory after the other, until there are none. `start` is
 * that of saltus_cuda_work_counts. */
saltus_status saltus_cuda_work_slabs(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err);

#endif
