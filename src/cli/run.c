/* saltus run: an ensemble from a model file to a result file. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OPT_UNTIL = 256,
    OPT_POINTS,
    OPT_EVERY,
    OPT_RUNS,
    OPT_FIRST,
    OPT_SEED,
    OPT_METHOD,
    OPT_SET,
    OPT_LAW,
    OPT_SPECIES,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_LAYOUT,
    OPT_RECORD,
    OPT_BINS,
    OPT_RANGE,
    OPT_COMPRESS,
    OPT_JSON,
    OPT_PROGRESS,
    OPT_EXPLAIN,
    OPT_RNG,
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What:", 1},
    {"until", OPT_UNTIL, "T", 0, "simulate from time 0 to T (needed)", 1},
    {"points", OPT_POINTS, "N", 0, "N equally spaced samples, 0 and T included (101)", 1},
    {"every", OPT_EVERY, "DT", 0, "samples at 0, DT, 2 DT … T", 1},
    {"runs", OPT_RUNS, "R", 0, "number of trajectories (1)", 1},
    {"first", OPT_FIRST, "I", 0, "number of the first trajectory (0)", 1},
    {"seed", OPT_SEED, "S", 0, "seed (1)", 1},
    {"method", OPT_METHOD, "NAME", 0, "auto or direct", 1},
    {"set", OPT_SET, "NAME=VALUE", 0, "set a parameter or an initial amount; may be repeated", 1},
    {"law", OPT_LAW, "MODE", 0,
     "literal (as written) or combinatorial (k*A^2 with two A consumed is k*A*(A-1))", 1},
    {"species", OPT_SPECIES, "A,B", 0,
     "record these alone: species, rule targets, parameters, [A] for a concentration", 1},
    {NULL, 0, NULL, 0, "Where:", 2},
    {"device", OPT_DEVICE, "NAME", 0, "auto, cpu, or cpu:generic, cpu:avx2, cpu:avx512", 2},
    {"threads", OPT_THREADS, "N", 0, "threads (one per core)", 2},
    {"layout", OPT_LAYOUT, "NAME", 0, "auto, lanes or scalar; never changes a result", 2},
    {"rng", OPT_RNG, "NAME", 0, "philox", 2},
    {NULL, 0, NULL, 0, "Record:", 3},
    {"output", 'o', "FILE.h5", 0, "result file (without it, a summary is printed)", 3},
    {"record", OPT_RECORD, "WHAT", 0, "all, stats, final or histogram (all)", 3},
    {"bins", OPT_BINS, "N", 0, "bins of a histogram", 3},
    {"range", OPT_RANGE, "LO:HI", 0, "range of a histogram", 3},
    {"compress", OPT_COMPRESS, "HOW", 0, "none, fast or small (fast)", 3},
    {NULL, 0, NULL, 0, "Talk:", 4},
    {"json", OPT_JSON, NULL, 0, "print one JSON object about the run on stdout", 4},
    {"progress", OPT_PROGRESS, NULL, 0, "show progress even when stderr is no terminal", 4},
    {"explain", OPT_EXPLAIN, NULL, 0, "print what was chosen and why", 4},
    {"quiet", 'q', NULL, 0, "no summary, no warnings, no progress", 4},
    {NULL, 0, NULL, 0, NULL, 0},
};

typedef struct arguments {
    const char *model, *output, *method, *device, *layout, *species;
    double until, every;
    int64_t points, runs, first, threads, bins;
    uint64_t seed;
    saltus_law law;
    saltus_record record;
    saltus_compress compress;
    double low, high;
    saltus_cli_settings settings;
    bool json, progress, explain, quiet, has_until, has_record;
    char command[2000];
} arguments;

static volatile int stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

static bool parse_record(const char *text, saltus_record *record)
{
    static const char *const names[] = {"all", "stats", "final", "histogram"};
    for (int i = 0; i < 4; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *record = (saltus_record)i;
            return true;
        }
    }
    return false;
}

static bool parse_compress(const char *text, saltus_compress *compress)
{
    static const char *const names[] = {"none", "fast", "small"};
    for (int i = 0; i < 3; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *compress = (saltus_compress)i;
            return true;
        }
    }
    return false;
}

static bool parse_range(const char *text, double *low, double *high)
{
    char copy[100];
    const char *colon = strchr(text, ':');
    if (!colon || strlen(text) >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, strlen(text) + 1);
    copy[colon - text] = '\0';
    return saltus_cli_double(copy, low) && saltus_cli_double(colon + 1, high) && *low < *high;
}

/* Digits, or hexadecimal ones behind 0x; a leading 0 means nothing. */
static bool parse_seed(const char *text, uint64_t *seed)
{
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, is_hex ? 16 : 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static error_t wrong(const char *option, const char *text, const char *wanted)
{
    (void)saltus_cli_usage("%s '%s': %s is needed", option, text, wanted);
    return EINVAL;
}

/* Options that hold a number. 1: not one of them. */
static error_t parse_number(int key, const char *text, arguments *a)
{
    switch (key) {
    case OPT_UNTIL:
        a->has_until = true;
        return saltus_cli_double(text, &a->until) && a->until > 0.0
                   ? 0
                   : wrong("--until", text, "a time above 0");
    case OPT_POINTS:
        return saltus_cli_int(text, 1, (int64_t)1 << 40, &a->points)
                   ? 0
                   : wrong("--points", text, "a whole number from 1");
    case OPT_EVERY:
        return saltus_cli_double(text, &a->every) && a->every > 0.0
                   ? 0
                   : wrong("--every", text, "a time above 0");
    case OPT_RUNS:
        return saltus_cli_int(text, 1, INT64_MAX, &a->runs)
                   ? 0
                   : wrong("--runs", text, "a whole number from 1");
    case OPT_FIRST:
        return saltus_cli_int(text, 0, INT64_MAX, &a->first)
                   ? 0
                   : wrong("--first", text, "a whole number from 0");
    case OPT_SEED:
        return parse_seed(text, &a->seed) ? 0 : wrong("--seed", text, "a whole number below 2^64");
    case OPT_THREADS:
        return saltus_cli_int(text, 1, 4096, &a->threads)
                   ? 0
                   : wrong("--threads", text, "a whole number from 1 to 4096");
    case OPT_BINS:
        return saltus_cli_int(text, 1, 1 << 20, &a->bins)
                   ? 0
                   : wrong("--bins", text, "a whole number from 1 to 1048576");
    case OPT_RANGE:
        return parse_range(text, &a->low, &a->high) ? 0 : wrong("--range", text, "LOW:HIGH");
    default:
        return 1;
    }
}

/* Options that hold a word. 1: not one of them. */
static error_t parse_word(int key, char *text, arguments *a)
{
    switch (key) {
    case OPT_METHOD:
        a->method = text;
        return 0;
    case OPT_SET:
        return saltus_cli_add_setting(&a->settings, text);
    case OPT_LAW:
        return saltus_cli_law(text, &a->law) ? 0 : wrong("--law", text, "literal or combinatorial");
    case OPT_SPECIES:
        a->species = text;
        return 0;
    case OPT_DEVICE:
        a->device = text;
        return 0;
    case OPT_LAYOUT:
        a->layout = text;
        return 0;
    case OPT_RNG:
        return strcmp(text, "philox") == 0 ? 0 : wrong("--rng", text, "philox");
    case OPT_RECORD:
        a->has_record = true;
        return parse_record(text, &a->record)
                   ? 0
                   : wrong("--record", text, "all, stats, final or histogram");
    case OPT_COMPRESS:
        return parse_compress(text, &a->compress)
                   ? 0
                   : wrong("--compress", text, "none, fast or small");
    case 'o':
        a->output = text;
        return 0;
    default:
        return 1;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    error_t e = parse_number(key, text, a);
    if (e == 1) {
        e = parse_word(key, text, a);
    }
    if (e != 1) {
        return e;
    }
    switch (key) {
    case OPT_JSON:
        a->json = true;
        return 0;
    case OPT_PROGRESS:
        a->progress = true;
        return 0;
    case OPT_EXPLAIN:
        a->explain = true;
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->model) {
            (void)saltus_cli_usage("one model at a time: '%s' and '%s'", a->model, text);
            return EINVAL;
        }
        a->model = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "MODEL",
    "Simulate an ensemble of trajectories of MODEL (SBML, Saltus YAML or BioNetGen .net), exactly."
    "\vA trajectory depends on the model, the seed and its number alone: threads, devices, sample "
    "times and the number of runs never change it.",
    NULL,
    NULL,
    NULL};

/* 0 … T in equal steps, each time computed from its index so that none drifts. */
static double *make_times(const arguments *a, int64_t *n)
{
    const double steps = a->every > 0.0 ? a->until / a->every : 0.0;
    if (steps >= 1e12) {
        return NULL;
    }
    int64_t whole = (int64_t)floor(steps * (1.0 + 1e-12));
    *n = a->every > 0.0 ? whole + 1 : a->points > 0 ? a->points : 101;
    const bool has_rest = a->every > 0.0 && (double)whole * a->every < a->until * (1.0 - 1e-12);
    double *times = calloc((size_t)*n + 1, sizeof *times);
    for (int64_t i = 0; times && i < *n; ++i) {
        times[i] = a->every > 0.0 ? (double)i * a->every
                   : *n == 1      ? a->until
                                  : a->until * (double)i / (double)(*n - 1);
    }
    if (times && has_rest) {
        times[(*n)++] = a->until;
    } else if (times && *n > 1) {
        times[*n - 1] = a->until;
    }
    return times;
}

static void show_progress(void *user, const saltus_progress *p)
{
    const double fraction = (double)p->trajectories / (double)p->total;
    const double left = fraction > 0.0 ? p->seconds * (1.0 - fraction) / fraction : 0.0;
    (void)user;
    fprintf(stderr, "\r%5.1f %%  %.3g trajectories/s  %.3g events/s  ", 100.0 * fraction,
            (double)p->trajectories / p->seconds, (double)p->events / p->seconds);
    if (p->trajectories > 0) {
        fprintf(stderr, "%.0f s left \033[K", left);
    }
    (void)fflush(stderr);
}

static void show_warning(void *user, const char *sentence)
{
    const arguments *a = user;
    if (!a->quiet) {
        fprintf(stderr, "saltus: warning: %s\n", sentence);
    }
}

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; ++text) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        if ((unsigned char)*text >= ' ') {
            putchar(*text);
        }
    }
    putchar('"');
}

static void print_json(const arguments *a, const saltus_plan *plan, const saltus_run_report *report,
                       double total, bool complete)
{
    printf("{\"model\": ");
    print_json_text(saltus_model_name(saltus_plan_model(plan)));
    printf(", \"events\": %lld, \"trajectories\": %lld, \"seconds\": %.6g, "
           "\"seconds_total\": %.6g, \"events_per_second\": %.6g, \"device\": ",
           (long long)report->events, (long long)report->trajectories, report->seconds, total,
           report->seconds > 0.0 ? (double)report->events / report->seconds : 0.0);
    print_json_text(saltus_backend_name(saltus_plan_backend(plan)));
    printf(", \"layout\": \"%s\", \"method\": \"%s\", \"rng\": \"philox\", \"seed\": %llu, "
           "\"complete\": %s, \"output\": ",
           saltus_plan_layout(plan), saltus_plan_method(plan), (unsigned long long)a->seed,
           complete ? "true" : "false");
    if (a->output) {
        print_json_text(a->output);
    } else {
        printf("null");
    }
    printf("}\n");
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop};
    (void)sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND; /* a second Ctrl-C ends at once */
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported like a full disk */
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Where results go when no file was named: a file that is read back for the summary and removed. */
static bool make_scratch(char path[64])
{
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, 64, "%.40s/saltus-XXXXXX",
                   folder && strlen(folder) <= 40 ? folder : "/tmp");
    const int fd = mkstemp(path);
    return fd >= 0 && close(fd) == 0;
}

typedef struct session {
    saltus_model *model;
    saltus_backend *backend;
    saltus_plan *plan;
    saltus_hdf5_sink *sink;
    double *times;
    char scratch[64];
    saltus_run_report report;
} session;

/* Everything before the first trajectory: what fails here is the user's input. */
static saltus_status prepare(session *s, arguments *a, saltus_run_options *run, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    s->model = saltus_cli_load(a->model, &a->settings, a->law, a->quiet, err);
    if (!s->model) {
        return err->code;
    }
    saltus_plan_options plan = saltus_plan_options_default();
    plan.method = a->method;
    plan.columns = a->species;
    plan.n_threads = (int)a->threads;
    plan.layout = a->layout;
    if ((status = saltus_backend_open(a->device, &s->backend, err)) != SALTUS_OK ||
        (status = saltus_plan_create(s->model, s->backend, &plan, &s->plan, err)) != SALTUS_OK) {
        return status;
    }
    if (a->explain) {
        saltus_plan_explain(s->plan, stderr);
    }
    *run = saltus_run_options_default();
    run->seed = a->seed;
    run->first_trajectory = a->first;
    run->n_trajectories = a->runs;
    run->n_times = 0;
    run->times = s->times = make_times(a, &run->n_times);
    run->stop = &stop_requested;
    run->warn = show_warning;
    run->warn_user = a;
    if (!a->quiet && (a->progress || isatty(STDERR_FILENO))) {
        run->progress = show_progress;
    }
    if (!s->times) {
        err->code = SALTUS_E_INVALID;
        (void)snprintf(err->message, sizeof err->message, "there are too many sample times");
        return SALTUS_E_INVALID;
    }
    saltus_hdf5_options results = saltus_hdf5_options_default();
    results.record = a->output || a->has_record ? a->record : SALTUS_RECORD_STATS;
    results.compress = a->compress;
    results.n_bins = a->bins;
    results.range_low = a->low;
    results.range_high = a->high;
    results.command = a->command;
    if (!a->output && !make_scratch(s->scratch)) {
        err->code = SALTUS_E_IO;
        (void)snprintf(err->message, sizeof err->message, "%s cannot be created", s->scratch);
        return SALTUS_E_IO;
    }
    return saltus_hdf5_sink_open(a->output ? a->output : s->scratch, s->plan, run, &results,
                                 &s->sink, err);
}

/* What fails before the first trajectory is the input's fault, unless it is the machine's. */
static int exit_code_before(saltus_status status)
{
    return status == SALTUS_E_NO_MEMORY || status == SALTUS_E_INTERNAL ? EXIT_FAILED : EXIT_USAGE;
}

static int exit_code(saltus_status status)
{
    return status == SALTUS_OK            ? EXIT_DONE
           : status == SALTUS_E_CANCELLED ? EXIT_INTERRUPTED
                                          : EXIT_FAILED;
}

static saltus_status print_summary(const session *s, const arguments *a, saltus_error *err)
{
    saltus_results *results = NULL;
    saltus_status status = saltus_results_open(a->output ? a->output : s->scratch, &results, err);
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
    free(s->times);
    if (s->scratch[0]) {
        (void)unlink(s->scratch);
    }
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int simulate(arguments *a)
{
    session s = {0};
    saltus_error err = {0}, close_err = {0}, print_err = {0};
    saltus_run_options run;
    const double start = now();
    catch_signals();
    saltus_status status = prepare(&s, a, &run, &err);
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
        clean_up(&s);
        return exit_code_before(status);
    }
    status = saltus_run(s.plan, &run, saltus_hdf5_sink_get(s.sink), &s.report, &err);
    if (run.progress) {
        fprintf(stderr, "\r\033[K");
    }
    const saltus_status closed = saltus_hdf5_sink_close(s.sink, &s.report, &close_err);
    if ((status == SALTUS_OK || status == SALTUS_E_CANCELLED) && closed != SALTUS_OK) {
        status = closed;
        err = close_err;
    }
    const double total = now() - start;
    if (status == SALTUS_E_CANCELLED) {
        fprintf(stderr, "saltus: interrupted after %lld of %lld trajectories%s%s\n",
                (long long)s.report.trajectories, (long long)a->runs,
                a->output ? "; they are in " : "", a->output ? a->output : "");
    } else if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    } else if (!a->quiet && !a->json) {
        status = print_summary(&s, a, &print_err);
    }
    if (a->json) {
        print_json(a, s.plan, &s.report, total, status == SALTUS_OK);
    }
    if (status == SALTUS_OK && !saltus_cli_flush(&print_err)) {
        status = SALTUS_E_IO;
    }
    if (print_err.code != SALTUS_OK) {
        saltus_cli_print_error(&print_err);
    }
    clean_up(&s);
    return exit_code(status);
}

int saltus_cli_run(int argc, char **argv)
{
    static arguments a;
    a = (arguments){.method = "auto",
                    .device = "auto",
                    .layout = "auto",
                    .runs = 1,
                    .seed = 1,
                    .compress = SALTUS_COMPRESS_FAST};
    for (int i = 0; i < argc; ++i) { /* before argp reorders them */
        const size_t n = strlen(a.command);
        (void)snprintf(a.command + n, sizeof a.command - n, "%s%s", i > 0 ? " " : "", argv[i]);
    }
    const int code = saltus_cli_parse(&argp, argc, argv, &a);
    if (code >= 0) {
        return code;
    }
    if (!a.model) {
        return saltus_cli_usage("a model file is needed: saltus run MODEL --until T");
    }
    if (!a.has_until) {
        return saltus_cli_usage("--until T is needed: the time at which to end");
    }
    if (a.points > 0 && a.every > 0.0) {
        return saltus_cli_usage("--points and --every exclude each other");
    }
    if (a.first > INT64_MAX - a.runs) {
        return saltus_cli_usage("--first and --runs go beyond trajectory 2^63 - 1");
    }
    return simulate(&a);
}
