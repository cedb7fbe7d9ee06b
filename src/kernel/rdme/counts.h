/**
 * The particles of a lattice as counts, for kernel/rdme/sites.h. Each site has a field of bits for
 * each species, in words of 32 bits. Any number of threads may add to a site at once without
 * waiting. All of this exists twice, as two sets: a phase takes particles out of one set and puts
 * them into the other.
 *
 * Where a site's fields take up to 8 bits four sites share a word, up to 16 bits two do; a larger
 * site has one word or more of its own. With 2 species and 4 bits (species A is number 0, B is
 * number 1):
 *
 *     bits   31-28 27-24 | 23-20 19-16 | 15-12 11-8 | 7-4  3-0
 *     word 0    B     A  |    B     A  |    B    A  |  B    A
 *             site 3     |  site 2     |  site 1    | site 0
 *     word 1  site 7     |  site 6     |  site 5    | site 4
 *
 * With 11 species and 4 bits a site has 2 words, species 0 to 7 in the first, 8 to 10 in the
 * second:
 *
 *     bits   31-28 27-24 23-20 19-16 15-12 11-8  7-4  3-0
 *     word 2 site        7     6     5     4     3    2    1    0     (species)
 *     word 2 site + 1    -     -     -     -     -   10    9    8
 *
 * Example: three particles of B come to site 5. The place of the site is its number; the word is 5
 * / 4 = 1, the shift is 5 % 4 * 8 + 1 * 4 = 12, and an atomic addition of 3 << 12 makes 0x3000 of
 * an empty word. A field of 4 bits holds up to 15. Where one would overflow (14 in the field, 2
 * more arrive), saltus_mpd_settle writes a number beyond `capacity` to `used`, and the batch is
 * done again with 8 bits, then 16, then 32.
 */
#ifndef SALTUS_KERNEL_RDME_COUNTS_H
#define SALTUS_KERNEL_RDME_COUNTS_H

#include "kernel/rdme/lattice.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

/* A kernel that is compiled for a model defines the bits of a field (4, 8, 16 or 32) and the number
 * of fields: one for each of the model's species, and one more if there are empty-site tokens. */
#ifndef SALTUS_MPD_BITS
#define SALTUS_MPD_BITS 4
#endif
#ifndef SALTUS_MPD_FIELDS
#define SALTUS_MPD_FIELDS 4
#endif

/** Fields of a word, words of a site, and sites that share a word. */
enum {
    SALTUS_MPD_PER_WORD = 32 / SALTUS_MPD_BITS,
    SALTUS_MPD_WORDS = SALTUS_MPD_WORDS_OF(SALTUS_MPD_FIELDS, SALTUS_MPD_BITS),
    SALTUS_MPD_SHARERS = SALTUS_MPD_SHARERS_OF(SALTUS_MPD_FIELDS, SALTUS_MPD_BITS),
    SALTUS_MPD_WIDE = 32 / SALTUS_MPD_SHARERS, /* bits of a site in a word */
    SALTUS_MPD_TILE = SALTUS_MPD_TILE_OF(SALTUS_MPD_WORDS)
};
/* FIELD: mask of a field, once it is shifted down. MOST: the largest count of a field. LAST_WORD:
 * mask of the fields that exist in a site's last word. */
#define SALTUS_MPD_FIELD (0xffffffffu >> (32 - SALTUS_MPD_BITS))
#define SALTUS_MPD_MOST (SALTUS_MPD_BITS < 32 ? SALTUS_MPD_FIELD : 1u << 30)
#define SALTUS_MPD_LAST_WORD \
    (0xffffffffu >> (SALTUS_MPD_WORDS * SALTUS_MPD_PER_WORD - SALTUS_MPD_FIELDS) * SALTUS_MPD_BITS)

/* The counts of one of the two sets. They are chosen without an index, so that m may stay in
 * registers. */
SALTUS_FN uint32_t *saltus_mpd_counts(const saltus_mpd *m, int set)
{
    return set ? m->counts[1] : m->counts[0];
}

/** Where the first word of a place stands; and by how many bits the place's fields are shifted
 * there. */
SALTUS_FN uint32_t *saltus_mpd_words_of(uint32_t *counts, uint32_t place)
{
    return &counts[(int64_t)(place / SALTUS_MPD_SHARERS) * SALTUS_MPD_WORDS];
}
SALTUS_FN uint32_t *saltus_mpd_words_at(const saltus_mpd *m, int set, uint32_t place)
{
    return saltus_mpd_words_of(saltus_mpd_counts(m, set), place);
}
SALTUS_FN int saltus_mpd_shift_of(uint32_t place)
{
    return (int)(place % SALTUS_MPD_SHARERS) * SALTUS_MPD_WIDE;
}

/** The memory of a site, and its place there. The place is the site's number, or, beyond the slab,
 * a place in a neighbour's halo (saltus_mpd_slab has an example). */
SALTUS_FN uint32_t *saltus_mpd_find(const saltus_mpd *m, int set, uint32_t site, uint32_t *place)
{
    *place = site;
#ifdef SALTUS_MPD_SLABS
    if (site < m->slab.first) {
        *place = site + m->slab.to_below;
        return set ? m->slab.going[1][0] : m->slab.going[0][0];
    }
    if (site >= m->slab.end) {
        *place = site + m->slab.to_above;
        return set ? m->slab.going[1][1] : m->slab.going[0][1];
    }
#endif
    return saltus_mpd_counts(m, set);
}

/** The answer of an atomic addition, which takes its time: the old word, and the field in it that
 * grew by n. */
typedef struct saltus_mpd_answer {
    uint32_t before, n;
    int shift;
} saltus_mpd_answer;

/** Put n particles of a species into a site of a set. */
SALTUS_FN saltus_mpd_answer saltus_mpd_put(const saltus_mpd *m, int set, uint32_t site, int species,
                                           uint32_t n)
{
    uint32_t place;
    uint32_t *const counts = saltus_mpd_find(m, set, site, &place);
    const int shift = saltus_mpd_shift_of(place) + species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS;
    uint32_t *const word = saltus_mpd_words_of(counts, place) + species / SALTUS_MPD_PER_WORD;
    const saltus_mpd_answer answer = {SALTUS_FETCH_ADD(word, n << shift), n, shift};
#ifdef SALTUS_MPD_MARKED
    (void)SALTUS_FETCH_OR((uint32_t *)(void *)(set ? m->marks[1] : m->marks[0]) + place / 32,
                          1u << place % 32);
#endif
    return answer;
}

/** Check the answer of saltus_mpd_put: if the field was too narrow, the batch is to be done again
 * with more bits. */
SALTUS_FN void saltus_mpd_settle(const saltus_mpd *m, saltus_mpd_answer answer)
{
    if (answer.n > SALTUS_MPD_MOST - (answer.before >> answer.shift & SALTUS_MPD_FIELD)) {
        SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
    }
}

/** Put a new particle into a site of a set. */
SALTUS_FN void saltus_mpd_add(const saltus_mpd *m, int set, int species,
                              const saltus_mpd_site_pos *to)
{
    saltus_mpd_settle(m, saltus_mpd_put(m, set, to->site, species, 1));
}

/* ------------------------------------------------------------------------------------------------
 * The words of a site
 */

/** Read the words of a site that shares none. */
SALTUS_FN void saltus_mpd_read(uint32_t v[SALTUS_MPD_WORDS], const uint32_t *words)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] = words[k];
    }
}

/* Mask of the highest bit of each field. */
#define SALTUS_MPD_TOPS (0xffffffffu / SALTUS_MPD_FIELD << (SALTUS_MPD_BITS - 1))

/** Add two words field by field. If a field overflows, the batch is to be done again with more
 * bits. */
SALTUS_FN uint32_t saltus_mpd_join(const saltus_mpd *m, uint32_t a, uint32_t b)
{
    const uint32_t sum = a + b, carries = (a & b) | ((a | b) & ~sum);
    if (carries & SALTUS_MPD_TOPS) {
        SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
    }
    return sum;
}

/** Number of particles of a species. */
SALTUS_FN uint32_t saltus_mpd_number(const uint32_t v[SALTUS_MPD_WORDS], int species)
{
    uint32_t word = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        word = species / SALTUS_MPD_PER_WORD == k ? v[k] : word;
    }
    return word >> species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS & SALTUS_MPD_FIELD;
}

/** Number of particles of a species, of words in memory. */
SALTUS_FN uint32_t saltus_mpd_number_in(const uint32_t *words, int species)
{
    return words[species / SALTUS_MPD_PER_WORD] >> species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS &
           SALTUS_MPD_FIELD;
}

/** Add to the number of particles of a species; modulo 2^32 if a field has 32 bits. */
SALTUS_FN void saltus_mpd_change(uint32_t v[SALTUS_MPD_WORDS], int species, uint32_t by)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] += species / SALTUS_MPD_PER_WORD == k
                    ? by << species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS
                    : 0;
    }
}

/** Number of particles of all species. */
SALTUS_FN uint32_t saltus_mpd_sum(const uint32_t v[SALTUS_MPD_WORDS])
{
    uint32_t n = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        SALTUS_UNROLL
        for (int f = 0; f < SALTUS_MPD_PER_WORD; ++f) {
            n += k * SALTUS_MPD_PER_WORD + f < SALTUS_MPD_FIELDS
                     ? v[k] >> f * SALTUS_MPD_BITS & SALTUS_MPD_FIELD
                     : 0;
        }
    }
    return n;
}

/** Whether the site holds any particle. */
SALTUS_FN int saltus_mpd_is_occupied(const uint32_t v[SALTUS_MPD_WORDS])
{
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        any |= v[k];
    }
    return any != 0;
}

/** The first species of which the site holds particles; -1: it is empty. */
SALTUS_FN int saltus_mpd_first(const uint32_t v[SALTUS_MPD_WORDS])
{
    int species = -1;
    SALTUS_UNROLL
    for (int k = SALTUS_MPD_WORDS - 1; k >= 0; --k) {
        species = v[k] ? k * SALTUS_MPD_PER_WORD + SALTUS_LOWEST(v[k]) / SALTUS_MPD_BITS : species;
    }
    return species;
}

#endif
