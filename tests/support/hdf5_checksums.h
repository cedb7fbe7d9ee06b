/** Damage to headers of HDF5 that its checksums do not show. */
#ifndef SALTUS_TESTS_HDF5_CHECKSUMS_H
#define SALTUS_TESTS_HDF5_CHECKSUMS_H

#include <stddef.h>

/** A block of metadata, from its signature to its checksum, the next four bytes. */
typedef struct checked_block {
    size_t start, length;
} checked_block;

/** Find the blocks in a file that is whole: a block ends where its checksum fits. Returns their
 * number, at most `most`. */
size_t find_checked_blocks(const unsigned char *data, size_t size, checked_block *blocks,
                           size_t most);

/** Write the checksums anew. */
void repair_checksums(unsigned char *data, const checked_block *blocks, size_t n_blocks);

#endif
