/* Laws of time, events, rates and mean fields: a GPU gives the bits of the CPU. */
#include "cuda_bits.h"

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
    "lacking reactants: idle\nspecies: {A: 3, B: 0, C: 0, D: 5}\nreactions:\n"
    "  a: A -> C @ (1.2 + sin(time))*A/(A + B)\n"
    "  b: {equation: B + C -> D, law: \"1.5\"}\n"
    "  c: {equation: 2 A -> B, law: \"1.1 + sin(3*time)\"}\n  d: 0 -> A @ 2.1\n"
    "  e: {equation: D -> B, law: \"(2 + cos(time))*(0.3 + C)\"}\n"
    "  f: D -> 0 @ D*(1 + sin(time))/(D + C)\n",
};

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
    bits_alike,
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

/* One in a law that drifts, as bounds and as numbers: kernels have no functions but the model's. */
static void check_function(int op, const char *function)
{
    static const char *const in[] = {"global", "registers"};
    char text[300];
    const bool is_above_1 = op == SALTUS_OP_ACOSH || op == SALTUS_OP_ASEC || op == SALTUS_OP_ACSC ||
                            op == SALTUS_OP_ACOTH;
    const bool has_two = op == SALTUS_OP_ROOT || op == SALTUS_OP_QUOTIENT || op == SALTUS_OP_REM;
    const char *argument = op == SALTUS_OP_FACTORIAL ? "piecewise(2, time < 2, 4)"
                           : is_above_1              ? "1.1 + time/9"
                           : has_two                 ? "3, 1.3 + time"
                                                     : "0.3 + time/9";
    (void)snprintf(text, sizeof text,
                   "species: {A: 9}\nrules: {f: \"%s(%s)\"}\n"
                   "reactions:\n  a: 0 -> A @ 3*abs(f)\n  b: A -> 0 @ A*(1 + 0.1*f)^2\n",
                   function, argument);
    saltus_model *m = bits_parse(text);
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, 20, grid, N_GRID);
    for (size_t l = 0; l < 2; l += stride_of_cases()) {
        const saltus_plan_options plan = bits_plan("direct", "philox", in[l], 0);
        if (bits_hash_plan(m, "cuda", &plan, 3, 20, grid, N_GRID) != expected) {
            fail_msg("%s: other bits with layout %s", function, in[l]);
        }
        check_that_none_runs_again(m, function, "direct", in[l], 20);
    }
    saltus_model_destroy(m);
}

static void functions_have_the_bits_of_the_cpu(void **state)
{
    static const char *const functions[] = {
#define FUNCTION(name, text, n) [SALTUS_OP_##name] = (n) > 0 ? (text) : "",
        SALTUS_OP_LIST(FUNCTION)
#undef FUNCTION
    };
    (void)state;
    need_gpu("cuda");
    for (int op = SALTUS_OP_EXP; op < SALTUS_N_OPS; ++op) {
        const bool has_parts = op == SALTUS_OP_SEC || op == SALTUS_OP_CSC || op == SALTUS_OP_REM;
        if (has_parts || op % (int)stride_of_kernels() == 0) {
            check_function(op, functions[op]);
        }
    }
}

/* Likewise distributions. */
static void distributions_have_the_bits_of_the_cpu(void **state)
{
    static const char *const drawn[] = {
        "uniform(1, 2)",    "normal(1, 0.1)", "exponential(2)",      "gamma(2, 0.5)",
        "lognormal(0, 1)",  "poisson(3)",     "poisson(30, 20, 40)", "binomial(50, 0.4)",
        "binomial(9, 0.1)", "bernoulli(0.5)", "laplace(1, 0.1)",     "cauchy(0, 1, -9, 9)",
        "chisquare(3)",     "rayleigh(1)"};
    (void)state;
    need_gpu("cuda");
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i += stride_of_cases()) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 3}\nparameters: {k: 1}\nreactions:\n"
                       "  a: 0 -> A @ 5*(1 + abs(k))\n  b: A -> 0 @ 1\n"
                       "events: {e: {when: A > 9, set: {A: 4, k: \"%s\"}}}\n",
                       drawn[i]);
        saltus_model *m = bits_parse(text);
        check_bits(m, drawn[i], REGISTERS, 30);
        check_that_none_runs_again(m, drawn[i], "direct", "global", 30);
        saltus_model_destroy(m);
    }
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

/* With a name, as `events_*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_that_drift_have_the_bits_of_the_cpu),
        cmocka_unit_test(laws_that_drift_have_registers),
        cmocka_unit_test(functions_have_the_bits_of_the_cpu),
        cmocka_unit_test(distributions_have_the_bits_of_the_cpu),
        cmocka_unit_test(laws_are_none_where_the_run_ends),
        cmocka_unit_test(events_have_registers),
        cmocka_unit_test(events_have_tables),
        cmocka_unit_test(rates_that_bend_have_the_bits_of_the_cpu),
        cmocka_unit_test(rates_alone_have_the_bits_of_the_cpu),
        cmocka_unit_test(rates_beside_many_reactions_have_the_bits_of_the_cpu),
        cmocka_unit_test(reactions_at_special_times_have_the_bits_of_the_cpu),
        cmocka_unit_test(mean_fields_have_the_bits_of_the_cpu),
        cmocka_unit_test(large_mean_fields_are_the_cpus),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
