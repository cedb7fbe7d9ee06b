/* Stoichiometries that rules and events change, and rateOf() of what reactions change: reactions
 * for each value that is known, exactly by all methods, and the mean field where there are others.
 */
#include "../support/samples.h"
#include "model/network/network.h"
#include "../support/same_model.h"
#include "sbml_text.h"

#define TIME_SYMBOL               \
    "<csymbol encoding=\"text\" " \
    "definitionURL=\"http://www.sbml.org/sbml/symbols/time\">t</csymbol>"
#define RATE_OF(id)                                                                                \
    "<apply><csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/rateOf\">" \
    "r</csymbol>" CI(id) "</apply>"
#define RATE_RULE(id, math) "<rateRule variable=\"" id "\">" MATH(math) "</rateRule>"
#define RULE(id, math) ASSIGNMENT_RULE(id, math)
#define AT(time, id, math)                                                        \
    "<event useValuesFromTriggerTime=\"true\"><trigger initialValue=\"true\" "    \
    "persistent=\"true\">" MATH(                                                  \
        APPLY("geq", TIME_SYMBOL CN(time))) "</trigger><listOfEventAssignments>"  \
                                            "<eventAssignment variable=\"" id     \
                                            "\">" MATH(math) "</eventAssignment>" \
                                                             "</listOfEventAssignments></event>"

/* R with the stoichiometry n of X among its products, in a compartment of size 2. */
typedef struct document {
    const char *rules, *events;
    const char *n;         /* its attribute; NULL: 1 */
    const char *reactants; /* references */
    const char *law;       /* NULL: 10 */
    const char *parameters, *start;
    const char *initials; /* initial assignments */
    const char *factor;   /* the conversion factor of all species */
} document;

static const char *write_document(const document *d)
{
    static char text[8000];
    (void)snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" version=\"2\">\n"
        "<model id=\"m\"%s%s%s><listOfCompartments><compartment id=\"cell\" constant=\"false\" "
        "size=\"2\" spatialDimensions=\"3\"/></listOfCompartments>\n<listOfSpecies>"
        "<species id=\"X\" compartment=\"cell\" hasOnlySubstanceUnits=\"false\" "
        "boundaryCondition=\"false\" constant=\"false\" initialAmount=\"%s\"/>"
        "<species id=\"Y\" compartment=\"cell\" hasOnlySubstanceUnits=\"true\" "
        "boundaryCondition=\"false\" constant=\"false\" initialAmount=\"1000\"/>"
        "</listOfSpecies>\n<listOfParameters>%s<parameter id=\"y\" constant=\"false\" "
        "value=\"0\"/></listOfParameters><listOfInitialAssignments>%s"
        "</listOfInitialAssignments>\n<listOfRules>%s</listOfRules>\n<listOfReactions>"
        "<reaction id=\"R\" reversible=\"true\"><listOfReactants>%s</listOfReactants>"
        "<listOfProducts><speciesReference id=\"n\" species=\"X\" stoichiometry=\"%s\" "
        "constant=\"false\"/></listOfProducts><kineticLaw>%s</kineticLaw></reaction>"
        "</listOfReactions>\n<listOfEvents>%s</listOfEvents></model></sbml>",
        d->factor ? " conversionFactor=\"" : "", d->factor ? d->factor : "", d->factor ? "\"" : "",
        d->start ? d->start : "0", d->parameters ? d->parameters : "",
        d->initials ? d->initials : "", d->rules ? d->rules : "", d->reactants ? d->reactants : "",
        d->n ? d->n : "1", d->law ? d->law : MATH(CN("10")), d->events ? d->events : "");
    return text;
}

/* The same model as YAML: to be freed. */
static char *as_yaml(const document *d)
{
    saltus_model *m = read_text(write_document(d)), *again = NULL;
    char *yaml = model_to_yaml(m);
    assert_non_null(yaml);
    assert_int_equal(saltus_model_parse_yaml(yaml, strlen(yaml), "m", &again, NULL), SALTUS_OK);
    const char *difference = model_difference(m, again);
    if (difference) {
        fail_msg("%s\n%s", difference, yaml);
    }
    saltus_model_destroy(m);
    saltus_model_destroy(again);
    return yaml;
}

/* Its YAML has the same bits. */
static samples run_at(const document *d, const char *method, const char *columns, double t,
                      int64_t n)
{
    char *yaml = as_yaml(d);
    const saltus_plan_options o = options(method, columns);
    saltus_model *m = read_text(write_document(d));
    saltus_error err = {0};
    samples s = {0}, again = run(yaml, &o, &t, 1, n);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    if (try_run_model(m, "cpu", &o, &t, 1, n, &s, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(s.n, n);
    assert_int_equal(again.n, n);
    assert_int_equal(s.n_columns, again.n_columns);
    assert_memory_equal(s.x, again.x, (size_t)(n * s.n_columns) * sizeof *s.x);
    saltus_model_destroy(m);
    free(again.x);
    free(yaml);
    return s;
}

static void check_moments(const samples *s, double mean, double variance, const char *what)
{
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < s->n; ++i) {
        sum += s->x[i];
        squares += (s->x[i] - mean) * (s->x[i] - mean);
    }
    const double n = (double)s->n;
    check_near(sum / n, mean, 5.0 * sqrt(variance / n), what);
    check_near(squares / n, variance, 5.0 * sqrt(3.0 / n) * variance, what);
}

/* "R[n=1]: 0 -> X; …" */
static void check_reactions(const document *d, const char *expected)
{
    char text[1000] = "";
    saltus_model *m = read_text(write_document(d));
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s%s:", i > 0 ? "; " : "", r->id);
        for (int k = 0; k < r->n_reactants + r->n_products; ++k) {
            const bool is_product = k >= r->n_reactants;
            const saltus_participant *p =
                is_product ? &r->products[k - r->n_reactants] : &r->reactants[k];
            at = strlen(text);
            (void)snprintf(text + at, sizeof text - at, " %c%.9g %s", is_product ? '+' : '-',
                           saltus_molecules(p), m->variables[p->variable].id);
        }
    }
    assert_string_equal(text, expected);
    saltus_model_destroy(m);
}

/* ---- values that are known ---- */

static void each_value_is_a_reaction(void **state)
{
    (void)state;
    check_reactions(&(document){.events = AT("5", "n", CN("3"))}, "R[n=1]: +1 X; R[n=3]: +3 X");
    check_reactions(&(document){.events = AT("5", "n", CN("0")) AT("6", "n", CN("2"))},
                    "R[n=1]: +1 X; R[n=0]:; R[n=2]: +2 X");
    /* by other parameters, rules and conditions */
    check_reactions(
        &(document){.parameters = PARAMETER("p", "false", "value=\"2\""),
                    .rules = RULE("n", APPLY("times", CI("p") CN("2"))),
                    .events = AT("5", "p",
                                 "<piecewise><piece>" CN("4")
                                     APPLY("gt", CI("X") CN("1")) "</piece><otherwise>" CN(
                                         "7") "</otherwise></piecewise>")},
        "R[n=4]: +4 X; R[n=8]: +8 X; R[n=14]: +14 X");
    /* all combinations; what never varies is as ever, and what is below 0 is on the other side */
    check_reactions(&(document){.reactants =
                                    "<speciesReference id=\"k\" species=\"Y\" stoichiometry=\"2\" "
                                    "constant=\"false\"/>" REFERENCE("X", "stoichiometry=\"-5\""),
                                .events = AT("5", "n", CN("3")) AT("6", "k", CN("-1"))},
                    "R[k=2][n=1]: -2 Y +5 X +1 X; R[k=-1][n=1]: +1 Y +5 X +1 X; "
                    "R[k=2][n=3]: -2 Y +5 X +3 X; R[k=-1][n=3]: +1 Y +5 X +3 X");
    check_reactions(&(document){.n = "4", .rules = RATE_RULE("y", CN("1"))}, "R: +4 X");
}

/* An initial assignment gives a number once, whatever becomes of what it came from. */
static void initial_assignments_are_of_time_0(void **state)
{
    (void)state;
    const document of_an_event = {.parameters = PARAMETER("p", "false", "value=\"2\""),
                                  .initials = INITIAL("n", APPLY("times", CI("p") CN("2"))),
                                  .events = AT("5", "p", CN("7"))};
    const document of_a_rate = {.parameters = PARAMETER("p", "false", "value=\"2\""),
                                .initials = INITIAL("n", APPLY("times", CI("p") CN("2"))),
                                .rules = RATE_RULE("p", CN("1"))};
    check_reactions(&of_an_event, "R: +4 X");
    check_reactions(&of_a_rate, "R: +4 X");
    /* an event sets it, and not to what p is meanwhile */
    check_reactions(&(document){.parameters = PARAMETER("p", "false", "value=\"2\""),
                                .initials = INITIAL("n", CI("p")),
                                .events = AT("5", "p", CN("7")) AT("6", "n", CN("3"))},
                    "R[n=2]: +2 X; R[n=3]: +3 X");
    samples s = run_at(&of_an_event, "ode", "X,n", 10.0, 1);
    check_near(s.x[0], 400.0, 1e-3, "the mean field");
    assert_true(s.x[1] == 4.0);
    free(s.x);
}

/* Until 5 one X at 10, then 3: Poisson variates of mean 50, one of which is taken three times. */
static void events_set_stoichiometries_exactly(void **state)
{
    static const char *const methods[] = {"direct", "tau", "hybrid"};
    const document d = {.events = AT("5", "n", CN("3"))};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        samples s = run_at(&d, methods[i], "X", 10.0, 4000);
        check_moments(&s, 50.0 + 150.0, 50.0 + 450.0, methods[i]);
        free(s.x);
    }
    samples s = run_at(&d, "ode", "X,n", 10.0, 1);
    check_near(s.x[0], 200.0, 1e-3, "the mean field");
    assert_true(s.x[1] == 3.0);
    free(s.x);
}

/* A law that is a difference: Y and X go there and back one by one until 5, then two X for a Y. */
static void differences_stay_differences(void **state)
{
    (void)state;
    saltus_model *m = read_text(write_document(
        &(document){.reactants = REFERENCE("Y", "stoichiometry=\"1\""),
                    .law = MATH(APPLY("minus", CI("Y") APPLY("times", CI("cell") CI("X")))),
                    .events = AT("5", "n", CN("2"))}));
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, NULL), SALTUS_OK);
    assert_int_equal(saltus_model_n_reactions(m), 4);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(saltus_model_print_info(m, out, NULL), SALTUS_OK);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "split into forward and backward"));
    assert_null(strstr(text, "net rate"));
    free(text);
    saltus_model_destroy(m);
}

/* Units may make them many, which a text says in digits. */
static void many_molecules_at_once_are_written(void **state)
{
    (void)state;
    samples s = run_at(&(document){.n = "3e9", .law = MATH(CN("1e-9"))}, "ode", "X", 2.0, 1);
    check_near(s.x[0], 6.0, 1e-4, "X");
    free(s.x);
}

/* What they were computed from stays as it is. */
static void values_cannot_be_set(void **state)
{
    (void)state;
    saltus_model *m = read_text(write_document(&(document){
        .parameters = PARAMETER("p", "true", "value=\"2\""), .events = AT("5", "n", CI("p"))}));
    assert_int_equal(saltus_model_set(m, "p", 3.0, NULL), SALTUS_E_INVALID);
    assert_int_equal(saltus_model_set(m, "n", 3.0, NULL), SALTUS_E_INVALID);
    saltus_model_destroy(m);
}

/* ---- values that are not ---- */

/* The mean field alone has a meaning; X is then an integral that is known. */
static void other_values_are_of_the_mean_field(void **state)
{
    static const struct {
        document d;
        double x; /* at 2 */
    } cases[] = {
        {{.rules = RATE_RULE("n", CN("1"))}, 10.0 * (2.0 + 2.0)},
        {{.rules = RULE("n", APPLY("times", CN("2") TIME_SYMBOL))}, 10.0 * 4.0},
        {{.events = AT("1", "n", APPLY("plus", CI("n") CN("0.5")))}, 10.0 * (1.0 + 1.5)},
        {{.events = AT("1", "n", APPLY("minus", CN("0") CI("X")))}, 10.0 * (1.0 - 5.0)},
        {{.start = "1", .law = MATH(CN("1")), .rules = RULE("n", CI("X"))}, 2.718281828},
        {{.reactants = REFERENCE("Y", ""), .events = AT("1", "n", CN("0.3"))}, /* known, a part */
         10.0 * 1.3},
        /* next to nothing, and more than can be counted: units that do not go together */
        {{.n = "1e-9", .law = MATH(CN("1e10"))}, 20.0},
        {{.n = "3e23", .law = MATH(CN("1e-23"))}, 6.0},
        {{.n = "1e-9", .law = MATH(CN("1e10")), .events = AT("1", "n", CN("3e-9"))}, 40.0},
        {{.reactants = REFERENCE("X", "stoichiometry=\"1e-9\""),
          .start = "100",
          .n = "0",
          .law = MATH(CN("1e10"))},
         80.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        static const char *const methods[] = {"direct", "tau", "hybrid"};
        const double t = 2.0;
        samples s = run_at(&cases[i].d, "ode", "X", t, 1);
        check_near(s.x[0], cases[i].x, 1e-4 * fabs(cases[i].x), "X");
        free(s.x);
        char *yaml = as_yaml(&cases[i].d);
        for (int k = 0; k < 3; ++k) {
            saltus_error err = {0};
            const saltus_plan_options o = options(methods[k], NULL);
            s = (samples){0};
            assert_int_equal(try_run(yaml, "cpu", &o, &t, 1, 1, &s, &err), SALTUS_E_UNSUPPORTED);
            assert_non_null(strstr(err.hint, "`method ode` takes it"));
            free(s.x);
        }
        free(yaml);
    }
    saltus_error err = {0};
    saltus_model *m = read_text(write_document(&cases[0].d));
    assert_string_equal(m->mean_only, "model.xml:6: reaction 'R': the stoichiometry of 'X' varies, "
                                      "and not between a few numbers that are known");
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    saltus_model_destroy(m);
}

/* A conversion factor may come from amounts at time 0: here 3 molecules in a size of 2. */
static void factors_may_follow_from_amounts(void **state)
{
    const document d = {.factor = "f",
                        .parameters = PARAMETER("f", "true", ""),
                        .start = "3",
                        .initials = INITIAL("f", CI("X")),
                        .n = "2",
                        .reactants = REFERENCE("Y", ""),
                        .rules = RULE("y", RATE_OF("X"))};
    document without_rate = d;
    (void)state;
    samples s = run_at(&d, "ode", "X,Y,y", 2.0, 1);
    check_near(s.x[0], 3.0 + 2.0 * 1.5 * 10.0 * 2.0, 1e-4, "a product");
    check_near(s.x[1], 1000.0 - 1.5 * 10.0 * 2.0, 1e-3, "a reactant");
    check_near(s.x[2], 2.0 * 1.5 * 10.0 / 2.0, 1e-4, "the rate of a concentration");
    free(s.x);
    without_rate.rules = NULL;
    saltus_model *m = read_text(write_document(&without_rate));
    assert_string_equal(m->mean_only, "model.xml:8: reaction 'R': the conversion factor of 'Y' is "
                                      "none of a few numbers that are known");
    saltus_model_destroy(m);
    /* a number that is known is a part of what happens, exactly by all methods */
    check_reactions(&(document){.factor = "f",
                                .parameters = PARAMETER("f", "true", ""),
                                .initials = INITIAL("f", CN("3")),
                                .n = "2"},
                    "R: +6 X");
}

/* Nothing but an initial assignment changes a stoichiometry that is said to be constant, and
 * nothing else a conversion factor. */
static void what_is_constant_does_not_vary(void **state)
{
    static const struct {
        document d;
        const char *message;
    } cases[] = {
        {{.reactants = REFERENCE("Y", "id=\"k\""), .events = AT("1", "k", CN("2"))},
         "model.xml:7: event 'event_1' changes 'k', which is constant"},
        {{.reactants = REFERENCE("Y", "id=\"k\""), .rules = RULE("k", CN("2"))},
         "model.xml:5: assignment rule for 'k' changes 'k', which is constant"},
        {{.reactants = REFERENCE("Y", "id=\"k\""), .rules = RATE_RULE("k", CN("2"))},
         "model.xml:5: rate rule for 'k' changes 'k', which is constant"},
        {{.factor = "y", .events = AT("1", "y", CN("2"))},
         "model.xml:3: species 'X': its conversion factor 'y' changes, which SBML does not allow"},
        {{.factor = "y", .rules = RULE("y", CN("2"))}, "species 'X': its conversion factor 'y'"},
        {{.factor = "y", .rules = RATE_RULE("y", CN("2"))},
         "species 'X': its conversion factor 'y'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_refused(write_document(&cases[i].d), SALTUS_E_MODEL, cases[i].message, NULL);
    }
    check_reactions(&(document){.reactants = REFERENCE("Y", "id=\"k\""),
                                .initials = INITIAL("k", CN("2")),
                                .n = "2"},
                    "R: -2 Y +2 X");
}

/* Sums of so many combinations end: each parameter reads the one before it twice. */
static void searches_end(void **state)
{
    char parameters[6000] = "";
    (void)state;
    for (int i = 0; i < 40; ++i) {
        const size_t at = strlen(parameters);
        (void)snprintf(parameters + at, sizeof parameters - at,
                       "<parameter id=\"p%d\" constant=\"false\" value=\"%d\"/>", i, i);
    }
    char rules[12000] = "";
    for (int i = 1; i < 40; ++i) {
        const size_t at = strlen(rules);
        (void)snprintf(rules + at, sizeof rules - at,
                       RULE("p%d", APPLY("plus", CI("p%d") CI("p%d"))), i, i - 1, i - 1);
    }
    char *text = malloc(40000);
    assert_non_null(text);
    (void)snprintf(text, 40000,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "
                   "xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" "
                   "version=\"2\"><model id=\"m\">" CELL "<listOfSpecies>" SPECIES(
                       "X", "true",
                       "initialAmount=\"0\"") "</listOfSpecies>"
                                              "<listOfParameters>%s</"
                                              "listOfParameters><listOfRules>%s%s</listOfRules>"
                                              "<listOfReactions><reaction id=\"R\" "
                                              "reversible=\"false\"><listOfProducts>"
                                              "<speciesReference id=\"n\" species=\"X\" "
                                              "constant=\"false\"/></listOfProducts>"
                                              "<kineticLaw>" MATH(CN(
                                                  "1")) "</kineticLaw></reaction></listOfReactions>"
                                                        "</model></sbml>",
                   parameters, rules, RULE("n", CI("p39")));
    saltus_model *m = read_text(text);
    assert_non_null(m->mean_only);
    saltus_model_destroy(m);
    free(text);
}

/* ---- rateOf() ---- */

/* X comes at 10, Y goes at 0.5 Y into X; the concentration of X is X / 2. */
static void rates_of_amounts_are_those_of_the_mean_field(void **state)
{
    const document d = {.reactants = REFERENCE("Y", "stoichiometry=\"1\""),
                        .law = MATH(APPLY("times", CN("0.5") CI("Y"))),
                        .n = "3",
                        .parameters = PARAMETER("of_x", "false", ""),
                        .rules = RULE("y", RATE_OF("Y")) RULE("of_x", RATE_OF("X"))};
    const double t = 1.0, rate = 500.0 * exp(-0.5);
    (void)state;
    samples s = run_at(&d, "ode", "y,of_x", t, 1);
    check_near(s.x[0], -rate, 1e-4 * rate, "an amount");
    check_near(s.x[1], 1.5 * rate, 1e-4 * rate, "a concentration");
    free(s.x);
    saltus_model *m = read_text(write_document(&d));
    assert_string_equal(m->mean_only, "model.xml:6: assignment rule for 'y': formula uses rateOf() "
                                      "of 'Y', which reactions change");
    saltus_model_destroy(m);
}

/* In a compartment that grows concentrations fall, also where no reaction changes the amount, which
 * then stands between events by any method. */
static void concentrations_fall_where_sizes_grow(void **state)
{
    static const char law[] = MATH(CN("3"));
    const document changed = {
        .start = "100", .law = law, .rules = RATE_RULE("cell", CN("0.5")) RULE("y", RATE_OF("X"))};
    (void)state;
    /* x = 100 + 3 t, V = 2 + t / 2: at 2, c' = 3 / 3 - (106 / 3) 0.5 / 3 */
    samples s = run_at(&changed, "ode", "y", 2.0, 1);
    check_near(s.x[0], 1.0 - 106.0 / 18.0, 1e-4, "with a reaction");
    free(s.x);
    saltus_model *m = read_text(
        L3("<listOfCompartments><compartment id=\"cell\" constant=\"false\" size=\"2\"/>"
           "</listOfCompartments>" LIST("Species", SPECIES("X", "false", "initialAmount=\"100\""))
               LIST("Parameters", PARAMETER("y", "false", ""))
                   LIST("Rules", RATE_RULE("cell", CN("0.5")) RULE("y", RATE_OF("X")))));
    assert_null(m->mean_only);
    check_printed(m, variable(m, "y")->rule, "-(X/cell*(0.5/cell))");
    saltus_model_destroy(m);
}

static void rates_that_have_no_meaning_are_refused(void **state)
{
    (void)state;
    check_refused(write_document(&(document){.rules = RULE("y", RATE_OF("y"))}),
                  SALTUS_E_UNSUPPORTED, "rateOf() of 'y', which an assignment rule determines",
                  NULL);
    check_refused(write_document(&(document){.law = MATH(RATE_OF("X"))}), SALTUS_E_MODEL,
                  "uses 'R', which is defined by itself", NULL);
    check_refused(
        write_document(&(document){.rules = RULE("cell", CN("3")) RULE("y", RATE_OF("X"))}),
        SALTUS_E_UNSUPPORTED, "an assignment rule determines the size of 'cell'", NULL);
}

/* SBML has species before parameters, YAML behind them; errors of steps are sums in this order, and
 * each variable has its own rate. */
static void integrated_variables_are_in_one_order(void **state)
{
    static const char *const methods[] = {"direct", "hybrid", "ode"};
    static const char *const columns[] = {"cell", "Y", "y"};
    static const double expected[] = {2.0 + 2.0 * 3.0, 1000.0 + 3.0 * 3.0 / 2.0, 3.0};
    const document d = {.rules = RATE_RULE("Y", CI("y")) RATE_RULE("y", CN("1"))
                            RATE_RULE("cell", CN("2"))};
    (void)state;
    for (int m = 0; m < 3; ++m) {
        for (int c = 0; c < 3; ++c) {
            const samples s = run_at(&d, methods[m], columns[c], 3.0, 2);
            for (int64_t i = 0; i < s.n; ++i) {
                check_near(s.x[i], expected[c], 1e-6 * expected[c], columns[c]);
            }
            free(s.x);
        }
    }
}

/* Known and unknown values, rates of amounts and concentrations: no memory is no other model. */
static void each_allocation_may_fail(void **state)
{
    static const document cases[] = {
        {.parameters = PARAMETER("p", "false", "value=\"2\""),
         .rules = RULE("n", APPLY("times", CI("p") CN("2"))),
         .events = AT("5", "p", CN("3"))},
        {.rules = RATE_RULE("n", CN("1")) RATE_RULE("cell", CN("1")) RULE("y", RATE_OF("X"))},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *text = write_document(&cases[i]);
        saltus_model *whole = read_text(text), *m = NULL;
        bool done = false;
        int n = 0;
        for (; !done; ++n) {
            saltus_error err = {.code = SALTUS_OK};
            saltus_fail_allocation(n);
            const saltus_status status =
                saltus_model_parse_sbml(text, strlen(text), "model.xml", &m, &err);
            saltus_fail_allocation(-1);
            done =
                status == SALTUS_OK && saltus_model_n_warnings(m) == saltus_model_n_warnings(whole);
            if (status == SALTUS_OK) {
                assert_null(model_difference(m, whole));
            } else {
                assert_int_equal(status, SALTUS_E_NO_MEMORY);
                assert_null(m);
            }
            saltus_model_destroy(m);
            m = NULL;
            assert_true(n < 10000);
        }
        assert_true(n > 50);
        saltus_model_destroy(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_a_reaction),
        cmocka_unit_test(initial_assignments_are_of_time_0),
        cmocka_unit_test(events_set_stoichiometries_exactly),
        cmocka_unit_test(differences_stay_differences),
        cmocka_unit_test(many_molecules_at_once_are_written),
        cmocka_unit_test(values_cannot_be_set),
        cmocka_unit_test(other_values_are_of_the_mean_field),
        cmocka_unit_test(factors_may_follow_from_amounts),
        cmocka_unit_test(what_is_constant_does_not_vary),
        cmocka_unit_test(searches_end),
        cmocka_unit_test(rates_of_amounts_are_those_of_the_mean_field),
        cmocka_unit_test(concentrations_fall_where_sizes_grow),
        cmocka_unit_test(rates_that_have_no_meaning_are_refused),
        cmocka_unit_test(integrated_variables_are_in_one_order),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
