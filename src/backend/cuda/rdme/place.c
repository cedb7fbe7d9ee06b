/* Particles of time 0 in a slab of counts, or in a whole lattice, and the sites that sources add
 * to. They are made on the slab's GPU, from what is known of sets of sites (engine/rdme.h). Of all
 * particles a slab keeps its own and never stores the others. */
#include "backend/cuda/rdme/counts.h"

#include "core/memory.h"
#include "engine/slab.h"

#include <string.h>

typedef saltus_gpu_counts counts;

enum { DEPOSITS = 1 << 20 /* that are uploaded at a time */ };

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->on.cu, s->on.cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

/* Copy data to the GPU, until saltus_gpu_counts_forget. */
static saltus_status hold(counts *s, const void *data, size_t bytes, uint64_t *out,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cu_pointer *const memory = &s->held[s->n_held];
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, memory, bytes, err));
    ++s->n_held;
    CU(upload(*memory, data, bytes, s->on.stream), "copying a lattice's tables");
    CU(stream_wait(s->on.stream), "copying a lattice's tables");
    *out = *memory;
done:
    return status;
}

/* The same of a list that is the caller's, who gets the GPU's in its place. */
static saltus_status move_list(counts *s, const uint32_t **list, int64_t n, saltus_error *err)
{
    uint32_t *const own = (uint32_t *)(uintptr_t)*list;
    uint64_t at = 0;
    const saltus_status status = own ? hold(s, own, (size_t)n * sizeof *own, &at, err) : SALTUS_OK;
    saltus_free(own);
    *list = (const uint32_t *)(uintptr_t)at;
    return status;
}

void saltus_gpu_counts_forget(counts *s)
{
    for (int i = 0; i < s->n_held; ++i) {
        saltus_gpu_lattice_free(&s->on, &s->held[i]);
    }
    saltus_free(s->held);
    saltus_free(s->sites);
    s->held = NULL;
    s->sites = NULL;
    s->n_held = 0;
}

/* Find what this slab has of a set. */
static saltus_status find_set(counts *s, const saltus_mpd_set *set, saltus_mpd_sites *out,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint64_t at = 0;
    SALTUS_TRY(saltus_slab_find_set(s->on.tables.lattice, set, saltus_gpu_counts_first(s),
                                    saltus_gpu_counts_sites(s), (uint32_t)s->on.a.first_site, out,
                                    err));
    SALTUS_TRY(move_list(s, &out->ranks, out->n_ranks, err));
    if (out->ranks) {
        SALTUS_TRY(hold(s, set->in, sizeof set->in, &at, err));
        out->in = (const uint8_t *)(uintptr_t)at;
    }
done:
    return status;
}

/* Find what this slab has of a source's sites at a face. */
static saltus_status find_face(counts *s, const saltus_mpd_gate *gate, saltus_mpd_sites *sites,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_slab_find_face(s->on.tables.lattice, gate, saltus_gpu_counts_first(s),
                                     saltus_gpu_counts_sites(s), (uint32_t)s->on.a.first_site,
                                     sites, err));
    SALTUS_TRY(move_list(s, &sites->list, sites->here, err));
done:
    return status;
}

static saltus_status find_sources(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_tables *t = &s->on.tables;
    const size_t n = (size_t)t->m.n_sources;
    uint64_t at = 0;
    saltus_mpd_source *sources = saltus_calloc(n, sizeof *sources);
    SALTUS_NEED(sources);
    for (size_t o = 0; o < n; ++o) {
        sources[o] = t->sources[o];
        if (t->set_of_source[o] >= 0) {
            sources[o].sites = s->sites[t->set_of_source[o]];
        } else {
            SALTUS_TRY(find_face(s, &t->gates[o], &sources[o].sites, err));
        }
    }
    SALTUS_TRY(hold(s, sources, n * sizeof *sources, &at, err));
    s->on.a.m.sources = (const saltus_mpd_source *)(uintptr_t)at;
done:
    saltus_free(sources);
    return status;
}

saltus_status saltus_gpu_counts_find_sites(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_tables *t = &s->on.tables;
    const size_t n_sets = (size_t)t->n_sets, n_sources = (size_t)t->m.n_sources;
    uint8_t in[SALTUS_LATTICE_MOST_TYPES] = {0};
    s->held = saltus_calloc(2 * n_sets + n_sources + 2, sizeof *s->held);
    s->sites = saltus_calloc(n_sets + 1, sizeof *s->sites);
    SALTUS_NEED(s->held && s->sites);
    for (size_t i = 0; i < n_sets; ++i) {
        SALTUS_TRY(find_set(s, &t->sets[i], &s->sites[i], err));
    }
    if (t->n_watched > 0) {
        for (int type = 0; type < t->m.n_types; ++type) {
            in[type] = t->watched[type];
        }
        SALTUS_TRY(hold(s, in, sizeof in, &s->watched, err));
    }
    if (t->in_slabs && n_sources > 0) { /* else those of the model are right */
        SALTUS_TRY(find_sources(s, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Particles
 */

static saltus_status put_scattered(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->on.tables.lattice;
    saltus_mpd_launch *a = &s->on.a;
    for (int i = 0; i < l->n_scatters; ++i) {
        a->sites = s->sites[s->on.tables.set_of_scatter[i]];
        a->scatter = i;
        a->species = l->scatters[i].species;
        a->n_known = l->scatters[i].count;
        if (a->sites.here > 0) {
            SALTUS_TRY(saltus_gpu_lattice_launch(&s->on, s->scatter, s->on.block, a->n_known, err));
        }
    }
done:
    return status;
}

/* Number of the first deposit in this site or a later one. */
static int64_t deposit_from(const saltus_lattice *l, int64_t site)
{
    int64_t low = 0, high = l->n_deposits;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (l->deposits[middle].site < site) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Particles on their way to a GPU. */
typedef struct load {
    counts *s;
    cu_pointer memory;
    saltus_mpd_deposit *some; /* [most] */
    int64_t n, most;
} load;

static saltus_status send(load *to, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = to->s;
    if (to->n > 0) {
        CU(upload(to->memory, to->some, (size_t)to->n * sizeof *to->some, s->on.stream),
           "copying particles");
        s->on.a.n_known = to->n;
        SALTUS_TRY(saltus_gpu_lattice_launch(&s->on, s->fill, s->on.block, to->n, err));
        CU(stream_wait(s->on.stream), "copying particles");
        to->n = 0;
    }
done:
    return status;
}

static saltus_status put(load *to, int64_t site, int64_t n, int32_t species, saltus_error *err)
{
    to->some[to->n++] = (saltus_mpd_deposit){(uint32_t)(site - to->s->on.a.m.slab.zero),
                                             n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, species};
    return to->n == to->most ? send(to, err) : SALTUS_OK;
}

/* Those of a list that are in this slab. */
static saltus_status put_deposits(load *to, int64_t first_site, int64_t end_site, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = to->s->on.tables.lattice;
    const int64_t end = deposit_from(l, end_site);
    for (int64_t i = deposit_from(l, first_site); i < end; ++i) {
        const saltus_deposit *d = &l->deposits[i];
        SALTUS_TRY(put(to, d->site, d->n, d->species, err));
    }
done:
    return status;
}

static saltus_status put_contents(load *to, const saltus_contents *from, int64_t first_site,
                                  int64_t end_site, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int64_t i = 0; i < from->n; ++i) {
        if (from->site[i] >= first_site && from->site[i] < end_site) {
            SALTUS_TRY(put(to, from->site[i], from->count[i], from->species[i], err));
        }
    }
done:
    return status;
}

/* Put the particles that are listed: of time 0, or those that the trajectory goes on with. */
static saltus_status put_listed(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t first = saltus_gpu_counts_first(s), end = first + saltus_gpu_counts_sites(s);
    const int64_t n = s->from ? s->from->n : s->on.tables.lattice->n_deposits;
    load to = {.s = s, .most = n < DEPOSITS ? n : DEPOSITS};
    const size_t most = (size_t)to.most;
    if (n == 0) {
        return status;
    }
    to.some = saltus_calloc(most, sizeof *to.some);
    SALTUS_NEED(to.some);
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &to.memory, most * sizeof *to.some, err));
    s->on.a.deposits = (const saltus_mpd_deposit *)(uintptr_t)to.memory;
    SALTUS_TRY(s->from ? put_contents(&to, s->from, first, end, err)
                       : put_deposits(&to, first, end, err));
    SALTUS_TRY(send(&to, err));
done:
    saltus_gpu_lattice_free(&s->on, &to.memory);
    saltus_free(to.some);
    return status;
}

saltus_status saltus_gpu_counts_place(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch *a = &s->on.a;
    if (!s->sites) { /* forgotten, because the sites have changed */
        SALTUS_TRY(saltus_gpu_counts_find_sites(s, err));
    }
    if (!s->from) {
        SALTUS_TRY(put_scattered(s, err));
    }
    SALTUS_TRY(put_listed(s, err));
    if (s->on.tables.n_watched > 0) {
        a->sites.in = (const uint8_t *)(uintptr_t)s->watched;
        a->species = a->m.n_species - 1;
        SALTUS_TRY(saltus_gpu_lattice_launch(&s->on, s->watch, s->on.block,
                                             saltus_gpu_counts_sites(s), err));
    }
done:
    return status;
}
