/* Tau-leaping as a user asks for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int enter(void **state)
{
    if (enter_with_models(state) != 0) {
        return -1;
    }
    write_file("large.yaml", "species: {A: 100000, B: 0}\n"
                             "reactions: {there: A -> B @ 1, pair: 2 B -> A @ 1e-5}\n");
    write_file("full.yaml", "species: {A: 0}\nreactions: {in: 0 -> A @ 500}\n"
                            "events: {full: {when: A > 400, set: {A: 0}}}\n");
    write_file("burst.yaml", "species: {A: 1000000, B: 0, C: 2, D: 0}\n"
                             "reactions: {there: A -> B @ 1, back: B -> A @ 1,\n"
                             "  flip: \"C -> D @ piecewise(2e6, time < 0.002, 0)*C\",\n"
                             "  flop: \"D -> C @ piecewise(2e6, time < 0.002, 0)*D\"}\n");
    return 0;
}

static void wrong_options_are_one_line(void **state)
{
    static const char *const cases[][2] = {
        {"--epsilon 0", "--epsilon '0': a number above 0 and below 1"},
        {"--epsilon 1", "--epsilon '1'"},
        {"--epsilon -1", "--epsilon '-1'"},
        {"--epsilon x", "--epsilon 'x'"},
        {"--epsilon nan", "--epsilon 'nan'"},
        {"--epsilon ''", "--epsilon ''"},
        {"--nc -1", "--nc '-1'"},
        {"--nc 1.5", "--nc '1.5'"},
        {"--nc 1000001", "--nc '1000001'"},
        {"--exact-steps 0", "--exact-steps '0'"},
        {"--exact-steps many", "--exact-steps 'many'"},
        {"--exact-steps 1000001", "--exact-steps '1000001'"},
        {"--method nonsense", "method 'nonsense': this version has"},
        {"--layout nonsense", "layout 'nonsense'"},
        {"--device cpu --layout global", "layout 'global'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *method = strstr(cases[i][0], "--method") ? "" : "--method tau";
        const outcome o = saltus("run large.yaml --until 1 %s %s -o out.h5", method, cases[i][0]);
        assert_refused(&o, 2, cases[i][1]);
        assert_false(file_exists("out.h5"));
    }
}

/* Where leaps would be a thousand times faster, too: nothing leaps that was not told to. A sweep's
 * point and a run that goes on for longer have the bits of a run. */
static void exact_is_the_default(void **state)
{
    (void)state;
    outcome o = saltus("run large.yaml --until 2 --points 3 --runs 2 --json -o default.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "\"method\": \"direct\""));
    o = saltus("run large.yaml --until 2 --points 3 --runs 2 --method direct -q -o direct.h5");
    assert_done(&o);
    o = saltus("run large.yaml --until 4 --points 5 --runs 2 -q -o longer.h5");
    assert_done(&o);
    o = saltus("sweep large.yaml --vary A=list:100000,50 --until 2 --points 3 --runs 2 --json "
               "-o sweep.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "\"method\": \"direct\""));
    char *expected = exported("direct.h5"), *found = exported("default.h5");
    assert_string_equal(found, expected);
    free(found);
    found = exported("sweep.h5");
    int n_compared = 0;
    for (char *line = strtok(expected, "\n"); line; line = strtok(NULL, "\n")) {
        char row[200];
        (void)snprintf(row, sizeof row, "100000,%s\n", line);
        n_compared += strstr(found, row) != NULL; /* the header has other columns */
    }
    assert_int_equal(n_compared, 6);
    free(found);
    free(expected);
    expected = exported("direct.h5");
    found = exported("longer.h5");
    char *end = NULL;
    n_compared = 0;
    for (char *line = strtok_r(expected, "\n", &end); line; line = strtok_r(NULL, "\n", &end)) {
        n_compared += strstr(found, line) != NULL;
    }
    assert_int_equal(n_compared, 7);
    free(found);
    free(expected);
}

/* It decides on the samples: told even to who wants to hear nothing. */
static void auto_tells_what_it_takes(void **state)
{
    (void)state;
    outcome o = saltus("run large.yaml --until 2 --method auto -q");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "saltus: method auto takes tau: by a pilot");
    o = saltus("run large.yaml --until 1e-9 --method auto -q --json");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "saltus: method auto takes tau");
    assert_non_null(strstr(o.out, "\"method\": \"tau\""));
    o = saltus("sweep large.yaml --vary A=list:100000,5 --until 2 --points 3 --method auto -q "
               "-o sweep.h5");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "saltus: method auto takes tau");
    o = saltus("sweep large.yaml --vary A=list:5,100000 --until 2 --points 3 --method auto --json "
               "-o sweep.h5");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "saltus: method auto takes direct");
    assert_non_null(strstr(o.out, "\"method\": \"direct\""));
}

/* Also where the first 20,000 reactions are a burst of exact steps. */
static void auto_leaps_where_that_is_faster(void **state)
{
    static const char *const cases[][2] = {{"large.yaml --until 2", "method    tau: leaps"},
                                           {"burst.yaml --until 100", "method    tau: leaps"},
                                           {"decay.yaml --until 1", "method    direct: exact"},
                                           {"full.yaml --until 1", "no leaps: events watch"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run %s --method auto --explain -o out.h5", cases[i][0]);
        assert_int_equal(o.code, 0);
        if (!strstr(o.err, cases[i][1])) {
            fail_msg("%s: %s", cases[i][0], o.err);
        }
    }
}

/* A layout that cannot leap is refused; one that can gives the same samples. */
static void layouts_leap_or_are_refused(void **state)
{
    static const char *const layouts[] = {"scalar", "lanes"};
    (void)state;
    outcome o = saltus("run large.yaml --until 2 --points 5 --runs 9 --method tau -q -o a.h5");
    assert_done(&o);
    char *expected = exported("a.h5");
    for (int i = 0; i < 2; ++i) {
        o = saltus("run large.yaml --until 2 --points 5 --runs 9 --method tau --layout %s "
                   "--threads %d -q -o b.h5",
                   layouts[i], i + 1);
        if (o.code != 0 && i == 1) {
            assert_refused(&o, 2, "layout 'lanes'");
            continue;
        }
        assert_done(&o);
        char *found = exported("b.h5");
        assert_string_equal(found, expected);
        free(found);
    }
    free(expected);
}

static void files_and_reports_name_the_method(void **state)
{
    (void)state;
    outcome o = saltus("run large.yaml --until 0.001 --nc 9");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "warning: --nc steers leaps, which are of --method tau alone"));
    o = saltus("run large.yaml --until 0.001 --method auto --nc 9");
    assert_int_equal(o.code, 0);
    assert_null(strstr(o.err, "steers leaps"));
    o = saltus("run large.yaml --until 0.001 --method tau --nc 9");
    assert_done(&o);
    assert_null(strstr(o.err, "warning"));
    o = saltus("run large.yaml --until 2 --runs 9 --method tau --explain --epsilon 0.02 "
               "--nc 7 --exact-steps 5 -o out.h5");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "method    tau: leaps, epsilon 0.02, n_c 7, 5 exact steps"));
    write_file("drift.yaml", "species: {A: 100}\nreactions:\n  a: A -> 0 @ A*(1 + sin(time))\n"
                             "  b: 0 -> A @ 9\n");
    o = saltus("run drift.yaml --until 2 --runs 9 --method tau --explain --epsilon 0.02 -q");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "; 1 of 2 rates drift with time, by 0.16 of themselves in a leap "
                                  "at most, else exact steps"));
    o = saltus("run drift.yaml --until 2 --runs 9 --explain -q");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "; 1 of 2 rates drift with time, each bounded over windows"));
    o = saltus("stats out.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "9 trajectories, tau on"));
    o = saltus("run large.yaml --until 2 --runs 9 --method tau --device cpu --json -q");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"method\": \"tau\""));
    assert_non_null(strstr(o.out, "\"leaps\": "));
    o = saltus("run large.yaml --until 2 --runs 9 --method direct --json -q");
    assert_done(&o);
    assert_non_null(strstr(o.out, "\"method\": \"direct\""));
    assert_null(strstr(o.out, "\"leaps\": "));
}

/* The options of leaps change samples of leaps, and of nothing else. */
static void options_are_followed(void **state)
{
    static const char *const options[] = {"", "--epsilon 0.01", "--nc 40000", "--exact-steps 3"};
    char *text[2][4];
    (void)state;
    for (int tau = 0; tau < 2; ++tau) {
        for (int i = 0; i < 4; ++i) {
            /* starts with leaps, ends with exact steps */
            const outcome o = saltus("run large.yaml --set A=3000 --until 4 --points 5 --method %s "
                                     "%s -q -o out.h5",
                                     tau ? "tau" : "direct", options[i]);
            assert_done(&o);
            text[tau][i] = exported("out.h5");
            for (int k = 0; k < i; ++k) {
                assert_true((strcmp(text[tau][k], text[tau][i]) == 0) == !tau);
            }
        }
    }
    for (int i = 0; i < 8; ++i) {
        free(text[i / 4][i % 4]);
    }
}

static void events_of_the_state_are_warned_about(void **state)
{
    (void)state;
    outcome o = saltus("run full.yaml --until 3 --method tau");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "events watch the state, which a leap passes over");
    o = saltus("run full.yaml --until 3 --method direct");
    assert_done(&o);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(exact_is_the_default),
        TEST(auto_tells_what_it_takes),
        TEST(auto_leaps_where_that_is_faster),
        TEST(wrong_options_are_one_line),
        TEST(layouts_leap_or_are_refused),
        TEST(files_and_reports_name_the_method),
        TEST(options_are_followed),
        TEST(events_of_the_state_are_warned_about),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
