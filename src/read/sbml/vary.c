/* Stoichiometries that vary. Where all values that one may have are known, because events and rules
 * give it numbers, the reaction becomes one for each of them, which happens while the stoichiometry
 * has that value: that is exact, and every method takes it. Else the mean field alone has a
 * meaning, in which the species changes at the rate of the reaction times the stoichiometry. */
#include "core/number.h"
#include "read/sbml/sbml.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 10000, MOST_WAYS = 100 };

/* ------------------------------------------------------------------------------------------------
 * Values that an expression may have
 */

typedef struct search {
    const sbml_reader *r;
    bool marks;      /* what is read cannot be set any more */
    bool at_start;   /* what is at time 0 counts alone */
    bool has_failed; /* memory ran out */
    int steps;       /* left; ends what comes from much in many ways */
} search;

static bool find_values(search *s, const saltus_expr *e, sbml_values *out);

static bool add_value(sbml_values *set, double x)
{
    for (int i = 0; i < set->n; ++i) {
        if (set->value[i] == x) {
            return true;
        }
    }
    if (!isfinite(x) || set->n == SBML_MOST_VALUES) {
        return false;
    }
    set->value[set->n++] = x;
    return true;
}

static bool merge_values(search *s, const saltus_expr *e, sbml_values *out)
{
    sbml_values more = {.n = 0};
    bool is_known = find_values(s, e, &more);
    for (int i = 0; i < more.n && is_known; ++i) {
        is_known = add_value(out, more.value[i]);
    }
    return is_known;
}

/* What events give a variable. */
static bool merge_assigned(search *s, int variable, sbml_values *out)
{
    const saltus_model *m = s->r->model;
    bool is_known = true;
    for (size_t e = 0; e < m->n_events; ++e) {
        for (int k = 0; k < m->events[e].n_assignments && is_known; ++k) {
            const saltus_assignment *a = &m->events[e].assignments[k];
            is_known = a->variable != variable || merge_values(s, a->value, out);
        }
    }
    return is_known;
}

/* What a variable begins with, which does not follow what that comes from, and what events give
 * it. */
static bool find_values_of_variable(search *s, int variable, sbml_values *out)
{
    const saltus_model *m = s->r->model;
    sbml_info *info = &s->r->info[variable];
    saltus_variable *v = &m->variables[variable];
    const saltus_expr *start = v->rule ? v->rule : v->initial;
    const bool was_at_start = s->at_start;
    if (v->kind == SALTUS_KIND_SPECIES || (info->rate && !was_at_start) || info->is_wanted ||
        !start) {
        return false;
    }
    info->is_wanted = true; /* what comes from itself goes on for ever */
    v->is_spent |= s->marks;
    s->at_start |= start == v->initial;
    bool is_known = merge_values(s, start, out);
    s->at_start = was_at_start;
    is_known = is_known && (was_at_start || merge_assigned(s, variable, out));
    info->is_wanted = false;
    return is_known;
}

/* An operation on all combinations of what its arguments may be. */
static bool combine_values(search *s, const saltus_expr *e, sbml_values *out)
{
    saltus_arena *arena = &s->r->model->arena;
    sbml_values sets[2] = {{.value = {0.0}, .n = 1}, {.value = {0.0}, .n = 1}};
    for (int i = 0; i < e->n_args; ++i) {
        sets[i].n = 0;
        if (!find_values(s, e->args[i], &sets[i])) {
            return false;
        }
    }
    for (int i = 0; i < sets[0].n * sets[1].n; ++i) {
        const saltus_expr *const args[] = {saltus_expr_const(arena, sets[0].value[i % sets[0].n]),
                                           saltus_expr_const(arena, sets[1].value[i / sets[0].n])};
        const saltus_expr *one = saltus_expr_n(arena, e->op, e->n_args, args);
        s->has_failed |= !one;
        if (!one || !add_value(out, saltus_expr_value(one, NULL, 0.0))) {
            return false;
        }
    }
    return true;
}

static bool find_values(search *s, const saltus_expr *e, sbml_values *out)
{
    if (--s->steps < 0) {
        return false;
    }
    if (e->op == SALTUS_OP_CONST) {
        return add_value(out, e->value);
    }
    if (e->op == SALTUS_OP_VARIABLE) {
        return find_values_of_variable(s, e->variable, out);
    }
    if (e->op == SALTUS_OP_PIECEWISE) { /* without an otherwise it may be none of its values */
        bool is_known = e->n_args % 2 == 1;
        for (int i = 0; i < e->n_args && is_known; i += 2) {
            is_known = merge_values(s, e->args[i], out);
        }
        return is_known;
    }
    return e->n_args >= 1 && e->n_args <= 2 && !saltus_op_draws(e->op) &&
           !saltus_op_is_table(e->op) && combine_values(s, e, out);
}

saltus_status sbml_find_values(const sbml_reader *r, const saltus_expr *e, sbml_values *out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    bool is_known = true;
    for (int marks = 0; marks < 2 && is_known; ++marks) {
        search s = {.r = r, .marks = marks == 1, .steps = MOST_STEPS};
        out->n = 0;
        is_known = find_values(&s, e, out);
        SALTUS_NEED(!s.has_failed);
    }
    out->n = is_known ? out->n : 0;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

saltus_status sbml_let_vary(sbml_reader *r, const char *id)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const int at = id ? saltus_map_get(&r->names, id) : -1;
    int v = -1;
    if (at < 0 || r->symbols[at].kind != NAME_REFERENCE) {
        goto done;
    }
    const sbml_reference *reference = &r->references[r->symbols[at].index];
    const double n = SpeciesReference_getStoichiometry(reference->of);
    SALTUS_TRY(sbml_add_variable(r, SALTUS_KIND_PARAMETER, id, (const SBase_t *)reference->of, &v));
    r->symbols[at] = (sbml_symbol){.kind = NAME_VARIABLE, .index = v};
    r->model->variables[v].constant = SpeciesReference_getConstant(reference->of); /* of level 3 */
    r->model->variables[v].initial = saltus_expr_const(&r->model->arena, isnan(n) ? 1.0 : n);
    SALTUS_NEED(r->model->variables[v].initial);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

/* R[n=2], and in a formula that n is 2. */
static saltus_status add_condition(sbml_reader *r, const sbml_stoichiometry *s, double n, char *id,
                                   size_t size, const saltus_expr **law)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const size_t at = strlen(id);
    (void)snprintf(id + at, size - at, "[%s=%s]", s->name, SALTUS_NUMBER(n));
    *law = saltus_expr_2(arena, SALTUS_OP_MUL, *law,
                         saltus_expr_2(arena, SALTUS_OP_EQ, s->n, saltus_expr_const(arena, n)));
    SALTUS_NEED(*law);
done:
    return status;
}

/* The reaction of one combination of values: number `way` of all. */
static saltus_status push_way(sbml_reader *r, const sbml_place *place,
                              const saltus_reaction *reaction, const sbml_stoichiometry *list,
                              int n, double firings, int way)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_reaction out = *reaction;
    sbml_sides sides;
    char id[400];
    (void)snprintf(id, sizeof id, "%.100s", reaction->id);
    SALTUS_TRY(sbml_make_sides(r, list, n, &sides));
    for (int i = 0; i < n; ++i) {
        const sbml_stoichiometry *s = &list[i];
        const double value = s->values.value[way % s->values.n];
        way /= s->values.n;
        if (s->values.n > 1) {
            SALTUS_TRY(add_condition(r, s, value, id, sizeof id, &out.law));
        }
        SALTUS_TRY(sbml_put_participant(r, place, s, value, firings, &sides));
    }
    out.id = saltus_arena_strndup(&r->model->arena, id, strlen(id));
    SALTUS_NEED(out.id);
    SALTUS_TRY(sbml_push_with_sides(r, &out, &sides));
done:
    return status;
}

/* Why the mean field alone has a meaning. */
static saltus_status note_own(sbml_reader *r, const sbml_place *place, const sbml_stoichiometry *s,
                              double firings)
{
    const char *id = r->model->variables[s->species].id;
    if (s->values.n == 1) {
        return sbml_note_mean_only(
            r, place->line,
            "%s: a firing would change %.9g molecules of '%s', which is not a whole number",
            place->what, sbml_change(r, s->species, s->values.value[0], firings), id);
    }
    return sbml_note_mean_only(
        r, place->line, "%s: the %s of '%s' %s a few numbers that are known", place->what,
        r->info[s->species].open_factor < 0 ? "stoichiometry" : "conversion factor", id,
        r->info[s->species].open_factor < 0 ? "varies, and not between" : "is none of");
}

/* A stoichiometry that is not known, or in units that do not go with the reaction's, in a reaction
 * of one molecule: R[n 2]. */
static saltus_status push_own(sbml_reader *r, const sbml_place *place,
                              const saltus_reaction *reaction, const sbml_stoichiometry *s,
                              int number, double firings)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const double molecules = sbml_change(r, s->species, 1.0, firings);
    const saltus_expr *n = s->n;
    saltus_reaction out = *reaction;
    sbml_sides sides;
    char id[400];
    if (molecules != 1.0) {
        n = saltus_expr_2(arena, SALTUS_OP_MUL, n, saltus_expr_const(arena, molecules));
    }
    (void)snprintf(id, sizeof id, "%.100s[%.100s %d]", reaction->id, s->name, number);
    out.id = saltus_arena_strndup(arena, id, strlen(id));
    out.law = saltus_expr_2(arena, SALTUS_OP_MUL, reaction->law, n);
    SALTUS_NEED(out.id && out.law);
    SALTUS_TRY(sbml_make_sides(r, s, 1, &sides));
    sbml_put_molecules(&sides, s->is_product, s->species, 1.0);
    SALTUS_TRY(sbml_push_with_sides(r, &out, &sides));
    SALTUS_TRY(note_own(r, place, s, firings));
done:
    return status;
}

static saltus_status push_mean(sbml_reader *r, const sbml_place *place,
                               const saltus_reaction *reaction, const sbml_stoichiometry *list,
                               int n, double firings)
{
    saltus_status status = SALTUS_OK;
    sbml_sides sides;
    SALTUS_TRY(sbml_make_sides(r, list, n, &sides));
    for (int i = 0; i < n; ++i) {
        const sbml_stoichiometry *s = &list[i];
        if (s->values.n == 1 && sbml_can_count(r, s, s->values.value[0], firings)) {
            SALTUS_TRY(sbml_put_participant(r, place, s, s->values.value[0], firings, &sides));
        } else {
            SALTUS_TRY(push_own(r, place, reaction, s, i + 1, firings));
        }
    }
    if (sides.n[0] + sides.n[1] > 0) {
        SALTUS_TRY(sbml_push_with_sides(r, reaction, &sides));
    }
done:
    return status;
}

saltus_status sbml_push_varying(sbml_reader *r, const sbml_place *place,
                                const saltus_reaction *reaction, const sbml_stoichiometry *list,
                                int n, double firings)
{
    saltus_status status = SALTUS_OK;
    int n_ways = 1;
    for (int i = 0; i < n; ++i) {
        n_ways = n_ways > MOST_WAYS ? n_ways : n_ways * list[i].values.n;
        for (int k = 0; k < list[i].values.n; ++k) {
            n_ways = sbml_can_count(r, &list[i], list[i].values.value[k], firings) ? n_ways : 0;
        }
        if (list[i].values.n == 0) {
            n_ways = 0;
        }
    }
    if (n_ways == 0 || n_ways > MOST_WAYS) {
        return push_mean(r, place, reaction, list, n, firings);
    }
    for (int way = 0; way < n_ways; ++way) {
        SALTUS_TRY(push_way(r, place, reaction, list, n, firings, way));
    }
done:
    return status;
}
