/* The manual page and the completion of bash: they know what help knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 100 };

/* What help lists, read by other means than those that make the pages. */
typedef struct verb {
    char name[40];
    char options[MOST_OPTIONS][40];
    int n_options;
} verb;

static verb verbs[20];
static int n_verbs, n_options;

static void read_options(verb *v)
{
    const outcome o = saltus("%s --help", v->name);
    assert_done(&o);
    for (const char *at = o.out; (at = strstr(at, " --")); ++at) {
        const bool is_option = at - o.out > 5 && at[3] != ' ' && /* behind blanks, or "-o, " */
                               (strncmp(at - 5, "     ", 5) == 0 || at[-1] == ',');
        if (is_option && sscanf(at, " --%39[a-z-]", v->options[v->n_options]) == 1) {
            ++v->n_options;
        }
        assert_true(v->n_options < MOST_OPTIONS);
    }
    n_options += v->n_options;
}

static int read_help(void **state)
{
    const int status = enter_with_models(state);
    const outcome o = saltus("help");
    n_verbs = n_options = 0;
    for (const char *at = o.out; (at = strstr(at, "\n  ")); ++at) {
        if (at[3] != ' ' && sscanf(at, "\n  %39[a-z]", verbs[n_verbs].name) == 1 &&
            strcmp(verbs[n_verbs].name, "saltus") != 0) { /* the examples below */
            verbs[n_verbs++].n_options = 0;
        }
    }
    for (int i = 0; i < n_verbs; ++i) {
        read_options(&verbs[i]);
    }
    return status || n_verbs < 8 || n_options < 80;
}

static void escape(const char *option, char out[100])
{
    *out = '\0';
    for (const char *c = option; *c; ++c) {
        (void)strcat(out, *c == '-' ? "\\-" : (const char[]){*c, '\0'});
    }
}

static void the_manual_has_every_verb_and_option(void **state)
{
    (void)state;
    char *page = read_file(getenv("SALTUS_MAN"));
    assert_non_null(page);
    for (int i = 0; i < n_verbs; ++i) {
        char title[60], name[100], wanted[120];
        (void)snprintf(title, sizeof title, "\n.SS saltus %s", verbs[i].name);
        const char *start = strstr(page, title);
        if (!start) {
            fail_msg("the manual has no verb %s", verbs[i].name);
        }
        const char *end = strstr(start + 1, "\n.S");
        char *section = strndup(start, (size_t)(end - start));
        for (int k = 0; k < verbs[i].n_options; ++k) {
            escape(verbs[i].options[k], name);
            (void)snprintf(wanted, sizeof wanted, "\\fB\\-\\-%s\\fR", name);
            if (!strstr(section, wanted)) {
                fail_msg("the manual has no option --%s of %s", verbs[i].options[k], verbs[i].name);
            }
        }
        free(section);
    }
    free(page);
}

static void nothing_is_wrong_with_the_manual(void **state)
{
    static const struct {
        const char *program, *line;
    } cases[] = {
        {"mandoc", "mandoc -Tlint -W warning \"$SALTUS_MAN\" >said"},
        {"man", "LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 \"$SALTUS_MAN\" "
                "2>said >shown && grep -q 'number of trajectories' shown"},
    };
    int n_seen = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char line[300];
        (void)snprintf(line, sizeof line, "command -v %s >/dev/null", cases[i].program);
        if (system(line) == 0) {
            const int status = system(cases[i].line);
            char *said = read_file("said");
            assert_string_equal(said, "");
            assert_int_equal(status, 0);
            free(said);
            ++n_seen;
        }
    }
    if (n_seen == 0) {
        print_message("SKIP: neither mandoc nor man is here\n");
        skip();
    }
}

/* What bash would offer for the last of these words: a line each, in one text. */
static char *completed(const char *words)
{
    char line[1000];
    (void)snprintf(line, sizeof line,
                   "bash -uc '. \"$SALTUS_BASH\"; COMP_WORDS=(%s); "
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _saltus; "
                   "printf \"%%s\\n\" \"${COMPREPLY[@]-}\" | sort' >offered",
                   words);
    assert_int_equal(system(line), 0);
    return read_file("offered");
}

static void bash_completes(void **state)
{
    static const struct {
        const char *words, *offered;
    } cases[] = {
        {"saltus swe", "sweep\n"},
        {"saltus help inf", "info\n"},
        {"saltus run --unt", "--until\n"},
        {"saltus sweep decay.yaml --va", "--vary\n"},
        {"saltus run --va", "\n"},
        {"saltus run \"\"", "a model.xml\nbusy.yaml\ndecay.yaml\nfolder\nold.net.gz\n"},
        {"saltus run de", "decay.yaml\n"},
        {"saltus run a", "a model.xml\n"},
        {"saltus stats \"\"", "folder\nout.h5\n"},
        {"saltus plot out.h5 -o \"\"", "figure.svg\nfolder\n"},
        {"saltus report out.h5 -o \"\"", "folder\npage.html\n"},
        {"saltus plot out.h5 --output = fi", "figure.svg\n"},
        {"saltus run decay.yaml --record = s", "stats\n"},
        {"saltus run decay.yaml --method \"\"", "auto\ndirect\nhybrid\nmpd\nnsm\node\ntau\n"},
        {"saltus run decay.yaml --method =", "auto\ndirect\nhybrid\nmpd\nnsm\node\ntau\n"},
        {"saltus run decay.yaml --layout \"\"",
         "auto\ncounts\nglobal\nlanes\nparticles\nregisters\nscalar\nshared\nwarp\n"},
        {"saltus compile decay.yaml --layout \"\"",
         "auto\ncounts\nglobal\nparticles\nregisters\nshared\nwarp\n"},
        {"saltus compile decay.yaml --method \"\"", "direct\nmpd\node\ntau\n"},
        {"saltus run decay.yaml --until \"\"", "\n"},
        {"saltus nothing \"\"", "\n"},
    };
    (void)state;
    if (system("command -v bash >/dev/null") != 0) {
        print_message("SKIP: bash is not here\n");
        skip();
    }
    write_file("a model.xml", "");
    write_file("old.net.gz", "");
    write_file("out.h5", "");
    write_file("figure.svg", "");
    write_file("page.html", "");
    assert_int_equal(system("mkdir folder"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *offered = completed(cases[i].words);
        if (strcmp(offered, cases[i].offered) != 0) {
            fail_msg("%s: %s", cases[i].words, offered);
        }
        free(offered);
    }
    for (int i = 0; i < n_verbs; ++i) {
        char words[100];
        (void)snprintf(words, sizeof words, "saltus %.39s --", verbs[i].name);
        char *offered = completed(words);
        assert_int_equal(count_lines(offered), verbs[i].n_options);
        for (int k = 0; k < verbs[i].n_options; ++k) {
            (void)snprintf(words, sizeof words, "--%s\n", verbs[i].options[k]);
            assert_non_null(strstr(offered, words));
        }
        free(offered);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, read_help, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(the_manual_has_every_verb_and_option),
        TEST(nothing_is_wrong_with_the_manual),
        TEST(bash_completes),
    };
    if (!getenv("SALTUS_COMMAND") || !getenv("SALTUS_MAN") || !getenv("SALTUS_BASH")) {
        (void)fprintf(stderr, "SALTUS_COMMAND, SALTUS_MAN and SALTUS_BASH must name files\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
