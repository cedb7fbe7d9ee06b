#include "engine/hybrid.h"

#include "core/memory.h"
#include "kernel/ode/noise.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* Which species are read, and whether something that moves by itself is. */
typedef struct reads {
    const saltus_tables *n;
    int32_t *list; /* of species that were found */
    size_t n_found, capacity;
    int64_t *seen; /* [row] the law for which it was looked at, from 1 on */
    int64_t law;
    uint8_t drifts;
    bool failed;
} reads;

static void read_row(void *user, int row)
{
    reads *w = user;
    const saltus_tables *n = w->n;
    if (row < 0 || row >= n->row_one || w->seen[row] == w->law) {
        return; /* constants do not move, and temporaries are read where they are made */
    }
    w->seen[row] = w->law;
    if (row < n->n_species) {
        int32_t *grown = saltus_grow(w->list, w->n_found, &w->capacity, sizeof *w->list);
        w->failed |= !grown;
        if (grown) {
            w->list = grown;
            w->list[w->n_found++] = row;
        }
    } else if (row == n->row_time) {
        w->drifts = 1;
    } else if (row >= n->row_rules) {
        saltus_program_reads(n, n->rules[row - n->row_rules], read_row, w);
    }
    for (int i = 0; i < n->n_rates; ++i) {
        w->drifts |= n->rate_rows[i] == row;
    }
}

static void read_law(reads *w, int reaction)
{
    const saltus_tables *n = w->n;
    ++w->law;
    w->drifts = 0;
    if (n->law_program[reaction] >= 0) {
        saltus_program_reads(n, n->laws[n->law_program[reaction]], read_row, w);
    }
    for (int f = n->factor_row[reaction]; f < n->factor_row[reaction + 1]; ++f) {
        read_row(w, n->factor_species[f]);
    }
}

static int64_t size_of(const saltus_tables *n, int reaction)
{
    int64_t size = 0;
    for (int c = n->change_row[reaction]; c < n->change_row[reaction + 1]; ++c) {
        size += n->change_amount[c] < 0 ? -n->change_amount[c] : n->change_amount[c];
    }
    return size;
}

/* Reactions by the molecules that they change: few sizes, so each is gone through. */
static void sort_by_size(const saltus_tables *n, int32_t *by_size)
{
    int done = 0;
    for (int64_t size = 0; done < n->n_reactions;) {
        int64_t next = INT64_MAX;
        for (int r = 0; r < n->n_reactions; ++r) {
            const int64_t own = size_of(n, r);
            if (own == size) {
                by_size[done++] = r;
            } else if (own > size && own < next) {
                next = own;
            }
        }
        size = next;
    }
}

/* Whether a reaction consumes a species that some law, perhaps its own, does not keep from going
 * below 0. What takes a while fails in place of doing nothing. */
static bool may_lack(const saltus_tables *n, int reaction)
{
    bool may = false;
    for (int c = n->change_row[reaction]; c < n->change_row[reaction + 1] && n->idles; ++c) {
        for (int u = 0; u < n->n_unsafe; ++u) {
            may |= n->change_amount[c] < 0 && n->unsafe[u] == n->change_species[c];
        }
    }
    return may && !(n->n_delayed > 0 && n->delayed_of[reaction] >= 0);
}

/* Whether a reaction changes what conditions of triggers read. */
static bool is_watched(const saltus_tables *n, int reaction)
{
    bool is = false;
    for (int c = n->change_row[reaction]; c < n->change_row[reaction + 1]; ++c) {
        for (int i = 0; i < n->n_wavering; ++i) {
            is |= n->bend[(int64_t)n->waver_of[i] * n->n_species + n->change_species[c]] != 0.0;
        }
    }
    return is;
}

#define ARRAY(name, size)                                     \
    h->name = saltus_calloc((size_t)(size), sizeof *h->name); \
    SALTUS_NEED(h->name);

saltus_status saltus_hybrid_create(const saltus_tables *t, double least, saltus_hybrid **out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t r = (size_t)t->n_reactions, s = (size_t)t->n_species, m = s + (size_t)t->n_rates;
    reads w = {.n = t};
    int32_t *row = saltus_calloc(r + 1, sizeof *row), *by_size = saltus_calloc(r, sizeof *by_size);
    int32_t *lacking = saltus_calloc(r, sizeof *lacking);
    uint8_t *drifts = saltus_calloc(r, 1), *is_event = saltus_calloc(r, 1);
    saltus_hybrid *h = saltus_calloc(1, sizeof *h);
    w.seen = saltus_calloc((size_t)t->n_rows, sizeof *w.seen);
    SALTUS_NEED(row && by_size && lacking && drifts && is_event && h && w.seen);
    h->least = least;
    h->has_factors = t->n_rates == 0;
    ARRAY(flows, r)
    ARRAY(deviation, m)
    ARRAY(kind, r)
    ARRAY(lacks, r)
    ARRAY(flowing, r)
    ARRAY(moving, r)
    ARRAY(real, s)
    ARRAY(component, s)
    ARRAY(floor, s)
    ARRAY(basis, s)
    ARRAY(pivot, s)
    ARRAY(reduced, s * s)
    ARRAY(factor, s * s)
    ARRAY(extent, s)
    ARRAY(change, s)
    ARRAY(kept, s)
    ARRAY(matrix, SALTUS_NOISE_MATRICES * m * m)
    ARRAY(vector, SALTUS_NOISE_VECTORS * m)
    ARRAY(bend, 2 * r)
    ARRAY(holds, (size_t)t->n_wavering)
    ARRAY(near, r)
    ARRAY(is_watched, r)
    ARRAY(reach, s)
    ARRAY(counts, s)
    for (int i = 0; i < t->n_reactions; ++i) {
        read_law(&w, i);
        row[i + 1] = (int32_t)w.n_found;
        drifts[i] = w.drifts;
        is_event[i] = t->n_delayed > 0 && t->delayed_of[i] >= 0;
        h->is_watched[i] = is_watched(t, i);
        h->has_factors &= t->law_program[i] < 0;
        if (may_lack(t, i)) {
            lacking[h->n_may_lack++] = i;
        }
    }
    if (w.failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    for (int c = 0; c < t->change_row[t->n_reactions]; ++c) {
        double *reach = &h->reach[t->change_species[c]];
        const double size = fabs((double)t->change_amount[c]);
        *reach = size > *reach ? size : *reach;
    }
    sort_by_size(t, by_size);
    h->read_row = row;
    h->read = w.list;
    h->by_size = by_size;
    h->may_lack = lacking;
    h->drifts = drifts;
    h->is_event = is_event;
    *out = h;
    h = NULL;
    row = by_size = lacking = w.list = NULL;
    drifts = is_event = NULL;
done:
    saltus_free(w.seen);
    saltus_free(w.list);
    saltus_free(row);
    saltus_free(by_size);
    saltus_free(lacking);
    saltus_free(drifts);
    saltus_free(is_event);
    saltus_hybrid_destroy(h);
    return status;
}

void saltus_hybrid_destroy(saltus_hybrid *h)
{
    if (!h) {
        return;
    }
    void *const own[] = {h->flows,
                         h->deviation,
                         h->kind,
                         h->lacks,
                         h->flowing,
                         h->moving,
                         h->real,
                         h->component,
                         h->floor,
                         h->basis,
                         h->pivot,
                         h->reduced,
                         h->factor,
                         h->extent,
                         h->change,
                         h->kept,
                         h->matrix,
                         h->vector,
                         h->bend,
                         h->holds,
                         h->near,
                         h->is_watched,
                         h->reach,
                         h->counts,
                         (void *)(uintptr_t)h->read_row,
                         (void *)(uintptr_t)h->read,
                         (void *)(uintptr_t)h->by_size,
                         (void *)(uintptr_t)h->may_lack,
                         (void *)(uintptr_t)h->drifts,
                         (void *)(uintptr_t)h->is_event};
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
        saltus_free(own[i]);
    }
    saltus_free(h);
}

void saltus_hybrid_start(saltus_hybrid *h, const saltus_tables *t)
{
    memset(h->flows, 0, (size_t)t->n_reactions);
    memset(h->lacks, 0, (size_t)t->n_reactions);
    h->kicks = 0;
    memset(h->deviation, 0, sizeof *h->deviation * ((size_t)t->n_species + (size_t)t->n_rates));
}
