#include "cli/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    bool is_shared; /* by all processes that mpirun starts; else the first has it alone */
    const char *what;
} verbs[] = {
    {"run", saltus_cli_run, true, "simulate an ensemble of trajectories"},
    {"sweep", saltus_cli_sweep, true, "the same for many values of parameters and initial amounts"},
    {"resume", saltus_cli_resume, true, "go on where a run or a sweep was stopped"},
    {"merge", saltus_cli_merge, false, "make of the parts of a run or a sweep its file"},
    {"info", saltus_cli_info, false, "what a model holds and how it was understood"},
    {"stats", saltus_cli_stats, false, "means and standard deviations of a result file"},
    {"export", saltus_cli_export, false, "trajectories of a result file as CSV"},
    {"plot", saltus_cli_plot, false, "draw a result file"},
    {"report", saltus_cli_report, false, "make a page of a result file"},
    {"devices", saltus_cli_devices, false, "what can compute here"},
    {"compile", saltus_cli_compile, false, "build the GPU kernel of a model, without a GPU"},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static void print_help(FILE *out)
{
    fprintf(out,
            "saltus %s: exact stochastic simulation of reaction networks\n\n"
            "Usage: saltus VERB …\n\n",
            saltus_version());
    for (int i = 0; i < N_VERBS; ++i) {
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].what);
    }
    fprintf(out, "\nsaltus help VERB, or saltus VERB -h, tells the options of a verb. To begin:\n\n"
                 "  saltus run model.xml --until 100 --runs 10000 -o result.h5\n"
                 "  saltus plot result.h5 -o result.png\n");
}

/* A command started with a standard stream closed would get its number for the next file that it
 * opens, and print into that. Reading and writing the streams of this kind fail instead. */
static void occupy_streams(void)
{
    for (int fd = 0; fd < 3; ++fd) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        }
    }
}

/* LeakSanitizer's, in builds that have it. */
extern void __lsan_do_leak_check(void) __attribute__((weak));

/* Libraries clean up when a program ends, and one of them throws when there is no memory for that.
 * All is written and closed by now, so that the system may do it. */
static void leave(int code, void *unused)
{
    (void)unused;
    (void)fflush(NULL);
    if (__lsan_do_leak_check) {
        __lsan_do_leak_check();
    }
    _exit(code);
}

static int finish(void)
{
    saltus_error err = {0};
    if (!saltus_cli_flush(&err)) {
        saltus_cli_print_error(&err);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* argv[0] is a verb. */
static int run_verb(int argc, char **argv)
{
    for (int i = 0; i < N_VERBS; ++i) {
        if (strcmp(argv[0], verbs[i].name) == 0) {
            static char name[40]; /* as long as argv, which names it */
            (void)snprintf(name, sizeof name, "saltus %s", verbs[i].name);
            argv[0] = name;
            return verbs[i].is_shared      ? saltus_cli_on_ranks(verbs[i].run, argc, argv)
                   : saltus_cli_is_first() ? verbs[i].run(argc, argv)
                                           : EXIT_DONE;
        }
    }
    if (strcmp(argv[0], "bench") == 0) {
        return saltus_cli_usage("'saltus bench' is a program of its own now: saltus-bench");
    }
    return saltus_cli_usage("there is no verb '%s'; saltus help lists them", argv[0]);
}

static bool asks_for_help(const char *word)
{
    static const char *const ways[] = {"help", "--help", "-h", "-?"};
    bool asks = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        asks |= strcmp(word, ways[i]) == 0;
    }
    return asks;
}

int main(int argc, char **argv)
{
    occupy_streams();
    (void)on_exit(leave, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported like a full disk */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("saltus %s\n", saltus_version());
        return finish();
    }
    if (!asks_for_help(argv[1])) {
        return run_verb(argc - 1, argv + 1);
    }
    if (argc > 3) {
        return saltus_cli_usage("one verb at a time: '%s' and '%s'", argv[2], argv[3]);
    }
    if (argc == 3 && !asks_for_help(argv[2])) {
        char help[] = "--help";
        char *words[] = {argv[2], help, NULL};
        return run_verb(2, words);
    }
    print_help(stdout);
    return finish();
}
