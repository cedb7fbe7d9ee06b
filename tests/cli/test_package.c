/* Verbs that the Python package carries out: what the command checks itself, how it finds an
 * interpreter with the package, and what it says when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_with_result(void **state)
{
    const int status = enter_with_models(state);
    const outcome o = saltus("run decay.yaml --until 2 --runs 20 -q -o out.h5");
    return status || o.code;
}

static int leave(void **state)
{
    (void)unsetenv("SALTUS_PYTHON");
    (void)unsetenv("PYTHONPATH");
    return leave_directory(state);
}

static void wrong_usage_is_refused_without_python(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"report", "a result file is needed: saltus report FILE.h5"},
        {"report out.h5", "a page is needed: -o PAGE.html"},
        {"report out.h5 -o page.pdf", "a page is needed: -o PAGE.html"},
        {"report out.h5 -o .html", "a page is needed: -o PAGE.html"},
        {"report out.h5 -o ''", "a page is needed: -o PAGE.html"},
        {"report out.h5 page.html", "what is to be written is named with -o"},
        {"report out.h5 -o same.html", "that is the result file itself"},
        {"report out.h5 -o nowhere/page.html", "nowhere/page.html: cannot be written: No such"},
        {"report out.h5 -o folder.html", "folder.html: cannot be written: Is a directory"},
        {"report out.h5 --titel x", "there is no option '--titel'; saltus report --help lists"},
        {"report out.h5 --title", "option '--title' needs a value"},
    };
    (void)state;
    (void)setenv("SALTUS_PYTHON", "/bin/false", 1);
    assert_int_equal(symlink("out.h5", "same.html"), 0);
    assert_int_equal(mkdir("folder.html", 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("%s", cases[i].line);
        assert_refused(&o, 2, cases[i].part);
    }
    const outcome o = saltus("report --help");
    assert_done(&o);
    assert_non_null(strstr(o.out, "--output=PAGE.html"));
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    (void)setenv("SALTUS_PYTHON", "/nowhere/python3", 1);
    outcome o = saltus("report out.h5 -o page.html");
    assert_refused(&o, 2, "'/nowhere/python3' cannot be started: No such file");

    (void)setenv("SALTUS_PYTHON", "./bare", 1); /* an interpreter without packages */
    write_file("bare", "#!/bin/sh\nexec /usr/bin/env python3 -I -S \"$@\"\n");
    assert_int_equal(chmod("bare", 0700), 0);
    o = saltus("report out.h5 -o page.html");
    assert_refused(&o, 2, "this needs the Python package saltus, which ");
    assert_non_null(strstr(o.err, "  hint: pip install 'saltus[report]'"));
    (void)unsetenv("SALTUS_PYTHON");

    assert_int_equal(mkdir("without", 0700), 0);
    write_file("without/plotly.py", "raise ImportError('not here')\n");
    (void)setenv("PYTHONPATH", "without", 1);
    o = saltus("report out.h5 -o page.html");
    assert_refused(&o, 2, "report needs the package plotly, which is not installed");
    assert_non_null(strstr(o.err, "  hint: pip install 'saltus[report]'"));
    assert_false(file_exists("page.html"));
}

static void a_page_is_written(void **state)
{
    struct stat st;
    (void)state;
    write_file("numpy.py", "raise SystemExit('the working directory is no place for modules')\n");
    const mode_t mask = umask(027);
    outcome o = saltus("report out.h5 -o page.html --title='T < \"1\"'");
    assert_done(&o);
    assert_string_equal(o.out, "");
    char *page = read_file("page.html");
    assert_non_null(page);
    assert_non_null(strstr(page, "<title>T &lt; &quot;1&quot;</title>"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
    assert_int_equal(stat("page.html", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    (void)umask(mask);

    assert_int_equal(rename("out.h5", "-o.h5"), 0); /* names that look like options */
    o = saltus("report -o -page.HTM -- -o.h5");
    assert_done(&o);
    assert_true(file_exists("-page.HTM"));
}

static void what_fails_leaves_nothing(void **state)
{
    struct rlimit limit, old;
    (void)state;
    outcome o = saltus("report nothing.h5 -o page.html");
    assert_refused(&o, 2, "nothing.h5: cannot be read: No such file");
    o = saltus("report decay.yaml -o page.html");
    assert_refused(&o, 2, "decay.yaml: ");

    write_file("page.html", "an older page");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    o = saltus("report out.h5 -o page.html");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_refused(&o, 1, "page.html: cannot be written: File too large");
    char *page = read_file("page.html");
    assert_string_equal(page, "an older page");
    free(page);
    assert_int_equal(system("test \"$(ls -A | grep -c page)\" = 1"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_result, leave)
    const struct CMUnitTest tests[] = {
        TEST(wrong_usage_is_refused_without_python),
        TEST(what_is_missing_is_named),
        TEST(a_page_is_written),
        TEST(what_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
