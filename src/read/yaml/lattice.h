/** The section `lattice` of a YAML model, between the files that read it. */
#ifndef SALTUS_READ_YAML_LATTICE_H
#define SALTUS_READ_YAML_LATTICE_H

#include "model/lattice/space.h"
#include "read/yaml/values.h"

typedef struct saltus_lattice_reader {
    const saltus_yaml_reader *yaml;
    saltus_space *space;
} saltus_lattice_reader;

/** What a number may measure: its unit in SI, and what the number in that unit is multiplied by. */
typedef struct saltus_measure {
    char si[32];
    double scale;
} saltus_measure;

/** A quantity that is wanted: measures that will do, and what a bare number stands for. */
typedef struct saltus_quantity {
    const char *noun;    /**< "length": for messages */
    const char *example; /**< "0.5 um" */
    saltus_measure measures[2];
    int n_measures;
    double bare; /**< scale of a number without a unit; 0: it needs one */
} saltus_quantity;

/** A number with a unit or without. */
SALTUS_MUST_CHECK saltus_status saltus_read_quantity(saltus_lattice_reader *l,
                                                     const saltus_yaml_node *node, const char *what,
                                                     const saltus_quantity *quantity, double *out);
/** A length, in sites. */
SALTUS_MUST_CHECK saltus_status saltus_read_length(saltus_lattice_reader *l,
                                                   const saltus_yaml_node *node, const char *what,
                                                   double *out);
/** "[x, y, z]", lengths in sites. */
SALTUS_MUST_CHECK saltus_status saltus_read_lengths(saltus_lattice_reader *l,
                                                    const saltus_yaml_node *node, const char *what,
                                                    double out[3]);
/** Concentrations as particles per site. */
saltus_quantity saltus_concentration(const saltus_space *space);
/** Constants of reactions of an order as stochastic constants in a site, 1/s. */
saltus_quantity saltus_rate_constant(const saltus_space *space, int order);

/** A whole number from least to most. */
SALTUS_MUST_CHECK saltus_status saltus_read_whole(const saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node, const char *what,
                                                  double least, double most, double *out);
/** The items of a sequence or a scalar that stands for its only item; *n of them, the first n_most
 * in out. */
SALTUS_MUST_CHECK saltus_status saltus_read_items(const saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node, const char *what,
                                                  int n_most, const saltus_yaml_node **out, int *n);
/** The type of that name, or -1. */
int saltus_find_type(const saltus_space *space, const char *name, size_t length);
/** Record that there is no such type, and which there are. */
saltus_status saltus_no_type(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                             const char *what, const char *name, int length);
/** The site type that a node names. */
SALTUS_MUST_CHECK saltus_status saltus_read_type(const saltus_lattice_reader *l,
                                                 const saltus_yaml_node *node, const char *what,
                                                 int *type);
/** "type" or "[type, type]". @param[out] in [type] */
SALTUS_MUST_CHECK saltus_status saltus_read_types(const saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node, const char *what,
                                                  bool *in);
/** The species that a key names, one whose particles are counted. */
SALTUS_MUST_CHECK saltus_status saltus_read_species(const saltus_lattice_reader *l,
                                                    const saltus_yaml_node *node, const char *what,
                                                    int *variable);

/* sites.c: `sites`, painted at once. */
SALTUS_MUST_CHECK saltus_status saltus_read_sites(saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node);
/* sbml.c: where compartments of an SBML file are, once sites are known. The node may be NULL:
 * not given; has_sites: so is `sites`. */
SALTUS_MUST_CHECK saltus_status saltus_read_compartments(saltus_lattice_reader *l,
                                                         const saltus_yaml_node *node,
                                                         const saltus_yaml_node *lattice,
                                                         bool has_sites);
/** [type] where the compartment of a species is; NULL: the model has no such compartments. */
const bool *saltus_types_of_species(const saltus_lattice_reader *l, int variable);
/** Reactions that `reactions` did not name happen where the compartments of their species meet. */
SALTUS_MUST_CHECK saltus_status saltus_place_reactions(saltus_lattice_reader *l,
                                                       const saltus_yaml_node *lattice);
/* diffusion.c: `step`, which stays 0 when it is to be the largest; `diffusion`, once sites are
 * known; then the largest step. */
SALTUS_MUST_CHECK saltus_status saltus_read_step(saltus_lattice_reader *l,
                                                 const saltus_yaml_node *node);
SALTUS_MUST_CHECK saltus_status saltus_read_diffusion(saltus_lattice_reader *l,
                                                      const saltus_yaml_node *node);
SALTUS_MUST_CHECK saltus_status saltus_largest_step(saltus_lattice_reader *l,
                                                    const saltus_yaml_node *node);
/* place.c: `place` and `reactions`. A node may be NULL: not given. */
SALTUS_MUST_CHECK saltus_status saltus_read_place(saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node);
SALTUS_MUST_CHECK saltus_status saltus_read_rates(saltus_lattice_reader *l,
                                                  const saltus_yaml_node *node);

#endif
