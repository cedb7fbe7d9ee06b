#include "write/hdf5/disk.h"

#include "core/memory.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <math.h>
#include <string.h>

enum { MOST_PACKED = 20, DEFLATE_MOST = 1032 };

double saltus_disk_free(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = saltus_strdup(slash ? path : ".");
    struct statvfs disk;
    struct stat st;
    double bytes = (double)INFINITY;
    if (folder && slash) {
        folder[slash == path ? 1 : slash - path] = '\0';
    }
    if (folder && statvfs(folder, &disk) == 0 && disk.f_blocks > 0) {
        bytes = (double)disk.f_bavail * (double)disk.f_frsize;
        bytes += stat(path, &st) == 0 && S_ISREG(st.st_mode) ? 512.0 * (double)st.st_blocks : 0.0;
    }
    saltus_free(folder);
    return bytes;
}

/* "8e+12 bytes (7.28 TiB)" */
static const char *say(double bytes, char text[60])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double x = bytes / 1024.0;
    int u = 0;
    for (; x >= 1024.0 && u < 5; ++u) {
        x /= 1024.0;
    }
    (void)snprintf(text, 60, bytes < 1e15 ? "%.0f bytes (%.3g %s)" : "%.3e bytes (%.3g %s)", bytes,
                   x, units[u]);
    return text;
}

saltus_status saltus_disk_check(const char *path, const saltus_disk_need *need,
                                saltus_compress compress, double free, saltus_error *err)
{
    const double all = need->plain + need->packed + need->sparse;
    const double factor = compress == SALTUS_COMPRESS_NONE   ? 1.0
                          : compress == SALTUS_COMPRESS_FAST ? MOST_PACKED
                                                             : DEFLATE_MOST;
    const bool is_packed = factor > 1.0 || need->sparse > 0.0;
    char wanted[60], there[60];
    if (need->plain + need->packed / factor + need->sparse / DEFLATE_MOST <= free) {
        return SALTUS_OK;
    }
    (void)saltus_error_set(
        err, SALTUS_E_INVALID, "%.300s: the results take %s%s, and %s are free on this disk", path,
        say(all, wanted), is_packed ? " before they are packed" : "", say(free, there));
    saltus_error_hint(err,
                      "`record stats` keeps means and deviations alone; or ask for fewer times "
                      "(`times`) or fewer columns (`columns`)%s",
                      factor == MOST_PACKED
                          ? "; `compress small` is refused only what cannot fit in any case"
                          : "");
    return SALTUS_E_INVALID;
}

bool saltus_disk_doubt(const char *path, const saltus_disk_need *need, double free,
                       char text[SALTUS_DOUBT_SIZE])
{
    char wanted[60], there[60];
    if (need->plain + need->packed <= free) {
        return false;
    }
    (void)snprintf(text, SALTUS_DOUBT_SIZE,
                   "%.100s: the results take %s before they are packed, and %s are free on this "
                   "disk: they may not fit",
                   path, say(need->plain + need->packed, wanted), say(free, there));
    return true;
}
