#include "ensemble/exact_sum.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WORDS = SALTUS_EXACT_WORDS };

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void add(saltus_exact_sums *s, const double *x, int64_t n)
{
    assert_int_equal(saltus_exact_sums_fit(s, x, (size_t)n * s->width, NULL), SALTUS_OK);
    saltus_exact_sums_add(s, x, n);
}

static saltus_exact_sums sums_of(size_t width, const double *x, int64_t n)
{
    saltus_exact_sums s;
    assert_int_equal(saltus_exact_sums_init(&s, width, NULL), SALTUS_OK);
    add(&s, x, n);
    return s;
}

static void shuffle(double *x, size_t width, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; --i) {
        const size_t k = random_bits(state) % i;
        for (size_t q = 0; q < width; ++q) {
            const double last = x[(i - 1) * width + q];
            x[(i - 1) * width + q] = x[k * width + q];
            x[k * width + q] = last;
        }
    }
}

/* The same double, 0 with its sign. */
static void assert_same(const char *name, double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0) {
        fail_msg("%s: %a is not %a", name, a, b);
    }
}

/* Sum, mean and variance are those that Python's fractions give, rounded once. */
static const struct known {
    const char *name;
    int n;
    double x[8], sum, mean, variance;
} known[] = {
    {"large and close",
     3,
     {0x1.c6bf526340000p+49, 0x1.c6bf526340008p+49, 0x1.c6bf526340010p+49},
     0x1.550f7dca70006p+51,
     0x1.c6bf526340008p+49,
     0x1.0000000000000p+0},
    {"cancelling",
     4,
     {0x1.7e43c8800759cp+996, 0x1.0000000000000p+0, -0x1.7e43c8800759cp+996,
      0x1.56e1fc2f8f359p-997},
     0x1.0000000000000p+0,
     0x1.0000000000000p-2,
     INFINITY},
    {"cancelling to nothing",
     2,
     {0x1.249ad2594c37dp+332, -0x1.249ad2594c37dp+332},
     0x0.0p+0,
     0x0.0p+0,
     0x1.4e718d7d7625ap+665},
    {"tenths",
     3,
     {0x1.999999999999ap-4, 0x1.999999999999ap-3, 0x1.3333333333333p-2},
     0x1.3333333333333p-1,
     0x1.999999999999ap-3,
     0x1.47ae147ae147ap-7},
    {"subnormal",
     4,
     {0x0.0000000000001p-1022, 0x0.0000000000002p-1022, 0x0.0000000000003p-1022,
      0x0.0000000000001p-1022},
     0x0.0000000000007p-1022,
     0x0.0000000000002p-1022,
     0x0.0p+0},
    {"smallest",
     3,
     {0x0.0000000000001p-1022, 0x0.0p+0, 0x0.0p+0},
     0x0.0000000000001p-1022,
     0x0.0p+0,
     0x0.0p+0},
    {"half of the smallest",
     2,
     {0x0.0000000000001p-1022, 0x0.0p+0},
     0x0.0000000000001p-1022,
     0x0.0p+0,
     0x0.0p+0},
    {"halves go to even",
     2,
     {0x0.0000000000003p-1022, 0x0.0p+0},
     0x0.0000000000003p-1022,
     0x0.0000000000002p-1022,
     0x0.0p+0},
    {"just above a half",
     2,
     {0x1.07e0f66afed07p-535, 0x0.0p+0},
     0x1.07e0f66afed07p-535,
     0x1.07e0f66afed07p-536,
     0x0.0000000000009p-1022},
    {"edge of the normal",
     3,
     {0x1.0000000000000p-1022, -0x0.0000000000001p-1022, 0x0.fffffffffffffp-1022},
     0x1.ffffffffffffep-1022,
     0x0.aaaaaaaaaaaaap-1022,
     0x0.0p+0},
    {"largest",
     4,
     {0x1.fffffffffffffp+1023, 0x1.fffffffffffffp+1023, 0x1.fffffffffffffp+1023,
      -0x1.fffffffffffffp+1023},
     INFINITY,
     0x1.fffffffffffffp+1022,
     INFINITY},
    {"all largest",
     3,
     {0x1.fffffffffffffp+1023, 0x1.fffffffffffffp+1023, 0x1.fffffffffffffp+1023},
     INFINITY,
     0x1.fffffffffffffp+1023,
     0x0.0p+0},
    {"root of the largest",
     3,
     {0x1.f06d5a4bf631fp+511, -0x1.f06d5a4bf631fp+511, 0x1.ca3d8e6d80cbbp+511},
     0x1.ca3d8e6d80cbbp+511,
     0x1.317e5ef3ab327p+510,
     INFINITY},
    {"all of the range",
     4,
     {0x1.fffffffffffffp+1023, 0x0.0000000000001p-1022, -0x0.0000000000001p-1022,
      0x1.0000000000000p+0},
     0x1.fffffffffffffp+1023,
     0x1.fffffffffffffp+1021,
     INFINITY},
    {"a half away",
     3,
     {0x1.0000000000000p+0, 0x1.0000000000000p-53, 0x1.0000000000000p-106},
     0x1.0000000000001p+0,
     0x1.5555555555556p-2,
     0x1.5555555555555p-2},
    {"negative",
     4,
     {-0x1.c000000000000p+1, -0x1.c000000000000p+1, -0x1.a000000000000p+1, -0x1.12e0be826d695p-30},
     -0x1.4800000089706p+3,
     -0x1.4800000089706p+1,
     0x1.77555551aa2adp+1},
    {"zeros", 3, {0x0.0p+0, -0x0.0p+0, 0x0.0p+0}, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0},
    {"squares below the doubles",
     3,
     {0x1.3529ba7d19eafp-565, 0x1.3529ba7d19eafp-564, 0x1.3529ba7d19eafp-563},
     0x1.0e84832d76ad9p-562,
     0x1.68b0aee748e77p-564,
     0x0.0p+0},
    {"any",
     8,
     {0x1.2ae6ead581e57p-846, -0x1.9a78bc8eff346p+596, 0x1.57012853d452fp-529,
      0x1.241a982f11ec0p-206, 0x1.00e8c64beb012p+399, -0x1.994afff2f6504p-904,
      -0x1.f4c654a13d22ep-677, -0x1.1e4d525f45a82p-634},
     -0x1.9a78bc8eff346p+596,
     -0x1.9a78bc8eff346p+593,
     INFINITY},
    {"any near 1",
     8,
     {-0x1.e94fa2e46fe1cp-2, -0x1.ea9fe7968fea8p-2, -0x1.618d670830a5cp-2, -0x1.db518f2a5d9d4p-2,
      -0x1.91c5c99d04804p-1, -0x1.6560641a5101cp-2, -0x1.82f050fa25ce8p-2, 0x1.1b9b6b3c36878p-3},
     -0x1.91dba26bbe538p+1,
     -0x1.91dba26bbe538p-2,
     0x1.0d2f4e2c6b91cp-4},
    {"four",
     3,
     {0x1.fffffffffffffp+1, 0x1.0000000000000p+2, 0x1.0000000000001p+2},
     0x1.8000000000000p+3,
     0x1.0000000000000p+2,
     0x1.2aaaaaaaaaaabp-101},
};

static void moments_are_those_of_fractions(void **state)
{
    uint64_t bits = 1;
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        struct known k = known[i];
        for (int order = 0; order < 20; ++order) {
            saltus_exact_sums s = sums_of(1, k.x, k.n);
            assert_same(k.name, saltus_exact_sums_mean(&s, 0, 1), k.sum);
            assert_same(k.name, saltus_exact_sums_mean(&s, 0, k.n), k.mean);
            assert_same(k.name, saltus_exact_sums_variance(&s, 0, k.n), k.variance);
            saltus_exact_sums_free(&s);
            shuffle(k.x, 1, (size_t)k.n, &bits);
        }
    }
}

/* A column's words are those of v · 2^place. */
static void assert_words(const uint64_t *words, int n, __int128 v, int place)
{
    for (int i = 0; i < n; ++i) {
        uint64_t expected = 0;
        for (int k = 63; k >= 0; --k) {
            const int bit = 64 * i + k - place;
            const __int128 shifted = bit < 0 ? 0 : v >> (bit < 127 ? bit : 127);
            expected = expected << 1 | ((uint64_t)shifted & 1);
        }
        assert_int_equal(words[i], expected);
    }
}

/* Whole numbers below 2^50 times 2^-30, and their sums in 128 bits. */
static void check_many(bool has_signs)
{
    enum { n_rows = 1000, repeats = 10000 };
    static double x[n_rows];
    uint64_t bits = 7, words[WORDS];
    __int128 sum = 0, square = 0;
    saltus_exact_sums s;
    for (int i = 0; i < n_rows; ++i) {
        int64_t k = (int64_t)(random_bits(&bits) >> 14) | INT64_C(1) << 49;
        k = has_signs && (random_bits(&bits) & 1) ? -k : k;
        sum += k;
        square += (__int128)k * k;
        x[i] = ldexp((double)k, -30);
    }
    s = sums_of(1, x, n_rows);
    for (int i = 1; i < repeats; ++i) {
        saltus_exact_sums_add(&s, x, n_rows);
    }
    saltus_exact_sums_store(&s, 0, words);
    assert_int_equal(words[0], 0);
    assert_words(words + 1, SALTUS_EXACT_SUM_WORDS, sum * repeats, 1074 - 30);
    assert_words(words + 1 + SALTUS_EXACT_SUM_WORDS, SALTUS_EXACT_SQUARE_WORDS, square * repeats,
                 2 * (1074 - 30));
    saltus_exact_sums_free(&s);
}

static void ten_million_values_carry(void **state)
{
    (void)state;
    check_many(false);
    check_many(true);
}

static void close_values_have_their_variance(void **state)
{
    enum { thirds = 20000 };
    const double x[3] = {1e15, 1e15 + 2.0, 1e15 + 1.0};
    saltus_exact_sums s = sums_of(1, x, 3);
    (void)state;
    for (int i = 1; i < thirds; ++i) {
        saltus_exact_sums_add(&s, x, 3);
    }
    assert_same("mean", saltus_exact_sums_mean(&s, 0, INT64_C(3) * thirds), 1e15 + 1.0);
    assert_same("variance", saltus_exact_sums_variance(&s, 0, INT64_C(3) * thirds),
                2.0 * thirds / (3.0 * thirds - 1.0));
    saltus_exact_sums_free(&s);
}

enum { WIDTH = 4, ROWS = 300 };

/* Columns of all doubles, of some near 1, of differences, and of zeros. */
static void fill(double *x, uint64_t *state)
{
    for (int i = 0; i < ROWS; ++i, x += WIDTH) {
        const uint64_t bits = random_bits(state);
        memcpy(x, &bits, sizeof *x);
        x[0] = isfinite(x[0]) ? x[0] : 0.0;
        x[1] = 1.0 + (double)(random_bits(state) >> 12) * 0x1p-52;
        x[2] = x[1] - 1.5;
        x[3] = -0.0;
    }
}

static void assert_equal_sums(const saltus_exact_sums *a, const saltus_exact_sums *b)
{
    for (size_t q = 0; q < a->width; ++q) {
        uint64_t words[2][WORDS];
        saltus_exact_sums_store(a, q, words[0]);
        saltus_exact_sums_store(b, q, words[1]);
        assert_memory_equal(words[0], words[1], sizeof words[0]);
        assert_same("mean", saltus_exact_sums_mean(a, q, ROWS), saltus_exact_sums_mean(b, q, ROWS));
        assert_same("variance", saltus_exact_sums_variance(a, q, ROWS),
                    saltus_exact_sums_variance(b, q, ROWS));
    }
}

static void order_and_cuts_do_not_matter(void **state)
{
    static double x[ROWS * WIDTH];
    uint64_t bits = 3;
    (void)state;
    fill(x, &bits);
    saltus_exact_sums whole = sums_of(WIDTH, x, ROWS);
    for (int round = 0; round < 100; ++round) {
        saltus_exact_sums parts[5];
        shuffle(x, WIDTH, ROWS, &bits);
        for (int i = 0; i < 5; ++i) {
            assert_int_equal(saltus_exact_sums_init(&parts[i], WIDTH, NULL), SALTUS_OK);
        }
        for (int64_t at = 0, n; at < ROWS; at += n) {
            n = 1 + (int64_t)(random_bits(&bits) % 40);
            n = n < ROWS - at ? n : ROWS - at;
            add(&parts[random_bits(&bits) % 5], x + at * WIDTH, n);
        }
        for (int i = 4; i > 0; --i) { /* into any of those before */
            saltus_exact_sums *to = &parts[random_bits(&bits) % (uint64_t)i];
            assert_int_equal(saltus_exact_sums_merge(to, &parts[i], NULL), SALTUS_OK);
            saltus_exact_sums_free(&parts[i]);
        }
        assert_equal_sums(&whole, &parts[0]);
        saltus_exact_sums_free(&parts[0]);
    }
    saltus_exact_sums_free(&whole);
}

static void stored_sums_come_back(void **state)
{
    static double x[ROWS * WIDTH];
    uint64_t bits = 5, words[2][WIDTH * WORDS];
    saltus_exact_sums back;
    (void)state;
    fill(x, &bits);
    x[1] = (double)INFINITY;
    saltus_exact_sums whole = sums_of(WIDTH, x, ROWS);
    saltus_exact_sums begin = sums_of(WIDTH, x, 100);
    saltus_exact_sums end = sums_of(WIDTH, x + (size_t)100 * WIDTH, ROWS - 100);
    for (size_t q = 0; q < WIDTH; ++q) {
        saltus_exact_sums_store(&begin, q, words[0] + q * WORDS);
        saltus_exact_sums_store(&end, q, words[1] + q * WORDS);
    }
    assert_int_equal(saltus_exact_sums_init(&back, WIDTH, NULL), SALTUS_OK);
    assert_int_equal(saltus_exact_sums_add_stored(&back, words[1], NULL), SALTUS_OK);
    assert_int_equal(saltus_exact_sums_add_stored(&back, words[0], NULL), SALTUS_OK);
    assert_equal_sums(&whole, &back);
    saltus_exact_sums_free(&whole);
    saltus_exact_sums_free(&begin);
    saltus_exact_sums_free(&end);
    saltus_exact_sums_free(&back);
}

static void impossible_words_are_refused(void **state)
{
    const double x[2] = {1.0, 2.0};
    saltus_exact_sums s = sums_of(1, x, 2);
    const saltus_exact_sums before = s;
    const struct {
        int word;
        uint64_t value;
    } bad[] = {{0, 8},                                      /* no such kind */
               {SALTUS_EXACT_SUM_WORDS, 1},                 /* too large for its squares */
               {SALTUS_EXACT_SUM_WORDS, UINT64_C(1) << 63}, /* and below 0 */
               {WORDS - 1, UINT64_C(1) << 63}};             /* squares are not below 0 */
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        uint64_t words[WORDS];
        saltus_error err = {0};
        saltus_exact_sums_store(&s, 0, words);
        words[bad[i].word] = bad[i].value;
        assert_int_equal(saltus_exact_sums_add_stored(&s, words, &err), SALTUS_E_INVALID);
        assert_non_null(strstr(err.message, "column 0"));
        assert_memory_equal(&s, &before, sizeof s);
        memset(words + 1 + SALTUS_EXACT_SUM_WORDS, 0, SALTUS_EXACT_SQUARE_WORDS * sizeof *words);
        assert_int_equal(saltus_exact_sums_add_stored(&s, words, NULL), SALTUS_E_INVALID);
    }
    assert_same("sum", saltus_exact_sums_mean(&s, 0, 1), 3.0);
    saltus_exact_sums_free(&s);
}

/* 2^62 times the largest double, by doubling. */
static void as_many_as_can_be_counted_fit(void **state)
{
    const double x[3] = {1.7976931348623157e308, -1.7976931348623157e308, 5e-324};
    saltus_exact_sums s = sums_of(3, x, 1);
    (void)state;
    for (int i = 0; i < 62; ++i) {
        uint64_t words[3 * WORDS];
        for (size_t q = 0; q < 3; ++q) {
            saltus_exact_sums_store(&s, q, words + q * WORDS);
        }
        assert_int_equal(saltus_exact_sums_add_stored(&s, words, NULL), SALTUS_OK);
    }
    for (size_t q = 0; q < 3; ++q) {
        assert_same("mean", saltus_exact_sums_mean(&s, q, INT64_C(1) << 62), x[q]);
        assert_same("variance", saltus_exact_sums_variance(&s, q, INT64_C(1) << 62), 0.0);
    }
    saltus_exact_sums_free(&s);
}

static void check_special(double a, double b, double mean)
{
    const double orders[2][3] = {{a, b, 1.0}, {1.0, b, a}};
    for (int i = 0; i < 2; ++i) {
        saltus_exact_sums s = sums_of(1, orders[i], 2);
        saltus_exact_sums rest = sums_of(1, orders[i] + 2, 1);
        assert_int_equal(saltus_exact_sums_merge(&s, &rest, NULL), SALTUS_OK);
        const double is = saltus_exact_sums_mean(&s, 0, 3);
        assert_true(isnan(mean) ? isnan(is) : is == mean);
        assert_true(isnan(saltus_exact_sums_variance(&s, 0, 3)));
        assert_true(saltus_exact_sums_variance(&s, 0, 1) == 0.0);
        saltus_exact_sums_free(&s);
        saltus_exact_sums_free(&rest);
    }
}

static void what_is_not_finite_has_no_order(void **state)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    (void)state;
    check_special(nan, 0.0, nan);
    check_special(nan, inf, nan);
    check_special(-inf, inf, nan);
    check_special(inf, inf, inf);
    check_special(-inf, 1e308, -inf);
    const double only[2] = {inf, 0.0};
    saltus_exact_sums s = sums_of(2, only, 1); /* where no word is needed */
    assert_true(saltus_exact_sums_mean(&s, 0, 1) == inf);
    assert_true(saltus_exact_sums_mean(&s, 1, 1) == 0.0);
    assert_true(isnan(saltus_exact_sums_mean(&s, 1, 0)));
    assert_true(isnan(saltus_exact_sums_variance(&s, 1, 0)));
    saltus_exact_sums_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_fractions),
        cmocka_unit_test(ten_million_values_carry),
        cmocka_unit_test(close_values_have_their_variance),
        cmocka_unit_test(order_and_cuts_do_not_matter),
        cmocka_unit_test(stored_sums_come_back),
        cmocka_unit_test(impossible_words_are_refused),
        cmocka_unit_test(as_many_as_can_be_counted_fit),
        cmocka_unit_test(what_is_not_finite_has_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
