/* SBML documents to models: variables, units, reactions, rules, events, and refusals. */
#include "sbml_text.h"

#include "core/file.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CI(name) "<ci>" name "</ci>"
#define CN(number) "<cn>" number "</cn>"
#define APPLY(name, args) "<apply><" name "/>" args "</apply>"
#define TIMES(a, b) APPLY("times", CI(a) CI(b))
#define REACTANTS(inside) "<listOfReactants>" inside "</listOfReactants>"
#define PRODUCTS(inside) "<listOfProducts>" inside "</listOfProducts>"
#define LAW(math) MATH(math)
#define INITIAL(id, math) \
    "<initialAssignment symbol=\"" id "\">" MATH(math) "</initialAssignment>\n"

static void check_number(const saltus_expr *e, double expected)
{
    assert_non_null(e);
    assert_int_equal(e->op, SALTUS_OP_CONST);
    assert_true(e->value == expected);
}

static void check_participants(const saltus_model *m, const saltus_participant *list, int n,
                               const char *expected)
{
    char text[200] = "";
    for (int i = 0; i < n; ++i) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.9g %s", i ? " + " : "",
                       saltus_molecules(&list[i]), m->variables[list[i].variable].id);
    }
    assert_string_equal(text, expected);
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

static void document_gives_name_path_lines_and_labels(void **state)
{
    (void)state;
    const char *text =
        L3(CELL LIST("Species", SPECIES("X", "true", "name=\"protein X\" initialAmount=\"10\""))
               LIST("Parameters", PARAMETER("k", "true", "value=\"0.5\""))
                   LIST("Reactions", REACTION("R", REACTANTS(REFERENCE("X", "stoichiometry=\"1\"")),
                                              LAW(TIMES("k", "X")))));
    char sha[65];
    saltus_sha256_hex(text, strlen(text), sha);
    saltus_model *m = read_text(text);
    assert_string_equal(saltus_model_name(m), "m");
    assert_string_equal(saltus_model_sha256(m), sha);
    assert_string_equal(m->path, "model.xml");
    assert_int_equal(m->n_variables, 3);
    assert_int_equal(variable(m, "cell")->kind, SALTUS_KIND_COMPARTMENT);
    assert_int_equal(variable(m, "X")->kind, SALTUS_KIND_SPECIES);
    assert_int_equal(variable(m, "X")->line, 6);
    assert_string_equal(variable(m, "X")->label, "protein X");
    assert_null(variable(m, "k")->label);
    check_number(variable(m, "X")->initial, 10.0);
    assert_true(variable(m, "k")->constant);
    assert_int_equal(reaction(m, "R")->line, 12);
    assert_false(reaction(m, "R")->mass_action);
    check_printed(m, reaction(m, "R")->law, "k*X");
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
}

static void model_without_id_is_called_by_its_file(void **state)
{
    (void)state;
    static const char text[] =
        "<sbml xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" version=\"4\">\n"
        "<model><listOfParameters>\n<parameter id=\"k\" value=\"1\"/></listOfParameters></model>"
        "</sbml>";
    saltus_model *m = NULL;
    assert_int_equal(saltus_model_parse_sbml(text, strlen(text), "a/b.xml", &m, NULL), SALTUS_OK);
    assert_string_equal(saltus_model_name(m), "b.xml");
    assert_int_equal(variable(m, "k")->line, 3); /* also without an XML declaration */
    saltus_model_destroy(m);
}

static void byte_order_mark_and_plain_declaration_are_taken(void **state)
{
    (void)state;
    saltus_model *m =
        read_text("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<sbml "
                  "xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" version=\"4\">\n"
                  "<model id=\"q\"/></sbml>");
    assert_string_equal(saltus_model_name(m), "q");
    saltus_model_destroy(m);
}

static void what_is_no_sbml_is_refused(void **state)
{
    (void)state;
    check_refused("", SALTUS_E_SYNTAX, "model.xml: the file is empty", NULL);
    check_refused(" \n\n", SALTUS_E_SYNTAX, "the file is empty", NULL);
    check_refused("hello", SALTUS_E_SYNTAX, "model.xml:1:", NULL);
    check_refused("<<<&\"", SALTUS_E_SYNTAX, "model.xml:1:", NULL);
    check_refused("<?xml version=\"1.0\"?>\n<html/>", SALTUS_E_SYNTAX,
                  "model.xml:2: not an SBML document", NULL);
    check_refused("<sbml xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" "
                  "version=\"4\"/>",
                  SALTUS_E_MODEL, "must contain a <model> element", NULL);
    check_refused("<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n<a>&b;</a>",
                  SALTUS_E_SYNTAX, "model.xml:2: SBML has no document type declarations", NULL);
    check_refused("<?xml version=\"1.0\" encoding=\"UTF-7\"?><sbml/>", SALTUS_E_UNSUPPORTED,
                  "model.xml:1: the encoding 'UTF-7' is not supported", NULL);
    check_refused("<sbml xmlns=\"http://www.sbml.org/sbml/level3/version4\" level='2' "
                  "version = \"4\"><model/></sbml>",
                  SALTUS_E_UNSUPPORTED,
                  "model.xml:1: SBML Level 2 Version 4 with the name space "
                  "'http://www.sbml.org/sbml/level3/version4' is not known",
                  NULL);
    static const char *const strange[] = {"http://www.sbml.org/sbml/level3/version1/core",
                                          "&#104;ttp://www.sbml.org/sbml/level3/version1/core"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "<sbml xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" "
                       "version=\"4\">\n<model xmlns:a=\"%s\"/></sbml>",
                       strange[i]);
        check_refused(text, SALTUS_E_SYNTAX, "model.xml:2: the name space '", NULL);
    }
    saltus_error err = {.code = SALTUS_OK};
    saltus_model *m = NULL;
    assert_int_equal(saltus_model_parse_sbml("<a\0b/>", 6, "model.xml", &m, &err), SALTUS_E_SYNTAX);
    assert_non_null(strstr(err.message, "zero byte"));
    assert_int_equal(saltus_model_parse_sbml(NULL, 0, NULL, &m, NULL), SALTUS_E_SYNTAX);
    err.code = SALTUS_OK;
    assert_int_equal(saltus_model_read_sbml("/nowhere/model.xml", &m, &err), SALTUS_E_IO);
    assert_null(m);
}

/* Pictures and tables of other programs, left in a file, as elements, as attributes, in notes and
 * annotations: not read, and told once. Lines stay what they were. */
static void other_name_spaces_are_skipped(void **state)
{
    static const char *const warning =
        "model.xml:3: elements and attributes of other name spaces are skipped, such as those of "
        "'http://projects.eml.org/bcb/sbml/level2'";
    (void)state;
    saltus_model *m = read_text(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
        "xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" version=\"4\" "
        "xmlns:layout=\"http://projects.eml.org/bcb/sbml/level2\" "
        "xmlns:r=\"http://www.sbml.org/sbml/level3/version1/render/version1\">\n"
        "<model id=\"m\" layout:size=\"3\">\n"
        "<notes><body xmlns=\"http://www.w3.org/1999/xhtml\"><p>a &lt; b</p></body></notes>\n"
        "<annotation><r:styles r:x=\"1\"/></annotation>\n"
        "<layout:listOfLayouts><layout:layout>\n<!-- > --><![CDATA[</model>]]></layout:layout>"
        "</layout:listOfLayouts>\n"
        "<listOfParameters><parameter id=\"p\" value=\"7\" r:color=\"red\"/></listOfParameters>"
        "\n<listOfPictures xmlns=\"urn:pictures\"><parameter id=\"p\"/></listOfPictures>\n"
        "</model></sbml>");
    assert_int_equal(variable(m, "p")->line, 8);
    assert_int_equal(saltus_model_n_warnings(m), 1);
    assert_string_equal(saltus_model_warning(m, 0), warning);
    saltus_model_destroy(m);
    check_refused("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
                  "xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" "
                  "version=\"4\">\n<model id=\"m\"><listOfPictures/></model></sbml>",
                  SALTUS_E_MODEL, "model.xml:3:", NULL);
}

/* What looks like a comment and is none hides nothing. */
static void comments_hide_nothing(void **state)
{
    static const char *const cases[][3] = {
        {"<!-->", "<!DOCTYPE a [<!ENTITY b \"c\">]>", "-->"},
        {"<!--->", "<!DOCTYPE a [<!ENTITY b \"c\">]>", "-->"},
        {"<?>", "<!DOCTYPE a>", "?>"},
        {"<?? ?>", "<!DOCTYPE a>", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        /* behind a comment that is one after all, and before one that hides the rest */
        char text[600];
        (void)snprintf(text, sizeof text, "<?xml version=\"1.0\"?>\n%s --> %s<!-- %s<sbml/>",
                       cases[i][0], cases[i][1], cases[i][2]);
        check_refused(text, SALTUS_E_SYNTAX, "model.xml:2: ", NULL);
    }
    enum { DEEP = 200000 };
    char *text = malloc(20 * DEEP);
    assert_non_null(text);
    char *at = text + sprintf(text, "<?xml version=\"1.0\"?><!--> --><sbml "
                                    "xmlns=\"http://www.sbml.org/sbml/level2/version4\" "
                                    "level=\"2\" version=\"4\"><!-->-->");
    for (int i = 0; i < DEEP; ++i) {
        at += sprintf(at, "<model>");
    }
    (void)sprintf(at, "<!-- -->");
    check_refused(text, SALTUS_E_UNSUPPORTED, "nested more than 1000 deep", NULL);
    free(text);
}

/* ------------------------------------------------------------------------------------------------
 * Submodels
 */

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

static void required_packages_are_refused(void **state)
{
    (void)state;
    check_refused(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" "
        "xmlns:zork=\"http://www.sbml.org/sbml/level3/version1/zork/version1\" level=\"3\" "
        "version=\"1\" zork:required=\"true\"><model id=\"m\"/></sbml>",
        SALTUS_E_UNSUPPORTED, "the SBML package 'zork'", NULL);
    saltus_model *m =
        read_text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
                  "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" "
                  "xmlns:fbc=\"http://www.sbml.org/sbml/level3/version1/fbc/version2\" level=\"3\" "
                  "version=\"1\" fbc:required=\"false\"><model id=\"m\"/></sbml>");
    saltus_model_destroy(m);
    m = read_text(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" xmlns:e=\"http://"
        "www.sbml.org/sbml/level3/version1/l3v2extendedmath/version1\" level=\"3\" "
        "version=\"1\" e:required=\"true\"><model id=\"m\">" LIST("Parameters",
                                                                  PARAMETER("p", "false", ""))
            LIST("Rules", ASSIGNMENT_RULE("p", APPLY("max", CN("1") CN("2")))) "</model></sbml>");
    check_printed(m, variable(m, "p")->rule, "max(1, 2)");
    saltus_model_destroy(m);
}

/* What libsbml does not know in a package that means nothing here is no error. */
static void packages_without_meaning_are_not_read(void **state)
{
    (void)state;
    saltus_model *m = read_text(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" "
        "xmlns:layout=\"http://www.sbml.org/sbml/level3/version1/layout/version1\" "
        "xmlns:render=\"http://www.sbml.org/sbml/level3/version1/render/version1\" level=\"3\" "
        "version=\"1\" layout:required=\"false\" render:required=\"false\"><model id=\"m\">"
        "<listOfParameters><parameter id=\"k\" value=\"2\" constant=\"true\"/></listOfParameters>"
        "<layout:listOfLayouts><render:listOfGlobalRenderInformation>"
        "<render:globalRenderInformation render:id=\"x\"/></render:listOfGlobalRenderInformation>"
        "</layout:listOfLayouts></model></sbml>");
    check_number(variable(m, "k")->initial, 2.0);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------------
 * Compartments, species, parameters
 */

static void amounts_and_concentrations_become_molecules(void **state)
{
    (void)state;
    saltus_model *m = read_text(L3(
        CELL LIST("Species", SPECIES("A", "true", "initialAmount=\"10\"")
                                 SPECIES("B", "true", "initialConcentration=\"10\"")
                                     SPECIES("C", "false", "initialAmount=\"10\"")
                                         SPECIES("D", "false", "initialConcentration=\"10\"")
                                             SPECIES("E", "false", "") SPECIES("F", "false", "")
                                                 SPECIES("G", "true", "") SPECIES("H", "false", "")
                                                     SPECIES("I", "true", ""))
            LIST("Parameters", PARAMETER("y", "false", "")) LIST(
                "InitialAssignments",
                INITIAL("E", APPLY("plus", CI("A") CI("C"))) INITIAL("G", CI("D")))
                LIST("Rules", ASSIGNMENT_RULE("y", APPLY("plus", CI("B") CI("D")))
                                  ASSIGNMENT_RULE("H", CI("D")) ASSIGNMENT_RULE("I", CI("D")))));
    check_number(variable(m, "A")->initial, 10.0);
    check_printed(m, variable(m, "B")->initial, "10*cell");
    check_number(variable(m, "C")->initial, 10.0);
    check_printed(m, variable(m, "D")->initial, "10*cell");
    check_printed(m, variable(m, "E")->initial, "(A + C/cell)*cell");
    check_printed(m, variable(m, "G")->initial, "D/cell");
    assert_null(variable(m, "F")->initial);
    check_printed(m, variable(m, "y")->rule, "B + D/cell");
    check_printed(m, variable(m, "H")->rule, "D/cell*cell");
    check_printed(m, variable(m, "I")->rule, "D/cell");
    assert_true(variable(m, "H")->observable && variable(m, "y")->observable);
    assert_false(variable(m, "D")->observable);
    assert_null(variable(m, "H")->initial);
    assert_int_equal(variable(m, "D")->compartment, saltus_model_find(m, "cell"));
    saltus_model_destroy(m);
}

static void compartment_without_size_is_one(void **state)
{
    (void)state;
#define SIZELESS(only, more)                                                \
    L3(LIST("Compartments", COMPARTMENT("cell", "spatialDimensions=\"3\"")) \
           LIST("Species", SPECIES("X", only, "initialAmount=\"1\""))       \
               LIST("Parameters", PARAMETER("y", "false", ""))              \
                   LIST("Rules", ASSIGNMENT_RULE("y", TIMES("X", "X"))) more)
    saltus_model *m = read_text(SIZELESS("true", ""));
    check_number(variable(m, "cell")->initial, 1.0);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
    m = read_text(SIZELESS("false", ""));
    check_number(variable(m, "cell")->initial, 1.0);
    assert_int_equal(saltus_model_n_warnings(m), 1);
    assert_string_equal(saltus_model_warning(m, 0),
                        "model.xml:3: compartment 'cell' has no size; taken as 1");
    saltus_model_destroy(m);
    m = read_text(L3(LIST("Compartments", COMPARTMENT("cell", "spatialDimensions=\"3\""))
                         LIST("Species", SPECIES("X", "false", "initialConcentration=\"1\""))
                             LIST("InitialAssignments", INITIAL("cell", CN("3")))));
    check_number(variable(m, "cell")->initial, 3.0);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
}

static void species_in_a_point_is_an_amount(void **state)
{
    (void)state;
    saltus_model *m =
        read_text(L3(LIST("Compartments", COMPARTMENT("cell", "spatialDimensions=\"0\""))
                         LIST("Species", SPECIES("X", "false", "initialAmount=\"5\""))
                             LIST("Parameters", PARAMETER("y", "false", ""))
                                 LIST("Rules", ASSIGNMENT_RULE("y", CI("X")))));
    check_printed(m, variable(m, "y")->rule, "X");
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
    m = read_text(L3(LIST("Compartments", COMPARTMENT("cell", "spatialDimensions=\"2.5\" "
                                                              "size=\"3\""))
                         LIST("Species", SPECIES("X", "false", "initialConcentration=\"5\""))));
    check_printed(m, variable(m, "X")->initial, "5*cell"); /* a size without a unit */
    assert_int_equal(variable(m, "cell")->dimensions, 0);
    assert_false(variable(m, "cell")->is_point);
    saltus_model_destroy(m);
}

static void level_2_has_its_defaults(void **state)
{
    (void)state;
    saltus_model *m = read_text(
        L2("4", "<listOfCompartments>\n<compartment id=\"cell\" size=\"2\"/></listOfCompartments>"
                "<listOfSpecies><species id=\"X\" compartment=\"cell\" initialAmount=\"4\"/>"
                "</listOfSpecies><listOfParameters><parameter id=\"k\" value=\"1\"/>"
                "</listOfParameters><listOfReactions><reaction id=\"R\"><listOfReactants>"
                "<speciesReference species=\"X\"/></listOfReactants><kineticLaw>" MATH(TIMES(
                    "k", "X")) "<listOfParameters><parameter id=\"k\" value=\"3\"/>"
                               "</listOfParameters></kineticLaw></reaction></listOfReactions>"
                               "<listOfEvents><event><trigger>" MATH(APPLY(
                                   "gt", CI("X") CN("2"))) "</trigger><listOfEventAssignments>"
                                                           "<eventAssignment variable=\"X\">" MATH(
                                                               CN("1")) "</eventAssignment>"
                                                                        "</listOfEventAssignments>"
                                                                        "</event></listOfEvents>"));
    assert_true(variable(m, "k")->constant);
    assert_true(variable(m, "cell")->constant);
    assert_false(variable(m, "X")->constant);
    check_number(variable(m, "R.k")->initial, 3.0);
    check_printed(m, reaction(m, "R")->law, "R.k*(X/cell)");
    assert_true(reaction(m, "R")->reversible);
    check_participants(m, reaction(m, "R")->reactants, reaction(m, "R")->n_reactants, "1 X");
    assert_int_equal(m->n_events, 1);
    const saltus_event *e = &m->events[0];
    assert_string_equal(e->id, "event_1");
    assert_true(e->persistent && e->initial_value && e->use_trigger_values);
    check_printed(m, e->trigger, "X/cell > 2");
    check_printed(m, e->assignments[0].value, "1*cell");
    saltus_model_destroy(m);
}

/* Enough for every table to grow several times. */
static void many_names_are_found(void **state)
{
    (void)state;
    enum { N = 1000 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *document = L3(CELL "@");
    const char *at = strchr(document, '@');
    (void)fprintf(out, "%.*s<listOfSpecies>", (int)(at - document), document);
    for (int i = 0; i < N; ++i) {
        (void)fprintf(out, SPECIES("S%d", "true", "initialAmount=\"%d\""), i, i);
    }
    (void)fputs("</listOfSpecies><listOfReactions>", out);
    for (int i = 0; i < N; ++i) {
        (void)fprintf(out,
                      REACTION("R%d", REACTANTS(REFERENCE("S%d", "id=\"n%d\"")),
                               LAW(TIMES("k", "S%d")) "<listOfLocalParameters>"
                                                      "<localParameter id=\"k\" value=\"1\"/>"
                                                      "</listOfLocalParameters>"),
                      i, N - 1 - i, i, N - 1 - i);
    }
    (void)fprintf(out, "</listOfReactions>%s", at + 1);
    assert_int_equal(fclose(out), 0);
    saltus_model *m = read_text(text);
    assert_int_equal(m->n_reactions, N);
    check_number(variable(m, "S999")->initial, 999.0);
    check_printed(m, reaction(m, "R700")->law, "R700.k*S299");
    saltus_model_destroy(m);
    free(text);
}

static void names_are_checked(void **state)
{
    (void)state;
    check_refused(L3(CELL LIST("Parameters", PARAMETER("cell", "true", ""))), SALTUS_E_MODEL,
                  "model.xml:6: parameter 'cell': that name is defined twice", NULL);
    check_refused(L3(LIST("Species", SPECIES("X", "true", ""))), SALTUS_E_MODEL,
                  "model.xml:3: species 'X': its compartment 'cell' is not defined", NULL);
    check_refused(L3(CELL LIST("Parameters", PARAMETER("rate", "true", ""))
                         LIST("InitialAssignments", INITIAL("rates", CN("1")))),
                  SALTUS_E_MODEL,
                  "model.xml:9: initial assignment to 'rates': 'rates' is not defined",
                  "did you mean 'rate'?");
    check_refused(L3(CELL LIST("Parameters", PARAMETER("k", "true", "value=\"1\""))
                         LIST("Rules", ASSIGNMENT_RULE("k", CN("1")))),
                  SALTUS_E_MODEL,
                  "model.xml:9: assignment rule for 'k' changes 'k', which is constant", NULL);
    check_refused(L3(CELL LIST("Parameters", PARAMETER("k", "false", "")) LIST(
                      "Rules", ASSIGNMENT_RULE("k", CN("1")) ASSIGNMENT_RULE("k", CN("2")))),
                  SALTUS_E_MODEL, "which an assignment rule determines", NULL);
    check_refused(L3(CELL LIST("Parameters", PARAMETER("k", "false", ""))
                         LIST("InitialAssignments", INITIAL("k", CN("1")))
                             LIST("Rules", ASSIGNMENT_RULE("k", CN("1")))),
                  SALTUS_E_MODEL, "its initial value is determined twice", NULL);
    check_refused(L3(CELL LIST("Species", SPECIES("X", "true",
                                                  "initialAmount=\"1\" "
                                                  "initialConcentration=\"1\""))),
                  SALTUS_E_MODEL, "'X'", NULL);
}

#define RATE_RULE(id, math) "<rateRule variable=\"" id "\">" MATH(math) "</rateRule>\n"
#define RULE(text) \
    L3(CELL LIST("Parameters", PARAMETER("k", "false", "value=\"1\"")) LIST("Rules", text))

/* Rates of change are in molecules; that of a concentration also has what the size adds. */
static void rate_rules_become_rates(void **state)
{
    (void)state;
    saltus_model *m = read_text(RULE(RATE_RULE("k", CI("k"))));
    check_printed(m, variable(m, "k")->rate, "k");
    assert_true(variable(m, "k")->observable);
    check_number(variable(m, "k")->initial, 1.0);
    saltus_model_destroy(m);
#define GROWING(rules)                                                                \
    L3(LIST("Compartments", "<compartment id=\"cell\" constant=\"false\" size=\"2\" " \
                            "spatialDimensions=\"3\"/>\n")                            \
           LIST("Species", SPECIES("X", "false", "initialConcentration=\"1\"")        \
                               SPECIES("N", "true", "initialAmount=\"1\"")) LIST("Rules", rules))
    m = read_text(GROWING(RATE_RULE("X", CN("3")) RATE_RULE("N", CN("4"))));
    check_printed(m, variable(m, "X")->rate, "3*cell");
    check_printed(m, variable(m, "N")->rate, "4");
    saltus_model_destroy(m);
    m = read_text(GROWING(RATE_RULE("X", CN("3")) RATE_RULE("cell", CI("cell"))));
    check_printed(m, variable(m, "X")->rate, "3*cell + X*(cell/cell)");
    saltus_model_destroy(m);
    check_refused(
        GROWING(RATE_RULE("X", CN("3")) ASSIGNMENT_RULE("cell", CN("1"))), SALTUS_E_UNSUPPORTED,
        "rate rule for 'X' is one of a concentration, while an assignment rule determines "
        "the size of 'cell'",
        NULL);
    check_refused(RULE(RATE_RULE("k", CN("1")) RATE_RULE("k", CN("2"))), SALTUS_E_MODEL,
                  "rate rule for 'k' changes 'k', which a rate rule determines", NULL);
    check_refused(RULE(RATE_RULE("k", CN("1")) ASSIGNMENT_RULE("k", CN("2"))), SALTUS_E_MODEL,
                  "assignment rule for 'k' changes 'k', which a rate rule determines", NULL);
    check_refused(RULE(RATE_RULE("cell", CN("1"))), SALTUS_E_MODEL,
                  "rate rule for 'cell' changes 'cell', which is constant", NULL);
    check_refused(L3(CELL LIST("Species", SPECIES("X", "true", "initialAmount=\"1\""))
                         LIST("Rules", RATE_RULE("X", CN("1"))) LIST(
                             "Reactions",
                             REACTION("R", LIST("Products", REFERENCE("X", "stoichiometry=\"1\"")),
                                      MATH(CN("1"))))),
                  SALTUS_E_MODEL, "reaction 'R' changes 'X', which a rate rule determines", NULL);
}

/* rateOf() is what a rate rule gives, and 0 where nothing changes a value. */
static void rates_are_named(void **state)
{
    (void)state;
#define RATE_OF(id)                                                                                \
    "<apply><csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/rateOf\">" \
    "r</csymbol>" CI(id) "</apply>"
#define TWO(rule)                                                                             \
    L3(CELL LIST("Parameters",                                                                \
                 PARAMETER("k", "false", "value=\"1\"") PARAMETER("c", "true", "value=\"1\"") \
                     PARAMETER("y", "false", "value=\"1\""))                                  \
           LIST("Rules", RATE_RULE("k", APPLY("times", CN("2") CI("k"))) rule))
    saltus_model *m = read_text(TWO(ASSIGNMENT_RULE("y", RATE_OF("k"))));
    check_printed(m, variable(m, "y")->rule, "2*k");
    saltus_model_destroy(m);
    m = read_text(TWO(ASSIGNMENT_RULE("y", RATE_OF("c"))));
    check_number(variable(m, "y")->rule, 0.0);
    saltus_model_destroy(m);
    check_refused(TWO(RATE_RULE("y", RATE_OF("y"))), SALTUS_E_MODEL,
                  "uses 'y', which is defined by itself", NULL);
}

static void algebraic_rules_are_refused(void **state)
{
    (void)state;
    check_refused(RULE("<algebraicRule>" MATH(CI("k")) "</algebraicRule>"), SALTUS_E_UNSUPPORTED,
                  "model.xml:9: algebraic rules are not supported", NULL);
}

static void constraints_are_ignored_with_a_warning(void **state)
{
    (void)state;
    saltus_model *m =
        read_text(L3(CELL LIST("Constraints", "<constraint>" MATH("<true/>") "</constraint>")));
    assert_string_equal(saltus_model_warning(m, 0), "model.xml:6: a constraint is ignored");
    saltus_model_destroy(m);
}

/* Messages of constraints, lists without an element, names and terms of annotations. */
static void what_changes_no_meaning_is_no_error(void **state)
{
    (void)state;
    saltus_model *m = read_text(
        L2("4", "<listOfCompartments><compartment id=\"cell\" size=\"1\" metaid=\"1 2\"/>"
                "</listOfCompartments><listOfSpecies><species id=\"A\" compartment=\"cell\" "
                "initialAmount=\"3\" sboTerm=\"none\"/></listOfSpecies><listOfParameters/>"
                "<listOfConstraints><constraint>" MATH("<true/>") //
           "<message><p xmlns=\"http://www.w3.org/1999/xhtml\">so</p></message></constraint>"
           "</listOfConstraints><listOfReactions><reaction id=\"R\"><listOfReactants>"
           "<speciesReference species=\"A\"/></listOfReactants><listOfModifiers/>"
           "<kineticLaw>" MATH("<ci>A</ci>") //
           "<listOfParameters/></kineticLaw></reaction></listOfReactions>"));
    assert_int_equal(saltus_model_n_warnings(m), 1);
    assert_string_equal(saltus_model_warning(m, 0), "model.xml:2: a constraint is ignored");
    assert_int_equal(m->n_reactions, 1);
    saltus_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

#define NETWORK(reactions)                                                                       \
    L3(CELL LIST(                                                                                \
        "Species",                                                                               \
        SPECIES("A", "true", "initialAmount=\"10\"") SPECIES(                                    \
            "B", "true",                                                                         \
            "initialAmount=\"0\"") "<species id=\"S\" compartment=\"cell\" "                     \
                                   "hasOnlySubstanceUnits=\"true\" boundaryCondition=\"true\" "  \
                                   "constant=\"true\" initialAmount=\"1\"/>\n<species id=\"Q\" " \
                                   "compartment=\"cell\" hasOnlySubstanceUnits=\"true\" "        \
                                   "boundaryCondition=\"false\" constant=\"true\" "              \
                                   "initialAmount=\"1\"/>\n")                                    \
           LIST("Parameters", PARAMETER("k", "true", "value=\"2\"") PARAMETER("y", "false", "")) \
               LIST("Reactions", reactions))

static void stoichiometries_of_all_kinds_are_read(void **state)
{
    (void)state;
    saltus_model *m = read_text(NETWORK(
        REACTION("R1",
                 REACTANTS(REFERENCE("A", "stoichiometry=\"2\"") REFERENCE("A", "")
                               REFERENCE("S", "stoichiometry=\"1\""))
                     PRODUCTS(REFERENCE("A", "stoichiometry=\"1\"") REFERENCE(
                         "B", "stoichiometry=\"100\"") REFERENCE("B", "stoichiometry=\"0\"")),
                 LAW(CI("k"))) REACTION("R2",
                                        PRODUCTS(REFERENCE("A", "id=\"n\" stoichiometry=\"3\"")),
                                        LAW(TIMES("k", "n")))
            REACTION(
                "R3",
                REACTANTS(REFERENCE(
                    "A", "stoichiometry=\"1\"")) "<listOfModifiers><modifierSpeciesReference "
                                                 "species=\"B\"/>"
                                                 "</listOfModifiers>",
                LAW(TIMES("A", "B")) "<listOfLocalParameters><localParameter id=\"A\" value=\"7\"/>"
                                     "</listOfLocalParameters>")
                REACTION("R4", "", LAW(APPLY("plus", CI("R3") CI("A"))))));
    const saltus_reaction *r = reaction(m, "R1");
    check_participants(m, r->reactants, r->n_reactants, "2 A + 1 A + 1 S");
    check_participants(m, r->products, r->n_products, "1 A + 100 B");
    r = reaction(m, "R2");
    assert_int_equal(r->n_reactants, 0);
    check_participants(m, r->products, r->n_products, "3 A");
    check_printed(m, r->law, "k*3");
    check_printed(m, reaction(m, "R3")->law, "R3.A*B");
    check_printed(m, reaction(m, "R4")->law, "R3.A*B + A"); /* a reaction's name is its rate */
    assert_int_equal(reaction(m, "R4")->n_reactants + reaction(m, "R4")->n_products, 0);
    saltus_model_destroy(m);
}

/* What reactions change was computed with it. */
static void check_not_settable(saltus_model *m, const char *name)
{
    saltus_error err = {0};
    assert_int_equal(saltus_model_set(m, name, 3.0, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "cannot be set: what reactions change was computed"));
}

static void computed_stoichiometries_are_read(void **state)
{
    (void)state;
    saltus_model *m = read_text(
        L3(CELL LIST("Species", SPECIES("A", "true", "initialAmount=\"1\""))
               LIST("Parameters", PARAMETER("k", "true", "value=\"2\""))
                   LIST("InitialAssignments", INITIAL("n", APPLY("plus", CI("k") CN("1"))))
                       LIST("Reactions",
                            REACTION("R", PRODUCTS(REFERENCE("A", "id=\"n\"")), LAW(CI("n"))))));
    check_participants(m, reaction(m, "R")->products, 1, "3 A");
    check_printed(m, reaction(m, "R")->law, "n");
    check_printed(m, variable(m, "n")->initial, "k + 1");
    check_not_settable(m, "k");
    saltus_model_destroy(m);
#define L2_STOICHIOMETRY(math)                                                               \
    L2("4", "<listOfCompartments><compartment id=\"cell\" size=\"1\"/></listOfCompartments>" \
            "<listOfSpecies><species id=\"A\" compartment=\"cell\" initialAmount=\"1\"/>"    \
            "</listOfSpecies><listOfParameters><parameter id=\"v\" value=\"2\" "             \
            "constant=\"false\"/></listOfParameters><listOfReactions>\n"                     \
            "<reaction id=\"R\"><listOfProducts><speciesReference species=\"A\">"            \
            "<stoichiometryMath>" MATH(math) "</stoichiometryMath></speciesReference>"       \
                                             "</listOfProducts><kineticLaw>" MATH(           \
                                                 CN("1")) "</kineticLaw></reaction>"         \
                                                          "</listOfReactions>")
    m = read_text(L2_STOICHIOMETRY(APPLY("times", CN("2") CN("3"))));
    check_participants(m, reaction(m, "R")->products, 1, "6 A");
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
    m = read_text(L2_STOICHIOMETRY(CI("v"))); /* it may vary, and nothing makes it */
    check_participants(m, reaction(m, "R")->products, 1, "2 A");
    check_not_settable(m, "v");
    saltus_model_destroy(m);
    m = read_text(L2_STOICHIOMETRY(CN("0.5"))); /* freezing says what becomes of it */
    check_participants(m, reaction(m, "R")->products, 1, "0.5 A");
    saltus_model_destroy(m);
}

static void reactions_that_cannot_be_simulated_are_refused(void **state)
{
    (void)state;
    check_refused(NETWORK(REACTION("R7", PRODUCTS(REFERENCE("A", "")), LAW(CI("k9")))),
                  SALTUS_E_MODEL,
                  "model.xml:16: reaction 'R7': rate law uses 'k9', which is not defined",
                  "did you mean 'k'?");
    check_refused(NETWORK(REACTION("R7", REACTANTS(REFERENCE("C", "")), LAW(CI("k")))),
                  SALTUS_E_MODEL, "reaction 'R7': species 'C' is not defined", "did you mean 'A'?");
    check_refused(NETWORK(REACTION("R7", REACTANTS(REFERENCE("Q", "")), LAW(CI("k")))),
                  SALTUS_E_MODEL, "reaction 'R7' changes 'Q', which is constant", NULL);
    check_refused(NETWORK(REACTION("R7", "", LAW(CI("R7")))), SALTUS_E_MODEL,
                  "reaction 'R7': rate law uses 'R7', which is defined by itself", NULL);
    check_refused(NETWORK(REACTION("R7", "", LAW(CI("R8"))) REACTION("R8", "", LAW(CI("R7")))),
                  SALTUS_E_MODEL, "reaction 'R7': rate law uses 'R7', which is defined by itself",
                  NULL);
    check_refused(NETWORK(REACTION("R7", "", LAW(CI("k"))) REACTION("R7", "", LAW(CI("k")))),
                  SALTUS_E_MODEL, "reaction 'R7': that name is defined twice", NULL);
    check_refused(L3V1(CELL LIST("Reactions", "<reaction id=\"R7\" reversible=\"false\" "
                                              "fast=\"true\"><kineticLaw>" LAW(
                                                  CN("1")) "</kineticLaw></reaction>\n")),
                  SALTUS_E_UNSUPPORTED, "model.xml:6: reaction 'R7' is fast", NULL);
    check_refused(
        L3(CELL LIST("Species", SPECIES("A", "true", ""))
               LIST("Rules", ASSIGNMENT_RULE("A", CN("1")))
                   LIST("Reactions", REACTION("R7", REACTANTS(REFERENCE("A", "")), LAW(CN("1"))))),
        SALTUS_E_MODEL, "reaction 'R7' changes 'A', which an assignment rule determines", NULL);
}

/* Also one that a rule gives, and that formulas read. */
static void stoichiometries_may_have_rules(void **state)
{
    (void)state;
    saltus_model *m = read_text(L3(
        CELL LIST("Species", SPECIES("A", "true", ""))
            LIST("Parameters", PARAMETER("two", "true", "value=\"2\"") PARAMETER("y", "false", ""))
                LIST("Rules", ASSIGNMENT_RULE("n", APPLY("plus", CN("1") CI("two")))
                                  ASSIGNMENT_RULE("y", CI("n")))
                    LIST("Reactions", REACTION("R7",
                                               PRODUCTS("<speciesReference id=\"n\" species=\"A\" "
                                                        "constant=\"false\"/>"),
                                               LAW(CN("1"))))));
    check_participants(m, reaction(m, "R7")->products, 1, "3 A");
    check_printed(m, variable(m, "n")->rule, "1 + two");
    check_printed(m, variable(m, "y")->rule, "n");
    check_not_settable(m, "two");
    saltus_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------------
 * Units and conversion factors
 */

#define NANOMOLE                                                                   \
    "<unitDefinition id=\"nmol\"><listOfUnits><unit kind=\"mole\" exponent=\"1\" " \
    "scale=\"-9\" multiplier=\"1\"/></listOfUnits></unitDefinition>"
#define DOZEN                                                                       \
    "<unitDefinition id=\"dozen\"><listOfUnits><unit kind=\"item\" exponent=\"1\" " \
    "scale=\"0\" multiplier=\"12\"/></listOfUnits></unitDefinition>"
#define UNITS LIST("UnitDefinitions", NANOMOLE DOZEN)
#define N_NANOMOLE 6.02214076e14

static void moles_become_molecules(void **state)
{
    (void)state;
    saltus_model *m = read_text(L3V2_MODEL(
        "substanceUnits=\"nmol\" extentUnits=\"nmol\"",
        UNITS CELL LIST("Species",
                        SPECIES("X", "true", "initialAmount=\"1e-12\"")
                            SPECIES("Y", "false", "initialConcentration=\"2\"")
                                SPECIES("Z", "true", "initialAmount=\"7\" substanceUnits=\"item\""))
            LIST("Reactions", REACTION("R",
                                       REACTANTS(REFERENCE("X", ""))
                                           PRODUCTS(REFERENCE("Y", "stoichiometry=\"2\"")),
                                       LAW(TIMES("X", "Y"))))
                LIST("Events",
                     "<event id=\"E\" "
                     "useValuesFromTriggerTime="
                     "\"true\"><trigger "
                     "initialValue=\"false\" "
                     "persistent=\"false\">" MATH(APPLY(
                         "gt", CI("X") CN("1"))) "</trigger><listOfEventAssignments>"
                                                 "<eventAssignment variable=\"Y\">" MATH(
                                                     CI("Z")) "</eventAssignment></"
                                                              "listOfEventAssignments></event>")));
    check_number(variable(m, "X")->initial, 1e-12 * N_NANOMOLE);
    check_printed(m, variable(m, "Y")->initial, "1.204428152e+15*cell");
    check_number(variable(m, "Z")->initial, 7.0);
    check_printed(m, reaction(m, "R")->law,
                  "X/602214076000000*(Y/602214076000000/cell)*602214076000000");
    check_participants(m, reaction(m, "R")->products, 1, "2 Y");
    check_printed(m, m->events[0].trigger, "X/602214076000000 > 1");
    check_printed(m, m->events[0].assignments[0].value, "Z*602214076000000*cell");
    assert_true(has_warning(m, "amounts in mole were converted to molecules (6.02214076e+23"));
    saltus_model_destroy(m);
}

static void units_that_are_not_declared_count_items(void **state)
{
    (void)state;
#define L2_UNITS(units)                                                                    \
    L2("4", units "<listOfCompartments><compartment id=\"cell\" size=\"1\"/>"              \
                  "</listOfCompartments><listOfSpecies><species id=\"A\" "                 \
                  "hasOnlySubstanceUnits=\"true\" compartment=\"cell\" "                   \
                  "initialAmount=\"3\"/></listOfSpecies><listOfReactions><reaction "       \
                  "id=\"R\"><listOfProducts><speciesReference species=\"A\"/>"             \
                  "</listOfProducts><kineticLaw>" MATH(CI("A")) "</kineticLaw></reaction>" \
                                                                "</listOfReactions>")
#define L2_SUBSTANCE(unit)                                                       \
    "<listOfUnitDefinitions><unitDefinition id=\"substance\"><listOfUnits>" unit \
    "</listOfUnits></unitDefinition></listOfUnitDefinitions>"
    saltus_model *m = read_text(L2_UNITS(""));
    check_number(variable(m, "A")->initial, 3.0);
    check_printed(m, reaction(m, "R")->law, "A");
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
    m = read_text(L2_UNITS(L2_SUBSTANCE("<unit kind=\"item\"/>")));
    check_number(variable(m, "A")->initial, 3.0);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
    m = read_text(L2_UNITS(L2_SUBSTANCE("<unit kind=\"item\" multiplier=\"12\"/>")));
    check_number(variable(m, "A")->initial, 36.0);
    check_printed(m, reaction(m, "R")->law, "A/12*12");
    assert_true(has_warning(m, "converted to molecules by the units"));
    saltus_model_destroy(m);
    m = read_text(L2_UNITS(L2_SUBSTANCE("<unit kind=\"mole\" scale=\"-9\"/>")));
    check_number(variable(m, "A")->initial, 3.0 * N_NANOMOLE);
    saltus_model_destroy(m);
    m = read_text(L2_UNITS(L2_SUBSTANCE("<unit kind=\"gram\" scale=\"-3\"/>")));
    check_number(variable(m, "A")->initial, 3.0);
    check_printed(m, reaction(m, "R")->law, "A");
    assert_true(has_warning(m, "unit 'substance' of species 'A' is not a multiple of mole or item: "
                               "an amount of 1 is taken as a molecule"));
    saltus_model_destroy(m);
    m = read_text(L2_UNITS(L2_SUBSTANCE("<unit kind=\"mole\"/><unit kind=\"mole\"/>")));
    check_number(variable(m, "A")->initial, 3.0);
    assert_true(has_warning(m, "is not a multiple of mole or item"));
    saltus_model_destroy(m);
    check_refused(
        L3V2_MODEL("",
                   "<listOfUnitDefinitions><unitDefinition id=\"mg\"><listOfUnits>"
                   "<unit kind=\"gram\" exponent=\"1\" scale=\"-3\" "
                   "multiplier=\"1\"/></listOfUnits></unitDefinition>"
                   "</listOfUnitDefinitions>" CELL LIST(
                       "Species",
                       SPECIES("A", "true", "initialAmount=\"1\" substanceUnits=\"mg\"")
                           SPECIES("B", "true", "initialAmount=\"1\" substanceUnits=\"gram\""))),
        SALTUS_E_UNSUPPORTED, "and neither is 'mg'", NULL);
}

/* Amounts of units that are not declared, or count no things, are moles once it is said how many
 * molecules stand for one. */
static void units_that_count_nothing_are_moles_if_asked(void **state)
{
    static const char *const units[] = {
        "", L2_SUBSTANCE("<unit kind=\"dimensionless\"/>"), L2_SUBSTANCE("<unit kind=\"gram\"/>"),
        L2_SUBSTANCE("<unit kind=\"mole\"/>"), L2_SUBSTANCE("<unit kind=\"item\"/>")};
    (void)state;
    for (int i = 0; i < 5; ++i) {
        char text[4000];
        (void)snprintf(text, sizeof text, L2_UNITS("%s"), units[i]);
        saltus_read_options o = saltus_read_options_default();
        saltus_error err = {0};
        saltus_model *m = NULL;
        o.molecules_per_mole = 500.0;
        FILE *f = fopen("units.xml", "w");
        assert_non_null(f);
        (void)fputs(text, f);
        (void)fclose(f);
        const saltus_status status = saltus_model_read_with("units.xml", &o, &m, &err);
        assert_int_equal(status, i == 4 ? SALTUS_E_INVALID : SALTUS_OK);
        if (m) {
            check_number(variable(m, "A")->initial, 1500.0);
            check_printed(m, reaction(m, "R")->law, "A/500*500");
        }
        saltus_model_destroy(m);
    }
}

/* Amounts that are hardly any molecules are told, with what makes them more; not where the file
 * says that they are molecules. */
static void few_molecules_are_told(void **state)
{
    static const struct {
        const char *units, *told;
    } cases[] = {{"", "`molecules_per_mole 4e+05` makes about 1000"},
                 {L2_SUBSTANCE("<unit kind=\"mole\" scale=\"-23\"/>"),
                  "`molecules_per_mole 4e+28` makes about 1000"},
                 {L2_SUBSTANCE("<unit kind=\"item\"/>"), NULL}};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        char text[4000];
        saltus_error err = {0};
        (void)snprintf(text, sizeof text, L2_UNITS("%s"), cases[i].units);
        char *amount = strstr(text, "initialAmount=\"3\"");
        assert_non_null(amount);
        char rest[4000];
        (void)strcpy(rest, amount + strlen("initialAmount=\"3\""));
        (void)sprintf(amount, "initialAmount=\"0.0025\"%s", rest);
        saltus_model *m = read_text(text);
        assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
        assert_true(has_warning(m, "is rounded to 0"));
        assert_int_equal(has_warning(m, "amounts are few molecules"), cases[i].told != NULL);
        assert_true(!cases[i].told || has_warning(m, cases[i].told));
        saltus_model_destroy(m);
    }
}

/* Without a law nothing happens, and it is said so. */
static void reactions_without_laws_never_happen(void **state)
{
    (void)state;
    saltus_model *m =
        read_text(NETWORK("<reaction id=\"R7\" reversible=\"false\"/>"
                          "<reaction id=\"R8\" reversible=\"false\"><kineticLaw/></reaction>"));
    assert_true(has_warning(m, "reaction 'R7' has no rate law, and never happens"));
    assert_true(has_warning(m, "reaction 'R8' has no formula in its rate law, and never happens"));
    check_number(reaction(m, "R7")->law, 0.0);
    saltus_model_destroy(m);
}

/* Laws are net rates, and amounts real, in the equations that files are made for. */
static void laws_may_be_negative_and_reactants_lacking(void **state)
{
    (void)state;
    saltus_model *m = read_text(NETWORK(""));
    assert_true(m->goes_back && m->idles);
    saltus_model_destroy(m);
}

/* A function that the level of the document has not yet is understood all the same. */
static void functions_of_later_levels_are_understood(void **state)
{
    (void)state;
    saltus_model *m = read_text(L2(
        "4", "<listOfCompartments><compartment id=\"cell\"/></listOfCompartments>"
             "<listOfParameters><parameter id=\"p\" constant=\"false\"/></listOfParameters>"
             "<listOfRules><assignmentRule variable=\"p\">" MATH(
                 "<apply><max/><cn>2</cn><cn>3</cn></apply>") "</assignmentRule></listOfRules>"));
    check_printed(m, variable(m, "p")->rule, "max(2, 3)");
    saltus_model_destroy(m);
}

#define FACTOR_MODEL(attributes, factor, unit) \
    OWN_FACTOR(attributes, factor, unit, "conversionFactor=\"two\" ")
#define OWN_FACTOR(attributes, factor, unit, own)                                               \
    L3V2_MODEL(                                                                                 \
        attributes,                                                                             \
        UNITS CELL LIST("Species", SPECIES("A", "true", "initialAmount=\"1\" " unit)            \
                                       SPECIES("B", "true", "initialAmount=\"1\" " own unit))   \
            LIST("Parameters", PARAMETER("cf", "true", "value=\"" factor "\"")                  \
                                   PARAMETER("two", "true", "value=\"2\""))                     \
                LIST("Reactions", REACTION("R",                                                 \
                                           REACTANTS(REFERENCE("A", "stoichiometry=\"1\""))     \
                                               PRODUCTS(REFERENCE("B", "stoichiometry=\"3\"")), \
                                           LAW(CI("A")))))

static void conversion_factors_change_what_a_firing_does(void **state)
{
    (void)state;
    saltus_model *m = read_text(FACTOR_MODEL("conversionFactor=\"cf\"", "4", ""));
    check_participants(m, reaction(m, "R")->reactants, 1, "4 A");
    check_participants(m, reaction(m, "R")->products, 1, "6 B");
    check_printed(m, reaction(m, "R")->law, "A");
    check_not_settable(m, "cf");
    saltus_model_destroy(m);
    /* extent in dozens, species in items, factor 12: one firing is one molecule, twelve times as
     * often as the law says */
    m = read_text(FACTOR_MODEL("conversionFactor=\"cf\" extentUnits=\"dozen\" "
                               "substanceUnits=\"item\"",
                               "12", "substanceUnits=\"dozen\""));
    check_participants(m, reaction(m, "R")->reactants, 1, "12 A");
    check_participants(m, reaction(m, "R")->products, 1, "6 B");
    check_printed(m, reaction(m, "R")->law, "A/12*12");
    saltus_model_destroy(m);
    /* extent in nanomoles, species in items, the factor with another number of Avogadro */
    m = read_text(OWN_FACTOR("conversionFactor=\"cf\" extentUnits=\"nmol\"", "6.02214179e14",
                             "substanceUnits=\"item\"", ""));
    check_participants(m, reaction(m, "R")->reactants, 1, "1 A");
    check_participants(m, reaction(m, "R")->products, 1, "3 B");
    check_printed(m, reaction(m, "R")->law, "A*602214076000000");
    saltus_model_destroy(m);
}

/* Each species changes by the law in its own unit; a boundary species by nothing. */
static void species_of_a_reaction_may_have_different_units(void **state)
{
    static const char units[] =
        "<listOfUnitDefinitions>\n<unitDefinition id=\"two\"><listOfUnits><unit kind=\"item\" "
        "exponent=\"1\" scale=\"0\" multiplier=\"2\"/></listOfUnits></unitDefinition>\n"
        "</listOfUnitDefinitions>\n";
    char text[3000];
    (void)state;
    for (int boundary = 0; boundary < 2; ++boundary) {
        (void)snprintf(
            text, sizeof text,
            L3("%s" CELL LIST(
                "Species", SPECIES("A", "true", "initialAmount=\"4\" substanceUnits=\"two\"") //
                "<species id=\"B\" compartment=\"cell\" hasOnlySubstanceUnits=\"true\" "
                "boundaryCondition=\"%s\" constant=\"false\" initialAmount=\"1\" "
                "substanceUnits=\"item\"/>\n") //
               LIST("Reactions",
                    REACTION("R",
                             LIST("Reactants", REFERENCE("A", "stoichiometry=\"1\"")) //
                             LIST("Products", REFERENCE("B", "stoichiometry=\"4\"")),
                             MATH("<ci>A</ci>")))),
            units, boundary ? "true" : "false");
        saltus_model *m = read_text(text);
        check_participants(m, reaction(m, "R")->reactants, 1, "1 A");
        check_participants(m, reaction(m, "R")->products, 1, boundary ? "4 B" : "2 B");
        check_printed(m, reaction(m, "R")->law, "A/2*2");
        assert_true((m->mean_only == NULL) == (boundary == 1));
        if (!boundary) {
            assert_non_null(strstr(m->mean_only, "reaction 'R': its species have different units"));
        }
        saltus_model_destroy(m);
    }
}

static void factors_that_give_no_molecules_are_refused(void **state)
{
    (void)state;
    saltus_model *m = read_text(FACTOR_MODEL("conversionFactor=\"cf\"", "0.5", ""));
    check_participants(m, reaction(m, "R")->reactants, 1, "0.5 A"); /* for freezing to look at */
    saltus_model_destroy(m);
    m = read_text(FACTOR_MODEL("conversionFactor=\"cf\"", "1e-9", ""));
    assert_non_null(m->mean_only);
    assert_non_null(strstr(m->mean_only, "reaction 'R': a firing would change 1e-09 molecules of "
                                         "'A', which is not a whole number"));
    saltus_model_destroy(m);
    check_refused(FACTOR_MODEL("conversionFactor=\"none\"", "1", ""), SALTUS_E_MODEL,
                  "species 'A': its conversion factor 'none' is not defined", NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

#define EVENT(attributes, trigger, rest)                                 \
    "<event " attributes " useValuesFromTriggerTime=\"false\"><trigger " \
    "initialValue=\"false\" persistent=\"false\">" MATH(trigger) "</trigger>" rest "</event>\n"
#define ASSIGN(id, math) "<eventAssignment variable=\"" id "\">" MATH(math) "</eventAssignment>"
#define EVENTS(species, events)                                                       \
    L3(LIST("Compartments", "<compartment id=\"cell\" size=\"2\" constant=\"false\" " \
                            "spatialDimensions=\"3\"/>\n")                            \
           LIST("Species", SPECIES("X", species, "initialAmount=\"1\""))              \
               LIST("Parameters", PARAMETER("k", "true", "value=\"1\"") PARAMETER(    \
                                      "p", "false", "value=\"1\"")) LIST("Events", events))

static void events_are_read_in_full(void **state)
{
    (void)state;
    saltus_model *m = read_text(
        EVENTS("true", EVENT("id=\"E\"", APPLY("geq", CI("X") CN("3")),
                             "<priority>" MATH(CI("p")) "</priority><delay>" MATH(
                                 CN("2")) "</delay>"
                                          "<listOfEventAssignments>" ASSIGN("X", CN("0"))
                                              ASSIGN("p", CI("X")) "</listOfEventAssignments>")
                           EVENT("", "<true/>", "")));
    assert_int_equal(m->n_events, 2);
    const saltus_event *e = &m->events[0];
    assert_string_equal(e->id, "E");
    assert_false(e->persistent || e->initial_value || e->use_trigger_values);
    check_printed(m, e->trigger, "X >= 3");
    check_printed(m, e->priority, "p");
    check_printed(m, e->delay, "2");
    assert_int_equal(e->n_assignments, 2);
    assert_int_equal(e->assignments[0].variable, saltus_model_find(m, "X"));
    check_printed(m, e->assignments[0].value, "0");
    check_printed(m, e->assignments[1].value, "X");
    assert_string_equal(m->events[1].id, "event_2");
    assert_null(m->events[1].delay);
    assert_null(m->events[1].priority);
    assert_int_equal(m->events[1].n_assignments, 0);
    saltus_model_destroy(m);
}

static void events_assign_concentrations_with_the_size_afterwards(void **state)
{
    (void)state;
    saltus_model *m = read_text(EVENTS(
        "false",
        EVENT("id=\"E\"", "<true/>",
              "<listOfEventAssignments>" ASSIGN("X", CN("3"))
                  ASSIGN("cell", CI("p")) "</listOfEventAssignments>")
            EVENT("id=\"F\"", "<true/>",
                  "<listOfEventAssignments>" ASSIGN("X", CN("3")) "</listOfEventAssignments>")));
    for (int e = 0; e < 2; ++e) {
        check_printed(m, m->events[e].assignments[0].value, "3");
        assert_true(m->events[e].assignments[0].per_size);
    }
    check_printed(m, m->events[0].assignments[1].value, "p");
    assert_false(m->events[0].assignments[1].per_size);
    saltus_model_destroy(m);
    m = read_text(EVENTS("false", EVENT("id=\"F\"", "<true/>",
                                        "<listOfEventAssignments>" ASSIGN("X", CN("3")) //
                                        "</listOfEventAssignments>")));
    check_printed(m, m->events[0].assignments[0].value, "3*cell"); /* which nothing changes */
    assert_false(m->events[0].assignments[0].per_size);
    saltus_model_destroy(m);
}

static void events_that_make_no_sense_are_refused(void **state)
{
    (void)state;
#define ONE(assignments)                        \
    EVENTS("true", EVENT("id=\"E\"", "<true/>", \
                         "<listOfEventAssignments>" assignments "</listOfEventAssignments>"))
    check_refused(ONE(ASSIGN("k", CN("1"))), SALTUS_E_MODEL,
                  "model.xml:13: event 'E' changes 'k', which is constant", NULL);
    check_refused(ONE(ASSIGN("kk", CN("1"))), SALTUS_E_MODEL, "event 'E': 'kk' is not defined",
                  "did you mean 'k'?");
    check_refused(ONE(ASSIGN("p", CN("1")) ASSIGN("p", CN("2"))), SALTUS_E_MODEL,
                  "event 'E' assigns 'p' twice", NULL);
    check_refused(ONE(ASSIGN("p", CI("q"))), SALTUS_E_MODEL,
                  "event 'E': assignment to 'p' uses 'q', which is not defined", NULL);
    check_refused(EVENTS("true", EVENT("id=\"E\"", CI("zz"), "")), SALTUS_E_MODEL,
                  "event 'E': trigger uses 'zz', which is not defined", NULL);
    check_refused(EVENTS("true", EVENT("id=\"E\"", "<true/>", "") EVENT("id=\"E\"", "<true/>", "")),
                  SALTUS_E_MODEL, "event 'E': that name is defined twice", NULL);
    saltus_model *m =
        read_text(EVENTS("true", "<event id=\"E\" useValuesFromTriggerTime=\"false\"/>\n"));
    assert_int_equal(m->n_events, 0);
    assert_true(has_warning(m, "event 'E' has no trigger and never fires"));
    saltus_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------------
 * Faults
 */

static const char everything[] = L3V2_MODEL(
    "substanceUnits=\"nmol\" extentUnits=\"nmol\"",
    LIST("FunctionDefinitions",
         "<functionDefinition id=\"f\">" MATH("<lambda><bvar>" CI("x") "</bvar>" APPLY(
             "plus", CI("x") CI("x") CI("x")) "</lambda>") "</functionDefinition>\n")
        UNITS CELL LIST("Species", SPECIES("X", "false", "initialAmount=\"1\" name=\"x\""))
            LIST("Parameters", PARAMETER("p", "false", "value=\"1\"")) LIST(
                "Rules", ASSIGNMENT_RULE("p", "<apply>" CI("f") CI("X") "</apply>"))
                LIST("Constraints", "<constraint>" MATH("<true/>") "</constraint>") LIST(
                    "Reactions",
                    REACTION(
                        "R", REACTANTS(REFERENCE("X", "id=\"n\"")),
                        LAW(APPLY("and",
                                  TIMES("X", "l")
                                      CI("n"))) "<listOfLocalParameters><localParameter "
                                                "id=\"l\" value=\"1\"/></listOfLocalParameters>"))
                    LIST("Events", EVENT("id=\"E\"", "<true/>",
                                         "<listOfEventAssignments>" ASSIGN(
                                             "X", CN("0")) "</listOfEventAssignments>")
                                       EVENT("", "<true/>", "")));

static void each_allocation_may_fail(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 0; !done; ++n) {
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        saltus_fail_allocation(n);
        const saltus_status status =
            saltus_model_parse_sbml(everything, sizeof everything - 1, "model.xml", &m, &err);
        saltus_fail_allocation(-1);
        done = status == SALTUS_OK && saltus_model_n_warnings(m) == 2;
        if (status != SALTUS_OK) {
            assert_int_equal(status, SALTUS_E_NO_MEMORY);
            assert_null(m);
        }
        saltus_model_destroy(m);
        assert_true(n < 10000);
    }
}

static void every_cut_is_survived(void **state)
{
    (void)state;
    for (size_t n = 0; n + 8 < sizeof everything; n += 7) {
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        assert_int_equal(saltus_model_parse_sbml(everything, n, "model.xml", &m, &err),
                         SALTUS_E_SYNTAX);
        assert_null(m);
        assert_true(err.message[0] && !strchr(err.message, '\n'));
    }
}

/* Change single bytes and drop runs of them: whatever comes, there is a model or a message. */
static void noise_is_survived(void **state)
{
    (void)state;
    uint32_t random = 12345;
    char text[sizeof everything];
    for (int i = 0; i < 2000; ++i) {
        size_t size = sizeof everything - 1;
        memcpy(text, everything, sizeof everything);
        for (int k = 0; k < 1 + i % 3; ++k) {
            random = random * 1664525u + 1013904223u;
            const size_t at = 200 + (random >> 8) % (size - 200);
            random = random * 1664525u + 1013904223u;
            if (i % 2) {
                text[at] = everything[(random >> 8) % (sizeof everything - 1)];
            } else {
                const size_t n = 1 + (random >> 8) % 30;
                const size_t end = at + n < size ? at + n : size;
                memmove(text + at, text + end, size - end);
                size -= end - at;
            }
        }
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        const saltus_status status = saltus_model_parse_sbml(text, size, "model.xml", &m, &err);
        assert_true((status == SALTUS_OK) == (m != NULL));
        assert_true((status == SALTUS_OK) == (err.message[0] == '\0'));
        saltus_model_destroy(m);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The stochastic cases of the SBML Test Suite
 */

static int read_case(const char *folder, const char *name)
{
    char path[1000];
    int n = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *dir = opendir(path);
    for (struct dirent *file = dir ? readdir(dir) : NULL; file; file = readdir(dir)) {
        if (!strstr(file->d_name, "-sbml-l3v") || !strstr(file->d_name, ".xml")) {
            continue;
        }
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        char full[2000];
        (void)snprintf(full, sizeof full, "%s/%s", path, file->d_name);
        if (saltus_model_read_sbml(full, &m, &err) != SALTUS_OK) {
            fail_msg("%s", err.message);
        }
        assert_true(m->n_reactions >= 1);
        saltus_model_destroy(m);
        ++n;
    }
    if (dir) {
        (void)closedir(dir);
    }
    return n;
}

static void stochastic_cases_are_read(void **state)
{
    (void)state;
    const char *folder = getenv("SBML_STOCHASTIC_CASES");
    int n = 0;
    if (!folder) {
        print_message("SBML_STOCHASTIC_CASES is not set\n");
        skip();
    }
    for (int i = 1; i <= 39; ++i) {
        char name[20];
        (void)snprintf(name, sizeof name, "%05d", i);
        n += read_case(folder, name) > 0;
    }
    assert_int_equal(n, 39);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IN_ASAN true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define IN_ASAN true
#endif
#ifndef IN_ASAN
#define IN_ASAN false
#endif

/* A thread reads when its process forks: the child can read too. */
static _Atomic bool is_done;

static void *read_on(void *text)
{
    while (!is_done) {
        saltus_model *m = NULL;
        (void)!saltus_model_parse_sbml(text, strlen(text), "thread", &m, NULL);
        saltus_model_destroy(m);
    }
    return NULL;
}

static void forks_do_not_hang(void **state)
{
    static char text[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\"><model "
        "id=\"m\"><listOfParameters><parameter id=\"x\" value=\"1\" constant=\"true\"/>"
        "</listOfParameters></model></sbml>";
    pthread_t thread;
    (void)state;
    if (IN_ASAN) {
        print_message("the allocator of this sanitizer does not survive a fork beside a thread\n");
        skip();
    }
    is_done = false;
    assert_int_equal(pthread_create(&thread, NULL, read_on, text), 0);
    for (int i = 0; i < 50; ++i) {
        int code = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            saltus_model *m = NULL;
            (void)signal(SIGALRM, SIG_DFL);
            (void)alarm(60);
            _exit(saltus_model_parse_sbml(text, strlen(text), "child", &m, NULL) == SALTUS_OK ? 0
                                                                                              : 1);
        }
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(code, 0);
    }
    is_done = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_gives_name_path_lines_and_labels),
        cmocka_unit_test(model_without_id_is_called_by_its_file),
        cmocka_unit_test(byte_order_mark_and_plain_declaration_are_taken),
        cmocka_unit_test(what_is_no_sbml_is_refused),
        cmocka_unit_test(other_name_spaces_are_skipped),
        cmocka_unit_test(comments_hide_nothing),
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
        cmocka_unit_test(required_packages_are_refused),
        cmocka_unit_test(packages_without_meaning_are_not_read),
        cmocka_unit_test(amounts_and_concentrations_become_molecules),
        cmocka_unit_test(compartment_without_size_is_one),
        cmocka_unit_test(species_in_a_point_is_an_amount),
        cmocka_unit_test(level_2_has_its_defaults),
        cmocka_unit_test(many_names_are_found),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(rate_rules_become_rates),
        cmocka_unit_test(rates_are_named),
        cmocka_unit_test(algebraic_rules_are_refused),
        cmocka_unit_test(constraints_are_ignored_with_a_warning),
        cmocka_unit_test(what_changes_no_meaning_is_no_error),
        cmocka_unit_test(stoichiometries_of_all_kinds_are_read),
        cmocka_unit_test(computed_stoichiometries_are_read),
        cmocka_unit_test(reactions_that_cannot_be_simulated_are_refused),
        cmocka_unit_test(moles_become_molecules),
        cmocka_unit_test(units_that_are_not_declared_count_items),
        cmocka_unit_test(units_that_count_nothing_are_moles_if_asked),
        cmocka_unit_test(few_molecules_are_told),
        cmocka_unit_test(stoichiometries_may_have_rules),
        cmocka_unit_test(reactions_without_laws_never_happen),
        cmocka_unit_test(laws_may_be_negative_and_reactants_lacking),
        cmocka_unit_test(functions_of_later_levels_are_understood),
        cmocka_unit_test(conversion_factors_change_what_a_firing_does),
        cmocka_unit_test(species_of_a_reaction_may_have_different_units),
        cmocka_unit_test(factors_that_give_no_molecules_are_refused),
        cmocka_unit_test(events_are_read_in_full),
        cmocka_unit_test(events_assign_concentrations_with_the_size_afterwards),
        cmocka_unit_test(events_that_make_no_sense_are_refused),
        cmocka_unit_test(forks_do_not_hang),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(noise_is_survived),
        cmocka_unit_test(stochastic_cases_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
