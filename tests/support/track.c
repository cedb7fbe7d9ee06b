#include "track.h"

#include "model/network/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void note_warning(void *user, const char *sentence)
{
    track *t = user;
    ++t->n_warnings;
    (void)snprintf(t->warning, sizeof t->warning, "%s", sentence);
}

static saltus_status keep(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    track *t = user;
    const size_t n_counts = (size_t)(b->n_points * b->n_counts);
    const size_t n_observables = (size_t)(b->n_points * b->n_observables);
    (void)prepared;
    (void)err;
    assert_true(b->n_trajectories == 1 && b->n_points == t->n_points);
    t->counts = calloc(n_counts + 1, sizeof *t->counts);
    t->observables = calloc(n_observables + 1, sizeof *t->observables);
    memcpy(t->counts, b->counts, n_counts * sizeof *t->counts);
    if (n_observables > 0) {
        memcpy(t->observables, b->observables, n_observables * sizeof *t->observables);
    }
    return SALTUS_OK;
}

/* Every variable as a column. */
static char *all_columns(const saltus_model *m)
{
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);
    for (size_t i = 0; i < m->n_variables; ++i) {
        fprintf(out, "%s%s", i > 0 ? "," : "", m->variables[i].id);
    }
    assert_int_equal(fclose(out), 0);
    return names;
}

static saltus_status run_track(track *t, const char *text, int64_t trajectory, saltus_error *err)
{
    saltus_run_options run = saltus_run_options_default();
    saltus_plan_options options = saltus_plan_options_default();
    const saltus_sink sink = {.user = t, .deliver = keep};
    run.first_trajectory = trajectory;
    run.n_trajectories = 1;
    run.times = t->times;
    run.n_times = t->n_points;
    run.warn = note_warning;
    run.warn_user = t;
    saltus_status status =
        saltus_model_parse_yaml(text, strlen(text), "model.yaml", &t->model, err);
    if (status == SALTUS_OK) {
        status = saltus_model_freeze(t->model, SALTUS_LAW_LITERAL, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_backend_open("cpu", &t->backend, err);
    }
    if (status == SALTUS_OK) {
        char *columns = all_columns(t->model);
        options.columns = columns;
        status = saltus_plan_create(t->model, t->backend, &options, &t->plan, err);
        free(columns);
    }
    return status == SALTUS_OK ? saltus_run(t->plan, &run, &sink, NULL, err) : status;
}

track *track_one(const char *text, int64_t trajectory, const double *times, int n)
{
    saltus_error err = {0};
    track *t = calloc(1, sizeof *t);
    assert_true(t && n <= TRACK_POINTS);
    memcpy(t->times, times, (size_t)n * sizeof *times);
    t->n_points = n;
    if (run_track(t, text, trajectory, &err) != SALTUS_OK) {
        fail_msg("%s (%s)\n%s", err.message, err.hint, text);
    }
    return t;
}

track *track_at(const char *text, const double *times, int n)
{
    return track_one(text, 0, times, n);
}

track *track_steps(const char *text, int n)
{
    double times[TRACK_POINTS];
    for (int i = 0; i < n && i < TRACK_POINTS; ++i) {
        times[i] = i;
    }
    return track_at(text, times, n);
}

void track_free(track *t)
{
    saltus_plan_destroy(t->plan);
    saltus_backend_close(t->backend);
    saltus_model_destroy(t->model);
    free(t->counts);
    free(t->observables);
    free(t);
}

double track_value(const track *t, const char *name, int point)
{
    const int n_counts = saltus_plan_n_counts(t->plan);
    const int n_observables = saltus_plan_n_observables(t->plan);
    for (int c = 0; c < n_counts; ++c) {
        if (strcmp(saltus_plan_count_name(t->plan, c), name) == 0) {
            return (double)t->counts[point * n_counts + c];
        }
    }
    for (int o = 0; o < n_observables; ++o) {
        if (strcmp(saltus_plan_observable_name(t->plan, o), name) == 0) {
            return t->observables[point * n_observables + o];
        }
    }
    fail_msg("'%s' is not recorded", name);
    return 0.0;
}

void track_expect(const track *t, const char *name, const double *expected, int n, int line)
{
    for (int i = 0; i < n; ++i) {
        if (track_value(t, name, i) != expected[i]) {
            fail_msg("line %d: %s is %.17g at %.17g, expected %.17g", line, name,
                     track_value(t, name, i), t->times[i], expected[i]);
        }
    }
}

void check_run_fails(const char *text, double t_end, saltus_status status, const char *message)
{
    saltus_error err = {0};
    track *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->times[0] = t_end;
    t->n_points = 1;
    const saltus_status got = run_track(t, text, 0, &err);
    if (got != status || strcmp(err.message, message) != 0) {
        fail_msg("status %d: %s\nexpected %d: %s\n%s", (int)got, err.message, (int)status, message,
                 text);
    }
    track_free(t);
}
