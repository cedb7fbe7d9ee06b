/* What depends on what, and the tree of sums. */
#include "core/order.h"
#include "model/freeze/lists.h"

#include <stdlib.h>

/* For every species the readers (laws or rules) that read it, each once, rising. */
typedef struct readers {
    saltus_lists by_species;
    int32_t *pairs; /* species, reader, … in the order of readers */
    size_t n, capacity;
    int32_t reader;
    int32_t *last; /* [species] the reader noted last */
    bool failed;
} readers;

static void note_reader(void *user, int species)
{
    readers *r = user;
    if (r->last[species] == r->reader) {
        return;
    }
    r->last[species] = r->reader;
    int32_t *grown = saltus_grow(r->pairs, r->n + 1, &r->capacity, sizeof *r->pairs);
    if (!grown) {
        r->failed = true;
        return;
    }
    r->pairs = grown;
    r->pairs[r->n++] = species;
    r->pairs[r->n++] = r->reader;
}

static saltus_status sort_readers(readers *r, int n_species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (r->failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    r->by_species.start = saltus_calloc((size_t)n_species + 2, sizeof *r->by_species.start);
    SALTUS_NEED(r->by_species.start);
    r->by_species.n_items = r->n / 2;
    r->by_species.items = saltus_calloc(r->n / 2, sizeof *r->by_species.items);
    SALTUS_NEED(r->by_species.items);
    int32_t *start = r->by_species.start + 1; /* counting sort by species; it is stable */
    for (size_t i = 0; i < r->n; i += 2) {
        ++start[r->pairs[i]];
    }
    for (int s = 0, sum = 0; s <= n_species; ++s) {
        const int32_t count = start[s];
        start[s] = sum;
        sum += count;
    }
    for (size_t i = 0; i < r->n; i += 2) {
        r->by_species.items[start[r->pairs[i]]++] = r->pairs[i + 1];
    }
done:
    return status;
}

static void free_readers(readers *r)
{
    saltus_lists_free(&r->by_species);
    saltus_free(r->pairs);
    saltus_free(r->last);
}

/* For every reaction the readers of what it changes, each once, rising. */
static saltus_status list_dependents(const saltus_tables *t, const readers *r, int n_readers,
                                     saltus_lists *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t *seen = saltus_calloc((size_t)n_readers, sizeof *seen);
    SALTUS_NEED(seen);
    out->start = saltus_calloc((size_t)t->n_reactions + 1, sizeof *out->start);
    SALTUS_NEED(out->start);
    for (int i = 0; i < t->n_reactions; ++i) {
        for (int c = t->change_row[i]; c < t->change_row[i + 1]; ++c) {
            const int s = t->change_species[c];
            for (int k = r->by_species.start[s]; k < r->by_species.start[s + 1]; ++k) {
                const int reader = r->by_species.items[k];
                if (seen[reader] != i + 1) {
                    seen[reader] = i + 1;
                    SALTUS_TRY(saltus_lists_push(out, reader, err));
                }
            }
        }
        if (out->items && (size_t)out->start[i] < out->n_items) {
            qsort(out->items + out->start[i], out->n_items - (size_t)out->start[i],
                  sizeof *out->items, saltus_order_ints);
        }
        out->start[i + 1] = (int32_t)out->n_items;
    }
done:
    saltus_free(seen);
    return status;
}

static saltus_status fill_rules(saltus_freezer *f, const readers *rules, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const saltus_lists *lists = &rules->by_species;
    saltus_lists by_reaction = {0};
    if (!t->by_species) {
        SALTUS_TRY(list_dependents(t, rules, t->n_rules, &by_reaction, err));
        lists = &by_reaction;
    }
    SALTUS_TRY(saltus_lists_keep(f, lists, t->n_lists, &t->rule_row, &t->rule_of, err));
done:
    saltus_lists_free(&by_reaction);
    return status;
}

/* Pairs first, the others behind them; both stay in order. Pairs are filled up to a multiple of
 * four with repetitions of the last, so that loops over them have few lengths to predict. */
static saltus_status part_dependents(saltus_freezer *f, const saltus_lists *all, saltus_error *err)
{
    enum { STRIDE = 4 };
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_lists parted = {0};
    int32_t *other = saltus_arena_alloc(f->arena, ((size_t)t->n_lists + 1) * sizeof *other);
    SALTUS_NEED(other);
    parted.start = saltus_calloc((size_t)t->n_lists + 1, sizeof *parted.start);
    SALTUS_NEED(parted.start);
    for (int l = 0; l < t->n_lists; ++l) {
        const size_t first = parted.n_items;
        for (int i = all->start[l]; i < all->start[l + 1]; ++i) {
            if (t->pairs[all->items[i]].first >= 0) {
                SALTUS_TRY(saltus_lists_push(&parted, all->items[i], err));
            }
        }
        while ((parted.n_items - first) % STRIDE != 0) {
            SALTUS_TRY(saltus_lists_push(&parted, parted.items[parted.n_items - 1], err));
        }
        other[l] = (int32_t)parted.n_items;
        for (int i = all->start[l]; i < all->start[l + 1]; ++i) {
            if (t->pairs[all->items[i]].first < 0) {
                SALTUS_TRY(saltus_lists_push(&parted, all->items[i], err));
            }
        }
        parted.start[l + 1] = (int32_t)parted.n_items;
    }
    SALTUS_TRY(saltus_lists_keep(f, &parted, t->n_lists, &t->dependent_row, &t->dependent, err));
    t->dependent_other = other;
done:
    saltus_lists_free(&parted);
    return status;
}

/* More entries of lists for every reaction are 64 MB, and several times as much while they are
 * made.
 */
enum { MOST_ENTRIES = 1 << 24 };

/* How long lists for every reaction are, at most: what two species share counts twice. */
static int64_t entries_by_reaction(const saltus_tables *t, const readers *r)
{
    int64_t n = 0;
    for (int c = 0; c < t->change_row[t->n_reactions]; ++c) {
        const int s = t->change_species[c];
        n += r->by_species.start[s + 1] - r->by_species.start[s];
    }
    return n;
}

/* Lists for every reaction are several times as long as all else that is frozen, and are read from
 * memory where they leave a cache. A large network has lists for every species, as has a smaller
 * one with a species that most reactions read and change: what two species of a reaction share is
 * then computed twice, to the same bits. What drifts with time is bounded once. */
static bool is_listed_by_species(const saltus_freezer *f, const readers *laws)
{
    bool drifts = false;
    for (size_t i = 0; i < f->n_steps; ++i) {
        drifts |= f->steps[i].drifts;
    }
    return !drifts && (f->n_steps > (size_t)f->model->most_lists ||
                       entries_by_reaction(&f->net->tables, laws) > MOST_ENTRIES);
}

static saltus_status start_readers(readers *r, int n_species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    r->last = saltus_calloc((size_t)n_species, sizeof *r->last);
    SALTUS_NEED(r->last);
    for (int s = 0; s < n_species; ++s) {
        r->last[s] = -1;
    }
done:
    return status;
}

static saltus_status fill_dependencies(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    readers laws = {0}, rules = {0};
    saltus_lists by_reaction = {0};
    SALTUS_TRY(start_readers(&laws, t->n_species, err));
    SALTUS_TRY(start_readers(&rules, t->n_species, err));
    for (int r = 0; r < t->n_reactions; ++r) {
        laws.reader = r;
        for (int k = t->factor_row[r]; k < t->factor_row[r + 1]; ++k) {
            note_reader(&laws, t->factor_species[k]);
        }
        /* propensities that are integrated are computed anew at every event */
        if (!f->steps[r].is_product && !(f->is_continuous && saltus_moves(f, f->steps[r].law))) {
            saltus_visit_counts(f, f->steps[r].law, note_reader, &laws);
        }
    }
    SALTUS_TRY(sort_readers(&laws, t->n_species, err));
    t->by_species = is_listed_by_species(f, &laws);
    t->n_lists = t->by_species ? t->n_species : t->n_reactions;
    if (t->by_species) {
        SALTUS_TRY(part_dependents(f, &laws.by_species, err));
    } else {
        SALTUS_TRY(list_dependents(t, &laws, t->n_reactions, &by_reaction, err));
        SALTUS_TRY(part_dependents(f, &by_reaction, err));
    }
    for (int i = 0; i < t->n_rules; ++i) {
        rules.reader = i;
        saltus_visit_counts(f, f->rules[f->net->rule_variables[i]], note_reader, &rules);
    }
    SALTUS_TRY(sort_readers(&rules, t->n_species, err));
    SALTUS_TRY(fill_rules(f, &rules, err));
done:
    free_readers(&laws);
    free_readers(&rules);
    saltus_lists_free(&by_reaction);
    return status;
}

/* Levels of the tree, each padded to whole nodes of the next. */
static saltus_status fill_levels(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    int32_t *children = NULL;
    int8_t *n_children = NULL;
    int n = (t->n_reactions + SALTUS_FANOUT - 1) / SALTUS_FANOUT;
    n = n > 0 ? n : 1;
    t->n_leaves = n * SALTUS_FANOUT;
    t->n_levels = 0;
    t->level_first[0] = 0;
    for (;;) {
        t->level_nodes[t->n_levels] = n;
        const int padded = n == 1 ? 1 : (n + SALTUS_FANOUT - 1) / SALTUS_FANOUT * SALTUS_FANOUT;
        t->level_first[t->n_levels + 1] = t->level_first[t->n_levels] + padded;
        ++t->n_levels;
        if (n == 1) {
            break;
        }
        n = padded / SALTUS_FANOUT;
    }
    children = saltus_arena_alloc(f->arena, (size_t)t->level_first[t->n_levels] * sizeof *children);
    SALTUS_NEED(children);
    n_children = saltus_arena_alloc(f->arena, (size_t)t->level_first[t->n_levels]);
    SALTUS_NEED(n_children);
    for (int level = 0; level < t->n_levels; ++level) {
        const int first = level == 0 ? 0 : t->n_leaves + t->level_first[level - 1];
        const int n_below = level == 0 ? t->n_reactions : t->level_nodes[level - 1];
        for (int i = 0; i < t->level_nodes[level]; ++i) {
            const int left = n_below - i * SALTUS_FANOUT;
            children[t->level_first[level] + i] = first + i * SALTUS_FANOUT;
            n_children[t->level_first[level] + i] =
                (int8_t)(left < 1               ? 1
                         : left < SALTUS_FANOUT ? left
                                                : SALTUS_FANOUT);
        }
    }
    t->children = children;
    t->n_children = n_children;
done:
    return status;
}

/* The nodes above the dependents of a reaction, level by level. `mark` has a number per node. */
static saltus_status push_nodes(const saltus_tables *t, int r, int32_t *mark, saltus_lists *nodes,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t first = nodes->n_items;
    for (int k = t->dependent_row[r]; k < t->dependent_row[r + 1]; ++k) {
        const int node = t->dependent[k] / SALTUS_FANOUT;
        if (mark[node] != r + 1) {
            mark[node] = r + 1;
            SALTUS_TRY(saltus_lists_push(nodes, node, err));
        }
    }
    for (int level = 1; level < t->n_levels; ++level) {
        const size_t end = nodes->n_items;
        for (size_t k = first; k < end; ++k) {
            const int below = nodes->items[k] - t->level_first[level - 1];
            const int node = t->level_first[level] + below / SALTUS_FANOUT;
            if (mark[node] != r + 1) {
                mark[node] = r + 1;
                SALTUS_TRY(saltus_lists_push(nodes, node, err));
            }
        }
        first = end;
    }
done:
    return status;
}

saltus_status saltus_nodes_above(saltus_freezer *f, const int32_t *reactions, int n_reactions,
                                 const int32_t **nodes, int32_t *n_nodes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    const size_t n_all = (size_t)t->level_first[t->n_levels];
    bool *is_above = saltus_calloc(n_all + 1, sizeof *is_above);
    int32_t *above = saltus_arena_alloc(f->arena, (n_all + 1) * sizeof *above);
    SALTUS_NEED(is_above && above);
    for (int i = 0; i < n_reactions; ++i) {
        int node = reactions[i];
        for (int level = 0; level < t->n_levels; ++level) {
            node /= SALTUS_FANOUT;
            is_above[t->level_first[level] + node] = true;
        }
    }
    *n_nodes = 0;
    for (size_t k = 0; k < n_all; ++k) {
        if (is_above[k]) {
            above[(*n_nodes)++] = (int32_t)k;
        }
    }
    *nodes = above;
done:
    saltus_free(is_above);
    return status;
}

/* The nodes above the dependents of each reaction. */
static saltus_status list_nodes(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_lists nodes = {0};
    int32_t *mark = saltus_calloc((size_t)t->level_first[t->n_levels], sizeof *mark);
    SALTUS_NEED(mark);
    nodes.start = saltus_calloc((size_t)t->n_lists + 1, sizeof *nodes.start);
    SALTUS_NEED(nodes.start);
    for (int r = 0; r < t->n_lists; ++r) {
        SALTUS_TRY(push_nodes(t, r, mark, &nodes, err));
        nodes.start[r + 1] = (int32_t)nodes.n_items;
    }
    SALTUS_TRY(saltus_lists_keep(f, &nodes, t->n_lists, &t->node_row, &t->node, err));
done:
    saltus_lists_free(&nodes);
    saltus_free(mark);
    return status;
}

saltus_status saltus_fill_dependents(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(fill_dependencies(f, err));
    SALTUS_TRY(fill_levels(f, err));
    if (!f->net->tables.by_species) {
        SALTUS_TRY(list_nodes(f, err));
    }
done:
    return status;
}
