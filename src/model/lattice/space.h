/**
 * The lattice of a model as it was read, everything in SI units or per site; freezing makes
 * model/lattice/lattice.h's tables of it. Variables, reactions and types are indices into the
 * model.
 */
#ifndef SALTUS_MODEL_LATTICE_SPACE_H
#define SALTUS_MODEL_LATTICE_SPACE_H

#include "model/lattice/lattice.h"
#include "core/memory.h"
#include "core/status.h"

/** Particles of a species in a site, at most. */
#define SALTUS_MOST_PER_SITE 2147483648.0

/** What a reaction does in the sites of a type. */
typedef struct saltus_site_rate {
    bool happens;
    bool is_given;   /**< with a constant of its own there: */
    double constant; /**< stochastic, 1/s, as behind the '@' of a reaction */
} saltus_site_rate;

/** Particles that start at random in sites of some types. */
typedef struct saltus_placement {
    int variable;
    int64_t count;  /**< -1: the species' initial amount */
    const bool *in; /**< [type] */
    int line;       /**< 0: `place` does not name the species */
} saltus_placement;

typedef struct saltus_space {
    int32_t size[3];
    int64_t n_sites;
    double spacing, step; /**< m, s */
    double mole;          /**< molecules per mole */
    bool only_one;        /**< at most one reaction in a site and step */
    saltus_face faces[SALTUS_N_FACES];
    const double *face_means[SALTUS_N_FACES]; /**< [variable] of constant faces, else NULL */

    int32_t n_types;
    const char *type_names[SALTUS_LATTICE_MOST_TYPES];
    int64_t sites_of[SALTUS_LATTICE_MOST_TYPES];
    uint8_t *types; /**< [site], allocated: it may be large. Freed with the model. NULL: there is
                       one type */

    const double **diffusion;       /**< [variable][from * n_types + to]; NULL: no species */
    const bool **has_diffusion;     /**< [variable][type] a constant is given for the type */
    const saltus_site_rate **rates; /**< [reaction][type]; NULL: everywhere, as it stands */
    bool *has_amounts;              /**< [variable] its initial amount is what is placed */
    saltus_placement *placements;
    size_t n_placements, placements_capacity; /**< allocated */
    saltus_deposit *deposits;                 /**< species: the variable; as they were read */
    size_t n_deposits, deposits_capacity;     /**< allocated */

    /** Of a model whose reactions come from an SBML file; else NULL. */
    const bool **compartments; /**< [variable][type] where a compartment is; NULL: it is none, or it
                                    holds no particles */
    const double *site_sizes;  /**< [variable] the size of a site that stands for that of the
                                    compartment once initial amounts are known, in the
                                    compartment's unit; 0: none */

    const char *path; /**< the file of this line and of placements' lines */
    int line;
} saltus_space;

void saltus_space_destroy(saltus_space *space);

#endif
