/** What a lattice holds, for people. */
#ifndef SALTUS_MODEL_INFO_LATTICE_H
#define SALTUS_MODEL_INFO_LATTICE_H

#include "model/network.h"

/** Print size, step, faces, site types, particles, reactions and warnings; at most `most` species
 * and reactions. */
SALTUS_MUST_CHECK saltus_status saltus_print_lattice(const saltus_network *network, int most,
                                                     FILE *out, saltus_error *err);

#endif
