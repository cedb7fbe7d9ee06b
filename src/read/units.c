#include "read/units.h"

#include "core/beside.h"
#include "core/lock.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if SALTUS_WITH_UDUNITS

#include <udunits2.h>

/* The units that are known, loaded when they are first needed, or when another database is asked
 * for. UDUNITS never gives back the prefixes of a system, so one serves all readers of the process,
 * under the lock. */
static ut_system *known;
static char known_path[SALTUS_PATH_ROOM];

/* Where a wheel has brought the database along it is taken, unless another one is asked for. */
static saltus_status open_system(saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    ut_unit *molar = NULL;
    ut_system *system = NULL;
    char path[SALTUS_PATH_ROOM] = "";
    const char *wanted = getenv("UDUNITS2_XML_PATH");
    const bool is_here = !wanted && saltus_beside_package("saltus/udunits/udunits2.xml", path);
    if (wanted) {
        (void)snprintf(path, sizeof path, "%s", wanted);
    }
    if (known && strcmp(path, known_path) == 0) {
        return SALTUS_OK;
    }
    (void)ut_set_error_message_handler(ut_ignore);
    system = ut_read_xml(is_here ? path : NULL);
    if (!system) {
        status = saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                                  "the database of units of UDUNITS cannot be read");
        saltus_error_hint(err, "UDUNITS2_XML_PATH names its file udunits2.xml");
        goto done;
    }
    molar = ut_parse(system, "mol/L", UT_UTF8);
    if (!molar || ut_map_symbol_to_unit("M", UT_UTF8, molar) != UT_SUCCESS) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    ut_free_system(known);
    known = system;
    memcpy(known_path, path, sizeof path);
    system = NULL;
done:
    ut_free(molar);
    ut_free_system(system);
    return status;
}

/* UDUNITS would also convert a time to a frequency, so the quotient is looked at. */
static saltus_unit_fit compare(const char *unit, const char *si, double *factor)
{
    saltus_unit_fit fit = SALTUS_UNIT_UNKNOWN;
    ut_unit *from = ut_parse(known, unit, UT_UTF8), *to = ut_parse(known, si, UT_UTF8);
    ut_unit *quotient = from && to ? ut_divide(from, to) : NULL;
    cv_converter *converter = NULL;
    if (from) {
        fit = SALTUS_UNIT_OTHER;
    }
    if (quotient && ut_is_dimensionless(quotient)) {
        converter = ut_get_converter(from, to);
    }
    if (converter) {
        *factor = cv_convert_double(converter, 1.0);
        const double zero = cv_convert_double(converter, 0.0);
        fit = zero == 0.0 && isfinite(*factor) && *factor > 0.0 ? SALTUS_UNIT_FITS : fit;
    }
    cv_free(converter);
    ut_free(quotient);
    ut_free(to);
    ut_free(from);
    return fit;
}

saltus_status saltus_units_factor(const char *unit, const char *si, saltus_unit_fit *fit,
                                  double *factor, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (strcmp(unit, si) == 0) {
        *fit = SALTUS_UNIT_FITS;
        *factor = 1.0;
        return SALTUS_OK;
    }
    saltus_lock(SALTUS_UDUNITS);
    const size_t n = strlen(unit);
    char *text = saltus_calloc(n + 2, 1);
    SALTUS_NEED(text);
    text[0] = '1';
    memcpy(text + (unit[0] == '/'), unit, n);
    SALTUS_TRY(open_system(err));
    *fit = compare(text, si, factor);
done:
    saltus_unlock(SALTUS_UDUNITS);
    saltus_free(text);
    return status;
}

#else

saltus_status saltus_units_factor(const char *unit, const char *si, saltus_unit_fit *fit,
                                  double *factor, saltus_error *err)
{
    if (strcmp(unit, si) == 0) {
        *fit = SALTUS_UNIT_FITS;
        *factor = 1.0;
        return SALTUS_OK;
    }
    saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                     "the unit '%.40s' cannot be read: built without UDUNITS", unit);
    saltus_error_hint(err, "units that can be read are those of the SI, written as '%s'", si);
    return SALTUS_E_UNAVAILABLE;
}

#endif
