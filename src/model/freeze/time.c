/* Time in expressions. Between two reactions only the clock moves, so a law may depend on time only
 * in steps: through comparisons such as `time >= 25`, each of which becomes a flag that changes at
 * a known time. */
#include "model/freeze/freeze.h"

static bool reads_time(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_TIME ||
           (node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables &&
            f->has_time[node->variable]);
}

bool saltus_reads_time(const saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_any(e, reads_time, (void *)(uintptr_t)f);
}

static bool moves(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_TIME ||
           (node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables &&
            f->moves[node->variable]);
}

bool saltus_moves(const saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_any(e, moves, (void *)(uintptr_t)f);
}

static saltus_op mirrored(saltus_op op)
{
    switch (op) {
    case SALTUS_OP_LT:
        return SALTUS_OP_GT;
    case SALTUS_OP_LE:
        return SALTUS_OP_GE;
    case SALTUS_OP_GT:
        return SALTUS_OP_LT;
    default:
        return SALTUS_OP_LE;
    }
}

/* Solve `left op right` for the time, where left alone reads it: undo left's operations on right
 * until left is the time itself. Returns false when that cannot be done; *right is NULL when memory
 * ran out. */
static bool isolate_time(saltus_freezer *f, const saltus_expr *left, saltus_op *op,
                         const saltus_expr **right)
{
    saltus_arena *arena = f->arena;
    while (left->op != SALTUS_OP_TIME) {
        if (left->op == SALTUS_OP_VARIABLE) {
            left = f->rules[left->variable];
            continue;
        }
        if (left->op == SALTUS_OP_NEG) {
            *right = saltus_expr_1(arena, SALTUS_OP_NEG, *right);
            *op = mirrored(*op);
            left = left->args[0];
            continue;
        }
        if (left->n_args != 2 || left->op > SALTUS_OP_DIV) {
            return false;
        }
        const bool first = saltus_reads_time(f, left->args[0]);
        const saltus_expr *inner = left->args[!first], *other = left->args[first];
        if (saltus_reads_time(f, other)) {
            return false;
        }
        if (left->op == SALTUS_OP_ADD) {
            *right = saltus_expr_2(arena, SALTUS_OP_SUB, *right, other);
        } else if (left->op == SALTUS_OP_SUB && first) {
            *right = saltus_expr_2(arena, SALTUS_OP_ADD, *right, other);
        } else if (left->op == SALTUS_OP_SUB) {
            *right = saltus_expr_2(arena, SALTUS_OP_SUB, other, *right);
            *op = mirrored(*op);
        } else { /* a factor must be a known number, because its sign matters */
            if (!saltus_is_constant(f, other) || (left->op == SALTUS_OP_DIV && !first)) {
                return false;
            }
            const double factor = saltus_deciding_value(f, other, true);
            if (!(factor < 0.0 || factor > 0.0)) {
                return false;
            }
            *right = saltus_expr_2(arena, left->op == SALTUS_OP_MUL ? SALTUS_OP_DIV : SALTUS_OP_MUL,
                                   *right, other);
            *op = factor < 0.0 ? mirrored(*op) : *op;
        }
        left = inner;
    }
    return true;
}

/* One more flag, whose clock compares with `right` in its way. */
static saltus_status push_clock(saltus_freezer *f, saltus_clock clock, const saltus_expr *right,
                                const saltus_expr **flag, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_clock *clocks =
        saltus_grow(f->clocks, f->n_clocks, &f->clocks_capacity, sizeof *f->clocks);
    SALTUS_NEED(clocks);
    f->clocks = clocks;
    const saltus_expr **when =
        saltus_grow(f->clock_when, f->n_clocks, &f->clock_when_capacity, sizeof *f->clock_when);
    SALTUS_NEED(when);
    f->clock_when = when;
    f->clock_when[f->n_clocks] = right;
    f->clocks[f->n_clocks] = clock;
    *flag = saltus_expr_variable(f->arena, SALTUS_FLAG_VARIABLE(f, (int)f->n_clocks++));
    SALTUS_NEED(*flag);
done:
    return status;
}

typedef struct moving_search {
    const saltus_freezer *f;
    bool any;
} moving_search;

static void note_moving(void *user, int species)
{
    moving_search *s = user;
    for (size_t i = 0; i < s->f->model->n_variables; ++i) {
        s->any |= s->f->net->bindings[i].row == species && s->f->reacts[i];
    }
}

/* Whether e reads counts that reactions change, and not events alone. */
static bool reads_moving_counts(const saltus_freezer *f, const saltus_expr *e)
{
    moving_search s = {.f = f};
    saltus_visit_counts(f, e, note_moving, &s);
    return s.any;
}

/* A comparison as a flag; *out is NULL when it cannot be one. */
static saltus_status make_flag(saltus_freezer *f, const saltus_expr *e, const saltus_expr **out,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool first = saltus_reads_time(f, e->args[0]);
    saltus_op op = first ? e->op : mirrored(e->op);
    const saltus_expr *right = e->args[first];
    *out = NULL;
    if (saltus_reads_time(f, right) || !isolate_time(f, e->args[!first], &op, &right)) {
        return SALTUS_OK;
    }
    SALTUS_NEED(right);
    if (saltus_moves(f, right) || /* the time of a switch must be known beforehand */
        ((f->law_mode & SALTUS_AMOUNTS_REAL) && reads_moving_counts(f, right))) {
        return SALTUS_OK;
    }
    SALTUS_TRY(push_clock(f,
                          (saltus_clock){.after = op == SALTUS_OP_GE || op == SALTUS_OP_GT,
                                         .strict = op == SALTUS_OP_GT || op == SALTUS_OP_LE},
                          right, out, err));
done:
    return status;
}

/* e with the rules that read the time put in; NULL when memory ran out, or it would be longer than
 * `left` operations. */
static const saltus_expr *put_in_rules(saltus_freezer *f, const saltus_expr *e, int *left)
{
    const saltus_expr *args[2], **more = NULL, *made = NULL;
    if (--*left < 0) {
        return NULL;
    }
    if (!saltus_reads_time(f, e) || e->op == SALTUS_OP_TIME) {
        return e;
    }
    if (e->op == SALTUS_OP_VARIABLE) {
        return put_in_rules(f, f->rules[e->variable], left);
    }
    if (e->n_args > 2) {
        more = saltus_calloc((size_t)e->n_args, sizeof *more);
        if (!more) {
            return NULL;
        }
    }
    const saltus_expr **in = more ? more : args;
    bool is_whole = true;
    for (int i = 0; i < e->n_args && is_whole; ++i) {
        in[i] = put_in_rules(f, e->args[i], left);
        is_whole = in[i] != NULL;
    }
    if (is_whole) {
        made = saltus_expr_n(f->arena, e->op, e->n_args, in);
    }
    saltus_free(more);
    return made;
}

/* A comparison that drifts with time as a flag that turns, with one behind it for the time of its
 * next change; *out is NULL when it cannot be one. */
static saltus_status make_turning(saltus_freezer *f, const saltus_expr *e, const saltus_expr **out,
                                  saltus_error *err)
{
    enum { MOST_OPERATIONS = 10000 };
    saltus_status status = SALTUS_OK;
    const saltus_expr *next = NULL;
    int left = MOST_OPERATIONS;
    bool flows = false;
    *out = NULL;
    SALTUS_TRY(saltus_flows(f, e, &flows, err));
    if (flows || saltus_reads_counts(f, e)) {
        return SALTUS_OK;
    }
    const saltus_expr *whole = put_in_rules(f, e, &left);
    if (!whole && left < 0) {
        return SALTUS_OK;
    }
    SALTUS_NEED(whole);
    SALTUS_TRY(push_clock(f, (saltus_clock){.kind = SALTUS_CLOCK_TURNS}, whole, out, err));
    SALTUS_TRY(push_clock(f, (saltus_clock){.kind = SALTUS_CLOCK_NEXT}, NULL, &next, err));
done:
    return status;
}

saltus_status saltus_compile_clocks(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    for (size_t i = 0; i < f->n_clocks; ++i) {
        const saltus_expr *e = f->clock_when[i];
        saltus_clock *c = &f->clocks[i];
        c->row = t->row_flags + (int)i;
        if (saltus_clock_is_searched(c)) {
            c->when.result = c->row + 1;
            SALTUS_TRY(saltus_compile(f, e, &c->holds, err));
            SALTUS_TRY(saltus_compile_interval(f, e, &c->interval, err));
            ++t->n_turning;
        } else if (c->kind == SALTUS_CLOCK_STEPS) {
            SALTUS_TRY(saltus_compile(f, e, &c->when, err));
            t->watched_clocks += saltus_reads_counts(f, e);
            t->watches_state |= saltus_reads_counts(f, e);
            f->net->has_moving_clocks |= reads_moving_counts(f, e);
        }
    }
done:
    return status;
}

saltus_status saltus_free_of_time(saltus_freezer *f, const saltus_expr *e, bool must,
                                  const char *what, const char *hint, const saltus_expr **out,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr **args = NULL;
    /* on a lattice a law of time is evaluated at the middle of each step, whatever it is */
    if (!saltus_reads_time(f, e) || (f->model->space && !must)) {
        *out = e;
        return SALTUS_OK;
    }
    if (saltus_op_is_order(e->op)) {
        SALTUS_TRY(make_flag(f, e, out, err));
        if (!*out && f->may_turn) {
            SALTUS_TRY(make_turning(f, e, out, err));
        }
        if (*out) {
            return SALTUS_OK;
        }
    }
    if (must && (e->n_args == 0 || saltus_op_is_order(e->op))) {
        saltus_error_set(
            err, SALTUS_E_UNSUPPORTED,
            "%s depends on time other than through comparisons with the time such as 'time >= "
            "25' or 'sin(time) > 0.5', of what reactions do not change",
            what);
        saltus_error_hint(err, "%s", hint);
        status = SALTUS_E_UNSUPPORTED;
        goto done;
    }
    if (e->n_args == 0) {
        *out = e;
        return SALTUS_OK;
    }
    args = saltus_calloc((size_t)e->n_args, sizeof *args);
    SALTUS_NEED(args);
    for (int i = 0; i < e->n_args; ++i) {
        SALTUS_TRY(saltus_free_of_time(f, e->args[i], must, what, hint, &args[i], err));
    }
    *out = saltus_expr_n(f->arena, e->op, e->n_args, args);
    SALTUS_NEED(*out);
done:
    saltus_free(args);
    return status;
}

/* Whether a comparison is one of the time with a value that is known beforehand. */
static bool is_switch(saltus_freezer *f, const saltus_expr *e)
{
    const bool first = saltus_reads_time(f, e->args[0]);
    saltus_op op = SALTUS_OP_GE;
    const saltus_expr *right = e->args[first];
    return !saltus_reads_time(f, right) && isolate_time(f, e->args[!first], &op, &right) && right &&
           !saltus_moves(f, right);
}

static bool is_zero(const saltus_expr *e)
{
    return e->op == SALTUS_OP_CONST && e->value == 0.0;
}

static bool is_rounded(const saltus_expr *e)
{
    return e->op == SALTUS_OP_FLOOR || e->op == SALTUS_OP_CEIL;
}

/* The x / c of c * floor(x / c), or of the same with ceil; NULL: e is no such. */
static const saltus_expr *quotient_of_multiple(const saltus_expr *e, const saltus_expr *x)
{
    for (int i = 0; i < 2 && e->op == SALTUS_OP_MUL; ++i) {
        const saltus_expr *c = e->args[i], *whole = e->args[!i];
        if (is_rounded(whole) && whole->args[0]->op == SALTUS_OP_DIV &&
            saltus_same_expr(whole->args[0]->args[0], x) &&
            saltus_same_expr(whole->args[0]->args[1], c)) {
            return whole->args[0];
        }
    }
    return NULL;
}

/* The remainder of x by c; no x: something else. */
typedef struct remainder {
    const saltus_expr *x, *c;
} remainder;

/* x - c * floor(x / c) is one too; programs write it as a piecewise of that and the same with ceil.
 */
static remainder remainder_of(const saltus_freezer *f, const saltus_expr *e)
{
    remainder r = {NULL, NULL};
    if (e->op == SALTUS_OP_VARIABLE && e->variable < (int)f->model->n_variables &&
        f->rules[e->variable]) {
        return remainder_of(f, f->rules[e->variable]);
    }
    if (e->op == SALTUS_OP_REM) {
        return (remainder){e->args[0], e->args[1]};
    }
    if (e->op == SALTUS_OP_SUB) {
        const saltus_expr *q = quotient_of_multiple(e->args[1], e->args[0]);
        return q ? (remainder){q->args[0], q->args[1]} : r;
    }
    for (int i = 0; i < e->n_args && e->op == SALTUS_OP_PIECEWISE && e->n_args % 2 == 1; i += 2) {
        const remainder of_piece = remainder_of(f, e->args[i]);
        if (!of_piece.x ||
            (r.x && (!saltus_same_expr(r.x, of_piece.x) || !saltus_same_expr(r.c, of_piece.c)))) {
            return (remainder){NULL, NULL};
        }
        r = of_piece;
    }
    return r;
}

/* What is a whole number where the remainder is d, from 0 to below c, and x is not negative. */
static const saltus_expr *whole_at_remainder(saltus_freezer *f, remainder r, const saltus_expr *d)
{
    saltus_arena *arena = f->arena;
    const saltus_expr *x = r.x;
    if (!is_zero(d)) {
        const saltus_expr *left = saltus_expr_2(arena, SALTUS_OP_SUB, r.c, d);
        if (!left || !saltus_is_constant(f, left) || !saltus_is_constant(f, d) ||
            !(saltus_deciding_value(f, left, true) > 0.0) ||
            !(saltus_deciding_value(f, d, true) >= 0.0)) {
            return NULL;
        }
        x = saltus_expr_2(arena, SALTUS_OP_SUB, x, d);
    }
    return saltus_expr_2(arena, SALTUS_OP_DIV, x, r.c);
}

/* What is a whole number where x is floor(x), or c * floor(x / c), which is there on one side of 0;
 * NULL: there is nothing such. */
static const saltus_expr *whole_of_itself(const saltus_expr *x, const saltus_expr *other)
{
    return is_rounded(other) && saltus_same_expr(other->args[0], x)
               ? x
               : quotient_of_multiple(other, x);
}

/* What is a whole number where a and b are equal, and only there, once *from is not negative; NULL:
 * nothing is known. */
static const saltus_expr *whole_where_equal(saltus_freezer *f, const saltus_expr *a,
                                            const saltus_expr *b, const saltus_expr **from)
{
    const remainder r = remainder_of(f, a);
    *from = NULL;
    if (r.x && !saltus_reads_time(f, b)) {
        *from = is_zero(b) ? NULL : r.x;
        return whole_at_remainder(f, r, b);
    }
    if (a->op == SALTUS_OP_SUB && is_zero(b)) {
        const saltus_expr *u = whole_of_itself(a->args[0], a->args[1]);
        return u ? u : whole_of_itself(a->args[1], a->args[0]);
    }
    return whole_of_itself(a, b);
}

/* Whether e is the time, times and plus constants: it is no whole number for longer than a moment.
 */
static bool goes_up(saltus_freezer *f, const saltus_expr *e)
{
    saltus_op op = SALTUS_OP_GE;
    const saltus_expr *right = saltus_expr_const(f->arena, 0.0);
    return right && saltus_reads_time(f, e) && isolate_time(f, e, &op, &right) && right &&
           saltus_is_constant(f, right);
}

/* a == b as a flag of moments; *out is NULL when it cannot be one. */
static saltus_status make_jumping(saltus_freezer *f, const saltus_expr *e, const saltus_expr **out,
                                  saltus_error *err)
{
    enum { MOST_OPERATIONS = 10000 };
    saltus_status status = SALTUS_OK;
    int left = MOST_OPERATIONS;
    const saltus_expr *from, *next = NULL;
    const saltus_expr *u = whole_where_equal(f, e->args[0], e->args[1], &from);
    u = u ? u : whole_where_equal(f, e->args[1], e->args[0], &from);
    *out = NULL;
    u = u ? put_in_rules(f, u, &left) : NULL;
    if (!u || f->model->space || !goes_up(f, u)) {
        return SALTUS_OK;
    }
    u = saltus_expr_1(f->arena, SALTUS_OP_FLOOR, u);
    SALTUS_NEED(u);
    SALTUS_TRY(push_clock(f, (saltus_clock){.kind = SALTUS_CLOCK_JUMPS}, u, out, err));
    SALTUS_TRY(push_clock(f, (saltus_clock){.kind = SALTUS_CLOCK_NEXT}, NULL, &next, err));
    if (from) {
        *out = saltus_expr_2(
            f->arena, SALTUS_OP_AND, *out,
            saltus_expr_2(f->arena, SALTUS_OP_GE, from, saltus_expr_const(f->arena, 0.0)));
        SALTUS_NEED(*out);
    }
done:
    return status;
}

saltus_status saltus_compare_moments(saltus_freezer *f, const saltus_expr *e,
                                     const saltus_expr **out, saltus_error *err)
{
    enum { SIDES = 2 };
    saltus_status status = SALTUS_OK;
    saltus_arena *arena = f->arena;
    *out = e;
    if (!saltus_reads_time(f, e) || e->n_args == 0) {
        goto done;
    }
    if (e->op == SALTUS_OP_EQ && is_switch(f, e)) {
        *out = saltus_expr_2(arena, SALTUS_OP_AND,
                             saltus_expr_2(arena, SALTUS_OP_GE, e->args[0], e->args[1]),
                             saltus_expr_2(arena, SALTUS_OP_LE, e->args[0], e->args[1]));
        SALTUS_NEED(*out);
        goto done;
    }
    if (e->op == SALTUS_OP_EQ) {
        SALTUS_TRY(make_jumping(f, e, out, err));
        if (*out) {
            goto done;
        }
        *out = e;
    }
    const saltus_expr *args[SIDES];
    if (e->n_args > SIDES || e->op == SALTUS_OP_PIECEWISE) {
        goto done;
    }
    for (int i = 0; i < e->n_args; ++i) {
        SALTUS_TRY(saltus_compare_moments(f, e->args[i], &args[i], err));
    }
    *out = saltus_expr_n(arena, e->op, e->n_args, args);
    SALTUS_NEED(*out);
done:
    return status;
}
