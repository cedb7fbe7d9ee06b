#include "model/network/expr.h"

#include <string.h>

static const struct {
    const char *text;
    int arity;
} ops[SALTUS_OP_END] = {
#define SALTUS_OP_ROW(name, text, arity) [SALTUS_OP_##name] = {text, arity},
    SALTUS_OP_LIST(SALTUS_OP_ROW)
#undef SALTUS_OP_ROW
        [SALTUS_OP_SELECT] = {"", 3},
#define SALTUS_OP_ROW(name, text) [SALTUS_OP_##name] = {text, -1},
    SALTUS_TABLE_LIST(SALTUS_OP_ROW)
#undef SALTUS_OP_ROW
#define SALTUS_OP_ROW(name, text, n, bounded) [SALTUS_OP_##name] = {text, -1},
        SALTUS_VARIATE_LIST(SALTUS_OP_ROW)
#undef SALTUS_OP_ROW
};

/* [distribution] */
static const struct {
    int n;
    bool is_bounded;
} variates[] = {
#define SALTUS_VARIATE_ROW(name, text, n, bounded) {n, bounded},
    SALTUS_VARIATE_LIST(SALTUS_VARIATE_ROW)
#undef SALTUS_VARIATE_ROW
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
    for (int op = SALTUS_OP_XOR; op < SALTUS_OP_END; ++op) {
        if (op != SALTUS_OP_SELECT && strcmp(ops[op].text, name) == 0) {
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

bool saltus_op_is_logic(saltus_op op)
{
    return op >= SALTUS_OP_LT && op <= SALTUS_OP_IMPLIES;
}

bool saltus_op_is_order(saltus_op op)
{
    return op >= SALTUS_OP_LT && op <= SALTUS_OP_GE;
}

bool saltus_op_is_circular(saltus_op op)
{
    return op >= SALTUS_OP_SIN && op <= SALTUS_OP_COT;
}

bool saltus_op_draws(saltus_op op)
{
    return op >= SALTUS_OP_FIRST_VARIATE;
}

bool saltus_op_is_table(saltus_op op)
{
    return op == SALTUS_OP_HELD || op == SALTUS_OP_LINEAR || op == SALTUS_OP_SPLINE;
}

const char *saltus_table_problem(int n, const saltus_expr *const *args)
{
    if (n < 3 || n % 2 == 0) {
        return "takes an argument, and then arguments and values of its table in pairs";
    }
    for (int i = 1; i < n; ++i) {
        if (args[i] && args[i]->op != SALTUS_OP_CONST) {
            return "has a table of numbers alone";
        }
    }
    for (int i = 1; i < n; i += 2) {
        if (args[i] && !(i == 1 ? args[i]->value == args[i]->value
                                : args[i - 2] && args[i]->value > args[i - 2]->value)) {
            return "has a table whose arguments must rise";
        }
    }
    return NULL;
}

bool saltus_variate_is_called(saltus_op op, int n)
{
    const int wanted = variates[op - SALTUS_OP_FIRST_VARIATE].n;
    return n == wanted || (n == wanted + 2 && variates[op - SALTUS_OP_FIRST_VARIATE].is_bounded) ||
           (n == 1 && (op == SALTUS_OP_LAPLACE || op == SALTUS_OP_CAUCHY));
}

const char *saltus_variate_usage(saltus_op op)
{
    const bool is_bounded = variates[op - SALTUS_OP_FIRST_VARIATE].is_bounded;
    const bool has_default = op == SALTUS_OP_LAPLACE || op == SALTUS_OP_CAUCHY;
    return variates[op - SALTUS_OP_FIRST_VARIATE].n == 1
               ? is_bounded ? "1 or 3 arguments" : "1 argument"
           : has_default ? "1, 2 or 4 arguments"
           : is_bounded  ? "2 or 4 arguments"
                         : "2 arguments";
}

const saltus_expr *saltus_expr_variate(saltus_arena *arena, saltus_op op, int n,
                                       const saltus_expr *const *args)
{
    if (n == 1 && variates[op - SALTUS_OP_FIRST_VARIATE].n == 2) {
        const saltus_expr *const both[2] = {saltus_expr_const(arena, 0.0), args[0]};
        return saltus_expr_n(arena, op, 2, both);
    }
    return saltus_expr_n(arena, op, n, args);
}

static bool node_draws(const saltus_expr *node, void *user)
{
    (void)user;
    return saltus_op_draws(node->op);
}

bool saltus_expr_draws(const saltus_expr *e)
{
    return saltus_expr_any(e, node_draws, NULL);
}

typedef struct meeting {
    const saltus_expr *node;
    int n;
} meeting;

static bool is_met_again(const saltus_expr *node, void *user)
{
    meeting *m = user;
    m->n += node == m->node;
    return m->n > 1;
}

static bool is_repeated(const saltus_expr *node, void *user)
{
    meeting m = {.node = node};
    return saltus_op_draws(node->op) && saltus_expr_any(user, is_met_again, &m);
}

bool saltus_expr_repeats_draw(const saltus_expr *e)
{
    return saltus_expr_any(e, is_repeated, (void *)(uintptr_t)e);
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
