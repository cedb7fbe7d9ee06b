/** Chunks one after the other, and those at the edge of a data set. */
#ifndef SALTUS_WRITE_HDF5_EDGE_H
#define SALTUS_WRITE_HDF5_EDGE_H

#include "write/hdf5/common.h"

/** Go from the chunk at `at` to the next before `end`, the last axis fastest; axes before `first`
 * stay. false: that was the last, and `at` is that of the first again. */
bool saltus_h5_next_chunk(hsize_t *at, const hsize_t *chunk, const hsize_t *end, int first,
                          int rank);

/**
 * Set the length of a data set's first axis. Where that ends within chunks these stay as they are
 * on the disk, with what is beyond the end.
 *
 * HDF5 itself would put zeros there, pack the chunk anew and, as of 1.10.8, note which filters it
 * has passed only if its size has changed: a chunk that deflate had not made smaller, which stands
 * shuffled alone, is then read as other numbers.
 */
herr_t saltus_h5_set_length(hid_t set, hsize_t n_rows);

#endif
