/* saltus run: signals. */
#include "cli/run.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

static volatile int stop_requested;
static _Atomic bool is_running;                /* there are results to be kept */
static _Atomic long long first_interrupt;      /* ms; 0: none yet */
static _Atomic(const char *) scratch_files[4]; /* to be removed when this process is ended */

static long long milliseconds(void)
{
    return 1 + (long long)(1e3 * saltus_cli_now());
}

static void end_at_once(void)
{
    for (size_t i = 0; i < sizeof scratch_files / sizeof *scratch_files; ++i) {
        const char *path = atomic_load(&scratch_files[i]);
        if (path) {
            (void)unlink(path);
        }
    }
    _exit(EXIT_INTERRUPTED);
}

/* Ctrl-C goes to every process of a terminal's group, and what stands around this one (timeout,
 * make, a batch system) often passes its own on: two signals within a moment are one wish. So only
 * a second Ctrl-C that comes later ends the run without closing its file, and nothing else does.
 *
 * Everything here may be called in a handler, on any thread. */
static void request_stop(int signal_number)
{
    static const char message[] = "saltus: interrupted\n";
    long long first = 0;
    if (!atomic_load(&is_running)) {
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        end_at_once();
    }
    if (signal_number == SIGINT) {
        const long long now = milliseconds();
        if (!atomic_compare_exchange_strong(&first_interrupt, &first, now) &&
            now - first >= PATIENCE_MS) {
            end_at_once();
        }
    }
    __atomic_store_n(&stop_requested, 1, __ATOMIC_RELAXED);
}

const volatile int *saltus_cli_catch_signals(void)
{
    /* batch systems send the last two some time before they kill, if they are told to */
    static const int ending[] = {SIGINT, SIGTERM, SIGXCPU, SIGUSR1};
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART}, old;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; ++i) {
        (void)sigaction(ending[i], &action, NULL);
    }
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) { /* as under nohup */
        (void)sigaction(SIGHUP, &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f fails */
    return &stop_requested;
}

void saltus_cli_keep_results(void)
{
    atomic_store(&is_running, true);
}

/* Put one path in the place of another. */
static void swap(const char *from, const char *to)
{
    bool is_done = false;
    for (size_t i = 0; i < sizeof scratch_files / sizeof *scratch_files && !is_done; ++i) {
        const char *expected = from;
        is_done = atomic_compare_exchange_strong(&scratch_files[i], &expected, to);
    }
}

void saltus_cli_remove_at_end(const char *path)
{
    swap(NULL, path);
}

void saltus_cli_forget(const char *path)
{
    if (path) {
        swap(path, NULL);
    }
}
