/* The next-subvolume method: exact calculations within 5 standard errors, agreement with steps that
 * become short, the direct method where there is one site; nothing is lost; bits depend on no
 * thread and no sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/rdme.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static moments run(const saltus_model *m, const char *method, const double *times, int n_times,
                   int64_t n)
{
    return rdme_run(m, method, 2, times, n_times, n);
}

/* Of column c at point p, of counts that are sums of independent parts: Poisson, or nearly so. */
static void check_poisson(const moments *x, int p, int c, double mean, const char *what)
{
    const double n = (double)x->n, sum = x->sum[p * x->n_counts + c];
    const double variance = x->squares[p * x->n_counts + c] / n - sum / n * (sum / n);
    check_mean(sum, n, mean, mean, what);
    if (fabs(variance / mean - 1.0) > 5.0 * sqrt((2.0 + 1.0 / mean) / n)) {
        fail_msg("%s: a variance of %g, not %g", what, variance, mean);
    }
}

/* ---- diffusion ---- */

enum { LENGTH = 9, PARTICLES = 1000, RUNS = 20, N_STEPS = 1000 };

/* A particle on a line: it goes from i to i + 1 and back at rate[i] (from the last to the first one
 * with `ring`), out of either end, and vanishes in every site at a rate. */
typedef struct line {
    double up[LENGTH], down[LENGTH], vanish[LENGTH];
} line;

/* d p / dt */
static void slope(const line *l, const double *p, double *d)
{
    for (int i = 0; i < LENGTH; ++i) {
        d[i] = -(l->up[i] + l->down[i] + l->vanish[i]) * p[i];
    }
    for (int i = 0; i < LENGTH; ++i) {
        if (i + 1 < LENGTH) {
            d[i + 1] += l->up[i] * p[i];
        }
        if (i > 0) {
            d[i - 1] += l->down[i] * p[i];
        }
    }
}

/* The chance that it is still there at a time: the master equation, by Runge and Kutta. */
static double left_of(const line *l, int start, double time)
{
    const double h = time / N_STEPS;
    double p[LENGTH] = {0}, left = 0.0;
    p[start] = 1.0;
    for (int step = 0; step < N_STEPS; ++step) {
        double k[4][LENGTH], q[LENGTH];
        for (int s = 0; s < 4; ++s) {
            const double part = s == 3 ? h : s > 0 ? 0.5 * h : 0.0;
            for (int i = 0; i < LENGTH; ++i) {
                q[i] = p[i] + (s > 0 ? part * k[s - 1][i] : 0.0);
            }
            slope(l, q, k[s]);
        }
        for (int i = 0; i < LENGTH; ++i) {
            p[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
        }
    }
    for (int i = 0; i < LENGTH; ++i) {
        left += p[i];
    }
    return left;
}

static void check_left(const moments *x, int p, const line *l, int start, double time,
                       const char *what)
{
    const double left = left_of(l, start, time);
    check_mean(x->sum[p * x->n_counts], (double)x->n, PARTICLES * left,
               PARTICLES * left * (1.0 - left), what);
}

/* Along every axis, between faces of which none, one or both absorb: what is left. */
static void walks_are_those_of_the_master_equation(void **state)
{
    const double times[] = {1.5, 12.0};
    (void)state;
    for (int axis = 0; axis < 3; ++axis) {
        for (int kind = 0; kind < 3; ++kind) {
            line l = {0};
            for (int i = 0; i < LENGTH; ++i) {
                l.up[i] = i + 1 < LENGTH || kind > 1 ? 0.3 : 0.0;
                l.down[i] = i > 0 || kind > 0 ? 0.3 : 0.0;
            }
            saltus_model *m = rdme_line(axis, kind, "2 m", 1.2, PARTICLES);
            moments x = run(m, "nsm", times, 2, RUNS);
            check_left(&x, 0, &l, 3, times[0], "early");
            check_left(&x, 1, &l, 3, times[1], "late");
            moments_free(&x);
            saltus_model_destroy(m);
        }
    }
}

/* Constants that differ by type and by pair of types, with a layer that lets nothing through in the
 * last case: where particles are shows by a decay in one layer. */
static void types_are_those_of_the_master_equation(void **state)
{
    static const char *const diffusion[] = {
        "{left: 0.2 m2/s, right: 0.6 m2/s, last: 0.6 m2/s}",
        "{left: 0.2 m2/s, right: 0.6 m2/s, last: 0.6 m2/s, left-right: 0.9 m2/s}",
        "{left: 0.2 m2/s, right: 0.6 m2/s, last: 0.6 m2/s, left-right: 0}"};
    static const double between[] = {0.2, 0.9, 0.0};
    const double times[] = {4.0, 15.0};
    (void)state;
    for (int kind = 0; kind < 3; ++kind) {
        char text[700];
        line l = {0};
        (void)snprintf(text, sizeof text,
                       "species: {A: , B: 0}\nreactions: {r: A -> B}\nlattice:\n  size: [9, 3, 3]\n"
                       "  spacing: 1 m\n  step: 0.1 s\n  faces: {y: periodic, z: periodic}\n"
                       "  sites:\n    left:\n    right: {box: {from: [4 sites, 0, 0], to: [9 "
                       "sites, 3 sites, 3 sites]}}\n"
                       "    last: {box: {from: [8 sites, 0, 0], to: [9 sites, 3 sites, 3 sites]}}\n"
                       "  diffusion: {A: %s, B: 0.1 m2/s}\n"
                       "  place: {A: {sites: [[%d, 1, 1, %d]]}}\n"
                       "  reactions: {r: {last: 0.5 1/s}}\n",
                       diffusion[kind], kind == 2 ? 5 : 2, PARTICLES);
        for (int i = 0; i < LENGTH; ++i) {
            const double up = i < 3 ? 0.2 : i == 3 ? between[kind] : 0.6;
            l.up[i] = i + 1 < LENGTH ? up : 0.0;
            l.down[i] = i > 4 ? 0.6 : i == 4 ? between[kind] : i > 0 ? 0.2 : 0.0;
        }
        l.vanish[LENGTH - 1] = 0.5;
        saltus_model *m = parse_frozen(text);
        moments x = run(m, "nsm", times, 2, RUNS);
        check_left(&x, 0, &l, kind == 2 ? 5 : 2, times[0], text);
        check_left(&x, 1, &l, kind == 2 ? 5 : 2, times[1], text);
        assert_true(x.sum[2] + x.sum[3] == (double)RUNS * PARTICLES);
        moments_free(&x);
        saltus_model_destroy(m);
    }
}

/* Particles that are mostly alone in their sites: the usual event. */
static void lone_particles_find_the_sink(void **state)
{
    static const char text[] =
        "species: {A: , B: 0}\nreactions: {r: A -> B}\nlattice:\n  size: [9, 30, 30]\n"
        "  spacing: 1 m\n  step: 0.1 s\n  faces: {x: reflecting, y: periodic, z: periodic}\n"
        "  sites:\n    rest:\n    start: {box: {from: [4 sites, 0, 0], to: [5 sites, 30 sites, 30 "
        "sites]}}\n"
        "    sink: {box: {from: [7 sites, 0, 0], to: [9 sites, 30 sites, 30 sites]}}\n"
        "  diffusion: {A: 0.4 m2/s, B: 0}\n  place: {A: {start: 200}}\n"
        "  reactions: {r: {sink: 0.3 1/s}}\n";
    const double times[] = {5.0, 30.0};
    line l = {0};
    (void)state;
    for (int i = 0; i < LENGTH; ++i) {
        l.up[i] = i + 1 < LENGTH ? 0.4 : 0.0;
        l.down[i] = i > 0 ? 0.4 : 0.0;
        l.vanish[i] = i >= 7 ? 0.3 : 0.0;
    }
    saltus_model *m = parse_frozen(text);
    moments x = run(m, "nsm", times, 2, 200);
    for (int p = 0; p < 2; ++p) {
        const double left = left_of(&l, 4, times[p]);
        check_mean(x.sum[2 * p], 200.0, 200.0 * left, 200.0 * left * (1.0 - left), "A");
    }
    moments_free(&x);
    saltus_model_destroy(m);
}

/* Beyond a face a reservoir: sites hold Poisson numbers, with a mean that is linear between two. */
static void reservoirs_make_poisson_numbers(void **state)
{
    static const char text[] =
        "species: {A: 0, B: 0}\nlattice:\n  size: [4, 5, 6]\n  spacing: 2 m\n  step: 0.1 s\n"
        "  sites:\n    rest:\n    half: {box: {from: [0, 0, 0], to: [4 sites, 2 sites, 6 sites]}}\n"
        "  faces: {x: periodic, y-: {A: 0.8}, y+: {A: 0.2, B: 0.5}, z: reflecting}\n"
        "  diffusion: {A: {rest: 4 m2/s, half: 4 m2/s, rest-half: 4 m2/s}, B: {rest: 6 m2/s}}\n";
    const double times[] = {20.0, 30.0};
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, "nsm", times, 2, 400);
    check_poisson(&x, 0, 0, 0.5 * 120.0, "A between two reservoirs");
    check_poisson(&x, 1, 0, 0.5 * 120.0, "A between two reservoirs");
    check_poisson(&x, 1, 1, 0.5 * 72.0, "B in half of the box"); /* it does not leave it */
    moments_free(&x);
    saltus_model_destroy(m);
}

/* ---- reactions ---- */

static void one_site_is_well_mixed(void **state)
{
    (void)state;
    rdme_one_site_is_well_mixed("nsm", "  come: 0 -> A @ 0.7\n  shy: 0 -> C @ 2/(1 + C + A)\n",
                                "0.1 s");
}

static void equilibria_and_sums(void **state)
{
    (void)state;
    rdme_equilibria_and_sums("nsm");
}

/* Two molecules at most react in a box in which they meet by chance: P + Q <-> R with one of each
 * is bound with probability k / (k + sites). */
static void pairs_meet_by_detailed_balance(void **state)
{
    static const char text[] =
        "species: {P: 1, Q: 1, R: 0}\nreactions: {bind: P + Q -> R @ 40, part: R -> P + Q @ 2}\n"
        "lattice:\n  size: [4, 4, 2]\n  spacing: 1 m\n  step: 0.01 s\n"
        "  diffusion: {P: 3 m2/s, Q: 1 m2/s, R: 2 m2/s}\n";
    const double times[] = {40.0};
    const int64_t n = scaled(4000);
    const double bound = 20.0 / (20.0 + 32.0);
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, "nsm", times, 1, n);
    check_mean(x.sum[2], (double)n, bound, bound * (1.0 - bound), "R");
    moments_free(&x);
    saltus_model_destroy(m);
}

/* A law that is not 0 in an empty site: birth at b / (1 + n), death at n, in sites that are shut
 * off: n has the weights b^n / (n! n!). */
static void laws_work_in_empty_sites(void **state)
{
    static const char text[] =
        "species: {A: 0}\nreactions: {come: 0 -> A @ 3/(1 + A), go: A -> 0 @ 1}\nlattice:\n"
        "  size: [4, 4, 4]\n  spacing: 1 m\n  step: 0.1 s\n  diffusion: {A: 0}\n";
    const double times[] = {20.0};
    double weight = 1.0, sum = 0.0, mean = 0.0, square = 0.0;
    (void)state;
    for (int i = 0; i < 40; ++i) {
        sum += weight;
        mean += weight * i;
        square += weight * i * i;
        weight *= 3.0 / ((double)(i + 1) * (i + 1));
    }
    mean /= sum;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, "nsm", times, 1, 300);
    check_mean(x.sum[0], 300.0 * 64.0, mean, square / sum - mean * mean, "A");
    moments_free(&x);
    saltus_model_destroy(m);
}

/* ---- beside multiparticle diffusion ---- */

/* Both begin alike: at once, what is in a layer turns into what does not move, in either method. */
static void both_methods_begin_alike(void **state)
{
    static const char text[] =
        "species: {A: , B: 0, C: 20}\nreactions: {r: A -> B, s: C -> B}\nlattice:\n"
        "  size: [7, 6, 5]\n  spacing: 1 m\n  step: 0.1 s\n"
        "  sites:\n    rest:\n    layer: {box: {from: [2 sites, 0, 0], to: [4 sites, 6 sites, 5 "
        "sites]}}\n"
        "  diffusion: {A: 0, B: 0, C: 0}\n"
        "  place: {A: {layer: 250, rest: 50}, C: [rest, layer]}\n"
        "  reactions: {r: {layer: 1e6 1/s}, s: {layer: 1e6 1/s}}\n";
    const double times[] = {0.1};
    (void)state;
    saltus_model *m = parse_frozen(text);
    moments x = run(m, "mpd", times, 1, 40), y = run(m, "nsm", times, 1, 40);
    assert_true(x.hash == y.hash && x.squares[1] == y.squares[1] && x.sum[1] > 0.0);
    moments_free(&x);
    moments_free(&y);
    saltus_model_destroy(m);
}

enum { SHORT_RUNS = 1500 };

/* A + B -> C, as fast as they meet: C's mean by a method, and its standard error. */
static double mean_by(const char *method, double step, double *error)
{
    char text[500];
    const double times[] = {0.8}, n = SHORT_RUNS;
    (void)snprintf(text, sizeof text,
                   "species: {A: 60, B: 60, C: 0}\nreactions: {bind: A + B -> C @ 60}\nlattice:\n"
                   "  size: [6, 6, 6]\n  spacing: 1 m\n  step: %g s\n"
                   "  diffusion: {A: 1 m2/s, B: 1 m2/s, C: 0}\n",
                   step);
    saltus_model *m = parse_frozen(text);
    moments x = run(m, method, times, 1, SHORT_RUNS);
    const double mean = x.sum[2] / n;
    *error = sqrt((x.squares[2] / n - mean * mean) / n);
    moments_free(&x);
    saltus_model_destroy(m);
    return mean;
}

static void short_steps_come_to_the_same(void **state)
{
    static const double steps[] = {0.4, 0.1, 0.004};
    double off[3], error, own;
    (void)state;
    const double exact = mean_by("nsm", 0.1, &error);
    for (int i = 0; i < 3; ++i) {
        off[i] = fabs(mean_by("mpd", steps[i], &own) - exact);
    }
    error = sqrt(error * error + own * own);
    assert_true(off[0] > 20.0 * error);
    assert_true(off[1] > 5.0 * error && off[1] < 0.4 * off[0]);
    assert_true(off[2] < 5.0 * error);
}

/* Contents at time 0, in whatever order, and how many there are later. */
typedef struct look {
    uint64_t hash;
    int64_t later[3], samples[3];
} look;

static saltus_status see_frame(void *user, const saltus_frame *f, saltus_error *err)
{
    look *l = user;
    (void)err;
    for (int64_t i = 0; i < f->n; ++i) {
        const uint64_t what = (uint64_t)(f->trajectory << 40 | f->site[i] << 8 | f->species[i]);
        if (f->number == 0) {
            l->hash += (what + 1) * 0x9E3779B97F4A7C15u * (uint64_t)f->count[i];
        } else {
            l->later[f->species[i]] += f->count[i];
        }
    }
    return SALTUS_OK;
}

static saltus_status see_block(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    look *l = user;
    (void)prepared;
    (void)err;
    for (int64_t i = 0; i < b->n_trajectories * b->n_points * b->n_counts; ++i) {
        l->samples[i % b->n_counts] += b->counts[i];
    }
    return SALTUS_OK;
}

/* Frames of both methods: the same at time 0, later as many particles as samples tell. */
static void frames_begin_alike_and_are_complete(void **state)
{
    static const char text[] =
        "species: {A: 300, B: 200, C: 0}\n"
        "reactions: {r: A + B -> C @ 3, come: 0 -> A @ 1/(1 + A)}\nlattice:\n"
        "  size: [7, 6, 5]\n  spacing: 1 m\n  step: 0.1 s\n  faces: {x+: absorbing}\n"
        "  diffusion: {A: 1 m2/s, B: 2 m2/s, C: 0}\n"
        "  place: {A: space}\n";
    static const double frames[] = {0.0, 0.5}, times[] = {0.5};
    static const char *const methods[] = {"mpd", "nsm"};
    look l[2] = {0};
    (void)state;
    saltus_model *m = parse_frozen(text);
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        saltus_backend *cpu = NULL;
        saltus_plan *plan = NULL;
        saltus_plan_options p = saltus_plan_options_default();
        saltus_run_options o = saltus_run_options_default();
        const saltus_sink sink = {.user = &l[i], .deliver = see_block, .frame = see_frame};
        p.method = methods[i];
        p.n_threads = 1;
        o.times = times;
        o.n_times = 1;
        o.frame_times = frames;
        o.n_frames = 2;
        o.n_trajectories = 20;
        OK(saltus_backend_open("cpu", &cpu, &err));
        OK(saltus_plan_create(m, cpu, &p, &plan, &err));
        OK(saltus_run(plan, &o, &sink, NULL, &err));
        assert_memory_equal(l[i].later, l[i].samples, sizeof l[i].later);
        saltus_plan_destroy(plan);
        saltus_backend_close(cpu);
    }
    assert_true(l[0].hash == l[1].hash && l[0].hash != 0 && l[1].later[2] > 0);
    saltus_model_destroy(m);
}

static void constant_laws_take(void **state)
{
    (void)state;
    rdme_constant_laws_take("nsm");
}

static void infinite_propensities_are_refused(void **state)
{
    (void)state;
    rdme_infinite_propensities_are_refused("nsm");
}

/* ---- bits ---- */

static void threads_and_samples_change_nothing(void **state)
{
    (void)state;
    rdme_threads_and_samples_change_nothing("nsm");
}

/* ---- what cannot be ---- */

static void what_cannot_be_is_refused(void **state)
{
    static const char lattice[] = "lattice: {size: [3, 3, 3], spacing: 1 m, step: 0.1 s, "
                                  "diffusion: {A: 1 m2/s}}\n";
    static const struct {
        const char *reaction, *lattice, *method, *why;
        saltus_status status;
    } cases[] = {
        {"A -> 0 @ 1", lattice, "nsm", NULL, SALTUS_OK},
        {"A -> 0 @ 1", "", "nsm", "is for models with a lattice", SALTUS_E_INVALID},
        {"A -> 0 @ 1", "", "mpd", "is for models with a lattice", SALTUS_E_INVALID},
        {"A -> 0 @ 1", lattice, "tau", "auto, mpd and nsm", SALTUS_E_INVALID},
        {"0 -> A @ A - 5", lattice, "nsm", "-5 in an empty site", SALTUS_E_NUMERIC},
        {"0 -> A @ A*(1.5 - A)", lattice, "nsm", "has the propensity -", SALTUS_E_NUMERIC},
        {"0 -> A @ A*(0.5 - A)", lattice, "nsm", "has the propensity -", SALTUS_E_NUMERIC},
        {"A + A -> 0 @ A", lattice, "nsm", "reaction 'r' would leave -1 of 'A'", SALTUS_E_NUMERIC},
    };
    static const double times[] = {50.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500];
        saltus_error err = {0};
        moments sums = {0};
        (void)snprintf(text, sizeof text, "species: {A: 9}\nreactions: {'r': '%s'}\n%s",
                       cases[i].reaction, cases[i].lattice);
        saltus_model *m = parse_frozen(text);
        const saltus_status status =
            rdme_try("cpu", m, cases[i].method, 1, times, 1, 4, &sums, &err);
        if (status != cases[i].status || (cases[i].why && !strstr(err.message, cases[i].why))) {
            fail_msg("%s by %s: %d, %s", text, cases[i].method, (int)status, err.message);
        }
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

/* Rates that add up to none: known before a run, or found in an empty site as it begins. */
static void endless_inflow_is_refused(void **state)
{
    static const struct {
        const char *reactions, *diffusion, *why;
        bool is_planned;
    } cases[] = {
        {"{in: 0 -> A @ 1e308}", "1 m2/s", "reaction 'in' happens inf times a second", false},
        {"{in: 0 -> A @ 2e306, more: 0 -> A @ 2e306}", "1 m2/s",
         "reaction 'more' happens 1.28e+308 times a second", false},
        {"{}", "1e300 m2/s", "a particle of 'A' comes in over face z- inf times a second", false},
        {"{in: {equation: 0 -> A, law: 1e307/(1 + A)}}", "1 m2/s",
         "reaction 'in' happens inf times a second", true},
        {"{in: 0 -> A @ 1e306, law: {equation: 0 -> A, law: 2e306/(1 + A)}}", "1 m2/s",
         "reaction 'law' happens 1.28e+308 times a second", true},
    };
    static const double times[] = {1.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500];
        saltus_error err = {0};
        saltus_plan *plan = NULL;
        saltus_backend *cpu = NULL;
        moments sums = {0};
        saltus_plan_options options = saltus_plan_options_default();
        options.method = "nsm";
        (void)snprintf(text, sizeof text,
                       "species: {A: 1}\nreactions: %s\nlattice: {size: [4, 4, 4], spacing: 1 m, "
                       "step: largest, diffusion: {A: %s}, faces: {z-: {A: 2e9}}}\n",
                       cases[i].reactions, cases[i].diffusion);
        saltus_model *m = parse_frozen(text);
        OK(saltus_backend_open("cpu", &cpu, &err));
        saltus_status status = saltus_plan_create(m, cpu, &options, &plan, &err);
        if (cases[i].is_planned) {
            assert_int_equal(status, SALTUS_OK);
            status = rdme_try("cpu", m, "nsm", 1, times, 1, 1, &sums, &err);
        }
        if (status != SALTUS_E_UNSUPPORTED || !strstr(err.message, cases[i].why)) {
            fail_msg("%s: %d, %s", text, (int)status, err.message);
        }
        moments_free(&sums);
        saltus_plan_destroy(plan);
        saltus_backend_close(cpu);
        saltus_model_destroy(m);
    }
}

/* There are no steps, so what a step would make may be too little for a double, or too much. */
static void steps_change_nothing(void **state)
{
    static const char *const steps[] = {"1 s", "1e-300 s", "1e-315 s", "1e11 s"};
    static const double times[] = {1e10};
    moments x[4];
    (void)state;
    for (int i = 0; i < 4; ++i) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "species: {A: 0, B: 0}\nreactions: {in: 0 -> B @ 1e-10}\n"
                       "lattice: {size: [4, 4, 4], spacing: 1 m, step: %s, "
                       "diffusion: {A: 1e-12 m2/s, B: 0}, faces: {z-: {A: 100}}}\n",
                       steps[i]);
        saltus_model *m = parse_frozen(text);
        x[i] = run(m, "nsm", times, 1, 20);
        saltus_model_destroy(m);
    }
    check_poisson(&x[0], 0, 1, 64.0, "B");
    assert_true(x[0].sum[0] > 100.0);
    for (int i = 3; i >= 0; --i) {
        assert_true(x[i].hash == x[0].hash && x[i].sum[1] == x[0].sum[1]);
        moments_free(&x[i]);
    }
}

/* Sites are told as models place them. */
static void failures_name_site_and_time(void **state)
{
    static const char text[] =
        "species: {A: }\nreactions: {r: 'A + A -> 0 @ A'}\n"
        "lattice: {size: [3, 2, 5], spacing: 1 m, step: 0.1 s, diffusion: {A: 0}, "
        "place: {A: {sites: [[2, 1, 3, 1]]}}}\n";
    static const char *const methods[] = {"mpd", "nsm"};
    static const double times[] = {50.0};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        moments sums = {0};
        saltus_model *m = parse_frozen(text);
        assert_int_equal(rdme_try("cpu", m, methods[i], 1, times, 1, 1, &sums, &err),
                         SALTUS_E_NUMERIC);
        if (!strstr(err.message, "trajectory 0, time ") || !strstr(err.message, "site (2, 1, 3)")) {
            fail_msg("%s: %s", methods[i], err.message);
        }
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_are_those_of_the_master_equation),
        cmocka_unit_test(types_are_those_of_the_master_equation),
        cmocka_unit_test(lone_particles_find_the_sink),
        cmocka_unit_test(reservoirs_make_poisson_numbers),
        cmocka_unit_test(one_site_is_well_mixed),
        cmocka_unit_test(equilibria_and_sums),
        cmocka_unit_test(pairs_meet_by_detailed_balance),
        cmocka_unit_test(laws_work_in_empty_sites),
        cmocka_unit_test(both_methods_begin_alike),
        cmocka_unit_test(short_steps_come_to_the_same),
        cmocka_unit_test(frames_begin_alike_and_are_complete),
        cmocka_unit_test(constant_laws_take),
        cmocka_unit_test(infinite_propensities_are_refused),
        cmocka_unit_test(threads_and_samples_change_nothing),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(endless_inflow_is_refused),
        cmocka_unit_test(steps_change_nothing),
        cmocka_unit_test(failures_name_site_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
