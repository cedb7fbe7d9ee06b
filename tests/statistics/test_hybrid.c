/* Method hybrid: exact moments and distributions, noise between samples, sums that stay, bits of
 * the direct method where counts are small, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/passages.h"
#include "../support/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is found ---- */

static double value(const samples *s, int64_t i, int64_t point, int64_t column)
{
    return s->x[(i * s->n_points + point) * s->n_columns + column];
}

/* The covariance of two columns, each at its point; of the same, the variance. */
static double covariance(const samples *s, int64_t p, int64_t c, int64_t q, int64_t d)
{
    double a = 0.0, b = 0.0, sum = 0.0;
    for (int64_t i = 0; i < s->n; ++i) {
        a += value(s, i, p, c);
        b += value(s, i, q, d);
    }
    a /= (double)s->n;
    b /= (double)s->n;
    for (int64_t i = 0; i < s->n; ++i) {
        sum += (value(s, i, p, c) - a) * (value(s, i, q, d) - b);
    }
    return sum / (double)(s->n - 1);
}

static double mean(const samples *s, int64_t point, int64_t column)
{
    double sum = 0.0;
    for (int64_t i = 0; i < s->n; ++i) {
        sum += value(s, i, point, column);
    }
    return sum / (double)s->n;
}

/* Mean and variance of a column, near to Gaussian, against exact ones: 5 standard errors, and a
 * share that the method may be off by. */
static void check_moments(const samples *s, int64_t point, int64_t column, double exact,
                          double variance, double share, const char *what)
{
    const double n = (double)s->n;
    check_near(mean(s, point, column), exact, 5.0 * sqrt(variance / n) + share * exact, what);
    check_near(covariance(s, point, column, point, column), variance,
               (5.0 * sqrt(2.0 / n) + 2.0 * share) * variance, what);
}

/* ---- linear networks, of which all is known ---- */

static const char birth_death[] = "species: {X: 2000}\n"
                                  "reactions:\n"
                                  "  make: 0 -> X @ 5000\n"
                                  "  die: X -> 0 @ 1\n";

/* Those that were there at first are binomial, those that came are Poisson; the covariance of two
 * times is the earlier variance times what survives. Samples are far apart, and within one step. */
static void birth_and_death_keep_their_noise(void **state)
{
    enum { N_TIMES = 9 };
    const double times[N_TIMES] = {0.01, 0.05, 0.2, 1.0, 4.0, 4.02, 4.1, 4.5, 6.0};
    saltus_plan_options o = options("hybrid", NULL);
    (void)state;
    samples s = run(birth_death, &o, times, N_TIMES, scaled(40000));
    double variances[N_TIMES];
    for (int i = 0; i < N_TIMES; ++i) {
        const double stay = exp(-times[i]);
        variances[i] = 2000.0 * stay * (1.0 - stay) + 5000.0 * (1.0 - stay);
        check_moments(&s, i, 0, 2000.0 * stay + 5000.0 * (1.0 - stay), variances[i], 2e-3, "X");
    }
    for (int i = 4; i + 1 < N_TIMES; ++i) {
        const double expected = variances[i] * exp(times[i] - times[i + 1]);
        const double sd = sqrt(variances[i] * variances[i + 1] * 2.0 / (double)s.n);
        check_near(covariance(&s, i, 0, i + 1, 0), expected, 5.0 * sd, "covariance");
    }
    assert_int_equal(s.report.events, 0);
    free(s.x);
}

/* Between samples that are far less than a step apart a path moves as far as it should. */
static void paths_within_steps_are_no_rougher(void **state)
{
    enum { N_TIMES = 41 };
    static const char slow[] = "species: {X: 20000}\n"
                               "reactions: {make: 0 -> X @ 20, die: X -> 0 @ 0.001}\n";
    double times[N_TIMES], sum = 0.0;
    saltus_plan_options o = options("hybrid", NULL);
    (void)state;
    for (int i = 0; i < N_TIMES; ++i) {
        times[i] = 3000.0 + 5.0 * i;
    }
    samples s = run(slow, &o, times, N_TIMES, scaled(2000));
    for (int64_t k = 0; k < s.n; ++k) {
        for (int i = 1; i < N_TIMES; ++i) {
            const double moved = value(&s, k, i, 0) - value(&s, k, i - 1, 0);
            sum += moved * moved;
        }
    }
    const double n = (double)s.n * (N_TIMES - 1), expected = 2.0 * 20000.0 * (1.0 - exp(-0.005));
    check_near(sum / n, expected, (5.0 * sqrt(2.0 / n) + 0.02) * expected, "square of a move");
    free(s.x);
}

/* At both ends of a pulse the noise is that of the pulse's side: what decays in it is binomial. */
static void pulses_have_the_noise_of_their_side(void **state)
{
    static const char text[] = "species: {X: 100000}\n"
                               "reactions: {die: {equation: X -> 0, law: "
                               "\"0.14*X*piecewise(1, rem(time, 24) < 1, 0)\"}}\n";
    const double times[] = {100.0}, stay = exp(-0.14 * 5.0);
    saltus_plan_options o = options("hybrid", NULL);
    (void)state;
    samples s = run(text, &o, times, 1, scaled(2000));
    check_moments(&s, 0, 0, 1e5 * stay, 1e5 * stay * (1.0 - stay), 2e-3, "X");
    free(s.x);
}

/* A sum that reactions keep is kept in every sample, and isomers are binomial, however fast they
 * change beside what else happens. */
static void isomers_are_binomial_and_none_is_lost(void **state)
{
    static const char *const speeds[] = {"1", "300", "1e5"};
    const double times[] = {0.0, 0.5, 1.1, 3.0};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 20000, B: 0, G: 1, H: 0}\nparameters: {f: %s}\nreactions:\n"
                       "  there: A -> B @ f\n  back: B -> A @ 2*f\n"
                       "  on: H -> G @ 1\n  off: G -> H @ 1\n",
                       speeds[k]);
        saltus_plan_options o = options("hybrid", NULL);
        samples s = run(text, &o, times, 4, scaled(5000));
        for (int64_t i = 0; i < s.n; ++i) {
            for (int p = 0; p < 4; ++p) {
                assert_true(value(&s, i, p, 0) + value(&s, i, p, 1) == 20000.0);
                assert_true(value(&s, i, p, 2) + value(&s, i, p, 3) == 1.0);
            }
        }
        for (int p = 1; p < 4; ++p) {
            const double f = strtod(speeds[k], NULL);
            const double a = (2.0 + exp(-3.0 * f * times[p])) / 3.0;
            check_moments(&s, p, 0, 20000.0 * a, 20000.0 * a * (1.0 - a), 3e-3, speeds[k]);
        }
        free(s.x);
    }
}

/* Two binding partners and their complex: three species, two sums, one of them a difference. */
static void binding_loses_nothing(void **state)
{
    static const char text[] = "species: {A: 30000, B: 20000, C: 0, D: 0}\n"
                               "reactions:\n"
                               "  bind: A + B -> C @ 1e-4\n"
                               "  part: C -> A + B @ 1\n"
                               "  pair: 2 C -> D @ 1e-4\n"
                               "  split: D -> 2 C @ 1\n";
    enum { N_TIMES = 41 };
    double times[N_TIMES];
    (void)state;
    for (int i = 0; i < N_TIMES; ++i) {
        times[i] = 0.1 * i;
    }
    saltus_plan_options o = options("hybrid", NULL);
    samples s = run(text, &o, times, N_TIMES, 50);
    for (int64_t i = 0; i < s.n; ++i) {
        for (int p = 0; p < N_TIMES; ++p) {
            const double c = value(&s, i, p, 2) + 2.0 * value(&s, i, p, 3);
            assert_true(value(&s, i, p, 0) + c == 30000.0);
            assert_true(value(&s, i, p, 1) + c == 20000.0);
        }
    }
    free(s.x);
}

/* One of few molecules that sixteen reactions bind: together these are rounded by as much as there
 * is of it, and often, as what takes a while ends. */
static void rounding_takes_no_more_than_there_is(void **state)
{
    enum { PARTNERS = 16 };
    const double times[] = {0.6, 1.2};
    char text[4000];
    int n = snprintf(text, sizeof text, "species: {Z: 0, A: 12");
    (void)state;
    for (int k = 0; k < PARTNERS; ++k) {
        n += snprintf(text + n, sizeof text - (size_t)n, ", X%d: 25, C%d: 25", k, k);
    }
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "}\nreactions:\n  late: {equation: 0 -> Z, rate: 60, delay: 0.01}\n");
    for (int k = 0; k < PARTNERS; ++k) {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  bind%d: A + X%d -> C%d @ 0.03\n  part%d: C%d -> A + X%d @ 0.3\n", k, k, k,
                      k, k, k);
    }
    saltus_plan_options o = options("hybrid", NULL);
    o.continuous = 10;
    samples s = run(text, &o, times, 2, 40);
    for (int64_t i = 0; i < s.n; ++i) {
        for (int p = 0; p < 2; ++p) {
            double bound = 0.0;
            assert_true(value(&s, i, p, 1) >= 0.0);
            for (int k = 0; k < PARTNERS; ++k) {
                assert_true(value(&s, i, p, 2 + 2 * k) + value(&s, i, p, 3 + 2 * k) == 50.0);
                bound += value(&s, i, p, 3 + 2 * k);
            }
            assert_true(value(&s, i, p, 1) + bound == 12.0 + 25.0 * PARTNERS);
        }
    }
    free(s.x);
}

/* Reactions of six and of eight molecules are events where fewer than that flow: at 5.6 of A their
 * laws are no 0, as they are at 5. */
static void no_event_takes_parts_of_molecules(void **state)
{
    static const char *const orders[] = {
        "6 A -> H @ 0.02", "8 A -> H @ 0.05",
        "{equation: 6 A -> H, law: A*(A - 1)*(A - 2)*(A - 3)*(A - 4)*(A - 5)/(1 + A)}"};
    const double times[] = {1.0, 3.0};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 12, H: 0}\n"
                       "reactions:\n  in: 0 -> A @ 200\n  out: A -> 0 @ 22\n  join: %s\n",
                       orders[k]);
        saltus_plan_options o = options("hybrid", NULL);
        o.continuous = 10;
        samples s = run(text, &o, times, 2, 500);
        for (int64_t i = 0; i < 2 * s.n; ++i) {
            assert_true(s.x[i * s.n_columns] >= 0.0);
        }
        assert_true(mean(&s, 1, 1) > 1.0);
        free(s.x);
    }
}

/* ---- few molecules that drive many ---- */

/* X = 20000 y + noise, where y is beta with parameters of the switch (test_rates.c), and X given y
 * is Poisson: its distribution by integration over y. */
static double below(double x)
{
    enum { STEPS = 4000 };
    const double a = 0.5, b = 0.7, most = 20000.0;
    double sum = 0.0;
    for (int i = 0; i < STEPS; ++i) { /* y = sin^2, so that the density has no poles */
        const double angle = (i + 0.5) * 0.5 * 3.14159265358979323846 / STEPS;
        const double y = sin(angle) * sin(angle), m = most * y;
        const double weight = 2.0 * pow(sin(angle), 2.0 * a - 1.0) * pow(cos(angle), 2.0 * b - 1.0);
        sum += weight * 0.5 * erfc((m - x - 0.5) / sqrt(2.0 * m + 1e-9));
    }
    return sum * 0.5 * 3.14159265358979323846 / STEPS * exp(lgamma(a + b) - lgamma(a) - lgamma(b));
}

static void a_switched_protein_is_beta(void **state)
{
    static const char text[] = "species: {G: 0, H: 1, X: 2000}\n"
                               "reactions:\n"
                               "  on: H -> G @ 0.5\n"
                               "  off: G -> H @ 0.7\n"
                               "  make: G -> G + X @ 20000\n"
                               "  die: X -> 0 @ 1\n";
    enum { BINS = 12 };
    static const double edges[BINS - 1] = {300,  800,   1500,  2500,  4000, 6000,
                                           9000, 12000, 15000, 17500, 19300};
    const double t = 25.0;
    double counts[BINS] = {0}, chi = 0.0, before = 0.0;
    saltus_plan_options o = options("hybrid", "X");
    (void)state;
    samples s = run(text, &o, &t, 1, scaled(50000));
    for (int64_t i = 0; i < s.n; ++i) {
        int bin = 0;
        while (bin < BINS - 1 && s.x[i] > edges[bin]) {
            ++bin;
        }
        ++counts[bin];
    }
    for (int b = 0; b < BINS; ++b) {
        const double up_to = b < BINS - 1 ? below(edges[b]) : 1.0;
        const double expected = (up_to - before) * (double)s.n;
        chi += (counts[b] - expected) * (counts[b] - expected) / expected;
        before = up_to;
    }
    assert_true(chi < BINS - 1 + 5.0 * sqrt(2.0 * (BINS - 1)));
    const double m = 20000.0 * 0.5 / 1.2, spread = m * m * (0.7 / 0.5) / 2.2;
    check_near(mean(&s, 0, 0), m, 5.0 * sqrt((spread + m) / (double)s.n), "mean");
    free(s.x);
}

/* Laws that bend at the mean of what fluctuates see its deviations: 20,000 molecules come and go,
 * of variance 20,000 (1 - e^-2t). */
static void laws_that_bend_follow_deviations(void **state)
{
    static const char text[] =
        "species: {X: 20000, Y: 0, Z: 0, W: 0}\n"
        "reactions:\n"
        "  make: 0 -> X @ 20000\n"
        "  die: X -> 0 @ 1\n"
        "  square: {equation: 0 -> Y, law: \"0.0001*(X - 20000)^2\"}\n"
        "  above: {equation: 0 -> Z, law: \"0.1*max(0, X - 20000)\"}\n"
        "  often: {equation: 0 -> W, law: \"piecewise(10, X > 20300, 0)\"}\n";
    enum { PANELS = 4000 };
    const double t = 10.0;
    double square = 0.0, above = 0.0, often = 0.0;
    saltus_plan_options o = options("hybrid", "Y,Z,W");
    (void)state;
    for (int i = 0; i < PANELS; ++i) {
        const double at = t * (i + 0.5) / PANELS, width = t / PANELS;
        const double sd = sqrt(20000.0 * (1.0 - exp(-2.0 * at)));
        square += width * 1e-4 * sd * sd;
        above += width * 0.1 * sd * 0.3989422804;
        often += width * 10.0 * 0.5 * erfc(300.5 / sd / sqrt(2.0));
    }
    samples s = run(text, &o, &t, 1, scaled(1500));
    const double expected[] = {square, above, often};
    for (int column = 0; column < 3; ++column) {
        const double error = sqrt(covariance(&s, 0, column, 0, column) / (double)s.n);
        check_near(mean(&s, 0, column), expected[column], 5.0 * error + 0.05 * expected[column],
                   "a law that bends");
    }
    free(s.x);
}

/* Each law alone, so that no other makes steps short: one that is 0 within a standard deviation of
 * the mean, one that is 0 beyond it too, and one that consumes what it reads seldom. */
static void laws_that_bend_far_away_are_met(void **state)
{
    static const char *const laws[] = {"piecewise(1, X > 2060, 0)", "piecewise(1, X < 1940, 0)",
                                       "exp(-((X - 2070)/8)^2)"};
    enum { PANELS = 3000, FAR = 400 };
    const double t = 10.0, pi = 3.14159265358979324;
    saltus_plan_options o = options("hybrid", "Y");
    (void)state;
    for (int law = 0; law < 3; ++law) {
        double expected = 0.0;
        char text[300];
        for (int i = 0; i < PANELS; ++i) { /* normal with the skewness of a Poisson number */
            const double at = t * (i + 0.5) / PANELS;
            const double sd = sqrt(2000.0 * (1.0 - exp(-2.0 * at)));
            for (int x = 2000 - FAR; x <= 2000 + FAR; ++x) {
                const double z = (x - 2000) / sd, skew = (z * z * z - 3.0 * z) / 6.0 / sqrt(2000.0);
                const double rate = law == 0   ? x > 2060
                                    : law == 1 ? x < 1940
                                               : exp(-(x - 2070) * (x - 2070) / 64.0);
                expected +=
                    rate * (1.0 + skew) * exp(-0.5 * z * z) / sd / sqrt(2.0 * pi) * t / PANELS;
            }
        }
        (void)snprintf(text, sizeof text,
                       "species: {X: 2000, Y: 0}\nreactions:\n  make: 0 -> X @ 2000\n"
                       "  die: X -> 0 @ 1\n  seldom: {equation: 0 -> Y, law: \"%s\"}\n",
                       laws[law]);
        samples s = run(text, &o, &t, 1, scaled(1500));
        const double error = sqrt(covariance(&s, 0, 0, 0, 0) / (double)s.n);
        check_near(mean(&s, 0, 0), expected, 5.0 * error + 0.05 * expected, laws[law]);
        free(s.x);
    }
}

/* What flows by a law that jumps stays where this holds it: 2900 molecules rise to 3000, above
 * which more are lost than made. Exactly by uniformisation (Jensen 1953,
 * doi:10.1080/03461238.1953.10419459). */
static void laws_that_jump_hold_what_flows(void **state)
{
    enum { LEAST = 2700, N = 600, JUMPS = 2200 };
    static const char text[] =
        "species: {S: 2900}\nreactions:\n  make: {equation: 0 -> S, law: 2000}\n"
        "  lose: {equation: S -> 0, law: \"piecewise(2200, S >= 3000, 1600)\"}\n";
    const double t = 0.4, all = 4200.0;
    static double now[N], next[N];
    double sums[3] = {0}, weight = -all * t; /* its logarithm */
    saltus_plan_options o = options("hybrid", "S");
    (void)state;
    memset(now, 0, sizeof now);
    now[2900 - LEAST] = 1.0;
    for (int k = 1; k <= JUMPS; ++k) {
        for (int i = 1; i < N - 1; ++i) {
            const double x = LEAST + i, part = exp(weight) * now[i];
            sums[0] += part;
            sums[1] += part * x;
            sums[2] += part * x * x;
            const double lost = LEAST + i >= 3000 ? 2200.0 : 1600.0;
            const double lost_above = LEAST + i + 1 >= 3000 ? 2200.0 : 1600.0;
            next[i] = now[i] * (1.0 - (2000.0 + lost) / all) + now[i - 1] * (2000.0 / all) +
                      now[i + 1] * (lost_above / all);
        }
        memcpy(now, next, sizeof now);
        weight += log(all * t / k);
    }
    assert_true(fabs(sums[0] - 1.0) < 1e-9);
    const double exact = sums[1], variance = sums[2] - exact * exact;
    samples s = run(text, &o, &t, 1, scaled(4000));
    check_near(mean(&s, 0, 0), exact, 5.0 * sqrt(variance / (double)s.n) + 0.5, "a law that jumps");
    check_near(covariance(&s, 0, 0, 0, 0), variance,
               (5.0 * sqrt(6.0 / (double)s.n) + 0.2) * variance, "a law that jumps");
    free(s.x);
}

/* How many trajectories have met a threshold that what fluctuates seldom passes: exactly by the
 * birth-death chain that ends there, whose generator was exponentiated. A threshold is passed back
 * and forth by molecules; where it is passed for good, the mean of how often is the direct
 * method's, and what only falls passes it once.
 */
static void thresholds_are_met_by_noise(void **state)
{
    saltus_plan_options o = options("hybrid", "G");
    (void)state;
    for (int i = 0; i < N_PASSAGES; ++i) {
        char text[PASSAGE_SIZE];
        write_passage(&passages[i], text);
        samples s = run(text, &o, &passages[i].until, 1, scaled(700));
        const double share = passages[i].share;
        check_near(mean(&s, 0, 0), share, 5.0 * sqrt(share * (1.0 - share) / (double)s.n) + 0.01,
                   text);
        free(s.x);
    }
    static const char *const back[] = {
        "species: {P: 5000, Q: 4000, N: 0}\nreactions:\n  a: 0 -> P @ 5000\n  b: P -> 0 @ 1\n"
        "  c: 0 -> Q @ 6000\n  d: Q -> 0 @ 1\nevents: {e: {when: P > Q, set: {N: N + 1}}}\n",
        "species: {P: 1500, Q: 1500, N: 0}\nreactions:\n  a: 0 -> P @ 1500\n  b: P -> 0 @ 1\n"
        "  c: 0 -> Q @ 1500\n  d: Q -> 0 @ 1\n"
        "events: {e: {when: 0.5*(P + Q) < P && P > 1000, set: {N: N + 1}}}\n"};
    const double until = 5.0;
    samples s;
    for (int i = 0; i < 2; ++i) {
        const int64_t n = scaled(i == 0 ? 2000 : 300);
        saltus_plan_options exact = options("direct", "N");
        o = options("hybrid", "N");
        s = run(back[i], &o, &until, 1, n);
        samples d = run(back[i], &exact, &until, 1, n);
        const double error =
            sqrt((covariance(&s, 0, 0, 0, 0) + covariance(&d, 0, 0, 0, 0)) / (double)s.n);
        check_near(mean(&s, 0, 0), mean(&d, 0, 0), 5.0 * error, "back and forth");
        free(s.x);
        free(d.x);
    }
    static const char falls[] = "species: {P: 5000, N: 0}\nreactions: {gone: P -> 0 @ 1}\n"
                                "events: {e: {when: P > 3000, set: {N: N + 1}}}\n";
    s = run(falls, &o, &until, 1, scaled(500));
    check_near(mean(&s, 0, 0), 0.0, 0.0, "back");
    free(s.x);
}

/* What fires near a threshold is what may pass it: W, which is rare, keeps its noise beside a count
 * that does so all the time, and A and B flow, of which only the sum is watched. */
static void thresholds_hold_nothing_else(void **state)
{
    static const char text[] =
        "species: {P: 2000, Y: 5000, W: 5000, A: 5000, B: 5000}\nparameters: {n: 0}\nreactions:\n"
        "  make: 0 -> P @ 2000\n  die: P -> 0 @ 1\n  slow: Y -> W @ 1e-5\n"
        "  turn: A -> B @ 100\n  back: B -> A @ 100\nevents:\n"
        "  often: {when: P > 2000, set: {n: n + 1}}\n"
        "  never: {when: A + B < 10000, set: {n: n - 1000000}}\n";
    const double t = 10.0, w = 5000.0 * (1.0 - exp(-1e-5 * t));
    saltus_plan_options o = options("hybrid", "W,n");
    (void)state;
    samples s = run(text, &o, &t, 1, scaled(200));
    check_near(mean(&s, 0, 0) - 5000.0, w, 5.0 * sqrt(w / (double)s.n) + 0.05, "W");
    check_near(covariance(&s, 0, 0, 0, 0), w, 5.0 * sqrt((w + 2.0 * w * w) / (double)s.n) + 0.1,
               "its variance");
    assert_true(mean(&s, 0, 1) > 10.0);
    assert_true(s.report.events < 60000 * s.n); /* of A and B alone there are 10,000,000 each */
    free(s.x);
}

/* Events that read many molecules: Y, of few, has noise of its own and what comes of that of X,
 * which is as large here: Var Y = E Y + (c / d) Cov, by the linear equations of both moments. */
static void noise_reaches_events(void **state)
{
    static const char text[] = "species: {X: 2000, Y: 400}\n"
                               "reactions:\n"
                               "  make: 0 -> X @ 2000\n"
                               "  die: X -> 0 @ 6\n"
                               "  burst: {equation: 0 -> 200 X, rate: 50}\n"
                               "  copy: X -> X + Y @ 0.05\n"
                               "  gone: Y -> 0 @ 0.5\n";
    const double t = 15.0;
    /* (E X)' = 2000 + 10000 - 6 E X; the source of noise of X: squares of changes, times rates */
    const double x = 2000.0, loss = 6.0, source = 2000.0 + loss * x + 200.0 * 200.0 * 50.0;
    const double var_x = source / (2.0 * loss), cov = 0.05 * var_x / (loss + 0.5);
    const double y = 0.05 * x / 0.5, var_y = y + 0.05 * cov / 0.5;
    saltus_plan_options o = options("hybrid", NULL);
    (void)state;
    samples s = run(text, &o, &t, 1, scaled(2500));
    check_moments(&s, 0, 0, x, var_x, 5e-3, "X");
    check_moments(&s, 0, 1, y, var_y, 5e-3, "Y");
    assert_true(s.report.events > 0);
    free(s.x);
}

/* Rounding for events, and for reactions that end, is no noise of what flows meanwhile, and takes
 * none of it: X decays alone, while other things happen thousands of times. */
static void what_happens_beside_a_flow_leaves_it_alone(void **state)
{
    static const char *const beside[] = {
        "  slow: {equation: 0 -> Y, rate: 3000, delay: 0.3}\n",
        "events:\n  tick: {when: 'rem(time, 0.002) < 0.001', set: {k: k + 1}}\n",
        "  on: H -> G @ 3000\n  off: G -> H @ 3000\n"
        "events:\n  switched: {when: G > 0, set: {k: k + 1}}\n",
        "  on: H -> G @ 1000\n  off: G -> H @ 1000\n"
        "events:\n  tick: {when: 'rem(time, 0.002) < 0.001', set: {Y: Y + G}}\n",
        "  fall: C -> 0 @ 0.1\n"
        "events:\n  tick: {when: 'rem(time, 0.002) < 0.001', set: {C: '(C == 0)*5000'}}\n",
    };
    const double times[] = {1.0, 2.0};
    (void)state;
    for (size_t k = 0; k < sizeof beside / sizeof *beside; ++k) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "species: {X: 2000, Y: 0, H: 1, G: 0, C: 0}\nparameters: {k: 0}\n"
                       "reactions:\n  die: X -> 0 @ 0.6\n%s",
                       beside[k]);
        saltus_plan_options o = options("hybrid", NULL);
        samples s = run(text, &o, times, 2, scaled(400));
        for (int i = 0; i < 2; ++i) {
            const double stay = exp(-0.6 * times[i]);
            check_moments(&s, i, 0, 2000.0 * stay, 2000.0 * stay * (1.0 - stay), 2e-3, "X");
        }
        free(s.x);
    }
}

/* What an event sets a thousand times, and what it holds, flows between these as fast as it does
 * alone, and without other noise; what is recorded when it is set is what was set. */
static void what_events_set_flows_on(void **state)
{
    static const char *const watch[] = {
        "", "  switched: {when: G > 0, set: {k: k + 1}}\n"}; /* this one rounds to the nearest */
    const double times[] = {1.0, 1.5};
    (void)state;
    for (int k = 0; k < 4; ++k) {
        char text[700];
        const int holds = k / 2;
        (void)snprintf(text, sizeof text,
                       "species: {A: 2000, B: 2000, H: 1, G: 0}\nparameters: {k: 0}\nreactions:\n"
                       "  turn: A -> B @ 0.02\n  on: H -> G @ 1\n  off: G -> H @ 1\nevents:\n"
                       "  tick: {when: 'rem(time, 0.002) < 0.001 && time < 1.4', set: {A: %s}}\n"
                       "  last: {at: 1.5, set: {A: 1789}}\n%s",
                       holds ? "2000" : "A + 1", watch[k % 2]);
        saltus_plan_options o = options("hybrid", NULL);
        samples s = run(text, &o, times, 2, scaled(300));
        const double stay = exp(-0.02), left = (1.0 - stay) / 0.02;
        const double twice = (1.0 - stay * stay) / 0.04, turned = 500.0 * (1.0 - left);
        if (holds) {
            check_moments(&s, 0, 1, 2000.0 + 40.0, 40.0, 1e-3, "B of A that is held");
        } else {
            check_moments(&s, 0, 0, 2000.0 * stay + 500.0 * left,
                          2000.0 * stay * (1.0 - stay) + 500.0 * (left - twice), 1e-3, "A");
            check_near(mean(&s, 0, 1), 2000.0 + 2000.0 * (1.0 - stay) + turned, 4.0, "B");
        }
        for (int64_t i = 0; i < s.n; ++i) {
            assert_true(value(&s, i, 1, 0) == 1789.0);
        }
        free(s.x);
    }
}

/* ---- against the direct method ---- */

static const struct {
    const char *name, *text;
    double t;
    int64_t n;
} models[] = {
    /* Gillespie 2001, from 20000 */
    {"dimer decay",
     "species: {S1: 20000, S2: 0, S3: 0}\n"
     "reactions: {decay: S1 -> 0 @ 1, dimerise: 2 S1 -> S2 @ 0.002, split: S2 -> 2 S1 @ 0.5, "
     "convert: S2 -> S3 @ 0.04}\n",
     4.0, 4000},
    /* predator and prey, with as many as flow and stop in turn */
    {"Lotka-Volterra",
     "species: {A: 1200, B: 1000}\n"
     "reactions: {birth: A -> 2 A @ 1, eat: A + B -> 2 B @ 0.001, death: B -> 0 @ 1}\n",
     5.0, 2000},
    /* a gene that its own protein switches off */
    {"self-repression",
     "species: {G: 1, R: 0, M: 0, P: 1500}\n"
     "reactions: {bind: G + P -> R @ 1e-3, free: R -> G + P @ 1, write: G -> G + M @ 40, "
     "fade: M -> 0 @ 1, make: M -> M + P @ 100, die: P -> 0 @ 0.5}\n",
     8.0, 1500},
    /* rate laws of Michaelis and Menten, through a rule */
    {"saturation",
     "species: {S: 8000, P: 0}\nparameters: {V: 3000, K: 2000, k: 0.1}\nrules: {part: S/(K + S)}\n"
     "reactions:\n  there: {equation: S -> P, law: V*part}\n  back: P -> S @ k\n",
     6.0, 4000},
    /* a law that drifts, and one that reads a rate rule */
    {"season",
     "species: {X: 3000, Y: 20}\nparameters: {e: 1}\nrate rules: {e: 0.5 - 0.5*e}\n"
     "reactions:\n  in: {equation: 0 -> X, law: 3000*(1 + 0.5*sin(time))}\n  out: X -> 0 @ 1\n"
     "  make: {equation: 0 -> Y, law: 0.01*e*X}\n  gone: Y -> 0 @ 1\n",
     5.0, 1000},
};

static void moments_are_those_of_the_direct_method(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k) {
        saltus_plan_options o = options("direct", NULL), h = options("hybrid", NULL);
        o.rtol = 1e-4;
        const int64_t n = scaled(models[k].n);
        samples exact = run(models[k].text, &o, &models[k].t, 1, n);
        samples s = run(models[k].text, &h, &models[k].t, 1, n);
        for (int64_t c = 0; c < s.n_columns; ++c) {
            const double variance = covariance(&exact, 0, c, 0, c), m = mean(&exact, 0, c);
            double fourth = 0.0;
            for (int64_t i = 0; i < n; ++i) {
                fourth += pow(value(&exact, i, 0, c) - m, 4.0) / (double)n;
            }
            const double of_variance = sqrt((fourth - variance * variance) / (double)n);
            check_near(mean(&s, 0, c), m, 5.0 * sqrt(2.0 * variance / (double)n) + 2e-3 * m,
                       models[k].name);
            check_near(covariance(&s, 0, c, 0, c), variance,
                       5.0 * sqrt(2.0) * of_variance + 0.04 * variance, models[k].name);
        }
        free(exact.x);
        free(s.x);
    }
}

static const char small[] = "species: {A: 40, B: 0, C: 5}\n"
                            "parameters: {k: 1}\n"
                            "rules: {r: A + 2*B}\n"
                            "reactions:\n"
                            "  there: A -> B @ 1\n"
                            "  back: {equation: B -> A, law: k*B*(1 + r/100)}\n"
                            "  in: 0 -> C @ 3\n"
                            "  out: C -> 0 @ 0.2\n"
                            "  late: {equation: C -> A, rate: 0.1, delay: 0.5}\n"
                            "events:\n"
                            "  faster: {when: time >= 3, set: {k: 2}}\n"
                            "  many: {when: C > 12, delay: 0.3, set: {C: C - 8}}\n";

static void few_molecules_have_the_bits_of_the_direct_method(void **state)
{
    const double times[] = {0.0, 1.0, 5.0, 9.0, 30.0};
    saltus_plan_options o = options("direct", NULL), h = options("hybrid", NULL);
    (void)state;
    samples exact = run(small, &o, times, 5, 300), s = run(small, &h, times, 5, 300);
    assert_int_equal(s.report.events, exact.report.events);
    assert_int_equal(s.n_columns, exact.n_columns);
    assert_memory_equal(s.x, exact.x, (size_t)(300 * 5 * s.n_columns) * sizeof *s.x);
    free(s.x);
    free(exact.x);
    h.continuous = 10; /* and now others */
    exact = run(small, &o, times, 5, 300);
    s = run(small, &h, times, 5, 300);
    assert_memory_not_equal(s.x, exact.x, (size_t)(300 * 5 * s.n_columns) * sizeof *s.x);
    free(s.x);
    free(exact.x);
}

/* ---- bits ---- */

/* What flows and stops, events, triggers on both, a rate rule, division. */
static const char mixed[] = "species: {G: 0, H: 1, X: 800, Y: 0, Z: 3000}\n"
                            "parameters: {y: 0.5, n: 0}\n"
                            "rules: {r: X/1000 + y}\n"
                            "rate rules: {y: G - 0.3*y}\n"
                            "reactions:\n"
                            "  on: {equation: H -> G, law: H*(0.5 + y)}\n"
                            "  off: G -> H @ 0.7\n"
                            "  make: {equation: G -> G + X, law: 3000*G}\n"
                            "  die: X -> 0 @ 1\n"
                            "  pair: {equation: X + Z -> Y, law: 1e-5*X*Z}\n"
                            "  part: {equation: Y -> X + Z, law: r*Y}\n"
                            "events:\n"
                            "  high: {when: y > 0.9, set: {y: 0.2, n: n + 1}}\n"
                            "  many: {when: X > 2500, delay: 0.1, set: {X: 'binomial(X, 0.5)'}}\n";

static void sample_times_change_no_bit(void **state)
{
    static const int64_t sizes[] = {1, 2, 13, 601};
    static const char *const texts[] = {birth_death, mixed};
    (void)state;
    for (int m = 0; m < 2; ++m) {
        const saltus_plan_options o = options("hybrid", NULL);
        check_times_change_no_bit(texts[m], &o, 6.0, sizes, 50);
    }
}

static void instruction_sets_and_threads_change_no_bit(void **state)
{
    static const char *const devices[] = {"cpu:generic", "cpu:avx2", "cpu:avx512", "cpu"};
    const double times[] = {1.0, 5.0};
    samples first = {0};
    int n_compared = 0;
    (void)state;
    for (int d = 0; d < 4; ++d) {
        samples s;
        saltus_error err = {0};
        saltus_plan_options o = options("hybrid", NULL);
        o.n_threads = 1 + d % 2;
        const saltus_status status = try_run(mixed, devices[d], &o, times, 2, 60, &s, &err);
        if (status == SALTUS_E_UNAVAILABLE) {
            continue;
        }
        OK(status);
        if (!first.x) {
            first = s;
            continue;
        }
        assert_int_equal(s.report.events, first.report.events);
        assert_memory_equal(s.x, first.x, (size_t)(60 * 2 * s.n_columns) * sizeof *s.x);
        free(s.x);
        ++n_compared;
    }
    free(first.x);
    assert_true(n_compared >= 1);
}

/* ---- what is far from equilibrium, and what cannot be ---- */

/* Decay from many to none: the flow stops on its way, and the rest are events. The last goes after
 * a time with Gumbel's distribution: P(none left) = (1 - exp(-t))^n. */
static void the_last_molecule_decays_exactly(void **state)
{
    static const char text[] = "species: {A: 100000}\nreactions: {r: A -> 0 @ 1}\n";
    const double times[] = {11.0, 12.0, 14.0};
    saltus_plan_options o = options("hybrid", NULL);
    (void)state;
    samples s = run(text, &o, times, 3, scaled(20000));
    for (int p = 0; p < 3; ++p) {
        const double stay = exp(-times[p]), none = exp(1e5 * log1p(-stay));
        double n_none = 0.0;
        for (int64_t i = 0; i < s.n; ++i) {
            n_none += value(&s, i, p, 0) == 0.0;
        }
        check_near(n_none / (double)s.n, none, 5.0 * sqrt(none * (1.0 - none) / (double)s.n),
                   "none left");
        check_moments(&s, p, 0, 1e5 * stay, 1e5 * stay * (1.0 - stay), 0.05, "A");
    }
    free(s.x);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *text, *rng, *layout;
        int64_t continuous;
        saltus_status status;
        const char *says;
    } cases[] = {
        {birth_death, "philox", "auto", 9, SALTUS_E_INVALID, "continuous from 9 molecules on"},
        {birth_death, "xorwow", "auto", 1000, SALTUS_E_INVALID, "philox alone"},
        {birth_death, "philox", "lanes", 1000, SALTUS_E_INVALID, "auto and scalar"},
        {"species: {A: 5}\nreactions: {r: {equation: A -> 0, law: 'A*piecewise(1, time < A, "
         "2)'}}\n",
         "philox", "auto", 1000, SALTUS_E_UNSUPPORTED,
         "a time at which something switches follows counts"},
        {"species: {A: 5000}\nreactions: {r: {equation: A -> 0, law: 'A*(1 - time)'}}\n", "philox",
         "auto", 1000, SALTUS_E_NUMERIC, "reaction 'r': propensity"},
        {"species: {A: 2}\nreactions: {r: {equation: 0 -> A, law: '(2.9 - time)/2'}}\n", "philox",
         "auto", 1000, SALTUS_E_NUMERIC, "time 3: reaction 'r': propensity -0.05"},
        {"species: {A: 5000}\nreactions: {r: {equation: A -> 2 A, law: A*A}}\n", "philox", "auto",
         1000, SALTUS_E_NUMERIC, "'A'"},
        {"species: {A: 5000}\nreactions: {r: {equation: A -> 0, law: 'A/(time - 2)^2'}}\n",
         "philox", "auto", 1000, SALTUS_OK, ""},
    };
    const double t = 3.0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        samples s;
        saltus_error err = {0};
        saltus_plan_options o = options("hybrid", NULL);
        o.rng = cases[i].rng;
        o.layout = cases[i].layout;
        o.continuous = cases[i].continuous;
        const saltus_status got = try_run(cases[i].text, "cpu", &o, &t, 1, 1, &s, &err);
        if (got != cases[i].status || !strstr(err.message, cases[i].says)) {
            fail_msg("%zu: %d: %s\nnot: %s", i, (int)got, err.message, cases[i].says);
        }
        free(s.x);
    }
}

/* A pattern of names takes a part of the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(birth_and_death_keep_their_noise),
        cmocka_unit_test(paths_within_steps_are_no_rougher),
        cmocka_unit_test(pulses_have_the_noise_of_their_side),
        cmocka_unit_test(isomers_are_binomial_and_none_is_lost),
        cmocka_unit_test(binding_loses_nothing),
        cmocka_unit_test(rounding_takes_no_more_than_there_is),
        cmocka_unit_test(no_event_takes_parts_of_molecules),
        cmocka_unit_test(a_switched_protein_is_beta),
        cmocka_unit_test(laws_that_bend_follow_deviations),
        cmocka_unit_test(laws_that_bend_far_away_are_met),
        cmocka_unit_test(laws_that_jump_hold_what_flows),
        cmocka_unit_test(thresholds_are_met_by_noise),
        cmocka_unit_test(thresholds_hold_nothing_else),
        cmocka_unit_test(noise_reaches_events),
        cmocka_unit_test(what_happens_beside_a_flow_leaves_it_alone),
        cmocka_unit_test(what_events_set_flows_on),
        cmocka_unit_test(moments_are_those_of_the_direct_method),
        cmocka_unit_test(few_molecules_have_the_bits_of_the_direct_method),
        cmocka_unit_test(sample_times_change_no_bit),
        cmocka_unit_test(instruction_sets_and_threads_change_no_bit),
        cmocka_unit_test(the_last_molecule_decays_exactly),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
