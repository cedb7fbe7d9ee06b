/**
 * The particles of a lattice as lists, for kernel/rdme/mpd.h.
 *
 * Most sites are empty and most others hold one particle, so these cases cost least. Each site has
 * two bits: `held`, at least one particle is there, and `crowded`, more than one is. The particle
 * that arrives first is the site head. It has a mark in `next` itself, and its bit is all that it
 * leaves in the site. Particles that arrive later form the site's list: each exchanges the list's
 * head for its own number. So any number of threads may add to a site at once, a site holds any
 * number of particles, and a loop over all particles visits the head of each site once.
 *
 * A word of bits covers a brick of 4 x 4 x 2 sites, because particles stay close when they move.
 * Site (x, y, z) has bit x & 3 | (y & 3) << 2 | (z & 1) << 4:
 *
 *     z & 1 = 0:  y & 3 = 0   bits  0  1  2  3        z & 1 = 1:  y & 3 = 0   bits 16 17 18 19
 *                         1         4  5  6  7                            1        20 21 22 23
 *                         2         8  9 10 11                            2        24 25 26 27
 *                         3        12 13 14 15                            3        28 29 30 31
 *                            x & 3  0  1  2  3
 *
 * Example: a lattice of 8 x 8 x 2 sites has 2 x 2 x 1 bricks. Site (5, 2, 1) has number (1 * 8 + 2)
 * * 8 + 5 = 85; it is bit 1 + 8 + 16 = 25 of brick 1. Particles 7, 4 and 9 of set 0 arrive there in
 * this order:
 *
 *     particle   what it does                                       next[particle]
 *     7          sets held[0][1] bit 25, which was 0: site head     SALTUS_MPD_SITE_HEAD(0) = -2
 *     4          finds the bit set; head[0][1 * 32 + 25] -1 -> 4,   SALTUS_MPD_END = -1
 *                sets crowded[0][1] bit 25
 *     9          finds the bit set; head[0][1 * 32 + 25]  4 -> 9    4
 *
 * All of this exists twice, as two sets: a phase of kernel/rdme/mpd.h takes particles out of one
 * set and puts them into the other.
 *
 * Where a slab of the lattice is held as lists (SALTUS_MPD_SLABS), a particle that leaves it is
 * removed and noted as a departure, whose place is its site's number in the neighbour's plane. When
 * the phase has ended, departures are exchanged, and the neighbour puts them into its sites.
 *
 * Example: planes of 100 sites, and a slab of 5, whose own sites are 100 to 599. A particle that
 * moves up from site 530 to 630 is a departure above, at place 630 - 600 = 30: the slab above puts
 * it into its site 130. One that moves down from 130 to 30 is a departure below, at place 30: the
 * slab below, if it has 7 planes, puts it into 700 + 30, in its last plane.
 */
#ifndef SALTUS_KERNEL_RDME_PARTICLES_H
#define SALTUS_KERNEL_RDME_PARTICLES_H

#include "kernel/rdme/lattice.h"

/* FEW: up to so many species a list is sorted with one list for each. SHORT: so many particles are
 * sorted by insertion. */
enum { SALTUS_MPD_FEW = 32, SALTUS_MPD_SHORT = 5 };

/** Values of `next` that are no particle: the end of a list, and the mark of the site heads of a
 * set. */
enum { SALTUS_MPD_END = -1 };
#define SALTUS_MPD_SITE_HEAD(set) (-2 - (set))

/** A particle that leaves a slab. */
typedef struct saltus_mpd_departure {
    uint32_t place; /**< in the neighbour's plane, from 0 on */
    uint16_t species, unused;
} saltus_mpd_departure;

/** Those that leave a slab on one side in a phase. */
typedef struct saltus_mpd_departures {
    saltus_mpd_departure *what; /**< [capacity] */
    int32_t *number;            /**< [capacity] their numbers, which are free */
    int64_t n; /**< beyond `capacity` some are lost, and the batch is done again with more */
    int64_t capacity;
} saltus_mpd_departures;

/* Members of one of the two sets. They are chosen without an index, so that m may stay in
 * registers. */
SALTUS_FN uint32_t *saltus_mpd_held(const saltus_mpd *m, int set)
{
    return set ? m->held[1] : m->held[0];
}
SALTUS_FN uint32_t *saltus_mpd_crowded(const saltus_mpd *m, int set)
{
    return set ? m->crowded[1] : m->crowded[0];
}
SALTUS_FN int32_t *saltus_mpd_heads(const saltus_mpd *m, int set)
{
    return set ? m->head[1] : m->head[0];
}

/* Set bits of a word; returns its old value. */
SALTUS_FN uint32_t saltus_mpd_mark(const saltus_mpd *m, uint32_t *word, uint32_t bits)
{
    const uint32_t old = SALTUS_MPD_IS_SHARED(m) ? SALTUS_FETCH_OR(word, bits) : *word;
    if (!SALTUS_MPD_IS_SHARED(m)) {
        *word = old | bits;
    }
    return old;
}

/* The head of the list of a site's particles, its site head excepted. */
SALTUS_FN int32_t *saltus_mpd_head(const saltus_mpd *m, int set, const saltus_mpd_site_pos *p)
{
    return &saltus_mpd_heads(m, set)[(int64_t)p->brick * 32 + p->bit];
}

/** A particle arrives at a site of a set; returns whether it is the first. */
SALTUS_FN int saltus_mpd_arrive(const saltus_mpd *m, int set, const saltus_mpd_site_pos *to)
{
    uint32_t *const held = &saltus_mpd_held(m, set)[to->brick];
    return !(saltus_mpd_mark(m, held, (uint32_t)1 << to->bit) >> to->bit & 1);
}

/** Completes saltus_mpd_arrive: the particle becomes the site head, or goes into the list. */
SALTUS_FN void saltus_mpd_settle(const saltus_mpd *m, int set, int32_t i,
                                 const saltus_mpd_site_pos *to, int is_first)
{
    SALTUS_POKE(&m->site[i], to->site);
    if (is_first) {
        SALTUS_POKE(&m->next[i], SALTUS_MPD_SITE_HEAD(set));
    } else {
        int32_t *const head = saltus_mpd_head(m, set, to);
        const int32_t before = SALTUS_MPD_IS_SHARED(m) ? SALTUS_EXCHANGE(head, i) : *head;
        if (!SALTUS_MPD_IS_SHARED(m)) {
            *head = i;
        }
        SALTUS_POKE(&m->next[i], before);
        if (before < 0) {
            (void)saltus_mpd_mark(m, &saltus_mpd_crowded(m, set)[to->brick],
                                  (uint32_t)1 << to->bit);
        }
    }
}

/** Put a particle into a site of a set. */
SALTUS_FN void saltus_mpd_insert(const saltus_mpd *m, int set, int32_t i,
                                 const saltus_mpd_site_pos *to)
{
    saltus_mpd_settle(m, set, i, to, saltus_mpd_arrive(m, set, to));
}

/** Remove a particle that is in no site any more. */
SALTUS_FN void saltus_mpd_remove(const saltus_mpd *m, int32_t i)
{
    SALTUS_POKE(&m->site[i], SALTUS_NOWHERE);
    SALTUS_POKE(&m->next[i], SALTUS_MPD_END);
}

/** Whether a particle that goes to a site is here no more: lost, or in a neighbour's plane. */
SALTUS_FN int saltus_mpd_is_gone(const saltus_mpd *m, uint32_t site)
{
#ifdef SALTUS_MPD_SLABS
    return site - m->slab.first >= m->slab.end - m->slab.first;
#else
    (void)m;
    return site == SALTUS_NOWHERE;
#endif
}

/** Remove a particle that is gone. If it is in a neighbour's plane, it is a departure. */
SALTUS_FN void saltus_mpd_leave(const saltus_mpd *m, int32_t i, uint32_t site)
{
#ifdef SALTUS_MPD_SLABS
    if (site != SALTUS_NOWHERE) {
        const int is_above = site >= m->slab.end;
        saltus_mpd_departures *const d = &m->slab.departures[is_above];
        const int64_t k = (int64_t)SALTUS_NEXT_NUMBER(&d->n);
        if (k < d->capacity) {
            d->what[k].place = is_above ? site - m->slab.end : site;
            d->what[k].species = m->species[i];
            d->number[k] = i;
        }
    }
#else
    (void)site;
#endif
    saltus_mpd_remove(m, i);
}

/** Take a site head out of its site. The whole word is cleared, because all sites of the brick are
 * emptied in the same phase. */
SALTUS_FN void saltus_mpd_depart(const saltus_mpd *m, int set, const saltus_mpd_site_pos *from)
{
    SALTUS_POKE(&saltus_mpd_held(m, set)[from->brick], 0u);
}

/** Take all particles out of a site. */
SALTUS_FN void saltus_mpd_clear(const saltus_mpd *m, int set, const saltus_mpd_site_pos *from)
{
    const uint32_t bit = (uint32_t)1 << from->bit;
    uint32_t *const crowded = &saltus_mpd_crowded(m, set)[from->brick];
    int32_t *const head = saltus_mpd_head(m, set, from);
    saltus_mpd_depart(m, set, from);
    if (*head >= 0) {
        *head = SALTUS_MPD_END;
        if (SALTUS_MPD_IS_SHARED(m)) {
            (void)SALTUS_FETCH_AND(crowded, ~bit);
        } else {
            *crowded &= ~bit;
        }
    }
}

/** Take all particles out of a site and make one list of them, with the site head first. */
SALTUS_FN void saltus_mpd_take(const saltus_mpd *m, int set, const saltus_mpd_site_pos *from,
                               int32_t site_head)
{
    SALTUS_POKE(&m->next[site_head], *saltus_mpd_head(m, set, from));
    saltus_mpd_clear(m, set, from);
}

/** The number of a new particle, which is in no site yet; -1: the capacity is used up. */
SALTUS_FN int32_t saltus_mpd_create(const saltus_mpd *m, int species)
{
    const int64_t i = (int64_t)SALTUS_NEXT_NUMBER(m->used);
    if (i >= m->capacity) {
        return -1;
    }
    SALTUS_POKE(&m->species[i], (uint16_t)species);
    return (int32_t)i;
}

/** Put a new particle into a site of a set, or of a neighbour's plane, if there is capacity. */
SALTUS_FN void saltus_mpd_add(const saltus_mpd *m, int set, int species,
                              const saltus_mpd_site_pos *to)
{
    const int32_t created = saltus_mpd_create(m, species);
    if (created >= 0 && saltus_mpd_is_gone(m, to->site)) {
        saltus_mpd_leave(m, created, to->site);
    } else if (created >= 0) {
        saltus_mpd_insert(m, set, created, to);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Order of species
 */

/* Merge two sorted lists. Equal elements keep no order, because nothing depends on it. */
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
            SALTUS_POKE(&m->next[last], least);
        }
        last = least;
    }
    SALTUS_POKE(&m->next[last], a >= 0 ? a : b);
    return first;
}

/* A long list sorted by species (merge sort). */
SALTUS_OUTLINE int32_t saltus_mpd_sort_long(const saltus_mpd *m, int32_t first)
{
    int32_t sorted[32]; /* sorted[k] has 2^k particles, or none */
    int n = 0;
    while (first >= 0) {
        int32_t list = first;
        int k = 0;
        first = m->next[first];
        SALTUS_POKE(&m->next[list], -1);
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

/* A list sorted by species, for up to SALTUS_MPD_FEW species (one list for each). */
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
        SALTUS_POKE(&m->next[i], head[x]);
        head[x] = i;
    }
    for (int x = SALTUS_MPD_N_SPECIES(m) - 1; x >= 0; --x) {
        if (head[x] >= 0) {
            SALTUS_POKE(&m->next[last[x]], first);
            first = head[x];
        }
    }
    return first;
}

/* A list sorted by species. */
SALTUS_FN int32_t saltus_mpd_sort(const saltus_mpd *m, int32_t first)
{
    int32_t rest = m->next[first];
    SALTUS_POKE(&m->next[first], -1);
    for (int n = 1; rest >= 0 && n < SALTUS_MPD_SHORT; ++n) {
        const int32_t i = rest;
        const int species = m->species[i];
        rest = m->next[i];
        if (species <= m->species[first]) {
            SALTUS_POKE(&m->next[i], first);
            first = i;
        } else {
            int32_t before = first;
            while (m->next[before] >= 0 && m->species[m->next[before]] < species) {
                before = m->next[before];
            }
            SALTUS_POKE(&m->next[i], m->next[before]);
            SALTUS_POKE(&m->next[before], i);
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
 * Order of sites. Now and then particles are gathered: written anew so that particles of
 * neighbouring sites are neighbours in memory. In a brick the site heads come first, then the
 * others, site by site. Removed particles are left out.
 */

/* Number of particles in a brick. */
SALTUS_FN uint64_t saltus_mpd_number_in(const saltus_mpd *m, int set, uint32_t brick)
{
    uint64_t n = (uint64_t)SALTUS_POPCOUNT(saltus_mpd_held(m, set)[brick]);
    for (uint32_t bits = saltus_mpd_crowded(m, set)[brick]; bits; bits &= bits - 1) {
        const int32_t *head = &saltus_mpd_heads(m, set)[(int64_t)brick * 32];
        for (int32_t i = head[SALTUS_LOWEST(bits)]; i >= 0; i = m->next[i]) {
            ++n;
        }
    }
    return n;
}

/** First pass. Number the particles of bricks first to end - 1 from *made on, which other threads
 * raise as well, and write those that are not site heads. */
SALTUS_FN void saltus_mpd_gather(const saltus_mpd *m, int set, uint32_t first, uint32_t end,
                                 uint32_t *site, uint16_t *species, uint64_t *made)
{
    uint64_t n = 0;
    for (uint32_t brick = first; brick < end; ++brick) {
        n += saltus_mpd_number_in(m, set, brick);
    }
    if (n == 0) {
        return;
    }
    n = SALTUS_NEXT_NUMBERS(made, n);
    for (uint32_t brick = first; brick < end; ++brick) {
        int32_t *const head = &saltus_mpd_heads(m, set)[(int64_t)brick * 32];
        m->gathered[brick] = (uint32_t)n;
        n += (uint64_t)SALTUS_POPCOUNT(saltus_mpd_held(m, set)[brick]);
        for (uint32_t bits = saltus_mpd_crowded(m, set)[brick]; bits; bits &= bits - 1) {
            const int bit = SALTUS_LOWEST(bits);
            for (int32_t i = head[bit]; i >= 0; i = m->next[i]) {
                site[n] = m->site[i];
                species[n++] = m->species[i];
            }
            head[bit] = (int32_t)(n - 1);
        }
    }
}

/** Second pass, when the first has ended for all bricks: write particle i if it is a site head. */
SALTUS_FN void saltus_mpd_gather_site_head(const saltus_mpd *m, int set, int32_t i, uint32_t *site,
                                           uint16_t *species)
{
    if (m->next[i] == SALTUS_MPD_SITE_HEAD(set)) {
        const saltus_mpd_site_pos p = saltus_mpd_site_pos_of(m, m->site[i]);
        const uint32_t before = saltus_mpd_held(m, set)[p.brick] & (((uint32_t)1 << p.bit) - 1);
        const uint32_t n = m->gathered[p.brick] + (uint32_t)SALTUS_POPCOUNT(before);
        site[n] = p.site;
        species[n] = m->species[i];
    }
}

/** Third pass, when the second has ended: set `next` of particle i of n gathered ones, or free the
 * number i beyond them. */
SALTUS_FN void saltus_mpd_link(const saltus_mpd *m, int set, int32_t i, int64_t n)
{
    int32_t next = SALTUS_MPD_END;
    if (i < n) {
        const saltus_mpd_site_pos p = saltus_mpd_site_pos_of(m, m->site[i]);
        const uint32_t at = (uint32_t)i - m->gathered[p.brick],
                       n_site_heads = (uint32_t)SALTUS_POPCOUNT(saltus_mpd_held(m, set)[p.brick]);
        next = at < n_site_heads                                   ? SALTUS_MPD_SITE_HEAD(set)
               : at > n_site_heads && m->site[i - 1] == m->site[i] ? i - 1
                                                                   : SALTUS_MPD_END;
    }
    m->next[i] = next;
}

#endif
