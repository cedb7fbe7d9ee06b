/* Particles at time 0, and the sites where they can be. */
#include "engine/rdme.h"

#include "core/memory.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Sets of sites
 */

/* How many of n sites are in a set. */
static int64_t count_in(const saltus_lattice *l, const saltus_mpd_set *set, int64_t first,
                        int64_t n)
{
    int64_t count = 0;
    for (int64_t i = first; i < first + n; ++i) {
        count += set->in[l->types[i]];
    }
    return count;
}

int64_t saltus_mpd_set_below(const saltus_lattice *l, const saltus_mpd_set *set, int64_t site)
{
    const int64_t mark = site / SALTUS_MPD_MARK;
    return !set->below ? site
                       : set->below[mark] + count_in(l, set, mark * SALTUS_MPD_MARK,
                                                     site - mark * SALTUS_MPD_MARK);
}

void saltus_mpd_set_ranks(const saltus_lattice *l, const saltus_mpd_set *set, int64_t first,
                          int64_t n, uint32_t *ranks)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += SALTUS_MPD_SEGMENT) {
        ranks[i / SALTUS_MPD_SEGMENT] = (uint32_t)count;
        count +=
            count_in(l, set, first + i, n - i < SALTUS_MPD_SEGMENT ? n - i : SALTUS_MPD_SEGMENT);
    }
}

/* Find the set of some types; add it unless it exists. */
static saltus_status find_set(saltus_mpd_tables *s, const uint8_t *in, int *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    for (int i = 0; i < s->n_sets; ++i) {
        if (memcmp(s->sets[i].in, in, SALTUS_LATTICE_MOST_TYPES) == 0) {
            *out = i;
            goto done;
        }
    }
    saltus_mpd_set *set = &s->sets[s->n_sets]; /* there is capacity */
    *set = (saltus_mpd_set){0};
    memcpy(set->in, in, SALTUS_LATTICE_MOST_TYPES);
    for (int type = 0; type < l->n_types; ++type) {
        set->n += in[type] ? l->sites_of[type] : 0;
    }
    *out = s->n_sets++;
    if (set->n < l->n_sites) {
        const int64_t n_marks = l->n_sites / SALTUS_MPD_MARK + 1;
        set->below = saltus_calloc((size_t)n_marks, sizeof *set->below);
        SALTUS_NEED(set->below);
        for (int64_t i = 1; i < n_marks; ++i) {
            set->below[i] =
                set->below[i - 1] + count_in(l, set, (i - 1) * SALTUS_MPD_MARK, SALTUS_MPD_MARK);
        }
    }
done:
    return status;
}

saltus_status saltus_mpd_find_sets(saltus_mpd_tables *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const size_t n_scatters = (size_t)l->n_scatters, n_sources = (size_t)s->m.n_sources;
    uint8_t in[SALTUS_LATTICE_MOST_TYPES];
    s->sets = saltus_calloc(n_scatters + n_sources + 1, sizeof *s->sets);
    s->set_of_scatter = saltus_calloc(n_scatters + 1, sizeof *s->set_of_scatter);
    s->set_of_source = saltus_calloc(n_sources + 1, sizeof *s->set_of_source);
    SALTUS_NEED(s->sets && s->set_of_scatter && s->set_of_source);
    for (int i = 0; i < l->n_scatters; ++i) {
        for (int type = 0; type < SALTUS_LATTICE_MOST_TYPES; ++type) {
            in[type] = type < l->n_types && l->scatters[i].in[type];
        }
        SALTUS_TRY(find_set(s, in, &s->set_of_scatter[i], err));
    }
    for (int o = 0; o < s->m.n_sources; ++o) {
        memset(in, 0, sizeof in);
        in[s->gates[o].type] = 1;
        s->set_of_source[o] = -1;
        if (s->gates[o].face < 0 && s->in_slabs) {
            SALTUS_TRY(find_set(s, in, &s->set_of_source[o], err));
        }
    }
done:
    return status;
}

void saltus_mpd_sets_free(saltus_mpd_tables *s)
{
    for (int i = 0; i < s->n_sets; ++i) {
        saltus_free(s->sets[i].below);
    }
    saltus_free(s->sets);
    saltus_free(s->set_of_scatter);
    saltus_free(s->set_of_source);
}

/* ------------------------------------------------------------------------------------------------
 * Particles at time 0
 */

/* Scatter particles over the sites of some types, from number *n on. */
static saltus_status scatter(const saltus_mpd_tables *s, const saltus_mpd *m, int number,
                             int64_t *n, uint32_t *site, uint16_t *species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const saltus_scatter *what = &l->scatters[number];
    int64_t n_sites = 0;
    uint32_t *sites = NULL;
    for (int type = 0; type < l->n_types; ++type) {
        n_sites += what->in[type] ? l->sites_of[type] : 0;
    }
    if (n_sites < l->n_sites) { /* else sites are a list of themselves */
        int64_t k = 0;
        sites = saltus_calloc((size_t)n_sites, sizeof *sites);
        SALTUS_NEED(sites);
        for (int64_t i = 0; i < l->n_sites; ++i) {
            if (what->in[saltus_lattice_type(l, i)]) {
                sites[k++] = (uint32_t)i;
            }
        }
    }
    const saltus_mpd_sites of = {.n = n_sites, .here = n_sites, .list = sites};
    for (int64_t i = 0; i < what->count; ++i, ++*n) {
        site[*n] = saltus_mpd_scattered(m, &of, number, what->species, i);
        species[*n] = (uint16_t)what->species;
    }
done:
    saltus_free(sites);
    return status;
}

int64_t saltus_mpd_n_placed(const saltus_mpd_tables *s, const saltus_contents *from)
{
    int64_t n = s->n_watched;
    for (int64_t i = 0; from && i < from->n; ++i) {
        n += from->count[i];
    }
    return from ? n : s->n_start;
}

saltus_status saltus_mpd_place(const saltus_mpd_tables *s, uint64_t seed, int64_t trajectory,
                               const saltus_contents *from, saltus_mpd *m, uint32_t *site,
                               uint16_t *species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    int64_t n = 0;
    saltus_mpd_start(m, seed, (uint64_t)trajectory);
    for (int64_t i = 0; from && i < from->n; ++i) {
        for (int32_t k = 0; k < from->count[i]; ++k, ++n) {
            site[n] = (uint32_t)from->site[i];
            species[n] = from->species[i];
        }
    }
    for (int i = 0; !from && i < l->n_scatters; ++i) {
        SALTUS_TRY(scatter(s, m, i, &n, site, species, err));
    }
    for (int64_t i = 0; !from && i < l->n_deposits; ++i) {
        for (int64_t k = 0; k < l->deposits[i].n; ++k, ++n) {
            site[n] = (uint32_t)l->deposits[i].site;
            species[n] = (uint16_t)l->deposits[i].species;
        }
    }
    for (int64_t i = 0; i < l->n_sites && s->n_watched > 0; ++i) {
        if (s->watched[saltus_lattice_type(l, i)]) {
            site[n] = (uint32_t)i;
            species[n++] = (uint16_t)(s->m.n_species - 1);
        }
    }
done:
    return status;
}
