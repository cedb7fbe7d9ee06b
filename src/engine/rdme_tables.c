/* Tables for kernel/rdme/mpd.h. */
#include "engine/rdme.h"

#include "core/memory.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

enum { MOST_PAIRS = 1 << 15 }; /* pairs of species, in all types, for which there is a table */
static const int64_t MOST_IN_SLABS = (int64_t)1 << 40; /* particles */

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

static bool is_product(const saltus_tables *t, int r)
{
    return t->law_program[r] < 0;
}

static bool is_constant(const saltus_tables *t, int r)
{
    return is_product(t, r) && t->factor_row[r] == t->factor_row[r + 1];
}

/* The number in segment[] of a reaction, or -1: it never fires in a site. A constant that takes
 * particles is among the laws that are not products, which are computed in empty sites too. */
static int segment_of(const saltus_mpd_tables *s, int type, int r)
{
    const saltus_tables *t = s->of;
    if (s->lattice->rate[(int64_t)type * t->n_reactions + r] == 0.0 ||
        saltus_network_is_source(t, r)) {
        return -1;
    }
    return is_product(t, r) && !is_constant(t, r) ? 1 + t->factor_species[t->factor_row[r]] : 0;
}

/* List the reactions of each type, by segment. */
static void list_reactions(saltus_mpd_tables *s)
{
    const int n_reactions = s->of->n_reactions, n_species = s->m.n_species;
    int32_t n = 0;
    for (int type = 0; type < s->m.n_types; ++type) {
        int32_t *segment = s->segment + (int64_t)type * (n_species + 2);
        for (int r = 0; r < n_reactions; ++r) {
            const int at = segment_of(s, type, r);
            if (at >= 0) {
                ++segment[at + 1];
            }
        }
        segment[0] = n;
        for (int at = 0; at <= n_species; ++at) {
            segment[at + 1] += segment[at];
        }
        n = segment[n_species + 1];
        for (int r = n_reactions - 1; r >= 0; --r) { /* from the end of its segment */
            const int at = segment_of(s, type, r);
            if (at >= 0) {
                s->active[--segment[at + 1]] = r;
            }
        }
        memmove(segment + 1, segment + 2, (size_t)n_species * sizeof *segment);
        segment[n_species + 1] = n;
    }
}

/* The word below which no reaction fires where the propensities add up to a total. */
static uint32_t no_reaction_below(const saltus_mpd *m, double total)
{
    uint32_t low = 0, high = 0xfffffffeu; /* words below `low` let nothing fire; `high` does */
    if (!(total > 0.0)) {
        return SALTUS_NEVER_REACTS;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (saltus_mpd_no_reaction(middle, m->step * total)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How reactions of a type drift with time, at most. */
static saltus_lattice_drift drift_of(const saltus_mpd_tables *s, int type)
{
    const int32_t *segment = saltus_mpd_segments(&s->m, type);
    saltus_lattice_drift drift = SALTUS_STANDS;
    for (int i = segment[0]; i < segment[1]; ++i) {
        const saltus_lattice_drift d = (saltus_lattice_drift)s->lattice->drifts[s->active[i]];
        drift = d > drift ? d : drift;
    }
    return drift;
}

/* The word below which no reaction fires in a site of a type with two particles, or with one
 * (second is -1), or with an empty-site token alone. None, where propensities drift. */
static uint32_t no_reaction_with(saltus_mpd_tables *s, int type, int first, int second, double *a)
{
    const int empty_site_token = s->m.n_species - 1;
    int bad = -1;
    const int both[] = {first, second};
    if (drift_of(s, type) >
        (first == empty_site_token && second < 0 ? SALTUS_DRIFTS_FILLED : SALTUS_STANDS)) {
        return 0;
    }
    for (int i = 0; i < 2; ++i) {
        if (both[i] >= 0 && both[i] < empty_site_token) {
            s->rows[both[i]] += 1.0;
        }
    }
    const double total = saltus_mpd_total(&s->m, s->of, type, s->rows, a, &bad);
    for (int i = 0; i < 2; ++i) {
        if (both[i] >= 0 && both[i] < empty_site_token) {
            s->rows[both[i]] = 0.0;
        }
    }
    return bad >= 0 ? 0 : no_reaction_below(&s->m, total);
}

/* A bound, not less than the sum of the propensities in a site of a type with n particles of
 * whatever species; negative if there is none. */
static double bound(const saltus_mpd_tables *s, int type, int n)
{
    const saltus_tables *t = s->of;
    const int32_t *segment = saltus_mpd_segments(&s->m, type);
    double total = 0.0;
    if (segment[0] < segment[1]) {
        return -1.0; /* laws that are not products */
    }
    for (int i = segment[0]; i < segment[s->m.n_species + 1]; ++i) {
        const int r = s->active[i], first = t->factor_row[r], end = t->factor_row[r + 1];
        const bool is_pair =
            end == first + 2 && t->factor_species[first] != t->factor_species[first + 1];
        double a = s->m.rate[(int64_t)type * t->n_reactions + r];
        for (int f = first; f < end;
             ++f) { /* of two species that differ, one has n / 2 particles */
            a *= is_pair ? 0.5 * n : fmax(0.0, n - t->factor_offset[f]);
        }
        total += a;
    }
    return total * (1.0 + 1e-9); /* more than any rounding */
}

static void look_at_many(saltus_mpd_tables *s)
{
    for (int type = 0; type < s->m.n_types; ++type) {
        for (int n = 0; n < SALTUS_MPD_MANY; ++n) {
            const double total = bound(s, type, n);
            s->no_reaction_many[type * SALTUS_MPD_MANY + n] =
                total >= 0.0 ? no_reaction_below(&s->m, total) : 0;
        }
    }
}

/* Fill the tables for one particle alone and for two in a site of each type, and find the types
 * that react when empty. */
static saltus_status fill_no_reaction(saltus_mpd_tables *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = s->m.n_species, empty_site_token = n - 1;
    double *a = saltus_calloc((size_t)s->of->n_reactions, sizeof *a);
    SALTUS_NEED(a);
    for (int type = 0; type < s->m.n_types; ++type) {
        for (int x = 0; x < n; ++x) {
            const int64_t of_x = (int64_t)type * n + x;
            s->no_reaction[of_x] = no_reaction_with(s, type, x, -1, a);
            for (int y = x; y < n && s->no_reaction_two; ++y) {
                s->no_reaction_two[of_x * n + y] = no_reaction_with(s, type, x, y, a);
            }
        }
        s->watched[type] =
            s->no_reaction[(int64_t)type * n + empty_site_token] != SALTUS_NEVER_REACTS;
        s->n_watched += s->watched[type] ? s->lattice->sites_of[type] : 0;
    }
done:
    saltus_free(a);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Sources
 */

int64_t saltus_mpd_sites_at(const saltus_lattice *l, int face, int type, const int64_t planes[2],
                            int64_t zero, uint32_t *out)
{
    int64_t n = 0, first[3] = {0, 0, planes[0]}, end[3] = {l->size[0], l->size[1], planes[1]};
    if (face >= 0) {
        const int axis = face / 2;
        const int64_t at = face % 2 == 0 ? 0 : l->size[axis] - 1;
        first[axis] = at > first[axis] ? at : first[axis];
        end[axis] = at + 1 < end[axis] ? at + 1 : end[axis];
    }
    if (!l->types && !out) {
        return (end[0] - first[0]) * (end[1] - first[1]) *
               (end[2] > first[2] ? end[2] - first[2] : 0);
    }
    for (int64_t z = first[2]; z < end[2]; ++z) {
        for (int64_t y = first[1]; y < end[1]; ++y) {
            for (int64_t x = first[0]; x < end[0]; ++x) {
                const int64_t site = x + l->size[0] * (y + l->size[1] * z);
                if (saltus_lattice_type(l, site) == type) {
                    if (out) {
                        out[n] = (uint32_t)(site - zero);
                    }
                    ++n;
                }
            }
        }
    }
    return n;
}

/* Arrivals in a site: on average in a step, which is 0 if that is too little for a double, and in a
 * second. */
static saltus_status add_source(saltus_mpd_tables *s, int face, int type, double mean_of_site,
                                double rate_of_site, int reaction, int species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const bool is_any = mean_of_site > 0.0 || rate_of_site > 0.0;
    const int64_t planes[2] = {0, l->size[2]},
                  n = !is_any    ? 0
                      : face < 0 ? l->sites_of[type]
                                 : saltus_mpd_sites_at(l, face, type, planes, 0, NULL);
    const bool has_list = !s->in_slabs && n < l->n_sites;
    uint32_t *list = NULL;
    if (n > 0) {
        saltus_mpd_source *grown =
            saltus_realloc(s->sources, (size_t)s->m.n_sources + 1, sizeof *grown);
        SALTUS_NEED(grown);
        s->m.sources = s->sources = grown;
        saltus_mpd_gate *gates =
            saltus_realloc(s->gates, (size_t)s->m.n_sources + 1, sizeof *gates);
        SALTUS_NEED(gates);
        s->gates = gates;
        if (has_list) {
            list = saltus_calloc((size_t)n, sizeof *list);
            SALTUS_NEED(list);
            (void)saltus_mpd_sites_at(l, face, type, planes, 0, list);
        }
        s->gates[s->m.n_sources] = (saltus_mpd_gate){face, type, rate_of_site * (double)n};
        s->sources[s->m.n_sources++] = (saltus_mpd_source){mean_of_site * (double)n,
                                                           {.n = n, .here = n, .list = list},
                                                           reaction,
                                                           species,
                                                           face < 0 ? 2 : face / 2};
    }
done:
    return status;
}

static saltus_status find_sources(saltus_mpd_tables *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const saltus_tables *t = s->of;
    for (int type = 0; type < l->n_types; ++type) {
        for (int r = 0; r < t->n_reactions; ++r) {
            const double rate = l->rate[(int64_t)type * t->n_reactions + r];
            if (saltus_network_is_source(t, r)) {
                SALTUS_TRY(add_source(s, -1, type, rate * l->step, rate, r, -1, err));
            }
        }
    }
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        for (int type = 0; type < l->n_types && l->faces[face] == SALTUS_FACE_CONSTANT; ++type) {
            const int64_t within = ((int64_t)type * l->n_types + type) * l->n_species;
            const double *jump = l->jump + within, *diffusion = l->diffusion + within;
            const double *mean = l->face_mean + (int64_t)face * l->n_species;
            for (int x = 0; x < l->n_species; ++x) {
                const double rate = mean[x] * (diffusion[x] / (l->spacing * l->spacing));
                SALTUS_TRY(add_source(s, face, type, mean[x] * jump[x], rate, -1, x, err));
            }
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

static void fill_rows(saltus_mpd_tables *s)
{
    const saltus_tables *t = s->of;
    s->rows[t->row_one] = 1.0;
    for (int i = 0; i < t->n_variables; ++i) {
        s->rows[t->row_variables + i] = t->initial_variables[i];
    }
    for (int i = 0; i < t->n_constants; ++i) {
        s->rows[t->row_constants + i] = t->constants[i];
    }
}

static void fill_jumps(saltus_mpd_tables *s)
{
    const saltus_lattice *l = s->lattice;
    const int64_t n_pairs = (int64_t)l->n_types * l->n_types;
    for (int x = 0; x < l->n_species; ++x) {
        s->moves[x] = l->largest_jump[x] > 0.0;
        for (int64_t pair = 0; pair < n_pairs; ++pair) {
            const double twice = nearbyint(l->jump[pair * l->n_species + x] * 0x1p33);
            s->jump[pair * s->m.n_species + x] =
                twice < 0xffffffffu ? (uint32_t)twice : 0xffffffffu;
        }
    }
}

#define ALLOC(type, name, n)                                \
    s->n_##name = (n) > 0 ? (n) : 0;                        \
    if ((n) >= 0) {                                         \
        s->name = saltus_calloc((size_t)(n), sizeof(type)); \
        SALTUS_NEED(s->name);                               \
        s->m.name = s->name;                                \
    }

static saltus_status alloc_tables(saltus_mpd_tables *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t types = s->m.n_types, species = s->m.n_species, reactions = s->of->n_reactions,
                  all_pairs = types * species * species,
                  pairs = all_pairs <= MOST_PAIRS ? all_pairs : -1;
    s->rows = saltus_calloc((size_t)s->of->n_rows + 1, sizeof *s->rows);
    s->watched = saltus_calloc((size_t)types, sizeof *s->watched);
    SALTUS_NEED(s->rows && s->watched);
    SALTUS_LATTICE_ARRAYS(ALLOC)
done:
    return status;
}

static saltus_status check_sizes(const saltus_mpd_tables *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const saltus_tables *t = s->of;
    if (l->n_sites > SALTUS_MPD_MOST_SITES && !s->in_slabs) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%lld sites: a lattice that is whole has at most 2^32 - 2^24; GPUs take more "
                    "of them in slabs (`split auto`)",
                    (long long)l->n_sites);
    }
    if (l->n_species > UINT16_MAX) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%d species: on a lattice there are at most 65535",
                    l->n_species);
    }
    if (t->n_reactions >= 1 << 22) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%d reactions: on a lattice there are at most 2^22 - 1",
                    t->n_reactions);
    }
    if (s->n_start > MOST_IN_SLABS) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%lld particles: on a lattice there are at most 2^40",
                    (long long)s->n_start);
    }
    if (s->n_start > INT32_MAX / 2 && !s->in_slabs) {
        SALTUS_FAIL(
            SALTUS_E_UNSUPPORTED,
            "%lld particles: on a lattice that is whole there are fewer than 2^30; GPUs take "
            "more of them in slabs (`split auto`)",
            (long long)s->n_start);
    }
done:
    return status;
}

saltus_status saltus_mpd_tables_create(const saltus_model *model, bool in_slabs,
                                       saltus_mpd_tables *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = model->network->lattice;
    saltus_mpd_tables *s = out;
    *s = (saltus_mpd_tables){.lattice = l, .of = &model->network->tables, .in_slabs = in_slabs};
    s->m = (saltus_mpd){.n_types = l->n_types,
                        .n_species = l->n_species + 1,
                        .types = l->types,
                        .step = l->step,
                        .only_one = l->only_one};
    SALTUS_TRY(check_sizes(s, err));
    for (int axis = 0; axis < 3; ++axis) {
        s->m.size[axis] = (uint32_t)l->size[axis];
    }
    for (int face = 0; face < SALTUS_N_FACES;
         ++face) { /* what leaves over a face of constant concentration is lost */
        s->m.faces[face] =
            l->faces[face] == SALTUS_FACE_CONSTANT ? SALTUS_MPD_ABSORBING : (int32_t)l->faces[face];
    }
    SALTUS_TRY(alloc_tables(s, err));
    fill_rows(s);
    memcpy(s->rate, l->rate, (size_t)s->m.n_types * (size_t)s->of->n_reactions * sizeof *s->rate);
    fill_jumps(s);
    list_reactions(s);
    SALTUS_TRY(fill_no_reaction(s, err));
    look_at_many(s);
    SALTUS_TRY(find_sources(s, err));
    s->n_start = s->n_watched + saltus_lattice_n_placed(l);
    SALTUS_TRY(check_sizes(s, err));
done:
    return status;
}

#define FREE(type, name, n) saltus_free(s->name);

void saltus_mpd_tables_free(saltus_mpd_tables *s)
{
    for (int o = 0; o < s->m.n_sources; ++o) {
        saltus_free((void *)(uintptr_t)s->sources[o].sites.list);
    }
    saltus_free(s->sources);
    saltus_free(s->gates);
    saltus_mpd_sets_free(s);
    saltus_free(s->inputs);
    saltus_free(s->rows);
    saltus_free(s->watched);
    SALTUS_LATTICE_ARRAYS(FREE)
}
