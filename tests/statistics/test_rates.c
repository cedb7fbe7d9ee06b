/* Rate rules and the mean field: closed forms, distributions that are known, bits that do not hang
 * on what is recorded, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- closed forms ---- */

static const char linear[] = "parameters: {k: 0.7, y: 2, p: 1, q: 0, s: 0}\n"
                             "rate rules: {y: -k*y, p: q, q: -p, s: cos(time)}\n";

static void linear_equations_follow_closed_forms(void **state)
{
    static const double tolerances[] = {1e-4, 1e-6, 1e-9};
    const double times[] = {0.0, 0.5, 3.0, 10.0};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        for (int stiff = 0; stiff < 2; ++stiff) {
            saltus_plan_options o = options(NULL, NULL);
            o.rtol = tolerances[k];
            o.stiff = stiff ? "always" : "never";
            const double within = 30.0 * tolerances[k];
            samples s = run(linear, &o, times, 4, 1);
            assert_int_equal(s.n_columns, 4);
            for (int i = 0; i < 4; ++i) {
                const double *x = s.x + 4 * i, t = times[i];
                check_near(x[0], 2.0 * exp(-0.7 * t), within, "y");
                check_near(x[1], cos(t), within, "p");
                check_near(x[2], -sin(t), within, "q");
                check_near(x[3], sin(t), within, "s");
            }
            free(s.x);
        }
    }
}

/* Twice the tolerance's digits, smaller errors: what is stated of rtol is so. */
static void errors_follow_the_tolerance(void **state)
{
    const double t = 10.0;
    double before = 1.0;
    (void)state;
    for (double rtol = 1e-3; rtol > 1e-10; rtol *= 1e-3) {
        saltus_plan_options o = options(NULL, "p");
        o.rtol = rtol;
        samples s = run(linear, &o, &t, 1, 1);
        const double error = fabs(s.x[0] - cos(t));
        assert_true(error < 100.0 * rtol);
        assert_true(error < 0.05 * before);
        before = error;
        free(s.x);
    }
}

/* Robertson's problem, as rate rules and as reactions by method ode; values of Hairer and Wanner,
 * Solving Ordinary Differential Equations II, section IV.10, at time 40. */
static void stiff_equations_are_solved(void **state)
{
    static const char *const models[] = {
        "parameters: {x: 1, y: 0, z: 0}\n"
        "rate rules: {x: -0.04*x + 1e4*y*z, y: 0.04*x - 1e4*y*z - 3e7*y^2, z: 3e7*y^2}\n",
        "species: {x: 1, y: 0, z: 0}\n"
        "reactions:\n"
        "  a: x -> y @ 0.04\n"
        "  b: {equation: 2 y -> y + z, law: 3e7*y*y}\n"
        "  c: y + z -> x + z @ 1e4\n"};
    static const char *const ways[] = {"auto", "always"};
    const double t = 40.0;
    (void)state;
    for (int m = 0; m < 2; ++m) {
        for (int w = 0; w < 2; ++w) {
            saltus_plan_options o = options("ode", "x,y,z");
            o.stiff = ways[w];
            samples s = run(models[m], &o, &t, 1, 1);
            check_near(s.x[0], 0.7158270688, 1e-5, "x");
            check_near(s.x[1], 9.185534765e-6, 1e-9, "y");
            check_near(s.x[2], 0.2841637458, 1e-5, "z");
            free(s.x);
        }
    }
}

/* What is watched for a trigger is of no matter to whether a system is stiff: an event that never
 * happens changes no bit. */
static void stiff_systems_are_found_where_triggers_are_watched(void **state)
{
    static const struct {
        const char *method, *layout, *model, *event;
        int64_t n;
    } cases[] = {
        {"ode", "auto",
         "parameters: {x: 1, y: 0, z: 0}\n"
         "rate rules: {x: -0.04*x + 1e4*y*z, y: 0.04*x - 1e4*y*z - 3e7*y^2, z: 3e7*y^2}\n",
         "events: {e: {when: z > 5, set: {z: 0}}}\n", 1},
        {"direct", "scalar",
         "parameters: {y: 0, z: 1}\nspecies: {G: 0, I: 1}\n"
         "rate rules: {y: 2000*(G - y), z: y - z}\n"
         "reactions: {up: I -> G @ 0.5*(1 + z), down: G -> I @ 1}\n",
         "events: {e: {when: z > 5, set: {z: 0}}}\n", 20},
        {"direct", "lanes",
         "parameters: {y: 0, z: 1}\nspecies: {G: 0, I: 1}\n"
         "rate rules: {y: 2000*(G - y), z: y - z}\n"
         "reactions: {up: I -> G @ 0.5*(1 + z), down: G -> I @ 1}\n",
         "events: {e: {when: z > 5, set: {z: 0}}}\n", 20},
    };
    const double times[] = {7.0, 40.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[1000];
        saltus_plan_options o = options(cases[i].method, "y,z");
        o.layout = cases[i].layout;
        (void)snprintf(text, sizeof text, "%s%s", cases[i].model, cases[i].event);
        samples plain = run(cases[i].model, &o, times, 2, cases[i].n);
        samples watched = run(text, &o, times, 2, cases[i].n);
        assert_memory_equal(plain.x, watched.x, (size_t)cases[i].n * 4 * sizeof *plain.x);
        free(plain.x);
        free(watched.x);
    }
}

static void the_mean_field_follows_rate_equations(void **state)
{
    static const char chain[] = "species: {A: 100, B: 0, C: 0.5, D: 40}\n"
                                "parameters: {k: 0.4}\n"
                                "reactions:\n"
                                "  first: A -> B @ 0.5\n"
                                "  second: B -> 0 @ 2\n"
                                "  pairs: {equation: 2 D -> 0, law: k*D*D}\n"
                                "  in: 0 -> C @ 3\n"
                                "events:\n"
                                "  more: {when: D < 1, set: {C: C + 10.25}}\n"
                                "rules: {both: A + B}\n";
    const double times[] = {0.0, 0.5, 2.0};
    saltus_plan_options o = options("ode", NULL);
    (void)state;
    samples s = run(chain, &o, times, 3, 2);
    assert_int_equal(s.n_columns, 5);
    assert_int_equal(s.report.events, 0);
    for (int i = 0; i < 3; ++i) {
        const double t = times[i], *x = s.x + 5 * i;
        const double a = 100.0 * exp(-0.5 * t);
        const double b = 100.0 * 0.5 / 1.5 * (exp(-0.5 * t) - exp(-2.0 * t));
        const double d = 40.0 / (1.0 + 2.0 * 0.4 * 40.0 * t);
        const double turned = (40.0 - 1.0) / (2.0 * 0.4 * 40.0); /* D is 1 there */
        check_near(x[0], a, 1e-3, "A");
        check_near(x[1], b, 1e-3, "B");
        check_near(x[2], 0.5 + 3.0 * t + (t > turned ? 10.25 : 0.0), 1e-4, "C");
        check_near(x[3], d, 1e-3, "D");
        check_near(x[4], a + b, 1e-3, "both");
        assert_memory_equal(x, x + 15, 5 * sizeof *x); /* the next trajectory */
    }
    free(s.x);
}

/* Amounts in moles, of which none is near a molecule, are as exact as others: two that react, in
 * closed form, by both integrators, and with a clock of its own size beside them. */
static void amounts_may_be_far_below_a_molecule(void **state)
{
    static const double sizes[] = {1e3, 0.1, 1e-9, 1e-21, 1e-150};
    static const char *const ways[] = {"never", "always"};
    const double times[] = {0.1, 1.0, 4.0};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {A: %g, B: %g, C: 0}\n"
                       "parameters: {k: %g, q: 1}\n"
                       "rate rules: {q: -q}\n"
                       "reactions:\n"
                       "  bind: {equation: A + B -> C, law: k*A*B}\n",
                       4.0 * sizes[i], 3.0 * sizes[i], 0.5 / sizes[i]);
        for (int w = 0; w < 2; ++w) {
            saltus_plan_options o = options("ode", "A,B,C,q");
            o.stiff = ways[w];
            samples s = run(text, &o, times, 3, 1);
            for (int k = 0; k < 3; ++k) {
                const double *x = s.x + 4 * k, a = 4.0 / (4.0 - 3.0 * exp(-0.5 * times[k]));
                check_near(x[0] / sizes[i], a, 1e-5, "A");
                check_near(x[1] / sizes[i], a - 1.0, 1e-5, "B");
                check_near(x[2] / sizes[i], 4.0 - a, 1e-5, "C");
                check_near(x[3], exp(-times[k]), 1e-5, "q");
            }
            free(s.x);
        }
    }
}

/* Powers that are not whole have no value below 0, where stages of a step from 0 may be: what is
 * less than an error is 0. Without that no step is so short that Rodas could begin. */
static void powers_begin_at_0(void **state)
{
    static const char chain[] = "species: {A: 1000, B: 0, C: 0, D: 0, E: 0}\n"
                                "reactions:\n"
                                "  ab: A -> B @ 0.5\n"
                                "  bc: B -> C @ 0.3\n"
                                "  cd: {equation: C -> D, law: C^2.5/(10 + C^1.5)}\n"
                                "  de: {equation: D -> E, law: D^1.8/(1 + D^0.8)}\n";
    static const char *const ways[] = {"never", "always"};
    const double times[] = {0.01, 20.0};
    samples s[2];
    (void)state;
    for (int w = 0; w < 2; ++w) {
        saltus_plan_options o = options("ode", NULL);
        o.stiff = ways[w];
        s[w] = run(chain, &o, times, 2, 1);
    }
    for (int k = 0; k < 10; ++k) {
        check_near(s[1].x[k], s[0].x[k], 1e-5 * s[0].x[k] + 1e-9, "amount");
    }
    check_near(s[0].x[5], 1000.0 * exp(-10.0), 1e-5, "A");
    free(s[0].x);
    free(s[1].x);
}

/* ---- triggers ---- */

/* A ball that keeps 0.8 of its speed: from height 1 it meets the ground at t1 = sqrt(2 / g), and
 * then after flights of 2 * 0.8^n * t1. */
static void a_ball_bounces_when_it_should(void **state)
{
    static const char ball[] = "parameters: {y: 1, v: 0, g: 10, n: 0, last: 0}\n"
                               "rate rules: {y: v, v: -g}\n"
                               "events:\n"
                               "  bounce: {when: y <= 0, set: {v: -0.8*v, n: n + 1, last: time}}\n";
    double times[30];
    const double first = sqrt(0.2);
    (void)state;
    for (int i = 0; i < 30; ++i) {
        times[i] = 0.1 * i;
    }
    saltus_plan_options o = options(NULL, "y,v,n,last");
    samples s = run(ball, &o, times, 30, 1);
    for (int i = 0; i < 30; ++i) {
        double at = 0.0, next = first, speed = 10.0 * first;
        int n = 0;
        for (; next < times[i]; ++n) {
            at = next;
            speed *= 0.8;
            next += 2.0 * speed / 10.0;
        }
        const double since = times[i] - at, *x = s.x + 4 * i;
        const double y = n == 0 ? 1.0 - 5.0 * since * since : speed * since - 5.0 * since * since;
        check_near(x[0], y, 1e-9, "height");
        check_near(x[1], n == 0 ? -10.0 * since : speed - 10.0 * since, 1e-9, "speed");
        check_near(x[2], n, 0.0, "bounces");
        check_near(x[3], at, 1e-9, "last bounce");
    }
    free(s.x);
}

/* Triggers that turn there and back between two steps, whose sizes y' = 1 lets grow as they like.
 */
static void short_turns_are_not_missed(void **state)
{
    static const char text[] = "parameters: {y: -1, z: 0, v: 1, a: 0, b: 0, c: 0, d: 0, e: 0}\n"
                               "rate rules: {y: 1, z: 1 - z, v: -0.01*v}\n"
                               "events:\n"
                               "  down: {when: v < 0.5002 && v > 0.5, set: {e: e + 1}}\n"
                               "  low: {when: v <= 0.2501 && v >= 0.25, set: {e: e + 10}}\n"
                               "  band: {when: y > 900 && y < 900.001, set: {a: a + 1}}\n"
                               "  touch: {when: (y - 700)^2 < 1e-6, set: {b: time}}\n"
                               "  later: {when: y >= 500, delay: 7.25, set: {c: time}, "
                               "values_from: assignment}\n"
                               "  clock: {when: time >= 100 + 0.5*y, set: {d: time}}\n";
    const double t = 1500.0;
    saltus_plan_options o = options(NULL, "a,b,c,d,e");
    (void)state;
    samples s = run(text, &o, &t, 1, 1);
    check_near(s.x[4], 11.0, 0.0, "bands from above");
    check_near(s.x[0], 1.0, 0.0, "band");
    check_near(s.x[1], 701.0 - 1e-3, 1e-9, "touch");
    check_near(s.x[2], 508.25, 1e-9, "later");
    check_near(s.x[3], 199.0, 1e-9, "clock");
    free(s.x);
}

/* Days and nights, beside variables that do not bend, and whose steps are as long as they like. */
static void days_are_not_missed(void **state)
{
    static const char text[] = "parameters: {y: 0, d: 0, n: 0, t: 0, w: 0}\nspecies: {A: 0}\n"
                               "rate rules: {y: 1}\nrules: {light: cos(2*pi*time/24)}\n"
                               "reactions: {late: {equation: 0 -> A, law: 0.001*(1 + 0*y)}}\n"
                               "events:\n"
                               "  day: {when: light > 0, set: {d: d + 1}}\n"
                               "  turns: {when: sin(3*y) > 0, set: {n: n + 1}}\n"
                               "  second: {when: A >= 1 and w <= 0, set: {w: time}}\n"
                               "  noon: {when: light > 0.5 and w > 0 and t <= 0, set: {t: time}}\n";
    const double t = 2400.0;
    const int64_t n = 200;
    saltus_plan_options o = options(NULL, "d,n,w,t");
    (void)state;
    samples s = run(text, &o, &t, 1, n);
    for (int64_t i = 0; i < n; ++i) {
        const double *x = s.x + 4 * i, hour = fmod(x[2], 24.0);
        check_near(x[0], 100.0, 0.0, "days");
        check_near(x[1], floor(3.0 * t / (2.0 * acos(-1.0))) + 1.0, 0.0, "turns");
        if (x[2] > 0.0 && x[2] < t - 24.0) {
            check_near(x[3], x[2] + (hour < 4.0 || hour > 20.0 ? 0.0 : 20.0 - hour), 1e-8, "noon");
        }
    }
    free(s.x);
}

/* ---- distributions ---- */

/* The share of beta(a, b) below x, by the midpoint rule. */
static double beta_below(double a, double b, double x)
{
    enum { STEPS = 20000 };
    const double norm = exp(lgamma(a + b) - lgamma(a) - lgamma(b));
    double sum = 0.0;
    for (int i = 0; i < STEPS; ++i) {
        const double u = x * (i + 0.5) / STEPS;
        sum += pow(u, a - 1.0) * pow(1.0 - u, b - 1.0);
    }
    return norm * sum * x / STEPS;
}

/* A gene that is switched on and off drives a protein that follows it: beta(on/g, off/g) in the
 * steady state. */
/* A clock that an event sets back, again and again: nothing bends, and no turn may be missed. */
static void a_clock_is_set_back_every_time(void **state)
{
    static const char text[] = "parameters: {y: 0, n: 0}\nrate rules: {y: 1}\n"
                               "events:\n  back: {when: y >= 0.5, set: {y: -0.5, n: n + 1}}\n";
    const double times[] = {10.0, 100.0, 1000.25};
    static const char *const methods[] = {"direct", "ode", "hybrid"};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        saltus_plan_options o = options(methods[k], "y,n");
        samples s = run(text, &o, times, 3, 1);
        for (int i = 0; i < 3; ++i) {
            check_near(s.x[2 * i], times[i] - floor(times[i]), 1e-11, methods[k]);
            check_near(s.x[2 * i + 1], floor(times[i]), 0.0, "times that it was set back");
        }
        free(s.x);
    }
}

static void a_switched_protein_is_beta(void **state)
{
    static const char gene[] = "parameters: {on: 1.5, off: 2, g: 0.5, y: 0.4}\n"
                               "species: {G: 0, I: 1}\n"
                               "rate rules: {y: g*(G - y)}\n"
                               "reactions: {up: I -> G @ on, down: G -> I @ off}\n";
    enum { BINS = 20 };
    const double t = 30.0, a = 3.0, b = 4.0; /* e^-15 of the start is left */
    const int64_t n = scaled(100000);
    saltus_plan_options o = options(NULL, "y");
    double sum = 0.0, squares = 0.0, chi = 0.0, before = 0.0;
    int64_t bins[BINS] = {0};
    (void)state;
    samples s = run(gene, &o, &t, 1, n);
    assert_int_equal(s.n, n);
    const double mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1.0));
    for (int64_t i = 0; i < n; ++i) {
        const double y = s.x[i];
        assert_true(y > 0.0 && y < 1.0);
        sum += y;
        squares += (y - mean) * (y - mean);
        ++bins[(int)(y * BINS)];
    }
    const double fourth = 0.0023; /* above the fourth central moment of beta(3, 4), 0.00207 */
    check_mean(sum, (double)n, mean, variance, "mean");
    check_mean(squares, (double)n, variance, fourth - variance * variance, "variance");
    int n_bins = 0;
    for (int k = 0; k < BINS; ++k) {
        const double below = beta_below(a, b, (k + 1.0) / BINS), p = below - before;
        before = below;
        if (p * (double)n > 10.0) {
            const double off = (double)bins[k] - p * (double)n;
            chi += off * off / (p * (double)n);
            ++n_bins;
        }
    }
    assert_true(n_bins > 10);
    assert_true(chi < n_bins + 5.0 * sqrt(2.0 * n_bins));
    free(s.x);
}

/* A reaction with a hazard that fades, k e^-t: of 30 molecules each is there at t with the
 * probability exp(-k (1 - e^-t)); and one whose hazard is k t^2, by a rule of a rule. */
static void survival_is_known(void **state)
{
    static const char text[] = "parameters: {k: 2, y: 1, c: 0.3, u: 0}\n"
                               "species: {X: 30, Z: 30}\n"
                               "rules: {twice: 2*u, square: twice*twice/4}\n"
                               "rate rules: {y: -y, u: 1}\n"
                               "reactions: {fade: X -> 0 @ k*y, grow: Z -> 0 @ c*square}\n";
    const double times[] = {0.3, 1.0, 2.5, 20.0};
    const int64_t n = scaled(100000);
    saltus_plan_options o = options(NULL, "X,Z");
    (void)state;
    samples s = run(text, &o, times, 4, n);
    for (int i = 0; i < 4; ++i) {
        const double t = times[i];
        const double p[] = {exp(-2.0 * (1.0 - exp(-t))), exp(-0.1 * t * t * t)};
        for (int c = 0; c < 2; ++c) {
            const double mean = 30.0 * p[c], variance = mean * (1.0 - p[c]);
            const double fourth =
                3.0 * variance * variance + variance * (1.0 - 6.0 * p[c] * (1.0 - p[c]));
            double sum = 0.0, squares = 0.0;
            for (int64_t k = 0; k < n; ++k) {
                const double x = s.x[(k * 4 + i) * 2 + c];
                sum += x;
                squares += (x - mean) * (x - mean);
            }
            check_mean(sum, (double)n, mean, variance, c ? "Z" : "X");
            check_mean(squares, (double)n, variance, fourth - variance * variance, "variance");
        }
    }
    free(s.x);
}

/* Renewals at a hazard of twice an age, which they set to 0, have Weibull's waits of mean
 * sqrt(pi)/2: the hazard at the start of a step says nothing of when the next one comes. */
static void ages_begin_anew(void **state)
{
    static const char text[] = "species: {N: 0}\nparameters: {age: 0, last: 0}\n"
                               "rate rules: {age: 1}\n"
                               "reactions: {renew: {equation: 0 -> N, law: 2*age}}\n"
                               "events: {born: {when: N > last, set: {age: 0, last: N}}}\n";
    static const char *const layouts[] = {"auto", "scalar"};
    const double times[] = {100.0}, mean = 0.5 * sqrt(3.14159265358979323846);
    const double variance = 1.0 - mean * mean, square = mean * mean;
    const int64_t n = scaled(4000);
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_plan_options o = options(NULL, "N");
        double sum = 0.0;
        o.layout = layouts[i];
        samples s = run(text, &o, times, 1, n);
        for (int64_t k = 0; k < n; ++k) {
            sum += s.x[k];
        }
        check_mean(sum, (double)n, 100.0 / mean + (variance - square) / (2.0 * square),
                   100.0 * variance / (square * mean) + 1.0, "N");
        free(s.x);
    }
}

/* Births at k (1 + sin t), beside a rate rule, are Poisson with a known mean. */
static void laws_of_time_are_integrated_too(void **state)
{
    static const char text[] = "parameters: {k: 4, y: 0}\n"
                               "species: {A: 0}\n"
                               "rate rules: {y: 1}\n"
                               "reactions: {birth: {equation: 0 -> A, law: k*(1 + sin(time))}}\n";
    const double times[] = {1.0, 5.0, 12.0};
    const int64_t n = scaled(50000);
    saltus_plan_options o = options(NULL, "A");
    (void)state;
    samples s = run(text, &o, times, 3, n);
    for (int i = 0; i < 3; ++i) {
        const double mean = 4.0 * (times[i] + 1.0 - cos(times[i]));
        double sum = 0.0, squares = 0.0;
        for (int64_t k = 0; k < n; ++k) {
            sum += s.x[k * 3 + i];
            squares += (s.x[k * 3 + i] - mean) * (s.x[k * 3 + i] - mean);
        }
        check_mean(sum, (double)n, mean, mean, "mean");
        check_mean(squares, (double)n, mean, mean + 2.0 * mean * mean, "variance");
    }
    free(s.x);
}

/* 0 -> X beside a rate rule, each X gone after 2 exactly: Poisson, with the integral of the rate
 * over the last 2 for its mean. */
static void delays_go_on_beside_rate_rules(void **state)
{
    static const char text[] =
        "parameters: {y: 1}\nspecies: {X: 0, Z: 0}\nrate rules: {y: -0.5*y}\n"
        "reactions: {in: {equation: 0 -> X, law: 20*y},\n"
        "  late: {equation: 0 -> Z, law: 20*y, delay: 2}}\n";
    const double times[] = {1.0, 3.5};
    const int64_t n = scaled(30000);
    saltus_plan_options o = options(NULL, "X,Z");
    (void)state;
    samples s = run(text, &o, times, 2, n);
    for (int i = 0; i < 2; ++i) {
        const double t = times[i], since = t > 2.0 ? t - 2.0 : 0.0;
        const double means[] = {40.0 * (1.0 - exp(-0.5 * t)), 40.0 * (1.0 - exp(-0.5 * since))};
        for (int c = 0; c < 2; ++c) {
            double sum = 0.0, squares = 0.0;
            for (int64_t k = 0; k < n; ++k) {
                const double off = s.x[(k * 2 + i) * 2 + c] - means[c];
                sum += off;
                squares += off * off;
            }
            check_mean(sum, (double)n, 0.0, means[c], c ? "Z" : "X");
            check_mean(squares, (double)n, means[c], means[c] + 2.0 * means[c] * means[c],
                       "variance");
        }
    }
    free(s.x);
}

/* ---- bits ---- */

static const char mixed[] = "parameters: {on: 1.5, off: 2, g: 1, y: 0, z: 1, n: 0}\n"
                            "species: {G: 0, I: 1, P: 0}\n"
                            "rules: {r: y*y + z}\n"
                            "rate rules: {y: g*(G - y), z: y - z}\n"
                            "reactions:\n"
                            "  up: I -> G @ on\n"
                            "  down: G -> I @ off\n"
                            "  make: {equation: 0 -> P, law: 20*r}\n"
                            "  gone: P -> 0 @ 1\n"
                            "events:\n"
                            "  high: {when: y > 0.6, set: {z: z/2, n: n + 1}}\n"
                            "  many: {when: P > 20, delay: 0.3, set: {P: 3}}\n"
                            "  step: {when: time >= 4, set: {g: 0.7}}\n";

/* What is recorded never shapes a step: the last sample has the same bits after few as after many.
 */
static void sample_times_change_no_bit(void **state)
{
    static const int64_t sizes[] = {1, 2, 17, 1001};
    static const char *const methods[] = {"direct", "ode"};
    (void)state;
    for (int m = 0; m < 2; ++m) {
        const saltus_plan_options o = options(methods[m], "y,z,r,n,P,G");
        check_times_change_no_bit(mixed, &o, 9.0, sizes, 100);
    }
}

static void devices_and_threads_change_no_bit(void **state)
{
    static const char *const devices[] = {"cpu:generic", "cpu:avx2", "cpu:avx512", "cpu"};
    static const char *const layouts[] = {"scalar", "lanes"};
    static const char *const methods[] = {"direct", "ode"};
    const double times[] = {1.0, 8.0};
    int n_compared = 0;
    (void)state;
    for (int m = 0; m < 2; ++m) {
        samples first = {0};
        for (int d = 0; d < 8; ++d) {
            samples s;
            saltus_error err = {0};
            saltus_plan_options o = options(methods[m], "y,z,P");
            o.n_threads = 1 + d % 2;
            o.layout = layouts[d / 4];
            if (m == 1 && d >= 4) {
                break; /* the mean field has no lanes */
            }
            const saltus_status status =
                try_run(mixed, devices[d % 4], &o, times, 2, 200, &s, &err);
            if (status == SALTUS_E_UNAVAILABLE) {
                continue;
            }
            OK(status);
            if (!first.x) {
                first = s;
                continue;
            }
            assert_int_equal(s.report.events, first.report.events);
            assert_memory_equal(s.x, first.x, 200 * 6 * sizeof *s.x);
            free(s.x);
            ++n_compared;
        }
        free(first.x);
    }
    assert_true(n_compared >= 4);
}

/* In lanes, trajectories that turn stiff, that fail, and that are few at the end. */
static void lanes_leave_what_is_no_matter_of_theirs(void **state)
{
    static const char stiff[] = "parameters: {y: 0, z: 1}\nspecies: {G: 0, I: 1}\n"
                                "rate rules: {y: 2000*(G - y), z: y - z}\n"
                                "reactions: {up: I -> G @ 0.5*(1 + z), down: G -> I @ 1}\n";
    static const char bad[] = "parameters: {y: 0}\nspecies: {A: 0}\nrate rules: {y: 1}\n"
                              "reactions: {r: {equation: 0 -> A, law: 3 - y}}\n";
    static const char lacks[] = "parameters: {y: 0}\nspecies: {A: 3}\nrate rules: {y: 1 - y}\n"
                                "reactions: {r: {equation: 2 A -> 0, law: A + y}}\n";
    const double times[] = {1.0, 7.0};
    samples s[2];
    saltus_error err[2] = {{0}, {0}};
    (void)state;
    for (int k = 0; k < 2; ++k) {
        saltus_plan_options o = options(NULL, "y,z,G");
        o.layout = k == 0 ? "scalar" : "lanes";
        s[k] = run(stiff, &o, times, 2, 150);
    }
    assert_memory_equal(s[0].x, s[1].x, 150 * 6 * sizeof *s[0].x);
    free(s[0].x);
    free(s[1].x);
    for (int k = 0; k < 2; ++k) {
        saltus_plan_options o = options(NULL, "y,A");
        o.layout = k == 0 ? "scalar" : "lanes";
        o.n_threads = 1;
        assert_int_equal(try_run(bad, "cpu", &o, times, 2, 150, &s[k], &err[k]), SALTUS_E_NUMERIC);
        assert_non_null(strstr(err[k].message, "reaction 'r': propensity -"));
        free(s[k].x);
        err[k] = (saltus_error){0};
        assert_int_equal(try_run(lacks, "cpu", &o, times, 2, 150, &s[k], &err[k]),
                         SALTUS_E_NUMERIC);
        assert_non_null(strstr(err[k].message, "reaction 'r' fired with too few reactants: A = 1"));
        free(s[k].x);
    }
}

/* Two groups of reactions, of all kinds of laws; a reaction that does nothing where it lacks what
 * it takes, and one whose law is no number then; a hazard that ends; more molecules than lanes
 * hold, at first or from an event on; triggers that move; triggers that reactions turn. */
static const char *const firing[] = {
    "parameters: {y: 1, k: 0.3}\nrate rules: {y: 0.1*(A + r) - y}\n"
    "species: {A: 9, B: 3, C: 0, D: 20, E: 1}\nrules: {r: C*0.5, s: A + D}\n"
    "reactions:\n"
    "  a: A -> B @ 1\n  b: B -> C @ k\n  c: C -> A @ 2\n  d: A + B -> C @ 0.05\n"
    "  e: C -> A + B @ 0.5\n  f: {equation: 0 -> A, law: y}\n  g: D -> E @ 0.2\n"
    "  h: {equation: E -> D, law: E*(1 + y)}\n  i: {equation: 0 -> E, law: sqrt(s)}\n"
    "  j: 2 E -> E @ 0.1\n  l: {equation: A -> 0, law: A*r/(3 + r)}\n",
    "lacking reactants: idle\nparameters: {y: 0}\nrate rules: {y: 1 - y}\nspecies: {A: 7, B: 2}\n"
    "reactions:\n  pair: {equation: 2 A -> 0, law: 2*A}\n  in: 0 -> A @ 1\n"
    "  share: {equation: B -> A, law: y*B/(B + 0*A)}\n  still: {equation: B -> 0, law: B*B/B}\n",
    "parameters: {y: 1}\nrate rules: {y: -1}\nspecies: {A: 0}\n"
    "reactions:\n  in: {equation: 0 -> A, law: \"max(0, 3*y)\"}\n",
    "parameters: {y: 0}\nrate rules: {y: 1 - y}\nspecies: {A: 9007199254740993, B: 5}\n"
    "reactions:\n  a: {equation: A -> B, law: 2 + y}\n  b: B -> 0 @ 0.4\n",
    "parameters: {y: 0}\nrate rules: {y: 1 - y}\nspecies: {A: 5, B: 0}\n"
    "reactions:\n  a: {equation: B -> 3 A, law: y*B}\n  in: 0 -> B @ 4\n"
    "events:\n  much: {when: time >= 2, set: {A: 9007199254740991}}\n",
    "species: {X: 40, n: 0}\nparameters: {V: 1, limit: \"normal(2, 0.1, 1.5, 2.5)\", z: 0, w: 1}\n"
    "rate rules: {V: 0.7*V, z: 6*cos(6*time), w: -w}\nrules: {half: 0.5*w}\nreactions:\n"
    "  make: {equation: 0 -> X, law: 10*V}\n  lose: X -> 0 @ 0.3\n"
    "events:\n  divide: {when: V >= limit, set: {V: V/2, X: \"binomial(X, 0.5)\",\n"
    "    limit: \"normal(2, 0.1, 1.5, 2.5)\"}}\n"
    "  top: {when: z > 0.999, set: {n: n + 1}}\n"
    "  through: {when: \"half > 0.25 and half < 0.2501\", set: {n: n + 10}}\n"
    "  kept: {when: w > 0.7, set: {n: n - 1}}\n",
    "species: {X: 5, N: 0}\nparameters: {y: 0, k: 1}\nrate rules: {y: X/10 - y}\n"
    "rules: {both: X + 10*y}\nreactions:\n"
    "  make: {equation: 0 -> X, law: 8*k + y}\n  lose: X -> 0 @ 0.3\n  n: 0 -> N @ y\n"
    "events:\n  full: {when: X > 20, set: {X: 4, N: N + 1}}\n"
    "  much: {when: both > 30, delay: X/40, persistent: false, set: {y: y/2, k: k*0.9}}\n"
    "  few: {when: N < 3 or X == 7, set: {N: 3}}\n",
};

static void reactions_in_lanes_are_those_alone(void **state)
{
    const double times[] = {0.5, 2.0, 2.5, 9.0};
    (void)state;
    for (size_t m = 0; m < sizeof firing / sizeof *firing; ++m) {
        samples s[2];
        for (int k = 0; k < 2; ++k) {
            saltus_plan_options o = options(NULL, NULL);
            o.layout = k == 0 ? "scalar" : "lanes";
            s[k] = run(firing[m], &o, times, 4, 300);
        }
        assert_true(s[0].report.events > 400);
        assert_int_equal(s[0].report.events, s[1].report.events);
        assert_memory_equal(s[0].x, s[1].x, 300 * 4 * (size_t)s[0].n_columns * sizeof *s[0].x);
        free(s[0].x);
        free(s[1].x);
    }
}

/* A rate rule that no law reads leaves the reactions what they are without it: the same waits and
 * choices, at times that differ by rounding. */
static void an_idle_rate_rule_changes_no_reaction(void **state)
{
    static const char plain[] =
        "species: {A: 50, B: 0}\n"
        "parameters: {y: 0}\n"
        "reactions: {there: A -> B @ 1, back: B -> A @ 0.5, in: 0 -> A @ 9}\n";
    char with[400];
    const double times[] = {0.7, 3.0, 11.0};
    saltus_plan_options o = options(NULL, "A,B");
    (void)state;
    (void)snprintf(with, sizeof with, "%srate rules: {y: sin(time) - y}\n", plain);
    samples a = run(plain, &o, times, 3, 300), b = run(with, &o, times, 3, 300);
    assert_int_equal(a.report.events, b.report.events);
    assert_memory_equal(a.x, b.x, 300 * 6 * sizeof *a.x);
    free(a.x);
    free(b.x);
}

/* ---- what fails, and is refused ---- */

static void failures_name_time_and_variable(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"parameters: {y: 1}\nrate rules: {y: y*y}\n", "time 1.00000"},
        {"parameters: {y: 1}\nrate rules: {y: y*y}\n", "'y' cannot be integrated"},
        {"parameters: {fine: 1, bad: 1}\nrate rules: {fine: 1, bad: 1/(time - 1)}\n",
         "time 1: 'bad' or its rate of change is inf"},
        {"parameters: {bad: 0}\nrate rules: {bad: ln(bad)}\n",
         "time 0: 'bad' or its rate of change is -inf, which is not finite"},
        {"parameters: {y: 0, k: 3}\nspecies: {A: 0}\nrate rules: {y: 1}\n"
         "reactions: {late: {equation: 0 -> A, law: k*(1 - y)}}\n",
         "reaction 'late': propensity -"},
        {"parameters: {y: 1}\nspecies: {A: 0}\nrate rules: {y: 1}\n"
         "reactions: {late: {equation: 0 -> A, law: sqrt(1.5 - y)}}\n",
         "reaction 'late': propensity nan is not finite at A = 0, y = 1.5"},
        /* y passes 0, by the method for stiff systems, in which all is NaN then */
        {"parameters: {y: 0.3}\nspecies: {A: 20}\nrate rules: {y: sin(4*time) - y}\n"
         "reactions: {b: {equation: A -> A, law: 0.1*A*y^1.5}}\n",
         "reaction 'b': propensity nan is not finite at A = 20, y = "},
        /* beyond which a method for stiff systems comes no nearer than its differences */
        {"parameters: {y: 1, x: 0}\nspecies: {A: 5}\n"
         "rate rules: {y: 1, x: 1e5*(cos(time) - x)}\n"
         "reactions: {b: {equation: 0 -> A, law: 0.001*sqrt(2.5 - y)}}\n",
         "reaction 'b': propensity nan is not finite at A = 5, y = 2.5, x = "},
        {"parameters: {y: 1}\nrate rules: {y: 1}\n"
         "events: {a: {when: y > 2, set: {y: nan}}}\n",
         "'y' or its rate of change is nan"},
        /* just after time 0, where steps move y by less than its last place */
        {"parameters: {fine: 0, y: 1}\nrate rules: {fine: 0, y: -sqrt(y - 1) - 0.1}\n",
         "time 0: 'y' or its rate of change is nan"},
        {"parameters: {y: 1}\nspecies: {A: 0}\nrate rules: {y: -y}\n"
         "reactions: {b: {equation: 0 -> A, law: sqrt(y - 1)}}\n",
         "time 0: reaction 'b': propensity nan is not finite at A = 0, y = 1"},
    };
    const double t = 2.5;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        samples s;
        saltus_error err = {0};
        saltus_plan_options o = options(NULL, NULL);
        assert_int_equal(try_run(cases[i].text, "cpu", &o, &t, 1, 1, &s, &err), SALTUS_E_NUMERIC);
        if (!strstr(err.message, cases[i].says) || !strstr(err.message, "trajectory 0, time")) {
            fail_msg("%s\nnot: %s", err.message, cases[i].says);
        }
        free(s.x);
    }
}

/* An event that sets a variable back to its own threshold leaves time no room. */
static void events_that_stop_time_are_named(void **state)
{
    static const char clamp[] = "parameters: {y: 0}\nrate rules: {y: 1}\n"
                                "events: {clamp: {when: y > 2, set: {y: 2}}}\n";
    static const char says[] =
        "time 2: events set each other off without end, 'clamp' among them, at y = 2";
    static const char *const methods[] = {"ode", "hybrid", "direct"};
    const double t = 2.5;
    (void)state;
    for (int i = 0; i < 3; ++i) {
        samples s;
        saltus_error err = {0};
        saltus_plan_options o = options(methods[i], NULL);
        assert_int_equal(try_run(clamp, "cpu", &o, &t, 1, 1, &s, &err), SALTUS_E_NUMERIC);
        if (!strstr(err.message, says)) {
            fail_msg("%s: %s\nnot: %s", methods[i], err.message, says);
        }
        free(s.x);
    }
}

/* A stands still between events, whatever moves B: the event happens at 0.5, 1.5 and so on. */
static void times_may_follow_counts_that_events_set(void **state)
{
    static const char text[] = "species: {A: 3, B: 5000}\nparameters: {n: 0}\n"
                               "reactions: {r: B -> 0 @ 0.1}\nevents:\n"
                               "  e: {when: time > A - 2.5, set: {n: time, A: A + 1}}\n";
    static const char *const methods[] = {"ode", "hybrid", "direct"};
    const double t[] = {0.4, 3.4, 3.6};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        samples s = {0};
        saltus_error err = {0};
        const saltus_plan_options o = options(methods[i], "n");
        const saltus_status got = try_run(text, "cpu", &o, t, 3, 1, &s, &err);
        if (got != SALTUS_OK) {
            fail_msg("%s: %s", methods[i], err.message);
        }
        assert_true(s.x[0] == 0.0 && s.x[1] == 2.5 && s.x[2] == 3.5);
        free(s.x);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    static const char text[] = "parameters: {y: 1}\nspecies: {A: 5}\nrate rules: {y: -y}\n"
                               "reactions: {r: A -> 0 @ y}\n";
    const double t = 1.0;
    samples s;
    (void)state;
    struct {
        const char *method, *rng, *layout, *stiff;
        double rtol, atol;
        saltus_status status;
        const char *says;
    } cases[] = {
        {"tau", "philox", "auto", "auto", 1e-6, 1e-12, SALTUS_E_UNSUPPORTED, "has rate rules"},
        {NULL, "xorwow", "auto", "auto", 1e-6, 1e-12, SALTUS_E_INVALID, "philox alone"},
        {"ode", "mt19937", "auto", "auto", 1e-6, 1e-12, SALTUS_E_INVALID, "philox alone"},
        {NULL, "philox", "registers", "auto", 1e-6, 1e-12, SALTUS_E_INVALID, "lanes and scalar"},
        {"ode", "philox", "lanes", "auto", 1e-6, 1e-12, SALTUS_E_INVALID, "auto and scalar"},
        {NULL, "philox", "auto", "auto", 0.0, 1e-12, SALTUS_E_INVALID, "rtol 0"},
        {NULL, "philox", "auto", "auto", NAN, 1e-12, SALTUS_E_INVALID, "rtol nan"},
        {NULL, "philox", "auto", "auto", 1e-6, 0.0, SALTUS_E_INVALID, "atol 0"},
        {"ode", "philox", "auto", "auto", 1e-6, INFINITY, SALTUS_E_INVALID, "atol inf"},
        {NULL, "philox", "auto", "often", 1e-6, 1e-12, SALTUS_E_INVALID,
         "stiff 'often': auto, never or always"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_error err = {0};
        saltus_plan_options o = options(cases[i].method, NULL);
        o.rng = cases[i].rng;
        o.layout = cases[i].layout;
        o.stiff = cases[i].stiff;
        o.rtol = cases[i].rtol;
        o.atol = cases[i].atol;
        const saltus_status got = try_run(text, "cpu", &o, &t, 1, 1, &s, &err);
        if (got != cases[i].status || !strstr(err.message, cases[i].says)) {
            fail_msg("%d: %s\nnot: %s", (int)got, err.message, cases[i].says);
        }
    }
    static const struct {
        const char *text, *says;
    } of_ode[] = {
        {"species: {A: 5}\nreactions: {r: {equation: A -> 0, rate: 1, delay: 2}}\n",
         "method 'ode': reaction 'r' takes a while"},
        {"species: {A: 5}\nreactions: {r: A -> 0 @ 1}\n"
         "events: {e: {at: 1, set: {A: 'binomial(A, 0.5)'}}}\n",
         "draws values, and the mean field is without chance"},
        {"species: {A: 5}\nreactions: {r: {equation: A -> 0, law: 'A*piecewise(1, time < A, "
         "2)'}}\n",
         "a time at which something switches follows counts"},
    };
    for (size_t i = 0; i < sizeof of_ode / sizeof *of_ode; ++i) {
        saltus_error err = {0};
        saltus_plan_options o = options("ode", NULL);
        const saltus_status got = try_run(of_ode[i].text, "cpu", &o, &t, 1, 1, &s, &err);
        if (got != SALTUS_E_UNSUPPORTED || !strstr(err.message, of_ode[i].says)) {
            fail_msg("%d: %s\nnot: %s", (int)got, err.message, of_ode[i].says);
        }
    }
    static const struct {
        const char *text, *says;
    } models[] = {
        {"parameters: {V: }\nrate rules: {V: 1}\n", "'V' has a rate rule, and no value at time 0"},
        {"parameters: {V: 1/0}\nrate rules: {V: 1}\n",
         "'V' has a rate rule, and no finite value at time 0"},
        {"parameters: {V: {value: 1, constant: true}}\nrate rules: {V: 1}\n",
         "'V' has a rate rule, and is constant"},
        {"species: {V: 1}\nrate rules: {V: 1}\nreactions: {r: V -> 0 @ 1}\n",
         "reaction 'r' changes species 'V', which a rate rule determines"},
        {"parameters: {V: 1, k: }\nrate rules: {V: k}\n",
         "rate rule of 'V' needs parameter 'k', which has no value"},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        OK(saltus_model_parse_yaml(models[i].text, strlen(models[i].text), "m", &m, &err));
        if (saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) == SALTUS_OK ||
            !strstr(err.message, models[i].says)) {
            fail_msg("%s\nnot: %s", err.message, models[i].says);
        }
        saltus_model_destroy(m);
    }
    saltus_model *m = parse_frozen(text);
    const saltus_method_choice choice = saltus_method_choose(m, NULL);
    assert_string_equal(choice.method, "direct");
    assert_non_null(strstr(choice.why, "rate rules"));
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_equations_follow_closed_forms),
        cmocka_unit_test(errors_follow_the_tolerance),
        cmocka_unit_test(stiff_equations_are_solved),
        cmocka_unit_test(stiff_systems_are_found_where_triggers_are_watched),
        cmocka_unit_test(the_mean_field_follows_rate_equations),
        cmocka_unit_test(amounts_may_be_far_below_a_molecule),
        cmocka_unit_test(powers_begin_at_0),
        cmocka_unit_test(a_ball_bounces_when_it_should),
        cmocka_unit_test(short_turns_are_not_missed),
        cmocka_unit_test(days_are_not_missed),
        cmocka_unit_test(a_clock_is_set_back_every_time),
        cmocka_unit_test(a_switched_protein_is_beta),
        cmocka_unit_test(survival_is_known),
        cmocka_unit_test(ages_begin_anew),
        cmocka_unit_test(laws_of_time_are_integrated_too),
        cmocka_unit_test(delays_go_on_beside_rate_rules),
        cmocka_unit_test(sample_times_change_no_bit),
        cmocka_unit_test(devices_and_threads_change_no_bit),
        cmocka_unit_test(lanes_leave_what_is_no_matter_of_theirs),
        cmocka_unit_test(reactions_in_lanes_are_those_alone),
        cmocka_unit_test(an_idle_rate_rule_changes_no_reaction),
        cmocka_unit_test(failures_name_time_and_variable),
        cmocka_unit_test(events_that_stop_time_are_named),
        cmocka_unit_test(times_may_follow_counts_that_events_set),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
