/**
 * Reaction and diffusion on a lattice by multiparticle diffusion (MPD-RDME: M. J. Hallock et al.,
 * Parallel Computing 40 (2014) 86, doi:10.1016/j.parco.2014.03.009): in every step each particle
 * moves along x, then y, then z, and then every site is a well-mixed reactor, simulated exactly for
 * the length of the step.
 *
 * The unit of work is the particle; empty space costs nothing. A phase goes over all particles. The
 * thread that has a site's head (kernel/rdme/particles.h) updates the whole site: it lets the site
 * react, which ends a step, and moves the site's particles, which begins the next step, into the
 * other of two sets. So a step is the second half of one phase and the first half of the next:
 *
 *     phase 0        phase 1        phase 2                 phase n
 *     moves          reacts moves   reacts moves    ...     reacts
 *     |--- step 0 ---------||--- step 1 ------||--- ...  -------|
 *     set 0 -> 1     set 1 -> 0     set 0 -> 1
 *
 * Particles of a species in a site cannot be told apart. The random words of a particle belong to
 * (seed, trajectory, step, site, species, its number among these), and those of a site's reactions
 * to (seed, trajectory, step, site). So results depend neither on the order in which particles
 * arrive, nor on which thread computes a site.
 */
#ifndef SALTUS_KERNEL_RDME_MPD_H
#define SALTUS_KERNEL_RDME_MPD_H

#include "kernel/rdme/move.h"

#if SALTUS_LANES != 1
#error "a particle is one lane wide"
#endif

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

/** Put a particle into a site, or remove it if it is gone. */
SALTUS_FN void saltus_mpd_send(const saltus_mpd *m, int set, int32_t i,
                               const saltus_mpd_site_pos *to)
{
    if (saltus_mpd_is_gone(m, to->site)) {
        saltus_mpd_leave(m, i, to->site);
    } else {
        saltus_mpd_insert(m, set, i, to);
    }
}

/* The particles of a site, sorted by species, where they are few enough to be held in registers. A
 * place that is not used has number -1 and species SALTUS_MPD_NO_SPECIES. */
typedef struct saltus_mpd_few {
    int32_t i[SALTUS_MPD_MOST_FEW];
    int species[SALTUS_MPD_MOST_FEW];
} saltus_mpd_few;

/* Load the particles of a site; returns 0 if there are too many. */
SALTUS_FN int saltus_mpd_hold(const saltus_mpd *m, int set, const saltus_mpd_site_pos *here,
                              int32_t site_head, saltus_mpd_few *out)
{
    int32_t next = *saltus_mpd_head(m, set, here);
    out->i[0] = site_head;
    out->species[0] = m->species[site_head];
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

/* Write the species of a few particles after a reaction; remove particles and create them as
 * needed. */
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

/* Update a site with a few particles: it reacts, and they move. Returns 0, with nothing changed, if
 * there are too many of them, or if the reactions need counts. */
SALTUS_FN int saltus_mpd_update_site_few(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                         int what, int set, const saltus_mpd_site_pos *here,
                                         int32_t site_head, int64_t *fired)
{
    saltus_mpd_few f;
    saltus_mpd_site_pos to[SALTUS_MPD_MOST_FEW];
    int is_first[SALTUS_MPD_MOST_FEW], before = -1;
    int32_t n_fired = 0;
    int64_t rank = 0;
    uint32_t w[4];
    if (!saltus_mpd_hold(m, set, here, site_head, &f)) {
        return 0;
    }
    const int64_t global = saltus_mpd_global_of(m, here->site);
    saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, global, f.species[0], 0, w);
    if (what & SALTUS_MPD_REACTS) {
        const int type = saltus_mpd_type(m, here->site);
        if (!saltus_mpd_no_reaction_few(m, type, f.species, w[3])) {
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
                saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, global, species, rank, w);
            }
            to[k] = saltus_mpd_move(m, here, species, w);
        }
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        is_first[k] = f.i[k] >= 0 && !saltus_mpd_is_gone(m, to[k].site) &&
                      saltus_mpd_arrive(m, 1 - set, &to[k]);
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        if (f.i[k] >= 0 && saltus_mpd_is_gone(m, to[k].site)) {
            saltus_mpd_leave(m, f.i[k], to[k].site);
        } else if (f.i[k] >= 0) {
            saltus_mpd_settle(m, 1 - set, f.i[k], &to[k], is_first[k]);
        }
    }
    return 1;
}

/* The list of a site that holds the counts v, made of the particles of its old list; v becomes 0.
 */
SALTUS_FN int32_t saltus_mpd_relist(const saltus_mpd *m, double *v, int is_watched, int32_t old)
{
    const int empty_site_token = SALTUS_MPD_N_SPECIES(m) - 1;
    int32_t first = -1, last = -1;
    for (int x = 0; x <= empty_site_token; ++x) {
        for (double k = x < empty_site_token ? v[x] : (double)is_watched; k > 0.0; k -= 1.0) {
            const int32_t i = old >= 0 ? old : saltus_mpd_create(m, x);
            if (i < 0) {
                break; /* no capacity is left: the batch is done again */
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
        v[x] = x < empty_site_token ? 0.0 : v[x];
    }
    while (old >= 0) {
        const int32_t gone = old;
        old = m->next[old];
        saltus_mpd_remove(m, gone);
    }
    return first;
}

/* Let a site react whose word may let a reaction fire. Returns its list. *fires: whether a reaction
 * has changed it. */
SALTUS_FN int32_t saltus_mpd_site_reacts(const saltus_mpd *m, const saltus_tables *n, int64_t step,
                                         uint32_t site, int32_t first, uint32_t word,
                                         saltus_mpd_scratch *s, int *fires)
{
    const int empty_site_token = SALTUS_MPD_N_SPECIES(m) - 1;
    int is_watched = 0;
    saltus_mpd_start_rows(s);
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        is_watched = m->species[j] == empty_site_token;
        s->v[m->species[j]] += is_watched ? 0.0 : 1.0;
    }
    const int32_t n_fired = saltus_mpd_react(m, n, step, site, word, s);
    s->fired += n_fired;
    *fires = n_fired > 0;
    if (n_fired > 0) {
        return saltus_mpd_relist(m, s->v, is_watched, first);
    }
    for (int32_t j = first; j >= 0; j = m->next[j]) {
        if (m->species[j] < empty_site_token) {
            s->v[m->species[j]] = 0.0;
        }
    }
    return first;
}

/** Update a site where more is to be done than to move one particle. Its reactions end step - 1,
 * its moves are those of `step`.
 *
 * @param set        the set that holds its particles
 * @param site_head  the particle that is the site's head */
SALTUS_OUTLINE void saltus_mpd_update_site(const saltus_mpd *m, const saltus_tables *n,
                                           int64_t step, int what, int set, uint32_t site,
                                           int32_t site_head, saltus_mpd_scratch *s)
{
    const saltus_mpd_site_pos here = saltus_mpd_site_pos_of(m, site);
    const int64_t global = saltus_mpd_global_of(m, site);
    uint32_t w[4] = {0, 0, 0, 0};
    int32_t first = site_head;
    int before = -1, has_words = 0;
    int64_t rank = 0;
    if (saltus_mpd_update_site_few(m, n, step, what, set, &here, site_head, &s->fired)) {
        return;
    }
    saltus_mpd_take(m, set, &here, site_head);
    if (m->next[first] >= 0) {
        first = saltus_mpd_sort(m, first);
    }
    if (what & SALTUS_MPD_REACTS) {
        int fires = 0;
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, global, m->species[first], 0, w);
        if (saltus_mpd_is_reactive(m, saltus_mpd_type(m, here.site))) {
            first = saltus_mpd_site_reacts(m, n, step, here.site, first, w[3], s, &fires);
        }
        has_words = !fires;
    }
    while (first >= 0) {
        const int32_t i = first;
        const int species = m->species[i];
        saltus_mpd_site_pos to = here;
        first = m->next[i];
        rank = species == before ? rank + 1 : 0;
        before = species;
        if ((what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(m, moves)[species]) {
            if (!has_words) {
                saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, global, species, rank, w);
            }
            to = saltus_mpd_move(m, &here, species, w);
        }
        has_words = 0;
        saltus_mpd_send(m, 1 - set, i, &to);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Phases
 */

/** What happens to a particle in a phase. NOTHING: it is no site head, or is lost. GOES: it moves
 * to a site of the other set, maybe the same site. CARES: its thread updates the whole site. */
enum { SALTUS_MPD_NOTHING, SALTUS_MPD_GOES, SALTUS_MPD_CARES };

/** What is known of a particle, filled in step by step. A thread takes each step for several
 * particles before the next, because each step waits for memory. */
typedef struct saltus_mpd_seen {
    uint32_t site;
    int32_t next;
    int species;
    int is_site_head, is_crowded; /**< set by saltus_mpd_see_site */
    int fate, is_first;           /**< set by saltus_mpd_decide; by saltus_mpd_arrive */
    saltus_mpd_site_pos to;       /**< the particle's site, then the one to which it goes */
} saltus_mpd_seen;

/** Step 1: load a particle. The thread of its site head may move it meanwhile. */
SALTUS_FN void saltus_mpd_see(const saltus_mpd *m, int32_t i, saltus_mpd_seen *out)
{
    out->next = SALTUS_PEEK(&m->next[i]);
    out->site = SALTUS_PEEK(&m->site[i]);
    out->species = SALTUS_PEEK(&m->species[i]);
}

/** Step 2: load the bits of the site, if the particle is its head; else those of the first site. */
SALTUS_FN void saltus_mpd_see_site(const saltus_mpd *m, int set, saltus_mpd_seen *p)
{
    p->is_site_head = p->next == SALTUS_MPD_SITE_HEAD(set);
    p->to = saltus_mpd_site_pos_of(m, p->is_site_head ? p->site : saltus_mpd_first_site(m));
    p->is_crowded = (int)(SALTUS_PEEK(&saltus_mpd_crowded(m, set)[p->to.brick]) >> p->to.bit & 1);
}

/** Step 3: decide the particle's fate. If it goes, it has been taken out of its site. */
SALTUS_FN void saltus_mpd_decide(const saltus_mpd *m, int64_t step, int what, int set, int32_t i,
                                 saltus_mpd_seen *p)
{
    const int species = p->species;
    uint32_t w[4] = {0, 0, 0, 0}, no_reaction = SALTUS_NEVER_REACTS;
    p->fate = p->is_site_head ? SALTUS_MPD_CARES : SALTUS_MPD_NOTHING;
    if (!p->is_site_head || p->is_crowded) {
        return;
    }
    const int moves = (what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(m, moves)[species];
    if (what & SALTUS_MPD_REACTS) {
        const int64_t type = saltus_mpd_type(m, p->site);
        no_reaction = SALTUS_MPD_OF(m, no_reaction)[type * SALTUS_MPD_N_SPECIES(m) + species];
    }
    if (moves || no_reaction != SALTUS_NEVER_REACTS) {
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, step, saltus_mpd_global_of(m, p->site), species, 0,
                         w);
    }
    if (no_reaction != SALTUS_NEVER_REACTS && w[3] >= no_reaction) {
        return;
    }
    saltus_mpd_depart(m, set, &p->to);
    p->fate = SALTUS_MPD_GOES;
    if (moves) {
        p->to = saltus_mpd_move(m, &p->to, species, w);
        if (saltus_mpd_is_gone(m, p->to.site)) {
            saltus_mpd_leave(m, i, p->to.site);
            p->fate = SALTUS_MPD_NOTHING;
        }
    }
}

/** All steps for particle i in a phase. */
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
        saltus_mpd_update_site(m, n, step, what, set, p.site, i, s);
    }
}

#endif
