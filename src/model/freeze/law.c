/* Rate laws: which are products (mass action in any spelling), which stay expressions. */
#include "model/freeze/freeze.h"

#include "core/number.h"

#include <math.h>
#include <string.h>

/* It is no product at these values. */
static bool is_none(saltus_freezer *f, const saltus_expr *e)
{
    f->is_rigid |= saltus_reads_set(f, e);
    return false;
}

bool saltus_find_product(saltus_freezer *f, const saltus_expr *e, saltus_product *p)
{
    saltus_product right;
    p->n = 0;
    if (saltus_is_constant(f, e)) {
        p->rate = saltus_constant_value(f, e);
        return true;
    }
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        if (e->variable >= (int)f->model->n_variables ||
            f->net->bindings[e->variable].role != SALTUS_ROLE_COUNT) {
            return false;
        }
        p->rate = 1.0;
        p->species[p->n] = f->net->bindings[e->variable].row;
        p->offset[p->n++] = 0.0;
        return true;
    case SALTUS_OP_MUL:
    case SALTUS_OP_DIV:
        if (!saltus_find_product(f, e->args[0], p) || !saltus_find_product(f, e->args[1], &right) ||
            p->n + right.n > SALTUS_MAX_FACTORS || (e->op == SALTUS_OP_DIV && right.n > 0)) {
            return false;
        }
        p->rate = e->op == SALTUS_OP_MUL ? p->rate * right.rate : p->rate / right.rate;
        memcpy(p->species + p->n, right.species, (size_t)right.n * sizeof *p->species);
        memcpy(p->offset + p->n, right.offset, (size_t)right.n * sizeof *p->offset);
        p->n += right.n;
        return true;
    case SALTUS_OP_SUB:
    case SALTUS_OP_ADD: /* c x - d = c (x - d / c) */
        if (!saltus_is_constant(f, e->args[1]) || !saltus_find_product(f, e->args[0], p) ||
            p->n != 1) {
            return false;
        }
        right.rate = saltus_constant_value(f, e->args[1]) / p->rate;
        p->offset[0] += e->op == SALTUS_OP_SUB ? right.rate : -right.rate;
        return (p->offset[0] >= 0.0 && p->offset[0] < 64.0 &&
                p->offset[0] == nearbyint(p->offset[0])) ||
               is_none(f, e);
    case SALTUS_OP_POW: {
        if (!saltus_is_constant(f, e->args[1])) {
            return false;
        }
        const double power = saltus_constant_value(f, e->args[1]);
        if (!(power >= 1.0 && power <= 8.0 && power == nearbyint(power))) {
            return is_none(f, e->args[1]);
        }
        if (!saltus_find_product(f, e->args[0], &right)) {
            return false;
        }
        if (right.n * (int)power > SALTUS_MAX_FACTORS) {
            return is_none(f, e->args[1]);
        }
        p->rate = 1.0;
        for (int i = 0; i < (int)power; ++i) {
            p->rate *= right.rate;
            memcpy(p->species + p->n, right.species, (size_t)right.n * sizeof *p->species);
            memcpy(p->offset + p->n, right.offset, (size_t)right.n * sizeof *p->offset);
            p->n += right.n;
        }
        return true;
    }
    default:
        return false;
    }
}

/* A factor x - 2 may be negative; with x and x - 1 beside it the product is 0 then. */
static bool never_negative(const saltus_product *p)
{
    for (int i = 0; i < p->n; ++i) {
        for (double o = 0.0; o < p->offset[i]; ++o) {
            bool found = false;
            for (int j = 0; j < p->n; ++j) {
                found |= p->species[j] == p->species[i] && p->offset[j] == o;
            }
            if (!found) {
                return false;
            }
        }
    }
    return true;
}

static bool is_propensity(saltus_freezer *f, const saltus_expr *law, saltus_product *p)
{
    return saltus_find_product(f, law, p) && (never_negative(p) || is_none(f, law));
}

/* How many of a species the step consumes, by its reaction's equation: backward, the products. */
static int64_t n_consumed(const saltus_freezer *f, const saltus_step *s, int row)
{
    const saltus_reaction *r = s->reaction;
    const saltus_participant *side = s->backward ? r->products : r->reactants;
    const int n_side = s->backward ? r->n_products : r->n_reactants;
    int64_t n = 0;
    for (int i = 0; i < n_side; ++i) {
        if (f->net->bindings[side[i].variable].row == row) {
            n += saltus_whole_molecules(&side[i]);
        }
    }
    return n;
}

/* k*A^2 where two A are consumed: warn, or take it as k*A*(A-1) if asked to. */
static void look_at_powers(saltus_freezer *f, const saltus_step *s, saltus_product *p)
{
    char place[160];
    for (int i = 0; i < p->n; ++i) {
        int same = 0, plain = 0, first = i;
        for (int j = 0; j < p->n; ++j) {
            if (p->species[j] == p->species[i]) {
                first = j < first ? j : first;
                ++same;
                plain += p->offset[j] == 0.0;
            }
        }
        const int64_t n = n_consumed(f, s, p->species[i]);
        if (first < i || n < 2 || plain < n) {
            continue;
        }
        const char *at = saltus_place(f->model, s->reaction->line, place);
        const char *species = f->net->species_names[p->species[i]];
        if (same != n) {
            saltus_model_warn(f->model,
                              "%sreaction '%s' consumes %lld '%s' but its rate law has another "
                              "power; it is simulated as written",
                              at, s->id, (long long)n, species);
        } else if (!(f->law_mode & SALTUS_LAW_COMBINATORIAL)) {
            saltus_model_warn(f->model,
                              "%sreaction '%s' consumes %lld '%s' but its rate law has the plain "
                              "power; it is simulated as written (`law combinatorial` counts "
                              "the ways to choose them, as in k*A*(A-1))",
                              at, s->id, (long long)n, species);
        } else {
            int offset = 0;
            for (int j = 0; j < p->n; ++j) {
                if (p->species[j] == p->species[i]) {
                    p->offset[j] = offset++;
                }
            }
        }
    }
}

/* The law of mass action as an expression tree, factors in the order of the reactants: the same
 * rounding as the product that it usually becomes. */
static const saltus_expr *mass_action(saltus_freezer *f, const saltus_reaction *r,
                                      const saltus_expr *constant)
{
    saltus_arena *arena = f->arena;
    const saltus_expr *e = constant;
    double ways = 1.0;
    for (int i = 0; i < r->n_reactants; ++i) {
        int64_t n = 0;
        bool seen = false;
        for (int j = 0; j < r->n_reactants; ++j) {
            const bool same = r->reactants[j].variable == r->reactants[i].variable;
            seen |= same && j < i;
            n += same ? saltus_whole_molecules(&r->reactants[j]) : 0;
        }
        for (int64_t k = 2; !seen && k <= n; ++k) {
            ways *= (double)k;
        }
    }
    if (ways > 1.0) {
        e = saltus_expr_2(arena, SALTUS_OP_DIV, e, saltus_expr_const(arena, ways));
    }
    for (int i = 0; i < r->n_reactants; ++i) {
        int64_t before = 0;
        for (int j = 0; j < i; ++j) {
            before += r->reactants[j].variable == r->reactants[i].variable
                          ? saltus_whole_molecules(&r->reactants[j])
                          : 0;
        }
        for (int64_t k = before; k < before + saltus_whole_molecules(&r->reactants[i]); ++k) {
            const saltus_expr *x = saltus_expr_variable(arena, r->reactants[i].variable);
            if (k > 0) {
                x = saltus_expr_2(arena, SALTUS_OP_SUB, x, saltus_expr_const(arena, (double)k));
            }
            e = saltus_expr_2(arena, SALTUS_OP_MUL, e, x);
        }
    }
    return e;
}

/* The factors of a product behind those so far. */
static saltus_status push_factors(saltus_freezer *f, const saltus_product *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < p->n; ++i) {
        int32_t *species = saltus_grow(f->factor_species, f->n_factors, &f->factor_species_capacity,
                                       sizeof *species);
        SALTUS_NEED(species);
        f->factor_species = species;
        double *offset =
            saltus_grow(f->factor_offset, f->n_factors, &f->factor_offset_capacity, sizeof *offset);
        SALTUS_NEED(offset);
        f->factor_offset = offset;
        if (f->n_factors >= INT32_MAX) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the network is too large for 2^31 factors");
        }
        f->factor_species[f->n_factors] = p->species[i];
        f->factor_offset[f->n_factors++] = p->offset[i];
    }
done:
    return status;
}

static saltus_status add_step(saltus_freezer *f, const saltus_reaction *r, const char *suffix,
                              int number, const saltus_way *way, const saltus_expr *law,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    saltus_product product = {0};
    saltus_step s = {.id = r->id, .reaction = r, .way = way, .law = law};
    if (suffix[0] || number > 0) {
        const size_t size = strlen(r->id) + strlen(suffix) + 16;
        char *id = saltus_arena_alloc(f->arena, size);
        SALTUS_NEED(id);
        (void)snprintf(id, size, number > 0 ? "%s%s.%d" : "%s%s", r->id, suffix, number);
        s.id = id;
        s.backward = strcmp(suffix, ".backward") == 0;
    }
    s.is_product = is_propensity(f, law, &product);
    if (s.is_product && !r->mass_action) {
        look_at_powers(f, &s, &product);
    }
    if (s.is_product && !(product.rate >= 0.0 && isfinite(product.rate))) {
        SALTUS_FAIL(SALTUS_E_MODEL, "%sreaction '%s': its rate constant is %g",
                    saltus_place(f->model, r->line, place), s.id,
                    saltus_without_nan_sign(product.rate));
    }
    if (s.is_product) {
        s.rate = product.rate;
        s.n_factors = product.n;
        SALTUS_TRY(push_factors(f, &product, err));
    }
    const bool has_time = saltus_reads_time(f, law),
               is_stepped = f->model->space && saltus_moves(f, law);
    s.drifts = has_time && !f->is_continuous && !is_stepped; /* else they are integrated */
    s.form = is_stepped         ? SALTUS_LAW_FORM_STEPPED
             : s.drifts         ? SALTUS_LAW_FORM_THINNED
             : !s.is_product    ? SALTUS_LAW_FORM_EXPRESSION
             : s.n_factors == 0 ? SALTUS_LAW_FORM_CONSTANT
                                : SALTUS_LAW_FORM_MASS_ACTION;
    saltus_step *grown = saltus_grow(f->steps, f->n_steps, &f->steps_capacity, sizeof *f->steps);
    SALTUS_NEED(grown);
    f->steps = grown;
    f->steps[f->n_steps++] = s;
done:
    return status;
}

/* A step for each way in which the reaction fires. */
static saltus_status add_steps(saltus_freezer *f, const saltus_reaction *r, const char *suffix,
                               const saltus_expr *law, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_way *ways = NULL;
    int n = 0;
    SALTUS_TRY(saltus_find_ways(f, r, strcmp(suffix, ".backward") == 0, &ways, &n, err));
    for (int i = 0; i < n; ++i) {
        const saltus_expr *share = law;
        if (ways[i].share != 1.0) {
            share = saltus_expr_2(f->arena, SALTUS_OP_MUL, law,
                                  saltus_expr_const(f->arena, ways[i].share));
            SALTUS_NEED(share);
        }
        SALTUS_TRY(add_step(f, r, suffix, n > 1 ? i + 1 : 0, &ways[i], share, err));
    }
done:
    return status;
}

/* A propensity of very many factors is a slip, and its number of ways soon leaves the range of a
 * double. */
static saltus_status check_order(const saltus_freezer *f, const saltus_reaction *r,
                                 saltus_error *err)
{
    enum { MOST = 100 };
    char place[160];
    int64_t order = 0;
    for (int i = 0; i < r->n_reactants && order <= MOST; ++i) {
        order += saltus_whole_molecules(&r->reactants[i]) < MOST
                     ? saltus_whole_molecules(&r->reactants[i])
                     : MOST + 1;
    }
    if (order > MOST) {
        saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                         "%sreaction '%s': mass action with more than %d reactant molecules",
                         saltus_place(f->model, r->line, place), r->id, (int)MOST);
        saltus_error_hint(err, "give the propensity as a law");
        return SALTUS_E_UNSUPPORTED;
    }
    return SALTUS_OK;
}

static saltus_status make_step(saltus_freezer *f, const saltus_reaction *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char what[300], place[160];
    const saltus_expr *law = NULL, *forward = NULL, *backward = NULL;
    saltus_product product;
    bool is_net = false;
    (void)snprintf(what, sizeof what, "%sreaction '%.100s': its rate law",
                   saltus_place(f->model, r->line, place), r->id);
    SALTUS_TRY(saltus_free_of_time(f, r->law, false, what, NULL, &law, err));
    const saltus_arena_mark before = saltus_arena_here(f->arena);
    const size_t n_before = f->n_steps;
    if (r->mass_action) {
        SALTUS_TRY(check_order(f, r, err));
        law = mass_action(f, r, law);
        SALTUS_NEED(law);
    }
    const bool goes_back = f->model->goes_back && !f->model->space;
    const bool is_product = is_propensity(f, law, &product);
    if (!is_product && (r->reversible || goes_back)) {
        SALTUS_TRY(saltus_split_law(f, r, law, &forward, &backward, &is_net, err));
    }
    if (is_product && product.rate < 0.0 && goes_back) { /* always */
        f->is_rigid |= saltus_reads_set(f, law);
        saltus_model_warn(f->model,
                          "%sreaction '%.100s' has a rate constant below 0, %.6g: it goes backward",
                          saltus_place(f->model, r->line, place), r->id, product.rate);
        backward = saltus_expr_2(f->arena, SALTUS_OP_MUL, saltus_expr_const(f->arena, -1.0), law);
        SALTUS_NEED(backward);
        SALTUS_TRY(add_steps(f, r, ".backward", backward, err));
    } else if (backward) {
        const size_t first = f->n_steps;
        SALTUS_TRY(add_steps(f, r, ".forward", forward, err));
        SALTUS_TRY(add_steps(f, r, ".backward", backward, err));
        for (size_t i = first; i < f->n_steps && is_net; ++i) {
            f->steps[i].is_net = true;
            f->steps[i].form =
                f->steps[i].drifts ? SALTUS_LAW_FORM_NET_THINNED : SALTUS_LAW_FORM_NET;
        }
    } else {
        SALTUS_TRY(add_steps(f, r, "", law, err));
        /* large networks are all of this kind, and their laws would be most of their memory; what
         * has parts of molecules has its ways in the arena, too, and a law that is divided */
        saltus_step *s = &f->steps[n_before];
        if (r->mass_action && f->n_steps == n_before + 1 && s->is_product && s->law == law &&
            s->id == r->id && !saltus_reads_set(f, law) && !saltus_reads_time(f, law)) {
            s->law = NULL;
            saltus_arena_rewind(f->arena, before);
        }
    }
done:
    return status;
}

saltus_status saltus_make_steps(saltus_freezer *f, saltus_error *err)
{
    for (size_t i = 0; i < f->model->n_reactions; ++i) {
        const saltus_status status = make_step(f, &f->model->reactions[i], err);
        if (status != SALTUS_OK) {
            return status;
        }
    }
    return SALTUS_OK;
}
