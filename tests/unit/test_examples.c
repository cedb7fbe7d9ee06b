/* The models in examples/: of the size that is said of them, and the same bits from YAML, from SBML
 * and from YAML written out again. */
#include "saltus/saltus.h"

#include "../support/moments.h"
#include "../support/same_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_RUNS = 20, N_POINTS = 5 };

typedef struct example {
    const char *name;
    int n_species, n_reactions;
    double t_end;
} example;

static const example examples[] = {
    {"adder", 2, 2, 60.0},
    {"dimer-decay", 3, 4, 10.0},
    {"dimer-decay-x2", 6, 8, 1.0},
    {"dimer-decay-x4", 12, 16, 1.0},
    {"dimer-decay-x6", 18, 24, 1.0},
    {"dimer-decay-x12", 36, 48, 1.0},
    {"division", 1, 1, 60.0},
    {"fast-binding", 5, 7, 1e-4},
    {"fully-connected", 6, 30, 1.0},
    {"gene-network", 5, 8, 10.0},
    {"lac-operon", 11, 16, 20010.0}, /* beyond the event */
    {"michaelis-menten", 4, 3, 5.0},
    {"oregonator", 8, 5, 0.5},
    {"ras-camp-pka", 33, 39, 0.5},
    {"schlogl", 3, 4, 1.0},
    {"seasonal-sir", 3, 7, 20.0},
    {"single-gene-8", 5, 8, 100.0},
    {"single-gene-16", 10, 16, 100.0},
    {"single-gene-32", 20, 32, 30.0},
    {"single-gene-64", 40, 64, 20.0},
    {"single-gene-128", 80, 128, 10.0},
    {"single-gene-256", 160, 256, 10.0},
    {"sizer", 1, 1, 60.0},
    {"switched-gene", 3, 4, 100.0},
    {"timer", 1, 1, 60.0},
    {"vilar", 9, 16, 10.0},
};

/* Freeze, check, run, free; the hash of all samples. */
static uint64_t hash_of(const example *x, saltus_model *model, char **yaml)
{
    saltus_error err = {0};
    moments m = {0};
    double times[N_POINTS];
    for (int i = 0; i < N_POINTS; ++i) {
        times[i] = x->t_end * i / (N_POINTS - 1);
    }
    saltus_run_options options = saltus_run_options_default();
    options.seed = 7;
    options.n_trajectories = N_RUNS;
    options.times = times;
    options.n_times = N_POINTS;

    OK(saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err));
    assert_int_equal(saltus_model_n_warnings(model), 0);
    assert_int_equal(saltus_model_n_species(model), x->n_species);
    assert_int_equal(saltus_model_n_reactions(model), x->n_reactions);
    OK(run_model(model, "cpu", "auto", 1, &options, &m, &err));
    assert_int_equal(m.n, N_RUNS);
    if (yaml) {
        *yaml = model_to_yaml(model);
        assert_non_null(*yaml);
    }
    const uint64_t hash = m.hash;
    moments_free(&m);
    saltus_model_destroy(model);
    return hash;
}

static uint64_t hash_of_text(const example *x, const char *yaml)
{
    saltus_error err = {0};
    saltus_model *model = NULL;
    OK(saltus_model_parse_yaml(yaml, strlen(yaml), "again.yaml", &model, &err));
    return hash_of(x, model, NULL);
}

static void example_gives_the_same_bits_in_every_format(void **state)
{
    const example *x = *state;
    static const char *const endings[] = {"yaml", "xml"};
    const char *source = getenv("SALTUS_SOURCE");
    uint64_t hash[2];
    if (!source) {
        print_message("SKIP: SALTUS_SOURCE does not name the source folder\n");
        skip();
    }
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        saltus_model *model = NULL;
        char path[1000], *yaml = NULL;
        (void)snprintf(path, sizeof path, "%s/examples/%s.%s", source, x->name, endings[i]);
        OK(saltus_model_read(path, &model, &err));
        hash[i] = hash_of(x, model, &yaml);
        assert_true(hash_of_text(x, yaml) == hash[i]);
        free(yaml);
    }
    assert_true(hash[0] == hash[1]);
}

int main(void)
{
    enum { n = sizeof examples / sizeof *examples };
    struct CMUnitTest tests[n];
    for (int i = 0; i < n; ++i) {
        tests[i] = (struct CMUnitTest){.name = examples[i].name,
                                       .test_func = example_gives_the_same_bits_in_every_format,
                                       .initial_state = (void *)(uintptr_t)&examples[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
