/* saltus run: signals. */
#include "cli/run.h"

#include <signal.h>

static volatile int stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

const volatile int *saltus_cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop};
    (void)sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND; /* a second Ctrl-C ends at once */
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported like a full disk */
    (void)signal(SIGPIPE, SIG_IGN);
    return &stop_requested;
}
