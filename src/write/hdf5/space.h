/** A lattice [z][y][x] cut into chunks, and the data sets that are written by these. */
#ifndef SALTUS_WRITE_HDF5_SPACE_H
#define SALTUS_WRITE_HDF5_SPACE_H

#include "write/hdf5/file.h"

typedef struct saltus_h5_tiling {
    hsize_t size[3], chunk[3], n_chunks[3];
    hsize_t n; /**< chunks */
} saltus_h5_tiling;
saltus_h5_tiling saltus_h5_tile(const int32_t size[3]);
/** Where chunk c begins. */
void saltus_h5_tile_start(const saltus_h5_tiling *tiling, hsize_t c, hsize_t start[3]);
/** Sites of a chunk, those beyond the lattice included. */
size_t saltus_h5_tile_sites(const saltus_h5_tiling *tiling);

/** Say of the group of the layout's lattice what it is like, and write its site types. */
SALTUS_MUST_CHECK saltus_status saltus_h5_write_lattice(saltus_h5_file *file, saltus_error *err);

/** Frames of a run on a lattice of that size, whose data sets are there; to be freed with
 * saltus_h5_free_frames. */
struct saltus_h5_frames;
SALTUS_MUST_CHECK saltus_status saltus_h5_open_frames(saltus_h5_file *file, const int32_t size[3],
                                                      struct saltus_h5_frames **out,
                                                      saltus_error *err);
/** Put a frame into the file. Any thread may call; the lock of the file is taken. */
SALTUS_MUST_CHECK saltus_status saltus_h5_put_frame(saltus_h5_file *file,
                                                    struct saltus_h5_frames *frames,
                                                    const saltus_frame *frame, saltus_error *err);
struct saltus_h5_copying;
/** Add all frames of a species in another file, whose data set is open in `from`, behind those that
 * are there. */
SALTUS_MUST_CHECK saltus_status saltus_h5_add_frames(saltus_h5_file *file,
                                                     struct saltus_h5_frames *frames,
                                                     struct saltus_h5_copying *from, int species,
                                                     saltus_error *err);
void saltus_h5_free_frames(struct saltus_h5_frames *frames);

#endif
