/** For tests of result files: runs without a simulator, whose samples are functions of trajectory,
 * point and column, written by a sink and compared by plain HDF5. */
#ifndef SALTUS_TESTS_HDF5_RUNS_H
#define SALTUS_TESTS_HDF5_RUNS_H

#include "saltus/saltus.h"
#include "write/hdf5/sink.h"

#include <hdf5.h>

enum { HDF5_RUNS_NAMES = 8, EVENTS_EACH = 12346 };

extern int64_t wide_from;  /**< trajectories from here on leave 32 bits */
extern bool noisy_samples; /**< they do not compress */

int64_t count_of(int64_t i, int64_t p, int c);
double real_of(int64_t i, int64_t p, int o);

/** n trajectories from number 5 on; at most HDF5_RUNS_NAMES counts with odd names, 2 observables.
 */
saltus_hdf5_layout layout_of(int64_t n_points, int n_counts, int n_observables, int64_t n);

/** The same on a lattice of 9 x 5 x 4 sites of 3 types, with profiles along y and 3 frames. */
saltus_hdf5_layout space_layout_of(int64_t n_points, int n_counts, int64_t n);
/** Which part of a split trajectory i's count is in, all of it. */
int part_of(const saltus_hdf5_layout *l, int split, int64_t i, int64_t p, int c);
/** Particles in a site of a frame; mostly none. */
uint32_t particles_of(int64_t i, int64_t frame, int c, int64_t site);
/** Hand frames of the trajectory of that row to the sink, from some number on. */
saltus_status feed_frames(saltus_hdf5_sink *s, const saltus_hdf5_layout *l, int64_t row,
                          int64_t first, saltus_error *err);
/** All frames that are marked in the file are right; returns how many these are. */
int64_t check_frames(hid_t file, const saltus_hdf5_layout *l);

saltus_hdf5_sink *create_sink(const char *path, const saltus_hdf5_layout *l);
/** Deliver rows from .. to in blocks of the given size; stops at the first failure. */
saltus_status feed_sink(saltus_hdf5_sink *s, const saltus_hdf5_layout *l, int64_t from, int64_t to,
                        int64_t size, saltus_error *err);
void finish_sink(saltus_hdf5_sink *sink);

/** Write t.h5 in blocks of the given size, or of what the sink wishes for 0, and check it. */
void run_and_check(saltus_hdf5_layout l, int64_t size);

hid_t open_set(hid_t file, const char *name, int rank, hsize_t *shape);
/** The values of a whole data set, to be freed. */
void *read_set(hid_t file, const char *name, hid_t type, int rank, hsize_t *shape);
int64_t read_attribute(hid_t file, const char *name);
int64_t rows_in(const char *path);
void check_samples(hid_t file, const saltus_hdf5_layout *l, int64_t rows);
/** The file holds the first `rows` runs, whole and right. */
void check_file(const char *path, const saltus_hdf5_layout *l, int64_t rows, bool complete);

#endif
