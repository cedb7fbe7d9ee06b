/** What a lattice holds, for people. */
#ifndef SALTUS_MODEL_INFO_LATTICE_H
#define SALTUS_MODEL_INFO_LATTICE_H

#include "model/network.h"

/** Print size, faces, site types, particles and warnings; at most `most` species. */
void saltus_print_lattice(const saltus_network *network, int most, FILE *out);

#endif
