/* saltus sweep: its trajectories against those of single runs, its files, its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char grid[] = "--vary k=list:0.5,1 --vary A=lin:10:30:3 --until 2 --points 3 --runs 4";

/* What `saltus VERB FILE --csv` prints, to be freed. */
static char *printed(const char *verb, const char *file)
{
    const outcome o = saltus("%s %s --csv", verb, file);
    assert_done(&o);
    return strdup(o.out);
}

/* The next line of a text, with the end of the line taken off. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *text = end + 1;
    return line;
}

/* ---- the bits of single runs ---- */

/* Every point of the sweep against a run with the same values and numbers: the lines of both, those
 * of the sweep with "k,varied:A," in front. `verb` tells what is compared. */
static void compare_with_runs(const char *options, const char *verb, bool common)
{
    const outcome o = saltus("sweep decay.yaml %s %s %s -q -o s.h5", grid,
                             common ? "--common-random-numbers" : "", options);
    assert_done(&o);
    char *const all = printed(verb, "s.h5"), *swept = all;
    assert_int_equal(strncmp(next_line(&swept), "k,varied:A,", 11), 0);
    for (int g = 0; g < 6; ++g) {
        char front[40];
        const double k = g < 3 ? 0.5 : 1;
        const int a = 10 * (1 + g % 3), first = common ? 0 : 4 * g;
        const int n_front = snprintf(front, sizeof front, "%g,%d,", k, a);
        const outcome run = saltus("run decay.yaml --set k=%g --set A=%d --first %d --until 2 "
                                   "--points 3 --runs 4 %s -q -o r.h5",
                                   k, a, first, options);
        assert_done(&run);
        char *const single = printed(verb, "r.h5"), *expected = single;
        (void)next_line(&expected);
        while (*expected) {
            const char *line = next_line(&swept);
            assert_int_equal(strncmp(line, front, (size_t)n_front), 0);
            assert_string_equal(line + n_front, next_line(&expected));
        }
        free(single);
    }
    assert_string_equal(swept, "");
    free(all);
}

static void points_have_the_bits_of_single_runs(void **state)
{
    (void)state;
    compare_with_runs("--record all", "export", false);
    compare_with_runs("--record all", "export", true);
    compare_with_runs("--record all --species A,share", "export", false);
    compare_with_runs("--record all --seed 5 --rng mt19937", "export", false);
    compare_with_runs("--record all --method tau", "export", false);
    compare_with_runs("--record stats", "stats", false);
    compare_with_runs("--record histogram --range 5:20", "stats", true);
}

static void one_of_a_kind_is_one(void **state)
{
    (void)state;
    outcome o = saltus("sweep decay.yaml --vary k=list:1 --until 1 --explain -o one.h5");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "1 point, 1 trajectory, "));
    assert_non_null(strstr(o.err, "sweep     1 point, 1 trajectory at each\n"));
    o = saltus("stats one.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "1 point of 1 value, at each 1 trajectory, "));
    o = saltus("sweep decay.yaml --vary k=list:1 --until 1 --shard 0/2 -o none.h5");
    assert_refused(&o, 2, "shard 0 of 2: there is but 1 point");
    o = saltus("run decay.yaml --until 1 --shard 0/2 -o none.h5");
    assert_refused(&o, 2, "--shard 0/2: there is but 1 trajectory");
    o = saltus("run decay.yaml --until 1 --shard 1/2 -o none.h5");
    assert_refused(&o, 2, "--shard 1/2: there is but 1 trajectory");
}

/* Constants decide about classes of a large network, also where those of the first point are 0. On
 * the CPU so many points go at once. */
static void large_networks_have_the_bits_of_single_runs(void **state)
{
    (void)state;
    write_hops("hops.yaml");
    outcome o = saltus("sweep hops.yaml --vary k=lin:0:0.064:65 --until 0.5 --points 2 --runs 2 "
                       "--checkpoint 0 --species E,X0,X1 -q -o sweep.csv");
    assert_done(&o);
    for (int i = 0; i < 3; ++i) {
        const int point = 16 * i + 16;
        o = saltus("run hops.yaml --set k=%g --until 0.5 --points 2 --runs 2 --first %d "
                   "--species E,X0,X1 -q -o run.csv --overwrite",
                   0.001 * point, 2 * point);
        assert_done(&o);
        char command[300];
        (void)snprintf(command, sizeof command,
                       "grep -E '^[^,]*,(%d|%d),' sweep.csv | cut -d, -f2- >a && "
                       "tail -n +2 run.csv >b && test -s b && cmp a b",
                       2 * point, 2 * point + 1);
        assert_int_equal(system(command), 0);
    }
}

static void first_counts_for_all_points(void **state)
{
    (void)state;
    outcome o = saltus("sweep decay.yaml %s --first 100 -q -o s.h5", grid);
    assert_done(&o);
    char *const all = printed("export", "s.h5"), *swept = all;
    (void)next_line(&swept);
    for (int i = 0; i < 6 * 4 * 3; ++i) {
        int number = 0;
        assert_int_equal(sscanf(next_line(&swept), "%*f,%*f,%d", &number), 1);
        assert_int_equal(number, 100 + i / 3);
    }
    free(all);
}

static void threads_do_not_matter(void **state)
{
    static const char *const options[] = {"--record all", "--record all --method tau",
                                          "--record stats --runs 300",
                                          "--record histogram --derive mean:A"};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        const char *verb = i < 2 ? "export" : "stats";
        outcome o = saltus("sweep decay.yaml %s %s --threads 1 -q -o 1.h5", grid, options[i]);
        assert_done(&o);
        char *one = printed(verb, "1.h5");
        for (int threads = 2; threads <= 7; threads += 5) { /* 7: points are too few for all */
            o = saltus("sweep decay.yaml %s %s --threads %d -q -o n.h5", grid, options[i], threads);
            assert_done(&o);
            char *many = printed(verb, "n.h5");
            assert_string_equal(one, many);
            free(many);
        }
        free(one);
    }
}

/* ---- what is in the file ---- */

/* The numbers of a data set, as h5dump prints them, to be freed: separated by commas. */
static char *dumped(const char *file, const char *set)
{
    char line[300];
    (void)snprintf(
        line, sizeof line,
        "h5dump -A 0 -y -w 1 -m %%.17g -d '%s' %s | awk '/DATA \\{/ {on=1; next} /}/ {on=0} "
        "on {gsub(\"[ ,]\", \"\"); printf \"%%s,\", $0}' >dump",
        set, file);
    assert_int_equal(system(line), 0);
    return read_file("dump");
}

static void assert_dumped(const char *file, const char *set, const char *expected)
{
    char *text = dumped(file, set);
    if (strcmp(text, expected) != 0) {
        fail_msg("%s is %s, not %s", set, text, expected);
    }
    free(text);
}

static void assert_all_alike(const char *set, const char *other)
{
    char *a = dumped("s.h5", set), *b = dumped("r.h5", other);
    assert_true(strlen(a) > 0);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void files_hold_what_was_asked_for(void **state)
{
    (void)state;
    if (system("command -v h5dump >/dev/null") != 0) {
        skip();
    }
    /* With one point the numbers are those of a run's file. */
    static const char *const same[] = {"/final",
                                       "/final_observables",
                                       "/histogram/A/edges",
                                       "/histogram/B/counts",
                                       "/histogram/B/below",
                                       "/stats/variance",
                                       "/stats/observables/mean",
                                       "/time"};
    for (int i = 0; i < 2; ++i) {
        const char *record = i == 0 ? "--record final" : "--record histogram --range 3:90";
        outcome o = saltus("sweep decay.yaml --vary k=list:0.5 --until 2 --points 3 --runs 9 %s -q "
                           "-o s.h5",
                           record);
        assert_done(&o);
        o = saltus("run decay.yaml --set k=0.5 --until 2 --points 3 --runs 9 %s -q -o r.h5",
                   record);
        assert_done(&o);
        for (int j = i == 0 ? 0 : 2; j < (i == 0 ? 2 : 8); ++j) {
            assert_all_alike(same[j], same[j]);
        }
    }
    outcome o = saltus("sweep decay.yaml %s --derive final:A,above:B:1e9 -q -o s.h5", grid);
    assert_done(&o);
    assert_dumped("s.h5", "/sweep/k", "0.5,0.5,0.5,1,1,1,");
    assert_dumped("s.h5", "/sweep/A", "10,20,30,10,20,30,");
    assert_dumped("s.h5", "/sweep_names", "\"k\",\"A\",");
    assert_dumped("s.h5", "/sweep_shape", "2,3,");
    assert_dumped("s.h5", "/derived/above:B:1e9",
                  "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,");
    char *finals = dumped("s.h5", "/derived/final:A"), *all = printed("export", "s.h5");
    char *line = all, *final = finals;
    (void)next_line(&line);
    for (int i = 0; i < 24 * 3; ++i) {
        const char *row = next_line(&line);
        int time = 0, a = 0;
        assert_int_equal(sscanf(row, "%*f,%*f,%*d,%d,%d", &time, &a), 2);
        if (time == 2) {
            assert_int_equal(strtol(final, &final, 10), a);
            ++final;
        }
    }
    free(finals);
    free(all);
}

static void designs_are_the_points_of_the_file(void **state)
{
    (void)state;
    outcome o = saltus("sweep decay.yaml --vary k=lin:0:8 --vary A=lin:100:900 --design sobol:4 "
                       "--until 1 --points 2 -q -o s.h5");
    assert_done(&o);
    char *text = printed("stats", "s.h5"), *lines = text;
    static const double k[] = {0, 4, 2, 6}, a[] = {100, 500, 700, 300};
    (void)next_line(&lines);
    for (int g = 0; g < 4; ++g) {
        double x, y;
        (void)next_line(&lines);
        assert_int_equal(sscanf(next_line(&lines), "%lf,%lf", &x, &y), 2);
        assert_true(x == k[g] && y == a[g]);
    }
    free(text);
}

/* As spreadsheets write it. */
static void tables_are_the_points_of_the_file(void **state)
{
    (void)state;
    write_file("p.csv", "\xef\xbb\xbf"
                        "\"k\" ,A\r\n 0.5,10\r\n1.0e0,\"30\"\r\n\r\n");
    outcome o = saltus("sweep decay.yaml --design file:p.csv --until 2 --points 3 --runs 4 -q "
                       "-o p.h5");
    assert_done(&o);
    char *all = printed("export", "p.h5"), *swept = all;
    assert_string_equal(next_line(&swept), "k,varied:A,run,time,A,B,share");
    for (int g = 0; g < 2; ++g) {
        o = saltus("run decay.yaml --set k=%s --set A=%d --first %d --until 2 --points 3 --runs 4 "
                   "-q -o p%d.csv",
                   g ? "1" : "0.5", g ? 30 : 10, 4 * g, g);
        assert_done(&o);
        char name[10];
        (void)snprintf(name, sizeof name, "p%d.csv", g);
        char *text = read_file(name), *expected = text;
        (void)next_line(&expected);
        while (*expected) {
            const char *line = next_line(&swept), *front = g ? "1,30," : "0.5,10,";
            assert_int_equal(strncmp(line, front, strlen(front)), 0);
            assert_string_equal(line + strlen(front), next_line(&expected));
        }
        free(text);
    }
    assert_string_equal(swept, "");
    free(all);
}

static void wrong_tables_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "p.csv: is empty"},
        {"k,A\n", "p.csv: holds no points"},
        {"k,A\n1\n", "p.csv:2: fewer values"},
        {"k,A\n1,2,3\n", "p.csv:2: more values"},
        {"k,A\n1,2\n1,\n", "p.csv:3: 'A' has no value"},
        {"k,A\n1,2\n\n3,4\n", "p.csv:3: 'k' has no value"},
        {"k,A\n1,nan\n", "p.csv:2: 'nan', of 'A', is no number"},
        {"k\n1\n-inf\n", "p.csv:3: '-inf', of 'k', is no number"},
        {"k\n1e999\n", "p.csv:2: '1e999'"},
        {"k\n0x1\n", "p.csv:2: '0x1'"},
        {"k,A\n1,\"2\n", "p.csv:2: a quote is not closed"},
        {"k,A\n1,\"2\" 3\n", "p.csv:2: a comma is needed behind \"2\""},
        {"k;A\n1;2\n", "p.csv:1: \"k;A\" is no name; commas separate columns"},
        {"k,k\n1,2\n", "p.csv:1: 'k' is named twice"},
        {"k,\n1,2\n", "p.csv:1: column 2 has no name"},
        {"k,q\n1,2\n", "p.csv:1: 'q' cannot be set"},
        {"k,share\n1,2\n", "p.csv:1: 'share' cannot be set"},
        {"k,A\n1,2\n3,-4\n", "p.csv:3: "},
        {"\xff\xfek", "p.csv:1: the text is UTF-16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file("p.csv", cases[i].text);
        const outcome o = saltus("sweep decay.yaml --design file:p.csv --until 1 -o w.h5");
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("w.h5"));
    }
    char *long_field = calloc(2001, 1);
    memset(long_field, '1', 2000);
    memcpy(long_field, "k\n", 2);
    write_file("p.csv", long_field);
    free(long_field);
    outcome o = saltus("sweep decay.yaml --design file:p.csv --until 1 -o w.h5");
    assert_refused(&o, 2, "p.csv:2: a field is longer than 1000 bytes");
    o = saltus("sweep decay.yaml --design file:p.csv --vary k=list:1 --until 1 -o w.h5");
    assert_refused(&o, 2, "--vary cannot add to it");
    o = saltus("sweep decay.yaml --design file:p.csv --until 1 --overwrite -o p.csv");
    assert_refused(&o, 2, "that is the table of points itself");
    o = saltus("sweep decay.yaml --design file:nowhere.csv --until 1 -o w.h5");
    assert_refused(&o, 2, "nowhere.csv: cannot be read");
}

/* At a point that is not the first, too. */
static void sizes_below_0_are_refused(void **state)
{
    (void)state;
    write_file("size.yaml", "compartments: {V: 1}\nspecies: {A: {initial: 5, compartment: V}}\n"
                            "reactions: {r: A -> 0 @ 2}\n");
    outcome o = saltus("sweep size.yaml --vary V=list:1,2,-1 --until 1 -o w.h5");
    assert_refused(&o, 2, "size.yaml:1: compartment 'V': its size is -1");
    o = saltus("sweep size.yaml --vary V=list:1,2,0 --until 1 -q -o w.h5");
    assert_done(&o);
}

static void stats_and_export_tell_of_sweeps(void **state)
{
    (void)state;
    outcome o = saltus("sweep decay.yaml %s --record final --json -o s.h5", grid);
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"trajectories\": 24, \"points\": 6,"));
    assert_non_null(strstr(o.out, "\"complete\": true"));
    o = saltus("stats s.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "6 points of 2 values, at each 4 trajectories"));
    assert_int_equal(count_lines(o.out), 3 + 6);
    o = saltus("stats s.h5 --csv");
    assert_done(&o);
    assert_int_equal(strncmp(o.out,
                             "k,varied:A,time,A-mean,B-mean,share-mean,A-sd,B-sd,share-sd\n"
                             "0.5,10,0,10,0,1,0,0,0\n",
                             82),
                     0);
    assert_int_equal(count_lines(o.out), 1 + 6 * 3);
    char *last = printed("export", "s.h5");
    assert_int_equal(strncmp(last, "k,varied:A,run,time,A,B,share\n0.5,10,0,2,", 41), 0);
    assert_int_equal(count_lines(last), 1 + 24);
    free(last);
    o = saltus("sweep decay.yaml %s -o s.h5", grid);
    assert_done(&o);
    assert_int_equal(strncmp(o.out, "6 points, 24 trajectories, ", 27), 0);
    o = saltus("export s.h5");
    assert_done(&o);
    assert_int_equal(strncmp(o.out, "k,varied:A,run,time,A,B,share\n0.5,10,0,0,10,0,1\n", 48), 0);
    assert_int_equal(count_lines(o.out), 1 + 24 * 3);
}

/* ---- refusals and ends ---- */

static void wrong_sweeps_leave_nothing(void **state)
{
    static const struct {
        const char *options, *part;
    } cases[] = {
        {"", "--vary NAME=VALUES is needed"},
        {"--vary k", "--vary 'k'"},
        {"--vary q=list:1", "'q' cannot be set"},
        {"--vary share=list:1", "a rule determines it"},
        {"--vary k=list:1 --vary A=list:1 --vary k=list:2", "'k' is named twice"},
        {"--vary k=list:1,x", "'x' is no number"},
        {"--vary k=lin:2:1:3", "the low bound must be below"},
        {"--vary k=log:2:1:3", "the low bound must be below"},
        {"--vary k=log:0:1:3", "log needs bounds above 0"},
        {"--vary k=lin:0:1", "how many values"},
        {"--vary k=lin:0:1:0", "at least one value"},
        {"--vary k=lin:0:1:1e12", "at most 268435456 points"},
        {"--vary k=lin:0:1:1e6 --vary A=lin:0:1e6:1e6", "at most 268435456 points"},
        {"--vary k=lin:0:1 --design lhs", "--design 'lhs'"},
        {"--vary k=lin:0:1 --design lhs:0", "--design 'lhs:0'"},
        {"--vary k=lin:0:1 --design halton:9", "--design 'halton:9'"},
        {"--vary k=lin:0:1:3 --design lhs:9", "with --design"},
        {"--vary k=list:1 --derive mean:C", "'C' is not recorded"},
        {"--vary k=list:1 --derive mean:B --species A", "'B' is not recorded"},
        {"--vary k=list:1 --derive middle:A", "--derive 'middle:A'"},
        {"--vary k=list:1 --derive passage:A", "a threshold is needed"},
        {"--vary k=list:1 --derive mean:A,mean:A", "'mean:A' is named twice"},
        {"--vary k=list:1 --derive mean:A --burn-in -1", "--burn-in '-1'"},
        {"--vary k=list:1 --burn-in 0.5", "--burn-in is for --derive"},
        {"--vary k=list:1 --derive mean:A --burn-in 2", "the last sample is at time 1"},
        {"--vary k=list:1,2 --first 9223372036854775806", "2^63"},
        {"--vary k=list:1 --trace x.json", "--trace, --frames and --profile are for saltus run"},
        {"--vary k=list:1 --record histogram --species share", "histograms are of counts"},
        {"--vary k=list:1 --device cpu:other", "cpu:other"},
        {"--vary k=list:1 --method other", "method 'other'"},
        /* values that the model refuses, which come late */
        {"--vary A=list:1,2,3,-4", "initial amount -4 is negative"},
        {"--vary k=list:1,2 --vary A=list:1,2,-3", "initial amount -3 is negative"},
        {"--vary k=list:1,2,-1 --vary A=list:1,2", "rate constant is -1"},
        {"--vary A=lin:1:-1:2", "below"},
        {"--vary A=lin:-1:1 --design sobol:4", "negative"},
        {"--vary A=list:1,1e300", "no number of molecules"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o =
            saltus("sweep decay.yaml %s --until 1 --points 3 -o s.h5", cases[i].options);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("s.h5"));
    }
    outcome o = saltus("sweep decay.yaml --vary k=list:1 --until 1");
    assert_refused(&o, 2, "-o FILE.h5 or FILE.csv is needed");
    o = saltus("sweep decay.yaml --vary k=list:1 -o s.h5");
    assert_refused(&o, 2, "--until T is needed");
    o = saltus("sweep --vary k=list:1 --until 1 -o s.h5");
    assert_refused(&o, 2, "a model file is needed");
    o = saltus("sweep decay.yaml --vary k=list:1 --until 1 -o nowhere/s.h5");
    assert_refused(&o, 2, "nowhere/s.h5: cannot be created");
    write_file("mine.h5", decay_model);
    o = saltus("sweep decay.yaml --vary k=list:1 --until 1 -o mine.h5");
    assert_refused(&o, 2, "is no HDF5 file");
}

static void what_is_varied_need_not_be_set(void **state)
{
    (void)state;
    outcome o =
        saltus("sweep decay.yaml --vary k=list:1,2 --set A=5 --set k=3 --until 1 --points 2 "
               "-o x.csv");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "saltus: warning: --set 'k=3' is of no account: it is varied\n"));
    assert_null(strstr(o.err, "A=5"));
}

/* Half a molecule is told of, once, whichever point has it. */
static void amounts_that_are_rounded_are_told(void **state)
{
    (void)state;
    static const char *const said = ": species 'A': initial amount 2.5 is rounded to 2";
    static const struct {
        const char *options;
        int told;
    } cases[] = {{"--vary A=list:2.5,3", 1},
                 {"--vary A=list:2,2.5,3.5", 1},
                 {"--vary A=list:2,3", 0},
                 {"--vary k=list:1,2 --vary A=list:2,2.5", 1},
                 {"--vary k=list:1,2 --set A=2.5", 1},
                 {"--vary A=list:2,2.5 --method ode", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("sweep decay.yaml %s --until 1 --points 2 --overwrite -o x.h5",
                                 cases[i].options);
        assert_int_equal(o.code, 0);
        const char *at = strstr(o.err, said);
        assert_int_equal(at != NULL, cases[i].told);
        assert_null(at ? strstr(at + strlen(said), "is rounded") : NULL);
    }
}

/* A point's run may fail when those before it are done: they stay, and the message names it. */
static void failing_points_are_named(void **state)
{
    (void)state;
    write_file("fails.yaml", "species: {A: 10, B: 0}\nparameters: {k: 1}\nreactions:\n"
                             "  away: A -> B @ A*(k - 0.1*B)\n");
    const outcome o = saltus("sweep fails.yaml --vary k=list:9,8,7,0.01 --until 999 --points 3 "
                             "--runs 5 --threads 1 -q -o s.h5");
    assert_refused(&o, 1, "at k = 0.01: ");
    char *text = printed("export", "s.h5");
    assert_int_equal(count_lines(text), 1 + 3 * 5 * 3);
    free(text);
}

/* No two columns of a table have one name. */
static void what_is_varied_has_a_name_of_its_own(void **state)
{
    (void)state;
    write_file("names.yaml",
               "species: {run: 10, B: 3}\nparameters: {time: 1, quantity: 2, low: 4}\n"
               "reactions: {r: run -> B @ quantity}\n");
    static const struct {
        const char *options, *verb, *head;
    } cases[] = {
        {"--derive mean:B", "stats --derived", "varied:quantity,time,low,quantity,runs,mean,sd\n"},
        {"--derive mean:B", "stats --csv", "quantity,varied:time,low,time,run-mean,B-mean,"},
        {"--derive mean:B", "export --derived", "quantity,time,low,run,mean:B\n"},
        {"", "export", "quantity,varied:time,low,run,time,run,B\n"},
        {"--record histogram", "export --histogram",
         "quantity,varied:time,varied:low,time,species,low,high,count\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        outcome o = saltus("sweep names.yaml --vary quantity=list:1,2 --vary time=list:4 --vary "
                           "low=list:5 --until 1 --points 2 %s --overwrite -q -o names.h5",
                           cases[i].options);
        assert_done(&o);
        o = saltus("%s names.h5", cases[i].verb);
        assert_int_equal(o.code, 0);
        assert_int_equal(strncmp(o.out, cases[i].head, strlen(cases[i].head)), 0);
    }
}

/* Points before one that fails are done, whoever simulates them and however soon it fails: of few
 * points each is a run, of many all are one. */
static void points_before_one_that_fails_are_done(void **state)
{
    (void)state;
    write_file(
        "soon.yaml",
        "species: {A: 1000, B: 0}\nparameters: {k: 100, bad: 0}\nreactions:\n"
        "  there: A -> B @ k\n  back: B -> A @ k\n"
        "  never: {equation: 0 -> B, law: 'piecewise(0, time < 0.0005, 1/(1 - bad) - 1)'}\n");
    FILE *f = fopen("many.csv", "w");
    assert_non_null(f);
    (void)fprintf(f, "bad\n");
    for (int i = 0; i < 400; ++i) {
        (void)fprintf(f, "%d\n", i == 3 || i == 5);
    }
    assert_int_equal(fclose(f), 0);
    static const struct {
        const char *options;
        int points, runs;
    } cases[] = {{"--vary bad=list:0,1,0,1,0,0,0,0,0,0,0,0 --runs 20 --until 20", 1, 20},
                 {"--design file:many.csv --runs 1 --until 0.1", 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int threads = 1; threads <= 3; threads += 2) {
            const outcome o = saltus("sweep soon.yaml %s --points 2 --threads %d --overwrite -q "
                                     "-o soon.h5",
                                     cases[i].options, threads);
            assert_refused(&o, 1, "at bad = 1: ");
            char *text = printed("export", "soon.h5");
            assert_int_equal(count_lines(text), 1 + cases[i].points * cases[i].runs * 2);
            free(text);
        }
    }
}

/* The lines of a sweep that ended early are the first of the whole one's. */
static void assert_begins(const char *part, const char *options)
{
    outcome o = saltus("sweep busy.yaml %s -q -o whole.h5", options);
    assert_done(&o);
    char *whole = printed("export", "whole.h5");
    assert_true(strlen(part) <= strlen(whole));
    whole[strlen(part)] = '\0';
    assert_string_equal(part, whole);
    free(whole);
}

static void interrupted_sweeps_keep_the_points_before(void **state)
{
    (void)state;
    (void)unlink("out.h5");
    const pid_t child = start_saltus("sweep busy.yaml --vary A=lin:0:199999:200000 --until 20 "
                                     "--points 3 --runs 4 --progress -o out.h5");
    wait_for_progress();
    assert_int_equal(kill(child, SIGINT), 0);
    outcome o = finish_saltus(child);
    assert_refused(&o, 130, "interrupted after");
    int n = 0;
    assert_int_equal(sscanf(o.err, "saltus: interrupted after %d of 200000 points", &n), 1);
    assert_true(n > 0);
    char *part = printed("export", "out.h5");
    assert_int_equal(count_lines(part), 1 + n * 4 * 3);
    o = saltus("stats out.h5 --csv");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 1 + n * 3);
    o = saltus("stats out.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "incomplete"));
    char options[200];
    (void)snprintf(options, sizeof options, "--vary A=lin:0:%d:%d --until 20 --points 3 --runs 4",
                   n > 1 ? n - 1 : 1, n > 1 ? n : 2);
    assert_begins(part, options);
    free(part);
}

static void size_limits_leave_the_points_before(void **state)
{
    static const char *const packing[] = {"none", "fast"};
    struct rlimit limit;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    /* builds that take a part of the tests pack */
    for (int i = takes_part() ? 1 : 0; i < 2; ++i) {
        const struct rlimit small = {6 << 20, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        outcome o = saltus("sweep busy.yaml --vary A=lin:0:99999:100000 --until 0.001 --points 3 "
                           "--runs 200 --compress %s -q -o out.h5",
                           packing[i]);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_refused(&o, 1, "File too large");
        int n = 0;
        assert_int_equal(sscanf(strstr(o.err, "hint: "), "hint: %d points", &n), 1);
        assert_true(n >= 27);
        char *part = printed("export", "out.h5");
        assert_int_equal(count_lines(part), 1 + n * 200 * 3);
        char options[200];
        (void)snprintf(options, sizeof options,
                       "--vary A=lin:0:%d:%d --until 0.001 --points 3 --runs 200", n - 1, n);
        assert_begins(part, options);
        free(part);
        o = saltus("stats out.h5 --csv");
        assert_done(&o);
        assert_int_equal(count_lines(o.out), 1 + n * 3);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(points_have_the_bits_of_single_runs),
        TEST(one_of_a_kind_is_one),
        TEST(large_networks_have_the_bits_of_single_runs),
        TEST(first_counts_for_all_points),
        TEST(threads_do_not_matter),
        TEST(files_hold_what_was_asked_for),
        TEST(tables_are_the_points_of_the_file),
        TEST(wrong_tables_are_refused_with_their_line),
        TEST(designs_are_the_points_of_the_file),
        TEST(sizes_below_0_are_refused),
        TEST(stats_and_export_tell_of_sweeps),

        TEST(wrong_sweeps_leave_nothing),
        TEST(what_is_varied_need_not_be_set),
        TEST(amounts_that_are_rounded_are_told),
        TEST(failing_points_are_named),
        TEST(what_is_varied_has_a_name_of_its_own),
        TEST(points_before_one_that_fails_are_done),
        TEST(interrupted_sweeps_keep_the_points_before),
        TEST(size_limits_leave_the_points_before),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
