/** Counts of a lattice on a GPU, or of a slab of its planes (counts.c); how warps share its sites
 * (share.c); and its particles of time 0 (place.c). */
#ifndef SALTUS_BACKEND_CUDA_RDME_COUNTS_H
#define SALTUS_BACKEND_CUDA_RDME_COUNTS_H

#include "backend/cuda/rdme/rdme.h"

/** Which of two ways warps share sites in, in segments or spread. The way that is not in use is
 * tried now and then. */
typedef struct saltus_gpu_schedule {
    /** Time of some batches so far, in us; and of a phase when the usual way was last timed. */
    double us, usual_us;
    /** Phases of those batches. */
    int phases;
    /** Rounds of TRY_PHASES phases between two tries, and until the next one. */
    int wait, left;
    bool is_try;
} saltus_gpu_schedule;

/** Words of a set that are collected (collect.c): where they are, what sites they hold, and how. */
typedef struct saltus_gpu_words {
    cu_pointer set;
    /** In which they are copied to the host. */
    cu_stream stream;
    /** As those of saltus_gpu_counts. */
    int bits, words, sharers;
    int64_t halo;
    /** The number in the lattice of the first site; and how many sites there are. */
    int64_t first, n_sites;
    /** Pinned memory of the host; NULL until then. */
    void *read[2];
} saltus_gpu_words;

typedef struct saltus_gpu_counts {
    saltus_gpu_lattice on;
    cu_function run, scatter, fill, watch, widen, arrive;
    /** Bits of a field, words of a site, sites of a word. */
    int bits, words, sharers;
    /** A set's counts have marks behind them (kernel/rdme/sites.h). */
    bool is_marked;
    /** Threads of a block that goes over the sites. */
    int block;
    /** Shared memory of such a block, in bytes. */
    size_t shared;
    /** Number of such blocks, all of which run at the same time. */
    int64_t n_blocks;
    /** Sites in a row of a warp, unless tiles are spread. */
    int64_t row;
    /** saltus_mpd_launch.reach, unless tiles are spread. */
    int32_t reach;
    /** Tiles are spread, if they can be. */
    bool is_spread;
    /** The schedule of a whole lattice; slabs have one in common. */
    saltus_gpu_schedule schedule;
    /** The two sets; and a copy that gather has made to go back to, 0 until then. */
    cu_pointer sets[2], kept;
    /** Bytes of each set. */
    size_t capacity;
    /** The sets are large enough for the sites to come. */
    bool stays;
    /** saltus_mpd_launch.arrived. */
    cu_pointer arrived;
    /** While a trajectory begins: what it goes on with, of which the slab has a part; NULL: it
     * begins at time 0. */
    const saltus_contents *from;
    /** What is collected from: the present set, and a copy of one while the engine goes on. */
    saltus_gpu_words now, aside;
    pthread_mutex_t aside_lock;
    /** Types of the slab's sites, and of the planes beside it. */
    cu_pointer types;
    /** [n_held] GPU memory to which the following members point. */
    cu_pointer *held;
    int n_held;
    /** [set] what this slab has of the tables' sets of sites. */
    saltus_mpd_sites *sites;
    /** [type] the types whose sites have an empty-site token. */
    uint64_t watched;
    /** Places of a halo, before the first site and behind the last; 0: this is the whole lattice.
     */
    int64_t halo;
} saltus_gpu_counts;

/** The number in the lattice of the first site; and how many sites there are. */
static inline int64_t saltus_gpu_counts_first(const saltus_gpu_counts *s)
{
    return s->on.a.m.slab.zero + s->on.a.first_site;
}
static inline int64_t saltus_gpu_counts_sites(const saltus_gpu_counts *s)
{
    return s->on.a.end_site - s->on.a.first_site;
}

/** Allocate memory and load kernels for sites `first` to `end` - 1. No trajectory is begun. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_set_up(saltus_gpu_counts *s, int64_t first,
                                                         int64_t end, saltus_error *err);
/** Change the sites of a slab. The first set is that of the new sites, empty. The old counts become
 * *before, whose place `halo` was the slab's first site. When all slabs have copied from them,
 * saltus_gpu_counts_resized makes the other set. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_resize(saltus_gpu_counts *s, int64_t first,
                                                         int64_t end, cu_pointer *before,
                                                         saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_resized(saltus_gpu_counts *s, cu_pointer *before,
                                                          saltus_error *err);
void saltus_gpu_counts_tear_down(saltus_gpu_counts *s);

/** Share the sites among blocks and their warps, for kernels that are loaded. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_share_out(saltus_gpu_counts *s,
                                                            saltus_error *err);
/** Whether there is a choice. In segments, a warp has sites in a row, and blocks wait for near
 * blocks. Spread, a warp has tiles here and there, which is better where particles are crowded, and
 * blocks wait for all. */
bool saltus_gpu_counts_can_spread(const saltus_gpu_counts *s);
void saltus_gpu_counts_spread(saltus_gpu_counts *s, bool is_spread);
/** A batch of so many phases has taken so long. Returns whether the next one is to go the other
 * way; `can`: whether there is a choice. */
bool saltus_gpu_schedule_learn(saltus_gpu_schedule *schedule, bool can, double us, int phases);

/** Find what this slab has of the tables' sets of sites, and of sources (place.c). When the sites
 * change, that is forgotten first. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_find_sites(saltus_gpu_counts *s,
                                                             saltus_error *err);
void saltus_gpu_counts_forget(saltus_gpu_counts *s);
/** Put those particles of time 0 that belong to this slab into an empty set. Does not wait for the
 * GPU. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_place(saltus_gpu_counts *s, saltus_error *err);

/** begin, and count, in two parts, so that the GPUs of other slabs start meanwhile. */
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_start_begin(saltus_gpu_counts *s,
                                                              int64_t trajectory,
                                                              const saltus_contents *from,
                                                              saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_end_begin(saltus_gpu_counts *s,
                                                            saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_gpu_counts_end_count(saltus_gpu_counts *s, int64_t *totals,
                                                            saltus_error *err);

/** Members of an engine (engine/rdme.h) whose `user` is a saltus_gpu_counts. */
saltus_status saltus_gpu_counts_gather(void *user, saltus_error *err);
saltus_status saltus_gpu_counts_restore(void *user, saltus_error *err);
saltus_status saltus_gpu_counts_collect(void *user, saltus_contents *contents, saltus_error *err);
saltus_status saltus_gpu_counts_set_aside(void *user, bool *is_aside, saltus_error *err);
saltus_status saltus_gpu_counts_collect_aside(void *user, saltus_contents *contents,
                                              saltus_error *err);
/** Free the memory of what is set aside, as soon as nobody collects from it. */
void saltus_gpu_counts_end_aside(saltus_gpu_counts *s);
void saltus_gpu_words_free(const saltus_gpu_lattice *on, saltus_gpu_words *words);
saltus_status saltus_gpu_counts_launch(void *user, const saltus_mpd_phase *phases, int n,
                                       int *launched, saltus_error *err);

#endif
