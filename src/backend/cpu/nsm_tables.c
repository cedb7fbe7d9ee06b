#include "backend/cpu/nsm_tables.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

/* Of rows [type][type] and [kind][species]. */
static double *jump_of(const saltus_nsm_tables *t, int from, int to)
{
    return t->jump + ((int64_t)from * t->m.n_types + to) * t->m.n_species;
}

/* ------------------------------------------------------------------------------------------------
 * Jumps
 */

static void fill_jumps(saltus_nsm_tables *t)
{
    const saltus_lattice *l = t->lattice;
    const int64_t n = (int64_t)l->n_types * l->n_types * l->n_species;
    for (int64_t i = 0; i < n; ++i) {
        t->jump[i] = l->diffusion[i] / (l->spacing * l->spacing);
    }
    for (int axis = 0; axis < 3; ++axis) {
        const int64_t stride = axis == 0 ? 1 : t->stride[2 * axis - 1] * l->size[axis - 1];
        t->stride[2 * axis] = -stride;
        t->stride[2 * axis + 1] = stride;
    }
}

/* Raise what leaves edges of a type to the jumps to another one. */
static void raise_leave(const saltus_nsm_tables *t, int type, int there)
{
    const double *jump = jump_of(t, type, there);
    double *leave = t->leave + (int64_t)(2 * type + 1) * t->m.n_species;
    for (int s = 0; s < t->m.n_species; ++s) {
        leave[s] = fmax(leave[s], jump[s]);
    }
}

/* Whether a site is at an edge; notes which types its own meets there. */
static bool is_edge(const saltus_nsm_tables *t, int64_t site, bool is_inside, bool *meets)
{
    const saltus_lattice *l = t->lattice;
    const int type = l->types[site];
    bool differs = !is_inside;
    for (int d = 0; d < SALTUS_NSM_DIRECTIONS; ++d) {
        const int64_t to = is_inside ? site + t->stride[d] : saltus_nsm_neighbour(t, site, d);
        const int there = to >= 0 ? l->types[to] : type;
        differs |= there != type;
        meets[type * l->n_types + there] |= to != -2;
    }
    return differs;
}

static saltus_status fill_marks(saltus_nsm_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    const size_t n_types = (size_t)l->n_types, row = (size_t)l->n_species * sizeof *t->leave;
    bool *meets = saltus_calloc(n_types * n_types, sizeof *meets);
    SALTUS_NEED(meets);
    for (int64_t site = 0, line = 0; site < l->n_sites; ++line) {
        const int64_t y = line % l->size[1], z = line / l->size[1];
        const bool in_yz = y > 0 && y + 1 < l->size[1] && z > 0 && z + 1 < l->size[2];
        for (int32_t x = 0; x < l->size[0]; ++x, ++site) {
            const bool is_inside = in_yz && x > 0 && x + 1 < l->size[0];
            if (is_edge(t, site, is_inside, meets)) {
                saltus_nsm_flip(t, site, SALTUS_NSM_EDGE);
            }
        }
    }
    for (int type = 0; type < l->n_types; ++type) {
        memcpy(t->leave + (int64_t)2 * type * l->n_species, jump_of(t, type, type), row);
        for (int there = 0; there < l->n_types; ++there) {
            if (meets[type * l->n_types + there]) {
                raise_leave(t, type, there);
            }
        }
    }
done:
    saltus_free(meets);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Sources
 */

static saltus_status add_source(saltus_nsm_tables *t, saltus_nsm_source source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_source *grown =
        saltus_grow(t->sources, (size_t)t->n_sources, &t->sources_capacity, sizeof *t->sources);
    SALTUS_NEED(grown);
    t->sources = grown;
    t->sources[t->n_sources++] = source;
    t->source_rate += source.rate;
done:
    return status;
}

/* Sites of a type that lie at a face, or, for SALTUS_N_FACES, anywhere. */
static saltus_status list_sites(saltus_nsm_tables *t, int face, int type, saltus_nsm_source *source,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    int64_t **list = &t->lists[face * l->n_types + type], n = 0;
    const bool is_new = !*list;
    if (is_new) {
        *list = saltus_calloc((size_t)l->sites_of[type] + 1, sizeof **list);
        SALTUS_NEED(*list);
    }
    for (int64_t site = 0; is_new && site < l->n_sites; ++site) {
        const int axis = face / 2;
        if (l->types[site] == type &&
            (face == SALTUS_N_FACES || site / t->stride[2 * axis + 1] % l->size[axis] ==
                                           (face % 2 ? l->size[axis] - 1 : 0))) {
            (*list)[++n] = site;
        }
    }
    **list = is_new ? n : **list; /* their number stands before them */
    source->sites = *list + 1;
    source->n_sites = **list;
done:
    return status;
}

/* Particles that come in through faces of constant concentration. */
static saltus_status fill_faces(saltus_nsm_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        for (int type = 0; type < l->n_types; ++type) {
            for (int s = 0; s < l->n_species; ++s) {
                const double mean = l->face_mean[(int64_t)face * l->n_species + s];
                const double rate = mean * jump_of(t, type, type)[s];
                saltus_nsm_source source = {.reaction = -1, .species = s};
                if (l->faces[face] != SALTUS_FACE_CONSTANT || !(rate > 0.0)) {
                    continue;
                }
                SALTUS_TRY(list_sites(t, face, type, &source, err));
                source.rate = rate * (double)source.n_sites;
                SALTUS_TRY(add_source(t, source, err));
            }
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

static double propensity(const saltus_nsm_tables *t, int type, int r)
{
    saltus_mpd_rules(t->tables, t->v);
    return saltus_mpd_propensity(&t->m, t->tables, type, r, t->v);
}

/* Those of particles; the others, and what laws give in an empty site, are sources. */
static saltus_status fill_reactions(saltus_nsm_tables *t, int type, const char *const *names,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = t->tables;
    int32_t *active = t->active + (int64_t)type * (n->n_reactions + 1);
    for (int r = 0; r < n->n_reactions; ++r) {
        const bool is_law = n->law_program[r] >= 0;
        const bool has_factors = n->factor_row[r] < n->factor_row[r + 1];
        if (t->m.rate[(int64_t)type * n->n_reactions + r] == 0.0) {
            continue;
        }
        if (is_law || has_factors) {
            *active++ = r;
        }
        if (is_law || !has_factors) {
            saltus_nsm_source source = {.reaction = r, .only_empty = is_law};
            const double rate = propensity(t, type, r);
            if (!(rate >= 0.0) || isinf(rate)) {
                SALTUS_FAIL(SALTUS_E_NUMERIC,
                            "reaction '%s' has the propensity %g in an empty site", names[r], rate);
            }
            if (rate > 0.0) {
                SALTUS_TRY(list_sites(t, SALTUS_N_FACES, type, &source, err));
                source.rate = rate * (double)source.n_sites;
                SALTUS_TRY(add_source(t, source, err));
            }
        }
    }
    *active = -1;
done:
    return status;
}

/* A propensity that is negative or no number makes the particle's time come at once, and then is
 * found. */
static void fill_lone(saltus_nsm_tables *t, int type)
{
    const int32_t *active = t->active + (int64_t)type * (t->tables->n_reactions + 1);
    for (int s = 0; s < t->m.n_species; ++s) {
        double reactions = 0.0;
        bool is_bad = false;
        t->v[s] = 1.0;
        for (int i = 0; active[i] >= 0; ++i) {
            const double a = propensity(t, type, active[i]);
            is_bad |= !(a >= 0.0);
            reactions += a;
        }
        t->v[s] = 0.0;
        for (int kind = 2 * type; kind <= 2 * type + 1; ++kind) {
            const int64_t i = (int64_t)kind * t->m.n_species + s;
            const double leave = t->leave[i], total = SALTUS_NSM_DIRECTIONS * leave + reactions;
            t->lone[i] = is_bad ? (saltus_nsm_lone){0.0, INFINITY}
                                : (saltus_nsm_lone){total > 0.0 ? 1.0 / total : INFINITY,
                                                    leave > 0.0 ? total / leave : INFINITY};
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * All together
 */

saltus_status saltus_nsm_tables_create(const saltus_lattice *l, const saltus_tables *n,
                                       const char *const *names, saltus_nsm_tables *t,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t types = (size_t)l->n_types, species = (size_t)l->n_species;
    *t = (saltus_nsm_tables){
        .lattice = l,
        .tables = n,
        .m = {
            .n_types = l->n_types, .n_species = l->n_species, .types = l->types, .rate = l->rate}};
    t->marks = saltus_calloc((size_t)l->n_sites / 4 + 1, sizeof *t->marks);
    t->jump = saltus_calloc(types * types * species, sizeof *t->jump);
    t->leave = saltus_calloc(2 * types * species, sizeof *t->leave);
    t->lone = saltus_calloc(2 * types * species, sizeof *t->lone);
    t->active = saltus_calloc(types * ((size_t)n->n_reactions + 1), sizeof *t->active);
    t->lists = saltus_calloc((SALTUS_N_FACES + 1) * types, sizeof *t->lists);
    t->v = saltus_calloc((size_t)n->n_rows, sizeof *t->v);
    t->a = saltus_calloc((size_t)n->n_reactions, sizeof *t->a);
    SALTUS_NEED(t->marks && t->jump && t->leave && t->lone && t->active && t->lists && t->v &&
                t->a);
    t->v[n->row_one] = 1.0;
    for (int i = 0; i < n->n_variables; ++i) {
        t->v[n->row_variables + i] = n->initial_variables[i];
    }
    for (int i = 0; i < n->n_constants; ++i) {
        t->v[n->row_constants + i] = n->constants[i];
    }
    fill_jumps(t);
    SALTUS_TRY(fill_marks(t, err));
    SALTUS_TRY(fill_faces(t, err));
    for (int type = 0; type < l->n_types; ++type) {
        SALTUS_TRY(fill_reactions(t, type, names, err));
        fill_lone(t, type);
    }
done:
    return status;
}

void saltus_nsm_tables_free(saltus_nsm_tables *t)
{
    for (int i = 0; t->lists && i < (SALTUS_N_FACES + 1) * t->m.n_types; ++i) {
        saltus_free(t->lists[i]);
    }
    saltus_free(t->lists);
    saltus_free(t->marks);
    saltus_free(t->jump);
    saltus_free(t->leave);
    saltus_free(t->lone);
    saltus_free(t->active);
    saltus_free(t->sources);
    saltus_free(t->v);
    saltus_free(t->a);
}
