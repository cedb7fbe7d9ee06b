/* Runs and sweeps by several processes, which mpirun starts: the file is that of one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "command.h"

#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char small_lattice[] = "species: {A: 30, B: 0}\n"
                                    "reactions:\n"
                                    "  turn: A -> B @ 2\n"
                                    "lattice:\n"
                                    "  size: [6, 5, 9]\n"
                                    "  spacing: 10 nm\n"
                                    "  step: 0.001\n"
                                    "  diffusion: {A: 1e-15 m2/s, B: 1e-15 m2/s}\n";

/* Planes that do not divide, a ring, sources in sites and at a face, two types of sites of which
 * one reacts also when it is empty, and more particles crossing than one message holds. */
static const char ring[] = "species: {A: 90000, B: 0}\n"
                           "reactions: {turn: A + A -> B, back: B -> A + A, new: 0 -> A}\n"
                           "lattice:\n"
                           "  size: [12, 9, 7]\n"
                           "  spacing: 10 nm\n"
                           "  step: 0.00005\n"
                           "  faces: {x: reflecting, y: periodic, z: periodic}\n"
                           "  diffusion: {A: 3e-13 m2/s, B: 1e-13 m2/s}\n"
                           "  reactions:\n"
                           "    turn: {space: 1e3 1/(M s)}\n"
                           "    back: {space: 20 1/s}\n"
                           "    new: {space: 1e-4 M/s}\n";
static const char faces[] =
    "species: {A: 0, B: 300}\n"
    "reactions:\n"
    "  turn: A + B -> B\n"
    "  new: 0 -> A\n"
    "  grow: {equation: A -> 2 A, law: 40 / (2 + B)}\n"
    "lattice:\n"
    "  size: [9, 12, 11]\n"
    "  spacing: 10 nm\n"
    "  step: 0.00005\n"
    "  sites:\n"
    "    space:\n"
    "    wall: {box: {from: [0 nm, 0 nm, 30 nm], to: [40 nm, 90 nm, 80 nm]}}\n"
    "  faces: {x: periodic, y: reflecting, z-: absorbing, z+: {A: 300 uM}}\n"
    "  diffusion: {A: 3e-13 m2/s, B: 1e-13 m2/s}\n"
    "  place: {B: space}\n"
    "  reactions:\n"
    "    turn: {space: 1e7 1/(M s)}\n"
    "    new: {wall: 1e-4 M/s}\n"
    "    grow: wall\n";

/* Stands for the command from now on: `ranks` of it, or it alone when that is 0. */
static void use_ranks(int n)
{
    char number[12];
    (void)snprintf(number, sizeof number, "%d", n);
    assert_int_equal(setenv("RANKS", number, 1), 0);
}

static int enter(void **state)
{
    char path[4300], folder[4096];
    if (enter_with_models(state) != 0 || !getcwd(folder, sizeof folder)) {
        return -1;
    }
    keep_results();
    write_file("lattice.yaml", small_lattice);
    write_file("ring.yaml", ring);
    write_file("faces.yaml", faces);
    write_file("command", "#!/bin/sh\n"
                          "[ \"$RANKS\" = 0 ] && exec \"$SALTUS_ITSELF\" \"$@\"\n"
                          "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 exec mpirun "
                          "--oversubscribe -n $RANKS \"$SALTUS_ITSELF\" \"$@\"\n");
    (void)snprintf(path, sizeof path, "%s/command", folder);
    (void)unsetenv("SALTUS_MPI");
    use_ranks(0);
    return chmod("command", 0700) == 0 && setenv("SALTUS_COMMAND", path, 1) == 0 ? 0 : -1;
}

static void need_mpirun(void)
{
    if (system("command -v mpirun >/dev/null") != 0) {
        (void)fprintf(stderr, "SKIP: mpirun is not here\n");
        skip();
    }
}

/* What a command makes must not depend on who does it. */
static void same_by_all(const char *command, int least_sets)
{
    static const int counts[] = {1, 2, 3, 5};
    use_ranks(0);
    outcome o = saltus("%s -q -o one.h5", command);
    assert_done(&o);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        use_ranks(counts[i]);
        o = saltus("%s -q -o all.h5", command);
        assert_done(&o);
        assert_equal_results("one.h5", "all.h5", least_sets);
        assert_int_equal(unlink("all.h5"), 0);
    }
    assert_int_equal(unlink("one.h5"), 0);
}

static void runs_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    same_by_all("run decay.yaml --until 3 --points 5 --runs 3000", 12);
    same_by_all("run decay.yaml --until 3 --points 5 --runs 5000 --record stats", 11);
    same_by_all("run decay.yaml --until 3 --points 5 --runs 4000 --first 7 --record final "
                "--derive mean:A,passage:A:5",
                12);
    same_by_all("run decay.yaml --until 3 --runs 4000 --record histogram --bins 8", 14);
    same_by_all("run decay.yaml --until 3 --runs 900 --method tau --threads 2", 12);
    same_by_all("run busy.yaml --until 2 --points 3 --runs 900 --rng mt19937", 12);
}

static void need_units(void)
{
    use_ranks(0);
    if (saltus("run lattice.yaml --until 0.01 --runs 1").code != 0) {
        skip();
    }
}

static void lattices_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    need_units();
    same_by_all("run lattice.yaml --until 0.1 --points 3 --runs 7 --profile z --frames 0.02", 3);
    same_by_all("run lattice.yaml --until 0.1 --points 3 --runs 9 --record stats", 3);
    same_by_all("run lattice.yaml --until 0.1 --points 3 --runs 7 --method nsm", 3);
}

/* What one lattice on several ranks records, each of which has a slab. */
static void slabs_are_those_of_one_process(void **state)
{
    static const char *const splits[] = {"1:1", "5:1:2", "1:1:1:1:1:1:1"};
    (void)state;
    need_mpirun();
    need_units();
    same_by_all("run ring.yaml --until 0.01 --points 3 --frames 0.005 --profile z", 12);
    same_by_all("run faces.yaml --until 0.05 --points 3 --frames 0.05 --profile x --threads 2", 12);
    use_ranks(0);
    outcome o = saltus("run faces.yaml --until 0.05 --points 3 --runs 3 -q -o one.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; ++i) {
        use_ranks(1 + (int)strlen(splits[i]) / 2);
        o = saltus("run faces.yaml --until 0.05 --points 3 --runs 3 --split %s --explain -o n.h5",
                   splits[i]);
        assert_int_equal(o.code, 0);
        assert_non_null(strstr(o.err, "one of each rank"));
        assert_equal_results("one.h5", "n.h5", 12);
        assert_int_equal(unlink("n.h5"), 0);
    }
    o = saltus("run faces.yaml --until 0.05 --split 1:1 -o n.h5");
    assert_int_equal(o.code, 2);
    assert_non_null(strstr(o.err, "2 slabs, 7 ranks, 11 planes"));
    use_ranks(0);
    o = saltus("run faces.yaml --until 0.05 --split 1:1 -o n.h5");
    assert_refused(&o, 2, "or on ranks");
}

/* Send a signal to one rank of what is running here, which is told by its directory. */
static void signal_rank(int rank, int signal)
{
    char line[500];
    (void)snprintf(line, sizeof line,
                   "for p in /proc/[0-9]*; do "
                   "[ \"$(readlink $p/cwd)\" = \"$PWD\" ] && "
                   "tr '\\0' '\\n' <$p/environ 2>/dev/null | "
                   "grep -qx OMPI_COMM_WORLD_RANK=%d && kill -%d ${p#/proc/}; done; true",
                   rank, signal);
    assert_int_equal(system(line), 0);
}

/* A lattice on several ranks is stopped by a signal to any of them, and goes on from where it was,
 * on as many as there are then. */
static void stopped_slabs_go_on(void **state)
{
    static const struct {
        int rank, signal, then; /* ranks that go on; 0: one process */
    } cases[] = {{1, SIGUSR1, 3}, {0, SIGTERM, 0}, {1, SIGKILL, 2}};
    static const char run[] =
        "run ring.yaml --until 0.2 --points 100 --checkpoint 1 --threads 1 -q";
    (void)state;
    need_mpirun();
    need_units();
    outcome o = saltus("%s -o one.h5", run);
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        use_ranks(2);
        const pid_t child = start_saltus("%s -o part.h5", run);
        wait_for_file("part.h5.checkpoint");
        signal_rank(cases[i].rank, cases[i].signal);
        o = finish_saltus(child);
        if (o.code == 0 || (cases[i].signal != SIGKILL && o.code != 130)) {
            fail_msg("case %zu: %d: %s", i, o.code, o.err);
        }
        use_ranks(cases[i].then);
        o = saltus("resume part.h5 -q --json");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 12);
        assert_int_equal(unlink("part.h5"), 0);
    }
}

static void sweeps_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    same_by_all("sweep decay.yaml --vary A=lin:10:300:41 --until 2 --points 3 --runs 200", 9);
    same_by_all("sweep decay.yaml --vary A=list:5,50,500 --vary k=list:1,2 --until 2 --points 3 "
                "--runs 150 --record stats --common-random-numbers --method tau",
                9);
    same_by_all("sweep decay.yaml --vary k=log:0.1:10:12 --until 2 --points 3 --runs 90 "
                "--record histogram --bins 8 --first 5",
                9);
    same_by_all("sweep decay.yaml --design sobol:20 --vary k=lin:0.1:10 --until 2 --points 3 "
                "--runs 90 --record final --derive max:A,tmax:B --burn-in 1",
                9);
    same_by_all("sweep decay.yaml --vary A=list:7 --until 2 --points 3 --runs 900", 9);
}

static void rank_0_alone_talks(void **state)
{
    (void)state;
    need_mpirun();
    use_ranks(0);
    outcome o = saltus("run decay.yaml --until 3 --runs 400");
    assert_done(&o);
    char *alone = strdup(strchr(o.out, '\n'));
    use_ranks(3);
    o = saltus("run decay.yaml --until 3 --runs 400");
    assert_done(&o);
    assert_string_equal(strchr(o.out, '\n'), alone);
    free(alone);
    o = saltus("run - --until 3 --runs 400 --json <decay.yaml");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"ranks\": 3"));
    o = saltus("info decay.yaml");
    assert_done(&o);
    assert_null(strstr(strstr(o.out, "species (") + 1, "species ("));
    o = saltus("run decay.yaml --until 3");
    if (o.code != 0) {
        fail_msg("%d: %s", o.code, o.err);
    }
    assert_one_message(&o, "fewer trajectories than ranks");
    o = saltus("run nothing.yaml --until 3");
    assert_int_equal(o.code, 2);
    assert_int_equal(strncmp(o.err, "saltus: nothing.yaml: ", 22), 0);
    assert_null(strstr(o.err + 1, "saltus: "));
}

/* What goes wrong in a trajectory is told once, whoever simulates it. */
static void a_failure_anywhere_ends_all(void **state)
{
    (void)state;
    need_mpirun();
    write_file("rare.yaml", "species: {A: 20}\n"
                            "reactions: {down: A -> 0 @ 1, r: {equation: 0 -> A, law: 22.5-A}}\n");
    use_ranks(3);
    outcome o = saltus("run rare.yaml --until 5 --runs 100000 -q -o bad.h5");
    assert_int_equal(o.code, 1);
    assert_int_equal(strncmp(o.err, "saltus: ", 8), 0);
    assert_non_null(strstr(o.err, "is negative at A = 23"));
    assert_null(strstr(o.err + 1, "saltus: "));
    use_ranks(0);
    o = saltus("stats bad.h5");
    assert_int_equal(o.code, 0);
}

/* Whatever a signal stops, the file goes on to the bits of the run that was never stopped. */
static void stopped_ranks_go_on(void **state)
{
    static const struct {
        int rank, signal, code; /* rank -1: what has started them; code 0: MPI's own */
    } cases[] = {{1, SIGUSR1, 130}, {0, SIGTERM, 130}, {-1, SIGTERM, 0}, {1, SIGKILL, 0}};
    (void)state;
    need_mpirun();
    use_ranks(0);
    outcome o =
        saltus("run busy.yaml --until 2 --points 3 --runs 2500000 --threads 1 -q --record stats "
               "-o one.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        use_ranks(2);
        const pid_t child =
            start_saltus("run busy.yaml --until 2 --points 3 --runs 2500000 --threads 1 -q "
                         "--record stats -o part.h5");
        wait_for_growth("part.h5", 2);
        (void)usleep(300000);
        if (cases[i].rank < 0) {
            assert_int_equal(kill(child, cases[i].signal), 0);
        } else {
            signal_rank(cases[i].rank, cases[i].signal);
        }
        o = finish_saltus(child);
        if (o.code == 0 || (cases[i].code != 0 && o.code != cases[i].code)) {
            fail_msg("case %zu: %d: %s", i, o.code, o.err);
        }
        assert_non_null(strstr(o.err, "interrupted after"));
        use_ranks(cases[i].rank == 0 ? 0 : 3);
        o = saltus("resume part.h5 -q");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 11);
        assert_int_equal(unlink("part.h5"), 0);
    }
}

static void what_cannot_work_together_is_refused(void **state)
{
    (void)state;
    need_mpirun();
    use_ranks(2);
    assert_int_equal(setenv("SALTUS_MPI", "/nowhere/libsaltus-mpi.so", 1), 0);
    outcome o = saltus("run decay.yaml --until 3 --runs 9 -o x.h5");
    assert_int_equal(o.code, 2);
    assert_non_null(strstr(o.err, "has started 2 processes"));
    assert_null(strstr(strstr(o.err, "has started") + 1, "has started"));
    (void)saltus("run decay.yaml --until 3 --runs 9 --shard auto -q -o x.h5");
    assert_int_equal(unsetenv("SALTUS_MPI"), 0);
    assert_false(file_exists("y.h5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_those_of_one_process, enter, leave_directory),
        cmocka_unit_test_setup_teardown(lattices_are_those_of_one_process, enter, leave_directory),
        cmocka_unit_test_setup_teardown(slabs_are_those_of_one_process, enter, leave_directory),
        cmocka_unit_test_setup_teardown(stopped_slabs_go_on, enter, leave_directory),
        cmocka_unit_test_setup_teardown(sweeps_are_those_of_one_process, enter, leave_directory),
        cmocka_unit_test_setup_teardown(rank_0_alone_talks, enter, leave_directory),
        cmocka_unit_test_setup_teardown(a_failure_anywhere_ends_all, enter, leave_directory),
        cmocka_unit_test_setup_teardown(stopped_ranks_go_on, enter, leave_directory),
        cmocka_unit_test_setup_teardown(what_cannot_work_together_is_refused, enter,
                                        leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
