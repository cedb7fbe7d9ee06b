/* Reactions that take a while: what their ends change, and how long they take. */
#include "model/freeze/freeze.h"

static saltus_status refuse(const saltus_freezer *f, const saltus_reaction *r, const char *where,
                            saltus_error *err)
{
    char place[160];
    return saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                            "%sreaction '%s' takes a while, which a model %s cannot have",
                            saltus_place(f->model, r->line, place), r->id, where);
}

bool saltus_changes_at_once(const saltus_reaction *r, int64_t net)
{
    return !r->takes_long || (net < 0 && !r->consumes_late);
}

/* Behind the late changes so far, those of a step; `net` is zero on entry and on return. */
static int push_late(const saltus_freezer *f, const saltus_step *s, int64_t *net, int32_t *species,
                     int64_t *amounts)
{
    const saltus_reaction *r = s->reaction;
    int n = 0, kept = 0;
    for (int k = 0; k < r->n_reactants + r->n_products; ++k) {
        const bool is_product = k >= r->n_reactants;
        const saltus_participant *q =
            is_product ? &r->products[k - r->n_reactants] : &r->reactants[k];
        if (f->reacts[q->variable]) {
            species[n] = f->net->bindings[q->variable].row;
            net[species[n++]] += (is_product ? 1 : -1) * saltus_way_count(s->way, q);
        }
    }
    for (int k = 0; k < n; ++k) { /* each once, where it does change */
        const int32_t row = species[k];
        if (net[row] != 0 && !saltus_changes_at_once(r, net[row])) {
            species[kept] = row;
            amounts[kept++] = net[row];
        }
        net[row] = 0;
    }
    return kept;
}

saltus_status saltus_fill_delays(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    int64_t *net = saltus_calloc((size_t)t->n_species + 1, sizeof *net);
    int32_t *of = NULL;
    size_t n_delayed = 0, n_late = 0;
    SALTUS_NEED(net);
    for (size_t i = 0; i < f->n_steps; ++i) {
        const saltus_reaction *r = f->steps[i].reaction;
        n_delayed += r->takes_long;
        if (r->takes_long && f->model->idles) {
            /* what waits for its end would come of nothing */
            SALTUS_TRY(refuse(f, r, "whose reactions idle when they lack reactants", err));
        }
        n_late += r->takes_long ? (size_t)(r->n_reactants + r->n_products) : 0;
        if (r->takes_long && f->model->space) {
            SALTUS_TRY(refuse(f, r, "with a lattice", err));
        }
    }
    const size_t n_of = n_delayed > 0 ? f->n_steps : 0;
    of = saltus_arena_alloc(f->arena, (n_of + 1) * sizeof *of);
    f->delayed = saltus_arena_alloc(f->arena, (n_delayed + 1) * sizeof *f->delayed);
    int32_t *species = saltus_arena_alloc(f->arena, (n_late + 1) * sizeof *species);
    int64_t *amounts = saltus_arena_alloc(f->arena, (n_late + 1) * sizeof *amounts);
    SALTUS_NEED(of && f->delayed && species && amounts);
    for (size_t i = 0; i < n_of; ++i) {
        const saltus_step *s = &f->steps[i];
        of[i] = -1;
        const saltus_expr *delay = saltus_reaction_delay(f->model, s->reaction);
        if (delay) {
            saltus_delayed *d = &f->delayed[t->n_delayed];
            of[i] = t->n_delayed++;
            d->reaction = (int32_t)i;
            d->reads_rules = saltus_reads_rule(f, delay);
            d->first_change = t->n_late;
            d->n_changes = push_late(f, s, net, species + t->n_late, amounts + t->n_late);
            t->n_late += d->n_changes;
            SALTUS_TRY(saltus_compile_drawing(f, delay, &d->delay, &d->first_variate,
                                              &d->n_variates, err));
        }
    }
    t->delayed = f->delayed;
    t->delayed_of = of;
    t->late_species = species;
    t->late_amount = amounts;
done:
    saltus_free(net);
    return status;
}
