/* Reading result files, whole, damaged and unfinished. */
#include "../support/hdf5_runs.h"

#include <hdf5.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char *printed(saltus_status (*print)(const saltus_results *, FILE *, saltus_error *),
                     const char *path, saltus_status expected)
{
    char *text = NULL;
    size_t size = 0;
    saltus_results *r = NULL;
    saltus_error err = {0};
    FILE *out = open_memstream(&text, &size);
    if (saltus_results_open(path, &r, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    if (print(r, out, &err) != expected) {
        fail_msg("%s", err.message);
    }
    saltus_results_close(r);
    (void)fclose(out);
    return text;
}

static void csv_has_every_sample(void **state)
{
    const int cases[2][2] = {{1, 0}, {3, 2}};
    (void)state;
    for (int k = 0; k < 2; ++k) {
        saltus_hdf5_layout l = layout_of(5, cases[k][0], cases[k][1], 400);
        char *expected = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&expected, &size);
        run_and_check(l, 0);
        (void)fputs(k ? "run,time,A,a/b,.,ratio,[A]\n" : "run,time,A\n", f);
        for (int64_t i = 5; i < 405; ++i) {
            for (int64_t p = 0; p < 5; ++p) {
                (void)fprintf(f, "%d,%s", (int)i,
                              (const char *[]){"0", "0.1", "0.2", "0.30000000000000004", "0.4"}[p]);
                for (int c = 0; c < l.n_counts; ++c) {
                    (void)fprintf(f, ",%d", (int)count_of(i, p, c));
                }
                for (int o = 0; o < l.n_observables; ++o) {
                    int digits = 15;
                    char text[400];
                    do {
                        (void)snprintf(text, sizeof text, "%.*g", digits++, real_of(i, p, o));
                    } while (strtod(text, NULL) != real_of(i, p, o));
                    (void)fprintf(f, ",%s", text);
                }
                (void)fputc('\n', f);
            }
        }
        (void)fclose(f);
        char *text = printed(saltus_results_print_csv, "t.h5", SALTUS_OK);
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
}

static void stats_are_printed(void **state)
{
    (void)state;
    saltus_hdf5_layout l = layout_of(2, 5, 1, 1);
    run_and_check(l, 0);
    char *text = printed(saltus_results_print_stats, "t.h5", SALTUS_OK);
    const char *head = "time,A-mean,a/b-mean,.-mean,100%-mean,\"x,\"\"y\"\"-mean\",ratio-mean,"
                       "A-sd,a/b-sd,.-sd,100%-sd,\"x,\"\"y\"\"-sd\",ratio-sd\n0,";
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_non_null(strstr(text, ",0,0,0,0,0,0\n0.1,"));
    free(text);
}

/* A spreadsheet must not take a name for a formula. */
static void names_are_no_formulas(void **state)
{
    const char *names[5] = {"=1+2", "-x", "@a,b", "+b", "a=b"};
    (void)state;
    saltus_hdf5_layout l = layout_of(2, 5, 0, 9);
    l.count_names = names;
    run_and_check(l, 0);
    char *text = printed(saltus_results_print_csv, "t.h5", SALTUS_OK);
    const char *head = "run,time,\"'=1+2\",\"'-x\",\"'@a,b\",\"'+b\",a=b\n";
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    free(text);
    text = printed(saltus_results_print_stats, "t.h5", SALTUS_OK);
    assert_non_null(strstr(text, ",\"'=1+2-sd\",\"'-x-sd\",\"'@a,b-sd\",\"'+b-sd\",a=b-sd\n"));
    free(text);
    l.options.record = SALTUS_RECORD_HISTOGRAM;
    run_and_check(l, 0);
    text = printed(saltus_results_print_histograms, "t.h5", SALTUS_OK);
    assert_non_null(strstr(text, "\n0,\"'@a,b\",0,"));
    free(text);
}

static void summary_is_for_people(void **state)
{
    (void)state;
    run_and_check(layout_of(3, 6, 1, 100), 0);
    char *text = printed(saltus_results_print_summary, "t.h5", SALTUS_OK);
    assert_non_null(strstr(text, "test model: 100 trajectories, direct on cpu:test, 1.235e+06 "
                                 "events, 2.5 s\nat time 0.2:\n"));
    assert_null(strstr(text, "incomplete"));
    free(text);
    saltus_hdf5_layout l = layout_of(3, 6, 1, 100);
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    assert_int_equal(feed_sink(sink, &l, 0, 50, 10, NULL), SALTUS_OK);
    finish_sink(sink);
    text = printed(saltus_results_print_summary, "t.h5", SALTUS_OK);
    assert_non_null(strstr(text, "incomplete: 50 of 100 trajectories\n"));
    free(text);
    finish_sink(create_sink("t.h5", &l));
    text = printed(saltus_results_print_summary, "t.h5", SALTUS_E_INVALID);
    free(text);
}

static void csv_needs_samples(void **state)
{
    saltus_hdf5_layout l = layout_of(3, 2, 0, 100);
    (void)state;
    l.options.record = SALTUS_RECORD_STATS;
    run_and_check(l, 0);
    free(printed(saltus_results_print_csv, "t.h5", SALTUS_E_INVALID));
}

static void expect_unreadable(const char *path, const char *text)
{
    saltus_error err = {0};
    saltus_results *r = NULL;
    assert_int_equal(saltus_results_open(path, &r, &err), SALTUS_E_IO);
    if (!strstr(err.message, text)) {
        fail_msg("%s", err.message);
    }
}

static void other_files_are_told_apart(void **state)
{
    (void)state;
    expect_unreadable("nothing.h5", "No such file or directory");
    FILE *f = fopen("text.h5", "w");
    (void)fputs("a text\n", f);
    (void)fclose(f);
    expect_unreadable("text.h5", "is no HDF5 file");
    (void)H5Fclose(H5Fcreate("other.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    expect_unreadable("other.h5", "no result of Saltus");
    run_and_check(layout_of(11, 3, 0, 1000), 0);
    assert_int_equal(truncate("t.h5", 4000), 0);
    expect_unreadable("t.h5", "truncated");
}

static void a_running_file_can_be_read(void **state)
{
    saltus_hdf5_layout l = layout_of(3, 2, 0, 100);
    saltus_results *r = NULL;
    int status = -1;
    (void)state;
    (void)unlink("t.h5");
    saltus_hdf5_sink *sink = create_sink("t.h5", &l);
    const pid_t child = fork(); /* HDF5 opens a file once per process */
    if (child == 0) {
        (void)H5close();
        _exit(saltus_results_open("t.h5", &r, NULL) == SALTUS_OK ? 0 : 1);
    }
    (void)waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    finish_sink(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_every_sample),       cmocka_unit_test(stats_are_printed),
        cmocka_unit_test(names_are_no_formulas),      cmocka_unit_test(summary_is_for_people),
        cmocka_unit_test(csv_needs_samples),          cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(a_running_file_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
