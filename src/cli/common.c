#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void saltus_cli_print_error(const saltus_error *err)
{
    fprintf(stderr, "saltus: %s\n", err->message[0] ? err->message : saltus_status_text(err->code));
    if (err->hint[0]) {
        fprintf(stderr, "  hint: %s\n", err->hint);
    }
}

int saltus_cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("saltus: ", stderr);
    (void)vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_USAGE;
}

bool saltus_cli_double(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
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

/* argp prints "saltus run: unrecognized option" and a second line; this keeps its first line's
 * meaning and our form. */
int saltus_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    argp_err_exit_status = EXIT_USAGE;
    const error_t e = argp_parse(argp, argc, argv, 0, NULL, input);
    if (e == EINVAL) {
        return EXIT_USAGE;
    }
    if (e != 0) {
        return saltus_cli_usage("%s", strerror(e));
    }
    return -1;
}

bool saltus_cli_law(const char *text, saltus_law *law)
{
    if (strcmp(text, "literal") == 0) {
        *law = SALTUS_LAW_LITERAL;
        return true;
    }
    *law = SALTUS_LAW_COMBINATORIAL;
    return strcmp(text, "combinatorial") == 0;
}

static saltus_status apply_setting(saltus_model *model, const char *item, saltus_error *err)
{
    const char *equals = strrchr(item, '=');
    double value;
    char name[256];
    if (!equals || equals == item || (size_t)(equals - item) >= sizeof name ||
        !saltus_cli_double(equals + 1, &value)) {
        err->code = SALTUS_E_INVALID;
        (void)snprintf(err->message, sizeof err->message,
                       "--set '%.100s': NAME=VALUE with a number is needed", item);
        return SALTUS_E_INVALID;
    }
    memcpy(name, item, (size_t)(equals - item));
    name[equals - item] = '\0';
    return saltus_model_set(model, name, value, err);
}

saltus_model *saltus_cli_load(const char *path, const saltus_cli_settings *settings, saltus_law law,
                              bool quiet, saltus_error *err)
{
    saltus_model *model = NULL;
    if (saltus_model_read(path, &model, err) != SALTUS_OK) {
        return NULL;
    }
    saltus_status status = SALTUS_OK;
    for (int i = 0; settings && i < settings->n && status == SALTUS_OK; ++i) {
        status = apply_setting(model, settings->items[i], err);
    }
    if (status == SALTUS_OK) {
        status = saltus_model_freeze(model, law, err);
    }
    for (int i = 0; i < saltus_model_n_warnings(model) && !quiet; ++i) {
        fprintf(stderr, "saltus: warning: %s\n", saltus_model_warning(model, i));
    }
    if (status != SALTUS_OK) {
        saltus_model_destroy(model);
        return NULL;
    }
    return model;
}

bool saltus_cli_flush(saltus_error *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    err->code = SALTUS_E_IO;
    (void)snprintf(err->message, sizeof err->message, "standard output: %s", strerror(errno));
    return false;
}
