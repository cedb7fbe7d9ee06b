/* What a run tells while it is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
static saltus_status run(const char *text, double until, listener *l)
{
    const saltus_sink sink = {.user = l, .deliver = forget};
    saltus_run_options options = saltus_run_options_default();
    const saltus_plan_options defaults = saltus_plan_options_default();
    saltus_model *m = NULL;
    saltus_backend *cpu = NULL;
    saltus_plan *plan = NULL;
    saltus_error err = {0};
    assert_int_equal(saltus_model_parse_yaml(text, strlen(text), "m.yaml", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(saltus_backend_open("cpu", &cpu, &err), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, cpu, &defaults, &plan, &err), SALTUS_OK);
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
                         1e9, &l),
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
                         10.0, &l),
                     SALTUS_E_CANCELLED);
    assert_int_equal(l.n_warnings, 1);
    assert_non_null(strstr(l.warning, "time stands still"));
    assert_true(l.last.events > 10000 && l.last.fraction < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_tells_how_far_it_is),
        cmocka_unit_test(it_warns_when_time_stands_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
