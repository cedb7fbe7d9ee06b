/* Reactions that hang on counts alone, by the direct method and by leaps: a GPU gives the bits of
 * the CPU. */
#include "cuda_bits.h"

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
    for (int i = 0; i < N_BITS_MODELS; i += (int)stride_of_kernels()) {
        saltus_model *m = bits_model(i);
        (void)snprintf(name, sizeof name, "model %d", i);
        check_bits(m, name, model_fits[i], 700);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i += stride_of_kernels()) {
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
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_kernels()) {
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

/* ---- tau-leaping ---- */

/* `fits` is whether the model's state fits into registers. The hash has leaps and exact steps in
 * it, too. */
static void check_leaps(saltus_model *m, const char *name, saltus_plan_options plan, bool fits,
                        int64_t first, int64_t n)
{
    static const char *const leaping[] = {"auto", "global", "registers"};
    n = is_fake() ? n / 5 + 1 : n; /* threads that are played are slow */
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, first, n, grid, N_GRID);
    fits = fits && m->network->tables.n_bending == 0;
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
    for (int i = 0; i < N_BITS_MODELS; i += (int)stride_of_kernels()) {
        saltus_model *m = bits_model(i);
        (void)snprintf(name, sizeof name, "model %d", i);
        check_tau_bits(m, name, "philox", i < 2, 3, 500);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_kernels()) {
        saltus_model *m = bits_random(abs(sizes[i]), sizes[i] > 0, 5 + i);
        (void)snprintf(name, sizeof name, "%d random reactions", abs(sizes[i]));
        check_tau_bits(m, name, "philox", sizes[i] < 0, 0, 60);
        if (sizes[i] < 0) { /* with a tree that is padded */
            check_that_none_runs_again(m, name, "tau", "global", 60);
        }
        if (sizes[i] < 0 && m->network->tables.n_bending == 0) {
            check_that_none_runs_again(m, name, "tau", "registers", 60);
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
        for (int g = 0; g < N_BITS_GENERATORS; g += (int)stride_of_kernels()) {
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
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += stride_of_kernels()) {
        saltus_model *m = bits_motifs(shapes[i][0], shapes[i][1], shapes[i][2], 11 + i);
        (void)snprintf(name, sizeof name, "motif %d x %d + %d", shapes[i][0], shapes[i][1],
                       shapes[i][2]);
        check_bits(m, name, i < 7 ? ALL : SHARED | WARP, 150);
        saltus_model_destroy(m);
    }
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
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += stride_of_kernels()) {
        saltus_model *m = bits_mixed(sizes[i], "");
        (void)snprintf(name, sizeof name, "%d mixed reactions", sizes[i]);
        check_bits(m, name, ALL, 60);
        check_that_none_runs_again(m, name, "direct", "registers", 60);
        saltus_model_destroy(m);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i += stride_of_kernels()) {
        saltus_model *m = bits_mixed(30, more[i].text);
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

/* Laws that bend, of few and of many molecules, and critical ones among them; triggers. */
static void leaps_follow_laws_that_bend(void **state)
{
    static const char text[] =
        "species: {X: 1000, Y: 0, Z: 500}\nrules: {above: \"max(0, X - 1000)\"}\nreactions:\n"
        "  a: 0 -> X @ 1000\n  b: {equation: X -> 0, law: X + 2*above}\n"
        "  c: {equation: 0 -> Y, law: above}\n  d: Y -> 0 @ 1\n"
        "  e: {equation: 0 -> Z, law: \"piecewise(900, Z < X/2, 100)\"}\n  f: Z -> 0 @ 1\n"
        "  g: {equation: Y -> 2 Y, law: \"0.1*Y*exp(-Z/500)\"}\n";
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_parse(text);
    check_tau_bits(m, "bends", "philox", false, 0, 300);
    assert_int_equal(m->network->tables.n_bending, 4);
    check_that_none_runs_again(m, "bends", "tau", "global", 60);
    saltus_model_destroy(m);
    m = bits_parse(
        "species: {X: 1000, Y: 0}\nreactions:\n  a: 0 -> X @ 1000\n  b: X -> 0 @ 1\n"
        "  c: {equation: 0 -> Y, law: \"2*(1 + sin(9*time))^4*piecewise(1, X > 999, 0)\"}\n"
        "  d: {equation: 0 -> X, law: \"(2 + cos(time))*max(0, 1000 - X)\"}\n"
        "  e: Y -> 0 @ 3\n");
    check_tau_bits(m, "bends and drifts", "philox", false, 0, 300);
    assert_int_equal(m->network->tables.n_bending, 2);
    assert_int_equal(m->network->tables.n_thinned, 2);
    saltus_model_destroy(m);
    m = bits_parse("species: {P: 2000, Q: 1900, N: 0}\nreactions:\n  a: 0 -> P @ 2000\n"
                   "  b: P -> 0 @ 1\n  c: 0 -> Q @ 2000\n  d: Q -> 0 @ 1\n"
                   "events: {e: {when: Q > P, set: {N: N + 1, Q: Q - 100}}}\n");
    check_tau_bits(m, "wavers", "philox", false, 0, 300);
    assert_true(m->network->tables.n_bending == 0 && m->network->tables.n_wavering == 1);
    saltus_model_destroy(m);
    m = bits_parse("species: {X: 1000, Y: 9}\nrules: {sum: X + 2*Y}\nreactions:\n"
                   "  a: 0 -> X @ 2000/(1 + (Y/300)^2)\n  b: X -> 0 @ 900*X/(500 + X)\n"
                   "  c: {equation: 0 -> Y, law: \"min(sum, 700)*sqrt(X)/20\"}\n  d: Y -> 0 @ 1\n");
    check_tau_bits(m, "does not bend", "philox", true, 0, 300);
    assert_int_equal(m->network->tables.n_bending, 0);
    saltus_model_destroy(m);
}

/* Leaps that lead to where laws are negative or NaN, and their reactions would idle. */
static void leaps_may_lack_reactants(void **state)
{
    static const char text[] =
        "lacking reactants: idle\nspecies: {A: %s, B: 5000, C: 3000}\nreactions:\n"
        "  a: {equation: %s A -> B, law: \"%s\"}\n"
        "  b: A -> B @ 0.5\n  c: B -> A @ %s\n  d: C -> 0 @ 1\n  e: 0 -> C @ 3000\n";
    static const struct {
        const char *counts, *takes, *law, *back;
        bool fits; /* laws that may bend do not */
    } cases[] = {{"1000", "600", "piecewise(0.01*A, A > 599, -1)", "0.1", false},
                 {"1000", "600", "piecewise(0.01*A, A > 599, 0/0)", "0.1", false},
                 {"40", "1", "A*A/A", "1e-4", true}};
    saltus_plan_options plan = bits_plan("tau", "philox", "scalar", 0);
    char one[sizeof text + 60];
    (void)state;
    need_gpu("cuda");
    plan.epsilon = 0.9;
    plan.n_critical = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        (void)snprintf(one, sizeof one, text, cases[i].counts, cases[i].takes, cases[i].law,
                       cases[i].back);
        saltus_model *m = bits_parse(one);
        check_leaps(m, cases[i].law, plan, cases[i].fits, 0, 200);
        saltus_model_destroy(m);
    }
}

/* With a name, as `events_*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_bits_of_the_cpu),
        cmocka_unit_test(random_networks_have_the_bits_of_the_cpu),
        cmocka_unit_test(recorded_rules_have_the_bits_of_the_cpu),
        cmocka_unit_test(kernels_serve_all_values_that_are_set),
        cmocka_unit_test(laws_that_are_alike_have_the_bits_of_the_cpu),
        cmocka_unit_test(leaps_have_the_bits_of_the_cpu),
        cmocka_unit_test(large_leaps_have_the_bits_of_the_cpu),
        cmocka_unit_test(generators_have_the_bits_of_the_cpu),
        cmocka_unit_test(motifs_have_the_bits_of_the_cpu),
        cmocka_unit_test(mixed_groups_have_the_bits_of_the_cpu),
        cmocka_unit_test(odd_shapes_have_the_bits_of_the_cpu),
        cmocka_unit_test(dead_ends_have_the_bits_of_the_cpu),
        cmocka_unit_test(reactions_that_idle_have_the_bits_of_the_cpu),
        cmocka_unit_test(groups_that_idle_have_the_bits_of_the_cpu),
        cmocka_unit_test(leaps_follow_laws_that_bend),
        cmocka_unit_test(leaps_may_lack_reactants),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
