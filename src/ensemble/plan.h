/** A plan: frozen model, backend, method, layout, columns. */
#ifndef SALTUS_ENSEMBLE_PLAN_H
#define SALTUS_ENSEMBLE_PLAN_H

#include "backend/backend.h"
#include "model/network/network.h"
#include "core/handle.h"

struct saltus_plan {
    saltus_handle handle;
    const saltus_model *model;
    const saltus_backend *backend;
    int n_workers;
    saltus_method method;
    saltus_layout wanted, layout; /**< as it was asked for, and as it was chosen */
    int n_slabs;                  /**< of a lattice; 0: it is whole */
    double slabs[SALTUS_MOST_SLABS];
    bool balances_slabs, avoids_peers;
    bool is_over_ranks; /**< each rank has a slab; */
    int n_rank_slabs;   /**< so many, also where only few trajectories are to be split; 0: none */
    saltus_tau tau;
    saltus_tolerance tolerance;
    saltus_generator generator;
    int block, n_streams;
    int64_t n_expected; /**< trajectories of this rank in a run; 0: very many */
    bool in_slabs;      /**< it was asked for slabs */
    char why[200], method_why[200];
    saltus_columns columns;
    int32_t *count_species;
    int32_t *column_of;           /**< on a lattice: [species] its column of counts, or -1 */
    int n_parts[SALTUS_N_SPLITS]; /**< of a lattice's counts; 0: not recorded */
    int axis;                     /**< of the planes */
    saltus_observable *observables;
    char **observable_names;
    int *observable_variables; /**< of the model */
};

/** Decide what a new plan records: the named columns, `A` or `[A]`, separated by commas; NULL: all
 * species, and rules that are to be seen. */
SALTUS_MUST_CHECK saltus_status saltus_plan_choose_columns(saltus_plan *plan, const char *names,
                                                           saltus_error *err);

/** Whether what the plan records of its model can be had from another one in the same way: one that
 * is frozen with other values. */
bool saltus_plan_suits(const saltus_plan *plan, const saltus_model *model);

/** What the plan's method is. */
const saltus_method_ops *saltus_plan_method_ops(const saltus_plan *plan);

/** Whether something moves between reactions, and is integrated. */
bool saltus_plan_integrates(const saltus_plan *plan);

/** Whether a trajectory goes on by CVODE once it is stiff (ode/cvode.h). */
bool saltus_plan_may_solve(const saltus_plan *plan);

/** Amounts at time 0 where the plan's counts are real (method ode); else NULL. */
const double *saltus_plan_amounts(const saltus_plan *plan);

/** The plan as a backend sees it; valid as long as the plan. */
saltus_setup saltus_plan_setup(const saltus_plan *plan);

/** What the plan says of a run's task; the rest is zeros. Valid as long as the plan. */
saltus_task saltus_plan_task(const saltus_plan *plan);

/** Check what saltus_run will be asked to do, before anything is created for it. */
SALTUS_MUST_CHECK saltus_status saltus_run_options_check(const saltus_plan *plan,
                                                         const saltus_run_options *options,
                                                         saltus_error *err);

/** Check that this machine has memory for n lattices at a time, or for such a part of each. */
SALTUS_MUST_CHECK saltus_status saltus_plan_check_lattices(const saltus_plan *plan, int64_t n,
                                                           double part, saltus_error *err);

/** Bytes that the samples of a run hold at a time, at most; see also saltus_run_options. */
double saltus_run_memory(const saltus_plan *plan, int64_t n_times, int64_t n_trajectories);

/** Options as a caller gave them: defaults for NULL, and for texts that are NULL. */
saltus_plan_options saltus_plan_options_given(const saltus_plan_options *options);

#endif
