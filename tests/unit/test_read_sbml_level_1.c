/* SBML Level 1: what it says is the model that Level 2 or 3 writes otherwise, to the bits of its
 * trajectories; what is wrong with it is refused by a sentence. */
#include "sbml_text.h"

#include "../support/bits.h"
#include "../support/same_model.h"

/* A document in which R, with this law, consumes one species of 100 molecules in a cell of size 1;
 * k is 0.1. */
static const char *level_1(const char *species, const char *law)
{
    static char text[2000];
    (void)snprintf(text, sizeof text,
                   "<?xml version=\"1.0\"?><sbml xmlns=\"http://www.sbml.org/sbml/level1\" "
                   "level=\"1\" version=\"2\"><model name=\"m\">\n"
                   "<listOfCompartments><compartment name=\"cell\"/></listOfCompartments>\n"
                   "<listOfSpecies><species name=\"%s\" compartment=\"cell\" "
                   "initialAmount=\"100\"/></listOfSpecies>\n"
                   "<listOfParameters><parameter name=\"k\" value=\"0.1\"/></listOfParameters>\n"
                   "<listOfReactions><reaction name=\"R\" reversible=\"false\"><listOfReactants>"
                   "<speciesReference species=\"%s\"/></listOfReactants>\n"
                   "<kineticLaw formula=\"%s\"/></reaction></listOfReactions></model></sbml>",
                   species, species, law);
    return text;
}

static saltus_model *read_file(const char *name)
{
    char path[1000];
    saltus_model *m = NULL;
    saltus_error err = {.code = SALTUS_OK};
    (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/sbml/%s.xml", getenv("SALTUS_SOURCE"),
                   name);
    if (saltus_model_read_sbml(path, &m, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

/* The same model, with the bits of its trajectories by both methods. */
static void check_same(const char *one, const char *other)
{
    static const double times[] = {0.0, 0.5, 1.0, 2.0, 4.0};
    static const char *const methods[] = {"direct", "ode"};
    saltus_model *a = read_file(one), *b = read_file(other);
    const char *difference = model_difference(a, b);
    if (difference) {
        fail_msg("%s: %s differs", one, difference);
    }
    assert_int_equal(saltus_model_n_warnings(a), saltus_model_n_warnings(b));
    assert_int_equal(saltus_model_freeze(a, SALTUS_LAW_LITERAL, NULL), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(b, SALTUS_LAW_LITERAL, NULL), SALTUS_OK);
    for (int i = 0; i < 2; ++i) {
        const saltus_plan_options plan = bits_plan(methods[i], "philox", "auto", 1);
        assert_int_equal(bits_hash_plan(a, "cpu", &plan, 0, 20, times, 5),
                         bits_hash_plan(b, "cpu", &plan, 0, 20, times, 5));
    }
    saltus_model_destroy(a);
    saltus_model_destroy(b);
}

static void version_1_is_the_model_of_level_2(void **state)
{
    (void)state;
    check_same("level-1-version-1", "level-1-version-1-as-2");
}

static void version_2_is_the_model_of_level_3(void **state)
{
    (void)state;
    check_same("level-1-version-2", "level-1-version-2-as-3");
}

static void check_law(const char *species, const char *law, const char *expected)
{
    saltus_model *m = read_text(level_1(species, law));
    check_printed(m, reaction(m, "R")->law, expected);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
}

/* The precedence is that of Level 1: a sign binds before a power, powers from the left. */
static void formulas_are_read_as_level_1_means_them(void **state)
{
    (void)state;
    check_law("A", "k*A", "k*(A/cell)");
    check_law("A", "-k^2", "(-k)^2");
    check_law("A", "k^2^3", "(k^2)^3");
    check_law("A", "log(k) + log10(k)", "ln(k) + log10(k)");
    check_law("A", "sqr(k) + sqrt(k) + pow(k, 3)", "k^2 + sqrt(k) + k^3");
    check_law("A", "1.5e-3*k", "0.0015*k");
}

/* libsbml takes these names, in any case, for constants, which formulas of level 1 do not have. */
static void names_are_no_constants(void **state)
{
    (void)state;
    check_law("Pi", "k*Pi", "k*(Pi/cell)");
    check_law("PI", "k*PI", "k*(PI/cell)");
    check_law("True", "k*True", "k*(True/cell)");
    check_law("ExponentialE", "k*ExponentialE", "k*(ExponentialE/cell)");
    check_law("A", "k*pi", "k*3.141592653589793"); /* nothing else has the name */
    check_refused(level_1("NaN", "k*NaN"), SALTUS_E_UNSUPPORTED,
                  "model.xml:5: reaction 'R': rate law has a number that is not finite", NULL);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char *const no_formulas[] = {"k*A*(", "k**A", "k A", "k%2", "k*(A&lt;2)", "k!"};
    for (size_t i = 0; i < sizeof no_formulas / sizeof *no_formulas; ++i) {
        check_refused(level_1("A", no_formulas[i]), SALTUS_E_SYNTAX, "model.xml:6: the formula '",
                      NULL);
    }
    check_refused(level_1("A", "k*a"), SALTUS_E_MODEL,
                  "reaction 'R': rate law uses 'a', which is not defined", "did you mean 'A'");
    check_refused(
        level_1("A", "uui(A, k, 3)"), SALTUS_E_UNSUPPORTED,
        "model.xml:5: reaction 'R': rate law uses 'uui', a predefined rate law of Level 1, "
        "which is not supported",
        "write its formula out");
    check_refused(level_1("A", "massi(A, k)"), SALTUS_E_UNSUPPORTED, "uses 'massi'", NULL);
    check_refused(level_1("A", "round(A)"), SALTUS_E_MODEL, "uses the function 'round'",
                  "Level 1 has abs, acos, ");
    check_refused(level_1("A", "k*A*time"), SALTUS_E_MODEL, "uses 'time'", NULL);
    check_refused(level_1("A", ""), SALTUS_E_SYNTAX, "model.xml:6: the formula '' is not", NULL);
}

/* Longer ones would be more than libsbml's stack can take. */
static void long_formulas_are_refused(void **state)
{
    (void)state;
    enum { N = 1000000 };
    const char *start = level_1("A", "");
    const char *at = strstr(start, "formula=\"") + strlen("formula=\"");
    char *text = calloc(N + 3000, 1);
    assert_non_null(text);
    memcpy(text, start, (size_t)(at - start));
    char *law = text + (at - start);
    memset(law, '+', N);
    for (int i = 0; i <= N; i += 2) {
        law[i] = 'A';
    }
    (void)strcpy(law + N + 1, at);
    check_refused(text, SALTUS_E_UNSUPPORTED,
                  "model.xml:6: a formula has more than 50000 characters", NULL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_is_the_model_of_level_2),
        cmocka_unit_test(version_2_is_the_model_of_level_3),
        cmocka_unit_test(formulas_are_read_as_level_1_means_them),
        cmocka_unit_test(names_are_no_constants),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(long_formulas_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
