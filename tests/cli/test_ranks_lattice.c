/* One lattice on the processes that mpirun starts, a slab each: the file is that of one process.
 * RANKS_DEVICE is a device of each, the CPU if it is not set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *device(void)
{
    return getenv("RANKS_DEVICE");
}

/* What one lattice on several ranks records, each of which has a slab. On GPUs it is counts, which
 * are widened on the way. */
static void slabs_are_those_of_one_process(void **state)
{
    static const int counts[] = {2, 3, 5};
    char more[200] = "";
    (void)state;
    need_mpirun();
    need_units();
    if (device()) {
        (void)snprintf(more, sizeof more, "--split auto --device %s", device());
    }
    const int n = device() ? 2 : 3;
    same_by_all("run ring.yaml --until 0.004 --points 3 --frames 0.002 --profile z --device cpu",
                more, counts, n, 12);
    same_by_all("run faces.yaml --until 0.02 --points 3 --frames 0.02 --profile x --device cpu "
                "--threads 2",
                more, counts, n, 12);
    same_by_all("run grow.yaml --until 0.004 --points 3 --record stats --runs 2 --device cpu", more,
                counts + 2 * !device(), 1, 12);
}

static void splits_are_done_or_refused(void **state)
{
    static const char *const splits[] = {"1:1", "5:1:2", "1:1:1:1:1:1:1"};
    (void)state;
    need_mpirun();
    need_units();
    use_ranks(0);
    outcome o = saltus("run faces.yaml --until 0.02 --points 3 --runs 3 -q -o one.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i += stride_of_cases()) {
        use_ranks(1 + (int)strlen(splits[i]) / 2);
        o = saltus("run faces.yaml --until 0.02 --points 3 --runs 3 --split %s --explain -o n.h5",
                   splits[i]);
        assert_int_equal(o.code, 0);
        assert_non_null(strstr(o.err, "one of each rank"));
        assert_equal_results("one.h5", "n.h5", 12);
        assert_int_equal(unlink("n.h5"), 0);
    }
    use_ranks(7);
    o = saltus("run faces.yaml --until 0.05 --split 1:1 -o n.h5");
    assert_int_equal(o.code, 2);
    assert_non_null(strstr(o.err, "2 slabs, 7 ranks, 11 planes"));
    use_ranks(0);
    o = saltus("run faces.yaml --until 0.05 --split 1:1 -o n.h5");
    assert_refused(&o, 2, "or on ranks");
}

/* What fails in one slab is told once, with its place in the lattice. */
static void a_failure_in_a_slab_ends_all(void **state)
{
    (void)state;
    need_mpirun();
    need_units();
    use_ranks(0);
    outcome o = saltus("run bad.yaml --until 1 -q -o one.h5");
    assert_int_equal(o.code, 1);
    char *sentence = strdup(o.err);
    use_ranks(3);
    o = saltus("run bad.yaml --until 1 -q -o all.h5");
    assert_int_equal(o.code, 1);
    assert_int_equal(strncmp(o.err, sentence, strlen(sentence)), 0);
    free(sentence);
}

/* A lattice on several ranks is stopped by a signal to any of them, and goes on from where it was,
 * on as many as there are then. */
static void stopped_slabs_go_on(void **state)
{
    static const struct {
        int rank, signal, then; /* ranks that go on; 0: one process */
        const char *split;      /* which these need not have */
    } cases[] = {
        {1, SIGUSR1, 3, "--split 1:1"}, {0, SIGTERM, 0, "--split auto"}, {1, SIGKILL, 2, ""}};
    char run[100];
    (void)state;
    (void)snprintf(run, sizeof run,
                   "run ring.yaml --until %g --points 50 --checkpoint 0.3 --threads 1 -q",
                   stride_of_cases() > 1 ? 0.02
                   : takes_all()         ? 0.2
                                         : 0.08);
    need_mpirun();
    need_units();
    outcome o = saltus("%s -o one.h5", run);
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        use_ranks(2);
        do {
            const pid_t child = start_saltus("%s %s -o part.h5", run, cases[i].split);
            wait_for_file("part.h5.checkpoint");
            signal_rank(cases[i].rank, cases[i].signal);
            o = finish_saltus(child);
        } while (ended_first(&o, "part.h5"));
        if (cases[i].signal != SIGKILL && o.code != 130) {
            fail_msg("case %zu: %d: %s", i, o.code, o.err);
        }
        use_ranks(cases[i].then);
        o = saltus("resume part.h5 -q --json%s", i == 0 ? " --device cpu" : "");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 12);
        assert_int_equal(unlink("part.h5"), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slabs_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(splits_are_done_or_refused, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_failure_in_a_slab_ends_all, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(stopped_slabs_go_on, enter_with_ranks, leave_directory),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
