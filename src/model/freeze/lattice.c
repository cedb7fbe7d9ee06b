/* The lattice's tables: who jumps how often, what happens where, what is where at first. */
#include "core/order.h"
#include "model/freeze/freeze.h"
#include "model/lattice/space.h"

#include <math.h>
#include <stdlib.h>

saltus_status saltus_check_space(const saltus_model *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        if (v->rate && v->kind != SALTUS_KIND_PARAMETER) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                        "%s%s '%s' has a rate rule, which in a model with a lattice parameters "
                        "alone can have: it would be another in every site",
                        saltus_place(m, v->line, place), saltus_kind_text(v), v->id);
        }
        if (m->space->has_amounts[i] && v->set) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "%s'%s' cannot be set: the lattice says how many there are where",
                        saltus_place(m, v->line, place), v->id);
        }
    }
done:
    return status;
}

/* ---- jumps ---- */

static saltus_status fill_jumps(saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_space *space = f->model->space;
    const size_t n_pairs = (size_t)l->n_types * (size_t)l->n_types, n = (size_t)l->n_species;
    double *diffusion = saltus_arena_alloc(f->arena, (n_pairs * n + 1) * sizeof *diffusion);
    double *jump = saltus_arena_alloc(f->arena, (n_pairs * n + 1) * sizeof *jump);
    double *largest = saltus_arena_alloc(f->arena, (n + 1) * sizeof *largest);
    SALTUS_NEED(diffusion && jump && largest);
    for (size_t v = 0; v < f->model->n_variables; ++v) {
        for (size_t k = 0; space->diffusion[v] && k < n_pairs; ++k) {
            const size_t s = (size_t)f->net->bindings[v].row;
            const double d = space->diffusion[v][k];
            const double q = d * space->step / (space->spacing * space->spacing);
            diffusion[k * n + s] = d;
            jump[k * n + s] = fmin(q, 0.5); /* what is above is rounding */
            largest[s] = fmax(largest[s], jump[k * n + s]);
        }
    }
    l->diffusion = diffusion;
    l->jump = jump;
    l->largest_jump = largest;
done:
    return status;
}

static saltus_status fill_faces(saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_space *space = f->model->space;
    const size_t n = (size_t)l->n_species;
    double *mean = saltus_arena_alloc(f->arena, (SALTUS_N_FACES * n + 1) * sizeof *mean);
    SALTUS_NEED(mean);
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        l->faces[face] = space->faces[face];
        for (size_t v = 0; space->face_means[face] && v < f->model->n_variables; ++v) {
            if (space->diffusion[v]) {
                mean[(size_t)face * n + (size_t)f->net->bindings[v].row] =
                    space->face_means[face][v];
            }
        }
    }
    l->face_mean = mean;
done:
    return status;
}

/* ---- reactions ---- */

/* A constant that is given for a type, as it stands in the tables: divided by the ways to order
 * molecules of a kind. */
static double divide_by_ways(const saltus_reaction *r, double constant)
{
    for (int i = 0; i < r->n_reactants; ++i) {
        int64_t n = 0;
        for (int j = 0; j <= i; ++j) {
            n += r->reactants[j].variable == r->reactants[i].variable
                     ? saltus_whole_molecules(&r->reactants[j])
                     : 0;
        }
        for (int64_t k = n - saltus_whole_molecules(&r->reactants[i]) + 1; k <= n; ++k) {
            constant /= (double)k;
        }
    }
    return constant;
}

static bool reads_size(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_VARIABLE && (f->reads[node->variable] & SALTUS_READS_SIZES);
}

/* Whether e is a sum of counts, each times what is no count: what may be taken site by site. */
static bool is_of_order_1(const saltus_freezer *f, const saltus_expr *e)
{
    const saltus_expr *rule = saltus_rule_behind(f, e);
    int n = 0;
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        return rule ? is_of_order_1(f, rule) : saltus_reads_counts(f, e);
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
        for (int i = 0; i < e->n_args; ++i) {
            n += is_of_order_1(f, e->args[i]);
        }
        return n == e->n_args;
    case SALTUS_OP_MUL:
        for (int i = 0; i < e->n_args; ++i) {
            n += !saltus_reads_counts(f, e->args[i]) ? 0 : is_of_order_1(f, e->args[i]) ? 1 : 2;
        }
        return n == 1;
    case SALTUS_OP_DIV:
        return is_of_order_1(f, e->args[0]) && !saltus_reads_counts(f, e->args[1]);
    case SALTUS_OP_NEG:
        return is_of_order_1(f, e->args[0]);
    default:
        return false;
    }
}

/* A law of a whole compartment that does not name its size is not known to hold in a site, unless
 * it is of order 1. */
static void look_at_size(saltus_freezer *f, const saltus_step *step)
{
    char place[160];
    const saltus_reaction *r = step->reaction;
    const bool scales = step->is_product ? step->n_factors == 1 : is_of_order_1(f, step->law);
    if (f->model->space->site_sizes && !scales && !saltus_expr_any(r->law, reads_size, f)) {
        saltus_model_warn(f->model,
                          "%sreaction '%s': its rate law does not use the size of a compartment; "
                          "it is taken as the rate in one site",
                          saltus_place(f->model, r->line, place), step->id);
    }
}

/* Whether the factors of a law are the ways to choose its reactants. */
static bool is_mass_action(const saltus_freezer *f, const saltus_step *step)
{
    const saltus_reaction *r = step->reaction;
    const saltus_tables *t = &f->net->tables;
    const int first = t->factor_row[step - f->steps];
    const int32_t *species = t->factor_species + first;
    const double *offset = t->factor_offset + first;
    int64_t n = 0;
    bool fits = step->is_product && step->id == r->id; /* else one of two ways */
    for (int i = 0; i < r->n_reactants; ++i) {
        n += saltus_whole_molecules(&r->reactants[i]);
    }
    for (int i = 0; fits && i < step->n_factors; ++i) { /* each is another reactant molecule */
        double most = 0.0;
        for (int k = 0; k < r->n_reactants; ++k) {
            const bool same = f->net->bindings[r->reactants[k].variable].row == species[i];
            most += same ? (double)saltus_whole_molecules(&r->reactants[k]) : 0.0;
        }
        fits = offset[i] < most;
        for (int k = 0; k < i; ++k) {
            fits &= species[k] != species[i] || offset[k] != offset[i];
        }
    }
    return r->mass_action || (fits && n == step->n_factors);
}

/* What a step has in the sites of all types: rate[type * n_reactions + i]. */
static saltus_status fill_rate(saltus_freezer *f, const saltus_lattice *l, size_t i, double *rate,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    const saltus_step *step = &f->steps[i];
    const saltus_reaction *r = step->reaction;
    const saltus_site_rate *rates = f->model->space->rates[r - f->model->reactions];
    const double own = step->is_product ? step->rate : 1.0;
    bool uses_own = false, is_given = false;
    for (int type = 0; type < l->n_types; ++type) {
        const bool happens = !rates || rates[type].happens;
        const bool given = rates && rates[type].is_given;
        rate[(size_t)type * (size_t)l->n_reactions + i] =
            !happens ? 0.0
            : given  ? divide_by_ways(r, rates[type].constant)
                     : own;
        is_given |= given;
        uses_own |= happens && !given;
    }
    if (is_given && !is_mass_action(f, step)) {
        SALTUS_FAIL(SALTUS_E_MODEL,
                    "%sreaction '%s': its rate law is not mass action of its reactants, so the "
                    "lattice can give it no constant",
                    saltus_place(f->model, r->line, place), r->id);
    }
    if (is_given && !step->is_product) {
        SALTUS_FAIL(
            SALTUS_E_MODEL,
            "%sreaction '%s': its rate law is no constant number times numbers of molecules, "
            "so the lattice can give it no constant, only types of sites",
            saltus_place(f->model, r->line, place), r->id);
    }
    if (uses_own) {
        look_at_size(f, step);
    }
done:
    return status;
}

static saltus_status fill_rates(saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)l->n_reactions;
    double *rate = saltus_arena_alloc(f->arena, ((size_t)l->n_types * n + 1) * sizeof *rate);
    SALTUS_NEED(rate);
    for (size_t i = 0; i < n; ++i) {
        SALTUS_TRY(fill_rate(f, l, i, rate, err));
    }
    l->rate = rate;
done:
    return status;
}

/* Molecules that a step takes at least two of, each of which jumps in nearly every step of time. */
static bool takes_restless_pair(const saltus_freezer *f, const saltus_lattice *l, size_t i)
{
    const double restless = 0.48; /* the probability of a jump each way */
    const saltus_reaction *r = f->steps[i].reaction;
    int64_t n = 0;
    for (int k = 0; k < r->n_reactants; ++k) {
        const int row = f->net->bindings[r->reactants[k].variable].row;
        n += row >= 0 && l->largest_jump[row] > restless ? saltus_whole_molecules(&r->reactants[k])
                                                         : 0;
    }
    return n >= 2;
}

/* Two molecules an odd number of sites apart along an axis stay so while both jump in every step:
 * until a wall turns one of them, they do not meet. */
static void look_at_step(saltus_freezer *f, const saltus_lattice *l)
{
    for (size_t i = 0; i < f->n_steps; ++i) {
        if (takes_restless_pair(f, l, i)) {
            saltus_model_warn(f->model,
                              "lattice: by method mpd molecules of reaction '%s' that are an odd "
                              "number of sites apart seldom meet, as they jump in nearly every "
                              "step of %g s; a step with q = 0.45 (`largest`) has no such trouble",
                              f->steps[i].id, l->step);
            return;
        }
    }
}

/* How fast molecules of a species in a site decay on their own, 1/s. */
static double decay_of(const saltus_freezer *f, const saltus_lattice *l, int species, int type)
{
    const saltus_tables *t = &f->net->tables;
    double k = 0.0;
    for (int r = 0; r < l->n_reactions; ++r) {
        const int first = t->factor_row[r];
        const bool is_its = t->law_program[r] < 0 && t->factor_row[r + 1] == first + 1 &&
                            t->factor_species[first] == species && t->factor_offset[first] == 0.0;
        for (int c = t->change_row[r]; c < t->change_row[r + 1] && is_its; ++c) {
            k += t->change_species[c] == species && t->change_amount[c] < 0
                     ? l->rate[(int64_t)type * l->n_reactions + r]
                     : 0.0;
        }
    }
    return k;
}

/* What comes from nothing reacts for a whole step at once: at the ends of steps there is less of
 * it, by k step / 2 of what decays at k. Tells of that which lacks most. */
static void warn_of_births(saltus_freezer *f, const saltus_lattice *l)
{
    const double long_step = 0.1; /* k step: 5 % */
    const saltus_tables *t = &f->net->tables;
    double most = 0.0;
    int species = 0, reaction = 0;
    for (int r = 0; r < l->n_reactions; ++r) {
        const bool is_birth = t->law_program[r] < 0 && t->factor_row[r + 1] == t->factor_row[r];
        for (int c = t->change_row[r]; c < t->change_row[r + 1] && is_birth; ++c) {
            for (int type = 0; type < l->n_types; ++type) {
                const bool is_here = l->rate[(int64_t)type * l->n_reactions + r] > 0.0;
                const double x =
                    is_here ? l->step * decay_of(f, l, t->change_species[c], type) : 0.0;
                if (x > most) {
                    most = x;
                    species = t->change_species[c];
                    reaction = r;
                }
            }
        }
    }
    if (most > long_step) {
        saltus_model_warn(f->model,
                          "lattice: by method mpd there is up to %.3g %% too little of '%s': what "
                          "'%s' makes has decayed for a whole step of %g s when it is counted; "
                          "steps of %.2g s make that 2 %%, and method nsm is exact",
                          100.0 * (1.0 - most / expm1(most)), f->net->species_names[species],
                          f->steps[reaction].id, l->step, 0.04 * l->step / most);
    }
}

/* ---- what is there at first ---- */

static saltus_status fill_scatters(saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    const saltus_space *space = f->model->space;
    saltus_scatter *out = saltus_arena_alloc(f->arena, (space->n_placements + 1) * sizeof *out);
    SALTUS_NEED(out);
    for (size_t i = 0; i < space->n_placements; ++i) {
        const saltus_placement *p = &space->placements[i];
        const saltus_variable *v = &f->model->variables[p->variable];
        const int row = f->net->bindings[p->variable].row;
        const int64_t count = p->count >= 0 ? p->count : f->net->tables.initial_counts[row];
        double n_sites = 0.0;
        for (int type = 0; type < l->n_types; ++type) {
            n_sites += p->in[type] ? (double)l->sites_of[type] : 0.0;
        }
        if ((double)count > SALTUS_MOST_PER_SITE * n_sites) {
            SALTUS_FAIL(SALTUS_E_MODEL,
                        "%sspecies '%s': %lld particles do not fit into %.0f sites (%.0f each at "
                        "most)",
                        p->line > 0 ? saltus_place_in(space->path, p->line, place)
                                    : saltus_place(f->model, v->line, place),
                        v->id, (long long)count, n_sites, SALTUS_MOST_PER_SITE);
        }
        if (count > 0) {
            out[l->n_scatters++] = (saltus_scatter){row, count, p->in};
        }
    }
    l->scatters = out;
done:
    return status;
}

static int compare_deposits(const void *a, const void *b)
{
    const saltus_deposit *x = a, *y = b;
    const int by_site = saltus_order(x->site, y->site);
    return by_site ? by_site : saltus_order(x->species, y->species);
}

static saltus_status fill_deposits(saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_space *space = f->model->space;
    saltus_deposit *out = saltus_arena_alloc(f->arena, (space->n_deposits + 1) * sizeof *out);
    SALTUS_NEED(out);
    for (size_t i = 0; i < space->n_deposits; ++i) {
        out[i] = space->deposits[i];
        out[i].species = f->net->bindings[out[i].species].row;
    }
    qsort(out, space->n_deposits, sizeof *out, compare_deposits);
    for (size_t i = 0; i < space->n_deposits; ++i) { /* each pair once */
        saltus_deposit *last = l->n_deposits > 0 ? &out[l->n_deposits - 1] : NULL;
        if (last && compare_deposits(last, &out[i]) == 0) {
            last->n += out[i].n;
        } else if (out[i].n > 0) {
            out[l->n_deposits++] = out[i];
        }
    }
    l->deposits = out;
done:
    return status;
}

/* ---- all together ---- */

/* Whether e is surely 0 where there are no particles. */
static bool is_zero_when_empty(const saltus_freezer *f, const saltus_expr *e)
{
    const saltus_expr *rule = saltus_rule_behind(f, e);
    bool any = false, all = true;
    switch (e->op) {
    case SALTUS_OP_VARIABLE:
        return rule ? is_zero_when_empty(f, rule)
                    : e->variable < (int)f->model->n_variables &&
                          f->net->bindings[e->variable].role == SALTUS_ROLE_COUNT;
    case SALTUS_OP_MUL:
    case SALTUS_OP_ADD:
    case SALTUS_OP_SUB:
        for (int i = 0; i < e->n_args; ++i) {
            const bool is_zero = is_zero_when_empty(f, e->args[i]);
            any |= is_zero;
            all &= is_zero;
        }
        return e->op == SALTUS_OP_MUL ? any : all;
    case SALTUS_OP_POW:
        return is_zero_when_empty(f, e->args[0]) && e->args[1]->op == SALTUS_OP_CONST &&
               e->args[1]->value > 0.0;
    case SALTUS_OP_DIV:
    case SALTUS_OP_NEG:
        return is_zero_when_empty(f, e->args[0]);
    default:
        return false;
    }
}

static void note_species(void *user, int species)
{
    int *found = user;
    *found = species;
}

/* What a rate rule reads must be the same in all sites. */
static saltus_status check_rates(const saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char place[160];
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        const saltus_variable *v = &f->model->variables[i];
        int found = -1;
        if (f->rates[i]) {
            saltus_visit_counts(f, f->rates[i], note_species, &found);
        }
        if (found >= 0) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                        "%s%s '%s': its rate reads '%s', of which every site of the lattice has "
                        "its own number",
                        saltus_place(f->model, v->line, place), saltus_kind_text(v), v->id,
                        f->net->species_names[found]);
        }
    }
done:
    return status;
}

static saltus_status fill_drifts(const saltus_freezer *f, saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint8_t *drifts = saltus_arena_alloc(f->arena, f->n_steps + 1);
    SALTUS_NEED(drifts);
    for (size_t r = 0; r < f->n_steps; ++r) {
        const saltus_expr *law = f->steps[r].law;
        drifts[r] = f->steps[r].is_product || !saltus_moves(f, law) ? SALTUS_STANDS
                    : is_zero_when_empty(f, law)                    ? SALTUS_DRIFTS_FILLED
                                                                    : SALTUS_DRIFTS_EMPTY;
    }
    l->drifts = drifts;
done:
    return status;
}

saltus_status saltus_freeze_lattice(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_space *space = f->model->space;
    saltus_lattice *l = saltus_arena_alloc(f->arena, sizeof *l);
    SALTUS_NEED(l);
    for (int i = 0; i < 3; ++i) {
        l->size[i] = space->size[i];
    }
    l->n_sites = space->n_sites;
    l->spacing = space->spacing;
    l->step = space->step;
    l->only_one = space->only_one;
    l->n_types = space->n_types;
    l->n_species = f->net->tables.n_species;
    l->n_reactions = f->net->tables.n_reactions;
    l->type_names = (const char **)space->type_names;
    l->types = space->types;
    l->sites_of = space->sites_of;
    SALTUS_TRY(fill_jumps(f, l, err));
    SALTUS_TRY(fill_faces(f, l, err));
    SALTUS_TRY(fill_rates(f, l, err));
    SALTUS_TRY(check_rates(f, err));
    SALTUS_TRY(fill_drifts(f, l, err));
    SALTUS_TRY(fill_scatters(f, l, err));
    SALTUS_TRY(fill_deposits(f, l, err));
    look_at_step(f, l);
    warn_of_births(f, l);
    f->net->lattice = l;
done:
    return status;
}
