/* The events of a YAML model. */
#include "model/network/model.h"
#include "read/yaml/units.h"

#include <string.h>

/* What is set: `A`, or `[A]`, a species' concentration. */
static saltus_status find_target(const saltus_yaml_reader *r, const saltus_yaml_node *key,
                                 const char *what, saltus_assignment *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const size_t n = strlen(key->text);
    out->per_size = n > 2 && key->text[0] == '[' && key->text[n - 1] == ']';
    const char *name = saltus_arena_strndup(&r->model->arena, key->text + out->per_size,
                                            n - 2 * (size_t)out->per_size);
    SALTUS_NEED(name);
    const int v = saltus_model_find(r->model, name);
    if (v < 0) {
        status =
            saltus_yaml_fail(r, key, SALTUS_E_MODEL, "%s: '%.100s' is not defined", what, name);
        const char *nearest = saltus_model_nearest(r->model, name);
        if (nearest) {
            saltus_error_hint(r->err, "did you mean '%.100s'?", nearest);
        }
        goto done;
    }
    const saltus_variable *x = &r->model->variables[v];
    out->variable = v;
    if (x->constant || x->rule) {
        status = saltus_yaml_fail(r, key, SALTUS_E_MODEL, "%s: '%.100s' cannot be set: %s", what,
                                  name, x->rule ? "a rule determines it" : "it is constant");
    } else if (out->per_size && (x->kind != SALTUS_KIND_SPECIES || x->compartment < 0)) {
        status = saltus_yaml_fail(r, key, SALTUS_E_MODEL,
                                  "%s: '%.100s' has no concentration: it is in no compartment",
                                  what, name);
    }
done:
    return status;
}

static saltus_status read_assignments(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                      const char *what, saltus_event *event)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_map seen = {0};
    SALTUS_TRY(saltus_yaml_mapping(r, node, what));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        ++event->n_assignments;
    }
    saltus_assignment *list = saltus_arena_alloc(&r->model->arena, (size_t)event->n_assignments *
                                                                       sizeof *event->assignments);
    SALTUS_NEED(list);
    event->assignments = list;
    for (const saltus_yaml_entry *e = node->first; e; e = e->next, ++list) {
        if (saltus_map_get(&seen, e->key->text) >= 0) {
            status = saltus_yaml_fail(r, e->key, SALTUS_E_SYNTAX, "%s: '%.100s' is set twice", what,
                                      e->key->text);
            goto done;
        }
        if (saltus_map_put(&seen, e->key->text, 0) != 0) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
        }
        SALTUS_TRY(find_target(r, e->key, what, list));
        SALTUS_TRY(saltus_yaml_expr(r, e->value, what, &list->value));
    }
done:
    saltus_map_free(&seen);
    return status;
}

enum { AT, WHEN, SET, DELAY, PRIORITY, PERSISTENT, INITIAL, VALUES_FROM, N_EVENT_FIELDS };

/* The condition, from `at` or `when`. One that is given by a time is false before time 0, so that
 * what is to happen at time 0 does. */
static saltus_status read_trigger(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                  const saltus_yaml_field fields[N_EVENT_FIELDS], const char *what,
                                  saltus_event *event)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const saltus_expr *e = NULL;
    if (!fields[AT].entry == !fields[WHEN].entry) {
        status = saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: one of 'at' and 'when' is wanted",
                                  what);
        goto done;
    }
    if (fields[WHEN].entry) {
        SALTUS_TRY(saltus_yaml_expr(r, fields[WHEN].entry->value, what, &event->trigger));
        event->initial_value = true;
        goto done;
    }
    SALTUS_TRY(saltus_yaml_time(r, fields[AT].entry->value, what, &e));
    event->trigger = saltus_expr_2(arena, SALTUS_OP_GE, saltus_expr_time(arena), e);
    SALTUS_NEED(event->trigger);
done:
    return status;
}

static saltus_status read_values_from(const saltus_yaml_reader *r, const saltus_yaml_field *f,
                                      const char *what, bool *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    if (!f->entry) {
        goto done;
    }
    SALTUS_TRY(saltus_yaml_text(r, f->entry->value, what, &text));
    *out = strcmp(text, "trigger") == 0;
    if (!*out && strcmp(text, "assignment") != 0) {
        status = saltus_yaml_fail(r, f->entry->value, SALTUS_E_SYNTAX,
                                  "%s: 'values_from' must be trigger or assignment, not '%.40s'",
                                  what, text);
    }
done:
    return status;
}

static saltus_status read_event(const saltus_yaml_reader *r, const saltus_yaml_entry *entry,
                                const char *what)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_event event = {.persistent = true, .use_trigger_values = true, .line = entry->key->line};
    saltus_yaml_field fields[N_EVENT_FIELDS] = {
        {.key = "at"},       {.key = "when"},       {.key = "set"},     {.key = "delay"},
        {.key = "priority"}, {.key = "persistent"}, {.key = "initial"}, {.key = "values_from"}};
    SALTUS_TRY(saltus_yaml_fields(r, entry->value, what, fields, N_EVENT_FIELDS));
    SALTUS_TRY(read_trigger(r, entry->value, fields, what, &event));
    if (!fields[SET].entry) {
        status = saltus_yaml_fail(r, entry->value, SALTUS_E_SYNTAX, "%s: 'set' is missing", what);
        goto done;
    }
    SALTUS_TRY(read_assignments(r, fields[SET].entry->value, what, &event));
    if (fields[DELAY].entry) {
        SALTUS_TRY(saltus_yaml_time(r, fields[DELAY].entry->value, what, &event.delay));
    }
    if (fields[PRIORITY].entry) {
        SALTUS_TRY(saltus_yaml_expr(r, fields[PRIORITY].entry->value, what, &event.priority));
    }
    SALTUS_TRY(saltus_yaml_bool(r, &fields[PERSISTENT], what, &event.persistent));
    SALTUS_TRY(saltus_yaml_bool(r, &fields[INITIAL], what, &event.initial_value));
    SALTUS_TRY(read_values_from(r, &fields[VALUES_FROM], what, &event.use_trigger_values));
    event.id = saltus_arena_strndup(&r->model->arena, entry->key->text, strlen(entry->key->text));
    SALTUS_NEED(event.id);
    SALTUS_TRY(saltus_model_push_event(r->model, &event, err));
done:
    return status;
}

saltus_status saltus_yaml_events(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_map seen = {0};
    char what[200];
    SALTUS_TRY(saltus_yaml_mapping(r, node, "events"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        (void)snprintf(what, sizeof what, "event '%.120s'", e->key->text);
        if (saltus_map_get(&seen, e->key->text) >= 0) {
            status = saltus_yaml_fail(r, e->key, SALTUS_E_MODEL, "%s is defined twice", what);
            goto done;
        }
        if (saltus_map_put(&seen, e->key->text, 0) != 0) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
        }
        SALTUS_TRY(read_event(r, e, what));
    }
done:
    saltus_map_free(&seen);
    return status;
}
