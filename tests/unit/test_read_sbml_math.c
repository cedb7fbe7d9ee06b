/* MathML to expressions: every operation, names, functions, and what is refused. */
#include "model/network/network.h"
#include "sbml_text.h"

/* Formulas stand in an assignment rule for y, on line 12 of the document; a = 2, b = 3, c = 5. */
#define BEFORE                                                                             \
    CELL LIST("Parameters",                                                                \
              PARAMETER("a", "false", "value=\"2\"") PARAMETER("b", "true", "value=\"3\"") \
                  PARAMETER("c", "true", "value=\"5\"")                                    \
                      PARAMETER("y", "false", "")) "<listOfRules>\n"
#define FORMULA(math) L3(BEFORE ASSIGNMENT_RULE("y", math) "</listOfRules>\n")
#define A CI("a")
#define B CI("b")
#define C CI("c")
#define SYMBOL(name)                                                                          \
    "<csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/" name "\">" \
    "x</csymbol>"

static double truth(bool is)
{
    return is ? 1.0 : 0.0;
}

/* Reference meaning of the operations; time is 7. */
static double value(const saltus_model *m, const saltus_expr *e)
{
    double x[8] = {0};
    if (e->op == SALTUS_OP_VARIABLE) {
        return value(m, m->variables[e->variable].initial);
    }
    if (e->op == SALTUS_OP_CONST) {
        return e->value;
    }
    assert_true(e->n_args <= 8);
    for (int i = 0; i < e->n_args; ++i) {
        x[i] = value(m, e->args[i]);
    }
    switch (e->op) {
    case SALTUS_OP_TIME:
        return 7.0;
    case SALTUS_OP_PIECEWISE:
        for (int i = 0; i + 1 < e->n_args; i += 2) {
            if (x[i + 1] != 0.0) {
                return x[i];
            }
        }
        return e->n_args % 2 ? x[e->n_args - 1] : (double)NAN;
#define OP(name, result)   \
    case SALTUS_OP_##name: \
        return result;
        OP(ADD, x[0] + x[1])
        OP(SUB, x[0] - x[1])
        OP(MUL, x[0] * x[1])
        OP(DIV, x[0] / x[1])
        OP(POW, pow(x[0], x[1]))
        OP(NEG, -x[0])
        OP(LT, truth(x[0] < x[1]))
        OP(LE, truth(x[0] <= x[1]))
        OP(GT, truth(x[0] > x[1]))
        OP(GE, truth(x[0] >= x[1]))
        OP(EQ, truth(x[0] == x[1]))
        OP(NE, truth(x[0] != x[1]))
        OP(AND, truth(x[0] != 0.0 && x[1] != 0.0))
        OP(OR, truth(x[0] != 0.0 || x[1] != 0.0))
        OP(NOT, truth(x[0] == 0.0))
        OP(XOR, truth((x[0] != 0.0) != (x[1] != 0.0)))
        OP(IMPLIES, truth(x[0] == 0.0 || x[1] != 0.0))
        OP(MIN, fmin(x[0], x[1]))
        OP(MAX, fmax(x[0], x[1]))
        OP(ABS, fabs(x[0]))
        OP(EXP, exp(x[0]))
        OP(LN, log(x[0]))
        OP(LOG10, log10(x[0]))
        OP(SQRT, sqrt(x[0]))
        OP(ROOT, pow(x[1], 1.0 / x[0]))
        OP(FLOOR, floor(x[0]))
        OP(CEIL, ceil(x[0]))
        OP(FACTORIAL, tgamma(x[0] + 1.0))
        OP(QUOTIENT, trunc(x[0] / x[1]))
        OP(REM, fmod(x[0], x[1]))
        OP(SIN, sin(x[0]))
        OP(COS, cos(x[0]))
        OP(TAN, tan(x[0]))
        OP(SEC, 1.0 / cos(x[0]))
        OP(CSC, 1.0 / sin(x[0]))
        OP(COT, 1.0 / tan(x[0]))
        OP(SINH, sinh(x[0]))
        OP(COSH, cosh(x[0]))
        OP(TANH, tanh(x[0]))
        OP(SECH, 1.0 / cosh(x[0]))
        OP(CSCH, 1.0 / sinh(x[0]))
        OP(COTH, 1.0 / tanh(x[0]))
        OP(ASIN, asin(x[0]))
        OP(ACOS, acos(x[0]))
        OP(ATAN, atan(x[0]))
        OP(ASEC, acos(1.0 / x[0]))
        OP(ACSC, asin(1.0 / x[0]))
        OP(ACOT, atan(1.0 / x[0]))
        OP(ASINH, asinh(x[0]))
        OP(ACOSH, acosh(x[0]))
        OP(ATANH, atanh(x[0]))
        OP(ASECH, acosh(1.0 / x[0]))
        OP(ACSCH, asinh(1.0 / x[0]))
        OP(ACOTH, atanh(1.0 / x[0]))
#undef OP
    default:
        fail_msg("operation %d", (int)e->op);
        return 0.0;
    }
}

static void check_formula(const char *text, const char *printed, double expected)
{
    saltus_model *m = read_text(text);
    const saltus_expr *rule = variable(m, "y")->rule;
    check_printed(m, rule, printed);
    const double got = value(m, rule);
    if (!(isnan(expected) ? isnan(got)
                          : got == expected || fabs(got - expected) <= 1e-12 * fabs(expected))) {
        fail_msg("%s is %.17g instead of %.17g", printed, got, expected);
    }
    saltus_model_destroy(m);
}

static void numbers_keep_their_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {FORMULA(CN(" 0.1 ")), 0.1},
        {FORMULA(CN("-6.02214076e23")), -6.02214076e23},
        {FORMULA("<cn type=\"integer\">-17</cn>"), -17.0},
        {FORMULA("<cn type=\"e-notation\">6.022<sep/>23</cn>"), 6.022e23},
        {FORMULA("<cn type=\"e-notation\">-1.1<sep/>-7</cn>"), -1.1e-7},
        {FORMULA("<cn type=\"e-notation\">5<sep/>-324</cn>"), 5e-324},
        {FORMULA("<cn type=\"e-notation\">0.00000123<sep/>3</cn>"), 0.00000123e3},
        {FORMULA("<cn type=\"rational\">1<sep/>3</cn>"), 1.0 / 3.0},
        {FORMULA("<pi/>"), 3.14159265358979323846},
        {FORMULA("<exponentiale/>"), 2.71828182845904523536},
        {FORMULA("<true/>"), 1.0},
        {FORMULA("<false/>"), 0.0},
        {FORMULA("<infinity/>"), (double)INFINITY},
        {FORMULA(SYMBOL("avogadro")), 6.02214076e23},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_model *m = read_text(cases[i].text);
        const saltus_expr *rule = variable(m, "y")->rule;
        assert_int_equal(rule->op, SALTUS_OP_CONST);
        if (rule->value != cases[i].value) {
            fail_msg("%.17g instead of %.17g", rule->value, cases[i].value);
        }
        saltus_model_destroy(m);
    }
    saltus_model *m = read_text(FORMULA("<notanumber/>"));
    assert_true(isnan(variable(m, "y")->rule->value));
    saltus_model_destroy(m);
}

static void operations_have_their_shape_and_meaning(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
        double value;
    } cases[] = {
        {FORMULA(APPLY("plus", A B C)), "a + b + c", 10.0},
        {FORMULA(APPLY("plus", A APPLY("plus", B C))), "a + (b + c)", 10.0},
        {FORMULA(APPLY("plus", "")), "0", 0.0},
        {FORMULA(APPLY("plus", A)), "a", 2.0},
        {FORMULA(APPLY("times", A B C A)), "a*b*c*a", 60.0},
        {FORMULA(APPLY("times", A APPLY("times", B C) A)), "a*(b*c)*a", 60.0},
        {FORMULA(APPLY("times", "")), "1", 1.0},
        {FORMULA(APPLY("minus", A B)), "a - b", -1.0},
        {FORMULA(APPLY("minus", A)), "-a", -2.0},
        {FORMULA(APPLY("divide", A B)), "a/b", 2.0 / 3.0},
        {FORMULA(APPLY("power", A B)), "a^b", 8.0},
        {FORMULA(APPLY("lt", A B C)), "a < b && b < c", 1.0},
        {FORMULA(APPLY("lt", A C B)), "a < c && c < b", 0.0},
        {FORMULA(APPLY("leq", A A B)), "a <= a && a <= b", 1.0},
        {FORMULA(APPLY("gt", C B A)), "c > b && b > a", 1.0},
        {FORMULA(APPLY("geq", C C A)), "c >= c && c >= a", 1.0},
        {FORMULA(APPLY("eq", A A B)), "a == a && a == b", 0.0},
        {FORMULA(APPLY("eq", A)), "1", 1.0},
        {FORMULA(APPLY("neq", A B)), "a != b", 1.0},
        {FORMULA(APPLY("and", "<true/>" A B)), "1 && a && b", 1.0},
        {FORMULA(APPLY("and", "")), "1", 1.0},
        {FORMULA(APPLY("or", "<false/><false/>" B)), "0 || 0 || b", 1.0},
        {FORMULA(APPLY("or", "")), "0", 0.0},
        {FORMULA(APPLY("xor", "<true/><true/><true/>")), "xor(xor(1, 1), 1)", 1.0},
        {FORMULA(APPLY("not", "<true/>")), "!1", 0.0},
        {FORMULA(APPLY("implies", "<true/><false/>")), "implies(1, 0)", 0.0},
        {FORMULA(APPLY("max", A C B)), "max(max(a, c), b)", 5.0},
        {FORMULA(APPLY("min", A C B)), "min(min(a, c), b)", 2.0},
        {FORMULA(APPLY("quotient", C A)), "quotient(c, a)", 2.0},
        {FORMULA(APPLY("rem", C A)), "rem(c, a)", 1.0},
        {FORMULA(APPLY("ln", A)), "ln(a)", 0.69314718055994530942},
        {FORMULA(APPLY("log", A)), "log10(a)", 0.30102999566398119521},
        {FORMULA(APPLY("log", "<logbase>" CN("10") "</logbase>" A)), "log10(a)",
         0.30102999566398119521},
        {FORMULA(APPLY("log", "<logbase>" B "</logbase>" CN("9"))), "ln(9)/ln(b)", 2.0},
        {FORMULA(APPLY("root", A)), "sqrt(a)", 1.41421356237309504880},
        {FORMULA(APPLY("root", "<degree>" CN("2") "</degree>" A)), "sqrt(a)",
         1.41421356237309504880},
        {FORMULA(APPLY("root", "<degree>" B "</degree>" CN("27"))), "root(b, 27)", 3.0},
        {FORMULA("<piecewise><piece>" A "<false/></piece><piece>" B APPLY(
             "lt", A B) "</piece><otherwise>" C "</otherwise></piecewise>"),
         "piecewise(a, 0, b, a < b, c)", 3.0},
        {FORMULA("<piecewise><piece>" A "<false/></piece></piecewise>"), "piecewise(a, 0)",
         (double)NAN},
        {FORMULA("<piecewise><otherwise>" A "</otherwise></piecewise>"), "a", 2.0},
        {FORMULA(APPLY("abs", CN("-2"))), "abs(-2)", 2.0},
        {FORMULA(APPLY("exp", A)), "exp(a)", 7.38905609893065022723},
        {FORMULA(APPLY("floor", CN("-2.5"))), "floor(-2.5)", -3.0},
        {FORMULA(APPLY("ceiling", CN("-2.5"))), "ceil(-2.5)", -2.0},
        {FORMULA(APPLY("factorial", C)), "factorial(c)", 120.0},
        {FORMULA(SYMBOL("time")), "time", 7.0},
        {FORMULA("<semantics>" A "<annotation encoding=\"x\">b</annotation></semantics>"), "a",
         2.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_formula(cases[i].text, cases[i].printed, cases[i].value);
    }
}

static void trigonometry_has_its_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
        double value;
    } cases[] = {
        {FORMULA(APPLY("sin", A)), "sin(a)", 0.90929742682568169540},
        {FORMULA(APPLY("cos", A)), "cos(a)", -0.41614683654714238700},
        {FORMULA(APPLY("tan", A)), "tan(a)", -2.18503986326151899164},
        {FORMULA(APPLY("sec", A)), "sec(a)", -2.40299796172238098975},
        {FORMULA(APPLY("csc", A)), "csc(a)", 1.09975017029461646676},
        {FORMULA(APPLY("cot", A)), "cot(a)", -0.45765755436028576375},
        {FORMULA(APPLY("sinh", A)), "sinh(a)", 3.62686040784701876767},
        {FORMULA(APPLY("cosh", A)), "cosh(a)", 3.76219569108363145956},
        {FORMULA(APPLY("tanh", A)), "tanh(a)", 0.96402758007581688395},
        {FORMULA(APPLY("sech", A)), "sech(a)", 0.26580222883407969212},
        {FORMULA(APPLY("csch", A)), "csch(a)", 0.27572056477178320776},
        {FORMULA(APPLY("coth", A)), "coth(a)", 1.03731472072754809588},
        {FORMULA(APPLY("arcsin", CN("0.5"))), "asin(0.5)", 0.52359877559829887308},
        {FORMULA(APPLY("arccos", CN("0.5"))), "acos(0.5)", 1.04719755119659774615},
        {FORMULA(APPLY("arctan", A)), "atan(a)", 1.10714871779409050302},
        {FORMULA(APPLY("arcsec", A)), "asec(a)", 1.04719755119659774615},
        {FORMULA(APPLY("arccsc", A)), "acsc(a)", 0.52359877559829887308},
        {FORMULA(APPLY("arccot", A)), "acot(a)", 0.46364760900080611621},
        {FORMULA(APPLY("arcsinh", A)), "asinh(a)", 1.44363547517881034249},
        {FORMULA(APPLY("arccosh", A)), "acosh(a)", 1.31695789692481670863},
        {FORMULA(APPLY("arctanh", CN("0.5"))), "atanh(0.5)", 0.54930614433405484570},
        {FORMULA(APPLY("arcsech", CN("0.5"))), "asech(0.5)", 1.31695789692481670863},
        {FORMULA(APPLY("arccsch", A)), "acsch(a)", 0.48121182505960344750},
        {FORMULA(APPLY("arccoth", A)), "acoth(a)", 0.54930614433405484570},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_formula(cases[i].text, cases[i].printed, cases[i].value);
    }
}

#define LAMBDA(args, body) MATH("<lambda>" args body "</lambda>")
#define ARG(name) "<bvar>" CI(name) "</bvar>"
#define FUNCTION(id, args, body) \
    "<functionDefinition id=\"" id "\">" LAMBDA(args, body) "</functionDefinition>\n"
#define WITH(functions, math)                                                        \
    L3(LIST("FunctionDefinitions", functions) BEFORE ASSIGNMENT_RULE("y", math) "</" \
                                                                                "listOfRules>\n")
#define CALL(name, args) "<apply>" CI(name) args "</apply>"

/* X is a concentration: times the size it is the whole number of molecules that it is. */
static void sizes_cancel(void **state)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {APPLY("times", CI("X") CI("cell")), "X"},
        {APPLY("times", CI("cell") CI("k") CI("X")), "k*X"},
        {APPLY("times", CI("cell") CI("X") CI("X")), "X*(X/cell)"},
        {APPLY("times", CI("cell") CI("X") CI("cell")), "X*cell"},
        {APPLY("times", CI("X") CI("k")), "X/cell*k"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[3000];
        (void)snprintf(
            text, sizeof text,
            L3(CELL LIST("Species", SPECIES("X", "false", "initialAmount=\"10\"")) LIST(
                "Parameters", PARAMETER("k", "true", "value=\"2\"") PARAMETER("y", "false", ""))
                   LIST("Rules", "<assignmentRule variable=\"y\">" MATH("%s") "</assignmentRule>")),
            cases[i].text);
        saltus_model *m = read_text(text);
        check_printed(m, variable(m, "y")->rule, cases[i].printed);
        saltus_model_destroy(m);
    }
}

static void functions_are_inlined(void **state)
{
    (void)state;
    check_formula(WITH(FUNCTION("f", ARG("x") ARG("b"), APPLY("minus", CI("x") CI("b"))),
                       CALL("f", B APPLY("times", A C))),
                  "b - a*c", -7.0);
    /* arguments of a call inside a function, and a function as the argument of itself */
    check_formula(WITH(FUNCTION("g", ARG("x"), APPLY("times", CI("x") CI("x")))
                           FUNCTION("f", ARG("x") ARG("y"),
                                    APPLY("plus", CALL("g", CI("y")) CALL("g", CI("x")))),
                       CALL("f", A CALL("f", B C))),
                  "(c*c + b*b)*(c*c + b*b) + a*a", 1160.0);
    check_formula(WITH(FUNCTION("f", "", CN("4")), CALL("f", "")), "4", 4.0);
    check_formula(WITH(FUNCTION("f", "", SYMBOL("time")), CALL("f", "")), "time", 7.0);
}

static void functions_that_cannot_be_inlined_are_refused(void **state)
{
    (void)state;
    check_refused(WITH(FUNCTION("f", ARG("x"), CALL("f", CI("x"))), CALL("f", A)), SALTUS_E_MODEL,
                  "assignment rule for 'y': formula uses 'f', which is defined by itself", NULL);
    check_refused(WITH(FUNCTION("f", ARG("x"), CALL("g", CI("x")))
                           FUNCTION("g", ARG("x"), CALL("f", CI("x"))),
                       CALL("f", A)),
                  SALTUS_E_MODEL, "formula uses 'f', which is defined by itself", NULL);
    check_refused(WITH(FUNCTION("f", ARG("x"), CI("x")), CALL("f", A B)), SALTUS_E_MODEL,
                  "formula gives the function 'f' 2 arguments instead of 1", NULL);
    check_refused(WITH(FUNCTION("f", ARG("x"), CI("z")), CALL("f", A)), SALTUS_E_MODEL,
                  "formula uses function 'f', whose 'z' is none of its arguments", NULL);
    check_refused(WITH(FUNCTION("f", ARG("x"), CI("x")), CALL("ff", A)), SALTUS_E_MODEL,
                  "formula uses the function 'ff', which is not defined",
                  "the model defines f; MathML has abs, ceiling, ");
    check_refused(WITH(FUNCTION("f", ARG("x"), CI("x")), CALL("a", A)), SALTUS_E_MODEL,
                  "formula uses the function 'a', which is not defined", NULL);
    check_refused(WITH("<functionDefinition id=\"f\"/>", CALL("f", "")), SALTUS_E_MODEL,
                  "formula uses the function 'f', which has no body", NULL);
}

/* Where a level has no rateOf, programs write a function of that name that says nothing. */
static void functions_that_say_nothing_are_their_names(void **state)
{
    (void)state;
    check_formula(WITH(FUNCTION("rateOf", ARG("x"), "<notanumber/>"), CALL("rateOf", B)), "0", 0.0);
    check_refused(WITH(FUNCTION("rateOf", ARG("x"), "<notanumber/>"), CALL("rateOf", CI("y"))),
                  SALTUS_E_UNSUPPORTED, "rateOf() of 'y', which an assignment rule determines",
                  NULL);
    check_formula(WITH(FUNCTION("rateOf", ARG("x"), CI("x")), CALL("rateOf", B)), "b", 3.0);
    saltus_model *m = read_text(
        L3(LIST("FunctionDefinitions", FUNCTION("normal", ARG("m") ARG("s"), "<notanumber/>"))
               LIST("Parameters", PARAMETER("a", "false", "")) LIST(
                   "InitialAssignments", "<initialAssignment symbol=\"a\">" MATH(CALL(
                                             "normal", CN("2") CN("3"))) "</initialAssignment>")));
    check_printed(m, variable(m, "a")->initial, "normal(2, 3)");
    saltus_model_destroy(m);
}

/* ---- distributions ---- */

#define DISTRIB                                                                                  \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "                                           \
    "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" "                                   \
    "xmlns:d=\"http://www.sbml.org/sbml/level3/version1/distrib/version1\" d:required=\"true\" " \
    "level=\"3\" version=\"2\"><model id=\"m\">\n"

static void check_variate(const char *text, const char *printed)
{
    saltus_model *m = read_text(text);
    check_printed(m, variable(m, "y")->rule, printed);
    assert_int_equal(saltus_model_n_warnings(m), 0);
    saltus_model_destroy(m);
}

static void symbols_of_distributions_are_functions(void **state)
{
    static const struct {
        const char *symbol, *args, *printed;
    } cases[] = {
        {"normal", A B, "normal(a, b)"},
        {"normal", A B "<apply><minus/><infinity/></apply>" C, "normal(a, b, -(inf), c)"},
        {"uniform", A B, "uniform(a, b)"},
        {"exponential", A, "exponential(a)"},
        {"exponential", A B C, "exponential(a, b, c)"},
        {"gamma", A B, "gamma(a, b)"},
        {"lognormal", A B, "lognormal(a, b)"},
        {"poisson", A, "poisson(a)"},
        {"binomial", A B, "binomial(a, b)"},
        {"bernoulli", A, "bernoulli(a)"},
        {"laplace", A B, "laplace(a, b)"},
        {"laplace", B, "laplace(0, b)"},
        {"cauchy", A B, "cauchy(a, b)"},
        {"cauchy", B, "cauchy(0, b)"},
        {"chisquare", A, "chisquare(a)"},
        {"rayleigh", A, "rayleigh(a)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[4000];
        (void)snprintf(text, sizeof text,
                       DISTRIB BEFORE "<assignmentRule variable=\"y\">" MATH(
                           "<apply><csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/"
                           "sbml/symbols/distrib/%s\"> x </csymbol>%s</apply>") "</assignmentRule>"
                                                                                "</listOfRules>"
                                                                                "</model></sbml>",
                       cases[i].symbol, cases[i].args);
        check_variate(text, cases[i].printed);
    }
}

#define NORMAL "<apply>" SYMBOL("distrib/normal") CN("0") CN("1") "</apply>"
/* x*x, which of a number is never negative, and a function that draws. */
#define SQUARE FUNCTION("square", ARG("x"), APPLY("times", CI("x") CI("x")))
#define NUMBER FUNCTION("number", "", NORMAL)
#define DRAWN_BY_EVENT(math)                                                                   \
    L3(LIST("FunctionDefinitions", SQUARE NUMBER) LIST("Parameters",                           \
                                                       PARAMETER("y", "false", "value=\"0\"")) \
           LIST("Events",                                                                      \
                "<event useValuesFromTriggerTime=\"true\"><trigger "                           \
                "initialValue=\"false\" persistent=\"true\">" MATH(                            \
                    "<true/>") "</trigger><listOfEventAssignments><eventAssignment "           \
                               "variable=\"y\">" MATH(math) "</eventAssignment></"             \
                                                            "listOfEventAssignments></event>"))

/* How many numbers an event draws, and whether YAML can say so. */
static void check_draws(const char *text, int n, bool has_yaml)
{
    saltus_model *m = read_text(text);
    char *yaml = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&yaml, &size);
    assert_non_null(out);
    assert_int_equal(saltus_model_write_yaml(m, out, NULL),
                     has_yaml ? SALTUS_OK : SALTUS_E_UNSUPPORTED);
    assert_int_equal(fclose(out), 0);
    free(yaml);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, NULL), SALTUS_OK);
    assert_int_equal(m->network->tables.n_variates, n);
    saltus_model_destroy(m);
}

/* A function is one of a number, as a chain of comparisons is; each call that draws is another. */
static void arguments_are_drawn_once(void **state)
{
    (void)state;
    check_draws(DRAWN_BY_EVENT(CALL("square", NORMAL)), 1, false);
    check_draws(DRAWN_BY_EVENT(CALL("square", CALL("square", CALL("number", "")))), 1, false);
    check_draws(DRAWN_BY_EVENT(APPLY("lt", CN("0") NORMAL CN("1"))), 1, false);
    check_draws(DRAWN_BY_EVENT("<apply>" SYMBOL("distrib/normal") CALL("square", NORMAL)
                                   CN("1") "</apply>"),
                2, false);
    check_draws(DRAWN_BY_EVENT(APPLY("times", CALL("number", "") CALL("number", ""))), 2, true);
    check_draws(DRAWN_BY_EVENT(APPLY("plus", NORMAL NORMAL)), 2, true);
}

static void distributions_are_read_wherever_a_formula_is(void **state)
{
    (void)state;
    /* a function, a prefix, a tag of several lines, one that is closed at once */
    check_variate(
        WITH(FUNCTION("f", ARG("x"), "<apply>" SYMBOL("distrib/normal") CI("x") CN("2") "</apply>"),
             CALL("f", A)),
        "normal(a, 2)");
    check_variate(L3(BEFORE "<assignmentRule variable=\"y\"><q:math "
                            "xmlns:q=\"http://www.w3.org/1998/Math/MathML\"><q:apply><q:csymbol "
                            "definitionURL='http://www.sbml.org/sbml/symbols/distrib/poisson'>"
                            "x</q:csymbol><q:ci>a</q:ci></q:apply></q:math></assignmentRule>"
                            "</listOfRules>\n"),
                  "poisson(a)");
    check_variate(FORMULA("<apply><csymbol\n\n encoding=\"text\"\n definitionURL=\"http://"
                          "www.sbml.org/sbml/symbols/distrib/poisson\"\n>\n x\n</csymbol>" A
                          "</apply>"),
                  "poisson(a)");
    check_variate(FORMULA("<apply><csymbol encoding=\"text\" definitionURL=\"http://"
                          "www.sbml.org/sbml/symbols/distrib/poisson\"/>" A "</apply>"),
                  "poisson(a)");
    check_refused(
        L3(BEFORE ASSIGNMENT_RULE(
            "y", "<apply><csymbol\n encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/"
                 "symbols/distrib/poisson\"> x\n</csymbol>" A "</apply>")
               ASSIGNMENT_RULE("a", CI("k9")) "</listOfRules>\n"),
        SALTUS_E_MODEL, "model.xml:15: assignment rule for 'a'", NULL);
    /* what says how uncertain values are changes nothing */
    saltus_model *m = read_text(
        DISTRIB LIST("Parameters", "<parameter id=\"k\" constant=\"true\" value=\"2\">"
                                   "<d:listOfUncertainties><d:uncertainty/></d:listOfUncertainties>"
                                   "</parameter>") "</model></sbml>");
    assert_true(has_warning(m, "other name spaces are skipped"));
    saltus_model_destroy(m);
}

static void distributions_that_cannot_be_are_refused(void **state)
{
    (void)state;
    check_refused(
        FORMULA("<apply>" SYMBOL("distrib/normal") A "</apply>"), SALTUS_E_MODEL,
        "model.xml:12: assignment rule for 'y': formula gives 'normal' 1 arguments, which "
        "takes 2 or 4 arguments",
        NULL);
    check_refused(FORMULA("<apply>" SYMBOL("distrib/bernoulli") A B C "</apply>"), SALTUS_E_MODEL,
                  "gives 'bernoulli' 3 arguments, which takes 1 argument", NULL);
    check_refused(FORMULA("<apply>" SYMBOL("distrib/zipf") A "</apply>"), SALTUS_E_UNSUPPORTED,
                  "formula uses the distribution 'zipf', which is not supported", NULL);
    check_refused(FORMULA("<apply>" CI("normal") A B "</apply>"), SALTUS_E_MODEL,
                  "formula uses the function 'normal', which is not defined", NULL);
    check_refused(DISTRIB LIST("FunctionDefinitions",
                               "<functionDefinition id=\"f\"><d:drawFromDistribution/>"
                               "</functionDefinition>") "</model></sbml>",
                  SALTUS_E_UNSUPPORTED, "model.xml:3: 'drawFromDistribution'", NULL);
}

static void what_has_no_meaning_is_refused(void **state)
{
    (void)state;
    check_refused(FORMULA(CI("k9")), SALTUS_E_MODEL,
                  "model.xml:12: assignment rule for 'y': formula uses 'k9', which is not defined",
                  NULL);
    check_refused(FORMULA(CI("cel")), SALTUS_E_MODEL, "uses 'cel', which is not defined",
                  "did you mean 'cell'?");
    check_refused(FORMULA("<apply>" SYMBOL("delay") A B "</apply>"), SALTUS_E_UNSUPPORTED,
                  "formula uses delay(), which is not supported", NULL);
    check_refused(FORMULA("<apply>" SYMBOL("rateOf") CI("y") "</apply>"), SALTUS_E_UNSUPPORTED,
                  "formula uses rateOf() of 'y', which an assignment rule determines", NULL);
    check_refused(FORMULA("<cn type=\"integer\">4000000000</cn>"), SALTUS_E_MODEL,
                  "Failed to read a valid integer value", "an integer above 2^31 - 1");
    check_refused(FORMULA("<piecewise/>"), SALTUS_E_MODEL, "has a piecewise without pieces", NULL);
    check_refused(FORMULA(APPLY("max", "")), SALTUS_E_MODEL, "gives 'max' 0 arguments", NULL);
    check_refused(FORMULA(APPLY("divide", A)), SALTUS_E_MODEL, "gives '/' 1 arguments", NULL);
    check_refused(FORMULA(APPLY("sin", A B)), SALTUS_E_MODEL, "gives 'sin' 2 arguments", NULL);
    check_refused(FORMULA(APPLY("bogus", A)), SALTUS_E_MODEL, "bogus", NULL);
    check_refused(FORMULA(CN("abc")), SALTUS_E_MODEL, "model.xml:12:", NULL);
}

/* f_i(x) = f_{i-1}(x) + f_{i-1}(x): a short text for 2^40 terms. */
static void explosions_are_refused(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *document = WITH("@" FUNCTION("f0", ARG("x"), CI("x")), CALL("f40", A));
    const char *at = strchr(document, '@');
    (void)fwrite(document, 1, (size_t)(at - document), out);
    for (int i = 1; i <= 40; ++i) {
        (void)fprintf(
            out,
            "<functionDefinition id=\"f%d\">" LAMBDA(
                ARG("x"),
                APPLY("plus", "<apply><ci>f%d</ci><ci>x</ci></apply>"
                              "<apply><ci>f%d</ci><ci>x</ci></apply>")) "</functionDefinition>\n",
            i, i - 1, i - 1);
    }
    (void)fputs(at + 1, out);
    assert_int_equal(fclose(out), 0);
    check_refused(text, SALTUS_E_UNSUPPORTED, "formula is too large", NULL);
    free(text);
}

/* A document with the formula `open`, n times `each`, `close`, n times `after`. */
static char *repeated(int n, const char *open, const char *each, const char *close,
                      const char *after)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *document = FORMULA("@");
    const char *at = strchr(document, '@');
    (void)fwrite(document, 1, (size_t)(at - document), out);
    (void)fputs(open, out);
    for (int i = 0; i < n; ++i) {
        (void)fputs(each, out);
    }
    (void)fputs(close, out);
    for (int i = 0; i < n; ++i) {
        (void)fputs(after, out);
    }
    (void)fputs(at + 1, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static int depth_of(const saltus_expr *e)
{
    int deepest = 0;
    for (int i = 0; i < e->n_args; ++i) {
        const int d = depth_of(e->args[i]);
        deepest = d > deepest ? d : deepest;
    }
    return deepest + 1;
}

static void deep_formulas_are_bounded(void **state)
{
    (void)state;
    char *text = repeated(450, "", "<apply><sin/>", "<ci>a</ci>", "</apply>");
    saltus_model *m = read_text(text);
    assert_int_equal(depth_of(variable(m, "y")->rule), 451);
    saltus_model_destroy(m);
    free(text);
    text = repeated(600, "", "<apply><sin/>", "<ci>a</ci>", "</apply>");
    check_refused(text, SALTUS_E_UNSUPPORTED, "formula is nested more than 500 deep", NULL);
    free(text);
    text = repeated(100000, "", "<apply><sin/>", "<ci>a</ci>", "</apply>");
    check_refused(text, SALTUS_E_UNSUPPORTED, "elements are nested more than 1000 deep", NULL);
    free(text);
}

static void long_sums_stay_shallow(void **state)
{
    (void)state;
    char *text = repeated(20000, "<apply><plus/>", "<ci>a</ci>", "</apply>", "");
    saltus_model *m = read_text(text);
    assert_true(depth_of(variable(m, "y")->rule) < 50);
    assert_true(value(m, variable(m, "y")->rule) == 40000.0);
    saltus_model_destroy(m);
    free(text);
    text = repeated(60000, "<apply><plus/>", "<ci>a</ci>", "</apply>", "");
    check_refused(text, SALTUS_E_UNSUPPORTED, "a formula has more than 50000 elements", NULL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_bits),
        cmocka_unit_test(operations_have_their_shape_and_meaning),
        cmocka_unit_test(trigonometry_has_its_names),
        cmocka_unit_test(sizes_cancel),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(functions_that_cannot_be_inlined_are_refused),
        cmocka_unit_test(functions_that_say_nothing_are_their_names),
        cmocka_unit_test(symbols_of_distributions_are_functions),
        cmocka_unit_test(arguments_are_drawn_once),
        cmocka_unit_test(distributions_are_read_wherever_a_formula_is),
        cmocka_unit_test(distributions_that_cannot_be_are_refused),
        cmocka_unit_test(what_has_no_meaning_is_refused),
        cmocka_unit_test(explosions_are_refused),
        cmocka_unit_test(deep_formulas_are_bounded),
        cmocka_unit_test(long_sums_stay_shallow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
