/* How fast laws follow the counts that they read: what tau-leaping bounds its steps by. What
 * triggers read, which are looked at after a leap alone, bounds them like the reactant of a law.
 *
 * A product law has the order of its factors. For any other law the elasticity, |d ln law / d ln
 * counts| when all counts change alike, is bounded along its program: factors add theirs, terms of
 * a sum have the larger one, as long as they do not cancel. docs/numerics.md states the rules. */
#include "core/memory.h"
#include "core/status.h"
#include "kernel/base/ops.h"
#include "model/freeze/freeze.h"

#include <math.h>
#include <string.h>

/* Of a function of which nothing is known, times its argument's. */
static const double unknown = 4.0;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The exponent of a power, when it never changes. */
static double exponent(const saltus_tables *t, int row)
{
    const int c = row - t->row_constants;
    return row == t->row_one ? 1.0 : c >= 0 && c < t->n_constants ? fabs(t->constants[c]) : unknown;
}

static double elasticity(const saltus_tables *t, const saltus_instruction *i, const double *e)
{
    switch (i->op) {
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
    case SALTUS_OP_MIN:
    case SALTUS_OP_MAX:
        return larger(e[i->a], e[i->b]);
    case SALTUS_OP_MUL:
    case SALTUS_OP_DIV:
        return e[i->a] + e[i->b];
    case SALTUS_OP_POW:
        return exponent(t, i->b) * e[i->a] + unknown * e[i->b];
    case SALTUS_OP_SELECT:
        return larger(e[i->b], e[i->c]);
    case SALTUS_OP_NEG:
    case SALTUS_OP_ABS:
    case SALTUS_OP_LN:
    case SALTUS_OP_LOG10:
    case SALTUS_OP_FLOOR:
    case SALTUS_OP_CEIL:
    case SALTUS_OP_ROUND:
        return e[i->a];
    case SALTUS_OP_SQRT: /* as the power 1/2, which becomes one */
        return 0.5 * e[i->a];
    case SALTUS_OP_ROOT:
    case SALTUS_OP_QUOTIENT:
    case SALTUS_OP_REM:
        return unknown * (e[i->a] + e[i->b]);
    default:
        return saltus_op_is_logic((saltus_op)i->op) ? 0.0 : unknown * e[i->a];
    }
}

/* Along a program; returns that of its result. */
static double follow(const saltus_tables *t, saltus_program program, double *e)
{
    for (int i = program.first; i < program.first + program.n; ++i) {
        e[t->code[i].dst] = elasticity(t, &t->code[i], e);
    }
    return e[program.result];
}

static void of_products(const saltus_tables *t, double *order, int32_t *own)
{
    for (int r = 0; r < t->n_reactions; ++r) {
        const int first = t->factor_row[r], n = t->factor_row[r + 1] - first;
        for (int f = first; t->law_program[r] < 0 && f < first + n; ++f) {
            const int s = t->factor_species[f];
            int k = 0;
            for (int g = first; g < first + n; ++g) {
                k += t->factor_species[g] == s;
            }
            if (n > order[s] || (n == order[s] && k > own[s])) {
                order[s] = n;
                own[s] = k;
            }
        }
    }
}

/* An order that whatever a law reads has at least. */
typedef struct bound {
    double n, *order;
    int32_t *own;
} bound;

static void raise_order(void *user, int species)
{
    const bound *b = user;
    if (b->n > b->order[species]) {
        b->order[species] = b->n;
        b->own[species] = 1;
    }
}

static void of_programs(saltus_freezer *f, double *e, double *order, int32_t *own)
{
    const saltus_tables *t = &f->net->tables;
    for (int s = 0; s < t->n_species; ++s) {
        e[s] = 1.0;
    }
    for (int r = 0; r < t->n_rules; ++r) {
        e[t->row_rules + r] = follow(t, t->rules[r], e);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        if (t->law_program[r] >= 0) {
            bound b = {larger(follow(t, t->laws[t->law_program[r]], e), 1.0), order, own};
            saltus_visit_counts(f, f->steps[r].law, raise_order, &b);
        }
    }
}

/* Where reactions idle that lack reactants, each hangs on what it uses up, whatever its law reads.
 */
static void of_reactants(const saltus_tables *t, double *order, int32_t *own)
{
    for (int c = 0; t->idles && c < t->change_row[t->n_reactions]; ++c) {
        const int s = t->change_species[c];
        if (t->change_amount[c] < 0 && order[s] == 0.0) {
            order[s] = 1.0;
            own[s] = 1;
        }
    }
}

static void of_triggers(const saltus_freezer *f, const saltus_expr *const *triggers, double *order,
                        int32_t *own)
{
    bound b = {1.0, order, own};
    for (size_t i = 0; i < f->model->n_events; ++i) {
        saltus_visit_counts(f, triggers[i], raise_order, &b);
    }
}

saltus_status saltus_freeze_orders(saltus_freezer *f, const saltus_expr *const *triggers,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    double *e = saltus_calloc((size_t)t->n_rows, sizeof *e);
    double *order = saltus_arena_alloc(f->arena, ((size_t)t->n_species + 1) * sizeof *order);
    int32_t *own = saltus_arena_alloc(f->arena, ((size_t)t->n_species + 1) * sizeof *own);
    SALTUS_NEED(e && order && own);
    memset(order, 0, ((size_t)t->n_species + 1) * sizeof *order);
    memset(own, 0, ((size_t)t->n_species + 1) * sizeof *own);
    of_products(t, order, own);
    of_programs(f, e, order, own);
    of_reactants(t, order, own);
    of_triggers(f, triggers, order, own);
    t->order = order;
    t->order_own = own;
done:
    saltus_free(e);
    return status;
}
