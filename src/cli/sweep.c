/* saltus sweep: an ensemble at every point of a grid or a random design. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_VARY = 512, OPT_DESIGN, OPT_COMMON, OPT_SHARD_BY, OPT_OF_RUN, OPT_APPEND };

enum { POINTS = -2 }; /* the group behind those of run, before that of help */

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Points:", POINTS},
    {"vary", OPT_VARY, "NAME=VALUES", 0,
     "lin:LO:HI:N, log:LO:HI:N or list:A,B,C of a parameter or an initial amount; may be repeated: "
     "all combinations",
     POINTS},
    {"design", OPT_DESIGN, "HOW", 0,
     "instead N points of a Latin hypercube (lhs) or of Sobol's sequence (sobol), with lin:LO:HI "
     "or log:LO:HI for every name; or, without --vary, the points of a table, file:POINTS.csv: "
     "names in its first line, values in each other one",
     POINTS},
    {"common-random-numbers", OPT_COMMON, NULL, 0,
     "run i has the same random numbers at every point", POINTS},
    {"shard-by", OPT_SHARD_BY, "WHAT", 0,
     "of --shard: points (the default; a part has some points with all their runs) or runs (all "
     "points with some of their runs)",
     POINTS},
    {"append", OPT_APPEND, NULL, OPTION_HIDDEN, NULL, POINTS},
    {"trace", OPT_OF_RUN, "FILE", OPTION_HIDDEN, NULL, POINTS},
    {"frames", OPT_OF_RUN, "DT", OPTION_HIDDEN, NULL, POINTS},
    {"profile", OPT_OF_RUN, "AXIS", OPTION_HIDDEN, NULL, POINTS},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    saltus_cli_run_arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = a;
        return 0;
    case OPT_VARY:
        return saltus_cli_add_setting(&a->vary, text);
    case OPT_DESIGN:
        a->design = text;
        return 0;
    case OPT_COMMON:
        a->common_random_numbers = true;
        return 0;
    case OPT_SHARD_BY:
        a->shard_by = text;
        return 0;
    case OPT_APPEND:
        (void)saltus_cli_usage("--append is for saltus run: a sweep has all of its points");
        return EINVAL;
    case OPT_OF_RUN:
        (void)saltus_cli_usage("--trace, --frames and --profile are for saltus run");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&saltus_cli_shared_argp, 0, NULL, 0}, {0}};
const struct argp saltus_cli_sweep_argp = {
    options,
    parse,
    NULL, /* MODEL, as the options' other half says */
    "Simulate an ensemble of trajectories of MODEL at every point of a sweep."
    "\vRun i at point g is trajectory g R + i, and has the bits of a single run with the same "
    "values "
    "and number.",
    children,
    NULL,
    NULL};

typedef struct session {
    saltus_cli_session of;
    saltus_sweep *sweep;
    saltus_sweep_options options;
    saltus_sweep_file *file;
    saltus_method_choice choice;                      /* at the first point, for all */
    char *model;                                      /* its name */
    char device[40], layout[20], method[20], rng[20]; /* of the first point */
    char share[200];                                  /* the device of this rank */
    int64_t n_points;                                 /* that are to be there at the end */
    char rounded[600]; /* of an amount that a point behind the first rounds, or "" */
} session;

/* Read the model and change what options say; it is frozen by who sweeps. */
static saltus_model *load(void *user, saltus_error *err)
{
    const saltus_cli_run_arguments *a = user;
    return saltus_cli_read(a->model, &a->changes, err);
}

static saltus_status make_points(session *s, saltus_error *err)
{
    saltus_status status = saltus_sweep_create(&s->sweep, err);
    saltus_sweep_read_through(s->sweep, saltus_cli_archive());
    for (int i = 0; i < s->of.a->vary.n && status == SALTUS_OK; ++i) {
        status = saltus_sweep_vary(s->sweep, s->of.a->vary.items[i], err);
    }
    return status == SALTUS_OK ? saltus_sweep_finish(s->sweep, s->of.a->design, s->of.a->seed, err)
                               : status;
}

/* A value that no point has is told of. */
static void warn_of_set(const session *s)
{
    const saltus_cli_settings *set = &s->of.a->changes.set;
    for (int i = 0; i < set->n; ++i) {
        const char *equals = strrchr(set->items[i], '=');
        for (int a = 0; equals && a < saltus_sweep_n_axes(s->sweep); ++a) {
            const char *name = saltus_sweep_name(s->sweep, a);
            if (strlen(name) == (size_t)(equals - set->items[i]) &&
                strncmp(name, set->items[i], strlen(name)) == 0) {
                char text[300];
                (void)snprintf(text, sizeof text, "--set '%.200s' is of no account: it is varied",
                               set->items[i]);
                saltus_cli_say("saltus: warning: ", text);
            }
        }
    }
}

/* Values of an axis that are looked at before there is a file. */
enum { MOST_CHECKED = 1000 };

/* What the sweep will take, if all points are like the first and the last. What goes wrong here the
 * sweep will say. */
static void forecast(const session *s, saltus_model *model, const saltus_backend *backend)
{
    const int64_t n = s->n_points, first = s->options.first_point;
    const int64_t points[2] = {first, first + n - 1};
    const int n_points = n > 1 ? 2 : 1;
    saltus_forecast sum = {.of = "reactions"};
    saltus_run_options run = s->options.run;
    run.n_trajectories = run.n_trajectories > INT64_MAX / n ? INT64_MAX : run.n_trajectories * n;
    run.first_trajectory = 0;
    for (int i = 0; i < n_points; ++i) {
        saltus_plan *plan = NULL;
        if (saltus_sweep_freeze(s->sweep, points[i], model, s->of.a->law, NULL) == SALTUS_OK &&
            saltus_plan_create(model, backend, &s->options.plan, &plan, NULL) == SALTUS_OK) {
            saltus_forecast f = saltus_run_forecast(plan, &run);
            f.n = f.n / n_points + sum.n;
            f.seconds = f.seconds / n_points + sum.seconds;
            sum = f;
        }
        saltus_plan_destroy(plan);
    }
    saltus_cli_tell_forecast(s->of.a, &sum);
}

/* A plan of the first point: what is wrong with the input shows here. */
static saltus_status plan_first(session *s, saltus_model **model, saltus_backend **backend,
                                saltus_plan **plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *model = load(s->of.a, err);
    if (!*model) {
        return err->code;
    }
    status = saltus_sweep_check(s->sweep, MOST_CHECKED, *model, s->of.a->law, &s->options.plan,
                                s->rounded, sizeof s->rounded, err);
    if (status == SALTUS_OK) {
        status = saltus_sweep_freeze(s->sweep, 0, *model, s->of.a->law, err);
    }
    if (status == SALTUS_OK) {
        saltus_cli_choose_method(s->of.a, *model, &s->options.plan, &s->choice);
        status = saltus_backend_open(s->options.device, backend, err);
    }
    if (!s->of.a->quiet) {
        saltus_cli_say_warnings(*model, s->of.a->method);
        warn_of_set(s);
    }
    if (status == SALTUS_OK) {
        status = saltus_plan_create(*model, *backend, &s->options.plan, plan, err);
    }
    return status;
}

/* Of the sweep what the shard has; one that is resumed is cut as before. */
static saltus_status take_shard(session *s, saltus_hdf5_options *results, saltus_error *err)
{
    const saltus_cli_run_arguments *a = s->of.a;
    const bool by_runs = a->shard_by && strcmp(a->shard_by, "runs") == 0;
    const saltus_status status = a->n_shards == 0
                                     ? SALTUS_OK
                                     : saltus_sweep_shard(s->sweep, a->shard, a->n_shards, by_runs,
                                                          &s->options, results, err);
    const int64_t n_all = saltus_sweep_n_points(s->sweep);
    s->n_points = s->options.n_points > 0 ? s->options.n_points : n_all;
    return status;
}

static saltus_status open_file(session *s, saltus_error *err)
{
    saltus_model *model = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_hdf5_options results = saltus_cli_result_options(s->of.a);
    saltus_status status = take_shard(s, &results, err);
    status = status == SALTUS_OK ? plan_first(s, &model, &backend, &plan, err) : status;
    if (status == SALTUS_OK) {
        (void)snprintf(s->device, sizeof s->device, "%s", saltus_backend_name(backend));
        (void)snprintf(s->layout, sizeof s->layout, "%s", saltus_plan_layout(plan));
        (void)snprintf(s->method, sizeof s->method, "%s", saltus_plan_method(plan));
        (void)snprintf(s->rng, sizeof s->rng, "%s", saltus_plan_rng(plan));
        s->model = strdup(saltus_model_name(model));
        if (s->of.a->explain) {
            saltus_plan_explain(plan, stderr);
            fprintf(stderr, "sweep     %lld %s, %lld %s at each\n", (long long)s->n_points,
                    saltus_cli_points(s->n_points), (long long)s->options.run.n_trajectories,
                    saltus_cli_trajectories(s->options.run.n_trajectories));
        }
        saltus_cli_keep_results();
        status = saltus_cli_open_output(s->of.a, &s->of.table, &s->of.scratch, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_sweep_file_open(s->of.scratch ? s->of.scratch : s->of.a->output, s->sweep,
                                        &s->options, plan, &results, &s->file, err);
        s->options.run.checkpoint = saltus_sweep_file_checkpoint(s->file);
    }
    saltus_plan_destroy(plan);
    if (status == SALTUS_OK && !s->of.a->quiet) {
        if (s->rounded[0] && strcmp(s->method, "ode") != 0) {
            saltus_cli_say("saltus: warning: ", s->rounded);
        }
        forecast(s, model, backend);
    }
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    return status;
}

/* What every rank makes. */
static saltus_status make_options(session *s, const volatile int *stop, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_cli_run_arguments *a = s->of.a;
    saltus_sweep_options *o = &s->options;
    *o = saltus_sweep_options_default();
    o->load = load;
    o->load_user = a;
    o->law = a->law;
    saltus_ranks_device(saltus_cli_ranks(), strcmp(a->device, "auto") == 0 ? "cpu" : a->device,
                        s->share, sizeof s->share);
    o->device = s->share;
    o->plan = saltus_cli_plan_options(a);
    o->plan.n_threads = saltus_cli_threads(a, o->device);
    o->run = saltus_cli_run_options(a);
    o->run.stop = stop;
    o->common_random_numbers = a->common_random_numbers;
    o->n_done = a->n_done;
    if ((status = make_points(s, err)) != SALTUS_OK ||
        (status = saltus_cli_count_times(a, &o->run.n_times, err)) != SALTUS_OK ||
        (status = saltus_cli_make_times(a, o->run.n_times, &s->of.times, err)) != SALTUS_OK) {
        return status;
    }
    o->run.times = s->of.times;
    return SALTUS_OK;
}

/* Everything before the first trajectory. */
static saltus_status prepare(session *s, const volatile int *stop, saltus_error *err)
{
    const saltus_status status = make_options(s, stop, err);
    return status == SALTUS_OK ? open_file(s, err) : status;
}

/* Another rank than 0: simulate for that. */
static int simulate_for_others(session *s)
{
    saltus_error err = {0};
    saltus_hdf5_options unused = saltus_hdf5_options_default();
    saltus_status status = make_options(s, saltus_cli_catch_signals(), &err);
    status = status == SALTUS_OK ? take_shard(s, &unused, &err) : status;
    status =
        status == SALTUS_OK ? saltus_sweep_run(s->sweep, &s->options, NULL, NULL, &err) : status;
    if (status != SALTUS_OK && status != SALTUS_E_CANCELLED) {
        saltus_ranks_fail(saltus_cli_ranks(), &err);
    }
    saltus_sweep_destroy(s->sweep);
    free(s->of.times);
    return EXIT_FAILED; /* rank 0 knows how it ends */
}

int saltus_cli_simulate_sweep(saltus_cli_run_arguments *a)
{
    session s = {.of = {.a = a, .start = saltus_cli_now()}};
    saltus_error err = {0}, close_err = {0}, print_err = {0};
    const saltus_run_report *report = &s.of.report;
    saltus_cli_read_through(a->archive);
    if (saltus_ranks_number(saltus_cli_ranks()) > 0) {
        return simulate_for_others(&s);
    }
    saltus_status status = prepare(&s, saltus_cli_catch_signals(), &err);
    if (status != SALTUS_OK) {
        free(s.model);
        saltus_sweep_destroy(s.sweep);
        return saltus_cli_give_up(&s.of, &err);
    }
    const long long n_points = s.n_points;
    status = saltus_cli_tell_ranks(a, strcmp(a->device, "auto") == 0 ? "cpu" : a->device, s.method,
                                   &err);
    if (status == SALTUS_OK) {
        status = saltus_sweep_run(s.sweep, &s.options, saltus_sweep_file_sink(s.file), &s.of.report,
                                  &err);
    }
    if (s.options.run.progress) {
        fprintf(stderr, "\r\033[K");
    }
    close_err.code = saltus_sweep_file_close(s.file, report, &close_err);
    saltus_cli_go_on_without_gpu(&s.of, &err, &close_err);
    status = saltus_cli_finish(&s.of, status, &err, &close_err);
    if (status == SALTUS_E_CANCELLED) {
        fprintf(stderr, "saltus: interrupted after %lld of %lld %s; they are in %s\n",
                (long long)a->n_done + report->trajectories / s.options.run.n_trajectories,
                n_points, saltus_cli_points(n_points), a->output);
        saltus_cli_tell_resume(a);
    } else if ((status == SALTUS_E_DEVICE || status == SALTUS_E_UNAVAILABLE) &&
               strncmp(s.device, "cuda", 4) == 0) {
        saltus_cli_tell_lost(a);
    }
    if (a->json) {
        const saltus_cli_simulated what = {.model = s.model ? s.model : "",
                                           .device = s.device,
                                           .layout = s.layout,
                                           .method = s.method,
                                           .rng = s.rng,
                                           .n_points = n_points};
        saltus_cli_print_json(a, &what, report, s.of.seconds, status == SALTUS_OK);
    } else if (status == SALTUS_OK && !a->quiet) {
        printf("%lld %s, %lld %s, %.3g reactions in %.3g s: %s\n", n_points,
               saltus_cli_points(n_points), (long long)report->trajectories,
               saltus_cli_trajectories(report->trajectories), (double)report->events,
               report->seconds, a->output);
    }
    free(s.model);
    saltus_sweep_destroy(s.sweep);
    return saltus_cli_end(&s.of, status, &print_err);
}

int saltus_cli_sweep(int argc, char **argv)
{
    saltus_cli_run_arguments a;
    int code = saltus_cli_run_parse(&saltus_cli_sweep_argp, argc, argv, &a);
    const char *points =
        code < 0 && a.design && strncmp(a.design, "file:", 5) == 0 ? a.design + 5 : NULL;
    if (code < 0 && a.vary.n == 0 && !points) {
        code = saltus_cli_usage("--vary NAME=VALUES is needed: what is to be varied");
    }
    code = code < 0 ? saltus_cli_take_shard(&a) : code;
    if (code < 0 && a.shard_by && strcmp(a.shard_by, "points") != 0 &&
        strcmp(a.shard_by, "runs") != 0) {
        code = saltus_cli_usage("--shard-by '%s': points or runs is needed", a.shard_by);
    }
    if (code < 0 && a.shard_by && !a.shard_text) {
        code = saltus_cli_usage("--shard-by is for --shard, which is not there");
    }
    if (code < 0 && !a.output) {
        code = saltus_cli_usage("-o FILE.h5 or FILE.csv is needed: where the results go");
    }
    if (code < 0 && points && saltus_cli_is_same_file(points, a.output)) {
        code = saltus_cli_usage("-o '%s': that is the table of points itself", a.output);
    }
    const int result = code >= 0 ? code : saltus_cli_simulate_sweep(&a);
    saltus_cli_run_free(&a);
    return result;
}
