/* The command as a user meets it: exit codes, messages, files. */
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

/* ---- what every verb does ---- */

static void verbs_do_their_work(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 2 --runs 20 -o out.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "20 trajectories"));
    assert_non_null(strstr(o.out, "A"));
    o = saltus("info decay.yaml");
    assert_done(&o);
    assert_non_null(strstr(o.out, "model decay: 2 species, 2 reactions"));
    o = saltus("info decay.yaml --as yaml");
    assert_done(&o);
    write_file("again.yaml", o.out);
    o = saltus("info again.yaml --set k=3");
    assert_done(&o);
    o = saltus("stats out.h5");
    assert_done(&o);
    o = saltus("devices");
    assert_done(&o);
    assert_non_null(strstr(o.out, "cpu"));
    o = saltus("--version");
    assert_done(&o);
    assert_int_equal(strncmp(o.out, "saltus ", 7), 0);
    o = saltus("--help");
    assert_done(&o);
    o = saltus("export out.h5");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), 1 + 20 * 101);
}

static void every_verb_has_help(void **state)
{
    static const char *const verbs[] = {"run",  "sweep",  "info",    "stats",  "export",
                                        "plot", "report", "devices", "compile"};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; ++i) {
        outcome o = saltus("%s --help", verbs[i]);
        assert_done(&o);
        assert_non_null(strstr(o.out, verbs[i]));
        char *help = strdup(o.out);
        assert_non_null(help);
        o = saltus("%s -h", verbs[i]);
        assert_done(&o);
        assert_string_equal(o.out, help);
        o = saltus("help %s", verbs[i]);
        assert_done(&o);
        assert_string_equal(o.out, help);
        free(help);
        if (file_exists("/dev/full")) {
            o = saltus("%s --help >/dev/full", verbs[i]);
            assert_refused(&o, 1, "standard output");
        }
    }
}

static void bench_tells_where_it_went(void **state)
{
    static const char *const calls[] = {"bench", "bench rng --quick", "help bench"};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        const outcome o = saltus("%s", calls[i]);
        assert_refused(&o, 2, "saltus-bench");
    }
    const outcome o = saltus("help");
    assert_done(&o);
    assert_null(strstr(o.out, "bench"));
}

/* The text of an option in the help of a verb, to be freed: from its name to the next option. */
static char *help_of(const char *verb, const char *option)
{
    char name[40];
    const outcome o = saltus("help %s", verb);
    assert_done(&o);
    (void)snprintf(name, sizeof name, " --%s=", option);
    const char *start = strstr(o.out, name);
    assert_non_null(start);
    const char *end = strstr(start + 1, " --");
    return strndup(start, end ? (size_t)(end - start) : strlen(start));
}

/* "(VALUE)" at the end of an option's help is what it is without it: same samples, same numbers. */
static void defaults_are_as_help_tells(void **state)
{
    static const struct {
        const char *option, *with;

    } cases[] = {
        {"points", ""},
        {"runs", ""},
        {"first", ""},
        {"seed", ""},
        {"rng", ""},
        {"record", ""},
        {"compress", ""},
        {"epsilon", "--method tau --set A=1e6"},
        {"nc", "--method tau"},
        {"exact-steps", "--method tau"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char value[40], *help = help_of("run", cases[i].option), file[40];
        const char *at = strchr(help, '(');
        while (strchr(at + 1, '(')) {
            at = strchr(at + 1, '(');
        }
        if (sscanf(at, "(%39[^)])", value) != 1) {
            fail_msg("no default: %s", help);
        }
        outcome o = saltus("run decay.yaml --until 2 %s -q -o without-%zu.h5", cases[i].with, i);
        assert_done(&o);
        o = saltus("run decay.yaml --until 2 %s -q -o with-%zu.h5 --%s=%s", cases[i].with, i,
                   cases[i].option, value);
        assert_done(&o);
        (void)snprintf(file, sizeof file, "without-%zu.h5", i);
        char *expected = exported(file);
        (void)snprintf(file, sizeof file, "with-%zu.h5", i);
        char *got = exported(file);
        if (strcmp(got, expected) != 0) {
            fail_msg("--%s is not %s by default", cases[i].option, value);
        }
        free(expected);
        free(got);
        free(help);
    }
}

/* What a layout that there is not is told to choose from, help names, and so for methods. */
static void help_names_all_layouts_and_methods(void **state)
{
    static const char *const of_run[] = {"auto", "lanes",     "scalar", "registers", "shared",
                                         "warp", "particles", "counts", "global"},
                             *const of_methods[] = {"direct", "tau", "auto", "mpd", "nsm"};
    (void)state;
    char *layouts = help_of("run", "layout"), *methods = help_of("run", "method"),
         *kernels = help_of("compile", "layout");
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; ++i) {
        assert_non_null(strstr(layouts, of_run[i]));
        assert_true(strstr(kernels, of_run[i]) || i == 1 || i == 2);
    }
    for (size_t i = 0; i < sizeof of_methods / sizeof *of_methods; ++i) {
        assert_non_null(strstr(methods, of_methods[i]));
    }
    assert_non_null(strstr(methods, "direct (exact; the default)"));
    free(layouts);
    free(methods);
    free(kernels);
    outcome o = saltus("run decay.yaml --until 1 --json");
    assert_non_null(strstr(o.out, "\"method\": \"direct\""));
    o = saltus("run decay.yaml --until 1 --layout none");
    assert_refused(&o, 2, "the CPU has auto, lanes and scalar");
}

static void outputs_want_their_option(void **state)
{
    static const struct {
        const char *arguments, *hint;
    } cases[] = {
        {"run decay.yaml out.h5 --until 2", "  hint: saltus run --until 2 decay.yaml -o out.h5\n"},
        {"run --set 'k=2' --species '[A]' - 'my out.h5' --until 2",
         "  hint: saltus run --set k=2 --species '[A]' --until 2 - -o 'my out.h5'\n"},
        {"plot a.h5 a.svg", "  hint: saltus plot a.h5 -o a.svg\n"},
        {"report a.h5 a.html", "  hint: saltus report a.h5 -o a.html\n"},
        {"run a.h5 a.h5 --until 1", "  hint: saltus run --until 1 a.h5 -o a.h5\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("%s", cases[i].arguments);
        assert_refused(&o, 2, "what is to be written is named with -o");
        if (!strstr(o.err, cases[i].hint)) {
            fail_msg("no %s in %s", cases[i].hint, o.err);
        }
    }
    const outcome o = saltus("info decay.yaml out.h5");
    assert_refused(&o, 2, "one model at a time");
    assert_null(strstr(o.err, "-o"));
}

static void stats_have_their_header(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 20 --record stats -o out.h5 -q");
    assert_done(&o);
    assert_string_equal(o.out, "");
    o = saltus("stats out.h5 --csv");
    assert_done(&o);
    assert_int_equal(
        strncmp(o.out, "time,A-mean,B-mean,share-mean,A-sd,B-sd,share-sd\n0,100,0,1,0,0,0\n", 64),
        0);
    assert_int_equal(count_lines(o.out), 4);
    o = saltus("export out.h5");
    assert_refused(&o, 2, "trajectories");
}

/* ---- wrong usage ---- */

static void wrong_usage_is_one_line_and_leaves_nothing(void **state)
{
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {"jump decay.yaml", "no verb 'jump'"},
        {"run", "a model file is needed"},
        {"run decay.yaml", "--until T is needed"},
        {"run decay.yaml busy.yaml --until 1", "one model at a time"},
        {"run decay.yaml --until 1 --nonsense", "no option '--nonsense'"},
        {"run decay.yaml --until 1 --nonsense=3", "no option '--nonsense'"},
        {"run decay.yaml --until 1 -x", "no option '-x'"},
        {"run decay.yaml --until 1 --json -qx", "no option '-qx'"},
        {"run decay.yaml --s 1", "may mean several"},
        {"sweep decay.yaml --s 1", "may mean several"},
        {"sweep decay.yaml --json=yes", "'--json' takes no value"},
        {"sweep decay.yaml --until", "'--until' needs a value"},
        {"help jump", "no verb 'jump'"},
        {"help run info", "one verb at a time"},
        {"run decay.yaml --json=yes --until 1", "'--json' takes no value"},
        {"run decay.yaml --until", "'--until' needs a value"},
        {"run decay.yaml -o", "'-o' needs a value"},
        {"run decay.yaml \"$(printf 'a\\nb')\" --until 1", "a b"},
        {"run decay.yaml --until abc", "--until 'abc'"},
        {"run decay.yaml --until ''", "--until ''"},
        {"run decay.yaml --until 1x", "--until '1x'"},
        {"run decay.yaml --until 0", "--until '0'"},
        {"run decay.yaml --until -5", "--until '-5'"},
        {"run decay.yaml --until nan", "--until 'nan'"},
        {"run decay.yaml --until 0x10", "--until '0x10'"},
        {"run decay.yaml --until ' 1'", "--until ' 1'"},
        {"run decay.yaml --until inf", "--until 'inf'"},
        {"run decay.yaml --until 1e999", "--until '1e999'"},
        {"run decay.yaml --until 1e308", "--until 1e+308: with 101 sample times"},
        {"run decay.yaml --until 1e307 --points 99", "it must be below 1.82e+306"},
        {"run decay.yaml --until 1 --points 0", "--points '0'"},
        {"run decay.yaml --until 1 --points -3", "--points '-3'"},
        {"run decay.yaml --until 1 --points 2.5", "--points '2.5'"},
        {"run decay.yaml --until 1 --points nan", "--points 'nan'"},
        {"run decay.yaml --until 1 --points 1e30", "--points '1e30'"},
        {"run decay.yaml --until 1 --every 0", "--every '0'"},
        {"run decay.yaml --until 1 --every -1", "--every '-1'"},
        {"run decay.yaml --until 1 --every nan", "--every 'nan'"},
        {"run decay.yaml --until 1 --every 1e-300", "--every 1e-300: up to time 1 "},
        {"run decay.yaml --until 1 --points 1e11", "100000000000 sample times of 3 columns take"},
        {"run decay.yaml --until 1 --points 1e11 --record stats", "this machine has"},
        {"run decay.yaml --until 1 --points 1e10 --species k", "sample times of 1 column take"},
        {"run decay.yaml --until 1 --record histogram --species [A],k", "histograms are of counts"},
        {"run decay.yaml --until 1 --every 0.1 --points 3", "exclude each other"},
        {"run decay.yaml --until 1 --runs 0", "--runs '0'"},
        {"run decay.yaml --until 1 --runs -1", "--runs '-1'"},
        {"run decay.yaml --until 1 --runs 0x10", "--runs '0x10'"},
        {"run decay.yaml --until 1 --shard 0x1/3 -o out.h5", "--shard '0x1/3'"},
        {"run decay.yaml --until 1 --runs 99999999999999999999", "--runs '99999999999999999999'"},
        {"run decay.yaml --until 1 --first -1", "--first '-1'"},
        {"run decay.yaml --until 1 --first 9223372036854775807", "2^63"},
        {"run decay.yaml --until 1 --seed -1", "--seed '-1'"},
        {"run decay.yaml --until 1 --seed ' -1'", "--seed ' -1'"},
        {"run decay.yaml --until 1 --seed 1.5", "--seed '1.5'"},
        {"run decay.yaml --until 1 --seed 18446744073709551616", "2^64"},
        {"run decay.yaml --until 1 --threads 0", "--threads '0'"},
        {"run decay.yaml --until 1 --threads 1000000", "--threads '1000000'"},
        {"run decay.yaml --until 1 --law other", "--law 'other'"},
        {"run decay.yaml --until 1 --rng other",
         "generator 'other': there are philox, xorwow, mrg32k3a and mt19937"},
        {"run decay.yaml --until 1 --record other", "--record 'other'"},
        {"run decay.yaml --until 1 --compress other", "--compress 'other'"},
        {"run decay.yaml --until 1 --method other", "method 'other'"},
        {"run decay.yaml --until 1 --device other", "other"},
        {"run decay.yaml --until 1 --device cpu:other", "cpu:other"},
        {"run decay.yaml --until 1 --layout other", "layout 'other'"},
        {"run decay.yaml --until 1 --bins 0", "--bins '0'"},
        {"run decay.yaml --until 1 --range 5", "--range '5'"},
        {"run decay.yaml --until 1 --range 5:1", "--range '5:1'"},
        {"run decay.yaml --until 1 --species C", "no species named 'C'"},
        {"run decay.yaml --until 1 --species A,", "no species named ''"},
        {"run decay.yaml --until 1 --species ''", "no species named ''"},
        {"run decay.yaml --until 1 --species [k]", "'k' is no species"},
        {"run decay.yaml --until 1 --species A,B,A", "'A' is named twice"},
        {"run decay.yaml --until 1 --species k,share,k", "'k' is named twice"},
        {"run decay.yaml --until 1 --set k", "--set 'k'"},
        {"run decay.yaml --until 1 --set =1", "--set '=1'"},
        {"run decay.yaml --until 1 --set k=x", "--set 'k=x'"},
        {"run decay.yaml --until 1 --set k=nan", "--set 'k=nan'"},
        {"run decay.yaml --until 1 --set m=1", "'m' cannot be set"},
        {"run decay.yaml --until 1 --set share=1", "a rule determines it"},
        {"run decay.yaml --until 1 --set A=-1", "initial amount -1 is negative"},
        {"run decay.yaml --until 1 --set A=1e300", "no number of molecules"},
        {"run decay.yaml --until 1 --set k=-1", "rate constant is -1"},
        {"info", "a model file is needed"},
        {"info decay.yaml --as sbml", "--as 'sbml'"},
        {"info decay.yaml --law other", "--law 'other'"},
        {"info decay.yaml busy.yaml", "one model at a time"},
        {"stats", "a result file is needed"},
        {"stats a.h5 b.h5", "one file at a time"},
        {"stats a.h5", "a.h5: cannot be read"},
        {"export decay.yaml", "is no HDF5 file"},
        {"run decay.yaml --until 1 -o ''", "-o ''"},
        {"run decay.yaml --until 1 -o -", "-o '-'"},
        {"run decay.yaml --until 1 -o /dev/stdout >all.csv", "that is where the summary goes"},
        {"sweep decay.yaml --vary k=1,2 --until 1 -o all.csv --overwrite >all.csv",
         "that is where the summary goes"},
        {"plot a.h5 -o ''", "a figure is needed: -o FIGURE"},
        {"devices --all", "no option '--all'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bool is_run = strncmp(cases[i].arguments, "run", 3) == 0 &&
                            !strstr(cases[i].arguments, " -o") &&
                            strcmp(cases[i].arguments, "run decay.yaml --until") != 0;
        const outcome o = saltus("%s%s", cases[i].arguments, is_run ? " -o out.h5" : "");
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("out.h5"));
    }
    const outcome o = saltus(" ");
    assert_int_equal(o.code, 2);
    assert_string_equal(o.out, "");
}

/* Options that do nothing here are told, and nothing else is changed. */
static void idle_options_are_told(void **state)
{
    static const struct {
        const char *options, *warning;
    } cases[] = {
        {"--bins 5", "saltus: warning: --bins is of --record histogram alone\n"},
        {"--record stats --bins 5", "saltus: warning: --bins is of --record histogram alone\n"},
        {"--range 0:5 -o a.h5", "saltus: warning: --range is of --record histogram alone\n"},
        {"--continuous 50", "saltus: warning: --continuous is of --method hybrid alone\n"},
        {"--rtol 1e-4",
         "saltus: warning: --rtol, --atol and --stiff are of rate rules, and of methods ode "
         "and hybrid: nothing is integrated here\n"},
        {"--stiff never --method tau", "saltus: warning: --rtol, --atol and --stiff are of rate "
                                       "rules, and of methods ode and hybrid: "
                                       "nothing is integrated here\n"},
        {"--no-peer", "saltus: warning: --no-peer is of lattices in slabs, --split, alone\n"},
        {"--checkpoint 5", "saltus: warning: --checkpoint is of result files, -o FILE.h5, alone\n"},
        {"--compress small -o d.csv",
         "saltus: warning: --compress is of result files, -o FILE.h5, alone\n"},
        {"--compress small --checkpoint 5 -o e.h5", ""},
        {"--rtol 1e-4 --atol 1 --method hybrid", ""},
        {"--stiff always --method ode", ""},
        {"--bins 5 --range 0:5 --record histogram --species A -o b.h5", ""},
        {"--continuous 50 --method hybrid", ""},
        {"--bins 5 --continuous 50 -q", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run decay.yaml --until 1 %s", cases[i].options);
        assert_int_equal(o.code, 0);
        assert_string_equal(o.err, cases[i].warning);
    }
    const outcome o = saltus("sweep decay.yaml --vary k=list:1,2 --until 1 --bins 5 -o c.h5");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, cases[0].warning);
}

static void near_names_are_suggested(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --set twic=1");
    assert_refused(&o, 2, "did you mean 'twice'?");
    o = saltus("run decay.yaml --until 1 --species shar");
    assert_refused(&o, 2, "did you mean 'share'?");
}

static void bad_model_files_are_refused(void **state)
{
    static const struct {
        const char *name, *text, *part;
    } cases[] = {
        {"empty.yaml", "", "the file is empty"},
        {"empty.xml", "", "the file is empty"},
        {"empty.net", "", "the file is empty"},
        {"cut.yaml", "species: {A: 5\n", "cut.yaml:"},
        {"cut.xml", "<?xml version='1.0'?>\n<sbml xmlns='http://www.sbml.org/sbml/level3/ve",
         "cut"},
        {"cut.net", "begin parameters\n 1 k 0.5\n", "cut.net"},
        {"noise.yaml", "\x01\x02\xff\xfe\x80)&(^{[", "noise.yaml"},
        {"noise.xml", "\x01\x02\xff\xfe\x80)&(^{[", "noise.xml"},
        {"name.yaml", "species: {A: 1}\nreactions: {r: A -> 0 @ k9}\n", "'k9'"},
        {"species.yaml", "species: {A: 1}\nreactions: {r: A -> B @ 1}\n", "'B'"},
        {"nan.yaml", "species: {A: nan}\nreactions: {r: A -> 0 @ 1}\n", "no number of molecules"},
        {"rate.yaml", "species: {A: 1}\nreactions: {r: A -> 0 @ -1}\n", "rate constant is -1"},
        {"circle.yaml", "species: {A: 1}\nrules: {a: b + 1, b: a*2}\n", "depends on itself"},
        {"order.yaml", "species: {A: 1}\nreactions: {r: 2000000000 A -> 0 @ 1}\n", "mass action"},
        {"drift.yaml", "species: {A: 1}\nevents: {e: {when: sin(time), set: {A: 2}}}\n", "time"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file(cases[i].name, cases[i].text);
        outcome o = saltus("run %s --until 1 -o out.h5", cases[i].name);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("out.h5"));
        o = saltus("info %s", cases[i].name);
        assert_refused(&o, 2, cases[i].part);
    }
    outcome o = saltus("run nothing.yaml --until 1 -o out.h5");
    assert_refused(&o, 2, "nothing.yaml: cannot be read");
    o = saltus("run . --until 1 -o out.h5");
    assert_refused(&o, 2, ".: cannot be read");
    o = saltus("stats . ");
    assert_refused(&o, 2, ".: cannot be read: it is a folder, not a file");
    assert_false(file_exists("out.h5"));
    if (geteuid() != 0) {
        (void)chmod("decay.yaml", 0);
        o = saltus("run decay.yaml --until 1 -o out.h5");
        assert_refused(&o, 2, "decay.yaml: cannot be read");
    }
}

/* ---- trajectories that cannot go on ---- */

static void failing_trajectories_are_named(void **state)
{
    static const struct {
        const char *text, *parts[5];
    } cases[] = {
        {"species: {A: 5}\nreactions: {r: A -> 2 A @ 6.5-A}\n",
         {"trajectory 0", "time ", "'r'", "propensity -0.5 is negative", "A = 7"}},
        {"species: {A: 2}\nreactions: {r: {equation: 2 A -> 0, law: A}, up: 0 -> A @ 1}\n",
         {"trajectory ", "time ", "'r'", "too few reactants", "A = 1"}},
        {"species: {A: 9223372036854774784}\nreactions: {r: 0 -> 1000 A @ 1}\n",
         {"trajectory 0", "time ", "'r'", "beyond 64 bits", "A = 9223372036854775784"}},
        {"species: {A: 1000}\nreactions: {r: A -> 2 A @ 1e306*A}\n",
         {"trajectory 0", "time 0", "'r'", "propensity inf is not finite", "A = 1000"}},
        {"species: {A: 5}\nreactions: {r: A -> 0 @ A/(A-4)}\n",
         {"trajectory 0", "time ", "'r'", "propensity inf is not finite", "A = 4"}},
        {"species: {A: 1}\nreactions: {up: 0 -> A @ 1, r: {equation: 0 -> A, law: ln(A-1)}}\n",
         {"trajectory 0", "time 0", "'r'", "propensity -inf is not finite", "A = 1"}},
        {"species: {A: 1}\nreactions: {r: {equation: 0 -> A, law: ln(A-2)}}\n",
         {"trajectory 0", "time 0", "'r'", "propensity nan is not finite", "A = 1"}},
        {"species: {A: 5}\nevents: {e: {at: 1, set: {A: A - 9}}}\n",
         {"trajectory 0", "time 1", "'e'", "'A' to -4", "A = 5"}},
        {"species: {A: 5}\nevents: {e: {at: 1, delay: 3-A, set: {A: 1}}}\n",
         {"trajectory 0", "time 1", "'e'", "delay -2", "A = 5"}},
    };
    static const char *const layouts[] = {"auto", "scalar"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file("bad.yaml", cases[i].text);
        for (int l = 0; l < 2; ++l) {
            const outcome o =
                saltus("run bad.yaml --until 1000 --threads 1 --layout %s -o out.h5", layouts[l]);
            for (int k = 0; k < 5; ++k) {
                assert_refused(&o, 1, cases[i].parts[k]);
            }
            char *text = exported("out.h5"); /* readable, without that trajectory */
            assert_int_equal(count_lines(text), 1);
            free(text);
        }
    }
}

/* Trajectories that finished before another one failed are in the file, with the bits that they
 * have when they are run alone. */
static void finished_trajectories_outlive_a_failure(void **state)
{
    (void)state;
    write_file("rare.yaml", "species: {A: 20}\n"
                            "reactions: {down: A -> 0 @ 1, r: {equation: 0 -> A, law: 22.5-A}}\n");
    outcome o =
        saltus("run rare.yaml --until 5 --runs 100000 --threads 1"); /* tells them instead */
    assert_int_equal(o.code, 1);
    assert_one_message(&o, "is negative at A = 23");
    assert_non_null(strstr(o.out, "incomplete: "));
    assert_non_null(strstr(o.out, " of 100000 trajectories\n"));
    o = saltus("run rare.yaml --until 5 --runs 100000 --threads 1 -q");
    assert_string_equal(o.out, "");
    o = saltus("run rare.yaml --until 5 --runs 100000 --threads 1 --json -o out.h5");
    assert_int_equal(o.code, 1);
    assert_one_message(&o, "is negative at A = 23");
    assert_non_null(strstr(o.out, "\"complete\": false"));
    char *text = exported("out.h5");
    assert_true(count_lines(text) > 1);
    const char *last = strrchr(text, '\n');
    while (last > text && last[-1] != '\n') {
        --last;
    }
    const long long run = atoll(last);
    o = saltus("run rare.yaml --until 5 --first %lld -q -o one.h5", run);
    assert_done(&o);
    char *one = exported("one.h5");
    const char *rows = strchr(one, '\n') + 1;
    assert_non_null(strstr(text, rows));
    free(one);
    free(text);
}

/* A thread has several trajectories of a large network under way, an event of each in turn: none of
 * them knows, and one that fails is named and fails alike alone. */
static void trajectories_in_turn_are_those_alone(void **state)
{
    static const char *const options[] = {"", "--rng mt19937", "--threads 1"};
    enum { N = 23 };
    (void)state;
    write_hops("hops.yaml");
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        outcome o = saltus("run hops.yaml --until 3 --points 4 --species E,X3 --runs %d %s -q "
                           "-o all.csv --overwrite",
                           N, options[i]);
        assert_done(&o);
        char *all = read_file("all.csv");
        for (int run = 0; run < N; run += 11) {
            o = saltus("run hops.yaml --until 3 --points 4 --species E,X3 --first %d %s -q "
                       "-o one.csv --overwrite",
                       run, options[i]);
            assert_done(&o);
            char *one = read_file("one.csv");
            assert_non_null(strstr(all, strchr(one, '\n'))); /* but for its header */
            free(one);
        }
        free(all);
    }
    FILE *out = fopen("hops.yaml", "a");
    assert_non_null(out);
    (void)fprintf(out, "  bad: {equation: 0 -> E, law: 80.5 - E}\n");
    assert_int_equal(fclose(out), 0);
    outcome o = saltus("run hops.yaml --until 100 --runs 1000 --threads 1 -q");
    assert_int_equal(o.code, 1);
    assert_one_message(&o, "'bad': propensity -0.5 is negative");
    const char *which = strstr(o.err, "trajectory ");
    assert_non_null(which);
    char *message = strdup(o.err);
    assert_non_null(message);
    o = saltus("run hops.yaml --until 100 --first %lld -q", atoll(which + strlen("trajectory ")));
    assert_string_equal(o.err, message);
    free(message);
}

/* ---- options that change nothing, and those that do ---- */

static void where_and_how_never_change_a_sample(void **state)
{
    static const char *const same[] = {
        "--threads 1",     "--threads 7",      "--layout lanes",
        "--layout scalar", "--device cpu",     "--device cpu:generic",
        "--compress none", "--compress small", "--record all",
        "--method direct", "--rng philox",     "--explain 2>/dev/null",
        "--seed 0x1",      "--seed 01",        "--law combinatorial",
    };
    (void)state;
    char *plain = trajectories("--runs 80");
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        char options[200];
        (void)snprintf(options, sizeof options, "--runs 80 %s", same[i]);
        char *other = trajectories(options);
        if (strcmp(plain, other) != 0) {
            fail_msg("%s changes the trajectories", same[i]);
        }
        free(other);
    }
    char *other = trajectories("--runs 80 --seed 2");
    assert_string_not_equal(plain, other);
    free(other);
    other = trajectories("--runs 80 --rng xorwow");
    assert_string_not_equal(plain, other);
    free(other);
    other = trajectories("--runs 80 --set k=1.5");
    assert_string_not_equal(plain, other);
    free(other);
    free(plain);
}

static void first_extends_a_run(void **state)
{
    (void)state;
    char *all = trajectories("--runs 100");
    char *a = trajectories("--runs 50"), *b = trajectories("--runs 50 --first 50");
    const size_t n = strlen(a);
    assert_int_equal(strncmp(all, a, n), 0);
    assert_string_equal(all + n, strchr(b, '\n') + 1);
    free(all);
    free(a);
    free(b);
}

static void species_choose_the_columns(void **state)
{
    (void)state;
    write_file("cell.yaml", "species: {A: {initial: 10, compartment: cell}}\n"
                            "compartments: {cell: 4}\n");
    outcome o = saltus("run cell.yaml --until 1 --points 2 --species '[A], A,cell' -q -o out.h5");
    assert_done(&o);
    o = saltus("export out.h5");
    assert_string_equal(o.out, "run,time,A,[A],cell\n0,0,10,2.5,4\n0,1,10,2.5,4\n");
    char *text = trajectories("--runs 2 --species B");
    assert_int_equal(strncmp(text, "run,time,B\n0,0,0\n", 17), 0);
    free(text);
}

static void settings_are_followed(void **state)
{
    (void)state;
    write_file("set.yaml", "species: {A: 5, B: 2*A + n}\n"
                           "parameters: {n: 1, m: n + 10}\n"
                           "rules: {sum: A + B + m}\n");
    outcome o = saltus("run set.yaml --until 1 --points 1 --set n=3 --set A=7 -q -o out.h5 "
                       "--species A,B,n,m,sum");
    assert_done(&o);
    o = saltus("export out.h5");
    assert_string_equal(o.out, "run,time,A,B,n,m,sum\n0,1,7,17,3,13,37\n");
    o = saltus("run set.yaml --until 1 --points 1 --set A=1.5 -q -o out.h5 --species A,B");
    assert_done(&o);
    o = saltus("run set.yaml --until 1 --points 1 --set A=2.5 -o out.h5 --species A");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.err, "saltus: warning: "));
    assert_non_null(strstr(o.err, "rounded to 2"));
    o = saltus("run set.yaml --until 1 --points 1 --set A=2.5 --method ode --overwrite -o out.h5 "
               "--species A");
    assert_int_equal(o.code, 0);
    assert_null(strstr(o.err, "warning")); /* there it is 2.5 */
    o = saltus("sweep set.yaml --until 1 --points 1 --vary A=list:2.5 --method ode --species A "
               "--overwrite -o out.h5");
    assert_int_equal(o.code, 0);
    assert_null(strstr(o.err, "warning"));
}

/* Neither their number nor the length of the line is limited; the file has the whole line. */
static void settings_may_be_many(void **state)
{
    static const char *const many = "$(seq -f '--set k=%g' 1 1000)";
    (void)state;
    outcome o = saltus("info decay.yaml --as yaml %s", many);
    assert_done(&o);
    assert_non_null(strstr(o.out, "k: 1000"));
    o = saltus("run decay.yaml --until 1 --runs 2 %s --seed 777666555 -q -o out.h5", many);
    assert_done(&o);
    assert_int_equal(system("grep -aq -e 'k=999 --set k=1000 --seed 777666555 -q' out.h5"), 0);
    o = saltus("info decay.yaml --set $(printf 'x%%0300d' 0)=1");
    assert_refused(&o, 2, "cannot be set");
}

static void combinatorial_laws_count_pairs(void **state)
{
    (void)state;
    write_file("pair.yaml", "species: {A: 1}\nreactions: {r: 2 A -> 0 @ A^2}\n");
    outcome o = saltus("run pair.yaml --until 50 --law combinatorial -o out.h5");
    assert_done(&o);
    o = saltus("run pair.yaml --until 50 -o out.h5");
    assert_int_equal(o.code, 1);
    assert_non_null(strstr(o.err, "--law combinatorial"));
    assert_non_null(strstr(o.err, "too few reactants"));
}

static void records_keep_what_they_say(void **state)
{
    static const char *const records[] = {"all", "stats", "final", "histogram"};
    char *stats[4];
    (void)state;
    for (int i = 0; i < 4; ++i) {
        outcome o = saltus("run decay.yaml --until 2 --points 3 --runs 50 --record %s -q -o out.h5",
                           records[i]);
        assert_done(&o);
        assert_string_equal(o.out, "");
        o = saltus("stats out.h5 --csv");
        assert_done(&o);
        stats[i] = strdup(o.out);
        assert_string_equal(stats[0], stats[i]);
        o = saltus("export out.h5");
        assert_int_equal(o.code, i == 0 ? 0 : o.code);
        assert_true(i == 0 || i == 2 || o.code == 2);
    }
    for (int i = 0; i < 4; ++i) {
        free(stats[i]);
    }
}

static void histograms_of_what_is_no_count_are_told(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --record histogram --species A,share -o out.h5");
    assert_int_equal(o.code, 0);
    assert_string_equal(o.err, "saltus: warning: histograms are of counts of species alone; of "
                               "rule targets, parameters and concentrations the file holds "
                               "statistics\n");
    o = saltus("stats out.h5");
    assert_done(&o);
    assert_non_null(strstr(o.out, "share"));
}

static void sample_times_are_as_asked(void **state)
{
    static const struct {
        const char *options, *times;
    } cases[] = {
        {"--until 1 --points 3", "0 0.5 1 "},      {"--until 1 --points 1", "1 "},
        {"--until 1 --every 0.4", "0 0.4 0.8 1 "}, {"--until 1 --every 0.5", "0 0.5 1 "},
        {"--until 1 --every 7", "0 1 "},           {"--until 0.3 --every 0.1", "0 0.1 0.2 0.3 "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char times[200] = "";
        outcome o = saltus("run decay.yaml %s -q -o out.h5", cases[i].options);
        assert_done(&o);
        o = saltus("stats out.h5 --csv");
        assert_done(&o);
        for (const char *line = strchr(o.out, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
            (void)snprintf(times + strlen(times), sizeof times - strlen(times), "%.*s ",
                           (int)strcspn(line, ","), line);
        }
        assert_string_equal(times, cases[i].times);
    }
}

/* ---- talk ---- */

static void json_is_valid_and_whole(void **state)
{
    static const char *const keys[] = {"events", "trajectories", "seconds", "seconds_total",
                                       "device", "layout",       "method",  "output"};
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --runs 7 --rng mt19937 --json -o out.h5");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"rng\": \"mt19937\""));
    for (int i = 0; i < 8; ++i) {
        char key[40];
        (void)snprintf(key, sizeof key, "\"%s\": ", keys[i]);
        assert_non_null(strstr(o.out, key));
    }
    assert_non_null(strstr(o.out, "\"trajectories\": 7,"));
    assert_non_null(strstr(o.out, "\"output\": \"out.h5\""));
    write_file("odd.yaml", "model: 'a \"b\" \\ c'\nspecies: {A: 1}\n");
    o = saltus("run odd.yaml --until 1 --json -q");
    assert_done(&o);
    assert_is_json(o.out);
    assert_non_null(strstr(o.out, "\"output\": null"));
}

static void progress_is_for_terminals(void **state)
{
    (void)state;
    outcome o;
    bool is_shown = false;
    for (int runs = 20000; !is_shown; runs *= 4) { /* a short one ends before it shows any */
        assert_true(runs < 10000000);
        o = saltus("run busy.yaml --until 30 --runs %d --record stats --progress -o out.h5 "
                   "--overwrite",
                   runs);
        assert_done(&o); /* it is gone at the end */
        char *shown = read_file(".err");
        is_shown = strstr(shown, "trajectories/s") != NULL;
        free(shown);
    }
    o = saltus("run busy.yaml --until 30 --runs 20000 --record stats --progress -q -o out.h5 "
               "--overwrite");
    assert_done(&o);
    assert_string_equal(o.out, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_models, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(verbs_do_their_work),
        TEST(bench_tells_where_it_went),
        TEST(every_verb_has_help),
        TEST(defaults_are_as_help_tells),
        TEST(help_names_all_layouts_and_methods),
        TEST(outputs_want_their_option),
        TEST(stats_have_their_header),
        TEST(wrong_usage_is_one_line_and_leaves_nothing),
        TEST(idle_options_are_told),
        TEST(near_names_are_suggested),
        TEST(bad_model_files_are_refused),
        TEST(failing_trajectories_are_named),
        TEST(finished_trajectories_outlive_a_failure),
        TEST(trajectories_in_turn_are_those_alone),
        TEST(where_and_how_never_change_a_sample),
        TEST(first_extends_a_run),
        TEST(species_choose_the_columns),
        TEST(settings_are_followed),
        TEST(settings_may_be_many),
        TEST(combinatorial_laws_count_pairs),
        TEST(records_keep_what_they_say),
        TEST(histograms_of_what_is_no_count_are_told),
        TEST(sample_times_are_as_asked),
        TEST(json_is_valid_and_whole),
        TEST(progress_is_for_terminals),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
