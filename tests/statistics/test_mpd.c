/* Space: particles move and react on lattices as exact calculations say, within 5 standard errors;
 * nothing is lost; bits depend on no thread and no sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/rdme.h"

#define SALTUS_LANES 1
#include "kernel/rdme/react.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static moments run(saltus_model *m, int threads, const double *times, int n_times, int64_t n)
{
    return rdme_run(m, "mpd", threads, times, n_times, n);
}

/* ---- diffusion ---- */

enum { LENGTH = 9, STEPS = 12, PARTICLES = 1000 };

/* The chance that a walk of LENGTH sites between two faces, from site `start`, ends a step where.
 */
static void walk(double q, int start, bool low_absorbs, bool high_absorbs, double p[LENGTH])
{
    memset(p, 0, LENGTH * sizeof *p);
    p[start] = 1.0;
    for (int k = 0; k < STEPS; ++k) {
        double next[LENGTH] = {0};
        for (int i = 0; i < LENGTH; ++i) {
            double stays = 1.0;
            if (i > 0 || low_absorbs) {
                stays -= q;
                if (i > 0) {
                    next[i - 1] += q * p[i];
                }
            }
            if (i + 1 < LENGTH || high_absorbs) {
                stays -= q;
                if (i + 1 < LENGTH) {
                    next[i + 1] += q * p[i];
                }
            }
            next[i] += stays * p[i];
        }
        memcpy(p, next, sizeof next);
    }
}

/* Along every axis: those that are left between faces of which none, one or both absorb. */
static void walks_are_those_of_the_master_equation(void **state)
{
    static const double qs[] = {0.5, 0.3, 0.01};
    const double times[] = {STEPS};
    (void)state;
    for (int which = 0; which < 27; ++which) {
        const int axis = which % 3, kind = which / 3 % 3;
        const double q = qs[which / 9];
        double p[LENGTH], left = 0.0;
        saltus_model *m = rdme_line(axis, kind, "1 m", q, PARTICLES);
        moments sums = run(m, 1, times, 1, 25);
        walk(q, 3, kind > 0, kind > 1, p);
        for (int i = 0; i < LENGTH; ++i) {
            left += p[i];
        }
        check_mean(sums.sum[0], 25.0, PARTICLES * left, PARTICLES * left * (1.0 - left), "A");
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

/* Where particles are shows by a reaction in one layer alone, so fast that it is certain. */
static void distributions_are_those_of_the_master_equation(void **state)
{
    const double times[] = {STEPS, STEPS + 1};
    double next;
    (void)state;
    for (int layer = 0; layer < LENGTH; layer += 2) {
        char text[700];
        (void)snprintf(text, sizeof text,
                       "species: {A: , B: 0}\nreactions: {r: A -> B}\nlattice:\n  size: [9, 3, 2]\n"
                       "  spacing: 1 m\n  step: 1 s\n  faces: {x: periodic, y: periodic}\n"
                       "  sites:\n    rest:\n    layer: {box: {from: [%d sites, 0, 0], to: [%d "
                       "sites, 3 sites, 2 sites]}}\n"
                       "  diffusion: {A: 0.2 m2/s, B: 0.2 m2/s}\n"
                       "  place: {A: {sites: [[4, 1, 1, %d]]}}\n"
                       "  reactions: {r: {layer: %s 1/s}}\n",
                       layer, layer + 1, PARTICLES, "1e3");
        saltus_model *m = parse_frozen(text);
        moments sums = run(m, 1, times, 2, 25);
        /* those that were in the layer at the end of some step */
        double alive[LENGTH] = {0}, after[LENGTH];
        alive[4] = 1.0;
        for (int k = 0; k < STEPS; ++k) {
            for (int i = 0; i < LENGTH; ++i) {
                after[i] = 0.6 * alive[i] + 0.2 * alive[(i + 1) % LENGTH] +
                           0.2 * alive[(i + LENGTH - 1) % LENGTH];
            }
            after[layer] = 0.0;
            memcpy(alive, after, sizeof alive);
        }
        next = 0.0;
        for (int i = 0; i < LENGTH; ++i) {
            next += alive[i];
        }
        check_mean(sums.sum[0], 25.0, PARTICLES * next, PARTICLES * next * (1.0 - next), text);
        assert_true(sums.sum[0] + sums.sum[1] == 25.0 * PARTICLES);
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

/* ---- reactions ---- */

/* A step is exact however long it is. */
static void one_site_is_well_mixed(void **state)
{
    (void)state;
    rdme_one_site_is_well_mixed("mpd", "  even_when_empty: 0 -> C @ 2/(1 + C)\n", "0.7 s");
}

/* `reactions_per_step: one`: something happens with 1 - exp(-a step), once. */
static void one_reaction_in_a_step(void **state)
{
    static const char text[] =
        "species: {A: 5}\nreactions: {r: A -> 0 @ 0.3}\nlattice: {size: [1, 1, 1], spacing: 1 m, "
        "step: 1 s, diffusion: {A: 0}, reactions_per_step: one}\n";
    const double times[] = {1.0};
    const int64_t n = scaled(20000);
    const double p = 1.0 - exp(-1.5);
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, 1, times, 1, n);
    check_mean(x.sum[0], (double)n, 5.0 - p, p * (1.0 - p), "A");
    /* 4 or 5 are left, nothing else: (x - 4) (x - 5) is 0 */
    assert_true(x.squares[0] - 9.0 * x.sum[0] + 20.0 * (double)n == 0.0);
    moments_free(&x);
    saltus_model_destroy(m);
}

static void equilibria_and_sums(void **state)
{
    (void)state;
    rdme_equilibria_and_sums("mpd");
}

/* Beyond a face of constant concentration there are 50 particles per site; inside as many come to
 * be, Poisson, and between two such faces the mean falls evenly. */
static void constant_faces_hold_a_concentration(void **state)
{
    static const char text[] =
        "species: {A: 0, B: 0}\nlattice:\n  size: [4, 2, 1]\n  spacing: 1 m\n  step: 1 s\n"
        "  faces: {%s-: {A: 50, B: 20}, %s+: {B: 70}, %s: reflecting, z: reflecting}\n"
        "  diffusion: {A: 0.4 m2/s, B: 0.3 m2/s}\n";
    const double times[] = {150.0}; /* slowest mode: a factor of 0.91 a step */
    const int64_t n = scaled(100);
    (void)state;
    for (int axis = 0; axis < 2; ++axis) {
        const char *along = axis == 0 ? "x" : "y", *across = axis == 0 ? "y" : "x";
        char with[600];
        (void)snprintf(with, sizeof with, text, along, along, across);
        saltus_model *m = parse_frozen(with);
        moments x = run(m, 2, times, 1, n);
        /* A leaves over x- alone: 50 in each of 8 sites. B: evenly from 20 to 70 */
        check_mean(x.sum[1], (double)n, 8.0 * 45.0, 8.0 * 45.0, "B");
        check_mean(x.squares[1] - 720.0 * x.sum[1] + 360.0 * 360.0 * (double)n, (double)n, 360.0,
                   2.0 * 360.0 * 360.0, "variance of B");
        moments_free(&x);
        saltus_model_destroy(m);
    }
}

/* In a bath with 20 in each site a box has as many, in its corners too, into which they come over
 * three faces. */
static void a_bath_is_the_same_everywhere(void **state)
{
    static const char text[] =
        "species: {A: 0}\nlattice: {size: [3, 2, 3], spacing: 1 m, step: 1 s, faces: {x: {A: 20}, "
        "y: {A: 20}, z: {A: 20}}, diffusion: {A: %g m2/s}}\n";
    static const double qs[] = {0.45, 0.2};
    const double times[] = {60.0};
    const int64_t n = scaled(300);
    (void)state;
    for (int i = 0; i < 2; ++i) {
        char with[400];
        (void)snprintf(with, sizeof with, text, qs[i]);
        saltus_model *m = parse_frozen(with);
        moments x = run(m, 2, times, 1, n);
        check_mean(x.sum[0], (double)n, 360.0, 360.0, "A");
        moments_free(&x);
        saltus_model_destroy(m);
    }
}

/* A face over two types in which particles jump more and less often: all sites hold as many. */
static void faces_of_two_types_hold_as_many(void **state)
{
    static const char text[] =
        "species: {A: }\nlattice:\n  size: [%d, %d, %d]\n  spacing: 1 m\n  step: 1 s\n"
        "  faces: {%s-: {A: 20}}\n  sites: {p: , q: {box: {from: [%d sites, %d sites, %d sites], "
        "to: [%d sites, %d sites, %d sites]}}}\n  diffusion: {A: {p: 0.45 m2/s, q: 0.04 m2/s, "
        "p-q: 0.3 m2/s}}\n  place: {A: {p: 20, q: 20}}\n";
    const double times[] = {100.0};
    const int64_t n = scaled(4000);
    (void)state;
    for (int i = 0; i < 3; ++i) { /* x beside y, x beside z, y beside z */
        const int face = i == 2, beside = i == 0 ? 1 : 2;
        int size[3] = {1, 1, 1}, from[3] = {0};
        char with[800];
        size[beside] = 2;
        from[beside] = 1;
        (void)snprintf(with, sizeof with, text, size[0], size[1], size[2], face == 0 ? "x" : "y",
                       from[0], from[1], from[2], size[0], size[1], size[2]);
        saltus_model *m = parse_frozen(with);
        moments x = run(m, 2, times, 1, n);
        check_mean(x.sum[0], (double)n, 40.0, 40.0, with);
        moments_free(&x);
        saltus_model_destroy(m);
    }
}

/* Two molecules in a box that is periodic, an even number of sites long: with `largest` steps they
 * meet wherever they begin, and are together as often as detailed balance says. */
static void molecules_meet_in_largest_steps(void **state)
{
    static const char text[] =
        "species: {A: 1, B: 1, C: 0}\n"
        "reactions: {bind: A + B -> C @ 640, part: C -> A + B @ 10}\n"
        "lattice: {size: [4, 4, 4], spacing: 10 nm, step: largest, faces: periodic, "
        "diffusion: {A: 1 um2/s, B: 1 um2/s, C: 1 um2/s}}\n";
    const double times[] = {0.5}; /* they part and bind ten times a second each */
    const int64_t n = scaled(600);
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, 2, times, 1, n);
    check_mean(x.sum[2], (double)n, 0.5, 0.25, "C");
    moments_free(&x);
    saltus_model_destroy(m);
}

/* Far more particles come to be within a few steps than there were, and every one is kept. */
static void many_more_particles_find_room(void **state)
{
    static const char text[] =
        "species: {A: 3000, B: 0, C: 0}\nreactions: {split: A -> 20 B @ 9, join: 2 B -> C @ 0.01}\n"
        "lattice:\n  size: [10, 10, 10]\n  spacing: 1 m\n  step: 0.1 s\n"
        "  diffusion: {A: 1 m2/s, B: 1 m2/s, C: 0.1 m2/s}\n";
    static const double times[] = {0.4, 3.0};
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments a = run(m, 1, times, 2, 1), b = run(m, 3, times, 2, 1);
    for (int p = 0; p < 2; ++p) {
        const double *sum = &a.sum[3 * p];
        assert_true(20.0 * sum[0] + sum[1] + 2.0 * sum[2] == 60000.0);
    }
    assert_true(a.sum[1] > 20000.0 && a.sum[5] > 100.0);
    assert_true(a.hash == b.hash);
    moments_free(&a);
    moments_free(&b);
    saltus_model_destroy(m);
}

/* Lists of many species, and long ones, are put in order in other ways; the order shows in bits. */
static void many_species_keep_their_order(void **state)
{
    enum { N = 40 };
    char text[8000];
    int at = snprintf(text, sizeof text, "species:\n");
    static const double times[] = {0.5, 3.0};
    (void)state;
    for (int i = 0; i < N; ++i) {
        at += snprintf(text + at, sizeof text - (size_t)at, "  S%d: %d\n", i, 10 + i);
    }
    at += snprintf(text + at, sizeof text - (size_t)at, "reactions:\n");
    for (int i = 0; i < N; ++i) {
        at += snprintf(text + at, sizeof text - (size_t)at, "  r%d: S%d + S%d -> 2 S%d @ 0.1\n", i,
                       i, (i + 1) % N, (i + 2) % N);
    }
    (void)snprintf(text + at, sizeof text - (size_t)at,
                   "lattice:\n  size: [4, 3, 2]\n  spacing: 1 m\n  step: 0.1 s\n"
                   "  diffusion: {");
    for (int i = 0, end = (int)strlen(text); i < N; ++i) {
        end += snprintf(text + end, sizeof text - (size_t)end, "S%d: 2 m2/s%s", i,
                        i + 1 < N ? ", " : "}\n");
    }
    saltus_model *m = parse_frozen(text);
    moments a = run(m, 1, times, 2, 1), b = run(m, 3, times, 2, 1);
    double sum = 0.0, first = 0.0;
    for (int i = 0; i < N; ++i) {
        sum += a.sum[N + i];
        first += a.sum[i] == a.sum[N + i];
    }
    assert_true(sum == 10.0 * N + 0.5 * N * (N - 1) && first < 0.5 * N);
    assert_true(a.hash == b.hash);
    moments_free(&a);
    moments_free(&b);
    saltus_model_destroy(m);
}

static void constant_laws_take(void **state)
{
    (void)state;
    rdme_constant_laws_take("mpd");
}

static void infinite_propensities_are_refused(void **state)
{
    (void)state;
    rdme_infinite_propensities_are_refused("mpd");
}

/* A step of so many would take minutes. */
static void endless_steps_are_refused(void **state)
{
    static const struct {
        const char *reactions, *lattice, *why;
    } cases[] = {
        {"reactions: {in: 0 -> B @ 1e12}", "diffusion: {B: 0}",
         "reaction 'in' happens 4e+10 times in a step of 0.01 s"},
        {"", "diffusion: {B: 40 m2/s}, faces: {y+: {B: 2e9}}",
         "a particle of 'B' comes in over face y+ 3.2e+09 times in a step of 0.01 s"},
        {"", "diffusion: {B: 40 m2/s}, faces: {x-: {B: 2e9}}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        saltus_error err = {0};
        saltus_plan *plan = NULL;
        saltus_backend *backend = NULL;
        saltus_plan_options options = saltus_plan_options_default();
        options.method = "mpd";
        (void)snprintf(
            text, sizeof text,
            "species: {B: 0}\n%s\nlattice: {size: [4, 1, 1], spacing: 1 m, step: 0.01 s, "
            "%s}\n",
            cases[i].reactions, cases[i].lattice);
        saltus_model *m = parse_frozen(text);
        assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
        const saltus_status status = saltus_plan_create(m, backend, &options, &plan, &err);
        if (status != (cases[i].why ? SALTUS_E_UNSUPPORTED : SALTUS_OK) ||
            (cases[i].why && !strstr(err.message, cases[i].why))) {
            fail_msg("%s: %d, %s", text, (int)status, err.message);
        }
        saltus_plan_destroy(plan);
        saltus_backend_close(backend);
        saltus_model_destroy(m);
    }
}

/* Steps are numbered, and a double has to hold the last number: times are multiples of it. */
static void more_steps_than_there_are_numbers_are_refused(void **state)
{
    static const double times[][2] = {{0.0, 1e14}, {0.0, 9007199254740994.0e-5}, {0.0, 1e300}};
    saltus_error err = {0};
    moments sums = {0};
    (void)state;
    saltus_model *m =
        parse_frozen("species: {A: 9}\nlattice: {size: [4, 1, 1], spacing: 1 um, step: 10 us, "
                     "diffusion: {A: 1 um2/s}}\n");
    for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
        err = (saltus_error){0};
        assert_int_equal(rdme_try("cpu", m, "mpd", 1, times[i], 2, 1, &sums, &err),
                         SALTUS_E_UNSUPPORTED);
        moments_free(&sums);
    }
    assert_string_equal(err.message,
                        "1e+305 steps of 1e-05 s until 1e+300 s: there can be 2^53 of them");
    saltus_model_destroy(m);
}

/* Particles of one site move by words of their own, also far behind the first ones. */
static void ranks_have_words_of_their_own(void **state)
{
    static const int64_t ranks[] = {0, 1 << 16, 1 << 24, 1 << 25, (1 << 24) + (1 << 16), INT32_MAX};
    enum { N = sizeof ranks / sizeof *ranks };
    uint32_t w[N][4];
    saltus_mpd m = {0};
    (void)state;
    saltus_mpd_start(&m, 1, 0);
    for (int i = 0; i < N; ++i) {
        saltus_mpd_words(&m, SALTUS_PURPOSE_MOVE, 7, 85, 5, ranks[i], w[i]);
        for (int k = 0; k < i; ++k) {
            assert_memory_not_equal(w[k], w[i], sizeof *w);
        }
    }
}

/* ---- bits ---- */

static void threads_and_samples_change_nothing(void **state)
{
    (void)state;
    rdme_threads_and_samples_change_nothing("mpd");
}

/* Nobody is lost or made, over a million steps with some reactions in each. */
static void sums_are_kept_over_a_million_steps(void **state)
{
    enum { N_SAMPLES = 11, EACH = 10 };
    double times[N_SAMPLES], first = -1.0;
    bool changes = false;
    (void)state;
    for (int i = 0; i < N_SAMPLES; ++i) {
        times[i] = 1e-2 * (double)scaled(1000000) * i;
    }
    saltus_model *m =
        parse_frozen("species: {A: 10, B: 10, C: 0}\n"
                     "reactions: {bind: A + B -> C @ 5, part: C -> A + B @ 0.4}\n"
                     "lattice: {size: [5, 6, 7], spacing: 1 m, step: 0.1 s, faces: {x: periodic}, "
                     "diffusion: {A: 4 m2/s, B: 2 m2/s, C: 1 m2/s}}\n");
    moments sums = run(m, 1, times, N_SAMPLES, 1);
    for (int i = 0; i < N_SAMPLES; ++i) {
        const double *n = sums.sum + 3 * i;
        assert_true(n[0] + n[2] == EACH && n[1] + n[2] == EACH);
        changes |= i > 1 && n[0] != first;
        first = n[0];
    }
    assert_true(changes);
    moments_free(&sums);
    saltus_model_destroy(m);
}

/* ---- time ---- */

/* Of steps of 0.1 the model takes its rates from their middles: A and B decay with these, and C and
 * D come into empty sites. */
static void check_middles(const char *model, void (*rates_at)(double t, double rates[4]))
{
    enum { RUNS = 200, SITES = 5 * 6 * 7 };
    const double until = 2.0, step = 0.1, initial[] = {2000.0, 500.0};
    double rates[4], integral[4] = {0.0};
    char text[900];
    (void)snprintf(text, sizeof text,
                   "species: {A: 2000, B: 500, C: 0, D: 0}\n%s"
                   "lattice: {size: [5, 6, 7], spacing: 1 m, step: 0.1 s, faces: periodic, "
                   "diffusion: {A: 1 m2/s, B: 1 m2/s, C: 2 m2/s, D: 0}}\n",
                   model);
    saltus_model *m = parse_frozen(text);
    moments sums = run(m, 2, &until, 1, RUNS);
    for (int k = 0; k < 20; ++k) {
        rates_at((k + 0.5) * step, rates);
        for (int i = 0; i < 4; ++i) {
            integral[i] += rates[i] * step;
        }
    }
    for (int i = 0; i < 4; ++i) {
        const char name[] = {(char)('A' + i), '\0'};
        const double left = exp(-integral[i]), come = integral[i] * SITES;
        check_mean(sums.sum[i], RUNS, i < 2 ? initial[i] * left : come,
                   i < 2 ? initial[i] * left * (1.0 - left) : come, name);
    }
    moments_free(&sums);
    saltus_model_destroy(m);
}

static void rates_of_laws(double t, double rates[4])
{
    const double wave = 1.0 + sin(5.0 * t);
    rates[0] = 0.5 * wave;
    rates[1] = t < 1.0 ? 0.0 : 0.7;
    rates[2] = 0.2 * wave;
    rates[3] = fmod(t, 0.5) < 0.2 ? 1.0 : 0.0;
}

static void rates_of_tables(double t, double rates[4])
{
    rates[0] = fmin(0.2 + 2.0 * t, 2.2);
    rates[1] = t < 1.2 ? 0.3 : 1.0;
    rates[2] = t < 1.02 ? 0.0 : 0.9;
    rates[3] = 0.0;
}

static void rates_of_rules(double t, double rates[4])
{
    const double late = fmax(0.0, t - 1.03);
    rates[0] = 2.0 * exp(-t);
    rates[1] = 0.5 * (1.0 + cos(4.0 * t));
    rates[2] = 0.5 * late * late;
    rates[3] = 0.0;
}

/* Laws of time, also through rules; one begins in the middle of the run. */
static void laws_of_time_are_those_of_middles(void **state)
{
    (void)state;
    check_middles("parameters: {wave: {observable: false}}\nrules: {wave: 1 + sin(5*time)}\n"
                  "reactions:\n"
                  "  a: A -> 0 @ 0.5*A*wave\n  b: 'B -> 0 @ B*piecewise(0, time < 1, 0.7)'\n"
                  "  c: 0 -> C @ 0.2*wave\n  d: '0 -> D @ piecewise(1, rem(time, 0.5) < 0.2, 0)'\n",
                  rates_of_laws);
}

/* Tables, also such as laws find through a rule, or with a rate rule, of which the steps that
 * integrate it pass over no entry. */
static void tables_are_those_of_middles(void **state)
{
    (void)state;
    check_middles("parameters: {s: 0, dose: {observable: false}}\n"
                  "rules: {dose: \"linear(time, 0, 0.2, 1, 2.2, inf, 0)\"}\n"
                  "rate rules: {s: \"held(time, 0, 0, 1.02, 90, 1.03, 0, inf, 0)\"}\nreactions:\n"
                  "  a: A -> 0 @ A*dose\n"
                  "  b: \"B -> 0 @ B*held(time, 0, 0.3, 1.2, 1, inf, 0)\"\n  c: 0 -> C @ s\n",
                  rates_of_tables);
}

/* Parameters with rate rules have the values of their equations at the middles, also where these
 * follow each other, the time, and a rule that bends. */
static void rate_rules_are_those_of_middles(void **state)
{
    (void)state;
    check_middles("parameters: {k: 2, x: 1, y: 0, s: 0, ramp: {observable: false}}\n"
                  "rules: {ramp: \"max(0, time - 1.03)\"}\n"
                  "rate rules: {k: -k, x: 4*y, y: -4*x, s: ramp}\nreactions:\n"
                  "  a: A -> 0 @ k*A\n  b: B -> 0 @ B*(0.5 + 0.5*x)\n  c: 0 -> C @ s\n",
                  rates_of_rules);
}

/* What is integrated does not follow samples: a run that ends later, or is sampled elsewhere, is
 * the same until there. Steps whose values do not fit, and values that are none, end a run. */
static void rate_rules_follow_the_model_alone(void **state)
{
    static const char text[] =
        "species: {A: 300}\nparameters: {k: 0.1}\nrate rules: {k: 2*k*(1 - k) + cos(7*time)}\n"
        "reactions: {a: A -> 0 @ k*k*A}\n"
        "lattice: {size: [5, 6, 7], spacing: 1 m, step: 0.01 s, diffusion: {A: 1 m2/s}}\n";
    static const char *const bad[] = {"k*k", "1/(0.5 - time)", "sqrt(0.5 - time)"};
    static const double some[] = {0.3, 1.0}, more[] = {0.03, 0.3, 0.77, 1.0, 1.9};
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments a = run(m, 1, some, 2, 9), b = run(m, 2, more, 5, 9);
    assert_true(a.sum[0] == b.sum[1] && a.sum[1] == b.sum[3] && a.sum[0] > a.sum[1]);
    assert_true(a.squares[0] == b.squares[1] && a.squares[1] == b.squares[3]);
    moments_free(&a);
    moments_free(&b);
    saltus_model_destroy(m);
    for (int i = 0; i < 4; ++i) {
        char broken[400];
        saltus_error err = {0};
        moments sums = {0};
        saltus_run_options options = saltus_run_options_default();
        const double until = i < 3 ? 2.0 : 4e5;
        options.times = &until;
        options.n_times = 1;
        (void)snprintf(broken, sizeof broken,
                       "species: {A: 3}\nparameters: {k: 1}\nrate rules: {k: %s}\n"
                       "reactions: {a: A -> 0 @ k*A}\nlattice: {size: [2, 2, 2], "
                       "spacing: 1 m, step: 0.01 s, diffusion: {A: 1 m2/s}}\n",
                       bad[i % 3]);
        m = parse_frozen(broken);
        const saltus_status status = run_model(m, "cpu", "auto", 1, &options, &sums, &err);
        assert_int_equal(status, i < 3 ? SALTUS_E_NUMERIC : SALTUS_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, i < 3 ? "'k' " : "40000000 steps"));
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

/* What decays ends within errors of integration of 0, on either side: no propensity is below 0 by
 * them, however long the run. */
static void what_decays_stays_a_propensity(void **state)
{
    const double times[] = {200.0, 3000.0};
    (void)state;
    saltus_model *m =
        parse_frozen("species: {A: 0}\nparameters: {p: 1}\nrate rules: {p: -0.1*p}\n"
                     "reactions: {make: 0 -> A @ p}\nlattice: {size: [2, 2, 2], spacing: 1 m, "
                     "step: 0.1 s, diffusion: {A: 0.05 m2/s}}\n");
    moments sums = run(m, 2, times, 2, 20);
    check_mean(sums.sum[0], 20.0, 80.0, 80.0, "A");
    assert_true(sums.sum[0] == sums.sum[1]);
    moments_free(&sums);
    saltus_model_destroy(m);
}

/* Against the integral of the law the middles err by the square of the step. */
static void shorter_steps_follow_the_law(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        char text[400];
        const double step = k == 0 ? 0.25 : 0.0625, until = 1.0, w = 2.0 * pi / 3.0;
        const double integral = 2.0 * (1.0 - cos(w * until)) / w;
        enum { RUNS = 400 };
        (void)snprintf(text, sizeof text,
                       "species: {A: 5000}\nreactions:\n  a: A -> 0 @ 2*A*sin(%.17g*time)\n"
                       "lattice: {size: [4, 4, 4], spacing: 1 m, step: %g s, diffusion: {A: 0}}\n",
                       w, step);
        saltus_model *m = parse_frozen(text);
        moments sums = run(m, 2, &until, 1, RUNS);
        /* the sum of middles of a sine is its integral times x/sin(x), x = w step/2 */
        const double x = 0.5 * w * step, left = exp(-integral * x / sin(x));
        check_mean(sums.sum[0], RUNS, 5000.0 * left, 5000.0 * left * (1.0 - left), "A");
        assert_true(fabs(left - exp(-integral)) < 0.2 * step * step);
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_of_time_are_those_of_middles),
        cmocka_unit_test(tables_are_those_of_middles),
        cmocka_unit_test(rate_rules_are_those_of_middles),
        cmocka_unit_test(rate_rules_follow_the_model_alone),
        cmocka_unit_test(what_decays_stays_a_propensity),
        cmocka_unit_test(shorter_steps_follow_the_law),
        cmocka_unit_test(walks_are_those_of_the_master_equation),
        cmocka_unit_test(distributions_are_those_of_the_master_equation),
        cmocka_unit_test(one_site_is_well_mixed),
        cmocka_unit_test(one_reaction_in_a_step),
        cmocka_unit_test(equilibria_and_sums),
        cmocka_unit_test(constant_laws_take),
        cmocka_unit_test(ranks_have_words_of_their_own),
        cmocka_unit_test(infinite_propensities_are_refused),
        cmocka_unit_test(endless_steps_are_refused),
        cmocka_unit_test(more_steps_than_there_are_numbers_are_refused),
        cmocka_unit_test(threads_and_samples_change_nothing),
        cmocka_unit_test(constant_faces_hold_a_concentration),
        cmocka_unit_test(a_bath_is_the_same_everywhere),
        cmocka_unit_test(faces_of_two_types_hold_as_many),
        cmocka_unit_test(molecules_meet_in_largest_steps),
        cmocka_unit_test(many_more_particles_find_room),
        cmocka_unit_test(many_species_keep_their_order),
        cmocka_unit_test(sums_are_kept_over_a_million_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
