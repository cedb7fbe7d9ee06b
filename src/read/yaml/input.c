/* Inputs: rules whose values stand in a file, as times and values. They become a table in an
 * expression, so that a model that is written out again has them in itself. */
#include "read/yaml/values.h"

#include "core/archive.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "model/network/syntax.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A file of two columns while it is read. */
typedef struct columns {
    const saltus_yaml_reader *r;
    const saltus_yaml_node *node; /* that names it */
    const char *what, *file;
    int line;
    double *numbers; /* times and values in pairs */
    size_t n, capacity;
    bool has_names; /* of columns, in a line before all numbers */
} columns;

__attribute__((format(printf, 2, 3))) static saltus_status fail_here(const columns *c,
                                                                     const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return saltus_yaml_fail(c->r, c->node, SALTUS_E_MODEL, "%s: %.100s:%d: %s", c->what, c->file,
                            c->line, text);
}

static const char *skip(const char *text, const char *signs)
{
    return text + strspn(text, signs);
}

static saltus_status push(columns *c, double time, double value)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = c->r->err;
    for (int i = 0; i < 2; ++i) {
        double *grown = saltus_grow(c->numbers, c->n, &c->capacity, sizeof *c->numbers);
        SALTUS_NEED(grown);
        c->numbers = grown;
        c->numbers[c->n++] = i == 0 ? time : value;
    }
done:
    return status;
}

/* A number with a sign or without, or inf; how many characters it takes, 0: there is none. */
static size_t read_number(const char *text, double *value)
{
    const size_t sign = *text == '-' || *text == '+' ? 1 : 0;
    size_t length = 0;
    if (strncmp(text + sign, "inf", 3) == 0) {
        *value = (double)INFINITY;
        length = 3;
    } else if (saltus_number_parse(text + sign, value, &length) != SALTUS_NUMBER_OK) {
        return 0;
    }
    *value = *text == '-' ? -*value : *value;
    return sign + length;
}

/* A line: two numbers; nothing, or a comment; or, before all numbers, names of columns. */
static saltus_status read_line(columns *c, const char *line)
{
    double numbers[2];
    const char *at = skip(line, " \t\r");
    if (*at == '\0' || *at == '#') {
        return SALTUS_OK;
    }
    for (int i = 0; i < 2; ++i) {
        const size_t length = read_number(at, &numbers[i]);
        if (length == 0 && i == 0 && c->n == 0 && !c->has_names) {
            c->has_names = true;
            return SALTUS_OK;
        }
        if (length == 0) {
            return fail_here(c, "a time and a value are wanted, not '%.60s'", line);
        }
        at = skip(at + length, " \t\r");
        if (i == 0 && (*at == ',' || *at == ';')) {
            at = skip(at + 1, " \t");
        }
    }
    if (*at != '\0') {
        return fail_here(c, "two columns are wanted, and there are more: '%.60s'", line);
    }
    if (c->n > 0 && !(numbers[0] > c->numbers[c->n - 2])) {
        return fail_here(c, "time %g does not come after %g", numbers[0], c->numbers[c->n - 2]);
    }
    return push(c, numbers[0], numbers[1]);
}

static saltus_status read_lines(columns *c, char *text)
{
    saltus_status status = SALTUS_OK;
    char *more = text;
    for (c->line = 1; more; ++c->line) {
        char *line = strsep(&more, "\n");
        SALTUS_TRY(read_line(c, line));
    }
    if (c->n == 0) {
        status = saltus_yaml_fail(c->r, c->node, SALTUS_E_MODEL,
                                  "%s: '%.200s' has no times and values", c->what, c->file);
    }
done:
    return status;
}

/* The table of the time. */
static saltus_status make_table(const columns *c, saltus_op op, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = c->r->err;
    saltus_arena *arena = &c->r->model->arena;
    const saltus_expr **args = saltus_calloc(c->n + 1, sizeof *args);
    SALTUS_NEED(args);
    args[0] = saltus_expr_time(arena);
    for (size_t i = 0; i < c->n; ++i) {
        args[i + 1] = saltus_expr_const(arena, c->numbers[i]);
    }
    *out = saltus_expr_n(arena, op, (int)c->n + 1, args);
    SALTUS_NEED(*out);
done:
    saltus_free(args);
    return status;
}

saltus_status saltus_yaml_input(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                const char *what, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err, problem = {0};
    const char *between = NULL;
    char *path = NULL, *text = NULL;
    int op = SALTUS_OP_LINEAR;
    size_t size = 0;
    saltus_yaml_field f[] = {{.key = "input"}, {.key = "between"}};
    columns c = {.r = r, .what = what};
    SALTUS_TRY(saltus_yaml_fields(r, node, what, f, 2));
    if (!f[0].entry) {
        status =
            saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: 'input', a file, is missing", what);
        goto done;
    }
    c.node = f[0].entry->value;
    SALTUS_TRY(saltus_yaml_text(r, c.node, what, &c.file));
    if (f[1].entry) {
        SALTUS_TRY(saltus_yaml_text(r, f[1].entry->value, what, &between));
        op = saltus_function_named(between);
        if (op < 0 || !saltus_op_is_table((saltus_op)op)) {
            status = saltus_yaml_fail(r, f[1].entry->value, SALTUS_E_SYNTAX,
                                      "%s: 'between' must be linear, held or spline, not '%.40s'",
                                      what, between);
            goto done;
        }
    }
    path = saltus_path_beside(r->name, c.file);
    SALTUS_NEED(path);
    status = saltus_archive_read(r->archive, path, &text, &size, &problem);
    if (status != SALTUS_OK) {
        (void)saltus_yaml_fail(r, c.node, status, "%s: %.300s", what, problem.message);
        goto done;
    }
    SALTUS_TRY(read_lines(&c, text));
    SALTUS_TRY(make_table(&c, (saltus_op)op, out));
done:
    saltus_free(path);
    saltus_free(text);
    saltus_free(c.numbers);
    return status;
}
