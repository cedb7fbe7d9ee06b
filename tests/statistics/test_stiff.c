/* Large stiff systems: against closed forms, values of the literature and Rodas on a system of
 * which they are many copies; their bits, and how they fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows. */
typedef struct text {
    char *s;
    size_t n, capacity;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list values;
    if (t->n + 1000 > t->capacity) {
        t->capacity = 2 * t->capacity + 4000;
        t->s = realloc(t->s, t->capacity);
        assert_non_null(t->s);
    }
    va_start(values, format);
    t->n += (size_t)vsnprintf(t->s + t->n, t->capacity - t->n, format, values);
    va_end(values);
    assert_true(t->n < t->capacity);
}

/* A model from a pattern for each section in which `#` stands for the number of a copy; what is
 * said once stands behind them. */
typedef struct sections {
    const char *parameters, *species, *rules, *rates, *reactions, *once;
} sections;

static void add_copies(text *t, const char *head, const char *pattern, int n)
{
    if (!pattern) {
        return;
    }
    add(t, "%s:\n", head);
    for (int i = 0; i < n; ++i) {
        for (const char *c = pattern; *c; ++c) {
            if (*c == '#') {
                add(t, "%d", i);
            } else {
                add(t, "%c", *c);
            }
        }
    }
}

static char *copies(const sections *s, int n)
{
    text t = {0};
    add_copies(&t, "parameters", s->parameters, n);
    add_copies(&t, "species", s->species, n);
    add_copies(&t, "rules", s->rules, n);
    add_copies(&t, "rate rules", s->rates, n);
    add_copies(&t, "reactions", s->reactions, n);
    add(&t, "%s", s->once ? s->once : "");
    return t.s;
}

/* Samples of some columns by a method, in 1 copy or many. */
static samples run_copies(const sections *s, int n, const saltus_plan_options *o,
                          const double *times, int n_times)
{
    char *model = copies(s, n);
    const samples x = run(model, o, times, n_times, 1);
    free(model);
    return x;
}

static const sections robertson = {
    .species = "  X#: 1\n  Y#: 0\n  Z#: 0\n",
    .reactions = "  a#: X# -> Y# @ 0.04\n"
                 "  b#: {equation: 2 Y# -> Y# + Z#, law: 3e7*Y#*Y#}\n"
                 "  c#: Y# + Z# -> X# + Z# @ 1e4\n",
};
static const sections robertson_rates = {
    .parameters = "  X#: 1\n  Y#: 0\n  Z#: 0\n",
    .rates = "  X#: -0.04*X# + 1e4*Y#*Z#\n  Y#: 0.04*X# - 1e4*Y#*Z# - 3e7*Y#^2\n  Z#: 3e7*Y#^2\n",
};

/* Values of Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.10, of time
 * 40, and of the test set for initial value problems (Mazzia, Magherini 2008) of 1e11. Rate rules
 * alone are also integrated by the direct method. */
static void copies_of_robertson_follow_the_literature(void **state)
{
    static const char *const ways[] = {"auto", "always"};
    const double times[] = {40.0, 1e11};
    (void)state;
    for (int k = 0; k < 6; ++k) {
        saltus_plan_options o = options(k < 4 ? "ode" : "direct", "X0,Y0,Z0,X399,Y399,Z399");
        o.stiff = ways[k % 2];
        samples s = run_copies(k < 2 ? &robertson : &robertson_rates, 400, &o, times, 2);
        for (int copy = 0; copy < 2; ++copy) {
            const double *x = s.x + 3 * copy, *y = x + 6;
            check_near(x[0], 0.7158270688, 2e-5, "X");
            check_near(x[1], 9.185534765e-6, 2e-9, "Y");
            check_near(x[2], 0.2841637458, 2e-5, "Z");
            check_near(y[0], 0.2083340149701255e-7, 5e-11, "late X");
            check_near(y[1], 0.8333360770334713e-13, 2e-16, "late Y");
            check_near(y[2], 0.9999999791665050, 1e-6, "late Z");
        }
        free(s.x);
    }
}

/* Van der Pol's, of mu = 1000: the value of the same test set. */
static void copies_of_van_der_pol_follow_the_literature(void **state)
{
    static const sections pol = {
        .parameters = "  y#: 2\n  z#: 0\n",
        .rates = "  y#: z#\n  z#: 1000*(1 - y#^2)*z# - y#\n",
    };
    const double t = 2000.0;
    saltus_plan_options o = options("ode", "y7,z7,y210");
    (void)state;
    o.rtol = 1e-8;
    o.atol = 1e-10;
    samples s = run_copies(&pol, 211, &o, &t, 1);
    check_near(s.x[0], 1.706167732170469, 2e-5, "y");
    check_near(s.x[1], -0.8928097010248125e-3, 1e-7, "z");
    check_near(s.x[2], s.x[0], 1e-5, "another y"); /* columns are not eliminated alike */
    free(s.x);
}

/* Molecules, or moles, that hop along a line of n sites, from the first on: cosines that decay. */
static void check_chain(double amount)
{
    enum { N = 1500 };
    const double rate = 3e4, times[] = {0.001, 1.0, 20.0};
    text t = {0};
    add(&t, "species: {");
    for (int i = 0; i < N; ++i) {
        add(&t, "A%d: %g%s", i, i == 0 ? amount : 0.0, i + 1 < N ? ", " : "}\nreactions:\n");
    }
    for (int i = 0; i + 1 < N; ++i) {
        add(&t, "  r%d: A%d -> A%d @ %g\n  l%d: A%d -> A%d @ %g\n", i, i, i + 1, rate, i, i + 1, i,
            rate);
    }
    saltus_plan_options o = options("ode", "A0,A3,A100,A1499");
    samples s = run(t.s, &o, times, 3, 1);
    for (int k = 0; k < 12; ++k) {
        static const int sites[] = {0, 3, 100, N - 1};
        const double site = sites[k % 4];
        double sum = 1.0;
        for (int m = 1; m < N; ++m) {
            const double angle = 3.14159265358979323846 * m / (2.0 * N), slow = sin(angle);
            sum += 2.0 * cos(angle) * cos(angle * (2.0 * site + 1.0)) *
                   exp(-4.0 * rate * slow * slow * times[k / 4]);
        }
        const double x = 1000.0 / amount * s.x[k];
        check_near(x, 1000.0 * sum / N, 3e-4 * (1.0 + x), "count");
    }
    free(s.x);
    free(t.s);
}

static void a_long_chain_diffuses(void **state)
{
    (void)state;
    check_chain(1000.0);
    check_chain(1e-20);
}

/* n pairs that bind fast and slowly turn over, all of which a rule adds up and a law reads: every
 * species makes it change. */
static char *binding(int n, double fast)
{
    text t = {0};
    add(&t, "parameters: {K: 40}\nspecies: {P: 0");
    for (int i = 0; i < n; ++i) {
        add(&t, ", A%d: %d, B%d: %d, C%d: 0", i, 100 + i % 7, i, 50 + i % 11, i);
    }
    add(&t, "}\nrules:\n  total: C0");
    for (int i = 1; i < n; ++i) {
        add(&t, " + C%d", i);
    }
    add(&t, "\nreactions:\n  make: {equation: 0 -> P, law: 10*total/(K + total)}\n"
            "  lose: P -> 0 @ 2\n");
    for (int i = 0; i < n; ++i) {
        add(&t, "  on%d: A%d + B%d -> C%d @ %g\n  off%d: C%d -> A%d + B%d @ %g\n", i, i, i, i,
            fast * (1 + i % 3), i, i, i, i, 20 * fast);
    }
    return t.s;
}

/* They come to their equilibria, roots of squares. */
static void binding_comes_to_equilibrium(void **state)
{
    enum { N = 700 };
    const double t = 30.0;
    char *model = binding(N, 1e3);
    saltus_plan_options o = options("ode", "C0,C5,C699,P,total");
    (void)state;
    samples s = run(model, &o, &t, 1, 1);
    double total = 0.0, c[N];
    for (int i = 0; i < N; ++i) {
        const double a = 100 + i % 7, b = 50 + i % 11, k = 20.0 / (1 + i % 3), sum = a + b + k;
        c[i] = 0.5 * (sum - sqrt(sum * sum - 4.0 * a * b));
        total += c[i];
    }
    check_near(s.x[0], c[0], 1e-4, "C0");
    check_near(s.x[1], c[5], 1e-4, "C5");
    check_near(s.x[2], c[699], 1e-4, "C699");
    check_near(s.x[3], 5.0 * total / (40.0 + total), 1e-4, "P");
    check_near(s.x[4], total, 1e-3, "total");
    free(s.x);
    free(model);
}

/* Random graphs have factors with many entries: what is solved by iteration, against the explicit
 * method. */
static void an_iteration_has_the_explicit_values(void **state)
{
    enum { N = 2200, EDGES = 3 * N };
    const double times[] = {0.01, 0.1, 3.0};
    uint32_t random = 1;
    text t = {0};
    (void)state;
    add(&t, "species: {");
    for (int i = 0; i < N; ++i) {
        add(&t, "A%d: %d%s", i, 10 * (i % 5), i + 1 < N ? ", " : "}\nreactions:\n");
    }
    for (int i = 0; i < EDGES; ++i) {
        const int from = i % N;
        random = random * 1664525U + 1013904223U;
        const int to = (int)((random >> 8) % N);
        add(&t, "  r%d: {equation: A%d -> A%d, law: A%d*A%d/5}\n", i, from, to == from ? 0 : to,
            from, (from + 1) % N);
        add(&t, "  l%d: A%d -> A%d @ 30\n", i, to, (from + N - 1) % N);
    }
    samples s[2];
    for (int k = 0; k < 2; ++k) {
        saltus_plan_options o = options("ode", NULL);
        o.stiff = k == 0 ? "never" : "always";
        o.rtol = k == 0 ? 1e-8 : 1e-6;
        s[k] = run(t.s, &o, times, 3, 1);
        assert_int_equal(s[k].n_columns, N);
    }
    for (int i = 0; i < 3 * N; ++i) {
        check_near(s[1].x[i], s[0].x[i], 5e-5 * (1.0 + fabs(s[0].x[i])), "count");
    }
    free(s[0].x);
    free(s[1].x);
    free(t.s);
}

/* Everything that breaks a stretch off: a trigger that turns in a step, one with a delay, a time, a
 * table of the time, a step of floor. */
static const sections broken = {
    .parameters = "  k#: 1e4\n  n#: 0\n  at#: 0\n",
    .species = "  A#: 100\n  B#: 0\n  S#: 0\n",
    .rules = "  share#: A#/(A# + B# + 1)\n",
    .reactions = "  there#: {equation: A# -> B#, law: k#*A#}\n"
                 "  back#: {equation: B# -> A#, law: 3*k#*B#*share#}\n"
                 "  make#: {equation: 0 -> S#, law: 'linear(time, 0, 2, 1, 8, 3, 1, 9, 0)'}\n"
                 "  also#: {equation: 0 -> S#, law: floor(time)}\n"
                 "  gone#: {equation: S# -> 0, law: S#^1.5/(2 + S#) + exp(-S#)*0.1}\n",
    .once = "events:\n"
            "  turn: {when: S0 > 3.25, set: {at0: time, n0: n0 + 1, S0: 1}}\n"
            "  late: {when: share0 < 0.8, delay: 1.7, set: {A0: A0 + 50}}\n"
            "  clock: {when: time >= 2.5, set: {k0: 2e4}}\n",
};

static void events_switches_and_kinks_are_those_of_rodas(void **state)
{
    static const char columns[] = "A0,B0,S0,at0,n0,share0";
    double times[33];
    (void)state;
    for (int i = 0; i < 33; ++i) {
        times[i] = 0.25 * i;
    }
    for (int way = 0; way < 2; ++way) {
        saltus_plan_options o = options("ode", columns);
        o.stiff = way == 0 ? "auto" : "always";
        o.rtol = 1e-10;
        samples one = run_copies(&broken, 1, &o, times, 33);
        o.rtol = 1e-9;
        samples many = run_copies(&broken, 90, &o, times, 33);
        assert_true(one.x[32 * 6 + 4] > 3.0); /* it has turned some times */
        for (int i = 0; i < 33 * 6; ++i) {
            check_near(many.x[i], one.x[i], 3e-6 * (1.0 + fabs(one.x[i])), "value");
        }
        free(one.x);
        free(many.x);
    }
}

/* Neither output times nor other trajectories change a bit. */
static void times_change_no_bit(void **state)
{
    static const int64_t sizes[] = {1, 2, 31, 400};
    (void)state;
    char *model = copies(&broken, 80);
    saltus_plan_options o = options("ode", "A0,S3,at7,B79");
    check_times_change_no_bit(model, &o, 8.0, sizes, 2);
    free(model);
    model = copies(&robertson_rates, 90);
    o = options("direct", "X0,Z89");
    o.stiff = "always";
    check_times_change_no_bit(model, &o, 40.0, sizes, 2);
    free(model);
}

/* Operations of all kinds. */
static void laws_of_all_kinds_are_followed(void **state)
{
    static const sections kinds = {
        .parameters = "  a#: 1\n  b#: 2\n  c#: 0.5\n",
        .rates =
            "  a#: 1e5*(min(b#, 3) - a#) + sin(c#)/(1 + abs(a#))\n"
            "  b#: sqrt(c#) - b#/(1 + exp(-a#)) + max(a#, 0.1)^2.5/(1 + b#^3)\n"
            "  c#: piecewise(1 - c#, a# > 1, 2 - c#) + 0.1*tanh(b#)*ln(1 + a#) - arctan(c#)/7\n"};
    const double times[] = {0.5, 10.0};
    saltus_plan_options o = options("ode", "a0,b0,c0");
    (void)state;
    o.stiff = "always";
    o.rtol = 1e-9;
    samples one = run_copies(&kinds, 1, &o, times, 2);
    o.rtol = 1e-7;
    samples many = run_copies(&kinds, 70, &o, times, 2);
    for (int i = 0; i < 6; ++i) {
        check_near(many.x[i], one.x[i], 3e-6, "value");
    }
    free(one.x);
    free(many.x);
}

/* ---- failures ---- */

static void failures_are_told(void **state)
{
    static const struct {
        sections model;
        const char *parts[3];
    } cases[] = {
        {{.parameters = "  x#: 1\n  y#: 1\n", .rates = "  x#: x#*x#*y#\n  y#: 0\n"},
         {"time 0.9999", "'x", "cannot be integrated"}},
        {{.parameters = "  x#: 1\n  y#: 1\n", .rates = "  x#: -1\n  y#: ln(x#)*1e-3\n"},
         {"trajectory 0", "time ", "'y"}},
        {{.parameters = "  x#: 0\n  y#: 1\n", .rates = "  x#: 1/x#\n  y#: -1e3*y#\n"},
         {"time 0:", "'x0' or its rate of change", "not finite"}},
        {{.parameters = "  x#: 1\n  y#: 0\n",
          .rates = "  x#: 1 - x#\n  y#: -1\n",
          .once = "events:\n  e: {when: y0 < -1, set: {x0: 'ln(y0)'}}\n"},
         {"time 1", "x0", "not finite"}},
    };
    const double times[] = {0.5, 3.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *model = copies(&cases[i].model, 110);
        saltus_plan_options o = options("ode", NULL);
        saltus_error err = {0};
        samples s;
        o.stiff = "always";
        assert_int_equal(try_run(model, "cpu", &o, times, 2, 1, &s, &err), SALTUS_E_NUMERIC);
        for (int k = 0; k < 3; ++k) {
            if (!strstr(err.message, cases[i].parts[k])) {
                fail_msg("case %zu: '%s' lacks '%s'", i, err.message, cases[i].parts[k]);
            }
        }
        free(model);
    }
}

/* Beside reactions there is no more than a dense Jacobian holds. */
static void too_many_are_refused(void **state)
{
    static const sections both = {.parameters = "  x#: 1\n",
                                  .rates = "  x#: -x#\n",
                                  .once = "species: {A: 3}\nreactions: {r: A -> 0 @ 1}\n"};
    const double t = 1.0;
    char *model = copies(&both, 1001);
    saltus_plan_options o = options("direct", NULL);
    saltus_error err = {0};
    samples s;
    (void)state;
    o.stiff = "always";
    assert_int_equal(try_run(model, "cpu", &o, &t, 1, 1, &s, &err), SALTUS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "1002 variables that are integrated beside reactions"));
    assert_non_null(strstr(err.hint, "auto and never"));
    free(model);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_robertson_follow_the_literature),
        cmocka_unit_test(copies_of_van_der_pol_follow_the_literature),
        cmocka_unit_test(a_long_chain_diffuses),
        cmocka_unit_test(binding_comes_to_equilibrium),
        cmocka_unit_test(an_iteration_has_the_explicit_values),
        cmocka_unit_test(events_switches_and_kinks_are_those_of_rodas),
        cmocka_unit_test(times_change_no_bit),
        cmocka_unit_test(laws_of_all_kinds_are_followed),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(too_many_are_refused),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
