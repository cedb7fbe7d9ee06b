#include "model/network/expr.h"

#include <string.h>

static const struct {
    const char *text;
    int arity;
} ops[SALTUS_N_OPS] = {
#define SALTUS_OP_ROW(name, text, arity) {text, arity},
    SALTUS_OP_LIST(SALTUS_OP_ROW)
#undef SALTUS_OP_ROW
};

static saltus_expr *new_node(saltus_arena *arena, saltus_op op, int n)
{
    saltus_expr *e =
        saltus_arena_alloc(arena, sizeof(saltus_expr) + (size_t)n * sizeof(saltus_expr *));
    if (e) {
        e->op = op;
        e->n_args = n;
        e->variable = -1;
    }
    return e;
}

const saltus_expr *saltus_expr_const(saltus_arena *arena, double value)
{
    saltus_expr *e = new_node(arena, SALTUS_OP_CONST, 0);
    if (e) {
        e->value = value;
    }
    return e;
}

const saltus_expr *saltus_expr_variable(saltus_arena *arena, int variable)
{
    saltus_expr *e = new_node(arena, SALTUS_OP_VARIABLE, 0);
    if (e) {
        e->variable = variable;
    }
    return e;
}

const saltus_expr *saltus_expr_time(saltus_arena *arena)
{
    return new_node(arena, SALTUS_OP_TIME, 0);
}

const saltus_expr *saltus_expr_n(saltus_arena *arena, saltus_op op, int n,
                                 const saltus_expr *const *args)
{
    for (int i = 0; i < n; ++i) {
        if (!args[i]) {
            return NULL;
        }
    }
    saltus_expr *e = new_node(arena, op, n);
    if (e) {
        for (int i = 0; i < n; ++i) {
            e->args[i] = args[i];
        }
    }
    return e;
}

const saltus_expr *saltus_expr_1(saltus_arena *arena, saltus_op op, const saltus_expr *a)
{
    return saltus_expr_n(arena, op, 1, &a);
}

const saltus_expr *saltus_expr_2(saltus_arena *arena, saltus_op op, const saltus_expr *a,
                                 const saltus_expr *b)
{
    const saltus_expr *const args[2] = {a, b};
    return saltus_expr_n(arena, op, 2, args);
}

const saltus_expr *saltus_expr_fold(saltus_arena *arena, saltus_op op, int n,
                                    const saltus_expr *const *args)
{
    const saltus_expr *e = args[0];
    for (int i = 1; i < n; ++i) {
        e = saltus_expr_2(arena, op, e, args[i]);
    }
    return e;
}

int saltus_op_find(const char *name)
{
    for (int op = SALTUS_OP_XOR; op < SALTUS_N_OPS; ++op) {
        if (strcmp(ops[op].text, name) == 0) {
            return op;
        }
    }
    return -1;
}

const char *saltus_op_text(saltus_op op)
{
    return ops[op].text;
}

int saltus_op_arity(saltus_op op)
{
    return ops[op].arity;
}

bool saltus_expr_any(const saltus_expr *e, bool (*visit)(const saltus_expr *node, void *user),
                     void *user)
{
    if (visit(e, user)) {
        return true;
    }
    for (int i = 0; i < e->n_args; ++i) {
        if (saltus_expr_any(e->args[i], visit, user)) {
            return true;
        }
    }
    return false;
}
