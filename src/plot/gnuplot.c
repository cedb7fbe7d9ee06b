#include "plot/gnuplot.h"

#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct format {
    const char *ending, *terminal;
    int font;
    const char *mark; /* behind the picture: viewers pass over it */
} formats[] = {
    {".svg",
     "svg size 1000,560 fixed noenhanced font 'Helvetica,Arial,sans-serif,15' background '#ffffff'",
     15, "<!-- drawn by Saltus -->\n"},
    {".png",
     "pngcairo size 1600,896 noenhanced font 'sans,12' fontscale 1.75 linewidth 1.6 "
     "background '#ffffff'",
     12, "\ndrawn by Saltus\n"},
    {".pdf", "pdfcairo size 18cm,10.1cm noenhanced font 'sans,11' linewidth 1.2", 11,
     "\n% drawn by Saltus\n"},
};

static const struct format *format_of(const char *figure)
{
    const char *dot = strrchr(figure, '.');
    for (size_t i = 0; dot && i < sizeof formats / sizeof *formats; ++i) {
        if (strcasecmp(dot, formats[i].ending) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

/* gnuplot runs what stands between backquotes, also within double quotes, before it looks at the
 * line; and single quotes have no safe way to hold one of themselves. So nothing of ASCII but
 * letters is written as it is; an octal escape goes on as far as there are digits. Control
 * characters become blanks. */
void saltus_gnuplot_quote(FILE *script, const char *text)
{
    (void)fputc('"', script);
    for (; *text; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            (void)fputc(c, script);
        } else {
            (void)fprintf(script, "\\%03o", c < ' ' || c == 0x7f ? ' ' : (unsigned)c);
        }
    }
    (void)fputc('"', script);
}

static bool has_control(const char *text)
{
    for (; *text; ++text) {
        if ((unsigned char)*text < ' ') {
            return true;
        }
    }
    return false;
}

saltus_status saltus_gnuplot_check(const char *figure, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!format_of(figure) || has_control(figure)) {
        status = saltus_error_set(err, SALTUS_E_INVALID,
                                  "%s: no figure format is known for this name", figure);
        saltus_error_hint(err, "the ending chooses the format: .svg, .png or .pdf");
    }
    return status;
}

saltus_status saltus_gnuplot_begin(saltus_gnuplot *g, const char *figure, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const struct format *format = format_of(figure);
    const size_t size = strlen(figure) + 40;

    *g = (saltus_gnuplot){.figure = figure, .fd = -1, .font = format->font};
    SALTUS_TRY(saltus_may_replace(figure, "drawn by Saltus", err));
    g->part = saltus_calloc(size, 1);
    SALTUS_NEED(g->part);
    (void)snprintf(g->part, size, "%s.%ld.part", figure, (long)getpid());
    g->fd = open(g->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (g->fd < 0) {
        const int problem = errno;
        saltus_free(g->part);
        g->part = NULL;
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be written: %s", figure, strerror(problem));
    }
    g->script = tmpfile();
    if (!g->script) {
        SALTUS_FAIL(SALTUS_E_IO, "no temporary file: %s", strerror(errno));
    }
    (void)fprintf(g->script, "set encoding utf8\nset terminal %s\n", format->terminal);
done:
    return status;
}

/* gnuplot reads the script from its standard input, a file without a name, so that nothing is
 * passed through a shell and it may stop reading whenever it likes. */
static int spawn(FILE *script, int picture, int complaints, pid_t *child)
{
    static char name[] = "gnuplot", defaults[] = "-d";
    char *const arguments[] = {name, defaults, NULL};
    posix_spawn_file_actions_t actions;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem) {
        return problem;
    }
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    problem = posix_spawnp(child, name, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* gnuplot does not look whether what it writes arrives, so the picture comes through a pipe.
 * Returns an errno value. */
static int copy_picture(int from, int to, size_t *size)
{
    char bytes[1 << 14];
    ssize_t n, written;
    *size = 0;
    while ((n = read(from, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR) {
            continue;
        }
        for (ssize_t at = 0; at < n; at += written) {
            written = write(to, bytes + at, (size_t)(n - at));
            if (written < 0 && errno == EINTR) {
                written = 0;
            } else if (written < 0) {
                return errno;
            }
        }
        if (n < 0) {
            return errno;
        }
        *size += (size_t)n;
    }
    return 0;
}

/* The first line of what gnuplot said that is not the command with its marker. */
static void first_complaint(FILE *complaints, char *text, size_t size)
{
    char line[300];
    (void)snprintf(text, size, "no reason given");
    rewind(complaints);
    while (fgets(line, sizeof line, complaints)) {
        const char *error = strstr(line, "line ");
        if (error && strchr(error, ':')) {
            (void)snprintf(text, size, "%.*s", (int)strcspn(error, "\n"), error);
            return;
        }
    }
}

/* Draw into the neighbour of the figure. */
static saltus_status draw(saltus_gnuplot *g, FILE *complaints, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char reason[300];
    int ended = 0, problem, ends[2];
    size_t size;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "gnuplot cannot be started: %s", strerror(errno));
    }
    problem = spawn(g->script, ends[1], fileno(complaints), &child);
    (void)close(ends[1]);
    if (problem) {
        (void)close(ends[0]);
    }
    if (problem == ENOENT) {
        status = saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                                  "figures are drawn by gnuplot, which is not installed");
        saltus_error_hint(err, "install it: apt install gnuplot-nox; or dnf, brew install gnuplot");
        goto done;
    }
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "gnuplot cannot be started: %s", strerror(problem));
    }
    problem = copy_picture(ends[0], g->fd, &size);
    const char *mark = format_of(g->figure)->mark;
    if (!problem && size > 0 && write(g->fd, mark, strlen(mark)) != (ssize_t)strlen(mark)) {
        problem = errno ? errno : ENOSPC;
    }
    (void)close(ends[0]); /* after a failure it may still be writing */
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
    }
    if (!problem && (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0 || size == 0)) {
        first_complaint(complaints, reason, sizeof reason);
        SALTUS_FAIL(SALTUS_E_IO, "%s: gnuplot failed: %s", g->figure, reason);
    }
    if (close(g->fd) != 0 && !problem) {
        problem = errno;
    }
    g->fd = -1;
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be written: %s", g->figure, strerror(problem));
    }
done:
    return status;
}

saltus_status saltus_gnuplot_run(saltus_gnuplot *g, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    FILE *complaints = tmpfile();

    (void)fputs("unset output\n", g->script);
    if (!complaints || fflush(g->script) != 0 || ferror(g->script) ||
        lseek(fileno(g->script), 0, SEEK_SET) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "no temporary file for a figure: %s", strerror(errno));
    }
    SALTUS_TRY(draw(g, complaints, err));
    if (rename(g->part, g->figure) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be written: %s", g->figure, strerror(errno));
    }
    saltus_free(g->part);
    g->part = NULL;
done:
    if (complaints) {
        (void)fclose(complaints);
    }
    return status;
}

void saltus_gnuplot_end(saltus_gnuplot *g)
{
    if (g->script) {
        (void)fclose(g->script);
    }
    if (g->part && g->fd >= 0) {
        (void)close(g->fd);
    }
    if (g->part) {
        (void)unlink(g->part);
        saltus_free(g->part);
    }
    *g = (saltus_gnuplot){0};
}
