#include "model/network/model.h"
#include "model/network/syntax.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static saltus_model *new_model(void)
{
    static const char *const species[] = {"A", "B", "S1", "R(a,l!1).L(r!1)", "a`b", "and", "exp"};
    static const char *const parameters[] = {"k", "Km", "pi", "inf", "x.y", "two words", "α"};
    saltus_model *m = NULL;
    assert_int_equal(saltus_model_create("test", &m, NULL), SALTUS_OK);
    for (size_t i = 0; i < sizeof species / sizeof *species; ++i) {
        assert_int_equal(saltus_model_add_species(m, species[i], 1, NULL), SALTUS_OK);
    }
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; ++i) {
        assert_int_equal(saltus_model_add_parameter(m, parameters[i], 1, NULL), SALTUS_OK);
    }
    return m;
}

static char *print(const saltus_model *m, const saltus_expr *e)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    saltus_expr_print(m, e, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static bool same_tree(const saltus_expr *a, const saltus_expr *b)
{
    if (a->op != b->op || a->n_args != b->n_args || a->variable != b->variable) {
        return false;
    }
    if (a->op == SALTUS_OP_CONST && memcmp(&a->value, &b->value, sizeof a->value) != 0 &&
        !(isnan(a->value) && isnan(b->value))) {
        return false;
    }
    for (int i = 0; i < a->n_args; ++i) {
        if (!same_tree(a->args[i], b->args[i])) {
            return false;
        }
    }
    return true;
}

/* What a text means, spelled as the printer spells it. */
static void check_text(saltus_model *m, const char *text, const char *printed)
{
    const saltus_parse_context context = {.model = m};
    saltus_error err = {0};
    const saltus_expr *e = NULL;
    if (saltus_expr_parse(&context, text, &e, &err) != SALTUS_OK) {
        fail_msg("'%s': %s", text, err.message);
    }
    char *again = print(m, e);
    assert_string_equal(again, printed);
    free(again);
}

static void texts_mean_the_right_trees(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1 + 2 * 3", "1 + 2*3"},
        {"(1 + 2) * 3", "(1 + 2)*3"},
        {"A - B - k", "A - B - k"},
        {"A - (B - k)", "A - (B - k)"},
        {"A / B / k", "A/B/k"},
        {"A ^ B ^ k", "A^B^k"},
        {"(A ^ B) ** k", "(A^B)^k"},
        {"-A^2", "-A^2"},
        {"-2^2", "-2^2"},
        {"(-2)^2", "(-2)^2"},
        {"2^-2", "2^-2"},
        {"-A*B", "-A*B"},
        {"A*-B", "A*-B"},
        {"-(2)", "-(2)"},
        {"- 2", "-2"},
        {"--2", "-(-2)"},
        {"+2", "2"},
        {"-0", "-0"},
        {"1e-3 + .5 + 5. + 1E2", "0.001 + 0.5 + 5 + 100"},
        {"0.1", "0.1"},
        {"A < B && !(k > 1) || not A == B", "A < B && !(k > 1) || !(A == B)"},
        {"A and B or k", "A && B || k"},
        {"A && (B || k)", "A && (B || k)"},
        {"and(A, B, k)", "A && B && k"},
        {"if(A > 1, B, k)", "piecewise(B, A > 1, k)"},
        {"log(A) + ln(A) + log10(A)", "ln(A) + ln(A) + log10(A)"},
        {"pow(A, B) + sqr(A) + ceiling(k)", "A^B + A^2 + ceil(k)"},
        {"min(A, B, k) + arctan(A)", "min(min(A, B), k) + atan(A)"},
        {"log2(A) + sum(A, B, k) + avg(A, B)", "ln(A)/ln(2) + (A + B + k) + (A + B)/2"},
        {"`A` + `R(a,l!1).L(r!1)`*`a``b`", "A + `R(a,l!1).L(r!1)`*`a``b`"},
        {"`and` + `exp` + x.y + `two words` + α", "`and` + `exp` + x.y + `two words` + `α`"},
        {"time + time()", "time + time"},
        {"pi + inf + pi() + inf() + -inf()", "`pi` + `inf` + 3.141592653589793 + inf() + -inf()"},
        {"true + false + nan + avogadro", "1 + 0 + nan + 6.02214076e+23"},
        {"k()", "k"},
        {"exp(exp)", "exp(`exp`)"},
        {"piecewise(1, A > 1, 2, B > 1)", "piecewise(1, A > 1, 2, B > 1)"},
        {" A\n+\tB ", "A + B"},
    };
    saltus_model *m = new_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_text(m, cases[i][0], cases[i][1]);
    }
    saltus_model_destroy(m);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        saltus_status status;
        const char *message, *hint;
    } cases[] = {
        {"", SALTUS_E_SYNTAX, "an expression is missing", ""},
        {"A +", SALTUS_E_SYNTAX,
         "m.yaml:3:13: reaction 'r': a number or a name is missing at the end", ""},
        {"A B", SALTUS_E_SYNTAX, "m.yaml:3:12: reaction 'r': an operator is missing before 'B'",
         ""},
        {"(A", SALTUS_E_SYNTAX, "')' is missing at the end", ""},
        {"A)", SALTUS_E_SYNTAX, "'(' is missing before ')'", ""},
        {"A + kk", SALTUS_E_MODEL, "m.yaml:3:14: reaction 'r': 'kk' is not defined", "'k'"},
        {"A = B", SALTUS_E_SYNTAX, "an operator is missing before '='", "'=='"},
        {"A < B < k", SALTUS_E_SYNTAX, "comparisons in a row", "&&"},
        {"k(A + B)", SALTUS_E_MODEL, "'k' is not a function", "k*("},
        {"foo(A)", SALTUS_E_MODEL, "'foo' is not a function", "there are if, sqr, log2, rint"},
        {"foo(A)", SALTUS_E_MODEL, "'foo' is not a function", ", atanh"},
        {"hill(A, 2, 3)", SALTUS_E_MODEL, "'hill' is not a function", "x^n/(K^n + x^n)"},
        {"exp(A, B)", SALTUS_E_SYNTAX, "'exp' takes 1 argument, not 2", ""},
        {"if(A, B)", SALTUS_E_SYNTAX, "'if' takes 3 arguments, not 2", ""},
        {"held(time, 0)", SALTUS_E_SYNTAX, "'held' takes an argument, and then", ""},
        {"linear(time, 0, 1, 2)", SALTUS_E_SYNTAX, "'linear' takes an argument, and then", ""},
        {"linear(time, 0, 1, 2, k)", SALTUS_E_SYNTAX, "'linear' has a table of numbers alone", ""},
        {"spline(time, 0, 1, 2, k)", SALTUS_E_SYNTAX, "'spline' has a table of numbers alone", ""},
        {"held(time, 0, 1, 0, 2)", SALTUS_E_SYNTAX, "a table whose arguments must rise", ""},
        {"pow(A)", SALTUS_E_SYNTAX, "'pow' takes 2 arguments, not 1", ""},
        {"sin()", SALTUS_E_MODEL, "'sin' is not defined", "sin("},
        {"2x", SALTUS_E_SYNTAX, "'2x' is neither a number nor a name", ""},
        {"1.2.3", SALTUS_E_SYNTAX, "'1.2.3' is neither a number nor a name", ""},
        {"0x10", SALTUS_E_SYNTAX, "'0x10' is neither a number nor a name", ""},
        {".", SALTUS_E_SYNTAX, "'.' is no number", ""},
        {".nan", SALTUS_E_SYNTAX, "'.nan' is no number", ""},
        {"1e999", SALTUS_E_SYNTAX, "1e999 is too large", ""},
        {"1e-999", SALTUS_E_SYNTAX, "1e-999 is too small", ""},
        {"`A", SALTUS_E_SYNTAX, "does not end", ""},
        {"A ? B", SALTUS_E_SYNTAX, "before '?'", ""},
        {"α\n+ β", SALTUS_E_MODEL, "m.yaml:4:3: reaction 'r': 'β' is not defined", ""},
        {"α + ", SALTUS_E_SYNTAX, "m.yaml:3:14", ""},
    };
    saltus_model *m = new_model();
    const saltus_parse_context context = {
        .model = m, .what = "reaction 'r'", .path = "m.yaml", .line = 3, .column = 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_error err = {0};
        const saltus_expr *e = NULL;
        const saltus_status status = saltus_expr_parse(&context, cases[i].text, &e, &err);
        if (status != cases[i].status || !strstr(err.message, cases[i].message) ||
            !strstr(err.hint, cases[i].hint)) {
            fail_msg("'%s': %d '%s' (%s)", cases[i].text, status, err.message, err.hint);
        }
    }
    saltus_model_destroy(m);
}

static void places_are_given_as_far_as_known(void **state)
{
    (void)state;
    saltus_model *m = new_model();
    const saltus_parse_context contexts[] = {
        {.model = m},
        {.model = m, .what = "rule 'x'", .path = "m.net", .line = 7},
        {.model = m, .path = "m.yaml", .line = 7, .column = 4, .folded = true},
    };
    static const char *const messages[] = {
        "'zz' is not defined (column 5 of 'A + zz')",
        "m.net:7: rule 'x': 'zz' is not defined (column 5 of 'A + zz')",
        "m.yaml:7:4: 'zz' is not defined (column 5 of 'A + zz')",
    };
    for (int i = 0; i < 3; ++i) {
        saltus_error err = {0};
        const saltus_expr *e = NULL;
        assert_int_equal(saltus_expr_parse(&contexts[i], "A + zz", &e, &err), SALTUS_E_MODEL);
        assert_string_equal(err.message, messages[i]);
    }
    saltus_model_destroy(m);
}

/* A text that repeats a piece n times between two ends. */
static char *repeat(const char *piece, int n, const char *middle, const char *end)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < n; ++i) {
        (void)fputs(piece, out);
    }
    (void)fputs(middle, out);
    for (int i = 0; i < n; ++i) {
        (void)fputs(end, out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void depth_is_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *piece, *end;
        int n;
        saltus_status status;
    } cases[] = {
        {"(", ")", 400, SALTUS_OK},
        {"(", ")", 100000, SALTUS_E_UNSUPPORTED},
        {"-", "", 400, SALTUS_OK},
        {"-", "", 100000, SALTUS_E_UNSUPPORTED},
        {"2^", "", 100000, SALTUS_E_UNSUPPORTED},
        {"exp(", ")", 100000, SALTUS_E_UNSUPPORTED},
        {"A + ", "", 4000, SALTUS_OK},
        {"A + ", "", 100000, SALTUS_E_UNSUPPORTED},
    };
    saltus_model *m = new_model();
    const saltus_parse_context context = {.model = m};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const saltus_expr *e = NULL;
        char *text = repeat(cases[i].piece, cases[i].n, "A", cases[i].end);
        assert_int_equal(saltus_expr_parse(&context, text, &e, NULL), cases[i].status);
        free(text);
    }
    saltus_model_destroy(m);
}

/* A small generator of its own: the same trees everywhere. */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double random_number(uint64_t *state)
{
    static const double special[] = {0.0, -0.0, 1.0,    -1.0,
                                     2.0, 0.1,  5e-324, -1.7976931348623157e308};
    const uint64_t bits = random_bits(state);
    double value;
    switch (bits % 4) {
    case 0:
        return special[(bits >> 8) % 8];
    case 1:
        return bits % 8 == 1 ? (double)INFINITY : -(double)INFINITY;
    case 2:
        return (double)(int64_t)((bits >> 40) & 0xfff) - 2048.0;
    default:
        memcpy(&value, &(uint64_t){random_bits(state)}, sizeof value);
        return value;
    }
}

static const saltus_expr *random_tree(saltus_model *m, uint64_t *state, int depth)
{
    const saltus_expr *args[5];
    const uint64_t bits = random_bits(state);
    int op = (int)(bits % SALTUS_N_OPS);
    if (depth == 0) {
        op %= 3;
    }
    if (op == SALTUS_OP_CONST) {
        return saltus_expr_const(&m->arena, random_number(state));
    }
    if (op == SALTUS_OP_VARIABLE) {
        return saltus_expr_variable(&m->arena, (int)((bits >> 32) % m->n_variables));
    }
    if (op == SALTUS_OP_TIME) {
        return saltus_expr_time(&m->arena);
    }
    const int arity = saltus_op_arity((saltus_op)op);
    const int n = arity >= 0 ? arity : 1 + (int)((bits >> 32) % 5);
    for (int i = 0; i < n; ++i) {
        args[i] = random_tree(m, state, depth - 1);
    }
    return saltus_expr_n(&m->arena, (saltus_op)op, n, args);
}

static void printed_trees_parse_to_themselves(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; ++i) {
        saltus_model *m = i % 100 == 0 || i == 0 ? new_model() : NULL;
        static saltus_model *kept;
        if (m) {
            saltus_model_destroy(kept);
            kept = m;
        }
        const saltus_expr *e = random_tree(kept, &seed, (int)(random_bits(&seed) % 7)),
                          *again = NULL;
        const saltus_parse_context context = {.model = kept};
        saltus_error err = {0};
        char *text = print(kept, e);
        if (saltus_expr_parse(&context, text, &again, &err) != SALTUS_OK || !same_tree(e, again)) {
            fail_msg("'%s': %s", text, err.message);
        }
        free(text);
        if (i == 19999) {
            saltus_model_destroy(kept);
            kept = NULL;
        }
    }
}

static void check_side(const saltus_model *m, const saltus_participant *p, int n, const char *text)
{
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    for (int i = 0; i < n; ++i) {
        (void)fprintf(out, "%.17g %s;", saltus_molecules(&p[i]), m->variables[p[i].variable].id);
    }
    assert_int_equal(fclose(out), 0);
    assert_string_equal(made, text);
    free(made);
}

/* Some stand in a participant, others in front of its list. */
static void molecules_are_kept(void **state)
{
    (void)state;
    static const double molecules[] = {0.5, 2.0, 3e9, 2147483647.0, 1e-3, 2.25};
    enum { N = sizeof molecules / sizeof *molecules };
    saltus_model *m = NULL;
    saltus_error err = {0};
    assert_int_equal(saltus_model_create("sides", &m, &err), SALTUS_OK);
    saltus_participant *list = saltus_model_make_side(m, N + 2, false);
    assert_non_null(list);
    for (int i = 0; i < N; ++i) {
        saltus_participant_set(list, N + 2, (size_t)i, i + 7, molecules[i]);
    }
    for (int i = 0; i < N; ++i) {
        assert_int_equal(list[i].variable, i + 7);
        assert_true(saltus_molecules(&list[i]) == molecules[i]);
        assert_int_equal(saltus_whole_molecules(&list[i]), (int64_t)molecules[i]);
    }
    saltus_model_destroy(m);
}

static void equations_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *left, *right;
        bool reversible;
    } cases[] = {
        {"A -> B", "1 A;", "1 B;", false},
        {"2 S1 + A -> 3B", "2 S1;1 A;", "3 B;", false},
        {"2*S1->A+A", "2 S1;", "1 A;1 A;", false},
        {"2 A -> 9000000000000000 A + B", "2 A;", "9000000000000000 A;1 B;", false},
        {"0 -> A", "", "1 A;", false},
        {"-> A", "", "1 A;", false},
        {"A ->", "1 A;", "", false},
        {"∅ <-> A", "", "1 A;", true},
        {"A = 0", "1 A;", "", true},
        {"`R(a,l!1).L(r!1)` -> `a``b` + `and`", "1 R(a,l!1).L(r!1);", "1 a`b;1 and;", false},
        {"and -> exp", "1 and;", "1 exp;", false},
        {"0.5 A + A -> 0.5 A + B + 0.5 A", "1.5 A;", "1 A;1 B;", false},
        {"2 A + B + A + 0.5 A + 2000000000 B -> 3A + 5000000000B + A + 0.25A + 0.5A + B",
         "3.5 A;1 B;2000000000 B;", "4.75 A;5000000000 B;1 B;", false},
    };
    saltus_model *m = new_model();
    const saltus_parse_context context = {.model = m};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_reaction r = {0};
        saltus_error err = {0};
        if (saltus_equation_parse(&context, cases[i].text, &r, &err) != SALTUS_OK) {
            fail_msg("'%s': %s", cases[i].text, err.message);
        }
        check_side(m, r.reactants, r.n_reactants, cases[i].left);
        check_side(m, r.products, r.n_products, cases[i].right);
        assert_int_equal(r.reversible, cases[i].reversible);
    }
    saltus_model_destroy(m);
}

static void wrong_equations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "m.yaml:1:1: the arrow '->' is missing"},
        {"A", "m.yaml:1:2: the arrow '->' is missing"},
        {"A -> k", "m.yaml:1:6: 'k' is not a species"},
        {"A -> C", "m.yaml:1:6: species 'C' is not defined"},
        {"A + -> B", "m.yaml:1:5: the name of a species is missing"},
        {"A => B", "'+' or an arrow is missing before '=> B'"},
        {"A -> B -> A", "there is a second arrow"},
        {"1.5.2 A -> B", "the number of molecules must be above 0 and at most 9e15"},
        {"B -> 9000000000000000 A + 1.5A",
         "m.yaml:1:1: the number of molecules must be above 0 and at most 9e15"},
        {"0 A -> B", "must be above 0"},
        {"0.0 A -> B", "must be above 0"},
        {"0 + A -> B", "must be above 0"},
        {"99999999999999999999 A -> B", "must be above 0 and at most"},
        {"R(a) -> B", "species 'R' is not defined"},
        {"A -> B @ 1", "'+' or an arrow is missing before '@ 1'"},
    };
    saltus_model *m = new_model();
    const saltus_parse_context context = {.model = m, .path = "m.yaml", .line = 1, .column = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_reaction r = {0};
        saltus_error err = {0};
        assert_int_not_equal(saltus_equation_parse(&context, cases[i].text, &r, &err), SALTUS_OK);
        if (!strstr(err.message, cases[i].message)) {
            fail_msg("'%s': %s", cases[i].text, err.message);
        }
    }
    saltus_model_destroy(m);
}

static void set_rule(saltus_model *m, const char *id, const char *text)
{
    const saltus_parse_context context = {.model = m};
    saltus_variable *v = &m->variables[saltus_model_find(m, id)];
    assert_int_equal(saltus_expr_parse(&context, text, &v->rule, NULL), SALTUS_OK);
}

static void constant_rates_are_told_through_rules(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_constant;
    } cases[] = {{"k*2", false}, {"Km", false},   {"x.y^2", true}, {"A", false},
                 {"3", true},    {"time", false}, {"inf", true}};
    saltus_model *m = new_model();
    set_rule(m, "k", "Km + 1"); /* to a species, and in a circle */
    set_rule(m, "Km", "k + A");
    set_rule(m, "inf", "`inf` + `pi`");
    const saltus_parse_context context = {.model = m};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const saltus_expr *e = NULL;
        bool is_constant;
        assert_int_equal(saltus_expr_parse(&context, cases[i].text, &e, NULL), SALTUS_OK);
        assert_int_equal(saltus_expr_is_constant_rate(m, e, &is_constant, NULL), SALTUS_OK);
        assert_int_equal(is_constant, cases[i].is_constant);
    }
    saltus_model_destroy(m);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    saltus_status status = SALTUS_E_NO_MEMORY;
    for (int n = 0; status != SALTUS_OK; ++n) {
        saltus_model *m = NULL;
        saltus_error err = {0};
        saltus_fail_allocation(n);
        status = saltus_model_create("test", &m, &err);
        if (status == SALTUS_OK) {
            status = saltus_model_add_species(m,
                                              "A long name that does not fit into a small buffer, "
                                              "so that it is kept elsewhere",
                                              1, &err);
        }
        if (status == SALTUS_OK) {
            status = saltus_model_add_reaction(
                m, "r",
                "0 -> `A long name that does not fit into a small buffer, so that it is kept "
                "elsewhere`",
                "if(1 > 0, min(2, 3, 4), sqr(3))", &err);
        }
        saltus_fail_allocation(-1);
        assert_int_equal(status, err.code);
        assert_true(status == SALTUS_OK || status == SALTUS_E_NO_MEMORY);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_the_right_trees),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(places_are_given_as_far_as_known),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(printed_trees_parse_to_themselves),
        cmocka_unit_test(molecules_are_kept),
        cmocka_unit_test(equations_are_parsed),
        cmocka_unit_test(wrong_equations_are_refused),
        cmocka_unit_test(constant_rates_are_told_through_rules),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
