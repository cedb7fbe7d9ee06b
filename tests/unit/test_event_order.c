/* Events of one instant: which comes first, what they set off, and when that has no end. No
 * reactions; samples at 0, 1, 2 … unless a test says otherwise. */
#include "../support/track.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_EVENTS = 4 };

typedef struct race {
    const char *properties[N_EVENTS]; /* NULL: there is no such event */
    const char *also_sets[N_EVENTS];  /* NULL: nothing */
    const char *order;
} race;

/* A model of events a to d, each of which notes its place among those executed in the species of
 * its name. They are due at time 1. */
static track *run_race(const race *r, int64_t trajectory)
{
    const double times[] = {0.0, 0.5, 1.0, 2.0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, "parameters: {j: 0, k: 2}\nspecies: {n: 0, a: 0, b: 0, c: 0, d: 0}\nevents:\n");
    for (int i = 0; i < N_EVENTS; ++i) {
        if (r->properties[i]) {
            fprintf(out, "  e%c: {%s, values_from: assignment, set: {n: n + 1, %c: n + 1%s}}\n",
                    'a' + i, r->properties[i], 'a' + i, r->also_sets[i] ? r->also_sets[i] : "");
        }
    }
    assert_int_equal(fclose(out), 0);
    track *t = track_one(text, trajectory, times, 4);
    EXPECT(t, "n", 0, 0);
    free(text);
    return t;
}

/* "bca": b came first. */
static void order_of(const track *t, char order[N_EVENTS + 1])
{
    memset(order, 0, N_EVENTS + 1);
    for (int i = 0; i < N_EVENTS; ++i) {
        const char name[] = {(char)('a' + i), '\0'};
        const int place = (int)track_value(t, name, 2);
        if (place > 0) {
            order[place - 1] = name[0];
        }
    }
}

static void check_races(const race *races, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        char order[N_EVENTS + 1];
        track *t = run_race(&races[i], 0);
        order_of(t, order);
        assert_string_equal(order, races[i].order);
        track_free(t);
    }
}

static void the_highest_priority_comes_first(void **state)
{
    static const race races[] = {
        {{"at: 1, priority: 1", "at: 1, priority: 3", "at: 1, priority: 2"}, {0}, "bca"},
        {{"at: 1, priority: 3", "at: 1, priority: 2", "at: 1, priority: 1"}, {0}, "abc"},
        {{"at: 1, priority: -1", "at: 1, priority: 0", "at: 1, priority: -0.5"}, {0}, "bca"},
        {{"at: 1, priority: 1e300", "at: 1, priority: inf", "at: 1, priority: -inf"}, {0}, "bac"},
        /* those without one come last, in the order in which they were set off */
        {{"at: 1", "at: 1, priority: -9", "at: 1", "at: 1, priority: 2"}, {0}, "dbac"},
        {{"at: 1", "at: 1", "at: 1", "at: 1"}, {0}, "abcd"},
        {{"at: 1", "at: 0.5, delay: 0.5", "at: 0.25, delay: 0.75", "at: 1"}, {0}, "cbad"},
        /* when they were set off does not matter to those with one */
        {{"at: 1, priority: 2", "at: 0.5, delay: 0.5, priority: 1",
          "at: 0.75, delay: 0.25, priority: 3"},
         {0},
         "cab"},
        {{"when: time >= 1 && n < 9, priority: k", "at: 1, priority: 2*k", "at: 1, priority: time"},
         {0},
         "bac"},
    };
    (void)state;
    check_races(races, sizeof races / sizeof *races);
}

static void priorities_are_computed_anew_before_each(void **state)
{
    static const race races[] = {
        /* a raises c above b; without that b would be second */
        {{"at: 1, priority: 4", "at: 1, priority: 3", "at: 1, priority: k"}, {", k: 10"}, "acb"},
        {{"at: 1, priority: 4", "at: 1, priority: 3", "at: 1, priority: k"}, {", j: 10"}, "abc"},
        /* each turns the order of the others round */
        {{"at: 1, priority: k", "at: 1, priority: 2*k", "at: 1, priority: 3*k",
          "at: 1, priority: 4*k"},
         {", k: -k", ", k: -k", ", k: -k", ", k: -k"},
         "dacb"},
    };
    (void)state;
    check_races(races, sizeof races / sizeof *races);
}

/* The priority at the time of execution counts, not that at the trigger. */
static void priorities_of_delayed_events_are_those_when_due(void **state)
{
    static const char text[] = "parameters: {k: 9}\nspecies: {N: 0}\n"
                               "events:\n"
                               "  a: {at: 1, delay: 2, priority: k, values_from: assignment,\n"
                               "      set: {N: 10*N + 1}}\n"
                               "  b: {at: 3, priority: 5, values_from: assignment,\n"
                               "      set: {N: 10*N + 2}}\n"
                               "  drop: {at: 2, set: {k: %d}}\n";
    char model[400];
    (void)state;
    (void)snprintf(model, sizeof model, text, 1);
    CHECK(model, "N", 0, 0, 0, 21, 21);
    (void)snprintf(model, sizeof model, text, 6);
    CHECK(model, "N", 0, 0, 0, 12, 12);
}

/* Every order of equals is as likely as another, and is the same whenever the trajectory is run. */
static void ties_are_broken_by_draws(void **state)
{
    static const race ties = {{"at: 1, priority: 2", "at: 1, priority: k", "at: 1, priority: 1",
                               "at: 0.5, delay: 0.5, priority: 2"},
                              {0},
                              NULL};
    static const char *const orders[] = {"abdc", "adbc", "badc", "bdac", "dabc", "dbac"};
    enum { N = 1200 };
    int found[6] = {0};
    (void)state;
    for (int i = 0; i < N; ++i) {
        char order[N_EVENTS + 1], again[N_EVENTS + 1];
        track *t = run_race(&ties, i);
        int which = 0;
        order_of(t, order);
        track_free(t);
        while (which < 6 && strcmp(orders[which], order) != 0) {
            ++which;
        }
        assert_true(which < 6);
        ++found[which];
        if (i % 100 == 0) {
            t = run_race(&ties, i);
            order_of(t, again);
            assert_string_equal(order, again);
            track_free(t);
        }
    }
    for (int i = 0; i < 6; ++i) { /* binomial */
        assert_true(fabs(found[i] - N / 6.0) <= 5.0 * sqrt(N / 6.0 * 5.0 / 6.0));
    }
}

/* ---- events that set each other off ---- */

static void events_set_each_other_off_at_once(void **state)
{
    (void)state;
    track *t = track_steps("species: {A: 0, B: 0, C: 0, D: 0}\n"
                           "events:\n"
                           "  third: {when: B == 1, set: {C: C + 1, D: D + A}}\n"
                           "  second: {when: A == 1, delay: 0, set: {B: 1}}\n"
                           "  first: {at: 2, set: {A: 1}}\n",
                           4);
    EXPECT(t, "A", 0, 0, 1, 1);
    EXPECT(t, "B", 0, 0, 1, 1);
    EXPECT(t, "C", 0, 0, 1, 1);
    EXPECT(t, "D", 0, 0, 1, 1);
    track_free(t);
    /* at time 0 as well, before the first sample */
    CHECK("species: {A: 0, B: 0}\n"
          "events:\n"
          "  second: {when: A == 1, set: {B: 1}}\n"
          "  first: {at: 0, set: {A: 1}}\n",
          "B", 1, 1);
    /* from a reaction, through a rule and a clock that the first event moves */
    CHECK("parameters: {start: 100}\nspecies: {A: 10, B: 0, C: 0}\n"
          "rules: {rest: 20 - 2*A}\n"
          "reactions: {die: A -> 0 @ 1e9}\n"
          "events:\n"
          "  first: {when: rest > 13, set: {start: 0, B: A}}\n"
          "  second: {when: time >= start, set: {C: 10*B + A}}\n",
          "C", 0, 33, 33);
}

/* What is set off comes before what waits, if its priority is higher. */
static void what_is_set_off_takes_its_place_among_the_due(void **state)
{
    static const char text[] =
        "species: {N: 0, F: 0}\n"
        "events:\n"
        "  a: {at: 1, priority: 5, values_from: assignment, set: {N: 10*N + 1, F: 1}}\n"
        "  b: {at: 1, priority: 3, values_from: assignment, set: {N: 10*N + 2}}\n"
        "  c: {when: F == 1, %s values_from: assignment, set: {N: 10*N + 3}}\n";
    char model[400];
    (void)state;
    (void)snprintf(model, sizeof model, text, "priority: 4,");
    CHECK(model, "N", 0, 132);
    (void)snprintf(model, sizeof model, text, "priority: 2,");
    CHECK(model, "N", 0, 123);
    (void)snprintf(model, sizeof model, text, "");
    CHECK(model, "N", 0, 123);
}

/* F goes up, down and up again within one instant. */
static void every_rise_within_an_instant_sets_off(void **state)
{
    static const struct {
        const char *properties;
        double expected;
    } cases[] = {
        {"values_from: assignment", 2},                    /* both wait until the end */
        {"values_from: trigger", 1},                       /* both found N = 0 */
        {"values_from: assignment, persistent: false", 1}, /* the first was called off */
        {"values_from: assignment, priority: 9", 2},       /* at once, each time */
        {"values_from: trigger, priority: 9", 2},
        {"priority: 9, persistent: false", 2},
        {"values_from: assignment, priority: 2.5", 2}, /* before F goes down */
        {"priority: 2.5, persistent: false", 2},
        {"priority: 1.5, persistent: false", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "species: {N: 0, F: 0}\n"
                       "events:\n"
                       "  look: {when: F == 1, %s, set: {N: N + 1}}\n"
                       "  up: {at: 1, priority: 3, set: {F: 1}}\n"
                       "  down: {at: 1, priority: 2, set: {F: 0}}\n"
                       "  again: {at: 1, priority: 1, set: {F: 1}}\n",
                       cases[i].properties);
        track *t = track_steps(text, 3);
        track_expect(t, "N", (const double[]){0, cases[i].expected, cases[i].expected}, 3, (int)i);
        track_free(t);
    }
}

/* Two events that set each other off: a thousand times is a computation, for ever is an error. */
static void circles_of_events_must_end(void **state)
{
    static const char text[] = "species: {N: 0, F: 0}\n"
                               "events:\n"
                               "  up: {when: F == 0 && time >= 1, set: {F: 1, N: N + 1}}\n"
                               "  down: {when: F == 1 && N < %s, set: {F: 0}}\n";
    char model[400];
    (void)state;
    (void)snprintf(model, sizeof model, text, "1000");
    CHECK(model, "N", 0, 1000, 1000);
    (void)snprintf(model, sizeof model, text, "inf");
    check_run_fails(model, 2.0, SALTUS_E_NUMERIC,
                    "trajectory 0, time 1: events set each other off without end, 'up' among "
                    "them, at N = 50000, F = 0");
    /* with a delay between them time goes on */
    CHECK("species: {N: 0, F: 0}\n"
          "events:\n"
          "  up: {when: F == 0 && time >= 1, delay: 0.25, set: {F: 1, N: N + 1}}\n"
          "  down: {when: F == 1, delay: 0.25, set: {F: 0}}\n",
          "N", 0, 0, 2, 4, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_priority_comes_first),
        cmocka_unit_test(priorities_are_computed_anew_before_each),
        cmocka_unit_test(priorities_of_delayed_events_are_those_when_due),
        cmocka_unit_test(ties_are_broken_by_draws),
        cmocka_unit_test(events_set_each_other_off_at_once),
        cmocka_unit_test(what_is_set_off_takes_its_place_among_the_due),
        cmocka_unit_test(every_rise_within_an_instant_sets_off),
        cmocka_unit_test(circles_of_events_must_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
