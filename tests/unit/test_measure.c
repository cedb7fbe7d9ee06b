/* What benchmarks measure and check with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/moments.h"
#include "bench/measure/baseline.h"
#include "bench/measure/conserved.h"
#include "bench/measure/plain_network.h"
#include "bench/measure/random_network.h"
#include "bench/measure/samples.h"
#include "bench/measure/tables.h"
#include "bench/measure/totals.h"

#include <math.h>
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

static void run_to(const saltus_model *m, int threads, uint64_t seed, int64_t n, saltus_sink sink)
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
    OK(saltus_backend_open("cpu", &backend, &err));
    OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
    OK(saltus_run(plan, &options, &sink, NULL, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
}

static void run(const saltus_model *m, int threads, uint64_t seed, int64_t n, saltus_totals *totals)
{
    *totals = (saltus_totals){0};
    run_to(m, threads, seed, n, saltus_totals_sink(totals, false));
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

/* One molecule goes round; a reaction that reads A never fires. */
static void events_are_counted(void **state)
{
    static const char *const equations[] = {"A -> B", "B -> C", "C -> A", "A + D -> 0"};
    saltus_error err = {0};
    saltus_model *m = NULL;
    plain_network *p = NULL;
    plain_rows rows;
    double time = 0.0;
    (void)state;
    OK(saltus_model_create("round", &m, &err));
    for (int s = 0; s < 4; ++s) {
        OK(saltus_model_add_species(m, (char[]){(char)('A' + s), '\0'}, s == 0, &err));
    }
    for (int r = 0; r < 4; ++r) {
        OK(saltus_model_add_reaction(m, equations[r], equations[r], r == 3 ? "5" : "2", &err));
    }
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    OK(plain_network_create(m, &p, &err));
    assert_int_equal(plain_network_run(p, 1, INFINITY, 3000, &time), 3000);
    assert_true(fabs(time - 1500.0) < 5.0 * sqrt(3000.0) / 2.0);
    assert_int_equal(plain_network_counts(p)[0], 1);
    OK(plain_network_rows(p, &rows, &err));
    assert_int_equal(rows.events, 3000);
    assert_true(rows.species == 2.0);
    assert_true(fabs(rows.dependents - 8.0 / 3.0) < 1e-12);
    assert_true(rows.changes == 2.0);
    assert_true(fabs(rows.entropy - log2(3.0)) < 1e-12);
    assert_int_equal(rows.n_frequent, 3);
    assert_int_equal(rows.n_constants, 2);
    plain_network_free(p);
    saltus_model_destroy(m);
}

static void plain_runs(const saltus_model *m, int n, saltus_samples *samples)
{
    saltus_error err = {0};
    plain_network *p = NULL;
    double time = 0.0;
    *samples = (saltus_samples){.n_columns = 2, .most = n};
    OK(plain_network_create(m, &p, &err));
    for (int i = 0; i < n; ++i) {
        assert_true(plain_network_run(p, (uint64_t)i, 1.0, INT64_MAX, &time) > 20);
        assert_true(time == 1.0);
        OK(saltus_samples_add(samples, plain_network_counts(p), 2, &err));
    }
    plain_network_free(p);
}

static void moments_tell_programs_apart(void **state)
{
    enum { N = 2000 };
    saltus_error err = {0};
    saltus_model *m = make("1"), *faster = make("1.1");
    saltus_samples ours = {.n_columns = 2, .most = N}, plain, other;
    double worst[2];
    (void)state;
    run_to(m, 1, 1, N, saltus_samples_sink(&ours));
    assert_int_equal(ours.n, N);
    plain_runs(m, N, &plain);
    saltus_samples_compare(&ours, &plain, worst);
    assert_true(worst[0] > 0.0 && worst[0] < 5.0 && worst[1] > 0.0 && worst[1] < 5.0);
    for (int i = 0; i < N; ++i) { /* equal means, another variance */
        plain.x[2 * i] += i % 2 ? 4 : -4;
    }
    saltus_samples_compare(&ours, &plain, worst);
    assert_true(worst[0] < 5.0 && worst[1] > 5.0);
    plain_runs(faster, N, &other);
    saltus_samples_compare(&ours, &other, worst);
    assert_true(worst[0] > 5.0);
    assert_int_equal(saltus_samples_add(&ours, plain.x, 2, &err), SALTUS_E_INVALID); /* is full */
    saltus_samples_free(&ours);
    saltus_samples_free(&plain);
    saltus_samples_free(&other);
    saltus_model_destroy(m);
    saltus_model_destroy(faster);
}

static void samples_fold_columns(void **state)
{
    static const int64_t counts[] = {1, 20, 300, 4000, 50000};
    saltus_error err = {0};
    saltus_samples s = {.n_columns = 2, .most = 2};
    (void)state;
    OK(saltus_samples_add(&s, counts, 5, &err));
    OK(saltus_samples_add(&s, counts, 3, &err));
    assert_int_equal(s.x[0], 50301);
    assert_int_equal(s.x[1], 4020);
    assert_int_equal(s.x[2], 301);
    assert_int_equal(s.x[3], 20);
    saltus_samples_free(&s);
}

static void the_plain_program_refuses_other_laws(void **state)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    plain_network *p = NULL;
    (void)state;
    OK(saltus_model_create("other", &m, &err));
    OK(saltus_model_add_species(m, "A", 100, &err));
    OK(saltus_model_add_reaction(m, "r7", "A -> 0", "A/(1 + A)", &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    assert_int_equal(plain_network_create(m, &p, &err), SALTUS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "'other'"));
    assert_null(p);
    saltus_model_destroy(m);
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

static void conserved_sums_are_found(void **state)
{
    static const char *const equations[][2] = {{"A -> B", "B -> A"},         /* A + B */
                                               {"A -> 2 B", "A + C -> A"},   /* 2 A + B */
                                               {"A -> B + C", "B + C -> A"}, /* A + B, A + C */
                                               {"A -> B + C", "B -> 0"}};    /* A + C */
    static const int expected[] = {2, 1, 2, 1};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        saltus_totals totals;
        int n = -1;
        bool is_kept = false;
        OK(saltus_model_create("sums", &m, &err));
        OK(saltus_model_add_species(m, "A", 100, &err));
        OK(saltus_model_add_species(m, "B", 5, &err));
        OK(saltus_model_add_species(m, "C", 20, &err));
        OK(saltus_model_add_reaction(m, "r1", equations[i][0], "1", &err));
        OK(saltus_model_add_reaction(m, "r2", equations[i][1], "0.1", &err));
        OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
        run(m, 1, 1, 100, &totals);
        OK(saltus_conserved_check(m, &totals, &n, &is_kept, &err));
        assert_int_equal(n, expected[i]);
        assert_true(is_kept);
        totals.statistics.sum[(N_TIMES - 1) * 3] += 1; /* one A too many in one trajectory */
        OK(saltus_conserved_check(m, &totals, &n, &is_kept, &err));
        assert_false(is_kept);
        saltus_totals_free(&totals);
        saltus_model_destroy(m);
    }
}

/* The network in tables, and the constant of every reaction. */
static void tabulate(const saltus_random_kind *kind, uint64_t number, baseline_network *network,
                     double *constants)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_random_network(kind, number, &m, &err));
    OK(baseline_from_model(m, network, &err));
    assert_int_equal(network->n_species, kind->n_species);
    assert_int_equal(network->n_reactions, kind->n_reactions);
    for (int r = 0; r < network->n_reactions; ++r) {
        constants[r] = network->rate[r] * (network->offset[r] > 0.0 ? 2.0 : 1.0);
    }
    saltus_model_destroy(m);
}

/* Every species is there, no reaction has two equal sides, which would change nothing; numbers of
 * reactants and constants are distributed as told. */
static void random_networks_are_as_told(void **state)
{
    static const saltus_random_kind kinds[] = {{33, 35, 1e3, false, 0.0, 1.0},
                                               {80, 80, 1e4, true, 1e-6, 10.0}};
    static baseline_network network;
    enum { N = 200 };
    double c[80];
    (void)state;
    for (int k = 0; k < 2; ++k) {
        int orders[3] = {0};
        double sum = 0.0, n = 0.0;
        for (uint64_t i = 0; i < N; ++i) {
            bool is_there[80] = {false};
            tabulate(&kinds[k], i, &network, c);
            for (int r = 0; r < network.n_reactions; ++r) {
                const int a = network.first[r], b = network.second[r];
                const double u = k == 0 ? c[r] : log(c[r] / 1e-6) / log(1e7);
                assert_true(u >= 0.0 && u <= 1.0);
                sum += u;
                n += 1.0;
                ++orders[(a >= 0) + (b >= 0)];
                is_there[a >= 0 ? a : 0] |= a >= 0;
                is_there[b >= 0 ? b : 0] |= b >= 0;
                assert_true(network.row[r + 1] > network.row[r]);
                for (int j = network.row[r]; j < network.row[r + 1]; ++j) {
                    is_there[network.species[j]] = true;
                }
            }
            for (int s = 0; s < network.n_species; ++s) {
                assert_true(is_there[s]);
                assert_int_equal(network.start[s], (int64_t)kinds[k].amount);
            }
        }
        assert_true(fabs(sum / n - 0.5) <= 5.0 / sqrt(12.0 * n));
        /* nearly so: networks with A -> A are dealt anew */
        assert_true(fabs(orders[0] / n - 0.25) <= 0.02);
        assert_true(fabs(orders[1] / n - 0.375) <= 0.02);
        assert_true(fabs(orders[2] / n - 0.375) <= 0.02);
    }
}

static void random_networks_stay_the_same(void **state)
{
    static const saltus_random_kind kind = {33, 35, 1e3, false, 0.0, 1.0};
    static const saltus_random_kind too_many = {141, 35, 1e3, false, 0.0, 1.0};
    static baseline_network network;
    saltus_error err = {0};
    saltus_model *m = NULL;
    double c[35];
    (void)state;
    tabulate(&kind, 0, &network, c);
    assert_true(c[0] == 0.92877135574436365);
    assert_int_equal(network.first[0], 9);
    assert_int_equal(network.second[0], -1);
    tabulate(&kind, 99, &network, c);
    assert_true(c[34] == 0.87898434616078935);
    assert_int_equal(network.first[34], 16);
    assert_int_equal(network.second[34], 6);
    assert_int_equal(saltus_random_network(&too_many, 0, &m, &err), SALTUS_E_INVALID);
    assert_null(m);
    assert_non_null(strstr(err.message, "141 species and 35 reactions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_tell_ensembles_apart),
        cmocka_unit_test(the_baseline_simulates_the_model),
        cmocka_unit_test(the_baseline_refuses_other_laws),
        cmocka_unit_test(events_are_counted),
        cmocka_unit_test(moments_tell_programs_apart),
        cmocka_unit_test(samples_fold_columns),
        cmocka_unit_test(the_plain_program_refuses_other_laws),
        cmocka_unit_test(tables_have_their_sizes),
        cmocka_unit_test(conserved_sums_are_found),
        cmocka_unit_test(random_networks_are_as_told),
        cmocka_unit_test(random_networks_stay_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
