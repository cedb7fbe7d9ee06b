/**
 * Reaction and diffusion on a lattice by multiparticle diffusion (MPD-RDME: M. J. Hallock et al.,
 * Parallel Computing 40 (2014) 86, doi:10.1016/j.parco.2014.03.009): in every step each particle
 * moves along x, then y, then z, and then every site is a well-mixed reactor, simulated exactly for
 * the length of the step.
 *
 * Particles of a species in a site cannot be told apart. The random words of a particle belong to
 * (seed, trajectory, step, site, species, its number among these), and those of a site's reactions
 * to (seed, trajectory, step, site). So results depend neither on the order in which particles
 * are kept, nor on who computes a site.
 */
#ifndef SALTUS_KERNEL_MPD_H
#define SALTUS_KERNEL_MPD_H

#include "kernel/program.h"
#include "kernel/rng.h"
#include "kernel/tables.h"

#if SALTUS_LANES != 1
#error "a particle is one lane wide"
#endif

/** What is beyond a face of the lattice; in model/lattice.h's order. */
enum { SALTUS_MPD_PERIODIC, SALTUS_MPD_REFLECTING, SALTUS_MPD_ABSORBING };

/** A lattice as the step reads it. */
typedef struct saltus_mpd {
    int32_t size[3];
    int32_t n_types, n_species;
    int32_t faces[6];      /**< x-, x+, y-, y+, z-, z+ */
    const uint8_t *types;  /**< [site] */
    const uint32_t *jump;  /**< [from type][to type][species] words below which a particle jumps */
    double step;           /**< s */
    const double *rate;    /**< [type][reaction] model/lattice.h */
    const int32_t *active; /**< [type][reaction] those that happen, with reactants; then -1 */
    uint32_t keys[SALTUS_PHILOX_KEYS]; /**< of a trajectory */
} saltus_mpd;

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

/** A site, and where it is along x, y, z. */
typedef struct saltus_place {
    int64_t site;
    int32_t at[3];
} saltus_place;

/* Words below which a particle jumps over a face of the lattice, in direction `way`, -1 or 1. *to
 * becomes the site beyond, or -1 where the particle is lost. */
SALTUS_FN uint32_t saltus_mpd_over_face(const saltus_mpd *m, int64_t site, int species, int axis,
                                        int way, int64_t stride, int64_t *to)
{
    const int type = m->types[site], face = m->faces[2 * axis + (way > 0)];
    if (face == SALTUS_MPD_REFLECTING) {
        return 0;
    }
    *to = -1;
    int there = type;
    if (face == SALTUS_MPD_PERIODIC) {
        *to = site - way * stride * (m->size[axis] - 1);
        there = m->types[*to];
    }
    return m->jump[((int64_t)type * m->n_types + there) * m->n_species + species];
}

/** Move a particle through a step. Returns 0 when it is lost. */
SALTUS_FN int saltus_mpd_move(const saltus_mpd *m, saltus_place *p, int species,
                              const uint32_t w[4])
{
    const uint32_t *jump = m->jump + species;
    int64_t stride = 1;
    for (int axis = 0; axis < 3; ++axis) {
        const int32_t last = m->size[axis] - 1, at = p->at[axis];
        const int row = m->types[p->site] * m->n_types;
        int64_t low = p->site - stride, high = p->site + stride;
        const uint32_t down =
            at > 0 ? jump[(row + m->types[low]) * m->n_species]
                   : saltus_mpd_over_face(m, p->site, species, axis, -1, stride, &low);
        const uint32_t up = at < last
                                ? jump[(row + m->types[high]) * m->n_species]
                                : saltus_mpd_over_face(m, p->site, species, axis, 1, stride, &high);
        const int goes_down = w[axis] < down, goes_up = !goes_down && w[axis] - down < up;
        p->site = goes_down ? low : goes_up ? high : p->site;
        p->at[axis] = goes_down ? (at > 0 ? at - 1 : last)
                      : goes_up ? (at < last ? at + 1 : 0)
                                : at;
        if (p->site < 0) {
            return 0;
        }
        stride *= m->size[axis];
    }
    return 1;
}

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

/** What became of a site's reactions. */
typedef struct saltus_mpd_outcome {
    int32_t n_fired;
    int32_t bad; /**< a reaction whose propensity is negative or no number, or that takes what is
                      not there; -1: all is well */
} saltus_mpd_outcome;

/**
 * Let a site react for a step.
 *
 * @param v    rows as in tables.h; [species] the site's counts, changed
 * @param a    [reaction] scratch
 * @param fire called with `user` for every reaction that fires; may be NULL
 */
SALTUS_FN saltus_mpd_outcome saltus_mpd_react(const saltus_mpd *m, const saltus_tables *n,
                                              int64_t step, int64_t site, double *v, double *a,
                                              void (*fire)(void *user, int reaction), void *user)
{
    const int type = m->types[site];
    const int32_t *active = m->active + (int64_t)type * (n->n_reactions + 1);
    saltus_mpd_outcome out = {0, -1};
    double left = m->step;
    for (;; ++out.n_fired) {
        uint32_t w[4];
        double total = 0.0;
        saltus_mpd_rules(n, v);
        for (int i = 0; active[i] >= 0; ++i) {
            a[i] = saltus_mpd_propensity(m, n, type, active[i], v);
            if (!(a[i] >= 0.0)) {
                out.bad = active[i];
                return out;
            }
            total += a[i];
        }
        if (!(total > 0.0)) {
            return out;
        }
        saltus_mpd_words(m, SALTUS_PURPOSE_SITE, step, site, 0, out.n_fired, w);
        /* a wait is at least 1 - u times the mean one */
        if ((double)(int64_t)(0xffffffffu - w[0]) * SALTUS_TWO_M32 >= left * total) {
            return out;
        }
        const double wait = w[0] != 0 ? saltus_exponential32(w[0])
                                      : 22.180709777918249 + /* 32 ln 2 */
                                            saltus_exponential32(w[1] | (w[1] == 0));
        if (!(wait < left * total)) {
            return out;
        }
        left -= wait / total;
        const double goal =
            (double)(int64_t)(((uint64_t)w[2] << 32 | w[3]) >> 11) * 0x1p-53 * total;
        double sum = 0.0;
        int r = -1;
        for (int i = 0; active[i] >= 0 && !(r >= 0 && sum > goal); ++i) {
            sum += a[i];
            r = a[i] > 0.0 ? active[i] : r;
        }
        for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
            v[n->change_species[c]] += (double)n->change_amount[c];
            if (v[n->change_species[c]] < 0.0) {
                out.bad = r;
                return out;
            }
        }
        if (fire) {
            fire(user, r);
        }
    }
}

#endif
