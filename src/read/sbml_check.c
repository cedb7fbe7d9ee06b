#include "read/sbml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libsbml and the expressions made from its trees recurse once per level, and libsbml turns a sum
 * of n terms into a tree of depth n. These bounds leave most of a stack of 8 MiB free. */
enum { MAX_XML_DEPTH = 1000, MAX_MATH_ELEMENTS = 50000 };

/* A part of the text. */
typedef struct piece {
    const char *start;
    size_t size;
} piece;

typedef struct scanner {
    const char *p, *end;
    unsigned line;
    int depth;
    int math_depth; /* depth of the open <math>, 0: none */
    int n_elements; /* since it was opened */
    bool root_seen;
    piece space; /* of the root */
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

/* Is this a name space of SBML other than the document's? Packages belong to level 3. */
static bool is_foreign(const scanner *s, piece space)
{
    static const char sbml[] = "http://www.sbml.org/sbml/level";
    static const char level_3[] = "http://www.sbml.org/sbml/level3/";
    if (space.size == s->space.size &&
        (space.size == 0 || memcmp(space.start, s->space.start, space.size) == 0)) {
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (is(space, known[i].space)) {
            return true;
        }
    }
    return begins(space, sbml) && !(begins(space, level_3) && begins(s->space, level_3));
}

/* A second name space of SBML makes libsbml throw too, on any element. */
static saltus_status check_spaces(sbml_reader *r, const scanner *s)
{
    const char *p = s->p + name_at(s->p, s->end).size;
    piece name, value;
    while (next_attribute(&p, s->end, &name, &value)) {
        if (!begins(name, "xmlns")) {
            continue;
        }
        /* "&#104;ttp://…" would hide one */
        if (is_foreign(s, value) || memmem(value.start, value.size, "&#", 2)) {
            return sbml_fail(r, SALTUS_E_SYNTAX, s->line,
                             "the name space '%.*s' has no place in this document",
                             (int)(value.size < 100 ? value.size : 100), value.start);
        }
    }
    return SALTUS_OK;
}

static saltus_status open_element(sbml_reader *r, scanner *s)
{
    saltus_status status = SALTUS_OK;
    if (!s->root_seen) {
        SALTUS_TRY(check_root(r, s->p, s->end, s->line, &s->space));
        s->root_seen = true;
    }
    SALTUS_TRY(check_spaces(r, s));
    ++s->depth;
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

static void close_element(scanner *s)
{
    if (s->math_depth == s->depth) {
        s->math_depth = 0;
    }
    s->depth -= s->depth > 0;
}

/* In an encoding such as UTF-7, elements could pass unseen here. */
static saltus_status check_encoding(sbml_reader *r, const char *p, const char *end)
{
    static const char *const known_encodings[] = {"utf-8", "us-ascii", "iso-8859-1"};
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

saltus_status sbml_check_text(sbml_reader *r, const char *text, size_t size)
{
    saltus_status status = SALTUS_OK;
    scanner s = {.p = text, .end = text + size, .line = 1};

    if (memchr(text, '\0', size)) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "not a text in UTF-8: it has a zero byte");
        goto done;
    }
    if (skip_blanks(s.p, s.end) == s.end) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "the file is empty");
        goto done;
    }
    if (starts(&s, "\xef\xbb\xbf")) {
        s.p += 3;
    }
    if (starts(&s, "<?xml")) {
        SALTUS_TRY(check_encoding(r, s.p, s.end));
    }
    while (s.p < s.end) {
        if (*s.p != '<') {
            s.line += *s.p++ == '\n';
        } else if (starts(&s, "<!--")) {
            skip_past(&s, "-->");
        } else if (starts(&s, "<![CDATA[")) {
            skip_past(&s, "]]>");
        } else if (starts(&s, "<?")) {
            skip_past(&s, "?>");
        } else if (starts(&s, "<!")) {
            status = sbml_fail(r, SALTUS_E_SYNTAX, s.line,
                               "SBML has no document type declarations and entities");
            goto done;
        } else if (starts(&s, "</")) {
            close_element(&s);
            (void)skip_tag(&s);
        } else {
            ++s.p;
            SALTUS_TRY(open_element(r, &s));
            if (skip_tag(&s)) {
                close_element(&s);
            }
        }
    }
done:
    return status;
}

/* libsbml's messages quote the specification over several lines, then may add a line about the case
 * at hand: keep its title and that line, or the message where it is short. */
static void condense(const XMLError_t *error, char *out, size_t size)
{
    enum { SHORT = 160 };
    const char *title = XMLError_getShortMessage(error);
    const char *text = XMLError_getMessage(error);
    const char *detail = text ? strchr(text, '\n') : NULL;
    const size_t first_line = detail ? (size_t)(detail - text) : text ? strlen(text) : 0;
    while (detail && (isspace((unsigned char)*detail) || strncmp(detail, "Reference:", 10) == 0)) {
        detail = isspace((unsigned char)*detail) ? detail + 1 : strchr(detail, '\n');
    }
    if (!detail || !*detail) {
        const bool use_text = first_line > 0 && first_line < SHORT;
        (void)snprintf(out, size, "%.*s", SHORT, use_text ? text : title ? title : "not valid");
        out[use_text ? first_line : strlen(out)] = '\0';
    } else {
        (void)snprintf(out, size, "%s: %s", title ? title : "not valid", detail);
    }
    size_t n = 0;
    for (const char *p = out; *p; ++p) { /* runs of white space become one space, ends none */
        if (!isspace((unsigned char)*p)) {
            out[n++] = *p;
        } else if (n > 0 && out[n - 1] != ' ') {
            out[n++] = ' ';
        }
    }
    while (n > 0 && (out[n - 1] == ' ' || out[n - 1] == '.')) {
        --n;
    }
    out[n] = '\0';
}

/* Errors about what does not change the meaning: a declaration without an encoding, notes,
 * annotations, SBO terms, and packages that need not be understood. */
static bool is_harmless(unsigned id)
{
    enum { FIRST_OF_PACKAGES = 1000000 };
    return id == MissingXMLDecl || id == MissingXMLEncoding || id == NotUTF8 ||
           (id >= 10401 && id <= 10499) || (id >= 10701 && id <= 10899) || id >= FIRST_OF_PACKAGES;
}

static saltus_status check_errors(sbml_reader *r)
{
    const unsigned n = SBMLDocument_getNumErrors(r->document);
    for (unsigned i = 0; i < n; ++i) {
        const XMLError_t *e = (const XMLError_t *)SBMLDocument_getError(r->document, i);
        if (!e || !(XMLError_isError(e) || XMLError_isFatal(e)) ||
            is_harmless(XMLError_getErrorId(e))) {
            continue;
        }
        char text[400];
        condense(e, text, sizeof text);
        return sbml_fail(
            r, XMLError_getCategory(e) == LIBSBML_CAT_XML ? SALTUS_E_SYNTAX : SALTUS_E_MODEL,
            XMLError_getLine(e), "%s", text);
    }
    if (!r->sbml) {
        return sbml_fail(r, SALTUS_E_MODEL, 0, "the document has no model");
    }
    return SALTUS_OK;
}

/* "comp" of "http://www.sbml.org/sbml/level3/version1/comp/version1" */
static piece package_of(const char *uri)
{
    const char *end = strrchr(uri, '/');
    const char *start = end;
    while (start > uri && start[-1] != '/') {
        --start;
    }
    return (piece){.start = start, .size = (size_t)(end - start)};
}

/* A package says by required="true" that it changes what the model means. Name spaces of level 2
 * extensions look required to libsbml, but are annotations; that of the mathematics of L3V2 brings
 * functions which are read anyway. */
static saltus_status check_packages(sbml_reader *r)
{
    static const char level_3[] = "http://www.sbml.org/sbml/level3/";
    saltus_status status = SALTUS_OK;
    const XMLNamespaces_t *all = SBMLDocument_getNamespaces(r->document);
    const int n = all ? XMLNamespaces_getLength(all) : 0;
    for (int i = 0; i < n && status == SALTUS_OK; ++i) {
        char *uri = XMLNamespaces_getURI(all, i);
        if (uri && strncmp(uri, level_3, sizeof level_3 - 1) == 0 &&
            strcmp(strrchr(uri, '/'), "/core") != 0 &&
            SBMLDocument_getPackageRequired(r->document, uri)) {
            const piece package = package_of(uri);
            if (!is(package, "l3v2extendedmath")) {
                status =
                    sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(r->document),
                              "the model needs the SBML package '%.*s', which is not supported",
                              (int)(package.size < 100 ? package.size : 100), package.start);
            }
            if (is(package, "comp")) {
                saltus_error_hint(r->err, "flatten the model's submodels first");
            }
        }
        free(uri);
    }
    return status;
}

saltus_status sbml_check_document(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    if (r->level == 1) {
        status = sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(r->document),
                           "SBML Level 1 is not supported");
        saltus_error_hint(r->err, "convert the model to SBML Level 2 or 3");
        goto done;
    }
    SALTUS_TRY(check_packages(r));
    SALTUS_TRY(check_errors(r));
done:
    return status;
}
