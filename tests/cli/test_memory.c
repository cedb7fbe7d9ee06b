/* The command when one allocation fails, or all from one on: it says so and leaves what was there.
 * A sample of all allocations; every one of them with SALTUS_TEST_LONG. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../fake/malloc.h"
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE = 40, EXIT_BY_HDF5 = 255 /* exit(-1) */ };

static char real[4096]; /* the command */

static long long allocations_of(const char *arguments)
{
    long long n = 0;
    (void)unsetenv("FAIL_ALLOCATION");
    (void)setenv("COUNT_ALLOCATIONS", "count", 1);
    const outcome o = saltus("%s", arguments);
    (void)unsetenv("COUNT_ALLOCATIONS");
    assert_int_equal(o.code, 0);
    char *text = read_file("count");
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%lld", &n), 1);
    free(text);
    assert_true(n > 50);
    return n;
}

/* What libraries do is theirs: HDF5 may crash or end the process, libsbml may crash. Nobody may be
 * left with an exception. */
static void expect_an_end(const char *arguments, const char *which)
{
    const bool writes = strncmp(arguments, "info", 4) != 0, sbml = strstr(arguments, ".xml");
    (void)setenv("FAIL_ALLOCATION", which, 1);
    const outcome o = saltus("%s", arguments);
    const int c = o.code;
    if (c != 0 && c != 1 && c != 2 && !(writes && (c == IN_HDF5 || c == EXIT_BY_HDF5)) &&
        !(sbml && c == IN_SBML)) {
        fail_msg("FAIL_ALLOCATION=%s saltus %s: code %d: %s", which, arguments, c, o.err);
    }
    if ((c == 1 || c == 2) && o.err[0] == '\0') {
        fail_msg("FAIL_ALLOCATION=%s saltus %s: code %d without a word", which, arguments, c);
    }
}

static void fail_allocations(const char *arguments)
{
    char script[9000];
    /* the shell that starts the command keeps its memory */
    (void)snprintf(script, sizeof script, "#!/bin/sh\nLD_PRELOAD='%s' exec '%s' \"$@\"\n",
                   getenv("FAKE_MALLOC"), real);
    write_file("preloaded", script);
    assert_int_equal(chmod("preloaded", 0700), 0);
    (void)setenv("SALTUS_COMMAND", "./preloaded", 1);
    const long long n = allocations_of(arguments);
    const long long step = takes_all() ? 1 : 1 + n / SAMPLE;
    for (long long i = 0; i < n + step; i += step) {
        char which[40];
        (void)snprintf(which, sizeof which, "%lld", i);
        expect_an_end(arguments, which);
        strcat(which, "+");
        expect_an_end(arguments, which);
    }
    (void)unsetenv("FAIL_ALLOCATION");
    (void)setenv("SALTUS_COMMAND", real, 1);
}

static void info(void **state)
{
    (void)state;
    fail_allocations("info decay.yaml");
    write_file("small.net", "begin parameters\n1 k 1\nend parameters\nbegin species\n1 A() 10\n"
                            "2 B() 0\nend species\nbegin reactions\n1 1 2 k\nend reactions\n");
    fail_allocations("info small.net");
}

static void sbml(void **state)
{
    (void)state;
    char line[4200];
    (void)snprintf(line, sizeof line, "cp '%s/examples/schlogl.xml' .", getenv("SALTUS_SOURCE"));
    assert_int_equal(system(line), 0);
    fail_allocations("info schlogl.xml");
}

static void runs(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --runs 5 -q -o kept.h5");
    assert_done(&o);
    char *before = exported("kept.h5");
    fail_allocations("run decay.yaml --until 1 --points 3 --runs 3 --threads 2 -o new.h5");
    (void)remove("new.h5");
    fail_allocations("sweep decay.yaml --vary k=list:1,2 --until 1 --runs 3 -o new.h5");
    fail_allocations("stats kept.h5");
    char *after = exported("kept.h5");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {TEST(info), TEST(sbml), TEST(runs)};
    if (!getenv("SALTUS_COMMAND") || !getenv("FAKE_MALLOC")) {
        (void)fprintf(stderr, "SALTUS_COMMAND and FAKE_MALLOC must be named\n");
        return 77; /* skipped */
    }
    (void)snprintf(real, sizeof real, "%s", getenv("SALTUS_COMMAND"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
