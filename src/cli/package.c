/* saltus plot and report: what the Python package carries out. Options are looked at here; an
 * interpreter with the package then takes the place of this process. */
#include "cli/cli.h"

#include <errno.h>
#include <saltus_packages.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_OPTIONS = 16,
    OUTPUT = 'o',
    OPT_TITLE = 256,
    OPT_KIND,
    OPT_SPECIES,
    OPT_TIME,
    OPT_TRAJECTORIES,
    OPT_DERIVED,
    OPT_STATISTIC,
    OPT_FRAME,
    OPT_SLICE,
    OPT_LOG,
    OPT_LOGX,
    OPT_SIZE,
    OPT_DPI
};

/* A verb of the package: its options, of which --output is the first. */
typedef struct package_verb {
    const char *name; /* of the function main of saltus.__main__ */
    struct argp argp;
    const char *output;     /* what -o is, for messages */
    const char *endings[4]; /* that its name may have; ended by NULL */
    const char *ends_in;    /* the same in words */
} package_verb;

typedef struct arguments {
    const package_verb *verb;
    const char *file;
    const char *values[MOST_OPTIONS]; /* of options, in their order; NULL: not given */
} arguments;

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    const struct argp_option *o = a->verb->argp.options;
    if (key == ARGP_KEY_ARG) {
        return saltus_cli_take_argument(&a->file, text, "file");
    }
    for (int i = 0; o[i].name; ++i) {
        if (o[i].key == key) {
            a->values[i] = text ? text : "yes";
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static bool has_ending(const char *path, const char *const *endings)
{
    const size_t n = strlen(path);
    bool has = false;
    for (; *endings; ++endings) {
        const size_t k = strlen(*endings);
        has |= n > k && strcasecmp(path + n - k, *endings) == 0;
    }
    return has;
}

bool saltus_cli_is_writable(const char *path, saltus_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct stat st;
    int problem = 0;
    if (stat(path, &st) == 0) {
        problem = S_ISDIR(st.st_mode) ? EISDIR : 0;
    } else if (errno != ENOENT) {
        problem = errno;
    }
    if (!problem && folder && access(folder, W_OK | X_OK) != 0) {
        problem = errno;
    }
    free(folder);
    if (problem) {
        (void)saltus_cli_fail(err, SALTUS_E_INVALID, "%.400s: cannot be written: %s", path,
                              strerror(problem));
    }
    return problem == 0;
}

/* -1 to go on, else the exit code. */
static int check_output(const arguments *a)
{
    const package_verb *v = a->verb;
    const char *output = a->values[0];
    saltus_error err = {0};
    if (!output || !output[0]) {
        return saltus_cli_usage("%s is needed: -o %s", v->output, v->argp.options[0].arg);
    }
    if (!has_ending(output, v->endings)) {
        return saltus_cli_usage("-o '%s': the name of %s ends in %s", output, v->output,
                                v->ends_in);
    }
    if (saltus_cli_is_same_file(a->file, output)) {
        return saltus_cli_usage("-o '%s': that is the result file itself", output);
    }
    if (!saltus_cli_is_writable(output, &err)) {
        saltus_cli_print_error(&err);
        return EXIT_USAGE;
    }
    return -1;
}

/* ---- where the package is ---- */

enum { MOST_PATH = 4096 };

/* What runs first: it says in one sentence what is missing. The working directory's files are no
 * modules here. */
static const char start[] =
    "import sys\n"
    "sys.path[:] = [p for p in [sys.argv.pop(1), *sys.path] if p]\n"
    "try:\n"
    "    from saltus.__main__ import main\n"
    "except ImportError as failure:\n"
    "    sys.stderr.write('saltus: this needs the Python package saltus, which '\n"
    "                     f\"{sys.executable} cannot load: {failure}\\n\"\n"
    "                     \"  hint: pip install 'saltus[plot,report]'; \"\n"
    "                     \"SALTUS_PYTHON names another interpreter\\n\")\n"
    "    sys.exit(2)\n"
    "except KeyboardInterrupt:\n"
    "    sys.exit(130)\n"
    "sys.exit(main(sys.argv[1:]))\n";

/* `path` = folder + name, if there is such a file; else it is empty. */
static bool find(char path[MOST_PATH], const char *folder, const char *name)
{
    const int n = snprintf(path, MOST_PATH, "%s%s", folder, name);
    const bool is_there = n > 0 && n < MOST_PATH && access(path, R_OK) == 0;
    path[is_there ? n : 0] = '\0';
    return is_there;
}

/* The folder of this program. */
static void find_program(char folder[MOST_PATH])
{
    const ssize_t n = readlink("/proc/self/exe", folder, MOST_PATH - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[1] = '\0';
    }
}

/* The package as it was built, beside this program, or as it was installed goes with the
 * interpreter that it was built for. Else, as in a wheel, that of the interpreter beside this
 * program or of the first in PATH. */
static void find_package(char python[MOST_PATH], char package[MOST_PATH])
{
    static const char main_file[] = "/saltus/__main__.py";
    char program[MOST_PATH], built[MOST_PATH + 8];
    find_program(program);
    (void)snprintf(built, sizeof built, "%spython", program);
    const bool is_own = find(package, built, main_file) ||
                        (SALTUS_PACKAGES[0] && find(package, SALTUS_PACKAGES, main_file));
    if (is_own) {
        package[strlen(package) - (sizeof main_file - 1)] = '\0';
    }
    const char *wanted = getenv("SALTUS_PYTHON");
    if (wanted && wanted[0]) {
        (void)snprintf(python, MOST_PATH, "%s", wanted);
    } else if (!(is_own ? find(python, SALTUS_PYTHON, "") : find(python, program, "python3"))) {
        (void)snprintf(python, MOST_PATH, "python3");
    }
}

/* Does not return, unless no interpreter can be started: the exit code. */
static int start_package(const arguments *a)
{
    char python[MOST_PATH], package[MOST_PATH];
    const char *words[6 + 2 * MOST_OPTIONS + 1];
    int n = 0;
    find_package(python, package);
    words[n++] = python;
    words[n++] = "-c";
    words[n++] = start;
    words[n++] = package;
    words[n++] = a->verb->name;
    words[n++] = a->file;
    for (int i = 0; i < MOST_OPTIONS; ++i) {
        if (a->values[i]) {
            words[n++] = a->verb->argp.options[i].name;
            words[n++] = a->values[i];
        }
    }
    words[n] = NULL;
    (void)execvp(python, (char *const *)words);
    return saltus_cli_usage("saltus %s runs in Python, and '%s' cannot be started: %s",
                            a->verb->name, python, strerror(errno));
}

static int run_verb(const package_verb *v, int argc, char **argv)
{
    arguments a = {.verb = v};
    int code = saltus_cli_parse(&v->argp, argc, argv, &a);
    if (code < 0 && !a.file) {
        code = saltus_cli_usage("a result file is needed: %s FILE.h5", argv[0]);
    }
    code = code >= 0 ? code : check_output(&a);
    return code >= 0 ? code : start_package(&a);
}

/* ---- verbs ---- */

static const struct argp_option plot_options[] = {
    {"output", OUTPUT, "FIGURE", 0, "picture to write: .svg, .png or .pdf (needed)", 0},
    {"kind", OPT_KIND, "KIND", 0,
     "auto (the default), bands, trajectories, histogram or heatmap; of a lattice, kymograph or "
     "slice",
     0},
    {"species", OPT_SPECIES, "A,B", 0, "draw these", 0},
    {"time", OPT_TIME, "T", 0, "of histograms and sweeps, the sample nearest to T (the last)", 0},
    {"trajectories", OPT_TRAJECTORIES, "N", 0, "sample trajectories to draw (20)", 0},
    {"derived", OPT_DERIVED, "A,B", 0, "these derived quantities, such as period:X", 0},
    {"statistic", OPT_STATISTIC, "S", 0, "of a sweep, mean (the default) or sd", 0},
    {"frame", OPT_FRAME, "T", 0, "a slice of the frame nearest to T (the last)", 0},
    {"slice", OPT_SLICE, "z=N", 0,
     "a slice along this plane, with x, y or z alone the one in the middle; 'max z' and 'sum z' "
     "are projections",
     0},
    {"log", OPT_LOG, NULL, 0, "logarithmic axis of values, or colours", 0},
    {"logx", OPT_LOGX, NULL, 0, "logarithmic axis of time, or of the first parameter", 0},
    {"size", OPT_SIZE, "WxH", 0, "width and height in inches, such as 3.5x2.5", 0},
    {"dpi", OPT_DPI, "N", 0, "pixels per inch (150)", 0},
    {"title", OPT_TITLE, "TEXT", 0, "title (the model's name)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

int saltus_cli_plot(int argc, char **argv)
{
    static const package_verb verb = {
        .name = "plot",
        .argp = {plot_options, parse, "FILE",
                 "Draw a result file, or the lattice of a model, by matplotlib.", NULL, NULL, NULL},
        .output = "a figure",
        .endings = {".svg", ".png", ".pdf", NULL},
        .ends_in = ".svg, .png or .pdf",
    };
    return run_verb(&verb, argc, argv);
}

static const struct argp_option report_options[] = {
    {"output", OUTPUT, "PAGE.html", 0, "page to write (needed)", 0},
    {"title", OPT_TITLE, "TEXT", 0, "title (the model's name)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

int saltus_cli_report(int argc, char **argv)
{
    static const package_verb verb = {
        .name = "report",
        .argp = {report_options, parse, "FILE.h5",
                 "Make of a result file one page for a browser, which needs nothing else.", NULL,
                 NULL, NULL},
        .output = "a page",
        .endings = {".html", ".htm", NULL},
        .ends_in = ".html or .htm",
    };
    return run_verb(&verb, argc, argv);
}
