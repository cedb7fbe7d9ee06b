/** Trajectories that rest in a GPU's memory between two launches: handed to the saver, and put
 * there to go on (engine/keep.h). */
#ifndef SALTUS_BACKEND_CUDA_SSA_RESTING_H
#define SALTUS_BACKEND_CUDA_SSA_RESTING_H

#include "backend/cuda/ssa/worker.h"

/** Order jobs such that those come first which go on from what was kept; returns their number. */
int64_t saltus_resting_sort(const saltus_task *task, saltus_ticket *jobs, int64_t n);

/** Of a batch's jobs, which saltus_resting_sort has put in order, put the first n_kept into the
 * first slots, and let the launch hand out those behind them. A trajectory that the layout cannot
 * carry is marked as given up. */
SALTUS_MUST_CHECK saltus_status saltus_resting_put(saltus_gpu_worker *c, int64_t n_kept,
                                                   saltus_error *err);

/** Between two launches: hand to the saver the batch's trajectories that are under way, and those
 * that have ended, unless these are very large. */
SALTUS_MUST_CHECK saltus_status saltus_resting_keep(saltus_gpu_worker *c, saltus_error *err);

#endif
