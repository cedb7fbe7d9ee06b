/* Laws that are differences only once they are multiplied out, as V A (1 - B / (K A)) / (Km + A +
 * B) is: a sum of terms, each a product of powers, in which A / A is gone. */
#include "model/freeze/freeze.h"

#include <math.h>
#include <string.h>

enum { MOST_TERMS = 256, MOST_FACTORS = 64, MOST_NODES = 10000 };

/* A power in a product. One that was cancelled is kept, with the exponent that is left, perhaps 0.
 */
typedef struct factor {
    const saltus_expr *base;
    double exponent;
    bool is_cancelled;
} factor;

typedef struct term {
    bool is_minus;
    int n;
    factor factors[];
} term;

/* A sum; n is negative where there were too many, or memory ran out. */
typedef struct terms {
    const term **list;
    int n;
} terms;

typedef struct expander {
    saltus_freezer *f;
    const saltus_reaction *r;
    int budget; /* nodes still to be taken: rules that share parts can make many of few */
    bool no_memory;
} expander;

static const terms failed = {NULL, -1};

static term *new_term(expander *x, int n_factors)
{
    term *t = saltus_arena_alloc(x->f->arena, sizeof *t + (size_t)n_factors * sizeof(factor));
    x->no_memory |= !t;
    return t;
}

static terms list_of(expander *x, int n)
{
    const terms all = {saltus_arena_alloc(x->f->arena, (size_t)(n + 1) * sizeof *all.list), n};
    x->no_memory |= !all.list;
    return all.list ? all : failed;
}

bool saltus_same_expr(const saltus_expr *a, const saltus_expr *b)
{
    if (a == b) {
        return true;
    }
    if (a->op != b->op || a->n_args != b->n_args || a->variable != b->variable ||
        memcmp(&a->value, &b->value, sizeof a->value) != 0) {
        return false;
    }
    for (int i = 0; i < a->n_args; ++i) {
        if (!saltus_same_expr(a->args[i], b->args[i])) {
            return false;
        }
    }
    return true;
}

/* Multiply a term by a power. What changes and stands above and below the line is cancelled. */
static void multiply(const expander *x, term *t, factor by)
{
    for (int i = 0; i < t->n && by.exponent != 0.0; ++i) {
        factor *here = &t->factors[i];
        if (here->exponent * by.exponent < 0.0 && saltus_same_expr(here->base, by.base) &&
            !saltus_is_constant(x->f, by.base)) {
            here->exponent += by.exponent;
            here->is_cancelled = true;
            return;
        }
    }
    t->factors[t->n++] = by;
}

static const term *product(expander *x, const term *a, const term *b)
{
    if (!a || !b || a->n + b->n > MOST_FACTORS) {
        return NULL;
    }
    term *t = new_term(x, a->n + b->n);
    if (t) {
        memcpy(t->factors, a->factors, (size_t)a->n * sizeof *a->factors);
        t->n = a->n;
        t->is_minus = a->is_minus != b->is_minus;
        for (int i = 0; i < b->n; ++i) {
            multiply(x, t, b->factors[i]);
        }
    }
    return t;
}

/* One factor. The sign of a constant is told by its value, and what is 0 has none. */
static const term *leaf(expander *x, const saltus_expr *e, double exponent)
{
    term *t = new_term(x, 1);
    if (t && saltus_is_constant(x->f, e) && fabs(exponent) == 1.0 &&
        saltus_deciding_value(x->f, e, true) < 0.0) {
        t->is_minus = true;
        e = saltus_expr_1(x->f->arena, SALTUS_OP_NEG, e);
        x->no_memory |= !e;
    }
    if (t) {
        t->n = 1;
        t->factors[0] = (factor){e, exponent, false};
    }
    return t;
}

/* e^exponent as one term; sums are factors of it. */
static const term *factors_of(expander *x, const saltus_expr *e, double exponent)
{
    const saltus_expr *rule = saltus_rule_behind(x->f, e);
    if (--x->budget < 0) {
        return NULL;
    }
    if (rule && (rule->op == SALTUS_OP_MUL || rule->op == SALTUS_OP_DIV ||
                 rule->op == SALTUS_OP_VARIABLE)) {
        return factors_of(x, rule, exponent);
    }
    switch (e->op) {
    case SALTUS_OP_MUL:
        return product(x, factors_of(x, e->args[0], exponent), factors_of(x, e->args[1], exponent));
    case SALTUS_OP_DIV:
        return product(x, factors_of(x, e->args[0], exponent),
                       factors_of(x, e->args[1], -exponent));
    case SALTUS_OP_POW:
        if (saltus_is_constant(x->f, e->args[1]) && !saltus_is_constant(x->f, e->args[0])) {
            return factors_of(x, e->args[0],
                              exponent * saltus_deciding_value(x->f, e->args[1], false));
        }
        return leaf(x, e, exponent);
    case SALTUS_OP_NEG:
        if (fabs(exponent) == 1.0) {
            const term *a = factors_of(x, e->args[0], exponent);
            term *t = a ? new_term(x, a->n) : NULL;
            if (t) {
                memcpy(t->factors, a->factors, (size_t)a->n * sizeof *a->factors);
                t->n = a->n;
                t->is_minus = !a->is_minus;
            }
            return t;
        }
        return leaf(x, e, exponent);
    default:
        return leaf(x, e, exponent);
    }
}

static terms expand(expander *x, const saltus_expr *e);

static terms add(expander *x, terms a, terms b, bool subtracts)
{
    if (a.n < 0 || b.n < 0 || a.n + b.n > MOST_TERMS) {
        return failed;
    }
    terms all = list_of(x, a.n + b.n);
    for (int i = 0; i < all.n; ++i) {
        const term *from = i < a.n ? a.list[i] : b.list[i - a.n];
        if (i >= a.n && subtracts) {
            term *t = new_term(x, from->n);
            if (!t) {
                return failed;
            }
            memcpy(t, from, sizeof *t + (size_t)from->n * sizeof(factor));
            t->is_minus = !from->is_minus;
            from = t;
        }
        all.list[i] = from;
    }
    return all;
}

static terms multiply_out(expander *x, terms a, terms b)
{
    if (a.n < 0 || b.n < 0 || a.n * b.n > MOST_TERMS) {
        return failed;
    }
    terms all = list_of(x, a.n * b.n);
    for (int i = 0; i < all.n; ++i) {
        all.list[i] = product(x, a.list[i / b.n], b.list[i % b.n]);
        if (!all.list[i]) {
            return failed;
        }
    }
    return all;
}

static terms single(expander *x, const term *t)
{
    const terms one = t ? list_of(x, 1) : failed;
    if (one.n == 1) {
        one.list[0] = t;
    }
    return one;
}

static terms expand(expander *x, const saltus_expr *e)
{
    const saltus_expr *rule = saltus_rule_behind(x->f, e);
    if (--x->budget < 0) {
        return failed;
    }
    if (rule) {
        return expand(x, rule);
    }
    const bool is_sum = e->op == SALTUS_OP_ADD || e->op == SALTUS_OP_SUB;
    if (is_sum && (saltus_is_constant(x->f, e) || saltus_counts_ways(x->f, x->r, e))) {
        return single(x, leaf(x, e, 1.0));
    }
    switch (e->op) {
    case SALTUS_OP_NEG:
        return add(x, (terms){NULL, 0}, expand(x, e->args[0]), true);
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
        return add(x, expand(x, e->args[0]), expand(x, e->args[1]), e->op == SALTUS_OP_SUB);
    case SALTUS_OP_MUL:
        return multiply_out(x, expand(x, e->args[0]), expand(x, e->args[1]));
    case SALTUS_OP_DIV: /* a denominator that is a sum counts as positive */
        return multiply_out(x, expand(x, e->args[0]), single(x, factors_of(x, e->args[1], -1.0)));
    default:
        return single(x, factors_of(x, e, 1.0));
    }
}

/* Factors above the line in their order, then divided by those below it. */
static const saltus_expr *write_term(const expander *x, const term *t)
{
    saltus_arena *arena = x->f->arena;
    const saltus_expr *e = NULL;
    for (int below = 0; below < 2; ++below) {
        for (int i = 0; i < t->n; ++i) {
            const double exponent = below ? -t->factors[i].exponent : t->factors[i].exponent;
            const saltus_expr *base = t->factors[i].base;
            if (!(exponent > 0.0)) {
                continue;
            }
            if (exponent != 1.0) {
                base =
                    saltus_expr_2(arena, SALTUS_OP_POW, base, saltus_expr_const(arena, exponent));
            }
            e = e || below ? saltus_expr_2(arena, below ? SALTUS_OP_DIV : SALTUS_OP_MUL,
                                           e ? e : saltus_expr_const(arena, 1.0), base)
                           : base;
        }
    }
    return e ? e : saltus_expr_const(arena, 1.0);
}

static double exponent_of(const term *t, int species, bool *is_cancelled)
{
    double exponent = 0.0;
    *is_cancelled = false;
    for (int i = 0; i < t->n; ++i) {
        const factor *here = &t->factors[i];
        if (here->base->op == SALTUS_OP_VARIABLE && here->base->variable == species) {
            exponent += here->exponent;
            *is_cancelled |= here->is_cancelled;
        }
    }
    return exponent;
}

/* Whether the term is a rate of the reaction in its direction: 0 where there is none of what it
 * uses up; and the way back needs nothing of what the way there uses up, but for what is left where
 * 1 - Q / K has cancelled it. */
static bool is_rate(const expander *x, const saltus_reaction *r, const term *t)
{
    const saltus_participant *const sides[2] = {r->reactants, r->products};
    const int lengths[2] = {r->n_reactants, r->n_products};
    for (int side = 0; side < 2; ++side) {
        for (int i = 0; i < lengths[side]; ++i) {
            const int species = sides[side][i].variable;
            const int64_t net = saltus_side_count(sides[side], lengths[side], species) -
                                saltus_side_count(sides[1 - side], lengths[1 - side], species);
            bool is_cancelled;
            const double exponent = exponent_of(t, species, &is_cancelled);
            const bool is_used_up = (side == 1) == t->is_minus && x->f->reacts[species];
            if (exponent < 0.0 || (net > 0 && is_used_up && !(exponent > 0.0)) ||
                (net > 0 && side == 0 && t->is_minus && exponent > 0.0 && !is_cancelled)) {
                return false;
            }
        }
    }
    return true;
}

saltus_status saltus_expand_law(saltus_freezer *f, const saltus_reaction *r, const saltus_expr *law,
                                const saltus_expr **forward, const saltus_expr **backward,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    expander x = {.f = f, .r = r, .budget = MOST_NODES};
    const saltus_expr *sums[2] = {NULL, NULL};
    const terms all = expand(&x, law);
    *forward = *backward = NULL;
    for (int i = 0; i < all.n; ++i) {
        const term *t = all.list[i];
        if (!is_rate(&x, r, t)) {
            goto done;
        }
        const saltus_expr *e = write_term(&x, t), *before = sums[t->is_minus];
        sums[t->is_minus] = before ? saltus_expr_2(f->arena, SALTUS_OP_ADD, before, e) : e;
        x.no_memory |= !sums[t->is_minus];
    }
    if (x.no_memory) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    if (sums[0] && sums[1]) {
        *forward = sums[0];
        *backward = sums[1];
    }
done:
    return status;
}
