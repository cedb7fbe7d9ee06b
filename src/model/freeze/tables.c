/* Reactions into compressed rows: changes and laws. */
#include "model/freeze/lists.h"

#include <stdlib.h>
#include <string.h>

/* Net changes of every step. `net` is zero on entry and on return, one number per species. */
static saltus_status fill_changes(saltus_freezer *f, int64_t *net, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    saltus_lists changes = {0};
    int64_t *amounts = NULL;
    size_t amounts_capacity = 0;
    const void *p = NULL;
    changes.start = saltus_calloc(f->n_steps + 1, sizeof *changes.start);
    SALTUS_NEED(changes.start);
    t->largest_change = 1; /* of a reaction that changes nothing, too: its firings are counted */
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
                net[s] += (is_product ? sign : -sign) * saltus_way_count(f->steps[i].way, q);
                SALTUS_TRY(saltus_lists_push(&changes, s, err));
            }
        }
        size_t kept = first; /* each species once, where it does change when the reaction begins */
        for (size_t k = first; k < changes.n_items; ++k) {
            const int s = changes.items[k];
            if (!saltus_changes_at_once(r, net[s])) {
                net[s] = 0;
            }
            if (net[s] != 0) {
                int64_t *grown = saltus_grow(amounts, kept, &amounts_capacity, sizeof *amounts);
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
    SALTUS_TRY(
        saltus_lists_keep(f, &changes, (int)f->n_steps, &t->change_row, &t->change_species, err));
    SALTUS_TRY(saltus_keep_copy(f, amounts, changes.n_items, sizeof *amounts, &p, err));
    t->change_amount = p;
done:
    saltus_lists_free(&changes);
    saltus_free(amounts);
    return status;
}

static saltus_status fill_laws(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    const size_t n = f->n_steps;
    const void *p = NULL;
    double *rate = saltus_arena_alloc(f->arena, (n + 1) * sizeof *rate);
    int32_t *law = saltus_arena_alloc(f->arena, (n + 1) * sizeof *law);
    int32_t *row = saltus_arena_alloc(f->arena, (n + 1) * sizeof *row);
    SALTUS_NEED(rate && law && row);
    for (size_t i = 0; i < n; ++i) {
        const saltus_step *s = &f->steps[i];
        law[i] = -1;
        row[i + 1] = row[i] + s->n_factors;
        if (s->is_product) {
            rate[i] = s->rate;
        } else {
            saltus_program *grown =
                saltus_grow(f->laws, f->n_laws, &f->laws_capacity, sizeof *f->laws);
            SALTUS_NEED(grown);
            f->laws = grown;
            SALTUS_TRY(saltus_compile(f, s->law, &f->laws[f->n_laws], err));
            law[i] = (int32_t)f->n_laws++;
        }
    }
    SALTUS_TRY(
        saltus_keep_copy(f, f->factor_species, f->n_factors, sizeof *f->factor_species, &p, err));
    t->factor_species = p;
    SALTUS_TRY(
        saltus_keep_copy(f, f->factor_offset, f->n_factors, sizeof *f->factor_offset, &p, err));
    t->factor_offset = p;
    saltus_free(f->factor_species);
    saltus_free(f->factor_offset);
    f->factor_species = NULL;
    f->factor_offset = NULL;
    t->rate = rate;
    t->law_program = law;
    t->factor_row = row;
done:
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
        pairs[r] = (saltus_pair){.first = -1, .second = -1};
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
    SALTUS_TRY(saltus_fill_dependents(f, err));
done:
    saltus_free(net);
    return status;
}
