/* kernel/math*.h: errors against the C library's long double, special arguments, and the same bits
 * in every variant that this machine runs and, through the hashes, on every other machine. */
#include "math_ops.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What the reference may itself be wrong by, in ulp of a double; the bounds on the functions mean
 * nothing where long double is not wider than double, so there they are loosened. */
#if LDBL_MANT_DIG >= 64
#define REFERENCE_ERROR 0.005
#else
#define REFERENCE_ERROR 4.0
#endif

#define DECLARE(name) extern const math_variant math_variant_##name;
MATH_VARIANTS(DECLARE)
#define ADDRESS(name) &math_variant_##name,
static const math_variant *const variants[] = {MATH_VARIANTS(ADDRESS)};

enum { max_arguments = 1 << 15 };
static double arg_a[max_arguments], arg_b[max_arguments], result[max_arguments];
static double expected[max_arguments];
static uint64_t words[max_arguments];

/* --- arguments -------------------------------------------------------------------------------- */

static const double specials[] = {
    0.0,
    0x1p-1074,
    0x1.8p-1070,
    0x1p-1022,
    0x1.fp-1023,
    0x1p-1000,
    0x1p-600,
    0x1p-54,
    0x1p-30,
    0x1p-28,
    0x1p-27,
    0x1p-26,
    0.25,
    0.41421356,
    0.5,
    0.70710678,
    0x1.fffffffffffffp-1,
    1.0,
    0x1.0000000000001p+0,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    10.0,
    22.0,
    27.0,
    100.0,
    170.0,
    171.0,
    709.0,
    709.782712893384,
    710.4,
    711.0,
    745.0,
    746.0,
    1000.0,
    1024.0,
    0x1p20,
    0x1.00001p20,
    0x1p28,
    0x1p30,
    0x1p40,
    0x1p52,
    0x1.8p52,
    0x1.fffffffffffffp52,
    0x1p53,
    0x1.0000000000001p53,
    0x1p64,
    0x1p70,
    0x1p100,
    0x1p500,
    0x1p1000,
    0x1.fffffffffffffp1023,
    INFINITY,
    NAN,
    6381956970095103.0 * 0x1p797,
};
enum { n_specials = sizeof specials / sizeof *specials };

static uint64_t state;

static uint64_t next_word(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Uniform in [-size, size). */
static double uniform(double size)
{
    return (double)((int64_t)next_word() >> 10) * (size * 0x1p-53);
}

/* Either sign, exponent uniform in [-range, range). */
static double any_size(unsigned range)
{
    const uint64_t w = next_word();
    const uint64_t exponent = 1023 - range + (w >> 40) % (2 * range);
    return from_bits((w & 0x8000000000000000u) | (exponent << 52) | (next_word() >> 12));
}

/* One argument of the kind that `kind` says, so that each function meets the sizes it finds hard.
 */
static double some_argument(size_t kind)
{
    switch (kind % 9) {
    case 0:
        return from_bits(next_word());
    case 1:
        return any_size(40);
    case 2:
        return uniform(1.0);
    case 3:
        return uniform(4.0);
    case 4:
        return uniform(750.0);
    case 5: /* close to 1 or -1 */
        return (next_word() & 1 ? 1.0 : -1.0) + any_size(26) * 0x1p-27;
    case 6: /* close to a multiple of pi/2 */
        return (double)(int64_t)(next_word() >> (next_word() % 52 + 12)) * 0x1.921fb54442d18p+0;
    case 7: /* whole or half */
        return (double)(int64_t)(next_word() % 800) * 0.5 - 200.0;
    default:
        return uniform(0x1p21);
    }
}

/* Fill arg_a alone, or arg_a and arg_b; the number of arguments, a multiple of 16. */
static size_t make_arguments(bool binary)
{
    size_t n = 0;

    state = 20;
    for (int i = 0; i < 2 * n_specials; ++i) {
        const double a = i % 2 ? -specials[i / 2] : specials[i / 2];
        for (int j = 0; j < (binary ? 2 * n_specials : 1); ++j, ++n) {
            arg_a[n] = a;
            arg_b[n] = j % 2 ? -specials[j / 2] : specials[j / 2];
        }
    }
    for (size_t i = 0; n + 16 < max_arguments || n % 16; ++i, ++n) {
        arg_a[n] = some_argument(i);
        arg_b[n] = some_argument(i / 9);
    }
    return n;
}

/* --- references ------------------------------------------------------------------------------- */

typedef long double real;

#define REFERENCE(name, expression) \
    static real ref_##name(real x)  \
    {                               \
        return expression;          \
    }
REFERENCE(exp, expl(x))
REFERENCE(log, logl(x))
REFERENCE(log2, log2l(x))
REFERENCE(log10, log10l(x))
REFERENCE(abs, fabsl(x))
REFERENCE(floor, floorl(x))
REFERENCE(ceil, ceill(x))
REFERENCE(trunc, truncl(x))
REFERENCE(round_even, rintl(x))
REFERENCE(sqrt, sqrtl(x))
REFERENCE(sin, sinl(x))
REFERENCE(cos, cosl(x))
REFERENCE(tan, tanl(x))
REFERENCE(sec, 1 / cosl(x))
REFERENCE(csc, 1 / sinl(x))
REFERENCE(cot, 1 / tanl(x))
REFERENCE(asin, asinl(x))
REFERENCE(acos, acosl(x))
REFERENCE(atan, atanl(x))
REFERENCE(acot, atanl(1 / x))
REFERENCE(sinh, sinhl(x))
REFERENCE(cosh, coshl(x))
REFERENCE(tanh, tanhl(x))
REFERENCE(sech, 1 / coshl(x))
REFERENCE(csch, 1 / sinhl(x))
REFERENCE(coth, 1 / tanhl(x))
REFERENCE(asinh, asinhl(x))
REFERENCE(acosh, acoshl(x))
REFERENCE(atanh, atanhl(x))
REFERENCE(acsch, asinhl(1 / x))
REFERENCE(acoth, fabsl(x) < 1 ? NAN : copysignl(0.5L * log1pl(2 / (fabsl(x) - 1)), x))
REFERENCE(asech, x == 0 ? INFINITY : log1pl((1 - x + sqrtl((1 - x) * (1 + x))) / x))

/* sqrt(x^2 - 1), the other leg of a triangle of hypotenuse x; x itself where that is no different
 */
static real other_leg(real x)
{
    return fabsl(x) > 0x1p200L ? fabsl(x) : sqrtl((fabsl(x) - 1) * (fabsl(x) + 1));
}
REFERENCE(asec, atan2l(other_leg(x), copysignl(1, x)))
REFERENCE(acsc, copysignl(atan2l(1, other_leg(x)), x))

static real ref_factorial(real x)
{
    real product = 1;

    if (!(x >= 0) || x != truncl(x)) {
        return NAN;
    }
    for (int i = 2; i <= x && i < 180; ++i) {
        product *= i;
    }
    return product;
}

static real ref_pow(real x, real y)
{
    return powl(x, y);
}

/* Half powers of -inf are none, and 1 over what overflows is 0. */
static real ref_power(real x, real y)
{
    const bool is_short = fabsl(y) <= 8 && 2 * y == truncl(2 * y);
    if (is_short && x == -INFINITY && y != truncl(y)) {
        return NAN;
    }
    if (is_short && y < 0 && isinf((double)powl(x, -y))) {
        return 1 / (real)(double)powl(x, -y);
    }
    return powl(x, y);
}

static real ref_root(real n, real x)
{
    const real y = 1 / n, y_lo = -fmal(y, n, -1) / n;
    const bool odd = fabsl(fmodl(n, 2)) == 1;
    real r;

    if (isnan(n) || isnan(x) || n == 0 || (x < 0 && !odd)) {
        return n == 2 && x == 0 ? x : NAN;
    }
    if (n == 2) {
        return sqrtl(x);
    }
    if (x == 0 || isinf(x)) {
        r = (x == 0) == (n < 0) ? INFINITY : 0;
    } else {
        r = powl(fabsl(x), y);
        r += isfinite(r) && isfinite(y_lo) ? r * y_lo * logl(fabsl(x)) : 0;
    }
    return odd ? copysignl(r, x) : r;
}

static real ref_rem(real a, real b)
{
    const double q = fabs((double)a / (double)b);
    return fabsl(a) < fabsl(b) || q < 0x1p53 ? fmodl(a, b) : NAN;
}

static real ref_quotient(real a, real b)
{
    const double q = (double)a / (double)b;
    return fabs(q) < 0x1p53 ? copysignl(fabsl(rintl((a - fmodl(a, b)) / b)), q) : q;
}

static real ref_min(real a, real b)
{
    return a < b || isnan(a) ? a : b;
}

static real ref_max(real a, real b)
{
    return b < a || isnan(a) ? a : b;
}

/* --- tests ------------------------------------------------------------------------------------ */

typedef struct math_op {
    const char *name;
    double error; /* largest allowed, ulp */
    uint64_t hash;
    real (*unary)(real x);
    real (*binary)(real x, real y);
} math_op;

#define UNARY_OP(name, error, hash) {#name, error, UINT64_C(hash), ref_##name, NULL},
#define BINARY_OP(name, error, hash) {#name, error, UINT64_C(hash), NULL, ref_##name},
static const math_op ops[] = {MATH_UNARY(UNARY_OP) MATH_BINARY(BINARY_OP)};
enum { n_ops = sizeof ops / sizeof *ops };

static bool runs_here(const math_variant *v)
{
#if defined(__x86_64__)
    if (strcmp(v->needs, "avx512") == 0) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    }
    if (strcmp(v->needs, "avx2") == 0) {
        return __builtin_cpu_supports("avx2");
    }
#endif
    return v->needs[0] == '\0';
}

/* A NaN's sign and payload differ between processors and mean nothing here. */
static uint64_t hash_results(double *y, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; ++i) {
        y[i] = isnan(y[i]) ? from_bits(0x7ff8000000000000u) : y[i];
        hash = (hash ^ to_bits(y[i])) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Error of y in ulp of the double next to the reference; huge where they differ in kind. */
static double error_of(double y, real reference)
{
    const double rounded = (double)reference;
    const int exponent = rounded == 0 || fabs(rounded) < DBL_MIN ? -1022 : ilogb(rounded);
    const double half_lost = fabs(rounded) < DBL_MIN ? 0.5 : 0.0; /* rounded twice */
    double error;

    if (isnan(reference) || isnan(y)) {
        return isnan(reference) && isnan(y) ? 0.0 : HUGE_VAL;
    }
    if (!signbit(reference) != !signbit(y)) {
        return HUGE_VAL;
    }
    if (isinf(rounded) || isinf(y)) {
        return rounded == y || (isfinite(reference) && fabs(rounded) >= DBL_MAX) ? 0.0 : HUGE_VAL;
    }
    error = (double)fabsl(ldexpl((real)y - reference, 52 - exponent));
    return error > half_lost ? error - half_lost : 0.0;
}

static void errors_stay_below_the_stated_ones(void **unused)
{
    int n_wrong = 0;

    (void)unused;
    for (int op = 0; op < n_ops; ++op) {
        const size_t n = make_arguments(ops[op].binary);
        const double allowed = ops[op].error > 0 ? ops[op].error + REFERENCE_ERROR : 0.0;

        variants[0]->functions[op](arg_a, arg_b, result, n);
        for (size_t i = 0; i < n; ++i) {
            const real r =
                ops[op].unary ? ops[op].unary(arg_a[i]) : ops[op].binary(arg_a[i], arg_b[i]);
            const double error = error_of(result[i], r);
            if (error > allowed) {
                print_error("%s of %a (and %a) is %a, not %La: %g ulp\n", ops[op].name, arg_a[i],
                            arg_b[i], result[i], r, error);
                ++n_wrong;
            }
        }
    }
    assert_int_equal(n_wrong, 0);
}

static void all_variants_give_the_same_bits(void **unused)
{
    (void)unused;
    for (int op = 0; op < n_ops; ++op) {
        const size_t n = make_arguments(ops[op].binary);

        variants[0]->functions[op](arg_a, arg_b, expected, n);
        (void)hash_results(expected, n);
        for (size_t v = 1; v < sizeof variants / sizeof *variants; ++v) {
            if (!runs_here(variants[v])) {
                print_message("no %s here\n", variants[v]->name);
                continue;
            }
            variants[v]->functions[op](arg_a, arg_b, result, n);
            (void)hash_results(result, n);
            for (size_t i = 0; i < n; ++i) {
                if (to_bits(result[i]) != to_bits(expected[i])) {
                    fail_msg("%s of %a and %a is %a with %s, %a with %s", ops[op].name, arg_a[i],
                             arg_b[i], expected[i], variants[0]->name, result[i],
                             variants[v]->name);
                }
            }
        }
    }
}

/* The bits that every compiler and processor must reach. A hash that changes is a changed sample.
 */
static void bits_are_the_recorded_ones(void **unused)
{
    int n_changed = 0;

    (void)unused;
    for (int op = 0; op < n_ops; ++op) {
        const size_t n = make_arguments(ops[op].binary);
        uint64_t hash;

        variants[0]->functions[op](arg_a, arg_b, result, n);
        hash = hash_results(result, n);
        if (hash != ops[op].hash) {
            print_error("%s: hash 0x%016" PRIx64 "\n", ops[op].name, hash);
            ++n_changed;
        }
    }
    assert_int_equal(n_changed, 0);
}

static void exact_powers_are_exact(void **unused)
{
    const int root_op = n_ops - 5;
    size_t n = 0;

    (void)unused;
    assert_string_equal(ops[root_op].name, "root");
    for (int base = 1; base <= 64; ++base) {
        for (int power = 1; power <= 8; ++power, ++n) {
            arg_a[n] = base;
            arg_b[n] = power;
            expected[n] = 1.0;
            for (int i = 0; i < power; ++i) {
                expected[n] *= base;
            }
        }
    }
    for (int op = root_op - 2; op < root_op; ++op) { /* pow, power */
        variants[0]->functions[op](arg_a, arg_b, result, n);
        assert_memory_equal(result, expected, n * sizeof *result);
    }
    variants[0]->functions[root_op](arg_b, expected, result, n);
    assert_memory_equal(result, arg_a, n * sizeof *result);
}

/* --- the waiting time ------------------------------------------------------------------------- */

static real exact_wait(uint64_t w)
{
    const real t = ((real)w - 0x1p32L) * 0x1p-32L;
    return w < (1u << 31) ? -logl((real)w * 0x1p-32L) : -log1pl(t);
}

/* Relative errors of `n` words from `first` on, `step` apart; adds up E - exact. */
static double check_waits(uint64_t first, uint64_t step, size_t n, real *sum)
{
    double worst = 0.0;

    for (size_t i = 0; i < n; ++i) {
        words[i] = first + step * i;
    }
    variants[0]->exponential32(words, arg_b, result, n);
    for (size_t i = 0; i < n; ++i) {
        const real exact = exact_wait(words[i]);
        const real error = (real)result[i] - exact;
        assert_true(result[i] > 0);
        worst = fmax(worst, fabs((double)(error / exact)));
        *sum += error;
    }
    return worst;
}

/* By default every 4093rd word; SALTUS_TEST_EXHAUSTIVE in the environment takes all 2^32. */
/* Powers that are products: within the bound that math.h states, rising with the base. */
static void short_powers_are_products(void **unused)
{
    const int op = n_ops - 6;
    size_t n = 0;
    double largest = 0.0;

    (void)unused;
    assert_string_equal(ops[op].name, "power");
    state = 21;
    for (int twice = -16; twice <= 16; ++twice) {
        for (int i = 0; i < 896; ++i, ++n) {
            const double x = fabs(i % 2 ? any_size(40) : uniform(100.0));
            arg_a[n] = i % 8 == 7 ? arg_a[n - 1] * (1.0 + 0x1p-52) : x;
            arg_b[n] = 0.5 * twice;
        }
    }
    variants[0]->functions[op](arg_a, arg_b, result, n);
    for (size_t i = 0; i < n; ++i) {
        const real y = powl(arg_a[i], arg_b[i]);
        const double error = (double)fabsl((result[i] - y) / y);
        largest = error > largest ? error : largest;
        if (i % 8 == 7 && arg_a[i] > arg_a[i - 1]) {
            assert_true(arg_b[i] < 0 ? result[i] <= result[i - 1] : result[i] >= result[i - 1]);
        }
    }
    print_message("largest relative error %.2f * 2^-53\n", largest * 0x1p53);
    assert_true(largest < 9 * 0x1p-53);
    assert_true(largest > 2 * 0x1p-53); /* they are */
}

static void waits_are_logarithms_of_their_words(void **unused)
{
    const uint64_t last = 0xffffffffu, block = max_arguments;
    const uint64_t step = getenv("SALTUS_TEST_EXHAUSTIVE") ? 1 : 4093;
    uint64_t n_words = 0;
    double worst = 0.0;
    real sum = 0, unused_sum = 0;

    (void)unused;
    worst = fmax(worst, check_waits(1, 1, block, &unused_sum));
    worst = fmax(worst, check_waits(last - block + 1, 1, block, &unused_sum));
    worst = fmax(worst, check_waits(0xb504f334u - block / 2, 1, block, &unused_sum)); /* seam */
    for (uint64_t first = 1; first + step * (block - 1) <= last; first += step * block) {
        worst = fmax(worst, check_waits(first, step, block, &sum));
        n_words += block;
    }
    print_message("waits: largest relative error %g, mean error %Lg over %" PRIu64 " words\n",
                  worst, sum / (real)n_words, n_words);
    assert_true(worst < 1.68e-7);
    assert_true(fabsl(sum / (real)n_words) < 5e-11L);
}

static void waits_have_the_same_bits_in_all_variants(void **unused)
{
    uint64_t hash;

    (void)unused;
    state = 32;
    for (size_t i = 0; i < max_arguments; ++i) { /* all sizes of words; the high half is ignored */
        const uint64_t w = (next_word() >> 32) >> (i % 32);
        words[i] = (w ? w : 1) | (next_word() << 32);
    }
    words[0] = 1;
    words[1] = 0xffffffffu;
    variants[0]->exponential32(words, arg_b, expected, max_arguments);
    hash = hash_results(expected, max_arguments);
    for (size_t v = 1; v < sizeof variants / sizeof *variants; ++v) {
        if (runs_here(variants[v])) {
            variants[v]->exponential32(words, arg_b, result, max_arguments);
            assert_memory_equal(result, expected, sizeof result);
        }
    }
    assert_int_equal(hash, MATH_WAIT_HASH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stay_below_the_stated_ones),
        cmocka_unit_test(all_variants_give_the_same_bits),
        cmocka_unit_test(bits_are_the_recorded_ones),
        cmocka_unit_test(exact_powers_are_exact),
        cmocka_unit_test(short_powers_are_products),
        cmocka_unit_test(waits_are_logarithms_of_their_words),
        cmocka_unit_test(waits_have_the_same_bits_in_all_variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
