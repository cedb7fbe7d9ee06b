/* The points of a sweep from a table: CSV (RFC 4180) as spreadsheets write it. The first line has
 * the names, each further one the values of a point. */
#include "sweep/sweep.h"

#include "core/archive.h"
#include "core/memory.h"
#include "core/number.h"

#include <string.h>

enum { MOST_NAMES = 10000, MOST_FIELD = 1000 };

typedef struct table {
    const char *path;
    char *text, *at, *end; /* all of it; where the next field begins */
    int64_t line;          /* where that is, from 1 */
    char field[MOST_FIELD + 1];
    bool ends_line, is_quoted; /* the field that was read last */
} table;

/* A byte order mark is taken off. What would be misread is refused. */
static saltus_status open_table(table *t, saltus_archive *archive, const char *path,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t size = 0;
    t->path = path;
    t->line = 1;
    SALTUS_TRY(saltus_archive_read(archive, path, &t->text, &size, err));
    t->at = t->text;
    t->end = t->text + size;
    if (size >= 2 && (memcmp(t->text, "\xff\xfe", 2) == 0 || memcmp(t->text, "\xfe\xff", 2) == 0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s:1: the text is UTF-16; save it as CSV in UTF-8", path);
    }
    if (memchr(t->text, '\0', size)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: holds a zero byte, and so is no text", path);
    }
    t->at += size >= 3 && memcmp(t->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
done:
    return status;
}

static bool at_line_end(const table *t)
{
    return t->at == t->end || *t->at == '\n' ||
           (*t->at == '\r' && t->at + 1 < t->end && t->at[1] == '\n');
}

static void skip_line_end(table *t)
{
    t->at += t->at < t->end && *t->at == '\r';
    t->at += t->at < t->end && *t->at == '\n';
}

static saltus_status put(table *t, size_t *n, char c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (*n == MOST_FIELD) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: a field is longer than %d bytes", t->path,
                    (long long)t->line, MOST_FIELD);
    }
    t->field[(*n)++] = c;
done:
    return status;
}

/* Behind the opening quote, up to the closing one; two of them are one. */
static saltus_status read_quoted(table *t, size_t *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (++t->at; t->at < t->end && *t->at != '\n'; ++t->at) {
        if (*t->at == '"') {
            if (t->at + 1 == t->end || t->at[1] != '"') {
                ++t->at;
                return SALTUS_OK;
            }
            ++t->at;
        }
        SALTUS_TRY(put(t, n, *t->at, err));
    }
    SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: a quote is not closed", t->path, (long long)t->line);
done:
    return status;
}

static void skip_blanks(table *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t')) {
        ++t->at;
    }
}

/* The next field without blanks around it, into t->field. */
static saltus_status read_field(table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t n = 0;
    skip_blanks(t);
    t->is_quoted = t->at < t->end && *t->at == '"';
    if (t->is_quoted) {
        SALTUS_TRY(read_quoted(t, &n, err));
        skip_blanks(t);
    } else {
        for (; !at_line_end(t) && *t->at != ','; ++t->at) {
            SALTUS_TRY(put(t, &n, *t->at, err));
        }
        while (n > 0 && (t->field[n - 1] == ' ' || t->field[n - 1] == '\t')) {
            --n;
        }
    }
    t->field[n] = '\0';
    t->ends_line = at_line_end(t);
    if (!t->ends_line && *t->at != ',') {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: a comma is needed behind \"%.40s\"", t->path,
                    (long long)t->line, t->field);
    }
    if (t->ends_line) {
        skip_line_end(t);
    } else {
        ++t->at;
    }
done:
    return status;
}

static saltus_status add_name(table *t, saltus_sweep *sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!t->field[0]) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s:1: column %zu has no name", t->path, sweep->n_axes + 1);
    }
    if (!t->is_quoted && strpbrk(t->field, ";\t")) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "%s:1: \"%.60s\" is no name; commas separate columns, and a point stands "
                    "before decimals",
                    t->path, t->field);
    }
    if (sweep->n_axes == MOST_NAMES) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s:1: more than %d columns", t->path, MOST_NAMES);
    }
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        if (strcmp(sweep->axes[a].name, t->field) == 0) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s:1: '%.100s' is named twice", t->path, t->field);
        }
    }
    saltus_axis *x = saltus_sweep_add_axis(sweep);
    SALTUS_NEED(x);
    x->name = saltus_strdup(t->field);
    SALTUS_NEED(x->name);
done:
    return status;
}

static saltus_status read_names(table *t, saltus_sweep *sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    do {
        SALTUS_TRY(read_field(t, err));
        SALTUS_TRY(add_name(t, sweep, err));
    } while (!t->ends_line);
    ++t->line;
done:
    return status;
}

static bool only_ends_follow(const table *t)
{
    const char *c = t->at;
    while (c < t->end && (*c == '\n' || *c == '\r' || *c == ' ' || *c == '\t')) {
        ++c;
    }
    return c == t->end;
}

/* Points that are left, at most: a line for each, and two bytes for a value. */
static int64_t most_left(const table *t, const saltus_sweep *sweep)
{
    const int64_t by_size = (t->end - t->at) / (2 * (int64_t)sweep->n_axes) + 1;
    int64_t lines = 1;
    for (const char *c = t->at; c < t->end; ++c) {
        lines += *c == '\n';
    }
    return lines < by_size ? lines : by_size;
}

static saltus_status read_point(table *t, saltus_sweep *sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t line = t->line;
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        saltus_axis *x = &sweep->axes[a];
        SALTUS_TRY(read_field(t, err));
        if (!t->field[0]) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: '%.100s' has no value", t->path,
                        (long long)line, x->name);
        }
        if (!saltus_number_read(t->field, &x->values[sweep->n_points])) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: '%.40s', of '%.100s', is no number", t->path,
                        (long long)line, t->field, x->name);
        }
        if (t->ends_line != (a + 1 == sweep->n_axes)) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s:%lld: %s values than the %zu names of line 1",
                        t->path, (long long)line, t->ends_line ? "fewer" : "more", sweep->n_axes);
        }
    }
    sweep->lines[sweep->n_points++] = line;
    ++t->line;
done:
    return status;
}

static saltus_status read_points(table *t, saltus_sweep *sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t most = most_left(t, sweep);
    sweep->n_points = 0;
    if (most > SALTUS_MOST_POINTS) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: a sweep has at most %lld points", t->path,
                    (long long)SALTUS_MOST_POINTS);
    }
    if (only_ends_follow(t)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: holds no points, only names", t->path);
    }
    sweep->lines = saltus_calloc((size_t)most, sizeof *sweep->lines);
    SALTUS_NEED(sweep->lines);
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        sweep->axes[a].values = saltus_calloc((size_t)most, sizeof(double));
        SALTUS_NEED(sweep->axes[a].values);
    }
    while (!only_ends_follow(t)) {
        SALTUS_TRY(read_point(t, sweep, err));
    }
done:
    return status;
}

saltus_status saltus_design_read(saltus_sweep *sweep, const char *path, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    table t = {0};
    if (sweep->n_axes > 0) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "`design file`: the table names what varies, and `vary` cannot add to it");
    }
    SALTUS_TRY(open_table(&t, sweep->archive, path, err));
    sweep->has_design = true;
    sweep->file = saltus_strdup(path);
    SALTUS_NEED(sweep->file);
    if (only_ends_follow(&t)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: is empty; names of what varies are needed in line 1",
                    path);
    }
    SALTUS_TRY(read_names(&t, sweep, err));
    status = read_points(&t, sweep, err);
done:
    saltus_free(t.text);
    return status;
}
