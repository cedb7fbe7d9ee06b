/**
 * @file
 * Sweeps: one model at many points of parameters and initial amounts. saltus.h includes this
 * header.
 */
#ifndef SALTUS_SALTUS_SWEEP_H
#define SALTUS_SALTUS_SWEEP_H

#include <saltus/saltus_run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * The points
 */

/** Which values which parameters and initial amounts take: a grid, a random design, or a table. */
typedef struct saltus_sweep saltus_sweep;
/**
 * Begin a sweep that varies nothing yet.
 *
 * @param[out] out to be freed with saltus_sweep_destroy
 * @param err      see saltus_error
 * @retval SALTUS_OK          the sweep is there
 * @retval SALTUS_E_INVALID   out is NULL
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_create(saltus_sweep **out,
                                                               saltus_error *err);
/**
 * Free a sweep.
 *
 * @param sweep may be NULL
 */
SALTUS_API void saltus_sweep_destroy(saltus_sweep *sweep);
/**
 * Read the table of a design through an archive.
 *
 * @param sweep   may be NULL
 * @param archive NULL, or to outlive saltus_sweep_finish
 */
SALTUS_API void saltus_sweep_read_through(saltus_sweep *sweep, saltus_archive *archive);
/**
 * Vary one name more.
 *
 * @param sweep whose points are not made yet
 * @param what  "NAME=lin:LOW:HIGH:N", N equally spaced values, bounds included; "log:…", equal
 *              ratios; "list:A,B,C"; for a design "lin:LOW:HIGH" or "log:LOW:HIGH". Whether the
 *              model has the name, saltus_sweep_freeze finds out
 * @param err   see saltus_error
 * @retval SALTUS_OK          it varies
 * @retval SALTUS_E_INVALID   it says something else, the name is varied already, or the points are
 *                            made
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_vary(saltus_sweep *sweep, const char *what,
                                                             saltus_error *err);
/**
 * Make the points: all combinations, the last name's values fastest, or those of a design.
 *
 * @param sweep  whose points are not made yet
 * @param design NULL: the grid. "lhs:N": a Latin hypercube of N points; "sobol:N": the first N of
 *               Sobol's sequence; "file:POINTS.csv": those of a table, which names in its first
 *               line what varies, so that there is no saltus_sweep_vary
 * @param seed   of a Latin hypercube
 * @param err    see saltus_error
 * @retval SALTUS_OK          the points are made
 * @retval SALTUS_E_INVALID   there are no names, values are missing, or more than 2^28 points; the
 *                            table is none, with its line
 * @retval SALTUS_E_IO        the table cannot be read
 * @retval SALTUS_E_NO_MEMORY memory ran out
 *
 * Latin hypercube: McKay, Beckman & Conover, Technometrics 21 (1979) 239,
 * doi:10.1080/00401706.1979.10489755. Sobol's sequence with the directions of Joe & Kuo, SIAM J.
 * Sci. Comput. 30 (2008) 2635, doi:10.1137/070709359.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_finish(saltus_sweep *sweep,
                                                               const char *design, uint64_t seed,
                                                               saltus_error *err);

/**
 * Make the points: those of a table in memory.
 *
 * @param sweep    that varies nothing yet
 * @param names    [n_names] what varies; copied
 * @param n_names  at least 1
 * @param values   [n_points][n_names] any finite numbers, in the model's units; copied
 * @param n_points 1 to 2^28
 * @param err      see saltus_error
 * @retval SALTUS_OK          the points are made
 * @retval SALTUS_E_INVALID   a number of names or points is out of its range, a name stands there
 *                            twice, a value is no finite number, or the sweep varies something
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_table(saltus_sweep *sweep,
                                                              const char *const *names, int n_names,
                                                              const double *values,
                                                              int64_t n_points, saltus_error *err);

/**
 * Count the names that vary.
 *
 * @param sweep may be NULL
 * @return their number
 */
SALTUS_API int saltus_sweep_n_axes(const saltus_sweep *sweep);
/**
 * Tell the name of an axis.
 *
 * @param sweep may be NULL
 * @param axis  0 <= axis < saltus_sweep_n_axes
 * @return valid as long as the sweep; "" when axis is out of its range
 */
SALTUS_API const char *saltus_sweep_name(const saltus_sweep *sweep, int axis);
/**
 * Count the values of a grid's axis.
 *
 * @param sweep may be NULL
 * @param axis  0 <= axis < saltus_sweep_n_axes
 * @return their number; 0 for a design, and when axis is out of its range
 */
SALTUS_API int64_t saltus_sweep_axis_length(const saltus_sweep *sweep, int axis);
/**
 * Count the points.
 *
 * @param sweep may be NULL
 * @return their number; 0 before saltus_sweep_finish
 */
SALTUS_API int64_t saltus_sweep_n_points(const saltus_sweep *sweep);
/**
 * Tell what an axis is at a point.
 *
 * @param sweep may be NULL
 * @param axis  0 <= axis < saltus_sweep_n_axes
 * @param point 0 <= point < saltus_sweep_n_points
 * @return the value, in the model's unit; NaN when axis or point is out of its range
 */
SALTUS_API double saltus_sweep_value(const saltus_sweep *sweep, int axis, int64_t point);

/**
 * Thaw a model, set the values of a point and freeze it, as saltus_sweep_run does.
 *
 * @param sweep whose points are made
 * @param point 0 <= point < saltus_sweep_n_points
 * @param model frozen or not; its plans must be gone
 * @param law   as for saltus_model_freeze
 * @param err   see saltus_error
 * @return as saltus_model_set and saltus_model_freeze; SALTUS_E_INVALID also when point is out of
 *         its range
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_freeze(const saltus_sweep *sweep,
                                                               int64_t point, saltus_model *model,
                                                               saltus_law law, saltus_error *err);
/**
 * See that the model and the plan's method take the values of the points, before any is simulated:
 * each value of a grid beside the first ones of other axes, or each point of a design.
 *
 * @param sweep        whose points are made
 * @param most         of so many values of an axis, or points of a design, and the last one
 * @param model        frozen or not; its plans must be gone; afterwards some point's
 * @param law          as for saltus_model_freeze
 * @param plan         NULL: the usual options
 * @param[out] rounded what a point has to say of molecules that are whole, as
 *                     saltus_model_warning_is_of_whole knows it, and the first point has not; else
 *                     ""
 * @param size         bytes of rounded, at least 1; 600 hold every sentence
 * @param err          see saltus_error
 * @return as saltus_sweep_freeze, and as saltus_plan_create what a method refuses
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_sweep_check(const saltus_sweep *sweep, int64_t most, saltus_model *model, saltus_law law,
                   const saltus_plan_options *plan, char *rounded, size_t size, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Simulating them
 */

/** How a sweep is simulated. Start from saltus_sweep_options_default(). */
typedef struct saltus_sweep_options {
    /** Read the model, not frozen; called once by every thread. NULL: *err has the reason, or
     * SALTUS_OK where the sweep is to stop. */
    saltus_model *(*load)(void *user, saltus_error *err);
    /** NULL: what was loaded is destroyed. Else called instead, from any thread, for each model
     * that load gave, so that a later sweep can have it again: thawed, its values are some point's.
     */
    void (*unload)(void *user, saltus_model *model);
    void *load_user;            /**< handed to load and unload */
    saltus_law law;             /**< as for saltus_model_freeze */
    const char *device;         /**< "cpu", "cuda" … */
    saltus_plan_options plan;   /**< n_threads: points at a time, or threads when points are few */
    saltus_run_options run;     /**< n_trajectories: at every point; first_trajectory: of the
                                     sweep's first point. times, stop, warn and progress as in a
                                     run */
    int64_t first_point;        /**< of those that are simulated, in a part of a sweep */
    int64_t n_points;           /**< how many are; 0: all from first_point on */
    int64_t n_done;             /**< of these, points that a sink has had before: the first ones;
                                     they are not simulated again */
    int64_t runs_apart;         /**< in a part of a sweep, how many numbers the first trajectories
                                     of a point and the next are apart; 0: n_trajectories */
    bool common_random_numbers; /**< run i has the same number at every point, else run i at point
                                     g is trajectory first_trajectory + g R + i, R is runs_apart */
} saltus_sweep_options;
/**
 * Give the usual options.
 *
 * @return one trajectory of seed 1 per point; load and times are still to be given
 */
SALTUS_API saltus_sweep_options saltus_sweep_options_default(void);

/** Where the trajectories of points go; functions return other than SALTUS_OK to stop the sweep. */
typedef struct saltus_sweep_sink {
    void *user; /**< handed to every function */
    /** A sink for a point's run. Called by any thread. */
    saltus_status (*open)(void *user, int64_t point, const saltus_plan *plan, saltus_sink **sink,
                          saltus_error *err);
    /** The run is done: take the sink back. By rising points, one call at a time. */
    saltus_status (*deliver)(void *user, int64_t point, saltus_sink *sink, saltus_error *err);
    /** The sink of a point whose run failed, or that came too late. */
    void (*discard)(void *user, saltus_sink *sink);
    /** NULL, or called before what is kept of a point that was delivered is removed: the point is
     * to survive the process. */
    saltus_status (*flush)(void *user, saltus_error *err);
    /** NULL, or called instead of deliver where many points are simulated at once: a block with
     * trajectories of any number of points, all of each but the last, by rising numbers; `first` is
     * how many of the sweep's trajectories come before. A sink of `open` tells what it reduces. */
    saltus_status (*add)(void *user, const saltus_block *block, saltus_error *err);
} saltus_sweep_sink;

/**
 * Simulate every point, or those of a part. The trajectories of a point are, to the bit, those of a
 * run with the same values, numbers and seed.
 *
 * @param sweep       whose points are made
 * @param options     how
 * @param sink        stays the caller's
 * @param[out] report filled also when the sweep ends early; may be NULL
 * @param err         see saltus_error
 * @return as saltus_run, and as options->load; SALTUS_E_CANCELLED: all points before the first that
 *         is missing were delivered
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_run(const saltus_sweep *sweep,
                                                            const saltus_sweep_options *options,
                                                            const saltus_sweep_sink *sink,
                                                            saltus_run_report *report,
                                                            saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
