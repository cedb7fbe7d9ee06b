/* saltus compile: the GPU kernel of a model, without a GPU. */
#include "cli/cli.h"

#include <string.h>

enum {
    OPT_ARCH = 256,
    OPT_METHOD,
    OPT_LAYOUT,
    OPT_SPLIT,
    OPT_BLOCK,
    OPT_RNG,
    OPT_SPECIES,
    OPT_LAW,
    OPT_STOICHIOMETRY,
    OPT_JSON
};

typedef struct arguments {
    const char *model, *arch, *method, *layout, *split, *rng, *species;
    int64_t block;
    saltus_law law;
    saltus_cli_changes changes;
    bool json;
} arguments;

static const struct argp_option options[] = {
    {"arch", OPT_ARCH, "sm_NN", 0, "compute capability: sm_75, sm_80, sm_90, sm_120 … (needed)", 0},
    {"method", OPT_METHOD, "NAME", 0, "what --epsilon and the like say does not change the kernel",
     0},
    {"layout", OPT_LAYOUT, "NAME", 0, "as run takes it", 0},
    {"split", OPT_SPLIT, "A:B", 0, "a lattice in slabs, as run takes it", 0},
    {"block", OPT_BLOCK, "B", 0, "threads of a block, 32, 64 … 1024 (as the layout needs)", 0},
    {"rng", OPT_RNG, "NAME", 0, "philox, xorwow, mrg32k3a or mt19937 (philox)", 0},
    {"species", OPT_SPECIES, "A,B", 0, "record these alone, as run does", 0},
    SALTUS_CLI_CHANGES(0),
    {"law", OPT_LAW, "MODE", 0, "literal (the default) or combinatorial", 0},
    {"stoichiometry", OPT_STOICHIOMETRY, "MODE", 0, "refuse (the default) or draw", 0},
    {"json", OPT_JSON, NULL, 0, "print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t check_method(const char *text)
{
    char names[100] = "";
    const char *last = NULL;
    size_t used = 0;
    if (saltus_cli_method(text).on_gpu) {
        return 0;
    }
    for (int i = 0; saltus_method_at(i).name; ++i) {
        if (saltus_method_at(i).on_gpu) {
            if (last && used < sizeof names) {
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                         used > 0 ? ", " : "", last);
            }
            last = saltus_method_at(i).name;
        }
    }
    (void)saltus_cli_usage("--method '%s': %s or %s is needed", text, names, last);
    return EINVAL;
}

/* Names of methods and layouts are the library's. */
static char *complete_help(int key, const char *text, void *input)
{
    (void)input;
    return key == OPT_METHOD   ? saltus_cli_method_help(text, true)
           : key == OPT_LAYOUT ? saltus_cli_layout_help(text, true)
                               : (char *)text;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    const error_t e = saltus_cli_take_change(key, text, &a->changes);
    if (e != 1) {
        return e;
    }
    switch (key) {
    case OPT_ARCH:
        a->arch = text;
        if (strncmp(text, "sm_", 3) != 0) {
            (void)saltus_cli_usage("--arch '%s': a compute capability such as sm_90 is needed",
                                   text);
            return EINVAL;
        }
        return 0;
    case OPT_METHOD:
        saltus_cli_take_method(text, &a->method, &a->law);
        return check_method(text);
    case OPT_LAYOUT:
        a->layout = text;
        return 0;
    case OPT_SPLIT:
        a->split = text;
        return 0;
    case OPT_BLOCK:
        if (!saltus_cli_int(text, 32, 1024, &a->block) || a->block % 32 != 0) {
            (void)saltus_cli_usage("--block '%s': a multiple of 32 up to 1024 is needed", text);
            return EINVAL;
        }
        return 0;
    case OPT_RNG:
        a->rng = text;
        return 0;
    case OPT_SPECIES:
        a->species = text;
        return 0;
    case OPT_LAW:
        return saltus_cli_take_law(text, &a->law);
    case OPT_STOICHIOMETRY:
        return saltus_cli_take_stoichiometry(text, &a->law);
    case OPT_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        return saltus_cli_take_argument(&a->model, text, "model");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_report(const arguments *a, const saltus_plan *plan, const saltus_kernel_report *r)
{
    if (a->json) {
        printf("{\"model\": ");
        saltus_cli_print_text(saltus_model_name(saltus_plan_model(plan)));
        printf(", \"arch\": \"%s\", \"method\": \"%s\", \"layout\": \"%s\", \"registers\": %d, "
               "\"spill_bytes\": %d, \"shared_bytes\": %d, \"seconds\": %.3f, "
               "\"cached\": %s}\n",
               a->arch, saltus_plan_method(plan), saltus_plan_layout(plan), r->registers,
               r->spill_bytes, r->shared_bytes, r->seconds, r->cached ? "true" : "false");
        return;
    }
    printf("%s, %s, layout %s, %s: %d registers, %d bytes spilled, %d bytes shared, ",
           saltus_model_name(saltus_plan_model(plan)), saltus_plan_method(plan),
           saltus_plan_layout(plan), a->arch, r->registers, r->spill_bytes, r->shared_bytes);
    if (r->cached) {
        printf("from the cache\n");
    } else {
        printf("%.2f s\n", r->seconds);
    }
}

/* Everything behind the command line. What is refused before NVRTC has its say, or by it, is
 * input; the rest is this machine. */
static int build(const arguments *a)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_kernel_report report = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    char device[40];
    if (!a->model || !a->arch) {
        return saltus_cli_usage("%s is needed: saltus compile MODEL --arch sm_90",
                                a->model ? "--arch" : "a model file");
    }
    saltus_model *model = saltus_cli_load(a->model, &a->changes, a->law, a->method, false, &err);
    saltus_status status = model ? SALTUS_OK : err.code;
    wanted.columns = a->species;
    wanted.method = a->method ? a->method : wanted.method;
    wanted.block = (int)a->block;
    wanted.layout = a->layout ? a->layout : "auto";
    wanted.split = a->split;
    wanted.rng = a->rng ? a->rng : wanted.rng;
    (void)snprintf(device, sizeof device, "cuda:%s", a->arch);
    if (status == SALTUS_OK &&
        (status = saltus_backend_open(device, &backend, &err)) == SALTUS_OK &&
        (status = saltus_plan_create(model, backend, &wanted, &plan, &err)) == SALTUS_OK &&
        (status = saltus_plan_compile(plan, &report, &err)) == SALTUS_OK) {
        print_report(a, plan, &report);
        status = saltus_cli_flush(&err) ? SALTUS_OK : SALTUS_E_IO;
    }
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    }
    const bool is_input = !plan || status == SALTUS_E_INVALID;
    const bool is_machine = status == SALTUS_E_NO_MEMORY || status == SALTUS_E_INTERNAL;
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    return status == SALTUS_OK ? EXIT_DONE : is_input && !is_machine ? EXIT_USAGE : EXIT_FAILED;
}

int saltus_cli_compile(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "MODEL",
        "Build the GPU kernel of a model for a compute capability, without a GPU, and tell what it "
        "takes. It is kept in the cache, where a run finds it. NVRTC is needed.",
        NULL,
        complete_help,
        NULL};
    arguments a = {0};
    const int code = saltus_cli_parse(&argp, argc, argv, &a);
    const int result = code >= 0 ? code : build(&a);
    saltus_cli_free_changes(&a.changes);
    return result;
}
