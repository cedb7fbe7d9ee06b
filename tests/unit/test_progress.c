/* What a run tells while it is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ensemble/progress.h"
#include "saltus/saltus.h"

#include <stdio.h>
#include <string.h>

typedef struct listener {
    volatile int stop;
    int n_told, stop_after; /* stop_after 0: never */
    saltus_progress last;
    int n_warnings;
    char warning[300];
} listener;

static void hear(void *user, const saltus_progress *p)
{
    listener *l = user;
    ++l->n_told;
    if (!(p->fraction >= l->last.fraction && p->fraction <= 1.0) ||
        p->trajectories < l->last.trajectories || p->seconds < l->last.seconds) {
        fail_msg("%g of %lld after %g of %lld", p->fraction, (long long)p->trajectories,
                 l->last.fraction, (long long)l->last.trajectories);
    }
    l->last = *p;
    l->stop |= l->n_told == l->stop_after;
}

static void hear_warning(void *user, const char *sentence)
{
    listener *l = user;
    ++l->n_warnings;
    (void)snprintf(l->warning, sizeof l->warning, "%s", sentence);
    l->stop = 1;
}

static saltus_status forget(void *user, const saltus_block *block, void *prepared,
                            saltus_error *err)
{
    (void)user, (void)block, (void)prepared, (void)err;
    return SALTUS_OK;
}

/* A run of 3 trajectories on the CPU until it has heard enough. */
static saltus_status run(const char *text, const char *method, double until, listener *l)
{
    const saltus_sink sink = {.user = l, .deliver = forget};
    saltus_run_options options = saltus_run_options_default();
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_model *m = NULL;
    saltus_backend *cpu = NULL;
    saltus_plan *plan = NULL;
    saltus_error err = {0};
    wanted.method = method;
    assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "m.yaml", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(saltus_backend_open("cpu", &cpu, &err), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, cpu, &wanted, &plan, &err), SALTUS_OK);
    options.n_trajectories = 3;
    options.n_times = 1;
    options.times = &until;
    options.stop = &l->stop;
    options.progress = hear;
    options.warn = hear_warning;
    options.progress_user = options.warn_user = l;
    const saltus_status status = saltus_run(plan, &options, &sink, NULL, &err);
    saltus_plan_destroy(plan);
    saltus_backend_close(cpu);
    saltus_model_destroy(m);
    return status;
}

static void it_tells_how_far_it_is(void **state)
{
    listener l = {.stop_after = 3};
    (void)state;
    assert_int_equal(run("species: {A: 1000, B: 0}\n"
                         "reactions: {there: A -> B @ 1, back: B -> A @ 1}\n",
                         "direct", 1e9, &l),
                     SALTUS_E_CANCELLED);
    assert_true(l.n_told >= 3 && l.last.total == 3 && l.last.until == 1e9);
    assert_true(l.last.events > 0 && l.last.fraction > 0.0 && l.last.fraction < 1.0);
    assert_int_equal(l.n_warnings, 0);
}

/* A wait is soon too short to change the time, and then the time stands. */
static void it_warns_when_time_stands_still(void **state)
{
    listener l = {.stop_after = 200}; /* 40 s, lest it never end */
    (void)state;
    assert_int_equal(run("species: {A: 1000}\n"
                         "reactions: {grow: 3 A -> 1003 A @ 0.01, gone: A -> 0 @ 0.1}\n",
                         "direct", 10.0, &l),
                     SALTUS_E_CANCELLED);
    assert_int_equal(l.n_warnings, 1);
    assert_non_null(strstr(l.warning, "time stands still"));
    assert_true(l.last.events > 10000 && l.last.fraction < 0.01);
}

/* What leaps and flows do to events that watch the state. */
static void it_warns_of_events_that_watch_the_state(void **state)
{
    static const struct {
        const char *method, *warning;
    } cases[] = {{"tau", "may come late"}, {"hybrid", NULL}, {"direct", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        listener l = {0}, other = {0};
        (void)run("species: {A: 0}\nreactions: {in: 0 -> A @ 10}\n"
                  "events: {e: {when: A > 5, set: {A: 0}}}\n",
                  cases[i].method, 1.0, &l);
        assert_int_equal(l.n_warnings, cases[i].warning != NULL);
        assert_true(!cases[i].warning || strstr(l.warning, cases[i].warning));
        (void)run("species: {A: 0}\nreactions: {in: 0 -> A @ 10}\n"
                  "events: {e: {at: 0.5, set: {A: 0}}}\n",
                  cases[i].method, 1.0, &other);
        assert_int_equal(other.n_warnings, 0);
    }
}

/* Look at a worker again and again, whose trajectory gets further by so much of its time and that
 * has something to tell or not; returns the number of warnings. */
static int look_at(double step, bool works, int64_t finishes)
{
    const double until = 2.0;
    listener l = {0};
    saltus_run_options options = saltus_run_options_default();
    saltus_monitor m = {0};
    saltus_error err = {0};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    options.n_trajectories = 1000;
    options.n_times = 1;
    options.times = &until;
    options.warn = hear_warning;
    options.warn_user = &l;
    assert_int_equal(saltus_monitor_begin(&m, &options, 1, 0.0, &err), SALTUS_OK);
    for (int i = 0; i < 60; ++i) {
        if (works) {
            saltus_reached_store(&m.reached[0], 1e-290 + i * step * until, 7);
        }
        assert_int_equal(pthread_mutex_lock(&lock), 0);
        saltus_monitor_look(&m, i * finishes, 0, &lock);
        assert_int_equal(pthread_mutex_unlock(&lock), 0);
    }
    saltus_monitor_free(&m);
    return l.n_warnings;
}

/* Where reactants lack nothing fires, and time may pass by next to nothing. */
static void it_warns_where_nothing_fires(void **state)
{
    (void)state;
    assert_int_equal(look_at(0.0, true, 0), 1);
    assert_int_equal(look_at(1e-300, true, 0), 1);
    assert_int_equal(look_at(1e-9, true, 0), 0);
    assert_int_equal(look_at(0.0, true, 1), 0);
    assert_int_equal(look_at(0.0, false, 0), 0); /* it waits for a disk, or simulates elsewhere */
}

/* A trajectory that never ends keeps nobody from finding out how long it takes. */
static void a_device_is_chosen_where_time_stands_still(void **state)
{
    static const char *const texts[] = {
        "species: {A: 0}\nlacking reactants: idle\n"
        "reactions: {r: {equation: A -> 0, law: 1e300}, s: 0 -> A @ 1}\n",
        "species: {A: 1000}\nreactions: {grow: 3 A -> 1003 A @ 0.01, gone: A -> 0 @ 0.1}\n"};
    const double until = 10.0;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        saltus_run_options options = saltus_run_options_default();
        saltus_model *m = NULL;
        saltus_backend *b = NULL;
        saltus_error err = {0};
        options.n_trajectories = 1000;
        options.n_times = 1;
        options.times = &until;
        assert_int_equal(saltus_model_parse_yaml(texts[i], strlen(texts[i]), "m.yaml", &m, &err),
                         SALTUS_OK);
        assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
        assert_int_equal(saltus_backend_choose(m, NULL, &options, &b, &err), SALTUS_OK);
        assert_non_null(b);
        saltus_backend_close(b);
        saltus_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_tells_how_far_it_is),
        cmocka_unit_test(it_warns_when_time_stands_still),
        cmocka_unit_test(it_warns_where_nothing_fires),
        cmocka_unit_test(it_warns_of_events_that_watch_the_state),
        cmocka_unit_test(a_device_is_chosen_where_time_stands_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
