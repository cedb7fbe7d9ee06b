#include "core/file.h"
#include "model/network/model.h"
#include "../support/same_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything that the format has, in the order in which BioNetGen writes it. */
static const char whole[] = "# Created by hand\n"
                            "setOption(\"SpeciesLabel\",\"HNauty\")\n"
                            "substanceUnits(\"Number\");\n"
                            "begin parameters\n"
                            "    1 Na     6.022e23  # Constant\n"
                            "    2 V      1e-21  # Constant\n"
                            "    3 k      (0.212*Na)*V  # ConstantExpression 127.6664\n"
                            "    4 K1     if(k>1,2,3)\n"
                            "    5 h      ln(2)/120^2\n"
                            "end parameters\n"
                            "begin functions\n"
                            "    1 f() k/(K1+tot)\n"
                            "    2 g() f()*time()\n"
                            "    3 c() 2*k\n"
                            "end functions\n"
                            "begin molecule types\n"
                            "    1 A(b)\n"
                            "end molecule types\n"
                            "begin reaction rules\n"
                            "  Rule1: \\\n"
                            "  A(b) -> 0 k\n"
                            "end reaction rules\n"
                            "begin species\n"
                            "    1 A(b)  100\n"
                            "    2 $B(a)  2*K1\n"
                            "    3 @CP::$A(b!1).B(a!1) 0\n"
                            "    4 tot 1\n"
                            "end species\n"
                            "begin reactions\n"
                            "    1 1,2 3 k #_R1\n"
                            "    2 1,1 3 0.5*k #_R2\n"
                            "    3 1,1,1 0 k\r\n"
                            "    4 0 1,1,2 3*k\n"
                            "    5 1,1 2 f #_R3\n"
                            "    6 1,2 2 2*g\n"
                            "    7 1,2 2 Sat k K1\n"
                            "    8 1,1 2 2*Sat k K1 3\n"
                            "    9 1,2 2 MM k K1\n"
                            "   10 1,2 2 Hill k K1 h\n"
                            "   11 1,1 2 c\n"
                            "   12 1 2 Sat k\n"
                            "   13 1,1 2 3\n"
                            "end reactions\n"
                            "begin groups\n"
                            "    1 tot                  1,2*2,3\n"
                            "    2 none\n"
                            "    3 one                  4\n"
                            "end groups\n";

static saltus_model *parse(const char *text)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    if (saltus_model_parse_net(text, strlen(text), "dir/test.net", &m, &err) != SALTUS_OK) {
        fail_msg("%s (%s)", err.message, err.hint);
    }
    return m;
}

static void check_expr(const saltus_model *m, const saltus_expr *e, const char *text)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    saltus_expr_print(m, e, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, text);
    free(printed);
}

static void everything_is_read(void **state)
{
    (void)state;
    static const struct {
        bool mass_action;
        const char *law;
    } laws[] = {
        {true, "k"},
        {true, "k"}, /* 2 * 0.5 k: BioNetGen means 0.5 k X */
        {true, "6*k"},
        {true, "3*k"},
        {false, "f*`A(b)`*(`A(b)` - 1)"},
        {false, "2*g*`A(b)`*`B(a)`"},
        {false, "k*(`A(b)`/(K1 + `A(b)`))*`B(a)`"},
        {false, "2*(k*(`A(b)`/(K1 + `A(b)`))*((`A(b)` - 1)/(3 + `A(b)`)))"},
        {false, "k*`B(a)`*(0.5*(`A(b)` - K1 - `B(a)` + sqrt((`A(b)` - K1 - `B(a)`)*(`A(b)` - K1 - "
                "`B(a)`) + 4*`A(b)`*K1)))/(K1 + 0.5*(`A(b)` - K1 - `B(a)` + sqrt((`A(b)` - K1 - "
                "`B(a)`)*(`A(b)` - K1 - `B(a)`) + 4*`A(b)`*K1)))"},
        {false, "k*`A(b)`^h/(K1^h + `A(b)`^h)*`B(a)`"},
        {true, "2*c"},
        {false, "k"},
        {true, "2*3"},
    };
    saltus_model *m = parse(whole);
    assert_string_equal(m->name, "test");
    assert_string_equal(m->path, "dir/test.net");
    assert_int_equal(m->n_variables, 5 + 3 + 3 + 4);
    assert_int_equal(m->n_reactions, 13);
    for (size_t r = 0; r < m->n_reactions; ++r) {
        check_expr(m, m->reactions[r].law, laws[r].law);
        assert_int_equal(m->reactions[r].mass_action, laws[r].mass_action);
    }
    assert_string_equal(m->reactions[12].id, "r13");
    assert_int_equal(m->reactions[0].line, 30);
    assert_int_equal(m->reactions[1].n_reactants, 1);
    assert_int_equal(saltus_whole_molecules(&m->reactions[1].reactants[0]), 2);
    assert_int_equal(m->reactions[3].n_reactants, 0);
    assert_int_equal(m->reactions[3].n_products, 2);

    assert_false(m->variables[saltus_model_find(m, "A(b)")].boundary);
    assert_true(m->variables[saltus_model_find(m, "B(a)")].boundary);
    assert_true(m->variables[saltus_model_find(m, "@CP::A(b!1).B(a!1)")].boundary);
    assert_true(saltus_model_find(m, "tot()") >= 0);
    check_expr(m, m->variables[saltus_model_find(m, "tot")].rule,
               "`A(b)` + (2*`B(a)` + `@CP::A(b!1).B(a!1)`)");
    check_expr(m, m->variables[saltus_model_find(m, "none")].rule, "0");
    check_expr(m, m->variables[saltus_model_find(m, "g")].rule, "f*time");
    assert_true(m->variables[saltus_model_find(m, "tot")].observable);
    assert_false(m->variables[saltus_model_find(m, "f")].observable);
    saltus_model_destroy(m);
}

static saltus_model *through_yaml(const saltus_model *m)
{
    saltus_model *again = NULL;
    saltus_error err = {0};
    char *text = model_to_yaml(m);
    assert_non_null(text);
    if (saltus_model_parse_yaml(text, strlen(text), "m.yaml", &again, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    free(text);
    return again;
}

static void models_pass_through_yaml(void **state)
{
    (void)state;
    saltus_model *m = parse(whole), *again = through_yaml(m);
    assert_null(model_difference(m, again));
    saltus_model_destroy(m);
    saltus_model_destroy(again);
}

static void errors_tell_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        saltus_status status;
        const char *message;
    } cases[] = {
        {"", SALTUS_E_SYNTAX, "m.net: the file is empty"},
        {"hello\n", SALTUS_E_SYNTAX, "m.net: there is no block of species"},
        {"begin species\n1 A 1\nend species\n", SALTUS_E_SYNTAX,
         "m.net: there is no block of reactions"},
        {"begin species\n1 A 1\n", SALTUS_E_SYNTAX, "m.net:1: the block 'species' has no end"},
        {"begin species\nend groups\n", SALTUS_E_SYNTAX, "m.net:2: 'end groups' ends no block"},
        {"end species\n", SALTUS_E_SYNTAX, "m.net:1: 'end species' ends no block"},
        {"begin species\nbegin groups\n", SALTUS_E_SYNTAX, "m.net:2: 'begin groups' within"},
        {"begin species\n2 A 1\nend species\n", SALTUS_E_SYNTAX,
         "m.net:2: number 1 is wanted here"},
        {"begin species\n1 A 1\n2 A 1\nend species\n", SALTUS_E_MODEL,
         "m.net:3: 'A' is defined twice, first in line 2"},
        {"begin species\n1 A -1\nend species\n", SALTUS_E_MODEL,
         "m.net:2: species 'A': -1 is no number of molecules"},
        {"begin species\n1 A\nend species\n", SALTUS_E_SYNTAX,
         "m.net:2: species 'A': an expression is missing"},
        {"begin species\n1 A\xff 1\nend species\n", SALTUS_E_SYNTAX, "m.net:2: a name is no text"},
        {"begin species\n1 A kk\nend species\n", SALTUS_E_MODEL,
         "m.net:2: species 'A': 'kk' is not defined"},
        {"begin functions\n1 f(x) x\nend functions\nbegin species\n1 A 1\nend species\n",
         SALTUS_E_UNSUPPORTED, "m.net:2: a function has arguments"},
        {"begin functions\n1 f 2\nend functions\nbegin species\n1 A 1\nend species\n",
         SALTUS_E_SYNTAX, "m.net:2: 'name() expression' is wanted"},
        {"begin functions\n1 f() tfun('a',time)\nend functions\nbegin species\n1 A 1\nend "
         "species\n",
         SALTUS_E_UNSUPPORTED, "m.net:2: function 'f': 'tfun', values from a table, is not"},
        {"begin functions\n1 f() mratio(1,2,3)\nend functions\nbegin species\n1 A 1\nend species\n",
         SALTUS_E_UNSUPPORTED, "m.net:2: function 'f': 'mratio', a ratio of Kummer's functions"},
        {"begin groups\n1 g 1\n2 g 1\nend groups\nbegin species\n1 A 1\nend species\n",
         SALTUS_E_MODEL, "m.net:3: 'g' is defined twice, first in line 2"},
        {"begin species\n1 A 1\nend species\nbegin groups\n1 g 2\nend groups\n", SALTUS_E_MODEL,
         "m.net:5: species 2 does not exist, there are 1"},
        {"begin species\n1 A 1\nend species\nbegin groups\n1 g 1x\nend groups\n", SALTUS_E_SYNTAX,
         "m.net:5: '5' or '2*5' is wanted in a group, not '1x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        const saltus_status status =
            saltus_model_parse_net(cases[i].text, strlen(cases[i].text), "m.net", &m, &err);
        if (status != cases[i].status || m || !strstr(err.message, cases[i].message)) {
            fail_msg("'%s': %d '%s'", cases[i].text, status, err.message);
        }
    }
}

/* A group may have a parameter's name: the name means the parameter. Amounts are rounded and said
 * to be; BioNetGen's rint rounds halves up. */
static void groups_may_have_the_names_of_parameters(void **state)
{
    static const char text[] = "begin parameters\n1 k 0.5\n2 L 10.5\nend parameters\n"
                               "begin functions\n1 f() rint(L)+rint(-k)+0*time()\nend functions\n"
                               "begin species\n1 A() L\n2 B() 2\nend species\n"
                               "begin reactions\n1 1 2 k\nend reactions\n"
                               "begin groups\n1 L 1\n2 f 2*1,2\n3 both 1,2\nend groups\n";
    saltus_error err = {0};
    double values[20] = {0};
    (void)state;
    saltus_model *m = parse(text);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_null(m->variables[saltus_model_find(m, "L")].rule);
    assert_non_null(m->variables[saltus_model_find(m, "L_group")].rule);
    assert_true(m->variables[saltus_model_find(m, "f_group")].observable);
    values[saltus_model_find(m, "k")] = 0.5;
    values[saltus_model_find(m, "L")] = 10.5;
    const saltus_variable *f = &m->variables[saltus_model_find(m, "f")];
    assert_true(saltus_expr_value(f->rule, values, 0.0) == 11.0);
    assert_int_equal(saltus_model_n_warnings(m), 3);
    assert_non_null(strstr(saltus_model_warning(m, 0), ":16: group 'L' has the name of a"));
    assert_non_null(strstr(saltus_model_warning(m, 0), "recorded as 'L_group'"));
    assert_non_null(strstr(saltus_model_warning(m, 2), "'A()': initial amount 10.5 is rounded to"));
    saltus_model_destroy(m);
}

static void wrong_reactions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        saltus_status status;
        const char *message;
    } cases[] = {
        {"1 1,3 1 2", SALTUS_E_MODEL, "m.net:6: species 3 does not exist"},
        {"1 1;2 1 2", SALTUS_E_SYNTAX, "numbers of species are wanted here, not '1;2'"},
        {"1 1 99999999999999999999 2", SALTUS_E_SYNTAX, "numbers of species are wanted"},
        {"1 1", SALTUS_E_SYNTAX, "numbers of species are wanted"},
        {"1 1 2", SALTUS_E_SYNTAX, "m.net:6: reaction 'r1': an expression is missing"},
        {"1 1 2 k9", SALTUS_E_MODEL, "m.net:6: reaction 'r1': 'k9' is not defined"},
        {"1 1 2 Arrhenius 1 2", SALTUS_E_UNSUPPORTED, "only Sat, MM and Hill"},
        {"1 1 2 MM 1 2", SALTUS_E_MODEL, "2 constants and 1 reactants do not fit the law"},
        {"1 1 2 Sat 1 2 3", SALTUS_E_MODEL, "3 constants and 1 reactants do not fit the law"},
        {"1 0 2 Hill 1 2 3", SALTUS_E_MODEL, "3 constants and 0 reactants do not fit the law"},
        {"1 1 2 Odd 1 2", SALTUS_E_MODEL, "'Odd' is not defined"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "begin species\n1 A 1\n2 B 1\nend species\nbegin reactions\n%s\nend "
                       "reactions\n",
                       cases[i].line);
        saltus_error err = {0};
        saltus_model *m = NULL;
        const saltus_status status = saltus_model_parse_net(text, strlen(text), "m.net", &m, &err);
        if (status != cases[i].status || m || !strstr(err.message, cases[i].message)) {
            fail_msg("'%s': %d '%s'", cases[i].line, status, err.message);
        }
    }
}

static void allocations_may_fail(void **state)
{
    (void)state;
    saltus_status status = SALTUS_E_NO_MEMORY;
    for (int n = 0; status != SALTUS_OK; ++n) {
        saltus_model *m = NULL;
        saltus_error err = {0};
        saltus_fail_allocation(n);
        status = saltus_model_parse_net(whole, strlen(whole), "m.net", &m, &err);
        saltus_fail_allocation(-1);
        assert_int_equal(status, err.code);
        assert_true(status == SALTUS_OK ? m != NULL : status == SALTUS_E_NO_MEMORY && !m);
        saltus_model_destroy(m);
    }
}

/* A group of thousands makes no deep tree, and passes through YAML. */
static void large_groups_are_shallow(void **state)
{
    (void)state;
    enum { N = 20000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)fputs("begin species\n", out);
    for (int i = 1; i <= N; ++i) {
        (void)fprintf(out, "%d S(a~%d) %d\n", i, i, i);
    }
    (void)fputs("end species\nbegin groups\n1 all 1", out);
    for (int i = 2; i <= N; ++i) {
        (void)fprintf(out, ",%d", i);
    }
    (void)fputs("\nend groups\nbegin reactions\nend reactions\n", out);
    assert_int_equal(fclose(out), 0);
    saltus_model *m = parse(text), *again = through_yaml(m);
    assert_null(model_difference(m, again));
    free(text);
    saltus_model_destroy(m);
    saltus_model_destroy(again);
}

static void published_networks_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        size_t n_species, n_reactions;
    } cases[] = {
        {"multistate.net", 9, 18}, {"multisite2.net", 66, 288}, {"egfr_net.net", 356, 3749}};
    const char *folder = getenv("BIONETGEN_NETWORKS");
    if (!folder) {
        print_message("skipped: BIONETGEN_NETWORKS does not name the folder of networks\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char path[1000];
        saltus_model *m = NULL;
        saltus_error err = {0};
        size_t n_species = 0, n_pairs = 0;
        (void)snprintf(path, sizeof path, "%s/%s", folder, cases[i].file);
        if (saltus_model_read(path, &m, &err) != SALTUS_OK) {
            fail_msg("%s", err.message);
        }
        for (size_t v = 0; v < m->n_variables; ++v) {
            n_species += m->variables[v].kind == SALTUS_KIND_SPECIES;
        }
        for (size_t r = 0; r < m->n_reactions; ++r) {
            const saltus_reaction *x = &m->reactions[r];
            assert_true(x->mass_action);
            if (x->n_reactants == 1 && saltus_whole_molecules(&x->reactants[0]) == 2) {
                ++n_pairs;
                check_expr(m, x->law, "kp2");
            }
        }
        assert_int_equal(n_species, cases[i].n_species);
        assert_int_equal(m->n_reactions, cases[i].n_reactions);
        assert_int_equal(n_pairs, i == 2 ? 24 : 0);
        saltus_model *again = through_yaml(m);
        assert_null(model_difference(m, again));
        saltus_model_destroy(m);
        saltus_model_destroy(again);
    }
}

/* Names of reactions that were appended are known to those that are added by name. */
static void reactions_are_added_to_a_network(void **state)
{
    (void)state;
    static const char text[] = "begin species\n1 A() 5\nend species\n"
                               "begin reactions\n1 1 0 1\n2 0 1 2\nend reactions\n";
    saltus_model *m = NULL;
    saltus_error err = {0};
    assert_int_equal(saltus_model_parse_net(text, strlen(text), "m.net", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_find_reaction(m, "r2"), 1);
    assert_int_equal(saltus_model_find_reaction(m, "r3"), -1);
    assert_int_equal(saltus_model_add_reaction(m, "r2", "0 -> 0", "1", &err), SALTUS_E_MODEL);
    assert_non_null(strstr(err.message, "'r2' is defined twice"));
    err = (saltus_error){0};
    assert_int_equal(saltus_model_add_reaction(m, "r3", "0 -> 0", "1", &err), SALTUS_OK);
    assert_int_equal(saltus_model_find_reaction(m, "r1"), 0);
    assert_int_equal(saltus_model_find_reaction(m, "r3"), 2);
    assert_int_equal(saltus_model_add_reaction(m, "r3", "0 -> 0", "1", &err), SALTUS_E_MODEL);
    saltus_model_destroy(m);
}

/* What no list of the file says: reactants of a kind need not stand side by side, and two constants
 * are known. */
static void orders_and_constants(void **state)
{
    static const char text[] = "begin parameters\n 1 k 2*_pi\n 2 K 3\nend parameters\n"
                               "begin functions\n 1 f() k*_e*time\nend functions\n"
                               "begin species\n 1 A 11\n 2 B 10\nend species\n"
                               "begin reactions\n 1 1,2,1 0 f\n 2 1,2,1 0 Sat k K\n"
                               " 3 2,1,2,2 0 f\nend reactions\n";
    static const char *const laws[] = {"f*A*B*(A - 1)", "k*(A/(K + A))*B*(A - 1)",
                                       "f*B*A*(B - 1)*(B - 2)"};
    saltus_model *m = parse(text);
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        check_expr(m, m->reactions[i].law, laws[i]);
    }
    check_expr(m, m->variables[0].initial, "2*3.141592653589793");
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reactions_are_added_to_a_network),
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(orders_and_constants),
        cmocka_unit_test(models_pass_through_yaml),
        cmocka_unit_test(errors_tell_the_line),
        cmocka_unit_test(groups_may_have_the_names_of_parameters),
        cmocka_unit_test(wrong_reactions_are_refused),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(large_groups_are_shallow),
        cmocka_unit_test(published_networks_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
