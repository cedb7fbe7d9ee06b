/* SBML documents to models: their frame, variables and rules, and what is refused. */
#include "sbml_text.h"

#include "core/file.h"

#include <dirent.h>

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

static void encodings_have_several_names(void **state)
{
    static const char *const names[] = {"UTF-8", "utf8", "US-ASCII", "ASCII", "ISO-8859-1"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "<?xml version=\"1.0\" encoding=\"%s\"?>\n<sbml "
                       "xmlns=\"http://www.sbml.org/sbml/level2/version4\" level=\"2\" "
                       "version=\"4\">\n<model id=\"q\"/></sbml>",
                       names[i]);
        saltus_model_destroy(read_text(text));
    }
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
    check_refused("<sbml/>", SALTUS_E_SYNTAX, "model.xml:1: <sbml> has no level", NULL);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_gives_name_path_lines_and_labels),
        cmocka_unit_test(model_without_id_is_called_by_its_file),
        cmocka_unit_test(byte_order_mark_and_plain_declaration_are_taken),
        cmocka_unit_test(encodings_have_several_names),
        cmocka_unit_test(what_is_no_sbml_is_refused),
        cmocka_unit_test(other_name_spaces_are_skipped),
        cmocka_unit_test(comments_hide_nothing),
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
        cmocka_unit_test(stochastic_cases_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
