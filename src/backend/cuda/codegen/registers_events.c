/* Kernels in registers for models with events, clocks and values that are drawn: what
 * kernel/ssa/event_driver.h asks for. Variables and flags are in registers, too. */
#include "backend/cuda/codegen/operations.h"
#include "backend/cuda/codegen/recorded.h"
#include "backend/cuda/codegen/registers_text.h"

#include "kernel/base/ops.h"
#include "model/network/network.h"

enum { MOST_TRIGGERS = 32, MOST_VALUES = 32 };

/* What a search for counts looks at, and whether it found some. */
typedef struct search {
    const saltus_tables *t;
    bool found;
} search;

static void note(void *user, int row)
{
    search *s = user;
    s->found |= row < s->t->row_variables ||
                (row >= s->t->row_rules && row < s->t->row_rules + s->t->n_rules);
}

const char *saltus_events_against(const saltus_tables *t)
{
    if (t->n_thinned > 0) {
        return "it has rates that drift with time beside events or values that are drawn";
    }
    if (t->n_triggers > MOST_TRIGGERS) {
        return "it has more than 32 events";
    }
    if (t->n_variables + t->n_flags > MOST_VALUES) {
        return "it has more than 32 variables and switches";
    }
    for (int i = 0; i < t->n_flags; ++i) {
        search s = {t, t->clocks[i].kind != SALTUS_CLOCK_STEPS};
        saltus_program_reads(t, t->clocks[i].when, note, &s);
        if (s.found) {
            return "it has rates that switch at times which depend on counts or rules";
        }
    }
    return NULL;
}

/* Whether triggers are looked at where the layout has the state. */
static bool looks_at_triggers(const saltus_tables *t)
{
    return t->watches_state || t->n_moving_triggers > 0;
}

void saltus_put_event_head(const saltus_writer *w)
{
    fprintf(w->out, "#define SALTUS_HAPPENINGS 1\n");
    saltus_put_distributions(w->t, w->out);
    saltus_put_run_list(w->t, w->out);
}

void saltus_put_event_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "    double special;\n    int strict;\n    uint32_t on;\n");
    for (int i = 0; i < t->n_variables; ++i) {
        fprintf(w->out, "    double y%d;\n", i);
    }
    for (int i = 0; i < t->n_flags; ++i) {
        fprintf(w->out, "    double f%d;\n", i);
    }
}

void saltus_put_event_load(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "    s->special = a->states[slot].special;\n"
                    "    s->strict = a->states[slot].special_strict;\n    s->on = 0;\n");
    for (int i = 0; i < t->n_variables; ++i) {
        fprintf(w->out, "    s->y%d = a->v[slot + SALTUS_AT(%d)];\n", i, t->row_variables + i);
    }
    for (int i = 0; i < t->n_flags; ++i) {
        fprintf(w->out, "    s->f%d = a->v[slot + SALTUS_AT(%d)];\n", i, t->row_flags + i);
    }
    for (int i = 0; i < t->n_triggers && looks_at_triggers(t); ++i) {
        fprintf(w->out, "    s->on |= (uint32_t)(a->on[slot + SALTUS_AT(%d)] != 0) << %d;\n", i, i);
    }
}

void saltus_put_turns(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const char *state = w->is_table ? "&s->table, 0.0" : "s"; /* they do not read the time */
    for (int i = 0; i < t->n_triggers && looks_at_triggers(t); ++i) {
        saltus_put_program(w, "saltus_trigger", i, t->triggers[i].trigger);
    }
    fprintf(w->out,
            "#define SALTUS_WATCHES %d\n"
            "SALTUS_FN int saltus_state_turns(const saltus_worker_state *s, int stood)\n{\n"
            "    uint32_t on = 0;\n    (void)stood;\n",
            w->t->watches_state ? 1 : 0);
    for (int i = 0; i < t->n_triggers && looks_at_triggers(t); ++i) {
        fprintf(w->out,
                "    {\n        const double value = saltus_trigger%d(%s);\n"
                "        on |= (uint32_t)(value != 0.0 && value == value) << %d;\n    }\n",
                i, state, i);
    }
    fprintf(w->out, "    return on != s->on%s;\n}\n", t->n_flags > 0 ? " || stood" : "");
}

void saltus_put_table_event_head(const saltus_tables *t, FILE *out)
{
    const saltus_writer w = {.t = t, .is_table = true, .out = out};
    saltus_put_event_head(&w);
}

void saltus_put_table_turns(const saltus_tables *t, FILE *out)
{
    const saltus_writer w = {.t = t, .is_table = true, .out = out};
    saltus_put_turns(&w);
}
