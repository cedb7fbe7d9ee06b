#include "engine/slab.h"

#include "core/memory.h"
#include "kernel/rdme/place.h"

#include <string.h>

int64_t saltus_slabs_begin(const double *heights, int n, int i, int64_t n_planes, int unit)
{
    const int64_t n_units = n_planes / unit;
    double all = 0.0, below = 0.0;
    int64_t at = 0;
    for (int k = 0; k < n; ++k) {
        all += heights[k];
    }
    for (int k = 1; k <= i; ++k) {
        below += heights[k - 1];
        const int64_t wanted = (int64_t)((double)n_units * below / all + 0.5), least = at + 1,
                      most = n_units - (n - k);
        at = wanted < least ? least : wanted > most ? most : wanted;
    }
    return i < n ? at * unit : n_planes;
}

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

saltus_status saltus_slab_find_set(const saltus_lattice *l, const saltus_mpd_set *set,
                                   int64_t first, int64_t n, uint32_t here, saltus_mpd_sites *out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_ranks = (n + SALTUS_MPD_SEGMENT - 1) / SALTUS_MPD_SEGMENT;
    *out = (saltus_mpd_sites){
        .n = set->n, .below = saltus_mpd_set_below(l, set, first), .first = here};
    out->here = saltus_mpd_set_below(l, set, first + n) - out->below;
    if (set->below && out->here > 0) {
        uint32_t *ranks = saltus_calloc((size_t)n_ranks, sizeof *ranks);
        SALTUS_NEED(ranks);
        saltus_mpd_set_ranks(l, set, first, n, ranks);
        out->ranks = ranks;
        out->n_ranks = n_ranks;
        out->in = set->in;
    }
done:
    return status;
}

saltus_status saltus_slab_find_face(const saltus_lattice *l, const saltus_mpd_gate *gate,
                                    int64_t first, int64_t n, uint32_t here,
                                    saltus_mpd_sites *sites, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t plane = saltus_lattice_plane(l), zero = first - here,
                  below[2] = {0, first / plane}, planes[2] = {first / plane, (first + n) / plane};
    sites->below = saltus_mpd_sites_at(l, gate->face, gate->type, below, zero, NULL);
    sites->here = saltus_mpd_sites_at(l, gate->face, gate->type, planes, zero, NULL);
    if (sites->here > 0) {
        uint32_t *list = saltus_calloc((size_t)sites->here, sizeof *list);
        SALTUS_NEED(list);
        (void)saltus_mpd_sites_at(l, gate->face, gate->type, planes, zero, list);
        sites->list = list;
    }
done:
    return status;
}

/* The types of the slab's sites and of a plane on both sides; beyond a face that is not periodic
 * nothing is ever read. */
static saltus_status find_types(const saltus_lattice *l, saltus_slab *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t plane = saltus_lattice_plane(l), begin = s->first / plane,
                  n_planes = s->n / plane + 2;
    s->types = saltus_calloc((size_t)(n_planes * plane), sizeof *s->types);
    SALTUS_NEED(s->types);
    for (int64_t z = 0; z < n_planes; ++z) {
        const int64_t from = (begin + z - 1 + l->size[2]) % l->size[2];
        memcpy(s->types + z * plane, l->types + from * plane, (size_t)plane);
    }
done:
    return status;
}

static saltus_status find_sites(const saltus_mpd_tables *t, uint32_t here, saltus_slab *s,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    s->sets = saltus_calloc((size_t)t->n_sets + 1, sizeof *s->sets);
    s->sources = saltus_calloc((size_t)t->m.n_sources + 1, sizeof *s->sources);
    SALTUS_NEED(s->sets && s->sources);
    for (; s->n_sets < t->n_sets; ++s->n_sets) {
        SALTUS_TRY(saltus_slab_find_set(l, &t->sets[s->n_sets], s->first, s->n, here,
                                        &s->sets[s->n_sets], err));
    }
    for (; s->n_sources < t->m.n_sources; ++s->n_sources) {
        const int o = s->n_sources, set = t->set_of_source[o];
        s->sources[o] = t->sources[o];
        if (set >= 0) {
            s->sources[o].sites = s->sets[set];
        } else {
            SALTUS_TRY(saltus_slab_find_face(l, &t->gates[o], s->first, s->n, here,
                                             &s->sources[o].sites, err));
        }
    }
done:
    return status;
}

saltus_status saltus_slab_create(const saltus_mpd_tables *t, int64_t begin, int64_t end,
                                 saltus_mpd *m, saltus_slab *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    const int64_t plane = saltus_lattice_plane(l);
    saltus_slab *s = out;
    s->first = begin * plane;
    s->n = (end - begin) * plane;
    if (s->n + 2 * plane > SALTUS_MPD_MOST_SITES) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "a slab of %lld planes of %lld sites, with one on each side, has more than "
                    "2^32, which are numbered: take more slabs",
                    (long long)(end - begin), (long long)plane);
    }
    SALTUS_TRY(find_sites(t, (uint32_t)plane, s, err));
    if (l->types) {
        SALTUS_TRY(find_types(l, s, err));
    }
    m->types = s->types;
    m->sources = s->sources;
    m->slab = (saltus_mpd_slab){.zero = s->first - plane,
                                .first = (uint32_t)plane,
                                .end = (uint32_t)(plane + s->n),
                                .plane = (uint32_t)begin};
done:
    return status;
}

void saltus_slab_free(saltus_slab *s)
{
    for (int i = 0; i < s->n_sets; ++i) {
        saltus_free((void *)(uintptr_t)s->sets[i].ranks);
    }
    for (int o = 0; o < s->n_sources; ++o) {
        saltus_free((void *)(uintptr_t)s->sources[o].sites.list);
    }
    saltus_free(s->types);
    saltus_free(s->sets);
    saltus_free(s->sources);
}

/* ------------------------------------------------------------------------------------------------
 * Particles
 */

/* Where particles go to. */
typedef struct placing {
    const saltus_slab *slab;
    const saltus_mpd *m;
    saltus_status (*put)(void *user, uint32_t site, int species, int64_t n, saltus_error *err);
    void *user;
} placing;

/* Particles in a site of the lattice, if the slab has it. */
static saltus_status put(const placing *p, int64_t site, int species, int64_t n, saltus_error *err)
{
    const bool is_here = site >= p->slab->first && site < p->slab->first + p->slab->n;
    return is_here ? p->put(p->user, (uint32_t)(site - p->m->slab.zero), species, n, err)
                   : SALTUS_OK;
}

static saltus_status scatter(const placing *p, const saltus_mpd_tables *t, int number,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_scatter *what = &t->lattice->scatters[number];
    const saltus_mpd_sites *sites = &p->slab->sets[t->set_of_scatter[number]];
    for (int64_t i = 0; i < what->count && sites->here > 0; ++i) {
        const uint32_t site = saltus_mpd_scattered(p->m, sites, number, what->species, i);
        if (site != SALTUS_NOWHERE) {
            SALTUS_TRY(p->put(p->user, site, what->species, 1, err));
        }
    }
done:
    return status;
}

saltus_status saltus_slab_place(const saltus_slab *slab, const saltus_mpd_tables *t, uint64_t seed,
                                int64_t trajectory, const saltus_contents *from, saltus_mpd *m,
                                saltus_status (*put_here)(void *user, uint32_t site, int species,
                                                          int64_t n, saltus_error *err),
                                void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = t->lattice;
    const placing p = {slab, m, put_here, user};
    saltus_mpd_start(m, seed, (uint64_t)trajectory);
    for (int64_t i = 0; from && i < from->n; ++i) {
        SALTUS_TRY(put(&p, from->site[i], from->species[i], from->count[i], err));
    }
    for (int i = 0; !from && i < l->n_scatters; ++i) {
        SALTUS_TRY(scatter(&p, t, i, err));
    }
    for (int64_t i = 0; !from && i < l->n_deposits; ++i) {
        SALTUS_TRY(put(&p, l->deposits[i].site, l->deposits[i].species, l->deposits[i].n, err));
    }
    for (int64_t i = slab->first; i < slab->first + slab->n && t->n_watched > 0; ++i) {
        if (t->watched[saltus_lattice_type(l, i)]) {
            SALTUS_TRY(put(&p, i, t->m.n_species - 1, 1, err));
        }
    }
done:
    return status;
}
