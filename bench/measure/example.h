/** The examples as models that are measured. */
#ifndef SALTUS_BENCH_EXAMPLE_H
#define SALTUS_BENCH_EXAMPLE_H

#include "saltus/saltus.h"

/** Read and freeze FOLDER/NAME.yaml without its events, whose times lie beyond what is measured:
 * kernels that have none can then be compared as well. The caller destroys the model, also after a
 * failure. */
SALTUS_MUST_CHECK saltus_status saltus_example_load(const char *folder, const char *name,
                                                    saltus_model **model, saltus_error *err);

#endif
