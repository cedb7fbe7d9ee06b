#include "model/network/scan.h"

#include "core/number.h"
#include "model/network/model.h"
#include "model/network/syntax.h"

#include <stdarg.h>
#include <string.h>

/* The line and column in the file are told if they follow from where the text starts, else the
 * column in the text is. */
saltus_status saltus_scan_fail(saltus_scanner *s, saltus_status code, const char *at,
                               const char *format, ...)
{
    const saltus_parse_context *context = s->context;
    const bool is_known = context->path && context->line > 0 && context->column > 0;
    const bool is_exact = is_known && !context->folded;
    int line = context->line, column = is_known ? context->column : 1, in_text = 1;
    char place[300] = "", rest[90] = "", body[300];
    va_list args;

    for (const char *c = s->text; c < at; ++c) {
        const bool is_first_byte = ((unsigned char)*c & 0xc0) != 0x80;
        in_text += is_first_byte;
        column += is_exact && is_first_byte;
        if (is_exact && *c == '\n') {
            ++line;
            column = 1;
        }
    }
    if (is_known) {
        (void)snprintf(place, sizeof place, "%.200s:%d:%d: ", context->path, line, column);
    } else if (context->path && line > 0) {
        (void)snprintf(place, sizeof place, "%.200s:%d: ", context->path, line);
    } else if (context->path) {
        (void)snprintf(place, sizeof place, "%.200s: ", context->path);
    }
    if (!is_exact) {
        const bool is_long = strlen(s->text) > 50;
        (void)snprintf(rest, sizeof rest, " (column %d of %s%.50s%s)", in_text,
                       is_long ? "the text" : "'", is_long ? "" : s->text, is_long ? "" : "'");
    }
    va_start(args, format);
    (void)vsnprintf(body, sizeof body, format, args);
    va_end(args);
    return saltus_error_set(s->err, code, "%s%.120s%s%s%s", place,
                            context->what ? context->what : "", context->what ? ": " : "", body,
                            rest);
}

const char *saltus_skip_blanks(const char *c)
{
    while (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r') {
        ++c;
    }
    return c;
}

/* Keep a name of n characters at c, of which doubled backquotes count once. */
static saltus_status keep_name(saltus_scanner *s, const char *c, size_t n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    s->name = s->small;
    if (n >= sizeof s->small) {
        if (n >= s->large_size) {
            char *grown = saltus_realloc(s->large, 2 * n, 1);
            SALTUS_NEED(grown);
            s->large = grown;
            s->large_size = 2 * n;
        }
        s->name = s->large;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
        s->name[kept++] = c[i];
        i += c[i] == '`';
    }
    s->name[kept] = '\0';
done:
    return status;
}

saltus_status saltus_scan_quoted(saltus_scanner *s)
{
    saltus_status status = SALTUS_OK;
    const char *c = s->start + 1;
    while (*c && (*c != '`' || c[1] == '`')) {
        c += *c == '`' ? 2 : 1;
    }
    if (!*c) {
        status =
            saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start, "a name in backquotes does not end");
        goto done;
    }
    s->kind = SALTUS_TOKEN_QUOTED;
    s->end = c + 1;
    SALTUS_TRY(keep_name(s, s->start + 1, (size_t)(c - s->start) - 1));
done:
    return status;
}

static saltus_status scan_number(saltus_scanner *s)
{
    size_t n;
    const saltus_number_result result = saltus_number_parse(s->start, &s->number, &n);
    s->kind = SALTUS_TOKEN_NUMBER;
    s->end = s->start + n;
    if (result == SALTUS_NUMBER_NONE) {
        int more = 1;
        while (more < 40 && saltus_is_name_part(s->start[more])) {
            ++more;
        }
        return saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start, "'%.*s' is no number", more,
                                s->start);
    }
    if (result != SALTUS_NUMBER_OK) {
        return saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start, "%.*s is too %s for a number",
                                n < 40 ? (int)n : 40, s->start,
                                result == SALTUS_NUMBER_TOO_LARGE ? "large" : "small");
    }
    if (saltus_is_name_part(*s->end)) {
        int more = 0;
        while (saltus_is_name_part(s->end[more])) {
            ++more;
        }
        return saltus_scan_fail(s, SALTUS_E_SYNTAX, s->start,
                                "'%.*s' is neither a number nor a name",
                                (int)n + (more < 40 ? more : 40), s->start);
    }
    return SALTUS_OK;
}

saltus_status saltus_scan_name(saltus_scanner *s)
{
    const char *c = s->start;
    while (saltus_is_name_part(*c)) {
        ++c;
    }
    s->kind = SALTUS_TOKEN_NAME;
    s->end = c;
    return keep_name(s, s->start, (size_t)(c - s->start));
}

/* Step to the next token of an expression. */
saltus_status saltus_scan_next(saltus_scanner *s)
{
    static const char *const signs[] = {"**", "||", "&&", "<=", ">=", "==", "!="};
    const char *c = s->start = saltus_skip_blanks(s->end);
    s->end = c + 1;
    s->kind = SALTUS_TOKEN_SIGN;
    if (!*c) {
        s->kind = SALTUS_TOKEN_END;
        s->end = c;
        return SALTUS_OK;
    }
    if (*c == '`') {
        return saltus_scan_quoted(s);
    }
    if (saltus_is_name_start(*c)) {
        return saltus_scan_name(s);
    }
    if ((*c >= '0' && *c <= '9') || *c == '.') {
        return scan_number(s);
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
        if (strncmp(c, signs[i], 2) == 0) {
            s->end = c + 2;
        }
    }
    return SALTUS_OK;
}

/* Whether the token is this sign, or this word of the language. */
bool saltus_scan_is(const saltus_scanner *s, const char *text)
{
    const size_t n = strlen(text);
    return (s->kind == SALTUS_TOKEN_SIGN || s->kind == SALTUS_TOKEN_NAME) &&
           (size_t)(s->end - s->start) == n && memcmp(s->start, text, n) == 0;
}

saltus_status saltus_scan_undefined(saltus_scanner *s, const char *at, const char *name,
                                    const char *thing)
{
    const saltus_status status =
        saltus_scan_fail(s, SALTUS_E_MODEL, at, "%s'%.100s' is not defined", thing, name);
    const saltus_model *model = s->context->model;
    const char *nearest = *thing ? saltus_model_nearest_of(model, name, SALTUS_KIND_SPECIES)
                                 : saltus_model_nearest(model, name);
    if (saltus_is_composed(name) || saltus_function_named(name) >= 0) {
        saltus_error_hint(s->err, "as a function it is written %s(…)", name);
    } else if (nearest) {
        saltus_error_hint(s->err, "did you mean '%.100s'?", nearest);
    }
    return status;
}
