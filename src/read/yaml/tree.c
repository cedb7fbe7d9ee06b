#include "read/yaml/tree.h"

#include "read/yaml/problem.h"

#if SALTUS_WITH_YAML

#include <limits.h>
#include <string.h>
#include <yaml.h>

/* A model needs four levels; the rest is for the recursion's sake. */
enum { MAX_NESTING = 20 };

typedef struct loader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one that is looked at */
    bool has_event;
    const char *text;
    size_t size;
    const char *name;
    saltus_arena *arena;
    int nesting;
    saltus_error *err;
} loader;

static int to_place(size_t zero_based)
{
    return zero_based < INT_MAX ? (int)zero_based + 1 : INT_MAX;
}

static saltus_status complain(loader *l, const yaml_mark_t *mark, const char *what)
{
    return saltus_error_set(l->err, SALTUS_E_SYNTAX, "%s:%d:%d: %s", l->name, to_place(mark->line),
                            to_place(mark->column), what);
}

/* Where a byte of the text is: libyaml knows only the offset of a byte that is not UTF-8. */
static yaml_mark_t mark_of_byte(const loader *l, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < l->size; ++i) {
        mark.column += ((unsigned char)l->text[i] & 0xc0) != 0x80;
        if (l->text[i] == '\n') {
            ++mark.line;
            mark.column = 0;
        }
    }
    return mark;
}

static saltus_status parser_failure(loader *l)
{
    const yaml_parser_t *p = &l->parser;
    char what[300];
    if (p->error == YAML_MEMORY_ERROR) {
        return saltus_error_set(l->err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    const yaml_mark_t mark =
        p->error == YAML_READER_ERROR ? mark_of_byte(l, p->problem_offset) : p->problem_mark;
    saltus_yaml_problem problem = {.what = p->problem ? p->problem : "not well formed",
                                   .within = p->context,
                                   .line = mark.line,
                                   .column = mark.column,
                                   .start = p->context_mark.column,
                                   .start_line = p->context_mark.line};
    const char *hint = saltus_yaml_explain(&problem, l->text, l->size, what);
    const yaml_mark_t cause = {.line = problem.line, .column = problem.column};
    const saltus_status status = complain(l, &cause, what);
    if (hint) {
        saltus_error_hint(l->err, "%s", hint);
    }
    return status;
}

/* Step to the next event. */
static saltus_status advance(loader *l)
{
    if (l->has_event) {
        yaml_event_delete(&l->event);
    }
    l->has_event = yaml_parser_parse(&l->parser, &l->event);
    return l->has_event ? SALTUS_OK : parser_failure(l);
}

static saltus_status new_node(loader *l, saltus_yaml_kind kind, saltus_yaml_node **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->err;
    saltus_yaml_node *node = saltus_arena_alloc(l->arena, sizeof *node);
    SALTUS_NEED(node);
    node->kind = kind;
    node->line = to_place(l->event.start_mark.line);
    node->column = to_place(l->event.start_mark.column);
    *out = node;
done:
    return status;
}

static size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; ++text) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

/* Tags and anchors are refused: `! a` and `&& b` are expressions to whoever writes them. */
static saltus_status refuse_properties(loader *l, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (!anchor && !tag) {
        return SALTUS_OK;
    }
    const saltus_status status = complain(l, &l->event.start_mark,
                                          anchor ? "YAML's anchors are not used in models"
                                                 : "YAML's tags are not used in models");
    saltus_error_hint(l->err, "a text that starts with '%c' stands in \"quotes\"",
                      anchor ? '&' : '!');
    return status;
}

static saltus_status load_scalar(loader *l, saltus_yaml_node **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->err;
    const yaml_event_t *e = &l->event;
    const char *value = (const char *)e->data.scalar.value;
    const size_t length = e->data.scalar.length;
    const yaml_scalar_style_t style = e->data.scalar.style;
    const bool is_quoted =
        style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    saltus_yaml_node *node = NULL;

    SALTUS_TRY(refuse_properties(l, e->data.scalar.anchor, e->data.scalar.tag));
    if (strlen(value) != length) {
        status = complain(l, &e->start_mark, "a text holds the character 0");
        goto done;
    }
    SALTUS_TRY(new_node(l, SALTUS_YAML_SCALAR, &node));
    node->text = saltus_arena_strndup(l->arena, value, length);
    SALTUS_NEED(node->text);
    node->plain = style == YAML_PLAIN_SCALAR_STYLE;
    node->folded =
        e->end_mark.index - e->start_mark.index != count_characters(value) + (is_quoted ? 2 : 0);
    node->column += is_quoted && !node->folded;
    *out = node;
done:
    return status;
}

static saltus_status load_node(loader *l, saltus_yaml_node **out);

/* A key and its value, the event being the key's. */
static saltus_status load_entry(loader *l, saltus_yaml_entry **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->err;
    saltus_yaml_node *key = NULL, *value = NULL;
    saltus_yaml_entry *entry = saltus_arena_alloc(l->arena, sizeof *entry);
    SALTUS_NEED(entry);
    if (l->event.type != YAML_SCALAR_EVENT || l->event.data.scalar.length == 0) {
        status = complain(l, &l->event.start_mark, "a name is wanted before ':'");
        goto done;
    }
    SALTUS_TRY(load_scalar(l, &key));
    SALTUS_TRY(advance(l));
    SALTUS_TRY(load_node(l, &value));
    entry->key = key;
    entry->value = value;
    *out = entry;
done:
    return status;
}

static saltus_status load_mapping(loader *l, saltus_yaml_node **out)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_node *node = NULL;
    SALTUS_TRY(
        refuse_properties(l, l->event.data.mapping_start.anchor, l->event.data.mapping_start.tag));
    SALTUS_TRY(new_node(l, SALTUS_YAML_MAPPING, &node));
    saltus_yaml_entry **next = &node->first;
    SALTUS_TRY(advance(l));
    while (l->event.type != YAML_MAPPING_END_EVENT) {
        SALTUS_TRY(load_entry(l, next));
        next = &(*next)->next;
        SALTUS_TRY(advance(l));
    }
    *out = node;
done:
    return status;
}

static saltus_status load_sequence(loader *l, saltus_yaml_node **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->err;
    saltus_yaml_node *node = NULL, *item = NULL;
    SALTUS_TRY(refuse_properties(l, l->event.data.sequence_start.anchor,
                                 l->event.data.sequence_start.tag));
    SALTUS_TRY(new_node(l, SALTUS_YAML_SEQUENCE, &node));
    saltus_yaml_entry **next = &node->first;
    SALTUS_TRY(advance(l));
    while (l->event.type != YAML_SEQUENCE_END_EVENT) {
        SALTUS_TRY(load_node(l, &item));
        *next = saltus_arena_alloc(l->arena, sizeof **next);
        SALTUS_NEED(*next);
        (*next)->value = item;
        next = &(*next)->next;
        SALTUS_TRY(advance(l));
    }
    *out = node;
done:
    return status;
}

/* The node that starts with the event; the event is left at its last. */
static saltus_status load_node(loader *l, saltus_yaml_node **out)
{
    saltus_status status = SALTUS_OK;
    if (++l->nesting > MAX_NESTING) {
        status = complain(l, &l->event.start_mark, "nested too deep for a model");
        goto done;
    }
    if (l->event.type == YAML_SCALAR_EVENT) {
        SALTUS_TRY(load_scalar(l, out));
    } else if (l->event.type == YAML_MAPPING_START_EVENT) {
        SALTUS_TRY(load_mapping(l, out));
    } else if (l->event.type == YAML_SEQUENCE_START_EVENT) {
        SALTUS_TRY(load_sequence(l, out));
    } else {
        status = complain(l, &l->event.start_mark, "YAML's aliases are not used in models");
        saltus_error_hint(l->err, "a text that starts with '*' stands in \"quotes\"");
    }
done:
    --l->nesting;
    return status;
}

saltus_status saltus_yaml_load(const char *text, size_t size, const char *name, saltus_arena *arena,
                               const saltus_yaml_node **root, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_node *node = NULL;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        text += 3;
        size -= 3;
    }
    loader l = {.text = text, .size = size, .name = name, .arena = arena, .err = err};
    if (!yaml_parser_initialize(&l.parser)) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, size);
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);

    SALTUS_TRY(advance(&l)); /* start of the stream */
    SALTUS_TRY(advance(&l));
    if (l.event.type == YAML_DOCUMENT_START_EVENT) {
        SALTUS_TRY(advance(&l));
        SALTUS_TRY(load_node(&l, &node));
        SALTUS_TRY(advance(&l)); /* end of the document */
        SALTUS_TRY(advance(&l));
    }
    if (l.event.type != YAML_STREAM_END_EVENT) {
        SALTUS_TRY(
            complain(&l, &l.event.start_mark, "a second document starts; a file is one model"));
    }
    *root = node;
done:
    if (l.has_event) {
        yaml_event_delete(&l.event);
    }
    yaml_parser_delete(&l.parser);
    return status;
}

#else

saltus_status saltus_yaml_load(const char *text, size_t size, const char *name, saltus_arena *arena,
                               const saltus_yaml_node **root, saltus_error *err)
{
    (void)text, (void)size, (void)arena, (void)root;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                            "%s: YAML cannot be read: built without libyaml", name);
}

#endif
