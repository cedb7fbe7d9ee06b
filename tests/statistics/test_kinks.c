/* Rates that jump or bend at known times, in what is integrated: as exact as rates that do not,
 * whatever is recorded, in every layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/samples.h"

#include <math.h>
#include <string.h>

enum { MOST_VALUES = 9 };

/* The means of a model's columns at one time. */
static void means(const char *text, const saltus_plan_options *plan, double time, int64_t n,
                  double *mean, double *variance)
{
    saltus_error err = {0};
    moments m = {0};
    saltus_run_options run = saltus_run_options_default();
    saltus_model *model = parse_frozen(text);
    run.seed = 11;
    run.n_trajectories = n;
    run.times = &time;
    run.n_times = 1;
    OK(run_plan(model, "cpu", plan, &run, &m, &err));
    assert_true(m.n_counts + m.n_observables <= MOST_VALUES);
    for (int64_t i = 0; i < m.n_counts + m.n_observables; ++i) {
        mean[i] = m.sum[i] / (double)n;
        if (variance) {
            variance[i] = m.squares[i] / (double)n - mean[i] * mean[i];
        }
    }
    moments_free(&m);
    saltus_model_destroy(model);
}

/* The integral to 10 of exp(-t) times the tent of period 2 that is 1 at odd times. */
static double tents(void)
{
    double sum = 0.0;
    for (int i = 0; i < 10; i += 2) { /* up, t e^-t, and down, (2 - t) e^-t, in local time */
        const double e = exp(-1.0), up = 1.0 - 2.0 * e, down = e * e;
        sum += exp(-(double)i) * (up + down);
    }
    return sum;
}

static const char bent[] =
    "parameters: {a: 0, b: 0, c: 0, d: 0, e: 0, f: 0, g: 0, h: 0}\n"
    "rules: {phase: \"rem(time, 2)\", late: time - 4}\n"
    "rate rules:\n"
    "  a: linear(time, 0, 0, 1.3, 5, 2.1, 1, 20, 1)\n"
    "  b: held(time, 0, 1, 1.7, 3, 5, 0.5, 20, 0)\n"
    "  c: piecewise(1, rem(time, 3) < 1.1, 0)\n"
    "  d: floor(time) + abs(late)\n"
    "  e: linear(phase, 0, 0, 1, 1, 2, 0)*exp(-time)\n"
    "  f: max(0, late)*ceil(time/4) - min(time, 2)\n"
    "  g: piecewise(1, sin(time) > 0.5, 0)\n"
    "  h: spline(time, 0, 1, 1, 2, 2.5, 10, 3, 10.5, 5, 0, 6, 0.1, 8, 4, inf, 0)\n";

/* A table's entries and turns of conditions end steps, so that errors are those of what is between
 * them, where all but e are polynomials, and h is a cubic. */
static void steps_end_where_rates_bend(void **state)
{
    static const double tolerances[] = {1e-3, 1e-6, 1e-9};
    static const char *const stiff[] = {"auto", "always", "never"};
    const double pi = 3.14159265358979323846;
    const double expected[] = {
        1.3 * 2.5 + 0.8 * 3.0 + 7.9,
        1.7 + 3.3 * 3.0 + 2.5,
        3.0 * 1.1 + 1.0,
        45.0 + 8.0 + 18.0,
        tents(),
        8.0 * 2.0 + 10.0 * 3.0 - 18.0, /* 4 to 8: twice 8; 8 to 10: 3 times 10 */
        2.0 * (pi * 2.0 / 3.0),  /* of each period, from pi/6 to 5 pi/6; the second ends at 8.90 */
        29.17293222083643 + 8.0, /* scipy's PchipInterpolator.integrate, and 4 from 8 on */
    };
    (void)state;
    for (int i = 0; i < 9; ++i) {
        saltus_plan_options plan = saltus_plan_options_default();
        double x[MOST_VALUES];
        plan.columns = "a,b,c,d,e,f,g,h";
        plan.rtol = tolerances[i / 3];
        plan.stiff = stiff[i % 3];
        means(bent, &plan, 10.0, 1, x, NULL);
        for (int k = 0; k < 8; ++k) {
            check_near(x[k], expected[k],
                       k == 4 || k == 7 ? 10.0 * plan.rtol : 1e-12 * (1.0 + expected[k]),
                       (const char[]){(char)('a' + k), '\0'});
        }
    }
}

static const char pulses[] = "parameters: {a: 0, b: 0, c: 0, d: 0, e: 0, f: 0, g: 0, h: 0, i: 0}\n"
                             "rules: {swing: cos(pi*time/24), open: 1/(1 + exp(20*(100 - time)))}\n"
                             "rate rules:\n"
                             "  a: sin(pi*time/24)^100\n"
                             "  b: exp(-((time - 100)/0.5)^2)\n"
                             "  c: swing^200\n"
                             "  d: open/(1 + exp(20*(time - 103)))\n"
                             "  e: tanh(20*(time - 100)) - tanh(20*(time - 103))\n"
                             "  f: sech(10*(time - 150))^2\n"
                             "  g: exp(-(time - 50)*(time - 50))\n"
                             "  h: piecewise(1, cos(2*pi*time/24) > 0.9, 0)\n"
                             "  i: max(0, 1 - ((time - 100)/5)^2)\n";

/* The integral of sin(t)^n over half of its period. */
static double half_of_power(double n)
{
    return exp(0.5 * log(3.14159265358979323846) + lgamma(0.5 * (n + 1.0)) - lgamma(0.5 * n + 1.0));
}

/* Pulses that are short beside the rest between them are not stepped over. */
static void pulses_are_seen(void **state)
{
    static const char *const methods[] = {"direct", "ode"};
    static const char *const stiff[] = {"auto", "always"};
    const double pi = 3.14159265358979323846;
    const double expected[] = {8.0 * 24.0 / pi * half_of_power(100.0),
                               0.5 * sqrt(pi),
                               8.0 * 24.0 / pi * half_of_power(200.0),
                               3.0,
                               6.0,
                               0.2,
                               sqrt(pi),
                               8.0 * 24.0 / pi * acos(0.9),
                               20.0 / 3.0};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        saltus_plan_options plan = saltus_plan_options_default();
        double x[MOST_VALUES];
        plan.columns = "a,b,c,d,e,f,g,h,i";
        plan.method = methods[i % 2];
        plan.stiff = stiff[i / 2];
        means(pulses, &plan, 192.0, 1, x, NULL);
        for (int k = 0; k < 9; ++k) {
            check_near(x[k], expected[k], 1e-4 * expected[k],
                       (const char[]){(char)('a' + k), '\0'});
        }
    }
}

/* Nor are those that whole numbers of a wave make, each on its own. */
static void pulses_of_whole_numbers_are_seen(void **state)
{
    static const char *const rates[] = {"floor((1 + sin(time/3))/1.99)", /* 1 above 0.99, else 0 */
                                        "ceil((sin(time/3) - 0.99)/2)",
                                        "round((1 + sin(time/3))/3.98)",
                                        "quotient(1 + sin(time/3), 1.99)",
                                        "quotient(1 + sin(time/3), 0.995*two)",
                                        "(1 + sin(time/3) - rem(1 + sin(time/3), 1.99))/1.99"};
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; ++i) {
        const double expected = 20.0 * acos(0.99) * 3.0; /* of ten turns */
        saltus_plan_options plan = saltus_plan_options_default();
        char text[200];
        double y;
        plan.columns = "y";
        plan.method = "ode";
        (void)snprintf(text, sizeof text,
                       "species: {two: 2}\nparameters: {y: 0}\nrate rules: {y: \"%s\"}\n"
                       "events: {late: {at: 1000, set: {two: 3}}}\n",
                       rates[i]);
        means(text, &plan, 60.0 * 3.14159265358979323846, 1, &y, NULL);
        check_near(y, expected, 1e-4 * expected, rates[i]);
    }
}

/* Nor are those of a hazard, alone (hybrid) or beside a rate rule. */
static void pulses_of_hazards_are_seen(void **state)
{
    static const char text[] =
        "species: {X: 0}\nparameters: {y: 1}\n"
        "reactions: {make: {equation: 0 -> X, rate: \"50*exp(-((time - 100)/3)^2)\"}}\n";
    static const char with_rule[] = "rate rules: {y: -0.01*y}\n";
    const double expected = 150.0 * sqrt(3.14159265358979323846);
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_plan_options plan = saltus_plan_options_default();
        char model[sizeof text + sizeof with_rule];
        double x[MOST_VALUES];
        const int64_t n = scaled(400);
        plan.columns = "X";
        plan.method = i == 0 ? "hybrid" : "direct";
        (void)snprintf(model, sizeof model, "%s%s", text, i == 0 ? "" : with_rule);
        means(model, &plan, 200.0, n, x, NULL);
        check_mean(x[0] * (double)n, (double)n, expected, expected, "X");
    }
}

/* Windows of a variable that hardly bends are not stepped over: one of its values for good, and one
 * of each of 40 generations of a cell that grows from 1 to 2. */
static void windows_of_variables_are_seen(void **state)
{
    static const struct {
        const char *text, *method;
        double time, expected, variance;
    } cases[] = {
        {"species: {X: 0}\nparameters: {x: 0}\nrate rules: {x: 1}\nreactions: {make: {equation: 0 "
         "-> X, law: \"piecewise(10, x > 47 && x < 61, 0)\"}}\n",
         "direct", 1000.0, 140.0, 140.0},
        {"species: {X: 0}\nparameters: {x: 0}\nrate rules: {x: 1}\nreactions: {make: {equation: 0 "
         "-> X, law: \"10*max(0, 7 - abs(x - 54))\"}}\n",
         "ode", 1000.0, 490.0, 0.0},
        {"species: {X: 0}\nparameters: {V: 1}\nrate rules: {V: 0.1}\nreactions: {make: {equation: "
         "0 "
         "-> X, law: \"piecewise(10, V > 1.4 && V < 1.6, 0)\"}}\n"
         "events: {divide: {when: V >= 2, set: {V: V/2}}}\n",
         "direct", 399.0, 800.0, 800.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_plan_options plan = saltus_plan_options_default();
        const int64_t n = cases[i].variance > 0.0 ? scaled(400) : 1;
        const double e = cases[i].expected;
        double x[MOST_VALUES];
        plan.columns = "X";
        plan.method = cases[i].method;
        means(cases[i].text, &plan, cases[i].time, n, x, NULL);
        check_near(x[0], e, 5.0 * sqrt(cases[i].variance / (double)n) + 1e-3 * e, "X");
    }
}

/* The mean field: x' = k(t) - x with a k that jumps at 1 and at 2, and is bent at 3. */
static void the_mean_field_ends_steps_too(void **state)
{
    static const char text[] =
        "species: {X: 0}\nreactions:\n"
        "  make: {equation: 0 -> X, law: \"held(time, 0, 100, 1, 300, 2, 0, 9, 0) + max(0, time - "
        "3)\"}\n"
        "  lose: X -> 0 @ 1\n";
    saltus_plan_options plan = saltus_plan_options_default();
    (void)state;
    plan.method = "ode";
    for (double rtol = 1e-4; rtol > 1e-10; rtol *= 1e-2) {
        double x;
        plan.rtol = rtol;
        means(text, &plan, 4.0, 1, &x, NULL);
        const double jumps = 100.0 * (exp(-3.0) - exp(-4.0)) + 300.0 * (exp(-2.0) - exp(-3.0));
        check_near(x, jumps + exp(-1.0), 100.0 * rtol * (jumps + 1.0), "X");
    }
}

/* A table whose time begins anew at an event, once y has come to 1.5: the integral of what it has,
 * 2 to age 1 and 0 after that. */
static void tables_follow_what_events_set(void **state)
{
    static const char text[] = "parameters: {y: 0, z: 0, begun: -5}\n"
                               "rate rules: {y: 1, z: \"held(time - begun, 0, 2, 1, 0, 99, 0)\"}\n"
                               "events: {begin: {when: y > 1.5, set: {begun: time}}}\n";
    saltus_plan_options plan = saltus_plan_options_default();
    double z;
    (void)state;
    plan.columns = "z";
    means(text, &plan, 10.0, 1, &z, NULL);
    check_near(z, 2.0, 1e-9, "z");
}

static const char mixed[] =
    "species: {X: 0, A: 40, B: 0}\nparameters: {y: 1, k: 1}\n"
    "rules: {dose: \"linear(rem(time, 2), 0, 0, 0.5, 40, 2, 0)\"}\n"
    "rate rules: {y: \"k*dose/10 - y\"}\n"
    "reactions:\n"
    "  make: {equation: 0 -> X, law: \"k*held(time, 0, 5, 1.2, 60, 2.7, 0, 4, 20, inf, 0)\"}\n"
    "  more: {equation: 0 -> X, law: dose}\n"
    "  there: {equation: A -> B, law: \"A*y*piecewise(0.1, rem(time, 3) > 1, 2)\"}\n"
    "  back: B -> A @ 0.2\n"
    "events: {change: {when: y > 4.5, set: {k: 1 + 0.1*B/40}}}\n";

/* Reactions whose hazard jumps: births alone, whose number is Poisson's with the integral of the
 * law. */
static void hazards_may_jump(void **state)
{
    static const char text[] =
        "species: {X: 0}\nparameters: {y: 1}\nrate rules: {y: -y}\nreactions:\n"
        "  make: {equation: 0 -> X, law: \"held(time, 0, 5, 1.2, 60, 2.7, 0, 4, 20, inf, 0)\"}\n"
        "  more: {equation: 0 -> X, law: \"linear(time, 0, 0, 1, 7, 4, 2, inf, 0)\"}\n";
    const int64_t n = scaled(50000);
    const double mean = 5.0 * 1.2 + 60.0 * 1.5 + 20.0 + 3.5 + 13.5 + 2.0;
    saltus_plan_options plan = saltus_plan_options_default();
    double x, variance;
    (void)state;
    plan.columns = "X";
    means(text, &plan, 5.0, n, &x, &variance);
    check_mean(x * (double)n, (double)n, mean, mean, "X");
    check_near(variance, mean, 5.0 * mean * sqrt((2.0 + 1.0 / mean) / (double)n), "variance of X");
}

static uint64_t hash_of(const char *device, const char *layout, int threads, const double *times,
                        int64_t n_times)
{
    saltus_model *m = parse_frozen(mixed);
    saltus_plan_options plan = bits_plan("direct", "philox", layout, threads);
    plan.columns = "X,A,y,k";
    const uint64_t hash = bits_hash_plan(m, device, &plan, 3, 100, times, n_times);
    saltus_model_destroy(m);
    return hash;
}

static void layouts_change_no_bit(void **state)
{
    const double times[] = {0.5, 2.0, 2.6, 6.0};
    const uint64_t expected = hash_of("cpu:generic", "scalar", 1, times, 4);
    (void)state;
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (bits_has(bits_devices[d])) {
            assert_int_equal(hash_of(bits_devices[d], "scalar", 2, times, 4), expected);
            assert_int_equal(hash_of(bits_devices[d], "lanes", 2, times, 4), expected);
        }
    }
}

/* The end of a run is the same, whatever was recorded before it. */
static void what_is_recorded_changes_no_bit(void **state)
{
    static const int counts[] = {1, 2, 61};
    saltus_model *m = parse_frozen(mixed);
    double end[3][MOST_VALUES], times[61];
    (void)state;
    for (int k = 0; k < 3; ++k) {
        saltus_error err = {0};
        moments s = {0};
        saltus_run_options run = saltus_run_options_default();
        saltus_plan_options plan = saltus_plan_options_default();
        for (int i = 0; i < counts[k]; ++i) {
            times[i] = counts[k] == 1 ? 6.0 : 6.0 * i / (counts[k] - 1);
        }
        plan.columns = "X,A,y,k";
        run.n_trajectories = 1;
        run.times = times;
        run.n_times = counts[k];
        OK(run_plan(m, "cpu", &plan, &run, &s, &err));
        assert_int_equal(s.n_counts + s.n_observables, 4);
        memcpy(end[k], s.sum + (size_t)(counts[k] - 1) * 4, 4 * sizeof(double));
        assert_memory_equal(end[k], end[0], 4 * sizeof(double));
        moments_free(&s);
    }
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_end_where_rates_bend),
        cmocka_unit_test(pulses_are_seen),
        cmocka_unit_test(pulses_of_whole_numbers_are_seen),
        cmocka_unit_test(pulses_of_hazards_are_seen),
        cmocka_unit_test(windows_of_variables_are_seen),
        cmocka_unit_test(the_mean_field_ends_steps_too),
        cmocka_unit_test(tables_follow_what_events_set),
        cmocka_unit_test(hazards_may_jump),
        cmocka_unit_test(layouts_change_no_bit),
        cmocka_unit_test(what_is_recorded_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
