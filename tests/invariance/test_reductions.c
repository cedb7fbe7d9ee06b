/* A GPU that reduces the samples of its trajectories gives the bits that the CPU makes of these:
 * statistics, last samples and histograms of exactly those that were delivered. Runs on a GPU, or
 * on a driver that plays one (test_cuda.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/gpu.h"
#include "../support/hdf5_sets.h"
#include "ensemble/reduction.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const double edges[] = {10, 20, 30, 40, 50};
static const saltus_reduction reductions[] = {
    {.finals = false}, {.finals = true}, {.n_bins = 16}, {.n_bins = 4, .edges = edges}};
enum { N_REDUCTIONS = sizeof reductions / sizeof *reductions };

static const char rare_failure[] = "species: {A: 100, B: 0}\nreactions:\n"
                                   "  up: 0 -> B @ 1\n  down: A -> 0 @ 0.1*(9 - B)\n";
static const char some_do_not_fit[] =
    "species: {A: 0, B: 0}\nreactions: {r: 0 -> A @ 65}\n"
    "events:\n  e: {when: sin(3.14159*A/2) > 0.5, delay: 2, set: {B: B + 1}}\n";
/* observables of many sizes, some of them not numbers, and of none but these: no counts */
static const char observed[] =
    "species: {A: 100, B: 0, C: 3}\n"
    "rules: {half: A/2 - B, tiny: exp(-7*B)*1e-300, huge: exp(6*A), ratio: A/B, root: sqrt(A - "
    "90),\n"
    "  none: 0*A}\n"
    "reactions:\n  r: A -> B @ 0.1\n  s: C -> 2 C @ 0.2\n  t: C -> 0 @ 0.3\n";
/* one molecule's descendants: few in one trajectory, very many in another */
static const char uneven[] = "species: {A: 1}\nreactions: {r: A -> 2 A @ 2.2}\n";

/* ------------------------------------------------------------------------------------------------
 * A sink that keeps what comes
 */

typedef struct samples {
    int64_t *counts;     /* [n][point][count], or with finals the last points' */
    double *observables; /* [n][point][observable], likewise */
} samples;

typedef struct keeper {
    saltus_sink sink;
    const char *record;                /* NULL: all columns */
    const saltus_reduction *reduction; /* NULL: keep samples */
    int64_t n, n_blocks;
    int64_t *numbers; /* [n] */
    saltus_columns columns;
    samples samples;
    saltus_reduced *reduced;
} keeper;

/* Append n rows of `size` numbers of 8 bytes to `*to`, which has k->n. */
static void append(const keeper *k, void *to, const void *rows, int64_t n, int64_t size)
{
    void **array = to;
    *array = realloc(*array, (size_t)((k->n + n) * size) * 8 + 1);
    memcpy((char *)*array + k->n * size * 8, rows, (size_t)(n * size) * 8);
}

static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    keeper *k = user;
    saltus_status status = SALTUS_OK;
    const int64_t n = b->n_trajectories;
    (void)prepared;
    assert_true((b->reduced != NULL) == (k->reduction != NULL));
    assert_int_equal(b->n_points, !k->reduction ? N_GRID : k->reduction->finals ? 1 : 0);
    k->columns = (saltus_columns){.n_counts = b->n_counts, .n_observables = b->n_observables};
    append(k, &k->numbers, b->trajectories, n, 1);
    append(k, &k->samples.counts, b->counts, n, b->n_points * b->n_counts);
    append(k, &k->samples.observables, b->observables, n, b->n_points * b->n_observables);
    if (k->reduction && !k->reduced) {
        SALTUS_TRY(saltus_reduced_create(k->reduction, &k->columns, N_GRID, &k->reduced, err));
    }
    if (k->reduction) {
        assert_int_equal(b->reduced->statistics.n, b->n_trajectories);
        assert_int_equal(b->reduced->reals.n, b->n_observables > 0 ? n : 0);
        saltus_statistics_merge(&k->reduced->statistics, &b->reduced->statistics);
        SALTUS_TRY(saltus_real_statistics_merge(&k->reduced->reals, &b->reduced->reals, err));
        if (k->reduction->n_bins > 0) {
            saltus_histogram_merge(&k->reduced->histogram, &b->reduced->histogram);
        }
    }
    k->n += n;
    ++k->n_blocks;
done:
    return status;
}

static void free_samples(samples *s)
{
    free(s->counts);
    free(s->observables);
    *s = (samples){0};
}

static void free_keeper(keeper *k)
{
    free(k->numbers);
    free_samples(&k->samples);
    saltus_reduced_free(k->reduced);
    *k = (keeper){0};
}

static saltus_run_options options_for(int64_t first, int64_t n)
{
    saltus_run_options run = saltus_run_options_default();
    run.seed = 42;
    run.times = grid;
    run.n_times = N_GRID;
    run.first_trajectory = first;
    run.n_trajectories = n;
    return run;
}

static saltus_status run_into(keeper *k, saltus_model *m, const char *device, const char *layout,
                              int threads, const saltus_run_options *run, saltus_error *err)
{
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_run_report report = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.layout = layout;
    wanted.n_threads = threads;
    wanted.columns = k->record;
    k->sink = (saltus_sink){.user = k, .deliver = deliver, .reduction = k->reduction};
    saltus_status status = saltus_backend_open(device, &backend, err);
    if (status == SALTUS_OK) {
        status = saltus_plan_create(m, backend, &wanted, &plan, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_run(plan, run, &k->sink, &report, err);
        assert_int_equal(report.trajectories, k->n);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return status;
}

/* All samples of the n trajectories from `first` on, which end well. */
static samples sample(saltus_model *m, const char *columns, int64_t first, int64_t n)
{
    saltus_error err = {0};
    keeper k = {.record = columns};
    const saltus_run_options run = options_for(first, n);
    OK(run_into(&k, m, "cpu", n == 1 ? "scalar" : "auto", 0, &run, &err));
    samples all = k.samples;
    k.samples = (samples){0};
    free_keeper(&k);
    return all;
}

/* The same bits, but that a NaN has any. */
static void check_reals(const double *x, const double *y, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        assert_true(memcmp(&x[i], &y[i], sizeof *x) == 0 || (x[i] != x[i] && y[i] != y[i]));
    }
}

/* The same of their statistics, and histograms if there are some. */
static void check_same(const saltus_reduced *x, const saltus_reduced *y)
{
    const saltus_statistics *a = &x->statistics, *b = &y->statistics;
    const saltus_real_statistics *c = &x->reals, *d = &y->reals;
    const saltus_histogram *g = &x->histogram, *h = &y->histogram;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->sum, b->sum, a->width * sizeof *a->sum);
    assert_memory_equal(a->square, b->square, a->width * sizeof *a->square);
    assert_memory_equal(a->min, b->min, a->width * sizeof *a->min);
    assert_memory_equal(a->max, b->max, a->width * sizeof *a->max);
    assert_int_equal(c->n, d->n);
    for (size_t q = 0; q < c->width; ++q) {
        uint64_t one[SALTUS_EXACT_WORDS], other[SALTUS_EXACT_WORDS];
        saltus_exact_sums_store(&c->sums, q, one);
        saltus_exact_sums_store(&d->sums, q, other);
        assert_memory_equal(one, other, sizeof one);
    }
    check_reals(c->min, d->min, (int64_t)c->width);
    check_reals(c->max, d->max, (int64_t)c->width);
    assert_int_equal(g->n_bins, h->n_bins);
    if (g->n_bins > 0) {
        assert_memory_equal(g->shift, h->shift, a->width);
        assert_memory_equal(g->counts, h->counts, a->width * (size_t)g->n_bins * 8);
        assert_memory_equal(g->below, h->below, a->width * 8);
        assert_memory_equal(g->above, h->above, a->width * 8);
    }
}

/* What was delivered is what the samples of those trajectories give: number i of `all`, or, without
 * these, each run alone. */
static void check_delivered(const keeper *k, saltus_model *m, const samples *all)
{
    const int64_t n = k->columns.n_counts, n_reals = k->columns.n_observables;
    const int64_t kept = !k->reduction ? N_GRID : k->reduction->finals ? 1 : 0;
    saltus_reduced *r = NULL;
    if (k->reduction) {
        assert_int_equal(saltus_reduced_create(k->reduction, &k->columns, N_GRID, &r, NULL),
                         SALTUS_OK);
    }
    for (int64_t i = 0; i < k->n; ++i) {
        assert_true(i == 0 || k->numbers[i] > k->numbers[i - 1]);
        samples one = all ? (samples){0} : sample(m, k->record, k->numbers[i], 1);
        const int64_t at = all ? k->numbers[i] * N_GRID : 0;
        const int64_t *counts = (all ? all->counts : one.counts) + at * n;
        const double *reals = (all ? all->observables : one.observables) + at * n_reals;
        assert_true(!r || saltus_reduced_add(r, counts, reals, NULL) == SALTUS_OK);
        assert_memory_equal(k->samples.counts + i * kept * n, counts + (N_GRID - kept) * n,
                            (size_t)(kept * n) * 8);
        check_reals(k->samples.observables + i * kept * n_reals, reals + (N_GRID - kept) * n_reals,
                    kept * n_reals);
        free_samples(&one);
    }
    if (r && k->n > 0) {
        check_same(r, k->reduced);
    }
    saltus_reduced_free(r);
}

/* ------------------------------------------------------------------------------------------------
 * Tests
 */

/* Every kind of reduction on a device; all trajectories are delivered, in n_blocks at least. */
static void check_runs(saltus_model *m, const char *columns, const char *device, const char *layout,
                       int threads, int64_t n, int64_t n_blocks)
{
    samples all = sample(m, columns, 0, n);
    for (int i = 0; i < N_REDUCTIONS; ++i) {
        saltus_error err = {0};
        keeper k = {.record = columns, .reduction = &reductions[i]};
        const saltus_run_options run = options_for(0, n);
        OK(run_into(&k, m, device, layout, threads, &run, &err));
        assert_int_equal(k.n, n);
        assert_true(k.n_blocks >= n_blocks);
        check_delivered(&k, m, &all);
        free_keeper(&k);
    }
    free_samples(&all);
}

static void reductions_have_the_bits_of_the_cpu(void **state)
{
    static const char *const layouts[] = {"global", "registers", "shared", "warp"};
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_model(0);
    for (int l = 0; l < 4; ++l) {
        check_runs(m, NULL, "cuda", layouts[l], 0, 900, 1);
    }
    check_runs(m, NULL, "cuda", "auto", 1, 1, 1);
    check_runs(m, NULL, "cuda", "auto", 4, 5000, 4);
    saltus_model_destroy(m);
    m = bits_copies(40);
    check_runs(m, NULL, "cuda", "auto", 2, 300, 1);
    saltus_model_destroy(m);
}

static void several_gpus_reduce(void **state)
{
    (void)state;
    need_gpu("cuda:0,1");
    saltus_model *m = bits_model(0);
    check_runs(m, NULL, "cuda:0,1", "auto", 0, 4000, 1);
    saltus_model_destroy(m);
}

static void observables_are_reduced(void **state)
{
    static const char *const layouts[] = {"global", "registers", "shared", "warp"};
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(observed);
    for (int l = 0; l < 4; ++l) {
        check_runs(m, NULL, "cuda", layouts[l], 0, 900, 1);
    }
    check_runs(m, "half, tiny, huge, none", "cuda", "auto", 1, 700, 1);
    check_runs(m, NULL, "cuda", "auto", 4, 5000, 4);
    check_runs(m, NULL, "cuda", "auto", 1, 1, 1);
    saltus_model_destroy(m);
    m = bits_model(1);
    check_runs(m, NULL, "cuda", "auto", 2, 300, 1);
    saltus_model_destroy(m);
}

/* What the GPU gives up is added on the host, once. */
static void what_does_not_fit_is_added(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(some_do_not_fit);
    check_runs(m, NULL, "cuda", "auto", 1, 150, 1);
    check_runs(m, NULL, "cuda", "auto", 3, 150, 1);
    saltus_model_destroy(m);
}

static void little_memory_makes_small_batches(void **state)
{
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_copies(17);
    for (long bytes = 8 << 20; bytes <= 64 << 20; bytes *= 4) {
        char text[40];
        (void)snprintf(text, sizeof text, "%ld", bytes);
        (void)setenv("FAKE_CUDA_BYTES", text, 1);
        check_runs(m, NULL, "cuda", "auto", 1, 1000, bytes == 8 << 20 ? 4 : 1);
    }
    (void)unsetenv("FAKE_CUDA_BYTES");
    saltus_model_destroy(m);
}

/* A trajectory fails: those that ended on the GPU are delivered, and no others; samples too. */
static void failures_leave_what_ended(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(rare_failure);
    for (int i = 0; i <= N_REDUCTIONS; ++i) {
        saltus_error err = {0};
        keeper k = {.reduction = i < N_REDUCTIONS ? &reductions[i] : NULL};
        const saltus_run_options run = options_for(0, 400);
        assert_int_equal(run_into(&k, m, "cuda", "auto", 1, &run, &err), SALTUS_E_NUMERIC);
        assert_non_null(strstr(err.message, "is negative"));
        assert_true(k.n > 380 && k.n < 400);
        check_delivered(&k, m, NULL);
        free_keeper(&k);
    }
    saltus_model_destroy(m);
}

static void stop_at_once(void *user, const saltus_progress *p)
{
    if (p->trajectories > 0) { /* told before their batch has ended */
        *(int *)user = 1;
    }
}

/* A stop in the middle of a batch: some of its trajectories have ended, some have not. */
static void interrupts_leave_what_ended(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(uneven);
    check_runs(m, NULL, "cuda", "auto", 1, 10, 1); /* the kernels are there then */
    for (int i = 0; i <= N_REDUCTIONS; i += is_fake() ? N_REDUCTIONS : 1) {
        int stop = 0;
        saltus_error err = {0};
        keeper k = {.reduction = i < N_REDUCTIONS ? &reductions[i] : NULL};
        saltus_run_options run = options_for(0, INT64_C(1) << 24);
        run.stop = &stop;
        run.progress = stop_at_once;
        run.progress_user = &stop;
        assert_int_equal(run_into(&k, m, "cuda", "auto", 2, &run, &err), SALTUS_E_CANCELLED);
        assert_true(k.n > 10);
        if (is_fake()) { /* slow: long ones are missing */
            assert_true(k.numbers[k.n - 1] >= k.n);
        }
        samples all = sample(m, NULL, 0, k.numbers[k.n - 1] + 1);
        check_delivered(&k, m, &all);
        free_samples(&all);
        free_keeper(&k);
    }
    saltus_model_destroy(m);
}

/* Whatever call fails, and however: what was delivered is right. */
static void every_call_may_fail(void **state)
{
    static const int codes[] = {2, 702};
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_model(0);
    samples all = sample(m, NULL, 0, 1300);
    for (size_t c = 0; c < 2; ++c) {
        int n_failed = 0, n_passed = 0;
        for (int at = 1; at < 1000; at += (int)stride_of_kernels()) {
            char text[40];
            saltus_error err = {0};
            keeper k = {.reduction = &reductions[1 + n_failed % 3]};
            const saltus_run_options run = options_for(0, 1300);
            (void)snprintf(text, sizeof text, "%d:%d", at, codes[c]);
            (void)setenv("FAKE_CUDA_FAIL", text, 1);
            (void)setenv("FAKE_CUDA_BYTES", "2000000", 1); /* several batches */
            const saltus_status status = run_into(&k, m, "cuda", "auto", 1, &run, &err);
            (void)unsetenv("FAKE_CUDA_FAIL");
            (void)unsetenv("FAKE_CUDA_BYTES");
            check_delivered(&k, m, &all);
            const int64_t n = k.n, n_blocks = k.n_blocks;
            free_keeper(&k);
            if (status == SALTUS_OK) { /* it went without, or there is no such call any more */
                assert_int_equal(n, 1300);
                assert_true(n_blocks > 1);
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
        assert_true(n_failed * stride_of_kernels() > 50);
    }
    free_samples(&all);
    saltus_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------------
 * Result files
 */

/* The one that names the device, and the time. */
static bool is_about(const char *path)
{
    return strcmp(path, "about") == 0;
}

static void write_file(const char *path, saltus_model *m, const char *device,
                       const saltus_hdf5_options *options)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_hdf5_sink *sink = NULL;
    saltus_run_report report;
    const saltus_plan_options wanted = saltus_plan_options_default();
    const saltus_run_options run = options_for(7, 3000);
    OK(saltus_backend_open(device, &backend, &err));
    OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
    OK(saltus_hdf5_sink_open(path, plan, &run, options, &sink, &err));
    OK(saltus_run(plan, &run, saltus_hdf5_sink_get(sink), &report, &err));
    OK(saltus_hdf5_sink_close(sink, &report, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
}

static void result_files_are_the_same(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_model(0);
    for (int i = 0; i < 4; ++i) {
        saltus_hdf5_options options = saltus_hdf5_options_default();
        options.overwrite = true;
        options.record = i == 0   ? SALTUS_RECORD_STATS
                         : i == 1 ? SALTUS_RECORD_FINAL
                                  : SALTUS_RECORD_HISTOGRAM;
        options.range_low = 5.5;
        options.range_high = i == 3 ? 205.5 : 5.5;
        write_file("cpu.h5", m, "cpu", &options);
        write_file("cuda.h5", m, "cuda", &options);
        const hid_t file = H5Fopen("cpu.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t other = H5Fopen("cuda.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        const int n_sets = assert_same_sets(file, other, is_about);
        assert_true(H5Lexists(other, "about", H5P_DEFAULT) > 0);
        assert_int_equal(n_sets + 1, i == 0 ? 18 : i == 1 ? 19 : i == 2 ? 30 : 36);
        (void)H5Fclose(file);
        (void)H5Fclose(other);
    }
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_have_the_bits_of_the_cpu),
        cmocka_unit_test(several_gpus_reduce),
        cmocka_unit_test(observables_are_reduced),
        cmocka_unit_test(what_does_not_fit_is_added),
        cmocka_unit_test(little_memory_makes_small_batches),
        cmocka_unit_test(failures_leave_what_ended),
        cmocka_unit_test(interrupts_leave_what_ended),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(result_files_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
