/* Built instead of the SBML reader where libsbml is missing. */
#include "read/read.h"

saltus_status saltus_parse_sbml(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    (void)source, (void)out;
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_UNAVAILABLE, "SBML cannot be read: built without libsbml");
    saltus_error_hint(err, "install libsbml5-dev and build again with -Dsbml=enabled");
    return status;
}
