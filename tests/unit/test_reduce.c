/* The kernels of kernel/ssa/reduce.h, played by the host, against plain sums in 128 bits and
 * against the histograms and exact sums of the CPU. */
#define SALTUS_DEVICE 1
#include "kernel/ssa/reduce.h"

#include "ensemble/histogram.h"
#include "ensemble/statistics.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "../support/random.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

enum { N_STRETCHES = 4 };

typedef struct batch {
    int64_t n_jobs, width, n_counts;
    int64_t first[5]; /* stretches: four, one of them of a single job */
    int64_t *counts;
    int32_t *failures;
    saltus_sum *sums;
    int64_t *finals;
    saltus_reduce_launch launch;
} batch;

/* Values of at most `largest`, one job in five not fine and full of what must not be read. */
static batch make_batch(int64_t n_jobs, int64_t n_points, int64_t n_counts, int64_t n_strips,
                        int64_t largest)
{
    const int64_t width = n_points * n_counts;
    uint64_t random = (uint64_t)(n_jobs * 31 + width);
    batch b = {.n_jobs = n_jobs, .width = width, .n_counts = n_counts};
    b.first[1] = n_jobs / 7;
    b.first[2] = n_jobs / 7 + 1;
    b.first[3] = n_jobs / 2;
    b.first[4] = n_jobs;
    b.counts = calloc((size_t)(n_jobs * width), sizeof *b.counts);
    b.failures = calloc((size_t)n_jobs, sizeof *b.failures);
    b.sums = calloc((size_t)(N_STRETCHES * n_strips * width), sizeof *b.sums);
    b.finals = calloc((size_t)(n_jobs * n_counts), sizeof *b.finals);
    for (int64_t j = 0; j < n_jobs; ++j) {
        b.failures[j] = below(&random, 5) > 0 ? SALTUS_FINE : below(&random, 3) - 1;
        for (int64_t q = 0; q < width; ++q) {
            b.counts[j * width + q] =
                b.failures[j] != SALTUS_FINE ? -1 : largest - below(&random, 1000) * (q % 2);
        }
    }
    b.launch = (saltus_reduce_launch){.of = {.width = width,
                                             .n_columns = n_counts,
                                             .failures = b.failures,
                                             .n_segments = N_STRETCHES,
                                             .n = n_strips},
                                      .counts = b.counts,
                                      .finals = b.finals,
                                      .sums = b.sums};
    return b;
}

static void free_batch(batch *b)
{
    free(b->counts);
    free(b->failures);
    free(b->sums);
    free(b->finals);
}

/* More threads than there is work, as a grid has. */
static void launch(void (*kernel)(void **, int64_t), saltus_reduce_launch *a, int64_t n_strips)
{
    void *arguments[] = {a};
    kernel(arguments, n_strips * a->of.n_segments * a->of.width + 77);
}

static void reduce(const batch *b, int64_t fold)
{
    saltus_reduce_launch a = b->launch;
    a.of.first = b->first;
    launch(saltus_reduce_jobs, &a, a.of.n);
    while (a.of.n > 1) {
        a.of.n_left = (a.of.n + fold - 1) / fold;
        launch(saltus_reduce_strips, &a, a.of.n_left);
        a.of.n = a.of.n_left;
    }
}

static void check_sums(const batch *b)
{
    for (int64_t i = 0; i < N_STRETCHES * b->width; ++i) {
        const int64_t q = i % b->width, stretch = i / b->width;
        const saltus_sum *s = &b->sums[i];
        int64_t min = INT64_MAX, max = INT64_MIN;
        uint64_t passed = 0;
        i128 sum = 0;
        u128 square = 0;
        for (int64_t j = b->first[stretch]; j < b->first[stretch + 1]; ++j) {
            const int64_t x = b->counts[j * b->width + q];
            if (b->failures[j] == SALTUS_FINE) {
                sum += x;
                passed += __builtin_add_overflow(square, (u128)((i128)x * x), &square);
                min = x < min ? x : min;
                max = x > max ? x : max;
            }
        }
        assert_true(s->min == min && s->max == max);
        assert_true((i128)((u128)s->sum[1] << 64 | s->sum[0]) == sum);
        assert_true(((u128)s->square[1] << 64 | s->square[0]) == square);
        assert_true(s->square[2] == passed);
    }
}

static void sums_are_exact(void **state)
{
    static const int64_t values[] = {1000,
                                     INT64_C(1) << 31,
                                     (INT64_C(1) << 32) + 5,
                                     (INT64_C(1) << 52) + 7,
                                     INT64_C(1) << 62,
                                     INT64_MAX};
    (void)state;
    for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
        for (int64_t n_strips = 1; n_strips <= 300; n_strips = n_strips * 3 + 1) {
            for (int64_t n_counts = 1; n_counts <= 3; n_counts += 2) {
                batch b = make_batch(700, 5, n_counts, n_strips, values[v]);
                reduce(&b, v % 2 ? 32 : 3);
                check_sums(&b);
                free_batch(&b);
            }
        }
    }
}

/* Below zero too, though no count is, and no job at all. */
static void signs_and_nothing(void **state)
{
    (void)state;
    batch b = make_batch(40, 2, 2, 3, 1000);
    for (int64_t i = 0; i < 40 * b.width; ++i) {
        b.counts[i] = i % 3 == 0 ? INT64_MIN : i % 3 - 2;
    }
    reduce(&b, 2);
    check_sums(&b);
    for (int64_t j = 0; j < 40; ++j) {
        b.failures[j] = -1;
    }
    reduce(&b, 2);
    check_sums(&b);
    free_batch(&b);
}

static void last_samples_are_gathered(void **state)
{
    (void)state;
    batch b = make_batch(90, 4, 3, 7, 50);
    memset(b.finals, 0x5a, (size_t)(90 * 3) * sizeof *b.finals);
    reduce(&b, 32);
    for (int64_t j = 0; j < 90; ++j) {
        for (int64_t c = 0; c < 3; ++c) {
            const int64_t last = b.counts[j * b.width + 9 + c];
            assert_int_equal(b.finals[j * 3 + c],
                             b.failures[j] == SALTUS_FINE ? last : 0x5a5a5a5a5a5a5a5a);
        }
    }
    free_batch(&b);
}

static void check_bins(int64_t largest, int64_t n_bins, double low, double high)
{
    batch b = make_batch(300, 3, 2, 11, largest);
    const size_t width = (size_t)b.width, all = N_STRETCHES * width;
    saltus_histogram expected;
    assert_int_equal(saltus_histogram_init(&expected, 3, 2, n_bins, low, high, NULL), SALTUS_OK);
    const size_t n = (size_t)expected.n_bins;
    uint8_t *shifts = calloc(all, 1);
    uint64_t *bins = calloc(all * n, 8), *below = calloc(all, 8), *above = calloc(all, 8);
    assert_true(shifts && bins && below && above);
    b.launch.n_bins = expected.n_bins;
    b.launch.edges = expected.edges;
    b.launch.shifts = shifts;
    b.launch.bins = bins;
    b.launch.below = below;
    b.launch.above = above;
    b.launch.of.first = b.first;
    reduce(&b, 32);
    launch(saltus_reduce_bins, &b.launch, b.launch.of.n);
    for (size_t s = 0; s < N_STRETCHES; ++s) {
        saltus_histogram_free(&expected);
        assert_int_equal(saltus_histogram_init(&expected, 3, 2, n_bins, low, high, NULL),
                         SALTUS_OK);
        for (int64_t j = b.first[s]; j < b.first[s + 1]; ++j) {
            if (b.failures[j] == SALTUS_FINE) {
                saltus_histogram_add(&expected, b.counts + j * b.width, 1);
            }
        }
        assert_memory_equal(expected.shift, shifts + s * width, width);
        assert_memory_equal(expected.counts, bins + s * width * n, width * n * 8);
        assert_memory_equal(expected.below, below + s * width, width * 8);
        assert_memory_equal(expected.above, above + s * width, width * 8);
    }
    saltus_histogram_free(&expected);
    free(shifts);
    free(bins);
    free(below);
    free(above);
    free_batch(&b);
}

static void bins_are_those_of_the_cpu(void **state)
{
    (void)state;
    check_bins(1000, 0, 0, 0);
    check_bins(1000, 5, 0, 0);
    check_bins(1000, 1, 0, 0);
    check_bins((INT64_C(1) << 31) + 3, 128, 0, 0);
    check_bins(INT64_MAX, 7, 0, 0);
    check_bins(1000, 7, 100.5, 800.1);
    check_bins(1000, 300, 0, 1000);
    check_bins(1000, 10, 5000, 6000);
    check_bins((INT64_C(1) << 53) + 3, 10, 0x1p53 - 500, 0x1p53);
}

/* A double of any bits in one case of four, else of a size of its column. */
static double any_real(uint64_t *random, int64_t q)
{
    uint64_t bits = 0;
    for (int i = 0; i < 4; ++i) {
        bits = bits << 16 | (uint64_t)below(random, 1 << 16);
    }
    double x;
    memcpy(&x, &bits, sizeof x);
    switch (q % 4) {
    case 0:
        return x;
    case 1:
        return (double)below(random, 1000) - 500.0;
    case 2:
        return 0.001 * (double)(below(random, 1 << 20) - (1 << 19));
    default:
        return below(random, 3) == 0 ? 0.0 : -1e17 * (double)below(random, 100);
    }
}

static void real_sums_are_those_of_the_cpu(void **state)
{
    enum { JOBS = 300, POINTS = 3, OBSERVABLES = 4, WIDTH = POINTS * OBSERVABLES };
    static const int64_t first[N_STRETCHES + 1] = {0, 57, 58, 200, JOBS};
    static double x[JOBS][WIDTH], finals[JOBS][OBSERVABLES];
    static int32_t failures[JOBS];
    uint64_t random = 17;
    (void)state;
    for (int64_t n_strips = 1; n_strips <= 40; n_strips = n_strips * 3 + 1) {
        const size_t all = (size_t)N_STRETCHES * WIDTH, strips = (size_t)n_strips * all;
        saltus_reals_launch a = {.of = {.width = WIDTH,
                                        .n_columns = OBSERVABLES,
                                        .failures = failures,
                                        .n_segments = N_STRETCHES,
                                        .first = first,
                                        .n = n_strips},
                                 .observables = x[0],
                                 .finals = finals[0]};
        for (int j = 0; j < JOBS; ++j) {
            failures[j] = below(&random, 5) > 0 ? SALTUS_FINE : 1;
            for (int q = 0; q < WIDTH; ++q) {
                x[j][q] = any_real(&random, q);
            }
        }
        a.words = calloc(strips * SALTUS_EXACT_WORDS, 8);
        a.carries = calloc(all * SALTUS_EXACT_WORDS, 8);
        a.lows = calloc(strips, 8);
        a.highs = calloc(strips, 8);
        a.sums = calloc(all * SALTUS_EXACT_WORDS, 8);
        a.least = calloc(all, 8);
        a.most = calloc(all, 8);
        assert_true(a.words && a.carries && a.lows && a.highs && a.sums && a.least && a.most);
        void *arguments[] = {&a};
        saltus_reduce_reals(arguments, (int64_t)strips + 77);
        saltus_fold_reals(arguments, (int64_t)all * SALTUS_EXACT_WORDS + 77);
        saltus_store_reals(arguments, (int64_t)all + 77);
        for (size_t s = 0; s < N_STRETCHES; ++s) {
            saltus_real_statistics expected;
            assert_int_equal(saltus_real_statistics_init(&expected, WIDTH, NULL), SALTUS_OK);
            for (int64_t j = first[s]; j < first[s + 1]; ++j) {
                if (failures[j] == SALTUS_FINE) {
                    assert_int_equal(saltus_real_statistics_fit(&expected, x[j], 1, NULL),
                                     SALTUS_OK);
                    saltus_real_statistics_add(&expected, x[j], 1);
                    assert_memory_equal(finals[j], x[j] + WIDTH - OBSERVABLES, sizeof finals[j]);
                }
            }
            for (size_t q = 0; q < WIDTH; ++q) {
                uint64_t words[SALTUS_EXACT_WORDS];
                saltus_exact_sums_store(&expected.sums, q, words);
                assert_memory_equal(words, a.sums + (s * WIDTH + q) * SALTUS_EXACT_WORDS,
                                    sizeof words);
            }
            assert_memory_equal(expected.min, a.least + s * WIDTH, WIDTH * 8);
            assert_memory_equal(expected.max, a.most + s * WIDTH, WIDTH * 8);
            saltus_real_statistics_free(&expected);
        }
        free(a.words);
        free(a.carries);
        free(a.lows);
        free(a.highs);
        free(a.sums);
        free(a.least);
        free(a.most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(signs_and_nothing),
        cmocka_unit_test(last_samples_are_gathered),
        cmocka_unit_test(bins_are_those_of_the_cpu),
        cmocka_unit_test(real_sums_are_those_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
