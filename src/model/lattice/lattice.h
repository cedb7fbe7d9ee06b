/**
 * The lattice of a frozen model: where species are, where they move, where they react. Plain data
 * that simulators read; nothing here is random.
 *
 * Space is a box of cubic sites. Site (x, y, z) has the index x + size[0] (y + size[1] z), 64 bits
 * wide. Species are rows of counts of the frozen network and reactions are its reactions, in the
 * same order (kernel/base/tables.h); every species of the tables is a number of particles per site.
 */
#ifndef SALTUS_MODEL_LATTICE_LATTICE_H
#define SALTUS_MODEL_LATTICE_LATTICE_H

#include <stdbool.h>
#include <stdint.h>

/** Avogadro's number, 1/mol (SI, exact). */
#define SALTUS_AVOGADRO 6.02214076e23

enum { SALTUS_LATTICE_MOST_TYPES = 256 };

/** What is beyond a face of the box. A particle at the face tries to leave it with the probability
 * jump[type][type][species] of a jump within its site's type. */
typedef enum saltus_face {
    SALTUS_FACE_PERIODIC,   /**< the opposite face's sites, with the types they have there; both
                                 faces of an axis are periodic or neither is */
    SALTUS_FACE_REFLECTING, /**< nothing: the particle stays */
    SALTUS_FACE_ABSORBING,  /**< the particle is lost */
    SALTUS_FACE_CONSTANT,   /**< lost as well; and beyond the face lies a layer of sites, each of
                                 the type of its neighbour inside, that hold Poisson numbers of
                                 particles of mean face_mean, drawn anew in every step: each jumps
                                 in with probability jump[type][type][species] */
} saltus_face;

/** Faces in this order; face / 2 is the axis. */
enum {
    SALTUS_FACE_X_LOW,
    SALTUS_FACE_X_HIGH,
    SALTUS_FACE_Y_LOW,
    SALTUS_FACE_Y_HIGH,
    SALTUS_FACE_Z_LOW,
    SALTUS_FACE_Z_HIGH,
    SALTUS_N_FACES,
};

/** `count` particles of a species start in sites drawn uniformly, each particle on its own, from
 * the sites of the types in a set (at least one site). */
typedef struct saltus_scatter {
    int32_t species;
    int64_t count;
    const bool *in; /**< [type] */
} saltus_scatter;

/** n particles of a species start in a site. */
typedef struct saltus_deposit {
    int64_t site;
    int32_t species;
    int64_t n;
} saltus_deposit;

typedef struct saltus_lattice {
    int32_t size[3]; /**< sites along x, y, z, each at least 1 */
    int64_t n_sites; /**< their product, at most 2^40 */
    double spacing;  /**< edge of a site, m */
    double step;     /**< duration of a step, s */
    bool only_one;   /**< at most one reaction in a site and step, as Hallock et al. have it */

    saltus_face faces[SALTUS_N_FACES];
    const double *face_mean; /**< [face][species] particles per site beyond a constant face, on
                                  average; 0 for other faces */

    int32_t n_types;            /**< 1 … 256 */
    int32_t n_species;          /**< that of the tables */
    int32_t n_reactions;        /**< that of the tables */
    const char **type_names;    /**< [type] */
    const uint8_t *types;       /**< [site]; NULL: there is one type */
    const int64_t *sites_of;    /**< [type] number of its sites, at least 1 */
    const double *diffusion;    /**< [from type][to type][species] m2/s; 0: reflects */
    const double *jump;         /**< [from type][to type][species] the probability, per step and
                                     direction, of a jump to a neighbour: D step / spacing^2, 0 to
                                     1/2; 0: reflects */
    const double *largest_jump; /**< [species] of all pairs of types; 0: it never moves */

    /** [type][reaction] stands for tables.rate in sites of that type: the propensity of a product
     * law there is rate * factors, in 1/s, factors being those of the tables on the site's counts.
     * For 2 A with stochastic constant k that is k/2 * n * (n - 1), as in well-mixed models. 0: the
     * reaction does not happen there. For other laws 1 (the law is evaluated on the site's counts)
     * or 0. */
    const double *rate;

    /** [reaction] how its law depends on the time, in sites: a saltus_lattice_drift. */
    const uint8_t *drifts;

    /** What is there at time 0; a species may stand in several. Their sums are the tables' initial
     * counts. */
    const saltus_scatter *scatters;
    const saltus_deposit *deposits; /**< by rising site, then species; each pair once */
    int32_t n_scatters;
    int64_t n_deposits;
} saltus_lattice;

/** How a law depends on the time, which is that of the middle of a step. */
typedef enum saltus_lattice_drift {
    SALTUS_STANDS,        /**< not at all */
    SALTUS_DRIFTS_FILLED, /**< it does, but is 0 in an empty site at all times */
    SALTUS_DRIFTS_EMPTY   /**< it does, and may be above 0 in an empty site */
} saltus_lattice_drift;

/** Sites of a plane across z. */
static inline int64_t saltus_lattice_plane(const saltus_lattice *l)
{
    return (int64_t)l->size[0] * l->size[1];
}

/** The type of a site. */
static inline int saltus_lattice_type(const saltus_lattice *l, int64_t site)
{
    return l->types ? l->types[site] : 0;
}

/** Particles at time 0. */
static inline int64_t saltus_lattice_n_placed(const saltus_lattice *l)
{
    int64_t n = 0;
    for (int i = 0; i < l->n_scatters; ++i) {
        n += l->scatters[i].count;
    }
    for (int64_t i = 0; i < l->n_deposits; ++i) {
        n += l->deposits[i].n;
    }
    return n;
}

/** Steps until a time, the last of which may not be whole; roundings of either make none less. */
static inline double saltus_lattice_steps_until(double step, double time)
{
    return time / step * (1.0 + 1e-12) + 1e-9;
}

#endif
