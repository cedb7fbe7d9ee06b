/**
 * What every backend needs to simulate a lattice by kernel/rdme/mpd.h: the tables of the model,
 * where particles start, and the course of a trajectory, phase by phase and batch by batch. A
 * backend adds an engine, which holds the particles and runs phases.
 */
#ifndef SALTUS_ENGINE_RDME_H
#define SALTUS_ENGINE_RDME_H

#include "engine/record.h"
#include "kernel/rdme/mpd.h"
#include "model/lattice/lattice.h"

#include <stdbool.h>

/** Where a source is: at a face of the lattice, or (-1) in all of it; in sites of this type. */
typedef struct saltus_mpd_gate {
    int face, type;
    double rate; /**< arrivals a second, on average */
} saltus_mpd_gate;

/** The sites of some types, in the order of their numbers. */
typedef struct saltus_mpd_set {
    uint8_t in[SALTUS_LATTICE_MOST_TYPES]; /**< [type] */
    int64_t n;
    /** How many sites of the set come before each SALTUS_MPD_MARK-th site of the lattice; NULL: all
     * sites are in the set. */
    int64_t *below;
} saltus_mpd_set;

/** The tables of a model's lattice; the same for all trajectories. */
typedef struct saltus_mpd_tables {
    const saltus_lattice *lattice;
    /** The well-mixed part. */
    const saltus_tables *of;
    /** The lattice's tables, on the host; no particles. */
    saltus_mpd m;
    /** [n_rows] what a scratch's v is filled with first. */
    double *rows;
    /** Number of sites that have an empty-site token. */
    int64_t n_watched;
    /** [type] whether the sites of the type have one. */
    bool *watched;
    /** Particles at time 0, empty-site tokens among them. */
    int64_t n_start;
    /** Several GPUs, or parts of one, hold the lattice; then sources have no lists of sites. */
    bool in_slabs;
    /** [n_inputs] m.inputs; NULL: nothing follows rate rules. */
    double *inputs;
    int64_t n_inputs;
    /** [m.n_sources] where the sources are. */
    saltus_mpd_gate *gates;
    /** [n_sets] sets of sites (saltus_mpd_find_sets). */
    saltus_mpd_set *sets;
    int n_sets;
    /** Number of the set of each scattering, and of each source; -1: its sites are at a face. */
    int *set_of_scatter, *set_of_source;

    saltus_mpd_source *sources;
    /** The arrays of m, to be filled, and how many elements each has. */
#define SALTUS_MEMBER(type, name, n) \
    type *name;                      \
    int64_t n_##name;
    SALTUS_LATTICE_ARRAYS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
} saltus_mpd_tables;

/**
 * @retval SALTUS_E_UNSUPPORTED what kernel/rdme/mpd.h cannot hold: 65,535 species, and of a lattice
 * that is not in slabs 2^32 - 2^24 sites or 2^30 particles
 */
SALTUS_MUST_CHECK saltus_status saltus_mpd_tables_create(const struct saltus_model *model,
                                                         bool in_slabs, saltus_mpd_tables *out,
                                                         saltus_error *err);
void saltus_mpd_tables_free(saltus_mpd_tables *tables);

/** The first step that has not ended at a time; one that ends at that time has. */
int64_t saltus_mpd_step_at(const saltus_mpd_tables *tables, double time);

/** Integrate the parameters with rate rules, if there are any, over all steps of a task, so that
 * `m` has their values. They are those of the time alone, whatever is sampled.
 *
 * @retval SALTUS_E_UNSUPPORTED more than 2^25 values
 * @retval SALTUS_E_NUMERIC, SALTUS_E_CANCELLED as by a well-mixed run */
SALTUS_MUST_CHECK saltus_status saltus_mpd_follow_rates(saltus_mpd_tables *tables,
                                                        const saltus_task *task, saltus_error *err);

/** Particles of time 0, or those of `from`, empty-site tokens among them. */
int64_t saltus_mpd_n_placed(const saltus_mpd_tables *tables, const saltus_contents *from);
/** Derive the keys of a trajectory, in m->keys, and place its particles of time 0, or those of
 * `from` unless that is NULL, in site[saltus_mpd_n_placed] and species[]. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_place(const saltus_mpd_tables *tables, uint64_t seed,
                                                 int64_t trajectory, const saltus_contents *from,
                                                 saltus_mpd *m, uint32_t *site, uint16_t *species,
                                                 saltus_error *err);

/** How many sites of a type lie at a face, or in the whole lattice (face -1), in planes[0] to
 * planes[1] - 1. Their numbers, less `zero`, go to `out` unless it is NULL. */
int64_t saltus_mpd_sites_at(const saltus_lattice *l, int face, int type, const int64_t planes[2],
                            int64_t zero, uint32_t *out);

/** Find the sets of sites over which particles are scattered, or to which sources add. Memory: 8
 * bytes for each SALTUS_MPD_MARK sites and set. */
enum { SALTUS_MPD_MARK = 1 << 20 };
SALTUS_MUST_CHECK saltus_status saltus_mpd_find_sets(saltus_mpd_tables *tables, saltus_error *err);
void saltus_mpd_sets_free(saltus_mpd_tables *tables);
/** How many sites of a set have lower numbers than `site`. */
int64_t saltus_mpd_set_below(const saltus_lattice *l, const saltus_mpd_set *set, int64_t site);
/** For each segment (SALTUS_MPD_SEGMENT) of n < 2^32 sites from `first` on, how many of these sites
 * that are in the set come before it. */
void saltus_mpd_set_ranks(const saltus_lattice *l, const saltus_mpd_set *set, int64_t first,
                          int64_t n, uint32_t *ranks);

/** Add the particles site[n], species[n] to contents, empty-site tokens excepted. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_collect(const saltus_mpd *m, const uint32_t *site,
                                                   const uint16_t *species, int64_t n,
                                                   saltus_contents *contents, saltus_error *err);

/** A phase: what it does with the sites, and in which step (kernel/rdme/mpd.h). */
typedef struct saltus_mpd_phase {
    int64_t step;
    int what;
} saltus_mpd_phase;

/** A failure that saltus_mpd_note has noted. The earlier phase comes first, then the lower site,
 * then the lower reaction. */
typedef struct saltus_mpd_failure {
    bool is_any;
    int32_t phase, reaction; /**< phase since gather; reaction */
    int64_t site;            /**< site of the lattice */
} saltus_mpd_failure;

/** Unpack a note, ~0 if there is none. `zero` is the number in the lattice of site 0 of the engine.
 */
saltus_mpd_failure saltus_mpd_failure_of(uint64_t note, int64_t zero);
/** The earlier of two failures. */
saltus_mpd_failure saltus_mpd_first_failure(saltus_mpd_failure a, saltus_mpd_failure b);

/** What an engine reports after some phases. */
typedef struct saltus_mpd_batch_status {
    /** Roughly the particles that a phase goes over. */
    int64_t work;
    /** Reactions since gather. */
    int64_t fired;
    /** The first failure since gather. */
    saltus_mpd_failure failure;
    /** Some particles had no room: the batch is to be done again. */
    bool is_full;
    /** So many of the last phases were left out, because something is to be kept. */
    int32_t n_left;
} saltus_mpd_batch_status;

/** The operations of an engine, which holds the particles of a trajectory. saltus_mpd_work calls
 * them in this order: begin; for each batch gather, run, poll, and restore if the batch is to be
 * done again; count, split or collect at samples and frames. */
typedef struct saltus_mpd_engine {
    void *user;
    /** Place the particles of time 0, or those of `from` unless that is NULL. */
    saltus_status (*begin)(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err);
    /** Put the particles into the order of their sites, and keep a copy of them until the next
     * call. */
    saltus_status (*gather)(void *user, saltus_error *err);
    /** Launch phases[n]. */
    saltus_status (*run)(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err);
    /** Wait for the phases, and report. */
    saltus_status (*poll)(void *user, saltus_mpd_batch_status *out, saltus_error *err);
    /** Return to the copy that gather kept, with more capacity. SALTUS_E_NO_MEMORY */
    saltus_status (*restore)(void *user, saltus_error *err);
    /** Count the particles of every species. */
    saltus_status (*count)(void *user, int64_t *totals, saltus_error *err);
    /** Count the particles of the recorded species in each part of the lattice: [part][count].
     * NULL: collect is called instead. */
    saltus_status (*split)(void *user, saltus_split how, int64_t *out, saltus_error *err);
    /** Add all particles to contents that are empty. */
    saltus_status (*collect)(void *user, saltus_contents *contents, saltus_error *err);
    /** Both, or NULL: set a copy aside of what the sites hold, if there is memory for it, which
     * collect_aside does with as collect, on any thread and while the engine goes on. Before the
     * next one is set aside that has returned. */
    saltus_status (*set_aside)(void *user, bool *is_aside, saltus_error *err);
    saltus_status (*collect_aside)(void *user, saltus_contents *contents, saltus_error *err);
} saltus_mpd_engine;

/** Capacity for n particles that a trajectory begins with, and some more; and a larger one, after
 * so many numbers were wanted in vain. */
int64_t saltus_mpd_first_capacity(int64_t n);
SALTUS_MUST_CHECK saltus_status saltus_mpd_more_capacity(int64_t wanted, int64_t *capacity,
                                                         saltus_error *err);

/** Run jobs with an engine, one at a time. If the engine holds a slab and the task has peers, that
 * is done together with them: process 0 has the jobs, the others follow it. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_work(const saltus_mpd_tables *tables,
                                                const saltus_task *task,
                                                const saltus_mpd_engine *engine,
                                                const saltus_source *source, saltus_error *err);

/** The engine of process 0 whose operations are those of its own engine and of all others
 * (rdme_peers.c). Zero-initialise. */
typedef struct saltus_mpd_lead {
    saltus_mpd_engine own;
    const saltus_task *task;
    int64_t n_species;
    struct saltus_mpd_reply *replies; /**< [process - 1] */
    int64_t *sums;                    /**< scratch: counts of a process */
    bool ends;                        /**< another process wants an end */
} saltus_mpd_lead;
SALTUS_MUST_CHECK saltus_status saltus_mpd_lead_create(
    const saltus_mpd_tables *tables, const saltus_task *task, const saltus_mpd_engine *own,
    saltus_mpd_lead *out, saltus_mpd_engine *engine, saltus_error *err);
void saltus_mpd_lead_free(saltus_mpd_lead *lead);
/** Another process: do with its own engine what process 0 asks for, until there is no more. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_follow(const saltus_mpd_tables *tables,
                                                  const saltus_task *task,
                                                  const saltus_mpd_engine *own, saltus_error *err);

#endif
