/**
 * Reactions in a site of a lattice, for kernel/rdme/mpd.h: exact simulation by the direct method. A
 * site is given as counts, or as a few particles that are held in registers, with the same bits.
 */
#ifndef SALTUS_KERNEL_RDME_REACT_H
#define SALTUS_KERNEL_RDME_REACT_H

#include "kernel/rdme/lattice.h"
#include "kernel/base/math.h"
#include "kernel/base/program.h"
#include "kernel/base/tables.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

/** Value of `no_reaction`: nothing ever reacts. */
#define SALTUS_NEVER_REACTS 0xffffffffu

/** MOST_FEW: particles of a site that are held in registers. NO_SPECIES: more than every species.
 */
enum { SALTUS_MPD_MOST_FEW = 4, SALTUS_MPD_NO_SPECIES = 1 << 16 };

/** Memory of a thread. */
typedef struct saltus_mpd_scratch {
    double *v;          /**< rows as in kernel/base/tables.h; v[species] is 0 between sites */
    double *a;          /**< [reaction] propensities */
    int64_t fired;      /**< reactions that have fired */
    const double *rows; /**< [n_rows] initial values of v; NULL once v has them */
    int32_t n_rows;
} saltus_mpd_scratch;

/* Fill v with its initial values, once. */
SALTUS_FN void saltus_mpd_start_rows(saltus_mpd_scratch *s)
{
    for (int i = 0; s->rows && i < s->n_rows; ++i) {
        s->v[i] = s->rows[i];
    }
    s->rows = (const double *)0;
}

/* Derive the keys of a trajectory. */
SALTUS_FN void saltus_mpd_start(saltus_mpd *m, uint64_t seed, uint64_t trajectory)
{
    uint32_t keys[SALTUS_PHILOX_KEYS], w[4];
    saltus_philox_keys(seed, keys);
    saltus_philox_keyed(keys, SALTUS_PURPOSE_SPACE, trajectory, 0, w);
    saltus_philox_keys((uint64_t)w[1] << 32 | w[0], m->keys);
}

/** Four random words for number `rank` of a species (below 2^16) in a site (below 2^40), in a step
 * (below 2^40). These make the two numbers of a Philox counter, of 64 and of 56 bits:
 *
 *     bits   63 ... 56        55 ... 40    39 ... 0
 *     first  rank 23 ... 16   species      site
 *
 *     bits   55 ... 16    15 ... 0
 *     second step         rank 15 ... 0
 *
 * Bits 31 ... 24 of the rank are in bits 55 ... 48 of the second number, by an exclusive or with
 * the highest bits of the step. So no two ranks in one step have the same words, nor have two steps
 * below 2^32.
 *
 * Example: particle 2 of species 5 in site 85, step 7: first is 5 << 40 | 85 = 0x0000050000000055,
 * second is 7 << 16 | 2 = 0x0000000000070002. With purpose SALTUS_PURPOSE_MOVE, w[0], w[1] and w[2]
 * move the particle along x, y and z (kernel/rdme/move.h); w[3] of the first particle of the first
 * species is what the site's first wait is made of. */
SALTUS_FN void saltus_mpd_words(const saltus_mpd *m, uint32_t purpose, int64_t step, int64_t site,
                                int species, int64_t rank, uint32_t w[4])
{
    saltus_philox_keyed(
        m->keys, purpose, (uint64_t)site | (uint64_t)species << 40 | (uint64_t)(rank >> 16) << 56,
        ((uint64_t)step << 16 | (uint64_t)(rank & 0xffff)) ^ (uint64_t)(rank >> 24) << 48, w);
}

SALTUS_FN int saltus_mpd_type(const saltus_mpd *m, uint32_t site)
{
    return SALTUS_MPD_N_TYPES(m) > 1 ? m->types[site] : 0;
}

/** [species + 2] where the reactions of a first reactant begin in `active`, in sites of a type. */
SALTUS_FN const int32_t *saltus_mpd_segments(const saltus_mpd *m, int type)
{
    return SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
}

/* Whether any reaction with reactants can fire in sites of a type. */
SALTUS_FN int saltus_mpd_is_reactive(const saltus_mpd *m, int type)
{
    const int32_t *segment = saltus_mpd_segments(m, type);
    return segment[0] < segment[SALTUS_MPD_N_SPECIES(m) + 1];
}

/* ------------------------------------------------------------------------------------------------
 * Propensities
 */

/* The propensity in a site of a type of reaction r, whose law is a product of the counts in v. */
SALTUS_FN double saltus_mpd_product(const saltus_mpd *m, const saltus_tables *n, int type, int r,
                                    const double *v)
{
    double a = SALTUS_MPD_OF(m, rate)[(int64_t)type * SALTUS_MPD_N_REACTIONS(n) + r];
    for (int f = SALTUS_MPD_OF(n, factor_row)[r]; f < SALTUS_MPD_OF(n, factor_row)[r + 1]; ++f) {
        a *= v[SALTUS_MPD_OF(n, factor_species)[f]] - SALTUS_MPD_OF(n, factor_offset)[f];
    }
    return a;
}

/* The propensity of reaction r, whatever its law. */
SALTUS_FN double saltus_mpd_propensity(const saltus_mpd *m, const saltus_tables *n, int type, int r,
                                       double *v)
{
    if (SALTUS_MPD_HAS_LAWS(n) && SALTUS_MPD_OF(n, law_program)[r] >= 0) {
        const saltus_program law = n->laws[SALTUS_MPD_OF(n, law_program)[r]];
        saltus_program_run(n->code, law, v);
        return v[law.result];
    }
    return saltus_mpd_product(m, n, type, r, v);
}

/* Compute the rows of v that belong to rules. */
SALTUS_FN void saltus_mpd_rules(const saltus_tables *n, double *v)
{
    for (int r = 0; r < SALTUS_MPD_N_RULES(n); ++r) {
        saltus_program_run(n->code, n->rules[r], v);
        v[n->row_rules + r] = v[n->rules[r].result];
    }
}

/** The sum of the propensities in a site of a type, in the order of `active`; a[reaction] is set to
 * each. *bad becomes the first reaction whose propensity is negative or not a number, or with which
 * the sum is not finite. */
SALTUS_FN double saltus_mpd_total(const saltus_mpd *m, const saltus_tables *n, int type, double *v,
                                  double *a, int *bad)
{
    const int32_t *segment = saltus_mpd_segments(m, type);
    double total = 0.0;
    saltus_mpd_rules(n, v);
    for (int i = segment[0]; i < segment[1]; ++i) {
        const int r = SALTUS_MPD_OF(m, active)[i];
        a[r] = saltus_mpd_propensity(m, n, type, r, v);
        total += a[r];
        *bad = *bad >= 0 || (a[r] >= 0.0 && total < SALTUS_INFINITY) ? *bad : r;
    }
    for (int x = 0; x < SALTUS_MPD_N_SPECIES(m); ++x) { /* x is their first reactant */
        for (int i = segment[x + 1]; i < segment[x + 2]; ++i) {
            const int r = SALTUS_MPD_OF(m, active)[i];
            a[r] = v[x] > 0.0 ? saltus_mpd_product(m, n, type, r, v) : 0.0;
            total += a[r];
            *bad = *bad >= 0 || (a[r] >= 0.0 && total < SALTUS_INFINITY) ? *bad : r;
        }
    }
    return total;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions of counts
 */

/** Whether the wait that a word makes is longer than `waits` mean waits: a wait from u in (0, 1) is
 * at least 1 - u mean waits. */
SALTUS_FN int saltus_mpd_no_reaction(uint32_t word, double waits)
{
    return !(waits > 0.0) || (double)(int64_t)(0xffffffffu - word) * SALTUS_TWO_M32 >= waits;
}

/** Whether a word is below `no_reaction`, an entry of such a table, so that no reaction fires. */
SALTUS_FN int saltus_mpd_is_below(uint32_t word, uint32_t no_reaction)
{
    return word < no_reaction || no_reaction == SALTUS_NEVER_REACTS;
}

/* The wait of a site for its next reaction, number n_fired of a step. w[0] is the word of this
 * wait, and becomes that of the next. *left, in s, is what is left of the step. *goal, below the
 * total of the propensities, chooses the reaction. Returns 0 if the wait is longer than what is
 * left. */
SALTUS_FN int saltus_mpd_wait(const saltus_mpd *m, int64_t step, uint32_t site, int32_t n_fired,
                              double total, uint32_t w[4], double *left, double *goal)
{
    const uint32_t of_wait = w[0];
    if (saltus_mpd_no_reaction(of_wait, *left * total)) {
        return 0;
    }
    saltus_mpd_words(m, SALTUS_PURPOSE_SITE, step, saltus_mpd_global_of(m, site), 0, n_fired, w);
    const double wait = of_wait != 0 ? saltus_exponential32(of_wait)
                                     : 22.180709777918249 + /* 32 ln 2 */
                                           saltus_exponential32(w[1] | (w[1] == 0));
    if (!(wait < *left * total)) {
        return 0;
    }
    *left -= wait / total;
    *goal = (double)(int64_t)(((uint64_t)w[2] << 32 | w[3]) >> 11) * 0x1p-53 * total;
    return 1;
}

/* The reaction at which the running sum of propensities exceeds `goal`. */
SALTUS_FN int saltus_mpd_choose(const saltus_mpd *m, int type, const double *a, double goal)
{
    const int32_t *segment = saltus_mpd_segments(m, type);
    double sum = 0.0;
    int r = -1;
    for (int i = segment[0]; i < segment[SALTUS_MPD_N_SPECIES(m) + 1] && !(r >= 0 && sum > goal);
         ++i) {
        const int candidate = SALTUS_MPD_OF(m, active)[i];
        sum += a[candidate];
        r = a[candidate] > 0.0 ? candidate : r;
    }
    return r;
}

/* Note a failure: a reaction (below 2^22) that cannot be simulated, in a site and in one of 1024
 * steps from first_step on. The least number is kept, which is the first of the earliest step:
 *
 *     bits 63 ... 54             53 ... 22    21 ... 0
 *          step - first_step     site         reaction
 *
 * Example: reaction 2 in site 85, 3 steps after first_step: 3 << 54 | 85 << 22 | 2 =
 * 0x00C0000015400002. */
SALTUS_FN void saltus_mpd_note(const saltus_mpd *m, int64_t step, uint32_t site, int reaction)
{
    SALTUS_LEAST(m->failure, (uint64_t)(step - m->first_step) << 54 | (uint64_t)site << 22 |
                                 (uint64_t)reaction);
}

/**
 * Let the counts v[species] of a site react for a step, whose middle is the time of laws.
 *
 * @param word  the word of the first wait
 * @return the number of reactions that fired; s->a is of no use afterwards. A propensity that is
 * negative, infinite or not a number, and a reaction that takes a particle that is not there, are
 * noted as failures.
 */
SALTUS_FN int32_t saltus_mpd_react(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                   uint32_t site, uint32_t word, saltus_mpd_scratch *s)
{
    const int type = saltus_mpd_type(m, site);
    double left = m->step, goal = 0.0, *v = s->v;
    int32_t n_fired = 0;
    uint32_t w[4] = {word, 0, 0, 0};
    if (SALTUS_MPD_HAS_LAWS(n)) { /* of what began step - 2 steps after time 0 */
        v[n->row_time] = ((double)step - 1.5) * m->step;
        for (int i = 0; i < SALTUS_MPD_N_RATES(n); ++i) {
            v[n->rate_rows[i]] = m->inputs[(step - 2) * SALTUS_MPD_N_RATES(n) + i];
        }
    }
    for (;;) {
        int bad = -1;
        const double total = saltus_mpd_total(m, n, type, v, s->a, &bad);
        if (bad >= 0) {
            saltus_mpd_note(m, step, site, bad);
            return n_fired;
        }
        if (!saltus_mpd_wait(m, step, site, n_fired, total, w, &left, &goal)) {
            return n_fired;
        }
        const int r = saltus_mpd_choose(m, type, s->a, goal);
        for (int c = SALTUS_MPD_OF(n, change_row)[r]; c < SALTUS_MPD_OF(n, change_row)[r + 1];
             ++c) {
            v[SALTUS_MPD_OF(n, change_species)[c]] += (double)SALTUS_MPD_OF(n, change_amount)[c];
            if (v[SALTUS_MPD_OF(n, change_species)[c]] < 0.0) {
                saltus_mpd_note(m, step, site, r);
                return n_fired;
            }
        }
        ++n_fired;
        if (SALTUS_MPD_IS_ONLY_ONE(m)) {
            return n_fired;
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Reactions of a few particles of known species
 */

/* Sort a few particles by species. */
SALTUS_FN void saltus_mpd_order(int32_t i[SALTUS_MPD_MOST_FEW], int species[SALTUS_MPD_MOST_FEW])
{
    SALTUS_UNROLL
    for (int last = SALTUS_MPD_MOST_FEW - 1; last > 0; --last) {
        SALTUS_UNROLL
        for (int k = 0; k < last; ++k) {
            const int swaps = species[k] > species[k + 1], x = species[k];
            const int32_t j = i[k];
            i[k] = swaps ? i[k + 1] : j;
            species[k] = swaps ? species[k + 1] : x;
            i[k + 1] = swaps ? j : i[k + 1];
            species[k + 1] = swaps ? x : species[k + 1];
        }
    }
}

/* How many of a few particles are of a species. */
SALTUS_FN double saltus_mpd_number_of(const int species[SALTUS_MPD_MOST_FEW], int which)
{
    int n = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        n += species[k] == which;
    }
    return (double)n;
}

/* Whether a word surely lets no reaction fire among a few particles. */
SALTUS_FN int saltus_mpd_no_reaction_few(const saltus_mpd *m, int type,
                                         const int species[SALTUS_MPD_MOST_FEW], uint32_t word)
{
    const int64_t n_species = SALTUS_MPD_N_SPECIES(m);
    int n = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        n += species[k] != SALTUS_MPD_NO_SPECIES;
    }
    uint32_t no_reaction = SALTUS_MPD_OF(m, no_reaction_many)[(int64_t)type * SALTUS_MPD_MANY + n];
    if (n == 2 && SALTUS_MPD_OF(m, no_reaction_two)) {
        no_reaction = SALTUS_MPD_OF(
            m, no_reaction_two)[((int64_t)type * n_species + species[0]) * n_species + species[1]];
    }
    return saltus_mpd_is_below(word, no_reaction);
}

/* The propensity of reaction r, whose law is a product, among a few particles. */
SALTUS_FN double saltus_mpd_few_product(const saltus_mpd *m, const saltus_tables *n, int type,
                                        int r, const int species[SALTUS_MPD_MOST_FEW])
{
    double a = SALTUS_MPD_OF(m, rate)[(int64_t)type * SALTUS_MPD_N_REACTIONS(n) + r];
    SALTUS_UNROLL
    for (int f = SALTUS_MPD_OF(n, factor_row)[r]; f < SALTUS_MPD_OF(n, factor_row)[r + 1]; ++f) {
        a *= saltus_mpd_number_of(species, SALTUS_MPD_OF(n, factor_species)[f]) -
             SALTUS_MPD_OF(n, factor_offset)[f];
    }
    return a;
}

/* The sum of the propensities of a few particles in the order of saltus_mpd_total, as far as it
 * takes to exceed `goal`. *r becomes the last reaction that can fire. */
SALTUS_FN double saltus_mpd_few_sum(const saltus_mpd *m, const saltus_tables *n, int type,
                                    const int species[SALTUS_MPD_MOST_FEW], double goal, int *r,
                                    int *is_bad)
{
    double sum = 0.0;
    *r = -1;
#ifdef SALTUS_MPD_IN_ORDER /* few reactions: all are computed, those that cannot fire too */
    const int32_t order[] = {SALTUS_MPD_IN_ORDER};
    SALTUS_UNROLL
    for (int i = 0; i < (int)(sizeof order / sizeof *order); ++i) {
        const double a = saltus_mpd_few_product(m, n, type, order[i], species);
        const int goes_on = !(*r >= 0 && sum > goal);
        *is_bad |= !(a >= 0.0);
        *r = goes_on && a > 0.0 ? order[i] : *r;
        sum = goes_on ? sum + a : sum;
    }
#else
    const int32_t *segment = saltus_mpd_segments(m, type);
    int before = SALTUS_MPD_NO_SPECIES;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        const int x = species[k], is_new = x != before && x != SALTUS_MPD_NO_SPECIES;
        const int end = is_new ? segment[x + 2] : 0;
        for (int i = is_new ? segment[x + 1] : 0; i < end && !(*r >= 0 && sum > goal); ++i) {
            const int candidate = SALTUS_MPD_OF(m, active)[i];
            const double a = saltus_mpd_few_product(m, n, type, candidate, species);
            *is_bad |= !(a >= 0.0);
            *r = a > 0.0 ? candidate : *r;
            sum += a;
        }
        before = x;
    }
#endif
    return sum;
}

/* Apply a reaction to a few particles. Returns 0 if they become too many, or if one it takes is not
 * there. */
SALTUS_FN int saltus_mpd_few_become(const saltus_tables *n, int r, int species[SALTUS_MPD_MOST_FEW])
{
    int32_t any[SALTUS_MPD_MOST_FEW] = {0};
    int is_done = 1;
    (void)n;
    for (int c = SALTUS_MPD_OF(n, change_row)[r]; c < SALTUS_MPD_OF(n, change_row)[r + 1]; ++c) {
        const int x = SALTUS_MPD_OF(n, change_species)[c];
        for (int64_t d = SALTUS_MPD_OF(n, change_amount)[c]; d != 0 && is_done;
             d += d < 0 ? 1 : -1) {
            const int from = d < 0 ? x : SALTUS_MPD_NO_SPECIES,
                      to = d < 0 ? SALTUS_MPD_NO_SPECIES : x;
            is_done = 0;
            SALTUS_UNROLL
            for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
                const int is_it = !is_done && species[k] == from;
                species[k] = is_it ? to : species[k];
                is_done |= is_it;
            }
        }
    }
    saltus_mpd_order(any, species);
    return is_done;
}

/* saltus_mpd_react for a few particles. A wait and a reaction take turns. Returns -1 if it is to be
 * done with counts; `species` is of no use then. */
SALTUS_FN int32_t saltus_mpd_few_react(const saltus_mpd *m, const saltus_tables *n, int type,
                                       int64_t step, uint32_t site, uint32_t word,
                                       int species[SALTUS_MPD_MOST_FEW])
{
    const int32_t *segment = saltus_mpd_segments(m, type);
    double left = m->step, goal = 0.0;
    int32_t n_fired = 0;
    int chooses = 0;
    uint32_t w[4] = {word, 0, 0, 0};
    if (segment[0] < segment[1]) {
        return -1; /* laws that are not products */
    }
    for (;;) {
        int r, is_bad = 0;
        const double total =
            saltus_mpd_few_sum(m, n, type, species, chooses ? goal : SALTUS_INFINITY, &r, &is_bad);
        if (is_bad || !(total < SALTUS_INFINITY)) {
            return -1;
        }
        if (chooses) {
            if (!saltus_mpd_few_become(n, r, species)) {
                return -1;
            }
            ++n_fired;
            chooses = 0;
            if (SALTUS_MPD_IS_ONLY_ONE(m)) {
                return n_fired;
            }
        } else {
            chooses = saltus_mpd_wait(m, step, site, n_fired, total, w, &left, &goal);
            if (!chooses) {
                return n_fired;
            }
        }
    }
}

#endif
