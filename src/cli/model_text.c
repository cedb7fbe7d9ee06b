/* Models that come on standard input. A sweep loads its model on every worker, and input can be
 * read only once. */
#include "cli/cli.h"

#include "core/file.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

bool saltus_cli_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

static saltus_status read_stdin(const char **text, size_t *size, saltus_error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static char *all; /* stays until the process ends */
    static size_t n;
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (!all) {
        status = saltus_read_all(STDIN_FILENO, "stdin", &all, &n, err);
    }
    *text = all;
    *size = n;
    (void)pthread_mutex_unlock(&one_at_a_time);
    return status;
}

saltus_status saltus_cli_read_model(const char *path, const saltus_read_options *options,
                                    saltus_model **model, saltus_error *err)
{
    const char *text;
    size_t size;
    if (!saltus_cli_is_stdin(path)) {
        return saltus_model_read_with(path, options, model, err);
    }
    const saltus_status status = read_stdin(&text, &size, err);
    return status == SALTUS_OK ? saltus_model_parse_with(text, size, "stdin", options, model, err)
                               : status;
}
