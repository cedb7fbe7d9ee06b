/* Trajectories that are under way go from device to device and from layout to layout, each time
 * that a run is stopped and goes on; the file is that of the run that was never stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "../support/random.h"
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char many_reactions[] = "species: {A: 300, B: 0, C: 50, D: 10, E: 0, F: 7}\n"
                                     "reactions:\n"
                                     "  r0: A -> B @ 10\n"
                                     "  r1: B -> A @ 10\n"
                                     "  r2: 2 C -> D @ 0.01\n"
                                     "  r3: D -> 2 C @ 1\n"
                                     "  r4: B + D -> E @ 0.02\n"
                                     "  r5: E -> B + D @ 3\n"
                                     "  r6: 0 -> F @ 30\n"
                                     "  r7: F -> 0 @ 1\n"
                                     "  r8: A + F -> A + C @ 0.001\n"
                                     "  r9: C -> 0 @ 0.05\n";
static const char events_model[] = "species: {A: 1000, B: 0, C: 5}\n"
                                   "parameters: {k: 10}\n"
                                   "reactions:\n"
                                   "  there: A -> B @ k\n"
                                   "  back: B -> A @ 10\n"
                                   "  make: 0 -> C @ 50 * A / (20 + C)\n"
                                   "  gone: C -> 0 @ 1\n"
                                   "events:\n"
                                   "  faster: {when: time >= 7, set: {k: 12}}\n"
                                   "  late: {when: C > 40, delay: 2.5, set: {A: A + 10}}\n";
/* Laws that drift, slowly or fast, in windows that events cut short. */
static const char drifting_model[] = "species: {A: 1000, B: 0, C: 5}\n"
                                     "rules: {wave: 1 + sin(20*time)}\n"
                                     "reactions:\n"
                                     "  there: A -> B @ 10*A*(1 + cos(time/9)^2)\n"
                                     "  back: B -> A @ 10\n"
                                     "  make: 0 -> C @ 30*wave\n"
                                     "  gone: C -> 0 @ 1\n"
                                     "events:\n"
                                     "  late: {when: C > 40, delay: 2.5, set: {A: A + 10}}\n";
static const char leaping_model[] = "species: {X: 100000, Y: 100000, Z: 1000, W: 3}\n"
                                    "reactions:\n"
                                    "  there: X -> Y @ 10\n"
                                    "  back: Y -> X @ 10\n"
                                    "  make: 0 -> Z @ 10000\n"
                                    "  gone: Z -> 0 @ 5\n"
                                    "  few: W -> 2 W @ 1\n"
                                    "  less: 2 W -> W @ 0.3\n";

static const char lattice_model[] = "species: {A: 300, B: 0}\n"
                                    "reactions: {turn: A -> B @ 1, back: B -> A @ 2}\n"
                                    "lattice: {size: [6, 5, 9], spacing: 1 m, step: 0.01 s, "
                                    "diffusion: {A: 1 m2/s, B: 0}}\n";

enum { MOST_WAYS = 6, FEWEST = 3, MOST = 300, PAUSE_MS = 60 };

/* Where it goes on: one way after the other. */
typedef struct travel {
    const char *command;
    int until, n_sets;
    const char *whole; /* where it is not stopped */
    const char *ways[MOST_WAYS];
} travel;

/* Kernels are made once, in a folder of this test. */
static int enter(void **state)
{
    char path[4200];
    if (enter_with_models(state) != 0 || !getcwd(path, 4096) || setenv("TMPDIR", path, 1) != 0) {
        return -1;
    }
    (void)strcat(path, "/cache");
    if (setenv("SALTUS_CACHE", path, 1) != 0 || setenv("FAKE_NVRTC_KEEPS", "1", 1) != 0 ||
        setenv("FAKE_CUDA_BYTES", "60000000", 1) != 0) {
        return -1;
    }
    keep_results();
    write_file("many.yaml", many_reactions);
    write_file("events.yaml", events_model);
    write_file("drift.yaml", drifting_model);
    write_file("leaps.yaml", leaping_model);
    write_file("lattice.yaml", lattice_model);
    write_hops("hops.yaml");
    return 0;
}

static void need_gpu(void)
{
    const outcome o = saltus("run decay.yaml --until 1 --device cuda");
    if (o.code != 0 && !is_fake()) {
        (void)fprintf(stderr, "SKIP: %s", o.err);
        skip();
    }
    assert_done(&o);
}

/* Until this run has written a checkpoint of its own, or is at its end. */
static void wait_for_checkpoint(pid_t child, const struct stat *before)
{
    struct stat now;
    siginfo_t ended = {0};
    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0 &&
           (stat("part.h5.checkpoint", &now) != 0 ||
            (now.st_ino == before->st_ino && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
             now.st_mtim.tv_nsec == before->st_mtim.tv_nsec))) {
        (void)usleep(5000);
    }
}

/* Stop it again and again, twice as often as it has ways in a short test and till its end in a long
 * one, and tell how often: by a signal that it hears after a pause, or killed once it got further
 * by a checkpoint, lest it never end. */
static int travel_to_the_end(const travel *t, const char *command, uint64_t *seed)
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGKILL, SIGUSR1};
    int n_ways = 0, n = 0;
    outcome o = {.code = 1};
    while (n_ways < MOST_WAYS && t->ways[n_ways]) {
        ++n_ways;
    }
    const int most_stops = takes_all() ? MOST : 2 * n_ways;
    for (; o.code != 0; ++n) {
        const char *way = t->ways[n % n_ways];
        struct stat before = {0};
        (void)stat("part.h5.checkpoint", &before);
        const bool is_new = !file_exists("part.h5"), is_killed = signals[n % 5] == SIGKILL;
        const pid_t child =
            is_new ? start_saltus("%s %s -q --checkpoint 0.03 -o part.h5", command, way)
                   : start_saltus("resume part.h5 -q %s", way);
        if (n < most_stops) {
            if (is_killed) {
                wait_for_checkpoint(child, &before);
            }
            (void)usleep(1000u * (unsigned)((is_killed ? 0 : PAUSE_MS) + below(seed, PAUSE_MS)));
            (void)kill(child, signals[n % 5]);
        }
        o = finish_saltus(child);
        if ((o.code != 0 && o.code < 128) || n == MOST) {
            fail_msg("%s %s: %d: %s", command, way, o.code, o.err);
        }
        if (o.code != 0 && is_killed && !file_exists("part.h5.checkpoint")) {
            o = saltus("resume part.h5 -q %s", way); /* all was done but leaving the device */
            assert_done(&o);
        }
    }
    (void)printf("%s: stopped %d times\n", command, n - 1);
    return n - 1;
}

static bool travel_and_compare(const travel *t, const char *command, uint64_t seed)
{
    for (int i = 0; i < MOST_WAYS && t->ways[i]; ++i) { /* which makes the kernels */
        const outcome o =
            saltus("%s %s --runs 1 --until 0.01 -q -o warm.h5 --overwrite", command, t->ways[i]);
        assert_done(&o);
    }
    const int n = travel_to_the_end(t, command, &seed);
    assert_false(file_exists("part.h5.checkpoint"));
    assert_equal_results("whole.h5", "part.h5", t->n_sets);
    assert_int_equal(unlink("part.h5"), 0);
    return n >= FEWEST;
}

/* A run that is too short for its stops, on a fast machine, is followed by a longer one. */
static void travel_all(const travel *travels, size_t n)
{
    need_gpu();
    const bool long_test = takes_all();
    const uint64_t times = long_test ? 10 : 1;
    for (size_t i = 0; i < n; i += stride_of_cases()) {
        bool is_long = false;
        for (int longer = 1; !is_long; longer *= 2) {
            char command[200];
            (void)snprintf(command, sizeof command, "%s --until %d", travels[i].command,
                           longer * travels[i].until / (long_test ? 1 : 3));
            const outcome o = saltus("%s %s -q -o whole.h5", command, travels[i].whole);
            assert_done(&o);
            is_long = true;
            for (uint64_t seed = 0; seed < times && is_long; ++seed) {
                is_long = travel_and_compare(&travels[i], command, seed);
            }
            assert_int_equal(unlink("whole.h5"), 0);
            assert_true(is_long || longer < 1000);
        }
    }
}

static void by_the_direct_method(void **state)
{
    static const travel travels[] = {
        {"run many.yaml --points 9 --runs 50 --derive mean:A",
         700,
         12,
         "--device cpu",
         {"--device cuda --layout registers", "--device cpu", "--device cuda --layout global",
          "--device cuda --layout shared --block 32", "--device cuda --layout warp",
          "--device cpu --layout scalar"}},
        {"run many.yaml --points 9 --runs 40 --record stats",
         400,
         11,
         "--device cpu",
         {"--device cuda --layout shared", "--device cuda --layout registers --streams 1",
          "--device cpu --threads 1"}},
        {"run many.yaml --points 9 --runs 40 --record final --rng xorwow",
         360,
         12,
         "--device cpu",
         {"--device cuda --layout warp", "--device cuda --layout registers", "--device cpu"}},
        {"run events.yaml --points 7 --runs 16",
         200,
         12,
         "--device cpu",
         {"--device cuda --layout registers", "--device cuda --layout global",
          "--device cpu --threads 1", "--device cuda --layout registers"}},
        {"run drift.yaml --points 7 --runs 16 --rng mt19937",
         100,
         12,
         "--device cpu",
         {"--device cuda", "--device cpu --threads 1", "--device cpu"}},
        {"run hops.yaml --points 9 --runs 16",
         800,
         12,
         "--device cpu",
         {"--device cuda --layout warp", "--device cpu --threads 1",
          "--device cuda --layout global", "--device cuda --layout warp", "--device cpu"}}};
    (void)state;
    travel_all(travels, sizeof travels / sizeof *travels);
}

static void by_the_mean_field(void **state)
{
    static const travel travels[] = {
        {"run drift.yaml --points 7 --method ode --rtol 1e-9 --runs 16",
         1600,
         12,
         "--device cpu",
         {"--device cuda", "--device cpu --threads 1", "--device cuda --streams 1"}}};
    (void)state;
    travel_all(travels, sizeof travels / sizeof *travels);
}

static void by_tau_leaping(void **state)
{
    static const travel travels[] = {
        {"run leaps.yaml --points 7 --method tau --runs 30",
         3500,
         12,
         "--device cpu",
         {"--device cuda --layout registers", "--device cpu", "--device cuda --layout global",
          "--device cuda", "--device cpu --layout scalar"}},
        {"run leaps.yaml --points 7 --method tau --runs 30 --rng mrg32k3a "
         "--record histogram --bins 8",
         2000,
         14,
         "--device cpu",
         {"--device cuda --layout registers", "--device cuda --layout global", "--device cpu"}},
        {"run drift.yaml --points 7 --method tau --runs 30",
         1800,
         12,
         "--device cpu",
         {"--device cuda --layout global", "--device cpu", "--device cuda"}}};
    (void)state;
    travel_all(travels, sizeof travels / sizeof *travels);
}

static void on_a_lattice(void **state)
{
    static const travel travels[] = {
        {"run lattice.yaml --points 11 --frames 200",
         1500,
         15,
         "--device cpu",
         {"--device cuda --layout counts", "--device cuda --layout particles", "--device cpu",
          "--device cuda --layout counts"}}};
    (void)state;
    travel_all(travels, sizeof travels / sizeof *travels);
}

static void need_fake(void)
{
    if (!is_fake()) {
        (void)fprintf(stderr, "SKIP: a true GPU is not made to fail\n");
        skip();
    }
}

/* A GPU that fails in the middle ends the run; what it had under way goes on on the CPU. */
static void after_a_gpu_is_lost(void **state)
{
    (void)state;
    need_fake();
    const char *run = "run many.yaml --until 60 --points 9 --runs 40 -q";
    outcome o = saltus("%s --device cpu -o whole.h5", run);
    assert_done(&o);
    int n_kept = 0;
    for (int at = 100; at <= 700; at += 150) {
        char fail[20];
        (void)snprintf(fail, sizeof fail, "%d:700", at);
        assert_int_equal(setenv("FAKE_CUDA_FAIL", fail, 1), 0);
        o = saltus("%s --device cuda --layout global --checkpoint 0.05 -o part.h5 --overwrite",
                   run);
        assert_int_equal(unsetenv("FAKE_CUDA_FAIL"), 0);
        assert_int_equal(o.code, 1);
        assert_one_message(&o, "CUDA error 700");
        assert_non_null(strstr(o.err, "saltus resume part.h5 --device cpu"));
        n_kept += file_exists("part.h5.checkpoint");
        o = saltus("resume part.h5 -q --device cpu");
        assert_done(&o);
        assert_equal_results("whole.h5", "part.h5", 12);
    }
    assert_true(n_kept > 0);
}

/* One command, whose GPUs are lost in turn, at different times. One that gets no work, because the
 * other is faster, is not missed: then it is tried again. */
static void lose_one_of_two(const char *command, const char *how, int n_sets)
{
    static const int moments[] = {2, 30, 90};
    int n_lost = 0;
    outcome o = saltus("%s -q --device cpu -o whole.h5 --overwrite", command);
    assert_done(&o);
    for (int i = 0; i < 3 || (n_lost == 0 && i < MOST); ++i) {
        char lose[40], lost[60], rest[60];
        const int gpu = i % 2;
        (void)snprintf(lose, sizeof lose, "%d:%d:719", gpu, moments[i % 3]);
        (void)snprintf(lost, sizeof lost, "warning: lost GPU %d, the first to fail: ", gpu);
        (void)snprintf(rest, sizeof rest, "(CUDA error 719); cuda:%d goes on", 1 - gpu);
        assert_int_equal(setenv("FAKE_CUDA_LOSE", lose, 1), 0);
        o = saltus("%s --device cuda:0,1 %s --streams 2 -o part.h5 --overwrite", command, how);
        assert_int_equal(unsetenv("FAKE_CUDA_LOSE"), 0);
        if (o.code != 0) {
            fail_msg("%s %s: %d: %s", command, how, o.code, o.err);
        }
        if (o.err[0]) {
            assert_one_message(&o, lost);
            assert_true(strstr(o.err, rest) || strstr(o.err, "; all was done\n"));
            ++n_lost;
        }
        assert_equal_results("whole.h5", "part.h5", n_sets);
    }
    if (n_lost == 0) {
        fail_msg("%s %s: lost no GPU", command, how);
    }
}

static void one_of_two_gpus_is_lost(void **state)
{
    static const struct {
        const char *command, *how;
        int n_sets;
    } cases[] = {
        {"run many.yaml --until 10 --points 9 --runs 60", "--layout registers", 12},
        {"run many.yaml --until 10 --points 9 --runs 60", "--layout shared --block 32", 12},
        {"run many.yaml --until 60 --points 9 --runs 40", "--layout global --checkpoint 0.05", 12},
        {"run many.yaml --until 10 --points 9 --runs 60 --record stats", "--layout warp", 11},
        {"run leaps.yaml --until 50 --points 7 --method tau --runs 30 --record histogram --bins 8",
         "--layout global", 14},
        {"sweep events.yaml --vary k=lin:5:15:4 --until 10 --points 3 --runs 20", "", 11},
        {"run lattice.yaml --until 0.5 --points 3 --frames 0.25 --runs 4", "--layout particles",
         15},
        {"run lattice.yaml --until 0.5 --points 3 --runs 6", "--layout counts", 12}};
    (void)state;
    need_fake();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        lose_one_of_two(cases[i].command, cases[i].how, cases[i].n_sets);
    }
}

/* Then it is as with one. */
static void both_gpus_are_lost(void **state)
{
    const char *run = "run many.yaml --until 10 --points 9 --runs 60";
    (void)state;
    need_fake();
    outcome o = saltus("%s -q --device cpu -o whole.h5", run);
    assert_done(&o);
    assert_int_equal(setenv("FAKE_CUDA_FAIL", "40:214", 1), 0);
    o = saltus("%s --device cuda:0,1 --layout global -o part.h5", run);
    assert_int_equal(unsetenv("FAKE_CUDA_FAIL"), 0);
    assert_int_equal(o.code, 1);
    assert_non_null(strstr(o.err, " goes on with what was kept\nsaltus: "));
    assert_non_null(strstr(o.err, "saltus resume part.h5 --device cpu"));
    o = saltus("resume part.h5 -q --device cpu");
    assert_done(&o);
    assert_equal_results("whole.h5", "part.h5", 12);
}

/* A pattern of names takes a part of the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_the_direct_method, enter, leave_directory),
        cmocka_unit_test_setup_teardown(by_the_mean_field, enter, leave_directory),
        cmocka_unit_test_setup_teardown(by_tau_leaping, enter, leave_directory),
        cmocka_unit_test_setup_teardown(on_a_lattice, enter, leave_directory),
        cmocka_unit_test_setup_teardown(after_a_gpu_is_lost, enter, leave_directory),
        cmocka_unit_test_setup_teardown(one_of_two_gpus_is_lost, enter, leave_directory),
        cmocka_unit_test_setup_teardown(both_gpus_are_lost, enter, leave_directory),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
