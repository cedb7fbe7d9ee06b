/** A merge: which parts there are (merge_parts.c), and the file that is made of them (merge.c,
 * merge_runs.c). */
#ifndef SALTUS_WRITE_HDF5_MERGE_H
#define SALTUS_WRITE_HDF5_MERGE_H

#include "write/hdf5/merge_rows.h"
#include "write/hdf5/probe.h"
#include "write/identity.h"

/** What a part has some of. */
typedef enum saltus_h5_cut_by {
    SALTUS_CUT_TRAJECTORIES, /**< of a run */
    SALTUS_CUT_POINTS,       /**< of a sweep, with all their runs */
    SALTUS_CUT_RUNS          /**< of a sweep, at each point */
} saltus_h5_cut_by;

typedef struct saltus_h5_part {
    const char *path;
    saltus_h5_kind kind;
    saltus_h5_cut_by cut;
    int64_t first, n;        /**< of what it has some of; points and runs begin with 0 */
    int64_t shard, n_shards; /**< the latter 0: it is not said to be a part */
    int64_t whole_first;     /**< trajectory of the whole, */
    int64_t whole_n;  /**< and how many trajectories, points or runs that has; 0: not known */
    bool is_of_sweep; /**< else of a run */
    int64_t n_points; /**< of the whole sweep */
    int64_t n_runs;   /**< at each point in the file */
    int64_t events;
    double seconds;
} saltus_h5_part;

typedef struct saltus_h5_merging {
    saltus_h5_part *parts; /**< [n], by their first trajectory, point or run */
    int n;
    int64_t first, runs; /**< trajectories of the whole, at each point */
    char **lines;        /**< [n_lines] the identity of the first */
    int n_lines;
    saltus_identity identity;
    char *place;     /**< where the file is to be */
    char *temporary; /**< where it is made; NULL: there is none (any more) */
    int claimed;     /**< that, open and locked; negative: `file` has the lock, or nobody */
    saltus_h5_file file;
    bool is_open;
    int replaced; /**< what has the name of the file to be, open and locked; negative: nothing */
    saltus_h5_copying copying;
    saltus_sweep sweep;              /**< of the whole; its names belong to a file */
    struct saltus_h5_frames *frames; /**< NULL: the file has none */
} saltus_h5_merging;

/** Look at all parts, bring them into their order, and see that they make a whole. */
SALTUS_MUST_CHECK saltus_status saltus_h5_find_parts(saltus_h5_merging *m, const char *const *paths,
                                                     int n, saltus_error *err);
/** Open a part's data set, which is to have that shape. */
SALTUS_MUST_CHECK saltus_status saltus_h5_open_part_set(const saltus_h5_merging *m,
                                                        const saltus_h5_part *p,
                                                        const saltus_results *r, const char *path,
                                                        int rank, const hsize_t *shape, hid_t *set,
                                                        saltus_error *err);

/** Open the file that is made: it takes the lock over, which is kept until it has its name. */
SALTUS_MUST_CHECK saltus_status saltus_h5_open_merged(saltus_h5_merging *m, const saltus_results *r,
                                                      saltus_h5_again how, saltus_error *err);

/* ---- merge_runs.c ---- */

/** Lay out a sweep that is like that of a file which has its first points; n_points of the whole.
 * Names are those of the file; to be freed with saltus_h5_free_sweep in any case. */
SALTUS_MUST_CHECK saltus_status saltus_h5_sweep_of(const saltus_results *r, int64_t n_points,
                                                   saltus_sweep *out, saltus_error *err);
void saltus_h5_free_sweep(saltus_sweep *sweep);
/** Make the file of parts that have some runs of all points; the first is open for reading. */
SALTUS_MUST_CHECK saltus_status saltus_h5_merge_runs(saltus_h5_merging *m, const saltus_results *r,
                                                     saltus_error *err);

#endif
