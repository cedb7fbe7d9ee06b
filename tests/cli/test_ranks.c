/* Runs and sweeps by several processes, which mpirun starts: the file is that of one process. With
 * RANKS_DEVICE there are GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "command.h"
#include "ensemble/checkpoint_file.h"
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

/* Sums, last samples and bins made where a GPU is, and trajectories that it leaves to the host. */
static void what_gpus_reduce_is_that_of_one_process(void **state)
{
    static const int counts[] = {3};
    (void)state;
    need_mpirun();
    if (!getenv("RANKS_DEVICE")) {
        skip();
    }
    write_file("observed.yaml", "species: {A: 0, B: 0}\n"
                                "rules: {half: A/2 - B, ratio: A/(B + 1)}\n"
                                "reactions: {r: 0 -> A @ 65}\n"
                                "events:\n  e: {when: sin(3.14159*A/2) > 0.5, delay: 2, set: "
                                "{B: B + 1}}\n");
    same_by_all("run observed.yaml --device cuda --until 3 --points 4 --runs 300 --record final",
                "", counts, 1, 12);
    same_by_all("sweep observed.yaml --device cuda --vary A=list:0,9,30 --until 1 --points 3 "
                "--runs 300 --record histogram --bins 8",
                "", counts, 1, 12);
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
    char command[120];
    (void)state;
    need_mpirun();
    use_ranks(0);
    (void)snprintf(command, sizeof command,
                   "run busy.yaml --until 2 --points 3 --runs %d --threads 1 -q --record stats",
                   stride_of_cases() > 1 ? 400000 : 900000);
    outcome o = saltus("%s -o one.h5", command);
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        use_ranks(2);
        do {
            const pid_t child = start_saltus("%s -o part.h5", command);
            wait_for_growth("part.h5", 2);
            (void)usleep(300000);
            if (cases[i].rank < 0) {
                assert_int_equal(kill(child, cases[i].signal), 0);
            } else {
                signal_rank(cases[i].rank, cases[i].signal);
            }
            o = finish_saltus(child);
        } while (ended_first(&o, "part.h5"));
        /* what mpirun kills after a second may have said nothing */
        if (cases[i].code != 0 &&
            (o.code != cases[i].code || !strstr(o.err, "interrupted after"))) {
            fail_msg("case %zu: %d: %s", i, o.code, o.err);
        }
        use_ranks(cases[i].rank == 0 ? 0 : 3);
        o = saltus("resume part.h5 -q");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 11);
        assert_int_equal(unlink("part.h5"), 0);
    }
}

/* A part of a sweep is simulated alone, and may go on on ranks, which have the same part. */
static void parts_of_sweeps_go_on_on_ranks(void **state)
{
    static const char *const cuts[] = {"runs", "points"};
    char command[160];
    (void)state;
    need_mpirun();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; ++i) {
        (void)snprintf(
            command, sizeof command,
            "sweep busy.yaml --vary A=list:100,120,140,160,180,200 --until 2 --points 3 --runs %d "
            "--shard 1/2 --shard-by %s --threads 1 -q --record stats",
            stride_of_cases() > 1 ? 60000 : 200000, cuts[i]);
        use_ranks(0);
        outcome o = saltus("%s -o one.h5 --overwrite", command);
        assert_done(&o);
        do {
            const pid_t child = start_saltus("%s -o part.h5", command);
            wait_for_growth("part.h5", 1);
            assert_int_equal(kill(child, SIGTERM), 0);
            o = finish_saltus(child);
        } while (ended_first(&o, "part.h5"));
        assert_int_equal(o.code, 130);
        use_ranks(3);
        o = saltus("resume part.h5 -q");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 9);
        assert_int_equal(unlink("part.h5"), 0);
    }
}

/* ------------------------------------------------------------------------------------------------
 * What is under way
 */

/* Events, so that a worker has one trajectory at a time. */
static const char long_model[] = "species: {A: 1000, B: 0, C: 5}\n"
                                 "parameters: {k: 100}\n"
                                 "reactions:\n"
                                 "  there: A -> B @ k\n"
                                 "  back: B -> A @ 100\n"
                                 "  make: 0 -> C @ 50 * A / (20 + C)\n"
                                 "  gone: C -> 0 @ 1\n"
                                 "events: {faster: {when: time >= 7, set: {k: 120}}}\n";
enum { MARK = 77777 };

typedef enum counting { ALL, UNDER_WAY, MARK_UNDER_WAY } counting;

/* Trajectories in a checkpoint: all, or those that have begun and not ended. These may be marked:
 * the first sample of each gets a number of particles that is none. */
static int count_kept(const char *path, counting how)
{
    saltus_kept_table table = {0};
    saltus_packer all = {0};
    saltus_error err = {0};
    char identity[65], trouble[200] = "";
    int64_t n_pieces = 0;
    int n = 0;
    FILE *f = fopen(path, "rb");
    if (!f) {
        return 0;
    }
    assert_int_equal(fseek(f, 24, SEEK_SET), 0);
    assert_int_equal(fread(&n_pieces, sizeof n_pieces, 1, f), 1);
    assert_int_equal(fseek(f, 8 * (n_pieces + 1), SEEK_CUR), 0); /* sizes and a checksum */
    assert_int_equal(fread(identity, sizeof identity, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(
        saltus_checkpoint_file_read(path, identity, false, &table, trouble, sizeof trouble, &err),
        SALTUS_OK);
    assert_string_equal(trouble, "");
    for (size_t i = 0; i < table.capacity; ++i) {
        const saltus_kept *kept = table.kept[i];
        const bool is_under_way = kept && !kept->is_complete && kept->n_samples > 0;
        if (is_under_way) {
            assert_true(kept->size > 0);
            *(int64_t *)(uintptr_t)kept->counts += how == MARK_UNDER_WAY ? MARK : 0;
        }
        n += how == ALL ? kept != NULL : is_under_way;
    }
    if (how == MARK_UNDER_WAY) {
        saltus_kept_pack(&all, &table);
        assert_int_equal(saltus_checkpoint_file_write(path, identity, &all, &err), SALTUS_OK);
    }
    saltus_pack_free(&all);
    saltus_kept_free(&table);
    return n;
}

static int count_delivered(const char *path)
{
    int64_t n = -1;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
                of = H5Aopen(file, "trajectories", H5P_DEFAULT);
    assert_true(H5Aread(of, H5T_NATIVE_INT64, &n) >= 0);
    (void)H5Aclose(of);
    (void)H5Fclose(file);
    return (int)n;
}

static int count_marks(const char *file)
{
    char mark[20], *text = exported(file);
    int n = 0;
    (void)snprintf(mark, sizeof mark, "%d", 1000 + MARK);
    for (const char *at = text; (at = strstr(at, mark)); ++at) {
        ++n;
    }
    free(text);
    return n;
}

/* Each rank has one trajectory under way, and each of these goes on, whoever has it then. */
static void what_ranks_have_under_way_is_kept(void **state)
{
    static const struct {
        int n_before, rank, signal, n_after;
    } cases[] = {{3, 0, SIGTERM, 2}, {3, 1, SIGUSR1, 0}, {2, 1, SIGKILL, 3}};
    char command[100];
    (void)state;
    need_mpirun();
    (void)snprintf(command, sizeof command,
                   "run long.yaml --until %d --points 7 --runs 4 --threads 1 -q",
                   stride_of_cases() > 1 ? 60 : 100);
    write_file("long.yaml", long_model);
    use_ranks(0);
    outcome o = saltus("%s -o one.h5", command);
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        use_ranks(cases[i].n_before);
        do {
            const pid_t child = start_saltus("%s --checkpoint 0.2 -o part.h5", command);
            while (count_kept("part.h5.checkpoint", UNDER_WAY) < cases[i].n_before) {
                (void)usleep(10000);
            }
            signal_rank(cases[i].rank, cases[i].signal);
            o = finish_saltus(child);
        } while (ended_first(&o, "part.h5"));
        /* some may have ended meanwhile; and after a kill it takes a while until all end */
        const int n = count_kept("part.h5.checkpoint", ALL);
        if (cases[i].signal != SIGKILL && n + count_delivered("part.h5") < cases[i].n_before) {
            fail_msg("case %zu: %d trajectories: %s", i, n, o.err);
        }
        if (cases[i].n_after == 2) {
            assert_int_equal(system("cp part.h5 marked.h5 && "
                                    "cp part.h5.checkpoint marked.h5.checkpoint"),
                             0);
        }
        use_ranks(cases[i].n_after);
        o = saltus("resume part.h5 -q");
        assert_done(&o);
        assert_equal_results("one.h5", "part.h5", 12);
        assert_int_equal(unlink("part.h5"), 0);
    }
    const int n = count_kept("marked.h5.checkpoint", MARK_UNDER_WAY);
    const int n_ended = count_delivered("marked.h5"); /* some of what was kept may be of these */
    use_ranks(2);
    o = saltus("resume marked.h5 -q");
    assert_done(&o);
    const int n_marks = count_marks("marked.h5");
    if (n_marks == 0 || n_marks < n - n_ended) {
        fail_msg("%d of %d go on, %d had ended", n_marks, n, n_ended);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(lattices_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(sweeps_are_those_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_gpus_reduce_is_that_of_one_process, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(rank_0_alone_talks, enter_with_ranks, leave_directory),
        cmocka_unit_test_setup_teardown(a_failure_anywhere_ends_all, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(stopped_ranks_go_on, enter_with_ranks, leave_directory),
        cmocka_unit_test_setup_teardown(parts_of_sweeps_go_on_on_ranks, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_ranks_have_under_way_is_kept, enter_with_ranks,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_cannot_work_together_is_refused, enter_with_ranks,
                                        leave_directory),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
