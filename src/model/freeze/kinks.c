/* Kinks: what changes with the time alone, and in pieces. Steps of an integrator end where it goes
 * from one piece to the next (kernel/ode/kinks.h).
 *
 * A pulse that is short beside the rest it rises from, as sin(time)^100, has no kink, but a step
 * that is long by then would pass over it: its stages see the rest alone. So steps also end where
 * what is sharpened turns, there at every eighth of a turn, or is in its middle: at the top of a
 * pulse, or on its slope, values are seen that no error allows. */
#include "model/freeze/freeze.h"

#include <math.h>

typedef struct kink_search {
    saltus_freezer *f;
    const saltus_expr **list; /* their values */
    const saltus_expr **tables;
    size_t n, list_capacity, tables_capacity;
    bool *is_read;      /* [variable] a rule that some value reads */
    bool *is_sharpened; /* [variable] a rule that was searched as that */
    saltus_error *err;
    saltus_status status;
} kink_search;

static bool note_rules(const saltus_expr *node, void *user)
{
    kink_search *s = user;
    if (saltus_rule_behind(s->f, node)) {
        s->is_read[node->variable] = true;
    }
    return false;
}

/* Whether an operation makes short pulses of how its argument number `arg` turns. */
static bool sharpens(const saltus_expr *e, int arg)
{
    switch (e->op) {
    case SALTUS_OP_POW:
        return arg == 0 && !(e->args[1]->op == SALTUS_OP_CONST && fabs(e->args[1]->value) <= 4.0);
    case SALTUS_OP_DIV:
        return arg == 1;
    case SALTUS_OP_EXP:
    case SALTUS_OP_TANH:
    case SALTUS_OP_SECH:
    case SALTUS_OP_MIN: /* these, whole numbers and comparisons could turn there and back between
                           two evaluations */
    case SALTUS_OP_MAX:
    case SALTUS_OP_FLOOR:
    case SALTUS_OP_CEIL:
    case SALTUS_OP_ROUND:
    case SALTUS_OP_QUOTIENT:
    case SALTUS_OP_REM:
        return true;
    default:
        return saltus_op_is_order(e->op);
    }
}

static const saltus_expr *is_below_0(saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_2(f->arena, SALTUS_OP_LT, e, saltus_expr_const(f->arena, 0.0));
}

/* The value that says where something that is sharpened turns or is in its middle; or NULL. */
static const saltus_expr *turn_of(saltus_freezer *f, const saltus_expr *e)
{
    const double eighths = 8.0 / (2.0 * 3.14159265358979323846);
    if (saltus_op_is_circular(e->op)) {
        return saltus_expr_1(f->arena, SALTUS_OP_FLOOR,
                             saltus_expr_2(f->arena, SALTUS_OP_MUL, e->args[0],
                                           saltus_expr_const(f->arena, eighths)));
    }
    switch (e->op) {
    case SALTUS_OP_POW:
    case SALTUS_OP_EXP:
    case SALTUS_OP_TANH:
    case SALTUS_OP_SECH:
        return is_below_0(f, e->args[0]);
    case SALTUS_OP_MUL: /* a square */
        return e->n_args == 2 && saltus_same_expr(e->args[0], e->args[1])
                   ? is_below_0(f, e->args[0])
                   : NULL;
    default:
        return NULL;
    }
}

/* The value whose pieces an operation has; NULL where it has none, or where memory ran out. */
static const saltus_expr *value_of(saltus_freezer *f, const saltus_expr *e)
{
    switch (e->op) {
    case SALTUS_OP_HELD:
    case SALTUS_OP_LINEAR:
    case SALTUS_OP_SPLINE:
        return e->args[0];
    case SALTUS_OP_LT:
    case SALTUS_OP_LE:
    case SALTUS_OP_GT:
    case SALTUS_OP_GE:
    case SALTUS_OP_FLOOR:
    case SALTUS_OP_CEIL:
    case SALTUS_OP_ROUND:
    case SALTUS_OP_QUOTIENT:
        return e;
    case SALTUS_OP_REM:
        return saltus_expr_2(f->arena, SALTUS_OP_QUOTIENT, e->args[0], e->args[1]);
    case SALTUS_OP_MIN:
    case SALTUS_OP_MAX:
        return saltus_expr_2(f->arena, SALTUS_OP_LT, e->args[0], e->args[1]);
    case SALTUS_OP_ABS:
        return is_below_0(f, e->args[0]);
    default:
        return NULL;
    }
}

static saltus_status add_kink(kink_search *s, const saltus_expr *e, bool is_sharpened)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    bool follows = false;
    const saltus_expr *value = value_of(s->f, e);
    value = !value && is_sharpened ? turn_of(s->f, e) : value;
    if (!value || !saltus_reads_time(s->f, value)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_flows(s->f, value, &follows, err));
    if (follows) {
        return SALTUS_OK;
    }
    const saltus_expr **list = saltus_grow(s->list, s->n, &s->list_capacity, sizeof *list);
    SALTUS_NEED(list);
    s->list = list;
    const saltus_expr **tables = saltus_grow(s->tables, s->n, &s->tables_capacity, sizeof *tables);
    SALTUS_NEED(tables);
    s->tables = tables;
    s->tables[s->n] = saltus_op_is_table(e->op) ? e : NULL;
    s->list[s->n++] = value;
    SALTUS_TRY(saltus_any_through_rules(s->f, value, note_rules, s, &follows, err));
done:
    return status;
}

static void look(kink_search *s, const saltus_expr *e, bool is_sharpened)
{
    const saltus_expr *rule = saltus_rule_behind(s->f, e);
    if (s->status == SALTUS_OK) {
        s->status =
            add_kink(s, e, is_sharpened || e->op == SALTUS_OP_TANH || e->op == SALTUS_OP_SECH);
    }
    if (rule && is_sharpened && !s->is_sharpened[e->variable]) {
        s->is_sharpened[e->variable] = true;
        look(s, rule, true);
    }
    for (int i = 0; i < e->n_args && s->status == SALTUS_OK; ++i) {
        look(s, e->args[i], is_sharpened || sharpens(e, i));
    }
}

static saltus_status search(kink_search *s, const saltus_expr *const *triggers)
{
    const saltus_freezer *f = s->f;
    for (int r = 0; r < f->net->tables.n_rules && s->status == SALTUS_OK; ++r) {
        look(s, f->rules[f->net->rule_variables[r]], false);
    }
    for (size_t i = 0; i < f->model->n_variables && s->status == SALTUS_OK; ++i) {
        if (f->rates[i]) {
            look(s, f->rates[i], false);
        }
    }
    for (size_t r = 0; r < f->n_steps && s->status == SALTUS_OK; ++r) {
        if (!f->steps[r].is_product) {
            look(s, f->steps[r].law, false);
        }
    }
    for (size_t i = 0; i < f->model->n_events && s->status == SALTUS_OK; ++i) {
        look(s, triggers[i], false); /* what still reads the time there is followed */
    }
    return s->status;
}

/* One program: the rules that values read, then the values. */
static saltus_status compile_pieces(kink_search *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = s->f;
    saltus_tables *t = &f->net->tables;
    const size_t first = f->n_code;
    int free_temporary = 0, row = 0, length = 0;
    for (int r = 0; r < t->n_rules; ++r) {
        const int i = f->net->rule_variables[r];
        if (s->is_read[i]) {
            SALTUS_TRY(saltus_compile_behind(f, f->rules[i], t->row_rules + r, &free_temporary,
                                             &row, err));
        }
    }
    for (size_t i = 0; i < s->n; ++i) {
        saltus_kink *k = &f->kinks[i];
        SALTUS_TRY(saltus_compile_behind(f, s->list[i], -1, &free_temporary, &k->row, err));
        if (s->tables[i]) {
            k->n_entries = (s->tables[i]->n_args - 1) / 2;
            SALTUS_TRY(saltus_table_rows(f, s->tables[i], &k->table, &length, err));
        }
    }
    t->pieces = (saltus_program){.first = (int32_t)first, .n = (int32_t)(f->n_code - first)};
done:
    return status;
}

saltus_status saltus_fill_kinks(saltus_freezer *f, const saltus_expr *const *triggers,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    kink_search s = {.f = f, .err = err};
    if (f->model->space && f->net->tables.n_rates == 0) { /* nothing is integrated */
        return SALTUS_OK;
    }
    s.is_read = saltus_calloc(f->model->n_variables + 1, sizeof *s.is_read);
    s.is_sharpened = saltus_calloc(f->model->n_variables + 1, sizeof *s.is_sharpened);
    SALTUS_NEED(s.is_read && s.is_sharpened);
    SALTUS_TRY(search(&s, triggers));
    f->kinks = saltus_arena_alloc(f->arena, (s.n + 1) * sizeof *f->kinks);
    SALTUS_NEED(f->kinks);
    for (size_t i = 0; i < s.n; ++i) {
        f->kinks[i] = (saltus_kink){0};
    }
    if (s.n > 0) {
        SALTUS_TRY(compile_pieces(&s, err));
    }
    f->net->tables.n_kinks = (int32_t)s.n;
    f->net->tables.kinks = f->kinks;
done:
    saltus_free(s.list);
    saltus_free(s.tables);
    saltus_free(s.is_read);
    saltus_free(s.is_sharpened);
    return status;
}
