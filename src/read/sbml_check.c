#include "read/sbml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* libsbml and the expressions made from its trees recurse once per level, and libsbml turns a sum
 * of n terms into a tree of depth n. These bounds leave most of a stack of 8 MiB free. */
enum { MAX_XML_DEPTH = 1000, MAX_MATH_ELEMENTS = 50000 };

typedef struct scanner {
    const char *p, *end;
    unsigned line;
    int depth;
    int math_depth; /* depth of the open <math>, 0: none */
    int n_elements; /* since it was opened */
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

/* Is the element whose name starts here called `name`, with any prefix? */
static bool is_element(const char *p, const char *end, const char *name)
{
    const char *start = p;
    while (p < end && !isspace((unsigned char)*p) && *p != '>' && *p != '/') {
        if (*p++ == ':') {
            start = p;
        }
    }
    return (size_t)(p - start) == strlen(name) && memcmp(start, name, strlen(name)) == 0;
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

static saltus_status open_element(sbml_reader *r, scanner *s)
{
    ++s->depth;
    if (s->depth > MAX_XML_DEPTH) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line, "elements are nested more than %d deep",
                         MAX_XML_DEPTH);
    }
    if (!s->math_depth && is_element(s->p, s->end, "math")) {
        s->math_depth = s->depth;
        s->n_elements = 0;
    }
    if (s->math_depth && ++s->n_elements > MAX_MATH_ELEMENTS) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, s->line, "a formula has more than %d elements",
                         MAX_MATH_ELEMENTS);
    }
    return SALTUS_OK;
}

static void close_element(scanner *s)
{
    if (s->math_depth == s->depth) {
        s->math_depth = 0;
    }
    s->depth -= s->depth > 0;
}

saltus_status sbml_check_text(sbml_reader *r, const char *text, size_t size)
{
    saltus_status status = SALTUS_OK;
    scanner s = {.p = text, .end = text + size, .line = 1};

    if (memchr(text, '\0', size)) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "not a text in UTF-8: it has a zero byte");
        goto done;
    }
    while (s.p < s.end && isspace((unsigned char)*s.p)) {
        s.line += *s.p++ == '\n';
    }
    if (s.p == s.end) {
        status = sbml_fail(r, SALTUS_E_SYNTAX, 0, "the file is empty");
        goto done;
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
        if (XMLError_getErrorId(e) == NotSchemaConformant && !r->sbml) {
            break; /* some other XML */
        }
        char text[400];
        condense(e, text, sizeof text);
        return sbml_fail(
            r, XMLError_getCategory(e) == LIBSBML_CAT_XML ? SALTUS_E_SYNTAX : SALTUS_E_MODEL,
            XMLError_getLine(e), "%s", text);
    }
    if (!r->sbml) {
        return sbml_fail(r, SALTUS_E_SYNTAX, 0, "not an SBML document with a model");
    }
    return SALTUS_OK;
}

/* A package says by required="true" that it changes what the model means. Namespaces of level 2
 * extensions look required to libsbml, but are annotations. */
static saltus_status check_packages(sbml_reader *r)
{
    static const char core[] = "http://www.sbml.org/sbml/level3/";
    saltus_status status = SALTUS_OK;
    const XMLNamespaces_t *all = SBMLDocument_getNamespaces(r->document);
    const int n = all ? XMLNamespaces_getLength(all) : 0;
    for (int i = 0; i < n && status == SALTUS_OK; ++i) {
        char *uri = XMLNamespaces_getURI(all, i);
        char *prefix = XMLNamespaces_getPrefix(all, i);
        const char *tail = uri ? strrchr(uri, '/') : NULL;
        if (uri && strncmp(uri, core, sizeof core - 1) == 0 && strcmp(tail, "/core") != 0 &&
            SBMLDocument_getPackageRequired(r->document, uri)) {
            status = sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(r->document),
                               "the model needs the SBML package '%s', which is not supported",
                               prefix && *prefix ? prefix : uri);
            if (prefix && strcmp(prefix, "comp") == 0) {
                saltus_error_hint(r->err, "flatten the model's submodels first");
            }
        }
        free(uri);
        free(prefix);
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
