/**
 * What every backend needs to simulate a lattice by kernel/rdme/mpd.h: the tables of the model,
 * where particles start, and the course of a trajectory, phase by phase and batch by batch. A
 * backend adds an engine, which keeps the particles and goes over them.
 */
#ifndef SALTUS_ENGINE_RDME_H
#define SALTUS_ENGINE_RDME_H

#include "engine/record.h"
#include "kernel/rdme/mpd.h"
#include "model/lattice/lattice.h"

#include <stdbool.h>

/** Where an origin is: at a face of the lattice, or (-1) in all of it; in sites of this type. */
typedef struct saltus_mpd_gate {
    int face, type;
} saltus_mpd_gate;

/** The sites of some types, in the order of their numbers. */
typedef struct saltus_mpd_set {
    uint8_t in[SALTUS_LATTICE_MOST_TYPES]; /**< [type] */
    int64_t n;
    int64_t *below; /**< those before each SALTUS_MPD_MARK-th site of the lattice; NULL: these are
                         all sites */
} saltus_mpd_set;

/** A model's lattice made ready; the same for all trajectories. */
typedef struct saltus_mpd_tables {
    const saltus_lattice *lattice;
    const saltus_tables *of; /**< the well-mixed part */
    saltus_mpd m;            /**< its tables, on the host; no particles */
    double *rows;            /**< [n_rows] what a scratch's v starts from */
    int64_t n_watched;       /**< sites that somebody must always look after, */
    bool *watched;           /**< [type] all of these types */
    int64_t n_start;         /**< particles at time 0, with those that watch */
    bool in_slabs;           /**< several GPUs' memories hold it, or parts of one's: origins have no
                                  lists of sites, */
    saltus_mpd_gate *gates;  /**< [m.n_sources] but these */
    saltus_mpd_set *sets;    /**< [n_sets] saltus_mpd_find_sets, */
    int n_sets;
    int *set_of_scatter, *set_of_source; /**< of them; -1: its sites are at a face */

    uint32_t *jump, *no_reaction, *no_reaction_two, *no_reaction_many;
    uint8_t *moves;
    int32_t *active, *segment;
    saltus_mpd_source *sources;
} saltus_mpd_tables;

/**
 * @retval SALTUS_E_UNSUPPORTED what kernel/rdme/mpd.h cannot hold: 65,535 species, and of a lattice
 * that is not in slabs 2^32 - 2^24 sites or 2^30 particles
 */
SALTUS_MUST_CHECK saltus_status saltus_mpd_tables_create(const struct saltus_model *model,
                                                         bool in_slabs, saltus_mpd_tables *out,
                                                         saltus_error *err);
void saltus_mpd_tables_free(saltus_mpd_tables *tables);

/** The keys of a trajectory go into m->keys, its particles at time 0 into site[n_start] and
 * species[n_start]. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_place(const saltus_mpd_tables *tables, uint64_t seed,
                                                 int64_t trajectory, saltus_mpd *m, uint32_t *site,
                                                 uint16_t *species, saltus_error *err);

/** How many sites of a type lie at a face, or in all of the lattice (face -1), in the planes from
 * planes[0] on, but before planes[1]; their numbers, less `zero`, go to `out` unless it is NULL. */
int64_t saltus_mpd_sites_at(const saltus_lattice *l, int face, int type, const int64_t planes[2],
                            int64_t zero, uint32_t *out);

/** The sets of sites that particles are scattered over, or come to from origins. Memory: 8 bytes
 * for each SALTUS_MPD_MARK sites and set. */
enum { SALTUS_MPD_MARK = 1 << 20 };
SALTUS_MUST_CHECK saltus_status saltus_mpd_find_sets(saltus_mpd_tables *tables, saltus_error *err);
void saltus_mpd_sets_free(saltus_mpd_tables *tables);
/** How many sites of a set have lower numbers than this. */
int64_t saltus_mpd_set_below(const saltus_lattice *l, const saltus_mpd_set *set, int64_t site);
/** For each stretch (SALTUS_MPD_SEGMENT) of n < 2^32 sites from `first` on, how many of them that
 * are in the set come before it. */
void saltus_mpd_set_ranks(const saltus_lattice *l, const saltus_mpd_set *set, int64_t first,
                          int64_t n, uint32_t *ranks);

/** Add the particles site[n], species[n] to contents, but for those that only watch. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_collect(const saltus_mpd *m, const uint32_t *site,
                                                   const uint16_t *species, int64_t n,
                                                   saltus_contents *contents, saltus_error *err);

/** A phase: what becomes of the sites, in which step (kernel/rdme/mpd.h). */
typedef struct saltus_mpd_phase {
    int64_t step;
    int what;
} saltus_mpd_phase;

/** Where something went wrong (saltus_mpd_note): first comes the earlier phase, then the lower
 * site, then the lower reaction. */
typedef struct saltus_mpd_failure {
    bool is_any;
    int32_t phase, reaction; /**< of those since gather */
    int64_t site;            /**< of the lattice */
} saltus_mpd_failure;

/** A note, ~0 if there is none, of who numbers his sites from one of the lattice's on. */
saltus_mpd_failure saltus_mpd_failure_of(uint64_t note, int64_t zero);
/** The first of two. */
saltus_mpd_failure saltus_mpd_first_failure(saltus_mpd_failure a, saltus_mpd_failure b);

/** What an engine tells after some phases. */
typedef struct saltus_mpd_batch_status {
    int64_t work;               /**< of a phase: roughly the particles that it goes over */
    int64_t fired;              /**< reactions since gather */
    saltus_mpd_failure failure; /**< the first since then */
    bool is_full; /**< some particles have found no room, and all is to be done again */
} saltus_mpd_batch_status;

/** Who keeps the particles of a trajectory. */
typedef struct saltus_mpd_engine {
    void *user;
    /** Take the particles of time 0. */
    saltus_status (*begin)(void *user, int64_t trajectory, saltus_error *err);
    /** Put the particles into the order of their sites, and keep what is there now until it is
     * called again. */
    saltus_status (*gather)(void *user, saltus_error *err);
    /** Go through phases[n]. */
    saltus_status (*run)(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err);
    /** Wait, and tell. */
    saltus_status (*poll)(void *user, saltus_mpd_batch_status *out, saltus_error *err);
    /** Back to where gather was called, with more room. SALTUS_E_NO_MEMORY */
    saltus_status (*restore)(void *user, saltus_error *err);
    /** Particles of every species. */
    saltus_status (*count)(void *user, int64_t *totals, saltus_error *err);
    /** Particles of the recorded species in each part of the lattice: [part][count]. NULL: whoever
     * wants to know is told all. */
    saltus_status (*split)(void *user, saltus_split how, int64_t *out, saltus_error *err);
    /** Add all particles to contents that are empty. */
    saltus_status (*collect)(void *user, saltus_contents *contents, saltus_error *err);
} saltus_mpd_engine;

/** Room for the particles of time 0 and some more; and where so many numbers were wanted in vain.
 */
int64_t saltus_mpd_first_capacity(const saltus_mpd_tables *tables);
SALTUS_MUST_CHECK saltus_status saltus_mpd_more_capacity(int64_t wanted, int64_t *capacity,
                                                         saltus_error *err);

/** Work off jobs with an engine, one at a time. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_work(const saltus_mpd_tables *tables,
                                                const saltus_task *task,
                                                const saltus_mpd_engine *engine,
                                                const saltus_source *source, saltus_error *err);

#endif
