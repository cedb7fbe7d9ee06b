/* Writes kernels whose state stands in registers: species, group sums and clock are variables, laws
 * are expressions, changes are constants. Bits are those of kernel/direct_tree.h: the same laws,
 * the same sums in the same order, the same descent. */
#include "backend/cuda/registers.h"

#include "core/memory.h"
#include "kernel/ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REACTIONS = SALTUS_FANOUT * SALTUS_FANOUT, MAX_SPECIES = 64 };

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
    if (t->n_triggers > 0 || t->n_flags > 0) {
        return "it has events or rates that switch in time";
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

typedef struct writer {
    const saltus_tables *t;
    const saltus_columns *columns;
    FILE *out;
} writer;

static void put_number(FILE *out, double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isfinite(x)) {
        fprintf(out, "(%a)", x);
    } else {
        fprintf(out, "SALTUS_AS_F64((int64_t)0x%" PRIx64 ")", (uint64_t)bits);
    }
}

/* The value of a row: `w` stands before the numbers of a program's own results. */
static void put_row(const writer *w, int row)
{
    const saltus_tables *t = w->t;
    if (row < t->row_variables) {
        fprintf(w->out, "s->x%d", row);
    } else if (row < t->row_flags) { /* no event changes it */
        put_number(w->out, t->initial_variables[row - t->row_variables]);
    } else if (row >= t->row_rules && row < t->row_rules + t->n_rules) {
        fprintf(w->out, "saltus_rule%d(s)", row - t->row_rules);
    } else if (row == t->row_time) {
        fprintf(w->out, "s->time");
    } else if (row == t->row_one) {
        fprintf(w->out, "1.0");
    } else if (row >= t->row_constants && row < t->row_constants + t->n_constants) {
        put_number(w->out, t->constants[row - t->row_constants]);
    } else {
        fprintf(w->out, "w%d", row);
    }
}

static const char *name_of(int op)
{
    static const char *const names[] = {
#define NAME(name, text, arity) #name,
        SALTUS_OP_LIST(NAME)
#undef NAME
            "SELECT"};
    return names[op];
}

/* A function of the state that runs a program; temporaries may be written more than once. */
static void put_program(const writer *w, const char *name, int number, saltus_program p)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN double %s%d(const saltus_small *s)\n{\n    (void)s;\n", name,
            number);
    bool *declared = saltus_calloc((size_t)t->n_rows, sizeof *declared);
    for (int i = p.first; i < p.first + p.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        const bool again = declared && declared[q->dst];
        fprintf(w->out, "    %sw%d = SALTUS_DO_%s(", again ? "" : "double ", q->dst,
                name_of(q->op));
        put_row(w, q->a);
        fprintf(w->out, ", ");
        put_row(w, q->b);
        fprintf(w->out, ", ");
        put_row(w, q->c);
        fprintf(w->out, ");\n");
        if (declared) {
            declared[q->dst] = true;
        }
    }
    fprintf(w->out, "    return ");
    put_row(w, p.result);
    fprintf(w->out, ";\n}\n");
    saltus_free(declared);
}

static void put_law(const writer *w, int r)
{
    const saltus_tables *t = w->t;
    if (t->law_program[r] >= 0) {
        put_program(w, "saltus_law", r, t->laws[t->law_program[r]]);
        return;
    }
    fprintf(w->out, "SALTUS_FN double saltus_law%d(const saltus_small *s)\n{\n    (void)s;\n", r);
    fprintf(w->out, "    return ");
    put_number(w->out, t->rate[r]);
    for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
        const double offset = t->factor_offset[f];
        fprintf(w->out, offset == 0.0 ? " * " : " * (");
        put_row(w, t->factor_species[f]);
        if (offset != 0.0) {
            fprintf(w->out, " - %a)", offset);
        }
    }
    fprintf(w->out, ";\n}\n");
}

static int n_groups(const saltus_tables *t)
{
    return (t->n_reactions + SALTUS_FANOUT - 1) / SALTUS_FANOUT;
}

static int group_end(const saltus_tables *t, int g)
{
    const int end = (g + 1) * SALTUS_FANOUT;
    return end < t->n_reactions ? end : t->n_reactions;
}

/* Up to 16 reactions all propensities are recomputed at every event, without a branch; above, a
 * switch over groups recomputes those of one. */
static bool is_flat(const saltus_tables *t)
{
    return n_groups(t) <= 2;
}

/* The running sums of a group's propensities from the counts: c of each reaction. */
static void put_group_function(const writer *w, int g)
{
    const int first = g * SALTUS_FANOUT;
    fprintf(w->out, "SALTUS_FN void saltus_sum%d(saltus_small *s, int *bad)\n{\n    (void)bad;\n",
            g);
    for (int r = first; r < group_end(w->t, g); ++r) {
        fprintf(w->out, "    const double a%d = saltus_law%d(s);\n", r, r);
        if (w->t->law_program[r] >= 0) {
            fprintf(w->out, "    *bad |= !(a%d >= 0.0);\n", r);
        }
        if (r == first) {
            fprintf(w->out, "    s->c%d = a%d;\n", r, r);
        } else {
            fprintf(w->out, "    s->c%d = s->c%d + a%d;\n", r, r - 1, r);
        }
    }
    fprintf(w->out, "}\n");
}

/* The first of n running sums, s->K and a number from `first` on, that exceeds low is that of the
 * first of isK0, isK1 … that holds, or the last; nearK: it does not exceed high. */
static void put_choice(const writer *w, char kind, int first, int n)
{
    const char sum = kind == 'g' ? 't' : 'c';
    fprintf(w->out, "        double up%c = s->%c%d;\n", kind, sum, first + n - 1);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(
            w->out,
            "        const int is%c%d = s->%c%d > low;\n        up%c = is%c%d ? s->%c%d : up%c;\n",
            kind, i, sum, first + i, kind, kind, i, sum, first + i, kind);
    }
    fprintf(w->out, "        const int near%c = up%c < high;\n", kind, kind);
}

/* The amount by which reaction r changes species s. */
static int64_t change_of(const saltus_tables *t, int r, int s)
{
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        if (t->change_species[c] == s) {
            return t->change_amount[c];
        }
    }
    return 0;
}

static bool is_unsafe(const saltus_tables *t, int s)
{
    for (int i = 0; i < t->n_unsafe; ++i) {
        if (t->unsafe[i] == s) {
            return true;
        }
    }
    return false;
}

/* Whether some reaction of a group changes a species. */
static bool changes(const saltus_tables *t, int g, int s)
{
    for (int r = g * SALTUS_FANOUT; r < group_end(t, g); ++r) {
        if (change_of(t, r, s) != 0) {
            return true;
        }
    }
    return false;
}

/* The amount by which the reaction chosen in a group changes a species, without a branch: that of
 * the first reaction whose sum exceeds low. */
static void put_amount(const writer *w, int g, int s)
{
    const saltus_tables *t = w->t;
    const int first = g * SALTUS_FANOUT, last = group_end(t, g) - 1;
    for (int r = first; r < last; ++r) {
        if (change_of(t, r, s) != change_of(t, r + 1, s)) {
            fprintf(w->out, "isk%d ? %" PRId64 ".0 : ", r - first, change_of(t, r, s));
        }
    }
    fprintf(w->out, "%" PRId64 ".0", change_of(t, last, s));
}

static void put_check(const writer *w, int s)
{
    if (is_unsafe(w->t, s)) {
        fprintf(w->out, "            bad |= s->x%d < 0.0;\n", s);
    }
}

/* What a firing in group g changes. */
static void put_changes(const writer *w, int g)
{
    for (int s = 0; s < w->t->n_species; ++s) {
        if (changes(w->t, g, s)) {
            fprintf(w->out, "            s->x%d += ", s);
            put_amount(w, g, s);
            fprintf(w->out, ";\n");
            put_check(w, s);
        }
    }
}

/* Whether a firing of some reaction of group g changes a propensity of group h. */
static bool touches(const saltus_tables *t, int g, int h)
{
    for (int r = g * SALTUS_FANOUT; r < group_end(t, g); ++r) {
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            if (t->dependent[i] / SALTUS_FANOUT == h) {
                return true;
            }
        }
    }
    return false;
}

static void put_state(const writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "typedef struct saltus_small {\n    double time;\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out, "    double x%d;\n", s);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        fprintf(w->out, "    double c%d;\n", r); /* running sums in each group */
    }
    for (int g = 0; g < n_groups(t); ++g) {
        fprintf(w->out, "    double t%d;\n", g); /* running sums of groups */
    }
    fprintf(w->out, "} saltus_small;\n");
}

static void put_functions(const writer *w)
{
    const saltus_tables *t = w->t;
    for (int i = 0; i < t->n_rules; ++i) {
        put_program(w, "saltus_rule", i, t->rules[i]);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        put_law(w, r);
    }
    for (int g = 0; g < n_groups(t); ++g) {
        put_group_function(w, g);
    }
}

/* Sums of all groups from the counts. */
static void put_refresh(const writer *w)
{
    fprintf(w->out, "SALTUS_FN int saltus_small_refresh(saltus_small *s)\n{\n    int bad = 0;\n");
    for (int g = 0; g < n_groups(w->t); ++g) {
        fprintf(w->out, "    saltus_sum%d(s, &bad);\n", g);
    }
    fprintf(w->out, "    return bad;\n}\n");
}

static void put_start(const writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN void saltus_small_start(saltus_small *s)\n{\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out, "    s->x%d = %" PRId64 ".0;\n", s, t->initial_counts[s]);
    }
    fprintf(w->out, "}\nSALTUS_FN void saltus_small_load(saltus_small *s, const double *v)\n{\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out, "    s->x%d = v[SALTUS_AT(%d)];\n", s, s);
    }
    fprintf(w->out, "}\nSALTUS_FN int saltus_small_save(const saltus_small *s, double *v)\n{\n"
                    "    int beyond = 0;\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out, "    v[SALTUS_AT(%d)] = s->x%d;\n    beyond |= s->x%d > 0x1p52;\n", s, s,
                s);
    }
    fprintf(w->out, "    return beyond;\n}\n");
}

/* The sum of all propensities; where nothing keeps the groups' sums up to date, those first. */
static void put_total(const writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN double saltus_small_total(saltus_small *s, int *bad)\n{\n%s",
            is_flat(t) ? "    *bad |= saltus_small_refresh(s);\n" : "    (void)bad;\n");
    for (int g = 0; g < n_groups(t); ++g) {
        fprintf(w->out, "    s->t%d = ", g);
        if (g > 0) {
            fprintf(w->out, "s->t%d + ", g - 1);
        }
        fprintf(w->out, "s->c%d;\n", group_end(t, g) - 1);
    }
    fprintf(w->out, "    return s->t%d;\n}\n", n_groups(t) - 1);
}

static const char refine[] =
    "            low = saltus_choice_refined(total, word, seed, trajectory, event);\n";

static void put_fire_head(const writer *w)
{
    fprintf(w->out,
            "SALTUS_FN int saltus_small_fire(saltus_small *s, double total, double word,\n"
            "                                uint64_t seed, uint64_t trajectory, uint64_t event)\n"
            "{\n    const double unit = total * SALTUS_TWO_M32;\n"
            "    double low = word * unit, high = low + unit;\n    int bad = 0;\n");
}

/* pg: the second group; the first of isk0, isk1 … that holds: the reaction in it. near: a boundary
 * lies between low and high, or may do so as far as the upper halves of their bits tell; `exact`
 * looks at all bits. */
static void put_choose_flat(const writer *w, bool exact)
{
    const saltus_tables *t = w->t;
    const int n = group_end(t, 0), last = t->n_reactions - 1;
    const char *of = exact ? "" : "saltus_high_word", *below = exact ? "<" : "<=";
    if (n_groups(t) == 2) {
        fprintf(w->out,
                "        pg = s->c%d <= low;\n"
                "        const double base = pg ? s->c%d : 0.0, last = pg ? s->c%d : s->c%d;\n"
                "        const double h = high - base;\n        double l = low - base;\n"
                "        l = l < last ? l : saltus_below(last);\n"
                "        near = %s(pg ? total : s->c%d) %s %s(high);\n",
                n - 1, n - 1, last, n - 1, of, n - 1, below, of);
    } else {
        fprintf(w->out,
                "        const double l = low, h = high, last = s->c%d;\n        near = 0;\n",
                last);
    }
    fprintf(w->out, "        %s up = %s(last);\n", exact ? "double" : "int32_t", of);
    for (int i = n - 2; i >= 0; --i) {
        const int other = n + i < last ? n + i : last;
        if (n_groups(t) == 2) {
            fprintf(w->out, "        const double e%d = pg ? s->c%d : s->c%d;\n", i, other, i);
        } else {
            fprintf(w->out, "        const double e%d = s->c%d;\n", i, i);
        }
        fprintf(w->out, "        isk%d = e%d > l;\n        up = isk%d ? %s(e%d) : up;\n", i, i, i,
                of, i);
    }
    fprintf(w->out, "        near |= up %s %s(h);\n", below, of);
}

/* Choose and fire where there are one or two groups. */
static void put_fire_flat(const writer *w)
{
    const saltus_tables *t = w->t;
    const bool two = n_groups(t) == 2;
    put_fire_head(w);
    fprintf(w->out, "    int near, pg = 0");
    for (int i = 0; i + 1 < group_end(t, 0); ++i) {
        fprintf(w->out, ", isk%d", i);
    }
    fprintf(w->out, ";\n    (void)pg;\n    {\n");
    put_choose_flat(w, false);
    fprintf(w->out, "    }\n    for (int refined = 0; SALTUS_RARE(near); refined = 1) {\n");
    put_choose_flat(w, true);
    fprintf(w->out, "        if (refined || !near) {\n            break;\n        }\n%s    }\n",
            refine);
    for (int s = 0; s < t->n_species; ++s) {
        const bool first = changes(t, 0, s), second = two && changes(t, 1, s);
        if (first || second) {
            fprintf(w->out, "            s->x%d += %s", s, two ? "pg ? (" : "");
            if (two) {
                put_amount(w, 1, s);
                fprintf(w->out, ") : ");
            }
            put_amount(w, 0, s);
            fprintf(w->out, ";\n");
            put_check(w, s);
        }
    }
    fprintf(w->out, "    return bad;\n}\n");
}

/* The group, then the reaction in it, then the sums of the groups that may have changed. Where 32
 * bits do not decide, all once more with further bits. */
static void put_fire_groups(const writer *w)
{
    const saltus_tables *t = w->t;
    const int groups = n_groups(t);
    put_fire_head(w);
    fprintf(w->out, "    int again = 0, refined = 0;\n    do {\n");
    put_choice(w, 'g', 0, groups);
    fprintf(w->out, "        const double base = ");
    for (int g = 0; g + 1 < groups; ++g) {
        fprintf(w->out, g == 0 ? "isg0 ? 0.0 : " : "isg%d ? s->t%d : ", g, g - 1);
    }
    fprintf(w->out,
            "s->t%d;\n        low = low - base;\n        high = high - base;\n        switch (%d",
            groups - 2, groups - 1);
    for (int g = 0; g + 1 < groups; ++g) {
        fprintf(w->out, " - isg%d", g);
    }
    fprintf(w->out, ") {\n");
    for (int g = 0; g < groups; ++g) {
        const int first = g * SALTUS_FANOUT, last = group_end(t, g) - 1;
        fprintf(w->out, g + 1 < groups ? "        case %d: {\n" : "        default: { /* %d */\n",
                g);
        fprintf(w->out, "            low = low < s->c%d ? low : saltus_below(s->c%d);\n", last,
                last);
        put_choice(w, 'k', first, last + 1 - first);
        fprintf(w->out,
                "            again = (nearg | neark) && !refined;\n"
                "            if (SALTUS_RARE(again)) {\n                break;\n            }\n");
        put_changes(w, g);
        for (int h = 0; h < groups; ++h) {
            if (touches(t, g, h)) {
                fprintf(w->out, "            saltus_sum%d(s, &bad);\n", h);
            }
        }
        fprintf(w->out, "            break;\n        }\n");
    }
    fprintf(w->out,
            "        }\n        if (SALTUS_RARE(again)) {\n%s            high = 0.0;\n"
            "            refined = 1;\n        }\n"
            "    } while (SALTUS_RARE(again));\n    return bad;\n}\n",
            refine);
}

/* One sample, to where the trajectory's next one goes. */
static void put_record(const writer *w)
{
    const saltus_columns *c = w->columns;
    fprintf(
        w->out,
        "SALTUS_FN void saltus_small_record(saltus_small *s, double time, saltus_samples *to)\n{\n"
        "    int64_t *counts = to->counts;\n    double *observables = to->observables;\n"
        "    s->time = time;\n    to->counts += %d;\n    to->observables += %d;\n"
        "    (void)counts;\n    (void)observables;\n",
        c->n_counts, c->n_observables);
    for (int i = 0; i < c->n_counts; ++i) {
        fprintf(w->out, "    counts[%d] = saltus_whole(s->x%d);\n", i, c->count_species[i]);
    }
    for (int i = 0; i < c->n_observables; ++i) {
        const saltus_observable *o = &c->observables[i];
        fprintf(w->out, "    observables[%d] = ", i);
        if (o->row < 0) {
            put_number(w->out, o->value);
        } else {
            put_row(w, o->row);
        }
        fprintf(w->out, " / ");
        if (o->divisor_row < 0) {
            put_number(w->out, o->divisor);
        } else {
            put_row(w, o->divisor_row);
        }
        fprintf(w->out, ";\n");
    }
    fprintf(w->out, "}\n");
}

saltus_status saltus_registers_text(const saltus_tables *tables, const saltus_columns *columns,
                                    char **text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t size = 0;
    writer w = {.t = tables, .columns = columns};
    *text = NULL;
    w.out = open_memstream(text, &size);
    SALTUS_NEED(w.out);
    fprintf(w.out,
            "#include \"kernel/direct_tree.h\"\n#include \"kernel/launch.h\"\n"
            "#define SALTUS_N_COUNTS %d\n#define SALTUS_N_OBSERVABLES %d\n",
            columns->n_counts, columns->n_observables);
    put_state(&w);
    put_functions(&w);
    put_refresh(&w);
    put_start(&w);
    put_total(&w);
    if (is_flat(tables)) {
        put_fire_flat(&w);
    } else {
        put_fire_groups(&w);
    }
    put_record(&w);
    fprintf(w.out, "#include \"kernel/direct_registers.h\"\n");
    if (fclose(w.out) != 0) {
        free(*text);
        *text = NULL;
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    return status;
}
