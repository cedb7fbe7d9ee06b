/* Results in memory against those that a plain sink is handed, and what a model says of itself. */
#include "frozen.h"

#include "saltus/saltus.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static const char text[] = "model: birth and death\n"
                           "species: {X: 5, Y: 0}\n"
                           "parameters: {k: 20, g: 0.5}\n"
                           "rules: {both: X + Y}\n"
                           "reactions:\n"
                           "  in: 0 -> X @ k\n"
                           "  out: X -> Y @ g\n"
                           "  lost: 2 Y -> 0 @ g/50\n";

enum { N_RUNS = 300, N_TIMES = 4, N_COUNTS = 2 };
static const double times[N_TIMES] = {0.0, 1.0, 2.5, 4.0};

static saltus_run_options some_runs(void)
{
    saltus_run_options run = saltus_run_options_default();
    run.seed = 7;
    run.first_trajectory = 3;
    run.n_trajectories = N_RUNS;
    run.times = times;
    run.n_times = N_TIMES;
    return run;
}

/* Every sample, as a sink gets them. */
typedef struct seen {
    int64_t n, counts[N_RUNS][N_TIMES][N_COUNTS];
    double both[N_RUNS][N_TIMES];
} seen;

static saltus_status see(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    seen *s = user;
    const size_t n = (size_t)b->n_trajectories;
    (void)prepared;
    (void)err;
    memcpy(s->counts[s->n], b->counts, n * sizeof s->counts[0]);
    memcpy(s->both[s->n], b->observables, n * sizeof s->both[0]);
    s->n += b->n_trajectories;
    return SALTUS_OK;
}

static void must(saltus_status status, const saltus_error *err)
{
    if (status != SALTUS_OK) {
        fail_msg("%s (%s)", err->message, err->hint);
    }
}

static saltus_plan *plan_of(const saltus_model *m, saltus_backend **b)
{
    saltus_error err = {0};
    saltus_plan *plan = NULL;
    must(saltus_backend_open("cpu", b, &err), &err);
    must(saltus_plan_create(m, *b, NULL, &plan, &err), &err);
    return plan;
}

static saltus_memory *run_into(const saltus_plan *plan, saltus_memory_options options)
{
    const saltus_run_options run = some_runs();
    saltus_error err = {0};
    saltus_memory *memory = NULL;
    must(saltus_memory_open(plan, &run, 0, &options, &memory, &err), &err);
    assert_null(saltus_memory_sweep_sink(memory));
    must(saltus_run(plan, &run, saltus_memory_sink(memory), NULL, &err), &err);
    return memory;
}

/* Mean and variance of column c at time t, by whole numbers. */
static void check_statistics(const saltus_memory_view *v, const seen *s, int t, int c)
{
    int64_t sum = 0, squares = 0, min = INT64_MAX, max = INT64_MIN;
    for (int i = 0; i < N_RUNS; ++i) {
        const int64_t x = s->counts[i][t][c];
        sum += x;
        squares += x * x;
        min = x < min ? x : min;
        max = x > max ? x : max;
    }
    const int at = t * (N_COUNTS + 1) + c;
    const double n = N_RUNS, variance = ((double)(N_RUNS * squares - sum * sum)) / (n * (n - 1.0));
    assert_true(v->mean[at] == (double)sum / n);
    assert_true(fabs(v->variance[at] - variance) <= 1e-14 * variance);
    assert_true(v->min[at] == (double)min && v->max[at] == (double)max);
}

static void a_run_is_what_a_sink_gets(void **state)
{
    static seen s, again;
    (void)state;
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_backend *b;
    saltus_plan *plan = plan_of(m, &b);
    const saltus_sink sink = {.user = &s, .deliver = see},
                      second = {.user = &again, .deliver = see};
    const saltus_run_options run = some_runs();
    saltus_error err = {0};
    saltus_memory_options options = saltus_memory_options_default();
    must(saltus_run(plan, &run, &sink, NULL, &err), &err);
    options.derive = "final:X,passage:Y:3,mean:both";
    saltus_memory *memory = run_into(plan, options);
    const saltus_memory_view v = saltus_memory_get(memory);
    assert_int_equal(v.n_points, 1);
    assert_int_equal(v.n_runs, N_RUNS);
    assert_int_equal(v.n_times, N_TIMES);
    assert_int_equal(v.n_counts, N_COUNTS);
    assert_int_equal(v.n_observables, 1);
    assert_int_equal(v.n_derived, 3);
    assert_memory_equal(v.counts, s.counts, sizeof s.counts);
    assert_memory_equal(v.observables, s.both, sizeof s.both);
    for (int i = 0; i < N_RUNS; ++i) {
        double mean = 0.0;
        for (int t = 0; t < N_TIMES; ++t) {
            mean += s.both[i][t] / N_TIMES;
        }
        assert_int_equal(v.trajectories[i], 3 + i);
        assert_true(v.derived[i * 3] == (double)s.counts[i][N_TIMES - 1][0]);
        assert_true(fabs(v.derived[i * 3 + 2] - mean) <= 1e-12 * mean);
    }
    for (int q = 0; q < N_TIMES * N_COUNTS; ++q) {
        check_statistics(&v, &s, q / N_COUNTS, q % N_COUNTS);
    }
    must(saltus_memory_replay(memory, &second, &err), &err);
    assert_memory_equal(&again, &s, sizeof s);
    saltus_memory_close(memory);
    saltus_memory_close(memory); /* gone */
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static void less_is_kept_when_less_is_asked_for(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_backend *b;
    saltus_plan *plan = plan_of(m, &b);
    saltus_memory_options options = saltus_memory_options_default();
    saltus_error err = {0};
    saltus_memory *all = run_into(plan, options);
    options.record = SALTUS_RECORD_FINAL;
    saltus_memory *final = run_into(plan, options);
    options.record = SALTUS_RECORD_HISTOGRAM;
    options.n_bins = 16;
    saltus_memory *histogram = run_into(plan, options);
    const saltus_memory_view a = saltus_memory_get(all), f = saltus_memory_get(final),
                             h = saltus_memory_get(histogram);
    const size_t cells = sizeof(double) * N_TIMES * (N_COUNTS + 1);
    assert_memory_equal(f.mean, a.mean, cells);
    assert_memory_equal(h.variance, a.variance, cells);
    for (int i = 0; i < N_RUNS; ++i) {
        const int last = (i + 1) * N_TIMES - 1;
        assert_memory_equal(f.counts + i * N_COUNTS, a.counts + last * N_COUNTS, 16);
        assert_true(f.observables[i] == a.observables[last]);
    }
    assert_null(h.counts);
    assert_int_equal(h.n_bins, 16);
    for (int q = 0; q < N_COUNTS * N_TIMES; ++q) {
        const int c = q / N_TIMES, t = q % N_TIMES;
        const double *edges = h.edges + c * 17;
        for (int bin = 0; bin < 16; ++bin) {
            uint64_t n = 0;
            for (int i = 0; i < N_RUNS; ++i) {
                const double x = (double)a.counts[(i * N_TIMES + t) * N_COUNTS + c];
                n += x >= edges[bin] && x < edges[bin + 1];
            }
            assert_true(h.histogram[q * 16 + bin] == n);
        }
    }
    const saltus_sink none = {0};
    assert_int_equal(saltus_memory_replay(final, &none, &err), SALTUS_E_INVALID);
    seen nothing = {0};
    const saltus_sink samples = {.user = &nothing, .deliver = see};
    err = (saltus_error){0};
    assert_int_equal(saltus_memory_replay(final, &samples, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "only a run with every sample"));
    const saltus_sink *wants = saltus_memory_sink(histogram); /* bins, which final has not */
    assert_int_equal(saltus_memory_replay(final, wants, &err), SALTUS_E_INVALID);
    assert_int_equal(nothing.n, 0);
    saltus_memory_close(all);
    saltus_memory_close(final);
    saltus_memory_close(histogram);
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static void what_does_not_fit_is_refused_with_its_bytes(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_backend *b;
    saltus_plan *plan = plan_of(m, &b);
    saltus_run_options run = some_runs();
    saltus_error err = {0};
    saltus_memory *memory = NULL;
    run.n_trajectories = INT64_C(1000000000000);
    assert_int_equal(saltus_memory_open(plan, &run, 0, NULL, &memory, &err), SALTUS_E_INVALID);
    assert_null(memory);
    assert_non_null(strstr(err.message, " bytes ("));
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

/* Two models that are used again and again, one at a time. */
typedef struct pool {
    saltus_model *models[16];
    int n, n_read;
    pthread_mutex_t lock;
} pool;

static saltus_model *load(void *user, saltus_error *err)
{
    pool *p = user;
    saltus_model *m = NULL;
    (void)pthread_mutex_lock(&p->lock);
    if (p->n > 0) {
        m = p->models[--p->n];
    } else if (saltus_model_parse_yaml(text, strlen(text), "m", &m, err) == SALTUS_OK) {
        ++p->n_read;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return m;
}

static void unload(void *user, saltus_model *m)
{
    pool *p = user;
    (void)pthread_mutex_lock(&p->lock);
    assert_true(p->n < 16);
    p->models[p->n++] = m;
    (void)pthread_mutex_unlock(&p->lock);
}

static void a_table_of_points_is_a_run_at_each(void **state)
{
    enum { N_POINTS = 9 };
    static const char *const names[] = {"k", "X"};
    double values[N_POINTS][2];
    pool models = {.lock = PTHREAD_MUTEX_INITIALIZER};
    saltus_error err = {0};
    (void)state;
    for (int i = 0; i < N_POINTS; ++i) {
        values[i][0] = 1.0 + i;
        values[i][1] = 10.0 * i;
    }
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    saltus_backend *b;
    saltus_plan *plan = plan_of(m, &b);
    saltus_sweep *sweep;
    must(saltus_sweep_create(&sweep, &err), &err);
    must(saltus_sweep_table(sweep, names, 2, values[0], N_POINTS, &err), &err);
    assert_true(saltus_sweep_value(sweep, 1, 4) == 40.0);
    saltus_sweep_options options = saltus_sweep_options_default();
    options.load = load;
    options.unload = unload;
    options.load_user = &models;
    options.plan.n_threads = 1; /* of two one may come too late to need a model */
    options.run = some_runs();
    int read_once = 0;
    for (int again = 0; again < 2; ++again) {
        saltus_memory *memory;
        must(saltus_memory_open(plan, &options.run, N_POINTS, NULL, &memory, &err), &err);
        assert_null(saltus_memory_sink(memory));
        must(saltus_sweep_run(sweep, &options, saltus_memory_sweep_sink(memory), NULL, &err), &err);
        const saltus_memory_view v = saltus_memory_get(memory);
        assert_int_equal(v.n_points, N_POINTS);
        saltus_plan_destroy(plan);
        saltus_model_thaw(m);
        must(saltus_model_set(m, "k", 5.0, &err), &err);
        must(saltus_model_set(m, "X", 40.0, &err), &err);
        must(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), &err);
        must(saltus_plan_create(m, b, NULL, &plan, &err), &err);
        saltus_run_options run = options.run;
        run.first_trajectory += 4 * N_RUNS;
        saltus_memory *one;
        must(saltus_memory_open(plan, &run, 0, NULL, &one, &err), &err);
        must(saltus_run(plan, &run, saltus_memory_sink(one), NULL, &err), &err);
        const saltus_memory_view w = saltus_memory_get(one);
        const int64_t samples = N_RUNS * N_TIMES * N_COUNTS;
        assert_memory_equal(v.counts + 4 * samples, w.counts, (size_t)samples * 8);
        assert_memory_equal(v.trajectories + 4 * N_RUNS, w.trajectories, N_RUNS * 8);
        assert_memory_equal(v.mean + 4 * N_TIMES * 3, w.mean, N_TIMES * 3 * 8);
        saltus_memory_close(one);
        saltus_memory_close(memory);
        assert_true(again == 0 || models.n_read == read_once);
        read_once = models.n_read;
    }
    assert_int_equal(models.n, models.n_read); /* all came back */
    while (models.n > 0) {
        saltus_model_destroy(models.models[--models.n]);
    }
    saltus_sweep_destroy(sweep);
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static void values_can_be_taken_back(void **state)
{
    saltus_error err = {0};
    (void)state;
    saltus_model *m = parse_text("species: {A: 2*n, B: 3}\nparameters: {n: 4}\n"
                                 "rules: {all: A + B}\nreactions: {r: A -> B @ n}\n");
    must(saltus_model_set(m, "A", 100.0, &err), &err);
    must(saltus_model_set(m, "A", 101.0, &err), &err);
    must(saltus_model_set(m, "n", 6.0, &err), &err);
    for (int again = 0; again < 2; ++again) {
        const double expected[] = {again ? 4.0 : 6.0, again ? 8.0 : 101.0, 3.0};
        static const char *const names[] = {"n", "A", "B", "all", NULL};
        static const char *const kinds[] = {"parameter", "species", "species", "rule"};
        must(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), &err);
        for (int i = 0; names[i]; ++i) {
            const saltus_model_value v = saltus_model_value_at(m, i);
            assert_string_equal(v.name, names[i]);
            assert_string_equal(v.kind, kinds[i]);
            assert_true(i == 3 ? isnan(v.value) : v.value == expected[i]);
        }
        assert_null(saltus_model_value_at(m, 4).name);
        saltus_model_reset(m); /* frozen: nothing happens */
        saltus_model_thaw(m);
        saltus_model_reset(m);
    }
    assert_null(saltus_model_value_at(m, 0).name);
    saltus_model_destroy(m);
}

static void check_reaction(const saltus_model *m, int r, const char *id, const char *expected)
{
    char *out = NULL;
    size_t size;
    saltus_error err = {0};
    FILE *stream = open_memstream(&out, &size);
    must(saltus_model_print_reaction(m, r, stream, &err), &err);
    (void)fclose(stream);
    assert_string_equal(saltus_model_reaction(m, r), id);
    assert_string_equal(out, expected);
    free(out);
}

static void reactions_are_told_as_written(void **state)
{
    saltus_error err = {0};
    (void)state;
    saltus_model *m = freeze_text("species: {A: 1, B: 3}\nparameters: {k: 2}\n"
                                  "reactions: {both: A <-> B @ k*A - B, pair: 2 A + B -> 0 @ k}\n",
                                  SALTUS_LAW_LITERAL);
    check_reaction(m, 0, "both", "A <-> B @ k*A - B");
    check_reaction(m, 1, "pair", "2 A + B -> 0 @ k");
    assert_string_equal(saltus_model_reaction(m, 2), "");
    assert_int_equal(saltus_model_print_reaction(m, 2, stdout, &err), SALTUS_E_INVALID);
    assert_string_equal(saltus_model_time_unit(m), "");
    int64_t size[3] = {1, 1, 1};
    assert_true(saltus_model_lattice(m, size) == 0.0);
    assert_int_equal(size[0] + size[1] + size[2], 0);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_what_a_sink_gets),
        cmocka_unit_test(less_is_kept_when_less_is_asked_for),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_bytes),
        cmocka_unit_test(a_table_of_points_is_a_run_at_each),
        cmocka_unit_test(values_can_be_taken_back),
        cmocka_unit_test(reactions_are_told_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
