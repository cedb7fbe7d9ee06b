#include "read/sbml/sbml.h"

#include <string.h>

/* Events need no id. */
static const char *id_of(const sbml_reader *r, int e)
{
    Event_t *event = Model_getEvent(r->sbml, (unsigned)e);
    const char *id = Event_isSetId(event) ? Event_getId(event) : NULL;
    return id && *id ? id : NULL;
}

static const char *make_id(sbml_reader *r, int e)
{
    char text[40];
    (void)snprintf(text, sizeof text, "event_%d", e + 1);
    while (sbml_find(r, text) && strlen(text) + 1 < sizeof text) {
        strcat(text, "_");
    }
    return saltus_arena_strndup(&r->model->arena, text, strlen(text));
}

saltus_status sbml_declare_events(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    const int n = (int)Model_getNumEvents(r->sbml);
    for (int e = 0; e < n; ++e) {
        Event_t *event = Model_getEvent(r->sbml, (unsigned)e);
        if (id_of(r, e)) {
            SALTUS_TRY(sbml_define(r, NAME_EVENT, e, id_of(r, e), "event", sbml_line(event)));
        }
        for (unsigned k = 0; k < Event_getNumEventAssignments(event); ++k) {
            const char *id = EventAssignment_getVariable(Event_getEventAssignment(event, k));
            SALTUS_TRY(sbml_let_vary(r, id));
            const sbml_symbol *symbol = id ? sbml_find(r, id) : NULL;
            if (symbol && symbol->kind == NAME_VARIABLE) {
                r->info[symbol->index].assigned = true;
            }
        }
    }
done:
    return status;
}

/* Targets and values as the document means them. */
static saltus_status read_assignments(sbml_reader *r, int e, const sbml_place *at,
                                      saltus_event *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    Event_t *event = Model_getEvent(r->sbml, (unsigned)e);
    const unsigned n = Event_getNumEventAssignments(event);
    saltus_assignment *list = saltus_arena_alloc(&r->model->arena, (n + 1) * sizeof *list);
    SALTUS_NEED(list);
    out->assignments = list;
    for (unsigned k = 0; k < n; ++k) {
        EventAssignment_t *assignment = Event_getEventAssignment(event, k);
        const char *id = EventAssignment_getVariable(assignment);
        char role[200];
        sbml_place place = *at;
        int v = -1;
        (void)snprintf(role, sizeof role, "assignment to '%.150s'", id ? id : "");
        place.role = role;
        place.line = sbml_line(assignment) ? sbml_line(assignment) : at->line;
        SALTUS_TRY(sbml_target(r, &place, id, &v));
        if (!EventAssignment_getMath(assignment)) { /* allowed since L3V2, and without effect */
            continue;
        }
        if (r->info[v].event == e + 1) {
            status =
                sbml_fail(r, SALTUS_E_MODEL, place.line, "%s assigns '%s' twice", place.what, id);
            goto done;
        }
        r->info[v].event = e + 1;
        list[out->n_assignments].variable = v;
        SALTUS_TRY(sbml_convert(r, &place, EventAssignment_getMath(assignment),
                                &list[out->n_assignments].value));
        ++out->n_assignments;
    }
done:
    return status;
}

/* Species get molecules, and those that are concentrations what these make of the size that the
 * compartment has when the event is executed. */
static saltus_status count_molecules(sbml_reader *r, saltus_event *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_assignment *list =
        saltus_arena_alloc(&r->model->arena, ((size_t)out->n_assignments + 1) * sizeof *list);
    SALTUS_NEED(list);
    for (int k = 0; k < out->n_assignments; ++k) {
        const int v = out->assignments[k].variable;
        const int compartment = r->model->variables[v].compartment;
        const sbml_info *in = compartment < 0 ? NULL : &r->info[compartment];
        list[k].variable = v;
        list[k].per_size =
            in && r->info[v].concentration && (in->has_rule || in->assigned || in->rate);
        list[k].value = sbml_to_molecules(r, v, out->assignments[k].value, list[k].per_size);
        SALTUS_NEED(list[k].value);
    }
    out->assignments = list;
done:
    return status;
}

/* A formula of the event that may be missing. */
static saltus_status read_formula(sbml_reader *r, const sbml_place *at, const char *role,
                                  const ASTNode_t *math, const saltus_expr **out)
{
    sbml_place place = *at;
    place.role = role;
    return math ? sbml_convert(r, &place, math, out) : SALTUS_OK;
}

static saltus_status read_event(sbml_reader *r, int e)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    Event_t *event = Model_getEvent(r->sbml, (unsigned)e);
    Trigger_t *trigger = Event_getTrigger(event);
    Delay_t *delay = Event_getDelay(event);
    Priority_t *priority = Event_getPriority(event);
    const char *id = id_of(r, e);
    double time = 1.0; /* the unit of the delay */
    saltus_event out = {.line = (int)sbml_line(event),
                        .persistent = true,
                        .initial_value = true,
                        .use_trigger_values = true};

    out.id = id ? saltus_arena_strndup(&r->model->arena, id, strlen(id)) : make_id(r, e);
    SALTUS_NEED(out.id);
    const sbml_place place = sbml_place_at("event", out.id, "", sbml_line(event));
    if (r->level > 2 && trigger) {
        out.persistent = Trigger_getPersistent(trigger);
        out.initial_value = Trigger_getInitialValue(trigger);
    }
    if (r->level > 2 || r->version > 3) {
        out.use_trigger_values = Event_getUseValuesFromTriggerTime(event);
    }
    SALTUS_TRY(read_formula(r, &place, "trigger", trigger ? Trigger_getMath(trigger) : NULL,
                            &out.trigger));
    SALTUS_TRY(read_formula(r, &place, "delay", delay ? Delay_getMath(delay) : NULL, &out.delay));
    SALTUS_TRY(sbml_unit_of_time(r, Event_getTimeUnits(event), place.what, place.line, &time));
    if (out.delay && time != 1.0) {
        out.delay = saltus_expr_2(&r->model->arena, SALTUS_OP_MUL, out.delay,
                                  saltus_expr_const(&r->model->arena, time));
        SALTUS_NEED(out.delay);
    }
    SALTUS_TRY(read_formula(r, &place, "priority", priority ? Priority_getMath(priority) : NULL,
                            &out.priority));
    SALTUS_TRY(read_assignments(r, e, &place, &out));
    SALTUS_TRY(count_molecules(r, &out));
    if (!out.trigger) {
        sbml_warn(r, place.line, "%s has no trigger and never fires", place.what);
        goto done;
    }
    SALTUS_TRY(saltus_model_push_event(r->model, &out, err));
done:
    return status;
}

saltus_status sbml_read_events(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    const int n = (int)Model_getNumEvents(r->sbml);
    for (int e = 0; e < n; ++e) {
        SALTUS_TRY(read_event(r, e));
    }
done:
    return status;
}
