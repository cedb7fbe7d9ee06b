/* From a model as it was read to flat tables: what each variable becomes, rules in order, clock
 * conditions, reactions, events. */
#include "model/freeze/freeze.h"

#include "core/stack.h"

#include <math.h>
#include <string.h>

const char *saltus_place_in(const char *path, int line, char buffer[160])
{
    if (!path) {
        return "";
    }
    if (line > 0) {
        (void)snprintf(buffer, 160, "%.120s:%d: ", path, line);
    } else {
        (void)snprintf(buffer, 160, "%.120s: ", path);
    }
    return buffer;
}

const char *saltus_place(const saltus_model *model, int line, char buffer[160])
{
    return saltus_place_in(model->path, line, buffer);
}

const char *saltus_kind_text(const saltus_variable *v)
{
    return v->kind == SALTUS_KIND_SPECIES       ? "species"
           : v->kind == SALTUS_KIND_COMPARTMENT ? "compartment"
                                                : "parameter";
}

saltus_status saltus_note_mean_only(saltus_freezer *f, const char *why, const char *hint,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!f->net->mean_only) {
        f->net->mean_only = saltus_arena_strndup(f->arena, why, strlen(why));
        f->net->mean_only_hint = saltus_arena_strndup(f->arena, hint, strlen(hint));
        SALTUS_NEED(f->net->mean_only && f->net->mean_only_hint);
    }
done:
    return status;
}

/* ---- roles and rows ---- */

static saltus_status note_changes(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    saltus_model *m = f->model;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        for (int k = 0; k < r->n_reactants + r->n_products; ++k) {
            const saltus_participant *q =
                k < r->n_reactants ? &r->reactants[k] : &r->products[k - r->n_reactants];
            const saltus_variable *v = &m->variables[q->variable];
            if (v->kind != SALTUS_KIND_SPECIES) {
                SALTUS_FAIL(SALTUS_E_MODEL, "%sreaction '%s': '%s' is a %s, not a species",
                            saltus_place(m, r->line, place), r->id, v->id, saltus_kind_text(v));
            }
            if ((v->rule || v->rate) && !v->boundary) {
                SALTUS_FAIL(SALTUS_E_MODEL,
                            "%sreaction '%s' changes species '%s', which a %srule determines",
                            saltus_place(m, r->line, place), r->id, v->id, v->rate ? "rate " : "");
            }
            f->reacts[q->variable] = !v->boundary && !v->constant && !v->rule && !v->rate;
        }
    }
    for (size_t i = 0; i < m->n_events; ++i) {
        const saltus_event *e = &m->events[i];
        for (int k = 0; k < e->n_assignments; ++k) {
            const saltus_variable *v = &m->variables[e->assignments[k].variable];
            if (v->rule || v->constant) {
                SALTUS_FAIL(SALTUS_E_MODEL, "%sevent '%s' sets '%s', which %s",
                            saltus_place(m, e->line, place), e->id, v->id,
                            v->rule ? "a rule determines" : "is constant");
            }
            f->is_assigned[e->assignments[k].variable] = true;
        }
    }
done:
    return status;
}

/* Species that are counts get rows in their order. One that nothing changes is a constant too,
 * unless it differs from site to site. */
static void bind_counts_and_variables(saltus_freezer *f)
{
    saltus_tables *t = &f->net->tables;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_variable *v = &f->model->variables[i];
        saltus_binding *b = &f->net->bindings[i];
        b->row = -1;
        b->value = f->values[i];
        if (v->kind == SALTUS_KIND_SPECIES && !v->rule && !f->is_real[i]) {
            const bool changes = f->reacts[i] || f->is_assigned[i] || f->is_drawn[i];
            b->row = t->n_species++;
            b->role = changes || f->model->space ? SALTUS_ROLE_COUNT : SALTUS_ROLE_CONSTANT;
        }
    }
    t->row_variables = t->n_species;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        saltus_binding *b = &f->net->bindings[i];
        const bool is_start = f->is_drawn[i] && !f->model->variables[i].rule;
        if ((f->is_assigned[i] || is_start || f->model->variables[i].rate) &&
            b->role != SALTUS_ROLE_COUNT) {
            b->role = SALTUS_ROLE_VARIABLE;
            b->row = t->row_variables + t->n_variables++;
        }
    }
    t->row_flags = t->row_variables + t->n_variables;
}

/* Rules in order: those whose parts never change are constants, the others lose their clock
 * conditions to flags. Their rows come when the number of flags is known. */
static saltus_status bind_rules(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    for (int k = 0; k < f->n_order; ++k) {
        const int i = f->order[k];
        const saltus_variable *v = &f->model->variables[i];
        f->rules[i] = v->rule;
        if (!v->rule || saltus_is_constant(f, v->rule)) {
            continue;
        }
        SALTUS_TRY(saltus_free_of_time(f, v->rule, false, v->id, NULL, &f->rules[i], err));
        f->has_time[i] = saltus_reads_time(f, f->rules[i]);
        f->moves[i] = f->has_time[i] || saltus_moves(f, f->rules[i]);
        f->net->bindings[i].role = SALTUS_ROLE_RULE;
        f->net->rule_variables[t->n_rules++] = i;
    }
    SALTUS_TRY(saltus_collect_rule_counts(f, err));
done:
    return status;
}

static void place_rules(saltus_freezer *f)
{
    saltus_tables *t = &f->net->tables;
    t->n_flags = (int32_t)f->n_clocks;
    t->row_rules = t->row_flags + t->n_flags;
    for (int r = 0; r < t->n_rules; ++r) {
        f->net->bindings[f->net->rule_variables[r]].row = t->row_rules + r;
    }
    t->row_time = t->row_rules + t->n_rules;
    t->row_one = t->row_time + 1;
}

/* ---- values that must be known ---- */

typedef struct unknown {
    const saltus_freezer *f;
    int variable;
} unknown;

/* Without a value, and no event will give it one. */
static bool is_unknown(const saltus_expr *node, void *user)
{
    unknown *u = user;
    if (node->op == SALTUS_OP_VARIABLE) {
        const saltus_variable *v = &u->f->model->variables[node->variable];
        u->variable = node->variable;
        return !v->rule && !v->initial && !u->f->is_assigned[node->variable];
    }
    return false;
}

static saltus_status require(const saltus_freezer *f, const saltus_expr *e, const char *kind,
                             const char *id, int line, saltus_error *err)
{
    char place[160];
    unknown u = {f, -1};
    if (e && saltus_expr_any(e, is_unknown, &u)) {
        const saltus_variable *v = &f->model->variables[u.variable];
        return saltus_error_set(err, SALTUS_E_MODEL, "%s%s '%s' needs %s '%s', which has no value",
                                saltus_place(f->model, line, place), kind, id, saltus_kind_text(v),
                                v->id);
    }
    return SALTUS_OK;
}

static saltus_status require_values(const saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = f->model;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        SALTUS_TRY(require(f, m->reactions[i].law, "reaction", m->reactions[i].id,
                           m->reactions[i].line, err));
        SALTUS_TRY(require(f, saltus_reaction_delay(m, &m->reactions[i]), "reaction",
                           m->reactions[i].id, m->reactions[i].line, err));
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        SALTUS_TRY(require(f, m->variables[i].rule, "rule of", m->variables[i].id,
                           m->variables[i].line, err));
        SALTUS_TRY(require(f, m->variables[i].rate, "rate rule of", m->variables[i].id,
                           m->variables[i].line, err));
    }
    for (size_t i = 0; i < m->n_events; ++i) {
        SALTUS_TRY(
            require(f, m->events[i].trigger, "event", m->events[i].id, m->events[i].line, err));
    }
done:
    return status;
}

/* ---- all together ---- */

static saltus_status allocate(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = f->model;
    const size_t n = m->n_variables + 1;
    size_t n_settings = n; /* of events, and values at time 0 */
    for (size_t i = 0; i < m->n_events; ++i) {
        n_settings += (size_t)m->events[i].n_assignments;
    }
    f->net = saltus_calloc(1, sizeof *f->net);
    SALTUS_NEED(f->net);
    f->net->model = m;
    f->arena = &f->net->arena;
    f->values = saltus_calloc(n, sizeof *f->values);
    f->amounts = saltus_calloc(n, sizeof *f->amounts);
    f->reads = saltus_calloc(n, sizeof *f->reads);
    f->reacts = saltus_calloc(n, sizeof *f->reacts);
    f->is_assigned = saltus_calloc(n, sizeof *f->is_assigned);
    f->rules = saltus_calloc(n, sizeof *f->rules);
    f->has_time = saltus_calloc(n, sizeof *f->has_time);
    f->moves = saltus_calloc(n, sizeof *f->moves);
    f->rates = saltus_calloc(n, sizeof *f->rates);
    f->order = saltus_calloc(n, sizeof *f->order);
    f->seen = saltus_calloc(n, sizeof *f->seen);
    f->counts_of_rules = saltus_calloc(n, sizeof *f->counts_of_rules);
    f->is_real = saltus_calloc(n, sizeof *f->is_real);
    f->is_fixed = saltus_calloc(n, sizeof *f->is_fixed);
    f->is_drawn = saltus_calloc(n, sizeof *f->is_drawn);
    f->is_smooth = saltus_calloc(n, sizeof *f->is_smooth);
    f->start_order = saltus_calloc(n, sizeof *f->start_order);
    SALTUS_NEED(f->values && f->amounts && f->reads && f->reacts && f->is_assigned && f->rules &&
                f->has_time && f->moves && f->rates && f->order && f->seen && f->counts_of_rules &&
                f->is_real && f->is_fixed && f->is_drawn && f->is_smooth && f->start_order);
    saltus_network *net = f->net;
    net->bindings = saltus_arena_alloc(f->arena, n * sizeof *net->bindings);
    net->rule_variables = saltus_arena_alloc(f->arena, n * sizeof *net->rule_variables);
    net->event_names = saltus_arena_alloc(f->arena, (m->n_events + 1) * sizeof(char *));
    net->setting_names = saltus_arena_alloc(f->arena, n_settings * sizeof(char *));
    net->setting_events = saltus_arena_alloc(f->arena, n_settings * sizeof(char *));
    net->species_names = saltus_arena_alloc(f->arena, n * sizeof(char *));
    f->triggers = saltus_arena_alloc(f->arena, (m->n_events + 1) * sizeof *f->triggers);
    f->settings = saltus_arena_alloc(f->arena, n_settings * sizeof *f->settings);
    SALTUS_NEED(net->bindings && net->rule_variables && net->event_names && net->setting_names &&
                net->setting_events && net->species_names && f->triggers && f->settings);
    net->tables.triggers = f->triggers;
    net->tables.settings = f->settings;
done:
    return status;
}

static saltus_status fill_names_and_starts(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    int64_t *counts = saltus_arena_alloc(f->arena, (size_t)(t->n_species + 1) * sizeof *counts);
    double *variables = saltus_arena_alloc(f->arena, (size_t)(t->n_variables + 1) * sizeof(double));
    double *amounts = saltus_arena_alloc(f->arena, (size_t)(t->n_species + 1) * sizeof *amounts);
    SALTUS_NEED(counts);
    SALTUS_NEED(variables);
    SALTUS_NEED(amounts);
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_binding *b = &f->net->bindings[i];
        if (b->row >= 0 && b->row < t->n_species) {
            f->net->species_names[b->row] = f->model->variables[i].id;
            counts[b->row] =
                fabs(b->value) < 0x1p63 ? (int64_t)nearbyint(b->value) : 0; /* of no use then */
            amounts[b->row] = f->amounts[i];
        } else if (b->role == SALTUS_ROLE_VARIABLE) {
            variables[b->row - t->row_variables] = b->value;
        }
    }
    t->initial_counts = counts;
    f->net->initial_amounts = amounts;
    t->initial_variables = variables;
done:
    return status;
}

static saltus_status compile_rules(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    f->rule_programs =
        saltus_arena_alloc(f->arena, (size_t)(t->n_rules + 1) * sizeof *f->rule_programs);
    SALTUS_NEED(f->rule_programs);
    for (int r = 0; r < t->n_rules; ++r) {
        SALTUS_TRY(
            saltus_compile(f, f->rules[f->net->rule_variables[r]], &f->rule_programs[r], err));
    }
    t->rules = f->rule_programs;
done:
    return status;
}

/* Whether the steps are the model's reactions, one after the other. */
static bool steps_are_reactions(const saltus_freezer *f)
{
    bool are = f->n_steps == f->model->n_reactions;
    for (size_t i = 0; i < f->n_steps && are; ++i) {
        are = f->steps[i].id == f->model->reactions[i].id;
    }
    return are;
}

static saltus_status name_steps(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_network *net = f->net;
    net->law_forms = saltus_arena_alloc(f->arena, f->n_steps + 1);
    SALTUS_NEED(net->law_forms);
    for (size_t i = 0; i < f->n_steps; ++i) {
        net->law_forms[i] = (unsigned char)f->steps[i].form;
    }
    if (steps_are_reactions(f)) {
        goto done;
    }
    net->step_names = saltus_arena_alloc(f->arena, (f->n_steps + 1) * sizeof(char *));
    net->model_steps = saltus_arena_alloc(f->arena, (f->model->n_reactions + 1) * sizeof(int));
    SALTUS_NEED(net->step_names && net->model_steps);
    for (size_t i = 0; i < f->n_steps; ++i) {
        net->step_names[i] = f->steps[i].id;
        ++net->model_steps[f->steps[i].reaction - f->model->reactions];
    }
done:
    return status;
}

/* What grew on the heap moves into the network's arena. */
static saltus_status settle_arrays(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_instruction *code = saltus_arena_alloc(f->arena, (f->n_code + 1) * sizeof *code);
    double *constants = saltus_arena_alloc(f->arena, (f->n_constants + 1) * sizeof *constants);
    saltus_program *laws = saltus_arena_alloc(f->arena, (f->n_laws + 1) * sizeof *laws);
    saltus_clock *clocks = saltus_arena_alloc(f->arena, (f->n_clocks + 1) * sizeof *clocks);
    saltus_variate *variates = saltus_arena_alloc(f->arena, (f->n_variates + 1) * sizeof *variates);
    saltus_drift *drifts = saltus_arena_alloc(f->arena, (f->n_drifts + 1) * sizeof *drifts);
    saltus_instruction *bound_code =
        saltus_arena_alloc(f->arena, (f->n_bound_code + 1) * sizeof *bound_code);
    SALTUS_NEED(drifts && bound_code);
    SALTUS_NEED(code && constants && laws && clocks && variates);
    for (size_t i = 0; i < f->n_code; ++i) {
        code[i] = f->code[i];
    }
    for (size_t i = 0; i < f->n_constants; ++i) {
        constants[i] = f->constants[i].value;
    }
    for (size_t i = 0; i < f->n_laws; ++i) {
        laws[i] = f->laws[i];
    }
    for (size_t i = 0; i < f->n_clocks; ++i) {
        clocks[i] = f->clocks[i];
    }
    for (size_t i = 0; i < f->n_variates; ++i) {
        variates[i] = f->variates[i];
    }
    for (size_t i = 0; i < f->n_drifts; ++i) {
        drifts[i] = f->drifts[i];
    }
    for (size_t i = 0; i < f->n_bound_code; ++i) {
        bound_code[i] = f->bound_code[i];
    }
    t->code = code;
    t->n_code = (int32_t)f->n_code;
    t->constants = constants;
    t->laws = laws;
    t->n_laws = (int32_t)f->n_laws;
    t->clocks = clocks;
    t->variates = variates;
    t->drifts = drifts;
    t->n_drifts = (int32_t)f->n_drifts;
    t->bound_code = bound_code;
    t->n_bound_code = (int32_t)f->n_bound_code;
done:
    return status;
}

/* Everything but the network. */
static void drop_scratch(saltus_freezer *f)
{
    saltus_free(f->values);
    saltus_free(f->amounts);
    saltus_free(f->reads);
    saltus_free(f->reacts);
    saltus_free(f->is_assigned);
    saltus_free(f->rules);
    saltus_free(f->has_time);
    saltus_free(f->moves);
    saltus_free(f->rates);
    saltus_free(f->order);
    saltus_free(f->seen);
    saltus_free(f->counts_of_rules);
    saltus_free(f->is_real);
    saltus_free(f->is_fixed);
    saltus_free(f->is_drawn);
    saltus_free(f->is_smooth);
    saltus_free(f->start_order);
    saltus_free(f->variates);
    saltus_free(f->rule_counts);
    saltus_free(f->clocks);
    saltus_free(f->clock_when);
    saltus_free(f->steps);
    saltus_free(f->factor_species);
    saltus_free(f->factor_offset);
    saltus_free(f->code);
    saltus_free(f->constants);
    saltus_free(f->laws);
    saltus_free(f->decisions);
    saltus_free(f->drifts);
    saltus_free(f->bound_code);
    *f = (saltus_freezer){.model = f->model, .net = f->net, .arena = f->arena};
}

void saltus_freezer_free(saltus_freezer *f)
{
    saltus_network_destroy(f->net);
    f->net = NULL;
    drop_scratch(f);
}

/* A lattice has no mean field. */
static saltus_status check_mean_only(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *why = f->model->mean_only;
    if (why && f->model->space) {
        saltus_error_set(err, SALTUS_E_UNSUPPORTED, "%s", why);
        saltus_error_hint(err, "`method ode` alone takes it, which models with a lattice have not");
        return SALTUS_E_UNSUPPORTED;
    }
    if (why) {
        SALTUS_TRY(saltus_note_mean_only(f, why, "`method ode` takes it", err));
    }
done:
    return status;
}

/* Amounts that are no counts are of the mean field alone, or freezing fails with this status. Where
 * they are too large, what would make them fit is worth finding out. */
static saltus_status note_misfit(saltus_freezer *f, saltus_status failed, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer tried = {.model = f->model, .law_mode = f->law_mode};
    char options[400], hint[600] = "`set` gives it another initial amount";
    if (f->is_too_large) {
        SALTUS_TRY(allocate(&tried, err));
        saltus_find_reals(&tried);
        if (saltus_suggest_amounts(&tried, options, sizeof options)) {
            (void)snprintf(hint, sizeof hint, "%s makes about 1000 molecules of the largest amount",
                           options);
        }
    }
    if (failed != SALTUS_OK) {
        if (f->is_too_large) {
            saltus_error_hint(err, "%s", hint);
        }
        status = failed;
        goto done;
    }
    if (f->misfit[0]) {
        (void)strcat(hint, "; `method ode` takes it as it is");
        SALTUS_TRY(saltus_note_mean_only(f, f->misfit, hint, err));
    }
done:
    saltus_freezer_free(&tried);
    return status;
}

typedef struct freezing {
    saltus_model *model;
    saltus_law law;
    saltus_freezer *kept; /* NULL: it is not wanted */
} freezing;

static saltus_status freeze(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const freezing *wanted = user;
    saltus_model *model = wanted->model;
    saltus_freezer f = {.model = model, .law_mode = wanted->law};
    const saltus_expr **triggers = saltus_calloc(model->n_events, sizeof *triggers);
    SALTUS_NEED(triggers);
    if (model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "model '%s' is frozen already", model->name);
    }
    if (model->space) {
        SALTUS_TRY(saltus_check_space(model, err));
    }
    model->n_read_warnings = model->n_warnings;
    model->law = wanted->law;
    SALTUS_TRY(allocate(&f, err));
    SALTUS_TRY(check_mean_only(&f, err));
    SALTUS_TRY(saltus_check_draws(&f, err));
    saltus_find_reals(&f);
    status = saltus_evaluate(&f, err);
    SALTUS_TRY(note_misfit(&f, status, err));
    SALTUS_TRY(saltus_check_volumes(&f, err));
    SALTUS_TRY(note_changes(&f, err));
    SALTUS_TRY(saltus_note_rates(&f, err));
    SALTUS_TRY(require_values(&f, err));
    bind_counts_and_variables(&f);
    SALTUS_TRY(bind_rules(&f, err));
    SALTUS_TRY(saltus_free_triggers(&f, triggers, err)); /* the last that can add variables */
    SALTUS_TRY(fill_names_and_starts(&f, err));
    SALTUS_TRY(saltus_free_rates(&f, err));
    SALTUS_TRY(saltus_make_steps(&f, err)); /* the last that can add flags */
    place_rules(&f);
    SALTUS_TRY(compile_rules(&f, err));
    SALTUS_TRY(saltus_fill_reactions(&f, err));
    SALTUS_TRY(saltus_fill_delays(&f, err));
    SALTUS_TRY(saltus_fill_thinned(&f, err));
    SALTUS_TRY(saltus_fill_events(&f, triggers, err));
    SALTUS_TRY(saltus_list_wavering(&f, triggers, err));
    SALTUS_TRY(saltus_fill_starts(&f, err));
    SALTUS_TRY(saltus_compile_rates(&f, triggers, err));
    SALTUS_TRY(saltus_fill_moving(&f, err));
    SALTUS_TRY(saltus_fill_kinks(&f, triggers, err));
    f.net->tables.has_tables = f.has_tables;
    saltus_place_rows(&f);
    saltus_place_intervals(&f);
    SALTUS_TRY(settle_arrays(&f, err));
    SALTUS_TRY(name_steps(&f, err));
    SALTUS_TRY(saltus_find_live_rules(&f, err));
    SALTUS_TRY(saltus_freeze_orders(&f, triggers, err));
    SALTUS_TRY(saltus_find_bending(&f, err));
    if (model->space) {
        SALTUS_TRY(saltus_freeze_lattice(&f, err));
    } else {
        SALTUS_TRY(saltus_note_set(&f, err));
    }
    if (!wanted->kept) { /* before the hubs of a large network, for which memory is most */
        drop_scratch(&f);
    }
    SALTUS_TRY(saltus_fill_hubs(&f, err));
    model->network = f.net;
    if (wanted->kept) {
        *wanted->kept = f;
        f = (saltus_freezer){0};
    }
    f.net = NULL;
done:
    saltus_free(triggers);
    saltus_freezer_free(&f);
    return status;
}

saltus_status saltus_freeze_and_keep(saltus_model *model, saltus_law law, saltus_freezer *out,
                                     saltus_error *err)
{
    freezing wanted = {model, law, out};
    return saltus_with_stack(freeze, &wanted, err);
}

saltus_status saltus_law_check(saltus_law law, saltus_error *err)
{
    const unsigned all = SALTUS_LAW_COMBINATORIAL | SALTUS_STOICHIOMETRY_DRAW | SALTUS_AMOUNTS_REAL;
    return ((unsigned)law & ~all) == 0
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_INVALID, "law %d: there is no such saltus_law",
                                  (int)law);
}

saltus_status saltus_model_freeze(saltus_model *model, saltus_law law, saltus_error *err)
{
    if (!model) {
        return saltus_no_argument(err, __func__);
    }
    const saltus_status status = saltus_law_check(law, err);
    return status == SALTUS_OK ? saltus_freeze_and_keep(model, law, NULL, err) : status;
}

void saltus_network_destroy(saltus_network *network)
{
    if (network) {
        saltus_arena_free(&network->arena);
        saltus_free(network);
    }
}

int saltus_model_n_species(const saltus_model *model)
{
    return model && model->network ? model->network->tables.n_species : 0;
}

int saltus_model_n_reactions(const saltus_model *model)
{
    return model && model->network ? model->network->tables.n_reactions : 0;
}

const char *saltus_model_species(const saltus_model *model, int s)
{
    return s >= 0 && s < saltus_model_n_species(model) ? model->network->species_names[s] : "";
}
