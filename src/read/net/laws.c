#include "read/net/laws.h"

/* The i-th reactant's number of molecules less those of it that stand before: X, X-1, X-2. */
static const saltus_expr *factor_of(saltus_arena *arena, const saltus_net_list *list, size_t i)
{
    size_t before = 0;
    for (size_t j = 0; j < i; ++j) {
        before += list->variables[j] == list->variables[i];
    }
    const saltus_expr *x = saltus_expr_variable(arena, list->variables[i]);
    return before == 0
               ? x
               : saltus_expr_2(arena, SALTUS_OP_SUB, x, saltus_expr_const(arena, (double)before));
}

const saltus_expr *saltus_net_times_reactants(saltus_arena *arena, const saltus_expr *e,
                                              const saltus_net_list *list, size_t first)
{
    for (size_t i = first; i < list->n; ++i) {
        e = saltus_expr_2(arena, SALTUS_OP_MUL, e, factor_of(arena, list, i));
    }
    return e;
}

const saltus_expr *saltus_net_saturation(saltus_arena *arena, const saltus_expr *const *p, size_t n,
                                         const saltus_net_list *list)
{
    const saltus_expr *e = p[0];
    for (size_t i = 0; i + 1 < n; ++i) {
        const saltus_expr *x = saltus_expr_variable(arena, list->variables[i]);
        e = saltus_expr_2(arena, SALTUS_OP_MUL, e,
                          saltus_expr_2(arena, SALTUS_OP_DIV, factor_of(arena, list, i),
                                        saltus_expr_2(arena, SALTUS_OP_ADD, p[i + 1], x)));
    }
    return n > 1 ? saltus_net_times_reactants(arena, e, list, n - 1) : e;
}

const saltus_expr *saltus_net_michaelis_menten(saltus_arena *arena, const saltus_expr *const *p,
                                               const saltus_net_list *list)
{
    const saltus_expr *s = saltus_expr_variable(arena, list->variables[0]);
    const saltus_expr *enzyme = saltus_expr_variable(arena, list->variables[1]);
    for (size_t i = 2; i < list->n; ++i) {
        enzyme = saltus_expr_2(arena, SALTUS_OP_ADD, enzyme,
                               saltus_expr_variable(arena, list->variables[i]));
    }
    const saltus_expr *b =
        saltus_expr_2(arena, SALTUS_OP_SUB, saltus_expr_2(arena, SALTUS_OP_SUB, s, p[1]), enzyme);
    const saltus_expr *four_s_km =
        saltus_expr_2(arena, SALTUS_OP_MUL,
                      saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_const(arena, 4.0), s), p[1]);
    const saltus_expr *root = saltus_expr_1(
        arena, SALTUS_OP_SQRT,
        saltus_expr_2(arena, SALTUS_OP_ADD, saltus_expr_2(arena, SALTUS_OP_MUL, b, b), four_s_km));
    const saltus_expr *free_s = saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_const(arena, 0.5),
                                              saltus_expr_2(arena, SALTUS_OP_ADD, b, root));
    const saltus_expr *top = saltus_expr_2(
        arena, SALTUS_OP_MUL, saltus_expr_2(arena, SALTUS_OP_MUL, p[0], enzyme), free_s);
    return saltus_expr_2(arena, SALTUS_OP_DIV, top,
                         saltus_expr_2(arena, SALTUS_OP_ADD, p[1], free_s));
}

const saltus_expr *saltus_net_hill(saltus_arena *arena, const saltus_expr *const *p,
                                   const saltus_net_list *list)
{
    const saltus_expr *x =
        saltus_expr_2(arena, SALTUS_OP_POW, saltus_expr_variable(arena, list->variables[0]), p[2]);
    const saltus_expr *k = saltus_expr_2(arena, SALTUS_OP_POW, p[1], p[2]);
    const saltus_expr *e =
        saltus_expr_2(arena, SALTUS_OP_DIV, saltus_expr_2(arena, SALTUS_OP_MUL, p[0], x),
                      saltus_expr_2(arena, SALTUS_OP_ADD, k, x));
    return saltus_net_times_reactants(arena, e, list, 1);
}

const saltus_expr *saltus_net_per_combination(saltus_arena *arena, const saltus_expr *k,
                                              const saltus_reaction *x)
{
    double ways = 1.0;
    for (int i = 0; i < x->n_reactants; ++i) {
        for (int64_t n = 2; n <= saltus_whole_molecules(&x->reactants[i]); ++n) {
            ways *= (double)n;
        }
    }
    if (ways == 2.0 && k->op == SALTUS_OP_MUL && k->args[0]->op == SALTUS_OP_CONST) {
        const double doubled = 2.0 * k->args[0]->value;
        return doubled == 1.0 ? k->args[1]
                              : saltus_expr_2(arena, SALTUS_OP_MUL,
                                              saltus_expr_const(arena, doubled), k->args[1]);
    }
    return ways == 1.0 ? k : saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_const(arena, ways), k);
}
