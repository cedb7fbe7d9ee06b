/* What benchmarks measure and check with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/moments.h"
#include "measure/baseline.h"
#include "measure/tables.h"
#include "measure/totals.h"

#include <string.h>

enum { N_TIMES = 3 };
static const double times[N_TIMES] = {0.0, 0.5, 1.0};

/* A -> B at k, 2 B -> A. */
static saltus_model *make(const char *k)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_create("pair", &m, &err));
    OK(saltus_model_add_species(m, "A", 100, &err));
    OK(saltus_model_add_species(m, "B", 5, &err));
    OK(saltus_model_add_reaction(m, "r1", "A -> B", k, &err));
    OK(saltus_model_add_reaction(m, "r2", "2 B -> A", "0.01", &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

static void run(const saltus_model *m, int threads, uint64_t seed, int64_t n, saltus_totals *totals)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options options = saltus_run_options_default();
    wanted.n_threads = threads;
    options.seed = seed;
    options.n_trajectories = n;
    options.times = times;
    options.n_times = N_TIMES;
    *totals = (saltus_totals){0};
    const saltus_sink sink = saltus_totals_sink(totals, false);
    OK(saltus_backend_open("cpu", &backend, &err));
    OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
    OK(saltus_run(plan, &options, &sink, NULL, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    assert_int_equal(totals->statistics.n, n);
}

static void totals_tell_ensembles_apart(void **state)
{
    saltus_model *m = make("1"), *faster = make("1.1");
    saltus_totals reference, same, other_seed, fewer, other_model;
    (void)state;
    run(m, 1, 1, 2000, &reference);
    run(m, 2, 1, 2000, &same);
    run(m, 1, 2, 2000, &other_seed);
    run(m, 1, 2, 1000, &fewer);
    run(faster, 1, 2, 1000, &other_model);
    assert_true(saltus_totals_agree(&same, &reference));
    assert_false(saltus_totals_agree(&other_seed, &reference)); /* equally many: equal bits */
    assert_true(saltus_totals_agree(&fewer, &reference));
    assert_false(saltus_totals_agree(&other_model, &reference));
    saltus_totals_free(&reference);
    saltus_totals_free(&same);
    saltus_totals_free(&other_seed);
    saltus_totals_free(&fewer);
    saltus_totals_free(&other_model);
    saltus_model_destroy(m);
    saltus_model_destroy(faster);
}

static void the_baseline_simulates_the_model(void **state)
{
    static baseline_network network;
    saltus_error err = {0};
    saltus_model *m = make("1"), *faster = make("1.1");
    saltus_totals reference;
    double sums[2] = {0};
    (void)state;
    run(m, 1, 1, 2000, &reference);
    OK(baseline_from_model(m, &network, &err));
    assert_true(baseline_tables(&network, 2000, 1.0, N_TIMES, 1, sums) > 100000);
    assert_true(saltus_totals_agree_with(&reference, sums, 2000));
    OK(baseline_from_model(faster, &network, &err));
    memset(sums, 0, sizeof sums);
    (void)baseline_tables(&network, 2000, 1.0, N_TIMES, 1, sums);
    assert_false(saltus_totals_agree_with(&reference, sums, 2000));
    saltus_totals_free(&reference);
    saltus_model_destroy(m);
    saltus_model_destroy(faster);
}

static void the_baseline_refuses_other_laws(void **state)
{
    static const char *const cases[][2] = {{"3 A -> 0", "1"}, {"A -> 0", "A/(1 + A)"}};
    static baseline_network network;
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        OK(saltus_model_create("other", &m, &err));
        OK(saltus_model_add_species(m, "A", 100, &err));
        OK(saltus_model_add_reaction(m, "r7", cases[i][0], cases[i][1], &err));
        OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
        assert_int_equal(baseline_from_model(m, &network, &err), SALTUS_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "'r7'"));
        saltus_model_destroy(m);
    }
}

/* Of r1: A, B change, A is a factor; of r2: B, A and B, B. */
static void tables_have_their_sizes(void **state)
{
    saltus_error err = {0};
    saltus_model *m = make("1");
    saltus_table_sizes s;
    (void)state;
    OK(saltus_tables_measure(m, &s, &err));
    assert_int_equal(s.dense, 2 * 2 * 2 * 4 + 2 * 8);
    assert_int_equal(s.compressed, 2 * 3 * 4 + 4 * 12 + 3 * 12 + 2 * 8);
    assert_true(s.packed > s.compressed);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_tell_ensembles_apart),
        cmocka_unit_test(the_baseline_simulates_the_model),
        cmocka_unit_test(the_baseline_refuses_other_laws),
        cmocka_unit_test(tables_have_their_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
