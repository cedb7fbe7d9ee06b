/* Names of outputs, and tables that appear under theirs whole or not at all. */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands behind the last dot of a name; NULL where that is no letter, as in "k=0.5". */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const bool is_letter =
        dot && ((dot[1] >= 'a' && dot[1] <= 'z') || (dot[1] >= 'A' && dot[1] <= 'Z'));
    return is_letter && dot > name ? dot + 1 : NULL;
}

static bool is_one_of(const char *ending, const char *const *list)
{
    while (*list && strcasecmp(ending, *list) != 0) {
        ++list;
    }
    return *list;
}

saltus_cli_format saltus_cli_format_of(const char *path)
{
    static const char *const hdf5[] = {"h5", "hdf5", "he5", NULL}, *const csv[] = {"csv", NULL};
    const char *ending = ending_of(path);
    return !ending || is_one_of(ending, hdf5) ? SALTUS_CLI_HDF5
           : is_one_of(ending, csv)           ? SALTUS_CLI_CSV
                                              : SALTUS_CLI_UNKNOWN;
}

bool saltus_cli_is_table(const char *path)
{
    static const char *const text[] = {"csv", "txt", NULL};
    const char *ending = ending_of(path);
    return !ending || is_one_of(ending, text);
}

bool saltus_cli_is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool saltus_cli_is_stdout(const char *path)
{
    struct stat x, y;
    return stat(path, &x) == 0 && fstat(STDOUT_FILENO, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

saltus_status saltus_cli_check_trace(const saltus_cli_run_arguments *a, saltus_error *err)
{
    static const char *const endings[] = {"", ".new", ".checkpoint", ".checkpoint.new", ".xdmf"};
    const size_t n = a->output ? strlen(a->output) : 0;
    char *name = malloc(n + sizeof ".checkpoint.new");
    saltus_status status = SALTUS_OK;
    if (!name) {
        return saltus_cli_fail(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings && n > 0 && status == SALTUS_OK; ++i) {
        const char *dot = strcmp(endings[i], ".xdmf") == 0 ? strrchr(a->output, '.') : NULL;
        (void)sprintf(name, "%.*s%s", (int)(dot ? (size_t)(dot - a->output) : n), a->output,
                      endings[i]);
        if (saltus_cli_is_same_file(a->trace, name)) {
            status = saltus_cli_fail(err, SALTUS_E_INVALID,
                                     "--trace '%.400s': that is a file of the results", a->trace);
        }
    }
    free(name);
    return status;
}

static saltus_status fail(const saltus_cli_table *t, const char *what, int problem,
                          saltus_error *err)
{
    return saltus_cli_fail(err, SALTUS_E_IO, "%.400s: %s%s%s", t->path, what, problem ? ": " : "",
                           problem ? strerror(problem) : "");
}

int saltus_cli_make_file(char *pattern)
{
    const int fd = mkstemp(pattern);
    const mode_t mask = umask(0);
    (void)umask(mask);
    if (fd >= 0) {
        (void)fchmod(fd, 0666 & ~mask);
    }
    return fd;
}

/* Whether something may be put under this name. */
static saltus_status check_target(saltus_cli_table *t, bool overwrite, saltus_error *err)
{
    struct stat st;
    t->replaces = overwrite;
    if (stat(t->path, &st) != 0) {
        return errno != ENOENT            ? fail(t, "cannot be written", errno, err)
               : lstat(t->path, &st) == 0 ? fail(t, "is a link to no file", 0, err)
                                          : SALTUS_OK;
    }
    if (S_ISDIR(st.st_mode)) {
        return fail(t, "cannot be written", EISDIR, err);
    }
    if (!S_ISREG(st.st_mode)) {
        return fail(t, "exists and is no regular file", 0, err);
    }
    if (st.st_size > 0 && !overwrite) {
        (void)fail(t, "exists", 0, err);
        (void)snprintf(err->hint, sizeof err->hint, "--overwrite replaces it");
        return err->code;
    }
    t->replaces = true;
    return SALTUS_OK;
}

saltus_status saltus_cli_open_table(const char *path, bool overwrite, saltus_cli_table *t,
                                    saltus_error *err)
{
    static const char behind[] = ".XXXXXX";
    *t = (saltus_cli_table){.path = path};
    saltus_status status = check_target(t, overwrite, err);
    if (status != SALTUS_OK) {
        return status;
    }
    t->target = realpath(path, NULL); /* a link stays one */
    if (!t->target && errno == ENOENT) {
        t->target = strdup(path);
    }
    const size_t size = t->target ? strlen(t->target) + sizeof behind : 1;
    t->temporary = t->target ? malloc(size) : NULL;
    int fd = -1;
    if (t->temporary) {
        (void)snprintf(t->temporary, size, "%s%s", t->target, behind);
        fd = saltus_cli_make_file(t->temporary);
    }
    if (fd < 0) {
        status = fail(t, "cannot be written", errno, err);
        free(t->temporary);
        t->temporary = NULL;
        (void)saltus_cli_close_table(t, false, err);
        return status;
    }
    saltus_cli_remove_at_end(t->temporary);
    t->out = fdopen(fd, "w");
    if (!t->out) {
        status = fail(t, "cannot be written", errno, err);
        (void)close(fd);
        (void)saltus_cli_close_table(t, false, err);
    }
    return status;
}

/* A file that has come under the name meanwhile stays. */
static int publish(const saltus_cli_table *t)
{
    if (!t->replaces) {
        if (renameat2(AT_FDCWD, t->temporary, AT_FDCWD, t->target, RENAME_NOREPLACE) == 0) {
            return 0;
        }
        if (errno != EINVAL && errno != ENOSYS) { /* file systems that cannot */
            return errno;
        }
    }
    return rename(t->temporary, t->target) == 0 ? 0 : errno;
}

saltus_status saltus_cli_close_table(saltus_cli_table *t, bool keep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bool is_there = false;
    if (t->out) {
        errno = 0;
        int problem = ferror(t->out) ? EIO : fflush(t->out) == 0 ? 0 : errno;
        if (fclose(t->out) != 0 && !problem) { /* a full disk can show up only here */
            problem = errno;
        }
        problem = problem || !keep ? problem : publish(t);
        is_there = keep && (problem == 0 || problem == EEXIST);
        if (keep && problem) {
            status = fail(t, "cannot be written", problem, err);
        }
        if (keep && problem == EEXIST) {
            (void)snprintf(err->hint, sizeof err->hint, "it has come meanwhile; all is in %.400s",
                           t->temporary);
        }
    }
    if (t->temporary && !is_there) {
        (void)unlink(t->temporary);
    }
    saltus_cli_forget(t->temporary);
    free(t->temporary);
    free(t->target);
    *t = (saltus_cli_table){0};
    return status;
}

void saltus_cli_name_table(const char *path, saltus_error *err)
{
    static const char nameless[] = "the output:";
    char message[sizeof err->message];
    if (strncmp(err->message, nameless, sizeof nameless - 1) == 0) {
        (void)snprintf(message, sizeof message, "%.400s:%.150s", path,
                       err->message + sizeof nameless - 1);
        memcpy(err->message, message, sizeof message);
    }
}

saltus_status saltus_cli_open_output(const saltus_cli_run_arguments *a, saltus_cli_table *table,
                                     char **scratch, saltus_error *err)
{
    const bool is_table = a->output && a->format == SALTUS_CLI_CSV;
    saltus_status status = SALTUS_OK;
    if (is_table) {
        status = saltus_cli_open_table(a->output, a->overwrite, table, err);
    }
    return status == SALTUS_OK && (is_table || !a->output)
               ? saltus_cli_make_scratch(is_table ? a->output : NULL, scratch, err)
               : status;
}

/* Trajectories, statistics or histograms: what was recorded. */
static saltus_status print_record(const saltus_results *results, saltus_record record, FILE *out,
                                  saltus_error *err)
{
    return record == SALTUS_RECORD_STATS       ? saltus_results_print_stats(results, out, err)
           : record == SALTUS_RECORD_HISTOGRAM ? saltus_results_print_histograms(results, out, err)
                                               : saltus_results_print_csv(results, out, err);
}

saltus_status saltus_cli_convert(const char *file, saltus_record record, saltus_cli_table *t,
                                 saltus_error *err)
{
    saltus_results *results = NULL;
    saltus_error close_err = {0};
    saltus_status status = saltus_results_open(file, &results, err);
    if (status == SALTUS_OK) {
        status = print_record(results, record, t->out, err);
    }
    saltus_results_close(results);
    saltus_cli_name_table(t->path, err);
    const saltus_status closed = saltus_cli_close_table(t, status == SALTUS_OK, &close_err);
    if (status == SALTUS_OK && closed != SALTUS_OK) {
        *err = close_err;
    }
    return status == SALTUS_OK ? closed : status;
}
