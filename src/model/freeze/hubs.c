/* Hubs and classes of a large network; kernel/ssa/hubs.h. */
#include "model/freeze/freeze.h"

#include "kernel/ssa/hub_rules.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Smaller networks have a propensity for each reaction; docs/numerics.md. */
enum { FEWEST_REACTIONS = 257 };
/* A leaf has so many classes, at most, and a class so many partners: then neither the sum of a leaf
 * nor a choice in it grows with the network. The next leaf or class goes on. */
enum { MOST_CLASSES = 8, MOST_PARTNERS = 256, MOST_WAYS = 8 };
/* Shorter classes are scanned from their first entry. */
enum { FEWEST_BLOCKED = 2 * SALTUS_HUB_BLOCK };

/* A reaction of order 1 (partner -1) or 2 of a hub. */
typedef struct spoke {
    double rate;
    int32_t hub, partner, offset, reaction, ways;
} spoke;

typedef struct maker {
    saltus_freezer *f;
    saltus_tables *t;
    spoke *spokes; /* sorted: by hub, order, constant of the class, partner */
    int n_spokes;
    /* Of the tables, on their way. */
    saltus_hub *hubs;
    saltus_alone *alone;
    saltus_class *classes;
    saltus_entry *entries;
    int32_t *entry_reaction;
    saltus_reach *reaches;
    saltus_member *members;
    int32_t *reach, *own, *own_of;
    saltus_firing *firings;
} maker;

/* Of a reaction whose propensity is a product of one count, of two, or of x (x - 1). */
static bool find_spoke(const saltus_tables *t, int r, spoke *out)
{
    const saltus_pair *q = &t->pairs[r];
    if (q->first < 0 || q->first >= t->n_species) {
        return false; /* another law, or one without factors */
    }
    *out = (spoke){q->rate, q->first, q->second, (int32_t)q->offset, r, 1};
    if (q->second == t->row_one) {
        out->partner = -1;
        return q->offset == 0.0;
    }
    return q->second < t->n_species &&
           (q->second == q->first ? q->offset == 0.0 || q->offset == 1.0 : q->offset == 0.0);
}

static int least_of(const spoke *s)
{
    return s->hub < s->partner ? s->hub : s->partner;
}

/* Counts to first places. */
static void place_rows(int32_t *row, int n)
{
    int32_t sum = 0;
    for (int i = 0; i <= n; ++i) {
        const int32_t count = row[i];
        row[i] = sum;
        sum += count;
    }
}

/* How many different partners each species has. */
static saltus_status count_partners(const maker *m, int32_t *partners, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)m->t->n_species + 1;
    int32_t *row = saltus_calloc(n + 1, sizeof *row), *seen = saltus_calloc(n, sizeof *seen);
    int32_t *others = saltus_calloc((size_t)m->n_spokes + 1, sizeof *others);
    SALTUS_NEED(row && seen && others);
    for (int round = 0; round < 2; ++round) { /* in the first they are counted */
        for (int i = 0; i < m->n_spokes; ++i) {
            const spoke *s = &m->spokes[i];
            if (s->partner < 0 || s->partner == s->hub) {
                continue;
            }
            const int least = least_of(s);
            if (round == 1) {
                others[row[least]] = s->hub + s->partner - least;
            }
            ++row[least];
        }
        if (round == 0) {
            place_rows(row, m->t->n_species);
        }
    }
    for (int a = 0, i = 0; a < m->t->n_species; ++a) { /* row[a] is now where the next begins */
        for (; i < row[a]; ++i) {
            if (seen[others[i]] != a + 1) {
                seen[others[i]] = a + 1;
                ++partners[a];
                ++partners[others[i]];
            }
        }
    }
done:
    saltus_free(row);
    saltus_free(seen);
    saltus_free(others);
    return status;
}

/* Make the species with more different partners the hub of each pair; of equals the first. */
static saltus_status choose_hubs(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t *partners = saltus_calloc((size_t)m->t->n_species + 1, sizeof *partners);
    SALTUS_NEED(partners);
    SALTUS_TRY(count_partners(m, partners, err));
    for (int i = 0; i < m->n_spokes; ++i) {
        spoke *s = &m->spokes[i];
        if (s->partner >= 0 &&
            (partners[s->partner] > partners[s->hub] ||
             (partners[s->partner] == partners[s->hub] && s->partner < s->hub))) {
            const int32_t hub = s->partner;
            s->partner = s->hub;
            s->hub = hub;
        }
    }
done:
    saltus_free(partners);
    return status;
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of one hub: those of order 1 first and in their own order, the others by constant. */
static int by_constant(const void *a, const void *b)
{
    const spoke *x = a, *y = b;
    const bool alone = x->partner < 0 && y->partner < 0;
    const int first = order(x->partner >= 0, y->partner >= 0);
    const int rate = alone || x->rate == y->rate ? 0 : x->rate < y->rate ? -1 : 1;
    return first != 0 ? first : rate != 0 ? rate : order(x->reaction, y->reaction);
}

/* The same with partners in a class in order. */
static int by_partner(const void *a, const void *b)
{
    const spoke *x = a, *y = b;
    const bool alone = x->partner < 0 && y->partner < 0;
    const int first = order(x->partner >= 0, y->partner >= 0);
    const int rate = alone || x->rate == y->rate ? 0 : x->rate < y->rate ? -1 : 1;
    const int partner = order(x->partner, y->partner), offset = order(x->offset, y->offset);
    return first != 0     ? first
           : rate != 0    ? rate
           : partner != 0 ? partner
           : offset != 0  ? offset
                          : order(x->reaction, y->reaction);
}

/* A constant that is a small multiple of another one of the same hub joins its class, in so many
 * ways. Constants stand in rising order. */
static void join_multiples(spoke *s, int n)
{
    for (int i = n - 1; i > 0; --i) {
        for (int ways = MOST_WAYS; ways > 1; --ways) {
            const double rate = s[i].rate / ways;
            int low = 0, high = i;
            while (low < high) {
                const int middle = (low + high) / 2;
                if (s[middle].rate < rate) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (low < i && s[low].rate == rate && rate * ways == s[i].rate) {
                s[i].rate = rate;
                s[i].ways = ways;
                break;
            }
        }
    }
}

/* Sort the spokes of each hub; those of one constant, or of multiples of it, then stand together.
 */
static saltus_status sort_spokes(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n_species = m->t->n_species;
    int32_t *row = saltus_calloc((size_t)n_species + 1, sizeof *row);
    spoke *sorted = saltus_calloc((size_t)m->n_spokes + 1, sizeof *sorted);
    SALTUS_NEED(row && sorted);
    for (int i = 0; i < m->n_spokes; ++i) {
        ++row[m->spokes[i].hub];
    }
    place_rows(row, n_species);
    for (int i = 0; i < m->n_spokes; ++i) {
        sorted[row[m->spokes[i].hub]++] = m->spokes[i];
    }
    for (int hub = 0, first = 0; hub < n_species; first = row[hub++]) {
        const int n = row[hub] - first;
        spoke *s = sorted + first;
        int alone = 0;
        qsort(s, (size_t)n, sizeof *s, by_constant);
        while (alone < n && s[alone].partner < 0) {
            ++alone;
        }
        join_multiples(s + alone, n - alone);
        qsort(s, (size_t)n, sizeof *s, by_partner);
    }
    saltus_free(m->spokes);
    m->spokes = sorted;
    sorted = NULL;
done:
    saltus_free(row);
    saltus_free(sorted);
    return status;
}

/* A class has the inverse of its constant; with less than that, or 0, nothing ever happens. */
static bool has_inverse(double rate)
{
    return rate > 0.0 && 1.0 / rate <= DBL_MAX;
}

static saltus_status collect(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = m->t;
    m->spokes = saltus_calloc((size_t)t->n_reactions + 1, sizeof *m->spokes);
    SALTUS_NEED(m->spokes);
    for (int r = 0; r < t->n_reactions; ++r) {
        if (find_spoke(t, r, &m->spokes[m->n_spokes]) && has_inverse(t->rate[r])) {
            ++m->n_spokes;
        }
    }
    SALTUS_TRY(choose_hubs(m, err));
    SALTUS_TRY(sort_spokes(m, err));
done:
    return status;
}

#define ARRAY(name, n)                                                              \
    m->name = saltus_arena_alloc(m->f->arena, ((size_t)(n) + 1) * sizeof *m->name); \
    SALTUS_NEED(m->name);

static saltus_hub *begin_hub(maker *m, int species)
{
    saltus_tables *t = m->t;
    saltus_hub *hub = &m->hubs[t->n_hubs++];
    *hub = (saltus_hub){0.0, species, t->n_alone, t->n_alone, t->n_classes, t->n_classes, 0};
    return hub;
}

static void begin_class(maker *m, saltus_hub *hub, double rate)
{
    saltus_tables *t = m->t;
    m->classes[t->n_classes++] =
        (saltus_class){rate, 1.0 / rate, t->n_entries, t->n_entries, -1, 0};
    hub->class_end = t->n_classes;
}

/* Hubs, classes and entries from the sorted spokes. All entries have their reactions in
 * entry_reaction. */
static void lay_out(maker *m)
{
    saltus_tables *t = m->t;
    const spoke *before = NULL;
    saltus_hub *hub = NULL;
    for (int i = 0; i < m->n_spokes; ++i) {
        const spoke *s = &m->spokes[i];
        if (!before || s->hub != before->hub) {
            hub = begin_hub(m, s->hub);
            before = NULL;
        }
        if (s->partner < 0) {
            hub->alone += s->rate;
            m->alone[t->n_alone++] = (saltus_alone){hub->alone, s->reaction, 0};
            hub->alone_end = t->n_alone;
            before = s;
            continue;
        }
        const bool same_class = before && before->partner >= 0 && s->rate == before->rate,
                   same_entry =
                       same_class && s->partner == before->partner && s->offset == before->offset;
        const saltus_class *last = same_class ? &m->classes[t->n_classes - 1] : NULL;
        if (!last || (!same_entry && t->n_entries - last->entry_first == MOST_PARTNERS)) {
            if (t->n_classes - hub->class_first == MOST_CLASSES) {
                hub = begin_hub(m, s->hub);
            }
            begin_class(m, hub, s->rate);
        }
        if (!same_entry) {
            m->entries[t->n_entries++] =
                (saltus_entry){s->partner, s->offset, 0, t->n_entry_reactions};
            m->classes[t->n_classes - 1].entry_end = t->n_entries;
        }
        m->entries[t->n_entries - 1].ways += s->ways;
        for (int w = 0; w < s->ways; ++w) {
            m->entry_reaction[t->n_entry_reactions++] = s->reaction;
        }
        before = s;
    }
    t->n_weights = t->n_classes;
    for (int c = 0; c < t->n_classes; ++c) {
        const int n = m->classes[c].entry_end - m->classes[c].entry_first;
        if (n > FEWEST_BLOCKED) {
            m->classes[c].block = t->n_weights;
            t->n_weights += (n + SALTUS_HUB_BLOCK - 1) / SALTUS_HUB_BLOCK;
        }
    }
}

/* Reactions of one way stand in their entries. */
static void shorten_entries(maker *m)
{
    saltus_tables *t = m->t;
    int n = 0;
    for (int e = 0; e < t->n_entries; ++e) {
        saltus_entry *q = &m->entries[e];
        const int from = q->reaction;
        q->reaction = q->ways == 1 ? m->entry_reaction[from] : n;
        for (int w = 0; w < q->ways && q->ways > 1; ++w) {
            m->entry_reaction[n++] = m->entry_reaction[from + w];
        }
    }
    t->n_entry_reactions = n;
}

/* Count a weight that a species enters, or, when there is room for all, note it. */
static void note_member(maker *m, const saltus_entry *q, int weight)
{
    saltus_reach *r = &m->reaches[q->species];
    saltus_member *end = m->members ? &m->members[r->member_end] : NULL;
    if (end && r->member_end > r->member_first && end[-1].weight == weight) {
        end[-1].ways += q->ways; /* a species that is its own partner, with offsets 0 and 1 */
        return;
    }
    if (end) {
        *end = (saltus_member){weight, q->ways};
    }
    ++r->member_end;
}

static void note_leaf(maker *m, int species, int leaf, int32_t *last)
{
    saltus_reach *r = &m->reaches[species];
    if (last[species] == leaf + 1) {
        return;
    }
    last[species] = leaf + 1;
    if (m->reach) {
        m->reach[r->leaf_end] = leaf;
    }
    ++r->leaf_end;
}

static void note_reaches(maker *m, int32_t *last)
{
    const saltus_tables *t = m->t;
    for (int c = 0; c < t->n_classes; ++c) {
        const saltus_class *k = &m->classes[c];
        for (int e = k->entry_first; e < k->entry_end; ++e) {
            note_member(m, &m->entries[e], c);
        }
    }
    for (int c = 0; c < t->n_classes; ++c) {
        const saltus_class *k = &m->classes[c];
        for (int e = k->entry_first; e < k->entry_end && k->block >= 0; ++e) {
            note_member(m, &m->entries[e], k->block + (e - k->entry_first) / SALTUS_HUB_BLOCK);
        }
    }
    memset(last, 0, ((size_t)t->n_species + 1) * sizeof *last);
    for (int hub = 0; hub < t->n_hubs; ++hub) {
        note_leaf(m, m->hubs[hub].species, hub, last);
        for (int c = m->hubs[hub].class_first; c < m->hubs[hub].class_end; ++c) {
            for (int e = m->classes[c].entry_first; e < m->classes[c].entry_end; ++e) {
                note_leaf(m, m->entries[e].species, hub, last);
            }
        }
    }
}

/* Which weights and leaves each species enters. They are counted first. */
static saltus_status find_reaches(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = m->t;
    int32_t *last = saltus_calloc((size_t)t->n_species + 1, sizeof *last);
    SALTUS_NEED(last);
    ARRAY(reaches, t->n_species)
    note_reaches(m, last);
    for (int s = 0; s < t->n_species; ++s) {
        saltus_reach *r = &m->reaches[s];
        const int members = r->member_end, leaves = r->leaf_end;
        r->member_first = r->member_end = t->n_members;
        r->leaf_first = r->leaf_end = t->n_reach;
        t->n_members += members;
        t->n_reach += leaves;
    }
    ARRAY(members, t->n_members)
    ARRAY(reach, t->n_reach)
    note_reaches(m, last);
    memset(last, 0, ((size_t)t->n_species + 1) * sizeof *last);
    for (int c = 0; c < t->change_row[t->n_reactions]; ++c) {
        last[t->change_species[c]] = 1;
    }
    for (int s = 0; s < t->n_species; ++s) {
        m->reaches[s].member_first = last[s] ? m->reaches[s].member_first : -1;
    }
done:
    saltus_free(last);
    return status;
}

static void fill_changes(const saltus_tables *t, int r, saltus_firing *out)
{
    out->n = t->change_row[r + 1] - t->change_row[r];
    out->has_rules = t->rule_row[r + 1] > t->rule_row[r];
    for (int i = 0; i < out->n && out->n <= SALTUS_FIRING_CHANGES; ++i) {
        out->species[i] = t->change_species[t->change_row[r] + i];
        out->amount[i] = (int32_t)t->change_amount[t->change_row[r] + i];
    }
}

/* Of each list of dependents those that are leaves of their own: leaves[row[list]] to before
 * leaves[row[list + 1]]. */
static saltus_status list_own(const saltus_tables *t, const int32_t *leaf, int32_t **row,
                              int32_t **leaves, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *row = saltus_calloc((size_t)t->n_lists + 1, sizeof **row);
    SALTUS_NEED(*row);
    for (int round = 0; round < 2; ++round) { /* the first counts */
        int n = 0;
        for (int l = 0; l < t->n_lists; ++l) {
            (*row)[l] = n;
            for (int i = t->dependent_row[l]; i < t->dependent_row[l + 1]; ++i) {
                if (leaf[t->dependent[i]] >= 0) {
                    if (round == 1) {
                        (*leaves)[n] = leaf[t->dependent[i]];
                    }
                    ++n;
                }
            }
        }
        (*row)[t->n_lists] = n;
        if (round == 0) {
            *leaves = saltus_calloc((size_t)n + 1, sizeof **leaves);
            SALTUS_NEED(*leaves);
        }
    }
done:
    return status;
}

/* Reactions that are leaves of their own, and what each reaction changes. */
static saltus_status find_firings(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = m->t;
    int32_t *leaf = saltus_calloc((size_t)t->n_reactions + 1, sizeof *leaf), *row = NULL,
            *leaves = NULL, *seen = NULL;
    SALTUS_NEED(leaf);
    ARRAY(own, t->n_reactions)
    ARRAY(firings, t->n_reactions)
    for (int r = 0; r < t->n_reactions; ++r) {
        spoke s;
        leaf[r] = -1;
        if (!find_spoke(t, r, &s)) {
            leaf[r] = t->n_hubs + t->n_own;
            m->own[t->n_own++] = r;
        }
    }
    seen = saltus_calloc((size_t)t->n_own + 1, sizeof *seen);
    SALTUS_NEED(seen);
    SALTUS_TRY(list_own(t, leaf, &row, &leaves, err));
    for (int round = 0; round < 2; ++round) { /* the first counts */
        int64_t n = 0;
        for (int r = 0; r < t->n_reactions; ++r) {
            fill_changes(t, r, &m->firings[r]);
            m->firings[r].own_first = (int32_t)n;
            for (int l = saltus_first_list(t, r); l < saltus_end_of_lists(t, r); ++l) {
                const int list = saltus_list_at(t, l);
                for (int i = row[list]; i < row[list + 1]; ++i) {
                    int32_t *const last = &seen[leaves[i] - t->n_hubs];
                    if (*last != 2 * r + round + 1) {
                        *last = 2 * r + round + 1;
                        if (round == 1) {
                            m->own_of[n] = leaves[i];
                        }
                        ++n;
                    }
                }
            }
            if (n > INT32_MAX) {
                SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the network is too large for 2^31 dependencies");
            }
            m->firings[r].own_end = (int32_t)n;
        }
        if (round == 0) {
            t->n_own_of = (int32_t)n;
            ARRAY(own_of, n)
        }
    }
done:
    saltus_free(leaf);
    saltus_free(row);
    saltus_free(leaves);
    saltus_free(seen);
    return status;
}

static void find_levels(saltus_tables *t)
{
    int n = (t->n_hubs + t->n_own + SALTUS_FANOUT - 1) / SALTUS_FANOUT, level = 0;
    t->n_hub_leaves = n * SALTUS_FANOUT;
    for (;;) {
        const int padded = n == 1 ? 1 : (n + SALTUS_FANOUT - 1) / SALTUS_FANOUT * SALTUS_FANOUT;
        t->hub_first[level + 1] = t->hub_first[level] + padded;
        ++level;
        if (n == 1) {
            break;
        }
        n = padded / SALTUS_FANOUT;
    }
    t->n_hub_levels = level;
}

/* Whether they pay: it depends on kinds of laws alone, not on numbers. */
static bool may_have_hubs(const saltus_freezer *f)
{
    const saltus_tables *t = &f->net->tables;
    int n = 0;
    for (int r = 0; r < t->n_reactions; ++r) {
        spoke s;
        n += find_spoke(t, r, &s);
    }
    return !f->model->space && t->n_reactions >= FEWEST_REACTIONS && t->n_rates == 0 &&
           t->n_thinned == 0 && t->largest_change <= INT32_MAX && 2 * n >= t->n_reactions;
}

/* Whether bounds can stand around the initial counts. */
static bool can_be_bounded(const saltus_tables *t)
{
    for (int s = 0; s < t->n_species; ++s) {
        if (t->initial_counts[s] > SALTUS_HUB_LARGEST) {
            return false;
        }
    }
    return true;
}

saltus_status saltus_fill_hubs(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    maker made = {.f = f, .t = &f->net->tables}, *const m = &made;
    saltus_tables *t = m->t;
    f->may_have_hubs = may_have_hubs(f);
    if (!f->may_have_hubs || !can_be_bounded(t)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(collect(m, err));
    const size_t n = (size_t)m->n_spokes;
    size_t n_ways = 0;
    for (size_t i = 0; i < n; ++i) {
        n_ways += m->spokes[i].partner >= 0 ? (size_t)m->spokes[i].ways : 0;
    }
    ARRAY(hubs, n)
    ARRAY(alone, n)
    ARRAY(classes, n)
    ARRAY(entries, n)
    ARRAY(entry_reaction, n_ways)
    lay_out(m);
    shorten_entries(m);
    SALTUS_TRY(find_reaches(m, err));
    SALTUS_TRY(find_firings(m, err));
    find_levels(t);
#define KEEP(type, name, n) t->name = m->name;
    SALTUS_HUB_ARRAYS(KEEP)
done:
    if (status != SALTUS_OK) {
        t->n_hubs = 0;
    }
    saltus_free(m->spokes);
    return status;
}
