#include "read/read.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/stack.h"
#include "core/utf8.h"
#include "model/network/model.h"
#include "read/gzip.h"

#include <math.h>
#include <string.h>

/* Length of a name without this ending, which not all of it is. */
static size_t length_without(const char *name, const char *ending)
{
    const size_t n = strlen(name), k = strlen(ending);
    return n > k && strcmp(name + n - k, ending) == 0 ? n - k : n;
}

saltus_status saltus_model_begin(const saltus_source_text *source, saltus_model **out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    char *name = NULL;
    if (source->size == 0) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "%s: the file is empty", source->name);
    }
    name = saltus_strdup(saltus_base_name(source->name));
    SALTUS_NEED(name);
    name[length_without(name, ".gz")] = '\0';
    char *dot = strrchr(name, '.');
    if (dot && dot != name) {
        *dot = '\0';
    }
    saltus_utf8_mend(name); /* a file's name may be anything */
    SALTUS_TRY(saltus_model_create(name, &m, err));
    m->path = saltus_strdup(source->name);
    SALTUS_NEED(m->path);
    m->mole = source->mole > 0.0 ? source->mole : m->mole;
    saltus_sha256_hex(source->text, source->size, m->sha256);
    *out = m;
    m = NULL;
done:
    saltus_model_destroy(m);
    saltus_free(name);
    return status;
}

saltus_status saltus_check_mole(const saltus_source_text *source, const saltus_model *model,
                                saltus_error *err)
{
    if (source->mole == 0.0 || model->has_moles) {
        return SALTUS_OK;
    }
    saltus_error_set(
        err, SALTUS_E_INVALID,
        "%.200s: nothing in it is given in mole, so %g molecules per mole would change "
        "nothing",
        source->name, source->mole);
    saltus_error_hint(err, "`volume` changes the sizes of compartments, `set` amounts");
    return SALTUS_E_INVALID;
}

typedef struct parsing {
    saltus_model_parser *parse;
    const saltus_source_text *source;
    saltus_model **out;
} parsing;

static saltus_status parse_here(void *user, saltus_error *err)
{
    const parsing *p = user;
    return p->parse(p->source, p->out, err);
}

saltus_status saltus_parse_on_stack(saltus_model_parser *parse, const saltus_source_text *source,
                                    saltus_model **out, saltus_error *err)
{
    parsing p = {parse, source, out};
    return saltus_with_stack(parse_here, &p, err);
}

/* ------------------------------------------------------------------------------------------------
 * The format
 */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Whether a line, blanks at its start left out, starts with a word. */
static bool line_starts(const char *line, const char *end, const char *word)
{
    while (line < end && is_blank(*line)) {
        ++line;
    }
    const size_t n = strlen(word);
    return (size_t)(end - line) >= n && memcmp(line, word, n) == 0;
}

/* Whether the text has a line "begin parameters", "begin species" …, as no YAML model has. */
static bool looks_like_net(const char *text, size_t size)
{
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        const char *c = line;
        while (c < line_end && is_blank(*c)) {
            ++c;
        }
        if (line_starts(c, line_end, "begin") && c + 5 < line_end && is_blank(c[5])) {
            return true;
        }
        line = line_end + 1;
    }
    return false;
}

static bool looks_binary(const char *text, size_t size)
{
    const size_t n = size < 4096 ? size : 4096;
    size_t n_odd = 0;
    for (size_t i = 0; i < n; ++i) {
        const unsigned char c = (unsigned char)text[i];
        if (c == 0) {
            return true;
        }
        n_odd += (c < ' ' && !is_blank((char)c)) || c == 0x7f;
    }
    return n_odd * 20 > n;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = length_without(path, ".gz"), k = strlen(ending);
    return n >= k && memcmp(path + n - k, ending, k) == 0;
}

/* The parser for a text. Content comes first, because files are renamed; the ending decides where
 * the content does not. A UTF-16 text, which only XML may be, starts with a byte order mark. */
static saltus_model_parser *choose_parser(const char *path, const char *text, size_t size)
{
    const char *c = text, *end = text + size;
    if (size >= 2 && (memcmp(c, "\xff\xfe", 2) == 0 || memcmp(c, "\xfe\xff", 2) == 0)) {
        return saltus_parse_sbml;
    }
    if (size >= 3 && memcmp(c, "\xef\xbb\xbf", 3) == 0) {
        c += 3;
    }
    if (line_starts(c, end, "<")) {
        return saltus_parse_sbml;
    }
    if (looks_binary(text, size)) {
        return NULL;
    }
    if (looks_like_net(c, (size_t)(end - c))) {
        return saltus_parse_net;
    }
    return ends_with(path, ".xml") || ends_with(path, ".sbml") ? saltus_parse_sbml
           : ends_with(path, ".net")                           ? saltus_parse_net
                                                               : saltus_parse_yaml;
}

/* ------------------------------------------------------------------------------------------------
 * Entries: texts and files, of any format or of one
 */

saltus_read_options saltus_read_options_default(void)
{
    return (saltus_read_options){.molecules_per_mole = 0.0};
}

/* parse: NULL to be chosen by content and name. */
static saltus_status parse_text(saltus_model_parser *parse, const char *text, size_t size,
                                const char *name, const saltus_read_options *options,
                                saltus_model **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_source_text source = {text, size, name ? name : "model",
                                       options ? options->molecules_per_mole : 0.0,
                                       options ? options->archive : NULL};
    if ((!text && size > 0) || !out) {
        SALTUS_TRY(saltus_no_argument(err, "saltus_model_parse"));
    }
    if (!(isfinite(source.mole) && source.mole >= 0.0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%g molecules per mole: a number above 0 is needed",
                    source.mole);
    }
    if (!parse && (!text || size == 0)) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "%s: the file is empty", source.name);
    }
    parse = parse ? parse : choose_parser(source.name, text, size);
    if (!parse) {
        static const char hdf5[] = "\x89HDF\r\n\x1a\n"; /* HDF5 File Format Specification, II.A */
        const bool is_hdf5 = size >= sizeof hdf5 && memcmp(text, hdf5, sizeof hdf5 - 1) == 0;
        status =
            saltus_error_set(err, SALTUS_E_SYNTAX, "%s: this is %s", source.name,
                             is_hdf5 ? "a file of HDF5, as results are, and no model" : "no text");
        saltus_error_hint(err, is_hdf5 ? "saltus stats, report, plot and export read results"
                                       : "models are SBML, Saltus YAML or BioNetGen's .net");
        goto done;
    }
    SALTUS_TRY(parse(&source, out, err));
done:
    return status;
}

/* Of any format, packed or not. */
static saltus_status parse_any(const char *text, size_t size, const char *name,
                               const saltus_read_options *options, saltus_model **out,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *unpacked = NULL;
    name = name ? name : "model";
    if (text && saltus_is_gzip(text, size)) {
        SALTUS_TRY(saltus_gunzip(text, size, name, &unpacked, &size, err));
        text = unpacked;
    }
    SALTUS_TRY(parse_text(NULL, text, size, name, options, out, err));
done:
    saltus_free(unpacked);
    return status;
}

static saltus_status read_file(saltus_model_parser *parse, const char *path,
                               const saltus_read_options *options, saltus_model **out,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL;
    size_t size = 0;
    if (!path || !out) {
        SALTUS_TRY(saltus_no_argument(err, "saltus_model_read"));
    }
    SALTUS_TRY(saltus_read_text(options ? options->archive : NULL, path, &text, &size, err));
    SALTUS_TRY(parse_text(parse, text, size, path, options, out, err));
done:
    saltus_free(text);
    return status;
}

saltus_status saltus_model_read(const char *path, saltus_model **out, saltus_error *err)
{
    return read_file(NULL, path, NULL, out, err);
}

saltus_status saltus_model_read_with(const char *path, const saltus_read_options *options,
                                     saltus_model **out, saltus_error *err)
{
    return read_file(NULL, path, options, out, err);
}

saltus_status saltus_model_parse(const char *text, size_t size, const char *name,
                                 saltus_model **out, saltus_error *err)
{
    return parse_any(text, size, name, NULL, out, err);
}

saltus_status saltus_model_parse_with(const char *text, size_t size, const char *name,
                                      const saltus_read_options *options, saltus_model **out,
                                      saltus_error *err)
{
    return parse_any(text, size, name, options, out, err);
}

saltus_status saltus_model_read_sbml(const char *path, saltus_model **out, saltus_error *err)
{
    return read_file(saltus_parse_sbml, path, NULL, out, err);
}

saltus_status saltus_model_read_yaml(const char *path, saltus_model **out, saltus_error *err)
{
    return read_file(saltus_parse_yaml, path, NULL, out, err);
}

saltus_status saltus_model_read_net(const char *path, saltus_model **out, saltus_error *err)
{
    return read_file(saltus_parse_net, path, NULL, out, err);
}

saltus_status saltus_model_parse_sbml(const char *text, size_t size, const char *name,
                                      saltus_model **out, saltus_error *err)
{
    return parse_text(saltus_parse_sbml, text, size, name ? name : "SBML", NULL, out, err);
}

saltus_status saltus_model_parse_yaml(const char *text, size_t size, const char *name,
                                      saltus_model **out, saltus_error *err)
{
    return parse_text(saltus_parse_yaml, text, size, name, NULL, out, err);
}

saltus_status saltus_model_parse_net(const char *text, size_t size, const char *name,
                                     saltus_model **out, saltus_error *err)
{
    return parse_text(saltus_parse_net, text, size, name, NULL, out, err);
}
