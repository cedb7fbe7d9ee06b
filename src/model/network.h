/** A frozen model: flat tables. */
#ifndef SALTUS_MODEL_NETWORK_H
#define SALTUS_MODEL_NETWORK_H

#include "model/model.h"

typedef struct saltus_network saltus_network;

void saltus_network_destroy(saltus_network *network);

#endif
