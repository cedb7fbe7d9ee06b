/* A trajectory is a function of model, method, seed and number: the same bits for any instruction
 * set, layout, number of threads, sample times (but of tau-leaping) and first trajectory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/gpu.h"
#include "kernel/base/rng.h"

#include <stdlib.h>
#include <string.h>

/* Every instruction set that is here, and the generic one in any case; the layouts that the model
 * fits into. */
static void check_model(saltus_model *m, const char *name, bool has_lanes)
{
    const int64_t n = 150;
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 0, n, grid, N_GRID);
    const saltus_plan_options in_lanes = bits_plan("direct", "philox", "lanes", 1);
    assert_true(bits_has(bits_devices[0]));
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (!bits_has(bits_devices[d])) {
            continue;
        }
        for (int threads = 1; threads <= 3; ++threads) {
            for (int l = 0; l < (has_lanes ? 2 : 1); ++l) {
                const char *layout = l == 1 ? "lanes" : "scalar";
                if (bits_hash(m, bits_devices[d], layout, threads, 0, n, grid, N_GRID) !=
                    expected) {
                    fail_msg("%s: %s, %s, %d threads: other bits", name, bits_devices[d], layout,
                             threads);
                }
            }
        }
        if (!has_lanes) {
            bits_refused(m, bits_devices[d], &in_lanes);
        }
    }
}

static void every_device_layout_and_number_of_threads_agrees(void **state)
{
    static const int copies[] = {1, 2, 3, 5, 16, 17, 150};
    (void)state;
    for (int i = 0; i < N_BITS_MODELS; ++i) {
        char name[20];
        saltus_model *m = bits_model(i);
        (void)snprintf(name, sizeof name, "model %d", i);
        check_model(m, name, true);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; ++i) {
        char name[20];
        saltus_model *m = bits_copies(copies[i]);
        (void)snprintf(name, sizeof name, "%d copies", copies[i]);
        check_model(m, name, copies[i] <= 16);
        saltus_model_destroy(m);
    }
}

/* Final counts under another grid, and one trajectory alone. */
static void sample_times_and_company_do_not_matter(void **state)
{
    const double coarse[] = {4.0};
    const double fine[] = {0.1, 0.77, 1.25, 1.26, 2.0, 3.0, 3.3, 3.9999, 4.0};
    (void)state;
    for (int i = 0; i < N_BITS_MODELS + N_BITS_GENERATORS; ++i) {
        saltus_error err = {0};
        saltus_model *model = bits_model(i % N_BITS_MODELS);
        saltus_plan_options plan = saltus_plan_options_default();
        plan.rng = bits_generators[i < N_BITS_MODELS ? 0 : i - N_BITS_MODELS];
        plan.n_threads = 2;
        moments a = {.keep_last = true}, b = {.keep_last = true}, c = {.keep_last = true};
        saltus_run_options run = saltus_run_options_default();
        run.seed = 5;
        run.n_trajectories = 100;
        run.times = coarse;
        run.n_times = 1;
        OK(run_plan(model, "auto", &plan, &run, &a, &err));
        run.times = fine;
        run.n_times = 9;
        OK(run_plan(model, "auto", &plan, &run, &b, &err));
        assert_memory_equal(a.last, b.last, (size_t)(100 * a.n_counts) * sizeof *a.last);
        run.first_trajectory = 63;
        run.n_trajectories = 37;
        OK(run_plan(model, "auto", &plan, &run, &c, &err));
        assert_memory_equal(a.last + 63 * a.n_counts, c.last,
                            (size_t)(37 * a.n_counts) * sizeof *c.last);
        moments_free(&a);
        moments_free(&b);
        moments_free(&c);
        saltus_model_destroy(model);
    }
}

/* The same of every generator; no two of them give the same trajectories. */
static void every_generator_keeps_its_bits(void **state)
{
    uint64_t expected[N_BITS_GENERATORS];
    (void)state;
    for (int i = 0; i < N_BITS_MODELS; ++i) {
        saltus_model *m = bits_model(i);
        for (int g = 0; g < N_BITS_GENERATORS; ++g) {
            const char *rng = bits_generators[g];
            expected[g] = bits_hash_rng(m, rng, "cpu:generic", "scalar", 1, 0, 100, grid, N_GRID);
            for (int k = 0; k < g; ++k) {
                assert_true(expected[k] != expected[g]);
            }
            for (int d = 0; d < N_BITS_DEVICES; ++d) {
                assert_true(!bits_has(bits_devices[d]) ||
                            bits_hash_rng(m, rng, bits_devices[d], "auto", d + 1, 0, 100, grid,
                                          N_GRID) == expected[g]);
            }
            if (g > 0) {
                const saltus_plan_options in_lanes = bits_plan("direct", rng, "lanes", 1);
                bits_refused(m, "cpu", &in_lanes);
            }
        }
        saltus_model_destroy(m);
    }
}

/* n sources of rate 1, the law of the first as it says: the running sums are 1, 2 … n at every
 * event. */
static saltus_model *make_sources(int n, const char *first)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_create("sources", &m, &err));
    for (int i = 0; i < n; ++i) {
        char id[20], equation[40];
        (void)snprintf(id, sizeof id, "X%d", i);
        (void)snprintf(equation, sizeof equation, "0 -> %s", id);
        OK(saltus_model_add_species(m, id, 0, &err));
        OK(saltus_model_add_reaction(m, id, equation, i == 0 ? first : "1", &err));
    }
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

/* Events whose choice needs more than 32 bits, found by a search over trajectories of seed 42: the
 * word's interval holds the boundary k / n. */
static void choices_beyond_32_bits_agree(void **state)
{
    static const struct {
        int64_t trajectory;
        uint64_t event;
        int n, k; /* reactions; the boundary */
    } cases[] = {
        {5482548, 326, 3, 1},  {7981536, 742, 3, 1},  {12070101, 896, 3, 1}, {19290416, 91, 3, 2},
        {32990, 755, 12, 5},   {1257694, 143, 12, 1}, {2450794, 722, 12, 5}, {7771075, 604, 12, 1},
        {8112390, 361, 12, 1}, {8356403, 827, 12, 1}, {8575270, 724, 12, 5},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
        const size_t at = i / 2;
        const int n = cases[at].n;
        saltus_model *m = make_sources(n, i % 2 ? "1 + 0*time" : "1");
        const double t_end = 1200.0 / n, times[] = {0.25 * t_end, 0.5 * t_end, t_end};
        saltus_u64 w[4];
        saltus_philox(42, SALTUS_PURPOSE_EVENT, (uint64_t)cases[at].trajectory, cases[at].event / 2,
                      w);
        const double word = (double)w[1 + 2 * (cases[at].event % 2)];
        assert_true(word * n < cases[at].k * 4294967296.0 &&
                    (word + 1.0) * n > cases[at].k * 4294967296.0);
        const int64_t first = cases[at].trajectory - 20;
        const uint64_t expected = bits_hash(m, "auto", "scalar", 1, first, 64, times, 3);
        assert_true(bits_hash(m, "auto", "lanes", 1, first, 64, times, 3) == expected);
        assert_true(bits_hash(m, "cpu:generic", "lanes", 1, first, 64, times, 3) == expected);
        saltus_model_destroy(m);
    }
}

/* Events whose wait's word is 0, found in the same way. */
static void waits_beyond_32_bits_agree(void **state)
{
    static const struct {
        int64_t trajectory;
        uint64_t event;
    } cases[] = {{161604997, 12}, {295175644, 13}, {118772363, 67}, {81981474, 82}};
    const double times[] = {3.0, 20.0, 40.0, 60.0};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; ++k) {
        const size_t i = k / 2;
        saltus_model *m = make_sources(3, k % 2 ? "1 + 0*time" : "1");
        saltus_u64 w[4];
        saltus_philox(42, SALTUS_PURPOSE_EVENT, (uint64_t)cases[i].trajectory, cases[i].event / 2,
                      w);
        assert_true(w[2 * (cases[i].event % 2)] == 0);
        const int64_t first = cases[i].trajectory - 20;
        const uint64_t expected = bits_hash(m, "auto", "scalar", 1, first, 64, times, 4);
        assert_true(bits_hash(m, "auto", "lanes", 1, first, 64, times, 4) == expected);
        assert_true(bits_hash(m, "cpu:generic", "lanes", 1, first, 64, times, 4) == expected);
        saltus_model_destroy(m);
    }
}

/* A count that leaves the range that lanes carry is rerun wider, and is the same as alone. */
static void huge_counts_are_carried(void **state)
{
    (void)state;
    const double times[] = {1e-14, 2e-14};
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_create("huge", &m, &err));
    OK(saltus_model_add_species(m, "A", 4503599627370490.0, &err)); /* 2^52 - 6 */
    OK(saltus_model_add_reaction(m, "grow", "0 -> 3 A", "5e15", &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    assert_true(bits_hash(m, "auto", "lanes", 1, 0, 64, times, 2) ==
                bits_hash(m, "auto", "scalar", 1, 0, 64, times, 2));
    saltus_model_destroy(m);
}

/* ---- tau-leaping ---- */

/* Every instruction set, layout and number of threads. */
static void check_tau(saltus_model *m, const char *name, const char *rng, bool has_lanes)
{
    static const char *const layouts[] = {"scalar", "auto", "lanes"};
    const saltus_plan_options one = bits_plan("tau", rng, "scalar", 1);
    const saltus_plan_options in_lanes = bits_plan("tau", rng, "lanes", 1);
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &one, 0, 60, grid, N_GRID);
    assert_true(expected != bits_hash_rng(m, rng, "cpu", "scalar", 1, 0, 60, grid, N_GRID));
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (!bits_has(bits_devices[d])) {
            continue;
        }
        for (int threads = 1; threads <= 3; threads += takes_part() ? 2 : 1) {
            for (int l = 0; l < (has_lanes ? 3 : 2); ++l) {
                const saltus_plan_options plan = bits_plan("tau", rng, layouts[l], threads);
                if (bits_hash_plan(m, bits_devices[d], &plan, 0, 60, grid, N_GRID) != expected) {
                    fail_msg("%s, %s: %s, %s, %d threads: other bits", name, rng, bits_devices[d],
                             layouts[l], threads);
                }
            }
        }
        if (!has_lanes) {
            bits_refused(m, bits_devices[d], &in_lanes);
        }
    }
}

/* Networks large enough to leap much, and small ones in which all is critical. */
static const char *const leaping[] = {
    "species: {S1: 20000, S2: 0, S3: 0}\n"
    "reactions:\n"
    "  decay: S1 -> 0 @ 1\n  dimerise: 2 S1 -> S2 @ 0.002\n"
    "  split: S2 -> 2 S1 @ 0.5\n  convert: S2 -> S3 @ 0.04\n",

    "species: {A: 3000, B: 6, C: 0, D: 800}\n"
    "parameters: {V: 900, Km: 300}\n"
    "rules: {pressure: (D/500)^2}\n"
    "reactions:\n"
    "  a: A + B -> A + C @ 1e-3\n  b: C -> B @ 2\n  c: 3 A -> 2 A @ 3e-8\n"
    "  d: 0 -> D @ 2000/(1 + pressure)\n  e: D -> 0 @ V*D/(Km + D)\n"
    "  f: C -> A + C @ 300*C*piecewise(1, time >= 1.25, 2)\n"
    "events:\n  dose: {at: 2, set: {A: A + 500}}\n  late: {at: 0.5, delay: 1.1, set: {V: 1200}}\n",
};

static void leaps_have_the_same_bits_everywhere(void **state)
{
    char name[20];
    (void)state;
    const int stride = takes_part() ? 5 : 1;
    for (int i = 0; i < N_BITS_MODELS + 2; i += stride) {
        saltus_model *m =
            i < N_BITS_MODELS ? bits_model(i) : bits_parse(leaping[i - N_BITS_MODELS]);
        (void)snprintf(name, sizeof name, "model %d", i);
        for (int g = 0; g < (i < N_BITS_MODELS ? 1 : N_BITS_GENERATORS); ++g) {
            check_tau(m, name, bits_generators[g], g == 0 && i != 3);
        }
        saltus_model_destroy(m);
    }
    for (int n = 2; n <= 150; n *= 5) {
        saltus_model *m = bits_copies(n);
        (void)snprintf(name, sizeof name, "%d copies", n);
        check_tau(m, name, "philox", n <= 10);
        saltus_model_destroy(m);
    }
}

/* The sample times are part of a leaping trajectory; its company is not. */
static void company_does_not_matter_to_leaps(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_BITS_GENERATORS; ++i) {
        saltus_error err = {0};
        saltus_model *model = bits_parse(leaping[i % 2]);
        const saltus_plan_options plan = bits_plan("tau", bits_generators[i / 2], "auto", 2);
        moments a = {.keep_last = true}, b = {.keep_last = true};
        saltus_run_options run = saltus_run_options_default();
        run.seed = 5;
        run.n_trajectories = 100;
        run.times = grid;
        run.n_times = N_GRID;
        OK(run_plan(model, "auto", &plan, &run, &a, &err));
        run.first_trajectory = 63;
        run.n_trajectories = 37;
        OK(run_plan(model, "auto", &plan, &run, &b, &err));
        assert_memory_equal(a.last + 63 * a.n_counts, b.last,
                            (size_t)(37 * a.n_counts) * sizeof *b.last);
        moments_free(&a);
        moments_free(&b);
        saltus_model_destroy(model);
    }
}

/* A plan that names no method is exact; "auto" is what saltus_method_choose takes. */
static void plans_are_exact_unless_told_otherwise(void **state)
{
    static const char *const sizes[] = {"5", "100000"};
    static const char *const expected[] = {"direct", "tau"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        char text[100];
        saltus_error err = {0};
        saltus_backend *backend = NULL;
        saltus_plan *plan = NULL;
        saltus_plan_options wanted = saltus_plan_options_default();
        (void)snprintf(text, sizeof text,
                       "species: {A: %s, B: 0}\nreactions: {f: A -> B @ 1, g: B -> A @ 1}\n",
                       sizes[i]);
        saltus_model *m = bits_parse(text);
        OK(saltus_backend_open("cpu", &backend, &err));
        OK(saltus_plan_create(m, backend, NULL, &plan, &err));
        assert_string_equal(saltus_plan_method(plan), "direct");
        saltus_plan_destroy(plan);
        OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
        assert_string_equal(saltus_plan_method(plan), "direct");
        saltus_plan_destroy(plan);
        wanted.method = "auto";
        OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
        assert_string_equal(saltus_plan_method(plan), expected[i]);
        assert_string_equal(saltus_method_choose(m, NULL).method, expected[i]);
        saltus_plan_destroy(plan);
        saltus_backend_close(backend);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_layout_and_number_of_threads_agrees),
        cmocka_unit_test(sample_times_and_company_do_not_matter),
        cmocka_unit_test(every_generator_keeps_its_bits),
        cmocka_unit_test(choices_beyond_32_bits_agree),
        cmocka_unit_test(waits_beyond_32_bits_agree),
        cmocka_unit_test(huge_counts_are_carried),
        cmocka_unit_test(leaps_have_the_same_bits_everywhere),
        cmocka_unit_test(company_does_not_matter_to_leaps),
        cmocka_unit_test(plans_are_exact_unless_told_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
