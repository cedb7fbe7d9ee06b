/* Kernels for 9 to 64 reactions in groups of eight: the sum of every group is in a register, the
 * counts in shared memory. An event computes the propensities of the group that it falls into, and
 * after it the sums of the groups that it may have changed.
 *
 * Groups that are alike but for their species and rates (copies of a motif) share one code, in
 * which the group is a number: threads of a warp that are in different groups stay together. */
#include "backend/cuda/registers_text.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_GROUPS = SALTUS_FANOUT, MAX_LOCALS = 64 };

/* A group's species in order of appearance: factors, then changes, reaction by reaction. */
typedef struct locals {
    int n, species[MAX_LOCALS];
} locals;

/* Groups with one code, that of the first. Where its local species are in each of the others;
 * n_species stands for nowhere. */
typedef struct kind {
    int n_groups, groups[MAX_GROUPS];
    locals of[MAX_GROUPS];
} kind;

static int local_of(locals *l, int species)
{
    for (int i = 0; i < l->n; ++i) {
        if (l->species[i] == species) {
            return i;
        }
    }
    l->species[l->n] = species;
    return l->n++;
}

static int n_reactions(const saltus_tables *t, int g)
{
    return saltus_group_end(t, g) - g * SALTUS_FANOUT;
}

static bool is_product(const saltus_tables *t, int r)
{
    return t->law_program[r] < 0;
}

/* Reaction q does to b's species what r does to a's; new ones are numbered on the way. */
static bool alike(const saltus_tables *t, int r, int q, locals *a, locals *b)
{
    const int f = t->factor_row[r], fq = t->factor_row[q], c = t->change_row[r],
              cq = t->change_row[q], nf = t->factor_row[r + 1] - f, nc = t->change_row[r + 1] - c;
    if (!is_product(t, r) || !is_product(t, q) || t->factor_row[q + 1] - fq != nf ||
        t->change_row[q + 1] - cq != nc) {
        return false;
    }
    for (int i = 0; i < nf; ++i) {
        if (t->factor_offset[f + i] != t->factor_offset[fq + i] ||
            local_of(a, t->factor_species[f + i]) != local_of(b, t->factor_species[fq + i])) {
            return false;
        }
    }
    for (int i = 0; i < nc; ++i) {
        const int s = t->change_species[c + i], sq = t->change_species[cq + i];
        if (t->change_amount[c + i] != t->change_amount[cq + i] ||
            saltus_is_unsafe(t, s) != saltus_is_unsafe(t, sq) ||
            local_of(a, s) != local_of(b, sq)) {
            return false;
        }
    }
    return true;
}

/* Add group h to a kind if it is like its first; it may have fewer reactions. */
static bool join(const saltus_tables *t, kind *k, int h)
{
    const int g = k->groups[0];
    locals a = {0}, b = {0};
    if (n_reactions(t, h) > n_reactions(t, g)) {
        return false;
    }
    for (int i = 0; i < n_reactions(t, h); ++i) {
        if (!alike(t, g * SALTUS_FANOUT + i, h * SALTUS_FANOUT + i, &a, &b)) {
            return false;
        }
    }
    while (b.n < k->of[0].n) {
        b.species[b.n++] = t->n_species;
    }
    k->groups[k->n_groups] = h;
    k->of[k->n_groups++] = b;
    return true;
}

static void found(const saltus_tables *t, kind *k, int g)
{
    locals *l = &k->of[0];
    k->n_groups = 1;
    k->groups[0] = g;
    for (int r = g * SALTUS_FANOUT; r < saltus_group_end(t, g); ++r) {
        for (int f = t->factor_row[r]; is_product(t, r) && f < t->factor_row[r + 1]; ++f) {
            (void)local_of(l, t->factor_species[f]);
        }
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            (void)local_of(l, t->change_species[c]);
        }
    }
}

static int find_kinds(const saltus_tables *t, kind kinds[MAX_GROUPS])
{
    int n = 0;
    memset(kinds, 0, MAX_GROUPS * sizeof *kinds);
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        int k = 0;
        while (k < n && !join(t, &kinds[k], g)) {
            ++k;
        }
        if (k == n) {
            found(t, &kinds[n++], g);
        }
    }
    return n;
}

bool saltus_registers_are_flat(const saltus_tables *t)
{
    kind kinds[MAX_GROUPS];
    return saltus_n_groups(t) == 1 || (saltus_n_groups(t) == 2 && find_kinds(t, kinds) == 2);
}

int saltus_registers_room(const saltus_tables *t)
{
    return t->n_species + 1; /* and one that stands for nowhere */
}

/* Local species are one stride apart from group to group, so that their places can be computed. */
static bool find_stride(const kind *k, int *stride)
{
    *stride = 0;
    for (int m = 1; m < k->n_groups; ++m) {
        for (int l = 0; l < k->of[0].n; ++l) {
            const int step = k->of[m].species[l] - k->of[0].species[l],
                      groups = k->groups[m] - k->groups[0];
            if (step % groups != 0 || (m + l > 1 && step / groups != *stride)) {
                return false;
            }
            *stride = step / groups;
        }
    }
    return true;
}

/* Whether the kind's groups have one rate for reaction i. */
static bool same_rate(const saltus_tables *t, const kind *k, int i)
{
    for (int m = 1; m < k->n_groups; ++m) {
        const int g = k->groups[m];
        if (i >= n_reactions(t, g) ||
            t->rate[g * SALTUS_FANOUT + i] != t->rate[k->groups[0] * SALTUS_FANOUT + i]) {
            return false;
        }
    }
    return true;
}

/* Tables by group, for what cannot be computed from its number. */
static void put_tables(const saltus_writer *w, const kind *k, int number)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0];
    int stride;
    if (!find_stride(k, &stride)) {
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
    for (int i = 0; i < n_reactions(t, first); ++i) {
        if (same_rate(t, k, i)) {
            continue;
        }
        fprintf(w->out, "SALTUS_TABLE double saltus_rates%d_%d[%d] = {", number, i,
                saltus_n_groups(t));
        for (int g = 0; g < saltus_n_groups(t); ++g) {
            saltus_put_number(w->out, i < n_reactions(t, g) ? t->rate[g * SALTUS_FANOUT + i] : 0.0);
            fprintf(w->out, ", ");
        }
        fprintf(w->out, "};\n");
    }
}

/* Running sums of the group's propensities from its local counts y0, y1 …: PREFIX0, PREFIX1 … */
static void put_sums(const saltus_writer *w, const kind *k, int number, char prefix)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0] * SALTUS_FANOUT;
    locals l = {0};
    for (int i = 0; i < n_reactions(t, k->groups[0]); ++i) {
        const int r = first + i;
        fprintf(w->out, "            const double a%c%d = ", prefix, i);
        if (!is_product(t, r)) {
            fprintf(w->out, "saltus_law%d(s);\n            bad |= !(a%c%d >= 0.0);\n", r, prefix,
                    i);
        } else {
            if (same_rate(t, k, i)) {
                saltus_put_number(w->out, t->rate[r]);
            } else {
                fprintf(w->out, "saltus_rates%d_%d[g]", number, i);
            }
            for (int f = t->factor_row[r]; f < t->factor_row[r + 1]; ++f) {
                fprintf(w->out, " * (y%d - %a)", local_of(&l, t->factor_species[f]),
                        t->factor_offset[f]);
            }
            fprintf(w->out, ";\n");
        }
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            (void)local_of(&l, t->change_species[c]);
        }
        fprintf(w->out, "            const double %c%d = ", prefix, i);
        fprintf(w->out, i == 0 ? "a%c%d;\n" : "%c%d + a%c%d;\n", prefix, i == 0 ? i : i - 1, prefix,
                i);
    }
}

/* y0, y1 …: the group's counts, at x + place. */
static void put_load(const saltus_writer *w, const kind *k, int number)
{
    int stride;
    const bool has_stride = find_stride(k, &stride);
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
static bool touches_itself(const saltus_tables *t, const kind *k)
{
    bool does = false;
    for (int m = 0; m < k->n_groups; ++m) {
        does |= saltus_touches(t, k->groups[m], k->groups[m]);
    }
    return does;
}

static void put_new_sum(const saltus_writer *w, const kind *k, const char *sum)
{
    if (k->n_groups == 1) {
        fprintf(w->out, "            s->u%d = %s;\n", k->groups[0], sum);
        return;
    }
    for (int m = 0; m < k->n_groups; ++m) {
        fprintf(w->out, "            s->u%d = g == %d ? %s : s->u%d;\n", k->groups[m], k->groups[m],
                sum, k->groups[m]);
    }
}

/* The change of a local count by the reaction chosen: that of the first whose sum exceeds low. */
static void put_change(const saltus_writer *w, const kind *k, int l)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0] * SALTUS_FANOUT, last = saltus_group_end(t, k->groups[0]) - 1,
              s = k->of[0].species[l];
    bool changes = false;
    for (int r = first; r <= last; ++r) {
        changes |= saltus_change_of(t, r, s) != 0;
    }
    if (!changes) {
        return;
    }
    fprintf(w->out, "            y%d += ", l);
    for (int r = first; r < last; ++r) {
        if (saltus_change_of(t, r, s) != saltus_change_of(t, r + 1, s)) {
            fprintf(w->out, "is%d ? %" PRId64 ".0 : ", r - first, saltus_change_of(t, r, s));
        }
    }
    fprintf(w->out, "%" PRId64 ".0;\n            x[at%d] = y%d;\n", saltus_change_of(t, last, s), l,
            l);
    if (saltus_is_unsafe(t, s)) {
        fprintf(w->out, "            bad |= y%d < 0.0;\n", l);
    }
}

/* A boundary may lie between low and high: look at all bits, and draw more of them where it does.
 */
static void put_refine(const saltus_writer *w, int n)
{
    const int groups = saltus_n_groups(w->t);
    fprintf(w->out,
            "            if (SALTUS_RARE(!refined && (up <= saltus_high_word(h) ||\n"
            "                                         upg <= saltus_high_word(high)))) {\n"
            "                double next = c%d, nextg = s->t%d;\n",
            n - 1, groups - 1);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(w->out, "                next = is%d ? c%d : next;\n", i, i);
    }
    for (int g = groups - 2; g >= 0; --g) {
        fprintf(w->out, "                nextg = isg%d ? s->t%d : nextg;\n", g, g);
    }
    fprintf(w->out, "                if (next < h || nextg < high) {\n" SALTUS_REFINE
                    "                    refined = 1;\n                    continue;\n"
                    "                }\n            }\n");
}

/* Choose in a group of this kind, fire, and renew the group's sum. */
static void put_kind(const saltus_writer *w, const kind *k, int number)
{
    const saltus_tables *t = w->t;
    const int n = n_reactions(t, k->groups[0]);
    put_load(w, k, number);
    put_sums(w, k, number, 'c');
    fprintf(w->out,
            "            const double h = high - base;\n            double l = low - base;\n"
            "            l = l < c%d ? l : saltus_below(c%d);\n"
            "            int32_t up = saltus_high_word(c%d);\n",
            n - 1, n - 1, n - 1);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(w->out,
                "            const int is%d = c%d > l;\n"
                "            up = is%d ? saltus_high_word(c%d) : up;\n",
                i, i, i, i);
    }
    put_refine(w, n);
    for (int l = 0; l < k->of[0].n; ++l) {
        put_change(w, k, l);
    }
    if (touches_itself(t, k)) {
        char sum[20];
        (void)snprintf(sum, sizeof sum, "d%d", n - 1);
        put_sums(w, k, number, 'd');
        put_new_sum(w, k, sum);
    }
}

/* isg0, isg1 …: the first that holds is the group, else it is the last. */
static void put_choose_group(const saltus_writer *w)
{
    const int last = saltus_n_groups(w->t) - 1;
    fprintf(w->out,
            "        int32_t upg = saltus_high_word(total);\n        int g = %d;\n"
            "        double base = s->t%d;\n",
            last, last - 1);
    for (int g = last - 1; g >= 0; --g) {
        fprintf(w->out,
                "        const int isg%d = s->t%d > low;\n"
                "        upg = isg%d ? saltus_high_word(s->t%d) : upg;\n        g -= isg%d;\n",
                g, g, g, g, g);
        fprintf(w->out,
                g > 0 ? "        base = isg%d ? s->t%d : base;\n"
                      : "        base = isg%d ? 0.0 : base;\n",
                g, g - 1);
    }
}

/* Other groups whose sums the event's group may change, a bit each. */
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

/* saltus_sumG: the sum of a group from the counts. */
static void put_sum_functions(const saltus_writer *w, const kind *k, int number)
{
    for (int m = 0; m < k->n_groups; ++m) {
        fprintf(w->out,
                "SALTUS_FN int saltus_sum%d(saltus_small *s)\n{\n            const int g = %d;\n"
                "            int bad = 0;\n            (void)g;\n",
                k->groups[m], k->groups[m]);
        put_load(w, k, number);
        put_sums(w, k, number, 'c');
        fprintf(w->out, "            s->u%d = c%d;\n            return bad;\n}\n", k->groups[m],
                n_reactions(w->t, k->groups[0]) - 1);
    }
}

static void put_fire(const saltus_writer *w, const kind *kinds, int n)
{
    fprintf(w->out, SALTUS_FIRE_HEAD "    int bad = 0;\n    for (int refined = 0;;) {\n");
    put_choose_group(w);
    if (n == 1) {
        fprintf(w->out, "        {\n");
        put_kind(w, &kinds[0], 0);
        fprintf(w->out, "        }\n");
    } else {
        fprintf(w->out, "        switch (g) {\n");
        for (int k = 0; k < n; ++k) {
            for (int m = 0; m < kinds[k].n_groups && k + 1 < n; ++m) {
                fprintf(w->out, "        case %d:\n", kinds[k].groups[m]);
            }
            fprintf(w->out, k + 1 < n ? "        {\n" : "        default: {\n");
            put_kind(w, &kinds[k], k);
            fprintf(w->out, "            break;\n        }\n");
        }
        fprintf(w->out, "        }\n");
    }
    put_others(w);
    fprintf(w->out, "        break;\n    }\n    return bad;\n}\n");
}

void saltus_put_grouped_state(const saltus_writer *w)
{
    fprintf(w->out, "typedef struct saltus_small {\n    double time;\n    double *x;\n");
    for (int g = 0; g < saltus_n_groups(w->t); ++g) {
        fprintf(w->out, "    double u%d, t%d;\n", g, g); /* sums of groups; their running sums */
    }
    fprintf(w->out, "} saltus_small;\n#define SALTUS_X(i) s->x[(i)*SALTUS_BLOCK]\n"
                    "SALTUS_FN void saltus_small_open(saltus_small *s)\n{\n"
                    "    s->x = saltus_shared + SALTUS_THREAD_IN_BLOCK;\n}\n");
}

void saltus_put_grouped(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    kind kinds[MAX_GROUPS];
    const int n = find_kinds(t, kinds), groups = saltus_n_groups(t);
    for (int k = 0; k < n; ++k) {
        put_tables(w, &kinds[k], k);
        put_sum_functions(w, &kinds[k], k);
    }
    fprintf(w->out, "SALTUS_FN int saltus_small_refresh(saltus_small *s)\n{\n    int bad = 0;\n");
    for (int g = 0; g < groups; ++g) {
        fprintf(w->out, "    bad |= saltus_sum%d(s);\n", g);
    }
    fprintf(w->out, "    return bad;\n}\n"
                    "SALTUS_FN double saltus_small_total(saltus_small *s, int *bad)\n{\n"
                    "    (void)bad;\n    s->t0 = s->u0;\n");
    for (int g = 1; g < groups; ++g) {
        fprintf(w->out, "    s->t%d = s->t%d + s->u%d;\n", g, g - 1, g);
    }
    fprintf(w->out, "    return s->t%d;\n}\n", groups - 1);
    put_fire(w, kinds, n);
}
