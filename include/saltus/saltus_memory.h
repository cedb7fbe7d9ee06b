/**
 * @file
 * Results that are kept in memory instead of a file: those of a run, or of all points of a sweep.
 * saltus.h includes this header.
 */
#ifndef SALTUS_SALTUS_MEMORY_H
#define SALTUS_SALTUS_MEMORY_H

#include <saltus/saltus_results.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Results in memory, while they come and afterwards. */
typedef struct saltus_memory saltus_memory;

/** What is kept. Start from saltus_memory_options_default(). */
typedef struct saltus_memory_options {
    saltus_record record; /**< every sample, the last ones, histograms or nothing, and statistics */
    int64_t n_bins;       /**< histograms: 0 for bins that the data define (at most 128) */
    double range_low;     /**< histograms: with range_high > range_low, a fixed range */
    double range_high;    /**< bins end below it */
    const char *derive;   /**< quantities of every trajectory, as in saltus_hdf5_options; or NULL */
    double burn_in;       /**< derived quantities look at samples from this time on */
    bool without_statistics; /**< mean, variance, min and max are not made: of very many points they
                                  take longer than their trajectories */
} saltus_memory_options;
/**
 * Give the usual options.
 *
 * @return every sample
 */
SALTUS_API saltus_memory_options saltus_memory_options_default(void);

/** What is there. Arrays are in C order; one that is not kept is NULL. A column is a count or,
 * behind these, an observable, in the plan's order. Of a run there is one point. */
typedef struct saltus_memory_view {
    int64_t n_points;  /**< points that are there: of an interrupted sweep the first ones */
    int64_t n_runs;    /**< trajectories at each; of an interrupted run those that have ended */
    int64_t n_times;   /**< sample times */
    int n_counts;      /**< recorded species */
    int n_observables; /**< recorded real values */
    int n_derived;     /**< derived quantities */
    int64_t n_bins;    /**< room for bins of a histogram; 0: there are none */
    int64_t n_frames;  /**< frames of a lattice */
    int64_t size[3];   /**< its sites along x, y and z */
    int n_parts[SALTUS_N_SPLITS]; /**< types of sites, planes; 0: not recorded */
    const int64_t *trajectories;  /**< [point][run] their numbers */
    const int64_t *counts;        /**< [point][run][time][count] molecules; of SALTUS_RECORD_FINAL
                                       [point][run][count] */
    const double *observables;    /**< likewise */
    const int64_t
        *splits[SALTUS_N_SPLITS]; /**< [point][run][time][part][count] with every sample */
    const int32_t *frames;        /**< [run][frame][z][y][x][count] molecules */
    const double *mean;           /**< [point][time][column], as in a result file */
    const double *variance;       /**< likewise */
    const double *min;            /**< likewise */
    const double *max;            /**< likewise */
    const double *derived;        /**< [point][run][quantity]; NaN where there is none */
    const double *edges;          /**< [point][count][n_bins + 1] of bins; NaN behind the last */
    const uint64_t *histogram;    /**< [point][count][time][n_bins] trajectories in each bin */
    const double *split_mean[SALTUS_N_SPLITS];     /**< of a run whose splits are not kept:
                                                        [time][part][count] */
    const double *split_variance[SALTUS_N_SPLITS]; /**< likewise */
} saltus_memory_view;

/**
 * Take memory for the results of a run, or of a sweep. What does not fit into this machine is
 * refused before anything is taken.
 *
 * @param plan     what is to run; of a sweep that of any point
 * @param run      its options; of a sweep those of every point, without frames
 * @param n_points of the sweep; 0: it is a run
 * @param options  NULL: the usual ones
 * @param[out] out to be closed with saltus_memory_close
 * @param err      see saltus_error
 * @retval SALTUS_OK          the memory is there
 * @retval SALTUS_E_INVALID   an option is out of its range, or the results need more memory than
 *                            this machine has or the process may take: the sentence has the bytes
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_memory_open(const saltus_plan *plan, const saltus_run_options *run, int64_t n_points,
                   const saltus_memory_options *options, saltus_memory **out, saltus_error *err);
/**
 * Give the sink to hand to saltus_run, once. A run of another plan or with other options than it
 * was opened for is refused (SALTUS_E_INVALID), and so is a second one.
 *
 * @param memory may be NULL
 * @return valid until saltus_memory_close; NULL when it is of a sweep
 */
SALTUS_API const saltus_sink *saltus_memory_sink(saltus_memory *memory);
/**
 * Give the sink to hand to saltus_sweep_run, once. Points with other times, seed or numbers of
 * trajectories than it was opened for are refused (SALTUS_E_INVALID).
 *
 * @param memory may be NULL
 * @return valid until saltus_memory_close; NULL when it is of a run
 */
SALTUS_API const saltus_sweep_sink *saltus_memory_sweep_sink(saltus_memory *memory);
/**
 * Give what is there, when the run or sweep has ended, also early.
 *
 * @param memory may be NULL
 * @return valid until saltus_memory_close; zeros when memory is NULL
 */
SALTUS_API saltus_memory_view saltus_memory_get(saltus_memory *memory);
/**
 * Hand a run once more to a sink, such as that of a result file, as saltus_run does.
 *
 * @param memory of a run that has ended; of its frames those of trajectories that have ended are
 *               handed on
 * @param sink   of the same plan and options; where memory has not every sample one of the
 *               library's own, which keeps the same of them
 * @param err    see saltus_error
 * @retval SALTUS_OK        all that memory has was delivered
 * @retval SALTUS_E_INVALID memory or sink is NULL, memory is of a sweep, or the sink keeps what it
 *                          has not
 * @return else what the sink returned
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_memory_replay(const saltus_memory *memory,
                                                                const saltus_sink *sink,
                                                                saltus_error *err);
/**
 * Free it, with all arrays.
 *
 * @param memory may be NULL
 */
SALTUS_API void saltus_memory_close(saltus_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
