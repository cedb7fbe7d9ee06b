/* saltus info and devices: what there is. */
#include "cli/cli.h"

#include <string.h>

enum { OPT_AS = 256, OPT_LAW, OPT_STOICHIOMETRY };

typedef struct arguments {
    const char *model;
    bool as_yaml;
    saltus_law law;
    saltus_cli_changes changes;
} arguments;

static const struct argp_option options[] = {
    {"as", OPT_AS, "FORMAT", 0, "yaml: print the model as Saltus YAML", 0},
    SALTUS_CLI_CHANGES(0),
    {"law", OPT_LAW, "MODE", 0, "literal (the default) or combinatorial", 0},
    {"stoichiometry", OPT_STOICHIOMETRY, "MODE", 0, "refuse (the default) or draw", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    const error_t e = saltus_cli_take_change(key, text, &a->changes);
    if (e != 1) {
        return e;
    }
    switch (key) {
    case OPT_AS:
        a->as_yaml = true;
        if (strcmp(text, "yaml") != 0) {
            (void)saltus_cli_usage("--as '%s': yaml is the only format", text);
            return EINVAL;
        }
        return 0;
    case OPT_LAW:
        return saltus_cli_take_law(text, &a->law);
    case OPT_STOICHIOMETRY:
        return saltus_cli_take_stoichiometry(text, &a->law);
    case ARGP_KEY_ARG:
        return saltus_cli_take_argument(&a->model, text, "model");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Everything behind the command line. */
static int show(const arguments *a)
{
    saltus_error err = {0};
    if (!a->model) {
        return saltus_cli_usage("a model file is needed: saltus info MODEL");
    }
    saltus_model *model = saltus_cli_load(a->model, &a->changes, a->law, NULL, false, &err);
    saltus_status status = model ? SALTUS_OK : err.code;
    if (model) {
        status = a->as_yaml ? saltus_model_write_yaml(model, stdout, &err)
                            : saltus_model_print_info(model, stdout, &err);
    }
    if (status == SALTUS_OK && !saltus_cli_flush(&err)) {
        status = SALTUS_E_IO;
    }
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    }
    const int result = status == SALTUS_OK ? EXIT_DONE : model ? EXIT_FAILED : EXIT_USAGE;
    saltus_model_destroy(model);
    return result;
}

int saltus_cli_info(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "MODEL",
                                     "What a model holds: species, reactions, kinds of rate law, "
                                     "what was understood and what is not supported.",
                                     NULL,
                                     NULL,
                                     NULL};
    arguments a = {0};
    const int code = saltus_cli_parse(&argp, argc, argv, &a);
    const int result = code >= 0 ? code : show(&a);
    saltus_cli_free_changes(&a.changes);
    return result;
}

int saltus_cli_devices(int argc, char **argv)
{
    static const struct argp argp = {NULL, NULL, "", "What can compute here.", NULL, NULL, NULL};
    saltus_error err = {0};
    const int code = saltus_cli_parse(&argp, argc, argv, NULL);
    if (code >= 0) {
        return code;
    }
    saltus_backend_list(stdout);
    if (!saltus_cli_flush(&err)) {
        saltus_cli_print_error(&err);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}
