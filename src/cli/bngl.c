/* Models in BioNetGen's language: BNG2.pl writes their network, which is what is simulated. It runs
 * in a folder of its own, and nothing of it is left when this process ends, by a signal too. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = "BNG2.pl", model_file[] = "model.bngl", network_file[] = "model.net",
                  messages_file[] = "messages";

bool saltus_cli_is_bngl(const char *path)
{
    const size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".bngl") == 0;
}

/* ---- where the program is ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* FOLDER/BNG2.pl, which may go up to a colon; NULL: it is not there, or memory ran out. */
static char *look_in(const char *folder, size_t n)
{
    char *path = calloc(n + sizeof program + 3, 1);
    if (!path) {
        return NULL;
    }
    (void)sprintf(path, "%.*s%s%s", (int)n, folder, n > 0 ? "/" : "./", program);
    char *absolute = is_program(path) ? realpath(path, NULL) : NULL; /* it runs in another folder */
    free(path);
    return absolute;
}

static char *find_program(void)
{
    const char *home = getenv("BNGPATH"), *folders = getenv("PATH");
    char *found = home && home[0] ? look_in(home, strlen(home)) : NULL;
    while (!found && folders && folders[0]) {
        const size_t n = strcspn(folders, ":");
        found = look_in(folders, n);
        folders += n + (folders[n] == ':');
    }
    return found;
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    (void)remove(path);
    return 0;
}

static saltus_status make_folder(char **folder, saltus_error *err)
{
    static const char name[] = "/saltus-bngl-XXXXXX";
    saltus_status status = SALTUS_OK;
    const char *in = getenv("TMPDIR");
    in = in && in[0] ? in : "/tmp";
    char *made = calloc(strlen(in) + sizeof name, 1);
    SALTUS_CLI_NEED(made);
    (void)sprintf(made, "%s%s", in, name);
    if (!mkdtemp(made)) {
        (void)snprintf(err->hint, sizeof err->hint, "TMPDIR names another");
        SALTUS_CLI_FAIL(SALTUS_E_IO, "no temporary folder can be made in %.400s: %s", in,
                        strerror(errno));
    }
    *folder = realpath(made, NULL);
    if (!*folder) {
        (void)rmdir(made);
    }
    SALTUS_CLI_NEED(*folder);
done:
    free(made);
    return status;
}

/* FOLDER/NAME, to be freed; NULL: memory ran out. */
static char *path_in(const char *folder, const char *name)
{
    char *path = calloc(strlen(folder) + strlen(name) + 2, 1);
    if (path) {
        (void)sprintf(path, "%s/%s", folder, name);
    }
    return path;
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char *path = path_in(folder, name);
    FILE *f = path ? fopen(path, mode) : NULL;
    free(path);
    return f;
}

/* ---- what it is to do ---- */

static bool starts(const char *line, const char *word)
{
    line += strspn(line, " \t");
    return strncmp(line, word, strlen(word)) == 0;
}

/* What follows on this line, and on those after it that end in a backslash. */
static size_t whole_line(const char *line)
{
    size_t n = strcspn(line, "\n");
    while (line[n] && n > 0 &&
           (line[n - 1] == '\\' || (line[n - 1] == '\r' && n > 1 && line[n - 2] == '\\'))) {
        n += 1 + strcspn(line + n + 1, "\n");
    }
    return n + (line[n] == '\n');
}

/* An action, such as simulate({…}): a name and a parenthesis outside of blocks. What configures
 * stays, and so does how the network is made. */
static bool is_other_action(const char *line, bool *makes_network)
{
    static const char *const kept[] = {"version", "substanceUnits", "setModelName", "setOption"};
    line += strspn(line, " \t");
    const size_t n =
        strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n == 0 || line[n + strspn(line + n, " \t")] != '(') {
        return false;
    }
    if (starts(line, "generate_network")) {
        *makes_network = true;
        return false;
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i) {
        if (strlen(kept[i]) == n && starts(line, kept[i])) {
            return false;
        }
    }
    return true;
}

/* The model without its actions but generate_network. */
static void write_model(const char *text, FILE *out)
{
    bool makes_network = false, is_actions = false;
    int depth = 0;
    for (size_t n; *text; text += n) {
        n = whole_line(text);
        if (starts(text, "begin actions") || starts(text, "end actions")) {
            is_actions = starts(text, "begin");
            continue;
        }
        const bool is_model = starts(text, "begin model") || starts(text, "end model");
        depth += is_model ? 0 : starts(text, "begin ") ? 1 : starts(text, "end ") ? -1 : 0;
        if (depth > 0 ||
            (!is_other_action(text, &makes_network) && (!is_actions || makes_network))) {
            (void)fwrite(text, 1, n, out);
        }
    }
    (void)fprintf(out, "%s", makes_network ? "\n" : "\ngenerate_network({overwrite=>1})\n");
}

static saltus_status put_model(const char *path, const char *folder, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL;
    size_t size = 0;
    FILE *out = NULL;
    bool failed;
    SALTUS_CLI_TRY(saltus_text_read(path, &text, &size, err));
    out = open_in(folder, model_file, "w");
    if (!out) {
        SALTUS_CLI_FAIL(SALTUS_E_IO, "%.300s: %s", folder, strerror(errno));
    }
    write_model(text, out);
    failed = ferror(out) != 0;
    failed |= fclose(out) != 0;
    if (failed) {
        SALTUS_CLI_FAIL(SALTUS_E_IO, "%.300s/%s: writing failed", folder, model_file);
    }
done:
    saltus_text_free(text);
    return status;
}

/* ---- running it ---- */

/* In a group of its own, so that what it starts can be ended with it. The shell goes to the folder:
 * before glibc 2.29 posix_spawn cannot. */
static int spawn(const char *found, const char *folder, const sigset_t *mask, pid_t *child)
{
    static const char shell[] = "/bin/sh";
    const char *const arguments[] = {
        shell,         "-c",  "cd -- \"$0\" && exec \"$1\" \"$2\" >\"$3\" 2>&1",
        folder,        found, model_file,
        messages_file, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem) {
        return problem;
    }
    problem = posix_spawnattr_init(&attributes);
    if (problem) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return problem;
    }
    (void)sigfillset(&defaults);
    (void)sigdelset(&defaults, SIGHUP); /* as under nohup */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigmask(&attributes, mask);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    problem = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!problem) {
        problem =
            posix_spawn(child, shell, &actions, &attributes, (char *const *)arguments, environ);
    }
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* The signals that end this process, and news of its child: those of a run (run_signals.c), also in
 * a shell's background, which ignores SIGINT. */
static void choose_signals(sigset_t *set)
{
    struct sigaction action;
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    if (sigaction(SIGHUP, NULL, &action) == 0 &&
        action.sa_handler != SIG_IGN) { /* as under nohup */
        (void)sigaddset(set, SIGHUP);
    }
}

/* Wait for the child's end; the signal that ended it and is to end this process, or 0. */
static int wait_for(pid_t child, const sigset_t *set, int *ended)
{
    const struct timespec moment = {.tv_nsec = 100000000}; /* should news be lost */
    int signal_number = 0;
    for (;;) {
        const pid_t got = waitpid(child, ended, signal_number ? 0 : WNOHANG);
        if (got == child || (got < 0 && errno != EINTR)) {
            return signal_number;
        }
        const int number = signal_number ? 0 : sigtimedwait(set, NULL, &moment);
        if (number > 0 && number != SIGCHLD) {
            signal_number = number;
            (void)kill(-child, SIGKILL);
        }
    }
}

/* Its last lines, as they are. */
static void show_messages(const char *folder)
{
    enum { MOST = 3000 };
    char text[MOST + 1];
    FILE *f = open_in(folder, messages_file, "r");
    if (!f) {
        return;
    }
    (void)fseek(f, 0, SEEK_END);
    const bool is_long = ftell(f) > MOST;
    (void)fseek(f, is_long ? -MOST : 0, is_long ? SEEK_END : SEEK_SET);
    text[fread(text, 1, MOST, f)] = '\0';
    const char *line = is_long ? strchr(text, '\n') : NULL;
    for (const char *c = line ? line + 1 : text; *c; ++c) { /* a terminal obeys other characters */
        fputc((unsigned char)*c >= ' ' || *c == '\n' || *c == '\t' ? *c : ' ', stderr);
    }
    (void)fclose(f);
}

static saltus_status make_network(const char *path, const char *found, const char *folder,
                                  int *signal_number, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    sigset_t set, before;
    pid_t child = 0;
    int ended = 0;
    choose_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, &before);
    const int problem = spawn(found, folder, &before, &child);
    *signal_number = problem ? 0 : wait_for(child, &set, &ended);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem) {
        SALTUS_CLI_FAIL(SALTUS_E_IO, "%.300s: cannot be run: %s", found, strerror(problem));
    }
    if (*signal_number == 0 && (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)) {
        show_messages(folder);
        SALTUS_CLI_FAIL(SALTUS_E_MODEL, "%.300s: %s made no network of it: it ended with %s %d",
                        path, program, WIFEXITED(ended) ? "code" : "signal",
                        WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
    }
done:
    return status;
}

static saltus_status take_network(const char *path, const char *folder, char **text, size_t *size,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *network = path_in(folder, network_file);
    SALTUS_CLI_NEED(network);
    if (access(network, R_OK) != 0) {
        show_messages(folder);
        SALTUS_CLI_FAIL(SALTUS_E_MODEL, "%.300s: %s ended well, but has written no network", path,
                        program);
    }
    SALTUS_CLI_TRY(saltus_text_read(network, text, size, err));
done:
    free(network);
    return status;
}

saltus_status saltus_cli_read_bngl(const char *path, char **text, size_t *size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *folder = NULL, *found = find_program();
    int signal_number = 0;
    if (!found) {
        (void)snprintf(
            err->hint, sizeof err->hint,
            "set BNGPATH to its folder (BioNetGen is at bionetgen.org), or make the .net "
            "elsewhere with generate_network({overwrite=>1})");
        SALTUS_CLI_FAIL(SALTUS_E_UNAVAILABLE,
                        "%.300s: BioNetGen's %s makes networks of such files, and is neither in "
                        "BNGPATH nor in PATH",
                        path, program);
    }
    SALTUS_CLI_TRY(make_folder(&folder, err));
    SALTUS_CLI_TRY(put_model(path, folder, err));
    SALTUS_CLI_TRY(make_network(path, found, folder, &signal_number, err));
    if (signal_number == 0) {
        SALTUS_CLI_TRY(take_network(path, folder, text, size, err));
    }
done:
    if (folder) {
        (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    free(folder);
    free(found);
    if (signal_number) { /* as if it had come now */
        (void)raise(signal_number);
        status = saltus_cli_fail(err, SALTUS_E_CANCELLED, "%.300s: interrupted", path);
    }
    return status;
}
