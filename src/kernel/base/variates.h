/**
 * Variates of the distributions that expressions may name: `normal(m, s)` and its like, as in the
 * package distrib of SBML, one at a time and the same bits on every target.
 *
 * Every variate of a trajectory has a number, and that number has blocks of random words of its
 * own, so a variate is a function of (seed, trajectory, number, parameters), whoever asks. Methods:
 *
 * - normal: Box and Muller, Ann. Math. Stat. 29 (1958) 610; between bounds: C. P. Robert, Stat.
 *   Comput. 5 (1995) 121, doi:10.1007/BF00143942, propositions 2.1 to 2.3
 * - gamma: Marsaglia and Tsang, ACM Trans. Math. Softw. 26 (2000) 363, doi:10.1145/358407.358414
 * - poisson, binomial: inversion where the mean is below 10, else transformed rejection, algorithms
 *   PTRS and BTRS of W. Hörmann (doi:10.1016/0167-6687(93)90997-4, doi:10.1080/00949659308811496),
 *   with logarithms of probabilities as deviances (C. Loader, "Fast and accurate computation of
 *   binomial probabilities", 2000), so that large terms do not cancel
 * - the others by inversion
 *
 * All are exact but for the rounding of doubles. Bounds, where a distribution takes them, belong to
 * what is drawn.
 */
#ifndef SALTUS_KERNEL_BASE_VARIATES_H
#define SALTUS_KERNEL_BASE_VARIATES_H

#include "kernel/base/math.h"
#include "kernel/base/math_trig.h"
#include "kernel/base/ops.h"
#include "kernel/base/poisson.h"
#include "kernel/base/rng.h"

#if SALTUS_LANES == 1

enum {
    SALTUS_VARIATE_ARGS = 4,      /**< parameters, then both bounds */
    SALTUS_VARIATE_BITS = 20,     /**< of a block's number: its place among those of a variate */
    SALTUS_VARIATE_TRIES = 65536, /**< attempts to hit what lies between bounds */
    SALTUS_VARIATE_MISSES = 32,   /**< after so many, whole numbers are chosen one by one */
};

/** What is wrong beside a parameter: hardly anything of the distribution lies between its bounds.
 */
enum { SALTUS_VARIATE_NOTHING = SALTUS_VARIATE_ARGS };

static const double saltus_variate_largest = 0x1p50; /* mean of poisson, trials of binomial */

/** The random words of one variate. */
typedef struct saltus_chance {
    uint64_t seed, trajectory, block;
} saltus_chance;

SALTUS_FN saltus_chance saltus_chance_of(uint64_t seed, uint64_t trajectory, uint64_t number)
{
    saltus_chance c;
    c.seed = seed;
    c.trajectory = trajectory;
    c.block = number << SALTUS_VARIATE_BITS;
    return c;
}

/** Two uniform numbers above 0 and below 1, of 53 bits. */
SALTUS_OUTLINE void saltus_chance_next(saltus_chance *c, double u[2])
{
    saltus_u64 w[4];
    saltus_philox(c->seed, SALTUS_PURPOSE_VARIATE, c->trajectory, c->block++, w);
    for (int i = 0; i < 2; ++i) {
        u[i] = saltus_uniform52(SALTUS_LANE(w[2 * i], 0), SALTUS_LANE(w[2 * i + 1], 0));
    }
}

SALTUS_FN double saltus_nothing(void)
{
    return SALTUS_INFINITY - SALTUS_INFINITY;
}

/* ---- small functions ---- */

/* 1 - exp(-x) for x >= 0. */
SALTUS_FN double saltus_rise(double x)
{
    return x < 1e-3 ? x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x / 120.0))))
                    : 1.0 - saltus_exp(-x);
}

/* ln(1 - p) for 0 <= p <= 1/2. */
SALTUS_OUTLINE double saltus_log_rest(double p)
{
    if (p > 0.01) {
        return saltus_log(1.0 - p);
    }
    double sum = 0.0;
    SALTUS_ONE_BY_ONE
    for (int i = 9; i > 0; --i) {
        sum = p * (1.0 / (double)i + sum);
    }
    return -sum;
}

/* What Stirling's formula leaves of ln n!, n whole and at least 1. */
SALTUS_OUTLINE double saltus_stirling_rest(double n)
{
    if (n < 10.0) {
        return saltus_log_factorial[(int)n] -
               ((n + 0.5) * saltus_log(n) - n + 0x1.d67f1c864beb5p-1);
    }
    const double i = 1.0 / n, i2 = i * i;
    return i * (1.0 / 12.0 - i2 * (1.0 / 360.0 - i2 * (1.0 / 1260.0 - i2 / 1680.0)));
}

/* x ln(x / m) + m - x, x and m above 0: Loader's deviance. */
SALTUS_OUTLINE double saltus_deviance(double x, double m)
{
    if (!(saltus_abs(x - m) < 0.1 * (x + m))) {
        return x * saltus_log(x / m) + m - x;
    }
    const double v = (x - m) / (x + m);
    double sum = (x - m) * v, term = 2.0 * x * v;
    SALTUS_ONE_BY_ONE
    for (int j = 1; j < 40; ++j) {
        term *= v * v;
        sum += term / (double)(2 * j + 1);
    }
    return sum;
}

/* ---- continuous distributions, standardized ---- */

SALTUS_OUTLINE double saltus_draw_normal(saltus_chance *c)
{
    double u[2];
    saltus_chance_next(c, u);
    return saltus_sqrt(-2.0 * saltus_log(u[0])) * saltus_cos(6.28318530717958648 * u[1]);
}

/* Of mean 1, between 0 and `room`. */
SALTUS_OUTLINE double saltus_draw_exponential(saltus_chance *c, double room)
{
    double u[2];
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        saltus_chance_next(c, u);
        const double x = room < 1.0 ? room * u[0] : -saltus_log(u[0]);
        if (room < 1.0 ? u[1] < saltus_exp(-x) : x <= room) {
            return x;
        }
    }
    return saltus_nothing();
}

/* A standard normal variate between 0 <= a and b: by exponential proposals, of the rate that
 * accepts most, or by uniform ones where the interval is short (Robert, propositions 2.3, 2.1). */
SALTUS_FN double saltus_draw_normal_tail(saltus_chance *c, double a, double b)
{
    const double rate = 0.5 * (a + saltus_sqrt(a * a + 4.0));
    const int is_short = (b - a) * rate < 2.0;
    double u[2];
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        saltus_chance_next(c, u);
        const double x = is_short ? a + (b - a) * u[0] : a - saltus_log(u[0]) / rate;
        const double e = is_short ? 0.5 * (x - a) * (x + a) : 0.5 * (x - rate) * (x - rate);
        if (x <= b && u[1] <= saltus_exp(-e)) {
            return x;
        }
    }
    return saltus_nothing();
}

/* A standard normal variate between a and b. */
SALTUS_OUTLINE double saltus_draw_normal_between(saltus_chance *c, double a, double b)
{
    if (a > 0.0) {
        return saltus_draw_normal_tail(c, a, b);
    }
    if (b < 0.0) {
        return -saltus_draw_normal_tail(c, -b, -a);
    }
    const int is_short = b - a < 2.5;
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        double x, u[2] = {0.0, 0.0};
        if (is_short) {
            saltus_chance_next(c, u);
            x = a + (b - a) * u[0];
        } else {
            x = saltus_draw_normal(c);
        }
        if (is_short ? u[1] < saltus_exp(-0.5 * x * x) : a <= x && x <= b) {
            return x;
        }
    }
    return saltus_nothing();
}

/* Of scale 1 and this shape, between a and b. */
SALTUS_OUTLINE double saltus_draw_gamma(saltus_chance *c, double shape, double a, double b)
{
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const double r = 1.0 / (3.0 * saltus_sqrt(d));
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        const double x = saltus_draw_normal(c);
        double v = 1.0 + r * x, u[2];
        if (!(v > 0.0)) {
            continue;
        }
        v = v * v * v;
        saltus_chance_next(c, u);
        if (!(saltus_log(u[0]) < 0.5 * x * x + d * (1.0 - v + saltus_log(v)))) {
            continue;
        }
        const double y = shape < 1.0 ? d * v * saltus_pow(u[1], 1.0 / shape) : d * v;
        if (a <= y && y <= b) {
            return y;
        }
    }
    return saltus_nothing();
}

/* Of scale 1 around 0, between a and b: a side by its weight, then an exponential variate. */
SALTUS_OUTLINE double saltus_draw_laplace(saltus_chance *c, double a, double b)
{
    double u[2];
    saltus_chance_next(c, u);
    const double left = a < 0.0 && b > 0.0 ? saltus_rise(-a) : 0.0;
    const double right = a < 0.0 && b > 0.0 ? saltus_rise(b) : 0.0;
    const int is_left = left + right > 0.0 ? u[0] * (left + right) < left : b <= 0.0;
    if (is_left) {
        const double from = b < 0.0 ? -b : 0.0;
        return -from - saltus_draw_exponential(c, -a - from);
    }
    const double from = a > 0.0 ? a : 0.0;
    return from + saltus_draw_exponential(c, b - from);
}

/* Of scale 1 around 0, between a and b: by inversion, from that end of the circle where the angle
 * keeps its digits. */
SALTUS_OUTLINE double saltus_draw_cauchy(saltus_chance *c, double a, double b)
{
    double u[2];
    saltus_chance_next(c, u);
    if (a > 1.0) {
        const double far = saltus_atan(1.0 / b), near = saltus_atan(1.0 / a);
        return 1.0 / saltus_tan(far + (near - far) * u[0]);
    }
    if (b < -1.0) {
        const double far = saltus_atan(1.0 / a), near = saltus_atan(1.0 / b);
        return 1.0 / saltus_tan(far + (near - far) * u[0]);
    }
    const double low = saltus_atan(a);
    return saltus_tan(low + (saltus_atan(b) - low) * u[0]);
}

/* ---- whole numbers ---- */

/* ln of the probability of k >= 0. */
SALTUS_OUTLINE double saltus_log_poisson(double k, double mean)
{
    return k < 1.0 ? -mean
                   : -saltus_stirling_rest(k) - saltus_deviance(k, mean) -
                         0.5 * saltus_log(6.28318530717958648 * k);
}

SALTUS_OUTLINE double saltus_draw_poisson(saltus_chance *c, double mean)
{
    double u[2], k = 0.0;
    if (!(mean > 0.0)) {
        return 0.0;
    }
    if (mean < saltus_poisson_inversion) {
        saltus_chance_next(c, u);
        return saltus_poisson_invert(mean, u[0]);
    }
    const saltus_poisson law = saltus_poisson_of(mean);
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        saltus_mask open;
        saltus_chance_next(c, u);
        if (saltus_poisson_propose(&law, u[0], u[1], &k, &open)) {
            return k;
        }
        const double us = saltus_poisson_edge(u[0]);
        const double height =
            u[1] * (1.1239 + 1.1328 / (law.b - 3.4)) / (law.a / (us * us) + law.b);
        if (open && saltus_log(height) <= saltus_log_poisson(k, mean)) {
            return k;
        }
    }
    return saltus_nothing();
}

/* ln of the probability of k among n, 0 < p <= 1/2. */
SALTUS_OUTLINE double saltus_log_binomial(double k, double n, double p)
{
    const double q = 1.0 - p, rest = n - k;
    if (k < 1.0) {
        return n * saltus_log_rest(p);
    }
    if (rest < 1.0) {
        return n * saltus_log(p);
    }
    return saltus_stirling_rest(n) - saltus_stirling_rest(k) - saltus_stirling_rest(rest) -
           saltus_deviance(k, n * p) - saltus_deviance(rest, n * q) +
           0.5 * saltus_log(n / (6.28318530717958648 * k) / rest);
}

/* BTRS, for n p >= 10 and p <= 1/2. */
SALTUS_FN double saltus_draw_binomial_many(saltus_chance *c, double n, double p)
{
    const double spread = saltus_sqrt(n * p * (1.0 - p));
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double squeeze = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
    const double mode = saltus_floor((n + 1.0) * p), most = saltus_log_binomial(mode, n, p);
    double u[2];
    for (int i = 0; i < SALTUS_VARIATE_TRIES; ++i) {
        saltus_chance_next(c, u);
        const double us = 0.5 - saltus_abs(u[0] - 0.5);
        const double k = saltus_floor((2.0 * a / us + b) * (u[0] - 0.5) + n * p + 0.5);
        if (us >= 0.07 && u[1] <= squeeze) {
            return k;
        }
        if (0.0 <= k && k <= n &&
            saltus_log(u[1] * alpha / (a / (us * us) + b)) <= saltus_log_binomial(k, n, p) - most) {
            return k;
        }
    }
    return saltus_nothing();
}

/* Inversion, for n p < 10 and p <= 1/2. */
SALTUS_FN double saltus_draw_binomial_few(saltus_chance *c, double n, double p)
{
    double u[2], weight = saltus_exp(n * saltus_log_rest(p)), k = 0.0;
    saltus_chance_next(c, u);
    double left = u[0];
    /* where rounding has left some of the number, far out, there is no more probability */
    while (left >= weight && k < n && (k < n * p || weight > 0x1p-60)) {
        left -= weight;
        weight *= (n - k) / (k + 1.0) * (p / (1.0 - p));
        k += 1.0;
    }
    return k;
}

SALTUS_OUTLINE double saltus_draw_binomial(saltus_chance *c, double n, double p)
{
    const double less = p > 0.5 ? 1.0 - p : p;
    if (!(less > 0.0 && n > 0.0)) {
        return p > 0.5 ? n : 0.0;
    }
    const double k = n * less < 10.0 ? saltus_draw_binomial_few(c, n, less)
                                     : saltus_draw_binomial_many(c, n, less);
    return p > 0.5 ? n - k : k;
}

/* The probability of k + 1 over that of k: poisson of mean a, or binomial of a and b. */
SALTUS_FN double saltus_next_over_this(int op, double a, double b, double k)
{
    return op == SALTUS_OP_POISSON ? a / (k + 1.0) : (a - k) / (k + 1.0) * (b / (1.0 - b));
}

/* One of the whole numbers from low to high, by their probabilities relative to that of the most
 * probable among them, upwards and downwards from it; what is below 2^-60 of the sum is left out.
 */
SALTUS_OUTLINE double saltus_draw_one_by_one(saltus_chance *c, int op, double a, double b,
                                             double low, double high)
{
    const double mode = saltus_floor(op == SALTUS_OP_POISSON ? a : (a + 1.0) * b);
    const double first = mode < low ? low : mode > high ? high : mode;
    double u[2], sum = 0.0, goal = 0.0;
    saltus_chance_next(c, u);
    for (int pass = 0; pass < 2; ++pass) {
        double weight = 1.0, total = 0.0;
        for (double k = first; k <= high && weight > 0x1p-60 * total; k += 1.0) {
            total += weight;
            if (pass == 1 && goal < total) {
                return k;
            }
            weight *= saltus_next_over_this(op, a, b, k);
        }
        weight = 1.0;
        for (double k = first - 1.0; k >= low && weight > 0x1p-60 * total; k -= 1.0) {
            weight /= saltus_next_over_this(op, a, b, k);
            total += weight;
            if (pass == 1 && goal < total) {
                return k;
            }
        }
        sum = total;
        goal = sum * u[0];
    }
    return first;
}

/* ---- parameters ---- */

SALTUS_FN int saltus_is_finite(double x)
{
    return x - x == 0.0;
}

SALTUS_FN int saltus_is_share(double p)
{
    return p >= 0.0 && p <= 1.0;
}

/* Whether parameter i of a distribution is one. */
SALTUS_FN int saltus_variate_takes(int op, int i, const double *a)
{
    const double x = a[i];
    switch (op) {
    case SALTUS_OP_UNIFORM:
        return saltus_is_finite(x) && (i == 0 || x >= a[0]);
    case SALTUS_OP_EXPONENTIAL:
    case SALTUS_OP_CHISQUARE:
        return saltus_is_finite(x) && x > 0.0;
    case SALTUS_OP_GAMMA:
        return saltus_is_finite(x) && (i == 0 ? x > 0.0 : x >= 0.0);
    case SALTUS_OP_POISSON:
        return x >= 0.0 && x <= saltus_variate_largest;
    case SALTUS_OP_BINOMIAL:
        return i == 1 ? saltus_is_share(x)
                      : x >= 0.0 && x <= saltus_variate_largest && x == saltus_floor(x);
    case SALTUS_OP_BERNOULLI:
        return saltus_is_share(x);
    case SALTUS_OP_RAYLEIGH:
        return saltus_is_finite(x) && x >= 0.0;
    default: /* location and scale */
        return saltus_is_finite(x) && (i == 0 || x >= 0.0);
    }
}

SALTUS_FN int saltus_variate_parameters(int op)
{
    switch (op) {
#define SALTUS_PARAMETERS(name, text, n, bounded) \
    case SALTUS_OP_##name:                        \
        return n;
        /* several have as many: NOLINTNEXTLINE(bugprone-branch-clone) */
        SALTUS_VARIATE_LIST(SALTUS_PARAMETERS)
#undef SALTUS_PARAMETERS
    default:
        return 0;
    }
}

/** The argument that is none, 0 …, or -1: all are. a[n]: parameters, then bounds or none. */
SALTUS_OUTLINE int saltus_variate_wrong(int op, int n, const double *a)
{
    const int n_parameters = saltus_variate_parameters(op);
    for (int i = 0; i < n_parameters; ++i) {
        if (!saltus_variate_takes(op, i, a)) {
            return i;
        }
    }
    for (int i = n_parameters; i < n; ++i) {
        if (!(a[i] == a[i]) || (i > n_parameters && a[i] < a[i - 1])) {
            return i;
        }
    }
    return -1;
}

/* Distributions from which values may be drawn, a bit for each in the order of SALTUS_VARIATE_LIST.
 * Kernels of a model have no others, because their compilation takes its time. */
#ifndef SALTUS_DISTRIBUTIONS
#define SALTUS_DISTRIBUTIONS 0xffffffffu
#endif
#define SALTUS_DRAWS(name) \
    ((SALTUS_DISTRIBUTIONS >> (SALTUS_OP_##name - SALTUS_OP_FIRST_VARIATE)) & 1u)
#define SALTUS_IF_DRAWN(name, value) (SALTUS_DRAWS(name) ? (value) : 0.0)

SALTUS_FN double saltus_draw_whole(saltus_chance *c, int op, double a, double b, double low,
                                   double high)
{
    const double least = saltus_ceil(low), most = saltus_floor(high);
    const int varies = op == SALTUS_OP_POISSON ? a > 0.0 : a > 0.0 && b > 0.0 && b < 1.0;
    for (int i = 0; i < SALTUS_VARIATE_MISSES; ++i) {
        const double k = op == SALTUS_OP_POISSON
                             ? SALTUS_IF_DRAWN(POISSON, saltus_draw_poisson(c, a))
                             : SALTUS_IF_DRAWN(BINOMIAL, saltus_draw_binomial(c, a, b));
        if (least <= k && k <= most) {
            return k;
        }
    }
    const double from = least < 0.0 ? 0.0 : least;
    const double to = op == SALTUS_OP_BINOMIAL && most > a ? a : most;
    return varies && from <= to ? saltus_draw_one_by_one(c, op, a, b, from, to) : saltus_nothing();
}

/* A variate between bounds, of parameters that are in order; NaN: hardly anything lies there. */
SALTUS_FN double saltus_variate_between(saltus_chance *c, int op, double a, double b, double low,
                                        double high)
{
    double u[2];
    switch (op) {
    case SALTUS_OP_UNIFORM:
        saltus_chance_next(c, u);
        return a + (b - a) * u[0];
    case SALTUS_OP_NORMAL:
        return SALTUS_IF_DRAWN(
            NORMAL, a + b * saltus_draw_normal_between(c, (low - a) / b, (high - a) / b));
    case SALTUS_OP_LOGNORMAL:
        low = low > 0.0 ? (saltus_log(low) - a) / b : -SALTUS_INFINITY;
        high = high > 0.0 ? (saltus_log(high) - a) / b : -SALTUS_INFINITY;
        return high == low && high < 0.0 && !saltus_is_finite(high)
                   ? saltus_nothing()
                   : SALTUS_IF_DRAWN(LOGNORMAL,
                                     saltus_exp(a + b * saltus_draw_normal_between(c, low, high)));
    case SALTUS_OP_EXPONENTIAL:
        low = low > 0.0 ? low : 0.0;
        return high < low ? saltus_nothing()
                          : SALTUS_IF_DRAWN(EXPONENTIAL,
                                            low + saltus_draw_exponential(c, (high - low) * a) / a);
    case SALTUS_OP_GAMMA:
        return SALTUS_IF_DRAWN(GAMMA, b * saltus_draw_gamma(c, a, low / b, high / b));
    case SALTUS_OP_CHISQUARE:
        return SALTUS_IF_DRAWN(CHISQUARE,
                               2.0 * saltus_draw_gamma(c, 0.5 * a, 0.5 * low, 0.5 * high));
    case SALTUS_OP_RAYLEIGH: {
        low = low > 0.0 ? 0.5 * (low / a) * (low / a) : 0.0;
        const double room = high > 0.0 ? 0.5 * (high / a) * (high / a) - low : -1.0;
        return room < 0.0
                   ? saltus_nothing()
                   : SALTUS_IF_DRAWN(
                         RAYLEIGH, a * saltus_sqrt(2.0 * (low + saltus_draw_exponential(c, room))));
    }
    case SALTUS_OP_LAPLACE:
        return SALTUS_IF_DRAWN(LAPLACE,
                               a + b * saltus_draw_laplace(c, (low - a) / b, (high - a) / b));
    case SALTUS_OP_CAUCHY:
        return SALTUS_IF_DRAWN(CAUCHY,
                               a + b * saltus_draw_cauchy(c, (low - a) / b, (high - a) / b));
    case SALTUS_OP_BERNOULLI:
        saltus_chance_next(c, u);
        return u[0] < a ? 1.0 : 0.0;
    default:
        return saltus_draw_whole(c, op, a, b, low, high);
    }
}

/* Whether the scale is 0, so that there is one value, a. */
SALTUS_FN int saltus_variate_is_fixed(int op, const double *a)
{
    return ((op == SALTUS_OP_NORMAL || op == SALTUS_OP_LOGNORMAL || op == SALTUS_OP_LAPLACE ||
             op == SALTUS_OP_CAUCHY || op == SALTUS_OP_GAMMA) &&
            a[1] == 0.0) ||
           (op == SALTUS_OP_RAYLEIGH && a[0] == 0.0);
}

/**
 * Variate number `number` of a trajectory.
 *
 * @param op  the distribution, one of SALTUS_VARIATE_LIST
 * @param a   [n] its parameters, then its bounds if it is to have some
 * @return    NaN where a parameter is impossible (saltus_variate_wrong says which), or where 65536
 *            attempts have hit nothing between the bounds
 */
SALTUS_OUTLINE double saltus_variate_draw(uint64_t seed, uint64_t trajectory, uint64_t number,
                                          int op, int n, const double *a)
{
    saltus_chance c = saltus_chance_of(seed, trajectory, number);
    if (saltus_variate_wrong(op, n, a) >= 0) {
        return saltus_nothing();
    }
    const int n_parameters = saltus_variate_parameters(op);
    const double low = n > n_parameters ? a[n_parameters] : -SALTUS_INFINITY;
    const double high = n > n_parameters ? a[n_parameters + 1] : SALTUS_INFINITY;
    if (saltus_variate_is_fixed(op, a)) {
        const double only = op == SALTUS_OP_LOGNORMAL                           ? saltus_exp(a[0])
                            : op == SALTUS_OP_GAMMA || op == SALTUS_OP_RAYLEIGH ? 0.0
                                                                                : a[0];
        return low <= only && only <= high ? only : saltus_nothing();
    }
    const double x = saltus_variate_between(&c, op, a[0], n_parameters > 1 ? a[1] : 0.0, low, high);
    return x < low ? low : x > high ? high : x; /* rounding may have passed a bound */
}

#endif
#endif
