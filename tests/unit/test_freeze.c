/* What freezing makes of laws and of initial amounts: mass action in its spellings, plain powers,
 * differences, fractions of molecules. */
#include "frozen.h"

#include "kernel/base/program.h"
#include "model/network/model.h"

#include <math.h>
#include <stdlib.h>

/* Reaction r is the model's first, on line 10. w, W and E change in an event, S and K never do. */
static const char world[] =
    "parameters: {k: 0.5, k2: 2*k, c: 3, w: 1}\n"
    "compartments: {V: 2, W: 2}\n"
    "species: {A: 10, B: 20, C: 5, E: {initial: 4, boundary: true},\n"
    "          S: {initial: 7, boundary: true},\n"
    "          K: {initial: 4, constant: true}}\n"
    "rules: {total: A + B, fixed: 2*k, both: fixed*S, flow: k*A - k2*B, step: \"piecewise(1, "
    "time < 5, 2)\"}\n"
    "events:\n"
    "  change: {at: 100, set: {w: 2, W: 3, E: 5}}\n"
    "reactions:\n"
    "  r: {equation: %s, %s: \"%s\"%s}\n"
    "  s: A + B -> C @ 0\n"
    "  t: C -> A + B @ 0\n";

typedef struct case_ {
    const char *equation, *law, *expected;
} case_;

static char *text_of(const case_ *c, const char *kind, const char *rest)
{
    char *text = NULL;
    if (asprintf(&text, world, c->equation, kind, c->law, rest) < 0) {
        fail_msg("memory ran out");
    }
    return text;
}

/* "0.25 A A-1" for a product, "expression" for another law. */
static void describe(const saltus_network *net, int r, char *out, size_t size)
{
    const saltus_tables *t = &net->tables;
    if (t->law_program[r] >= 0) {
        assert_int_equal(t->factor_row[r], t->factor_row[r + 1]);
        assert_int_equal(net->law_forms[r], SALTUS_LAW_FORM_EXPRESSION);
        (void)snprintf(out, size, "expression");
        return;
    }
    const int n_factors = t->factor_row[r + 1] - t->factor_row[r];
    assert_int_equal(net->law_forms[r],
                     n_factors == 0 ? SALTUS_LAW_FORM_CONSTANT : SALTUS_LAW_FORM_MASS_ACTION);
    int at = snprintf(out, size, "%.17g", t->rate[r]);
    for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
        at +=
            snprintf(out + at, size - (size_t)at, " %s", net->species_names[t->factor_species[f]]);
        if (t->factor_offset[f] != 0.0) {
            at += snprintf(out + at, size - (size_t)at, "-%g", t->factor_offset[f]);
        }
    }
}

static void check_law(const saltus_model *m, const case_ *c, int r, const char *expected)
{
    char found[400];
    describe(m->network, r, found, sizeof found);
    if (strcmp(found, expected) != 0) {
        fail_msg("%s @ %s: '%s', expected '%s'", c->equation, c->law, found, expected);
    }
}

/* All but the last two, which the world adds, come of reaction r. */
static int n_steps_of_r(const saltus_model *m)
{
    return m->network->tables.n_reactions - 2;
}

static void check_one_law(const case_ *c, const char *kind)
{
    char *text = text_of(c, kind, "");
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    assert_int_equal(n_steps_of_r(m), 1);
    check_law(m, c, 0, c->expected);
    if (saltus_model_n_warnings(m) > 0) {
        fail_msg("%s: %s", c->law, saltus_model_warning(m, 0));
    }
    saltus_model_destroy(m);
    free(text);
}

static void mass_action_is_recognised_in_any_spelling(void **state)
{
    static const case_ cases[] = {
        {"A + B -> C", "k*A*B", "0.5 A B"},
        {"A + B -> C", "A*k*B", "0.5 A B"},
        {"A + B -> C", "B*(A*k)", "0.5 B A"},
        {"2 A -> B", "k*A*(A-1)/2", "0.25 A A-1"},
        {"2 A -> B", "0.5*k*A*(A-1)", "0.25 A A-1"},
        {"2 A -> B", "k*A*(A-1)*0.5", "0.25 A A-1"},
        {"2 A -> B", "k*A*((A-1)/2)", "0.25 A A-1"},
        {"2 A -> B", "A*(A-1)/(2/k)", "0.25 A A-1"},
        {"2 A -> B", "(A-1)*A*k", "0.5 A-1 A"},
        {"2 A -> B", "k*(-1 + 1 + A)*(A - 2 + 1)", "expression"},
        {"2 A -> B", "k*A*(A + -1)", "0.5 A A-1"},
        {"2 A -> B", "k*(2*A)*(3*A - 3)", "3 A A-1"},
        {"3 A -> B", "c*A*(A-1)*(A-2)/6", "0.5 A A-1 A-2"},
        {"3 A -> B", "c*(A-2)*(A-1)*A/6", "0.5 A-2 A-1 A"},
        {"3 A -> B", "c*A*(A-1)*(A-1-1)/6", "0.5 A A-1 A-2"},
        {"2 A + B -> C", "k*A*(A-1)/2*B", "0.25 A A-1 B"},
        /* compartments */
        {"A + B -> C", "k*A*B/V", "0.25 A B"},
        {"A + B -> C", "V*k*(A/V)*(B/V)", "0.25 A B"},
        {"2 A -> B", "V*k*(A/V)*(A/V - 1/V)", "0.25 A A-1"},
        {"2 A -> B", "k*(A/V)*((A-1)/V)", "0.125 A A-1"},
        /* parameters, functions of them, rules that never change */
        {"A -> B", "k*k2*c*A", "1.5 A"},
        {"A -> B", "k^2*A", "0.25 A"},
        {"A -> B", "exp(0)*A*max(k, c)", "3 A"},
        {"A -> B", "piecewise(1, k > 0.4, 2)*A", "1 A"},
        {"A -> B", "fixed*A", "1 A"},
        {"A -> B", "both*A", "7 A"},
        {"0 -> A", "k*c", "1.5"},
        {"A -> B", "k*c", "1.5"},
        {"A -> B", "0*A", "0 A"},
        /* powers, where the plain power is no question: at most one is consumed */
        {"A -> B", "k*A^1", "0.5 A"},
        {"A -> B", "k*A^2", "0.5 A A"},
        {"A -> B", "k*sqr(A)", "0.5 A A"},
        {"A -> B", "(k*A)^2", "0.25 A A"},
        {"A -> B", "(k*A*B)^2", "0.25 A B A B"},
        {"0 -> C", "A^8", "1 A A A A A A A A"},
        /* boundary species: numbers while nothing changes them, factors when an event does */
        {"S + A -> B", "k*S*A", "3.5 A"},
        {"2 S -> A", "k*S*(S-1)/2", "10.5"},
        {"K + A -> B", "A*K/c", "1.3333333333333333 A"},
        {"E + A -> B", "k*E*A", "0.5 E A"},
        {"2 E -> A", "k*E*(E-1)/2", "0.25 E E-1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_one_law(&cases[i], "law");
    }
}

static void constants_of_mass_action_become_products(void **state)
{
    static const case_ cases[] = {
        {"0 -> A", "k", "0.5"},
        {"A -> B", "k", "0.5 A"},
        {"A + B -> C", "k", "0.5 A B"},
        {"2 A -> B", "k", "0.25 A A-1"},
        {"A + A -> B", "k", "0.25 A A-1"},
        {"A + B + A -> C", "k", "0.25 A B A-1"},
        {"3 A -> B", "c", "0.5 A A-1 A-2"},
        {"2 A + 2 B -> C", "k", "0.125 A A-1 B B-1"},
        {"S + A -> B", "k", "3.5 A"},
        {"E + A -> B", "k", "0.5 E A"},
        {"A -> B", "k*fixed/V", "0.25 A"},
        {"A -> B", "w", "expression"}, /* an event changes it */
        {"A -> B", "k/W", "expression"},
        {"17 A -> B", "0", "expression"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_one_law(&cases[i], "constant");
    }
}

static void other_laws_stay_expressions(void **state)
{
    static const char *const laws[] = {
        "k*A/(1 + A)",
        "k*A/B",
        "k/A",
        "A/A",
        "k*A + k*B",
        "k*(A + 1)",
        "k*A*(A + 1)",
        "k*(A - 1)", /* these are negative for some A, which must not be hidden */
        "k*A*(A - 2)",
        "k*A*(B - 1)",
        "k*A*(A-1)*(A-3)",
        "k*(A - 1)^2",
        "k*A*(1 - A)",
        "k*A*(A - 0.5)",
        "k*(A*B - 1)",
        "A*(A-1)*B*(B-2)",
        "A - A",
        "A*A - A",
        "-(k*A)",
        "k*A^0.5",
        "k*A^1.5",
        "k*A^(-1)",
        "k*A^0",
        "k*A^9",
        "k*A^B",
        "2^A",
        "A*A*A*A*A*A*A*A*A*A*A*A*A*A*A*A*A",
        "(A^6)^3",
        "max(A, B)",
        "abs(A)",
        "piecewise(A, A > 1, 0)",
        "k*A*total", /* a rule of counts */
        "k*total",
        "w*A", /* w and W change in an event */
        "k*A/W",
        "k*A*step", /* steps in time */
        "k*A*piecewise(1, time < 5, 2)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        const case_ c = {"A -> B", laws[i], "expression"};
        check_one_law(&c, "law");
    }
}

static void rates_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *law, *rate;
    } cases[] = {{"-k*A", "-0.5"}, {"(k - 2)*A", "-1.5"}, {"A*(0 - k)", "-0.5"},
                 {"k*A/0", "inf"}, {"A*ln(-1)", "nan"},   {"piecewise(1, false)*A", "nan"},
                 {"-k", "-0.5"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ c = {"A -> B", cases[i].law, ""};
        char *text = text_of(&c, "law", "");
        char message[200];
        (void)snprintf(message, sizeof message,
                       "model.yaml:10: reaction 'r': its rate constant is %s", cases[i].rate);
        check_not_frozen(text, SALTUS_E_MODEL, message);
        free(text);
    }
}

/* k*A^2 where two A are consumed: as written with a warning, or k*A*(A-1) on request. */
static void plain_powers_are_told_and_counted_on_request(void **state)
{
    static const struct {
        case_ literal;
        const char *combinatorial, *warned; /* species; NULL: no warning */
    } cases[] = {
        {{"2 A -> B", "k*A^2", "0.5 A A"}, "0.5 A A-1", "2 'A'"},
        {{"2 A -> B", "k*A*A", "0.5 A A"}, "0.5 A A-1", "2 'A'"},
        {{"2 A -> B", "k*A^2/2", "0.25 A A"}, "0.25 A A-1", "2 'A'"},
        {{"A + A -> B", "k*A^2", "0.5 A A"}, "0.5 A A-1", "2 'A'"},
        {{"2 A -> A", "k*A^2", "0.5 A A"}, "0.5 A A-1", "2 'A'"},
        {{"3 A -> B", "k*A^3", "0.5 A A A"}, "0.5 A A-1 A-2", "3 'A'"},
        {{"2 A + B -> C", "k*A^2*B", "0.5 A A B"}, "0.5 A A-1 B", "2 'A'"},
        {{"B + 2 A -> C", "k*A*B*A", "0.5 A B A"}, "0.5 A B A-1", "2 'A'"},
        {{"2 E -> A", "k*E^2", "0.5 E E"}, "0.5 E E-1", "2 'E'"},
        /* nothing to ask */
        {{"2 A -> B", "k*A*(A-1)", "0.5 A A-1"}, "0.5 A A-1", NULL},
        {{"2 A -> B", "k*A", "0.5 A"}, "0.5 A", NULL},
        {{"A -> B", "k*A^2", "0.5 A A"}, "0.5 A A", NULL},
        {{"A + B -> 2 C", "k*A*B", "0.5 A B"}, "0.5 A B", NULL},
        {{"B -> 2 A", "k*A^2*B", "0.5 A A B"}, "0.5 A A B", NULL},
        {{"2 A -> B", "k*A^2/(1 + B)", "expression"}, "expression", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ *c = &cases[i].literal;
        char *text = text_of(c, "law", "");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        check_law(m, c, 0, c->expected);
        assert_int_equal(saltus_model_n_warnings(m), cases[i].warned ? 1 : 0);
        if (cases[i].warned) {
            const char *warning = saltus_model_warning(m, 0);
            assert_non_null(strstr(warning, "model.yaml:10: reaction 'r' consumes "));
            assert_non_null(strstr(warning, cases[i].warned));
            assert_non_null(strstr(warning, "as written"));
            assert_non_null(strstr(warning, "`law combinatorial`"));
        }
        saltus_model_destroy(m);
        m = freeze_text(text, SALTUS_LAW_COMBINATORIAL);
        check_law(m, c, 0, cases[i].combinatorial);
        assert_int_equal(saltus_model_n_warnings(m), 0);
        saltus_model_destroy(m);
        free(text);
    }
}

/* Other powers cannot be counted, and that is told in either mode. */
static void other_powers_stay_as_written(void **state)
{
    static const case_ cases[] = {
        {"2 A -> B", "k*A^3", "0.5 A A A"},
        {"2 A -> B", "k*A^2*(A-1)", "0.5 A A A-1"},
    };
    (void)state;
    for (size_t i = 0; i < 4; ++i) {
        const case_ *c = &cases[i / 2];
        char *text = text_of(c, "law", "");
        saltus_model *m = freeze_text(text, i % 2 ? SALTUS_LAW_COMBINATORIAL : SALTUS_LAW_LITERAL);
        check_law(m, c, 0, c->expected);
        assert_int_equal(saltus_model_n_warnings(m), 1);
        assert_non_null(strstr(saltus_model_warning(m, 0), "reaction 'r' consumes 2 'A'"));
        assert_non_null(strstr(saltus_model_warning(m, 0), "simulated as written"));
        saltus_model_destroy(m);
        free(text);
    }
}

/* Mass action by its constant is not in doubt, whatever the mode. */
static void constants_are_not_asked_about(void **state)
{
    static const case_ c = {"2 A -> B", "k", "0.25 A A-1"};
    (void)state;
    check_one_law(&c, "constant");
    char *text = text_of(&c, "constant", "");
    saltus_model *m = freeze_text(text, SALTUS_LAW_COMBINATORIAL);
    check_law(m, &c, 0, c.expected);
    saltus_model_destroy(m);
    free(text);
}

/* "A -1, B +1" */
static void check_changes(const saltus_network *net, int r, const char *expected)
{
    const saltus_tables *t = &net->tables;
    char found[200] = "";
    int at = 0;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        at += snprintf(found + at, sizeof found - (size_t)at, "%s%s %+lld", at > 0 ? ", " : "",
                       net->species_names[t->change_species[c]], (long long)t->change_amount[c]);
    }
    assert_string_equal(found, expected);
}

static void differences_are_split(void **state)
{
    static const struct {
        case_ forward;
        const char *backward;
    } cases[] = {
        {{"A -> B", "k*A - k2*B", "0.5 A"}, "1 B"},
        {{"A -> B", "k*(A - B/2)", "0.5 A"}, "0.25 B"},
        {{"A -> B", "(A - B)*k", "0.5 A"}, "0.5 B"},
        {{"A -> B", "V*(k*A/V - k2*B/V)", "0.5 A"}, "1 B"},
        {{"A -> B", "k*A - k2*B*C", "0.5 A"}, "1 B C"},
        {{"A -> B", "(A - B)/V*k", "0.25 A"}, "0.25 B"},
        {{"A -> B", "k*A + -k2*B", "0.5 A"}, "1 B"},
        {{"A -> B", "-1*(k2*B - k*A)", "0.5 A"}, "1 B"},
        {{"A -> B", "-(k2*B - k*A)/-(-V)", "0.25 A"}, "0.5 B"},
        {{"A -> B", "k*A*2 - k2*B - k2*B*C", "1 A"}, "expression"},
        {{"A -> B", "flow", "0.5 A"}, "1 B"},
        {{"A -> B", "(k*A - k2*B)/(1 + A)", "expression"}, "expression"},
        {{"A -> B", "c*(A - B/V)/(W + A - B)", "expression"}, "expression"},
        {{"A -> B", "w*A - k2*B", "expression"}, "1 B"},
        {{"A -> B", "step*(A - B)", "expression"}, "expression"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ *c = &cases[i].forward;
        char *text = text_of(c, "law", ", reversible: true");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const saltus_network *net = m->network;
        if (n_steps_of_r(m) != 2) {
            fail_msg("%s was not split", c->law);
        }
        assert_string_equal(saltus_network_reaction(net, 0), "r.forward");
        assert_string_equal(saltus_network_reaction(net, 1), "r.backward");
        check_law(m, c, 0, c->expected);
        check_law(m, c, 1, cases[i].backward);
        check_changes(net, 0, "A -1, B +1");
        check_changes(net, 1, "A +1, B -1");
        saltus_model_destroy(m);
        free(text);
    }
}

/* Without products, what is subtracted is what comes in. */
static void differences_without_products_are_split(void **state)
{
    static const case_ c = {"A -> 0", "k*A - k2", "0.5 A"};
    (void)state;
    char *text = text_of(&c, "law", ", reversible: true");
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    assert_int_equal(n_steps_of_r(m), 2);
    check_law(m, &c, 0, "0.5 A");
    check_law(m, &c, 1, "1");
    check_changes(m->network, 1, "A +1");
    saltus_model_destroy(m);
    free(text);
}

/* The backward reaction consumes what the forward one makes. */
static void plain_powers_are_seen_in_both_directions(void **state)
{
    static const struct {
        case_ literal;
        const char *backward, *combinatorial[2], *warned;
    } cases[] = {
        {{"B -> 2 A", "k*B - k2*A^2", "0.5 B"}, "1 A A", {"0.5 B", "1 A A-1"}, "r.backward"},
        {{"2 A -> B", "k*A^2 - k2*B", "0.5 A A"}, "1 B", {"0.5 A A-1", "1 B"}, "r.forward"},
        {{"2 A -> B", "k*A*(A-1) - k2*B*C^2", "0.5 A A-1"},
         "1 B C C",
         {"0.5 A A-1", "1 B C C"},
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ *c = &cases[i].literal;
        char *text = text_of(c, "law", ", reversible: true");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        assert_int_equal(n_steps_of_r(m), 2);
        check_law(m, c, 0, c->expected);
        check_law(m, c, 1, cases[i].backward);
        assert_int_equal(saltus_model_n_warnings(m), cases[i].warned ? 1 : 0);
        if (cases[i].warned) {
            assert_non_null(strstr(saltus_model_warning(m, 0), cases[i].warned));
        }
        saltus_model_destroy(m);
        m = freeze_text(text, SALTUS_LAW_COMBINATORIAL);
        check_law(m, c, 0, cases[i].combinatorial[0]);
        check_law(m, c, 1, cases[i].combinatorial[1]);
        assert_int_equal(saltus_model_n_warnings(m), 0);
        saltus_model_destroy(m);
        free(text);
    }
}

/* The propensity of reaction r in a state. */
static double propensity(const saltus_model *m, int r, const double *counts)
{
    const saltus_tables *t = &m->network->tables;
    double *v = calloc((size_t)t->n_rows + 1, sizeof *v);
    assert_non_null(v);
    memcpy(v, counts, (size_t)t->n_species * sizeof *v);
    memcpy(v + t->row_variables, t->initial_variables, (size_t)t->n_variables * sizeof *v);
    memcpy(v + t->row_constants, t->constants, (size_t)t->n_constants * sizeof *v);
    v[t->row_one] = 1.0;
    for (int i = 0; i < t->n_rules; ++i) {
        saltus_program_run(t->code, t->rules[i], v);
        v[t->row_rules + i] = v[t->rules[i].result];
    }
    double a = t->rate[r];
    for (int k = t->factor_row[r]; k < t->factor_row[r + 1]; ++k) {
        a *= v[t->factor_species[k]] - t->factor_offset[k];
    }
    if (t->law_program[r] >= 0) {
        const saltus_program law = t->laws[t->law_program[r]];
        saltus_program_run(t->code, law, v);
        a = v[law.result];
    }
    free(v);
    return a;
}

/* Two rates, neither of them ever negative, each 0 where there is nothing to take, whose difference
 * is the law. */
static void check_rates(const saltus_model *m, const char *law)
{
    static const double amounts[] = {0.0, 1.0, 2.0, 7.0, 300.0};
    double counts[6] = {0};
    const saltus_variable *plain = &m->variables[saltus_model_find(m, "plain")];
    assert_int_equal(m->network->tables.n_species, 6);
    for (int i = 0; i < 125; ++i) {
        counts[0] = amounts[i % 5];
        counts[1] = amounts[i / 5 % 5];
        counts[2] = amounts[i / 25];
        counts[3] = 4.0; /* E, S, K */
        counts[4] = 7.0;
        counts[5] = 4.0;
        const double there = propensity(m, 0, counts), back = propensity(m, 1, counts);
        if (!(there >= 0.0 && back >= 0.0) || (counts[0] == 0.0 && there != 0.0) ||
            (counts[1] == 0.0 && back != 0.0)) {
            fail_msg("%s: with %g A, %g B, %g C there %g, back %g", law, counts[0], counts[1],
                     counts[2], there, back);
        }
        double values[200] = {0};
        for (size_t k = 0; k < m->n_variables; ++k) {
            const saltus_binding *b = &m->network->bindings[k];
            values[k] = b->role == SALTUS_ROLE_COUNT ? counts[b->row] : b->value;
        }
        for (size_t k = 0; k < m->n_variables; ++k) {
            values[k] = m->variables[k].rule ? saltus_expr_value(m->variables[k].rule, values, 0.0)
                                             : values[k];
        }
        const double whole = saltus_expr_value(plain->rule, values, 0.0);
        if (isfinite(whole) && !(fabs(there - back - whole) <= 1e-12 * (there + back))) {
            fail_msg("%s: %g - %g is not %g", law, there, back, whole);
        }
    }
}

/* Whether a law is split hangs on its form alone: not on a constant or a fixed species that is 0.
 */
static void zeros_do_not_keep_laws_from_being_split(void **state)
{
    static const char *const laws[] = {
        "-(kf*A + -1*kr*B)", "-(-1*kf*A + kr*B)", "kf*A + -1*kr*B", "kf*A - kr*B*F",
        "kf*A*F - kr*B",     "-1*(kr*B - kf*A)",  "kf*A + -kr*B",
    };
    static const double constants[][3] = {{1, 1, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 0}, {0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        for (size_t k = 0; k < sizeof constants / sizeof *constants; ++k) {
            char text[400];
            (void)snprintf(text, sizeof text,
                           "parameters: {kf: %g, kr: %g}\n"
                           "species: {A: 10, B: 20, F: {initial: %g, boundary: true}}\n"
                           "reactions:\n"
                           "  r: {equation: \"%s\", law: \"%s\", reversible: true}\n",
                           constants[k][0], constants[k][1], constants[k][2],
                           i == 0 ? "B -> A" : "A -> B", laws[i]);
            saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
            if (m->network->tables.n_reactions != 2 || saltus_model_n_warnings(m) != 0) {
                fail_msg("%s with %g, %g, %g was not split", laws[i], constants[k][0],
                         constants[k][1], constants[k][2]);
            }
            saltus_model_destroy(m);
        }
    }
}

/* Reversible enzymes, as models write them: what is subtracted has to be multiplied out, and what
 * stands above and below the line cancelled. */
static void differences_are_found_by_multiplying_out(void **state)
{
    static const char *const laws[][2] = {
        {"A -> B", "k*A*(1 - B/(c*A))/(W + A + B)"},
        {"A -> B", "k*(A/V)*(1 - (B/V)/(c*(A/V)))/(1 + A/V)*V"},
        {"A -> B", "k*A/c*(1 - B/A/c)/(1 + A/c + B/k2)"},
        {"A -> B", "k*A*(1 - ratio/c)/(1 + A)"},
        {"A -> B", "k*A*(1 - B/(c*A)) + k2*A*(1 - B/(c*A))/(1 + C)"},
        {"A -> B", "k*A*A*(1 - B/(c*A))"},
        {"A -> B", "k*A^1.5*(1 - B/(c*A))/(W + A^1.5)"},
        {"A -> B", "k*(A/c)^2*(1 - B^2/(c*A)^2)/(1 + A^2)"},
        {"A + C -> B", "k*A*C*(1 - B/(c*A*C))/((1 + A)*(1 + C) + B)"},
        {"A -> B + C", "k*A*(1 - B*C/(c*A))/(1 + A + B*C)"},
        {"2 A -> B", "k*A*(A-1)*(1 - B/(c*A*(A-1)))"},
        {"A -> B", "k*(A - B)*(1 + C)/(1 + A)"},
        {"A -> B", "-k*(B/c - A)*(2 + C)/(-1*(-1)*(1 + A))"},
        {"A + E -> B + E", "k*E*A*(1 - B/(c*A))/(W + A)"},
        {"A -> B", "(k*(A - B/c) + k2*A*(1 - B/(c*A))/(1 + A + B))*W"},
        {"A -> B", "k*A - k*B/c + k2*A - k2*A*B/(c*A)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        char text[1500];
        (void)snprintf(
            text, sizeof text,
            "parameters: {k: 0.5, k2: 2*k, c: 3}\n"
            "compartments: {V: 2, W: 2}\n"
            "species: {A: 10, B: 20, C: 5, E: {initial: 4, boundary: true},\n"
            "          S: {initial: 7, boundary: true}, K: {initial: 4, constant: true}}\n"
            "rules: {ratio: B/A, plain: \"%s\"}\n"
            "reactions:\n"
            "  r: {equation: %s, law: \"%s\", reversible: true}\n"
            "  s: A + B -> C @ 0\n",
            laws[i][1], laws[i][0], laws[i][1]);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        if (m->network->tables.n_reactions != 3 || saltus_model_n_warnings(m) != 0) {
            fail_msg("%s was not split", laws[i][1]);
        }
        check_rates(m, laws[i][1]);
        saltus_model_destroy(m);
    }
}

static void other_differences_are_not_split(void **state)
{
    static const case_ cases[] = {
        {"A -> B", "k*A*(10 - A)", "expression"}, /* what is subtracted reads no product */
        {"A -> B", "k*A - k2*C", "expression"},
        {"A -> B", "k*A - 1", "expression"},
        {"A -> B", "(A - B)*(A - B)", "expression"}, /* two */
        {"A -> B", "(k*A - B)*(C - B)", "expression"},
        {"A -> B", "k*A*(50 - B)", "expression"}, /* what is subtracted needs what is consumed */
        {"A -> B", "k*A - k*A*B/c", "expression"},
        {"A -> B", "k*A*(1 - B/c)/(1 + A)", "expression"},
        {"A -> B", "k*A*(1 - B/(c*C))", "expression"},
        {"A -> B", "k*A*(1 - C/(c*A))", "expression"},
        {"A -> B", "k*A/(50 - B)", "expression"}, /* none above the line */
        {"A -> B", "max(A - B, 0)", "expression"},
        {"2 A -> B", "k*A*(A-1)", "0.5 A A-1"}, /* a product already */
        {"C -> 2 B", "k*B*(B-1)", "0.5 B B-1"},
        {"A -> B", "k*A", "0.5 A"},
        {"A -> B", "k - 0.25", "0.25"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ *c = &cases[i];
        char *text = text_of(c, "law", ", reversible: true");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        if (n_steps_of_r(m) != 1) {
            fail_msg("%s was split", c->law);
        }
        assert_string_equal(saltus_network_reaction(m->network, 0), "r");
        check_law(m, c, 0, c->expected);
        saltus_model_destroy(m);
        free(text);
    }
    const case_ one_way = {"A -> B", "k*A - k2*B", "expression"};
    check_one_law(&one_way, "law");
}

/* A - 1 beside A counts pairs; it is no rate of a way back, even where there are no products. */
static void factors_that_count_ways_are_not_split(void **state)
{
    static const case_ cases[] = {
        {"2 A -> 0", "w*A*(A-1)", "expression"},
        {"2 A -> 0", "k*A*(A-1)/(1 + B)", "expression"},
        {"A + A -> 0", "k*(A-1)*A/(1 + B)", "expression"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ *c = &cases[i];
        char *text = text_of(c, "law", ", reversible: true");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        if (n_steps_of_r(m) != 1) {
            fail_msg("%s @ %s was split", c->equation, c->law);
        }
        saltus_model_destroy(m);
        free(text);
    }
}

static void changes_are_net_and_spare_what_is_fixed(void **state)
{
    static const struct {
        const char *equation, *changes;
    } cases[] = {
        {"A + B -> A + C", "B -1, C +1"},
        {"2 A -> A", "A -1"},
        {"A -> 2 A", "A +1"},
        {"A + S -> B + 2 K", "A -1, B +1"},
        {"A -> A", ""},
        {"A + B + A -> C + 3 C", "A -2, B -1, C +4"},
        {"E -> A", "A +1"},
        {"0 -> 0", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ c = {cases[i].equation, "k", ""};
        char *text = text_of(&c, "law", "");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        check_changes(m->network, 0, cases[i].changes);
        saltus_model_destroy(m);
        free(text);
    }
}

/* Species whose counts must be looked at, because some law may stay positive without them. */
static void laws_that_do_not_vanish_are_known(void **state)
{
    static const struct {
        const char *equation, *law, *unsafe;
    } cases[] = {
        {"A -> B", "k*A", ""},          {"A -> B", "k", "A"},          {"2 A -> B", "k*A", "A"},
        {"2 A -> B", "k*A^2", "A"},     {"2 A -> B", "k*A*(A-1)", ""}, {"A + B -> C", "k*A", "B"},
        {"A -> B", "k*A/(1 + A)", "A"}, {"0 -> A", "k", ""},           {"A -> 2 A", "k", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const case_ c = {cases[i].equation, cases[i].law, ""};
        char *text = text_of(&c, "law", "");
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const saltus_tables *t = &m->network->tables;
        char found[40] = "";
        for (int u = 0; u < t->n_unsafe; ++u) {
            strcat(found, m->network->species_names[t->unsafe[u]]);
        }
        if (strcmp(found, cases[i].unsafe) != 0) {
            fail_msg("%s @ %s: unsafe '%s'", c.equation, c.law, found);
        }
        saltus_model_destroy(m);
        free(text);
    }
}

/* ---- initial amounts ---- */

/* What is computed from amounts comes from them as they are, by the mean field. */
static void amounts_may_stay_real(void **state)
{
    static const char text[] = "parameters: {k: 2*A}\nspecies: {A: 0.4, B: 5*A, C: A - 1}\n"
                               "reactions:\n  r: A -> B @ k\n  s: B -> C @ 1\n";
    static const double amounts[] = {0.4, 2.0, -0.6};
    (void)state;
    for (int real = 0; real < 2; ++real) {
        saltus_model *m = freeze_text(text, real ? SALTUS_AMOUNTS_REAL : SALTUS_LAW_LITERAL);
        for (int s = 0; s < 3; ++s) {
            const double rounded = s == 0 ? 0.4 : s == 1 ? 0.0 : -1.0; /* A is 0 for the others */
            assert_float_equal(m->network->initial_amounts[s], real ? amounts[s] : rounded, 1e-15);
        }
        assert_float_equal(m->network->tables.rate[0], real ? 0.8 : 0.0, 1e-15);
        assert_int_equal(saltus_model_n_warnings(m), real ? 0 : 1);
        assert_non_null(m->network->mean_only);
        saltus_model_destroy(m);
    }
    saltus_model *m =
        freeze_text("species: {A: 0.1*30}\nreactions: {r: A -> 0 @ 1}\n", SALTUS_AMOUNTS_REAL);
    assert_null(m->network->mean_only);
    assert_int_equal(m->network->tables.initial_counts[0], 3);
    saltus_model_destroy(m);
}

static void fractions_of_molecules_are_rounded_and_told(void **state)
{
    static const struct {
        const char *amount;
        int64_t count;
        const char *told; /* NULL: nothing */
    } cases[] = {
        {"2.5", 2, "2.5 is rounded to 2"},
        {"3.5", 4, "3.5 is rounded to 4"},
        {"2.4999", 2, "2.4999 is rounded to 2"},
        {"k", 0, "0.5 is rounded to 0"},
        {"k - 0.9", 0, "-0.4 is rounded to 0"},
        {"0.1*30", 3, NULL},
        {"1e6*0.3", 300000, NULL},
        {"4503599627370497", 4503599627370497, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200], told[200];
        (void)snprintf(text, sizeof text,
                       "parameters: {k: 0.5}\nspecies:\n  A: %s\n"
                       "reactions: {r: A -> 0 @ k}\n",
                       cases[i].amount);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        assert_int_equal(m->network->tables.initial_counts[0], cases[i].count);
        assert_int_equal(saltus_model_n_warnings(m), cases[i].told ? 1 : 0);
        if (cases[i].told) {
            (void)snprintf(told, sizeof told, "model.yaml:3: species 'A': initial amount %s",
                           cases[i].told);
            assert_string_equal(saltus_model_warning(m, 0), told);
        }
        saltus_model_destroy(m);
    }
}

/* What no method takes is refused; the mean field has other amounts. */
static void amounts_that_are_no_numbers_of_molecules_are_refused(void **state)
{
    static const struct {
        const char *amount, *says;
        double of_mean;
    } cases[] = {{"k*nan", "nan is no number of molecules", (double)NAN},
                 {"k*inf", "inf is no number of molecules", (double)NAN},
                 {"k - 2", "-1 is negative", -1.0},
                 {"k - 1.6", "-0.6 is negative", -0.6},
                 {"k*1e19", "1e+19 is no number of molecules", 1e19}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200], message[200];
        (void)snprintf(text, sizeof text,
                       "parameters: {k: 1}\nspecies:\n  A: %s\nreactions: {r: A -> 0 @ k}\n",
                       cases[i].amount);
        (void)snprintf(message, sizeof message, "model.yaml:3: species 'A': initial amount %s",
                       cases[i].says);
        if (isnan(cases[i].of_mean)) {
            check_not_frozen(text, SALTUS_E_MODEL, message);
            continue;
        }
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        assert_string_equal(m->network->mean_only, message);
        assert_non_null(strstr(m->network->mean_only_hint, "`method ode` takes it"));
        assert_true(fabs(m->network->initial_amounts[0] - cases[i].of_mean) <=
                    1e-15 * fabs(cases[i].of_mean));
        assert_true(saltus_model_value_at(m, 1).value == m->network->initial_amounts[0]);
        saltus_model_destroy(m);
    }
}

/* A size of 0 is no harm where no law uses it. */
static void sizes_below_0_are_refused(void **state)
{
    static const char *const cases[][2] = {{"V: -2", "its size is -2"},
                                           {"V: 1/0", "its size is inf"},
                                           {"V: -k", "its size is -3"},
                                           {"V:\nrules:\n  V: -k", "its size is -3"},
                                           {"V: 0", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300], message[100];
        (void)snprintf(text, sizeof text,
                       "parameters: {k: 3}\ncompartments:\n  %s\n"
                       "species: {A: {initial: 5, compartment: V}}\n"
                       "reactions: {r: A -> 0 @ k}\n",
                       cases[i][0]);
        if (!cases[i][1]) {
            saltus_model_destroy(freeze_text(text, SALTUS_LAW_LITERAL));
            continue;
        }
        (void)snprintf(message, sizeof message, "model.yaml:3: compartment 'V': %s", cases[i][1]);
        check_not_frozen(text, SALTUS_E_MODEL, message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_action_is_recognised_in_any_spelling),
        cmocka_unit_test(constants_of_mass_action_become_products),
        cmocka_unit_test(other_laws_stay_expressions),
        cmocka_unit_test(rates_that_cannot_be_are_refused),
        cmocka_unit_test(plain_powers_are_told_and_counted_on_request),
        cmocka_unit_test(other_powers_stay_as_written),
        cmocka_unit_test(constants_are_not_asked_about),
        cmocka_unit_test(differences_are_split),
        cmocka_unit_test(zeros_do_not_keep_laws_from_being_split),
        cmocka_unit_test(differences_are_found_by_multiplying_out),
        cmocka_unit_test(differences_without_products_are_split),
        cmocka_unit_test(plain_powers_are_seen_in_both_directions),
        cmocka_unit_test(other_differences_are_not_split),
        cmocka_unit_test(factors_that_count_ways_are_not_split),
        cmocka_unit_test(changes_are_net_and_spare_what_is_fixed),
        cmocka_unit_test(laws_that_do_not_vanish_are_known),
        cmocka_unit_test(fractions_of_molecules_are_rounded_and_told),
        cmocka_unit_test(amounts_may_stay_real),
        cmocka_unit_test(amounts_that_are_no_numbers_of_molecules_are_refused),
        cmocka_unit_test(sizes_below_0_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
