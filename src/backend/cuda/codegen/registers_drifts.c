/* Kernels in registers for laws that drift with time: what kernel/ssa/drift_driver.h asks for.
 * Every operation on intervals is written out. Choice and bits are those of kernel/ssa/thinned.h.
 */
#include "backend/cuda/codegen/operations.h"
#include "backend/cuda/codegen/registers_text.h"

#include "kernel/base/ops.h"

/* Operands of programs on intervals: rows r are -1 - r, the window is slot 0, drifts follow. */
static void put_operand(const saltus_writer *w, int at)
{
    if (at < 0) {
        fprintf(w->out, "saltus_interval_number(");
        saltus_put_row(w, -1 - at);
        fprintf(w->out, ")");
    } else if (at == 0) {
        fprintf(w->out, "saltus_drift_window(s)");
    } else if (at <= w->t->n_drifts) {
        fprintf(w->out, "s->d%d", at - 1);
    } else {
        fprintf(w->out, "i%d", at);
    }
}

/* Write a function of the state that runs a program on intervals. */
static void put_interval(const saltus_writer *w, const char *name, int number, saltus_program p)
{
    const saltus_tables *t = w->t;
    fprintf(w->out,
            "SALTUS_FN saltus_interval %s%d(const saltus_worker_state *s)\n{\n    (void)s;\n", name,
            number);
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->bound_code[i];
        bool again = false;
        for (int j = p.first; j < i; ++j) {
            again |= t->bound_code[j].dst == q->dst;
        }
        if (!again) {
            fprintf(w->out, "    saltus_interval i%d;\n", q->dst);
        }
        fprintf(w->out, "    {\n        const saltus_interval a = ");
        put_operand(w, q->a);
        fprintf(w->out, ", b = ");
        put_operand(w, q->b);
        fprintf(w->out, ", c = ");
        put_operand(w, q->c);
        fprintf(w->out, ";\n        (void)b, (void)c;\n        i%d = ", q->dst);
        const char *op = saltus_op_name(q->op);
        if (!saltus_is_arithmetic(q->op)) {
            fprintf(w->out,
                    "saltus_interval_are_numbers(a, b, c)\n                 ? "
                    "saltus_interval_number(saltus_apply(SALTUS_OP_%s, a.lo, b.lo, c.lo))\n"
                    "                 : ",
                    op);
        }
        fprintf(w->out, "SALTUS_INTERVAL_%s(a, b, c);\n    }\n", op);
    }
    fprintf(w->out, "    return ");
    put_operand(w, p.result);
    fprintf(w->out, ";\n}\n");
}

void saltus_put_drift_head(const saltus_writer *w)
{
    fprintf(w->out, "#define SALTUS_DRIFTS 1\n");
    saltus_put_apply_list(w->t, w->out);
    fprintf(w->out, "#include \"kernel/base/intervals.h\"\n");
}

void saltus_put_drift_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "    double window, start, end;\n    uint32_t missed;\n    int waits;\n");
    for (int k = 0; k < t->n_drifts; ++k) {
        fprintf(w->out, "    saltus_interval d%d;\n", k);
    }
    for (int i = 0; i < t->n_thinned; ++i) {
        fprintf(w->out, "    double bound%d, lower%d;\n", i, i);
    }
}

static bool follows(const saltus_tables *t)
{
    bool is = false;
    for (int k = 0; k < t->n_drifts; ++k) {
        is |= t->drifts[k].has_counts;
    }
    for (int i = 0; i < t->n_thinned; ++i) {
        is |= t->bounds[i].n > 0;
    }
    return is;
}

void saltus_put_drifts(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out,
            "#define SALTUS_FOLLOWS %d\n"
            "SALTUS_FN saltus_interval saltus_drift_window(const saltus_worker_state *s)\n{\n"
            "    return saltus_interval_of(s->start, s->end);\n}\n",
            follows(t));
    for (int k = 0; k < t->n_drifts; ++k) {
        put_interval(w, "saltus_drift", k, t->drifts[k].interval);
    }
    for (int i = 0; i < t->n_thinned; ++i) {
        put_interval(w, "saltus_bound", i, t->bounds[i]);
    }
    fprintf(w->out, "SALTUS_FN void saltus_state_drifts(saltus_worker_state *s)\n{\n");
    for (int k = 0; k < t->n_drifts; ++k) {
        if (!t->drifts[k].has_counts) {
            fprintf(w->out, "    s->d%d = saltus_drift%d(s);\n", k, k);
        }
    }
    fprintf(w->out, "}\nSALTUS_FN int saltus_state_bounds(saltus_worker_state *s)\n{\n"
                    "    int bounded = 0;\n");
    for (int k = 0; k < t->n_drifts; ++k) {
        if (t->drifts[k].has_counts) {
            fprintf(w->out, "    s->d%d = saltus_drift%d(s);\n", k, k);
        }
    }
    for (int i = 0; i < t->n_thinned; ++i) {
        const int r = t->thinned[i];
        fprintf(w->out, "    {\n        %ssaltus_interval b = saltus_bound%d(s);\n",
                saltus_may_lack(t, r) ? "" : "const ", i);
        if (saltus_may_lack(t, r)) {
            fprintf(w->out,
                    "        if (SALTUS_RARE(!(b.hi >= 0.0 && b.hi < SALTUS_INFINITY)) && ");
            saltus_put_lacks(w, r);
            fprintf(w->out, ") {\n            b = saltus_interval_of(0.0, 0.0);\n        }\n");
        }
        fprintf(w->out,
                "        bounded |= saltus_bounded_by(b.hi);\n        s->bound%d = b.hi + 0.0;\n"
                "        s->lower%d = b.lo;\n    }\n",
                i, i);
    }
    fprintf(w->out, "    return bounded;\n}\n"
                    "SALTUS_FN int saltus_state_check(const saltus_worker_state *s)\n{\n"
                    "    int bad = 0;\n");
    for (int i = 0; i < t->n_thinned; ++i) {
        fprintf(w->out,
                "    bad |= !(s->lower%d >= 0.0) &&\n"
                "           saltus_is_no_propensity(saltus_law%d(s), s->bound%d)",
                i, t->thinned[i], i);
        if (saltus_may_lack(t, t->thinned[i])) {
            fprintf(w->out, " && !");
            saltus_put_lacks(w, t->thinned[i]);
        }
        fprintf(w->out, ";\n");
    }
    fprintf(w->out, "    return bad;\n}\n");
}

/* Descend to the reaction: pg the second group, isk0, isk1 … as in a kernel without drifts; r is
 * its number, l and h the place in its interval. */
static void put_descent(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const int n = saltus_group_end(t, 0), last = t->n_reactions - 1;
    const bool two = saltus_n_groups(t) == 2;
    if (two) {
        fprintf(w->out,
                "        pg = s->c%d <= low;\n"
                "        const double base = pg ? s->c%d : 0.0, last = pg ? s->c%d : s->c%d;\n"
                "        near = (pg ? total : s->c%d) < high;\n"
                "        h = high - base;\n        l = low - base;\n"
                "        l = l < last ? l : saltus_below(last);\n",
                n - 1, n - 1, last, n - 1, n - 1);
    } else {
        fprintf(w->out,
                "        const double last = s->c%d;\n        near = 0;\n"
                "        h = high;\n        l = low;\n",
                last);
    }
    for (int i = 0; i + 1 < n; ++i) {
        const int other = n + i < last ? n + i : last;
        if (two) {
            fprintf(w->out, "        const double e%d = pg ? s->c%d : s->c%d;\n", i, other, i);
        } else {
            fprintf(w->out, "        const double e%d = s->c%d;\n", i, i);
        }
    }
    fprintf(w->out, "        double up = last, before = %s%d%s;\n        r = %d;\n",
            n > 1 ? "e" : "0.", n > 1 ? n - 2 : 0, "", n - 1);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(w->out, "        isk%d = e%d > l;\n        up = isk%d ? e%d : up;\n", i, i, i, i);
        fprintf(w->out, "        before = isk%d ? ", i);
        fprintf(w->out, i > 0 ? "e%d : before;\n" : "0.0 : before;\n", i - 1);
        fprintf(w->out, "        r = isk%d ? %d : r;\n", i, i);
    }
    if (two) { /* the last of a shorter group holds what those behind it would */
        fprintf(w->out, "        r = pg ? (r < %d ? r + %d : %d) : r;\n", last - n, n, last);
    }
    fprintf(w->out, "        near |= up < h;\n        l -= before;\n        h -= before;\n");
}

void saltus_put_take(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, SALTUS_REFINE_FUNCTION
            "SALTUS_FN int saltus_state_take(saltus_worker_state *s, double total, double word,\n"
            "                                const saltus_launch *launch, uint64_t trajectory,\n"
            "                                uint64_t block, int event_half, int is_candidate,\n"
            "                                int *bad)\n"
            "{\n    const saltus_launch *a = launch;\n"
            "    const double unit = total * SALTUS_TWO_M32;\n"
            "    double low = word * unit, high = low + unit, l, h, law;\n"
            "    int near, r, pg = 0");
    for (int i = 0; i + 1 < saltus_group_end(t, 0); ++i) {
        fprintf(w->out, ", isk%d", i);
    }
    fprintf(w->out, ";\n    (void)pg;\n    SALTUS_ONE_BY_ONE\n"
                    "    for (int refined = 0;; refined = 1) {\n");
    put_descent(w);
    fprintf(w->out, "        law = SALTUS_INFINITY;\n");
    for (int i = 0; i < t->n_thinned; ++i) {
        fprintf(w->out,
                "        if (r == %d && is_candidate && !(l < s->lower%d && h <= s->lower%d)) {\n"
                "            law = saltus_law%d(s);\n"
                "            *bad |= !(law >= 0.0 && law <= s->bound%d);\n"
                "            near |= l < law && law < h;\n        }\n",
                t->thinned[i], i, i, t->thinned[i], i);
    }
    fprintf(w->out,
            "        if (!SALTUS_RARE(near) || refined) {\n            break;\n        }\n"
            "%s            high = 0.0;\n    }\n"
            "    const int takes = is_candidate && l < law && !*bad;\n    int fires = takes;\n",
            SALTUS_REFINE);
    saltus_put_changes(w);
    fprintf(w->out, "    return takes | (takes && !fires ? 2 : 0);\n}\n");
}
