/* The CUDA backend gives the bits of the CPU, and every failure of the driver is a sentence. Runs
 * on a GPU, or, with the libraries of tests/fake found first, on a driver that plays one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/gpu.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

/* Layouts that not every model fits into. */
enum { REGISTERS = 1, SHARED = 2, WARP = 4, ALL = REGISTERS | SHARED | WARP };
static const struct {
    const char *name;
    int bit; /* 0: every model fits */
} layouts[] = {
    {"auto", 0}, {"global", 0}, {"registers", REGISTERS}, {"shared", SHARED}, {"warp", WARP}};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* The model fits into these, and is refused by the others. */
static void check_bits(saltus_model *m, const char *name, int fits, int64_t n)
{
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, n, grid, N_GRID);
    for (int l = 0; l < N_LAYOUTS; ++l) {
        const saltus_plan_options plan = bits_plan("direct", "philox", layouts[l].name, 0);
        if ((layouts[l].bit & ~fits) != 0) {
            bits_refused(m, "cuda", &plan);
        } else if (bits_hash_plan(m, "cuda", &plan, 3, n, grid, N_GRID) != expected) {
            fail_msg("%s: other bits with layout %s", name, layouts[l].name);
        }
    }
}

static void models_have_the_bits_of_the_cpu(void **state)
{
    static const int model_fits[N_BITS_MODELS] = {ALL, REGISTERS, REGISTERS, REGISTERS | SHARED};
    static const struct {
        int n, fits;
    } copies[] = {
        {1, ALL},   {2, ALL}, {3, ALL}, {4, ALL}, {12, ALL}, {16, ALL}, {17, SHARED | WARP},
        {150, WARP}};
    char name[40];
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < N_BITS_MODELS; i += (int)stride_of_cases()) {
        saltus_model *m = bits_model(i);
        (void)snprintf(name, sizeof name, "model %d", i);
        check_bits(m, name, model_fits[i], 700);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i += stride_of_cases()) {
        saltus_model *m = bits_copies(copies[i].n);
        (void)snprintf(name, sizeof name, "%d copies", copies[i].n);
        check_bits(m, name, copies[i].fits, 200);
        saltus_model_destroy(m);
    }
}

static void random_networks_have_the_bits_of_the_cpu(void **state)
{
    /* negative: without events */
    static const int sizes[] = {2, 7, 8, 9, 30, 64, 65, 600, -9, -30, -64};
    char name[40];
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_cases()) {
        saltus_model *m = bits_random((sizes[i] < 0 ? -sizes[i] : sizes[i]), sizes[i] > 0, 5 + i);
        (void)snprintf(name, sizeof name, "%d random reactions",
                       (sizes[i] < 0 ? -sizes[i] : sizes[i]));
        const saltus_tables *t = &m->network->tables;
        const int tables = t->n_laws > 0 ? 0 : sizes[i] > 0 ? SHARED : SHARED | WARP;
        check_bits(m, name, (sizes[i] <= 64 ? REGISTERS : 0) | tables, 100);
        saltus_model_destroy(m);
    }
}

/* Rules that are recorded alone fit every layout; one that a law reads does not. */
static const char recorded[] =
    "species: {A: 400, B: 0, C: 5, D: 0, E: 1}\n"
    "parameters: {k: 1, w: 0.3}\n"
    "rules: {total: A + 2*B + w*C, part: A/(A + B), both: total*part, when: total + sin(time),\n"
    "  one: A + C, first: 2*A + C, twice: 2*A + w*C, three: 2*A + 3*B + w*C, last: C + 2*A,\n"
    "  long: A + 2*B + C + A + B - 3*C + A*w + B + C*w + A + B + C + 2*A + B + 5*C + A + B + C + "
    "A\n"
    "    + B + 7*C + A - B + C%s}\n"
    "reactions: {there: A -> B @ k, back: B -> A @ 2, in: 0 -> C @ 3, out: C -> 0 @ 0.2,\n"
    "  pair: A + C -> D @ 0.01, free: D -> A + C @ 1, %s}\n";

static void recorded_rules_have_the_bits_of_the_cpu(void **state)
{
    static const struct {
        const char *rule, *reaction;
        int fits;
    } cases[] = {{"", "turn: E -> 0 @ 0.5", ALL},
                 {", half: A/2", "turn: {equation: E -> 0, law: half*E}", REGISTERS}};
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < 2; ++i) {
        char text[700];
        (void)snprintf(text, sizeof text, recorded, cases[i].rule, cases[i].reaction);
        saltus_model *m = bits_parse(text);
        check_bits(m, "recorded rules", cases[i].fits, 60);
        saltus_model_destroy(m);
    }
}

/* Laws that drift, in functions of all kinds, whose windows end for all reasons.
 */
static const char *const drifting[] = {
    "species: {A: 40, B: 3, C: 0}\nparameters: {k: 2}\n"
    "rules: {wave: 1 + sin(3*time), slow: wave*A/(10 + A), day: \"rem(time, 2) < 1\"}\n"
    "reactions:\n"
    "  a: 0 -> A @ 10*wave\n  b: A -> B @ k*slow\n  c: B -> C @ 0.3*day*B\n"
    "  d: C -> 0 @ 0.2\n  e: A + B -> C @ 0.01*A*B*exp(-time/3)\n"
    "  f: 0 -> B @ abs(cos(time))\n"
    "  g: 2 A -> B @ 0.001*time*A*(A - 1)\n  h: C -> A @ C*min(time, 3)/10\n"
    "  i: B -> A @ 0.1\n  j: 0 -> C @ A/(1 + time)\n",
    "species: {A: 30, B: 0}\nreactions:\n"
    "  a: A -> B @ A*exp(1/(100 - time))/abs(sec(time/400))\n"
    "  b: B -> A @ B^1.5*(0.3 + 0.2*sin(time)^2)/(1 + B)\n"
    "  c: B -> A @ max(0.1, cos(time))*min(B, 2 + time)\n",
    "species: {A: 5}\nreactions:\n  a: 0 -> A @ 3*(1 + sin(40*time))\n",
};

static void check_that_none_runs_again(saltus_model *m, const char *name, const char *method,
                                       const char *layout, int64_t n);

static void laws_that_drift_have_registers(void **state)
{
    char name[40], text[1000] = "species: {A: 0}\nreactions:\n";
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof drifting / sizeof *drifting; ++i) {
        saltus_model *m = bits_parse(drifting[i]);
        (void)snprintf(name, sizeof name, "drifting %d", (int)i);
        check_bits(m, name, REGISTERS, 200);
        check_that_none_runs_again(m, name, "direct", "registers", 200);
        saltus_model_destroy(m);
    }
    for (int i = 0; i < 17; ++i) { /* as many as fit, and one more */
        const size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "  r%d: 0 -> A @ %s\n", i,
                       i == 3 || i == 12 ? "1 + sin(time)" : "1");
        if (i >= 15) {
            saltus_model *m = bits_parse(text);
            check_bits(m, "many that drift", i == 15 ? REGISTERS : 0, 100);
            saltus_model_destroy(m);
        }
    }
    /* a choice that 32 bits do not decide, as in test_same_bits.c */
    saltus_model *m =
        bits_parse("species: {A: 0, B: 0, C: 0}\nreactions:\n  a: 0 -> A @ 1 + 0*time\n"
                   "  b: 0 -> B @ 1\n  c: 0 -> C @ 1\n");
    const saltus_plan_options plan = bits_plan("direct", "philox", "registers", 0);
    const double times[] = {100, 400};
    const int64_t first = 5482548 - 20;
    assert_int_equal(bits_hash_plan(m, "cuda", &plan, first, 64, times, 2),
                     bits_hash(m, "cpu:generic", "scalar", 1, first, 64, times, 2));
    saltus_model_destroy(m);
}

/* Models with events in each form of kernel: few reactions, groups that are alike, laws from
 * tables. In %s come further events. */
static const char *const with_events[] = {
    "species: {A: 'poisson(30)', B: 3, C: 0}\n"
    "parameters: {k: 'uniform(1, 3)', h: 2.5, last: 0}\nrules: {sum: A + 2*B, part: k*sum/(9 + "
    "C)}\n"
    "reactions:\n"
    "  a: 0 -> A @ 9*k/(1 + (B/8)^h)\n  b: A -> B @ part/(1 + sum)\n"
    "  c: B -> C @ piecewise(1, time < 1.5, 4)*B/9\n  d: C -> 0 @ k\n"
    "events:\n"
    "  feed: {when: sum < 25, set: {A: A + 12, k: \"k*exp(normal(0, 0.1))\"}}\n"
    "  part: {when: C > 6, delay: 0.2, persistent: false, priority: sum,\n"
    "    set: {C: \"binomial(C, 0.5)\", last: time}}\n"
    "  tick: {when: time - last > 0.75, set: {last: time, B: B + 1}}\n"
    "  moment: {when: time == 2, priority: 3, set: {A: 2*A}}\n",
    "species: {A0: 20, B0: 0, A1: 30, B1: 0, A2: 40, B2: 0, C: 0}\nparameters: {k: 1}\nreactions:\n"
    "  a0: 0 -> A0 @ 5\n  b0: A0 -> B0 @ 1\n  c0: B0 -> A0 @ 0.5\n  d0: 2 A0 -> B0 @ 0.01\n"
    "  e0: B0 -> 2 A0 @ 0.1\n  f0: A0 -> 0 @ 0.1\n  g0: B0 -> 0 @ 0.1\n  h0: A0 + B0 -> B0 @ 0.01\n"
    "  a1: 0 -> A1 @ 5\n  b1: A1 -> B1 @ 1\n  c1: B1 -> A1 @ 0.5\n  d1: 2 A1 -> B1 @ 0.01\n"
    "  e1: B1 -> 2 A1 @ 0.1\n  f1: A1 -> 0 @ 0.1\n  g1: B1 -> 0 @ 0.1\n  h1: A1 + B1 -> B1 @ 0.01\n"
    "  a2: 0 -> A2 @ 5\n  b2: A2 -> B2 @ 1\n  c2: B2 -> A2 @ 0.5\n  d2: 2 A2 -> B2 @ 0.01\n"
    "  e2: B2 -> 2 A2 @ 0.1\n  f2: A2 -> 0 @ 0.1\n  g2: B2 -> 0 @ 0.1\n  h2: A2 + B2 -> B2 @ 0.01\n"
    "  x: A0 -> C @ k*A0/(1 + A1)\n"
    "events:\n  cut: {when: A0 + B1 > 45, set: {A0: A0/2, B1: 0, k: k + 1}}\n"
    "  add: {at: 0.5, delay: 0.8, set: {A2: A2 + C}}\n",
    "species: {A: 20, B: 0, C: 30, D: 0, E: 9}\nreactions:\n"
    "  a: 0 -> A @ 5\n  b: A -> B @ 1\n  c: B -> C @ 0.5\n  d: 2 A -> B @ 0.01\n"
    "  e: B -> 2 D @ 0.1\n  f: A + E -> 0 @ 0.1\n  g: B -> E @ 0.1\n  h: A + B -> C @ 0.01\n"
    "  i: C -> D @ 0.3\n  j: D -> A @ 0.2\n  k: C + D -> E @ 0.01\n  l: 0 -> E @ 4\n"
    "  m: E -> C @ 0.05\n  n: D -> 0 @ 0.3\n  o: C -> 0 @ 0.2\n  p: 2 E -> C @ 0.02\n"
    "  q: E -> 0 @ 0.1\n"
    "events:\n  cut: {when: A + B > 30, set: {A: A/2}}\n"
    "  add: {at: 0.5, delay: 0.8, set: {D: D + C}}\n"};

static void events_have_registers(void **state)
{
    char name[40], text[2000];
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof with_events / sizeof *with_events; ++i) {
        saltus_model *m = bits_parse(with_events[i]);
        (void)snprintf(name, sizeof name, "events %d", (int)i);
        check_bits(m, name, i == 2 ? REGISTERS | SHARED : REGISTERS, 100);
        check_that_none_runs_again(m, name, "direct", "registers", 100);
        for (int g = 1; g < N_BITS_GENERATORS; ++g) {
            const bool is_wanted = !is_fake() || (i == 0 && g == 1); /* kernels take their time */
            if (is_wanted && strcmp(bits_generators[g], "mt19937") != 0) {
                const saltus_plan_options plan =
                    bits_plan("direct", bits_generators[g], "registers", 0);
                const uint64_t expected = bits_hash_rng(m, bits_generators[g], "cpu:generic",
                                                        "scalar", 1, 3, 40, grid, N_GRID);
                assert_int_equal(bits_hash_plan(m, "cuda", &plan, 3, 40, grid, N_GRID), expected);
            }
        }
        saltus_model_destroy(m);
    }
    /* more than there is room for, and what the text of a kernel cannot say */
    size_t at = 0;
    for (int i = 0; i < 33; ++i) {
        at += (size_t)snprintf(text + at, sizeof text - at, "  e%d: {at: 1, set: {A: 1}}\n", i);
    }
    static const char one[] = "species: {A: 9}\nparameters: {k: 1}\nreactions:\n  a: A -> 0 @ %s\n"
                              "events:\n%s";
    char whole[2400];
    (void)snprintf(whole, sizeof whole, one, "1", text);
    saltus_model *m = bits_parse(whole);
    check_bits(m, "33 events", 0, 40);
    saltus_model_destroy(m);
    (void)snprintf(whole, sizeof whole, one, "piecewise(1, time < A/4, 2)",
                   "  e: {at: 1, set: {A: 20}}\n");
    m = bits_parse(whole);
    check_bits(m, "a switch that follows counts", 0, 40);
    saltus_model_destroy(m);
    (void)snprintf(whole, sizeof whole, one, "1 + sin(time)/2", "  e: {at: 1, set: {A: 20}}\n");
    m = bits_parse(whole);
    check_bits(m, "drifts and events", 0, 40);
    saltus_model_destroy(m);
}

/* Laws that do the same to other numbers: of two, three and more, one or two of which an event
 * changes; in two groups; with variables that events set. */
static const char *const alike[] = {
    "species: {U: 20, V: 10}\nreactions:\n"
    "  a: 0 -> U @ 50*15^2.3/(15^2.3 + V^2.3)\n  b: U -> 0 @ 1\n"
    "  c: 0 -> V @ 40*12^2.3/(12^2.3 + U^2.3)\n  d: V -> 0 @ 1\n",
    "species: {M0: 0, M1: 0, M2: 0, P0: 0, P1: 20, P2: 9}\nparameters: {k: 20, n: "
    "2.1}\nreactions:\n"
    "  a0: 0 -> M0 @ k/(1 + (P2/9)^n)\n  a1: 0 -> M1 @ k/(1 + (P0/9)^n)\n"
    "  a2: 0 -> M2 @ k/(1 + (P1/8)^n)\n  b0: M0 -> 0 @ 1\n  b1: M1 -> 0 @ 1\n  b2: M2 -> 0 @ 1\n"
    "  c0: M0 -> M0 + P0 @ 2\n  c1: M1 -> M1 + P1 @ 2\n  c2: M2 -> M2 + P2 @ 2\n"
    "  d0: P0 -> 0 @ 1\n  d1: P1 -> 0 @ 1\n  d2: P2 -> 0 @ 1\n  e: P0 -> P1 @ 0.3\n",
    "species: {A: 20, B: 10, C: 5, D: 5}\nparameters: {k: 3, h: 1}\nreactions:\n"
    "  a: 0 -> A @ k*exp(-D/9)\n  b: A -> B @ k*exp(-B/h)*A/9\n  c: B -> C @ h*exp(-A/7)*B\n"
    "  d: C -> D @ 0.3\n  e: D -> 0 @ 0.5\n  f: 0 -> C @ k*exp(-C/8)\n  g: B -> 0 @ 0.2\n"
    "events:\n  e: {when: A > 12, set: {h: h + 2, k: 4}}\n",
    /* a last group that is like the first as far as it goes, but for its law */
    "species: {A: 90, B: 10, C: 5, D: 40, E: 3}\nreactions:\n"
    "  a: A -> 0 @ 0.1\n  b: 0 -> B @ 0.1*A\n  c: B -> 0 @ 0.2\n  d: 0 -> C @ 0.1*B\n"
    "  e: C -> 0 @ 0.3\n  f: 0 -> D @ 50\n  g: D -> 0 @ D/(1 + E)\n  h: 0 -> E @ 0.03*D\n"
    "  i: E -> 0 @ 0.4\n",
};

static void laws_that_are_alike_have_the_bits_of_the_cpu(void **state)
{
    char name[40];
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof alike / sizeof *alike; ++i) {
        saltus_model *m = bits_parse(alike[i]);
        (void)snprintf(name, sizeof name, "laws that are alike %d", (int)i);
        check_bits(m, name, REGISTERS, 200);
        check_that_none_runs_again(m, name, "direct", "registers", 200);
        saltus_model_destroy(m);
    }
}

/* Mass action of any number of reactions, in tables: in shared memory, and in global memory. */
static void events_have_tables(void **state)
{
    char text[6000];
    (void)state;
    need_gpu("cuda");
    for (int n = 3; n <= 24; n += 21) { /* 12 and 96 reactions */
        int at =
            snprintf(text, sizeof text,
                     "parameters: {last: 0, w: 1.5, k: 2}\nrules: {sum: A0 + w*B1, twice: 2*sum}\n"
                     "events:\n  low: {when: sum < 25, set: {A0: A0 + 9, last: time}}\n"
                     "  tick: {when: time - last > 0.7, set: {last: time, w: w + 0.1}}\n"
                     "  late: {when: B0 > 8, delay: 0.3, priority: twice, persistent: false,\n"
                     "    set: {A1: \"binomial(A1, 0.5)\", B0: 0}}\n"
                     "  at: {at: 1.2, delay: 0.4, set: {A2: A2 + B2}}\nspecies:\n");
        for (int i = 0; i < n; ++i) {
            at +=
                snprintf(text + at, sizeof text - (size_t)at,
                         i == 1 ? "  A%d: poisson(20)\n  B%d: 2\n" : "  A%d: 20\n  B%d: 0\n", i, i);
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "reactions:\n");
        for (int i = 0; i < n; ++i) {
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "  a%d: A%d -> B%d @ k\n  b%d: B%d -> A%d @ 1\n"
                           "  c%d: 2 A%d -> A%d @ 0.01\n  d%d: A%d + B%d -> A%d @ 0.02\n",
                           i, i, i, i, i, i, i, i, i, i, i, (i + 1) % n, i);
        }
        saltus_model *m = bits_parse(text);
        check_bits(m, "events and tables", n == 3 ? REGISTERS | SHARED : SHARED, 60);
        check_that_none_runs_again(m, "events and tables", "direct", "shared", 60);
        check_that_none_runs_again(m, "events and tables", "direct", "global", 60);
        saltus_model_destroy(m);
    }
}

/* Laws that are below 0 but for a moment, in which no candidate comes: the run ends in the first
 * window. By registers, global, and rate rules. */
static void laws_are_none_where_the_run_ends(void **state)
{
    static const struct {
        const char *text, *layout;
    } cases[] = {
        {"species: {A: 30}\nreactions: {r: {equation: A -> 0, law: 'A*sin(-time)'}}\n",
         "registers"},
        {"species: {A: 30}\nreactions: {r: {equation: A -> 0, law: 'A*sin(-time)'}}\n", "global"},
        {"species: {A: 3}\nparameters: {y: 1}\nrate rules: {y: -y}\n"
         "reactions: {r: {equation: A -> 0, law: 'A*y*(0.3 - time)'}}\n",
         "auto"},
    };
    const double end = 0.5;
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_model *m = bits_parse(cases[i].text);
        saltus_error errors[2] = {{0}};
        for (int k = 0; k < 2; ++k) {
            const saltus_plan_options plan =
                bits_plan("direct", "philox", k == 0 ? "auto" : cases[i].layout, 0);
            moments sums = {0};
            saltus_run_options run = saltus_run_options_default();
            run.times = &end;
            run.n_times = 1;
            assert_int_equal(run_plan(m, k == 0 ? "cpu" : "cuda", &plan, &run, &sums, &errors[k]),
                             SALTUS_E_NUMERIC);
            moments_free(&sums);
        }
        assert_non_null(strstr(errors[0].message, "is negative"));
        assert_string_equal(errors[0].message, errors[1].message);
        saltus_model_destroy(m);
    }
}

/* Values that are set stand in no kernel: it is compiled for the first of them alone. */
static void kernels_serve_all_values_that_are_set(void **state)
{
    static const struct {
        const char *method, *text;
    } cases[] = {
        {"direct", "species: {A: 40, B: 0}\nparameters: {k: 1, c: 3}\nreactions:\n"
                   "  r: A -> B @ k\n  b: B -> A @ c\n"},
        {"direct", "species: {A: 40, B: 0}\nparameters: {k: 1, c: 3}\nrules: {d: 2*k}\n"
                   "reactions:\n  r: A -> B @ A^2/(k + A^2)\n  b: B -> A @ d*B*(1 + sin(time))\n"},
        {"direct", "species: {A: 40, B: 0}\nparameters: {k: 1, y: 1}\nrate rules: {y: k - y}\n"
                   "reactions:\n  r: {equation: A -> B, law: y*A}\n  b: B -> A @ k\n"},
        {"tau", "species: {A: 4000, B: 0}\nparameters: {k: 1, c: 3}\nreactions:\n"
                "  r: A -> B @ k\n  b: B -> A @ c\n"},
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int k = 1; k < 4; ++k) {
            const saltus_plan_options options = bits_plan(cases[i].method, "philox", "auto", 0);
            const char *const text = cases[i].text;
            saltus_error err = {0};
            saltus_kernel_report kernel;
            saltus_backend *backend = NULL;
            saltus_plan *plan = NULL;
            saltus_model *m = NULL;
            OK(saltus_model_parse_yaml(text, strlen(text), "test", &m, &err));
            OK(saltus_model_set(m, "k", k, &err));
            OK(saltus_model_set(m, "A", 40.0 + k, &err));
            OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
            OK(saltus_backend_open("cuda", &backend, &err));
            OK(saltus_plan_create(m, backend, &options, &plan, &err));
            OK(saltus_plan_compile(plan, &kernel, &err));
            if (kernel.cached != (k > 1)) {
                fail_msg("case %d: a kernel for k = %d", (int)i, k);
            }
            assert_int_equal(bits_hash_plan(m, "cuda", &options, 3, 100, grid, N_GRID),
                             bits_hash_plan(m, "cpu", &options, 3, 100, grid, N_GRID));
            saltus_plan_destroy(plan);
            saltus_backend_close(backend);
            saltus_model_destroy(m);
        }
    }
}

/* They fit layout global alone. Samples lie in the middle of windows, launches end there. */
static void laws_that_drift_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(bits_drifting);
    check_bits(m, "laws that drift", 0, 200);
    for (int g = 1; g < N_BITS_GENERATORS; ++g) {
        const saltus_plan_options plan = bits_plan("direct", bits_generators[g], "auto", 0);
        const uint64_t expected =
            bits_hash_rng(m, bits_generators[g], "cpu:generic", "scalar", 1, 3, 100, grid, N_GRID);
        assert_int_equal(bits_hash_plan(m, "cuda", &plan, 3, 100, grid, N_GRID), expected);
    }
    static const char *const leaping[] = {"auto", "global"};
    saltus_plan_options plan = bits_plan("tau", "philox", "scalar", 1);
    const uint64_t leaps = bits_hash_plan(m, "cpu:generic", &plan, 3, 100, grid, N_GRID);
    for (int l = 0; l < 2; ++l) {
        plan = bits_plan("tau", "philox", leaping[l], 0);
        assert_int_equal(bits_hash_plan(m, "cuda", &plan, 3, 100, grid, N_GRID), leaps);
    }
    plan = bits_plan("tau", "philox", "registers", 0);
    bits_refused(m, "cuda", &plan);
    saltus_model_destroy(m);
}

/* Integrated, with steps that end where rates jump and bend. */
static void rates_that_bend_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(bits_bending);
    saltus_plan_options plan = bits_plan("direct", "philox", "scalar", 1);
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, 3, 100, grid, N_GRID);
    plan = bits_plan("direct", "philox", "global", 0);
    assert_int_equal(bits_hash_plan(m, "cuda", &plan, 3, 100, grid, N_GRID), expected);
    saltus_model_destroy(m);
}

static saltus_status forget(void *user, const saltus_block *block, void *prepared,
                            saltus_error *err)
{
    (void)user, (void)block, (void)prepared, (void)err;
    return SALTUS_OK;
}

static void count_again(void *user, const saltus_span *span)
{
    *(int *)user += strcmp(span->name, "run again") == 0;
}

/* A GPU that chooses wrongly may find its sums at odds with each other, and give up: bits would be
 * right all the same. */
static void check_that_none_runs_again(saltus_model *m, const char *name, const char *method,
                                       const char *layout, int64_t n)
{
    int again = 0;
    saltus_error err = {0};
    saltus_run_options run = saltus_run_options_default();
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = n;
    run.trace = count_again;
    run.trace_user = &again;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    const saltus_sink sink = {.deliver = forget};
    wanted.method = method;
    wanted.layout = layout;
    OK(saltus_backend_open("cuda", &backend, &err));
    OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
    OK(saltus_run(plan, &run, &sink, NULL, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    if (again > 0) {
        fail_msg("%s: %d of %d trajectories ran again on the CPU", name, again, (int)n);
    }
}

/* Models whose rates are written into the kernel: one that propensities follow; without reactions
 * that do, and with the time; without any; one that is stiff; a propensity that errors take below
 * 0 and that makes steps look stiff, reactions that idle; rules that move and that do not; more
 * reactions than registers take; triggers that move; those that do not, and times at which
 * something happens; the most components. Beside them one that keeps the tables, of one component
 * more. In %s comes what the last three differ in. */
static const char *const rates_alone[] = {
    "species: {on: 0, off: 1, X: 10}\nparameters: {m: 1, p: 1, q: 1}\n"
    "rate rules: {m: on*10 - m, p: m - p, q: p - 0.5*q}\nreactions:\n"
    "  act: {equation: off -> on, law: off*(1 + 0.1*q)}\n  deact: on -> off @ 1\n"
    "  birth: {equation: 0 -> X, law: 5 + p}\n  death: X -> 0 @ 1\n",
    "species: {A: 4, B: 0}\nparameters: {y: 2, z: 0.5}\n"
    "rate rules: {y: \"piecewise(A, A > B, -y^2)\", z: exp(-time)*sin(y) - z}\nreactions:\n"
    "  a: A -> B @ 1\n  b: B -> A @ 2\n  c: 2 A -> B @ 0.1\n",
    "parameters: {x: 1, y: 0}\n"
    "species: {A: 3}\n"
    "rate rules: {x: y, y: 2*(1 - x^2)*y - x}\n",
    "species: {A: 20}\nparameters: {x: 1, y: 0}\n"
    "rate rules: {x: A/9 - 0.04*x - 1e4*x*y, y: 0.04*x - 3e7*y^2 - 1e4*y}\n"
    "reactions:\n  a: {equation: A -> 0, law: A*x}\n  b: 0 -> A @ 3\n",
    "species: {A: 6, B: 1}\nparameters: {y: 3, z: 1}\nlacking reactants: idle\n"
    "rate rules: {y: -50*y, z: A - z}\nreactions:\n"
    "  a: {equation: A + B -> 2 B, law: y*A/(A + B)}\n  b: {equation: 0 -> A, law: 2 + z/9}\n"
    "  c: {equation: 2 B -> A, law: \"max(z, 0.1)*B/3\"}\n",
    "parameters: {V: 1, k: 0.02}\nrate rules: {V: 0.3*V/half}\n"
    "rules: {kc: k/V, total: A + B, half: 1 + total/99, late: kc*total}\n"
    "species: {A: 50, B: 30, C: 0}\nreactions:\n"
    "  bind: {equation: A + B -> C, law: kc*A*B}\n"
    "  off: {equation: C -> A + B, law: C*total/(10 + total)}\n"
    "  make: {equation: 0 -> A, law: 9*V + late}\n  lose: A -> 0 @ 0.2\n",
    "species: {A: 3, B: 4, C: 0}\nparameters: {y: 1}\nrate rules: {y: A - y}\nreactions:\n"
    "  r0: A -> B @ 1\n  r1: B -> C @ 1\n  r2: C -> A @ 1\n  r3: A -> C @ 1\n"
    "  r4: 2 A -> B @ 0.1\n  r5: B -> A @ 0.3\n  r6: C -> B @ 0.3\n  r7: B -> 2 A @ 0.1\n"
    "  r8: A -> B @ 0.1\n  r9: B -> C @ 0.1\n  r10: C -> A @ 0.1\n  r11: A -> C @ 0.1\n"
    "  r12: A -> B @ 0.2\n  r13: B -> C @ 0.2\n  r14: C -> A @ 0.2\n  r15: 2 C -> A @ 0.1\n"
    "  r16: {equation: 0 -> A, law: y/3}\n",
    "species: {X: 40, n: 0}\nparameters: {V: 1, limit: \"normal(2, 0.1, 1.5, 2.5)\", z: 0, w: 1}\n"
    "rate rules: {V: 0.7*V, z: 6*cos(6*time), w: -w}\nreactions:\n"
    "  make: {equation: 0 -> X, law: 10*V}\n  lose: X -> 0 @ 0.3\n"
    "events:\n  divide: {when: V >= limit, set: {V: V/2, X: \"binomial(X, 0.5)\",\n"
    "    limit: \"normal(2, 0.1, 1.5, 2.5)\"}}\n"
    "  top: {when: z > 0.999, set: {n: n + 1}}\n"
    "  through: {when: \"w > 0.5 and w < 0.5002\", set: {n: n + 10}}\n",
    "species: {A: 9, B: 0}\nparameters: {y: 1, k: 1, next: 0.4}\nrate rules: {y: k*A - y}\n"
    "rules: {dose: \"piecewise(3, time > 0.5 and time <= 1.5, 1)\"}\nreactions:\n"
    "  in: {equation: 0 -> A, law: dose*(2 + y)}\n  ab: A -> B @ 1\n"
    "events:\n  full: {when: B >= 6, set: {B: B - 5, k: 1.1*k}}\n"
    "  late: {when: A < 4, delay: 0.2, set: {A: A + 3}}\n"
    "  now: {at: next, set: {next: next + 0.3, y: 0}}\n",
    "species: {A: 5}\n"
    "parameters: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8}\n%s"
    "reactions:\n  in: {equation: 0 -> A, law: a + g}\n  out: A -> 0 @ 1\n"};

/* They are integrated by a kernel that is made for them, or by that of all. */
static void rates_alone_have_the_bits_of_the_cpu(void **state)
{
    static const char *const last[] = {
        "rate rules: {a: b - a, b: c - b, c: d - c, d: e, e: f - e, f: g - f, g: A - g}\n",
        "rate rules: {a: b - a, b: c, c: d, d: e - d, e: f - e, f: g, g: h - g, h: A - h}\n",
        "rules: {h: A/2}\nrate rules: {a: h - a, g: a - g, b: -h}\n"};
    const size_t n = sizeof rates_alone / sizeof *rates_alone, n_last = sizeof last / sizeof *last;
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < n + n_last - 1; ++i) {
        char text[1200], name[40];
        (void)snprintf(text, sizeof text, rates_alone[i < n ? i : n - 1],
                       i < n - 1 ? "" : last[i - (n - 1)]);
        (void)snprintf(name, sizeof name, "rates alone %d", (int)i);
        saltus_model *m = bits_parse(text);
        check_bits(m, name, 0, 100);
        check_that_none_runs_again(m, name, "direct", "global", 100);
        saltus_model_destroy(m);
    }
}

/* Beside rate rules reactions are many, and no two of their groups are alike. */
static void rates_beside_many_reactions_have_the_bits_of_the_cpu(void **state)
{
    enum { N = 160 };
    char text[60 * N + 200];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "species: {A: 9, B: 0}\nparameters: {y: 1}\n"
                                 "rate rules: {y: A - y}\nreactions:\n  in: 0 -> A @ y\n");
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < N; ++i) {
        at += (size_t)snprintf(text + at, sizeof text - at, "  r%d: %s @ %s/(%d + %s)\n", i,
                               i % 2 ? "A -> B" : "B -> A", i % 2 ? "A" : "B", i + 9,
                               i % 2 ? "A" : "B");
    }
    saltus_model *m = bits_parse(text);
    check_bits(m, "many reactions beside a rate rule", 0, 40);
    check_that_none_runs_again(m, "many reactions beside a rate rule", "direct", "global", 40);
    saltus_model_destroy(m);
}

/* Reactions that come where times are so large that a special time is theirs. */
static void reactions_at_special_times_have_the_bits_of_the_cpu(void **state)
{
    const double times[] = {9e15, 9e15 + 60};
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(
        "species: {A: 10, B: 0}\nparameters: {y: 1, p: 0}\nrate rules: {y: 0}\nreactions:\n"
        "  make: {equation: 0 -> A, law: \"piecewise(1e-17, time < 9e15, 0.7*y, time < "
        "9000000000000020, 0.2*y, time < 9000000000000024, 0.9*y, time < 9000000000000030, "
        "0.5)\"}\n"
        "  go: {equation: A -> 0, law: \"piecewise(0, time < 9e15, 0.1*y)*A\"}\n"
        "events:\n  full: {when: A > 15, set: {B: B + 1, A: A - 3}}\n"
        "  late: {at: 9000000000000036, set: {p: p + A}}\n"
        "  later: {at: 9000000000000038, set: {p: p + A}}\n");
    const saltus_plan_options scalar = bits_plan("direct", "philox", "scalar", 1),
                              global = bits_plan("direct", "philox", "global", 0);
    assert_int_equal(bits_hash_plan(m, "cuda", &global, 0, 100, times, 2),
                     bits_hash_plan(m, "cpu:generic", &scalar, 0, 100, times, 2));
    saltus_model_destroy(m);
}

/* The mean field: amounts that are not whole, laws of all kinds, rate rules, events between which
 * triggers are looked for, kinks, stiff ones. */
static const char *const mean_fields[] = {
    "species: {A: 40.25, B: 3, C: 0, D: 100}\nparameters: {k: 2}\n"
    "rules: {wave: 1 + sin(3*time), half: D/2}\nreactions:\n"
    "  a: 0 -> A @ 10*wave\n  b: A -> B @ k\n  c: 2 B -> C @ 0.01\n  d: C -> 0 @ 0.2\n"
    "  e: A + B -> C @ 0.01*A*B/(10 + half)\n  f: A + B + C -> D @ 1e-4\n"
    "events: {e: {when: C > 5, delay: 0.3, set: {A: A + 0.125, B: 1}},\n"
    "  f: {when: D < 99.5, set: {D: D + 20}}, g: {at: 1.3, set: {k: 3*k}}}\n",
    "species: {X: 1000.5, Y: 0}\nparameters: {v: 1}\nrate rules: {v: 0.3*(X/100 - v)}\n"
    "reactions: {a: X -> Y @ v, b: Y -> X @ 3e4, c: \"Y -> 0 @ max(0.1, sin(2*time))\"}\n"};

static void check_mean_field(saltus_model *m, const char *stiff, double rtol, int64_t n)
{
    static const char *const others[] = {"registers", "shared", "warp"};
    saltus_plan_options plan = bits_plan("ode", "philox", "scalar", 1);
    plan.stiff = stiff;
    plan.rtol = rtol;
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, 3, n, grid, N_GRID);
    plan.layout = "auto";
    assert_int_equal(bits_hash_plan(m, "cuda", &plan, 3, n, grid, N_GRID), expected);
    for (int l = 0; l < 3; ++l) {
        plan.layout = others[l];
        bits_refused(m, "cuda", &plan);
    }
}

static void mean_fields_have_the_bits_of_the_cpu(void **state)
{
    static const char *const stiff[] = {"auto", "never", "always"};
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < 3; ++i) {
        saltus_model *m = bits_parse(mean_fields[i % 2]);
        check_mean_field(m, stiff[i], i == 0 ? 1e-9 : 1e-6, 40);
        saltus_model_destroy(m);
    }
    saltus_model *m = bits_parse(mean_fields[1]);
    check_mean_field(m, "auto", 1e-6, 40);
    saltus_model_destroy(m);
    m = bits_copies(12);
    check_mean_field(m, "auto", 1e-6, 2);
    check_that_none_runs_again(m, "mean field", "ode", "auto", 40);
    saltus_model_destroy(m);
}

/* A thread has no room for a large Jacobian; another device has. */
static void large_mean_fields_are_the_cpus(void **state)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    const saltus_plan_options wanted = bits_plan("ode", "philox", "auto", 0);
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_copies(67);
    OK(saltus_backend_open("cuda", &backend, &err));
    assert_int_equal(saltus_plan_create(m, backend, &wanted, &plan, &err), SALTUS_E_UNSUPPORTED);
    assert_string_equal(err.message, "model 'copies' has 201 species and rate rules: a GPU "
                                     "integrates up to 200 by method ode");
    saltus_backend_close(backend);
    saltus_run_options run = saltus_run_options_default();
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = 100000;
    OK(saltus_backend_choose(m, &wanted, &run, &backend, &err));
    assert_memory_equal(saltus_backend_name(backend), "cpu", 3);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
}

/* ---- tau-leaping ---- */

/* `fits` is whether the model's state fits into registers. The hash has leaps and exact steps in
 * it, too. */
static void check_leaps(saltus_model *m, const char *name, saltus_plan_options plan, bool fits,
                        int64_t first, int64_t n)
{
    static const char *const leaping[] = {"auto", "global", "registers"};
    n = is_fake() ? n / 5 + 1 : n; /* threads that are played are slow */
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, first, n, grid, N_GRID);
    for (int l = 0; l < (fits ? 3 : 2); ++l) {
        plan.layout = leaping[l];
        if (bits_hash_plan(m, "cuda", &plan, first, n, grid, N_GRID) != expected) {
            fail_msg("tau, %s, %s: other bits with layout %s", name, plan.rng, leaping[l]);
        }
    }
    plan.layout = "shared";
    bits_refused(m, "cuda", &plan);
    plan.layout = "registers";
    if (!fits) {
        bits_refused(m, "cuda", &plan);
    }
}

static void check_tau_bits(saltus_model *m, const char *name, const char *rng, bool fits,
                           int64_t first, int64_t n)
{
    check_leaps(m, name, bits_plan("tau", rng, "scalar", 0), fits, first, n);
}

static void leaps_have_the_bits_of_the_cpu(void **state)
{
    static const int sizes[] = {2, 8, 9, 64, 65, 600, -9, -64}; /* negative: without events */
    char name[40];
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < N_BITS_MODELS; i += (int)stride_of_cases()) {
        saltus_model *m = bits_model(i);
        (void)snprintf(name, sizeof name, "model %d", i);
        check_tau_bits(m, name, "philox", i < 2, 3, 500);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_cases()) {
        saltus_model *m = bits_random(abs(sizes[i]), sizes[i] > 0, 5 + i);
        (void)snprintf(name, sizeof name, "%d random reactions", abs(sizes[i]));
        check_tau_bits(m, name, "philox", sizes[i] < 0, 0, 60);
        if (sizes[i] < 0) { /* with a tree that is padded */
            check_that_none_runs_again(m, name, "tau", "registers", 60);
            check_that_none_runs_again(m, name, "tau", "global", 60);
        }
        saltus_model_destroy(m);
    }
    for (int n = 1; n <= 20; n += 16) {
        saltus_model *m = bits_copies(n);
        check_tau_bits(m, "copies", "philox", n == 1, 0, 100);
        saltus_model_destroy(m);
    }
}

/* Large counts, long leaps among short ones, high numbers, every generator; trajectories that go on
 * over several launches. */
static void large_leaps_have_the_bits_of_the_cpu(void **state)
{
    static const char *const texts[] = {
        "species: {S1: 20000, S2: 0, S3: 0}\n"
        "reactions:\n"
        "  decay: S1 -> 0 @ 1\n  dimerise: 2 S1 -> S2 @ 0.002\n"
        "  split: S2 -> 2 S1 @ 0.5\n  convert: S2 -> S3 @ 0.04\n",
        "species: {A: 0}\nreactions: {birth: 0 -> A @ 3e8, death: A -> 0 @ 2}\n"
        "events: {e: {at: 1.1, set: {A: 7}}, f: {at: 1.3, set: {A: A + 1}}}\n",
        "species: {A: 900, B: 40}\n"
        "reactions: {a: A + B -> 2 A @ 2, b: A -> B @ 900, c: 0 -> B @ 1e4, d: B -> 0 @ 90}\n"};
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < 3; ++i) {
        saltus_model *m = bits_parse(texts[i]);
        for (int g = 0; g < N_BITS_GENERATORS; g += (int)stride_of_cases()) {
            const char *rng = bits_generators[g];
            check_tau_bits(m, texts[i], rng, i != 1 && strcmp(rng, "mt19937") != 0,
                           (INT64_C(1) << 40) + 3, i < 2 ? 200 : 5);
        }
        saltus_model_destroy(m);
    }
}

/* The generators other than Philox in two layouts. */
static void check_generators(saltus_model *m, const char *name, const char *first_layout,
                             const char *second_layout, int64_t first, int64_t n)
{
    const char *const both[] = {first_layout, second_layout};
    for (int g = 1; g < N_BITS_GENERATORS; ++g) {
        const char *rng = bits_generators[g];
        const uint64_t expected = bits_hash_rng(m, rng, "cpu", "scalar", 1, first, n, grid, N_GRID);
        for (int l = 0; l < 2 && both[l]; ++l) {
            const saltus_plan_options plan = bits_plan("direct", rng, both[l], 0);
            if (strcmp(rng, "mt19937") == 0 && strcmp(both[l], "global") != 0) {
                bits_refused(m, "cuda", &plan);
            } else if (bits_hash_plan(m, "cuda", &plan, first, n, grid, N_GRID) != expected) {
                fail_msg("%s, %s: other bits with layout %s", name, rng, both[l]);
            }
        }
    }
}

/* Threads that take one trajectory after another, high numbers, trajectories that go on over
 * several launches, without and with waits that an event makes void. */
static void generators_have_the_bits_of_the_cpu(void **state)
{
    static const char *const many =
        "species: {A: 0}\nreactions: {birth: 0 -> A @ 3000, death: A -> 0 @ 2}\n";
    static const char *const stopped =
        "events: {e: {at: 1.1, set: {A: 7}}, f: {at: 1.3, set: {A: A + 1}}}\n";
    char text[300];
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_model(0);
    check_generators(m, "model 0", "global", "registers", (INT64_C(1) << 40) + 3, 700);
    assert_true(bits_hash_rng(m, "mt19937", "cuda", "auto", 0, 0, 50, grid, N_GRID) ==
                bits_hash_rng(m, "mt19937", "cpu", "auto", 0, 0, 50, grid, N_GRID));
    saltus_model_destroy(m);
    m = bits_parse(many);
    check_generators(m, "many reactions", "registers", "shared", 5, 3);
    check_generators(m, "many reactions", "warp", NULL, 5, 3);
    saltus_model_destroy(m);
    (void)snprintf(text, sizeof text, "%s%s", many, stopped);
    m = bits_parse(text);
    check_generators(m, "many reactions and events", "global", NULL, 5, 3);
    saltus_model_destroy(m);
}

/* Groups of reactions that share code, or do not, or in part; blocks of every size. */
static void motifs_have_the_bits_of_the_cpu(void **state)
{
    static const int shapes[][3] = {{1, 5, 0}, {4, 4, 0},  {2, 8, 3}, {6, 4, 0},
                                    {5, 8, 0}, {3, 8, 17}, {7, 5, 9}, {40, 6, 30}};
    char name[60];
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += stride_of_cases()) {
        saltus_model *m = bits_motifs(shapes[i][0], shapes[i][1], shapes[i][2], 11 + i);
        (void)snprintf(name, sizeof name, "motif %d x %d + %d", shapes[i][0], shapes[i][1],
                       shapes[i][2]);
        check_bits(m, name, i < 7 ? ALL : SHARED | WARP, 150);
        saltus_model_destroy(m);
    }
}

/* n reactions of up to two molecules on n / 2 species, all groups different, and `more`, lines of
 * further reactions, after them; species B is theirs. */
static saltus_model *mixed_model(int n, const char *more)
{
    static const struct {
        const char *equation; /* of three species */
        double rate;
    } shapes[] = {{"%1$s -> %2$s", 0.4},
                  {"%1$s + %2$s -> %3$s", 0.02},
                  {"2 %1$s -> %3$s", 0.03},
                  {"%3$s -> %1$s + %2$s", 0.25},
                  {"0 -> %2$s", 3.0},
                  {"%1$s + %2$s -> %2$s", 0.01},
                  {"%1$s -> 2 %2$s + %3$s", 0.05},
                  {"%1$s + %3$s -> 2 %3$s", 0.007},
                  {"%3$s -> 0", 0.3}};
    char text[8000] = "species: {B: 0, ", equation[80];
    size_t length = strlen(text);
    for (int i = 0; i < n / 2; ++i) {
        length += (size_t)snprintf(text + length, sizeof text - length, "A%d: %d%s", i, 12 + i % 9,
                                   i + 1 < n / 2 ? ", " : "}\nreactions:\n");
    }
    for (int i = 0; i < n; ++i) {
        const size_t shape = (size_t)(5 * i + i / 9) % (sizeof shapes / sizeof *shapes);
        char names[3][16];
        for (int k = 0; k < 3; ++k) {
            (void)snprintf(names[k], sizeof names[k], "A%d", (7 * i + i / 5 + 3 * k) % (n / 2));
        }
        (void)snprintf(equation, sizeof equation, shapes[shape].equation, names[0], names[1],
                       names[2]);
        length += (size_t)snprintf(text + length, sizeof text - length, "  r%d: %s @ %g\n", i,
                                   equation, shapes[shape].rate * (1 + i % 4));
    }
    (void)snprintf(text + length, sizeof text - length, "%s", more);
    return bits_parse(text);
}

/* Groups that are all different, the last of every length; laws and changes that tables of factors
 * cannot describe. */
static void mixed_groups_have_the_bits_of_the_cpu(void **state)
{
    static const int sizes[] = {39, 17, 18, 27, 36, 45, 54, 63, 64};
    static const struct {
        const char *text;
        int fits;
    } more[] = {{"  m: A0 -> A1 @ A0 / (5 + A2)\n", REGISTERS},
                {"  m: 3 A0 -> A1 @ 0.01\n", ALL},
                {"  m: A0 -> A1 + A2 @ 0.1\n", ALL},
                {"  m: 0 -> 2097153 B @ 0.5\n", ALL}};
    char name[60];
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_cases()) {
        saltus_model *m = mixed_model(sizes[i], "");
        (void)snprintf(name, sizeof name, "%d mixed reactions", sizes[i]);
        check_bits(m, name, ALL, 60);
        check_that_none_runs_again(m, name, "direct", "registers", 60);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i += stride_of_cases()) {
        saltus_model *m = mixed_model(30, more[i].text);
        check_bits(m, more[i].text, more[i].fits, 40);
        saltus_model_destroy(m);
    }
}

/* Reactions on which nothing depends; groups of which the last is shorter. */
static void odd_shapes_have_the_bits_of_the_cpu(void **state)
{
    char text[2000] = "species: {";
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse("species: {A: 0}\nreactions: {r: 0 -> A @ 9}\n");
    check_bits(m, "a birth", ALL, 200);
    saltus_model_destroy(m);
    m = bits_parse("species: {A: 2, B: 0}\nreactions: {r: A -> A + B @ 3, s: 0 -> B @ 1}\n");
    check_bits(m, "births", ALL, 200);
    saltus_model_destroy(m);
    for (int i = 0; i < 20; ++i) {
        const size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "A%d: %d%s", i, 20 + i,
                       i < 19 ? ", " : "}\nreactions:\n");
    }
    for (int i = 0; i < 20; ++i) {
        const size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "  r%d: A%d -> 0 @ 0.%d\n", i, i, 1 + i % 4);
    }
    m = bits_parse(text);
    check_bits(m, "20 decays", ALL, 200);
    saltus_model_destroy(m);
}

/* Two groups of reactions, and nothing reacts any more long before the end. */
static void dead_ends_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse("species: {A: 5, B: 3, C: 0, D: 0}\nreactions:\n"
                                 "  a: A -> B @ 90\n  b: B -> 0 @ 90\n  c: C -> D @ 1\n"
                                 "  d: D -> C @ 1\n  e: 2 C -> D @ 1\n  f: D -> 2 C @ 1\n"
                                 "  g: C + D -> C @ 1\n  h: A + B -> 0 @ 10\n"
                                 "  i: 2 A -> 0 @ 10\n  j: 3 A -> 0 @ 10\n");
    check_bits(m, "a dead end", ALL, 300);
    saltus_model_destroy(m);
}

/* Reactions that lack what they take and do nothing then: in one group, in two, with events, with
 * laws that are no number then, each by itself or alike. */
static const char *const idle[] = {
    "reactions:\n  eat: {equation: A + 2 C -> 2 B + C, law: 3}\n  make: {equation: 0 -> A, law: "
    "2}\n"
    "  turn: B -> C @ 1\n  lose: {equation: C -> 0, law: 1.5}\n",
    "reactions:\n  eat: {equation: A + 2 C -> 2 B + C, law: 3}\n  make: {equation: 0 -> A, law: "
    "2}\n"
    "  turn: B -> C @ 1\n  lose: {equation: C -> 0, law: 1.5}\n  more: {equation: 0 -> B, law: 1}\n"
    "  pair: {equation: 2 B -> C, law: k*B}\n  back: C -> B @ 0.3\n  none: {equation: B -> 0, law: "
    "k}\n"
    "  swap: {equation: A + B -> C, law: 0.5*A}\n  last: A -> C @ 0.1\n",
    "reactions:\n  eat: {equation: A + 2 C -> 2 B + C, law: 3}\n  make: {equation: 0 -> A, law: "
    "k}\n"
    "  turn: B -> C @ 1\n  lose: {equation: C -> 0, law: 1.5}\n"
    "events:\n  cut: {when: B > 5, set: {B: 1, k: k + 0.5}}\n  e: {at: 1.3, set: {C: 0}}\n",
    "reactions:\n  eat: {equation: A + 2 C -> C, law: 5*A*C/(A + C)}\n  a: 0 -> A @ k\n"
    "  c: 0 -> C @ 1\n  drop: {equation: B -> 0, law: k*B/log(1 + B)}\n"
    "  lose: {equation: A -> B, law: \"piecewise(A, A > 0, -1)\"}\n",
    "reactions:\n  a: {equation: A -> 0, law: 4*A^1.5/(A^1.5 + A)}\n"
    "  b: {equation: B -> 0, law: 3*B^1.5/(B^1.5 + B)}\n  c: 0 -> A @ k\n  d: 0 -> B @ 1\n"
    "  e: C -> A @ 1\n"};

static void reactions_that_idle_have_the_bits_of_the_cpu(void **state)
{
    enum { N_IDLE = sizeof idle / sizeof *idle };
    char text[2000], name[40];
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < N_IDLE; ++i) {
        (void)snprintf(
            text, sizeof text,
            "lacking reactants: idle\nspecies: {A: 5, B: 3, C: 2}\nparameters: {k: 1}\n%s",
            idle[i]);
        saltus_model *m = bits_parse(text);
        (void)snprintf(name, sizeof name, "idle %d", i);
        check_bits(m, name, i < 2 ? ALL : REGISTERS, 100);
        check_that_none_runs_again(m, name, "direct", "registers", 100);
        saltus_model_destroy(m);
    }
}

/* The same in more groups, by registers and by tables: groups that are like themselves in both
 * halves; no two alike; and laws that are no number beside many others. */
static void groups_that_idle_have_the_bits_of_the_cpu(void **state)
{
    static const char head[] = "lacking reactants: idle\nparameters: {k: 1}\nspecies: {A: 5, B: 3, "
                               "C: 2, D: 0, E: 4, F: 1, G: 0, H: 2, I: 5, J: 0, K: 2, L: 3}\n";
    char text[4000], name[40];
    (void)state;
    need_gpu("cuda");
    for (int i = 0; i < 4; ++i) {
        int at = snprintf(text, sizeof text, "%s%s", head, i < 2 ? "reactions:\n" : idle[i + 1]);
        for (int n = 0; n < 6 && i < 2; ++n) { /* with i = 1 its halves have rates of their own */
            const char a = (char)('A' + 2 * n), b = (char)(a + 1);
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "  e%d: {equation: %c -> %c, law: %d}\n  b%d: %c -> %c @ 1\n"
                           "  i%d: 0 -> %c @ k\n  o%d: {equation: 2 %c -> 0, law: 0.5}\n",
                           n, a, b, i == 0 ? 3 : 1 + n, n, b, a, n, a, n, b);
        }
        for (int r = 0; r < 22 && i >= 1; ++r) {
            at += snprintf(text + at, sizeof text - (size_t)at,
                           r % 4 > 0 ? "  r%d: %c + %c -> %c @ 0.01\n"
                                     : "  r%d: {equation: %c + %c -> %c, law: 0.2}\n",
                           r, 'A' + r * 5 % 12, 'A' + (r * r + 1) % 12, 'A' + r * 7 % 11);
        }
        saltus_model *m = bits_parse(text);
        (void)snprintf(name, sizeof name, "idle groups %d", i);
        const int fits = i < 2 ? ALL : REGISTERS;
        check_bits(m, name, fits, 100);
        for (int l = 0; l < N_LAYOUTS; ++l) {
            if ((layouts[l].bit & ~fits) == 0) {
                check_that_none_runs_again(m, name, "direct", layouts[l].name, 100);
            }
        }
        saltus_model_destroy(m);
    }
}

/* Leaps that lead to where laws are negative or NaN, and their reactions would idle. */
static void leaps_may_lack_reactants(void **state)
{
    static const char text[] =
        "lacking reactants: idle\nspecies: {A: 1000, B: 5000, C: 3000}\nreactions:\n"
        "  a: {equation: 600 A -> B, law: \"piecewise(0.01*A, A > 599, %s)\"}\n"
        "  b: A -> B @ 0.5\n  c: B -> A @ 0.1\n  d: C -> 0 @ 1\n  e: 0 -> C @ 3000\n";
    saltus_plan_options plan = bits_plan("tau", "philox", "scalar", 0);
    char one[sizeof text + 10];
    (void)state;
    need_gpu("cuda");
    plan.epsilon = 0.9;
    plan.n_critical = 0;
    for (int i = 0; i < 2; ++i) {
        const char *law = i == 0 ? "-1" : "0/0";
        (void)snprintf(one, sizeof one, text, law);
        saltus_model *m = bits_parse(one);
        check_leaps(m, law, plan, true, 0, 200);
        saltus_model_destroy(m);
    }
}

/* More events wait at once than a GPU's thread has room for. */
static void what_does_not_fit_runs_on_the_cpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse("species: {A: 0, B: 0}\nreactions: {r: 0 -> A @ 100}\n"
                                 "events:\n  e: {when: sin(3.14159*A/2) > 0.5, delay: 2, "
                                 "set: {B: B + 1}}\n");
    check_bits(m, "many pending events", REGISTERS | SHARED, 40);
    saltus_model_destroy(m);
}

static void troubles_have_the_words_of_the_cpu(void **state)
{
    static const char *const texts[] = {
        "species: {A: 30}\nreactions: {r: A -> 0 @ 2*A - 9}\n",
        "species: {A: 3, B: 0}\nreactions: {r: A -> B @ 1 + B}\n",
        "species: {A: 3}\nreactions: {r: A -> 0 @ 1}\nevents: {e: {at: 1, set: {A: -1}}}\n",
        "species: {A: 10}\nparameters: {y: 1, p: 1}\nrate rules: {y: 1 - y}\nreactions:\n"
        "  make: {equation: 0 -> A, law: p}\n  go: {equation: A -> 0, law: y*A}\n"
        "events: {e: {at: 0.4, set: {p: p - 50}}}\n",
        "species: {A: 10}\nparameters: {y: 0}\nrate rules: {y: 1}\n"
        "reactions:\n  r: A -> 0 @ 1\n"
        "events: {e: {when: y > 0.3, set: {y: 0.3}}}\n",
    };
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; ++i) {
        saltus_error errors[2] = {{0}};
        saltus_model *m = i < sizeof texts / sizeof *texts
                              ? bits_parse(texts[i])
                              : mixed_model(30, "  m: A0 -> 0 @ 20 * A1\n");
        for (int k = 0; k < 2; ++k) {
            moments sums = {0};
            saltus_run_options run = saltus_run_options_default();
            run.times = grid;
            run.n_times = N_GRID;
            assert_int_equal(
                run_model(m, k == 0 ? "cpu:generic" : "cuda", "auto", 1, &run, &sums, &errors[k]),
                SALTUS_E_NUMERIC);
            moments_free(&sums);
        }
        assert_string_equal(errors[0].message, errors[1].message);
        saltus_model_destroy(m);
    }
}

/* Device "auto": a GPU for what takes long, and for what only it has. */
static void auto_takes_what_is_sooner_done(void **state)
{
    static const struct {
        int64_t runs;
        const char *layout;
        double until;
        const char *device;
    } cases[] = {{100, "auto", 1e6, "cpu"},
                 {1000000, "auto", 1e-3, "cpu"},
                 {1000000, "auto", 100, "cuda"},
                 {1000000, "lanes", 1e-3, "cpu"},
                 {1000, "shared", 1e-3, "cuda"}};
    saltus_error err = {0};
    (void)state;
    need_gpu("cuda");
    saltus_model *m =
        bits_parse("species: {A: 50}\nreactions: {b: 0 -> A @ 500, d: A -> 0 @ 10}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_backend *backend = NULL;
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        plan.layout = cases[i].layout;
        plan.n_threads = 1;
        run.n_trajectories = cases[i].runs;
        run.times = &cases[i].until;
        run.n_times = 1;
        assert_int_equal(saltus_backend_choose(m, &plan, &run, &backend, &err), SALTUS_OK);
        const char *name = saltus_backend_name(backend);
        if (strncmp(name, cases[i].device, strlen(cases[i].device)) != 0) {
            fail_msg("case %d: %s", (int)i, name);
        }
        saltus_backend_close(backend);
    }
    saltus_model_destroy(m);
}

static void several_gpus_share_the_work(void **state)
{
    (void)state;
    need_gpu("cuda:0,1");
    saltus_model *m = bits_model(1);
    const int n = is_fake() ? 300 : 2000;
    const uint64_t expected = bits_hash(m, "cpu", "auto", 0, 0, n, grid, N_GRID);
    assert_true(bits_hash(m, "cuda:0,1", "global", 0, 0, n, grid, N_GRID) == expected);
    assert_true(bits_hash(m, "cuda:1,0", "global", 0, 0, n, grid, N_GRID) == expected);
    saltus_model_destroy(m);
}

static void little_memory_makes_small_batches(void **state)
{
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_copies(17);
    const uint64_t expected = bits_hash(m, "cpu", "auto", 0, 0, 1000, grid, N_GRID);
    for (long bytes = 8 << 20; bytes <= 64 << 20; bytes *= 8) {
        char text[40];
        (void)snprintf(text, sizeof text, "%ld", bytes);
        (void)setenv("FAKE_CUDA_BYTES", text, 1);
        assert_true(bits_hash(m, "cuda", "auto", 0, 0, 1000, grid, N_GRID) == expected);
    }
    saltus_error err = {0};
    moments sums = {0};
    saltus_run_options run = saltus_run_options_default();
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = 1000;
    (void)setenv("FAKE_CUDA_BYTES", "200000", 1);
    assert_int_equal(run_model(m, "cuda", "auto", 1, &run, &sums, &err), SALTUS_E_NO_MEMORY);
    assert_non_null(strstr(err.message, "GPU 0 (Fake 0) has 0 MiB free"));
    (void)unsetenv("FAKE_CUDA_BYTES");
    moments_free(&sums);
    saltus_model_destroy(m);
}

static saltus_run_options three_hundred(void)
{
    saltus_run_options run = saltus_run_options_default();
    run.seed = 42;
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = 300;
    return run;
}

static uint64_t hash_of_samples(saltus_model *m, const char *device)
{
    saltus_error err = {0};
    moments sums = {0};
    const saltus_run_options run = three_hundred();
    OK(run_model(m, device, "auto", 1, &run, &sums, &err));
    const uint64_t hash = sums.hash;
    moments_free(&sums);
    return hash;
}

/* Whatever call fails, and however: a status and a sentence, and what was delivered is right. */
static void every_call_may_fail(void **state)
{
    static const int codes[] = {2, 702};
    (void)state;
    if (!is_fake()) {
        skip();
    }
    saltus_model *m = bits_model(0);
    const uint64_t expected = hash_of_samples(m, "cpu");
    for (size_t c = 0; c < sizeof codes / sizeof *codes; ++c) {
        int n_failed = 0, n_passed = 0;
        for (int at = 1; at < 1000; at += (int)stride_of_cases()) {
            char text[40];
            saltus_error err = {0};
            moments sums = {0};
            const saltus_run_options run = three_hundred();
            (void)snprintf(text, sizeof text, "%d:%d", at, codes[c]);
            (void)setenv("FAKE_CUDA_FAIL", text, 1);
            const saltus_status status = run_model(m, "cuda", "auto", 1, &run, &sums, &err);
            (void)unsetenv("FAKE_CUDA_FAIL");
            const uint64_t hash = sums.hash;
            moments_free(&sums);
            if (status == SALTUS_OK) { /* it went without, or there is no such call any more */
                assert_true(hash == expected);
                if (++n_passed == MANY_CALLS) {
                    break;
                }
                continue;
            }
            n_passed = 0;
            ++n_failed;
            assert_int_equal(status, codes[c] == 2 ? SALTUS_E_NO_MEMORY : SALTUS_E_DEVICE);
            assert_non_null(strstr(err.message, "CUDA error"));
        }
        assert_true(n_failed * stride_of_cases() > 5);
    }
    saltus_model_destroy(m);
}

/* Where every thread of a warp is played: all of them have what one has. */
static void warps_have_the_bits_of_the_cpu(void **state)
{
    static const int copies[] = {1, 3, 17, 150};
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; ++i) {
        saltus_model *m = bits_copies(copies[i]);
        const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, 4, grid, N_GRID);
        assert_true(bits_hash(m, "cuda", "warp", 0, 3, 4, grid, N_GRID) == expected);
        saltus_model_destroy(m);
    }
    /* threads of a warp part where something happens to some of them, and write samples together */
    saltus_model *m = bits_parse(with_events[1]);
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, 70, grid, N_GRID);
    assert_true(bits_hash(m, "cuda", "registers", 0, 3, 70, grid, N_GRID) == expected);
    saltus_model_destroy(m);
}

/* The threads of a warp that are together, whoever these are, leap or take exact steps as most of
 * them say; trajectories end, and others begin. By the direct method they write samples together,
 * of few reactions and of more; some have many samples between two events, or end, while others
 * react. */
static void votes_have_the_bits_of_the_cpu(void **state)
{
    static const char *const both[] = {"registers", "global"};
    saltus_plan_options plan = bits_plan("tau", "philox", "scalar", 0);
    char text[1500];
    (void)state;
    saltus_model *m = bits_parse("species: {A: 900, B: 40}\n"
                                 "reactions: {a: A + B -> 2 A @ 0.2, b: A -> B @ 90, c: 0 -> B @ "
                                 "1e3, d: B -> 0 @ 9}\n");
    plan.n_exact = 9;
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, 3, 70, grid, N_GRID);
    for (int l = 0; l < 2; ++l) {
        plan.layout = both[l];
        assert_true(bits_hash_plan(m, "cuda", &plan, 3, 70, grid, N_GRID) == expected);
    }
    saltus_model_destroy(m);
    for (int n = 3; n <= 18; n += 15) {
        size_t at = (size_t)snprintf(text, sizeof text,
                                     "species: {A: 9, B: 4, C: 0, D: 2, E: 0}\nreactions:\n"
                                     "  on: C -> A @ 0.4\n");
        for (int i = 0; i < n; ++i) {
            at += (size_t)snprintf(text + at, sizeof text - at, "  r%d: %c + %c -> %c @ 0.0%d\n", i,
                                   'A' + i % 5, 'A' + (i + 3) % 5, 'A' + (i + 2) % 5, 1 + i % 9);
        }
        m = bits_parse(text);
        const uint64_t cpu = bits_hash(m, "cpu:generic", "scalar", 1, 3, 70, grid, N_GRID);
        assert_true(bits_hash(m, "cuda", "registers", 0, 3, 70, grid, N_GRID) == cpu);
        saltus_model_destroy(m);
    }
}

/* With a name, as `events_*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest warps[] = {cmocka_unit_test(warps_have_the_bits_of_the_cpu),
                                       cmocka_unit_test(votes_have_the_bits_of_the_cpu)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_bits_of_the_cpu),
        cmocka_unit_test(random_networks_have_the_bits_of_the_cpu),
        cmocka_unit_test(recorded_rules_have_the_bits_of_the_cpu),
        cmocka_unit_test(laws_that_drift_have_the_bits_of_the_cpu),
        cmocka_unit_test(laws_that_drift_have_registers),
        cmocka_unit_test(laws_are_none_where_the_run_ends),
        cmocka_unit_test(kernels_serve_all_values_that_are_set),
        cmocka_unit_test(events_have_registers),
        cmocka_unit_test(events_have_tables),
        cmocka_unit_test(laws_that_are_alike_have_the_bits_of_the_cpu),
        cmocka_unit_test(rates_that_bend_have_the_bits_of_the_cpu),
        cmocka_unit_test(rates_alone_have_the_bits_of_the_cpu),
        cmocka_unit_test(rates_beside_many_reactions_have_the_bits_of_the_cpu),
        cmocka_unit_test(reactions_at_special_times_have_the_bits_of_the_cpu),
        cmocka_unit_test(mean_fields_have_the_bits_of_the_cpu),
        cmocka_unit_test(large_mean_fields_are_the_cpus),
        cmocka_unit_test(leaps_have_the_bits_of_the_cpu),
        cmocka_unit_test(large_leaps_have_the_bits_of_the_cpu),
        cmocka_unit_test(generators_have_the_bits_of_the_cpu),
        cmocka_unit_test(motifs_have_the_bits_of_the_cpu),
        cmocka_unit_test(mixed_groups_have_the_bits_of_the_cpu),
        cmocka_unit_test(odd_shapes_have_the_bits_of_the_cpu),
        cmocka_unit_test(dead_ends_have_the_bits_of_the_cpu),
        cmocka_unit_test(reactions_that_idle_have_the_bits_of_the_cpu),
        cmocka_unit_test(groups_that_idle_have_the_bits_of_the_cpu),
        cmocka_unit_test(leaps_may_lack_reactants),
        cmocka_unit_test(what_does_not_fit_runs_on_the_cpu),
        cmocka_unit_test(troubles_have_the_words_of_the_cpu),
        cmocka_unit_test(auto_takes_what_is_sooner_done),
        cmocka_unit_test(several_gpus_share_the_work),
        cmocka_unit_test(little_memory_makes_small_batches),
        cmocka_unit_test(every_call_may_fail),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return plays_warps() ? cmocka_run_group_tests(warps, set_up, NULL)
                         : cmocka_run_group_tests(tests, set_up, NULL);
}
