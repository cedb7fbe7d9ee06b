/* Texts of options: a line each, "--vary=k=lin:1:2:3". Those that a model, a sweep or a plan reads
 * go there, all others through the command's own parser. */
#include "cli/run.h"
#include "ensemble/derive.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 30 };

static const char flat[] = "compartments: {c: 2}\n"
                           "species: {A: {initial: 5, compartment: c}, B: 0, \"a:b,c\": 2}\n"
                           "parameters: {k: 1, m: 2*k}\n"
                           "rules: {q: A + k}\n"
                           "reactions: {r: A -> B @ k, s: B -> A @ m}\n",
                  lattice[] = "species: {A: 5}\n"
                              "lattice: {size: [8, 8, 64], spacing: 10 nm, step: 1 ms, "
                              "diffusion: {A: 0}}\n";

static struct {
    char path[60];
    saltus_model *flat, *lattice;
    saltus_backend *cpu, *gpu; /* the latter needs NVRTC, and no GPU */
    saltus_plan *plan;
} fixed;

static void remove_model(void)
{
    saltus_plan_destroy(fixed.plan);
    saltus_backend_close(fixed.gpu);
    saltus_backend_close(fixed.cpu);
    saltus_model_destroy(fixed.flat);
    saltus_model_destroy(fixed.lattice);
    (void)unlink(fixed.path);
}

static saltus_model *read_model(const char *text)
{
    saltus_model *m = NULL;
    if (saltus_model_parse_yaml(text, strlen(text), "m", &m, NULL) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, NULL) != SALTUS_OK) {
        abort();
    }
    return m;
}

static void begin(void)
{
    (void)strcpy(fixed.path, "/tmp/saltus-fuzz-options-XXXXXX");
    const int fd = mkstemp(fixed.path);
    if (fd < 0 || write(fd, flat, sizeof flat - 1) != sizeof flat - 1 || close(fd) != 0) {
        abort();
    }
    fixed.flat = read_model(flat);
    fixed.lattice = read_model(lattice);
    if (saltus_backend_open("cpu", &fixed.cpu, NULL) != SALTUS_OK ||
        saltus_plan_create(fixed.flat, fixed.cpu, NULL, &fixed.plan, NULL) != SALTUS_OK) {
        abort();
    }
    (void)!saltus_backend_open("cuda:sm_90", &fixed.gpu, NULL);
    stderr = stdout = fopen("/dev/null", "w"); /* what is refused is told, at length */
    (void)atexit(remove_model);
}

static const char *behind(const char *line, const char *option)
{
    const size_t n = strlen(option);
    return strncmp(line, option, n) == 0 ? line + n : NULL;
}

/* A sweep of very many points takes long and finds nothing. */
static bool is_large(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && strtod(colon + 1, NULL) > 1e4;
}

static void try_sweep(char **words, int n, const char *design)
{
    saltus_sweep *sweep = NULL;
    if (saltus_sweep_create(&sweep, NULL) != SALTUS_OK) {
        abort();
    }
    for (int i = 0; i < n; ++i) {
        const char *text = behind(words[i], "--vary=");
        if (text && !is_large(text)) {
            (void)!saltus_sweep_vary(sweep, text, NULL); /* a refused one is left out */
        }
    }
    if (saltus_sweep_finish(sweep, design && !is_large(design) ? design : NULL, 1, NULL) ==
        SALTUS_OK) {
        const int64_t last = saltus_sweep_n_points(sweep) - 1;
        const int64_t points[] = {0, last / 2, last};
        for (int i = 0; i < 3; ++i) {
            saltus_model *m = read_model(flat);
            (void)!saltus_sweep_freeze(sweep, points[i], m, SALTUS_LAW_LITERAL, NULL);
            saltus_model_destroy(m);
        }
    }
    saltus_sweep_destroy(sweep);
}

static void try_changes(char **words, int n)
{
    static const struct {
        const char *option;
        int key;
    } options[] = {
        {"--set=", SALTUS_CLI_SET}, {"--volume=", SALTUS_CLI_VOLUME}, {"--mole=", SALTUS_CLI_MOLE}};
    saltus_error err = {0};
    saltus_cli_changes changes = {.mole = 0.0};
    for (int i = 0; i < 3 * n; ++i) {
        const char *text = behind(words[i / 3], options[i % 3].option);
        if (text && saltus_cli_take_change(options[i % 3].key, text, &changes) == 1) {
            abort();
        }
    }
    saltus_model *m = saltus_cli_load(fixed.path, &changes, SALTUS_LAW_LITERAL, NULL, true, &err);
    if (!m && !err.message[0]) {
        abort();
    }
    saltus_model_destroy(m);
    saltus_cli_free_changes(&changes);
}

static void try_plan(const char *text, bool is_split)
{
    saltus_plan_options o = saltus_plan_options_default();
    saltus_plan *plan = NULL;
    o.split = is_split ? text : NULL;
    o.columns = is_split ? NULL : text;
    (void)!saltus_plan_create(is_split ? fixed.lattice : fixed.flat,
                              is_split ? fixed.gpu : fixed.cpu, &o, &plan, NULL);
    saltus_plan_destroy(plan);
}

static void try_derive(const char *text)
{
    saltus_derived derived = {0};
    if (saltus_derived_parse(text, fixed.plan, &derived, NULL) == SALTUS_OK) {
        saltus_derived_free(&derived);
    }
}

/* As main gets them. */
static void try_line(char **words, int n)
{
    char name[] = "saltus run";
    char *argv[MOST_WORDS + 2] = {name};
    saltus_cli_run_arguments a;
    memcpy(argv + 1, words, (size_t)n * sizeof *words);
    const int code = saltus_cli_run_parse(&saltus_cli_run_argp, n + 1, argv, &a);
    if (code != -1 && code != EXIT_DONE && code != EXIT_USAGE) {
        abort();
    }
    saltus_cli_run_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[MOST_WORDS], *rest;
    const char *design = NULL;
    int n = 0;
    if (!fixed.flat) {
        begin();
    }
    char *text = calloc(size + 1, 1);
    memcpy(text, data, size);
    for (char *w = strtok_r(text, "\n", &rest); w && n < MOST_WORDS;
         w = strtok_r(NULL, "\n", &rest)) {
        const char *derive = behind(w, "--derive="), *split = behind(w, "--split="),
                   *species = behind(w, "--species=");
        words[n++] = w;
        design = behind(w, "--design=") ? behind(w, "--design=") : design;
        if (derive) {
            try_derive(derive);
        }
        if (species) {
            try_plan(species, false);
        }
        if (split && fixed.gpu) {
            try_plan(split, true);
        }
    }
    try_sweep(words, n, design);
    try_changes(words, n);
    try_line(words, n);
    free(text);
    return 0;
}
