/* Rate rules: variables that change between reactions, and what follows them there. */
#include "model/freeze/freeze.h"

#include <math.h>

saltus_status saltus_note_rates(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    const saltus_model *m = f->model;
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        if (!v->rate) {
            continue;
        }
        const char *at = saltus_place(m, v->line, place);
        if (v->rule || v->constant) {
            SALTUS_FAIL(SALTUS_E_MODEL, "%s%s '%s' has a rate rule, and %s", at,
                        saltus_kind_text(v), v->id,
                        v->constant ? "is constant" : "an assignment rule");
        }
        if (!v->initial || !isfinite(f->values[i])) {
            SALTUS_FAIL(SALTUS_E_MODEL, "%s%s '%s' has a rate rule, and %s at time 0", at,
                        saltus_kind_text(v), v->id, v->initial ? "no finite value" : "no value");
        }
        f->moves[i] = true;
        f->is_continuous = true;
    }
done:
    return status;
}

saltus_status saltus_free_rates(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_variable *v = &f->model->variables[i];
        if (v->rate) {
            SALTUS_TRY(saltus_free_of_time(f, v->rate, false, v->id, NULL, &f->rates[i], err));
        }
    }
done:
    return status;
}

/* The differences that comparisons of triggers look at the sign of. */
typedef struct root_search {
    saltus_freezer *f;
    const saltus_expr **list;
    size_t n, capacity;
    bool must_swing; /* only those that may turn many times while what they read hardly bends */
    bool failed;
} root_search;

/* Of a node: whether its value may do so. */
static bool swings(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    switch (node->op) {
    case SALTUS_OP_VARIABLE: {
        const size_t i = (size_t)node->variable;
        return i < f->model->n_variables && f->moves[i] && f->rules[i] &&
               saltus_expr_any(f->rules[i], swings, user);
    }
    case SALTUS_OP_FLOOR:
    case SALTUS_OP_CEIL:
    case SALTUS_OP_ROUND:
    case SALTUS_OP_QUOTIENT:
    case SALTUS_OP_REM:
        return saltus_moves(f, node);
    default:
        return (saltus_op_is_circular(node->op) || saltus_op_is_table(node->op)) &&
               saltus_moves(f, node);
    }
}

/* Returns true, which ends the search, when memory ran out. */
static bool add_difference(root_search *s, const saltus_expr *d)
{
    const saltus_expr **grown = saltus_grow(s->list, s->n, &s->capacity, sizeof *s->list);
    s->failed = !grown || !d;
    if (grown) {
        s->list = grown;
        s->list[s->n++] = d;
    }
    return s->failed;
}

static const saltus_expr *difference(const root_search *s, const saltus_expr *node)
{
    return saltus_expr_2(s->f->arena, SALTUS_OP_SUB, node->args[0], node->args[1]);
}

static bool find_root(const saltus_expr *node, void *user)
{
    root_search *s = user;
    if (!saltus_op_is_order(node->op) ||
        (!saltus_moves(s->f, node) && !saltus_reads_counts(s->f, node)) ||
        (s->must_swing && !saltus_expr_any(node, swings, s->f))) {
        return false;
    }
    return add_difference(s, difference(s, node));
}

/* true and false, which turn where the comparisons do that they are made of. */
static bool is_truth(const saltus_expr *e)
{
    return saltus_op_is_logic(e->op) ||
           (e->op == SALTUS_OP_CONST && (e->value == 0.0 || e->value == 1.0));
}

bool saltus_equates_numbers(const saltus_expr *e)
{
    return (e->op == SALTUS_OP_EQ || e->op == SALTUS_OP_NE) &&
           !(is_truth(e->args[0]) && is_truth(e->args[1]));
}

bool saltus_turns_unseen(const saltus_freezer *f, const saltus_expr *e)
{
    if (saltus_op_is_order(e->op) || !saltus_reads_time(f, e)) {
        return false;
    }
    bool unseen = e->n_args == 0;
    for (int i = 0; i < e->n_args; ++i) {
        unseen |= saltus_equates_numbers(e) || saltus_turns_unseen(f, e->args[i]);
    }
    return unseen;
}

static bool is_rate(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_VARIABLE && (size_t)node->variable < f->model->n_variables &&
           f->model->variables[node->variable].rate;
}

/* The same of laws, rates and rules that compare a variable with a rate rule: where that hardly
 * bends, a step would go over a window of it. Kinks of the time end steps without that. */
static bool find_window(const saltus_expr *node, void *user)
{
    root_search *s = user;
    const bool is_order =
        saltus_op_is_order(node->op) || node->op == SALTUS_OP_MIN || node->op == SALTUS_OP_MAX;
    if ((!is_order && node->op != SALTUS_OP_ABS) || !saltus_expr_any(node, is_rate, s->f)) {
        return false;
    }
    return add_difference(s, is_order ? difference(s, node) : node->args[0]);
}

static void find_windows(root_search *s)
{
    const saltus_freezer *f = s->f;
    for (size_t i = 0; i < f->model->n_reactions && !s->failed; ++i) {
        if (f->model->reactions[i].law) {
            (void)saltus_expr_any(f->model->reactions[i].law, find_window, s);
        }
    }
    for (size_t i = 0; i < f->model->n_variables && !s->failed; ++i) {
        const saltus_expr *rate = f->model->variables[i].rate;
        const saltus_expr *e = rate ? rate : f->rules[i];
        if (e) {
            (void)saltus_expr_any(e, find_window, s);
        }
    }
}

saltus_status saltus_follow_triggers(saltus_freezer *f, const saltus_expr *const *triggers,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_arena *arena = f->arena;
    root_search s = {.f = f, .must_swing = f->is_continuous};
    for (size_t i = 0; i < f->model->n_events && !s.failed; ++i) {
        if (f->is_continuous || saltus_reads_time(f, triggers[i])) {
            (void)saltus_expr_any(triggers[i], find_root, &s);
        }
    }
    if (f->is_continuous && !f->model->space) {
        find_windows(&s);
    }
    SALTUS_NEED(!s.failed);
    /* d / (1 + |d|) of each difference d, which is as smooth, and bounded */
    for (size_t i = 0; i < s.n; ++i) {
        const saltus_expr *d = s.list[i];
        d = saltus_expr_2(arena, SALTUS_OP_DIV, d,
                          saltus_expr_2(arena, SALTUS_OP_ADD, saltus_expr_const(arena, 1.0),
                                        saltus_expr_1(arena, SALTUS_OP_ABS, d)));
        f->follower = i == 0 ? d : saltus_expr_2(arena, SALTUS_OP_ADD, f->follower, d);
        SALTUS_NEED(f->follower);
    }
    if (f->follower) {
        f->net->follows_triggers = !f->is_continuous;
        f->is_continuous = true;
        f->follower_row = t->row_variables + t->n_variables++;
        ++t->row_flags;
    }
done:
    saltus_free(s.list);
    return status;
}

static saltus_status compile_roots(saltus_freezer *f, const saltus_expr *const *triggers,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    root_search s = {.f = f};
    for (size_t i = 0; i < f->model->n_events && !s.failed; ++i) {
        f->net->tables.n_moving_triggers += saltus_moves(f, triggers[i]);
        (void)saltus_expr_any(triggers[i], find_root, &s);
    }
    SALTUS_NEED(!s.failed);
    f->root_programs = saltus_arena_alloc(f->arena, (s.n + 1) * sizeof *f->root_programs);
    SALTUS_NEED(f->root_programs);
    for (size_t i = 0; i < s.n; ++i) {
        SALTUS_TRY(saltus_compile(f, s.list[i], &f->root_programs[i], err));
    }
    f->net->tables.n_roots = (int32_t)s.n;
    f->net->tables.roots = f->root_programs;
done:
    saltus_free(s.list);
    return status;
}

/* What is integrated, in order, into f->slopes, its rows and its names. The errors of a step are
 * added up in this order. It is that of YAML, which has the kinds one after the other, so that a
 * model has the same bits however it was written. */
static saltus_status list_components(saltus_freezer *f, saltus_error *err)
{
    static const saltus_kind kinds[] = {SALTUS_KIND_COMPARTMENT, SALTUS_KIND_PARAMETER,
                                        SALTUS_KIND_SPECIES};
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n = f->model->n_variables + 1;
    int32_t *rows = saltus_arena_alloc(f->arena, n * sizeof *rows);
    const char **names = saltus_arena_alloc(f->arena, n * sizeof *names);
    f->slopes = saltus_arena_alloc(f->arena, n * sizeof *f->slopes);
    SALTUS_NEED(rows && names && f->slopes);
    for (int k = 0; k < 3; ++k) {
        for (size_t i = 0; i < f->model->n_variables; ++i) {
            if (f->rates[i] && f->model->variables[i].kind == kinds[k]) {
                f->slopes[t->n_rates] = f->rates[i];
                names[t->n_rates] = f->model->variables[i].id;
                rows[t->n_rates++] = f->net->bindings[i].row;
            }
        }
    }
    f->net->n_rate_rules = t->n_rates;
    if (f->follower) {
        f->slopes[t->n_rates] = f->follower;
        names[t->n_rates] = "(what triggers compare)";
        rows[t->n_rates++] = f->follower_row;
    }
    t->rate_rows = rows;
    f->net->rate_names = names;
done:
    return status;
}

saltus_status saltus_compile_rates(saltus_freezer *f, const saltus_expr *const *triggers,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    SALTUS_TRY(list_components(f, err));
    f->rate_programs =
        saltus_arena_alloc(f->arena, ((size_t)t->n_rates + 1) * sizeof *f->rate_programs);
    SALTUS_NEED(f->rate_programs);
    for (int i = 0; i < t->n_rates; ++i) {
        SALTUS_TRY(saltus_compile(f, f->slopes[i], &f->rate_programs[i], err));
    }
    t->rates = f->rate_programs;
    SALTUS_TRY(compile_roots(f, triggers, err));
done:
    return status;
}

/* What moves in one program: it is run at every stage of every step. */
static saltus_status fill_motion(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t first = f->n_code, n = (size_t)t->n_rates + (size_t)t->n_moving_laws;
    int free_temporary = 0, row = 0, k = 0;
    f->motion_rows = saltus_arena_alloc(f->arena, (n + 1) * sizeof *f->motion_rows);
    SALTUS_NEED(f->motion_rows);
    for (int i = 0; i < t->n_moving_rules; ++i) {
        const int r = t->moving_rules[i];
        SALTUS_TRY(saltus_compile_behind(f, f->rules[f->net->rule_variables[r]], t->row_rules + r,
                                         &free_temporary, &row, err));
    }
    for (int i = 0; i < t->n_rates; ++i) {
        SALTUS_TRY(
            saltus_compile_behind(f, f->slopes[i], -1, &free_temporary, &f->motion_rows[k++], err));
    }
    for (int i = 0; i < t->n_moving_laws; ++i) {
        SALTUS_TRY(saltus_compile_behind(f, f->steps[t->moving_laws[i]].law, -1, &free_temporary,
                                         &f->motion_rows[k++], err));
    }
    t->motion = (saltus_program){.first = (int32_t)first, .n = (int32_t)(f->n_code - first)};
    t->motion_rows = f->motion_rows;
done:
    return status;
}

saltus_status saltus_fill_moving(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    int32_t *rules = saltus_arena_alloc(f->arena, ((size_t)t->n_rules + 1) * sizeof *rules);
    const size_t most_laws = f->is_continuous ? (size_t)t->n_reactions : 0;
    int32_t *laws = saltus_arena_alloc(f->arena, (most_laws + 1) * sizeof *laws);
    SALTUS_NEED(rules && laws);
    for (int r = 0; r < t->n_rules && f->is_continuous; ++r) {
        if (f->moves[f->net->rule_variables[r]]) {
            rules[t->n_moving_rules++] = r;
        }
    }
    for (int r = 0; r < t->n_reactions && f->is_continuous; ++r) {
        if (!f->steps[r].is_product && saltus_moves(f, f->steps[r].law)) {
            laws[t->n_moving_laws++] = r;
            f->steps[r].form = f->model->space      ? f->steps[r].form
                               : f->steps[r].is_net ? SALTUS_LAW_FORM_NET_INTEGRATED
                                                    : SALTUS_LAW_FORM_INTEGRATED;
        }
    }
    t->moving_rules = rules;
    t->moving_laws = laws;
    SALTUS_TRY(saltus_nodes_above(f, t->moving_laws, t->n_moving_laws, &t->moving_nodes,
                                  &t->n_moving_nodes, err));
    SALTUS_TRY(fill_motion(f, err));
done:
    return status;
}
