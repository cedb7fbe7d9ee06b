/** A result file opened for reading, as printing and plotting see it: without HDF5. */
#ifndef SALTUS_WRITE_RESULTS_H
#define SALTUS_WRITE_RESULTS_H

#include "core/handle.h"
#include "core/status.h"

/** What a file holds of a lattice. */
typedef struct saltus_results_space {
    int n_types; /**< 0: the model had no lattice */
    char **type_names;
    int64_t size[3];                  /**< sites along x, y, z */
    double spacing;                   /**< m */
    int64_t n_parts[SALTUS_N_SPLITS]; /**< types, planes; 0: these counts were not recorded */
    bool has_runs[SALTUS_N_SPLITS];   /**< of every run; else their mean and variance */
    int axis;                         /**< of the planes */
    int64_t n_frames;
    double *frame_times;
    int64_t n_frame_runs; /**< rows of frames, from first_trajectory on */
} saltus_results_space;

struct saltus_results {
    saltus_handle handle;
    char *path;
    int64_t file; /**< HDF5's identifier */
    int64_t size; /**< bytes of the file */
    char *model, *method, *device, *started, *version;
    int64_t runs;      /**< trajectories in the file */
    int64_t requested; /**< 0 when unknown */
    int64_t events;
    double seconds;
    bool complete;
    bool is_written;    /**< another process writes it now */
    int64_t stats_runs; /**< trajectories that /stats speaks of */
    int64_t n_points;
    double *times;
    int n_time_units;
    char **time_unit; /**< [n_time_units] its name; none where it is not known */
    int n_counts, n_observables;
    char **count_names, **observable_names;
    bool has_counts, has_observables; /**< every sample was kept */
    bool has_final, has_final_observables, has_histogram;
    int n_derived; /**< quantities of every trajectory */
    char **derived_names;
    int64_t chunk_runs; /**< a good number of runs to read at once */

    /* A sweep's file: what is read is of one point of it, the first; a copy of this that is `at`
     * another reads that one. */
    int n_axes; /**< 0: no sweep */
    char **axis_names;
    int64_t *axis_lengths;    /**< [axis] values of a grid; 0 for a design */
    double **axis_values;     /**< [axis][point], from the first in the file on */
    int64_t n_swept;          /**< points in the file */
    int64_t at;               /**< the point that is read */
    int64_t first_trajectory; /**< of the run or sweep */
    int64_t first_point;      /**< of the whole sweep: the first in the file; */
    int64_t runs_apart;       /**< numbers between the trajectories of a point and the next */
    bool common_random_numbers;
    saltus_results_space space;
    int64_t held[4]; /**< statistics, open so that chunks stay unpacked from point to point */
};

/** A derived quantity of every trajectory as out[point of the sweep][run]; NULL *out: there is none
 * of that name. To be freed with saltus_free. */
SALTUS_MUST_CHECK saltus_status saltus_results_derived(const saltus_results *r, const char *name,
                                                       double **out, saltus_error *err);

/** Which moment of the ensemble. */
typedef enum saltus_moment {
    SALTUS_MOMENT_MEAN,
    SALTUS_MOMENT_VARIANCE,
    SALTUS_MOMENT_MIN,
    SALTUS_MOMENT_MAX
} saltus_moment;

/** A box of samples: runs and points. */
typedef struct saltus_box {
    int64_t run, n_runs, point, n_points;
} saltus_box;

/** Numbers of the trajectories run .. run + n. SALTUS_E_IO, as all of these. */
SALTUS_MUST_CHECK saltus_status saltus_results_numbers(const saltus_results *r, int64_t run,
                                                       int64_t n, int64_t *out, saltus_error *err);
/** Samples as out[run][point][species]; only if has_counts. */
SALTUS_MUST_CHECK saltus_status saltus_results_counts(const saltus_results *r, saltus_box box,
                                                      int64_t *out, saltus_error *err);
/** Samples as out[run][point][observable]; only if has_observables. */
SALTUS_MUST_CHECK saltus_status saltus_results_observables(const saltus_results *r, saltus_box box,
                                                           double *out, saltus_error *err);
/** Last samples as out[run][species]; only if has_final. */
SALTUS_MUST_CHECK saltus_status saltus_results_final(const saltus_results *r, int64_t run,
                                                     int64_t n, int64_t *out, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_results_final_observables(const saltus_results *r,
                                                                 int64_t run, int64_t n,
                                                                 double *out, saltus_error *err);
/** A moment of the species, or of the observables, as out[point][column]. */
SALTUS_MUST_CHECK saltus_status saltus_results_moment(const saltus_results *r, bool observables,
                                                      saltus_moment moment, double *out,
                                                      saltus_error *err);
/** A recorded histogram. */
typedef struct saltus_results_bins {
    int64_t n;
    double *edges;           /**< [n + 1] */
    uint64_t *counts;        /**< [point][n] */
    uint64_t *below, *above; /**< [point] what a fixed range left out; NULL: the data define bins */
} saltus_results_bins;
/** Read that of a species, to be freed with saltus_results_free_bins; only if has_histogram. On
 * failure *out holds nothing. */
SALTUS_MUST_CHECK saltus_status saltus_results_histogram(const saltus_results *r, int species,
                                                         saltus_results_bins *out,
                                                         saltus_error *err);
void saltus_results_free_bins(saltus_results_bins *bins);

/** The quantile of n sorted values, n > 0, that cuts off the share p; of none, NaN (docs/command.md
 * says which). */
double saltus_quantile_of(const double *sorted, int64_t n, double p);
/** Sort values; a NaN ends up behind all numbers. */
void saltus_quantile_sort(double *values, int64_t n);
/** SALTUS_E_INVALID when the file holds nothing to make quantiles of. */
SALTUS_MUST_CHECK saltus_status saltus_results_check_quantiles(const saltus_results *r,
                                                               saltus_error *err);
/**
 * Quantiles over runs as out[point][column][quantile], of samples, else of histograms; NaN where
 * the file tells nothing.
 *
 * @param[in,out] too_small how far below the true value they may be, where bins are wider than 1
 */
SALTUS_MUST_CHECK saltus_status saltus_results_quantiles(const saltus_results *r,
                                                         const saltus_table_options *options,
                                                         double *out, double *too_small,
                                                         saltus_error *err);

/** Print for people what there is of derived quantities, or nothing. */
SALTUS_MUST_CHECK saltus_status saltus_results_summarise_derived(const saltus_results *r, FILE *out,
                                                                 saltus_error *err);

/** Points of a sweep, 1 of a run; "NAME," of every axis of a sweep, "varied:NAME," when a column of
 * what is recorded, or of the table's own, such as "run,time", has that name as well; and "VALUE,"
 * of every axis at the point that is read, to be freed with saltus_free. */
int64_t saltus_results_n_swept(const saltus_results *r);
void saltus_results_put_axes(const saltus_results *r, const char *own, FILE *out);
char *saltus_results_point_prefix(const saltus_results *r);

/** SALTUS_E_INVALID for a quantile that is none. */
SALTUS_MUST_CHECK saltus_status saltus_table_options_check(const saltus_table_options *options,
                                                           saltus_error *err);
/** Columns that a terminal needs: code points of utf-8. */
int saltus_width_of(const char *text);

/** ",HEAD" of every column that the options want behind mean and standard deviation: "variance",
 * "fano", "q0.5". */
void saltus_results_put_heads(const saltus_table_options *options, FILE *out);
/** Variance over mean; NaN when that is 0. */
double saltus_fano(double mean, double variance);

/** One field of CSV with something before and behind a name; ",NAME" of every column. */
void saltus_results_put_name(FILE *out, const char *prefix, const char *name, const char *suffix);
void saltus_results_put_names(const saltus_results *r, FILE *out, const char *suffix);
/** The name of the unit of time, or "" when it is not known. */
const char *saltus_results_time_unit(const saltus_results *r);
/** Print the heading of times: "time" or "time (min)". */
void saltus_results_put_time(const saltus_results *r, FILE *out);

/** Refuse when the XDMF file beside a result would replace what Saltus has not written. */
SALTUS_MUST_CHECK saltus_status saltus_xdmf_check(const char *result, saltus_error *err);

/* ---- a lattice: hdf5/results_space.c ---- */

/** Look for what a file holds of a lattice, and check it. */
SALTUS_MUST_CHECK saltus_status saltus_results_find_space(saltus_results *r, saltus_error *err);
void saltus_results_free_space(saltus_results_space *space);
/** Free names[n] and their list, which may be NULL. */
void saltus_results_free_names(char **names, int n);

/** A box of sites, along x, y, z. */
typedef struct saltus_site_box {
    int64_t start[3], count[3];
} saltus_site_box;
saltus_site_box saltus_whole_lattice(const saltus_results *r);

/** Types of sites as out[z][y][x]. */
SALTUS_MUST_CHECK saltus_status saltus_results_types(const saltus_results *r, saltus_site_box box,
                                                     uint8_t *out, saltus_error *err);
/** Samples of parts as out[run][point][part][species]; only if has_runs. */
SALTUS_MUST_CHECK saltus_status saltus_results_split(const saltus_results *r, saltus_split split,
                                                     saltus_box box, int64_t *out,
                                                     saltus_error *err);
/** Which frames of a row are there, out[frame]. */
SALTUS_MUST_CHECK saltus_status saltus_results_frames_there(const saltus_results *r, int64_t row,
                                                            uint8_t *out, saltus_error *err);
/** Particles of a species in a frame as out[z][y][x]; zeros for a frame that is not there. */
SALTUS_MUST_CHECK saltus_status saltus_results_frame(const saltus_results *r, int64_t row,
                                                     int64_t frame, int species,
                                                     saltus_site_box box, uint32_t *out,
                                                     saltus_error *err);
/** "FILE: holds no frames", with a hint. SALTUS_E_INVALID. */
saltus_status saltus_results_no_frames(const saltus_results *r, saltus_error *err);
/** Bytes of a value of a species' frames in the file: 1, 2 or 4. */
SALTUS_MUST_CHECK saltus_status saltus_results_frame_bytes(const saltus_results *r, int species,
                                                           int *out, saltus_error *err);

#endif
