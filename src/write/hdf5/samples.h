/** Samples of runs in chunks, encoded on any thread. */
#ifndef SALTUS_WRITE_HDF5_SAMPLES_H
#define SALTUS_WRITE_HDF5_SAMPLES_H

#include "write/hdf5/chunk.h"
#include "write/hdf5/file.h"

/** Chunks that hold n runs. */
hsize_t saltus_h5_chunks(const saltus_h5_set *samples, hsize_t n_runs);
/** Encode chunk number c of values[run][point][column], counted from values' first run. Needs no
 * HDF5: for any thread. */
SALTUS_MUST_CHECK saltus_status saltus_h5_encode(const saltus_h5_set *samples, const void *values,
                                                 hsize_t n_runs, hsize_t c, int value_size,
                                                 saltus_chunk *out, saltus_error *err);
/** Put an encoded chunk in place; row is a multiple of the runs of a chunk. */
herr_t saltus_h5_put_chunk(const saltus_h5_set *samples, hsize_t row, hsize_t c,
                           const saltus_chunk *chunk);
/** Rewrite counts, and those of parts, with 64 bits, in a file that is not live. Each is readable
 * as it was until the new one is whole. */
SALTUS_MUST_CHECK saltus_status saltus_h5_widen(saltus_h5_file *f, saltus_error *err);

#endif
