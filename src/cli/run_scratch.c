/* saltus run: a file for results when none was named. It is read back for the summary and removed.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

saltus_status saltus_cli_make_scratch(char **path, saltus_error *err)
{
    static const char name[] = "/saltus-XXXXXX";
    const char *folder = getenv("TMPDIR");
    folder = folder && folder[0] ? folder : "/tmp";
    const size_t size = strlen(folder) + sizeof name;
    char *made = malloc(size);
    if (!made) {
        err->code = SALTUS_E_NO_MEMORY;
        (void)snprintf(err->message, sizeof err->message, "memory ran out");
        return err->code;
    }
    (void)snprintf(made, size, "%s%s", folder, name);
    const int fd = mkstemp(made);
    if (fd < 0 || close(fd) != 0) {
        err->code = SALTUS_E_IO;
        (void)snprintf(err->message, sizeof err->message,
                       "no temporary file can be made in %.400s: %s", folder, strerror(errno));
        (void)snprintf(err->hint, sizeof err->hint,
                       "TMPDIR names the folder; with -o FILE.h5 none is needed");
        if (fd >= 0) {
            (void)unlink(made);
        }
        free(made);
        return err->code;
    }
    saltus_cli_remove_at_end(made);
    *path = made;
    return SALTUS_OK;
}

void saltus_cli_remove_scratch(char *path)
{
    if (path) {
        (void)unlink(path);
        saltus_cli_remove_at_end(NULL);
        free(path);
    }
}
