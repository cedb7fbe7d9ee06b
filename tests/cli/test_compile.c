/* saltus compile, with the NVRTC that is found: a true one, or the fake of tests/fake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kernels go to the test's own folder. */
static int enter(void **state)
{
    char path[1000];
    const int failed = enter_with_models(state);
    return failed || !getcwd(path, sizeof path) || setenv("TMPDIR", path, 1) != 0 ||
           setenv("SALTUS_CACHE", path, 1) != 0;
}

static void need_nvrtc(void)
{
    const outcome o = saltus("devices");
    assert_done(&o);
    if (!strstr(o.out, "  NVRTC ") || strstr(o.out, "is not here")) {
        print_message("SKIP: there is no NVRTC\n");
        skip();
    }
}

static long number_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (!at) {
        fail_msg("no %s in %s", name, text);
        return -1;
    }
    return strtol(at + strlen(name), NULL, 10);
}

static void kernels_are_built_and_kept(void **state)
{
    static const char *const layouts[] = {"registers", "global"};
    (void)state;
    need_nvrtc();
    for (int l = 0; l < 2; ++l) {
        char expected[40];
        outcome o =
            saltus("compile decay.yaml --arch sm_90 --species A --layout %s --json", layouts[l]);
        assert_done(&o);
        assert_is_json(o.out);
        (void)snprintf(expected, sizeof expected, "\"layout\": \"%s\"", layouts[l]);
        assert_non_null(strstr(o.out, expected));
        assert_non_null(strstr(o.out, "\"model\": \"decay\", \"arch\": \"sm_90\""));
        assert_non_null(strstr(o.out, "\"cached\": false"));
        const long registers = number_of(o.out, "\"registers\": ");
        const long spilled = number_of(o.out, "\"spill_bytes\": ");
        const long shared = number_of(o.out, "\"shared_bytes\": ");
        assert_in_range(registers, 16, 255);
        if (is_fake()) {
            /* layout global keeps the tables of this model in shared memory, beside what the
             * compiler says */
            assert_true(registers == 38 && spilled == 24);
            assert_true(l == 0 ? shared == 1024 : shared > 1024 && shared < 2048);
        } else if (l == 0) {
            assert_true(spilled == 0);
        }
        if (!is_fake()) { /* which is another compiler in every process */
            o = saltus("compile decay.yaml --arch sm_90 --species A --layout %s --json",
                       layouts[l]);
            assert_done(&o);
            assert_non_null(strstr(o.out, "\"seconds\": 0.000, \"cached\": true"));
            assert_int_equal(number_of(o.out, "\"registers\": "), registers);
            assert_int_equal(number_of(o.out, "\"spill_bytes\": "), spilled);
            assert_int_equal(number_of(o.out, "\"shared_bytes\": "), shared);
        }
    }
    outcome o = saltus("compile decay.yaml --arch sm_90 --set k=2");
    assert_done(&o);
    assert_non_null(strstr(o.out, "decay, direct, layout registers, sm_90: "));
}

static void kernels_of_leaps_are_built(void **state)
{
    (void)state;
    need_nvrtc();
    outcome o = saltus("compile decay.yaml --arch sm_90 --method tau --json");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"method\": \"tau\", \"layout\": \"registers\""));
    o = saltus("compile decay.yaml --arch sm_90 --method tau --layout shared");
    assert_refused(&o, 2, "shared");
    o = saltus("compile decay.yaml --arch sm_90 --method auto");
    assert_refused(&o, 2, "--method 'auto': direct, tau, ode or mpd is needed");
}

/* What a launch adds counts as well. */
static void shared_memory_grows_with_the_block(void **state)
{
    long bytes[2];
    (void)state;
    need_nvrtc();
    for (int i = 0; i < 2; ++i) {
        const outcome o =
            saltus("compile busy.yaml --arch sm_90 --layout shared --block %d --json", 64 << i);
        assert_done(&o);
        bytes[i] = number_of(o.out, "\"shared_bytes\": ");
    }
    assert_true(bytes[1] > bytes[0] + 64 * 8);
}

/* Of a lattice with more than 2^32 sites, which only slabs can have; nothing is as long as it. */
static void kernels_of_slabs_are_built(void **state)
{
    (void)state;
    need_nvrtc();
    if (!SALTUS_WITH_UDUNITS) {
        skip();
    }
    write_file("large.yaml", "species: {A: 9, B: 0}\nreactions: {go: A -> B @ 1}\nlattice: {size: "
                             "[4096, 4096, 1024], spacing: 1 m, step: 0.1 s, diffusion: "
                             "{A: 1 m2/s, B: 1 m2/s}}\n");
    outcome o = saltus("compile large.yaml --arch sm_90 --layout counts");
    assert_refused(&o, 1, "17179869184 sites: a lattice that is whole has at most 2^32 - 2^24");
    o = saltus("compile large.yaml --arch sm_90 --split auto");
    assert_done(&o);
    assert_non_null(strstr(o.out, "large, mpd, layout counts, sm_90: "));
    o = saltus("compile large.yaml --arch sm_90 --split 1:0");
    assert_refused(&o, 2, "split '1:0'");
    FILE *out = fopen("many.yaml", "w");
    assert_non_null(out);
    (void)fputs("species: {", out);
    for (int s = 0; s < 32; ++s) {
        (void)fprintf(out, "%sS%d: 1", s > 0 ? ", " : "", s);
    }
    (void)fputs("}\nlattice: {size: [8, 8, 8], spacing: 1 m, step: 0.1 s, diffusion: {", out);
    for (int s = 0; s < 32; ++s) {
        (void)fprintf(out, "%sS%d: 1 m2/s", s > 0 ? ", " : "", s);
    }
    assert_true(fputs("}}\n", out) >= 0 && fclose(out) == 0);
    o = saltus("compile many.yaml --arch sm_90 --split 1:1");
    assert_refused(&o, 2,
                   "--split: a lattice in slabs has at most 31 species on a GPU, and model "
                   "'many' has 32");
    o = saltus("compile many.yaml --arch sm_90 --layout counts");
    assert_refused(&o, 2, "layout 'counts' is for 31 species at most, here are 32");
}

/* A file in the cache that was cut is no kernel. */
static void damaged_kernels_are_built_again(void **state)
{
    (void)state;
    need_nvrtc();
    outcome o = saltus("compile decay.yaml --arch sm_80");
    assert_done(&o);
    assert_int_equal(system("for f in *.cubin; do printf '' >$f; done"), 0);
    o = saltus("compile decay.yaml --arch sm_80 --json");
    assert_done(&o);
    assert_non_null(strstr(o.out, "\"cached\": false"));
}

/* The kernel of decay.yaml, after `change` has been done to the folder or the file, "$f". */
static bool is_cached_after(const char *change)
{
    char line[400];
    outcome o = saltus("compile decay.yaml --arch sm_80");
    assert_done(&o);
    (void)snprintf(line, sizeof line, "for f in *.cubin; do %s || exit 1; done", change);
    assert_int_equal(system(line), 0);
    o = saltus("compile decay.yaml --arch sm_80 --json");
    assert_done(&o);
    return strstr(o.out, "\"cached\": true") != NULL;
}

/* A kernel is code that will run: one that another could have put there, or that is not what was
 * kept, is compiled anew. */
static void only_own_whole_kernels_are_trusted(void **state)
{
    static const char *const changes[] = {
        "printf X | dd of=$f bs=1 seek=2000 conv=notrunc status=none",
        "printf X | dd of=$f bs=1 seek=20 conv=notrunc status=none",
        "truncate -s -1 $f",
        "printf X >>$f",
        "chmod g+w $f",
        "chmod o+w $f",
        "mv $f other.$f && ln -s other.$f $f",
        "rm $f && mkfifo $f",
        "rm $f && mkdir $f",
        "chmod 770 .",
        "chmod 707 .",
    };
    (void)state;
    need_nvrtc();
    if (is_fake()) {
        skip(); /* which is another compiler in every process */
    }
    assert_true(is_cached_after("test $(stat -c %a $f) = 600 && ! ls | grep cubin.\\."));
    assert_int_equal(system("mkdir -m 700 kept && cp -p *.cubin kept"), 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        if (is_cached_after(changes[i])) {
            fail_msg("a kernel is trusted after %s", changes[i]);
        }
        assert_int_equal(system("chmod 700 . && rm -rf *.cubin && cp -p kept/* ."), 0);
    }
    assert_int_equal(setenv("SALTUS_CACHE", "new", 1), 0);
    const outcome o = saltus("compile decay.yaml --arch sm_80");
    assert_done(&o);
    assert_int_equal(system("test $(stat -c %a new) = 700"), 0);
}

static void wrong_input_is_refused(void **state)
{
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {"", "a model file is needed"},
        {"decay.yaml", "--arch is needed"},
        {"decay.yaml busy.yaml --arch sm_90", "one model at a time"},
        {"decay.yaml --arch 90", "--arch '90'"},
        {"decay.yaml --arch sm_", "'cuda:sm_'"},
        {"decay.yaml --arch sm_9", "'cuda:sm_9'"},
        {"decay.yaml --arch sm_90x", "'cuda:sm_90x'"},
        {"decay.yaml --arch sm_9000", "'cuda:sm_9000'"},
        {"decay.yaml --arch sm_90 --layout lanes", "layout 'lanes'"},
        {"decay.yaml --arch sm_90 --block 33", "--block '33'"},
        {"decay.yaml --arch sm_90 --species X", "no species named 'X'"},
        {"decay.yaml --arch sm_90 --law nonsense", "--law 'nonsense'"},
        {"absent.yaml --arch sm_90", "absent.yaml"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("compile %s", cases[i].arguments);
        assert_refused(&o, 2, cases[i].part);
    }
    outcome o = saltus("run decay.yaml --until 1 --device cuda:sm_90 -o out.h5");
    assert_refused(&o, 2, "compiled, not run");
    assert_false(file_exists("out.h5"));
    need_nvrtc();
    o = saltus("compile decay.yaml --arch sm_99");
    assert_refused(&o, 2, "does not know sm_99");
}

/* A library of NVRTC's name that is none. */
static void a_machine_without_nvrtc_says_so(void **state)
{
    const char *fakes = getenv("FAKE_CUDA");
    char line[4300];
    (void)state;
    if (!fakes) {
        skip();
    }
    char *path = strdup(getenv("LD_LIBRARY_PATH"));
    assert_non_null(path);
    (void)snprintf(line, sizeof line, "ln -s '%.*s/libcuda.so.1' libnvrtc.so.13",
                   (int)strcspn(path, ":"), path);
    assert_int_equal(system(line), 0);
    (void)setenv("LD_LIBRARY_PATH", ".", 1);
    const outcome o = saltus("compile decay.yaml --arch sm_90");
    (void)setenv("LD_LIBRARY_PATH", path, 1);
    free(path);
    assert_refused(&o, 1, "it has no nvrtcVersion");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_are_built_and_kept, enter, leave_directory),
        cmocka_unit_test_setup_teardown(kernels_of_leaps_are_built, enter, leave_directory),
        cmocka_unit_test_setup_teardown(shared_memory_grows_with_the_block, enter, leave_directory),
        cmocka_unit_test_setup_teardown(kernels_of_slabs_are_built, enter, leave_directory),
        cmocka_unit_test_setup_teardown(damaged_kernels_are_built_again, enter, leave_directory),
        cmocka_unit_test_setup_teardown(only_own_whole_kernels_are_trusted, enter, leave_directory),
        cmocka_unit_test_setup_teardown(wrong_input_is_refused, enter, leave_directory),
        cmocka_unit_test_setup_teardown(a_machine_without_nvrtc_says_so, enter, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
