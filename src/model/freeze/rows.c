/* Rows of numbers for other values of a model's variables: what freezing has found out stays, and
 * the numbers are computed again from the same expressions, so that their bits are the same. */
#include "core/memory.h"
#include "model/freeze/freeze.h"
#include "model/freeze/point.h"

#include <math.h>
#include <string.h>

enum { MOST_NODES = 4096 }; /* of an expression: computing it takes stack for each */

struct saltus_rows {
    saltus_freezer f;         /* its net is the model's */
    saltus_product *products; /* [reaction] of steps that are products, as they were found */
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
        is |= is_long(f->steps[i].law);
    }
    return is;
}

static saltus_status find_products(saltus_rows *rows, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = &rows->f;
    rows->products = saltus_calloc(f->n_steps, sizeof *rows->products);
    SALTUS_NEED(rows->products);
    for (size_t r = 0; r < f->n_steps; ++r) {
        if (f->steps[r].is_product) {
            (void)saltus_find_product(f, f->steps[r].law, &rows->products[r]);
        }
    }
done:
    return status;
}

saltus_status saltus_rows_create(saltus_model *model, saltus_law law, bool leaps, saltus_rows **out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_rows *rows = saltus_calloc(1, sizeof *rows);
    *out = NULL;
    SALTUS_NEED(rows);
    SALTUS_TRY(saltus_freeze_and_keep(model, law, &rows->f, err));
    rows->f.net = model->network;
    /* orders of laws that are programs come from their constants */
    if (rows->f.is_rigid || model->space || (leaps && model->network->tables.n_laws > 0) ||
        has_long_expressions(&rows->f)) {
        goto done;
    }
    SALTUS_TRY(find_products(rows, err));
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
        saltus_free(rows->products);
        saltus_free(rows);
    }
}

void saltus_rows_set(saltus_rows *rows, int variable, double value)
{
    rows->f.model->variables[variable].set->value = value;
}

static bool make_values(saltus_freezer *f)
{
    bool is_made = true;
    for (int k = 0; k < f->n_order; ++k) {
        const int i = f->order[k];
        const saltus_variable *v = &f->model->variables[i];
        const saltus_expr *e = saltus_value_of(v);
        double value = e ? saltus_expr_value(e, f->values, 0.0) : __builtin_nan("");
        if (v->kind == SALTUS_KIND_SPECIES && !v->rule) {
            is_made &= saltus_start_count(value, &value);
        }
        is_made &= e != v->set || isfinite(value);
        f->values[i] = f->net->bindings[i].value = value;
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
    if (!rows->f.steps[r].is_product) {
        *rate = 0.0;
        return true;
    }
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
    saltus_freezer *f = &rows->f;
    const saltus_tables *t = &f->net->tables;
    const saltus_point at = saltus_point_of(t);
    if (!make_values(f) || !is_decided_alike(f)) {
        return false;
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        if (!make_rate(rows, r, &row[r])) {
            return false;
        }
    }
    for (size_t i = 0; i < f->n_constants; ++i) {
        row[at.constants + (int)i] = saltus_constant_value(f, f->constants[i].e);
    }
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_binding *b = &f->net->bindings[i];
        if (b->row >= 0 && b->row < t->n_species) {
            row[at.counts + b->row] = b->value;
        } else if (b->role == SALTUS_ROLE_VARIABLE) {
            row[at.variables + b->row - t->row_variables] = b->value;
        }
    }
    return true;
}
