/**
 * @file
 * Result files of Saltus (docs/file-format.md): written from runs and sweeps, read, printed as
 * tables, drawn. saltus.h includes this header.
 */
#ifndef SALTUS_SALTUS_RESULTS_H
#define SALTUS_SALTUS_RESULTS_H

#include <saltus/saltus_sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

/** What is kept of an ensemble. */
typedef enum saltus_record {
    SALTUS_RECORD_ALL = 0,   /**< every sample, and statistics */
    SALTUS_RECORD_STATS,     /**< mean, variance, min, max at every point */
    SALTUS_RECORD_FINAL,     /**< the last sample of every run, and statistics */
    SALTUS_RECORD_HISTOGRAM, /**< the distribution of every species at every point, and statistics
                              */
} saltus_record;

/** The most bins of a histogram that may be asked for. */
enum { SALTUS_MOST_BINS = 1 << 20 };

/** How data sets are compressed. */
typedef enum saltus_compress {
    SALTUS_COMPRESS_NONE = 0, /**< as they are */
    SALTUS_COMPRESS_FAST,     /**< shuffle and deflate 1 (default) */
    SALTUS_COMPRESS_SMALL     /**< shuffle and deflate 9 */
} saltus_compress;

/** How results are written. Start from saltus_hdf5_options_default(). */
typedef struct saltus_hdf5_options {
    saltus_record record;     /**< what the file keeps */
    saltus_compress compress; /**< of samples and frames */
    int64_t n_bins;           /**< histograms: 0 for bins that the data define (at most 128) */
    double range_low;         /**< histograms: with range_high > range_low, a fixed range */
    double range_high;        /**< bins end below it */
    const char *command;      /**< kept as attribute "options"; may be NULL */
    const char *derive;       /**< quantities of every trajectory, such as "mean:X,period:X,
                                   passage:X:50" (docs/file-format.md); may be NULL */
    double burn_in;           /**< derived quantities look at samples from this time on */
    bool overwrite; /**< a result of that name is replaced; without this, it is left alone. What
                         Saltus has not written is never replaced */
    bool extend;    /**< a result of that name goes on, if what it says of its trajectories agrees;
                         run options: n_trajectories of all, n_done of these in the file */
    int64_t n_shards;    /**< 0, or the file is a part of a run: one of so many shards, */
    int64_t shard;       /**< this one, */
    int64_t whole_first; /**< of a run that starts with this trajectory */
    int64_t whole_runs;  /**< and has so many; of a sweep, at each point (saltus_sweep_shard) */
    bool by_runs;      /**< a part of a sweep has some runs of all points, else all runs of some */
    double checkpoint; /**< seconds between two checkpoints of trajectories that are under way, in a
                            file beside (saltus_hdf5_sink_checkpoint); 0: none */
    const saltus_archive *archive; /**< NULL, or the files of which the model was made; the result
                                        file keeps them (saltus_archive_open) */
} saltus_hdf5_options;
/** How far a result file is. */
typedef struct saltus_file_state {
    bool is_sweep;            /**< it is of a sweep, not of a run */
    bool complete;            /**< all that was asked for is there */
    int64_t first_trajectory; /**< its number; of a shard of a sweep, that of the whole */
    int64_t requested;        /**< trajectories; of a sweep at each point, of the whole sweep */
    int64_t n_shards;         /**< parts of the run or sweep that it is one of; 0: it is all */
    int64_t shard;            /**< which one it is */
    int64_t n_done;           /**< trajectories, of a sweep points, without a gap: from here on it
                                   can go on. Negative: an older version wrote it */
    bool is_written;          /**< another process is writing it: nobody else can go on with it */
} saltus_file_state;
/**
 * Tell how far a result file is, also while it is being written. A file whose writer died is made
 * whole first.
 *
 * @param path     the file
 * @param[out] out what it says
 * @param err      see saltus_error
 * @retval SALTUS_OK            it is told
 * @retval SALTUS_E_IO          it cannot be read, or is no result
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_file_state_read(const char *path,
                                                                  saltus_file_state *out,
                                                                  saltus_error *err);
/**
 * Make of the parts of a run or a sweep, each in a complete file of its own, the file of the whole:
 * its data sets have the bytes that they would have if it had been one. The parts have the
 * trajectories of a whole run in any order, or those of all its shards
 * (saltus_hdf5_options.n_shards); those of a sweep are all shards of its points, or of its runs
 * (saltus_sweep_shard). Memory is bounded; packed chunks of samples are copied as they are where
 * parts begin at a chunk's edge, as shards of runs do, and so are those of frames, of which an
 * .xdmf file is written too.
 *
 * @param paths     [n] the files, which stay as they are
 * @param n         at least 1
 * @param out       the file to be
 * @param overwrite a result of that name is replaced
 * @param stop      NULL, or set to other than 0 from outside, a signal handler too, to give it up
 * @param err       see saltus_error
 * @retval SALTUS_OK            the file is there, and complete
 * @retval SALTUS_E_CANCELLED   it was given up; nothing is left of the file to be
 * @retval SALTUS_E_INVALID     a part is missing, incomplete, twice there, or of another run; the
 *                              message says which
 * @retval SALTUS_E_IO          a file cannot be read or written, or is in the way, as one
 *                              that another process is writing
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_merge(const char *const *paths, int n,
                                                                const char *out, bool overwrite,
                                                                const volatile int *stop,
                                                                saltus_error *err);
/**
 * Cut a run into shards of about equal size: which trajectories the shard has. Shards begin at the
 * edges of chunks, where they are large enough.
 *
 * @param plan        of the run
 * @param run         the whole run
 * @param options     of its file
 * @param shard       its number, from 0 to n_shards
 * @param n_shards    how many; shard n_shards is shard 0
 * @param[out] first  its first trajectory
 * @param[out] n      how many it has; 0: there are more shards than trajectories, a number is out
 * of its range, or an argument is NULL
 */
SALTUS_API void saltus_hdf5_shard(const saltus_plan *plan, const saltus_run_options *run,
                                  const saltus_hdf5_options *options, int64_t shard,
                                  int64_t n_shards, int64_t *first, int64_t *n);
/**
 * Cut a sweep into shards of about equal size: what is simulated, and what the file says of it.
 *
 * @param sweep           whose points are made
 * @param shard           its number, from 0 to n_shards
 * @param n_shards        how many; shard n_shards is shard 0
 * @param by_runs         whether the shard has some runs of all points, else all runs of some
 *                        points, one behind the other
 * @param[in,out] options of the whole sweep, then of the shard: first_point and n_points, or
 *                        runs_apart and, in run, first_trajectory and n_trajectories
 * @param[in,out] results of the file, likewise: n_shards, shard, whole_first, whole_runs, by_runs
 * @param err             see saltus_error
 * @retval SALTUS_OK          options and results are those of the shard
 * @retval SALTUS_E_INVALID   there are more shards than points or runs, no such shard, or an
 *                            argument is NULL
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_sweep_shard(const saltus_sweep *sweep, int64_t shard, int64_t n_shards, bool by_runs,
                   saltus_sweep_options *options, saltus_hdf5_options *results, saltus_error *err);
/**
 * Read the files that a result file keeps.
 *
 * @param path     the result file
 * @param[out] out to be freed with saltus_archive_destroy; reading through it never reads the disk
 * @param err      see saltus_error
 * @retval SALTUS_OK            it is there
 * @retval SALTUS_E_INVALID     the file keeps none: an older version wrote it
 * @retval SALTUS_E_IO          it cannot be read, or is damaged
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_archive_open(const char *path,
                                                               saltus_archive **out,
                                                               saltus_error *err);
/**
 * Give the usual options.
 *
 * @return every sample, compressed fast
 */
SALTUS_API saltus_hdf5_options saltus_hdf5_options_default(void);

/** An open result file that is being written; give its sink to saltus_run. */
typedef struct saltus_hdf5_sink saltus_hdf5_sink;

/**
 * Refuse early what saltus_hdf5_sink_open would refuse: options out of their range, histograms
 * without a species to count, and a run that needs more memory than this machine has or the process
 * may take. Of the times only their number is looked at, so that they need not exist yet.
 *
 * @param plan    what is to run
 * @param run     its options
 * @param options of the file; NULL: the usual ones
 * @param err     see saltus_error
 * @retval SALTUS_OK            nothing speaks against it
 * @retval SALTUS_E_INVALID     the sentence has the numbers
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_hdf5_check(const saltus_plan *plan,
                                                             const saltus_run_options *run,
                                                             const saltus_hdf5_options *options,
                                                             saltus_error *err);
/**
 * Create a result file (docs/file-format.md). The file appears under its name at once, marked
 * incomplete, and is readable after every failure later on, a full disk included. A result of that
 * name is replaced with options->overwrite alone, a file that Saltus has not written never. HDF5 is
 * no library for threads: of all result files of a process, written or read, only one may be in use
 * at a time (saltus_run keeps to that).
 *
 * @param path     of the file to be
 * @param plan     what is to run; must outlive the sink
 * @param run      its options; its times are copied
 * @param options  of the file; NULL: the usual ones
 * @param[out] out to be closed with saltus_hdf5_sink_close
 * @param err      see saltus_error
 * @retval SALTUS_OK            the file is there
 * @retval SALTUS_E_IO          the file cannot be created; or it exists and may not be replaced, or
 *                              another process is writing it. A new file is not left behind
 * @retval SALTUS_E_INVALID     an option is out of its range, saltus_hdf5_check refuses,
 *                              or the results cannot fit on the disk (docs/file-format.md)
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_hdf5_sink_open(
    const char *path, const saltus_plan *plan, const saltus_run_options *run,
    const saltus_hdf5_options *options, saltus_hdf5_sink **out, saltus_error *err);
/**
 * Give the sink to hand to saltus_run, once. A run of another plan, or with another seed, other
 * numbers of trajectories or other times than it was opened for is refused (SALTUS_E_INVALID), and
 * so is a second one.
 *
 * @param sink may be NULL
 * @return valid until saltus_hdf5_sink_close; NULL without a sink
 */
SALTUS_API const saltus_sink *saltus_hdf5_sink_get(saltus_hdf5_sink *sink);
/**
 * Give what saltus_run_options.checkpoint is to be: a file of the result's name with ".checkpoint"
 * behind it, which goes when the result is complete.
 *
 * @param sink may be NULL
 * @return valid until saltus_hdf5_sink_close; NULL where none is wanted, or the sink is NULL
 */
SALTUS_API saltus_checkpoint *saltus_hdf5_sink_checkpoint(saltus_hdf5_sink *sink);
/**
 * Write statistics and attributes, mark the file complete if every trajectory came, close it and
 * free the sink, whatever happens.
 *
 * @param sink   may be NULL
 * @param report of the run, whose numbers become attributes; may be NULL
 * @param err    see saltus_error
 * @retval SALTUS_OK          all is on its way to the disk
 * @retval SALTUS_E_IO        writing failed, now or before
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_hdf5_sink_close(saltus_hdf5_sink *sink,
                                                                  const saltus_run_report *report,
                                                                  saltus_error *err);

/** The result file of a sweep: all data sets of a run's with the point as first axis, and the
 * values of each name (docs/file-format.md). */
typedef struct saltus_sweep_file saltus_sweep_file;
/**
 * Create the result file of a sweep, as saltus_hdf5_sink_open does for a run.
 *
 * @param path     of the file to be
 * @param sweep    whose points are made; must outlive the file
 * @param options  how the points are simulated; of a part of a sweep as saltus_sweep_shard has them
 * @param plan     of any point: what is recorded
 * @param results  of the file; NULL: the usual ones
 * @param[out] out to be closed with saltus_sweep_file_close
 * @param err      see saltus_error
 * @return as saltus_hdf5_sink_open
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_file_open(
    const char *path, const saltus_sweep *sweep, const saltus_sweep_options *options,
    const saltus_plan *plan, const saltus_hdf5_options *results, saltus_sweep_file **out,
    saltus_error *err);
/**
 * Give the sink to hand to saltus_sweep_run.
 *
 * @param file may be NULL
 * @return valid until saltus_sweep_file_close; NULL without a file
 */
SALTUS_API const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file);
/**
 * Give what saltus_run_options.checkpoint of the sweep's run takes: files beside the result's, one
 * for each point that is under way.
 *
 * @param file may be NULL
 * @return valid until saltus_sweep_file_close; NULL without a file, or when the options of the
 *         result file want none
 */
SALTUS_API saltus_checkpoint *saltus_sweep_file_checkpoint(saltus_sweep_file *file);
/**
 * Finish and close the result file of a sweep, whatever happens.
 *
 * @param file   may be NULL
 * @param report of the sweep, whose numbers become attributes; may be NULL
 * @param err    see saltus_error
 * @return as saltus_hdf5_sink_close
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_file_close(saltus_sweep_file *file,
                                                                   const saltus_run_report *report,
                                                                   saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Reading, as tables
 */

/** A result file opened for reading, of this or an earlier version. */
typedef struct saltus_results saltus_results;
/**
 * Open a result file; a process of its own looks into it first, which may die of a damaged one.
 *
 * @param path     the file
 * @param[out] out to be closed with saltus_results_close
 * @param err      see saltus_error
 * @retval SALTUS_OK            it is open
 * @retval SALTUS_E_INVALID     it is of a sweep, and holds no point yet
 * @retval SALTUS_E_IO          it cannot be read, is damaged, or is no result of Saltus
 * @retval SALTUS_E_UNAVAILABLE the library was built without HDF5
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_open(const char *path,
                                                               saltus_results **out,
                                                               saltus_error *err);
/**
 * Close a result file.
 *
 * @param results may be NULL
 */
SALTUS_API void saltus_results_close(saltus_results *results);
/**
 * Print `time,<name>-mean…,<name>-sd…` as CSV (sample standard deviation): species, observables.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no statistics yet
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_print_stats(const saltus_results *results,
                                                                      FILE *out, saltus_error *err);

/** What a table of statistics has behind means and standard deviations. Start from
 * saltus_table_options_default(), which is nothing. */
typedef struct saltus_table_options {
    bool variance;           /**< sample variance, `<name>-variance` */
    bool fano;               /**< it over the mean, `<name>-fano`; nan where the mean is 0 */
    const double *quantiles; /**< [n_quantiles] from 0 to 1, `<name>-q0.5` (docs/command.md) */
    int n_quantiles;         /**< 0: none */
    void (*warn)(void *user, const char *sentence); /**< NULL, or called when quantiles are not
                                                         exact, because bins are wider than 1 */
    void *warn_user;                                /**< handed to warn */
} saltus_table_options;
/**
 * Give the usual options.
 *
 * @return nothing beside means and standard deviations
 */
SALTUS_API saltus_table_options saltus_table_options_default(void);
/**
 * Print what saltus_results_print_stats prints with more columns, those of a kind side by side.
 *
 * @param results the file
 * @param options NULL: the usual ones
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no statistics yet, a quantile is not from 0 to 1, or the
 *                            file holds neither samples nor histograms to make it of
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 *
 * Quantiles: definition 7 of Hyndman & Fan, Am. Stat. 50 (1996) 361, doi:10.2307/2684934.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_results_print_table(const saltus_results *results, const saltus_table_options *options,
                           FILE *out, saltus_error *err);
/**
 * Print `time,species,low,high,count` as CSV, a line for every bin low <= x < high; values outside
 * a fixed range stand in bins from -inf and to inf.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no histograms
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_results_print_histograms(const saltus_results *results, FILE *out, saltus_error *err);
/**
 * Print `run,<quantity>…` as CSV, a line per run: what saltus_hdf5_options.derive asked for; nan
 * where a trajectory has no such quantity.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no derived quantities
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_results_print_derived(const saltus_results *results, FILE *out, saltus_error *err);
/**
 * Print `quantity,runs,mean,sd…` as CSV, a line per derived quantity: over the `runs` trajectories
 * that have it.
 *
 * @param results the file
 * @param options NULL: the usual ones
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no derived quantities, or a quantile is not from 0 to 1
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_print_derived_table(
    const saltus_results *results, const saltus_table_options *options, FILE *out,
    saltus_error *err);
/**
 * Print a table of the last sample for people: name, mean, sd, min, max.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   there are no statistics yet
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_results_print_summary(const saltus_results *results, FILE *out, saltus_error *err);
/**
 * Print `run,time,<name>…` as CSV, a line per run and point, or per run where the last samples
 * alone were kept.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   the file holds no trajectories
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_print_csv(const saltus_results *results,
                                                                    FILE *out, saltus_error *err);

/**
 * Of a lattice, print `run,time,type,<name>…` or `run,time,plane,<name>…`, a line per run, point
 * and part.
 *
 * @param results the file
 * @param split   by type of sites, or by plane
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   the file does not hold these counts of every run
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_print_split(const saltus_results *results,
                                                                      saltus_split split, FILE *out,
                                                                      saltus_error *err);
/**
 * Print `run,time,x,y,z,type,<name>…` as CSV, a line for every site of a frame that holds
 * particles.
 *
 * @param results the file
 * @param out     where to
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   the file holds no frames
 * @retval SALTUS_E_IO        the file cannot be read, or writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_results_print_frames(const saltus_results *results, FILE *out, saltus_error *err);
/**
 * Write FILE.xdmf beside FILE.h5, with which ParaView and VTK read its frames; lengths are in
 * micrometres. An .xdmf file that Saltus has not written is left alone.
 *
 * @param results the file
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is written
 * @retval SALTUS_E_INVALID   the file holds no frames, or another file has that name
 * @retval SALTUS_E_IO        the file cannot be read, or the other not be written
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_results_write_xdmf(const saltus_results *results,
                                                                     saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
