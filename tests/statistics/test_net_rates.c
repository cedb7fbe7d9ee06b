/* What differential equations allow and counts do not: laws below 0, reactions that lack reactants,
 * amounts of fixed species that are not whole, triggers that drift with time. Exact answers, and
 * equal bits in all layouts of a CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static saltus_plan_options in_layout(const char *method, const char *layout)
{
    saltus_plan_options o = options(method, NULL);
    o.layout = layout;
    return o;
}

/* What trajectories have come to at time t. */
static samples run_finals(const char *text, const char *method, const char *layout, double t,
                          int64_t n)
{
    const saltus_plan_options o = in_layout(method, layout);
    const samples s = run(text, &o, &t, 1, n);
    assert_int_equal(s.n, n);
    return s;
}

static saltus_status try_finals(const char *text, const char *method, double t, samples *s,
                                saltus_error *err)
{
    const saltus_plan_options o = in_layout(method, NULL);
    return try_run(text, "cpu", &o, &t, 1, 1, s, err);
}

/* The mean and variance of column c; the mean of fourth powers gives the variance's error. */
static void check_moments(const samples *s, int c, double mean, double variance, const char *what)
{
    double sum = 0.0, squares = 0.0, fourths = 0.0;
    for (int64_t i = 0; i < s->n; ++i) {
        const double d = s->x[i * s->n_columns + c] - mean;
        sum += d;
        squares += d * d;
        fourths += d * d * d * d;
    }
    const double n = (double)s->n, is = sum / n, spread = squares / n;
    if (!(fabs(is) <= 5.0 * sqrt(variance / n))) {
        fail_msg("%s: mean %g, not %g", what, mean + is, mean);
    }
    if (!(fabs(spread - variance) <= 5.0 * sqrt((fourths / n - spread * spread) / n))) {
        fail_msg("%s: variance %g, not %g", what, spread, variance);
    }
}

static void check_same_bits(const samples *a, const samples *b, const char *what)
{
    assert_int_equal(a->n_columns, b->n_columns);
    if (a->n != b->n || memcmp(a->x, b->x, (size_t)(a->n * a->n_columns) * sizeof *a->x) != 0) {
        fail_msg("%s: other bits", what);
    }
}

/* ---- laws below 0 ---- */

/* A -> B at k (A - B), backward where that is below 0: half the difference is a number of things
 * each of which is gone at 2 k, so it is binomial. */
static void net_rates_go_both_ways(void **state)
{
    static const struct {
        const char *amounts, *law;
        double sign;
    } cases[] = {{"A: 200, B: 0", "k*(A - B)", 1.0},
                 {"A: 0, B: 200", "k*(A - B)", -1.0},
                 {"A: 200, B: 0", "k*A - k*B", 1.0},
                 {"A: 0, B: 200", "k*(A - B)*(1 + 0*sin(time))", -1.0}};
    const double t = 1.5, k = 0.3, p = exp(-2.0 * k * t);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "negative laws: backward\nspecies: {%s}\nparameters: {k: 0.3}\n"
                       "reactions: {r: A -> B @ %s}\n",
                       cases[i].amounts, cases[i].law);
        samples s = run_finals(text, "direct", "scalar", t, 20000);
        check_moments(&s, 0, 100.0 + cases[i].sign * 100.0 * p, 100.0 * p * (1.0 - p),
                      cases[i].law);
        if (i < 3) {
            samples lanes = run_finals(text, "direct", "lanes", t, 20000);
            check_same_bits(&s, &lanes, cases[i].law);
            free(lanes.x);
        }
        free(s.x);
    }
}

static void net_rates_leap_and_are_means(void **state)
{
    static const char text[] = "negative laws: backward\nspecies: {A: 0, B: 2000000}\n"
                               "parameters: {k: 0.3}\nreactions: {r: A -> B @ k*(A - B)}\n";
    const double expected = 1e6 * (1.0 - exp(-0.9));
    (void)state;
    samples s = run_finals(text, "tau", "lanes", 1.5, 100),
            one = run_finals(text, "tau", "scalar", 1.5, 100);
    check_same_bits(&s, &one, "leaps");
    double mean = 0.0;
    for (int i = 0; i < 100; ++i) {
        mean += s.x[(size_t)i * 2] / 100.0;
    }
    assert_true(fabs(mean - expected) < 0.002 * expected);
    samples ode = run_finals(text, "ode", NULL, 1.5, 1);
    assert_true(fabs(ode.x[0] - expected) < 1.0);
    free(s.x);
    free(one.x);
    free(ode.x);
}

/* A law that is NaN is no rate in either direction, and one that the time alone makes negative is
 * an error still. */
static void what_is_no_net_rate_fails(void **state)
{
    static const char *const laws[][2] = {{"ln(A - 6) - B", "propensity nan is not finite"},
                                          {"3 - time", "propensity "}};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        char text[300];
        samples s;
        saltus_error err = {0};
        (void)snprintf(text, sizeof text,
                       "negative laws: backward\nspecies: {A: 5, B: 0}\n"
                       "reactions: {r: {equation: B -> A, law: %s}}\n",
                       laws[i][0]);
        if (i == 1) {
            (void)strcpy(text, "negative laws: backward\nspecies: {A: 5, B: 0}\n"
                               "reactions: {r: 0 -> A @ 3 - time}\n");
        }
        assert_int_equal(try_finals(text, "direct", 10.0, &s, &err), SALTUS_E_NUMERIC);
        if (!strstr(err.message, laws[i][1]) || !strstr(err.message, "'r")) {
            fail_msg("%s", err.message);
        }
        free(s.x);
    }
}

static void constants_below_0_go_backward(void **state)
{
    static const char text[] = "negative laws: backward\nspecies: {A: 0}\n"
                               "reactions: {r: {equation: A -> 0, law: -20}}\n";
    (void)state;
    samples s = run_finals(text, "direct", "scalar", 2.0, 20000);
    check_moments(&s, 0, 40.0, 40.0, "-20");
    free(s.x);
}

/* A rule that is a total less what is bound is what is free, not a difference of two rates: the
 * reaction is the one that has the free ones as a species, bit for bit. */
static void rules_are_kept_whole(void **state)
{
    static const char written[] = "species: {A: 60, B: 0, F: 40}\n"
                                  "reactions:\n"
                                  "  r: {equation: A + F <-> B, law: 0.5*A*F - 0.25*B}\n";
    static const char by_rule[] = "negative laws: backward\nspecies: {A: 60, B: 0}\n"
                                  "rules: {F: 40 - B}\n"
                                  "reactions:\n"
                                  "  r: {equation: A <-> B, law: 0.5*A*F - 0.25*B}\n";
    (void)state;
    samples a = run_finals(written, "direct", "scalar", 1.0, 1000),
            b = run_finals(by_rule, "direct", "scalar", 1.0, 1000);
    for (int i = 0; i < 1000; ++i) {
        assert_true(a.x[(size_t)i * (size_t)a.n_columns] == b.x[(size_t)i * (size_t)b.n_columns]);
    }
    free(a.x);
    free(b.x);
}

/* 10^6 of A that flow out at a net rate, with the noise that it has; beside few of D, which is an
 * event. */
static void net_rates_flow(void **state)
{
    static const char text[] =
        "negative laws: backward\nlacking reactants: idle\n"
        "species: {A: 0, B: 2000000, D: 20}\nparameters: {k: 0.3}\n"
        "reactions: {r: A -> B @ k*(A - B), d: {equation: D -> 0, law: 5}}\n";
    const double p = exp(-0.9);
    (void)state;
    samples s = run_finals(text, "hybrid", NULL, 1.5, 4000);
    check_moments(&s, 0, 1e6 * (1.0 - p), 1e6 * p * (1.0 - p), "A");
    free(s.x);
}

/* ---- reactions that lack reactants ---- */

/* 0 -> A at 3, A -> 0 at 4 while there is any: a queue, in the steady state geometric with ratio
 * 3/4. */
static void reactions_that_lack_reactants_idle(void **state)
{
    static const struct {
        const char *law, *more, *method;
    } cases[] = {{"4", "", "direct"},
                 {"4*(1 + 0*sin(time))", "", "direct"},
                 {"4 + 0*y", "parameters: {y: 1}\nrate rules: {y: -y}\n", "direct"},
                 {"4", "", "tau"},
                 {"4", "", "hybrid"},
                 {"4 + 0*y", "parameters: {y: 1}\nrate rules: {y: -y}\n", "hybrid"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "lacking reactants: idle\nspecies: {A: 0}\n%s"
                       "reactions:\n  in: 0 -> A @ 3\n  out: {equation: A -> 0, law: %s}\n",
                       cases[i].more, cases[i].law);
        samples s = run_finals(text, cases[i].method, "scalar", 100.0, 2000);
        check_moments(&s, 0, 3.0, 12.0, cases[i].law);
        if (i != 1 && i < 4) { /* laws that drift, and hybrids, are simulated one at a time */
            samples lanes = run_finals(text, cases[i].method, "lanes", 100.0, 2000);
            check_same_bits(&s, &lanes, cases[i].law);
            free(lanes.x);
        }
        free(s.x);
    }
}

/* The same where something flows, so that events that do nothing are left out; and where what many
 * molecules made has been used up at a rate of 1e9: each of those that still come is used at once.
 * The test would not end if the program waited for all that does nothing. */
static void what_has_flowed_waits_for_nothing(void **state)
{
    static const char *const more[] = {"", "*(1 + 0*sin(time))", " + 0*y"};
    static const int64_t sizes[] = {1, 3, 20, 50};
    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        char text[600];
        const char *rate = i == 2 ? "parameters: {y: 1}\nrate rules: {y: -y}\n" : "";
        (void)snprintf(text, sizeof text,
                       "lacking reactants: idle\nspecies: {A: 0, Z: 1e9}\n%s"
                       "reactions:\n  in: 0 -> A @ 3\n  out: {equation: A -> 0, law: 4%s}\n"
                       "  flow: Z -> 0 @ 0.01\n",
                       rate, more[i]);
        samples s = run_finals(text, "hybrid", "scalar", 100.0, 2000);
        check_moments(&s, 0, 3.0, 12.0, "a queue beside a flow");
        free(s.x);
        (void)snprintf(text, sizeof text,
                       "lacking reactants: idle\nspecies: {A: 1e9, C: 0, X: 100}\n%s"
                       "reactions:\n  in: 0 -> A @ 50\n  out: {equation: A -> C, law: 1e9%s}\n"
                       "  other: X -> 0 @ 0.5\n",
                       rate, more[i]);
        s = run_finals(text, "hybrid", "scalar", 3.0, 2000);
        const double p = exp(-1.5);
        check_moments(&s, 2, 100.0 * p, 100.0 * p * (1.0 - p), "what stands beside");
        for (int64_t k = 0; k < s.n; ++k) {
            double *x = s.x + k * s.n_columns;
            assert_true(x[0] <= 1.0);
            x[1] += x[0] - 1e9; /* how many have come */
        }
        check_moments(&s, 1, 150.0, 150.0, "what came late");
        free(s.x);
        const saltus_plan_options o = in_layout("hybrid", "scalar");
        check_times_change_no_bit(text, &o, 3.0, sizes, 20);
    }
}

/* Nothing is half done: A + 2 B needs both. */
static void what_idles_changes_nothing(void **state)
{
    static const char text[] = "lacking reactants: idle\nspecies: {A: 5, B: 3, C: 0}\n"
                               "reactions: {r: {equation: A + 2 B -> C, law: 7}}\n";
    (void)state;
    samples s = run_finals(text, "direct", "scalar", 50.0, 100);
    for (int i = 0; i < 100; ++i) {
        const double *x = s.x + (size_t)i * 3;
        assert_true(x[0] == 4.0 && x[1] == 1.0 && x[2] == 1.0);
    }
    free(s.x);
    saltus_error err = {0};
    const char *failing = strchr(text, '\n') + 1;
    assert_int_equal(try_finals(failing, "direct", 50.0, &s, &err), SALTUS_E_NUMERIC);
    assert_non_null(strstr(err.message, "'r' fired with too few reactants"));
    free(s.x);
}

/* Where a reaction lacks reactants it has no law: 0 / 0 is no failure there. */
static void laws_of_what_has_run_out_are_0(void **state)
{
    static const struct {
        const char *law, *more, *method;
    } cases[] = {{"5*A/(A + B)", "", "direct"},
                 {"(5 + y)*A/(A + B)", "parameters: {y: 1}\nrate rules: {y: -y}\n", "direct"},
                 {"5*A/(A + B)", "", "tau"},
                 {"5*A/(A + B)", "", "hybrid"},
                 {"(5 + y)*A/(A + B)", "parameters: {y: 1}\nrate rules: {y: -y}\n", "hybrid"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "lacking reactants: idle\nspecies: {A: 30, B: 0, C: 0}\n%s"
                       "reactions: {r: {equation: A -> C, law: %s}}\n",
                       cases[i].more, cases[i].law);
        samples s = run_finals(text, cases[i].method, "scalar", 100.0, 50),
                lanes = run_finals(text, cases[i].method, i < 3 ? "lanes" : "scalar", 100.0, 50);
        check_same_bits(&s, &lanes, cases[i].law);
        for (int k = 0; k < 50; ++k) {
            assert_true(s.x[k * s.n_columns] == 0.0 && s.x[k * s.n_columns + 2] == 30.0);
        }
        free(s.x);
        free(lanes.x);
    }
}

/* In lanes too, and as often: reactions that lack what they take, by laws of all kinds. */
static void what_idles_in_lanes_idles_alone(void **state)
{
    static const char *const laws[] = {"3", "3*(1 + sin(time))", "3*k"};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        char text[600];
        (void)snprintf(
            text, sizeof text,
            "lacking reactants: idle\nspecies: {A: 5, B: 3, C: 0}\nparameters: {k: 1}\n%s"
            "reactions:\n"
            "  eat: {equation: A + 2 C -> 2 B + C, law: %s}\n"
            "  make: {equation: 0 -> A, law: 2.5}\n"
            "  mix: {equation: A + B -> A + C, law: A*B/(A + B)}\n"
            "  turn: {equation: B -> C, law: k*B/(B + 0*C)}\n"
            "  lose: {equation: C -> 0, law: 1}\n",
            i == 2 ? "rate rules: {k: 1.2 - k}\n" : "", laws[i]);
        samples s = run_finals(text, "direct", "scalar", 30.0, 200),
                lanes = run_finals(text, "direct", "lanes", 30.0, 200);
        check_same_bits(&s, &lanes, laws[i]);
        assert_int_equal(s.report.events, lanes.report.events);
        free(s.x);
        free(lanes.x);
    }
}

static void check_info(const char *text, const char *part)
{
    char *out = NULL;
    size_t size = 0;
    saltus_model *m = parse_frozen(text);
    FILE *f = open_memstream(&out, &size);
    saltus_error err = {0};
    assert_non_null(f);
    OK(saltus_model_print_info(m, f, &err));
    (void)fclose(f);
    if (!strstr(out, part)) {
        fail_msg("'%s' is not in\n%s", part, out);
    }
    free(out);
    saltus_model_destroy(m);
}

/* A logarithm is negative with no minus sign: Gompertz' growth above its limit, flows by Nernst's
 * potential. So is what a condition or a comparison chooses. Of many molecules the mean is the mean
 * field. */
static void factors_may_be_negative(void **state)
{
    static const struct {
        const char *text, *how;
    } models[] = {{"species: {V: 20000}\nreactions: {r: 0 -> V @ 0.5*V*ln(10000/V)}\n", "net rate"},
                  {"species: {V: 20000, K: 10000}\nrules: {u: log10(K/V)}\n"
                   "reactions: {r: V -> 2 V @ 0.5*V*u + 0.1*V, s: K -> 0 @ 0.1*K}\n",
                   "net rate"},
                  {"species: {A: 5000, B: 20000}\nreactions: {r: A <-> B @ 0.1*(A*ln(A/10000) - "
                   "B*ln(B/10000))}\n",
                   "expression, split into forward and backward"},
                  {"species: {A: 5000, B: 20000}\nreactions:\n"
                   "  r: A <-> B @ piecewise(0.1*(A - B), A < 1e6, 0)\n",
                   "net rate"},
                  {"species: {A: 5000, B: 20000}\nreactions:\n"
                   "  r: A -> B @ min(max(0.1*A - 0.1*B, -1000), 1000)\n",
                   "net rate"},
                  {"species: {A: 5000, B: 20000}\n"
                   "rules: {u: 'piecewise(0.1*(A - B), A < 1e6, 0)'}\n"
                   "reactions: {r: A <-> B @ u - 0.1*B}\n",
                   "expression, split into forward and backward"}};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text, "negative laws: backward\n%s", models[i].text);
        samples s = run_finals(text, "direct", "scalar", 1.0, 20),
                lanes = run_finals(text, "direct", "lanes", 1.0, 20),
                field = run_finals(text, "ode", NULL, 1.0, 1);
        check_same_bits(&s, &lanes, text);
        for (int c = 0; c < field.n_columns; ++c) {
            double mean = 0.0;
            for (int k = 0; k < 20; ++k) {
                mean += s.x[k * s.n_columns + c] / 20.0;
            }
            if (!(fabs(mean - field.x[c]) <= 0.005 * fabs(field.x[c]))) {
                fail_msg("%s: %g, not %g", text, mean, field.x[c]);
            }
        }
        free(s.x);
        free(lanes.x);
        free(field.x);
        check_info(text, models[i].how);
    }
    /* these are never negative, and stay one rate */
    check_info("negative laws: backward\nspecies: {A: 5}\nreactions: {r: A -> 0 @ A*ln(1 + A)}\n",
               "[expression]");
    check_info("negative laws: backward\nspecies: {A: 5}\nreactions: {r: A -> 0 @ A*ln(2)}\n",
               "[mass action]");
    check_info("negative laws: backward\nspecies: {A: 5}\n"
               "reactions:\n  r: A -> 0 @ max(A - 3, 0)*piecewise(1, A > 4, 0)\n",
               "[expression]");
}

/* Laws whose terms are no rates of two ways, as some of them stay where a way has nothing left: the
 * law goes to and fro between two states of A + B = n, of which the upper one is `upper`. */
static void terms_that_stay_are_net(void **state)
{
    static const struct {
        const char *equation, *law;
        int n;
        double rise, fall, upper; /* rates to the upper state and from it */
    } cases[] = {{"A -> B", "2*k*A - k*B - 1.9*k*A", 20, 0.9, 0.2, 2.0},
                 {"B -> A", "k*B + 1.9*k*A - 2*k*A", 20, 0.9, 0.2, 2.0},
                 {"A -> B", "k*A - 2*B - 2", 3, 1.0, 2.0, 1.0},
                 {"A -> B", "k*A - 2*B - 2*w", 3, 1.0, 2.0, 1.0},
                 {"A -> B", "k*(A - D) - 2*B", 3, 1.0, 2.0, 1.0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "negative laws: backward\nlacking reactants: idle\n"
                       "species: {A: %d, B: 0, D: 2}\nparameters: {k: 1}\n"
                       "rules: {w: D/2}\nreactions:\n"
                       "  r: {equation: %s, law: %s, reversible: true}\n  s: D -> 0 @ 0\n",
                       cases[i].n, cases[i].equation, cases[i].law);
        check_info(text, "net rate");
        samples s = run_finals(text, "direct", "scalar", 40.0, 20000);
        const double p = cases[i].rise / (cases[i].rise + cases[i].fall);
        check_moments(&s, 1, cases[i].upper - 1.0 + p, p * (1.0 - p), cases[i].law);
        free(s.x);
    }
}

/* These keep the noise of two rates: each term reads something that its way takes, or is 0. */
static void terms_that_end_are_two_rates(void **state)
{
    static const char *const cases[][2] = {
        {"{equation: A + D <-> B, law: k*(A + D) - 2*B}", "[expression, split"},
        {"{equation: A <-> B, law: k*A - 2*B - z}", "[mass action, split"},
        {"{equation: A <-> B, law: k*sqrt(A) - w*B^1.5/(1 + B)}", "[expression, split"},
        {"{equation: A + F <-> B, law: k*A*F - 2*B}", "[mass action, split"},
        {"{equation: 0 <-> B, law: k - 2*B}", "[constant, split"},
        {"{equation: A <-> F, law: k*A - 2*F}", "[mass action, split"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "negative laws: backward\nlacking reactants: idle\n"
                       "species: {A: 9, B: 4, D: 2, F: {initial: 3, boundary: true}}\n"
                       "parameters: {k: 1, z: 0}\nrules: {w: D/2}\n"
                       "reactions:\n  r: %s\n  s: D -> 0 @ D\n",
                       cases[i][0]);
        check_info(text, cases[i][1]);
    }
}

/* A law that always is negative may be a slip. */
static void constants_below_0_are_told(void **state)
{
    (void)state;
    saltus_model *m = parse_frozen("negative laws: backward\nspecies: {A: 5}\nparameters: {k: -2}\n"
                                   "reactions:\n  r: A -> 0 @ k*A\n  s: A -> 0 @ 2*A\n");
    assert_int_equal(saltus_model_n_warnings(m), 1);
    assert_non_null(strstr(saltus_model_warning(m, 0),
                           ":5: reaction 'r' has a rate constant below 0, -2: it goes backward"));
    saltus_model_destroy(m);
}

/* What began would end with nothing taken. */
static void reactions_that_take_a_while_do_not_idle(void **state)
{
    static const char text[] = "lacking reactants: idle\nspecies: {A: 1}\n"
                               "reactions: {r: {equation: A -> 0, law: 1, delay: 1}}\n";
    saltus_model *m = NULL;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "m.yaml", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "reaction 'r' takes a while"));
    saltus_model_destroy(m);
}

static void info_tells_of_net_rates(void **state)
{
    static const char text[] = "negative laws: backward\nspecies: {A: 5, B: 1, C: {initial: 0.5, "
                               "constant: true}}\n"
                               "reactions: {r: A -> B @ A - B, s: A -> B @ A*C}\n"
                               "events: {e: {when: A*sin(time) < 0, set: {A: 2}}}\n";
    static const char *const lines[] = {
        "[net rate, split into forward and backward]", "[mass action]",
        "0.5   (never changes; a real value, not a count)", ", triggers that drift with time, 1 "};
    char *out = NULL;
    size_t size = 0;
    saltus_model *m = parse_frozen(text);
    FILE *f = open_memstream(&out, &size);
    (void)state;
    assert_non_null(f);
    saltus_error err = {0};
    OK(saltus_model_print_info(m, f, &err));
    (void)fclose(f);
    for (int i = 0; i < 4; ++i) {
        if (!strstr(out, lines[i])) {
            fail_msg("'%s' is not in\n%s", lines[i], out);
        }
    }
    free(out);
    saltus_model_destroy(m);
}

/* ---- fixed species ---- */

static void fixed_species_need_not_be_whole(void **state)
{
    static const char text[] = "species: {A: 1000, E: {initial: 0.4, boundary: true}}\n"
                               "reactions: {r: {equation: A -> 0, law: A*E}}\n";
    const double p = exp(-0.4);
    (void)state;
    samples s = run_finals(text, "direct", NULL, 1.0, 20000);
    check_moments(&s, 0, 1000.0 * p, 1000.0 * p * (1.0 - p), "A*E");
    assert_int_equal(s.n_columns, 2);
    assert_true(s.x[1] == 0.4);
    free(s.x);
    /* said to be fixed, or of a model whose amounts are real */
    s = run_finals("negative laws: backward\nspecies: {A: 1000, E: 0.4}\n"
                   "reactions: {r: {equation: A -> 0, law: A*E}}\n",
                   "ode", NULL, 1.0, 1);
    assert_true(fabs(s.x[0] - 1000.0 * p) < 0.01 && s.x[1] == 0.4);
    free(s.x);
    s = run_finals("species: {A: 1000, E: 0.4}\nreactions: {r: {equation: A -> 0, law: A*E}}\n",
                   "direct", NULL, 1.0, 1);
    assert_true(s.x[0] == 1000.0 && s.x[1] == 0.0); /* rounded, with a warning */
    free(s.x);
    static const char voltage[] = "species: {A: 1000, V: {initial: 0 - 70, boundary: true},\n"
                                  "          Out: {boundary: true}}\n"
                                  "reactions: {r: {equation: A -> Out, law: A*exp(V/70)}}\n";
    const double q = exp(-exp(-1.0));
    s = run_finals(voltage, "direct", NULL, 1.0, 20000);
    check_moments(&s, 0, 1000.0 * q, 1000.0 * q * (1.0 - q), "A*exp(V/70)");
    free(s.x);
    s = run_finals(text, "ode", NULL, 1.0, 1);
    assert_true(fabs(s.x[0] - 1000.0 * p) < 0.01);
    free(s.x);
}

/* ---- triggers that drift with time ---- */

/* Day from 0 to 12, night from 12 to 24: what is made by day is Poisson. */
static void triggers_follow_the_time(void **state)
{
    static const char *const ways[][2] = {
        {"sin(pi*time/12) < 0", "sin(pi*time/12) > 0"},
        {"(1 + X)*sin(pi*time/12) < 0", "(1 + X)*sin(pi*time/12) > 0"},
        {"rem(time, 24) >= 12", "rem(time, 24) < 12"},
        {"time - 24*floor(time/24) > 12", "time - 24*floor(time/24) < 12"}};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "species: {X: 0}\nparameters: {light: 1}\n"
                       "reactions: {make: {equation: 0 -> X, law: 2*light}}\n"
                       "events:\n  dusk: {when: \"%s\", set: {light: 0}}\n"
                       "  dawn: {when: \"%s\", set: {light: 1}}\n",
                       ways[i][0], ways[i][1]);
        samples s = run_finals(text, "direct", "scalar", 100.0, 1000),
                lanes = run_finals(text, "direct", "lanes", 100.0, 1000);
        check_moments(&s, 0, 104.0, 104.0, ways[i][0]); /* 52 of 100 hours are day */
        check_same_bits(&s, &lanes, ways[i][0]);
        free(s.x);
        free(lanes.x);
        s = run_finals(text, "ode", NULL, 100.0, 1);
        if (!(fabs(s.x[0] - 104.0) < 1e-3)) {
            fail_msg("%s: the mean field makes %.9g", ways[i][0], s.x[0]);
        }
        free(s.x);
    }
}

/* A moment is a moment, whatever drifts or flows beside it. */
static void triggers_may_name_a_moment(void **state)
{
    static const char *const more[] = {"", "parameters: {y: 1}\nrate rules: {y: -y}\n"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {X: 7}\n%s"
                       "events:\n  e: {when: 2*time == 5, set: {X: X + 10}}\n"
                       "  f: {when: time == 3 and X > 20, set: {X: 0}}\n",
                       more[i]);
        samples before = run_finals(text, "direct", NULL, 2.499, 1),
                after = run_finals(text, "direct", NULL, 2.501, 1),
                late = run_finals(text, "direct", NULL, 10.0, 1);
        assert_true(before.x[0] == 7.0 && after.x[0] == 17.0 && late.x[0] == 17.0);
        free(before.x);
        free(after.x);
        free(late.x);
    }
}

static void leaps_do_not_follow_triggers(void **state)
{
    static const char text[] = "species: {X: 0}\nreactions: {make: 0 -> X @ 2}\n"
                               "events: {e: {when: (1 + X)*sin(time) < 0, set: {X: 0}}}\n";
    samples s;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(try_finals(text, "tau", 1.0, &s, &err), SALTUS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "has triggers that drift with time"));
    free(s.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(net_rates_go_both_ways),
        cmocka_unit_test(net_rates_leap_and_are_means),
        cmocka_unit_test(net_rates_flow),
        cmocka_unit_test(what_is_no_net_rate_fails),
        cmocka_unit_test(constants_below_0_go_backward),
        cmocka_unit_test(rules_are_kept_whole),
        cmocka_unit_test(reactions_that_lack_reactants_idle),
        cmocka_unit_test(what_has_flowed_waits_for_nothing),
        cmocka_unit_test(what_idles_changes_nothing),
        cmocka_unit_test(laws_of_what_has_run_out_are_0),
        cmocka_unit_test(what_idles_in_lanes_idles_alone),
        cmocka_unit_test(reactions_that_take_a_while_do_not_idle),
        cmocka_unit_test(factors_may_be_negative),
        cmocka_unit_test(terms_that_stay_are_net),
        cmocka_unit_test(terms_that_end_are_two_rates),
        cmocka_unit_test(constants_below_0_are_told),
        cmocka_unit_test(info_tells_of_net_rates),
        cmocka_unit_test(fixed_species_need_not_be_whole),
        cmocka_unit_test(triggers_follow_the_time),
        cmocka_unit_test(triggers_may_name_a_moment),
        cmocka_unit_test(leaps_do_not_follow_triggers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
