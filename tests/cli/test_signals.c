/* The command when it is told to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DEFERS_SIGNALS true
#endif
#endif
#ifndef DEFERS_SIGNALS
#define DEFERS_SIGNALS false
#endif

/* Every row of `part` must stand in `whole`; both are ordered by run. */
static void assert_rows_within(const char *part, const char *whole)
{
    while (*part) {
        const size_t n = strcspn(part, "\n") + 1;
        while (*whole && strncmp(part, whole, n) != 0) {
            whole = strchr(whole, '\n') + 1;
        }
        if (!*whole) {
            fail_msg("a row that a whole run does not have: %.*s", (int)n, part);
        }
        part += n;
    }
}

static void interrupt(int signal_number)
{
    const pid_t child =
        start_saltus("run busy.yaml --until 2 --points 3 --runs 1e8 --progress -o out.h5");
    wait_for_progress();
    assert_int_equal(kill(child, signal_number), 0);
    outcome o = finish_saltus(child);
    assert_refused(&o, 130, "interrupted after");
    assert_non_null(strstr(o.err, "they are in out.h5"));
    long long n = 0;
    assert_int_equal(sscanf(o.err, "saltus: interrupted after %lld of 100000000", &n), 1);
    assert_true(n > 0);
    char *part = exported("out.h5");
    assert_int_equal(count_lines(part), 1 + 3 * n);
    const char *row = part + strlen(part) - 1;
    while (row[-1] != '\n') {
        --row;
    }
    o = saltus("run busy.yaml --until 2 --points 3 --runs %lld -q -o whole.h5", atoll(row) + 1);
    assert_done(&o);
    char *whole = exported("whole.h5");
    assert_rows_within(part, whole);
    o = saltus("stats out.h5 --csv");
    assert_done(&o);
    free(part);
    free(whole);
}

static void interrupted_runs_keep_what_is_finished(void **state)
{
    (void)state;
    interrupt(SIGINT);
    interrupt(SIGTERM);
}

/* Without a file the summary is all there is. */
static void interrupted_runs_without_a_file_are_summed_up(void **state)
{
    (void)state;
    const pid_t child = start_saltus("run busy.yaml --until 2 --runs 1e8 --progress");
    wait_for_progress();
    assert_int_equal(kill(child, SIGINT), 0);
    const outcome o = finish_saltus(child);
    long long n = 0, told = 0;
    assert_int_equal(o.code, 130);
    assert_int_equal(sscanf(o.err, "saltus: interrupted after %lld of 100000000", &n), 1);
    const char *line = strstr(o.out, "\nincomplete: ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "\nincomplete: %lld of 100000000 trajectories\n", &told), 1);
    assert_true(n > 0 && told == n);
    assert_non_null(strstr(line, "\nat time 2:\n"));
}

/* Also in the middle of trajectories, of which none is finished: they would take hours. */
static void interrupts_need_no_end_of_a_trajectory(void **state)
{
    static const char *const layouts[] = {"lanes", "scalar"};
    (void)state;
    for (int l = 0; l < 2; ++l) {
        (void)unlink("out.h5");
        const pid_t child = start_saltus("run busy.yaml --until 1e9 --runs 200 --layout %s "
                                         "--json -o out.h5",
                                         layouts[l]);
        wait_for_file("out.h5");
        assert_int_equal(kill(child, SIGINT), 0);
        const outcome o = finish_saltus(child);
        assert_int_equal(o.code, 130);
        assert_is_json(o.out);
        assert_non_null(strstr(o.out, "\"complete\": false"));
        char *text = exported("out.h5");
        assert_int_equal(count_lines(text), 1);
        free(text);
    }
}

/* Before a pole rates grow until no reaction moves the time; leaps are taken up to there, by the
 * run or to find out how long it takes. */
static void interrupts_need_no_time_that_moves(void **state)
{
    static const char *const methods[] = {"tau", "direct"};
    (void)state;
    write_file("pole.yaml", "species: {A: 10}\nreactions:\n"
                            "  r: {equation: 0 -> A, law: 1/(time - 5)^2}\n");
    for (int m = 0; m < 2; ++m) {
        (void)unlink("out.h5");
        const pid_t child = start_saltus("run pole.yaml --until 6 --points 2 --threads 1 "
                                         "--method %s -o out.h5",
                                         methods[m]);
        wait_for_file("out.h5");
        (void)usleep(300000); /* it is there in some milliseconds */
        assert_int_equal(kill(child, SIGINT), 0);
        const outcome o = finish_saltus(child);
        assert_refused(&o, 130, "interrupted after 0 of");
    }
}

/* No trajectory ends: it is their times that tell how much is left. */
static void long_trajectories_tell_their_time(void **state)
{
    static const struct {
        const char *options;
        bool is_one;
    } cases[] = {
        {"--layout lanes", true},
        {"--layout scalar", true},
        {"--rng xorwow", true},
        {"--layout lanes --method tau", true},
        {"--layout scalar --method tau", true},
        {"--layout lanes --runs 40", false},
        {"--layout lanes --method tau --runs 200", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const pid_t child =
            start_saltus("run busy.yaml --until 1e9 --points 2 --device cpu --progress %s "
                         "-o long%d.h5",
                         cases[i].options, (int)i);
        const double time = wait_for_estimate();
        assert_int_equal(time > 0.0, cases[i].is_one);
        assert_int_equal(kill(child, SIGINT), 0);
        const outcome o = finish_saltus(child);
        assert_refused(&o, 130, "interrupted after 0 of");
    }
}

/* What passes a signal on to its children after their terminal did, as timeout does, sends two
 * within microseconds; that is no second wish. */
static void signals_at_once_are_one(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};
    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
        (void)unlink("out.h5");
        const pid_t child =
            start_saltus("run busy.yaml --until 2 --points 3 --runs 1e8 --json --progress "
                         "-o out.h5");
        wait_for_progress();
        for (int k = 0; k < 10; ++k) {
            (void)kill(child, signals[i]);
            (void)usleep(k < 5 ? 0 : 1000);
        }
        outcome o = finish_saltus(child);
        assert_int_equal(o.code, 130);
        assert_one_message(&o, "interrupted after");
        assert_non_null(strstr(o.out, "\"complete\": false"));
        long long n = 0;
        assert_int_equal(sscanf(o.err, "saltus: interrupted after %lld", &n), 1);
        assert_true(n > 0);
        char *text = exported("out.h5");
        assert_int_equal(count_lines(text), 1 + 3 * n);
        free(text);
        o = saltus("stats out.h5");
        assert_done(&o);
        assert_non_null(strstr(o.out, "incomplete"));
    }
}

/* nohup has SIGHUP ignored, and so it stays. */
static void an_ignored_hangup_stays_ignored(void **state)
{
    (void)state;
    (void)signal(SIGHUP, SIG_IGN);
    const pid_t child = start_saltus("run busy.yaml --until 30 --runs 20000 -q -o out.h5");
    (void)signal(SIGHUP, SIG_DFL);
    wait_for_file("out.h5");
    (void)kill(child, SIGHUP);
    const outcome o = finish_saltus(child);
    assert_done(&o);
}

static bool is_empty(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d)) {
        ++n;
    }
    (void)closedir(d);
    return n == 2;
}

static void skip_if_signals_wait(void)
{
    if (DEFERS_SIGNALS) {
        print_message("SKIP: ThreadSanitizer keeps signals back while a call in libc waits\n");
        skip();
    }
}

/* A run that hangs, here because nobody reads what it prints, ends with a second Ctrl-C; its
 * temporary file goes too. */
static void a_late_second_interrupt_ends_at_once(void **state)
{
    (void)state;
    skip_if_signals_wait();
    FILE *f = fopen("long.yaml", "w");
    (void)fputs("species: {", f);
    for (int i = 0; i < 10; ++i) { /* a table larger than a pipe holds */
        (void)fprintf(f, "%sA_%010000d: 1", i > 0 ? ", ? " : "? ", i);
    }
    (void)fputs("}\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(mkdir("tmp", 0700), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    (void)setenv("TMPDIR", "tmp", 1);
    const pid_t child = start_saltus("run long.yaml --until 1 --points 2 >pipe");
    (void)unsetenv("TMPDIR");
    const int reader = open("pipe", O_RDONLY);
    struct pollfd table = {.fd = reader, .events = POLLIN};
    assert_int_equal(poll(&table, 1, -1), 1); /* it prints */
    assert_false(is_empty("tmp"));
    const double first = seconds_now();
    (void)kill(child, SIGINT);
    (void)kill(child, SIGTERM);
    (void)usleep(200000);
    (void)kill(child, SIGINT);
    (void)usleep(200000);
    /* it goes on; on a machine so busy that this took long, the second one may have ended it */
    assert_true(!is_empty("tmp") || seconds_now() - first > 0.9);
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        (void)usleep(100000);
        (void)kill(child, SIGINT);
    }
    const outcome o = finish_saltus(child);
    (void)close(reader);
    assert_int_equal(o.code, 130);
    assert_true(is_empty("tmp"));
}

/* Before there are results there is nothing to wait for. */
static void an_interrupt_before_the_run_ends_at_once(void **state)
{
    (void)state;
    skip_if_signals_wait();
    assert_int_equal(mkfifo("model", 0600), 0);
    const pid_t child = start_saltus("run - --until 1 -o out.h5 <model");
    const int writer = open("model", O_WRONLY); /* waits for the command to be started */
    assert_int_equal(write(writer, "species:", 8), 8);
    for (int left = 8; left > 0; (void)usleep(2000)) { /* and to read */
        assert_int_equal(ioctl(writer, FIONREAD, &left), 0);
    }
    (void)usleep(100000);
    (void)kill(child, SIGINT);
    const outcome o = finish_saltus(child);
    (void)close(writer);
    assert_refused(&o, 130, "interrupted");
    assert_false(file_exists("out.h5"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(interrupted_runs_keep_what_is_finished),
        TEST(interrupted_runs_without_a_file_are_summed_up),
        TEST(interrupts_need_no_end_of_a_trajectory),
        TEST(interrupts_need_no_time_that_moves),
        TEST(long_trajectories_tell_their_time),
        TEST(signals_at_once_are_one),
        TEST(an_ignored_hangup_stays_ignored),
        TEST(a_late_second_interrupt_ends_at_once),
        TEST(an_interrupt_before_the_run_ends_at_once),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    (void)signal(SIGHUP, SIG_DFL); /* whoever started the tests may ignore it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
