#include "core/limits.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE = 4096 + 4096 + 512 };

/* A hierarchy of groups: where it is mounted, and which of its groups the mount shows as its top.
 */
typedef struct hierarchy {
    bool found, is_second; /* version 2 */
    char top[4096], mount[4096];
} hierarchy;

static FILE *open_below(const char *root, const char *path)
{
    char full[LINE];
    const int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

/* Whether a comma-separated list holds a word. */
static bool holds(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, n) == 0 && (at[n] == '\0' || at[n] == ',' || at[n] == '\n')) {
            return true;
        }
    }
    return false;
}

/* Blanks and the like stand in mountinfo as \040. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; ++to) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Where the hierarchy of a controller is mounted; of version 2, that of all. A line is "36 35 98:0
 * TOP MOUNT OPTIONS … - TYPE SOURCE OPTIONS". */
static hierarchy find_mount(const char *root, const char *controller)
{
    hierarchy h = {0}, candidate = {0};
    char line[LINE], type[64], options[512];
    FILE *in = open_below(root, "/proc/self/mountinfo");
    while (in && !h.found && fgets(line, sizeof line, in)) {
        const char *rest = strstr(line, " - ");
        if (!rest ||
            sscanf(line, "%*s %*s %*s %4095s %4095s", candidate.top, candidate.mount) != 2 ||
            sscanf(rest, " - %63s %*s %511s", type, options) != 2) {
            continue;
        }
        candidate.is_second = strcmp(type, "cgroup2") == 0;
        candidate.found = controller ? strcmp(type, "cgroup") == 0 && holds(options, controller)
                                     : candidate.is_second;
        h = candidate.found ? candidate : h;
    }
    if (in) {
        (void)fclose(in);
    }
    unescape(h.top);
    unescape(h.mount);
    return h;
}

/* The group of this process: a line is "4:memory:/a/b", of version 2 "0::/a/b". */
static bool find_group(const char *root, const char *controller, char group[4096])
{
    char line[LINE];
    bool found = false;
    FILE *in = open_below(root, "/proc/self/cgroup");
    while (in && !found && fgets(line, sizeof line, in)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) {
            continue;
        }
        *path++ = '\0';
        found = controller ? holds(list + 1, controller) : strncmp(line, "0:", 2) == 0 && !list[1];
        if (found) {
            (void)snprintf(group, 4096, "%.*s", (int)strcspn(path, "\n"), path);
        }
    }
    if (in) {
        (void)fclose(in);
    }
    return found;
}

static bool read_text(const char *root, const char *folder, const char *name, char text[100])
{
    char path[LINE];
    (void)snprintf(path, sizeof path, "%.4300s/%s", folder, name);
    FILE *in = open_below(root, path);
    const bool read = in && fgets(text, 100, in);
    if (in) {
        (void)fclose(in);
    }
    return read;
}

/* A number; -1 for "max" or nothing. */
static double number_in(const char *root, const char *folder, const char *name)
{
    char text[100], *end;
    if (!read_text(root, folder, name, text)) {
        return -1.0;
    }
    const double value = strtod(text, &end);
    return end > text ? value : -1.0;
}

static void take_memory(const char *root, const char *folder, bool is_second, saltus_limits *l)
{
    const double bytes =
        number_in(root, folder, is_second ? "memory.max" : "memory.limit_in_bytes");
    if (bytes >= 0.0 && bytes < 0x1p62) { /* version 1 has a number for no limit */
        l->memory = fmin(l->memory, bytes);
    }
}

static void take_cores(const char *root, const char *folder, bool is_second, saltus_limits *l)
{
    double quota = -1.0, period = -1.0;
    char text[100];
    if (is_second) {
        if (read_text(root, folder, "cpu.max", text) &&
            sscanf(text, "%lf %lf", &quota, &period) != 2) {
            return; /* "max 100000" */
        }
    } else {
        quota = number_in(root, folder, "cpu.cfs_quota_us");
        period = number_in(root, folder, "cpu.cfs_period_us");
    }
    if (quota > 0.0 && period > 0.0) {
        l->cores = fmin(l->cores, quota / period);
    }
}

/* From this process's group up to the one at the mount point. */
static void take_all(const char *root, const char *controller,
                     void (*take)(const char *, const char *, bool, saltus_limits *),
                     saltus_limits *l)
{
    char group[4096], folder[LINE];
    const hierarchy h = find_mount(root, controller);
    if (!h.found || !find_group(root, controller, group)) {
        return;
    }
    const size_t n_top = strcmp(h.top, "/") == 0 ? 0 : strlen(h.top);
    const bool is_below = strncmp(group, h.top, n_top) == 0 && strchr("/", group[n_top]) &&
                          strncmp(group, "/..", 3) != 0;
    (void)snprintf(folder, sizeof folder, "%s%s", h.mount, is_below ? group + n_top : "");
    for (const size_t least = strlen(h.mount); strlen(folder) > least;) {
        take(root, folder, h.is_second, l);
        *strrchr(folder, '/') = '\0';
    }
    take(root, h.mount, h.is_second, l);
}

saltus_limits saltus_group_limits(const char *root)
{
    saltus_limits l = {.memory = (double)INFINITY, .cores = (double)INFINITY};
    take_all(root, NULL, take_memory, &l);
    take_all(root, NULL, take_cores, &l);
    take_all(root, "memory", take_memory, &l);
    take_all(root, "cpu", take_cores, &l);
    return l;
}

static saltus_limits own; /* this process's */

static void read_own(void)
{
    own = saltus_group_limits("");
}

/* Read once: that takes 100 us, as long as a small run. */
static const saltus_limits *own_limits(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_own);
    return &own;
}

double saltus_memory_most(bool *is_limit)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const double machine = pages > 0 && page > 0 ? (double)pages * (double)page : (double)INFINITY;
    double most = fmin(machine, own_limits()->memory);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        most = fmin(most, (double)limit.rlim_cur);
    }
    *is_limit = most < machine;
    return most;
}

int saltus_cores(void)
{
    cpu_set_t set;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    double n = online > 0 ? (double)online : 1.0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        n = CPU_COUNT(&set);
    }
    n = fmin(n, ceil(own_limits()->cores));
    return n > 1.0 ? (int)n : 1;
}
