/** Chunks of result files, made without the HDF5 library so that many threads can make them. */
#ifndef SALTUS_WRITE_HDF5_CHUNK_H
#define SALTUS_WRITE_HDF5_CHUNK_H

#include "core/status.h"

/** A chunk as it stands in the file. */
typedef struct saltus_chunk {
    void *data;
    size_t size;
    uint32_t skipped; /**< HDF5's filter mask: 2 (SALTUS_CHUNK_SHUFFLED) when deflate did not make
                           it smaller */
} saltus_chunk;

enum { SALTUS_CHUNK_SHUFFLED = 2 };

/**
 * Encode values of 8 bytes.
 *
 * @param values     [n] int64_t or double, in host order; any alignment
 * @param n_full     values in a full chunk; those from n on are zeros
 * @param value_size 8, or 1, 2 or 4 for integers that fit
 * @param level      deflate's, after HDF5's shuffle; 0 stores plainly
 * @param[out] out   data to be freed with saltus_free
 */
SALTUS_MUST_CHECK saltus_status saltus_chunk_encode(const void *values, size_t n, size_t n_full,
                                                    int value_size, int level, saltus_chunk *out,
                                                    saltus_error *err);

/** As saltus_chunk_encode does values of 8 bytes that deflate does not make smaller: by HDF5's
 * shuffle alone. */
SALTUS_MUST_CHECK saltus_status saltus_chunk_shuffle(const void *values, size_t n, size_t n_full,
                                                     saltus_chunk *out, saltus_error *err);

#endif
