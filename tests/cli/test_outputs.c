/* Where the command's results go, and what happens when they cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void outputs_that_cannot_be_written(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 -o nowhere/out.h5");
    assert_refused(&o, 2, "nowhere/out.h5: cannot be created");
    o = saltus("run decay.yaml --until 1 -o .");
    assert_refused(&o, 2, ".");
    o = saltus("run decay.yaml --until 1 -o decay.yaml");
    assert_refused(&o, 2, "-o 'decay.yaml': results are written as HDF5");
    char *text = read_file("decay.yaml");
    assert_string_equal(text, decay_model);
    free(text);
    o = saltus("run decay.yaml --until 1 --record histogram --range 1:2 --bins 2000000 -o out.h5");
    assert_refused(&o, 2, "--bins");
    assert_false(file_exists("out.h5"));
    if (geteuid() != 0) {
        (void)mkdir("locked", 0500);
        o = saltus("run decay.yaml --until 1 -o locked/out.h5");
        assert_refused(&o, 2, "locked/out.h5: cannot be created");
    }
}

/* An older result survives a refused run. */
static void refused_runs_leave_older_results_alone(void **state)
{
    (void)state;
    char *before = trajectories("--runs 3");
    outcome o = saltus("run decay.yaml --until 1 -o t.h5 --species nothing");
    assert_refused(&o, 2, "nothing");
    o = saltus("run decay.yaml --until 1e308 -o t.h5");
    assert_refused(&o, 2, "sample time");
    o = saltus("run decay.yaml --until 1 --points 1e11 -o t.h5");
    assert_refused(&o, 2, "hint: ask for fewer times");
    o = saltus("run decay.yaml --until 1 --record histogram --species share -o t.h5");
    assert_refused(&o, 2, "histograms are of counts");
    char *after = exported("t.h5");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* A model, a user's file beside a result, another result: whatever stands there stays as it is. */
static void nothing_is_replaced_unasked(void **state)
{
    static const char *const refused[][2] = {
        {"run decay.yaml --until 1 --overwrite -o decay.yaml", "FILE.csv"},
        {"run decay.yaml --until 1 --overwrite -o mine.h5", "is no HDF5 file"},
        {"run decay.yaml --until 1 --trace busy.yaml", "Saltus has not written it"},
        {"run decay.yaml --until 1 --overwrite -o pipe", "is no regular file"},
        {"run decay.yaml --until 1 --trace pipe", "is a named pipe"},
        {"run decay.yaml --until 1 -o t.h5", "t.h5: exists and is a result"},
        {"sweep decay.yaml --vary k=list:1,2 --until 1 -o t.h5", "t.h5: exists and is a result"},
        {"stats pipe", "it is a named pipe, not a file"},
        {"stats /dev/null", "it is a device, not a file"},
        {"resume pipe", "it is a named pipe, not a file"},
        {"merge pipe -o m.h5", "it is a named pipe, not a file"},
        {"run decay.yaml --until 1 --append -o pipe", "it is a named pipe, not a file"},
        {"info pipe", "it is a named pipe, not a file"},
    };
    (void)state;
    keep_results();
    write_file("mine.h5", decay_model);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    outcome o = saltus("run decay.yaml --until 1 -q -o t.h5");
    assert_done(&o);
    char *before = exported("t.h5");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        o = saltus("%s", refused[i][0]);
        assert_refused(&o, 2, refused[i][1]);
    }
    char *after = exported("t.h5"), *model = read_file("mine.h5");
    assert_string_equal(before, after);
    assert_string_equal(model, decay_model);
    o = saltus("run decay.yaml --until 1 --seed 2 --overwrite -q -o t.h5");
    assert_done(&o);
    o = saltus("sweep decay.yaml --vary k=list:1,2 --until 1 --overwrite -q -o t.h5");
    assert_done(&o);
    free(before);
    free(after);
    free(model);
}

static void full_disks_leave_a_readable_file(void **state)
{
    (void)state;
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=2m") != 0) {
        skip();
    }
    outcome o = saltus("run busy.yaml --until 1 --runs 100000 --compress small -q -o small/out.h5");
    char *text = o.code == 1 ? exported("small/out.h5") : NULL;
    o = saltus("stats small/out.h5 --csv");
    const outcome refused = o;
    (void)umount("small");
    assert_done(&refused);
    assert_non_null(text);
    assert_true(count_lines(text) > 1000);
    free(text);
}

/* A table whose name another takes while it is written. */
static void tables_that_come_second_are_kept(void **state)
{
    (void)state;
    keep_results();
    for (int overwrites = 0; overwrites < 2; ++overwrites) {
        glob_t found = {0};
        (void)unlink("late.csv");
        const pid_t child = start_saltus("run busy.yaml --until 1 --points 101 --runs 20000 -q "
                                         "-o late.csv%s",
                                         overwrites ? " --overwrite" : "");
        while (glob("late.csv.??????", 0, NULL, &found) != 0) {
            (void)usleep(1000);
        }
        write_file("late.csv", "mine");
        const outcome o = finish_saltus(child);
        char *text = read_file("late.csv");
        if (overwrites) {
            assert_done(&o);
        } else {
            assert_refused(&o, 1, "late.csv: cannot be written: File exists");
            assert_non_null(strstr(o.err, found.gl_pathv[0]));
            assert_string_equal(text, "mine");
            free(text);
            text = read_file(found.gl_pathv[0]);
            (void)unlink(found.gl_pathv[0]);
        }
        assert_int_equal(count_lines(text), 101 * 20000 + 1);
        free(text);
        globfree(&found);
    }
}

/* Trajectories in a result, as stats tells. */
static long in_file(const char *path)
{
    const outcome o = saltus("stats %s", path);
    const char *behind = strchr(o.out, ':');
    return o.code == 0 && behind ? strtol(behind + 1, NULL, 10) : -1;
}

/* Whatever a full disk stops, the last samples or the end: what was delivered stays, also if it is
 * resumed in vain, and elsewhere the rest follows. */
static void full_disks_keep_what_was_delivered(void **state)
{
    static const int runs[] = {250, 290, 330, 500};
    char command[200];
    long delivered[4], after[4];
    (void)state;
    FILE *out = fopen("wide.yaml", "w");
    assert_non_null(out);
    fprintf(out, "species: {A: 9, B: 9, C: 9, D: 9, E: 9, F: 9, G: 9, H: 9}\nreactions:\n");
    for (char c = 'A'; c <= 'H'; ++c) {
        fprintf(out, "  b%c: 0 -> %c @ 900\n  d%c: %c -> 0 @ 1\n", c, c, c, c);
    }
    assert_int_equal(fclose(out), 0);
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=4m") != 0) {
        skip();
    }
    for (int i = 0; i < 4; ++i) {
        (void)saltus(
            "run wide.yaml --until 20 --points 1001 --runs %d -q -o small/o.h5 --overwrite",
            runs[i]);
        delivered[i] = in_file("small/o.h5");
        (void)saltus("resume small/o.h5 -q");
        after[i] = in_file("small/o.h5");
        (void)snprintf(command, sizeof command, "mv small/o.h5 o%d.h5", i);
        (void)!system(command);
    }
    (void)umount("small");
    for (int i = 0; i < 4; ++i) {
        if (delivered[i] < 100 || after[i] < delivered[i]) {
            fail_msg("%d runs: %ld are there, %ld after resume", runs[i], delivered[i], after[i]);
        }
        outcome o = saltus("resume o%d.h5 -q", i);
        assert_done(&o);
        assert_int_equal(in_file((const char *[]){"o0.h5", "o1.h5", "o2.h5", "o3.h5"}[i]), runs[i]);
        o = saltus("run wide.yaml --until 20 --points 1001 --runs %d -q -o all.h5 --overwrite",
                   runs[i]);
        assert_done(&o);
        (void)snprintf(
            command, sizeof command,
            "for f in o%d all; do %s export $f.h5 | cksum; done | uniq | wc -l | grep -qx 1", i,
            getenv("SALTUS_COMMAND"));
        assert_int_equal(system(command), 0);
    }
}

static void full_disks_are_told(void **state)
{
    (void)state;
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=2m") != 0) {
        skip();
    }
    const outcome o =
        saltus("run busy.yaml --until 1 --runs 100000 --compress small -q -o small/a.h5");
    (void)umount("small");
    assert_refused(&o, 1, "No space left on device");
    assert_non_null(strstr(o.err, "hint: everything delivered so far"));
    assert_non_null(strstr(o.err, "is in the file; saltus resume small/a.h5 goes on\n"));
}

/* The file of which a table was to be made has what was delivered, and is kept; without -o none
 * is. */
static void full_disks_leave_what_a_table_was_made_of(void **state)
{
    glob_t found = {0};
    (void)state;
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=2m") != 0) {
        skip();
    }
    outcome o = saltus("run busy.yaml --until 1 --runs 100000 --compress small -q -o small/a.csv");
    (void)glob("small/*", 0, NULL, &found);
    const bool is_alone = found.gl_pathc == 1 && system("test -n \"$(find small -name '*.h5-*' "
                                                        "-perm 644)\" && mv small/* kept.h5") == 0;
    (void)setenv("TMPDIR", "small", 1);
    const int code = o.code;
    char *text = strdup(o.err);
    o = saltus("run busy.yaml --until 1 --runs 100000 --compress small --record all -q");
    (void)unsetenv("TMPDIR");
    const bool is_empty = system("test -z \"$(ls small)\"") == 0;
    (void)umount("small");
    assert_refused(&o, 1, "No space left on device");
    assert_null(strstr(o.err, "hint"));
    assert_true(is_empty);
    assert_int_equal(code, 1);
    assert_true(is_alone);
    assert_non_null(strstr(text, ": writing failed: No space left on device\n  hint: what was "
                                 "delivered is in small/a.csv.h5-"));
    assert_non_null(strstr(text, found.gl_pathv[0]));
    const long n = in_file("kept.h5");
    assert_true(n > 100);
    o = saltus("export kept.h5 -o a.csv");
    assert_done(&o);
    free(text);
    text = read_file("a.csv");
    assert_int_equal(count_lines(text), 1 + 101 * n);
    free(text);
    globfree(&found);
}

static void tables_without_room_say_why(void **state)
{
    (void)state;
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=64k") != 0) {
        skip();
    }
    const outcome run = saltus("run decay.yaml --until 1 --runs 99 -q -o long.h5");
    const int code = run.code;
    const outcome o = saltus("export long.h5 -o small/a.csv");
    const bool is_empty = system("test -z \"$(ls small)\"") == 0;
    (void)umount("small");
    assert_int_equal(code, 0);
    assert_refused(&o, 1, "small/a.csv: writing failed: No space left on device");
    assert_true(is_empty);
}

/* Said before anything is simulated. */
static void links_to_no_file_are_refused(void **state)
{
    static const char *const endings[] = {"h5", "csv"};
    char name[10];
    (void)state;
    for (int i = 0; i < 2; ++i) {
        (void)snprintf(name, sizeof name, "none.%s", endings[i]);
        assert_int_equal(symlink("far/away", name), 0);
        const outcome o = saltus("run decay.yaml --until 1 --runs 9 -q -o %s", name);
        assert_refused(&o, 2, "is a link to no file");
        assert_int_equal(unlink(name), 0);
    }
    assert_int_not_equal(system("ls none* >/dev/null 2>&1"), 0);
}

/* A first trajectory that takes longer than the test: the file is there, and nothing is in it. */
static void files_being_written_are_told(void **state)
{
    (void)state;
    write_file("long.yaml",
               "species: {A: 1000, B: 0}\nreactions: {turn: {equation: A -> A, law: 1e6}}\n");
    const pid_t child = start_saltus("run long.yaml --until 1e9 --checkpoint 0 -q -o out.h5");
    wait_for_file("out.h5");
    outcome o = saltus("stats out.h5 >x");
    while (!strstr(o.err, "holds no statistics yet")) { /* its head is not whole */
        o = saltus("stats out.h5 >x");
    }
    assert_non_null(strstr(o.err, "hint: the run goes on; its first trajectories are not written"));
    keep_results();
    o = saltus("run long.yaml --until 1e9 --append -o out.h5");
    assert_refused(&o, 2, "out.h5: another process is writing this file");
    o = saltus("resume out.h5");
    assert_refused(&o, 2, "out.h5: another process is writing this file");
    assert_int_equal(kill(child, SIGINT), 0);
    o = finish_saltus(child);
    assert_int_equal(o.code, 130);
    o = saltus("stats out.h5 >x");
    assert_non_null(strstr(o.err, "hint: the run was stopped before its first trajectories were"));
}

/* 80 PB and more: no disk has that. Nothing is left, and what was there stays. */
static void results_that_cannot_fit_are_refused(void **state)
{
    static const char *const lines[] = {
        "run busy.yaml --runs 1e14 -o huge.h5",
        "run busy.yaml --runs 1e14 --compress none -o huge.h5",
        "run busy.yaml --runs 10000000000000000 --compress small -o huge.h5",
        "run busy.yaml --runs 1000000000000000000 --record final -o huge.h5",
        "run busy.yaml --runs 1000000000000000000 --record stats --derive mean:A -o huge.h5",
        "run busy.yaml --runs 1e14 -o huge.csv",
        "run busy.yaml --runs 1e14 --record all",
        "sweep busy.yaml --vary A=lin:1:2:1e6 --runs 1e8 -o huge.h5",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        const outcome o = saltus("%s --until 1", lines[i]);
        assert_refused(&o, 2, "the results take ");
        assert_non_null(strstr(o.err, "B) are free on this disk\n  hint: --record stats keeps"));
        assert_false(file_exists("huge.h5") || file_exists("huge.csv"));
    }
    assert_int_equal(system("test -z \"$(ls | grep huge)\""), 0);
    char *before = trajectories("--runs 3");
    outcome o = saltus("run decay.yaml --until 1 --runs 1e14 --overwrite -o t.h5");
    assert_refused(&o, 2, "the results take ");
    char *after = exported("t.h5");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void closed_streams_are_no_success(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 >&-");
    assert_int_equal(o.code, 1);
    o = saltus("info decay.yaml >&-");
    assert_int_equal(o.code, 1);
    o = saltus("--version >&-");
    assert_int_equal(o.code, 1);
    o = saltus("run decay.yaml --until 1 -q -o out.h5");
    assert_done(&o);
    static const char *const lines[] = {"run decay.yaml --until 1",
                                        "run decay.yaml --until 1 --json",
                                        "info decay.yaml",
                                        "info decay.yaml --as yaml",
                                        "stats out.h5",
                                        "stats out.h5 --csv",
                                        "export out.h5",
                                        "devices",
                                        "--version"};
    for (size_t i = 0; file_exists("/dev/full") && i < sizeof lines / sizeof *lines; ++i) {
        o = saltus("%s >/dev/full", lines[i]);
        assert_refused(&o, 1, "standard output: writing failed: No space left on device");
    }
    o = saltus("run decay.yaml --until 1 --runs 99 -q -o long.h5"); /* more than a buffer holds */
    assert_done(&o);
    if (file_exists("/dev/full")) {
        o = saltus("export long.h5 >/dev/full");
        assert_refused(&o, 1, "standard output: writing failed: No space left on device");
    }
    /* What goes to a closed stderr must not land in the result file. */
    o = saltus("run decay.yaml --until 1 --runs 9 --explain --progress -o out.h5 2>&- <&-");
    assert_int_equal(o.code, 0);
    char *text = exported("out.h5");
    assert_int_equal(count_lines(text), 1 + 9 * 101);
    free(text);
    o = saltus("run decay.yaml --until 1 --nonsense 2>&-");
    assert_int_equal(o.code, 2);
    o = saltus("run busy.yaml --until 1 --runs 1000 -q -o out.h5");
    assert_done(&o);
    write_file("head.sh", "\"$SALTUS_COMMAND\" export out.h5 | head -n 2\n");
    o = saltus("export out.h5 | head -n 2");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 2);
}

/* TMPDIR may be long; one that is not there is named. */
static void temporary_files_go_where_told(void **state)
{
    char name[160] = "";
    (void)state;
    memset(name, 'a', 150);
    assert_int_equal(mkdir(name, 0700), 0);
    (void)setenv("TMPDIR", name, 1);
    outcome o = saltus("run decay.yaml --until 1");
    assert_done(&o);
    assert_int_equal(rmdir(name), 0); /* left empty */
    o = saltus("run decay.yaml --until 1");
    (void)unsetenv("TMPDIR");
    assert_refused(&o, 2, "no temporary file can be made in aaa");
    assert_non_null(strstr(o.err, "No such file or directory"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(outputs_that_cannot_be_written),      TEST(refused_runs_leave_older_results_alone),
        TEST(results_that_cannot_fit_are_refused), TEST(full_disks_leave_a_readable_file),
        TEST(full_disks_keep_what_was_delivered),  TEST(full_disks_are_told),
        TEST(tables_without_room_say_why),         TEST(files_being_written_are_told),
        TEST(links_to_no_file_are_refused),        TEST(closed_streams_are_no_success),
        TEST(temporary_files_go_where_told),       TEST(nothing_is_replaced_unasked),
        TEST(tables_that_come_second_are_kept),    TEST(full_disks_leave_what_a_table_was_made_of),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
