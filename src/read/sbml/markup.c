/* What libsbml cannot take, or must not see, of a document's text, before it is parsed. */
#include "read/sbml/sbml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* libsbml and the expressions made from its trees recurse once per level, and libsbml turns a sum
 * of n terms into a tree of depth n. These bounds leave most of a stack of 8 MiB free. */
enum {
    MAX_XML_DEPTH = 1000,
    MAX_MATH_ELEMENTS = 50000,
    MAX_FORMULA = 50000, /* characters, of level 1 */
    MAX_NAME_SPACES = 1000
};

/* A part of the text. */
typedef struct piece {
    const char *start;
    size_t size;
} piece;

/* xmlns:prefix="uri", in an element of this depth. */
typedef struct binding {
    int depth;
    piece prefix, uri;
} binding;

typedef struct scanner {
    const char *p, *end;
    unsigned line;
    int depth;
    int math_depth; /* depth of the open <math>, 0: none */
    int n_elements; /* since it was opened */
    bool root_seen;
    piece space; /* of the root */
    binding spaces[MAX_NAME_SPACES];
    int n_spaces;
    piece hidden[MAX_NAME_SPACES]; /* declarations to be blanked when their prefixes are not needed
                                      any more */
    int n_hidden;
    const char *skipped; /* where an open element starts that libsbml is not to see, or NULL, */
    int skipped_depth;
    bool has_warned; /* of another name space */
} scanner;

/* Go behind the next `mark`, or to the end; libsbml will say what is wrong there. */
static void skip_past(scanner *s, const char *mark)
{
    const size_t n = strlen(mark);
    const char *found = memmem(s->p, (size_t)(s->end - s->p), mark, n);
    const char *to = found ? found + n : s->end;
    for (; s->p < to; ++s->p) {
        s->line += *s->p == '\n';
    }
}

static bool starts(const scanner *s, const char *mark)
{
    const size_t n = strlen(mark);
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, mark, n) == 0;
}

static bool is(piece a, const char *text)
{
    return a.size == strlen(text) && memcmp(a.start, text, a.size) == 0;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p)) {
        ++p;
    }
    return p;
}

static piece name_at(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && !isspace((unsigned char)*p) && !strchr("=/>", *p)) {
        ++p;
    }
    return (piece){.start = start, .size = (size_t)(p - start)};
}

/* Is the element whose name starts here called `name`, with any prefix? */
static bool is_element(const char *p, const char *end, const char *name)
{
    const piece whole = name_at(p, end);
    const char *colon = memchr(whole.start, ':', whole.size);
    const char *local = colon ? colon + 1 : whole.start;
    return is((piece){.start = local, .size = (size_t)(whole.start + whole.size - local)}, name);
}

/* The next name="value" of a tag; false at its end, or where it is not well formed. */
static bool next_attribute(const char **at, const char *end, piece *name, piece *value)
{
    *name = name_at(skip_blanks(*at, end), end);
    const char *p = skip_blanks(name->start + name->size, end);
    if (name->size == 0 || p == end || *p != '=') {
        return false;
    }
    p = skip_blanks(p + 1, end);
    const char *close =
        p < end && strchr("\"'", *p) ? memchr(p + 1, *p, (size_t)(end - p - 1)) : NULL;
    if (!close) {
        return false;
    }
    *value = (piece){.start = p + 1, .size = (size_t)(close - p - 1)};
    *at = close + 1;
    return true;
}

static const struct {
    const char *level, *version, *space;
} known[] = {
    {"1", "1", "http://www.sbml.org/sbml/level1"},
    {"1", "2", "http://www.sbml.org/sbml/level1"},
    {"2", "1", "http://www.sbml.org/sbml/level2"},
    {"2", "2", "http://www.sbml.org/sbml/level2/version2"},
    {"2", "3", "http://www.sbml.org/sbml/level2/version3"},
    {"2", "4", "http://www.sbml.org/sbml/level2/version4"},
    {"2", "5", "http://www.sbml.org/sbml/level2/version5"},
    {"3", "1", "http://www.sbml.org/sbml/level3/version1/core"},
    {"3", "2", "http://www.sbml.org/sbml/level3/version2/core"},
};

/* Level, version and name space of the document go together, or libsbml throws. `p` is behind the
 * "<" of the first element. */
static saltus_status check_root(sbml_reader *r, const char *p, const char *end, unsigned line,
                                piece *own)
{
    const piece tag = name_at(p, end);
    const char *colon = memchr(tag.start, ':', tag.size);
    const size_t prefix_size = colon ? (size_t)(colon - tag.start) : 0;
    piece name, value, level = {.start = ""}, version = {.start = ""}, space = {.start = ""};

    const char *close = p;
    while (close < end && *close != '>') {
        ++close;
    }
    if (close == end) {
        return SALTUS_OK; /* cut: libsbml says so */
    }
    if (!is_element(p, end, "sbml")) {
        return sbml_fail(r, SALTUS_E_SYNTAX, line, "not an SBML document");
    }
    p += tag.size;
    while (next_attribute(&p, end, &name, &value)) {
        const bool has_prefix = name.size == prefix_size + strlen("xmlns:") &&
                                memcmp(name.start, "xmlns:", strlen("xmlns:")) == 0 &&
                                memcmp(name.start + strlen("xmlns:"), tag.start, prefix_size) == 0;
        if (is(name, "level")) {
            level = value;
        } else if (is(name, "version")) {
            version = value;
        } else if (colon ? has_prefix : is(name, "xmlns")) {
            space = value;
        }
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (is(level, known[i].level) && is(version, known[i].version) &&
            is(space, known[i].space)) {
            *own = space;
            return SALTUS_OK;
        }
    }
    if (level.size == 0 || version.size == 0 || space.size == 0) {
        return sbml_fail(r, SALTUS_E_SYNTAX, line, "<sbml> has no %s",
                         level.size == 0     ? "level"
                         : version.size == 0 ? "version"
                                             : "name space (xmlns)");
    }
    return sbml_fail(r, SALTUS_E_UNSUPPORTED, line,
                     "SBML Level %.*s Version %.*s with the name space '%.*s' is not known",
                     (int)(level.size < 20 ? level.size : 20), level.start,
                     (int)(version.size < 20 ? version.size : 20), version.start,
                     (int)(space.size < 100 ? space.size : 100), space.start);
}

/* From behind "<" to behind ">", over quoted values. True when the element is "<.../>". */
static bool skip_tag(scanner *s)
{
    char quote = '\0';
    for (; s->p < s->end; ++s->p) {
        const char c = *s->p;
        s->line += c == '\n';
        if (quote) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            ++s->p;
            return s->p[-2] == '/';
        }
    }
    return false;
}

static bool begins(piece a, const char *text)
{
    return a.size >= strlen(text) && memcmp(a.start, text, strlen(text)) == 0;
}

/* Is this the core of SBML in another level or version than the document's? */
static bool is_other_core(const scanner *s, piece space)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (is(space, known[i].space)) {
            return !is(s->space, known[i].space);
        }
    }
    return false;
}

static bool is_same_piece(piece a, piece b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.start, b.start, a.size) == 0);
}

/* The package of distributions: what it means is written so that libsbml understands it, which may
 * have been built without the package. */
static bool is_distrib(piece space)
{
    return is(space, "http://www.sbml.org/sbml/level3/version1/distrib/version1");
}

/* The package of submodels, of any version. */
static bool is_composition(piece space)
{
    static const char *const parts[] = {"http://www.sbml.org/sbml/level3/", "/comp/"};
    return begins(space, parts[0]) && memmem(space.start, space.size, parts[1], strlen(parts[1]));
}

/* A package that libsbml reads and that means nothing here, such as layout and render. One
 * that a model needs is refused by its attribute of the root, in check.c. */
static bool is_idle_package(const scanner *s, piece space)
{
    static const char level_3[] = "http://www.sbml.org/sbml/level3/";
    return begins(space, level_3) && !is_same_piece(space, s->space) && !is_composition(space);
}

/* What libsbml understands: the document's name space, MathML and, in level 3, packages of SBML. */
static bool is_understood(const scanner *s, piece space)
{
    static const char level_3[] = "http://www.sbml.org/sbml/level3/";
    if (is_distrib(space)) {
        return false;
    }
    return is_same_piece(space, s->space) || is(space, "http://www.w3.org/1998/Math/MathML") ||
           (begins(space, level_3) && begins(s->space, level_3));
}

/* The name space of a name's prefix; the default one of a name without, if it is an element's. NULL
 * start: none. */
static piece space_of(const scanner *s, piece name)
{
    const char *colon = memchr(name.start, ':', name.size);
    const piece prefix = {name.start, colon ? (size_t)(colon - name.start) : 0};
    for (int i = s->n_spaces - 1; i >= 0; --i) {
        if (is_same_piece(s->spaces[i].prefix, prefix)) {
            return s->spaces[i].uri;
        }
    }
    return (piece){NULL, 0};
}

/* The scanner's text is a copy that is libsbml's alone; lines stay where they are. */
static void blank(const char *from, const char *to)
{
    for (char *c = (char *)(uintptr_t)from; c < to; ++c) {
        *c = *c == '\n' ? '\n' : ' ';
    }
}

static void warn_skipped(sbml_reader *r, scanner *s, piece space)
{
    if (!s->has_warned) {
        r->skipped_line = s->line;
        (void)snprintf(r->skipped_space, sizeof r->skipped_space, "%.*s",
                       (int)(space.size < 150 ? space.size : 150), space.start);
        s->has_warned = true;
    }
}

/* Note the name spaces that a tag declares. A second one of SBML's core would make libsbml throw;
 * one that it does not understand, or does in another level, is taken out of its sight. */
static saltus_status bind_spaces(sbml_reader *r, scanner *s)
{
    const char *p = s->p + name_at(s->p, s->end).size;
    piece name, value;
    while (next_attribute(&p, s->end, &name, &value)) {
        if (!begins(name, "xmlns") || (name.size > 5 && name.start[5] != ':')) {
            continue;
        }
        /* "&#104;ttp://…" would hide one */
        if (is_other_core(s, value) || memmem(value.start, value.size, "&#", 2)) {
            return sbml_fail(r, SALTUS_E_SYNTAX, s->line,
                             "the name space '%.*s' has no place in this document",
                             (int)(value.size < 100 ? value.size : 100), value.start);
        }
        if (s->n_spaces == MAX_NAME_SPACES || s->n_hidden == MAX_NAME_SPACES) {
            return sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line, "more than %d name spaces",
                             MAX_NAME_SPACES);
        }
        if (is_composition(value) && !is(name, "xmlns:comp")) { /* libsbml reads what it likes */
            return sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line,
                             "the name space of the package comp has another prefix than 'comp', "
                             "which is not supported");
        }
        const size_t before = name.size > 5 ? strlen("xmlns:") : 5;
        s->spaces[s->n_spaces++] =
            (binding){s->depth, {name.start + before, name.size - before}, value};
        if (begins(value, "http://www.sbml.org/sbml/level") && !is_understood(s, value)) {
            const char *end = value.start + value.size + 1;
            s->hidden[s->n_hidden++] = (piece){name.start, (size_t)(end - name.start)};
        }
    }
    return SALTUS_OK;
}

/* Attributes of other name spaces are taken out. */
static void skip_attributes(sbml_reader *r, scanner *s)
{
    const char *p = s->p + name_at(s->p, s->end).size;
    piece name, value;
    while (next_attribute(&p, s->end, &name, &value)) {
        if (memchr(name.start, ':', name.size) && !begins(name, "xmlns:") &&
            !begins(name, "xml:")) {
            const piece space = space_of(s, name);
            if (space.start && !is_understood(s, space)) {
                if (!is_distrib(space)) { /* it says that the package is required: it is known */
                    warn_skipped(r, s, space);
                }
                blank(name.start, value.start + value.size + 1);
            }
        }
    }
}

/* Notes, annotations, messages of constraints and elements of packages such as render mean nothing
 * here, and elements of other name spaces are not understood: libsbml gets none of these. */
static void skip_element(sbml_reader *r, scanner *s)
{
    const piece name = name_at(s->p, s->end), space = space_of(s, name);
    const bool is_other = space.start && !is_understood(s, space),
               is_idle = space.start && !is_other && is_idle_package(s, space);
    if (!s->skipped && s->depth > 1 &&
        (is_other || is_idle || is_element(s->p, s->end, "annotation") ||
         is_element(s->p, s->end, "notes") || is_element(s->p, s->end, "message"))) {
        if (is_other) {
            warn_skipped(r, s, space);
        }
        s->skipped = s->p - 1;
        s->skipped_depth = s->depth;
    }
}

/* <csymbol definitionURL="…/distrib/normal"> normal </csymbol>, here at the name behind "<",
 * becomes <ci>distrib:normal</ci>, a name that no model can define. What follows stays where it is.
 */
static void rename_distribution(const scanner *s)
{
    static const char symbols[] = "http://www.sbml.org/sbml/symbols/distrib/";
    const piece tag = name_at(s->p, s->end);
    const char *colon = memchr(tag.start, ':', tag.size);
    const int prefix = colon ? (int)(colon + 1 - tag.start) : 0;
    const char *p = tag.start + tag.size;
    piece name, value, url = {.start = ""};
    char text[400];
    while (next_attribute(&p, s->end, &name, &value)) {
        url = is(name, "definitionURL") ? value : url;
    }
    if (!begins(url, symbols) || url.size - strlen(symbols) > 60 || prefix > 100) {
        return;
    }
    const char *from = s->p - 1, *close = memchr(p, '>', (size_t)(s->end - p));
    if (close && close[-1] != '/') { /* behind the text there is the tag that closes it */
        const char *next = memchr(close, '<', (size_t)(s->end - close));
        close = next && next + 1 < s->end && next[1] == '/'
                    ? memchr(next, '>', (size_t)(s->end - next))
                    : NULL;
    }
    const int n =
        snprintf(text, sizeof text, "<%.*sci>" SBML_DISTRIBUTION "%.*s</%.*sci>", prefix, tag.start,
                 (int)(url.size - strlen(symbols)), url.start + strlen(symbols), prefix, tag.start);
    if (close && n > 0 && n <= close + 1 - from) {
        char *to = (char *)(uintptr_t)from;
        int n_lines = 0; /* ends of lines in place of which there is text now */
        for (int i = 0; i < n; ++i) {
            n_lines += to[i] == '\n';
        }
        blank(from, close + 1);
        memcpy(to, text, (size_t)n);
        for (char *c = to + n; c <= close && n_lines > 0; ++c) {
            n_lines -= *c == ' ';
            *c = '\n';
        }
    }
}

/* Level 1 has formulas in attributes. */
static saltus_status check_formula(sbml_reader *r, const scanner *s)
{
    const char *p = s->p + name_at(s->p, s->end).size;
    piece name, value;
    while (next_attribute(&p, s->end, &name, &value)) {
        if (is(name, "formula") && value.size > MAX_FORMULA) {
            return sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line,
                             "a formula has more than %d characters", MAX_FORMULA);
        }
    }
    return SALTUS_OK;
}

/* Drafts of the package had elements in place of functions. */
static saltus_status check_distribution(sbml_reader *r, const scanner *s)
{
    return is_element(s->p, s->end, "drawFromDistribution") &&
                   is_distrib(space_of(s, name_at(s->p, s->end)))
               ? sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line,
                           "'drawFromDistribution', of a draft of the SBML package 'distrib', is "
                           "not supported")
               : SALTUS_OK;
}

static saltus_status open_element(sbml_reader *r, scanner *s)
{
    saltus_status status = SALTUS_OK;
    if (!s->root_seen) {
        SALTUS_TRY(check_root(r, s->p, s->end, s->line, &s->space));
        s->root_seen = true;
    }
    ++s->depth;
    SALTUS_TRY(bind_spaces(r, s));
    SALTUS_TRY(check_formula(r, s));
    SALTUS_TRY(check_distribution(r, s));
    skip_element(r, s);
    if (!s->skipped) {
        skip_attributes(r, s);
    }
    if (s->math_depth && is_element(s->p, s->end, "csymbol")) {
        rename_distribution(s);
    }
    if (s->depth > MAX_XML_DEPTH) {
        status = sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line,
                           "elements are nested more than %d deep", MAX_XML_DEPTH);
        goto done;
    }
    if (!s->math_depth && is_element(s->p, s->end, "math")) {
        s->math_depth = s->depth;
        s->n_elements = 0;
    }
    if (s->math_depth && ++s->n_elements > MAX_MATH_ELEMENTS) {
        status = sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line, "a formula has more than %d elements",
                           MAX_MATH_ELEMENTS);
        goto done;
    }
done:
    return status;
}

/* The tag that closes an element is passed. */
static void close_element(scanner *s)
{
    if (s->math_depth == s->depth) {
        s->math_depth = 0;
    }
    if (s->skipped && s->skipped_depth == s->depth) {
        blank(s->skipped, s->p);
        s->skipped = NULL;
    }
    while (s->n_spaces > 0 && s->spaces[s->n_spaces - 1].depth == s->depth) {
        --s->n_spaces;
    }
    s->depth -= s->depth > 0;
}

/* In an encoding such as UTF-7, elements could pass unseen here. */
static saltus_status check_encoding(sbml_reader *r, const char *p, const char *end)
{
    static const char *const known_encodings[] = {"utf-8", "utf8", "us-ascii", "ascii",
                                                  "iso-8859-1"};
    piece name, value;
    p += strlen("<?xml");
    while (next_attribute(&p, end, &name, &value)) {
        bool found = !is(name, "encoding");
        for (size_t i = 0; i < sizeof known_encodings / sizeof *known_encodings; ++i) {
            found = found || (value.size == strlen(known_encodings[i]) &&
                              strncasecmp(value.start, known_encodings[i], value.size) == 0);
        }
        if (!found) {
            return sbml_fail(r, SALTUS_E_UNSUPPORTED, 1, "the encoding '%.*s' is not supported",
                             (int)(value.size < 40 ? value.size : 40), value.start);
        }
    }
    return SALTUS_OK;
}

static saltus_status check_markup(sbml_reader *r, scanner *s)
{
    saltus_status status = SALTUS_OK;
    while (s->p < s->end) {
        if (*s->p != '<') {
            s->line += *s->p++ == '\n';
        } else if (starts(s, "<!--")) {
            s->p += strlen("<!--"); /* "<!-->" is no whole comment */
            skip_past(s, "-->");
        } else if (starts(s, "<![CDATA[")) {
            skip_past(s, "]]>");
        } else if (starts(s, "<?>") || starts(s, "<??")) {
            return sbml_fail(r, SALTUS_E_SYNTAX, s->line, "an instruction without a name");
        } else if (starts(s, "<?")) {
            skip_past(s, "?>");
        } else if (starts(s, "<!")) {
            return sbml_fail(r, SALTUS_E_SYNTAX, s->line,
                             "SBML has no document type declarations and entities");
        } else if (starts(s, "</")) {
            (void)skip_tag(s);
            close_element(s);
        } else {
            ++s->p;
            SALTUS_TRY(open_element(r, s));
            if (skip_tag(s)) {
                close_element(s);
            }
        }
    }
    for (int i = 0; i < s->n_hidden; ++i) {
        blank(s->hidden[i].start, s->hidden[i].start + s->hidden[i].size);
    }
done:
    return status;
}

saltus_status sbml_check_text(sbml_reader *r, char *text, size_t size)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    scanner *s = saltus_calloc(1, sizeof *s);
    SALTUS_NEED(s);
    *s = (scanner){.p = text, .end = text + size, .line = 1};
    if (memchr(text, '\0', size)) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "not a text in UTF-8: it has a zero byte");
        goto done;
    }
    SALTUS_TRY(check_encoding(r, text, s->end));
    const char *behind = memmem(text, size, "?>", 2);
    if (behind && skip_blanks(behind + 2, s->end) == s->end) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "the file is empty");
        goto done;
    }
    SALTUS_TRY(check_markup(r, s));
done:
    saltus_free(s);
    return status;
}
