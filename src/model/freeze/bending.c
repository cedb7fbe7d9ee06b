/* Laws that may bend within a leap: what tau-leaping looks at beyond orders. An order bounds by how
 * much a law changes while nothing cancels and nothing jumps; of a difference of counts, a
 * comparison, a rounding, or a function of which nothing is known it tells nothing. */
#include "core/memory.h"
#include "model/freeze/freeze.h"

/* Whether a product has a number below 0 as a factor. */
static bool is_below_0(const saltus_expr *e)
{
    return (e->args[0]->op == SALTUS_OP_CONST && e->args[0]->value < 0.0) ||
           (e->args[1]->op == SALTUS_OP_CONST && e->args[1]->value < 0.0);
}

typedef struct search {
    const saltus_freezer *f;
    bool *bends; /* [variable] its rule may bend */
} search;

/* Whether an operation with counts among its arguments may change by more than its order tells. */
static bool bends(const saltus_expr *node, void *user)
{
    const search *s = user;
    const saltus_freezer *f = s->f;
    switch (node->op) {
    case SALTUS_OP_VARIABLE:
        return saltus_rule_behind(f, node) && s->bends[node->variable];
    case SALTUS_OP_CONST:
    case SALTUS_OP_TIME:
    case SALTUS_OP_ADD:
    case SALTUS_OP_DIV:
    case SALTUS_OP_PIECEWISE: /* conditions are looked at by themselves */
    case SALTUS_OP_AND:
    case SALTUS_OP_OR:
    case SALTUS_OP_NOT:
    case SALTUS_OP_MIN:
    case SALTUS_OP_MAX:
    case SALTUS_OP_ABS:
    case SALTUS_OP_SQRT:
        return false;
    case SALTUS_OP_MUL: /* as a difference may be written */
        return is_below_0(node) && saltus_reads_counts(f, node);
    case SALTUS_OP_POW:
        return saltus_reads_counts(f, node->args[1]);
    default:
        return saltus_reads_counts(f, node);
    }
}

/* Directions, and rules that are still to be gone into: chains of them may be long. */
typedef struct pointer {
    const saltus_freezer *f;
    double *bend;  /* [species] */
    double *signs; /* [variable] of a rule that was met; else 0 */
    int *rules;
    size_t n;
} pointer;

/* Whether an operation falls while its argument number i rises. */
static bool falls_with(const saltus_expr *e, int i)
{
    switch (e->op) {
    case SALTUS_OP_NEG:
        return true;
    case SALTUS_OP_MUL:
        return is_below_0(e);
    case SALTUS_OP_LT:
    case SALTUS_OP_LE:
        return i == 0;
    case SALTUS_OP_SUB:
    case SALTUS_OP_DIV:
    case SALTUS_OP_GT:
    case SALTUS_OP_GE:
        return i == 1;
    default:
        return false;
    }
}

/* Give counts that e reads, not through rules, the direction in which they raise `sign` times e;
 * the first that is found stays. */
static void point(pointer *p, const saltus_expr *e, double sign)
{
    if (saltus_rule_behind(p->f, e)) {
        if (p->signs[e->variable] == 0.0) {
            p->signs[e->variable] = sign;
            p->rules[p->n++] = e->variable;
        }
    } else if (e->op == SALTUS_OP_VARIABLE && e->variable < (int)p->f->model->n_variables) {
        const saltus_binding *b = &p->f->net->bindings[e->variable];
        if (b->role == SALTUS_ROLE_COUNT && p->bend[b->row] == 0.0) {
            p->bend[b->row] = sign;
        }
    }
    for (int i = 0; i < e->n_args; ++i) {
        const bool falls = falls_with(e, i);
        point(p, e->args[i], falls ? -sign : sign);
    }
}

static saltus_status point_all(saltus_freezer *f, double *bend, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    const size_t n_variables = f->model->n_variables + 1;
    pointer p = {.f = f, .bend = bend};
    p.signs = saltus_calloc(n_variables, sizeof *p.signs);
    p.rules = saltus_calloc(n_variables, sizeof *p.rules);
    SALTUS_NEED(p.signs && p.rules);
    for (int i = 0; i < t->n_bending; ++i) {
        point(&p, f->steps[t->bending[i]].law, 1.0);
        while (p.n > 0) {
            const int rule = p.rules[--p.n];
            point(&p, f->rules[rule], p.signs[rule]);
        }
    }
done:
    saltus_free(p.signs);
    saltus_free(p.rules);
    return status;
}

/* List the reactions whose laws may bend. Rules are gone through in their order. */
static saltus_status list_all(saltus_freezer *f, int32_t *list, int32_t *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    search s = {.f = f};
    s.bends = saltus_calloc(f->model->n_variables + 1, sizeof *s.bends);
    SALTUS_NEED(s.bends);
    for (int r = 0; r < t->n_rules; ++r) {
        const int i = f->net->rule_variables[r];
        s.bends[i] = saltus_expr_any(f->rules[i], bends, &s);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        if (t->law_program[r] >= 0 && saltus_expr_any(f->steps[r].law, bends, &s)) {
            list[(*n)++] = r;
        }
    }
done:
    saltus_free(s.bends);
    return status;
}

saltus_status saltus_find_bending(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n_reactions = (size_t)t->n_reactions;
    int32_t *list = saltus_calloc(n_reactions + 1, sizeof *list);
    SALTUS_NEED(list);
    SALTUS_TRY(list_all(f, list, &t->n_bending, err));
    if (t->n_bending > 0) {
        int32_t *bending = saltus_arena_alloc(f->arena, (size_t)t->n_bending * sizeof *bending);
        int32_t *of = saltus_arena_alloc(f->arena, n_reactions * sizeof *of);
        double *bend = saltus_arena_alloc(f->arena, ((size_t)t->n_species + 1) * sizeof *bend);
        SALTUS_NEED(bending && of && bend);
        for (int s = 0; s < t->n_species; ++s) {
            bend[s] = 0.0;
        }
        for (int r = 0, i = 0; r < t->n_reactions; ++r) {
            of[r] = i < t->n_bending && list[i] == r ? i : -1;
            if (of[r] >= 0) {
                bending[i++] = r;
            }
        }
        t->bending = bending;
        t->bending_of = of;
        t->bend = bend;
        SALTUS_TRY(point_all(f, bend, err));
    }
done:
    saltus_free(list);
    return status;
}
