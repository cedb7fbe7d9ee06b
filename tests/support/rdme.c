#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdme.h"

#include <stdio.h>
#include <string.h>

saltus_status rdme_try(const char *device, const saltus_model *m, const char *method, int threads,
                       const double *times, int n_times, int64_t n, moments *sums,
                       saltus_error *err)
{
    saltus_run_options o = saltus_run_options_default();
    saltus_plan_options p = saltus_plan_options_default();
    p.method = method;
    p.n_threads = threads;
    o.seed = 5;
    o.times = times;
    o.n_times = n_times;
    o.n_trajectories = n;
    return run_plan((saltus_model *)m, device, &p, &o, sums, err);
}

moments rdme_run(const saltus_model *m, const char *method, int threads, const double *times,
                 int n_times, int64_t n)
{
    saltus_error err = {0};
    moments sums = {0};
    OK(rdme_try("cpu", m, method, threads, times, n_times, n, &sums, &err));
    return sums;
}

saltus_model *rdme_line(int axis, int kind, const char *spacing, double m2_per_s, int particles)
{
    static const char *const sizes[] = {"9, 2, 1", "1, 9, 2", "2, 1, 9"};
    static const char *const places[] = {"3, 1, 0", "0, 3, 1", "1, 0, 3"};
    const char name = (char)('x' + axis);
    char text[600];
    (void)snprintf(text, sizeof text,
                   "species: {A: }\nlattice:\n  size: [%s]\n  spacing: %s\n  step: 1 s\n"
                   "  faces: {%c-: %s, %c+: %s}\n"
                   "  diffusion: {A: %g m2/s}\n  place: {A: {sites: [[%s, %d]]}}\n",
                   sizes[axis], spacing, name, kind > 0 ? "absorbing" : "reflecting", name,
                   kind > 1 ? "absorbing" : "reflecting", m2_per_s, places[axis], particles);
    return parse_frozen(text);
}

void rdme_one_site_is_well_mixed(const char *method, const char *more_reactions, const char *step)
{
    static const char reactions[] = "species: {A: 30, B: 20, C: 0}\nreactions:\n"
                                    "  bind: A + B -> C @ 0.02\n  part: C -> A + B @ 0.5\n"
                                    "  pair: 2 A -> B @ 0.01\n  back: B -> 2 A @ 0.1\n"
                                    "  law: C -> A @ 0.3*C/(5 + C)\n";
    static const double times[] = {0.7, 2.1};
    char well_mixed[600], text[900];
    const int64_t n = scaled(8000);
    (void)snprintf(well_mixed, sizeof well_mixed, "%s%s", reactions, more_reactions);
    (void)snprintf(text, sizeof text, /* to jump out of the site leads into it */
                   "%slattice: {size: [1, 1, 1], spacing: 1 m, step: %s, faces: periodic, "
                   "diffusion: {A: 0.1 m2/s, B: 0, C: 0}}\n",
                   well_mixed, step);
    saltus_model *space = parse_frozen(text), *mixed = parse_frozen(well_mixed);
    moments x = rdme_run(space, method, 2, times, 2, n),
            y = rdme_run(mixed, "direct", 2, times, 2, n);
    check_alike(&x, &y, 6, "a count");
    moments_free(&x);
    moments_free(&y);
    saltus_model_destroy(space);
    saltus_model_destroy(mixed);
}

void rdme_equilibria_and_sums(const char *method)
{
    static const char text[] =
        "species: {A: 300, B: 0, P: 200, Q: 150, R: 0, S: 0}\nreactions:\n"
        "  there: A -> B @ 3\n  back: B -> A @ 1\n  bind: P + Q -> R @ 2\n  part: R -> P + Q @ 1\n"
        "  come: 0 -> S\n  go: S -> 0 @ 0.5\n"
        "lattice:\n  size: [6, 5, 4]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
        "  sites:\n    rest:\n    half: {box: {from: [0, 0, 0], to: [3 sites, 5 sites, 4 sites]}}\n"
        "  diffusion: {A: 1 m2/s, B: {half: 1 m2/s}, P: 0.2 m2/s, Q: 0.3 m2/s, R: 0.1 m2/s, S: 0.1 "
        "m2/s}\n"
        "  reactions: {come: {half: 0.4}, there: {half: 3}, back: {half: 1}}\n";
    static const double times[] = {1.0, 15.0};
    const int64_t n = scaled(100);
    saltus_model *m = parse_frozen(text);
    moments x = rdme_run(m, method, 2, times, 2, n);
    check_mean(x.sum[6 + 1], (double)n, 300.0 * 0.6, 300.0 * 0.6 * 0.4, "B"); /* A: 1 + 1, B: 3 */
    for (int p = 0; p < 2; ++p) {
        assert_true(x.sum[6 * p] + x.sum[6 * p + 1] == 300.0 * (double)n);
        assert_true(x.sum[6 * p + 2] + x.sum[6 * p + 4] == 200.0 * (double)n);
        assert_true(x.sum[6 * p + 3] + x.sum[6 * p + 4] == 150.0 * (double)n);
    }
    const double mean = 0.4 * 60.0 / 0.5; /* in 60 sites */
    check_mean(x.sum[6 + 5], (double)n, mean, mean, "S");
    moments_free(&x);
    saltus_model_destroy(m);
}

/* A run of a model that cannot be run to its end. */
static void check_refused(const char *method, const char *text, const char *why)
{
    static const double times[] = {10.0};
    saltus_error err = {0};
    moments sums = {0};
    saltus_model *m = parse_frozen(text);
    const saltus_status status = rdme_try("cpu", m, method, 1, times, 1, 4, &sums, &err);
    if (status != SALTUS_E_NUMERIC || !strstr(err.message, why)) {
        fail_msg("%s by %s: %d, %s", text, method, (int)status, err.message);
    }
    moments_free(&sums);
    saltus_model_destroy(m);
}

void rdme_constant_laws_take(const char *method)
{
    static const char text[] =
        "species: {A: %d, B: 0, C: 7}\nreactions:\n  turn: {equation: A -> B, law: 5}\n"
        "  pair: 2 C -> C @ 1\nlattice:\n  size: [3, 2, 1]\n  spacing: 1 m\n  step: 0.1 s\n"
        "  sites: {rest: , half: {box: {from: [0, 0, 0], to: [2 sites, 2 sites, 1 sites]}}}\n"
        "  diffusion: {A: 1 m2/s, B: 0, C: 1 m2/s}\n  reactions: {turn: half}\n";
    static const double times[] = {2.0};
    const int64_t n = scaled(1000);
    char model[600];
    (void)snprintf(model, sizeof model, text, 6000);
    saltus_model *m = parse_frozen(model);
    moments x = rdme_run(m, method, 2, times, 1, n);
    const double mean = 5.0 * 4.0 * 2.0; /* in 4 sites, for 2 s */
    check_mean(x.sum[1], (double)n, mean, mean, "B");
    assert_true(x.sum[0] + x.sum[1] == 6000.0 * (double)n);
    moments_free(&x);
    saltus_model_destroy(m);
    (void)snprintf(model, sizeof model, text, 10);
    check_refused(method, model,
                  strcmp(method, "mpd") == 0 ? "takes what is not there"
                                             : "reaction 'turn' would leave -1 of 'A'");
}

void rdme_infinite_propensities_are_refused(const char *method)
{
    static const char *const cases[][2] = {
        {"{equation: A -> B, law: A/(A - 3)^2}", "3"},                     /* alone */
        {"{equation: 0 -> B, law: 1/A}", "0"},                             /* in an empty site */
        {"{equation: 2 A -> A + B, constant: 1.5e308}", "3"},              /* 3 pairs */
        {"{equation: 2 A -> A + B, constant: 1.5e308}", "9"},              /* many particles */
        {"{equation: A -> B, constant: 1e308}\n  t: A -> 0 @ 1e308", "1"}, /* in sum */
        {"{equation: A -> B, law: 1e308}\n  t: A -> 0 @ 1e308", "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "species: {A: %s, B: 0}\nreactions:\n  r: %s\nlattice: {size: [1, 1, 1], "
                       "spacing: 1 m, step: 1 s, diffusion: {A: 0.1 m2/s, B: 0}}\n",
                       cases[i][1], cases[i][0]);
        check_refused(method, text, "propensity");
    }
}

void rdme_threads_and_samples_change_nothing(const char *method)
{
    enum { RUNS = 30 };
    static const char text[] =
        "species: {A: 200, B: 200, C: 0}\n"
        "reactions: {bind: A + B -> C @ 5, part: C -> A + B @ 1, come: 0 -> A @ 0.2}\n"
        "lattice:\n  size: [7, 6, 5]\n  spacing: 1 m\n  step: 0.1 s\n"
        "  faces: {x: periodic, y-: {A: 2}}\n"
        "  diffusion: {A: 5 m2/s, B: 2 m2/s, C: 1 m2/s}\n";
    static const double many[] = {0.0, 0.1, 0.15, 0.2, 0.3, 0.95, 2.0}, two[] = {0.3, 2.0};
    saltus_error err = {0};
    moments d = {0};
    saltus_model *m = parse_frozen(text);
    moments a = rdme_run(m, method, 1, many, 7, RUNS), b = rdme_run(m, method, 3, many, 7, RUNS),
            c = rdme_run(m, method, 2, two, 2, RUNS), one = rdme_run(m, method, 1, many, 7, 1),
            shared = rdme_run(m, method, 3, many, 7, 1);
    OK(rdme_try("cpu:generic", m, method, 2, many, 7, RUNS, &d, &err));
    assert_true(a.hash == b.hash && a.hash == d.hash && one.hash == shared.hash);
    for (int i = 0; i < 3; ++i) {
        assert_true(a.sum[4 * 3 + i] == c.sum[i] && a.sum[6 * 3 + i] == c.sum[3 + i]);
        assert_true(a.squares[6 * 3 + i] == c.squares[3 + i]);
    }
    assert_true(a.sum[0] == RUNS * 200.0);
    /* between these samples no step ends */
    assert_true((a.sum[3] == a.sum[6]) == (strcmp(method, "mpd") == 0));
    moments *all[] = {&a, &b, &c, &d, &one, &shared};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        moments_free(all[i]);
    }
    saltus_model_destroy(m);
}
