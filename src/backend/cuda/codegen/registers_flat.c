/* Kernels in registers for up to 16 reactions: all propensities are computed anew at every event,
 * and nothing branches. */
#include "backend/cuda/codegen/registers_text.h"

#include <inttypes.h>

void saltus_put_flat_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "typedef struct saltus_worker_state {\n    double time;\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out, "    double x%d;\n", s);
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        fprintf(w->out, "    double c%d;\n", r); /* running sums in each group */
    }
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        fprintf(w->out, "    double t%d;\n", g); /* running sums of groups */
    }
    for (int k = 0; k < saltus_n_varying(t, w->varies); ++k) {
        fprintf(w->out, "    double k%d;\n", k);
    }
    if (t->n_thinned > 0) {
        saltus_put_drift_state(w);
    }
    if (saltus_has_events(t)) {
        saltus_put_event_state(w);
    }
    if (t->n_rates > 0) {
        saltus_put_rate_state(w);
    }
    saltus_put_shape_state(w);
    fprintf(w->out, "} saltus_worker_state;\n#define SALTUS_K(i) s->k##i\n"
                    "#define SALTUS_X(i) SALTUS_X_(i)\n#define SALTUS_X_(i) s->x##i\n"
                    "SALTUS_FN void saltus_state_open(saltus_worker_state *s, const saltus_launch "
                    "*a)\n{\n    (void)a;\n    (void)s;\n}\n");
}

void saltus_put_lacks(const saltus_writer *w, int r)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "(0");
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        if (t->change_amount[c] < 0) {
            fprintf(w->out, " || SALTUS_X(%d) < %" PRId64 ".0", t->change_species[c],
                    -t->change_amount[c]);
        }
    }
    fprintf(w->out, ")");
}

/* Write what is done where a law is negative or no number, as 0 / 0 is where all that it reads has
 * run out: a reaction that lacks what it takes has propensity 0. */
static void put_check(const saltus_writer *w, int r)
{
    if (!saltus_may_lack(w->t, r)) {
        fprintf(w->out, "    *bad |= !(a%d >= 0.0);\n", r);
        return;
    }
    fprintf(w->out, "    if (SALTUS_RARE(!(a%d >= 0.0))) {\n        a%d = ", r, r);
    saltus_put_lacks(w, r);
    fprintf(w->out, " ? 0.0 : a%d;\n        *bad |= !(a%d >= 0.0);\n    }\n", r, r);
}

/* Write how the running sums of a group's propensities, c of each reaction, follow from the counts.
 */
static void put_group_function(const saltus_writer *w, int g)
{
    const int first = g * SALTUS_FANOUT;
    fprintf(w->out,
            "SALTUS_FN void saltus_sum%d(saltus_worker_state *s, int *bad)\n{\n    (void)bad;\n",
            g);
    for (int r = first; r < saltus_group_end(w->t, g); ++r) {
        const int thinned = w->t->n_thinned > 0 ? w->t->thinned_of[r] : -1;
        const bool is_kept = saltus_is_kept(w, r);
        if (thinned >= 0) {
            fprintf(w->out, "    const double a%d = s->bound%d;\n", r, thinned);
        } else if (saltus_is_moving(w->t, r)) {
            fprintf(w->out, "    const double a%d = s->m%d;\n", r, r);
        } else if (is_kept) {
            fprintf(w->out, "    %sdouble a%d = s->a%d;\n",
                    saltus_may_lack(w->t, r) ? "" : "const ", r, r);
        } else {
            fprintf(w->out, "    %sdouble a%d = saltus_law%d(s);\n",
                    saltus_may_lack(w->t, r) ? "" : "const ", r, r);
        }
        if (w->t->law_program[r] >= 0 && thinned < 0 && !saltus_is_moving(w->t, r) &&
            (!is_kept || w->t->idles)) {
            put_check(w, r);
        }
        if (r == first) {
            fprintf(w->out, "    s->c%d = a%d;\n", r, r);
        } else {
            fprintf(w->out, "    s->c%d = s->c%d + a%d;\n", r, r - 1, r);
        }
    }
    fprintf(w->out, "}\n");
}

/* Write how all that is kept from event to event follows from the counts. */
static void put_refresh(const saltus_writer *w)
{
    saltus_put_shapes(w);
    fprintf(w->out, "SALTUS_FN int saltus_state_refresh(saltus_worker_state *s, const "
                    "saltus_launch *a)\n{\n    int bad = 0;\n    (void)a;\n"
                    "    saltus_renew(s, &bad);\n    return bad;\n}\n");
}

/* The sum of all propensities; those that are not kept are computed for it. */
static void put_total(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN double saltus_state_total(saltus_worker_state *s, const "
                    "saltus_launch *a,\n                                          int *bad)\n{\n"
                    "    (void)a;\n");
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        fprintf(w->out, "    saltus_sum%d(s, bad);\n", g);
    }
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        fprintf(w->out, "    s->t%d = ", g);
        if (g > 0) {
            fprintf(w->out, "s->t%d + ", g - 1);
        }
        fprintf(w->out, "s->c%d;\n", saltus_group_end(t, g) - 1);
    }
    fprintf(w->out, "    return s->t%d;\n}\n", saltus_n_groups(t) - 1);
}

/* Whether some reaction of a group changes a species. */
static bool changes(const saltus_tables *t, int g, int s)
{
    for (int r = g * SALTUS_FANOUT; r < saltus_group_end(t, g); ++r) {
        if (saltus_change_of(t, r, s) != 0) {
            return true;
        }
    }
    return false;
}

/* Write the value of the chosen reaction of a group, the first whose sum exceeds low. */
static void put_chosen_of_group(const saltus_writer *w, int g, const int64_t *values,
                                const char *suffix)
{
    const int first = g * SALTUS_FANOUT, last = saltus_group_end(w->t, g) - 1;
    for (int r = first; r < last; ++r) {
        if (values[r] != values[r + 1]) {
            fprintf(w->out, "isk%d ? %" PRId64 "%s : ", r - first, values[r], suffix);
        }
    }
    fprintf(w->out, "%" PRId64 "%s", values[last], suffix);
}

void saltus_put_chosen(const saltus_writer *w, const int64_t *values, const char *suffix)
{
    const bool two = saltus_n_groups(w->t) == 2;
    fprintf(w->out, "%s", two ? "pg ? (" : "");
    if (two) {
        put_chosen_of_group(w, 1, values, suffix);
        fprintf(w->out, ") : ");
    }
    put_chosen_of_group(w, 0, values, suffix);
}

/* Write by how much the chosen reaction changes species s. */
static void put_change(const saltus_writer *w, int s)
{
    int64_t amounts[2 * SALTUS_FANOUT] = {0};
    for (int r = 0; r < w->t->n_reactions; ++r) {
        amounts[r] = saltus_change_of(w->t, r, s);
    }
    saltus_put_chosen(w, amounts, ".0");
}

static bool some_change(const saltus_tables *t, int s)
{
    return changes(t, 0, s) || (saltus_n_groups(t) == 2 && changes(t, 1, s));
}

/* Write by how much the chosen reaction changes species s: as kept, or from what chose it. */
static void put_amount(const saltus_writer *w, int s, bool is_kept)
{
    if (is_kept) {
        fprintf(w->out, "k->d%d", s);
    } else {
        put_change(w, s);
    }
}

/* Write the changes of the counts. Where reactions may idle, `fires` is 0 where the chosen one
 * lacks what it takes; `bad` is set where they may not. Without `has_fires` there is none, and it
 * fires. */
static void put_changes(const saltus_writer *w, bool is_kept, bool has_fires, const char *bad)
{
    const saltus_tables *t = w->t;
    const bool idles = saltus_may_idle(t);
    for (int i = 0; i < t->n_unsafe && idles; ++i) {
        if (some_change(t, t->unsafe[i])) {
            fprintf(w->out, "    fires &= SALTUS_X(%d) + (", t->unsafe[i]);
            put_amount(w, t->unsafe[i], is_kept);
            fprintf(w->out, ") >= 0.0;\n");
        }
    }
    for (int s = 0; s < t->n_species; ++s) {
        if (some_change(t, s)) {
            fprintf(w->out, "    SALTUS_X(%d) += %s", s, has_fires ? "!fires ? 0.0 : " : "");
            put_amount(w, s, is_kept);
            fprintf(w->out, ";\n");
            if (saltus_is_unsafe(t, s) && !idles) {
                fprintf(w->out, "    %s |= SALTUS_X(%d) < 0.0;\n", bad, s);
            }
        }
    }
}

void saltus_put_changes(const saltus_writer *w)
{
    put_changes(w, false, true, "*bad");
}

/* pg: the second group; the first of isk0, isk1 … that holds: the reaction in it. near: a boundary
 * lies between low and high, or may do so by the upper halves of their bits; `exact` compares all
 * bits. */
static void put_choose(const saltus_writer *w, bool exact)
{
    const saltus_tables *t = w->t;
    const int n = saltus_group_end(t, 0), last = t->n_reactions - 1;
    const char *of = exact ? "" : "saltus_high_word", *below = exact ? "<" : "<=";
    if (saltus_n_groups(t) == 2) {
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
        if (saltus_n_groups(t) == 2) {
            fprintf(w->out, "        const double e%d = pg ? s->c%d : s->c%d;\n", i, other, i);
        } else {
            fprintf(w->out, "        const double e%d = s->c%d;\n", i, i);
        }
        fprintf(w->out, "        isk%d = e%d > l;\n        up = isk%d ? %s(e%d) : up;\n", i, i, i,
                of, i);
    }
    fprintf(w->out, "        near |= up %s %s(h);\n", below, of);
}

/* Write a declaration of pg and isk0, isk1 …, with a text behind the name of each. */
static void put_flags(const saltus_writer *w, const char *type, const char *pg, const char *is)
{
    fprintf(w->out, "    %s pg%s", type, pg);
    for (int i = 0; i + 1 < saltus_group_end(w->t, 0); ++i) {
        fprintf(w->out, *is ? ", isk%d = %s%d" : ", isk%d", i, is, i);
    }
    fprintf(w->out, ";\n");
}

/* Write how what was chosen is kept, and what it changes. */
static void put_kept_choice(const saltus_writer *w)
{
    fprintf(w->out, "    k->pg = pg;\n");
    for (int i = 0; i + 1 < saltus_group_end(w->t, 0); ++i) {
        fprintf(w->out, "    k->isk%d = isk%d;\n", i, i);
    }
    for (int s = 0; s < w->t->n_species; ++s) {
        if (some_change(w->t, s)) {
            fprintf(w->out, "    k->d%d = ", s);
            put_change(w, s);
            fprintf(w->out, ";\n");
        }
    }
}

/* Write saltus_chosen: a reaction, and what it changes. */
static void put_chosen_type(const saltus_writer *w)
{
    fprintf(w->out, "typedef struct saltus_chosen {\n");
    put_flags(w, "int", "", "");
    for (int s = 0; s < w->t->n_species; ++s) {
        if (some_change(w->t, s)) {
            fprintf(w->out, "    double d%d;\n", s);
        }
    }
    fprintf(w->out, "} saltus_chosen;\n");
}

/* Write how a reaction is chosen by its word, and where that does not decide, with further bits. */
static void put_choices(const saltus_writer *w)
{
    fprintf(w->out, SALTUS_REFINE_FUNCTION
            "SALTUS_FN int saltus_state_choose(const saltus_worker_state *s, double total,\n"
            "                                  double word, saltus_chosen *k)\n"
            "{\n    const double unit = saltus_part_of_word(total);\n"
            "    const double low = word * unit, high = low + unit;\n    int near;\n");
    put_flags(w, "int", " = 0", "");
    fprintf(w->out, "    (void)pg;\n    {\n");
    put_choose(w, false);
    fprintf(w->out, "    }\n");
    put_kept_choice(w);
    fprintf(w->out,
            "    return near;\n}\n"
            "SALTUS_FN void saltus_state_decide(const saltus_worker_state *s, double total, double "
            "word,\n"
            "                                   const saltus_launch *a, uint64_t trajectory,\n"
            "                                   uint64_t block, int event_half, saltus_chosen *k)\n"
            "{\n    const double unit = total * SALTUS_TWO_M32;\n"
            "    double low = word * unit, high = low + unit;\n    int near;\n");
    put_flags(w, "int", " = 0", "");
    fprintf(w->out, "    (void)pg;\n    for (int refined = 0;; refined = 1) {\n");
    put_choose(w, true);
    fprintf(w->out, "        if (refined || !near) {\n            break;\n        }\n%s    }\n",
            SALTUS_REFINE);
    put_kept_choice(w);
    fprintf(w->out, "}\n");
}

/* Write how the chosen reaction fires. */
static void put_apply(const saltus_writer *w)
{
    const bool idles = saltus_may_idle(w->t);
    fprintf(w->out,
            "SALTUS_FN int saltus_state_apply(saltus_worker_state *s, const saltus_chosen "
            "*k)\n{\n    int bad = 0%s;\n",
            idles ? ", fires = 1" : "");
    put_flags(w, "const int", " = k->pg", "k->isk");
    fprintf(w->out, "    (void)pg;\n");
    put_changes(w, true, idles, "bad");
    saltus_put_shape_changes(w);
    fprintf(w->out, "    return %s;\n}\n", idles ? "bad | (fires ? 0 : 2)" : "bad");
}

/* Write how a reaction is chosen and fires where there are one or two groups. */
static void put_fire(const saltus_writer *w)
{
    fprintf(w->out, "#define SALTUS_CHOOSES 1\n");
    put_chosen_type(w);
    put_choices(w);
    put_apply(w);
    fprintf(w->out,
            "SALTUS_FN int saltus_state_fire(saltus_worker_state *s, double total, double word,\n"
            "                                const saltus_launch *a, uint64_t trajectory,\n"
            "                                uint64_t block, int event_half)\n"
            "{\n    saltus_chosen k;\n"
            "    const int near = saltus_state_choose(s, total, word, &k);\n"
            "    if (SALTUS_RARE(near || !saltus_divides(total))) {\n"
            "        saltus_state_decide(s, total, word, a, trajectory, block, event_half, &k);\n"
            "    }\n    return saltus_state_apply(s, &k);\n}\n");
}

void saltus_put_flat(const saltus_writer *w)
{
    const bool drifts = w->t->n_thinned > 0;
    fprintf(w->out, "%s", saltus_may_idle(w->t) ? "#define SALTUS_IDLES 1\n" : "");
    if (drifts) {
        saltus_put_drifts(w);
    }
    for (int g = 0; g < saltus_n_groups(w->t); ++g) {
        put_group_function(w, g);
    }
    put_refresh(w);
    put_total(w);
    if (drifts) {
        saltus_put_take(w);
    } else {
        put_fire(w);
    }
}
