/**
 * Reaction and diffusion on a lattice by multiparticle diffusion (MPD-RDME: M. J. Hallock et al.,
 * Parallel Computing 40 (2014) 86, doi:10.1016/j.parco.2014.03.009): in every step each particle
 * moves along x, then y, then z, and then every site is a well-mixed reactor, simulated exactly for
 * the length of the step.
 *
 * The unit of work is the particle; empty space costs nothing. The particles of a site are a linked
 * list, in which each stands at its own number: a particle that comes exchanges the list's head for
 * itself, so many threads may add to a list at once, and a site holds any number of particles. A
 * phase goes over all particles; who finds itself at the head of its site's list looks after the
 * whole site: lets it react, which ends a step, and moves its particles, which begins the next,
 * into the lists of the other of two sets of heads.
 *
 * Particles of a species in a site cannot be told apart. The random words of a particle belong to
 * (seed, trajectory, step, site, species, its number among these), and those of a site's reactions
 * to (seed, trajectory, step, site). So results depend neither on the order in which particles
 * arrive, nor on who computes a site.
 */
#ifndef SALTUS_KERNEL_MPD_H
#define SALTUS_KERNEL_MPD_H

#include "kernel/poisson.h"
#include "kernel/program.h"
#include "kernel/rng.h"
#include "kernel/tables.h"

#if SALTUS_LANES != 1
#error "a particle is one lane wide"
#endif

/** What is beyond a face of the lattice; in model/lattice.h's order. */
enum { SALTUS_MPD_PERIODIC, SALTUS_MPD_REFLECTING, SALTUS_MPD_ABSORBING };

/* Species whose lists are sorted by one of each, and particles that are put in order one by one. */
enum { SALTUS_MPD_FEW = 32, SALTUS_MPD_SHORT = 5 };

/** What a phase does with the sites. */
enum { SALTUS_MPD_REACTS = 1, SALTUS_MPD_MOVES = 2 };

/** Particles that come from nothing: by a reaction without reactants in the sites of a type, or
 * over a face beyond which there is a constant concentration. */
typedef struct saltus_mpd_origin {
    double mean; /**< of the Poisson number that comes in a step */
    const uint32_t *sites;
    int64_t n_sites;  /**< one of which each comes to */
    int32_t reaction; /**< or -1: */
    int32_t species;  /**< one particle of it */
} saltus_mpd_origin;

/** Nowhere: the site of a particle that is no more. */
#define SALTUS_NOWHERE 0xffffffffu

/** Of `quiet`: nothing ever happens. */
#define SALTUS_ALWAYS_QUIET 0xffffffffu

/** The lattice and its particles. The last of the species, number n_species - 1, is none of the
 * model's: one particle of it stands still in every site whose reactions may fire when the site is
 * empty, so that there is somebody to look after it. */
typedef struct saltus_mpd {
    uint32_t size[3];
    int32_t n_types, n_species;
    int32_t faces[6];     /**< x-, x+, y-, y+, z-, z+ */
    const uint8_t *types; /**< [site] */
    const uint32_t *jump; /**< [from type][to type][species] twice the probability, of 2^32 */
    const uint8_t *moves; /**< [species] whether it ever jumps */
    double step;          /**< s */
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< of a trajectory */

    const double *rate;     /**< [type][reaction] model/lattice.h */
    const int32_t *active;  /**< reactions that happen in sites of a type: those with a law that is
                                 no product, then by first reactant */
    const int32_t *segment; /**< [type][species + 2] where those of a first reactant begin in
                                 `active`; number 0: those with another law */
    const uint32_t *quiet;  /**< [type][species] a word below it lets nothing happen where one
                                 particle is alone */
    int32_t only_one;       /**< at most one reaction in a site and step */
    const saltus_mpd_origin *origins;
    int32_t n_origins;

    uint32_t *site;    /**< [capacity], SALTUS_NOWHERE behind those in use */
    uint16_t *species; /**< [capacity] */
    int32_t *next;     /**< [capacity] in its site's list, or -1 */
    int32_t *head[2];  /**< [site] -1: the list is empty; sets for even and odd numbers of phases */
    int64_t *used;     /**< numbers in use, of those no more too; shared. Beyond the capacity: some
                            particles have found no room, and all is to be done again */
    int64_t capacity;
    int32_t is_shared;  /**< several threads work on it */
    int64_t first_step; /**< that was noted from */
    uint64_t *trouble;  /**< shared: saltus_mpd_note's first; else ~0 */
} saltus_mpd;

/** A thread's own. */
typedef struct saltus_mpd_scratch {
    double *v;          /**< rows as in tables.h; [species] 0 between sites */
    double *a;          /**< [reaction] */
    int64_t fired;      /**< reactions */
    const double *rows; /**< [n_rows] what v is to start from; NULL: it has */
    int32_t n_rows;
} saltus_mpd_scratch;

/* What a kernel that is compiled for a model knows of it: SALTUS_MPD_SIZE and so on. */
SALTUS_FN uint32_t saltus_mpd_size(const saltus_mpd *m, int axis)
{
#ifdef SALTUS_MPD_SIZE
    const uint32_t size[3] = {SALTUS_MPD_SIZE};
    (void)m;
    return size[axis];
#else
    return m->size[axis];
#endif
}
SALTUS_FN int saltus_mpd_face(const saltus_mpd *m, int face)
{
#ifdef SALTUS_MPD_FACES
    const int32_t faces[6] = {SALTUS_MPD_FACES};
    (void)m;
    return faces[face];
#else
    return m->faces[face];
#endif
}
#ifdef SALTUS_MPD_TYPES
#define SALTUS_MPD_N_TYPES(m) SALTUS_MPD_TYPES
#define SALTUS_MPD_N_SPECIES(m) SALTUS_MPD_SPECIES
#define SALTUS_MPD_IS_SHARED(m) 1
#else
#define SALTUS_MPD_N_TYPES(m) ((m)->n_types)
#define SALTUS_MPD_N_SPECIES(m) ((m)->n_species)
#define SALTUS_MPD_IS_SHARED(m) ((m)->is_shared)
#endif

/* The keys of a trajectory. */
SALTUS_FN void saltus_mpd_start(saltus_mpd *m, uint64_t seed, uint64_t trajectory)
{
    uint32_t keys[SALTUS_PHILOX_KEYS], w[4];
    saltus_philox_keys(seed, keys);
    saltus_philox_keyed(keys, SALTUS_PURPOSE_SPACE, trajectory, 0, w);
    saltus_philox_keys((uint64_t)w[1] << 32 | w[0], m->keys);
}

/** Words for number `rank` (below 2^24) of a species in a site (below 2^40), in a step (below
 * 2^40).
 */
SALTUS_FN void saltus_mpd_words(const saltus_mpd *m, uint32_t purpose, int64_t step, int64_t site,
                                int species, int64_t rank, uint32_t w[4])
{
    saltus_philox_keyed(m->keys, purpose,
                        (uint64_t)site | (uint64_t)species << 40 | (uint64_t)(rank >> 16) << 56,
                        (uint64_t)step << 16 | (uint64_t)(rank & 0xffff), w);
}

/* ------------------------------------------------------------------------------------------------
 * Lists
 */

SALTUS_FN int32_t *saltus_mpd_heads(const saltus_mpd *m, int set)
{
    return set ? m->head[1] : m->head[0]; /* no index: m may be in registers */
}

/** Put a particle into a list. */
SALTUS_FN void saltus_mpd_insert(const saltus_mpd *m, int set, int32_t i, uint32_t site)
{
    int32_t *const head = &saltus_mpd_heads(m, set)[site];
    SALTUS_POKE(&m->site[i], site);
    if (SALTUS_MPD_IS_SHARED(m)) {
        m->next[i] = SALTUS_EXCHANGE(head, i);
    } else {
        m->next[i] = *head;
        *head = i;
    }
}

/** A new particle, in no list yet; -1: there is no room. */
SALTUS_FN int32_t saltus_mpd_create(const saltus_mpd *m, int species)
{
    const int64_t i = (int64_t)SALTUS_TAKE_NUMBER(m->used);
    if (i >= m->capacity) {
        return -1;
    }
    m->species[i] = (uint16_t)species;
    return (int32_t)i;
}

/* Two sorted lists as one; what is equal keeps no order, because nothing depends on it. */
SALTUS_FN int32_t saltus_mpd_merge(const saltus_mpd *m, int32_t a, int32_t b)
{
    int32_t first = -1, last = -1;
    while (a >= 0 && b >= 0) {
        const int takes_a = m->species[a] <= m->species[b];
        const int32_t least = takes_a ? a : b;
        a = takes_a ? m->next[a] : a;
        b = takes_a ? b : m->next[b];
        first = first < 0 ? least : first;
        if (last >= 0) {
            m->next[last] = least;
        }
        last = least;
    }
    m->next[last] = a >= 0 ? a : b;
    return first;
}

/* A long list sorted by species. */
SALTUS_OUTLINE int32_t saltus_mpd_sort_long(const saltus_mpd *m, int32_t first)
{
    int32_t sorted[32]; /* lists of 2^k, or none */
    int n = 0;
    while (first >= 0) {
        int32_t list = first;
        int k = 0;
        first = m->next[first];
        m->next[list] = -1;
        for (; k < n && sorted[k] >= 0; ++k) {
            list = saltus_mpd_merge(m, sorted[k], list);
            sorted[k] = -1;
        }
        sorted[k] = list;
        n = k == n ? n + 1 : n;
    }
    for (int k = 0; k < n; ++k) {
        if (sorted[k] >= 0) {
            first = first < 0 ? sorted[k] : saltus_mpd_merge(m, first, sorted[k]);
        }
    }
    return first;
}

/* The same for few species. */
SALTUS_OUTLINE int32_t saltus_mpd_sort_few(const saltus_mpd *m, int32_t list)
{
    int32_t head[SALTUS_MPD_FEW], last[SALTUS_MPD_FEW], first = -1;
    for (int x = 0; x < SALTUS_MPD_N_SPECIES(m); ++x) {
        head[x] = -1;
    }
    while (list >= 0) {
        const int32_t i = list;
        const int x = m->species[i];
        list = m->next[i];
        last[x] = head[x] < 0 ? i : last[x];
        m->next[i] = head[x];
        head[x] = i;
    }
    for (int x = SALTUS_MPD_N_SPECIES(m) - 1; x >= 0; --x) {
        if (head[x] >= 0) {
            m->next[last[x]] = first;
            first = head[x];
        }
    }
    return first;
}

/* A list sorted by species. */
SALTUS_FN int32_t saltus_mpd_sort(const saltus_mpd *m, int32_t first)
{
    int32_t rest = m->next[first];
    m->next[first] = -1;
    for (int n = 1; rest >= 0 && n < SALTUS_MPD_SHORT; ++n) {
        const int32_t i = rest;
        const int species = m->species[i];
        rest = m->next[i];
        if (species <= m->species[first]) {
            m->next[i] = first;
            first = i;
        } else {
            int32_t before = first;
            while (m->next[before] >= 0 && m->species[m->next[before]] < species) {
                before = m->next[before];
            }
            m->next[i] = m->next[before];
            m->next[before] = i;
        }
    }
    if (rest >= 0) {
        rest = SALTUS_MPD_N_SPECIES(m) <= SALTUS_MPD_FEW ? saltus_mpd_sort_few(m, rest)
                                                         : saltus_mpd_sort_long(m, rest);
        first = saltus_mpd_merge(m, first, rest);
    }
    return first;
}

/* ------------------------------------------------------------------------------------------------
 * Moves
 */

SALTUS_FN int saltus_mpd_type(const saltus_mpd *m, uint32_t site)
{
    return SALTUS_MPD_N_TYPES(m) > 1 ? m->types[site] : 0;
}

/* Where a particle in a site that is number `at` along an axis tries to go, `way` -1 or 1, and with
 * twice which probability; SALTUS_NOWHERE: out of the lattice. */
SALTUS_FN uint32_t saltus_mpd_jump(const saltus_mpd *m, uint32_t site, int species, int axis,
                                   int way, uint32_t at, uint32_t stride, uint32_t *to)
{
    const uint32_t last = saltus_mpd_size(m, axis) - 1;
    const int is_out = way < 0 ? at == 0 : at == last;
    const int type = saltus_mpd_type(m, site);
    int there = type;
    *to = way < 0 ? site - stride : site + stride;
    if (is_out) {
        const int face = way < 0 ? saltus_mpd_face(m, 2 * axis) : saltus_mpd_face(m, 2 * axis + 1);
        *to = face == SALTUS_MPD_PERIODIC ? (way < 0 ? site + stride * last : site - stride * last)
                                          : SALTUS_NOWHERE;
        if (face == SALTUS_MPD_REFLECTING) {
            return 0;
        }
    }
    if (*to != SALTUS_NOWHERE) {
        there = saltus_mpd_type(m, *to);
    }
    return m
        ->jump[((int64_t)type * SALTUS_MPD_N_TYPES(m) + there) * SALTUS_MPD_N_SPECIES(m) + species];
}

/** Where the words of a step bring a particle; SALTUS_NOWHERE: it is lost. The first bit of a word
 * says which way along its axis it tries to go, the others whether it does. */
SALTUS_FN uint32_t saltus_mpd_move(const saltus_mpd *m, uint32_t site, int species,
                                   const uint32_t w[4])
{
    uint32_t at[3], stride = 1;
    at[0] = site % saltus_mpd_size(m, 0);
    at[1] = site / saltus_mpd_size(m, 0);
    at[2] = at[1] / saltus_mpd_size(m, 1);
    at[1] = at[1] % saltus_mpd_size(m, 1);
    SALTUS_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        uint32_t to;
        const int way = (w[axis] >> 31) ? 1 : -1;
        const uint32_t jump = saltus_mpd_jump(m, site, species, axis, way, at[axis], stride, &to);
        site = w[axis] << 1 < jump ? to : site;
        if (site == SALTUS_NOWHERE) {
            break;
        }
        stride *= saltus_mpd_size(m, axis);
    }
    return site;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

/* A propensity of reaction r in a site of a type, of the counts in v. */
SALTUS_FN double saltus_mpd_propensity(const saltus_mpd *m, const saltus_tables *n, int type, int r,
                                       double *v)
{
    double a = m->rate[(int64_t)type * n->n_reactions + r];
    if (n->law_program[r] >= 0) {
        const saltus_program law = n->laws[n->law_program[r]];
        saltus_program_run(n->code, law, v);
        return v[law.result];
    }
    for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
        a *= v[n->factor_species[f]] - n->factor_offset[f];
    }
    return a;
}

/* The rows that rules have. */
SALTUS_FN void saltus_mpd_rules(const saltus_tables *n, double *v)
{
    for (int r = 0; r < n->n_rules; ++r) {
        saltus_program_run(n->code, n->rules[r], v);
        v[n->row_rules + r] = v[n->rules[r].result];
    }
}

/** The sum of the propensities in a site of a type, a[reaction] being set to each; in the order of
 * `active`. *bad becomes a reaction whose propensity is negative or no number. */
SALTUS_FN double saltus_mpd_total(const saltus_mpd *m, const saltus_tables *n, int type, double *v,
                                  double *a, int *bad)
{
    const int32_t *segment = m->segment + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double total = 0.0;
    saltus_mpd_rules(n, v);
    for (int i = segment[0]; i < segment[SALTUS_MPD_N_SPECIES(m) + 1]; ++i) {
        const int r = m->active[i];
        a[r] = saltus_mpd_propensity(m, n, type, r, v);
        if (!(a[r] >= 0.0)) {
            *bad = r;
        }
        total += a[r];
    }
    return total;
}

/* The same sum for the sorted list of a site that holds v and where all laws are products: what has
 * a factor that is not there adds nothing. */
SALTUS_FN double saltus_mpd_list_total(const saltus_mpd *m, const saltus_tables *n, int type,
                                       int32_t first, double *v)
{
    const int32_t *segment = m->segment + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double total = 0.0;
    int before = -1;
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        const int species = m->species[j];
        const int end = species != before ? segment[species + 2] : 0;
        for (int i = segment[species + 1]; i < end; ++i) {
            const int r = m->active[i];
            double a = m->rate[(int64_t)type * n->n_reactions + r];
            for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
                a *= v[n->factor_species[f]] - n->factor_offset[f];
            }
            total += a;
        }
        before = species;
    }
    return total;
}

/** Whether a word lets nothing happen in a step: a wait is at least 1 - u times the mean one. */
SALTUS_FN int saltus_mpd_is_quiet(const saltus_mpd *m, uint32_t word, double total)
{
    return !(total > 0.0) ||
           (double)(int64_t)(0xffffffffu - word) * SALTUS_TWO_M32 >= m->step * total;
}

/* The reaction that `goal`, below the total, comes to. */
SALTUS_FN int saltus_mpd_choose(const saltus_mpd *m, int type, const double *a, double goal)
{
    const int32_t *segment = m->segment + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double sum = 0.0;
    int r = -1;
    for (int i = segment[0]; i < segment[SALTUS_MPD_N_SPECIES(m) + 1] && !(r >= 0 && sum > goal);
         ++i) {
        const int candidate = m->active[i];
        sum += a[candidate];
        r = a[candidate] > 0.0 ? candidate : r;
    }
    return r;
}

/* A site where a reaction (below 2^22) cannot be simulated, in one of 1024 steps. */
SALTUS_FN void saltus_mpd_note(const saltus_mpd *m, int64_t step, uint32_t site, int reaction)
{
    SALTUS_LEAST(m->trouble, (uint64_t)(step - m->first_step) << 54 | (uint64_t)site << 22 |
                                 (uint64_t)reaction);
}

/**
 * Let the counts v[species] of a site react for a step.
 *
 * @param word what the first wait is made of
 * @return the number of reactions; s->a[0 …] are of no use afterwards. A site with a propensity
 *         that is negative or no number, or a reaction that takes what is not there, is noted.
 */
SALTUS_FN int32_t saltus_mpd_react(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                   uint32_t site, uint32_t word, saltus_mpd_scratch *s)
{
    const int type = saltus_mpd_type(m, site);
    double left = m->step, *v = s->v;
    int32_t n_fired = 0;
    uint32_t w[4] = {word, 0, 0, 0};
    for (;;) {
        int bad = -1;
        const double total = saltus_mpd_total(m, n, type, v, s->a, &bad);
        if (bad >= 0) {
            saltus_mpd_note(m, step, site, bad);
            return n_fired;
        }
        if (!(total > 0.0) ||
            (double)(int64_t)(0xffffffffu - w[0]) * SALTUS_TWO_M32 >= left * total) {
            return n_fired;
        }
        const uint32_t of_wait = w[0];
        saltus_mpd_words(m, SALTUS_PURPOSE_SITE, step, site, 0, n_fired, w);
        const double wait = of_wait != 0 ? saltus_exponential32(of_wait)
                                         : 22.180709777918249 + /* 32 ln 2 */
                                               saltus_exponential32(w[1] | (w[1] == 0));
        if (!(wait < left * total)) {
            return n_fired;
        }
        left -= wait / total;
        const double goal =
            (double)(int64_t)(((uint64_t)w[2] << 32 | w[3]) >> 11) * 0x1p-53 * total;
        const int r = saltus_mpd_choose(m, type, s->a, goal);
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            v[n->change_species[c]] += (double)n->change_amount[c];
            if (v[n->change_species[c]] < 0.0) {
                saltus_mpd_note(m, step, site, r);
                return n_fired;
            }
        }
        ++n_fired;
        if (m->only_one) {
            return n_fired;
        }
    }
}

/* The list of a site that holds the counts v, made of the particles of its old one; v becomes 0. */
SALTUS_FN int32_t saltus_mpd_relist(const saltus_mpd *m, double *v, int is_watched, int32_t old)
{
    const int watcher = SALTUS_MPD_N_SPECIES(m) - 1;
    int32_t first = -1, last = -1;
    for (int x = 0; x <= watcher; ++x) {
        for (double k = x < watcher ? v[x] : (double)is_watched; k > 0.0; k -= 1.0) {
            const int32_t i = old >= 0 ? old : saltus_mpd_create(m, x);
            if (i < 0) {
                break; /* no room: all is done again */
            }
            old = old >= 0 ? m->next[old] : -1;
            m->species[i] = (uint16_t)x;
            m->next[i] = -1;
            first = first < 0 ? i : first;
            if (last >= 0) {
                m->next[last] = i;
            }
            last = i;
        }
        v[x] = x < watcher ? 0.0 : v[x];
    }
    while (old >= 0) {
        SALTUS_POKE(&m->site[old], SALTUS_NOWHERE);
        old = m->next[old];
    }
    return first;
}

/* A word may let something happen in a site: let it react. Returns its list; *fires: another one
 * than before. */
SALTUS_FN int32_t saltus_mpd_site_reacts(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                         uint32_t site, int32_t first, uint32_t word,
                                         saltus_mpd_scratch *s, int *fires)
{
    const int type = saltus_mpd_type(m, site), watcher = SALTUS_MPD_N_SPECIES(m) - 1;
    const int32_t *segment = m->segment + (int64_t)type * (watcher + 3);
    const int is_single = m->next[first] < 0, has_laws = segment[0] < segment[1];
    int is_watched = 0;
    int32_t n_fired = 0;
    for (int i = 0; s->rows && i < s->n_rows; ++i) {
        s->v[i] = s->rows[i];
    }
    s->rows = (const double *)0;
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        is_watched = m->species[j] == watcher;
        s->v[m->species[j]] += is_watched ? 0.0 : 1.0;
    }
    if (is_single || has_laws ||
        !saltus_mpd_is_quiet(m, word, saltus_mpd_list_total(m, n, type, first, s->v))) {
        n_fired = saltus_mpd_react(m, n, step, site, word, s);
        s->fired += n_fired;
    }
    *fires = n_fired > 0;
    if (n_fired > 0) {
        return saltus_mpd_relist(m, s->v, is_watched, first);
    }
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        if (m->species[j] < watcher) {
            s->v[m->species[j]] = 0.0;
        }
    }
    return first;
}

/* Whether anything happens in sites of a type, but what comes from nothing. */
SALTUS_FN int saltus_mpd_is_reactive(const saltus_mpd *m, int type)
{
    const int32_t *segment = m->segment + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    return segment[0] < segment[SALTUS_MPD_N_SPECIES(m) + 1];
}

/* ------------------------------------------------------------------------------------------------
 * Phases
 */

/** Move a particle of a site to where it ends in a step, or nowhere. */
SALTUS_FN void saltus_mpd_send(const saltus_mpd *m, int set, int32_t i, uint32_t to)
{
    if (to == SALTUS_NOWHERE) {
        SALTUS_POKE(&m->site[i], to);
    } else {
        saltus_mpd_insert(m, set, i, to);
    }
}

/** A site that is not easy (below), with the list from `first` on: its reactions end step - 1, its
 * moves are those of `step`. `set`: in which set of heads the list stands. */
SALTUS_RARE_FN void saltus_mpd_look_after(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                          int what, int set, uint32_t site, int32_t first,
                                          saltus_mpd_scratch *s)
{
    uint32_t w[4] = {0, 0, 0, 0};
    int before = -1, has_words = 0;
    int64_t rank = 0;
    SALTUS_POKE(&saltus_mpd_heads(m, set)[site], -1);
    if (m->next[first] >= 0) {
        first = saltus_mpd_sort(m, first);
    }
    if (what & SALTUS_MPD_REACTS) {
        int fires = 0;
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, site, m->species[first], 0, w);
        if (saltus_mpd_is_reactive(m, saltus_mpd_type(m, site))) {
            first = saltus_mpd_site_reacts(m, n, step, site, first, w[3], s, &fires);
        }
        has_words = !fires;
    }
    while (first >= 0) {
        const int32_t i = first;
        const int species = m->species[i];
        uint32_t to = site;
        first = m->next[i];
        rank = species == before ? rank + 1 : 0;
        before = species;
        if ((what & SALTUS_MPD_MOVES) && m->moves[species]) {
            if (!has_words) {
                saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, site, species, rank, w);
            }
            to = saltus_mpd_move(m, site, species, w);
        }
        has_words = 0;
        saltus_mpd_send(m, 1 - set, i, to);
    }
}

/** The part of particle i in a phase, if it has none, or is alone in its site and does not react.
 * Else returns 0: saltus_mpd_look_after its site. */
SALTUS_FN int saltus_mpd_is_easy(const saltus_mpd *m, int64_t step, int what, int set, int32_t i)
{
    /* others may move it meanwhile, or empty the list: in no case is it then at the head */
    const uint32_t site = SALTUS_PEEK(&m->site[i]);
    if (site == SALTUS_NOWHERE || SALTUS_PEEK(&saltus_mpd_heads(m, set)[site]) != i) {
        return 1;
    }
    const int species = m->species[i], type = saltus_mpd_type(m, site);
    const uint32_t quiet = (what & SALTUS_MPD_REACTS)
                               ? m->quiet[(int64_t)type * SALTUS_MPD_N_SPECIES(m) + species]
                               : SALTUS_ALWAYS_QUIET;
    const int moves = (what & SALTUS_MPD_MOVES) && m->moves[species];
    uint32_t w[4] = {0, 0, 0, 0}, to = site;
    if (m->next[i] >= 0) {
        return 0;
    }
    if (moves || quiet != SALTUS_ALWAYS_QUIET) {
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, site, species, 0, w);
    }
    if (quiet != SALTUS_ALWAYS_QUIET && w[3] >= quiet) {
        return 0;
    }
    SALTUS_POKE(&saltus_mpd_heads(m, set)[site], -1);
    if (moves) {
        to = saltus_mpd_move(m, site, species, w);
    }
    saltus_mpd_send(m, 1 - set, i, to);
    return 1;
}

/** The part of particle i in a phase. */
SALTUS_FN void saltus_mpd_particle(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                   int what, int set, int32_t i, saltus_mpd_scratch *s)
{
    if (!saltus_mpd_is_easy(m, step, what, set, i)) {
        saltus_mpd_look_after(m, n, step, what, set, m->site[i], i, s);
    }
}

/** What comes from origin number o before the reactions of a step, into a set of heads. */
SALTUS_RARE_FN void saltus_mpd_come(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                    int set, int o, saltus_mpd_scratch *s)
{
    const saltus_mpd_origin origin = m->origins[o];
    const saltus_poisson law = saltus_poisson_of(origin.mean < 10.0 ? 10.0 : origin.mean);
    uint32_t w[4];
    double k = 0.0;
    int good = 0;
    for (int64_t drawn = 0; !good; ++drawn) {
        saltus_mpd_words(m, SALTUS_PURPOSE_SOURCE, step, o, 0, drawn, w);
        good = origin.mean < saltus_poisson_inversion;
        if (good) {
            k = saltus_poisson_invert(origin.mean, saltus_unit53(w[0], w[1]));
        } else {
            good = saltus_poisson_attempt(&law, saltus_unit53(w[0], w[1]),
                                          saltus_unit53(w[2], w[3]), &k) != 0;
        }
    }
    for (int64_t i = 0; i < (int64_t)k; ++i) {
        saltus_mpd_words(m, SALTUS_PURPOSE_SOURCE, step, o, 1, i, w);
        const uint32_t site =
            origin.sites[(int64_t)(saltus_unit53(w[0], w[1]) * (double)origin.n_sites)];
        const int r = origin.reaction;
        const int first = r >= 0 ? n->change_row[r] : 0, end = r >= 0 ? n->change_row[r + 1] : 1;
        for (int c = first; c < end; ++c) {
            const int species = r >= 0 ? n->change_species[c] : origin.species;
            for (int64_t p = r >= 0 ? n->change_amount[c] : 1; p > 0; --p) {
                const int32_t created = saltus_mpd_create(m, species);
                if (created >= 0) {
                    saltus_mpd_insert(m, set, created, site);
                }
            }
        }
        s->fired += r >= 0;
    }
}

/** Write the particles of sites first … end - 1, site by site, as numbers from *made on, which
 * other threads raise as well; what is no more is left out. The lists' heads become the last of
 * each site (as saltus_mpd_link wants it). */
SALTUS_FN void saltus_mpd_gather(const saltus_mpd *m, int set, uint32_t first, uint32_t end,
                                 uint32_t *site, uint16_t *species, uint64_t *made)
{
    int32_t *const head = saltus_mpd_heads(m, set);
    uint64_t n = 0;
    for (uint32_t s = first; s < end; ++s) {
        for (int32_t i = head[s]; i >= 0; i = m->next[i]) {
            ++n;
        }
    }
    if (n == 0) {
        return;
    }
    n = SALTUS_TAKE_NUMBERS(made, n);
    for (uint32_t s = first; s < end; ++s) {
        int32_t i = head[s];
        if (i >= 0) {
            for (; i >= 0; i = m->next[i]) {
                site[n] = s;
                species[n++] = m->species[i];
            }
            head[s] = (int32_t)(n - 1);
        }
    }
}

/** Make the list of a gathered particle: those of a site stand one behind the other. */
SALTUS_FN void saltus_mpd_link(const saltus_mpd *m, int32_t i)
{
    m->next[i] = i > 0 && m->site[i - 1] == m->site[i] ? i - 1 : -1;
}

#endif
