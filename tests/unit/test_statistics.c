#include "ensemble/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The population variance times n^2 by pairs, sum over i < j of (x_i - x_j)^2: another way to the
 * same integer, without large intermediate numbers. */
static long double pairwise_variance(const int64_t *x, size_t stride, int64_t n)
{
    unsigned __int128 sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            const __int128 d = (__int128)x[(size_t)i * stride] - (__int128)x[(size_t)j * stride];
            sum += (unsigned __int128)(d * d);
        }
    }
    return (long double)sum / ((long double)n * (long double)(n - 1));
}

static void assert_close(double a, long double b)
{
    if (fabsl((long double)a - b) > 4 * DBL_EPSILON * fabsl(b)) {
        fail_msg("%.17g is not %.20Lg", a, b);
    }
}

enum { N = 37, WIDTH = 600 };

static void fill(int64_t *x, int bits, int64_t offset)
{
    uint64_t state = 88172645463325252u + (uint64_t)bits;
    for (size_t i = 0; i < (size_t)N * WIDTH; ++i) {
        x[i] = (int64_t)(random_bits(&state) >> (64 - bits)) + offset;
    }
}

static void check_against_reference(int bits, int64_t offset)
{
    static int64_t x[N * WIDTH];
    saltus_statistics s;
    fill(x, bits, offset);
    assert_int_equal(saltus_statistics_init(&s, WIDTH, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_add(&s, x, N, NULL), SALTUS_OK);
    for (size_t q = 0; q < WIDTH; ++q) {
        __int128 sum = 0;
        int64_t min = x[q], max = x[q];
        for (size_t t = 0; t < N; ++t) {
            const int64_t v = x[t * WIDTH + q];
            sum += v;
            min = v < min ? v : min;
            max = v > max ? v : max;
        }
        assert_true(s.sum[q] == sum);
        assert_true(s.min[q] == min && s.max[q] == max);
        assert_close(saltus_statistics_mean(&s, q), (long double)sum / N);
        assert_close(saltus_statistics_variance(&s, q), pairwise_variance(x + q, WIDTH, N));
    }
    saltus_statistics_free(&s);
}

static void sums_are_exact(void **state)
{
    (void)state;
    check_against_reference(1, 0);
    check_against_reference(10, 0);
    check_against_reference(29, 0);
    check_against_reference(31, 0); /* squares of a block may pass 64 bits */
    check_against_reference(32, 0);
    check_against_reference(40, 0);
    check_against_reference(57, 0);
    check_against_reference(4, -7);
    check_against_reference(1, INT64_C(1) << 53); /* where doubles would see no variance */
    check_against_reference(3, INT64_C(1) << 61);
}

static void order_and_cuts_do_not_matter(void **state)
{
    static int64_t x[N * WIDTH];
    saltus_statistics whole, parts, part;
    (void)state;
    fill(x, 33, 0);
    assert_int_equal(saltus_statistics_init(&whole, WIDTH, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_init(&parts, WIDTH, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_add(&whole, x, N, NULL), SALTUS_OK);
    for (int64_t end = N; end > 0; end -= 5) { /* from the last block to the first */
        const int64_t from = end > 5 ? end - 5 : 0;
        assert_int_equal(saltus_statistics_init(&part, WIDTH, NULL), SALTUS_OK);
        assert_int_equal(saltus_statistics_add(&part, x + from * WIDTH, end - from, NULL),
                         SALTUS_OK);
        assert_int_equal(saltus_statistics_check(&parts, &part, NULL), SALTUS_OK);
        saltus_statistics_merge(&parts, &part);
        saltus_statistics_free(&part);
    }
    assert_int_equal(parts.n, N);
    assert_memory_equal(whole.sum, parts.sum, WIDTH * sizeof *whole.sum);
    assert_memory_equal(whole.square, parts.square, WIDTH * sizeof *whole.square);
    assert_memory_equal(whole.min, parts.min, WIDTH * sizeof *whole.min);
    assert_memory_equal(whole.max, parts.max, WIDTH * sizeof *whole.max);
    saltus_statistics_free(&whole);
    saltus_statistics_free(&parts);
}

static void room_is_known_before(void **state)
{
    const int64_t x[4] = {INT64_MIN, 0, 5, -6};
    saltus_statistics s;
    (void)state;
    assert_int_equal(saltus_statistics_bits(x + 1, 1), 0);
    assert_int_equal(saltus_statistics_bits(x + 1, 3), 5);
    assert_int_equal(saltus_statistics_bits(x, 4), INT64_MAX);
    assert_int_equal(saltus_statistics_init(&s, 1, NULL), SALTUS_OK);
    assert_true(saltus_statistics_have_room(&s, INT64_MAX, 3));
    assert_false(saltus_statistics_have_room(&s, INT64_MAX, 4)); /* 4 * 2^126 */
    for (int i = 0; i < 3; ++i) {
        assert_true(saltus_statistics_have_room(&s, INT64_MAX, 1));
        assert_int_equal(saltus_statistics_add(&s, x, 1, NULL), SALTUS_OK);
    }
    assert_false(saltus_statistics_have_room(&s, INT64_MAX, 1));
    assert_true(saltus_statistics_have_room(&s, 5, 1000));
    saltus_statistics_free(&s);
}

static void overflow_is_an_error(void **state)
{
    const int64_t x[4] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    saltus_statistics a, b;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(saltus_statistics_init(&a, 1, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_init(&b, 1, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_add(&a, x, 3, NULL), SALTUS_OK); /* 3 * 2^126 */
    assert_int_equal(saltus_statistics_add(&b, x, 1, NULL), SALTUS_OK);
    assert_int_equal(saltus_statistics_check(&a, &b, &err), SALTUS_E_NUMERIC);
    assert_non_null(strstr(err.message, "128 bits"));
    assert_int_equal(saltus_statistics_add(&b, x, 3, NULL), SALTUS_E_NUMERIC);
    saltus_statistics_free(&a);
    saltus_statistics_free(&b);
}

static void extreme_variance_is_right(void **state)
{
    const int64_t x[3] = {INT64_MAX, INT64_MIN, INT64_MAX};
    saltus_statistics s;
    (void)state;
    assert_int_equal(saltus_statistics_init(&s, 1, NULL), SALTUS_OK);
    assert_true(isnan(saltus_statistics_mean(&s, 0)));
    assert_true(isnan(saltus_statistics_variance(&s, 0)));
    assert_int_equal(saltus_statistics_add(&s, x, 1, NULL), SALTUS_OK);
    assert_true(saltus_statistics_variance(&s, 0) == 0.0);
    assert_int_equal(saltus_statistics_add(&s, x + 1, 2, NULL), SALTUS_OK);
    assert_close(saltus_statistics_variance(&s, 0), ldexpl(1.0L, 128) / 3);
    saltus_statistics_free(&s);
}

static void add_real(saltus_real_statistics *s, const double *x, int64_t n)
{
    assert_int_equal(saltus_real_statistics_fit(s, x, n, NULL), SALTUS_OK);
    saltus_real_statistics_add(s, x, n);
}

static void real_values_do_not_depend_on_order(void **state)
{
    enum { n = 101, width = 4 };
    double x[n * width];
    uint64_t bits = 42;
    saltus_real_statistics whole, parts, part;
    (void)state;
    for (size_t i = 0; i < (size_t)n * width; ++i) {
        x[i] = 1e9 + (double)(random_bits(&bits) >> 11) * 0x1p-53;
    }
    for (size_t t = 0; t < n; ++t) { /* zeros of both signs, and one NaN */
        x[t * width + 3] = t == 50 ? (double)NAN : t % 2 ? 0.0 : -0.0;
    }
    assert_int_equal(saltus_real_statistics_init(&whole, width, NULL), SALTUS_OK);
    assert_int_equal(saltus_real_statistics_init(&parts, width, NULL), SALTUS_OK);
    add_real(&whole, x, n);
    for (int end = n; end > 0; end -= 7) { /* from the last to the first */
        const int from = end > 7 ? end - 7 : 0;
        assert_int_equal(saltus_real_statistics_init(&part, width, NULL), SALTUS_OK);
        add_real(&part, x + (size_t)from * width, end - from);
        assert_int_equal(saltus_real_statistics_merge(&parts, &part, NULL), SALTUS_OK);
        saltus_real_statistics_free(&part);
    }
    assert_int_equal(parts.n, n);
    assert_memory_equal(whole.min, parts.min, sizeof(double) * width);
    assert_memory_equal(whole.max, parts.max, sizeof(double) * width);
    for (size_t q = 0; q < width - 1; ++q) {
        long double mean = 0, m2 = 0;
        double min = x[q], max = x[q];
        for (size_t t = 0; t < n; ++t) {
            mean += x[t * width + q] / (long double)n;
            min = fmin(min, x[t * width + q]);
            max = fmax(max, x[t * width + q]);
        }
        for (size_t t = 0; t < n; ++t) {
            m2 += (x[t * width + q] - mean) * (x[t * width + q] - mean);
        }
        assert_close(saltus_real_statistics_mean(&whole, q), mean);
        assert_true(fabsl(saltus_real_statistics_variance(&whole, q) - m2 / (n - 1)) < 1e-9L);
        assert_true(whole.min[q] == min && whole.max[q] == max);
        assert_true(saltus_real_statistics_mean(&whole, q) ==
                    saltus_real_statistics_mean(&parts, q));
        assert_true(saltus_real_statistics_variance(&whole, q) ==
                    saltus_real_statistics_variance(&parts, q));
    }
    assert_true(isnan(saltus_real_statistics_mean(&parts, width - 1)));
    assert_true(parts.min[width - 1] == 0.0 && !signbit(parts.min[width - 1]));
    saltus_real_statistics_free(&whole);
    saltus_real_statistics_free(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(order_and_cuts_do_not_matter),
        cmocka_unit_test(room_is_known_before),
        cmocka_unit_test(overflow_is_an_error),
        cmocka_unit_test(extreme_variance_is_right),
        cmocka_unit_test(real_values_do_not_depend_on_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
