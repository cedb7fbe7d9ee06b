#include "core/beside.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file that this was loaded from. Of a program only the kernel knows it for sure: its own
 * arguments may hold a bare name or a link. */
static void name_self(char path[SALTUS_PATH_ROOM])
{
    Dl_info info;
    void *extra = NULL;
    path[0] = '\0';
    if (dladdr1(__extension__(void *) saltus_beside, &info, &extra, RTLD_DL_LINKMAP) == 0) {
        return;
    }
    const struct link_map *map = extra;
    if (map->l_name[0]) {
        (void)snprintf(path, SALTUS_PATH_ROOM, "%s", map->l_name);
    } else {
        const ssize_t n = readlink("/proc/self/exe", path, SALTUS_PATH_ROOM - 1);
        path[n > 0 ? n : 0] = '\0';
    }
}

void saltus_beside(const char *file, char path[SALTUS_PATH_ROOM])
{
    name_self(path);
    char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : 0, size = strlen(file) + 1;
    if (folder == 0 || folder + size > SALTUS_PATH_ROOM) {
        path[0] = '\0';
        return;
    }
    memcpy(path + folder, file, size);
}

bool saltus_beside_package(const char *pattern, char path[SALTUS_PATH_ROOM])
{
    static const char *const packages[] = {"../", "../lib*/python3*/*-packages/"};
    char folder[SALTUS_PATH_ROOM], all[3 * SALTUS_PATH_ROOM];
    size_t n = 0;
    bool found = false;
    saltus_beside("", folder);
    for (const char *c = folder; *c; ++c) { /* no pattern, whatever it is called */
        if (strchr("*?[\\", *c)) {
            all[n++] = '\\';
        }
        all[n++] = *c;
    }
    for (size_t i = 0; n > 0 && !found && i < sizeof packages / sizeof *packages; ++i) {
        glob_t names;
        (void)snprintf(all + n, sizeof all - n, "%s%s", packages[i], pattern);
        if (glob(all, 0, NULL, &names) == 0) {
            found = strlen(names.gl_pathv[0]) < SALTUS_PATH_ROOM;
            (void)snprintf(path, SALTUS_PATH_ROOM, "%s", found ? names.gl_pathv[0] : "");
        }
        globfree(&names);
    }
    if (!found) {
        path[0] = '\0';
    }
    return found;
}
