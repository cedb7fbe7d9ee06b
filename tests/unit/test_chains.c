/* Values that come from values that come from values, long sums and deep nesting: as long as files
 * may have them, and on a thread with hardly any stack. */
#include "../support/effort.h"
#include "frozen.h"

#include "model/network/model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 100000, SHORT = 20000 };

typedef saltus_status parser(const char *text, size_t size, const char *name, saltus_model **out,
                             saltus_error *err);

typedef struct model_text {
    char *start;
    size_t size;
    FILE *out;
} model_text;

static model_text begin(void)
{
    model_text t = {0};
    t.out = open_memstream(&t.start, &t.size);
    assert_non_null(t.out);
    return t;
}

/* x0 … xn: the first is 7, or comes from A = 10, each other is one more than the one before. */
static char *yaml_chain(const char *list, int n, bool backwards, const char *first)
{
    model_text t = begin();
    (void)fprintf(t.out, "species: {A: 10, B: 0}\n%s:\n", list);
    for (int k = 0; k <= n; ++k) {
        const int i = backwards ? n - k : k;
        if (i == 0) {
            (void)fprintf(t.out, "  x0: %s\n", first);
        } else {
            (void)fprintf(t.out, "  x%d: x%d + 1\n", i, i - 1);
        }
    }
    (void)fprintf(
        t.out, "reactions:\n  r: {equation: A -> B, law: x%d*A - x%d*B, reversible: true}\n", n, n);
    assert_int_equal(fclose(t.out), 0);
    return t.start;
}

static char *net_chain(int n, bool backwards)
{
    model_text t = begin();
    for (int block = 0; block < 2; ++block) {
        static const char *const names[] = {"parameters", "functions"};
        (void)fprintf(t.out, "begin %s\n", names[block]);
        for (int k = 0; k <= n; ++k) {
            const int i = backwards ? n - k : k;
            (void)fprintf(t.out, "%d %s%d%s ", k + 1, block ? "x" : "p", i, block ? "()" : "");
            if (i == 0) {
                (void)fprintf(t.out, "%s\n", block ? "all" : "7");
            } else {
                (void)fprintf(t.out, "%s%d + 1\n", block ? "x" : "p", i - 1);
            }
        }
        (void)fprintf(t.out, "end %s\n", names[block]);
    }
    (void)fprintf(
        t.out,
        "begin species\n1 A() 10\n2 B() 0\nend species\nbegin reactions\n1 1 2 x%d\n2 2 1 p%d\n"
        "end reactions\nbegin groups\n1 all 1\nend groups\n",
        n, n);
    assert_int_equal(fclose(t.out), 0);
    return t.start;
}

static char *sbml_chain(int n, bool backwards)
{
    model_text t = begin();
    (void)fprintf(t.out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sbml "
                  "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" "
                  "version=\"1\"><model id=\"m\"><listOfCompartments><compartment id=\"C\" "
                  "size=\"1\" constant=\"true\"/></listOfCompartments><listOfSpecies><species "
                  "id=\"A\" compartment=\"C\" initialAmount=\"10\" hasOnlySubstanceUnits=\"true\" "
                  "boundaryCondition=\"false\" constant=\"false\"/></listOfSpecies>"
                  "<listOfParameters>");
    for (int i = 0; i <= n; ++i) {
        (void)fprintf(t.out, "<parameter id=\"x%d\" constant=\"false\"/>", i);
    }
    (void)fprintf(t.out, "</listOfParameters><listOfRules>");
    for (int k = 0; k <= n; ++k) {
        const int i = backwards ? n - k : k;
        char before[20] = "A";
        if (i > 0) {
            (void)snprintf(before, sizeof before, "x%d", i - 1);
        }
        (void)fprintf(t.out,
                      "<assignmentRule variable=\"x%d\"><math "
                      "xmlns=\"http://www.w3.org/1998/Math/MathML\"><apply><plus/><ci>%s</ci>"
                      "<cn>%d</cn></apply></math></assignmentRule>",
                      i, before, i > 0);
    }
    (void)fprintf(t.out, "</listOfRules></model></sbml>");
    assert_int_equal(fclose(t.out), 0);
    return t.start;
}

/* Read, frozen, told and written; x of this number has this value. */
static void check_model(parser *parse, const char *what, char *text, int number, double value)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    char name[20];
    if (parse(text, strlen(text), "m", &m, &err) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    (void)snprintf(name, sizeof name, "x%d", number);
    const int i = saltus_model_find(m, name);
    assert_true(i >= 0);
    if (m->network->bindings[i].value != value) {
        fail_msg("%s: %s is %g", what, name, m->network->bindings[i].value);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    assert_int_equal(saltus_model_print_info(m, nowhere, &err), SALTUS_OK);
    assert_int_equal(saltus_model_write_yaml(m, nowhere, &err), SALTUS_OK);
    (void)fclose(nowhere);
    saltus_model_destroy(m);
    free(text);
}

static void check_chains(int n)
{
    for (int backwards = 0; backwards < 2; ++backwards) {
        check_model(saltus_model_parse_yaml, "rules", yaml_chain("rules", n, backwards, "A"), n,
                    10.0 + n);
        check_model(saltus_model_parse_yaml, "parameters",
                    yaml_chain("parameters", n, backwards, "7"), n, 7.0 + n);
        check_model(saltus_model_parse_net, ".net", net_chain(n, backwards), n, 10.0 + n);
        if (SALTUS_WITH_SBML) {
            check_model(saltus_model_parse_sbml, "SBML", sbml_chain(n, backwards), n, 10.0 + n);
        }
    }
}

static void long_chains_are_followed(void **state)
{
    (void)state;
    check_chains(takes_part() ? LONG / 8 : LONG);
}

static void circles_are_told_however_long(void **state)
{
    (void)state;
    for (int n = 1; n <= SHORT; n *= 20) {
        char first[20];
        saltus_error err = {0};
        (void)snprintf(first, sizeof first, "x%d", n);
        char *circle = yaml_chain("rules", n, false, first);
        saltus_model *m = parse_text(circle);
        assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_E_MODEL);
        assert_non_null(strstr(err.message, "its value depends on itself"));
        saltus_model_destroy(m);
        free(circle);
    }
}

/* "x0: A + A + …", and "((((A + 1) + 1) …": of the largest size that is taken, and one larger. */
static void check_depths(void)
{
    static const struct {
        int n;
        bool nests;
        double value;
        const char *refused;
    } cases[] = {{4999, false, 49990.0, NULL},
                 {5002, false, 0.0, "more than 5000 steps in a row"},
                 {LONG, false, 0.0, "more than 5000 steps in a row"},
                 {498, true, 508.0, NULL},
                 {502, true, 0.0, "nested more than 500 deep"},
                 {LONG, true, 0.0, "nested more than 500 deep"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        model_text t = begin();
        (void)fprintf(t.out, "species: {A: 10, B: 0}\nrules:\n  x0: ");
        for (int k = 0; k < cases[i].n; ++k) {
            (void)fprintf(t.out, cases[i].nests ? "(" : k > 0 ? " + A" : "A");
        }
        (void)fprintf(t.out, cases[i].nests ? "A" : "");
        for (int k = 0; k < cases[i].n && cases[i].nests; ++k) {
            (void)fprintf(t.out, " + 1)");
        }
        (void)fprintf(t.out,
                      "\nreactions:\n  r: {equation: A -> B, law: x0 - x0*B, reversible: true}\n");
        assert_int_equal(fclose(t.out), 0);
        if (cases[i].refused) {
            saltus_error err = {0};
            saltus_model *m = NULL;
            assert_int_equal(saltus_model_parse_yaml(t.start, t.size, "m", &m, &err),
                             SALTUS_E_UNSUPPORTED);
            assert_non_null(strstr(err.message, cases[i].refused));
            free(t.start);
        } else {
            check_model(saltus_model_parse_yaml, "depth", t.start, 0, cases[i].value);
        }
    }
}

static void depths_are_taken_or_refused(void **state)
{
    (void)state;
    check_depths();
}

static void *on_little_stack(void *user)
{
    (void)user;
    check_chains(SHORT);
    check_depths();
    return user;
}

static void little_stack_is_enough(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *end = NULL;
    int mark;
    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, on_little_stack, &mark), 0);
    assert_int_equal(pthread_join(thread, &end), 0);
    assert_ptr_equal(end, &mark);
    (void)pthread_attr_destroy(&attributes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains_are_followed),
        cmocka_unit_test(circles_are_told_however_long),
        cmocka_unit_test(depths_are_taken_or_refused),
        cmocka_unit_test(little_stack_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
