/* saltus merge: parts of a run or a sweep become its file. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_OVERWRITE = 256 };

static const struct argp_option options[] = {
    {"output", 'o', "ALL.h5", 0, "the file of the whole (needed)", 0},
    {"overwrite", OPT_OVERWRITE, NULL, 0, "replace a result of that name", 0},
    {"quiet", 'q', NULL, 0, "say nothing", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

typedef struct arguments {
    const char **files;
    int n;
    const char *output;
    bool overwrite, quiet;
} arguments;

static error_t take_file(arguments *a, const char *file)
{
    const char **grown = realloc(a->files, ((size_t)a->n + 1) * sizeof *grown);
    if (!grown) {
        return ENOMEM;
    }
    a->files = grown;
    grown[a->n++] = file;
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'o':
        a->output = text;
        return 0;
    case OPT_OVERWRITE:
        a->overwrite = true;
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(a, text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "A.h5 B.h5 …",
    "Make of the parts of a run or a sweep, such as --shard makes, the file of the whole.",
    NULL,
    NULL,
    NULL};

/* Whether what is there cannot be replaced: not unasked, and never what another process is writing
 * or what is no result. */
static bool is_in_the_way(const arguments *a)
{
    saltus_file_state state;
    return a->output && access(a->output, F_OK) == 0 &&
           (!a->overwrite || saltus_file_state_read(a->output, &state, NULL) != SALTUS_OK ||
            state.is_written);
}

/* Whether a merge that failed could not have begun: as of other commands, files are not there or no
 * results, or the file to be is. */
static bool is_refused(const arguments *a, saltus_status status)
{
    bool is_readable = true;
    if (status != SALTUS_E_IO) {
        return status != SALTUS_E_NO_MEMORY;
    }
    for (int i = 0; i < a->n && is_readable; ++i) {
        saltus_results *results = NULL;
        is_readable = saltus_results_open(a->files[i], &results, NULL) == SALTUS_OK;
        saltus_results_close(results);
    }
    return !is_readable || is_in_the_way(a);
}

int saltus_cli_merge(int argc, char **argv)
{
    arguments a = {0};
    saltus_error err = {0};
    int code = saltus_cli_parse(&argp, argc, argv, &a);
    if (code < 0 && (a.n == 0 || !a.output)) {
        code = saltus_cli_usage("result files and -o ALL.h5 are needed: saltus merge A.h5 B.h5 -o "
                                "ALL.h5");
    }
    if (code < 0 && saltus_cli_format_of(a.output) != SALTUS_CLI_HDF5) {
        code =
            saltus_cli_usage("-o '%s': the whole is written as HDF5, FILE.h5; saltus export makes "
                             "a table of it",
                             a.output);
    }
    if (code < 0) {
        const volatile int *stop = saltus_cli_catch_signals();
        saltus_cli_keep_results(); /* those who stop it do not end it at once */
        const saltus_status status =
            saltus_results_merge(a.files, a.n, a.output, a.overwrite, stop, &err);
        code = status == SALTUS_OK            ? EXIT_DONE
               : status == SALTUS_E_CANCELLED ? EXIT_INTERRUPTED
               : is_refused(&a, status)       ? EXIT_USAGE
                                              : EXIT_FAILED;
        if (status == SALTUS_E_CANCELLED) {
            fprintf(stderr, "saltus: interrupted; %s was not made\n", a.output);
        } else if (status != SALTUS_OK) {
            saltus_cli_print_error(&err);
        } else if (!a.quiet) {
            printf("%d file%s merged: %s\n", a.n, a.n == 1 ? "" : "s", a.output);
        }
    }
    free(a.files);
    return code;
}
