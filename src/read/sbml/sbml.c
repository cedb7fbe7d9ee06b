#include "read/read.h"
#include "read/sbml/sbml.h"
#include "read/sbml/guard.h"

#include "core/file.h"
#include "core/lock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

saltus_status sbml_fail(sbml_reader *r, saltus_status code, unsigned line, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (line) {
        return saltus_error_set(r->err, code, "%.200s:%u: %s", r->path, line, text);
    }
    return saltus_error_set(r->err, code, "%.200s: %s", r->path, text);
}

void sbml_warn(sbml_reader *r, unsigned line, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (line) {
        saltus_model_warn(r->model, "%.200s:%u: %s", r->path, line, text);
    } else {
        saltus_model_warn(r->model, "%.200s: %s", r->path, text);
    }
}

saltus_status sbml_note_mean_only(sbml_reader *r, unsigned line, const char *format, ...)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char text[500], whole[800];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!r->model->mean_only) {
        const int n = snprintf(whole, sizeof whole, "%.200s:%u: %s", r->path, line, text);
        r->model->mean_only = saltus_arena_strndup(&r->model->arena, whole, (size_t)n);
        SALTUS_NEED(r->model->mean_only);
    }
done:
    return status;
}

unsigned sbml_line(const void *element)
{
    return SBase_getLine(element);
}

const sbml_symbol *sbml_find(const sbml_reader *r, const char *id)
{
    const int i = saltus_map_get(&r->names, id);
    return i < 0 ? NULL : &r->symbols[i];
}

void sbml_hint_nearest(sbml_reader *r, const char *id)
{
    const char *nearest = saltus_model_nearest(r->model, id);
    if (nearest && r->err) {
        saltus_error_hint(r->err, "did you mean '%.150s'?", nearest);
    }
}

static saltus_status open_document(sbml_reader *r, const char *text)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    r->reader = SBMLReader_create();
    SALTUS_NEED(r->reader);
    r->document = SBMLReader_readSBMLFromString(r->reader, text);
    SALTUS_NEED(r->document);
    r->sbml = SBMLDocument_getModel(r->document);
    r->level = SBMLDocument_getLevel(r->document);
    r->version = SBMLDocument_getVersion(r->document);
done:
    return status;
}

static const char *name_of_model(const sbml_reader *r)
{
    if (Model_isSetId(r->sbml) && *Model_getId(r->sbml)) {
        return Model_getId(r->sbml);
    }
    if (Model_isSetName(r->sbml) && *Model_getName(r->sbml)) {
        return Model_getName(r->sbml);
    }
    return saltus_base_name(r->path);
}

/* A text, as it came and as libsbml gets it. */
typedef struct sbml_text {
    sbml_reader *reader;
    const saltus_source_text *source;
    char *copy;
    size_t copy_size;
    saltus_status status;
} sbml_text;

/* Fill the model in. */
static saltus_status parse(sbml_reader *r, sbml_text *t)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;

    SALTUS_TRY(sbml_check_text(r, t->copy, t->copy_size));
    SALTUS_TRY(open_document(r, t->copy));
    saltus_free(t->copy); /* libsbml's document takes 16 times as much */
    t->copy = NULL;
    SALTUS_TRY(sbml_check_document(r));
    SALTUS_TRY(saltus_model_create(name_of_model(r), &r->model, err));
    SALTUS_TRY(sbml_flatten(r));
    saltus_sha256_hex(t->source->size > 0 ? t->source->text : "", t->source->size,
                      r->model->sha256);
    r->is_mole_given = t->source->mole > 0.0;
    r->model->mole = r->is_mole_given ? t->source->mole : r->model->mole;
    r->model->path = saltus_strdup(r->path);
    SALTUS_NEED(r->model->path);
    if (r->skipped_line > 0) {
        sbml_warn(r, r->skipped_line,
                  "elements and attributes of other name spaces are skipped, such as those of '%s'",
                  r->skipped_space);
    }
    SALTUS_TRY(sbml_read_model(r));
    SALTUS_TRY(saltus_check_mole(t->source, r->model, err));
done:
    return status;
}

static void parse_unguarded(void *user)
{
    sbml_text *t = user;
    t->status = parse(t->reader, t);
}

static saltus_status parse_guarded(sbml_text *t)
{
    char what[200];
    saltus_error *err = t->reader->err;
    if (!sbml_guard(parse_unguarded, t, what, sizeof what)) {
        return t->status;
    }
    return what[0] ? saltus_error_set(err, SALTUS_E_UNSUPPORTED, "%.200s: libsbml gives up: %s",
                                      t->reader->path, what)
                   : saltus_error_set(err, SALTUS_E_NO_MEMORY, "%.200s: memory ran out",
                                      t->reader->path);
}

/* A copy that ends with a zero, without a byte order mark, which libsbml does not take, and with an
 * XML declaration: libsbml would add one on a line of its own, and all lines would be wrong. */
static char *prepare(const char *text, size_t size, size_t *copy_size)
{
    static const char mark[] = "\xef\xbb\xbf", start[] = "<?xml",
                      declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    if (size >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0) {
        text += sizeof mark - 1;
        size -= sizeof mark - 1;
    }
    const bool declared = size >= sizeof start - 1 && memcmp(text, start, sizeof start - 1) == 0;
    const size_t before = declared ? 0 : sizeof declaration - 1;
    char *copy = saltus_calloc(before + size + 1, 1);
    *copy_size = before + size;
    if (copy) {
        memcpy(copy, declaration, before);
        memcpy(copy + before, text, size);
    }
    return copy;
}

static saltus_status parse_text(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_error own = {.code = SALTUS_OK};
    sbml_reader r = {.err = err ? err : &own, .path = source->name};

    sbml_text t = {.reader = &r, .source = source};
    t.copy = prepare(source->size > 0 ? source->text : "", source->size, &t.copy_size);
    SALTUS_NEED(t.copy);
    saltus_lock(SALTUS_LIBSBML);
    status = parse_guarded(&t);
    ConversionProperties_free(r.how);
    SBMLDocument_free(r.document);
    SBMLReader_free(r.reader);
    saltus_unlock(SALTUS_LIBSBML);
    if (status == SALTUS_OK) {
        *out = r.model;
        r.model = NULL;
    }
done:
    saltus_free(t.copy);
    free(r.model_ref);
    saltus_free(r.symbols);
    saltus_free(r.info);
    saltus_free(r.references);
    saltus_free(r.locals);
    saltus_free(r.stoichiometries);
    saltus_map_free(&r.names);
    saltus_map_free(&r.factors);
    saltus_model_destroy(r.model);
    return status;
}

saltus_status saltus_parse_sbml(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    return saltus_parse_on_stack(parse_text, source, out, err);
}
