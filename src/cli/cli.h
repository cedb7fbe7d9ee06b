/** Between the files of the command: one file per verb. */
#ifndef SALTUS_CLI_CLI_H
#define SALTUS_CLI_CLI_H

#include "saltus/saltus.h"

#include <argp.h>

/** Exit codes: what a script can rely on. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/** Verbs: argv[0] is "saltus VERB"; the result is the exit code. */
int saltus_cli_run(int argc, char **argv);
int saltus_cli_sweep(int argc, char **argv);
int saltus_cli_resume(int argc, char **argv);
int saltus_cli_merge(int argc, char **argv);
int saltus_cli_info(int argc, char **argv);
int saltus_cli_stats(int argc, char **argv);
int saltus_cli_export(int argc, char **argv);
int saltus_cli_plot(int argc, char **argv);
int saltus_cli_report(int argc, char **argv);
int saltus_cli_devices(int argc, char **argv);
int saltus_cli_compile(int argc, char **argv);

/** Print `before` and a sentence as one line on stderr. Fields that the library names in
 * backquotes, `record all`, become options, and control characters spaces: names may hold anything.
 */
void saltus_cli_say(const char *before, const char *text);
/** Print the failure on stderr, as one line "saltus: …" and perhaps a hint on a second. */
void saltus_cli_print_error(const saltus_error *err);
/** The same for the command's own complaints; returns EXIT_USAGE. */
__attribute__((format(printf, 1, 2))) int saltus_cli_usage(const char *format, ...);

/** Record a failure of the command's own; returns the code. */
__attribute__((format(printf, 3, 4))) saltus_status
saltus_cli_fail(saltus_error *err, saltus_status code, const char *format, ...);

/** The same in a function that can fail: it has a `status`, and releases what it owns at `done:`.
 */
#define SALTUS_CLI_FAIL(code, ...)                             \
    do {                                                       \
        status = (code); /* here, where an analyser sees it */ \
        (void)saltus_cli_fail(err, status, __VA_ARGS__);       \
        goto done;                                             \
    } while (0)
#define SALTUS_CLI_NEED(pointer)                                   \
    do {                                                           \
        if (!(pointer)) {                                          \
            SALTUS_CLI_FAIL(SALTUS_E_NO_MEMORY, "memory ran out"); \
        }                                                          \
    } while (0)
#define SALTUS_CLI_TRY(call)       \
    do {                           \
        status = (call);           \
        if (status != SALTUS_OK) { \
            goto done;             \
        }                          \
    } while (0)

/** The words that stand behind these numbers of trajectories and of points. */
static inline const char *saltus_cli_trajectories(int64_t n)
{
    return n == 1 ? "trajectory" : "trajectories";
}
static inline const char *saltus_cli_points(int64_t n)
{
    return n == 1 ? "point" : "points";
}

/** Seconds since a moment that stays the same while the program runs. */
double saltus_cli_now(void);

/** Parse a number that fills the whole text. */
bool saltus_cli_double(const char *text, double *value);
bool saltus_cli_int(const char *text, int64_t low, int64_t high, int64_t *value);

/** Run argp so that wrong usage ends as EXIT_USAGE with one "saltus: …" line. Returns -1 to go on,
 * else the exit code. */
int saltus_cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/** Help of --method and --layout: what there is, or what a GPU has, and `text` behind it; what argp
 * asks of a help filter. */
char *saltus_cli_method_help(const char *text, bool on_gpu);
char *saltus_cli_layout_help(const char *text, bool on_gpu);
/** The method of a name; its name is NULL if there is none. */
saltus_choice saltus_cli_method(const char *name);

/** Take the one argument of a verb, a "model" or "file"; EINVAL, with what is wrong said, when
 * there was one already. */
error_t saltus_cli_take_argument(const char **argument, const char *text, const char *what);

/** NAME=VALUE of an option that may be repeated, kept in order. */
typedef struct saltus_cli_settings {
    const char **items; /**< to be freed */
    int n;
} saltus_cli_settings;

/** What changes a model once it is read: --mole, then --volume, then --set. */
typedef struct saltus_cli_changes {
    saltus_cli_settings set, volume;
    double mole; /**< 0: not given */
} saltus_cli_changes;

/** Keys and rows of their options, for a verb's own list. */
enum { SALTUS_CLI_SET = 1024, SALTUS_CLI_VOLUME, SALTUS_CLI_MOLE };
/* clang-format off */
#define SALTUS_CLI_CHANGES(group)                                                                  \
    {"set", SALTUS_CLI_SET, "NAME=VALUE", 0,                                                       \
     "set a parameter or an initial amount; may be repeated", group},                              \
    {"volume", SALTUS_CLI_VOLUME, "NAME=V", 0,                                                     \
     "size of a compartment or of all, such as 'all=1 fL'; keeps concentrations; may be repeated", \
     group},                                                                                       \
    {"mole", SALTUS_CLI_MOLE, "N", 0,                                                              \
     "molecules that stand for a mole (6.02214076e23); keeps concentrations", group}
/* clang-format on */
/** Take one of them. 1: it is none; else what argp expects. */
error_t saltus_cli_take_change(int key, const char *text, saltus_cli_changes *changes);
void saltus_cli_free_changes(saltus_cli_changes *changes);

/** Add one; ENOMEM when memory ran out. */
error_t saltus_cli_add_setting(saltus_cli_settings *settings, const char *text);

/** Whether a model is named "-": standard input. */
bool saltus_cli_is_stdin(const char *path);
/** Whether a file is in BioNetGen's language. */
bool saltus_cli_is_bngl(const char *path);
/** Let BNG2.pl make the network of such a file: the text of a .net, to be freed with saltus_free.
 * What BNG2.pl says is shown when it fails. On a signal it is ended, and so is this process. */
saltus_status saltus_cli_read_bngl(const char *path, char **text, size_t *size, saltus_error *err);
/** From now on files are read through an archive, which must outlive that; NULL: from the disk. */
void saltus_cli_read_through(saltus_archive *archive);
saltus_archive *saltus_cli_archive(void);
/** Read a model file, the network of a .bngl, or what comes on standard input; the latter two are
 * kept for the next call. Any thread may call. */
saltus_status saltus_cli_read_model(const char *path, const saltus_read_options *options,
                                    saltus_model **model, saltus_error *err);
/** Read a model and change what is to be changed, if it is given. NULL: the error is recorded. */
saltus_model *saltus_cli_read(const char *path, const saltus_cli_changes *changes,
                              saltus_error *err);
/** The warnings of a model to stderr, as far as they concern a method; NULL: any. */
void saltus_cli_say_warnings(const saltus_model *model, const char *method);
/** Read, change and freeze a model; its warnings that concern the method go to stderr unless quiet.
 * NULL: the error is recorded. */
saltus_model *saltus_cli_load(const char *path, const saltus_cli_changes *changes, saltus_law law,
                              const char *method, bool quiet, saltus_error *err);
/** "literal" or "combinatorial"; anything else is complained of: EINVAL. */
error_t saltus_cli_take_law(const char *text, saltus_law *law);
/** A name of a method; that amounts are real for it becomes a part of the law. */
void saltus_cli_take_method(const char *text, const char **method, saltus_law *law);
/** "draw" or "refuse"; it becomes a part of the law. */
error_t saltus_cli_take_stoichiometry(const char *text, saltus_law *law);

/** What the ending of a result's name means; none is HDF5. */
typedef enum saltus_cli_format {
    SALTUS_CLI_HDF5,
    SALTUS_CLI_CSV,
    SALTUS_CLI_UNKNOWN
} saltus_cli_format;
saltus_cli_format saltus_cli_format_of(const char *path);
/** Whether a table may have this name: .csv, .txt or no ending. */
bool saltus_cli_is_table(const char *path);

/** Whether a file can be put under this name: asked before it is made, so that it is wrong usage.
 */
bool saltus_cli_is_writable(const char *path, saltus_error *err);
/** Whether two names are those of one file. */
bool saltus_cli_is_same_file(const char *a, const char *b);

/** Whether standard output goes to this file. */
bool saltus_cli_is_stdout(const char *path);

/** Make a new file of a name that ends with six X, which are replaced, with the rights of any other
 * new file. Returns what mkstemp(3) does. */
int saltus_cli_make_file(char *pattern);

/** A table while it is written: beside its place, under another name. Zeros when there is none. */
typedef struct saltus_cli_table {
    const char *path;
    char *target, *temporary;
    FILE *out;
    bool replaces; /**< what is there goes */
} saltus_cli_table;
/**
 * Open one; the path must stay. An existing file is refused unless it is empty or to be replaced.
 *
 * @retval SALTUS_E_IO with the reason; nothing is left behind
 */
saltus_status saltus_cli_open_table(const char *path, bool overwrite, saltus_cli_table *t,
                                    saltus_error *err);
/** Put it in its place, if it is to be kept and whole; else nothing is left of it. */
saltus_status saltus_cli_close_table(saltus_cli_table *t, bool keep, saltus_error *err);
/** The library says "the output: writing failed"; say which it is. */
void saltus_cli_name_table(const char *path, saltus_error *err);

/** Print a text in JSON's quotes on stdout. */
void saltus_cli_print_text(const char *text);
/** Flush stdout; false when what was printed could not be written. */
bool saltus_cli_flush(saltus_error *err);

#endif
