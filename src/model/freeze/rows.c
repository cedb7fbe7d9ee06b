/* Rows of numbers for other values of a model's variables: what freezing has found out stays, and
 * the numbers are computed again from the same expressions, so that their bits are the same. */
#include "core/memory.h"
#include "model/freeze/freeze.h"
#include "model/freeze/point.h"

#include <math.h>
#include <string.h>

enum { MOST_NODES = 4096 }; /* of an expression: computing it takes stack for each */

/* What changes is what comes from values that were set. */
struct saltus_rows {
    saltus_rows_use use;
    saltus_freezer f;            /* its net is the model's */
    double *row;                 /* at the first values */
    saltus_product *products;    /* [reaction] of steps that change, as they were found */
    int *variables, n_variables; /* in order */
    int *steps, n_steps, *constants, n_constants; /* products, and constants of programs */
};

typedef struct size {
    int64_t n;
} size;

static bool count(const saltus_expr *node, void *user)
{
    size *s = user;
    (void)node;
    return ++s->n > MOST_NODES;
}

static bool is_long(const saltus_expr *e)
{
    size s = {0};
    return e && saltus_expr_any(e, count, &s);
}

static bool has_long_expressions(const saltus_freezer *f)
{
    bool is = false;
    for (int k = 0; k < f->n_order; ++k) {
        is |= is_long(saltus_value_of(&f->model->variables[f->order[k]]));
    }
    for (size_t i = 0; i < f->n_steps; ++i) {
        is |= f->steps[i].law && is_long(f->steps[i].law);
    }
    return is;
}

static bool has_drawn(const saltus_freezer *f)
{
    bool has = f->n_starts > 0;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        has |= f->is_real[i];
    }
    return has;
}

/* A value that was set, other than a count at time 0. */
static bool is_given(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables &&
           (f->reads[node->variable] & SALTUS_READS_SET) &&
           f->net->bindings[node->variable].role != SALTUS_ROLE_COUNT;
}

/* Whether the rate of a product, whose factors are counts, comes from values that were set. */
static bool has_given_rate(const saltus_freezer *f, const saltus_step *s)
{
    return s->is_product && s->law && saltus_expr_any(s->law, is_given, (void *)(uintptr_t)f);
}

static saltus_status find_changes(saltus_rows *rows, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = &rows->f;
    const saltus_point at = saltus_point_of(&f->net->tables);
    const uint8_t *set = f->net->set_numbers;
    rows->row = saltus_calloc((size_t)at.size, sizeof *rows->row);
    rows->products = saltus_calloc(f->n_steps, sizeof *rows->products);
    rows->variables = saltus_calloc((size_t)f->n_order, sizeof *rows->variables);
    rows->steps = saltus_calloc(f->n_steps, sizeof *rows->steps);
    rows->constants = saltus_calloc(f->n_constants, sizeof *rows->constants);
    SALTUS_NEED(rows->row && rows->products && rows->variables && rows->steps && rows->constants);
    saltus_point_read(&f->net->tables,
                      rows->use == SALTUS_ROWS_MEAN ? f->net->initial_amounts : NULL, rows->row);
    for (int k = 0; k < f->n_order; ++k) {
        if (f->reads[f->order[k]] & SALTUS_READS_SET) {
            rows->variables[rows->n_variables++] = f->order[k];
        }
    }
    for (size_t r = 0; r < f->n_steps && set; ++r) {
        if (set[r]) {
            (void)saltus_find_product(f, f->steps[r].law, &rows->products[r]);
            rows->steps[rows->n_steps++] = (int)r;
        }
    }
    for (size_t i = 0; i < f->n_constants && set; ++i) {
        if (set[(size_t)at.constants + i]) {
            rows->constants[rows->n_constants++] = (int)i;
        }
    }
done:
    return status;
}

saltus_status saltus_note_set(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    const saltus_point at = saltus_point_of(t);
    bool any = false;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        any |= (f->reads[i] & SALTUS_READS_SET) != 0;
    }
    if (!any) {
        return SALTUS_OK;
    }
    uint8_t *set = saltus_arena_alloc(f->arena, (size_t)at.counts + 1);
    SALTUS_NEED(set);
    memset(set, 0, (size_t)at.counts + 1);
    for (size_t r = 0; r < f->n_steps; ++r) {
        set[r] = has_given_rate(f, &f->steps[r]);
    }
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_binding *b = &f->net->bindings[i];
        if (b->role == SALTUS_ROLE_VARIABLE) {
            set[at.variables + b->row - t->row_variables] = f->reads[i] & SALTUS_READS_SET;
        }
    }
    for (size_t i = 0; i < f->n_constants; ++i) {
        set[(size_t)at.constants + i] = saltus_reads_set(f, f->constants[i].e);
    }
    f->net->set_numbers = set;
done:
    return status;
}

saltus_status saltus_rows_create(saltus_model *model, saltus_law law, saltus_rows_use use,
                                 saltus_rows **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_rows *rows = saltus_calloc(1, sizeof *rows);
    *out = NULL;
    SALTUS_NEED(rows);
    rows->use = use;
    SALTUS_TRY(saltus_freeze_and_keep(model, law, &rows->f, err));
    rows->f.net = model->network;
    /* orders of laws that are programs come from their constants; values that are drawn, and
     * species that are real values, start in ways of their own */
    if (rows->f.is_rigid || has_drawn(&rows->f) || model->space ||
        (use == SALTUS_ROWS_EXACT && rows->f.may_have_hubs) ||
        (use == SALTUS_ROWS_LEAPS && model->network->tables.n_laws > 0) ||
        has_long_expressions(&rows->f)) {
        goto done;
    }
    SALTUS_TRY(find_changes(rows, err));
    *out = rows;
    rows = NULL;
done:
    saltus_rows_free(rows);
    return status;
}

void saltus_rows_free(saltus_rows *rows)
{
    if (rows) {
        rows->f.net = NULL;
        saltus_freezer_free(&rows->f);
        saltus_free(rows->row);
        saltus_free(rows->products);
        saltus_free(rows->variables);
        saltus_free(rows->steps);
        saltus_free(rows->constants);
        saltus_free(rows);
    }
}

void saltus_rows_set(saltus_rows *rows, int variable, double value)
{
    rows->f.model->variables[variable].set->value = value;
}

static bool make_values(const saltus_rows *rows, double *row)
{
    const saltus_freezer *f = &rows->f;
    const saltus_tables *t = &f->net->tables;
    const saltus_point at = saltus_point_of(t);
    bool is_made = true;
    for (int k = 0; k < rows->n_variables; ++k) {
        const int i = rows->variables[k];
        const saltus_variable *v = &f->model->variables[i];
        const saltus_expr *e = saltus_value_of(v);
        saltus_binding *b = &f->net->bindings[i];
        double value = saltus_expr_value(e, f->values, 0.0);
        const double amount = value;
        is_made &= e != v->set || isfinite(value);
        is_made &= !v->rate || isfinite(value);
        if (v->kind == SALTUS_KIND_SPECIES && !v->rule && !v->rate) {
            is_made &= f->law_mode & SALTUS_AMOUNTS_REAL ? isfinite(value)
                                                         : saltus_start_count(value, &value);
        }
        f->values[i] = b->value = value;
        if (b->row >= 0 && b->row < t->n_species) {
            row[at.counts + b->row] = rows->use == SALTUS_ROWS_MEAN ? amount : value;
        } else if (b->role == SALTUS_ROLE_VARIABLE) {
            row[at.variables + b->row - t->row_variables] = value;
        }
    }
    return is_made;
}

static int sign(double x)
{
    return x < 0.0 ? -1 : x > 0.0 ? 1 : x == 0.0 ? 0 : 2;
}

/* Whether the network is the same. */
static bool is_decided_alike(const saltus_freezer *f)
{
    for (size_t i = 0; i < f->n_decisions; ++i) {
        const saltus_decision *d = &f->decisions[i];
        const double value = saltus_constant_value(f, d->e);
        if (d->by_sign ? sign(value) != sign(d->value)
                       : memcmp(&value, &d->value, sizeof value) != 0) {
            return false;
        }
    }
    return true;
}

static bool make_rate(saltus_rows *rows, int r, double *rate)
{
    const saltus_product *was = &rows->products[r];
    saltus_product p;
    if (!saltus_find_product(&rows->f, rows->f.steps[r].law, &p) || p.n != was->n ||
        memcmp(p.species, was->species, (size_t)p.n * sizeof *p.species) != 0 ||
        memcmp(p.offset, was->offset, (size_t)p.n * sizeof *p.offset) != 0) {
        return false;
    }
    *rate = p.rate;
    return p.rate >= 0.0 && isfinite(p.rate);
}

bool saltus_rows_make(saltus_rows *rows, double *row)
{
    const saltus_freezer *f = &rows->f;
    const saltus_point at = saltus_point_of(&f->net->tables);
    memcpy(row, rows->row, (size_t)at.size * sizeof *row);
    if (!make_values(rows, row) || !is_decided_alike(f)) {
        return false;
    }
    for (int k = 0; k < rows->n_steps; ++k) {
        if (!make_rate(rows, rows->steps[k], &row[rows->steps[k]])) {
            return false;
        }
    }
    for (int k = 0; k < rows->n_constants; ++k) {
        const int i = rows->constants[k];
        row[at.constants + i] = saltus_constant_value(f, f->constants[i].e);
    }
    return true;
}
