/* Options of what is done with results, with or without HDF5: their defaults, and what is wrong. */
#include "write/options.h"

#include <math.h>

saltus_hdf5_options saltus_hdf5_options_default(void)
{
    return (saltus_hdf5_options){.record = SALTUS_RECORD_ALL, .compress = SALTUS_COMPRESS_FAST};
}

saltus_status saltus_check_kept(saltus_record record, int64_t n_bins, double burn_in,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if ((unsigned)record > SALTUS_RECORD_HISTOGRAM) {
        SALTUS_FAIL(SALTUS_E_INVALID, "record %d: there is no such saltus_record", (int)record);
    }
    if (n_bins < 0 || n_bins > SALTUS_MOST_BINS) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld bins: must be from 1 to %d, or 0", (long long)n_bins,
                    (int)SALTUS_MOST_BINS);
    }
    if (!(burn_in >= 0.0 && isfinite(burn_in))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "burn-in %g: it must be 0 or more", burn_in);
    }
done:
    return status;
}
