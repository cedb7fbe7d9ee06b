/* What a run is asked to do: its defaults, and what is wrong with it. */
#include "ensemble/plan.h"

#include "core/limits.h"
#include "core/number.h"
#include "engine/rdme.h"

#include <math.h>

saltus_run_options saltus_run_options_default(void)
{
    return (saltus_run_options){.seed = 1, .n_trajectories = 1};
}

saltus_status saltus_plan_check_lattices(const saltus_plan *plan, int64_t n, double part,
                                         saltus_error *err)
{
    const saltus_lattice *l = plan->model->network->lattice;
    const double gib = 1024.0 * 1024.0 * 1024.0;
    bool is_limit;
    if (!l || plan->method != SALTUS_METHOD_MPD || !plan->backend->ops->lattice_bytes) {
        return SALTUS_OK;
    }
    const double each = part * plan->backend->ops->lattice_bytes(l),
                 most = saltus_memory_most(&is_limit);
    if ((double)n * each <= most) {
        return SALTUS_OK;
    }
    const saltus_status status = saltus_error_set(
        err, SALTUS_E_INVALID,
        "%lld %s of %.4g sites, %s, %s about %.3g GiB of memory; %s %.3g GiB", (long long)n,
        saltus_plural(n, "lattice", "lattices"), part * (double)l->n_sites,
        n == 1 ? "by method mpd" : "as many as there are threads", n == 1 ? "takes" : "take",
        (double)n * each / gib, is_limit ? "this process is limited to" : "this machine has",
        most / gib);
    /* no method holds more sites in one lattice */
    saltus_error_hint(err, "%s",
                      each <= most                          ? "ask for fewer threads"
                      : l->n_sites <= SALTUS_MPD_MOST_SITES ? "method nsm takes less where most "
                                                              "sites are empty"
                                                            : "take fewer sites");
    return status;
}

/* Each rank has a slab of one lattice, or as many trajectories as the others. */
static saltus_status check_memory(const saltus_plan *plan, const saltus_run_options *o,
                                  saltus_error *err)
{
    const int n_ranks = saltus_ranks_count(o->ranks);
    const bool in_slabs =
        plan->n_rank_slabs > 0 && (plan->is_over_ranks || o->n_trajectories < (int64_t)n_ranks);
    const int64_t left = o->n_trajectories - o->n_done, mine = (left + n_ranks - 1) / n_ranks;
    return in_slabs ? saltus_plan_check_lattices(plan, 1, 1.0 / plan->n_rank_slabs, err)
                    : saltus_plan_check_lattices(
                          plan, mine < plan->n_workers ? mine : plan->n_workers, 1.0, err);
}

saltus_status saltus_run_options_check(const saltus_plan *plan, const saltus_run_options *o,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_method_ops *method = saltus_plan_method_ops(plan);
    if (plan->n_workers == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "device '%s' is no GPU: plans for it are compiled, not run",
                    plan->backend->name);
    }
    SALTUS_TRY(saltus_generator_check_seed(&plan->generator, o->seed, err));
    if (o->n_trajectories < 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld trajectories: at least 1 is needed",
                    (long long)o->n_trajectories);
    }
    if (o->first_trajectory < 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the first trajectory is %lld: it must be 0 or more",
                    (long long)o->first_trajectory);
    }
    if (o->first_trajectory > INT64_MAX - o->n_trajectories) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "%lld %s from number %lld on: numbers of trajectories end at 2^63 - 2",
                    (long long)o->n_trajectories,
                    saltus_plural(o->n_trajectories, "trajectory", "trajectories"),
                    (long long)o->first_trajectory);
    }
    if (o->n_done < 0 || o->n_done > o->n_trajectories) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld trajectories are said to be done: there are %lld",
                    (long long)o->n_done, (long long)o->n_trajectories);
    }
    if (o->n_times < 1 || !o->times) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there are no sample times");
    }
    for (int64_t i = 0; i < o->n_times; ++i) {
        if (!(o->times[i] >= 0.0 && isfinite(o->times[i])) ||
            (i > 0 && !(o->times[i] > o->times[i - 1]))) {
            SALTUS_FAIL(SALTUS_E_INVALID, "sample time %lld is %g: they must rise from 0",
                        (long long)i, o->times[i]);
        }
    }
    if (method->check_until) {
        SALTUS_TRY(
            method->check_until(plan->model->network->lattice, o->times[o->n_times - 1], err));
    }
    SALTUS_TRY(check_memory(plan, o, err));
    if (o->n_frames < 0 || (o->n_frames > 0 && !o->frame_times)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld %s: %s", (long long)o->n_frames,
                    saltus_plural(o->n_frames, "frame", "frames"),
                    o->n_frames < 0 ? "it must be 0 or more" : "there are no times for them");
    }
    if (o->n_frames > 0 && !plan->model->network->lattice) {
        SALTUS_FAIL(SALTUS_E_INVALID, "model '%s' has no lattice, and so no frames",
                    plan->model->name);
    }
    for (int64_t i = 0; i < o->n_frames; ++i) {
        const double before = i > 0 ? o->frame_times[i - 1] : -1.0;
        if (!(o->frame_times[i] >= 0.0 && o->frame_times[i] > before &&
              o->frame_times[i] <= o->times[o->n_times - 1])) {
            SALTUS_FAIL(
                SALTUS_E_INVALID,
                "frame %lld is at time %g: they must rise from 0 to the last sample at most",
                (long long)i, o->frame_times[i]);
        }
    }
done:
    return status;
}
