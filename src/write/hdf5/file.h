/** The parts of a result file's writer: beginning (start.c), creating (create.c),
 * delivering (sink.c), going over to 64 bits (widen.c), statistics and closing
 * (close.c). */
#ifndef SALTUS_WRITE_HDF5_FILE_H
#define SALTUS_WRITE_HDF5_FILE_H

#include "backend/backend.h"
#include "ensemble/derive.h"
#include "ensemble/histogram.h"
#include "ensemble/statistics.h"
#include "write/hdf5/chunk.h"
#include "write/hdf5/common.h"
#include "write/hdf5/sink.h"
#include "core/handle.h"

#include <pthread.h>
#include <stdatomic.h>

/** A data set [run][point][column] of 8-byte values in memory; of a lattice's parts
 * [run][point][part][count], whose columns are counts of all parts. */
typedef struct saltus_h5_samples {
    hid_t set;
    const char *name;
    int n_columns;
    int n_parts;       /**< 0: there is no such axis */
    int value_size;    /**< in the file */
    hid_t memory_type; /**< H5T_NATIVE_INT64 or H5T_NATIVE_DOUBLE */
    hsize_t n_points;
    hsize_t chunk_runs; /**< more than 1 only if a chunk holds all points of a run */
    hsize_t chunk_points;
    int level; /**< deflate's; 0: no filters */
} saltus_h5_samples;

/** The four data sets of one group of statistics, [point][column]. */
typedef struct saltus_h5_moments {
    hid_t mean, variance, min, max;
} saltus_h5_moments;

/** Quantities of every trajectory, each in a data set of its own. */
typedef struct saltus_h5_derived {
    saltus_derived what; /**< n is 0 when there are none */
    saltus_derivation derivation;
    hid_t *sets;
    char **paths;
} saltus_h5_derived;

struct saltus_hdf5_sink {
    saltus_handle handle;
    saltus_sink sink;
    saltus_reduction reduction; /* what is made of counts, unless they are recorded */
    char *path;
    saltus_hdf5_layout layout; /**< its pointers are owned */
    saltus_reserve reserve;
    char started[32]; /**< time of the start, ISO 8601 */
    hid_t file;
    saltus_h5_samples counts, observables; /**< set is invalid when not recorded */
    saltus_h5_samples splits[SALTUS_N_SPLITS];
    hid_t final, final_observables, trajectories;
    hid_t stats;
    saltus_h5_moments count_moments, observable_moments;
    saltus_h5_moments split_moments[SALTUS_N_SPLITS]; /**< unless they are recorded; no min, max */
    struct saltus_h5_frames *frames;                  /**< NULL: there are none */
    saltus_h5_derived derived;
    pthread_mutex_t lock; /**< HDF5 is no library for threads: held wherever it is used in a run */
    _Atomic bool wide;    /**< counts are 64 bits in the file */
    bool broken;          /**< a write has failed: only closing is left */
    bool closing;
    int64_t rows; /**< runs in the file */
    saltus_statistics statistics;
    saltus_real_statistics real_statistics;
    saltus_statistics split_statistics[SALTUS_N_SPLITS];
    saltus_histogram histogram;    /**< n_bins is 0 when not recorded */
    double *scratch;               /**< [point][column] for writing statistics */
    double last_flush, flush_cost; /**< seconds */
};

/** "FILE: writing failed: CAUSE", with what is safe as a hint; marks the sink broken. problem is
 * an errno value, or 0 to ask HDF5. Returns SALTUS_E_IO. */
saltus_status saltus_h5_fail(saltus_hdf5_sink *sink, int problem, saltus_error *err);

/**
 * Create a file that takes `now` bytes at once and `closing` more when it is closed; see
 * write/hdf5/reserve.h. With `overwrite` it may take the place of a result, never of anything else.
 * On failure nothing is left, but the reserve is to be closed.
 *
 * @param[out] created the file is new: to be removed when what follows fails
 */
SALTUS_MUST_CHECK saltus_status saltus_h5_start(const char *path, bool overwrite, int64_t now,
                                                int64_t closing, saltus_reserve_mode mode,
                                                saltus_reserve *reserve, hid_t *file, bool *created,
                                                saltus_error *err);
/** Write the attributes of a file that holds nothing yet. @param[out] started the time, ISO 8601 */
herr_t saltus_h5_describe(hid_t file, const saltus_hdf5_layout *layout, char started[32]);

/** Create file and data sets; the sink's layout is filled in. On failure nothing is left. */
SALTUS_MUST_CHECK saltus_status saltus_h5_create(saltus_hdf5_sink *sink, saltus_error *err);

/** A data set that grows along its first axis, nameless for NULL; level is deflate's. */
hid_t saltus_h5_create_growing(hid_t parent, const char *name, hid_t type, int rank,
                               const hsize_t *shape, const hsize_t *chunk, int level);
/** Deflate's level. */
int saltus_h5_level(const saltus_hdf5_layout *layout);
/** Create samples->set by its name, or nameless. Returns a negative value on failure. */
int saltus_h5_create_samples(hid_t file, saltus_h5_samples *samples, bool nameless);
/** Lengths of all axes for n runs; returns their number. */
int saltus_h5_shape(const saltus_h5_samples *samples, hsize_t n_runs, hsize_t shape[4]);

/** Chunks that hold n runs. */
hsize_t saltus_h5_chunks(const saltus_h5_samples *samples, hsize_t n_runs);
/** Encode chunk number c of values[run][point][column], counted from values' first run. Needs no
 * HDF5: for any thread. */
SALTUS_MUST_CHECK saltus_status saltus_h5_encode(const saltus_h5_samples *samples,
                                                 const void *values, hsize_t n_runs, hsize_t c,
                                                 int value_size, saltus_chunk *out,
                                                 saltus_error *err);
/** Put an encoded chunk in place; row is a multiple of chunk_runs. */
herr_t saltus_h5_put(const saltus_h5_samples *samples, hsize_t row, hsize_t c,
                     const saltus_chunk *chunk);
/** Set the number of runs. */
herr_t saltus_h5_resize(const saltus_h5_samples *samples, hsize_t n_runs);

/** Rewrite counts with 64 bits. Readable as it was until the new one is whole. */
SALTUS_MUST_CHECK saltus_status saltus_h5_widen(saltus_hdf5_sink *sink, saltus_h5_samples *counts,
                                                saltus_error *err);
/** Let `set` take the place of what stands under the name in the file. */
herr_t saltus_h5_replace(const saltus_hdf5_sink *sink, const char *name, hid_t set);

/** Write statistics and the number of runs as they stand. */
herr_t saltus_h5_write_stats(saltus_hdf5_sink *sink);
/** Free everything; the file is closed if it still is open, its failure ignored. */
void saltus_h5_free(saltus_hdf5_sink *sink);

/** See that the file can grow by so many bytes. */
SALTUS_MUST_CHECK saltus_status saltus_h5_reserve(saltus_hdf5_sink *sink, int64_t bytes,
                                                  saltus_error *err);

/** Now and then bring the file on the disk up to date, for readers and in case of a kill. */
SALTUS_MUST_CHECK saltus_status saltus_h5_flush_sometimes(saltus_hdf5_sink *sink,
                                                          saltus_error *err);

/* ---- quantities of trajectories: derived.c ---- */

/** Say which; NULL for none. SALTUS_E_INVALID, SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_h5_derived_init(saltus_hdf5_sink *sink,
                                                       const saltus_derived *wanted,
                                                       saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_h5_derived_create(saltus_hdf5_sink *sink, saltus_error *err);
/** The most that they take in the file when so many runs are appended. */
int64_t saltus_h5_derived_bytes(const saltus_hdf5_sink *sink, int64_t n_runs);
/** Make them of a block, or take what a device has made, as (*out)[quantity][trajectory]; nothing
 * when there are none. Needs no HDF5: for any thread. */
SALTUS_MUST_CHECK saltus_status saltus_h5_derived_make(const saltus_hdf5_sink *sink,
                                                       const saltus_block *block, double **out,
                                                       saltus_error *err);
herr_t saltus_h5_derived_append(const saltus_hdf5_sink *sink, const double *values, int64_t n);
/** After a failed write: as many rows as runs. */
void saltus_h5_derived_cut(saltus_hdf5_sink *sink);
void saltus_h5_derived_close(saltus_hdf5_sink *sink);
void saltus_h5_derived_free(saltus_hdf5_sink *sink);

/* ---- a lattice: space.c, frames.c ---- */

/** Names of the data sets of parts, and of the groups of their statistics. */
extern const char *const saltus_h5_split_names[SALTUS_N_SPLITS];
extern const char *const saltus_h5_split_stats[SALTUS_N_SPLITS];

/** Create the group of the layout's lattice: site types, frames. */
SALTUS_MUST_CHECK saltus_status saltus_h5_create_space(saltus_hdf5_sink *sink, saltus_error *err);
/** Say along which axis profiles are. */
herr_t saltus_h5_describe_profile(const saltus_hdf5_sink *sink);

/** A lattice [z][y][x] cut into chunks. */
typedef struct saltus_h5_tiling {
    hsize_t size[3], chunk[3], n_chunks[3];
    hsize_t n; /**< chunks */
} saltus_h5_tiling;
saltus_h5_tiling saltus_h5_tile(const int32_t size[3]);
/** Where chunk c begins. */
void saltus_h5_tile_start(const saltus_h5_tiling *tiling, hsize_t c, hsize_t start[3]);
/** Sites of a chunk, those beyond the lattice included. */
size_t saltus_h5_tile_sites(const saltus_h5_tiling *tiling);

SALTUS_MUST_CHECK saltus_status saltus_h5_create_frames(saltus_hdf5_sink *sink, hid_t space,
                                                        saltus_error *err);
/** A sink's function. */
saltus_status saltus_h5_write_frame(void *user, const saltus_frame *frame, saltus_error *err);
void saltus_h5_close_frames(struct saltus_h5_frames *frames);
void saltus_h5_free_frames(struct saltus_h5_frames *frames);

#endif
