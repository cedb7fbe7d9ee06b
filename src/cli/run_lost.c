/* saltus run and saltus sweep: one of several GPUs is lost. The driver then serves the process on
 * no GPU any more: after an illegal address or a trap on one of two H100, each call on the other
 * had the same error, also after both contexts were destroyed (driver 580). A new process could use
 * both, so `saltus resume` of the result file takes the place of this one. The GPU that failed
 * first is left out, so that this comes to an end. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void saltus_cli_tell_lost(const saltus_cli_run_arguments *a)
{
    if (a->output && a->format == SALTUS_CLI_HDF5) {
        fprintf(stderr, "  hint: saltus resume %s --device cpu goes on without the GPU\n",
                a->output);
    }
}

/* "cuda:0,2" of "cuda:0,1,2" without GPU 1, to be freed; NULL: there is no other. */
static char *without(const char *device, int gpu)
{
    const size_t most = strlen(device) + 1;
    char *rest = strncmp(device, "cuda:", 5) == 0 ? calloc(most, 1) : NULL;
    size_t n = 0;
    for (const char *at = device + 5; rest && *at;) {
        const size_t size = strcspn(at, ",");
        if (strtol(at, NULL, 10) != gpu) {
            n += (size_t)snprintf(rest + n, most - n, "%s%.*s", n > 0 ? "," : "cuda:", (int)size,
                                  at);
        }
        at += size + (at[size] == ',');
    }
    if (n == 0 || n + 1 == most) { /* nothing is left, or nothing left out */
        free(rest);
        rest = NULL;
    }
    return rest;
}

/* What the new process is told beside the file and the device: what this one was. */
static void become_resume(const saltus_cli_run_arguments *a, const char *device)
{
    enum { MOST_WORDS = 20 };
    const struct {
        const char *option;
        int64_t value;
    } numbers[] = {{"threads", a->threads}, {"block", a->block}, {"streams", a->streams}};
    const struct {
        const char *option;
        bool is_given;
    } talk[] = {{"--quiet", a->quiet},
                {"--json", a->json},
                {"--progress", a->progress},
                {"--explain", a->explain}};
    char texts[4][50];
    const char *words[MOST_WORDS] = {"saltus", "resume",   a->output, "--device",
                                     device,   "--layout", a->layout, texts[3]};
    int n = 8;
    (void)snprintf(texts[3], sizeof texts[3], "--checkpoint=%.17g", a->checkpoint);
    for (int i = 0; i < 3; ++i) {
        if (numbers[i].value > 0) {
            (void)snprintf(texts[i], sizeof texts[i], "--%s=%lld", numbers[i].option,
                           (long long)numbers[i].value);
            words[n++] = texts[i];
        }
    }
    for (size_t i = 0; i < sizeof talk / sizeof *talk; ++i) {
        if (talk[i].is_given) {
            words[n++] = talk[i].option;
        }
    }
    (void)fflush(NULL);
    (void)execv("/proc/self/exe", (char **)words);
}

void saltus_cli_go_on_without_gpu(saltus_cli_session *s, const saltus_error *err,
                                  const saltus_error *closing)
{
    saltus_cli_run_arguments *a = s->a;
    saltus_error none = {0};
    const int gpu = s->report.lost_gpu - 1;
    char text[sizeof err->message + 200];
    char *rest = NULL;
    if (err->code == SALTUS_E_DEVICE && closing->code == SALTUS_OK && gpu >= 0 && a->output &&
        a->format == SALTUS_CLI_HDF5 && !saltus_cli_ranks() && !*saltus_cli_catch_signals()) {
        rest = without(a->device, gpu);
    }
    if (rest) {
        (void)snprintf(text, sizeof text,
                       "lost GPU %d, the first to fail: %s; %s goes on with what was kept", gpu,
                       err->message, rest);
        saltus_cli_show_warning(a, text);
        (void)saltus_cli_close_trace(s->trace, true, &none);
        s->trace = NULL;
        become_resume(a, rest);
    }
    free(rest);
}
