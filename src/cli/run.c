/* saltus run: an ensemble from a model file to a result file. */
#include "cli/run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every frame is work for the thread that simulates, also one that shows nothing new. */
enum { MOST_FRAMES = 1 << 24 };

/* 0 … T in steps of an option's value, with what is left at the end. */
static saltus_status count_steps(const char *option, double step, double until, double most,
                                 int64_t *n, saltus_error *err)
{
    const double steps = until / step;
    if (steps >= most) {
        return saltus_cli_fail(err, SALTUS_E_INVALID,
                               "%s %g: up to time %g that makes more than %.0f times", option, step,
                               until, most);
    }
    const int64_t whole = (int64_t)floor(steps * (1.0 + 1e-12));
    *n = whole + 1 + ((double)whole * step < until * (1.0 - 1e-12));
    return SALTUS_OK;
}

/* How many: 0 … T in equal steps, or in steps of --every. */
saltus_status saltus_cli_count_times(const saltus_cli_run_arguments *a, int64_t *n,
                                     saltus_error *err)
{
    *n = a->points > 0 ? a->points : 101;
    if (a->every > 0.0) {
        return count_steps("--every", a->every, a->until, 1e12, n, err);
    }
    if (!isfinite(a->until * (double)*n)) { /* as make_times computes the last but one */
        return saltus_cli_fail(err, SALTUS_E_INVALID,
                               "--until %g: with %lld sample times it must be below %.3g", a->until,
                               (long long)*n, DBL_MAX / (double)*n);
    }
    return SALTUS_OK;
}

/* Each time is computed from its index so that none drifts. */
static saltus_status make_times(const saltus_cli_run_arguments *a, int64_t n, const char *what,
                                double **out, saltus_error *err)
{
    double *times = calloc((size_t)n + 1, sizeof *times);
    if (!times) {
        return saltus_cli_fail(err, SALTUS_E_NO_MEMORY, "no memory for %lld %s", (long long)n,
                               what);
    }
    for (int64_t i = 0; i + 1 < n; ++i) {
        times[i] = a->every > 0.0 ? (double)i * a->every : a->until * (double)i / (double)(n - 1);
    }
    times[n - 1] = a->until;
    *out = times;
    return SALTUS_OK;
}

saltus_status saltus_cli_make_times(const saltus_cli_run_arguments *a, int64_t n, double **times,
                                    saltus_error *err)
{
    return make_times(a, n, "sample times", times, err);
}

saltus_status saltus_cli_make_frames(const saltus_cli_run_arguments *a, double **times, int64_t *n,
                                     saltus_error *err)
{
    saltus_cli_run_arguments frames = *a;
    frames.every = a->frames;
    *n = 0;
    if (!(a->frames > 0.0)) {
        return SALTUS_OK;
    }
    const saltus_status status = count_steps("--frames", a->frames, a->until, MOST_FRAMES, n, err);
    if (status != SALTUS_OK) {
        return status;
    }
    return make_times(&frames, *n, "frames", times, err);
}

typedef struct session {
    saltus_cli_session of;
    saltus_model *model;
    saltus_backend *backend;
    saltus_plan *plan;
    saltus_hdf5_sink *sink;
    double *frames;
    const volatile int *stop;
} session;

saltus_hdf5_options saltus_cli_result_options(const saltus_cli_run_arguments *a)
{
    saltus_hdf5_options o = saltus_hdf5_options_default();
    o.record = a->output || a->has_record ? a->record : SALTUS_RECORD_STATS;
    o.compress = a->compress;
    o.n_bins = a->bins;
    o.range_low = a->low;
    o.range_high = a->high;
    o.command = a->command;
    o.derive = a->derive;
    o.burn_in = a->burn_in;
    o.overwrite = a->overwrite;
    o.extend = a->extends;
    o.checkpoint = a->output && a->format == SALTUS_CLI_HDF5 ? a->checkpoint : 0.0;
    o.archive = a->output && a->format == SALTUS_CLI_HDF5 ? a->archive : NULL;
    return o;
}

saltus_plan_options saltus_cli_plan_options(const saltus_cli_run_arguments *a)
{
    saltus_plan_options plan = saltus_plan_options_default();
    plan.method = a->method;
    plan.columns = a->species;
    plan.n_threads = (int)a->threads;
    plan.block = (int)a->block;
    plan.n_streams = (int)a->streams;
    plan.n_expected = a->runs;
    plan.layout = a->layout;
    plan.rng = a->rng;
    plan.epsilon = a->epsilon;
    plan.n_critical = (int)a->n_critical;
    plan.n_exact = (int)a->n_exact;
    plan.continuous = a->continuous;
    plan.rtol = a->rtol;
    plan.atol = a->atol;
    plan.stiff = a->stiff;
    return plan;
}

saltus_run_options saltus_cli_run_options(saltus_cli_run_arguments *a)
{
    saltus_run_options run = saltus_run_options_default();
    run.seed = a->seed;
    run.first_trajectory = a->first;
    run.n_trajectories = a->runs;
    run.n_done = a->n_done;
    run.ranks = saltus_cli_ranks();
    run.warn = saltus_cli_show_warning;
    run.warn_user = a;
    if (!a->quiet && (a->progress || isatty(STDERR_FILENO))) {
        run.progress = saltus_cli_show_progress;
    }
    return run;
}

/* What steers something that is not there is told; `method` is the one that was named, or NULL. */
static void warn_of_idle(const saltus_cli_run_arguments *a, const char *method)
{
    const char *of_bins = a->bins > 0 ? "--bins" : a->low < a->high ? "--range" : NULL;
    if (a->of_leaps && !(method && saltus_cli_method(method).leaps)) {
        fprintf(stderr, "saltus: warning: %s steers leaps, which are of --method tau alone\n",
                a->of_leaps);
    }
    if (a->has_continuous && !(method && strcmp(method, "hybrid") == 0)) {
        fprintf(stderr, "saltus: warning: --continuous is of --method hybrid alone\n");
    }
    if (of_bins && a->record != SALTUS_RECORD_HISTOGRAM) {
        fprintf(stderr, "saltus: warning: %s is of --record histogram alone\n", of_bins);
    }
    if (a->of_files && (!a->output || a->format == SALTUS_CLI_CSV)) {
        fprintf(stderr, "saltus: warning: %s is of result files, -o FILE.h5, alone\n", a->of_files);
    }
}

void saltus_cli_choose_method(const saltus_cli_run_arguments *a, const saltus_model *model,
                              saltus_plan_options *plan, saltus_method_choice *choice)
{
    const bool is_auto = plan->method && strcmp(plan->method, "auto") == 0;
    if (is_auto) {
        *choice = saltus_method_choose(model, plan);
        plan->method = choice->method;
        plan->method_why = choice->why;
        fprintf(stderr, "saltus: method auto takes %s: %s\n", choice->method, choice->why);
    }
    if (!a->quiet) {
        warn_of_idle(a, is_auto ? "tau" : plan->method);
    }
}

static saltus_status open_backend(session *s, const saltus_cli_run_arguments *a,
                                  const saltus_plan_options *plan, const saltus_run_options *run,
                                  saltus_error *err)
{
    saltus_run_options to_the_end = *run;
    char device[200];
    saltus_ranks_device(saltus_cli_ranks(), a->device, device, sizeof device);
    if (strcmp(a->device, "auto") != 0) {
        return saltus_backend_open(device, &s->backend, err);
    }
    to_the_end.times = &a->until;
    to_the_end.n_times = 1;
    return saltus_backend_choose(s->model, plan, &to_the_end, &s->backend, err);
}

/* Of all trajectories those of the shard. */
static saltus_status take_shard(const saltus_plan *plan, saltus_cli_run_arguments *a,
                                saltus_run_options *run, saltus_hdf5_options *results,
                                saltus_error *err)
{
    if (a->n_shards == 0 || a->extends) { /* an extended one was cut when it began */
        return SALTUS_OK;
    }
    results->n_shards = a->n_shards;
    results->shard = a->shard;
    results->whole_first = run->first_trajectory;
    results->whole_runs = run->n_trajectories;
    saltus_hdf5_shard(plan, run, results, a->shard, a->n_shards, &run->first_trajectory,
                      &run->n_trajectories);
    a->first = run->first_trajectory;
    a->runs = run->n_trajectories;
    return results->whole_runs >= a->n_shards
               ? SALTUS_OK
               : saltus_cli_fail(err, SALTUS_E_INVALID, "--shard %lld/%lld: %s but %lld %s",
                                 (long long)a->shard, (long long)a->n_shards,
                                 results->whole_runs == 1 ? "there is" : "there are",
                                 (long long)results->whole_runs,
                                 saltus_cli_trajectories(results->whole_runs));
}

static bool is_on_gpu(const saltus_backend *backend)
{
    return strncmp(saltus_backend_name(backend), "cuda", 4) == 0;
}

/* Slabs change no result, and those that a file was begun with need not fit those who go on. */
static const char *split_of(const saltus_cli_run_arguments *a, const saltus_backend *backend)
{
    const int n_ranks = saltus_ranks_count(saltus_cli_ranks());
    int n_slabs = 1;
    for (const char *c = a->split; c && *c; ++c) {
        n_slabs += *c == ':';
    }
    if (!a->split || !a->may_split) {
        return a->split;
    }
    return n_ranks == 1 && !is_on_gpu(backend) ? NULL
           : n_ranks > 1 && n_slabs == n_ranks ? a->split
                                               : "auto";
}

/* What every rank makes. */
static saltus_status make_plan(session *s, saltus_cli_run_arguments *a, saltus_run_options *run,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    s->model = saltus_cli_load(a->model, &a->changes, a->law, a->method, a->quiet, err);
    if (!s->model) {
        return err->code;
    }
    saltus_plan_options plan = saltus_cli_plan_options(a);
    plan.by_type = a->output && a->format == SALTUS_CLI_HDF5;
    plan.profile = a->profile;
    plan.split = a->may_split ? NULL : a->split;
    plan.ranks = saltus_cli_ranks();
    plan.no_peer = a->no_peer;
    saltus_method_choice choice;
    *run = saltus_cli_run_options(a);
    run->stop = s->stop;
    saltus_cli_choose_method(a, s->model, &plan, &choice);
    status = open_backend(s, a, &plan, run, err);
    if (status != SALTUS_OK) {
        return status;
    }
    plan.split = a->split = split_of(a, s->backend);
    plan.n_threads = saltus_cli_threads(a, saltus_backend_name(s->backend));
    return saltus_plan_create(s->model, s->backend, &plan, &s->plan, err);
}

static saltus_status open_trace(session *s, const saltus_cli_run_arguments *a,
                                saltus_run_options *run, saltus_error *err)
{
    saltus_status status = a->trace ? saltus_cli_check_trace(a, err) : SALTUS_OK;
    if (!a->trace || status != SALTUS_OK ||
        (status = saltus_cli_open_trace(a->trace, &s->of.trace, err)) != SALTUS_OK ||
        (status = saltus_cli_check_trace(a, err)) != SALTUS_OK) {
        return status;
    }
    run->trace = saltus_cli_write_span;
    run->trace_user = s->of.trace;
    return SALTUS_OK;
}

/* Everything before the first trajectory: what fails here is the user's input. */
static saltus_status prepare(session *s, saltus_cli_run_arguments *a, saltus_run_options *run,
                             saltus_error *err)
{
    saltus_status status = make_plan(s, a, run, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (a->explain) {
        saltus_plan_explain(s->plan, stderr);
    }
    saltus_hdf5_options results = saltus_cli_result_options(a);
    if ((status = saltus_cli_count_times(a, &run->n_times, err)) != SALTUS_OK ||
        (status = take_shard(s->plan, a, run, &results, err)) != SALTUS_OK ||
        (status = saltus_hdf5_check(s->plan, run, &results, err)) != SALTUS_OK ||
        (status = saltus_cli_make_times(a, run->n_times, &s->of.times, err)) != SALTUS_OK ||
        (status = saltus_cli_make_frames(a, &s->frames, &run->n_frames, err)) != SALTUS_OK) {
        return status;
    }
    run->times = s->of.times;
    run->frame_times = s->frames;
    saltus_cli_keep_results();
    if ((status = saltus_cli_open_output(a, &s->of.table, &s->of.scratch, err)) != SALTUS_OK ||
        (status = open_trace(s, a, run, err)) != SALTUS_OK) {
        return status;
    }
    status = saltus_hdf5_sink_open(s->of.scratch ? s->of.scratch : a->output, s->plan, run,
                                   &results, &s->sink, err);
    run->checkpoint = saltus_hdf5_sink_checkpoint(s->sink);
    return status;
}

static saltus_status print_summary(const session *s, const saltus_cli_run_arguments *a,
                                   saltus_error *err)
{
    saltus_results *results = NULL;
    saltus_status status =
        saltus_results_open(s->of.scratch ? s->of.scratch : a->output, &results, err);
    if (status == SALTUS_OK) {
        status = saltus_results_print_summary(results, stdout, err);
    }
    saltus_results_close(results);
    return status;
}

static void clean_up(session *s)
{
    saltus_plan_destroy(s->plan);
    saltus_backend_close(s->backend);
    saltus_model_destroy(s->model);
    free(s->frames);
}

/* Of a run that extends a result: what is there, and what is to be. */
static saltus_status find_done(saltus_cli_run_arguments *a, saltus_error *err)
{
    saltus_file_state state;
    if (!a->append || access(a->output, F_OK) != 0) {
        return SALTUS_OK;
    }
    const saltus_status status = saltus_file_state_read(a->output, &state, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (state.is_sweep || state.n_done < 0) {
        return saltus_cli_fail(err, SALTUS_E_INVALID, "%s: %s", a->output,
                               state.is_sweep ? "is of a sweep, which has all of its points"
                                              : "an older version wrote it, which kept no state");
    }
    if (state.n_shards > 0) {
        (void)saltus_cli_fail(err, SALTUS_E_INVALID,
                              "%s: is shard %lld of %lld, which has the trajectories of that part",
                              a->output, (long long)(state.shard % state.n_shards),
                              (long long)state.n_shards);
        (void)snprintf(err->hint, sizeof err->hint, "extend the file that saltus merge makes");
        return err->code;
    }
    if (state.is_written) {
        return saltus_cli_fail(err, SALTUS_E_INVALID, "%s: another process is writing this file",
                               a->output);
    }
    if (!state.complete) {
        (void)saltus_cli_fail(err, SALTUS_E_INVALID, "%s: is not complete: %lld of %lld run%s",
                              a->output, (long long)state.n_done, (long long)state.requested,
                              state.requested == 1 ? "" : "s");
        (void)snprintf(err->hint, sizeof err->hint, "saltus resume %.200s goes on with it",
                       a->output);
        return err->code;
    }
    if (a->has_first && a->first != state.first_trajectory + state.n_done) {
        return saltus_cli_fail(err, SALTUS_E_INVALID,
                               "%s: holds the trajectories %lld to %lld, so the next is %lld, not "
                               "%lld",
                               a->output, (long long)state.first_trajectory,
                               (long long)(state.first_trajectory + state.n_done - 1),
                               (long long)(state.first_trajectory + state.n_done),
                               (long long)a->first);
    }
    if (a->runs > INT64_MAX - state.n_done - state.first_trajectory) {
        return saltus_cli_fail(err, SALTUS_E_INVALID, "%s: there are no numbers for so many runs",
                               a->output);
    }
    a->first = state.first_trajectory;
    a->n_done = state.n_done;
    a->runs += state.n_done;
    a->extends = true;
    return SALTUS_OK;
}

void saltus_cli_tell_resume(const saltus_cli_run_arguments *a)
{
    if (a->output && a->format == SALTUS_CLI_HDF5) {
        fprintf(stderr, "  hint: saltus resume %s goes on\n", a->output);
    }
}

/* Another rank than 0: simulate for that. */
static int simulate_for_others(session *s, saltus_cli_run_arguments *a)
{
    saltus_error err = {0};
    saltus_run_options run = saltus_run_options_default();
    saltus_status status = make_plan(s, a, &run, &err);
    status = status == SALTUS_OK ? saltus_run(s->plan, &run, NULL, NULL, &err) : status;
    if (status != SALTUS_OK && status != SALTUS_E_CANCELLED) {
        saltus_ranks_fail(saltus_cli_ranks(), &err);
    }
    clean_up(s);
    return EXIT_FAILED; /* rank 0 knows how it ends */
}

/* Tell the other ranks what to do. */
static saltus_status tell_ranks(const session *s, const saltus_cli_run_arguments *a,
                                saltus_error *err)
{
    const char *chosen = is_on_gpu(s->backend) ? "cuda" : "cpu";
    return saltus_cli_tell_ranks(a, strcmp(a->device, "auto") == 0 ? chosen : a->device,
                                 saltus_plan_method(s->plan), err);
}

int saltus_cli_simulate(saltus_cli_run_arguments *a)
{
    session s = {.of = {.a = a, .start = saltus_cli_now()}};
    saltus_error err = {0}, close_err = {0}, print_err = {0};
    saltus_run_options run = saltus_run_options_default();
    const saltus_run_report *report = &s.of.report;
    s.stop = saltus_cli_catch_signals();
    saltus_cli_read_through(a->archive);
    if (saltus_ranks_number(saltus_cli_ranks()) > 0) {
        return simulate_for_others(&s, a);
    }
    saltus_status status = find_done(a, &err);
    status = status == SALTUS_OK ? prepare(&s, a, &run, &err) : status;
    if (status != SALTUS_OK) {
        const int code = saltus_cli_give_up(&s.of, &err);
        clean_up(&s);
        return code;
    }
    if (!a->quiet) {
        const saltus_forecast forecast = saltus_run_forecast(s.plan, &run);
        saltus_cli_tell_forecast(a, &forecast);
    }
    status = tell_ranks(&s, a, &err);
    if (status == SALTUS_OK) {
        status = saltus_run(s.plan, &run, saltus_hdf5_sink_get(s.sink), &s.of.report, &err);
    }
    if (run.progress) {
        fprintf(stderr, "\r\033[K");
    }
    close_err.code = saltus_hdf5_sink_close(s.sink, report, &close_err);
    saltus_cli_go_on_without_gpu(&s.of, &err, &close_err);
    status = saltus_cli_finish(&s.of, status, &err, &close_err);
    if (status == SALTUS_E_CANCELLED) {
        fprintf(stderr, "saltus: interrupted after %lld of %lld %s%s%s\n",
                (long long)a->n_done + report->trajectories, (long long)a->runs,
                saltus_cli_trajectories(a->runs), a->output ? "; they are in " : "",
                a->output ? a->output : "");
        saltus_cli_tell_resume(a);
    } else if ((status == SALTUS_E_DEVICE || status == SALTUS_E_UNAVAILABLE) &&
               is_on_gpu(s.backend)) {
        saltus_cli_tell_lost(a);
    } else if (status == SALTUS_OK && !a->quiet && !a->json) {
        status = print_summary(&s, a, &print_err);
    }
    if (status != SALTUS_OK && print_err.code == SALTUS_OK && !a->output && !a->quiet && !a->json &&
        report->trajectories > 0) { /* no file keeps what has ended */
        saltus_error ignored = {0};
        (void)!print_summary(&s, a, &ignored);
    }
    if (a->explain) {
        saltus_cli_explain_waiting(s.plan, report);
    }
    if (a->json) {
        const saltus_cli_simulated what = saltus_cli_simulated_by(s.plan);
        saltus_cli_print_json(a, &what, report, s.of.seconds, status == SALTUS_OK);
    }
    clean_up(&s);
    return saltus_cli_end(&s.of, status, &print_err);
}

int saltus_cli_run(int argc, char **argv)
{
    saltus_cli_run_arguments a;
    int code = saltus_cli_run_parse(&saltus_cli_run_argp, argc, argv, &a);
    code = code < 0 ? saltus_cli_take_shard(&a) : code;
    const int result = code >= 0 ? code : saltus_cli_simulate(&a);
    saltus_cli_run_free(&a);
    return result;
}
