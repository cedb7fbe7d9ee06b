/* Verbs that the Python package carries out: what the command checks itself, how it finds an
 * interpreter with the package, and what it says when there is none. */
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
#include <sys/mount.h>
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
        {"plot out.h5", "a figure is needed: -o FIGURE"},
        {"plot out.h5 -o figure.jpg",
         "-o 'figure.jpg': the name of a figure ends in .svg, .png or "},
        {"plot out.h5 -o nowhere/x.svg", "nowhere/x.svg: cannot be written: No such file"},
        {"plot out.h5 -o decay.yaml/x.svg", "cannot be written: Not a directory"},
        {"plot out.h5 -o folder.svg", "folder.svg: cannot be written: Is a directory"},
        {"plot out.h5 --kinds bands", "there is no option '--kinds'; saltus plot --help lists"},
        {"report", "a result file is needed: saltus report FILE.h5"},
        {"report out.h5", "a page is needed: -o PAGE.html"},
        {"report out.h5 -o page.pdf", "-o 'page.pdf': the name of a page ends in .html or .htm"},
        {"report out.h5 -o .html", "-o '.html': the name of a page ends in .html or .htm"},
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
    assert_int_equal(mkdir("folder.html", 0700) | mkdir("folder.svg", 0700), 0);
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
    assert_non_null(strstr(o.err, "  hint: pip install 'saltus[plot,report]'"));
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

    write_file("page.html", "an older page by Saltus");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    o = saltus("report out.h5 -o page.html");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_refused(&o, 1, "page.html: cannot be written: File too large");
    char *page = read_file("page.html");
    assert_string_equal(page, "an older page by Saltus");
    free(page);
    assert_int_equal(system("test \"$(ls -A | grep -c page)\" = 1"), 0);
}

static void figures_are_drawn(void **state)
{
    static const char *const lines[] = {"plot out.h5 -o a.svg",
                                        "plot out.h5 --kind trajectories --trajectories 3 -o a.PNG",
                                        "plot out.h5 --species A --size 3x2 --dpi 90 -o a.png",
                                        "plot out.h5 --kind histogram --time 1 --log -o a.pdf",
                                        "plot sweep.h5 --statistic sd -o a.svg",
                                        "plot sweep.h5 --derived mean:A --logx -o a.svg",
                                        "plot sweep.h5 --kind auto -o a.svg",
                                        "plot space.h5 --title 'A & B' -o a.svg",
                                        "plot space.h5 --kind kymograph --species B -o a.png",
                                        "plot space.h5 --frame 0.1 --slice x=3 -o a.pdf",
                                        "plot space.h5 --slice 'sum y' -o a.svg",
                                        "plot lattice.yaml -o a.svg",
                                        "plot - -o a.svg <lattice.yaml"};
    (void)state;
    write_file("lattice.yaml", tiny_lattice);
    outcome o = saltus("run lattice.yaml --until 0.2 --frames 0.1 --profile z -q -o space.h5");
    assert_done(&o);
    o = saltus("sweep decay.yaml --vary k=log:0.1:10:3 --vary A=list:5,9 --derive mean:A --until 1 "
               "--runs 5 -q -o sweep.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        const char *name = strstr(lines[i], "-o ") + 3;
        char figure[8];
        (void)snprintf(figure, sizeof figure, "%.*s", (int)strcspn(name, " "), name);
        o = saltus("%s", lines[i]);
        assert_done(&o);
        assert_string_equal(o.out, "");
        char *drawn = read_file(figure);
        const char *start = strstr(figure, "svg")   ? "<?xml"
                            : strstr(figure, "pdf") ? "%PDF-"
                                                    : "\x89PNG";
        if (!drawn || strncmp(drawn, start, strlen(start)) != 0) {
            fail_msg("%s: no such picture", lines[i]);
        }
        free(drawn);
    }
}

static void what_cannot_be_drawn_is_refused(void **state)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"plot out.h5 --time x -o b.svg", "--time 'x': a number is needed"},
        {"plot out.h5 --trajectories -1 -o b.svg", "--trajectories '-1': 1 to 10000 are possible"},
        {"plot out.h5 --dpi 1e9 -o b.svg", "--dpi '1e9'"},
        {"plot out.h5 --dpi 2 -o b.png", "--dpi 2: the figure is 6.2 by 5 inches; 5 to 10570"},
        {"plot out.h5 --size 3 -o b.svg", "--size '3': width and height"},
        {"plot out.h5 --kind band -o b.svg", "hint: there is 'bands'"},
        {"plot out.h5 --species C -o b.svg", "'C'"},
        {"plot out.h5 --kind kymograph -o b.svg", "no profile"},
        {"plot out.h5 --slice z=1 -o b.svg", "no frames"},
        {"plot out.h5 --derived mean:A -o b.svg", "'mean:A'"},
        {"plot sweep.h5 --kind bands -o b.svg", "--kind is for results of a run"},
        {"plot space.h5 --slice z=9 -o b.svg", "z goes from 0 to 7"},
        {"plot space.h5 --slice w -o b.svg", "--slice 'w' is no plane"},
        {"plot out.h5 --statistic sd -o b.svg", "--statistic is for results of a sweep"},
        {"plot sweep.h5 --statistic median -o b.svg", "'median'"},
        {"plot decay.yaml -o b.svg", "has no lattice to draw"},
        {"plot - -o b.svg <decay.yaml", "has no lattice to draw"},
        {"plot lattice.yaml --species A -o b.svg", "--species is for results of a run"},
        {"plot nothing.h5 -o b.svg", "nothing.h5: cannot be read: No such file"},
        {"plot nothing.yaml -o b.svg", "nothing.yaml: cannot be read: No such file"},
        {"plot command.c -o b.svg", "command.c: cannot be read: No such file"},
        {"plot out.h5 -o mine.svg", "mine.svg: exists, and Saltus has not written it"},
    };
    (void)state;
    write_file("mine.svg", "<svg/>");
    write_file("lattice.yaml", tiny_lattice);
    outcome o = saltus("run lattice.yaml --until 0.2 --frames 0.1 -q -o space.h5");
    assert_done(&o);
    o = saltus("sweep decay.yaml --vary k=list:1,2 --until 1 -q -o sweep.h5");
    assert_done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        o = saltus("%s", cases[i].line);
        assert_refused(&o, 2, cases[i].part);
        assert_false(file_exists("b.svg"));
    }
    char *mine = read_file("mine.svg");
    assert_string_equal(mine, "<svg/>");
    free(mine);
    write_file("lattice.yaml.gz", "no archive");
    o = saltus("plot lattice.yaml.gz -o b.svg");
    assert_refused(&o, 2, "lattice.yaml.gz");
}

/* A figure that has no room leaves the older one, and nothing beside it. */
static void figures_without_room_leave_nothing(void **state)
{
    struct rlimit limit;
    (void)state;
    static const char old[] = "an old one, drawn by Saltus\n";
    write_file("old.png", old);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {4 << 10, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    outcome o = saltus("plot out.h5 -o old.png");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_refused(&o, 1, "old.png: cannot be written: File too large");
    char *text = read_file("old.png");
    assert_string_equal(text, old);
    free(text);
    assert_int_equal(system("test \"$(ls -A | grep -c old)\" = 1"), 0);
    (void)mkdir("small", 0700);
    if (mount("tmpfs", "small", "tmpfs", 0, "size=8k") == 0) {
        o = saltus("plot out.h5 -o small/x.png");
        (void)umount("small");
        assert_refused(&o, 1, "small/x.png: cannot be written: No space left on device");
    }
}

/* A run that was interrupted is drawn as far as it is. */
static void unfinished_results_are_drawn(void **state)
{
    (void)state;
    write_file("lattice.yaml", tiny_lattice);
    pid_t child = start_saltus("run lattice.yaml --until 1e6 --frames 1 --progress -o space.h5");
    assert_true(wait_for_estimate() > 1.0);
    assert_int_equal(kill(child, SIGINT), 0);
    outcome o = finish_saltus(child);
    assert_int_equal(o.code, 130);
    o = saltus("plot space.h5 --slice z --frame 1 -o a.svg");
    assert_done(&o);
    o = saltus("plot space.h5 --frame 1e6 -o b.svg"); /* the last that is there */
    assert_done(&o);
    char *drawn = read_file("b.svg");
    assert_non_null(drawn);
    assert_null(strstr(drawn, "1e+06"));
    free(drawn);
    o = saltus("report space.h5 -o page.html");
    assert_done(&o);
    o = saltus("plot space.h5 -o c.svg");
    assert_refused(&o, 2, "nothing to draw");
    child = start_saltus("run busy.yaml --until 1 --runs 1e8 --progress -o busy.h5");
    wait_for_progress();
    assert_int_equal(kill(child, SIGINT), 0);
    o = finish_saltus(child);
    assert_int_equal(o.code, 130);
    o = saltus("plot busy.h5 -o d.svg");
    assert_done(&o);
    drawn = read_file("d.svg");
    assert_non_null(drawn);
    assert_non_null(strstr(drawn, ", incomplete"));
    free(drawn);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_result, leave)
    const struct CMUnitTest tests[] = {
        TEST(wrong_usage_is_refused_without_python),
        TEST(what_is_missing_is_named),
        TEST(a_page_is_written),
        TEST(what_fails_leaves_nothing),
        TEST(figures_are_drawn),
        TEST(what_cannot_be_drawn_is_refused),
        TEST(figures_without_room_leave_nothing),
        TEST(unfinished_results_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
