/* Hubs and classes of a large network; kernel/ssa/hubs.h. */
#include "core/order.h"
#include "kernel/ssa/hub_rules.h"
#include "model/freeze/lists.h"
#include "model/freeze/spokes.h"

#include <stdlib.h>
#include <string.h>

/* Smaller networks have a propensity for each reaction; docs/numerics.md. */
enum { FEWEST_REACTIONS = 257 };
/* A leaf has so many classes, at most, and a class so many partners: then neither the sum of a leaf
 * nor a choice in it grows with the network. The next leaf or class goes on. */
enum { MOST_CLASSES = 8, MOST_PARTNERS = 256 };
/* A class has so many ways, at most: then its weight has less than 63 bits, whatever its partners
 * count (SALTUS_HUB_LARGEST). */
enum { MOST_CLASS_WAYS = 1 << 14 };
/* Classes that a hub can number. */
enum { MOST_LISTED = 1 << 28 };
/* Shorter classes are scanned from their first entry. */
enum { FEWEST_BLOCKED = 2 * SALTUS_HUB_BLOCK };

typedef struct maker {
    saltus_freezer *f;
    saltus_tables *t;
    saltus_spokes spokes;
    /* Of the tables, on their way. */
    saltus_hub *hubs;
    int32_t *alone_row;
    saltus_alone *alone;
    saltus_class *classes;
    saltus_entry *entries;
    int32_t *weighed, *entry_reaction;
    saltus_reach *reaches;
    saltus_member *members;
    saltus_follower *reach;
    int32_t *own, *own_of;
    saltus_firing *firings;
    /* While they are laid out: classes of the last hub, entries and ways of the last class. */
    int hub_classes, class_entries, class_ways;
} maker;

#define ARRAY(name, n)                                                              \
    m->name = saltus_arena_alloc(m->f->arena, ((size_t)(n) + 1) * sizeof *m->name); \
    SALTUS_NEED(m->name);
/* These count, and write when there is room. */
static void begin_hub(maker *m, int species)
{
    saltus_tables *t = m->t;
    if (m->hubs) {
        m->hubs[t->n_hubs] = (saltus_hub){0.0, species, 0, (uint32_t)t->n_classes};
        m->alone_row[t->n_hubs] = t->n_alone;
    }
    ++t->n_hubs;
    m->hub_classes = 0;
}

static void add_alone(maker *m, const saltus_spoke *s)
{
    saltus_tables *t = m->t;
    if (m->hubs) {
        saltus_hub *hub = &m->hubs[t->n_hubs - 1];
        hub->alone += s->rate;
        m->alone[t->n_alone] = (saltus_alone){hub->alone, s->reaction, 0};
    }
    ++t->n_alone;
}

static void begin_class(maker *m, const saltus_spoke *s)
{
    saltus_tables *t = m->t;
    if (m->hub_classes == MOST_CLASSES) {
        begin_hub(m, s->hub);
    }
    if (m->hubs) {
        ++m->hubs[t->n_hubs - 1].n_classes;
        m->classes[t->n_classes] =
            (saltus_class){s->rate, 1.0 / s->rate, t->n_entries, t->n_entries, -1, -1};
    }
    ++t->n_classes;
    ++m->hub_classes;
    m->class_entries = m->class_ways = 0;
}

static void begin_entry(maker *m, const saltus_spoke *s)
{
    saltus_tables *t = m->t;
    if (m->hubs) {
        m->entries[t->n_entries] = (saltus_entry){s->partner, s->offset, 0, t->n_entry_reactions};
        m->classes[t->n_classes - 1].entry_end = t->n_entries + 1;
    }
    ++t->n_entries;
    ++m->class_entries;
}

static void add_ways(maker *m, const saltus_spoke *s)
{
    saltus_tables *t = m->t;
    for (int w = 0; w < s->ways && m->hubs; ++w) {
        m->entry_reaction[t->n_entry_reactions + w] = s->reaction;
    }
    if (m->hubs) {
        m->entries[t->n_entries - 1].ways += s->ways;
    }
    t->n_entry_reactions += s->ways;
    m->class_ways += s->ways;
}

/* Hubs, classes and entries from the sorted spokes. All entries have their reactions in
 * entry_reaction. */
static void lay_out(maker *m)
{
    saltus_tables *t = m->t;
    const saltus_spoke *before = NULL;
    t->n_hubs = t->n_alone = t->n_classes = t->n_entries = t->n_entry_reactions = 0;
    for (int i = 0; i < m->spokes.n; ++i) {
        const saltus_spoke *s = &m->spokes.items[i];
        if (!before || s->hub != before->hub) {
            begin_hub(m, s->hub);
            before = NULL;
        }
        if (s->partner < 0) {
            add_alone(m, s);
            before = s;
            continue;
        }
        const bool same_class = before && before->partner >= 0 && s->rate == before->rate &&
                                m->class_ways + s->ways <= MOST_CLASS_WAYS,
                   same_entry =
                       same_class && s->partner == before->partner && s->offset == before->offset;
        if (!same_class || (!same_entry && m->class_entries == MOST_PARTNERS)) {
            begin_class(m, s);
        }
        if (!same_entry) {
            begin_entry(m, s);
        }
        add_ways(m, s);
        before = s;
    }
    if (m->hubs) {
        m->alone_row[t->n_hubs] = t->n_alone;
    }
}

/* The entries of a class, to find others with the same partners. */
typedef struct partners {
    const saltus_entry *entries;
    int n, class;
} partners;

/* An order in which lists of the same partners are equal. */
static int order_of(const partners *x, const partners *y)
{
    int order = saltus_order(x->n, y->n);
    for (int i = 0; i < x->n && order == 0; ++i) {
        const saltus_entry *a = &x->entries[i], *b = &y->entries[i];
        order = a->species != b->species ? saltus_order(a->species, b->species)
                : a->offset != b->offset ? saltus_order(a->offset, b->offset)
                                         : saltus_order(a->ways, b->ways);
    }
    return order;
}

static int by_partners(const void *a, const void *b)
{
    const partners *x = a, *y = b;
    const int order = order_of(x, y);
    return order != 0 ? order : saltus_order(x->class, y->class);
}

/* Give classes of the same partners, which a rule of binding makes for each of its hubs, one
 * weight: until there are weights, the first of these classes stands for it. */
static saltus_status find_alike(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = m->t->n_classes;
    partners *lists = saltus_calloc((size_t)n + 1, sizeof *lists);
    SALTUS_NEED(lists);
    for (int c = 0; c < n; ++c) {
        const saltus_class *k = &m->classes[c];
        lists[c] = (partners){m->entries + k->entry_first, k->entry_end - k->entry_first, c};
    }
    qsort(lists, (size_t)n, sizeof *lists, by_partners);
    for (int i = 0; i < n; ++i) {
        const bool alike = i > 0 && order_of(&lists[i - 1], &lists[i]) == 0;
        m->classes[lists[i].class].weight =
            alike ? m->classes[lists[i - 1].class].weight : lists[i].class;
    }
done:
    saltus_free(lists);
    return status;
}

/* Weights of classes, and behind them those of blocks of long ones. */
static void place_weights(maker *m)
{
    saltus_tables *t = m->t;
    for (int c = 0; c < t->n_classes; ++c) {
        saltus_class *k = &m->classes[c];
        if (k->weight == c) {
            m->weighed[t->n_weighed] = c;
            k->weight = t->n_weighed++;
        } else {
            k->weight = m->classes[k->weight].weight;
        }
    }
    t->n_weights = t->n_weighed;
    for (int w = 0; w < t->n_weighed; ++w) {
        saltus_class *k = &m->classes[m->weighed[w]];
        const int n = k->entry_end - k->entry_first;
        if (n > FEWEST_BLOCKED) {
            k->block = t->n_weights;
            t->n_weights += (n + SALTUS_HUB_BLOCK - 1) / SALTUS_HUB_BLOCK;
        }
    }
    for (int c = 0; c < t->n_classes; ++c) {
        m->classes[c].block = m->classes[m->weighed[m->classes[c].weight]].block;
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
        m->reach[r->leaf_end] = (saltus_follower){leaf, m->hubs[leaf].species};
    }
    ++r->leaf_end;
}

static void note_reaches(maker *m, int32_t *last)
{
    const saltus_tables *t = m->t;
    for (int w = 0; w < t->n_weighed; ++w) {
        const saltus_class *k = &m->classes[m->weighed[w]];
        for (int e = k->entry_first; e < k->entry_end; ++e) {
            note_member(m, &m->entries[e], w);
        }
    }
    for (int w = 0; w < t->n_weighed; ++w) {
        const saltus_class *k = &m->classes[m->weighed[w]];
        for (int e = k->entry_first; e < k->entry_end && k->block >= 0; ++e) {
            note_member(m, &m->entries[e], k->block + (e - k->entry_first) / SALTUS_HUB_BLOCK);
        }
    }
    memset(last, 0, ((size_t)t->n_species + 1) * sizeof *last);
    for (int hub = 0; hub < t->n_hubs; ++hub) {
        note_leaf(m, m->hubs[hub].species, hub, last);
        const int first = (int)m->hubs[hub].class_first, n = (int)m->hubs[hub].n_classes;
        for (int c = first; c < first + n; ++c) {
            for (int e = m->classes[c].entry_first; e < m->classes[c].entry_end; ++e) {
                note_leaf(m, m->entries[e].species, hub, last);
            }
        }
    }
}

/* Hubs, classes and entries, which are counted first. Spokes are then not needed any more. */
static saltus_status make_layout(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = m->t;
    const void *kept = NULL;
    int32_t *of_entries = NULL;
    lay_out(m);
    of_entries = saltus_calloc((size_t)t->n_entry_reactions, sizeof *of_entries);
    SALTUS_NEED(of_entries);
    m->entry_reaction = of_entries;
    ARRAY(alone, t->n_alone)
    ARRAY(classes, t->n_classes)
    ARRAY(weighed, t->n_classes)
    ARRAY(entries, t->n_entries)
    if (t->n_classes >= MOST_LISTED) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the network is too large for 2^28 classes of reactions");
    }
    ARRAY(alone_row, t->n_hubs)
    ARRAY(hubs, t->n_hubs)
    lay_out(m);
    SALTUS_TRY(find_alike(m, err));
    place_weights(m);
    shorten_entries(m);
    SALTUS_TRY(saltus_keep_copy(m->f, of_entries, (size_t)t->n_entry_reactions, sizeof *of_entries,
                                &kept, err));
    m->entry_reaction = (int32_t *)kept;
    saltus_spokes_free(&m->spokes);
done:
    saltus_free(of_entries);
    return status;
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
    out->has_rules = 0;
    for (int l = saltus_first_list(t, r); l < saltus_end_of_lists(t, r); ++l) {
        const int list = saltus_list_at(t, l);
        out->has_rules |= t->rule_row[list + 1] > t->rule_row[list];
    }
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

/* Reactions that are leaves of their own, and where lists of dependents have them. */
static saltus_status find_own(maker *m, int32_t **row, int32_t **leaves, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = m->t;
    int32_t *leaf = saltus_calloc((size_t)t->n_reactions + 1, sizeof *leaf);
    SALTUS_NEED(leaf);
    for (int r = 0; r < t->n_reactions; ++r) {
        saltus_spoke s;
        leaf[r] = saltus_spoke_find(t, r, &s) ? -1 : t->n_hubs + t->n_own++;
    }
    ARRAY(own, t->n_own)
    for (int r = 0; r < t->n_reactions; ++r) {
        if (leaf[r] >= 0) {
            m->own[leaf[r] - t->n_hubs] = r;
        }
    }
    SALTUS_TRY(list_own(t, leaf, row, leaves, err));
done:
    saltus_free(leaf);
    return status;
}

/* What each reaction changes. */
static saltus_status find_firings(maker *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = m->t;
    int32_t *row = NULL, *leaves = NULL, *seen = NULL;
    SALTUS_TRY(find_own(m, &row, &leaves, err));
    ARRAY(firings, t->n_reactions)
    seen = saltus_calloc((size_t)t->n_own + 1, sizeof *seen);
    SALTUS_NEED(seen);
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
        saltus_spoke s;
        n += saltus_spoke_find(t, r, &s);
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
    SALTUS_TRY(saltus_spokes_collect(&m->spokes, t, err));
    if (m->spokes.n == 0) {
        goto done; /* all constants are 0 */
    }
    SALTUS_TRY(make_layout(m, err));
    SALTUS_TRY(find_reaches(m, err));
    SALTUS_TRY(find_firings(m, err));
    find_levels(t);
#define KEEP(type, name, n) t->name = m->name;
    SALTUS_HUB_ARRAYS(KEEP)
done:
    if (status != SALTUS_OK) {
        t->n_hubs = 0;
    }
    saltus_spokes_free(&m->spokes);
    return status;
}
