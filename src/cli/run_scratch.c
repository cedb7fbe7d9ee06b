/* saltus run: a file for results when none was named, or a table was. It is read back and removed.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

saltus_status saltus_cli_make_scratch(const char *beside, char **path, saltus_error *err)
{
    static const char name[] = "/saltus-XXXXXX", behind[] = ".h5-XXXXXX";
    const char *folder = getenv("TMPDIR");
    folder = beside ? beside : folder && folder[0] ? folder : "/tmp";
    const size_t size = strlen(folder) + sizeof name;
    char *made = malloc(size);
    if (!made) {
        return saltus_cli_fail(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    (void)snprintf(made, size, "%s%s", folder, beside ? behind : name);
    const int fd = saltus_cli_make_file(made);
    if (fd < 0 || close(fd) != 0) {
        (void)saltus_cli_fail(err, SALTUS_E_IO, "no temporary file can be made %s %.400s: %s",
                              beside ? "beside" : "in", folder, strerror(errno));
        (void)snprintf(err->hint, sizeof err->hint, "%swith -o FILE.h5 none is needed",
                       beside ? "" : "TMPDIR names the folder; ");
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
        saltus_cli_forget(path);
        free(path);
    }
}
