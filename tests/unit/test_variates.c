/* Variates of the distributions of expressions against exact probabilities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/base/variates.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A distribution, n arguments: parameters, then bounds or none. */
typedef struct distribution {
    int op, n;
    double a[SALTUS_VARIATE_ARGS];
} distribution;

#define INF ((double)INFINITY)

static const distribution cases[] = {
    {SALTUS_OP_UNIFORM, 2, {-1.0, 3.0}},
    {SALTUS_OP_NORMAL, 2, {2.0, 0.5}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.5, -0.5, INF}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.5, 0.5, INF}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.0, -0.25, 0.75}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.0, -4.0, 3.0}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.0, 6.0, INF}},
    {SALTUS_OP_NORMAL, 4, {0.0, 1.0, -9.0, -8.5}},
    {SALTUS_OP_NORMAL, 4, {1.0, 2.0, 3.0, 3.5}},
    {SALTUS_OP_EXPONENTIAL, 1, {2.5}},
    {SALTUS_OP_EXPONENTIAL, 3, {1.0, 2.0, 9.0}},
    {SALTUS_OP_EXPONENTIAL, 3, {1.0, 40.0, 40.5}},
    {SALTUS_OP_GAMMA, 2, {0.3, 2.0}},
    {SALTUS_OP_GAMMA, 2, {1.0, 2.0}},
    {SALTUS_OP_GAMMA, 2, {7.5, 0.5}},
    {SALTUS_OP_GAMMA, 2, {200.0, 3.0}},
    {SALTUS_OP_GAMMA, 4, {2.0, 1.0, 0.5, 1.5}},
    {SALTUS_OP_LOGNORMAL, 2, {0.5, 0.7}},
    {SALTUS_OP_LOGNORMAL, 4, {0.0, 1.0, -1.0, 2.0}},
    {SALTUS_OP_LAPLACE, 2, {1.0, 2.0}},
    {SALTUS_OP_LAPLACE, 4, {1.0, 2.0, 2.0, 10.0}},
    {SALTUS_OP_LAPLACE, 4, {0.0, 1.0, -0.2, 3.0}},
    {SALTUS_OP_LAPLACE, 4, {0.0, 1.0, -3.0, -2.5}},
    {SALTUS_OP_LAPLACE, 4, {0.0, 1.0, -0.0001, 0.0003}},
    {SALTUS_OP_CAUCHY, 2, {1.0, 2.0}},
    {SALTUS_OP_CAUCHY, 4, {1.0, 2.0, 1.1, 10.0}},
    {SALTUS_OP_CAUCHY, 4, {0.0, 1.0, 1e6, INF}},
    {SALTUS_OP_CAUCHY, 4, {0.0, 1.0, -50.0, -2.0}},
    {SALTUS_OP_CHISQUARE, 1, {3.2}},
    {SALTUS_OP_RAYLEIGH, 1, {2.0}},
    {SALTUS_OP_RAYLEIGH, 3, {1.0, 3.0, 8.0}},
    {SALTUS_OP_BERNOULLI, 1, {0.23}},
    {SALTUS_OP_POISSON, 1, {1.5}},
    {SALTUS_OP_POISSON, 1, {37.5}},
    {SALTUS_OP_POISSON, 1, {12345.0}},
    {SALTUS_OP_POISSON, 3, {1.5, 2.0, 18.0}},
    {SALTUS_OP_POISSON, 3, {1.5, 11.5, INF}},
    {SALTUS_OP_POISSON, 3, {50.0, 3.0, 10.0}},
    {SALTUS_OP_BINOMIAL, 2, {20.0, 0.2}},
    {SALTUS_OP_BINOMIAL, 2, {100.0, 0.2}},
    {SALTUS_OP_BINOMIAL, 2, {101.0, 0.5}},
    {SALTUS_OP_BINOMIAL, 2, {1000.0, 0.97}},
    {SALTUS_OP_BINOMIAL, 2, {7.0, 0.9}},
    {SALTUS_OP_BINOMIAL, 2, {30000.0, 0.4}},
    {SALTUS_OP_BINOMIAL, 2, {1e10, 3e-10}},
    {SALTUS_OP_BINOMIAL, 4, {100.0, 0.2, 40.0, 60.0}},
    {SALTUS_OP_BINOMIAL, 4, {100.0, 0.2, -INF, 5.5}},
};
enum { N_CASES = sizeof cases / sizeof *cases, N_DRAWN = 200000 };

static double draw(const distribution *d, uint64_t trajectory, uint64_t number)
{
    return saltus_variate_draw(20261125, trajectory, number, d->op, d->n, d->a);
}

/* ---- exact probabilities ---- */

/* Of values up to x under a gamma distribution of scale 1, by its series. */
static double gamma_below(double shape, double x)
{
    double term = 1.0 / shape, sum = 0.0;
    if (!(x > 0.0 && x < INF)) {
        return x > 0.0 ? 1.0 : 0.0;
    }
    for (int i = 1; term > 1e-18 * sum; ++i) {
        sum += term;
        term *= x / (shape + i);
    }
    return exp(shape * log(x) - x - lgamma(shape)) * sum;
}

/* Of standard normal values between x and y. */
static double normal_between(double x, double y)
{
    return x > 0.0 ? 0.5 * (erfc(x / sqrt(2.0)) - erfc(y / sqrt(2.0)))
                   : 0.5 * (erfc(-y / sqrt(2.0)) - erfc(-x / sqrt(2.0)));
}

/* Of standard Laplace values between x and y. */
static double laplace_between(double x, double y)
{
    return x >= 0.0   ? 0.5 * (exp(-x) - exp(-y))
           : y <= 0.0 ? 0.5 * (exp(y) - exp(x))
                      : -0.5 * (expm1(x) + expm1(-y));
}

/* Of standard Cauchy values between x and y. */
static double cauchy_between(double x, double y)
{
    return x > 0.0   ? atan(1.0 / x) - atan(1.0 / y)
           : y < 0.0 ? cauchy_between(-y, -x)
                     : atan(y) - atan(x);
}

/* Up to a factor, of values between x and y, which lie between the bounds. */
static double between(const distribution *d, double x, double y)
{
    const double *a = d->a;
    switch (d->op) {
    case SALTUS_OP_UNIFORM:
        return y - x;
    case SALTUS_OP_NORMAL:
        return normal_between((x - a[0]) / a[1], (y - a[0]) / a[1]);
    case SALTUS_OP_LOGNORMAL:
        x = x > 0.0 ? log(x) : -INF;
        return normal_between((x - a[0]) / a[1], (log(y) - a[0]) / a[1]);
    case SALTUS_OP_EXPONENTIAL:
        return -exp(-fmax(x, 0.0) * a[0]) * expm1((fmax(x, 0.0) - y) * a[0]);
    case SALTUS_OP_GAMMA:
        return gamma_below(a[0], y / a[1]) - gamma_below(a[0], x / a[1]);
    case SALTUS_OP_CHISQUARE:
        return gamma_below(0.5 * a[0], 0.5 * y) - gamma_below(0.5 * a[0], 0.5 * x);
    case SALTUS_OP_RAYLEIGH:
        x = fmax(x, 0.0) / a[0];
        return exp(-0.5 * x * x) - exp(-0.5 * (y / a[0]) * (y / a[0]));
    case SALTUS_OP_LAPLACE:
        return laplace_between((x - a[0]) / a[1], (y - a[0]) / a[1]);
    default:
        return cauchy_between((x - a[0]) / a[1], (y - a[0]) / a[1]);
    }
}

/* Up to a factor, of the whole number k. */
static double of_number(const distribution *d, double k)
{
    const double *a = d->a;
    switch (d->op) {
    case SALTUS_OP_BERNOULLI:
        return k == 1.0 ? a[0] : k == 0.0 ? 1.0 - a[0] : 0.0;
    case SALTUS_OP_POISSON:
        return k < 0.0 ? 0.0 : exp(k * log(a[0]) - a[0] - lgamma(k + 1.0));
    default:
        return k < 0.0 || k > a[0]
                   ? 0.0
                   : exp(lgamma(a[0] + 1.0) - lgamma(k + 1.0) - lgamma(a[0] - k + 1.0) +
                         k * log(a[1]) + (a[0] - k) * log1p(-a[1]));
    }
}

static bool is_whole(const distribution *d)
{
    return d->op == SALTUS_OP_BERNOULLI || d->op == SALTUS_OP_POISSON ||
           d->op == SALTUS_OP_BINOMIAL;
}

static void bounds_of(const distribution *d, double *low, double *high)
{
    const int n = saltus_variate_parameters(d->op);
    const bool has_bounds = d->n > n;
    *low = d->op == SALTUS_OP_UNIFORM ? d->a[0] : has_bounds ? d->a[n] : -INF;
    *high = d->op == SALTUS_OP_UNIFORM ? d->a[1] : has_bounds ? d->a[n + 1] : INF;
}

/* ---- tests ---- */

/* How far Pearson's statistic is off, in standard deviations (Wilson and Hilferty). */
static double far_off(double statistic, double freedom)
{
    const double v = 2.0 / (9.0 * freedom);
    return (cbrt(statistic / freedom) - 1.0 + v) / sqrt(v);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ends of bins are every so manieth of other variates, so that they lie where values do. */
static void judge_values(const distribution *d, int number)
{
    enum { N_BINS = 50, N_OTHER = 5000 };
    double low, high, ends[N_BINS + 1], statistic = 0.0;
    double *other = malloc(N_OTHER * sizeof *other);
    int seen[N_BINS] = {0};
    assert_non_null(other);
    bounds_of(d, &low, &high);
    for (int i = 0; i < N_OTHER; ++i) {
        other[i] = draw(d, 1, (uint64_t)i);
    }
    qsort(other, N_OTHER, sizeof *other, compare);
    for (int b = 1; b < N_BINS; ++b) {
        ends[b] = other[b * (N_OTHER / N_BINS)];
    }
    free(other);
    ends[0] = low;
    ends[N_BINS] = high;
    for (int i = 0; i < N_DRAWN; ++i) {
        const double x = draw(d, 2, (uint64_t)i);
        int b = 0;
        if (!(low <= x && x <= high)) {
            fail_msg("case %d: %g does not lie between its bounds", number, x);
        }
        while (b + 1 < N_BINS && x > ends[b + 1]) {
            ++b;
        }
        ++seen[b];
    }
    const double all = between(d, low, high);
    for (int b = 0; b < N_BINS; ++b) {
        const double expected = N_DRAWN * between(d, ends[b], ends[b + 1]) / all;
        if (!(expected > 0.2 * N_DRAWN / N_BINS)) {
            fail_msg("case %d: bin %d, from %g to %g: %d seen, %g expected", number, b, ends[b],
                     ends[b + 1], seen[b], expected);
        }
        statistic += (seen[b] - expected) * (seen[b] - expected) / expected;
    }
    if (!(fabs(far_off(statistic, N_BINS - 1)) < 5.0)) {
        fail_msg("case %d: chi-square %.1f of %d bins", number, statistic, N_BINS);
    }
}

static void judge_numbers(const distribution *d, int number)
{
    enum { MOST = 40000 };
    double low, high, statistic = 0.0, all = 0.0, o = 0.0, e = 0.0;
    int *seen = calloc(MOST + 1, sizeof *seen), n_terms = 0;
    assert_non_null(seen);
    bounds_of(d, &low, &high);
    for (int i = 0; i < N_DRAWN; ++i) {
        const double x = draw(d, 3, (uint64_t)i);
        if (!(low <= x && x <= high && x == floor(x) && x >= 0.0 && x < MOST)) {
            fail_msg("case %d: %g cannot be", number, x);
        }
        ++seen[(int)x];
    }
    for (int k = 0; k <= MOST; ++k) {
        all += k >= low && k <= high ? of_number(d, k) : 0.0;
    }
    for (int k = 0; k <= MOST; ++k) { /* neighbours together until 50 are expected */
        o += seen[k];
        e += k >= low && k <= high ? N_DRAWN * of_number(d, k) / all : 0.0;
        if (e >= 50.0) {
            statistic += (o - e) * (o - e) / e;
            ++n_terms;
            o = e = 0.0;
        }
    }
    free(seen);
    assert_true(n_terms >= 2);
    assert_true(fabs(o - e) <= 5.0 * sqrt(e) + 5.0);
    if (!(far_off(statistic, n_terms - 1) < 5.0)) {
        fail_msg("case %d: chi-square %.1f of %d values", number, statistic, n_terms);
    }
}

static void distributions_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; ++i) {
        if (is_whole(&cases[i])) {
            judge_numbers(&cases[i], i);
        } else {
            judge_values(&cases[i], i);
        }
    }
}

/* Means and variances at sizes where no table of probabilities can be summed. */
static void large_numbers_have_their_moments(void **state)
{
    static const distribution large[] = {
        {SALTUS_OP_POISSON, 1, {1e9}},           {SALTUS_OP_POISSON, 1, {1e14}},
        {SALTUS_OP_BINOMIAL, 2, {1e9, 0.3}},     {SALTUS_OP_BINOMIAL, 2, {1e14, 0.5}},
        {SALTUS_OP_BINOMIAL, 2, {1e15, 0.9999}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof *large; ++i) {
        const distribution *d = &large[i];
        const bool is_poisson = d->op == SALTUS_OP_POISSON;
        const double mean = is_poisson ? d->a[0] : d->a[0] * d->a[1];
        const double variance = is_poisson ? mean : mean * (1.0 - d->a[1]);
        double s1 = 0.0, s2 = 0.0, s4 = 0.0;
        for (int k = 0; k < N_DRAWN; ++k) {
            const double z = (draw(d, 4, (uint64_t)k) - mean) / sqrt(variance);
            s1 += z / N_DRAWN;
            s2 += z * z / N_DRAWN;
            s4 += z * z * z * z / N_DRAWN;
        }
        assert_true(fabs(s1) < 5.0 / sqrt(N_DRAWN));
        assert_true(fabs(s2 - 1.0) < 5.0 * sqrt(2.0 / N_DRAWN));
        assert_true(fabs(s4 - 3.0) < 5.0 * sqrt(96.0 / N_DRAWN));
    }
}

static void a_scale_of_zero_leaves_one_value(void **state)
{
    static const distribution fixed[] = {{SALTUS_OP_NORMAL, 2, {3.0, 0.0}},
                                         {SALTUS_OP_LAPLACE, 2, {3.0, 0.0}},
                                         {SALTUS_OP_CAUCHY, 4, {3.0, 0.0, 1.0, 3.0}},
                                         {SALTUS_OP_UNIFORM, 2, {3.0, 3.0}},
                                         {SALTUS_OP_BINOMIAL, 2, {3.0, 1.0}}};
    const distribution none[] = {
        {SALTUS_OP_POISSON, 1, {0.0}},       {SALTUS_OP_BINOMIAL, 2, {0.0, 0.5}},
        {SALTUS_OP_BINOMIAL, 2, {9.0, 0.0}}, {SALTUS_OP_GAMMA, 2, {2.0, 0.0}},
        {SALTUS_OP_RAYLEIGH, 1, {0.0}},      {SALTUS_OP_LAPLACE, 4, {0.0, 1.0, 0.0, 0.0}}};
    (void)state;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i) {
        assert_true(draw(&fixed[i], 5, i) == 3.0);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        assert_true(draw(&none[i], 5, i) == 0.0);
    }
}

static void what_cannot_be_drawn_is_named(void **state)
{
    static const struct {
        distribution d;
        int wrong;
    } bad[] = {
        {{SALTUS_OP_NORMAL, 2, {0.0, -1.0}}, 1},
        {{SALTUS_OP_NORMAL, 2, {INF, 1.0}}, 0},
        {{SALTUS_OP_NORMAL, 4, {0.0, 1.0, 2.0, 1.0}}, 3},
        {{SALTUS_OP_UNIFORM, 2, {2.0, 1.0}}, 1},
        {{SALTUS_OP_EXPONENTIAL, 1, {0.0}}, 0},
        {{SALTUS_OP_GAMMA, 2, {0.0, 1.0}}, 0},
        {{SALTUS_OP_GAMMA, 2, {1.0, -1.0}}, 1},
        {{SALTUS_OP_POISSON, 1, {-0.5}}, 0},
        {{SALTUS_OP_POISSON, 1, {1e300}}, 0},
        {{SALTUS_OP_BINOMIAL, 2, {2.5, 0.5}}, 0},
        {{SALTUS_OP_BINOMIAL, 2, {-1.0, 0.5}}, 0},
        {{SALTUS_OP_BINOMIAL, 2, {5.0, 1.5}}, 1},
        {{SALTUS_OP_BERNOULLI, 1, {-0.1}}, 0},
        {{SALTUS_OP_CHISQUARE, 1, {-1.0}}, 0},
        {{SALTUS_OP_RAYLEIGH, 1, {-1.0}}, 0},
        {{SALTUS_OP_LAPLACE, 2, {0.0, -1.0}}, 1},
        {{SALTUS_OP_CAUCHY, 2, {0.0, -1.0}}, 1},
        /* in order, but nothing lies between the bounds */
        {{SALTUS_OP_NORMAL, 4, {0.0, 0.0, 1.0, 2.0}}, -1},
        {{SALTUS_OP_POISSON, 3, {2.0, 1.2, 1.8}}, -1},
        {{SALTUS_OP_BINOMIAL, 4, {5.0, 0.5, 6.0, 9.0}}, -1},
        {{SALTUS_OP_EXPONENTIAL, 3, {1.0, -2.0, -1.0}}, -1},
        {{SALTUS_OP_RAYLEIGH, 3, {1.0, -2.0, -1.0}}, -1},
        {{SALTUS_OP_GAMMA, 4, {1.0, 1.0, 80.0, 90.0}}, -1},
        {{SALTUS_OP_LOGNORMAL, 4, {0.0, 1.0, -2.0, -1.0}}, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const distribution *d = &bad[i].d;
        assert_int_equal(saltus_variate_wrong(d->op, d->n, d->a), bad[i].wrong);
        assert_true(isnan(draw(d, 6, i)));
    }
    const distribution nan_bound = {SALTUS_OP_NORMAL, 4, {0.0, 1.0, (double)NAN, 1.0}};
    assert_int_equal(saltus_variate_wrong(nan_bound.op, 4, nan_bound.a), 2);
}

/* Compilers, processors and GPUs make the same bits. */
static void bits_are_the_same_everywhere(void **state)
{
    uint64_t hash = 14695981039346656037u;
    (void)state;
    for (int i = 0; i < N_CASES; ++i) {
        for (uint64_t k = 0; k < 1000; ++k) {
            const double x = draw(&cases[i], (uint64_t)i << 40, k);
            uint64_t bits;
            memcpy(&bits, &x, sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
    }
    if (hash != 0xa111ad8843e899beu) {
        fail_msg("hash 0x%016llx", (unsigned long long)hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_are_right),
        cmocka_unit_test(large_numbers_have_their_moments),
        cmocka_unit_test(a_scale_of_zero_leaves_one_value),
        cmocka_unit_test(what_cannot_be_drawn_is_named),
        cmocka_unit_test(bits_are_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
