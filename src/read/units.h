/** Units by name: UDUNITS-2, with M (and mM, uM, nM …) for mol/L beside its own. */
#ifndef SALTUS_READ_UNITS_H
#define SALTUS_READ_UNITS_H

#include "core/status.h"

typedef enum saltus_unit_fit {
    SALTUS_UNIT_FITS,
    SALTUS_UNIT_OTHER,   /**< a unit, but of something else */
    SALTUS_UNIT_UNKNOWN, /**< no unit at all */
} saltus_unit_fit;

/**
 * How many `si` a `unit` is: 1e-12 for "um2/s" and "m2/s". "/s" means "1/s".
 *
 * @param[out] factor only where the unit fits
 * @retval SALTUS_E_UNAVAILABLE built without UDUNITS, or its database of units is not found
 */
SALTUS_MUST_CHECK saltus_status saltus_units_factor(const char *unit, const char *si,
                                                    saltus_unit_fit *fit, double *factor,
                                                    saltus_error *err);

#endif
