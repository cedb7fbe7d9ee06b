/* The library called wrongly: without handles, with one that is gone, with numbers out of range.
 * Every call gives a status with a sentence, or a value that is documented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "saltus/saltus.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Refused as a wrong argument, with a sentence, with and without a record. */
#define REFUSED(call)                                                                      \
    do {                                                                                   \
        saltus_error *const err = &record;                                                 \
        record = (saltus_error){0};                                                        \
        const saltus_status status_ = (call);                                              \
        if (status_ != SALTUS_E_INVALID || record.code != status_ || !record.message[0]) { \
            fail_msg("%s: status %d: %s", #call, (int)status_, record.message);            \
        }                                                                                  \
        without_record(call);                                                              \
    } while (0)

static saltus_error record;

static void without_record(saltus_status status)
{
    assert_int_equal(status, SALTUS_E_INVALID);
}

static saltus_model *frozen(void)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    assert_int_equal(saltus_model_create("m", &m, &err), SALTUS_OK);
    assert_int_equal(saltus_model_add_species(m, "A", 10, &err), SALTUS_OK);
    assert_int_equal(saltus_model_add_parameter(m, "k", 1, &err), SALTUS_OK);
    assert_int_equal(saltus_model_add_reaction(m, "r", "A ->", "k", &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    return m;
}

static void texts(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    REFUSED(saltus_text_read(NULL, &text, &size, err));
    REFUSED(saltus_text_read("x", NULL, &size, err));
    REFUSED(saltus_text_read("x", &text, NULL, err));
    REFUSED(saltus_may_replace(NULL, "mark", err));
    REFUSED(saltus_may_replace("x", NULL, err));
    saltus_text_free(NULL);
    assert_null(text);
}

static void models(void **state)
{
    saltus_model *m = NULL;
    (void)state;
    REFUSED(saltus_model_read(NULL, &m, err));
    REFUSED(saltus_model_read("x", NULL, err));
    REFUSED(saltus_model_read_sbml(NULL, &m, err));
    REFUSED(saltus_model_read_yaml(NULL, &m, err));
    REFUSED(saltus_model_read_net(NULL, &m, err));
    REFUSED(saltus_model_read_with(NULL, NULL, &m, err));
    REFUSED(saltus_model_parse_yaml(NULL, 1, "x", &m, err));
    REFUSED(saltus_model_parse_sbml("", 0, "x", NULL, err));
    REFUSED(saltus_model_parse_net(NULL, 1, NULL, &m, err));
    REFUSED(saltus_model_parse_with(NULL, 1, NULL, NULL, &m, err));
    REFUSED(saltus_model_parse(NULL, 2, NULL, &m, err));
    REFUSED(saltus_model_parse("species: {}", 11, "m", NULL, err));
    REFUSED(saltus_model_create(NULL, &m, err));
    REFUSED(saltus_model_create("m", NULL, err));
    REFUSED(saltus_model_add_parameter(NULL, "k", 1, err));
    REFUSED(saltus_model_add_species(NULL, "A", 1, err));
    REFUSED(saltus_model_add_reaction(NULL, "r", "A ->", "k", err));
    REFUSED(saltus_model_set(NULL, "A", 1, err));
    REFUSED(saltus_model_set_volume(NULL, "all", "1", err));
    REFUSED(saltus_model_freeze(NULL, SALTUS_LAW_LITERAL, err));
    REFUSED(saltus_model_print_info(NULL, stdout, err));
    REFUSED(saltus_model_write_yaml(NULL, stdout, err));
    REFUSED(saltus_model_print_reaction(NULL, 0, stdout, err));
    assert_null(saltus_model_value_at(NULL, 0).name);
    assert_string_equal(saltus_model_reaction(NULL, 0), "");
    assert_string_equal(saltus_model_time_unit(NULL), "");
    assert_true(saltus_model_lattice(NULL, NULL) == 0.0);
    assert_null(saltus_model_site_type(NULL, 0, NULL));
    REFUSED(saltus_model_site_types(NULL, NULL, NULL, NULL, err));
    saltus_model_reset(NULL);
    saltus_model_thaw(NULL);
    saltus_model_destroy(NULL);
    assert_string_equal(saltus_model_name(NULL), "");
    assert_string_equal(saltus_model_sha256(NULL), "");
    assert_int_equal(saltus_model_n_species(NULL), 0);
    assert_int_equal(saltus_model_n_reactions(NULL), 0);
    assert_int_equal(saltus_model_n_warnings(NULL), 0);
    assert_string_equal(saltus_model_species(NULL, 0), "");
    assert_string_equal(saltus_model_warning(NULL, 0), "");
    m = frozen();
    REFUSED(saltus_model_add_species(m, NULL, 1, err));
    REFUSED(saltus_model_add_species(m, "late", 1, err));
    REFUSED(saltus_model_add_parameter(m, "late", 1, err));
    REFUSED(saltus_model_add_reaction(m, "late", "A -> 0", "k", err));
    REFUSED(saltus_model_add_reaction(m, "r", NULL, "k", err));
    REFUSED(saltus_model_set(m, NULL, 1, err));
    REFUSED(saltus_model_print_info(m, NULL, err));
    REFUSED(saltus_model_print_reaction(m, 0, NULL, err));
    REFUSED(saltus_model_print_reaction(m, 1, stdout, err));
    REFUSED(saltus_model_print_reaction(m, -1, stdout, err));
    assert_null(saltus_model_value_at(m, -1).name);
    assert_string_equal(saltus_model_reaction(m, -1), "");
    assert_string_equal(saltus_model_species(m, 0), "A");
    assert_string_equal(saltus_model_species(m, 1), "");
    assert_string_equal(saltus_model_species(m, -1), "");
    assert_string_equal(saltus_model_warning(m, 0), "");
    saltus_model_thaw(m);
    REFUSED(saltus_model_freeze(m, (saltus_law)77, err));
    REFUSED(saltus_model_freeze(m, (saltus_law)-1, err));
    assert_int_equal(saltus_model_n_species(m), 0);
    assert_string_equal(saltus_model_species(m, 0), "");
    REFUSED(saltus_model_print_info(m, stdout, err));
    saltus_model_destroy(m);
    saltus_model_destroy(m); /* gone */
}

static void backends_and_plans(void **state)
{
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    saltus_kernel_report kernel;
    const saltus_run_options run = saltus_run_options_default();
    const saltus_plan_options zeroes = {
        .epsilon = 0.03, .n_critical = 10, .n_exact = 100, .rtol = 1e-6, .atol = 1e-12};
    (void)state;
    REFUSED(saltus_backend_open(NULL, &b, err));
    REFUSED(saltus_backend_open("cpu", NULL, err));
    saltus_backend_close(NULL);
    saltus_backend_list(NULL);
    assert_string_equal(saltus_backend_name(NULL), "");
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    REFUSED(saltus_plan_create(NULL, b, NULL, &p, err));
    REFUSED(saltus_plan_create(m, NULL, NULL, &p, err));
    REFUSED(saltus_plan_create(m, b, NULL, NULL, err));
    REFUSED(saltus_plan_compile(NULL, &kernel, err));
    REFUSED(saltus_backend_choose(NULL, NULL, &run, &b, err));
    REFUSED(saltus_backend_choose(m, NULL, NULL, &b, err));
    assert_string_equal(saltus_method_choose(NULL, NULL).method, "direct");
    assert_true(saltus_run_forecast(NULL, &run).seconds == 0.0);
    saltus_plan_destroy(NULL);
    saltus_plan_explain(NULL, stdout);
    assert_string_equal(saltus_plan_method(NULL), "");
    assert_string_equal(saltus_plan_layout(NULL), "");
    assert_string_equal(saltus_plan_rng(NULL), "");
    assert_string_equal(saltus_plan_count_name(NULL, 0), "");
    assert_string_equal(saltus_plan_observable_name(NULL, 0), "");
    assert_int_equal(saltus_plan_slabs(NULL), 0);
    assert_int_equal(saltus_plan_n_counts(NULL), 0);
    assert_int_equal(saltus_plan_n_observables(NULL), 0);
    assert_null(saltus_plan_model(NULL));
    assert_null(saltus_plan_backend(NULL));
    assert_int_equal(saltus_plan_create(m, b, &zeroes, &p, NULL), SALTUS_OK);
    assert_string_equal(saltus_plan_count_name(p, 0), "A");
    assert_string_equal(saltus_plan_count_name(p, 1), "");
    assert_string_equal(saltus_plan_count_name(p, -1), "");
    assert_string_equal(saltus_plan_observable_name(p, 0), "");
    saltus_plan_destroy(p);
    saltus_plan_destroy(p);
    saltus_model_thaw(m);
    REFUSED(saltus_plan_create(m, b, NULL, &p, err));
    REFUSED(saltus_backend_choose(m, NULL, &run, &b, err));
    assert_string_equal(saltus_method_choose(m, NULL).method, "direct");
    saltus_backend_close(b);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static saltus_status take(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    (void)user;
    (void)b;
    (void)prepared;
    (void)err;
    return SALTUS_OK;
}

/* Options of files and of memory that are out of range are refused before anything is made. */
static void wrong_options(const saltus_plan *p)
{
    static const double times[] = {0, 1};
    const saltus_hdf5_options files[] = {{.record = (saltus_record)99},
                                         {.record = (saltus_record)-1},
                                         {.compress = (saltus_compress)99},
                                         {.compress = (saltus_compress)-1},
                                         {.n_bins = -1},
                                         {.derive = "mean:A", .burn_in = -1},
                                         {.derive = "mean:A", .burn_in = (double)NAN},
                                         {.checkpoint = -1},
                                         {.checkpoint = (double)NAN},
                                         {.n_shards = -1},
                                         {.n_shards = 3, .shard = 5, .whole_runs = 1},
                                         {.n_shards = 3, .shard = -1, .whole_runs = 1}};
    const saltus_memory_options memories[] = {{.record = (saltus_record)50},
                                              {.n_bins = -1},
                                              {.derive = "mean:A", .burn_in = (double)NAN}};
    const saltus_sink sink = {.deliver = take}, small = {.deliver = take, .block_trajectories = -1};
    saltus_run_options run = saltus_run_options_default();
    saltus_hdf5_sink *file = NULL;
    saltus_memory *memory = NULL;
    run.times = times;
    run.n_times = 2;
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        REFUSED(saltus_hdf5_check(p, &run, &files[i], err));
        REFUSED(saltus_hdf5_sink_open("none.h5", p, &run, &files[i], &file, err));
        assert_int_not_equal(access("none.h5", F_OK), 0);
    }
    for (size_t i = 0; i < sizeof memories / sizeof *memories; ++i) {
        REFUSED(saltus_memory_open(p, &run, 0, &memories[i], &memory, err));
    }
    REFUSED(saltus_run(p, &run, &small, NULL, err));
    run.n_frames = -1;
    REFUSED(saltus_run(p, &run, &sink, NULL, err));
}

static void shards(void **state)
{
    static const double times[] = {0, 1};
    static const int64_t numbers[][2] = {{0, 0}, {-1, 3}, {0, -1}, {4, 3}, {INT64_MIN, 2}};
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    const saltus_hdf5_options options = saltus_hdf5_options_default();
    saltus_run_options run = saltus_run_options_default();
    int64_t first = -1, n = -1;
    (void)state;
    run.times = times;
    run.n_times = 2;
    run.first_trajectory = 7;
    run.n_trajectories = 1000;
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        n = -1;
        saltus_hdf5_shard(p, &run, &options, numbers[i][0], numbers[i][1], &first, &n);
        assert_int_equal(n, 0);
    }
    n = -1;
    saltus_hdf5_shard(NULL, &run, &options, 0, 3, &first, &n);
    assert_int_equal(n, 0);
    saltus_hdf5_shard(p, NULL, &options, 0, 3, &first, &n);
    saltus_hdf5_shard(p, &run, NULL, 0, 3, &first, &n);
    saltus_hdf5_shard(p, &run, &options, 0, 3, NULL, NULL);
    assert_int_equal(n, 0);
    saltus_hdf5_shard(p, &run, &options, 3, 3, &first, &n);
    assert_true(first == 7 && n > 300);
    saltus_plan_destroy(p);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static void runs(void **state)
{
    const double times[2] = {0, 1};
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    saltus_hdf5_sink *sink = NULL;
    saltus_results *r = NULL;
    saltus_run_options run = saltus_run_options_default();
    (void)state;
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    REFUSED(saltus_run(NULL, &run, NULL, NULL, err));
    REFUSED(saltus_run(p, NULL, NULL, NULL, err));
    REFUSED(saltus_run(p, &run, NULL, NULL, err));
    REFUSED(saltus_run(p, &run, &(saltus_sink){0}, NULL, err));
    wrong_options(p);
    run.n_times = 2;
    REFUSED(saltus_hdf5_sink_open("x.h5", p, &run, NULL, &sink, err)); /* without times */
    run.times = times;
    REFUSED(saltus_hdf5_check(NULL, &run, NULL, err));
    REFUSED(saltus_hdf5_check(p, NULL, NULL, err));
    REFUSED(saltus_hdf5_sink_open(NULL, p, &run, NULL, &sink, err));
    REFUSED(saltus_hdf5_sink_open("x.h5", NULL, &run, NULL, &sink, err));
    REFUSED(saltus_hdf5_sink_open("x.h5", p, NULL, NULL, &sink, err));
    REFUSED(saltus_hdf5_sink_open("x.h5", p, &run, NULL, NULL, err));
    assert_null(saltus_hdf5_sink_get(NULL));
    REFUSED(saltus_hdf5_sink_close(NULL, NULL, err));
    (void)remove("calls.h5");
    assert_int_equal(saltus_hdf5_sink_open("calls.h5", p, &run, NULL, &sink, &record), SALTUS_OK);
    assert_int_equal(saltus_run(p, &run, saltus_hdf5_sink_get(sink), NULL, NULL), SALTUS_OK);
    assert_int_equal(saltus_hdf5_sink_close(sink, NULL, NULL), SALTUS_OK);
    REFUSED(saltus_hdf5_sink_close(sink, NULL, err));
    for (int i = 0; i < 4; ++i) { /* there at the end, moved, removed, and another one's */
        record = (saltus_error){0};
        assert_int_equal(rename("calls.h5", "other.h5"), 0);
        assert_int_equal(saltus_hdf5_sink_open("calls.h5", p, &run, NULL, &sink, &record),
                         SALTUS_OK);
        assert_int_equal(saltus_run(p, &run, saltus_hdf5_sink_get(sink), NULL, NULL), SALTUS_OK);
        if (i == 1) {
            assert_int_equal(rename("calls.h5", "moved.h5"), 0);
        } else if (i == 2) {
            assert_int_equal(remove("calls.h5"), 0);
        } else if (i == 3) {
            assert_int_equal(link("other.h5", "another.h5") + rename("another.h5", "calls.h5"), 0);
        }
        assert_int_equal(saltus_hdf5_sink_close(sink, NULL, &record),
                         i < 2 ? SALTUS_OK : SALTUS_E_IO);
        assert_true(i < 2 || strstr(record.message, "calls.h5: was removed or replaced"));
        assert_int_equal(rename("other.h5", "calls.h5"), 0);
    }
    REFUSED(saltus_results_open(NULL, &r, err));
    REFUSED(saltus_results_open("calls.h5", NULL, err));
    assert_int_equal(saltus_results_open("calls.h5", &r, NULL), SALTUS_OK);
    for (int i = 0; i < 2; ++i) {
        const saltus_results *const none = i == 0 ? NULL : r;
        FILE *const nowhere = i == 0 ? stdout : NULL;
        REFUSED(saltus_results_print_stats(none, nowhere, err));
        REFUSED(saltus_results_print_table(none, NULL, nowhere, err));
        REFUSED(saltus_results_print_summary(none, nowhere, err));
        REFUSED(saltus_results_print_csv(none, nowhere, err));
        REFUSED(saltus_results_print_histograms(none, nowhere, err));
        REFUSED(saltus_results_print_derived(none, nowhere, err));
        REFUSED(saltus_results_print_derived_table(none, NULL, nowhere, err));
        REFUSED(saltus_results_print_split(none, SALTUS_BY_TYPE, nowhere, err));
        REFUSED(saltus_results_print_frames(none, nowhere, err));
    }
    REFUSED(saltus_results_print_split(r, (saltus_split)77, stdout, err));
    for (int n = -1; n <= 1; n += 2) {
        const saltus_table_options none = {.n_quantiles = n};
        REFUSED(saltus_results_print_table(r, &none, stdout, err));
    }
    const char *const parts[] = {"calls.h5", NULL};
    REFUSED(saltus_results_merge(parts, 2, "whole.h5", true, NULL, err));
    REFUSED(saltus_results_write_xdmf(NULL, err));
    saltus_results_close(r);
    saltus_results_close(r);
    saltus_results_close(NULL);
    saltus_plan_destroy(p);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

/* Runs of 100 trajectories to time 1 that are not the one that a sink was opened for. */
enum { ANOTHER_PLAN = 9, N_OTHERS };

static saltus_run_options another(const saltus_run_options *run, int which)
{
    static const double more[] = {0, 1, 2}, moved[] = {0, 1.5};
    saltus_run_options o = *run;
    switch (which) {
    case 0:
        o.n_trajectories = 200;
        break;
    case 1:
        o.n_trajectories = 99;
        break;
    case 2:
        o.times = more, o.n_times = 3;
        break;
    case 3:
        o.times = more, o.n_times = 1;
        break;
    case 4:
        o.times = moved;
        break;
    case 5:
        o.seed = 99;
        break;
    case 6:
        o.first_trajectory = 1000;
        break;
    case 7:
        o.first_trajectory = 1, o.n_trajectories = 101;
        break;
    case 8:
        o.n_done = 1;
        break;
    default:
        break;
    }
    return o;
}

/* A sink takes the run that it was opened for alone, and that once. */
static void refuse_others(const saltus_plan *p, const saltus_plan *q, const saltus_run_options *run,
                          const saltus_sink *sink)
{
    for (int i = 0; i < N_OTHERS; ++i) {
        const saltus_run_options o = another(run, i);
        REFUSED(saltus_run(i == ANOTHER_PLAN ? q : p, &o, sink, NULL, err));
        assert_non_null(strstr(record.message, "was opened for") || i == 8 ? record.message : NULL);
    }
    assert_int_equal(saltus_run(p, run, sink, NULL, &record), SALTUS_OK);
    REFUSED(saltus_run(p, run, sink, NULL, err)); /* once */
    assert_non_null(strstr(record.message, "has 100 trajectories already"));
}

static void other_runs(void **state)
{
    static const double times[] = {0, 1};
    saltus_model *m = frozen(), *n = NULL;
    saltus_backend *b = NULL;
    saltus_plan *p = NULL, *q = NULL;
    saltus_memory *memory = NULL;
    saltus_hdf5_sink *file = NULL;
    saltus_file_state state_of_file;
    saltus_run_options run = saltus_run_options_default();
    (void)state;
    run.times = times;
    run.n_times = 2;
    run.n_trajectories = 100;
    assert_int_equal(saltus_model_create("m", &n, NULL), SALTUS_OK);
    assert_int_equal(saltus_model_add_species(n, "A", 10, NULL), SALTUS_OK);
    assert_int_equal(saltus_model_add_species(n, "B", 10, NULL), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(n, SALTUS_LAW_LITERAL, NULL), SALTUS_OK);
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(n, b, NULL, &q, NULL), SALTUS_OK);
    for (int record_of = SALTUS_RECORD_ALL; record_of <= SALTUS_RECORD_HISTOGRAM; ++record_of) {
        saltus_memory_options o = saltus_memory_options_default();
        o.record = (saltus_record)record_of;
        assert_int_equal(saltus_memory_open(p, &run, 0, &o, &memory, NULL), SALTUS_OK);
        refuse_others(p, q, &run, saltus_memory_sink(memory));
        assert_int_equal(saltus_memory_get(memory).n_runs, 100);
        saltus_memory_close(memory);
    }
    (void)remove("others.h5");
    assert_int_equal(saltus_hdf5_sink_open("others.h5", p, &run, NULL, &file, NULL), SALTUS_OK);
    refuse_others(p, q, &run, saltus_hdf5_sink_get(file));
    assert_int_equal(saltus_hdf5_sink_close(file, NULL, NULL), SALTUS_OK);
    assert_int_equal(saltus_file_state_read("others.h5", &state_of_file, NULL), SALTUS_OK);
    assert_true(state_of_file.complete && state_of_file.n_done == 100);
    saltus_plan_destroy(p);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    assert_int_equal(saltus_memory_open(p, &run, 0, NULL, &memory, NULL), SALTUS_OK);
    saltus_plan_destroy(p); /* the next one may lie where it did */
    saltus_plan_destroy(q);
    assert_int_equal(saltus_plan_create(n, b, NULL, &q, NULL), SALTUS_OK);
    REFUSED(saltus_run(q, &run, saltus_memory_sink(memory), NULL, err));
    saltus_memory_close(memory);
    saltus_plan_destroy(q);
    saltus_backend_close(b);
    saltus_model_destroy(m);
    saltus_model_destroy(n);
}

static saltus_model *load(void *user, saltus_error *err)
{
    (void)user;
    (void)err;
    saltus_model *m = frozen();
    saltus_model_thaw(m);
    return m;
}

/* A refusal that tells the number that is wrong. */
#define REFUSED_FOR(call, words)                          \
    do {                                                  \
        REFUSED(call);                                    \
        assert_non_null(strstr(record.message, (words))); \
    } while (0)

/* Of a sweep of 3 points. */
static void wrong_parts(const saltus_sweep *s)
{
    static const double times[] = {1.0};
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    saltus_sweep_file *f = NULL;
    saltus_memory *memory = NULL;
    saltus_hdf5_options of_file = saltus_hdf5_options_default();
    saltus_sweep_options options = saltus_sweep_options_default(), wrong;
    options.load = load;
    options.run.times = times;
    options.run.n_times = 1;
    REFUSED_FOR(saltus_sweep_shard(s, 0, 0, false, &options, &of_file, err), "shard 0 of 0");
    REFUSED_FOR(saltus_sweep_shard(s, 0, -1, false, &options, &of_file, err), "shard 0 of -1");
    REFUSED_FOR(saltus_sweep_shard(s, -1, 2, false, &options, &of_file, err), "shard -1 of 2");
    REFUSED_FOR(saltus_sweep_shard(s, 5, 2, false, &options, &of_file, err), "shard 5 of 2");
    assert_true(of_file.n_shards == 0 && options.n_points == 0);
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    assert_int_equal(saltus_memory_open(p, &options.run, 3, NULL, &memory, NULL), SALTUS_OK);
    for (int i = 0; i < 2; ++i) {
        const char *const words = i == 0 ? "law 99" : "-1 numbers apart";
        wrong = options;
        if (i == 0) {
            wrong.law = (saltus_law)99;
        } else {
            wrong.runs_apart = -1;
        }
        REFUSED_FOR(saltus_sweep_run(s, &wrong, saltus_memory_sweep_sink(memory), NULL, err),
                    words);
        REFUSED_FOR(saltus_sweep_file_open("none.h5", s, &wrong, p, NULL, &f, err), words);
    }
    saltus_memory_close(memory);
    saltus_plan_destroy(p);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

static void grids_hold_between_bounds(void **state)
{
    static const double wide[] = {-1e308, 0, 1e308}, far[] = {0, 0.85e308, 1.7e308};
    saltus_sweep *s = NULL;
    (void)state;
    assert_int_equal(saltus_sweep_create(&s, NULL), SALTUS_OK);
    assert_int_equal(saltus_sweep_vary(s, "x=lin:-1e308:1e308:3", NULL), SALTUS_OK);
    assert_int_equal(saltus_sweep_vary(s, "y=lin:0:1.7e308:5", NULL), SALTUS_OK);
    assert_int_equal(saltus_sweep_finish(s, NULL, 1, NULL), SALTUS_OK);
    for (int i = 0; i < 3; ++i) {
        assert_true(saltus_sweep_value(s, 0, 5 * i) == wide[i]);
        assert_true(saltus_sweep_value(s, 1, 2 * i) == far[i]);
    }
    saltus_sweep_destroy(s);
}

static void sweeps(void **state)
{
    saltus_sweep *s = NULL;
    saltus_sweep_file *f = NULL;
    saltus_sweep_options options = saltus_sweep_options_default();
    saltus_model *m = load(NULL, NULL);
    (void)state;
    REFUSED(saltus_sweep_create(NULL, err));
    saltus_sweep_destroy(NULL);
    assert_int_equal(saltus_sweep_create(&s, NULL), SALTUS_OK);
    REFUSED(saltus_sweep_vary(NULL, "k=list:1", err));
    REFUSED(saltus_sweep_vary(s, NULL, err));
    REFUSED(saltus_sweep_vary(s, "k=nothing", err));
    assert_int_equal(saltus_sweep_n_axes(s), 0); /* what is refused leaves nothing */
    assert_int_equal(saltus_sweep_vary(s, "k=lin:1:2", NULL), SALTUS_OK);
    REFUSED(saltus_sweep_vary(s, "k=list:1,2", err));
    assert_int_equal(saltus_sweep_n_axes(s), 1);
    REFUSED(saltus_sweep_finish(NULL, NULL, 1, err));
    assert_int_equal(saltus_sweep_n_points(s), 0);
    REFUSED(saltus_sweep_finish(s, NULL, 1, err)); /* a range without a number of values */
    assert_true(isnan(saltus_sweep_value(s, 0, 0)));
    assert_int_equal(saltus_sweep_n_points(s), 0);
    REFUSED(saltus_sweep_freeze(s, 0, m, SALTUS_LAW_LITERAL, err));
    REFUSED(saltus_sweep_finish(s, "nonsense", 1, err));
    REFUSED(saltus_sweep_finish(s, "file:x.csv", 1, err));
    options.load = load;
    REFUSED(saltus_sweep_run(s, &options, NULL, NULL, err)); /* no points */
    assert_int_equal(saltus_sweep_finish(s, "lhs:3", 1, NULL), SALTUS_OK);
    assert_int_equal(saltus_sweep_n_points(s), 3);
    assert_true(saltus_sweep_value(s, 0, 2) >= 1.0 && saltus_sweep_value(s, 0, 2) <= 2.0);
    REFUSED(saltus_sweep_finish(s, "lhs:4", 1, err));
    REFUSED(saltus_sweep_vary(s, "A=list:1", err));
    assert_int_equal(saltus_sweep_n_points(s), 3);
    static const struct {
        int axis;
        int64_t point;
    } outside[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 3}, {INT32_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
        assert_true(isnan(saltus_sweep_value(s, outside[i].axis, outside[i].point)));
    }
    assert_true(isnan(saltus_sweep_value(NULL, 0, 0)));
    assert_string_equal(saltus_sweep_name(s, 0), "k");
    assert_string_equal(saltus_sweep_name(s, 1), "");
    assert_string_equal(saltus_sweep_name(NULL, 0), "");
    assert_int_equal(saltus_sweep_n_axes(NULL), 0);
    assert_int_equal(saltus_sweep_n_points(NULL), 0);
    assert_int_equal(saltus_sweep_axis_length(NULL, 0), 0);
    assert_int_equal(saltus_sweep_axis_length(s, 5), 0);
    REFUSED(saltus_sweep_freeze(s, 3, m, SALTUS_LAW_LITERAL, err));
    REFUSED(saltus_sweep_freeze(s, 0, NULL, SALTUS_LAW_LITERAL, err));
    REFUSED(saltus_sweep_freeze(NULL, 0, m, SALTUS_LAW_LITERAL, err));
    char text[600];
    REFUSED(saltus_sweep_check(s, 3, NULL, SALTUS_LAW_LITERAL, NULL, text, sizeof text, err));
    REFUSED(saltus_sweep_check(NULL, 3, m, SALTUS_LAW_LITERAL, NULL, text, sizeof text, err));
    REFUSED(saltus_sweep_check(s, 3, m, SALTUS_LAW_LITERAL, NULL, text, 0, err));
    REFUSED(saltus_sweep_check(s, 3, m, SALTUS_LAW_LITERAL, NULL, NULL, sizeof text, err));
    REFUSED(saltus_sweep_run(NULL, &options, NULL, NULL, err));
    REFUSED(saltus_sweep_run(s, NULL, NULL, NULL, err));
    wrong_parts(s);
    options.load = NULL;
    REFUSED(saltus_sweep_run(s, &options, NULL, NULL, err));
    REFUSED(saltus_sweep_file_open("x.h5", s, &options, NULL, NULL, &f, err));
    REFUSED(saltus_sweep_file_close(NULL, NULL, err));
    assert_null(saltus_sweep_file_sink(NULL));
    saltus_sweep_destroy(s);
    saltus_sweep_destroy(s);
    static const char *const names[] = {"k", "A", "k"};
    static const double values[] = {1, 2, 3, 4, (double)NAN, 6};
    assert_int_equal(saltus_sweep_create(&s, NULL), SALTUS_OK);
    REFUSED(saltus_sweep_table(NULL, names, 2, values, 2, err));
    REFUSED(saltus_sweep_table(s, NULL, 2, values, 2, err));
    REFUSED(saltus_sweep_table(s, names, 2, NULL, 2, err));
    REFUSED(saltus_sweep_table(s, names, 0, values, 2, err));
    REFUSED(saltus_sweep_table(s, names, 2, values, 0, err));
    REFUSED(saltus_sweep_table(s, names, 2, values, INT64_C(1) << 40, err));
    REFUSED(saltus_sweep_table(s, names, 3, values, 1, err));
    REFUSED(saltus_sweep_table(s, (const char *const[]){"k", NULL}, 2, values, 1, err));
    REFUSED(saltus_sweep_table(s, names, 2, values, 3, err));
    assert_int_equal(saltus_sweep_n_axes(s), 0);
    assert_int_equal(saltus_sweep_table(s, names, 2, values, 2, NULL), SALTUS_OK);
    REFUSED(saltus_sweep_table(s, names, 2, values, 2, err));
    assert_int_equal(saltus_sweep_n_points(s), 2);
    saltus_sweep_destroy(s);
    saltus_model_destroy(m);
}

static void memories(void **state)
{
    static const double times[] = {1.0};
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    saltus_memory *memory = NULL;
    saltus_run_options run = saltus_run_options_default();
    saltus_memory_options options = saltus_memory_options_default();
    const saltus_sink none = {0};
    (void)state;
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    REFUSED(saltus_memory_open(p, &run, 0, NULL, &memory, err)); /* no times */
    run.times = times;
    run.n_times = 1;
    REFUSED(saltus_memory_open(NULL, &run, 0, NULL, &memory, err));
    REFUSED(saltus_memory_open(p, NULL, 0, NULL, &memory, err));
    REFUSED_FOR(saltus_memory_open(p, &run, -1, NULL, &memory, err), "-1 points");
    REFUSED(saltus_memory_open(p, &run, 0, NULL, NULL, err));
    options.derive = "mean:nothing";
    REFUSED(saltus_memory_open(p, &run, 0, &options, &memory, err));
    options = (saltus_memory_options){.record = SALTUS_RECORD_HISTOGRAM, .n_bins = -1};
    REFUSED(saltus_memory_open(p, &run, 0, &options, &memory, err));
    assert_null(memory);
    assert_null(saltus_memory_sink(NULL));
    assert_null(saltus_memory_sweep_sink(NULL));
    assert_null(saltus_memory_get(NULL).counts);
    REFUSED(saltus_memory_replay(NULL, &none, err));
    saltus_memory_close(NULL);
    assert_int_equal(saltus_memory_open(p, &run, 0, NULL, &memory, NULL), SALTUS_OK);
    assert_int_equal(saltus_memory_get(memory).n_runs, 0);
    assert_true(isnan(saltus_memory_get(memory).mean[0]) &&
                isnan(saltus_memory_get(memory).max[0]));
    REFUSED(saltus_memory_replay(memory, &none, err));
    saltus_memory_close(memory);
    saltus_memory_close(memory);
    saltus_plan_destroy(p);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

/* Memory and a file of 2 points with 10 trajectories, or of 100, are given other sweeps. */
static void other_sweeps(void **state)
{
    static const double times[] = {0, 1, 2};
    saltus_model *m = frozen();
    saltus_backend *b = NULL;
    saltus_plan *p = NULL;
    (void)state;
    assert_int_equal(saltus_backend_open("cpu", &b, NULL), SALTUS_OK);
    assert_int_equal(saltus_plan_create(m, b, NULL, &p, NULL), SALTUS_OK);
    for (int i = 0; i < 4 * 4; ++i) { /* 100 points are simulated at once, and go to it together */
        const bool is_many = i % 4 > 0, is_file = i % 4 == 3;
        saltus_sweep *s = NULL;
        saltus_memory *memory = NULL;
        saltus_sweep_file *file = NULL;
        saltus_memory_options o = saltus_memory_options_default();
        saltus_sweep_options options = saltus_sweep_options_default();
        o.without_statistics = i % 4 == 2;
        options.load = load;
        options.run.times = times;
        options.run.n_times = 2;
        options.run.n_trajectories = 10;
        assert_int_equal(saltus_sweep_create(&s, NULL), SALTUS_OK);
        assert_int_equal(saltus_sweep_vary(s, is_many ? "k=lin:1:2:100" : "k=lin:1:2:2", NULL),
                         SALTUS_OK);
        assert_int_equal(saltus_sweep_finish(s, NULL, 1, NULL), SALTUS_OK);
        if (is_file) {
            (void)remove("others.h5");
            assert_int_equal(saltus_sweep_file_open("others.h5", s, &options, p, NULL, &file, NULL),
                             SALTUS_OK);
        } else {
            assert_int_equal(
                saltus_memory_open(p, &options.run, is_many ? 100 : 2, &o, &memory, NULL),
                SALTUS_OK);
        }
        const saltus_sweep_sink *const sink =
            is_file ? saltus_sweep_file_sink(file) : saltus_memory_sweep_sink(memory);
        options.run.n_times = i / 4 == 0 ? 3 : 2;
        options.run.n_trajectories = i / 4 == 1 ? 200 : 10;
        options.run.seed = i / 4 == 2 && !is_file ? 99 : 1;
        if (i / 4 == 3 || (i / 4 == 2 && is_file)) {
            assert_int_equal(saltus_sweep_run(s, &options, sink, NULL, &record), SALTUS_OK);
        } else {
            REFUSED(saltus_sweep_run(s, &options, sink, NULL, err));
        }
        if (is_file) {
            assert_int_equal(saltus_sweep_file_close(file, NULL, NULL), SALTUS_OK);
        }
        saltus_memory_close(memory);
        saltus_sweep_destroy(s);
    }
    saltus_plan_destroy(p);
    saltus_backend_close(b);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(models),
        cmocka_unit_test(backends_and_plans),
        cmocka_unit_test(runs),
        cmocka_unit_test(sweeps),
        cmocka_unit_test(memories),
        cmocka_unit_test(shards),
        cmocka_unit_test(grids_hold_between_bounds),
        cmocka_unit_test(other_runs),
        cmocka_unit_test(other_sweeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
