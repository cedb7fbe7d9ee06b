/* Which rules the course of a trajectory hangs on. Others, such as groups of species that are only
 * recorded, are computed where a sample is. */
#include "model/freeze/freeze.h"

#include "core/memory.h"

typedef struct search {
    const saltus_tables *t;
    bool *is_live; /* [rule] */
} search;

static void note(void *user, int row)
{
    const search *s = user;
    const int rule = row - s->t->row_rules;
    if (rule >= 0 && rule < s->t->n_rules && !s->is_live[rule]) {
        s->is_live[rule] = true;
    }
}

static void note_program(search *s, saltus_program program)
{
    saltus_program_reads(s->t, program, note, s);
}

static void note_events(search *s)
{
    const saltus_tables *t = s->t;
    for (int i = 0; i < t->n_flags; ++i) {
        note_program(s, t->clocks[i].when);
        note_program(s, t->clocks[i].holds);
    }
    for (int i = 0; i < t->n_triggers; ++i) {
        note_program(s, t->triggers[i].trigger);
        note_program(s, t->triggers[i].delay);
        note_program(s, t->triggers[i].priority);
    }
    for (int i = 0; i < t->n_settings; ++i) {
        note_program(s, t->settings[i].value);
        note(s, t->settings[i].size);
    }
    for (int i = 0; i < t->n_variates; ++i) {
        for (int k = 0; k < t->variates[i].n; ++k) {
            note_program(s, t->variates[i].args[k]);
        }
    }
    for (int i = 0; i < t->n_delayed; ++i) {
        note_program(s, t->delayed[i].delay);
    }
}

static void note_laws(search *s)
{
    const saltus_tables *t = s->t;
    for (int i = 0; i < t->n_laws; ++i) {
        note_program(s, t->laws[i]);
    }
    for (int i = 0; i < t->factor_row[t->n_reactions]; ++i) {
        note(s, t->factor_species[i]);
    }
    for (int i = 0; i < t->n_rates; ++i) {
        note_program(s, t->rates[i]);
    }
    for (int i = 0; i < t->n_roots; ++i) {
        note_program(s, t->roots[i]);
    }
    note_program(s, t->pieces);
    for (int i = 0; i < t->n_drifts; ++i) {
        if (t->drifts[i].rule >= 0) {
            s->is_live[t->drifts[i].rule] = true;
        }
    }
}

/* Of each list of rules keep the live ones, where they stand: the lists are in the network's arena,
 * and nobody else has them yet. */
static void keep_live(const saltus_tables *t, const bool *is_live)
{
    int32_t *row = (int32_t *)t->rule_row, *of = (int32_t *)t->rule_of;
    int32_t at = 0, first = 0;
    for (int l = 0; l < t->n_lists; ++l) {
        const int32_t end = row[l + 1];
        for (int i = first; i < end; ++i) {
            if (is_live[of[i]]) {
                of[at++] = of[i];
            }
        }
        row[l + 1] = at;
        first = end;
    }
}

saltus_status saltus_find_live_rules(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    search s = {t, saltus_calloc((size_t)t->n_rules, sizeof *s.is_live)};
    int32_t *live = saltus_arena_alloc(f->arena, ((size_t)t->n_rules + 1) * sizeof *live);
    SALTUS_NEED(s.is_live && live);
    note_laws(&s);
    note_events(&s);
    for (int r = t->n_rules - 1; r >= 0; --r) { /* those before it may be read by it */
        s.is_live[r] |= f->model->space != NULL;
        if (s.is_live[r]) {
            note_program(&s, t->rules[r]);
        }
    }
    for (int r = 0; r < t->n_rules; ++r) {
        if (s.is_live[r]) {
            live[t->n_live_rules++] = r;
        }
    }
    t->live_rules = live;
    if (t->n_live_rules < t->n_rules) {
        keep_live(t, s.is_live);
    }
done:
    saltus_free(s.is_live);
    return status;
}
