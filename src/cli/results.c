/* saltus stats and export: what to do with a result file. */
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
    OPT_OVERWRITE
};

enum { MOST_QUANTILES = 1000 };

typedef struct arguments {
    const char *file, *output;
    bool csv, overwrite;
    int what; /* to export, or of stats: one of the options, or 0 */
    saltus_table_options table;
    double quantiles[MOST_QUANTILES];
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
        for (int i = 0; i < n - 1; ++i) {
            if (a->quantiles[i] == *q) {
                (void)saltus_cli_usage("--quantiles '%.100s': %.*s is there twice", text,
                                       (int)(end - at), at);
                return EINVAL;
            }
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
        return ARGP_ERR_UNKNOWN;
    }
}

typedef saltus_status printer(const saltus_results *results, const arguments *a, FILE *out,
                              saltus_error *err);

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
    arguments a = {.table = {.warn = warn}};
    int code = saltus_cli_parse(argp, argc, argv, &a);
    if (code < 0 && !a.file) {
        code = saltus_cli_usage("a result file is needed: %s FILE.h5", argv[0]);
    }
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
