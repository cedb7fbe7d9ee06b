/** Reading from files that may be damaged: nothing is believed before it was compared with the size
 * of the file. All functions here belong between saltus_h5_quiet_begin and saltus_h5_quiet_end. */
#ifndef SALTUS_WRITE_HDF5_READ_H
#define SALTUS_WRITE_HDF5_READ_H

#include "write/hdf5/common.h"
#include "write/results.h"

/** "FILE: NAME cannot be read: WHY", with a hint; why may be NULL to ask HDF5. SALTUS_E_IO. */
saltus_status saltus_h5_damaged(const saltus_results *r, const char *name, const char *why,
                                saltus_error *err);

/** Whether the file has something of that name. */
bool saltus_h5_has(const saltus_results *r, const char *name);
/** The name of a data set that was called otherwise in older files. */
const char *saltus_h5_either(const saltus_results *r, const char *name, const char *old);

/**
 * Look at a data set: its values are of that class and of 8 bytes at most, or texts of a fixed
 * size; it has that many axes; and the file holds as many bytes as its shape wants. Takes time in
 * proportion to the number of chunks.
 *
 * @param[out] shape [rank]
 * @param[out] chunk lengths of a chunk [rank]; those of the whole when there are no chunks. Or NULL
 */
SALTUS_MUST_CHECK saltus_status saltus_h5_check(const saltus_results *r, const char *name,
                                                H5T_class_t class, int rank, hsize_t *shape,
                                                hsize_t *chunk, saltus_error *err);

/** The same for a data set whose chunks need not all be there: nothing is known of its size, and so
 * the lengths of its axes are to be compared with others. */
SALTUS_MUST_CHECK saltus_status saltus_h5_check_sparse(const saltus_results *r, const char *name,
                                                       H5T_class_t class, int rank, hsize_t *shape,
                                                       saltus_error *err);

/** The same, and the shape is to be this one. */
SALTUS_MUST_CHECK saltus_status saltus_h5_expect(const saltus_results *r, const char *name,
                                                 H5T_class_t class, int rank, const hsize_t *shape,
                                                 saltus_error *err);

/** Read numbers of a data set that was checked. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read(const saltus_results *r, const char *name,
                                               hid_t memory_type, int rank, const hsize_t *start,
                                               const hsize_t *count, void *out, saltus_error *err);

/** The same, without HDF5's own messages. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_quietly(const saltus_results *r, const char *name,
                                                       hid_t type, int rank, const hsize_t *start,
                                                       const hsize_t *count, void *out,
                                                       saltus_error *err);

/** Read a data set of texts, to be freed with saltus_free like each of them; none when there is no
 * such data set. *n counts what is in *names also after a failure. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_names(const saltus_results *r, const char *name,
                                                     int *n, char ***names, saltus_error *err);

/** Read an attribute; missing ones are an error. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_number(const saltus_results *r, const char *object,
                                                      const char *name, hid_t memory_type,
                                                      void *value, saltus_error *err);

#endif
