/**
 * The particles of a lattice as counts, for kernel/rdme/sites.h: of every site a field for each
 * species, in words of 32 bits. Any number of threads may add to a site at once, and nothing is
 * ever waited for. All of it stands twice: a phase takes particles out of one set and puts them
 * into the other.
 */
#ifndef SALTUS_KERNEL_RDME_COUNTS_H
#define SALTUS_KERNEL_RDME_COUNTS_H

#include "kernel/rdme/lattice.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

/* Who compiles it for a model says how many bits a field has (4, 8, 16 or 32), and how many fields
 * there are: one for each of the model's species, and one more if there is anybody who watches. */
#ifndef SALTUS_MPD_BITS
#define SALTUS_MPD_BITS 4
#endif
#ifndef SALTUS_MPD_FIELDS
#define SALTUS_MPD_FIELDS 4
#endif

/** What a word and a site are made of: a site has words, or, where its fields are few and small,
 * half or a quarter of one. */
enum {
    SALTUS_MPD_PER_WORD = 32 / SALTUS_MPD_BITS,
    SALTUS_MPD_WORDS = SALTUS_MPD_WORDS_OF(SALTUS_MPD_FIELDS, SALTUS_MPD_BITS),
    SALTUS_MPD_SHARERS = SALTUS_MPD_SHARERS_OF(SALTUS_MPD_FIELDS, SALTUS_MPD_BITS),
    SALTUS_MPD_WIDE = 32 / SALTUS_MPD_SHARERS /* bits of a site in a word */
};
/* A field of a word, once shifted; what it may hold; and the fields of a last word that there are.
 */
#define SALTUS_MPD_FIELD (0xffffffffu >> (32 - SALTUS_MPD_BITS))
#define SALTUS_MPD_MOST (SALTUS_MPD_BITS < 32 ? SALTUS_MPD_FIELD : 1u << 30)
#define SALTUS_MPD_LAST_WORD \
    (0xffffffffu >> (SALTUS_MPD_WORDS * SALTUS_MPD_PER_WORD - SALTUS_MPD_FIELDS) * SALTUS_MPD_BITS)

/* Of one of the two sets; no index: m may be in registers. */
SALTUS_FN uint32_t *saltus_mpd_counts(const saltus_mpd *m, int set)
{
    return set ? m->counts[1] : m->counts[0];
}

/** Where the first of a place's words stands, and by how many bits its fields are shifted there. */
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

/** Where a site stands, which is its number, or, beyond a slab, in a neighbour's margin; and in
 * which memory. */
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

/** An answer that takes its time: what a word was, and where in it the field is that grew by n. */
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
    return answer;
}

/** All is to be done again with more bits if they found no room. */
SALTUS_FN void saltus_mpd_settle(const saltus_mpd *m, saltus_mpd_answer answer)
{
    if (answer.n > SALTUS_MPD_MOST - (answer.before >> answer.shift & SALTUS_MPD_FIELD)) {
        SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
    }
}

/** A new particle comes to a site of a set. */
SALTUS_FN void saltus_mpd_add(const saltus_mpd *m, int set, int species,
                              const saltus_mpd_site_pos *to)
{
    saltus_mpd_settle(m, saltus_mpd_put(m, set, to->site, species, 1));
}

/* ------------------------------------------------------------------------------------------------
 * The words of a site
 */

/** Read them where they stand alone. */
SALTUS_FN void saltus_mpd_read(uint32_t v[SALTUS_MPD_WORDS], const uint32_t *words)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] = words[k];
    }
}

/* The highest bits of a word's fields. */
#define SALTUS_MPD_TOPS (0xffffffffu / SALTUS_MPD_FIELD << (SALTUS_MPD_BITS - 1))

/** Add others to a word, field by field; all is to be done again if one overflows. */
SALTUS_FN uint32_t saltus_mpd_join(const saltus_mpd *m, uint32_t a, uint32_t b)
{
    const uint32_t sum = a + b, carries = (a & b) | ((a | b) & ~sum);
    if (carries & SALTUS_MPD_TOPS) {
        SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
    }
    return sum;
}

/** How many particles of a species there are. */
SALTUS_FN uint32_t saltus_mpd_number(const uint32_t v[SALTUS_MPD_WORDS], int species)
{
    uint32_t word = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        word = species / SALTUS_MPD_PER_WORD == k ? v[k] : word;
    }
    return word >> species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS & SALTUS_MPD_FIELD;
}

/** The same of words in memory. */
SALTUS_FN uint32_t saltus_mpd_number_in(const uint32_t *words, int species)
{
    return words[species / SALTUS_MPD_PER_WORD] >> species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS &
           SALTUS_MPD_FIELD;
}

/** Add to that, modulo 2^32 if it has all bits. */
SALTUS_FN void saltus_mpd_change(uint32_t v[SALTUS_MPD_WORDS], int species, uint32_t by)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] += species / SALTUS_MPD_PER_WORD == k
                    ? by << species % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS
                    : 0;
    }
}

/** How many there are of all species. */
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

/** Whether there is anybody. */
SALTUS_FN int saltus_mpd_is_occupied(const uint32_t v[SALTUS_MPD_WORDS])
{
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        any |= v[k];
    }
    return any != 0;
}

/** The first species of which there are any; below 0: there are none. */
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
