#include "read/yaml/problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A part of the text that is one line. */
typedef struct span {
    const char *text;
    size_t n;
} span;

static const char about_tabs[] = "an editor can put blanks in place of tabs",
                  about_quotes[] = "such a text stands in \"quotes\"",
                  about_columns[] = "names that belong together begin in the same column",
                  about_colons[] = "a name and what it stands for: 'name: value', with a blank "
                                   "behind the colon";

static span line_of(const char *text, size_t size, size_t number)
{
    const char *end = text + size;
    while (number > 0 && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
        --number;
    }
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    return (span){text, (size_t)((newline ? newline : end) - text)};
}

static size_t indentation(span s)
{
    size_t n = 0;
    while (n < s.n && s.text[n] == ' ') {
        ++n;
    }
    return n;
}

/* The byte of a column, which counts characters. */
static char character_at(span s, size_t column)
{
    size_t i = 0;
    for (; i < s.n && column > 0; ++i) {
        column -= i + 1 == s.n || ((unsigned char)s.text[i + 1] & 0xc0) != 0x80;
    }
    return i < s.n ? s.text[i] : '\0';
}

static bool is_empty(span s)
{
    const size_t n = indentation(s);
    return n == s.n || s.text[n] == '#' || s.text[n] == '\r';
}

/* Whether ": " is in it, or ':' at its end. */
static bool has_colon(span s, size_t end)
{
    for (size_t i = 0; i < s.n && i < end; ++i) {
        const bool is_last = i + 1 == s.n || s.text[i + 1] == '\r';
        if (s.text[i] == ':' && (is_last || s.text[i + 1] == ' ')) {
            return true;
        }
    }
    return false;
}

/* The line above that has something in it, from 1; 0: none. */
static size_t line_above(const saltus_yaml_problem *p, const char *text, size_t size)
{
    size_t above = p->line;
    while (above > 0 && is_empty(line_of(text, size, above - 1))) {
        --above;
    }
    return above;
}

/* Whether a line is indented under one that has its value; said then. */
static bool is_deeper(saltus_yaml_problem *p, const char *text, size_t size, char words[300])
{
    const span line = line_of(text, size, p->line);
    const size_t number = line_above(p, text, size);
    const span above = line_of(text, size, number > 0 ? number - 1 : 0);
    if (number == 0 || !has_colon(above, above.n) || indentation(line) <= indentation(above)) {
        return false;
    }
    (void)snprintf(words, 300,
                   "this line is indented deeper than line %zu, which has its value already",
                   number);
    p->column = indentation(line);
    return true;
}

/* ": " where none may be: a second one, one behind a line that lacks its own, or an indentation
 * under a line that has its value. */
static const char *explain_colon(saltus_yaml_problem *p, const char *text, size_t size,
                                 char words[300])
{
    const size_t number = line_above(p, text, size);
    const span above = line_of(text, size, number > 0 ? number - 1 : 0);
    if (has_colon(line_of(text, size, p->line), p->column)) {
        (void)snprintf(words, 300, "a second ': ' is in this line");
        return "a text that has ': ' in it stands in \"quotes\"";
    }
    if (is_deeper(p, text, size, words)) {
        return about_columns;
    }
    if (number > 0 && !has_colon(above, above.n)) {
        (void)snprintf(words, 300, "a ': ' is missing in this line");
        p->line = number - 1;
        p->column = indentation(above);
        return about_colons;
    }
    (void)snprintf(words, 300, "a ': ' is not expected here");
    return about_colons;
}

/* Where a name was expected, and something else is. */
static const char *explain_key(saltus_yaml_problem *p, const char *text, size_t size,
                               char words[300])
{
    const span line = line_of(text, size, p->line);
    const char c = character_at(line, p->column);
    if (c == '}' || c == ']') {
        (void)snprintf(words, 300, "'%c' closes nothing", c);
        return NULL;
    }
    if (c == '-' && !has_colon(line, line.n)) {
        (void)snprintf(words, 300, "an item of a list stands where a name is expected");
        return NULL;
    }
    if (indentation(line) < p->column) {
        (void)snprintf(words, 300, "a name is expected here");
        return NULL;
    }
    if (!is_deeper(p, text, size, words)) {
        (void)snprintf(words, 300,
                       "the indentation of this line, %zu, is that of no line above that it could "
                       "belong to",
                       indentation(line));
    }
    return about_columns;
}

static const char *explain_character(const saltus_yaml_problem *p, span line, char words[300])
{
    const char c = character_at(line, p->column);
    if (c == '\t') {
        (void)snprintf(words, 300, "a tab; YAML is indented by blanks alone");
        return about_tabs;
    }
    (void)snprintf(words, 300, "a text cannot begin with '%c'", c);
    return about_quotes;
}

const char *saltus_yaml_explain(saltus_yaml_problem *p, const char *text, size_t size,
                                char words[300])
{
    const span line = line_of(text, size, p->line);
    const char *within = p->within ? p->within : "";
    if (strstr(p->what, "cannot start any token") && character_at(line, p->column)) {
        return explain_character(p, line, words);
    }
    if (strstr(p->what, "tab character")) {
        (void)snprintf(words, 300, "a tab; YAML is indented by blanks alone");
        return about_tabs;
    }
    if (strstr(p->what, "mapping values are not allowed")) {
        return explain_colon(p, text, size, words);
    }
    if (strstr(p->what, "did not find expected key") ||
        strstr(p->what, "expected <document start>")) {
        return explain_key(p, text, size, words);
    }
    if (strstr(p->what, "expected '-' indicator")) {
        (void)snprintf(words, 300, "this line stands among items of a list, which begin with '- '");
        return NULL;
    }
    if (strstr(p->what, "did not find expected ','")) {
        (void)snprintf(words, 300,
                       "',' or the end of what '%c' begins in line %zu is expected here",
                       strstr(within, "sequence") ? '[' : '{', p->start_line + 1);
        return NULL;
    }
    if (strstr(p->what, "could not find expected ':'")) {
        (void)snprintf(words, 300, "a ': ' is missing in this line");
        p->line = p->start_line;
        p->column = p->start;
        return about_colons;
    }
    if (strstr(p->what, "unexpected end of stream") && strstr(within, "quoted")) {
        (void)snprintf(words, 300, "the quote that begins here has no end");
        p->line = p->start_line;
        p->column = p->start;
        return NULL;
    }
    if (strstr(p->what, "unknown escape character")) {
        (void)snprintf(words, 300, "there is no such escape in \"quotes\"");
        return "a backslash is written \\\\, or the text stands in 'single quotes'";
    }
    (void)snprintf(words, 300, "this is no YAML: %s%s%s%s", p->what, within[0] ? " (" : "", within,
                   within[0] ? ")" : "");
    return NULL;
}
