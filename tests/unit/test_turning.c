/* Triggers that compare what drifts with time: when they turn, what they follow, that nothing else
 * moves them, what is refused. */
#include "../support/bits.h"
#include "../support/track.h"
#include "frozen.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* The last value of a column of a run to a time. */
static double at_end(const char *text, const char *name, double until)
{
    track *t = track_at(text, &until, 1);
    const double value = track_value(t, name, 0);
    track_free(t);
    return value;
}

/* ---- when they turn ---- */

/* `last` is the time of the last turn to true before the run ends, within rounding of the
 * comparison. */
static void turns_are_found_to_rounding(void **state)
{
    static const struct {
        const char *condition;
        double until, last, within;
    } cases[] = {
        {"sin(2*time) > 0.5", 3.0, 3.14159265358979323846 / 12, 2e-16},
        {"0.5 < sin(2*time)", 20.0, 3.14159265358979323846 * 73 / 12, 1e-14},
        {"time^2 - 2 >= 0", 9.0, 1.4142135623730951, 4e-16},
        {"time > 7 - time/2", 9.0, 4.666666666666667, 2e-15},
        {"exp(-time) <= 0.001", 9.0, 6.907755278982137, 2e-15},
        {"ln(time - 5) >= 0", 9.0, 6.0, 2e-15},
        {"1/(time - 3) > 0.5", 9.0, 3.0, 0.0}, /* and false from 5 on */
        {"floor(time/3) > 1", 9.0, 6.0, 0.0},
        {"rem(time, 2.5) < 1", 9.0, 7.5, 0.0},
        {"max(time, 5) > 6", 9.0, 6.0, 1e-15},
        {"linear(time, 0, 0, 4, 8, 9, 8) >= 4", 8.0, 2.0, 0.0},
        {"held(time, 0, 0, 4, 8, 9, 8) >= 4", 8.0, 4.0, 0.0},
        {"spline(time, 0, 0, 4, 8, 9, 8) >= 8", 8.0, 4.0, 1e-7}, /* where it touches 8 */
        {"wave > 1.5 && time > 6", 9.0, 2 * 3.14159265358979323846 + 0.5235987755982989, 4e-15},
        {"not (wave > 0.5)", 9.0, 3.14159265358979323846 + 0.5235987755982989, 4e-15},
        {"wave >= 2 || time < 1", 9.0, 2.5 * 3.14159265358979323846, 3e-8}, /* sin(x) is 1 near */
        {"piecewise(wave > 1.5, time < 2, wave < 0.5)", 9.0, 3.665191429188092, 3e-15},
        /* whether truths are the same */
        {"(sin(2*time) > 0.5) == (A > 2)", 3.0, 3.14159265358979323846 / 12, 2e-16},
        {"(A > 4*sin(time)) == (A > 2)", 3.0, 2.293530574608312, 1e-12},
        {"(wave > 1.5) != (time < 2)", 9.0, 2 * 3.14159265358979323846 + 0.5235987755982989, 4e-15},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {A: 3}\nparameters: {last: -1}\nrules: {wave: 1 + sin(time)}\n"
                       "reactions: {r: A -> A @ 1}\n"
                       "events: {e: {when: \"%s\", set: {last: time}}}\n",
                       cases[i].condition);
        const double last = at_end(text, "last", cases[i].until);
        if (!(fabs(last - cases[i].last) <= cases[i].within)) {
            fail_msg("%s: %.17g, not %.17g", cases[i].condition, last, cases[i].last);
        }
    }
}

/* How often a condition comes true from 0 on; pulses may be short and far apart, also of steps that
 * an integrator takes beside them. */
static void no_turn_is_missed(void **state)
{
    static const struct {
        const char *condition;
        double until, n;
    } cases[] = {
        {"sin(time) > 0.5", 1000.0, 160},
        {"sin(time) > 0.9999999", 1000.0, 159},
        {"sin(1000*time) > 0", 10.0, 1592},
        {"cos(time/1000) < -0.999999", 1e5, 16},
        {"sin(time) > 2", 1e6, 0},
        {"exp(-(time - 777.7)^2*1e6) > 0.5", 1e4, 1},
        {"rem(time, 24) < 12", 240.5, 10},
        {"rem(time, 24) < 0.01", 1000.0, 41},
        {"rem(time*time, 100) < 0.5", 99.9, 99},
        {"floor((1 + sin(time/3))/1.99) >= 1", 100.0, 6},
        {"abs(time - 50) < 1e-6", 100.0, 1},
        {"sin(time)*sin(1.3*time) > 0.9", 100.0, 6},
        {"sin(time) >= 1", 31.0, 5},
        /* true at moments alone; at 0 it was true before */
        {"rem(time, 24) == 0", 240.5, 10},
        {"rem(time, 0.1) == 0", 100.05, 1000},
        {"0 == time - 0.7*floor(time/0.7)", 100.0, 142},
        {"time/0.7 == floor(time/0.7)", 100.0, 142},
        {"time - 0.7*ceil(time/0.7) == 0 and time > 50", 100.0, 71},
        {"ceil(time/4) - time/4 == 0 and N < 3", 100.0, 3},
        {"rem(time - 7, 28) == 0", 100.0, 4},
        {"rem(2*time, 6) == 1.5", 100.0, 34},
        {"rem(time - 50, 5) == 1", 100.0, 10}, /* before 50 it is negative */
        {"piecewise(time - 24*ceil(time/24), xor(time < 0, 24 < 0), time - 24*floor(time/24)) == "
         "23",
         100.0, 4},
    };
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); ++i) {
        const char *condition = cases[i / 2].condition;
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {N: 0}\nparameters: {y: 1}\n%s"
                       "events: {e: {when: \"%s\", set: {N: N + 1}}}\n",
                       i % 2 ? "rate rules: {y: 0.01}\n" : "", condition);
        const double n = at_end(text, "N", cases[i / 2].until);
        if (n != cases[i / 2].n) {
            fail_msg("%s%s: %g times, not %g", condition, i % 2 ? ", beside a rate rule" : "", n,
                     cases[i / 2].n);
        }
    }
}

/* ---- what they follow ---- */

/* Another frequency from 5 on, which an event sets: sin(2 t) then turns at 13 pi / 12 / … */
static void what_events_set_moves_the_turns(void **state)
{
    static const char text[] = "species: {N: 0}\nparameters: {w: 0.1, last: -1}\n"
                               "events:\n"
                               "  faster: {at: 5, set: {w: 2}}\n"
                               "  e: {when: sin(w*time) > 0.5, set: {N: N + 1, last: time}}\n";
    (void)state;
    assert_true(at_end(text, "N", 5.0) == 0.0);
    assert_true(at_end(text, "N", 7.0) == 1.0);
    assert_true(fabs(at_end(text, "last", 7.0) - (2.0 * pi + pi / 12.0)) < 4e-15);
}

/* A rule that nothing but the comparison reads, and that an event moves from 0.5 to 0.25 at 5. */
static void rules_are_read(void **state)
{
    static const char text[] = "species: {N: 0}\nparameters: {a: 1, last: -1}\n"
                               "rules: {least: a/2}\nevents:\n"
                               "  less: {at: 5, set: {a: 0.5}}\n"
                               "  e: {when: sin(time) > least, set: {N: N + 1, last: time}}\n";
    (void)state;
    assert_true(fabs(at_end(text, "last", 5.0) - pi / 6.0) < 1e-15);
    assert_true(fabs(at_end(text, "last", 9.0) - (2.0 * pi + asin(0.25))) < 4e-15);
    assert_true(at_end(text, "N", 9.0) == 2.0);
}

/* sin(t) > 0.5 holds for 2.09 from 0.52 on. */
static void what_is_not_persistent_is_forgotten(void **state)
{
    char text[300];
    (void)state;
    for (int k = 0; k < 2; ++k) {
        (void)snprintf(text, sizeof text,
                       "species: {N: 0}\nevents: {e: {when: sin(time) > 0.5, delay: %g, set: {N: N "
                       "+ 1}, persistent: false}}\n",
                       k == 0 ? 2.0 : 2.2);
        CHECK(text, "N", 0, 0, 0, 1 - k, 1 - k, 1 - k);
    }
    CHECK(
        "species: {N: 0}\nevents: {e: {when: cos(time) > 0.5, initial: false, set: {N: N + 1}}}\n",
        "N", 1, 1, 1, 1, 1, 1, 2);
    CHECK("species: {N: 0}\nevents: {e: {when: cos(time) > 0.5, set: {N: N + 1}}}\n", "N", 0, 0, 0,
          0, 0, 0, 1);
}

/* By leaps, and in the mean field: events come at the same times. */
static void all_methods_have_the_turns(void **state)
{
    static const char text[] =
        "species: {X: 500, N: 0}\nparameters: {last: 0}\n"
        "reactions: {make: 0 -> X @ 100, lose: X -> 0 @ 0.3}\n"
        "events: {e: {when: sin(time) > 0.5, set: {N: N + 1, last: time}}}\n";
    static const char *const methods[] = {"direct", "tau", "ode"};
    const double until = 30.0;
    double last[3];
    (void)state;
    for (int k = 0; k < 3; ++k) {
        saltus_model *m = bits_parse(text);
        saltus_error err = {0};
        moments found = {0};
        saltus_run_options run = saltus_run_options_default();
        saltus_plan_options plan = bits_plan(methods[k], "philox", "auto", 1);
        plan.columns = "N,last";
        run.n_trajectories = 3;
        run.times = &until;
        run.n_times = 1;
        OK(run_plan(m, "cpu", &plan, &run, &found, &err));
        assert_true(found.sum[0] == 15.0);
        last[k] = found.sum[1];
        assert_true(last[k] == last[0]);
        moments_free(&found);
        saltus_model_destroy(m);
    }
    assert_true(fabs(last[0] / 3.0 - (8.0 * pi + pi / 6.0)) < 1e-14);
}

/* Beside a rate rule too, where steps are taken: of what drifts with time alone, and of what the
 * rule moves as well, whose jumps and pulses end steps. */
static void all_methods_have_them_beside_rate_rules(void **state)
{
    static const struct {
        const char *condition;
        double until, n;
    } cases[] = {{"rem(time, 24) < 0.01", 1000.0, 41},
                 {"floor((1 + sin(time/3))/1.99) >= 1", 100.0, 6},
                 {"rem(time, 24) < 0.01 + 0*y", 1000.0, 41},
                 {"floor((1 + sin(time/3))/1.99) >= 1 + 0*y", 100.0, 6}};
    static const char *const methods[] = {"direct", "ode", "hybrid"};
    (void)state;
    for (size_t i = 0; i < 3 * (sizeof cases / sizeof *cases); ++i) {
        char text[300];
        saltus_error err = {0};
        moments found = {0};
        saltus_run_options run = saltus_run_options_default();
        saltus_plan_options plan = bits_plan(methods[i % 3], "philox", "auto", 1);
        (void)snprintf(text, sizeof text,
                       "parameters: {y: 1, N: 0}\nrate rules: {y: 0.01}\n"
                       "events: {e: {when: \"%s\", set: {N: N + 1}}}\n",
                       cases[i / 3].condition);
        saltus_model *m = bits_parse(text);
        plan.columns = "N";
        run.n_trajectories = 1;
        run.times = &cases[i / 3].until;
        run.n_times = 1;
        OK(run_plan(m, "cpu", &plan, &run, &found, &err));
        if (found.sum[0] != cases[i / 3].n) {
            fail_msg("%s, %s: %g times, not %g", cases[i / 3].condition, methods[i % 3],
                     found.sum[0], cases[i / 3].n);
        }
        moments_free(&found);
        saltus_model_destroy(m);
    }
}

/* ---- bits ---- */

static const char turning[] = "species: {X: 50, Y: 0}\nparameters: {k: 5, last: 0}\n"
                              "rules: {wave: 1 + sin(3*time)}\n"
                              "reactions:\n  a: 0 -> X @ k\n  b: X -> Y @ 0.2\n  c: Y -> 0 @ 0.1\n"
                              "events:\n"
                              "  up: {when: wave > 1.8, set: {k: k + Y/10, last: time}}\n"
                              "  beat: {when: \"rem(time, 0.7) == 0\", set: {X: X + 1}}\n"
                              "  down: {when: wave*k < 2, delay: 0.3, set: {k: k/2, X: X + 3}}\n";

/* With rate rules, and by every method: ten from 0 to 7, and what else happens ends none. */
static void moments_are_those_of_every_method(void **state)
{
    static const char *const methods[] = {"direct", "tau", "hybrid"},
                             *const rates[] = {"", "rate rules: {y: 1 - y}\n"};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof methods / sizeof *methods; ++k) {
        char text[400];
        const double end = 7.1;
        const saltus_plan_options plan = bits_plan(methods[k / 2], "philox", "auto", 1);
        if (k % 2 == 1 && strcmp(plan.method, "tau") == 0) {
            continue;
        }
        (void)snprintf(
            text, sizeof text,
            "species: {A: 20, N: 0}\nparameters: {y: 0}\n%sreactions: {r: A -> A @ 5}\n"
            "events: {e: {when: \"time - 0.7*floor(time/0.7) == 0\", set: {N: N + 1}}}\n",
            rates[k % 2]);
        saltus_model *m = bits_parse(text);
        saltus_error err = {0};
        moments sums = {.keep_last = true};
        saltus_run_options run = saltus_run_options_default();
        run.times = &end;
        run.n_times = 1;
        OK(run_plan(m, "cpu", &plan, &run, &sums, &err));
        assert_int_equal(sums.last[1], 10);
        moments_free(&sums);
        saltus_model_destroy(m);
    }
}

static void layouts_and_what_is_recorded_change_no_bit(void **state)
{
    double times[41];
    saltus_model *m = bits_parse(turning);
    const double end = 10.0;
    (void)state;
    for (int i = 0; i < 41; ++i) {
        times[i] = 0.25 * i;
    }
    const uint64_t many = bits_hash(m, "cpu:generic", "scalar", 1, 3, 100, times, 41);
    const uint64_t one = bits_hash(m, "cpu:generic", "scalar", 1, 3, 100, &end, 1);
    for (int d = 0; d < N_BITS_DEVICES; ++d) {
        if (bits_has(bits_devices[d])) {
            assert_int_equal(bits_hash(m, bits_devices[d], "lanes", 2, 3, 100, times, 41), many);
            assert_int_equal(bits_hash(m, bits_devices[d], "lanes", 2, 3, 100, &end, 1), one);
        }
    }
    for (int64_t i = 0; i < 20; ++i) {
        track *all = track_one(turning, i, times, 32), *last = track_one(turning, i, times + 31, 1);
        static const char *const names[] = {"X", "Y", "k", "last"};
        for (int k = 0; k < 4; ++k) {
            assert_true(track_value(all, names[k], 31) == track_value(last, names[k], 0));
        }
        track_free(all);
        track_free(last);
    }
    saltus_model_destroy(m);
}

/* ---- what is no turn of the time alone ---- */

static void check_followed(const char *trigger)
{
    char text[300];
    (void)snprintf(text, sizeof text,
                   "species: {A: 3}\nrules: {u: A*sin(time)}\nreactions: {r: A -> 0 @ 1}\n"
                   "events: {e: {when: \"%s\", set: {A: 5}}}\n",
                   trigger);
    saltus_model *m = bits_parse(text);
    assert_int_equal(m->network->tables.n_turning, 0);
    assert_true(m->network->follows_triggers);
    saltus_model_destroy(m);
}

static void what_counts_move_is_followed(void **state)
{
    (void)state;
    check_followed("A*sin(time) > 2");
    check_followed("sin(time) > A");
    check_followed("u > 1");
}

/* A CPU alone searches. */
static void gpus_refuse(void **state)
{
    saltus_error err = {0};
    saltus_backend *b = NULL;
    saltus_plan *plan = NULL;
    (void)state;
    if (saltus_backend_open("cuda", &b, &err) != SALTUS_OK) {
        print_message("SKIP: %s\n", err.message);
        skip();
    }
    saltus_model *m = bits_parse(turning);
    err = (saltus_error){0};
    assert_int_equal(saltus_plan_create(m, b, NULL, &plan, &err), SALTUS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "a CPU alone searches for"));
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_found_to_rounding),
        cmocka_unit_test(no_turn_is_missed),
        cmocka_unit_test(what_events_set_moves_the_turns),
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(what_is_not_persistent_is_forgotten),
        cmocka_unit_test(all_methods_have_the_turns),
        cmocka_unit_test(all_methods_have_them_beside_rate_rules),
        cmocka_unit_test(moments_are_those_of_every_method),
        cmocka_unit_test(layouts_and_what_is_recorded_change_no_bit),
        cmocka_unit_test(what_counts_move_is_followed),
        cmocka_unit_test(gpus_refuse),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
