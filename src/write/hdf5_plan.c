#include "write/hdf5_sink.h"

#include "core/memory.h"
#include "ensemble/plan.h"

saltus_status saltus_hdf5_sink_open(const char *path, const saltus_plan *plan,
                                    const saltus_run_options *run,
                                    const saltus_hdf5_options *options, saltus_hdf5_sink **out,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *model = saltus_plan_model(plan);
    const int n_counts = saltus_plan_n_counts(plan);
    const int n_observables = saltus_plan_n_observables(plan);
    const char **names = saltus_calloc((size_t)n_counts + (size_t)n_observables + 1, sizeof *names);

    SALTUS_NEED(names);
    SALTUS_TRY(saltus_run_options_check(run, err));
    for (int c = 0; c < n_counts; ++c) {
        names[c] = saltus_plan_count_name(plan, c);
    }
    for (int o = 0; o < n_observables; ++o) {
        names[n_counts + o] = saltus_plan_observable_name(plan, o);
    }
    const saltus_hdf5_layout layout = {
        .model_name = saltus_model_name(model),
        .model_sha256 = saltus_model_sha256(model),
        .method = saltus_plan_method(plan),
        .device = saltus_backend_name(saltus_plan_backend(plan)),
        .layout = saltus_plan_layout(plan),
        .seed = run->seed,
        .first_trajectory = run->first_trajectory,
        .n_trajectories = run->n_trajectories,
        .times = run->times,
        .n_points = run->n_times,
        .n_counts = n_counts,
        .n_observables = n_observables,
        .count_names = names,
        .observable_names = names + n_counts,
        .options = options ? *options : saltus_hdf5_options_default(),
    };
    SALTUS_TRY(saltus_hdf5_sink_create(path, &layout, out, err));
done:
    saltus_free(names);
    return status;
}
