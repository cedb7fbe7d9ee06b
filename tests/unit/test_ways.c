/* Stoichiometries that are not whole: scaled, drawn, of the mean field. */
#include "../support/moments.h"
#include "frozen.h"
#include "../support/same_model.h"

#include <math.h>
#include <stdlib.h>

static const saltus_law drawn = (saltus_law)(SALTUS_LAW_LITERAL + SALTUS_STOICHIOMETRY_DRAW);

/* "name: rate, A -1, B 1": one line for each reaction of the frozen model. */
static void print_steps(const saltus_model *m, char *text, size_t size)
{
    const saltus_tables *t = &m->network->tables;
    text[0] = '\0';
    for (int r = 0; r < t->n_reactions; ++r) {
        size_t at = strlen(text);
        (void)snprintf(text + at, size - at, "%s: %.6g", saltus_network_reaction(m->network, r),
                       t->rate[r]);
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            at = strlen(text);
            (void)snprintf(text + at, size - at, ", %s %lld",
                           m->network->species_names[t->change_species[c]],
                           (long long)t->change_amount[c]);
        }
        (void)strncat(text, "\n", size - strlen(text) - 1);
    }
}

static void check_steps(const char *reactions, saltus_law law, int n_warnings, const char *expected)
{
    char model[400], text[1000];
    (void)snprintf(model, sizeof model,
                   "species: {A: 10, B: 0, C: 0, X: {initial: 3, boundary: true}}\n"
                   "reactions:\n%s",
                   reactions);
    saltus_model *m = freeze_text(model, law);
    print_steps(m, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(saltus_model_n_warnings(m), n_warnings);
    saltus_model_destroy(m);
}

static void what_is_whole_when_it_is_scaled_is_scaled(void **state)
{
    (void)state;
    check_steps("  r: {equation: 0.5 A -> 0.5 B, law: 3 * A}\n", SALTUS_LAW_LITERAL, 1,
                "r: 1.5, A -1, B 1\n");
    check_steps("  r: 0 -> 1.5 B @ 6\n", SALTUS_LAW_LITERAL, 1, "r: 3, B 3\n");
    check_steps("  r: 0 -> 0.4 A + 0.04 B @ 6\n", SALTUS_LAW_LITERAL, 1, "r: 0.24, A 10, B 1\n");
    check_steps("  r: 0 -> 0.333333333333 B @ 6\n", SALTUS_LAW_LITERAL, 1, "r: 2, B 1\n");
    /* both ways */
    check_steps("  r: {equation: 0.5 A <-> 0.5 B, law: 4*A - 2*B}\n", SALTUS_LAW_LITERAL, 2,
                "r.forward: 2, A -1, B 1\nr.backward: 1, A 1, B -1\n");
    /* what is not changed may be any part */
    check_steps("  r: {equation: A + 0.37 X -> B, law: 2 * A * X}\n", SALTUS_LAW_LITERAL, 0,
                "r: 6, A -1, B 1\n");
}

static void what_is_not_is_drawn(void **state)
{
    (void)state;
    check_steps("  r: A -> 0.3 B @ 10\n", drawn, 0, "r.1: 3, A -1, B 1\nr.2: 7, A -1\n");
    check_steps("  r: A -> 2.25 B + 0.75 C @ 8\n", drawn, 0,
                "r.1: 2, A -1, B 3, C 1\nr.2: 4, A -1, B 2, C 1\nr.3: 2, A -1, B 2\n");
    /* what is used up and what is made of it go together; a firing that changes nothing is none */
    check_steps("  r: {equation: A + 0.3 B -> A + 0.3 C, law: 10 * B}\n", drawn, 0,
                "r: 3, B -1, C 1\n");
    /* 2 A -> B would take two where one may be left */
    check_steps("  r: A -> 0.5 B @ 4\n", drawn, 0, "r.1: 2, A -1, B 1\nr.2: 2, A -1\n");
    check_steps("  r: {equation: 0.3 A <-> 0.4 B, law: 10*A - 20*B}\n", drawn, 0,
                "r.forward.1: 3, A -1, B 1\nr.forward.2: 1, B 1\n"
                "r.backward.1: 6, A 1, B -1\nr.backward.2: 2, B -1\n");
    /* 101 at a tenth of the rate would be ten times the noise */
    check_steps("  r: 0 -> 1.01 B @ 10\n", drawn, 0, "r.1: 0.1, B 2\nr.2: 9.9, B 1\n");
    check_steps("  r: 0 -> 1.01 B @ 100\n", SALTUS_LAW_LITERAL, 1, "r: 1, B 101\n");
    check_steps("  r: {equation: 0.5 A -> 0.5 B, law: 2*A}\n", drawn, 1, "r: 1, A -1, B 1\n");
    /* parts of a species are one part */
    check_steps("  r: {equation: 0.5 A + B + 0.5 A -> 0.4 B, law: 10*A}\n", drawn, 0,
                "r.1: 4, A -1\nr.2: 6, A -1, B -1\n");
    check_steps("  r: {equation: 0.25 A + 2 B + 1.75 A -> A, law: 10*A}\n", SALTUS_LAW_LITERAL, 0,
                "r: 10, A -1, B -2\n");
    /* whole ones as ever */
    check_steps("  r: 2 A -> B @ 4\n", drawn, 0, "r: 2, A -2, B 1\n");
}

/* Of methods that count molecules; the mean field takes parts as they are: B is n (1 - exp(-t)). */
static void others_are_left_to_the_mean_field(void **state)
{
    static const struct {
        const char *equation, *says;
        double n;
    } cases[] = {{"A -> 0.5 B", "stoichiometry 0.5 of 'B' is not a whole number of molecules", 0.5},
                 {"A -> 1.37 B", "stoichiometry 1.37 of 'B' is not a whole number", 1.37}};
    static const char *const methods[] = {"direct", "tau", "hybrid"};
    const double times[] = {0.0, 2.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200], message[200];
        saltus_error err = {0};
        moments found = {0};
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        (void)snprintf(text, sizeof text, "species: {A: 1, B: 0}\nreactions: {r: %s @ 1}\n",
                       cases[i].equation);
        (void)snprintf(message, sizeof message, "model.yaml:2: reaction 'r': %s", cases[i].says);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        run.times = times;
        run.n_times = 2;
        for (int k = 0; k < 3; ++k) {
            plan.method = methods[k];
            err = (saltus_error){0};
            assert_int_equal(run_plan(m, "cpu", &plan, &run, &found, &err), SALTUS_E_UNSUPPORTED);
            assert_int_equal(strncmp(err.message, message, strlen(message)), 0);
            assert_non_null(strstr(err.hint, "`method ode` takes it"));
            moments_free(&found);
        }
        plan.method = "ode";
        found = (moments){0};
        OK(run_plan(m, "cpu", &plan, &run, &found, &err));
        assert_true(fabs(found.sum[3] - cases[i].n * (1.0 - exp(-2.0))) < 1e-5);
        moments_free(&found);
        saltus_model_destroy(m);
    }
    check_not_frozen("species: {A: 1, B: 0}\nreactions: {r: 1.5 A -> B @ 1}\n", SALTUS_E_MODEL,
                     "model.yaml:2: reaction 'r': mass action of 1.5 molecules of 'A'");
}

/* The same by a line of the model; written, and read again. */
static void models_say_what_becomes_of_parts(void **state)
{
    static const char text[] = "stoichiometry: draw\nspecies: {A: 100, B: 0}\n"
                               "reactions: {r: A -> 1.3 B + 0.00001 A @ 1}\n";
    saltus_error err = {0};
    saltus_model *a = freeze_text(text, SALTUS_LAW_LITERAL), *b = NULL;
    (void)state;
    char *yaml = model_to_yaml(a);
    assert_non_null(yaml);
    assert_non_null(strstr(yaml, "stoichiometry: draw\n"));
    b = freeze_text(yaml, SALTUS_LAW_LITERAL);
    const char *difference = model_difference(a, b);
    if (difference) {
        fail_msg("%s\n%s", difference, yaml);
    }
    assert_int_equal(b->network->tables.n_reactions, 3);
    free(yaml);
    saltus_model_destroy(a);
    saltus_model_destroy(b);
    assert_int_equal(saltus_model_parse_yaml("stoichiometry: dice\n", 20, "t", &a, &err),
                     SALTUS_E_SYNTAX);
    assert_string_equal(err.message, "t:1:16: 'stoichiometry' must be draw or refuse, not 'dice'");
}

/* 1000 A that die, each of which leaves 1.3 B and 0.3 C: in the end B - 1000 and C are the same
 * binomial number. By every method: leaps have the mean, too. */
static void means_are_right(void **state)
{
    static const char *const methods[] = {"direct", "tau"};
    const double times[] = {0.0, 40.0};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        moments found = {0};
        saltus_model *m = freeze_text("species: {A: 1000, B: 0, C: 0}\n"
                                      "reactions: {r: A -> 1.3 B + 0.3 C @ 1}\n",
                                      drawn);
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        plan.method = methods[i];
        run.n_trajectories = scaled(20000);
        run.times = times;
        run.n_times = 2;
        OK(run_plan(m, "cpu", &plan, &run, &found, &err));
        const double n = (double)found.n, *sum = found.sum + 3, *squares = found.squares + 3;
        const double mean = sum[2] / n, variance = squares[2] / n - mean * mean;
        assert_true(sum[0] == 0.0 && sum[1] == sum[2] + 1000.0 * n);
        assert_true(fabs(mean - 300.0) < 5.0 * sqrt(210.0 / n));
        assert_true(fabs(variance - 210.0) < 210.0 * 5.0 * sqrt(2.0 / n));
        moments_free(&found);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_whole_when_it_is_scaled_is_scaled),
        cmocka_unit_test(what_is_not_is_drawn),
        cmocka_unit_test(others_are_left_to_the_mean_field),
        cmocka_unit_test(models_say_what_becomes_of_parts),
        cmocka_unit_test(means_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
