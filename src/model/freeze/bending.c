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

/* Whether an operation with counts among its arguments may change by more than its order tells. */
static bool bends(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    switch (node->op) {
    case SALTUS_OP_CONST:
    case SALTUS_OP_VARIABLE:
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

typedef struct pointer {
    const saltus_freezer *f;
    double *bend; /* [species] */
    bool *seen;   /* [variable] a rule that was gone into */
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

/* Give counts that e reads the direction in which they raise `sign` times e; the first that is
 * found stays. */
static void point(const pointer *p, const saltus_expr *e, double sign)
{
    const saltus_expr *rule = saltus_rule_behind(p->f, e);
    if (rule && !p->seen[e->variable]) {
        p->seen[e->variable] = true;
        point(p, rule, sign);
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

saltus_status saltus_find_bending(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n_reactions = (size_t)t->n_reactions;
    bool *seen = saltus_calloc(f->model->n_variables + 1, sizeof *seen);
    int32_t *list = saltus_calloc(n_reactions + 1, sizeof *list);
    double *bend = NULL;
    int32_t *of = NULL;
    SALTUS_NEED(seen && list);
    for (int r = 0; r < t->n_reactions; ++r) {
        bool found = false;
        if (t->law_program[r] >= 0) {
            SALTUS_TRY(saltus_any_through_rules(f, f->steps[r].law, bends, f, &found, err));
        }
        if (found) {
            list[t->n_bending++] = r;
        }
    }
    if (t->n_bending == 0) {
        goto done;
    }
    int32_t *bending = saltus_arena_alloc(f->arena, (size_t)t->n_bending * sizeof *bending);
    of = saltus_arena_alloc(f->arena, n_reactions * sizeof *of);
    bend = saltus_arena_alloc(f->arena, (size_t)t->n_species * sizeof *bend);
    SALTUS_NEED(bending && of && bend);
    for (int s = 0; s < t->n_species; ++s) {
        bend[s] = 0.0;
    }
    for (int r = 0, i = 0; r < t->n_reactions; ++r) {
        of[r] = -1;
        if (i < t->n_bending && list[i] == r) {
            bending[i] = r;
            of[r] = i++;
            point(&(pointer){f, bend, seen}, f->steps[r].law, 1.0);
        }
    }
    t->bending = bending;
    t->bending_of = of;
    t->bend = bend;
done:
    saltus_free(seen);
    saltus_free(list);
    return status;
}
