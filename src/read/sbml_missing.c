/* Built instead of the SBML reader where libsbml is missing. */
#include "core/status.h"

static saltus_status unavailable(saltus_error *err)
{
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_UNAVAILABLE, "SBML cannot be read: built without libsbml");
    saltus_error_hint(err, "install libsbml5-dev and build again with -Dsbml=enabled");
    return status;
}

saltus_status saltus_model_parse_sbml(const char *text, size_t size, const char *name,
                                      saltus_model **out, saltus_error *err)
{
    (void)text, (void)size, (void)name, (void)out;
    return unavailable(err);
}

saltus_status saltus_model_read_sbml(const char *path, saltus_model **out, saltus_error *err)
{
    (void)path, (void)out;
    return unavailable(err);
}
