/** Rows of one file behind those of another. */
#ifndef SALTUS_WRITE_HDF5_MERGE_ROWS_H
#define SALTUS_WRITE_HDF5_MERGE_ROWS_H

#include "write/hdf5/file.h"

/** What is copied, and memory for it. */
typedef struct saltus_h5_copying {
    const char *path; /**< of the other file */
    hid_t from;       /**< its data set */
    int64_t n;        /**< rows in it */
    char *box;        /**< to be freed with saltus_free */
    size_t box_bytes;
    const volatile int *stop; /**< NULL, or other than 0: it is to be given up */
} saltus_h5_copying;

/** SALTUS_E_CANCELLED if it is to be given up. */
SALTUS_MUST_CHECK saltus_status saltus_h5_copying_stops(const saltus_h5_copying *copying,
                                                        saltus_error *err);

/** Add all rows of a data set of the same shape. Its packed chunks are taken as they are where they
 * fit: equal in length, type and filters, behind whole chunks. */
SALTUS_MUST_CHECK saltus_status saltus_h5_copy_rows(saltus_h5_file *f, saltus_h5_copying *copying,
                                                    saltus_h5_set *set, saltus_error *err);

/** What a chunk takes in the file; 0: it was never written. */
herr_t saltus_h5_chunk_bytes(hid_t set, const hsize_t *at, hsize_t *bytes);
/** Whether it can take chunks of another file's data set as they are. */
bool saltus_h5_takes_chunks(const saltus_h5_set *set, hid_t from);

#endif
