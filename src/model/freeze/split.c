/* Reversible reactions: a law that is a difference becomes two, there and back. */
#include "model/freeze/freeze.h"

#include <math.h>

/* A law as plus - minus, neither of which subtracts; NULL: there is no such part. */
typedef struct parts {
    const saltus_expr *plus, *minus;
} parts;

typedef struct splitter {
    saltus_freezer *f;
    const saltus_reaction *r;
    int budget;       /* nodes still to be looked at: rules that share parts can make many of few */
    bool tangled;     /* differences are multiplied with each other, or the budget is spent */
    bool keeps_rules; /* rules are not taken apart, */
    bool has_kept;    /* and one was met that is a difference */
    bool no_memory;
} splitter;

static const saltus_expr *make(splitter *s, saltus_op op, const saltus_expr *a,
                               const saltus_expr *b)
{
    saltus_arena *arena = s->f->arena;
    const saltus_expr *e = b ? saltus_expr_2(arena, op, a, b) : saltus_expr_1(arena, op, a);
    s->no_memory |= !e;
    return e;
}

static const saltus_expr *sum(splitter *s, const saltus_expr *a, const saltus_expr *b)
{
    return a && b ? make(s, SALTUS_OP_ADD, a, b) : a ? a : b;
}

const saltus_expr *saltus_rule_behind(const saltus_freezer *f, const saltus_expr *e)
{
    const bool is_rule = e->op == SALTUS_OP_VARIABLE && e->variable < (int)f->model->n_variables &&
                         f->net->bindings[e->variable].role == SALTUS_ROLE_RULE;
    return is_rule ? f->rules[e->variable] : NULL;
}

int64_t saltus_side_count(const saltus_participant *side, int n_side, int variable)
{
    int64_t n = 0;
    for (int i = 0; i < n_side; ++i) {
        n += side[i].variable == variable ? (int64_t)ceil(saltus_molecules(&side[i])) : 0;
    }
    return n;
}

bool saltus_counts_ways(saltus_freezer *f, const saltus_reaction *r, const saltus_expr *difference)
{
    const saltus_expr *x = difference->args[0];
    if (difference->op != SALTUS_OP_SUB || x->op != SALTUS_OP_VARIABLE ||
        !saltus_is_constant(f, difference->args[1])) {
        return false;
    }
    const double n = saltus_deciding_value(f, difference->args[1], false);
    const int64_t before = saltus_side_count(r->reactants, r->n_reactants, x->variable),
                  after = saltus_side_count(r->products, r->n_products, x->variable);
    return n >= 1.0 && n == nearbyint(n) && n < (double)(before > after ? before : after);
}

static parts divide(splitter *s, const saltus_expr *e);

static parts divide_product(splitter *s, const saltus_expr *e)
{
    const saltus_expr *factor = e->args[1];
    const parts a = divide(s, e->args[0]);
    /* a denominator that changes counts as positive, whatever it is made of */
    const parts b = e->op == SALTUS_OP_DIV && !saltus_is_constant(s->f, factor)
                        ? (parts){factor, NULL}
                        : divide(s, factor);
    parts out = {NULL, NULL};
    if (!a.minus && !b.minus) {
        return (parts){e, NULL};
    }
    if (a.plus && a.minus && b.plus && b.minus) {
        s->tangled = true;
        return (parts){e, NULL};
    }
    const saltus_expr *const left[2] = {a.plus, a.minus}, *const right[2] = {b.plus, b.minus};
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            if (left[i] && right[j]) {
                *(i == j ? &out.plus : &out.minus) = make(s, e->op, left[i], right[j]);
            }
        }
    }
    return out;
}

static parts divide(splitter *s, const saltus_expr *e)
{
    saltus_freezer *f = s->f;
    const saltus_expr *rule = saltus_rule_behind(f, e);
    if (--s->budget < 0) {
        s->tangled = true;
        return (parts){e, NULL};
    }
    /* The sign of a product of constants is its factors', so that one that is 0 changes nothing. */
    const bool has_signs =
        e->op == SALTUS_OP_NEG || e->op == SALTUS_OP_MUL || e->op == SALTUS_OP_DIV;
    if (!has_signs && saltus_is_constant(f, e)) {
        const bool negative = saltus_deciding_value(f, e, true) < 0.0;
        return negative ? (parts){NULL, make(s, SALTUS_OP_NEG, e, NULL)} : (parts){e, NULL};
    }
    if (rule) {
        const parts p = divide(s, rule);
        s->has_kept |= s->keeps_rules && (p.minus || s->tangled);
        s->tangled &= !s->keeps_rules;
        return p.minus && !s->keeps_rules ? p : (parts){e, NULL};
    }
    switch (e->op) {
    case SALTUS_OP_NEG: {
        const parts a = divide(s, e->args[0]);
        return (parts){a.minus, a.plus};
    }
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB: {
        if (saltus_counts_ways(f, s->r, e)) {
            return (parts){e, NULL};
        }
        const parts a = divide(s, e->args[0]), b = divide(s, e->args[1]);
        if (e->op == SALTUS_OP_SUB) {
            return (parts){sum(s, a.plus, b.minus), sum(s, a.minus, b.plus)};
        }
        return a.minus || b.minus ? (parts){sum(s, a.plus, b.plus), sum(s, a.minus, b.minus)}
                                  : (parts){e, NULL};
    }
    case SALTUS_OP_MUL:
    case SALTUS_OP_DIV:
        return divide_product(s, e);
    default:
        return (parts){e, NULL};
    }
}

static bool is_product(const saltus_expr *node, void *user)
{
    const splitter *s = user;
    if (node->op != SALTUS_OP_VARIABLE) {
        return false;
    }
    return saltus_side_count(s->r->products, s->r->n_products, node->variable) > 0;
}

/* Whether e is 0, by its form, where there is none of `species`. */
static bool vanishes(splitter *s, const saltus_expr *e, int species)
{
    const saltus_expr *rule = saltus_rule_behind(s->f, e);
    if (--s->budget < 0) {
        return false;
    }
    if (rule) {
        return vanishes(s, rule, species);
    }
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        return e->variable == species;
    case SALTUS_OP_MUL:
        return vanishes(s, e->args[0], species) || vanishes(s, e->args[1], species);
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
        return vanishes(s, e->args[0], species) && vanishes(s, e->args[1], species);
    case SALTUS_OP_NEG:
    case SALTUS_OP_DIV:
        return vanishes(s, e->args[0], species);
    case SALTUS_OP_POW:
        return vanishes(s, e->args[0], species) && saltus_is_constant(s->f, e->args[1]) &&
               saltus_deciding_value(s->f, e->args[1], true) > 0.0;
    default:
        return false;
    }
}

static bool vanishes_with_one(splitter *s, const saltus_expr *e, const saltus_participant *side,
                              int n_side)
{
    bool does = false;
    for (int i = 0; i < n_side && !does; ++i) {
        does = vanishes(s, e, side[i].variable);
    }
    return does;
}

/* Whether a node divides by what vanishes with something that the reaction uses or makes. */
static bool is_pole(const saltus_expr *node, void *user)
{
    splitter *s = user;
    const saltus_reaction *r = s->r;
    return node->op == SALTUS_OP_DIV &&
           (vanishes_with_one(s, node->args[1], r->reactants, r->n_reactants) ||
            vanishes_with_one(s, node->args[1], r->products, r->n_products));
}

/* A way back takes what the reaction makes and needs nothing of what it consumes: S (60 - P) for S
 * -> P is no difference of two rates but a rate that saturates. */
static bool is_way_back(splitter *s, const saltus_expr *e)
{
    const saltus_reaction *r = s->r;
    bool reads_product = true;
    if (r->n_products > 0 &&
        saltus_any_through_rules(s->f, e, is_product, s, &reads_product, NULL) != SALTUS_OK) {
        s->no_memory = true;
        return false;
    }
    if (!reads_product) {
        return false;
    }
    for (int i = 0; i < r->n_reactants; ++i) {
        const int species = r->reactants[i].variable;
        if (saltus_side_count(r->reactants, r->n_reactants, species) >
                saltus_side_count(r->products, r->n_products, species) &&
            vanishes(s, e, species)) {
            return false;
        }
    }
    return true;
}

/* A way of the reaction, there or back. */
typedef struct way {
    splitter *s;
    bool is_backward;
} way;

static bool uses_up(const way *w, int species)
{
    const saltus_reaction *r = w->s->r;
    const int64_t made = saltus_side_count(r->products, r->n_products, species) -
                         saltus_side_count(r->reactants, r->n_reactants, species);
    return w->s->f->reacts[species] && (w->is_backward ? made > 0 : made < 0);
}

static bool is_used_up(const saltus_expr *node, void *user)
{
    const way *w = user;
    return node->op == SALTUS_OP_VARIABLE && node->variable < (int)w->s->f->model->n_variables &&
           uses_up(w, node->variable);
}

/* Whether each term of a rate has a factor that reads something which its way uses up, or is 0. */
static bool reads_in_each_term(way *w, const saltus_expr *e)
{
    splitter *s = w->s;
    const saltus_expr *rule = saltus_rule_behind(s->f, e);
    bool reads = false;
    if (--s->budget < 0 || is_used_up(e, w)) {
        return true;
    }
    if (saltus_is_constant(s->f, e)) {
        return saltus_deciding_value(s->f, e, true) == 0.0;
    }
    if (rule) {
        return reads_in_each_term(w, rule);
    }
    switch (e->op) {
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
        return reads_in_each_term(w, e->args[0]) && reads_in_each_term(w, e->args[1]);
    case SALTUS_OP_MUL:
        return reads_in_each_term(w, e->args[0]) || reads_in_each_term(w, e->args[1]);
    case SALTUS_OP_NEG:
    case SALTUS_OP_DIV:
    case SALTUS_OP_POW:
        return reads_in_each_term(w, e->args[0]);
    default:
        s->no_memory |= saltus_any_through_rules(s->f, e, is_used_up, w, &reads, NULL) != SALTUS_OK;
        return reads;
    }
}

/* A rate with a term that reads nothing of what the way uses up goes on where that has run out: in
 * A - 2 B - 2 for A -> B the 2 is no rate of the way back. */
static bool goes_on(splitter *s, const saltus_expr *e, bool is_backward)
{
    const saltus_reaction *r = s->r;
    const saltus_participant *from = is_backward ? r->products : r->reactants;
    const int n = is_backward ? r->n_products : r->n_reactants;
    way w = {s, is_backward};
    bool uses_any = false;
    for (int i = 0; i < n; ++i) {
        uses_any |= uses_up(&w, from[i].variable);
    }
    return uses_any && !reads_in_each_term(&w, e);
}

/* Whether a rate is 0 where there is none of something that it uses up, or it uses up nothing. */
static bool is_limited(splitter *s, const saltus_expr *e, bool is_backward)
{
    const saltus_reaction *r = s->r;
    const saltus_participant *from = is_backward ? r->products : r->reactants,
                             *to = is_backward ? r->reactants : r->products;
    const int n_from = is_backward ? r->n_products : r->n_reactants,
              n_to = is_backward ? r->n_reactants : r->n_products;
    bool any = false;
    for (int i = 0; i < n_from; ++i) {
        const int species = from[i].variable;
        if (saltus_side_count(from, n_from, species) > saltus_side_count(to, n_to, species)) {
            if (vanishes(s, e, species)) {
                return true;
            }
            any = true;
        }
    }
    return !any;
}

/* max(e, 0) or max(-e, 0) */
static const saltus_expr *positive_part(splitter *s, const saltus_expr *e, bool of_negative)
{
    const saltus_expr *x = of_negative ? make(s, SALTUS_OP_NEG, e, NULL) : e;
    return make(s, SALTUS_OP_MAX, x, saltus_expr_const(s->f->arena, 0.0));
}

/* Two rates that may themselves be negative: what is, counts for the other direction. */
static void mend_signs(splitter *s, const saltus_expr **forward, const saltus_expr **backward)
{
    const saltus_expr *there = *forward, *back = *backward;
    *forward = sum(s, positive_part(s, there, false), positive_part(s, back, true));
    *backward = sum(s, positive_part(s, back, false), positive_part(s, there, true));
}

/* A law such as kf A free - kr B, where a rule says free = total - B: the rule is what it says, and
 * no difference of rates. Should one of the two be negative all the same, it counts for the other
 * direction. */
static void divide_around_rules(splitter *s, const saltus_expr *law, const saltus_expr **forward,
                                const saltus_expr **backward)
{
    s->keeps_rules = true;
    const parts p = divide(s, law);
    const bool is_difference = s->has_kept && !s->tangled && p.plus && p.minus;
    s->keeps_rules = s->tangled = false;
    if (is_difference && is_limited(s, p.plus, false) && is_limited(s, p.minus, true)) {
        *forward = p.plus;
        *backward = p.minus;
        mend_signs(s, forward, backward);
    }
}

/* Whether a node is something that reactions, events or rate rules change. */
static bool is_changing(const saltus_expr *node, void *user)
{
    const splitter *s = user;
    if (node->op != SALTUS_OP_VARIABLE || node->variable >= (int)s->f->model->n_variables) {
        return false;
    }
    const saltus_role role = s->f->net->bindings[node->variable].role;
    return role == SALTUS_ROLE_COUNT || role == SALTUS_ROLE_VARIABLE;
}

/* The law where it is above 0, and where it is below; NaN in both where it is NaN. One that depends
 * on nothing but the time is left alone: what makes it negative is no state of the model. */
static saltus_status divide_by_sign(splitter *s, const saltus_expr *law,
                                    const saltus_expr **forward, const saltus_expr **backward,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = s->f->arena;
    bool changes = false;
    SALTUS_TRY(saltus_any_through_rules(s->f, law, is_changing, s, &changes, err));
    if (changes) {
        const saltus_expr *zero = saltus_expr_const(arena, 0.0);
        *forward = saltus_expr_2(arena, SALTUS_OP_MAX, law, zero);
        *backward =
            saltus_expr_2(arena, SALTUS_OP_MAX, saltus_expr_1(arena, SALTUS_OP_NEG, law), zero);
        SALTUS_NEED(*forward && *backward);
    }
done:
    return status;
}

static bool is_logarithm(const saltus_expr *e)
{
    return e->op == SALTUS_OP_LN || e->op == SALTUS_OP_LOG10;
}

static bool has_hidden_sign(splitter *s, const saltus_expr *e);

/* Whether a value that a condition or a comparison chooses may be below 0: it subtracts, too. */
static bool may_be_negative(splitter *s, const saltus_expr *e)
{
    const bool was_tangled = s->tangled;
    const parts p = divide(s, e);
    const bool may = s->tangled || p.minus;
    s->tangled = was_tangled;
    return may || has_hidden_sign(s, e);
}

/* Whether a factor of a term of e may be below 0 though no term subtracts: the logarithm of
 * something that is not constant, as in Gompertz' k V ln(K / V), which is negative where V is above
 * K, while ln(1 + x) is none of these; or what stands in piecewise, min or max and subtracts. */
static bool has_hidden_sign(splitter *s, const saltus_expr *e)
{
    const saltus_expr *rule = saltus_rule_behind(s->f, e);
    if (--s->budget < 0 || saltus_is_constant(s->f, e)) {
        return false;
    }
    if (rule) {
        return has_hidden_sign(s, rule);
    }
    if (is_logarithm(e)) {
        const saltus_expr *x = e->args[0];
        for (int i = 0; x->op == SALTUS_OP_ADD && i < 2; ++i) {
            if (saltus_is_constant(s->f, x->args[i]) &&
                saltus_deciding_value(s->f, x->args[i], false) >= 1.0) {
                return false;
            }
        }
        return !saltus_is_constant(s->f, x);
    }
    switch (e->op) {
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
    case SALTUS_OP_MUL:
        return has_hidden_sign(s, e->args[0]) || has_hidden_sign(s, e->args[1]);
    case SALTUS_OP_NEG:
    case SALTUS_OP_DIV: /* a denominator counts as positive */
        return has_hidden_sign(s, e->args[0]);
    case SALTUS_OP_PIECEWISE: { /* value, condition, value, condition, … otherwise */
        bool may = false;
        for (int i = 0; i < e->n_args && !may; i += 2) {
            may = may_be_negative(s, e->args[i]);
        }
        return may;
    }
    case SALTUS_OP_MIN:
        return may_be_negative(s, e->args[0]) || may_be_negative(s, e->args[1]);
    case SALTUS_OP_MAX:
        return may_be_negative(s, e->args[0]) && may_be_negative(s, e->args[1]);
    default:
        return false;
    }
}

saltus_status saltus_split_law(saltus_freezer *f, const saltus_reaction *r, const saltus_expr *law,
                               const saltus_expr **forward, const saltus_expr **backward,
                               bool *is_net, saltus_error *err)
{
    enum { MOST = 10000 };
    saltus_status status = SALTUS_OK;
    char place[160];
    splitter s = {.f = f, .r = r, .budget = MOST};
    const bool goes_back = f->model->goes_back && !f->model->space;
    *forward = *backward = NULL;
    *is_net = false;
    if (r->reversible && goes_back) {
        divide_around_rules(&s, law, forward, backward);
        s.budget = MOST;
    }
    const parts p = divide(&s, law);
    s.budget = MOST;
    const bool subtracts = s.tangled || p.minus, is_hidden = goes_back && has_hidden_sign(&s, law);
    s.budget = MOST;
    const bool is_split =
        !*backward && r->reversible && !s.tangled && p.plus && p.minus &&
        is_way_back(&s, p.minus) &&
        !(goes_back && (goes_on(&s, p.plus, false) || goes_on(&s, p.minus, true)));
    if (s.no_memory) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    if (*backward) {
        goto done;
    }
    bool has_poles = false; /* that may be gone once the law is multiplied out */
    if (is_split) {
        SALTUS_TRY(saltus_any_through_rules(f, law, is_pole, &s, &has_poles, err));
    }
    if (r->reversible && subtracts && (!is_split || has_poles)) {
        SALTUS_TRY(saltus_expand_law(f, r, law, forward, backward, err));
    }
    if (is_split && !*backward) {
        *forward = p.plus;
        *backward = p.minus;
    }
    if (*backward && is_hidden) {
        mend_signs(&s, forward, backward);
    }
    if (!*backward && goes_back && (subtracts || is_hidden)) {
        SALTUS_TRY(divide_by_sign(&s, law, forward, backward, err));
        *is_net = *backward != NULL;
    }
    if (s.no_memory) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    if (!*backward && r->reversible && subtracts) {
        saltus_model_warn(f->model,
                          "%sreaction '%s' is reversible but its rate law is no difference of a "
                          "rate there and a rate back; it is simulated as written, one way",
                          saltus_place(f->model, r->line, place), r->id);
    }
done:
    return status;
}
