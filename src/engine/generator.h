/** Random generators by name, and the tables that their streams start from. */
#ifndef SALTUS_ENGINE_GENERATOR_H
#define SALTUS_ENGINE_GENERATOR_H

#include "core/status.h"

#include <stddef.h>

typedef struct saltus_generator {
    const char *name;
    int rng;         /**< SALTUS_RNG_…, kernel/base/stream.h */
    uint32_t *jumps; /**< [n_jumps] for saltus_stream_start; NULL: it needs none */
    size_t n_jumps;
} saltus_generator;

/**
 * Look up a generator and make its tables, in some milliseconds; free it also after a failure.
 *
 * @retval SALTUS_E_INVALID there is none of that name
 */
SALTUS_MUST_CHECK saltus_status saltus_generator_create(const char *name, saltus_generator *out,
                                                        saltus_error *err);
void saltus_generator_free(saltus_generator *generator);

/** SALTUS_E_INVALID for a seed with which the generator does not work. */
SALTUS_MUST_CHECK saltus_status saltus_generator_check_seed(const saltus_generator *generator,
                                                            uint64_t seed, saltus_error *err);

#endif
