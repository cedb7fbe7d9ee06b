/* saltus run --trace: what took how long, as chrome://tracing and Perfetto read it. */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPANS = 100000 }; /* about 10 MB */

struct saltus_cli_trace {
    FILE *out;
    const char *path;
    char *made; /* where that leads */
    long long n_spans;
};

static saltus_status cannot(const char *path, saltus_error *err)
{
    err->code = SALTUS_E_IO;
    (void)snprintf(err->message, sizeof err->message, "%.400s: cannot be written: %s", path,
                   strerror(errno));
    return err->code;
}

saltus_status saltus_cli_open_trace(const char *path, saltus_cli_trace **out, saltus_error *err)
{
    static const char *const tracks[] = {"GPU streams", "workers", "writer", "slabs"};
    saltus_cli_trace *t = calloc(1, sizeof *t);
    if (saltus_may_replace(path, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", err) !=
        SALTUS_OK) {
        free(t);
        return err->code;
    }
    if (!t || !(t->out = fopen(path, "w"))) {
        free(t);
        return cannot(path, err);
    }
    t->path = path;
    t->made = realpath(path, NULL);
    fprintf(t->out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    for (int p = 0; p < 4; ++p) {
        fprintf(t->out,
                "%s\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": "
                "{\"name\": \"%s\"}}",
                p > 0 ? "," : "", p, tracks[p]);
    }
    *out = t;
    return SALTUS_OK;
}

void saltus_cli_write_span(void *user, const saltus_span *span)
{
    saltus_cli_trace *t = user;
    if (++t->n_spans > MOST_SPANS) {
        return;
    }
    if (span->track == SALTUS_TRACK_SLAB) {
        fprintf(t->out,
                ",\n{\"name\": \"slab %d: %s\", \"ph\": \"C\", \"pid\": %d, \"ts\": %.3f, "
                "\"args\": {\"%s\": %.6g}}",
                span->worker, span->name, (int)span->track, 1e6 * span->start, span->name,
                span->value);
    } else {
        fprintf(t->out,
                ",\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, "
                "\"dur\": %.3f}",
                span->name, (int)span->track, span->worker, 1e6 * span->start, 1e6 * span->seconds);
    }
}

saltus_status saltus_cli_close_trace(saltus_cli_trace *t, bool keep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!t) {
        return SALTUS_OK;
    }
    fprintf(t->out, "\n], \"otherData\": {\"spans_left_out\": %lld}}\n",
            t->n_spans > MOST_SPANS ? t->n_spans - MOST_SPANS : 0);
    const bool has_failed = ferror(t->out) != 0;
    if (fclose(t->out) != 0 || has_failed) {
        status = cannot(t->path, err);
    }
    if (!keep && t->made) {
        (void)remove(t->made);
    }
    free(t->made);
    free(t);
    return status;
}
