#include "backend/cuda/codegen/registers_kinds.h"

#include <string.h>

int saltus_local_of(saltus_locals *l, int species)
{
    for (int i = 0; i < l->n; ++i) {
        if (l->species[i] == species) {
            return i;
        }
    }
    l->species[l->n] = species;
    return l->n++;
}

int saltus_group_reactions(const saltus_tables *t, int g)
{
    return saltus_group_end(t, g) - g * SALTUS_FANOUT;
}

bool saltus_is_product(const saltus_tables *t, int r)
{
    return t->law_program[r] < 0;
}

/* Reaction q does to b's species what r does to a's; new ones are numbered on the way. */
static bool alike(const saltus_tables *t, int r, int q, saltus_locals *a, saltus_locals *b)
{
    const int f = t->factor_row[r], fq = t->factor_row[q], c = t->change_row[r],
              cq = t->change_row[q], nf = t->factor_row[r + 1] - f, nc = t->change_row[r + 1] - c;
    if (!saltus_is_product(t, r) || !saltus_is_product(t, q) || t->factor_row[q + 1] - fq != nf ||
        t->change_row[q + 1] - cq != nc) {
        return false;
    }
    for (int i = 0; i < nf; ++i) {
        if (t->factor_offset[f + i] != t->factor_offset[fq + i] ||
            saltus_local_of(a, t->factor_species[f + i]) !=
                saltus_local_of(b, t->factor_species[fq + i])) {
            return false;
        }
    }
    for (int i = 0; i < nc; ++i) {
        const int s = t->change_species[c + i], sq = t->change_species[cq + i];
        if (t->change_amount[c + i] != t->change_amount[cq + i] ||
            saltus_is_unsafe(t, s) != saltus_is_unsafe(t, sq) ||
            saltus_local_of(a, s) != saltus_local_of(b, sq)) {
            return false;
        }
    }
    return true;
}

/* Add group h to a kind if it is like its first; it may have fewer reactions. */
static bool join(const saltus_tables *t, saltus_kind *k, int h)
{
    const int g = k->groups[0];
    saltus_locals a = {0}, b = {0};
    if (saltus_group_reactions(t, h) > saltus_group_reactions(t, g)) {
        return false;
    }
    for (int i = 0; i < saltus_group_reactions(t, h); ++i) {
        if (!alike(t, g * SALTUS_FANOUT + i, h * SALTUS_FANOUT + i, &a, &b)) {
            return false;
        }
    }
    for (int i = saltus_group_reactions(t, h); i < saltus_group_reactions(t, g); ++i) {
        if (!saltus_is_product(t, g * SALTUS_FANOUT + i)) {
            return false; /* it has no rate that is 0 where it is missing */
        }
    }
    while (b.n < k->of[0].n) {
        b.species[b.n++] = t->n_species;
    }
    k->groups[k->n_groups] = h;
    k->of[k->n_groups++] = b;
    return true;
}

void saltus_add_locals(const saltus_tables *t, int first, int end, saltus_locals *l)
{
    for (int r = first; r < end; ++r) {
        for (int f = t->factor_row[r]; saltus_is_product(t, r) && f < t->factor_row[r + 1]; ++f) {
            (void)saltus_local_of(l, t->factor_species[f]);
        }
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            (void)saltus_local_of(l, t->change_species[c]);
        }
    }
}

static void found(const saltus_tables *t, saltus_kind *k, int g)
{
    k->n_groups = 1;
    k->groups[0] = g;
    saltus_add_locals(t, g * SALTUS_FANOUT, saltus_group_end(t, g), &k->of[0]);
}

int saltus_find_kinds(const saltus_tables *t, saltus_kind kinds[SALTUS_MAX_GROUPS])
{
    int n = 0;
    memset(kinds, 0, SALTUS_MAX_GROUPS * sizeof *kinds);
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

/* Local species are one stride apart from group to group, so that their places can be computed. */
bool saltus_kind_stride(const saltus_kind *k, int *stride)
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

bool saltus_kind_varies(const saltus_writer *w, const saltus_kind *k, int i)
{
    bool varies = false;
    for (int m = 0; m < k->n_groups; ++m) {
        varies |= i < saltus_group_reactions(w->t, k->groups[m]) &&
                  saltus_varies(w, k->groups[m] * SALTUS_FANOUT + i);
    }
    return varies;
}

bool saltus_kind_same_rate(const saltus_writer *w, const saltus_kind *k, int i)
{
    const saltus_tables *t = w->t;
    if (k->n_groups > 1 && saltus_kind_varies(w, k, i)) {
        return false;
    }
    for (int m = 1; m < k->n_groups; ++m) {
        const int g = k->groups[m];
        if (i >= saltus_group_reactions(t, g) ||
            t->rate[g * SALTUS_FANOUT + i] != t->rate[k->groups[0] * SALTUS_FANOUT + i]) {
            return false;
        }
    }
    return true;
}

bool saltus_kind_halves(const saltus_writer *w, const saltus_kind *k, int *step)
{
    const saltus_tables *t = w->t;
    const int first = k->groups[0] * SALTUS_FANOUT, half = SALTUS_FANOUT / 2;
    saltus_locals a = {0}, b = {0};
    int stride;
    if (saltus_group_reactions(t, k->groups[0]) != SALTUS_FANOUT ||
        !saltus_kind_stride(k, &stride)) {
        return false;
    }
    for (int i = 0; i < half; ++i) {
        if (!alike(t, first + i, first + half + i, &a, &b) || !saltus_kind_same_rate(w, k, i) ||
            !saltus_kind_same_rate(w, k, half + i) || saltus_kind_varies(w, k, i) ||
            saltus_kind_varies(w, k, half + i) || t->rate[first + i] != t->rate[first + half + i]) {
            return false;
        }
    }
    for (int l = 0; l < a.n; ++l) {
        if (l > 0 && b.species[l] - a.species[l] != *step) {
            return false;
        }
        *step = b.species[l] - a.species[l];
    }
    return a.n > 0;
}
