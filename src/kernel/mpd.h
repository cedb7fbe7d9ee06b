/**
 * Reaction and diffusion on a lattice by multiparticle diffusion (MPD-RDME: M. J. Hallock et al.,
 * Parallel Computing 40 (2014) 86, doi:10.1016/j.parco.2014.03.009): in every step each particle
 * moves along x, then y, then z, and then every site is a well-mixed reactor, simulated exactly for
 * the length of the step.
 *
 * The unit of work is the particle; empty space costs nothing. A phase goes over all particles; who
 * keeps a site (kernel/mpd_lists.h) looks after the whole of it: lets it react, which ends a step,
 * and moves its particles, which begins the next, into the other of two sets.
 *
 * Particles of a species in a site cannot be told apart. The random words of a particle belong to
 * (seed, trajectory, step, site, species, its number among these), and those of a site's reactions
 * to (seed, trajectory, step, site). So results depend neither on the order in which particles
 * arrive, nor on who computes a site.
 */
#ifndef SALTUS_KERNEL_MPD_H
#define SALTUS_KERNEL_MPD_H

#include "kernel/mpd_lists.h"
#include "kernel/poisson.h"
#include "kernel/program.h"
#include "kernel/tables.h"

#if SALTUS_LANES != 1
#error "a particle is one lane wide"
#endif

/** What is beyond a face of the lattice; in model/lattice.h's order. */
enum { SALTUS_MPD_PERIODIC, SALTUS_MPD_REFLECTING, SALTUS_MPD_ABSORBING };

/** What a phase does with the sites. */
enum { SALTUS_MPD_REACTS = 1, SALTUS_MPD_MOVES = 2 };

/* Particles of a site that are held in registers, and what more than all species are. */
enum { SALTUS_MPD_MOST_FEW = 4, SALTUS_MPD_NO_SPECIES = 1 << 16 };

/** Of `quiet`: nothing ever happens. */
#define SALTUS_ALWAYS_QUIET 0xffffffffu

/** A thread's own. */
typedef struct saltus_mpd_scratch {
    double *v;          /**< rows as in tables.h; [species] 0 between sites */
    double *a;          /**< [reaction] */
    int64_t fired;      /**< reactions */
    const double *rows; /**< [n_rows] what v is to start from; NULL: it has */
    int32_t n_rows;
} saltus_mpd_scratch;

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
 * Moves
 */

SALTUS_FN int saltus_mpd_type(const saltus_mpd *m, uint32_t site)
{
    return SALTUS_MPD_N_TYPES(m) > 1 ? m->types[site] : 0;
}

/* Maybe a jump along an axis: the first bit of a word says which way, the others whether. Nothing
 * of that can be guessed, so there is no branch but at the faces. */
SALTUS_FN void saltus_mpd_jump(const saltus_mpd *m, saltus_mpd_spot *p, int species, int axis,
                               uint32_t stride, uint32_t word)
{
    const uint32_t last = saltus_mpd_size(m, axis) - 1, at = p->at[axis], is_up = word >> 31;
    const int type = saltus_mpd_type(m, p->site);
    uint32_t next = at + 2 * is_up - 1;
    int there = type, is_lost = 0;
    if (at == (is_up ? last : 0)) {
        const int face = is_up ? saltus_mpd_face(m, 2 * axis + 1) : saltus_mpd_face(m, 2 * axis);
        next = face == SALTUS_MPD_PERIODIC ? last - at : at;
        is_lost = face == SALTUS_MPD_ABSORBING;
    }
    const uint32_t to = p->site + (next - at) * stride;
    if (SALTUS_MPD_N_TYPES(m) > 1) {
        there = m->types[to];
    }
    const uint32_t twice = SALTUS_MPD_OF(
        m,
        jump)[((int64_t)type * SALTUS_MPD_N_TYPES(m) + there) * SALTUS_MPD_N_SPECIES(m) + species];
    const int goes = word << 1 < twice;
    p->at[axis] = goes ? next : at;
    p->site = goes ? (is_lost ? SALTUS_NOWHERE : to) : p->site;
}

/** Where the words of a step bring a particle; site SALTUS_NOWHERE: it is lost. */
SALTUS_FN saltus_mpd_spot saltus_mpd_move(const saltus_mpd *m, const saltus_mpd_spot *from,
                                          int species, const uint32_t w[4])
{
    saltus_mpd_spot p = *from;
    uint32_t stride = 1;
    SALTUS_UNROLL
    for (int axis = 0; axis < 3 && p.site != SALTUS_NOWHERE; ++axis) {
        saltus_mpd_jump(m, &p, species, axis, stride, w[axis]);
        stride *= saltus_mpd_size(m, axis);
    }
    saltus_mpd_find_brick(m, &p);
    return p;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

/* The propensity of reaction r, whose law is a product, in a site of a type, of the counts in v. */
SALTUS_FN double saltus_mpd_product(const saltus_mpd *m, const saltus_tables *n, int type, int r,
                                    const double *v)
{
    double a = SALTUS_MPD_OF(m, rate)[(int64_t)type * SALTUS_MPD_N_REACTIONS(n) + r];
    for (int f = SALTUS_MPD_OF(n, factor_row)[r]; f < SALTUS_MPD_OF(n, factor_row)[r + 1]; ++f) {
        a *= v[SALTUS_MPD_OF(n, factor_species)[f]] - SALTUS_MPD_OF(n, factor_offset)[f];
    }
    return a;
}

/* The propensity of any reaction. */
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

/* The rows that rules have. */
SALTUS_FN void saltus_mpd_rules(const saltus_tables *n, double *v)
{
    for (int r = 0; r < SALTUS_MPD_N_RULES(n); ++r) {
        saltus_program_run(n->code, n->rules[r], v);
        v[n->row_rules + r] = v[n->rules[r].result];
    }
}

/** The sum of the propensities in a site of a type, a[reaction] being set to each; in the order of
 * `active`. *bad becomes a reaction whose propensity is negative or no number. */
SALTUS_FN double saltus_mpd_total(const saltus_mpd *m, const saltus_tables *n, int type, double *v,
                                  double *a, int *bad)
{
    const int32_t *segment =
        SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double total = 0.0;
    saltus_mpd_rules(n, v);
    for (int i = segment[0]; i < segment[1]; ++i) {
        const int r = SALTUS_MPD_OF(m, active)[i];
        a[r] = saltus_mpd_propensity(m, n, type, r, v);
        *bad = a[r] >= 0.0 ? *bad : r;
        total += a[r];
    }
    for (int x = 0; x < SALTUS_MPD_N_SPECIES(m); ++x) { /* the first of their reactants */
        for (int i = segment[x + 1]; i < segment[x + 2]; ++i) {
            const int r = SALTUS_MPD_OF(m, active)[i];
            a[r] = v[x] > 0.0 ? saltus_mpd_product(m, n, type, r, v) : 0.0;
            *bad = a[r] >= 0.0 ? *bad : r;
            total += a[r];
        }
    }
    return total;
}

/** Whether a word lets nothing happen for so many mean waits: a wait is at least 1 - u of one. */
SALTUS_FN int saltus_mpd_is_quiet(uint32_t word, double waits)
{
    return !(waits > 0.0) || (double)(int64_t)(0xffffffffu - word) * SALTUS_TWO_M32 >= waits;
}

/* The wait of a site for its next reaction, number n_fired of a step: w[0] is what it is made of,
 * and becomes that of the next. *left of the step is what is left, s; *goal, below the total of the
 * propensities, chooses the reaction. Returns 0: it waits for longer. */
SALTUS_FN int saltus_mpd_wait(const saltus_mpd *m, int64_t step, uint32_t site, int32_t n_fired,
                              double total, uint32_t w[4], double *left, double *goal)
{
    const uint32_t of_wait = w[0];
    if (saltus_mpd_is_quiet(of_wait, *left * total)) {
        return 0;
    }
    saltus_mpd_words(m, SALTUS_PURPOSE_SITE, step, site, 0, n_fired, w);
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

/* The reaction that `goal`, below the total, comes to. */
SALTUS_FN int saltus_mpd_choose(const saltus_mpd *m, int type, const double *a, double goal)
{
    const int32_t *segment =
        SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
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
    double left = m->step, goal = 0.0, *v = s->v;
    int32_t n_fired = 0;
    uint32_t w[4] = {word, 0, 0, 0};
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
            SALTUS_POKE(&m->species[i], (uint16_t)x);
            SALTUS_POKE(&m->next[i], SALTUS_MPD_END);
            first = first < 0 ? i : first;
            if (last >= 0) {
                SALTUS_POKE(&m->next[last], i);
            }
            last = i;
        }
        v[x] = x < watcher ? 0.0 : v[x];
    }
    while (old >= 0) {
        const int32_t gone = old;
        old = m->next[old];
        saltus_mpd_remove(m, gone);
    }
    return first;
}

/* A word may let something happen in a site: let it react. Returns its list; *fires: another one
 * than before. */
SALTUS_FN int32_t saltus_mpd_site_reacts(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                         uint32_t site, int32_t first, uint32_t word,
                                         saltus_mpd_scratch *s, int *fires)
{
    const int watcher = SALTUS_MPD_N_SPECIES(m) - 1;
    int is_watched = 0;
    for (int i = 0; s->rows && i < s->n_rows; ++i) {
        s->v[i] = s->rows[i];
    }
    s->rows = (const double *)0;
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        is_watched = m->species[j] == watcher;
        s->v[m->species[j]] += is_watched ? 0.0 : 1.0;
    }
    const int32_t n_fired = saltus_mpd_react(m, n, step, site, word, s);
    s->fired += n_fired;
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
    const int32_t *segment =
        SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    return segment[0] < segment[SALTUS_MPD_N_SPECIES(m) + 1];
}

/* ------------------------------------------------------------------------------------------------
 * Phases
 */

/** Put a particle into a site, or nowhere. */
SALTUS_FN void saltus_mpd_send(const saltus_mpd *m, int set, int32_t i, const saltus_mpd_spot *to)
{
    if (to->site == SALTUS_NOWHERE) {
        saltus_mpd_remove(m, i);
    } else {
        saltus_mpd_insert(m, set, i, to);
    }
}

/* The particles of a site, sorted by species, where they are few enough to be held in registers;
 * numbers of those that are not there are -1, and species SALTUS_MPD_NO_SPECIES. */
typedef struct saltus_mpd_few {
    int32_t i[SALTUS_MPD_MOST_FEW];
    int species[SALTUS_MPD_MOST_FEW];
} saltus_mpd_few;

/* In order of species. */
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

/* Returns 0: there are too many. */
SALTUS_FN int saltus_mpd_hold(const saltus_mpd *m, int set, const saltus_mpd_spot *here,
                              int32_t keeper, saltus_mpd_few *out)
{
    int32_t next = *saltus_mpd_head(m, set, here);
    out->i[0] = keeper;
    out->species[0] = m->species[keeper];
    SALTUS_UNROLL
    for (int k = 1; k < SALTUS_MPD_MOST_FEW; ++k) {
        const int32_t i = next;
        out->i[k] = i >= 0 ? i : -1;
        out->species[k] = i >= 0 ? m->species[i] : SALTUS_MPD_NO_SPECIES;
        next = i >= 0 ? m->next[i] : SALTUS_MPD_END;
    }
    saltus_mpd_order(out->i, out->species);
    return next < 0;
}

/* How many are of a species. */
SALTUS_FN double saltus_mpd_number_of(const int species[SALTUS_MPD_MOST_FEW], int which)
{
    int n = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        n += species[k] == which;
    }
    return (double)n;
}

/* Whether a word surely lets nothing happen where a few are. */
SALTUS_FN int saltus_mpd_are_few_quiet(const saltus_mpd *m, int type, const saltus_mpd_few *f,
                                       uint32_t word)
{
    const int64_t species = SALTUS_MPD_N_SPECIES(m);
    if (!saltus_mpd_is_reactive(m, type)) {
        return 1;
    }
    if (f->i[1] < 0 || f->i[2] >= 0 || !SALTUS_MPD_OF(m, quiet_two)) {
        return 0;
    }
    const uint32_t quiet = SALTUS_MPD_OF(
        m, quiet_two)[((int64_t)type * species + f->species[0]) * species + f->species[1]];
    return word < quiet || quiet == SALTUS_ALWAYS_QUIET;
}

/* The sum of the propensities of a few, as saltus_mpd_total has it, or as far as it takes to exceed
 * `goal`; *r: the last reaction that can happen. */
SALTUS_FN double saltus_mpd_few_sum(const saltus_mpd *m, const saltus_tables *n, int type,
                                    const int species[SALTUS_MPD_MOST_FEW], double goal, int *r,
                                    int *is_bad)
{
    const int32_t *segment =
        SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double sum = 0.0;
    int before = SALTUS_MPD_NO_SPECIES;
    *r = -1;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        const int x = species[k], is_new = x != before && x != SALTUS_MPD_NO_SPECIES;
        const int end = is_new ? segment[x + 2] : 0;
        for (int i = is_new ? segment[x + 1] : 0; i < end && !(*r >= 0 && sum > goal); ++i) {
            const int candidate = SALTUS_MPD_OF(m, active)[i];
            double a =
                SALTUS_MPD_OF(m, rate)[(int64_t)type * SALTUS_MPD_N_REACTIONS(n) + candidate];
            for (int g = SALTUS_MPD_OF(n, factor_row)[candidate];
                 g < SALTUS_MPD_OF(n, factor_row)[candidate + 1]; ++g) {
                a *= saltus_mpd_number_of(species, SALTUS_MPD_OF(n, factor_species)[g]) -
                     SALTUS_MPD_OF(n, factor_offset)[g];
            }
            *is_bad |= !(a >= 0.0);
            *r = a > 0.0 ? candidate : *r;
            sum += a;
        }
        before = x;
    }
    return sum;
}

/* What a reaction makes of a few. Returns 0: too many, or it takes what is not there. */
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

/* saltus_mpd_react of a few: sums and reactions take turns. Returns -1: it is to be done in another
 * way, and species are of no use. */
SALTUS_FN int32_t saltus_mpd_few_react(const saltus_mpd *m, const saltus_tables *n, int type,
                                       int64_t step, uint32_t site, uint32_t word,
                                       int species[SALTUS_MPD_MOST_FEW])
{
    const double all = 0x1p1023;
    const int32_t *segment =
        SALTUS_MPD_OF(m, segment) + (int64_t)type * (SALTUS_MPD_N_SPECIES(m) + 2);
    double left = m->step, goal = all;
    int32_t n_fired = 0;
    uint32_t w[4] = {word, 0, 0, 0};
    if (segment[0] < segment[1]) {
        return -1; /* laws that are no products */
    }
    for (;;) {
        int r, is_bad = 0;
        const double total = saltus_mpd_few_sum(m, n, type, species, goal, &r, &is_bad);
        if (is_bad) {
            return -1;
        }
        if (goal < all) {
            if (!saltus_mpd_few_become(n, r, species)) {
                return -1;
            }
            ++n_fired;
            goal = all;
            if (SALTUS_MPD_IS_ONLY_ONE(m)) {
                return n_fired;
            }
        } else if (!saltus_mpd_wait(m, step, site, n_fired, total, w, &left, &goal)) {
            return n_fired;
        }
    }
}

/* The particles of a few whose species have changed. */
SALTUS_FN void saltus_mpd_few_rename(const saltus_mpd *m, saltus_mpd_few *f)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        if (f->species[k] == SALTUS_MPD_NO_SPECIES) {
            if (f->i[k] >= 0) {
                saltus_mpd_remove(m, f->i[k]);
            }
            f->i[k] = -1;
        } else if (f->i[k] >= 0) {
            SALTUS_POKE(&m->species[f->i[k]], (uint16_t)f->species[k]);
        } else {
            f->i[k] = saltus_mpd_create(m, f->species[k]);
        }
    }
}

/* A site with a few particles: it reacts, and they move. Returns 0: it is not one. */
SALTUS_FN int saltus_mpd_look_after_few(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                        int what, int set, const saltus_mpd_spot *here,
                                        int32_t keeper, int64_t *fired)
{
    saltus_mpd_few f;
    saltus_mpd_spot to[SALTUS_MPD_MOST_FEW];
    int is_first[SALTUS_MPD_MOST_FEW], before = -1;
    int32_t n_fired = 0;
    int64_t rank = 0;
    uint32_t w[4];
    if (!saltus_mpd_hold(m, set, here, keeper, &f)) {
        return 0;
    }
    saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, here->site, f.species[0], 0, w);
    if (what & SALTUS_MPD_REACTS) {
        const int type = saltus_mpd_type(m, here->site);
        if (!saltus_mpd_are_few_quiet(m, type, &f, w[3])) {
            n_fired = saltus_mpd_few_react(m, n, type, step, here->site, w[3], f.species);
        }
    }
    if (n_fired < 0) {
        return 0;
    }
    saltus_mpd_clear(m, set, here);
    if (n_fired > 0) {
        saltus_mpd_few_rename(m, &f);
        *fired += n_fired;
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        const int species = f.species[k];
        rank = species == before ? rank + 1 : 0;
        before = species;
        to[k] = *here;
        if (f.i[k] >= 0 && (what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(m, moves)[species]) {
            if (k > 0 || n_fired > 0) {
                saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, here->site, species, rank, w);
            }
            to[k] = saltus_mpd_move(m, here, species, w);
        }
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        is_first[k] =
            f.i[k] >= 0 && to[k].site != SALTUS_NOWHERE && saltus_mpd_arrive(m, 1 - set, &to[k]);
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        if (f.i[k] >= 0 && to[k].site == SALTUS_NOWHERE) {
            saltus_mpd_remove(m, f.i[k]);
        } else if (f.i[k] >= 0) {
            saltus_mpd_settle(m, 1 - set, f.i[k], &to[k], is_first[k]);
        }
    }
    return 1;
}

/** A site where more is to be done than to move one particle: its reactions end step - 1, its moves
 * are those of `step`.
 *
 * @param set where its particles are
 * @param keeper of the site
 */
SALTUS_OUTLINE void saltus_mpd_look_after(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                          int what, int set, uint32_t site, int32_t keeper,
                                          saltus_mpd_scratch *s)
{
    const saltus_mpd_spot here = saltus_mpd_spot_of(m, site);
    uint32_t w[4] = {0, 0, 0, 0};
    int32_t first = keeper;
    int before = -1, has_words = 0;
    int64_t rank = 0;
    if (saltus_mpd_look_after_few(m, n, step, what, set, &here, keeper, &s->fired)) {
        return;
    }
    saltus_mpd_take(m, set, &here, keeper);
    if (m->next[first] >= 0) {
        first = saltus_mpd_sort(m, first);
    }
    if (what & SALTUS_MPD_REACTS) {
        int fires = 0;
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, here.site, m->species[first], 0, w);
        if (saltus_mpd_is_reactive(m, saltus_mpd_type(m, here.site))) {
            first = saltus_mpd_site_reacts(m, n, step, here.site, first, w[3], s, &fires);
        }
        has_words = !fires;
    }
    while (first >= 0) {
        const int32_t i = first;
        const int species = m->species[i];
        saltus_mpd_spot to = here;
        first = m->next[i];
        rank = species == before ? rank + 1 : 0;
        before = species;
        if ((what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(m, moves)[species]) {
            if (!has_words) {
                saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, here.site, species, rank, w);
            }
            to = saltus_mpd_move(m, &here, species, w);
        }
        has_words = 0;
        saltus_mpd_send(m, 1 - set, i, &to);
    }
}

/** What becomes of a particle in a phase: nothing, because it keeps no site, or is lost; it goes to
 * another site, or stays where it is; or its site is to be looked after. */
enum { SALTUS_MPD_NOTHING, SALTUS_MPD_GOES, SALTUS_MPD_CARES };

/** What is known of a particle, step by step: of many particles at a time, because each step waits
 * for memory. */
typedef struct saltus_mpd_seen {
    uint32_t site;
    int32_t next;
    int species;
    int is_keeper, is_crowded; /**< once its site has been seen */
    int fate, is_first;        /**< once it has been decided, and has arrived */
    saltus_mpd_spot to;        /**< where it is, then where it goes */
} saltus_mpd_seen;

/** A particle; its keeper may move it meanwhile. */
SALTUS_FN void saltus_mpd_see(const saltus_mpd *m, int32_t i, saltus_mpd_seen *out)
{
    out->next = SALTUS_PEEK(&m->next[i]);
    out->site = SALTUS_PEEK(&m->site[i]);
    out->species = SALTUS_PEEK(&m->species[i]);
}

/** The site that it keeps; if it does not, any. */
SALTUS_FN void saltus_mpd_see_site(const saltus_mpd *m, int set, saltus_mpd_seen *p)
{
    p->is_keeper = p->next == SALTUS_MPD_KEEPER(set);
    p->to = saltus_mpd_spot_of(m, p->is_keeper ? p->site : 0);
    p->is_crowded = (int)(SALTUS_PEEK(&saltus_mpd_crowded(m, set)[p->to.brick]) >> p->to.bit & 1);
}

/** Its fate; if it goes, it has left. */
SALTUS_FN void saltus_mpd_decide(const saltus_mpd *m, int64_t step, int what, int set, int32_t i,
                                 saltus_mpd_seen *p)
{
    const int species = p->species;
    uint32_t w[4] = {0, 0, 0, 0}, quiet = SALTUS_ALWAYS_QUIET;
    p->fate = p->is_keeper ? SALTUS_MPD_CARES : SALTUS_MPD_NOTHING;
    if (!p->is_keeper || p->is_crowded) {
        return;
    }
    const int moves = (what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(m, moves)[species];
    if (what & SALTUS_MPD_REACTS) {
        const int64_t type = saltus_mpd_type(m, p->site);
        quiet = SALTUS_MPD_OF(m, quiet)[type * SALTUS_MPD_N_SPECIES(m) + species];
    }
    if (moves || quiet != SALTUS_ALWAYS_QUIET) {
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, p->site, species, 0, w);
    }
    if (quiet != SALTUS_ALWAYS_QUIET && w[3] >= quiet) {
        return;
    }
    saltus_mpd_leave(m, set, &p->to);
    p->fate = SALTUS_MPD_GOES;
    if (moves) {
        p->to = saltus_mpd_move(m, &p->to, species, w);
        if (p->to.site == SALTUS_NOWHERE) {
            saltus_mpd_remove(m, i);
            p->fate = SALTUS_MPD_NOTHING;
        }
    }
}

/** The part of particle i in a phase. */
SALTUS_FN void saltus_mpd_particle(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                   int what, int set, int32_t i, saltus_mpd_scratch *s)
{
    saltus_mpd_seen p;
    saltus_mpd_see(m, i, &p);
    saltus_mpd_see_site(m, set, &p);
    saltus_mpd_decide(m, step, what, set, i, &p);
    if (p.fate == SALTUS_MPD_GOES) {
        saltus_mpd_insert(m, 1 - set, i, &p.to);
    } else if (p.fate == SALTUS_MPD_CARES) {
        saltus_mpd_look_after(m, n, step, what, set, p.site, i, s);
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
        const int64_t which = (int64_t)(saltus_unit53(w[0], w[1]) * (double)origin.n_sites);
        const saltus_mpd_spot to = saltus_mpd_spot_of(m, origin.sites[which]);
        const int r = origin.reaction;
        const int first = r >= 0 ? SALTUS_MPD_OF(n, change_row)[r] : 0,
                  end = r >= 0 ? SALTUS_MPD_OF(n, change_row)[r + 1] : 1;
        for (int c = first; c < end; ++c) {
            const int species = r >= 0 ? SALTUS_MPD_OF(n, change_species)[c] : origin.species;
            for (int64_t p = r >= 0 ? SALTUS_MPD_OF(n, change_amount)[c] : 1; p > 0; --p) {
                const int32_t created = saltus_mpd_create(m, species);
                if (created >= 0) {
                    saltus_mpd_insert(m, set, created, &to);
                }
            }
        }
        s->fired += r >= 0;
    }
}

#endif
