/* Results as CSV: which tables there are, what is in them, and how they come to their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a command prints, to be freed. */
__attribute__((format(printf, 1, 2))) static char *printed(const char *format, ...)
{
    char line[1000];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const outcome o = saltus("%s", line);
    assert_done(&o);
    return strdup(o.out);
}

static void assert_file(const char *name, const char *expected)
{
    char *text = read_file(name);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0) {
        fail_msg("'%.200s' does not start with '%s'", text, start);
    }
}

static void assert_no_temporary(void)
{
    assert_int_equal(system("test -z \"$(ls | grep -E '[.-][A-Za-z0-9]{6}$')\""), 0);
}

/* Field number f, from 0, of line l of a table, as a number. */
static double value_at(const char *text, int l, int f)
{
    for (; l > 0; --l) {
        text = strchr(text, '\n') + 1;
    }
    for (; f > 0; --f) {
        text = strchr(text, ',') + 1;
    }
    return strtod(text, NULL);
}

/* ---- files ---- */

static void make_result(void)
{
    const outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 7 -q -o r.h5");
    assert_done(&o);
}

static void tables_get_their_names_whole(void **state)
{
    (void)state;
    make_result();
    static const char *const verbs[] = {"export", "stats --csv"};
    for (int i = 0; i < 2; ++i) {
        char *expected = printed("%s r.h5", verbs[i]), name[20];
        (void)snprintf(name, sizeof name, "a%d.csv", i);
        outcome o = saltus("%s r.h5 -o %s", verbs[i], name);
        assert_done(&o);
        assert_string_equal(o.out, "");
        assert_file(name, expected);
        write_file(name, "precious");
        o = saltus("%s r.h5 -o %s", verbs[i], name);
        assert_refused(&o, 2, "csv: exists");
        assert_non_null(strstr(o.err, "hint: --overwrite"));
        assert_file(name, "precious");
        o = saltus("%s r.h5 -o %s --overwrite", verbs[i], name);
        assert_done(&o);
        assert_file(name, expected);
        write_file(name, "");
        o = saltus("%s r.h5 -o %s", verbs[i], name);
        assert_done(&o);
        assert_file(name, expected);
        o = saltus("%s r.h5 -o -", verbs[i]);
        assert_done(&o);
        assert_string_equal(o.out, expected);
        free(expected);
    }
    assert_no_temporary();
    struct stat st;
    const mode_t mask = umask(022);
    outcome o = saltus("stats r.h5 -o m.csv");
    (void)umask(mask);
    assert_done(&o);
    assert_int_equal(stat("m.csv", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
}

static void links_stay_links(void **state)
{
    struct stat st;
    (void)state;
    make_result();
    write_file("real.csv", "old");
    assert_int_equal(symlink("real.csv", "link.csv"), 0);
    const outcome o = saltus("export r.h5 -o link.csv --overwrite");
    assert_done(&o);
    assert_int_equal(lstat("link.csv", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    char *expected = exported("r.h5");
    assert_file("real.csv", expected);
    free(expected);
}

static void tables_that_cannot_be(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"export r.h5 -o t.tsv", "tables are written as CSV"},
        {"export r.h5 -o t.h5", "tables are written as CSV"},
        {"stats r.h5 -o t.xlsx", "tables are written as CSV"},
        {"stats r.h5 -o ''", "the name of a file is needed"},
        {"stats r.h5 -o nowhere/t.csv", "nowhere/t.csv: cannot be written: No such file"},
        {"stats r.h5 -o .", "cannot be written: Is a directory"},
        {"export r.h5 --xdmf -o t.csv", "takes no -o"},
        {"export r --overwrite -o r", "that is the result file itself"},
        {"export r.h5 -o pipe", "exists and is no regular file"},
        {"export r.h5 --histogram -o t.csv", "holds no histograms"},
        {"export r.h5 --derived -o t.csv", "holds no derived quantities"},
        {"stats r.h5 --derived -o t.csv", "holds no derived quantities"},
        {"export r.h5 --histogram --derived", "at a time"},
        {"stats r.h5 --quantiles 1.5", "numbers from 0 to 1"},
        {"stats r.h5 --quantiles nan", "numbers from 0 to 1"},
        {"stats r.h5 --quantiles 0.5,0.1,0.50", "0.50 is there twice"},
        {"stats r.h5 --quantiles 0.5,", "numbers from 0 to 1"},
        {"stats r.h5 --quantiles ''", "numbers from 0 to 1"},
        {"stats s.h5 --quantiles 0.5", "holds no samples"},
        {"export s.h5", "holds no trajectories"},
    };
    (void)state;
    make_result();
    assert_int_equal(system("cp r.h5 r"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    outcome o = saltus("run decay.yaml --until 2 --record stats -q -o s.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        o = saltus("%s", cases[i].line);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("t.csv"));
    }
    assert_no_temporary();
}

/* Of a model in which nothing changes there are the times, and a word of what can be named. */
static void tables_without_columns(void **state)
{
    (void)state;
    write_file("still.yaml", "parameters: {k: 2}\nreactions: {}\n");
    outcome o = saltus("run still.yaml --until 1 --points 2 --runs 2 -o t.csv");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "nothing is recorded"));
    assert_file("t.csv", "run,time\n0,0\n0,1\n1,0\n1,1\n");
    o = saltus("run still.yaml --until 1 --points 2 --species k -q -o k.csv");
    assert_done(&o);
    assert_string_equal(o.err, "");
    assert_file("k.csv", "run,time,k\n0,0,2\n0,1,2\n");
}

/* Neither half a table nor a lost one. */
static void a_table_that_does_not_fit_is_an_error(void **state)
{
    struct rlimit limit;
    (void)state;
    const outcome made = saltus("run decay.yaml --until 2 --points 101 --runs 50 -q -o r.h5");
    assert_done(&made);
    write_file("old.csv", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {12 << 10, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const outcome o = saltus("export r.h5 -o old.csv --overwrite");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_refused(&o, 1, "old.csv: writing failed");
    assert_file("old.csv", "old");
    assert_no_temporary();
}

/* ---- a run or a sweep straight into a table ---- */

static void runs_write_tables(void **state)
{
    static const char *const records[][2] = {{"all", "export"},
                                             {"final", "export"},
                                             {"stats", "stats --csv"},
                                             {"histogram", "export --histogram"}};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        const char *record = records[i][0];
        for (int sweep = 0; sweep < 2; ++sweep) {
            const char *what = sweep ? "sweep decay.yaml --vary k=list:1,2" : "run decay.yaml";
            outcome o = saltus("%s --until 2 --points 3 --runs 7 --record %s -q -o %s%d.h5", what,
                               record, record, sweep);
            assert_done(&o);
            o = saltus("%s --until 2 --points 3 --runs 7 --record %s -q -o %s%d.csv", what, record,
                       record, sweep);
            assert_done(&o);
            char *expected = printed("%s %s%d.h5", records[i][1], record, sweep), name[40];
            (void)snprintf(name, sizeof name, "%s%d.csv", record, sweep);
            assert_file(name, expected);
            free(expected);
            o = saltus("%s --until 2 --record %s -q -o %s%d.csv", what, record, record, sweep);
            assert_refused(&o, 2, "csv: exists");
        }
    }
    outcome o = saltus("run decay.yaml --until 2 --json -o J.CSV");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"output\": \"J.CSV\""));
    assert_no_temporary();
    char *last = printed("export final0.h5");
    assert_starts(last, "run,time,A,B,share\n0,2,");
    assert_int_equal(count_lines(last), 1 + 7);
    free(last);
}

static void other_endings_are_refused(void **state)
{
    static const char *const names[] = {"a.txt", "a.tsv",     "a.json",  "a.xlsx",
                                        "a.png", "a.parquet", "a.csv.gz"};
    static const char *const good[] = {"b.h5", "b.hdf5", "b.HE5", "b", "k=0.5", "d.ir/b"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        outcome o = saltus("run decay.yaml --until 1 -o %s", names[i]);
        assert_refused(&o, 2, "HDF5, FILE.h5, or as a table, FILE.csv");
        o = saltus("sweep decay.yaml --vary k=list:1 --until 1 -o %s", names[i]);
        assert_refused(&o, 2, "HDF5, FILE.h5, or as a table, FILE.csv");
        assert_false(file_exists(names[i]));
    }
    assert_int_equal(mkdir("d.ir", 0700), 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        const outcome o = saltus("run decay.yaml --until 1 -q -o %s", good[i]);
        assert_done(&o);
        free(printed("stats %s", good[i]));
    }
    static const struct {
        const char *options, *part;
    } cases[] = {{"--frames 1", "--frames and --profile need"},
                 {"--profile x", "--frames and --profile need"},
                 {"--derive mean:A", "--derive needs a result file"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run decay.yaml --until 1 -o c.csv %s", cases[i].options);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("c.csv"));
    }
}

static void interrupted_runs_keep_their_table(void **state)
{
    long long n = 0;
    (void)state;
    const pid_t child =
        start_saltus("run busy.yaml --until 2 --points 3 --runs 1e8 --progress -o i.csv");
    wait_for_progress();
    assert_int_equal(kill(child, SIGINT), 0);
    const outcome o = finish_saltus(child);
    assert_refused(&o, 130, "they are in i.csv");
    assert_int_equal(sscanf(o.err, "saltus: interrupted after %lld of", &n), 1);
    char *text = read_file("i.csv");
    assert_int_equal(count_lines(text), 1 + 3 * n);
    free(text);
    assert_no_temporary();
}

/* ---- what is in them ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Variance, Fano factor and quantiles of A at the last of 3 times, from the trajectories. */
static void columns_are_what_they_say(void **state)
{
    enum { RUNS = 41 };
    double a[RUNS], sum = 0, squares = 0;
    (void)state;
    outcome o =
        saltus("run decay.yaml --until 2 --points 3 --runs %d --species A,B -q -o r.h5", RUNS);
    assert_done(&o);
    char *all = exported("r.h5");
    for (int i = 0; i < RUNS; ++i) {
        a[i] = value_at(all, 3 + 3 * i, 2);
        sum += a[i];
    }
    for (int i = 0; i < RUNS; ++i) {
        squares += (a[i] - sum / RUNS) * (a[i] - sum / RUNS);
    }
    qsort(a, RUNS, sizeof *a, compare);
    free(all);
    char *plain = printed("stats r.h5 --csv");
    assert_starts(plain, "time,A-mean,B-mean,A-sd,B-sd\n0,100,0,0,0\n");
    char *t = printed("stats r.h5 --variance --fano --quantiles 0,0.1,0.22,0.34,0.51,0.68,0.83,1");
    assert_starts(t, "time,A-mean,B-mean,A-sd,B-sd,A-variance,B-variance,A-fano,B-fano,A-q0,B-q0,"
                     "A-q0.1,B-q0.1,A-q0.22,B-q0.22,");
    assert_non_null(strstr(t, ",A-q1,B-q1\n0,100,0,0,0,0,0,0,nan,100,0,"));
    assert_true(fabs(value_at(t, 3, 5) - squares / (RUNS - 1)) < 1e-9);
    assert_true(fabs(value_at(t, 3, 7) - squares / (RUNS - 1) / (sum / RUNS)) < 1e-9);
    static const double p[] = {0, 0.1, 0.22, 0.34, 0.51, 0.68, 0.83, 1};
    for (int q = 0; q < 8; ++q) {
        const double at = (RUNS - 1) * p[q];
        const int k = (int)at, next = k + 1 < RUNS ? k + 1 : k;
        const double expected = a[k] + (at - k) * (a[next] - a[k]);
        assert_true(fabs(value_at(t, 3, 9 + 2 * q) - expected) < 1e-9);
    }
    char *csv = printed("stats r.h5 --csv --fano");
    assert_starts(csv, "time,A-mean,B-mean,A-sd,B-sd,A-fano,B-fano\n");
    free(csv);
    free(t);
    free(plain);
}

static void quantiles_of_bins_are_those_of_samples(void **state)
{
    static const char options[] = "decay.yaml --until 2 --points 3 --runs 41 --species A,B -q";
    (void)state;
    outcome o = saltus("run %s -o all.h5", options);
    assert_done(&o);
    o = saltus("run %s --record histogram -o bins.h5", options);
    assert_done(&o);
    o = saltus("run %s --record final -o final.h5", options);
    assert_done(&o);
    o = saltus("run %s --record histogram --bins 8 -o wide.h5", options);
    assert_done(&o);
    o = saltus("run %s --record histogram --range 0:20 --bins 20 -o part.h5", options);
    assert_done(&o);
    char *all = printed("stats all.h5 --quantiles 0,0.1,0.5,0.77,1");
    char *bins = printed("stats bins.h5 --quantiles 0,0.1,0.5,0.77,1");
    assert_string_equal(all, bins);
    char *last = printed("stats final.h5 --quantiles 0,0.1,0.5,0.77,1");
    assert_true(isnan(value_at(last, 2, 5)));
    for (int f = 5; f < 15; ++f) {
        assert_true(value_at(last, 3, f) == value_at(all, 3, f));
    }
    o = saltus("stats wide.h5 --quantiles 0,0.1,0.5,0.77,1");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "warning: quantiles are of histograms with bins wider than 1"));
    assert_non_null(strstr(o.err, "at most 15 below"));
    for (int f = 5; f < 15; ++f) {
        const double low = value_at(o.out, 3, f), x = value_at(all, 3, f);
        assert_true(low <= x && x <= low + 15);
    }
    o = saltus("stats part.h5 --quantiles 0,1");
    assert_done(&o);
    assert_true(isnan(value_at(o.out, 1, 5))); /* 100: outside */
    free(all);
    free(bins);
    free(last);
}

static void histograms_are_tables(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 9 --record histogram --bins 16 "
                       "--range 0:32 -q -o h.h5");
    assert_done(&o);
    char *text = printed("export h.h5 --histogram");
    assert_starts(text, "time,species,low,high,count\n0,A,-inf,0,0\n0,A,0,2,0\n");
    assert_non_null(strstr(text, "\n0,A,32,inf,9\n1,A,-inf,0,0\n"));
    assert_int_equal(count_lines(text), 1 + 2 * 3 * 18);
    for (int block = 0; block < 6; ++block) {
        double n = 0;
        for (int l = 0; l < 18; ++l) {
            n += value_at(text, 1 + 18 * block + l, 4);
        }
        assert_true(n == 9);
    }
    free(text);
    o = saltus("sweep decay.yaml --vary k=list:1,2 --until 2 --points 2 --runs 9 --species B "
               "--record histogram --bins 4 -q -o s.h5");
    assert_done(&o);
    text = printed("export s.h5 --histogram");
    assert_starts(text, "k,time,species,low,high,count\n1,0,B,0,");
    assert_int_equal(count_lines(text), 1 + 2 * 2 * 4);
    free(text);
}

/* ---- derived quantities ---- */

static void runs_derive_as_sweeps_do(void **state)
{
    static const char options[] = "--until 2 --points 21 --runs 300 "
                                  "--derive mean:A,final:share,passage:B:85,period:A --burn-in 0.5";
    static const char *const records[] = {"all", "stats", "final", "histogram"};
    (void)state;
    outcome o = saltus("sweep decay.yaml --vary k=list:1 %s --record stats -q -o s.h5", options);
    assert_done(&o);
    char *swept = printed("export s.h5 --derived"), *line = swept,
         *expected = calloc(1, strlen(swept));
    for (char *end; (end = strchr(line, '\n')); line = end + 1) { /* without "k," and "1," */
        (void)strncat(expected, line + 2, (size_t)(end - line - 1));
    }
    for (int i = 0; i < 4; ++i) {
        o = saltus("run decay.yaml %s --record %s --threads %d -q -o d%d.h5", options, records[i],
                   1 + i, i);
        assert_done(&o);
        char *text = printed("export d%d.h5 --derived", i);
        assert_starts(text, "run,mean:A,final:share,passage:B:85,period:A\n0,");
        assert_string_equal(text, expected);
        free(text);
    }
    char *table = printed("stats d0.h5 --derived --fano --quantiles 0.5");
    assert_starts(table, "quantity,runs,mean,sd,fano,q0.5\nmean:A,300,");
    assert_non_null(strstr(table, "\nperiod:A,"));
    assert_true(value_at(table, 3, 1) < 300); /* some never come to 85 */
    char *summary = printed("stats d0.h5");
    assert_non_null(strstr(summary, "\nof every trajectory:\n"));
    assert_non_null(strstr(summary, "\n  mean:A "));
    free(summary);
    free(table);
    summary = printed("run decay.yaml %s", options);
    assert_non_null(strstr(summary, "\n  passage:B:85 "));
    free(summary);
    free(expected);
    free(swept);
}

static void wrong_quantities_leave_nothing(void **state)
{
    static const struct {
        const char *options, *part;
    } cases[] = {
        {"--derive mean:C", "'C' is not recorded"},
        {"--derive mean", "--derive 'mean'"},
        {"--derive passage:A", "a threshold is needed"},
        {"--derive mean:A,mean:A", "'mean:A' is named twice"},
        {"--derive mean:A --burn-in 2", "the last sample is at time 1"},
        {"--derive mean:A --burn-in nan", "--burn-in 'nan'"},
        {"--burn-in 0.5", "--burn-in is for --derive"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run decay.yaml %s --until 1 -o d.h5", cases[i].options);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("d.h5"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(tables_get_their_names_whole),
        TEST(links_stay_links),
        TEST(tables_that_cannot_be),
        TEST(tables_without_columns),
        TEST(a_table_that_does_not_fit_is_an_error),
        TEST(runs_write_tables),
        TEST(other_endings_are_refused),
        TEST(interrupted_runs_keep_their_table),
        TEST(columns_are_what_they_say),
        TEST(quantiles_of_bins_are_those_of_samples),
        TEST(histograms_are_tables),
        TEST(runs_derive_as_sweeps_do),
        TEST(wrong_quantities_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
