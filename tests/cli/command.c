#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

const char decay_model[] = "model: decay\n"
                           "species: {A: 100, B: 0}\n"
                           "parameters: {k: 1, twice: 2*k}\n"
                           "rules: {share: A/(A + B)}\n"
                           "reactions:\n"
                           "  there: A -> B @ k\n"
                           "  back: B -> A @ twice*0.1\n";
const char tiny_lattice[] = "species: {A: 30, B: 0}\n"
                            "reactions:\n"
                            "  there: A -> B @ 1\n"
                            "lattice:\n"
                            "  size: [4, 4, 8]\n"
                            "  spacing: 100 nm\n"
                            "  step: 10 ms\n"
                            "  diffusion: {A: 0.1 um2/s, B: 0}\n";

static const char busy_model[] = "species: {A: 200, B: 0}\n"
                                 "reactions:\n"
                                 "  there: A -> B @ 1\n"
                                 "  back: B -> A @ 1\n";

static char home[4096], directory[4200];
static outcome last;
static bool careful; /* a result is not written over another */

int enter_directory(void **state)
{
    (void)state;
    if (!home[0] && !getcwd(home, sizeof home)) {
        return -1;
    }
    (void)snprintf(directory, sizeof directory, "%s/command-XXXXXX", home);
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

int leave_directory(void **state)
{
    char line[4300];
    (void)state;
    careful = false;
    free(last.out);
    free(last.err);
    last = (outcome){0};
    (void)snprintf(line, sizeof line, "rm -rf '%s'", directory);
    return chdir(home) == 0 && system(line) == 0 ? 0 : -1;
}

char *read_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    size_t n = 0, capacity = 4096;
    char *text = malloc(capacity);
    if (!f) {
        free(text);
        return NULL;
    }
    for (size_t got; (got = fread(text + n, 1, capacity - n - 1, f)) > 0;) {
        n += got;
        if (capacity - n < 2) {
            text = realloc(text, capacity *= 2);
        }
    }
    text[n] = '\0';
    (void)fclose(f);
    return text;
}

void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

bool file_exists(const char *name)
{
    struct stat s;
    return lstat(name, &s) == 0;
}

double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void keep_results(void)
{
    careful = true;
}

static pid_t start(const char *format, va_list args)
{
    char line[2000];
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, line, NULL};
    posix_spawn_file_actions_t files;
    pid_t child = 0;
    const bool writes = strncmp(format, "run ", 4) == 0 || strncmp(format, "sweep ", 6) == 0;
    const int verb = writes && !careful ? (int)strcspn(format, " ") : 0;
    (void)snprintf(line, sizeof line, "exec \"$SALTUS_COMMAND\" %.*s%s", verb, format,
                   verb ? " --overwrite" : "");
    (void)vsnprintf(line + strlen(line), sizeof line - strlen(line), format + verb, args);
    if (strchr(line, '|')) { /* a pipe has a shell around it */
        memmove(line, line + 5, strlen(line + 5) + 1);
    }
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, 1, ".out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_addopen(&files, 2, ".err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&child, "/bin/sh", &files, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&files);
    return child;
}

pid_t start_saltus(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const pid_t child = start(format, args);
    va_end(args);
    return child;
}

static const char *last_of(const char *text, const char *part)
{
    const char *found = NULL;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        found = at;
    }
    return found;
}

void wait_for_progress(void)
{
    for (double rate = 0.0; !(rate > 0.0); (void)usleep(2000)) {
        char *text = read_file(".err");
        const char *line = text ? last_of(text, "\r") : NULL;
        if (line && sscanf(line, "\r%*f %% %lf trajectories/s", &rate) != 1) {
            rate = 0.0;
        }
        free(text);
    }
}

double wait_for_estimate(void)
{
    for (;; (void)usleep(2000)) {
        char *text = read_file(".err");
        const char *line = text ? last_of(text, "\r") : NULL;
        double part = 0.0, time = 0.0, until = 0.0, rate = 0.0;
        if (line && strstr(line, " left ")) {
            const int n =
                sscanf(line, "\r%lf %% time %lf of %lf %lf events/s", &part, &time, &until, &rate);
            const int others =
                sscanf(line, "\r%lf %% %*f trajectories/s %lf events/s", &part, &rate);
            if (n == 4 ? !(time > 0.0 && time <= until) : others != 2) {
                fail_msg("%s", line);
            }
            assert_true(rate > 0.0);
            free(text);
            return time;
        }
        free(text);
    }
}

void wait_for_growth(const char *name, int times)
{
    off_t size = 0;
    const time_t end = time(NULL) + 200;
    for (int n = 0; n < times; (void)usleep(2000)) {
        struct stat s;
        if (time(NULL) > end) {
            fail_msg("%s has not grown %d times: %s", name, times, read_file(".err"));
        }
        if (stat(name, &s) == 0 && s.st_size != size) {
            size = s.st_size;
            ++n;
        }
    }
}

void wait_for_file(const char *name)
{
    while (!file_exists(name)) {
        (void)usleep(2000);
    }
}

outcome finish_saltus(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(last.out);
    free(last.err);
    last.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    last.out = read_file(".out");
    last.err = read_file(".err");
    assert_non_null(last.out);
    assert_non_null(last.err);
    const char *erased = last_of(last.err, "\033[K");
    if (erased) { /* as a terminal shows it: lines of progress are gone */
        memmove(last.err, erased + 3, strlen(erased + 3) + 1);
    }
    return last;
}

bool ended_first(const outcome *o, const char *file)
{
    static int n_times;
    n_times = o->code == 0 ? n_times + 1 : 0;
    if (n_times == 0) {
        return false;
    }
    if (n_times == 20 || unlink(file) != 0) {
        fail_msg("%s: nothing stops what writes it", file);
    }
    return true;
}

outcome saltus(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const pid_t child = start(format, args);
    va_end(args);
    return finish_saltus(child);
}

void assert_one_message(const outcome *o, const char *part)
{
    const char *end = strchr(o->err, '\n');
    const bool is_one = end && (end[1] == '\0' || (strncmp(end + 1, "  hint: ", 8) == 0 &&
                                                   strchr(end + 1, '\n')[1] == '\0'));
    const bool is_named =
        strncmp(o->err, "saltus: ", 8) == 0 || strncmp(o->err, "saltus-bench: ", 14) == 0;
    if (!is_named || !is_one) {
        fail_msg("not one message: %s", o->err);
    }
    if (!strstr(o->err, part)) {
        fail_msg("the message lacks '%s': %s", part, o->err);
    }
}

void assert_refused(const outcome *o, int code, const char *part)
{
    if (o->code != code) {
        fail_msg("exit code %d instead of %d: %s", o->code, code, o->err);
    }
    assert_string_equal(o->out, "");
    assert_one_message(o, part);
}

void assert_done(const outcome *o)
{
    if (o->code != 0 || o->err[0]) {
        fail_msg("exit code %d: %s", o->code, o->err);
    }
}

int count_lines(const char *text)
{
    int n = 0;
    for (; *text; ++text) {
        n += *text == '\n';
    }
    return n;
}

void write_hops(const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "species:\n  E: 60\n");
    for (int i = 0; i < 17; ++i) {
        fprintf(out, "  X%d: %d\n", i, 10 * i);
    }
    fprintf(out, "parameters: {k: 0.001}\nreactions:\n  birth: 0 -> E @ 60\n  death: E -> 0 @ 1\n");
    for (int i = 0; i < 17 * 17; ++i) {
        if (i / 17 != i % 17) {
            fprintf(out, "  r%d: E + X%d -> E + X%d @ k\n", i, i / 17, i % 17);
        }
    }
    assert_int_equal(fclose(out), 0);
}

char *exported(const char *file)
{
    const outcome o = saltus("export %s --csv", file);
    assert_done(&o);
    char *copy = strdup(o.out);
    assert_non_null(copy);
    return copy;
}

static const char *skip_text(const char *c)
{
    assert_int_equal(*c, '"');
    for (++c; *c != '"'; ++c) {
        assert_true((unsigned char)*c >= ' ');
        c += *c == '\\';
    }
    return c + 1;
}

void assert_is_json(const char *c)
{
    assert_int_equal(*c++, '{');
    while (*c != '}') {
        c = skip_text(c);
        assert_int_equal(strncmp(c, ": ", 2), 0);
        c += 2;
        if (*c == '"') {
            c = skip_text(c);
        } else if (isalpha((unsigned char)*c)) {
            const size_t n = strspn(c, "abcdefghijklmnopqrstuvwxyz");
            assert_true(strncmp(c, "true", n) == 0 || strncmp(c, "false", n) == 0 ||
                        strncmp(c, "null", n) == 0);
            c += n;
        } else {
            char *end = NULL;
            assert_true(isdigit((unsigned char)*c) || *c == '-');
            (void)strtod(c, &end);
            c = end;
        }
        assert_true(*c == '}' || strncmp(c, ", ", 2) == 0);
        c += *c == '}' ? 0 : 2;
    }
    assert_string_equal(c, "}\n");
}

int enter_with_models(void **state)
{
    if (enter_directory(state) != 0) {
        return -1;
    }
    write_file("decay.yaml", decay_model);
    write_file("busy.yaml", busy_model);
    return 0;
}

char *trajectories(const char *options)
{
    const outcome o = saltus("run decay.yaml --until 2 --points 5 -q -o t.h5 %s", options);
    assert_done(&o);
    return exported("t.h5");
}
