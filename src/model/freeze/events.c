/* Events: triggers, in which no time is left, and what is set. */
#include "model/freeze/freeze.h"

/* What moves passes any value at a moment that no step ends at. */
static bool equals_what_moves(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return saltus_equates_numbers(node) && saltus_moves(f, node);
}

/* What still reads the time is followed as it goes on, but on a lattice, where that cannot be. */
saltus_status saltus_free_triggers(saltus_freezer *f, const saltus_expr **triggers,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char what[300], place[160];
    for (size_t i = 0; i < f->model->n_events; ++i) {
        const saltus_event *e = &f->model->events[i];
        (void)snprintf(what, sizeof what, "%sevent '%.100s': its trigger",
                       saltus_place(f->model, e->line, place), e->id);
        const saltus_expr *trigger = NULL;
        SALTUS_TRY(saltus_compare_moments(f, e->trigger, &trigger, err));
        if (f->is_continuous && saltus_expr_any(trigger, equals_what_moves, f)) {
            saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                             "%s compares by == or != what changes between reactions, which passes "
                             "every value in no time",
                             what);
            saltus_error_hint(err, "compare it by <, <=, > or >=");
            status = SALTUS_E_UNSUPPORTED;
            goto done;
        }
        f->may_turn = !f->model->space;
        SALTUS_TRY(saltus_free_of_time(
            f, trigger, f->model->space || saltus_turns_unseen(f, trigger), what,
            "a trigger can compare the time, or what follows from it, with a value by <, <=, > and "
            ">=; on a lattice it can compare the time alone",
            &triggers[i], err));
        f->may_turn = false;
    }
    SALTUS_TRY(saltus_follow_triggers(f, triggers, err));
done:
    return status;
}

static saltus_status fill_settings(saltus_freezer *f, const saltus_event *e, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    for (int k = 0; k < e->n_assignments; ++k) {
        const saltus_assignment *a = &e->assignments[k];
        saltus_setting *s = &f->settings[t->n_settings];
        const int compartment = a->per_size ? f->model->variables[a->variable].compartment : -1;
        const saltus_expr *value = a->value;
        s->size = compartment >= 0 ? f->net->bindings[compartment].row : -1;
        if (compartment >= 0 && s->size < 0) { /* a size that is always the same */
            value = saltus_expr_2(f->arena, SALTUS_OP_MUL, value,
                                  saltus_expr_variable(f->arena, compartment));
            SALTUS_NEED(value);
        }
        SALTUS_TRY(
            saltus_compile_drawing(f, value, &s->value, &s->first_variate, &s->n_variates, err));
        s->row = f->net->bindings[a->variable].row;
        f->net->setting_names[t->n_settings] = f->model->variables[a->variable].id;
        f->net->setting_events[t->n_settings] = e->id;
        ++t->n_settings;
    }
done:
    return status;
}

saltus_status saltus_fill_events(saltus_freezer *f, const saltus_expr **triggers, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    for (size_t i = 0; i < f->model->n_events; ++i) {
        const saltus_event *e = &f->model->events[i];
        saltus_trigger *out = &f->triggers[i];
        SALTUS_TRY(saltus_compile(f, triggers[i], &out->trigger, err));
        if (e->delay) {
            SALTUS_TRY(saltus_compile_drawing(f, e->delay, &out->delay, &out->first_variate,
                                              &out->n_variates, err));
        }
        if (e->priority) {
            SALTUS_TRY(saltus_compile(f, e->priority, &out->priority, err));
        }
        out->has_delay = e->delay != NULL;
        out->has_priority = e->priority != NULL;
        out->persistent = e->persistent;
        out->initial_value = e->initial_value;
        out->use_trigger_values = e->use_trigger_values;
        out->first_assignment = t->n_settings;
        out->n_assignments = e->n_assignments;
        t->largest_event =
            e->n_assignments > t->largest_event ? e->n_assignments : t->largest_event;
        f->net->event_names[i] = e->id;
        SALTUS_TRY(fill_settings(f, e, err));
        t->watches_state |= saltus_reads_counts(f, triggers[i]);
    }
    t->n_triggers = (int32_t)f->model->n_events;
    SALTUS_TRY(saltus_compile_clocks(f, err));
done:
    return status;
}
