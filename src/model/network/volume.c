#include "model/network/volume.h"

#include "model/network/network.h"

#include <math.h>

/* What a value is reached from, directly or by way of other values: a list that grows while it is
 * worked off, so that long chains need no stack. */
typedef struct reach {
    const saltus_model *model;
    int *list, *seen; /* [variable] seen: by which search it was listed last */
    int n, search;
    bool by_size;
} reach;

static bool note_reached(const saltus_expr *node, void *user)
{
    reach *x = user;
    if (node->op != SALTUS_OP_VARIABLE) {
        return false;
    }
    const saltus_variable *v = &x->model->variables[node->variable];
    if (v->kind == SALTUS_KIND_COMPARTMENT || v->kind == SALTUS_KIND_SPECIES) {
        x->by_size = true;
    } else if (x->seen[node->variable] != x->search) {
        x->seen[node->variable] = x->search;
        x->list[x->n++] = node->variable;
    }
    return x->by_size;
}

/* Whether an initial amount follows a size by itself: it is computed from one, or from other
 * species, which do. */
static bool follows_size(reach *x, const saltus_expr *initial)
{
    x->n = 0;
    x->by_size = false;
    ++x->search;
    (void)saltus_expr_any(initial, note_reached, x);
    for (int i = 0; i < x->n && !x->by_size; ++i) {
        const saltus_variable *v = &x->model->variables[x->list[i]];
        const saltus_expr *value = v->rule ? v->rule : v->initial;
        (void)(value && saltus_expr_any(value, note_reached, x));
    }
    return x->by_size;
}

static saltus_status check(const saltus_model *model, const saltus_variable *v, double size,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (v->rule) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the size of '%s' cannot be changed: a rule determines it",
                    v->id);
    }
    if (!v->initial || v->is_point) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the size of '%s' cannot be changed: it has none", v->id);
    }
    if (!(size > 0.0 && isfinite(size))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the size of '%s' cannot be %g: it must be above 0", v->id,
                    size);
    }
    if (model->space) {
        status = saltus_error_set(err, SALTUS_E_INVALID,
                                  "the size of '%s' cannot be changed: the model has a lattice, "
                                  "whose sites are its volume",
                                  v->id);
    }
done:
    return status;
}

saltus_status saltus_model_resize(saltus_model *model, int compartment, double size,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = &model->arena;
    saltus_variable *c = &model->variables[compartment];
    reach x = {.model = model};
    SALTUS_TRY(check(model, c, size, err));
    x.list = saltus_calloc(model->n_variables, sizeof *x.list);
    x.seen = saltus_calloc(model->n_variables, sizeof *x.seen);
    const saltus_expr *wanted = saltus_expr_const(arena, size);
    const saltus_expr *ratio = c->initial->op == SALTUS_OP_CONST
                                   ? saltus_expr_const(arena, size / c->initial->value)
                                   : saltus_expr_2(arena, SALTUS_OP_DIV, wanted, c->initial);
    SALTUS_NEED(x.list && x.seen && wanted && ratio);
    for (size_t i = 0; i < model->n_variables; ++i) {
        saltus_variable *v = &model->variables[i];
        if (v->kind == SALTUS_KIND_SPECIES && v->compartment == compartment && !v->rule &&
            v->initial && !follows_size(&x, v->initial)) {
            v->initial = saltus_expr_2(arena, SALTUS_OP_MUL, v->initial, ratio);
            SALTUS_NEED(v->initial);
        }
    }
    c->size_was = c->size_was ? c->size_was : c->initial;
    c->initial = wanted;
done:
    saltus_free(x.list);
    saltus_free(x.seen);
    return status;
}

const char *saltus_print_volumes(const saltus_model *model, char text[SALTUS_VOLUMES_SIZE])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < model->n_variables; ++i) {
        const saltus_variable *v = &model->variables[i];
        char in_si[60] = "";
        if (!v->size_was) {
            continue;
        }
        const double size = model->network->bindings[i].value;
        if (v->size_unit > 0.0 && v->dimensions > 0) {
            (void)snprintf(in_si, sizeof in_si, " (%.6g m%d)", size * v->size_unit, v->dimensions);
        }
        const int n = snprintf(text + used, SALTUS_VOLUMES_SIZE - used, "%s%.100s=%.10g%s",
                               used > 0 ? ", " : "", v->id, size, in_si);
        if (n < 0 || (size_t)n >= SALTUS_VOLUMES_SIZE - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t)n;
    }
    return text;
}
