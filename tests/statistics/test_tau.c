/* Tau-leaping against the direct method and closed forms: means within 1 %, standard deviations
 * within 3 %, and 5 standard errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/passages.h"
#include "../support/master_equation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ensembles ---- */

/* A sink that looks at every sample, before it is added to the moments. */
static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    const saltus_sink sink = moments_sink(user);
    for (int64_t i = 0; i < b->n_trajectories * b->n_points * b->n_counts; ++i) {
        assert_true(b->counts[i] >= 0);
    }
    return sink.deliver(user, b, prepared, err);
}

static void keep_warning(void *user, const char *text)
{
    (void)snprintf(user, 300, "%s", text);
}

/* Counts of n trajectories at the last of the times, m->last[trajectory][species]. */
static saltus_status simulate(saltus_model *model, const saltus_plan_options *options, int64_t n,
                              const double *times, int64_t n_times, moments *m, char *warning,
                              saltus_error *err)
{
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    const saltus_sink sink = {.user = m, .deliver = deliver};
    saltus_run_options run = saltus_run_options_default();
    run.seed = strcmp(options->method, "tau") == 0 ? 7 : 8;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_times;
    run.warn = warning ? keep_warning : NULL;
    run.warn_user = warning;
    m->keep_last = true;
    saltus_status status = saltus_backend_open("cpu", &backend, err);
    if (status == SALTUS_OK) {
        status = saltus_plan_create(model, backend, options, &plan, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_run(plan, &run, &sink, NULL, err);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return status;
}

static saltus_plan_options by(const char *method)
{
    saltus_plan_options options = saltus_plan_options_default();
    options.method = method;
    options.n_threads = 2;
    return options;
}

static int64_t *tau_counts(saltus_model *model, const saltus_plan_options *options, int64_t n,
                           double t)
{
    saltus_error err = {0};
    moments m = {0};
    OK(simulate(model, options, n, &t, 1, &m, NULL, &err));
    assert_int_equal(m.n, n);
    int64_t *last = m.last;
    m.last = NULL;
    moments_free(&m);
    return last;
}

/* ---- comparing ---- */

typedef struct summary {
    double mean, sd, mean_error, sd_error; /* the latter two are standard errors */
} summary;

static summary summarise(const int64_t *x, int64_t n, int64_t stride)
{
    summary s = {0};
    double m2 = 0.0, m4 = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        s.mean += (double)x[i * stride] / (double)n;
    }
    for (int64_t i = 0; i < n; ++i) {
        const double d = (double)x[i * stride] - s.mean;
        m2 += d * d / (double)n;
        m4 += d * d * d * d / (double)n;
    }
    s.sd = sqrt(m2);
    s.mean_error = sqrt(m2 / (double)n);
    s.sd_error = m2 > 0.0 ? sqrt((m4 - m2 * m2) / (4.0 * m2 * (double)n)) : 0.0;
    return s;
}

static void check_summary(const char *name, int species, const summary *a, const summary *b)
{
    const double off = fabs(a->mean - b->mean), off_sd = fabs(a->sd - b->sd);
    if (!(off <= 0.01 * b->mean + 5.0 * hypot(a->mean_error, b->mean_error) &&
          off_sd <= 0.03 * b->sd + 5.0 * hypot(a->sd_error, b->sd_error))) {
        fail_msg("%s, species %d: mean %g, sd %g by tau; exactly %g and %g", name, species, a->mean,
                 a->sd, b->mean, b->sd);
    }
}

/* Both methods, all species. */
static void compare_with(const char *text, const saltus_plan_options *options, const double *times,
                         int64_t n_times, int64_t n_direct, int64_t n_tau)
{
    const saltus_plan_options direct = by("direct");
    saltus_error err = {0};
    moments a = {0}, b = {0};
    saltus_model *model = bits_parse(text);
    OK(simulate(model, options, n_tau, times, n_times, &a, NULL, &err));
    OK(simulate(model, &direct, n_direct, times, n_times, &b, NULL, &err));
    assert_true(a.n == n_tau && b.n == n_direct);
    for (int64_t s = 0; s < a.n_counts; ++s) {
        const summary x = summarise(a.last + s, a.n, a.n_counts);
        const summary y = summarise(b.last + s, b.n, b.n_counts);
        check_summary(text, (int)s, &x, &y);
    }
    moments_free(&a);
    moments_free(&b);
    saltus_model_destroy(model);
}

static void compare(const char *text, double epsilon, double t, int64_t n_direct, int64_t n_tau)
{
    saltus_plan_options tau = by("tau");
    tau.epsilon = epsilon;
    compare_with(text, &tau, &t, 1, scaled(n_direct), scaled(n_tau));
}

/* ---- networks of the literature ---- */

static void decay_dimerisation_is_right(void **state)
{
    (void)state;
    compare("species: {S1: 100000, S2: 0, S3: 0}\n"
            "reactions:\n"
            "  decay: S1 -> 0 @ 1\n  dimerise: 2 S1 -> S2 @ 0.002\n"
            "  split: S2 -> 2 S1 @ 0.5\n  convert: S2 -> S3 @ 0.04\n",
            0.03, 30.0, 300, 600);
}

static void genes_are_right(void **state)
{
    (void)state;
    compare("species: {DNA: 5, DNA_P2: 5, RNA: 8, P: 10, P2: 5}\n"
            "reactions:\n"
            "  repress: DNA + P2 -> DNA_P2 @ 0.1\n  release: DNA_P2 -> DNA + P2 @ 0.7\n"
            "  transcribe: DNA -> DNA + RNA @ 0.35\n  translate: RNA -> RNA + P @ 0.2\n"
            "  dimerise: 2 P -> P2 @ 0.1\n  split: P2 -> 2 P @ 0.9\n"
            "  decay_RNA: RNA -> 0 @ 0.3\n  decay_P: P -> 0 @ 0.1\n",
            0.03, 10.0, 20000, 10000);
}

static void enzymes_are_right(void **state)
{
    (void)state;
    compare(
        "species: {S: 1000, E: 500, ES: 0, P: 0}\n"
        "reactions:\n"
        "  bind: S + E -> ES @ 2.5e-3\n  leave: ES -> S + E @ 0.1\n  convert: ES -> E + P @ 5\n",
        0.03, 0.7, 5000, 2000);
}

/* Both states of Schloegl's network: where they are, how wide, and how many are in each. */
static void both_states_have_their_weight(void **state)
{
    static const char *const text = "species: {X: 250}\n"
                                    "reactions:\n"
                                    "  up: 2 X -> 3 X @ 0.03\n  down: 3 X -> 2 X @ 1e-4\n"
                                    "  in: 0 -> X @ 200\n  out: X -> 0 @ 3.5\n";
    const saltus_plan_options options[] = {by("tau"), by("direct")};
    const int64_t n[] = {scaled(800), scaled(5000)};
    double above[2];
    summary low[2], high[2];
    (void)state;
    saltus_model *m = bits_parse(text);
    for (int k = 0; k < 2; ++k) {
        int64_t *x = tau_counts(m, &options[k], n[k], 10.0), n_low = 0;
        for (int64_t i = 0; i < n[k]; ++i) { /* low ones to the front */
            const int64_t here = x[i];
            if (here <= 300) {
                x[i] = x[n_low];
                x[n_low++] = here;
            }
        }
        low[k] = summarise(x, n_low, 1);
        high[k] = summarise(x + n_low, n[k] - n_low, 1);
        above[k] = 1.0 - (double)n_low / (double)n[k];
        free(x);
    }
    check_summary("low state", 0, &low[0], &low[1]);
    check_summary("high state", 0, &high[0], &high[1]);
    const double p = above[1], error = sqrt(p * (1.0 - p) * (1.0 / n[0] + 1.0 / n[1]));
    assert_true(p > 0.2 && p < 0.8);
    assert_true(fabs(above[0] - p) < 5.0 * error + 0.02);
    saltus_model_destroy(m);
}

/* Laws that jump, or start, at a count which is passed all the time, and what brings it back there.
 */
static void laws_that_bend_are_followed(void **state)
{
    static const char *const laws[][3] = {
        {"1000", "X", "max(0, X - 1000)"},
        {"1000", "X", "piecewise(10, X > 1000, 0)"},
        {"1030", "X + 10*max(0, X - 1000)", "max(0, X - 1000)"},
        {"piecewise(2000, X < 1000, 100)", "X", "piecewise(100, X < 1000, 0)"},
        {"1000", "X", "5*abs(X - 1000)"},
        {"1000", "X", "20*exp((X - 1000)/20)"},
        {"1000", "X", "max(0, X + c)"},
        {"piecewise(1450, X < 1000, 1000)", "1225", "1"},
        {"1000", "X", "piecewise(0.5, X > 1000, 0)"}};
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        (void)snprintf(text, sizeof text,
                       "species: {X: 990, Y: 0}\nparameters: {c: -1000}\nreactions:\n"
                       "  in: {equation: 0 -> X, law: \"%s\"}\n"
                       "  out: {equation: X -> 0, law: \"%s\"}\n"
                       "  make: {equation: 0 -> Y, law: \"%s\"}\n  lose: Y -> 0 @ 1\n",
                       laws[i][0], laws[i][1], laws[i][2]);
        compare(text, 0.03, 6.0, 8000, 8000);
    }
}

/* Each law that may bend by itself, in whichever direction others read what it reads; sums of what
 * is exchanged fast, which hardly move; laws of time that bend as well. */
static void laws_that_bend_have_directions(void **state)
{
    (void)state;
    compare("species: {X: 500, Y: 500, Z: 0, W: 0}\nreactions:\n"
            "  x1: 0 -> X @ 500\n  x2: X -> 0 @ 1\n  y1: 0 -> Y @ 500\n  y2: Y -> 0 @ 1\n"
            "  w1: {equation: 0 -> W, law: \"0.001*abs(X - Y)\"}\n  w2: W -> 0 @ 1\n"
            "  z1: {equation: 0 -> Z, law: \"20*max(0, X + Y - 1000)\"}\n  z2: Z -> 0 @ 20\n",
            0.03, 6.0, 6000, 6000);
    compare("species: {A: 500, B: 500, Z: 0}\nreactions:\n"
            "  ab: A -> B @ 100\n  ba: B -> A @ 100\n  in: 0 -> A @ 1000\n  out: B -> 0 @ 2\n"
            "  z1: {equation: 0 -> Z, law: \"max(0, A + B - 1000)\"}\n  z2: Z -> 0 @ 1\n",
            0.03, 3.0, 4000, 4000);
    compare("species: {X: 1000, Y: 0}\nreactions:\n"
            "  a: {equation: 0 -> X, law: \"piecewise(2000, X < 1000, 100)\"}\n  b: X -> 0 @ 1\n"
            "  c: {equation: 0 -> Y, law: \"2*max(0, X - 1000)*(1 + 0.1*sin(time))\"}\n"
            "  e: Y -> 0 @ 5\n",
            0.03, 30.0, 400, 400);
}

/* Pulses that come while a count is above what it was, of a reaction that is critical: before a
 * leap its propensity is 0, and after it 0 again. */
static void laws_of_time_bend_too(void **state)
{
    (void)state;
    compare("species: {X: 10000, Y: 0}\nreactions:\n  x1: 0 -> X @ 1000\n  x2: X -> 0 @ 0.1\n"
            "  y1:\n    equation: 0 -> Y\n"
            "    law: 40*(1 + sin(20*time))^8/256*piecewise(1, X > 10000, 0)\n"
            "  y2: Y -> 0 @ 3\n",
            0.03, 1.0, 20000, 20000);
}

/* How many trajectories have met a threshold that what fluctuates seldom passes, exactly, by the
 * generator of the chain that ends there; and one that is set off again and again. */
static void thresholds_are_met_by_noise(void **state)
{
    const saltus_plan_options tau = by("tau");
    (void)state;
    for (int i = 0; i < N_PASSAGES; ++i) {
        char text[PASSAGE_SIZE];
        write_passage(&passages[i], text);
        saltus_model *m = bits_parse(text);
        const int64_t n = scaled(3000);
        int64_t *x = tau_counts(m, &tau, n, passages[i].until);
        const double share = passages[i].share, found = summarise(x, n, 2).mean;
        assert_true(fabs(found - share) < 5.0 * sqrt(share * (1.0 - share) / (double)n) + 0.01);
        free(x);
        saltus_model_destroy(m);
    }
    compare("species: {P: 5000, Q: 4500, N: 0}\nreactions:\n  a: 0 -> P @ 5000\n"
            "  b: P -> 0 @ 1\n  c: 0 -> Q @ 5000\n  d: Q -> 0 @ 1\n"
            "events: {e: {when: Q > P, set: {N: N + 1, Q: Q - 100}}}\n",
            0.03, 8.0, 1500, 1500);
}

/* Candidates that lack reactants at the end of a leap do nothing, and the leap stays. */
static void critical_reactions_may_idle(void **state)
{
    (void)state;
    compare("species: {A: 0, C: 4000}\nlacking reactants: idle\nreactions:\n"
            "  a1: 0 -> A @ 10\n  a2: {equation: A -> 0, law: 90}\n"
            "  c1: {equation: 0 -> C, law: \"5000/(1 + A)\"}\n  c2: C -> 0 @ 1\n",
            0.03, 8.0, 1500, 1500);
}

/* ---- closed forms ---- */

static void check_poisson(const char *name, const int64_t *x, int64_t n, double mean)
{
    const summary found = summarise(x, n, 1), exact = {.mean = mean, .sd = sqrt(mean)};
    check_summary(name, 0, &found, &exact);
}

/* What fires once in many leaps while a Poisson count is above its mean: as often as it is, and its
 * variance has that of the time in which it is, of a correlation of asin(exp(-t)) / (2 pi). */
static void rare_firings_go_by_what_bends(void **state)
{
    const double rate = 0.25, t = 200.0, above = 0.4915921625;
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(6000);
    (void)state;
    saltus_model *m =
        bits_parse("species: {X: 1000, Y: 0}\nreactions:\n  in: 0 -> X @ 1000\n  out: X -> 0 @ 1\n"
                   "  make: {equation: 0 -> Y, law: \"piecewise(0.25, X > 1000, 0)\"}\n");
    int64_t *x = tau_counts(m, &tau, n, t);
    const double mean = rate * above * t, wandering = 2.0 * rate * rate * t * log(2.0) / 4.0;
    const summary found = summarise(x + 1, n, 2),
                  exact = {.mean = mean, .sd = sqrt(mean + wandering)};
    check_summary("rare", 0, &found, &exact);
    free(x);
    saltus_model_destroy(m);
}

/* Immigration and death from no molecules: Poisson at any time. */
static void immigration_and_death_are_poisson(void **state)
{
    static const double rates[] = {2.0, 20.0, 2e3, 2e6};
    saltus_plan_options tau = by("tau");
    (void)state;
    for (int i = 0; i < 4; ++i) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "species: {A: 0}\nreactions: {birth: 0 -> A @ %g, death: A -> 0 @ 0.5}\n",
                       rates[i]);
        saltus_model *m = bits_parse(text);
        const int64_t n = scaled(4000);
        int64_t *x = tau_counts(m, &tau, n, 4.0);
        check_poisson(text, x, n, rates[i] / 0.5 * (1.0 - exp(-2.0)));
        free(x);
        saltus_model_destroy(m);
    }
}

/* Nothing reads what is born: one leap to the end, which is exact. */
static void births_alone_are_exact(void **state)
{
    enum { MOST = 400 };
    double p[MOST + 1];
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(200000);
    (void)state;
    for (int k = 0; k <= MOST; ++k) {
        p[k] = exp(k * log(150.0) - 150.0 - lgamma(k + 1.0));
    }
    saltus_model *m = bits_parse("species: {A: 0}\nreactions: {birth: 0 -> A @ 30}\n");
    int64_t *x = tau_counts(m, &tau, n, 5.0);
    assert_moments(x, n, 1, p, MOST);
    assert_distribution(x, n, 1, p, MOST);
    free(x);
    saltus_model_destroy(m);
}

/* Steps too short for leaps are those of the direct method; so are critical reactions alone. */
static void exact_steps_are_exact(void **state)
{
    enum { MOST = 100 };
    const double t = 1.0, mean = 40.0 * (1.0 - exp(-0.5 * t)), left = exp(-0.5 * t);
    double p[MOST + 1], q[MOST + 1] = {0};
    saltus_plan_options tau = by("tau");
    const int64_t n = scaled(200000);
    (void)state;
    for (int k = 0; k <= MOST; ++k) {
        p[k] = exp(k * log(mean) - mean - lgamma(k + 1.0));
        q[k] = k > 9 ? 0.0
                     : exp(lgamma(10.0) - lgamma(k + 1.0) - lgamma(10.0 - k) + k * log(left) +
                           (9 - k) * log1p(-left));
    }
    tau.epsilon = 1e-9;
    saltus_model *m =
        bits_parse("species: {A: 0}\nreactions: {birth: 0 -> A @ 20, death: A -> 0 @ 0.5}\n");
    int64_t *x = tau_counts(m, &tau, n, t);
    assert_moments(x, n, 1, p, MOST);
    assert_distribution(x, n, 1, p, MOST);
    free(x);
    saltus_model_destroy(m);
    tau.epsilon = 0.03;
    m = bits_parse("species: {A: 9, B: 0}\nreactions: {turn: A -> B @ 0.5}\n");
    x = tau_counts(m, &tau, n, t); /* 9 molecules: critical */
    assert_moments(x, n, 2, q, 9);
    assert_distribution(x, n, 2, q, 9);
    free(x);
    saltus_model_destroy(m);
}

/* Every reaction that consumes is critical, among others that leap. */
static void critical_reactions_fire_one_by_one(void **state)
{
    saltus_plan_options tau = by("tau");
    const double t = 4.0;
    (void)state;
    tau.n_critical = 1000000;
    compare_with("species: {A: 300, B: 20, C: 0}\n"
                 "reactions:\n"
                 "  in: 0 -> A @ 200\n  out: A -> 0 @ 0.5\n  turn: A + B -> B + C @ 0.01\n"
                 "  lose: B -> 0 @ 0.2\n  gain: C -> B @ 0.02\n",
                 &tau, &t, 1, scaled(10000), scaled(4000));
}

/* Few molecules, which live for less than the leaps that 10^5 others allow, and what they make,
 * from none of them on. */
static void few_molecules_are_exact_beside_many(void **state)
{
    enum { MOST = 12 };
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(20000);
    double p[MOST + 1];
    (void)state;
    saltus_model *m = bits_parse("species: {R: 0, C: 100000}\nreactions:\n"
                                 "  birth: 0 -> R @ 0.1\n  death: R -> 0 @ 0.1\n"
                                 "  in: 0 -> C @ 1000\n  out: C -> 0 @ 0.01\n");
    const double mean = 1.0 - exp(-4.0);
    for (int k = 0; k <= MOST; ++k) {
        p[k] = exp(k * log(mean) - mean - lgamma(k + 1.0));
    }
    int64_t *x = tau_counts(m, &tau, n, 40.0);
    assert_moments(x, n, 2, p, MOST);
    assert_distribution(x, n, 2, p, MOST);
    free(x);
    saltus_model_destroy(m);

    /* S is Poisson at any time, and P is shot noise: k t^2 r / 2, and k^2 r t^3 / 3 more in
     * variance
     */
    m = bits_parse("species: {P: 0, S: 0, C: 100000}\nreactions:\n"
                   "  on: 0 -> S @ 0.1\n  make: S -> S + P @ 10\n"
                   "  in: 0 -> C @ 1000\n  out: C -> 0 @ 0.01\n");
    x = tau_counts(m, &tau, n, 40.0);
    const summary found = summarise(x, n, 3),
                  exact = {.mean = 800.0, .sd = sqrt(800.0 + 100.0 * 0.1 * 64e3 / 3.0)};
    check_summary("shot noise", 0, &found, &exact);
    free(x);
    saltus_model_destroy(m);
}

/* A critical reaction whose law falls by some per cent in a leap: makes of R by A, of which c (1 -
 * e^-t) are left. By the propensities before leaps there would be 1.5 % more. */
static void critical_reactions_follow_their_laws(void **state)
{
    const double t = 3.0, mean = 3.0 * (1.0 - exp(-t));
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(600000);
    (void)state;
    saltus_model *m = bits_parse("species: {R: 0, A: 10000}\nreactions:\n"
                                 "  decay: A -> 0 @ 1\n  make: A -> A + R @ 0.0003\n"
                                 "  lose: R -> 0 @ 1e-9\n");
    int64_t *x = tau_counts(m, &tau, n, t);
    const summary found = summarise(x, n, 2);
    if (fabs(found.mean - mean) > 0.002 * mean + 5.0 * found.mean_error ||
        fabs(found.sd - sqrt(mean)) > 0.005 * sqrt(mean) + 5.0 * found.sd_error) {
        fail_msg("mean %g, sd %g in place of %g and %g", found.mean, found.sd, mean, sqrt(mean));
    }
    free(x);
    saltus_model_destroy(m);
}

/* A reaction that fires less than once in a leap follows what fluctuates up and down alike: K
 * firings of mean r t X, with the variance that X adds, 2 r^2 X t / death. */
static void slow_reactions_follow_fluctuations(void **state)
{
    enum { X = 20 };
    const double rate = 0.01, t = 100.0, mean = rate * X * t,
                 sd = sqrt(mean + 2.0 * rate * rate * X * (t - 1.0));
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(120000);
    (void)state;
    saltus_model *m = bits_parse("species: {Y: 0, X: 20, C: 100000}\nreactions:\n"
                                 "  birth: 0 -> X @ 20\n  death: X -> 0 @ 1\n"
                                 "  slow: X -> X + Y @ 0.01\n"
                                 "  in: 0 -> C @ 5000\n  out: C -> 0 @ 0.05\n");
    int64_t *x = tau_counts(m, &tau, n, t);
    const summary found = summarise(x, n, 3);
    if (fabs(found.mean - mean) > 0.001 * mean + 5.0 * found.mean_error ||
        fabs(found.sd - sd) > 0.005 * sd + 5.0 * found.sd_error) {
        fail_msg("mean %g, sd %g in place of %g and %g", found.mean, found.sd, mean, sd);
    }
    free(x);
    saltus_model_destroy(m);
}

/* Without critical reactions leaps fail, and are halved. */
static void leaps_below_zero_are_taken_back(void **state)
{
    saltus_plan_options tau = by("tau");
    const double t[] = {0.2, 0.5, 1.0};
    (void)state;
    tau.n_critical = 0;
    tau.n_exact = 1;
    tau.epsilon = 0.9;
    saltus_error err = {0};
    moments m = {0};
    saltus_model *model =
        bits_parse("species: {A: 40, B: 3, C: 0}\n"
                   "reactions: {a: A -> C @ 3, b: A + B -> C @ 1, c: C -> B @ 90, d: 2 B -> 0 @ 9,"
                   " e: 0 -> A @ 1000}\n");
    OK(simulate(model, &tau, scaled(2000), t, 3, &m, NULL, &err));
    moments_free(&m);
    saltus_model_destroy(model);
}

/* ---- the order of the error ---- */

/* In a steady state with steps of 0.3 of the relaxation time, ten epsilon, variances are right but
 * for 0.4 %; by the propensities before leaps they would be 18 % too large. */
static void steady_states_are_as_wide_as_they_should_be(void **state)
{
    static const char *const texts[] = {
        "species: {A: 10000}\nreactions: {birth: 0 -> A @ 10000, death: A -> 0 @ 1}\n",
        "species: {A: 10000, B: 10000}\nreactions: {r: A -> B @ 0.5, s: B -> A @ 0.5}\n"};
    static const double variance[] = {10000.0, 5000.0};
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(200000);
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const double sd = sqrt(variance[i]);
        saltus_model *m = bits_parse(texts[i]);
        int64_t *x = tau_counts(m, &tau, n, 6.0);
        const summary found = summarise(x, n, i + 1);
        if (fabs(found.mean - 1e4) > 0.1 + 5.0 * found.mean_error ||
            fabs(found.sd - sd) > 0.003 * sd + 5.0 * found.sd_error) {
            fail_msg("%s: mean %g, sd %g in place of 10000 and %g", texts[i], found.mean, found.sd,
                     sd);
        }
        free(x);
        saltus_model_destroy(m);
    }
}

/* Births and deaths, while the propensities fall by some per cent in a leap: the variance is that
 * of the propensities in its middle, not of those before it, which would be 1.3 % more. */
static void variances_follow_propensities(void **state)
{
    const double birth = 0.1, death = 0.11, t = 10.0, decay = exp((birth - death) * t);
    const double mean = 1e4 * decay,
                 sd = sqrt(mean * (birth + death) / (birth - death) * (decay - 1.0));
    const saltus_plan_options tau = by("tau");
    const int64_t n = scaled(1000000);
    (void)state;
    saltus_model *m = bits_parse("species: {A: 10000}\n"
                                 "reactions: {birth: A -> 2 A @ 0.1, death: A -> 0 @ 0.11}\n");
    int64_t *x = tau_counts(m, &tau, n, t);
    const summary found = summarise(x, n, 1);
    if (fabs(found.mean - mean) > 1e-4 * mean + 5.0 * found.mean_error ||
        fabs(found.sd - sd) > 0.001 * sd + 5.0 * found.sd_error) {
        fail_msg("mean %g, sd %g in place of %g and %g", found.mean, found.sd, mean, sd);
    }
    free(x);
    saltus_model_destroy(m);
}

/* Steps of decay are epsilon long. */
static void means_are_of_second_order(void **state)
{
    static const double epsilon[] = {0.1, 0.05};
    const double exact = 1e6 * exp(-1.0);
    const int64_t n = scaled(8000);
    double off[2], error[2];
    (void)state;
    saltus_model *m = bits_parse("species: {A: 1000000}\nreactions: {death: A -> 0 @ 1}\n");
    for (int i = 0; i < 2; ++i) {
        saltus_plan_options tau = by("tau");
        tau.epsilon = epsilon[i];
        int64_t *x = tau_counts(m, &tau, n, 1.0);
        const summary found = summarise(x, n, 1);
        off[i] = found.mean - exact;
        error[i] = found.mean_error;
        assert_true(fabs(off[i]) < 0.25 * epsilon[i] * epsilon[i] * exact + 5.0 * error[i]);
        free(x);
    }
    assert_true(fabs(off[0] - 4.0 * off[1]) < 0.2 * off[0] + 5.0 * hypot(error[0], 4.0 * error[1]));
    saltus_model_destroy(m);
}

/* ---- kinds of laws ---- */

static void orders_are_right(void **state)
{
    (void)state;
    compare("species: {A: 3000, B: 2000, C: 0}\n" /* third order */
            "reactions:\n  r: 2 A + B -> 3 C @ 2e-7\n  s: 3 C -> 2 A + B @ 1e-7\n"
            "  t: 3 A -> B @ 1e-8\n",
            0.03, 2.0, 4000, 2000);
    compare("species: {A: 200, B: 4000, C: 0}\n" /* a catalyst that comes and goes */
            "reactions:\n  r: A + B -> A + C @ 5e-3\n  in: 0 -> A @ 400\n  out: A -> 0 @ 2\n"
            "  back: C -> B @ 0.3\n",
            0.03, 2.0, 4000, 2000);
    compare("species: {A: 5000}\nreactions: {r: 2 A -> A @ 1e-4, s: A -> 2 A @ 0.3}\n", 0.03, 4.0,
            4000, 2000);
}

static void general_laws_are_right(void **state)
{
    (void)state;
    compare("species: {M: 200, P: 900}\n"
            "parameters: {V: 3000, Km: 400}\n"
            "rules: {pressure: (P/500)^2}\n"
            "reactions:\n"
            "  transcribe: 0 -> M @ 4000/(1 + pressure)\n  forget: M -> 0 @ 2\n"
            "  translate: M -> M + P @ 8*M*exp(-P/4000)\n  decay: P -> 0 @ V*P/(Km + P)\n",
            0.03, 3.0, 2000, 800);
    compare("species: {A: 4000, B: 4000, C: 0}\nrules: {both: 1e-4*A*B}\n"
            "reactions:\n"
            "  r: A + B -> C @ both\n  s: C -> A + B @ 0.2*C*piecewise(1, C > 2500, 2)\n",
            0.03, 5.0, 2000, 800);
}

/* ---- time ---- */

static const char *const timed =
    "species: {A: 2000, B: 0, C: 0}\n"
    "parameters: {k: 1, dose: 1500}\n"
    "reactions:\n"
    "  a: A -> B @ k*A*piecewise(2, time >= 1.25, 1)\n  b: B -> A @ 0.7\n"
    "  c: 0 -> C @ 500\n  d: C -> 0 @ 0.3\n"
    "events:\n"
    "  once: {at: 2, set: {A: A + dose}}\n"
    "  late: {at: 0.5, delay: 1.1, set: {B: B + 0.5*C, k: k*1.5}}\n"
    "  after: {when: time > 2.5, set: {C: 2*C}}\n"
    "  same: {at: 2.5, set: {C: C + 300}}\n";

/* Sampled seldom and often, at the events' times too. */
static void events_in_time_are_right(void **state)
{
    saltus_plan_options tau = by("tau");
    double times[25];
    (void)state;
    tau.epsilon = 0.01; /* means fall behind by about epsilon / 2 in every relaxation time */
    for (int i = 0; i < 25; ++i) {
        times[i] = 0.125 * i;
    }
    for (int n_times = 17; n_times <= 25; n_times += 4) { /* ends at 2, 2.5, 3 */
        compare_with(timed, &tau, times + n_times - 1, 1, scaled(1500), scaled(700));
        compare_with(timed, &tau, times, n_times, scaled(1500), scaled(700));
    }
}

/* Nothing can react before t = 1, nor after the last molecule is gone. */
static void standing_still_is_right(void **state)
{
    const double times[] = {0.5, 1.0, 1.5, 60.0};
    const saltus_plan_options tau = by("tau");
    saltus_error err = {0};
    moments m = {0};
    const int64_t n = scaled(1000);
    (void)state;
    saltus_model *model = bits_parse("species: {A: 0, B: 0}\nreactions: {r: A -> B @ 1}\n"
                                     "events: {e: {at: 1, set: {A: 500}}}\n");
    OK(simulate(model, &tau, n, times, 4, &m, NULL, &err));
    assert_true(m.sum[0] == 0.0 && m.sum[1] == 0.0);
    assert_true(m.sum[2] == 500.0 * (double)n && m.sum[3] == 0.0);
    assert_true(m.sum[6] == 0.0 && m.sum[7] == 500.0 * (double)n);
    moments_free(&m);
    saltus_model_destroy(model);
}

/* ---- events that watch the state ---- */

static void events_of_the_state_are_warned_about(void **state)
{
    static const double times[] = {1.0, 3.0};
    saltus_plan_options options[] = {by("tau"), by("direct")};
    double mean[2];
    (void)state;
    options[0].epsilon = 0.01;
    saltus_model *model =
        bits_parse("species: {A: 0, N: 0}\nreactions: {in: 0 -> A @ 3000, out: A -> 0 @ 0.5}\n"
                   "events: {full: {when: A > 2000, set: {A: 500, N: N + 1}}}\n");
    for (int k = 0; k < 2; ++k) {
        char warning[300] = "";
        saltus_error err = {0};
        moments m = {0};
        OK(simulate(model, &options[k], scaled(1000), times, 2, &m, warning, &err));
        assert_true((strstr(warning, "events watch the state") != NULL) == (k == 0));
        const summary a = summarise(m.last, m.n, 2), events = summarise(m.last + 1, m.n, 2);
        mean[k] = a.mean;
        assert_true(events.mean > 3.0 && events.mean < 5.0);
        moments_free(&m);
    }
    assert_true(fabs(mean[0] - mean[1]) < 0.1 * mean[1]); /* they come late by a part of a leap */
    saltus_model_destroy(model);
    /* events in time are not warned about */
    char warning[300] = "";
    saltus_error err = {0};
    moments m = {0};
    model = bits_parse(timed);
    OK(simulate(model, &options[0], 10, times, 2, &m, warning, &err));
    assert_null(strstr(warning, "watch"));
    moments_free(&m);
    saltus_model_destroy(model);
}

/* What a trigger reads bounds leaps: a molecule too many, and half of them would be too many still,
 * so that the trigger would never turn again. Between 6 and 12 all are alike. */
static void triggers_bound_leaps(void **state)
{
    static const double times[] = {2.0};
    const saltus_plan_options tau = by("tau");
    saltus_error err = {0};
    moments m = {0};
    (void)state;
    saltus_model *model =
        bits_parse("species: {A: 1, C: 20000}\nreactions: {in: 0 -> A @ 500, out: C -> 0 @ 0.1}\n"
                   "events: {full: {when: A > 12, set: {A: floor(A/2)}}}\n");
    OK(simulate(model, &tau, scaled(4000), times, 1, &m, NULL, &err));
    const summary a = summarise(m.last, m.n, 2);
    assert_true(fabs(a.mean - 9.0) < 5.0 * a.mean_error);
    assert_true(fabs(a.sd - 2.0) < 5.0 * a.sd_error);
    moments_free(&m);
    saltus_model_destroy(model);
}

/* A law is held at the middle of a window, whatever happens in it: B' = 40 (1 + 0.8 sin 3t) - 2 B.
 */
static void events_do_not_let_laws_run_ahead(void **state)
{
    static const double times[] = {0.5, 1.5};
    const saltus_plan_options tau = by("tau");
    saltus_error err = {0};
    moments m = {0};
    const int64_t n = scaled(16000);
    (void)state;
    saltus_model *model =
        bits_parse("species: {B: 20, A: 1}\nreactions:\n  on: {equation: 0 -> B, law: 40*(1 + "
                   "0.8*sin(3*time))}\n  off: B -> 0 @ 2\n  in: 0 -> A @ 500\n"
                   "events: {full: {when: A > 12, set: {A: floor(A/2)}}}\n");
    OK(simulate(model, &tau, n, times, 2, &m, NULL, &err));
    for (int k = 0; k < 2; ++k) {
        const double t = times[k];
        const double expected =
            20.0 + 32.0 / 13.0 * (2.0 * sin(3.0 * t) - 3.0 * cos(3.0 * t) + 3.0 * exp(-2.0 * t));
        const double mean = m.sum[2 * k] / (double)n;
        const double error = sqrt(expected / (double)n); /* B is Poisson's but for the first 20 */
        assert_true(fabs(mean - expected) < 5.0 * error + 0.005 * expected);
    }
    moments_free(&m);
    saltus_model_destroy(model);
}

/* Of so many molecules a leap would fire more than a variate can be: leaps are shorter then. */
static void leaps_of_many_molecules_are_shorter(void **state)
{
    static const double amounts[] = {1e16, 1e17, 4e18};
    const saltus_plan_options tau = by("tau");
    const double t = 3.0;
    (void)state;
    for (int i = 0; i < 3; ++i) {
        char text[200];
        saltus_error err = {0};
        moments m = {0};
        (void)snprintf(text, sizeof text,
                       "species: {A: %.0f, B: 0}\nreactions: {r: A -> B @ 1, s: B -> A @ 1}\n",
                       amounts[i]);
        saltus_model *model = bits_parse(text);
        OK(simulate(model, &tau, 3, &t, 1, &m, NULL, &err));
        const double mean = 0.5 * (1.0 + exp(-2.0 * t));
        assert_true(fabs(m.sum[0] / (double)m.n / amounts[i] - mean) < 1e-3);
        moments_free(&m);
        saltus_model_destroy(model);
    }
}

/* ---- what cannot go on ---- */

/* A law that does not read what it consumes bounds no leap. It ends as it does exactly. */
static void laws_that_do_not_vanish_end_in_a_message(void **state)
{
    static const char *const texts[] = {
        "species: {A: 100, B: 0}\nreactions: {eat: {equation: A -> B, law: 50 + 0*B}}\n",
        "species: {A: 3, B: 0}\nreactions: {r: A -> B @ 1 + B}\n",
        "species: {A: 30}\nreactions: {r: A -> 0 @ 2*A - 9}\n",
        "species: {A: 3}\nreactions: {r: A -> 0 @ 1}\nevents: {e: {at: 1, set: {A: -1}}}\n",
        "species: {A: 1}\nreactions: {r: 0 -> A @ 1e300, s: A -> 0 @ 1}\n"};
    static const char *const parts[] = {"fired with too few", "fired with too few", "propensity",
                                        "'A'", "beyond 64 bits"};
    const saltus_plan_options tau = by("tau");
    const double t = 10.0;
    (void)state;
    for (int i = 0; i < 5; ++i) {
        saltus_error err = {0};
        moments m = {0};
        saltus_model *model = bits_parse(texts[i]);
        assert_int_equal(simulate(model, &tau, 4, &t, 1, &m, NULL, &err), SALTUS_E_NUMERIC);
        if (!strstr(err.message, parts[i])) {
            fail_msg("%s", err.message);
        }
        moments_free(&m);
        saltus_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decay_dimerisation_is_right),
        cmocka_unit_test(genes_are_right),
        cmocka_unit_test(enzymes_are_right),
        cmocka_unit_test(laws_that_bend_have_directions),
        cmocka_unit_test(laws_of_time_bend_too),
        cmocka_unit_test(thresholds_are_met_by_noise),
        cmocka_unit_test(rare_firings_go_by_what_bends),
        cmocka_unit_test(critical_reactions_may_idle),
        cmocka_unit_test(laws_that_bend_are_followed),
        cmocka_unit_test(both_states_have_their_weight),
        cmocka_unit_test(immigration_and_death_are_poisson),
        cmocka_unit_test(births_alone_are_exact),
        cmocka_unit_test(exact_steps_are_exact),
        cmocka_unit_test(critical_reactions_fire_one_by_one),
        cmocka_unit_test(few_molecules_are_exact_beside_many),
        cmocka_unit_test(critical_reactions_follow_their_laws),
        cmocka_unit_test(slow_reactions_follow_fluctuations),
        cmocka_unit_test(leaps_below_zero_are_taken_back),
        cmocka_unit_test(steady_states_are_as_wide_as_they_should_be),
        cmocka_unit_test(variances_follow_propensities),
        cmocka_unit_test(means_are_of_second_order),
        cmocka_unit_test(orders_are_right),
        cmocka_unit_test(general_laws_are_right),
        cmocka_unit_test(events_in_time_are_right),
        cmocka_unit_test(standing_still_is_right),
        cmocka_unit_test(events_of_the_state_are_warned_about),
        cmocka_unit_test(triggers_bound_leaps),
        cmocka_unit_test(events_do_not_let_laws_run_ahead),
        cmocka_unit_test(leaps_of_many_molecules_are_shorter),
        cmocka_unit_test(laws_that_do_not_vanish_end_in_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
