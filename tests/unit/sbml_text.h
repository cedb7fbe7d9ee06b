/** For the tests of the SBML reader: documents from their parts, reading, printing, evaluating. */
#ifndef SALTUS_TESTS_SBML_TEXT_H
#define SALTUS_TESTS_SBML_TEXT_H

#include "model/network/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MATH(inside) "<math xmlns=\"http://www.w3.org/1998/Math/MathML\">" inside "</math>"

/* Documents of one line of head, so that a body starts on line 2. */
#define L3V1(body)                                                                              \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                          \
    "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\"><model " \
    "id=\"m\">\n" body "</model></sbml>\n"
#define L3V2_MODEL(attributes, body)                                                            \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                          \
    "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" version=\"2\"><model " \
    "id=\"m\" " attributes ">\n" body "</model></sbml>\n"
#define L3(body) L3V2_MODEL("", body)
#define L2(version, body)                                                                         \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                            \
    "xmlns=\"http://www.sbml.org/sbml/level2/version" version "\" level=\"2\" version=\"" version \
    "\"><model id=\"m\">\n" body "</model></sbml>\n"

/* Elements of level 3 with the attributes that it requires. */
#define COMPARTMENT(id, rest) "<compartment id=\"" id "\" constant=\"true\" " rest "/>\n"
#define SPECIES(id, amounts_only, rest)                                                 \
    "<species id=\"" id "\" compartment=\"cell\" hasOnlySubstanceUnits=\"" amounts_only \
    "\" boundaryCondition=\"false\" constant=\"false\" " rest "/>\n"
#define PARAMETER(id, constant, rest) \
    "<parameter id=\"" id "\" constant=\"" constant "\" " rest "/>\n"
#define ASSIGNMENT_RULE(id, math) \
    "<assignmentRule variable=\"" id "\">" MATH(math) "</assignmentRule>\n"
#define REFERENCE(species, rest) \
    "<speciesReference species=\"" species "\" constant=\"true\" " rest "/>"
#define REACTION(id, sides, law)                                                             \
    "<reaction id=\"" id "\" reversible=\"false\">" sides "<kineticLaw>" law "</kineticLaw>" \
    "</reaction>\n"
#define LIST(name, inside) "<listOf" name ">\n" inside "</listOf" name ">\n"
#define CI(name) "<ci>" name "</ci>"
#define CN(number) "<cn>" number "</cn>"
#define APPLY(name, args) "<apply><" name "/>" args "</apply>"
#define TIMES(a, b) APPLY("times", CI(a) CI(b))
#define REACTANTS(inside) "<listOfReactants>" inside "</listOfReactants>"
#define PRODUCTS(inside) "<listOfProducts>" inside "</listOfProducts>"
#define LAW(math) MATH(math)
#define INITIAL(id, math) \
    "<initialAssignment symbol=\"" id "\">" MATH(math) "</initialAssignment>\n"
#define CELL LIST("Compartments", COMPARTMENT("cell", "size=\"2\" spatialDimensions=\"3\""))

/* Two units of substance, and an event. */
#define NANOMOLE                                                                   \
    "<unitDefinition id=\"nmol\"><listOfUnits><unit kind=\"mole\" exponent=\"1\" " \
    "scale=\"-9\" multiplier=\"1\"/></listOfUnits></unitDefinition>"
#define DOZEN                                                                       \
    "<unitDefinition id=\"dozen\"><listOfUnits><unit kind=\"item\" exponent=\"1\" " \
    "scale=\"0\" multiplier=\"12\"/></listOfUnits></unitDefinition>"
#define UNITS LIST("UnitDefinitions", NANOMOLE DOZEN)
#define EVENT(attributes, trigger, rest)                                 \
    "<event " attributes " useValuesFromTriggerTime=\"false\"><trigger " \
    "initialValue=\"false\" persistent=\"false\">" MATH(trigger) "</trigger>" rest "</event>\n"
#define ASSIGN(id, math) "<eventAssignment variable=\"" id "\">" MATH(math) "</eventAssignment>"

static inline saltus_model *read_text(const char *text)
{
    saltus_model *model = NULL;
    saltus_error err = {.code = SALTUS_OK};
    if (saltus_model_parse_sbml(text, strlen(text), "model.xml", &model, &err) != SALTUS_OK) {
        print_message("%s\n", err.message);
        fail();
    }
    return model;
}

/* The text is refused with this status, and with these parts in the message and in the hint. */
static inline void check_refused(const char *text, saltus_status status, const char *message,
                                 const char *hint)
{
    saltus_model *model = NULL;
    saltus_error err = {.code = SALTUS_OK};
    const saltus_status got =
        saltus_model_parse_sbml(text, strlen(text), "model.xml", &model, &err);
    if (got != status || !strstr(err.message, message) ||
        strncmp(err.message, "model.xml", 9) != 0 || (hint && !strstr(err.hint, hint))) {
        print_message("status %d: %s\nhint: %s\nexpected %d: %s\n", got, err.message, err.hint,
                      status, message);
        fail();
    }
    assert_null(model);
}

static inline const saltus_variable *variable(const saltus_model *model, const char *id)
{
    const int i = saltus_model_find(model, id);
    assert_true(i >= 0);
    return &model->variables[i];
}

static inline const saltus_reaction *reaction(const saltus_model *model, const char *id)
{
    const int i = saltus_model_find_reaction(model, id);
    assert_true(i >= 0);
    return &model->reactions[i];
}

static inline void check_printed(const saltus_model *model, const saltus_expr *e,
                                 const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(e);
    saltus_expr_print(model, e, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static inline bool has_warning(const saltus_model *model, const char *part)
{
    for (int i = 0; i < saltus_model_n_warnings(model); ++i) {
        if (strstr(saltus_model_warning(model, i), part)) {
            return true;
        }
    }
    return false;
}

static inline void check_number(const saltus_expr *e, double expected)
{
    assert_non_null(e);
    assert_int_equal(e->op, SALTUS_OP_CONST);
    assert_true(e->value == expected);
}

static inline void check_participants(const saltus_model *m, const saltus_participant *list, int n,
                                      const char *expected)
{
    char text[200] = "";
    for (int i = 0; i < n; ++i) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.9g %s", i ? " + " : "",
                       saltus_molecules(&list[i]), m->variables[list[i].variable].id);
    }
    assert_string_equal(text, expected);
}

#endif
