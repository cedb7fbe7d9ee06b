/* Values that models draw: at time 0, in assignments of events, as delays. Bits of all layouts and
 * devices, moments against exact ones, what is refused, and what ends a run. */
#include "../support/moments.h"
#include "../support/track.h"
#include "frozen.h"
#include "../support/same_model.h"

#include <math.h>
#include <stdlib.h>

/* One of everything: chains of values at time 0, some by way of rules, events that draw with values
 * of the trigger and of the assignment, delays. */
static const char everything[] =
    "parameters:\n"
    "  k: gamma(4, 0.5)\n"
    "  m: {value: k * 2, observable: true}\n"
    "  p: {value: 'total + normal(0, k)', observable: true}\n"
    "  V: {value: 1, observable: true}\n"
    "species: {A: poisson(20), B: {initial: 'binomial(A, 0.5)'}, C: 'normal(5, 1, 0, 10)', D: 3}\n"
    "rules: {total: A + m}\n"
    "reactions:\n"
    "  make: 0 -> A @ k * 5\n"
    "  lose: A -> 0 @ 0.2\n"
    "  turn: A -> B @ 0.1\n"
    "events:\n"
    "  divide: {at: 1, set: {V: V/2, A: 'binomial(A, 0.5)', B: 'binomial(B, 0.5)'}}\n"
    "  late: {at: 1.5, delay: 'uniform(0, 1)', set: {C: 'C + exponential(2)', D: 'poisson(D)'}}\n"
    "  again: {at: 2, delay: 'gamma(2, 0.3)', values_from: assignment,\n"
    "          set: {B: 'B + poisson(gamma(2, 3))', V: 'lognormal(0, 0.1) * V'}}\n";

static saltus_status run_on(const char *text, const char *device, const char *layout,
                            const char *method, int64_t n, moments *found, saltus_error *err)
{
    const double times[] = {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0};
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_plan_options plan = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = n;
    run.times = times;
    run.n_times = 8;
    plan.layout = layout;
    plan.method = method;
    const saltus_status status = run_plan(m, device, &plan, &run, found, err);
    saltus_model_destroy(m);
    return status;
}

/* Where DRAWN_NEEDS_GPU is set there must be one. */
static void all_layouts_draw_the_same(void **state)
{
    static const struct {
        const char *device, *layout;
    } where[] = {{"cpu:generic", "scalar"}, {"cpu:generic", "lanes"}, {"cpu:avx2", "lanes"},
                 {"cpu:avx512", "lanes"},   {"cuda", "global"},       {"cuda", "auto"}};
    static const char *const methods[] = {"direct", "tau"};
    int n_compared = 0, n_gpu = 0;
    (void)state;
    for (int k = 0; k < 2; ++k) {
        uint64_t expected = 0;
        for (size_t i = 0; i < sizeof where / sizeof *where; ++i) {
            saltus_error err = {0};
            moments found = {0};
            const saltus_status status =
                run_on(everything, where[i].device, where[i].layout, methods[k], 300, &found, &err);
            if (status != SALTUS_E_UNAVAILABLE) {
                if (status != SALTUS_OK) {
                    fail_msg("%s, %s: %s", where[i].device, where[i].layout, err.message);
                }
                expected = i == 0 ? found.hash : expected;
                if (found.n != 300 || found.hash != expected) {
                    fail_msg("%s, %s, %s: other bits", where[i].device, where[i].layout,
                             methods[k]);
                }
                ++n_compared;
                n_gpu += where[i].device[1] == 'u';
            }
            moments_free(&found);
        }
    }
    assert_true(n_compared >= 4);
    assert_true(n_gpu > 0 || !getenv("DRAWN_NEEDS_GPU"));
}

/* A layout that starts all trajectories alike says that it does not fit. */
static void a_layout_of_equal_starts_is_refused(void **state)
{
    static const char text[] = "species: {A: poisson(20)}\nreactions: {lose: A -> 0 @ 1}\n";
    saltus_error err = {0};
    moments found = {0};
    (void)state;
    const saltus_status status = run_on(text, "cuda", "warp", "direct", 10, &found, &err);
    if (status != SALTUS_E_UNAVAILABLE) {
        assert_int_equal(status, SALTUS_E_INVALID);
        assert_non_null(strstr(err.message, "its initial values are drawn"));
    }
    moments_free(&found);
}

/* ---- values at time 0 ---- */

static void values_at_time_0_follow_from_each_other(void **state)
{
    const double times[] = {0.0, 0.01};
    double seen[20];
    (void)state;
    for (int64_t i = 0; i < 20; ++i) {
        track *t =
            track_one("parameters: {k: {value: 'uniform(1, 2)', observable: true},\n"
                      "             m: {value: k * 2, observable: true},\n"
                      "             last: {value: total + F, observable: true}}\n"
                      "species: {A: poisson(20), B: A * 3, F: {initial: k, constant: true},\n"
                      "          G: {initial: B / 2, boundary: true}}\n"
                      "rules: {total: B + m}\n"
                      "events: {e: {at: 0, set: {A: A + 1}}}\n",
                      i, times, 2);
        const double k = track_value(t, "k", 0), b = track_value(t, "B", 0);
        assert_true(k > 1.0 && k < 2.0 && b > 0.0);
        assert_true(track_value(t, "m", 0) == k * 2.0);
        assert_true(track_value(t, "A", 0) == b / 3.0 + 1.0);
        assert_true(track_value(t, "F", 0) == k && track_value(t, "F", 1) == k);
        assert_true(track_value(t, "G", 0) == nearbyint(b / 2.0)); /* from a whole number */
        assert_true(track_value(t, "last", 0) == b + k * 2.0 + k);
        seen[i] = k;
        for (int64_t j = 0; j < i; ++j) {
            assert_true(seen[j] != k);
        }
        track_free(t);
    }
}

/* What continuous distributions give to a species that no reaction changes is not rounded; what is
 * a count is, and the run says so. */
static void species_are_counts_where_reactions_change_them(void **state)
{
    const double times[] = {0.0, 2.0};
    (void)state;
    track *t =
        track_one("species: {X: 'normal(-5, 1)', Y: 0, Z: poisson(3), N: 'normal(30, 3)'}\n"
                  "reactions: {lose: N -> 0 @ 0.001}\n"
                  "events: {e: {at: 1, set: {Y: 'uniform(-2, -1)', Z: 'binomial(9, 0.5)'}}}\n",
                  3, times, 2);
    const double x = track_value(t, "X", 0), y = track_value(t, "Y", 1);
    assert_true(x < 0.0 && x != floor(x) && track_value(t, "X", 1) == x);
    assert_true(track_value(t, "Y", 0) == 0.0 && y > -2.0 && y < -1.0);
    assert_int_equal(saltus_plan_n_counts(t->plan), 2);
    assert_int_equal(saltus_plan_n_observables(t->plan), 2);
    assert_true(track_value(t, "N", 0) == floor(track_value(t, "N", 0)));
    assert_int_equal(t->n_warnings, 1);
    assert_string_equal(t->warning, "initial amounts were drawn that set 'N' to values that are "
                                    "not whole; they were rounded");
    track_free(t);
}

/* ---- moments ---- */

static double mean_of(const moments *m, int point, int column)
{
    return m->sum[point * (m->n_counts + m->n_observables) + column] / (double)m->n;
}

static double variance_of(const moments *m, int point, int column)
{
    const double mean = mean_of(m, point, column);
    return m->squares[point * (m->n_counts + m->n_observables) + column] / (double)m->n -
           mean * mean;
}

static void check_moments(const moments *m, int point, int column, double mean, double variance,
                          double fourth)
{
    const double off = (mean_of(m, point, column) - mean) / sqrt(variance / (double)m->n);
    const double spread = (variance_of(m, point, column) - variance) /
                          sqrt((fourth - variance * variance) / (double)m->n);
    if (!(fabs(off) < 5.0 && fabs(spread) < 5.0)) {
        fail_msg("point %d, column %d: mean %g, variance %g instead of %g, %g", point, column,
                 mean_of(m, point, column), variance_of(m, point, column), mean, variance);
    }
}

/* A cell of size V divides at 1, 2 and 3: each of N molecules stays with probability 1/2. Before
 * and between, molecules are made at 40 per time: N is Poisson at all times, and 100 molecules that
 * nobody makes are binomial. */
static void division_shares_molecules(void **state)
{
    const int64_t n = scaled(100000);
    saltus_error err = {0};
    moments found = {0};
    (void)state;
    OK(run_on("parameters: {V: {value: 1, observable: true}}\n"
              "species: {N: poisson(10), M: 100}\n"
              "reactions: {make: 0 -> N @ 40}\n"
              "events:\n"
              "  one: {at: 1, set: {V: V/2, N: 'binomial(N, 0.5)', M: 'binomial(M, 0.5)'}}\n"
              "  two: {at: 2, set: {V: V/2, N: 'binomial(N, 0.5)', M: 'binomial(M, 0.5)'}}\n"
              "  three: {at: 3, set: {V: V/2, N: 'binomial(N, 0.5)', M: 'binomial(M, 0.5)'}}\n",
              "cpu", "auto", "direct", n, &found, &err));
    const int at[] = {2, 4, 6}; /* times 1, 2, 3: after the division */
    for (int i = 0, half = 1; i < 3; ++i) {
        double mean = 10.0;
        half *= 2;
        for (int k = 0; k <= i; ++k) {
            mean = (mean + 40.0) / 2.0;
        }
        const double p = 1.0 / half, v = 100.0 * p * (1.0 - p);
        check_moments(&found, at[i], 0, mean, mean, mean * (1.0 + 3.0 * mean));
        check_moments(&found, at[i], 1, 100.0 * p, v, v * (1.0 + 3.0 * v * (100.0 - 2.0) / 100.0));
        assert_true(mean_of(&found, at[i], 2) == p);
    }
    moments_free(&found);
}

/* A rate that differs from cell to cell: what is made by then is Poisson with a mean that is gamma,
 * so negative binomial. */
static void rates_differ_from_trajectory_to_trajectory(void **state)
{
    const double shape = 3.0, scale = 2.0, time = 2.0;
    saltus_error err = {0};
    moments found = {0};
    (void)state;
    OK(run_on("parameters: {k: 'gamma(3, 2)'}\nspecies: {N: 0}\nreactions: {make: 0 -> N @ k}\n",
              "cpu", "auto", "direct", scaled(100000), &found, &err));
    const double mean = shape * scale * time, theta = scale * time;
    const double v = mean * (1.0 + theta);
    /* of a negative binomial: excess 6 / r + (1 - p)^2 / p^... = 6 / r + 1 / v */
    const double fourth = v * v * (3.0 + 6.0 / shape + 1.0 / v);
    check_moments(&found, 4, 0, mean, v, fourth);
    moments_free(&found);
}

/* The same of a law that drifts with time. */
static void drifting_laws_follow_what_is_drawn(void **state)
{
    saltus_error err = {0};
    moments found = {0};
    (void)state;
    OK(run_on("parameters: {k: 'gamma(3, 2)'}\nspecies: {N: 0}\n"
              "reactions: {make: 0 -> N @ k*(1 + cos(3*time))}\n",
              "cpu", "auto", "direct", scaled(40000), &found, &err));
    const double theta = 2.0 * (2.0 + sin(6.0) / 3.0), mean = 3.0 * theta;
    const double v = mean * (1.0 + theta), fourth = v * v * (3.0 + 6.0 / 3.0 + 1.0 / v);
    check_moments(&found, 4, 0, mean, v, fourth);
    moments_free(&found);
}

/* An event waits for an exponential time: by then it has happened with 1 - exp(-rate t). */
static void delays_are_drawn(void **state)
{
    const int64_t n = scaled(100000);
    saltus_error err = {0};
    moments found = {0};
    (void)state;
    OK(run_on("species: {N: 0}\nevents: {e: {at: 1, delay: 'exponential(0.7)', set: {N: 1}}}\n",
              "cpu", "auto", "direct", n, &found, &err));
    for (int point = 3; point < 8; ++point) {
        static const double after[] = {0, 0, 0, 0.5, 1.0, 1.5, 2.0, 3.0};
        const double p = 1.0 - exp(-0.7 * after[point]), v = p * (1.0 - p);
        check_moments(&found, point, 0, p, v, v * (1.0 - 3.0 * v));
    }
    moments_free(&found);
}

/* ---- what cannot be ---- */

static void what_cannot_draw_is_refused(void **state)
{
    (void)state;
    check_not_frozen("species: {A: 1}\nreactions: {r: A -> 0 @ exponential(1) * A}\n",
                     SALTUS_E_UNSUPPORTED,
                     "model.yaml:2: reaction 'r': its rate law draws a random number");
    check_not_frozen("species: {A: 1}\nrules: {f: 'A + normal(0, 1)'}\n", SALTUS_E_UNSUPPORTED,
                     "model.yaml:2: parameter 'f': its rule draws a random number");
    check_not_frozen("species: {A: 1}\nevents: {e: {when: 'A > poisson(1)', set: {A: 2}}}\n",
                     SALTUS_E_UNSUPPORTED,
                     "model.yaml:2: event 'e': its trigger draws a random number");
    check_not_frozen("species: {A: 1}\nevents: {e: {at: 'poisson(1)', set: {A: 2}}}\n",
                     SALTUS_E_UNSUPPORTED,
                     "model.yaml:2: event 'e': its trigger draws a random number");
    check_not_frozen("species: {A: 1}\n"
                     "events: {e: {at: 1, priority: 'uniform(0, 1)', set: {A: 2}}}\n",
                     SALTUS_E_UNSUPPORTED,
                     "model.yaml:2: event 'e': its priority draws a random number");
}

static void numbers_that_cannot_be_drawn_end_the_run(void **state)
{
    static const struct {
        const char *values, *event, *message;
    } cases[] = {
        {"", "at: 1, set: {p: 'normal(0, A - 4)'}",
         "time 1: event 'e' sets 'p': the standard deviation of normal cannot be -1 at A = 3"},
        {"", "at: 1, set: {A: 'binomial(A + 0.5, 0.5)'}",
         "time 1: event 'e' sets 'A': the number of trials of binomial cannot be 3.5 at A = 3; it "
         "is a whole number up to 2^50"},
        {"", "at: 1, set: {A: 'binomial(A, A)'}",
         "time 1: event 'e' sets 'A': the probability of binomial cannot be 3 at A = 3"},
        {"", "at: 1, set: {A: 'poisson(gamma(-A, 1))'}",
         "time 1: event 'e' sets 'A': the shape of gamma cannot be -3 at A = 3"},
        {"", "at: 1, set: {p: 'uniform(A, 2)'}",
         "time 1: event 'e' sets 'p': the largest value of uniform cannot be 2 at A = 3"},
        {"", "at: 1, set: {p: 'normal(0, 1, 2, 1)'}",
         "time 1: event 'e' sets 'p': the upper bound of normal cannot be 1 at A = 3"},
        {"", "at: 1, set: {p: 'gamma(1, 1, 90, 100)'}",
         "time 1: event 'e' sets 'p': hardly anything of gamma lies between its bounds at A = 3"},
        {"", "at: 1, delay: 'exponential(1 - A)', set: {A: 1}",
         "time 1: event 'e' waits: the rate of exponential cannot be -2 at A = 3"},
        {"", "at: 1, delay: 'normal(-9, 0)', set: {A: 1}",
         "time 1: event 'e' has delay -9 at A = 3"},
        {"", "at: 1, set: {A: 'binomial(A, 0) - 1'}", "time 1: event 'e' sets 'A' to -1 at A = 3"},
        {"q: 'rayleigh(-2)', ", "at: 1, set: {A: 1}",
         "time 0: 'q' at first: the scale of rayleigh cannot be -2 at A = 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400], message[300];
        (void)snprintf(text, sizeof text,
                       "parameters: {%sp: 0}\nspecies: {A: 3}\nevents:\n  e: {%s}\n",
                       cases[i].values, cases[i].event);
        (void)snprintf(message, sizeof message, "trajectory 0, %s", cases[i].message);
        check_run_fails(text, 4.0, SALTUS_E_NUMERIC, message);
    }
    /* what rate rules move is told too, and where there is no state, no state is */
    check_run_fails("parameters: {v: 0.5}\nrate rules: {v: 1}\n"
                    "events: {e: {at: 1, set: {v: 'exponential(1, 2, 1)'}}}\n",
                    4.0, SALTUS_E_NUMERIC,
                    "trajectory 0, time 1: event 'e' sets 'v': the upper bound of exponential "
                    "cannot be 1 at v = 1.5");
    check_run_fails("parameters: {p: 0}\nevents: {e: {at: 1, set: {p: 'normal(0, -1)'}}}\n", 4.0,
                    SALTUS_E_NUMERIC,
                    "trajectory 0, time 1: event 'e' sets 'p': the standard deviation of normal "
                    "cannot be -1 at this time");
    check_run_fails("species: {A: 'binomial(4, 0) - 2', B: 1}\nreactions: {r: A -> B @ 1}\n", 1.0,
                    SALTUS_E_NUMERIC, "trajectory 0, time 0: 'A' starts with -2");
    /* in a piece that is not chosen, it does no harm */
    CHECK("parameters: {s: -1}\nspecies: {A: 3}\n"
          "events: {e: {at: 1, set: {A: 'piecewise(normal(0, s), s > 0, 7)'}}}\n",
          "A", 3, 7);
}

/* ---- texts ---- */

static void calls_have_their_numbers_of_arguments(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"normal(1)", "'normal' takes 2 or 4 arguments, not 1"},
        {"normal(1, 2, 3)", "'normal' takes 2 or 4 arguments, not 3"},
        {"uniform(0, 1, 2, 3)", "'uniform' takes 2 arguments, not 4"},
        {"poisson(1, 2)", "'poisson' takes 1 or 3 arguments, not 2"},
        {"bernoulli(1, 2)", "'bernoulli' takes 1 argument, not 2"},
        {"cauchy(1, 2, 3)", "'cauchy' takes 1, 2 or 4 arguments, not 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200];
        saltus_error err = {0};
        saltus_model *m = NULL;
        (void)snprintf(text, sizeof text, "parameters: {k: '%s'}\n", cases[i].text);
        assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "t", &m, &err),
                         SALTUS_E_SYNTAX);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

/* A model may have things of these names; and what is written is what was read. */
static void models_are_written_as_they_are(void **state)
{
    static const char names[] = "parameters: {gamma: 2, normal: 'normal(gamma, cauchy(3))',\n"
                                "             l: 'laplace(2)', c: 'chisquare(3.2, 1, inf)'}\n"
                                "species: {A: poisson(gamma)}\nreactions: {r: A -> 0 @ gamma}\n";
    static const char *const texts[] = {everything, names};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_model *a = parse_text(texts[i]);
        char *text = model_to_yaml(a);
        assert_non_null(text);
        saltus_model *b = parse_text(text);
        const char *difference = model_difference(a, b);
        if (difference) {
            fail_msg("%s\n%s", difference, text);
        }
        saltus_error err = {0};
        OK(saltus_model_freeze(b, SALTUS_LAW_LITERAL, &err));
        free(text);
        saltus_model_destroy(a);
        saltus_model_destroy(b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts_draw_the_same),
        cmocka_unit_test(a_layout_of_equal_starts_is_refused),
        cmocka_unit_test(values_at_time_0_follow_from_each_other),
        cmocka_unit_test(species_are_counts_where_reactions_change_them),
        cmocka_unit_test(division_shares_molecules),
        cmocka_unit_test(rates_differ_from_trajectory_to_trajectory),
        cmocka_unit_test(drifting_laws_follow_what_is_drawn),
        cmocka_unit_test(delays_are_drawn),
        cmocka_unit_test(what_cannot_draw_is_refused),
        cmocka_unit_test(numbers_that_cannot_be_drawn_end_the_run),
        cmocka_unit_test(calls_have_their_numbers_of_arguments),
        cmocka_unit_test(models_are_written_as_they_are),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
