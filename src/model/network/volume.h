/** Sizes of compartments that are changed together with the amounts in them. */
#ifndef SALTUS_MODEL_NETWORK_VOLUME_H
#define SALTUS_MODEL_NETWORK_VOLUME_H

#include "model/network/model.h"

/**
 * Give a compartment another size, in its own unit, and keep the concentrations in it: initial
 * amounts of its species change in proportion. Those that the file computes from a size or from
 * other species follow by themselves.
 *
 * @retval SALTUS_E_INVALID a rule determines the size, it is no size above 0, or there is a lattice
 */
SALTUS_MUST_CHECK saltus_status saltus_model_resize(saltus_model *model, int compartment,
                                                    double size, saltus_error *err);

enum { SALTUS_VOLUMES_SIZE = 500 };
/** The sizes at time 0 of the compartments whose size was changed, "cell=1e-15 (1e-18 m3), …", as
 * many as there is room for, of a frozen model. Returns text; "" when there are none. */
const char *saltus_print_volumes(const saltus_model *model, char text[SALTUS_VOLUMES_SIZE]);

#endif
