/**
 * What every backend needs to simulate a lattice by kernel/mpd.h: the tables of the model, where
 * particles start, and the course of a trajectory, phase by phase and batch by batch. A backend
 * adds an engine, which keeps the particles and goes over them.
 */
#ifndef SALTUS_BACKEND_MPD_H
#define SALTUS_BACKEND_MPD_H

#include "backend/record.h"
#include "kernel/mpd.h"
#include "model/lattice.h"

#include <stdbool.h>

/** A model's lattice made ready; the same for all trajectories. */
typedef struct saltus_mpd_tables {
    const saltus_lattice *lattice;
    const saltus_tables *of; /**< the well-mixed part */
    saltus_mpd m;            /**< its tables, on the host; no particles */
    double *rows;            /**< [n_rows] what a scratch's v starts from */
    int64_t n_watched;       /**< sites that somebody must always look after, */
    bool *watched;           /**< [type] all of these types */
    int64_t n_start;         /**< particles at time 0, with those that watch */

    uint32_t *jump, *quiet, *quiet_two, *quiet_many;
    uint8_t *moves;
    int32_t *active, *segment;
    saltus_mpd_origin *origins;
} saltus_mpd_tables;

/**
 * @retval SALTUS_E_UNSUPPORTED what kernel/mpd.h cannot hold: 2^32 sites, 65,535 species, 2^31
 *                              particles
 */
SALTUS_MUST_CHECK saltus_status saltus_mpd_tables_create(const struct saltus_model *model,
                                                         saltus_mpd_tables *out, saltus_error *err);
void saltus_mpd_tables_free(saltus_mpd_tables *tables);

/** The keys of a trajectory go into m->keys, its particles at time 0 into site[n_start] and
 * species[n_start]. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_place(const saltus_mpd_tables *tables, uint64_t seed,
                                                 int64_t trajectory, saltus_mpd *m, uint32_t *site,
                                                 uint16_t *species, saltus_error *err);

/** Add the particles site[n], species[n] to contents, but for those that only watch. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_tell(const saltus_mpd *m, const uint32_t *site,
                                                const uint16_t *species, int64_t n,
                                                saltus_contents *contents, saltus_error *err);

/** A phase: what becomes of the sites, in which step (kernel/mpd.h). */
typedef struct saltus_mpd_phase {
    int64_t step;
    int what;
} saltus_mpd_phase;

/** Where something went wrong (saltus_mpd_note): first comes the earlier phase, then the lower
 * site, then the lower reaction. */
typedef struct saltus_mpd_trouble {
    bool is_any;
    int32_t phase, reaction; /**< of those since gather */
    int64_t site;            /**< of the lattice */
} saltus_mpd_trouble;

/** A note, ~0 if there is none, of who numbers his sites from one of the lattice's on. */
saltus_mpd_trouble saltus_mpd_trouble_of(uint64_t note, int64_t zero);
/** The first of two. */
saltus_mpd_trouble saltus_mpd_first_trouble(saltus_mpd_trouble a, saltus_mpd_trouble b);

/** What an engine tells after some phases. */
typedef struct saltus_mpd_news {
    int64_t work;               /**< of a phase: roughly the particles that it goes over */
    int64_t fired;              /**< reactions since gather */
    saltus_mpd_trouble trouble; /**< the first since then */
    bool is_full; /**< some particles have found no room, and all is to be done again */
} saltus_mpd_news;

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
    saltus_status (*look)(void *user, saltus_mpd_news *out, saltus_error *err);
    /** Back to where gather was called, with more room. SALTUS_E_NO_MEMORY */
    saltus_status (*restore)(void *user, saltus_error *err);
    /** Particles of every species. */
    saltus_status (*count)(void *user, int64_t *totals, saltus_error *err);
    /** Particles of the recorded species in each part of the lattice: [part][count]. NULL: whoever
     * wants to know is told all. */
    saltus_status (*split)(void *user, saltus_split how, int64_t *out, saltus_error *err);
    /** Add all particles to contents that are empty. */
    saltus_status (*tell)(void *user, saltus_contents *contents, saltus_error *err);
} saltus_mpd_engine;

/** Room for the particles of time 0 and some more; and where so many numbers were wanted in vain.
 */
int64_t saltus_mpd_first_room(const saltus_mpd_tables *tables);
SALTUS_MUST_CHECK saltus_status saltus_mpd_more_room(int64_t wanted, int64_t *capacity,
                                                     saltus_error *err);

/** Work off jobs with an engine, one at a time. */
SALTUS_MUST_CHECK saltus_status saltus_mpd_work(const saltus_mpd_tables *tables,
                                                const saltus_task *task,
                                                const saltus_mpd_engine *engine,
                                                const saltus_source *source, saltus_error *err);

#endif
