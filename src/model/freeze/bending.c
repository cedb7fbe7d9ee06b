/* Laws that may bend within a leap, and conditions of triggers that may waver: what tau-leaping and
 * hybrid look at beyond orders. An order bounds by how much a law changes while nothing cancels and
 * nothing jumps; of a difference of counts, a comparison, a rounding, or a function of which
 * nothing is known it tells nothing. */
#include "core/memory.h"
#include "model/freeze/freeze.h"

#include <string.h>

/* What has no value at time 0 among those of variables: flags of clocks, and what is drawn. */
static bool is_unknown(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op >= SALTUS_OP_FIRST_VARIATE ||
           (node->op == SALTUS_OP_VARIABLE && node->variable >= (int)f->model->n_variables);
}

/* Whether something that reads no counts is below 0 at time 0. */
static bool is_below_0(const saltus_freezer *f, const saltus_expr *e)
{
    return !saltus_reads_counts(f, e) && !saltus_expr_any(e, is_unknown, (void *)f) &&
           saltus_expr_value(e, f->values, 0.0) < 0.0;
}

/* Of an expression: whether it reads counts, and whether it may change by more than its order
 * tells. */
typedef struct nature {
    bool counts, bends;
} nature;

/* Of a variable; `bends` [variable]: its rule may. */
static nature of_variable(const saltus_freezer *f, const bool *bends, int variable)
{
    if (variable >= (int)f->model->n_variables) {
        return (nature){0};
    }
    const saltus_role role = f->net->bindings[variable].role;
    const bool is_rule = role == SALTUS_ROLE_RULE;
    return (nature){role == SALTUS_ROLE_COUNT || (is_rule && f->counts_of_rules[variable].n > 0),
                    is_rule && bends[variable]};
}

/* Each node once: sums of thousands of counts are chains. */
static nature nature_of(const saltus_freezer *f, const bool *bends, const saltus_expr *e)
{
    nature all = {0}, args[2] = {0};
    for (int i = 0; i < e->n_args; ++i) {
        const nature arg = nature_of(f, bends, e->args[i]);
        const bool is_condition = e->op == SALTUS_OP_PIECEWISE && i % 2 == 1;
        all.counts |= arg.counts;
        all.bends |= arg.bends || (is_condition && arg.counts);
        if (i < 2) {
            args[i] = arg;
        }
    }
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        return of_variable(f, bends, e->variable);
    case SALTUS_OP_CONST:
    case SALTUS_OP_TIME:
    case SALTUS_OP_PIECEWISE:
    case SALTUS_OP_MIN:
    case SALTUS_OP_MAX:
    case SALTUS_OP_ABS:
    case SALTUS_OP_SQRT:
        break;
    case SALTUS_OP_ADD: /* of what is below 0, as a difference may be written */
    case SALTUS_OP_MUL:
    case SALTUS_OP_DIV:
        all.bends |= args[0].counts != args[1].counts && is_below_0(f, e->args[args[0].counts]);
        break;
    case SALTUS_OP_POW:
        all.bends |= args[1].counts;
        break;
    default:
        all.bends |= all.counts;
    }
    return all;
}

/* Directions of what one law reads, and rules that are still to be gone into: chains of them may be
 * long, so that all laws together go into so many. */
enum { MOST_VISITS = 10000000 };
typedef struct pointer {
    saltus_freezer *f;
    double *signs; /* [variable] of a count or a rule that was met; else 0 */
    bool *differs; /* [variable] it was met with both signs */
    int *met;      /* these variables */
    double *own;   /* [species] the same, of one expression */
    size_t n, n_visits;
} pointer;

/* Whether an operation falls while its argument number i rises. */
static bool falls_with(const saltus_freezer *f, const saltus_expr *e, int i)
{
    switch (e->op) {
    case SALTUS_OP_NEG:
    case SALTUS_OP_NOT:
        return true;
    case SALTUS_OP_MUL:
        return is_below_0(f, e->args[1 - i]);
    case SALTUS_OP_DIV:
        return (i == 1) != is_below_0(f, e->args[1 - i]);
    case SALTUS_OP_LT:
    case SALTUS_OP_LE:
        return i == 0;
    case SALTUS_OP_SUB:
    case SALTUS_OP_GT:
    case SALTUS_OP_GE:
        return i == 1;
    default:
        return false;
    }
}

/* Give variables that e reads, not through rules, the direction in which they raise `sign` times e;
 * the first that is found stays. */
static void point(pointer *p, const saltus_expr *e, double sign)
{
    ++p->n_visits;
    if (e->op == SALTUS_OP_VARIABLE && e->variable < (int)p->f->model->n_variables) {
        const saltus_role role = p->f->net->bindings[e->variable].role;
        if ((role == SALTUS_ROLE_COUNT || role == SALTUS_ROLE_RULE) &&
            p->signs[e->variable] == 0.0) {
            p->signs[e->variable] = sign;
            p->differs[e->variable] = false;
            p->met[p->n++] = e->variable;
        }
        p->differs[e->variable] |= p->signs[e->variable] == -sign;
    }
    for (int i = 0; i < e->n_args; ++i) {
        point(p, e->args[i], falls_with(p->f, e, i) ? -sign : sign);
    }
}

/* In which direction a count raises a comparison, at time 0 and not through rules; 0: in none. */
static double rises_with(const saltus_freezer *f, const saltus_expr *e, int variable)
{
    const double kept = f->values[variable];
    double rise = 0.0;
    if (e->n_args != 2 || saltus_expr_any(e, is_unknown, (void *)f)) {
        return 0.0;
    }
    for (int way = -1; way <= 1; way += 2) {
        f->values[variable] = kept + way;
        rise += way * (saltus_expr_value(e->args[0], f->values, 0.0) -
                       saltus_expr_value(e->args[1], f->values, 0.0));
    }
    f->values[variable] = kept;
    const double sign = rise > 0.0 ? 1.0 : rise < 0.0 ? -1.0 : 0.0;
    return falls_with(f, e, 0) ? -sign : sign;
}

/* A count on both sides of a comparison, as X in 0.5 (X + Y) < X, has the direction in which it
 * raises that at time 0. */
static void settle_signs(pointer *p, const saltus_expr *e)
{
    const saltus_op op = e->op;
    const bool compares =
        op == SALTUS_OP_LT || op == SALTUS_OP_LE || op == SALTUS_OP_GT || op == SALTUS_OP_GE;
    for (size_t k = 0; k < p->n && compares; ++k) {
        const int v = p->met[k];
        if (p->differs[v] && p->f->net->bindings[v].role == SALTUS_ROLE_COUNT) {
            const double sign = rises_with(p->f, e, v);
            p->signs[v] = sign != 0.0 ? sign : p->signs[v];
        }
    }
}

/* Put the directions of what was met into `bend`; only if none of them is another there, if asked
 * for. Returns false if one is. */
static bool put_in(const pointer *p, double *bend, bool must_agree)
{
    for (int pass = must_agree ? 0 : 1; pass < 2; ++pass) {
        for (size_t k = 0; k < p->n; ++k) {
            const saltus_binding *b = &p->f->net->bindings[p->met[k]];
            double *at = b->role == SALTUS_ROLE_COUNT ? &bend[b->row] : NULL;
            if (at && pass == 0 && *at != 0.0 && *at != p->signs[p->met[k]]) {
                return false;
            }
            if (at && pass == 1 && *at == 0.0) {
                *at = p->signs[p->met[k]];
            }
        }
    }
    return true;
}

/* Whether a reaction would move nothing in a row of both directions, but moves what one of them
 * raises: it would be hidden there, as A -> B where both are raised. */
static bool hides(pointer *p, const double *own, const double *bend)
{
    const saltus_tables *t = &p->f->net->tables;
    for (int c = 0, r = 0; r < t->n_reactions && p->n_visits < MOST_VISITS; ++r) {
        double moves[3] = {0.0};
        for (; c < t->change_row[r + 1]; ++c, ++p->n_visits) {
            const int s = t->change_species[c];
            const double amount = (double)t->change_amount[c];
            moves[0] += own[s] * amount;
            moves[1] += bend[s] * amount;
            moves[2] += (own[s] != 0.0 ? own[s] : bend[s]) * amount;
        }
        if (moves[2] == 0.0 && (moves[0] != 0.0 || moves[1] != 0.0)) {
            return true;
        }
    }
    return false;
}

/* The directions of what one expression reads, into a row that is theirs, or has none that is
 * another's. Returns the row. */
static int place(pointer *p, const saltus_expr *e, double *bend)
{
    saltus_tables *t = &p->f->net->tables;
    const bool is_cheap = p->n_visits < MOST_VISITS;
    const size_t n_species = (size_t)t->n_species;
    for (size_t k = 0; k < p->n && is_cheap; ++k) {
        p->signs[p->met[k]] = 0.0;
    }
    p->n = is_cheap ? 0 : p->n;
    const size_t first = p->n;
    point(p, e, 1.0);
    for (size_t k = first; k < p->n; ++k) {
        const int v = p->met[k];
        if (p->f->net->bindings[v].role == SALTUS_ROLE_RULE) {
            point(p, p->f->rules[v], p->signs[v]);
        }
    }
    settle_signs(p, e);
    int row = 0;
    memset(p->own, 0, n_species * sizeof *p->own);
    (void)put_in(p, p->own, false);
    while (row < t->n_bends && (hides(p, p->own, bend + (size_t)row * n_species) ||
                                !put_in(p, bend + (size_t)row * n_species, true))) {
        ++row;
    }
    if (row == SALTUS_MOST_BENDS) {
        row = 0;
    } else if (row == t->n_bends) {
        ++t->n_bends;
    }
    (void)put_in(p, bend + (size_t)row * n_species, false);
    return row;
}

/* The directions of each law and each condition, into as few rows as go. */
static saltus_status point_all(saltus_freezer *f, double *bend, int32_t *bend_of, int32_t *waver_of,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    const size_t n_variables = f->model->n_variables + 1;
    pointer p = {.f = f};
    p.signs = saltus_calloc(n_variables, sizeof *p.signs);
    p.differs = saltus_calloc(n_variables, sizeof *p.differs);
    p.met = saltus_calloc(n_variables, sizeof *p.met);
    p.own = saltus_calloc((size_t)t->n_species + 1, sizeof *p.own);
    SALTUS_NEED(p.signs && p.differs && p.met && p.own);
    for (int i = 0; i < t->n_bending; ++i) {
        bend_of[i] = place(&p, f->steps[t->bending[i]].law, bend);
    }
    for (int i = 0; i < t->n_wavering; ++i) {
        waver_of[i] = place(&p, f->conditions[i], bend);
    }
done:
    saltus_free(p.signs);
    saltus_free(p.differs);
    saltus_free(p.met);
    saltus_free(p.own);
    return status;
}

/* The way in which reaction r is taken more often when laws of a row are to rise; where that is
 * none, one that it has in common with its reverse. */
static int8_t way_of(const saltus_tables *t, const double *bend, int r)
{
    double rise = 0.0, first = 0.0;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        const double moves = bend[t->change_species[c]] * (double)t->change_amount[c];
        rise += moves;
        first = first == 0.0 ? moves : first;
    }
    const double way = rise != 0.0 ? rise : first;
    return way > 0.0 ? 1 : way < 0.0 ? -1 : 0;
}

static saltus_status find_ways(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n = (size_t)t->n_bends * (size_t)t->n_reactions;
    int8_t *ways = saltus_arena_alloc(f->arena, n + 1);
    SALTUS_NEED(ways);
    for (int row = 0; row < t->n_bends; ++row) {
        for (int r = 0; r < t->n_reactions; ++r) {
            ways[(size_t)row * (size_t)t->n_reactions + (size_t)r] =
                way_of(t, t->bend + (size_t)row * (size_t)t->n_species, r);
        }
    }
    t->bend_way = ways;
done:
    return status;
}

/* List the reactions whose laws may bend. Rules are gone through in their order. */
static saltus_status list_all(saltus_freezer *f, int32_t *list, int32_t *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    bool *may = saltus_calloc(f->model->n_variables + 1, sizeof *may);
    SALTUS_NEED(may);
    for (int r = 0; r < t->n_rules; ++r) {
        const int i = f->net->rule_variables[r];
        may[i] = nature_of(f, may, f->rules[i]).bends;
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        if (t->law_program[r] >= 0 && nature_of(f, may, f->steps[r].law).bends) {
            list[(*n)++] = r;
        }
    }
done:
    saltus_free(may);
    return status;
}

/* Conditions of a trigger, at most so many as it has nodes. */
typedef struct condition_list {
    saltus_freezer *f;
    const saltus_expr **list;
    size_t n, capacity;
    bool failed;
} condition_list;

static void add_condition(condition_list *c, const saltus_expr *e)
{
    const saltus_expr **list =
        e ? saltus_grow((void *)c->list, c->n, &c->capacity, sizeof *list) : NULL;
    c->failed |= !list;
    if (list) {
        c->list = list;
        list[c->n++] = e;
    }
}

/* What is joined by and, or, xor and not is looked at one by one: a window, as A > 10 && A < 14, is
 * passed where one of its conditions turns. What equals a count lies where it is passed. */
static void list_conditions(condition_list *c, const saltus_expr *e)
{
    switch (e->op) {
    case SALTUS_OP_AND:
    case SALTUS_OP_OR:
    case SALTUS_OP_XOR:
    case SALTUS_OP_NOT:
        for (int i = 0; i < e->n_args; ++i) {
            list_conditions(c, e->args[i]);
        }
        return;
    case SALTUS_OP_EQ:
    case SALTUS_OP_NE:
        if (saltus_reads_counts(c->f, e)) {
            add_condition(c, saltus_expr_2(c->f->arena, SALTUS_OP_LT, e->args[0], e->args[1]));
        }
        break;
    default:
        break;
    }
    if (saltus_reads_counts(c->f, e)) {
        add_condition(c, e);
    }
}

saltus_status saltus_list_wavering(saltus_freezer *f, const saltus_expr *const *triggers,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    condition_list c = {.f = f};
    for (int i = 0; i < t->n_triggers; ++i) {
        list_conditions(&c, triggers[i]);
    }
    if (c.failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    f->wavering = saltus_arena_alloc(f->arena, (c.n + 1) * sizeof *f->wavering);
    f->conditions = saltus_arena_alloc(f->arena, (c.n + 1) * sizeof *f->conditions);
    SALTUS_NEED(f->wavering && f->conditions);
    for (size_t i = 0; i < c.n; ++i) {
        f->conditions[i] = c.list[i];
        SALTUS_TRY(saltus_compile(f, c.list[i], &f->wavering[i], err));
    }
    t->wavering = f->wavering;
    t->n_wavering = (int32_t)c.n;
done:
    saltus_free((void *)c.list);
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
    if (t->n_bending + t->n_wavering > 0) {
        const size_t n_bending = (size_t)t->n_bending, n_wavering = (size_t)t->n_wavering;
        int32_t *bending = saltus_arena_alloc(f->arena, (n_bending + 1) * sizeof *bending);
        int32_t *of = saltus_arena_alloc(f->arena, (n_reactions + 1) * sizeof *of);
        int32_t *bend_of = saltus_arena_alloc(f->arena, (n_bending + 1) * sizeof *bend_of);
        int32_t *waver_of = saltus_arena_alloc(f->arena, (n_wavering + 1) * sizeof *waver_of);
        const size_t n_signs = SALTUS_MOST_BENDS * (size_t)t->n_species;
        double *bend = saltus_arena_alloc(f->arena, (n_signs + 1) * sizeof *bend);
        SALTUS_NEED(bending && of && bend_of && waver_of && bend);
        memset(bend, 0, n_signs * sizeof *bend);
        for (int r = 0, i = 0; r < t->n_reactions; ++r) {
            of[r] = i < t->n_bending && list[i] == r ? i : -1;
            if (of[r] >= 0) {
                bending[i++] = r;
            }
        }
        t->bending = bending;
        t->bending_of = of;
        t->waver_of = waver_of;
        t->bend = bend;
        t->bend_of = bend_of;
        SALTUS_TRY(point_all(f, bend, bend_of, waver_of, err));
        SALTUS_TRY(find_ways(f, err));
    }
done:
    saltus_free(list);
    return status;
}
