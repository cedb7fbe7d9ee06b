/* Lets the readers of texts be tested by themselves; goes away with what it stands for. */
#include "model/network.h"

__attribute__((weak)) void saltus_network_destroy(saltus_network *network)
{
    (void)network;
}

__attribute__((weak)) saltus_status saltus_model_parse_sbml(const char *text, size_t size,
                                                            const char *name, saltus_model **out,
                                                            saltus_error *err)
{
    (void)text, (void)size, (void)out;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE, "%s: no SBML", name);
}
