/**
 * What comes into a lattice out of nothing: what its methods draw numbers of, or times.
 */
#ifndef SALTUS_METHOD_INFLOW_H
#define SALTUS_METHOD_INFLOW_H

#include "core/status.h"

struct saltus_network;

/** A reaction without reactants in sites of a type, or a species over a face of constant
 * concentration into them. */
typedef struct saltus_inflow {
    int reaction; /**< -1: it is a face's */
    int face, species;
    double rate; /**< how often in all these sites, 1/s */
    double mean; /**< and in a step */
} saltus_inflow;

/** Room for the text of an inflow. */
enum { SALTUS_INFLOW_TEXT = 200 };

/** Subject and verb of a sentence that tells how often: "reaction 'r' happens". */
const char *saltus_inflow_text(const struct saltus_network *net, const saltus_inflow *inflow,
                               char text[SALTUS_INFLOW_TEXT]);

/** Call visit for every inflow of a lattice, until it fails. Laws that read counts are none. */
SALTUS_MUST_CHECK saltus_status saltus_inflow_each(
    const struct saltus_network *net,
    saltus_status (*visit)(void *user, const saltus_inflow *inflow, saltus_error *err), void *user,
    saltus_error *err);

#endif
