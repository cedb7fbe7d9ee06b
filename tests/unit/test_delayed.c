/* Reactions that take a while: exact means and variances, what they change when, what is refused,
 * what ends a run. */
#include "../support/moments.h"
#include "../support/track.h"
#include "frozen.h"
#include "../support/same_model.h"

#include <math.h>
#include <stdlib.h>

static void run_text(const char *text, const double *times, int n_times, int64_t n, moments *found)
{
    saltus_error err = {0};
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_times;
    OK(run_model(m, "cpu", "auto", 0, &run, found, &err));
    saltus_model_destroy(m);
}

static void check_poisson(const moments *m, int point, int column, double mean)
{
    const int k = point * (int)(m->n_counts + m->n_observables) + column;
    const double n = (double)m->n, got = m->sum[k] / n, variance = m->squares[k] / n - got * got;
    if (!(fabs(got - mean) <= 5.0 * sqrt(mean / n) &&
          fabs(variance - mean) <= 5.0 * sqrt(mean * (1.0 + 2.0 * mean) / n))) {
        fail_msg("point %d, column %d: mean %g, variance %g instead of %g", point, column, got,
                 variance, mean);
    }
}

/* ---- when what changes ---- */

/* The reaction begins within nanoseconds. */
static void products_come_at_the_end(void **state)
{
    (void)state;
    track *t = track_steps("species: {A: 2, B: 0, N: 0}\n"
                           "reactions: {r: {equation: A -> B, rate: 1e9, delay: 1.5}}\n"
                           "events: {e: {when: B > 1, set: {N: 7}}}\n",
                           4);
    EXPECT(t, "A", 2, 0, 0, 0);
    EXPECT(t, "B", 0, 0, 2, 2);
    EXPECT(t, "N", 0, 0, 7, 7);
    track_free(t);
    CHECK("species: {A: 2, B: 0}\nreactions: {r: {equation: A -> B, rate: 1e9, delay: inf}}\n", "B",
          0, 0, 0);
    CHECK("species: {A: 2, B: 0}\nreactions: {r: {equation: A -> B, rate: 1e9, delay: 0}}\n", "B",
          0, 2, 2);
    /* what stands on both sides is there all the time */
    t = track_steps("species: {A: 2, B: 0, C: 1}\n"
                    "reactions: {r: {equation: A + C -> C + B, law: 1e9*A*C, delay: 1.5}}\n",
                    3);
    EXPECT(t, "C", 1, 1, 1);
    EXPECT(t, "A", 2, 0, 0);
    EXPECT(t, "B", 0, 0, 2);
    track_free(t);
    /* a delay is that of its beginning: here 3, then 2 */
    CHECK("species: {A: 2, B: 0}\nreactions: {r: {equation: A -> B, rate: 1e9, delay: A + 0.5}}\n",
          "B", 0, 0, 1, 2, 2);
}

/* What is consumed at the end is there until then. */
static void reactants_may_go_at_the_end(void **state)
{
    const double times[] = {0.5, 1.5, 2.5}, rate = 0.05, start = 1000.0;
    moments found = {0};
    (void)state;
    run_text("species: {A: 1000, B: 0}\n"
             "reactions: {r: {equation: A -> B, rate: 0.05, delay: 1, consume: end}}\n",
             times, 3, scaled(40000), &found);
    /* dA/dt = -rate A(t - 1), step by step; B is what has ended */
    const double u = 1.5 - 1.0;
    const double b[] = {0.0, start * rate * 0.5, start * rate * (1.0 + u - 0.5 * rate * u * u)};
    for (int i = 0; i < 3; ++i) {
        const double n = (double)found.n, ended = found.sum[2 * i + 1] / n;
        assert_true(found.sum[2 * i] == n * start - found.sum[2 * i + 1]);
        assert_true(fabs(ended - b[i]) <= 5.0 * sqrt(b[i] / n));
    }
    moments_free(&found);
}

/* ---- moments ---- */

/* Immigration, and death that takes a while: those that are alive, the dying among them, and those
 * that have died are as in a queue with as many servers as wanted, so both are Poisson. */
static void delayed_deaths_have_exact_moments(void **state)
{
    const double k = 30.0, g = 0.8, tau = 1.5, times[] = {1.0, 3.0, 6.0};
    moments found = {0};
    (void)state;
    run_text("species: {X: 0, Made: 0, Dead: 0}\n"
             "reactions:\n"
             "  make: 0 -> X + Made @ 30\n"
             "  die: {equation: X -> Dead, rate: 0.8, delay: 1.5}\n"
             "rules: {alive: Made - Dead}\n",
             times, 3, scaled(100000), &found);
    for (int i = 0; i < 3; ++i) {
        const double s = fmax(times[i] - tau, 0.0);
        const double dead = k * (s - (1.0 - exp(-g * s)) / g);
        check_poisson(&found, i, 0, k / g * (1.0 - exp(-g * times[i])));
        check_poisson(&found, i, 2, dead);
        check_poisson(&found, i, 3, k * times[i] - dead);
    }
    moments_free(&found);
}

/* A delay that is drawn: in the steady state those under way are as many as begin in its mean. */
static void drawn_delays_have_exact_moments(void **state)
{
    const double times[] = {60.0};
    moments found = {0};
    (void)state;
    run_text("species: {Begun: 0, Ended: 0}\n"
             "reactions:\n"
             "  r: {equation: 0 -> Ended, rate: 20, delay: 'gamma(3, 0.5)'}\n"
             "  s: {equation: Ended -> 0, rate: 2, delay: 'uniform(0, 3)'}\n"
             "rules: {all: Ended}\n",
             times, 1, scaled(40000), &found);
    check_poisson(&found, 0, 1, 20.0 / 2.0);
    moments_free(&found);
}

/* A law that drifts: what has begun by t - 1.5 has ended by t. */
static void drifting_laws_begin_what_takes_a_while(void **state)
{
    const double times[] = {1.0, 4.0, 9.0};
    moments found = {0};
    (void)state;
    run_text("species: {Ended: 0}\n"
             "reactions: {r: {equation: 0 -> Ended, law: 20*(1 + sin(time)), delay: 1.5}}\n",
             times, 3, scaled(40000), &found);
    for (int i = 0; i < 3; ++i) {
        const double s = fmax(times[i] - 1.5, 0.0);
        check_poisson(&found, i, 0, 20.0 * (s + 1.0 - cos(s)));
    }
    moments_free(&found);
}

/* ---- bits ---- */

static const char mixed[] =
    "species: {A: 40, B: 0, C: 0}\n"
    "reactions:\n"
    "  there: {equation: A -> B, rate: 1, delay: 'exponential(1)'}\n"
    "  back: B -> A @ 0.5\n"
    "  slow: {equation: A + B -> C, rate: 0.01, delay: 0.3}\n"
    "  drift: {equation: 0 -> B, law: 2 + sin(time), delay: 'gamma(2, 0.4)'}\n"
    "events: {e: {when: C > 3, delay: 0.2, set: {C: 0}}}\n";

/* A sample is where it is, whatever the others are. */
/* A delay may come from a rule of the time: here all ends are at time 10. */
static void delays_follow_rules_of_the_time(void **state)
{
    static const double times[] = {9.999, 10.001};
    moments m = {0};
    (void)state;
    run_text("species: {A: 0}\nrules: {rest: 'max(0, 10 - time)'}\n"
             "reactions: {r: {equation: 0 -> A, rate: 5, delay: rest}}\n",
             times, 2, 2000, &m);
    assert_true(m.sum[0] == 0.0);
    check_poisson(&m, 1, 0, 50.005);
    moments_free(&m);
}

static void sample_times_change_nothing(void **state)
{
    const double few[] = {2.0, 9.0}, many[] = {0.0, 0.7, 1.1, 2.0, 2.5, 3.0, 5.5, 7.0, 9.0};
    (void)state;
    for (int64_t i = 0; i < 10; ++i) {
        track *a = track_one(mixed, i, few, 2), *b = track_one(mixed, i, many, 9);
        for (int k = 0; k < 3; ++k) {
            const char name[2] = {(char)('A' + k), '\0'};
            assert_true(track_value(a, name, 0) == track_value(b, name, 3));
            assert_true(track_value(a, name, 1) == track_value(b, name, 8));
        }
        track_free(a);
        track_free(b);
    }
}

static void models_are_written_as_they_are(void **state)
{
    (void)state;
    saltus_model *a = parse_text("time: s\nspecies: {A: 1, B: 0}\nreactions:\n"
                                 "  r: {equation: A -> B, rate: 2, delay: 3 min}\n"
                                 "  s: {equation: A -> B, law: 2, delay: 'uniform(1, 2)', consume: "
                                 "end}\n");
    char *text = model_to_yaml(a);
    assert_non_null(text);
    saltus_model *b = parse_text(text);
    const char *difference = model_difference(a, b);
    if (difference) {
        fail_msg("%s\n%s", difference, text);
    }
    assert_true(saltus_reaction_delay(a, &a->reactions[0])->value == 180.0 &&
                !a->reactions[0].consumes_late);
    assert_true(b->reactions[1].consumes_late);
    free(text);
    saltus_model_destroy(a);
    saltus_model_destroy(b);
}

/* ---- what cannot be ---- */

static void failure_of(const char *text, const char *wanted)
{
    const double times[] = {9.0};
    saltus_error err = {0};
    moments found = {0};
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = 1;
    run.times = times;
    run.n_times = 1;
    assert_int_equal(run_model(m, "cpu", "auto", 1, &run, &found, &err), SALTUS_E_NUMERIC);
    if (!strstr(err.message, wanted)) {
        fail_msg("%s\nwanted: %s", err.message, wanted);
    }
    moments_free(&found);
    saltus_model_destroy(m);
}

static void failures_name_the_reaction(void **state)
{
    (void)state;
    failure_of("species: {A: 1, B: 4}\n"
               "reactions: {r: {equation: A -> B, rate: 1, delay: B - 5}}\n",
               ": reaction 'r' has delay -1 at A = 1, B = 4");
    failure_of(
        "species: {A: 1, B: 4}\n"
        "reactions: {r: {equation: A -> B, rate: 1, delay: 'normal(0, B - 6)'}}\n",
        ": reaction 'r' takes a while: the standard deviation of normal cannot be -2 at A = 1, "
        "B = 4");
    failure_of("species: {A: 1, B: 4}\n"
               "reactions: {r: {equation: A -> B, rate: 1, delay: 0/0}}\n",
               ": reaction 'r' has delay nan at A = 1, B = 4");
    /* it begins often while the one A is still there */
    failure_of("species: {A: 1, B: 0}\n"
               "reactions: {r: {equation: A -> B, rate: 5, delay: 2, consume: end}}\n",
               ": reaction 'r' ends with too few reactants: A = 0, B = 1");
}

static saltus_status plan_with(const char *text, const char *device, const char *layout,
                               const char *method, saltus_error *err)
{
    const double times[] = {1.0};
    moments found = {0};
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_plan_options plan = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    plan.layout = layout;
    plan.method = method;
    run.n_trajectories = 3;
    run.times = times;
    run.n_times = 1;
    const saltus_status status = run_plan(m, device, &plan, &run, &found, err);
    moments_free(&found);
    saltus_model_destroy(m);
    return status;
}

static void what_has_no_queue_is_refused(void **state)
{
    saltus_error leaps = {0}, lanes = {0}, gpu = {0}, any = {0};
    (void)state;
    assert_int_equal(plan_with(mixed, "cpu", "auto", "tau", &leaps), SALTUS_E_UNSUPPORTED);
    assert_string_equal(leaps.message, "reaction 'there' takes a while, and leaps do not know when "
                                       "it begins; the methods 'direct' and 'hybrid' do");
    assert_int_equal(plan_with(mixed, "cpu", "lanes", "direct", &lanes), SALTUS_E_INVALID);
    assert_string_equal(lanes.message, "layout 'lanes' does not fit: reactions take a while");
    const saltus_status status = plan_with(mixed, "cuda", "auto", "direct", &gpu);
    if (status != SALTUS_E_UNAVAILABLE) {
        assert_int_equal(status, SALTUS_E_UNSUPPORTED);
        assert_string_equal(gpu.message, "reactions that take a while wait in a queue, which a GPU "
                                         "does not have");
    }
    assert_true(status != SALTUS_E_UNAVAILABLE || !getenv("DRAWN_NEEDS_GPU"));
    assert_int_equal(plan_with(mixed, "cpu", "auto", "auto", &any), SALTUS_OK);
}

static void mistakes_are_refused(void **state)
{
    static const struct {
        const char *reaction, *message;
    } cases[] = {
        {"{equation: A -> B, rate: 1, consume: end}", "reaction 'r': 'consume' needs a 'delay'"},
        {"{equation: A -> B, rate: 1, delay: 1, consume: late}",
         "reaction 'r': 'consume' must be start or end, not 'late'"},
        {"{equation: A <-> B, rate: '1, 2', delay: 1}",
         "reaction 'r': what takes a while goes one way, with the arrow '->'"},
        {"{equation: A -> B, law: A - B, reversible: true, delay: 1}",
         "reaction 'r': what takes a while goes one way, with the arrow '->'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200];
        saltus_error err = {0};
        saltus_model *m = NULL;
        (void)snprintf(text, sizeof text, "species: {A: 1, B: 0}\nreactions:\n  r: %s\n",
                       cases[i].reaction);
        assert_true(saltus_model_parse_yaml(text, strlen(text), "t", &m, &err) != SALTUS_OK);
        if (!strstr(err.message, cases[i].message)) {
            fail_msg("%s\nwanted: %s", err.message, cases[i].message);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_come_at_the_end),
        cmocka_unit_test(reactants_may_go_at_the_end),
        cmocka_unit_test(delayed_deaths_have_exact_moments),
        cmocka_unit_test(drawn_delays_have_exact_moments),
        cmocka_unit_test(drifting_laws_begin_what_takes_a_while),
        cmocka_unit_test(delays_follow_rules_of_the_time),
        cmocka_unit_test(sample_times_change_nothing),
        cmocka_unit_test(models_are_written_as_they_are),
        cmocka_unit_test(failures_name_the_reaction),
        cmocka_unit_test(what_has_no_queue_is_refused),
        cmocka_unit_test(mistakes_are_refused),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
