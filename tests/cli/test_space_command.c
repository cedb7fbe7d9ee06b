/* The command with models on a lattice: frames, profiles, what ParaView reads, figures. */
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
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE_X = 6, SIZE_Y = 5, SIZE_Z = 9, RUNS = 3, FRAMES = 4 };

static const char cell_model[] =
    "species: {A: 200, B: 0, \"C<&>\": }\n"
    "reactions:\n"
    "  change: A -> B @ 2\n"
    "lattice:\n"
    "  size: [6, 5, 9]\n"
    "  spacing: 10 nm\n"
    "  step: 0.01\n"
    "  sites:\n"
    "    outside:\n"
    "    inside: {box: {from: [1 sites, 1 sites, 1 sites], to: [5 sites, 4 sites, 8 sites]}}\n"
    "  diffusion: {A: 1e-15 m2/s, B: 1e-15 m2/s, \"C<&>\": 0}\n"
    "  place:\n"
    "    A: inside\n"
    "    \"C<&>\": {sites: [[5, 4, 8, 300], [0, 1, 0, 70000]]}\n";

static int enter_with_cell(void **state)
{
    const int status = enter_with_models(state);
    write_file("cell.yaml", cell_model);
    return status;
}

static void run_cell(void)
{
    const outcome o = saltus("run cell.yaml --until 0.3 --points 4 --frames 0.1 --profile z "
                             "--runs %d --first 5 -q -o out.h5",
                             RUNS);
    assert_done(&o);
}

static void exports_have_what_was_recorded(void **state)
{
    (void)state;
    run_cell();
    outcome o = saltus("export out.h5");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 1 + RUNS * 4);
    o = saltus("export out.h5 --types");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 1 + RUNS * 4 * 2);
    assert_non_null(
        strstr(o.out, "run,time,type,A,B,C<&>\n5,0,outside,0,0,70300\n5,0,inside,200,"));
    o = saltus("export out.h5 --profile");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 1 + RUNS * 4 * SIZE_Z);
    assert_non_null(strstr(o.out, "run,time,plane,A,B,C<&>\n5,0,0,0,0,70000\n"));
    o = saltus("export out.h5 --frames");
    assert_done(&o);
    assert_non_null(strstr(o.out, "run,time,x,y,z,type,A,B,C<&>\n5,0,0,1,0,outside,0,0,70000\n"));
    assert_non_null(strstr(o.out, "\n7,0.3,5,4,8,outside,0,0,300\n"));
    o = saltus("export out.h5 --frames --types");
    assert_refused(&o, 2, "at a time");
    /* as a kill between the end of that file and of this one leaves it */
    assert_int_equal(remove("out.xdmf"), 0);
    o = saltus("resume out.h5 -q");
    assert_done(&o);
    assert_true(file_exists("out.xdmf"));
}

/* Types of sites are not stored where there is but one. */
static void a_lattice_of_one_type_is_told(void **state)
{
    (void)state;
    write_file("box.yaml",
               "species: {A: 300, B: 0}\nreactions: {turn: A -> B @ 1}\nlattice: {size: [6, 5, 9], "
               "spacing: 1 m, step: 0.1 s, diffusion: {A: 1 m2/s, B: 0}}\n");
    outcome o = saltus("run box.yaml --until 1 --points 2");
    assert_done(&o);
    assert_non_null(strstr(o.out, "at time 1:"));
    o = saltus("run box.yaml --until 1 --points 2 --frames 1 --profile z -q -o box.h5");
    assert_done(&o);
    o = saltus("export box.h5 --frames");
    assert_done(&o);
    assert_non_null(strstr(o.out, "run,time,x,y,z,type,A,B\n0,0,"));
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --frames 0.5 -o a.h5");
    assert_refused(&o, 2, "has no lattice, and so no frames");
    o = saltus("run decay.yaml --until 1 --profile x -o a.h5");
    assert_refused(&o, 2, "has no lattice, and so no profiles");
    assert_false(file_exists("a.h5"));
    o = saltus("run cell.yaml --until 1 --profile w -o a.h5");
    assert_refused(&o, 2, "--profile 'w': x, y or z is needed");
    o = saltus("run cell.yaml --until 1 --frames 0 -o a.h5");
    assert_refused(&o, 2, "--frames '0'");
    o = saltus("run cell.yaml --until 1 --frames 1e-9 -o a.h5");
    assert_refused(&o, 2, "--frames 1e-09: up to time 1 that makes more than 16777216 times");
    o = saltus("run cell.yaml --until 1 --frames 0.5");
    assert_refused(&o, 2, "need a result file");
    for (int i = 0; i < 4; ++i) {
        static const char *const options[] = {"--block 64", "--streams 2"};
        o = saltus("run %s --until 1 --device cpu %s", i < 2 ? "cell.yaml" : "decay.yaml",
                   options[i % 2]);
        assert_refused(&o, 2, "blocks and streams are a GPU's; this device is the CPU");
    }
    o = saltus("run cell.yaml --until 1 --stiff alway");
    assert_refused(&o, 2, "stiff 'alway': auto, never or always");
    o = saltus("run decay.yaml --until 1 --stiff alway");
    assert_refused(&o, 2, "stiff 'alway': auto, never or always");
    o = saltus("run cell.yaml --until 1 --device cpu --split 1:1");
    assert_refused(&o, 2, "it is for method mpd, on a GPU");
    o = saltus("run decay.yaml --until 1 --split auto");
    assert_refused(&o, 2, "it is for method mpd, on a GPU");
    o = saltus("sweep decay.yaml --vary k=list:1,2 --until 1 --frames 1 -o a.h5");
    assert_refused(&o, 2, "are for saltus run");
    write_file("mine.xdmf", "<Xdmf/>"); /* by another program */
    o = saltus("run cell.yaml --until 0.1 --frames 0.1 -o mine.h5");
    assert_refused(&o, 2, "mine.xdmf: exists, and Saltus has not written it");
    assert_false(file_exists("mine.h5"));
    o = saltus("run cell.yaml --until 0.1 --points 2 -q -o out.h5");
    assert_done(&o);
    o = saltus("export out.h5 --xdmf");
    assert_refused(&o, 2, "holds no frames");
    o = saltus("export out.h5 --profile");
    assert_refused(&o, 2, "holds no profiles");
    o = saltus("sweep cell.yaml --vary A=list:1,2 --until 0.1 --points 2 --record all -q -o s.h5");
    assert_done(&o);
    for (int i = 0; i < 4; ++i) { /* nor would other options make it hold these */
        const char *const kinds[] = {"types", "profile", "frames", "xdmf"};
        o = saltus("export s.h5 --%s", kinds[i]);
        assert_refused(&o, 2, "a sweep's file has none: run a point of it alone, with --set");
    }
    o = saltus("run cell.yaml --until 1e14 --points 2 -o mine.h5");
    assert_refused(&o, 2, "1e+16 steps of 0.01 s until 1e+14 s: there can be 2^53 of them");
    o = saltus("sweep cell.yaml --vary B=list:0,1 --until 1e14 --points 2 -o mine.h5");
    assert_refused(&o, 2, "1e+16 steps of 0.01 s until 1e+14 s: there can be 2^53 of them");
    o = saltus("run cell.yaml --until 0.009 --points 2 -o mine.h5");
    assert_refused(&o, 2, "ends at 0.009 s, before its first step of 0.01 s does");
    assert_false(file_exists("mine.h5"));
    o = saltus("run cell.yaml --until 0.009 --points 2 --method nsm -q");
    assert_done(&o);
    o = saltus("run cell.yaml --until 0.00999999999999999 --points 2 -q"); /* a rounding away */
    assert_done(&o);
}

/* Sums over the sites of a frame, and sums that tell sites apart. */
struct sums {
    long long total[3], weighted[3];
};

static void sum_frames(struct sums sums[RUNS][FRAMES])
{
    const outcome o = saltus("export out.h5 --frames");
    assert_done(&o);
    for (const char *line = strchr(o.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        int run, x, y, z;
        double time;
        long long n[3];
        char type[20];
        assert_int_equal(sscanf(line, "%d,%lf,%d,%d,%d,%19[a-z],%lld,%lld,%lld", &run, &time, &x,
                                &y, &z, type, &n[0], &n[1], &n[2]),
                         9);
        struct sums *s = &sums[run - 5][(int)(10 * time + 0.5)];
        for (int c = 0; c < 3; ++c) {
            s->total[c] += n[c];
            s->weighted[c] += n[c] * ((x + SIZE_X * (y + SIZE_Y * z)) % 1009);
        }
    }
}

/* What read_xdmf.py prints; NULL without a VTK that has the reader. */
static char *read_by_vtk(const char *path)
{
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    for (int i = 0; i < 2; ++i) {
        char line[1000];
        (void)snprintf(line, sizeof line, "%s '%s/tests/support/read_xdmf.py' %s >vtk 2>vtk-err",
                       pythons[i], getenv("SALTUS_SOURCE"), path);
        const int status = system(line);
        if (WEXITSTATUS(status) == 0) {
            return read_file("vtk");
        }
        if (WEXITSTATUS(status) != 77 && WEXITSTATUS(status) != 127) {
            fail_msg("%s: %s", pythons[i], read_file("vtk-err"));
        }
    }
    return NULL;
}

static void vtk_reads_frames(void **state)
{
    struct sums sums[RUNS][FRAMES] = {{{{0}, {0}}}};
    (void)state;
    run_cell();
    sum_frames(sums);
    char *text = read_by_vtk("out.xdmf");
    if (!text) {
        print_message("skipped: no python3 here has VTK with its reader of XDMF\n");
        skip();
    }
    int n = 0, run = -1, frame = -1;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        double time, bounds[6];
        long long total, weighted;
        int cells;
        char name[40];
        if (sscanf(line, "run %d time %lf cells %d bounds %lf %lf %lf %lf %lf %lf", &run, &time,
                   &cells, bounds, bounds + 1, bounds + 2, bounds + 3, bounds + 4,
                   bounds + 5) == 9) {
            frame = (int)(10 * time + 0.5);
            assert_int_equal(cells, SIZE_X * SIZE_Y * SIZE_Z);
            assert_true(bounds[5] > 0.0899 && bounds[5] < 0.0901); /* um */
            continue;
        }
        assert_int_equal(sscanf(line, "%39s %lld %lld", name, &total, &weighted), 3);
        if (strcmp(name, "site_type") == 0) {
            assert_int_equal(total, 4 * 3 * 7);
            continue;
        }
        const int c = name[0] - 'A';
        assert_int_equal(total, sums[run][frame].total[c]);
        assert_int_equal(weighted, sums[run][frame].weighted[c]);
        ++n;
    }
    assert_int_equal(n, RUNS * FRAMES * 3);
    free(text);
}

/* Ctrl-C: frames so far are there, for ParaView too. */
static void an_interrupted_run_keeps_frames(void **state)
{
    (void)state;
    const pid_t child = start_saltus("run cell.yaml --until 1e5 --points 2 --frames 0.1 -q "
                                     "-o out.h5");
    wait_for_growth("out.h5", 5);
    assert_int_equal(kill(child, SIGINT), 0);
    outcome o = finish_saltus(child);
    assert_refused(&o, 130, "interrupted after 0 of 1");
    char *xdmf = read_file("out.xdmf");
    assert_non_null(xdmf);
    assert_non_null(strstr(xdmf, "<Time Value=\"0\"/>"));
    free(xdmf);
    (void)remove("out.xdmf");
    o = saltus("export out.h5 --xdmf");
    assert_done(&o);
    assert_true(file_exists("out.xdmf"));
}

/* 34 GB each, a lattice for each of 2000 threads: refused while the old result is there. */
static void lattices_that_cannot_fit_are_refused(void **state)
{
    (void)state;
    write_file("huge.yaml", "species: {A: 10}\nlattice: {size: [1000, 1000, 4000], spacing: 1 um, "
                            "step: 0.1, diffusion: {A: 1 um2/s}}\n");
    outcome o = saltus("run cell.yaml --until 0.1 --seed 5 -q -o kept.h5");
    assert_int_equal(o.code, 0);
    char *before = exported("kept.h5");
    keep_results();
    o = saltus("run huge.yaml --until 1 --threads 2000 --runs 2000 --overwrite -o kept.h5");
    assert_refused(&o, 2, "2000 lattices of 4e+09 sites, as many as there are threads, take about");
    assert_non_null(strstr(o.err, "hint: "));
    o = saltus("sweep huge.yaml --vary A=lin:1:4000:4000 --until 1 --threads 2000 --overwrite -o "
               "kept.h5");
    assert_refused(&o, 2, "2000 lattices of 4e+09 sites, as many as there are threads, take about");
    char *after = exported("kept.h5");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void a_lattice_tells_its_time(void **state)
{
    static const char *const methods[] = {"mpd", "nsm"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        const pid_t child = start_saltus("run cell.yaml --until 1e9 --points 2 --method %s "
                                         "--species A --progress -o long%d.h5",
                                         methods[i], i);
        assert_true(wait_for_estimate() > 0.0);
        assert_int_equal(kill(child, SIGINT), 0);
        const outcome o = finish_saltus(child);
        assert_refused(&o, 130, "interrupted after 0 of 1");
    }
}

static void propensities_that_are_no_number_are_named(void **state)
{
    static const struct {
        const char *reaction, *says;
    } cases[] = {{"0 -> C @ A/(A + B)", "reaction 'r' has the propensity nan in an empty site"},
                 {"A -> C @ sqrt(1 - A)", "reaction 'r' has the propensity nan\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "species: {A: 9, B: 0, C: 0}\nreactions: {r: %s}\n"
                       "lattice: {size: [1, 1, 2], spacing: 100 nm, step: 10 ms, "
                       "diffusion: {A: 0.1 um2/s, B: 0, C: 0}}\n",
                       cases[i].reaction);
        write_file("nan.yaml", text);
        const outcome o = saltus("run nan.yaml --until 1 --method nsm");
        assert_refused(&o, 1, cases[i].says);
    }
}

/* A page of four pixels of a byte, of which one has the value 1. */
static void write_image(int one)
{
    static const uint16_t fields[][4] = {                 /* tag, type, number, value */
                                         {256, 3, 1, 4},  /* columns */
                                         {257, 3, 1, 1},  /* rows */
                                         {258, 3, 1, 8},  /* bits */
                                         {259, 3, 1, 1},  /* not packed */
                                         {262, 3, 1, 1},  /* 0 is black */
                                         {273, 3, 1, 8},  /* where the strip begins */
                                         {277, 3, 1, 1},  /* numbers of a pixel */
                                         {278, 3, 1, 1},  /* rows of the strip */
                                         {279, 3, 1, 4}}; /* its bytes */
    enum { N = sizeof fields / sizeof *fields };
    uint8_t bytes[14 + 12 * N + 4] = {'I', 'I', 42, 0, 12, 0, 0, 0};
    bytes[8 + one] = 1;
    bytes[12] = N;
    for (int i = 0; i < N; ++i) {
        uint8_t *at = bytes + 14 + 12 * i;
        for (int k = 0; k < 4; ++k) {
            at[k < 2 ? 2 * k : 4 * k - 4] = (uint8_t)(fields[i][k] & 255);
            at[k < 2 ? 2 * k + 1 : 4 * k - 3] = (uint8_t)(fields[i][k] >> 8);
        }
    }
    FILE *f = fopen("cell.tif", "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, f), sizeof bytes);
    assert_int_equal(fclose(f), 0);
}

/* The text of the model is the same when its image is another. */
static void runs_with_other_images_are_not_put_together(void **state)
{
    (void)state;
    keep_results();
    write_file("image.yaml",
               "species: {A: 10}\nlattice: {size: [4, 1, 1], spacing: 10 nm, step: largest, "
               "sites: {out: , in: {image: {file: cell.tif, value: 1}}}, diffusion: {A: 1 um2/s}}");
    write_image(2);
    outcome o = saltus("run image.yaml --until 1e-4 --points 2 --runs 2 -q -o out.h5");
    if (strstr(o.err, "built without libtiff")) {
        skip();
    }
    assert_done(&o);
    o = saltus("run image.yaml --until 1e-4 --points 2 --runs 2 --append -q -o out.h5");
    assert_done(&o);
    o = saltus("run image.yaml --until 1e-4 --points 2 --runs 2 --shard 0/2 -q -o 0.h5");
    assert_done(&o);
    write_image(1);
    o = saltus("run image.yaml --until 1e-4 --points 2 --runs 2 --append -q -o out.h5");
    assert_refused(&o, 2, "is of another run: map of site types: not the same there and here");
    o = saltus("run image.yaml --until 1e-4 --points 2 --runs 2 --shard 1/2 -q -o 1.h5");
    assert_done(&o);
    o = saltus("merge 0.h5 1.h5 -o both.h5");
    assert_refused(&o, 2, "map of site types: not the same");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_cell, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(exports_have_what_was_recorded),
        TEST(a_lattice_of_one_type_is_told),
        TEST(what_makes_no_sense_is_refused),
        TEST(vtk_reads_frames),
        TEST(an_interrupted_run_keeps_frames),
        TEST(a_lattice_tells_its_time),
        TEST(lattices_that_cannot_fit_are_refused),
        TEST(propensities_that_are_no_number_are_named),
        TEST(runs_with_other_images_are_not_put_together),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
