/* Parts of runs and sweeps, which merge to the file of the whole. */
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
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some trajectories, but not all, have more than 255 in a site, and then values of two bytes. */
static const char full_lattice[] = "species: {A: 1800, B: 0}\n"
                                   "reactions:\n"
                                   "  there: A -> B @ 0.2\n"
                                   "lattice:\n"
                                   "  size: [2, 2, 2]\n"
                                   "  spacing: 100 nm\n"
                                   "  step: 10 ms\n"
                                   "  diffusion: {A: 0.1 um2/s, B: 0}\n";
static const char two_ways[] = "species: {A: 50, B: 0}\n"
                               "parameters: {k: 1, m: 1}\n"
                               "reactions:\n"
                               "  there: A -> B @ k\n"
                               "  back: B -> A @ m\n";

static void remove_all(const char *pattern)
{
    char command[200];
    (void)snprintf(command, sizeof command, "rm -f %s", pattern);
    assert_int_equal(system(command), 0);
}

/* Root attributes that describe a whole: a merge has no others. */
static void assert_same_attributes(const char *a, const char *b)
{
    hid_t files[2] = {H5Fopen(a, H5F_ACC_RDONLY, H5P_DEFAULT),
                      H5Fopen(b, H5F_ACC_RDONLY, H5P_DEFAULT)};
    H5O_info_t about[2];
    for (int i = 0; i < 2; ++i) {
        assert_true(files[i] >= 0 && H5Oget_info(files[i], &about[i]) >= 0);
    }
    assert_int_equal(about[0].num_attrs, about[1].num_attrs);
    for (hsize_t i = 0; i < about[0].num_attrs; ++i) {
        const hid_t x =
            H5Aopen_by_idx(files[0], ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        char name[100];
        assert_true(H5Aget_name(x, sizeof name, name) > 0);
        if (H5Aexists(files[1], name) <= 0) {
            fail_msg("%s has no attribute %s", b, name);
        }
        (void)H5Aclose(x);
    }
    for (int i = 0; i < 2; ++i) {
        (void)H5Fclose(files[i]);
    }
}

/* Merge part0.h5 … part<n - 1>.h5 in an order that the seed says. */
static void merge_in_some_order(int n, unsigned seed)
{
    char line[1000] = "merge";
    int order[20];
    assert_true(n <= 20);
    for (int i = 0; i < n; ++i) {
        order[i] = i;
    }
    for (int i = n - 1; i > 0; --i) {
        seed = seed * 1103515245u + 12345u;
        const int k = (int)(seed >> 16) % (i + 1), other = order[i];
        order[i] = order[k];
        order[k] = other;
    }
    for (int i = 0; i < n; ++i) {
        const size_t at = strlen(line);
        (void)snprintf(line + at, sizeof line - at, " part%d.h5", order[i]);
    }
    const outcome o = saltus("%s -q -o all.h5", line);
    assert_done(&o);
}

/* Cut what a command makes, merge it, and compare. */
static void cut_and_merge(const char *command, const char *how, int n, int least_sets)
{
    outcome o = saltus("%s -q -o whole.h5", command);
    assert_done(&o);
    for (int s = 1; s <= n; ++s) { /* the last is shard 0 */
        o = saltus("%s -q %s --shard %d/%d --threads %d -o part%d.h5", command, how, s, n,
                   1 + s % 2, s % n);
        assert_done(&o);
    }
    merge_in_some_order(n, (unsigned)(n + least_sets));
    assert_equal_results("whole.h5", "all.h5", least_sets);
    assert_same_attributes("whole.h5", "all.h5");
    o = saltus("merge part*.h5 -q -o all.h5");
    assert_refused(&o, 2, "exists");
    o = saltus("merge part*.h5 -q --overwrite -o part1.h5");
    assert_refused(&o, 2, "is one of the files to merge");
    remove_all("part*.h5 whole.h5 all.h5 *.xdmf");
}

static void shards_make_the_whole(void **state)
{
    static const struct {
        const char *command;
        int n;
    } cases[] = {{"run decay.yaml --until 2 --points 4 --runs 2000", 3},
                 {"run decay.yaml --until 2 --points 4 --runs 999 --first 5 --record stats", 7},
                 {"run decay.yaml --until 2 --points 4 --runs 999 --record final "
                  "--derive mean:A,passage:A:5 --method tau",
                  4},
                 {"run decay.yaml --until 2 --points 4 --runs 300 --record histogram --bins 4", 5},
                 {"run decay.yaml --until 2 --points 4 --runs 300 --record histogram --bins 4 "
                  "--range 10:40",
                  2},
                 {"run lattice.yaml --until 0.1 --points 3 --runs 7 --profile z", 3},
                 {"run lattice.yaml --until 0.1 --points 3 --runs 7 --record stats", 3},
                 {"run decay.yaml --until 2 --points 4 --runs 5000 --compress none", 9}};
    (void)state;
    keep_results();
    write_file("lattice.yaml", tiny_lattice);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        cut_and_merge(cases[i].command, "", cases[i].n, 11);
    }
}

/* Of many shards each is about as large as another, and has work for several threads. */
static void small_shards_are_even(void **state)
{
    hid_t file, set, how, space;
    (void)state;
    for (int s = 0; s < 3; ++s) {
        hsize_t chunk[3] = {0}, shape[3] = {0};
        const outcome o = saltus("run decay.yaml --until 2 --points 4 --runs 200000 --shard "
                                 "%d/200 -q -o part%d.h5",
                                 s, s);
        char name[20];
        assert_done(&o);
        (void)snprintf(name, sizeof name, "part%d.h5", s);
        file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
        set = H5Dopen2(file, "counts", H5P_DEFAULT);
        how = H5Dget_create_plist(set);
        space = H5Dget_space(set);
        assert_int_equal(H5Pget_chunk(how, 3, chunk), 3);
        assert_int_equal(H5Sget_simple_extent_dims(space, shape, NULL), 3);
        if (shape[0] < 975 || shape[0] > 1025 || chunk[0] * 30 > shape[0]) {
            fail_msg("shard %d has %llu trajectories in chunks of %llu", s,
                     (unsigned long long)shape[0], (unsigned long long)chunk[0]);
        }
        (void)H5Sclose(space);
        (void)H5Pclose(how);
        (void)H5Dclose(set);
        (void)H5Fclose(file);
    }
}

static void frames_are_merged(void **state)
{
    (void)state;
    keep_results();
    write_file("lattice.yaml", tiny_lattice);
    cut_and_merge("run lattice.yaml --until 0.1 --points 3 --runs 7 --frames 0.03", "", 3, 20);
    cut_and_merge("run lattice.yaml --until 0.1 --points 3 --runs 5 --frames 0.05 --first 3 "
                  "--method nsm --record stats --profile x",
                  "", 5, 20);
}

/* Names of more than 64 kB are packed, and their file is merged, extended and resumed as others. */
static void many_names_are_taken(void **state)
{
    static const char all[] = "run names.yaml --until 0.1 --points 2 -q";
    char *text = NULL;
    size_t size = 0;
    (void)state;
    keep_results();
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n");
    for (int i = 0; i < 1500; ++i) {
        fprintf(out, "  %s%d: %d\n", "one_of_the_many_species_of_a_large_network_", i, i % 3);
    }
    fprintf(out, "reactions: {r: one_of_the_many_species_of_a_large_network_2 -> 0 @ 1}\n");
    assert_int_equal(fclose(out), 0);
    write_file("names.yaml", text);
    free(text);
    cut_and_merge("run names.yaml --until 0.1 --points 2 --runs 7", "", 3, 11);
    cut_and_merge("sweep names.yaml --until 0.1 --points 2 --runs 2 --vary "
                  "one_of_the_many_species_of_a_large_network_2=list:1,2,3",
                  "", 3, 12);
    outcome o = saltus("%s --runs 7 -o whole.h5", all);
    assert_done(&o);
    o = saltus("%s --runs 3 -o part.h5", all);
    assert_done(&o);
    o = saltus("%s --first 3 --runs 4 --append -o part.h5", all);
    assert_done(&o);
    assert_equal_results("whole.h5", "part.h5", 11);
    o = saltus("resume part.h5 -q");
    assert_done(&o);
}

static size_t width_of_frames(const char *name)
{
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "space/frames/A", H5P_DEFAULT), type = H5Dget_type(set);
    const size_t width = H5Tget_size(type);
    (void)H5Tclose(type);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
    return width;
}

/* Wide frames behind narrow ones and before them, and some that are packed in another way. */
static void frames_of_unequal_width_are_merged(void **state)
{
    (void)state;
    keep_results();
    write_file("full.yaml", full_lattice);
    for (int first = 0; first < 2; ++first) {
        const char *run = "run full.yaml --until 1 --points 3 --frames 0.1 -q";
        size_t width[5];
        outcome o = saltus("%s --first %d --runs 5 -o whole.h5", run, first);
        assert_done(&o);
        for (int s = 0; s < 5; ++s) {
            char name[30];
            o = saltus("%s --first %d --compress %s -o part%d.h5", run, first + s,
                       s == 3 ? "none" : "fast", s);
            assert_done(&o);
            (void)snprintf(name, sizeof name, "part%d.h5", s);
            width[s] = width_of_frames(name);
        }
        assert_int_equal(width[0], 1 + first);
        assert_int_equal(width[1], 2 - first);
        assert_int_equal(width[3], 2 - first);
        merge_in_some_order(5, 5);
        assert_equal_results("whole.h5", "all.h5", 18);
        assert_int_equal(width_of_frames("all.h5"), 2);
        assert_true(file_exists("all.xdmf"));
        remove_all("part*.h5 whole.h5 all.h5 *.xdmf");
    }
}

/* ------------------------------------------------------------------------------------------------
 * Sweeps
 */

static void write_two_states(void)
{
    write_file("two.yaml", "species: {A: 50, B: 0}\n"
                           "parameters: {k: 1, m: 1}\n"
                           "rules: {share: A / (A + B + 0.1)}\n"
                           "reactions:\n"
                           "  there: A -> B @ k\n"
                           "  back: B -> A @ m\n");
}

static void shards_of_a_sweep_make_the_whole(void **state)
{
    static const struct {
        const char *command;
        int n;
    } cases[] = {
        {"--vary k=lin:0.5:2:5 --vary m=list:1,2 --runs 11 --record all --derive mean:A,period:B",
         3},
        {"--vary k=log:0.5:2:7 --runs 10 --first 4 --record stats --species A,share", 5},
        {"--vary k=lin:0.5:2 --vary m=log:1:3 --design lhs:13 --runs 9 --record final "
         "--derive passage:A:20 --common-random-numbers",
         4},
        {"--vary A=lin:20:90:6 --runs 8 --record histogram --common-random-numbers", 4},
        {"--vary k=lin:1:2 --design sobol:9 --runs 7 --record histogram --bins 5 --range 10:40 "
         "--seed 77",
         7},
        {"--design file:points.csv --runs 5 --record final --species A,share,B --method tau", 3},
        {"--vary k=list:1,2,3 --runs 3000 --record all --compress none", 3},
        {"--vary k=list:1,2,3 --runs 700 --record all --points 60 --derive max:B", 2},
        {"--vary k=lin:1:2:13 --runs 400 --record all --points 10", 3}}; /* 4 points a chunk */
    (void)state;
    keep_results();
    write_two_states();
    write_file("points.csv", "k,m\n0.5,1\n0.7,2\n1.1,0.3\n2,2\n0.1,0.9\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_cases()) {
        char command[300];
        (void)snprintf(command, sizeof command, "sweep two.yaml --until 2 --points 4 %s",
                       cases[i].command);
        cut_and_merge(command, "", cases[i].n > 3 ? cases[i].n : 3, 12);
        cut_and_merge(command, "--shard-by runs", cases[i].n, 12);
    }
}

/* A chunk that is too small to be packed stays as it was shuffled when rows are added to it. */
static void tiny_chunks_go_on(void **state)
{
    (void)state;
    keep_results();
    write_two_states();
    for (int runs = 1; runs <= 6; runs += (int)stride_of_cases()) {
        for (int points = 2; points <= 4; ++points) {
            char command[300];
            (void)snprintf(command, sizeof command,
                           "sweep two.yaml --until 2 --points 4 --species share --record %s "
                           "--derive mean:share --vary k=lin:1:2:%d --runs %d",
                           points % 2 ? "all" : "stats", points, runs);
            cut_and_merge(command, "", points, 12);
        }
    }
}

/* A shard alone reads as what it is: its own points, with their own values and numbers. */
static void a_shard_is_read_as_it_is(void **state)
{
    static const char *const ways[] = {"points", "runs"};
    (void)state;
    keep_results();
    write_file("two.yaml", two_ways);
    const char *sweep = "sweep two.yaml --vary k=lin:0.5:2:3 --vary m=list:1,2 --until 2 "
                        "--points 3 --runs 5 --first 2 -q --overwrite";
    outcome o = saltus("%s -o whole.h5", sweep);
    assert_done(&o);
    for (int way = 0; way < 2; ++way) {
        for (int s = 0; s < 4; ++s) {
            o = saltus("%s --shard %d/4 --shard-by %s -o part%d.h5", sweep, s, ways[way], s);
            assert_done(&o);
        }
        assert_int_equal(system("rm -f parts.csv"), 0);
        for (int s = 0; s < 4; ++s) {
            o = saltus("export part%d.h5 >>parts.csv", s);
            assert_done(&o);
        }
        o = saltus("export whole.h5 >whole.csv");
        assert_done(&o);
        assert_int_equal(system("sort -u parts.csv >a.csv && sort -u whole.csv >b.csv && cmp a.csv "
                                "b.csv"),
                         0);
    }
}

/* Kill a shard, go on with it, and merge. */
static void a_shard_that_was_killed_goes_on(void **state)
{
    static const char *const ways[] = {"points", "runs"};
    (void)state;
    keep_results();
    char sweep[200]; /* sanitizers are slow */
    (void)snprintf(sweep, sizeof sweep,
                   "sweep busy.yaml --vary A=lin:100:300:121 --until 2 --points 3 --runs %d "
                   "--record final -q",
                   stride_of_cases() > 1 ? 3000 : 15000);
    outcome o = saltus("%s -o whole.h5", sweep);
    assert_done(&o);
    for (int way = 0; way < 2; ++way) {
        o = saltus("%s --shard 0/2 --shard-by %s -o part0.h5", sweep, ways[way]);
        assert_done(&o);
        do {
            assert_int_equal(setenv("PMI_RANK", "1", 1) | setenv("PMI_SIZE", "2", 1), 0);
            const pid_t child =
                start_saltus("%s --shard auto --shard-by %s -o part1.h5", sweep, ways[way]);
            assert_int_equal(unsetenv("PMI_RANK") | unsetenv("PMI_SIZE"), 0);
            wait_for_growth("part1.h5", 2);
            (void)kill(child, way == 0 ? SIGKILL : SIGTERM);
            (void)finish_saltus(child); /* which may be killed when its file is complete */
            o = saltus("merge part0.h5 part1.h5 -q -o all.h5 --overwrite");
        } while (ended_first(&o, "part1.h5"));
        assert_refused(&o, 2, "is not complete");
        (void)unlink("all.h5"); /* of an attempt whose part was complete */
        o = saltus("resume part1.h5 -q");
        assert_done(&o);
        merge_in_some_order(2, 3);
        assert_equal_results("whole.h5", "all.h5", 12);
        remove_all("part*.h5 all.h5");
    }
}

static void what_is_no_sweep_is_named(void **state)
{
    (void)state;
    keep_results();
    write_file("two.yaml", two_ways);
    const char *sweep = "sweep two.yaml --until 2 --points 3 -q --overwrite --vary";
    const char *seven = "k=lin:0.5:2:7 --runs 10";
    for (int s = 0; s < 3; ++s) {
        outcome o = saltus("%s %s --shard %d/3 -o p%d.h5", sweep, seven, s, s);
        assert_done(&o);
        o = saltus("%s %s --shard %d/3 --shard-by runs -o r%d.h5", sweep, seven, s, s);
        assert_done(&o);
    }
    static const struct {
        const char *options, *part;
    } others[] = {{"k=lin:0.5:2:7 --runs 10 --seed 2", "seed is 2 there and 1 here"},
                  {"k=lin:0.5:2.5:7 --runs 10", "varied: not the same there and here"},
                  {"k=lin:0.5:2:7 --runs 12", "of 12 trajectories there"},
                  {"m=lin:0.5:2:7 --runs 10", "varied: not the same there and here"},
                  {"k=lin:0.5:2 --design sobol:7 --runs 10", "varied: not the same there and here"},
                  {"k=lin:0.5:2:7 --runs 10 --common-random-numbers", "common random numbers is"},
                  {"k=lin:0.5:2:7 --runs 10 --first 3", "parts of different runs"}};
    outcome o;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        for (int way = 0; way < 2; ++way) {
            o = saltus("%s %s --shard 1/3 --shard-by %s -o x.h5", sweep, others[i].options,
                       way ? "runs" : "points");
            assert_done(&o);
            o = saltus(way ? "merge r0.h5 x.h5 r2.h5 -o all.h5"
                           : "merge p0.h5 x.h5 p2.h5 -o all.h5");
            assert_refused(&o, 2, others[i].part);
        }
    }
    o = saltus("merge p0.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "shard 1 of 3 is missing: points 2 to 3");
    o = saltus("merge r2.h5 r1.h5 -o all.h5");
    assert_refused(&o, 2, "shard 0 of 3 is missing: runs 0 to 2");
    o = saltus("merge p0.h5 p1.h5 p1.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "both have point 2");
    o = saltus("merge r2.h5 r1.h5 r0.h5 r2.h5 -o all.h5");
    assert_refused(&o, 2, "both have run 6");
    o = saltus("merge p0.h5 r1.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "cut in different ways");
    o = saltus("%s %s --shard 1/4 -o x.h5", sweep, seven);
    assert_done(&o);
    o = saltus("merge p0.h5 x.h5 p1.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "parts of different runs");
    o = saltus("run two.yaml --until 2 --points 3 --runs 10 -q --overwrite -o x.h5");
    assert_done(&o);
    o = saltus("merge p0.h5 x.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "x.h5 is of a run, and p0.h5 of a sweep");
    o = saltus("merge x.h5 p0.h5 -o all.h5");
    assert_refused(&o, 2, "x.h5 is of a run, and p0.h5 of a sweep");
    assert_false(file_exists("all.h5"));
}

static void what_cannot_be_cut_is_refused(void **state)
{
    static const struct {
        const char *how, *part;
    } cases[] = {{"--shard 0/8", "shard 0 of 8: there are but 7 points"},
                 {"--shard 1/8", "shard 1 of 8: there are but 7 points"},
                 {"--shard 0/11 --shard-by runs", "there are but 10 runs at each point"},
                 {"--shard 0/3 --shard-by rows", "--shard-by 'rows'"},
                 {"--shard-by runs", "--shard-by is for --shard"},
                 {"--shard 4/3", "--shard '4/3'"}};
    (void)state;
    keep_results();
    write_file("two.yaml", two_ways);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("sweep two.yaml --until 2 --points 3 -q --vary k=lin:0.5:2:7 "
                                 "--runs 10 %s -o x.h5",
                                 cases[i].how);
        assert_refused(&o, 2, cases[i].part);
    }
    assert_false(file_exists("x.h5"));
}

static void what_is_no_run_is_named(void **state)
{
    const char *run = "run decay.yaml --until 2 --points 4 --runs 100 -q";
    (void)state;
    keep_results();
    for (int s = 0; s < 4; ++s) {
        const outcome o = saltus("%s --shard %d/4 -o p%d.h5", run, s, s);
        assert_done(&o);
    }
    outcome o = saltus("%s --seed 2 --shard 1/4 -o other.h5", run);
    assert_done(&o);
    o = saltus("run decay.yaml --until 2 --points 4 --runs 99 -q --shard 1/4 -o fewer.h5");
    assert_done(&o);
    o = saltus("merge p0.h5 p1.h5 p3.h5 -o all.h5");
    assert_refused(&o, 2, "shard 2 of 4 is missing: trajectories 50 to 74");
    o = saltus("merge p3.h5 p2.h5 -o all.h5");
    assert_refused(&o, 2, "shards 0, 1 of 4 are missing: trajectories 0 to 49");
    o = saltus("merge p0.h5 p1.h5 p1.h5 p2.h5 p3.h5 -o all.h5");
    assert_refused(&o, 2, "both have trajectory 25");
    o = saltus("merge p0.h5 other.h5 p2.h5 p3.h5 -o all.h5");
    assert_refused(&o, 2, "seed is 2 there and 1 here");
    o = saltus("merge p0.h5 fewer.h5 p2.h5 p3.h5 -o all.h5");
    assert_refused(&o, 2, "parts of different runs");
    o = saltus("merge p0.h5 decay.yaml -o all.h5");
    assert_refused(&o, 2, "decay.yaml");
    o = saltus("merge p0.h5 missing.h5 -o all.h5");
    assert_refused(&o, 2, "missing.h5: cannot be read: No such file");
    o = saltus("merge p0.h5 p1.h5 p2.h5 p3.h5 -o missing/all.h5");
    assert_refused(&o, 1, "missing/all.h5: cannot be created");
    o = saltus("merge p0.h5");
    assert_refused(&o, 2, "-o ALL.h5");
    o = saltus("%s --shard 5/4 -o x.h5", run);
    assert_refused(&o, 2, "--shard '5/4'");
    o = saltus("%s --shard auto -o x.h5", run);
    assert_refused(&o, 2, "no batch system has numbered this process");
    assert_false(file_exists("all.h5") || file_exists("x.h5"));
    assert_int_equal(
        setenv("SLURM_ARRAY_TASK_ID", "7", 1) | setenv("SLURM_ARRAY_TASK_MIN", "1", 1) |
            setenv("SLURM_ARRAY_TASK_STEP", "2", 1) | setenv("SLURM_ARRAY_TASK_COUNT", "4", 1),
        0);
    o = saltus("%s --shard auto -o auto.h5", run);
    assert_done(&o);
    static const char *const gaps[][5] = {/* number, first, last, step, count */
                                          {"3", "3", "3", "1", "1"}, {"5", "1", "7", "1", "3"},
                                          {"1", "1", "7", "1", "3"}, {"4", "3", "7", "2", "3"},
                                          {"4", "3", "5", "1", "3"}, {"0", "0", "0", "1", "1"}};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; ++i) {
        assert_int_equal(setenv("SLURM_ARRAY_TASK_ID", gaps[i][0], 1) |
                             setenv("SLURM_ARRAY_TASK_MIN", gaps[i][1], 1) |
                             setenv("SLURM_ARRAY_TASK_MAX", gaps[i][2], 1) |
                             setenv("SLURM_ARRAY_TASK_STEP", gaps[i][3], 1) |
                             setenv("SLURM_ARRAY_TASK_COUNT", gaps[i][4], 1),
                         0);
        o = saltus("%s --shard auto -o x.h5", run);
        assert_refused(&o, 2, "--shard auto: SLURM_ARRAY_TASK_ID is ");
    }
    assert_int_equal(unsetenv("SLURM_ARRAY_TASK_ID") | unsetenv("SLURM_ARRAY_TASK_MAX"), 0);
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "3", 1), 0);
    assert_int_equal(setenv("LSAN_OPTIONS", "detect_leaks=0", 1), 0); /* MPI keeps memory */
    o = saltus("%s -o x.h5", run);
    assert_int_equal(unsetenv("OMPI_COMM_WORLD_SIZE") | unsetenv("LSAN_OPTIONS"), 0);
    assert_refused(&o, 2, "has started 3 processes");
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "3", 1), 0);
    o = saltus("%s -o x.h5 --shard 0/2", run);
    assert_int_equal(unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
    assert_done(&o);
    assert_equal_results("p3.h5", "auto.h5", 12);
}

/* A part has its trajectories, no more: those behind it are another's, or nobody's. */
static void a_part_is_not_extended(void **state)
{
    const char *run = "run decay.yaml --until 2 --points 4 -q";
    const int64_t fewer = 90;
    (void)state;
    keep_results();
    for (int s = 0; s < 2; ++s) {
        const outcome o = saltus("%s --runs 100 --shard %d/2 -o p%d.h5", run, s, s);
        assert_done(&o);
    }
    outcome o = saltus("%s --runs 5 --append -o p1.h5", run);
    assert_refused(&o, 2, "p1.h5: is shard 1 of 2");
    for (int s = 0; s < 2; ++s) { /* as a part is that another program has extended */
        const hid_t file = H5Fopen(s ? "p1.h5" : "p0.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        const hid_t whole = H5Aopen(file, "whole_runs", H5P_DEFAULT);
        assert_true(H5Awrite(whole, H5T_NATIVE_INT64, &fewer) >= 0);
        (void)H5Aclose(whole);
        (void)H5Fclose(file);
    }
    o = saltus("merge p0.h5 p1.h5 -o all.h5");
    assert_refused(&o, 2, "p1.h5: has trajectories up to 99, and those of the whole end at 89");
    assert_false(file_exists("all.h5"));
}

static bool is_there(const char *pattern)
{
    glob_t found;
    const bool is = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return is;
}

static void make_two_parts(int runs)
{
    for (int s = 0; s < 2; ++s) {
        const outcome o = saltus("run decay.yaml --until 2 --points 100 --runs %d --shard %d/2 -q "
                                 "-o p%d.h5",
                                 runs, s, s);
        assert_done(&o);
    }
}

/* A run whose file would be replaced goes on, and would write into one that has no name. */
static void what_is_written_is_not_replaced(void **state)
{
    (void)state;
    make_two_parts(100);
    write_file("long.yaml",
               "species: {A: 1000, B: 0}\nreactions: {turn: {equation: A -> A, law: 1e6}}\n");
    const pid_t child = start_saltus("run long.yaml --until 1e9 --checkpoint 0 -q -o all.h5");
    wait_for_file("all.h5");
    outcome o = saltus("merge p0.h5 p1.h5 --overwrite -o all.h5");
    assert_refused(&o, 2, "all.h5: another process is writing this file");
    assert_int_equal(kill(child, SIGINT), 0);
    o = finish_saltus(child);
    assert_int_equal(o.code, 130);
    assert_non_null(strstr(o.err, "they are in all.h5"));
    o = saltus("merge p0.h5 p1.h5 --overwrite -o all.h5");
    assert_int_equal(o.code, 0);
    o = saltus("stats all.h5");
    assert_done(&o);
}

/* Start a merge, and wait until it is at work, or has ended. */
static pid_t start_merge(const char *options)
{
    siginfo_t end = {0};
    const pid_t child = start_saltus("merge p0.h5 p1.h5 -q %s -o all.h5", options);
    while (!is_there("all.h5?*") && end.si_pid == 0) {
        assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    return child;
}

/* Start one that replaces all.h5, and let it pause while it is at work. */
static pid_t pause_a_merge(void)
{
    for (;;) {
        siginfo_t end = {0};
        const pid_t child = start_merge("--overwrite");
        (void)kill(child, SIGSTOP);
        assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WSTOPPED | WNOWAIT), 0);
        if (end.si_code == CLD_STOPPED && is_there("all.h5?*")) {
            return child;
        }
        (void)kill(child, SIGCONT);
        (void)finish_saltus(child);
    }
}

/* Nor does anybody begin in a file that a merge is to replace. */
static void what_a_merge_replaces_is_not_written(void **state)
{
    (void)state;
    make_two_parts(40000);
    outcome o = saltus("run decay.yaml --until 2 -q -o all.h5");
    assert_done(&o);
    const pid_t child = pause_a_merge();
    o = saltus("run decay.yaml --until 2 --overwrite -o all.h5");
    assert_refused(&o, 2, "all.h5: another process is writing this file");
    assert_int_equal(kill(child, SIGCONT), 0);
    o = finish_saltus(child);
    assert_int_equal(o.code, 0);
    o = saltus("stats all.h5");
    assert_non_null(strstr(o.out, "40000 trajectories"));
}

/* What a merge that was killed has left the next one takes away, whichever stage it was in, but not
 * what one that lives is making. */
static void what_was_killed_is_taken_away(void **state)
{
    static const struct {
        const char *command, *how;
    } ways[] = {{"run decay.yaml --until 2 --points 100 --runs 40000", ""},
                {"sweep busy.yaml --vary A=lin:100:300:40 --until 2 --points 3 --runs 3000 "
                 "--record final",
                 "--shard-by runs"}};
    (void)state;
    keep_results();
    for (int way = 0; way < 2; ++way) {
        int n_killed = 0;
        outcome o;
        for (int s = 0; s < 2; ++s) {
            o = saltus("%s --shard %d/2 %s -q -o p%d.h5", ways[way].command, s, ways[way].how, s);
            assert_done(&o);
        }
        for (int i = 0; i < 100 && n_killed < 8; ++i) {
            const pid_t child = start_merge("");
            (void)usleep((useconds_t)(1000 * i));
            (void)kill(child, SIGKILL);
            (void)finish_saltus(child);
            n_killed += !file_exists("all.h5");
            if (n_killed > 0 && file_exists("all.h5")) {
                assert_false(is_there("all.h5?*"));
            }
            (void)unlink("all.h5");
        }
        assert_true(n_killed > 0);
        (void)unlink("all.h5.new");
        const pid_t child = start_merge("");
        assert_int_equal(kill(child, SIGSTOP), 0);
        o = saltus("merge p0.h5 p1.h5 -o all.h5");
        if (!file_exists("all.h5")) { /* else the other was faster */
            assert_refused(&o, 1, "all.h5: another process is writing this file");
            assert_true(is_there("all.h5?*"));
        }
        (void)kill(child, SIGKILL);
        (void)finish_saltus(child);
        (void)unlink("all.h5");
        o = saltus("merge p0.h5 p1.h5 -q -o all.h5");
        assert_done(&o);
        assert_false(is_there("all.h5?*"));
        o = saltus("%s -q -o whole.h5", ways[way].command);
        assert_done(&o);
        assert_equal_results("whole.h5", "all.h5", 11);
        remove_all("p0.h5 p1.h5 whole.h5 all.h5");
    }
}

static void the_whole_is_no_table(void **state)
{
    static const char *const names[] = {"all.csv", "all.png"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const outcome o = saltus("merge a.h5 -o %s", names[i]);
        assert_refused(&o, 2, "the whole is written as HDF5, FILE.h5; saltus export makes a table");
    }
}

/* A link to a result stays one. */
static void links_are_followed(void **state)
{
    struct stat about;
    (void)state;
    make_two_parts(100);
    assert_int_equal(mkdir("far", 0700), 0);
    outcome o = saltus("run decay.yaml --until 2 -q -o far/old.h5");
    assert_done(&o);
    assert_int_equal(symlink("far/old.h5", "all.h5"), 0);
    o = saltus("merge p0.h5 p1.h5 -q --overwrite -o all.h5");
    assert_done(&o);
    assert_true(lstat("all.h5", &about) == 0 && S_ISLNK(about.st_mode));
    o = saltus("stats far/old.h5");
    assert_non_null(strstr(o.out, "100 trajectories"));
    assert_false(is_there("far/old.h5?*") || is_there("all.h5?*"));
    assert_int_equal(symlink("far/none.h5", "nowhere.h5"), 0);
    o = saltus("merge p0.h5 p1.h5 -q --overwrite -o nowhere.h5");
    assert_refused(&o, 1, "nowhere.h5: cannot be created: No such file or directory");
}

/* On disks that have room for the first part alone, for a little more, or for nearly all. */
static void full_disks_keep_nothing(void **state)
{
    static const char hint[] = "hint: nothing was made; the files to merge are as they were\n";
    char disk[40];
    struct stat about;
    (void)state;
    make_two_parts(20000);
    (void)mkdir("small", 0700);
    outcome o = saltus("merge p0.h5 p1.h5 -q -o all.h5");
    assert_done(&o);
    assert_int_equal(stat("all.h5", &about), 0);
    for (int tenths = 4; tenths <= 9; ++tenths) {
        (void)snprintf(disk, sizeof disk, "size=%lld", (long long)about.st_size * tenths / 10);
        if (mount("tmpfs", "small", "tmpfs", 0, disk) != 0) {
            skip();
        }
        o = saltus("merge p0.h5 p1.h5 -o small/all.h5");
        const bool is_empty = !is_there("small/*");
        (void)umount("small");
        assert_refused(&o, 1, "writing failed: No space left on device");
        assert_non_null(strstr(o.err, hint));
        assert_true(is_empty);
    }
}

/* A merge that is given up leaves nothing, whichever of its stages it is in. */
static void who_gives_up_leaves_nothing(void **state)
{
    int n_stopped = 0;
    (void)state;
    keep_results();
    make_two_parts(40000);
    for (int i = 0; i < 100 && n_stopped < 5; ++i) {
        const pid_t child = start_merge("");
        (void)usleep((useconds_t)(1000 * i));
        (void)kill(child, i % 2 ? SIGTERM : SIGINT);
        const outcome o = finish_saltus(child);
        if (o.code == 0) { /* it was faster */
            assert_int_equal(unlink("all.h5"), 0);
            continue;
        }
        ++n_stopped;
        assert_refused(&o, 130, "saltus: interrupted; all.h5 was not made\n");
        assert_false(is_there("all.h5*"));
    }
    assert_true(n_stopped > 0);
}

/* A pattern of names takes a part of the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shards_make_the_whole, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(small_shards_are_even, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(many_names_are_taken, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(frames_are_merged, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(frames_of_unequal_width_are_merged, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(shards_of_a_sweep_make_the_whole, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(tiny_chunks_go_on, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(a_shard_is_read_as_it_is, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_shard_that_was_killed_goes_on, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_is_no_run_is_named, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_part_is_not_extended, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(who_gives_up_leaves_nothing, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_is_written_is_not_replaced, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_a_merge_replaces_is_not_written, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_was_killed_is_taken_away, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(full_disks_keep_nothing, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(the_whole_is_no_table, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(links_are_followed, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(what_cannot_be_cut_is_refused, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_is_no_sweep_is_named, enter_with_models,
                                        leave_directory),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
