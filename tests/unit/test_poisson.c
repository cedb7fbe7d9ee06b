/* Poisson variates against the exact distribution. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/effort.h"
#include "kernel/base/poisson.h"
#include "kernel/base/rng.h"
#include "kernel/tau/formulas.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const double means[] = {1e-6, 1e-3, 0.1, 1,   3,   9.99, 10,  10.01,
                               10.5, 17,   30,  100, 1e3, 1e5,  1e7, 1e9};
enum { N_MEANS = sizeof means / sizeof *means };

/* As many numbers, or a tenth where others have taken all of them. */
static int many(int n)
{
    return takes_part() ? n / 10 : n;
}

/* -1: another is needed. */
static double attempt(const saltus_poisson *law, double u, double v)
{
    double k;
    return saltus_poisson_attempt(law, u, v, &k) ? k : -1.0;
}

/* Variate number i of a mean, as kernel/tau/tau.h makes it; blocks from *block on. */
static double draw(double mean, int i, uint64_t *block)
{
    const saltus_poisson law = saltus_poisson_of(mean);
    for (;;) {
        saltus_u64 w[4];
        saltus_philox(20261121, SALTUS_PURPOSE_LEAP, (uint64_t)i, (*block)++, w);
        const double u = saltus_unit53((uint32_t)w[0], (uint32_t)w[1]);
        const double v = saltus_unit53((uint32_t)w[2], (uint32_t)w[3]);
        const double k =
            mean < saltus_poisson_inversion ? saltus_poisson_invert(mean, u) : attempt(&law, u, v);
        if (k >= 0.0) {
            return k;
        }
    }
}

static double *draw_many(double mean, int number, int n)
{
    double *x = malloc((size_t)n * sizeof *x);
    uint64_t block = 0;
    assert_non_null(x);
    for (int i = 0; i < n; ++i) {
        x[i] = draw(mean, number, &block);
        assert_true(x[i] == floor(x[i]));
    }
    return x;
}

/* ln of the probability of k; k times log1p(d) - d keeps what lgamma loses at large means. */
static double log_probability(double mean, double k)
{
    if (k < 100.0) {
        return k * log(mean) - mean - lgamma(k + 1.0);
    }
    const double d = (mean - k) / k;
    double s = log1p(d) - d;
    if (fabs(d) < 0.01) {
        s = -d * d * (1.0 / 2 - d * (1.0 / 3 - d * (1.0 / 4 - d * (1.0 / 5 - d / 6))));
    }
    const double i = 1.0 / k;
    return k * s - 0.5 * log(2.0 * acos(-1.0) * k) - i * (1.0 / 12 - i * i / 360);
}

/* Mean, variance and third central moment are the mean. Standard errors from the sixth moment. */
static void moments_are_right(void **state)
{
    (void)state;
    for (int m = 0; m < N_MEANS; ++m) {
        const double mean = means[m];
        const int n = many(mean < 0.01 ? 4000000 : 1000000);
        double *x = draw_many(mean, m, n);
        double s1 = 0.0, s2 = 0.0, s3 = 0.0;
        for (int i = 0; i < n; ++i) {
            const double d = x[i] - mean;
            s1 += d / n;
            s2 += d * d / n;
            s3 += d * d * d / n;
        }
        free(x);
        const double m4 = mean * (1.0 + 3.0 * mean);
        const double m6 = mean * (1.0 + mean * (25.0 + 15.0 * mean));
        const double off1 = s1 / sqrt(mean / n), off2 = (s2 - mean) / sqrt((m4 - mean * mean) / n);
        const double off3 = (s3 - mean) / sqrt((m6 - mean * mean) / n);
        if (!(fabs(off1) < 5.0 && fabs(off2) < 5.0 && (mean < 0.01 || fabs(off3) < 5.0))) {
            fail_msg("mean %g: off by %.2f, %.2f, %.2f standard errors", mean, off1, off2, off3);
        }
    }
}

/* Probability of from <= k < to: a sum, of every term or of a Simpson rule's where k is large and
 * neighbours differ little. */
static double probability(double mean, double from, double to)
{
    double sum = 0.0;
    if (to - from <= 64.0) {
        for (double k = from; k < to; k += 1.0) {
            sum += exp(log_probability(mean, k));
        }
        return sum;
    }
    /* the sum over whole numbers is the integral between their halves */
    enum { N = 32 };
    const double a = from - 0.5, h = (to - from) / N;
    for (int i = 0; i <= N; ++i) {
        const double weight = i == 0 || i == N ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += weight * exp(log_probability(mean, a + h * i));
    }
    return sum * h / 3.0;
}

/* Pearson's statistic over bins of about a tenth of a standard deviation, against what is exceeded
 * with a probability of 10^-6 (by the approximation of Wilson and Hilferty). */
static void distribution_is_right(void **state)
{
    enum { MOST = 200 };
    (void)state;
    for (int m = 0; m < N_MEANS; ++m) {
        const double mean = means[m], sd = sqrt(mean), width = fmax(1.0, floor(0.1 * sd));
        const double low = fmax(0.0, floor(mean - 5.0 * sd));
        const int n = many(1000000);
        double seen[MOST + 2] = {0}, expected[MOST + 2] = {0}, statistic = 0.0, rest = n;
        double *x = draw_many(mean, 100 + m, n);
        const int n_bins = (int)fmin(MOST, ceil((fmax(10.0 * sd, 1.0) + 5.0) / width));
        for (int i = 0; i < n; ++i) {
            const double bin = floor((x[i] - low) / width);
            ++seen[bin >= 0.0 && bin < n_bins ? (int)bin : n_bins];
        }
        free(x);
        for (int b = 0; b < n_bins; ++b) {
            expected[b] = n * probability(mean, low + b * width, low + (b + 1) * width);
            rest -= expected[b];
        }
        expected[n_bins] = fmax(rest, 0.0);
        int n_terms = 0;
        double o = 0.0, e = 0.0;
        for (int b = 0; b <= n_bins; ++b) { /* neighbours together until 20 are expected */
            o += seen[b];
            e += expected[b];
            if (e >= 20.0) {
                statistic += (o - e) * (o - e) / e;
                ++n_terms;
                o = e = 0.0;
            }
        }
        const double left = o - e;
        assert_true(fabs(left) <= 5.0 * sqrt(e) + 5.0);
        const double freedom = fmax(n_terms - 1, 1);
        const double z =
            (cbrt(statistic / freedom) - 1.0 + 2.0 / (9.0 * freedom)) / sqrt(2.0 / (9.0 * freedom));
        if (n_terms > 1 && z > 4.8) {
            fail_msg("mean %g: chi-square %.1f with %g degrees of freedom", mean, statistic,
                     freedom);
        }
    }
}

/* The uniform number at every step of the distribution function decides as it should. */
static void inversion_steps_where_it_should(void **state)
{
    static const double some[] = {1e-3, 0.5, 3.0, 9.99};
    (void)state;
    for (int m = 0; m < 4; ++m) {
        double f = 0.0;
        for (int k = 0; f < 1.0 - 1e-9; ++k) {
            assert_true(saltus_poisson_invert(some[m], f + 1e-13) == k);
            f += exp(log_probability(some[m], k));
            assert_true(saltus_poisson_invert(some[m], f - 1e-13) == k);
        }
    }
    /* what no term is left for ends somewhere far out */
    for (int m = 0; m < 4; ++m) {
        const double last = saltus_poisson_invert(some[m], 1.0 - 0x1p-53);
        assert_true(last >= 4.0 && last < 60.0);
    }
    assert_true(saltus_poisson_invert(1e-300, 0.999999) == 0.0);
}

static void logarithm_of_the_probability_is_right(void **state)
{
    (void)state;
    for (int m = 0; m < N_MEANS; ++m) {
        const double mean = means[m], sd = sqrt(mean);
        for (int i = -60; mean >= 10.0 && i <= 60; ++i) {
            const double k = floor(mean + 0.13 * i * sd);
            if (k < 0.0) {
                continue;
            }
            const double found = saltus_poisson_log(mean, k), expected = log_probability(mean, k);
            if (!(fabs(found - expected) < 1e-10 + 4e-16 * k)) {
                fail_msg("mean %g, k %g: %.17g, not %.17g", mean, k, found, expected);
            }
        }
    }
    for (double k = 0.0; k < 40.0; k += 1.0) { /* far off, and both ways to write k! */
        const double expected = k * log(25.0) - 25.0 - lgamma(k + 1.0);
        assert_true(fabs(saltus_poisson_log(25.0, k) - expected) < 1e-10);
    }
}

/* No attempt leaves the whole numbers from 0 on, whatever the uniform numbers are. */
static void attempts_at_the_ends_are_sound(void **state)
{
    static const double ends[] = {0.0, 0x1p-53, 0x1p-30, 0.0129, 0.0699, 0.5, 0.93, 1.0 - 0x1p-53};
    static const double some[] = {10.0, 1e3, 1e9, 1e15};
    (void)state;
    for (int m = 0; m < 4; ++m) {
        const saltus_poisson law = saltus_poisson_of(some[m]);
        for (int i = 0; i < 64; ++i) {
            const double k = attempt(&law, ends[i / 8], ends[i % 8]);
            assert_true(k == -1.0 || (k >= 0.0 && k == floor(k) && k < 0x1p52));
        }
    }
}

/* Transformed rejection is right as long as the probability of a candidate is below the hat, and
 * quick decisions on either side of it. The greatest and least ratios also pin the constants. PTRS
 * lets the hat be cut by half a per cent at few numbers, which changes no probability by 10^-3. */
static void hat_and_squeezes_hold(void **state)
{
    static const double some[] = {10.0, 10.01, 10.5, 11.0, 17.0, 30.0, 100.0, 1e3, 1e5, 1e7, 1e9};
    const int n = 200000;
    (void)state;
    for (size_t m = 0; m < sizeof some / sizeof *some; ++m) {
        const double mean = some[m];
        const saltus_poisson p = saltus_poisson_of(mean);
        double most = 0.0, least = INFINITY, most_outside = 0.0;
        for (int i = 0; i < n; ++i) {
            const double u = (i + 0.5) / n, us = 0.5 - fabs(u - 0.5);
            const double k = attempt(&p, u, 0.0);
            if (k < 0.0) {
                continue;
            }
            const double hat = (1.1239 + 1.1328 / (p.b - 3.4)) / (p.a / (us * us) + p.b);
            const double height = exp(log_probability(mean, k)) / hat;
            most = fmax(most, height);
            least = us >= 0.07 ? fmin(least, height / p.squeeze) : least;
            most_outside = us < 0.013 ? fmax(most_outside, height / us) : most_outside;
        }
        if (!(most > 0.995 && most < 1.006 && least >= 1.0 && most_outside < 0.7)) {
            fail_msg("mean %g: %.4f of the hat, %.4f of the inner squeeze, %.4f of the outer", mean,
                     most, least, most_outside);
        }
        assert_true(mean != 10.0 || fabs(most - 1.0050) < 0.0005);
        assert_true(mean != 100.0 || fabs(least - 1.0130) < 0.0005);
        assert_true(mean < 1e5 || (most < 0.9998 && least < 1.003));
    }
}

/* Wherever the rough sum in float decides, the exact one decides alike; and it nearly always does.
 */
static void rough_logarithms_decide_alike(void **state)
{
    const int n = many(3000000);
    int n_open = 0, n_left = 0;
    (void)state;
    for (int i = 0; i < n; ++i) {
        saltus_u64 w[4];
        saltus_philox(7, 255, 0, (uint64_t)i, w);
        const double mean = 10.0 * pow(10.0, i % 1000 * (i % 2 ? 0.0015 : 0.012));
        const saltus_poisson p = saltus_poisson_of(mean);
        const double u = saltus_unit53(w[0], w[1]), v = saltus_unit53(w[2], w[3]);
        const double us = 0.5 - fabs(u - 0.5);
        const double k = floor((2.0 * p.a / us + p.b) * (u - 0.5) + mean + 0.43);
        saltus_mask good, bad;
        saltus_poisson_rough(&p, us, v, k, &good, &bad);
        assert_false(good && bad);
        if (k < 0.0 || mean > 1e9) {
            assert_false((good || bad) && k > 0x1p31);
            continue;
        }
        const double hat = (1.1239 + 1.1328 / (p.b - 3.4)) / (p.a / (us * us) + p.b);
        const bool exact = log(v * hat) <= log_probability(mean, k);
        if ((good && !exact) || (bad && exact)) {
            fail_msg("mean %g, u %.17g, v %.17g: decided otherwise", mean, u, v);
        }
        ++n_open;
        n_left += !good && !bad;
    }
    assert_true(n_open > n / 2 && n_left < n_open / 20);
}

/* The first half's mean and variance, and its covariance with the variate, summed over the
 * distribution. */
static void halves_have_their_moments(void **state)
{
    (void)state;
    for (double mean = 10.0; mean < 2e4; mean *= 1.37) {
        const double most = mean + 12.0 * sqrt(mean) + 60.0;
        double total = 0.0, first = 0.0, square = 0.0, product = 0.0;
        for (double k = 0.0; k < most; k += 1.0) {
            const double p = exp(k * log(mean) - mean - lgamma(k + 1.0));
            const double half = saltus_poisson_half(k, sqrt(mean));
            assert_true(half == floor(half) && half >= 0.0 && half <= k);
            total += p;
            first += p * half;
            square += p * half * half;
            product += p * half * k;
        }
        assert_true(fabs(total - 1.0) < 1e-9);
        assert_true(fabs(first - 0.5 * mean) < 0.03);
        assert_true(fabs(square - first * first - 0.5 * mean) < 0.6 + 0.01 * mean);
        assert_true(fabs(product - first * mean - 0.5 * mean) < 0.06);
    }
    for (double k = 1e9; k < 1e13; k *= 7.0) {
        const double even = 2.0 * floor(0.5 * k), root = 0.5 * sqrt(even);
        assert_true(fabs(saltus_poisson_half(even, sqrt(even)) - 0.5 * even - root) < 1.0);
        assert_true(fabs(saltus_poisson_half(even + 1.0, sqrt(even)) - 0.5 * even + root) < 2.0);
    }
}

/* Each firing's bit counts, and no other. */
static void halves_of_few_are_bits(void **state)
{
    (void)state;
    for (int k = 0; k < 64; ++k) {
        const uint64_t mask = ((uint64_t)1 << k) - 1;
        assert_true(saltus_poisson_half_of_few(k, 0xffffffffu, 0xffffffffu) == k);
        assert_true(saltus_poisson_half_of_few(k, 0, 0) == 0.0);
        assert_true(saltus_poisson_half_of_few(k, ~mask >> 32, ~mask & 0xffffffffu) == 0.0);
        assert_true(saltus_poisson_half_of_few(k, 0xaaaaaaaau, 0xaaaaaaaau) == k / 2);
    }
    assert_true(saltus_poisson_half_of_few(40, 0x80, 0x80000001u) == 3.0);
}

/* Mean and variance of the second half of a leap of so many firings by the propensities before it,
 * after the propensity in its middle has changed by a share: a word rounds what is added. */
static void correct(double mean, double change, double *first, double *variance)
{
    double square = 0.0;
    *first = 0.0;
    for (double k = 0.0; k < 40.0 + 2.0 * mean; k += 1.0) {
        const double p = exp(k * log(0.5 * mean) - 0.5 * mean - lgamma(k + 1.0));
        const double more = saltus_tau_more(1.0, mean, mean * (1.0 + change), k);
        const double up = more - floor(more);
        for (int i = 0; i < 2; ++i) { /* rounded down, and up */
            const double n = saltus_tau_whole(more, i * 0xffffffffu, k, k);
            assert_true(n >= 0.0);
            *first += p * (i ? up : 1.0 - up) * n;
            square += p * (i ? up : 1.0 - up) * n * n;
        }
    }
    *variance = square - *first * *first;
}

/* Means are exact. So are variances where less than one is added, or taken away, and that is a
 * tenth of what was drawn for the leap, which leaves some; elsewhere they are nearly so. */
static void corrections_have_their_moments(void **state)
{
    (void)state;
    static const double changes[] = {-0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3};
    for (size_t m = 1; m < N_MEANS && means[m] < 1e3; ++m) {
        for (size_t c = 0; c < sizeof changes / sizeof *changes; ++c) {
            double first, variance;
            const double change = changes[c], wanted = means[m] * (0.5 + change);
            correct(means[m], change, &first, &variance);
            const bool exact = means[m] * fabs(change) < 0.5 && fabs(change) <= 0.1;
            const double bound = exact ? 1e-8 : fabs(change) <= 0.1 ? 0.06 : 0.5;
            assert_true(fabs(first / wanted - 1.0) < 1e-12);
            assert_true(fabs(variance / wanted - 1.0) < bound);
        }
    }
}

/* Of a law that may bend both halves are taken back, as far as it takes: the firings of the leap
 * have the new mean. */
static void what_bends_is_taken_back(void **state)
{
    static const double all[] = {0.01, 0.3, 2.0, 8.0}, shares[] = {0.0, 0.05, 0.4, 0.6, 0.74, 0.8};
    (void)state;
    for (size_t c = 0; c < sizeof all / sizeof *all * 6; ++c) {
        const double mean = all[c / 6], middle = mean * shares[c % 6];
        double sum = 0.0;
        for (int k = 0; k < 41 * 41; ++k) {
            const double f = k / 41, s = k % 41;
            const double p =
                exp((f + s) * log(0.5 * mean) - mean - lgamma(f + 1.0) - lgamma(s + 1.0));
            const double more =
                saltus_tau_more_bent(saltus_tau_more(1.0, mean, middle, s), mean, middle, f, s);
            const double up = more - floor(more);
            const double least = f + saltus_tau_whole(more, 0, s, s + f),
                         most = f + saltus_tau_whole(more, 0xffffffffu, s, s + f);
            assert_true(least >= 0.0 && most - least <= 1.0);
            sum += p * (least + up * (most - least));
        }
        assert_true(fabs(sum - middle) < 1e-9 * mean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rough_logarithms_decide_alike),
        cmocka_unit_test(moments_are_right),
        cmocka_unit_test(distribution_is_right),
        cmocka_unit_test(inversion_steps_where_it_should),
        cmocka_unit_test(logarithm_of_the_probability_is_right),
        cmocka_unit_test(attempts_at_the_ends_are_sound),
        cmocka_unit_test(hat_and_squeezes_hold),
        cmocka_unit_test(halves_have_their_moments),
        cmocka_unit_test(halves_of_few_are_bits),
        cmocka_unit_test(corrections_have_their_moments),
        cmocka_unit_test(what_bends_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
