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
/** Add n runs behind those that are there. Chunks that these do not fill are made anew of what was
 * remembered of them: HDF5 1.10.8 fails to read, or packs wrongly, what was put as a chunk
 * (edge.h). */
SALTUS_MUST_CHECK saltus_status saltus_h5_append_samples(saltus_h5_file *f, saltus_h5_set *samples,
                                                         const void *values, hsize_t n,
                                                         saltus_error *err);
/** Of values[n][point][column], which begin with a chunk, remember those of the last one if it is
 * not full. */
SALTUS_MUST_CHECK saltus_status saltus_h5_remember_tail(saltus_h5_set *samples, const void *values,
                                                        hsize_t n, saltus_error *err);
/** Likewise, of the first n runs of a data set in the file at `path`. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_tail(saltus_h5_set *samples, const char *path,
                                                    hid_t from, hsize_t n, saltus_error *err);
/** Rewrite counts, and those of parts, with 64 bits, in a file that is not live. Each is readable
 * as it was until the new one is whole. */
SALTUS_MUST_CHECK saltus_status saltus_h5_widen(saltus_h5_file *f, saltus_error *err);

#endif
