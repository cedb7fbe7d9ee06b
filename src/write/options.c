/* Defaults of everything that is done with results, with or without HDF5. */
#include "core/status.h"

saltus_hdf5_options saltus_hdf5_options_default(void)
{
    return (saltus_hdf5_options){.record = SALTUS_RECORD_ALL, .compress = SALTUS_COMPRESS_FAST};
}
