#include "backend/cpu/cells.h"

#include "core/memory.h"
#include "kernel/base/ops.h"
#include "model/freeze/point.h"

#include <math.h>

/* Cells to a window: one in so many candidates that the window leaves open is open in its cell. */
#define CELLS_PER_WINDOW 128.0
/* With fewer they would not pay. */
#define LEAST_PER_WINDOW 4.0
/* More intervals would not stay in the second cache. */
#define MOST_INTERVALS 0x1p15
/* Programs of more operations would take as long as most laws. */
enum { MOST_OPERATIONS = 3 };

/* What lanes do together. */
static bool is_swift(int op)
{
    return op == SALTUS_OP_ADD || op == SALTUS_OP_SUB || op == SALTUS_OP_MUL ||
           op == SALTUS_OP_DIV || op == SALTUS_OP_NEG;
}

/* Whether a row keeps its number for the whole run. */
static bool is_constant(const saltus_tables *n, int row)
{
    return row == n->row_one || saltus_row_is_constant(n, row);
}

/* Whether operands of programs on intervals follow from the time alone. `are_fixed` says so of
 * drifts. */
static bool is_fixed_operand(const saltus_tables *n, int at, const bool *are_fixed)
{
    return at < 0 ? is_constant(n, -1 - at) : at == 0 || at > n->n_drifts || are_fixed[at - 1];
}

/* The same of a drift's interval, behind those that it may read. */
static bool is_fixed(const saltus_tables *n, const saltus_drift *drift, const bool *are_fixed)
{
    const saltus_program p = drift->interval;
    bool is = !drift->has_counts && is_fixed_operand(n, p.result, are_fixed);
    for (int k = p.first; k < p.first + p.n && is; ++k) {
        const saltus_instruction *i = &n->bound_code[k];
        is = is_fixed_operand(n, i->a, are_fixed) && is_fixed_operand(n, i->b, are_fixed) &&
             is_fixed_operand(n, i->c, are_fixed);
    }
    return is;
}

/* List an operand of the interval of law i, if it is a drift. Returns false where cells do not tell
 * of it: it is the time itself, or a drift that is not fixed. */
static bool add_operand(saltus_cells *c, const saltus_tables *n, int i, int at,
                        const bool *are_fixed)
{
    if (at <= 0 || at > n->n_drifts) {
        return at != 0;
    }
    bool is_new = true;
    for (int k = c->row[i]; k < c->row[i + 1]; ++k) {
        is_new &= c->drift_of[k] != at - 1;
    }
    if (is_new) {
        c->drift_of[c->row[i + 1]++] = at - 1;
    }
    return are_fixed[at - 1];
}

/* List the drifts of law i, none where cells do not tell of all its interval reads. */
static void add_law(saltus_cells *c, const saltus_tables *n, int i, const bool *are_fixed)
{
    const saltus_program p = n->bounds[i];
    c->row[i + 1] = c->row[i];
    bool tells = p.n <= MOST_OPERATIONS && add_operand(c, n, i, p.result, are_fixed);
    for (int k = p.first; k < p.first + p.n && tells; ++k) {
        const saltus_instruction *o = &n->bound_code[k];
        tells = is_swift(o->op) && add_operand(c, n, i, o->a, are_fixed) &&
                add_operand(c, n, i, o->b, are_fixed) && add_operand(c, n, i, o->c, are_fixed);
    }
    c->row[i + 1] = tells ? c->row[i + 1] : c->row[i];
}

/* Find the laws of which cells tell; returns whether there is one. */
static bool find_laws(saltus_cells *c, const saltus_tables *n)
{
    bool *are_fixed = saltus_calloc((size_t)n->n_drifts + 1, sizeof *are_fixed);
    for (int k = 0; are_fixed && k < n->n_drifts; ++k) {
        are_fixed[k] = is_fixed(n, &n->drifts[k], are_fixed);
    }
    for (int i = 0; are_fixed && i < n->n_thinned; ++i) {
        add_law(c, n, i, are_fixed);
    }
    saltus_free(are_fixed);
    return c->row[n->n_thinned] > 0;
}

/* The largest power of 2 that is not larger; 0 where there is no such number. */
static double power_below(double x)
{
    int exponent = 0;
    (void)frexp(x, &exponent);
    return isnormal(x) ? ldexp(0.5, exponent) : 0.0;
}

saltus_cells *saltus_cells_create(const saltus_tables *n, double until, double window)
{
    const double most = MOST_INTERVALS / (until * (double)n->n_drifts);
    const double per_time = power_below(fmin(most, CELLS_PER_WINDOW / window));
    if (!(per_time * window >= LEAST_PER_WINDOW)) {
        return NULL;
    }
    saltus_cells *c = saltus_calloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    c->per_time = per_time;
    c->row = saltus_calloc((size_t)n->n_thinned + 1, sizeof *c->row);
    c->drift_of = saltus_calloc((size_t)n->n_thinned, (size_t)n->n_drifts * sizeof *c->drift_of);
    const size_t n_cells = (size_t)(until * per_time) + 1;
    const size_t n_ends = 2 * n_cells * (size_t)n->n_drifts;
    if (c->row && c->drift_of && find_laws(c, n)) {
        c->ends = saltus_calloc(n_ends, sizeof *c->ends);
        c->are_known = saltus_calloc(n_cells, sizeof *c->are_known);
    }
    if (!c->ends || !c->are_known) {
        saltus_cells_destroy(c);
        return NULL;
    }
    for (size_t k = 0; k < n_ends; ++k) {
        c->ends[k] = NAN;
    }
    return c;
}

void saltus_cells_destroy(saltus_cells *c)
{
    if (c) {
        saltus_free(c->ends);
        saltus_free(c->are_known);
        saltus_free(c->row);
        saltus_free(c->drift_of);
        saltus_free(c);
    }
}
