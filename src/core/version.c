#include "core/status.h"

const char *saltus_version(void)
{
    return SALTUS_VERSION;
}
