/** The points of a sweep: which values which names take. */
#ifndef SALTUS_SWEEP_SWEEP_H
#define SALTUS_SWEEP_SWEEP_H

#include "backend/backend.h"
#include "core/handle.h"

typedef struct saltus_axis {
    char *name;
    bool is_log, is_range; /**< a range without a number of values is for a design */
    double low, high;
    int64_t n;
    double *values; /**< [n] of the axis; with a design [point] */
} saltus_axis;

struct saltus_sweep {
    saltus_handle handle;
    saltus_axis *axes;
    size_t n_axes, capacity;
    int64_t n_points;
    bool has_design, is_finished;
    saltus_archive *archive; /**< of a table of points; or NULL */
    char *file;              /**< of a table of points, else NULL */
    int64_t *lines;          /**< [point] where it stands there */
};

/** SALTUS_E_INVALID when there is no number for the last trajectory. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_check_numbers(const struct saltus_sweep *sweep,
                                                           int64_t first, int64_t n_each,
                                                           saltus_error *err);

/** SALTUS_E_INVALID when the part of the sweep, or what is done of it, is none, or there are no
 * numbers for it. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_check_options(const struct saltus_sweep *sweep,
                                                           const saltus_sweep_options *options,
                                                           saltus_error *err);
/** Points that are simulated at a time in this process, a thread each. 1: one after the other. */
int saltus_sweep_at_a_time(const struct saltus_sweep *sweep, const saltus_sweep_options *options,
                           const struct saltus_plan *plan);
/** Add an axis without a name or values. NULL: memory ran out, and nothing was added. */
saltus_axis *saltus_sweep_add_axis(struct saltus_sweep *sweep);
/** Let a model, which is thawed if it is frozen, take the values of a point. As
 * saltus_model_set. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_set(const struct saltus_sweep *sweep, int64_t point,
                                                 saltus_model *model, saltus_error *err);
/** saltus_sweep_freeze, and see that the plan's method takes the model there, which may refuse it
 * as saltus_plan_create does. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_check_point(const struct saltus_sweep *sweep,
                                                         int64_t point, saltus_model *model,
                                                         saltus_law law,
                                                         const saltus_plan_options *plan,
                                                         saltus_error *err);
/** What options->load gives, for saltus_sweep_unload; SALTUS_E_CANCELLED: it gave neither a model
 * nor a reason. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_load(const saltus_sweep_options *options,
                                                  saltus_model **out, saltus_error *err);
/** Give back what options->load gave; NULL is allowed. */
void saltus_sweep_unload(const saltus_sweep_options *options, saltus_model *model);

/** What is to be simulated: the first point that is not done, the point behind the last one, and
 * how many numbers the trajectories of a point and the next are apart (points.c). */
int64_t saltus_sweep_begin(const saltus_sweep_options *options);
int64_t saltus_sweep_end(const struct saltus_sweep *sweep, const saltus_sweep_options *options);
int64_t saltus_sweep_apart(const saltus_sweep_options *options);

/** "at k = 0.1, m = 2: ", in front of what went wrong. */
void saltus_sweep_name_point(const struct saltus_sweep *sweep, int64_t point, saltus_error *err);

/**
 * saltus_sweep_run as one run of a device that takes many points at once (at_once.c).
 *
 * @param[out] delivered points
 * @param[out] failed    the point that failed; -1: none, or no one point
 * @retval SALTUS_E_UNSUPPORTED the points do not have one kernel: those that are left have to be
 *                              run one by one
 */
SALTUS_MUST_CHECK saltus_status saltus_sweep_run_at_once(
    const struct saltus_sweep *sweep, const saltus_sweep_options *options,
    const struct saltus_backend *backend, const saltus_sweep_sink *sink, int64_t *delivered,
    int64_t *failed, saltus_run_report *report, saltus_error *err);

/** Take names and values from a table (design_file.c). SALTUS_E_IO, SALTUS_E_INVALID,
 * SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_design_read(struct saltus_sweep *sweep, const char *path,
                                                   saltus_error *err);

/** The most points of a sweep. */
#define SALTUS_MOST_POINTS (INT64_C(1) << 28)

/** Numbers in [0, 1) for n points of each axis, [axis][point] (design.c). Latin hypercube: every
 * one of n equal strata of every axis holds one point (McKay, Beckman, Conover 1979,
 * doi:10.1080/00401706.1979.10489755). Sobol': the first n points with the direction numbers of Joe
 * and Kuo (2008, doi:10.1137/070709359), for up to SALTUS_SOBOL_AXES axes. */
enum { SALTUS_SOBOL_AXES = 21 };
SALTUS_MUST_CHECK saltus_status saltus_design_lhs(int64_t n, uint64_t seed, int axis, double *out,
                                                  saltus_error *err);
void saltus_design_sobol(int64_t n, int axis, double *out);

#endif
