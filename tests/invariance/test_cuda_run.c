/* What a GPU refuses, how GPUs share work, and what is said of every call that fails. */
#include "cuda_bits.h"

/* More events wait at once than a GPU's thread has room for. */
static void what_does_not_fit_runs_on_the_cpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse("species: {A: 0, B: 0}\nreactions: {r: 0 -> A @ 100}\n"
                                 "events:\n  e: {when: sin(3.14159*A/2) > 0.5, delay: 2, "
                                 "set: {B: B + 1}}\n");
    check_bits(m, "many pending events", REGISTERS | SHARED, 40);
    saltus_model_destroy(m);
}

static void troubles_have_the_words_of_the_cpu(void **state)
{
    static const char *const texts[] = {
        "species: {A: 30}\nreactions: {r: A -> 0 @ 2*A - 9}\n",
        "species: {A: 3, B: 0}\nreactions: {r: A -> B @ 1 + B}\n",
        "species: {A: 3}\nreactions: {r: A -> 0 @ 1}\nevents: {e: {at: 1, set: {A: -1}}}\n",
        "species: {A: 10}\nparameters: {y: 1, p: 1}\nrate rules: {y: 1 - y}\nreactions:\n"
        "  make: {equation: 0 -> A, law: p}\n  go: {equation: A -> 0, law: y*A}\n"
        "events: {e: {at: 0.4, set: {p: p - 50}}}\n",
        "species: {A: 10}\nparameters: {y: 0}\nrate rules: {y: 1}\n"
        "reactions:\n  r: A -> 0 @ 1\n"
        "events: {e: {when: y > 0.3, set: {y: 0.3}}}\n",
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; ++i) {
        saltus_error errors[2] = {{0}};
        saltus_model *m = i < sizeof texts / sizeof *texts
                              ? bits_parse(texts[i])
                              : bits_mixed(30, "  m: A0 -> 0 @ 20 * A1\n");
        for (int k = 0; k < 2; ++k) {
            moments sums = {0};
            saltus_run_options run = saltus_run_options_default();
            run.times = grid;
            run.n_times = N_GRID;
            assert_int_equal(
                run_model(m, k == 0 ? "cpu:generic" : "cuda", "auto", 1, &run, &sums, &errors[k]),
                SALTUS_E_NUMERIC);
            moments_free(&sums);
        }
        assert_string_equal(errors[0].message, errors[1].message);
        saltus_model_destroy(m);
    }
}

/* Device "auto": a GPU for what takes long, and for what only it has. */
static void auto_takes_what_is_sooner_done(void **state)
{
    static const struct {
        int64_t runs;
        const char *layout;
        double until;
        const char *device;
    } cases[] = {{100, "auto", 1e6, "cpu"},
                 {1000000, "auto", 1e-3, "cpu"},
                 {1000000, "auto", 100, "cuda"},
                 {1000000, "lanes", 1e-3, "cpu"},
                 {1000, "shared", 1e-3, "cuda"}};
    saltus_error err = {0};
    (void)state;
    need_gpu("cuda");
    saltus_model *m =
        bits_parse("species: {A: 50}\nreactions: {b: 0 -> A @ 500, d: A -> 0 @ 10}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_backend *backend = NULL;
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        plan.layout = cases[i].layout;
        plan.n_threads = 1;
        run.n_trajectories = cases[i].runs;
        run.times = &cases[i].until;
        run.n_times = 1;
        assert_int_equal(saltus_backend_choose(m, &plan, &run, &backend, &err), SALTUS_OK);
        const char *name = saltus_backend_name(backend);
        if (strncmp(name, cases[i].device, strlen(cases[i].device)) != 0) {
            fail_msg("case %d: %s", (int)i, name);
        }
        saltus_backend_close(backend);
    }
    saltus_model_destroy(m);
}

static void several_gpus_share_the_work(void **state)
{
    (void)state;
    need_gpu("cuda:0,1");
    saltus_model *m = bits_model(1);
    const int n = is_fake() ? 300 : 2000;
    const uint64_t expected = bits_hash(m, "cpu", "auto", 0, 0, n, grid, N_GRID);
    assert_true(bits_hash(m, "cuda:0,1", "global", 0, 0, n, grid, N_GRID) == expected);
    assert_true(bits_hash(m, "cuda:1,0", "global", 0, 0, n, grid, N_GRID) == expected);
    saltus_model_destroy(m);
}

static void little_memory_makes_small_batches(void **state)
{
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_copies(17);
    const uint64_t expected = bits_hash(m, "cpu", "auto", 0, 0, 1000, grid, N_GRID);
    for (long bytes = 8 << 20; bytes <= 64 << 20; bytes *= 8) {
        char text[40];
        (void)snprintf(text, sizeof text, "%ld", bytes);
        (void)setenv("FAKE_CUDA_BYTES", text, 1);
        assert_true(bits_hash(m, "cuda", "auto", 0, 0, 1000, grid, N_GRID) == expected);
    }
    saltus_error err = {0};
    moments sums = {0};
    saltus_run_options run = saltus_run_options_default();
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = 1000;
    (void)setenv("FAKE_CUDA_BYTES", "200000", 1);
    assert_int_equal(run_model(m, "cuda", "auto", 1, &run, &sums, &err), SALTUS_E_NO_MEMORY);
    assert_non_null(strstr(err.message, "GPU 0 (Fake 0) has 0 MiB free"));
    (void)unsetenv("FAKE_CUDA_BYTES");
    moments_free(&sums);
    saltus_model_destroy(m);
}

static saltus_run_options three_hundred(void)
{
    saltus_run_options run = saltus_run_options_default();
    run.seed = 42;
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = 300;
    return run;
}

static uint64_t hash_of_samples(saltus_model *m, const char *device)
{
    saltus_error err = {0};
    moments sums = {0};
    const saltus_run_options run = three_hundred();
    OK(run_model(m, device, "auto", 1, &run, &sums, &err));
    const uint64_t hash = sums.hash;
    moments_free(&sums);
    return hash;
}

/* Whatever call fails, and however: a status and a sentence, and what was delivered is right. */
static void every_call_may_fail(void **state)
{
    static const int codes[] = {2, 702};
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_model(0);
    const uint64_t expected = hash_of_samples(m, "cpu");
    for (size_t c = 0; c < sizeof codes / sizeof *codes; ++c) {
        int n_failed = 0, n_passed = 0;
        for (int at = 1; at < 1000; at += (int)stride_of_kernels()) {
            char text[40];
            saltus_error err = {0};
            moments sums = {0};
            const saltus_run_options run = three_hundred();
            (void)snprintf(text, sizeof text, "%d:%d", at, codes[c]);
            (void)setenv("FAKE_CUDA_FAIL", text, 1);
            const saltus_status status = run_model(m, "cuda", "auto", 1, &run, &sums, &err);
            (void)unsetenv("FAKE_CUDA_FAIL");
            const uint64_t hash = sums.hash;
            moments_free(&sums);
            if (status == SALTUS_OK) { /* it went without, or there is no such call any more */
                assert_true(hash == expected);
                if (++n_passed == MANY_CALLS) {
                    break;
                }
                continue;
            }
            n_passed = 0;
            ++n_failed;
            assert_int_equal(status, codes[c] == 2 ? SALTUS_E_NO_MEMORY : SALTUS_E_DEVICE);
            assert_non_null(strstr(err.message, "CUDA error"));
        }
        assert_true(n_failed * stride_of_kernels() > 5);
    }
    saltus_model_destroy(m);
}

/* With a name, as `events_*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_runs_on_the_cpu),
        cmocka_unit_test(troubles_have_the_words_of_the_cpu),
        cmocka_unit_test(auto_takes_what_is_sooner_done),
        cmocka_unit_test(several_gpus_share_the_work),
        cmocka_unit_test(little_memory_makes_small_batches),
        cmocka_unit_test(every_call_may_fail),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
