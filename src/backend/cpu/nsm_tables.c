#include "backend/cpu/nsm_tables.h"

#include "core/memory.h"
#include "core/number.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Jumps
 */

static void fill_jumps(const saltus_lattice *lattice, saltus_nsm_lattice *l)
{
    const int64_t n = (int64_t)lattice->n_types * lattice->n_types * lattice->n_species;
    int64_t stride = 1;
    for (int64_t i = 0; i < n; ++i) {
        l->jump[i] = lattice->diffusion[i] / (lattice->spacing * lattice->spacing);
    }
    for (int axis = 0; axis < 3; ++axis) {
        l->stride[2 * axis] = -stride;
        l->stride[2 * axis + 1] = stride;
        stride *= lattice->size[axis];
    }
}

/* Raise the rate at which particles leave edges of a type to that of jumps to another type. */
static void raise_leave(const saltus_nsm_lattice *l, int type, int there)
{
    const double *jump = saltus_nsm_jump_rates(l, type, there);
    double *leave = saltus_nsm_leave(l, 2 * type + SALTUS_NSM_EDGE);
    for (int s = 0; s < l->n_species; ++s) {
        leave[s] = fmax(leave[s], jump[s]);
    }
}

/* Whether a site is at an edge; notes which types its own touches there. */
static bool is_edge(const saltus_nsm_lattice *l, int64_t site, bool is_inside, bool *touches)
{
    const int type = saltus_mpd_type(&l->m, (uint32_t)site);
    bool differs = !is_inside;
    for (int d = 0; d < SALTUS_NSM_DIRECTIONS; ++d) {
        const int64_t to = is_inside ? site + l->stride[d] : saltus_nsm_neighbour(l, site, d);
        const int there = to >= 0 ? saltus_mpd_type(&l->m, (uint32_t)to) : type;
        differs |= there != type;
        touches[type * l->m.n_types + there] |= to != SALTUS_NSM_STAYS;
    }
    return differs;
}

static saltus_status fill_marks(const saltus_lattice *lattice, const saltus_nsm_lattice *l,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int32_t *size = lattice->size;
    const int n_types = lattice->n_types;
    bool *touches = saltus_calloc((size_t)n_types * (size_t)n_types, sizeof *touches);
    SALTUS_NEED(touches);
    for (int64_t site = 0, line = 0; site < lattice->n_sites; ++line) {
        const int64_t y = line % size[1], z = line / size[1];
        const bool in_yz = y > 0 && y + 1 < size[1] && z > 0 && z + 1 < size[2];
        for (int32_t x = 0; x < size[0]; ++x, ++site) {
            const bool is_inside = in_yz && x > 0 && x + 1 < size[0];
            if (is_edge(l, site, is_inside, touches)) {
                saltus_nsm_flip(l, site, SALTUS_NSM_EDGE);
            }
        }
    }
    for (int type = 0; type < n_types; ++type) {
        memcpy(saltus_nsm_leave(l, 2 * type), saltus_nsm_jump_rates(l, type, type),
               (size_t)l->n_species * sizeof *l->leave);
        for (int there = 0; there < n_types; ++there) {
            if (touches[type * n_types + there]) {
                raise_leave(l, type, there);
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
    saltus_nsm_lattice *l = &t->l;
    saltus_nsm_source *grown =
        saltus_grow(l->sources, (size_t)l->n_sources, &t->sources_capacity, sizeof *l->sources);
    SALTUS_NEED(grown);
    l->sources = grown;
    l->sources[l->n_sources++] = source;
    l->source_rate += source.rate;
done:
    return status;
}

/* The mean of a step divided by the step, or where it is too small or too large for that the rate:
 * they differ in the last bit, and samples with them. */
static double rate_of(const saltus_mpd_tables *mpd, int o)
{
    const double of_step = mpd->sources[o].mean / mpd->m.step, rate = mpd->gates[o].rate;
    return fabs(of_step - rate) < 1e-6 * rate ? of_step : rate;
}

/* Copy the sources of mpd, reactions without reactants and faces, which draw numbers of arrivals
 * per step there. */
static saltus_status copy_sources(saltus_nsm_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < t->mpd.m.n_sources; ++i) {
        const saltus_mpd_source *o = &t->mpd.sources[i];
        SALTUS_TRY(add_source(t,
                              (saltus_nsm_source){.rate = rate_of(&t->mpd, i),
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
    const saltus_lattice *l = t->mpd.lattice;
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
static saltus_status take_laws(saltus_nsm_tables *t, int type, const saltus_network *network,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_lattice *l = &t->l;
    const int32_t *segment = saltus_mpd_segments(&l->m, type);
    int bad = -1;
    (void)saltus_mpd_total(&l->m, l->of, type, l->v, l->a, &bad);
    if (bad >= 0) {
        SALTUS_FAIL(SALTUS_E_NUMERIC, "reaction '%s' has the propensity %g in an empty site",
                    saltus_network_reaction(network, bad), saltus_without_nan_sign(l->a[bad]));
    }
    for (int i = segment[0]; i < segment[1]; ++i) {
        const int r = l->m.active[i];
        const int64_t n = t->mpd.lattice->sites_of[type];
        const double rate = l->a[r];
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
        if (!isfinite(l->source_rate)) { /* others are known when a plan is made */
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                        "reaction '%s' happens %.3g times a second in empty sites, and the rates "
                        "of all that comes from nothing add up to no finite number",
                        saltus_network_reaction(network, r), rate * (double)n);
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Particles that are alone
 */

/* A propensity that is negative or not a number makes the particle's time come at once, where it is
 * found. */
static void fill_lone(const saltus_nsm_lattice *l, int type)
{
    for (int s = 0; s < l->n_species; ++s) {
        int bad = -1;
        l->v[s] = 1.0;
        const double reactions = saltus_mpd_total(&l->m, l->of, type, l->v, l->a, &bad);
        l->v[s] = 0.0;
        for (int kind = 2 * type; kind <= 2 * type + SALTUS_NSM_EDGE; ++kind) {
            const double leave = saltus_nsm_leave(l, kind)[s],
                         total = SALTUS_NSM_DIRECTIONS * leave + reactions;
            l->lone[(int64_t)kind * l->n_species + s] =
                bad >= 0 ? (saltus_nsm_lone){0.0, INFINITY}
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
    const saltus_lattice *lattice = network->lattice;
    const size_t types = (size_t)lattice->n_types, species = (size_t)lattice->n_species;
    saltus_nsm_lattice *l = &t->l;
    *t = (saltus_nsm_tables){.sites = NULL};
    SALTUS_TRY(saltus_mpd_tables_create(task->model, false, &t->mpd, err));
    *l = (saltus_nsm_lattice){
        .m = t->mpd.m, .of = t->mpd.of, .v = t->mpd.rows, .n_species = lattice->n_species};
    l->marks = saltus_calloc((size_t)lattice->n_sites / 4 + 1, sizeof *l->marks);
    l->jump = saltus_calloc(types * types * species, sizeof *l->jump);
    l->leave = saltus_calloc(2 * types * species, sizeof *l->leave);
    l->lone = saltus_calloc(2 * types * species, sizeof *l->lone);
    l->a = saltus_calloc((size_t)lattice->n_reactions, sizeof *l->a);
    t->sites = saltus_calloc(types, sizeof *t->sites);
    SALTUS_NEED(l->marks && l->jump && l->leave && l->lone && l->a && t->sites);
    fill_jumps(lattice, l);
    SALTUS_TRY(fill_marks(lattice, l, err));
    SALTUS_TRY(copy_sources(t, err));
    for (int type = 0; type < lattice->n_types; ++type) {
        SALTUS_TRY(take_laws(t, type, network, err));
        fill_lone(l, type);
    }
done:
    return status;
}

void saltus_nsm_tables_free(saltus_nsm_tables *t)
{
    for (int type = 0; t->sites && type < t->l.m.n_types; ++type) {
        saltus_free(t->sites[type]);
    }
    saltus_mpd_tables_free(&t->mpd);
    saltus_free(t->sites);
    saltus_free(t->l.marks);
    saltus_free(t->l.jump);
    saltus_free(t->l.leave);
    saltus_free(t->l.lone);
    saltus_free(t->l.sources);
    saltus_free(t->l.a);
}
