#include "saltus/saltus.h"
#include "write/hdf5/sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { POINTS = 21, RUNS = 64 };

/* Two states: half of the runs go up, half go down; the second species never changes. */
static void write_reals(const char *path, saltus_record record, const char *const names[3],
                        double odd, int n_odd)
{
    static int64_t counts[RUNS][POINTS][3], numbers[RUNS];
    static double reals[RUNS][POINTS][1], times[POINTS];
    static const char *const real_names[1] = {"ratio"};
    saltus_hdf5_sink *sink = NULL;
    void *prepared = NULL;
    for (int i = 0; i < RUNS; ++i) {
        numbers[i] = i;
        for (int p = 0; p < POINTS; ++p) {
            times[p] = p * 0.5;
            counts[i][p][0] = 100 + (i % 2 ? 4 : -4) * p + (i * 7 + p * 3) % 11;
            counts[i][p][1] = 5;
            counts[i][p][2] = p + i % 3;
            reals[i][p][0] = p >= 7 && i < n_odd ? odd : sin(0.3 * p + i);
        }
    }
    saltus_hdf5_layout l = {.model_name = "it's `odd` %s",
                            .model_sha256 = "",
                            .method = "direct",
                            .device = "cpu",
                            .layout = "lanes",
                            .n_trajectories = RUNS,
                            .times = times,
                            .n_points = POINTS,
                            .n_counts = 3,
                            .n_observables = 1,
                            .count_names = names,
                            .observable_names = real_names,
                            .options = saltus_hdf5_options_default()};
    l.options.overwrite = true;
    l.options.record = record;
    assert_int_equal(saltus_hdf5_sink_create(path, &l, &sink, NULL), SALTUS_OK);
    const saltus_block block = {.trajectories = numbers,
                                .n_trajectories = RUNS,
                                .n_points = POINTS,
                                .n_counts = 3,
                                .n_observables = 1,
                                .counts = &counts[0][0][0],
                                .observables = &reals[0][0][0]};
    const saltus_sink *s = saltus_hdf5_sink_get(sink);
    assert_int_equal(s->prepare(s->user, &block, &prepared, NULL), SALTUS_OK);
    assert_int_equal(s->deliver(s->user, &block, prepared, NULL), SALTUS_OK);
    assert_int_equal(saltus_hdf5_sink_close(sink, NULL, NULL), SALTUS_OK);
}

static void write_results(const char *path, saltus_record record, const char *const names[3])
{
    write_reals(path, record, names, 0, 0);
}

static const char *const plain_names[3] = {"X", "idle", "Y"};

static saltus_status plot(const char *path, const char *figure, const char *kind,
                          const char *species, saltus_error *err)
{
    saltus_results *r = NULL;
    saltus_plot_options options = saltus_plot_options_default();
    options.kind = kind;
    options.species = species;
    assert_int_equal(saltus_results_open(path, &r, NULL), SALTUS_OK);
    *err = (saltus_error){0};
    const saltus_status status = saltus_results_plot(r, figure, &options, err);
    saltus_results_close(r);
    return status;
}

static void expect_figure(const char *path, const char *figure, const char *kind,
                          const char *species)
{
    saltus_error err;
    struct stat st;
    (void)unlink(figure);
    if (plot(path, figure, kind, species, &err) == SALTUS_E_UNAVAILABLE) {
        print_message("%s\n", err.message);
        skip();
    }
    if (err.code != SALTUS_OK) {
        fail_msg("%s: %s", kind, err.message);
    }
    assert_int_equal(stat(figure, &st), 0);
    assert_true(st.st_size > 1000);
}

static bool starts_with(const char *path, const char *head)
{
    char text[16] = {0};
    FILE *f = fopen(path, "rb");
    const bool good = f && fread(text, 1, strlen(head), f) == strlen(head) &&
                      memcmp(text, head, strlen(head)) == 0;
    if (f) {
        (void)fclose(f);
    }
    return good;
}

static bool holds(const char *path, const char *text)
{
    static char all[1 << 20];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    all[fread(all, 1, sizeof all - 1, f)] = '\0';
    (void)fclose(f);
    return strstr(all, text) != NULL;
}

static void the_ending_chooses_the_format(void **state)
{
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, plain_names);
    expect_figure("t.h5", "t.png", "auto", NULL);
    assert_true(starts_with("t.png", "\x89PNG"));
    expect_figure("t.h5", "t.PDF", "auto", NULL);
    assert_true(starts_with("t.PDF", "%PDF"));
    expect_figure("t.h5", "t.svg", "auto", NULL);
    assert_true(starts_with("t.svg", "<?xml"));
    expect_figure("t.h5", "|echo.svg", "auto", NULL);
}

static void every_kind_can_be_drawn(void **state)
{
    static const char *const kinds[] = {"auto", "bands", "trajectories", "histogram", "heatmap"};
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, plain_names);
    for (size_t i = 0; i < 5; ++i) {
        expect_figure("t.h5", "t.svg", kinds[i], NULL);
        expect_figure("t.h5", "t.svg", kinds[i], "X");
        expect_figure("t.h5", "t.svg", kinds[i], "idle");
        if (i < 3) {
            expect_figure("t.h5", "t.svg", kinds[i], "ratio");
            expect_figure("t.h5", "t.svg", kinds[i], "Y,ratio,X");
        }
    }
}

static void every_record_has_a_figure(void **state)
{
    saltus_error err;
    (void)state;
    for (int record = SALTUS_RECORD_STATS; record <= SALTUS_RECORD_HISTOGRAM; ++record) {
        write_results("t.h5", (saltus_record)record, plain_names);
        expect_figure("t.h5", "t.svg", "auto", NULL);
        expect_figure("t.h5", "t.svg", "bands", NULL);
        assert_int_equal(plot("t.h5", "no.svg", "trajectories", NULL, &err), SALTUS_E_INVALID);
        assert_int_equal(plot("t.h5", "t.svg", "histogram", NULL, &err),
                         record == SALTUS_RECORD_STATS ? SALTUS_E_INVALID : SALTUS_OK);
        assert_int_equal(plot("t.h5", "t.svg", "heatmap", NULL, &err),
                         record == SALTUS_RECORD_HISTOGRAM ? SALTUS_OK : SALTUS_E_INVALID);
    }
    assert_int_not_equal(access("no.svg", F_OK), 0);
}

/* Infinite, undefined and huge values are left out, wherever they are. */
static void values_may_be_no_numbers(void **state)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN, 1.7e308};
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        for (int n_odd = 1; n_odd <= RUNS; n_odd += RUNS - 1) {
            for (int record = SALTUS_RECORD_ALL; record <= SALTUS_RECORD_STATS; ++record) {
                write_reals("t.h5", (saltus_record)record, plain_names, odd[i], n_odd);
                expect_figure("t.h5", "t.svg", "auto", "ratio");
                expect_figure("t.h5", "t.svg", "bands", "ratio,X");
            }
            write_reals("t.h5", SALTUS_RECORD_ALL, plain_names, odd[i], n_odd);
            expect_figure("t.h5", "t.svg", "trajectories", "X,ratio");
        }
    }
}

/* What a file's author calls a species is never run, neither by gnuplot nor by a shell. */
static void names_are_only_names(void **state)
{
    static const char *const evil[3] = {"'; system('touch pwned'); '", "`touch pwned`2 34",
                                        "a\nsystem 'touch pwned'\n\"$(touch pwned)\""};
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, evil);
    expect_figure("t.h5", "t.svg", "auto", NULL);
    assert_true(holds("t.svg", "it's `odd` %s"));
    assert_true(holds("t.svg", "'; system('touch pwned'); '"));
    expect_figure("t.h5", "t.svg", "bands", "`touch pwned`2 34");
    assert_true(holds("t.svg", "`touch pwned`2 34 (molecules)"));
    expect_figure("t.h5", "t.svg", "heatmap", NULL);
    expect_figure("t.h5", "`touch pwned`'x.svg", "bands", NULL);
    assert_int_not_equal(access("pwned", F_OK), 0);
}

/* Commas within parentheses belong to a name, as in run --species. */
static void names_may_hold_commas(void **state)
{
    static const char *const net[3] = {"R(a,l!1).L(r!1)", "a,b", "R(a,l)"};
    saltus_error err;
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, net);
    expect_figure("t.h5", "t.svg", "bands", "R(a,l), R(a,l!1).L(r!1)");
    assert_true(holds("t.svg", "R(a,l!1).L(r!1)"));
    assert_int_equal(plot("t.h5", "t.svg", "bands", "R(a,l),", &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "no species ''"));
    assert_int_equal(plot("t.h5", "t.svg", "bands", "a,b", &err), SALTUS_E_INVALID);
}

enum { MANY = 11 };

/* Species s counts up to s + 1. */
static void write_many(const char *path)
{
    static int64_t counts[RUNS][POINTS][MANY], numbers[RUNS];
    static double times[POINTS];
    static const char *const names[MANY] = {"S1", "S2", "S3", "S4",  "S5", "S6",
                                            "S7", "S8", "S9", "S10", "S11"};
    saltus_hdf5_sink *sink = NULL;
    void *prepared = NULL;
    for (int i = 0; i < RUNS; ++i) {
        numbers[i] = i;
        for (int p = 0; p < POINTS; ++p) {
            times[p] = p;
            for (int s = 0; s < MANY; ++s) {
                counts[i][p][s] = (i + p) % (s + 2);
            }
        }
    }
    saltus_hdf5_layout l = {.model_name = "many",
                            .model_sha256 = "",
                            .method = "direct",
                            .device = "cpu",
                            .layout = "lanes",
                            .n_trajectories = RUNS,
                            .times = times,
                            .n_points = POINTS,
                            .n_counts = MANY,
                            .count_names = names,
                            .options = saltus_hdf5_options_default()};
    l.options.overwrite = true;
    assert_int_equal(saltus_hdf5_sink_create(path, &l, &sink, NULL), SALTUS_OK);
    const saltus_block block = {.trajectories = numbers,
                                .n_trajectories = RUNS,
                                .n_points = POINTS,
                                .n_counts = MANY,
                                .counts = &counts[0][0][0]};
    const saltus_sink *s = saltus_hdf5_sink_get(sink);
    assert_int_equal(s->prepare(s->user, &block, &prepared, NULL), SALTUS_OK);
    assert_int_equal(s->deliver(s->user, &block, prepared, NULL), SALTUS_OK);
    assert_int_equal(saltus_hdf5_sink_close(sink, NULL, NULL), SALTUS_OK);
}

/* A figure says how many of the species it leaves out. */
static void what_is_left_out_is_told(void **state)
{
    (void)state;
    write_many("many.h5");
    expect_figure("many.h5", "t.svg", "heatmap", NULL);
    assert_true(holds("t.svg", "3 of 11 species"));
    assert_true(holds("t.svg", ">S9<") && holds("t.svg", ">S10<") && holds("t.svg", ">S11<"));
    expect_figure("many.h5", "t.svg", "bands", NULL);
    assert_true(holds("t.svg", "6 of 11 species"));
    expect_figure("many.h5", "t.svg", "heatmap", "S1,S2,S3,S4");
    assert_true(holds("t.svg", "3 of 4 species named"));
    expect_figure("many.h5", "t.svg", "heatmap", "S1,S2,S3");
    assert_false(holds("t.svg", " species"));
    write_results("t.h5", SALTUS_RECORD_ALL, plain_names);
    expect_figure("t.h5", "t.svg", "bands", NULL); /* what never moves is not missed */
    assert_false(holds("t.svg", " species"));
}

/* Whether a text of the figure is a number with a fraction. */
static bool has_fraction(const char *path)
{
    static char all[1 << 20];
    FILE *f = fopen(path, "rb");
    bool found = false;
    assert_non_null(f);
    all[fread(all, 1, sizeof all - 1, f)] = '\0';
    (void)fclose(f);
    for (const char *c = all; !found && (c = strstr(c, "<text>")); ++c) {
        const char *digits = c + 6 + strspn(c + 6, " ");
        const char *end = digits + strspn(digits, "0123456789.");
        found = memchr(digits, '.', (size_t)(end - digits)) && strncmp(end, "</text>", 7) == 0;
    }
    return found;
}

static void numbers_at_counts_are_whole(void **state)
{
    (void)state;
    write_many("many.h5");
    for (int s = 1; s <= MANY; ++s) {
        char name[8];
        (void)snprintf(name, sizeof name, "S%d", s);
        expect_figure("many.h5", "t.svg", "trajectories", name);
        assert_true(s == 1 || !has_fraction("t.svg"));
    }
    expect_figure("many.h5", "t.svg", "histogram", "S3"); /* of shares, on the other axis */
    assert_true(has_fraction("t.svg"));
}

static void wrong_wishes_are_refused(void **state)
{
    saltus_error err;
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, plain_names);
    assert_int_equal(plot("t.h5", "t.gif", "auto", NULL, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.hint, ".svg, .png or .pdf"));
    assert_int_equal(plot("t.h5", "noending", "auto", NULL, &err), SALTUS_E_INVALID);
    assert_int_equal(plot("t.h5", "x.svg", "pie", NULL, &err), SALTUS_E_INVALID);
    assert_int_equal(plot("t.h5", "x.svg", "auto", "X,Z", &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "'Z'"));
    assert_int_equal(plot("t.h5", "x.svg", "histogram", "ratio", &err), SALTUS_E_INVALID);
    assert_int_equal(plot("t.h5", "no/such/x.svg", "auto", NULL, &err), SALTUS_E_IO);
    assert_int_not_equal(access("x.svg", F_OK), 0);
}

static void a_missing_gnuplot_is_told(void **state)
{
    saltus_error err;
    char *path = strdup(getenv("PATH"));
    (void)state;
    write_results("t.h5", SALTUS_RECORD_ALL, plain_names);
    (void)setenv("PATH", "/nowhere", 1);
    assert_int_equal(plot("t.h5", "none.svg", "auto", NULL, &err), SALTUS_E_UNAVAILABLE);
    (void)setenv("PATH", path, 1);
    assert_non_null(strstr(err.hint, "gnuplot-nox"));
    assert_int_not_equal(access("none.svg", F_OK), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ending_chooses_the_format),
        cmocka_unit_test(every_kind_can_be_drawn),
        cmocka_unit_test(every_record_has_a_figure),
        cmocka_unit_test(values_may_be_no_numbers),
        cmocka_unit_test(names_are_only_names),
        cmocka_unit_test(names_may_hold_commas),
        cmocka_unit_test(what_is_left_out_is_told),
        cmocka_unit_test(numbers_at_counts_are_whole),
        cmocka_unit_test(wrong_wishes_are_refused),
        cmocka_unit_test(a_missing_gnuplot_is_told),
    };
    char folder[] = "saltus-plot-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("..") != 0 || system(command) != 0 || failed != 0;
}
