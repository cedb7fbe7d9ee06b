/** Points of a sweep that are simulated one by one, by workers of this process and of other ranks.
 */
#ifndef SALTUS_SWEEP_POINTS_H
#define SALTUS_SWEEP_POINTS_H

#include "core/workers.h"
#include "ranks/ranks.h"
#include "sweep/collect.h"
#include "sweep/sweep.h"

typedef struct saltus_sweep_run {
    const saltus_sweep *sweep;
    const saltus_sweep_options *options;
    const saltus_sweep_sink *sink;
    saltus_backend *backend;
    int n_workers, n_threads; /**< that take points here; of each run */
    bool is_here;             /**< the only worker is the calling thread */
    int64_t n_all;            /**< of all ranks, that take points; */
    int64_t n_total;          /**< and workers of all ranks */
    const saltus_plan *plan;  /**< of the first point; NULL: there are no other ranks */
    saltus_workers workers;
    int64_t next, delivered; /**< points */
    int64_t failed;          /**< the first point known to fail; INT64_MAX: none */
    saltus_error failure;    /**< of that point */
    double start;            /**< saltus_now */
    saltus_run_report report;
} saltus_sweep_run_state;

enum { SALTUS_POINTS_AHEAD = 4 }; /**< points of a worker that may wait for their delivery */

/** ---- points.c ---- */

/** Threads take points of their own when there are enough for all workers of all ranks. */
SALTUS_MUST_CHECK saltus_status saltus_points_share(saltus_sweep_run_state *r, int64_t n_all,
                                                    saltus_error *err);
/** Simulate a point into a sink that r->sink opens. *checkpoint: NULL, or where it was kept. */
SALTUS_MUST_CHECK saltus_status saltus_point_run(saltus_sweep_run_state *r, saltus_model *model,
                                                 int64_t point, saltus_sink **sink,
                                                 saltus_checkpoint **checkpoint,
                                                 saltus_run_report *report, saltus_error *err);
/** A point has failed: none behind it is taken, and the workers fail as soon as those before it are
 * delivered. The lock is held, as below. */
void saltus_points_fail(saltus_sweep_run_state *r, int64_t point, const saltus_error *error);
/** The next point when it is not too far ahead, else wait for that; -1: there is none. */
int64_t saltus_points_take(saltus_sweep_run_state *r);
/** Wait for a point's turn and deliver it. */
void saltus_points_deliver(saltus_sweep_run_state *r, int64_t point, saltus_sink *sink,
                           const saltus_run_report *report);

/** ---- points_lend.c ---- */

/** A plan of the first point, and the model that it is of; to be destroyed in any case. */
SALTUS_MUST_CHECK saltus_status saltus_points_plan(const saltus_sweep *sweep,
                                                   const saltus_sweep_options *options,
                                                   const saltus_backend *backend,
                                                   saltus_model **model, saltus_plan **plan,
                                                   saltus_error *err);
/** Rank 0: wait for the others. Into another sink than a collector they cannot simulate, and the
 * sweep stays on rank 0: *n_all is 0 then. */
SALTUS_MUST_CHECK saltus_status saltus_points_await(const saltus_sweep_run_state *r, int64_t *n_all,
                                                    saltus_error *err);
/** Rank 0: let a rank simulate points, as one of the sweep's workers. */
SALTUS_MUST_CHECK saltus_status saltus_points_lend(saltus_sweep_run_state *r, int rank,
                                                   saltus_error *err);

/** ---- points_serve.c ---- */

/** Another rank: simulate for rank 0 until that leaves. */
SALTUS_MUST_CHECK saltus_status saltus_points_serve(const saltus_sweep *sweep,
                                                    const saltus_sweep_options *options,
                                                    saltus_error *err);

#endif
