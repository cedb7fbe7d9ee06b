/* Expressions to programs. Temporaries are given out like a stack, constants are kept once; both
 * get their rows when all programs are known. */
#include "model/freeze/freeze.h"

#include "kernel/base/program.h"

enum { CONSTANT_ROW = 1 << 28, TEMPORARY_ROW = 1 << 29, VARIATE_ROW = 1 << 30 };

static bool is_temporary(int row)
{
    return row >= TEMPORARY_ROW && row < VARIATE_ROW;
}

static bool is_changing(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    if (node->op == SALTUS_OP_TIME) {
        return true;
    }
    if (node->op != SALTUS_OP_VARIABLE) {
        return false;
    }
    return node->variable >= (int)f->model->n_variables ||
           f->net->bindings[node->variable].role != SALTUS_ROLE_CONSTANT;
}

bool saltus_is_constant(const saltus_freezer *f, const saltus_expr *e)
{
    return !saltus_expr_any(e, is_changing, (void *)(uintptr_t)f);
}

double saltus_constant_value(const saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_value(e, f->values, 0.0);
}

static bool is_set(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables &&
           (f->reads[node->variable] & SALTUS_READS_SET);
}

bool saltus_reads_set(const saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_any(e, is_set, (void *)(uintptr_t)f);
}

double saltus_deciding_value(saltus_freezer *f, const saltus_expr *e, bool by_sign)
{
    const double value = saltus_constant_value(f, e);
    if (!saltus_reads_set(f, e)) {
        return value;
    }
    saltus_decision *grown =
        saltus_grow(f->decisions, f->n_decisions, &f->decisions_capacity, sizeof *f->decisions);
    if (grown) {
        f->decisions = grown;
        f->decisions[f->n_decisions++] = (saltus_decision){e, value, by_sign};
    }
    f->is_rigid |= !grown;
    return value;
}

static double apply(int op, double a, double b, double c)
{
    const saltus_instruction code = {op, 3, 0, 1, 2};
    const saltus_program program = {0, 1, 3};
    double v[4] = {a, b, c, 0.0};
    saltus_program_run(&code, program, v);
    return v[3];
}

/* Where a number must stand for a distribution. */
static double variate_value(const saltus_expr *e, const double *values, double time)
{
    double args[4] = {0.0};
    for (int i = 0; i < e->n_args; ++i) {
        args[i] = saltus_expr_value(e->args[i], values, time);
    }
    return saltus_variate_center(e->op, e->n_args, args);
}

/* The value of a table, which may be long, where its two entries around the argument stand, and one
 * more on either side, which the slopes of a spline need. */
static double table_value(const saltus_expr *e, const double *values, double time)
{
    const int n = e->n_args / 2;
    const double x = saltus_expr_value(e->args[0], values, time);
    int k = 0;
    while (k + 1 < n && e->args[2 * k + 3]->value <= x) {
        ++k;
    }
    const int first = k > 0 ? k - 1 : 0, last = k + 2 < n ? k + 2 : n - 1;
    double table[8] = {0.0};
    for (int i = 0; i < 2 * (last - first + 1); ++i) {
        table[i] = e->args[2 * first + 1 + i]->value;
    }
    return saltus_table_value((int)e->op, x, table, last - first + 1);
}

double saltus_expr_value(const saltus_expr *e, const double *values, double time)
{
    if (saltus_op_draws(e->op)) {
        return variate_value(e, values, time);
    }
    if (saltus_op_is_table(e->op)) {
        return table_value(e, values, time);
    }
    switch (e->op) {
    case SALTUS_OP_CONST:
        return e->value;
    case SALTUS_OP_VARIABLE:
        return values[e->variable];
    case SALTUS_OP_TIME:
        return time;
    case SALTUS_OP_PIECEWISE: {
        double y = e->n_args % 2 ? saltus_expr_value(e->args[e->n_args - 1], values, time)
                                 : __builtin_nan("");
        for (int i = e->n_args / 2 * 2 - 2; i >= 0; i -= 2) {
            y = apply(SALTUS_OP_SELECT, saltus_expr_value(e->args[i + 1], values, time),
                      saltus_expr_value(e->args[i], values, time), y);
        }
        return y;
    }
    default:
        return apply((int)e->op, saltus_expr_value(e->args[0], values, time),
                     e->n_args > 1 ? saltus_expr_value(e->args[1], values, time) : 0.0, 0.0);
    }
}

/* Whether two constants are one whatever values a model is given: a number that is written twice,
 * or the same parameter. */
static bool is_same(const saltus_expr *a, const saltus_expr *b)
{
    return a->op == b->op &&
           ((a->op == SALTUS_OP_CONST && memcmp(&a->value, &b->value, sizeof a->value) == 0) ||
            (a->op == SALTUS_OP_VARIABLE && a->variable == b->variable));
}

/* The row of a constant expression. */
saltus_status saltus_constant_row(saltus_freezer *f, const saltus_expr *e, int *row,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t i = f->n_constants; i > 0 && f->n_constants - i < 64; --i) {
        if (is_same(f->constants[i - 1].e, e)) {
            *row = CONSTANT_ROW + (int)(i - 1);
            return SALTUS_OK;
        }
    }
    saltus_constant *grown =
        saltus_grow(f->constants, f->n_constants, &f->constants_capacity, sizeof *f->constants);
    SALTUS_NEED(grown);
    f->constants = grown;
    f->constants[f->n_constants] = (saltus_constant){e, saltus_constant_value(f, e)};
    *row = CONSTANT_ROW + (int)f->n_constants++;
done:
    return status;
}

saltus_status saltus_table_rows(saltus_freezer *f, const saltus_expr *e, int *first, int *length,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = e->n_args - 1, n_entries = n / 2;
    size_t i = f->n_constants;
    const saltus_expr *count = saltus_expr_const(f->arena, n_entries);
    SALTUS_NEED(count);
    while (i > 0 && f->constants[i - 1].e != e->args[1]) {
        --i;
    }
    *first = CONSTANT_ROW + (int)(i > 0 ? i - 1 : f->n_constants);
    for (int k = 1; k <= n && i == 0; ++k) {
        saltus_constant *grown =
            saltus_grow(f->constants, f->n_constants, &f->constants_capacity, sizeof *f->constants);
        SALTUS_NEED(grown);
        f->constants = grown;
        f->constants[f->n_constants++] = (saltus_constant){e->args[k], e->args[k]->value};
    }
    SALTUS_TRY(saltus_constant_row(f, count, length, err));
    f->has_tables = true;
done:
    return status;
}

static saltus_status emit(saltus_freezer *f, int op, int a, int b, int c, int temporary, int *row,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_instruction *grown = saltus_grow(f->code, f->n_code, &f->code_capacity, sizeof *f->code);
    SALTUS_NEED(grown);
    f->code = grown;
    *row = TEMPORARY_ROW + temporary;
    f->code[f->n_code++] = (saltus_instruction){op, *row, a, b, c};
    if (temporary >= f->n_temporaries) {
        f->n_temporaries = temporary + 1;
    }
done:
    return status;
}

int saltus_variable_row(const saltus_freezer *f, int variable)
{
    if (variable >= SALTUS_FIRST_VARIATE) {
        return VARIATE_ROW + (variable - SALTUS_FIRST_VARIATE);
    }
    const int flag = variable - (int)f->model->n_variables;
    return flag >= 0 ? f->net->tables.row_flags + flag : f->net->bindings[variable].row;
}

const saltus_expr saltus_undefined = {.op = SALTUS_OP_CONST, .value = __builtin_nan("")};

static saltus_status compile(saltus_freezer *f, const saltus_expr *e, int free_temporary, int *row,
                             saltus_error *err);

/* Whether e is a power that is a product (saltus_short_power), and always will be: an exponent that
 * was set, as a sweep does, is looked at when the program runs. */
static bool is_short_power(const saltus_freezer *f, const saltus_expr *e)
{
    return e->op == SALTUS_OP_POW && saltus_is_constant(f, e->args[1]) &&
           !saltus_reads_set(f, e->args[1]) &&
           saltus_is_short_power(saltus_constant_value(f, e->args[1])) != 0;
}

/* Multiply a power out, in the order of saltus_short_power. */
static saltus_status compile_power(saltus_freezer *f, const saltus_expr *e, int free_temporary,
                                   int *row, saltus_error *err)
{
    static const saltus_expr zero = {.op = SALTUS_OP_CONST, .value = 0.0},
                             one = {.op = SALTUS_OP_CONST, .value = 1.0};
    saltus_status status = SALTUS_OK;
    const double y = saltus_constant_value(f, e->args[1]), n = saltus_trunc(saltus_abs(y));
    int x = 0, square = 0, constant = 0, next = free_temporary + 1;
    bool is_empty = true; /* the product, which is 1 then */
    const size_t first = f->n_code;
    SALTUS_TRY(saltus_constant_row(f, &one, row, err));
    if (y == 0.0) {
        goto done;
    }
    SALTUS_TRY(compile(f, e->args[0], free_temporary, &x, err));
    square = x;
    for (int left = (int)n; left > 0; left /= 2) {
        if (left % 2 == 1 && !is_empty) {
            SALTUS_TRY(emit(f, SALTUS_OP_MUL, *row, square, 0, next++, row, err));
        } else if (left % 2 == 1) {
            *row = square;
            is_empty = false;
        }
        if (left > 1) {
            SALTUS_TRY(emit(f, SALTUS_OP_MUL, square, square, 0, next++, &square, err));
        }
    }
    if (n != saltus_abs(y)) {
        SALTUS_TRY(emit(f, SALTUS_OP_SQRT, x, 0, 0, next++, &square, err));
        if (!is_empty) {
            SALTUS_TRY(emit(f, SALTUS_OP_MUL, *row, square, 0, next++, &square, err));
        }
        SALTUS_TRY(saltus_constant_row(f, &zero, &constant, err));
        SALTUS_TRY(emit(f, SALTUS_OP_ADD, square, constant, 0, next++, row, err));
    }
    if (y < 0.0) {
        SALTUS_TRY(saltus_constant_row(f, &one, &constant, err));
        SALTUS_TRY(emit(f, SALTUS_OP_DIV, constant, *row, 0, next++, row, err));
    }
    if (f->n_code > first && is_temporary(*row)) { /* the last operation gave the result */
        *row = TEMPORARY_ROW + free_temporary;
        f->code[f->n_code - 1].dst = *row;
    }
done:
    return status;
}

/* The row where e's value stands after the code so far; temporaries from `free_temporary` on may be
 * used. */
static saltus_status compile(saltus_freezer *f, const saltus_expr *e, int free_temporary, int *row,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int a = 0, b = 0, y = 0;
    if (saltus_is_constant(f, e)) {
        return saltus_constant_row(f, e, row, err);
    }
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        *row = saltus_variable_row(f, e->variable);
        break;
    case SALTUS_OP_TIME:
        *row = f->net->tables.row_time;
        break;
    case SALTUS_OP_PIECEWISE:
        if (e->n_args % 2) {
            SALTUS_TRY(compile(f, e->args[e->n_args - 1], free_temporary, &y, err));
        } else {
            SALTUS_TRY(saltus_constant_row(f, &saltus_undefined, &y, err));
        }
        for (int i = e->n_args / 2 * 2 - 2; i >= 0; i -= 2) {
            SALTUS_TRY(compile(f, e->args[i], free_temporary + 1, &a, err));
            SALTUS_TRY(compile(f, e->args[i + 1], free_temporary + 2, &b, err));
            SALTUS_TRY(emit(f, SALTUS_OP_SELECT, b, a, y, free_temporary, &y, err));
        }
        *row = y;
        break;
    case SALTUS_OP_HELD:
    case SALTUS_OP_LINEAR:
    case SALTUS_OP_SPLINE:
        SALTUS_TRY(compile(f, e->args[0], free_temporary, &a, err));
        SALTUS_TRY(saltus_table_rows(f, e, &b, &y, err));
        SALTUS_TRY(emit(f, (int)e->op, a, b, y, free_temporary, row, err));
        break;
    default:
        if (is_short_power(f, e)) {
            return compile_power(f, e, free_temporary, row, err);
        }
        SALTUS_TRY(compile(f, e->args[0], free_temporary, &a, err));
        if (e->n_args > 1) {
            SALTUS_TRY(compile(f, e->args[1], free_temporary + 1, &b, err));
        }
        SALTUS_TRY(emit(f, (int)e->op, a, b, 0, free_temporary, row, err));
        break;
    }
done:
    return status;
}

saltus_status saltus_compile(saltus_freezer *f, const saltus_expr *e, saltus_program *out,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int row = 0, n_temporaries = f->n_temporaries;
    const size_t first = f->n_code;
    SALTUS_TRY(compile(f, e, 0, &row, err));
    SALTUS_TRY(saltus_share(f, first, TEMPORARY_ROW, &row, &n_temporaries, err));
    f->n_temporaries = n_temporaries;
    out->first = (int32_t)first;
    out->n = (int32_t)(f->n_code - first);
    out->result = row;
done:
    return status;
}

saltus_status saltus_compile_behind(saltus_freezer *f, const saltus_expr *e, int target,
                                    int *free_temporary, int *row, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t first = f->n_code;
    SALTUS_TRY(compile(f, e, *free_temporary, row, err));
    if (target < 0) {
        *free_temporary += *row == TEMPORARY_ROW + *free_temporary;
        goto done;
    }
    if (f->n_code == first) { /* the value stands in a row already */
        SALTUS_TRY(emit(f, SALTUS_OP_VARIABLE, *row, 0, 0, *free_temporary, row, err));
    }
    f->code[f->n_code - 1].dst = target;
    *row = target;
done:
    return status;
}

int saltus_final_row(const saltus_tables *n, int row)
{
    if (row >= VARIATE_ROW) {
        return n->row_variates + (row - VARIATE_ROW);
    }
    if (row >= TEMPORARY_ROW) {
        return n->row_temporaries + (row - TEMPORARY_ROW);
    }
    return row >= CONSTANT_ROW ? n->row_constants + (row - CONSTANT_ROW) : row;
}

void saltus_place_rows(saltus_freezer *f)
{
    saltus_tables *n = &f->net->tables;
    n->row_constants = n->row_one + 1;
    n->n_constants = (int32_t)f->n_constants;
    n->row_temporaries = n->row_constants + n->n_constants;
    n->row_slots = n->row_temporaries + f->n_temporaries;
    n->n_temporaries = f->n_temporaries + (n->n_turning > 0 ? 2 * saltus_interval_slots(f) : 0);
    n->row_variates = n->row_temporaries + n->n_temporaries;
    n->n_variates = (int32_t)f->n_variates;
    n->n_rows = n->row_variates + n->n_variates;
    for (size_t i = 0; i < f->n_code; ++i) {
        saltus_instruction *c = &f->code[i];
        c->dst = saltus_final_row(n, c->dst);
        c->a = saltus_final_row(n, c->a);
        c->b = saltus_final_row(n, c->b);
        c->c = saltus_final_row(n, c->c);
    }
    for (size_t i = 0; i < f->n_laws; ++i) {
        f->laws[i].result = saltus_final_row(n, f->laws[i].result);
    }
    for (int i = 0; i < n->n_rules; ++i) {
        f->rule_programs[i].result = saltus_final_row(n, f->rule_programs[i].result);
    }
    for (int i = 0; i < n->n_rates; ++i) {
        f->rate_programs[i].result = saltus_final_row(n, f->rate_programs[i].result);
    }
    for (int i = 0; i < n->n_rates + n->n_moving_laws; ++i) {
        f->motion_rows[i] = saltus_final_row(n, f->motion_rows[i]);
    }
    for (int i = 0; i < n->n_roots; ++i) {
        f->root_programs[i].result = saltus_final_row(n, f->root_programs[i].result);
    }
    for (int i = 0; i < n->n_kinks; ++i) {
        f->kinks[i].row = saltus_final_row(n, f->kinks[i].row);
        f->kinks[i].table = saltus_final_row(n, f->kinks[i].table);
    }
    for (size_t i = 0; i < f->n_clocks; ++i) {
        f->clocks[i].when.result = saltus_final_row(n, f->clocks[i].when.result);
        f->clocks[i].holds.result = saltus_final_row(n, f->clocks[i].holds.result);
    }
    for (int i = 0; i < n->n_triggers; ++i) {
        saltus_trigger *t = &f->triggers[i];
        t->trigger.result = saltus_final_row(n, t->trigger.result);
        t->delay.result = saltus_final_row(n, t->delay.result);
        t->priority.result = saltus_final_row(n, t->priority.result);
    }
    for (int i = 0; i < n->n_wavering; ++i) {
        f->wavering[i].result = saltus_final_row(n, f->wavering[i].result);
    }
    for (int i = 0; i < n->n_settings; ++i) {
        f->settings[i].value.result = saltus_final_row(n, f->settings[i].value.result);
    }
    for (int i = 0; i < n->n_delayed; ++i) {
        f->delayed[i].delay.result = saltus_final_row(n, f->delayed[i].delay.result);
    }
    for (int i = 0; i < n->n_variates; ++i) {
        saltus_variate *v = &f->variates[i];
        v->row = n->row_variates + i;
        for (int k = 0; k < v->n; ++k) {
            v->args[k].result = saltus_final_row(n, v->args[k].result);
        }
    }
}
