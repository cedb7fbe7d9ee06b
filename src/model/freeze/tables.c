/* Reactions into compressed rows: changes, laws, what depends on what, the tree of sums. */
#include "model/freeze/freeze.h"

#include <stdlib.h>
#include <string.h>

/* A compressed list of lists while it is built: items of list i are appended after those of i-1. */
typedef struct rows {
    int32_t *start, *items;
    size_t n_items, capacity;
} rows;

static saltus_status push(rows *r, int32_t item, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t *grown = saltus_grow(r->items, r->n_items, &r->capacity, sizeof *r->items);
    SALTUS_NEED(grown);
    r->items = grown;
    if (r->n_items >= INT32_MAX) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the network is too large for 2^31 dependencies");
    }
    r->items[r->n_items++] = item;
done:
    return status;
}

static void free_rows(rows *r)
{
    saltus_free(r->start);
    saltus_free(r->items);
}

/* A copy that lives as long as the network. */
static saltus_status keep(saltus_freezer *f, const void *data, size_t n, size_t size,
                          const void **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    void *copy = saltus_arena_alloc(f->arena, n * size + 1);
    SALTUS_NEED(copy);
    if (data && n > 0) {
        memcpy(copy, data, n * size);
    }
    *out = copy;
done:
    return status;
}

static saltus_status keep_rows(saltus_freezer *f, const rows *r, int n, const int32_t **start,
                               const int32_t **items, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const void *p = NULL;
    SALTUS_TRY(keep(f, r->start, (size_t)n + 1, sizeof *r->start, &p, err));
    *start = p;
    SALTUS_TRY(keep(f, r->items, r->n_items, sizeof *r->items, &p, err));
    *items = p;
done:
    return status;
}

/* Net changes of every step. `net` is zero on entry and on return, one number per species. */
static saltus_status fill_changes(saltus_freezer *f, int64_t *net, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    rows changes = {0};
    int64_t *amounts = NULL;
    const void *p = NULL;
    changes.start = saltus_calloc(f->n_steps + 1, sizeof *changes.start);
    SALTUS_NEED(changes.start);
    for (size_t i = 0; i < f->n_steps; ++i) {
        const saltus_reaction *r = f->steps[i].reaction;
        const int64_t sign = f->steps[i].backward ? -1 : 1;
        const size_t first = changes.n_items;
        for (int k = 0; k < r->n_reactants + r->n_products; ++k) {
            const bool is_product = k >= r->n_reactants;
            const saltus_participant *q =
                is_product ? &r->products[k - r->n_reactants] : &r->reactants[k];
            if (f->reacts[q->variable]) {
                const int s = f->net->bindings[q->variable].row;
                net[s] += (is_product ? sign : -sign) * saltus_way_count(&f->steps[i].way, q);
                SALTUS_TRY(push(&changes, s, err));
            }
        }
        size_t kept = first; /* each species once, where it does change when the reaction begins */
        for (size_t k = first; k < changes.n_items; ++k) {
            const int s = changes.items[k];
            if (!saltus_changes_at_once(r, net[s])) {
                net[s] = 0;
            }
            if (net[s] != 0) {
                int64_t *grown = saltus_realloc(amounts, changes.capacity, sizeof *amounts);
                SALTUS_NEED(grown);
                amounts = grown;
                changes.items[kept] = s;
                amounts[kept++] = net[s];
                const int64_t size = net[s] < 0 ? -net[s] : net[s];
                t->largest_change = size > t->largest_change ? size : t->largest_change;
                net[s] = 0;
            }
        }
        changes.n_items = kept;
        changes.start[i + 1] = (int32_t)kept;
    }
    SALTUS_TRY(keep_rows(f, &changes, (int)f->n_steps, &t->change_row, &t->change_species, err));
    SALTUS_TRY(keep(f, amounts, changes.n_items, sizeof *amounts, &p, err));
    t->change_amount = p;
done:
    free_rows(&changes);
    saltus_free(amounts);
    return status;
}

static saltus_status fill_laws(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n = f->n_steps;
    rows factors = {0};
    double *rate = saltus_arena_alloc(f->arena, (n + 1) * sizeof *rate);
    int32_t *law = saltus_arena_alloc(f->arena, (n + 1) * sizeof *law);
    double *offset = NULL;
    SALTUS_NEED(rate);
    SALTUS_NEED(law);
    factors.start = saltus_calloc(n + 1, sizeof *factors.start);
    SALTUS_NEED(factors.start);
    for (size_t i = 0; i < n; ++i) {
        const saltus_step *s = &f->steps[i];
        law[i] = -1;
        if (s->is_product) {
            rate[i] = s->product.rate;
            for (int k = 0; k < s->product.n; ++k) {
                SALTUS_TRY(push(&factors, s->product.species[k], err));
            }
        } else {
            saltus_program *grown =
                saltus_grow(f->laws, f->n_laws, &f->laws_capacity, sizeof *f->laws);
            SALTUS_NEED(grown);
            f->laws = grown;
            SALTUS_TRY(saltus_compile(f, s->law, &f->laws[f->n_laws], err));
            law[i] = (int32_t)f->n_laws++;
        }
        factors.start[i + 1] = (int32_t)factors.n_items;
    }
    offset = saltus_arena_alloc(f->arena, (factors.n_items + 1) * sizeof *offset);
    SALTUS_NEED(offset);
    for (size_t i = 0; i < n; ++i) {
        if (f->steps[i].is_product && f->steps[i].product.n > 0) {
            memcpy(offset + factors.start[i], f->steps[i].product.offset,
                   (size_t)f->steps[i].product.n * sizeof *offset);
        }
    }
    SALTUS_TRY(keep_rows(f, &factors, (int)n, &t->factor_row, &t->factor_species, err));
    t->rate = rate;
    t->law_program = law;
    t->factor_offset = offset;
done:
    free_rows(&factors);
    return status;
}

static saltus_status fill_pairs(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_pair *pairs = saltus_arena_alloc(f->arena, (f->n_steps + 1) * sizeof *pairs);
    SALTUS_NEED(pairs);
    for (int r = 0; r < t->n_reactions; ++r) {
        const int first = t->factor_row[r], n = t->factor_row[r + 1] - first;
        const bool is_pair =
            t->law_program[r] < 0 && n <= 2 && (n == 0 || t->factor_offset[first] == 0.0);
        pairs[r] = (saltus_pair){.rate = t->rate[r], .first = -1, .second = -1};
        if (is_pair) {
            pairs[r].first = n > 0 ? t->factor_species[first] : t->row_one;
            pairs[r].second = n > 1 ? t->factor_species[first + 1] : t->row_one;
            pairs[r].offset = n > 1 ? t->factor_offset[first + 1] : 0.0;
        }
    }
    t->pairs = pairs;
done:
    return status;
}

/* Species that a step can take below zero because its law does not vanish in time. */
static saltus_status find_unsafe(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    bool *unsafe = saltus_calloc((size_t)t->n_species, sizeof *unsafe);
    int32_t *list = saltus_arena_alloc(f->arena, ((size_t)t->n_species + 1) * sizeof *list);
    SALTUS_NEED(unsafe);
    SALTUS_NEED(list);
    for (int r = 0; r < t->n_reactions; ++r) {
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            const int s = t->change_species[c];
            for (int64_t left = 0; left < -t->change_amount[c] && !unsafe[s]; ++left) {
                bool vanishes = false;
                for (int k = t->factor_row[r]; k < t->factor_row[r + 1]; ++k) {
                    vanishes |= t->factor_species[k] == s && t->factor_offset[k] == (double)left;
                }
                unsafe[s] = !vanishes;
            }
        }
    }
    t->n_unsafe = 0;
    for (int s = 0; s < t->n_species; ++s) {
        if (unsafe[s]) {
            list[t->n_unsafe++] = s;
        }
    }
    t->unsafe = list;
done:
    saltus_free(unsafe);
    return status;
}

static void note_any(void *user, int species)
{
    (void)species;
    *(bool *)user = true;
}

bool saltus_reads_counts(const saltus_freezer *f, const saltus_expr *e)
{
    bool any = false;
    saltus_visit_counts(f, e, note_any, &any);
    return any;
}

/* For every species the readers (laws or rules) that read it, each once, rising. */
typedef struct readers {
    rows by_species;
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
    free_rows(&r->by_species);
    saltus_free(r->pairs);
    saltus_free(r->last);
}

static int compare_ints(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* For every reaction the readers of what it changes, each once, rising. */
static saltus_status fill_dependents(saltus_freezer *f, const readers *r, int n_readers,
                                     const int32_t **start, const int32_t **items,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &f->net->tables;
    rows out = {0};
    int32_t *seen = saltus_calloc((size_t)n_readers, sizeof *seen);
    SALTUS_NEED(seen);
    out.start = saltus_calloc((size_t)t->n_reactions + 1, sizeof *out.start);
    SALTUS_NEED(out.start);
    for (int i = 0; i < t->n_reactions; ++i) {
        for (int c = t->change_row[i]; c < t->change_row[i + 1]; ++c) {
            const int s = t->change_species[c];
            for (int k = r->by_species.start[s]; k < r->by_species.start[s + 1]; ++k) {
                const int reader = r->by_species.items[k];
                if (seen[reader] != i + 1) {
                    seen[reader] = i + 1;
                    SALTUS_TRY(push(&out, reader, err));
                }
            }
        }
        if (out.items && (size_t)out.start[i] < out.n_items) {
            qsort(out.items + out.start[i], out.n_items - (size_t)out.start[i], sizeof *out.items,
                  compare_ints);
        }
        out.start[i + 1] = (int32_t)out.n_items;
    }
    SALTUS_TRY(keep_rows(f, &out, t->n_reactions, start, items, err));
done:
    free_rows(&out);
    saltus_free(seen);
    return status;
}

/* Pairs first, the others behind them; both stay in order. Pairs are filled up to a multiple of
 * four with repetitions of the last, so that loops over them have few lengths to predict. */
static saltus_status part_dependents(saltus_freezer *f, saltus_error *err)
{
    enum { STRIDE = 4 };
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    rows parted = {0};
    int32_t *other = saltus_arena_alloc(f->arena, ((size_t)t->n_reactions + 1) * sizeof *other);
    SALTUS_NEED(other);
    parted.start = saltus_calloc((size_t)t->n_reactions + 1, sizeof *parted.start);
    SALTUS_NEED(parted.start);
    for (int r = 0; r < t->n_reactions; ++r) {
        const size_t first = parted.n_items;
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            if (t->pairs[t->dependent[i]].first >= 0) {
                SALTUS_TRY(push(&parted, t->dependent[i], err));
            }
        }
        while ((parted.n_items - first) % STRIDE != 0) {
            SALTUS_TRY(push(&parted, parted.items[parted.n_items - 1], err));
        }
        other[r] = (int32_t)parted.n_items;
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            if (t->pairs[t->dependent[i]].first < 0) {
                SALTUS_TRY(push(&parted, t->dependent[i], err));
            }
        }
        parted.start[r + 1] = (int32_t)parted.n_items;
    }
    SALTUS_TRY(keep_rows(f, &parted, t->n_reactions, &t->dependent_row, &t->dependent, err));
    t->dependent_other = other;
done:
    free_rows(&parted);
    return status;
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
    for (int i = 0; i < t->n_rules; ++i) {
        rules.reader = i;
        saltus_visit_counts(f, f->rules[f->net->rule_variables[i]], note_reader, &rules);
    }
    SALTUS_TRY(sort_readers(&laws, t->n_species, err));
    SALTUS_TRY(sort_readers(&rules, t->n_species, err));
    SALTUS_TRY(fill_dependents(f, &laws, t->n_reactions, &t->dependent_row, &t->dependent, err));
    SALTUS_TRY(part_dependents(f, err));
    SALTUS_TRY(fill_dependents(f, &rules, t->n_rules, &t->rule_row, &t->rule_of, err));
done:
    free_readers(&laws);
    free_readers(&rules);
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

/* The nodes above the dependents of every reaction, level by level. `mark` has a number per node.
 */
static saltus_status push_nodes(const saltus_tables *t, int r, int32_t *mark, rows *nodes,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t first = nodes->n_items;
    for (int k = t->dependent_row[r]; k < t->dependent_row[r + 1]; ++k) {
        const int node = t->dependent[k] / SALTUS_FANOUT;
        if (mark[node] != r + 1) {
            mark[node] = r + 1;
            SALTUS_TRY(push(nodes, node, err));
        }
    }
    for (int level = 1; level < t->n_levels; ++level) {
        const size_t end = nodes->n_items;
        for (size_t k = first; k < end; ++k) {
            const int below = nodes->items[k] - t->level_first[level - 1];
            const int node = t->level_first[level] + below / SALTUS_FANOUT;
            if (below >= 0 && mark[node] != r + 1) {
                mark[node] = r + 1;
                SALTUS_TRY(push(nodes, node, err));
            }
        }
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

static saltus_status fill_tree(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    rows nodes = {0};
    int32_t *mark = NULL;
    SALTUS_TRY(fill_levels(f, err));
    mark = saltus_calloc((size_t)t->level_first[t->n_levels], sizeof *mark);
    SALTUS_NEED(mark);
    nodes.start = saltus_calloc((size_t)t->n_reactions + 1, sizeof *nodes.start);
    SALTUS_NEED(nodes.start);
    for (int r = 0; r < t->n_reactions; ++r) {
        SALTUS_TRY(push_nodes(t, r, mark, &nodes, err));
        nodes.start[r + 1] = (int32_t)nodes.n_items;
    }
    SALTUS_TRY(keep_rows(f, &nodes, t->n_reactions, &t->node_row, &t->node, err));
done:
    free_rows(&nodes);
    saltus_free(mark);
    return status;
}

saltus_status saltus_fill_reactions(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    f->net->tables.n_reactions = (int32_t)f->n_steps;
    f->net->tables.idles = f->model->idles;
    int64_t *net = saltus_calloc((size_t)f->net->tables.n_species, sizeof *net);
    SALTUS_NEED(net);
    SALTUS_TRY(fill_changes(f, net, err));
    SALTUS_TRY(fill_laws(f, err));
    SALTUS_TRY(fill_pairs(f, err));
    SALTUS_TRY(find_unsafe(f, err));
    SALTUS_TRY(fill_dependencies(f, err));
    SALTUS_TRY(fill_tree(f, err));
done:
    saltus_free(net);
    return status;
}
