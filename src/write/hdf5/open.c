/* What a file says of a run or a sweep, and whether it can be made at all. */
#include "write/results.h"
#include "write/hdf5/live.h"
#include "write/hdf5/sets.h"
#include "write/hdf5/sink.h"
#include "write/identity.h"
#include "write/options.h"

#include "core/archive.h"
#include "core/limits.h"
#include "core/memory.h"
#include "core/number.h"
#include "ensemble/derive.h"
#include "ensemble/histogram.h"
#include "ensemble/plan.h"
#include "ensemble/statistics.h"
#include "model/network/volume.h"

#include <math.h>

/* Statistics, histograms, times, and what is made of the samples before they are written: never
 * more than they take themselves. */
static double memory_needed(const saltus_plan *plan, const saltus_run_options *run,
                            const saltus_hdf5_options *options)
{
    const double points = (double)run->n_times;
    const double n_counts = saltus_plan_n_counts(plan);
    const double n_observables = saltus_plan_n_observables(plan);
    const double most_columns = n_counts > n_observables ? n_counts : n_observables;
    const double bins = options->n_bins ? (double)options->n_bins : SALTUS_HISTOGRAM_BINS;
    double bytes = 2.0 * saltus_run_memory(plan, run->n_times, run->n_trajectories);
    bytes += points * (2.0 * sizeof(double) + most_columns * 2.0 * sizeof(double));
    bytes += points * n_counts * SALTUS_STATISTICS_BYTES;
    bytes += points * n_observables * SALTUS_REAL_STATISTICS_BYTES;
    for (int i = 0; i < SALTUS_N_SPLITS && options->record != SALTUS_RECORD_ALL; ++i) {
        bytes +=
            points * n_counts * plan->n_parts[i] * (SALTUS_STATISTICS_BYTES + 2 * sizeof(double));
    }
    if (options->record == SALTUS_RECORD_HISTOGRAM) {
        bytes += points * n_counts * (bins + 3.0) * sizeof(uint64_t);
        bytes += points * bins * sizeof(uint64_t); /* one species' on its way to the file */
    }
    return bytes;
}

static saltus_status check_memory(const saltus_plan *plan, const saltus_run_options *run,
                                  const saltus_hdf5_options *options, saltus_error *err)
{
    const double gib = 1024.0 * 1024.0 * 1024.0, needed = memory_needed(plan, run, options);
    const int columns = saltus_plan_n_counts(plan) + saltus_plan_n_observables(plan);
    const bool has_histogram = options->record == SALTUS_RECORD_HISTOGRAM;
    const bool has_profile = plan->n_parts[SALTUS_BY_PLANE] > 0;
    bool is_limit;
    const double most = saltus_memory_most(&is_limit);
    if (needed <= most) {
        return SALTUS_OK;
    }
    const saltus_status status = saltus_error_set(
        err, SALTUS_E_INVALID,
        "%lld sample time%s of %d column%s%s take about %.3g GiB of memory; %s %.3g GiB",
        (long long)run->n_times, run->n_times == 1 ? "" : "s", columns, columns == 1 ? "" : "s",
        has_histogram ? ", with histograms,"
        : has_profile ? ", with profiles,"
                      : "",
        needed / gib, is_limit ? "this process is limited to" : "this machine has", most / gib);
    saltus_error_hint(err, "ask for fewer times (`times`)%s or fewer columns (`columns`)",
                      has_histogram ? ", fewer `n_bins`" : "");
    return status;
}

/* Shard n_shards is shard 0. */
static bool is_shard(int64_t shard, int64_t n_shards)
{
    return n_shards > 0 && shard >= 0 && shard <= n_shards;
}

static saltus_status no_shard(int64_t shard, int64_t n_shards, saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_INVALID, "there is no shard %lld of %lld",
                            (long long)shard, (long long)n_shards);
}

static saltus_status check_options(const saltus_hdf5_options *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_check_kept(o->record, o->n_bins, o->burn_in, err));
    if ((unsigned)o->compress > SALTUS_COMPRESS_SMALL) {
        SALTUS_FAIL(SALTUS_E_INVALID, "compress %d: there is no such saltus_compress",
                    (int)o->compress);
    }
    if (!(o->checkpoint >= 0.0 && isfinite(o->checkpoint))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "checkpoints every %g s: it must be above 0, or 0 for none",
                    o->checkpoint);
    }
    if (o->n_shards != 0 && !is_shard(o->shard, o->n_shards)) {
        status = no_shard(o->shard, o->n_shards, err);
    }
done:
    return status;
}

saltus_status saltus_hdf5_check(const saltus_plan *plan, const saltus_run_options *run,
                                const saltus_hdf5_options *options, saltus_error *err)
{
    if (!plan || !run) {
        return saltus_no_argument(err, __func__);
    }
    const saltus_hdf5_options o = options ? *options : saltus_hdf5_options_default();
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check_options(&o, err));
    if (o.record == SALTUS_RECORD_HISTOGRAM && saltus_plan_n_counts(plan) == 0) {
        status =
            saltus_error_set(err, SALTUS_E_INVALID,
                             "histograms are of counts, and no count of a species is recorded");
        saltus_error_hint(err, "name a species, or choose `record all`, stats or final");
        goto done;
    }
    status = check_memory(plan, run, &o, err);
done:
    return status;
}

/* Where the shard and the next begin. */
static void cut(int64_t n, int64_t shard, int64_t n_shards, int64_t at[2])
{
    for (int i = 0; i < 2; ++i) {
        at[i] = (int64_t)((__int128)n * (shard % n_shards + i) / n_shards);
    }
}

void saltus_hdf5_shard(const saltus_plan *plan, const saltus_run_options *run,
                       const saltus_hdf5_options *options, int64_t shard, int64_t n_shards,
                       int64_t *first, int64_t *n)
{
    const bool is_one = plan && run && options && first && n && run->n_trajectories > 0 &&
                        run->n_times > 0 && is_shard(shard, n_shards);
    if (!is_one) {
        if (n) {
            *n = 0;
        }
        return;
    }
    saltus_hdf5_layout layout = {
        .n_trajectories = run->n_trajectories,
        .n_points = run->n_times,
        .n_counts = saltus_plan_n_counts(plan),
        .n_observables = saltus_plan_n_observables(plan),
        .n_parts = {plan->n_parts[0], plan->n_parts[1]},
        .options = *options,
    };
    layout.options.n_shards = n_shards;
    layout.options.whole_runs = run->n_trajectories;
    const int64_t chunk = (int64_t)saltus_h5_runs_per_chunk(&layout), runs = run->n_trajectories;
    const int64_t edge = runs / n_shards >= chunk ? chunk : 1;
    int64_t at[2];
    cut(runs, shard, n_shards, at);
    at[0] = at[0] / edge * edge;
    at[1] = at[1] < runs ? at[1] / edge * edge : runs;
    *first = run->first_trajectory + at[0]; /* they may be the run's own */
    *n = at[1] - at[0];
}

saltus_status saltus_sweep_shard(const saltus_sweep *sweep, int64_t shard, int64_t n_shards,
                                 bool by_runs, saltus_sweep_options *options,
                                 saltus_hdf5_options *results, saltus_error *err)
{
    if (!sweep || !options || !results) {
        return saltus_no_argument(err, __func__);
    }
    if (!is_shard(shard, n_shards)) {
        return no_shard(shard, n_shards, err);
    }
    saltus_run_options *run = &options->run;
    const int64_t n = by_runs ? run->n_trajectories : saltus_sweep_n_points(sweep);
    int64_t at[2];
    cut(n, shard, n_shards, at);
    if (n <
        n_shards) { /* said of every part: of some that are empty nobody would know the others */
        return saltus_error_set(
            err, SALTUS_E_INVALID, "shard %lld of %lld: %s but %lld %s%s", (long long)shard,
            (long long)n_shards, saltus_plural(n, "there is", "there are"), (long long)n,
            by_runs ? saltus_plural(n, "run", "runs") : saltus_plural(n, "point", "points"),
            by_runs ? " at each point" : "");
    }
    results->shard = shard;
    results->n_shards = n_shards;
    results->by_runs = by_runs;
    results->whole_first = run->first_trajectory;
    results->whole_runs = run->n_trajectories;
    if (by_runs) {
        options->runs_apart = run->n_trajectories;
        run->first_trajectory += at[0];
        run->n_trajectories = at[1] - at[0];
    } else {
        options->first_point = at[0];
        options->n_points = at[1] - at[0];
    }
    return SALTUS_OK;
}

static void warn_of_disk(const char *path, const saltus_hdf5_layout *layout,
                         const saltus_run_options *run)
{
    char text[SALTUS_DOUBT_SIZE];
    const saltus_disk_need need = saltus_hdf5_need(layout);
    if (run->warn && !saltus_h5_has_locks(path)) {
        (void)snprintf(text, sizeof text,
                       "%.300s: its file system has no locks: another run on this name would not "
                       "be refused",
                       path);
        run->warn(run->warn_user, text);
    }
    if (run->warn && saltus_disk_doubt(path, &need, saltus_disk_free(path), text)) {
        run->warn(run->warn_user, text);
    }
}

/* All that a file says about runs of a plan. It refers to what belongs to the plan, to the names,
 * which are to be freed, and to the volumes' text. */
static saltus_status make_layout(const saltus_plan *plan, const saltus_run_options *run,
                                 const saltus_hdf5_options *options, char *volumes,
                                 const char ***names, saltus_derived *derived,
                                 saltus_hdf5_layout *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *model = saltus_plan_model(plan);
    const int n_counts = saltus_plan_n_counts(plan);
    const int n_observables = saltus_plan_n_observables(plan);
    const saltus_hdf5_options o = options ? *options : saltus_hdf5_options_default();
    *names = saltus_calloc((size_t)n_counts + (size_t)n_observables + 1, sizeof **names);
    SALTUS_NEED(*names);
    if (o.derive) {
        SALTUS_TRY(saltus_derived_parse(o.derive, plan, derived, err));
    }
    for (int c = 0; c < n_counts; ++c) {
        (*names)[c] = saltus_plan_count_name(plan, c);
    }
    for (int i = 0; i < n_observables; ++i) {
        (*names)[n_counts + i] = saltus_plan_observable_name(plan, i);
    }
    *out = (saltus_hdf5_layout){
        .model_name = saltus_model_name(model),
        .model_sha256 = saltus_model_sha256(model),
        .time_unit = model->time_label,
        .volumes = saltus_print_volumes(model, volumes),
        .molecules_per_mole = model->has_moles ? model->mole : 0.0,
        .method = saltus_plan_method(plan),
        .device = saltus_backend_name(saltus_plan_backend(plan)),
        .layout = saltus_plan_layout(plan),
        .rng = saltus_plan_rng(plan),
        .seed = run->seed,
        .first_trajectory = run->first_trajectory,
        .n_trajectories = run->n_trajectories,
        .times = run->times,
        .n_points = run->n_times,
        .n_counts = n_counts,
        .n_observables = n_observables,
        .count_names = *names,
        .observable_names = *names + n_counts,
        .derived = derived,
        .options = o,
    };
    if (o.record == SALTUS_RECORD_HISTOGRAM && o.n_bins == 0) {
        out->options.n_bins = SALTUS_HISTOGRAM_BINS;
    }
done:
    return status;
}

/* All that a file needs to go on, to be freed. */
static saltus_status identify(const saltus_plan *plan, const saltus_run_options *run,
                              const saltus_sweep *sweep, bool common, saltus_hdf5_layout *layout,
                              saltus_identity **identity, char **sources, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *identity = saltus_calloc(1, sizeof **identity);
    SALTUS_NEED(*identity);
    SALTUS_TRY(saltus_identity_make(plan, run, &layout->options, sweep, common, *identity, err));
    if (layout->options.archive) {
        SALTUS_TRY(
            saltus_archive_pack(layout->options.archive, sources, &layout->sources_size, err));
    }
    layout->identity = *identity;
    layout->sources = *sources;
    layout->n_done = run->n_done;
done:
    return status;
}

saltus_status saltus_hdf5_sink_open(const char *path, const saltus_plan *plan,
                                    const saltus_run_options *run,
                                    const saltus_hdf5_options *options, saltus_hdf5_sink **out,
                                    saltus_error *err)
{
    if (!path || !plan || !run || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    char volumes[SALTUS_VOLUMES_SIZE];
    saltus_derived derived = {0};
    saltus_hdf5_layout layout;
    const char **names = NULL;
    char *sources = NULL;
    saltus_identity *identity = NULL;
    SALTUS_TRY(saltus_run_options_check(plan, run, err));
    SALTUS_TRY(saltus_hdf5_check(plan, run, options, err));
    if (run->n_frames > 0) { /* what is written at the end can be told now */
        SALTUS_TRY(saltus_xdmf_check(path, err));
    }
    SALTUS_TRY(make_layout(plan, run, options, volumes, &names, &derived, &layout, err));
    layout.lattice = plan->model->network->lattice;
    layout.n_parts[0] = plan->n_parts[0];
    layout.n_parts[1] = plan->n_parts[1];
    layout.axis = plan->axis;
    layout.frame_times = run->frame_times;
    layout.n_frames = run->n_frames;
    layout.plan = plan;
    layout.run = run;
    SALTUS_TRY(identify(plan, run, NULL, false, &layout, &identity, &sources, err));
    SALTUS_TRY(saltus_hdf5_sink_create(path, &layout, out, err));
    warn_of_disk(path, &layout, run);
    if (layout.options.record == SALTUS_RECORD_HISTOGRAM && layout.n_observables > 0 && run->warn) {
        run->warn(run->warn_user, "histograms are of counts of species alone; of rule targets, "
                                  "parameters and concentrations the file holds statistics");
    }
done:
    saltus_derived_free(&derived);
    saltus_free(identity);
    saltus_free(sources);
    saltus_free(names);
    return status;
}

saltus_status saltus_sweep_file_open(const char *path, const saltus_sweep *sweep,
                                     const saltus_sweep_options *options, const saltus_plan *plan,
                                     const saltus_hdf5_options *results, saltus_sweep_file **out,
                                     saltus_error *err)
{
    if (!path || !sweep || !options || !plan || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const saltus_run_options *run = &options->run;
    saltus_run_options of_point = *run;
    of_point.n_done = 0;
    char volumes[SALTUS_VOLUMES_SIZE];
    saltus_derived derived = {0};
    saltus_hdf5_layout layout;
    const char **names = NULL;
    char *sources = NULL;
    saltus_identity *identity = NULL;
    SALTUS_TRY(saltus_sweep_check_options(sweep, options, err));
    SALTUS_TRY(
        saltus_plan_check_lattices(plan, saltus_sweep_at_a_time(sweep, options, plan), 1.0, err));
    SALTUS_TRY(saltus_run_options_check(plan, &of_point, err));
    if (options->first_point + options->n_points + options->runs_apart > 0 &&
        !(results && results->n_shards > 0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "a file of a part of a sweep has to say of which: "
                                      "saltus_sweep_shard");
    }
    SALTUS_TRY(saltus_hdf5_check(plan, run, results, err));
    SALTUS_TRY(make_layout(plan, run, results, volumes, &names, &derived, &layout, err));
    layout.sweep = sweep;
    layout.first_point = options->first_point;
    layout.n_swept = saltus_sweep_end(sweep, options) - options->first_point;
    layout.first_run =
        layout.options.by_runs ? run->first_trajectory - layout.options.whole_first : 0;
    layout.common_random_numbers = options->common_random_numbers;
    SALTUS_TRY(identify(plan, run, sweep, options->common_random_numbers, &layout, &identity,
                        &sources, err));
    layout.n_done = options->n_done;
    SALTUS_TRY(saltus_sweep_file_create(path, &layout, out, err));
    warn_of_disk(path, &layout, run);
done:
    saltus_derived_free(&derived);
    saltus_free(identity);
    saltus_free(sources);
    saltus_free(names);
    return status;
}
