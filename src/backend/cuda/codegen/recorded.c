#include "backend/cuda/codegen/recorded.h"

#include "backend/cuda/codegen/registers_text.h"
#include "core/memory.h"
#include "kernel/base/ops.h"
#include "model/freeze/point.h"
#include "model/network/network.h"

static bool is_rule(const saltus_tables *t, int row)
{
    return row >= t->row_rules && row < t->row_rules + t->n_rules;
}

bool saltus_records_rules(const saltus_tables *t, const saltus_columns *columns)
{
    for (int i = 0; i < columns->n_observables; ++i) {
        if (is_rule(t, columns->observables[i].row) ||
            is_rule(t, columns->observables[i].divisor_row)) {
            return true;
        }
    }
    return t->watches_state && t->n_live_rules > 0;
}

/* Rules that are recorded or that triggers read, and those that they read. */
typedef struct search {
    const saltus_tables *t;
    bool *is_needed; /* [rule] */
} search;

static void note(void *user, int row)
{
    const search *s = user;
    if (is_rule(s->t, row)) {
        s->is_needed[row - s->t->row_rules] = true;
    }
}

/* Longer programs that only add, subtract and multiply, as those of groups of a .net file do, are a
 * table and a loop: as text they would take long to compile, and registers from the events. */
enum { MOST_IN_LINE = 24, OF_POINT = 1 << 24, TEMPORARY = 1 << 25 };

/* An operand as the loop reads it: a species, a number of the point's row, or a temporary; -1: it
 * is something else. */
static int operand(const saltus_tables *t, int row)
{
    if (row < t->n_species) {
        return row;
    }
    if (saltus_row_is_constant(t, row)) {
        return OF_POINT + saltus_point_of(t).constants + row - t->row_constants;
    }
    return row >= t->row_temporaries && row < t->row_temporaries + t->n_temporaries
               ? TEMPORARY + row - t->row_temporaries
               : -1;
}

static bool is_simple(const saltus_tables *t, saltus_program p)
{
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        const bool fits =
            q->op == SALTUS_OP_ADD || q->op == SALTUS_OP_SUB || q->op == SALTUS_OP_MUL;
        if (!fits || operand(t, q->a) < 0 || operand(t, q->b) < 0 ||
            operand(t, q->dst) < TEMPORARY) {
            return false;
        }
    }
    return operand(t, p.result) >= TEMPORARY;
}

/* Write the loop, once. */
static void put_loop(FILE *out)
{
    fprintf(
        out,
        "SALTUS_FN double saltus_operand(const saltus_table *s, const double *w, int i)\n{\n"
        "    return i < %d ? (double)SALTUS_COUNT_OF(s->x[i * SALTUS_BLOCK])\n"
        "         : i < %d ? s->point[i - %d] : w[i - %d];\n}\n"
        "SALTUS_OUTLINE void saltus_run_simple(const saltus_table *s, const int (*code)[4], int n,"
        " double *w)\n{\n"
        "    SALTUS_ONE_BY_ONE\n    for (int i = 0; i < n; ++i) {\n"
        "        const double a = saltus_operand(s, w, code[i][2]);\n"
        "        const double b = saltus_operand(s, w, code[i][3]);\n"
        "        w[code[i][1]] = code[i][0] == %d ? a + b : code[i][0] == %d ? a - b : a * b;\n"
        "    }\n}\n",
        OF_POINT, TEMPORARY, OF_POINT, TEMPORARY, SALTUS_OP_ADD, SALTUS_OP_SUB);
}

static void put_simple(const saltus_writer *w, int rule, saltus_program p)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_TABLE int saltus_code%d[%d][4] = {", rule, p.n);
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        fprintf(w->out, "{%d, %d, %d, %d}, ", q->op, q->dst - t->row_temporaries, operand(t, q->a),
                operand(t, q->b));
    }
    fprintf(w->out,
            "};\nSALTUS_OUTLINE double saltus_rule%d(const saltus_table *s, double time)\n{\n"
            "    double w[%d];\n    (void)time;\n"
            "    saltus_run_simple(s, saltus_code%d, %d, w);\n    return w[%d];\n}\n",
            rule, t->n_temporaries, rule, p.n, p.result - t->row_temporaries);
}

saltus_status saltus_put_recorded_rules(const saltus_tables *t, const saltus_columns *columns,
                                        FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_writer w = {.t = t, .columns = columns, .is_table = true, .out = out};
    search s = {t, saltus_calloc((size_t)t->n_rules, sizeof *s.is_needed)};
    SALTUS_NEED(s.is_needed);
    put_loop(out);
    for (int i = 0; i < columns->n_observables; ++i) {
        note(&s, columns->observables[i].row);
        note(&s, columns->observables[i].divisor_row);
    }
    for (int i = 0; i < t->n_triggers && t->watches_state; ++i) {
        saltus_program_reads(t, t->triggers[i].trigger, note, &s);
    }
    for (int r = t->n_rules - 1; r >= 0; --r) { /* those before it may be read by it */
        if (s.is_needed[r]) {
            saltus_program_reads(t, t->rules[r], note, &s);
        }
    }
    for (int r = 0; r < t->n_rules; ++r) {
        if (s.is_needed[r] && t->rules[r].n > MOST_IN_LINE && is_simple(t, t->rules[r])) {
            put_simple(&w, r, t->rules[r]);
        } else if (s.is_needed[r]) {
            saltus_put_program(&w, "saltus_rule", r, t->rules[r]);
        }
    }
    fprintf(out, "SALTUS_OUTLINE double saltus_recorded_rule(const saltus_table *s, double time, "
                 "int rule)\n{\n    switch (rule) {\n");
    for (int r = 0; r < t->n_rules; ++r) {
        if (s.is_needed[r]) {
            fprintf(out, "    case %d: return saltus_rule%d(s, time);\n", r, r);
        }
    }
    fprintf(out, "    default: return 0.0;\n    }\n}\n");
done:
    saltus_free(s.is_needed);
    return status;
}
