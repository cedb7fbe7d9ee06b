#include "model/network/model.h"

#include "core/order.h"
#include "core/stack.h"
#include "core/utf8.h"

#include "model/network/network.h"
#include "model/lattice/space.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

saltus_status saltus_model_create(const char *name, saltus_model **out, saltus_error *err)
{
    if (!name || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_model *m = saltus_calloc(1, sizeof *m);
    SALTUS_NEED(m);
    saltus_handle_add(&m->handle, SALTUS_HANDLE_MODEL);
    m->mole = SALTUS_AVOGADRO;
    m->most_lists = SALTUS_MOST_LISTS;
    SALTUS_TRY(saltus_model_rename(m, name, err));
    *out = m;
    m = NULL;
done:
    saltus_model_destroy(m);
    return status;
}

saltus_status saltus_model_rename(saltus_model *model, const char *name, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *copy = saltus_strdup(name);
    SALTUS_NEED(copy);
    saltus_utf8_flatten(copy);
    saltus_free(model->name);
    model->name = copy;
done:
    return status;
}

void saltus_model_destroy(saltus_model *model)
{
    if (!model || !saltus_handle_take(&model->handle, SALTUS_HANDLE_MODEL)) {
        return;
    }
    saltus_network_destroy(model->network);
    saltus_space_destroy(model->space);
    for (size_t i = 0; i < model->n_warnings; ++i) {
        saltus_free(model->warnings[i].text);
    }
    saltus_free(model->warnings);
    saltus_free(model->variables);
    saltus_free(model->reactions);
    saltus_free(model->delays);
    saltus_free(model->events);
    saltus_index_free(&model->names);
    saltus_index_free(&model->reaction_names);
    saltus_arena_free(&model->arena);
    saltus_free(model->path);
    saltus_free(model->name);
    saltus_free(model);
}

void saltus_model_thaw(saltus_model *model)
{
    if (model && model->network) {
        saltus_network_destroy(model->network);
        model->network = NULL;
        while (model->n_warnings > model->n_read_warnings) {
            saltus_free(model->warnings[--model->n_warnings].text);
        }
    }
}

const char *saltus_model_name(const saltus_model *model)
{
    return model ? model->name : "";
}

const char *saltus_model_sha256(const saltus_model *model)
{
    return model ? model->sha256 : "";
}

const char *saltus_model_time_unit(const saltus_model *model)
{
    return model && model->time_label ? model->time_label : "";
}

const char *saltus_model_reaction(const saltus_model *model, int r)
{
    return model && r >= 0 && (size_t)r < model->n_reactions ? model->reactions[r].id : "";
}

int saltus_model_n_warnings(const saltus_model *model)
{
    return model ? (int)model->n_warnings : 0;
}

const char *saltus_model_warning(const saltus_model *model, int i)
{
    return i >= 0 && i < saltus_model_n_warnings(model) ? model->warnings[i].text : "";
}

int saltus_model_warning_is_of_whole(const saltus_model *model, int i)
{
    return i >= 0 && i < saltus_model_n_warnings(model) && model->warnings[i].of_whole;
}

__attribute__((format(printf, 3, 0))) static void warn(saltus_model *model, bool of_whole,
                                                       const char *format, va_list args)
{
    char text[600];
    (void)vsnprintf(text, sizeof text, format, args);
    for (char *c = text; *c; ++c) { /* names in model files may hold anything */
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    }
    saltus_warning *grown = saltus_grow(model->warnings, model->n_warnings,
                                        &model->warnings_capacity, sizeof *model->warnings);
    if (grown) {
        model->warnings = grown;
        char *copy = saltus_strdup(text);
        if (copy) {
            model->warnings[model->n_warnings++] = (saltus_warning){copy, of_whole};
        }
    }
}

void saltus_model_warn(saltus_model *model, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(model, false, format, args);
    va_end(args);
}

void saltus_model_warn_of_whole(saltus_model *model, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(model, true, format, args);
    va_end(args);
}

int saltus_model_find(const saltus_model *model, const char *id)
{
    return saltus_index_find(&model->names, model->variables, sizeof *model->variables, id);
}

int saltus_model_find_reaction(const saltus_model *model, const char *id)
{
    const saltus_index *names = &model->reaction_names;
    int r = saltus_index_find(names, model->reactions, sizeof *model->reactions, id);
    for (size_t i = names->n; i < model->n_reactions && r < 0; ++i) { /* appended since */
        r = strcmp(model->reactions[i].id, id) == 0 ? (int)i : -1;
    }
    return r;
}

saltus_status saltus_model_add_variable(saltus_model *model, saltus_kind kind, const char *id,
                                        int line, int *index, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (id[0] == '\0') {
        SALTUS_FAIL(SALTUS_E_MODEL, "a name is empty");
    }
    if (saltus_model_find(model, id) >= 0) {
        SALTUS_FAIL(SALTUS_E_MODEL, "'%s' is defined twice", id);
    }
    saltus_variable *grown = saltus_grow(model->variables, model->n_variables,
                                         &model->variables_capacity, sizeof *model->variables);
    SALTUS_NEED(grown);
    model->variables = grown;
    saltus_variable *v = &model->variables[model->n_variables];
    memset(v, 0, sizeof *v);
    v->id = saltus_arena_strndup(&model->arena, id, strlen(id));
    SALTUS_NEED(v->id);
    v->kind = kind;
    v->compartment = -1;
    v->line = line;
    SALTUS_NEED(saltus_index_add(&model->names, model->variables, sizeof *model->variables) == 0);
    if (index) {
        *index = (int)model->n_variables;
    }
    ++model->n_variables;
done:
    return status;
}

saltus_participant *saltus_model_make_side(saltus_model *model, size_t n, bool whole)
{
    _Static_assert(sizeof(saltus_participant) == sizeof(double),
                   "a number takes a place of a list");
    const size_t before = whole ? 0 : n;
    saltus_participant *room =
        saltus_arena_alloc(&model->arena, (before + n) * sizeof(saltus_participant));
    return room ? room + before : NULL;
}

void saltus_participant_set(saltus_participant *list, size_t n, size_t i, int variable,
                            double molecules)
{
    const bool is_short = molecules <= INT_MAX && molecules == floor(molecules);
    list[i] = (saltus_participant){variable, is_short ? (int)molecules : -(int)n};
    if (!is_short) {
        memcpy(&list[i] - n, &molecules, sizeof molecules);
    }
}

void saltus_participant_add(saltus_participant *list, size_t most, int *n, int variable,
                            double molecules)
{
    bool whole = molecules == floor(molecules);
    for (int i = 0; i < *n; ++i) {
        const double before = saltus_molecules(&list[i]);
        whole &= list[i].variable != variable || before == floor(before);
    }
    double sum = molecules;
    int at = -1, kept = 0;
    for (int i = 0; i < *n; ++i) {
        const double before = saltus_molecules(&list[i]);
        const bool joins = !whole && list[i].variable == variable;
        sum += joins ? before : 0.0;
        if (!joins) {
            saltus_participant_set(list, most, (size_t)kept++, list[i].variable, before);
        } else if (at < 0) {
            at = kept++;
        }
    }
    const bool is_nearly_whole = at >= 0 && fabs(sum - nearbyint(sum)) <= 1e-9; /* 0.1 ten times */
    *n = at < 0 ? kept + 1 : kept;
    saltus_participant_set(list, most, (size_t)(at < 0 ? kept : at), variable,
                           is_nearly_whole ? nearbyint(sum) : sum);
}

double saltus_molecules(const saltus_participant *p)
{
    double molecules = p->code;
    if (p->code < 0) {
        memcpy(&molecules, p + p->code, sizeof molecules);
    }
    return molecules;
}

int64_t saltus_whole_molecules(const saltus_participant *p)
{
    return (int64_t)saltus_molecules(p);
}

saltus_status saltus_model_push_reaction(saltus_model *model, const saltus_reaction *reaction,
                                         saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_index *names = &model->reaction_names;
    if (saltus_model_find_reaction(model, reaction->id) >= 0) {
        SALTUS_FAIL(SALTUS_E_MODEL, "reaction '%s' is defined twice", reaction->id);
    }
    SALTUS_TRY(saltus_model_append_reaction(model, reaction, err));
    while (names->n < model->n_reactions) {
        SALTUS_NEED(saltus_index_add(names, model->reactions, sizeof *model->reactions) == 0);
    }
done:
    return status;
}

saltus_status saltus_model_append_reaction(saltus_model *model, const saltus_reaction *reaction,
                                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_reaction *grown = saltus_grow(model->reactions, model->n_reactions,
                                         &model->reactions_capacity, sizeof *model->reactions);
    SALTUS_NEED(grown);
    model->reactions = grown;
    model->reactions[model->n_reactions++] = *reaction;
done:
    return status;
}

saltus_status saltus_model_delay_last(saltus_model *model, const saltus_expr *time,
                                      bool consumes_late, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_reaction *last = &model->reactions[model->n_reactions - 1];
    saltus_delay *grown =
        saltus_grow(model->delays, model->n_delays, &model->delays_capacity, sizeof *model->delays);
    SALTUS_NEED(grown);
    model->delays = grown;
    model->delays[model->n_delays++] = (saltus_delay){model->n_reactions - 1, time};
    last->takes_long = true;
    last->consumes_late = consumes_late;
done:
    return status;
}

static int compare_delays(const void *a, const void *b)
{
    return saltus_order((int64_t)((const saltus_delay *)a)->reaction,
                        (int64_t)((const saltus_delay *)b)->reaction);
}

const saltus_expr *saltus_reaction_delay(const saltus_model *model, const saltus_reaction *r)
{
    const saltus_delay wanted = {.reaction = (size_t)(r - model->reactions)};
    const saltus_delay *found = r->takes_long ? bsearch(&wanted, model->delays, model->n_delays,
                                                        sizeof wanted, compare_delays)
                                              : NULL;
    return found ? found->time : NULL;
}

saltus_status saltus_model_push_event(saltus_model *model, const saltus_event *event,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t i = 0; i < model->n_events; ++i) {
        if (strcmp(model->events[i].id, event->id) == 0) {
            SALTUS_FAIL(SALTUS_E_MODEL, "event '%s' is defined twice", event->id);
        }
    }
    saltus_event *grown =
        saltus_grow(model->events, model->n_events, &model->events_capacity, sizeof *model->events);
    SALTUS_NEED(grown);
    model->events = grown;
    model->events[model->n_events++] = *event;
done:
    return status;
}

saltus_status saltus_model_set(saltus_model *model, const char *name, double value,
                               saltus_error *err)
{
    if (!model || !name) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const int i = saltus_model_find(model, name);
    if (model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "'%s' cannot be set: the model is frozen", name);
    }
    if (i < 0) {
        const char *nearest = saltus_model_nearest(model, name);
        status = saltus_error_set(err, SALTUS_E_INVALID,
                                  "'%s' cannot be set: model '%s' has no parameter or species of "
                                  "that name",
                                  name, model->name);
        if (nearest) {
            saltus_error_hint(err, "did you mean '%s'?", nearest);
        }
        goto done;
    }
    saltus_variable *v = &model->variables[i];
    if (v->rule) {
        SALTUS_FAIL(SALTUS_E_INVALID, "'%s' cannot be set: a rule determines it", name);
    }
    if (v->is_spent) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "'%s' cannot be set: what reactions change was computed with its value in the "
                    "file",
                    name);
    }
    if (!isfinite(value)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "'%s' cannot be set to %g", name, value);
    }
    if (!v->set) { /* once: a sweep sets it again and again */
        v->set = (saltus_expr *)saltus_expr_const(&model->arena, value);
        SALTUS_NEED(v->set);
    }
    v->set->value = value;
    if (v->initial != v->set) {
        v->unset = v->initial;
    }
    v->initial = v->set;
done:
    return status;
}

void saltus_model_reset(saltus_model *model)
{
    for (size_t i = 0; model && !model->network && i < model->n_variables; ++i) {
        saltus_variable *v = &model->variables[i];
        if (v->set && v->initial == v->set) {
            v->initial = v->unset;
        }
    }
}

static saltus_status add_with_value(saltus_model *model, saltus_kind kind, const char *id,
                                    double value, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int i = -1;
    if (model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "'%s' cannot be added: the model is frozen", id);
    }
    SALTUS_TRY(saltus_model_add_variable(model, kind, id, 0, &i, err));
    model->variables[i].initial = saltus_expr_const(&model->arena, value);
    SALTUS_NEED(model->variables[i].initial);
done:
    return status;
}

saltus_status saltus_model_add_parameter(saltus_model *model, const char *id, double value,
                                         saltus_error *err)
{
    if (!model || !id) {
        return saltus_no_argument(err, __func__);
    }
    return add_with_value(model, SALTUS_KIND_PARAMETER, id, value, err);
}

saltus_status saltus_model_add_species(saltus_model *model, const char *id, double amount,
                                       saltus_error *err)
{
    if (!model || !id) {
        return saltus_no_argument(err, __func__);
    }
    return add_with_value(model, SALTUS_KIND_SPECIES, id, amount, err);
}

enum { FEW_RULES = 32 };

/* What a rate reaches through rules. Rules can form circles and share parts, so each is looked at
 * once, from a list instead of by recursion. Most rates reach few, which need no memory. */
typedef struct rate_search {
    const saltus_model *model;
    int few[FEW_RULES];
    int *list; /* variables with rules, in the order in which they were met: `few` or allocated */
    size_t n_listed;
    bool *is_listed; /* [variable], once there are more than a few */
    bool out_of_memory;
} rate_search;

static bool is_listed(const rate_search *search, int variable)
{
    if (search->is_listed) {
        return search->is_listed[variable];
    }
    for (size_t i = 0; i < search->n_listed; ++i) {
        if (search->list[i] == variable) {
            return true;
        }
    }
    return false;
}

static void make_room(rate_search *search)
{
    const size_t n = search->model->n_variables;
    bool *flags = saltus_calloc(n, sizeof *flags);
    int *list = saltus_calloc(n, sizeof *list);
    search->out_of_memory = !flags || !list;
    if (search->out_of_memory) {
        saltus_free(flags);
        saltus_free(list);
        return;
    }
    for (size_t i = 0; i < search->n_listed; ++i) {
        list[i] = search->few[i];
        flags[list[i]] = true;
    }
    search->is_listed = flags;
    search->list = list;
}

/* Returns true, which ends the search, when memory ran out. */
static bool list_rule(rate_search *search, int variable)
{
    if (is_listed(search, variable)) {
        return false;
    }
    if (search->n_listed == FEW_RULES && !search->is_listed) {
        make_room(search);
        if (search->out_of_memory) {
            return true;
        }
    }
    search->list[search->n_listed++] = variable;
    if (search->is_listed) {
        search->is_listed[variable] = true;
    }
    return false;
}

static bool names_species(const saltus_expr *node, void *user)
{
    rate_search *search = user;
    if (node->op != SALTUS_OP_VARIABLE) {
        return node->op == SALTUS_OP_TIME;
    }
    const saltus_variable *v = &search->model->variables[node->variable];
    return v->kind == SALTUS_KIND_SPECIES || (v->rule && list_rule(search, node->variable));
}

saltus_status saltus_expr_is_constant_rate(const saltus_model *model, const saltus_expr *rate,
                                           bool *is_constant, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    rate_search search = {.model = model};
    search.list = search.few;
    bool found = saltus_expr_any(rate, names_species, &search);
    for (size_t i = 0; i < search.n_listed && !found; ++i) {
        found = saltus_expr_any(model->variables[search.list[i]].rule, names_species, &search);
    }
    if (search.out_of_memory) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    *is_constant = !found;
done:
    if (search.list != search.few) {
        saltus_free(search.list);
    }
    saltus_free(search.is_listed);
    return status;
}

typedef struct adding {
    saltus_model *model;
    const char *id, *equation, *rate;
} adding;

static saltus_status add_reaction(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const adding *wanted = user;
    saltus_model *model = wanted->model;
    const char *id = wanted->id;
    char what[200];
    saltus_reaction r = {0};
    (void)snprintf(what, sizeof what, "reaction '%s'", id);
    const saltus_parse_context context = {.model = model, .what = what};
    if (model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s cannot be added: the model is frozen", what);
    }
    r.id = saltus_arena_strndup(&model->arena, id, strlen(id));
    SALTUS_NEED(r.id);
    SALTUS_TRY(saltus_equation_parse(&context, wanted->equation, &r, err));
    SALTUS_TRY(saltus_expr_parse(&context, wanted->rate, &r.law, err));
    SALTUS_TRY(saltus_expr_is_constant_rate(model, r.law, &r.mass_action, err));
    SALTUS_TRY(saltus_model_push_reaction(model, &r, err));
done:
    return status;
}

saltus_status saltus_model_add_reaction(saltus_model *model, const char *id, const char *equation,
                                        const char *rate, saltus_error *err)
{
    if (!model || !id || !equation || !rate) {
        return saltus_no_argument(err, __func__);
    }
    adding wanted = {model, id, equation, rate};
    return saltus_with_stack(add_reaction, &wanted, err);
}
