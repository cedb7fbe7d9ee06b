#include "ode/jacobian.h"

#include "core/memory.h"
#include "kernel/base/program.h"
#include "model/network/expr.h"

#include <math.h>

saltus_status saltus_jacobian_init(saltus_jacobian *j, const saltus_tables *t,
                                   const saltus_pattern *pattern, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    j->pattern = pattern;
    j->partial = saltus_calloc(3 * (size_t)t->n_code, sizeof *j->partial);
    j->tangent = saltus_calloc((size_t)t->n_rows, sizeof *j->tangent);
    j->column = saltus_calloc((size_t)pattern->n, sizeof *j->column);
    SALTUS_NEED(j->partial && j->tangent && j->column);
done:
    return status;
}

void saltus_jacobian_free(saltus_jacobian *j)
{
    saltus_free(j->partial);
    saltus_free(j->tangent);
    saltus_free(j->column);
}

static double value_of(int op, const double *x, const saltus_instruction *i, const double *v)
{
    return op > SALTUS_OP_SELECT ? saltus_table_value(op, x[0], v + i->b, x[2])
                                 : saltus_apply(op, x[0], x[1], x[2]);
}

/* By a difference, where no formula is at hand or it has no value. */
static double difference(const saltus_instruction *i, const double *v, int operand, double y)
{
    double x[3] = {v[i->a], v[i->b], v[i->c]};
    const double was = x[operand], size = fabs(was);
    x[operand] = was + 0x1p-26 * (size > 0.0 ? size : 1.0);
    return (value_of(i->op, x, i, v) - y) / (x[operand] - was);
}

/* Operands whose derivatives an operation's value y has by no formula below. */
enum { BY_NONE = 0, BY_FIRST = 1, BY_BOTH = 3 };

/* Derivatives of an operation's value y by its operands. Returns which are not given: a bit each.
 */
static int formulas(int op, double a, double b, double y, double d[3])
{
    d[0] = d[1] = d[2] = 0.0;
    switch (op) {
    case SALTUS_OP_CONST:
    case SALTUS_OP_VARIABLE:
    case SALTUS_OP_PIECEWISE:
        d[0] = 1.0;
        return BY_NONE;
    case SALTUS_OP_ADD:
        d[0] = d[1] = 1.0;
        return BY_NONE;
    case SALTUS_OP_SUB:
        d[0] = 1.0, d[1] = -1.0;
        return BY_NONE;
    case SALTUS_OP_MUL:
        d[0] = b, d[1] = a;
        return BY_NONE;
    case SALTUS_OP_DIV:
        d[0] = 1.0 / b, d[1] = -y / b;
        return BY_NONE;
    case SALTUS_OP_POW:
        d[0] = b * saltus_power(a, b - 1.0);
        d[1] = a > 0.0 ? y * saltus_log(a) : 0.0;
        return BY_NONE;
    case SALTUS_OP_NEG:
        d[0] = -1.0;
        return BY_NONE;
    case SALTUS_OP_MIN:
        d[0] = a < b ? 1.0 : 0.0, d[1] = 1.0 - d[0];
        return BY_NONE;
    case SALTUS_OP_MAX:
        d[0] = a < b ? 0.0 : 1.0, d[1] = 1.0 - d[0];
        return BY_NONE;
    case SALTUS_OP_ABS:
        d[0] = a < 0.0 ? -1.0 : 1.0;
        return BY_NONE;
    case SALTUS_OP_EXP:
        d[0] = y;
        return BY_NONE;
    case SALTUS_OP_LN:
        d[0] = 1.0 / a;
        return BY_NONE;
    case SALTUS_OP_SQRT:
        d[0] = 0.5 / y;
        return BY_NONE;
    case SALTUS_OP_SELECT:
        d[1] = a != 0.0 ? 1.0 : 0.0, d[2] = 1.0 - d[1];
        return BY_NONE;
    case SALTUS_OP_FLOOR:
    case SALTUS_OP_CEIL:
    case SALTUS_OP_ROUND:
    case SALTUS_OP_QUOTIENT:
        return BY_NONE;
    case SALTUS_OP_ROOT:
    case SALTUS_OP_REM:
        return BY_BOTH;
    default: /* logic; functions of one number, and tables */
        return saltus_op_is_logic((saltus_op)op) ? BY_NONE : BY_FIRST;
    }
}

/* Run a program, and note what its operations' values follow. */
static void run(saltus_jacobian *j, saltus_trajectory *p, saltus_program program)
{
    const saltus_instruction *code = p->n->code;
    for (int k = program.first; k < program.first + program.n; ++k) {
        const saltus_instruction *i = &code[k];
        const double x[3] = {p->v[i->a], p->v[i->b], p->v[i->c]};
        const double y = value_of(i->op, x, i, p->v);
        double *d = &j->partial[3 * (size_t)k];
        const int others = formulas(i->op, x[0], x[1], y, d);
        for (int a = 0; a < 2; ++a) {
            if (others >> a & 1 || !isfinite(d[a])) {
                d[a] = difference(i, p->v, a, y);
            }
            d[a] = isfinite(d[a]) ? d[a] : 0.0;
        }
        p->v[i->dst] = y;
    }
}

/* The derivative of a program's value by the component at hand. */
static double follow(saltus_jacobian *j, const saltus_tables *t, saltus_program program)
{
    double *tangent = j->tangent;
    for (int k = program.first; k < program.first + program.n; ++k) {
        const saltus_instruction *i = &t->code[k];
        const double *d = &j->partial[3 * (size_t)k];
        tangent[i->dst] = d[0] * tangent[i->a] + d[1] * tangent[i->b] + d[2] * tangent[i->c];
    }
    return tangent[program.result];
}

/* The derivative of a product by the count of a species, which is a factor once or more. */
static double of_product(const saltus_trajectory *p, int r, int species)
{
    const saltus_tables *t = p->n;
    const int first = t->factor_row[r], end = t->factor_row[r + 1];
    double sum = 0.0;
    for (int k = first; k < end; ++k) {
        double a = t->factor_species[k] == species ? t->rate[r] : 0.0;
        for (int f = first; f < end && a != 0.0; ++f) {
            a *= f == k ? 1.0 : p->v[t->factor_species[f]] - t->factor_offset[f];
        }
        sum += a;
    }
    return sum;
}

static void add_flow(saltus_jacobian *j, const saltus_trajectory *p, int flow, int row)
{
    const saltus_tables *t = p->n;
    if (flow >= t->n_reactions) {
        const int i = flow - t->n_reactions;
        j->column[j->pattern->first_rate + i] += follow(j, t, t->rates[i]);
        return;
    }
    const double a = t->law_program[flow] >= 0 ? follow(j, t, t->laws[t->law_program[flow]])
                                               : of_product(p, flow, row);
    for (int c = t->change_row[flow]; c < t->change_row[flow + 1]; ++c) {
        j->column[t->change_species[c]] += a * (double)t->change_amount[c];
    }
}

bool saltus_jacobian_fill(saltus_jacobian *j, saltus_trajectory *p, double *values)
{
    const saltus_pattern *q = j->pattern;
    const saltus_tables *t = p->n;
    bool are_finite = true;
    for (int i = 0; i < q->n_rules_read; ++i) {
        run(j, p, t->rules[q->rules_read[i]]);
    }
    for (int i = 0; i < t->n_laws; ++i) {
        run(j, p, t->laws[i]);
    }
    for (int i = 0; i < t->n_rates; ++i) {
        run(j, p, t->rates[i]);
    }
    for (int32_t c = 0; c < q->n; ++c) {
        const int row = q->row[c];
        if (row >= 0) {
            j->tangent[row] = 1.0;
        }
        for (int64_t i = q->rules.first[c]; i < q->rules.first[c + 1]; ++i) {
            const int rule = q->rules.item[i];
            j->tangent[t->row_rules + rule] = follow(j, t, t->rules[rule]);
        }
        for (int64_t i = q->flows.first[c]; i < q->flows.first[c + 1]; ++i) {
            add_flow(j, p, q->flows.item[i], row);
        }
        for (int64_t i = q->rows.first[c]; i < q->rows.first[c + 1]; ++i) {
            values[i] = j->column[q->rows.item[i]];
            j->column[q->rows.item[i]] = 0.0;
            are_finite &= isfinite(values[i]) != 0;
        }
        for (int64_t i = q->rules.first[c]; i < q->rules.first[c + 1]; ++i) {
            j->tangent[t->row_rules + q->rules.item[i]] = 0.0;
        }
        if (row >= 0) {
            j->tangent[row] = 0.0;
        }
    }
    return are_finite;
}
