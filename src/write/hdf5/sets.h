/** The data sets of result files: one table of all there can be, and what of it a file has. A run
 * is a sweep of one point, whose data sets lack the axis of grid points. */
#ifndef SALTUS_WRITE_HDF5_SETS_H
#define SALTUS_WRITE_HDF5_SETS_H

#include "ensemble/derive.h"
#include "sweep/collect.h"
#include "write/hdf5/common.h"
#include "write/hdf5/sink.h"

/** What a file has. A data set exists in files that have all that it names. */
enum {
    SALTUS_H5_COUNTS = 1 << 0,
    SALTUS_H5_REALS = 1 << 1, /**< observables */
    SALTUS_H5_ALL = 1 << 2,   /**< samples are kept */
    SALTUS_H5_LAST = 1 << 3,  /**< of these the last */
    SALTUS_H5_BINS = 1 << 4,  /**< histograms */
    SALTUS_H5_RANGE = 1 << 5, /**< with a fixed range */
    SALTUS_H5_UNIT = 1 << 6,  /**< of time is known */
    SALTUS_H5_SWEEP = 1 << 7,
    SALTUS_H5_DERIVED = 1 << 8,
    SALTUS_H5_SPACE = 1 << 9,
    SALTUS_H5_FRAMES = 1 << 10,
    SALTUS_H5_TYPES = 1 << 11,   /**< counts by site type */
    SALTUS_H5_PLANES = 1 << 12,  /**< by plane */
    SALTUS_H5_FEW = 1 << 13,     /**< samples are not kept */
    SALTUS_H5_RESTART = 1 << 14, /**< it says all that is needed to go on */
    SALTUS_H5_STATE = 1 << 15,   /**< and how statistics stand */
    SALTUS_H5_STATES = 1 << 16   /**< likewise at each point: a part of a sweep's runs */
};

/** Of what a file has one such data set each. */
typedef enum saltus_h5_each {
    SALTUS_EACH_FILE,
    SALTUS_EACH_SPECIES,
    SALTUS_EACH_FRAMED, /**< species, named as frames are */
    SALTUS_EACH_DERIVED,
    SALTUS_EACH_VARIED /**< name of a sweep */
} saltus_h5_each;

typedef enum saltus_h5_type {
    SALTUS_TYPE_TEXT, /**< utf-8 of a fixed size */
    SALTUS_TYPE_REAL,
    SALTUS_TYPE_INTEGER, /**< i64 */
    SALTUS_TYPE_NUMBER,  /**< u64 */
    SALTUS_TYPE_COUNT,   /**< i32 or, once that is too small and in sweeps, i64 */
    SALTUS_TYPE_BYTE,    /**< u8; of frames u16 or u32 once that is too small */
    SALTUS_TYPE_NONE     /**< only the length of an axis */
} saltus_h5_type;

/** How values come into the file. */
typedef enum saltus_h5_role {
    SALTUS_ROLE_HEAD,   /**< at the beginning, from the layout */
    SALTUS_ROLE_MADE,   /**< from an ensemble, as it stands at a flush; a row for a grid point */
    SALTUS_ROLE_AT_END, /**< likewise, but not at a flush, and only as many bins as there are */
    SALTUS_ROLE_RUNS,   /**< a block of runs after the other; in sweeps a row for a grid point */
    SALTUS_ROLE_SITES,  /**< by chunks of a lattice: space.c, frames.c */
    SALTUS_ROLE_STATE,  /**< at each flush: state.c */
} saltus_h5_role;

typedef enum saltus_h5_unit {
    SALTUS_UNIT_NONE, /**< of texts and mere lengths */
    SALTUS_UNIT_ONE,  /**< or not known */
    SALTUS_UNIT_COUNT,
    SALTUS_UNIT_COUNT2,
    SALTUS_UNIT_TIME,
    SALTUS_UNIT_LENGTH,
    SALTUS_UNIT_DERIVED /**< as the quantity has it */
} saltus_h5_unit;

/** An ensemble from which rows are made, and what is made once for several data sets. */
typedef struct saltus_h5_filling {
    const saltus_collector *from;
    int column;     /**< whose histogram the following is; -1: none yet */
    int64_t n_bins; /**< that it needs */
    double *edges;
    uint64_t *packed; /**< [point][n_bins] */
} saltus_h5_filling;

struct saltus_h5_set;
/** Make the row of a data set. */
typedef void saltus_h5_filler(saltus_h5_filling *f, const struct saltus_h5_set *set, void *row);

/**
 * All data sets, each behind the scales of its axes: id, path, of each, type, axes, unit, role,
 * filler, part (-1: the whole), what a file must have. An axis is a letter of sets.c; g
 * is the grid point of a sweep.
 */
#define SALTUS_H5_SETS(SET)                                                                        \
    SET(ABOUT, "about", FILE, TEXT, "a", NONE, HEAD, NULL, -1, 0)                                  \
    SET(TIME_UNIT, "time_unit", FILE, TEXT, "u", NONE, HEAD, NULL, -1, SALTUS_H5_UNIT)             \
    SET(GRID_POINT, "grid_point", FILE, NONE, "G", NONE, HEAD, NULL, -1, SALTUS_H5_SWEEP)          \
    SET(SWEEP_NAMES, "sweep_names", FILE, TEXT, "v", NONE, HEAD, NULL, -1, SALTUS_H5_SWEEP)        \
    SET(SWEEP_SHAPE, "sweep_shape", FILE, INTEGER, "v", ONE, HEAD, NULL, -1, SALTUS_H5_SWEEP)      \
    SET(SWEEP_VALUE, "sweep/%s", VARIED, REAL, "G", ONE, HEAD, NULL, -1, SALTUS_H5_SWEEP)          \
    SET(RUN, "run", FILE, INTEGER, "r", ONE, RUNS, NULL, -1, 0)                                    \
    SET(TIME, "time", FILE, REAL, "t", TIME, HEAD, NULL, -1, 0)                                    \
    SET(SPECIES, "species", FILE, TEXT, "s", NONE, HEAD, NULL, -1, 0)                              \
    SET(OBSERVABLE, "observable", FILE, TEXT, "o", NONE, HEAD, NULL, -1, SALTUS_H5_REALS)          \
    SET(DERIVED_NAMES, "derived_names", FILE, TEXT, "d", NONE, HEAD, NULL, -1, SALTUS_H5_DERIVED)  \
    SET(WORD, "word", FILE, TEXT, "w", NONE, HEAD, NULL, -1, SALTUS_H5_COUNTS)                     \
    SET(N, "stats/n", FILE, INTEGER, "g", COUNT, MADE, saltus_fill_n, -1, 0)                       \
    SET(MEAN, "stats/mean", FILE, REAL, "gts", COUNT, MADE, saltus_fill_mean, -1,                  \
        SALTUS_H5_COUNTS)                                                                          \
    SET(VARIANCE, "stats/variance", FILE, REAL, "gts", COUNT2, MADE, saltus_fill_variance, -1,     \
        SALTUS_H5_COUNTS)                                                                          \
    SET(MIN, "stats/min", FILE, REAL, "gts", COUNT, MADE, saltus_fill_min, -1, SALTUS_H5_COUNTS)   \
    SET(MAX, "stats/max", FILE, REAL, "gts", COUNT, MADE, saltus_fill_max, -1, SALTUS_H5_COUNTS)   \
    SET(SUM, "stats/sum", FILE, NUMBER, "gtsw", COUNT, MADE, saltus_fill_sum, -1,                  \
        SALTUS_H5_COUNTS)                                                                          \
    SET(SUM_SQ, "stats/sum_sq", FILE, NUMBER, "gtsw", COUNT2, MADE, saltus_fill_sum_sq, -1,        \
        SALTUS_H5_COUNTS)                                                                          \
    SET(REAL_MEAN, "stats/observables/mean", FILE, REAL, "gto", ONE, MADE, saltus_fill_real_mean,  \
        -1, SALTUS_H5_REALS)                                                                       \
    SET(REAL_VARIANCE, "stats/observables/variance", FILE, REAL, "gto", ONE, MADE,                 \
        saltus_fill_real_variance, -1, SALTUS_H5_REALS)                                            \
    SET(REAL_MIN, "stats/observables/min", FILE, REAL, "gto", ONE, MADE, saltus_fill_real_min, -1, \
        SALTUS_H5_REALS)                                                                           \
    SET(REAL_MAX, "stats/observables/max", FILE, REAL, "gto", ONE, MADE, saltus_fill_real_max, -1, \
        SALTUS_H5_REALS)                                                                           \
    SET(COUNTS, "counts", FILE, COUNT, "grts", COUNT, RUNS, saltus_fill_counts, -1,                \
        SALTUS_H5_ALL | SALTUS_H5_COUNTS)                                                          \
    SET(OBSERVABLES, "observables", FILE, REAL, "grto", ONE, RUNS, saltus_fill_observables, -1,    \
        SALTUS_H5_ALL | SALTUS_H5_REALS)                                                           \
    SET(FINAL, "final", FILE, INTEGER, "grs", COUNT, RUNS, saltus_fill_counts, -1,                 \
        SALTUS_H5_LAST | SALTUS_H5_COUNTS)                                                         \
    SET(FINAL_OBSERVABLES, "final_observables", FILE, REAL, "gro", ONE, RUNS,                      \
        saltus_fill_observables, -1, SALTUS_H5_LAST | SALTUS_H5_REALS)                             \
    SET(DERIVED, "derived/%s", DERIVED, REAL, "gr", DERIVED, RUNS, saltus_fill_derived, -1,        \
        SALTUS_H5_DERIVED)                                                                         \
    SET(BIN, "histogram/%s/bin", SPECIES, NONE, "b", NONE, AT_END, NULL, -1, SALTUS_H5_BINS)       \
    SET(EDGE, "histogram/%s/edge", SPECIES, NONE, "e", NONE, AT_END, NULL, -1, SALTUS_H5_BINS)     \
    SET(EDGES, "histogram/%s/edges", SPECIES, REAL, "ge", COUNT, AT_END, saltus_fill_edges, -1,    \
        SALTUS_H5_BINS)                                                                            \
    SET(BINS, "histogram/%s/counts", SPECIES, NUMBER, "gtb", ONE, AT_END, saltus_fill_bins, -1,    \
        SALTUS_H5_BINS)                                                                            \
    SET(BELOW, "histogram/%s/below", SPECIES, NUMBER, "gt", ONE, AT_END, saltus_fill_below, -1,    \
        SALTUS_H5_BINS | SALTUS_H5_RANGE)                                                          \
    SET(ABOVE, "histogram/%s/above", SPECIES, NUMBER, "gt", ONE, AT_END, saltus_fill_above, -1,    \
        SALTUS_H5_BINS | SALTUS_H5_RANGE)                                                          \
    SET(SITE_TYPE, "space/site_type", FILE, TEXT, "k", NONE, HEAD, NULL, -1, SALTUS_H5_SPACE)      \
    SET(Z, "space/z", FILE, REAL, "z", LENGTH, HEAD, NULL, 2, SALTUS_H5_SPACE)                     \
    SET(Y, "space/y", FILE, REAL, "y", LENGTH, HEAD, NULL, 1, SALTUS_H5_SPACE)                     \
    SET(X, "space/x", FILE, REAL, "x", LENGTH, HEAD, NULL, 0, SALTUS_H5_SPACE)                     \
    SET(TYPES, "space/types", FILE, BYTE, "zyx", ONE, SITES, NULL, -1, SALTUS_H5_SPACE)            \
    SET(TYPE_COUNTS, "space/type_counts", FILE, COUNT, "rtks", COUNT, RUNS, NULL, SALTUS_BY_TYPE,  \
        SALTUS_H5_TYPES | SALTUS_H5_ALL)                                                           \
    SET(TYPE_MEAN, "space/type_stats/mean", FILE, REAL, "tks", COUNT, MADE, saltus_fill_mean,      \
        SALTUS_BY_TYPE, SALTUS_H5_TYPES | SALTUS_H5_FEW)                                           \
    SET(TYPE_VARIANCE, "space/type_stats/variance", FILE, REAL, "tks", COUNT2, MADE,               \
        saltus_fill_variance, SALTUS_BY_TYPE, SALTUS_H5_TYPES | SALTUS_H5_FEW)                     \
    SET(TYPE_SUM, "space/type_stats/sum", FILE, NUMBER, "tksw", COUNT, MADE, saltus_fill_sum,      \
        SALTUS_BY_TYPE, SALTUS_H5_TYPES | SALTUS_H5_FEW)                                           \
    SET(TYPE_SUM_SQ, "space/type_stats/sum_sq", FILE, NUMBER, "tksw", COUNT2, MADE,                \
        saltus_fill_sum_sq, SALTUS_BY_TYPE, SALTUS_H5_TYPES | SALTUS_H5_FEW)                       \
    SET(PLANE, "space/plane", FILE, REAL, "p", LENGTH, HEAD, NULL, -1, SALTUS_H5_PLANES)           \
    SET(PROFILE, "space/profile", FILE, COUNT, "rtps", COUNT, RUNS, NULL, SALTUS_BY_PLANE,         \
        SALTUS_H5_PLANES | SALTUS_H5_ALL)                                                          \
    SET(PROFILE_MEAN, "space/profile_stats/mean", FILE, REAL, "tps", COUNT, MADE,                  \
        saltus_fill_mean, SALTUS_BY_PLANE, SALTUS_H5_PLANES | SALTUS_H5_FEW)                       \
    SET(PROFILE_VARIANCE, "space/profile_stats/variance", FILE, REAL, "tps", COUNT2, MADE,         \
        saltus_fill_variance, SALTUS_BY_PLANE, SALTUS_H5_PLANES | SALTUS_H5_FEW)                   \
    SET(PROFILE_SUM, "space/profile_stats/sum", FILE, NUMBER, "tpsw", COUNT, MADE,                 \
        saltus_fill_sum, SALTUS_BY_PLANE, SALTUS_H5_PLANES | SALTUS_H5_FEW)                        \
    SET(PROFILE_SUM_SQ, "space/profile_stats/sum_sq", FILE, NUMBER, "tpsw", COUNT2, MADE,          \
        saltus_fill_sum_sq, SALTUS_BY_PLANE, SALTUS_H5_PLANES | SALTUS_H5_FEW)                     \
    SET(ROW, "space/row", FILE, NONE, "R", NONE, SITES, NULL, -1, SALTUS_H5_FRAMES)                \
    SET(FRAME, "space/frame", FILE, REAL, "f", TIME, HEAD, NULL, -1, SALTUS_H5_FRAMES)             \
    SET(THERE, "space/frames/there", FILE, BYTE, "Rf", ONE, SITES, NULL, -1, SALTUS_H5_FRAMES)     \
    SET(FRAMES, "space/frames/%s", FRAMED, BYTE, "Rfzyx", COUNT, SITES, NULL, -1,                  \
        SALTUS_H5_FRAMES)                                                                          \
    SET(IDENTITY, "restart/identity", FILE, TEXT, "I", NONE, HEAD, NULL, -1, SALTUS_H5_RESTART)    \
    SET(SOURCE_BYTE, "restart/source_byte", FILE, NONE, "B", NONE, HEAD, NULL, -1,                 \
        SALTUS_H5_RESTART)                                                                         \
    SET(SOURCES, "restart/sources", FILE, BYTE, "B", ONE, HEAD, NULL, -1, SALTUS_H5_RESTART)       \
    SET(SLOT, "restart/slot", FILE, NONE, "S", NONE, HEAD, NULL, -1, SALTUS_H5_STATE)              \
    SET(STATE_BYTE, "restart/state_byte", FILE, NONE, "T", NONE, HEAD, NULL, -1, SALTUS_H5_STATE)  \
    SET(STATE, "restart/state", FILE, BYTE, "ST", ONE, STATE, NULL, -1, SALTUS_H5_STATE)           \
    SET(STATE_WORD, "restart/state_word", FILE, NONE, "U", NONE, HEAD, NULL, -1, SALTUS_H5_STATES) \
    SET(STATES, "restart/states", FILE, NUMBER, "gU", ONE, MADE, saltus_fill_state, -1,            \
        SALTUS_H5_STATES)

typedef enum saltus_h5_id {
#define SALTUS_H5_ID(id, ...) SALTUS_SET_##id,
    SALTUS_H5_SETS(SALTUS_H5_ID)
#undef SALTUS_H5_ID
        SALTUS_N_SETS
} saltus_h5_id;

typedef struct saltus_h5_entry {
    saltus_h5_id id;
    const char *path;
    saltus_h5_each each;
    saltus_h5_type type;
    const char *axes;
    saltus_h5_unit unit;
    saltus_h5_role role;
    saltus_h5_filler *fill;
    int part;
    unsigned needs;
} saltus_h5_entry;

enum { SALTUS_H5_MOST_AXES = 5 };

/** A data set of a file. */
typedef struct saltus_h5_set {
    const saltus_h5_entry *kind;
    hid_t set;
    char *path;
    int index; /**< of the species, quantity or name */
    char axes[SALTUS_H5_MOST_AXES + 1];
    int rank;
    bool grows; /**< along its first axis, by runs or grid points */
    bool is_scale;
    hsize_t shape[SALTUS_H5_MOST_AXES]; /**< [0]: rows in the file, where it grows */
    hsize_t chunk[SALTUS_H5_MOST_AXES]; /**< [0] is 0 where there are no chunks */
    int value_size;                     /**< in the file */
    int level;                          /**< deflate's; 0: no filters */
    size_t row_bytes;                   /**< in memory; of the whole where it does not grow */
    size_t scale[SALTUS_H5_MOST_AXES];  /**< of each axis: its number among a file's sets */
    int64_t n_gathered, capacity; /**< rows that are written as one chunk; 0: none are gathered */
    char *gathered;
    hsize_t first;  /**< how many rows are before those that are gathered */
    bool is_seen;   /**< some of these are on the disk. They stay there as they are, not packed: a
                         packed chunk would take new space whenever rows are added to it, because
                         HDF5 gives none back that readers may have open */
    uint64_t *tail; /**< [row][value] of samples in chunks of several runs: those of the last chunk,
                         if it is not full; NULL before there were any */
    bool is_shuffled; /**< they stay there shuffled, as SALTUS_CHUNK_SHUFFLED has it: HDF5 notes
                           with a chunk which filters it has passed only when its size changes */
} saltus_h5_set;

/** What the layout says that its file has. */
unsigned saltus_h5_has_what(const saltus_hdf5_layout *layout);
/** How many of a kind there are. */
size_t saltus_h5_n_of(const saltus_hdf5_layout *layout, saltus_h5_each each);
/** The length of an axis when all has come; of texts, their number. */
hsize_t saltus_h5_length(const saltus_hdf5_layout *layout, char axis);
/** List the data sets of a file, to be freed with saltus_h5_free_sets also after a failure. */
SALTUS_MUST_CHECK saltus_status saltus_h5_list_sets(const saltus_hdf5_layout *layout,
                                                    saltus_h5_set **sets, size_t *n,
                                                    saltus_error *err);
void saltus_h5_free_sets(saltus_h5_set *sets, size_t n);
/** Bytes of a value in memory; 0 for texts and lengths. */
size_t saltus_h5_value_bytes(saltus_h5_type type);
hid_t saltus_h5_file_type(const saltus_h5_set *set);
hid_t saltus_h5_memory_type(const saltus_h5_set *set);
/** Runs per chunk of samples. */
hsize_t saltus_h5_runs_per_chunk(const saltus_hdf5_layout *layout);
/** Deflate's level. */
int saltus_h5_level(const saltus_hdf5_layout *layout);

/** Create it, nameless for NULL. Returns the open data set or a negative value. */
hid_t saltus_h5_create_set(hid_t file, const saltus_h5_set *set, const char *path);
/** Open it under its path, with the cache of chunks that it was created with; as above. */
hid_t saltus_h5_open_set(hid_t file, const saltus_h5_set *set);

saltus_h5_filler saltus_fill_n, saltus_fill_mean, saltus_fill_variance, saltus_fill_min,
    saltus_fill_max, saltus_fill_sum, saltus_fill_sum_sq, saltus_fill_real_mean,
    saltus_fill_real_variance, saltus_fill_real_min, saltus_fill_real_max, saltus_fill_counts,
    saltus_fill_observables, saltus_fill_derived, saltus_fill_edges, saltus_fill_bins,
    saltus_fill_below, saltus_fill_above, saltus_fill_state;
/** Bins that the data of a species need; they are made when they are not there yet. */
int64_t saltus_fill_bins_of(saltus_h5_filling *f, int column);

#endif
