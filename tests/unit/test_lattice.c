/* Models on a lattice: diffusion and units against numbers by hand, laws, what is there at first.
 */
#include "frozen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double relative(double a, double b)
{
    return fabs(a - b) / fabs(b);
}

/* ---- diffusion ---- */

static void pairs_of_types_have_constants(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(
        "species: {A: 0, B: 0, C: 0, D: 0}\n"
        "lattice:\n"
        "  size: [6, 6, 6]\n"
        "  spacing: 10 nm\n"
        "  step: 10 us\n"
        "  sites:\n"
        "    out:\n"
        "    in: {box: {from: [1 sites, 1 sites, 1 sites], to: [5 sites, 5 sites, 5 sites]}}\n"
        "    wall: {shell: {of: in}}\n"
        "  diffusion:\n"
        "    A: 4 um2/s\n"
        "    B: {in: 3 um2/s, wall: 1e-12}\n"
        "    C: {in: 3 um2/s, wall: 1 um2/s, wall->in: 0, in-out: 2 um2/s}\n"
        "    D: 0\n",
        SALTUS_LAW_LITERAL);
    /* in um2/s, from out, in, wall to out, in, wall */
    static const double expected[4][9] = {{4, 4, 4, 4, 4, 4, 4, 4, 4},
                                          {0, 0, 0, 0, 3, 1, 0, 1, 1},
                                          {0, 2, 0, 2, 3, 1, 0, 0, 1},
                                          {0, 0, 0, 0, 0, 0, 0, 0, 0}};
    const saltus_lattice *l = lattice_of(m);
    assert_int_equal(l->n_species, 4);
    for (int s = 0; s < 4; ++s) {
        double largest = 0.0;
        for (int k = 0; k < 9; ++k) {
            const double d = expected[s][k] * 1e-12;
            assert_true(fabs(l->diffusion[k * 4 + s] - d) <= 1e-15 * d);
            assert_true(fabs(l->jump[k * 4 + s] - d * 1e-5 / 1e-16) <= 1e-12 * 0.5);
            largest = fmax(largest, l->jump[k * 4 + s]);
        }
        assert_true(l->largest_jump[s] == largest);
    }
    saltus_model_destroy(m);
}

/* Pairs that jump in every step stay an odd number of sites apart: what takes two such is told of.
 */
static void pairs_that_seldom_meet_are_told_of(void **state)
{
    static const struct {
        const char *reactions, *diffusion;
        int n;
    } cases[] = {{"r: A + B -> 0", "A: 0.5 m2/s, B: 0.49 m2/s", 1},
                 {"r: 2 A -> B", "A: 0.5 m2/s, B: 0", 1},
                 {"r: A + B -> 0", "A: 0.5 m2/s, B: 0.4 m2/s", 0},
                 {"r: A -> 2 B", "A: 0.5 m2/s, B: 0.5 m2/s", 0},
                 {"r: A + B -> 0", "A: 0.45 m2/s, B: 0.45 m2/s", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {A: 1, B: 1}\nreactions: {%s @ 1}\nlattice: {size: [4, 4, 4], "
                       "spacing: 1 m, step: 1 s, diffusion: {%s}}\n",
                       cases[i].reactions, cases[i].diffusion);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        assert_int_equal(saltus_model_n_warnings(m), cases[i].n);
        assert_true(cases[i].n == 0 || strstr(saltus_model_warning(m, 0), "'r' that are an odd"));
        saltus_model_destroy(m);
    }
}

/* What comes from nothing and decays at k: of steps of 1 s there is less than there should be. */
static void births_beside_decays_are_told_of(void **state)
{
    static const struct {
        const char *reactions, *says;
    } cases[] = {
        {"in: 0 -> A @ 1, out: A -> 0 @ 0.09", NULL},
        {"in: 0 -> A @ 1, out: A -> 0 @ 0.2", "up to 9.67 % too little of 'A'"},
        {"in: 0 -> A @ 1, out: A -> 0 @ 0.1, off: A -> B @ 0.1", "up to 9.67 % too little"},
        {"in: 0 -> A @ 1, out: A -> 0 @ 50", "up to 100 % too little of 'A'"},
        {"in: 0 -> A @ 1, more: 0 -> B @ 1, out: A -> 0 @ 0.2, off: B -> 0 @ 50",
         "up to 100 % too little of 'B': what 'more' makes"},
        {"in: 0 -> B @ 1, out: A -> 0 @ 50", NULL},
        {"in: 0 -> A @ 1, stays: A -> A + B @ 50", NULL},
        {"in: B -> A @ 1, out: A -> 0 @ 50", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {A: 1, B: 1}\nreactions: {%s}\nlattice: {size: [4, 4, 4], "
                       "spacing: 1 m, step: 1 s, diffusion: {A: 0.1 m2/s, B: 0.1 m2/s}}\n",
                       cases[i].reactions);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        assert_int_equal(saltus_model_n_warnings(m), cases[i].says != NULL);
        assert_true(!cases[i].says || strstr(saltus_model_warning(m, 0), cases[i].says));
        saltus_model_destroy(m);
    }
}

static void the_largest_step_has_q_045(void **state)
{
    (void)state;
    saltus_model *m = freeze_text("species: {A: 0, B: 0}\n"
                                  "lattice:\n"
                                  "  size: [4, 4, 4]\n"
                                  "  spacing: 16 nm\n"
                                  "  step: largest\n"
                                  "  diffusion: {A: 2.5e-8 cm2/s, B: 0.3 um2/s}\n",
                                  SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    assert_true(relative(l->step, 0.45 * 16e-9 * 16e-9 / 2.5e-12) < 1e-14);
    assert_true(relative(l->largest_jump[0], 0.45) < 1e-14);
    assert_true(relative(l->largest_jump[1], 0.054) < 1e-14);
    assert_string_equal(l->type_names[0], "space");
    saltus_model_destroy(m);
}

/* ---- units and constants ---- */

static void constants_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *constant;
        int reaction;    /* 0: 0 -> A; 1: A -> 0; 2: A + B -> C; 3: 2 A -> C; 4: 2 A + B -> C */
        double expected; /* per tables' product, 1/s */
    } cases[] = {
        {"9e6 1/(M s)", 2, 9e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"9e6 /(M s)", 2, 9e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"9.0e6 M-1 s-1", 2, 3648.645411},
        {"9e6 L/(mol s)", 2, 3648.645411},
        {"46.2 1/(uM s)", 2, 46.2e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"0.5 um3/s", 2, 0.5e-18 / (16e-9 * 16e-9 * 16e-9)},
        {"3.5", 2, 3.5},
        {"9e6 1/(M s)", 3, 0.5 * 3648.645411},
        {"3", 3, 1.5},
        {"2e9 1/(M2 s)", 4, 0.5 * 2e9 / 2466.668855 / 2466.668855},
        {"0.5 1/s", 1, 0.5},
        {"30 1/min", 1, 0.5},
        {"0.0125 um/s", 1, 0.78125},
        {"0.78", 1, 0.78},
        {"1 nM/s", 0, 1e-9 * 6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000},
        {"5 um-3 s-1", 0, 5e18 * 16e-9 * 16e-9 * 16e-9},
        {"2", 0, 2.0},
    };
    static const char *const equations[] = {"0 -> A", "A -> 0", "A + B -> C", "2 A -> C",
                                            "2 A + B -> C"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "species: {A: 0, B: 0, C: 0}\n"
                       "reactions: {r: %s, s: A -> B @ 7, t: 2 B -> C @ 7}\n"
                       "lattice: {size: [4, 4, 4], spacing: 16 nm, step: 1 us, diffusion: {A: 0, "
                       "B: 0, C: 0}, sites: {a: , b: {box: {from: [0, 0, 0], to: [1 sites, 1 "
                       "sites, 1 sites]}}}, "
                       "reactions: {r: {b: %s}, s: a, t: {a: , b: 4}}}\n",
                       equations[cases[i].reaction], cases[i].constant);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const saltus_lattice *l = lattice_of(m);
        const double *a = l->rate, *b = l->rate + 3;
        if (relative(b[0], cases[i].expected) > 1e-6) {
            fail_msg("%s: %.10g, expected %.10g", cases[i].constant, b[0], cases[i].expected);
        }
        assert_true(a[0] == 0.0 && a[1] == 7.0 && b[1] == 0.0 && a[2] == 3.5 && b[2] == 2.0);
        saltus_model_destroy(m);
    }
}

static void laws_happen_or_not(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(
        "species: {A: 0, E: 5}\n"
        "parameters: {k: 2}\n"
        "reactions:\n"
        "  mm: A -> 0 @ k*E*A/(3 + A)\n"
        "  both: A <-> 0 @ k, 3\n"
        "  open: A <-> E\n"
        "lattice:\n"
        "  size: [4, 4, 4]\n"
        "  spacing: 1e-8 m\n"
        "  step: 1e-6\n"
        "  diffusion: {A: 1e-12, E: 0}\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [1 sites, 1 sites, 1 sites]}}}\n"
        "  reactions: {mm: b, both: [a, b], open.forward: 5, open.backward: {a: 6 1/s}}\n",
        SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    static const double expected[2][5] = {{0, 2, 3, 5, 6}, {1, 2, 3, 5, 0}};
    assert_int_equal(l->n_reactions, 5);
    for (int i = 0; i < 10; ++i) {
        assert_true(l->rate[i] == expected[i / 5][i % 5]);
    }
    /* E, which no reaction of the law changes, is read where it is */
    assert_int_equal(m->network->tables.law_program[0] >= 0, 1);
    saltus_model_destroy(m);
    m = freeze_text("species: {A: 0, E: 5}\n"
                    "reactions: {r: 'A -> 0 @ 2*E*A'}\n"
                    "lattice: {size: [4, 4, 4], spacing: 1e-8 m, step: 1e-6, diffusion: {A: 0, E: "
                    "0}}\n",
                    SALTUS_LAW_LITERAL);
    assert_int_equal(m->network->tables.factor_row[1], 2);
    assert_true(lattice_of(m)->rate[0] == 2.0);
    saltus_model_destroy(m);
}

/* ---- what is there at first ---- */

static void particles_are_placed(void **state)
{
    (void)state;
    saltus_error err = {0};
    saltus_model *m = parse_text(
        "species: {A: 100, B: , C: 7, D: 0}\n"
        "lattice:\n"
        "  size: [10, 10, 10]\n"
        "  spacing: 100 nm\n"
        "  step: 1 us\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [5 sites, 10 sites, 10 sites]}}}\n"
        "  diffusion: {A: {b: 0}, B: 0, C: 0, D: 0}\n"
        "  place:\n"
        "    B: {a: 30, b: 2 uM, sites: [[1, 2, 3, 4], [9, 9, 9, 1], "
        "[1, 2, 3, 2]]}\n"
        "    C: [b, a]\n"
        "    D: {sites: [[1, 2, 3, 5]]}\n");
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    const saltus_lattice *l = lattice_of(m);
    const int64_t n_b = (int64_t)nearbyint(2e-6 * 6.02214076e23 * 1e3 * 500e-21); /* 602 */
    assert_int_equal(l->n_scatters, 4);
    static const bool in[4][2] = {{true, false}, {false, true}, {true, true}, {false, true}};
    const int species[4] = {1, 1, 2, 0};
    const int64_t count[4] = {30, n_b, 7, 100};
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(l->scatters[i].species, species[i]);
        assert_int_equal(l->scatters[i].count, count[i]);
        assert_memory_equal(l->scatters[i].in, in[i], sizeof in[i]);
    }
    assert_int_equal(l->n_deposits, 3);
    assert_int_equal(l->deposits[0].site, 321);
    assert_int_equal(l->deposits[0].species, 1);
    assert_int_equal(l->deposits[0].n, 6);
    assert_int_equal(l->deposits[1].species, 3);
    assert_int_equal(l->deposits[2].site, 999);
    assert_int_equal(m->network->tables.initial_counts[1], 30 + n_b + 7);
    assert_int_equal(m->network->tables.initial_counts[3], 5);

    saltus_model_thaw(m);
    assert_int_equal(saltus_model_set(m, "A", 11, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(lattice_of(m)->scatters[3].count, 11);
    saltus_model_thaw(m);
    assert_int_equal(saltus_model_set(m, "B", 11, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_E_INVALID);
    assert_string_equal(err.message, "model.yaml:1: 'B' cannot be set: the lattice says how many "
                                     "there are where");
    saltus_model_destroy(m);
}

static void faces_are_read(void **state)
{
    (void)state;
    saltus_model *m =
        freeze_text("species: {A: 0, B: 0}\n"
                    "lattice:\n"
                    "  size: [4, 5, 6]\n"
                    "  spacing: 100 nm\n"
                    "  step: 1 us\n"
                    "  diffusion: {A: 0, B: 0}\n"
                    "  faces: {x: periodic, y-: absorbing, z+: {B: 1 uM}, z-: {A: 2}}\n",
                    SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    static const saltus_face faces[] = {SALTUS_FACE_PERIODIC,  SALTUS_FACE_PERIODIC,
                                        SALTUS_FACE_ABSORBING, SALTUS_FACE_REFLECTING,
                                        SALTUS_FACE_CONSTANT,  SALTUS_FACE_CONSTANT};
    assert_memory_equal(l->faces, faces, sizeof faces);
    assert_int_equal(l->n_sites, 120);
    for (int i = 0; i < 8; ++i) {
        assert_true(l->face_mean[i] == 0.0);
    }
    assert_true(l->face_mean[8] == 2.0 && l->face_mean[9] == 0.0 && l->face_mean[10] == 0.0);
    assert_true(relative(l->face_mean[11], 1e-3 * 6.02214076e23 * 1e-21) < 1e-12);
    saltus_model_destroy(m);
}

/* Laws of time stand at the middle of steps, which may be above 0 in empty sites or not; the
 * next-subvolume method, which has no steps, refuses them. */
static void laws_of_time_are_at_the_middle_of_steps(void **state)
{
    static const struct {
        const char *law;
        saltus_lattice_drift drift;
    } cases[] = {{"A*(1 + A)", SALTUS_STANDS},
                 {"A*(1 + sin(time))", SALTUS_DRIFTS_FILLED},
                 {"2*u*A^2/(1 + A) - A*exp(-time)", SALTUS_DRIFTS_FILLED},
                 {"v*3", SALTUS_DRIFTS_FILLED},
                 {"k*A", SALTUS_DRIFTS_FILLED},
                 {"1 + w", SALTUS_DRIFTS_EMPTY},
                 {"if(time > 3, 1, 2)", SALTUS_DRIFTS_EMPTY},
                 {"A + u", SALTUS_DRIFTS_EMPTY},
                 {"u*A^0", SALTUS_DRIFTS_EMPTY}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        saltus_error err = {0};
        saltus_backend *backend = NULL;
        saltus_plan *plan = NULL;
        saltus_plan_options nsm = saltus_plan_options_default();
        (void)snprintf(text, sizeof text,
                       "species: {A: 1}\nrules: {u: cos(time), v: u*A, w: k^2}\n"
                       "parameters: {u: {observable: false}, v: {observable: false}, k: 1}\n"
                       "rate rules: {k: w - 2*k*u}\n"
                       "reactions: {r: {equation: A -> 0, law: '%s'}}\n"
                       "lattice: {size: [2, 2, 2], spacing: 1 m, step: 1, diffusion: {A: 0}}\n",
                       cases[i].law);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const bool stands = cases[i].drift == SALTUS_STANDS;
        assert_int_equal(m->network->lattice->drifts[0], cases[i].drift);
        assert_int_equal(m->network->law_forms[0],
                         stands ? SALTUS_LAW_FORM_EXPRESSION : SALTUS_LAW_FORM_STEPPED);
        assert_int_equal(m->network->tables.n_flags, 0);
        assert_int_equal(m->network->tables.n_thinned, 0);
        nsm.method = "nsm";
        assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
        assert_int_equal(saltus_plan_create(m, backend, &nsm, &plan, &err),
                         stands ? SALTUS_OK : SALTUS_E_UNSUPPORTED);
        assert_true(stands || strstr(err.message, "the law of reaction 'r' drifts with time"));
        saltus_plan_destroy(plan);
        saltus_backend_close(backend);
        saltus_model_destroy(m);
    }
}

/* In all sites alike are parameters alone, and what their rates read. */
static void rate_rules_are_the_same_in_all_sites(void **state)
{
    static const char *const cases[][2] = {
        {"rate rules: {A: 1}\nreactions: {r: B -> 0 @ 1}\n",
         "species 'A' has a rate rule, which in a model with a lattice parameters alone can have: "
         "it would be another in every site"},
        {"rate rules: {k: 2*k - A}\nreactions: {r: B -> 0 @ k*B}\n",
         "parameter 'k': its rate reads 'A', of which every site of the lattice has its own "
         "number"},
        {"rules: {u: 2*B, v: u + 1}\nrate rules: {k: v}\nreactions: {r: B -> 0 @ k*B}\n",
         "parameter 'k': its rate reads 'B', of which every site of the lattice has its own "
         "number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500], says[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 1, B: 1}\nparameters: {k: 1}\n%s"
                       "lattice: {size: [2, 2, 2], spacing: 1 m, step: 1, diffusion: "
                       "{A: 0, B: 0}}\n",
                       cases[i][0]);
        (void)snprintf(says, sizeof says, "model.yaml:%d: %s", i == 0 ? 1 : 2, cases[i][1]);
        check_not_frozen(text, SALTUS_E_UNSUPPORTED, says);
    }
}

/* ---- the examples and what is said of a lattice ---- */

static saltus_model *read_example(const char *name)
{
    char path[1000];
    saltus_error err = {0};
    saltus_model *m = NULL;
    const char *source = getenv("SALTUS_SOURCE");
    (void)snprintf(path, sizeof path, "%s/examples/%s.yaml", source ? source : ".", name);
    if (saltus_model_read(path, &m, &err) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

static void examples_are_what_they_say(void **state)
{
    (void)state;
    saltus_model *m = read_example("min-system");
    const saltus_lattice *l = lattice_of(m);
    const double volume = (4.0 / 3.0 * M_PI * 125 + M_PI * 25 * 30) * 1000 / 4.096; /* in sites */
    const double cell = (double)(l->sites_of[1] + l->sites_of[2]);
    assert_int_equal(l->n_sites, 64 * 64 * 256);
    assert_true(relative(cell, volume) < 2e-3);
    assert_true(relative(l->largest_jump[0], 0.48828125) < 1e-12);
    assert_true(relative(l->rate[2 * 5 + 1], 0.78125) < 1e-12);
    assert_int_equal(l->n_scatters, 3);
    saltus_model_destroy(m);
    m = read_example("ab-equilibrium");
    assert_int_equal(lattice_of(m)->n_sites, 32768);
    saltus_model_destroy(m);
    m = read_example("abc-lattice");
    assert_true(relative(lattice_of(m)->rate[0], 1e6 / (6.02214076e23 * 4096e-27 * 1e3)) < 1e-12);
    saltus_model_destroy(m);
    m = read_example("barrier");
    assert_int_equal(lattice_of(m)->scatters[0].count, 500000);
    saltus_model_destroy(m);
}

static char *info_of(const char *model)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    saltus_model *m = freeze_text(model, SALTUS_LAW_LITERAL);
    assert_int_equal(saltus_model_print_info(m, out, NULL), SALTUS_OK);
    (void)fclose(out);
    saltus_model_destroy(m);
    return text;
}

/* Words of 32 bits have no smaller chances. */
static void jumps_that_are_too_rare_are_told_of(void **state)
{
    static const char model[] = "species: {A: 1, B: 1}\nlattice: {size: [4, 4, 4], spacing: 1 m, "
                                "step: 1 s, diffusion: {A: 1e-10 m2/s, B: 1e-8 m2/s}}\n";
    (void)state;
    char *text = info_of(model);
    assert_non_null(strstr(text, "the step is short for 'A': by mpd its q, 1e-10, is"));
    assert_null(strstr(text, "for 'B'"));
    free(text);
}

/* A constant of the model that the lattice gives everywhere; one that it gives in one type alone.
 */
static void constants_that_nothing_reads_are_told_of(void **state)
{
    (void)state;
    char *text = info_of("species: {A: 1, B: 1}\nparameters: {k: 1, l: 2}\n"
                         "reactions: {d: A -> 0 @ k, e: B -> 0 @ l}\n"
                         "lattice:\n  size: [4, 4, 4]\n  spacing: 1 m\n  step: 0.1 s\n"
                         "  sites: {p: , q: {box: {from: [0, 0, 0], to: [1 m, 1 m, 1 m]}}}\n"
                         "  diffusion: {A: 0.1 m2/s, B: 0}\n"
                         "  reactions: {d: {p: 0.1 1/s}, e: {p: 0.1 1/s, q: }}\n");
    assert_non_null(strstr(text, "d: A -> 0 @ k (replaced by constants of the lattice)"));
    assert_non_null(strstr(text, "e: B -> 0 @ l   ["));
    free(text);
}

static void info_tells_of_the_lattice(void **state)
{
    (void)state;
    static const char *const said[] = {
        "lattice of 10 x 10 x 10 sites of 1e-08 m, step 4.5e-05 s",
        "x- reflecting, x+ reflecting",
        "a                             500             20          0.779\n",
        "b                             500           0.01      ",
        "A                              0.45  a 10000\n",
        "B                                 0  b 5\n",
        "r                        a 1000\n",
        "the step is long for 'r' in 'a': step times propensity (2e+04 1/s) is 0.9, above 0.1",
    };
    char *text =
        info_of("species: {A: 10000, B: 5}\n"
                "reactions: {r: A -> 0}\n"
                "lattice:\n"
                "  size: [10, 10, 10]\n"
                "  spacing: 10 nm\n"
                "  step: largest\n"
                "  sites: {a: , b: {box: {from: [0, 0, 0], to: [5 sites, 10 sites, 10 sites]}}}\n"
                "  diffusion: {A: 1 um2/s, B: 0}\n"
                "  place: {A: a, B: b}\n"
                "  reactions: {r: {a: 1000 1/s}}\n");
    for (size_t i = 0; i < sizeof said / sizeof *said; ++i) {
        if (!strstr(text, said[i])) {
            fail_msg("'%s' is not in\n%s", said[i], text);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_types_have_constants),
        cmocka_unit_test(the_largest_step_has_q_045),
        cmocka_unit_test(pairs_that_seldom_meet_are_told_of),
        cmocka_unit_test(births_beside_decays_are_told_of),
        cmocka_unit_test(constants_have_units),
        cmocka_unit_test(laws_happen_or_not),
        cmocka_unit_test(particles_are_placed),
        cmocka_unit_test(faces_are_read),
        cmocka_unit_test(laws_of_time_are_at_the_middle_of_steps),
        cmocka_unit_test(rate_rules_are_the_same_in_all_sites),
        cmocka_unit_test(examples_are_what_they_say),
        cmocka_unit_test(jumps_that_are_too_rare_are_told_of),
        cmocka_unit_test(constants_that_nothing_reads_are_told_of),
        cmocka_unit_test(info_tells_of_the_lattice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
