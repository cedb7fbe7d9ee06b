/* What libsbml has found wrong in a document, and what it has passed over. */
#include "read/sbml/sbml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* Functions that came with level 3 version 2, in a document of an earlier one. */
static bool is_later_function(const XMLError_t *e)
{
    static const char *const functions[] = {"<max> is", "<min> is", "<rem> is", "<quotient> is",
                                            "<implies> is"}; /* not valid here */
    const char *text = XMLError_getMessage(e);
    bool is = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && text; ++i) {
        is |= XMLError_getErrorId(e) == DisallowedMathMLSymbol && strstr(text, functions[i]);
    }
    return is;
}

/* Errors about what does not change the meaning: a declaration without an encoding, notes, messages
 * of constraints, annotations and their names, SBO terms, lists without an element, packages that
 * need not be understood, and what is understood all the same. */
static bool is_harmless(const XMLError_t *e)
{
    enum { FIRST_OF_PACKAGES = 1000000 };
    const unsigned id = XMLError_getErrorId(e);
    return is_later_function(e) || id == MissingXMLDecl || id == MissingXMLEncoding ||
           id == NotUTF8 || (id >= DuplicateMetaId && id <= InvalidMetaidSyntax) ||
           (id >= ConstraintNotInXHTMLNamespace && id <= InvalidConstraintContent) ||
           id == EmptyListElement || id == EmptyListInReaction || id == EmptyListInKineticLaw ||
           (id >= 10401 && id <= 10499) || (id >= 10701 && id <= 10899) || id >= FIRST_OF_PACKAGES;
}

/* Message i of the document's, or NULL: it is no error. */
static const XMLError_t *error_at(const sbml_reader *r, unsigned i)
{
    const XMLError_t *e = (const XMLError_t *)SBMLDocument_getError(r->document, i);
    return e && (XMLError_isError(e) || XMLError_isFatal(e)) ? e : NULL;
}

static saltus_status check_errors(sbml_reader *r)
{
    const unsigned n = SBMLDocument_getNumErrors(r->document);
    for (unsigned i = 0; i < n; ++i) {
        const XMLError_t *e = error_at(r, i);
        if (!e || is_harmless(e)) {
            continue;
        }
        char text[400];
        condense(e, text, sizeof text);
        const saltus_status status = sbml_fail(
            r, XMLError_getCategory(e) == LIBSBML_CAT_XML ? SALTUS_E_SYNTAX : SALTUS_E_MODEL,
            XMLError_getLine(e), "%s", text);
        if (XMLError_getErrorId(e) == FailedMathMLReadOfInteger) {
            saltus_error_hint(r->err, "an integer above 2^31 - 1 is written as a real: without "
                                      "type=\"integer\"");
        }
        return status;
    }
    if (!r->sbml) {
        return sbml_fail(r, SALTUS_E_MODEL, 0, "the document has no model");
    }
    return SALTUS_OK;
}

/* "comp" of "http://www.sbml.org/sbml/level3/version1/comp/version1" */
static void package_of(const char *uri, char name[100])
{
    const char *end = strrchr(uri, '/');
    const char *start = end;
    while (start > uri && start[-1] != '/') {
        --start;
    }
    (void)snprintf(name, 100, "%.*s", (int)(end - start), start);
}

/* Is it that of submodels, and does libsbml have it? */
static bool is_composition(const sbml_reader *r, const char *package)
{
    return strcmp(package, "comp") == 0 && SBase_getPlugin((SBase_t *)r->document, "comp");
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
            char package[100];
            package_of(uri, package);
            if (strcmp(package, "l3v2extendedmath") != 0 && !is_composition(r, package)) {
                status = sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(r->document),
                                   "the model needs the SBML package '%s', which is not supported",
                                   package);
            }
        }
        free(uri);
    }
    return status;
}

/* What libsbml cannot parse of a formula of level 1 it passes over in silence. */
static saltus_status check_parsed(sbml_reader *r, const void *element, const char *formula,
                                  const ASTNode_t *math)
{
    return math ? SALTUS_OK
                : sbml_fail(r, SALTUS_E_SYNTAX, sbml_line(element),
                            "the formula '%.200s' is not one of SBML Level 1",
                            formula ? formula : "");
}

static saltus_status check_formulas(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < Model_getNumReactions(r->sbml); ++i) {
        KineticLaw_t *law = Reaction_getKineticLaw(Model_getReaction(r->sbml, i));
        if (law) {
            SALTUS_TRY(check_parsed(r, law, KineticLaw_getFormula(law), KineticLaw_getMath(law)));
        }
    }
    for (unsigned i = 0; i < Model_getNumRules(r->sbml); ++i) {
        Rule_t *rule = Model_getRule(r->sbml, i);
        SALTUS_TRY(check_parsed(r, rule, Rule_getFormula(rule), Rule_getMath(rule)));
    }
done:
    return status;
}

saltus_status sbml_check_flattened(sbml_reader *r, bool done, unsigned before)
{
    char text[400];
    for (unsigned i = SBMLDocument_getNumErrors(r->document); i > before; --i) {
        const XMLError_t *e = error_at(r, i - 1);
        if (e) {
            condense(e, text, sizeof text);
            return sbml_fail(r, SALTUS_E_MODEL, XMLError_getLine(e),
                             "the submodels cannot be flattened: %s", text);
        }
    }
    return done ? SALTUS_OK : sbml_fail(r, SALTUS_E_MODEL, 0, "the submodels cannot be flattened");
}

saltus_status sbml_check_document(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check_packages(r));
    SALTUS_TRY(check_errors(r));
    if (r->level == 1) {
        SALTUS_TRY(check_formulas(r));
    }
done:
    return status;
}
