#include "read/net/lines.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *name;
    saltus_net_block block;
} blocks[] = {{"parameters", SALTUS_NET_PARAMETERS}, {"functions", SALTUS_NET_FUNCTIONS},
              {"species", SALTUS_NET_SPECIES},       {"seed species", SALTUS_NET_SPECIES},
              {"reactions", SALTUS_NET_REACTIONS},   {"groups", SALTUS_NET_GROUPS}};

saltus_status saltus_net_fail(const saltus_net_reader *r, int number, saltus_status code,
                              const char *format, ...)
{
    char body[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(body, sizeof body, format, args);
    va_end(args);
    return saltus_error_set(r->err, code, "%.180s:%d: %s", r->name, number, body);
}

bool saltus_net_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

char *saltus_net_skip_blanks(char *c)
{
    while (saltus_net_is_blank(*c)) {
        ++c;
    }
    return c;
}

char *saltus_net_cut_word(char **rest)
{
    char *word = saltus_net_skip_blanks(*rest), *end = word;
    while (*end && !saltus_net_is_blank(*end)) {
        ++end;
    }
    *rest = saltus_net_skip_blanks(end);
    *end = '\0';
    return word;
}

/* Cut off a comment and the blanks before it. */
static void trim(char *text)
{
    char *end = strchr(text, '#');
    end = end ? end : text + strlen(text);
    while (end > text && saltus_net_is_blank(end[-1])) {
        --end;
    }
    *end = '\0';
}

/* What stands behind a keyword and blanks, or NULL. */
static char *behind(char *text, const char *keyword)
{
    const size_t n = strlen(keyword);
    return strncmp(text, keyword, n) == 0 && saltus_net_is_blank(text[n])
               ? saltus_net_skip_blanks(text + n)
               : NULL;
}

static saltus_net_block find_block(const char *name)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        if (strcmp(blocks[i].name, name) == 0) {
            return blocks[i].block;
        }
    }
    return SALTUS_NET_OTHER;
}

/* Numbers of lines are optional, but those that are there must count: reactions refer to them. */
static saltus_status skip_number(const saltus_net_reader *r, saltus_net_line *l, size_t n_before)
{
    char *end = l->text;
    size_t number = 0;
    while (*end >= '0' && *end <= '9' && number < INT_MAX) {
        number = 10 * number + (size_t)(*end++ - '0');
    }
    if (end == l->text || !saltus_net_is_blank(*end)) {
        return SALTUS_OK;
    }
    if (number != n_before + 1) {
        return saltus_net_fail(r, l->number, SALTUS_E_SYNTAX, "number %zu is wanted here, not %zu",
                               n_before + 1, number);
    }
    l->text = saltus_net_skip_blanks(end);
    return SALTUS_OK;
}

static saltus_status keep_line(saltus_net_reader *r, char *text, int number, saltus_net_block in)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_net_line *grown =
        saltus_grow(r->lines, r->n_lines, &r->lines_capacity, sizeof *r->lines);
    SALTUS_NEED(grown);
    r->lines = grown;
    r->lines[r->n_lines] =
        (saltus_net_line){.text = text, .number = number, .variable = -1, .block = in};
    SALTUS_TRY(skip_number(r, &r->lines[r->n_lines], r->n_of[in]));
    ++r->n_lines;
    ++r->n_of[in];
done:
    return status;
}

saltus_status saltus_net_split(saltus_net_reader *r, size_t size)
{
    saltus_status status = SALTUS_OK;
    const char *open = NULL; /* name of the block that is open */
    int number = 0, opened = 0;
    saltus_net_block in = SALTUS_NET_NONE;
    for (char *c = r->text, *end = r->text + size; c < end;) {
        char *newline = memchr(c, '\n', (size_t)(end - c));
        char *next = newline ? newline + 1 : end;
        (newline ? newline : end)[0] = '\0';
        char *text = saltus_net_skip_blanks(c), *rest;
        ++number;
        c = next;
        trim(text);
        if ((rest = behind(text, "begin")) && strcmp(rest, "model") != 0) {
            if (open) {
                status = saltus_net_fail(r, number, SALTUS_E_SYNTAX,
                                         "'begin %.60s' within the block '%.60s' of line %d", rest,
                                         open, opened);
                goto done;
            }
            open = rest;
            opened = number;
            in = find_block(rest);
            r->begun[in] = true;
        } else if ((rest = behind(text, "end")) && strcmp(rest, "model") != 0) {
            if (!open || strcmp(open, rest) != 0) {
                status =
                    saltus_net_fail(r, number, SALTUS_E_SYNTAX, "'end %.60s' ends no block", rest);
                goto done;
            }
            open = NULL;
            in = SALTUS_NET_NONE;
        } else if (text[0] && in != SALTUS_NET_NONE && in != SALTUS_NET_OTHER) {
            SALTUS_TRY(keep_line(r, text, number, in));
        }
    }
    if (open) {
        status = saltus_net_fail(r, opened, SALTUS_E_SYNTAX, "the block '%.60s' has no end", open);
    }
done:
    return status;
}
