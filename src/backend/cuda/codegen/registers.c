/* Writes kernels whose state stands in registers: species, group sums and clock are variables, laws
 * are expressions, changes are constants. Bits are those of kernel/ssa/direct_tree.h: the same
 * laws, the same sums in the same order, the same descent. */
#include "backend/cuda/codegen/registers_kinds.h"

#include "core/memory.h"
#include "kernel/base/ops.h"
#include "model/freeze/point.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REACTIONS = SALTUS_FANOUT * SALTUS_FANOUT, MAX_SPECIES = 64 };
enum { MAX_DRIFTING = 2 * SALTUS_FANOUT }; /* reactions of a model with laws that drift with time */

/* Counts stay exact in doubles within one launch of 2^15 reactions from below 2^52. */
static const int64_t largest_count = (int64_t)1 << 51, largest_change = (int64_t)1 << 35;

const char *saltus_registers_against(const saltus_tables *t)
{
    if (t->n_reactions == 0) {
        return "nothing reacts";
    }
    if (t->n_reactions > MAX_REACTIONS) {
        return "it has more than 64 reactions";
    }
    if (t->n_species > MAX_SPECIES) {
        return "it has more than 64 species";
    }
    if (saltus_has_events(t) && saltus_events_against(t)) {
        return saltus_events_against(t);
    }
    if (t->n_thinned + t->n_rates > 0 && t->n_reactions > MAX_DRIFTING) {
        return "it has rates that drift with time, and more than 16 reactions";
    }
    if (t->has_tables) {
        return "it has tables";
    }
    if (t->largest_change >= largest_change) {
        return "a reaction changes a count by 2^35 or more";
    }
    for (int s = 0; s < t->n_species; ++s) {
        if (t->initial_counts[s] > largest_count) {
            return "it starts with more than 2^51 molecules";
        }
    }
    return NULL;
}

bool saltus_varies(const saltus_writer *w, int i)
{
    return w->varies && w->varies[i];
}

int saltus_varying(const saltus_writer *w, int i)
{
    int n = 0;
    for (int j = 0; j < i; ++j) {
        n += w->varies[j];
    }
    return n;
}

int saltus_n_varying(const saltus_tables *t, const uint8_t *varies)
{
    const saltus_writer w = {.t = t, .varies = varies};
    return varies ? saltus_varying(&w, saltus_point_of(t).counts) : 0;
}

/* Write a number of a point's row, which is x where it does not vary. */
static void put_of_point(const saltus_writer *w, int i, double x)
{
    if (w->is_table) {
        fprintf(w->out, "s->point[%d]", i);
    } else if (saltus_varies(w, i)) {
        fprintf(w->out, "SALTUS_K(%d)", saltus_varying(w, i));
    } else {
        saltus_put_number(w->out, x);
    }
}

/* A double whose lower 32 bits are 0 can stand in an instruction; another is better read from a
 * table. */
void saltus_put_rate(const saltus_writer *w, int r)
{
    int64_t bits;
    memcpy(&bits, &w->t->rate[r], sizeof bits);
    if (saltus_varies(w, r) || (bits & 0xffffffff) == 0) {
        put_of_point(w, r, w->t->rate[r]);
    } else {
        fprintf(w->out, "saltus_rate[%d]", r);
    }
}

void saltus_put_table_rate(const saltus_writer *w, int r)
{
    saltus_put_number(w->out, r >= w->t->n_reactions || saltus_varies(w, r) ? 0.0 : w->t->rate[r]);
}

static void put_rates(const saltus_writer *w)
{
    fprintf(w->out, "SALTUS_OPERAND double saltus_rate[%d] = {", w->t->n_reactions);
    for (int r = 0; r < w->t->n_reactions; ++r) {
        saltus_put_table_rate(w, r);
        fprintf(w->out, ", ");
    }
    fprintf(w->out, "};\n");
}

/* Write what observable i is made of: a row, or a number, which is part of the text only where
 * nothing varies. */
static void put_observed(const saltus_writer *w, int row, int i, const char *member, double x)
{
    if (row >= 0) {
        saltus_put_row(w, row);
    } else if (w->varies) {
        fprintf(w->out, "a->columns.observables[%d].%s", i, member);
    } else {
        saltus_put_number(w->out, x);
    }
}

void saltus_put_row(const saltus_writer *w, int row)
{
    const saltus_tables *t = w->t;
    const saltus_point at = saltus_point_of(t);
    for (int i = 0; i < w->n_leaves; ++i) {
        if (w->leaves[i] == row) {
            fprintf(w->out, "l%d", i);
            return;
        }
    }
    if (row < t->row_variables) {
        fprintf(w->out,
                w->is_table ? "(double)SALTUS_COUNT_OF(s->x[%d * SALTUS_BLOCK])" : "SALTUS_X(%d)",
                row);
    } else if (saltus_is_rate_row(t, row)) {
        fprintf(w->out, "s->y%d", row - t->row_variables);
    } else if (row < t->row_rules && saltus_has_events(t)) {
        if (w->is_table) {
            fprintf(w->out, "s->v[SALTUS_AT(%d)]", row);
        } else {
            fprintf(w->out, row < t->row_flags ? "s->y%d" : "s->f%d",
                    row < t->row_flags ? row - t->row_variables : row - t->row_flags);
        }
    } else if (row < t->row_flags) { /* no event changes it */
        put_of_point(w, at.variables + row - t->row_variables,
                     t->initial_variables[row - t->row_variables]);
    } else if (row >= t->row_rules && row < t->row_rules + t->n_rules) {
        fprintf(w->out, w->is_table ? "saltus_rule%d(s, time)" : "saltus_rule%d(s)",
                row - t->row_rules);
    } else if (row == t->row_time) {
        fprintf(w->out, w->is_table ? "time" : "s->time");
    } else if (row == t->row_one) {
        fprintf(w->out, "1.0");
    } else if (saltus_row_is_constant(t, row)) {
        put_of_point(w, at.constants + row - t->row_constants,
                     t->constants[row - t->row_constants]);
    } else {
        fprintf(w->out, "w%d", row);
    }
}

const char *saltus_op_name(int op)
{
    static const char *const names[] = {
#define NAME(name, text, arity) #name,
        SALTUS_OP_LIST(NAME)
#undef NAME
            "SELECT",
        "HELD", "LINEAR"};
    return names[op];
}

/* Temporaries may be written more than once. */
void saltus_put_code(const saltus_writer *w, saltus_program p)
{
    const saltus_tables *t = w->t;
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        bool again = false;
        for (int j = p.first; j < i; ++j) {
            again |= t->code[j].dst == q->dst;
        }
        fprintf(w->out, "    %sw%d = SALTUS_DO_%s(", again ? "" : "double ", q->dst,
                saltus_op_name(q->op));
        saltus_put_row(w, q->a);
        fprintf(w->out, ", ");
        saltus_put_row(w, q->b);
        fprintf(w->out, ", ");
        saltus_put_row(w, q->c);
        fprintf(w->out, ");\n");
    }
}

void saltus_put_program(const saltus_writer *w, const char *name, int number, saltus_program p)
{
    fprintf(w->out,
            w->is_table ? "SALTUS_OUTLINE double %s%d(const saltus_table *s, double time"
                        : "SALTUS_FN double %s%d(const saltus_worker_state *s",
            name, number);
    for (int i = 0; i < w->n_leaves; ++i) {
        fprintf(w->out, ", double l%d", i);
    }
    fprintf(w->out, w->is_table ? ")\n{\n    (void)s, (void)time;\n" : ")\n{\n    (void)s;\n");
    saltus_put_code(w, p);
    fprintf(w->out, "    return ");
    saltus_put_row(w, p.result);
    fprintf(w->out, ";\n}\n");
}

static void put_law(const saltus_writer *w, int r)
{
    const saltus_tables *t = w->t;
    if (t->law_program[r] >= 0) {
        saltus_put_program(w, "saltus_law", r, t->laws[t->law_program[r]]);
        return;
    }
    fprintf(w->out,
            "SALTUS_FN double saltus_law%d(const saltus_worker_state *s)\n{\n    (void)s;\n", r);
    fprintf(w->out, "    return ");
    saltus_put_rate(w, r);
    for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
        const double offset = t->factor_offset[f];
        fprintf(w->out, offset == 0.0 ? " * " : " * (");
        saltus_put_row(w, t->factor_species[f]);
        if (offset != 0.0) {
            fprintf(w->out, " - %d.0)", (int)offset);
        }
    }
    fprintf(w->out, ";\n}\n");
}

int saltus_n_groups(const saltus_tables *t)
{
    return (t->n_reactions + SALTUS_FANOUT - 1) / SALTUS_FANOUT;
}

int saltus_group_end(const saltus_tables *t, int g)
{
    const int end = (g + 1) * SALTUS_FANOUT;
    return end < t->n_reactions ? end : t->n_reactions;
}

/* The amount by which reaction r changes species s. */
int64_t saltus_change_of(const saltus_tables *t, int r, int s)
{
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        if (t->change_species[c] == s) {
            return t->change_amount[c];
        }
    }
    return 0;
}

bool saltus_is_unsafe(const saltus_tables *t, int s)
{
    for (int i = 0; i < t->n_unsafe; ++i) {
        if (t->unsafe[i] == s) {
            return true;
        }
    }
    return false;
}

bool saltus_may_idle(const saltus_tables *t)
{
    return t->idles && t->n_unsafe > 0;
}

bool saltus_may_lack(const saltus_tables *t, int r)
{
    bool does = false;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        does |= t->idles && t->change_amount[c] < 0;
    }
    return does;
}

/* Whether a firing of some reaction of group g changes a propensity of group h. */
bool saltus_touches(const saltus_tables *t, int g, int h)
{
    for (int r = g * SALTUS_FANOUT; r < saltus_group_end(t, g); ++r) {
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            if (t->dependent[i] / SALTUS_FANOUT == h) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a firing of some other group changes a propensity of group h. */
static bool is_touched(const saltus_tables *t, int h)
{
    bool is = false;
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        is |= g != h && saltus_touches(t, g, h);
    }
    return is;
}

/* Of grouped and uniform the one that computes fewer propensities at an event of a warp, whose
 * threads are in groups of all kinds: grouped does so twice in each kind, to choose and to renew
 * its sum, and renews the sums of groups that others touch. */
saltus_form saltus_registers_form(const saltus_tables *t)
{
    saltus_kind kinds[SALTUS_MAX_GROUPS];
    const int groups = saltus_n_groups(t);
    if (groups == 1 || t->n_thinned > 0 || t->n_rates > 0) {
        return SALTUS_FLAT; /* however many groups, of which `kinds` has room for MAX_REACTIONS */
    }
    const int n = saltus_find_kinds(t, kinds);
    int grouped = 2 * SALTUS_FANOUT * n;
    for (int g = 0; g < groups; ++g) {
        grouped += is_touched(t, g) ? saltus_group_reactions(t, g) : 0;
    }
    return groups == 2 && n == 2                                ? SALTUS_FLAT
           : saltus_uniform_fits(t) && t->n_reactions < grouped ? SALTUS_UNIFORM
                                                                : SALTUS_GROUPED;
}

bool saltus_registers_have_room_for(const saltus_tables *t, const uint8_t *varies)
{
    enum { MOST_VARYING = 16 };
    return saltus_registers_form(t) == SALTUS_FLAT && saltus_n_varying(t, varies) <= MOST_VARYING;
}

int saltus_registers_thread_bytes(const saltus_tables *t, const uint8_t *varies)
{
    /* the species after the last stands for nowhere; what varies stands behind it */
    return saltus_registers_form(t) == SALTUS_FLAT
               ? 0
               : 8 * (t->n_species + 1 + saltus_n_varying(t, varies));
}

int saltus_registers_table_bytes(const saltus_tables *t)
{
    return saltus_registers_form(t) == SALTUS_UNIFORM ? saltus_uniform_table_bytes(t) : 0;
}

static void put_functions(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int i = 0; i < t->n_rules; ++i) {
        saltus_put_program(w, "saltus_rule", i, t->rules[i]);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        put_law(w, r);
    }
}

/* Write a text for every count in registers. */
static void put_each(const saltus_writer *w, const char *text)
{
    for (int s = 0; s < w->t->n_species; ++s) {
        fprintf(w->out,
                "    {\n        double *const x = &SALTUS_X(%d);\n        const int i = %d;\n"
                "%s    }\n",
                s, s, text);
    }
}

/* Write how a trajectory reads what varies of a point's row. */
static void put_use(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const saltus_point at = saltus_point_of(t);
    fprintf(w->out,
            "SALTUS_FN void saltus_state_use(saltus_worker_state *s, const saltus_launch *a,\n"
            "                                     const double *point)\n"
            "{\n    (void)s, (void)a, (void)point;\n");
    for (int i = 0; i < at.counts; ++i) {
        if (saltus_varies(w, i)) {
            fprintf(w->out, "    SALTUS_K(%d) = point[%d];\n", saltus_varying(w, i), i);
        }
    }
    fprintf(w->out, "}\n");
}

/* Write how a trajectory begins, and how its state is read and written between launches. Counts in
 * registers need no loop; others have one, because unrolled code would take all registers. */
static void put_start(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const bool is_flat = saltus_registers_form(t) == SALTUS_FLAT;
    const bool has_events = saltus_has_events(t); /* then memory has whole numbers */
    static const char start[] = "        *x = from[i];\n";
    const char *type = has_events ? "int64_t" : "double", *array = has_events ? "x" : "v",
               *load = has_events ? "        *x = (double)v[SALTUS_AT(i)];\n"
                                  : "        *x = v[SALTUS_AT(i)];\n",
               *save = has_events ? "        v[SALTUS_AT(i)] = (int64_t)*x;\n"
                                    "        beyond |= *x > 0x1p51;\n"
                                  : "        v[SALTUS_AT(i)] = *x;\n"
                                    "        beyond |= *x > 0x1p51;\n";
    char loop[200];
    (void)snprintf(loop, sizeof loop,
                   "    SALTUS_LOOP\n    for (int i = 0; i < %d; ++i) {\n"
                   "        double *const x = &SALTUS_X(i);\n",
                   t->n_species);
    fprintf(w->out,
            "SALTUS_FN void saltus_state_start(saltus_worker_state *s, const saltus_launch *a,\n"
            "                                       const double *point)\n"
            "{\n    const double *from = point + a->at.counts;\n");
    if (is_flat) {
        put_each(w, start);
    } else {
        fprintf(w->out, "%s%s    }\n", loop, start);
    }
    fprintf(w->out,
            "}\nSALTUS_FN void saltus_state_load(saltus_worker_state *s, const saltus_launch *a,\n"
            "                                       int64_t slot)\n"
            "{\n    const %s *v = a->%s + slot;\n",
            type, array);
    if (has_events) {
        saltus_put_event_load(w);
    }
    if (is_flat) {
        put_each(w, load);
    } else {
        fprintf(w->out, "%s%s    }\n", loop, load);
    }
    fprintf(w->out,
            "}\nSALTUS_FN int saltus_state_save(saltus_worker_state *s, const saltus_launch *a,\n"
            "                                      int64_t slot)\n"
            "{\n    %s *v = a->%s + slot;\n    int beyond = 0;\n",
            type, array);
    if (is_flat) {
        put_each(w, save);
    } else {
        fprintf(w->out, "%s%s    }\n", loop, save);
    }
    fprintf(w->out, "    return beyond;\n}\n");
}

/* Write where the counts of a sample are. */
static void put_columns(const saltus_writer *w)
{
    const saltus_columns *c = w->columns;
    bool are_all = c->n_counts == w->t->n_species;
    for (int i = 0; i < c->n_counts; ++i) {
        are_all &= c->count_species[i] == i;
    }
    if (!are_all) {
        fprintf(w->out, "SALTUS_TABLE int16_t saltus_column[%d] = {", c->n_counts + 1);
        for (int i = 0; i < c->n_counts; ++i) {
            fprintf(w->out, "%d, ", c->count_species[i]);
        }
        fprintf(w->out, "0};\n");
    }
    fprintf(w->out,
            "#define SALTUS_COUNT(s, a, column, away) \\\n"
            "    saltus_whole((s)->x[%s * SALTUS_BLOCK + (away)])\n",
            are_all ? "(column)" : "saltus_column[column]");
}

/* Write how a sample is recorded, where the trajectory's next one goes. */
static void put_record(const saltus_writer *w)
{
    const saltus_columns *c = w->columns;
    fprintf(w->out,
            "SALTUS_FN void saltus_state_record(saltus_worker_state *s, const saltus_launch *a,\n"
            "                                         double time, saltus_samples *to)\n{\n    "
            "(void)a;\n"
            "    int64_t *counts = to->counts;\n    double *observables = to->observables;\n"
            "    s->time = time;\n    saltus_samples_next(to);\n"
            "    (void)counts;\n    (void)observables;\n");
    if (saltus_registers_form(w->t) == SALTUS_FLAT) {
        for (int i = 0; i < c->n_counts; ++i) {
            fprintf(w->out, "    counts[%d] = saltus_whole(SALTUS_X(%d));\n", i,
                    c->count_species[i]);
        }
    }
    for (int i = 0; i < c->n_observables; ++i) {
        const saltus_observable *o = &c->observables[i];
        fprintf(w->out, "    observables[%d] = ", i);
        put_observed(w, o->row, i, "value", o->value);
        fprintf(w->out, " / ");
        put_observed(w, o->divisor_row, i, "divisor", o->divisor);
        fprintf(w->out, ";\n");
    }
    fprintf(w->out, "}\n");
}

void saltus_put_reactions(const saltus_writer *w)
{
    put_rates(w);
    saltus_put_flat_state(w);
    put_functions(w);
    put_use(w);
    saltus_put_flat(w);
}

saltus_status saltus_registers_text(const saltus_tables *tables, const saltus_columns *columns,
                                    const uint8_t *varies, int block, bool leaps, char **text,
                                    saltus_error *err)
{
    static void (*const put_state[])(const saltus_writer *) = {
        saltus_put_flat_state, saltus_put_grouped_state, saltus_put_uniform_state};
    static void (*const put_rest[])(const saltus_writer *) = {saltus_put_flat, saltus_put_grouped,
                                                              saltus_put_uniform};
    const saltus_form form = saltus_registers_form(tables);
    saltus_status status = SALTUS_OK;
    size_t size = 0;
    saltus_writer w = {.t = tables, .columns = columns, .varies = varies};
    *text = NULL;
    w.out = open_memstream(text, &size);
    SALTUS_NEED(w.out);
    const bool has_events = saltus_has_events(tables);
    if (tables->n_thinned > 0) {
        saltus_put_drift_head(&w);
    }
    if (has_events) {
        saltus_put_event_head(&w);
    }
    fprintf(w.out,
            "#include \"kernel/%s.h\"\n#include \"kernel/ssa/launch.h\"\n"
            "#define SALTUS_BLOCK %d\n#define SALTUS_EACH_EVENT %s\n",
            leaps ? "tau/tau" : "ssa/direct_tree", block,
            tables->n_thinned > 0 || has_events || form == SALTUS_UNIFORM ? "SALTUS_ONE_BY_ONE"
                                                                          : "SALTUS_UNROLL");
    put_rates(&w);
    put_state[form](&w);
    put_functions(&w);
    if (has_events) {
        saltus_put_turns(&w);
    }
    put_use(&w);
    put_start(&w);
    put_rest[form](&w);
    if (form != SALTUS_FLAT) {
        put_columns(&w);
    }
    put_record(&w);
    if (leaps) {
        saltus_put_leaps(&w);
    }
    fprintf(w.out, "#include \"kernel/%s.h\"\n", leaps ? "tau/tau_thread" : "ssa/direct_thread");
    if (fclose(w.out) != 0) {
        free(*text);
        *text = NULL;
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    return status;
}
