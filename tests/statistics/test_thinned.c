/* Laws that drift with time: ensembles against exact answers, the same bits whatever is sampled and
 * wherever it runs, and laws that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/master_equation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

/* The counts of n trajectories at time t, [trajectory][species], with samples at n_before times
 * before it. */
static int64_t *counts_at(const char *text, double t, int64_t n, const char *rng, int n_before)
{
    saltus_model *model = bits_parse(text);
    saltus_plan_options plan = saltus_plan_options_default();
    saltus_error err = {0};
    moments m = {.keep_last = true};
    saltus_run_options run = saltus_run_options_default();
    double *times = calloc((size_t)n_before + 1, sizeof *times);
    assert_non_null(times);
    for (int i = 0; i <= n_before; ++i) {
        times[i] = t * (i + 1) / (n_before + 1);
    }
    times[n_before] = t;
    plan.rng = rng;
    plan.n_threads = 2;
    run.seed = 20261125;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_before + 1;
    OK(run_plan(model, "cpu", &plan, &run, &m, &err));
    assert_int_equal(m.n, n);
    int64_t *last = m.last;
    m.last = NULL;
    moments_free(&m);
    saltus_model_destroy(model);
    free(times);
    return last;
}

static void assert_poisson(const char *text, double t, double mean, const char *rng)
{
    double p[MOST + 1];
    const int64_t n = scaled(100000);
    int64_t *x = counts_at(text, t, n, rng, 0);
    for (int k = 0; k <= MOST; ++k) {
        p[k] = exp(k * log(mean) - mean - lgamma(k + 1.0));
    }
    assert_moments(x, n, 1, p, MOST);
    assert_distribution(x, n, 1, p, MOST);
    free(x);
}

/* Of n molecules of the first of n_species, each is left with this probability. */
static void assert_binomial(const char *text, int n_species, double t, int n_molecules, double left)
{
    double p[MOST + 1] = {0.0};
    const int64_t n = scaled(100000);
    int64_t *x = counts_at(text, t, n, "philox", 0);
    for (int k = 0; k <= n_molecules; ++k) {
        p[k] = exp(lgamma(n_molecules + 1.0) - lgamma(k + 1.0) - lgamma(n_molecules - k + 1.0) +
                   k * log(left) + (n_molecules - k) * log1p(-left));
    }
    assert_moments(x, n, n_species, p, MOST);
    assert_distribution(x, n, n_species, p, MOST);
    free(x);
}

/* m' = birth(t) - death(t) m from m = 0, by a method of fourth order; steps end at multiples of
 * 1/2048, where all that jumps in these tests does. */
static double mean_at(double (*birth)(double), double (*death)(double), double t)
{
    const int n = (int)(t * 2048.0);
    double m = 0.0;
    for (int i = 0; i < n; ++i) {
        const double h = 1.0 / 2048.0, a = i * h, inside = 1e-9;
        const double left = a + inside, mid = a + 0.5 * h, right = a + h - inside;
        const double k1 = birth(left) - death(left) * m,
                     k2 = birth(mid) - death(mid) * (m + 0.5 * h * k1),
                     k3 = birth(mid) - death(mid) * (m + 0.5 * h * k2),
                     k4 = birth(right) - death(right) * (m + h * k3);
        m += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }
    return m;
}

static double one(double t)
{
    (void)t;
    return 1.0;
}

/* ---- births and deaths: Poisson at all times ---- */

/* 0 -> X at k (1 + sin w t), X -> 0 at g: the mean is known. */
static void births_follow_a_sine(void **state)
{
    static const struct {
        double k, w, t;
    } cases[] = {{20, 1, 0.3}, {20, 1, 4.5}, {20, 1, 7}, {3, 20, 2}, {0.5, 0.1, 30}, {30, 6, 3.3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const double k = cases[i].k, w = cases[i].w, t = cases[i].t;
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {X: 0}\nparameters: {k: %g, w: %g}\nreactions:\n"
                       "  birth: 0 -> X @ k*(1 + sin(w*time))\n  death: X -> 0 @ 1\n",
                       k, w);
        const double mean =
            k * (1 - exp(-t)) + k * (sin(w * t) - w * cos(w * t) + w * exp(-t)) / (1 + w * w);
        assert_poisson(text, t, mean, "philox");
    }
}

static void other_generators_do_too(void **state)
{
    const double t = 3.0, mean = 20 * (1 - exp(-t)) + 20 * (sin(t) - cos(t) + exp(-t)) / 2;
    (void)state;
    for (int i = 1; i < N_BITS_GENERATORS; ++i) {
        assert_poisson("species: {X: 0}\nreactions:\n  birth: 0 -> X @ 20*(1 + sin(time))\n"
                       "  death: X -> 0 @ 1\n",
                       t, mean, bits_generators[i]);
    }
}

static double by_day(double t)
{
    return fmod(t, 4.0) < 1.5 ? 20.0 : 0.0;
}

static void births_follow_a_periodic_step(void **state)
{
    static const char *const laws[] = {"20*(rem(time, 4) < 1.5)",
                                       "piecewise(20, time - 4*floor(time/4) < 1.5, 0)"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        for (double t = 1.25; t < 10; t += 2.875) {
            char text[300];
            (void)snprintf(text, sizeof text,
                           "species: {X: 0}\nreactions:\n  birth: 0 -> X @ %s\n"
                           "  death: X -> 0 @ 1\n",
                           laws[i]);
            assert_poisson(text, t, mean_at(by_day, one, t), "philox");
        }
    }
}

static double staircase(double t)
{
    return 3.0 * floor(2.0 * t);
}

static double linear_table(double t)
{
    return t < 1.0 ? 4.0 + 16.0 * t : t < 3.0 ? 20.0 - 9.0 * (t - 1.0) : 2.0 + (t - 3.0);
}

static double tabled(double t)
{
    return (t < 3.0 ? linear_table(t) : 2.0) + (t >= 3.5 ? 10.0 : 0.0);
}

static double squared_cosine(double t)
{
    return 0.2 + cos(t) * cos(t);
}

static void births_and_deaths_drift_alike(void **state)
{
    (void)state;
    assert_poisson("species: {X: 0}\nreactions:\n  birth: 0 -> X @ 3*floor(2*time)\n"
                   "  death: X -> 0 @ 1\n",
                   4.25, mean_at(staircase, one, 4.25), "philox");
    /* a rule with segments, which change at known times and are slopes between them */
    static const char table[] =
        "species: {X: 0}\n"
        "rules: {dose: \"piecewise(4 + 16*time, time < 1, 20 - 9*(time - 1), time < 3, "
        "2 + (time - 3))\", c: cos(time), loss: 0.2 + c^2}\n"
        "reactions:\n  birth: 0 -> X @ dose\n  death: X -> 0 @ X*loss\n";
    assert_poisson(table, 0.75, mean_at(linear_table, squared_cosine, 0.75), "philox");
    assert_poisson(table, 2.5, mean_at(linear_table, squared_cosine, 2.5), "philox");
    assert_poisson(table, 5.0, mean_at(linear_table, squared_cosine, 5.0), "philox");
}

/* A spline of four entries, by hand: slopes 15, 0, 0 and -25/3. */
static double splined(double t)
{
    const double u = 0.5 * t - 1.0;
    return t < 1.0   ? t * (15.0 - 5.0 * t * t)
           : t < 2.0 ? 10.0
                     : 10.0 + u * u * (10.0 * u - 40.0) / 3.0;
}

static void births_follow_a_spline(void **state)
{
    static const char text[] = "species: {X: 0}\nreactions:\n"
                               "  birth: 0 -> X @ spline(time, 0, 0, 1, 10, 2, 10, 4, 0)\n"
                               "  death: X -> 0 @ 1\n";
    (void)state;
    assert_poisson(text, 0.75, mean_at(splined, one, 0.75), "philox");
    assert_poisson(text, 3.5, mean_at(splined, one, 3.5), "philox");
}

/* A table that a file could hold as well; it ends at 3, where another takes over. */
static void births_follow_a_table(void **state)
{
    static const char text[] =
        "species: {X: 0}\n"
        "rules: {dose: \"linear(time, 0, 4, 1, 20, 3, 2, inf, 0)\"}\n"
        "reactions:\n"
        "  birth: 0 -> X @ dose + piecewise(held(time, 3, 0, 3.5, 10, 9, 0), time >= 3, 0)\n"
        "  death: X -> 0 @ 1\n";
    (void)state;
    assert_poisson(text, 0.75, mean_at(tabled, one, 0.75), "philox");
    assert_poisson(text, 2.5, mean_at(tabled, one, 2.5), "philox");
    assert_poisson(text, 5.0, mean_at(tabled, one, 5.0), "philox");
}

/* ---- survival: binomial at all times ---- */

static void survival_is_that_of_the_hazard(void **state)
{
    (void)state;
    /* k t^2 */
    assert_binomial("species: {X: 1}\nreactions:\n  die: X -> 0 @ 0.5*time^2*X\n", 1, 1.5, 1,
                    exp(-0.5 * 1.5 * 1.5 * 1.5 / 3));
    assert_binomial("species: {X: 7}\nreactions:\n  die: X -> 0 @ 0.02*time^2*X\n", 1, 4, 7,
                    exp(-0.02 * 64.0 / 3));
    /* Gompertz */
    assert_binomial("species: {X: 20}\nreactions:\n  die: X -> 0 @ 0.1*exp(time/2)*X\n", 1, 3, 20,
                    exp(-0.2 * (exp(1.5) - 1)));
    /* 1 / (1 + t): what is left at t is 1 / (1 + t) */
    assert_binomial("species: {X: 30}\nreactions:\n  die: X -> 0 @ X/(1 + time)\n", 1, 9, 30, 0.1);
    /* a pole ahead, 1 / (5 - t): 1 - t / 5 */
    assert_binomial("species: {X: 30}\nreactions:\n  die: X -> 0 @ X/(5 - time)\n", 1, 4.5, 30,
                    0.1);
    /* a law of more factors, and a species that is not its own */
    assert_binomial("species: {X: 12, E: 3}\nreactions:\n  die: X + E -> E @ X*E*time/(2 + time)\n",
                    2, 1.0, 12, exp(-3.0 * (1.0 - 2.0 * log(1.5))));
}

/* Sixteen reactions, so that the tree has two levels, of which every third drifts: molecules walk
 * from A0 to A16 in any order of hazards, and those in A0 are binomial. */
static void some_of_many_drift(void **state)
{
    char text[2000] = "species: {A0: 15";
    (void)state;
    for (int i = 1; i <= 16; ++i) {
        (void)snprintf(text + strlen(text), 100, ", A%d: 0", i);
    }
    (void)strcat(text, "}\nreactions:\n");
    for (int i = 0; i < 16; ++i) {
        (void)snprintf(text + strlen(text), 100, "  r%d: A0 -> A%d @ %s\n", i, i + 1,
                       i % 3 == 1 ? "A0*0.2*(1 - cos(3*time))" : "0.01");
    }
    /* 5 that drift: 1, 4, 7, 10, 13 */
    const double t = 2.0, left = exp(-(11 * 0.01 * t + 5 * 0.2 * (t - sin(3 * t) / 3)));
    assert_binomial(text, 17, t, 15, left);
}

/* ---- with events and clocks ---- */

/* On at k sin^2 until an event at 2 multiplies k, and a switch at 3 (only just after it) ends it:
 * windows are cut there. */
static double switched(double t)
{
    const double s = sin(t);
    return t > 3.0 ? 0.0 : (t < 2.0 ? 10.0 : 40.0) * s * s;
}

static void windows_end_where_something_happens(void **state)
{
    (void)state;
    static const char text[] =
        "species: {X: 0}\nparameters: {k: 10}\n"
        "reactions:\n  birth: 0 -> X @ k*sin(time)^2*piecewise(1, time <= 3, 0)\n"
        "  death: X -> 0 @ 1\n"
        "events:\n  more: {at: 2, set: {k: 4*k}}\n";
    assert_poisson(text, 1.75, mean_at(switched, one, 1.75), "philox");
    assert_poisson(text, 2.5, mean_at(switched, one, 2.5), "philox");
    assert_poisson(text, 4.0, mean_at(switched, one, 4.0), "philox");
}

/* A gene that is switched on at a (1 - cos t) and off at b: it is on with a probability that
 * follows a linear equation, so its mean is that of births at a(t) and deaths at a(t) + b. */
static double opening(double t)
{
    return 1.0 - cos(t);
}

static double relaxing(double t)
{
    return opening(t) + 0.5;
}

static void a_gene_is_on_by_day(void **state)
{
    (void)state;
    for (double t = 0.5; t < 10; t += 3.25) {
        assert_binomial("species: {on: 0, off: 1}\nreactions:\n"
                        "  open: off -> on @ off*(1 - cos(time))\n  close: on -> off @ 0.5\n",
                        2, t, 1, mean_at(opening, relaxing, t));
    }
}

static double late_sine(double t)
{
    return t < 1.5 ? 0.0 : 10.0 * (1.0 + sin(2.0 * (t - 1.5)));
}

static void what_drifts_may_take_a_while(void **state)
{
    (void)state;
    for (double t = 2.0; t < 7.0; t += 2.25) {
        assert_poisson("species: {X: 0}\nreactions:\n"
                       "  birth: {equation: 0 -> X, rate: 10*(1 + sin(2*time)), delay: 1.5}\n"
                       "  death: X -> 0 @ 1\n",
                       t, mean_at(late_sine, one, t), "philox");
    }
}

/* ---- bits ---- */

static void sample_times_change_nothing(void **state)
{
    static const int before[] = {1, 7, 500};
    (void)state;
    int64_t *expected = counts_at(bits_drifting, 6.0, 300, "philox", 0);
    for (int i = 0; i < 3; ++i) {
        int64_t *x = counts_at(bits_drifting, 6.0, 300, "philox", before[i]);
        assert_memory_equal(x, expected, sizeof *x * 300 * 3);
        free(x);
    }
    free(expected);
}

/* Tables of counts, in lanes and alone. */
static void tables_have_the_same_bits(void **state)
{
    static const double times[] = {0.5, 1, 2, 4};
    saltus_model *m =
        bits_parse("species: {A: 40, B: 3}\nreactions:\n"
                   "  a: 0 -> A @ linear(B, 0, 30, 10, 5, 20, 6, inf, 0)\n"
                   "  b: A -> B @ held(A, 0, 0, 1, 2, 10, 7, 30, 9, inf, 0)\n  c: B -> 0 @ 0.5\n");
    (void)state;
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 5, 300, times, 4);
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (bits_has(bits_devices[d])) {
            assert_int_equal(bits_hash(m, bits_devices[d], "lanes", 1, 5, 300, times, 4), expected);
        }
    }
    const saltus_plan_options scalar = bits_plan("tau", "philox", "scalar", 1),
                              lanes = bits_plan("tau", "philox", "lanes", 1);
    assert_int_equal(bits_hash_plan(m, "cpu", &lanes, 5, 300, times, 4),
                     bits_hash_plan(m, "cpu", &scalar, 5, 300, times, 4));
    saltus_model_destroy(m);
}

static void instruction_sets_have_the_same_bits(void **state)
{
    double times[40];
    int n_compared = 0;
    (void)state;
    for (int i = 0; i < 40; ++i) {
        times[i] = 0.2 * i;
    }
    saltus_model *m = bits_parse(bits_drifting);
    for (int g = 0; g < N_BITS_GENERATORS; ++g) {
        const uint64_t expected =
            bits_hash_rng(m, bits_generators[g], "cpu:generic", "scalar", 1, 5, 200, times, 40);
        for (int d = 0; d < N_BITS_DEVICES; ++d) {
            if (bits_has(bits_devices[d])) {
                for (int threads = 1; threads < 4; ++threads) {
                    assert_int_equal(bits_hash_rng(m, bits_generators[g], bits_devices[d], "auto",
                                                   threads, 5, 200, times, 40),
                                     expected);
                    ++n_compared;
                }
            }
        }
    }
    assert_true(n_compared >= 12);
    saltus_model_destroy(m);
}

/* What lanes do together and singly, in windows that end for all reasons: functions of intervals of
 * the time and of counts, laws without a bound for a while, which the scalar engine bounds, events
 * at given times, two levels of sums, a count that a law takes below 0 in vain. */
static const char mixed[] =
    "species: {A: 40, B: 3, C: 0}\nparameters: {k: 2}\n"
    "rules: {wave: 1 + sin(3*time), slow: wave*A/(10 + A), day: \"rem(time, 2) < 1\",\n"
    "  dose: \"linear(time, 0, 0, 1, 2, 3.5, 1, inf, 0)\"}\n"
    "reactions:\n"
    "  a: 0 -> A @ 10*wave\n  b: A -> B @ k*slow\n  c: B -> C @ 0.3*day*B\n"
    "  d: C -> 0 @ 0.2\n  e: A + B -> C @ 0.01*A*B*exp(-time/3)\n"
    "  f: 0 -> B @ dose*abs(cos(time))\n"
    "  g: 2 A -> B @ 0.001*time*A*(A - 1)\n  h: C -> A @ C*piecewise(time, time < 3, 3)/10\n"
    "  i: B -> A @ 0.1\n  j: 0 -> C @ A/(1 + time)\n"
    "events:\n  e1: {at: 1.25, set: {k: k + time/10, C: 5}}\n"
    "  e2: {at: 2.5, delay: 0.3, set: {A: A + 10}}\n";
static const char without_bounds[] = "species: {A: 30, B: 0}\nreactions:\n"
                                     "  a: A -> B @ A/abs(2.5 - time)*piecewise(1, time < 2, 0)\n"
                                     "  b: B -> A @ B^1.5*(0.3 + 0.2*sin(time)^2)/(1 + B)\n"
                                     "  c: B -> A @ max(0.1, cos(time))*min(B, 2 + time)\n";
static const char with_poles[] =
    "species: {A: 5}\nreactions:\n  a: 0 -> A @ 3*(1 + sin(40*time))\n  "
    "b: A -> 0 @ A*(2 - cos(time))/max(A - 1, 0.01*time)*piecewise(1, A > 1, 0)\n";
static const char that_idle[] =
    "lacking reactants: idle\nspecies: {A: 3, B: 0, C: 0, D: 5}\nreactions:\n"
    "  a: A -> C @ (1.2 + sin(time))*A/(A + B)\n"
    "  b: {equation: B + C -> D, law: \"1.5\"}\n"
    "  c: {equation: 2 A -> B, law: \"1.1 + sin(3*time)\"}\n  d: 0 -> A @ 2.1\n"
    "  e: {equation: D -> B, law: \"(2 + cos(time))*(0.3 + C)\"}\n"
    "  f: D -> 0 @ D*(1 + sin(time))/(D + C)\n";
static const char *const in_lanes[] = {mixed, without_bounds, with_poles, that_idle};

static void lanes_have_the_same_bits(void **state)
{
    double times[40];
    (void)state;
    for (int i = 0; i < 40; ++i) {
        times[i] = 0.15 * i;
    }
    for (size_t i = 0; i < sizeof in_lanes / sizeof *in_lanes; ++i) {
        saltus_model *m = bits_parse(in_lanes[i]);
        const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 5, 200, times, 40);
        for (int d = 0; d < N_BITS_DEVICES; ++d) {
            if (bits_has(bits_devices[d])) {
                for (int threads = 1; threads < 4; ++threads) {
                    assert_int_equal(
                        bits_hash(m, bits_devices[d], "lanes", threads, 5, 200, times, 40),
                        expected);
                }
            }
        }
        assert_true(bits_hash(m, "cpu", "lanes", 1, 6, 200, times, 40) != expected);
        saltus_model_destroy(m);
    }
}

/* Long enough that most candidates are decided by cells of time: of laws of the time alone, one of
 * them a spline, of a rule that several read, of laws of counts, and of one that is often 0. */
static void cells_change_nothing(void **state)
{
    double times[13];
    (void)state;
    saltus_model *m =
        bits_parse("species: {A: 20, B: 5, C: 0}\nparameters: {k: 20}\n"
                   "rules: {wave: 1 + sin(3*time), other: wave*cos(time)}\nreactions:\n"
                   "  a: 0 -> A @ k*wave\n  b: A -> 0 @ A*(1.1 + cos(time))\n"
                   "  c: 0 -> B @ spline(time, 0, 1, 2, 30, 5, 0, 8, 20, 12, 3)\n"
                   "  d: B -> C @ B*(2.5 + other)/4\n  e: C -> 0 @ C*max(0, sin(time))\n");
    for (int i = 0; i < 13; ++i) {
        times[i] = i;
    }
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 5, 300, times, 13);
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (bits_has(bits_devices[d])) {
            assert_int_equal(bits_hash(m, bits_devices[d], "lanes", 1, 5, 300, times, 13),
                             expected);
        }
    }
    saltus_model_destroy(m);
}

/* ---- laws that are none ---- */

static void check_fails_in(const char *layout, const char *text, double t,
                           const char *const parts[3])
{
    saltus_plan_options plan = saltus_plan_options_default();
    plan.layout = layout;
    saltus_model *model = bits_parse(text);
    saltus_error err = {0};
    moments m = {0};
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = 20;
    run.times = &t;
    run.n_times = 1;
    assert_int_equal(run_plan(model, "cpu", &plan, &run, &m, &err), SALTUS_E_NUMERIC);
    for (int i = 0; i < 3; ++i) {
        if (!strstr(err.message, parts[i])) {
            fail_msg("'%s' is not in: %s", parts[i], err.message);
        }
    }
    moments_free(&m);
    saltus_model_destroy(model);
}

static void check_fails(const char *text, double t, const char *const parts[3])
{
    check_fails_in("auto", text, t, parts);
}

#define ONE(law) "species: {X: 0}\nreactions:\n  make: 0 -> X @ " law "\n"

static void laws_fail_where_they_are_none(void **state)
{
    (void)state;
    check_fails(ONE("3 - time"), 9, (const char *[]){"time ", "'make'", "is negative"});
    check_fails(ONE("time - 3"), 9, (const char *[]){"time 0:", "'make'", "-3 is negative"});
    check_fails(ONE("sqrt(5 - time)"), 9,
                (const char *[]){"time 5:", "'make'", "no finite bound just after that time"});
    check_fails(ONE("1/(time - 5)"), 9, (const char *[]){"time 0:", "'make'", "-0.2 is negative"});
    check_fails(ONE("1/(5 - time)"), 9, (const char *[]){"time 5:", "'make'", "no finite bound"});
    check_fails(ONE("linear(time, 0, 1, 4, 2)"), 9, /* a table that ends before the run */
                (const char *[]){"time 4:", "'make'", "no finite bound just after that time"});
    check_fails(ONE("held(time, 1, 1, 4, 2)"), 9,
                (const char *[]){"time 0:", "'make'", "nan is not finite"});
    check_fails(ONE("1/time"), 9, (const char *[]){"time 0:", "'make'", "inf is not finite"});
    check_fails(ONE("2*sin(time)"), 99, (const char *[]){"time ", "'make'", "is negative"});
}

/* It need not be met by a candidate, nor a window begin there. */
static void laws_fail_where_the_run_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const char *layout = i == 0 ? "scalar" : "lanes";
        check_fails_in(layout, ONE("sin(-time)"), 0.5,
                       (const char *[]){"time 0.5:", "'make'", "-0.479426 is negative"});
        check_fails_in(layout, ONE("(0.4 - time)/1e6"), 0.9,
                       (const char *[]){"time 0.9:", "'make'", "-5e-07 is negative"});
    }
    free(counts_at(ONE("0.3 - 0.1*time"), 3.0, 100, "philox", 0)); /* 0, but for rounding */
}

/* It is never reached where nothing is there that could react, or before the law ends. */
static void laws_may_be_none_where_nothing_reacts(void **state)
{
    (void)state;
    int64_t *x = counts_at("species: {X: 0, Y: 2}\nreactions:\n  a: X -> 0 @ 1/abs(5 - time)*X\n"
                           "  b: Y -> 0 @ piecewise(Y*sqrt(4 - time), time < 4, 0)\n",
                           9.0, 100, "philox", 0);
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(x[2 * i], 0);
        assert_true(x[2 * i + 1] <= 2);
    }
    free(x);
}

/* 0 / 0, and less than 0, where all that a law reads has run out: molecules that each stay for
 * exp(-(t + 1 - cos t)). */
static void laws_may_be_none_where_reactants_lack(void **state)
{
    static const char *const laws[] = {"(1 + sin(time))*A^2/(A + B)",
                                       "(1 + sin(time))*A - (A == 0)*(2 + cos(time))"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "lacking reactants: idle\nspecies: {A: 12, B: 0}\nreactions:\n"
                       "  a: {equation: A -> 0, law: \"%s\"}\n",
                       laws[i]);
        for (double t = 0.7; t < 6.0; t += 2.3) {
            assert_binomial(text, 2, t, 12, exp(-(t + 1.0 - cos(t))));
        }
    }
}

static void leaps_in_lanes_are_refused(void **state)
{
    saltus_model *model = bits_parse(ONE("time"));
    const saltus_plan_options plan = bits_plan("tau", "philox", "lanes", 1);
    const double t = 1.0;
    saltus_run_options run = saltus_run_options_default();
    saltus_error err = {0};
    moments m = {0};
    run.times = &t;
    run.n_times = 1;
    (void)state;
    assert_int_equal(run_plan(model, "cpu", &plan, &run, &m, &err), SALTUS_E_INVALID);
    assert_string_equal(err.message, "layout 'lanes' does not fit: its rates drift with time");
    saltus_model_destroy(model);
}

/* ---- tau-leaping ---- */

/* Mean and variance of the first species in the last sample of n trajectories by leaps; how many
 * leaps they took. */
static int64_t leap_moments(const char *text, double t, uint64_t seed, int64_t n, double *mean,
                            double *variance)
{
    saltus_model *model = bits_parse(text);
    saltus_plan_options plan = bits_plan("tau", "philox", "auto", 2);
    saltus_error err = {0};
    moments m = {.keep_last = true};
    saltus_run_options run = saltus_run_options_default();
    double sum = 0.0, squares = 0.0;
    const int n_species = saltus_model_n_species(model);
    run.seed = seed;
    run.n_trajectories = n;
    run.times = &t;
    run.n_times = 1;
    OK(run_plan(model, "cpu", &plan, &run, &m, &err));
    for (int64_t i = 0; i < n; ++i) {
        const double x = (double)m.last[i * n_species];
        sum += x;
        squares += x * x;
    }
    *mean = sum / (double)n;
    *variance = squares / (double)n - *mean * *mean;
    const int64_t leaps = (int64_t)m.report.leaps;
    moments_free(&m);
    saltus_model_destroy(model);
    return leaps;
}

/* Mean and variance of the one species within 0.4 % and 3 % and 5 standard errors of Poisson's;
 * leaps must be made. */
static void check_leaps(const char *text, double t, double mean)
{
    const int64_t n = scaled(20000);
    double found, variance;
    assert_true(leap_moments(text, t, 12, n, &found, &variance) > 5 * n);
    if (!(fabs(found - mean) < 0.004 * mean + 5.0 * sqrt(mean / (double)n)) ||
        !(fabs(variance - mean) < 0.03 * mean + 5.0 * mean * sqrt(2.0 / (double)n))) {
        fail_msg("mean %g, variance %g; exactly %g", found, variance, mean);
    }
}

/* Births and deaths that nearly cancel add up what a law is off by: the mean is 1000 exp(∫ b - d),
 * with few samples as with many. */
static void leaps_add_up_no_error_of_laws(void **state)
{
    static const struct {
        double t, frequency;
    } cases[] = {{300.0, 0.0172}, {50.0, 0.1}, {130.0, 0.1}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const double t = cases[c].t, w = cases[c].frequency, b = 0.0769;
        const int64_t n = scaled(20000);
        char text[300];
        double mean, variance;
        (void)snprintf(text, sizeof text,
                       "species: {X: 1000}\nreactions:\n"
                       "  b: {equation: X -> 2 X, law: %g*(1 + 0.1*cos(%g*time))*X}\n"
                       "  d: X -> 0 @ %g\n",
                       b, w, b);
        (void)leap_moments(text, t, 21, n, &mean, &variance);
        const double exact = 1000.0 * exp(b * 0.1 * sin(w * t) / w);
        if (!(fabs(mean - exact) < 0.002 * exact + 5.0 * sqrt(variance / (double)n))) {
            fail_msg("frequency %g, mean %g; exactly %g", w, mean, exact);
        }
    }
}

/* A law that is fast beside the leaps of others, and one alone that makes a reaction in a hundred
 * of its periods, are met whatever their phase. */
static void leaps_meet_fast_laws(void **state)
{
    static const char *const beside[] = {"",
                                         "  y: {equation: 0 -> Y, law: 10000}\n  z: Y -> 0 @ 1\n"};
    (void)state;
    for (size_t c = 0; c < sizeof beside / sizeof *beside; ++c) {
        const int64_t n = scaled(4000);
        const double exact = 100.0 * 0.04;
        char text[400];
        double mean, variance;
        (void)snprintf(text, sizeof text,
                       "species: {X: 0, Y: 10000}\nreactions:\n"
                       "  b: 0 -> X @ 0.04*(1 + cos(6.283185307179586*time))\n%s",
                       beside[c]);
        (void)leap_moments(text, 100.0, 21, n, &mean, &variance);
        if (!(fabs(mean - exact) < 5.0 * sqrt(exact / (double)n))) {
            fail_msg("%zu: mean %g; exactly %g", c, mean, exact);
        }
    }
}

/* Windows that end because leaps turn to exact steps do not grow, however long they might become: a
 * law whose window is cut by an event far away keeps a bound, before it and behind. */
static void windows_that_are_left_do_not_grow(void **state)
{
    const int64_t n = scaled(200);
    const double exact = 4.0 * 0.95 / 0.4; /* the mean lags behind by 1e-4 */
    double mean, variance;
    (void)state;
    (void)leap_moments("species: {A: 10}\nreactions:\n  d: A -> 0 @ 0.4\n"
                       "  b: {equation: 0 -> A, law: '4*linear(time, 0, 1, 100000, 0.5)'}\n"
                       "events: {e: {at: 9000, set: {A: A}}}\n",
                       10000.0, 21, n, &mean, &variance);
    if (!(fabs(mean - exact) < 5.0 * sqrt(exact / (double)n))) {
        fail_msg("mean %g; exactly %g", mean, exact);
    }
}

static double fast_day(double t)
{
    return fmod(t, 4.0) < 1.5 ? 20000.0 : 0.0;
}

static void leaps_follow_the_laws(void **state)
{
    (void)state;
    for (double t = 1.0; t < 8.0; t += 2.3) {
        const double k = 20000.0, mean = k * (1 - exp(-t)) + k * (sin(t) - cos(t) + exp(-t)) / 2;
        check_leaps("species: {X: 0}\nreactions:\n  birth: 0 -> X @ 20000*(1 + sin(time))\n"
                    "  death: X -> 0 @ 1\n",
                    t, mean);
    }
    check_leaps("species: {X: 0}\nreactions:\n  birth: 0 -> X @ 20000*(rem(time, 4) < 1.5)\n"
                "  death: X -> 0 @ 1\n",
                6.25, mean_at(fast_day, one, 6.25));
    const double left = exp(-0.02 * 27.0 / 3);
    /* what is left of many is nearly Poisson where it is few, so compare the mean */
    double mean, variance;
    (void)leap_moments("species: {X: 100000}\nreactions:\n  die: X -> 0 @ 0.02*time^2*X\n", 3.0,
                       saltus_run_options_default().seed, scaled(2000), &mean, &variance);
    if (!(fabs(mean / 1e5 - left) < 0.002 * left)) {
        fail_msg("mean %g; exactly %g", mean, 1e5 * left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(births_follow_a_sine),
        cmocka_unit_test(other_generators_do_too),
        cmocka_unit_test(births_follow_a_periodic_step),
        cmocka_unit_test(births_and_deaths_drift_alike),
        cmocka_unit_test(births_follow_a_table),
        cmocka_unit_test(births_follow_a_spline),
        cmocka_unit_test(survival_is_that_of_the_hazard),
        cmocka_unit_test(some_of_many_drift),
        cmocka_unit_test(windows_end_where_something_happens),
        cmocka_unit_test(a_gene_is_on_by_day),
        cmocka_unit_test(what_drifts_may_take_a_while),
        cmocka_unit_test(sample_times_change_nothing),
        cmocka_unit_test(tables_have_the_same_bits),
        cmocka_unit_test(instruction_sets_have_the_same_bits),
        cmocka_unit_test(lanes_have_the_same_bits),
        cmocka_unit_test(cells_change_nothing),
        cmocka_unit_test(laws_fail_where_they_are_none),
        cmocka_unit_test(laws_fail_where_the_run_ends),
        cmocka_unit_test(laws_may_be_none_where_nothing_reacts),
        cmocka_unit_test(laws_may_be_none_where_reactants_lack),
        cmocka_unit_test(leaps_in_lanes_are_refused),
        cmocka_unit_test(leaps_follow_the_laws),
        cmocka_unit_test(leaps_add_up_no_error_of_laws),
        cmocka_unit_test(leaps_meet_fast_laws),
        cmocka_unit_test(windows_that_are_left_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
