/* saltus stats, export and plot: what to do with a result file. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_CSV = 256,
    OPT_TYPES,
    OPT_PROFILE,
    OPT_FRAMES,
    OPT_XDMF,
    OPT_HISTOGRAM,
    OPT_DERIVED_TABLE,
    OPT_VARIANCE,
    OPT_FANO,
    OPT_QUANTILES,
    OPT_OVERWRITE,
    OPT_SPECIES,
    OPT_DERIVED,
    OPT_KIND,
    OPT_TIME,
    OPT_TRAJECTORIES,
    OPT_TITLE,
    OPT_FRAME,
    OPT_SLICE
};

enum { MOST_QUANTILES = 1000 };

typedef struct arguments {
    const char *file, *output;
    bool csv, overwrite;
    int what; /* to export, or of stats: one of the options, or 0 */
    saltus_table_options table;
    double quantiles[MOST_QUANTILES];
    saltus_plot_options plot;
} arguments;

static error_t take_quantiles(const char *text, arguments *a)
{
    const char *at = text;
    char *end = NULL;
    int n = 0;
    do {
        double *const q = &a->quantiles[n++];
        *q = strtod(at, &end);
        if (end == at || !(*q >= 0.0 && *q <= 1.0) || (*end && *end != ',') ||
            (*end && n == MOST_QUANTILES)) {
            (void)saltus_cli_usage("--quantiles '%.100s': up to %d numbers from 0 to 1, separated "
                                   "by commas, are needed",
                                   text, MOST_QUANTILES);
            return EINVAL;
        }
        at = end + 1;
    } while (*end);
    a->table.quantiles = a->quantiles;
    a->table.n_quantiles = n;
    return 0;
}

static void warn(void *user, const char *sentence)
{
    (void)user;
    saltus_cli_say("saltus: warning: ", sentence);
}

static error_t take_time(const char *option, const char *text, arguments *a)
{
    if (!saltus_cli_double(text, &a->plot.time)) {
        (void)saltus_cli_usage("%s '%s': a number is needed", option, text);
        return EINVAL;
    }
    return 0;
}

/* What is to be drawn, and how. */
static error_t parse_figure(int key, char *text, arguments *a)
{
    int64_t n;
    switch (key) {
    case OPT_SPECIES:
        a->plot.species = text;
        return 0;
    case OPT_DERIVED:
        a->plot.derived = text;
        return 0;
    case OPT_KIND:
        a->plot.kind = text;
        return 0;
    case OPT_TITLE:
        a->plot.title = text;
        return 0;
    case OPT_SLICE:
        a->plot.kind = "slice";
        a->plot.slice = text;
        return 0;
    case OPT_FRAME:
        a->plot.kind = "slice";
        return take_time("--frame", text, a);
    case OPT_TIME:
        return take_time("--time", text, a);
    case OPT_TRAJECTORIES:
        if (!saltus_cli_int(text, 0, 10000, &n)) {
            (void)saltus_cli_usage("--trajectories '%s': 0 to 10000 are possible", text);
            return EINVAL;
        }
        a->plot.n_trajectories = (int)n;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case OPT_CSV:
        a->csv = true;
        return 0;
    case OPT_TYPES:
    case OPT_PROFILE:
    case OPT_FRAMES:
    case OPT_XDMF:
    case OPT_HISTOGRAM:
    case OPT_DERIVED_TABLE:
        if (a->what && a->what != key) {
            (void)saltus_cli_usage(
                "one of --histogram, --derived, --types, --profile, --frames and "
                "--xdmf at a time");
            return EINVAL;
        }
        a->what = key;
        return 0;
    case 'o':
        if (!text[0]) {
            (void)saltus_cli_usage("-o '': the name of a file is needed");
            return EINVAL;
        }
        a->output = strcmp(text, "-") == 0 ? NULL : text; /* standard output, as without it */
        return 0;
    case OPT_VARIANCE:
        a->table.variance = true;
        return 0;
    case OPT_FANO:
        a->table.fano = true;
        return 0;
    case OPT_QUANTILES:
        return take_quantiles(text, a);
    case OPT_OVERWRITE:
        a->overwrite = true;
        return 0;
    case ARGP_KEY_ARG:
        return saltus_cli_take_argument(&a->file, text, "file");
    default:
        return parse_figure(key, text, a);
    }
}

typedef saltus_status printer(const saltus_results *results, const arguments *a, FILE *out,
                              saltus_error *err);

/* -1 to go on, else the exit code. */
static int parse_line(const struct argp *argp, int argc, char **argv, arguments *a)
{
    *a = (arguments){.plot = saltus_plot_options_default()};
    const int code = saltus_cli_parse(argp, argc, argv, a);
    return code < 0 && !a->file ? saltus_cli_usage("a result file is needed: %s FILE.h5", argv[0])
                                : code;
}

static int code_of(saltus_status status, bool opened)
{
    const bool is_usage = !opened || status == SALTUS_E_INVALID || status == SALTUS_E_UNAVAILABLE;
    return status == SALTUS_OK ? EXIT_DONE : is_usage ? EXIT_USAGE : EXIT_FAILED;
}

/* Open the file, hand it to `print`. */
static int show(const arguments *a, printer *print)
{
    saltus_error err = {0};
    saltus_results *results = NULL;
    saltus_status status = saltus_results_open(a->file, &results, &err);
    const bool opened = status == SALTUS_OK;
    if (opened) {
        status = print(results, a, stdout, &err);
    }
    if (status == SALTUS_OK && !saltus_cli_flush(&err)) {
        status = SALTUS_E_IO;
    }
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    }
    saltus_results_close(results);
    return code_of(status, opened);
}

/* The same into a table; what is wrong with its name is wrong usage. */
static int save(const arguments *a, printer *print)
{
    saltus_error err = {0}, close_err = {0};
    saltus_results *results = NULL;
    saltus_cli_table table = {0};
    if (saltus_cli_is_same_file(a->file, a->output)) {
        return saltus_cli_usage("-o '%s': that is the result file itself", a->output);
    }
    (void)saltus_cli_catch_signals(); /* what is half done goes with the process */
    saltus_status status = saltus_results_open(a->file, &results, &err);
    if (status == SALTUS_OK) {
        status = saltus_cli_open_table(a->output, a->overwrite, &table, &err);
    }
    const bool opened = status == SALTUS_OK;
    if (opened) {
        status = print(results, a, table.out, &err);
        saltus_cli_name_table(a->output, &err);
    }
    const saltus_status closed = saltus_cli_close_table(&table, status == SALTUS_OK,
                                                        status == SALTUS_OK ? &err : &close_err);
    status = status == SALTUS_OK ? closed : status;
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    }
    saltus_results_close(results);
    return code_of(status, opened);
}

/* -1 to go on, else the exit code. */
static int check_output(const arguments *a)
{
    if (!a->output || strcmp(a->output, "-") == 0) {
        return -1;
    }
    if (a->what == OPT_XDMF) {
        return saltus_cli_usage("--xdmf writes FILE.xdmf beside FILE.h5 and takes no -o");
    }
    return saltus_cli_is_table(a->output)
               ? -1
               : saltus_cli_usage("-o '%s': tables are written as CSV, FILE.csv", a->output);
}

static int with_results(const struct argp *argp, int argc, char **argv, printer *print)
{
    arguments a;
    int code = parse_line(argp, argc, argv, &a);
    a.table.warn = warn;
    code = code >= 0 ? code : check_output(&a);
    return code >= 0                                ? code
           : a.output && strcmp(a.output, "-") != 0 ? save(&a, print)
                                                    : show(&a, print);
}

static saltus_status print_stats(const saltus_results *results, const arguments *a, FILE *out,
                                 saltus_error *err)
{
    const saltus_table_options *t = &a->table;
    if (a->what == OPT_DERIVED_TABLE) {
        return saltus_results_print_derived_table(results, t, out, err);
    }
    return a->csv || a->output || t->variance || t->fano || t->n_quantiles > 0
               ? saltus_results_print_table(results, t, out, err)
               : saltus_results_print_summary(results, out, err);
}

static saltus_status export_it(const saltus_results *results, const arguments *a, FILE *out,
                               saltus_error *err)
{
    switch (a->what) {
    case OPT_TYPES:
        return saltus_results_print_split(results, SALTUS_BY_TYPE, out, err);
    case OPT_PROFILE:
        return saltus_results_print_split(results, SALTUS_BY_PLANE, out, err);
    case OPT_FRAMES:
        return saltus_results_print_frames(results, out, err);
    case OPT_HISTOGRAM:
        return saltus_results_print_histograms(results, out, err);
    case OPT_DERIVED_TABLE:
        return saltus_results_print_derived(results, out, err);
    case OPT_XDMF:
        return saltus_results_write_xdmf(results, err);
    default:
        return saltus_results_print_csv(results, out, err);
    }
}

static saltus_status draw(const saltus_results *results, const arguments *a, FILE *out,
                          saltus_error *err)
{
    (void)out;
    if (!a->output) {
        return saltus_cli_fail(err, SALTUS_E_INVALID,
                               "a figure is needed: -o FIGURE.svg, .png or .pdf");
    }
    if (!saltus_cli_is_writable(a->output, err)) {
        return err->code;
    }
    return saltus_results_plot(results, a->output, &a->plot, err);
}

/* Whether it is a model that is to be drawn. */
static bool is_model(const char *path)
{
    static const char *const endings[] = {".yaml", ".yml", ".yaml.gz", ".yml.gz"};
    const size_t n = strlen(path);
    bool is_yaml = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i) {
        const size_t k = strlen(endings[i]);
        is_yaml |= n > k && strcmp(path + n - k, endings[i]) == 0;
    }
    return is_yaml || saltus_cli_is_stdin(path);
}

/* The geometry of a model. */
static int draw_model(const arguments *a)
{
    saltus_error err = {0};
    saltus_status status = SALTUS_E_INVALID;
    saltus_model *model = NULL;
    if (!a->output) {
        return saltus_cli_usage("a figure is needed: -o FIGURE.svg, .png or .pdf");
    }
    if (saltus_cli_is_writable(a->output, &err)) {
        model = saltus_cli_load(a->file, NULL, SALTUS_LAW_LITERAL, true, &err);
        status = model ? saltus_model_plot(model, a->output, a->plot.title, &err) : err.code;
    }
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    }
    saltus_model_destroy(model);
    return status == SALTUS_OK ? EXIT_DONE : status == SALTUS_E_IO ? EXIT_FAILED : EXIT_USAGE;
}

static const struct argp_option stats_options[] = {
    {"csv", OPT_CSV, NULL, 0, "all times, as CSV: time, all means, all standard deviations", 0},
    {"variance", OPT_VARIANCE, NULL, 0, "and all variances", 0},
    {"fano", OPT_FANO, NULL, 0, "and all Fano factors, variance / mean", 0},
    {"quantiles", OPT_QUANTILES, "P,Q", 0, "and these quantiles, such as 0.05,0.5,0.95", 0},
    {"derived", OPT_DERIVED_TABLE, NULL, 0, "instead, of the quantities of --derive", 0},
    {"output", 'o', "FILE.csv", 0, "write CSV there", 0},
    {"overwrite", OPT_OVERWRITE, NULL, 0, "replace an existing file", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};
static const struct argp_option export_options[] = {
    {"csv", OPT_CSV, NULL, 0, "as CSV (the default)", 0},
    {"output", 'o', "FILE.csv", 0, "write there", 0},
    {"overwrite", OPT_OVERWRITE, NULL, 0, "replace an existing file", 0},
    {"histogram", OPT_HISTOGRAM, NULL, 0, "histograms: time, species, bin, count", 0},
    {"derived", OPT_DERIVED_TABLE, NULL, 0, "quantities of --derive: run, one column for each", 0},
    {"types", OPT_TYPES, NULL, 0, "of a lattice: counts by site type", 0},
    {"profile", OPT_PROFILE, NULL, 0, "of a lattice: counts by plane", 0},
    {"frames", OPT_FRAMES, NULL, 0, "of a lattice: the sites of every frame that hold particles",
     0},
    {"xdmf", OPT_XDMF, NULL, 0, "write FILE.xdmf beside it, for ParaView, and print nothing", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};
static const struct argp_option plot_options[] = {
    {"output", 'o', "FIGURE", 0, "picture to write: .svg, .png or .pdf (needed)", 0},
    {"kind", OPT_KIND, "KIND", 0,
     "auto (the default), bands, trajectories, histogram or heatmap; of a lattice, kymograph or "
     "slice",
     0},
    {"species", OPT_SPECIES, "A,B", 0, "draw these", 0},
    {"time", OPT_TIME, "T", 0, "histogram at the sample nearest to T (the last)", 0},
    {"trajectories", OPT_TRAJECTORIES, "N", 0, "sample trajectories to draw (20)", 0},
    {"derived", OPT_DERIVED, "NAME", 0, "of a sweep, this quantity, such as period:X", 0},
    {"frame", OPT_FRAME, "T", 0, "a slice of the frame nearest to T (the last)", 0},
    {"slice", OPT_SLICE, "z=N", 0,
     "a slice along this plane, or with x, y or z alone the one in the middle", 0},
    {"title", OPT_TITLE, "TEXT", 0, "title (the model's name)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

int saltus_cli_stats(int argc, char **argv)
{
    static const struct argp argp = {
        stats_options, parse, "FILE.h5", "Means and standard deviations of a result file.",
        NULL,          NULL,  NULL};
    return with_results(&argp, argc, argv, print_stats);
}

int saltus_cli_export(int argc, char **argv)
{
    static const struct argp argp = {export_options,
                                     parse,
                                     "FILE.h5",
                                     "Print the trajectories of a result file as CSV: run, time, "
                                     "one column per species.",
                                     NULL,
                                     NULL,
                                     NULL};
    return with_results(&argp, argc, argv, export_it);
}

int saltus_cli_plot(int argc, char **argv)
{
    static const struct argp argp = {
        plot_options, parse, "FILE", "Draw a result file, or the lattice of a model, with gnuplot.",
        NULL,         NULL,  NULL};
    arguments a;
    const int code = parse_line(&argp, argc, argv, &a);
    return code >= 0 ? code : is_model(a.file) ? draw_model(&a) : show(&a, draw);
}
