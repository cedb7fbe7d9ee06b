#include "backend/cuda/ssa/packing.h"

#include "backend/cuda/codegen/registers.h"
#include "core/memory.h"
#include "kernel/ssa/hub_rules.h"

#include <string.h>

enum { MAX_ENTRIES = UINT16_MAX, MAX_WIDE_ENTRIES = 1 << 26 };

static const int64_t largest_count = INT32_MAX;

/* Entries that a product law of n factors takes: two factors in each. */
static int n_entries(const saltus_tables *t, int r)
{
    const int n = t->factor_row[r + 1] - t->factor_row[r];
    return n <= 2 ? 1 : n - 1;
}

/* Calls what(user, reaction) for each dependent of reaction r once; r = n_reactions stands for all
 * reactions. */
static void each_dependent(const saltus_tables *t, int r, void (*what)(void *user, int dependent),
                           void *user)
{
    if (r == t->n_reactions) {
        for (int d = 0; d < t->n_reactions; ++d) {
            what(user, d);
        }
        return;
    }
    for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
        const bool is_filler = i > t->dependent_row[r] && i < t->dependent_other[r] &&
                               t->dependent[i] == t->dependent[i - 1];
        if (!is_filler) {
            what(user, t->dependent[i]);
        }
    }
}

static int n_nodes(const saltus_tables *t)
{
    return t->level_first[t->n_levels];
}

static void count_entries(void *user, int dependent)
{
    const saltus_tables *t = ((const void **)user)[0];
    *(int64_t *)((void **)user)[1] += n_entries(t, dependent);
}

static int64_t even(int64_t n)
{
    return n + n % 2;
}

/* Entries of row r, n_reactions being that of all. Lists of changes and of dependents are filled up
 * to an even length: a GPU does two at a time. The root is no entry. */
static int64_t changes_of(const saltus_tables *t, int r)
{
    return r < t->n_reactions ? even(t->change_row[r + 1] - t->change_row[r]) : 0;
}

static int64_t dependents_of(const saltus_tables *t, int r)
{
    int64_t n = 0;
    void *user[] = {(void *)t, &n};
    each_dependent(t, r, count_entries, user);
    return even(n);
}

static int64_t nodes_of(const saltus_tables *t, int r)
{
    int64_t n = 0;
    if (r < t->n_reactions) {
        for (int i = t->node_row[r]; i < t->node_row[r + 1]; ++i) {
            n += t->node[i] != n_nodes(t) - 1;
        }
        return n;
    }
    for (int level = 0; level + 1 < t->n_levels; ++level) {
        n += t->level_nodes[level];
    }
    return n;
}

typedef struct lengths {
    int64_t changes, dependents, nodes;
} lengths;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The longest lists of a reaction, and all lists together. */
static void measure(const saltus_tables *t, lengths *longest, lengths *all)
{
    *longest = *all = (lengths){0};
    for (int r = 0; r <= t->n_reactions; ++r) {
        const lengths l = {changes_of(t, r), dependents_of(t, r), nodes_of(t, r)};
        all->changes += l.changes;
        all->dependents += l.dependents;
        all->nodes += l.nodes;
        if (r < t->n_reactions) {
            longest->changes = larger(longest->changes, l.changes);
            longest->dependents = larger(longest->dependents, l.dependents);
            longest->nodes = larger(longest->nodes, l.nodes);
        }
    }
}

/* Short rows are made equally long: a GPU then knows where they are and need not branch. */
static bool make_equal(const saltus_tables *t, const lengths *longest, lengths *all)
{
    /* Rows are known to be equal by their number of dependents, which is 0 where they are not. */
    if (longest->dependents == 0 || longest->changes > 4 || longest->dependents > 8 ||
        longest->nodes > 4) {
        return false;
    }
    all->changes = longest->changes * t->n_reactions;
    all->dependents = longest->dependents * t->n_reactions + dependents_of(t, t->n_reactions);
    all->nodes = longest->nodes * t->n_reactions + nodes_of(t, t->n_reactions);
    return true;
}

/* Why counts of 32 bits and laws that are products cannot simulate a model; is_wide: with a warp.
 */
static const char *products_against(const saltus_tables *t, bool is_wide)
{
    if (t->n_reactions == 0) {
        return "nothing reacts";
    }
    if (is_wide && (t->n_triggers > 0 || t->n_flags > 0 || t->n_live_rules > 0)) {
        return "it has events, rates that switch in time, or rules that they read";
    }
    if (saltus_has_events(t) && saltus_events_against(t)) {
        return saltus_events_against(t);
    }
    if (t->has_tables) {
        return "it has tables of the time";
    }
    if (is_wide && t->n_starts > 0) {
        return "its initial values are drawn";
    }
    if (t->n_thinned > 0) {
        return "it has rates that drift with time";
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        if (t->law_program[r] >= 0) {
            return "it has rate laws that are no mass action";
        }
    }
    if (t->largest_change > largest_count) {
        return "a reaction changes a count by 2^31 or more";
    }
    for (int s = 0; s < t->n_species; ++s) {
        if (t->initial_counts[s] > largest_count) {
            return "it starts with 2^31 molecules or more";
        }
    }
    return NULL;
}

const char *saltus_hubs_against(const saltus_tables *t, bool are_near)
{
    const char *against = products_against(t, true);
    if (!against && are_near &&
        (t->n_species > UINT16_MAX || t->n_hubs > UINT16_MAX || t->n_hub_leaves > 1 << 21)) {
        against = "it has more than 65,535 species or hubs, or 2^21 sums";
    }
    for (int s = 0; s < t->n_species && !against; ++s) {
        against = t->initial_counts[s] > SALTUS_HUB_LARGEST_16
                      ? "it starts with more than 10^8 molecules"
                      : NULL;
    }
    for (int c = 0; c < t->n_classes && !against; ++c) {
        int64_t weight = 0;
        for (int e = t->classes[c].entry_first; e < t->classes[c].entry_end; ++e) {
            const int64_t x = t->initial_counts[t->entries[e].species];
            weight += t->entries[e].ways * (x + saltus_hub_width(x));
        }
        against =
            weight > largest_count ? "a class of its reactions starts with 2^31 molecules" : NULL;
    }
    return against;
}

const char *saltus_packing_against(const saltus_tables *t, bool is_wide)
{
    const char *against = products_against(t, is_wide);
    if (against) {
        return against;
    }
    if (t->n_levels > SALTUS_PACKED_LEVELS || t->n_leaves + n_nodes(t) > SALTUS_PACKED_MORE ||
        t->n_reactions >= SALTUS_PACKED_MORE || t->n_species >= MAX_ENTRIES || t->by_species) {
        return "it has too many reactions";
    }
    for (int f = 0; f < t->factor_row[t->n_reactions]; ++f) {
        if (t->factor_offset[f] > MAX_ENTRIES) {
            return "a reaction takes too many molecules at once";
        }
    }
    lengths longest, all;
    measure(t, &longest, &all);
    return larger(larger(all.changes, all.nodes), all.dependents) >
                   (is_wide ? MAX_WIDE_ENTRIES : MAX_ENTRIES)
               ? "its reactions depend on too many others"
               : NULL;
}

typedef struct packer {
    const saltus_tables *t;
    bool is_wide;
    saltus_packed_change *changes;
    saltus_packed_dependent *dependents;
    saltus_packed_node *nodes;
    uint32_t n_changes, n_dependents, n_nodes;
} packer;

static void add_dependent(void *user, int r)
{
    packer *p = user;
    const saltus_tables *t = p->t;
    const int first = t->factor_row[r], n = t->factor_row[r + 1] - first;
    const uint16_t one = (uint16_t)t->n_species;
    for (int e = 0; e < n_entries(t, r); ++e) {
        /* the first entry takes factors 0 and 1, every further one the next; the first factor of a
         * species has no offset */
        const int f = e + 1;
        p->dependents[p->n_dependents++] = (saltus_packed_dependent){
            .rate = t->rate[r],
            .first = e == 0 && n > 0 ? (uint16_t)t->factor_species[first] : one,
            .second = f < n ? (uint16_t)t->factor_species[first + f] : one,
            .offset = f < n ? (uint16_t)t->factor_offset[first + f] : 0,
            .reaction = (uint16_t)(r | (e + 1 < n_entries(t, r) ? SALTUS_PACKED_MORE : 0))};
    }
}

static int level_of(const saltus_tables *t, int node)
{
    int level = 0;
    while (node >= t->level_first[level + 1]) {
        ++level;
    }
    return level;
}

/* The sum of a node but the root, which is made when it is needed; `before` is the last node of
 * this row, or -1. */
static void add_node(packer *p, int node, int before)
{
    const saltus_tables *t = p->t;
    if (node == n_nodes(t) - 1) {
        return;
    }
    const bool begins = p->is_wide && before >= 0 && level_of(t, node) != level_of(t, before);
    p->nodes[p->n_nodes++] =
        (saltus_packed_node){(uint16_t)(t->children[node] | (begins ? SALTUS_PACKED_LEVEL : 0)),
                             (uint16_t)(t->n_leaves + node)};
}

/* Add entries that do nothing, up to a length: they have the factor that is not there, and a value
 * that is never read. */
static void fill_up(packer *p, const saltus_packed_wide_row *row, const lengths *to)
{
    const uint16_t one = (uint16_t)p->t->n_species,
                   unread = (uint16_t)(p->t->n_leaves + n_nodes(p->t) - 1);
    while (p->n_changes - row->change < to->changes) {
        p->changes[p->n_changes++] = (saltus_packed_change){one, 0};
    }
    while (p->n_dependents - row->dependent < to->dependents) {
        p->dependents[p->n_dependents++] =
            (saltus_packed_dependent){.first = one, .second = one, .reaction = unread};
    }
    while (p->n_nodes - row->node < to->nodes) {
        p->nodes[p->n_nodes++] = (saltus_packed_node){0, unread};
    }
}

/* Row r, filled up to `to`. */
static void add_row(packer *p, int r, const lengths *to, saltus_packed_wide_row *row)
{
    const saltus_tables *t = p->t;
    int before = -1;
    row->change = p->n_changes;
    row->dependent = p->n_dependents;
    row->node = p->n_nodes;
    for (int c = t->change_row[r]; r < t->n_reactions && c < t->change_row[r + 1]; ++c) {
        p->changes[p->n_changes++] =
            (saltus_packed_change){t->change_species[c], (int32_t)t->change_amount[c]};
    }
    each_dependent(t, r, add_dependent, p);
    if (r < t->n_reactions) {
        for (int i = t->node_row[r]; i < t->node_row[r + 1]; ++i) {
            add_node(p, t->node[i], before);
            before = t->node[i];
        }
    } else {
        for (int level = 0; level < t->n_levels; ++level) {
            for (int i = 0; i < t->level_nodes[level]; ++i) {
                add_node(p, t->level_first[level] + i, before);
                before = t->level_first[level] + i;
            }
        }
    }
    fill_up(p, row, to);
    row->n_changes = p->n_changes - row->change;
    row->n_dependents = p->n_dependents - row->dependent;
    row->n_nodes = p->n_nodes - row->node;
}

static uint32_t place(uint32_t *at, int64_t n, size_t size)
{
    const uint32_t start = *at;
    *at += (uint32_t)(((size_t)n * size + 15) & ~(size_t)15);
    return start;
}

static void narrow(const saltus_packed_wide_row *from, int n, saltus_packed_row *to)
{
    for (int r = 0; r < n; ++r) {
        to[r] = (saltus_packed_row){.change = (uint16_t)from[r].change,
                                    .n_changes = (uint16_t)from[r].n_changes,
                                    .dependent = (uint16_t)from[r].dependent,
                                    .n_dependents = (uint16_t)from[r].n_dependents,
                                    .node = (uint16_t)from[r].node,
                                    .n_nodes = (uint16_t)from[r].n_nodes};
    }
}

saltus_status saltus_pack(const saltus_tables *t, bool is_wide, saltus_packed *out,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int top = t->n_levels - 1;
    packer p = {.t = t, .is_wide = is_wide};
    lengths longest, all;
    saltus_packed_wide_row *rows = NULL;
    char *bytes = NULL;
    measure(t, &longest, &all);
    const bool is_equal = !is_wide && make_equal(t, &longest, &all);
    *out = (saltus_packed){.n_species = t->n_species,
                           .n_reactions = t->n_reactions,
                           .n_values = t->n_leaves + n_nodes(t),
                           .n_levels = t->n_levels,
                           .n_root_children = t->n_children[n_nodes(t) - 1]};
    for (int level = 0; level <= top; ++level) {
        out->level_values[level] = t->children[t->level_first[level]];
    }
    uint32_t at = 0;
    out->rows = place(&at, is_equal ? 0 : t->n_reactions,
                      is_wide ? sizeof(saltus_packed_wide_row) : sizeof(saltus_packed_row));
    out->changes = place(&at, all.changes, sizeof(saltus_packed_change));
    out->dependents = place(&at, all.dependents, sizeof(saltus_packed_dependent));
    out->nodes = place(&at, all.nodes, sizeof(saltus_packed_node));
    out->bytes = at;
    bytes = saltus_calloc(at, 1);
    SALTUS_NEED(bytes);
    rows = saltus_calloc((size_t)t->n_reactions, sizeof *rows);
    SALTUS_NEED(rows);
    p.changes = (saltus_packed_change *)(void *)(bytes + out->changes);
    p.dependents = (saltus_packed_dependent *)(void *)(bytes + out->dependents);
    p.nodes = (saltus_packed_node *)(void *)(bytes + out->nodes);
    for (int r = 0; r <= t->n_reactions; ++r) {
        const lengths own = {changes_of(t, r), dependents_of(t, r), nodes_of(t, r)};
        const bool is_last = r == t->n_reactions;
        add_row(&p, r, is_equal && !is_last ? &longest : &own, is_last ? &out->all : &rows[r]);
    }
    if (is_equal) {
        out->equal = rows[0];
    } else if (is_wide) {
        memcpy(bytes + out->rows, rows, (size_t)t->n_reactions * sizeof *rows);
    } else {
        narrow(rows, t->n_reactions, (saltus_packed_row *)(void *)(bytes + out->rows));
    }
    out->tables = bytes;
    bytes = NULL;
done:
    saltus_free(rows);
    saltus_free(bytes);
    return status;
}

int saltus_packed_kept(const saltus_tables *t)
{
    int n = 0;
    for (int i = 0; i < t->n_hubs; ++i) {
        n += t->hubs[i].n_classes > 0;
    }
    return n;
}

saltus_status saltus_pack_hubs(const saltus_tables *t, saltus_packed *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int n_kept = 0;
    saltus_packed_hub *hubs = saltus_calloc((size_t)t->n_hubs, sizeof *hubs);
    SALTUS_NEED(hubs);
    for (int i = 0; i < t->n_hubs; ++i) {
        const saltus_hub h = t->hubs[i];
        const int kept = h.n_classes > 0 ? n_kept++ : SALTUS_PACKED_ALONE;
        hubs[i] = (saltus_packed_hub){h.alone, (uint16_t)h.species, (uint16_t)kept, h.n_classes,
                                      h.class_first};
    }
    out->tables = (const char *)hubs;
    out->bytes = (uint32_t)((size_t)t->n_hubs * sizeof *hubs);
done:
    return status;
}
