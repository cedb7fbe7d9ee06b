/* What the command takes as a model: files of every format, and standard input. */
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
    outcome o = saltus("run decay.yaml.gz --until 1 --runs 3 -q -o packed.h5");
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
        {"large.yaml", "large.yaml: larger than 1 GiB\n"},
    };
    (void)state;
    write_file("wrong.yaml", "species: {A: 1}\nreactions:\n  r: A -> Z @ 1\n");
    shell("gzip -nk decay.yaml; gzip wrong.yaml; gzip </dev/null >nothing.gz");
    shell("head -c 60 decay.yaml.gz >cut.gz; printf '\\037\\213' >start.gz");
    shell("(head -c -8 decay.yaml.gz; printf 12345678) >flipped.gz");
    shell("printf '\\037\\213\\001abcdefghijklmnop' >header.gz");
    shell("(cat decay.yaml.gz; echo more) >tail.gz; gzip <decay.yaml.gz >twice.gz");
    shell("(cat decay.yaml.gz; head -c 30 decay.yaml.gz) >tail-cut.gz");
    write_file("large.yaml", "");
    assert_int_equal(truncate("large.yaml", ((off_t)1 << 30) + 1), 0);
    shell("head -c 16777216 /dev/zero | gzip >one; for i in $(seq 65); do cat one; done >bomb.gz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run %s --until 1 -o out.h5", cases[i].file);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("out.h5"));
    }
}

/* ---- BioNetGen's language ---- */

static const char rules_bngl[] = "begin model\n"
                                 "begin parameters\n"
                                 "  k 1\n"
                                 "end parameters\n"
                                 "begin seed species\n"
                                 "  A() 100 # simulate(), a comment\n"
                                 "end seed species\n"
                                 "begin reaction rules\n"
                                 "  A() -> B() k\n"
                                 "end reaction rules\n"
                                 "end model\n"
                                 "setOption(\"SpeciesLabel\",\"HNauty\")\n"
                                 "simulate({method=>\"ode\",\\\n"
                                 "  t_end=>1e9})\n";

/* In place of BNG2.pl: what it is given is kept, and what it does is told by BNG_MODE. */
static const char fake_program[] = "#!/bin/sh\n"
                                   "echo once >>\"$BNG_HOME/calls\"\n"
                                   "pwd >\"$BNG_HOME/folder\"\n"
                                   "cp \"$1\" \"$BNG_HOME/given\"\n"
                                   "echo 'said on stdout'; echo 'said on stderr' >&2\n"
                                   "case \"$BNG_MODE\" in\n"
                                   "fails) exit 7 ;;\n"
                                   "killed) kill -9 $$ ;;\n"
                                   "makes_nothing) exit 0 ;;\n"
                                   "hangs) echo $$ >\"$BNG_HOME/hangs\"; sleep 1000 & wait ;;\n"
                                   "esac\n"
                                   "cp \"$BNG_HOME/decay.net\" model.net\n";

static void enter_bngl(void)
{
    char here[4200];
    write_file("decay.net", decay_net);
    write_file("rules.bngl", rules_bngl);
    assert_int_equal(mkdir("bin", 0700), 0);
    assert_int_equal(mkdir("tmp", 0700), 0);
    write_file("bin/BNG2.pl", fake_program);
    assert_int_equal(chmod("bin/BNG2.pl", 0700), 0);
    assert_non_null(getcwd(here, sizeof here));
    (void)setenv("BNG_HOME", here, 1);
    (void)setenv("TMPDIR", "tmp", 1);
    (void)setenv("BNGPATH", "bin", 1);
    (void)setenv("BNG_MODE", "", 1);
}

static int leave_bngl(void **state)
{
    (void)unsetenv("BNG_HOME");
    (void)unsetenv("TMPDIR");
    (void)unsetenv("BNGPATH");
    (void)unsetenv("BNG_MODE");
    return leave_directory(state);
}

/* It is given the model without what simulates, in a folder of its own that is gone then. */
static void rules_become_a_network(void **state)
{
    (void)state;
    enter_bngl();
    outcome o = saltus("info rules.bngl");
    assert_done(&o);
    assert_non_null(strstr(o.out, "model rules: 2 species, 1 reaction"));
    char *given = read_file("given"), *folder = read_file("folder");
    assert_int_equal(
        strncmp(given, rules_bngl, (size_t)(strstr(rules_bngl, "simulate({") - rules_bngl)), 0);
    assert_string_equal(given + (strstr(rules_bngl, "simulate({") - rules_bngl),
                        "\ngenerate_network({overwrite=>1})\n");
    assert_non_null(strstr(folder, "/tmp/saltus-bngl-"));
    free(given);
    free(folder);
    shell("test -z \"$(ls tmp)\"");
    /* how the network is made is the model's affair */
    shell("(cat rules.bngl; echo 'generate_network({max_iter=>3})') >'odd $(touch x) name.bngl'");
    o = saltus("info 'odd $(touch x) name.bngl'");
    assert_done(&o);
    assert_non_null(strstr(o.out, "model odd $(touch x) name: 2 species"));
    assert_false(file_exists("x"));
    shell("tail -n 2 given | head -n 1 | grep -qx 'generate_network({max_iter=>3})'");
}

static void networks_are_made_once(void **state)
{
    (void)state;
    enter_bngl();
    outcome o = saltus("sweep rules.bngl --vary k=lin:1:2:20 --until 1 --points 3 --runs 3 "
                       "--threads 4 -q -o out.h5");
    assert_done(&o);
    char *calls = read_file("calls");
    assert_string_equal(calls, "once\n");
    free(calls);
    o = saltus("run decay.net --until 2 --runs 3 -q -o net.h5");
    assert_done(&o);
    o = saltus("run rules.bngl --until 2 --runs 3 -q -o rules.h5");
    assert_done(&o);
    char *expected = exported("net.h5"), *got = exported("rules.h5");
    assert_string_equal(got, expected);
    free(expected);
    free(got);
}

static void a_network_that_is_not_made_is_told(void **state)
{
    static const struct {
        const char *mode, *part;
    } cases[] = {
        {"fails", "saltus: rules.bngl: BNG2.pl made no network of it: it ended with code 7\n"},
        {"killed", "saltus: rules.bngl: BNG2.pl made no network of it: it ended with signal 9\n"},
        {"makes_nothing", "saltus: rules.bngl: BNG2.pl ended well, but has written no network\n"},
    };
    (void)state;
    enter_bngl();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        (void)setenv("BNG_MODE", cases[i].mode, 1);
        const outcome o = saltus("run rules.bngl --until 1 -o out.h5");
        assert_int_equal(o.code, 2);
        if (strncmp(o.err, "said on stdout\nsaid on stderr\n", 30) != 0 ||
            !strstr(o.err, cases[i].part)) {
            fail_msg("%s: %s", cases[i].mode, o.err);
        }
        assert_false(file_exists("out.h5"));
        shell("test -z \"$(ls tmp)\"");
    }
    (void)setenv("BNG_MODE", "", 1);
    write_file("decay.net",
               "begin species\n 1 A() 1\nend species\nbegin reactions\n 1 1 4 1\nend reactions\n");
    outcome o = saltus("info rules.bngl");
    assert_refused(&o, 2, "rules.bngl's network:5: ");
    o = saltus("info none.bngl");
    assert_refused(&o, 2, "none.bngl: cannot be read: No such file");
    /* in BNGPATH, else in PATH, else nowhere */
    (void)setenv("BNGPATH", "nowhere", 1);
    o = saltus("info rules.bngl");
    assert_refused(&o, 2, "rules.bngl: BioNetGen's BNG2.pl makes networks of such files");
    assert_non_null(strstr(o.err, "set BNGPATH"));
    char *path = strdup(getenv("PATH")), longer[5000];
    (void)snprintf(longer, sizeof longer, "%s:bin", path);
    (void)setenv("PATH", longer, 1);
    write_file("decay.net", decay_net);
    o = saltus("info rules.bngl");
    assert_done(&o);
    (void)setenv("PATH", path, 1);
    free(path);
    /* the rules themselves are no network */
    o = saltus("info - <rules.bngl");
    assert_refused(&o, 2, "stdin: there is no block of reactions");
    assert_non_null(strstr(o.err, "generate_network()"));
}

/* A signal to this process alone, as of a batch system, ends BNG2.pl too. */
static void interrupts_end_what_makes_networks(void **state)
{
    static const struct {
        const char *arguments;
        int signal_number, code;
    } cases[] = {
        {"run rules.bngl --until 1 -o out.h5", SIGINT, 130},
        {"run rules.bngl --until 1 -o out.h5", SIGTERM, 130},
        {"info rules.bngl", SIGINT, 128 + SIGINT},
        {"info rules.bngl", SIGHUP, 128 + SIGHUP},
    };
    (void)state;
    enter_bngl();
    (void)setenv("BNG_MODE", "hangs", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int program = 0;
        (void)signal(SIGINT, i == 0 ? SIG_IGN : SIG_DFL); /* as in a shell's background */
        const pid_t child = start_saltus("%s", cases[i].arguments);
        while (program == 0) { /* until all of its number is there */
            char *text = read_file("hangs");
            if (text && sscanf(text, "%d\n", &program) == 1 && !strchr(text, '\n')) {
                program = 0;
            }
            free(text);
            (void)usleep(2000);
        }
        (void)kill(child, cases[i].signal_number);
        const outcome o = finish_saltus(child);
        assert_int_equal(o.code, cases[i].code);
        assert_int_equal(kill(program, 0), -1);
        assert_false(file_exists("out.h5"));
        shell("test -z \"$(ls tmp)\" && rm hangs");
    }
}

/* ---- main ---- */

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(a_model_comes_on_stdin),
        TEST(stdin_is_as_good_as_a_file),
        TEST(sweeps_read_stdin_once),
        TEST(what_is_wrong_on_stdin_is_told),
        TEST(packed_models_are_read),
        TEST(damaged_packed_models_are_refused),
#define BNGL_TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_bngl)
        BNGL_TEST(rules_become_a_network),
        BNGL_TEST(networks_are_made_once),
        BNGL_TEST(a_network_that_is_not_made_is_told),
        BNGL_TEST(interrupts_end_what_makes_networks),

    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    (void)signal(SIGHUP, SIG_DFL); /* whoever started the tests may ignore it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
