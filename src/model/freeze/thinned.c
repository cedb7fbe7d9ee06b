/* Laws that drift with time: programs on intervals, which bound them in a window of time
 * (kernel/ssa/thinned.h). They are the laws' own expressions, compiled anew. What reads the time
 * and no count is taken out of a law, so that it is bounded once for a window and not after every
 * reaction that changes the counts. */
#include "model/freeze/freeze.h"

#include <string.h>

/* Operands of programs on intervals: slots from 0 on, temporaries from here on until all drifts are
 * known, and rows r as -1 - r. */
enum { TEMPORARY_SLOT = 1 << 29, TIME_SLOT = 0, FIRST_DRIFT_SLOT = 1 };

/* A part of a law that has been taken out. */
typedef struct part {
    const saltus_expr *e;
    int drift;
} part;

typedef struct builder {
    saltus_freezer *f;
    int *drift_of_variable; /* [variable] of rules that drift */
    bool *is_needed;        /* [variable] rules that the present law reads */
    part *parts;
    size_t n_parts, capacity;
} builder;

static saltus_status emit(builder *b, saltus_instruction i, int temporary, int *at,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    saltus_instruction *grown =
        saltus_grow(f->bound_code, f->n_bound_code, &f->bound_code_capacity, sizeof *f->bound_code);
    SALTUS_NEED(grown);
    f->bound_code = grown;
    i.dst = *at = TEMPORARY_SLOT + temporary;
    f->bound_code[f->n_bound_code++] = i;
    f->n_bound_temporaries =
        temporary >= f->n_bound_temporaries ? temporary + 1 : f->n_bound_temporaries;
done:
    return status;
}

static int part_of(const builder *b, const saltus_expr *e)
{
    for (size_t i = 0; i < b->n_parts; ++i) {
        if (b->parts[i].e == e) {
            return b->parts[i].drift;
        }
    }
    return -1;
}

static saltus_status compile(builder *b, const saltus_expr *e, int free_temporary, int *at,
                             saltus_error *err);

/* Nested choices, the last first, as a program on numbers has them. */
static saltus_status compile_piecewise(builder *b, const saltus_expr *e, int free_temporary,
                                       int *at, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int value = 0, condition = 0, y = 0, row = 0;
    if (e->n_args % 2) {
        SALTUS_TRY(compile(b, e->args[e->n_args - 1], free_temporary, &y, err));
    } else {
        SALTUS_TRY(saltus_constant_row(b->f, &saltus_undefined, &row, err));
        y = -1 - row;
    }
    for (int i = e->n_args / 2 * 2 - 2; i >= 0; i -= 2) {
        SALTUS_TRY(compile(b, e->args[i], free_temporary + 1, &value, err));
        SALTUS_TRY(compile(b, e->args[i + 1], free_temporary + 2, &condition, err));
        SALTUS_TRY(emit(b, (saltus_instruction){SALTUS_OP_SELECT, 0, condition, value, y},
                        free_temporary, &y, err));
    }
    *at = y;
done:
    return status;
}

/* Where e's interval stands after the code so far; temporaries from `free_temporary` on may be
 * used. */
static saltus_status compile(builder *b, const saltus_expr *e, int free_temporary, int *at,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    int row = 0, first = 0, second = 0;
    const int taken = part_of(b, e);
    if (taken >= 0) {
        *at = FIRST_DRIFT_SLOT + taken;
        return SALTUS_OK;
    }
    if (saltus_is_constant(f, e)) {
        SALTUS_TRY(saltus_constant_row(f, e, &row, err));
        *at = -1 - row;
        return SALTUS_OK;
    }
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        /* there is no such table where rules have been put in */
        *at = b->drift_of_variable && saltus_reads_time(f, e)
                  ? FIRST_DRIFT_SLOT + b->drift_of_variable[e->variable]
                  : -1 - saltus_variable_row(f, e->variable);
        break;
    case SALTUS_OP_TIME:
        *at = TIME_SLOT;
        break;
    case SALTUS_OP_PIECEWISE:
        SALTUS_TRY(compile_piecewise(b, e, free_temporary, at, err));
        break;
    case SALTUS_OP_HELD:
    case SALTUS_OP_LINEAR:
    case SALTUS_OP_SPLINE:
        SALTUS_TRY(compile(b, e->args[0], free_temporary, &first, err));
        SALTUS_TRY(saltus_table_rows(f, e, &second, &row, err));
        SALTUS_TRY(emit(b, (saltus_instruction){(int32_t)e->op, 0, first, -1 - second, -1 - row},
                        free_temporary, at, err));
        break;
    default:
        SALTUS_TRY(compile(b, e->args[0], free_temporary, &first, err));
        second = first;
        if (e->n_args > 1) {
            SALTUS_TRY(compile(b, e->args[1], free_temporary + 1, &second, err));
        }
        SALTUS_TRY(emit(b, (saltus_instruction){(int32_t)e->op, 0, first, second, first},
                        free_temporary, at, err));
        break;
    }
done:
    return status;
}

static saltus_status compile_program(builder *b, const saltus_expr *e, saltus_program *out,
                                     saltus_error *err)
{
    int at = 0;
    const size_t first = b->f->n_bound_code;
    const saltus_status status = compile(b, e, 0, &at, err);
    out->first = (int32_t)first;
    out->n = (int32_t)(b->f->n_bound_code - first);
    out->result = at;
    return status;
}

static saltus_status push_drift(builder *b, const saltus_expr *e, int rule, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    saltus_drift drift = {.rule = rule, .has_counts = saltus_reads_counts(f, e)};
    SALTUS_TRY(compile_program(b, e, &drift.interval, err));
    saltus_drift *grown =
        saltus_grow(f->drifts, f->n_drifts, &f->drifts_capacity, sizeof *f->drifts);
    SALTUS_NEED(grown);
    f->drifts = grown;
    f->drifts[f->n_drifts++] = drift;
done:
    return status;
}

/* Take out the largest parts of e that read the time and no count. */
static saltus_status take_parts(builder *b, const saltus_expr *e, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (e->n_args == 0 || !saltus_reads_time(b->f, e)) {
        return SALTUS_OK;
    }
    if (saltus_reads_counts(b->f, e)) {
        for (int i = 0; i < e->n_args; ++i) {
            SALTUS_TRY(take_parts(b, e->args[i], err));
        }
        return SALTUS_OK;
    }
    SALTUS_TRY(push_drift(b, e, -1, err));
    part *grown = saltus_grow(b->parts, b->n_parts, &b->capacity, sizeof *b->parts);
    SALTUS_NEED(grown);
    b->parts = grown;
    b->parts[b->n_parts++] = (part){e, (int)b->f->n_drifts - 1};
done:
    return status;
}

/* ---- which rules drift and are read ---- */

static bool note_needed(const saltus_expr *node, void *user)
{
    builder *b = user;
    if (node->op == SALTUS_OP_VARIABLE && saltus_reads_time(b->f, node)) {
        b->is_needed[node->variable] = true;
    }
    return false;
}

/* Mark the rules that the law of a step reads and that drift: from the last to the first, since
 * none reads a later one. */
static void mark_needed(builder *b, const saltus_expr *law)
{
    const saltus_network *net = b->f->net;
    memset(b->is_needed, 0, b->f->model->n_variables * sizeof *b->is_needed);
    (void)saltus_expr_any(law, note_needed, b);
    for (int r = net->tables.n_rules - 1; r >= 0; --r) {
        if (b->is_needed[net->rule_variables[r]]) {
            (void)saltus_expr_any(b->f->rules[net->rule_variables[r]], note_needed, b);
        }
    }
}

/* Drifts for all rules that drift and that some law reads, in the order of rules. */
static saltus_status push_rules(builder *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    const saltus_network *net = f->net;
    bool *any = saltus_calloc(f->model->n_variables + 1, sizeof *any);
    SALTUS_NEED(any);
    for (size_t s = 0; s < f->n_steps; ++s) {
        if (f->steps[s].drifts) {
            mark_needed(b, f->steps[s].law);
            for (int r = 0; r < net->tables.n_rules; ++r) {
                any[net->rule_variables[r]] |= b->is_needed[net->rule_variables[r]];
            }
        }
    }
    for (int r = 0; r < net->tables.n_rules; ++r) {
        const int variable = net->rule_variables[r];
        if (any[variable]) {
            b->n_parts = 0;
            if (saltus_reads_counts(f, f->rules[variable])) {
                SALTUS_TRY(take_parts(b, f->rules[variable], err));
            }
            SALTUS_TRY(push_drift(b, f->rules[variable], r, err));
            b->drift_of_variable[variable] = (int)f->n_drifts - 1;
        }
    }
done:
    saltus_free(any);
    return status;
}

/* ---- tables ---- */

/* The law of a step: its bound, and the drifts that it reads. */
static saltus_status fill_law(builder *b, const saltus_step *step, int32_t *drift_row,
                              int32_t *drift_of, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    saltus_tables *t = &f->net->tables;
    int32_t n = drift_row[t->n_thinned];
    mark_needed(b, step->law);
    for (int r = 0; r < t->n_rules; ++r) {
        if (b->is_needed[f->net->rule_variables[r]]) {
            drift_of[n++] = b->drift_of_variable[f->net->rule_variables[r]];
        }
    }
    b->n_parts = 0;
    SALTUS_TRY(take_parts(b, step->law, err));
    SALTUS_TRY(compile_program(b, step->law, &f->bounds[t->n_thinned], err));
    drift_row[++t->n_thinned] = n;
done:
    return status;
}

static saltus_status fill(builder *b, size_t n_thinned, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = b->f;
    saltus_tables *t = &f->net->tables;
    int32_t *thinned = saltus_arena_alloc(f->arena, (n_thinned + 1) * sizeof *thinned);
    const size_t n_of = n_thinned > 0 ? f->n_steps : 0;
    int32_t *of = saltus_arena_alloc(f->arena, (n_of + 1) * sizeof *of);
    int32_t *drift_row = saltus_arena_alloc(f->arena, (n_thinned + 1) * sizeof *drift_row);
    int32_t *drift_of = NULL;
    f->bounds = saltus_arena_alloc(f->arena, (n_thinned + 1) * sizeof *f->bounds);
    SALTUS_NEED(thinned && of && drift_row && f->bounds);
    drift_row[0] = 0;
    SALTUS_TRY(push_rules(b, err));
    drift_of = saltus_arena_alloc(f->arena, (n_thinned * f->n_drifts + 1) * sizeof *drift_of);
    SALTUS_NEED(drift_of);
    for (size_t s = 0; s < n_of; ++s) {
        of[s] = f->steps[s].drifts ? t->n_thinned : -1;
        if (f->steps[s].drifts) {
            thinned[t->n_thinned] = (int32_t)s;
            SALTUS_TRY(fill_law(b, &f->steps[s], drift_row, drift_of, err));
        }
    }
    t->thinned = thinned;
    t->thinned_of = of;
    t->bounds = f->bounds;
    t->drift_row = drift_row;
    t->drift_of = drift_of;
    if (n_thinned > 0) {
        SALTUS_TRY(saltus_nodes_above(f, thinned, t->n_thinned, &t->thinned_node,
                                      &t->n_thinned_nodes, err));
        t->n_intervals = saltus_interval_slots(f);
    }
done:
    return status;
}

int saltus_interval_slots(const saltus_freezer *f)
{
    return FIRST_DRIFT_SLOT + (int)f->n_drifts + f->n_bound_temporaries;
}

saltus_status saltus_compile_interval(saltus_freezer *f, const saltus_expr *e, saltus_program *out,
                                      saltus_error *err)
{
    builder b = {.f = f};
    return compile_program(&b, e, out, err);
}

saltus_status saltus_fill_thinned(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = f->model->n_variables + 1;
    builder b = {.f = f};
    size_t n_thinned = 0;
    for (size_t s = 0; s < f->n_steps; ++s) {
        n_thinned += f->steps[s].drifts;
    }
    b.drift_of_variable = saltus_calloc(n, sizeof *b.drift_of_variable);
    b.is_needed = saltus_calloc(n, sizeof *b.is_needed);
    SALTUS_NEED(b.drift_of_variable && b.is_needed);
    SALTUS_TRY(fill(&b, n_thinned, err));
done:
    saltus_free(b.drift_of_variable);
    saltus_free(b.is_needed);
    saltus_free(b.parts);
    return status;
}

static int final_operand(const saltus_freezer *f, int at)
{
    if (at >= TEMPORARY_SLOT) {
        return FIRST_DRIFT_SLOT + (int)f->n_drifts + (at - TEMPORARY_SLOT);
    }
    return at >= 0 ? at : -1 - saltus_final_row(&f->net->tables, -1 - at);
}

void saltus_place_intervals(saltus_freezer *f)
{
    for (size_t i = 0; i < f->n_bound_code; ++i) {
        saltus_instruction *c = &f->bound_code[i];
        c->dst = final_operand(f, c->dst);
        c->a = final_operand(f, c->a);
        c->b = final_operand(f, c->b);
        c->c = final_operand(f, c->c);
    }
    for (size_t i = 0; i < f->n_drifts; ++i) {
        f->drifts[i].interval.result = final_operand(f, f->drifts[i].interval.result);
    }
    for (size_t i = 0; i < f->n_clocks; ++i) {
        f->clocks[i].interval.result = final_operand(f, f->clocks[i].interval.result);
    }
    for (int i = 0; i < f->net->tables.n_thinned; ++i) {
        f->bounds[i].result = final_operand(f, f->bounds[i].result);
    }
}
