/** Chunks of consecutive numbers, as those of trajectories are: their deflate stream is written
 * down without a search for repetitions. */
#ifndef SALTUS_WRITE_HDF5_CONSECUTIVE_H
#define SALTUS_WRITE_HDF5_CONSECUTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether values[n] of 8 bytes, in host order and of any alignment, are consecutive numbers. */
bool saltus_is_consecutive(const void *values, size_t n);

/** Bytes that the stream has at most, with n_full values in a full chunk. */
size_t saltus_consecutive_bound(size_t n_full);

/** Write n consecutive numbers from `first` on, and zeros up to n_full, as HDF5's shuffle and
 * deflate leave them in a file: a zlib stream (RFC 1950, 1951). Returns its size. */
size_t saltus_consecutive_encode(uint64_t first, size_t n, size_t n_full, unsigned char *out);

#endif
