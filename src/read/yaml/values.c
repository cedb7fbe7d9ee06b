#include "read/yaml/values.h"

#include "model/network/model.h"

#include <stdarg.h>
#include <string.h>

saltus_status saltus_yaml_fail(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                               saltus_status code, const char *format, ...)
{
    char body[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(body, sizeof body, format, args);
    va_end(args);
    return saltus_error_set(r->err, code, "%.180s:%d:%d: %s", r->name, node->line, node->column,
                            body);
}

static bool is_near(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t head = 0, tail = 0;
    while (head < n && head < m && a[head] == b[head]) {
        ++head;
    }
    while (tail < n - head && tail < m - head && a[n - 1 - tail] == b[m - 1 - tail]) {
        ++tail;
    }
    const size_t longer = n > m ? n : m;
    return longer - head - tail <= 2 && head + tail > 0; /* a letter or two differ, in one place */
}

static saltus_status unknown_key(const saltus_yaml_reader *r, const saltus_yaml_node *key,
                                 const char *what, const saltus_yaml_field *fields, int n)
{
    const saltus_status status =
        saltus_yaml_fail(r, key, SALTUS_E_SYNTAX, "%s: '%.80s' is not known here", what, key->text);
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < n; ++i) {
        if (is_near(key->text, fields[i].key)) {
            saltus_error_hint(r->err, "did you mean '%s'?", fields[i].key);
        }
        const int length =
            snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", fields[i].key);
        used += length > 0 && (size_t)length < sizeof list - used ? (size_t)length : 0;
    }
    saltus_error_hint(r->err, "known are %s", list);
    return status;
}

saltus_status saltus_yaml_fields(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                 const char *what, saltus_yaml_field *fields, int n)
{
    if (node->kind != SALTUS_YAML_MAPPING) {
        return saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: 'name: value' pairs are wanted here",
                                what);
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        int i = 0;
        while (i < n && strcmp(fields[i].key, e->key->text) != 0) {
            ++i;
        }
        if (i == n) {
            return unknown_key(r, e->key, what, fields, n);
        }
        if (fields[i].entry) {
            return saltus_yaml_fail(r, e->key, SALTUS_E_SYNTAX,
                                    "%s: '%s' is given twice, first in line %d", what, e->key->text,
                                    fields[i].entry->key->line);
        }
        fields[i].entry = e;
    }
    return SALTUS_OK;
}

saltus_status saltus_yaml_no_key_twice(const saltus_yaml_reader *r, const saltus_yaml_node *mapping,
                                       const char *what)
{
    for (const saltus_yaml_entry *e = mapping->first; e; e = e->next) {
        for (const saltus_yaml_entry *first = mapping->first; first != e; first = first->next) {
            if (strcmp(first->key->text, e->key->text) == 0) {
                return saltus_yaml_fail(r, e->key, SALTUS_E_SYNTAX,
                                        "%s: '%.100s' is given twice, first in line %d", what,
                                        e->key->text, first->key->line);
            }
        }
    }
    return SALTUS_OK;
}

bool saltus_yaml_is_nothing(const saltus_yaml_node *node)
{
    return node->kind == SALTUS_YAML_SCALAR && node->plain &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

saltus_status saltus_yaml_text(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                               const char *what, const char **out)
{
    if (node->kind != SALTUS_YAML_SCALAR) {
        return saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: one value is wanted here", what);
    }
    *out = node->text;
    return SALTUS_OK;
}

saltus_status saltus_yaml_bool(const saltus_yaml_reader *r, const saltus_yaml_field *f,
                               const char *what, bool *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = "";
    if (!f->entry) {
        goto done;
    }
    SALTUS_TRY(saltus_yaml_text(r, f->entry->value, what, &text));
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        status = saltus_yaml_fail(r, f->entry->value, SALTUS_E_SYNTAX,
                                  "%s: '%s' must be true or false, not "
                                  "'%.40s'",
                                  what, f->key, text);
        goto done;
    }
    *out = text[0] == 't';
done:
    return status;
}

saltus_parse_context saltus_yaml_context(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                         size_t offset, const char *what)
{
    int column = node->column;
    for (size_t i = 0; i < offset && !node->folded; ++i) {
        column += ((unsigned char)node->text[i] & 0xc0) != 0x80;
    }
    return (saltus_parse_context){.model = r->model,
                                  .what = what,
                                  .path = r->name,
                                  .line = node->line,
                                  .column = column,
                                  .folded = node->folded};
}

saltus_status saltus_yaml_expr(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                               const char *what, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(saltus_yaml_text(r, node, what, &text));
    const saltus_parse_context context = saltus_yaml_context(r, node, 0, what);
    SALTUS_TRY(saltus_expr_parse(&context, text, out, r->err));
done:
    return status;
}

saltus_status saltus_yaml_mapping(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                  const char *what)
{
    return node->kind == SALTUS_YAML_MAPPING
               ? SALTUS_OK
               : saltus_yaml_fail(r, node, SALTUS_E_SYNTAX,
                                  "%s: 'name: value' pairs are wanted here", what);
}
