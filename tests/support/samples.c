#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "samples.h"

#include <math.h>
#include <stdlib.h>

static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    samples *s = user;
    (void)prepared, (void)err;
    s->n_points = b->n_points;
    s->n_columns = b->n_counts + b->n_observables;
    const int64_t size = s->n_points * s->n_columns;
    s->x = realloc(s->x, (size_t)((s->n + b->n_trajectories) * size) * sizeof *s->x);
    double *out = s->x + s->n * size;
    for (int64_t i = 0; i < b->n_trajectories * b->n_points; ++i) {
        for (int c = 0; c < b->n_counts; ++c) {
            *out++ = (double)b->counts[i * b->n_counts + c];
        }
        for (int c = 0; c < b->n_observables; ++c) {
            *out++ = b->observables[i * b->n_observables + c];
        }
    }
    s->n += b->n_trajectories;
    return SALTUS_OK;
}

saltus_status try_run_model(saltus_model *m, const char *device, const saltus_plan_options *wanted,
                            const double *times, int64_t n_times, int64_t n, samples *s,
                            saltus_error *err)
{
    const saltus_sink sink = {.user = s, .deliver = deliver};
    saltus_backend *b = NULL;
    saltus_plan *plan = NULL;
    saltus_run_options run = saltus_run_options_default();
    run.seed = 20261125;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_times;
    *s = (samples){0};
    saltus_status status = saltus_backend_open(device, &b, err);
    if (status == SALTUS_OK) {
        status = saltus_plan_create(m, b, wanted, &plan, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_run(plan, &run, &sink, &s->report, err);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    return status;
}

saltus_status try_run(const char *text, const char *device, const saltus_plan_options *wanted,
                      const double *times, int64_t n_times, int64_t n, samples *s,
                      saltus_error *err)
{
    saltus_model *m = parse_frozen(text);
    const saltus_status status = try_run_model(m, device, wanted, times, n_times, n, s, err);
    saltus_model_destroy(m);
    return status;
}

samples run(const char *text, const saltus_plan_options *wanted, const double *times,
            int64_t n_times, int64_t n)
{
    samples s;
    saltus_error err = {0};
    OK(try_run(text, "cpu", wanted, times, n_times, n, &s, &err));
    return s;
}

saltus_plan_options options(const char *method, const char *columns)
{
    saltus_plan_options o = saltus_plan_options_default();
    o.method = method;
    o.columns = columns;
    o.n_threads = 2;
    return o;
}

void check_near(double x, double expected, double within, const char *what)
{
    if (!(fabs(x - expected) <= within)) {
        fail_msg("%s: %.12g, not %.12g +- %g", what, x, expected, within);
    }
}

void check_times_change_no_bit(const char *text, const saltus_plan_options *wanted, double until,
                               const int64_t sizes[4], int64_t n)
{
    samples first = {0};
    for (int k = 0; k < 4; ++k) {
        const int64_t n_times = sizes[k];
        double *times = calloc((size_t)n_times, sizeof *times);
        assert_non_null(times);
        for (int64_t i = 0; i < n_times; ++i) {
            times[i] = n_times == 1 ? until : until * (double)i / (double)(n_times - 1);
        }
        samples s = run(text, wanted, times, n_times, n);
        const int64_t width = s.n_columns;
        for (int64_t i = 0; k > 0 && i < s.n; ++i) {
            assert_memory_equal(s.x + (i * n_times + n_times - 1) * width, first.x + i * width,
                                (size_t)width * sizeof *s.x);
        }
        if (k == 0) {
            first = s;
        } else {
            assert_int_equal(width, first.n_columns);
            free(s.x);
        }
        free(times);
    }
    assert_int_equal(first.n, n);
    free(first.x);
}
