/* Runs and sweeps by several processes, which mpirun starts: the file is that of one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "command.h"
#include "ranks.h"

#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void same(const char *command, int least_sets)
{
    static const int counts[] = {1, 2, 3, 5};
    same_by_all(command, "", counts, 4, least_sets);
}

static void runs_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    same("run decay.yaml --until 3 --points 5 --runs 3000", 12);
    same("run decay.yaml --until 3 --points 5 --runs 5000 --record stats", 11);
    same("run decay.yaml --until 3 --points 5 --runs 4000 --first 7 --record final "
         "--derive mean:A,passage:A:5",
         12);
    same("run decay.yaml --until 3 --runs 4000 --record histogram --bins 8", 14);
    same("run decay.yaml --until 3 --runs 900 --method tau --threads 2", 12);
    same("run busy.yaml --until 2 --points 3 --runs 900 --rng mt19937", 12);
}

static void lattices_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    need_units();
    same("run lattice.yaml --until 0.1 --points 3 --runs 7 --profile z --frames 0.02", 3);
    same("run lattice.yaml --until 0.1 --points 3 --runs 9 --record stats", 3);
    same("run lattice.yaml --until 0.1 --points 3 --runs 7 --method nsm", 3);
}

static void sweeps_are_those_of_one_process(void **state)
{
    (void)state;
    need_mpirun();
    same("sweep decay.yaml --vary A=lin:10:300:41 --until 2 --points 3 --runs 200", 9);
    same("sweep decay.yaml --vary A=list:5,50,500 --vary k=list:1,2 --until 2 --points 3 "
         "--runs 150 --record stats --common-random-numbers --method tau",
         9);
    same("sweep decay.yaml --vary k=log:0.1:10:12 --until 2 --points 3 --runs 90 "
         "--record histogram --bins 8 --first 5",
         9);
    same("sweep decay.yaml --design sobol:20 --vary k=lin:0.1:10 --until 2 --points 3 "
         "--runs 90 --record final --derive max:A,tmax:B --burn-in 1",
         9);
    same("sweep decay.yaml --vary A=list:7 --until 2 --points 3 --runs 900", 9);
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
        cmocka_unit_test_setup_teardown(runs_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(lattices_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(sweeps_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(rank_0_alone_talks, enter_with_ranks, leave_directory),
        cmocka_unit_test_setup_teardown(a_failure_anywhere_ends_all, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(stopped_ranks_go_on, enter_with_ranks, leave_directory),
        cmocka_unit_test_setup_teardown(what_cannot_work_together_is_refused, enter_with_ranks,
                                        leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
