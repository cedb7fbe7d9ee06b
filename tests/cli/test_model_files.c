/* What the command takes as a model: files of every format, and standard input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char decay_net[] = "begin parameters\n"
                                "  1 k 1\n"
                                "end parameters\n"
                                "begin species\n"
                                "  1 A() 100\n"
                                "  2 B() 0\n"
                                "end species\n"
                                "begin reactions\n"
                                "  1 1 2 k #there\n"
                                "end reactions\n";

static const char decay_sbml[] =
    "<sbml xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\">\n"
    "<model id=\"decay\"><listOfCompartments>\n"
    "<compartment id=\"c\" size=\"1\" constant=\"true\"/></listOfCompartments>\n"
    "<listOfSpecies><species id=\"A\" compartment=\"c\" initialAmount=\"100\"\n"
    " hasOnlySubstanceUnits=\"true\" boundaryCondition=\"false\" constant=\"false\"/>\n"
    "</listOfSpecies></model></sbml>\n";

static const char lattice_yaml[] =
    "sbml: decay.xml\n"
    "lattice: {size: [4, 4, 4], spacing: 10 nm, step: 1 ms, diffusion: {A: 0}, place: {A: c},\n"
    "  sites: {c: }}\n";

/* ---- standard input ---- */

static void a_model_comes_on_stdin(void **state)
{
    static const struct {
        const char *file, *shown;
    } cases[] = {
        {"decay.yaml", "model decay: 2 species, 2 reactions"},
        {"busy.yaml", "model stdin: 2 species, 2 reactions"},
        {"decay.net", "model stdin: 2 species, 1 reaction"},
        {"decay.xml", "model decay: 1 species, 0 reactions"},
        {"lattice.yaml",
         "model decay: 1 species, 0 reactions"}, /* decay.xml of the current folder */
    };
    (void)state;
    write_file("decay.net", decay_net);
    write_file("decay.xml", decay_sbml);
    write_file("lattice.yaml", lattice_yaml);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("info - <%s", cases[i].file);
        assert_done(&o);
        if (!strstr(o.out, cases[i].shown)) {
            fail_msg("%s: %s", cases[i].file, o.out);
        }
    }
}

/* Same samples, and the same SHA-256 in the file, as of the file itself. */
static void stdin_is_as_good_as_a_file(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 2 --runs 5 --set k=2 -q -o file.h5");
    assert_done(&o);
    o = saltus("run - --until 2 --runs 5 --set k=2 -q -o stdin.h5 <decay.yaml");
    assert_done(&o);
    char *expected = exported("file.h5"), *got = exported("stdin.h5");
    assert_string_equal(got, expected);
    free(expected);
    free(got);
    if (system("command -v h5dump >/dev/null") == 0) {
        assert_int_equal(system("for f in file stdin; do h5dump -a model_sha256 $f.h5 | tail -n +2 "
                                ">$f.sha; done; cmp file.sha stdin.sha && grep -q '\"' file.sha"),
                         0);
    }
}

/* Every worker of a sweep loads the model. */
static void sweeps_read_stdin_once(void **state)
{
    const char options[] = "--vary k=lin:1:2:40 --until 1 --points 3 --runs 3 --threads 4 -q";
    (void)state;
    outcome o = saltus("sweep decay.yaml %s -o file.h5", options);
    assert_done(&o);
    o = saltus("sweep - %s -o stdin.h5 <decay.yaml", options);
    assert_done(&o);
    char *expected = exported("file.h5"), *got = exported("stdin.h5");
    assert_string_equal(got, expected);
    free(expected);
    free(got);
}

static void what_is_wrong_on_stdin_is_told(void **state)
{
    (void)state;
    outcome o = saltus("run - --until 1 -o out.h5 </dev/null");
    assert_refused(&o, 2, "stdin: the file is empty");
    write_file("wrong.yaml", "species: {A: 1}\nreactions:\n  r: A -> Z @ 1\n");
    o = saltus("run - --until 1 -o out.h5 <wrong.yaml");
    assert_refused(&o, 2, "stdin:3:");
    o = saltus("run - --until 1 -o out.h5 <.");
    assert_refused(&o, 2, "stdin: cannot be read: Is a directory");
    o = saltus("run - --until 1 -o out.h5 <&-");
    assert_refused(&o, 2, "stdin: cannot be read");
    o = saltus("plot - -o figure.svg <decay.yaml");
    assert_refused(&o, 2, "has no lattice to draw");
    o = saltus("compile - --arch sm_90 <wrong.yaml");
    assert_refused(&o, 2, "stdin:3:");
    o = saltus("run - - --until 1 <decay.yaml");
    assert_refused(&o, 2, "one model at a time");
    assert_false(file_exists("out.h5"));
    /* a pipe is waited for, but not under a name */
    assert_int_equal(mkfifo("pipe", 0600), 0);
    o = saltus("run pipe --until 1");
    assert_refused(&o, 2, "it is a named pipe, not a file");
    o = saltus("run /dev/null --until 1");
    assert_refused(&o, 2, "it is a device, not a file");
}

/* ---- gzip ---- */

static void shell(const char *line)
{
    if (system(line) != 0) {
        fail_msg("failed: %s", line);
    }
}

static void packed_models_are_read(void **state)
{
    static const struct {
        const char *arguments, *shown;
    } cases[] = {
        {"info decay.yaml.gz", "model decay: 2 species, 2 reactions"},
        {"info busy.yaml.gz", "model busy: 2 species, 2 reactions"},
        {"info decay.net.gz", "model decay: 2 species, 1 reaction"},
        {"info decay.xml.gz", "model decay: 1 species, 0 reactions"},
        {"info renamed", "model decay: 1 species, 0 reactions"},
        {"info empty.sbml.gz", NULL},
        {"info packed.yaml.gz", "model decay: 1 species, 0 reactions"}, /* sbml: decay.xml.gz */
        {"info - <decay.net.gz", "model stdin: 2 species, 1 reaction"},
        {"info two.yaml.gz", "model decay: 2 species, 2 reactions"},
        {"info padded.yaml.gz", "model decay: 2 species, 2 reactions"},
    };
    (void)state;
    write_file("decay.net", decay_net);
    write_file("decay.xml", decay_sbml);
    write_file("lattice.yaml", lattice_yaml);
    shell("sed s/decay.xml/decay.xml.gz/ lattice.yaml >packed.yaml");
    shell("printf '\\n' >empty.sbml");
    shell("head -n 2 decay.yaml | gzip >two.yaml.gz; tail -n +3 decay.yaml | gzip >>two.yaml.gz");
    shell("gzip -k decay.yaml busy.yaml; gzip decay.net decay.xml packed.yaml empty.sbml");
    shell("(cat decay.yaml.gz; head -c 100000 /dev/zero) >padded.yaml.gz; cp decay.xml.gz renamed");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("%s", cases[i].arguments);
        if (!cases[i]
                 .shown) { /* the ending tells, also in front of .gz, what the content does not */
            assert_refused(&o, 2, "empty.sbml.gz");
            assert_null(strstr(o.err, "model in the file"));
            continue;
        }
        assert_done(&o);
        if (!strstr(o.out, cases[i].shown)) {
            fail_msg("%s: %s", cases[i].arguments, o.out);
        }
    }
    outcome o = saltus("plot decay.yaml.gz -o figure.svg");
    assert_refused(&o, 2, "has no lattice to draw");
    o = saltus("run decay.yaml.gz --until 1 --runs 3 -q -o packed.h5");
    assert_done(&o);
}

static void damaged_packed_models_are_refused(void **state)
{
    static const struct {
        const char *file, *part;
    } cases[] = {
        {"cut.gz", "cut.gz: is packed by gzip, and ends too early"},
        {"start.gz", "start.gz: is packed by gzip, and ends too early"},
        {"flipped.gz", "flipped.gz: is packed by gzip, and damaged: incorrect data check"},
        {"header.gz", "header.gz: is packed by gzip, and damaged: unknown compression method"},
        {"tail.gz", "tail.gz: something that gzip has not packed is behind its end"},
        {"tail-cut.gz", "tail-cut.gz: is packed by gzip, and ends too early"},
        {"nothing.gz", "nothing.gz: the file is empty"},
        {"twice.gz", "twice.gz: this is no text"},
        {"wrong.yaml.gz", "wrong.yaml.gz:3:"},
        {"bomb.gz", "bomb.gz: larger than 1 GiB when it is unpacked"},
    };
    (void)state;
    write_file("wrong.yaml", "species: {A: 1}\nreactions:\n  r: A -> Z @ 1\n");
    shell("gzip -nk decay.yaml; gzip wrong.yaml; gzip </dev/null >nothing.gz");
    shell("head -c 60 decay.yaml.gz >cut.gz; printf '\\037\\213' >start.gz");
    shell("(head -c -8 decay.yaml.gz; printf 12345678) >flipped.gz");
    shell("printf '\\037\\213\\001abcdefghijklmnop' >header.gz");
    shell("(cat decay.yaml.gz; echo more) >tail.gz; gzip <decay.yaml.gz >twice.gz");
    shell("(cat decay.yaml.gz; head -c 30 decay.yaml.gz) >tail-cut.gz");
    shell("head -c 16777216 /dev/zero | gzip >one; for i in $(seq 65); do cat one; done >bomb.gz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run %s --until 1 -o out.h5", cases[i].file);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("out.h5"));
    }
}

/* ---- main ---- */

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(a_model_comes_on_stdin), TEST(stdin_is_as_good_as_a_file),
        TEST(sweeps_read_stdin_once), TEST(what_is_wrong_on_stdin_is_told),
        TEST(packed_models_are_read), TEST(damaged_packed_models_are_refused),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
