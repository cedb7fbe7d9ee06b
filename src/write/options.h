/** What is wrong with options of results, in memory and in files. */
#ifndef SALTUS_WRITE_OPTIONS_H
#define SALTUS_WRITE_OPTIONS_H

#include "core/status.h"

/** SALTUS_E_INVALID when something is kept that there is not, or from no time on. */
SALTUS_MUST_CHECK saltus_status saltus_check_kept(saltus_record record, int64_t n_bins,
                                                  double burn_in, saltus_error *err);

#endif
