#include "backend/cpu/nsm_tables.h"

#include "core/memory.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* Of rows [type][type] and [kind][species]. */
static double *jump_of(const saltus_nsm_tables *t, int from, int to)
{
    return t->jump + ((int64_t)from * t->lattice->n_types + to) * t->lattice->n_species;
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

/* Raise the rate at which particles leave edges of a type to that of jumps to another type. */
static void raise_leave(const saltus_nsm_tables *t, int type, int there)
{
    const double *jump = jump_of(t, type, there);
    double *leave = t->leave + (int64_t)(2 * type + 1) * t->lattice->n_species;
    for (int s = 0; s < t->lattice->n_species; ++s) {
        leave[s] = fmax(leave[s], jump[s]);
    }
}

/* Whether a site is at an edge; notes which types its own touches there. */
static bool is_edge(const saltus_nsm_tables *t, int64_t site, bool is_inside, bool *touches)
{
    const saltus_lattice *l = t->lattice;
    const int type = saltus_lattice_type(l, site);
    bool differs = !is_inside;
    for (int d = 0; d < SALTUS_NSM_DIRECTIONS; ++d) {
        const int64_t to = is_inside ? site + t->stride[d] : saltus_nsm_neighbour(t, site, d);
        const int there = to >= 0 ? saltus_lattice_type(l, to) : type;
        differs |= there != type;
        touches[type * l->n_types + there] |= to != -2;
    }
    return differs;
}

static saltus_status fill_marks(saltus_nsm_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    const size_t n_types = (size_t)l->n_types, row = (size_t)l->n_species * sizeof *t->leave;
    bool *touches = saltus_calloc(n_types * n_types, sizeof *touches);
    SALTUS_NEED(touches);
    for (int64_t site = 0, line = 0; site < l->n_sites; ++line) {
        const int64_t y = line % l->size[1], z = line / l->size[1];
        const bool in_yz = y > 0 && y + 1 < l->size[1] && z > 0 && z + 1 < l->size[2];
        for (int32_t x = 0; x < l->size[0]; ++x, ++site) {
            const bool is_inside = in_yz && x > 0 && x + 1 < l->size[0];
            if (is_edge(t, site, is_inside, touches)) {
                saltus_nsm_flip(t, site, SALTUS_NSM_EDGE);
            }
        }
    }
    for (int type = 0; type < l->n_types; ++type) {
        memcpy(t->leave + (int64_t)2 * type * l->n_species, jump_of(t, type, type), row);
        for (int there = 0; there < l->n_types; ++there) {
            if (touches[type * l->n_types + there]) {
                raise_leave(t, type, there);
            }
        }
    }
done:
    saltus_free(touches);
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

/* Copy the sources of mpd, reactions without reactants and faces, which draw numbers of arrivals
 * per step there. */
static saltus_status copy_sources(saltus_nsm_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < t->mpd.m.n_sources; ++i) {
        const saltus_mpd_source *o = &t->mpd.sources[i];
        SALTUS_TRY(add_source(t,
                              (saltus_nsm_source){.rate = o->mean / t->lattice->step,
                                                  .sites = o->sites.list,
                                                  .n_sites = o->sites.n,
                                                  .reaction = o->reaction,
                                                  .species = o->species},
                              err));
    }
done:
    return status;
}

static saltus_status list_sites(saltus_nsm_tables *t, int type, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    int64_t n = 0;
    t->sites[type] = saltus_calloc((size_t)l->sites_of[type], sizeof **t->sites);
    SALTUS_NEED(t->sites[type]);
    for (int64_t site = 0; site < l->n_sites; ++site) {
        if (saltus_lattice_type(l, site) == type) {
            t->sites[type][n++] = (uint32_t)site;
        }
    }
done:
    return status;
}

/* Find the laws that are not 0 in an empty site of a type. */
static saltus_status take_laws(saltus_nsm_tables *t, int type, const char *const *names,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd *m = &t->mpd.m;
    const int32_t *segment = saltus_mpd_segments(m, type);
    int bad = -1;
    (void)saltus_mpd_total(m, t->mpd.of, type, t->mpd.rows, t->a, &bad);
    if (bad >= 0) {
        SALTUS_FAIL(SALTUS_E_NUMERIC, "reaction '%s' has the propensity %g in an empty site",
                    names[bad], t->a[bad]);
    }
    for (int i = segment[0]; i < segment[1]; ++i) {
        const int r = m->active[i];
        const int64_t n = t->lattice->sites_of[type];
        const double rate = t->a[r];
        if (!(rate > 0.0)) {
            continue;
        }
        if (!t->sites[type]) {
            SALTUS_TRY(list_sites(t, type, err));
        }
        SALTUS_TRY(add_source(t,
                              (saltus_nsm_source){.rate = rate * (double)n,
                                                  .sites = t->sites[type],
                                                  .n_sites = n,
                                                  .reaction = r,
                                                  .only_empty = true},
                              err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Particles that are alone
 */

/* A propensity that is negative or not a number makes the particle's time come at once, where it is
 * found. */
static void fill_lone(saltus_nsm_tables *t, int type)
{
    for (int s = 0; s < t->lattice->n_species; ++s) {
        int bad = -1;
        t->mpd.rows[s] = 1.0;
        const double reactions =
            saltus_mpd_total(&t->mpd.m, t->mpd.of, type, t->mpd.rows, t->a, &bad);
        t->mpd.rows[s] = 0.0;
        for (int kind = 2 * type; kind <= 2 * type + 1; ++kind) {
            const int64_t i = (int64_t)kind * t->lattice->n_species + s;
            const double leave = t->leave[i], total = SALTUS_NSM_DIRECTIONS * leave + reactions;
            t->lone[i] = bad >= 0 ? (saltus_nsm_lone){0.0, INFINITY}
                                  : (saltus_nsm_lone){total > 0.0 ? 1.0 / total : INFINITY,
                                                      leave > 0.0 ? total / leave : INFINITY};
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * All together
 */

saltus_status saltus_nsm_tables_create(const saltus_task *task, saltus_nsm_tables *t,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_network *network = task->model->network;
    const saltus_lattice *l = network->lattice;
    const size_t types = (size_t)l->n_types, species = (size_t)l->n_species;
    *t = (saltus_nsm_tables){.lattice = l};
    SALTUS_TRY(saltus_mpd_tables_create(task->model, false, &t->mpd, err));
    t->marks = saltus_calloc((size_t)l->n_sites / 4 + 1, sizeof *t->marks);
    t->jump = saltus_calloc(types * types * species, sizeof *t->jump);
    t->leave = saltus_calloc(2 * types * species, sizeof *t->leave);
    t->lone = saltus_calloc(2 * types * species, sizeof *t->lone);
    t->sites = saltus_calloc(types, sizeof *t->sites);
    t->a = saltus_calloc((size_t)l->n_reactions, sizeof *t->a);
    SALTUS_NEED(t->marks && t->jump && t->leave && t->lone && t->sites && t->a);
    fill_jumps(t);
    SALTUS_TRY(fill_marks(t, err));
    SALTUS_TRY(copy_sources(t, err));
    for (int type = 0; type < l->n_types; ++type) {
        SALTUS_TRY(take_laws(t, type, network->reaction_names, err));
        fill_lone(t, type);
    }
done:
    return status;
}

void saltus_nsm_tables_free(saltus_nsm_tables *t)
{
    for (int type = 0; t->sites && type < t->lattice->n_types; ++type) {
        saltus_free(t->sites[type]);
    }
    saltus_mpd_tables_free(&t->mpd);
    saltus_free(t->sites);
    saltus_free(t->marks);
    saltus_free(t->jump);
    saltus_free(t->leave);
    saltus_free(t->lone);
    saltus_free(t->sources);
    saltus_free(t->a);
}
