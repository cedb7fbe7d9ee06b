/* Lattices around the models of SBML files: the tables of the same lattice written by hand. */
#include "frozen.h"
#include "model/lattice/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_NAME "test_lattice_sbml.xml"

/* MathML, short. */
#define CI(name) "<ci>" name "</ci>"
#define CN(number) "<cn>" number "</cn>"
#define AP(op, args) "<apply><" op "/>" args "</apply>"
#define MATH(inside) "<math xmlns=\"http://www.w3.org/1998/Math/MathML\">" inside "</math>"

/* Documents: the body starts on line 2. */
#define SBML(attributes, body)                                                           \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                   \
    "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\">" \
    "<model id=\"m\" " attributes ">\n" body "</model></sbml>\n"
#define LIST(name, inside) "<listOf" name ">\n" inside "</listOf" name ">\n"
#define COMPARTMENT(id, dimensions, rest)                                                          \
    "<compartment id=\"" id "\" constant=\"true\" spatialDimensions=\"" dimensions "\" " rest "/>" \
    "\n"
#define SPECIES(id, compartment, amounts, rest)                                               \
    "<species id=\"" id "\" compartment=\"" compartment "\" hasOnlySubstanceUnits=\"" amounts \
    "\" boundaryCondition=\"false\" constant=\"false\" " rest "/>\n"
#define PARAMETER(id, value) "<parameter id=\"" id "\" constant=\"true\" value=\"" value "\"/>\n"
#define OF(n, species) \
    "<speciesReference species=\"" species "\" stoichiometry=\"" n "\" constant=\"true\"/>"
#define REACTION(id, left, right, law)                                        \
    "<reaction id=\"" id "\" reversible=\"false\" fast=\"false\">" left right \
    "<kineticLaw>" MATH(law) "</kineticLaw></reaction>\n"
#define LEFT(list) "<listOfReactants>" list "</listOfReactants>"
#define RIGHT(list) "<listOfProducts>" list "</listOfProducts>"

static void write_sbml(const char *text)
{
    FILE *out = fopen(FILE_NAME, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static saltus_model *freeze_with(const char *sbml, const char *yaml)
{
    write_sbml(sbml);
    return freeze_text(yaml, SALTUS_LAW_LITERAL);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void check_same_reactions(const saltus_model *a, const saltus_model *b)
{
    const saltus_tables *x = &a->network->tables, *y = &b->network->tables;
    const saltus_lattice *l = a->network->lattice, *k = b->network->lattice;
    const int n = x->n_reactions;
    assert_int_equal(n, y->n_reactions);
    assert_int_equal(x->n_species, y->n_species);
    assert_memory_equal(x->factor_row, y->factor_row, ((size_t)n + 1) * sizeof *x->factor_row);
    assert_memory_equal(x->change_row, y->change_row, ((size_t)n + 1) * sizeof *x->change_row);
    for (int i = 0; i < x->factor_row[n]; ++i) {
        assert_int_equal(x->factor_species[i], y->factor_species[i]);
        assert_true(x->factor_offset[i] == y->factor_offset[i]);
    }
    for (int i = 0; i < x->change_row[n]; ++i) {
        assert_int_equal(x->change_species[i], y->change_species[i]);
        assert_int_equal(x->change_amount[i], y->change_amount[i]);
    }
    for (int i = 0; i < l->n_types * n; ++i) {
        if (!near(l->rate[i], k->rate[i])) {
            fail_msg("%s in %s: %.17g, by hand %.17g", saltus_network_reaction(a->network, i % n),
                     l->type_names[i / n], l->rate[i], k->rate[i]);
        }
    }
}

static void check_same(const saltus_model *a, const saltus_model *b)
{
    const saltus_lattice *l = a->network->lattice, *k = b->network->lattice;
    assert_int_equal(l->n_types, k->n_types);
    check_same_reactions(a, b);
    for (int i = 0; i < l->n_types * l->n_types * l->n_species; ++i) {
        assert_true(l->diffusion[i] == k->diffusion[i] && l->jump[i] == k->jump[i]);
    }
    assert_memory_equal(a->network->tables.initial_counts, b->network->tables.initial_counts,
                        (size_t)l->n_species * sizeof(int64_t));
    assert_int_equal(l->n_scatters, k->n_scatters);
    for (int i = 0; i < l->n_scatters; ++i) {
        assert_int_equal(l->scatters[i].species, k->scatters[i].species);
        assert_int_equal(l->scatters[i].count, k->scatters[i].count);
        assert_memory_equal(l->scatters[i].in, k->scatters[i].in, (size_t)l->n_types);
    }
}

/* The propensity of a law that is no product, in a site with these numbers of one species. */
static double law_in_site(const saltus_model *m, int reaction, const char *species, double n)
{
    double values[100];
    assert_true(m->n_variables <= 100);
    for (size_t i = 0; i < m->n_variables; ++i) {
        values[i] = m->network->bindings[i].value;
    }
    values[saltus_model_find(m, species)] = n;
    return saltus_expr_value(m->reactions[reaction].law, values, 0.0);
}

/* ---- one compartment ---- */

/* A cell of 1 fL, in litres; concentrations are molecules per litre, and 1 um3 is 1e-15 litres. */
#define CELL                                                                                       \
    LIST("Compartments", COMPARTMENT("cell", "3", "size=\"1e-15\""))                               \
    LIST("Species", SPECIES("A", "cell", "false", "initialConcentration=\"6e17\"")                 \
                        SPECIES("B", "cell", "false", "initialAmount=\"200\"")                     \
                            SPECIES("C", "cell", "false", "initialAmount=\"0\"")                   \
                                SPECIES("S", "cell", "false", "initialConcentration=\"5e16\"")     \
                                    SPECIES("P", "cell", "true", "initialAmount=\"0\""))           \
    LIST("Parameters",                                                                             \
         PARAMETER("k0", "3e15") PARAMETER("k1", "0.5") PARAMETER("k2", "2e-15")                   \
             PARAMETER("vmax", "7e15")                                                             \
                 PARAMETER("km", "4e16") "<parameter id=\"kp\" constant=\"true\"/>\n")             \
    LIST("InitialAssignments", "<initialAssignment symbol=\"kp\">" MATH(                           \
                                   AP("divide", CI("k2") CI("cell"))) "</initialAssignment>\n")    \
    LIST("Reactions",                                                                              \
         REACTION("r0", "", RIGHT(OF("1", "A")), AP("times", CI("cell") CI("k0")))                 \
             REACTION("r1", LEFT(OF("1", "A")), RIGHT(OF("1", "B")),                               \
                      AP("times", CI("cell") CI("k1") CI("A")))                                    \
                 REACTION("r2", LEFT(OF("1", "A") OF("1", "B")), RIGHT(OF("1", "C")),              \
                          AP("times", CI("cell") CI("k2") CI("A") CI("B")))                        \
                     REACTION("r22", LEFT(OF("2", "A")), RIGHT(OF("1", "C")),                      \
                              AP("times", CI("cell") CI("k2") CI("A") AP(                          \
                                              "minus", CI("A") AP("divide", CN("1") CI("cell"))))) \
                         REACTION("rp", LEFT(OF("1", "A") OF("1", "P")), "",                       \
                                  AP("times", CI("kp") CI("A") CI("cell") CI("P")))                \
                             REACTION("mm", LEFT(OF("1", "S")), RIGHT(OF("1", "P")),               \
                                      AP("divide", AP("times", CI("cell") CI("vmax") CI("S"))      \
                                                       AP("plus", CI("km") CI("S")))))

#define ONE_LATTICE                                                  \
    "lattice:\n  size: [4, 5, 6]\n  spacing: 20 nm\n  step: 10 us\n" \
    "  diffusion: {A: 1 um2/s, B: 2 um2/s, C: 0, S: 0, P: 0}\n"

static void one_compartment_is_the_whole_box(void **state)
{
    (void)state;
    saltus_model *m = freeze_with(SBML("", CELL), "sbml: " FILE_NAME "\n" ONE_LATTICE);
    saltus_model *hand = freeze_text(
        "species: {A: 600, B: 200, C: 0, S: 50, P: 0}\n"
        "reactions: {r0: 0 -> A, r1: A -> B, r2: A + B -> C, r22: 2 A -> C, rp: A + P -> 0, "
        "mm: S -> P @ 0.056*S/(0.32 + S)}\n" ONE_LATTICE
        "  reactions: {r0: 3 1/(um3 s), r1: 0.5 1/s, r2: 2 um3/s, r22: 4 um3/s, rp: 2 um3/s}\n",
        SALTUS_LAW_LITERAL);
    check_same(m, hand);
    assert_true(near(hand->network->lattice->rate[2], 2.0 / 8e-6)); /* sites of 8e-6 um3 */
    for (double n = 1; n < 1000; n *= 10) {
        const double expected = 7.0 * n / (40.0 + n / 8e-6);
        assert_true(near(law_in_site(m, 5, "S", n), expected));
    }
    assert_string_equal(m->name, "m");
    assert_int_equal(m->n_warnings, 0);
    /* whole compartments for amounts, with what is set: 6e17 / L in 2 fL */
    saltus_error err = {0};
    saltus_model_thaw(m);
    assert_int_equal(saltus_model_set(m, "cell", 2e-15, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(m->network->tables.initial_counts[0], 1200);
    check_same_reactions(m, hand);
    saltus_model_destroy(m);
    saltus_model_destroy(hand);
}

/* ---- two compartments ---- */

#define UNIT(kind, exponent, scale) \
    "<unit kind=\"" kind "\" exponent=\"" exponent "\" scale=\"" scale "\" multiplier=\"1\"/>"
#define UNITS(id, inside) \
    "<unitDefinition id=\"" id "\"><listOfUnits>" inside "</listOfUnits></unitDefinition>\n"

/* Volumes in um3, areas in um2, times in ms. */
#define TWO_UNITS                                                                      \
    LIST("UnitDefinitions",                                                            \
         UNITS("um3", UNIT("metre", "3", "-6")) UNITS("um2", UNIT("metre", "2", "-6")) \
             UNITS("ms", UNIT("second", "1", "-3")))
#define TWO_ATTRIBUTES "volumeUnits=\"um3\" areaUnits=\"um2\" timeUnits=\"ms\""
#define TWO                                                                                \
    TWO_UNITS LIST("Compartments", COMPARTMENT("cytosol", "3", "size=\"0.5\"")             \
                                       COMPARTMENT("mem", "2", "size=\"3\""))              \
        LIST("Species", SPECIES("A", "cytosol", "false", "initialConcentration=\"200\"")   \
                            SPECIES("R", "mem", "false", "initialConcentration=\"20\"")    \
                                SPECIES("AR", "mem", "true", "initialAmount=\"5\"")        \
                                    SPECIES("E", "mem", "true", "initialAmount=\"7\""))    \
            LIST("Parameters", PARAMETER("kon", "3e-3") PARAMETER("kd", "4e-3"))           \
                LIST("Reactions",                                                          \
                     REACTION("on", LEFT(OF("1", "A") OF("1", "R")), RIGHT(OF("1", "AR")), \
                              AP("times", CI("mem") CI("kon") CI("A") CI("R")))            \
                         REACTION("decay", LEFT(OF("1", "A")), "",                         \
                                  AP("times", CI("kd") CI("A") CI("cytosol")))             \
                             REACTION("cut", LEFT(OF("1", "A")), "",                       \
                                      AP("times", CI("kon") CI("A") CI("E"))))

#define FINE SBML(TWO_ATTRIBUTES, TWO)

#define TWO_LATTICE                                                                                \
    "lattice:\n  size: [8, 8, 8]\n  spacing: 10 nm\n  step: 1 us\n  sites:\n"                      \
    "    out:\n    cytoplasm: {box: {from: [1 sites, 1 sites, 1 sites], to: [7 sites, 7 sites, 7 " \
    "sites]}}\n"                                                                                   \
    "    membrane: {shell: {of: cytoplasm}}\n"

static void reactions_happen_where_compartments_meet(void **state)
{
    (void)state;
    saltus_model *m = freeze_with(
        FINE, "model: receptors\nsbml: ./" FILE_NAME "\n" TWO_LATTICE
              "  compartments: {cytosol: [cytoplasm, membrane], mem: membrane}\n"
              "  diffusion: {A: 1 um2/s, R: 0.1 um2/s, AR: {membrane: 0.2 um2/s}, E: 0}\n");
    saltus_model *hand = freeze_text(
        "species: {A: 100, R: 60, AR: 5, E: 7}\n"
        "reactions: {on: A + R -> AR, decay: A -> 0, cut: A + E -> E}\n" TWO_LATTICE
        "  diffusion: {A: {cytoplasm: 1 um2/s, membrane: 1 um2/s}, R: {membrane: 0.1 um2/s},\n"
        "    AR: {membrane: 0.2 um2/s}, E: {membrane: 0}}\n"
        "  reactions: {on: {membrane: 3 um3/s}, decay: {cytoplasm: 4 1/s, membrane: 4 1/s},\n"
        "    cut: {membrane: 3 um3/s}}\n",
        SALTUS_LAW_LITERAL);
    check_same(m, hand);
    assert_string_equal(m->name, "receptors");
    saltus_model_destroy(m);
    /* places and types may be said; amounts too, in place of the file's */
    m = freeze_with(FINE,
                    "sbml: " FILE_NAME "\n" TWO_LATTICE
                    "  compartments: {cytosol: [cytoplasm, membrane], mem: membrane}\n"
                    "  diffusion: {A: 1 um2/s, R: 0, AR: 0, E: 0}\n"
                    "  place: {A: cytoplasm, R: {membrane: 12, sites: [[1, 1, 1, 3]]}}\n"
                    "  reactions: {decay: {cytoplasm: 3 1/s, membrane: }, on: {out: 7 um3/s}}\n");
    const saltus_lattice *l = m->network->lattice;
    static const double expected[9] = {7e6, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 3e6};
    for (int i = 0; i < 9; ++i) {
        assert_true(near(l->rate[i], expected[i]));
    }
    assert_int_equal(m->network->tables.initial_counts[1], 15);
    assert_int_equal(l->scatters[0].species, 0);
    assert_true(l->scatters[0].in[1] && !l->scatters[0].in[2]);
    saltus_model_destroy(m);
    saltus_model_destroy(hand);
}

/* The law of a reaction in c reads a species of d, through a rule. */
static void what_a_law_reads_must_be_there(void **state)
{
    (void)state;
    saltus_model *m = freeze_with(
        SBML("", LIST("Compartments",
                      COMPARTMENT("c", "3", "size=\"1\"") COMPARTMENT("d", "3", "size=\"1\""))
                     LIST("Species", SPECIES("A", "c", "true", "initialAmount=\"9\"")
                                         SPECIES("E", "d", "false", "initialAmount=\"9\""))
                         LIST("Parameters", "<parameter id=\"p\" constant=\"false\"/>\n")
                             LIST("Rules", "<assignmentRule variable=\"p\">" MATH(
                                               CI("E")) "</assignmentRule>\n")
                                 LIST("Reactions", REACTION("r", LEFT(OF("1", "A")), "",
                                                            AP("times", CI("p") CI("A"))))),
        "sbml: " FILE_NAME "\nlattice: {size: [4, 4, 4], spacing: 10 nm, step: 1, "
        "sites: {c: , d: {box: {from: [0, 0, 0], to: [2 sites, 2 sites, 2 sites]}}}, compartments: "
        "{c: [c, d]}, "
        "diffusion: {A: 0, E: 0}}\n");
    assert_true(m->network->lattice->rate[0] == 0.0 && m->network->lattice->rate[1] == 1.0);
    assert_int_equal(m->n_warnings, 0); /* E is a concentration */
    saltus_model_destroy(m);
}

/* Without a lattice the model is that of the file. */
static void a_file_alone_is_its_model(void **state)
{
    (void)state;
    saltus_model *m = freeze_with(FINE, "sbml: " FILE_NAME "\nmodel: other\n");
    assert_null(m->network->lattice);
    assert_string_equal(m->name, "other");
    assert_int_equal(m->network->tables.initial_counts[0], 100);
    assert_true(near(m->network->tables.rate[1], 4e-3));
    saltus_model_destroy(m);
}

static void info_tells_of_compartments(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    saltus_model *m =
        freeze_with(FINE, "sbml: " FILE_NAME "\n" TWO_LATTICE
                          "  compartments: {cytosol: [cytoplasm, membrane], mem: membrane}\n"
                          "  diffusion: {A: 1 um2/s, R: 0, AR: 0, E: 0}\n");
    assert_int_equal(saltus_model_print_info(m, out, NULL), SALTUS_OK);
    (void)fclose(out);
    assert_non_null(strstr(text, "  cytosol                         1e-06  cytoplasm, membrane\n"));
    assert_non_null(strstr(text, "  mem                            0.0001  membrane\n"));
    free(text);
    saltus_model_destroy(m);
}

/* ---- units ---- */

/* 0 -> A at 1 per compartment's size and unit of time, in sites of (10 nm)^3: 1e-24 m3. */
static void sizes_and_times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *units, *dimensions, *rest;
        double expected; /* 1/s */
    } cases[] = {
        {"", "", "3", "", 1e-21},
        {"", "", "2", "", 1e-16},
        {"", "", "1", "", 1e-8},
        {"volumeUnits=\"litre\"", "", "3", "", 1e-21},
        {"volumeUnits=\"fl\"", UNITS("fl", UNIT("litre", "1", "-15")), "3", "", 1e-6},
        {"volumeUnits=\"fl\"", UNITS("fl", UNIT("litre", "1", "-15")), "3", "units=\"litre\"",
         1e-21},
        {"timeUnits=\"ms\"", UNITS("ms", UNIT("second", "1", "-3")), "3", "", 1e-18},
        {"areaUnits=\"um2\" volumeUnits=\"mole\"", UNITS("um2", UNIT("metre", "2", "-6")), "2", "",
         1e-4},
        {"substanceUnits=\"mole\" extentUnits=\"mole\"", "", "3", "", 602.214076},
        {"volumeUnits=\"mole\"", "", "3", "", 0.0},
        {"volumeUnits=\"dimensionless\"", "", "3", "", 0.0},
        {"volumeUnits=\"metre\"", "", "3", "", 0.0},
        {"timeUnits=\"dimensionless\"", "", "3", "", 0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[3000];
        saltus_error err = {0};
        saltus_model *m = NULL;
        (void)snprintf(
            text, sizeof text,
            SBML("%s", "%s%s%s" LIST("Compartments", COMPARTMENT("c", "%s", "size=\"1\" %s"))
                           LIST("Species", SPECIES("A", "c", "true", "initialAmount=\"0\""))
                               LIST("Reactions", REACTION("r", "", RIGHT(OF("1", "A")), CI("c")))),
            cases[i].attributes, *cases[i].units ? "<listOfUnitDefinitions>" : "", cases[i].units,
            *cases[i].units ? "</listOfUnitDefinitions>" : "", cases[i].dimensions, cases[i].rest);
        write_sbml(text);
        const char *yaml = "sbml: " FILE_NAME "\nlattice: {size: [2, 2, 2], spacing: 10 nm, step: "
                           "1, diffusion: {A: 0}}\n";
        const saltus_status status =
            saltus_model_parse_yaml(yaml, strlen(yaml), "model.yaml", &m, &err);
        if (cases[i].expected == 0.0) {
            assert_int_equal(status, SALTUS_E_UNSUPPORTED);
            assert_non_null(strstr(err.message, "unit"));
            continue;
        }
        if (status != SALTUS_OK || saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
            fail_msg("%s %s: %s", cases[i].attributes, cases[i].units, err.message);
        }
        if (!near(m->network->lattice->rate[0], cases[i].expected)) {
            fail_msg("%s %s: %.17g, expected %.17g", cases[i].attributes, cases[i].units,
                     m->network->lattice->rate[0], cases[i].expected);
        }
        saltus_model_destroy(m);
    }
}

static void laws_without_sizes_are_told(void **state)
{
    (void)state;
    saltus_model *m = freeze_with(
        SBML("", LIST("Compartments", COMPARTMENT("c", "3", "size=\"1\""))
                     LIST("Species", SPECIES("A", "c", "true", "initialAmount=\"9\""))
                         LIST("Reactions", REACTION("one", LEFT(OF("1", "A")), "", CI("A"))
                                               REACTION("two", "", RIGHT(OF("1", "A")), CN("3")))),
        "sbml: " FILE_NAME
        "\nlattice: {size: [2, 2, 2], spacing: 10 nm, step: 0.01, diffusion: {A: "
        "0}}\n");
    assert_true(m->network->lattice->rate[0] == 1.0 && m->network->lattice->rate[1] == 3.0);
    assert_int_equal(m->n_warnings, 1);
    assert_string_equal(m->warnings[0].text, FILE_NAME
                        ":10: reaction 'two': its rate law does not use the size of a compartment; "
                        "it is taken as the rate in one site");
    saltus_model_destroy(m);
}

/* What each molecule does by itself needs no size, whatever its rate depends on. */
static void laws_of_order_1_need_no_size(void **state)
{
    (void)state;
    static const struct {
        const char *law;
        bool is_told;
    } cases[] = {
        {AP("times", CI("A") CI("k")), false},
        {AP("times", CI("k") AP("minus", CI("A") AP("divide", CI("B") CI("k")))), false},
        {AP("times", CI("p") CI("k")), false},
        {AP("minus", AP("times", CI("k") CI("A"))), false},
        {AP("times", CI("A") CI("B") CI("k")), true},
        {AP("divide", CI("A") AP("plus", CI("B") CI("k"))), true},
        {AP("minus", CI("A") CI("k")), true},
        {CI("k"), true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[4000];
        (void)snprintf(
            text, sizeof text,
            SBML("", LIST("Compartments", COMPARTMENT("c", "3", "size=\"1\"")) LIST(
                         "Species", SPECIES("A", "c", "true", "initialAmount=\"9\"")
                                        SPECIES("B", "c", "true", "initialAmount=\"9\""))
                         LIST("Parameters", "<parameter id=\"k\" constant=\"false\" "
                                            "value=\"2\"/><parameter id=\"p\" "
                                            "constant=\"false\"/>\n")
                             LIST("Rules",
                                  "<assignmentRule variable=\"p\">" MATH(
                                      AP("plus", CI("A") CI("B"))) "</assignmentRule>\n"
                                                                   "<rateRule variable=\"k\">" MATH(
                                                                       CN("1")) "</rateRule>\n")
                                 LIST("Reactions", REACTION("r", LEFT(OF("1", "A")), "", "%s"))),
            cases[i].law);
        saltus_model *m =
            freeze_with(text, "sbml: " FILE_NAME "\nlattice: {size: [2, 2, 2], spacing: 10 nm, "
                              "step: 1, diffusion: {A: 0, B: 0}}\n");
        if ((m->n_warnings > 0) != cases[i].is_told) {
            fail_msg("%s: %s", cases[i].law, m->n_warnings ? m->warnings[0].text : "not told");
        }
        saltus_model_destroy(m);
    }
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *sbml, *yaml, *message, *hint;
} refusal;

#define HEAD "sbml: " FILE_NAME "\n" TWO_LATTICE "  diffusion: {A: 0, R: 0, AR: 0, E: 0}\n"
#define BOTH "  compartments: {cytosol: cytoplasm, mem: membrane}\n"
/* A compartment c, which a rule or an event changes. */
#define CHANGING(rest)                                                                           \
    SBML("",                                                                                     \
         LIST("Compartments",                                                                    \
              "<compartment id=\"c\" constant=\"false\" spatialDimensions=\"3\" size=\"1\"/>\n") \
             LIST("Species", SPECIES("A", "c", "false", "initialAmount=\"9\""))                  \
                 LIST("Parameters", PARAMETER("k", "2") "<parameter id=\"p\" "                   \
                                                        "constant=\"true\"/>\n") rest)
#define SMALL                                                                                  \
    "sbml: " FILE_NAME "\nlattice: {size: [2, 2, 2], spacing: 10 nm, step: 1, diffusion: {A: " \
    "0}}\n"

/* A rate rule is per the file's unit of time, and a lattice's per second. */
static void rates_of_parameters_are_per_second(void **state)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    (void)state;
    write_sbml(SBML(
        "timeUnits=\"ms\"",
        LIST("UnitDefinitions", UNITS("ms", UNIT("second", "1", "-3")))
            LIST("Compartments", COMPARTMENT("c", "3", "size=\"1\""))
                LIST("Species", SPECIES("A", "c", "true", "initialAmount=\"9\""))
                    LIST("Parameters", "<parameter id=\"k\" value=\"3\" "
                                       "constant=\"false\"/>")
                        LIST("Rules", "<rateRule variable=\"k\"><math xmlns=\"http://"
                                      "www.w3.org/1998/Math/MathML\"><cn>2</cn></math>"
                                      "</rateRule>")
                            LIST("Reactions", REACTION("r", "", RIGHT(OF("1", "A")), CI("k")))));
    if (saltus_model_parse_yaml(SMALL, strlen(SMALL), "model.yaml", &m, &err) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(m->network->tables.n_rates, 1);
    const saltus_expr *rate = m->variables[saltus_model_find(m, "k")].rate;
    assert_true(fabs(saltus_expr_value(rate, NULL, 0.0) - 2000.0) < 1e-9);
    saltus_model_destroy(m);
}

#define TIME                      \
    "<csymbol encoding=\"text\" " \
    "definitionURL=\"http://www.sbml.org/sbml/symbols/time\">t</csymbol>"

static const refusal refusals[] = {
    {SBML("timeUnits=\"ms\"",
          LIST("UnitDefinitions", UNITS("ms", UNIT("second", "1", "-3")))
              LIST("Compartments", COMPARTMENT("c", "3", "size=\"1\""))
                  LIST("Species", SPECIES("A", "c", "true", "initialAmount=\"9\""))
                      LIST("Reactions", REACTION("r", "", RIGHT(OF("1", "A")), TIME))),
     SMALL,
     FILE_NAME ": its unit of time is not the second, which a lattice has, and rates or rules read "
               "the time",
     NULL},
    {FINE, "sbml: none.xml\n", "model.yaml:1:7: sbml: none.xml: cannot be read", NULL},
    {FINE, "species: {A: 1}\n" HEAD BOTH,
     "model.yaml:1:1: 'species' cannot stand beside 'sbml': the SBML file says it", ""},
    {"<sbml", HEAD BOTH, FILE_NAME, NULL},
    {FINE, HEAD, "model.yaml:3:3: compartment 'cytosol': there are no sites of type 'cytosol'",
     "known are out, cytoplasm, membrane"},
    {FINE, HEAD "  compartments: {cytosol: cytoplasm}\n",
     "model.yaml:11:17: compartment 'mem': there are no sites of type 'mem'",
     "known are out, cytoplasm, membrane"},
    {FINE, HEAD "  compartments: {cytosl: cytoplasm}\n",
     "model.yaml:11:18: compartments: 'cytosl' is not a compartment", "did you mean 'cytosol'?"},
    {FINE, HEAD "  compartments: {A: cytoplasm}\n",
     "model.yaml:11:18: compartments: 'A' is not a compartment", ""},
    {FINE, HEAD "  compartments: {cytosol: cell}\n",
     "model.yaml:11:27: compartment 'cytosol': there are no sites of type 'cell'",
     "known are out, cytoplasm, membrane"},
    {FINE, HEAD "  compartments: {mem: membrane, mem: out}\n",
     "model.yaml:11:33: compartment 'mem' is given twice", ""},
    {FINE, HEAD BOTH,
     "model.yaml:3:3: reaction 'on': the compartments of its species have no site type in common",
     "say in the lattice's 'reactions' where it happens: 'on: membrane'"},
    {FINE, HEAD BOTH "  reactions: {on: membrane}\n",
     "model.yaml:12:14: reaction 'cut': the compartments of its species have no site type in "
     "common",
     "say in the lattice's 'reactions' where it happens: 'cut: membrane'"},
    {FINE, HEAD BOTH "  reactions: {on: 3 um3}\n",
     "model.yaml:12:19: reaction 'on': '3 um3' is no constant of order 2: its unit does not fit",
     NULL},
    {CHANGING("<listOfRules><assignmentRule variable=\"c\">" MATH(
         CI("k")) "</assignmentRule></listOfRules>\n"),
     SMALL,
     FILE_NAME ":3: compartment 'c': a rule determines its size, which on a lattice is that of a "
               "site",
     ""},
    {CHANGING("<listOfEvents>\n<event id=\"e\" useValuesFromTriggerTime=\"true\"><trigger "
              "initialValue=\"true\" persistent=\"true\">" MATH(AP(
                  "gt", CI("A") CN("3"))) "</trigger><listOfEventAssignments><eventAssignment "
                                          "variable=\"c\">" MATH(CN(
                                              "2")) "</eventAssignment></listOfEventAssignments></"
                                                    "event>\n</listOfEvents>\n"),
     SMALL, FILE_NAME ":13: event 'e': there are no events on a lattice", ""},
    {NULL,
     "species: {A: 1}\nlattice:\n  size: [2, 2, 2]\n  spacing: 10 nm\n  step: 1\n  diffusion: {A: "
     "0}\n  compartments: {c: space}\n",
     "model.yaml:7:17: compartments: they are those of a file that 'sbml' names", ""},
};

static void mistakes_are_refused_with_their_line(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        const refusal *x = &refusals[i];
        saltus_error err = {0};
        saltus_model *m = NULL;
        write_sbml(x->sbml ? x->sbml : "");
        const saltus_status status =
            saltus_model_parse_yaml(x->yaml, strlen(x->yaml), "model.yaml", &m, &err);
        if (status == SALTUS_OK || status != err.code ||
            strncmp(err.message, x->message, strlen(x->message)) != 0 ||
            (x->hint && strcmp(err.hint, x->hint) != 0)) {
            print_error("%s\n status %d\n got      %s (%s)\n expected %s (%s)\n", x->yaml,
                        (int)status, err.message, err.hint, x->message, x->hint ? x->hint : "…");
            ++n_wrong;
        }
        saltus_model_destroy(m);
    }
    assert_int_equal(n_wrong, 0);
}

/* A constant is of mass action. */
static void constants_are_of_mass_action(void **state)
{
    (void)state;
    write_sbml(FINE);
    check_not_frozen(HEAD BOTH "  reactions: {on: membrane, cut: 2 1/s}\n", SALTUS_E_MODEL,
                     FILE_NAME ":24: reaction 'cut': its rate law is not mass action of its "
                               "reactants, so the lattice can give it no constant");
    write_sbml(SBML("", CELL));
    check_not_frozen("sbml: " FILE_NAME "\n" ONE_LATTICE "  reactions: {mm: 2 1/s}\n",
                     SALTUS_E_MODEL,
                     FILE_NAME ":29: reaction 'mm': its rate law is not mass action of its "
                               "reactants, so the lattice can give it no constant");
    saltus_model *m = freeze_with(SBML("", CELL), "sbml: " FILE_NAME "\n" ONE_LATTICE
                                                  "  reactions: {r22: 3, r0: 5}\n");
    assert_true(m->network->lattice->rate[3] == 1.5 && m->network->lattice->rate[0] == 5.0);
    saltus_model_destroy(m);
}

/* A total concentration at time 0 has no meaning in a site; a sum of amounts is what it is. */
static void initial_values_are_of_the_whole_or_of_a_site(void **state)
{
    (void)state;
    write_sbml(CHANGING("<listOfInitialAssignments><initialAssignment symbol=\"p\">" MATH(
        CI("A")) "</initialAssignment></listOfInitialAssignments>\n"));
    check_not_frozen(SMALL, SALTUS_E_UNSUPPORTED,
                     FILE_NAME ":10: parameter 'p': its initial value comes from amounts and from "
                               "sizes of compartments, which on a lattice are those of a site");
    saltus_model *m =
        freeze_with(CHANGING("<listOfInitialAssignments><initialAssignment symbol=\"p\">" MATH(AP(
                        "times", CI("k") CI("c"))) "</initialAssignment><initialAssignment "
                                                   "symbol=\"A\">" MATH(CI("p")) "</"
                                                                                 "initialAssignment"
                                                                                 "></"
                                                                                 "listOfInitialAssi"
                                                                                 "gnments>\n"),
                    SMALL);
    assert_int_equal(m->network->tables.initial_counts[0], 2);
    assert_true(near(m->network->bindings[saltus_model_find(m, "p")].value, 2e-21));
    saltus_model_destroy(m);
}

/* The Min proteins from SBML and by hand: volumes, areas and a membrane one site thick. */
static void the_example_is_that_without_sbml(void **state)
{
    (void)state;
    static const char *const names[] = {"min-proteins", "min-system"};
    const char *source = getenv("SALTUS_SOURCE");
    saltus_model *m[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        char path[1000];
        saltus_error err = {0};
        (void)snprintf(path, sizeof path, "%s/examples/%s.yaml", source ? source : ".", names[i]);
        if (saltus_model_read(path, &m[i], &err) != SALTUS_OK ||
            saltus_model_freeze(m[i], SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
            fail_msg("%s", err.message);
        }
    }
    check_same(m[0], m[1]);
    for (int type = 0; type < m[0]->network->lattice->n_types; ++type) {
        assert_int_equal(m[0]->network->lattice->sites_of[type],
                         m[1]->network->lattice->sites_of[type]);
    }
    assert_int_equal(m[0]->n_warnings, 0);
    assert_string_not_equal(m[0]->sha256, m[1]->sha256);
    saltus_model_destroy(m[0]);
    saltus_model_destroy(m[1]);
}

static int remove_file(void **state)
{
    (void)state;
    (void)unlink(FILE_NAME);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_compartment_is_the_whole_box),
        cmocka_unit_test(reactions_happen_where_compartments_meet),
        cmocka_unit_test(what_a_law_reads_must_be_there),
        cmocka_unit_test(a_file_alone_is_its_model),
        cmocka_unit_test(info_tells_of_compartments),
        cmocka_unit_test(sizes_and_times_have_units),
        cmocka_unit_test(laws_without_sizes_are_told),
        cmocka_unit_test(laws_of_order_1_need_no_size),
        cmocka_unit_test(mistakes_are_refused_with_their_line),
        cmocka_unit_test(constants_are_of_mass_action),
        cmocka_unit_test(initial_values_are_of_the_whole_or_of_a_site),
        cmocka_unit_test(the_example_is_that_without_sbml),
        cmocka_unit_test(rates_of_parameters_are_per_second),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
