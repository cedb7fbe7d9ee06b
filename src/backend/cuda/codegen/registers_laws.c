/* Flat kernels with general laws: those that do the same to other numbers, such as the Hill laws of
 * a switch, have one code, in which what they read is chosen by the reaction that has fired. So an
 * event computes as many of them as it may have changed, at most, whatever reactions the threads of
 * a warp have fired, and nothing branches. Their values are kept from event to event. Where
 * reactions may lack what they take, values are looked at when they are summed. */
#include "backend/cuda/codegen/registers_text.h"

#include "kernel/base/ops.h"
#include "model/freeze/point.h"
#include "model/network/network.h"

/* What an operation costs beside an addition, roughly: in instructions that the scheduler issues.
 */
static int cost_of(int op)
{
    switch (op) {
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
    case SALTUS_OP_MUL:
    case SALTUS_OP_NEG:
    case SALTUS_OP_ABS:
    case SALTUS_OP_SELECT:
        return 2;
    case SALTUS_OP_DIV:
    case SALTUS_OP_SQRT:
        return 24;
    case SALTUS_OP_POW:
        return 400;
    default:
        return op >= SALTUS_OP_EXP && op < SALTUS_N_OPS ? 100 : 4;
    }
}

static bool is_own(const saltus_tables *t, int row)
{
    return row >= t->row_temporaries && row < t->row_temporaries + t->n_temporaries;
}

static bool is_constant(const saltus_writer *w, int row, double *value)
{
    const saltus_tables *t = w->t;
    const int i = row - t->row_constants;
    if (i < 0 || i >= t->n_constants || saltus_varies(w, saltus_point_of(t).constants + i)) {
        return false;
    }
    *value = t->constants[i];
    return true;
}

/* The number of a row among those that a law reads; it is added if it is not there. -1: there are
 * too many, or it is a rule, which is no number that stands anywhere. */
static int leaf_of(const saltus_writer *w, int row, int *leaves, int *n)
{
    const saltus_tables *t = w->t;
    int i = 0;
    while (i < *n && leaves[i] != row) {
        ++i;
    }
    if (i == SALTUS_MAX_LEAVES || (row >= t->row_rules && row < t->row_rules + t->n_rules)) {
        return -1;
    }
    leaves[i] = row;
    *n += i == *n;
    return i;
}

/* Rows that a law reads, in order of appearance; false: it cannot be one of many. */
static bool find_leaves(const saltus_writer *w, int r, int *leaves, int *n, int *cost)
{
    const saltus_program p = w->t->laws[w->t->law_program[r]];
    *n = *cost = 0;
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &w->t->code[i];
        const int rows[3] = {q->a, q->b, q->c};
        if (q->op > SALTUS_OP_SELECT) { /* of a table */
            return false;
        }
        *cost += cost_of(q->op);
        for (int k = 0; k < saltus_program_arity(q->op); ++k) {
            if (!is_own(w->t, rows[k]) && leaf_of(w, rows[k], leaves, n) < 0) {
                return false;
            }
        }
    }
    return p.n > 0 && is_own(w->t, p.result);
}

/* Whether operands of two laws are the same temporary, or the same one of the rows that they read.
 * An exponent must be the same number, because what a power costs depends on it. */
static bool same_operand(const saltus_writer *w, const saltus_shape *s, const int *leaves, int a,
                         int b, bool is_exponent)
{
    const saltus_tables *t = w->t;
    double x = 0.0, y = 0.0;
    if (is_own(t, a) || is_own(t, b)) {
        return a == b;
    }
    for (int i = 0; i < s->n_leaves; ++i) {
        if ((s->leaves[0][i] == a) != (leaves[i] == b)) {
            return false;
        }
    }
    return !is_exponent || a == b || (is_constant(w, a, &x) && is_constant(w, b, &y) && x == y);
}

static void add(saltus_shape *s, int r, const int *leaves)
{
    for (int i = 0; i < s->n_leaves; ++i) {
        s->leaves[s->n_laws][i] = leaves[i];
    }
    s->laws[s->n_laws++] = r;
}

/* Add law r to a shape, if it has it. */
static bool join(const saltus_writer *w, saltus_shape *s, int r, const int *leaves, int n_leaves)
{
    const saltus_tables *t = w->t;
    const saltus_program p = t->laws[t->law_program[s->laws[0]]], q = t->laws[t->law_program[r]];
    if (p.n != q.n || p.result != q.result || s->n_leaves != n_leaves) {
        return false;
    }
    for (int i = 0; i < p.n; ++i) {
        const saltus_instruction *a = &t->code[p.first + i], *b = &t->code[q.first + i];
        const int n = saltus_program_arity(a->op);
        if (a->op != b->op || a->dst != b->dst ||
            (n > 0 && !same_operand(w, s, leaves, a->a, b->a, false)) ||
            (n > 1 && !same_operand(w, s, leaves, a->b, b->b, a->op == SALTUS_OP_POW)) ||
            (n > 2 && !same_operand(w, s, leaves, a->c, b->c, false))) {
            return false;
        }
    }
    add(s, r, leaves);
    return true;
}

/* Whether reaction r changes what a law of the shape reads. */
static bool touches(const saltus_writer *w, const saltus_shape *s, int r, int law)
{
    bool does = false;
    for (int i = 0; i < s->n_leaves; ++i) {
        does |= s->leaves[law][i] < w->t->n_species &&
                saltus_change_of(w->t, r, s->leaves[law][i]) != 0;
    }
    return does;
}

/* Whether a number that laws of the shape read is the same for all. */
static bool is_common(const saltus_writer *w, const saltus_shape *s, int leaf)
{
    bool is = true;
    for (int i = 1; i < s->n_laws; ++i) {
        const int a = s->leaves[0][leaf], b = s->leaves[i][leaf];
        double x = 0.0, y = 0.0;
        is &= a == b || (is_constant(w, a, &x) && is_constant(w, b, &y) && x == y);
    }
    return is;
}

/* How many laws an event changes, at most, and whether it pays to compute those alone: choosing
 * what they read takes two instructions for each number and law, and keeping a value three. */
static bool pays(const saltus_writer *w, saltus_shape *s)
{
    enum { CHOICE = 10 };
    int differ = 0;
    s->n_changed = 0;
    for (int r = 0; r < w->t->n_reactions; ++r) {
        int n = 0;
        for (int i = 0; i < s->n_laws; ++i) {
            n += touches(w, s, r, i);
        }
        s->n_changed = n > s->n_changed ? n : s->n_changed;
    }
    for (int i = 0; i < s->n_leaves; ++i) {
        differ += !is_common(w, s, i);
    }
    const int each = CHOICE + 2 * (s->n_laws - 1) * differ + 3 * s->n_laws;
    return (s->n_laws - s->n_changed) * s->cost > 2 * s->n_changed * each;
}

int saltus_find_shapes(const saltus_writer *w, saltus_shape shapes[SALTUS_MAX_SHAPES])
{
    const saltus_tables *t = w->t;
    int n = 0, n_paying = 0;
    for (int r = 0; r < t->n_reactions && t->n_thinned + t->n_rates == 0; ++r) {
        int leaves[SALTUS_MAX_LEAVES], n_leaves = 0, cost = 0, k = 0;
        if (t->law_program[r] < 0 || !find_leaves(w, r, leaves, &n_leaves, &cost)) {
            continue;
        }
        while (k < n && !join(w, &shapes[k], r, leaves, n_leaves)) {
            ++k;
        }
        if (k == n && n < SALTUS_MAX_SHAPES) {
            shapes[n] = (saltus_shape){.n_leaves = n_leaves, .cost = cost};
            add(&shapes[n++], r, leaves);
        }
    }
    for (int k = 0; k < n; ++k) {
        if (shapes[k].n_laws > 1 && pays(w, &shapes[k])) {
            shapes[n_paying++] = shapes[k];
        }
    }
    return n_paying;
}

bool saltus_is_kept(const saltus_writer *w, int r)
{
    saltus_shape shapes[SALTUS_MAX_SHAPES];
    const int n = saltus_find_shapes(w, shapes);
    bool is = false;
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < shapes[k].n_laws; ++i) {
            is |= shapes[k].laws[i] == r;
        }
    }
    return is;
}

void saltus_put_shape_state(const saltus_writer *w)
{
    saltus_shape shapes[SALTUS_MAX_SHAPES];
    const int n = saltus_find_shapes(w, shapes);
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < shapes[k].n_laws; ++i) {
            fprintf(w->out, "    double a%d;\n", shapes[k].laws[i]);
        }
    }
}

void saltus_put_shapes(const saltus_writer *w)
{
    saltus_shape shapes[SALTUS_MAX_SHAPES];
    const int n = saltus_find_shapes(w, shapes);
    for (int k = 0; k < n; ++k) {
        saltus_writer of = *w;
        of.leaves = shapes[k].leaves[0];
        of.n_leaves = shapes[k].n_leaves;
        saltus_put_program(&of, "saltus_shape", k,
                           w->t->laws[w->t->law_program[shapes[k].laws[0]]]);
    }
    fprintf(w->out, "SALTUS_FN void saltus_renew(saltus_worker_state *s, int *bad)\n{\n"
                    "    (void)s, (void)bad;\n");
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < shapes[k].n_laws; ++i) {
            const int r = shapes[k].laws[i];
            fprintf(w->out, "    s->a%d = saltus_law%d(s);\n", r, r);
            if (!w->t->idles) {
                fprintf(w->out, "    *bad |= !(s->a%d >= 0.0);\n", r);
            }
        }
    }
    fprintf(w->out, "}\n");
}

/* Write the number of the law that is computed for each reaction: the j-th that it changes, or any
 * if it changes fewer, since a law that is computed again has the same value. */
static void put_which(const saltus_writer *w, const saltus_shape *s, int j)
{
    const saltus_tables *t = w->t;
    int64_t which[2 * SALTUS_FANOUT] = {0};
    for (int r = 0; r < t->n_reactions; ++r) {
        int n = 0;
        which[r] = r > 0 ? which[r - 1] : 0;
        for (int i = 0; i < s->n_laws; ++i) {
            if (touches(w, s, r, i) && n++ == j) {
                which[r] = i;
            }
        }
    }
    fprintf(w->out, "        const int q = ");
    saltus_put_chosen(w, which, "");
    fprintf(w->out, ";\n");
}

/* Write a number that the law reads, chosen by q. */
static void put_leaf(const saltus_writer *w, const saltus_shape *s, int leaf)
{
    for (int i = 0; i + 1 < s->n_laws && !is_common(w, s, leaf); ++i) {
        fprintf(w->out, "q == %d ? ", i);
        saltus_put_row(w, s->leaves[i][leaf]);
        fprintf(w->out, " : ");
    }
    saltus_put_row(w, s->leaves[s->n_laws - 1][leaf]);
}

static void put_change(const saltus_writer *w, const saltus_shape *s, int number, int j)
{
    fprintf(w->out, "    {\n");
    put_which(w, s, j);
    for (int i = 0; i < s->n_leaves; ++i) {
        fprintf(w->out, "        const double l%d = ", i);
        put_leaf(w, s, i);
        fprintf(w->out, ";\n");
    }
    fprintf(w->out, "        const double value = saltus_shape%d(s", number);
    for (int i = 0; i < s->n_leaves; ++i) {
        fprintf(w->out, ", l%d", i);
    }
    fprintf(w->out, ");\n%s", w->t->idles ? "" : "        bad |= !(value >= 0.0);\n");
    for (int i = 0; i < s->n_laws; ++i) {
        fprintf(w->out, "        s->a%d = q == %d ? value : s->a%d;\n", s->laws[i], i, s->laws[i]);
    }
    fprintf(w->out, "    }\n");
}

void saltus_put_shape_changes(const saltus_writer *w)
{
    saltus_shape shapes[SALTUS_MAX_SHAPES];
    const int n = saltus_find_shapes(w, shapes);
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < shapes[k].n_changed; ++j) {
            put_change(w, &shapes[k], k, j);
        }
    }
}
