/* The generators against published words, and their jumps against the law of powers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/generator.h"
#include "kernel/base/stream.h"

#include <string.h>

/* Words 0 … 3 and 999 after a start. */
typedef struct known {
    uint64_t seed, trajectory;
    uint32_t words[5];
} known;

typedef void starter(uint32_t *s, uint64_t seed, uint64_t trajectory, const uint32_t *jumps);
typedef uint32_t source(uint32_t *s);

static void start_xorwow(uint32_t *s, uint64_t seed, uint64_t trajectory, const uint32_t *jumps)
{
    saltus_xorwow_start(s, seed, trajectory, jumps);
}
static uint32_t next_xorwow(uint32_t *s)
{
    return saltus_xorwow_next(s);
}
static void start_mrg32k3a(uint32_t *s, uint64_t seed, uint64_t trajectory, const uint32_t *jumps)
{
    saltus_mrg32k3a_start(s, seed, trajectory, jumps);
}
static uint32_t next_mrg32k3a(uint32_t *s)
{
    return saltus_mrg32k3a_next(s);
}

static saltus_generator generator(const char *name)
{
    saltus_error err = {0};
    saltus_generator g;
    assert_int_equal(saltus_generator_create(name, &g, &err), SALTUS_OK);
    return g;
}

static void check_known(const char *name, starter *start, source *next, const known *cases, int n)
{
    saltus_generator g = generator(name);
    for (int i = 0; i < n; ++i) {
        uint32_t s[6];
        start(s, cases[i].seed, cases[i].trajectory, g.jumps);
        for (int k = 0; k < 1000; ++k) {
            const uint32_t word = next(s);
            if (k < 4 || k == 999) {
                assert_int_equal(word, cases[i].words[k < 4 ? k : 4]);
            }
        }
    }
    saltus_generator_free(&g);
}

/* curand_init(seed, trajectory, 0) and curand() of cuRAND 10.4 (CUDA 13.0), run on a host. */
static void xorwow_has_the_words_of_curand(void **state)
{
    static const known cases[] = {
        {0x0, 0x0, {0xbd7f03b6, 0x703e556d, 0x845af0c5, 0x283067fd, 0x129df800}},
        {0x0, 0x1, {0xebc63fb7, 0x75da7152, 0x555de696, 0x5f5d7f6c, 0x72f7ede0}},
        {0x1, 0x0, {0xacbf08dc, 0xb9784ebf, 0x81e9e679, 0x16a03643, 0x7d365f69}},
        {0x2a, 0x2, {0x6ba5a19e, 0x6a46f9c0, 0x63f6cf4f, 0x3f921c9f, 0xacb00250}},
        {0x2a, 0x3e8, {0x153042c5, 0x6263e975, 0xd73def95, 0xb9fe5172, 0xc1d070a9}},
        {0x123456789abcdef0, 0xfffff, {0x2f27846f, 0xac591a6e, 0x7f717516, 0x9947a597, 0x154fb545}},
        {0x123456789abcdef0,
         0x10000000000,
         {0x66d53a41, 0x44cf1042, 0x2f08cf6c, 0x2d9f89b2, 0xae45c1ed}},
        {0xffffffffffffffff,
         0x7ffffffffffff,
         {0xfbfda3c0, 0x07c41a4a, 0x8fc04795, 0x3522b440, 0xeaa9aafa}},
        {0x7, 0x7fffffffffffffff, {0xcc72fa16, 0x5760ad53, 0x88721c6f, 0x22eb2b7a, 0x93fe17b0}},
    };
    (void)state;
    check_known("xorwow", start_xorwow, next_xorwow, cases, sizeof cases / sizeof *cases);
}

static void mrg32k3a_has_the_words_of_curand(void **state)
{
    static const known cases[] = {
        {0x0, 0x0, {0x2083cd07, 0x518b05c4, 0x4f26d091, 0xd36ab334, 0xfc6fa3c5}},
        {0x0, 0x1, {0x14537e00, 0x7af787a0, 0xdbbb01bd, 0xb780e304, 0xa1d60f2c}},
        {0x1, 0x0, {0x6edeeb53, 0x1808740d, 0x3a2a5a9f, 0x352430fb, 0x170f5d2b}},
        {0x2a, 0x2, {0xf789b814, 0xad337dcc, 0x911007b7, 0x6699842c, 0xb68efffd}},
        {0x2a, 0x3e8, {0xef6b5e88, 0x3a82b7a7, 0x44df11fc, 0x487ac159, 0x5b3b94e3}},
        {0x123456789abcdef0, 0xfffff, {0x064dd6fb, 0x6663a299, 0xf07e5bce, 0x9baa10bd, 0xec6ffe51}},
        {0x123456789abcdef0,
         0x10000000000,
         {0x178bad12, 0x5df14d0f, 0xdbbfb3d3, 0x192ffcef, 0x1c658ca6}},
        {0xffffffffffffffff,
         0x7ffffffffffff,
         {0x275ae51a, 0xd4aab479, 0x3aa5012e, 0x064eeda7, 0xf82bd2bb}},
    };
    (void)state;
    check_known("mrg32k3a", start_mrg32k3a, next_mrg32k3a, cases, sizeof cases / sizeof *cases);
}

/* m1, which stands for a difference of 0, is the one number whose word would pass 2^32 - 1. */
static void mrg32k3a_keeps_within_its_moduli_and_words(void **state)
{
    uint32_t s[6] = {0};
    (void)state;
    assert_int_equal(saltus_mrg32k3a_next(s), 0xffffffff);
    for (uint32_t x = 1; x < 200000; ++x) {
        const uint32_t folded = saltus_mrg32k3a_fold((uint64_t)x * 0x7fffffffffffu / 200000, 209);
        assert_int_equal(folded, (uint64_t)x * 0x7fffffffffffu / 200000 % SALTUS_MRG32K3A_M1);
        const uint64_t y = (uint64_t)x << 37;
        assert_int_equal(saltus_mrg32k3a_fold(y, 22853), y % SALTUS_MRG32K3A_M2);
    }
    assert_int_equal(saltus_mrg32k3a_fold((uint64_t)SALTUS_MRG32K3A_M1 * 1403580, 209), 0);
    assert_int_equal(saltus_mrg32k3a_fold((uint64_t)SALTUS_MRG32K3A_M2 * 1370589, 22853), 0);
}

/* mt19937ar.out of the generator's authors: the first words and the last of a thousand. */
static void mt19937_has_its_published_words(void **state)
{
    static const uint32_t key[] = {0x123, 0x234, 0x345, 0x456};
    static const uint32_t first[] = {1067595299, 955945823, 477289528, 4107218783, 4228976476};
    uint32_t s[SALTUS_MT19937_WORDS], word = 0;
    (void)state;
    saltus_mt19937_seed(s, key, 4);
    for (int k = 0; k < 1000; ++k) {
        word = saltus_mt19937_next(s, k % SALTUS_MT19937_WORDS);
        if (k < 5) {
            assert_int_equal(word, first[k]);
        }
    }
    assert_int_equal(word, 3460025646);
}

/* The key is seed and trajectory, low halves first: words of Python's random.Random of that number,
 * which has the same init_by_array; words 0 … 3 and 1999. */
static void mt19937_takes_seed_and_trajectory_for_its_key(void **state)
{
    static const known cases[] = {
        {0x123456789abcdef0,
         0x0fedcba987654321,
         {0x8488ff04, 0xfac05a18, 0x54e96587, 0x80c3d35f, 0x1b98404c}},
        {1, UINT64_C(1) << 32, {0x173fae63, 0x64022689, 0xef0b7de2, 0x426e7044, 0x39f49d65}},
    };
    (void)state;
    for (int i = 0; i < 2; ++i) {
        uint32_t s[SALTUS_MT19937_WORDS];
        saltus_mt19937_start(s, cases[i].seed, cases[i].trajectory);
        for (int k = 0; k < 2000; ++k) {
            const uint32_t word = saltus_mt19937_next(s, k % SALTUS_MT19937_WORDS);
            if (k < 4 || k == 1999) {
                assert_int_equal(word, cases[i].words[k < 4 ? k : 4]);
            }
        }
    }
}

/* The linear part has period 2^160 - 1, so 2^160 steps are one step: the table's first matrix, 2^67
 * steps, squared 93 times. On the way every matrix of the table must be met. */
static void xorwow_jumps_are_powers_of_one_step(void **state)
{
    saltus_generator g = generator("xorwow");
    uint32_t power[SALTUS_XORWOW_MATRIX], square[SALTUS_XORWOW_MATRIX];
    (void)state;
    memcpy(power, g.jumps, sizeof power);
    for (int k = 0; k < 160 - SALTUS_XORWOW_SPACING; ++k) {
        if (k < 64) {
            assert_memory_equal(power, g.jumps + (ptrdiff_t)k * SALTUS_XORWOW_MATRIX, sizeof power);
        }
        memcpy(square, power, sizeof square);
        for (int row = 0; row < 160; ++row) {
            saltus_xorwow_apply(power, square + (ptrdiff_t)row * 5);
        }
        memcpy(power, square, sizeof power);
    }
    for (uint32_t i = 1; i < 50; ++i) {
        uint32_t v[5] = {i, i * i, 3 * i, 0x80000000u ^ i, 77 * i}, w[5];
        memcpy(w, v, sizeof w);
        saltus_xorwow_apply(power, v);
        saltus_xorwow_step(w);
        assert_memory_equal(v, w, sizeof v);
    }
    saltus_generator_free(&g);
}

/* The matrices A1p76 and A2p76 of L'Ecuyer, Simard, Chen and Kelton, Oper. Res. 50 (2002) 1073. */
static void mrg32k3a_jumps_are_those_of_its_streams(void **state)
{
    static const uint32_t published[2][9] = {
        {82758667, 1871391091, 4127413238, 3672831523, 69195019, 1871391091, 3672091415, 3528743235,
         69195019},
        {1511326704, 3759209742, 1610795712, 4292754251, 1511326704, 3889917532, 3859662829,
         4292754251, 3708466080},
    };
    saltus_generator g = generator("mrg32k3a");
    (void)state;
    assert_memory_equal(g.jumps, published, sizeof published);
    saltus_generator_free(&g);
}

/* Trajectory i + j stands j sub-sequences behind trajectory i, whatever bits are set in them. */
static void jumps_add_up(void **state)
{
    static const uint64_t numbers[] = {
        0, 1, 2, 5, 0x10001, 0x7fffffff, UINT64_C(1) << 40, (UINT64_C(1) << 61) + 12345};
    saltus_generator x = generator("xorwow"), m = generator("mrg32k3a");
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        for (int k = 0; k < 62; ++k) {
            const uint64_t far = numbers[i] + (UINT64_C(1) << k);
            uint32_t s[6], expected[6];
            saltus_xorwow_start(s, 9, numbers[i], x.jumps);
            saltus_xorwow_apply(x.jumps + (ptrdiff_t)k * SALTUS_XORWOW_MATRIX, s);
            saltus_xorwow_start(expected, 9, far, x.jumps);
            assert_memory_equal(s, expected, sizeof s);
            saltus_mrg32k3a_start(s, 9, numbers[i], m.jumps);
            const uint32_t *jump = m.jumps + (ptrdiff_t)k * 2 * SALTUS_MRG32K3A_MATRIX;
            saltus_mrg32k3a_apply(jump, s, SALTUS_MRG32K3A_M1);
            saltus_mrg32k3a_apply(jump + SALTUS_MRG32K3A_MATRIX, s + 3, SALTUS_MRG32K3A_M2);
            saltus_mrg32k3a_start(expected, 9, far, m.jumps);
            assert_memory_equal(s, expected, sizeof s);
        }
    }
    saltus_generator_free(&x);
    saltus_generator_free(&m);
}

static void names_and_seeds_that_do_not_work_are_refused(void **state)
{
    static const uint64_t bad[] = {0xaaaaaaaa55555555, 0xaaaaaaaaaaaaaa7a, 0x5555558555555555};
    saltus_error err = {0};
    saltus_generator g = generator("mrg32k3a"), other = generator("xorwow");
    (void)state;
    for (int i = 0; i < 3; ++i) {
        err = (saltus_error){0};
        assert_int_equal(saltus_generator_check_seed(&g, bad[i], &err), SALTUS_E_INVALID);
        assert_non_null(strstr(err.message, "mrg32k3a is zero for ever"));
        assert_int_equal(saltus_generator_check_seed(&other, bad[i], &err), SALTUS_OK);
        assert_int_equal(saltus_generator_check_seed(&g, bad[i] ^ 1 << 8, &err), SALTUS_OK);
    }
    saltus_generator_free(&g);
    saltus_generator_free(&other);
    err = (saltus_error){0};
    assert_int_equal(saltus_generator_create("randu", &g, &err), SALTUS_E_INVALID);
    assert_string_equal(err.message,
                        "generator 'randu': there are philox, xorwow, mrg32k3a and mt19937");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xorwow_has_the_words_of_curand),
        cmocka_unit_test(mrg32k3a_has_the_words_of_curand),
        cmocka_unit_test(mrg32k3a_keeps_within_its_moduli_and_words),
        cmocka_unit_test(mt19937_has_its_published_words),
        cmocka_unit_test(mt19937_takes_seed_and_trajectory_for_its_key),
        cmocka_unit_test(xorwow_jumps_are_powers_of_one_step),
        cmocka_unit_test(mrg32k3a_jumps_are_those_of_its_streams),
        cmocka_unit_test(jumps_add_up),
        cmocka_unit_test(names_and_seeds_that_do_not_work_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
