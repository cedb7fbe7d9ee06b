#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the library's sentences name, `record all`, and the options that these are here. */
static const struct {
    const char *field, *option;
} options_of[] = {
    {"atol", "--atol"},
    {"burn_in", "--burn-in"},
    {"columns", "--species"},
    {"compress", "--compress"},
    {"derive", "--derive"},
    {"design", "--design"},
    {"device", "--device"},
    {"frame_times", "--frames"},
    {"law", "--law"},
    {"method", "--method"},
    {"molecules_per_mole", "--mole"},
    {"n_bins", "--bins"},
    {"no_peer", "--no-peer"},
    {"overwrite", "--overwrite"},
    {"profile", "--profile"},
    {"record", "--record"},
    {"rtol", "--rtol"},
    {"set", "--set"},
    {"split", "--split"},
    {"stiff", "--stiff"},
    {"stoichiometry", "--stoichiometry"},
    {"times", "--points, --every"},
    {"vary", "--vary"},
    {"volume", "--volume"},
};

/* The option that a field is whose name begins behind a backquote and is `length` long; or NULL. */
static const char *option_of(const char *name, size_t *length)
{
    for (size_t i = 0; i < sizeof options_of / sizeof *options_of; ++i) {
        *length = strlen(options_of[i].field);
        if (strncmp(name, options_of[i].field, *length) == 0 &&
            (name[*length] == ' ' || name[*length] == '`') && strchr(name + *length, '`')) {
            return options_of[i].option;
        }
    }
    return NULL;
}

void saltus_cli_say(const char *before, const char *text)
{
    bool in_field = false;
    fputs(before, stderr);
    while (*text) {
        size_t length = 0;
        const char *option = *text == '`' && !in_field ? option_of(text + 1, &length) : NULL;
        if (option) {
            fputs(option, stderr);
            in_field = true;
        } else if (*text == '`' && in_field) {
            in_field = false;
        } else {
            fputc((unsigned char)*text < ' ' ? ' ' : *text, stderr);
        }
        text += 1 + length * (option != NULL);
    }
    fputc('\n', stderr);
}

void saltus_cli_print_error(const saltus_error *err)
{
    saltus_cli_say("saltus: ", err->message[0] ? err->message : saltus_status_text(err->code));
    if (err->hint[0]) {
        saltus_cli_say("  hint: ", err->hint);
    }
}

/* Whether saltus_cli_usage has said what is wrong; of which words; whether they may have -o. */
static bool has_complained, takes_output;
static char **words;

int saltus_cli_usage(const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    /* the analyser does not see va_start: NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    saltus_cli_say("saltus: ", text);
    has_complained = true;
    return EXIT_USAGE;
}

saltus_status saltus_cli_fail(saltus_error *err, saltus_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->code = code;
    /* the analyser does not see va_start: NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

double saltus_cli_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool saltus_cli_double(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    /* no blanks, names or hexadecimal numbers, which strtod takes too */
    return end != text && text[strspn(text, "+-.0123456789eE")] == '\0' && *end == '\0' &&
           isfinite(*value);
}

bool saltus_cli_int(const char *text, int64_t low, int64_t high, int64_t *value)
{
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    *value = n;
    if (end != text && *end != '\0') { /* 1e6 is a whole number too */
        double d;
        if (!saltus_cli_double(text, &d) || d != floor(d) || fabs(d) > 9007199254740992.0) {
            return false;
        }
        *value = (int64_t)d;
    }
    return end != text && errno == 0 && *value >= low && *value <= high;
}

/* Behind all others; argp puts negative groups last. */
enum { HELP_GROUP = -1 };

/* What stands around a verb's parser: --help, and where argp met an error. */
typedef struct wrapper {
    void *input;
    int next;
    bool help;
} wrapper;

static error_t parse_wrapper(int key, char *text, struct argp_state *state)
{
    wrapper *w = state->input;
    (void)text;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = w->input;
        return 0;
    case ARGP_KEY_ERROR:
        w->next = state->next;
        return 0;
    case 'h':
    case '?':
        w->help = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The option that "--name" or "--name=value" means, and how many it may mean, of a parser and of
 * those below it. */
static const struct argp_option *find_option(const struct argp *argp, const char *text, int *n)
{
    const size_t length = strcspn(text + 2, "=");
    const struct argp_option *found = NULL;
    *n = 0;
    for (const struct argp_option *o = argp->options; o && (o->name || o->doc); ++o) {
        if (o->name && strncmp(o->name, text + 2, length) == 0) {
            found = o;
            ++*n;
            if (strlen(o->name) == length) {
                *n = 1;
                return found;
            }
        }
    }
    for (const struct argp_child *c = argp->children; c && c->argp; ++c) {
        int n_below;
        const struct argp_option *below = find_option(c->argp, text, &n_below);
        if (below && strlen(below->name) == length) {
            *n = 1;
            return below;
        }
        found = below ? below : found;
        *n += n_below;
    }
    return found;
}

/* getopt refused argument `at` - 1, or `at` when that is a cluster such as -qx, which is passed
 * only when all of it was read. As told, it said nothing: say what was wrong. */
static int complain(const struct argp *argp, char **argv, int at)
{
    const char *text = argv[at - 1];
    int n = 0;
    const struct argp_option *o = strncmp(text, "--", 2) == 0 ? find_option(argp, text, &n) : NULL;
    const bool is_fine = text[0] != '-' || (n == 1 && !o->arg && !strchr(text, '='));
    if (is_fine && argv[at]) {
        text = argv[at];
        n = 0;
    }
    const int length = (int)strcspn(text, "=");
    if (n > 1) {
        return saltus_cli_usage("option '%.*s' may mean several; %s --help lists them", length,
                                text, argv[0]);
    }
    if (n == 1) {
        return saltus_cli_usage("option '%.*s' %s", length, text,
                                o->arg ? "needs a value" : "takes no value");
    }
    if (strcmp(text, "-o") == 0) {
        return saltus_cli_usage("option '-o' needs a value");
    }
    return saltus_cli_usage("there is no option '%.*s'; %s --help lists them", length, text,
                            argv[0]);
}

int saltus_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static const struct argp_option help[] = {
        {"help", 'h', NULL, 0, "print this", HELP_GROUP},
        {NULL, '?', NULL, OPTION_HIDDEN, NULL, HELP_GROUP},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
    const struct argp all = {help, parse_wrapper, NULL, NULL, children, NULL, NULL};
    wrapper w = {.input = input};
    saltus_error err = {0};
    int n;
    has_complained = false;
    words = argv;
    takes_output = find_option(argp, "--output", &n) != NULL;
    const error_t e = argp_parse(&all, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &w);
    if (w.help) {
        argp_help(&all, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, argv[0]);
        if (!saltus_cli_flush(&err)) {
            saltus_cli_print_error(&err);
            return EXIT_FAILED;
        }
        return EXIT_DONE;
    }
    if (e == 0) {
        return -1;
    }
    if (has_complained) {
        return EXIT_USAGE;
    }
    return w.next > 0 && e == EINVAL ? complain(argp, argv, w.next)
                                     : saltus_cli_usage("%s", strerror(e));
}

error_t saltus_cli_take_law(const char *text, saltus_law *law)
{
    const bool is_literal = strcmp(text, "literal") == 0;
    if (!is_literal && strcmp(text, "combinatorial") != 0) {
        (void)saltus_cli_usage("--law '%s': literal or combinatorial is needed", text);
        return EINVAL;
    }
    *law = (saltus_law)(((unsigned)*law & ~(unsigned)SALTUS_LAW_COMBINATORIAL) |
                        (is_literal ? SALTUS_LAW_LITERAL : SALTUS_LAW_COMBINATORIAL));
    return 0;
}

void saltus_cli_take_method(const char *text, const char **method, saltus_law *law)
{
    *method = text;
    *law = (saltus_law)(((unsigned)*law & ~(unsigned)SALTUS_AMOUNTS_REAL) |
                        (strcmp(text, "ode") == 0 ? SALTUS_AMOUNTS_REAL : 0));
}

error_t saltus_cli_take_stoichiometry(const char *text, saltus_law *law)
{
    const bool draws = strcmp(text, "draw") == 0;
    if (!draws && strcmp(text, "refuse") != 0) {
        (void)saltus_cli_usage("--stoichiometry '%s': draw or refuse is needed", text);
        return EINVAL;
    }
    *law = (saltus_law)(((unsigned)*law & ~(unsigned)SALTUS_STOICHIOMETRY_DRAW) |
                        (draws ? SALTUS_STOICHIOMETRY_DRAW : SALTUS_LAW_LITERAL));
    return 0;
}

static bool is_output(const char *text)
{
    static const char *const endings[] = {".h5", ".hdf5", ".csv", ".svg", ".png", ".pdf", ".html"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i) {
        const size_t n = strlen(text), k = strlen(endings[i]);
        if (n > k && strcmp(text + n - k, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The command line with -o before its last word that is this text, as it can be typed. */
static void hint_output(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "%+,-./:=@_";
    char line[1000] = "";
    int at = 0;
    for (int i = 1; words[i]; ++i) {
        at = strcmp(words[i], text) == 0 ? i : at;
    }
    for (int i = 0; words[i]; ++i) {
        const size_t n = strlen(line);
        const bool is_plain = i == 0 || (words[i][0] && !words[i][strspn(words[i], plain)]);
        if (strchr(words[i], '\'') || n + strlen(words[i]) + 8 > sizeof line) {
            return; /* cannot be quoted simply, or is long */
        }
        (void)snprintf(line + n, sizeof line - n, "%s%s%s%s%s", i > 0 ? " " : "",
                       i == at ? "-o " : "", is_plain ? "" : "'", words[i], is_plain ? "" : "'");
    }
    saltus_cli_say("  hint: ", line);
}

error_t saltus_cli_take_argument(const char **argument, const char *text, const char *what)
{
    if (*argument && takes_output && is_output(text)) {
        (void)saltus_cli_usage("one %s at a time: '%s' and '%s'; what is to be written is named "
                               "with -o",
                               what, *argument, text);
        hint_output(text);
        return EINVAL;
    }
    if (*argument) {
        (void)saltus_cli_usage("one %s at a time: '%s' and '%s'", what, *argument, text);
        return EINVAL;
    }
    *argument = text;
    return 0;
}

error_t saltus_cli_add_setting(saltus_cli_settings *settings, const char *text)
{
    const size_t size = ((size_t)settings->n + 1) * sizeof *settings->items;
    const char **grown = realloc(settings->items, size);
    if (!grown) {
        return ENOMEM;
    }
    settings->items = grown;
    settings->items[settings->n++] = text;
    return 0;
}

error_t saltus_cli_take_change(int key, const char *text, saltus_cli_changes *changes)
{
    switch (key) {
    case SALTUS_CLI_SET:
        return saltus_cli_add_setting(&changes->set, text);
    case SALTUS_CLI_VOLUME:
        return saltus_cli_add_setting(&changes->volume, text);
    case SALTUS_CLI_MOLE:
        if (!saltus_cli_double(text, &changes->mole) || !(changes->mole > 0.0)) {
            (void)saltus_cli_usage("--mole '%s': a number of molecules above 0 is needed", text);
            return EINVAL;
        }
        return 0;
    default:
        return 1;
    }
}

void saltus_cli_free_changes(saltus_cli_changes *changes)
{
    free(changes->set.items);
    free(changes->volume.items);
}

static saltus_status refuse_item(const char *option, const char *item, const char *wanted,
                                 saltus_error *err)
{
    return saltus_cli_fail(err, SALTUS_E_INVALID, "%s '%.100s': %s is needed", option, item,
                           wanted);
}

/* "NAME=VALUE" of --set, "NAME=V" of --volume. */
static saltus_status apply(saltus_model *model, const char *item, bool is_volume, saltus_error *err)
{
    const char *equals = strrchr(item, '=');
    double value = 0.0;
    if (is_volume && (!equals || equals == item)) {
        return refuse_item("--volume", item, "NAME=V or all=V, such as 'all=1 fL',", err);
    }
    if (!is_volume && (!equals || equals == item || !saltus_cli_double(equals + 1, &value))) {
        return refuse_item("--set", item, "NAME=VALUE with a number", err);
    }
    char *name = strndup(item, (size_t)(equals - item));
    if (!name) {
        return saltus_cli_fail(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    const saltus_status status = is_volume ? saltus_model_set_volume(model, name, equals + 1, err)
                                           : saltus_model_set(model, name, value, err);
    free(name);
    return status;
}

saltus_model *saltus_cli_read(const char *path, const saltus_cli_changes *changes,
                              saltus_error *err)
{
    saltus_model *model = NULL;
    static const saltus_cli_changes none = {.mole = 0.0};
    saltus_read_options options = saltus_read_options_default();
    changes = changes ? changes : &none;
    options.molecules_per_mole = changes->mole;
    options.archive = saltus_cli_archive();
    saltus_status status = saltus_cli_read_model(path, &options, &model, err);
    for (int i = 0; i < changes->volume.n && status == SALTUS_OK; ++i) {
        status = apply(model, changes->volume.items[i], true, err);
    }
    for (int i = 0; i < changes->set.n && status == SALTUS_OK; ++i) {
        status = apply(model, changes->set.items[i], false, err);
    }
    if (status != SALTUS_OK) {
        saltus_model_destroy(model);
        return NULL;
    }
    return model;
}

void saltus_cli_say_warnings(const saltus_model *model, const char *method)
{
    const bool is_whole = !method || strcmp(method, "ode") != 0;
    for (int i = 0; i < saltus_model_n_warnings(model); ++i) {
        if (is_whole || !saltus_model_warning_is_of_whole(model, i)) {
            saltus_cli_say("saltus: warning: ", saltus_model_warning(model, i));
        }
    }
}

saltus_model *saltus_cli_load(const char *path, const saltus_cli_changes *changes, saltus_law law,
                              const char *method, bool quiet, saltus_error *err)
{
    saltus_model *model = saltus_cli_read(path, changes, err);
    if (!model) {
        return NULL;
    }
    const saltus_status status = saltus_model_freeze(model, law, err);
    if (!quiet) {
        saltus_cli_say_warnings(model, method);
    }
    if (status != SALTUS_OK) {
        saltus_model_destroy(model);
        return NULL;
    }
    return model;
}

void saltus_cli_print_text(const char *text)
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

bool saltus_cli_flush(saltus_error *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    (void)saltus_cli_fail(err, SALTUS_E_IO, "standard output: writing failed%s%s",
                          errno ? ": " : "", errno ? strerror(errno) : ""); /* as the library */
    return false;
}
