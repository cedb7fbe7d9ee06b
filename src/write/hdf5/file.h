/**
 * A result file while it is written. A run is a sweep of one point: it has the same data sets, less
 * the axis of grid points, and grows by runs where a sweep grows by points.
 *
 * sets.c says which data sets there are, create.c makes them, rows.c appends to them, fill.c makes
 * values of an ensemble, file.c begins, flushes and ends a file; sink.c delivers a run, sweep.c a
 * sweep.
 */
#ifndef SALTUS_WRITE_HDF5_FILE_H
#define SALTUS_WRITE_HDF5_FILE_H

#include "backend/backend.h"
#include "write/hdf5/reserve.h"
#include "write/hdf5/sets.h"
#include "write/hdf5/sync.h"

#include <pthread.h>

enum {
    SALTUS_RESCUED_BYTES = 3 * 1024 * 1024, /**< of rows that are gathered when writing fails */
    SALTUS_H5_REPLACE_BYTES = 64 * 1024     /**< to put one data set in place of another */
};

/** The two slots of a run's state (state.c). */
typedef struct saltus_h5_slots {
    int newer;      /**< of the two */
    size_t size[2]; /**< that each takes */
    int64_t rows;   /**< as read: of the newer; 0 when there is none */
} saltus_h5_slots;

typedef struct saltus_h5_file {
    char *path;
    saltus_hdf5_layout layout; /**< its names, times and quantities are owned */
    char started[32];          /**< time of the start, ISO 8601 */
    saltus_reserve reserve;
    saltus_sync sync; /**< of what was flushed */
    hid_t file;       /**< negative: it could not be opened again after a failure */
    saltus_h5_set *sets;
    size_t n_sets;
    int64_t rows;         /**< runs, or points of a sweep, that are in the file */
    bool is_live;         /**< readers may look on (live.h); nothing can be created or replaced */
    bool broken;          /**< a write has failed: only closing is left */
    saltus_error failure; /**< the first one; its code is SALTUS_OK where memory ran out */
    bool closing;
    const saltus_h5_set *failing;  /**< at which that was, or NULL */
    double last_flush, flush_cost; /**< seconds */
    double spacing;                /**< of a lattice's sites */
    saltus_collection what;        /**< to make of an ensemble */
    saltus_reduction reduction;    /**< what is made of counts, unless they are recorded */
    double *bin_edges;             /**< of fixed bins, for the reduction */
    saltus_derived derived;
    saltus_collector *ensemble; /**< of a run; NULL in a sweep */
    saltus_h5_filling filling;
    saltus_h5_slots state;
    bool keeps_state;   /**< trajectories are missing before those that came since */
    int64_t events;     /**< of a sweep: in its rows */
    int64_t *events_of; /**< [n_events_of] of a sweep: in the first r rows, at r % n_events_of, for
                             as many as may be taken back after a failure */
    int64_t n_events_of;
    double seconds_before; /**< in a file that is extended */
    void *scratch;         /**< a data set that is written whole */
    pthread_mutex_t lock;  /**< HDF5 is no library for threads: held wherever it is used in a run */
} saltus_h5_file;

/** Create the file and all of its data sets. On failure nothing is left on the disk; to be freed in
 * any case. Strings of the layout that are not names are used only here. */
SALTUS_MUST_CHECK saltus_status saltus_h5_open_file(saltus_h5_file *f, const char *path,
                                                    const saltus_hdf5_layout *layout,
                                                    saltus_error *err);
/** Whether all trajectories, or points, are there. */
bool saltus_h5_is_whole(const saltus_h5_file *f);
/** Write what is left, close the file and free all but f itself. */
SALTUS_MUST_CHECK saltus_status saltus_h5_close_file(saltus_h5_file *f,
                                                     const saltus_run_report *report,
                                                     saltus_error *err);
/** Free everything; the file is closed if it still is open, its failure ignored. */
void saltus_h5_free_file(saltus_h5_file *f);

/** "FILE: writing failed: CAUSE", with what is safe as a hint; marks the file broken. problem is an
 * errno value, or 0 to ask HDF5. Returns SALTUS_E_IO. */
saltus_status saltus_h5_fail(saltus_h5_file *f, int problem, saltus_error *err);
/** That no write has failed before; else the first failure again, for whoever comes next. */
SALTUS_MUST_CHECK saltus_status saltus_h5_check_broken(const saltus_h5_file *f, saltus_error *err);
/** See that the file can grow by so many bytes. */
SALTUS_MUST_CHECK saltus_status saltus_h5_reserve(saltus_h5_file *f, int64_t bytes,
                                                  saltus_error *err);
/** Room for rows that are gathered, and for what is written whole. */
SALTUS_MUST_CHECK saltus_status saltus_h5_make_room(saltus_h5_file *f, saltus_error *err);
/** Write what HDF5 keeps in memory. */
SALTUS_MUST_CHECK saltus_status saltus_h5_flush(saltus_h5_file *f, saltus_error *err);
/** Bring the file on the disk up to date: first what was delivered, then how much that is. */
SALTUS_MUST_CHECK saltus_status saltus_h5_update(saltus_h5_file *f, saltus_error *err);
/** The checkpoint of what this file is of, beside it; NULL where none is wanted. As
 * saltus_checkpoint_open. */
SALTUS_MUST_CHECK saltus_status saltus_h5_open_checkpoint(const char *path,
                                                          const saltus_hdf5_layout *layout,
                                                          saltus_checkpoint **out,
                                                          saltus_error *err);
/** As saltus_h5_close_file; when the file is whole the checkpoint goes, also one that lies there
 * while none is wanted (NULL). */
SALTUS_MUST_CHECK saltus_status saltus_h5_close_with_checkpoint(saltus_h5_file *f,
                                                                saltus_checkpoint *checkpoint,
                                                                const saltus_run_report *report,
                                                                saltus_error *err);
/** Now and then bring the file on the disk up to date, for readers and in case of a kill. */
SALTUS_MUST_CHECK saltus_status saltus_h5_flush_sometimes(saltus_h5_file *f, saltus_error *err);
/** The data set of a kind that is one in a file; NULL: there is none. */
saltus_h5_set *saltus_h5_find(saltus_h5_file *f, saltus_h5_id id);

/* ---- start.c ---- */

/** How a file comes under its name: one that is new is made beside its place, as PATH.new, so that
 * what has the name can be gone on with, and is put there when it has all of its data sets. Where
 * a file is there already, it is made in that one. */
typedef struct saltus_h5_birth {
    const char *path;
    char *beside;
    bool is_beside;   /**< it is there, and ours */
    bool is_at_place; /**< it was put there */
} saltus_h5_birth;

/**
 * Create a file that takes `now` bytes at once and `closing` more when it is closed; see
 * write/hdf5/reserve.h. With `overwrite` it may take the place of a result, never of anything else.
 * In any case saltus_h5_end_birth is to be called, and the reserve to be closed behind it.
 *
 * @param birth with its path alone
 */
SALTUS_MUST_CHECK saltus_status saltus_h5_start(saltus_h5_birth *birth, bool overwrite, int64_t now,
                                                int64_t closing, saltus_reserve_mode mode,
                                                saltus_reserve *reserve, hid_t *file,
                                                saltus_error *err);
/** Let it have its name. SALTUS_E_IO when another process has made one of that name meanwhile. */
SALTUS_MUST_CHECK saltus_status saltus_h5_appear(saltus_h5_birth *birth, saltus_error *err);
/** After a failure remove the new file, which is open as fd; free the rest. */
void saltus_h5_end_birth(saltus_h5_birth *birth, bool has_failed, int fd);
/** Give a file another name. Unless it replaces what is there, one that has come meanwhile stays,
 * where the file system can do that: EEXIST. Returns errno, or 0. */
int saltus_h5_publish(const char *from, const char *to, bool replaces);
/** Open a file that is there and lock it, until it is closed. Refuse to replace what another
 * process is writing, what Saltus has not written, and without `overwrite` also what it has. An
 * empty file is nobody's. SALTUS_E_IO. */
SALTUS_MUST_CHECK saltus_status saltus_h5_claim(const char *path, bool overwrite, int *fd,
                                                saltus_error *err);
/** Likewise make or take PATH.new, where what is to have the name is made: what lies there while no
 * process writes it is of one that was killed. */
SALTUS_MUST_CHECK saltus_status saltus_h5_claim_beside(const char *beside, const char *path,
                                                       int *fd, saltus_error *err);
/** Write the attributes of a file that holds nothing yet. */
herr_t saltus_h5_describe(saltus_h5_file *f);
/** Open a file that is there, by its own settings; that its writer died is forgotten. */
hid_t saltus_h5_open_to_write(const char *path);
/** Let readers look on, in a file that is open and has all its data sets. */
herr_t saltus_h5_go_live(saltus_h5_file *f);
/** Close the file and open it so that data sets can be created, replaced and cut; no readers then.
 * On failure it is closed. */
herr_t saltus_h5_go_plain(saltus_h5_file *f);

/* ---- extend.c ---- */

/** Open the file that is there and take what it holds, in the place of saltus_h5_start and
 * saltus_h5_create. Of another run: SALTUS_E_INVALID. */
SALTUS_MUST_CHECK saltus_status saltus_h5_extend(saltus_h5_file *f, int64_t closing,
                                                 saltus_error *err);

/** Deflate's level of an open data set; 0: it is not packed. */
int saltus_h5_level_of(hid_t set);

/* ---- again.c ---- */

/** Trajectories that a file is to have, at each point of its sweep, and how many of them, or of the
 * points, are there; -1: any number. */
typedef struct saltus_h5_again {
    int64_t first, runs, n_done;
    const saltus_sweep *sweep; /**< NULL: a run */
    bool is_new;               /**< the file is empty, and has what follows */
    const char *sources;
    size_t sources_size;
    saltus_compress compress;
} saltus_h5_again;
/** Extend a file, or begin it, whose layout is that of another, which is open for reading. */
SALTUS_MUST_CHECK saltus_status saltus_h5_open_again(saltus_h5_file *f, const char *path,
                                                     const struct saltus_results *r,
                                                     const struct saltus_identity *identity,
                                                     saltus_h5_again how, saltus_error *err);

/* ---- create.c, space.c ---- */

/** Create all data sets with their attributes and scales, and write what is known now. */
SALTUS_MUST_CHECK saltus_status saltus_h5_create(saltus_h5_file *f, saltus_error *err);
/** Let `wide`, whose values take value_size bytes, take the place of a data set. */
SALTUS_MUST_CHECK saltus_status saltus_h5_replace(saltus_h5_file *f, saltus_h5_set *set, hid_t wide,
                                                  int value_size, saltus_error *err);
/** Say of a data set of profiles, or a group, along which axis they are. */
herr_t saltus_h5_describe_profile(const saltus_h5_file *f, hid_t object);

/* ---- sweep.c ---- */

/** Add the rows of a sweep's next point. */
SALTUS_MUST_CHECK saltus_status saltus_h5_add_point(saltus_h5_file *f, const saltus_collector *c,
                                                    saltus_error *err);

/* ---- rows.c ---- */

/** Set the number of rows. */
herr_t saltus_h5_resize(saltus_h5_set *set, hsize_t n_rows);
/** Write n rows from `row` on, which are there: of memory[n][values] all but the first `skip` of
 * each. */
herr_t saltus_h5_put_rows(const saltus_h5_set *set, hsize_t row, hsize_t n, hsize_t values,
                          hsize_t skip, const void *memory);
/** Read n rows from `row` on of `from`, a data set of that shape and type, as 8 bytes a value. */
herr_t saltus_h5_get_rows(const saltus_h5_set *set, hid_t from, hsize_t row, hsize_t n, void *out);
/** Where the next row is to be put; then n_gathered is to be raised. */
void *saltus_h5_next_row(const saltus_h5_set *set);
/** Gather n rows: of memory[n][values], of 8 bytes each, all but the first `skip` of each. Chunks
 * that they fill are written. */
SALTUS_MUST_CHECK saltus_status saltus_h5_add_rows(saltus_h5_file *f, saltus_h5_set *set, hsize_t n,
                                                   hsize_t values, hsize_t skip, const void *memory,
                                                   saltus_error *err);
/** Write what a data set has gathered. */
SALTUS_MUST_CHECK saltus_status saltus_h5_write_gathered(saltus_h5_file *f, saltus_h5_set *set,
                                                         saltus_error *err);
/** After a failure in a sweep: as many points as can be saved. */
void saltus_h5_rescue(saltus_h5_file *f);
/** After a failed write, to close: every axis that grows ends behind the last row that came whole.
 */
void saltus_h5_cut(saltus_h5_file *f);
/** Write a run's statistics as they stand, or what is only written at the end. */
herr_t saltus_h5_write_made(saltus_h5_file *f, saltus_h5_role role);

#endif
