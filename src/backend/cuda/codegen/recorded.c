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
    return false;
}

/* Rules that are recorded, and those that they read. */
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

/* A term of a sum: a count, times a constant. */
typedef struct term {
    int species, constant; /* number of a constant, or -1 */
} term;

/* What a row is as a term, given the product that was computed last. */
static bool is_term(const saltus_tables *t, int row, int product_row, term product, term *out)
{
    *out = row == product_row ? product : (term){row, -1};
    return row == product_row || row < t->n_species;
}

static bool is_product(const saltus_tables *t, const saltus_instruction *q, term *out)
{
    const int constant = q->a - t->row_constants;
    const bool fits =
        q->op == SALTUS_OP_MUL && constant >= 0 && constant < t->n_constants && q->b < t->n_species;
    *out = fits ? (term){q->b, constant} : *out;
    return fits;
}

/* The terms of a program that adds counts, or their multiples, from left to right, as groups of a
 * .net file do; 0: it does something else. Its text would be long to compile. */
static int find_terms(const saltus_tables *t, saltus_program p, term *terms)
{
    int n = 0, product_row = -1, sum_row = -1;
    term product = {0, 0};
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        if (is_product(t, q, &product)) {
            if (n == 0 && product_row >= 0) { /* the first two terms are products */
                return 0;
            }
            product_row = q->dst;
        } else if (q->op != SALTUS_OP_ADD ||
                   (n > 0 ? q->a != sum_row
                          : !is_term(t, q->a, product_row, product, &terms[n++])) ||
                   !is_term(t, q->b, product_row, product, &terms[n++])) {
            return 0;
        } else {
            sum_row = q->dst;
            product_row = -1;
        }
    }
    return p.n > 0 && p.result == sum_row ? n : 0;
}

static void put_sum(const saltus_writer *w, int rule, const term *terms, int n)
{
    fprintf(w->out, "SALTUS_CONSTANT int saltus_terms%d[%d][2] = {", rule, n);
    for (int i = 0; i < n; ++i) {
        fprintf(w->out, "{%d, %d}, ", terms[i].species,
                terms[i].constant < 0 ? -1 : saltus_point_of(w->t).constants + terms[i].constant);
    }
    fprintf(w->out,
            "};\nSALTUS_OUTLINE double saltus_rule%d(const saltus_table *s, double time)\n{\n"
            "    double sum = 0.0;\n    (void)time;\n"
            "    SALTUS_ONE_BY_ONE\n    for (int i = 0; i < %d; ++i) {\n"
            "        const int constant = saltus_terms%d[i][1];\n"
            "        const double x = (double)s->x[saltus_terms%d[i][0] * SALTUS_BLOCK];\n"
            "        const double y = constant < 0 ? x : s->point[constant] * x;\n"
            "        sum = i == 0 ? y : sum + y;\n    }\n    return sum;\n}\n",
            rule, n, rule, rule);
}

saltus_status saltus_put_recorded_rules(const saltus_tables *t, const saltus_columns *columns,
                                        FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_writer w = {.t = t, .columns = columns, .is_table = true, .out = out};
    search s = {t, saltus_calloc((size_t)t->n_rules, sizeof *s.is_needed)};
    term *terms = saltus_calloc((size_t)t->n_code + 2, sizeof *terms);
    SALTUS_NEED(s.is_needed && terms);
    for (int i = 0; i < columns->n_observables; ++i) {
        note(&s, columns->observables[i].row);
        note(&s, columns->observables[i].divisor_row);
    }
    for (int r = t->n_rules - 1; r >= 0; --r) { /* those before it may be read by it */
        if (s.is_needed[r]) {
            saltus_program_reads(t, t->rules[r], note, &s);
        }
    }
    for (int r = 0; r < t->n_rules; ++r) {
        const int n = s.is_needed[r] ? find_terms(t, t->rules[r], terms) : 0;
        if (n > 0) {
            put_sum(&w, r, terms, n);
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
    saltus_free(terms);
    saltus_free(s.is_needed);
    return status;
}
