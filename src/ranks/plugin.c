#include "ranks/plugin.h"

#include "core/beside.h"

#include <dlfcn.h>
#include <saltus_plugins.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "libsaltus-mpi.so"

saltus_status saltus_plugin_open(const saltus_transport **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_transport_find *find = NULL;
    const char *given = getenv("SALTUS_MPI");
    char beside[SALTUS_PATH_ROOM], below[SALTUS_PATH_ROOM];
    void *library = NULL;
    saltus_beside(FILE_NAME, beside);
    saltus_beside("saltus/" FILE_NAME, below);
    const char *const paths[] = {beside, below, SALTUS_PLUGINS "/" FILE_NAME};
    if (given && given[0]) {
        library = dlopen(given, RTLD_NOW | RTLD_GLOBAL); /* MPI's own parts look for its names */
    }
    for (size_t i = 0; !(given && given[0]) && !library && i < 3; ++i) {
        library = access(paths[i], R_OK) == 0 ? dlopen(paths[i], RTLD_NOW | RTLD_GLOBAL) : NULL;
    }
    if (!library) {
        const char *why = dlerror();
        status = saltus_error_set(err, SALTUS_E_UNAVAILABLE, "the plug-in for MPI is not here: %s",
                                  why ? why : FILE_NAME " was not built or not installed");
        saltus_error_hint(err, "install MPI's headers (libopenmpi-dev) and build again, or name it "
                               "in SALTUS_MPI");
        goto done;
    }
    void *address = dlsym(library, SALTUS_TRANSPORT_SYMBOL);
    memcpy(&find, &address, sizeof find); /* C has no cast from data to functions */
    if (!find || find()->version < SALTUS_TRANSPORT_VERSION) {
        SALTUS_FAIL(SALTUS_E_UNAVAILABLE, "the plug-in for MPI is of another version of Saltus");
    }
    *out = find();
done:
    return status;
}
