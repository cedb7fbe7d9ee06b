/* What events do at run time, by the rules of SBML Level 3 Version 2, section 4.12, in models where
 * nothing is left to chance: without reactions, or with reactions so fast that they are over at
 * once. Samples are taken at 0, 1, 2 … unless a test says otherwise. */
#include "../support/moments.h"
#include "../support/track.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- when a trigger sets off ---- */

static void conditions_on_time_hold_at_that_very_time(void **state)
{
    static const struct {
        const char *condition;
        double expected[5]; /* at 0, just before 2, at 2, just after 2, at 3 */
    } cases[] = {
        {"at: 2", {0, 0, 1, 1, 1}},
        {"when: time >= 2", {0, 0, 1, 1, 1}},
        {"when: 2 <= time", {0, 0, 1, 1, 1}},
        {"when: not (time < 2)", {0, 0, 1, 1, 1}},
        {"when: 4 - time <= 2", {0, 0, 1, 1, 1}},
        {"when: time > 2", {0, 0, 0, 1, 1}},
        {"when: not (time <= 2)", {0, 0, 0, 1, 1}},
        {"when: time >= 2 && F < 1", {0, 0, 1, 1, 1}},
        {"when: time >= 2 && F > 0", {0, 0, 0, 0, 0}},
        {"when: time < 2", {0, 0, 0, 0, 0}}, /* true before time 0 as well */
        {"{initial: false, when: time < 2", {1, 1, 1, 1, 1}},
        {"at: 0", {1, 1, 1, 1, 1}},
        {"when: time > 0", {0, 1, 1, 1, 1}},
        {"when: time >= 0", {0, 0, 0, 0, 0}},
        {"at: -1", {1, 1, 1, 1, 1}},
        {"at: 2, delay: 1", {0, 0, 0, 0, 1}},
        {"at: 1, delay: 1", {0, 0, 1, 1, 1}},
        {"at: inf", {0, 0, 0, 0, 0}},
        {"at: 2, delay: inf", {0, 0, 0, 0, 0}},
        {"at: two", {0, 0, 1, 1, 1}},
    };
    const double times[] = {0.0, nextafter(2.0, 0.0), 2.0, nextafter(2.0, 3.0), 3.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "parameters: {F: 0, two: 2}\nspecies: {N: 0}\n"
                       "events:\n  e: %s%s, set: {N: N + 1}}\n",
                       cases[i].condition[0] == '{' ? "" : "{", cases[i].condition);
        track *t = track_at(text, times, 5);
        track_expect(t, "N", cases[i].expected, 5, (int)i);
        track_free(t);
    }
}

/* The time of the reaction that makes it true, not a time later: N counts every A that dies. */
static void conditions_on_counts_set_off_at_the_very_reaction(void **state)
{
    (void)state;
    CHECK("species: {A: 10, D: 0, seen: 0, N: 0}\n"
          "reactions: {die: A -> D @ 1e9}\n"
          "events: {e: {when: A < 5, set: {seen: A, N: N + 1}}}\n",
          "seen", 0, 4, 4);
    CHECK("species: {A: 10, D: 0, N: 0}\n"
          "reactions: {die: A -> D @ 1e9}\n"
          "events: {e: {when: A < 5, set: {N: N + 1}}}\n",
          "N", 0, 1, 1); /* it stays true, and does not set off again */
    CHECK("species: {A: 10, N: 0}\n"
          "rules: {half: A/2}\n"
          "reactions: {die: A -> 0 @ 1e9}\n"
          "events: {e: {when: half < 2.1 && half > 1.9, set: {N: N + A}}}\n",
          "N", 0, 4, 4);
    CHECK("species: {A: 10, odd: 0}\n"
          "reactions: {die: A -> 0 @ 1e9}\n"
          "events: {e: {when: \"rem(A, 2) == 1\", set: {odd: odd + 1}}}\n",
          "odd", 0, 5, 5);
}

static void conditions_are_armed_again_when_they_become_false(void **state)
{
    (void)state;
    track *t = track_steps("species: {A: 10, D: 0, N: 0}\n"
                           "reactions: {die: A -> D @ 1e9}\n"
                           "events: {fill: {when: A < 5 && N < 3, set: {A: 10, N: N + 1}}}\n",
                           2);
    EXPECT(t, "N", 0, 3);
    EXPECT(t, "D", 0, 6 + 6 + 6 + 10);
    EXPECT(t, "A", 10, 0);
    track_free(t);
    CHECK("species: {N: 0}\n"
          "events: {e: {when: time >= 1 && time < 2 || time >= 3, set: {N: N + 1}}}\n",
          "N", 0, 1, 1, 2, 2);
}

/* A concentration that is set becomes molecules once all else that happens has its value: a size
 * that the same event sets, or another one at that time, or a rule, or one that is drawn; and after
 * a delay. */
static void concentrations_are_set_for_the_size_that_is(void **state)
{
    (void)state;
    CHECK("compartments: {V: 2}\nspecies: {X: {initial: 4, compartment: V}}\n"
          "events: {e: {at: 1, set: {\"[X]\": 3 + X/V, V: 5}}}\n",
          "X", 4, 25);
    CHECK("compartments: {V: 2}\nspecies: {X: {initial: 4, compartment: V}}\n"
          "events:\n  first: {at: 1, priority: 2, set: {V: 3}}\n"
          "  second: {at: 1, priority: 1, set: {\"[X]\": 10*V}}\n",
          "X", 4, 60); /* 20, by the size of the trigger's time */
    CHECK("parameters: {p: 1}\ncompartments: {V: {}}\nrules: {V: 2*p}\n"
          "species: {X: {initial: 4, compartment: V}}\n"
          "events: {e: {at: 1, set: {p: 3, \"[X]\": 10}}}\n",
          "X", 4, 60);
    CHECK("compartments: {V: 2}\nspecies: {X: {initial: 4, compartment: V}}\n"
          "events:\n  wait: {at: 0.5, delay: 0.4, set: {\"[X]\": 10}}\n"
          "  grow: {at: 0.7, set: {V: 7}}\n",
          "X", 4, 70);
    CHECK("compartments: {V: 1}\nspecies: {X: {initial: 4, compartment: V}, bad: 0}\n"
          "events:\n  e: {at: 0.5, set: {\"[X]\": 1000, V: \"uniform(1, 2)\"}}\n"
          "  f: {at: 0.7, set: {bad: abs(X/V - 1000) > 1}}\n",
          "bad", 0, 0);
}

static void the_value_before_time_0_decides_at_time_0(void **state)
{
    (void)state;
    CHECK("species: {A: 3, N: 0}\n"
          "events: {e: {when: A < 5, initial: false, set: {N: N + 1}}}\n",
          "N", 1, 1);
    CHECK("species: {A: 3, N: 0}\n"
          "events: {e: {when: A < 5, initial: true, set: {N: N + 1}}}\n",
          "N", 0, 0);
    CHECK("species: {A: 3, N: 0}\n"
          "events: {e: {when: A < 5, set: {N: N + 1}}}\n",
          "N", 0, 0);
    /* false at time 0 whatever was before: armed */
    CHECK("species: {A: 6, N: 0}\n"
          "events:\n"
          "  e: {when: A < 5, set: {N: N + 1}}\n"
          "  drop: {at: 2, set: {A: 0}}\n",
          "N", 0, 0, 1, 1);
    CHECK("species: {A: 3, N: 0}\n"
          "events: {e: {when: A < 5, initial: false, delay: 2, set: {N: N + 1}}}\n",
          "N", 0, 0, 1, 1);
    /* true before, true at 0, false at 1, true at 2 */
    CHECK("species: {A: 3, N: 0}\n"
          "events:\n"
          "  e: {when: A < 5, set: {N: N + 1}}\n"
          "  rise: {at: 1, set: {A: 7}}\n"
          "  drop: {at: 2, set: {A: 0}}\n",
          "N", 0, 0, 1, 1);
}

/* A clock whose time depends on the state: an event moves it. */
static void conditions_on_time_and_state_follow_both(void **state)
{
    (void)state;
    CHECK("parameters: {last: 0}\nspecies: {N: 0}\n"
          "events: {e: {when: time - last >= 2, set: {N: N + 1, last: time}}}\n",
          "N", 0, 0, 1, 1, 2, 2, 3);
    CHECK("species: {N: 0, wait: 2}\n"
          "events:\n"
          "  e: {when: time >= wait, set: {N: N + 1}}\n"
          "  put_off: {at: 1, set: {wait: 4}}\n",
          "N", 0, 0, 0, 0, 1, 1);
    CHECK("species: {N: 0, wait: 9}\n"
          "events:\n"
          "  e: {when: time >= wait, set: {N: N + 1}}\n"
          "  hurry: {at: 3, set: {wait: 1}}\n",
          "N", 0, 0, 0, 1, 1);
    /* the reaction that takes A to 2 moves the clock from 10 to 2 */
    CHECK("species: {A: 10, N: 0}\n"
          "reactions: {die: {equation: A -> 0, law: \"1e9*piecewise(A, A > 2, 0)\"}}\n"
          "events: {e: {when: time >= A, set: {N: N + 1}}}\n",
          "N", 0, 0, 1, 1);
}

/* ---- delays ---- */

static void delays_are_computed_when_the_trigger_sets_off(void **state)
{
    (void)state;
    CHECK("species: {N: 0, late: 2}\n"
          "events:\n"
          "  e: {at: 1, delay: late, set: {N: N + 1}}\n"
          "  change: {at: 2, set: {late: 10}}\n",
          "N", 0, 0, 0, 1, 1);
    CHECK("species: {N: 0}\nrules: {twice: 2*time}\n"
          "events: {e: {at: 1, delay: twice + time, set: {N: N + 1}}}\n",
          "N", 0, 0, 0, 0, 1, 1);
    /* of one instant, computed before the other event is executed */
    CHECK("species: {N: 0, late: 2}\n"
          "events:\n"
          "  change: {at: 1, priority: 2, set: {late: 10}}\n"
          "  e: {at: 1, priority: 1, delay: late, set: {N: N + 1}}\n",
          "N", 0, 0, 0, 1, 1);
}

/* Times 1, 3 and 4 set it off, and each is executed 2.5 later. */
static void an_event_may_wait_several_times(void **state)
{
    static const char text[] =
        "species: {N: 0}\n"
        "events:\n"
        "  e:\n"
        "    when: time >= 1 && time < 2 || time >= 3 && time < 3.5 || time >= 4\n"
        "    delay: 2.5\n"
        "    values_from: %s\n"
        "    set: {N: 10*N + time}\n";
    char from[400];
    (void)state;
    (void)snprintf(from, sizeof from, text, "trigger");
    CHECK(from, "N", 0, 0, 0, 0, 1, 1, 3, 14, 14); /* at 4: N was 1 */
    (void)snprintf(from, sizeof from, text, "assignment");
    track *t = track_steps(from, 9); /* 3.5, 5.5, 6.5: 3.5 -> 4, 45.5 -> 46, 466.5 -> 466 */
    EXPECT(t, "N", 0, 0, 0, 0, 4, 4, 46, 466, 466);
    assert_int_equal(t->n_warnings, 1);
    track_free(t);
    /* fifty at once, each with the value that it was set off with */
    CHECK("species: {A: 100, N: 0}\n"
          "reactions: {die: A -> 0 @ 1e9}\n"
          "events:\n"
          "  e: {when: \"rem(A, 2) == 1\", delay: 1, values_from: assignment, set: {N: N + 1}}\n",
          "N", 0, 0, 50);
    CHECK("species: {A: 100, sum: 0}\n"
          "reactions: {die: A -> 0 @ 1e9}\n"
          "events: {e: {when: \"rem(A, 2) == 1\", delay: 1, set: {sum: 1000 + A}}}\n",
          "sum", 0, 0, 1001);
}

static void what_is_not_persistent_is_called_off(void **state)
{
    static const struct {
        const char *when, *persistent;
        double expected[6];
    } cases[] = {
        /* the time makes the condition false */
        {"time >= 1 && time < 2", "true", {0, 0, 0, 0, 1, 1}},
        {"time >= 1 && time < 2", "false", {0, 0, 0, 0, 0, 0}},
        {"time >= 1 && time < 5", "false", {0, 0, 0, 0, 1, 1}},
        /* a reaction does */
        {"A == 3", "true", {0, 0, 0, 0, 1, 1}},
        {"A == 3", "false", {0, 0, 0, 0, 0, 0}},
        {"A <= 3", "false", {0, 0, 0, 0, 1, 1}},
        /* an event does */
        {"time >= 1 && F == 0", "true", {0, 0, 0, 0, 1, 1}},
        {"time >= 1 && F == 0", "false", {0, 0, 0, 0, 0, 0}},
        /* called off at 1.25, set off again at 1.5: only that one is executed */
        {"time >= 1 && time < 1.25 || time >= 1.5", "true", {0, 0, 0, 0, 1, 2}},
        {"time >= 1 && time < 1.25 || time >= 1.5", "false", {0, 0, 0, 0, 0, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "parameters: {k: 0}\nspecies: {A: 10, N: 0, F: 0}\n"
                       "reactions: {die: {equation: A -> 0, law: k*A}}\n"
                       "events:\n"
                       "  start: {at: 1, set: {k: 1e9}}\n"
                       "  other: {at: 2, set: {F: 1}}\n"
                       "  e: {when: \"%s\", delay: 2.75, persistent: %s,\n"
                       "      values_from: assignment, set: {N: N + 1}}\n",
                       cases[i].when, cases[i].persistent);
        track *t = track_steps(text, 6);
        track_expect(t, "N", cases[i].expected, 6, (int)i);
        track_free(t);
    }
}

/* Of two events of one instant the first may make the condition of the second false. */
static void what_is_due_can_be_called_off_by_what_comes_first(void **state)
{
    static const char text[] = "species: {N: 0, F: 0}\n"
                               "events:\n"
                               "  late: {when: time >= 1 && F == 0, priority: 1, persistent: %s,\n"
                               "         set: {N: N + 1}}\n"
                               "  early: {at: 1, priority: %d, set: {F: 1}}\n";
    char model[400];
    (void)state;
    (void)snprintf(model, sizeof model, text, "true", 2);
    CHECK(model, "N", 0, 1);
    (void)snprintf(model, sizeof model, text, "false", 2);
    CHECK(model, "N", 0, 0);
    (void)snprintf(model, sizeof model, text, "false", 0);
    CHECK(model, "N", 0, 1);
}

/* ---- values ---- */

static void values_are_those_of_the_trigger_or_of_the_assignment(void **state)
{
    static const struct {
        const char *from, *value;
        double expected;
    } cases[] = {
        {"trigger", "A", 3},           {"assignment", "A", 8},         {"trigger", "10*time", 10},
        {"assignment", "10*time", 30}, {"trigger", "double", 6},       {"assignment", "double", 16},
        {"trigger", "10*later", 20},   {"assignment", "10*later", 40}, {"trigger", "10*p", 10},
        {"assignment", "10*p", 70},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "parameters: {p: 1}\nspecies: {A: 3, B: 0}\n"
                       "rules: {double: 2*A, later: time + 1}\n"
                       "events:\n"
                       "  e: {at: 1, delay: 2, values_from: %s, set: {B: %s}}\n"
                       "  change: {at: 2, set: {A: 8, p: 7}}\n",
                       cases[i].from, cases[i].value);
        track *t = track_steps(text, 5);
        EXPECT(t, "B", 0, 0, 0, cases[i].expected, cases[i].expected);
        track_free(t);
    }
}

/* Also between events of one instant: the second has been set off before the first was executed. */
static void values_of_the_trigger_are_older_than_the_first_event(void **state)
{
    static const char text[] = "species: {A: 3, B: 0}\n"
                               "events:\n"
                               "  first: {at: 1, priority: 2, set: {A: 5}}\n"
                               "  second: {at: 1, priority: 1, values_from: %s, set: {B: A}}\n";
    char model[400];
    (void)state;
    (void)snprintf(model, sizeof model, text, "trigger");
    CHECK(model, "B", 0, 3);
    (void)snprintf(model, sizeof model, text, "assignment");
    CHECK(model, "B", 0, 5);
}

static void values_are_computed_before_any_is_assigned(void **state)
{
    static const char *const from[] = {"trigger", "assignment"};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "parameters: {p: 7}\nspecies: {A: 1, B: 2, C: 3, D: 0}\n"
                       "rules: {total: A + B + C}\n"
                       "events:\n"
                       "  e: {at: 1, %s, values_from: %s,\n"
                       "      set: {A: B, B: C, C: A, D: total + p, p: D}}\n",
                       i % 2 ? "delay: 0" : "priority: 1", from[i / 2]);
        track *t = track_steps(text, 3);
        EXPECT(t, "A", 1, 2, 2);
        EXPECT(t, "B", 2, 3, 3);
        EXPECT(t, "C", 3, 1, 1);
        EXPECT(t, "D", 0, 13, 13);
        EXPECT(t, "p", 7, 0, 0);
        EXPECT(t, "total", 6, 6, 6);
        track_free(t);
    }
}

/* What an event has changed holds for the reactions that follow, and the wait is drawn anew. */
static void reactions_go_on_from_what_was_assigned(void **state)
{
    (void)state;
    track *t = track_steps("parameters: {k: 0}\nspecies: {A: 10, D: 0}\n"
                           "reactions: {die: {equation: A -> D, law: k*A}}\n"
                           "events:\n"
                           "  go: {at: 2, set: {k: 1e9}}\n"
                           "  more: {at: 4, set: {A: 7}}\n"
                           "  halt: {at: 5, set: {k: 0, A: 3}}\n",
                           7);
    EXPECT(t, "A", 10, 10, 10, 0, 7, 3, 3);
    EXPECT(t, "D", 0, 0, 0, 10, 10, 17, 17);
    track_free(t);
}

static void laws_in_steps_change_at_their_time(void **state)
{
    static const struct {
        const char *law;
        double expected[5]; /* just after 1, at 2, just after 2, at 3, at 4 */
    } cases[] = {
        {"piecewise(1e12, time >= 2, 0)*A", {10, 10, 0, 0, 0}},
        {"piecewise(1e12, time > 2, 0)*A", {10, 10, 0, 0, 0}},
        {"piecewise(0, time < 2, 1e12)*A", {10, 10, 0, 0, 0}},
        {"piecewise(1e12, time < 1, 0)*A", {0, 0, 0, 0, 0}},
        {"piecewise(0, time < 3, 1e12)*A", {10, 10, 10, 10, 0}},
        {"on*1e12*A", {10, 10, 10, 10, 0}},
        {"piecewise(1e12, time >= 2 && time < 2.5 && A > 4, 0)*A", {10, 10, 4, 4, 4}},
    };
    const double times[] = {1.0 + 1e-9, 2.0, 2.0 + 1e-9, 3.0, 4.0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 10}\nrules: {on: \"piecewise(1, time >= 3, 0)\"}\n"
                       "reactions: {die: {equation: A -> 0, law: \"%s\"}}\n",
                       cases[i].law);
        track *t = track_at(text, times, 5);
        track_expect(t, "A", cases[i].expected, 5, (int)i);
        track_free(t);
    }
}

/* ---- values that cannot be ---- */

static void values_that_are_not_whole_are_rounded_and_told(void **state)
{
    static const struct {
        const char *value;
        double expected;
        int n_warnings;
    } cases[] = {{"2.5", 2, 1}, {"3.5", 4, 1}, {"2.4", 2, 1},      {"-0.4", 0, 1},
                 {"A/2", 2, 1}, {"4", 4, 0},   {"0.5 + 0.5", 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "parameters: {p: 0}\nspecies: {A: 5, N: 0}\n"
                       "events: {e: {at: 1, set: {N: %s, p: 2.5}}, f: {at: 2, set: {A: 1}}}\n",
                       cases[i].value);
        track *t = track_steps(text, 3);
        EXPECT(t, "N", 0, cases[i].expected, cases[i].expected);
        EXPECT(t, "p", 0, 2.5, 2.5);
        assert_int_equal(t->n_warnings, cases[i].n_warnings);
        if (t->n_warnings) {
            assert_non_null(strstr(t->warning, "event 'e'"));
            assert_non_null(strstr(t->warning, "'N'"));
        }
        track_free(t);
    }
}

static void values_that_cannot_be_end_the_run(void **state)
{
    static const struct {
        const char *event, *message;
    } cases[] = {
        {"at: 1, set: {A: A - 4}", "time 1: event 'e' sets 'A' to -1 at A = 3, B = 7"},
        {"at: 1, set: {A: 0/0}", "time 1: event 'e' sets 'A' to nan at A = 3, B = 7"},
        {"at: 1, set: {A: abs(0/0)}", "time 1: event 'e' sets 'A' to nan at A = 3, B = 7"},
        {"at: 1, set: {A: 1/0}", "time 1: event 'e' sets 'A' to inf at A = 3, B = 7"},
        {"at: 1, set: {A: 1e19}", "time 1: event 'e' sets 'A' to 1e+19 at A = 3, B = 7"},
        {"at: 1, set: {A: -0.6}", "time 1: event 'e' sets 'A' to -0.6 at A = 3, B = 7"},
        {"at: 1, delay: 1.5, set: {B: 2 - A}",
         "time 2.5: event 'e' sets 'B' to -1 at A = 3, B = 7"},
        {"at: 0, set: {A: -1}", "time 0: event 'e' sets 'A' to -1 at A = 3, B = 7"},
        {"at: 1, delay: A - 5, set: {A: 1}", "time 1: event 'e' has delay -2 at A = 3, B = 7"},
        {"at: 1, delay: abs(0/0), set: {A: 1}", "time 1: event 'e' has delay nan at A = 3, B = 7"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[300], message[300];
        (void)snprintf(text, sizeof text, "species: {A: 3, B: 7}\nevents:\n  e: {%s}\n",
                       cases[i].event);
        (void)snprintf(message, sizeof message, "trajectory 0, %s", cases[i].message);
        check_run_fails(text, 4.0, SALTUS_E_NUMERIC, message);
    }
    /* the sample comes first */
    CHECK("species: {A: 3}\nevents: {e: {when: time > 1, set: {A: -1}}}\n", "A", 3, 3);
}

/* Parameters that events change are recorded where the model says so. */
static void observable_parameters_are_recorded(void **state)
{
    static const char text[] =
        "species: {A: 3}\n"
        "parameters: {k: 1, p: {value: 2, observable: true}, hidden: {observable: false}}\n"
        "rules: {r: 2*p, hidden: A}\n"
        "events: {e: {at: 1, set: {p: 5, k: 2}}}\n";
    saltus_error err = {0};
    saltus_model *m = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    (void)state;
    assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "test", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, backend, NULL, &plan, &err), SALTUS_OK);
    assert_int_equal(saltus_plan_n_counts(plan), 1);
    assert_int_equal(saltus_plan_n_observables(plan), 2);
    assert_string_equal(saltus_plan_observable_name(plan, 0), "p");
    assert_string_equal(saltus_plan_observable_name(plan, 1), "r");
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
}

/* A law that no split could save from becoming negative. */
static void negative_laws_end_the_run(void **state)
{
    (void)state;
    check_run_fails("species: {A: 3, B: 7}\n"
                    "reactions: {r: A -> B @ 2*A - B}\n",
                    1.0, SALTUS_E_NUMERIC,
                    "trajectory 0, time 0: reaction 'r': propensity -1 is negative at A = 3, "
                    "B = 7");
}

/* ---- lanes ---- */

/* Times are the same for all, what the events find is not. */
#define FOR_LANES(c)                                                                    \
    "parameters: {k: 1, p: 2}\n"                                                        \
    "species: {A: 50, B: 0, C: 10, F: 0}\n"                                             \
    "rules: {total: A + B, on: \"piecewise(1, time < 2.5, 0.5)\"}\n"                    \
    "reactions:\n"                                                                      \
    "  a: {equation: A -> B, law: k*A*on}\n"                                            \
    "  b: B -> A @ 0.7\n"                                                               \
    "  c: 0 -> C @ " c "\n"                                                             \
    "  d: C -> 0 @ 0.1*C*piecewise(1, time > 1, 3)\n"                                   \
    "events:\n"                                                                         \
    "  start: {at: 0, set: {A: A + 1}}\n"                                               \
    "  half: {at: 0.75, set: {A: A/2, B: B + A/2}}\n"                                   \
    "  later: {at: 0.5, delay: 0.1 + C/10, values_from: assignment, set: {C: C + B}}\n" \
    "  early: {at: 0.5, delay: C/20, set: {C: 2*C}}\n"                                  \
    "  tie1: {at: 2, priority: p, set: {A: B, F: F + 1}, values_from: assignment}\n"    \
    "  tie2: {at: 2, priority: 2, set: {B: A + F, p: B}, values_from: assignment}\n"    \
    "  tie3: {at: 2, priority: 2, set: {C: C + F, A: A + 1}}\n"                         \
    "  strict: {when: time > 3, set: {k: 1 + total/100}}\n"                             \
    "  forgotten: {when: time >= 1 && time < 1.5, delay: C/15, persistent: false,\n"    \
    "              set: {F: F + 1}}\n"

/* Reactions set these off. */
static const char of_the_state[] =
    "  full: {when: total > 70, set: {A: 0}}\n"
    "  low: {when: C < 4 || B > 30, delay: 0.05, priority: 1, set: {C: C + 9, k: k*1.1}}\n"
    "  off: {when: A > B, persistent: false, delay: C/50, set: {F: F + 1}}\n"
    "  drawn: {when: F == 3, set: {C: \"floor(uniform(1, 9))\", F: 0}}\n"
    "  both: {when: B > 20 && time > 1.2, set: {B: B - 5}}\n";

static void check_lanes(const char *text, const char *more)
{
    static const char *const devices[] = {"cpu:generic", "cpu:avx2", "cpu:avx512"};
    const double times[] = {0.0, 0.5, 0.75, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0};
    char whole[3000];
    uint64_t expected = 0;
    int n_compared = 0;
    (void)snprintf(whole, sizeof whole, "%s%s", text, more);
    for (int i = 0; i < 6; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        moments found = {0};
        saltus_run_options run = saltus_run_options_default();
        run.n_trajectories = 400;
        run.times = times;
        run.n_times = 11;
        if (saltus_model_parse_yaml(whole, strlen(whole), "test", &m, &err) != SALTUS_OK ||
            saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
            fail_msg("%s", err.message);
        }
        const saltus_status status =
            run_model(m, devices[i / 2], i % 2 ? "lanes" : "scalar", 1, &run, &found, &err);
        if (status != SALTUS_E_UNAVAILABLE) {
            if (status != SALTUS_OK) {
                fail_msg("%s", err.message);
            }
            expected = n_compared++ == 0 ? found.hash : expected;
            assert_true(found.n == 400 && found.hash == expected);
        }
        moments_free(&found);
        saltus_model_destroy(m);
    }
    assert_true(n_compared >= 2);
}

static void lanes_and_single_trajectories_agree(void **state)
{
    static const char *const texts[] = {FOR_LANES("5"), FOR_LANES("5*(1 + 0.8*sin(3*time))")};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        check_lanes(texts[i / 2], i % 2 ? of_the_state : "");
    }
}

static saltus_status run_text(const char *text, const char *layout, int64_t first, int64_t n,
                              saltus_error *err)
{
    const double times[] = {1.0};
    saltus_model *m = NULL;
    moments found = {0};
    saltus_run_options run = saltus_run_options_default();
    run.first_trajectory = first;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = 1;
    assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "test", &m, err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err), SALTUS_OK);
    const saltus_status status = run_model(m, "cpu", layout, 1, &run, &found, err);
    moments_free(&found);
    saltus_model_destroy(m);
    return status;
}

/* An event that goes wrong in few trajectories is told as when such a one runs alone. */
static void lanes_and_single_trajectories_fail_alike(void **state)
{
    static const char text[] = "species: {A: 100}\n"
                               "reactions: {die: A -> 0 @ 1}\n"
                               "events: {e: {at: 0.1, set: {A: A - 83}}}\n";
    saltus_error together = {0}, alone = {0};
    long long trajectory = -1;
    (void)state;
    assert_int_equal(run_text(text, "lanes", 0, 4000, &together), SALTUS_E_NUMERIC);
    assert_non_null(strstr(together.message, ", time 0.1: event 'e' sets 'A' to -"));
    assert_int_equal(sscanf(together.message, "trajectory %lld,", &trajectory), 1);
    assert_int_equal(run_text(text, "scalar", trajectory, 1, &alone), SALTUS_E_NUMERIC);
    assert_string_equal(together.message, alone.message);
}

/* Times that follow from the state need one trajectory at a time. */
static void lanes_are_refused_where_times_follow_from_the_state(void **state)
{
    static const char text[] = "species: {A: 10}\n"
                               "reactions: {die: A -> 0 @ 1}\n"
                               "events: {e: {when: time > A/20, set: {A: 9}}}\n";
    saltus_error err = {0};
    (void)state;
    assert_int_equal(run_text(text, "lanes", 0, 1, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "times at which something happens follow from the state"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_on_time_hold_at_that_very_time),
        cmocka_unit_test(conditions_on_counts_set_off_at_the_very_reaction),
        cmocka_unit_test(conditions_are_armed_again_when_they_become_false),
        cmocka_unit_test(concentrations_are_set_for_the_size_that_is),
        cmocka_unit_test(the_value_before_time_0_decides_at_time_0),
        cmocka_unit_test(conditions_on_time_and_state_follow_both),
        cmocka_unit_test(delays_are_computed_when_the_trigger_sets_off),
        cmocka_unit_test(an_event_may_wait_several_times),
        cmocka_unit_test(what_is_not_persistent_is_called_off),
        cmocka_unit_test(what_is_due_can_be_called_off_by_what_comes_first),
        cmocka_unit_test(values_are_those_of_the_trigger_or_of_the_assignment),
        cmocka_unit_test(values_of_the_trigger_are_older_than_the_first_event),
        cmocka_unit_test(values_are_computed_before_any_is_assigned),
        cmocka_unit_test(reactions_go_on_from_what_was_assigned),
        cmocka_unit_test(laws_in_steps_change_at_their_time),
        cmocka_unit_test(values_that_are_not_whole_are_rounded_and_told),
        cmocka_unit_test(values_that_cannot_be_end_the_run),
        cmocka_unit_test(observable_parameters_are_recorded),
        cmocka_unit_test(negative_laws_end_the_run),
        cmocka_unit_test(lanes_and_single_trajectories_agree),
        cmocka_unit_test(lanes_and_single_trajectories_fail_alike),
        cmocka_unit_test(lanes_are_refused_where_times_follow_from_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
