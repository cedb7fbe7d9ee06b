#include "backend/cuda/codegen/recorded.h"

#include "backend/cuda/codegen/registers_text.h"
#include "core/memory.h"
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

saltus_status saltus_put_recorded_rules(const saltus_tables *t, const saltus_columns *columns,
                                        FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_writer w = {.t = t, .columns = columns, .is_table = true, .out = out};
    search s = {t, saltus_calloc((size_t)t->n_rules, sizeof *s.is_needed)};
    SALTUS_NEED(s.is_needed);
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
        if (s.is_needed[r]) {
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
