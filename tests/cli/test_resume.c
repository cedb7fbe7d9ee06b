/* Runs and sweeps that are stopped and go on, and results that are extended: in the end the file is
 * that of the run that was never stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "command.h"

#include <glob.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * Extending
 */

static void a_result_is_extended(void **state)
{
    static const char *const ways[] = {
        "--record all", "--record stats", "--record final --derive mean:A,passage:A:5",
        "--record histogram --bins 8", "--species share,A --compress none --method tau"};
    (void)state;
    keep_results();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        const char *all = "run decay.yaml --until 3 --points 5 -q";
        char a[30], b[30];
        (void)snprintf(a, sizeof a, "w%zu.h5", i);
        (void)snprintf(b, sizeof b, "p%zu.h5", i);
        outcome o = saltus("%s %s --first 3 --runs 700 -o %s", all, ways[i], a);
        assert_done(&o);
        o = saltus("%s %s --first 3 --runs 300 -o %s", all, ways[i], b);
        assert_done(&o);
        o = saltus("%s %s --runs 1 --append --threads 1 -o %s", all, ways[i], b);
        assert_done(&o);
        o = saltus("%s %s --first 304 --runs 399 --append -o %s", all, ways[i], b);
        assert_done(&o);
        assert_equal_results(a, b, 12);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *options, *part;
    } cases[] = {
        {"--until 3 --points 5 --seed 2", "seed is 1 there and 2 here"},
        {"--until 3 --points 6", "times is 5 from 0 to 3 there and 6 from 0 to 3 here"},
        {"--until 3 --points 5 --method tau", "method is direct there and tau here"},
        {"--until 3 --points 5 --record stats", "record is all there and stats here"},
        {"--until 3 --points 5 --set A=7", "values of parameters and amounts: not the same there"},
        {"--until 3 --points 5 --species A", "species"},
        {"--until 3 --points 5 --rng xorwow", "rng is philox there and xorwow here"},
        {"--until 3 --points 5 --first 9", "holds the trajectories 0 to 19"}};
    (void)state;
    keep_results();
    outcome o = saltus("run decay.yaml --until 3 --points 5 --runs 20 -q -o out.h5");
    assert_done(&o);
    char *before = exported("out.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        o = saltus("run decay.yaml %s --runs 5 --append -q -o out.h5", cases[i].options);
        assert_refused(&o, 2, cases[i].part);
    }
    o = saltus("run decay.yaml --until 3 --append");
    assert_refused(&o, 2, "--append needs a result file");
    o = saltus("run decay.yaml --until 3 --append --overwrite -o out.h5");
    assert_refused(&o, 2, "exclude each other");
    char *after = exported("out.h5");
    assert_string_equal(before, after);
    free(before);
    free(after);
    o = saltus("run decay.yaml --until 3 --points 5 --runs 20 --append -q -o new.h5");
    assert_done(&o); /* what is not there yet begins */
    assert_equal_results("out.h5", "new.h5", 12);
}

/* ------------------------------------------------------------------------------------------------
 * Going on
 */

/* Laws that drift, in windows that an event cuts short. */
static const char drifting_model[] = "species: {A: 40, B: 0}\nparameters: {k: 1}\n"
                                     "reactions:\n  a: 0 -> A @ k*20*(1 + sin(time))\n"
                                     "  b: A -> B @ A*(1 + cos(7*time))/2\n  c: B -> 0 @ 1\n"
                                     "events:\n  e: {at: 1000.5, set: {k: 2}}\n";

static const char long_model[] = "species: {A: 1000, B: 0, C: 5}\n"
                                 "parameters: {k: 100}\n"
                                 "reactions:\n"
                                 "  there: A -> B @ k\n"
                                 "  back: B -> A @ 100\n"
                                 "  make: 0 -> C @ 50 * A / (20 + C)\n"
                                 "  gone: C -> 0 @ 1\n"
                                 "events:\n"
                                 "  faster: {when: time >= 7, set: {k: 120}}\n"
                                 "  late: {when: C > 40, delay: 2.5, set: {A: A + 10}}\n";
/* Random numbers of values go on where they were. */
static const char drawing_model[] =
    "species: {A: poisson(1000), B: 0, C: 5}\n"
    "parameters: {k: 'normal(100, 5)', V: 1}\n"
    "reactions:\n"
    "  there: A -> B @ k\n"
    "  back: B -> A @ 100\n"
    "  make: 0 -> C @ 50 * A / (20 + C)\n"
    "  gone: C -> 0 @ 1\n"
    "  late: {equation: C -> C + B, rate: 0.1, delay: 'gamma(3, 0.5)'}\n"
    "  out: {equation: B -> 0, rate: 0.02, delay: 4}\n"
    "events:\n"
    "  share: {when: C > 150, delay: 'gamma(2, 0.5)',\n"
    "          set: {A: 'binomial(A, 0.9) + poisson(100)', V: 'lognormal(0, 0.1)'}}\n"
    "  swing: {when: sin(time/V) > 0.7, set: {C: C + 1}}\n";
static const char leaping_model[] = "species: {X: 100000, Y: 100000, Z: 1000}\n"
                                    "reactions:\n"
                                    "  there: X -> Y @ 10\n"
                                    "  back: Y -> X @ 10\n"
                                    "  make: 0 -> Z @ 10000\n"
                                    "  gone: Z -> 0 @ 5\n";
static const char moving_model[] = "species: {G: 0, I: 1, M: 0}\n"
                                   "parameters: {P: 0, Q: 1, k: 1}\n"
                                   "rate rules: {P: 50*M - 2*P, Q: k - Q + sin(time)}\n"
                                   "reactions:\n"
                                   "  on: I -> G @ 3\n"
                                   "  off: {equation: G -> I, law: G*(1 + P/1000)}\n"
                                   "  make: {equation: 0 -> M, law: 40*G*Q^2}\n"
                                   "  gone: M -> 0 @ 2\n"
                                   "events:\n"
                                   "  high: {when: P > 900, delay: 0.4, set: {P: P/2}}\n"
                                   "  slower: {when: time >= 7, set: {k: 0.8}}\n";
/* Turns for ever, and looks stiff at times. */
static const char cycling_model[] = "species: {X: 10, Y: 5}\n"
                                    "parameters: {V: 1}\n"
                                    "rate rules: {V: 300*(X - V)}\n"
                                    "reactions:\n"
                                    "  in: 0 -> X @ 100\n"
                                    "  turn: {equation: 2 X + Y -> 3 X, law: X*X*Y/1e4}\n"
                                    "  other: X -> Y @ 3\n"
                                    "  out: X -> 0 @ 1\n";
/* Fast isomers that flow, beside a switch; deviations and the split are kept. */
static const char flowing_model[] = "species: {A: 30000, B: 0, X: 0, G: 0, H: 1}\n"
                                    "reactions:\n"
                                    "  there: A -> B @ 2e3\n"
                                    "  back: B -> A @ 1e3\n"
                                    "  on: H -> G @ 0.3\n"
                                    "  off: G -> H @ 0.4\n"
                                    "  make: {equation: G + B -> G + B + X, law: 0.3*G*B}\n"
                                    "  die: X -> 0 @ 2\n";
static const char busy_lattice[] = "species: {A: 3000, B: 3000, C: 0}\n"
                                   "reactions: {meet: A + B -> C @ 0.001, part: C -> A + B @ 2}\n"
                                   "lattice:\n"
                                   "  size: [16, 12, 20]\n"
                                   "  spacing: 100 nm\n"
                                   "  step: 5 ms\n"
                                   "  diffusion: {A: 0.3 um2/s, B: 0.2 um2/s, C: 0.1 um2/s}\n";

/* Says what it was. */
static bool fail_told(const outcome *o)
{
    fail_msg("%d: %s", o->code, o->err);
    return false;
}

/* Stop it some times, with and without a chance to say something, until it is whole. */
static void stop_and_go(const char *command, int least_sets)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGKILL, SIGUSR1, SIGINT};
    outcome o = saltus("%s -q -o whole.h5", command);
    assert_done(&o);
    (void)unlink("part.h5");
    int n_stopped = 0;
    for (int i = 0;; ++i) {
        const pid_t child = i == 0 ? start_saltus("%s -q -o part.h5", command)
                                   : start_saltus("resume part.h5 -q --threads %d", 1 + i % 2);
        if (i < 5) {
            if (i == 0) {
                wait_for_growth("part.h5", 3);
            }
            (void)usleep(20000 * (unsigned)(i + 1));
            (void)kill(child, signals[i]);
        }
        o = finish_saltus(child);
        if (o.code == 0) {
            break;
        }
        n_stopped += 1;
        if (o.code < 128) { /* a signal ends it at once before it simulates */
            fail_msg("%d: %s", o.code, o.err);
        }
        if (o.code == 130 && strstr(o.err, "interrupted after")) {
            assert_one_message(&o, "interrupted after");
            assert_non_null(strstr(o.err, "saltus resume part.h5"));
        }
    }
    assert_true(n_stopped > 0);
    assert_equal_results("whole.h5", "part.h5", least_sets);
}

static void a_stopped_run_goes_on(void **state)
{
    static const struct {
        const char *command;
        int n_sets;
    } cases[] = {
        {"run busy.yaml --until 2 --points 3 --runs 80000 --threads 2", 12},
        {"run busy.yaml --until 2 --points 3 --runs 300000 --record stats", 11},
        {"run busy.yaml --until 2 --points 3 --runs 200000 --record histogram", 14},
        {"run busy.yaml --until 2 --points 3 --runs 120000 --record final --rng mt19937", 12}};
    (void)state;
    keep_results();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        stop_and_go(cases[i].command, cases[i].n_sets);
        (void)unlink("whole.h5");
    }
}

static void a_stopped_sweep_goes_on(void **state)
{
    (void)state;
    keep_results();
    stop_and_go("sweep busy.yaml --vary A=lin:100:300:101 --until 2 --points 3 --runs 2000", 12);
}

/* That of a run, or of some point of a sweep. */
static bool has_checkpoint(const char *result)
{
    char pattern[60];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s.checkpoint*", result);
    const bool is_there = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

/* Until what time a command runs, and what its file has then. */
typedef struct long_run {
    const char *command;
    double until;
    int n_sets;
} long_run;

/* Stop it soon, again and again, and let it end then. Returns how often something was kept: at a
 * point's end nothing is under way. */
static int stop_until_whole(const long_run *run)
{
    const int most_stops = takes_all() ? 8 : 4;
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGUSR1};
    int n_kept = 0;
    for (int n = 0;; ++n) {
        const pid_t child = n == 0 ? start_saltus("%s --until %g -q --checkpoint 0.05 -o part.h5",
                                                  run->command, run->until)
                                   : start_saltus("resume part.h5 -q --threads %d", 1 + n % 2);
        if (n == 0) {
            siginfo_t end = {0};
            while (!has_checkpoint("part.h5") && end.si_pid == 0) {
                (void)usleep(2000);
                assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT), 0);
            }
        } else if (n < most_stops) {
            (void)usleep(150000);
        }
        if (n < most_stops) {
            (void)kill(child, signals[n % 4]);
        }
        const outcome o = finish_saltus(child);
        if (o.code == 0) {
            return n_kept;
        }
        assert_true(o.code >= 128 || fail_told(&o));
        n_kept += has_checkpoint("part.h5");
    }
}

/* A single long trajectory, or a few; longer ones, where a machine is so fast that they end first.
 */
static void keep_and_go(long_run run)
{
    run.until /= takes_all() ? 1.0 : takes_part() ? 8.0 : 2.0; /* sanitizers take their time */
    for (int n = 0; n == 0; run.until *= 2.0) {
        (void)unlink("part.h5");
        n = stop_until_whole(&run);
        if (n > 0) {
            const outcome o = saltus("%s --until %g -q -o whole.h5", run.command, run.until);
            assert_done(&o);
            (void)printf("%s --until %g: kept %d times\n", run.command, run.until, n);
            assert_false(has_checkpoint("part.h5"));
            assert_equal_results("whole.h5", "part.h5", run.n_sets);
        }
        assert_true(run.until < 1e9);
    }
    assert_int_equal(unlink("whole.h5"), 0);
}

/* Points that take long, by long trajectories or by many, by threads of their own or by all. */
static void points_under_way_are_kept(void **state)
{
    static const long_run cases[] = {
        {"sweep long.yaml --vary k=list:90,110 --points 7 --runs 2", 100, 11},
        {"sweep long.yaml --vary k=lin:90:110:5 --points 3 --runs 3 --threads 2 "
         "--record histogram --bins 8",
         25, 11},
        {"sweep busy.yaml --vary A=list:200,300 --points 3 --runs 2000000 "
         "--derive mean:A",
         1, 11},
        {"sweep space.yaml --vary A=list:2000,3000 --points 4", 20, 11}};
    (void)state;
    keep_results();
    write_file("long.yaml", long_model);
    write_file("space.yaml", busy_lattice);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        keep_and_go(cases[i]);
    }
}

static void what_is_under_way_is_kept(void **state)
{
    static const long_run cases[] = {
        {"run long.yaml --points 7", 150, 12},
        {"run long.yaml --points 7 --rng mt19937 --record stats", 150, 11},
        {"run drawn.yaml --points 7", 150, 12},
        {"run long.yaml --points 7 --runs 8 --derive mean:A", 60, 12},
        {"run hops.yaml --points 7 --runs 40 --rng xorwow", 1500, 12},
        {"run drifting.yaml --points 7 --runs 60", 10000, 12},
        {"run moving.yaml --points 7", 40000, 12},
        {"run moving.yaml --points 7 --runs 60", 8000, 12},
        {"run cycling.yaml --points 7 --method ode", 100000, 12},
        {"run flowing.yaml --points 7 --method hybrid", 5000, 12},
        {"run leaps.yaml --points 7 --method tau --rng mt19937", 50000, 12},
        {"run leaps.yaml --points 7 --method tau --runs 40", 10000, 12},
        {"run space.yaml --points 4 --profile z --frames 5", 20, 20},
        {"run space.yaml --points 4 --frames 2 --method nsm --runs 2", 12, 20}};
    (void)state;
    keep_results();
    write_file("long.yaml", long_model);
    write_file("drawn.yaml", drawing_model);
    write_hops("hops.yaml");
    write_file("leaps.yaml", leaping_model);
    write_file("moving.yaml", moving_model);
    write_file("drifting.yaml", drifting_model);
    write_file("cycling.yaml", cycling_model);
    write_file("flowing.yaml", flowing_model);
    write_file("space.yaml", busy_lattice);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        keep_and_go(cases[i]);
    }
}

/* Many that turn, of which one is pushed now and then: with more variables than a dense Jacobian
 * has in mind, so that CVODE integrates, whose stretches are taken again from where they began. */
static void write_many_cycles(const char *path)
{
    enum { N = 70 };
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("parameters: {n: 0", f);
    for (int i = 0; i < N; ++i) {
        (void)fprintf(f, ", V%d: 1", i);
    }
    (void)fputs("}\nrate rules: {V0: 300*(X0 - V0)", f);
    for (int i = 1; i < N; ++i) {
        (void)fprintf(f, ", V%d: 300*(X%d - V%d)", i, i, i);
    }
    (void)fputs("}\nspecies: {X0: 10, Y0: 5", f);
    for (int i = 1; i < N; ++i) {
        (void)fprintf(f, ", X%d: %d, Y%d: 5", i, 10 + i, i);
    }
    (void)fputs("}\nreactions:\n", f);
    for (int i = 0; i < N; ++i) {
        (void)fprintf(f,
                      "  in%d: 0 -> X%d @ 100\n"
                      "  turn%d: {equation: 2 X%d + Y%d -> 3 X%d, law: X%d*X%d*Y%d/1e4}\n"
                      "  other%d: X%d -> Y%d @ 3\n"
                      "  out%d: X%d -> 0 @ 1\n",
                      i, i, i, i, i, i, i, i, i, i, i, i, i, i);
    }
    (void)fputs("events:\n  push: {when: sin(time/50) > 0.9, delay: 3, set: {X0: X0 + 1, n: n + 1}}"
                "\n",
                f);
    assert_int_equal(fclose(f), 0);
}

static void stretches_of_a_solver_are_kept(void **state)
{
    (void)state;
    keep_results();
    write_many_cycles("many.yaml");
    if (!SALTUS_WITH_SUNDIALS) {
        skip();
    }
    const outcome o = saltus("run many.yaml --until 1 --method ode --explain -q -o one.h5");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "by CVODE"));
    keep_and_go((long_run){"run many.yaml --points 7 --method ode --species X0,Y69,n", 1000, 12});
    keep_and_go(
        (long_run){"run many.yaml --points 7 --method ode --stiff always --runs 2", 750, 12});
}

/* A checkpoint that is cut, changed, or of another run costs time, and no bit. */
static void damage_of_what_is_kept_costs_time(void **state)
{
    static const char *const commands[] = {"run long.yaml --until 200 --points 7",
                                           "run long.yaml --until 200 --points 7 --seed 2"};
    (void)state;
    keep_results();
    write_file("long.yaml", long_model);
    for (int i = 0; i < 2; ++i) {
        outcome o = saltus("%s -q -o whole%d.h5", commands[i], i);
        assert_done(&o);
        const pid_t child = start_saltus("%s -q --checkpoint 0.05 -o part%d.h5", commands[i], i);
        wait_for_file(i == 0 ? "part0.h5.checkpoint" : "part1.h5.checkpoint");
        (void)kill(child, SIGKILL);
        o = finish_saltus(child);
    }
    for (int way = 0; way < 4; ++way) {
        char copy[200];
        (void)snprintf(copy, sizeof copy,
                       "cp part0.h5 p.h5 && cp part%d.h5.checkpoint p.h5.checkpoint", way == 3);
        assert_int_equal(system(copy), 0);
        const char *const spoil[] = {
            "truncate -s -1 p.h5.checkpoint",
            "printf x | dd of=p.h5.checkpoint bs=1 seek=200 conv=notrunc 2>/dev/null",
            "truncate -s 0 p.h5.checkpoint", "true"};
        assert_int_equal(system(spoil[way]), 0);
        const outcome o = saltus("resume p.h5");
        assert_true(o.code == 0 || fail_told(&o));
        assert_non_null(strstr(o.err, way == 3 ? "is of another run" : "is damaged"));
        assert_equal_results("whole0.h5", "p.h5", 12);
        assert_false(file_exists("p.h5.checkpoint"));
    }
    write_file("q.h5.checkpoint", "my own notes");
    outcome o = saltus("run decay.yaml --until 1 -q -o q.h5");
    assert_refused(&o, 2, "it is no checkpoint");
    char *text = read_file("q.h5.checkpoint");
    assert_string_equal(text, "my own notes");
    free(text);
    assert_false(file_exists("q.h5"));
    o = saltus("run decay.yaml --until 1 -q --checkpoint 0 -o q.h5");
    assert_done(&o);
    o = saltus("run decay.yaml --until 1 --checkpoint -1 -o q.h5");
    assert_refused(&o, 2, "--checkpoint");
}

static void the_file_alone_is_needed(void **state)
{
    (void)state;
    keep_results();
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 300000 -q -o whole.h5");
    assert_done(&o);
    const pid_t child =
        start_saltus("run - --until 2 --points 3 --runs 300000 -q -o part.h5 <decay.yaml");
    wait_for_growth("part.h5", 3);
    (void)kill(child, SIGTERM);
    o = finish_saltus(child);
    if (o.code == 130) {
        assert_int_equal(rename("decay.yaml", "gone.yaml"), 0);
        o = saltus("resume part.h5 -q </dev/null");
        assert_done(&o);
    }
    char *a = exported("whole.h5"), *b = exported("part.h5");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* A killed run's statistics and histograms are of all trajectories in its file once it was looked
 * at: those of a run that has so many. */
static void a_killed_file_is_mended(void **state)
{
    static const char *const ways[] = {"stats", "histogram", "all"};
    (void)state;
    keep_results();
    /* a histogram has statistics */
    for (size_t i = takes_all() ? 0 : 1; i < 3; i += stride_of_cases()) {
        const char *run = "run busy.yaml --until 2 --points 3 --threads 1 -q --record";
        char part[30], whole[30];
        (void)snprintf(part, sizeof part, "part%zu.h5", i);
        (void)snprintf(whole, sizeof whole, "whole%zu.h5", i);
        const pid_t child = start_saltus("%s %s --runs 100000000 -o %s", run, ways[i], part);
        wait_for_growth(part, 4);
        outcome o = {.code = 1};
        for (int s = 0; o.code != 0 && s < 300; ++s) { /* until it was flushed */
            (void)usleep(200000);
            o = saltus("stats %s --csv", part);
        }
        assert_int_equal(kill(child, SIGKILL), 0);
        (void)finish_saltus(child);
        o = saltus("stats %s --csv", part);
        assert_done(&o);
        hid_t file = H5Fopen(part, H5F_ACC_RDWR, H5P_DEFAULT);
        const int64_t n = result_number(file, "trajectories");
        assert_true(n > 0);
        assert_true(H5Aexists(file, "torn") <= 0);
        const int64_t requested = n;
        const int complete = 1;
        hid_t a = H5Aopen(file, "requested", H5P_DEFAULT);
        assert_true(H5Awrite(a, H5T_NATIVE_INT64, &requested) >= 0);
        (void)H5Aclose(a);
        a = H5Aopen(file, "complete", H5P_DEFAULT);
        assert_true(H5Awrite(a, H5T_NATIVE_INT, &complete) >= 0);
        (void)H5Aclose(a);
        (void)H5Fclose(file);
        o = saltus("%s %s --runs %lld -o %s", run, ways[i], (long long)n, whole);
        assert_done(&o);
        assert_equal_results(whole, part, 11);
    }
}

/* A run that is killed leaves part.h5.checkpoint. */
static void leave_checkpoint(void)
{
    const pid_t child = start_saltus("run busy.yaml --until 1e9 --runs 1 -q --checkpoint 0.1 "
                                     "-o part.h5");
    wait_for_file("part.h5.checkpoint");
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)finish_saltus(child);
}

/* Killed when its file was whole, and its checkpoint still there. */
static void a_checkpoint_that_was_left_goes(void **state)
{
    (void)state;
    keep_results();
    leave_checkpoint();
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 30 -q -o out.h5");
    assert_done(&o);
    assert_int_equal(rename("part.h5.checkpoint", "out.h5.checkpoint"), 0);
    o = saltus("resume out.h5 -q");
    assert_done(&o);
    assert_false(file_exists("out.h5.checkpoint"));
    write_file("out.h5.checkpoint", "a file of the user's");
    o = saltus("resume out.h5 -q");
    assert_done(&o);
    assert_true(file_exists("out.h5.checkpoint"));
    assert_int_equal(unlink("out.h5.checkpoint"), 0);
    /* of one killed while it wrote a checkpoint; who goes on ends without writing another */
    o = saltus("run decay.yaml --until 2 --points 3 --runs 10 -q -o out.h5 --overwrite");
    assert_done(&o);
    write_file("out.h5.checkpoint.new", "half of one");
    o = saltus("run decay.yaml --until 2 --points 3 --runs 30 -q -o out.h5 --append");
    assert_done(&o);
    assert_false(file_exists("out.h5.checkpoint.new"));
}

/* Killed when a point was in the file, and its checkpoint still there. */
static void checkpoints_of_points_that_were_left_go(void **state)
{
    (void)state;
    keep_results();
    leave_checkpoint();
    for (int is_run = 0; is_run < 2; ++is_run) {
        const char *sweep = "sweep decay.yaml --vary A=lin:1:30:4 --until 2 --points 3 --runs 2 -q "
                            "--overwrite";
        outcome o = saltus("%s -o out.h5", sweep);
        assert_done(&o);
        assert_int_equal(system("cp part.h5.checkpoint out.h5.checkpoint.2"), 0);
        write_file("out.h5.checkpoint.3.new", "half of one");
        write_file("out.h5.checkpoint.99", "a file of the user's");
        write_file("out.h5.checkpoint.2nd", "another");
        o = is_run ? saltus("%s --vary k=list:1,2 -o out.h5", sweep) : saltus("resume out.h5 -q");
        assert_int_equal(o.code, 0);
        assert_false(file_exists("out.h5.checkpoint.2"));
        assert_false(file_exists("out.h5.checkpoint.3.new"));
        assert_true(file_exists("out.h5.checkpoint.2nd"));
        assert_int_equal(unlink("out.h5.checkpoint.2nd"), 0);
        assert_true(file_exists("out.h5.checkpoint.99"));
        assert_int_equal(unlink("out.h5.checkpoint.99"), 0);
    }
}

/* Of a run that wanted them; who goes on with it, or makes it anew, does not. */
static void checkpoints_go_where_no_more_are_wanted(void **state)
{
    static const char *const verbs[] = {"run decay.yaml", "sweep decay.yaml --vary A=lin:1:30:4"};
    (void)state;
    keep_results();
    leave_checkpoint();
    for (int i = 0; i < 2; ++i) {
        const char *left = i == 0 ? "out.h5.checkpoint" : "out.h5.checkpoint.2";
        char copy[100];
        (void)snprintf(copy, sizeof copy, "cp part.h5.checkpoint %s", left);
        assert_int_equal(system(copy), 0);
        write_file("out.h5.checkpoint.99", "a file of the user's");
        const outcome o = saltus("%s --until 2 --points 3 --runs 2 -q --overwrite --checkpoint 0 "
                                 "-o out.h5",
                                 verbs[i]);
        assert_done(&o);
        assert_false(file_exists(left));
        assert_true(file_exists("out.h5.checkpoint.99"));
        assert_int_equal(unlink("out.h5.checkpoint.99"), 0);
    }
}

/* The last point's reactions are not counted where the point did not find room, or twice. */
static void a_sweep_that_found_no_room_goes_on(void **state)
{
    static const char sweep[] = "sweep decay.yaml --vary A=lin:1:30:3000 --until 2 --points 30 "
                                "--runs 2 --record all --compress none --threads 1 -q";
    struct rlimit limit;
    (void)state;
    keep_results();
    outcome o = saltus("%s -o whole.h5", sweep);
    assert_done(&o);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (rlim_t size = 6700000; size < 12000000; size += 1300000 * stride_of_cases()) {
        const struct rlimit small = {size, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        o = saltus("%s --overwrite -o part.h5", sweep);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_refused(&o, 1, "File too large");
        o = saltus("resume part.h5 --trace trace.json");
        assert_refused(&o, 2, "--trace is for saltus run");
        o = saltus("resume part.h5 -q");
        assert_done(&o);
        assert_equal_results("whole.h5", "part.h5", 12);
    }
}

/* Killed when all was in its file, but for the end of its writing. */
static void a_complete_file_is_mended(void **state)
{
    const int64_t one = 1;
    (void)state;
    keep_results();
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 30 -q -o whole.h5");
    assert_done(&o);
    o = saltus("run decay.yaml --until 2 --points 3 --runs 30 -q -o out.h5");
    assert_done(&o);
    const hid_t file = H5Fopen("out.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "stats/mean", H5P_DEFAULT);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t mark = H5Acreate2(file, "torn", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    const double zeros[8] = {0};
    assert_true(H5Awrite(mark, H5T_NATIVE_INT64, &one) >= 0);
    assert_true(H5Dget_storage_size(set) <= sizeof zeros);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    (void)H5Aclose(mark);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    assert_true(H5Fclose(file) >= 0);
    o = saltus("resume out.h5 -q");
    assert_done(&o);
    assert_equal_results("whole.h5", "out.h5", 12);
}

static void what_cannot_go_on_says_so(void **state)
{
    (void)state;
    keep_results();
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 30 -q -o out.h5");
    assert_done(&o);
    o = saltus("resume out.h5");
    assert_int_equal(o.code, 0);
    assert_one_message(&o, "is complete, there is nothing left to do");
    o = saltus("resume out.h5 -q");
    assert_done(&o);
    o = saltus("resume out.h5 -q --json");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"events\": 0, \"trajectories\": 0, \"seconds\": 0, "));
    assert_non_null(strstr(o.out, "\"complete\": true, \"output\": \"out.h5\"}"));
    o = saltus("resume missing.h5");
    assert_refused(&o, 2, "missing.h5");
    o = saltus("resume decay.yaml");
    assert_refused(&o, 2, "decay.yaml");
    o = saltus("resume");
    assert_refused(&o, 2, "a result file is needed");
    o = saltus("resume out.h5 --seed 3");
    assert_refused(&o, 2, "seed");
}

/* A pattern of names takes a part of the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_result_is_extended, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_stopped_run_goes_on, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(a_stopped_sweep_goes_on, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_is_under_way_is_kept, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(stretches_of_a_solver_are_kept, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(points_under_way_are_kept, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(damage_of_what_is_kept_costs_time, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(the_file_alone_is_needed, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_killed_file_is_mended, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_checkpoint_that_was_left_goes, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(checkpoints_go_where_no_more_are_wanted, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(checkpoints_of_points_that_were_left_go, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_sweep_that_found_no_room_goes_on, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_complete_file_is_mended, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_cannot_go_on_says_so, enter_with_models,
                                        leave_directory),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
