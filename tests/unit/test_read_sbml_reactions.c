/* Reactions, units and events of SBML documents. */
#include "sbml_text.h"

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
                REACTION("R4", "", LAW(APPLY("plus", CI("R3") CI("A"))))
                    REACTION("R5",
                             REACTANTS(REFERENCE("A", "stoichiometry=\"0.5\"") REFERENCE(
                                 "A", "stoichiometry=\"2\"") REFERENCE("B", "stoichiometry=\"0.5\"")
                                           REFERENCE("A", "stoichiometry=\"0.5\"")),
                             LAW(CI("k")))));
    const saltus_reaction *r = reaction(m, "R1");
    check_participants(m, r->reactants, r->n_reactants, "2 A + 1 A + 1 S");
    assert_true(has_warning(m, "reaction 'R1' gives no stoichiometry of 'A': it is taken as 1"));
    check_participants(m, r->products, r->n_products, "1 A + 100 B");
    r = reaction(m, "R2");
    assert_int_equal(r->n_reactants, 0);
    check_participants(m, r->products, r->n_products, "3 A");
    check_printed(m, r->law, "k*3");
    check_printed(m, reaction(m, "R3")->law, "R3.A*B");
    check_printed(m, reaction(m, "R4")->law, "R3.A*B + A"); /* a reaction's name is its rate */
    assert_int_equal(reaction(m, "R4")->n_reactants + reaction(m, "R4")->n_products, 0);
    r = reaction(m, "R5"); /* parts are added up */
    check_participants(m, r->reactants, r->n_reactants, "3 A + 0.5 B");
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
    check_refused(NETWORK(REACTION("R7", REACTANTS(REFERENCE("a", "")), LAW(CI("k")))),
                  SALTUS_E_MODEL, "reaction 'R7': species 'a' is not defined", "did you mean 'A'?");
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

/* A document of level 2 version 1, in which a law, a species and an event may have units of their
 * own. */
static const char *level_2_1(const char *units, const char *species, const char *law,
                             const char *event)
{
    static char text[3000];
    (void)snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\"?><sbml xmlns=\"http://www.sbml.org/sbml/level2\" level=\"2\" "
        "version=\"1\"><model id=\"m\"><listOfUnitDefinitions>\n"
        "<unitDefinition id=\"minute\"><listOfUnits><unit kind=\"second\" multiplier=\"60\"/>"
        "</listOfUnits></unitDefinition><unitDefinition id=\"dm3\"><listOfUnits>"
        "<unit kind=\"metre\" scale=\"-1\" exponent=\"3\"/></listOfUnits></unitDefinition>"
        "<unitDefinition id=\"ml\"><listOfUnits><unit kind=\"litre\" scale=\"-3\"/></listOfUnits>"
        "</unitDefinition>%s</listOfUnitDefinitions>\n<listOfCompartments>"
        "<compartment id=\"cell\" size=\"2\"/></listOfCompartments><listOfSpecies>\n"
        "<species id=\"X\" compartment=\"cell\" %s/></listOfSpecies><listOfReactions>\n"
        "<reaction id=\"R\" reversible=\"false\"><listOfReactants><speciesReference species=\"X\"/>"
        "</listOfReactants><kineticLaw%s>" MATH(TIMES(
            "cell",
            "X")) "</kineticLaw></reaction>"
                  "</listOfReactions><listOfEvents>\n<event%s><trigger>" MATH(APPLY(
                      "gt",
                      CI("X") CN(
                          "2"))) "</trigger><delay>" MATH(CN("3")) "</"
                                                                   "delay><listOfEventAssignments><"
                                                                   "eventAssignment "
                                                                   "variable=\"X\">" MATH(CN(
                                                                       "1")) "</eventAssignment></"
                                                                             "listOfEventAssignment"
                                                                             "s></event>"
                                                                             "</listOfEvents></"
                                                                             "model></sbml>",
        units, species, law, event);
    return text;
}

static void check_own_units(const char *text, const char *law, const char *delay)
{
    saltus_model *m = read_text(text);
    check_printed(m, reaction(m, "R")->law, law);
    check_printed(m, m->events[0].delay, delay);
    saltus_model_destroy(m);
}

static void own_units_of_substance_are_converted(void **state)
{
#define UNIT(id, n)                                                                         \
    "<unitDefinition id=\"" id "\"><listOfUnits><unit kind=\"item\" multiplier=\"" n "\"/>" \
    "</listOfUnits></unitDefinition>"
    static const char x[] = "initialAmount=\"1\"", dozen[] = " substanceUnits=\"dozen\"",
                      units[] = UNIT("dozen", "12") UNIT("substance", "3");
    (void)state;
    check_own_units(level_2_1(units, x, "", ""), "X/3*3", "3");
    check_own_units(level_2_1(units, x, dozen, ""), "X/3*12", "3");
    check_own_units(level_2_1(units, x, " substanceUnits=\"dozen\" timeUnits=\"minute\"", ""),
                    "X/3*0.2", "3");
    check_own_units(level_2_1(UNIT("dozen", "12"), x, " substanceUnits=\"item\"", ""), "X", "3");
    check_refused(
        level_2_1(UNIT("dozen", "12"), x, dozen, ""), SALTUS_E_UNSUPPORTED,
        "model.xml:5: reaction 'R': its unit of substance 'dozen' cannot be converted: the "
        "model's is not declared",
        NULL);
    check_refused(level_2_1("", x, " substanceUnits=\"mole\"", ""), SALTUS_E_UNSUPPORTED,
                  "reaction 'R': its unit of substance 'mole' cannot be converted", NULL);
}

static void own_units_of_time_are_converted(void **state)
{
    static const char hours[] = "<unitDefinition id=\"time\"><listOfUnits><unit kind=\"second\" "
                                "multiplier=\"1800\"/></listOfUnits></unitDefinition>",
                      steps[] = "<unitDefinition id=\"time\"><listOfUnits><unit kind=\"item\"/>"
                                "</listOfUnits></unitDefinition>",
                      minute[] = " timeUnits=\"minute\"", x[] = "initialAmount=\"1\"";
    (void)state;
    check_own_units(level_2_1("", x, "", ""), "X", "3");
    check_own_units(level_2_1("", x, " timeUnits=\"time\"", " timeUnits=\"second\""), "X", "3");
    check_own_units(level_2_1("", x, " timeUnits=\"dimensionless\"", ""), "X", "3");
    check_own_units(level_2_1("", x, minute, ""), "X*0.016666666666666666", "3");
    check_own_units(level_2_1("", x, "", minute), "X", "3*60");
    check_own_units(level_2_1(hours, x, minute, minute), "X*30", "3*0.03333333333333333");
    check_own_units(level_2_1(steps, x, "", " timeUnits=\"time\""), "X", "3");
    check_refused(level_2_1(steps, x, minute, ""), SALTUS_E_UNSUPPORTED,
                  "model.xml:5: reaction 'R': its unit of time 'minute' cannot be converted", NULL);
    check_refused(level_2_1("", x, "", " timeUnits=\"ml\""), SALTUS_E_UNSUPPORTED,
                  "model.xml:6: event 'event_1': its unit of time 'ml' cannot be converted", NULL);
}

static void own_units_of_size_are_the_compartments(void **state)
{
    static const char refused[] = "model.xml:4: species 'X': its concentrations are per 'ml' "
                                  "(spatialSizeUnits), which is not "
                                  "the unit of the size of its compartment 'cell'";
    (void)state;
    static const char *const same[] = {"volume", "litre", "dm3"};
    for (int i = 0; i < 3; ++i) {
        char species[100];
        (void)snprintf(species, sizeof species,
                       "initialConcentration=\"1\" spatialSizeUnits=\"%s\"", same[i]);
        check_own_units(level_2_1("", species, "", ""), "X", "3");
    }
    check_refused(level_2_1("", "initialConcentration=\"1\" spatialSizeUnits=\"ml\"", "", ""),
                  SALTUS_E_UNSUPPORTED, refused, NULL);
    check_refused(level_2_1("", "initialAmount=\"1\" spatialSizeUnits=\"ml\"", "", ""),
                  SALTUS_E_UNSUPPORTED, refused, NULL);
    saltus_model *m = read_text(level_2_1(
        "", "initialAmount=\"1\" hasOnlySubstanceUnits=\"true\" spatialSizeUnits=\"ml\"", "", ""));
    check_printed(m, reaction(m, "R")->law, "cell*X");
    saltus_model_destroy(m);
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
    assert_true(has_warning(m, "reaction 'R': a firing changes 12 molecules of 'A', and not 1, by "
                               "the units of both or a conversion factor"));
    check_printed(m, reaction(m, "R")->law, "A/12*12");
    saltus_model_destroy(m);
    /* extent in nanomoles, species in items, the factor with another number of Avogadro */
    m = read_text(OWN_FACTOR("conversionFactor=\"cf\" extentUnits=\"nmol\"", "6.02214179e14",
                             "substanceUnits=\"item\"", ""));
    check_participants(m, reaction(m, "R")->reactants, 1, "1 A");
    check_participants(m, reaction(m, "R")->products, 1, "3 B");
    assert_false(has_warning(m, "a firing changes"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stoichiometries_of_all_kinds_are_read),
        cmocka_unit_test(computed_stoichiometries_are_read),
        cmocka_unit_test(reactions_that_cannot_be_simulated_are_refused),
        cmocka_unit_test(moles_become_molecules),
        cmocka_unit_test(units_that_are_not_declared_count_items),
        cmocka_unit_test(units_that_count_nothing_are_moles_if_asked),
        cmocka_unit_test(own_units_of_substance_are_converted),
        cmocka_unit_test(own_units_of_time_are_converted),
        cmocka_unit_test(own_units_of_size_are_the_compartments),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
