/* Kernels for 9 to 64 reactions in groups of eight: the sum of every group is in a register, the
 * counts in shared memory. An event computes the propensities of the group that it falls into, and
 * after it the sums of the groups that it may have changed.
 *
 * Groups that are alike but for their species and rates (copies of a motif) share one code, in
 * which the group is a number: threads of a warp that are in different groups stay together. */
#include "backend/cuda/codegen/registers_kinds.h"

#include <inttypes.h>

enum { HALF = SALTUS_FANOUT / 2 };

/* Write tables by group, for what cannot be computed from its number. */
static void put_tables(const saltus_writer *w, const saltus_kind *k, int number)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0];
    int stride;
    if (!saltus_kind_stride(k, &stride)) {
        fprintf(w->out, "SALTUS_TABLE int16_t saltus_places%d[%d][%d] = {\n", number,
                saltus_n_groups(t), k->of[0].n);
        for (int g = 0, m = 0; g < saltus_n_groups(t); ++g) {
            const bool is_member = m < k->n_groups && k->groups[m] == g;
            fprintf(w->out, "    {0");
            for (int l = 0; l < k->of[0].n; ++l) {
                fprintf(w->out, l == 0 ? " + %d" : ", %d", is_member ? k->of[m].species[l] : 0);
            }
            fprintf(w->out, "},\n");
            m += is_member;
        }
        fprintf(w->out, "};\n");
    }
    for (int i = 0; i < saltus_group_reactions(t, first); ++i) {
        if (saltus_kind_same_rate(w, k, i) || saltus_kind_varies(w, k, i)) {
            continue;
        }
        fprintf(w->out, "SALTUS_TABLE double saltus_rates%d_%d[%d] = {", number, i,
                saltus_n_groups(t));
        for (int g = 0; g < saltus_n_groups(t); ++g) {
            saltus_put_table_rate(w, i < saltus_group_reactions(t, g) ? g * SALTUS_FANOUT + i
                                                                      : t->n_reactions);
            fprintf(w->out, ", ");
        }
        fprintf(w->out, "};\n");
    }
}

/* Write the rate of reaction i of group g where it varies. */
static void put_varying_rate(const saltus_writer *w, const saltus_kind *k, int i)
{
    fprintf(w->out, "(");
    for (int m = 0; m < k->n_groups; ++m) {
        const bool is_last = m + 1 == k->n_groups;
        if (!is_last) {
            fprintf(w->out, "g == %d ? ", k->groups[m]);
        }
        if (i < saltus_group_reactions(w->t, k->groups[m])) {
            saltus_put_rate(w, k->groups[m] * SALTUS_FANOUT + i);
        } else {
            fprintf(w->out, "0.0");
        }
        fprintf(w->out, is_last ? ")" : " : ");
    }
}

/* Write what is done where law r, aPREFIXi, is negative or no number: it is 0 where its reaction
 * lacks what it takes. */
static void put_check(const saltus_writer *w, int r, int i, char var, char prefix, saltus_locals *l)
{
    const saltus_tables *t = w->t;
    if (!saltus_may_lack(t, r)) {
        fprintf(w->out, "            bad |= !(a%c%d >= 0.0);\n", prefix, i);
        return;
    }
    fprintf(w->out, "            if (SALTUS_RARE(!(a%c%d >= 0.0))) {\n                a%c%d = 0",
            prefix, i, prefix, i);
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        if (t->change_amount[c] < 0) {
            fprintf(w->out, " || %c%d < %" PRId64 ".0", var,
                    saltus_local_of(l, t->change_species[c]), -t->change_amount[c]);
        }
    }
    fprintf(w->out, " ? 0.0 : a%c%d;\n                bad |= !(a%c%d >= 0.0);\n            }\n",
            prefix, i, prefix, i);
}

/* Write aPREFIXi, propensity i of the group, from its local counts VAR0, VAR1 … Reactions are
 * written in their order. */
static void put_law(const saltus_writer *w, const saltus_kind *k, int number, int i, char var,
                    char prefix, saltus_locals *l)
{
    const saltus_tables *t = w->t;
    const int r = k->groups[0] * SALTUS_FANOUT + i;
    const bool is_product = saltus_is_product(t, r);
    fprintf(w->out,
            "            %sdouble a%c%d = ", is_product || !saltus_may_lack(t, r) ? "const " : "",
            prefix, i);
    if (!is_product) {
        fprintf(w->out, "saltus_law%d(s);\n", r);
    } else {
        if (saltus_kind_same_rate(w, k, i)) {
            saltus_put_rate(w, r);
        } else if (saltus_kind_varies(w, k, i)) {
            put_varying_rate(w, k, i);
        } else {
            fprintf(w->out, "saltus_rates%d_%d[g]", number, i);
        }
        for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
            fprintf(w->out, " * (%c%d - %d.0)", var, saltus_local_of(l, t->factor_species[f]),
                    (int)t->factor_offset[f]);
        }
        fprintf(w->out, ";\n");
    }
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        (void)saltus_local_of(l, t->change_species[c]);
    }
    if (!is_product) {
        put_check(w, r, i, var, prefix, l);
    }
}

/* Write PREFIX0, PREFIX1 …, the running sums of all propensities, from y0, y1 … */
static void put_sums(const saltus_writer *w, const saltus_kind *k, int number, char prefix)
{
    saltus_locals l = {0};
    for (int i = 0; i < saltus_group_reactions(w->t, k->groups[0]); ++i) {
        put_law(w, k, number, i, 'y', prefix, &l);
        fprintf(w->out, "            const double %c%d = ", prefix, i);
        fprintf(w->out, i == 0 ? "a%c%d;\n" : "%c%d + a%c%d;\n", prefix, i == 0 ? i : i - 1, prefix,
                i);
    }
}

/* Write y0, y1 …, the group's counts, which are at x + place. */
static void put_load(const saltus_writer *w, const saltus_kind *k, int number)
{
    int stride;
    const bool has_stride = saltus_kind_stride(k, &stride);
    if (has_stride) {
        fprintf(w->out, "            double *x = s->x + (g - %d) * %d * SALTUS_BLOCK;\n",
                k->groups[0], stride);
    } else {
        fprintf(w->out,
                "            double *x = s->x;\n            const int16_t *place = "
                "saltus_places%d[g];\n",
                number);
    }
    fprintf(w->out, "            (void)x;\n");
    for (int l = 0; l < k->of[0].n; ++l) {
        if (has_stride) {
            fprintf(w->out, "            const int at%d = %d * SALTUS_BLOCK;\n", l,
                    k->of[0].species[l]);
        } else {
            fprintf(w->out, "            const int at%d = place[%d] * SALTUS_BLOCK;\n", l, l);
        }
        fprintf(w->out, "            double y%d = x[at%d];\n            (void)y%d;\n", l, l, l);
    }
}

/* Whether what the kind's groups change has a part in their own propensities. */
static bool touches_itself(const saltus_tables *t, const saltus_kind *k)
{
    bool does = false;
    for (int m = 0; m < k->n_groups; ++m) {
        does |= saltus_touches(t, k->groups[m], k->groups[m]);
    }
    return does;
}

/* Write the new sum of the event's group, in register u or h. */
static void put_new_sum(const saltus_writer *w, const saltus_kind *k, char name, char prefix, int i)
{
    for (int m = 0; m < k->n_groups; ++m) {
        const int g = k->groups[m];
        fprintf(w->out, "            s->%c%d = ", name, g);
        if (k->n_groups > 1) {
            fprintf(w->out, "g != %d ? s->%c%d : ", g, name, g);
        }
        fprintf(w->out, "%c%d;\n", prefix, i);
    }
}

/* Whether some of the first n reactions of a kind change local count l. */
static bool changes(const saltus_tables *t, const saltus_kind *k, int n, int l)
{
    bool does = false;
    for (int i = 0; i < n; ++i) {
        does |= saltus_change_of(t, k->groups[0] * SALTUS_FANOUT + i, k->of[0].species[l]) != 0;
    }
    return does;
}

/* Write by how much the reaction that is chosen among the first n, the first whose sum exceeds low,
 * changes a local count. */
static void put_amount(const saltus_writer *w, const saltus_kind *k, int n, int l)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0] * SALTUS_FANOUT, last = first + n - 1, s = k->of[0].species[l];
    for (int r = first; r < last; ++r) {
        if (saltus_change_of(t, r, s) != saltus_change_of(t, r + 1, s)) {
            fprintf(w->out, "is%d ? %" PRId64 ".0 : ", r - first, saltus_change_of(t, r, s));
        }
    }
    fprintf(w->out, "%" PRId64 ".0", saltus_change_of(t, last, s));
}

/* Write the changes of the first m local counts, which are at x[atL], by that reaction. */
static void put_changes(const saltus_writer *w, const saltus_kind *k, int n, int m, const char *x)
{
    const saltus_tables *t = w->t;
    const bool idles = saltus_may_idle(t);
    for (int l = 0; l < m && idles; ++l) {
        if (saltus_is_unsafe(t, k->of[0].species[l]) && changes(t, k, n, l)) {
            fprintf(w->out, "            fires &= y%d + (", l);
            put_amount(w, k, n, l);
            fprintf(w->out, ") >= 0.0;\n");
        }
    }
    for (int l = 0; l < m; ++l) {
        if (changes(t, k, n, l)) {
            fprintf(w->out, "            y%d += %s", l, idles ? "!fires ? 0.0 : " : "");
            put_amount(w, k, n, l);
            fprintf(w->out, ";\n            %s[at%d] = y%d;\n", x, l, l);
            if (saltus_is_unsafe(t, k->of[0].species[l]) && !idles) {
                fprintf(w->out, "            bad |= y%d < 0.0;\n", l);
            }
        }
    }
}

/* Write how a reaction is chosen in a group of this kind, how it fires, and the group's new sum. */
static void put_kind(const saltus_writer *w, const saltus_kind *k, int number)
{
    const int n = saltus_group_reactions(w->t, k->groups[0]);
    put_load(w, k, number);
    put_sums(w, k, number, 'c');
    fprintf(w->out,
            "            const double h = high - base;\n            double l = low - base;\n"
            "            l = l < c%d ? l : saltus_below(c%d);\n",
            n - 1, n - 1);
    saltus_put_choose(w, n, "");
    put_changes(w, k, n, k->of[0].n, "x");
    if (touches_itself(w->t, k)) {
        put_sums(w, k, number, 'd');
        put_new_sum(w, k, 'u', 'd', n - 1);
    }
}

/* Count the local species of the first half of a group, which come before the others. */
static int count_half_locals(const saltus_tables *t, const saltus_kind *k)
{
    const int first = k->groups[0] * SALTUS_FANOUT;
    saltus_locals l = {0};
    saltus_add_locals(t, first, first + HALF, &l);
    return l.n;
}

/* Write the sum of the first half of the event's group. */
static void put_half_sum(const saltus_writer *w, const saltus_kind *k)
{
    fprintf(w->out, "            double half = s->h%d;\n", k->groups[k->n_groups - 1]);
    for (int m = k->n_groups - 2; m >= 0; --m) {
        fprintf(w->out, "            half = isg%d ? s->h%d : half;\n", k->groups[m], k->groups[m]);
    }
}

/* The same where both halves of a group are alike: only the half that the event falls into, whose
 * counts are y0, y1 …, is computed to choose. Then the sums of the whole: p0, p1 … are the first
 * half's counts, q0, q1 … the second's. */
static void put_kind_by_halves(const saltus_writer *w, const saltus_kind *k, int number, int step)
{
    const int n_locals = count_half_locals(w->t, k);
    saltus_locals y = {0}, p = {0}, q = {0};
    int stride;
    (void)saltus_kind_stride(k, &stride);
    put_half_sum(w, k);
    fprintf(w->out,
            "            const double h = high - base, l = low - base;\n"
            "            const int second = !(half > l);\n"
            "            double *x = s->x + (g - %d) * %d * SALTUS_BLOCK;\n"
            "            double *mine = second ? x + %d * SALTUS_BLOCK : x;\n"
            "            const double *other = second ? x : x + %d * SALTUS_BLOCK;\n",
            k->groups[0], stride, step, step);
    for (int l = 0; l < n_locals; ++l) {
        fprintf(w->out,
                "            const int at%d = %d * SALTUS_BLOCK;\n            double y%d = "
                "mine[at%d];\n"
                "            (void)y%d;\n",
                l, k->of[0].species[l], l, l, l);
    }
    for (int i = 0; i < HALF; ++i) {
        put_law(w, k, number, i, 'y', 'c', &y);
        fprintf(w->out,
                i == 0 ? "            const double c0 = second ? half + ac0 : ac0;\n"
                       : "            const double c%d = c%d + ac%d;\n",
                i, i - 1, i);
    }
    /* Rounding may put l at the end of the group, once in 10^16 events. The CPU then runs the
     * trajectory. */
    saltus_put_choose(w, HALF, "                bad |= !(l < c3);\n");
    put_changes(w, k, HALF, n_locals, "mine");
    for (int l = 0; l < n_locals; ++l) {
        fprintf(w->out,
                "            const double z%d = other[at%d], p%d = second ? z%d : y%d,\n"
                "                         q%d = second ? y%d : z%d;\n"
                "            (void)p%d, (void)q%d;\n",
                l, l, l, l, l, l, l, l, l, l);
    }
    for (int i = 0; i < SALTUS_FANOUT; ++i) {
        put_law(w, k, number, i, i < HALF ? 'p' : 'q', 'd', i < HALF ? &p : &q);
        fprintf(w->out,
                i == 0 ? "            const double d0 = ad0;\n"
                       : "            const double d%d = d%d + ad%d;\n",
                i, i - 1, i);
    }
    put_new_sum(w, k, 'h', 'd', HALF - 1);
    put_new_sum(w, k, 'u', 'd', SALTUS_FANOUT - 1);
}

static void put_any_kind(const saltus_writer *w, const saltus_kind *k, int number)
{
    int step;
    if (saltus_kind_halves(w, k, &step)) {
        put_kind_by_halves(w, k, number, step);
    } else {
        put_kind(w, k, number);
    }
}

/* A bit for each other group whose sum the event's group may change. */
static uint32_t others(const saltus_tables *t, int g)
{
    uint32_t mask = 0;
    for (int h = 0; h < saltus_n_groups(t); ++h) {
        mask |= (uint32_t)(h != g && saltus_touches(t, g, h)) << h;
    }
    return mask;
}

static void put_others(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    uint32_t all = 0;
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        all |= others(t, g);
    }
    if (all == 0) {
        return;
    }
    fprintf(w->out, "        const uint32_t others = ");
    for (int g = 0; g + 1 < saltus_n_groups(t); ++g) {
        fprintf(w->out, "g == %d ? %uu : ", g, others(t, g));
    }
    fprintf(w->out, "%uu;\n", others(t, saltus_n_groups(t) - 1));
    for (int h = 0; h < saltus_n_groups(t); ++h) {
        if (all >> h & 1) {
            fprintf(w->out,
                    "        if (others & %uu) {\n            bad |= saltus_sum%d(s);\n        }\n",
                    1u << h, h);
        }
    }
}

/* Write saltus_sumG, which sums a group from the counts. */
static void put_sum_functions(const saltus_writer *w, const saltus_kind *k, int number)
{
    for (int m = 0; m < k->n_groups; ++m) {
        fprintf(
            w->out,
            "SALTUS_FN int saltus_sum%d(saltus_worker_state *s)\n{\n            const int g = %d;\n"
            "            int bad = 0;\n            (void)g;\n",
            k->groups[m], k->groups[m]);
        put_load(w, k, number);
        put_sums(w, k, number, 'c');
        if (saltus_group_reactions(w->t, k->groups[0]) == SALTUS_FANOUT) {
            fprintf(w->out, "            s->h%d = c%d;\n", k->groups[m], HALF - 1);
        }
        fprintf(w->out, "            s->u%d = c%d;\n            return bad;\n}\n", k->groups[m],
                saltus_group_reactions(w->t, k->groups[0]) - 1);
    }
}

static void put_fire(const saltus_writer *w, const saltus_kind *kinds, int n)
{
    const bool idles = saltus_may_idle(w->t);
    fprintf(w->out, SALTUS_FIRE_HEAD "    int bad = 0%s;\n    for (int refined = 0;;) {\n",
            idles ? ", fires = 1" : "");
    saltus_put_choose_group(w);
    if (n == 1) {
        fprintf(w->out, "        {\n");
        put_any_kind(w, &kinds[0], 0);
        fprintf(w->out, "        }\n");
    } else {
        fprintf(w->out, "        switch (g) {\n");
        for (int k = 0; k < n; ++k) {
            for (int m = 0; m < kinds[k].n_groups && k + 1 < n; ++m) {
                fprintf(w->out, "        case %d:\n", kinds[k].groups[m]);
            }
            fprintf(w->out, k + 1 < n ? "        {\n" : "        default: {\n");
            put_any_kind(w, &kinds[k], k);
            fprintf(w->out, "            break;\n        }\n");
        }
        fprintf(w->out, "        }\n");
    }
    put_others(w);
    fprintf(w->out, "        break;\n    }\n    return %s;\n}\n",
            idles ? "bad | (fires ? 0 : 2)" : "bad");
}

void saltus_put_grouped_state(const saltus_writer *w)
{
    fprintf(w->out, "typedef struct saltus_worker_state {\n    double time;\n    double *x;\n");
    for (int g = 0; g < saltus_n_groups(w->t); ++g) {
        /* sums of groups, of their first halves where that is of use, running sums of groups */
        fprintf(w->out, "    double u%d, h%d, t%d;\n", g, g, g);
    }
    if (saltus_has_events(w->t)) {
        saltus_put_event_state(w);
    }
    fprintf(w->out,
            "} saltus_worker_state;\n#define SALTUS_X(i) s->x[(i)*SALTUS_BLOCK]\n"
            "#define SALTUS_K(i) SALTUS_X(%d + (i))\n"
            "SALTUS_FN void saltus_state_open(saltus_worker_state *s, const "
            "saltus_launch *a)\n{\n    (void)a;\n"
            "    s->x = saltus_shared + saltus_kept_thread_in_block();\n"
            "    s->x[%d * SALTUS_BLOCK] = 0.0; /* nowhere */\n}\n",
            w->t->n_species + 1, w->t->n_species);
}

void saltus_put_grouped(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    saltus_kind kinds[SALTUS_MAX_GROUPS];
    const int n = saltus_find_kinds(t, kinds), groups = saltus_n_groups(t);
    fprintf(w->out, "%s", saltus_may_idle(t) ? "#define SALTUS_IDLES 1\n" : "");
    for (int k = 0; k < n; ++k) {
        put_tables(w, &kinds[k], k);
        put_sum_functions(w, &kinds[k], k);
    }
    fprintf(w->out, "SALTUS_FN int saltus_state_refresh(saltus_worker_state *s, const "
                    "saltus_launch *a)\n{\n    int bad = 0;\n    (void)a;\n");
    for (int g = 0; g < groups; ++g) {
        fprintf(w->out, "    bad |= saltus_sum%d(s);\n", g);
    }
    fprintf(w->out,
            "    return bad;\n}\n"
            "SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch "
            "*a,\n                                          int *bad)\n{\n    (void)a;\n"
            "    (void)bad;\n    s->t0 = s->u0;\n");
    for (int g = 1; g < groups; ++g) {
        fprintf(w->out, "    s->t%d = s->t%d + s->u%d;\n", g, g - 1, g);
    }
    fprintf(w->out, "    return s->t%d;\n}\n", groups - 1);
    put_fire(w, kinds, n);
}
