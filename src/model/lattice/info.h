/** What a lattice holds, for people. */
#ifndef SALTUS_MODEL_LATTICE_INFO_H
#define SALTUS_MODEL_LATTICE_INFO_H

#include "model/network/network.h"

/** Print size, step, faces, compartments, site types, particles, reactions and warnings of a frozen
 * model; at most `most` compartments, species and reactions. */
SALTUS_MUST_CHECK saltus_status saltus_print_lattice(const saltus_model *model, int most, FILE *out,
                                                     saltus_error *err);

#endif
