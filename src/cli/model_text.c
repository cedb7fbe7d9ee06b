/* Models that are made or can be read only once: standard input, and networks that BNG2.pl writes.
 * A sweep loads its model on every worker. */
#include "cli/cli.h"

#include <pthread.h>
#include <string.h>

bool saltus_cli_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

static saltus_archive *archive;

void saltus_cli_read_through(saltus_archive *through)
{
    archive = through;
}

saltus_archive *saltus_cli_archive(void)
{
    return archive;
}

/* A command has one model, so one text is kept, until the process ends, if not by the archive. */
static saltus_status get_text(const char *path, const char **text, size_t *size, saltus_error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static char *all;
    static size_t n;
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_lock(&one_at_a_time);
    const char *kept = saltus_archive_get(archive, path, size);
    if (!kept && !all) {
        status = saltus_cli_is_stdin(path) ? saltus_text_read(path, &all, &n, err)
                                           : saltus_cli_read_bngl(path, &all, &n, err);
        if (status == SALTUS_OK && archive) {
            status = saltus_archive_add(archive, path, all, n, err);
        }
    }
    *text = kept ? kept : all;
    *size = kept ? *size : n;
    (void)pthread_mutex_unlock(&one_at_a_time);
    return status;
}

saltus_status saltus_cli_read_model(const char *path, const saltus_read_options *options,
                                    saltus_model **model, saltus_error *err)
{
    char name[300] = "stdin";
    const char *text;
    size_t size;
    if (saltus_cli_is_bngl(path)) { /* whose lines are not those of the file */
        (void)snprintf(name, sizeof name, "%.280s's network", path);
    } else if (!saltus_cli_is_stdin(path)) {
        return saltus_model_read_with(path, options, model, err);
    }
    const saltus_status status = get_text(path, &text, &size, err);
    return status == SALTUS_OK ? saltus_model_parse_with(text, size, name, options, model, err)
                               : status;
}
