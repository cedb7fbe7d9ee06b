/* SBML documents of submodels, of the package comp, to models. */
#include "sbml_text.h"

/* A document of the package comp: its model, and the definitions behind it. */
#define COMPOSED(model, definitions)                                                     \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                   \
    "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" version=\"2\" " \
    "xmlns:comp=\"http://www.sbml.org/sbml/level3/version1/comp/version1\" "             \
    "comp:required=\"true\">\n"                                                          \
    "<model id=\"m\">\n" model "</model>\n<comp:listOfModelDefinitions>\n" definitions   \
    "</comp:listOfModelDefinitions></sbml>\n"
#define DEFINITION(id, body) \
    "<comp:modelDefinition id=\"" id "\">\n" body "</comp:modelDefinition>\n"
#define SUBMODELS(inside) "<comp:listOfSubmodels>\n" inside "</comp:listOfSubmodels>\n"
#define SUBMODEL(id, of) "<comp:submodel comp:id=\"" id "\" comp:modelRef=\"" of "\"/>\n"
#define DECAY                                                                                     \
    DEFINITION(                                                                                   \
        "decay",                                                                                  \
        CELL LIST("Species", SPECIES("X", "true", "initialAmount=\"7\""))                         \
            LIST("Parameters", PARAMETER("k", "true", "value=\"0.5\""))                           \
                LIST("Reactions", REACTION("R", REACTANTS(REFERENCE("X", "stoichiometry=\"1\"")), \
                                           LAW(TIMES("k", "X")))))

static void submodels_become_parts_of_the_model(void **state)
{
    (void)state;
    /* two copies of a decay, a third one in a submodel of its own; k of A is the model's */
    saltus_model *m = read_text(COMPOSED(
        LIST("Parameters", "<parameter id=\"fast\" constant=\"true\" value=\"9\">"
                           "<comp:listOfReplacedElements><comp:replacedElement comp:idRef=\"k\" "
                           "comp:submodelRef=\"A\"/></comp:listOfReplacedElements>"
                           "</parameter>\n")
            SUBMODELS(SUBMODEL("A", "decay") SUBMODEL("B", "decay") SUBMODEL("C", "pair")),
        DECAY DEFINITION("pair", SUBMODELS(SUBMODEL("D", "decay")))));
    assert_string_equal(saltus_model_name(m), "m");
    check_number(variable(m, "A__X")->initial, 7.0);
    check_number(variable(m, "B__k")->initial, 0.5);
    check_number(variable(m, "fast")->initial, 9.0);
    assert_int_equal(saltus_model_find(m, "A__k"), -1);
    assert_int_equal(saltus_model_find(m, "X"), -1);
    assert_int_equal(variable(m, "C__D__X")->line, variable(m, "A__X")->line);
    assert_int_equal(m->n_reactions, 3);
    check_printed(m, reaction(m, "A__R")->law, "fast*A__X");
    check_printed(m, reaction(m, "B__R")->law, "B__k*B__X");
    check_printed(m, reaction(m, "C__D__R")->law, "C__D__k*C__D__X");
    saltus_model_destroy(m);
    m = read_text(COMPOSED(LIST("Parameters", PARAMETER("p", "true", "value=\"3\"")), DECAY));
    assert_int_equal(m->n_variables, 1); /* what is defined and not used is not there */
    saltus_model_destroy(m);
}

/* Deletions, what an element of a submodel replaces, and times and extents of another unit. */
static void submodels_are_changed_as_they_say(void **state)
{
    (void)state;
    saltus_model *m = read_text(COMPOSED(
        LIST("Parameters",
             PARAMETER("minutes", "true",
                       "value=\"60\"") "<parameter id=\"p\" constant=\"true\" value=\"1\">"
                                       "<comp:replacedBy comp:idRef=\"k\" comp:submodelRef=\"B\"/>"
                                       "</parameter>\n")
            SUBMODELS("<comp:submodel comp:id=\"A\" comp:modelRef=\"decay\" "
                      "comp:timeConversionFactor=\"minutes\"/>\n"
                      "<comp:submodel comp:id=\"B\" comp:modelRef=\"decay\"><comp:listOfDeletions>"
                      "<comp:deletion comp:idRef=\"R\"/></comp:listOfDeletions></comp:submodel>\n"),
        DECAY));
    assert_int_equal(m->n_reactions, 1);
    check_printed(m, reaction(m, "A__R")->law, "1/minutes*(A__k*A__X)");
    check_number(variable(m, "p")->initial, 0.5);
    assert_int_equal(saltus_model_find(m, "B__k"), -1);
    saltus_model_destroy(m);
}

/* What a model says of all its species and compartments, libsbml drops with the model. */
static void submodels_keep_their_units_and_factors(void **state)
{
    static const char dozen[] =
        "<listOfUnitDefinitions><unitDefinition id=\"dozen\"><listOfUnits><unit kind=\"item\" "
        "exponent=\"1\" scale=\"0\" multiplier=\"12\"/></listOfUnits></unitDefinition>"
        "</listOfUnitDefinitions>\n";
    static const char factors[] = LIST("Parameters", PARAMETER("f", "true", "value=\"3\"")
                                                         PARAMETER("g", "true", "value=\"5\""));
    static const char reaction_of_both[] =
        LIST("Reactions", REACTION("R",
                                   REACTANTS(REFERENCE("X", "stoichiometry=\"1\"")
                                                 REFERENCE("Y", "stoichiometry=\"1\"")),
                                   LAW(CI("X"))));
    static const char species[] =
        LIST("Species", SPECIES("X", "true", "initialAmount=\"2\"")
                            SPECIES("Y", "true",
                                    "initialAmount=\"2\" substanceUnits=\"item\" "
                                    "conversionFactor=\"g\""));
    char text[5000];
    (void)state;
    (void)snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" "
        "version=\"2\" "
        "xmlns:comp=\"http://www.sbml.org/sbml/level3/version1/comp/version1\" "
        "comp:required=\"true\"><model id=\"m\" conversionFactor=\"f\">\n" //
        CELL "%s%s%s" SUBMODELS(SUBMODEL("A", "own") SUBMODEL(
            "B", "none")) "</model>"
                          "<comp:listOfModelDefinitions>"
                          "<comp:modelDefinition id=\"own\" conversionFactor=\"f\" "
                          "substanceUnits=\"dozen\" volumeUnits=\"dozen\">%s" CELL "%s%s%s"
                          "</comp:modelDefinition>" DEFINITION(
                              "none", CELL "%s%s%s") "</comp:listOfModelDefinitions></sbml>\n",
        species, factors, reaction_of_both, dozen, species, factors, reaction_of_both, species,
        factors, reaction_of_both);
    saltus_model *m = read_text(text);
    check_number(variable(m, "X")->initial, 2.0);
    check_number(variable(m, "A__X")->initial, 24.0);
    check_number(variable(m, "A__Y")->initial, 2.0);
    check_number(variable(m, "B__X")->initial, 2.0);
    check_participants(m, reaction(m, "R")->reactants, 2, "3 X + 5 Y");
    check_participants(m, reaction(m, "B__R")->reactants, 2, "1 B__X + 5 B__Y");
    assert_true(variable(m, "cell")->size_unit == 1e-3);
    assert_true(variable(m, "A__cell")->size_unit == 0.0); /* that of a number is none */
    saltus_model_destroy(m);
}

static void functions_of_submodels_call_their_own(void **state)
{
#define TWICE(factor)                                                                              \
    LIST(                                                                                          \
        "FunctionDefinitions",                                                                     \
        "<functionDefinition id=\"g\">" MATH("<lambda><bvar>" CI("x") "</bvar>" APPLY(             \
            "times",                                                                               \
            CI("x") CN(                                                                            \
                factor)) "</lambda>") "</functionDefinition>\n"                                    \
                                      "<functionDefinition id=\"f__2\">" MATH("<lambda><bvar>" CI( \
                                          "y") "</bvar>"                                           \
                                               "<apply>" CI("g") CI(                               \
                                                   "y") "</apply>"                                 \
                                                        "</lambda>") "</functionDefinition>\n")    \
    LIST("Parameters", PARAMETER("p", "false", ""))                                                \
    LIST("InitialAssignments", INITIAL("p", "<apply>" CI("f__2") CN("10") "</apply>"))
    (void)state;
    saltus_model *m =
        read_text(COMPOSED(TWICE("2") SUBMODELS(SUBMODEL("A", "three")),
                           DEFINITION("three", TWICE("3") SUBMODELS(SUBMODEL("B", "four")))
                               DEFINITION("four", TWICE("4"))));
    check_printed(m, variable(m, "p")->initial, "10*2");
    check_printed(m, variable(m, "A__p")->initial, "10*3");
    check_printed(m, variable(m, "A__B__p")->initial, "10*4");
    saltus_model_destroy(m);
#undef TWICE
}

#define REPLACES(id, constant, value, of, in, factor)                         \
    "<parameter id=\"" id "\" constant=\"" constant "\" value=\"" value "\">" \
    "<comp:listOfReplacedElements><comp:replacedElement comp:idRef=\"" of     \
    "\" comp:submodelRef=\"" in "\"" factor "/></comp:listOfReplacedElements></parameter>\n"
#define TIMED(id, of, factor)                               \
    "<comp:submodel comp:id=\"" id "\" comp:modelRef=\"" of \
    "\" comp:timeConversionFactor=\"" factor "\"/>\n"
#define FUNCTION(id, body)         \
    "<functionDefinition id=\"" id \
    "\">" MATH("<lambda><bvar>" CI("x") "</bvar>" body "</lambda>") "</functionDefinition>\n"
#define CALL(id, argument) "<apply>" CI(id) argument "</apply>"
#define FORMULA(id, math) "<assignmentRule variable=\"" id "\">" MATH(math) "</assignmentRule>\n"
#define NOW                       \
    "<csymbol encoding=\"text\" " \
    "definitionURL=\"http://www.sbml.org/sbml/symbols/time\">t</csymbol>"
#define OWN_RATE_OF(id)                                                                            \
    "<apply><csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/rateOf\">" \
    "r</csymbol>" CI(id) "</apply>"

/* Names of the model, which flattening writes into laws, are not the local parameters that are
 * called so. */
static void local_parameters_of_submodels_are_their_own(void **state)
{
    (void)state;
    saltus_model *m = read_text(COMPOSED(
        LIST("Parameters",
             PARAMETER("k", "true", "value=\"60\"") REPLACES("fast", "true", "9", "slow", "A", ""))
            SUBMODELS(TIMED("A", "own", "k")),
        DEFINITION("own",
                   CELL LIST("Species", SPECIES("X", "true", "initialAmount=\"7\""))
                       LIST("Parameters", PARAMETER("slow", "true", "value=\"2\"")) LIST(
                           "Reactions",
                           REACTION("R", REACTANTS(REFERENCE("X", "stoichiometry=\"1\"")),
                                    MATH(APPLY("times", CI("k") CI("X") CI("slow") CI("fast")))
                                        LIST("LocalParameters",
                                             "<localParameter id=\"k\" value=\"0.5\"/>"
                                             "<localParameter id=\"fast\" value=\"0.25\"/>"))))));
    check_printed(m, reaction(m, "A__R")->law, "1/k*(A__R.k*A__X*fast*A__R.fast)");
    check_number(variable(m, "A__R.k")->initial, 0.5);
    check_number(variable(m, "A__R.fast")->initial, 0.25);
    saltus_model_destroy(m);
}

/* A submodel has its own time in functions, and in what is per time. */
static void functions_and_rates_of_submodels_have_their_time(void **state)
{
#define CLOCK                                                                                  \
    LIST("FunctionDefinitions",                                                                \
         FUNCTION("now", APPLY("times", CI("x") NOW)) FUNCTION("twice", CALL("now", CN("2")))) \
    LIST("Parameters", PARAMETER("a", "false", "") PARAMETER("b", "false", "") PARAMETER(      \
                           "c", "false", "value=\"1\"") PARAMETER("h", "true", "value=\"3\"")) \
    LIST("Rules",                                                                              \
         FORMULA("a", CALL("now", CN("7"))) FORMULA(                                           \
             "b", CALL("twice", NOW)) "<rateRule variable=\"c\">" MATH(CN("5")) "</rateRule>\n")
    (void)state;
    saltus_model *m = read_text(COMPOSED(
        CLOCK SUBMODELS(TIMED("A", "one", "h")),
        DEFINITION("one", CLOCK SUBMODELS(SUBMODEL("B", "two") TIMED("C", "two", "h")))
            DEFINITION("two", CLOCK LIST("InitialAssignments", INITIAL("h", OWN_RATE_OF("c"))))));
    check_printed(m, variable(m, "a")->rule, "7*time");
    check_printed(m, variable(m, "A__a")->rule, "7*(time/h)");
    check_printed(m, variable(m, "A__b")->rule, "2*(time/h)");
    check_printed(m, variable(m, "A__B__b")->rule, "2*(time/h)");
    check_printed(m, variable(m, "A__C__b")->rule, "2*(time/A__h_times_h)");
    check_printed(m, variable(m, "A__c")->rate, "5/h");
    check_printed(m, variable(m, "A__B__h")->initial, "5/h*h");
    check_printed(m, variable(m, "A__C__h")->initial, "5/A__h_times_h*A__h_times_h");
    saltus_model_destroy(m);
#undef CLOCK
}

/* A function calls those of its submodel, and is refused where one of them is gone. */
static void functions_of_submodels_call_no_others(void **state)
{
#define CALLS                                                                             \
    LIST("FunctionDefinitions", FUNCTION("g", CN("3")) FUNCTION("f", CALL("g", CI("x")))) \
    LIST("Parameters", PARAMETER("p", "false", "")) LIST("Rules", FORMULA("p", CALL("f", CN("1"))))
    (void)state;
    check_refused(
        COMPOSED(
            LIST("FunctionDefinitions",
                 FUNCTION("g",
                          CN("100")) "<functionDefinition id=\"h\">"
                                     "<comp:listOfReplacedElements><comp:replacedElement "
                                     "comp:idRef=\"g\" "
                                     "comp:submodelRef=\"A\"/></comp:listOfReplacedElements>" MATH(
                                         "<lambda><bvar>" CI("x") "</bvar>" CN(
                                             "7") "</lambda>") "</functionDefinition>\n")
                SUBMODELS(SUBMODEL("A", "calls")),
            DEFINITION("calls", CALLS)),
        SALTUS_E_UNSUPPORTED, "uses function 'A__f', which calls 'g'", NULL);
    check_refused(
        COMPOSED(
            LIST("FunctionDefinitions",
                 FUNCTION(
                     "g",
                     CN("100")) "<functionDefinition id=\"f\">"
                                "<comp:replacedBy comp:idRef=\"f\" comp:submodelRef=\"A\"/>" MATH(
                                    "<lambda><bvar>" CI("x") "</bvar>" CN(
                                        "7") "</lambda>") "</functionDefinition>\n")
                SUBMODELS(SUBMODEL("A", "calls")),
            DEFINITION("calls", CALLS)),
        SALTUS_E_UNSUPPORTED, "uses function 'f', which calls 'g'", NULL);
    /* what programs write for distributions */
    saltus_model *m = read_text(COMPOSED(
        SUBMODELS(SUBMODEL("A", "draws")),
        DEFINITION("draws", LIST("FunctionDefinitions", FUNCTION("exponential", "<notanumber/>"))
                                LIST("Parameters", PARAMETER("p", "true", ""))
                                    LIST("InitialAssignments",
                                         INITIAL("p", CALL("exponential", CN("4")))))));
    check_printed(m, variable(m, "A__p")->initial, "exponential(4)");
    saltus_model_destroy(m);
#undef CALLS
}

/* x of the submodel B of A, and its factor y. */
static void check_deeper_factors(void)
{
#define NESTED(port, of)                                                                        \
    COMPOSED(                                                                                   \
        LIST("Parameters",                                                                      \
             PARAMETER("c", "true",                                                             \
                       "value=\"3\"") "<parameter id=\"p\" constant=\"true\" value=\"2\">"      \
                                      "<comp:listOfReplacedElements><comp:replacedElement " of  \
                                      " comp:submodelRef=\"A\" comp:conversionFactor=\"c\">%s"  \
                                      "</comp:replacedElement></comp:listOfReplacedElements></" \
                                      "parameter>\n") SUBMODELS(SUBMODEL("A", "one")),          \
        DEFINITION("one", SUBMODELS(SUBMODEL("B", "two")) port) DEFINITION(                     \
            "two",                                                                              \
            LIST("Parameters",                                                                  \
                 PARAMETER("x", "true",                                                         \
                           "value=\"1\"") "<parameter metaid=\"my\" id=\"y\" value=\"1\" "      \
                                          "constant=\"true\"/>\n" PARAMETER("z", "false", ""))  \
                LIST("Rules", FORMULA("z", CI("x"))) SUBMODELS(TIMED("C", "none", "y")))        \
            DEFINITION("none", ""))
#define PORT(of)                                                         \
    "<comp:listOfPorts><comp:port comp:id=\"port\" comp:idRef=\"B\">" of \
    "</comp:port></comp:listOfPorts>\n"
#define INNER(of) "<comp:sBaseRef comp:" of "/>"
    static const char direct[] = NESTED("", "comp:idRef=\"B\"");
    static const char *const harmless[] = {INNER("idRef=\"x\""), NULL};
    static const char *const factors[] = {INNER("idRef=\"y\""), INNER("metaIdRef=\"my\""), NULL};
    char text[4000];
    for (int i = 0; harmless[i]; ++i) {
        (void)snprintf(text, sizeof text, direct, harmless[i]);
        saltus_model *m = read_text(text);
        check_printed(m, variable(m, "A__B__z")->rule, "p/c");
        saltus_model_destroy(m);
    }
    for (int i = 0; factors[i]; ++i) {
        (void)snprintf(text, sizeof text, direct, factors[i]);
        check_refused(text, SALTUS_E_UNSUPPORTED, "and what it replaces is one there", NULL);
    }
    (void)snprintf(text, sizeof text, NESTED(PORT(INNER("idRef=\"y\"")), "comp:portRef=\"port\""),
                   "");
    check_refused(text, SALTUS_E_UNSUPPORTED, "and what it replaces is one there", NULL);
    (void)snprintf(text, sizeof text, NESTED(PORT(INNER("idRef=\"x\"")), "comp:portRef=\"port\""),
                   "");
    saltus_model_destroy(read_text(text));
#undef NESTED
#undef PORT
#undef INNER
}

/* libsbml writes p/c for each p of a submodel, wherever it comes from. */
static void factors_that_would_be_mixed_up_are_refused(void **state)
{
#define BY(id, of, factor) REPLACES(id, "true", "2", of, "A", factor)
#define BY_C " comp:conversionFactor=\"c\""
#define BY_P " comp:conversionFactor=\"p\""
#define C PARAMETER("c", "true", "value=\"3\"")
#define TWO                                                                                    \
    DEFINITION("two", LIST("Parameters", PARAMETER("x", "true", "") PARAMETER("y", "true", "") \
                                             PARAMETER("z", "false", ""))                      \
                          LIST("Rules", FORMULA("z", APPLY("plus", CI("x") CI("y")))))
    char text[4000];
    (void)state;
    for (int i = 0; i < 2; ++i) { /* the other one by a factor, too, and without */
        (void)snprintf(
            text, sizeof text,
            COMPOSED(LIST("Parameters", C "<parameter id=\"p\" constant=\"true\" value=\"2\">"
                                          "<comp:listOfReplacedElements>"
                                          "<comp:replacedElement comp:idRef=\"x\" "
                                          "comp:submodelRef=\"A\" comp:conversionFactor=\"c\"/>"
                                          "<comp:replacedElement comp:idRef=\"y\" "
                                          "comp:submodelRef=\"A\"%s/>"
                                          "</comp:listOfReplacedElements></parameter>\n")
                         SUBMODELS(SUBMODEL("A", "two")),
                     TWO),
            i == 0 ? BY_C : "");
        check_refused(
            text, SALTUS_E_UNSUPPORTED,
            "'p' replaces something of submodel 'A' by a conversion factor, and something "
            "else, which is not supported",
            NULL);
    }
    saltus_model *m = read_text(COMPOSED(LIST("Parameters", C BY("p", "x", BY_C) BY("q", "y", BY_C))
                                             SUBMODELS(SUBMODEL("A", "two")),
                                         TWO));
    check_printed(m, variable(m, "A__z")->rule, "p/c + q/c");
    saltus_model_destroy(m);
    /* x of A is a factor in it */
    static const char chain[] =
        COMPOSED(LIST("Parameters", C BY("p", "x", BY_C)) SUBMODELS(SUBMODEL("A", "one")),
                 DEFINITION("one", LIST("Parameters", PARAMETER("x", "true", "value=\"1\""))
                                       SUBMODELS(TIMED("B", "two", "x"))) TWO);
    check_refused(chain, SALTUS_E_UNSUPPORTED,
                  "and what it replaces is one there, which is not supported", NULL);
    check_deeper_factors();
    check_refused(COMPOSED(LIST("Parameters", C BY("p", "x", BY_C) BY("q", "y", BY_P))
                               SUBMODELS(SUBMODEL("A", "two")),
                           TWO),
                  SALTUS_E_UNSUPPORTED, "and is one there, which is not supported", NULL);
    check_refused(
        COMPOSED(LIST("Parameters", C BY("p", "x", BY_C)) SUBMODELS(TIMED("A", "two", "p")), TWO),
        SALTUS_E_UNSUPPORTED, "and is one there, which is not supported", NULL);
#undef BY
#undef BY_C
#undef BY_P
#undef C
#undef TWO
}

static void submodels_that_cannot_be_are_refused(void **state)
{
    (void)state;
    check_refused(COMPOSED(SUBMODELS(SUBMODEL("A", "none")), DECAY), SALTUS_E_MODEL,
                  "model.xml:4: submodel 'A': there is no model 'none'", NULL);
    check_refused(COMPOSED(SUBMODELS(SUBMODEL("A", "decay")), DECAY DECAY), SALTUS_E_MODEL,
                  "model 'decay': that name is defined twice", NULL);
    check_refused(COMPOSED(SUBMODELS(SUBMODEL("A", "x")),
                           DEFINITION("x", SUBMODELS(SUBMODEL("B", "y")))
                               DEFINITION("y", SUBMODELS(SUBMODEL("C", "x")))),
                  SALTUS_E_UNSUPPORTED, "nested more than 100 deep, contain themselves", NULL);
    check_refused(COMPOSED(SUBMODELS(SUBMODEL("A", "m")), DECAY), SALTUS_E_UNSUPPORTED,
                  "submodel 'A': submodels are nested more than 100 deep", NULL);
    check_refused(COMPOSED(SUBMODELS(SUBMODEL("A", "far")), DECAY
                           "</comp:listOfModelDefinitions><comp:listOfExternalModelDefinitions>"
                           "<comp:externalModelDefinition comp:id=\"far\" comp:source=\"far.xml\"/>"
                           "</comp:listOfExternalModelDefinitions>"
                           "<comp:listOfModelDefinitions>"),
                  SALTUS_E_UNSUPPORTED, "its model 'far' is in another file", "flatten");
    check_refused(COMPOSED(LIST("Parameters", "<parameter id=\"p\" constant=\"true\" value=\"9\">"
                                              "<comp:listOfReplacedElements><comp:replacedElement "
                                              "comp:idRef=\"q\" comp:submodelRef=\"A\"/>"
                                              "</comp:listOfReplacedElements></parameter>\n")
                               SUBMODELS(SUBMODEL("A", "decay")),
                           DECAY),
                  SALTUS_E_MODEL, "the submodels cannot be flattened: ", NULL);
}

/* libsbml crashes on them. */
static void submodels_have_the_prefix_comp(void **state)
{
    static const char head[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\" "
        "xmlns:c=\"http://www.sbml.org/sbml/level3/version1/comp/version1\" c:required=\"true\">"
        "<model id=\"m\"/></sbml>";
    (void)state;
    check_refused(head, SALTUS_E_UNSUPPORTED, "model.xml:2: the name space of the package comp",
                  NULL);
}

/* Thirty lines that ask for 2^30 copies. */
static void submodels_without_end_are_refused(void **state)
{
    enum { LEVELS = 30 };
    static const char empty[] = COMPOSED(SUBMODELS(SUBMODEL("A", "d0")), "");
    char *text = malloc(sizeof empty + 300 * LEVELS), *at = text;
    const char *behind = strstr(empty, "</comp:listOfModelDefinitions>");
    (void)state;
    assert_non_null(text);
    at += sprintf(at, "%.*s", (int)(behind - empty), empty);
    for (int i = 0; i < LEVELS; ++i) {
        at += sprintf(at, DEFINITION("d%d", SUBMODELS(SUBMODEL("A", "d%d") SUBMODEL("B", "d%d"))),
                      i, i + 1, i + 1);
    }
    at += sprintf(at, DEFINITION("d%d", ""), LEVELS);
    (void)sprintf(at, "%s", behind);
    check_refused(text, SALTUS_E_UNSUPPORTED, "more than 1000000 parts", NULL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submodels_become_parts_of_the_model),
        cmocka_unit_test(submodels_are_changed_as_they_say),
        cmocka_unit_test(submodels_keep_their_units_and_factors),
        cmocka_unit_test(functions_of_submodels_call_their_own),
        cmocka_unit_test(functions_of_submodels_call_no_others),
        cmocka_unit_test(local_parameters_of_submodels_are_their_own),
        cmocka_unit_test(functions_and_rates_of_submodels_have_their_time),
        cmocka_unit_test(factors_that_would_be_mixed_up_are_refused),
        cmocka_unit_test(submodels_that_cannot_be_are_refused),
        cmocka_unit_test(submodels_have_the_prefix_comp),
        cmocka_unit_test(submodels_without_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
